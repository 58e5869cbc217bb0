/* The monotonic clock: see clock.h. */
#include "engine/base/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t
read_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
rlf_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double
rlf_clock_since(uint64_t from)
{
    return (double)(rlf_clock_now() - from) * 1e-9;
}

uint64_t
rlf_clock_busy(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t
rlf_clock_process(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void
rlf_clock_sleep(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u),
                         .tv_nsec = (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
}
