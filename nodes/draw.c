/* Rows of a data set: a flow's draw (`flow f(batch: prompts[64])`), or all of
 * them where its name stands outside the head (evaluation).
 *
 * A drawn row's identity is the number of its draw in the run, so that random
 * keys depend on neither time nor place; that of an evaluated row is its number
 * in the data. In a collect the count is a value that each round gives; what
 * the argument holds besides is the most that it can be. */
#include "nodes/data.h"

static const rlf_formal formals[] = {
    {.name = "count",
     .kind = RLF_FORMAL_INT,
     .least = 1,
     .most = 1e9,
     .doc = "rows of a step; without it all rows, in their order"},
    {.name = "weight",
     .kind = RLF_FORMAL_COLUMN,
     .labelled = true,
     .unsupported = "draws by weight cannot run yet",
     .doc = "rows are drawn in proportion to it"},
};

static rlf_status
init(const rlf_env *env, const rlf_node *node, rlf_err *err, void **state)
{
    *state = NULL;
    const rlf_data *data = env->resource[node->receiver];
    const rlf_arg *count = rlf_node_arg(node, "count");
    if (count->kind == RLF_ARG_ABSENT ||
        count->number <= (double)data->records.count)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "a step draws %.0f rows from '%s', which has %zu",
             count->number, data->name, data->records.count);
    rlf_err_hint(err, "a step never draws a row twice: draw fewer, or give "
                      "the data more rows");
    rlf_err_place(err, count->span.source ? count->span : node->span, "draw");
    return RLF_USER;
}

static void
put_prompt(const rlf_data *data, uint32_t row, rlf_prompt *out)
{
    if (!data->prompt)
        out->text = RLF_STR("");
    else if (data->prompt->kind == RLF_RECORD_CHAT) {
        out->messages = data->prompt->chats[row].messages;
        out->n_messages = (uint32_t)data->prompt->chats[row].count;
    } else
        out->text = data->prompt->texts[row];
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_node *node = call->node;
    rlf_data *data = call->env->resource[node->receiver];
    const rlf_value *value = &graph->values.data[node->outputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];
    const rlf_arg *count = rlf_node_arg(node, "count");
    bool all = count->kind == RLF_ARG_ABSENT;
    uint32_t n = (uint32_t)(all ? (double)data->records.count
                                : rlf_call_number(call, "count"));

    uint32_t *row = RLF_NEW_ARRAY(pool, uint32_t, n);
    uint64_t first = 0;
    if (all)
        for (uint32_t i = 0; i < n; i++)
            row[i] = i;
    else
        first = rlf_data_draw(data, call->env->seed, node->site,
                              call->env->step, n, row);
    rlf_space *space = rlf_space_rows(pool, graph, set->prompts, n);
    uint64_t *identity = RLF_NEW_ARRAY(pool, uint64_t, n);
    rlf_prompt *prompt = RLF_NEW_ARRAY(pool, rlf_prompt, n);
    for (uint32_t i = 0; i < n; i++) {
        identity[i] = first + i;
        put_prompt(data, row[i], &prompt[i]);
    }
    space->identity = identity;
    rlf_rows *rows = RLF_NEW(pool, rlf_rows);
    *rows = (rlf_rows){.set = set,
                       .prompts = space,
                       .samples = space,
                       .prompt = prompt,
                       .data_row = row,
                       .temperature = 1};
    call->out[0].rows = rows;
    return RLF_OK;
}

const rlf_node_class rlf_node_draw = {
    .name = "draw",
    .doc = "rows of a data set: some each step, or all of them",
    .role = RLF_ROLE_DRAW,
    .receiver = RLF_RECEIVER_DATA,
    .formals = formals,
    .n_formals = 2,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .infer = rlf_class_no_infer,
    .cost = rlf_class_no_cost,
    .init = init,
    .fini = rlf_class_no_fini,
    .open = rlf_class_no_open,
    .step = step,
    .trainable = &rlf_trainable_none,
};
