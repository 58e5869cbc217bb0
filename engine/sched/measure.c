/* Measuring pieces of work: see measure.h. */
#include "engine/sched/measure.h"

#include "engine/base/clock.h"
#include "engine/dev/dev.h"

static bool
by_itself(const rlf_env *env)
{
    return env->queue && env->queue->device->caps.asynchronous;
}

/* Waits for what the device has under way. Apart, because an rlf_err has some
 * thousand bytes to clear and most calls have nothing to wait for. */
static __attribute__((noinline)) uint64_t
synced_clock(rlf_queue *queue)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_queue_sync(queue, &ignored); /* who waits next is told */
    return rlf_clock_now();
}

uint64_t
rlf_measure_clock(const rlf_env *env)
{
    if (!env->measure)
        return 0;
    return by_itself(env) ? synced_clock(env->queue) : rlf_clock_busy();
}

double
rlf_measure_see(const rlf_env *env, rlf_measured piece, uint64_t from)
{
    if (!env->measure)
        return 0;
    piece.rank = env->rank;
    piece.seconds = (double)(rlf_measure_clock(env) - from) * 1e-9;
    env->measure->see(env->measure->self, &piece);
    return piece.seconds;
}
