/* The search for where everything runs best on a session's cluster: the table
 * of placements, those of others and the one that was found, and what decided,
 * in comments. */
#include "engine/api/reporting/texts.h"

#include "engine/api/searching/auto.h"
#include "engine/api/searching/candidate.h"
#include "engine/base/clock.h"
#include "engine/search/fixed_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the table ---- */

static void
put_row(const rlf_search_candidate *j, rlf_buf *out)
{
    const rlf_mean_step *m = j->mean;
    char step[32] = "";
    if (j->simulated)
        snprintf(step, sizeof step, "%.4g%s", j->step, m->behind ? "~" : "");
    rlf_buf_printf(out, "# %-11s", j->name);
    if (!j->is_known)
        rlf_buf_printf(out, " %9s", "?");
    else if (isfinite(j->placing.period))
        rlf_buf_printf(out, " %9.4g", j->placing.period);
    else
        rlf_buf_printf(out, " %9s",
                       isfinite(j->placing.over) ? "no room" : "no layout");
    if (j->simulated)
        rlf_buf_printf(out, " %9s %9.4g %6.1f %% %8.2f %8.4g %8.4g %8.4g %8.4g",
                       step, m->tokens, 100 * m->idle, j->memory / 1e9,
                       m->spent[RLF_SPENT_GENERATE], m->spent[RLF_SPENT_READ],
                       m->spent[RLF_SPENT_TRAIN],
                       m->spent[RLF_SPENT_MESSAGES] +
                           m->spent[RLF_SPENT_WEIGHTS]);
    else if (j->memory > 0 && j->fill > 1)
        rlf_buf_printf(out, " %9s %9s %8s %8.2f", "no room", "", "",
                       j->memory / 1e9);
    else if (j->memory > 0)
        rlf_buf_printf(out, " %9s %9s %8s %8.2f", "", "", "", j->memory / 1e9);
    rlf_buf_putc(out, '\n');
}

/* The search's own that is best. */
static const rlf_search_candidate *
own_best(const rlf_session_found *f)
{
    const rlf_search_candidate *best = &f->candidates[0];
    for (int i = 1; i < f->n_candidates && f->candidates[i].place; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        if (j->simulated && (!best->simulated || j->step < best->step))
            best = j;
    }
    return best;
}

/* Writes that the simulation puts the search's placements in another order. */
static void
put_order(const rlf_session_found *f, rlf_buf *out)
{
    const rlf_search_candidate *order[RLF_SEARCH_CANDIDATES];
    int n = 0;
    bool other = false;
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        int at = n;
        if (!j->place || !j->simulated)
            continue;
        for (; at && order[at - 1]->step > j->step; at--)
            order[at] = order[at - 1];
        order[at] = j;
        n++;
    }
    for (int i = 1; i < n; i++)
        other |= order[i]->place < order[i - 1]->place;
    if (n < 2)
        return;
    rlf_buf_printf(
        out, "# the %d best ways to place calls by the estimate were simulated",
        n);
    if (!other) {
        rlf_buf_printf(out, ": in the same order\n");
        return;
    }
    rlf_buf_printf(out, ", which\n# puts them in another order:");
    for (int i = 0; i < n; i++)
        rlf_buf_printf(out, " %d", order[i]->place);
    if (order[0]->place != 1 && f->candidates[0].simulated)
        rlf_buf_printf(out, "; number 1 takes %.4g s, number %d %.4g s",
                       f->candidates[0].step, order[0]->place, order[0]->step);
    rlf_buf_putc(out, '\n');
}

/* The shortest by the estimate of those that the table has: simulations find
 * some that the search did not come by. */
static double
least_estimate(const rlf_session_found *f)
{
    double least = f->found.best.period;
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        if (j->is_known && rlf_search_candidate_fits(j))
            least = fmin(least, j->placing.period);
    }
    return least;
}

