/* HybridFlow's mapping of models to devices (Sheng et al., EuroSys 2025,
 * algorithms 1 and 2): every partition of the models into sets that share
 * ranks, every allocation of all ranks to the sets, each call cut as is fastest
 * on its set's ranks; by the sum over the stages of a step of the longest set.
 *
 * On which ranks a set lies makes no difference to that sum: those with fewer
 * come first, so that parts of machines fill machines. */
#ifndef RLF_SEARCH_HYBRIDFLOW_H
#define RLF_SEARCH_HYBRIDFLOW_H

#include "engine/search/search.h"

/* Models are in as many sets as there may be models. */
enum { RLF_MAPPED_MODELS = 6 };

/* Counts of what was gone through. */
typedef struct rlf_mapped {
    int64_t partitions;  /* partitions of the models into sets */
    int64_t allocations; /* allocations of the ranks to the sets of one
                            partition, summed over partitions */
    int64_t of[RLF_MAPPED_MODELS + 1]; /* allocations, by the number of sets */
} rlf_mapped;

/* The best mapping into *best (choice[n_calls]; a period of INFINITY: none
 * fits, or there are too many models). `counts`: NULL, or what it looked at. */
void rlf_hybridflow_map(const rlf_problem *problem, rlf_estimator *e,
                        rlf_arena *arena, rlf_placing *best,
                        rlf_mapped *counts);
/* d_cost: calls of models of one set follow each other, sets do not wait for
 * each other within a stage, stages follow each other. set_of: per model. The
 * mapping goes by it; tests give it sets of their own. */
double rlf_hybridflow_cost(const rlf_problem *problem, const int *set_of,
                           const int *choice);

#endif
