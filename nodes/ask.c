/* `ask(t)`: a prompt for each row of a text column; the prompt is that row. Its
 * tokens are bounded by `max_prompt:`, or as those of the data whose rows the
 * texts go back to. */
#include "nodes/rows.h"

#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "text",
     .kind = RLF_FORMAL_TEXT_COLUMN,
     .required = true,
     .doc = "the prompts"},
    {.name = "max_prompt",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "tokens of the longest, instead of the data's; a longer one is an "
            "error"},
};

/* Data rows of the new prompts: those that the texts' rows go back to. */
static uint32_t *
data_rows(const rlf_call *call, const rlf_space *text)
{
    if (call->node->n_inputs < 2)
        return NULL;
    const rlf_rows *origin = call->in[1].rows;
    if (!origin->data_row)
        return NULL;
    uint32_t *out = RLF_NEW_ARRAY(call->env->pool, uint32_t, text->count);
    for (uint32_t i = 0; i < text->count; i++)
        out[i] = origin->data_row[rlf_space_row(
            &call->env->graph->domains, text, i, origin->prompts->domain)];
    return out;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_graph *graph = call->env->graph;
    rlf_arena *pool = call->env->pool;
    const rlf_arg *arg = rlf_node_arg(call->node, "text");
    const rlf_column *text = &call->in[arg->input].column;
    const rlf_value *value = &graph->values.data[call->node->outputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];

    rlf_prompt *prompt = rlf_rows_new_prompts(pool, text->space->count);
    for (uint32_t i = 0; i < text->space->count; i++)
        prompt[i].text = text->text[i];
    rlf_space *space = rlf_rows_of(pool, graph, set->prompts, text->space);
    rlf_rows *rows = RLF_NEW(pool, rlf_rows);
    *rows = (rlf_rows){.set = set,
                       .prompts = space,
                       .samples = space,
                       .prompt = prompt,
                       .data_row = data_rows(call, text->space),
                       .temperature = 1};
    call->out[0].rows = rows;
    return RLF_OK;
}

const rlf_node_class rlf_node_ask = {
    .name = "ask",
    .doc = "a prompt for each row of a text column",
    .form = RLF_FORM_CALL,
    .formals = formals,
    .n_formals = sizeof formals / sizeof *formals,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_PROMPT,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
