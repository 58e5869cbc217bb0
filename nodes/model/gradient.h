/* From what backward passes add up to one gradient.
 *
 * Three sums are not made token by token, so that ranks may share them and give
 * the same bits: samples go to lanes, which are added in a binary tree; norms
 * of q and k have a sum per shard of the heads; a tied embedding has the head's
 * share by itself. This file has the memory for them and adds them up. A rank
 * takes its lanes in turn with a block per level of the tree; replicas of a
 * model share the lanes, neighbours each, and add theirs in a tree. */
#ifndef RLF_MODEL_GRADIENT_H
#define RLF_MODEL_GRADIENT_H

#include "nodes/model/suballocate.h"
#include "nodes/model/model.h"

/* RLF_USER unless `lanes` is a power of two that there are blocks for (0: 1),
 * and there is one for each of the replicas. */
rlf_status rlf_gradient_check(const rlf_model_options *options, rlf_err *err);
/* Set m->gradient, with memory from `c` (which may only count). Returns the
 * bytes of all blocks but the first. */
size_t rlf_gradient_suballocate(rlf_model *m, const rlf_model_options *options,
                                rlf_suballocator *c);
/* The gradients of a chunk in two parts, which may be at different lanes: the
 * matrices of its layers and the embedding, that a backward which is split adds
 * to later, and the rest, vectors and heads. */
enum {
    RLF_GRADIENT_REST = 1,
    RLF_GRADIENT_MATRICES = 2,
    RLF_GRADIENT_ALL = RLF_GRADIENT_REST | RLF_GRADIENT_MATRICES
};
/* Gradients that are added from now on are of this chunk and part, in the lane
 * at hand there. The functions of heads.h and transformer.h that go backward do
 * so themselves. */
void rlf_gradient_select(rlf_model *m, int chunk, int part);
/* The lane at hand of these parts of a chunk is complete; what is added to them
 * from now on is the next one's. Every lane held here is ended so on every
 * chunk, also one without samples. After the last, their gradient stands in the
 * first block. */
rlf_status rlf_gradient_next(rlf_model *m, int chunk, int parts, rlf_err *err);
/* Called after the last lane: adds the lanes of replicas, shards, tied shares
 * and what other ranks have of the same tensor, so that gradient.weights is the
 * gradient; of a sliced model, in its slice. */
rlf_status rlf_gradient_finish(rlf_model *m, rlf_err *err);
/* Back to zeros, before the first lane. */
rlf_status rlf_gradient_clear(rlf_model *m, rlf_err *err);
/* Have two ranks parts of the gradient of an embedding, which is the head at
 * the other end of a pipeline? */
bool rlf_gradient_has_ends(const rlf_table *table);
/* Additions that it takes to join a lane to the next on all chunks. */
int rlf_gradient_ranges(const rlf_table *table);

/* The place in a block of the sums of a layer's norm of q (0) or k (1): floats
 * from its beginning. */
int64_t rlf_gradient_head_norm(const rlf_table *table, int layer, int which);

#endif
