/* rlflow simulate: how long would steps of the program take on a cluster, and
 * what would its ranks do? */
#include "engine/cmd/cmd.h"

#include "engine/api/planned.h"
#include "engine/base/clock.h"
#include "engine/io/file.h"
#include "engine/plan/outline.h"
#include "engine/search/costs.h"
#include "engine/search/timeline.h"
#include "nodes/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    WARM = 2, /* steps that are not counted: the first learn of lengths */
    COLUMNS = 96,
    MOST_LINES = 64, /* of ranks in the picture */
    MOST_TEXT = 64 << 20,
};

typedef struct simulation {
    rlf_session *s;
    rlf_arena *arena;
    rlf_outline *outline;
    rlf_opened *ranks;
    rlf_sizes sizes;
    rlf_speeds speeds;
    rlf_length_distribution lengths;
    bool drawn; /* with lengths of that distribution, else at the caps */
    uint32_t steps;
    double from, to; /* the time of those that are counted */
    rlf_simulated out;
    rlf_timeline timeline;
} simulation;

/* ---- what is simulated ---- */

static rlf_status
read_lengths(simulation *m, const char *text, rlf_err *err)
{
    if (!text)
        return RLF_OK;
    m->drawn = true;
    if (rlf_lengths_is_text(text))
        return rlf_lengths_parse(text, err, &m->lengths);
    rlf_buf file = {0};
    rlf_status status = rlf_file_read(text, MOST_TEXT, err, &file);
    if (status >= 0)
        status = rlf_lengths_parse_file(text, file.p ? file.p : "", err,
                                        &m->lengths);
    rlf_buf_free(&file);
    return status;
}

static const rlf_device_kind *
device_of(const simulation *m, int rank)
{
    return rlf_cluster_part_of(m->s->cluster, rank)->machine->device;
}

/* A plan that a rank has no memory for is not simulated. */
static rlf_status
check_memory(const simulation *m, rlf_err *err)
{
    for (int r = 0; r < m->s->plan->ranks; r++) {
        const rlf_device_kind *device = device_of(m, r);
        double bytes = rlf_planned_memory(&m->ranks[r], device->gpu, m->arena);
        if (bytes <= device->memory)
            continue;
        rlf_fail(err, RLF_USER,
                 "rank %d takes %.3g GB, and its device %s has %.3g GB", r,
                 bytes / 1e9, device->name, device->memory / 1e9);
        rlf_err_hint(err,
                     "cut the models into more parts (tp:, pp:), or lower "
                     "tokens: of updates; %.3g GB are missing",
                     (bytes - device->memory) / 1e9);
        return RLF_USER;
    }
    return RLF_OK;
}

static rlf_status
open_ranks(simulation *m, rlf_err *err)
{
    rlf_session *s = m->s;
    int n = s->plan->ranks;
    RLF_TRY(rlf_outline_open(s->graph, &rlf_node_classes,
                             rlf_planned_kernels(m->s, m->arena), err,
                             &m->outline));
    m->ranks = RLF_NEW_ARRAY(m->arena, rlf_opened, n);
    for (int r = 0; r < n; r++)
        RLF_TRY(rlf_outline_rank(m->outline, s->plan, r, m->arena, err,
                                 &m->ranks[r]));
    m->sizes = rlf_opened_sizes(&m->ranks[0], m->arena);
    m->speeds = rlf_speeds_of(s->cluster, s->options.real == RLF_CAST_BF16);
    return check_memory(m, err);
}

static rlf_status
simulate(simulation *m, uint64_t seed, rlf_err *err)
{
    rlf_costs *costs;
    const rlf_costs_options counted = {.ranks = m->ranks,
                                       .sizes = &m->sizes,
                                       .speeds = &m->speeds,
                                       .real =
                                           rlf_cast_bytes(m->s->options.real)};
    RLF_TRY(rlf_costs_new(&counted, m->arena, err, &costs));
    const rlf_durations durations = rlf_costs_durations(costs);
    m->timeline.ranks = m->s->plan->ranks;
    const rlf_simulate_options options = {.plan = m->s->plan,
                                          .sizes = &m->sizes,
                                          .durations = &durations,
                                          .lengths =
                                              m->drawn ? &m->lengths : NULL,
                                          .seed = seed,
                                          .policy = rlf_session_policy(m->s),
                                          .steps = WARM + m->steps,
                                          .seats = rlf_costs_seats(costs),
                                          .self = &m->timeline,
                                          .see = rlf_timeline_see};
    RLF_TRY(rlf_simulate(&options, m->arena, err, &m->out));
    m->from = m->out.ends[WARM - 1];
    m->to = m->out.ends[WARM + m->steps - 1];
    return RLF_OK;
}

