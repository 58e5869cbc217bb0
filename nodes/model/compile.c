/* One walk over the rows places values and emits calls; one back does the same
 * for gradients. Start at rlf_compile_pass(). */
#include "nodes/model/compile.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "nodes/model/gradient.h"

/* Where a value or a gradient lies: rows that are `ld` numbers apart. */
typedef struct spot {
    rlf_address at;
    int64_t ld;
    int buffer;
} spot;

/* Memory for `n` values of one row of the program, or their gradients, side by
 * side; the first has this width. */
typedef struct buffer {
    rlf_address at;
    rlf_width first;
    int n;
    int64_t width; /* of a row of it */
    int users;     /* values, or gradients, that lie there and are needed */
    bool again;    /* it has been free in between */
    int next;      /* of the same block, -1: the last */
} buffer;

typedef struct gradient {
    spot at;
    int claims; /* values whose gradient it is */
} gradient;

typedef struct compiler {
    const rlf_table *table;
    const rlf_kernels *kernels;
    const rlf_program *program;
    const rlf_pass_options *options;
    rlf_code *code;
    rlf_arena *arena;
    rlf_kernel_calls *out; /* where calls go */
    bool measures;         /* they go nowhere: only memory is of interest */
    rlf_kernel_call measured;
    bool paged;
    int layer;
    size_t used[RLF_N_BLOCKS];
    buffer *buffers;
    int n_buffers, room_buffers;
    int newest[RLF_N_BLOCKS]; /* buffer of each block, -1: none */
    /* of each value */
    spot *value;
    rlf_var *root;    /* the value whose memory it took over */
    int *until;       /* the last row that reads it; INT_MAX: a derivative */
    int *derivatives; /* of a root: that read its memory and are to come */
    int *layer_of;
    bool *crosses; /* rows of other layers read it */
    int *gradient; /* -1: none yet */
    /* of each row: rstd of each out, or lse */
    rlf_address (*kept)[2];
    gradient *gradients;
    int n_gradients, room_gradients;
} compiler;

static const rlf_model_row *
row_at(const compiler *c, int r)
{
    return &c->program->rows[r];
}

/* Numbers of a row of a value that are held here. */
static int64_t
width_of(const compiler *c, rlf_var x)
{
    return rlf_table_width(c->table, c->program->values[x].width);
}

static rlf_count
count_of(const compiler *c, rlf_var x)
{
    return c->program->values[x].rows ? RLF_COUNT_ROWS : RLF_COUNT_TOKENS;
}

static bool
is_cut(const compiler *c, rlf_var x)
{
    return rlf_width_is_cut(c->program->values[x].width);
}

/* All results of a row, side by side. */
static int64_t
out_width(const compiler *c, const rlf_model_row *row)
{
    int64_t n = 0;
    for (int i = 0; i < row->n_out; i++)
        n += width_of(c, row->out[i]);
    return n;
}

/* Room for one more in an array of the arena. */
static void *
grown(compiler *c, void *list, int n, int *room, size_t each)
{
    if (n < *room)
        return list;
    *room = *room ? 2 * *room : 32;
    char *more = rlf_arena_alloc(c->arena, (size_t)*room * each);
    if (n)
        memcpy(more, list, (size_t)n * each);
    return more;
}

/* ---- memory ---- */

static rlf_address
take(compiler *c, rlf_block block, size_t bytes)
{
    size_t at = c->used[block];
    c->used[block] += (bytes + 63) / 64 * 64;
    return rlf_address_at(block, (int64_t)at);
}

/* A number for each row of each of so many columns, in f32. */
static rlf_address
take_floats(compiler *c, int64_t columns)
{
    return take(c, RLF_AT_LAYER,
                (size_t)(c->options->tokens * columns) * sizeof(float));
}

static int
new_buffer(compiler *c, buffer b)
{
    c->buffers = grown(c, c->buffers, c->n_buffers, &c->room_buffers,
                       sizeof *c->buffers);
    int *newest = &c->newest[rlf_address_block(b.at)];
    b.next = *newest;
    c->buffers[c->n_buffers] = b;
    *newest = c->n_buffers;
    return c->n_buffers++;
}

/* For the values x[0..n-1]: one of the same form that is free again, or a new
 * one. */
static int
take_buffer(compiler *c, rlf_block block, const rlf_var *x, int n)
{
    buffer want = {.first = c->program->values[x[0]].width, .n = n};
    for (int i = 0; i < n; i++)
        want.width += width_of(c, x[i]);
    for (int i = c->newest[block]; i >= 0; i = c->buffers[i].next) {
        buffer *b = &c->buffers[i];
        if (!b->users && b->first == want.first && b->n == n) {
            b->again = true;
            return i;
        }
    }
    want.at = take(c, block,
                   (size_t)(c->options->tokens * want.width) *
                       rlf_real_bytes(c->kernels));
    return new_buffer(c, want);
}

/* Column `first` of a buffer and those behind it, in use. */
static spot
spot_in(compiler *c, int i, int64_t first)
{
    buffer *b = &c->buffers[i];
    b->users++;
    return (spot){b->at + (rlf_address)first * rlf_real_bytes(c->kernels),
                  b->width, i};
}

static void
leave(compiler *c, spot s)
{
    c->buffers[s.buffer].users--;
}

/* From now on nothing lies over what is in a layer's memory: the next layer has
 * its own, or the same from the beginning. */
static void
end_layer(compiler *c)
{
    c->code->layer[c->layer] = c->used[RLF_AT_LAYER];
    c->used[RLF_AT_LAYER] = 0;
    c->newest[RLF_AT_LAYER] = -1;
}

/* ---- calls ---- */

