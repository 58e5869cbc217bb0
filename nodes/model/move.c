/* See move.h. */
#include "nodes/model/move.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/comm/device.h"
#include "engine/dev/copy.h"
#include "nodes/model/block.h"

enum { TAG_MOVE = 720 };

/* ---- tensors ---- */

static int
layer_of(const rlf_table *t, const rlf_slot *slot)
{
    if (slot->layer == t->config.layers)
        return RLF_LAYER_LAST;
    if (slot->layer >= 0)
        return slot->layer;
    return slot->offset == t->lm ? RLF_LAYER_ENDS : RLF_LAYER_FIRST;
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
                              .unit = heads ? t->config.head_dim : 1,
                              .still = !rlf_slot_trains(t, slot),
                              .floats = rlf_table_adapted(t)};
    }
    return (rlf_shapes){list, t->n_slots, t->config.layers};
}

/* ---- boxes ---- */

/* `tensor` is that of the whole model. */
static const rlf_slot *
slot_of(const rlf_model *m, int tensor)
{
    return &m->table->slots[m->table->own[tensor]];
}

static float *
slice_of(const rlf_model *m, int tensor)
{
    return rlf_block_place(m, slot_of(m, tensor)->offset);
}

/* Rows first..first+n-1 of a box. */
static rlf_strided_rows
strided_of(const rlf_model *m, int tensor, rlf_strided box, int64_t first,
           int64_t n)
{
    const rlf_spot spot = rlf_block_spot(m, slot_of(m, tensor));
    size_t row = (size_t)(box.offset / box.stride + first),
           col = (size_t)(box.offset % box.stride);
    return (rlf_strided_rows){.data =
                                  spot.at + row * spot.row + col * spot.number,
                              .bytes = (size_t)box.cols * spot.number,
                              .stride = spot.row,
                              .rows = (size_t)n};
}

/* ---- what travels as activations ---- */

/* A send of the edge in which this rank has a part, or some rows of it: those
 * of a round, part after part, are one exchange each. */
typedef struct piece {
    int round, part, peer, index;
    int64_t first, rows;
    size_t at; /* in the stage of who sends it */
} piece;

typedef struct mover {
    rlf_model *from, *to;
    const rlf_weight_edge *edge;
    rlf_group *world;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    int rank;
    size_t stage; /* bytes; 0: all travels as it is */
    RLF_VEC(piece) sends, receives;
    size_t sent, received; /* of them, so far */
    rlf_strided_rows *strided;
    rlf_strided_message *out, *in; /* of an exchange */
    const rlf_table *whole;
    rlf_shapes shapes; /* of it */
    rlf_arena *arena;
} mover;

/* Is it rounded on its way? What others got by the edge has been. */
static bool
is_staged(const mover *v, const rlf_send *s)
{
    return v->stage && s->after < 0 && v->whole->slots[s->tensor].file_cols;
}

static size_t
staged_row(const mover *v, const rlf_send *s)
{
    return (size_t)rlf_packed_row(v->kernels, s->source.cols) *
           rlf_real_bytes(v->kernels);
}

/* Rows of a box from the weights, rounded, to the stage or to `to`. */
static rlf_status
round_rows(const mover *v, const rlf_send *s, int64_t first, int64_t n,
           void *to, rlf_err *err)
{
    const rlf_product_pack_args args = {.rows = n,
                                        .cols = s->source.cols,
                                        .w = slice_of(v->from, s->tensor) +
                                             s->source.offset +
                                             first * s->source.stride,
                                        .ldw = s->source.stride,
                                        .form = RLF_PRODUCT_FORWARD,
                                        .packed = to};
    return v->kernels->product_pack(v->queue, &args, err);
}

/* The part of a rank's stage that is full in a round. */
typedef struct filling {
    int part;
    size_t used;
} filling;

static void
add_piece(mover *v, const rlf_send *s, piece p)
{
    if (s->from == v->rank) {
        p.peer = s->to;
        RLF_PUSH(&v->sends, p);
    }
    if (s->to == v->rank) {
        p.peer = s->from;
        RLF_PUSH(&v->receives, p);
    }
}

/* Cuts a send in as many pieces as the stage of its sender asks for, which all
 * ranks find alike. */
static void
cut_send(mover *v, const rlf_send *s, int index, filling *f)
{
    piece p = {.round = s->round, .index = index, .rows = s->source.rows};
    if (!is_staged(v, s)) {
        add_piece(v, s, p);
        return;
    }
    size_t row = staged_row(v, s);
    for (; p.first < s->source.rows; p.first += p.rows) {
        if (v->stage - f->used < row)
            *f = (filling){.part = f->part + 1};
        int64_t fit = (int64_t)((v->stage - f->used) / row),
                left = s->source.rows - p.first;
        p.rows = fit < left ? fit : left;
        p.part = f->part;
        p.at = f->used;
        f->used += ((size_t)p.rows * row + 63) / 64 * 64;
        add_piece(v, s, p);
    }
}

/* ---- a round ---- */

