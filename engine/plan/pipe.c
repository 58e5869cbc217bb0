/* Pipeline tables, checked and timed: see pipe.h. Both walk a table the same
 * way: every place goes on until its next operation lacks something. */
#include "engine/plan/pipe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* One operation at its stage. */
typedef struct task {
    int model, stage, micro;
    rlf_pipe_kind kind;
} task;

/* A table being walked. */
typedef struct walk {
    const rlf_pipe *pipe;
    const rlf_pipe_cost *const *cost; /* NULL: nothing takes time */
    size_t *base;                     /* by model: its first task's number */
    /* By model: its stages, place by place, in order of the path; those of a
     * place are stage[first[place]] .. stage[first[place + 1] - 1]. */
    int **stage, **first_stage;
    double *end;    /* by task number: when it ended; < 0: not yet */
    int *next;      /* by place: what it does next */
    double *idle;   /* by place: since when */
    double *first;  /* by place: when it first started something */
    double **start; /* by place and index in its list, or NULL */
} walk;

#define NEVER (-1.0)

/* Names for messages */

/* "forward of micro-batch 3 of actor"; the chunk where there are several. */
static const char *
name_of(const rlf_pipe *pipe, rlf_pipe_op op, char *out, size_t room)
{
    static const char *const words[] = {"forward", "backward",
                                        "weight gradient"};
    const rlf_pipe_model *m = &pipe->models[op.model];
    char chunk[32] = "";
    if (op.chunk)
        snprintf(chunk, sizeof chunk, " on chunk %d", op.chunk);
    snprintf(out, room, "%s of micro-batch %d of %.*s%s", words[op.kind],
             op.micro, RLF_CUT(40, m->name), chunk);
    return out;
}

/* Stages and chunks */

int
rlf_pipe_stage(const rlf_pipe_model *model, int place, int chunk)
{
    for (int k = 0; k < model->stages; k++)
        if (model->path[k] == place && chunk-- == 0)
            return k;
    return -1;
}

static int
chunk_of(const rlf_pipe_model *model, int stage)
{
    int chunk = 0;
    for (int k = 0; k < stage; k++)
        chunk += model->path[k] == model->path[stage];
    return chunk;
}

static rlf_pipe_op
op_of(const rlf_pipe *pipe, task t)
{
    int chunk = chunk_of(&pipe->models[t.model], t.stage);
    return (rlf_pipe_op){t.model, t.micro, chunk, t.kind};
}

/* The task of an operation whose chunk is there. */
static task
task_of(const walk *w, int place, rlf_pipe_op op)
{
    int first = w->first_stage[op.model][place];
    int stage = w->stage[op.model][first + op.chunk];
    return (task){op.model, stage, op.micro, op.kind};
}

static int
place_of(const rlf_pipe *pipe, task t)
{
    return pipe->models[t.model].path[t.stage];
}

/* The operation that ends what a stage does with a micro-batch. */
static rlf_pipe_kind
last_kind(const rlf_pipe_model *m)
{
    return m->forward_only ? RLF_PIPE_FORWARD
           : m->split      ? RLF_PIPE_WEIGHTS
                           : RLF_PIPE_BACKWARD;
}

/* The tasks that must have ended before: its own operation of the kind before,
 * and its neighbour going the same way. Returns how many (0 to 2). */
static int
needs(const rlf_pipe *pipe, task t, task *out)
{
    int n = 0, last = pipe->models[t.model].stages - 1;
    bool back = t.kind == RLF_PIPE_BACKWARD;
    if (t.kind != RLF_PIPE_FORWARD)
        out[n++] = (task){t.model, t.stage, t.micro, t.kind - 1};
    if (t.kind == RLF_PIPE_WEIGHTS)
        return n;
    if (back ? t.stage < last : t.stage > 0) {
        int neighbour = back ? t.stage + 1 : t.stage - 1;
        out[n++] = (task){t.model, neighbour, t.micro, t.kind};
    }
    return n;
}

