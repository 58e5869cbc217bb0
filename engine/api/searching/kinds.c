/* Machines of several kinds: what a search finds on some of the kinds alone can
 * be placed here, too. Lanes are fixed before placements are searched, by the
 * largest mesh that may train, and walks with less are on the first machines;
 * neither looks at the other kinds by themselves. So that a kind more is never
 * worse by the estimate, all kinds but some are searched as clusters of their
 * own, and the search starts again with the lanes of one that does better. */
#include "engine/api/searching/candidate.h"
#include "engine/search/less.h"

#include <math.h>

/* Of more kinds there would be too many such clusters. */
enum { MOST_KINDS = 4 };

/* Some of the kinds, as a cluster of their own. */
typedef struct some {
    unsigned kinds; /* the parts of the search's cluster, as bits */
    rlf_searching searching;
    rlf_session_search_options options;
    rlf_session_found out;
    rlf_cluster cluster;
    const int *here; /* per rank of it the rank in the search's problem */
} some;

static int
part_of(const rlf_cluster *c, int rank)
{
    return (int)(rlf_cluster_part_of(c, rank) - c->parts);
}

/* With other lanes an update may take less of its ranks, by no more than this.
 */
#define SUMS 0.9

/* Seconds that every placement on these kinds takes at least, whatever lanes
 * there are: they change nothing but updates. */
static double
least_on(const rlf_searching *s, unsigned kinds, int ranks)
{
    const rlf_problem *p = &s->out->pareto.problem;
    double area = 0;
    for (int c = 0; c < p->n_calls; c++) {
        double least = INFINITY;
        for (int k = 0; k < p->calls[c].n_choices; k++) {
            const rlf_choice *at = &p->calls[c].choices[k];
            if (kinds >> part_of(s->ordered.cluster, at->first) & 1)
                least = fmin(least, rlf_choice_area(at, at->seconds));
        }
        if (p->calls[c].kind != RLF_STAGE_UPDATE)
            area += least;
        else if (isfinite(least))
            area += SUMS * least;
    }
    return area / ranks;
}

/* The observer sees the best so far of all. */
static bool
stop(void *arg, double period, double bound)
{
    const rlf_searching *s = arg;
    const rlf_search_options *o = &s->options->search;
    (void)period, (void)bound;
    return o->stop(o->arg, s->out->found.best.period, s->out->found.bound);
}

static bool
measuring(void *arg, double part)
{
    const rlf_searching *s = arg;
    return s->options->measuring(s->options->search.arg, part);
}

/* Fills in the cluster and where its ranks are. */
static void
take_kinds(const rlf_searching *s, unsigned kinds, some *out)
{
    const rlf_cluster *all = s->ordered.cluster;
    rlf_arena *arena = s->session->arena;
    rlf_err err = RLF_ERR_NONE;
    int *here = RLF_NEW_ARRAY(arena, int, all->ranks), n = 0;
    *out = (some){.kinds = kinds, .cluster = *all, .here = here};
    out->cluster.parts = RLF_NEW_ARRAY(arena, rlf_cluster_part, all->n_parts);
    out->cluster.n_parts = 0;
    for (int i = 0; i < all->n_parts; i++)
        if (kinds >> i & 1)
            out->cluster.parts[out->cluster.n_parts++] = all->parts[i];
    for (int r = 0; r < all->ranks; r++)
        if (kinds >> part_of(all, r) & 1)
            here[n++] = r;
    rlf_status status = rlf_cluster_number(&out->cluster, &err);
    RLF_ASSERT(status >= 0); /* it has fewer ranks */
}

/* Makes it a search of its own, without a proof and without hints. */
static void
begin(rlf_searching *s, some *of)
{
    rlf_arena *arena = s->session->arena;
    int n = of->cluster.ranks;
    int *rank_of = RLF_NEW_ARRAY(arena, int, n);
    const struct rlf_profile **profiles =
        RLF_NEW_ARRAY(arena, const struct rlf_profile *, n);
    for (int r = 0; r < n; r++) {
        rank_of[r] = s->rank_of[of->here[r]];
        if (s->ordered.profiles)
            profiles[r] = s->ordered.profiles[of->here[r]];
    }
    of->options = *s->options;
    of->options.unhinted = true;
    of->options.search.branches = 0;
    of->options.search.stop = s->options->search.stop ? stop : NULL;
    of->options.search.arg = s;
    of->options.measuring = s->options->measuring ? measuring : NULL;
    rlf_searching *t = &of->searching;
    *t = *s;
    t->options = &of->options;
    t->out = &of->out;
    t->rank_of = rank_of;
    t->ordered.cluster = &of->cluster;
    t->ordered.profiles = s->ordered.profiles ? profiles : NULL;
    t->plan.ranks = n;
    t->plan.sums = s->options->sums;
    t->weights = rlf_moves_new(&t->ordered, NULL, arena);
    t->less = NULL;
    t->least = t->lacks = 0;
    rlf_pareto_options *o = &of->out.pareto.options;
    *o = s->out->pareto.options;
    o->speeds = &t->ordered;
    o->rank_of = rank_of;
    o->plan = &t->plan;
    o->moves = t->weights;
    o->like = NULL;
    o->arg = t;
}

