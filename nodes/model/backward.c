/* The calls that model rows become on the way back. */
#include "nodes/model/compiler.h"
#include "nodes/model/gradient.h"

/* The gradient of x, which is there, to be written: in memory of its own if
 * others have it too. */
static rlf_value_place
own_gradient(rlf_compiler *c, rlf_var x)
{
    rlf_value_place shared = rlf_gradients_at(c, x);
    if (rlf_gradients_alone(c, x))
        return shared;
    rlf_gradients_leave(c, x);
    c->gradient[x] = -1;
    rlf_gradients_put(c, x, rlf_gradients_place(c, x));
    rlf_emit_copy(c, x, rlf_gradients_at(c, x), shared);
    return rlf_gradients_at(c, x);
}

/* The gradient of y, times scale, is a part of that of x: it is the same, or in
 * its place, or added to what is there. */
static void
add_gradient(rlf_compiler *c, rlf_var x, rlf_var y, float scale)
{
    rlf_value_place dy = rlf_gradients_at(c, y);
    bool there = c->gradient[x] >= 0;
    if (there)
        own_gradient(c, x);
    else if (scale == 1 || rlf_gradients_alone(c, y))
        rlf_gradients_pass(c, x, y);
    else
        rlf_gradients_put(c, x, rlf_gradients_place(c, x));
    rlf_value_place dx = rlf_gradients_at(c, x);
    if (!there && scale == 1)
        return;
    rlf_emit(c, RLF_OP_add, rlf_count_of(c, y))->add =
        (rlf_add_args){.d = rlf_width_of(c, x),
                       .a = there ? rlf_at(dx) : rlf_at(dy),
                       .b = there ? rlf_at(dy) : NULL,
                       .lda = there ? dx.ld : dy.ld,
                       .ldb = dy.ld,
                       .scale = scale,
                       RLF_OPERAND(c, dx)};
}

/* dx of a norm is added to the gradient that is there, or lies over dy. */
static void
norm_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_var x = row->in[0], y = row->out[0];
    int64_t w = c->table->rows[r].vector[0];
    rlf_value_place dy = rlf_gradients_at(c, y);
    bool add = c->gradient[x] >= 0, shards = rlf_norm_in_shards(c, row);
    if (!add && rlf_gradients_alone(c, y))
        rlf_gradients_pass(c, x, y);
    else if (!add)
        rlf_gradients_put(c, x, rlf_gradients_place(c, x));
    rlf_value_place dx = add ? own_gradient(c, x) : rlf_gradients_at(c, x);
    rlf_gradients_leave(c, y);
    rlf_gradients_read(c, x);
    if (shards)
        rlf_emit_norm_sums(c, r, &dy, c->kept[r][1]);
    if (row->centred) {
        int64_t bias = c->table->rows[r].vector[1];
        rlf_emit(c, RLF_OP_layernorm_grad, rlf_count_of(c, y))->layernorm_grad =
            (rlf_layernorm_grad_args){.d = row->by_head
                                               ? c->table->config.head_dim
                                               : rlf_width_of(c, x),
                                      .groups = rlf_groups_of(c, row),
                                      RLF_OPERAND(x, c->value[x]),
                                      .weight = rlf_weight_at(w),
                                      .mean = (const float *)c->kept[r][1],
                                      .rstd = (const float *)c->kept[r][0],
                                      RLF_OPERAND(dy, dy),
                                      RLF_OPERAND(dx, dx),
                                      .add = add,
                                      .dweight = rlf_gradient_at(c, w),
                                      .dbias = rlf_gradient_at(c, bias)};
        return;
    }
    rlf_emit(c, RLF_OP_rmsnorm_grad, rlf_count_of(c, y))->rmsnorm_grad =
        (rlf_rmsnorm_grad_args){.d = rlf_width_of(c, x),
                                RLF_OPERAND(x, c->value[x]),
                                .weight = rlf_norm_at(c, w),
                                .rstd = (const float *)c->kept[r][0],
                                RLF_OPERAND(dy, dy),
                                RLF_OPERAND(dx, dx),
                                .add = add,
                                .dweight = rlf_gradient_at(c, w),
                                .sums = shards ? (const float *)c->kept[r][1]
                                               : NULL,
                                .whole = rlf_whole_of(c, x)};
}

