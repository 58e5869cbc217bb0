/* The estimate: how long a step takes under a placement, by calls.
 *
 * A call starts when what it reads is there and the ranks it runs on are free;
 * ranks take calls in the order of the program, step after step. Weights that
 * an update has changed go to where the next call reads them, and the ranks of
 * both wait meanwhile. Steps follow each other without end; what is estimated
 * is the period: the time from one to the next, once it repeats.
 *
 * That is a max-plus system: its period is the largest mean weight of a cycle
 * (Baccelli et al., Synchronization and Linearity, 1992), which also gives
 * bounds for placements of which only a part is known. About a microsecond;
 * lengths are fixed and control takes no time: simulate.h has both. */
#ifndef RLF_SEARCH_ESTIMATE_H
#define RLF_SEARCH_ESTIMATE_H

#include "engine/search/problem.h"

typedef struct rlf_estimator rlf_estimator;

/* For a closed problem; in `arena`. */
rlf_estimator *rlf_estimator_new(const rlf_problem *problem, rlf_arena *arena);
/* Seconds of a step where call i is run as its choice[i]. */
double rlf_estimate_period(rlf_estimator *e, const int *choice);
/* No placement that has these choices, and any for calls with -1, has a shorter
 * period. With all choices known it is the longest cycle of one step. */
double rlf_estimate_bound(rlf_estimator *e, const int *choice);
/* Bytes by which a placement does not fit into the device where it is worst;
 * 0 or less: it fits. What calls with -1 need is not counted. */
double rlf_estimate_over(const rlf_estimator *e, const int *choice);
/* Bytes that the placement needs on the device where it needs most. */
double rlf_estimate_memory(const rlf_estimator *e, const int *choice);
/* Seconds in which the weights reach call i before it runs; 0 where it reads
 * them as they are. */
double rlf_estimate_move(rlf_estimator *e, const int *choice, int i);

#endif
