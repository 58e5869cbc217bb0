/* Forward and backward, each layer by layer in the order of the formulas.
 *
 * A layer has two parts: attention over all m tokens, and the rest, which in
 * the last layer runs on the rows only. Buffers that are not needed any more
 * take the gradient of what they held. */
#include "nodes/model/transformer.h"

#include <math.h>

#include "nodes/model/gradient.h"
#include "nodes/model/offload.h"
#include "nodes/model/parallel.h"

/* Offsets of one layer's tensors, RLF_NO_SLOT where it has none. */
typedef struct layer_slots {
    int64_t norm1, norm2;
    int64_t qkv, qkv_bias;
    int64_t q_norm, k_norm;
    int64_t o, o_bias;
    int64_t gate_up, gate_bias;
    int64_t down, down_bias;
} layer_slots;

typedef struct layer_packed {
    rlf_packed qkv, o, gate_up, down;
} layer_packed;

/* Everything that the steps of one layer share. */
typedef struct layer_context {
    const rlf_model *model;
    rlf_pass *pass;
    const rlf_table *table;
    const rlf_model_config *config;
    layer_slots slots;
    layer_packed packed;
    int place; /* of the layer among those held here */
    rlf_layer_buffers *buffers;
    int index;
    bool last;
    int64_t m; /* tokens of the attention part */
    int64_t r; /* tokens of the part after it */
    int64_t d, q, kv, ffn;
    rlf_real *queries, *keys, *values;
    int64_t ld_queries; /* of queries and keys; values: q + 2 kv */
} layer_context;

/* The n-th row of a kind in a layer. */
static const rlf_row_slots *
row_of(const rlf_table *t, int layer, rlf_row_kind kind, int n)
{
    const rlf_program *p = t->program;
    for (int r = p->first[layer]; r < p->first[layer + 1]; r++)
        if (p->rows[r].kind == kind && n-- == 0)
            return &t->rows[r];
    return NULL;
}

static layer_slots
slots_of(const rlf_table *t, int layer)
{
    const rlf_row_slots *qkv = row_of(t, layer, RLF_ROW_LINEAR, 0),
                        *gate_up = row_of(t, layer, RLF_ROW_LINEAR, 1),
                        *o = row_of(t, layer, RLF_ROW_ONTO, 0),
                        *down = row_of(t, layer, RLF_ROW_ONTO, 1),
                        *heads = t->layers[layer].head_norms;
    return (layer_slots){
        .norm1 = row_of(t, layer, RLF_ROW_NORM, 0)->vector[0],
        .norm2 = row_of(t, layer, RLF_ROW_NORM, 1)->vector[0],
        .qkv = qkv->matrix,
        .qkv_bias = qkv->vector[0],
        .q_norm = heads ? heads->vector[0] : RLF_NO_SLOT,
        .k_norm = heads ? heads->vector[1] : RLF_NO_SLOT,
        .o = o->matrix,
        .o_bias = o->vector[0],
        .gate_up = gate_up->matrix,
        .gate_bias = gate_up->vector[0],
        .down = down->matrix,
        .down_bias = down->vector[0],
    };
}

static layer_context
layer_at(const rlf_model *model, rlf_pass *pass, int index)
{
    const rlf_table *t = model->table;
    const rlf_model_config *c = &t->config;
    rlf_layer_buffers *b = &pass->layers[index];
    bool last = index == c->layers - 1;
    int64_t q = rlf_table_q(t), kv = rlf_table_kv(t);
    rlf_real *queries = b->qk ? b->qk : b->qkv;
    const rlf_packed *w = &model->packed[t->layers[index].first];
    return (layer_context){
        .model = model,
        .pass = pass,
        .table = t,
        .config = c,
        .slots = slots_of(t, index),
        .packed = {w[0], w[1], w[2], w[3]},
        .place = t->layers[index].place,
        .buffers = b,
        .index = index,
        .last = last,
        .m = pass->m,
        .r = last ? pass->n_rows : pass->m,
        .d = c->hidden,
        .q = q,
        .kv = kv,
        .ffn = t->ffn,
        .queries = queries,
        .keys = rlf_real_at(pass->kernels, queries, q),
        .ld_queries = b->qk ? q + kv : q + 2 * kv,
        .values = rlf_real_at(pass->kernels, b->qkv, q + kv),
    };
}

/* The activation n places behind x. */
static rlf_real *
at(const layer_context *l, const rlf_real *x, int64_t n)
{
    return rlf_real_at(l->pass->kernels, x, n);
}

