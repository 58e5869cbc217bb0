/* Lanes that the program would have on fewer ranks, or with less memory, where
 * they are others than here: what is found with them there can be placed here
 * too. So that more is never worse by the estimate, the search starts again
 * with those that do better than what it has found. Those of half of the ranks
 * are tried on all of them, because two models may be trained on a half each.
 *
 * Lanes decide sums, so they are fixed while placements are searched; this is
 * the one place where several are compared by what all calls take. */
#include "engine/api/searching/candidate.h"
#include "engine/search/less.h"

#include <math.h>

/* Plan options of candidates with these lanes (per resource; 0: as they are),
 * and the shards that all have. */
static rlf_plan_options
plan_with(const rlf_searching *s, const int *lanes, rlf_arena *arena)
{
    const rlf_pareto *f = &s->out->pareto;
    size_t n = s->session->graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, n);
    rlf_plan_options plan = s->plan;
    for (size_t m = 0; m < n; m++) {
        sums[m] = f->sums[m];
        if (lanes[m])
            sums[m].lanes = lanes[m];
    }
    plan.sums = sums;
    return plan;
}

/* Lanes with which a short search is that many times as long as the step to
 * beat are given up. */
#define NEAR 1.05
/* ... unless what the search has found is that much longer with them. */
#define ALIKE 1.01
enum { SHORT_MOVES = 8000 };
/* And with this many times the step, if as many placements are looked at as in
 * the search. */
#define NEARER 1.01

/* The program with the lanes of `less`, in an arena of its own. */
typedef struct trial {
    rlf_arena *arena;
    rlf_plan_options plan;
    rlf_pareto pareto;
    rlf_placing best;
    const rlf_less *less;
    double period; /* the best on its ranks, and those they halve to */
} trial;

/* Lanes of half of the ranks are tried on all. Others are not: where ranks do
 * not halve the estimate is too short for placements that divide them. */
static int
ranks_of_trial(const rlf_searching *s, const rlf_pareto_lesser *less)
{
    int all = s->plan.ranks;
    return 2 * less->ranks == all ? all : less->ranks;
}

/* The best of so many placements, without walks on less. */
static double
look_at_moves(const rlf_problem *problem, const rlf_search_options *options,
              int64_t moves, rlf_arena *arena)
{
    const rlf_less none = {0};
    rlf_search_options few = *options;
    rlf_found found;
    few.less = &none;
    few.may = NULL;
    few.moves = moves;
    rlf_search(problem, &few, arena, &found);
    return found.best.period;
}

static bool
is_near(const rlf_problem *problem, const rlf_search_options *options,
        double least, rlf_arena *arena)
{
    int64_t all = options->moves;
    bool many = all > SHORT_MOVES;
    return look_at_moves(problem, options, many ? SHORT_MOVES : all, arena) <
               NEAR * least &&
           (!many ||
            look_at_moves(problem, options, all, arena) < NEARER * least);
}

/* ---- what is found already ---- */

int
rlf_search_same_choice(const rlf_problem_call *call, const rlf_choice *as)
{
    const rlf_mesh_span *m = rlf_search_mesh(call, as->first, as->count);
    for (int k = m ? m->from : 0; m && k < m->to; k++) {
        const rlf_choice *at = &call->choices[k];
        if (at->tp == as->tp && at->pp == as->pp && at->dp == as->dp &&
            at->variant == as->variant)
            return k;
    }
    return -1;
}

/* Puts the shortest of what the search has found in `best`, in the problem of
 * other lanes. With more memory that are never fewer; a short search looks
 * where just as much fits as there is, so with more it may find less. */
static void
find_same(const rlf_searching *s, const rlf_problem *p, rlf_arena *arena,
          rlf_placing *best)
{
    const rlf_problem *of = &s->out->pareto.problem;
    rlf_estimator *e = rlf_estimator_new(p, arena);
    rlf_placing at = {.choice = RLF_NEW_ARRAY(arena, int, p->n_calls)};
    *best = (rlf_placing){.period = INFINITY, .over = INFINITY};
    best->choice = RLF_NEW_ARRAY(arena, int, p->n_calls);
    for (size_t i = 0; s->less && i < s->less->list.count; i++) {
        bool all = true;
        for (int c = 0; c < p->n_calls && all; c++) {
            int k = s->less->list.data[i][c];
            at.choice[c] =
                rlf_search_same_choice(&p->calls[c], &of->calls[c].choices[k]);
            all = at.choice[c] >= 0;
        }
        if (!all)
            continue;
        rlf_placing_look(e, &at);
        if (!rlf_placing_better(&at, best))
            continue;
        rlf_placing was = *best;
        *best = at;
        at.choice = was.choice;
    }
}

