/* Readings of a set by a model: logprob and value per response token, score per
 * sample. One forward pass without gradients, cut into micro-batches, in which
 * samples of one prompt share what it is computed to. Sets of the same rows, as
 * two given responses to each prompt, are inputs of one node (grammar/pair.c),
 * which gives a column for each and takes their samples by turns. Live calls in
 * an update are not run here: they are part of it (update.c). */
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "nodes/model/transformer.h"
#include "nodes/model/buffers.h"
#include "nodes/model/prefix.h"
#include "nodes/sequences.h"

static const rlf_formal formals[] = {
    {.name = "set",
     .kind = RLF_FORMAL_SET,
     .required = true,
     .doc = "a set with responses"},
};

static void
infer(const rlf_graph *graph, const rlf_node *node, rlf_diags *diags)
{
    rlf_read_kind reading = rlf_read_kind_of(node->class);
    rlf_model_check_head(graph, node, reading != RLF_READ_LOGPROB, diags);
    if (reading != RLF_READ_SCORE)
        rlf_model_check_tokens(graph, node, diags);
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    bool score = rlf_read_kind_of(call->node->class) == RLF_READ_SCORE;
    for (int k = 0; k < call->node->n_inputs; k++) {
        const rlf_rows *rows = call->in[k].rows;
        RLF_TRY(rlf_column_try(
            call->env->pool, score ? rows->samples : rows->tokens, false,
            "what a model says of samples", err, &call->out[k].column));
    }
    return RLF_OK;
}

/* Sequences that are read together. */
typedef struct micro {
    uint32_t first, count; /* sequences of the piece */
} micro;

/* One call. */
typedef struct reader {
    rlf_call *call;
    const rlf_model *model;
    rlf_pass *pass;
    const uint32_t *rows; /* of the piece, ascending, so that those of a prompt
                             follow one another; NULL: all */
    uint32_t n_rows, n_sets;
    rlf_sequence *seqs; /* row by row one of each set */
    RLF_VEC(micro) micros;
} reader;

