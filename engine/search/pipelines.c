/* See pipelines.h. */
#include "engine/search/pipelines.h"

#include <string.h>

/* Tables that are kept, with as many operations together or the last one alone,
 * and answers of each: a search comes back to some hundred tables, of layouts
 * with other words or in less memory. */
enum { TABLES = 256, OPERATIONS = 1 << 20, ANSWERS = 16 };
/* Of a table of more operations than these so many groups of micro-batches are
 * timed, each of as many as there are places. */
enum { WHOLE = 4096, STEADY = 6 };

/* An operation, whose end has its index: which are to end before it starts; 0:
 * none, for which an end of 0 stands. */
typedef struct operation {
    int place, own, other; /* own: the kind before; other: its neighbour's */
    int kind;              /* stage * RLF_PIPE_KINDS + kind: seconds */
    int send;              /* behind these: of the message that it waits for */
} operation;

typedef struct table {
    rlf_pipeline of;
    rlf_arena *arena; /* NULL: no table is here yet */
    operation *op;    /* 1..n, each behind all that it waits for */
    int n;
    double *end, *idle; /* by operation; by place: since when */
    /* Seconds of an operation by stage and kind, of a message by the stage
     * before it, and a last one of 0: those asked for, and those before. */
    int width;
    double *cost, *asked;
    double answer[ANSWERS];
    uint64_t answers; /* that were kept, in turn */
} table;

struct rlf_pipelines {
    rlf_arena *arena;
    table table[TABLES];
    int next;           /* to be replaced: empty, or the oldest one */
    int64_t operations; /* of all */
};

rlf_pipelines *
rlf_pipelines_new(rlf_arena *arena)
{
    rlf_pipelines *p = RLF_NEW(arena, rlf_pipelines);
    p->arena = arena;
    return p;
}

/* ---- tables ---- */

/* The place of an operation's number, by stage, micro-batch and kind. */
static int *
index_of(int *index, int micros, int stage, int micro, rlf_pipe_kind kind)
{
    return &index[(stage * micros + micro) * RLF_PIPE_KINDS + (int)kind];
}

/* The next operation of a place, if what it waits for is in order. */
static bool
put(table *t, const rlf_pipe_model *model, int *index, int place,
    rlf_pipe_op op)
{
    int last = model->stages - 1, micros = t->of.micros, own = 0, other = 0;
    int stage = rlf_pipe_stage(model, place, op.chunk), send = last;
    bool back = op.kind == RLF_PIPE_BACKWARD;
    if (op.kind != RLF_PIPE_FORWARD) {
        own = *index_of(index, micros, stage, op.micro, op.kind - 1);
        if (!own)
            return false;
    }
    if (op.kind != RLF_PIPE_WEIGHTS && stage != (back ? last : 0)) {
        int next = back ? stage + 1 : stage - 1;
        other = *index_of(index, micros, next, op.micro, op.kind);
        if (!other)
            return false;
        if (model->path[next] != model->path[stage])
            send = back ? stage : next;
    }
    t->op[++t->n] =
        (operation){place, own, other, stage * RLF_PIPE_KINDS + (int)op.kind,
                    (last + 1) * RLF_PIPE_KINDS + send};
    *index_of(index, micros, stage, op.micro, op.kind) = t->n;
    return true;
}

static void
make(table *t)
{
    rlf_arena *scratch = rlf_arena_scratch(t->arena);
    int stages = t->of.pp * t->of.chunks, all = 0, before = -1;
    int *index =
        RLF_NEW_ARRAY(scratch, int, RLF_PIPE_KINDS * t->of.micros * stages);
    int *next = RLF_NEW_ARRAY(scratch, int, t->of.pp);
    rlf_pipe pipe;
    rlf_err err = RLF_ERR_NONE;
    rlf_status status = rlf_pipe_named(t->of.schedule, t->of.pp, t->of.micros,
                                       t->of.chunks, scratch, &err, &pipe);
    RLF_ASSERT(status >= 0);
    for (int place = 0; place < pipe.places; place++)
        all += pipe.lists[place].count;
    t->width = stages * RLF_PIPE_KINDS + stages;
    t->cost = RLF_NEW_ARRAY(t->arena, double, t->width);
    t->asked = RLF_NEW_ARRAY(t->arena, double, ANSWERS * t->width);
    t->op = RLF_NEW_ARRAY(t->arena, operation, all + 1);
    t->end = RLF_NEW_ARRAY(t->arena, double, all + 1);
    t->idle = RLF_NEW_ARRAY(t->arena, double, t->of.pp);
    while (t->n > before) {
        before = t->n;
        for (int place = 0; place < t->of.pp; place++) {
            const rlf_pipe_list *list = &pipe.lists[place];
            while (next[place] < list->count &&
                   put(t, pipe.models, index, place, list->ops[next[place]]))
                next[place]++;
        }
    }
    rlf_arena_free(scratch);
}

