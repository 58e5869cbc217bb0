/* The monotonic clock: see clock.h. */
#include "engine/base/clock.h"

#include <errno.h>
#include <time.h>

uint64_t
rlf_clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double
rlf_clock_since(uint64_t from)
{
    return (double)(rlf_clock_now() - from) * 1e-9;
}

uint64_t
rlf_clock_busy(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void
rlf_clock_sleep(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
}