/* Walking */

static size_t
task_number(const walk *w, task t)
{
    const rlf_pipe_model *m = &w->pipe->models[t.model];
    size_t micros = (size_t)m->micros;
    return w->base[t.model] +
           RLF_PIPE_KINDS * ((size_t)t.stage * micros + (size_t)t.micro) +
           t.kind;
}

/* Returns how many stages of a model a place has. */
static int
chunks_of(const walk *w, int model, int place)
{
    const int *first = w->first_stage[model];
    return first[place + 1] - first[place];
}

static void
sort_stages(const rlf_pipe *pipe, int model, rlf_arena *scratch, walk *w)
{
    const rlf_pipe_model *m = &pipe->models[model];
    int *first = RLF_NEW_ARRAY(scratch, int, pipe->places + 2);
    int *stage = RLF_NEW_ARRAY(scratch, int, m->stages);
    for (int k = 0; k < m->stages; k++)
        first[m->path[k] + 2]++;
    for (int p = 0; p < pipe->places; p++)
        first[p + 2] += first[p + 1];
    for (int k = 0; k < m->stages; k++)
        stage[first[m->path[k] + 1]++] = k;
    w->first_stage[model] = first;
    w->stage[model] = stage;
}

static void
walk_start(walk *w, const rlf_pipe *pipe, const rlf_pipe_cost *const *cost,
           rlf_arena *scratch)
{
    size_t n = 0;
    *w = (walk){.pipe = pipe, .cost = cost};
    w->base = RLF_NEW_ARRAY(scratch, size_t, pipe->n_models + 1);
    w->stage = RLF_NEW_ARRAY(scratch, int *, pipe->n_models + 1);
    w->first_stage = RLF_NEW_ARRAY(scratch, int *, pipe->n_models + 1);
    for (int i = 0; i < pipe->n_models; i++) {
        sort_stages(pipe, i, scratch, w);
        w->base[i] = n;
        n += RLF_PIPE_KINDS * (size_t)pipe->models[i].stages *
             (size_t)pipe->models[i].micros;
    }
    w->base[pipe->n_models] = n;
    w->end = RLF_NEW_ARRAY(scratch, double, n + 1);
    for (size_t i = 0; i < n; i++)
        w->end[i] = NEVER;
    w->next = RLF_NEW_ARRAY(scratch, int, pipe->places);
    w->idle = RLF_NEW_ARRAY(scratch, double, pipe->places);
    w->first = RLF_NEW_ARRAY(scratch, double, pipe->places);
}

/* Returns the moment at which a task could start as far as others are
 * concerned; NEVER, and the task that is missing, if one has not ended. */
static double
ready_at(const walk *w, task t, task *missing)
{
    const rlf_pipe_model *m = &w->pipe->models[t.model];
    const double *end = &w->end[task_number(w, t)];
    ptrdiff_t stage = (ptrdiff_t)RLF_PIPE_KINDS * m->micros;
    int by = t.kind == RLF_PIPE_BACKWARD ? 1 : -1, other = t.stage + by;
    double at = 0;
    *missing = t;
    if (t.kind != RLF_PIPE_FORWARD) {
        missing->kind--;
        if (end[-1] < 0)
            return NEVER;
        at = end[-1];
    }
    if (t.kind == RLF_PIPE_WEIGHTS || other < 0 || other == m->stages)
        return at;
    double came = end[by * stage];
    *missing = (task){t.model, other, t.micro, t.kind};
    if (came < 0)
        return NEVER;
    if (w->cost && m->path[other] != m->path[t.stage])
        came += w->cost[t.model][other < t.stage ? other : t.stage].send;
    return came > at ? came : at;
}

static double
takes(const rlf_pipe_cost *const *cost, task t)
{
    const rlf_pipe_cost *c = cost ? &cost[t.model][t.stage] : NULL;
    return !c                            ? 0
           : t.kind == RLF_PIPE_FORWARD  ? c->forward
           : t.kind == RLF_PIPE_BACKWARD ? c->backward
                                         : c->weights;
}