static void
put_proof(const rlf_session_found *f, rlf_buf *out)
{
    const rlf_found *found = &f->found;
    const rlf_search_candidate *best = f->best;
    double least = least_estimate(f), bound = fmin(found->bound, least);
    double answer = best && best->is_known && isfinite(best->placing.period)
                        ? best->placing.period
                        : found->best.period;
    if (found->optimal)
        rlf_buf_printf(
            out,
            "# by the estimate no placement of those searched is shorter "
            "than %.4g s\n",
            least);
    else if (bound > 0)
        rlf_buf_printf(
            out,
            "# by the estimate none of those searched is shorter by more "
            "than %.1f %% than the answer\n",
            100 * fmax(0, 1 - bound / answer));
    else
        rlf_buf_printf(out,
                       "# nothing is proved of how short a step could be\n");
    if (f->stopped)
        rlf_buf_printf(out,
                       "# stopped: seed and moves do not give this again\n");
    rlf_buf_printf(out, "# %" PRId64 " placement%s looked at\n", found->looks,
                   found->looks == 1 ? "" : "s");
    if (f->pareto.some)
        rlf_buf_printf(
            out,
            "# of more than %d machines only some runs are looked at: powers "
            "of two, three times these, halves to eighths\n",
            RLF_PARETO_RUNS);
}

/* Devices on which the answer has no call of a model. */
static void
put_unused(const rlf_session *s, const rlf_plan *plan, rlf_buf *out)
{
    bool *used = RLF_NEW_ARRAY(s->arena, bool, plan->ranks);
    int unused = plan->ranks;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_layout *l = &plan->place[i].layout;
        if (!rlf_place_can(&s->graph->nodes.data[i]))
            continue;
        for (int k = 0; k < l->n_ranks; k++) {
            unused -= !used[l->ranks[k]];
            used[l->ranks[k]] = true;
        }
    }
    if (unused)
        rlf_buf_printf(out, "# %d of %d devices %s unused\n", unused,
                       plan->ranks, unused == 1 ? "is" : "are");
}

/* "search-2": a placement that is the base of others. */
static const char *
base_name(const rlf_session_found *f, int base, rlf_arena *arena)
{
    const rlf_search_candidate *j = &f->candidates[base];
    return j->place ? rlf_arena_printf(arena, "search-%d", j->place) : j->name;
}

/* The best of those that are another one with other words, by its name. */
static void
put_changed(const rlf_session *s, const rlf_session_found *f, const char *name,
            rlf_buf *out)
{
    const rlf_search_candidate *best = NULL;
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        if (j->words && !strcmp(j->name, name) &&
            (!best || j->step < best->step))
            best = j;
    }
    if (!best)
        return;
    put_row(best, out);
    const char *of = best->base < 0
                         ? ""
                         : rlf_arena_printf(s->arena, "%s with ",
                                            base_name(f, best->base, s->arena));
    rlf_buf_printf(out, "# '%s' is %s%s", name, of, best->words);
    if (isfinite(best->without))
        rlf_buf_printf(out, ": %.1f %% less than without\n",
                       100 * (1 - best->step / best->without));
    else
        rlf_buf_printf(out, ", without which it does not fit\n");
}

/* All that was tried of the best placements. */
static void
put_tried(const rlf_session *s, const rlf_session_found *f, rlf_buf *out)
{
    for (int i = 0; i < f->n_sampled; i++) {
        const rlf_sampled_point *p = &f->sampled[i];
        const char *seats =
            p->seats < 0 ? ""
                         : rlf_arena_printf(s->arena, ", seats: %d", p->seats);
        rlf_buf_printf(
            out, "#     %s with %s (migrate: %d%s): %.4g s, without %.4g s\n",
            base_name(f, p->base, s->arena),
            p->call < 0 ? "all generations"
                        : f->pareto.problem.calls[p->call].name,
            p->migrate, seats, p->step, f->candidates[p->base].step);
    }
    for (int i = 0; i < f->n_fused; i++) {
        const rlf_fused_point *p = &f->fused[i];
        rlf_buf_printf(out, "#     %s: %.4g s", p->words, p->step);
        if (isfinite(p->without))
            rlf_buf_printf(out, ", without %.4g s", p->without);
        rlf_buf_putc(out, '\n');
    }
}

/* Writes the candidates whose simulation was not made to the end. */
static void
put_given_up(const rlf_session_found *f, rlf_buf *out)
{
    int n = 0;
    for (int i = 0; i < f->n_candidates; i++)
        n += f->candidates[i].simulated && f->candidates[i].mean->behind;
    if (n)
        rlf_buf_printf(
            out,
            "# ~: clearly behind the best after fewer steps, so no more of "
            "them were simulated\n");
}

