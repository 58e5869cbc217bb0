/* rlflow schedule: several models in one pipeline at the same time. Prints how
 * long that takes by the ways that are known and by ours, a picture, and writes
 * the table that a program's `schedule: "FILE"` runs. */
#include "engine/cmd/inside.h"
#include "engine/cmd/schedule.h"

#include "engine/base/clock.h"
#include "engine/io/output.h"
#include "engine/fuse/picture.h"

#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WIDE = 100, POINTS = 12 };
enum {
    MOVES = 20000000,         /* where --moves says nothing */
    PUBLISHED_MOVES = 4000000 /* of theirs, which take longer, at most */
};

typedef struct schedule {
    rlf_arena *arena;
    rlf_fuse fuse;
    rlf_fuse_options options;
    uint64_t begun;
    double limit; /* seconds; 0: none */
    bool late;    /* the limit has come */
    double bound;
    rlf_fuse_answer serial, greedy, published, ours;
} schedule;

static volatile sig_atomic_t signalled;

static void
on_signal(int number)
{
    signalled = number;
}

static bool
is_over(void *user)
{
    schedule *s = user;
    s->late |= s->limit > 0 && rlf_clock_since(s->begun) > s->limit;
    return s->late || signalled;
}

/* ---- the table of results ---- */

/* "5" or, where stages differ, "5/5/6". */
static void
put_stages(const rlf_pipe_cost *cost, int stages, size_t field)
{
    int n = 1;
    for (int k = 1; k < stages; k++)
        if (memcmp((const char *)&cost[k] + field,
                   (const char *)&cost[0] + field, sizeof(double)) != 0)
            n = stages;
    for (int k = 0; k < n; k++) {
        double x;
        memcpy(&x, (const char *)&cost[k] + field, sizeof x);
        printf("%s%g", k ? "/" : "", x);
    }
}

static void
put_costs(const rlf_pipe_model *model, const rlf_pipe_cost *cost)
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
        fputs(parts[i].before, stdout);
        put_stages(cost, model->stages, parts[i].field);
        fputs(parts[i].after, stdout);
    }
    putchar('\n');
}

static void
put_models(const schedule *s)
{
    const rlf_fuse *fuse = &s->fuse;
    for (int m = 0; m < fuse->n_models; m++) {
        const rlf_pipe_model *model = &fuse->models[m];
        int first = model->path[0], last = model->path[model->stages - 1];
        bool turns = model->stages > 1 && first == last;
        printf("%c  %s: %d stages at places %d to %d%s, %d micro-batches, ",
               'a' + fuse->turn[m] % 26, model->name, model->stages, first,
               turns ? model->path[model->stages / 2] : last,
               turns ? " and back" : "", model->micros);
        put_costs(model, fuse->cost[m]);
    }
}

static void
put_answer(const schedule *s, const char *what, const rlf_fuse_answer *a)
{
    printf("%-36s %10g %8.1f %% %8.1f %% %9.2f", what, a->makespan,
           100 * a->makespan / s->bound, 100 * a->bubble, a->peak);
    if (a->moves)
        printf(" %10lld", (long long)a->moves);
    if (a->peak > s->fuse.cap[0] * (1 + 1e-9))
        printf("%s  above the cap", a->moves ? "" : "           ");
    putchar('\n');
}

static void
put_results(const schedule *s)
{
    printf("\n%-36s %10s %10s %10s %9s %10s\n%-36s %10g\n", "", "makespan",
           "of bound", "waits", "peak", "moves", "no schedule is shorter than",
           s->bound);
    put_answer(s, "one after the other, 1F1B", &s->serial);
    put_answer(s, "RLHFuse's greedy schedule", &s->greedy);
    if (s->published.makespan > 0)
        put_answer(s, "RLHFuse's annealing", &s->published);
    char what[64];
    snprintf(what, sizeof what, "below %g of memory", s->fuse.cap[0]);
    put_answer(s, what, &s->ours);
    bool shortest = s->ours.makespan <= s->bound * (1 + 1e-9);
    if (shortest)
        puts("the last one is as short as a schedule can be");
    if (s->late && shortest)
        puts("the time limit has cut RLHFuse's annealing off; with more time "
             "that may find another");
    else if (s->late)
        puts("the time limit has cut the search off; with more time it may "
             "find another");
}

/* ---- the curve ---- */

static void
set_cap(schedule *s, double cap)
{
    double *caps = RLF_NEW_ARRAY(s->arena, double, s->fuse.places);
    for (int p = 0; p < s->fuse.places; p++)
        caps[p] = cap;
    s->fuse.cap = caps;
}

/* What a place has to hold: one micro-batch of a model, in all of its stages
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

/* The shortest schedules below caps from half of what 1F1B needs, one after the
 * other, to where the bound is reached; a larger cap never has a longer one. */