/* Let a place go on as far as it can. Whether it did anything. */
static bool
walk_place(walk *w, int place)
{
    const rlf_pipe_list *list = &w->pipe->lists[place];
    int first = w->next[place];
    for (; w->next[place] < list->count; w->next[place]++) {
        task t = task_of(w, place, list->ops[w->next[place]]), missing;
        double start = ready_at(w, t, &missing);
        if (start < 0)
            break;
        if (start < w->idle[place])
            start = w->idle[place];
        if (w->next[place] == 0)
            w->first[place] = start;
        if (w->start)
            w->start[place][w->next[place]] = start;
        w->idle[place] = w->end[task_number(w, t)] = start + takes(w->cost, t);
    }
    return w->next[place] > first;
}

static void
walk_all(walk *w)
{
    for (bool went = true; went;) {
        went = false;
        for (int place = 0; place < w->pipe->places; place++)
            went |= walk_place(w, place);
    }
}

/* Checks */

static rlf_status
check_models(const rlf_pipe *pipe, rlf_err *err)
{
    for (int i = 0; i < pipe->n_models; i++) {
        const rlf_pipe_model *m = &pipe->models[i];
        if (m->micros < 1 || m->stages < 1)
            return rlf_fail(err, RLF_USER,
                            "%s has %d micro-batches and %d stages; both are "
                            "at least 1",
                            m->name, m->micros, m->stages);
        for (int k = 0; k < m->stages; k++)
            if (m->path[k] < 0 || m->path[k] >= pipe->places)
                return rlf_fail(err, RLF_USER,
                                "stage %d of %s is at place %d, but the places "
                                "are 0 to %d",
                                k, m->name, m->path[k], pipe->places - 1);
        if (m->split && m->forward_only)
            return rlf_fail(err, RLF_USER,
                            "%s only goes forward, and has no backward to "
                            "split",
                            m->name);
    }
    return RLF_OK;
}

/* True: an operation means something at a place. */
static rlf_status
check_op(const walk *w, int place, int at, rlf_err *err)
{
    const rlf_pipe *pipe = w->pipe;
    rlf_pipe_op op = pipe->lists[place].ops[at];
    if (op.model < 0 || op.model >= pipe->n_models)
        return rlf_fail(err, RLF_USER,
                        "operation %d of place %d is of model %d, but there "
                        "are %d",
                        at, place, op.model, pipe->n_models);
    const rlf_pipe_model *m = &pipe->models[op.model];
    if (op.micro < 0 || op.micro >= m->micros)
        return rlf_fail(err, RLF_USER,
                        "operation %d of place %d is of micro-batch %d of %s, "
                        "which has 0 to %d",
                        at, place, op.micro, m->name, m->micros - 1);
    int chunks = chunks_of(w, op.model, place);
    if (op.chunk < 0 || op.chunk >= chunks)
        return rlf_fail(err, RLF_USER,
                        "operation %d of place %d is of chunk %d of %s, which "
                        "has %d stages there",
                        at, place, op.chunk, m->name, chunks);
    if (op.kind != RLF_PIPE_FORWARD && m->forward_only)
        return rlf_fail(err, RLF_USER,
                        "operation %d of place %d goes backward, but %s only "
                        "goes forward",
                        at, place, m->name);
    if (op.kind == RLF_PIPE_WEIGHTS && !m->split)
        return rlf_fail(err, RLF_USER,
                        "operation %d of place %d is a weight gradient, but "
                        "the backward of %s is not split",
                        at, place, m->name);
    return RLF_OK;
}

/* A place does its operations on a micro-batch by kind, and those that add to
 * gradients by micro-batch. */