/* The place rows of the program: that they are kept, or that they are not. */
static void
put_kept(const rlf_session *s, const rlf_session_found *f, rlf_buf *out)
{
    const rlf_placement *p = s->graph->placement;
    if (rlf_fixed_rows_any(&f->pareto)) {
        for (int i = 0; i < p->n_pins; i++) {
            rlf_buf_puts(out, "# kept: ");
            rlf_place_row_print(s->graph, &p->pins[i], out);
            rlf_buf_putc(out, '\n');
        }
        rlf_buf_puts(out,
                     "# placements that do not keep that have no layout\n");
    } else if (p && p->n_pins) {
        rlf_buf_puts(out, "# searched anew: of the program's rows only shards "
                          "and lanes are kept; --keep-rows keeps all that they "
                          "say\n");
    }
}

/* Returns the word for the tokens that the table counts. */
static const char *
tokens_word(const rlf_session *s)
{
    bool generates = false;
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        generates |= s->graph->nodes.data[i].class->work == RLF_WORK_GENERATE;
    return generates ? "generated" : "trained";
}

/* Explains the names in the table. */
static void
put_names(const rlf_session_found *f, rlf_buf *out)
{
    static const struct {
        const char *name, *words;
    } names[] = {
        {"program", "the program's own rows, or those of --plan"},
        {"less", "the search's answers with less memory or fewer ranks"},
        {"here", "the shortest by the estimate that is found in just this "
                 "memory, on just these ranks"},
        {"first", "first-N: the first N ranks alone, each call on all of them"},
        {"flatten", "each call on all ranks, one after another"},
        {"interleave", "readings side by side, all else on all ranks"},
        {"separate", "updates on one half of the ranks, all else on the other"},
        {"heuristic", "each call on all ranks, with the largest tp and no dp"},
        {"hybridflow", "as HybridFlow's algorithms map it"},
        {"real", "as ReaL's search finds it"},
        {"unfused", "the best with two updates on the same stages, one after "
                    "the other"},
        {"fused", "the best with two updates in one pipeline"},
        {"seats", "the best with other words of its generations"},
        {"cuts", "the best with other cuts, downhill by simulation"},
        {"search", "search-N: the N-th best by the estimate; search: the best "
                   "of them by simulation"}};
    for (size_t k = 0; k < RLF_COUNT(names); k++) {
        bool there = false;
        for (int i = 0; i < f->n_candidates; i++)
            there |= f->candidates[i].first
                         ? !strcmp(names[k].name, "first")
                         : !strcmp(names[k].name, f->candidates[i].name);
        if (there)
            rlf_buf_printf(out, "#   %-11s %s\n", names[k].name,
                           names[k].words);
    }
}

/* The estimate and the simulation of the best differ by more than this: what
 * the estimate has put aside may be better than what was simulated. */
#define FAR 1.3

static void
put_distance(const rlf_session_found *f, rlf_buf *out)
{
    const rlf_search_candidate *j = f->best;
    double period = j->is_known ? j->placing.period : INFINITY;
    if (!j->simulated || !isfinite(period) || !(period > 0) ||
        (j->step < FAR * period && period < FAR * j->step))
        return;
    rlf_buf_printf(out,
                   "# the estimate is far from the simulation: a step of what "
                   "follows takes %.4g s by it,\n# and %.4g s by the "
                   "simulation; what it put behind those that were simulated "
                   "may be better\n",
                   period, j->step);
}

