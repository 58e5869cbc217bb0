/* Schedules of several models in one pipeline: see rlflow.h. How long that
 * takes by the ways that are known and by ours, a picture, and the table that a
 * program's `schedule: "FILE"` runs. */
#include "engine/api/simulating/schedule.h"

#include "engine/api/session.h"
#include "engine/api/rundir/rundir.h"
#include "engine/base/clock.h"
#include "engine/base/option.h"
#include "engine/base/vec.h"
#include "engine/fuse/picture.h"
#include "engine/io/output.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { WIDE = 100, POINTS = 12, FIRST_POINT = 4 };
enum {
    MOVES = 20000000,         /* where --moves says nothing */
    PUBLISHED_MOVES = 4000000 /* of theirs, which take longer, at most */
};

struct rlf_schedule {
    rlf_arena *arena;
    locale_t locale;
    rlf_err err;
    rlf_buf message, text;
    rlf_schedule_options asked;
    rlf_outputs outputs;
    rlf_watch_function *watch; /* of the search, with its argument */
    void *arg;
    rlf_fuse fuse;
    rlf_fuse_options options;
    uint64_t begun;
    bool late; /* the limit has come */
    double bound;
    rlf_fuse_answer serial, greedy, published, ours;
    struct {
        rlf_schedule_point *data;
        size_t count, room;
    } curve;
    int next;             /* which cap the curve's next point is of */
    rlf_fuse_answer best; /* of the curve so far */
    rlf_schedule_point answer;
};

static bool
is_over(void *user)
{
    rlf_schedule *s = user;
    const rlf_progress progress = {.phase = RLF_PHASE_SEARCH, .best = NAN};
    s->late |= s->asked.limit > 0 &&
               rlf_clock_since(s->begun) > (double)s->asked.limit;
    return s->late || (s->watch && s->watch(s->arg, &progress) != 0);
}

/* ---- the table of results ---- */

/* "5" or, where stages differ, "5/5/6". */
static void
put_stages(const rlf_pipe_cost *cost, int stages, size_t field, rlf_buf *out)
{
    int n = 1;
    for (int k = 1; k < stages; k++)
        if (memcmp((const char *)&cost[k] + field,
                   (const char *)&cost[0] + field, sizeof(double)) != 0)
            n = stages;
    for (int k = 0; k < n; k++) {
        double x;
        memcpy(&x, (const char *)&cost[k] + field, sizeof x);
        rlf_buf_printf(out, "%s%g", k ? "/" : "", x);
    }
}

static void
put_costs(const rlf_pipe_model *model, const rlf_pipe_cost *cost, rlf_buf *out)
{
    const struct {
        const char *before, *after;
        size_t field;
        bool any;
    } parts[] = {
        {"", " forward", offsetof(rlf_pipe_cost, forward), true},
        {", ", " backward", offsetof(rlf_pipe_cost, backward), true},
        {", ", " weights", offsetof(rlf_pipe_cost, weights), model->split},
        {", keeps ", "", offsetof(rlf_pipe_cost, memory), true},
        {", ", " to the next place", offsetof(rlf_pipe_cost, send),
         cost[0].send > 0},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].any)
            continue;
        rlf_buf_puts(out, parts[i].before);
        put_stages(cost, model->stages, parts[i].field, out);
        rlf_buf_puts(out, parts[i].after);
    }
    rlf_buf_putc(out, '\n');
}

static void
put_models(const rlf_schedule *s, rlf_buf *out)
{
    const rlf_fuse *fuse = &s->fuse;
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        int first = model->path[0], last = model->path[model->stages - 1];
        bool turns = model->stages > 1 && first == last;
        rlf_buf_printf(out, "%c  %s: %d stage%s at place",
                       'a' + fuse->turn[m] % 26, model->name, model->stages,
                       model->stages == 1 ? "" : "s");
        if (model->stages == 1)
            rlf_buf_printf(out, " %d", first);
        else
            rlf_buf_printf(out, "s %d to %d%s", first,
                           turns ? model->path[model->stages / 2] : last,
                           turns ? " and back" : "");
        rlf_buf_printf(out, ", %d micro-batch%s, ", model->micros,
                       model->micros == 1 ? "" : "es");
        put_costs(model, fuse->cost[m], out);
    }
}

