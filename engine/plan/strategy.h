/* Strategies: where the calls are that no row places.
 *
 * Pure: a graph and a number of ranks in, ranks of every node out. A strategy
 * changes no bit of what is computed: lanes are those of all ranks whatever it
 * is (plan.c). What each is for, and what it costs: README. */
#ifndef RLF_PLAN_STRATEGY_H
#define RLF_PLAN_STRATEGY_H

#include "engine/graph/place.h"
#include "engine/layout/layout.h"

/* Per node the ranks that it is data parallel on, in `arena`. On one rank all
 * strategies are the same. */
const rlf_range *rlf_strategy_make(const rlf_graph *graph, int n_ranks,
                                   rlf_arena *arena);

#endif
