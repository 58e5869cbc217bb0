/* Words of a generation's place row: with how many samples left these are
 * gathered on few replicas (`migrate:`), and how many one of these then takes
 * (`seats:`).
 *
 * A run finds a threshold by what it sees of lengths and of the seconds of what
 * follows (engine/order/tail.c). Here the whole step is simulated, for the best
 * placements, with the distribution of lengths that it is planned for. What is
 * found has to gain with lengths of another seed too. */
#include <math.h>
#include <string.h>

#include "engine/api/searching/candidate.h"
#include "engine/search/fixed_rows.h"

/* A gain below that part of a step says nothing. */
#define WORTH 0.01

/* Thresholds, as parts of all samples. That none moves is tried before. */
static const double parts[] = {0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8};

/* Thresholds and seats that are tried on one placement. */
typedef struct sweep {
    rlf_searching *s;
    int base, call; /* of the candidates; of the problem, -1: all generations */
    rlf_search_candidate best; /* so far, at first the base */
} sweep;

static bool
is_generation(const rlf_searching *s, int call)
{
    return s->out->pareto.problem.calls[call].kind == RLF_STAGE_GENERATE;
}

/* Samples of a step that the call makes at once, at most. */
static double
samples_of(const rlf_searching *s, int call)
{
    const rlf_graph *graph = s->session->graph;
    double most = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (rlf_pareto_call_of(&s->out->pareto, node) != call)
            continue;
        int set = graph->values.data[node->outputs[0]].set;
        most = fmax(most, s->out->workload.sizes.set[set].samples);
    }
    return most;
}

/* Are responses of the call of several lengths? */
static bool
differs(const rlf_searching *s, int call)
{
    const rlf_graph *graph = s->session->graph;
    const rlf_workload *w = &s->out->workload.workload;
    bool any = false;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (rlf_pareto_call_of(&s->out->pareto, node) != call)
            continue;
        int set = graph->values.data[node->outputs[0]].set;
        double most = s->out->workload.sizes.set[set].response;
        const rlf_length_distribution *d =
            rlf_workload_responses(w, graph, set);
        any |= d && rlf_lengths_quantile(d, 0.01) <
                        fmin(rlf_lengths_quantile(d, 0.99), most);
    }
    return any;
}

/* The place row of the call among those of a candidate, or NULL. */
static rlf_place_row *
row_of(const rlf_searching *s, const rlf_search_candidate *j, int call)
{
    const rlf_pareto_call *of = &s->out->pareto.calls[call];
    for (int i = 0; i < j->n_rows; i++)
        if (j->rows[i].model == of->model && j->rows[i].call == of->class)
            return &j->rows[i];
    return NULL;
}

/* A candidate with that said of the call, or of all that have replicas. */
static rlf_search_candidate
with_words(const sweep *w, int migrate, int seats)
{
    const rlf_searching *s = w->s;
    rlf_search_candidate j = w->best;
    j.plan = NULL;
    j.simulated = false;
    j.rows = RLF_NEW_ARRAY(s->session->arena, rlf_place_row, j.n_rows);
    memcpy(j.rows, w->best.rows, sizeof *j.rows * (size_t)j.n_rows);
    for (int c = 0; c < s->out->pareto.problem.n_calls; c++) {
        rlf_place_row *row = row_of(s, &j, c);
        bool said = w->call < 0 ? is_generation(s, c) : c == w->call;
        const rlf_place_row *pin = rlf_fixed_rows_call(&s->out->pareto, c);
        if (!said || !row || row->dp < 2)
            continue;
        if (!pin || pin->migrate < 0)
            row->migrate = migrate;
        if (!pin || pin->seats < 0)
            row->seats = seats;
    }
    return j;
}

/* Simulates it; *better: it is the best so far. */
static rlf_status
try_words(sweep *w, int migrate, int seats, bool *better, rlf_err *err)
{
    rlf_searching *s = w->s;
    rlf_session_found *f = s->out;
    rlf_err none = RLF_ERR_NONE;
    *better = false;
    if (f->n_sampled == RLF_SAMPLED_POINTS || rlf_search_stopped(s, 1))
        return RLF_OK;
    if (s->options->simulating)
        s->options->simulating(s->options->search.arg, f->n_sampled + 1,
                               RLF_SAMPLED_POINTS);
    rlf_search_candidate j = with_words(w, migrate, seats);
    if (rlf_search_candidate_plan(s, &j, &none) < 0 ||
        !rlf_search_candidate_fits(&j))
        return RLF_OK;
    RLF_TRY(rlf_search_candidate_simulate(s, &j, s->options->search.seed, err));
    f->sampled[f->n_sampled++] =
        (rlf_sampled_point){w->base, w->call, migrate, seats, j.step};
    *better = j.step < w->best.step;
    if (*better)
        w->best = j;
    return RLF_OK;
}

/* A threshold with seats as the run takes them; then seats with which one, two,
 * four replicas go on. */
static rlf_status
sweep_call(sweep *w, rlf_err *err)
{
    double n = samples_of(w->s, w->call);
    const rlf_place_row *row = row_of(w->s, &w->best, w->call);
    const rlf_place_row *pin = rlf_fixed_rows_call(&w->s->out->pareto, w->call);
    bool kept = pin && pin->migrate >= 0;
    if (!row || row->dp < 2 || !isfinite(n) || n < 2 || kept)
        return RLF_OK;
    int migrate = 0, dp = row->dp;
    bool better;
    for (size_t i = 0; i < RLF_COUNT(parts); i++) {
        int at = (int)(n * parts[i] + 0.5);
        RLF_TRY(try_words(w, at, -1, &better, err));
        migrate = better ? at : migrate;
    }
    kept = pin && pin->seats >= 0;
    for (int on = 1; on < dp && migrate > 0 && !kept; on *= 2)
        RLF_TRY(try_words(w, migrate, (migrate + on - 1) / on, &better, err));
    return RLF_OK;
}

