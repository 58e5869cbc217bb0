/* Steps on average: see mean_step.h. */
#include "engine/api/simulating/mean_step.h"

#include "engine/order/answer.h"

/* A mean in the making. */
typedef struct making {
    const rlf_mean_step *best; /* NULL: nothing is given up */
    rlf_mean_step *mean;
    uint32_t warm, steps;
    int kind;                /* that is simulated */
    double behind;           /* seconds behind the best, when it was given up */
    rlf_account *account;    /* per kind */
    rlf_step_counts *counts; /* per kind */
} making;

/* ---- kinds ---- */

static bool
is_part(const rlf_step_kind *kinds, int of, int part)
{
    return part < of && kinds[of].number % kinds[part].number == 0;
}

/* Of 1 second of a step of a kind, the part that the blocks share which make
 * it. */
static double
part_of(const rlf_step_kind *kind)
{
    return kind->number ? 1 / (double)kind->number : 1;
}

/* One kind for all steps, where all are alike; none whose blocks take no
 * time. */
static void
find_kinds(const rlf_graph *graph, rlf_arena *arena, rlf_mean_step *m)
{
    rlf_step_kind *all;
    int n = rlf_step_kinds(graph, arena, &all);
    m->kinds = RLF_NEW_ARRAY(arena, rlf_step_kind, n + 1);
    for (int i = 0; i < n; i++)
        if (!all[i].empty)
            m->kinds[m->n++] = all[i];
    m->n += !n;
    m->took = RLF_NEW_ARRAY(arena, double *, m->n);
}

/* Seconds of the kind's first n steps, on average. */
static double
mean_of(const rlf_mean_step *m, int kind, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += m->took[kind][i];
    return sum / n;
}

/* Seconds that the kind's own blocks add, by its first n steps. */
static double
added_by(const rlf_mean_step *m, int kind, uint32_t n)
{
    double added = mean_of(m, kind, n);
    for (int k = 0; k < kind; k++)
        if (is_part(m->kinds, kind, k))
            added -= m->kinds[k].added;
    return added;
}

/* ---- who is behind ---- */

/* Seconds of a step by which it is behind the best, by the kinds that were
 * simulated and n steps of the one that is. */
static double
lag(const making *w, uint32_t n)
{
    const rlf_mean_step *m = w->mean, *best = w->best;
    const rlf_step_kind *of = m->kinds;
    double seconds = (added_by(m, w->kind, n) - added_by(best, w->kind, n)) *
                     part_of(&of[w->kind]);
    for (int k = 0; k < w->kind; k++)
        seconds += (of[k].added - best->kinds[k].added) * part_of(&of[k]);
    return seconds;
}

/* Is it behind even if its blocks that are still to come take no time? */
static bool
is_behind(const making *w, uint32_t n)
{
    double seconds = lag(w, n);
    for (int k = w->kind + 1; k < w->mean->n; k++)
        seconds -= w->best->kinds[k].added * part_of(&w->mean->kinds[k]);
    return seconds > RLF_MEAN_STEP_BEHIND / n * w->best->step;
}

static bool
give_up(void *self, const rlf_simulated *so_far)
{
    making *w = self;
    uint32_t n = so_far->steps - w->warm;
    bool all = n == w->steps && w->kind == w->mean->n - 1;
    const double *ends = &so_far->ends[w->warm];
    w->mean->took[w->kind][n - 1] = ends[n - 1] - ends[(int)n - 2];
    if (all || !w->best || !is_behind(w, n))
        return false;
    w->mean->behind = true;
    w->behind = lag(w, n);
    return true;
}

/* ---- all ---- */

static rlf_status
simulate_kind(making *w, rlf_trial *t, rlf_simulate_options *options,
              rlf_arena *kept, rlf_err *err)
{
    rlf_mean_step *m = w->mean;
    rlf_step_kind *kind = &m->kinds[w->kind];
    options->number = kind->number;
    m->took[w->kind] = RLF_NEW_ARRAY(kept, double, options->steps);
    RLF_TRY(rlf_trial_simulate(t, options, err));
    m->steps = t->out.steps - w->warm;
    kind->seconds = mean_of(m, w->kind, m->steps);
    kind->added = added_by(m, w->kind, m->steps);
    w->account[w->kind] = t->account;
    w->counts[w->kind] = rlf_simulated_counts(&t->out, w->warm);
    const rlf_graph *graph = t->plan->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        uint64_t interval = rlf_answer_interval(graph, &graph->nodes.data[i]);
        if (kind->number && interval != kind->number)
            continue;
        m->calls[i] = t->account.calls[i];
        m->paged[i] = t->out.paged[i];
    }
    m->done++;
    return RLF_OK;
}

/* By how much a second more in steps of the kind makes a step longer, of those
 * kinds that were simulated. */
static double
weight_of(const rlf_mean_step *m, int kind, rlf_arena *arena)
{
    rlf_step_kind *kinds = RLF_NEW_ARRAY(arena, rlf_step_kind, m->done);
    if (!m->kinds[0].number)
        return 1;
    for (int k = 0; k < m->done; k++) {
        kinds[k] = m->kinds[k];
        kinds[k].seconds = k == kind;
    }
    return rlf_step_kinds_mean(kinds, m->done);
}

static void
add_up(const making *w, rlf_arena *arena)
{
    rlf_mean_step *m = w->mean;
    double tokens = 0, trained = 0, idle = 0, step = 0;
    for (int k = 0; k < m->done; k++) {
        const rlf_account *a = &w->account[k];
        double weight = weight_of(m, k, arena);
        step += weight * m->kinds[k].seconds;
        tokens += weight * w->counts[k].tokens;
        trained += weight * w->counts[k].trained;
        idle += weight * a->idle * a->step;
        for (int i = 0; i < RLF_SPENTS; i++)
            m->spent[i] += weight * a->all[i];
    }
    m->tokens = (tokens > 0 ? tokens : trained) / step;
    m->idle = idle / step;
    m->step = step;
    if (!m->behind)
        return;
    m->step = w->best->step + w->behind;
    m->tokens = w->best->tokens * w->best->step / m->step;
}

rlf_status
rlf_mean_step_make(rlf_trial *t, const rlf_trial_options *o,
                   const rlf_mean_step *best, rlf_arena *kept, rlf_err *err,
                   rlf_mean_step **out)
{
    const rlf_graph *graph = t->plan->graph;
    rlf_simulate_options options;
    rlf_mean_step *m = *out = RLF_NEW(kept, rlf_mean_step);
    *m = (rlf_mean_step){
        .calls = RLF_NEW_ARRAY(kept, double, graph->nodes.count),
        .paged = RLF_NEW_ARRAY(kept, rlf_page_waits, graph->nodes.count)};
    find_kinds(graph, kept, m);
    making w = {.best = best,
                .mean = m,
                .warm = o->warm,
                .steps = o->steps,
                .account = RLF_NEW_ARRAY(t->arena, rlf_account, m->n),
                .counts = RLF_NEW_ARRAY(t->arena, rlf_step_counts, m->n)};
    RLF_TRY(rlf_trial_prepare(t, o, err, &options));
    options.arg = &w;
    options.enough = give_up;
    for (; w.kind < m->n && !m->behind; w.kind++)
        RLF_TRY(simulate_kind(&w, t, &options, kept, err));
    add_up(&w, t->arena);
    return RLF_OK;
}
