/* Answers how long steps of a session's program would take on a cluster, and
 * what its ranks would do. */
#include "engine/api/reporting/texts.h"

#include "engine/api/searching/auto.h"
#include "engine/api/machines/planned_device.h"
#include "engine/api/searching/memory_advice.h"
#include "engine/api/simulating/trial.h"
#include "engine/api/rundir/rundir.h"
#include "engine/base/clock.h"
#include "engine/io/output.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARM = 2,    /* steps that are not counted: the first learn of lengths */
    ENOUGH = 12, /* steps that are counted, unless fewer tell as much */
    MOST_STEPS = 10000,
    SHOWN = 3, /* steps in the SVG */
    COLUMNS = 96,
    MOST_LINES = 64, /* of ranks in the picture */
};

typedef struct rlf_simulating {
    rlf_session *s;
    rlf_arena *arena;
    rlf_outline *outline;
    rlf_speeds speeds;
    rlf_session_workload workload;
    uint32_t steps; /* that are counted; before they were, the most */
    double spread;  /* see rlf_simulate_options */
    rlf_trial trial;
    bool done;
    rlf_simulation answer;
} simulation;

/* ---- what is simulated ---- */

static rlf_status
simulate(simulation *m, rlf_err *err)
{
    rlf_session *s = m->s;
    m->speeds = rlf_planned_speeds(s);
    RLF_TRY(rlf_outline_open(s->graph, rlf_planned_kernels(s, m->arena), err,
                             &m->outline));
    RLF_TRY(rlf_session_workload_make(s, m->outline, err, &m->workload));
    RLF_TRY(rlf_trial_open(s, m->outline, s->plan, m->arena, err, &m->trial));
    RLF_TRY(rlf_memory_plan_fits(s, err, err));
    const rlf_trial_options options = {.speeds = &m->speeds,
                                       .workload = &m->workload.workload,
                                       .seed = s->options.seed,
                                       .warm = WARM,
                                       .steps = m->steps,
                                       .spread = m->spread};
    RLF_TRY(rlf_trial_run(&m->trial, &options, err));
    m->steps = m->trial.account.steps;
    return RLF_OK;
}

/* Without a call of a model nothing takes time. */
static rlf_status
check_program(const rlf_session *s, rlf_err *err)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        if (rlf_place_can(&s->graph->nodes.data[i]))
            return RLF_OK;
    return rlf_fail(err, RLF_USER,
                    "the program calls no model, so there is nothing to "
                    "simulate");
}

/* --steps says how many are counted; else as many as tell how long one takes.
 */
static rlf_status
choose_steps(simulation *m, uint64_t said, rlf_err *err)
{
    if (said > MOST_STEPS)
        return rlf_fail(err, RLF_USAGE,
                        "--steps %" PRIu64 ": at most %d steps are simulated",
                        said, MOST_STEPS);
    m->steps = said ? (uint32_t)said : ENOUGH;
    m->spread = said ? 0 : 0.01;
    return RLF_OK;
}

/* ---- what is printed ---- */

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The least of n ascending numbers that so many percent are not above. */
static double
quantile(const double *list, uint32_t n, uint32_t percent)
{
    return list[((uint64_t)n * percent + 99) / 100 - 1];
}

/* Samples that wait until others of their replica are complete, and what that
 * costs. */
static void
put_waiting(const simulation *m, rlf_buf *out)
{
    const rlf_graph *graph = m->s->graph;
    const rlf_trial *t = &m->trial;
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (t->out.waiting[i])
            rlf_buf_printf(
                out,
                "seats         %10u samples wait at once, at most, for one of "
                "a replica's %u: %s\n",
                t->out.waiting[i], t->seats[i],
                rlf_text_node(m->s, &graph->nodes.data[i]));
    rlf_text_pages(m->s, "pages         ", t->out.paged, t->pages, out);
    if (t->seated <= 0)
        return;
    double less = 1 - t->seated / t->account.step;
    rlf_buf_printf(out, "with room     %10.4g s a step, ", t->seated);
    rlf_buf_percent(out, fabs(less));
    rlf_buf_printf(out, " %s, if none waited\n", less < 0 ? "more" : "less");
}

