/* This measures the search for PPO on 8 to 512 A100: the step that it finds,
 * how sure it is of that, and how many placements it looks at in a second.
 *
 *     bench/search [MOVES [BRANCHES]]    (default 400000 and 2000000)
 *
 * Each row: models and devices, choices a call, the step of each baseline, of
 * the search, its gap to the proved bound, seconds and placements a second. */
#include "engine/base/clock.h"
#include "engine/search/baseline.h"
#include "tests/ppo_problem.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    int size, devices;
    double batch;
} settings[] = {
    {0, 8, 1024},  {0, 16, 1024},  {1, 32, 1024},  {1, 64, 1024},
    {2, 64, 1024}, {3, 128, 1024}, {3, 256, 2048}, {3, 512, 4096},
};

static double
since(uint64_t begin)
{
    return (double)(rlf_clock_now() - begin) * 1e-9;
}

int
main(int argc, char **argv)
{
    rlf_search_options options = {.seed = 1,
                                  .moves = argc > 1 ? atoll(argv[1]) : 400000,
                                  .branches =
                                      argc > 2 ? atoll(argv[2]) : 2000000};
    printf("%-4s %5s %7s", "size", "ranks", "choices");
    for (int b = 0; b < RLF_BASELINES; b++)
        printf(" %10s", rlf_baseline_word(b));
    printf(" %8s %7s %6s %6s %9s\n", "search", "gap", "anneal", "prove",
           "looks/s");
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        rlf_arena *arena = rlf_arena_new();
        ppo_problem p;
        rlf_err err = RLF_ERR_NONE;
        if (ppo_make(&p, settings[k].size, settings[k].devices,
                     settings[k].batch, true, arena, &err) < 0) {
            fprintf(stderr, "%s\n", err.sentence);
            return 1;
        }
        int most = 0;
        for (int i = 0; i < PPO_CALLS; i++)
            if (p.calls[i].n_choices > most)
                most = p.calls[i].n_choices;
        printf("%3dB %5d %7d", ppo_models[settings[k].size].size,
               settings[k].devices, most);
        rlf_search_options quick = options;
        for (int b = 0; b < RLF_BASELINES; b++) {
            rlf_placing at;
            rlf_baseline_make(&p.problem, b, &quick, arena, &at);
            printf(" %10.2f", at.period);
            fflush(stdout);
        }
        rlf_search_options no_proof = options;
        no_proof.branches = 0;
        rlf_found found, proved;
        uint64_t begin = rlf_clock_now();
        rlf_search(&p.problem, &no_proof, arena, &found);
        double anneal = since(begin);
        rlf_search(&p.problem, &options, arena, &proved);
        double all = since(begin) - anneal;
        printf(" %8.3f %6.2f%% %6.2f %6.2f %9.0f\n", proved.best.period,
               100 * (1 - proved.bound / proved.best.period), anneal,
               all - anneal, (double)found.looks / anneal);
        rlf_arena_free(arena);
    }
    return 0;
}