/* Both sides order what goes from one rank to another in a part alike. */
static int
by_round(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    int d = x->round - y->round;
    d = d ? d : x->part - y->part;
    d = d ? d : x->peer - y->peer;
    d = d ? d : x->index - y->index;
    return d ? d : (x->first > y->first) - (x->first < y->first);
}

static void
find_own(mover *v)
{
    size_t n = (size_t)rlf_group_size(v->world);
    filling *full =
        RLF_NEW_ARRAY(v->arena, filling, n * (size_t)v->edge->rounds + 1);
    for (int i = 0; i < v->edge->n_sends; i++) {
        const rlf_send *s = &v->edge->sends[i];
        cut_send(v, s, i, &full[(size_t)s->round * n + (size_t)s->from]);
    }
    if (v->sends.count)
        qsort(v->sends.data, v->sends.count, sizeof(piece), by_round);
    if (v->receives.count)
        qsort(v->receives.data, v->receives.count, sizeof(piece), by_round);
}

static rlf_strided_rows
sent_rows(const mover *v, const piece *p)
{
    const rlf_send *s = &v->edge->sends[p->index];
    if (!is_staged(v, s))
        return strided_of(s->after < 0 ? v->from : v->to, s->tensor, s->source,
                          p->first, p->rows);
    return (rlf_strided_rows){.data = v->from->staging + p->at,
                              .bytes = (size_t)s->source.cols *
                                       rlf_real_bytes(v->kernels),
                              .stride = staged_row(v, s),
                              .rows = (size_t)p->rows};
}

static bool
goes_with(const piece *p, const piece *now)
{
    return p->round == now->round && p->part == now->part;
}

/* One side of an exchange, from *at on: a message for every peer. Returns their
 * number. */
static int
list_messages(mover *v, const piece *now, bool sends, size_t *at,
              rlf_strided_message *out)
{
    const piece *list = sends ? v->sends.data : v->receives.data;
    size_t n = sends ? v->sends.count : v->receives.count;
    int messages = 0;
    rlf_strided_rows *rows = v->strided + *at + (sends ? 0 : v->sends.count);
    for (; *at < n && goes_with(&list[*at], now); (*at)++, rows++) {
        const piece *p = &list[*at];
        const rlf_send *s = &v->edge->sends[p->index];
        if (!messages || out[messages - 1].peer != p->peer)
            out[messages++] =
                (rlf_strided_message){.peer = p->peer, .list = rows};
        out[messages - 1].n++;
        *rows =
            sends ? sent_rows(v, p)
                  : strided_of(v->to, s->tensor, s->target, p->first, p->rows);
    }
    return messages;
}

static void
count_sent(const rlf_strided_message *list, int n, rlf_moved *moved)
{
    moved->messages += (uint64_t)n;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < list[i].n; k++)
            moved->bytes += list[i].list[k].bytes * list[i].list[k].rows;
}

/* Fills the stage with what the exchange at hand sends from it. */
static rlf_status
fill_stage(const mover *v, const piece *now, rlf_err *err)
{
    for (size_t i = v->sent;
         i < v->sends.count && goes_with(&v->sends.data[i], now); i++) {
        const piece *p = &v->sends.data[i];
        const rlf_send *s = &v->edge->sends[p->index];
        if (is_staged(v, s))
            RLF_TRY(round_rows(v, s, p->first, p->rows,
                               v->from->staging + p->at, err));
    }
    return RLF_OK;
}

/* The next of a list, if it belongs to the turn. */
static const piece *
next(const mover *v, const piece *list, size_t n, size_t at, int turn)
{
    const piece *p = at < n ? &list[at] : NULL;
    bool belongs =
        p &&
        (turn < 0 ||
         rlf_layer_turn(&v->shapes, v->edge->sends[p->index].tensor) == turn);
    return belongs ? p : NULL;
}

static bool
is_before(const piece *a, const piece *b)
{
    return a->round != b->round ? a->round < b->round : a->part < b->part;
}

/* Runs the rounds that are left; or, in an edge by layer, those of one. */
static rlf_status
run_rounds(mover *v, int turn, rlf_err *err, rlf_moved *moved)
{
    for (;;) {
        const piece *out =
                        next(v, v->sends.data, v->sends.count, v->sent, turn),
                    *in = next(v, v->receives.data, v->receives.count,
                               v->received, turn);
        const piece *now = !in || (out && is_before(out, in)) ? out : in;
        if (!now)
            return RLF_OK;
        RLF_TRY(fill_stage(v, now, err));
        int n_out = list_messages(v, now, true, &v->sent, v->out);
        int n_in = list_messages(v, now, false, &v->received, v->in);
        count_sent(v->out, n_out, moved);
        RLF_TRY(rlf_device_exchange_strided(v->queue, v->world, TAG_MOVE,
                                            v->out, n_out, v->in, n_in, err));
    }
}

/* ---- copies ---- */

/* The bytes of the whole edge that this rank has to do with. */
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