/* ---- what is printed ---- */

static int
by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void
put_steps(const simulation *m)
{
    uint32_t n = m->steps;
    double *took = RLF_NEW_ARRAY(m->arena, double, n);
    double all = WARM + n, seconds = m->to - m->from;
    for (uint32_t i = 0; i < n; i++)
        took[i] = m->out.ends[WARM + i] - m->out.ends[WARM + i - 1];
    qsort(took, n, sizeof *took, by_size);
    rlf_buf lengths = {0};
    rlf_buf_puts(&lengths, "all of the most tokens that they can have");
    if (m->drawn) {
        rlf_buf_clear(&lengths);
        rlf_lengths_print(&m->lengths, &lengths);
    }
    printf("\n%u steps after %d, on %d ranks; responses %s\n", n, WARM,
           m->s->plan->ranks, lengths.p);
    rlf_buf_free(&lengths);
    printf("step          %10.4g s, of half of them at most %.4g s, of 99 %% "
           "%.4g s\n",
           seconds / n, took[(n - 1) / 2], took[(n - 1) * 99 / 100]);
    printf("generated     %10.4g tokens a second, %.4g samples and %.4g tokens "
           "a step\n",
           (double)m->out.tokens / all / (seconds / n),
           (double)m->out.samples / all, (double)m->out.tokens / all);
    printf("edges         %10.4g messages and %.4g bytes a step; %.4g samples "
           "went to other replicas\n",
           (double)m->out.messages / all, m->out.bytes / all,
           (double)m->out.moved / all);
}

/* Seconds of a span in the steps that are counted. */
static double
counted(const simulation *m, const rlf_span_spent *s)
{
    double from = s->from > m->from ? s->from : m->from;
    double to = s->to < m->to ? s->to : m->to;
    return to > from ? to - from : 0;
}

/* A rank's shares of the time, and its memory, as text. */
static const char *
rank_words(const simulation *m, const double *spent, int rank)
{
    rlf_buf text = {0};
    double all = m->to - m->from, idle = all;
    for (int k = 0; k < RLF_SPENTS; k++) {
        idle -= spent[k];
        rlf_buf_printf(&text, " %8.1f %%", 100 * spent[k] / all);
    }
    double memory =
        rlf_planned_memory(&m->ranks[rank], device_of(m, rank)->gpu, m->arena);
    rlf_buf_printf(&text, " %8.1f %% %8.2f GB", 100 * idle / all, memory / 1e9);
    const char *words = rlf_arena_strdup(m->arena, text.p);
    rlf_buf_free(&text);
    return words;
}

/* A line for each rank; of neighbours with the same one. */
static void
put_ranks(const simulation *m)
{
    int n = m->s->plan->ranks;
    double(*spent)[RLF_SPENTS] = rlf_calloc((size_t)n, sizeof *spent);
    const char **words = RLF_NEW_ARRAY(m->arena, const char *, n);
    double idle = 1;
    for (size_t i = 0; i < m->timeline.spans.count; i++) {
        const rlf_span_spent *s = &m->timeline.spans.data[i];
        double share = s->bubble / (s->to - s->from), time = counted(m, s);
        spent[s->rank][s->kind] += time * (1 - share);
        spent[s->rank][RLF_SPENT_BUBBLE] += time * share;
    }
    printf("\n%-10s", "rank");
    for (int k = 0; k < RLF_SPENTS; k++)
        printf(" %10s", rlf_spent_words[k]);
    printf(" %10s %11s\n", "idle", "memory");
    for (int r = 0; r < n; r++) {
        words[r] = rank_words(m, spent[r], r);
        for (int k = 0; k < RLF_SPENT_BUBBLE; k++)
            idle -= spent[r][k] / n / (m->to - m->from);
    }
    for (int r = 0, next; r < n; r = next) {
        char ranks[32];
        for (next = r + 1; next < n && !strcmp(words[r], words[next]);)
            next++;
        if (next > r + 1)
            snprintf(ranks, sizeof ranks, "%d..%d", r, next - 1);
        else
            snprintf(ranks, sizeof ranks, "%d", r);
        printf("%-10s%s\n", ranks, words[r]);
    }
    printf("of all ranks' time %.1f %% is idle or waiting\n", 100 * idle);
    free(spent);
}

