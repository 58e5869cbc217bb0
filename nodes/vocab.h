/* Values per word of the vocabulary, for a few response tokens at a time.
 *
 * A reduction over vocab is a program whose rows are tokens and whose tokens
 * are words (rlf_vocab_program). A tile holds the log-probabilities of all
 * words at some rows of a micro-batch, of each model that is read, on the
 * device, and runs that program on them there, and in a loss the one of the
 * derivatives; to the host come numbers per row, in the order of the queue. A
 * row's numbers depend on that row alone, and every sum over words goes in
 * their order, so neither the tile's size nor threads nor micro-batches change
 * a bit.
 *
 * All models read the same samples, each behind prompts as it writes them
 * itself: each has a pass of its own, in which the same rows are the same
 * tokens. In a pipeline all are cut into the same stages, and the tile is on
 * the last one. */
#ifndef RLF_NODES_VOCAB_H
#define RLF_NODES_VOCAB_H

#include "kernels/expr_dense.h"
#include "nodes/model/transformer.h"
#include "nodes/sequences.h"

typedef struct rlf_vocab_tile rlf_vocab_tile;

/* What lasts for the run, in an arena that lasts as long. */
typedef struct rlf_vocab_plan {
    rlf_arena *arena;
    const rlf_vocab_program *words;
    const rlf_expr_dense *value, *slope; /* slope NULL: not in a loss */
    rlf_vocab_tile *tile;                /* once there was a call */
} rlf_vocab_plan;
rlf_status rlf_vocab_plan_new(const rlf_vocab_program *words, rlf_arena *arena,
                              rlf_err *err, rlf_vocab_plan *out);

struct rlf_vocab_tile {
    const rlf_vocab_plan *plan;
    const rlf_call *call;
    const rlf_rows *set;
    bool here;         /* this rank is of the last stage; else it has no rows */
    rlf_model **model; /* per input of the program; NULL of a column and of the
                          live model */
    rlf_pass **pass;   /* passes of these models */
    /* The sequences that they read: rlf_vocab_take. */
    const rlf_sequence **seqs;
    int64_t rows, v;   /* rows at once at most, of v words */
    int64_t most;      /* rows of a micro-batch, at most */
    /* On the device, at the end of what a head works in (heads.h): */
    rlf_pass *room; /* the pass whose memory it is: of the live model, or of the
                       first that is read */
    size_t beside; /* bytes there for results, derivatives, what is nonfinite */
    rlf_dense_column *inputs; /* per input: [rows, v] of a model; columns [rows]
                                 on the host, then those of the derivatives */
    /* On the host. */
    double **column;     /* per input that is one, [rows]: by the caller */
    double **derivative; /* per output, [rows]: by the caller */
    /* The caller's, for rows of the micro-batch at hand: */
    double *const *result; /* per output */
    rlf_nonfinite *nonfinite; /* places of slopes that are not finite */
};
/* Opens the tile of a call of the node, which the first makes, and which then
 * is the same. `live`: a pass of the live model on its last stage, or NULL.
 * RLF_USER if vocabularies differ in size. */
rlf_status rlf_vocab_tile_open(rlf_vocab_plan *plan, const rlf_call *call,
                               rlf_pass *live, rlf_err *err,
                               rlf_vocab_tile **out);
/* Bytes that a tile takes on the host, for each run of the node in a step. */
double rlf_vocab_tile_bytes(const rlf_load *load, const rlf_node *node,
                            const rlf_vocab_program *words);
/* Bytes that rlf_vocab_keep takes for all micro-batches of an update, at most.
 */
double rlf_vocab_kept_bytes(const rlf_load *load, const rlf_node *node,
                            const rlf_vocab_program *words);
/* Tokens of a micro-batch, of which `tokens` would fit otherwise: no more than
 * every model that is read has room for. */
uint32_t rlf_vocab_tokens(const rlf_load *load, const rlf_vocab_program *words,
                          uint32_t tokens);
/* Adds the work of the programs at the samples `own`, which go through the
 * models together as far as they fit, and of reading the models that are not live.
 * In an update whose loss looks at more than a token their heads are read
 * twice, which is not counted. */
void rlf_vocab_cost(const rlf_load *load, const rlf_node *node,
                    const rlf_vocab_program *words, const rlf_lengths *own,
                    rlf_counts *out);

/* The samples `which` (n of them; NULL: all) of the set, which are meant by
 * numbers below. `seqs`: as the node's own model reads them. */
rlf_status rlf_vocab_take(rlf_vocab_tile *tile, const rlf_sequence *seqs,
                          const uint32_t *which, uint32_t n, rlf_err *err);
/* Finds how many of n samples from `first` on fit into the models' passes:
 * lowers *fit. */
rlf_status rlf_vocab_fit(const rlf_vocab_tile *tile, uint32_t first, uint32_t n,
                         rlf_err *err, uint32_t *fit);
/* Run the models on these samples, the micro-batch at hand; all stages do so
 * together, and settle after the last. */
rlf_status rlf_vocab_forward(const rlf_vocab_tile *tile, uint32_t first,
                             uint32_t n, rlf_err *err);
rlf_status rlf_vocab_settle(const rlf_vocab_tile *tile, rlf_err *err);
/* Keeps what the models gave for the micro-batch at hand, per input of the
 * program (NULL: not of a model that was run), in `pool`; and back, so that it
 * is at hand again. */
rlf_status rlf_vocab_keep(const rlf_vocab_tile *tile, rlf_arena *pool,
                          rlf_err *err, void ***out);
rlf_status rlf_vocab_recall(const rlf_vocab_tile *tile, uint32_t first,
                            uint32_t n, void *const *kept, rlf_err *err);
/* Row k of the tile is this token of this sample: its columns. */
void rlf_vocab_place(const rlf_vocab_tile *tile, int64_t k, uint32_t row,
                     uint32_t token);
/* Fill in rows first..first+n-1 of the passes. `own` [n, v], device memory: of
 * the live model; NULL: computed in `pass` of `model`. */
rlf_status rlf_vocab_load(rlf_vocab_tile *tile, int64_t first, int64_t n,
                          float *own, const rlf_model *model, rlf_pass *pass,
                          rlf_err *err);
/* Takes the results of the rows that were loaded, on the device, into
 * tile->result from number `first` on, where they are after the next wait for
 * the queue. */
rlf_status rlf_vocab_results(const rlf_vocab_tile *tile, int64_t first,
                             int64_t n, rlf_err *err);
/* [rows] of output i, on the device: results, and room for derivatives. */
double *rlf_vocab_result_at(const rlf_vocab_tile *tile, uint32_t i);
double *rlf_vocab_derivative_at(const rlf_vocab_tile *tile, uint32_t i);
/* Makes the derivatives by the live model's words of tile->derivative, or of
 * those `there` on the device, where the words lie; tile->nonfinite likewise.
 */
rlf_status rlf_vocab_slopes(const rlf_vocab_tile *tile, int64_t first,
                            int64_t n, bool there, rlf_err *err);

#endif
