/* Errors of later steps of a run, found before the first:
 * arguments that nothing but constants and the number of the step decides, as
 * those of a schedule. No data, no models. */
#ifndef RLF_GRAPH_STEP_ARGUMENTS_H
#define RLF_GRAPH_STEP_ARGUMENTS_H

#include "engine/graph/graph.h"

/* Each such argument in each of the steps first..last that carries out its
 * call: RLF_USER, at the argument's place, if one is not what its formal takes.
 * Samples that are made ahead are for so many steps more. Nodes in a block of
 * which the run decides are not looked at, nor those behind a break that may
 * hold, nor an update that may minimize nothing, nor steps behind one that may
 * be the last. After 100,000 steps no more are looked at but the last one, if
 * no break can come before it. `last` 0: the run ends by a break. */
rlf_status rlf_step_arguments_check(const rlf_graph *graph, uint64_t first,
                                    uint64_t last, rlf_err *err);

/* Does this argument of the node have the value in all steps of first..last
 * that may carry the node out? How many these are: those in which no `if` or
 * `every` around it leaves it out, as far as the step decides. 0: not in all of
 * them, not by the step alone, there are none, or there are more steps than are
 * looked at. */
uint64_t rlf_step_arguments_always(const rlf_graph *graph, const rlf_node *node,
                                   const char *name, double value,
                                   uint64_t first, uint64_t last);

#endif