/* How long calls keep the rank that has most of each. */
static void
put_calls(const simulation *m)
{
    const rlf_graph *graph = m->s->graph;
    size_t n = graph->nodes.count, ranks = (size_t)m->s->plan->ranks;
    double *of = rlf_calloc(n * ranks, sizeof *of);
    for (size_t i = 0; i < m->timeline.spans.count; i++) {
        const rlf_span_spent *s = &m->timeline.spans.data[i];
        if (s->node && s->kind != RLF_SPENT_MESSAGES &&
            s->kind != RLF_SPENT_WEIGHTS)
            of[(size_t)s->node->id * ranks + (size_t)s->rank] += counted(m, s);
    }
    printf("\n%-24s %14s\n", "call", "seconds a step, of the rank with most");
    for (size_t i = 0; i < n; i++) {
        double most = 0;
        for (size_t r = 0; r < ranks; r++)
            most = of[i * ranks + r] > most ? of[i * ranks + r] : most;
        if (most > 1e-3 * (m->to - m->from))
            printf("%-24s %14.4g\n",
                   rlf_cmd_node_name(m->s, &graph->nodes.data[i]),
                   most / m->steps);
    }
    free(of);
}

static void
put_picture(const simulation *m)
{
    rlf_buf text = {0};
    rlf_timeline shown = m->timeline;
    double from = m->out.ends[WARM + m->steps - 2];
    if (shown.ranks > MOST_LINES) {
        printf("\nthe last step: --svg shows it, of %d ranks\n", shown.ranks);
        return;
    }
    rlf_timeline_text(&shown, from, m->to, COLUMNS, &text);
    printf("\nthe last step, %.4g s:", m->to - from);
    for (int k = 0; k < RLF_SPENTS; k++)
        printf(" %c %s%s", rlf_timeline_letters[k], rlf_spent_words[k],
               k + 1 < RLF_SPENTS ? "," : ", . idle\n");
    fputs(text.p, stdout);
    rlf_buf_free(&text);
}

/* ---- files ---- */

static rlf_status
write_svg(const simulation *m, const char *path, rlf_err *err)
{
    rlf_buf text = {0};
    if (!path)
        return RLF_OK;
    rlf_timeline_svg(&m->timeline, m->from, m->to, &text);
    rlf_status status = rlf_file_write(path, text.p, text.n, err);
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
    rlf_timeline_trace(&m->timeline, start, trace);
    return rlf_trace_close(trace, err);
}

static rlf_status
run(simulation *m, const rlf_command_line *line, rlf_err *err)
{
    const rlf_option_value *o = line->options;
    if (!m->s->cluster) {
        rlf_fail(err, RLF_USAGE, "simulate takes a cluster");
        rlf_err_hint(err, "--cluster a100x8:2 has two machines of eight A100; "
                          "rlflow cluster prints what there is");
        return RLF_USAGE;
    }
    m->steps =
        o[RLF_OPTION_STEPS].text ? (uint32_t)o[RLF_OPTION_STEPS].number : 6;
    RLF_TRY(read_lengths(m, o[RLF_OPTION_LENGTHS].text, err));
    RLF_TRY(open_ranks(m, err));
    RLF_TRY(simulate(m, (uint64_t)o[RLF_OPTION_SEED].number, err));
    rlf_cmd_put_cluster(m->s);
    put_steps(m);
    put_ranks(m);
    put_calls(m);
    put_picture(m);
    RLF_TRY(write_svg(m, o[RLF_OPTION_SVG].text, err));
    return write_trace(m, o[RLF_OPTION_TRACE].text, err);
}

int
rlf_cmd_simulate(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_plan(s);
    simulation m = {.s = s, .arena = rlf_arena_new()};
    if (result == RLF_RESULT_OK)
        result = rlf_session_result(run(&m, line, &s->err));
    rlf_timeline_free(&m.timeline);
    rlf_arena_free(m.arena);
    rlf_outline_close(m.outline);
    return rlf_cmd_end(s, result);
}
