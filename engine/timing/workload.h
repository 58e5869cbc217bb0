/* The expected lengths of the rows of a step. Memory is sized by how long they
 * can be (engine/graph/sizes.h); time is not.
 *
 * A workload says it for a program: a distribution of the prompts of each of
 * its data sets, and one of responses. What it does not say is as long as it
 * can be. From that each set has means, and rows as a step may have them. Here
 * are no nodes and no time. */
#ifndef RLF_TIMING_WORKLOAD_H
#define RLF_TIMING_WORKLOAD_H

#include "engine/graph/sizes.h"
#include "engine/timing/lengths.h"

typedef struct rlf_workload {
    /* NULL: as long as can be. `prompts` per resource, of data sets; `asked`:
     * prompts that are rows of no data. */
    const rlf_length_distribution *responses, *asked;
    const rlf_length_distribution *const *prompts;
    /* Per set that is generated, where more is known of it: before `responses`,
     * and where `prompts` and `asked` have none. NULL, or NULL of a set: no
     * more.
     */
    const rlf_length_distribution *const *generated, *const *answered;
} rlf_workload;

/* Is it known how long any responses are? */
static inline bool
rlf_workload_draws(const rlf_workload *w)
{
    return w && (w->responses || w->generated);
}

/* The set of the graph that the prompts of a set are those of: rows of data, or
 * texts that are asked. */
int rlf_workload_root(const rlf_graph *graph, int set);
/* Returns the lengths of a set's prompts; NULL: as long as can be. `w` may be
 * NULL. */
const rlf_length_distribution *
rlf_workload_prompts(const rlf_workload *w, const rlf_graph *graph, int set);

/* Returns the lengths of a set's responses, likewise. */
const rlf_length_distribution *
rlf_workload_responses(const rlf_workload *w, const rlf_graph *graph, int set);

/* Tokens of a prompt and of a response of a set at most, as times are counted
 * with them: where only both together are bounded, what is not known is what
 * the other leaves. */
typedef struct rlf_workload_most {
    double prompt, response;
} rlf_workload_most;
rlf_workload_most rlf_workload_bound(const rlf_workload *w,
                                     const rlf_graph *graph,
                                     const rlf_sizes *sizes, int set);

enum { RLF_EXPECTED_ROWS = 2048 };

/* A set of a step, in expectation. */
typedef struct rlf_expected_set {
    double prompt, response; /* tokens of a row: means */
    double most;             /* tokens of a response at most */
    double each;             /* rows of a prompt, which follow one another */
    /* NULL: all responses have `response` tokens */
    const rlf_length_distribution *responses;
    /* Tokens of RLF_EXPECTED_ROWS rows that are typical, prompt and response,
     * in an order as they come; NULL: all rows are alike. */
    const double *rows;
} rlf_expected_set;

/* Per set of the graph, in `arena`. `sizes` have nothing left open. */
rlf_expected_set *rlf_workload_expect(const rlf_workload *w,
                                      const rlf_graph *graph,
                                      const rlf_sizes *sizes, rlf_arena *arena);
/* Rows of which so many share a prompt on average, as two parts of them of
 * which whole numbers do, with as many prompts in all. */
typedef struct rlf_sharing {
    uint32_t each[2];
    double part[2]; /* of the rows; 0: none */
} rlf_sharing;
rlf_sharing rlf_sharing_of(double each);
/* How many rows share a prompt, on average, of a part of all rows that is taken
 * from them at random, where `each` of all do. */
double rlf_sharing_in(double each, double part);
/* In how many micro-batches of at most `room` tokens n rows of the set are cut
 * as they come, on average, where a prompt counts once for `together` rows, at
 * least 1. */
double rlf_expected_micros(const rlf_expected_set *set, double n, double room,
                           double together);

#endif