/* Writes how long steps of each kind take, if not all have the same blocks.
 * Returns the seconds of a step on average. */
static double
put_kinds(const simulation *m, rlf_buf *out)
{
    const rlf_trial *t = &m->trial;
    if (!t->n_kinds)
        return t->account.step;
    double mean = rlf_step_kinds_mean(t->kinds, t->n_kinds);
    rlf_buf_printf(
        out,
        "usual step    %10.4g s, without blocks that only steps of some "
        "numbers have\n",
        t->kinds[0].seconds);
    for (int i = 1; i < t->n_kinds; i++)
        rlf_buf_printf(
            out,
            "every %-7" PRIu64 " %10.4g s, with the blocks of 'every' that "
            "step %" PRIu64 " has\n",
            t->kinds[i].number, t->kinds[i].seconds, t->kinds[i].number);
    rlf_buf_printf(out, "on average    %10.4g s a step\n", mean);
    return mean;
}

static void
put_steps(const simulation *m, rlf_buf *out)
{
    uint32_t n = m->steps;
    const rlf_simulated *done = &m->trial.out;
    double *took = RLF_NEW_ARRAY(m->arena, double, n);
    double step = m->trial.account.step;
    const rlf_step_counts each = rlf_simulated_counts(done, WARM);
    for (uint32_t i = 0; i < n; i++)
        took[i] = done->ends[WARM + i] - done->ends[WARM + i - 1];
    qsort(took, n, sizeof *took, by_size);
    rlf_buf_printf(out, "\n%u step%s after %d that are not counted, on %d rank%s\n", n,
                   n == 1 ? "" : "s", WARM, m->s->plan->ranks,
                   m->s->plan->ranks == 1 ? "" : "s");
    rlf_session_workload_print(m->s, &m->workload, "", out);
    rlf_session_workload_blocks(m->s, false, "", out);
    rlf_buf_printf(out, "step          %10.4g s, p50 %.4g s, p99 %.4g s", step,
                   quantile(took, n, 50), quantile(took, n, 99));
    double spread = rlf_simulated_spread(done, WARM);
    if (isfinite(spread)) {
        rlf_buf_puts(out, "; the mean is known to ");
        rlf_buf_percent(out, spread);
    }
    rlf_buf_putc(out, '\n');
    double mean = put_kinds(m, out);
    if (each.samples > 0)
        rlf_buf_printf(
            out,
            "generated     %10.4g tokens a second, %.4g samples and %.4g "
            "tokens a step\n",
            each.tokens / step, each.samples, each.tokens);
    if (each.trained > 0)
        rlf_buf_printf(
            out,
            "trained       %10.4g tokens a second, %.4g a step, prompts "
            "among them\n",
            each.trained / step, each.trained);
    const rlf_costs_asked *asked = &m->trial.asked;
    double pieces = (double)(asked->measured + asked->alike + asked->counted);
    if (m->s->planning.profiles && pieces > 0)
        rlf_buf_printf(
            out,
            "by profile    %9.1f %% of pieces; %.1f %% as measured of "
            "another cut, %.1f %% counted\n",
            100 * (double)asked->measured / pieces,
            100 * (double)asked->alike / pieces,
            100 * (double)asked->counted / pieces);
    if (m->s->planning.profiles && asked->beyond > 0)
        rlf_buf_printf(
            out,
            "beyond it     %9.1f %% of its seconds, for more or fewer "
            "tokens than were measured at once\n",
            100 * asked->beyond / asked->seconds);
    rlf_buf_printf(out, "edges         %10.4g messages", each.messages);
    if (isfinite(each.bytes))
        rlf_buf_printf(out, " and %.4g bytes", each.bytes);
    rlf_buf_printf(out, " a step%s; %.4g samples went to other replicas\n",
                   isfinite(each.bytes) ? ""
                                        : ", some of them texts of any length",
                   each.moved);
    put_waiting(m, out);
    rlf_session_workload_epochs(m->s, &m->workload, mean, "", out);
}