/* A vector of the layer, NULL if the model has none. */
static const float *
near(const layer_context *l, int64_t offset)
{
    return offset == RLF_NO_SLOT ? NULL : rlf_model_near(l->model, offset);
}

static rlf_status
copy_rows(rlf_pass *p, rlf_real *to, const rlf_real *from, int64_t n,
          rlf_err *err)
{
    if (to == from)
        return RLF_OK;
    return rlf_queue_copy(p->queue, to, from,
                          (size_t)n * rlf_real_bytes(p->kernels),
                          RLF_COPY_ON_DEVICE, err);
}

/* ---- forward ---- */

/* The first page of the layer. */
static rlf_real *
kv_layer(const layer_context *l)
{
    const rlf_paged *g = l->pass->paged;
    return at(l, g->kv, l->place * g->layer_stride);
}

/* Queries, keys and values; meanwhile come the pages that keys and values are
 * to be written to and attention reads. */
static rlf_status
multiply_qkv(const layer_context *l, rlf_err *err)
{
    const rlf_paged *g = l->pass->paged;
    rlf_product_args args = {.m = l->m,
                             .n = l->q + 2 * l->kv,
                             .k = l->d,
                             .x = l->buffers->normed,
                             .packed = l->packed.qkv.forward,
                             .bias = near(l, l->slots.qkv_bias),
                             .c = l->buffers->qkv};
    if (g)
        args.soon = (rlf_soon){.base = kv_layer(l),
                               .index = g->next,
                               .n = l->pass->n_seqs,
                               .stride = g->page_stride,
                               .floats = g->layer_stride};
    return l->pass->kernels->product(l->pass->queue, &args, err);
}

static rlf_status
gate(const layer_context *l, rlf_err *err)
{
    rlf_product_swiglu_args args = {.m = l->r,
                                    .d = l->ffn,
                                    .k = l->d,
                                    .x = l->buffers->normed2,
                                    .packed = l->packed.gate_up.forward,
                                    .bias = near(l, l->slots.gate_bias),
                                    .c = l->buffers->gate_up,
                                    .keep = l->pass->options.train,
                                    .y = l->buffers->act};
    return l->pass->kernels->product_swiglu(l->pass->queue, &args, err);
}

/* y += x w^T + bias: a sum over shards of the `k` inputs, in all places. What
 * is there and the bias are the first rank's. */
static rlf_status
multiply_add(const layer_context *l, const rlf_packed *w, int64_t bias,
             int64_t m, int64_t k, const rlf_real *x, rlf_real *y, rlf_err *err)
{
    rlf_product_args args = {.m = m,
                             .n = l->d,
                             .k = rlf_shards_held(l->table->shards, k),
                             .x = x,
                             .packed = w->forward,
                             .c = y,
                             .shards = l->table->shards,
                             .parts = &k,
                             .n_parts = 1};
    if (l->table->cut.rank == 0) {
        args.bias = near(l, bias);
        args.add = true;
    }
    RLF_TRY(l->pass->kernels->product(l->pass->queue, &args, err));
    return rlf_parallel_sum(l->model, y, m * l->d, err);
}

static rlf_status
norm_forward(const layer_context *l, int64_t m, const rlf_real *x,
             int64_t weight, rlf_real *y, float *rstd, rlf_err *err)
{
    rlf_rmsnorm_args args = {.m = m,
                             .d = l->d,
                             .x = x,
                             .weight = near(l, weight),
                             .eps = (float)l->config->eps,
                             .y = y,
                             .rstd = rstd};
    return l->pass->kernels->rmsnorm(l->pass->queue, &args, err);
}

/* Norm of each head of q and of k, before the rotation. */
static rlf_status
head_norms(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    if (l->slots.q_norm == RLF_NO_SLOT)
        return RLF_OK;
    rlf_rmsnorm_args args = {.m = l->m,
                             .d = l->config->head_dim,
                             .groups = l->table->heads,
                             .x = b->qkv,
                             .ldx = l->q + 2 * l->kv,
                             .weight = near(l, l->slots.q_norm),
                             .eps = (float)l->config->eps,
                             .y = l->queries,
                             .ldy = l->ld_queries,
                             .rstd = b->rstd_q};
    RLF_TRY(l->pass->kernels->rmsnorm(l->pass->queue, &args, err));
    args.groups = l->table->kv_heads;
    args.x = at(l, b->qkv, l->q);
    args.y = l->keys;
    args.weight = near(l, l->slots.k_norm);
    args.rstd = b->rstd_k;
    return l->pass->kernels->rmsnorm(l->pass->queue, &args, err);
}

