/* See move.h. */
#include "nodes/model/move.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/comm/device.h"
#include "engine/dev/copy.h"

enum { TAG_MOVE = 720 };

/* ---- tensors ---- */

static int
layer_of(const rlf_table *t, const rlf_slot *slot)
{
    int layer;
    if (sscanf(slot->name, "model.layers.%d.", &layer) == 1)
        return layer;
    if (slot->offset != t->embed)
        return RLF_LAYER_LAST;
    return t->lm == t->embed ? RLF_LAYER_ENDS : RLF_LAYER_FIRST;
}

rlf_shapes
rlf_move_shapes(const rlf_table *t, rlf_arena *arena)
{
    static const rlf_split splits[] = {
        [RLF_SLICE_NOT] = RLF_SPLIT_NONE,
        [RLF_SLICE_ROWS] = RLF_SPLIT_ROWS,
        [RLF_SLICE_COLS] = RLF_SPLIT_COLS,
        [RLF_SLICE_KV] = RLF_SPLIT_KV,
    };
    rlf_shape *list = RLF_NEW_ARRAY(arena, rlf_shape, t->n_slots);
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        bool heads = slot->slice == RLF_SLICE_KV;
        list[i] = (rlf_shape){.name = slot->name,
                              .layer = layer_of(t, slot),
                              .split = splits[slot->slice],
                              .rows = slot->file_rows,
                              .cols = slot->file_cols ? slot->file_cols : 1,
                              .unit = heads ? t->config.head_dim : 1};
    }
    return (rlf_shapes){list, t->n_slots, t->config.layers};
}

/* ---- boxes ---- */

/* `tensor` is that of the whole model. */
static float *
slice_of(const rlf_model *m, int tensor)
{
    return rlf_model_place(m, m->table->slots[m->table->own[tensor]].offset);
}

/* `to` and `from` have the same rows and columns. */
static rlf_status
copy_box(rlf_queue *queue, float *to, rlf_strided at, const float *from,
         rlf_strided of, rlf_err *err)
{
    to += at.offset;
    from += of.offset;
    return rlf_queue_copy_rows(queue, to, (size_t)at.stride * sizeof *to, from,
                               (size_t)of.stride * sizeof *to,
                               (size_t)at.cols * sizeof *to, (size_t)at.rows,
                               RLF_COPY_ON_DEVICE, err);
}

static rlf_strip
strip_of(const rlf_model *m, int tensor, rlf_strided at)
{
    return (rlf_strip){.data = slice_of(m, tensor) + at.offset,
                       .bytes = (size_t)at.cols * sizeof(float),
                       .stride = (size_t)at.stride * sizeof(float),
                       .rows = (size_t)at.rows};
}

/* ---- a round ---- */

/* A send of the edge in which this rank has a part. */
typedef struct own {
    int round, peer, index;
} own;

typedef struct mover {
    const rlf_model *from;
    rlf_model *to;
    const rlf_weight_edge *edge;
    rlf_group *world;
    rlf_queue *queue;
    int rank;
    own *sends, *receives; /* by round, peer and place in the edge */
    int n_sends, n_receives;
    int sent, received; /* of them, so far */
    rlf_strip *strips;
    rlf_strips *out, *in; /* of a round */
    rlf_shapes shapes;
} mover;

/* Both sides order what goes from one rank to another in a round alike. */
static int
by_round(const void *a, const void *b)
{
    const own *x = a, *y = b;
    int d = x->round - y->round;
    d = d ? d : x->peer - y->peer;
    return d ? d : x->index - y->index;
}

static void
find_own(mover *v)
{
    for (int i = 0; i < v->edge->n_sends; i++) {
        const rlf_send *s = &v->edge->sends[i];
        if (s->from == v->rank)
            v->sends[v->n_sends++] = (own){s->round, s->to, i};
        if (s->to == v->rank)
            v->receives[v->n_receives++] = (own){s->round, s->from, i};
    }
    qsort(v->sends, (size_t)v->n_sends, sizeof *v->sends, by_round);
    qsort(v->receives, (size_t)v->n_receives, sizeof *v->receives, by_round);
}

/* One side of a round, from *at on: a message for every peer. Returns their
 * number. */
static int
list_messages(mover *v, int round, bool sends, int *at, rlf_strips *out)
{
    const own *list = sends ? v->sends : v->receives;
    int n = sends ? v->n_sends : v->n_receives, messages = 0;
    rlf_strip *strip = v->strips + *at + (sends ? 0 : v->n_sends);
    for (; *at < n && list[*at].round == round; (*at)++, strip++) {
        const rlf_send *s = &v->edge->sends[list[*at].index];
        int peer = list[*at].peer;
        if (!messages || out[messages - 1].peer != peer)
            out[messages++] = (rlf_strips){.peer = peer, .list = strip};
        out[messages - 1].n++;
        *strip = sends ? strip_of(s->after < 0 ? v->from : v->to, s->tensor,
                                  s->source)
                       : strip_of(v->to, s->tensor, s->target);
    }
    return messages;
}

static void
count_sent(const rlf_strips *list, int n, rlf_moved *moved)
{
    moved->messages += (uint64_t)n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < list[i].n; k++)
            moved->bytes += list[i].list[k].bytes * list[i].list[k].rows;
}

