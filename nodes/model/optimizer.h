/* One optimizer step on the gradients that a model has gathered.
 *
 * AdamW (Loshchilov and Hutter 2019) with f32 state. The gradient is first
 * scaled down to a global norm of at most `clip`; the norm is for each shard a
 * sum in f64 over fixed blocks of its part of each tensor, in block order, and
 * shards are added in a tree, so its bits do not depend on threads or layouts.
 * Decay applies to what is a matrix in files (rlf_table.decayed), not to norms
 * and biases. Where the optimizer's state is shared out to replicas, each steps
 * its slice; the bits are the same. */
#ifndef RLF_MODEL_OPTIMIZER_H
#define RLF_MODEL_OPTIMIZER_H

#include "nodes/model/model.h"

/* Read at each step: the values of this update. */
typedef struct rlf_adamw {
    double lr, beta1, beta2, eps, decay;
    double clip; /* largest global norm of the gradient; 0: no limit */
} rlf_adamw;

#define RLF_ADAMW_DEFAULTS                                 \
    {                                                      \
        .lr = 0, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 \
    }

/* Adds up what tied weights keep apart, measures, clips, steps, clears the
 * gradients and packs the new weights. *norm is the gradient's norm before
 * clipping. RLF_USER, naming the tensor, if a gradient is not finite; then
 * weights and moments are as before. */
rlf_status rlf_optimizer_step(rlf_model *model, const rlf_adamw *settings,
                              rlf_err *err, double *norm);
/* The norm of the gradient alone, whose sums are finished; RLF_USER, naming the
 * tensor, if it is not finite. All ranks of the model make the call. */
rlf_status rlf_optimizer_norm(rlf_model *model, rlf_err *err, double *norm);

/* Does a step write the packed weights too? Where a packed matrix is the matrix
 * as activations are, and this replica steps all of it; else they are packed
 * when the step is done. */
bool rlf_optimizer_packs(const rlf_model *model);
/* Calls of adamw in a step. */
int rlf_optimizer_ranges(const rlf_model *model);

#endif