/* A rank's shares of the time, and its memory, as text. */
static const char *
rank_words(const simulation *m, int rank)
{
    rlf_buf text = {0};
    const rlf_account *a = &m->trial.account;
    double all = a->to - a->from, idle = all;
    for (int k = 0; k < RLF_SPENTS; k++) {
        idle -= a->spent[rank][k];
        rlf_buf_printf(&text, " %8.1f %%", 100 * a->spent[rank][k] / all);
    }
    idle = fmax(idle, 0); /* nothing of it may be left */
    rlf_buf_printf(&text, " %8.1f %% %8.2f GB", 100 * idle / all,
                   m->trial.memory[rank] / 1e9);
    const char *words = rlf_arena_strdup(m->arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* A line for each rank; of neighbours with the same one. */
static void
put_ranks(const simulation *m, rlf_buf *out)
{
    int n = m->s->plan->ranks;
    const char **words = RLF_NEW_ARRAY(m->arena, const char *, n);
    rlf_buf_printf(out, "\n%-10s", "rank");
    for (int k = 0; k < RLF_SPENTS; k++)
        rlf_buf_printf(out, " %10s", rlf_spent_words[k]);
    rlf_buf_printf(out, " %10s %11s\n", "idle", "memory");
    for (int r = 0; r < n; r++)
        words[r] = rank_words(m, r);
    for (int r = 0, next; r < n; r = next) {
        char ranks[32];
        for (next = r + 1; next < n && !strcmp(words[r], words[next]);)
            next++;
        if (next > r + 1)
            snprintf(ranks, sizeof ranks, "%d..%d", r, next - 1);
        else
            snprintf(ranks, sizeof ranks, "%d", r);
        rlf_buf_printf(out, "%-10s%s\n", ranks, words[r]);
    }
    rlf_buf_printf(out, "of all ranks' time %.1f %% is idle or waiting\n",
                   100 * m->trial.account.idle);
}

/* A call, and those that share its pipeline, whose seconds are added. */
static const char *
names_of(const simulation *m, const rlf_node *node, double *seconds)
{
    const rlf_graph *graph = m->s->graph;
    const char *name = rlf_text_node(m->s, node);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *other = &graph->nodes.data[i];
        if (other == node || m->s->plan->place[i].lead != node)
            continue;
        name = rlf_arena_printf(m->arena, "%s + %s", name,
                                rlf_text_node(m->s, other));
        *seconds += m->trial.account.calls[i];
    }
    return name;
}

/* Writes how long calls keep the rank that has most of each. */
static void
put_calls(const simulation *m, rlf_buf *out)
{
    const rlf_graph *graph = m->s->graph;
    const rlf_account *a = &m->trial.account;
    int few = 0;
    rlf_buf_printf(out, "\n%-24s %14s\n", "call",
                   "seconds a step, of the rank with most");
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        const rlf_node *lead = m->s->plan->place[i].lead;
        if (!rlf_place_can(node) || (lead && lead != node))
            continue;
        double seconds = a->calls[i];
        const char *name = names_of(m, node, &seconds);
        if (seconds > 1e-3 * a->step)
            rlf_buf_printf(out, "%-24s %14.4g\n", name, seconds);
        else
            few++;
    }
    if (few)
        rlf_buf_printf(out, "... and %d call%s below 0.1 %%\n", few,
                       few == 1 ? "" : "s");
}

static void
put_picture(const simulation *m, rlf_buf *out)
{
    const rlf_trial *t = &m->trial;
    double from = t->out.ends[WARM + m->steps - 2], to = t->account.to;
    if (t->timeline.ranks > MOST_LINES) {
        rlf_buf_printf(out, "\nthe last step: --svg shows it, of %d ranks\n",
                       t->timeline.ranks);
        return;
    }
    rlf_buf_printf(out, "\nthe last step, %.4g s:", to - from);
    for (int k = 0; k < RLF_SPENTS; k++)
        rlf_buf_printf(out, " %c %s%s", rlf_timeline_letters[k],
                       rlf_spent_words[k],
                       k + 1 < RLF_SPENTS ? "," : ", . idle\n");
    rlf_timeline_text(&t->timeline, from, to, COLUMNS, out);
}

/* ---- files ---- */

