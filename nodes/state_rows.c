/* `state rate : prompts = 0.5`: one number per row of a data set. Read, it is a
 * column on all rows, from which values go down to draws and their samples;
 * `rate := e` sets the rows that e has. */
#include "nodes/state.h"

#include <math.h>
#include <string.h>

static rlf_status
get(rlf_call *call, rlf_err *err)
{
    const rlf_state *state = call->env->resource[call->node->receiver];
    rlf_column column;
    RLF_TRY(rlf_column_try(call->env->pool, state->data->space, false,
                           "the values of a state", err, &column));
    /* A copy: this is what it was here, also if it is set later on. */
    memcpy(column.number, state->value, sizeof(double) * state->count);
    call->out[0].column = column;
    return RLF_OK;
}

const rlf_node_class rlf_node_state_rows = {
    .name = "rows",
    .doc = "the present values of a state that has one per row of data",
    .form = RLF_FORM_FIELD,
    .receiver = RLF_RECEIVER_STATE,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = get,
    RLF_CLASS_PLAIN,
};

static const rlf_formal formals[] = {
    {.name = "value",
     .kind = RLF_FORMAL_COLUMN,
     .required = true,
     .doc = "one per row of the data, or of some, or one for all"},
};

/* All that is set is finite: nothing is set before that is known. */
static rlf_status
check(const rlf_call *call, const rlf_data *data, const rlf_column *c,
      rlf_err *err)
{
    const rlf_domains *domains = &call->env->graph->domains;
    for (uint32_t i = 0; i < c->space->count; i++) {
        if (isfinite(c->number[i]))
            continue;
        if (c->space->domain == 0)
            return rlf_state_fail(call, c->number[i], NULL, err);
        uint32_t row = rlf_space_row(domains, c->space, i, data->space->domain);
        const char *where =
            rlf_arena_printf(call->env->pool, " for %s",
                             rlf_data_place(data, row, call->env->pool));
        return rlf_state_fail(call, c->number[i], where, err);
    }
    return RLF_OK;
}

static rlf_status
set(rlf_call *call, rlf_err *err)
{
    rlf_state *state = call->env->resource[call->node->receiver];
    const rlf_domains *domains = &call->env->graph->domains;
    const rlf_arg *arg = rlf_node_arg(call->node, "value");
    const rlf_column *c = &call->in[arg->input].column;
    int rows = state->data->space->domain;
    RLF_TRY(check(call, state->data, c, err));
    if (c->space->domain == 0) {
        for (uint32_t i = 0; i < state->count; i++)
            state->value[i] = c->number[0];
        return RLF_OK;
    }
    for (uint32_t i = 0; i < c->space->count; i++)
        state->value[rlf_space_row(domains, c->space, i, rows)] = c->number[i];
    return RLF_OK;
}

const rlf_node_class rlf_node_set_rows = {
    .name = "set_rows",
    .doc = "gives the rows of a state that a column has new values, at once",
    .form = RLF_FORM_SYNTAX,
    .writes = true,
    .receiver = RLF_RECEIVER_STATE,
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_NOTHING,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = set,
    RLF_CLASS_PLAIN,
};
