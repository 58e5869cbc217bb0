/* `respond(t, to: p)`: a sample for each row of a text column, the text being
 * the response; the sample is that row, its prompt that of the row in p.
 *
 * Tokens are those of the set's model and end with its end token, so that what
 * is learned from them is also where to stop. Where the text is what a sample
 * has, as in respond(roll.text), they are that sample's: reading its text again
 * may give others. */
#include "nodes/rows.h"

#include "engine/graph/class.h"

static const rlf_formal formals[] = {
    {.name = "text",
     .kind = RLF_FORMAL_TEXT_COLUMN,
     .required = true,
     .doc = "the responses"},
    {.name = "to",
     .kind = RLF_FORMAL_SET,
     .labelled = true,
     .doc = "the set whose prompts they answer; else that of the text's rows"},
    {.name = "max_response",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .least = 1,
     .most = 1e9,
     .doc = "tokens of the longest, with its end token; a longer one is an "
            "error"},
};

/* Prompts of the new set, out of those of `to` (`prompts`): these, if the set
 * keeps them, else for each row that which it goes back to. */
static void
put_prompts(const rlf_env *env, const rlf_rows *to, rlf_prompt *prompts,
            const rlf_space *text, rlf_rows *out)
{
    const rlf_graph *graph = env->graph;
    if (out->set->prompts == to->set->prompts) {
        out->prompts = to->prompts;
        out->prompt = prompts;
        out->data_row = to->data_row;
        return;
    }
    uint32_t n = text->count;
    out->prompts = out->samples;
    out->prompt = RLF_NEW_ARRAY(env->pool, rlf_prompt, n);
    if (to->data_row)
        out->data_row = RLF_NEW_ARRAY(env->pool, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t p =
            rlf_space_row(&graph->domains, text, i, to->prompts->domain);
        out->prompt[i] = prompts[p];
        if (to->data_row)
            out->data_row[i] = to->data_row[p];
    }
}

/* The sample, of a set that the call has, whose text this row is: its tokens
 * are known. NULL: there is none, or its tokens are not those of the reader. */
static const rlf_sample *
find_known(const rlf_call *call, const rlf_reader *reader,
           const rlf_column *text, uint32_t i)
{
    const rlf_graph *graph = call->env->graph;
    for (int k = 0; k < call->node->n_inputs; k++) {
        if (graph->values.data[call->node->inputs[k]].kind != RLF_VALUE_SET)
            continue;
        const rlf_rows *rows = call->in[k].rows;
        if (!rows->sample || !rows->tokens || !rows->reader ||
            !rlf_rows_same_tokens(rows->reader->tokenizer, reader->tokenizer) ||
            !rlf_domain_reaches(&graph->domains, rows->samples->domain,
                                text->space->domain))
            continue;
        uint32_t row = rlf_space_row(&graph->domains, text->space, i,
                                     rows->samples->domain);
        if (rlf_str_eq(rows->sample[row].text, text->text[i]))
            return &rows->sample[row];
    }
    return NULL;
}

/* The same tokens, and an end if there is none. */
static rlf_status
take_known(const rlf_env *env, const rlf_reader *reader,
           const rlf_sample *known, rlf_err *err, rlf_sample *out)
{
    uint32_t n = known->n_ids;
    bool ends = reader->eos < 0 || rlf_rows_ended(reader, known->ids, n);
    uint32_t *ids;
    RLF_TRY(rlf_arena_try(env->pool, ((size_t)n + 1) * sizeof *ids,
                          "a response", err, &ids));
    for (uint32_t i = 0; i < n; i++)
        ids[i] = known->ids[i];
    if (!ends)
        ids[n++] = (uint32_t)reader->eos;
    *out = (rlf_sample){
        .text = known->text, .ids = ids, .n_ids = n, .finished = true};
    return RLF_OK;
}

/* Has the response a token, and no more than the call says? */
static rlf_status
check_length(const rlf_call *call, const rlf_reader *reader,
             const rlf_rows *out, uint32_t row, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_arg *most =
        rlf_args_find(call->node->args, call->node->n_args, "max_response");
    uint32_t n = out->sample[row].n_ids;
    if (!n) {
        rlf_fail(err, RLF_USER, "the response to %s has no token",
                 rlf_rows_name(env, out, row, env->pool));
        rlf_err_hint(err,
                     "its text is empty and the tokenizer of '%s' has no end "
                     "token",
                     reader->model);
        return RLF_USER;
    }
    if (!most || most->kind != RLF_ARG_NUMBER || n <= most->number)
        return RLF_OK;
    rlf_fail(err, RLF_USER, "the response to %s has %u tokens, more than %.0f",
             rlf_rows_name(env, out, row, env->pool), n, most->number);
    rlf_err_hint(err, "raise max_response: of respond, or leave such rows out");
    return RLF_USER;
}