static rlf_kernel_call *
emit(compiler *c, int op, rlf_count count)
{
    rlf_kernel_calls *o = c->out;
    if (c->measures)
        return &c->measured;
    o->list = grown(c, o->list, o->n, &o->room, sizeof *o->list);
    rlf_kernel_call *call = &o->list[o->n++];
    *call = (rlf_kernel_call){
        .op = (uint8_t)op, .count = (uint8_t)count, .layer = c->layer};
    return call;
}

static void *
at(spot s)
{
    return (void *)s.at;
}

static void
emit_move(compiler *c, int op, rlf_count count, spot to, spot from,
          int64_t width)
{
    rlf_kernel_call *call = emit(c, op, count);
    call->move =
        (rlf_move_args){.width = width, .to = at(to), .from = at(from)};
}

/* Into the sum over the ranks that have the model in parts. */
static void
emit_sum(compiler *c, rlf_var x, spot s)
{
    if (c->table->cut.ranks > 1)
        emit_move(c, RLF_CALL_SUM, count_of(c, x), s, (spot){0},
                  width_of(c, x));
}

/* Of whole rows, as long as those of `to`. */
static void
emit_copy(compiler *c, rlf_var x, spot to, spot from)
{
    if (to.at != from.at)
        emit_move(c, RLF_CALL_COPY, count_of(c, x), to, from, to.ld);
}

/* A number of the block of weights, or NULL. */
static const float *
weight_at(int64_t offset)
{
    return offset == RLF_NO_SLOT
               ? NULL
               : (const float *)rlf_address_at(RLF_AT_WEIGHTS,
                                               offset * (int64_t)sizeof(float));
}

static float *
gradient_at(int64_t offset)
{
    return (float *)rlf_address_at(RLF_AT_GRADIENT,
                                   offset * (int64_t)sizeof(float));
}

static const void *
packed_at(const rlf_row_slots *w, rlf_product_form form)
{
    return (const void *)rlf_address_at(
        form == RLF_PRODUCT_FORWARD ? RLF_AT_PACKED : RLF_AT_PACKED_BACK,
        w->number);
}

static int64_t
heads_of(const compiler *c, rlf_var x)
{
    return width_of(c, x) / c->table->config.head_dim;
}

/* ---- what operations say of themselves ---- */

/* Does the derivative of a row read its input i? */
static bool
derivative_reads(const rlf_model_row *row, int i)
{
    switch (row->kind) {
    case RLF_ROW_NORM:
    case RLF_ROW_HEAD_NORM:
    case RLF_ROW_ATTEND:
    case RLF_ROW_GLU:
        return true;
    case RLF_ROW_LINEAR:
    case RLF_ROW_ONTO: /* the product's */
        return i == 0;
    case RLF_ROW_EMBED:
    case RLF_ROW_ROTATE:
    case RLF_ROW_GATHER:
        break;
    }
    return false;
}

/* The input that its output i may be written over, or -1. */
static int
may_overwrite(const rlf_model_row *row, int i)
{
    switch (row->kind) {
    case RLF_ROW_NORM:
    case RLF_ROW_HEAD_NORM:
    case RLF_ROW_ROTATE:
        return i;
    case RLF_ROW_ONTO:
        return 1;
    case RLF_ROW_LINEAR:
    case RLF_ROW_ATTEND:
    case RLF_ROW_GLU:
    case RLF_ROW_EMBED:
    case RLF_ROW_GATHER:
        break;
    }
    return -1;
}

/* Are gates multiplied and taken in one call? Nobody else reads them. */
static bool
is_fused(const compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r), *next = row + 1;
    return row->kind == RLF_ROW_LINEAR && r + 1 < c->program->n_rows &&
           next->kind == RLF_ROW_GLU && next->in[0] == row->out[0] &&
           next->in[1] == row->out[1];
}

/* ---- forward: where values lie ---- */

static void
make_lists(compiler *c)
{
    int n = c->program->n_values;
    c->value = RLF_NEW_ARRAY(c->arena, spot, n);
    c->root = RLF_NEW_ARRAY(c->arena, rlf_var, n);
    c->until = RLF_NEW_ARRAY(c->arena, int, n);
    c->derivatives = RLF_NEW_ARRAY(c->arena, int, n);
    c->layer_of = RLF_NEW_ARRAY(c->arena, int, n);
    c->crosses = RLF_NEW_ARRAY(c->arena, bool, n);
    c->gradient = RLF_NEW_ARRAY(c->arena, int, n);
    c->kept =
        rlf_arena_alloc(c->arena, (size_t)c->program->n_rows * sizeof *c->kept);
    for (int i = 0; i < n; i++) {
        c->root[i] = i;
        c->gradient[i] = -1;
    }
    for (int i = 0; i < RLF_N_BLOCKS; i++)
        c->newest[i] = -1;
}

/* Rows that read each value, and whether derivatives do. */
static void
find_readers(compiler *c)
{
    const rlf_program *p = c->program;
    const rlf_chunk own = c->table->chunk[c->options->chunk];
    for (int r = 0; r < p->n_rows; r++) {
        const rlf_model_row *row = row_at(c, r);
        /* behind the last layer is part of it */
        bool here = r >= p->first[own.first] &&
                    (r < p->first[own.last] || own.last == p->config->layers);
        for (int i = 0; i < row->n_out; i++)
            c->layer_of[row->out[i]] = row->layer;
        for (int i = 0; i < row->n_in; i++) {
            rlf_var x = row->in[i];
            bool derived = c->options->train && derivative_reads(row, i);
            /* until the call that it is part of is done */
            int end = r + is_fused(c, r);
            c->until[x] = derived             ? INT_MAX
                          : c->until[x] > end ? c->until[x]
                                              : end;
            /* behind the layers is the last one's memory */
            bool behind = !c->options->train && row->layer == p->config->layers;
            c->crosses[x] |= c->layer_of[x] != row->layer && !behind;
            c->derivatives[x] += derived && here;
        }
        if (c->options->train && row->kind == RLF_ROW_ATTEND) {
            c->until[row->out[0]] = INT_MAX; /* its derivative reads it too */
            c->derivatives[row->out[0]] += here;
        }
    }
    c->until[p->hidden] = INT_MAX;
}

