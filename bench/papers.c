/* Tables of papers beside what rlflow makes of their problems.
 *
 *     bench/papers [SEEDS [CASE ...]]    (default 3, all twelve)
 *     bench/papers optima|sizes [SEEDS]
 *     bench/papers bubbles [SEEDS [PLACES ...]]    (default 4 and 8)
 *     bench/papers hybridflow [SIZE ...]
 *     bench/papers real [DEVICES]
 *     bench/papers scale [quick | SIZE [DEVICES ...]]
 *     bench/papers threshold [STEPS]
 *     bench/papers checks
 *
 * RLHFuse's fused pipelines: for each of the twelve problems what is published
 * (bound, serial, greedy schedule and its memory, the best schedule and its
 * memory), the same from here, and for each seed the makespan below that memory
 * with the seconds of one core that it took, at most 60.
 *
 * optima: small ones whose shortest schedule is proved. sizes: random ones,
 * ours and the published annealing for 20 seconds each. bubbles: one model
 * whose backward is split in two, beside published schedules and their memory.
 *
 * The others: papers_hybridflow.c, papers_real.c, papers_scale.c,
 * papers_threshold.c; papers_checks.c has the list of what is compared.
 */
#include "bench/papers.h"
#include "tests/fused.h"
#include "tests/zero_bubble.h"

#include "engine/base/splitmix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SECONDS = 60, SECONDS = 20, SIZES = 12 };

/* Returns the processor time of this thread: others may be at work. */
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

typedef rlf_status (*searcher)(const rlf_fuse *fuse,
                               const rlf_fuse_options *options,
                               rlf_arena *arena, rlf_err *err,
                               rlf_fuse_answer *out);

/* The answer of a search within so many seconds, and what it took. */
static rlf_fuse_answer
answer_of(searcher search, const rlf_fuse *fuse, int64_t moves, uint64_t seed,
          double seconds, rlf_arena *arena, double *took)
{
    double begin = processor(), end = begin + seconds;
    const rlf_fuse_options options = {
        .seed = seed, .moves = moves, .stop = is_over, .user = &end};
    rlf_fuse_answer is;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_fuse_check(fuse, &err) < 0 ||
        search(fuse, &options, arena, &err, &is) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
        exit(1);
    }
    *took = processor() - begin;
    return is;
}

static void
search(const rlf_fuse *fuse, int seeds, double target, double seconds)
{
    int reached = 0;
    for (int seed = 0; seed < seeds; seed++) {
        rlf_arena *arena = rlf_arena_new();
        double took;
        rlf_fuse_answer is = answer_of(rlf_fuse_search, fuse, INT64_MAX,
                                       (uint64_t)seed, seconds, arena, &took);
        double counts = fuse->apart ? is.span : is.makespan;
        reached += counts <= target * (1 + 1e-9);
        printf("  %g in %.1f s", counts, took);
        fflush(stdout);
        rlf_arena_free(arena);
    }
    printf("  (%d of %d at %g)\n", reached, seeds, target);
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
    search(&fuse, seeds, bound, MOST_SECONDS);
    rlf_arena_free(arena);
}

static void
show_optima(int seeds)
{
    static const struct {
        const struct fused *x;
        double cap, optimum;
    } all[] = {{&fused_two, 7.8, 186}, {&fused_two, 8, 180}, {&fused_even, 6.56, 43}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlf_arena *arena = rlf_arena_new();
        const struct fused *x = all[i].x;
        rlf_fuse fuse;
        fused_make(x, all[i].cap, arena, &fuse);
        printf("%d %d %d %d, cap %g, bound %g, optimum %g:", x->p, x->p1, x->m0,
               x->m1, all[i].cap, rlf_fuse_bound(&fuse, arena), all[i].optimum);
        search(&fuse, seeds, all[i].optimum, SECONDS / 4);
        rlf_arena_free(arena);
    }
}

/* Sizes by chance; the memory is that of one model after the other, and a
 * quarter more. */