/* Rotate `heads` of q and k in place, or their gradients back. */
static rlf_status
rotate(const layer_context *l, rlf_real *x, int64_t ldx, int64_t heads,
       bool back, rlf_err *err)
{
    const rlf_model *model = l->model;
    rlf_rope_args args = {.m = l->m,
                          .heads = heads,
                          .d = l->config->head_dim,
                          .half = l->config->head_dim / 2,
                          .positions = l->pass->positions,
                          .n_positions = model->positions,
                          .cos = model->cosines,
                          .sin = model->sines,
                          .x = x,
                          .ldx = ldx,
                          .y = x,
                          .ldy = ldx,
                          .back = back};
    return l->pass->kernels->rope(l->pass->queue, &args, err);
}

static float
attention_scale(const layer_context *l)
{
    return (float)(1 / sqrt((double)l->config->head_dim));
}

static rlf_status
attend_packed(const layer_context *l, rlf_err *err)
{
    RLF_TRY(head_norms(l, err));
    RLF_TRY(rotate(l, l->queries, l->ld_queries,
                   l->table->heads + l->table->kv_heads, false, err));
    rlf_attention_args args = {.n_seqs = l->pass->n_seqs,
                               .offsets = l->pass->offsets,
                               .heads = l->table->heads,
                               .kv_heads = l->table->kv_heads,
                               .d = l->config->head_dim,
                               .scale = attention_scale(l),
                               .window =
                                   rlf_model_config_window(l->config, l->index),
                               .q = l->queries,
                               .k = l->keys,
                               .v = l->values,
                               .ldq = l->ld_queries,
                               .ldk = l->ld_queries,
                               .ldv = l->q + 2 * l->kv,
                               .o = l->buffers->o,
                               .lse = l->buffers->lse};
    return l->pass->kernels->attention(l->pass->queue, &args, err);
}

/* Keys and values go to their pages, and attention reads them there: `keys`
 * are neither normed nor rotated. */
static rlf_status
attend_paged(const layer_context *l, rlf_err *err)
{
    const rlf_paged *g = l->pass->paged;
    rlf_real *kv = kv_layer(l);
    rlf_kv_write_args write = {.m = l->m,
                               .kv_heads = l->table->kv_heads,
                               .d = l->config->head_dim,
                               .k = l->keys,
                               .v = l->values,
                               .ldk = l->ld_queries,
                               .ldv = l->q + 2 * l->kv,
                               .slots = g->slots,
                               .kv = kv,
                               .page_size = g->page_size,
                               .page_stride = g->page_stride,
                               .half = l->config->head_dim / 2,
                               .heads = l->table->heads,
                               .q = l->queries,
                               .ldq = l->ld_queries,
                               .positions = l->pass->positions,
                               .n_positions = l->model->positions,
                               .cos = l->model->cosines,
                               .sin = l->model->sines,
                               .q_weight = near(l, l->slots.q_norm),
                               .k_weight = near(l, l->slots.k_norm),
                               .eps = (float)l->config->eps};
    RLF_TRY(l->pass->kernels->kv_write(l->pass->queue, &write, err));
    rlf_attention_paged_args args = {
        .n_seqs = l->pass->n_seqs,
        .offsets = l->pass->offsets,
        .starts = g->starts,
        .device_offsets = g->device_offsets,
        .device_starts = g->device_starts,
        .pages = g->pages,
        .ld_pages = g->ld_pages,
        .heads = l->table->heads,
        .kv_heads = l->table->kv_heads,
        .d = l->config->head_dim,
        .scale = attention_scale(l),
        .window = rlf_model_config_window(l->config, l->index),
        .q = l->queries,
        .ldq = l->ld_queries,
        .kv = kv,
        .page_size = g->page_size,
        .page_stride = g->page_stride,
        .o = l->buffers->o};
    return l->pass->kernels->attention_paged(l->pass->queue, &args, err);
}

/* From x to attention's output o, all tokens. */
static rlf_status
attention_part(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    RLF_TRY(
        norm_forward(l, l->m, b->x, l->slots.norm1, b->normed, b->rstd1, err));
    RLF_TRY(multiply_qkv(l, err));
    return l->pass->paged ? attend_paged(l, err) : attend_packed(l, err);
}

