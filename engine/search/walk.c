/* Annealing over placements: see walk.h. */
#include "engine/search/walk.h"

#include <math.h>
#include <string.h>

#include "engine/search/descend.h"

enum { LOOK_EVERY = 4096 };

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

/* One that is as long as the last one that is kept came later. */
void
rlf_walk_keep(const rlf_problem *p, const rlf_placing *at, rlf_found *out)
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
    rlf_placing_copy(p, &made, at);
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
stopped(const rlf_walk *w)
{
    const rlf_search_options *o = w->options;
    return o->stop && o->stop(o->arg, w->found->best.period, 0);
}

/* True if it was stopped. */
static bool
keep_neighbours(rlf_walk *w)
{
    const rlf_problem *p = w->problem;
    for (int k = 0; k < w->found->n_kept; k++)
        for (int i = 0; i < p->n_calls; i++) {
            rlf_placing_copy(p, &w->now, &w->found->kept[k]);
            rlf_neighbours n;
            rlf_neighbours_begin(&n, w->e, w->now.choice, i);
            for (int c = 0; c < p->calls[i].n_choices; c++) {
                const rlf_choice *at = &p->calls[i].choices[c];
                if (at->first + at->count > w->scope->ranks)
                    continue;
                w->now.choice[i] = c;
                if (rlf_neighbours_may(&n, at, worst(w->found), 1)) {
                    rlf_placing_look_below(w->e, &w->now, worst(w->found));
                    rlf_walk_keep(p, &w->now, w->found);
                }
                if (w->found->looks++ % LOOK_EVERY == 0 && stopped(w))
                    return true;
            }
        }
    return false;
}

void
rlf_walk_around(rlf_walk *w)
{
    rlf_found *f = w->found;
    if (!f->stopped)
        f->stopped = keep_neighbours(w);
    if (f->n_kept && rlf_placing_better(&f->kept[0], &f->best))
        rlf_placing_copy(w->problem, &f->best, &f->kept[0]);
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
one_of(rlf_walk *w, const rlf_mesh_span *m)
{
    return m->from + rlf_splitmix_below(&w->chance, m->to - m->from);
}

static int
any_choice(rlf_walk *w, int call)
{
    const rlf_search_scope *s = w->scope;
    return s->choices[call][rlf_splitmix_below(&w->chance, s->n[call])];
}

/* Of ten changes four move a call anywhere, two to another layout on its ranks,
 * two onto the ranks of another call, two move two calls. */
static void
change(rlf_walk *w)
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

static void
start_anywhere(rlf_walk *w)
{
    for (int i = 0; i < w->problem->n_calls; i++)
        w->now.choice[i] = any_choice(w, i);
}

static void
start_fastest(rlf_walk *w)
{
    const rlf_problem *p = w->problem;
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *list = p->calls[i].choices, *best = NULL;
        for (int k = 0; k < w->scope->n[i]; k++) {
            const rlf_choice *c = &list[w->scope->choices[i][k]];
            if (!best || c->count > best->count ||
                (c->count == best->count && c->first == best->first &&
                 c->seconds < best->seconds))
                best = c;
        }
        w->now.choice[i] = (int)(best - list);
    }
}

/* Of the memory that is left the part in steps of RLF_LESS_SLACK. */
static int
slack_of(const rlf_walk *w, double over)
{
    return (int)fmin(-over / w->memory / RLF_LESS_SLACK, RLF_LESS_SLACKS - 1);
}

/* At a constant temperature of 1 % of the best period a longer one is taken
 * with this chance. */
static double
chance_of(const rlf_walk *w, double loss)
{
    return exp(-loss / (0.01 * w->found->best.period));
}

/* The longest period with which a placement that fits is taken, kept or noted,
 * where the next number that is drawn decides what is taken; a little more. */
static double
limit_of(const rlf_walk *w, const rlf_placing *was, double over)
{
    rlf_splitmix next = w->chance;
    double drawn = rlf_splitmix_uniform(&next);
    double loss = -0.01 * w->found->best.period * log(drawn);
    double limit = (was->period + loss) * (1 + 1e-9);
    limit = fmax(limit, worst(w->found));
    return isfinite(w->memory) ? fmax(limit, w->slack[slack_of(w, over)].period)
                               : limit;
}

