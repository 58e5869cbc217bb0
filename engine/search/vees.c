/* See vees.h. */
#include "engine/search/vees.h"

#include <string.h>

/* Tables that are kept: micro-batches of a layout are often not whole, and then
 * two tables are asked for in turn. Answers of each that are kept. */
enum { TABLES = 4, ANSWERS = 16 };

/* Seconds of an operation, by chunk and kind. */
typedef struct costs {
    double of[2][RLF_PIPE_KINDS];
} costs;

/* An operation, whose end has its index: which are to end before it starts; 0:
 * none, for which an end of 0 stands. */
typedef struct operation {
    int place, own, other; /* own: the kind before; other: its neighbour's */
    int chunk, kind;
} operation;

typedef struct table {
    int pp, micros;
    rlf_arena *arena; /* NULL: no table is here yet */
    operation *op;    /* 1..n, each behind all that it waits for */
    int n;
    double *end, *idle; /* by operation; by place: since when */
    costs asked[ANSWERS];
    double answer[ANSWERS];
    uint64_t answers; /* that were kept, in turn */
} table;

struct rlf_vees {
    rlf_arena *arena;
    table table[TABLES];
    int next; /* to be replaced */
};

rlf_vees *
rlf_vees_new(rlf_arena *arena)
{
    rlf_vees *v = RLF_NEW(arena, rlf_vees);
    v->arena = arena;
    return v;
}

/* ---- tables ---- */

/* Where it is kept which operation of a stage and a micro-batch is which. */
static int *
index_of(int *index, int micros, int stage, int micro, rlf_pipe_kind kind)
{
    return &index[(stage * micros + micro) * RLF_PIPE_KINDS + (int)kind];
}

/* The next operation of a place, if what it waits for is in order. */
static bool
put(table *t, int *index, int place, rlf_pipe_op op)
{
    int last = 2 * t->pp - 1, own = 0, other = 0;
    int stage = op.chunk ? last - place : place;
    bool back = op.kind == RLF_PIPE_BACKWARD;
    if (op.kind != RLF_PIPE_FORWARD) {
        own = *index_of(index, t->micros, stage, op.micro, op.kind - 1);
        if (!own)
            return false;
    }
    if (op.kind != RLF_PIPE_WEIGHTS && stage != (back ? last : 0)) {
        int next = back ? stage + 1 : stage - 1;
        other = *index_of(index, t->micros, next, op.micro, op.kind);
        if (!other)
            return false;
    }
    t->op[++t->n] = (operation){place, own, other, op.chunk, (int)op.kind};
    *index_of(index, t->micros, stage, op.micro, op.kind) = t->n;
    return true;
}

static void
make(table *t)
{
    rlf_arena *scratch = rlf_arena_scratch(t->arena);
    int all = 2 * RLF_PIPE_KINDS * t->micros * t->pp;
    int *index = RLF_NEW_ARRAY(scratch, int, all);
    int *next = RLF_NEW_ARRAY(scratch, int, t->pp);
    rlf_pipe pipe;
    rlf_pipe_vee(t->pp, t->micros, scratch, &pipe);
    t->op = RLF_NEW_ARRAY(t->arena, operation, all + 1);
    t->end = RLF_NEW_ARRAY(t->arena, double, all + 1);
    t->idle = RLF_NEW_ARRAY(t->arena, double, t->pp);
    while (t->n < all)
        for (int place = 0; place < t->pp; place++) {
            const rlf_pipe_list *list = &pipe.lists[place];
            while (next[place] < list->count &&
                   put(t, index, place, list->ops[next[place]]))
                next[place]++;
        }
    rlf_arena_free(scratch);
}

static table *
table_of(rlf_vees *v, int pp, int micros)
{
    for (int i = 0; i < TABLES; i++) {
        table *t = &v->table[i];
        if (t->arena && t->pp == pp && t->micros == micros)
            return t;
    }
    table *t = &v->table[v->next];
    v->next = (v->next + 1) % TABLES;
    rlf_arena *arena = t->arena ? t->arena : rlf_arena_scratch(v->arena);
    rlf_arena_reset(arena);
    *t = (table){.pp = pp, .micros = micros, .arena = arena};
    make(t);
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
run(table *t, const costs *cost)
{
    double makespan = 0;
    memset(t->idle, 0, sizeof *t->idle * (size_t)t->pp);
    for (int i = 1; i <= t->n; i++) {
        const operation *op = &t->op[i];
        double start = larger(t->end[op->own], t->end[op->other]);
        start = larger(start, t->idle[op->place]);
        t->end[i] = start + cost->of[op->chunk][op->kind];
        t->idle[op->place] = t->end[i];
    }
    for (int place = 0; place < t->pp; place++)
        makespan = larger(makespan, t->idle[place]);
    return makespan;
}

double
rlf_vees_time(rlf_vees *v, int pp, int micros, const rlf_pipe_cost cost[2])
{
    table *t = table_of(v, pp, micros);
    costs c;
    for (int chunk = 0; chunk < 2; chunk++) {
        c.of[chunk][RLF_PIPE_FORWARD] = cost[chunk].forward;
        c.of[chunk][RLF_PIPE_BACKWARD] = cost[chunk].backward;
        c.of[chunk][RLF_PIPE_WEIGHTS] = cost[chunk].weights;
    }
    for (uint64_t k = 0; k < t->answers && k < ANSWERS; k++)
        if (memcmp(&t->asked[k], &c, sizeof c) == 0)
            return t->answer[k];
    uint64_t at = t->answers++ % ANSWERS;
    t->asked[at] = c;
    return t->answer[at] = run(t, &c);
}