static rlf_status
check_order(const walk *w, int place, int at, task t, rlf_err *err)
{
    static const char *const earlier[] = {"", "forward", "backward"};
    static const char *const adds[] = {"", "backward goes",
                                       "weight gradients go"};
    char name[128];
    task before = t;
    if (t.kind == RLF_PIPE_FORWARD)
        return RLF_OK;
    name_of(w->pipe, op_of(w->pipe, t), name, sizeof name);
    before.kind--;
    if (w->end[task_number(w, before)] < 0)
        return rlf_fail(err, RLF_USER,
                        "place %d has %s, its operation %d, before its %s",
                        place, name, at, earlier[t.kind]);
    before = t;
    before.micro--;
    if (t.micro && w->end[task_number(w, before)] < 0)
        return rlf_fail(err, RLF_USER,
                        "place %d has %s, its operation %d, before that of "
                        "micro-batch %d; %s in index order",
                        place, name, at, before.micro, adds[t.kind]);
    return RLF_OK;
}

/* Each operation once, behind what the same place must have done before. Uses
 * w->end as marks: the index in the list. */
static rlf_status
check_list(walk *w, int place, rlf_err *err)
{
    const rlf_pipe_list *list = &w->pipe->lists[place];
    char name[128];
    for (int at = 0; at < list->count; at++) {
        RLF_TRY(check_op(w, place, at, err));
        task t = task_of(w, place, list->ops[at]);
        double *mark = &w->end[task_number(w, t)];
        name_of(w->pipe, list->ops[at], name, sizeof name);
        if (*mark >= 0)
            return rlf_fail(err, RLF_USER,
                            "place %d has %s twice, as operations %d and %d",
                            place, name, (int)*mark, at);
        *mark = at;
        RLF_TRY(check_order(w, place, at, t, err));
    }
    return RLF_OK;
}

static rlf_status
check_complete(const walk *w, rlf_err *err)
{
    const rlf_pipe *pipe = w->pipe;
    char name[128];
    for (int m = 0; m < pipe->n_models; m++)
        for (int k = 0; k < pipe->models[m].stages; k++)
            for (int i = 0; i < pipe->models[m].micros; i++)
                for (rlf_pipe_kind kind = RLF_PIPE_FORWARD;
                     kind <= last_kind(&pipe->models[m]); kind++) {
                    task t = {m, k, i, kind};
                    if (w->end[task_number(w, t)] < 0)
                        return rlf_fail(
                            err, RLF_USER, "place %d has no %s",
                            place_of(pipe, t),
                            name_of(pipe, op_of(pipe, t), name, sizeof name));
                }
    return RLF_OK;
}

/* Follow who waits for whom from the first place that stands still: as each
 * waits for another, it comes to one a second time, and that is a circle. */
static rlf_status
check_progress(const walk *w, rlf_err *err)
{
    const rlf_pipe *pipe = w->pipe;
    char name[128], other[128];
    int place = 0;
    while (place < pipe->places && w->next[place] == pipe->lists[place].count)
        place++;
    if (place == pipe->places)
        return RLF_OK;
    task missing = {0};
    rlf_pipe_op op = {0};
    for (int i = 0; i <= pipe->places; i++) {
        if (i)
            place = place_of(pipe, missing);
        op = pipe->lists[place].ops[w->next[place]];
        ready_at(w, task_of(w, place, op), &missing);
    }
    return rlf_fail(err, RLF_USER,
                    "place %d waits for ever: its operation %d, %s, needs %s "
                    "of place %d first",
                    place, w->next[place], name_of(pipe, op, name, sizeof name),
                    name_of(pipe, op_of(pipe, missing), other, sizeof other),
                    place_of(pipe, missing));
}

/* By how many more micro-batches a stage holds after an operation. */
static int
change_of(const rlf_pipe *pipe, int model, rlf_pipe_kind kind)
{
    return kind == RLF_PIPE_FORWARD                  ? 1
           : kind == last_kind(&pipe->models[model]) ? -1
                                                     : 0;
}