static void
put_table(rlf_session *s, const rlf_session_found *f, bool all, rlf_buf *out)
{
    const rlf_search_candidate *own = own_best(f);
    rlf_session_workload_print(s, &f->workload, "# ", out);
    rlf_session_workload_blocks(s, true, "# ", out);
    put_kept(s, f, out);
    rlf_buf_printf(
        out,
        "# seconds of a step, with these lengths: by the estimate, and by "
        "simulation (the mean of\n# %d steps, after %d that are not counted), "
        "which also tells how many of them an average\n# rank spends sampling, "
        "reading, training and moving weights and data; tokens/s: %s;\n# GB: "
        "of "
        "the rank that fills most of its device, where rows are as long as "
        "the caps, with\n# the fewest pages of keys and values\n"
        "# %-11s %9s %9s %9s %8s %8s %8s %8s %8s %8s\n",
        rlf_workload_draws(&f->workload.workload) ? RLF_SIMULATED_DRAWN
                                                  : RLF_SIMULATED_STEPS,
        RLF_SIMULATED_WARM, tokens_word(s), "placement", "estimate",
        "simulated", "tokens/s", "idle", "GB", "sampling", "reading",
        "training", "moving");
    for (int i = 0; i < f->n_candidates; i++) {
        const rlf_search_candidate *j = &f->candidates[i];
        bool beside = j->first || !strcmp(j->name, "unfused") ||
                      !strcmp(j->name, "less") || !strcmp(j->name, "here");
        bool shown = all || !beside || j == f->best;
        if (!j->place && !j->words && shown)
            put_row(j, out);
    }
    for (int i = 0; i < f->n_candidates; i++) {
        rlf_search_candidate j = f->candidates[i];
        if (all && j.place) {
            j.name = rlf_arena_printf(s->arena, "search-%d", j.place);
            put_row(&j, out);
        }
    }
    put_row(own, out);
    put_changed(s, f, "seats", out);
    put_changed(s, f, "fused", out);
    put_changed(s, f, "cuts", out);
    if (all)
        put_tried(s, f, out);
    if (all)
        put_names(f, out);
    put_given_up(f, out);
    if (s->plan->ranks > RLF_SEARCH_SIMULATED)
        rlf_buf_printf(
            out,
            "# not simulated: that takes too long for more than %d ranks\n",
            RLF_SEARCH_SIMULATED);
    put_order(f, out);
    if (!f->best->place)
        rlf_buf_printf(out, "# the best is '%s', which is what follows\n",
                       f->best->name);
    put_distance(f, out);
    put_unused(s, f->best->plan, out);
    put_proof(f, out);
    double step = f->best->simulated ? f->best->step : f->best->placing.period;
    rlf_session_workload_epochs(s, &f->workload, step, "# ", out);
}

/* ---- each call ---- */

static const char *
ranks_of(const rlf_choice *c, rlf_arena *arena)
{
    return c->count == 1 ? rlf_arena_printf(arena, "%d", c->first)
                         : rlf_arena_printf(arena, "%d..%d", c->first,
                                            c->first + c->count - 1);
}

/* The place row of a call as it would be with that choice: "actor.update on
 * 0..3 (tp: 2, ...)". */
static const char *
row_words(const rlf_session_found *f, int call, int choice, rlf_arena *arena)
{
    const rlf_pareto *pareto = &f->pareto;
    const rlf_pareto_call *of = &pareto->calls[call];
    int n, *at = RLF_NEW_ARRAY(arena, int, pareto->problem.n_calls);
    for (int i = 0; i < pareto->problem.n_calls; i++)
        at[i] = i == call ? choice : f->best->placing.choice[i];
    const rlf_place_row *rows = rlf_pareto_rows(pareto, at, arena, &n);
    const char *words = "";
    rlf_buf text = {0};
    for (int i = 0; i < n && !text.n; i++)
        if (rows[i].model == of->model && rows[i].call == of->class)
            rlf_place_row_print(pareto->options.graph, &rows[i], &text);
    if (text.n)
        words = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return words;
}

static void
put_term(const char *word, double seconds, int *n, rlf_buf *out)
{
    rlf_buf_printf(out, "%s%s %.4g s", (*n)++ ? "; " : "#     terms: ", word,
                   seconds);
}

/* Seconds of a call in a placement, and those of them that it takes longer than
 * its choice: as its stages lie where they are trained, as samples of a prompt
 * are scattered. */
typedef struct call_seconds {
    double all, apart, scattered;
} call_seconds;

/* Writes what the seconds of a choice are made of: terms that are a twentieth
 * of them at least, all others together, and what they are longer for in this
 * placement. They add up. */
static void
put_terms(const rlf_seconds *terms, const rlf_choice *at, call_seconds of,
          rlf_buf *out)
{
    double seconds = of.all, small = 1e-3 * seconds, rest = 0, sum = 0;
    double own = seconds - of.apart - of.scattered;
    int n = 0;
    for (int k = 0; k < RLF_SECONDS_TERMS; k++) {
        double one = terms->term[k];
        sum += one;
        if (one >= 0.05 * seconds)
            put_term(rlf_seconds_word((rlf_seconds_term)k), one, &n, out);
        else
            rest += one;
    }
    if (rest > small)
        put_term("other", rest, &n, out);
    if (at->seconds - sum > small)
        put_term("waiting for cores", at->seconds - sum, &n, out);
    if (of.apart > small)
        put_term("stages as they are trained", of.apart, &n, out);
    if (of.scattered > small)
        put_term("prompts of samples on several replicas", of.scattered, &n,
                 out);
    if (own - at->seconds > small)
        put_term(!at->gathers ? "waiting for pages"
                 : !at->pages ? "samples on fewer replicas"
                              : "waiting for pages, samples on fewer replicas",
                 own - at->seconds, &n, out);
    rlf_buf_puts(out, n ? "\n" : "#     terms: none\n");
}

