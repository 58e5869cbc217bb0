/* Where the weights of each model lie: its holds (engine/graph/run.h).
 *
 * Every distinct layout among a model's calls is one, unless another has the
 * same parts on the same ranks. Decided once, from the layouts alone. */
#ifndef RLF_PLAN_HOLDS_H
#define RLF_PLAN_HOLDS_H

#include "engine/plan/plan.h"
#include "engine/plan/realloc.h"

/* Sets plan->holds and each node's; places `:=` where the weights that it
 * changes are, and calls on the ranks of the update so that their parts are
 * made of whole parts of the update's. Layouts of calls must be set. */
void rlf_holds_make(rlf_plan *plan, rlf_arena *arena);

/* What takes a model's weights from its first hold to another; `machine` as in
 * rlf_realloc_job. */
rlf_realloc_job rlf_holds_job(const rlf_holds *holds, int hold,
                              const rlf_shapes *shapes, const int *machine);

#endif
