/* All sinks of a session: see sinks.h. */
#include "engine/api/sinks/sinks.h"

#include "engine/base/vec.h"
#include "engine/record/record.h"
#include "engine/sched/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const rlf_sink_class *const classes[] = {
#define SINK(name, doc) &rlf_sink_##name,
#include "engine/api/sinks/sink.def"
#undef SINK
};

static const rlf_sink_class *
find(const char *name, size_t n)
{
    for (size_t i = 0; i < RLF_COUNT(classes); i++)
        if (strlen(classes[i]->name) == n &&
            memcmp(classes[i]->name, name, n) == 0)
            return classes[i];
    return NULL;
}

static rlf_status
refuse(const char *name, size_t n, rlf_err *err)
{
    rlf_buf known = {0};
    for (size_t i = 0; i < RLF_COUNT(classes); i++)
        rlf_buf_printf(&known, "%s%s", i ? ", " : "", classes[i]->name);
    rlf_fail(err, RLF_USAGE,
             "--report-to takes names with commas between "
             "them, and \"%.*s\" is none of them",
             (int)n, name);
    rlf_err_hint(err, "there are: %s", known.p);
    rlf_buf_free(&known);
    return RLF_USAGE;
}

rlf_status
rlf_sinks_set(rlf_session *s, const char *names, rlf_err *err)
{
    s->sinks.count = 0;
    for (const char *at = names;; at++) {
        size_t n = strcspn(at, ",");
        const rlf_sink_class *class = find(at, n);
        if (!class)
            return refuse(at, n, err);
        RLF_TRY(class->check(err));
        bool twice = false;
        for (size_t i = 0; i < s->sinks.count; i++)
            twice |= s->sinks.data[i].class == class;
        if (!twice)
            RLF_PUSH_IN(s->arena, &s->sinks, ((rlf_sink){.class = class}));
        at += n;
        if (!*at)
            return RLF_OK;
    }
}

rlf_status
rlf_sinks_check(const rlf_session *s, rlf_err *err)
{
    if (!s->sinks.count || s->options.directory || s->options.leaves)
        return RLF_OK;
    return rlf_fail(err, RLF_USAGE,
                    "--report-to writes into the run's directory, and there is "
                    "none: --out names it");
}

/* ---- a step ---- */

typedef struct metrics {
    rlf_sink_metric *data;
    size_t count, room;
} metrics;

static void
add(metrics *list, rlf_arena *arena, const char *name, double value)
{
    RLF_PUSH_IN(arena, list, ((rlf_sink_metric){name, value}));
}

/* What a line of metrics.jsonl has, in its order. */
static void
list_metrics(const rlf_session *s, rlf_arena *arena, metrics *out)
{
    const rlf_metrics *all = rlf_run_metrics(s->run);
    const char *name;
    for (size_t i = 0; (name = rlf_metrics_name(all, i)); i++) {
        double value;
        bool something = false;
        for (size_t k = 0; k < all->count; k++)
            something |=
                all->data[k].count && strcmp(all->data[k].name, name) == 0;
        if (something && rlf_metrics_get(all, name, &value))
            add(out, arena, name, value);
    }
    add(out, arena, "tokens", (double)s->steps.tokens);
    add(out, arena, "seconds", s->steps.seconds);
    double rest = s->steps.seconds;
    for (int i = 0; i < RLF_TIMES; i++) {
        double seconds = rlf_run_seconds(s->run, i);
        rest -= seconds;
        add(out, arena,
            rlf_arena_printf(arena, "seconds.%s", rlf_time_names[i]), seconds);
    }
    add(out, arena, "seconds.rest", rest > 0 ? rest : 0);
}

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- what somebody has removed ---- */

/* Gives the sink a step of metrics.jsonl: what each column has at its place,
 * which goes forward. */
static rlf_status
add_recorded(rlf_sink *sink, rlf_record *record, uint32_t number, double time,
             size_t *place, rlf_err *err)
{
    const rlf_recorded_metric *m;
    rlf_recorded_sets none = {0};
    rlf_arena *arena = rlf_arena_new();
    metrics all = {0};
    for (size_t i = 0; (m = rlf_record_metric(record, i)); i++) {
        while (place[i] < m->n && m->step[place[i]] < number)
            place[i]++;
        if (place[i] < m->n && m->step[place[i]] == number)
            add(&all, arena, m->name, m->value[place[i]]);
    }
    const rlf_sink_step step = {.step = number,
                                .time = time,
                                .metrics = all.data,
                                .n_metrics = all.count,
                                .sets = &none};
    rlf_status status = sink->class->step(sink->state, &step, err);
    rlf_arena_free(arena);
    return status;
}

