/* rlflow plan --search: a table of placements, those of others and the one that
 * was found, in comments; then that plan as a place block. */
#include "engine/api/auto.h"
#include "engine/base/clock.h"
#include "engine/cmd/inside.h"
#include "engine/search/pins.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    interrupted = signal;
}

/* Who looks at a search. */
typedef struct watcher {
    bool terminal;
    uint64_t begun;
    double limit; /* seconds; 0: none */
    int shown;    /* the last number of percent */
} watcher;

static bool
is_over(const watcher *w)
{
    return interrupted ||
           (w->limit > 0 && rlf_clock_since(w->begun) >= w->limit);
}

/* What layouts take is worked out before anything is searched. */
static bool
show_measuring(void *arg, double part)
{
    watcher *w = arg;
    int percent = (int)(100 * part);
    if (w->terminal && percent != w->shown)
        fprintf(stderr, "\rmeasuring layouts: %d %%\033[K", percent);
    w->shown = percent;
    return is_over(w);
}

/* On a terminal: the best so far, and how far it is proved. */
static bool
show(void *arg, double period, double bound)
{
    const watcher *w = arg;
    if (w->terminal && isfinite(period)) {
        fprintf(stderr, "\rbest step so far %.3g s", period);
        if (bound > 0)
            fprintf(stderr, ", at most %.1f %% above the best there is",
                    100 * (period / bound - 1));
        fprintf(stderr, "\033[K");
    }
    return is_over(w);
}

static void
show_judging(void *arg, int i, int n)
{
    const watcher *w = arg;
    if (w->terminal)
        fprintf(stderr, "\rsimulating %d of %d\033[K", i, n);
}

/* ---- the table ---- */

static void
put_row(const rlf_judged *j)
{
    const rlf_mean *m = j->mean;
    char step[32] = "";
    if (j->simulated)
        snprintf(step, sizeof step, "%.4g%s", j->step, m->behind ? "~" : "");
    printf("# %-11s", j->name);
    if (!j->is_known)
        printf(" %9s", "?");
    else if (isfinite(j->placing.period))
        printf(" %9.4g", j->placing.period);
    else
        printf(" %9s", isfinite(j->placing.over) ? "no room" : "no layout");
    if (j->simulated)
        printf(" %9s %9.4g %6.1f %% %8.2f %8.4g %8.4g %8.4g %8.4g", step,
               m->tokens, 100 * m->idle, j->memory / 1e9,
               m->spent[RLF_SPENT_GENERATE], m->spent[RLF_SPENT_READ],
               m->spent[RLF_SPENT_TRAIN],
               m->spent[RLF_SPENT_MESSAGES] + m->spent[RLF_SPENT_WEIGHTS]);
    else if (j->memory > 0 && j->fill > 1)
        printf(" %9s %9s %8s %8.2f", "no room", "", "", j->memory / 1e9);
    else if (j->memory > 0)
        printf(" %9s %9s %8s %8.2f", "", "", "", j->memory / 1e9);
    putchar('\n');
}

/* The search's own that is best. */
static const rlf_judged *
own_best(const rlf_session_found *f)
{
    const rlf_judged *best = &f->judged[0];
    for (int i = 1; i < f->n_judged && f->judged[i].place; i++) {
        const rlf_judged *j = &f->judged[i];
        if (j->simulated && (!best->simulated || j->step < best->step))
            best = j;
    }
    return best;
}

/* Where the simulation puts the search's placements in another order. */
static void
put_order(const rlf_session_found *f)
{
    const rlf_judged *order[RLF_JUDGED];
    int n = 0;
    bool other = false;
    for (int i = 0; i < f->n_judged; i++) {
        const rlf_judged *j = &f->judged[i];
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
    printf("# the %d best ways to place calls by the estimate were simulated",
           n);
    if (!other) {
        printf(": in the same order\n");
        return;
    }
    printf(", and come in another order:\n#");
    for (int i = 0; i < n; i++)
        printf(" %d", order[i]->place);
    if (order[0]->place != 1 && f->judged[0].simulated)
        printf("; number 1 takes %.4g s, number %d %.4g s", f->judged[0].step,
               order[0]->place, order[0]->step);
    putchar('\n');
}

static void
put_proof(const rlf_session_found *f)
{
    const rlf_found *found = &f->found;
    if (found->optimal)
        printf("# by the estimate no placement of those searched is shorter "
               "than %.4g s\n",
               found->best.period);
    else if (found->bound > 0)
        printf("# by the estimate none of those searched is shorter by more "
               "than %.1f %%\n",
               100 * fmax(0, 1 - found->bound / found->best.period));
    else
        printf("# nothing is proved of how short a step could be\n");
    if (f->stopped)
        printf("# stopped: seed and moves do not give this again\n");
    printf("# %" PRId64 " placements looked at\n", found->looks);
    if (f->fronts.some)
        printf(
            "# of more than %d machines only some runs are looked at: powers "
            "of two, three times these, halves to eighths\n",
            RLF_FRONTS_RUNS);
}

/* Devices on which the answer has no call of a model. */
static void
put_unused(const rlf_session *s, const rlf_plan *plan)
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
        printf("# %d of %d devices are unused\n", unused, plan->ranks);
}

