/* How the output of a product is cut into tasks: no bit depends on it. */
#ifndef RLF_KERNELS_CPU_CUT_H
#define RLF_KERNELS_CPU_CUT_H

#include "kernels/cpu/panel.h"

#define MC (MR * 28) /* rows of a task, at most */

/* Row blocks, of whole tiles, within column groups. */
typedef struct cut_plan {
    int64_t m, n; /* rows, columns */
    int64_t blocks, groups, col_step;
} cut_plan;

/* Task t: its rows and columns. */
typedef struct task {
    int64_t row, n_rows, first, last;
} task;

static inline task
task_of(const cut_plan *p, int64_t t)
{
    int64_t tiles = (p->m + MR - 1) / MR, b = t % p->blocks;
    int64_t row = b * tiles / p->blocks * MR;
    int64_t end = (b + 1) * tiles / p->blocks * MR;
    int64_t col = t / p->blocks * p->col_step;
    return (task){row, (end < p->m ? end : p->m) - row, col,
                  col + p->col_step < p->n ? col + p->col_step : p->n};
}

/* Column groups are of at most `nc` columns; all are even, enough of them for
 * the threads, and as many for each. With `rows_first`, where each group copies
 * its rows, there are more row blocks instead. */
static inline cut_plan
cut(rlf_queue *queue, int64_t m, int64_t n, int64_t nc, bool rows_first)
{
    int threads = ((rlf_cpu_queue *)queue)->n_threads;
    int64_t panels = n_panels(n), tiles = (m + MR - 1) / MR;
    int64_t want = threads > 1 ? 4 * threads : 1;
    int64_t blocks = (m + MC - 1) / MC, groups = (n + nc - 1) / nc;
    int64_t more = (want + groups - 1) / groups;
    if (rows_first && blocks < more && tiles >= 2 * more)
        blocks = more;
    else if (groups * blocks < want && m > MC / 2)
        blocks = (m + MC / 2 - 1) / (MC / 2);
    if (groups * blocks < want)
        groups = (want + blocks - 1) / blocks;
    groups = groups < panels ? groups : panels;
    int64_t each = (panels + groups - 1) / groups;
    groups = (panels + each - 1) / each;
    return (cut_plan){.m = m,
                      .n = n,
                      .blocks = rlf_cpu_blocks(blocks, tiles, groups, threads),
                      .groups = groups,
                      .col_step = each * NR};
}

#endif
