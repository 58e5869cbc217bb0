/* Generations whose last samples a run gathers on few replicas, so that the
 * others read (engine/order/tail.h). A run plays generation and what follows by
 * what it has seen; here the same is played by what a problem says of them. */
#ifndef RLF_SEARCH_GATHER_H
#define RLF_SEARCH_GATHER_H

#include "engine/search/problem.h"

/* The course that a run takes with a generation. */
typedef struct rlf_gather {
    int on;         /* replicas that go on in the end; 0: all do */
    double seconds; /* seconds of the generation */
    double from;    /* seconds until samples are gathered */
    double complete[RLF_CHOICE_PARTS]; /* the part of `seconds` at which each
                                          part of the samples is complete, as in
                                          a choice */
} rlf_gather;

/* `at`: the choice of each call, all known; `seconds`: of each. Call k is a
 * generation with rlf_choice.gathers. */
void rlf_gather_find(const rlf_problem *problem, const rlf_choice *const *at,
                     const double *seconds, int k, rlf_gather *out);
/* The soonest moment of it, on the fewest replicas; seconds of a choice. */
void rlf_gather_soonest(const rlf_choice *at, double seconds, rlf_gather *out);
/* Rank-seconds of the generation, the fewest of all moments. */
double rlf_gather_area(const rlf_choice *at, const rlf_choice_gathers *gathers);
/* The part of a reading's replicas of which no rank is one of those that go on.
 */
double rlf_gather_leaves(const rlf_choice *reading,
                         const rlf_choice *generation, int on);

/* The part of a choice's replicas that have no rank of another one. */
double rlf_choice_beside(const rlf_choice *choice, const rlf_choice *other);

#endif
