/* A call is copied, its places become pointers, and the kernel is called. */
#include "nodes/model/call.h"

#include <stddef.h>
#include <string.h>

#include "nodes/model/offload.h"
#include "nodes/model/parallel.h"
#include "nodes/model/pass.h"

/* The members of an operation's arguments that are places; 0 ends. */
enum { MOST_PLACES = 10 };
#define AT(op, member) offsetof(rlf_##op##_args, member)
// clang-format off
static const uint8_t places[RLF_N_OPS][MOST_PLACES + 1] = {
    [RLF_OP_product] = {AT(product, x), AT(product, packed), AT(product, bias),
                        AT(product, c)},
    [RLF_OP_product_glu] = {AT(product_glu, x), AT(product_glu, packed),
                               AT(product_glu, bias), AT(product_glu, c),
                               AT(product_glu, y)},
    [RLF_OP_product_grad] = {AT(product_grad, dy), AT(product_grad, x),
                             AT(product_grad, dw)},
    [RLF_OP_bias_grad] = {AT(bias_grad, dy), AT(bias_grad, db)},
    [RLF_OP_embed] = {AT(embed, tokens), AT(embed, w), AT(embed, y)},
    [RLF_OP_embed_grad] = {AT(embed_grad, tokens), AT(embed_grad, dy),
                           AT(embed_grad, dw)},
    [RLF_OP_rows_gather] = {AT(rows_gather, index), AT(rows_gather, x),
                            AT(rows_gather, y)},
    [RLF_OP_rows_scatter] = {AT(rows_scatter, index), AT(rows_scatter, x),
                             AT(rows_scatter, y)},
    [RLF_OP_rmsnorm] = {AT(rmsnorm, x), AT(rmsnorm, weight), AT(rmsnorm, y),
                        AT(rmsnorm, rstd), AT(rmsnorm, sums)},
    [RLF_OP_norm_sums] = {AT(norm_sums, x), AT(norm_sums, dy),
                          AT(norm_sums, weight), AT(norm_sums, sums)},
    [RLF_OP_rmsnorm_grad] = {AT(rmsnorm_grad, x), AT(rmsnorm_grad, weight),
                             AT(rmsnorm_grad, rstd), AT(rmsnorm_grad, dy),
                             AT(rmsnorm_grad, dx), AT(rmsnorm_grad, dweight),
                             AT(rmsnorm_grad, sums)},
    [RLF_OP_layernorm] = {AT(layernorm, x), AT(layernorm, weight),
                          AT(layernorm, bias), AT(layernorm, y),
                          AT(layernorm, mean), AT(layernorm, rstd)},
    [RLF_OP_layernorm_grad] = {AT(layernorm_grad, x), AT(layernorm_grad, weight),
                               AT(layernorm_grad, mean), AT(layernorm_grad, rstd),
                               AT(layernorm_grad, dy), AT(layernorm_grad, dx),
                               AT(layernorm_grad, dweight),
                               AT(layernorm_grad, dbias)},
    [RLF_OP_rope] = {AT(rope, positions), AT(rope, cos), AT(rope, sin),
                     AT(rope, x), AT(rope, y)},
    [RLF_OP_glu] = {AT(glu, gate), AT(glu, up), AT(glu, y)},
    [RLF_OP_glu_grad] = {AT(glu_grad, gate), AT(glu_grad, up),
                            AT(glu_grad, dy), AT(glu_grad, dgate),
                            AT(glu_grad, dup)},
    [RLF_OP_add] = {AT(add, a), AT(add, b), AT(add, c)},
    [RLF_OP_clip] = {AT(clip, x), AT(clip, by), AT(clip, y)},
    [RLF_OP_dropout] = {AT(dropout, keys), AT(dropout, index), AT(dropout, x),
                        AT(dropout, y)},
    [RLF_OP_kv_write] = {AT(kv_write, k), AT(kv_write, v), AT(kv_write, q),
                         AT(kv_write, positions), AT(kv_write, cos),
                         AT(kv_write, sin), AT(kv_write, q_weight),
                         AT(kv_write, k_weight)},
    [RLF_OP_attention] = {AT(attention, q), AT(attention, k), AT(attention, v),
                          AT(attention, o), AT(attention, lse)},
    [RLF_OP_attention_paged] = {AT(attention_paged, q), AT(attention_paged, o)},
    [RLF_OP_attention_grad] = {AT(attention_grad, q), AT(attention_grad, k),
                               AT(attention_grad, v), AT(attention_grad, o),
                               AT(attention_grad, d_o), AT(attention_grad, lse),
                               AT(attention_grad, dq), AT(attention_grad, dk),
                               AT(attention_grad, dv)},
};
// clang-format on
static const uint8_t move_places[] = {AT(move, to), AT(move, from), 0};

