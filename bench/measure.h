/* The clock of a benchmark, and the end of one whose call failed. */
#ifndef RLF_BENCH_MEASURE_H
#define RLF_BENCH_MEASURE_H

#include "engine/base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Of one thread CLOCK_THREAD_CPUTIME_ID, so that other processes disturb
 * little. */
static clockid_t clock_used = CLOCK_MONOTONIC;

/* Seconds. */
static double
now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
check(rlf_status status, const rlf_err *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "bench: %s\n", err->sentence);
    exit(1);
}

#endif
