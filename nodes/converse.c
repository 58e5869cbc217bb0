/* `converse(batch)`: the conversations that the rows of a set are, one sample
 * each. Its prompt is what is before the assistant's first token, its tokens
 * are those that the assistant says; what others say between them is read, too,
 * and has no value in columns.
 *
 * All tokens are those that the set's model writes by its template (turns.h).
 * Whether it can is checked before the first step (conversations.c). */
#include "nodes/turns.h"

#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "set",
     .kind = RLF_FORMAL_SET,
     .required = true,
     .doc = "rows of data that are conversations (conversation:)"},
    {.name = "max_length",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 2,
     .most = 1e9,
     .doc = "tokens of a conversation; what a longer one has behind them is "
            "cut off"},
};

static const char what[] = "a conversation";

/* The runs as they are behind the prompt. */
static rlf_status
put_dialog(rlf_arena *pool, const rlf_conversation *turns, rlf_err *err,
           rlf_sample *out)
{
    uint32_t first = turns->runs[0].from, n = 0;
    rlf_dialog *dialog;
    rlf_token_run *runs;
    uint32_t *ids;
    RLF_TRY(rlf_arena_try(pool, sizeof *dialog, what, err, &dialog));
    RLF_TRY(
        rlf_arena_try(pool, turns->n_runs * sizeof *runs, what, err, &runs));
    RLF_TRY(rlf_arena_try(pool, turns->n_said * sizeof *ids, what, err, &ids));
    for (uint32_t i = 0; i < turns->n_runs; i++) {
        rlf_token_run run = turns->runs[i];
        for (uint32_t k = run.from; k < run.to; k++)
            ids[n++] = turns->ids[k];
        runs[i] = (rlf_token_run){run.from - first, run.to - first};
    }
    *dialog = (rlf_dialog){.ids = turns->ids + first,
                           .n_ids = turns->n_ids - first,
                           .runs = runs,
                           .n_runs = turns->n_runs};
    *out = (rlf_sample){
        .ids = ids, .n_ids = n, .finished = !turns->cut, .dialog = dialog};
    return RLF_OK;
}

static rlf_status
put_row(const rlf_call *call, const rlf_reader *reader, const rlf_prompt *from,
        rlf_rows *out, uint32_t row, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_arg *most = rlf_node_arg(call->node, "max_length");
    rlf_conversation turns;
    RLF_TRY(rlf_turns_read(env, reader, from,
                           most->kind == RLF_ARG_NUMBER ? (uint32_t)most->number
                                                        : 0,
                           err, &turns));
    RLF_TRY(put_dialog(env->pool, &turns, err, &out->sample[row]));
    RLF_TRY(rlf_rows_text(env->pool, reader->tokenizer, out->sample[row].ids,
                          out->sample[row].n_ids, err, &out->sample[row].text));
    rlf_prompt *prompt = &out->prompt[row];
    *prompt = (rlf_prompt){.ids = turns.ids, .n_ids = turns.runs[0].from};
    return rlf_rows_text(env->pool, reader->tokenizer, prompt->ids,
                         prompt->n_ids, err, &prompt->text);
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_graph *graph = env->graph;
    const rlf_rows *in = call->in[rlf_node_arg(call->node, "set")->input].rows;
    const rlf_value *value = &graph->values.data[call->node->outputs[0]];
    uint32_t n = in->prompts->count;
    RLF_TRY(rlf_rows_room(env->pool, "a conversation", 2 * n, 0, err));
    rlf_rows *out = RLF_NEW(env->pool, rlf_rows);
    *out = (rlf_rows){.set = &graph->sets.data[value->set],
                      .prompts = in->prompts,
                      .samples = in->prompts,
                      .data_row = in->data_row,
                      .temperature = 1};
    call->out[0].rows = out;
    out->reader = rlf_model_reader(env->resource[out->set->model]);
    out->prompt = RLF_NEW_ARRAY(env->pool, rlf_prompt, n);
    out->sample = RLF_NEW_ARRAY(env->pool, rlf_sample, n);
    uint32_t *lengths = RLF_NEW_ARRAY(env->pool, uint32_t, n);
    uint64_t extent = 0;
    for (uint32_t i = 0; i < n; i++) {
        rlf_err why = RLF_ERR_NONE;
        rlf_status status =
            put_row(call, out->reader, &in->prompt[i], out, i, &why);
        if (status < 0) {
            rlf_fail(err, status, "the conversation of %s: %s",
                     rlf_rows_name(env, in, i, env->pool), why.sentence);
            rlf_err_hint(err, "%s", why.hint);
            rlf_err_detail(err, "%s", why.detail);
            rlf_err_place(err, call->node->span, "converse");
            return status;
        }
        lengths[i] = out->sample[i].n_ids;
        extent += lengths[i];
    }
    RLF_TRY(rlf_rows_room(env->pool, out->set->name, n, extent, err));
    out->tokens = rlf_space_tokens(env->pool, graph, out->set->tokens,
                                   out->samples, 0, lengths);
    return RLF_OK;
}

const rlf_node_class rlf_node_converse = {
    .name = "converse",
    .doc = "the conversations that rows are: what the assistant says has "
           "values, what others say is read",
    .form = RLF_FORM_CALL,
    .formals = formals,
    .n_formals = sizeof formals / sizeof *formals,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_SAMPLE,
    .gives_turns = true,
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