/* Looks at where it is; false: its period is longer than `limit_of`. */
static bool
look_now(rlf_walk *w, const rlf_placing *was)
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
take(rlf_walk *w, const rlf_placing *was)
{
    if (!isfinite(w->now.period))
        return !isfinite(was->period) && w->now.over <= was->over;
    double loss = w->now.period - was->period;
    return !(loss > 0) || rlf_splitmix_uniform(&w->chance) < chance_of(w, loss);
}

static void
note_slack(rlf_walk *w)
{
    if (!isfinite(w->memory) || !isfinite(w->now.period))
        return;
    rlf_placing *at = &w->slack[slack_of(w, w->now.over)];
    if (w->now.period < at->period)
        rlf_placing_copy(w->problem, at, &w->now);
}

/* Changes something, and takes that or leaves it. */
static bool
step(rlf_walk *w, const rlf_placing *was)
{
    change(w);
    w->found->looks++;
    if (!look_now(w, was)) {
        rlf_splitmix_uniform(&w->chance); /* as if it was looked at */
        return false;
    }
    rlf_walk_keep(w->problem, &w->now, w->found);
    note_slack(w);
    return take(w, was);
}

/* Remembers where it is, if that is the best. */
static void
note_best(rlf_walk *w)
{
    if (rlf_placing_better(&w->now, &w->run))
        rlf_placing_copy(w->problem, &w->run, &w->now);
    if (rlf_placing_better(&w->now, &w->found->best))
        rlf_placing_copy(w->problem, &w->found->best, &w->now);
}

static void
begin(rlf_walk *w, rlf_walk_start start)
{
    if (start == RLF_WALK_BEST && isfinite(w->found->best.period))
        rlf_placing_copy(w->problem, &w->now, &w->found->best);
    else if (start == RLF_WALK_ANYWHERE)
        start_anywhere(w);
    else
        start_fastest(w);
    rlf_placing_look(w->e, &w->now);
    w->run.period = w->run.over = INFINITY;
    note_best(w);
}

void
rlf_walk_anneal(rlf_walk *w, rlf_walk_start start, int64_t moves)
{
    int n = w->problem->n_calls;
    int choice[RLF_SEARCH_CALLS];
    begin(w, start);
    for (int64_t k = 0; k < moves && !w->found->stopped; k++) {
        rlf_placing was = w->now;
        memcpy(choice, w->now.choice, sizeof *choice * (size_t)n);
        if (!step(w, &was)) {
            memcpy(w->now.choice, choice, sizeof *choice * (size_t)n);
            w->now.period = was.period;
            w->now.over = was.over;
        } else {
            note_best(w);
        }
        if (k % LOOK_EVERY == 0)
            w->found->stopped = stopped(w);
    }
}

void
rlf_walk_descend(rlf_walk *w, const rlf_placing *from)
{
    rlf_placing_copy(w->problem, &w->now, from);
    rlf_placing_look(w->e, &w->now);
    rlf_search_descend_on(w->e, w->problem, w->scope->ranks, &w->now);
    rlf_walk_keep(w->problem, &w->now, w->found);
    note_slack(w);
    note_best(w);
}

void
rlf_walk_found(const rlf_problem *problem, rlf_arena *arena, rlf_found *out)
{
    size_t n = (size_t)problem->n_calls;
    *out = (rlf_found){.best = {.period = INFINITY, .over = INFINITY},
                       .here = {.period = INFINITY, .over = INFINITY}};
    out->best.choice = RLF_NEW_ARRAY(arena, int, n);
    for (int i = 0; i < RLF_SEARCH_KEPT; i++)
        out->kept[i].choice = RLF_NEW_ARRAY(arena, int, n);
}

void
rlf_walk_begin(rlf_walk *w, uint32_t stream, rlf_arena *arena)
{
    size_t n = (size_t)w->problem->n_calls;
    w->chance = rlf_splitmix_begin(w->options->seed, stream);
    w->now.choice = RLF_NEW_ARRAY(arena, int, n);
    w->run.choice = RLF_NEW_ARRAY(arena, int, n);
    w->run.period = w->run.over = INFINITY;
}
