/* Sharing of rows: every thread has an equal range of its own, so that from
 * one operation to the next it meets what it wrote itself, and no two threads
 * work side by side in memory. Ranges are claimed piece by piece, and who is
 * done claims from the others': a thread that is held up by another process
 * does not hold up the operation. */
#include "kernels/cpu/run.h"

/* The work that a second thread must have to be worth waking: about 2 us. */
#define WORK_OF_A_THREAD 100e3

/* Ranges; with more threads some share one. */
#define MOST_RANGES 64

typedef struct range {
    _Alignas(64) rlf_claim claim;
} range;

typedef struct share {
    range ranges[MOST_RANGES];
    int n_ranges;
    int64_t grain;
    rlf_cpu_fn *fn;
    void *ctx;
    char **scratch;
} share;

static void
share_run(void *arg, int thread, int n_threads)
{
    (void)n_threads;
    share *s = arg;
    int64_t first, last;
    for (int i = 0; i < s->n_ranges; i++) {
        rlf_claim *claim = &s->ranges[(thread + i) % s->n_ranges].claim;
        while (rlf_claim_take(claim, s->grain, &first, &last))
            s->fn(s->ctx, first, last, s->scratch[thread]);
    }
}

void
rlf_cpu_share(rlf_queue *queue, int64_t n, int64_t grain, double work,
              rlf_cpu_fn *fn, void *ctx)
{
    rlf_cpu_queue *q = (rlf_cpu_queue *)queue;
    if (n <= 0)
        return;
    int64_t pieces = (n + grain - 1) / grain;
    int64_t threads = q->n_threads;
    if (threads > pieces)
        threads = pieces;
    if ((double)threads > 1 + work / WORK_OF_A_THREAD)
        threads = 1 + (int64_t)(work / WORK_OF_A_THREAD);
    share s;
    s.n_ranges = (int)(threads < MOST_RANGES ? threads : MOST_RANGES);
    s.grain = grain;
    s.fn = fn;
    s.ctx = ctx;
    s.scratch = q->scratch;
    for (int i = 0; i < s.n_ranges; i++) {
        int64_t end = pieces * (i + 1) / s.n_ranges * grain;
        s.ranges[i].claim =
            (rlf_claim){pieces * i / s.n_ranges * grain, end < n ? end : n};
    }
    rlf_team_run_some(q->team, (int)threads, share_run, &s);
}

int64_t
rlf_cpu_blocks(int64_t blocks, int64_t most, int64_t groups, int threads)
{
    int64_t step = threads; /* over what it has in common with groups */
    for (int64_t rest = groups, next; rest; rest = next) {
        next = step % rest;
        step = rest;
    }
    step = threads / step;
    if (blocks * groups >= 16 * (int64_t)threads)
        return blocks < most ? blocks : most;
    int64_t even = (blocks + step - 1) / step * step;
    return even <= most ? even : blocks < most ? blocks : most;
}
