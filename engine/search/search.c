/* Annealing over placements: see search.h. */
#include "engine/search/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/splitmix.h"
#include "engine/base/vec.h"
#include "engine/search/less.h"

/* Of annealing with all that there is. */
enum { RESTARTS = 8, ROUNDS = 2, LOOK_EVERY = 4096 };

/* One annealing: where it is, and the best that it has seen. */
typedef struct walk {
    const rlf_problem *problem;
    rlf_estimator *e;
    rlf_splitmix chance;
    rlf_placing now;
    rlf_placing *best;
    rlf_found *found;
    const rlf_search_scope *scope;
    int ranks;          /* the first of them, on which it is */
    double memory;      /* INFINITY: it does not matter how much is left */
    rlf_placing *slack; /* per part of it that is left */
    int64_t looks;
} walk;

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

static void
copy(const rlf_problem *problem, rlf_placing *to, const rlf_placing *from)
{
    memcpy(to->choice, from->choice,
           sizeof *to->choice * (size_t)problem->n_calls);
    to->period = from->period;
    to->over = from->over;
}

/* The choices of a call where the others stay, one after the other: what is
 * known of all on the same ranks is found once. */
typedef struct neighbours {
    const rlf_estimator *e;
    const rlf_choice *last;
    rlf_others others;
    rlf_around around;
} neighbours;

static void
neighbours_begin(neighbours *n, const rlf_estimator *e, const int *choice,
                 int call)
{
    n->e = e;
    n->last = NULL;
    rlf_estimate_others(e, choice, call, &n->others);
}

/* A choice that is surely longer than `period`, or does not fit by `over` bytes
 * or more, need not be looked at; what rounding may change is looked at. */
