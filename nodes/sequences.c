/* See sequences.h. */
#include "nodes/sequences.h"

#include <math.h>

/* The text of a sample as tokens of another vocabulary, behind the prompt as
 * its model writes it. It ends with an end token if its own tokens do: one that
 * was cut is not at its end. Failures name the sample. */
static rlf_status
read_anew(const rlf_env *env, const rlf_rows *rows, uint32_t row,
          const rlf_reader *reader, const rlf_prompt *prompt, rlf_err *err,
          rlf_sample *sample)
{
    rlf_err why = RLF_ERR_NONE;
    bool end = rows->set->kind == RLF_SET_WRITTEN ||
               (rows->reader &&
                rlf_rows_ended(rows->reader, sample->ids, sample->n_ids));
    rlf_status status =
        rlf_rows_response(env, reader, prompt, sample->text, end, &why, sample);
    if (status >= 0)
        return status;
    rlf_fail(err, status, "%s: model '%s' cannot read its response: %s",
             rlf_rows_name(env, rows, row, env->pool), reader->model,
             why.sentence);
    rlf_err_hint(err, "%s", why.hint);
    rlf_err_detail(err, "%s", why.detail);
    return status;
}

static rlf_status
check_length(const rlf_env *env, const rlf_rows *rows, uint32_t row,
             const rlf_model_object *model, const rlf_sequence *seq,
             rlf_err *err)
{
    uint64_t length = (uint64_t)seq->n_prompt + seq->n_response;
    if (length <= (uint64_t)model->config->context)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s has %llu tokens, %u of them in its response, more than the "
             "context of %d that model '%s' was made for",
             rlf_rows_name(env, rows, row, env->pool),
             (unsigned long long)length, rlf_sequence_own(seq),
             model->config->context, model->name);
    if (seq->runs)
        rlf_err_hint(err, "cut long ones (max_length: of converse), or take a "
                          "model with a longer context");
    else if (rows->set->kind == RLF_SET_WRITTEN)
        rlf_err_hint(err,
                     "shorten prompts (max_prompt:), leave out long responses, "
                     "as in page.where(page.length < 100), or take a model "
                     "with a longer context");
    else
        rlf_err_hint(err, "shorten prompts (max_prompt:) or responses "
                          "(max_new:)");
    return RLF_USER;
}

rlf_status
rlf_sequences_read(const rlf_env *env, const rlf_rows *rows,
                   const rlf_model_object *model, rlf_read_kind reading,
                   const uint32_t *which, uint32_t n, rlf_err *err,
                   rlf_sequence **out)
{
    const rlf_reader *reader = &model->reader;
    bool same = rows->reader && rlf_rows_same_tokens(rows->reader->tokenizer,
                                                     reader->tokenizer);
    if (!same && reading != RLF_READ_SCORE)
        return rlf_fail(err, RLF_USER,
                        "the tokens of '%s' are not those of model '%s': it "
                        "can only score the text",
                        rows->set->name, model->name);
    if (!which)
        n = rows->samples->count;
    rlf_sequence *seqs;
    RLF_TRY(rlf_arena_try(env->pool, sizeof *seqs * n,
                          "the samples that a model reads", err, &seqs));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = which ? which[i] : i;
        rlf_sample sample = rows->sample[row];
        rlf_prompt prompt;
        RLF_TRY(rlf_rows_prompt(env, rows,
                                rlf_rows_prompt_of(env->graph, rows, row),
                                reader, err, &prompt));
        if (!same)
            RLF_TRY(read_anew(env, rows, row, reader, &prompt, err, &sample));
        const rlf_dialog *dialog = sample.dialog;
        seqs[i] = (rlf_sequence){.prompt = prompt.ids,
                                 .n_prompt = prompt.n_ids,
                                 .response = dialog ? dialog->ids : sample.ids,
                                 .n_response = rlf_sample_length(&sample),
                                 .temperature = rows->temperature,
                                 .runs = dialog ? dialog->runs : NULL,
                                 .n_runs = dialog ? dialog->n_runs : 0};
        RLF_TRY(check_length(env, rows, row, model, &seqs[i], err));
        RLF_TRY(rlf_memory_check(err));
    }
    *out = seqs;
    return RLF_OK;
}

