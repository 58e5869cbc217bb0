/* ReaL's 33 settings: what constants that are fitted to its heuristic plans say
 * of the plans that its search found, and how the gain over the heuristic hangs
 * on what is searched and on what the fit cannot know.
 *
 *     bench/papers real [DEVICES]    (settings of no more devices; all)
 */
#include "bench/papers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/papers/real.h"
#include "tests/fit_errors.h"

static const char *const blamed_words[REAL_BLAMED] = {
    "operations and collectives", "operations", "collectives"};

static int most;

static bool
is_asked(const real_setting *s)
{
    return s->devices <= most;
}

/* Columns: all, and by the length of responses. */
enum { COLUMNS = 4 };

static int
column_of(const real_setting *s)
{
    return s->response == 128 ? 1 : s->response == 384 ? 2 : 3;
}

static void
show_gains(const real_gain *gain, bool published)
{
    for (int k = 0; k < COLUMNS; k++)
        printf(" %.1f %% |",
               100 * (published ? gain[k].published : gain[k].ours) /
                   gain[k].weight);
}

/* A row: gains by length, how far the seconds are from the figure's. */
static void
show_space(real_families *all, const double *heuristic, real_space space,
           double wrong)
{
    real_gain gain[COLUMNS] = {0};
    double own[REAL_SETTINGS], is[REAL_SETTINGS];
    int n = 0, none = 0;
    for (int i = 0; i < REAL_SETTINGS; i++) {
        const real_setting *s = &real_settings[i];
        if (!is_asked(s))
            continue;
        double found = real_search_in(all, s, space, wrong, 1);
        if (!isfinite(found)) {
            none++;
            continue;
        }
        real_gain_add(&gain[0], s, heuristic[i] / found);
        real_gain_add(&gain[column_of(s)], s, heuristic[i] / found);
        own[n] = found;
        is[n++] = s->searched;
    }
    fit_errors e = fit_errors_of(own, is, n);
    printf("| %s", real_space_words[space]);
    if (wrong > 0)
        printf(", chosen by seconds %.0f %% wrong", 100 * wrong);
    if (none)
        printf(" (%d settings fit nowhere)", none);
    printf(" |");
    show_gains(gain, false);
    printf(" %.1f %% | %.3f |\n", 100 * e.mean, e.rank);
    fflush(stdout);
}

static void
show_published(const double *heuristic)
{
    real_gain gain[COLUMNS] = {0};
    for (int i = 0; i < REAL_SETTINGS; i++)
        if (is_asked(&real_settings[i])) {
            real_gain_add(&gain[0], &real_settings[i], 1);
            real_gain_add(&gain[column_of(&real_settings[i])],
                          &real_settings[i], 1);
        }
    (void)heuristic;
    printf("| the figure |");
    show_gains(gain, true);
    printf(" | |\n");
}

int
papers_real(int argc, char **argv)
{
    static const double wrongs[] = {0.1, 0.25};
    rlf_arena *arena = rlf_arena_new();
    double heuristic[REAL_SETTINGS], is[REAL_SETTINGS];
    most = argc ? atoi(argv[0]) : 128;
    for (int i = 0; i < REAL_SETTINGS; i++)
        is[i] = real_settings[i].heuristic;
    for (int b = 0; b < REAL_BLAMED; b++) {
        real_families all;
        real_open(arena, &all);
        all.blamed = (real_blamed)b;
        real_fit(&all, PAPERS_SIZES, heuristic);
        fit_errors e = fit_errors_of(heuristic, is, REAL_SETTINGS);
        printf("What takes longer to start than on the data sheet: %s. "
               "Heuristic plans, fitted: %.1f %% off on average.\n"
               "Factors: operations' rate %.2f, starts of a pass %.1f %.1f, of "
               "a turn %.1f %.1f, across %.1f, a sequence and turn %.2g s\n\n",
               blamed_words[b], 100 * e.mean,
               all.speeds.pass[RLF_SECONDS_COMPUTE],
               all.speeds.pass[RLF_SECONDS_LAUNCH],
               all.speeds.pass[RLF_SECONDS_MEET_INSIDE],
               all.speeds.generate[RLF_SECONDS_LAUNCH],
               all.speeds.generate[RLF_SECONDS_MEET_INSIDE],
               all.speeds.pass[RLF_SECONDS_MEET_ACROSS], all.speeds.sequence);
        printf("| searched | gain | 128 | 384 | 896 | off the figure's plans | "
               "rank |\n|---|---|---|---|---|---|---|\n");
        show_published(heuristic);
        for (int k = 0; k < REAL_SPACES; k++)
            show_space(&all, heuristic, (real_space)k, 0);
        for (int k = 0; k < 2 && !b; k++)
            show_space(&all, heuristic, REAL_MEMORY, wrongs[k]);
        printf("\n");
    }
    rlf_arena_free(arena);
    return 0;
}
