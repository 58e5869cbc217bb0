/* The part of a model's block that each of its replicas steps (ZeRO stage 1:
 * Rajbhandari et al. 2020, 5.1).
 *
 * The part of the block (table.h) that training changes is cut into one slice a
 * replica, all nearly as long. A replica has the optimizer's state of its slice
 * alone: gradients come to it added, and what it has stepped goes to all. Cuts
 * lie between the blocks of 4096 elements over which the gradient's norm is
 * summed, and at the same element on all ranks that hold a tensor together, so
 * no bit depends on them. Integers only. */
#ifndef RLF_MODEL_SLICES_H
#define RLF_MODEL_SLICES_H

#include "nodes/model/table.h"

typedef struct rlf_slices {
    int n, own;   /* one: not cut */
    int64_t *cut; /* [n + 1]: slice i has the floats cut[i]..cut[i + 1] - 1 */
    int64_t first, last; /* the own one */
} rlf_slices;

/* Makes slices in `arena`. */
rlf_slices rlf_slices_make(const rlf_table *table, int n, int own,
                           rlf_arena *arena);
/* Returns the part of shard `shard` of a tensor that lies in slice `slice`: as
 * rlf_slot_shard, whole blocks of the sum of squares but for the last of the
 * tensor. */
rlf_slot_part rlf_slices_part(const rlf_slices *slices, const rlf_table *table,
                              const rlf_slot *slot, int shard, int slice);
/* Blocks of the sum of squares in a slice. */
int64_t rlf_slices_blocks(const rlf_slices *slices, const rlf_table *table,
                          int slice);

/* The floats of first..first+n-1 that lie in a slice: *at from `first`, their
 * number. */
int64_t rlf_slices_overlap(const rlf_slices *slices, int slice, int64_t first,
                           int64_t n, int64_t *at);

#endif
