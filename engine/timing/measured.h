/* Measured lines of a profile for a piece of a plan's work, for all who ask how
 * long it takes: simulations and the estimate of the search take the same line
 * for the same piece. */
#ifndef RLF_TIMING_MEASURED_H
#define RLF_TIMING_MEASURED_H

#include "engine/graph/measure.h"
#include "engine/plan/plan.h"
#include "engine/timing/profile.h"

/* Threads of a rank, as a profile's keys have them: 0 where ranks are more than
 * cores. */
int rlf_measured_threads(const rlf_speeds *speeds, int rank);
/* Cores that all ranks share, where seconds are processor time of thread ranks
 * of one machine, as a profile has them; 0: each rank has its own. A device
 * that computes by itself, and rates that nobody measured (which are shared out
 * already), have their own. */
int rlf_measured_cores(const rlf_speeds *speeds);
/* The key of a piece of a node's work (NULL: of no node) on a rank, cut as in
 * the plan. `words` has `room` bytes for the call's name; or it is elsewhere,
 * and lives as long as the graph. */
rlf_profile_key rlf_measured_key(const rlf_plan *plan, const rlf_node *node,
                                 rlf_measured_kind kind, int rank, int threads,
                                 char *words, size_t room);
/* A piece of a node's work (NULL: of no node), as engine/graph/measure.h has
 * them, with its x and y. */
typedef struct rlf_measured_piece {
    rlf_measured_kind kind;
    const rlf_node *node;
    int rank;
    double x, y;
    bool chunk; /* ROWS: through one of the chunks of the rank's stage alone */
    double parts; /* ROWS of a reading: equal ones, of which this is one, since
                     lines are of whole calls; up to 1: it is all */
} rlf_measured_piece;

typedef struct rlf_measured_said {
    double seconds;
    bool exact;  /* a line of just this cut gave the seconds */
    bool beyond; /* x is outside of what was measured by more than a tenth */
} rlf_measured_said;

/* Seconds by the profile of the rank's device of a piece that is cut as in the
 * plan. A backward pass that computes activations again takes a forward pass
 * more; where a schedule splits it and no profile has seen that, each of its
 * parts takes half, as their products are of the same size; where only a split
 * one was seen, a whole one takes both parts. A reading was measured through
 * all chunks of its stage: each has an even part of it. False: there is no line
 * for it, or no profile. */
bool rlf_measured_seconds(const rlf_speeds *speeds, const rlf_plan *plan,
                          const rlf_measured_piece *piece,
                          rlf_measured_said *out);

#endif