/* Over dy; a sum of dweight for each shard of the heads. */
static void
head_norm_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_table *t = c->table;
    for (int i = 0; i < row->n_out; i++) {
        rlf_var x = row->in[i], y = row->out[i];
        rlf_value_place dy = rlf_gradients_at(c, y);
        rlf_emit(c, RLF_OP_rmsnorm_grad, rlf_count_of(c, y))->rmsnorm_grad =
            (rlf_rmsnorm_grad_args){
                .d = t->config.head_dim,
                .groups = rlf_heads_of(c, x),
                RLF_OPERAND(x, c->value[x]),
                .weight = rlf_norm_at(c, t->rows[r].vector[i]),
                .rstd = (const float *)c->kept[r][i],
                RLF_OPERAND(dy, dy),
                RLF_OPERAND(dx, dy),
                .dweight = rlf_gradient_at(
                    c, rlf_gradient_head_norm(t, row->layer, i)),
                .shards = t->norm_sums[i]};
        rlf_gradients_pass(c, x, y);
        rlf_gradients_leave(c, y);
        rlf_gradients_read(c, x);
    }
}

static void
matrix_back(rlf_compiler *c, int r, rlf_value_place dy)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place x = c->value[row->in[0]];
    rlf_emit(c, RLF_OP_product_grad, rlf_count_of(c, row->out[0]))
        ->product_grad = (rlf_product_grad_args){
        .n = rlf_out_width(c, row),
        .k = rlf_width_of(c, row->in[0]),
        RLF_OPERAND(dy, dy),
        RLF_OPERAND(x, x),
        .dw = rlf_gradient_at(c, c->table->rows[r].matrix)};
}

/* The gradients of keys and values are apart if ranks hold the same heads:
 * beside those of queries, in the memory that q, k and v had. */
static rlf_value_place
join_heads(rlf_compiler *c, const rlf_model_row *row)
{
    rlf_value_place dq = rlf_gradients_at(c, row->out[0]),
                    dk = rlf_gradients_at(c, row->out[1]),
                    to = rlf_gradients_own(c, row->out[0]);
    rlf_emit_copy(c, row->out[0], to, dq);
    rlf_emit(c, RLF_OP_add, RLF_COUNT_TOKENS)->add =
        (rlf_add_args){.d = dk.ld,
                       .a = rlf_at(dk),
                       .c = rlf_at(c->value[row->out[1]]),
                       .ldc = to.ld};
    return to;
}

/* Sets how the sum over outputs that are cut is cut (kernels.h). */
static void
set_parts(rlf_compiler *c, const rlf_model_row *row, rlf_product_args *a)
{
    const rlf_table *t = c->table;
    int64_t *parts = RLF_NEW_ARRAY(c->arena, int64_t, row->n_out);
    int *pieces = RLF_NEW_ARRAY(c->arena, int, row->n_out);
    for (int i = 0; i < row->n_out; i++)
        parts[i] = rlf_cut_of(c, row->out[i], &pieces[i]);
    a->shards = t->shards;
    a->parts = parts;
    a->pieces = pieces;
    a->n_parts = row->n_out;
}

/* dy as gradients of weights take it. If they come later it stays, where
 * nothing is read any more. */
static rlf_value_place
weights_gradient(rlf_compiler *c, int r, bool apart)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place dy = rlf_gradients_at(c, row->out[0]);
    if (apart)
        return join_heads(c, row);
    if (!c->options->split || !rlf_is_trained(c, r))
        return dy;
    for (int i = 0; i < row->n_out; i++)
        c->taken[c->root[row->out[i]]] = true;
    rlf_emit_copy(c, row->out[0], c->late[r], dy);
    return dy;
}