static rlf_status
gather(const layer_context *l, const rlf_real *x, int64_t d, rlf_real *y,
       rlf_err *err)
{
    rlf_rows_gather_args args = {
        .m = l->r, .d = d, .index = l->pass->rows, .x = x, .y = y};
    return l->pass->kernels->rows_gather(l->pass->queue, &args, err);
}

/* From o and x to act, on the rows if this is the last layer. */
static rlf_status
mix_part(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    const rlf_real *o = b->o, *x = b->x;
    if (l->last) {
        RLF_TRY(gather(l, b->x, l->d, b->x_rows, err));
        RLF_TRY(gather(l, b->o, l->q, b->o_rows, err));
        o = b->o_rows;
        x = b->x_rows;
    }
    RLF_TRY(copy_rows(l->pass, b->mid, x, l->r * l->d, err));
    RLF_TRY(multiply_add(l, &l->packed.o, l->slots.o_bias, l->r,
                         l->q * l->table->cut.ranks, o, b->mid, err));
    RLF_TRY(norm_forward(l, l->r, b->mid, l->slots.norm2, b->normed2, b->rstd2,
                         err));
    return gate(l, err);
}

static rlf_status
down_part(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    RLF_TRY(copy_rows(l->pass, b->out, b->mid, l->r * l->d, err));
    return multiply_add(l, &l->packed.down, l->slots.down_bias, l->r,
                        l->config->ffn, b->act, b->out, err);
}

static int64_t
final_norm(const rlf_table *t)
{
    return t->rows[t->program->n_rows - 1].vector[0];
}

static rlf_status
embed(const rlf_model *model, rlf_pass *p, rlf_err *err)
{
    const rlf_table *t = model->table;
    const rlf_model_config *c = &t->config;
    rlf_embed_args args = {.m = p->m,
                           .d = c->hidden,
                           .v = c->vocab,
                           .first = t->token,
                           .part = model->group ? t->vocab : 0,
                           .tokens = p->tokens,
                           .sampled = p->sampled,
                           .y = p->layers[0].x};
    if (model->rows) {
        args.rows = model->rows;
        args.ld_rows = rlf_packed_row(p->kernels, c->hidden);
    } else {
        args.w = rlf_model_near(model, t->embed);
    }
    RLF_TRY(p->kernels->embed(p->queue, &args, err));
    return rlf_parallel_sum(model, p->layers[0].x, p->m * c->hidden, err);
}

rlf_status
rlf_transformer_forward_chunk(const rlf_model *model, rlf_pass *p, int chunk,
                              rlf_err *err)
{
    const rlf_table *t = model->table;
    const rlf_chunk span = t->chunk[chunk];
    RLF_ASSERT(t->count == p->table->count);
    if (rlf_table_begins(t, chunk))
        RLF_TRY(embed(model, p, err));
    for (int i = span.first; i < span.last; i++) {
        layer_context l = layer_at(model, p, i);
        RLF_TRY(rlf_offload_bring(model, i, err));
        RLF_TRY(attention_part(&l, err));
        RLF_TRY(mix_part(&l, err));
        RLF_TRY(down_part(&l, err));
    }
    if (!rlf_table_ends(t, chunk))
        return RLF_OK;
    layer_context l = layer_at(model, p, span.last - 1);
    return norm_forward(&l, p->n_rows, p->last, final_norm(t), p->hidden,
                        p->rstd, err);
}

rlf_status
rlf_transformer_settle(rlf_pass *p, rlf_err *err)
{
    return p->sending ? rlf_device_wait(&p->sending, err) : RLF_OK;
}

rlf_status
rlf_transformer_receive(const rlf_model *model, rlf_pass *p, int chunk,
                        rlf_err *err)
{
    const rlf_table *t = model->table;
    if (!model->stages || rlf_table_begins(t, chunk))
        return RLF_OK;
    return rlf_parallel_receive(model, rlf_table_neighbour(t, chunk, -1),
                                rlf_pass_input(p, chunk),
                                p->m * t->config.hidden, err);
}

rlf_status
rlf_transformer_hand_on(const rlf_model *model, rlf_pass *p, int chunk,
                        rlf_err *err)
{
    const rlf_table *t = model->table;
    int64_t n = p->m * t->config.hidden;
    if (!model->stages || rlf_table_ends(t, chunk))
        return RLF_OK;
    RLF_ASSERT(p->outbox);
    RLF_TRY(rlf_transformer_settle(p, err));
    RLF_TRY(copy_rows(p, p->outbox, rlf_pass_output(p, chunk), n, err));
    return rlf_parallel_start(model, rlf_table_neighbour(t, chunk, 1),
                              p->outbox, n, err, &p->sending);
}

