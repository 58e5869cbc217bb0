/* Placements of others: see baseline.h. */
#include "engine/search/baseline.h"

#include <math.h>
#include <string.h>

#include "engine/base/splitmix.h"
#include "engine/search/descend.h"
#include "engine/search/hybridflow.h"

enum {
    MOST = RLF_SEARCH_CALLS,
    LOOK_EVERY = 4096,
    PAIRS = 400000, /* placements in which two calls change at once */
};

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

static double
bytes_of(const rlf_choice *c)
{
    return c->kept + c->own + c->work;
}

/* A choice of a call in `span` from which to start: the fastest; with
 * `smallest` the one with the fewest bytes; with a cut, `like`, the fastest of
 * those that are cut so, if there are any. */
static int
start_of(const rlf_problem_call *call, const rlf_mesh_span *span, bool smallest,
         const rlf_choice *like)
{
    int best = -1;
    for (int k = span->from; k < span->to; k++) {
        const rlf_choice *c = &call->choices[k];
        if (like && (c->tp != like->tp || c->pp != like->pp))
            continue;
        const rlf_choice *b = &call->choices[best < 0 ? k : best];
        if (best < 0 ||
            (smallest ? bytes_of(c) < bytes_of(b) : c->seconds < b->seconds))
            best = k;
    }
    return best < 0 ? start_of(call, span, smallest, NULL) : best;
}

/* Descends from one start; the better of it and *out. */
static void
cut_from(const rlf_problem *p, rlf_estimator *e, const rlf_mesh_span *within,
         bool smallest, const rlf_choice *like, rlf_placing *out)
{
    int choice[MOST];
    rlf_placing at = {.choice = choice};
    for (int i = 0; i < p->n_calls; i++)
        choice[i] = start_of(&p->calls[i], &within[i], smallest, like);
    rlf_placing_look(e, &at);
    rlf_search_descend(e, p, within, NULL, &at);
    if (!rlf_placing_better(&at, out))
        return;
    memcpy(out->choice, choice, sizeof *choice * (size_t)p->n_calls);
    out->period = at.period;
    out->over = at.over;
}

/* Is choice k of call i the first of all calls' choices that is cut so? */
static bool
is_new_cut(const rlf_problem *p, const rlf_mesh_span *within, int i, int k)
{
    const rlf_choice *c = &p->calls[i].choices[k];
    for (int j = 0; j <= i; j++)
        for (int n = within[j].from; n < (j == i ? k : within[j].to); n++)
            if (p->calls[j].choices[n].tp == c->tp &&
                p->calls[j].choices[n].pp == c->pp)
                return false;
    return true;
}

/* The best two choices of two calls: true if they are better. */
static bool
change_two(const rlf_problem *p, rlf_estimator *e, const rlf_mesh_span *within,
           int i, int j, rlf_placing *at, int *left)
{
    int choice[MOST];
    rlf_placing trial = {.choice = choice};
    bool changed = false;
    memcpy(choice, at->choice, sizeof *choice * (size_t)p->n_calls);
    for (int a = within[i].from; a < within[i].to; a++)
        for (int b = within[j].from; b < within[j].to; b++) {
            if (!*left)
                return changed;
            --*left;
            choice[i] = a;
            choice[j] = b;
            rlf_placing_look_below(e, &trial, at->period);
            if (!rlf_placing_better(&trial, at))
                continue;
            at->choice[i] = a;
            at->choice[j] = b;
            at->period = trial.period;
            at->over = trial.over;
            changed = true;
        }
    return changed;
}

/* Changes two calls that share ranks: one may have to give way before the other
 * gets better. */
static void
change_pairs(const rlf_problem *p, rlf_estimator *e,
             const rlf_mesh_span *within, rlf_placing *at)
{
    int left = PAIRS;
    bool changed;
    do {
        changed = false;
        for (int i = 0; i < p->n_calls; i++)
            for (int j = 0; j < i; j++)
                changed |= change_two(p, e, within, i, j, at, &left);
        rlf_search_descend(e, p, within, NULL, at);
    } while (changed && left);
}

