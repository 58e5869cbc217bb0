/* Fields of a set: prompt, text, length, finished, logprob, and the fields of
 * the data rows that it came from.
 *
 * Fields of prompts are there as soon as the set is; fields of samples are
 * filled in as they become complete. */
#include "nodes/data.h"
#include "nodes/hook.h"

static rlf_rows *
set_of(const rlf_call *call)
{
    return call->in[0].rows;
}

/* Call `put` for each row of the piece, or for all rows of the samples. */
static void
each_sample(rlf_call *call, void (*put)(rlf_call *, const rlf_rows *, uint32_t))
{
    const rlf_rows *rows = set_of(call);
    if (call->rows)
        for (uint32_t i = 0; i < call->n_rows; i++)
            put(call, rows, call->rows[i]);
    else
        for (uint32_t i = 0; i < rows->samples->count; i++)
            put(call, rows, i);
}

static rlf_status
open_samples(rlf_call *call, rlf_err *err)
{
    bool text = call->node->class->gives == RLF_GIVES_TEXT;
    return rlf_column_try(call->env->pool, set_of(call)->samples, text,
                          "a field of samples", err, &call->out[0].column);
}

/* ---- prompt ---- */

/* A chat that no model has read yet has no text: its last message stands. */
static rlf_str
prompt_text(const rlf_prompt *prompt)
{
    if (prompt->text.p || !prompt->n_messages)
        return prompt->text;
    return prompt->messages[prompt->n_messages - 1].content;
}

static rlf_status
step_prompt(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_rows *rows = set_of(call);
    for (uint32_t i = 0; i < rows->prompts->count; i++)
        call->out[0].column.text[i] = prompt_text(&rows->prompt[i]);
    return RLF_OK;
}

static rlf_status
open_prompt(rlf_call *call, rlf_err *err)
{
    RLF_TRY(rlf_column_try(call->env->pool, set_of(call)->prompts, true,
                           "prompts", err, &call->out[0].column));
    return step_prompt(call, err);
}

/* ---- text, length, finished ---- */

static void
put_text(rlf_call *call, const rlf_rows *rows, uint32_t row)
{
    call->out[0].column.text[row] = rows->sample[row].text;
}

static void
put_length(rlf_call *call, const rlf_rows *rows, uint32_t row)
{
    call->out[0].column.number[row] = rows->sample[row].n_ids;
}

static void
put_finished(rlf_call *call, const rlf_rows *rows, uint32_t row)
{
    call->out[0].column.number[row] = rows->sample[row].finished;
}

static rlf_status
step_text(rlf_call *call, rlf_err *err)
{
    (void)err;
    each_sample(call, put_text);
    return RLF_OK;
}

static rlf_status
step_length(rlf_call *call, rlf_err *err)
{
    (void)err;
    each_sample(call, put_length);
    return RLF_OK;
}

static rlf_status
step_finished(rlf_call *call, rlf_err *err)
{
    (void)err;
    each_sample(call, put_finished);
    return RLF_OK;
}

/* ---- logprob ---- */

static void
infer_logprob(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    const rlf_value *value = &graph->values.data[node->inputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];
    if (set->kind == RLF_SET_SAMPLED)
        return;
    rlf_diag *diag = rlf_diag_error(
        diags, "field", node->span,
        "'%s' was not sampled by a model: it has no logprob", set->name);
    rlf_diag_hint(diags, diag, "a model's own: MODEL.logprob(%s)", set->name);
}

/* The set's own array, which its sampler fills: nothing is copied. */
static rlf_status
open_logprob(rlf_call *call, rlf_err *err)
{
    const rlf_rows *rows = set_of(call);
    if (!rows->logprob)
        return rlf_fail(err, RLF_BUG, "a sampled set without logprobs");
    call->out[0].column =
        (rlf_column){.space = rows->tokens, .number = rows->logprob};
    return RLF_OK;
}

/* ---- fields of the data ---- */

static const rlf_formal data_formals[] = {
    {.name = "name",
     .kind = RLF_FORMAL_TEXT,
     .required = true,
     .doc = "which field"},
};