/* Does it gain with other lengths? One that is clearly behind another placement
 * is not looked at again. */
static rlf_status
gains(rlf_searching *s, const rlf_search_candidate *base,
      const rlf_search_candidate *best, bool *does, rlf_err *err)
{
    rlf_search_candidate without = *base, with = *best;
    uint64_t seed = s->options->search.seed + 1;
    *does = false;
    if (best->mean->behind || !(best->step < (1 - WORTH) * base->step))
        return RLF_OK;
    RLF_TRY(rlf_search_candidate_simulate(s, &without, seed, err));
    RLF_TRY(rlf_search_candidate_simulate(s, &with, seed, err));
    *does = with.step < (1 - WORTH / 2) * without.step;
    return RLF_OK;
}

/* "actor.generate (migrate: 40, seats: 16)" of all calls of which it is said.
 */
static const char *
words_of(const rlf_searching *s, const rlf_search_candidate *j)
{
    const rlf_pareto *f = &s->out->pareto;
    rlf_buf text = {0};
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_place_row *row = row_of(s, j, c);
        if (!row || row->migrate < 0)
            continue;
        rlf_buf_printf(&text, "%s%s (migrate: %d", text.n ? ", " : "",
                       f->problem.calls[c].name, row->migrate);
        if (row->seats > 0)
            rlf_buf_printf(&text, ", seats: %d", row->seats);
        rlf_buf_putc(&text, ')');
    }
    const char *words = rlf_arena_strdup(s->session->arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* *w: the base, and what is best of it so far. */
static rlf_status
sweep_base(sweep *w, rlf_err *err)
{
    rlf_searching *s = w->s;
    rlf_session_found *f = s->out;
    const rlf_search_candidate *from = &f->candidates[w->base];
    bool does;
    for (int c = 0; c < f->pareto.problem.n_calls; c++) {
        w->call = c;
        if (is_generation(s, c) && differs(s, c))
            RLF_TRY(sweep_call(w, err));
    }
    if (f->stopped)
        return RLF_OK;
    RLF_TRY(gains(s, from, &w->best, &does, err));
    if (!does)
        return RLF_OK;
    rlf_search_candidate *j = &f->candidates[f->n_candidates++];
    *j = w->best;
    j->name = "seats";
    j->place = 0;
    j->first = false;
    j->base = w->base;
    j->words = words_of(s, j);
    j->without = from->step;
    return RLF_OK;
}

/* ---- all ---- */

/* One of those that were simulated, whose generations have replicas, and unlike
 * those before it. */
static bool
is_base(const rlf_searching *s, int i)
{
    const rlf_session_found *f = s->out;
    const rlf_search_candidate *j = &f->candidates[i];
    bool any = false;
    if (!j->simulated || !j->rows)
        return false;
    for (int k = 0; k < i; k++) {
        const rlf_search_candidate *other = &f->candidates[k];
        if (other->simulated && other->rows &&
            !memcmp(&other->plan->digest, &j->plan->digest,
                    sizeof j->plan->digest))
            return false;
    }
    for (int c = 0; c < f->pareto.problem.n_calls; c++) {
        const rlf_place_row *row = row_of(s, j, c);
        any |= is_generation(s, c) && row && row->dp > 1 && differs(s, c);
    }
    return any;
}

/* Of all of them that no sample moves: which placement is best depends on it.
 */
static rlf_status
try_still(rlf_searching *s, sweep *list, int *n, rlf_err *err)
{
    int all = s->out->n_candidates;
    bool better;
    for (int i = 0; i < all; i++) {
        if (!is_base(s, i))
            continue;
        sweep *w = &list[(*n)++];
        *w = (sweep){
            .s = s, .base = i, .call = -1, .best = s->out->candidates[i]};
        RLF_TRY(try_words(w, 0, -1, &better, err));
    }
    return RLF_OK;
}

rlf_status
rlf_search_generations(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    rlf_arena *arena = s->session->arena;
    sweep *list = RLF_NEW_ARRAY(arena, sweep, RLF_SEARCH_CANDIDATES);
    int n = 0;
    f->sampled = RLF_NEW_ARRAY(arena, rlf_sampled_point, RLF_SAMPLED_POINTS);
    RLF_TRY(try_still(s, list, &n, err));
    for (int k = 0; k < RLF_SAMPLED_BASES && k < n && !f->stopped; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (list[i].best.step < list[best].best.step)
                best = i;
        sweep first = list[best];
        list[best] = list[k];
        list[k] = first;
        RLF_TRY(sweep_base(&list[k], err));
    }
    return RLF_OK;
}

/* Is anything said of samples that are gathered? */
static bool
has_words(const rlf_searching *s, const rlf_search_candidate *j)
{
    bool any = false;
    for (int c = 0; c < s->out->pareto.problem.n_calls; c++) {
        const rlf_place_row *row = row_of(s, j, c);
        any |= row && row->migrate >= 0;
    }
    return any;
}

rlf_status
rlf_search_generations_last(rlf_searching *s, rlf_err *err)
{
    rlf_session_found *f = s->out;
    int last = f->n_candidates - 1;
    sweep w = {.s = s, .base = last, .call = -1, .best = f->candidates[last]};
    bool better;
    if (!is_base(s, last) || has_words(s, &w.best) || f->stopped)
        return RLF_OK;
    RLF_TRY(try_words(&w, 0, -1, &better, err));
    return sweep_base(&w, err);
}