/* The best other choice for a call while all else stays. */
static int
find_next(rlf_estimator *e, const rlf_problem *p, int call, rlf_placing *at)
{
    int was = at->choice[call], best = -1;
    double period = INFINITY;
    for (int k = 0; k < p->calls[call].n_choices; k++) {
        at->choice[call] = k;
        if (k != was)
            rlf_placing_look(e, at);
        if (k == was || !(at->period < period))
            continue;
        period = at->period;
        best = k;
    }
    at->choice[call] = was;
    at->period = period;
    return best;
}

/* Why a call is not cut as it would be fastest by itself on its ranks. */
static void
put_reason(rlf_estimator *e, const rlf_session_found *f, int call,
           rlf_placing *at, rlf_arena *arena, rlf_buf *out)
{
    const rlf_problem_call *of = &f->pareto.problem.calls[call];
    int was = at->choice[call], fast = was;
    for (int k = 0; k < of->n_choices; k++)
        if (of->choices[k].first == of->choices[was].first &&
            of->choices[k].count == of->choices[was].count &&
            of->choices[k].seconds < of->choices[fast].seconds)
            fast = k;
    const char *row = row_words(f, call, fast, arena);
    double seconds = of->choices[fast].seconds;
    char lacks[RLF_BYTES_TEXT];
    at->choice[call] = fast;
    rlf_placing_look(e, at);
    at->choice[call] = was;
    if (fast == was)
        rlf_buf_printf(out, "#     why: nothing is faster on these ranks\n");
    else if (at->over > 0)
        rlf_buf_printf(
            out, "#     why: memory; %s takes %.4g s, but %s are missing\n",
            row, seconds, rlf_gb_text(at->over, 3, lacks));
    else
        rlf_buf_printf(
            out,
            "#     why: the rest of the step; %s takes %.4g s, but the step "
            "then %.4g s\n",
            row, seconds, at->period);
}

/* Writes what each call takes by itself and the weights that reach it, what
 * that is made of; the next best choice for it, and what decided. All by the
 * estimate.
 */
static void
put_calls(const rlf_session_found *f, rlf_arena *arena, rlf_buf *out)
{
    const rlf_problem *p = &f->pareto.problem;
    rlf_estimator *e = rlf_estimator_new(p, arena);
    rlf_placing at = f->best->placing;
    if (!f->best->is_known)
        return;
    rlf_buf_printf(
        out,
        "# by the estimate, of each call in the answer: its seconds, "
        "and those in which\n# its weights come from where they are "
        "trained; what its seconds are made of;\n# the next best way "
        "to run it, all else being equal; and why not the fastest\n"
        "# %-24s %-14s %3s %3s %3s %12s %12s\n",
        "call", "ranks", "tp", "pp", "dp", "seconds", "weights");
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = &p->calls[i].choices[at.choice[i]];
        const call_seconds seconds = {
            .all = rlf_estimate_call(e, at.choice, i),
            .apart = rlf_estimate_apart(e, at.choice, i),
            .scattered = rlf_estimate_scattered(e, at.choice, i)};
        rlf_buf_printf(out, "# %-24s %-14s %3d %3d %3d %12.4g %12.4g\n",
                       p->calls[i].name, ranks_of(c, arena), c->tp, c->pp,
                       c->dp, seconds.all, rlf_estimate_move(e, at.choice, i));
        put_terms(&f->terms[i], c, seconds, out);
        int next = find_next(e, p, i, &at);
        c = &p->calls[i].choices[next < 0 ? 0 : next];
        if (next < 0)
            rlf_buf_printf(out, "#     next: nothing else fits\n");
        else
            rlf_buf_printf(out,
                           "#     next: %s takes %.4g s, and the step %.4g s\n",
                           row_words(f, i, next, arena), c->seconds, at.period);
        put_reason(e, f, i, &at, arena, out);
    }
}

/* ---- the search ---- */

/* The function that looks at a search, and ends it. */
typedef struct watcher {
    rlf_watch_function *watch;
    void *arg;
    uint64_t begun, limit; /* seconds; 0: none */
} watcher;

static bool
tell(const watcher *w, const rlf_progress *progress)
{
    bool late = w->limit && rlf_clock_since(w->begun) >= (double)w->limit;
    return (w->watch && w->watch(w->arg, progress) != 0) || late;
}

