/* Schedules known by name, as tables: see pipe.h. */
#include "engine/plan/pipe.h"

#include "engine/graph/place.h"

#include <string.h>

/* An empty table of one model with `chunks` stages a place, and room in every
 * list for what it will hold. */
static void
start(int pp, int micros, int chunks, bool forward_only, rlf_arena *arena,
      rlf_pipe *out)
{
    int *path = RLF_NEW_ARRAY(arena, int, pp *chunks);
    for (int k = 0; k < pp * chunks; k++)
        path[k] = k % pp;
    out->models = RLF_NEW(arena, rlf_pipe_model);
    out->n_models = 1;
    out->models[0] = (rlf_pipe_model){.name = "model",
                                      .micros = micros,
                                      .stages = pp * chunks,
                                      .path = path,
                                      .forward_only = forward_only};
    out->places = pp;
    out->lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, pp);
    for (int i = 0; i < pp; i++)
        out->lists[i].ops =
            RLF_NEW_ARRAY(arena, rlf_pipe_op, RLF_PIPE_KINDS * micros * chunks);
}

static void
add(rlf_pipe_list *list, rlf_pipe_kind kind, int micro, int chunk)
{
    list->ops[list->count++] = (rlf_pipe_op){0, micro, chunk, kind};
}

void
rlf_pipe_forward(int pp, int micros, rlf_arena *arena, rlf_pipe *out)
{
    start(pp, micros, 1, true, arena, out);
    for (int place = 0; place < pp; place++)
        for (int i = 0; i < micros; i++)
            add(&out->lists[place], RLF_PIPE_FORWARD, i, 0);
}

void
rlf_pipe_gpipe(int pp, int micros, rlf_arena *arena, rlf_pipe *out)
{
    start(pp, micros, 1, false, arena, out);
    for (int place = 0; place < pp; place++)
        for (int i = 0; i < 2 * micros; i++)
            add(&out->lists[place],
                i < micros ? RLF_PIPE_FORWARD : RLF_PIPE_BACKWARD, i % micros,
                0);
}

/* The n-th operation of one direction when `chunks` stages a place take turns:
 * pp micro-batches on one chunk, then on the next (backward from the last),
 * then the next pp micro-batches. */
static void
add_turn(rlf_pipe_list *list, int pp, int chunks, bool backward, int n)
{
    int group = n / (pp * chunks), chunk = n / pp % chunks;
    add(list, backward ? RLF_PIPE_BACKWARD : RLF_PIPE_FORWARD,
        group * pp + n % pp, backward ? chunks - 1 - chunk : chunk);
}

/* `warm` forward, then one forward and one backward by turns, then the rest. */
static void
one_by_one(rlf_pipe_list *list, int pp, int chunks, int all, int warm)
{
    for (int i = 0; i < all + warm; i++) {
        if (i < all)
            add_turn(list, pp, chunks, false, i);
        if (i >= warm)
            add_turn(list, pp, chunks, true, i - warm);
    }
}

void
rlf_pipe_1f1b(int pp, int micros, rlf_arena *arena, rlf_pipe *out)
{
    start(pp, micros, 1, false, arena, out);
    for (int place = 0; place < pp; place++) {
        int warm = pp - 1 - place;
        one_by_one(&out->lists[place], pp, 1, micros,
                   warm < micros ? warm : micros);
    }
}

void
rlf_pipe_limit(const rlf_pipe *pipe, const int *micros, rlf_arena *arena,
               rlf_pipe *out)
{
    rlf_pipe less = *pipe;
    less.models = RLF_NEW_ARRAY(arena, rlf_pipe_model, pipe->n_models);
    for (int i = 0; i < pipe->n_models; i++) {
        less.models[i] = pipe->models[i];
        if (micros[i] < less.models[i].micros)
            less.models[i].micros = micros[i];
    }
    less.lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, pipe->places);
    for (int place = 0; place < pipe->places; place++) {
        const rlf_pipe_list *all = &pipe->lists[place];
        rlf_pipe_list *list = &less.lists[place];
        list->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, all->count);
        for (int i = 0; i < all->count; i++)
            if (all->ops[i].micro < micros[all->ops[i].model])
                list->ops[list->count++] = all->ops[i];
    }
    *out = less;
}

/* A table without operations, like `pipe` but for the micro-batches, with room
 * for `rounds` times its operations. */
static void
start_like(const rlf_pipe *pipe, const int *micros, int rounds,
           rlf_arena *arena, rlf_pipe *out)
{
    rlf_pipe like = *pipe;
    like.models = RLF_NEW_ARRAY(arena, rlf_pipe_model, pipe->n_models);
    like.lists = RLF_NEW_ARRAY(arena, rlf_pipe_list, pipe->places);
    for (int i = 0; i < pipe->n_models; i++) {
        like.models[i] = pipe->models[i];
        like.models[i].micros = micros[i];
    }
    for (int i = 0; i < pipe->places; i++)
        like.lists[i].ops =
            RLF_NEW_ARRAY(arena, rlf_pipe_op, pipe->lists[i].count * rounds);
    *out = like;
}

