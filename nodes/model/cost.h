/* Counts of work of a model's calls: floating-point operations and bytes, from
 * shapes and lengths alone.
 *
 * An operation counts what its row in kernels/op.def says; a call is the sum
 * over the operations that transformer.c, optimizer.c and generate.c make it
 * of. For a dense trunk that is nearly the familiar 2 N flops a token forward
 * and 4 N backward (N: weights that are multiplied; Kaplan et al. 2020, 2.1),
 * plus attention: 4 flops for each pair of query and key, head and element of
 * it forward, 10 backward, as scores are computed again (Dao 2023).
 *
 * Exact but for: generation counts the pages of a prompt as shared by all of
 * its samples, nobody preempted, and prompts of a wave prefilled as densely as
 * its passes hold; in a pipeline, each part of a batch with as many passes as
 * the batch would have, so weights are read at most as often as is said.
 * Copies and fills that are no operation are not counted, nor is the loss's own
 * arithmetic but over vocab. Seconds are made of counts elsewhere.
 *
 * A count is of one rank: of the part of the model that its table has. What it
 * meets the others in is counted by axes of the layout: what it sends is the
 * volume of its sums, 2 (p - 1) / p of what p ranks add (short sums go whole to
 * everyone and are more where p > 2). The few numbers of a row that heads in
 * parts hand round are meetings without bytes. */
#ifndef RLF_MODEL_COST_H
#define RLF_MODEL_COST_H

#include "engine/expr/expr.h"
#include "engine/graph/class.h"
#include "nodes/model/pass.h"

typedef struct rlf_counts {
    rlf_cost cost;              /* `host` is not counted */
    /* The kernels whose activations and packings they are. */
    const rlf_kernels *kernels;
    double narrow; /* as rlf_model.narrow */
} rlf_counts;

/* `n` sequences of `prompt` + `response` tokens. */
typedef struct rlf_lengths {
    uint64_t n;
    uint32_t prompt, response;
} rlf_lengths;

/* A call over sequences in this order, cut into micro-batches of at most
 * `tokens`. */
typedef struct rlf_reading_load {
    const rlf_lengths *lengths;
    size_t n_lengths;
    uint32_t tokens; /* T */
    rlf_rows_kind rows;
    uint64_t each; /* samples of a prompt, which they share (prefix.h) and come
                      one behind another; 0: each has its own */
    bool logprob, scalar; /* heads that are read */
    bool recompute;       /* passes that train compute activations again */
    bool offload;         /* weights lie in host memory */
    bool packed_rows;     /* the embedding is read as it is packed */
    bool several;         /* micro-batches under way at once */
    bool split;           /* backward leaves weights for later */
    bool point;           /* the loss's program runs in the head's tiles */
    bool one_chunk;       /* only `chunk` of those that the rank has */
    int chunk;
} rlf_reading_load;

/* The passes that an update makes over its micro-batches, a bit each. */
typedef enum rlf_update_passes {
    RLF_UPDATE_BEFORE = 1, /* reading all of them before any other pass, where
                              the loss looks across samples */
    RLF_UPDATE_FORWARD = 2,
    RLF_UPDATE_BACKWARD = 4,
    RLF_UPDATE_WEIGHTS = 8, /* of a split backward what it leaves of weights;
                               backward has it if it is not split */
    RLF_UPDATE_ALL = 15,
} rlf_update_passes;

/* Each adds to `out`. */
void rlf_cost_read(const rlf_table *table, const rlf_reading_load *load,
                   rlf_counts *out);
/* Adds the given passes of an update whose loss reaches so far. */
void rlf_cost_train(const rlf_table *table, const rlf_reading_load *load,
                    rlf_reach reach, rlf_update_passes passes, rlf_counts *out);
/* A program over the v words of each of so many rows (expr_dense), in so many
 * tiles. */
void rlf_cost_words(const rlf_expr *program, double rows, double v,
                    double tiles, rlf_counts *out);
/* Adding the gradients of this rank's lanes, and of its peers; the optimizer's
 * step; packing the new weights. */
void rlf_cost_optimizer(const rlf_model *model, rlf_counts *out);
/* A weighted sum of `terms` models. */
void rlf_cost_assign(const rlf_table *table, bool trained, int terms,
                     rlf_counts *out);

typedef struct rlf_sampling_load {
    uint64_t groups; /* prompts */
    uint32_t each;   /* samples of one */
    uint32_t prompt, response;
    uint32_t tokens, active; /* tokens of a pass; sequences at once */
    bool offload, packed_rows;
} rlf_sampling_load;

/* Returns how many turns it takes; in each, all parts of the batch make a pass.
 */
double rlf_cost_generate(const rlf_table *table, const rlf_sampling_load *load,
                         rlf_counts *out);

/* One pass of a generation, which in a pipeline is one of a part of the batch:
 * `rows` sequences get a token each, with `context` tokens before it on
 * average; `prompts` of `prompt` tokens are read, and get a token each. */
typedef struct rlf_turn_load {
    uint64_t rows, prompts;
    double context;
    uint32_t prompt;
    uint32_t tokens; /* tokens of a pass */
    bool offload, packed_rows;
} rlf_turn_load;

void rlf_cost_turn(const rlf_table *table, const rlf_turn_load *load,
                   rlf_counts *out);

#endif