/* ---- what need not be measured ---- */

/* Fewer lanes make an update a little faster on the same layout, since ranks
 * sum fewer of them: by no more than this. */
#define SUMS 1.01

/* The choices of a call on the first ranks, and of an update those whose
 * replicas have a lane each, as if they took no memory but for the weights. */
static void
take_choices(const rlf_problem_call *from, int ranks, int lanes,
             rlf_arena *arena, rlf_problem_call *to)
{
    bool update = from->kind == RLF_STAGE_UPDATE;
    to->choices = RLF_NEW_ARRAY(arena, rlf_choice, from->n_choices);
    to->n_choices = to->n_others = 0;
    for (int k = 0; k < from->n_choices; k++) {
        rlf_choice at = from->choices[k];
        if (at.first + at.count > ranks || (update && at.dp > lanes))
            continue;
        if (update)
            at.own = at.work = at.lends = 0;
        to->choices[to->n_choices++] = at;
    }
}

/* The problem with fewer lanes, by the choices that were measured with those
 * that there are. False: it has choices that were not, or none for a call. */
static bool
relax(const rlf_searching *s, const rlf_pareto_lesser *less, rlf_arena *arena,
      rlf_problem *out)
{
    const rlf_pareto *f = &s->out->pareto;
    const rlf_problem *p = &f->problem;
    rlf_err ignored = RLF_ERR_NONE;
    *out = *p;
    out->devices = ranks_of_trial(s, less);
    out->machine = 0;
    out->calls = RLF_NEW_ARRAY(arena, rlf_problem_call, p->n_calls);
    for (int c = 0; c < p->n_calls; c++) {
        int model = f->calls[c].model, has = f->sums[model].lanes;
        int lanes = less->lanes[model] ? less->lanes[model] : has;
        out->calls[c] = p->calls[c];
        take_choices(&p->calls[c], out->devices, lanes, arena, &out->calls[c]);
        if (!out->calls[c].n_choices ||
            (lanes > has && p->calls[c].kind == RLF_STAGE_UPDATE))
            return false;
    }
    return rlf_problem_close(out, arena, &ignored) >= 0;
}

/* The observer sees the best so far, and no step of a problem that is none. */
static bool
stop_relaxed(void *arg, double period, double bound)
{
    const rlf_searching *s = arg;
    const rlf_search_options *o = &s->options->search;
    (void)period, (void)bound;
    return o->stop(o->arg, s->out->found.best.period, s->out->found.bound);
}

/* Is it known, without that its updates are measured, that these lanes are
 * given up? */
static bool
is_hopeless(rlf_searching *s, const rlf_pareto_lesser *less, double least)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_problem relaxed;
    rlf_search_options options = s->options->search;
    options.branches = 0;
    options.stop = options.stop ? stop_relaxed : NULL;
    options.arg = s;
    bool near = !relax(s, less, arena, &relaxed);
    if (!near) {
        rlf_placing same;
        find_same(s, &relaxed, arena, &same);
        near = same.period < ALIKE * SUMS * least ||
               is_near(&relaxed, &options, least * SUMS, arena);
    }
    rlf_arena_free(arena);
    return !near;
}

/* ---- trials ---- */