/* "search-2": a placement that is the base of others. */
static const char *
base_name(const rlf_session_found *f, int base, rlf_arena *arena)
{
    const rlf_judged *j = &f->judged[base];
    return j->place ? rlf_arena_printf(arena, "search-%d", j->place) : j->name;
}

/* The best of those that are another one with other words, by its name. */
static void
put_changed(const rlf_session *s, const rlf_session_found *f, const char *name)
{
    const rlf_judged *best = NULL;
    for (int i = 0; i < f->n_judged; i++) {
        const rlf_judged *j = &f->judged[i];
        if (j->words && !strcmp(j->name, name) &&
            (!best || j->step < best->step))
            best = j;
    }
    if (!best)
        return;
    put_row(best);
    const char *of = best->base < 0
                         ? ""
                         : rlf_arena_printf(s->arena, "%s with ",
                                            base_name(f, best->base, s->arena));
    printf("# '%s' is %s%s", name, of, best->words);
    if (isfinite(best->without))
        printf(": %.1f %% less than without\n",
               100 * (1 - best->step / best->without));
    else
        printf(", without which it does not fit\n");
}

/* All that was tried of the best placements. */
static void
put_tried(const rlf_session *s, const rlf_session_found *f)
{
    for (int i = 0; i < f->n_sampled; i++) {
        const rlf_sampled_point *p = &f->sampled[i];
        const char *seats =
            p->seats < 0 ? ""
                         : rlf_arena_printf(s->arena, ", seats: %d", p->seats);
        printf("#     %s with %s (migrate: %d%s): %.4g s, without %.4g s\n",
               base_name(f, p->base, s->arena),
               p->call < 0 ? "all generations"
                           : f->fronts.problem.calls[p->call].name,
               p->migrate, seats, p->step, f->judged[p->base].step);
    }
    for (int i = 0; i < f->n_fused; i++) {
        const rlf_fused_point *p = &f->fused[i];
        printf("#     %s: %.4g s", p->words, p->step);
        if (isfinite(p->without))
            printf(", without %.4g s", p->without);
        putchar('\n');
    }
}

/* Those whose simulation was not made to the end. */
static void
put_given_up(const rlf_session_found *f)
{
    int n = 0;
    for (int i = 0; i < f->n_judged; i++)
        n += f->judged[i].simulated && f->judged[i].mean->behind;
    if (n)
        printf("# ~: clearly behind the best after fewer steps, so no more of "
               "them were simulated\n");
}

/* The rows of the program: that they are kept, or that they are not. */
static void
put_kept(const rlf_session *s, const rlf_session_found *f)
{
    const rlf_placement *p = s->graph->placement;
    rlf_buf text = {0};
    if (rlf_pins_any(&f->fronts)) {
        for (int i = 0; i < p->n_pins; i++) {
            rlf_buf_puts(&text, "# kept: ");
            rlf_place_row_print(s->graph, &p->pins[i], &text);
            rlf_buf_putc(&text, '\n');
        }
        fputs(text.p, stdout);
        puts("# placements that do not keep that have no layout");
    } else if (p && p->n_pins) {
        puts("# searched anew: of the program's rows only shards and lanes are "
             "kept; --keep-rows keeps all that they say");
    }
    rlf_buf_free(&text);
}

/* Which tokens the table counts. */
static const char *
tokens_word(const rlf_session *s)
{
    bool generates = false;
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        generates |= s->graph->nodes.data[i].class->work == RLF_WORK_GENERATE;
    return generates ? "generated" : "trained";
}