/* The memory that a place holds now of the stages that it has. */
static double
held_now(const walk *w, const rlf_pipe_cost *const *cost, int place,
         int *const *held)
{
    double now = 0;
    for (int m = 0; m < w->pipe->n_models; m++)
        for (int i = w->first_stage[m][place]; i < w->first_stage[m][place + 1];
             i++) {
            int k = w->stage[m][i];
            now += held[m][k] * cost[m][k].memory;
        }
    return now;
}

/* Does a place have a stage that keeps anything? */
static bool
keeps_any(const walk *w, const rlf_pipe_cost *const *cost, int place)
{
    for (int m = 0; m < w->pipe->n_models; m++)
        for (int i = w->first_stage[m][place]; i < w->first_stage[m][place + 1];
             i++)
            if (!w->pipe->models[m].forward_only &&
                cost[m][w->stage[m][i]].memory > 0)
                return true;
    return false;
}

/* The most that a place holds, and the operation at which it first does. */
static double
peak_of(const walk *w, const rlf_pipe_cost *const *cost, int place,
        rlf_arena *scratch, int *at)
{
    const rlf_pipe *pipe = w->pipe;
    const rlf_pipe_list *list = &pipe->lists[place];
    double most = 0;
    *at = 0;
    if (!keeps_any(w, cost, place))
        return 0;
    int **held = RLF_NEW_ARRAY(scratch, int *, pipe->n_models + 1);
    for (int m = 0; m < pipe->n_models; m++)
        held[m] = RLF_NEW_ARRAY(scratch, int, pipe->models[m].stages);
    for (int i = 0; i < list->count; i++) {
        task t = task_of(w, place, list->ops[i]);
        if (pipe->models[t.model].forward_only)
            continue;
        int change = change_of(pipe, t.model, t.kind);
        held[t.model][t.stage] += change;
        double now = change > 0 ? held_now(w, cost, place, held) : 0;
        if (now > most) {
            most = now;
            *at = i;
        }
    }
    return most;
}

static rlf_status
check_memory(const walk *w, const rlf_pipe_cost *const *cost, const double *cap,
             rlf_arena *scratch, rlf_err *err)
{
    const rlf_pipe *pipe = w->pipe;
    for (int place = 0; place < pipe->places && cost && cap; place++) {
        int at;
        double peak = peak_of(w, cost, place, scratch, &at);
        if (peak > cap[place] * (1 + 1e-9))
            return rlf_fail(err, RLF_USER,
                            "place %d holds %g of activations at its operation "
                            "%d, more than its %g",
                            place, peak, at, cap[place]);
    }
    return RLF_OK;
}

/* A walk that is to be checked. */
typedef struct checking {
    const rlf_pipe *pipe;
    rlf_arena *scratch;
    walk walk;
} checking;

static void
start_checking(void *p)
{
    checking *c = p;
    walk_start(&c->walk, c->pipe, NULL, c->scratch);
}

static rlf_status
check_walk(checking *c, const rlf_pipe_cost *const *cost, const double *cap,
           rlf_err *err)
{
    const rlf_pipe *pipe = c->pipe;
    walk *w = &c->walk;
    RLF_TRY(rlf_memory_guard(start_checking, c, "a pipeline's table", err));
    for (int place = 0; place < pipe->places; place++)
        RLF_TRY(check_list(w, place, err));
    RLF_TRY(check_complete(w, err));
    for (size_t i = 0; i < w->base[pipe->n_models]; i++)
        w->end[i] = NEVER;
    walk_all(w);
    RLF_TRY(check_progress(w, err));
    return check_memory(w, cost, cap, c->scratch, err);
}

rlf_status
rlf_pipe_check(const rlf_pipe *pipe, const rlf_pipe_cost *const *cost,
               const double *cap, rlf_err *err)
{
    RLF_TRY(check_models(pipe, err));
    checking c = {.pipe = pipe, .scratch = rlf_arena_new()};
    rlf_status status = check_walk(&c, cost, cap, err);
    rlf_arena_free(c.scratch);
    return status;
}