/* The state that the calls of a pass have in common. */
typedef struct run {
    const rlf_model *model;
    const rlf_pass *pass;
    const char *base[RLF_N_BLOCKS];
    int64_t count[RLF_N_COUNTS];
} run;

static run
begin(const rlf_model *m, const rlf_pass *p)
{
    const int64_t vectors = m->table->matrices;
    const float *weights = m->vectors ? m->vectors - vectors : m->weights;
    const float *one_plus = m->one_plus ? m->one_plus - vectors : NULL;
    return (run){
        .model = m,
        .pass = p,
        .base = {[RLF_AT_VALUES] = p->values,
                 [RLF_AT_SCRATCH] = p->scratch,
                 [RLF_AT_HIDDEN] = p->hidden,
                 [RLF_AT_RSTD] = (const char *)p->rstd,
                 [RLF_AT_D_HIDDEN] = p->d_hidden,
                 [RLF_AT_D_X] = p->d_x,
                 [RLF_AT_TOKENS] = (const char *)p->tokens,
                 [RLF_AT_POSITIONS] = (const char *)p->positions,
                 [RLF_AT_ROWS] = (const char *)p->rows,
                 [RLF_AT_KEYS] = (const char *)p->keys,
                 [RLF_AT_WEIGHTS] = (const char *)weights,
                 [RLF_AT_ONE_PLUS] = (const char *)one_plus,
                 [RLF_AT_GRADIENT] = (const char *)m->gradient.weights},
        .count = {[RLF_COUNT_TOKENS] = p->m,
                  [RLF_COUNT_ROWS] = p->n_rows,
                  [RLF_COUNT_SEQUENCES] = p->n_seqs}};
}

static const void *
pointer_to(const run *r, int layer, rlf_address place)
{
    rlf_block block = rlf_address_block(place);
    rlf_address offset = place & (((rlf_address)1 << 48) - 1);
    switch (block) {
    case RLF_AT_NOTHING:
        return NULL;
    case RLF_AT_LAYER:
        return r->pass->layers[layer] + offset;
    case RLF_AT_COSINES:
        return r->model->cosines[offset];
    case RLF_AT_SINES:
        return r->model->sines[offset];
    case RLF_AT_PACKED:
        return r->model->packed[offset].forward;
    case RLF_AT_PACKED_BACK:
        return r->model->packed[offset].backward;
    default:
        return r->base[block] + offset;
    }
}

static void
set_pointers(const run *r, rlf_kernel_call *c, const uint8_t *at)
{
    for (; *at; at++) {
        char *member = (char *)&c->move + *at;
        rlf_address place;
        memcpy(&place, member, sizeof place);
        const void *pointer = pointer_to(r, c->layer, place);
        memcpy(member, &pointer, sizeof pointer);
    }
}

/* ---- what comes from the micro-batch and the model ---- */

static void
set_embed(const run *r, rlf_embed_args *a)
{
    const rlf_model *m = r->model;
    if (a->w) /* of positions */
        return;
    a->sampled = r->pass->sampled;
    a->rows = m->rows;
    a->packed = m->words;
    a->bf16 = m->lm.bf16 || m->words != m->lm.forward;
    a->shards = m->table->shards;
    if (m->words)
        return;
    if (m->rows)
        a->ld_rows = rlf_packed_row(m->kernels, a->d);
    else
        a->w = rlf_model_near(m, m->table->embed);
}

/* The layer's part of the first page. */
static rlf_real *
pages_of(const run *r, int layer)
{
    const rlf_paged *g = r->pass->paged;
    return rlf_real_at(r->model->kernels, g->kv,
                       r->model->table->layers[layer].place * g->layer_stride);
}

/* Meanwhile come the pages that keys and values are to be written to and
 * attention reads. */
static rlf_prefetch
prefetched_pages(const run *r, int layer)
{
    const rlf_paged *g = r->pass->paged;
    return (rlf_prefetch){.base = pages_of(r, layer),
                          .index = g->next,
                          .n = r->pass->n_seqs,
                          .stride = g->page_stride,
                          .floats = g->layer_stride};
}