static void
put_answer(const rlf_schedule *s, const char *what, const rlf_fuse_answer *a,
           rlf_buf *out)
{
    rlf_buf_printf(out, "%-36s %10g %8.1f %% %8.1f %% ", what, a->makespan,
                   100 * a->makespan / s->bound, 100 * a->bubble);
    rlf_buf_printf(out, a->peak < 1e6 ? "%9.2f" : "%9.4g", a->peak);
    if (a->moves)
        rlf_buf_printf(out, " %10lld", (long long)a->moves);
    if (a->peak > s->fuse.cap[0] * (1 + 1e-9))
        rlf_buf_printf(out, "%s  above the cap", a->moves ? "" : "           ");
    rlf_buf_putc(out, '\n');
}

static void
put_results(const rlf_schedule *s, rlf_buf *out)
{
    rlf_buf_printf(out, "\n%-36s %10s %10s %10s %9s %10s\n%-36s %10g\n", "",
                   "makespan", "of bound", "waits", "peak", "moves",
                   "no schedule is shorter than", s->bound);
    put_answer(s, "one after the other, 1F1B", &s->serial, out);
    put_answer(s, "RLHFuse's greedy schedule", &s->greedy, out);
    if (s->published.makespan > 0)
        put_answer(s, "RLHFuse's annealing", &s->published, out);
    char what[64];
    snprintf(what, sizeof what, "below %g of memory", s->fuse.cap[0]);
    put_answer(s, what, &s->ours, out);
    bool shortest = s->ours.makespan <= s->bound * (1 + 1e-9);
    if (shortest)
        rlf_buf_puts(out, "the last one is as short as a schedule can be\n");
    if (s->late && shortest)
        rlf_buf_puts(out,
                     "the time limit has cut RLHFuse's annealing off; with "
                     "more time that may find another\n");
    else if (s->late)
        rlf_buf_puts(out, "the time limit has cut the search off; with more "
                          "time it may find another\n");
}

/* ---- the curve ---- */

static void
set_cap(rlf_schedule *s, double cap)
{
    double *caps = RLF_NEW_ARRAY(s->arena, double, s->fuse.places);
    for (int p = 0; p < s->fuse.places; p++)
        caps[p] = cap;
    s->fuse.cap = caps;
}

static rlf_schedule_point
point_of(const rlf_schedule *s, double cap, const rlf_fuse_answer *a)
{
    return (rlf_schedule_point){.cap = cap,
                                .makespan = a->makespan,
                                .bound = s->bound,
                                .waits = a->bubble,
                                .peak = a->peak};
}

/* The least that a place has to hold: one micro-batch of a model, in all stages
 * there. */
static double
least_cap(const rlf_fuse *fuse)
{
    double most = 0;
    for (int m = 0; m < fuse->n_models; m++)
        for (int p = 0; p < fuse->places; p++) {
            double held = 0;
            for (int k = 0; k < fuse->models[m].stages; k++)
                if (fuse->models[m].path[k] == p)
                    held += fuse->cost[m][k].memory;
            most = held > most ? held : most;
        }
    return most;
}

/* The next of the shortest schedules below caps from half of what 1F1B needs,
 * one after the other, to where the bound is reached; a larger cap never has a
 * longer one. False: that was all. */
static rlf_status
add_point(rlf_schedule *s, rlf_err *err, bool *added)
{
    const double *cap = s->fuse.cap;
    double step = s->serial.peak / 8, least = least_cap(&s->fuse);
    rlf_fuse_answer a;
    *added = false;
    while (s->next < FIRST_POINT + POINTS &&
           step * s->next < least * (1 - 1e-9))
        s->next++;
    if (s->next == FIRST_POINT + POINTS || is_over(s) ||
        (s->curve.count && s->best.makespan <= s->bound * (1 + 1e-9)))
        return RLF_OK;
    set_cap(s, step * s->next);
    rlf_status status =
        rlf_fuse_search(&s->fuse, &s->options, s->arena, err, &a);
    s->fuse.cap = cap;
    RLF_TRY(status);
    if (!s->curve.count || a.makespan < s->best.makespan)
        s->best = a;
    RLF_PUSH_IN(s->arena, &s->curve, point_of(s, step * s->next++, &s->best));
    *added = true;
    return RLF_OK;
}

/* ---- what it gives ---- */