/* Fills in what pictures show besides spans. */
static void
tell_timeline(simulation *m)
{
    const rlf_session *s = m->s;
    rlf_timeline *t = &m->trial.timeline;
    size_t n = s->graph->nodes.count;
    const char **names = RLF_NEW_ARRAY(m->arena, const char *, n);
    for (size_t i = 0; i < n; i++)
        names[i] = rlf_text_node(m->s, &s->graph->nodes.data[i]);
    t->names = names;
    t->ends = m->trial.out.ends;
    t->steps = m->trial.out.steps;
    t->title = rlf_arena_printf(
        m->arena,
        "%s on %d ranks of %s: a step takes %.4g s, "
        "%.1f %% of all ranks' time is idle or waiting",
        s->program.path, s->plan->ranks, s->planning.cluster->name,
        m->trial.account.step, 100 * m->trial.account.idle);
}

static rlf_status
write_svg(const simulation *m, const char *path, rlf_err *err)
{
    rlf_buf text = {0};
    if (!path)
        return RLF_OK;
    const rlf_simulated *done = &m->trial.out;
    uint32_t shown = m->steps < SHOWN ? m->steps : SHOWN;
    rlf_timeline_svg(&m->trial.timeline, done->ends[done->steps - 1 - shown],
                     m->trial.account.to, &text);
    rlf_status status = rlf_output_write(path, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
write_trace(const simulation *m, const char *path, rlf_err *err)
{
    rlf_trace *trace;
    uint64_t start = rlf_clock_now();
    if (!path)
        return RLF_OK;
    RLF_TRY(rlf_trace_open(path, start, err, &trace));
    rlf_timeline_trace(&m->trial.timeline, start, trace);
    return rlf_trace_close(trace, err);
}

static rlf_status
make(rlf_session *s, rlf_err *err)
{
    if (!s->planning.cluster) {
        rlf_fail(err, RLF_USAGE, "simulate takes a cluster");
        rlf_err_hint(err, "--cluster a100x8:2 has two machines of eight A100; "
                          "rlflow cluster prints what there is");
        return RLF_USAGE;
    }
    simulation *m = RLF_NEW(s->arena, simulation);
    RLF_TRY(check_program(s, err));
    RLF_TRY(rlf_outputs_try(&s->outputs, err));
    RLF_TRY(choose_steps(m, s->options.steps, err));
    m->s = s;
    m->arena = rlf_arena_new();
    s->calls.simulating = m;
    return simulate(m, err);
}

const rlf_simulation *
rlf_session_simulate(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL) || rlf_session_plan(s) < 0)
        return NULL;
    if (!s->calls.simulating) {
        locale_t before = rlf_locale_enter(s->locale);
        rlf_status status = make(s, &s->err);
        rlf_locale_leave(before);
        if (status < 0)
            return NULL;
        simulation *m = s->calls.simulating;
        const rlf_trial *t = &m->trial;
        const rlf_step_counts each = rlf_simulated_counts(&t->out, WARM);
        m->done = true;
        m->answer = (rlf_simulation){
            .steps = m->steps,
            .step = t->n_kinds ? rlf_step_kinds_mean(t->kinds, t->n_kinds)
                               : t->account.step,
            .tokens = (each.samples > 0 ? each.tokens : each.trained) /
                      t->account.step,
            .idle = t->account.idle};
        tell_timeline(m);
    }
    return &s->calls.simulating->answer;
}

bool
rlf_text_simulation(rlf_session *s, rlf_buf *out)
{
    const simulation *m = s->calls.simulating;
    if (!m || !m->done)
        return false;
    put_steps(m, out);
    put_ranks(m, out);
    put_calls(m, out);
    put_picture(m, out);
    return true;
}

const rlf_session_workload *
rlf_simulating_lengths(const struct rlf_simulating *m)
{
    return m && m->done ? &m->workload : NULL;
}

rlf_status
rlf_simulating_write(const rlf_session *s, rlf_err *err)
{
    const simulation *m = s->calls.simulating;
    if (!m || !m->done)
        return RLF_OK;
    RLF_TRY(write_svg(m, s->options.svg, err));
    return write_trace(m, s->options.trace, err);
}

void
rlf_simulating_close(struct rlf_simulating *m)
{
    if (!m)
        return;
    rlf_trial_close(&m->trial);
    rlf_arena_free(m->arena);
    rlf_outline_close(m->outline);
}
