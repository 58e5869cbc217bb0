/* A fused pipeline as flat arrays: what the searches of this folder time.
 *
 * A row is one kind of operation of one stage of one model: its forwards, its
 * backwards. Micro-batches pass a row in index order, so an order of a place is
 * a list of rows, and nothing below knows what kinds there are: a row has a
 * place, a duration, what it adds to the memory in use, and the one or two rows
 * that the same micro-batch must have passed before. The same problem with time
 * reversed is again one of rows. Internal to engine/fuse; no allocation once
 * a timing was made. */
#ifndef RLF_FUSE_ROWS_H
#define RLF_FUSE_ROWS_H

#include "engine/base/splitmix.h"
#include "engine/fuse/fuse.h"

#include <stdint.h>

#define RLF_NO_LIMIT 1e300

/* An order of all places, one behind the other: place p's is
 * table[start[p]] .. table[start[p + 1] - 1], each the number of a row. */
typedef uint16_t rlf_row_number;

typedef struct rlf_row {
    double takes;
    double lag;   /* seconds from the end of `cross` to the earliest begin */
    double delta; /* the change of the memory in use */
    int place, micros;
    int base;  /* the number of its first operation */
    int cross; /* a row of another stage that comes before, or row[n] */
    int next;  /* the row whose `cross` it is, or row[n] */
    int same;  /* a row of the same stage that comes before, or row[n] */
    int frees; /* the last row of its stage: passing it, memory is free again */
    int model, kind, stage; /* kind: an rlf_pipe_kind */
    double head;            /* a micro-batch cannot begin earlier, alone */
    double tail; /* seconds from its end to the end of all, if it were alone */
} rlf_row;

typedef struct rlf_fuse_rows {
    rlf_row *row; /* row[n] is one that has always passed at time 0 */
    int n, places, operations, most_micros;
    int *first;    /* places + 1: rows of place p are first[p] and following */
    int *start;    /* places + 1: see rlf_row_number */
    double *lead;  /* by place: the least head of its rows, seconds */
    double *work;  /* by place: the sum of its operations, seconds */
    double *rest;  /* by place: the least tail of its rows, seconds */
    double *after; /* by place: seconds before the end of all at which it has to
                      end */
    /* By place: the memory that it may take, with room for rounding. */
    double *cap;
} rlf_fuse_rows;

/* Arrays to time a table in, and what was found. */
typedef struct rlf_timing {
    double *end;  /* by operation: when it ends */
    double *idle; /* by place: when its last operation ends */
    int *passed;  /* by row: micro-batches that are past it */
    int *next;    /* by place: the next operation of the table */
    int *waiter;  /* by row: the place that waits for it, or -1 */
    int *queue;
    int *order;   /* indices of the table, each behind what it waits for */
    double *late; /* by place: the table ends too late if its next operation
                     begins after this */
    double makespan;
    double mean; /* the mean of the places' ends, seconds */
} rlf_timing;

/* The rows of a problem. */
void rlf_fuse_rows_make(const rlf_fuse *fuse, rlf_arena *arena,
                        rlf_fuse_rows *out);
/* A table as one of pipelines. */
void rlf_fuse_rows_pipe(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
                        const rlf_row_number *table, rlf_arena *arena,
                        rlf_pipe *out);
/* No table ends earlier: see rlf_fuse_bound. */
double rlf_fuse_rows_bound(const rlf_fuse_rows *rows);
/* The same with time reversed: the table of one, turned round place by place,
 * is one of the other with the same makespan and the same memory. */
void rlf_fuse_rows_reverse(const rlf_fuse_rows *rows, rlf_arena *arena,
                           rlf_fuse_rows *out);
/* Turn a table of one round into one of the other, in place. */
void rlf_fuse_rows_turn(const rlf_fuse_rows *rows, rlf_row_number *table);

void rlf_timing_make(const rlf_fuse_rows *rows, rlf_arena *arena,
                     rlf_timing *out);
/* Times a table in which every operation starts as soon as it can, without a
 * look at memory or at `same`. Returns whether it ends at `limit` or before and
 * its places, from their leads to their ends, wait no longer than `waits`
 * together; with false, times are not meant to be read. */
bool rlf_fuse_rows_time(const rlf_fuse_rows *rows, const rlf_row_number *table,
                        double limit, double waits, rlf_timing *timing);
/* True: every place has its operations behind those of the same stage that
 * they need, and holds no more than its cap. */
bool rlf_fuse_rows_sound(const rlf_fuse_rows *rows, const rlf_row_number *table,
                         rlf_timing *timing);

/* RLHFuse's first schedule: rlf_fuse_greedy's. */
void rlf_greedy_table(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
                      rlf_timing *timing, rlf_row_number *table);

/* Makes the table of its annealing: rlf_fuse_published's; *tried is the number
 * of moves. False: it was stopped. */
bool rlf_published_table(const rlf_fuse *fuse, const rlf_fuse_rows *rows,
                         const rlf_fuse_options *options, rlf_arena *arena,
                         rlf_row_number *table, int64_t *tried);

/* Moves the operation at `from` of a place's list to `to`; the others close up.
 */
void rlf_fuse_rows_shift(rlf_row_number *table, int from, int to);

#endif
