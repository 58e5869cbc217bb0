/* See move.h. Messages go through host memory. */
#include "nodes/model/move.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/comm/comm.h"

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
    return t->config.tied ? RLF_LAYER_ENDS : RLF_LAYER_FIRST;
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

static float *
slice_of(const rlf_model *m, int tensor)
{
    return m->weights + m->table->slots[tensor].offset;
}

/* `to` and `from` have the same rows and columns. */
static rlf_status
copy_box(rlf_queue *queue, float *to, rlf_strided at, const float *from,
         rlf_strided of, rlf_copy kind, rlf_err *err)
{
    to += at.offset;
    from += of.offset;
    int64_t rows = at.rows, cols = at.cols;
    if (at.stride == cols && of.stride == cols) {
        cols *= rows;
        rows = 1;
    }
    for (int64_t i = 0; i < rows; i++)
        RLF_TRY(rlf_queue_copy(queue, to + i * at.stride, from + i * of.stride,
                               (size_t)cols * sizeof *to, kind, err));
    return RLF_OK;
}

static rlf_strided
dense(rlf_strided box)
{
    return (rlf_strided){
        .stride = box.cols, .rows = box.rows, .cols = box.cols};
}

/* ---- a round ---- */

/* What goes from or comes to this rank in a round, by peer. */
typedef struct mail {
    rlf_part *parts; /* [world] */
    int n;
} mail;

static rlf_part *
part_of(mail *m, int peer)
{
    int i = 0;
    while (i < m->n && m->parts[i].peer != peer)
        i++;
    if (i == m->n)
        m->parts[m->n++] = (rlf_part){.peer = peer};
    return &m->parts[i];
}

static size_t
bytes_of(const rlf_send *s)
{
    return (size_t)rlf_box_count(s->box) * sizeof(float);
}

static void
make_room(mail *m)
{
    for (int i = 0; i < m->n; i++) {
        m->parts[i].data = rlf_malloc(m->parts[i].bytes);
        m->parts[i].bytes = 0;
    }
}

static void
drop(mail *m)
{
    for (int i = 0; i < m->n; i++)
        free(m->parts[i].data);
    m->n = 0;
}

typedef struct mover {
    const rlf_model *from;
    rlf_model *to;
    const rlf_weight_edge *edge;
    int rank;
    mail out, in;
} mover;

/* Room for a box at the end of a message. */
static float *
extend(mail *m, const rlf_send *s, int peer)
{
    rlf_part *part = part_of(m, peer);
    float *at = (float *)((char *)part->data + part->bytes);
    part->bytes += bytes_of(s);
    return at;
}

static rlf_status
pack(mover *v, int round, rlf_err *err)
{
    rlf_queue *queue = v->from ? v->from->queue : v->to->queue;
    for (int i = 0; i < v->edge->n_sends; i++) {
        const rlf_send *s = &v->edge->sends[i];
        if (s->round != round || s->from != v->rank)
            continue;
        const rlf_model *has = s->after < 0 ? v->from : v->to;
        float *at = extend(&v->out, s, s->to);
        RLF_TRY(copy_box(queue, at, dense(s->source), slice_of(has, s->tensor),
                         s->source, RLF_COPY_TO_HOST, err));
    }
    return v->out.n ? rlf_queue_sync(queue, err) : RLF_OK;
}

static rlf_status
unpack(mover *v, int round, rlf_err *err)
{
    for (int i = 0; i < v->in.n; i++)
        v->in.parts[i].bytes = 0;
    for (int i = 0; i < v->edge->n_sends; i++) {
        const rlf_send *s = &v->edge->sends[i];
        if (s->round != round || s->to != v->rank)
            continue;
        const float *at = extend(&v->in, s, s->from);
        RLF_TRY(copy_box(v->to->queue, slice_of(v->to, s->tensor), s->target,
                         at, dense(s->target), RLF_COPY_TO_DEVICE, err));
    }
    return v->in.n ? rlf_queue_sync(v->to->queue, err) : RLF_OK;
}

static rlf_status
run_round(mover *v, int round, rlf_group *world, rlf_err *err, uint64_t *sent)
{
    for (int i = 0; i < v->edge->n_sends; i++) {
        const rlf_send *s = &v->edge->sends[i];
        if (s->round != round)
            continue;
        if (s->from == v->rank)
            part_of(&v->out, s->to)->bytes += bytes_of(s);
        if (s->to == v->rank)
            part_of(&v->in, s->from)->bytes += bytes_of(s);
    }
    if (!v->out.n && !v->in.n)
        return RLF_OK;
    make_room(&v->out);
    for (int i = 0; i < v->in.n; i++)
        v->in.parts[i].data = rlf_malloc(v->in.parts[i].bytes);
    rlf_status status = pack(v, round, err);
    for (int i = 0; i < v->out.n; i++)
        *sent += v->out.parts[i].bytes;
    if (status >= 0)
        status = rlf_group_exchange(world, TAG_MOVE, v->out.parts, v->out.n,
                                    v->in.parts, v->in.n, err);
    if (status >= 0)
        status = unpack(v, round, err);
    drop(&v->out);
    drop(&v->in);
    return status;
}

static rlf_status
copy_own(const mover *v, rlf_err *err)
{
    for (int i = 0; i < v->edge->n_copies; i++) {
        const rlf_send *s = &v->edge->copies[i];
        if (s->to == v->rank)
            RLF_TRY(copy_box(v->to->queue, slice_of(v->to, s->tensor),
                             s->target, slice_of(v->from, s->tensor), s->source,
                             RLF_COPY_ON_DEVICE, err));
    }
    return RLF_OK;
}

rlf_status
rlf_move_weights(const rlf_model *from, rlf_model *to,
                 const rlf_weight_edge *edge, rlf_group *world, rlf_err *err,
                 uint64_t *sent)
{
    if (!from && !to)
        return RLF_OK;
    size_t n = (size_t)rlf_group_size(world);
    mover v = {.from = from,
               .to = to,
               .edge = edge,
               .rank = rlf_group_index(world),
               .out = {.parts = rlf_calloc(n, sizeof(rlf_part))},
               .in = {.parts = rlf_calloc(n, sizeof(rlf_part))}};
    rlf_status status = from && to && from != to ? copy_own(&v, err) : RLF_OK;
    for (int i = 0; i < edge->rounds && status >= 0; i++)
        status = run_round(&v, i, world, err, sent);
    if (status >= 0 && to && from != to)
        status = rlf_model_changed(to, err);
    free(v.out.parts);
    free(v.in.parts);
    return status;
}