rlf_status
rlf_transformer_forward_part(const rlf_model *model, rlf_pass *p, int chunk,
                             rlf_err *err)
{
    RLF_TRY(rlf_transformer_receive(model, p, chunk, err));
    RLF_TRY(rlf_transformer_forward_chunk(model, p, chunk, err));
    return rlf_transformer_hand_on(model, p, chunk, err);
}

rlf_status
rlf_transformer_forward(const rlf_model *model, rlf_pass *p, rlf_err *err)
{
    for (int i = 0; i < model->table->cut.chunks; i++)
        RLF_TRY(rlf_transformer_forward_part(model, p, i, err));
    return RLF_OK;
}

/* ---- backward ---- */

/* Of y = x w^T with gradient dy: dw is added. */
static rlf_status
matrix_back(const layer_context *l, int64_t weight, int64_t m, int64_t n,
            int64_t k, const rlf_real *dy, const rlf_real *x, rlf_err *err)
{
    rlf_product_grad_args grad = {.m = m,
                                  .n = n,
                                  .k = k,
                                  .dy = dy,
                                  .x = x,
                                  .dw = l->model->gradient.weights + weight};
    return l->pass->kernels->product_grad(l->pass->queue, &grad, err);
}

/* The same with a bias, db; dw comes later if backward is split. */
static rlf_status
weight_back(const layer_context *l, int64_t weight, int64_t bias, int64_t m,
            int64_t n, int64_t k, const rlf_real *dy, const rlf_real *x,
            rlf_err *err)
{
    float *grads = l->model->gradient.weights;
    if (!l->pass->options.split)
        RLF_TRY(matrix_back(l, weight, m, n, k, dy, x, err));
    if (bias == RLF_NO_SLOT)
        return RLF_OK;
    rlf_bias_grad_args sum = {.m = m, .n = n, .dy = dy, .db = grads + bias};
    return l->pass->kernels->bias_grad(l->pass->queue, &sum, err);
}

/* Of multiply_add: dx = dy w. */
static rlf_status
multiply_add_back(const layer_context *l, const rlf_packed *w, int64_t weight,
                  int64_t bias, int64_t m, int64_t k, const rlf_real *dy,
                  const rlf_real *x, rlf_real *dx, rlf_err *err)
{
    RLF_TRY(weight_back(l, weight, bias, m, l->d, k, dy, x, err));
    rlf_product_args args = {.m = m,
                             .n = k,
                             .k = l->d,
                             .x = dy,
                             .packed = w->backward,
                             .form = RLF_PRODUCT_BACKWARD,
                             .c = dx};
    return l->pass->kernels->product(l->pass->queue, &args, err);
}

/* Of multiply: dx = dy w, a sum over shards of n outputs held here; they are
 * `parts` that lie side by side, in all places (kernels.h). */
static rlf_status
multiply_back(const layer_context *l, const rlf_packed *w, int64_t m, int64_t n,
              const int64_t *parts, const int *pieces, int n_parts,
              const rlf_real *dy, rlf_real *dx, rlf_err *err)
{
    rlf_product_args args = {.m = m,
                             .n = l->d,
                             .k = n,
                             .x = dy,
                             .packed = w->backward,
                             .form = RLF_PRODUCT_BACKWARD,
                             .c = dx,
                             .shards = l->table->shards,
                             .parts = parts,
                             .pieces = pieces,
                             .n_parts = n_parts};
    RLF_TRY(l->pass->kernels->product(l->pass->queue, &args, err));
    return rlf_parallel_sum(l->model, dx, m * l->d, err);
}

static rlf_status
norm_back(const layer_context *l, int64_t m, const rlf_real *x, int64_t weight,
          const float *rstd, const rlf_real *dy, rlf_real *dx, bool add,
          rlf_err *err)
{
    rlf_rmsnorm_grad_args args = {.m = m,
                                  .d = l->d,
                                  .x = x,
                                  .weight = l->model->weights + weight,
                                  .rstd = rstd,
                                  .dy = dy,
                                  .dx = dx,
                                  .add = add,
                                  .dweight =
                                      l->model->gradient.weights + weight};
    return l->pass->kernels->rmsnorm_grad(l->pass->queue, &args, err);
}

