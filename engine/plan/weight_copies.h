/* The copies of each model, where its weights lie (engine/graph/run.h).
 *
 * Every distinct layout among a model's calls is one, unless another has the
 * same parts on the same ranks. Decided once, from the layouts alone. */
#ifndef RLF_PLAN_WEIGHT_COPIES_H
#define RLF_PLAN_WEIGHT_COPIES_H

#include "engine/layout/cluster.h"
#include "engine/plan/plan.h"
#include "engine/plan/realloc.h"

/* The node whose layout the weights of a model have first, where `:=` makes
 * them: its update, else what reads it first. -1: nobody does. */
int rlf_weight_copies_first(const rlf_graph *graph, int model);
/* True: nodes that are made ahead (rlf_node.ahead) read the model, and all from
 * copies on ranks that the first copy, the one that changes, is not on. */
bool rlf_weight_copies_separate(const rlf_plan *plan, int model);
/* The `i`-th copy (0, 1, ...) that keeps later weights for this one; -1: there
 * are no more. With k steps ahead k - 1 steps may be over before what is made
 * of their weights begins, so there are as many. */
int rlf_weight_copies_later(const rlf_weight_copies *copies, int copy, int i);

/* A call on the ranks of the layout where the weights are first, cut into fewer
 * parts: every part becomes one made of whole parts of `first`
 * (engine/layout); cut alike, it has its chunks. Else it stays. */
void rlf_weight_copies_regroup(const rlf_layout *first, rlf_layout *call);
/* Sets plan->copies and each node's; places `:=` where the weights that it
 * changes are, and calls on the ranks of the update so that their parts are
 * made of whole parts of the update's. Layouts of calls must be set. */
void rlf_weight_copies_make(rlf_plan *plan, rlf_arena *arena);

/* Finds the links of a cluster: the slowest of its kinds, since which ranks
 * send is not known before. */
rlf_links rlf_links_of(const rlf_cluster *cluster, rlf_arena *arena);

/* The job that takes a model's weights from one copy, as a rule its first, to
 * another, over the plan's links; `machine` as in rlf_realloc_job, NULL: as the
 * links say; `real`: bytes of an activation, as which matrices go to copies by
 * layer.
 */
rlf_realloc_job rlf_weight_copies_job(const rlf_plan *plan, int model, int from,
                                      int to, const rlf_shapes *shapes,
                                      const int *machine, size_t real);

#endif