/* The residual that comes into a chunk and goes out. In a pass that only reads
 * it is in one place. */
static void
place_residual(compiler *c, rlf_var x)
{
    c->value[x] = spot_in(c, take_buffer(c, RLF_AT_VALUES, &x, 1), 0);
}

/* Can all results of a row take the memory of inputs? */
static bool
takes_over(const compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    for (int i = 0; i < row->n_out; i++) {
        int from = may_overwrite(row, i);
        bool moves = from >= 0 && c->options->train &&
                     c->crosses[row->out[i]] != c->crosses[row->in[from]];
        if (from < 0 || moves || c->until[row->in[from]] > r)
            return false;
    }
    return true;
}

static void
take_over(compiler *c, rlf_var x, rlf_var from)
{
    c->value[x] = c->value[from];
    c->buffers[c->value[x].buffer].users++;
    c->root[x] = c->root[from];
    c->derivatives[c->root[x]] += c->derivatives[x];
}

/* New memory for all results of a row, side by side. */
static void
place_new(compiler *c, const rlf_model_row *row)
{
    int i =
        take_buffer(c, c->crosses[row->out[0]] ? RLF_AT_VALUES : RLF_AT_LAYER,
                    row->out, row->n_out);
    int64_t column = 0;
    for (int k = 0; k < row->n_out; k++) {
        c->value[row->out[k]] = spot_in(c, i, column);
        column += width_of(c, row->out[k]);
    }
}

/* What an operation measures for its derivative. */
static void
place_kept(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    rlf_address *kept = c->kept[r];
    if (row->out[0] == c->program->hidden) {
        kept[0] = rlf_address_at(RLF_AT_RSTD, 0);
        return;
    }
    if (!c->options->train)
        return;
    if (row->kind == RLF_ROW_NORM)
        kept[0] = take_floats(c, 1);
    if (row->kind == RLF_ROW_ATTEND)
        kept[0] = take_floats(c, c->table->heads);
    for (int i = 0; row->kind == RLF_ROW_HEAD_NORM && i < row->n_out; i++)
        kept[i] = take_floats(c, heads_of(c, row->out[i]));
}

static void
place_row(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const buffer hidden = {.at = rlf_address_at(RLF_AT_HIDDEN, 0),
                           .width = width_of(c, row->out[0])};
    if (row->out[0] == c->program->hidden)
        c->value[row->out[0]] = spot_in(c, new_buffer(c, hidden), 0);
    else if (takes_over(c, r))
        for (int i = 0; i < row->n_out; i++)
            take_over(c, row->out[i], row->in[may_overwrite(row, i)]);
    else
        place_new(c, row);
    place_kept(c, r);
    for (int i = 0; i < row->n_in; i++)
        if (c->until[row->in[i]] == r)
            leave(c, c->value[row->in[i]]);
}

/* ---- forward: calls ---- */

static void
embed(compiler *c, const rlf_model_row *row)
{
    const rlf_table *t = c->table;
    spot y = c->value[row->out[0]];
    emit(c, RLF_OP_embed, RLF_COUNT_TOKENS)->embed = (rlf_embed_args){
        .d = width_of(c, row->out[0]),
        .v = t->config.vocab,
        .first = t->token,
        .part = t->cut.ranks > 1 ? t->vocab : 0,
        .tokens = (const int32_t *)rlf_address_at(RLF_AT_TOKENS, 0),
        .y = at(y),
        .ldy = y.ld};
    emit_sum(c, row->out[0], y);
}

/* Of rows, or of each head of a row. */
static void
norm(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    bool heads = row->kind == RLF_ROW_HEAD_NORM;
    for (int i = 0; i < row->n_out; i++) {
        spot x = c->value[row->in[i]], y = c->value[row->out[i]];
        emit(c, RLF_OP_rmsnorm, count_of(c, row->out[i]))->rmsnorm =
            (rlf_rmsnorm_args){.d = heads ? c->table->config.head_dim
                                          : width_of(c, row->in[i]),
                               .groups = heads ? heads_of(c, row->in[i]) : 0,
                               .x = at(x),
                               .ldx = x.ld,
                               .weight = weight_at(c->table->rows[r].vector[i]),
                               .eps = (float)c->table->config.eps,
                               .y = at(y),
                               .ldy = y.ld,
                               .rstd = (float *)c->kept[r][i]};
    }
}

/* The size of a width in all places: how a sum over shards of it is cut. */
static const int64_t *
part_of(compiler *c, rlf_var x)
{
    int64_t *part = RLF_NEW(c->arena, int64_t);
    *part = rlf_width_size(&c->table->config, c->program->values[x].width);
    return part;
}

/* Gates multiplied and taken: the same bits in one call. */
static void
product_swiglu(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    spot x = c->value[row->in[0]], gates = c->value[row->out[0]],
         y = c->value[row[1].out[0]];
    emit(c, RLF_OP_product_swiglu, count_of(c, row->out[0]))->product_swiglu =
        (rlf_product_swiglu_args){.d = width_of(c, row->out[0]),
                                  .k = width_of(c, row->in[0]),
                                  .x = at(x),
                                  .ldx = x.ld,
                                  .packed = packed_at(w, RLF_PRODUCT_FORWARD),
                                  .bias = weight_at(w->vector[0]),
                                  .c = at(gates),
                                  .keep = c->options->train,
                                  .y = at(y),
                                  .ldy = y.ld};
}

/* From a width that is cut it is a sum over shards, in all places: what it
 * begins with is the first rank's. */