static void
put_table(const rlf_schedule *s, rlf_buf *out)
{
    const rlf_schedule_options *o = &s->asked;
    rlf_buf_printf(out, "# rlflow schedule --models %s --times %s --memory %s",
                   o->models, o->times, o->memory);
    if (o->send)
        rlf_buf_printf(out, " --send %s", o->send);
    rlf_buf_printf(out,
                   " --cap %g\n# ends at %g, holds %g at most; no schedule "
                   "ends before %g\n",
                   s->fuse.cap[0], s->ours.makespan, s->ours.peak, s->bound);
    rlf_pipe_print(&s->ours.pipe, out);
}

static void
put_report(const rlf_schedule *s, rlf_buf *out)
{
    put_models(s, out);
    put_results(s, out);
    rlf_buf_putc(out, '\n');
    rlf_picture_text(&s->fuse, &s->ours, WIDE, out);
}

static void
put_svg(const rlf_schedule *s, rlf_buf *out)
{
    rlf_picture_svg(&s->fuse, &s->ours, out);
}

/* A text of the answer; NULL: there is none. */
static const char *
text_of(rlf_schedule *s, void (*put)(const rlf_schedule *s, rlf_buf *out))
{
    if (!s || !s->ours.pipe.places)
        return NULL;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_buf_clear(&s->text);
    put(s, &s->text);
    rlf_locale_leave(before);
    return s->text.p;
}

const char *
rlf_schedule_report(rlf_schedule *s)
{
    return text_of(s, put_report);
}

const char *
rlf_schedule_table(rlf_schedule *s)
{
    return text_of(s, put_table);
}

const rlf_schedule_point *
rlf_schedule_curve(rlf_schedule *s, size_t i)
{
    bool added = s && s->ours.pipe.places && s->err.status >= 0;
    while (added && i >= s->curve.count)
        if (add_point(s, &s->err, &added) < 0)
            return NULL;
    return s && i < s->curve.count ? &s->curve.data[i] : NULL;
}

static rlf_status
write_text(rlf_schedule *s, const char *path,
           void (*put)(const rlf_schedule *s, rlf_buf *out), rlf_err *err)
{
    if (!path)
        return RLF_OK;
    const char *text = text_of(s, put);
    return rlf_output_write(path, text, strlen(text), err);
}

rlf_result
rlf_schedule_write(rlf_schedule *s)
{
    if (!s || s->err.status < 0)
        return rlf_schedule_status(s);
    if (!s->ours.pipe.places)
        return rlf_session_result(
            rlf_fail(&s->err, RLF_USAGE,
                     "there is nothing to write: no schedule was searched"));
    rlf_status status = write_text(s, s->asked.table, put_table, &s->err);
    if (status >= 0)
        status = write_text(s, s->asked.svg, put_svg, &s->err);
    return rlf_session_result(status);
}

/* ---- what it is asked ---- */

rlf_schedule *
rlf_schedule_open(void)
{
    rlf_schedule *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->arena = rlf_arena_new();
    s->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    s->asked.moves = MOVES;
    s->next = FIRST_POINT;
    rlf_err_clear(&s->err);
    return s;
}

void
rlf_schedule_close(rlf_schedule *s)
{
    if (!s)
        return;
    rlf_buf_free(&s->message);
    rlf_buf_free(&s->text);
    if (s->locale)
        freelocale(s->locale);
    rlf_arena_free(s->arena);
    free(s);
}

/* An option as a text, or as a number. */
static rlf_status
set_option(rlf_schedule *s, const char *name, const char *value, rlf_err *err)
{
    rlf_schedule_options *o = &s->asked;
    const struct {
        rlf_option option;
        const char **text;
        uint64_t *number;
    } options[] = {
        {RLF_OPTION_MODELS, &o->models, NULL},
        {RLF_OPTION_TIMES, &o->times, NULL},
        {RLF_OPTION_MEMORY, &o->memory, NULL},
        {RLF_OPTION_SEND, &o->send, NULL},
        {RLF_OPTION_CAP, &o->cap, NULL},
        {RLF_OPTION_TABLE, &o->table, NULL},
        {RLF_OPTION_SVG, &o->svg, NULL},
        {RLF_OPTION_DIAG, &o->diag, NULL},
        {RLF_OPTION_SEED, NULL, &o->seed},
        {RLF_OPTION_MOVES, NULL, &o->moves},
        {RLF_OPTION_TIME_LIMIT, NULL, &o->limit},
    };
    rlf_option option = rlf_option_called(name);
    for (size_t i = 0; i < RLF_COUNT(options); i++) {
        rlf_option_value read = {0};
        if (options[i].option != option)
            continue;
        RLF_TRY(rlf_option_read(option, value, name, err, &read));
        if (options[i].number)
            *options[i].number = (uint64_t)read.number;
        else
            *options[i].text = rlf_arena_strdup(s->arena, value);
        if (rlf_outputs_has(option))
            rlf_outputs_add(&s->outputs, s->arena, name, value);
        return RLF_OK;
    }
    return rlf_fail(err, RLF_USAGE, "a schedule has no option %s", name);
}

