/* PPO on A100 (tests/ppo_problem.h): what is proved optimal within a budget of
 * placements, and laws that answers obey: twice as fast takes half of the time,
 * more memory or more ranks are never worse, the order of choices does not
 * matter; what flatten can be. */
#include "engine/search/baseline.h"

#include <string.h>

#include "engine/base/splitmix.h"
#include "tests/ppo_problem.h"
#include "tests/tap.h"

static rlf_search_options options = {
    .seed = 1, .moves = 200000, .branches = 2000000};

static void
make(ppo_problem *p, int size, int devices, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    if (ppo_make(p, size, devices, 1024, true, arena, &err) < 0)
        bail("%s", err.sentence);
}

static void
test_proofs(void)
{
    static const struct {
        int size, devices;
    } settings[] = {{0, 8}, {0, 16}, {1, 32}, {2, 64}};
    int n = quick() ? 2 : 4;
    for (int k = 0; k < n; k++) {
        rlf_arena *arena = rlf_arena_new();
        ppo_problem p;
        rlf_found found;
        make(&p, settings[k].size, settings[k].devices, arena);
        rlf_search(&p.problem, &options, arena, &found);
        ok(found.optimal, "%dB on %d devices: %.3f s is proved optimal",
           ppo_models[settings[k].size].size, settings[k].devices,
           found.best.period);
        for (int b = 0; b < RLF_BASELINES; b++) {
            rlf_placing at;
            rlf_baseline_make(&p.problem, b, &options, arena, &at);
            ok(at.period >= found.best.period * (1 - 1e-9),
               "%s takes no less: %.3f s", rlf_baseline_word(b), at.period);
        }
        rlf_arena_free(arena);
    }
}

/* All calls on all ranks, by the search with a proof where there is nothing
 * else, and as a baseline. One change at a time ends 6 % higher. */
static void
test_flatten(void)
{
    rlf_arena *arena = rlf_arena_new();
    ppo_problem p;
    rlf_found found;
    rlf_placing at;
    rlf_err err = RLF_ERR_NONE;
    make(&p, 1, 32, arena);
    for (int i = 0; i < PPO_CALLS; i++) {
        rlf_problem_call *call = &p.calls[i];
        int n = 0;
        for (int k = 0; k < call->n_choices; k++)
            if (call->choices[k].count == 32)
                call->choices[n++] = call->choices[k];
        call->n_choices = n;
    }
    p.problem.machine = 0;
    if (rlf_problem_close(&p.problem, arena, &err) < 0)
        bail("%s", err.sentence);
    rlf_search(&p.problem, &options, arena, &found);
    rlf_baseline_make(&p.problem, RLF_BASELINE_FLATTEN, &options, arena, &at);
    ok(found.optimal && at.period <= found.best.period * (1 + 1e-9),
       "flatten is as good as can be: %.3f, %.3f s", at.period,
       found.best.period);
    rlf_arena_free(arena);
}

static double
optimum(ppo_problem *p, rlf_arena *arena)
{
    rlf_found found;
    rlf_search(&p->problem, &options, arena, &found);
    if (!found.optimal)
        bail("no proof");
    return found.best.period;
}

static double
half_move(void *arg, const rlf_problem_move *move)
{
    return ppo_move(arg, move) / 2;
}

static void
test_laws(void)
{
    rlf_arena *arena = rlf_arena_new();
    ppo_problem p;
    rlf_err err = RLF_ERR_NONE;
    make(&p, 0, 16, arena);
    double one = optimum(&p, arena);
    for (int i = 0; i < PPO_CALLS; i++)
        for (int k = 0; k < p.calls[i].n_choices; k++)
            p.calls[i].choices[k].seconds /= 2;
    p.problem.move = half_move;
    rlf_problem_close(&p.problem, arena, &err);
    double half = optimum(&p, arena);
    ok(half == one / 2, "twice as fast takes half: %g of %g s", half, one);

    /* Turned round: of the choices that differ in nothing but their place the
     * sorting keeps no order, so the answer must not hang on it. */
    make(&p, 0, 16, arena);
    for (int i = 0; i < PPO_CALLS; i++)
        for (int a = 0, b = p.calls[i].n_choices - 1; a < b; a++, b--) {
            rlf_choice c = p.calls[i].choices[a];
            p.calls[i].choices[a] = p.calls[i].choices[b];
            p.calls[i].choices[b] = c;
        }
    rlf_problem_close(&p.problem, arena, &err);
    ok(optimum(&p, arena) == one, "the order of choices does not matter");

    double before = INFINITY;
    for (double memory = 0.7; memory < 1.35; memory += 0.1) {
        make(&p, 0, 16, arena);
        for (int i = 0; i < 16; i++)
            p.memory[i] = memory * ppo_memory;
        double now = optimum(&p, arena);
        ok(now <= before, "%.0f GB: %g s", memory * 80, now);
        before = now;
    }
    rlf_arena_free(arena);
}

