/* ZB-V: see rlf_pipe_vee in pipe.h.
 *
 * Every place has an order of its forwards and backwards that repeats: one
 * forward and one backward of chunk 0, one of each of chunk 1. It begins with
 * as many forwards as memory has room for. Weight gradients come where a clock
 * that gives one unit to every operation finds a gap: where the next operation
 * waits for another place, or has no room. */
#include "engine/plan/pipe.h"

#include <stdint.h>

/* A stage has ended a micro-batch's forward or backward by then. */
#define NEVER INT32_MAX

typedef struct vee {
    int pp, micros;
    rlf_pipe_list *order; /* by place, without weight gradients */
    rlf_pipe_list *lists; /* by place, with them */
    int *next;            /* by place: in its order */
    int *end[2];          /* by kind, stage and micro-batch */
    int (*owed)[2];       /* by place and chunk: the next weight gradient.. */
    int (*gone)[2];       /* ..and backwards that have ended */
    int *held;            /* by place: micro-batches of both chunks */
} vee;

static int
stage_of(const vee *v, int place, int chunk)
{
    return chunk ? 2 * v->pp - 1 - place : place;
}

/* ---- orders ---- */

/* The next micro-batch of a chunk, if there is one left. */
static void
add_next(const vee *v, rlf_pipe_list *list, int (*count)[2], rlf_pipe_kind kind,
         int chunk)
{
    int *micro = &count[kind][chunk];
    if (*micro < v->micros)
        list->ops[list->count++] = (rlf_pipe_op){0, (*micro)++, chunk, kind};
}

/* Its place holds 2 pp when the first backward comes, and never more. */
static void
make_order(const vee *v, int place, rlf_arena *arena)
{
    rlf_pipe_list *list = &v->order[place];
    int count[2][2] = {{0}};
    list->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, 4 * v->micros);
    for (int i = 0; i < 2 * (v->pp - place) - 1; i++)
        add_next(v, list, count, RLF_PIPE_FORWARD, 0);
    for (int i = 0; i < place; i++) {
        add_next(v, list, count, RLF_PIPE_FORWARD, 1);
        add_next(v, list, count, RLF_PIPE_FORWARD, 0);
    }
    for (int i = place; i < v->pp; i++) {
        add_next(v, list, count, RLF_PIPE_FORWARD, 1);
        add_next(v, list, count, RLF_PIPE_BACKWARD, 1);
    }
    while (list->count < 4 * v->micros)
        for (int chunk = 0; chunk < 2; chunk++) {
            add_next(v, list, count, RLF_PIPE_FORWARD, chunk);
            add_next(v, list, count, RLF_PIPE_BACKWARD, chunk);
        }
}

/* ---- the clock ---- */

static int *
end_of(const vee *v, rlf_pipe_kind kind, int stage, int micro)
{
    return &v->end[kind][stage * v->micros + micro];
}

static bool
is_ready(const vee *v, int place, rlf_pipe_op op, int now)
{
    int stage = stage_of(v, place, op.chunk), last = 2 * v->pp - 1;
    if (op.kind == RLF_PIPE_FORWARD)
        return v->held[place] < 2 * v->pp &&
               (stage == 0 ||
                *end_of(v, RLF_PIPE_FORWARD, stage - 1, op.micro) <= now);
    return *end_of(v, RLF_PIPE_FORWARD, stage, op.micro) <= now &&
           (stage == last ||
            *end_of(v, RLF_PIPE_BACKWARD, stage + 1, op.micro) <= now);
}

/* The chunk whose weight gradient has waited longest; -1: none waits. */
static int
oldest(const vee *v, int place)
{
    const int *owed = v->owed[place], *gone = v->gone[place];
    if (owed[1] < gone[1] && (owed[0] == gone[0] || owed[1] <= owed[0]))
        return 1;
    return owed[0] < gone[0] ? 0 : -1;
}

/* Chooses what a place does in a unit of time. */
static void
take_unit(vee *v, int place, int now)
{
    const rlf_pipe_list *order = &v->order[place];
    rlf_pipe_list *list = &v->lists[place];
    if (v->next[place] < order->count) {
        rlf_pipe_op op = order->ops[v->next[place]];
        if (is_ready(v, place, op, now)) {
            int stage = stage_of(v, place, op.chunk);
            *end_of(v, op.kind, stage, op.micro) = now + 1;
            v->held[place] += op.kind == RLF_PIPE_FORWARD;
            v->gone[place][op.chunk] += op.kind == RLF_PIPE_BACKWARD;
            v->next[place]++;
            list->ops[list->count++] = op;
            return;
        }
    }
    int chunk = oldest(v, place);
    if (chunk < 0)
        return;
    list->ops[list->count++] =
        (rlf_pipe_op){0, v->owed[place][chunk]++, chunk, RLF_PIPE_WEIGHTS};
    v->held[place]--;
}

/* ---- the table ---- */

static void
start(int pp, int micros, rlf_arena *arena, rlf_pipe *out)
{
    int *path = RLF_NEW_ARRAY(arena, int, 2 * pp);
    for (int k = 0; k < 2 * pp; k++)
        path[k] = k < pp ? k : 2 * pp - 1 - k;
    *out = (rlf_pipe){.n_models = 1, .places = pp};
    out->models = RLF_NEW(arena, rlf_pipe_model);
    out->models[0] = (rlf_pipe_model){.name = "model",
                                      .micros = micros,
                                      .stages = 2 * pp,
                                      .path = path,
                                      .split = true};
    out->lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, pp);
    for (int i = 0; i < pp; i++)
        out->lists[i].ops =
            RLF_NEW_ARRAY(arena, rlf_pipe_op, 2 * RLF_PIPE_KINDS * micros);
}

void
rlf_pipe_vee(int pp, int micros, rlf_arena *arena, rlf_pipe *out)
{
    vee v = {.pp = pp, .micros = micros};
    int left = 2 * RLF_PIPE_KINDS * micros * pp;
    start(pp, micros, arena, out);
    v.lists = out->lists;
    v.order = RLF_NEW_ARRAY(arena, rlf_pipe_list, pp);
    v.next = RLF_NEW_ARRAY(arena, int, pp);
    v.held = RLF_NEW_ARRAY(arena, int, pp);
    v.owed = rlf_arena_alloc(arena, sizeof *v.owed * (size_t)pp);
    v.gone = rlf_arena_alloc(arena, sizeof *v.gone * (size_t)pp);
    for (int kind = 0; kind < 2; kind++) {
        v.end[kind] = RLF_NEW_ARRAY(arena, int, 2 * pp * micros);
        for (int i = 0; i < 2 * pp * micros; i++)
            v.end[kind][i] = NEVER;
    }
    for (int place = 0; place < pp; place++)
        make_order(&v, place, arena);
    for (int now = 0; left > 0; now++)
        for (int place = 0; place < pp; place++) {
            int before = v.lists[place].count;
            take_unit(&v, place, now);
            left -= v.lists[place].count - before;
        }
}
