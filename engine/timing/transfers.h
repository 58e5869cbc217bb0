/* Computes how long weights take from one layout to another. */
#ifndef RLF_TIMING_TRANSFERS_H
#define RLF_TIMING_TRANSFERS_H

#include "engine/plan/realloc.h"
#include "engine/timing/seconds.h"

/* Seconds until all of `ranks` ranks have done their part in all rounds, if all
 * begin at once. As in a run (nodes/model/move.c) what goes from one rank to
 * another in a round is one message, and a rank goes on to its next round when
 * it has sent and received all of this one, whatever others do: a chain of
 * ranks is at work on several layers at a time. A rank sends its messages one
 * after another, and receives at the same time; those that leave or enter a
 * machine share its link. `ends`: when each rank has, 0: it has no part; may be
 * NULL. */
double rlf_transfers_seconds(const rlf_speeds *speeds,
                             const rlf_realloc_job *job,
                             const rlf_realloc_plan *plan, int ranks,
                             rlf_arena *scratch, double *ends);

#endif
