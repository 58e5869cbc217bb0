/* HybridFlow's tables and figures, and Adaptive Placement's strategies, beside
 * what rlflow makes of their settings: volumes of resharding, the time of a
 * generation by tensor-parallel size, where models share devices and where not.
 *
 *     bench/papers hybridflow [SIZE ...]    (crossovers of these; 7B to 34B)
 *
 * Seconds are by the constants that are fitted to ReaL's heuristic plans.
 */
#include "bench/papers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/search/baseline.h"
#include "tests/papers/hybridflow.h"

static const char *const call_words[PAPERS_CALLS] = {
    "generate", "reward", "reference", "value", "actor", "critic"};

/* ---- volumes ---- */

static void
show_volumes(void)
{
    static const struct {
        const char *name;
        double size;
        int p, t, tg;
        double hybrid, variant, chat;
    } rows[] = {
        {"7B", 14, 1, 8, 2, 5.25, 12.25, 13.89},
        {"13B", 26, 1, 8, 4, 3.25, 22.75, 25.80},
        {"34B", 68, 4, 8, 8, 6.375, 65.875, 67.47},
        {"70B", 140, 8, 8, 8, 15.3125, 137.8125, 138.91},
    };
    static const double parts[] = {0.875, 0.375, 0.125, 0};
    double peak;
    printf("Table 2 in the settings of figure 14, GB a rank receives: the "
           "paper's formula, rlflow's plan of the moves, ratio\n\n"
           "| check | paper | here | ratio |\n|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int p = rows[i].p, t = rows[i].t;
        double size = rows[i].size;
        double hybrid = size * hybridflow_volume(p, t, 1, rows[i].tg, &peak);
        printf("| %s, %d-%d to %d | %g | %g | %.4f |\n", rows[i].name, p, t,
               rows[i].tg, rows[i].hybrid, hybrid, hybrid / rows[i].hybrid);
        double variant = size * hybridflow_volume(p, t, 1, 1, &peak);
        printf("| %s, the whole model | %g | %g | %.4f |\n", rows[i].name,
               rows[i].variant, variant, variant / rows[i].variant);
        double chat = size * hybridflow_volume(1, 128, 1, 1, &peak);
        printf("| %s, from 128 ranks | %g | %.2f | %.4f |\n", rows[i].name,
               rows[i].chat, chat, chat / rows[i].chat);
    }
    for (int k = 0; k < 4; k++)
        printf("| figure 15, 1-8-2 to %d, of the model | %g | %g | |\n", 1 << k,
               parts[k], hybridflow_volume(1, 8, 2, 1 << k, &peak));
    printf("\n");
}

/* ---- generation ---- */

static void
show_generation(const papers_speeds *speeds, rlf_arena *arena)
{
    static const struct {
        papers_size size;
        int best;
        double saved;
    } rows[] = {{PAPERS_7B, 2, 0.603}, {PAPERS_13B, 4, 0.364}};
    printf("Figure 15, a generation on 16 devices by tp, seconds (waves); what "
           "the paper's best tp saves of tp 8\n\n"
           "| model | 1 | 2 | 4 | 8 | best tp, paper | saves, paper | here |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        papers_size size = rows[i].size;
        papers_family *f = hybridflow_open(size, speeds, arena);
        double seconds[9] = {0};
        printf("| %s |", papers_models[size].name);
        for (int tg = 1; tg <= 8; tg *= 2) {
            int waves;
            seconds[tg] = hybridflow_generate(f, size, tg, &waves);
            printf(" %.1f (%d) |", seconds[tg], waves);
        }
        printf(" %d | %.1f %% | %.1f %% |\n", rows[i].best, 100 * rows[i].saved,
               100 * (1 - seconds[rows[i].best] / seconds[8]));
    }
    printf("\nNot to be asked of these seconds: reading keys and values costs "
           "the same at every tp, and so does a sequence's time on the host, "
           "of which a replica of fewer ranks has fewer.\n\n");
}

/* ---- placements ---- */

static const char *
best_of(const hybridflow_placed *at)
{
    double least = fmin(at->colocate.period,
                        fmin(at->split.period, at->standalone.period));
    return isinf(least)                   ? "none fits"
           : least == at->colocate.period ? "colocate"
           : least == at->split.period    ? "split"
                                          : "standalone";
}

/* Returns the placement that is the best in the paper's figures 12 and 13, or
 * "". */
static const char *
paper_of(papers_size size, int devices)
{
    return size == PAPERS_34B && devices >= 96    ? "split"
           : size == PAPERS_13B && devices == 128 ? "standalone"
           : devices <= 64                        ? "colocate"
                                                  : "";
}

static void
show_calls(const char *what, const papers_placed *at)
{
    printf("| %s |", what);
    for (int c = 0; c < PAPERS_CALLS; c++) {
        const rlf_choice *k = &at->call[c];
        printf(" %.1f (%d-%d-%d on %d) |", k->seconds, k->pp, k->tp, k->dp,
               k->count);
    }
    printf(" %.1f |\n", at->period);
}

