/* How long an update takes that goes down the stages and up again (rlf_pipe_vee
 * of engine/plan), where all stages take the same for a chunk.
 *
 * A search asks for the same few tables again and again, with the costs of a
 * layout, of its stages and of its words: a table is made once, in the order in
 * which its operations can be timed, and asked again it gives what it gave. */
#ifndef RLF_SEARCH_VEES_H
#define RLF_SEARCH_VEES_H

#include "engine/plan/pipe.h"

typedef struct rlf_vees rlf_vees;

/* In `arena`, which frees it. */
rlf_vees *rlf_vees_new(rlf_arena *arena);
/* Seconds of a table of `micros` micro-batches (at least 1) on pp places, where
 * a stage of chunk k costs cost[k]; nothing is sent. As rlf_pipe_time says. */
double rlf_vees_time(rlf_vees *v, int pp, int micros,
                     const rlf_pipe_cost cost[2]);

#endif