/* The tokens of a text that is no sample's own. */
static rlf_status
read_text(const rlf_call *call, const rlf_reader *reader, rlf_str text,
          rlf_rows *out, uint32_t row, rlf_err *err)
{
    const rlf_env *env = call->env;
    rlf_err why = RLF_ERR_NONE;
    const rlf_prompt *prompt =
        &out->prompt[rlf_rows_prompt_of(env->graph, out, row)];
    rlf_status status = rlf_rows_response(env, reader, prompt, text, true, &why,
                                          &out->sample[row]);
    if (status >= 0)
        return status;
    rlf_fail(err, status, "the response to %s: %s",
             rlf_rows_name(env, out, row, env->pool), why.sentence);
    rlf_err_hint(err, "%s", why.hint);
    rlf_err_detail(err, "%s", why.detail);
    return status;
}

static rlf_status
put_samples(const rlf_call *call, const rlf_reader *reader,
            const rlf_column *text, rlf_rows *out, rlf_err *err)
{
    const rlf_env *env = call->env;
    uint32_t n = text->space->count;
    RLF_TRY(rlf_rows_room(env->pool, out->set->name, n, 0, err));
    out->sample = RLF_NEW_ARRAY(env->pool, rlf_sample, n);
    uint32_t *lengths = RLF_NEW_ARRAY(env->pool, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        const rlf_sample *known = find_known(call, reader, text, i);
        if (known)
            RLF_TRY(take_known(env, reader, known, err, &out->sample[i]));
        else
            RLF_TRY(read_text(call, reader, text->text[i], out, i, err));
        lengths[i] = out->sample[i].n_ids;
        RLF_TRY(check_length(call, reader, out, i, err));
    }
    uint64_t extent = 0;
    for (uint32_t i = 0; i < n; i++)
        extent += lengths[i];
    RLF_TRY(rlf_rows_room(env->pool, out->set->name, n, extent, err));
    out->tokens = rlf_space_tokens(env->pool, env->graph, out->set->tokens,
                                   out->samples, 0, lengths);
    return RLF_OK;
}

/* No model reads the set: it has texts only. */
static rlf_status
put_texts(const rlf_env *env, const rlf_column *text, rlf_rows *out,
          rlf_err *err)
{
    uint32_t n = text->space->count;
    RLF_TRY(rlf_rows_room(env->pool, out->set->name, n, 0, err));
    out->sample = RLF_NEW_ARRAY(env->pool, rlf_sample, n);
    for (uint32_t i = 0; i < n; i++)
        out->sample[i] = (rlf_sample){.text = text->text[i], .finished = true};
    return RLF_OK;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_env *env = call->env;
    const rlf_graph *graph = env->graph;
    const rlf_arg *arg = rlf_node_arg(call->node, "text");
    const rlf_column *text = &call->in[arg->input].column;
    rlf_rows *to = call->in[rlf_node_arg(call->node, "to")->input].rows;
    const rlf_value *value = &graph->values.data[call->node->outputs[0]];

    RLF_TRY(
        rlf_rows_room(env->pool, "a response", 2 * text->space->count, 0, err));
    rlf_rows *out = RLF_NEW(env->pool, rlf_rows);
    out->set = &graph->sets.data[value->set];
    out->temperature = 1;
    out->samples =
        rlf_rows_of(env->pool, graph, out->set->samples, text->space);
    call->out[0].rows = out;
    if (out->set->model < 0) {
        put_prompts(env, to, to->prompt, text->space, out);
        out->reader = to->reader;
        RLF_TRY(put_texts(env, text, out, err));
        return RLF_OK;
    }
    const rlf_reader *reader = rlf_model_reader(env->resource[out->set->model]);
    rlf_prompt *prompts;
    RLF_TRY(rlf_rows_prompts(env, to, reader, err, &prompts));
    put_prompts(env, to, prompts, text->space, out);
    out->reader = reader;
    rlf_status status = put_samples(call, reader, text, out, err);
    if (status < 0)
        rlf_err_place(err, call->node->span, "respond");
    return status;
}

const rlf_node_class rlf_node_respond = {
    .name = "respond",
    .doc = "a sample for each row of a text column: the text is the response",
    .form = RLF_FORM_CALL,
    .formals = formals,
    .n_formals = sizeof formals / sizeof *formals,
    .gives = RLF_GIVES_SET,
    .level = RLF_LEVEL_SAMPLE,
    .texts_formal = "text",
    .granularity = RLF_GRAIN_BATCH,
    .open = rlf_class_no_open,
    .step = step,
    RLF_CLASS_PLAIN,
};