/* dx of a product: of what is cut a sum over shards, in all places, of which
 * keys and values that several ranks hold count as the first one's. What is
 * there already (`add`) is the first rank's. */
static void
input_gradient(rlf_compiler *c, int r, rlf_value_place dy, rlf_value_place dx,
               bool add)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_table *t = c->table;
    rlf_var x = row->in[0], y = row->out[0];
    bool kv = c->program->values.data[y].width == RLF_WIDTH_KV;
    rlf_product_args args = {
        .n = rlf_width_of(c, x),
        .k = rlf_out_width(c, row),
        RLF_OPERAND(x, dy),
        .packed = rlf_packed_at(&t->rows[r], RLF_PRODUCT_BACKWARD),
        .form = RLF_PRODUCT_BACKWARD,
        RLF_OPERAND(c, dx),
        .add = add && (!rlf_is_cut(c, y) || t->cut.rank == 0)};
    if (rlf_is_cut(c, y))
        set_parts(c, row, &args);
    if (kv && t->cut.rank % t->copies)
        rlf_emit_move(c, RLF_CALL_ZERO, rlf_count_of(c, x), dx,
                      (rlf_value_place){0}, dx.ld);
    else
        rlf_emit(c, RLF_OP_product, rlf_count_of(c, y))->product = args;
    if (rlf_is_cut(c, y))
        rlf_emit_sum(c, x, dx);
}

static void
product_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_row_slots *w = &c->table->rows[r];
    const rlf_table *t = c->table;
    rlf_var x = row->in[0], y = row->out[0];
    bool apart = row->n_out == 3 && t->copies > 1;
    bool trained = rlf_is_trained(c, r), later = c->options->split && trained;
    rlf_value_place dy = rlf_gradients_at(c, y),
                    d_all = weights_gradient(c, r, apart);
    if (trained && !later)
        matrix_back(c, r, d_all);
    if (trained && w->vector[0] != RLF_NO_SLOT)
        rlf_emit(c, RLF_OP_bias_grad, rlf_count_of(c, y))->bias_grad =
            (rlf_bias_grad_args){.n = rlf_out_width(c, row),
                                 RLF_OPERAND(dy, d_all),
                                 .db = rlf_gradient_at(c, w->vector[0])};
    if (trained && !later)
        rlf_gradients_read(c, x);
    /* beside the queries' are zeros then */
    rlf_value_place from = apart && t->cut.rank % t->copies ? dy : d_all;
    if (c->wanted[x]) {
        bool add = c->gradient[x] >= 0;
        if (!add)
            rlf_gradients_put(c, x, rlf_gradients_place(c, x));
        input_gradient(c, r, from, own_gradient(c, x), add);
    }
    if (row->kind == RLF_ROW_ONTO && c->wanted[row->in[1]])
        add_gradient(c, row->in[1], y, 1);
    /* what gradients of weights will read nobody may write over */
    bool kept = later && dy.at == c->late[r].at;
    for (int i = 0; i < row->n_out && !kept; i++)
        rlf_gradients_leave(c, row->out[i]);
}

static void
rotate_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_pair d = {rlf_gradients_at(c, row->out[0]),
                        rlf_gradients_at(c, row->out[1])};
    rlf_emit_rotation(c, row, d, d, true);
    for (int i = 0; i < row->n_out; i++) {
        rlf_gradients_pass(c, row->in[i], row->out[i]);
        rlf_gradients_leave(c, row->out[i]);
    }
}

