/* Fused pipelines: several models trained in one pipeline at the same time, the
 * bubbles of each filled with the work of the others (RLHFuse).
 *
 * A problem says which models there are, where their stages are, what they cost
 * and how much memory a place has; an answer is a pipeline table that
 * rlf_pipe_check has accepted and rlf_pipe_time has timed. Searches are
 * functions of problem, seed and number of moves, on one core; a stop only ends
 * them earlier. Nothing here knows programs, files or the clock. */
#ifndef RLF_FUSE_FUSE_H
#define RLF_FUSE_FUSE_H

#include "engine/plan/pipe.h"

#include <stdint.h>

typedef struct rlf_fuse {
    rlf_pipe_model *models;
    /* Seconds and bytes, by model and stage. */
    const rlf_pipe_cost *const *cost;
    /* By model, from 0: models of one turn are copies of one another, or are
     * trained side by side, when turns are trained one after the other. */
    const int *turn;
    int n_models, places;
    const double *cap; /* memory by place; NULL: no limit */
    /* The measure is not the end of all, but the longest that a place is at it,
     * from when it could begin to its end: no place waits for others before it
     * goes on with the next update. */
    bool apart;
} rlf_fuse;

typedef struct rlf_fuse_options {
    uint64_t seed;
    int64_t moves;            /* schedules that are tried at most */
    bool (*stop)(void *user); /* asked now and then; NULL: never */
    void *user;
} rlf_fuse_options;

/* The answer of a function, in the arena that it was given. */
typedef struct rlf_fuse_answer {
    rlf_pipe pipe;  /* places 0: there is no table (serial) */
    double **begin; /* by place, by operation of its list */
    double makespan, bubble;
    double span;   /* seconds of the place that is at it longest */
    double peak;   /* memory of the place with most */
    int64_t moves; /* moves that were tried until this was found */
    bool stopped;  /* options.stop ended it */
} rlf_fuse_answer;

/* RLF_USER unless models, costs and caps mean something and every operation of
 * every model fits below its place's cap. */
rlf_status rlf_fuse_check(const rlf_fuse *fuse, rlf_err *err);

/* No schedule is shorter, in makespan or, apart, in span: for every place and
 * every set of models there, the earliest begin, all of their work, and the
 * least that is left to do elsewhere afterwards. */
double rlf_fuse_bound(const rlf_fuse *fuse, rlf_arena *arena);
/* One turn after the other, each 1F1B: what is had without fusion. */
void rlf_fuse_serial(const rlf_fuse *fuse, rlf_arena *arena,
                     rlf_fuse_answer *out);
/* RLHFuse's first schedule, which knows no caps: always the operation that can
 * start first, backward before forward; one of a model of a later turn only if
 * it ends before any of turn 0 could start at that place. */
rlf_status rlf_fuse_greedy(const rlf_fuse *fuse, rlf_arena *arena, rlf_err *err,
                           rlf_fuse_answer *out);
/* RLHFuse's annealing from there, as published: half of the moves exchange two
 * neighbours of a place for latency, the other half put an operation elsewhere
 * for memory. Knows no caps either. */
rlf_status rlf_fuse_published(const rlf_fuse *fuse,
                              const rlf_fuse_options *options, rlf_arena *arena,
                              rlf_err *err, rlf_fuse_answer *out);
/* The shortest schedule below the caps that is found; ends at the bound. */
rlf_status rlf_fuse_search(const rlf_fuse *fuse,
                           const rlf_fuse_options *options, rlf_arena *arena,
                           rlf_err *err, rlf_fuse_answer *out);

#endif