/* y[rows] = x, all other tokens 0. */
static rlf_status
spread(const layer_context *l, const rlf_real *x, int64_t d, rlf_real *y,
       rlf_err *err)
{
    RLF_TRY(rlf_queue_set(l->pass->queue, y, 0,
                          (size_t)(l->m * d) * rlf_real_bytes(l->pass->kernels),
                          err));
    rlf_rows_scatter_args args = {
        .m = l->r, .d = d, .index = l->pass->rows, .x = x, .y = y};
    return l->pass->kernels->rows_scatter(l->pass->queue, &args, err);
}

/* If backward is split, weights will need this gradient: it goes to where
 * nothing is read any more. */
static rlf_status
keep_gradient(const layer_context *l, rlf_real *to, const rlf_real *from,
              int64_t n, rlf_err *err)
{
    return l->pass->options.split ? copy_rows(l->pass, to, from, n, err)
                                  : RLF_OK;
}

/* Of mix_part and down_part. The gradient of the layer's output is in `dx`
 * (rows if last) and becomes that of x; d_o is that of attention's output. */
static rlf_status
mix_back(const layer_context *l, rlf_real *dx, rlf_err *err)
{
    rlf_layer_buffers *b = l->buffers;
    rlf_pass *p = l->pass;
    bool split = p->options.split;
    rlf_real *d_act = split ? p->d_act : b->act,
             *d_normed = split ? p->d_normed : b->normed2;
    RLF_TRY(keep_gradient(l, b->out, dx, l->r * l->d, err));
    RLF_TRY(multiply_add_back(l, &l->packed.down, l->slots.down,
                              l->slots.down_bias, l->r, l->ffn, dx, b->act,
                              d_act, err));
    rlf_swiglu_grad_args args = {.m = l->r,
                                 .d = l->ffn,
                                 .gate = b->gate_up,
                                 .up = at(l, b->gate_up, l->ffn),
                                 .ldx = 2 * l->ffn,
                                 .dy = d_act,
                                 .dgate = b->gate_up,
                                 .dup = at(l, b->gate_up, l->ffn),
                                 .lddx = 2 * l->ffn};
    RLF_TRY(p->kernels->swiglu_grad(p->queue, &args, err));
    const int64_t parts[] = {l->config->ffn, l->config->ffn};
    RLF_TRY(weight_back(l, l->slots.gate_up, l->slots.gate_bias, l->r,
                        2 * l->ffn, l->d, b->gate_up, b->normed2, err));
    RLF_TRY(multiply_back(l, &l->packed.gate_up, l->r, 2 * l->ffn, parts, NULL,
                          2, b->gate_up, d_normed, err));
    RLF_TRY(norm_back(l, l->r, b->mid, l->slots.norm2, b->rstd2, d_normed, dx,
                      true, err));
    RLF_TRY(keep_gradient(l, b->mid, dx, l->r * l->d, err));
    rlf_real *o = l->last ? b->o_rows : b->o;
    rlf_real *d_o = !l->last ? p->d_o : split ? p->d_rows : b->o_rows;
    RLF_TRY(multiply_add_back(l, &l->packed.o, l->slots.o, l->slots.o_bias,
                              l->r, l->q, dx, o, d_o, err));
    if (!l->last)
        return RLF_OK;
    RLF_TRY(spread(l, d_o, l->q, p->d_o, err));
    return spread(l, dx, l->d, p->d_x, err);
}

/* The gradients of keys, with those of values behind them. Where several ranks
 * hold the same heads they lie by themselves, to be added up. */
typedef struct kv_gradient {
    rlf_real *keys;
    int64_t ld;
    bool apart;
} kv_gradient;

static kv_gradient
kv_gradient_of(const layer_context *l)
{
    const rlf_pass *p = l->pass;
    return p->d_kv
               ? (kv_gradient){p->d_kv, 2 * l->kv, true}
               : (kv_gradient){at(l, p->d_qkv, l->q), l->q + 2 * l->kv, false};
}

