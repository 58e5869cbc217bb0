/* The calls of a placement on their ranks, and how much memory that takes of
 * each rank: what calls need of their own, the weights of each copy once, and
 * the most that one call works in. */
#ifndef RLF_SEARCH_PLACED_H
#define RLF_SEARCH_PLACED_H

#include "engine/search/problem.h"

/* The choice of each call, and the weights that it keeps there: of the calls
 * with the same copy the first one has them. */
typedef struct rlf_placed {
    const rlf_choice *at[RLF_SEARCH_CALLS]; /* NULL: not known */
    double kept[RLF_SEARCH_CALLS];
    bool again[RLF_SEARCH_CALLS]; /* the same copy as of a call before */
    /* Its ranks, the number of its copy (negative: not known), and bytes, side
     * by side: all calls are gone through for each rank. */
    int first[RLF_SEARCH_CALLS], end[RLF_SEARCH_CALLS], copy[RLF_SEARCH_CALLS];
    double own[RLF_SEARCH_CALLS], work[RLF_SEARCH_CALLS];
    /* Calls, as bits: the first of those that begin on a rank; who lends; who
     * has something in host memory; whose stages take unlike bytes. */
    uint32_t begins, lends, hosted, staged;
    double used[RLF_SEARCH_CALLS]; /* of `begins`: bytes of its first rank */
} rlf_placed;

/* `choice` of each call, -1 where it is not known. */
void rlf_placed_lay(const rlf_problem *problem, const int *choice,
                    rlf_placed *out);

static inline bool
rlf_placed_has(const rlf_choice *c, int rank)
{
    return c && rank >= c->first && rank < c->first + c->count;
}

/* Calls that lie on one rank together all lie on the first rank of one of them:
 * is call i the first of those that begin there? */
static inline bool
rlf_placed_begins(const rlf_placed *l, int i)
{
    return l->begins >> i & 1;
}

/* Bytes that a rank needs, of each call those of its fullest stage. */
double rlf_placed_used(const rlf_problem *problem, const rlf_placed *placed,
                       int rank);
/* Bytes that a rank may lack by that count without being too full by stages. */
static inline double
rlf_placed_near(const rlf_problem *problem, int rank)
{
    return problem->staged ? RLF_PROBLEM_NEAR * problem->memory[rank] : 0;
}

/* The most bytes that a rank lacks, by its stages of updates if it lacks few,
 * or the host of one; 0 or less: none does. */
double rlf_placed_over(const rlf_problem *problem, const rlf_placed *placed);
/* Bytes for keys and values that call i's ranks have each, which has pages. */
double rlf_placed_pages(const rlf_problem *problem, const rlf_placed *placed,
                        int i);

/* fmax and fmin of the C library look for numbers that are none; here all are
 * numbers, and these are compared a hundred times for every estimate. */
static inline double
rlf_larger(double a, double b)
{
    return a > b ? a : b;
}
static inline double
rlf_smaller(double a, double b)
{
    return a < b ? a : b;
}

#endif