/* The best that a descent, one call at a time, finds on the given ranks: from
 * each call in its fastest way; from each in that with the fewest bytes; and
 * from all calls cut alike, for each cut there is, since calls of one model
 * share weights only then, and no change of one of them alone gets there. From
 * the best of these two calls at a time. */
static void
cut(const rlf_problem *p, rlf_estimator *e, const rlf_mesh_span *within,
    rlf_placing *out)
{
    cut_from(p, e, within, false, NULL, out);
    cut_from(p, e, within, true, NULL, out);
    for (int i = 0; i < p->n_calls; i++)
        for (int k = within[i].from; k < within[i].to; k++)
            if (is_new_cut(p, within, i, k)) {
                const rlf_choice *like = &p->calls[i].choices[k];
                cut_from(p, e, within, false, like, out);
                cut_from(p, e, within, true, like, out);
            }
    change_pairs(p, e, within, out);
}

/* Returns how many calls that model calls need come before it one after
 * another. */
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

/* Updates on the last `last` ranks, all others on the `first` first ones.
 * Returns how many calls cannot run there, which stay. */
static int
separate(const rlf_problem *p, int first, int last, rlf_mesh_span *within)
{
    int stay = 0;
    for (int i = 0; i < p->n_calls; i++) {
        bool trains = p->calls[i].kind == RLF_STAGE_UPDATE;
        const rlf_mesh_span *m =
            rlf_search_mesh(&p->calls[i], trains ? p->devices - last : 0,
                            trains ? last : first);
        if (first && last && m)
            within[i] = *m;
        else
            stay++;
    }
    return stay;
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

static const double beta = 0.001, milli = 1000;

/* A cost above this is not taken behind one of `is`: the next number that is
 * drawn decides. Until something has fitted all are looked at. */
static double
limit_of(const rlf_splitmix *chance, double is, const rlf_placing *best)
{
    rlf_splitmix next = *chance;
    double drawn = rlf_splitmix_uniform(&next);
    return isfinite(best->period)
               ? (is - log(drawn) / (beta * milli)) * (1 + 1e-9)
               : INFINITY;
}

static void
real(const rlf_problem *p, rlf_estimator *e, const rlf_search_options *options,
     rlf_arena *arena, rlf_placing *out)
{
    rlf_splitmix chance = rlf_splitmix_begin(options->seed, 0);
    int *now = RLF_NEW_ARRAY(arena, int, p->n_calls);
    double is = INFINITY;
    for (int i = 0; i < p->n_calls; i++)
        for (int k = 0; k < p->calls[i].n_choices; k++)
            if (p->calls[i].choices[k].seconds <
                p->calls[i].choices[now[i]].seconds)
                now[i] = k;
    double closest = INFINITY; /* bytes, until something has fitted */
    for (int64_t move = 0; move < options->moves; move++) {
        int i = rlf_splitmix_below(&chance, p->n_calls), was = now[i];
        if (move)
            now[i] = rlf_splitmix_below(&chance, p->calls[i].n_choices);
        double over = rlf_estimate_lay(e, now), times = over > 0 ? 3 : 1;
        double period =
            rlf_estimate_laid(e, limit_of(&chance, is, out) / times);
        double cost = times * period;
        double chances = exp(-beta * milli * (cost - is));
        bool taken = cost <= is || rlf_splitmix_uniform(&chance) < chances;
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

/* The ranks that each call gets. False: a call cannot run on all ranks. */
static bool
find_spans(const rlf_problem *problem, rlf_baseline which,
           rlf_mesh_span *within)
{
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_mesh_span *all =
            rlf_search_mesh(&problem->calls[i], 0, problem->devices);
        if (!all)
            return false;
        within[i] = *all;
    }
    if (which == RLF_BASELINE_INTERLEAVE)
        interleave(problem, within);
    else if (which == RLF_BASELINE_SEPARATE)
        separate(problem, problem->devices - problem->devices / 2,
                 problem->devices - problem->devices / 2, within);
    return which != RLF_BASELINE_HEURISTIC || heuristic(problem, within);
}

/* Takes the placement for *out if it is better. */
static void
look_at(const rlf_problem *p, rlf_estimator *e, rlf_placing *at,
        rlf_placing *out)
{
    rlf_placing_look_below(e, at, out->period);
    if (rlf_placing_better(at, out))
        rlf_placing_copy(p, out, at);
}

/* The best of the cuts of all calls alike on those ranks, each call in its
 * fastest way, or in that with the fewest bytes. */
static void
look_at_cuts(const rlf_problem *p, rlf_estimator *e,
             const rlf_mesh_span *within, rlf_placing *out)
{
    int choice[MOST];
    rlf_placing at = {.choice = choice};
    out->period = out->over = INFINITY;
    for (int i = 0; i < p->n_calls; i++)
        for (int k = within[i].from; k < within[i].to; k++) {
            const rlf_choice *like = &p->calls[i].choices[k];
            for (int smallest = 0; smallest < 2 && is_new_cut(p, within, i, k);
                 smallest++) {
                for (int j = 0; j < p->n_calls; j++)
                    choice[j] =
                        start_of(&p->calls[j], &within[j], smallest, like);
                look_at(p, e, &at, out);
            }
        }
}

/* As `separate`; where no call can run on a half of the ranks, those that train
 * are on the fewest more that do, or on the most less. */
static void
start_apart(const rlf_problem *p, rlf_estimator *e, rlf_mesh_span *within,
            rlf_placing *out)
{
    int choice[MOST], half = p->devices - p->devices / 2;
    rlf_mesh_span all[MOST], other[MOST];
    rlf_placing at = {.choice = choice};
    memcpy(all, within, sizeof all);
    while (half < p->devices && separate(p, p->devices - half, half, within)) {
        half++;
        memcpy(within, all, sizeof all);
    }
    look_at_cuts(p, e, within, out);
    memcpy(other, all, sizeof all);
    if (half == p->devices || 2 * half == p->devices ||
        separate(p, half, p->devices - half, other))
        return;
    look_at_cuts(p, e, other, &at);
    if (!rlf_placing_better(&at, out))
        return;
    rlf_placing_copy(p, out, &at);
    memcpy(within, other, sizeof all);
}

void
rlf_baseline_start(const rlf_problem *p, rlf_estimator *e, rlf_baseline which,
                   rlf_placing *out)
{
    rlf_mesh_span within[MOST];
    bool apart = which == RLF_BASELINE_SEPARATE;
    out->period = out->over = INFINITY;
    if (!find_spans(p, apart ? RLF_BASELINE_FLATTEN : which, within))
        return;
    if (apart)
        start_apart(p, e, within, out);
    else
        look_at_cuts(p, e, within, out);
    rlf_search_descend(e, p, within, NULL, out);
}

void
rlf_baseline_first(const rlf_problem *problem, int n, rlf_arena *arena,
                   rlf_placing *out)
{
    rlf_estimator *e = rlf_estimator_new(problem, arena);
    rlf_mesh_span within[MOST];
    *out = (rlf_placing){.period = INFINITY, .over = INFINITY};
    out->choice = RLF_NEW_ARRAY(arena, int, problem->n_calls);
    bool any = false;
    for (int i = 0; i < problem->n_calls; i++) {
        const rlf_problem_call *call = &problem->calls[i];
        const rlf_mesh_span *there = rlf_search_mesh(call, 0, n);
        any |= there != NULL;
        if (!there && n == problem->devices)
            return;
        within[i] = there ? *there : (rlf_mesh_span){.to = call->n_choices};
    }
    if (any)
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
    if (!find_spans(problem, which, within))
        return;
    cut(problem, e, within, out);
    if (which != RLF_BASELINE_HEURISTIC)
        rlf_search_recut(e, problem, out);
}
