/* A schedule of the library (rlflow.h), and the problem that its options
 * describe. */
#ifndef RLF_API_SIMULATING_SCHEDULE_H
#define RLF_API_SIMULATING_SCHEDULE_H

#include "engine/fuse/fuse.h"
#include "engine/rlflow.h"

/* Options as texts; NULL: not given. */
typedef struct rlf_schedule_options {
    const char *models, *times, *memory, *send, *cap;
    const char *table, *svg; /* files that are written */
    const char *diag;        /* form of the message */
    uint64_t seed, moves;
    uint64_t limit;          /* seconds; 0: none */
} rlf_schedule_options;

/* As many places as the model with most stages has. A model of fewer has copies
 * NAME.1, NAME.2, .. on places of their own; every second model goes through
 * its places from the last to the first. *cap: what a place may hold, 0 if it
 * is not given. RLF_USAGE with what is wrong. All in `arena`; fuse->cap stays
 * NULL. */
rlf_status rlf_schedule_read(const rlf_schedule_options *options,
                             rlf_arena *arena, rlf_err *err, rlf_fuse *fuse,
                             double *cap);

#endif