void
rlf_pipe_serve(const rlf_pipe *pipe, const int *micros, rlf_arena *arena,
               rlf_pipe *out)
{
    int rounds = 1;
    for (int i = 0; i < pipe->n_models; i++) {
        int each = pipe->models[i].micros, n = (micros[i] + each - 1) / each;
        rounds = n > rounds ? n : rounds;
    }
    rlf_pipe more;
    start_like(pipe, micros, rounds, arena, &more);
    for (int place = 0; place < pipe->places; place++) {
        const rlf_pipe_list *list = &pipe->lists[place];
        rlf_pipe_list *to = &more.lists[place];
        for (int k = 0; k < rounds * list->count; k++) {
            rlf_pipe_op op = list->ops[k % list->count];
            op.micro += k / list->count * pipe->models[op.model].micros;
            if (op.micro < micros[op.model])
                to->ops[to->count++] = op;
        }
    }
    *out = more;
}

/* Of a V: what comes back to a place does so as soon as it can, so that nothing
 * waits to be received for longer than others take for one operation. */
static void
read_vee(rlf_pipe_list *list, int model, int micros, int lag)
{
    for (int i = 0; i < micros + lag; i++) {
        if (i < micros)
            list->ops[list->count++] =
                (rlf_pipe_op){model, i, 0, RLF_PIPE_FORWARD};
        if (i >= lag)
            list->ops[list->count++] =
                (rlf_pipe_op){model, i - lag, 1, RLF_PIPE_FORWARD};
    }
}

void
rlf_pipe_reading(const rlf_pipe *pipe, int model, int micros, rlf_arena *arena,
                 rlf_pipe *out)
{
    int *all = RLF_NEW_ARRAY(arena, int, pipe->n_models);
    const rlf_pipe_model *m = &pipe->models[model];
    rlf_pipe reading;
    int chunks = 0;
    while (rlf_pipe_stage(m, m->path[0], chunks) >= 0)
        chunks++;
    int round = m->stages / chunks; /* its places */
    bool vee = chunks == 2 && m->path[round] == m->path[round - 1] && round > 1;
    all[model] = micros;
    start_like(pipe, all, 0, arena, &reading);
    reading.models[model].split = false;
    for (int place = 0; place < pipe->places; place++) {
        rlf_pipe_list *list = &reading.lists[place];
        list->ops = RLF_NEW_ARRAY(arena, rlf_pipe_op, micros * m->stages);
        int stage = rlf_pipe_stage(m, place, 0);
        if (vee && stage >= 0)
            read_vee(list, model, micros, round - 1 - stage);
        for (int first = 0; first < micros && !vee; first += round)
            for (int c = 0; rlf_pipe_stage(m, place, c) >= 0; c++)
                for (int i = first; i < first + round && i < micros; i++)
                    list->ops[list->count++] =
                        (rlf_pipe_op){model, i, c, RLF_PIPE_FORWARD};
    }
    *out = reading;
}

void
rlf_pipe_interleaved(int pp, int micros, int chunks, rlf_arena *arena,
                     rlf_pipe *out)
{
    int full = (micros + pp - 1) / pp * pp, all = full * chunks;
    start(pp, full, chunks, false, arena, out);
    for (int place = 0; place < pp; place++) {
        int warm = 2 * (pp - 1 - place) + (chunks - 1) * pp;
        one_by_one(&out->lists[place], pp, chunks, all,
                   warm < all ? warm : all);
    }
    rlf_pipe_limit(out, &micros, arena, out); /* the last turn may be short */
}

/* Forward and backward by turns, as in 1F1B, after more forwards if deeper; a
 * weight gradient only where a place holds as much as it may, or has nothing
 * left to do forward. */
void
rlf_pipe_zero_bubble(int pp, int micros, int depth, rlf_arena *arena,
                     rlf_pipe *out)
{
    start(pp, micros, 1, false, arena, out);
    out->models[0].split = true;
    for (int place = 0; place < pp; place++) {
        rlf_pipe_list *list = &out->lists[place];
        int warm = depth * (pp - 1 - place), most = depth * (pp - 1) + 1;
        int f = 0, w = 0;
        for (; f < warm && f < micros; f++)
            add(list, RLF_PIPE_FORWARD, f, 0);
        for (int b = 0; b < micros; b++) {
            if (f < micros && f - w == most)
                add(list, RLF_PIPE_WEIGHTS, w++, 0);
            if (f < micros)
                add(list, RLF_PIPE_FORWARD, f++, 0);
            add(list, RLF_PIPE_BACKWARD, b, 0);
            if (f == micros)
                add(list, RLF_PIPE_WEIGHTS, w++, 0);
        }
        while (w < micros)
            add(list, RLF_PIPE_WEIGHTS, w++, 0);
    }
}

rlf_status
rlf_pipe_named(const char *schedule, int pp, int micros, int chunks,
               rlf_arena *arena, rlf_err *err, rlf_pipe *out)
{
#define SCHEDULE(word, make)       \
    if (!strcmp(schedule, word)) { \
        make;                      \
        return RLF_OK;             \
    }
#include "engine/graph/schedule.def"
#undef SCHEDULE
    rlf_buf known = {0};
    const char *word;
    for (size_t i = 0; (word = rlf_place_schedule(i)); i++)
        rlf_buf_printf(&known, "%s%s",
                       i == 0                      ? ""
                       : rlf_place_schedule(i + 1) ? ", "
                                                   : " and ",
                       word);
    rlf_fail(err, RLF_USER, "there is no schedule \"%s\"; there are %s",
             schedule, known.p);
    rlf_buf_free(&known);
    return RLF_USER;
}
