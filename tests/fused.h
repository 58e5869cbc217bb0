/* The twelve problems of RLHFuse's intra-stage fusion, with what its authors
 * published of them: two models, the second in p / p1 copies on p1 places each,
 * the other way round; backward takes twice as long as forward. */
#ifndef RLF_TESTS_FUSED_H
#define RLF_TESTS_FUSED_H

#include "engine/fuse/fuse.h"

static const struct fused {
    int p, p1, m0, m1;
    double f0, f1, memory0, memory1;
    double serial, serial_peak, greedy, greedy_peak;
    double best; /* their best; all but one are the bound */
    double cap;  /* the memory of that, after their phase for memory */
    double bound;
} fused_cases[] = {
    {8, 4, 32, 16, 5, 4, 1.95, 2, 813, 15.6, 741, 42.9, 708, 19.7, 708},
    {8, 4, 16, 8, 5, 4, 1.95, 2, 477, 15.6, 425, 33.3, 372, 15.75, 372},
    {8, 4, 8, 4, 5, 4, 1.95, 2, 309, 15.6, 239, 23.6, 225, 15.6, 225},
    {8, 8, 32, 32, 5, 2, 1.95, 1, 819, 15.6, 755, 42.9, 702, 20.5, 702},
    {8, 8, 16, 16, 5, 2, 1.95, 1, 483, 15.6, 419, 31.25, 366, 18.55, 366},
    {8, 8, 8, 8, 5, 2, 1.95, 1, 315, 15.6, 225, 23.6, 225, 15.6, 225},
    {16, 8, 64, 32, 2, 2, 1.64, 2, 708, 26.24, 632, 75.44, 618, 39.72, 618},
    {16, 8, 32, 16, 2, 2, 1.64, 2, 420, 26.24, 366, 58.48, 330, 29.88, 330},
    {16, 8, 16, 8, 2, 2, 1.64, 2, 276, 26.24, 214, 42.24, 186, 26.24, 186},
    {16, 16, 64, 64, 2, 1, 1.64, 1, 711, 26.24, 651, 75.44, 613, 38.72, 606},
    {16, 16, 32, 32, 2, 1, 1.64, 1, 423, 26.24, 363, 52.48, 318, 32.16, 318},
    {16, 16, 16, 16, 2, 1, 1.64, 1, 279, 26.24, 219, 41.24, 186, 26.24, 186},
};

/* Two smaller ones whose shortest schedules are proved: 186 with a cap of 7.80
 * and 180 with 8.00; 43 with 6.56, where the bound is 42. */
__attribute__((unused)) static const struct fused fused_two = {.p = 4,
                                                               .p1 = 2,
                                                               .m0 = 8,
                                                               .m1 = 4,
                                                               .f0 = 5,
                                                               .f1 = 4,
                                                               .memory0 = 1.95,
                                                               .memory1 = 2},
                                                  fused_even = {.p = 4,
                                                                .p1 = 4,
                                                                .m0 = 4,
                                                                .m1 = 4,
                                                                .f0 = 2,
                                                                .f1 = 1,
                                                                .memory0 = 1.64,
                                                                .memory1 = 1};

enum { FUSED_CASES = sizeof fused_cases / sizeof *fused_cases };

/* One as a problem, every place with the same cap (0: none); in `arena`. */
__attribute__((unused)) static void
fused_make(const struct fused *x, double cap, rlf_arena *arena, rlf_fuse *out)
{
    int n = 1 + x->p / x->p1;
    rlf_pipe_cost *cost = RLF_NEW_ARRAY(arena, rlf_pipe_cost, n);
    int *turn = RLF_NEW_ARRAY(arena, int, n);
    double *caps = RLF_NEW_ARRAY(arena, double, x->p);
    *out = (rlf_fuse){.n_models = n, .places = x->p, .turn = turn};
    out->models = RLF_NEW_ARRAY(arena, rlf_pipe_model, n);
    for (int p = 0; p < x->p; p++)
        caps[p] = cap;
    out->cap = cap > 0 ? caps : NULL;
    for (int m = 0; m < n; m++) {
        int stages = m ? x->p1 : x->p;
        int *path = RLF_NEW_ARRAY(arena, int, stages);
        for (int k = 0; k < stages; k++)
            path[k] = m ? m * x->p1 - 1 - k : k;
        out->models[m] = (rlf_pipe_model){
            .name = m ? rlf_arena_printf(arena, "small.%d", m) : "big",
            .micros = m ? x->m1 : x->m0,
            .stages = stages,
            .path = path};
        cost[m].forward = m ? x->f1 : x->f0;
        cost[m].backward = 2 * cost[m].forward;
        cost[m].memory = m ? x->memory1 : x->memory0;
        turn[m] = m > 0;
    }
    rlf_pipe all = {
        .models = out->models, .n_models = n, .places = out->places};
    out->cost = rlf_pipe_even(&all, cost, arena);
}

#endif