static int
ascending(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static rlf_status
sort_rows(reader *r, rlf_err *err)
{
    const rlf_call *call = r->call;
    uint32_t *rows;
    if (!call->rows)
        return RLF_OK;
    RLF_TRY(rlf_arena_try(call->env->pool, sizeof *rows * (call->n_rows + 1),
                          "the order in which samples are read", err, &rows));
    memcpy(rows, call->rows, sizeof *rows * call->n_rows);
    qsort(rows, call->n_rows, sizeof *rows, ascending);
    r->rows = rows;
    return RLF_OK;
}

/* Puts the results of the heads for the micro-batch at hand into the column. */
static rlf_status
put_result(reader *r, micro m, rlf_err *err)
{
    rlf_call *call = r->call;
    rlf_pass *pass = r->pass;
    rlf_read_kind kind = rlf_read_kind_of(call->node->class);
    if (kind == RLF_READ_LOGPROB)
        RLF_TRY(rlf_head_logprobs(r->model, pass, false, err));
    else
        RLF_TRY(rlf_head_scalars(r->model, pass, err));
    float *got = RLF_NEW_ARRAY(call->env->pool, float, pass->n_rows);
    RLF_TRY(rlf_pass_read(
        pass, kind == RLF_READ_LOGPROB ? pass->logprob : pass->scalar,
        pass->n_rows, err, got));
    for (uint32_t i = m.first; i < m.first + m.count; i++) {
        uint32_t k = i % r->n_sets, at = i / r->n_sets;
        uint32_t row = r->rows ? r->rows[at] : at;
        double *out = call->out[k].column.number;
        if (kind == RLF_READ_SCORE) {
            out[row] = (double)*got++;
            continue;
        }
        uint32_t own = rlf_sequence_own(&r->seqs[i]);
        for (uint32_t t = 0; t < own; t++)
            out[rlf_sequences_place(call->in[k].rows, row, t)] = (double)*got++;
    }
    return RLF_OK;
}

static rlf_rows_kind
rows_of(const rlf_node *node)
{
    return rlf_read_kind_of(node->class) == RLF_READ_SCORE ? RLF_ROWS_LAST
                                                           : RLF_ROWS_TOKENS;
}

/* A chunk of the layers on a micro-batch; the last stage has the result. */
static rlf_status
run_part(reader *r, micro m, int chunk, rlf_err *err)
{
    RLF_TRY(rlf_pass_load(r->pass, r->seqs + m.first, m.count, m.first,
                          rows_of(r->call->node), err));
    RLF_TRY(rlf_transformer_forward_part(r->model, r->pass, chunk, err));
    if (rlf_table_ends(r->model->table, chunk))
        RLF_TRY(put_result(r, m, err));
    rlf_comm_heartbeat(r->call->env->comm);
    return RLF_OK;
}

/* As rlf_pipe_reading has it of a V: what comes back to a stage as soon as it
 * can. */
static rlf_status
run_vee(reader *r, rlf_err *err)
{
    const rlf_cut *cut = &r->model->table->cut;
    size_t n = r->micros.count, lag = (size_t)(cut->stages - 1 - cut->stage);
    for (size_t i = 0; i < n + lag; i++) {
        if (i < n)
            RLF_TRY(run_part(r, r->micros.data[i], 0, err));
        if (i >= lag)
            RLF_TRY(run_part(r, r->micros.data[i - lag], 1, err));
    }
    return rlf_transformer_settle(r->pass, err);
}

/* Runs them in rounds where stages have several chunks, else one micro-batch
 * after the other. */
static rlf_status
run_micros(reader *r, rlf_err *err)
{
    const rlf_cut *cut = &r->model->table->cut;
    if (cut->vee)
        return run_vee(r, err);
    size_t n = r->micros.count,
           most = cut->chunks > 1 ? (size_t)cut->stages : 1;
    for (size_t first = 0, last; first < n; first = last) {
        last = first + most < n ? first + most : n;
        for (int chunk = 0; chunk < cut->chunks; chunk++)
            for (size_t i = first; i < last; i++)
                RLF_TRY(run_part(r, r->micros.data[i], chunk, err));
    }
    return rlf_transformer_settle(r->pass, err);
}

/* Reads the samples of all sets, by turns. */
static rlf_status
read_samples(reader *r, rlf_err *err)
{
    const rlf_call *call = r->call;
    const rlf_env *env = call->env;
    const rlf_model_object *object = rlf_model_at(env, call->node->receiver);
    rlf_read_kind kind = rlf_read_kind_of(call->node->class);
    uint32_t of = r->n_sets;
    rlf_sequence *own, *all = NULL;
    if (of > 1)
        RLF_TRY(rlf_arena_try(env->pool,
                              sizeof *all * ((size_t)r->n_rows * of + 1),
                              "the samples that a model reads", err, &all));
    for (uint32_t k = 0; k < of; k++) {
        RLF_TRY(rlf_sequences_read(env, call->in[k].rows, object, kind, r->rows,
                                   r->n_rows, err, &own));
        for (uint32_t i = 0; i < r->n_rows && all; i++)
            all[i * of + k] = own[i];
    }
    r->seqs = all ? all : own;
    return RLF_OK;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    const rlf_rows *rows = call->in[0].rows;
    rlf_model *model = rlf_model_of(call, call->node->receiver);
    reader r = {.call = call,
                .model = model,
                .n_rows = call->rows ? call->n_rows : rows->samples->count,
                .n_sets = (uint32_t)call->node->n_inputs};
    uint32_t n = r.n_rows * r.n_sets;
    RLF_TRY(sort_rows(&r, err));
    RLF_TRY(read_samples(&r, err));
    RLF_TRY(rlf_buffers_pass(model, RLF_USE_READ, err, &r.pass));
    rlf_sequences_share(r.seqs, n, rows_of(call->node));
    call->fed = 0; /* also what is shared: measured times are of such */
    for (uint32_t i = 0; i < n; i++)
        call->fed += r.seqs[i].n_prompt + r.seqs[i].n_response;
    for (uint32_t i = 0, fit; i < n; i += fit) {
        RLF_TRY(rlf_prefix_fit(r.pass, r.seqs + i, n - i, false, err, &fit));
        RLF_PUSH_IN(call->env->pool, &r.micros, (micro){i, fit});
    }
    return run_micros(&r, err);
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    rlf_read_kind kind = rlf_read_kind_of(node->class);
    const rlf_read_sets sets = {node->inputs, node->n_inputs};
    rlf_lengths lengths = rlf_sequences_lengths_of(load, sets);
    rlf_lengths own = rlf_load_own(load, sets);
    const rlf_piece *piece = load->piece;
    bool one = piece && piece->kind == RLF_PIECE_FORWARD;
    rlf_reading_load reading = {.lengths = &own,
                                .n_lengths = 1,
                                .tokens = model->caps.tokens[RLF_USE_READ],
                                .rows = rows_of(node),
                                .each = rlf_sequences_each(load, sets),
                                .logprob = kind == RLF_READ_LOGPROB,
                                .scalar = kind != RLF_READ_LOGPROB,
                                .offload = model->offload,
                                .packed_rows = model->rows != NULL,
                                .one_chunk = one,
                                .chunk = one ? piece->chunk : 0};
    rlf_counts counts = {.kernels = model->kernels, .narrow = model->narrow};
    if (one || rlf_load_has(load, RLF_PIECE_ROWS))
        rlf_cost_read(model->table, &reading, &counts);
    *out = counts.cost;
    if (!piece)
        out->host = (sets.n > 1 ? 2 : 1) * rlf_sequences_bytes(&lengths) +
                    4.0 * (double)lengths.n * lengths.response;
    if (!piece && kind == RLF_READ_SCORE)
        out->host += rlf_sequences_score_bytes(load, node, &lengths);
}

#define CLASS(name_, doc_, level_)            \
    const rlf_node_class rlf_node_##name_ = { \
        .name = #name_,                       \
        .doc = doc_,                          \
        .form = RLF_FORM_CALL,                \
        .partition = RLF_PARTITION_ROWS,      \
        .work = RLF_WORK_READ,                \
        .receiver = RLF_RECEIVER_MODEL,       \
        .formals = formals,                   \
        .n_formals = 1,                       \
        .gives = RLF_GIVES_COLUMN,            \
        .level = level_,                      \
        .live = true,                         \
        .needs_tokens = true,                 \
        .granularity = RLF_GRAIN_SAMPLE,      \
        .infer = infer,                       \
        .cost = cost,                         \
        .init = rlf_class_no_init,            \
        .fini = rlf_class_no_fini,            \
        .open = open,                         \
        .step = step,                         \
    }

CLASS(logprob,
      "log-probability of each response token at the set's temperature",
      RLF_LEVEL_TOKEN);
CLASS(value, "the scalar head before each response token", RLF_LEVEL_TOKEN);
CLASS(score, "the scalar head after the last token", RLF_LEVEL_SAMPLE);