/* Gradients of q and k before the norms of their heads. */
static rlf_status
head_norms_back(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    const kv_gradient kv = kv_gradient_of(l);
    int64_t ld = l->q + 2 * l->kv;
    if (l->slots.q_norm == RLF_NO_SLOT)
        return RLF_OK;
    rlf_rmsnorm_grad_args args = {
        .m = l->m,
        .d = l->config->head_dim,
        .groups = l->table->heads,
        .x = b->qkv,
        .ldx = ld,
        .weight = l->model->weights + l->slots.q_norm,
        .rstd = b->rstd_q,
        .dy = l->pass->d_qkv,
        .lddy = ld,
        .dx = l->pass->d_qkv,
        .lddx = ld,
        .dweight = rlf_gradient_head_norm(l->model, l->index, 0),
        .shards = l->table->norm_sums[0]};
    RLF_TRY(l->pass->kernels->rmsnorm_grad(l->pass->queue, &args, err));
    args.groups = l->table->kv_heads;
    args.x = at(l, b->qkv, l->q);
    args.dy = args.dx = kv.keys;
    args.lddy = args.lddx = kv.ld;
    args.weight = l->model->weights + l->slots.k_norm;
    args.rstd = b->rstd_k;
    args.dweight = rlf_gradient_head_norm(l->model, l->index, 1);
    args.shards = l->table->norm_sums[1];
    return l->pass->kernels->rmsnorm_grad(l->pass->queue, &args, err);
}

/* d_o to the gradients of q, k and v, rotated. Those of a key/value head are
 * sums over the shards that its query heads are in, on this rank and then on
 * others that hold it: afterwards each of them has the whole. */
static rlf_status
attend_back(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    rlf_pass *p = l->pass;
    const kv_gradient kv = kv_gradient_of(l);
    int64_t ld = l->q + 2 * l->kv;
    int shards = l->table->shards.count, heads = l->table->kv_heads;
    if (kv.apart) /* no keys and values here: they count on one rank alone */
        RLF_TRY(rlf_queue_set(p->queue, p->d_qkv, 0,
                              (size_t)(l->m * ld) * rlf_real_bytes(p->kernels),
                              err));
    rlf_attention_grad_args args = {
        .n_seqs = p->n_seqs,
        .offsets = p->offsets,
        .heads = l->table->heads,
        .kv_heads = heads,
        .d = l->config->head_dim,
        .scale = attention_scale(l),
        .window = rlf_model_config_window(l->config, l->index),
        .q = l->queries,
        .k = l->keys,
        .v = l->values,
        .ldq = l->ld_queries,
        .ldk = l->ld_queries,
        .ldv = ld,
        .o = b->o,
        .d_o = p->d_o,
        .lse = b->lse,
        .dq = p->d_qkv,
        .dk = kv.keys,
        .dv = at(l, kv.keys, l->kv),
        .lddq = ld,
        .lddk = kv.ld,
        .lddv = kv.ld,
        .parts = shards > heads ? shards / heads : 1};
    RLF_TRY(p->kernels->attention_grad(p->queue, &args, err));
    if (!kv.apart)
        return rotate(l, p->d_qkv, ld, l->table->heads + heads, true, err);
    RLF_TRY(rlf_parallel_sum_copies(l->model, kv.keys, l->m * kv.ld, err));
    RLF_TRY(rotate(l, p->d_qkv, ld, l->table->heads, true, err));
    return rotate(l, kv.keys, kv.ld, heads, true, err);
}

/* The gradients of q, k and v side by side, where weights take them. */
static rlf_status
gather_qkv(const layer_context *l, rlf_real **d_qkv, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    rlf_pass *p = l->pass;
    const kv_gradient kv = kv_gradient_of(l);
    int64_t ld = l->q + 2 * l->kv;
    *d_qkv = kv.apart ? b->qkv : p->d_qkv;
    if (!kv.apart)
        return keep_gradient(l, b->qkv, p->d_qkv, l->m * ld, err);
    rlf_add_args args = {.m = l->m,
                         .d = kv.ld,
                         .a = kv.keys,
                         .c = at(l, b->qkv, l->q),
                         .ldc = ld};
    RLF_TRY(copy_rows(p, b->qkv, p->d_qkv, l->m * ld, err));
    return p->kernels->add(p->queue, &args, err);
}

