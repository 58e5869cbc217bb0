/* Scale on paper: PPO with an actor, a critic, a reference and a reward model
 * of one size on 8 to 16,384 H100.
 *
 *     bench/papers scale                       (7B, 70B, 405B)
 *     bench/papers scale quick                 (some numbers of devices, few
 *                                               placements)
 *     bench/papers scale SIZE [DEVICES ...]
 *
 * Rows are Markdown. Seconds of a step are a simulation's up to 128 devices,
 * above that the estimate's; those of the search are processor time, and those
 * until it has a first answer, which who stops it gets, and until it has the
 * placement with the shortest step by the estimate.
 */
#include "bench/papers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/api/searching/search.h"
#include "tests/papers/scale.h"

enum { LEAST = 8, MOST = 16384, QUICK = 8, QUICK_MOVES = 40000 };

static const papers_size sizes[] = {PAPERS_7B, PAPERS_70B, PAPERS_405B};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void
show_head(void)
{
    const scale_reached *r = &scale_usual;
    printf("PPO of four equal models, %d rows of %d and %d tokens; of the data "
           "sheet %.0f %% of the operations, %.0f %% of the memory's "
           "bandwidth, %.0f and %.0f %% of the links in and between machines "
           "are reached\n\n",
           SCALE_BATCH, SCALE_PROMPT, SCALE_RESPONSE, 100 * r->compute,
           100 * r->memory, 100 * r->inside, 100 * r->across);
    printf("| model | H100 | strategy | actor generates | actor trains | step, "
           "s | tokens/s | a device | of peak | idle | binds | gap | first "
           "answer, s | best, s | search, s "
           "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
           "\n");
}

static void
show_row(const scale_row *r, double seconds)
{
    printf("| %s | %d | ", papers_models[r->size].name, r->devices);
    if (!r->fits) {
        printf("no room: %s | | | | | | | | | | | | %.1f |\n", r->why, seconds);
        return;
    }
    printf("%s | %s | %s | %s%.4g | %.4g | %.4g | %.1f %% | %.1f %% | %s | "
           "%.1f %% | %.1f | %.1f | %.1f |\n",
           r->strategy, r->generate, r->train, r->simulated ? "" : "~", r->step,
           r->tokens, r->tokens / r->devices, 100 * r->bound / r->step,
           100 * r->idle, r->binds, 100 * r->gap, r->first, r->best,
           seconds);
}

static void
show(papers_size size, int devices, int64_t moves)
{
    rlf_arena *arena = rlf_arena_new();
    scale_row row;
    double begin = scale_processor();
    scale_search(size, devices, moves, &scale_usual, arena, &row);
    show_row(&row, scale_processor() - begin);
    fflush(stdout);
    rlf_arena_free(arena);
}

static void
show_all(papers_size size, int step, int64_t moves)
{
    for (int n = LEAST; n <= MOST; n *= step)
        show(size, n, moves);
}

int
papers_scale(int argc, char **argv)
{
    bool quick = argc == 1 && !strcmp(argv[0], "quick");
    if (!argc || quick) {
        show_head();
        for (int i = 0; i < SIZES; i++)
            show_all(sizes[i], quick ? QUICK : 2,
                     quick ? QUICK_MOVES : RLF_SEARCH_MOVES);
        return 0;
    }
    for (int i = 0; i < PAPERS_SIZES; i++) {
        if (strcmp(argv[0], papers_models[i].name) != 0)
            continue;
        show_head();
        if (argc == 1)
            show_all((papers_size)i, 2, RLF_SEARCH_MOVES);
        for (int k = 1; k < argc; k++)
            show((papers_size)i, atoi(argv[k]), RLF_SEARCH_MOVES);
        return 0;
    }
    fprintf(stderr, "sizes are 7B, 13B, 34B, 70B, 405B\n");
    return 2;
}
