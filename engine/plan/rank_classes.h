/* Classes of ranks that take as much memory: they have the same parts of the
 * same models, and carry out the same calls.
 *
 * Thousands of ranks have few classes, so one rank of each is counted. */
#ifndef RLF_PLAN_RANK_CLASSES_H
#define RLF_PLAN_RANK_CLASSES_H

#include "engine/plan/plan.h"

/* One rank of each kind, ascending, in `arena`. Where replicas have slices of
 * the optimizer's state (zero), which differ by some blocks, the first, one
 * between and the last of them stand for all; so do those of the ranks of a
 * stage, of which the last has the rest of what does not divide. Stages between
 * the ends are alike that have as many layers and keep as many micro-batches.
 * `layers`: of each resource, 0 where there are none. */
int rlf_rank_classes(const rlf_plan *plan, const int *layers, rlf_arena *arena,
                     const int **ranks);
/* The same; `like`: for each rank of the plan the one that stands for it. */
int rlf_rank_classes_each(const rlf_plan *plan, const int *layers,
                          rlf_arena *arena, const int **ranks,
                          const int **like);

#endif
