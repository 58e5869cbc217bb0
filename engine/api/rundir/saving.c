/* The moments at which a run saves a checkpoint, besides where its program says
 * so and at its end: every so often, when a metric is better than it ever was,
 * and when a step fails that has not begun to change a model.
 *
 * By default it is time that counts, for what is lost by a kill is time, and a
 * step may take a second or an hour. Which checkpoints there are then depends
 * on the clock; no bit of them does. Which ones stay is decided in
 * engine/sched/retention.c. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/clock.h"
#include "engine/graph/class.h"
#include "engine/sched/manifest.h"
#include "engine/sched/retention.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without --save-every a checkpoint that takes t seconds is followed by at
 * least so many times t without one. */
enum { GENTLY = 20 };
/* Newest checkpoints that stay if nothing else is said. */
enum { KEEP = 2 };

/* ---- what the options take ---- */

static rlf_status
fail_every(const char *text, rlf_err *err)
{
    return rlf_fail(err, RLF_USAGE,
                    "--save-every takes a number of steps, a time like 90s, "
                    "10min or 2h, or never, not \"%s\"",
                    text);
}

rlf_status
rlf_saving_every(rlf_session *s, const char *text, rlf_err *err)
{
    static const struct {
        const char *word;
        double seconds;
    } units[] = {{"s", 1}, {"min", 60}, {"h", 3600}};
    rlf_session_options *o = &s->options;
    bool never = strcmp(text, "never") == 0;
    const char *end = NULL;
    double x = never ? 0 : rlf_str_number(text, &end);
    if (!never && (!(x > 0 && x < 1e9)))
        return fail_every(text, err);
    bool known = never || (!*end && x == floor(x));
    double seconds = 0;
    for (size_t i = 0; !known && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].word) == 0)
            seconds = x * units[i].seconds;
    if (!known && !(seconds > 0))
        return fail_every(text, err);
    o->save_steps = known ? (uint64_t)x : 0;
    o->save_seconds = seconds;
    o->save_gently = false;
    return RLF_OK;
}

rlf_status
rlf_saving_best(rlf_session *s, const char *text, rlf_err *err)
{
    const char *colon = strrchr(text, ':');
    const char *way = colon ? colon + 1 : "max";
    size_t n = colon ? (size_t)(colon - text) : strlen(text);
    rlf_best *best = &s->options.best;
    best->least = strcmp(way, "min") == 0;
    best->metric = rlf_arena_strndup(s->arena, text, n);
    if (n && (best->least || strcmp(way, "max") == 0))
        return RLF_OK;
    rlf_fail(err, RLF_USAGE, "--keep-best takes a metric, not \"%s\"", text);
    rlf_err_hint(err, "as in --keep-best reward, or --keep-best loss:min "
                      "where the lowest value is the best");
    return RLF_USAGE;
}

/* Is the text before the point the name of something that reports of itself,
 * as in actor.gradient? */
static bool
reports_itself(const rlf_graph *graph, const char *metric)
{
    size_t n = strcspn(metric, ".");
    const char *name;
    if (!metric[n])
        return false;
    for (size_t i = 0; i < graph->resources.count; i++) {
        name = graph->resources.data[i].name;
        if (name && strlen(name) == n && memcmp(name, metric, n) == 0)
            return true;
    }
    for (size_t i = 0; i < graph->sets.count; i++) {
        name = graph->sets.data[i].name;
        if (name && strlen(name) == n && memcmp(name, metric, n) == 0)
            return true;
    }
    return false;
}

/* Is one of the arguments before this one, in the nodes that report, the same
 * metric? */
static bool
was_named(const rlf_graph *graph, const rlf_arg *arg)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_args && node->class->reports; k++) {
            if (&node->args[k] == arg)
                return false;
            if (strcmp(node->args[k].name, arg->name) == 0)
                return true;
        }
    }
    return false;
}

rlf_status
rlf_saving_check(const rlf_session *s, rlf_err *err)
{
    const char *metric = s->options.best.metric;
    rlf_buf names = {0};
    bool known = !metric || reports_itself(s->graph, metric);
    for (size_t i = 0; i < s->graph->nodes.count && !known; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!node->class->reports)
            continue;
        for (int k = 0; k < node->n_args; k++) {
            known |= strcmp(node->args[k].name, metric) == 0;
            if (!was_named(s->graph, &node->args[k]))
                rlf_buf_printf(&names, "%s%s", names.n ? ", " : "",
                               node->args[k].name);
        }
    }
    if (!known) {
        rlf_fail(err, RLF_USAGE,
                 "--keep-best %s: the program does not report "
                 "%s",
                 metric, metric);
        rlf_err_hint(err, "it reports %s", names.n ? names.p : "nothing");
    }
    rlf_buf_free(&names);
    return known ? RLF_OK : RLF_USAGE;
}