static void
show_sizes(int seeds)
{
    rlf_splitmix dice = rlf_splitmix_begin(12, 0);
    printf("random sizes: p p1 m0 m1 f0 f1; bound, serial, greedy (memory), "
           "published annealing (memory), ours below the cap\n");
    for (int i = 0; i < SIZES; i++) {
        rlf_arena *arena = rlf_arena_new();
        int p1 = 2 + rlf_splitmix_below(&dice, 7);
        int copies = p1 > 6 ? 1 : 1 + rlf_splitmix_below(&dice, 3);
        const struct fused x = {.p = copies * p1,
                                .p1 = p1,
                                .m0 = 4 + rlf_splitmix_below(&dice, 29),
                                .m1 = 4 + rlf_splitmix_below(&dice, 21),
                                .f0 = 1 + rlf_splitmix_below(&dice, 6),
                                .f1 = 1 + rlf_splitmix_below(&dice, 4),
                                .memory0 = 1.5,
                                .memory1 = 1};
        rlf_fuse fuse;
        rlf_fuse_answer serial, greedy, published;
        rlf_err err = RLF_ERR_NONE;
        double took;
        fused_make(&x, 0, arena, &fuse);
        rlf_fuse_serial(&fuse, arena, &serial);
        rlf_fuse_greedy(&fuse, arena, &err, &greedy);
        published = answer_of(rlf_fuse_published, &fuse, 10000000, 0, SECONDS,
                              arena, &took);
        double bound = rlf_fuse_bound(&fuse, arena);
        printf("%d %d %d %d %g %g: %g, %g, %g (%g), %g (%g)", x.p, x.p1, x.m0,
               x.m1, x.f0, x.f1, bound, serial.makespan, greedy.makespan,
               greedy.peak, published.makespan, published.peak);
        for (int more = 0; more < 2; more++) {
            double cap = serial.peak * (4 + more) / 4;
            fused_make(&x, cap, arena, &fuse);
            printf("\n    cap %g:", cap);
            search(&fuse, seeds, bound, SECONDS);
        }
        rlf_arena_free(arena);
    }
}

static void
show_bubbles(int seeds, int p)
{
    for (int i = 0; i < ZERO_BUBBLES; i++) {
        const struct zero_bubble *x = &zero_bubbles[i];
        rlf_arena *arena = rlf_arena_new();
        rlf_fuse fuse;
        double least, bubble;
        zero_bubble_make(x, p, 3 * p, arena, &fuse, &least, &bubble);
        printf("%-8s %d %d %g; %g; work %g:", x->name, p, 3 * p,
               fuse.cap[0] / (x->shape == ZB_VEE ? 2 : 1), bubble, least);
        search(&fuse, seeds, least + bubble, SECONDS);
        rlf_arena_free(arena);
    }
}

static int
show_all_bubbles(int seeds, int argc, char **argv)
{
    printf("p, micro-batches, micro-batches kept; waits as published; longest "
           "of a place, of which its work and such waits\n");
    for (int p = 4; !argc && p <= 8; p += 4)
        show_bubbles(seeds, p);
    for (int i = 0; i < argc; i++) {
        int p = atoi(argv[i]);
        if (p < 2 || p % 2) {
            fprintf(stderr, "places are 2, 4, 6 ...\n");
            return 2;
        }
        show_bubbles(seeds, p);
    }
    return 0;
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int seeds = argc > 2 ? atoi(argv[2]) : 3;
    if (!strcmp(what, "scale"))
        return papers_scale(argc - 2, argv + 2);
    if (!strcmp(what, "hybridflow"))
        return papers_hybridflow(argc - 2, argv + 2);
    if (!strcmp(what, "real"))
        return papers_real(argc - 2, argv + 2);
    if (!strcmp(what, "threshold"))
        return papers_threshold(argc - 2, argv + 2);
    if (!strcmp(what, "checks"))
        return papers_checks();
    if (!strcmp(what, "bubbles"))
        return show_all_bubbles(seeds, argc > 3 ? argc - 3 : 0, argv + 3);
    if (!strcmp(what, "optima") || !strcmp(what, "sizes")) {
        if (*what == 'o')
            show_optima(seeds);
        else
            show_sizes(seeds);
        return 0;
    }
    seeds = argc > 1 ? atoi(argv[1]) : 3;
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