/* Do the kinds have the lanes, alone and with less, that there are? */
static bool
same_lanes(const rlf_searching *s, const rlf_pareto *of)
{
    const rlf_sums *has = s->out->pareto.sums, *own = of->sums;
    bool same = !of->n_lesser;
    for (size_t m = 0; m < s->session->graph->resources.count; m++)
        same &= has[m].lanes == own[m].lanes && has[m].shards == own[m].shards;
    return same;
}

/* With the lanes that there are what is on some kinds was searched before, but
 * maybe not found beside the others: this many moves, without walks on less,
 * find most of that. */
enum { SHORT_MOVES = 8000 };

static void
search_shortly(some *of)
{
    rlf_searching *t = &of->searching;
    const rlf_less none = {0};
    rlf_search_options few = of->options.search;
    rlf_search_ask ask = {t, &of->out.pareto, &t->plan, RLF_SEARCH_ASKED};
    few.less = &none;
    few.may = rlf_search_may;
    few.may_arg = &ask;
    few.moves = few.moves < SHORT_MOVES ? few.moves : SHORT_MOVES;
    rlf_search(&of->out.pareto.problem, &few, t->session->arena,
               &of->out.found);
    of->out.stopped |= of->out.found.stopped;
}

/* The one of these clusters with the shortest step, if it is shorter than what
 * there is; else NULL. */
static some *
best_kinds(rlf_searching *s)
{
    const rlf_cluster *all = s->ordered.cluster;
    double least = s->out->found.best.period * (1 - 1e-9);
    some *best = NULL;
    for (unsigned kinds = 1; kinds + 1 < 1u << all->n_parts; kinds++) {
        rlf_err ignored = RLF_ERR_NONE;
        some *of = RLF_NEW(s->session->arena, some);
        if (s->cut || s->out->stopped)
            break;
        take_kinds(s, kinds, of);
        if (least_on(s, kinds, of->cluster.ranks) >= least)
            continue;
        begin(s, of);
        rlf_status status = rlf_search_measure(&of->searching, &ignored);
        if (status >= 0 && same_lanes(s, &of->out.pareto))
            search_shortly(of);
        else if (status >= 0)
            status = rlf_search_placements(&of->searching, &ignored);
        s->cut |= of->searching.cut;
        s->out->stopped |= of->out.stopped;
        if (status >= 0 && of->out.found.best.period < least) {
            least = of->out.found.best.period;
            best = of;
        }
    }
    return best;
}

/* Its placement here; false: a call has no such choice. */
static bool
take_placing(rlf_searching *s, const some *of)
{
    const rlf_problem *p = &s->out->pareto.problem;
    const rlf_problem *from = &of->out.pareto.problem;
    rlf_placing *at = RLF_NEW(s->session->arena, rlf_placing);
    at->choice = RLF_NEW_ARRAY(s->session->arena, int, p->n_calls);
    for (int c = 0; c < p->n_calls; c++) {
        rlf_choice as = from->calls[c].choices[of->out.found.best.choice[c]];
        as.first = of->here[as.first];
        at->choice[c] = rlf_search_same_choice(&p->calls[c], &as);
        if (at->choice[c] < 0)
            return false;
    }
    rlf_placing_look(rlf_estimator_new(p, s->session->arena), at);
    s->tried = at;
    return true;
}

rlf_status
rlf_search_kinds(rlf_searching *s, rlf_err *err, bool *changed)
{
    *changed = false;
    if (!s->rank_of || s->ordered.cluster->n_parts > MOST_KINDS)
        return RLF_OK;
    some *best = best_kinds(s);
    if (!best)
        return RLF_OK;
    size_t n = s->session->graph->resources.count;
    rlf_pareto *was = RLF_NEW(s->session->arena, rlf_pareto);
    rlf_sums *sums = RLF_NEW_ARRAY(s->session->arena, rlf_sums, n);
    *was = s->out->pareto;
    for (size_t m = 0; m < n; m++)
        sums[m] = best->out.pareto.sums[m];
    rlf_pareto_options options = was->options;
    options.like = was;
    s->plan.sums = sums;
    options.plan = &s->plan;
    s->less = NULL;
    *changed = true;
    RLF_TRY(rlf_pareto_make(&options, s->session->arena, err, &s->out->pareto));
    take_placing(s, best);
    return RLF_OK;
}
