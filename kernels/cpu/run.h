/* Sharing an operation's rows among the threads of its queue. */
#ifndef RLF_KERNELS_CPU_RUN_H
#define RLF_KERNELS_CPU_RUN_H

#include "engine/dev/dev.h"

/* Items first..last-1 of the operation; `scratch` is the thread's own. */
typedef void rlf_cpu_fn(void *ctx, int64_t first, int64_t last, char *scratch);

/* fn over 0..n-1 in pieces of `grain` (the last may be smaller), claimed by as
 * many threads as the `work` of all of it is worth (in flops, or what takes as
 * long); little work stays in the calling thread. What fn computes for
 * an item must not depend on the pieces. */
void rlf_cpu_share(rlf_queue *queue, int64_t n, int64_t grain, double work,
                   rlf_cpu_fn *fn, void *ctx);

/* Into how many row blocks, `blocks` or some more, rows are cut that go in
 * `groups` column groups: so that all threads have as many of the pieces,
 * unless these are many anyway; at most `most`. */
int64_t rlf_cpu_blocks(int64_t blocks, int64_t most, int64_t groups,
                       int threads);

#endif