static void
put_table(rlf_session *s, const rlf_session_found *f, bool all)
{
    const rlf_judged *own = own_best(f);
    rlf_buf lengths = {0};
    rlf_session_workload_print(s, &f->workload, "# ", &lengths);
    rlf_session_workload_blocks(s, true, "# ", &lengths);
    fputs(lengths.p ? lengths.p : "", stdout);
    rlf_buf_free(&lengths);
    put_kept(s, f);
    printf(
        "# a step in seconds, with these lengths: by the estimate, by "
        "simulation (%d steps\n# of a kind after %d), and there what it "
        "goes to, on average over the ranks; tokens/s: %s;\n# GB: of the rank "
        "with most, at the caps, with the fewest pages of keys and values\n"
        "# %-11s %9s %9s %9s %8s %8s %8s %8s %8s %8s\n",
        rlf_workload_draws(&f->workload.workload) ? RLF_JUDGED_DRAWN
                                                  : RLF_JUDGED_STEPS,
        RLF_JUDGED_WARM, tokens_word(s), "placement", "estimate", "simulated",
        "tokens/s", "idle", "GB", "sampling", "reading", "training", "moving");
    for (int i = 0; i < f->n_judged; i++) {
        const rlf_judged *j = &f->judged[i];
        bool beside = j->first || !strcmp(j->name, "unfused");
        bool shown = all || !beside || j == f->best;
        if (!j->place && !j->words && shown)
            put_row(j);
    }
    for (int i = 0; i < f->n_judged; i++) {
        rlf_judged j = f->judged[i];
        if (all && j.place) {
            j.name = rlf_arena_printf(s->arena, "search-%d", j.place);
            put_row(&j);
        }
    }
    put_row(own);
    put_changed(s, f, "seats");
    put_changed(s, f, "fused");
    put_changed(s, f, "cuts");
    if (all)
        put_tried(s, f);
    put_given_up(f);
    if (s->plan->ranks > RLF_SEARCH_SIMULATED)
        printf("# not simulated: that takes too long for more than %d ranks\n",
               RLF_SEARCH_SIMULATED);
    put_order(f);
    if (!f->best->place)
        printf("# the best is '%s', which is what follows\n", f->best->name);
    put_unused(s, f->best->plan);
    put_proof(f);
    rlf_buf epochs = {0};
    double step = f->best->simulated ? f->best->step : f->best->placing.period;
    rlf_session_workload_epochs(s, &f->workload, step, "# ", &epochs);
    fputs(epochs.p ? epochs.p : "", stdout);
    rlf_buf_free(&epochs);
}

/* ---- each call ---- */

static const char *
ranks_of(const rlf_choice *c, rlf_arena *arena)
{
    return rlf_arena_printf(arena, "%d..%d", c->first, c->first + c->count - 1);
}

/* The row of a call as it would be with that choice: "actor.update on 0..3
 * (tp: 2, ...)". */