static void
product(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    spot x = c->value[row->in[0]], y = c->value[row->out[0]];
    bool onto = row->kind == RLF_ROW_ONTO, cut = is_cut(c, row->in[0]);
    bool begins = !cut || c->table->cut.rank == 0;
    if (onto)
        emit_copy(c, row->out[0], y, c->value[row->in[1]]);
    rlf_kernel_call *call = emit(c, RLF_OP_product, count_of(c, row->out[0]));
    call->product =
        (rlf_product_args){.n = out_width(c, row),
                           .k = width_of(c, row->in[0]),
                           .x = at(x),
                           .ldx = x.ld,
                           .packed = packed_at(w, RLF_PRODUCT_FORWARD),
                           .bias = begins ? weight_at(w->vector[0]) : NULL,
                           .c = at(y),
                           .ldc = y.ld,
                           .add = onto && begins};
    if (!cut) {
        call->soon = c->paged && row->n_out == 3;
        return;
    }
    call->product.shards = c->table->shards;
    call->product.parts = part_of(c, row->in[0]);
    call->product.n_parts = 1;
    emit_sum(c, row->out[0], y);
}

typedef struct pair {
    spot q, k;
} pair;

static rlf_address
behind(const compiler *c, spot s, int64_t columns)
{
    return s.at + (rlf_address)columns * rlf_real_bytes(c->kernels);
}

/* q and k, or their gradients back: in one call where they are side by side. */
static void
rotate(compiler *c, const rlf_model_row *row, pair to, pair from, bool back)
{
    const rlf_model_config *g = &c->table->config;
    int64_t heads = heads_of(c, row->out[0]), more = heads_of(c, row->out[1]);
    bool together = to.k.at == behind(c, to.q, heads * g->head_dim) &&
                    from.k.at == behind(c, from.q, heads * g->head_dim);
    rlf_rope_args args = {
        .heads = together ? heads + more : heads,
        .d = g->head_dim,
        .half = g->head_dim / 2,
        .positions = (const int32_t *)rlf_address_at(RLF_AT_POSITIONS, 0),
        .cos = (const float *)rlf_address_at(RLF_AT_COSINES, 0),
        .sin = (const float *)rlf_address_at(RLF_AT_SINES, 0),
        .x = at(from.q),
        .ldx = from.q.ld,
        .y = at(to.q),
        .ldy = to.q.ld,
        .back = back};
    emit(c, RLF_OP_rope, count_of(c, row->out[0]))->rope = args;
    if (together)
        return;
    args.heads = more;
    args.x = at(from.k);
    args.ldx = from.k.ld;
    args.y = at(to.k);
    args.ldy = to.k.ld;
    emit(c, RLF_OP_rope, count_of(c, row->out[0]))->rope = args;
}

static pair
pair_of(const compiler *c, const rlf_var *x)
{
    return (pair){c->value[x[0]], c->value[x[1]]};
}

static float
attention_scale(const compiler *c)
{
    return (float)(1 / sqrt((double)c->table->config.head_dim));
}

static void
attend(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    spot q = c->value[row->in[0]], k = c->value[row->in[1]],
         v = c->value[row->in[2]], o = c->value[row->out[0]];
    emit(c, RLF_OP_attention, RLF_COUNT_SEQUENCES)->attention =
        (rlf_attention_args){.heads = heads_of(c, row->in[0]),
                             .kv_heads = heads_of(c, row->in[1]),
                             .d = c->table->config.head_dim,
                             .scale = attention_scale(c),
                             .window = row->window,
                             .q = at(q),
                             .k = at(k),
                             .v = at(v),
                             .ldq = q.ld,
                             .ldk = k.ld,
                             .ldv = v.ld,
                             .o = at(o),
                             .ldo = o.ld,
                             .lse = (float *)c->kept[r][0]};
}

/* Keys and values go to their pages, and attention reads them there. Norms of
 * heads and rotation are done on the way; keys stay what they are. */
static void
attend_paged(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const rlf_model_config *g = &c->table->config;
    const rlf_row_slots *norms = c->table->layers[row->layer].head_norms;
    spot q = c->value[row->in[0]], k = c->value[row->in[1]],
         v = c->value[row->in[2]], o = c->value[row->out[0]];
    int64_t heads = heads_of(c, row->in[0]), kv_heads = heads_of(c, row->in[1]);
    emit(c, RLF_OP_kv_write, RLF_COUNT_TOKENS)->kv_write = (rlf_kv_write_args){
        .kv_heads = kv_heads,
        .d = g->head_dim,
        .k = at(k),
        .v = at(v),
        .ldk = k.ld,
        .ldv = v.ld,
        .half = g->head_dim / 2,
        .heads = heads,
        .q = at(q),
        .ldq = q.ld,
        .positions = (const int32_t *)rlf_address_at(RLF_AT_POSITIONS, 0),
        .cos = (const float *)rlf_address_at(RLF_AT_COSINES, 0),
        .sin = (const float *)rlf_address_at(RLF_AT_SINES, 0),
        .q_weight = norms ? weight_at(norms->vector[0]) : NULL,
        .k_weight = norms ? weight_at(norms->vector[1]) : NULL,
        .eps = (float)g->eps};
    emit(c, RLF_OP_attention_paged, RLF_COUNT_SEQUENCES)->attention_paged =
        (rlf_attention_paged_args){.heads = heads,
                                   .kv_heads = kv_heads,
                                   .d = g->head_dim,
                                   .scale = attention_scale(c),
                                   .window = row->window,
                                   .q = at(q),
                                   .ldq = q.ld,
                                   .o = at(o),
                                   .ldo = o.ld};
}

