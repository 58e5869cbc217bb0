/* The estimate: how long a step takes under a placement, by calls.
 *
 * A call starts when what it reads is there and the ranks it runs on are free;
 * ranks take calls in the order of the program. Weights that an update has
 * changed go to where the next call reads them, and the ranks of both wait
 * meanwhile. As in a run, a step begins when all of the one before is done;
 * what is made k steps ahead begins with the k-th step before its own, on ranks
 * that it shares before others, and is done as its own begins. What is
 * estimated is the period: the time from one step to the next, once it repeats.
 *
 * That is a max-plus system (Baccelli et al., Synchronization and Linearity,
 * 1992): a constraint less never makes it slower, so a step of a placement of
 * which only a part is known bounds those of all that have that part. A
 * generation takes as long as it does with the memory that all calls on its
 * ranks leave for keys and values; calls that are not known leave it all. About
 * a microsecond; lengths are fixed and control takes no time: simulate.h has
 * both.
 */
#ifndef RLF_SEARCH_ESTIMATE_H
#define RLF_SEARCH_ESTIMATE_H

#include "engine/search/placed.h"

typedef struct rlf_estimator rlf_estimator;

/* Makes an estimator of a closed problem, in `arena`. */
rlf_estimator *rlf_estimator_new(const rlf_problem *problem, rlf_arena *arena);
/* Seconds of a step where call i is run as its choice[i]. */
double rlf_estimate_period(rlf_estimator *e, const int *choice);
/* The same in two parts, for who need not know a period that is too long: lays
 * out a placement, of which rlf_estimate_over is returned; and how long a step
 * of the placement that was laid out last is, INFINITY if it is longer than
 * `limit`. */
double rlf_estimate_lay(rlf_estimator *e, const int *choice);
double rlf_estimate_laid(rlf_estimator *e, double limit);
/* No placement that has these choices, and any for calls with -1, has a shorter
 * period. With all choices known it is the period, unless more is made ahead
 * than one step. */
double rlf_estimate_bound(rlf_estimator *e, const int *choice);
/* All calls but one, where they are. */
typedef struct rlf_others {
    rlf_placed placed;
    int call;    /* the one that is left out */
    double over; /* bytes by which the others alone do not fit */
    double load[RLF_SEARCH_CALLS]; /* of placed.begins: seconds on that rank */
} rlf_others;
void rlf_estimate_others(const rlf_estimator *e, const int *choice, int call,
                         rlf_others *out);
/* Numbers that all placements have in common in which the other calls stay as
 * they are and the one is on these ranks, whatever its choice there. */
typedef struct rlf_around {
    double seconds; /* none is shorter than its own and these */
    double here; /* bytes by which the others alone do not fit on the worst of
                    the ranks; < 0: it has room */
} rlf_around;
void rlf_estimate_beside(const rlf_estimator *e, const rlf_others *others,
                         int first, int count, rlf_around *out);
/* Returns bytes by which every placement with that choice is over at least, but
 * for rounding. */
double rlf_estimate_least_over(const rlf_estimator *e, const rlf_others *others,
                               const rlf_choice *at, const rlf_around *beside);
/* Is a placement surely longer than that, whatever its memory and its moves? */
bool rlf_estimate_is_longer(rlf_estimator *e, const int *choice, double limit);
/* Bytes by which a placement does not fit into the device where it is worst;
 * 0 or less: it fits. What calls with -1 need is not counted. */
double rlf_estimate_over(const rlf_estimator *e, const int *choice);
/* Seconds of call i, with the pages that all others leave it. */
double rlf_estimate_call(rlf_estimator *e, const int *choice, int i);
/* Seconds of these in which its stages wait longer for messages than those of
 * the choice do, since its parts are made of those that are trained. */
double rlf_estimate_apart(rlf_estimator *e, const int *choice, int i);
/* Seconds of these in which prompts are read again, since other replicas have
 * other samples of them. */
double rlf_estimate_scattered(rlf_estimator *e, const int *choice, int i);
/* Seconds in which the weights reach call i before it runs; 0 where it reads
 * them as they are. */
double rlf_estimate_move(rlf_estimator *e, const int *choice, int i);
/* Returns the seconds of all moves of weights: of all calls, and of the terms
 * of sums of models. */
double rlf_estimate_moves(rlf_estimator *e, const int *choice);

#endif
