/* Annealing over the orders themselves. Internal to engine/fuse. */
#ifndef RLF_FUSE_ORDERS_H
#define RLF_FUSE_ORDERS_H

#include "engine/fuse/rows.h"

typedef struct rlf_orders_job {
    const rlf_fuse_rows *rows;
    int64_t moves;
    double bound;
    double hot, cold;      /* temperatures, in time */
    double weight; /* the weight of the mean end of places in the energy */
    double *best;          /* makespan of `table`, which is sound */
    /* The table that it starts from, which becomes the best. */
    rlf_row_number *table;
    rlf_splitmix *dice;
    const rlf_fuse_options *options; /* options, of which it asks `stop` */
    bool *stopped;
} rlf_orders_job;

/* A move shifts an operation past up to 14 others of its place, 7 times of 8
 * one on a critical path. Ends at `bound`; returns the moves it took. */
int64_t rlf_orders_anneal(const rlf_orders_job *job, rlf_arena *arena);

#endif
