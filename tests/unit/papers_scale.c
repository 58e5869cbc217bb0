/* The table of scale (tests/papers/scale.h): more devices are never slower, nor
 * faster than so many as fewer would be but for what memory allows; nothing is
 * faster than its operations; what fits nowhere says what it lacks; how soon
 * there is an answer.
 * RLFLOW_TEST_QUICK leaves out what takes long. */
#include "tests/papers/scale.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

enum { MOVES = 20000 };

/* On 8 devices there is less room for keys and values than on more. */
static const double more_room = 1.05;
/* Processor seconds in which a search has a first answer. */
static const double soon = 10;

/* *first: the row of the first of them, without its words. */
static void
test_steps(papers_size size, const int *devices, int n, scale_row *first)
{
    double before = INFINITY, each = INFINITY;
    for (int i = 0; i < n; i++) {
        rlf_arena *arena = rlf_arena_new();
        scale_row row;
        scale_search(size, devices[i], MOVES, &scale_usual, arena, &row);
        ok(row.fits && row.step < before && row.step > row.bound &&
               row.tokens / devices[i] < each * more_room && row.idle >= 0 &&
               row.idle < 1,
           "%s on %d: %s, %.4g s, %.4g tokens/s a device, %.1f %% of the peak, "
           "idle %.1f %%",
           papers_models[size].name, devices[i], row.strategy, row.step,
           row.tokens / devices[i], 100 * row.bound / row.step, 100 * row.idle);
        ok(row.simulated == (devices[i] <= 128), "%s",
           row.simulated ? "simulated" : "estimated");
        ok(row.first > 0 && row.first < soon,
           "who stops the search has an answer after %.1f s", row.first);
        ok(row.best >= row.first && row.best < soon,
           "the best by the estimate is known after %.1f s", row.best);
        if (i == 0)
            *first = row;
        before = row.step;
        each = row.tokens / devices[i];
        rlf_arena_free(arena);
    }
}

static void
test_lack(void)
{
    rlf_arena *arena = rlf_arena_new();
    scale_row row;
    scale_search(PAPERS_70B, 8, MOVES / 100, &scale_usual, arena, &row);
    ok(!row.fits && row.lacks > 1e9 &&
           strstr(row.why, "the fullest device lacks "),
       "70B on 8: %s", row.why);
    rlf_arena_free(arena);
}

/* `slow`: a row at the rates that are reached. */
static void
test_rates(const scale_row *slow)
{
    static const scale_reached all = {1, 1, 1, 1};
    rlf_arena *arena = rlf_arena_new();
    scale_row fast;
    scale_search(slow->size, slow->devices, MOVES, &all, arena, &fast);
    ok(fast.step < slow->step && fast.step > 0.5 * slow->step &&
           fast.bound == slow->bound,
       "at the rates of the data sheet %.4g s, at those reached %.4g s",
       fast.step, slow->step);
    rlf_arena_free(arena);
}

/* Ranks from `first`, `n` of them. */
static rlf_layout
run_of(int *ranks, int first, int n)
{
    for (int i = 0; i < n; i++)
        ranks[i] = first + i;
    return (rlf_layout){.ranks = ranks, .n_ranks = n};
}

static void
test_strategies(void)
{
    int ranks[4][8];
    const rlf_layout all = run_of(ranks[0], 0, 8), low = run_of(ranks[1], 0, 4),
                     high = run_of(ranks[2], 4, 4),
                     most = run_of(ranks[3], 0, 7);
    const rlf_layout *at[PAPERS_CALLS] = {&all, &all, &all, &all, &all, &all};
    is_str(scale_strategy(at), "colocate", "all on the same ranks");
    at[PAPERS_REWARD] = &low;
    is_str(scale_strategy(at), "mixed", "but for a reading");
    at[PAPERS_ACTOR] = &high;
    at[PAPERS_CRITIC] = &low;
    is_str(scale_strategy(at), "split", "updates on halves");
    at[PAPERS_CRITIC] = &most;
    is_str(scale_strategy(at), "mixed", "updates with ranks in common");
    at[PAPERS_GENERATE] = &low;
    is_str(scale_strategy(at), "separate", "generation where no actor trains");
}

int
main(void)
{
    /* up to 128 are simulated, more estimated */
    static const int devices[] = {8, 1024};
    scale_row row;
    test_strategies();
    test_steps(PAPERS_7B, devices, quick() ? 1 : 2, &row);
    if (!quick()) {
        test_rates(&row); /* which holds of any size: the smallest */
        test_lack();
    }
    return done();
}
