/* `s.where(c)`: the samples, or the prompts, where c.
 *
 * The grammar says which by the new set: if it has the prompts of the old one,
 * samples are chosen (and some prompts may be left without any); else prompts
 * are, with all their samples. */
#include "nodes/rows.h"

#include "engine/graph/class.h"

#include <math.h>

static const rlf_formal formals[] = {
    {.name = "condition",
     .kind = RLF_FORMAL_COLUMN,
     .required = true,
     .doc = "one per sample, or per prompt: kept where it is not 0"},
};

/* Does the condition hold for a row of `space`? */
static rlf_status
holds(const rlf_call *call, const rlf_space *space, uint32_t row, rlf_err *err,
      bool *out)
{
    const rlf_arg *arg = rlf_node_arg(call->node, "condition");
    const rlf_column *c = &call->in[arg->input].column;
    uint32_t at = 0;
    if (c->space->domain != 0)
        at = rlf_space_row(&call->env->graph->domains, space, row,
                           c->space->domain);
    *out = c->number[at] != 0;
    if (!isnan(c->number[at]))
        return RLF_OK;
    rlf_fail(err, RLF_USER, "the condition of where is not a number");
    rlf_err_hint(err, "%s", RLF_EXPR_NAN_HINT);
    rlf_call_place_nonfinite(call, err);
    return RLF_USER;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_rows *rows = call->in[0].rows;
    const rlf_value *out = &graph->values.data[call->node->outputs[0]];
    const rlf_set *set = &graph->sets.data[out->set];
    bool choose_prompts = set->prompts != rows->set->prompts;

    uint32_t n_prompts = 0, n_samples = 0;
    uint32_t *prompts = NULL;
    RLF_TRY(rlf_rows_room(
        pool, set->name, (uint64_t)rows->prompts->count + rows->samples->count,
        rows->tokens ? rows->tokens->extent : 0, err));
    bool *kept = RLF_NEW_ARRAY(pool, bool, rows->prompts->count);
    if (choose_prompts) {
        prompts = RLF_NEW_ARRAY(pool, uint32_t, rows->prompts->count);
        for (uint32_t i = 0; i < rows->prompts->count; i++) {
            RLF_TRY(holds(call, rows->prompts, i, err, &kept[i]));
            if (kept[i])
                prompts[n_prompts++] = i;
        }
    }
    uint32_t *samples = RLF_NEW_ARRAY(pool, uint32_t, rows->samples->count);
    for (uint32_t i = 0; i < rows->samples->count; i++) {
        bool stays;
        if (choose_prompts)
            stays = kept[rlf_rows_prompt_of(graph, rows, i)];
        else
            RLF_TRY(holds(call, rows->samples, i, err, &stays));
        if (stays)
            samples[n_samples++] = i;
    }
    call->out[0].rows = rlf_rows_part(pool, graph, set, rows, prompts,
                                      n_prompts, samples, n_samples);
    return RLF_OK;
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_value *value = &load->graph->values.data[node->inputs[0]];
    const rlf_set_size *whole = &load->sizes->set[value->set];
    *out = (rlf_cost){.host = 5 * whole->prompts + 4 * whole->samples};
}

const rlf_node_class rlf_node_where = {
    .name = "where",
    .doc = "the samples, or the prompts, for which a condition holds",
    .form = RLF_FORM_CALL,
    .receiver = RLF_RECEIVER_SET,
    .formals = formals,
    .n_formals = 1,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_SAMPLE,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = cost,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_STATELESS,
};