/* The next of a list, or NULL. */
static const own *
next(const own *list, int n, int at)
{
    return at < n ? &list[at] : NULL;
}

static bool
belongs(const mover *v, const own *o, int turn)
{
    return o && (turn < 0 ||
                 rlf_layer_turn(&v->shapes, v->edge->sends[o->index].tensor) ==
                     turn);
}

/* Those left; or, in an edge by layer, of one. */
static rlf_status
run_rounds(mover *v, int turn, rlf_err *err, rlf_moved *moved)
{
    for (;;) {
        const own *out = next(v->sends, v->n_sends, v->sent);
        const own *in = next(v->receives, v->n_receives, v->received);
        int round = INT_MAX;
        if (belongs(v, out, turn))
            round = out->round;
        if (belongs(v, in, turn) && in->round < round)
            round = in->round;
        if (round == INT_MAX)
            return RLF_OK;
        int n_out = list_messages(v, round, true, &v->sent, v->out);
        int n_in = list_messages(v, round, false, &v->received, v->in);
        count_sent(v->out, n_out, moved);
        RLF_TRY(rlf_device_exchange_strips(v->queue, v->world, TAG_MOVE, v->out,
                                           n_out, v->in, n_in, err));
    }
}

/* Of the whole edge, by this rank. */
static size_t
own_bytes(const mover *v)
{
    size_t bytes = 0;
    for (int i = 0; i < v->edge->n_copies; i++)
        if (v->edge->copies[i].to == v->rank)
            bytes +=
                (size_t)rlf_box_count(v->edge->copies[i].box) * sizeof(float);
    return bytes;
}

/* All at once, they may be more than a cache has room for. */
static void
copy_past(const mover *v)
{
    for (int i = 0; i < v->edge->n_copies; i++) {
        const rlf_send *s = &v->edge->copies[i];
        if (s->to != v->rank)
            continue;
        float *to = slice_of(v->to, s->tensor) + s->target.offset;
        const float *from = slice_of(v->from, s->tensor) + s->source.offset;
        bool dense = s->target.stride == s->target.cols &&
                     s->source.stride == s->source.cols;
        int64_t rows = dense ? 1 : s->target.rows;
        size_t bytes = (size_t)(rlf_box_count(s->box) / rows) * sizeof *to;
        for (int64_t k = 0; k < rows; k++)
            rlf_copy_past(to + k * s->target.stride,
                          from + k * s->source.stride, bytes);
    }
    rlf_copy_past_end();
}

static rlf_status
copy_own(const mover *v, int turn, rlf_err *err)
{
    if (turn < 0 && v->queue->device->caps.host_memory &&
        own_bytes(v) >= RLF_COPY_PAST_BYTES) {
        copy_past(v);
        return RLF_OK;
    }
    for (int i = 0; i < v->edge->n_copies; i++) {
        const rlf_send *s = &v->edge->copies[i];
        if (s->to == v->rank &&
            (turn < 0 || rlf_layer_turn(&v->shapes, s->tensor) == turn))
            RLF_TRY(copy_box(v->queue, slice_of(v->to, s->tensor), s->target,
                             slice_of(v->from, s->tensor), s->source, err));
    }
    return RLF_OK;
}

static rlf_status
move(mover *v, rlf_err *err, rlf_moved *moved)
{
    bool apart = v->to && v->from != v->to;
    bool by_layer = apart && v->to->landing;
    int turns = rlf_layer_turns(&v->shapes);
    for (int turn = by_layer ? 0 : -1; turn < (by_layer ? turns : 0); turn++) {
        if (apart && v->from)
            RLF_TRY(copy_own(v, turn, err));
        RLF_TRY(run_rounds(v, turn, err, moved));
        if (by_layer)
            RLF_TRY(rlf_model_landed(v->to, turn, err));
    }
    return apart ? rlf_model_changed(v->to, err) : RLF_OK;
}

rlf_status
rlf_move_weights(const rlf_model *from, rlf_model *to,
                 const rlf_weight_edge *edge, rlf_group *world, rlf_err *err,
                 rlf_moved *moved)
{
    if (!from && !to)
        return RLF_OK;
    RLF_ASSERT(!from || from->weights);
    RLF_ASSERT(!to || !to->landing || edge->by_layer);
    size_t n = (size_t)rlf_group_size(world), most = (size_t)edge->n_sends;
    rlf_arena *arena = rlf_arena_new();
    mover v = {.from = from,
               .to = to,
               .edge = edge,
               .world = world,
               .queue = (to ? to : from)->queue,
               .rank = rlf_group_index(world),
               .shapes = rlf_move_shapes((to ? to : from)->table->whole, arena),
               .sends = rlf_calloc(most + 1, sizeof(own)),
               .receives = rlf_calloc(most + 1, sizeof(own)),
               .out = rlf_calloc(n, sizeof(rlf_strips)),
               .in = rlf_calloc(n, sizeof(rlf_strips))};
    find_own(&v);
    v.strips =
        rlf_calloc((size_t)(v.n_sends + v.n_receives) + 1, sizeof *v.strips);
    rlf_status status = move(&v, err, moved);
    free(v.sends);
    free(v.receives);
    free(v.strips);
    free(v.out);
    free(v.in);
    rlf_arena_free(arena);
    return status;
}