static void
gather(compiler *c, const rlf_model_row *row)
{
    spot x = c->value[row->in[0]], y = c->value[row->out[0]];
    emit(c, RLF_OP_rows_gather, RLF_COUNT_ROWS)->rows_gather =
        (rlf_rows_gather_args){
            .d = width_of(c, row->in[0]),
            .index = (const int32_t *)rlf_address_at(RLF_AT_ROWS, 0),
            .x = at(x),
            .ldx = x.ld,
            .y = at(y),
            .ldy = y.ld};
}

static void
forward_row(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    switch (row->kind) {
    case RLF_ROW_EMBED:
        embed(c, row);
        break;
    case RLF_ROW_NORM:
        norm(c, r);
        break;
    case RLF_ROW_HEAD_NORM:
        if (!c->paged)
            norm(c, r);
        break;
    case RLF_ROW_LINEAR:
        if (is_fused(c, r))
            product_swiglu(c, r);
        else
            product(c, r);
        break;
    case RLF_ROW_ONTO:
        product(c, r);
        break;
    case RLF_ROW_ROTATE:
        if (!c->paged)
            rotate(c, row, pair_of(c, row->out), pair_of(c, row->in), false);
        break;
    case RLF_ROW_ATTEND:
        if (c->paged)
            attend_paged(c, r);
        else
            attend(c, r);
        break;
    case RLF_ROW_GLU: /* with its product */
        break;
    case RLF_ROW_GATHER:
        gather(c, row);
        break;
    }
}

/* The rows of a layer that make what its derivatives read, and is not kept. */
static void
recompute(compiler *c, int layer)
{
    int first = c->program->first[layer], last = c->program->first[layer + 1];
    bool *wanted = RLF_NEW_ARRAY(c->arena, bool, c->program->n_values);
    bool *again = RLF_NEW_ARRAY(c->arena, bool, last - first);
    for (int r = last - 1; r >= first; r--) {
        const rlf_model_row *row = row_at(c, r);
        again[r - first] = c->kept[r][0] != 0;
        for (int i = 0; i < row->n_out; i++)
            again[r - first] |= wanted[row->out[i]] && !c->crosses[row->out[i]];
        for (int i = 0; i < row->n_in; i++)
            wanted[row->in[i]] |= again[r - first] || derivative_reads(row, i);
    }
    for (int r = first; r < last; r++)
        if (again[r - first])
            forward_row(c, r);
}

/* ---- backward: where gradients lie ---- */

static const gradient *
gradient_of(const compiler *c, rlf_var x)
{
    RLF_ASSERT(c->gradient[x] >= 0);
    return &c->gradients[c->gradient[x]];
}

static void
put_gradient(compiler *c, rlf_var x, spot s)
{
    RLF_ASSERT(c->gradient[x] < 0);
    c->gradients = grown(c, c->gradients, c->n_gradients, &c->room_gradients,
                         sizeof *c->gradients);
    c->gradients[c->n_gradients] = (gradient){s, 1};
    c->gradient[x] = c->n_gradients++;
}

/* The gradient of x is that of y too. */
static void
pass_gradient(compiler *c, rlf_var x, rlf_var y)
{
    RLF_ASSERT(c->gradient[x] < 0);
    c->gradient[x] = c->gradient[y];
    c->gradients[c->gradient[x]].claims++;
}

static void
leave_gradient(compiler *c, rlf_var x)
{
    gradient *g = &c->gradients[c->gradient[x]];
    if (--g->claims == 0 && g->at.buffer >= 0)
        leave(c, g->at);
}

/* A derivative that reads x has read it. */
static void
has_read(compiler *c, rlf_var x)
{
    c->derivatives[c->root[x]]--;
}

/* Is nothing needed any more of what lies where a value did? */
static bool
is_free(const compiler *c, rlf_var x)
{
    return c->derivatives[c->root[x]] == 0 &&
           !c->buffers[c->value[x].buffer].again;
}

/* The memory of a value itself, where its gradient is to lie. */
static spot
own_memory(const compiler *c, rlf_var x)
{
    spot s = c->value[x];
    s.buffer = -1;
    return s;
}

/* Where a gradient comes in and goes out of a chunk. */
static spot
border_gradient(compiler *c, rlf_var x)
{
    return (spot){rlf_address_at(RLF_AT_D_X, 0), width_of(c, x), -1};
}

/* A place for the first gradient of a value: that of the residual, which goes
 * through all layers, in memory of its own. */
static spot
place_gradient(compiler *c, rlf_var x)
{
    if (is_free(c, x))
        return own_memory(c, x);
    if (c->crosses[x])
        return border_gradient(c, x);
    return spot_in(c, take_buffer(c, RLF_AT_SCRATCH, &x, 1), 0);
}

/* ---- backward: calls ---- */

/* dx of a norm is added to the gradient that is there, or lies over dy. */
static void
norm_back(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    rlf_var x = row->in[0], y = row->out[0];
    int64_t w = c->table->rows[r].vector[0];
    spot dy = gradient_of(c, y)->at;
    bool add = c->gradient[x] >= 0;
    if (!add)
        pass_gradient(c, x, y);
    spot dx = gradient_of(c, x)->at;
    leave_gradient(c, y);
    RLF_ASSERT(gradient_of(c, x)->claims == 1);
    emit(c, RLF_OP_rmsnorm_grad, count_of(c, y))->rmsnorm_grad =
        (rlf_rmsnorm_grad_args){.d = width_of(c, x),
                                .x = at(c->value[x]),
                                .ldx = c->value[x].ld,
                                .weight = weight_at(w),
                                .rstd = (const float *)c->kept[r][0],
                                .dy = at(dy),
                                .lddy = dy.ld,
                                .dx = at(dx),
                                .lddx = dx.ld,
                                .add = add,
                                .dweight = gradient_at(w)};
    has_read(c, x);
}

