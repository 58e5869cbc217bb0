/* Models that a program sets to sums of models (`:=`), for its problem. */
#ifndef RLF_SEARCH_MODEL_SUMS_H
#define RLF_SEARCH_MODEL_SUMS_H

#include "engine/search/pareto.h"

/* Into pareto->problem, in `arena`: those that are made where a call of the
 * problem is. The calls of the problem, and `needs`, are known. needs: per node
 * the calls, as bits, that it needs. */
void rlf_model_sums_set(rlf_pareto *pareto, const uint32_t *needs,
                        rlf_arena *arena);
/* Seconds of the node on a rank of its plan, once the terms are there. */
double rlf_model_sums_seconds(const rlf_pareto *pareto,
                              const rlf_opened *opened, const rlf_sizes *sizes,
                              const rlf_node *node);

#endif
