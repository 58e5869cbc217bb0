/* The numbers of the four papers that a planner without a GPU can be held
 * against, in one list: what the paper has, what rlflow has, their ratio, and
 * why they differ where they do.
 *
 *     bench/papers checks
 *
 * Checks that take seconds are computed here; for the rest the list names the
 * command or the test that computes it. */
#include "bench/papers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/fused.h"
#include "tests/papers/hybridflow.h"
#include "tests/papers/real.h"

/* A row whose numbers are computed here. */
static void
put(int number, const char *what, double paper, double ours, const char *why)
{
    printf("| %d | %s | %.6g | %.6g | %.4f | %s |\n", number, what, paper, ours,
           ours / paper, why);
    fflush(stdout);
}

/* A row whose numbers are computed elsewhere. */
static void
put_named(int number, const char *what, const char *paper, const char *where,
          const char *why)
{
    printf("| %d | %s | %s | `%s` | | %s |\n", number, what, paper, where, why);
}

/* ---- HybridFlow ---- */

static void
show_volumes(void)
{
    static const struct {
        const char *what;
        double size, hybrid, whole, chat;
        int p, t, tg;
    } rows[] = {
        {"7B", 14, 5.25, 12.25, 13.89, 1, 8, 2},
        {"13B", 26, 3.25, 22.75, 25.80, 1, 8, 4},
        {"34B", 68, 6.375, 65.875, 67.47, 4, 8, 8},
        {"70B", 140, 15.3125, 137.8125, 138.91, 8, 8, 8},
    };
    char what[96];
    double peak;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double size = rows[i].size;
        int p = rows[i].p, t = rows[i].t;
        snprintf(what, sizeof what, "resharding %s, GB a rank receives",
                 rows[i].what);
        put(1, what, rows[i].hybrid,
            size * hybridflow_volume(p, t, 1, rows[i].tg, &peak), "");
        snprintf(what, sizeof what, "the same, the whole model gathered");
        put(1, what, rows[i].whole, size * hybridflow_volume(p, t, 1, 1, &peak),
            "");
        snprintf(what, sizeof what, "the same, from 128 ranks");
        put(1, what, rows[i].chat,
            size * hybridflow_volume(1, 128, 1, 1, &peak),
            "the paper's is rounded");
    }
}

static void
show_placements(const papers_speeds *speeds, rlf_arena *arena)
{
    static const struct {
        papers_size size;
        int devices;
        bool split; /* the paper's best; else sharing */
        const char *why;
    } rows[] = {
        {PAPERS_7B, 64, false, ""},
        {PAPERS_13B, 64, false, ""},
        {PAPERS_34B, 64, false,
         "memory: all four models stay on the devices, the paper keeps the "
         "generation's weights on the host while it trains"},
        {PAPERS_34B, 96, true,
         "less than 3 % from even; seconds are fitted to another runtime"},
        {PAPERS_34B, 128, true, ""},
    };
    papers_family *family[PAPERS_SIZES] = {0};
    char what[128];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        papers_size size = rows[i].size;
        if (!family[size])
            family[size] = hybridflow_open(size, speeds, arena);
        hybridflow_placed at =
            hybridflow_place(family[size], family[size], rows[i].devices, 0);
        double ours = at.split.period / at.colocate.period;
        bool same = rows[i].split == (ours < 1);
        snprintf(what, sizeof what, "%s on %d: split over sharing, seconds",
                 papers_models[size].name, rows[i].devices);
        printf("| 5 | %s | %s 1 | %.3f | %s | %s |\n", what,
               rows[i].split ? "below" : "above", ours,
               same ? "same side" : "other side", same ? "" : rows[i].why);
        fflush(stdout);
    }
}