/* Over dy; a sum of dweight for each shard of the heads. */
static void
head_norm_back(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const rlf_table *t = c->table;
    for (int i = 0; i < row->n_out; i++) {
        rlf_var x = row->in[i], y = row->out[i];
        spot dy = gradient_of(c, y)->at;
        emit(c, RLF_OP_rmsnorm_grad, count_of(c, y))->rmsnorm_grad =
            (rlf_rmsnorm_grad_args){
                .d = t->config.head_dim,
                .groups = heads_of(c, x),
                .x = at(c->value[x]),
                .ldx = c->value[x].ld,
                .weight = weight_at(t->rows[r].vector[i]),
                .rstd = (const float *)c->kept[r][i],
                .dy = at(dy),
                .lddy = dy.ld,
                .dx = at(dy),
                .lddx = dy.ld,
                .dweight =
                    gradient_at(rlf_gradient_head_norm(t, row->layer, i)),
                .shards = t->norm_sums[i]};
        pass_gradient(c, x, y);
        leave_gradient(c, y);
        has_read(c, x);
    }
}

static void
matrix_back(compiler *c, int r, spot dy)
{
    const rlf_model_row *row = row_at(c, r);
    spot x = c->value[row->in[0]];
    emit(c, RLF_OP_product_grad, count_of(c, row->out[0]))->product_grad =
        (rlf_product_grad_args){.n = out_width(c, row),
                                .k = width_of(c, row->in[0]),
                                .dy = at(dy),
                                .lddy = dy.ld,
                                .x = at(x),
                                .ldx = x.ld,
                                .dw = gradient_at(c->table->rows[r].matrix)};
}

/* Where ranks hold the same heads the gradients of keys and values are apart:
 * beside those of queries, in the memory that q, k and v had. */
static spot
join_heads(compiler *c, const rlf_model_row *row)
{
    spot dq = gradient_of(c, row->out[0])->at,
         dk = gradient_of(c, row->out[1])->at, to = own_memory(c, row->out[0]);
    emit_copy(c, row->out[0], to, dq);
    emit(c, RLF_OP_add, RLF_COUNT_TOKENS)->add = (rlf_add_args){
        .d = dk.ld, .a = at(dk), .c = at(c->value[row->out[1]]), .ldc = to.ld};
    return to;
}

/* How the sum over outputs that are cut is cut (kernels.h). */
static void
set_parts(compiler *c, const rlf_model_row *row, rlf_product_args *a)
{
    const rlf_table *t = c->table;
    int64_t *parts = RLF_NEW_ARRAY(c->arena, int64_t, row->n_out);
    int *pieces = RLF_NEW_ARRAY(c->arena, int, row->n_out);
    for (int i = 0; i < row->n_out; i++) {
        bool kv = c->program->values[row->out[i]].width == RLF_WIDTH_KV;
        parts[i] = kv ? width_of(c, row->out[i]) * t->cut.ranks
                      : *part_of(c, row->out[i]);
        pieces[i] = kv ? rlf_table_kv_pieces(t) : 0;
    }
    a->shards = t->shards;
    a->parts = parts;
    a->pieces = pieces;
    a->n_parts = row->n_out;
}

/* dy as gradients of weights take it. If they come later it stays, where
 * nothing is read any more. */
static spot
weights_gradient(compiler *c, const rlf_model_row *row, bool apart)
{
    spot dy = gradient_of(c, row->out[0])->at;
    if (apart)
        return join_heads(c, row);
    if (!c->options->split)
        return dy;
    RLF_ASSERT(is_free(c, row->out[0]));
    emit_copy(c, row->out[0], own_memory(c, row->out[0]), dy);
    return dy;
}

static void
product_back(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    const rlf_table *t = c->table;
    rlf_var x = row->in[0], y = row->out[0];
    bool apart = row->n_out == 3 && t->copies > 1;
    spot dy = gradient_of(c, y)->at, d_all = weights_gradient(c, row, apart);
    if (!c->options->split)
        matrix_back(c, r, d_all);
    if (w->vector[0] != RLF_NO_SLOT)
        emit(c, RLF_OP_bias_grad, count_of(c, y))->bias_grad =
            (rlf_bias_grad_args){.n = out_width(c, row),
                                 .dy = at(d_all),
                                 .lddy = d_all.ld,
                                 .db = gradient_at(w->vector[0])};
    if (!c->options->split)
        has_read(c, x);
    spot dx = place_gradient(c, x);
    /* keys and values that several hold count as the first one's */
    spot from = apart && t->cut.rank % t->copies ? dy : d_all;
    rlf_kernel_call *call = emit(c, RLF_OP_product, count_of(c, y));
    call->product =
        (rlf_product_args){.n = width_of(c, x),
                           .k = out_width(c, row),
                           .x = at(from),
                           .ldx = from.ld,
                           .packed = packed_at(w, RLF_PRODUCT_BACKWARD),
                           .form = RLF_PRODUCT_BACKWARD,
                           .c = at(dx),
                           .ldc = dx.ld};
    if (is_cut(c, y)) {
        set_parts(c, row, &call->product);
        emit_sum(c, x, dx);
    }
    put_gradient(c, x, dx);
    if (row->kind == RLF_ROW_ONTO)
        pass_gradient(c, row->in[1], y);
    for (int i = 0; i < row->n_out; i++)
        leave_gradient(c, row->out[i]);
}

static void
rotate_back(compiler *c, const rlf_model_row *row)
{
    const pair d = {gradient_of(c, row->out[0])->at,
                    gradient_of(c, row->out[1])->at};
    rotate(c, row, d, d, true);
    for (int i = 0; i < row->n_out; i++) {
        pass_gradient(c, row->in[i], row->out[i]);
        leave_gradient(c, row->out[i]);
    }
}