static bool
may_be_better(neighbours *n, const rlf_choice *c, double period, double over)
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
    neighbours n;
    bool changed = false;
    neighbours_begin(&n, e, at->choice, i);
    for (int k = from; k < to; k++) {
        const rlf_choice *c = &problem->calls[i].choices[k];
        double over = (isfinite(trial.period) ? 1 : trial.over) +
                      rlf_placed_near(problem, c->first);
        if (c->first + c->count > ranks ||
            !may_be_better(&n, c, trial.period, over))
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

/* ---- those that are kept ---- */

static int
common(const rlf_choice *a, const rlf_choice *b)
{
    int from = a->first > b->first ? a->first : b->first;
    int last = a->first + a->count, other = b->first + b->count;
    int to = last < other ? last : other;
    return to > from ? to - from : 0;
}

bool
rlf_search_alike(const rlf_problem *p, const int *a, const int *b)
{
    for (int i = 0; i < p->n_calls; i++)
        for (int k = 0; k <= i; k++) {
            const rlf_choice *ci = p->calls[i].choices,
                             *ck = p->calls[k].choices;
            if (!p->calls[i].idle && !p->calls[k].idle &&
                common(&ci[a[i]], &ck[a[k]]) != common(&ci[b[i]], &ck[b[k]]))
                return false;
        }
    return true;
}

/* Keeps a placement; one that is as long as the last one that is kept came
 * later. */
static void
keep(const rlf_problem *p, const rlf_placing *at, rlf_found *out)
{
    int n = out->n_kept, to = 0;
    if (!isfinite(at->period) ||
        (n == RLF_SEARCH_KEPT && !(at->period < out->kept[n - 1].period)))
        return;
    while (to < n && out->kept[to].period <= at->period)
        if (rlf_search_alike(p, out->kept[to++].choice, at->choice))
            return;
    int last = to;
    while (last < n && !rlf_search_alike(p, out->kept[last].choice, at->choice))
        last++;
    if (last == RLF_SEARCH_KEPT)
        last--;
    out->n_kept += last == n;
    rlf_placing made = out->kept[last];
    copy(p, &made, at);
    for (; last > to; last--)
        out->kept[last] = out->kept[last - 1];
    out->kept[to] = made;
}

/* A placement with a longer period than this one is not kept. */
static double
worst(const rlf_found *found)
{
    int n = found->n_kept;
    return n == RLF_SEARCH_KEPT ? found->kept[n - 1].period : INFINITY;
}

static bool
stopped(const rlf_search_options *options, double period)
{
    return options->stop && options->stop(options->arg, period, 0);
}

/* Annealing may not have come by a placement next to one of these. True if it
 * was stopped. */
static bool
keep_neighbours(walk *w, const rlf_search_options *options)
{
    const rlf_problem *p = w->problem;
    for (int k = 0; k < w->found->n_kept; k++)
        for (int i = 0; i < p->n_calls; i++) {
            copy(p, &w->now, &w->found->kept[k]);
            neighbours n;
            neighbours_begin(&n, w->e, w->now.choice, i);
            for (int c = 0; c < p->calls[i].n_choices; c++) {
                const rlf_choice *at = &p->calls[i].choices[c];
                if (at->first + at->count > w->ranks)
                    continue;
                w->now.choice[i] = c;
                if (may_be_better(&n, at, worst(w->found), 1)) {
                    rlf_placing_look_below(w->e, &w->now, worst(w->found));
                    keep(p, &w->now, w->found);
                }
                if (w->looks++ % LOOK_EVERY == 0 &&
                    stopped(options, w->best->period))
                    return true;
            }
        }
    return false;
}

/* Placements next to those that are kept. */
static void
look_around(walk *w, const rlf_search_options *options)
{
    rlf_found *f = w->found;
    if (!f->stopped)
        f->stopped = keep_neighbours(w, options);
    if (f->n_kept && rlf_placing_better(&f->kept[0], &f->best))
        copy(w->problem, &f->best, &f->kept[0]);
}

const rlf_mesh_span *
rlf_search_mesh(const rlf_problem_call *call, int first, int count)
{
    int low = 0, high = call->n_meshes - 1;
    while (low <= high) {
        int k = (low + high) / 2;
        const rlf_mesh_span *m = &call->meshes[k];
        if (m->first == first && m->count == count)
            return m;
        if (m->first < first || (m->first == first && m->count < count))
            low = k + 1;
        else
            high = k - 1;
    }
    return NULL;
}

static int
one_of(walk *w, const rlf_mesh_span *m)
{
    return m->from + rlf_splitmix_below(&w->chance, m->to - m->from);
}

static int
any_choice(walk *w, int call)
{
    const rlf_search_scope *s = w->scope;
    return s->choices[call][rlf_splitmix_below(&w->chance, s->n[call])];
}

/* Of ten changes four move a call anywhere, two to another layout on its ranks,
 * two onto the ranks of another call, two move two calls. */
static void
change(walk *w)
{
    const rlf_problem *p = w->problem;
    int i = rlf_splitmix_below(&w->chance, p->n_calls),
        kind = rlf_splitmix_below(&w->chance, 10);
    const rlf_problem_call *call = &p->calls[i];
    int other = rlf_splitmix_below(&w->chance, p->n_calls);
    const rlf_problem_call *of = kind < 6 ? call : &p->calls[other];
    const rlf_choice *there = &of->choices[w->now.choice[of - p->calls]];
    const rlf_mesh_span *m =
        kind >= 4 && kind < 8
            ? rlf_search_mesh(call, there->first, there->count)
            : NULL;
    w->now.choice[i] = m ? one_of(w, m) : any_choice(w, i);
    if (kind < 8 || other == i)
        return;
    const rlf_choice *here = &call->choices[w->now.choice[i]];
    m = rlf_splitmix_below(&w->chance, 2)
            ? rlf_search_mesh(&p->calls[other], here->first, here->count)
            : NULL;
    w->now.choice[other] = m ? one_of(w, m) : any_choice(w, other);
}

/* A start: every call on the most ranks that it may have, in its fastest way
 * there, or each somewhere. */
static void
begin(walk *w, bool anywhere)
{
    const rlf_problem *p = w->problem;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *list = p->calls[i].choices, *best = NULL;
        if (anywhere) {
            w->now.choice[i] = any_choice(w, i);
            continue;
        }
        for (int k = 0; k < w->scope->n[i]; k++) {
            const rlf_choice *c = &list[w->scope->choices[i][k]];
            if (!best || c->count > best->count ||
                (c->count == best->count && c->first == best->first &&
                 c->seconds < best->seconds))
                best = c;
        }
        w->now.choice[i] = (int)(best - list);
    }
    rlf_placing_look(w->e, &w->now);
}

/* Of the memory that is left the part in steps of RLF_LESS_SLACK. */
static int
slack_of(const walk *w, double over)
{
    return (int)fmin(-over / w->memory / RLF_LESS_SLACK, RLF_LESS_SLACKS - 1);
}

/* At a constant temperature of 1 % of the best period a longer one is taken
 * with this chance. */
static double
chance_of(const walk *w, double loss)
{
    return exp(-loss / (0.01 * w->best->period));
}

/* The longest period with which a placement that fits is taken, kept or noted,
 * where the next number that is drawn decides what is taken; a little more. */
