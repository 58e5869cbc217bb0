/* Placements of others: see baseline.h. */
#include "engine/search/baseline.h"

#include <math.h>
#include <string.h>

#include "engine/search/chance.h"
#include "engine/search/hybridflow.h"

enum { MOST = RLF_SEARCH_CALLS, LOOK_EVERY = 4096 };

const char *
rlf_baseline_word(rlf_baseline which)
{
    static const char *const words[] = {
        [RLF_BASELINE_FLATTEN] = "flatten",
        [RLF_BASELINE_INTERLEAVE] = "interleave",
        [RLF_BASELINE_SEPARATE] = "separate",
        [RLF_BASELINE_HEURISTIC] = "heuristic",
        [RLF_BASELINE_HYBRIDFLOW] = "hybridflow",
        [RLF_BASELINE_REAL] = "real",
    };
    return words[which];
}

/* ---- ranks given, the best cuts there ---- */

/* Each call in its fastest way on the given ranks; then, one call at a time,
 * better ones, and first of all such that fit. */
static void
cut(const rlf_problem *p, rlf_estimator *e, const rlf_mesh_span *within,
    rlf_placing *out)
{
    for (int i = 0; i < p->n_calls; i++) {
        out->choice[i] = within[i].from;
        for (int k = within[i].from; k < within[i].to; k++)
            if (p->calls[i].choices[k].seconds <
                p->calls[i].choices[out->choice[i]].seconds)
                out->choice[i] = k;
    }
    rlf_placing_look(e, out);
    rlf_search_descend(e, p, within, out);
}

/* How many calls that model calls need before it come one after another. */
static int
depth_of(const rlf_problem *p, int i, const int *depth)
{
    int most = 0;
    for (int k = 0; k < p->calls[i].n_needs; k++)
        if (depth[p->calls[i].needs[k]] + 1 > most)
            most = depth[p->calls[i].needs[k]] + 1;
    return most;
}

/* Calls of one depth do not need each other: the n-th of them gets the n-th of
 * as many parts as the next power of two. */
static void
interleave(const rlf_problem *p, rlf_mesh_span *within)
{
    int depth[MOST];
    for (int i = 0; i < p->n_calls; i++)
        depth[i] = depth_of(p, i, depth);
    for (int i = 0; i < p->n_calls; i++) {
        int before = 0, all = 0, parts = 1;
        for (int k = 0; k < p->n_calls; k++) {
            all += depth[k] == depth[i];
            before += k < i && depth[k] == depth[i];
        }
        while (parts < all)
            parts *= 2;
        int n = p->devices / parts;
        const rlf_mesh_span *m =
            n ? rlf_search_mesh(&p->calls[i], before * n, n) : NULL;
        within[i] = m ? *m : within[i];
    }
}

static void
separate(const rlf_problem *p, rlf_mesh_span *within)
{
    int half = p->devices / 2;
    for (int i = 0; i < p->n_calls; i++) {
        bool trains = p->calls[i].kind == RLF_STAGE_UPDATE;
        const rlf_mesh_span *m =
            rlf_search_mesh(&p->calls[i], trains ? half : 0, p->devices - half);
        if (half && m)
            within[i] = *m;
    }
}

/* No data parallelism, and as large tensor-parallel groups as there are. */
static bool
heuristic(const rlf_problem *p, rlf_mesh_span *within)
{
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_mesh_span all = within[i];
        int tp = 0;
        for (int k = all.from; k < all.to; k++) {
            const rlf_choice *c = &p->calls[i].choices[k];
            if (c->dp != 1 || c->tp < tp)
                continue;
            if (c->tp > tp)
                within[i].from = k;
            tp = c->tp;
            within[i].to = k + 1;
        }
        if (!tp)
            return false;
    }
    return true;
}

/* ---- ReaL ---- */

static void
real(const rlf_problem *p, rlf_estimator *e, const rlf_search_options *options,
     rlf_arena *arena, rlf_placing *out)
{
    const double beta = 0.001, milli = 1000;
    rlf_chance chance = rlf_chance_begin(options->seed, 0);
    int *now = RLF_NEW_ARRAY(arena, int, p->n_calls);
    double is = INFINITY;
    for (int i = 0; i < p->n_calls; i++)
        for (int k = 0; k < p->calls[i].n_choices; k++)
            if (p->calls[i].choices[k].seconds <
                p->calls[i].choices[now[i]].seconds)
                now[i] = k;
    double closest = INFINITY; /* bytes, until something has fitted */
    for (int64_t move = 0; move < options->moves; move++) {
        int i = rlf_chance_below(&chance, p->n_calls), was = now[i];
        if (move)
            now[i] = rlf_chance_below(&chance, p->calls[i].n_choices);
        double over = rlf_estimate_over(e, now);
        double period = rlf_estimate_period(e, now);
        double cost = over > 0 ? 3 * period : period;
        double chances = exp(-beta * milli * (cost - is));
        bool taken = cost <= is || rlf_chance_uniform(&chance) < chances;
        if (!isfinite(out->period))
            taken = over <= closest;
        if (!taken) {
            now[i] = was;
            continue;
        }
        is = cost;
        closest = over;
        const rlf_placing seen = {now, over > 0 ? INFINITY : period, over};
        if (rlf_placing_better(&seen, out)) {
            memcpy(out->choice, now, sizeof *now * (size_t)p->n_calls);
            out->period = seen.period;
            out->over = over;
        }
        if (move % LOOK_EVERY == 0 && options->stop &&
            options->stop(options->arg, out->period, 0))
            return;
    }
}

void
rlf_baseline_first(const rlf_problem *problem, int n, rlf_arena *arena,
                   rlf_placing *out)
{
    rlf_estimator *e = rlf_estimator_new(problem, arena);
    rlf_mesh_span within[MOST];
    *out = (rlf_placing){.period = INFINITY, .over = INFINITY};
    out->choice = RLF_NEW_ARRAY(arena, int, problem->n_calls);
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_problem_call *call = &problem->calls[i];
        const rlf_mesh_span *there = rlf_search_mesh(call, 0, n);
        if (!there && n == problem->devices)
            return;
        within[i] = there ? *there : (rlf_mesh_span){.to = call->n_choices};
    }
    cut(problem, e, within, out);
}

void
rlf_baseline_make(const rlf_problem *problem, rlf_baseline which,
                  const rlf_search_options *options, rlf_arena *arena,
                  rlf_placing *out)
{
    if (which == RLF_BASELINE_FLATTEN) {
        rlf_baseline_first(problem, problem->devices, arena, out);
        return;
    }
    rlf_estimator *e = rlf_estimator_new(problem, arena);
    rlf_mesh_span within[MOST];
    *out = (rlf_placing){.period = INFINITY, .over = INFINITY};
    out->choice = RLF_NEW_ARRAY(arena, int, problem->n_calls);
    if (which == RLF_BASELINE_HYBRIDFLOW) {
        rlf_hybridflow_map(problem, e, arena, out, NULL);
        return;
    }
    if (which == RLF_BASELINE_REAL) {
        real(problem, e, options, arena, out);
        return;
    }
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_mesh_span *all =
            rlf_search_mesh(&problem->calls[i], 0, problem->devices);
        if (!all)
            return;
        within[i] = *all;
    }
    if (which == RLF_BASELINE_INTERLEAVE)
        interleave(problem, within);
    else if (which == RLF_BASELINE_SEPARATE)
        separate(problem, within);
    else if (which == RLF_BASELINE_HEURISTIC && !heuristic(problem, within))
        return;
    cut(problem, e, within, out);
}
