/* What a model says of a set: logprob and value per response token, score per
 * sample. One forward pass without gradients, cut into micro-batches. Live
 * calls in an update are not run here: they are part of it (update.c). */
#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "nodes/model/transformer.h"
#include "nodes/model/work.h"
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
    rlf_reading reading = rlf_reading_of(node->class);
    rlf_model_check_head(graph, node, reading != RLF_READ_LOGPROB, diags);
    if (reading != RLF_READ_SCORE)
        rlf_model_check_tokens(graph, node, diags);
}

static rlf_status
open(rlf_call *call, rlf_err *err)
{
    (void)err;
    const rlf_rows *rows = call->in[0].rows;
    call->out[0].column = rlf_column_new(
        call->env->pool,
        rlf_reading_of(call->node->class) == RLF_READ_SCORE ? rows->samples
                                                            : rows->tokens,
        false);
    return RLF_OK;
}

/* One micro-batch: `fit` sequences, the first of them sample number `at` of
 * the piece. */
static rlf_status
run_micro(rlf_call *call, const rlf_model *model, rlf_pass *pass,
          const rlf_sequence *seqs, uint32_t at, uint32_t fit, rlf_err *err)
{
    rlf_reading kind = rlf_reading_of(call->node->class);
    const rlf_rows *rows = call->in[0].rows;
    double *out = call->out[0].column.number;
    RLF_TRY(rlf_pass_load(
        pass, seqs + at, fit, at,
        kind == RLF_READ_SCORE ? RLF_ROWS_LAST : RLF_ROWS_TOKENS, err));
    RLF_TRY(rlf_transformer_forward(model, pass, err));
    if (!rlf_table_ends(model->table, model->table->cut.chunks - 1))
        return RLF_OK; /* the last stage has the heads, and the result */
    if (kind == RLF_READ_LOGPROB)
        RLF_TRY(rlf_head_logprobs(model, pass, false, err));
    else
        RLF_TRY(rlf_head_scalars(model, pass, err));
    float *got = RLF_NEW_ARRAY(call->env->pool, float, pass->n_rows);
    RLF_TRY(rlf_pass_read(
        pass, kind == RLF_READ_LOGPROB ? pass->logprob : pass->scalar,
        pass->n_rows, err, got));
    for (uint32_t i = at; i < at + fit; i++) {
        uint32_t row = call->rows ? call->rows[i] : i;
        if (kind == RLF_READ_SCORE) {
            out[row] = (double)*got++;
            continue;
        }
        for (uint32_t t = 0; t < seqs[i].n_response; t++)
            out[rlf_sequences_place(rows, row, t)] = (double)*got++;
    }
    return RLF_OK;
}

static rlf_status
step(rlf_call *call, rlf_err *err)
{
    rlf_model_object *object = rlf_model_at(call->env, call->node->receiver);
    rlf_rows *rows = call->in[0].rows;
    uint32_t n = call->rows ? call->n_rows : rows->samples->count;
    rlf_sequence *seqs;
    RLF_TRY(rlf_sequences_read(call->env, rows, object,
                               rlf_reading_of(call->node->class), call->rows, n,
                               err, &seqs));
    rlf_pass *pass;
    rlf_model *model = rlf_model_of(call, call->node->receiver);
    RLF_TRY(rlf_work_pass(model, RLF_USE_READ, err, &pass));
    for (uint32_t i = 0; i < n;) {
        uint32_t fit;
        RLF_TRY(rlf_pass_fit(pass, seqs + i, n - i, err, &fit));
        RLF_TRY(run_micro(call, model, pass, seqs, i, fit, err));
        rlf_comm_beat(call->env->comm);
        i += fit;
    }
    return RLF_OK;
}

static void
cost(const rlf_load *load, const rlf_node *node, rlf_cost *out)
{
    const rlf_model *model = rlf_load_model(load, node);
    rlf_reading kind = rlf_reading_of(node->class);
    rlf_lengths lengths = rlf_sequences_lengths(load, node->inputs[0]);
    rlf_lengths own = lengths;
    own.n = rlf_load_rows(load, lengths.n);
    rlf_reading_load reading = {
        .lengths = &own,
        .n_lengths = 1,
        .tokens = model->caps.tokens[RLF_USE_READ],
        .rows = kind == RLF_READ_SCORE ? RLF_ROWS_LAST : RLF_ROWS_TOKENS,
        .logprob = kind == RLF_READ_LOGPROB,
        .scalar = kind != RLF_READ_LOGPROB,
        .offload = model->offload};
    rlf_counts counts = {0};
    rlf_cost_read(model->table, &reading, &counts);
    *out = (rlf_cost){.host = rlf_sequences_bytes(&lengths) +
                              4.0 * (double)lengths.n * lengths.response};
    rlf_cost_add(out, &counts);
}

#define CLASS(name_, doc_, level_)            \
    const rlf_node_class rlf_node_##name_ = { \
        .name = #name_,                       \
        .doc = doc_,                          \
        .role = RLF_ROLE_METHOD,              \
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
        .trainable = &rlf_trainable_none,     \
        .handover = &rlf_handover_none,       \
    }

CLASS(logprob,
      "log-probability of each response token at the set's temperature",
      RLF_LEVEL_TOKEN);
CLASS(value, "the scalar head before each response token", RLF_LEVEL_TOKEN);
CLASS(score, "the scalar head after the last token", RLF_LEVEL_SAMPLE);