static double
limit_of(const walk *w, const rlf_placing *was, double over)
{
    rlf_splitmix next = w->chance;
    double drawn = rlf_splitmix_uniform(&next);
    double loss = -0.01 * w->best->period * log(drawn);
    double limit = (was->period + loss) * (1 + 1e-9);
    limit = fmax(limit, worst(w->found));
    return isfinite(w->memory) ? fmax(limit, w->slack[slack_of(w, over)].period)
                               : limit;
}

/* Looks at where it is; false: its period is longer than `limit_of`. */
static bool
look_now(walk *w, const rlf_placing *was)
{
    rlf_placing *now = &w->now;
    now->period = INFINITY;
    now->over = rlf_estimate_lay(w->e, now->choice);
    if (now->over > 0)
        return true;
    double limit =
        isfinite(was->period) ? limit_of(w, was, now->over) : INFINITY;
    now->period = rlf_estimate_laid(w->e, limit);
    return now->period <= limit;
}

/* The walk takes no placement that does not fit, but as long as none has
 * fitted it takes the one that comes closer. */
static bool
take(walk *w, const rlf_placing *was)
{
    if (!isfinite(w->now.period))
        return !isfinite(was->period) && w->now.over <= was->over;
    double loss = w->now.period - was->period;
    return !(loss > 0) || rlf_splitmix_uniform(&w->chance) < chance_of(w, loss);
}

static void
note_slack(walk *w)
{
    if (!isfinite(w->memory) || !isfinite(w->now.period))
        return;
    rlf_placing *at = &w->slack[slack_of(w, w->now.over)];
    if (w->now.period < at->period)
        copy(w->problem, at, &w->now);
}

/* Changes something, and takes that or leaves it. */
static bool
step(walk *w, const rlf_placing *was)
{
    change(w);
    w->looks++;
    if (!look_now(w, was)) {
        rlf_splitmix_uniform(&w->chance); /* as if it was looked at */
        return false;
    }
    keep(w->problem, &w->now, w->found);
    note_slack(w);
    return take(w, was);
}

static bool
anneal(walk *w, int64_t moves, const rlf_search_options *options)
{
    int n = w->problem->n_calls;
    int choice[RLF_SEARCH_CALLS];
    if (rlf_placing_better(&w->now, w->best))
        copy(w->problem, w->best, &w->now);
    for (int64_t k = 0; k < moves; k++) {
        rlf_placing was = w->now;
        memcpy(choice, w->now.choice, sizeof *choice * (size_t)n);
        if (!step(w, &was)) {
            memcpy(w->now.choice, choice, sizeof *choice * (size_t)n);
            w->now.period = was.period;
            w->now.over = was.over;
        } else if (rlf_placing_better(&w->now, w->best)) {
            copy(w->problem, w->best, &w->now);
        }
        if (k % LOOK_EVERY == 0 && stopped(options, w->best->period))
            return true;
    }
    return false;
}

/* Goes downhill from there. */
static void
descend(walk *w, const rlf_placing *from)
{
    copy(w->problem, &w->now, from);
    rlf_placing_look(w->e, &w->now);
    descend_on(w->e, w->problem, w->ranks, NULL, NULL, &w->now);
    keep(w->problem, &w->now, w->found);
    if (rlf_placing_better(&w->now, w->best))
        copy(w->problem, w->best, &w->now);
}

static void
found_begin(const rlf_problem *problem, rlf_arena *arena, rlf_found *out)
{
    size_t n = (size_t)problem->n_calls;
    *out = (rlf_found){.best = {.period = INFINITY, .over = INFINITY},
                       .here = {.period = INFINITY, .over = INFINITY}};
    out->best.choice = RLF_NEW_ARRAY(arena, int, n);
    for (int i = 0; i < RLF_SEARCH_KEPT; i++)
        out->kept[i].choice = RLF_NEW_ARRAY(arena, int, n);
}