/* More memory, or more ranks, and few moves: what is not proved obeys it too.
 */
static void
test_more(int size)
{
    enum { MEMORIES = 7, FEW = 80 };
    const rlf_search_options few = {.seed = 1, .moves = FEW};
    double less[MEMORIES], worst = 0;
    int n = quick() ? 3 : 5, fit = 0, looked = 0;
    for (int m = 0; m < MEMORIES; m++)
        less[m] = INFINITY;
    for (int d = 0; d < n; d++) {
        rlf_arena *arena = rlf_arena_new();
        ppo_problem p;
        rlf_err err = RLF_ERR_NONE;
        int devices = PPO_MACHINE << d;
        /* On few devices no call fits for itself. */
        bool any = ppo_make(&p, size, devices, 1024, true, arena, &err) >= 0;
        for (int m = 0; any && m < MEMORIES; m++) {
            rlf_found found;
            for (int i = 0; i < devices; i++)
                p.memory[i] = (40 + 20 * m) * 1e9;
            rlf_search(&p.problem, &few, arena, &found);
            double now = found.best.period;
            double before = m ? fmin(less[m], less[m - 1]) : less[m];
            fit += isfinite(now);
            looked++;
            if (isfinite(before))
                worst = fmax(worst, now / before - 1);
            less[m] = now;
        }
        rlf_arena_free(arena);
    }
    ok((quick() || fit > looked / 3) && worst < 1e-12,
       "%dB: of %d answers that fit none is longer than one for less memory, "
       "or for half of the ranks: %.2f %% at most",
       ppo_models[size].size, fit, 100 * worst);
}

/* Starts that differ in one call: descents that come to where another one was
 * end there, and the best of all is the same. */
static void
test_descents(void)
{
    enum { STARTS = 40 };
    rlf_arena *arena = rlf_arena_new();
    ppo_problem p;
    rlf_placing best[2];
    int ended = 0;
    make(&p, 1, 32, arena);
    rlf_estimator *e = rlf_estimator_new(&p.problem, arena);
    rlf_descents *before = rlf_descents_new(&p.problem, arena);
    for (int known = 0; known < 2; known++) {
        rlf_splitmix chance = rlf_splitmix_begin(1, 0);
        best[known].period = best[known].over = INFINITY;
        for (int k = 0; k < STARTS; k++) {
            rlf_placing at = {.choice = RLF_NEW_ARRAY(arena, int, PPO_CALLS)};
            int i = k % PPO_CALLS;
            at.choice[i] = rlf_splitmix_below(&chance, p.calls[i].n_choices);
            rlf_placing_look(e, &at);
            if (!rlf_search_descend(e, &p.problem, NULL, known ? before : NULL,
                                    &at))
                ended++;
            else if (rlf_placing_better(&at, &best[known]))
                best[known] = at;
        }
    }
    ok(ended > 0 && best[0].period == best[1].period &&
           memcmp(best[0].choice, best[1].choice, sizeof(int) * PPO_CALLS) == 0,
       "%d of %d descents end where another one was, and the best, %g s, is "
       "that of all",
       ended, STARTS, best[1].period);
    rlf_arena_free(arena);
}

static bool
stop_soon(void *arg, double period, double bound)
{
    int *calls = arg;
    (void)bound;
    return ++*calls > 3 && isfinite(period);
}

/* Whoever stops it has the best so far, and knows. */
static void
test_stop(void)
{
    rlf_arena *arena = rlf_arena_new();
    ppo_problem p;
    int calls = 0;
    rlf_search_options stops = options;
    rlf_found found;
    make(&p, 2, 64, arena);
    stops.stop = stop_soon;
    stops.arg = &calls;
    rlf_search(&p.problem, &stops, arena, &found);
    ok(found.stopped && isfinite(found.best.period) &&
           found.looks < options.moves,
       "a search that is stopped has the best so far: %g s after %d looks",
       found.best.period, (int)found.looks);
    ok(!found.optimal && found.bound <= found.best.period,
       "and proves no more than it has looked at");
    stops = options;
    stops.branches = 0;
    rlf_found whole;
    rlf_search(&p.problem, &stops, arena, &whole);
    ok(found.bound > 0.5 * whole.best.period &&
           found.bound <= whole.best.period,
       "but for what each call makes inevitable: %g of %g s", found.bound,
       whole.best.period);
    for (int i = 0; i < 64; i++)
        p.memory[i] = 1e9;
    rlf_search(&p.problem, &options, arena, &found);
    ok(isinf(found.best.period) && found.best.over > 0,
       "what fits nowhere lacks %.1f GB", found.best.over / 1e9);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_proofs();
    test_flatten();
    test_descents();
    test_laws();
    test_more(0);
    test_more(3);
    test_stop();
    return done();
}