static rlf_status
open_data(rlf_call *call, rlf_err *err)
{
    const rlf_rows *rows = set_of(call);
    const rlf_data *data = call->env->resource[call->node->receiver];
    const char *name = rlf_node_arg(call->node, "name")->text;
    bool text = call->node->class->gives == RLF_GIVES_TEXT;
    const rlf_record_column *from = rlf_records_column(&data->records, name);
    if (!from || (text ? from->kind != RLF_RECORD_TEXT : !from->numbers))
        return rlf_fail(err, RLF_BUG, "'%s' has no field '%s' of its kind",
                        data->name, name);
    if (!rows->data_row)
        return rlf_fail(err, RLF_USER,
                        "prompts of '%s' come from no row of '%s'",
                        rows->set->name, data->name);
    rlf_column column;
    RLF_TRY(rlf_column_try(call->env->pool, rows->prompts, text,
                           "a field of data", err, &column));
    for (uint32_t i = 0; i < rows->prompts->count; i++) {
        uint32_t row = rows->data_row[i];
        rlf_record_value value;
        if (!text) {
            column.number[i] = from->numbers[row];
            continue;
        }
        RLF_TRY(rlf_data_value(data, from, row, call->env->pool, err, &value));
        column.text[i] = value.text;
    }
    call->out[0].column = column;
    return RLF_OK;
}

/* ---- the classes ---- */

#define A_FIELD                                                 \
    .form = RLF_FORM_FIELD, .partition = RLF_PARTITION_NEAR,    \
    .granularity = RLF_GRAIN_SAMPLE, .cost = rlf_class_no_cost, \
    RLF_CLASS_STATELESS

/* Of the samples of a set, which come one by one. */
#define A_SAMPLE_FIELD                                                \
    A_FIELD, .receiver = RLF_RECEIVER_SET, .level = RLF_LEVEL_SAMPLE, \
             .needs_tokens = true, .infer = rlf_class_no_infer,       \
             .open = open_samples

const rlf_node_class rlf_node_field_prompt = {
    A_FIELD,
    .name = "prompt",
    .doc = "the prompt's text",
    .receiver = RLF_RECEIVER_SET,
    .gives = RLF_GIVES_TEXT,
    .level = RLF_LEVEL_PROMPT,
    .infer = rlf_class_no_infer,
    .open = open_prompt,
    .step = step_prompt,
};

const rlf_node_class rlf_node_field_text = {
    A_SAMPLE_FIELD,
    .name = "text",
    .doc = "all text after the prompt",
    .gives = RLF_GIVES_TEXT,
    .step = step_text,
};

const rlf_node_class rlf_node_field_length = {
    A_SAMPLE_FIELD,
    .name = "length",
    .doc = "response tokens, the end token included",
    .gives = RLF_GIVES_COLUMN,
    .step = step_length,
};

const rlf_node_class rlf_node_field_finished = {
    A_SAMPLE_FIELD,
    .name = "finished",
    .doc = "0 if the response was cut off, else 1",
    .gives = RLF_GIVES_COLUMN,
    .step = step_finished,
};

const rlf_node_class rlf_node_field_turn = {
    A_FIELD,
    .name = "turn",
    .doc = "number of the turn that a token is in",
    .view = true,
    .receiver = RLF_RECEIVER_SET,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_TOKEN,
    .needs_tokens = true,
    .unsupported = RLF_NO_TURNS,
    .infer = rlf_class_no_infer,
    .open = rlf_class_unsupported,
    .step = rlf_class_unsupported,
};

const rlf_node_class rlf_node_field_logprob = {
    A_FIELD,
    .name = "logprob",
    .doc = "log-probability of each token as sampled",
    .view = true,
    .receiver = RLF_RECEIVER_SET,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_TOKEN,
    .needs_tokens = true,
    .infer = infer_logprob,
    .open = open_logprob,
    .step = rlf_class_no_step,
};

const rlf_node_class rlf_node_field_number = {
    A_FIELD,
    .name = "number",
    .doc = "a number of the data row",
    .receiver = RLF_RECEIVER_DATA,
    .formals = data_formals,
    .n_formals = 1,
    .gives = RLF_GIVES_COLUMN,
    .level = RLF_LEVEL_PROMPT,
    .infer = rlf_class_no_infer,
    .open = open_data,
    .step = rlf_class_no_step,
};

const rlf_node_class rlf_node_field_words = {
    A_FIELD,
    .name = "words",
    .doc = "a text of the data row",
    .receiver = RLF_RECEIVER_DATA,
    .formals = data_formals,
    .n_formals = 1,
    .gives = RLF_GIVES_TEXT,
    .level = RLF_LEVEL_PROMPT,
    .infer = rlf_class_no_infer,
    .open = open_data,
    .step = rlf_class_no_step,
};
