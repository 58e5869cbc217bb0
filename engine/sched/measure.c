/* Measuring pieces of work: see measure.h. */
#include "engine/sched/measure.h"

#include "engine/base/clock.h"
#include "engine/dev/dev.h"

static bool
by_itself(const rlf_env *env)
{
    return env->queue && env->queue->device->caps.asynchronous;
}

uint64_t
rlf_measure_clock(const rlf_env *env)
{
    rlf_err ignored = RLF_ERR_NONE;
    if (!env->measure)
        return 0;
    if (!by_itself(env))
        return rlf_clock_busy();
    rlf_queue_sync(env->queue, &ignored); /* who waits next is told */
    return rlf_clock_now();
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