static void
drop(rlf_pipelines *p, int i)
{
    p->operations -= p->table[i].n;
    rlf_arena_free(p->table[i].arena);
    p->table[i] = (table){0};
}

static table *
table_of(rlf_pipelines *p, const rlf_pipeline *of)
{
    for (int i = 0; i < TABLES; i++) {
        table *t = &p->table[i];
        if (t->arena && t->of.pp == of->pp && t->of.micros == of->micros &&
            t->of.chunks == of->chunks &&
            strcmp(t->of.schedule, of->schedule) == 0)
            return t;
    }
    table *t = &p->table[p->next];
    drop(p, p->next);
    t->arena = rlf_arena_scratch(p->arena);
    t->of = *of;
    t->of.schedule = rlf_arena_strdup(t->arena, of->schedule);
    make(t);
    p->operations += t->n;
    for (int i = 1; i < TABLES && p->operations > OPERATIONS; i++)
        drop(p, (p->next + i) % TABLES);
    p->next = (p->next + 1) % TABLES;
    return t;
}

/* ---- time ---- */

static double
larger(double a, double b)
{
    return a > b ? a : b;
}

/* Every operation starts as soon as it can. */
static double
run(table *t)
{
    const double *cost = t->cost;
    double makespan = 0;
    memset(t->idle, 0, sizeof *t->idle * (size_t)t->of.pp);
    for (int i = 1; i <= t->n; i++) {
        const operation *op = &t->op[i];
        double start =
            larger(t->end[op->own], t->end[op->other] + cost[op->send]);
        start = larger(start, t->idle[op->place]);
        t->end[i] = start + cost[op->kind];
        t->idle[op->place] = t->end[i];
    }
    for (int place = 0; place < t->of.pp; place++)
        makespan = larger(makespan, t->idle[place]);
    return makespan;
}

static double
time_all(rlf_pipelines *p, const rlf_pipeline *of, const rlf_pipe_cost *cost,
         const double *send)
{
    table *t = table_of(p, of);
    size_t bytes = (size_t)t->width * sizeof *t->cost;
    double *c = t->cost;
    for (int s = 0; s < of->pp * of->chunks; s++) {
        *c++ = cost[s].forward;
        *c++ = cost[s].backward;
        *c++ = cost[s].weights;
    }
    for (int s = 0; s < of->pp * of->chunks - 1; s++)
        *c++ = send ? send[s] : 0;
    for (uint64_t k = 0; k < t->answers && k < ANSWERS; k++)
        if (memcmp(t->asked + k * (size_t)t->width, t->cost, bytes) == 0)
            return t->answer[k];
    uint64_t at = t->answers++ % ANSWERS;
    memcpy(t->asked + at * (size_t)t->width, t->cost, bytes);
    return t->answer[at] = run(t);
}

/* In the middle pp micro-batches take as long as the pp before them, but for
 * what repeats only after more of them: half of those that are timed even that
 * out. */
double
rlf_pipelines_time(rlf_pipelines *p, const rlf_pipeline *of,
                   const rlf_pipe_cost *cost, const double *send)
{
    int pp = of->pp, most = WHOLE / (RLF_PIPE_KINDS * pp * of->chunks);
    most = most < STEADY * pp ? STEADY * pp : most;
    if (of->micros < most + pp)
        return time_all(p, of, cost, send);
    rlf_pipeline less = *of, more = *of;
    more.micros -= (of->micros - most) / pp * pp;
    less.micros = more.micros - more.micros / 2 / pp * pp;
    double end = time_all(p, &more, cost, send);
    double each =
        (end - time_all(p, &less, cost, send)) / (more.micros - less.micros);
    return end + each * (of->micros - more.micros);
}
