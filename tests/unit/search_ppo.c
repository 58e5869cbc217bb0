/* PPO on A100 (tests/ppo_problem.h): what is proved optimal within a budget of
 * placements, and laws that answers obey: twice as fast takes half of the time,
 * more memory is never worse, the order of choices does not matter. */
#include "engine/search/baseline.h"
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
half_move(void *arg, int model, const rlf_choice *from, const rlf_choice *to)
{
    return ppo_move(arg, model, from, to) / 2;
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
    test_laws();
    test_stop();
    return done();
}