void
rlf_search_walk(rlf_estimator *e, const rlf_problem *problem,
                const rlf_search_scope *scope,
                const rlf_search_options *options, uint32_t stream,
                const rlf_placing *starts, int n_starts, double memory,
                rlf_placing slack[RLF_LESS_SLACKS], rlf_arena *arena,
                rlf_found *out)
{
    walk w = {.problem = problem,
              .e = e,
              .best = &out->best,
              .found = out,
              .scope = scope,
              .ranks = scope->ranks,
              .memory = memory,
              .slack = slack};
    found_begin(problem, arena, out);
    w.now.choice = RLF_NEW_ARRAY(arena, int, problem->n_calls);
    w.chance = rlf_splitmix_begin(options->seed, stream);
    for (int i = 0; i < n_starts; i++)
        descend(&w, &starts[i]);
    for (int r = 0; r < scope->restarts && !out->stopped; r++) {
        if (r || !isfinite(out->best.period))
            begin(&w, r % 2);
        else
            copy(problem, &w.now, &out->best);
        out->stopped = anneal(&w, options->moves / scope->restarts, options);
        descend(&w, &out->best);
    }
    for (int i = 0; i < scope->rounds; i++)
        look_around(&w, options);
    out->looks = w.looks;
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

/* ---- the whole ---- */

typedef struct listed {
    double period, moving; /* seconds of it, and in which weights move */
    int index;
} listed;

static int
by_period(const void *p, const void *q)
{
    const listed *a = p, *b = q;
    int by = (a->period > b->period) - (a->period < b->period);
    by = by ? by : (a->moving > b->moving) - (a->moving < b->moving);
    return by ? by : (a->index > b->index) - (a->index < b->index);
}

/* The shortest of what was found with less that may be the answer, and behind
 * it the others that are kept. */
static void
choose(rlf_estimator *e, const rlf_problem *problem,
       const rlf_search_options *options, const rlf_less *less,
       rlf_arena *scratch, rlf_found *out)
{
    size_t n = less->list.count, fit = 0;
    listed *list = RLF_NEW_ARRAY(scratch, listed, n + 1);
    rlf_placing at;
    for (size_t i = 0; i < n; i++) {
        at.choice = less->list.data[i];
        rlf_placing_look(e, &at);
        if (isfinite(at.period))
            list[fit++] =
                (listed){at.period, rlf_estimate_moves(e, at.choice), (int)i};
        else if (!isfinite(out->best.period) && at.over < out->best.over)
            copy(problem, &out->best, &at);
    }
    qsort(list, fit, sizeof *list, by_period);
    bool may = false;
    for (size_t i = 0; i < fit; i++) {
        at = (rlf_placing){less->list.data[list[i].index], list[i].period, 0};
        if (!may) {
            may = !options->may || options->may(options->may_arg, &at);
            if (may)
                copy(problem, &out->best, &at);
        }
        if (may)
            keep(problem, &at, out);
    }
}

static bool
is_listed(const rlf_problem *p, const rlf_placing *list, int n,
          const int *choice)
{
    for (int i = 0; i < n; i++)
        if (memcmp(list[i].choice, choice,
                   sizeof *choice * (size_t)p->n_calls) == 0)
            return true;
    return false;
}

/* Much longer ones are no use. */
#define NEAR 1.2

/* The shortest answers with less that are not kept. */
static void
add_lesser(rlf_estimator *e, const rlf_problem *p, rlf_arena *arena,
           rlf_found *out)
{
    for (size_t i = 0; i < out->less->answers.count; i++) {
        rlf_placing at = {.choice = out->less->answers.data[i]};
        int to = out->n_lesser;
        rlf_placing_look(e, &at);
        if (!(at.period < NEAR * out->best.period) ||
            is_listed(p, out->kept, out->n_kept, at.choice) ||
            is_listed(p, out->lesser, out->n_lesser, at.choice) ||
            (to == RLF_SEARCH_LESS && out->lesser[--to].period <= at.period))
            continue;
        out->n_lesser = to + 1;
        for (; to && out->lesser[to - 1].period > at.period; to--)
            out->lesser[to] = out->lesser[to - 1];
        out->lesser[to] = at;
    }
    for (int i = 0; i < out->n_lesser; i++) {
        const int *from = out->lesser[i].choice;
        out->lesser[i].choice = RLF_NEW_ARRAY(arena, int, p->n_calls);
        memcpy(out->lesser[i].choice, from, sizeof *from * (size_t)p->n_calls);
    }
}

/* Annealing with just as much as there is. */
static void
walk_here(rlf_estimator *e, const rlf_problem *problem,
          const rlf_search_options *options, const rlf_placing *start,
          rlf_arena *arena, rlf_found *out)
{
    rlf_search_scope all = {
        .ranks = problem->devices, .restarts = RESTARTS, .rounds = ROUNDS};
    for (int i = 0; i < problem->n_calls; i++) {
        int n = problem->calls[i].n_choices;
        all.n[i] = n;
        all.choices[i] = RLF_NEW_ARRAY(arena, int, n);
        for (int k = 0; k < n; k++)
            all.choices[i][k] = k;
    }
    rlf_search_walk(e, problem, &all, options, 0, start, start ? 1 : 0,
                    INFINITY, NULL, arena, out);
}

/* Keeps a placement and the same with other cuts, unless it is shorter than the
 * answer; one that is as long, and for which weights move less, is the answer.
 */
static void
keep_longer(rlf_estimator *e, const rlf_problem *p, const rlf_placing *from,
            double least, rlf_arena *scratch, rlf_found *out)
{
    rlf_placing at = {.choice = RLF_NEW_ARRAY(scratch, int, p->n_calls)};
    copy(p, &at, from);
    for (int cut = 0; cut < 2; cut++) {
        if (cut)
            rlf_search_recut(e, p, &at);
        if (at.period < least)
            continue;
        keep(p, &at, out);
        if (at.period <= out->best.period &&
            rlf_estimate_moves(e, at.choice) <
                rlf_estimate_moves(e, out->best.choice) * (1 - 1e-9))
            copy(p, &out->best, &at);
    }
}

/* Adds others that are kept. They are looked for with just as much memory as
 * there is, so with more they may not be found: what is shorter than the answer
 * is left out, but on more ranks than those for which walks are enough. */
static void
add_others(rlf_estimator *e, const rlf_problem *p,
           const rlf_search_options *options, rlf_arena *scratch,
           rlf_found *out)
{
    rlf_found found[2];
    bool lawful = p->devices <= RLF_LESS_MANY;
    double least = lawful ? out->best.period : 0;
    walk_here(e, p, options, &out->best, scratch, &found[0]);
    rlf_search_recut(e, p, &found[0].best);
    if (found[0].best.period < least * (1 - 1e-9))
        out->here = found[0].best;
    out->stopped |= found[0].stopped;
    out->looks += found[0].looks;
    found[1] = *out;
    for (int i = 0; i < RLF_SEARCH_KEPT; i++)
        out->kept[i].choice = RLF_NEW_ARRAY(scratch, int, p->n_calls);
    out->n_kept = 0;
    for (int f = 0; f < 2; f++)
        for (int i = 0; i < found[f].n_kept; i++)
            keep_longer(e, p, &found[f].kept[i], least, scratch, out);
    keep_longer(e, p, &out->best, least, scratch, out);
    if (rlf_placing_better(&out->kept[0], &out->best))
        copy(p, &out->best, &out->kept[0]);
}

/* It was stopped, maybe before it came to all ranks: from the best so far
 * downhill. */
static void
end_soon(rlf_estimator *e, const rlf_problem *problem, rlf_arena *scratch,
         rlf_found *out)
{
    rlf_placing at = {.choice = RLF_NEW_ARRAY(scratch, int, problem->n_calls)};
    if (!isfinite(out->best.period))
        return;
    copy(problem, &at, &out->best);
    rlf_search_descend(e, problem, NULL, NULL, &at);
    keep(problem, &at, out);
    copy(problem, &out->best, &at);
}

/* The proof, and what it finds if that is proved to be the best. */
static void
prove(rlf_estimator *e, const rlf_problem *problem,
      const rlf_search_options *options, rlf_arena *arena, rlf_found *out,
      rlf_proof *proof)
{
    rlf_placing best = {.choice = RLF_NEW_ARRAY(arena, int, problem->n_calls)};
    copy(problem, &best, &out->best);
    rlf_search_branch(e, problem, options, arena, &best, proof);
    if (proof->optimal && rlf_placing_better(&best, &out->best))
        copy(problem, &out->best, &best);
}

void
rlf_search(const rlf_problem *problem, const rlf_search_options *options,
           rlf_arena *arena, rlf_found *out)
{
    rlf_arena *scratch = rlf_arena_new();
    rlf_estimator *e = rlf_estimator_new(problem, scratch);
    rlf_proof proof = {0};
    const rlf_less *less = options->less;
    if (!less) {
        rlf_less *made = RLF_NEW(arena, rlf_less);
        rlf_less_find(problem, options, arena, made);
        less = made;
    }
    found_begin(problem, arena, out);
    choose(e, problem, options, less, scratch, out);
    out->stopped = less->stopped;
    out->looks = less->looks;
    if (out->stopped)
        end_soon(e, problem, scratch, out);
    else if (isfinite(out->best.period))
        add_others(e, problem, options, arena, out);
    else
        walk_here(e, problem, options, NULL, arena, out);
    out->less = less;
    if (options->branches && !out->stopped)
        prove(e, problem, options, scratch, out, &proof);
    keep(problem, &out->best, out);
    add_lesser(e, problem, arena, out);
    out->bound = fmin(proof.bound, out->best.period);
    out->optimal = proof.optimal;
    out->stopped |= proof.stopped;
    out->looks += proof.looks;
    rlf_arena_free(scratch);
}