/* Gradients of q, k and v, side by side as their product takes them; those of
 * heads that several ranks hold are sums over the shards that their query heads
 * are in, on this rank and then on others: each of them has the whole then. */
static void
place_heads_gradient(compiler *c, const rlf_model_row *row)
{
    int64_t q = width_of(c, row->in[0]), kv = width_of(c, row->in[1]);
    bool apart = c->table->copies > 1;
    int i = take_buffer(c, RLF_AT_SCRATCH, row->in, row->n_in);
    put_gradient(c, row->in[0], spot_in(c, i, 0));
    if (apart) /* no keys and values there: they count on one rank alone */
        emit_move(c, RLF_CALL_ZERO, RLF_COUNT_TOKENS,
                  gradient_of(c, row->in[0])->at, (spot){0}, q + 2 * kv);
    int k = apart ? take_buffer(c, RLF_AT_SCRATCH, &row->in[1], 2) : i;
    put_gradient(c, row->in[1], spot_in(c, k, apart ? 0 : q));
    put_gradient(c, row->in[2], spot_in(c, k, apart ? kv : q + kv));
}

static void
attend_back(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    int shards = c->table->shards.count, heads = c->table->kv_heads;
    spot q = c->value[row->in[0]], k = c->value[row->in[1]],
         v = c->value[row->in[2]], o = c->value[row->out[0]],
         d_o = gradient_of(c, row->out[0])->at;
    place_heads_gradient(c, row);
    spot dq = gradient_of(c, row->in[0])->at,
         dk = gradient_of(c, row->in[1])->at,
         dv = gradient_of(c, row->in[2])->at;
    emit(c, RLF_OP_attention_grad, RLF_COUNT_SEQUENCES)->attention_grad =
        (rlf_attention_grad_args){.heads = heads_of(c, row->in[0]),
                                  .kv_heads = heads,
                                  .d = c->table->config.head_dim,
                                  .scale = attention_scale(c),
                                  .window = row->window,
                                  .q = at(q),
                                  .k = at(k),
                                  .v = at(v),
                                  .ldq = q.ld,
                                  .ldk = k.ld,
                                  .ldv = v.ld,
                                  .o = at(o),
                                  .d_o = at(d_o),
                                  .ldo = o.ld,
                                  .lddo = d_o.ld,
                                  .lse = (const float *)c->kept[r][0],
                                  .dq = at(dq),
                                  .dk = at(dk),
                                  .dv = at(dv),
                                  .lddq = dq.ld,
                                  .lddk = dk.ld,
                                  .lddv = dv.ld,
                                  .parts = shards > heads ? shards / heads : 1};
    if (c->table->copies > 1)
        emit_move(c, RLF_CALL_SUM_COPIES, RLF_COUNT_TOKENS, dk, (spot){0},
                  dk.ld);
    for (int i = 0; i < row->n_in; i++)
        has_read(c, row->in[i]);
    has_read(c, row->out[0]);
    leave_gradient(c, row->out[0]);
}

/* Over gates and ups, which it alone reads. */
static void
glu_back(compiler *c, const rlf_model_row *row)
{
    spot gate = c->value[row->in[0]], up = c->value[row->in[1]],
         dy = gradient_of(c, row->out[0])->at;
    for (int i = 0; i < row->n_in; i++) {
        has_read(c, row->in[i]);
        RLF_ASSERT(is_free(c, row->in[i]));
        put_gradient(c, row->in[i], own_memory(c, row->in[i]));
    }
    emit(c, RLF_OP_swiglu_grad, count_of(c, row->out[0]))->swiglu_grad =
        (rlf_swiglu_grad_args){.d = width_of(c, row->out[0]),
                               .gate = at(gate),
                               .up = at(up),
                               .ldx = gate.ld,
                               .dy = at(dy),
                               .lddy = dy.ld,
                               .dgate = at(gate),
                               .dup = at(up),
                               .lddx = gate.ld};
    leave_gradient(c, row->out[0]);
}

/* To the rows' tokens; all other tokens have none. */
static void
gather_back(compiler *c, const rlf_model_row *row)
{
    rlf_var x = row->in[0];
    spot dy = gradient_of(c, row->out[0])->at, dx = place_gradient(c, x);
    emit_move(c, RLF_CALL_ZERO, RLF_COUNT_TOKENS, dx, (spot){0}, dx.ld);
    emit(c, RLF_OP_rows_scatter, RLF_COUNT_ROWS)->rows_scatter =
        (rlf_rows_scatter_args){
            .d = width_of(c, x),
            .index = (const int32_t *)rlf_address_at(RLF_AT_ROWS, 0),
            .x = at(dy),
            .ldx = dy.ld,
            .y = at(dx),
            .ldy = dx.ld};
    put_gradient(c, x, dx);
    leave_gradient(c, row->out[0]);
}

static void
embed_back(compiler *c, const rlf_model_row *row)
{
    const rlf_table *t = c->table;
    spot dy = gradient_of(c, row->out[0])->at;
    emit(c, RLF_OP_embed_grad, RLF_COUNT_TOKENS)->embed_grad =
        (rlf_embed_grad_args){
            .d = width_of(c, row->out[0]),
            .v = t->config.vocab,
            .first = t->token,
            .part = t->cut.ranks > 1 ? t->vocab : 0,
            .tokens = (const int32_t *)rlf_address_at(RLF_AT_TOKENS, 0),
            .dy = at(dy),
            .lddy = dy.ld,
            .dw = gradient_at(t->embed)};
}