rlf_lengths
rlf_sequences_lengths(const rlf_load *load, int value)
{
    const rlf_set_size *size =
        &load->sizes->set[load->graph->values.data[value].set];
    double prompt = fmin(size->prompt, size->sequence - size->response);
    return (rlf_lengths){.n = (uint64_t)size->samples,
                         .prompt = (uint32_t)prompt,
                         .response = (uint32_t)size->response};
}

rlf_lengths
rlf_sequences_lengths_of(const rlf_load *load, rlf_read_sets sets)
{
    rlf_lengths out = {0};
    double n = sets.n, prompt = 0, response = 0;
    for (int k = 0; k < sets.n; k++) {
        rlf_lengths of = rlf_sequences_lengths(load, sets.values[k]);
        out.n += of.n;
        prompt += of.prompt / n;
        response += of.response / n;
    }
    out.prompt = (uint32_t)ceil(prompt);
    out.response = (uint32_t)ceil(response);
    return out;
}

uint64_t
rlf_sequences_each(const rlf_load *load, rlf_read_sets sets)
{
    const rlf_set_size *size =
        &load->sizes->set[load->graph->values.data[sets.values[0]].set];
    if (load->piece && load->piece->each)
        return load->piece->each;
    return (uint64_t)sets.n *
           (uint64_t)fmax(1, size->samples / fmax(1, size->prompts));
}

uint64_t
rlf_sequences_together(const rlf_load *load, const rlf_node *node,
                       rlf_read_sets sets)
{
    rlf_lengths lengths = rlf_sequences_lengths_of(load, sets);
    if (load->piece) {
        lengths.prompt = load->piece->prompt;
        lengths.response = load->piece->response;
    }
    return node->loss && node->loss->shared
               ? (uint64_t)rlf_caps_shared(
                     lengths.prompt, lengths.response,
                     (double)rlf_sequences_each(load, sets), sets.n)
               : 1;
}

const rlf_model *
rlf_load_part(const rlf_load *load, int model)
{
    const rlf_model_object *object = load->resource[model];
    const rlf_layout *l = load->layout;
    rlf_coordinates at = rlf_layout_find(l, load->rank);
    const rlf_cut cut = {.ranks = l->tp,
                         .rank = at.tp,
                         .stages = l->pp,
                         .stage = at.pp,
                         .chunks = l->chunks,
                         .vee = l->vee};
    for (int i = 0; i < object->n_copies; i++) {
        const rlf_model *m = object->copies[i].model;
        if (m && rlf_table_cut_alike(&m->table->cut, &cut))
            return m;
    }
    return object->outline;
}

const rlf_model *
rlf_load_model(const rlf_load *load, const rlf_node *node)
{
    return rlf_load_part(load, node->receiver);
}

uint64_t
rlf_load_rows(const rlf_load *load, uint64_t n)
{
    rlf_range rows = rlf_layout_rows(load->layout, load->rank, (int64_t)n);
    return (uint64_t)(rows.last - rows.first);
}

rlf_lengths
rlf_load_own(const rlf_load *load, rlf_read_sets sets)
{
    const rlf_piece *piece = load->piece;
    if (piece)
        return (rlf_lengths){.n = piece->rows,
                             .prompt = piece->prompt,
                             .response = piece->response};
    rlf_lengths own = rlf_sequences_lengths_of(load, sets);
    own.n = rlf_load_rows(load, own.n / (uint64_t)sets.n) * (uint64_t)sets.n;
    return own;
}

bool
rlf_load_has(const rlf_load *load, rlf_piece_kind kind)
{
    return !load->piece || load->piece->kind == kind;
}

double
rlf_sequences_bytes(const rlf_lengths *lengths)
{
    return (double)lengths->n * sizeof(rlf_sequence);
}

double
rlf_sequences_score_bytes(const rlf_load *load, const rlf_node *node,
                          const rlf_lengths *lengths)
{
    const rlf_caps *caps = &rlf_load_model(load, node)->caps;
    bool anew = load->graph->resources.data[node->receiver].retokenizes;
    return anew ? (double)lengths->n * caps->longest * sizeof(uint32_t) : 0;
}