rlf_result
rlf_schedule_set(rlf_schedule *s, const char *name, const char *value)
{
    if (!s || s->err.status < 0)
        return rlf_schedule_status(s);
    if (!name || !value)
        return rlf_session_result(rlf_fail(&s->err, RLF_USAGE,
                                           "rlf_schedule_set: %s is NULL",
                                           name ? "value" : "name"));
    if (s->ours.pipe.places)
        return rlf_session_result(
            rlf_fail(&s->err, RLF_USAGE,
                     "%s is set after the schedule was searched", name));
    return rlf_session_result(set_option(s, name, value, &s->err));
}

/* ---- the search ---- */

/* An error of the problem is one of usage, for options describe it. */
static rlf_status
as_usage(rlf_status status, rlf_err *err)
{
    return status == RLF_USER ? err->status = RLF_USAGE : status;
}

static rlf_status
search(rlf_schedule *s, rlf_err *err)
{
    rlf_fuse *fuse = &s->fuse;
    double cap;
    RLF_TRY(rlf_outputs_try(&s->outputs, err));
    RLF_TRY(rlf_outputs_kinds(&s->outputs, NULL, err));
    RLF_TRY(rlf_schedule_read(&s->asked, s->arena, err, fuse, &cap));
    if (cap > 0)
        set_cap(s, cap);
    RLF_TRY(as_usage(rlf_fuse_check(fuse, err), err));
    rlf_fuse_serial(fuse, s->arena, &s->serial);
    if (!(cap > 0))
        set_cap(s, s->serial.peak);
    s->options = (rlf_fuse_options){
        .seed = s->asked.seed,
        .moves = (int64_t)s->asked.moves,
        .stop = is_over,
        .user = s,
    };
    s->bound = rlf_fuse_bound(fuse, s->arena);
    RLF_TRY(as_usage(rlf_fuse_greedy(fuse, s->arena, err, &s->greedy), err));
    RLF_TRY(as_usage(
        rlf_fuse_search(fuse, &s->options, s->arena, err, &s->ours), err));
    rlf_fuse_options options = s->options;
    if (options.moves > PUBLISHED_MOVES)
        options.moves = PUBLISHED_MOVES;
    if (!is_over(s))
        RLF_TRY(
            rlf_fuse_published(fuse, &options, s->arena, err, &s->published));
    return RLF_OK;
}

const rlf_schedule_point *
rlf_schedule_search(rlf_schedule *s, rlf_watch_function *watch, void *arg)
{
    if (!s || s->err.status < 0)
        return NULL;
    if (s->ours.pipe.places)
        return &s->answer;
    s->begun = rlf_clock_now();
    s->watch = watch;
    s->arg = arg;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = search(s, &s->err);
    rlf_locale_leave(before);
    if (status < 0)
        return NULL;
    s->answer = point_of(s, s->fuse.cap[0], &s->ours);
    return &s->answer;
}

rlf_result
rlf_schedule_status(const rlf_schedule *s)
{
    return s ? rlf_session_result(s->err.status) : RLF_RESULT_MEMORY;
}

const char *
rlf_schedule_message(rlf_schedule *s)
{
    if (!s)
        return "error: there is no memory for a schedule\n";
    rlf_buf_clear(&s->message);
    if (s->err.status < 0 && s->asked.diag && !strcmp(s->asked.diag, "json"))
        rlf_err_print_json(&s->err, NULL, &s->message);
    else if (s->err.status < 0)
        rlf_err_print(&s->err, NULL, &s->message);
    return s->message.p ? s->message.p : "";
}