/* `least`: the step to beat. */
static trial *
try_lanes(rlf_searching *s, const rlf_pareto_lesser *less, double least)
{
    rlf_arena *arena = rlf_arena_new();
    trial *t = RLF_NEW(arena, trial);
    rlf_pareto_options options = s->out->pareto.options;
    rlf_search_options search = s->options->search;
    rlf_err err = RLF_ERR_NONE;
    *t = (trial){arena, plan_with(s, less->lanes, arena), .period = INFINITY};
    t->plan.ranks = ranks_of_trial(s, less);
    options.plan = &t->plan;
    options.like = &s->out->pareto;
    search.branches = 0;
    if (rlf_pareto_make(&options, arena, &err, &t->pareto) >= 0) {
        rlf_found found;
        rlf_placing same;
        rlf_search_ask ask = {s, &t->pareto, &t->plan, RLF_SEARCH_ASKED};
        search.may = rlf_search_may;
        search.may_arg = &ask;
        t->pareto.problem.memory = s->out->pareto.problem.memory;
        find_same(s, &t->pareto.problem, arena, &same);
        if (same.period >= ALIKE * least &&
            !is_near(&t->pareto.problem, &search, least, arena))
            return t;
        rlf_search(&t->pareto.problem, &search, arena, &found);
        t->best = found.best;
        if (rlf_placing_better(&same, &t->best) && rlf_search_may(&ask, &same))
            t->best = same;
        t->less = found.less;
        t->period = t->best.period;
    }
    return t;
}

static void
end_trial(trial *t)
{
    if (t)
        rlf_arena_free(t->arena);
}

/* No placement on so many ranks is shorter: lanes change nothing but updates.
 */
static double
least_on(const rlf_problem *p, int ranks)
{
    double area = 0;
    for (int c = 0; c < p->n_calls; c++)
        if (p->calls[c].kind != RLF_STAGE_UPDATE)
            area += p->calls[c].area;
    return area / ranks;
}

/* The one of the lanes that do best, or NULL: those there are do. */
static trial *
best_lanes(rlf_searching *s, const rlf_pareto_lesser **best)
{
    const rlf_pareto *f = &s->out->pareto;
    double least = s->out->found.best.period * (1 - 1e-9);
    trial *kept = NULL;
    for (int i = 0; i < f->n_lesser && !s->cut && !s->out->stopped; i++) {
        const rlf_pareto_lesser *less = &f->lesser[i];
        if (least_on(&f->problem, ranks_of_trial(s, less)) >= least ||
            is_hopeless(s, less, least))
            continue;
        trial *now = try_lanes(s, less, least);
        if (now->period < least) {
            trial *last = kept;
            least = now->period;
            *best = less;
            kept = now;
            now = last;
        }
        end_trial(now);
    }
    return kept;
}

static void
free_arena(void *arena)
{
    rlf_arena_free(arena);
}

/* The problem of a trial on all ranks is that of the search. */
static void
take_problem(rlf_searching *s, const trial *t)
{
    rlf_pareto *f = &s->out->pareto;
    rlf_arena_defer(s->session->arena, free_arena, t->arena);
    *f = t->pareto;
    f->problem.arg = f;
    f->options.plan = &s->plan;
}

rlf_status
rlf_search_lanes(rlf_searching *s, rlf_err *err, bool *changed)
{
    rlf_pareto *f = &s->out->pareto;
    const rlf_pareto_lesser *best = NULL;
    trial *t = best_lanes(s, &best);
    *changed = t != NULL;
    if (!t)
        return RLF_OK;
    rlf_pareto *was = RLF_NEW(s->session->arena, rlf_pareto);
    *was = *f;
    rlf_pareto_options options = was->options;
    options.like = was;
    int ranks = s->plan.ranks;
    s->plan = plan_with(s, best->lanes, s->session->arena);
    if (t->plan.ranks == ranks) {
        take_problem(s, t);
        f->options.like = was;
        s->tried = &t->best;
        s->less = t->less;
        return RLF_OK;
    }
    end_trial(t);
    s->less = NULL;
    return rlf_pareto_make(&options, s->session->arena, err, f);
}

rlf_status
rlf_search_fewest_lanes(rlf_searching *s, rlf_err *err, bool *changed)
{
    rlf_pareto *f = &s->out->pareto;
    *changed = false;
    for (size_t m = 0; m < s->session->graph->resources.count; m++)
        *changed |= f->fewest[m] && f->fewest[m] < f->sums[m].lanes;
    if (!*changed)
        return RLF_OK;
    rlf_pareto *was = RLF_NEW(s->session->arena, rlf_pareto);
    *was = *f;
    s->plan = plan_with(s, was->fewest, s->session->arena);
    rlf_pareto_options options = was->options;
    options.like = was;
    s->less = NULL;
    RLF_TRY(rlf_pareto_make(&options, s->session->arena, err, f));
    f->problem.memory = was->problem.memory;
    return RLF_OK;
}