/* Rows of what this rank keeps. */
static rlf_status
copy_rows(const mover *v, rlf_strided_rows to, rlf_strided_rows from,
          rlf_err *err)
{
    return rlf_queue_copy_rows(v->queue, to.data, to.stride, from.data,
                               from.stride, to.bytes, to.rows,
                               RLF_COPY_ON_DEVICE, err);
}

/* The same, rounded: whole rows go where they stay, parts of rows through the
 * stage. */
static rlf_status
copy_rounded(const mover *v, const rlf_send *s, rlf_err *err)
{
    size_t row = staged_row(v, s);
    int64_t rows = s->target.rows, n = (int64_t)(v->stage / row);
    if (s->target.cols == s->target.stride)
        return round_rows(v, s, 0, rows,
                          strided_of(v->to, s->tensor, s->target, 0, rows).data,
                          err);
    for (int64_t i = 0; i < rows; i += n) {
        n = n < rows - i ? n : rows - i;
        rlf_strided_rows to = strided_of(v->to, s->tensor, s->target, i, n);
        rlf_strided_rows from = {v->from->staging, to.bytes, row, to.rows};
        RLF_TRY(round_rows(v, s, i, n, from.data, err));
        RLF_TRY(copy_rows(v, to, from, err));
    }
    return RLF_OK;
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
        if (s->to != v->rank ||
            (turn >= 0 && rlf_layer_turn(&v->shapes, s->tensor) != turn))
            continue;
        if (is_staged(v, s))
            RLF_TRY(copy_rounded(v, s, err));
        else
            RLF_TRY(copy_rows(
                v, strided_of(v->to, s->tensor, s->target, 0, s->target.rows),
                strided_of(v->from, s->tensor, s->source, 0, s->source.rows),
                err));
    }
    return RLF_OK;
}

/* Clears the ends that packing puts behind short rows. */
static rlf_status
clear_ends(const mover *v, rlf_err *err)
{
    const rlf_table *t = v->to->table;
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *slot = &t->slots[i];
        const rlf_spot spot = rlf_block_spot(v->to, slot);
        if (slot->cols && spot.row != (size_t)slot->cols * spot.number)
            RLF_TRY(rlf_queue_set(v->queue, spot.at, 0,
                                  (size_t)slot->rows * spot.row, err));
    }
    return RLF_OK;
}

static rlf_status
move(mover *v, rlf_err *err, rlf_moved *moved)
{
    bool apart = v->to && v->from != v->to;
    bool lands = apart && v->to->landing;
    int turns = rlf_layer_turns(&v->shapes);
    if (apart && v->stage)
        RLF_TRY(clear_ends(v, err));
    for (int turn = lands ? 0 : -1; turn < (lands ? turns : 0); turn++) {
        if (apart && v->from)
            RLF_TRY(copy_own(v, turn, err));
        RLF_TRY(run_rounds(v, turn, err, moved));
        if (lands)
            RLF_TRY(rlf_model_landed(v->to, turn, err));
    }
    if (v->from && v->from->staging)
        v->from->loan.taken = true; /* the stage may lie there */
    return apart ? rlf_model_changed(v->to, err) : RLF_OK;
}

static void
prepare(void *p)
{
    mover *v = p;
    size_t n = (size_t)rlf_group_size(v->world);
    v->shapes = rlf_move_shapes(v->whole, v->arena);
    v->out = RLF_NEW_ARRAY(v->arena, rlf_strided_message, n);
    v->in = RLF_NEW_ARRAY(v->arena, rlf_strided_message, n);
    find_own(v);
    n = v->sends.count + v->receives.count + 1;
    v->strided = RLF_NEW_ARRAY(v->arena, rlf_strided_rows, n);
}

rlf_status
rlf_move_weights(rlf_model *from, rlf_model *to, const rlf_weight_edge *edge,
                 rlf_group *world, rlf_err *err, rlf_moved *moved)
{
    if (!from && !to)
        return RLF_OK;
    rlf_model *any = to ? to : from;
    bool adapted = rlf_table_adapted(any->table); /* which go as they are */
    bool rounds = edge->by_layer && any->kernels->one_pack &&
                  any->kernels->real != RLF_CAST_F32 && !adapted;
    RLF_ASSERT(!from || from->weights || adapted);
    RLF_ASSERT(!to || !to->by_layer || edge->by_layer || adapted);
    RLF_ASSERT(!rounds || !to || to == from || to->by_layer);
    rlf_arena *arena = rlf_arena_new();
    mover v = {.from = from,
               .to = to,
               .edge = edge,
               .world = world,
               .queue = any->queue,
               .kernels = any->kernels,
               .rank = rlf_group_index(world),
               .stage = rounds ? rlf_block_stage(any, &any->options) : 0,
               .whole = any->table->whole,
               .arena = arena};
    rlf_status status =
        rlf_memory_guard(prepare, &v, "the transfers of weights", err);
    if (status >= 0)
        status = move(&v, err, moved);
    RLF_VEC_FREE(&v.sends);
    RLF_VEC_FREE(&v.receives);
    rlf_arena_free(arena);
    return status;
}