static bool
tell_measuring(void *arg, double part)
{
    const rlf_progress p = {
        .phase = RLF_PHASE_LAYOUTS, .done = part, .of = 1, .best = NAN};
    return tell(arg, &p);
}

static bool
tell_searching(void *arg, double period, double bound)
{
    const rlf_progress p = {.phase = RLF_PHASE_SEARCH,
                            .best = isfinite(period) ? period : NAN,
                            .bound = bound};
    return tell(arg, &p);
}

static void
tell_simulating(void *arg, int i, int n)
{
    const rlf_progress p = {
        .phase = RLF_PHASE_SIMULATE, .done = i, .of = n, .best = NAN};
    tell(arg, &p);
}

static rlf_status
search(rlf_session *s, watcher *w, rlf_err *err)
{
    const rlf_session_options *o = &s->options;
    if (!s->planning.cluster) {
        rlf_fail(err, RLF_USAGE, "--search needs --cluster");
        rlf_err_hint(err, "--cluster a100x8:2, or this:4");
        return RLF_USAGE;
    }
    if (o->keep_rows && !(s->graph->placement && s->graph->placement->n_pins))
        return rlf_fail(
            err, RLF_USAGE,
            "the program has no place rows that --keep-rows could keep");
    int64_t moves = (int64_t)o->moves;
    bool gpu = s->planning.cluster->parts[0].machine->device->gpu;
    const rlf_session_search_options options = {
        .sums = rlf_auto_asked(s) ? rlf_auto_sums(s, gpu) : NULL,
        .keeps = o->keep_rows,
        .search = {.seed = o->seed,
                   .moves = moves,
                   .branches = moves,
                   .stop = tell_searching,
                   .arg = w},
        .measuring = tell_measuring,
        .simulating = tell_simulating};
    rlf_session_found *found = RLF_NEW(s->arena, rlf_session_found);
    RLF_TRY(rlf_session_find(s, &options, err, found));
    s->calls.found = found;
    s->plan = found->best->plan;
    return RLF_OK;
}

static const rlf_candidate *
candidate(rlf_session *s, const rlf_search_candidate *j)
{
    const rlf_session_found *f = s->calls.found;
    const rlf_mean_step *m = j->mean;
    bool known = j->is_known && isfinite(j->placing.period);
    s->answer.candidate = (rlf_candidate){
        .name = j->place ? base_name(f, (int)(j - f->candidates), s->arena)
                         : j->name,
        .estimate = known ? j->placing.period : NAN,
        .step = j->simulated ? j->step : NAN,
        .tokens = j->simulated ? m->tokens : NAN,
        .idle = j->simulated ? m->idle : NAN,
        .memory = j->memory > 0 ? j->memory : NAN,
    };
    return &s->answer.candidate;
}

const rlf_candidate *
rlf_session_search(rlf_session *s, rlf_watch_function *watch, void *arg)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return NULL;
    if (s->run || s->ended) { /* which has its plan */
        rlf_call_refuse(s, "a search is made before the session is ready");
        return NULL;
    }
    s->options.search = true;
    if (!s->calls.found && rlf_session_plan(s) >= 0) {
        watcher w = {.watch = watch,
                     .arg = arg,
                     .begun = rlf_clock_now(),
                     .limit = s->options.time_limit};
        locale_t before = rlf_locale_enter(s->locale);
        search(s, &w, &s->err);
        rlf_locale_leave(before);
    }
    return s->calls.found ? candidate(s, s->calls.found->best) : NULL;
}

const rlf_candidate *
rlf_session_candidate(rlf_session *s, size_t i)
{
    RLF_IN_LOCALE(s);
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (!s->calls.found)
        rlf_why(s, "there was no search (rlf_session_search)");
    return s->calls.found && i < (size_t)s->calls.found->n_candidates
               ? candidate(s, &s->calls.found->candidates[i])
               : NULL;
}

bool
rlf_text_search(rlf_session *s, rlf_buf *out)
{
    if (!s->calls.found)
        return false;
    put_table(s, s->calls.found, false, out);
    return true;
}

bool
rlf_text_searched(rlf_session *s, rlf_buf *out)
{
    const rlf_session_found *f = s->calls.found;
    if (!f)
        return false;
    put_table(s, f, true, out);
    put_calls(f, s->arena, out);
    if (f->best->simulated)
        rlf_text_pages(s, "# pages: ", f->best->mean->paged, f->best->pages,
                       out);
    return true;
}