/* Of attention_part: d_o to the gradients of q, k and v, then onto d_x. */
static rlf_status
attention_back(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    const rlf_table *t = l->table;
    rlf_pass *p = l->pass;
    int64_t width = l->q + 2 * l->kv;
    rlf_real *d_qkv;
    RLF_TRY(attend_back(l, err));
    RLF_TRY(head_norms_back(l, err));
    RLF_TRY(gather_qkv(l, &d_qkv, err));
    RLF_TRY(weight_back(l, l->slots.qkv, l->slots.qkv_bias, l->m, width, l->d,
                        d_qkv, b->normed, err));
    rlf_real *d_normed = p->options.split ? p->d_normed : b->normed;
    int ranks = t->cut.ranks, heads = rlf_table_kv_pieces(t);
    const int64_t parts[] = {l->q * ranks, l->kv * ranks, l->kv * ranks};
    const int pieces[] = {0, heads, heads};
    RLF_TRY(multiply_back(l, &l->packed.qkv, l->m, width, parts, pieces, 3,
                          t->cut.rank % t->copies ? p->d_qkv : d_qkv, d_normed,
                          err));
    return norm_back(l, l->m, b->x, l->slots.norm1, b->rstd1, d_normed, p->d_x,
                     true, err);
}

/* Gradients of the layer's matrices, from what a split backward left: inputs
 * where forward left them, gradients of outputs in out, mid, gate_up and qkv.
 */
static rlf_status
layer_weights(const layer_context *l, rlf_err *err)
{
    const rlf_layer_buffers *b = l->buffers;
    const layer_slots *s = &l->slots;
    RLF_TRY(matrix_back(l, s->down, l->r, l->d, l->ffn, b->out, b->act, err));
    RLF_TRY(matrix_back(l, s->gate_up, l->r, 2 * l->ffn, l->d, b->gate_up,
                        b->normed2, err));
    RLF_TRY(matrix_back(l, s->o, l->r, l->d, l->q, b->mid,
                        l->last ? b->o_rows : b->o, err));
    return matrix_back(l, s->qkv, l->m, l->q + 2 * l->kv, l->d, b->qkv,
                       b->normed, err);
}

static rlf_status
embed_back(rlf_model *model, rlf_pass *p, rlf_err *err)
{
    const rlf_table *t = model->table;
    rlf_embed_grad_args args = {.m = p->m,
                                .d = t->config.hidden,
                                .v = t->config.vocab,
                                .first = t->token,
                                .part = model->group ? t->vocab : 0,
                                .tokens = p->tokens,
                                .dy = p->d_x,
                                .dw = model->gradient.weights + t->embed};
    return p->kernels->embed_grad(p->queue, &args, err);
}

rlf_status
rlf_transformer_backward_chunk(rlf_model *model, rlf_pass *p, int chunk,
                               rlf_err *err)
{
    const rlf_table *t = model->table;
    const rlf_chunk span = t->chunk[chunk];
    RLF_ASSERT(model->trained && p->options.train && !p->paged);
    /* then others have used the scratch in between */
    bool several =
        t->cut.stages > 1 || model->flights[chunk] > 1 || p->options.split;
    rlf_gradient_select(model, chunk, RLF_GRADIENT_REST);
    layer_context l = layer_at(model, p, span.last - 1);
    if (l.last)
        RLF_TRY(norm_back(&l, p->n_rows, p->last, final_norm(t), p->rstd,
                          p->d_hidden, p->d_hidden, false, err));
    for (int i = span.last - 1; i >= span.first; i--) {
        l = layer_at(model, p, i);
        if (p->options.recompute && (several || !l.last)) {
            RLF_TRY(attention_part(&l, err));
            RLF_TRY(mix_part(&l, err));
        }
        RLF_TRY(mix_back(&l, l.last ? p->d_hidden : p->d_x, err));
        RLF_TRY(attention_back(&l, err));
    }
    return rlf_table_begins(t, chunk) && !p->options.split
               ? embed_back(model, p, err)
               : RLF_OK;
}

rlf_status
rlf_transformer_weights_chunk(rlf_model *model, rlf_pass *p, int chunk,
                              rlf_err *err)
{
    const rlf_chunk span = model->table->chunk[chunk];
    RLF_ASSERT(p->options.split);
    rlf_gradient_select(model, chunk, RLF_GRADIENT_MATRICES);
    for (int i = span.last - 1; i >= span.first; i--) {
        layer_context l = layer_at(model, p, i);
        RLF_TRY(layer_weights(&l, err));
    }
    return rlf_table_begins(model->table, chunk) ? embed_back(model, p, err)
                                                 : RLF_OK;
}

rlf_status
rlf_transformer_backward(rlf_model *model, rlf_pass *p, rlf_err *err)
{
    RLF_ASSERT(model->table->cut.stages == 1);
    return rlf_transformer_backward_chunk(model, p, 0, err);
}
