/* Computes how long an update takes that goes through stages, by the table of
 * its schedule (engine/plan/pipe.h).
 *
 * A search asks for the same few tables again and again, with the costs of a
 * layout, of its stages and of its words: a table is made once, in the order in
 * which its operations can be timed, and asked again it gives what it gave. */
#ifndef RLF_SEARCH_PIPELINES_H
#define RLF_SEARCH_PIPELINES_H

#include "engine/plan/pipe.h"

/* A table: of a schedule that rlf_pipe_named knows, on pp places with so many
 * chunks each, for at least one micro-batch. */
typedef struct rlf_pipeline {
    const char *schedule;
    int pp, chunks, micros;
} rlf_pipeline;

typedef struct rlf_pipelines rlf_pipelines;

/* Makes an empty list in `arena`, which frees it. */
rlf_pipelines *rlf_pipelines_new(rlf_arena *arena);
/* Seconds of a table where stage s costs cost[s], pp * chunks of them, a chunk
 * of each place after the other, and a message from stage s to the next, or
 * back, is on its way for send[s] (NULL: nothing is sent), one less. As
 * rlf_pipe_time says; of tables of many
 * operations, for the micro-batches between the first and the last ones, as
 * long as so many take there. */
double rlf_pipelines_time(rlf_pipelines *p, const rlf_pipeline *of,
                          const rlf_pipe_cost *cost, const double *send);

#endif
