/* Dynamic sharing of rows: pieces are claimed, so a thread that is held up by
 * another process does not hold up the operation. */
#include "kernels/cpu/run.h"

/* What a second thread must have to do to be worth waking: about 2 us. */
#define WORK_OF_A_THREAD 100e3

typedef struct share {
    rlf_claim claim;
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
    while (rlf_claim_take(&s->claim, s->grain, &first, &last))
        s->fn(s->ctx, first, last, s->scratch[thread]);
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
    share s = {.claim = rlf_claim_of(n),
               .grain = grain,
               .fn = fn,
               .ctx = ctx,
               .scratch = q->scratch};
    rlf_team_run_some(q->team, (int)threads, share_run, &s);
}