static rlf_status
put_curve(schedule *s, rlf_err *err)
{
    const double *cap = s->fuse.cap;
    double step = s->serial.peak / 8, least = least_cap(&s->fuse);
    rlf_fuse_answer best = {0};
    printf("\n%9s %10s %10s %10s %9s\n", "cap", "makespan", "of bound", "waits",
           "peak");
    for (int i = 4; i < 4 + POINTS && !is_over(s); i++) {
        rlf_fuse_answer a;
        if (step * i < least * (1 - 1e-9))
            continue;
        set_cap(s, step * i);
        RLF_TRY(rlf_fuse_search(&s->fuse, &s->options, s->arena, err, &a));
        if (best.makespan <= 0 || a.makespan < best.makespan)
            best = a;
        printf("%9.2f %10g %8.1f %% %8.1f %% %9.2f\n", step * i, best.makespan,
               100 * best.makespan / s->bound, 100 * best.bubble, best.peak);
        fflush(stdout);
        if (best.makespan <= s->bound * (1 + 1e-9))
            break;
    }
    s->fuse.cap = cap;
    return RLF_OK;
}

/* ---- files ---- */

static rlf_status
write_table(const schedule *s, const rlf_command_line *line, rlf_err *err)
{
    const rlf_option_value *options = line->options;
    rlf_buf text = {0};
    rlf_buf_printf(
        &text, "# rlflow schedule --models %s --times %s --memory %s",
        options[RLF_OPTION_MODELS].text, options[RLF_OPTION_TIMES].text,
        options[RLF_OPTION_MEMORY].text);
    if (options[RLF_OPTION_SEND].given)
        rlf_buf_printf(&text, " --send %s", options[RLF_OPTION_SEND].text);
    rlf_buf_printf(&text,
                   " --cap %g\n# ends at %g, holds %g at most; no schedule "
                   "ends before %g\n",
                   s->fuse.cap[0], s->ours.makespan, s->ours.peak, s->bound);
    rlf_pipe_print(&s->ours.pipe, &text);
    rlf_status status =
        rlf_output_write(options[RLF_OPTION_TABLE].text, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static rlf_status
write_svg(const schedule *s, const char *path, rlf_err *err)
{
    rlf_buf text = {0};
    rlf_picture_svg(&s->fuse, &s->ours, &text);
    rlf_status status = rlf_output_write(path, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

/* ---- the command ---- */

static rlf_status
search(schedule *s, rlf_err *err)
{
    rlf_fuse *fuse = &s->fuse;
    s->bound = rlf_fuse_bound(fuse, s->arena);
    RLF_TRY(rlf_fuse_greedy(fuse, s->arena, err, &s->greedy));
    RLF_TRY(rlf_fuse_search(fuse, &s->options, s->arena, err, &s->ours));
    rlf_fuse_options options = s->options;
    if (options.moves > PUBLISHED_MOVES)
        options.moves = PUBLISHED_MOVES;
    if (!is_over(s))
        RLF_TRY(
            rlf_fuse_published(fuse, &options, s->arena, err, &s->published));
    return RLF_OK;
}

static rlf_status
schedule_all(schedule *s, const rlf_command_line *line, rlf_err *err)
{
    const rlf_option_value *options = line->options;
    double cap;
    RLF_TRY(rlf_cmd_outputs(line, err));
    RLF_TRY(rlf_schedule_read(line, s->arena, err, &s->fuse, &cap));
    if (cap > 0)
        set_cap(s, cap);
    RLF_TRY(rlf_fuse_check(&s->fuse, err));
    rlf_fuse_serial(&s->fuse, s->arena, &s->serial);
    if (!(cap > 0))
        set_cap(s, s->serial.peak);
    s->options = (rlf_fuse_options){
        .seed = (uint64_t)options[RLF_OPTION_SEED].number,
        .moves = options[RLF_OPTION_MOVES].given
                     ? options[RLF_OPTION_MOVES].number
                     : MOVES,
        .stop = is_over,
        .user = s,
    };
    if (options[RLF_OPTION_TIME_LIMIT].given)
        s->limit = (double)options[RLF_OPTION_TIME_LIMIT].number;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    RLF_TRY(search(s, err));
    put_models(s);
    put_results(s);
    rlf_buf text = {0};
    rlf_picture_text(&s->fuse, &s->ours, WIDE, &text);
    printf("\n%s", text.p);
    rlf_buf_free(&text);
    if (options[RLF_OPTION_TABLE].given)
        RLF_TRY(write_table(s, line, err));
    if (options[RLF_OPTION_SVG].given)
        RLF_TRY(write_svg(s, options[RLF_OPTION_SVG].text, err));
    if (options[RLF_OPTION_CURVE].given)
        RLF_TRY(put_curve(s, err));
    return RLF_OK;
}

int
rlf_cmd_schedule(const rlf_command_line *line)
{
    rlf_err err = RLF_ERR_NONE;
    schedule s = {.arena = rlf_arena_new(), .begun = rlf_clock_now()};
    rlf_status status = schedule_all(&s, line, &err);
    rlf_arena_free(s.arena);
    if (status < 0)
        rlf_cmd_say(&err, NULL);
    if (status < 0)
        return status == RLF_USAGE ? 2 : status == RLF_USER ? 1 : 3;
    if (!signalled)
        return 0;
    rlf_cmd_aside("rlflow: stopped by signal %d; the schedule is the best "
                  "that was found until then\n",
                  (int)signalled);
    return 128 + (int)signalled;
}