static void
show_generation(const papers_speeds *speeds, rlf_arena *arena)
{
    static const double parts[] = {0.875, 0.375, 0.125};
    static const struct {
        papers_size size;
        int best;
        double saved;
    } rows[] = {{PAPERS_7B, 2, 60.3}, {PAPERS_13B, 4, 36.4}};
    char what[96];
    double peak;
    for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, "figure 15, 1-8-2 to tp %d, of the model",
                 1 << k);
        put(6, what, parts[k], hybridflow_volume(1, 8, 2, 1 << k, &peak), "");
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int waves;
        papers_family *f = hybridflow_open(rows[i].size, speeds, arena);
        double best =
            hybridflow_generate(f, rows[i].size, rows[i].best, &waves);
        double eight = hybridflow_generate(f, rows[i].size, 8, &waves);
        snprintf(what, sizeof what,
                 "%s, what tp %d saves of a generation with tp 8, %%",
                 papers_models[rows[i].size].name, rows[i].best);
        put(6, what, rows[i].saved, 100 * (1 - best / eight),
            "a roofline reads keys and values equally fast at every tp");
    }
}

/* The two settings of 128 devices whose best is neither. */
static void
show_others(const papers_speeds *speeds, rlf_arena *arena)
{
    papers_family *actor = hybridflow_open(PAPERS_13B, speeds, arena);
    papers_family *critic = hybridflow_open(PAPERS_70B, speeds, arena);
    hybridflow_placed even = hybridflow_place(actor, actor, 128, 0);
    hybridflow_placed mixed = hybridflow_place(actor, critic, 128, 0);
    double alone = even.standalone.period / even.colocate.period;
    double apart = mixed.critic_apart.period / mixed.colocate.period;
    const char *why =
        "a step begins when the one before is done, so devices that wait for "
        "others' models are lost, and seconds are another machine's";
    printf("| 5 | 13B on 128: each model alone over sharing, seconds | below 1 "
           "| %.3f | %s | %s |\n",
           alone, alone < 1 ? "same side" : "other side", alone < 1 ? "" : why);
    printf("| 5 | 13B with a 70B critic on 128: the critic on one half over "
           "sharing, seconds | below 1 | %.3f | %s | %s |\n",
           apart, apart < 1 ? "same side" : "other side", apart < 1 ? "" : why);
}

/* ---- RLHFuse ---- */

/* Check `number` of a case, whose problem has no cap. */
static void
show_case(int number, int which, const rlf_fuse *fuse, rlf_arena *arena)
{
    const struct fused *x = &fused_cases[which];
    rlf_fuse_answer serial, greedy;
    rlf_err err = RLF_ERR_NONE;
    char what[96];
    snprintf(what, sizeof what, "case %d: ", which);
    size_t at = strlen(what), room = sizeof what - at;
    if (number == 7 && rlf_fuse_greedy(fuse, arena, &err, &greedy) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
    } else if (number == 7) {
        snprintf(what + at, room, "greedy schedule, makespan");
        put(7, what, x->greedy, greedy.makespan, "");
        snprintf(what + at, room, "its memory");
        put(7, what, x->greedy_peak, greedy.peak, "");
    } else if (number == 8) {
        snprintf(what + at, room, "lower bound");
        put(8, what, x->bound, rlf_fuse_bound(fuse, arena), "");
    } else {
        rlf_fuse_serial(fuse, arena, &serial);
        snprintf(what + at, room, "one after the other, %s",
                 number == 10 ? "makespan" : "memory");
        put(number, what, number == 10 ? x->serial : x->serial_peak,
            number == 10 ? serial.makespan : serial.peak, "");
    }
}

static void
show_cases(int number)
{
    for (int i = 0; i < FUSED_CASES; i++) {
        rlf_arena *arena = rlf_arena_new();
        rlf_fuse fuse;
        fused_make(&fused_cases[i], 0, arena, &fuse);
        show_case(number, i, &fuse, arena);
        rlf_arena_free(arena);
    }
}