/* Gives the sink what metrics.jsonl has of the steps behind `from`, up to `to`.
 * When they were is known by the seconds that they took, before the time `at`
 * of the last line. */
static rlf_status
fill(const rlf_session *s, rlf_sink *sink, uint32_t from, uint32_t to,
     double at, rlf_err *err)
{
    rlf_record *record = rlf_record_open(s->options.directory);
    const rlf_recorded_metric *seconds =
        rlf_record_metric_called(record, "seconds");
    size_t columns = 0, n = seconds ? seconds->n : 0;
    while (rlf_record_metric(record, columns))
        columns++;
    size_t *place = rlf_calloc(columns + 1, sizeof *place);
    double *time = rlf_calloc(n + 1, sizeof *time);
    const uint64_t *step =
        n ? rlf_record_metric_called(record, "seconds")->step : NULL;
    time[n] = at;
    for (size_t i = n; i-- > 0;) {
        double took = rlf_record_metric_called(record, "seconds")->value[i];
        time[i] = time[i + 1] - (isfinite(took) ? took : 0);
    }
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < n && status >= 0; i++)
        if (step[i] > from && step[i] <= to)
            status = add_recorded(sink, record, (uint32_t)step[i], time[i + 1],
                                  place, err);
    free(time);
    free(place);
    rlf_record_close(record);
    return status;
}

/* A sink whose file somebody has removed begins again, with the steps up to
 * `to`; the last step was done at `at`. */
static rlf_status
renew(rlf_session *s, rlf_sink *sink, uint32_t to, double at, rlf_err *err)
{
    const char *lost = sink->state ? sink->class->lost(sink->state) : NULL;
    if (!lost)
        return RLF_OK;
    rlf_buf_line(&s->warned.lines,
                 "%s was removed or emptied while the run writes to it: the "
                 "run makes it again, of what metrics.jsonl has of the steps "
                 "before\n",
                 lost);
    sink->class->close(sink->state);
    sink->state = NULL;
    RLF_TRY(sink->class->open(s, err, &sink->state));
    return fill(s, sink, sink->class->has(sink->state), to, at, err);
}

/* ---- steps ---- */

rlf_status
rlf_sinks_step(rlf_session *s, rlf_err *err)
{
    if (!s->sinks.count)
        return RLF_OK;
    rlf_arena *arena = rlf_arena_new();
    rlf_recorded_sets sets = {0};
    metrics all = {0};
    list_metrics(s, arena, &all);
    rlf_status status =
        rlf_run_recorded(s->run, s->options.samples, arena, err, &sets);
    const rlf_sink_step step = {.step = rlf_run_steps(s->run),
                                .time = now(),
                                .metrics = all.data,
                                .n_metrics = all.count,
                                .sets = &sets};
    for (size_t i = 0; i < s->sinks.count && status >= 0; i++) {
        rlf_sink *sink = &s->sinks.data[i];
        uint64_t from = rlf_tracing_now(s);
        status = renew(s, sink, step.step - 1, step.time, err);
        if (!sink->state && status >= 0)
            status = sink->class->open(s, err, &sink->state);
        if (status >= 0)
            status = sink->class->step(sink->state, &step, err);
        rlf_tracing_span(s, "write", sink->class->name, from);
    }
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_sinks_sync(rlf_session *s, rlf_err *err)
{
    for (size_t i = 0; i < s->sinks.count; i++) {
        rlf_sink *sink = &s->sinks.data[i];
        RLF_TRY(renew(s, sink, rlf_run_steps(s->run), now(), err));
        if (sink->state)
            RLF_TRY(sink->class->sync(sink->state, err));
    }
    return RLF_OK;
}

void
rlf_sinks_close(rlf_session *s)
{
    for (size_t i = 0; i < s->sinks.count; i++) {
        if (s->sinks.data[i].state)
            s->sinks.data[i].class->close(s->sinks.data[i].state);
        s->sinks.data[i].state = NULL;
    }
}