/* Time */

const rlf_pipe_cost *const *
rlf_pipe_even(const rlf_pipe *pipe, const rlf_pipe_cost *cost, rlf_arena *arena)
{
    const rlf_pipe_cost **even =
        RLF_NEW_ARRAY(arena, const rlf_pipe_cost *, pipe->n_models);
    for (int m = 0; m < pipe->n_models; m++) {
        rlf_pipe_cost *stages =
            RLF_NEW_ARRAY(arena, rlf_pipe_cost, pipe->models[m].stages);
        for (int k = 0; k < pipe->models[m].stages; k++)
            stages[k] = cost[m];
        even[m] = stages;
    }
    return even;
}

void
rlf_pipe_time(const rlf_pipe *pipe, const rlf_pipe_cost *const *cost,
              rlf_arena *arena, rlf_pipe_report *out, double **start)
{
    walk w;
    rlf_arena *scratch = rlf_arena_scratch(arena);
    walk_start(&w, pipe, cost, scratch);
    w.start = start;
    for (int place = 0; place < pipe->places && start; place++)
        start[place] = RLF_NEW_ARRAY(arena, double, pipe->lists[place].count);
    walk_all(&w);
    *out = (rlf_pipe_report){0};
    out->peak = RLF_NEW_ARRAY(arena, double, pipe->places);
    for (int place = 0; place < pipe->places; place++) {
        const rlf_pipe_list *list = &pipe->lists[place];
        int at;
        out->peak[place] = peak_of(&w, cost, place, scratch, &at);
        if (w.idle[place] > out->makespan)
            out->makespan = w.idle[place];
        if (w.idle[place] - w.first[place] > out->span)
            out->span = w.idle[place] - w.first[place];
        for (int i = 0; i < list->count; i++)
            out->busy += takes(cost, task_of(&w, place, list->ops[i]));
    }
    if (out->makespan > 0)
        out->bubble = fmax(0, 1 - out->busy / (pipe->places * out->makespan));
    rlf_arena_free(scratch);
}

/* Messages */

int
rlf_pipe_held(const rlf_pipe *pipe, int model, int place, int chunk)
{
    const rlf_pipe_list *list = &pipe->lists[place];
    int held = 0, most = 0;
    for (int i = 0; i < list->count; i++) {
        rlf_pipe_op op = list->ops[i];
        if (op.model != model || op.chunk != chunk)
            continue;
        held += change_of(pipe, model, op.kind);
        most = held > most ? held : most;
    }
    return most;
}

int
rlf_pipe_owed(const rlf_pipe *pipe, int model, int place, int chunk)
{
    const rlf_pipe_list *list = &pipe->lists[place];
    int owed = 0, most = 0;
    for (int i = 0; i < list->count; i++) {
        rlf_pipe_op op = list->ops[i];
        if (op.model != model || op.chunk != chunk)
            continue;
        owed += op.kind == RLF_PIPE_BACKWARD;
        owed -= op.kind == RLF_PIPE_WEIGHTS;
        most = owed > most ? owed : most;
    }
    return most;
}

/* The neighbour that a task gets something from; false: it needs none. */
static bool
before(const rlf_pipe *pipe, task t, task *out)
{
    task of[2];
    int n = needs(pipe, t, of);
    if (!n || of[n - 1].stage == t.stage)
        return false;
    *out = of[n - 1];
    return true;
}

/* The neighbour that waits for a task; false: none does. */
static bool
after(const rlf_pipe *pipe, task t, task *out)
{
    *out = t;
    if (t.kind == RLF_PIPE_WEIGHTS)
        return false;
    out->stage += t.kind == RLF_PIPE_BACKWARD ? -1 : 1;
    return out->stage >= 0 && out->stage < pipe->models[t.model].stages;
}

/* By task: its index in its list, and the channel of what it gets; -1: none. */
typedef struct post {
    walk walk;
    int *at, *channel;
    int *last; /* scratch: by sender and channel, when the last was sent */
    int room;  /* channels there are at most */
} post;

