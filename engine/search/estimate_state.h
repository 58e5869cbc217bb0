/* The state of an estimator, private to estimate.c and the files
 * estimate_*.c.
 *
 * Operations are the runs of calls and the moves of weights before them, in the
 * order of the program; operation i is call i's run, MOST + i its move. */
#ifndef RLF_SEARCH_ESTIMATE_STATE_H
#define RLF_SEARCH_ESTIMATE_STATE_H

#include "engine/search/estimate.h"
#include "engine/search/gather.h"

enum {
    MOST = RLF_SEARCH_CALLS,
    OPS = 2 * MOST,
    SUMS = RLF_SEARCH_SUMS,
    PARTS = RLF_CHOICE_PARTS,
};

/* A move of weights that was computed once. */
typedef struct cached_move {
    const rlf_choice *from, *to;
    bool at_once;
    double seconds; /* < 0: not asked yet; as */
    double longer;  /* that of rlf_problem.longer */
} cached_move;

struct rlf_estimator {
    const rlf_problem *problem;
    cached_move *cache;
    size_t room; /* the room of the table; a power of two */
    int oldest;  /* the most steps that a call is made ahead */
    uint64_t updates, generations; /* calls, as bits */
    uint64_t needs[MOST];   /* what a call needs that is made as far ahead */
    uint64_t overlap[MOST]; /* calls that may be at work at the same time on
                               ranks of both */
    /* Of the placement at hand. */
    rlf_placed placed;
    const rlf_choice *at[MOST]; /* NULL: not known */
    bool known;                 /* all of them are */
    double seconds[OPS];        /* 0: there is no such move */
    double longer[MOST]; /* part of `seconds`: of rlf_problem.longer */
    double scattered[MOST]; /* likewise: of rlf_choice.scattered */
    double direct[MOST]; /* of moves that wait for a later step: if they need
                            not; 0: they do not wait */
    uint64_t meets[OPS];        /* operations that share a rank with it */
    uint64_t follows[MOST];     /* calls that make what it reads as it comes */
    double beside[MOST];        /* the part of its replicas that do so, */
    double late[MOST];          /* that part once samples are gathered */
    /* How generations are gathered; `on` 0: they are not. */
    rlf_gather gather[MOST];
    /* Generations that a reading shares ranks with, which make samples ahead:
     * as long as they are at work only replicas that make none read; the part
     * of its replicas that do so. */
    uint64_t apart[MOST];
    double aside[MOST];
    uint64_t within[MOST]; /* generations of `apart` of which all replicas make
                              samples */
    /* Seconds of sums of models, with the moves of their terms. */
    double sum_seconds[SUMS];
    uint64_t sum_meets[SUMS]; /* operations that share a rank with it */
};

/* The two share a rank. */
static inline void
rlf_estimate_meet(rlf_estimator *e, int a, int b)
{
    e->meets[a] |= 1ull << b;
    e->meets[b] |= 1ull << a;
}

/* ---- estimate_moves.c ---- */

/* Makes room for moves that are remembered, in `arena`. */
void rlf_estimate_moves_begin(rlf_estimator *e, rlf_arena *arena);
/* Returns the seconds that call i takes more, as it is cut, because its parts
 * are made of those of the call that makes its weights, on the same ranks. */
double rlf_estimate_longer(rlf_estimator *e, int i);
/* The moves and the sums of models of the placement at hand, of which it is
 * known who shares ranks with whom. */
void rlf_estimate_moves_look(rlf_estimator *e);

/* ---- estimate_period.c ---- */

/* Returns the seconds from step to step of the placement at hand, of which
 * seconds and moves are known; INFINITY where a step is longer than `limit` and
 * nothing is made more than a step ahead. */
double rlf_estimate_unroll(const rlf_estimator *e, double limit);
/* When calls ([MOST]) begin and end in a step before which nothing is at work,
 * and sums of models ([SUMS]) end. */
void rlf_estimate_first_step(const rlf_estimator *e, double *begin, double *end,
                             double *summed);

/* ---- estimate_least.c ---- */

/* Returns seconds than which no step of the placement at hand is shorter, of
 * which no moves are known yet. */
double rlf_estimate_least(const rlf_estimator *e);

#endif