/* ---- while the run goes on ---- */

/* A resume without the option goes on with what the run was started with. */
void
rlf_saving_begin(rlf_session *s)
{
    const rlf_best *asked = &s->options.best;
    rlf_best *best = &s->directory.metadata.best;
    if (best->metric)
        best->metric = rlf_arena_strdup(s->arena, best->metric);
    if (asked->metric && (!best->metric || asked->least != best->least ||
                          strcmp(asked->metric, best->metric) != 0))
        *best = (rlf_best){.metric = asked->metric, .least = asked->least};
    uint32_t *keep = &s->directory.metadata.keep;
    if (s->options.keep)
        *keep = (uint32_t)s->options.keep;
    else if (!*keep)
        *keep = KEEP;
    s->directory.saved.at = rlf_clock_now();
    s->directory.saved.step = s->steps.resumed;
}

/* Is the step that is done the best one? Then it is noted. */
static bool
is_best(rlf_session *s)
{
    rlf_best *best = &s->directory.metadata.best;
    double x;
    if (!best->metric ||
        !rlf_metrics_get(rlf_run_metrics(s->run), best->metric, &x) ||
        !isfinite(x))
        return false;
    if (best->step && !(best->least ? x < best->value : x > best->value))
        return false;
    best->step = rlf_run_steps(s->run);
    best->value = x;
    return true;
}

static bool
is_time(const rlf_session *s)
{
    const rlf_session_options *o = &s->options;
    if (o->save_steps)
        return rlf_run_steps(s->run) % o->save_steps == 0;
    double since = rlf_clock_since(s->directory.saved.at);
    return o->save_seconds > 0 && since >= o->save_seconds &&
           (!o->save_gently || since >= GENTLY * s->directory.saved.took);
}

rlf_status
rlf_saving_now(rlf_session *s, rlf_err *err)
{
    uint64_t from = rlf_clock_now();
    RLF_TRY(rlf_directory_check(s, err));
    RLF_TRY(rlf_directory_blame(s, rlf_journals_sync(s, err), err));
    s->directory.saved.failed = true; /* until it is written */
    RLF_TRY(rlf_directory_blame(
        s, rlf_run_save(s->run, &s->directory.metadata, err, &s->warned.lines),
        err));
    s->directory.saved.failed = false;
    rlf_tracing_span(s, "write", "checkpoint", from);
    s->directory.saved.at = rlf_clock_now();
    s->directory.saved.took = rlf_clock_since(from);
    s->directory.saved.step = rlf_run_steps(s->run);
    return RLF_OK;
}

static rlf_status
rescue(rlf_session *s, rlf_err *err)
{
    RLF_TRY(rlf_directory_check(s, err));
    RLF_TRY(rlf_directory_blame(s, rlf_journals_sync(s, err), err));
    rlf_status status =
        rlf_run_rescue(s->run, &s->directory.metadata, err, &s->warned.lines);
    return status < 0 ? rlf_directory_blame(s, status, err) : status;
}

/* An error of rlflow itself may have left anything. */
void
rlf_saving_rescue(rlf_session *s, rlf_status cause)
{
    uint32_t step = rlf_run_steps(s->run);
    rlf_err err = RLF_ERR_NONE;
    if (!s->options.directory || !step || s->directory.saved.step == step ||
        cause == RLF_BUG)
        return;
    if (rescue(s, &err) == RLF_OK)
        s->directory.saved.step = step;
    else
        s->directory.saved.why_not = rlf_arena_strdup(s->arena, err.sentence);
    rlf_err_clear(&err);
}

uint32_t
rlf_saving_last(const rlf_session *s)
{
    rlf_checkpoints all;
    rlf_err ignored = RLF_ERR_NONE;
    if (!s->directory.saved.step || rlf_directory_check(s, &ignored) < 0 ||
        rlf_checkpoints_list(s->options.directory, s->arena, &ignored, &all) <
            0)
        return 0;
    for (size_t i = 0; i < all.count; i++)
        if (all.steps[i] == s->directory.saved.step &&
            rlf_manifest_exists(
                rlf_checkpoints_path(&all, all.steps[i], s->arena), s->arena))
            return s->directory.saved.step;
    return 0;
}

rlf_status
rlf_saving_step(rlf_session *s, rlf_err *err)
{
    bool best = is_best(s);
    if (best || rlf_run_wants_checkpoint(s->run) || is_time(s))
        return rlf_saving_now(s, err);
    return RLF_OK;
}
