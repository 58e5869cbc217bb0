/* Schedules made in order of time by due dates, and the annealing of those.
 * Internal to engine/fuse. */
#ifndef RLF_FUSE_DISPATCH_H
#define RLF_FUSE_DISPATCH_H

#include "engine/fuse/rows.h"

/* The rule that dispatching goes by. In order of time, a place that is free
 * takes, of the operations that can begin within `look` of the first one, that
 * with the least due date due[row] + slope[row] micro; none that would make
 * more micro-batches in flight than most[row] or exceed the place's cap. */
typedef struct rlf_dispatch_rule {
    double *due, *slope; /* by row: when it is due, and how fast that grows */
    int *most; /* by row that takes memory: the most micro-batches at once */
    double look;
} rlf_dispatch_rule;

typedef struct rlf_dispatch {
    const rlf_fuse_rows *rows;
    rlf_row_number *table; /* the table that was made */
    rlf_timing timing;
    /* By row: the earliest begin of its next micro-batch, as far as the stage
     * before is concerned, and when that is due. */
    double *ready, *due;
    /* By row: `same`, or row[n] where `cross` implies it; what it waits for
     * most, `cross` or else `same`; the row that `same` waits for it so. */
    int *needs, *after, *wakes;
    double *held, *late; /* by place */
    int *pick;           /* by place: the row that it takes next.. */
    uint64_t *begin;     /* ..and when, with its number in the last bits */
} rlf_dispatch;

/* Beside the annealing below only tests call these two, to time tables that
 * dispatching alone makes. */
void rlf_dispatch_make(const rlf_fuse_rows *rows, rlf_arena *arena,
                       rlf_dispatch *out);
/* Make a table, and its timing. False: no place could go on, or the table would
 * end after `limit`. */
bool rlf_dispatch_run(rlf_dispatch *dispatch, const rlf_dispatch_rule *rule,
                      double limit);

/* Anneals rules for so many moves. `table` gets the best one's, if that is
 * shorter than *best; ends at `bound`. Returns the moves it took. */
typedef struct rlf_dispatch_job {
    const rlf_fuse_rows *rows;
    int64_t moves;
    int64_t number; /* the number of the start: kinds of rules take turns */
    double bound;
    double *best;
    rlf_row_number *table;
    rlf_splitmix *dice;
    const rlf_fuse_options *options; /* options, of which it asks `stop` */
    bool *stopped;
} rlf_dispatch_job;
int64_t rlf_dispatch_anneal(const rlf_dispatch_job *job, rlf_arena *arena);

#endif