static const char *
row_words(const rlf_session_found *f, int call, int choice, rlf_arena *arena)
{
    const rlf_fronts *fronts = &f->fronts;
    const rlf_front_call *of = &fronts->calls[call];
    int n, *at = RLF_NEW_ARRAY(arena, int, fronts->problem.n_calls);
    for (int i = 0; i < fronts->problem.n_calls; i++)
        at[i] = i == call ? choice : f->best->placing.choice[i];
    const rlf_place_row *rows = rlf_fronts_rows(fronts, at, arena, &n);
    const char *words = "";
    rlf_buf text = {0};
    for (int i = 0; i < n && !text.n; i++)
        if (rows[i].model == of->model && rows[i].call == of->class)
            rlf_place_row_print(fronts->options.graph, &rows[i], &text);
    if (text.n)
        words = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* What of a call's seconds is a twentieth at least. */
static void
put_terms(const rlf_seconds *terms)
{
    double sum = 0;
    printf("#     terms:");
    for (int k = 0; k < RLF_SECONDS_TERMS; k++)
        sum += terms->term[k];
    for (int k = 0; k < RLF_SECONDS_TERMS; k++)
        if (terms->term[k] >= 0.05 * sum)
            printf(" %s %.4g s;", rlf_seconds_word((rlf_seconds_term)k),
                   terms->term[k]);
    putchar('\n');
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
           rlf_placing *at, rlf_arena *arena)
{
    const rlf_problem_call *of = &f->fronts.problem.calls[call];
    int was = at->choice[call], fast = was;
    for (int k = 0; k < of->n_choices; k++)
        if (of->choices[k].first == of->choices[was].first &&
            of->choices[k].count == of->choices[was].count &&
            of->choices[k].seconds < of->choices[fast].seconds)
            fast = k;
    const char *row = row_words(f, call, fast, arena);
    double seconds = of->choices[fast].seconds;
    at->choice[call] = fast;
    rlf_placing_look(e, at);
    at->choice[call] = was;
    if (fast == was)
        printf("#     decided: nothing is faster on these ranks\n");
    else if (at->over > 0)
        printf("#     decided by memory: %s takes %.4g s, and %.3g GB are "
               "missing\n",
               row, seconds, at->over / 1e9);
    else
        printf("#     decided by the rest of the step: %s takes %.4g s, and "
               "the step %.4g s\n",
               row, seconds, at->period);
}

/* What each call takes by itself and the weights that reach it; what that is
 * made of; the next best choice for it, and what decided. All by the estimate.
 */
static void
put_calls(const rlf_session_found *f, rlf_arena *arena)
{
    const rlf_problem *p = &f->fronts.problem;
    rlf_estimator *e = rlf_estimator_new(p, arena);
    rlf_placing at = f->best->placing;
    if (!f->best->is_known)
        return;
    printf("# %-24s %-14s %3s %3s %3s %12s %12s\n", "call", "ranks", "tp", "pp",
           "dp", "seconds", "weights");
    for (int i = 0; i < p->n_calls; i++) {
        const rlf_choice *c = &p->calls[i].choices[at.choice[i]];
        double seconds = rlf_estimate_call(e, at.choice, i);
        printf("# %-24s %-14s %3d %3d %3d %12.4g %12.4g\n", p->calls[i].name,
               ranks_of(c, arena), c->tp, c->pp, c->dp, seconds,
               rlf_estimate_move(e, at.choice, i));
        put_terms(&f->terms[i]);
        if (seconds > c->seconds)
            printf("#     pages: with room for all keys and values it takes "
                   "%.4g s, as these terms\n",
                   c->seconds);
        int next = find_next(e, p, i, &at);
        c = &p->calls[i].choices[next < 0 ? 0 : next];
        if (next < 0)
            printf("#     next: nothing else fits\n");
        else
            printf("#     next: %s takes %.4g s, and the step %.4g s\n",
                   row_words(f, i, next, arena), c->seconds, at.period);
        put_reason(e, f, i, &at, arena);
    }
}

/* ---- the command ---- */

static rlf_result
search(rlf_session *s, const rlf_command_line *line, rlf_session_found *found)
{
    const rlf_option_value *o = line->options;
    watcher w = {.terminal = isatty(STDERR_FILENO) && !rlf_cmd_diag_json(),
                 .shown = -1,
                 .begun = rlf_clock_now(),
                 .limit = o[RLF_OPTION_TIME_LIMIT].given
                              ? (double)o[RLF_OPTION_TIME_LIMIT].number
                              : 0};
    int64_t moves = o[RLF_OPTION_MOVES].given ? o[RLF_OPTION_MOVES].number
                                              : RLF_SEARCH_MOVES;
    bool gpu = s->cluster->parts[0].machine->device->gpu;
    const rlf_session_search_options options = {
        .sums = rlf_auto_asked(s) ? rlf_auto_sums(s, gpu) : NULL,
        .keeps = o[RLF_OPTION_KEEP_ROWS].given,
        .search = {.seed = (uint64_t)o[RLF_OPTION_SEED].number,
                   .moves = moves,
                   .branches = moves,
                   .stop = show,
                   .arg = &w},
        .measuring = show_measuring,
        .judging = show_judging};
    struct sigaction was[2], act = {.sa_handler = interrupt};
    sigaction(SIGINT, &act, &was[0]);
    sigaction(SIGTERM, &act, &was[1]);
    rlf_status status = rlf_session_search(s, &options, &s->err, found);
    sigaction(SIGINT, &was[0], NULL);
    sigaction(SIGTERM, &was[1], NULL);
    if (w.terminal)
        fprintf(stderr, "\r\033[K");
    return rlf_session_result(status);
}

static bool
has_rows(const rlf_session *s)
{
    return s->graph->placement && s->graph->placement->n_pins;
}

int
rlf_cmd_search(rlf_session *s, const rlf_command_line *line)
{
    rlf_session_found found;
    if (!s->cluster) {
        rlf_fail(&s->err, RLF_USAGE, "--search needs --cluster");
        rlf_err_hint(&s->err, "--cluster a100x8:2, or this:4");
        return rlf_cmd_end(s, rlf_session_result(RLF_USAGE));
    }
    if (line->options[RLF_OPTION_KEEP_ROWS].given && !has_rows(s)) {
        rlf_fail(&s->err, RLF_USAGE,
                 "the program has no place rows that --keep-rows could keep");
        return rlf_cmd_end(s, rlf_session_result(RLF_USAGE));
    }
    rlf_result result = search(s, line, &found);
    int number = interrupted;
    if (result == RLF_RESULT_OK) {
        bool verbose = line->options[RLF_OPTION_VERBOSE].given;
        rlf_cmd_warn_lengths(s, &found.workload);
        put_table(s, &found, verbose);
        if (verbose)
            put_calls(&found, s->arena);
        if (verbose && found.best->simulated)
            rlf_cmd_put_pages(s, "# pages: ", found.best->mean->paged,
                              found.best->pages);
        s->plan = found.best->plan;
        rlf_cmd_put_plan(s);
    }
    bool cut = s->err.status == RLF_STOPPED;
    int status = rlf_cmd_end(s, result);
    if (!number || (status && !cut))
        return status;
    if (!status)
        rlf_cmd_aside("rlflow: stopped by signal %d; the plan is the best that "
                      "was found until then\n",
                      number);
    return 128 + number;
}