static void
attend_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    int shards = c->table->shards.count, heads = c->table->kv_heads;
    rlf_value_place q = c->value[row->in[0]], k = c->value[row->in[1]],
                    v = c->value[row->in[2]], o = c->value[row->out[0]],
                    d_o = rlf_gradients_at(c, row->out[0]);
    rlf_gradients_heads(c, row);
    rlf_value_place dq = rlf_gradients_at(c, row->in[0]),
                    dk = rlf_gradients_at(c, row->in[1]),
                    dv = rlf_gradients_at(c, row->in[2]);
    if (c->table->copies > 1) /* no keys and values beside the queries' */
        rlf_emit_move(c, RLF_CALL_ZERO, RLF_COUNT_TOKENS, dq,
                      (rlf_value_place){0}, dq.ld);
    rlf_emit(c, RLF_OP_attention_grad, RLF_COUNT_SEQUENCES)->attention_grad =
        (rlf_attention_grad_args){.heads = rlf_heads_of(c, row->in[0]),
                                  .kv_heads = heads,
                                  .d = c->table->config.head_dim,
                                  .scale = (float)row->scale,
                                  .cap = (float)row->cap,
                                  .window = row->window,
                                  RLF_OPERAND(q, q),
                                  RLF_OPERAND(k, k),
                                  RLF_OPERAND(v, v),
                                  RLF_OPERAND(o, o),
                                  .d_o = rlf_at(d_o),
                                  .lddo = d_o.ld,
                                  .lse = (const float *)c->kept[r][0],
                                  RLF_OPERAND(dq, dq),
                                  RLF_OPERAND(dk, dk),
                                  RLF_OPERAND(dv, dv),
                                  .parts = shards > heads ? shards / heads : 1};
    if (c->table->copies > 1)
        rlf_emit_move(c, RLF_CALL_SUM_COPIES, RLF_COUNT_TOKENS, dk,
                      (rlf_value_place){0}, dk.ld);
    for (int i = 0; i < row->n_in; i++)
        rlf_gradients_read(c, row->in[i]);
    rlf_gradients_read(c, row->out[0]);
    rlf_gradients_leave(c, row->out[0]);
}

/* Over gates and ups, which it alone reads; ups may be none. */
static void
glu_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_value_place gate = c->value[row->in[0]],
                    dy = rlf_gradients_at(c, row->out[0]),
                    up = row->n_in > 1 ? c->value[row->in[1]]
                                       : (rlf_value_place){0};
    for (int i = 0; i < row->n_in; i++) {
        rlf_gradients_read(c, row->in[i]);
        rlf_gradients_put(c, row->in[i], rlf_gradients_own(c, row->in[i]));
    }
    rlf_emit(c, RLF_OP_glu_grad, rlf_count_of(c, row->out[0]))->glu_grad =
        (rlf_glu_grad_args){.d = rlf_width_of(c, row->out[0]),
                            .gate = rlf_at(gate),
                            .up = rlf_at(up),
                            .ldx = gate.ld,
                            .act = row->act,
                            RLF_OPERAND(dy, dy),
                            .dgate = rlf_at(gate),
                            .dup = rlf_at(up),
                            .lddx = gate.ld};
    rlf_gradients_leave(c, row->out[0]);
}

/* The derivative by both sides; the second, or the only one, is scaled. */
static void
add_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_var scaled = row->in[row->n_in - 1];
    if (row->n_in > 1 && c->wanted[row->in[0]])
        add_gradient(c, row->in[0], row->out[0], 1);
    if (c->wanted[scaled])
        add_gradient(c, scaled, row->out[0], rlf_scale_of(c, row));
    rlf_gradients_leave(c, row->out[0]);
}

/* The derivative by what was kept: added to the gradient that is there, or over
 * dy. */
static void
drop_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_var x = row->in[0], y = row->out[0];
    rlf_value_place dy = rlf_gradients_at(c, y);
    bool add = c->gradient[x] >= 0;
    if (add)
        own_gradient(c, x);
    else if (rlf_gradients_alone(c, y))
        rlf_gradients_pass(c, x, y);
    else
        rlf_gradients_put(c, x, rlf_gradients_place(c, x));
    rlf_emit_drop(c, row, rlf_gradients_at(c, x), dy, add);
    rlf_gradients_leave(c, y);
}