static void
show_fused(void)
{
    show_cases(7);
    show_cases(8);
    put_named(9, "best makespans of the twelve cases below the paper's memory",
              "bound, but 613 of 606 in case 9", "bench/papers",
              "another search: it reaches the bound in case 9 too");
    put_named(10,
              "bubbles of 1F1B: 8 stages, 32, 16, 8 micro-batches; 16, "
              "64, 32, 16",
              ".179 .304 .467; .190 .319 .484", "tests/unit/papers_exact", "");
    show_cases(10);
    show_cases(11);
    put_named(11, "memory of the best schedules of cases 0, 3, 9, 10",
              "19.70, 20.50, 38.72, 32.16", "bench/papers",
              "these are the caps of its searches");
    put_named(12, "gathering the last samples: best threshold, gain",
              "20 % left, 1.2 to 1.6", "bench/papers threshold",
              "complete samples are read without gathering too, and gathered "
              "turns are longer");
}

/* ---- ReaL ---- */

static void
show_flops(void)
{
    static const struct {
        const char *what;
        papers_size actor, critic;
        papers_lengths lengths;
        double peta;
    } rows[] = {
        {"7B x4, 512 of 128", PAPERS_7B, PAPERS_7B, {512, 128, 128}, 21.401},
        {"7B x4, 128 of 896", PAPERS_7B, PAPERS_7B, {128, 128, 896}, 22.006},
        {"7B, 34B, 128 of 896", PAPERS_7B, PAPERS_34B, {128, 128, 896}, 74.192},
        {"7B, 70B, 256 of 384",
         PAPERS_7B,
         PAPERS_70B,
         {256, 128, 384},
         135.115},
        {"34B x4, 128 of 896",
         PAPERS_34B,
         PAPERS_34B,
         {128, 128, 896},
         126.309},
        {"70B x4, 512 of 128",
         PAPERS_70B,
         PAPERS_70B,
         {512, 128, 128},
         247.555},
    };
    char what[96];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(what, sizeof what, "%s: 10^15 operations", rows[i].what);
        put(14, what, rows[i].peta,
            papers_real_flops(rows[i].actor, rows[i].critic, rows[i].lengths) /
                1e15,
            "");
    }
}

static void
show_heuristic(const double *heuristic)
{
    double off = 0;
    for (int i = 0; i < REAL_SETTINGS; i++)
        off +=
            fabs(heuristic[i] / real_settings[i].heuristic - 1) / REAL_SETTINGS;
    printf(
        "| 15 | seconds of the 33 heuristic plans | the figure | %.1f %% off "
        "on average | | fitted to them |\n",
        100 * off);
}

int
papers_checks(void)
{
    rlf_arena *arena = rlf_arena_new();
    real_families all;
    double heuristic[REAL_SETTINGS];
    real_open(arena, &all);
    real_fit(&all, PAPERS_SIZES, heuristic);
    printf("| # | what | paper | rlflow | ratio | why it differs |\n"
           "|---|---|---|---|---|---|\n");
    show_volumes();
    put_named(2,
              "groups of figure 8; a generation's shard is made of training's",
              "exact", "tests/unit/papers_exact", "");
    put_named(3, "partitions of 3, 4, 5 models; allocations on 128",
              "5, 15, 52; 333,375", "tests/unit/papers_exact", "");
    put_named(4, "d_cost: sets add, others take the longest, stages add",
              "exact", "tests/unit/papers_exact", "");
    show_placements(&all.speeds, arena);
    show_others(&all.speeds, arena);
    show_generation(&all.speeds, arena);
    show_fused();
    put_named(13, "ReaL's options: meshes and cuts by machines",
              "22; 164/136; 520/356; 2095/1183", "tests/unit/papers_real", "");
    show_flops();
    show_heuristic(heuristic);
    put_named(15, "gain of searched plans over the heuristic", "26.1 %",
              "bench/papers real",
              "calls at the same time cost nothing in messages and waits here; "
              "sharing all devices gains 31 %");
    put_named(16, "moves of weights: every slice arrives once, from one sender",
              "property", "tests/unit/plan_realloc", "");
    put_named(17, "calls and edges of PPO, ReMax, GRPO", "6/11, 5/5, 4/5",
              "tests/unit/papers_exact", "");
    put_named(18, "GAE, GRPO, RLOO, ReMax by formula", "exact",
              "tests/unit/stdlib_formulas", "");
    rlf_arena_free(arena);
    return 0;
}
