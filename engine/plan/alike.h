/* Ranks of a plan that take as much memory: which have the same parts of the
 * same models, and carry out the same calls.
 *
 * Of thousands of ranks few differ, so who looks at memory looks at these. */
#ifndef RLF_PLAN_ALIKE_H
#define RLF_PLAN_ALIKE_H

#include "engine/plan/plan.h"

/* One rank of each kind, ascending, in `arena`. Where replicas have slices of
 * the optimizer's state (zero), which differ by some blocks, the first, one
 * between and the last of them stand for all; so do those of the ranks of a
 * stage, of which the last has the rest of what does not divide. Stages between
 * the ends are alike that have as many layers and keep as many micro-batches.
 * `layers`: of each resource, 0 where there are none. */
int rlf_plan_alike(const rlf_plan *plan, const int *layers, rlf_arena *arena,
                   const int **ranks);
/* The same; `like`: for each rank of the plan the one that stands for it. */
int rlf_plan_alike_each(const rlf_plan *plan, const int *layers,
                        rlf_arena *arena, const int **ranks, const int **like);

#endif
