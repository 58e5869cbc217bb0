/* The account of a simulated run's time, between two moments of it: for each
 * rank, and for each call. */
#ifndef RLF_SIMULATE_ACCOUNT_H
#define RLF_SIMULATE_ACCOUNT_H

#include "engine/simulate/timeline.h"

typedef struct rlf_account {
    double from, to;
    uint32_t steps;              /* steps in that time */
    double step;                 /* seconds of one, on average */
    double (*spent)[RLF_SPENTS]; /* per rank: seconds of all of that time */
    double *work;                /* per rank: of a core, in a step */
    double all[RLF_SPENTS]; /* seconds of a step on average over the ranks, by
                               purpose */
    double idle; /* the part of all ranks' time in which nothing is done, or an
                    update waits for others */
    double *calls; /* per node: seconds of a step that it keeps the rank which
                      it keeps longest, at work or waiting in it */
} rlf_account;

/* Makes the account in `arena`, of a graph with so many nodes. */
void rlf_account_make(const rlf_timeline *timeline, size_t n_nodes, double from,
                      double to, uint32_t steps, rlf_arena *arena,
                      rlf_account *out);

#endif