static void
backward_row(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    switch (row->kind) {
    case RLF_ROW_EMBED:
        if (!c->options->split)
            embed_back(c, row);
        break;
    case RLF_ROW_NORM:
        norm_back(c, r);
        break;
    case RLF_ROW_HEAD_NORM:
        head_norm_back(c, r);
        break;
    case RLF_ROW_LINEAR:
    case RLF_ROW_ONTO:
        product_back(c, r);
        break;
    case RLF_ROW_ROTATE:
        rotate_back(c, row);
        break;
    case RLF_ROW_ATTEND:
        attend_back(c, r);
        break;
    case RLF_ROW_GLU:
        glu_back(c, row);
        break;
    case RLF_ROW_GATHER:
        gather_back(c, row);
        break;
    }
}

/* What a split backward leaves: gradients of products' weights, and of the
 * embedding. */
static void
weights_row(compiler *c, int r)
{
    const rlf_model_row *row = row_at(c, r);
    if (row->kind == RLF_ROW_EMBED)
        embed_back(c, row);
    if (row->kind == RLF_ROW_LINEAR || row->kind == RLF_ROW_ONTO)
        matrix_back(c, r, c->value[row->out[0]]);
}

/* ---- chunks ---- */

/* Rows first..last-1 of a layer; the first has those before it, the last those
 * behind it. */
typedef struct span {
    int first, last;
} span;

static span
rows_of(compiler *c, int layer)
{
    const rlf_program *p = c->program;
    int layers = p->config->layers;
    c->layer = layer;
    return (span){layer ? p->first[layer] : 0,
                  layer < layers - 1 ? p->first[layer + 1] : p->n_rows};
}

static void
place_chunk(compiler *c, int chunk)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    for (int i = layers.first; i < layers.last; i++) {
        const span rows = rows_of(c, i);
        if (i == layers.first && i > 0) {
            /* a layer's first row reads the residual, its last one gives it */
            rlf_var x = row_at(c, rows.first)->in[0];
            place_residual(c, x);
            c->code->input[chunk] = c->value[x].at;
        }
        for (int r = rows.first; r < rows.last; r++)
            place_row(c, r);
        end_layer(c);
    }
    int last = c->program->first[layers.last] - 1;
    c->code->output[chunk] = c->value[row_at(c, last)->out[0]].at;
    for (int i = c->newest[RLF_AT_VALUES]; i >= 0 && !c->options->train;
         i = c->buffers[i].next)
        c->buffers[i].users = 0; /* the residual has gone on */
}

static void
forward_chunk(compiler *c, int chunk, rlf_kernel_calls *out)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    c->out = out;
    for (int i = layers.first; i < layers.last; i++) {
        const span rows = rows_of(c, i);
        if (!c->options->train)
            emit(c, RLF_CALL_BRING, RLF_COUNT_TOKENS);
        for (int r = rows.first; r < rows.last; r++)
            forward_row(c, r);
    }
}

static void
backward_chunk(compiler *c, int chunk)
{
    const rlf_chunk layers = c->table->chunk[chunk];
    bool ends = rlf_table_ends(c->table, chunk);
    rlf_var x = ends ? c->program->hidden
                     : row_at(c, c->program->first[layers.last] - 1)->out[0];
    spot d_hidden = {rlf_address_at(RLF_AT_D_HIDDEN, 0), width_of(c, x), -1};
    put_gradient(c, x, ends ? d_hidden : border_gradient(c, x));
    for (int i = layers.last - 1; i >= layers.first; i--) {
        const span rows = rows_of(c, i);
        c->out =
            ends && i == layers.last - 1 ? &c->code->again : &c->code->backward;
        if (c->options->recompute)
            recompute(c, i);
        c->out = &c->code->backward;
        for (int r = rows.last - 1; r >= rows.first; r--)
            backward_row(c, r);
    }
    c->out = &c->code->weights;
    for (int i = layers.last - 1; c->options->split && i >= layers.first; i--) {
        const span rows = rows_of(c, i);
        for (int r = rows.last - 1; r >= rows.first; r--)
            weights_row(c, r);
    }
}

static rlf_code *
compile(compiler *c)
{
    const rlf_table *t = c->table;
    const rlf_pass_options *o = c->options;
    int chunks = t->cut.chunks, first = o->train ? o->chunk : 0;
    int last = o->train ? o->chunk + 1 : chunks;
    rlf_code *code = RLF_NEW(c->arena, rlf_code);
    c->code = code;
    code->forward = RLF_NEW_ARRAY(c->arena, rlf_kernel_calls, chunks);
    code->paged = RLF_NEW_ARRAY(c->arena, rlf_kernel_calls, chunks);
    code->input = RLF_NEW_ARRAY(c->arena, rlf_address, chunks);
    code->output = RLF_NEW_ARRAY(c->arena, rlf_address, chunks);
    code->layer = RLF_NEW_ARRAY(c->arena, size_t, t->config.layers);
    make_lists(c);
    find_readers(c);
    for (int i = first; i < last; i++)
        place_chunk(c, i);
    for (int i = first; i < last && !c->measures; i++) {
        forward_chunk(c, i, &code->forward[i]);
        c->paged = true;
        if (!o->train)
            forward_chunk(c, i, &code->paged[i]);
        c->paged = false;
    }
    if (o->train)
        backward_chunk(c, o->chunk);
    code->values = c->used[RLF_AT_VALUES];
    code->scratch = c->used[RLF_AT_SCRATCH];
    return code;
}

const rlf_code *
rlf_compile_pass(const rlf_table *t, const rlf_kernels *kernels,
                 const rlf_pass_options *o, rlf_arena *arena)
{
    compiler c = {.table = t,
                  .kernels = kernels,
                  .program = t->program,
                  .options = o,
                  .arena = arena};
    return compile(&c);
}

const rlf_code *
rlf_measure_pass(const rlf_table *t, const rlf_kernels *kernels,
                 const rlf_pass_options *o, rlf_arena *arena)
{
    compiler c = {.table = t,
                  .kernels = kernels,
                  .program = t->program,
                  .options = o,
                  .arena = arena,
                  .measures = true};
    return compile(&c);
}
