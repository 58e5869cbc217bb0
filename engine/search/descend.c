/* Placements downhill: see descend.h. */
#include "engine/search/descend.h"

#include <math.h>
#include <string.h>

#include "engine/base/vec.h"

void
rlf_placing_look_below(rlf_estimator *e, rlf_placing *p, double limit)
{
    *p = (rlf_placing){p->choice, INFINITY, 0};
    if (isfinite(limit) && rlf_estimate_is_longer(e, p->choice, limit))
        return;
    p->over = rlf_estimate_lay(e, p->choice);
    p->period = p->over > 0 ? INFINITY : rlf_estimate_laid(e, limit);
}

void
rlf_placing_look(rlf_estimator *e, rlf_placing *p)
{
    rlf_placing_look_below(e, p, INFINITY);
}

bool
rlf_placing_better(const rlf_placing *a, const rlf_placing *b)
{
    if (isfinite(a->period) || isfinite(b->period))
        return a->period < b->period;
    return a->over < b->over;
}

void
rlf_placing_copy(const rlf_problem *problem, rlf_placing *to,
                 const rlf_placing *from)
{
    memcpy(to->choice, from->choice,
           sizeof *to->choice * (size_t)problem->n_calls);
    to->period = from->period;
    to->over = from->over;
}

void
rlf_neighbours_begin(rlf_neighbours *n, const rlf_estimator *e,
                     const int *choice, int call)
{
    n->e = e;
    n->last = NULL;
    rlf_estimate_others(e, choice, call, &n->others);
}

bool
rlf_neighbours_may(rlf_neighbours *n, const rlf_choice *c, double period,
                   double over)
{
    const double bytes = 1;
    double most = period * (1 + 1e-9);
    if (n->others.over >= over || c->seconds >= most)
        return false;
    if (!n->last || c->first != n->last->first || c->count != n->last->count)
        rlf_estimate_beside(n->e, &n->others, c->first, c->count, &n->around);
    n->last = c;
    return n->around.seconds + c->seconds < most &&
           rlf_estimate_least_over(n->e, &n->others, c, &n->around) <
               over + bytes;
}

/* The best choice of call i from..to - 1 on the first ranks where the others
 * stay, if it is better than the one that it has. */
static bool
descend_call(rlf_estimator *e, const rlf_problem *problem, int ranks, int i,
             int from, int to, rlf_placing *at)
{
    int best = at->choice[i];
    rlf_placing trial = *at;
    rlf_neighbours n;
    bool changed = false;
    rlf_neighbours_begin(&n, e, at->choice, i);
    for (int k = from; k < to; k++) {
        const rlf_choice *c = &problem->calls[i].choices[k];
        double over = (isfinite(trial.period) ? 1 : trial.over) +
                      rlf_placed_near(problem, c->first);
        if (c->first + c->count > ranks ||
            !rlf_neighbours_may(&n, c, trial.period, over))
            continue;
        at->choice[i] = k;
        rlf_placing_look_below(e, at, trial.period);
        if (!rlf_placing_better(at, &trial))
            continue;
        trial.period = at->period;
        trial.over = at->over;
        best = k;
        changed = true;
    }
    at->choice[i] = best;
    at->period = trial.period;
    at->over = trial.over;
    return changed;
}

/* ---- descents ---- */

/* Placements from which a descent went on, and the call whose turn it was
 * there; END: no turn changes it. */
enum { END = -1 };

struct rlf_descents {
    rlf_arena *arena;
    int n_calls;
    RLF_VEC(int) states; /* a call and the choices of all, one after another */
};

rlf_descents *
rlf_descents_new(const rlf_problem *problem, rlf_arena *arena)
{
    rlf_descents *d = RLF_NEW(arena, rlf_descents);
    d->arena = arena;
    d->n_calls = problem->n_calls;
    return d;
}

/* Has one come by there, or ended? */
static bool
came_by(const rlf_descents *d, int turn, const int *choice)
{
    size_t n = (size_t)d->n_calls;
    for (size_t i = 0; i < d->states.count; i += n + 1) {
        const int *state = &d->states.data[i];
        if ((state[0] == turn || state[0] == END) &&
            memcmp(state + 1, choice, n * sizeof *choice) == 0)
            return true;
    }
    return false;
}

static void
note_state(rlf_descents *d, int turn, const int *choice)
{
    RLF_PUSH_IN(d->arena, &d->states, turn);
    for (int i = 0; i < d->n_calls; i++)
        RLF_PUSH_IN(d->arena, &d->states, choice[i]);
}

/* On the first `ranks`. */
static bool
descend_on(rlf_estimator *e, const rlf_problem *problem, int ranks,
           const rlf_mesh_span *within, rlf_descents *before, rlf_placing *at)
{
    int n = problem->n_calls;
    bool changed = true;
    /* A call after whose turn none of the others changed has no better one. */
    for (int i = 0, still = 0; still < n; i = (i + 1) % n) {
        int from = within ? within[i].from : 0;
        int to = within ? within[i].to : problem->calls[i].n_choices;
        if (before && changed) {
            if (came_by(before, i, at->choice))
                return false;
            note_state(before, i, at->choice);
        }
        changed = descend_call(e, problem, ranks, i, from, to, at);
        still = changed ? 1 : still + 1;
    }
    if (before)
        note_state(before, END, at->choice);
    return true;
}

void
rlf_search_descend_on(rlf_estimator *e, const rlf_problem *problem, int ranks,
                      rlf_placing *at)
{
    descend_on(e, problem, ranks, NULL, NULL, at);
}

bool
rlf_search_descend(rlf_estimator *e, const rlf_problem *problem,
                   const rlf_mesh_span *within, rlf_descents *before,
                   rlf_placing *at)
{
    return descend_on(e, problem, problem->devices, within, before, at);
}

/* ---- cuts that others beat ---- */

/* Is a placement shorter than `period`, or as long with weights that move for
 * less than `moving`? */
static bool
improves(rlf_estimator *e, const rlf_placing *at, double period, double moving)
{
    static const double rounding = 1e-9;
    return at->period < period * (1 - rounding) ||
           (at->period <= period &&
            rlf_estimate_moves(e, at->choice) < moving * (1 - rounding));
}

/* The best cut of a call on the ranks that it has: of those that are as good
 * the one for which weights move least, behind which data waits. */
static bool
recut_call(rlf_estimator *e, const rlf_problem *p, int i, rlf_placing *at)
{
    const rlf_problem_call *call = &p->calls[i];
    int was = at->choice[i], best = was;
    const rlf_choice *here = &call->choices[was];
    double period = at->period, moving = rlf_estimate_moves(e, at->choice);
    for (int k = 0; k < call->n_choices + call->n_others; k++) {
        const rlf_choice *there = &call->choices[k];
        if (there->first != here->first || there->count != here->count)
            continue;
        at->choice[i] = k;
        rlf_placing_look_below(e, at, period);
        if (improves(e, at, period, moving)) {
            period = at->period;
            moving = rlf_estimate_moves(e, at->choice);
            best = k;
        }
    }
    at->choice[i] = best;
    rlf_placing_look(e, at);
    return best != was;
}

void
rlf_search_recut(rlf_estimator *e, const rlf_problem *p, rlf_placing *at)
{
    bool changed = isfinite(at->period);
    while (changed) {
        changed = false;
        for (int i = 0; i < p->n_calls; i++)
            if (p->calls[i].n_others)
                changed |= recut_call(e, p, i, at);
    }
}