/* Over dy. */
static void
clip_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_var x = row->in[0], y = row->out[0];
    rlf_value_place dy = rlf_gradients_at(c, y), by = c->value[x];
    rlf_emit(c, RLF_OP_clip, rlf_count_of(c, y))->clip =
        (rlf_clip_args){.d = rlf_width_of(c, x),
                        .bound = (float)row->rate,
                        RLF_OPERAND(x, dy),
                        RLF_OPERAND(by, by),
                        RLF_OPERAND(y, dy)};
    rlf_gradients_pass(c, x, y);
    rlf_gradients_leave(c, y);
    rlf_gradients_read(c, x);
}

/* The gradient goes to the rows' tokens; all other tokens have none. */
static void
gather_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    rlf_var x = row->in[0];
    rlf_value_place dy = rlf_gradients_at(c, row->out[0]),
                    dx = rlf_gradients_place(c, x);
    rlf_emit_move(c, RLF_CALL_ZERO, RLF_COUNT_TOKENS, dx, (rlf_value_place){0},
                  dx.ld);
    rlf_emit(c, RLF_OP_rows_scatter, RLF_COUNT_ROWS)->rows_scatter =
        (rlf_rows_scatter_args){
            .d = rlf_width_of(c, x),
            .index = (const int32_t *)rlf_address_at(RLF_AT_ROWS, 0),
            RLF_OPERAND(x, dy),
            RLF_OPERAND(y, dx)};
    rlf_gradients_put(c, x, dx);
    rlf_gradients_leave(c, row->out[0]);
}

static void
embed_back(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    const rlf_table *t = c->table;
    rlf_value_place dy = rlf_gradients_at(c, row->out[0]);
    rlf_lookup by = rlf_lookup_of(c, row);
    rlf_emit(c, RLF_OP_embed_grad, RLF_COUNT_TOKENS)->embed_grad =
        (rlf_embed_grad_args){
            .d = rlf_width_of(c, row->out[0]),
            .v = by.v,
            .first = by.first,
            .part = by.part,
            .tokens = by.index,
            RLF_OPERAND(dy, dy),
            .dw = rlf_gradient_at(c, row->places ? t->rows[r].vector[0]
                                                 : t->embed)};
    if (row->places)
        rlf_gradients_leave(c, row->out[0]);
}

static void (*const backward[])(rlf_compiler *c, int r) = {
    [RLF_ROW_EMBED] = embed_back,
    [RLF_ROW_NORM] = norm_back,
    [RLF_ROW_LINEAR] = product_back,
    [RLF_ROW_ONTO] = product_back,
    [RLF_ROW_HEAD_NORM] = head_norm_back,
    [RLF_ROW_ROTATE] = rotate_back,
    [RLF_ROW_ATTEND] = attend_back,
    [RLF_ROW_GLU] = glu_back,
    [RLF_ROW_ADD] = add_back,
    [RLF_ROW_DROP] = drop_back,
    [RLF_ROW_CLIP] = clip_back,
    [RLF_ROW_GATHER] = gather_back,
};

/* Gradients that came with those of other values, and that nothing is made of.
 */
static void
drop(rlf_compiler *c, const rlf_model_row *row)
{
    for (int i = 0; i < row->n_out; i++)
        if (c->gradient[row->out[i]] >= 0)
            rlf_gradients_leave(c, row->out[i]);
}

void
rlf_backward_row(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    bool words = row->kind == RLF_ROW_EMBED && !row->places;
    if (!rlf_is_wanted(c, r))
        drop(c, row);
    else if (!words || !c->options->split) /* with the weights */
        backward[row->kind](c, r);
}

void
rlf_weights_row(rlf_compiler *c, int r)
{
    const rlf_model_row *row = rlf_row_at(c, r);
    if (!rlf_is_trained(c, r))
        return;
    if (row->kind == RLF_ROW_EMBED && !row->places)
        embed_back(c, r);
    if (rlf_is_product(row))
        matrix_back(c, r, c->late[r]);
}
