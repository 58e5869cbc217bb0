/* Tables of papers beside what rlflow makes of their problems.
 *
 *     bench/papers [SEEDS [CASE ...]]    (default 3, all twelve)
 *
 * RLHFuse's fused pipelines: for each of the twelve problems what is published
 * (bound, serial, greedy schedule and its memory, the best schedule and its
 * memory), the same from here, and for each seed the makespan below that memory
 * with the seconds of one core that it took, at most 60. */
#include "tests/fused.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_SECONDS = 60 };

/* Of this thread: others may be at work. */
static double
processor(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool
is_over(void *user)
{
    return processor() > *(const double *)user;
}

static void
search(const rlf_fuse *fuse, int seeds, double bound, rlf_arena *arena)
{
    int reached = 0;
    for (int seed = 0; seed < seeds; seed++) {
        double begin = processor(), end = begin + MOST_SECONDS;
        const rlf_fuse_options options = {.seed = (uint64_t)seed,
                                          .moves = INT64_MAX,
                                          .stop = is_over,
                                          .user = &end};
        rlf_fuse_answer is;
        rlf_err err = RLF_ERR_NONE;
        if (rlf_fuse_search(fuse, &options, arena, &err, &is) < 0) {
            fprintf(stderr, "%s\n", err.sentence);
            exit(1);
        }
        reached += is.makespan <= bound;
        printf("  %g in %.1f s", is.makespan, processor() - begin);
        fflush(stdout);
    }
    printf("  (%d of %d at the bound)\n", reached, seeds);
}

static void
show(int which, int seeds)
{
    const struct fused *x = &fused_cases[which];
    rlf_arena *arena = rlf_arena_new();
    rlf_fuse fuse;
    rlf_fuse_answer serial, greedy;
    rlf_err err = RLF_ERR_NONE;
    fused_make(x, x->cap, arena, &fuse);
    double bound = rlf_fuse_bound(&fuse, arena);
    rlf_fuse_serial(&fuse, arena, &serial);
    if (rlf_fuse_greedy(&fuse, arena, &err, &greedy) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
        exit(1);
    }
    printf("%2d  published %4g %4g %4g (%5.2f) %4g (%5.2f)\n", which, x->bound,
           x->serial, x->greedy, x->greedy_peak, x->best, x->cap);
    printf("    rlflow    %4g %4g %4g (%5.2f)", bound, serial.makespan,
           greedy.makespan, greedy.peak);
    search(&fuse, seeds, bound, arena);
    rlf_arena_free(arena);
}

int
main(int argc, char **argv)
{
    int seeds = argc > 1 ? atoi(argv[1]) : 3;
    printf("RLHFuse's fused pipelines: bound, serial, greedy (memory), best "
           "(memory)\n");
    for (int i = 0; argc <= 2 && i < FUSED_CASES; i++)
        show(i, seeds);
    for (int i = 2; i < argc; i++) {
        int which = atoi(argv[i]);
        if (which < 0 || which >= FUSED_CASES) {
            fprintf(stderr, "cases are 0 to %d\n", FUSED_CASES - 1);
            return 2;
        }
        show(which, seeds);
    }
    return 0;
}
