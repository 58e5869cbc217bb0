/* Placements of others, to stand beside the search's in a table. Each is what
 * its source says, in the choices that the problem has; the estimate judges all
 * of them alike. */
#ifndef RLF_SEARCH_BASELINE_H
#define RLF_SEARCH_BASELINE_H

#include "engine/search/search.h"

typedef enum rlf_baseline {
    /* All calls on all ranks, one after another (Adaptive Placement). */
    RLF_BASELINE_FLATTEN,
    /* Calls that do not need each other on parts of the ranks (the same). */
    RLF_BASELINE_INTERLEAVE,
    /* Updates on the last half of the ranks, all others on the first (the
     * same). */
    RLF_BASELINE_SEPARATE,
    /* All ranks, the largest tensor-parallel groups, no data parallelism: tp8
     * and a stage a machine, the "heuristic" that ReaL is compared with. */
    RLF_BASELINE_HEURISTIC,
    /* Algorithms 1 and 2 of HybridFlow: every partition of the models into sets
     * that share ranks, every allocation of ranks to the sets, each model cut
     * as is fastest there, by the sum over the stages of a step of the longest
     * set. */
    RLF_BASELINE_HYBRIDFLOW,
    /* ReaL's search: one call changes at a time, from where each call alone is
     * fastest; what does not fit counts three times its period; worse ones are
     * taken with probability exp(-beta milliseconds), beta 0.001. Differences
     * are real numbers here, where the published program rounds them to 0; and
     * until something fits, what comes closer is taken, from which the
     * published penalty alone often does not find out. */
    RLF_BASELINE_REAL,
    RLF_BASELINES
} rlf_baseline;

const char *rlf_baseline_word(rlf_baseline which);
/* In `arena`. A period of INFINITY if the baseline has no placement that fits
 * (`over`: by how much its own does not), or the problem not the choices that
 * it needs. `seed` and `moves` are for REAL alone. */
void rlf_baseline_make(const rlf_problem *problem, rlf_baseline which,
                       const rlf_search_options *options, rlf_arena *arena,
                       rlf_placing *out);
/* The best cuts that are soon found on the ranks that FLATTEN, INTERLEAVE,
 * SEPARATE or HEURISTIC gives to calls, from which to search. *out has room for
 * it; a period of INFINITY and `over` as above. */
void rlf_baseline_start(const rlf_problem *problem, rlf_estimator *e,
                        rlf_baseline which, rlf_placing *out);
/* Does as flatten, but on the first `n` ranks alone (a call that cannot run
 * there, elsewhere): where messages are slow and models small, fewer are
 * quicker. Where no call can, nothing fits. */
void rlf_baseline_first(const rlf_problem *problem, int n, rlf_arena *arena,
                        rlf_placing *out);

#endif