static void
show_sizes(papers_size size, const papers_speeds *speeds, rlf_arena *arena)
{
    static const int devices[] = {16, 32, 64, 96, 128};
    papers_family *f = hybridflow_open(size, speeds, arena);
    hybridflow_placed at[5];
    printf("| %s | | | | | |\n", papers_models[size].name);
    for (int i = 0; i < 5; i++) {
        at[i] = hybridflow_place(f, f, devices[i], 0);
        printf("| %d | %.1f | %.1f | %.1f | %s | %s |\n", devices[i],
               at[i].colocate.period, at[i].split.period,
               at[i].standalone.period, best_of(&at[i]),
               paper_of(size, devices[i]));
        fflush(stdout);
    }
    if (size != PAPERS_34B)
        return;
    printf("\n34B by calls, seconds (pp-tp-dp on devices)\n\n|");
    for (int c = 0; c < PAPERS_CALLS; c++)
        printf(" | %s", call_words[c]);
    printf(" | step |\n|---|---|---|---|---|---|---|---|\n");
    for (int i = 2; i < 5; i++) {
        char what[32];
        snprintf(what, sizeof what, "%d, colocate", devices[i]);
        if (isfinite(at[i].colocate.period))
            show_calls(what, &at[i].colocate);
        snprintf(what, sizeof what, "%d, split", devices[i]);
        if (isfinite(at[i].split.period))
            show_calls(what, &at[i].split);
    }
    /* Of four models that are only read, in eight parts: with so much more
     * room, training needs no pipeline where all devices are shared. */
    double more = 4 * 2 * papers_parameters(&papers_models[size], false) / 8;
    hybridflow_placed with = hybridflow_place(f, f, 64, more);
    show_calls("64, colocate, with room for four more copies", &with.colocate);
    show_calls("64, split, likewise", &with.split);
}

static void
show_mixed(const papers_speeds *speeds, rlf_arena *arena)
{
    papers_family *actor = hybridflow_open(PAPERS_13B, speeds, arena);
    papers_family *critic = hybridflow_open(PAPERS_70B, speeds, arena);
    hybridflow_placed at = hybridflow_place(actor, critic, 128, 0);
    printf("\n13B actor and reference, 70B critic and reward, 128 devices: "
           "colocate %.1f s, split %.1f, {actor, reference, reward} and "
           "{critic} on halves %.1f (the paper's best)\n\n",
           at.colocate.period, at.split.period, at.critic_apart.period);
}

/* ---- Adaptive Placement ---- */

static void
show_adaptive(const papers_speeds *speeds, rlf_arena *arena)
{
    static const struct {
        papers_size size;
        int devices;
    } rows[] = {{PAPERS_7B, 16}, {PAPERS_13B, 32}, {PAPERS_34B, 64}};
    printf("Adaptive Placement's strategies, seconds of a step; the search's "
           "gain over the best of them\n\n| models | devices | flatten | "
           "interleave | separate | search | gain |\n|---|---|---|---|---|---|"
           "---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        papers_family *f = hybridflow_open(rows[i].size, speeds, arena);
        papers_problem *p = RLF_NEW(arena, papers_problem);
        const rlf_search_options options = {.seed = 1, .moves = 100000};
        rlf_found found;
        double best = INFINITY;
        papers_problem_make(f, f, rows[i].devices, PAPERS_ALL, arena, p);
        printf("| %s | %d |", papers_models[rows[i].size].name,
               rows[i].devices);
        for (int b = RLF_BASELINE_FLATTEN; b <= RLF_BASELINE_SEPARATE; b++) {
            rlf_placing at;
            rlf_baseline_make(&p->problem, (rlf_baseline)b, &options, arena,
                              &at);
            printf(" %.1f |", at.period);
            best = fmin(best, at.period);
        }
        rlf_search(&p->problem, &options, arena, &found);
        printf(" %.1f | %.0f %% |\n", found.best.period,
               100 * (best / found.best.period - 1));
        fflush(stdout);
    }
}

int
papers_hybridflow(int argc, char **argv)
{
    rlf_arena *arena = rlf_arena_new();
    real_families all;
    double ignored[REAL_SETTINGS];
    show_volumes();
    real_open(arena, &all);
    real_fit(&all, PAPERS_SIZES, ignored);
    show_generation(&all.speeds, arena);
    printf("Figures 12 and 13, seconds of a step with each way to place "
           "models\n\n| devices | colocate | split | standalone | best | paper "
           "|\n|---|---|---|---|---|---|\n");
    for (int s = PAPERS_7B; s <= PAPERS_70B; s++) {
        bool asked = !argc && s <= PAPERS_34B;
        for (int i = 0; i < argc; i++)
            asked |= !strcmp(argv[i], papers_models[s].name);
        if (asked)
            show_sizes((papers_size)s, &all.speeds, arena);
    }
    show_mixed(&all.speeds, arena);
    show_adaptive(&all.speeds, arena);
    rlf_arena_free(arena);
    return 0;
}