/* Channels of what comes to `place` in one direction, in the order of its
 * forwards: each message takes the first whose last one was sent before it. */
static void
give_channels(post *p, int place, rlf_pipe_kind kind)
{
    const rlf_pipe *pipe = p->walk.pipe;
    const rlf_pipe_list *list = &pipe->lists[place];
    for (int i = 0; i < pipe->places * p->room; i++)
        p->last[i] = -1;
    for (int i = 0; i < list->count; i++) {
        task t = task_of(&p->walk, place, list->ops[i]), from;
        if (t.kind != RLF_PIPE_FORWARD)
            continue;
        t.kind = kind;
        if (p->at[task_number(&p->walk, t)] < 0 || !before(pipe, t, &from))
            continue;
        int *sent = p->last + place_of(pipe, from) * p->room, c = 0;
        int now = p->at[task_number(&p->walk, from)];
        while (sent[c] > now)
            c++;
        sent[c] = now;
        p->channel[task_number(&p->walk, t)] =
            2 * c + (kind == RLF_PIPE_BACKWARD);
    }
}

static void
post_start(post *p, const rlf_pipe *pipe, rlf_arena *scratch)
{
    walk_start(&p->walk, pipe, NULL, scratch);
    size_t n = p->walk.base[pipe->n_models] + 1;
    p->at = RLF_NEW_ARRAY(scratch, int, n);
    p->channel = RLF_NEW_ARRAY(scratch, int, n);
    p->room = 1;
    for (size_t i = 0; i < n; i++)
        p->at[i] = p->channel[i] = -1;
    for (int place = 0; place < pipe->places; place++) {
        const rlf_pipe_list *list = &pipe->lists[place];
        for (int i = 0; i < list->count; i++)
            p->at[task_number(&p->walk,
                              task_of(&p->walk, place, list->ops[i]))] = i;
        p->room = list->count > p->room ? list->count : p->room;
    }
    p->last = RLF_NEW_ARRAY(scratch, int, p->room * pipe->places);
    for (int i = 0; i < 2 * pipe->places; i++)
        give_channels(p, i / 2, i % 2 ? RLF_PIPE_BACKWARD : RLF_PIPE_FORWARD);
}

/* The place that sends a task its input. */
static rlf_pipe_peer
sender(const post *p, task t)
{
    task from;
    int channel = p->channel[task_number(&p->walk, t)];
    if (channel < 0 || !before(p->walk.pipe, t, &from))
        return (rlf_pipe_peer){-1, 0};
    return (rlf_pipe_peer){from.stage, channel};
}

rlf_pipe_link *
rlf_pipe_links(const rlf_pipe *pipe, int place, rlf_arena *arena, int *channels)
{
    post p;
    rlf_arena *scratch = rlf_arena_scratch(arena);
    post_start(&p, pipe, scratch);
    const rlf_pipe_list *list = &pipe->lists[place];
    rlf_pipe_link *links = RLF_NEW_ARRAY(arena, rlf_pipe_link, list->count);
    for (int i = 0; i < list->count; i++) {
        const rlf_pipe_peer none = {-1, 0};
        task t = task_of(&p.walk, place, list->ops[i]), back = t, to;
        back.kind = RLF_PIPE_BACKWARD;
        links[i] = (rlf_pipe_link){none, none, none};
        if (t.kind == RLF_PIPE_FORWARD) {
            links[i].in = sender(&p, t);
            links[i].back = sender(&p, back);
        }
        if (after(pipe, t, &to))
            links[i].out =
                (rlf_pipe_peer){to.stage, p.channel[task_number(&p.walk, to)]};
    }
    *channels = 0;
    for (size_t i = 0; i < p.walk.base[pipe->n_models]; i++)
        if (p.channel[i] >= *channels)
            *channels = p.channel[i] + 1;
    rlf_arena_free(scratch);
    return links;
}
