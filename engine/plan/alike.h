/* Ranks of a plan that take as much memory: which have the same parts of the
 * same models, and carry out the same calls.
 *
 * Of thousands of ranks few differ, so who looks at memory looks at these. */
#ifndef RLF_PLAN_ALIKE_H
#define RLF_PLAN_ALIKE_H

#include "engine/plan/plan.h"

/* One rank of each kind, ascending, in `arena`. Where replicas have slices of
 * the optimizer's state (zero), which differ by some blocks, the first, one
 * between and the last of them stand for all. */
int rlf_plan_alike(const rlf_plan *plan, rlf_arena *arena, const int **ranks);

#endif