static void
set_kv_write(const run *r, int layer, rlf_kv_write_args *a)
{
    const rlf_paged *g = r->pass->paged;
    a->slots = g->slots;
    a->kv = pages_of(r, layer);
    a->page_size = g->page_size;
    a->page_stride = g->page_stride;
    a->n_positions = r->model->positions;
}

static void
set_attention_paged(const run *r, int layer, rlf_attention_paged_args *a)
{
    const rlf_paged *g = r->pass->paged;
    a->offsets = r->pass->offsets;
    a->starts = g->starts;
    a->device_offsets = g->device_offsets;
    a->device_starts = g->device_starts;
    a->pages = g->pages;
    a->ld_pages = g->ld_pages;
    a->kv = pages_of(r, layer);
    a->page_size = g->page_size;
    a->page_stride = g->page_stride;
}

static rlf_prefixes
prefixes_of(const rlf_pass *p)
{
    return p->shares ? (rlf_prefixes){p->starts, p->parents}
                     : (rlf_prefixes){0};
}

/* Is the packed matrix of this place of bf16? */
static bool
is_bf16(const run *r, const void *packed)
{
    rlf_address place = (uintptr_t)packed;
    return r->model->packed[place & (((rlf_address)1 << 48) - 1)].bf16;
}

/* Sets what a call has only in a run; `from` is the call as it was compiled. */
static void
set_rest(const run *r, const rlf_kernel_call *from, rlf_kernel_call *c)
{
    switch (c->op) {
    case RLF_OP_embed:
        set_embed(r, &c->embed);
        break;
    case RLF_OP_product:
        c->product.bf16 = is_bf16(r, from->product.packed);
        if (c->prefetch)
            c->product.prefetch = prefetched_pages(r, c->layer);
        break;
    case RLF_OP_product_glu:
        c->product_glu.bf16 = is_bf16(r, from->product_glu.packed);
        break;
    case RLF_OP_rope:
        c->rope.n_positions = r->model->positions;
        break;
    case RLF_OP_kv_write:
        set_kv_write(r, c->layer, &c->kv_write);
        break;
    case RLF_OP_attention:
        c->attention.offsets = r->pass->offsets;
        c->attention.prefixes = prefixes_of(r->pass);
        break;
    case RLF_OP_attention_paged:
        set_attention_paged(r, c->layer, &c->attention_paged);
        break;
    case RLF_OP_attention_grad:
        c->attention_grad.offsets = r->pass->offsets;
        c->attention_grad.prefixes = prefixes_of(r->pass);
        break;
    default:
        break;
    }
}

/* ---- running ---- */

static rlf_status
run_move(const run *r, const rlf_kernel_call *c, rlf_err *err)
{
    const rlf_move_args *a = &c->move;
    int64_t n = a->m * a->width;
    size_t bytes = (size_t)n * rlf_real_bytes(r->model->kernels);
    rlf_queue *queue = r->pass->queue;
    switch (c->op) {
    case RLF_CALL_SUM:
        return rlf_parallel_sum(r->model, a->to, n, err);
    case RLF_CALL_SUM_F32:
        return rlf_parallel_sum_f32(r->model, a->to, n, err);
    case RLF_CALL_SUM_COPIES:
        return rlf_parallel_sum_copies(r->model, a->to, n, err);
    case RLF_CALL_COPY:
        return rlf_queue_copy(queue, a->to, a->from, bytes, RLF_COPY_ON_DEVICE,
                              err);
    case RLF_CALL_ZERO:
        return rlf_queue_set(queue, a->to, 0, bytes, err);
    default:
        return rlf_offload_bring(r->model, c->layer, err);
    }
}

static rlf_status
run_call(const run *r, const rlf_kernel_call *call, rlf_err *err)
{
    const rlf_kernels *k = r->pass->kernels;
    rlf_queue *queue = r->pass->queue;
    rlf_kernel_call c = *call;
    c.move.m = r->count[c.count]; /* the first number of all */
    set_pointers(r, &c, c.op < RLF_N_OPS ? places[c.op] : move_places);
    set_rest(r, call, &c);
    switch (c.op) {
#define X(name)         \
    case RLF_OP_##name: \
        return k->name(queue, &c.name, err);
        RLF_CALL_OPS(X)
#undef X
    default:
        return run_move(r, &c, err);
    }
}

rlf_status
rlf_calls_run(const rlf_kernel_calls *calls, const rlf_model *model,
              const rlf_pass *pass, rlf_err *err)
{
    const run r = begin(model, pass);
    for (size_t i = 0; i < calls->list.count; i++)
        RLF_TRY(run_call(&r, &calls->list.data[i], err));
    return RLF_OK;
}
