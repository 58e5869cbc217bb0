/* Weights in the form in which kernels read them: matrices are packed when they
 * have changed, by layer as they come. Declared in model.h. */
#include "nodes/model/block.h"
#include "nodes/model/form.h"
#include "nodes/model/offload.h"

#include <stdlib.h>
#include <string.h>

static rlf_status
pack(const rlf_model *m, const float *w, int64_t rows, int64_t cols,
     rlf_packed to, rlf_err *err)
{
    rlf_product_pack_args args = {.rows = rows,
                                  .cols = cols,
                                  .w = w,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .bf16 = to.bf16,
                                  .packed = to.forward};
    RLF_TRY(m->kernels->product_pack(m->queue, &args, err));
    if (!to.backward || to.bf16)
        return RLF_OK;
    args.form = RLF_PRODUCT_BACKWARD;
    args.packed = to.backward;
    return m->kernels->product_pack(m->queue, &args, err);
}

/* A head, or the embedding of one that is kept so: shard by shard. */
static rlf_status
pack_words(const rlf_model *m, const float *w, rlf_packed to, rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t d = t->config.hidden;
    rlf_product_pack_args args = {.cols = d,
                                  .w = w,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .bf16 = to.bf16,
                                  .packed = to.forward};
    for (int s = 0; s < t->shards.count; s++) {
        args.rows = rlf_table_shard_tokens(t, s);
        RLF_TRY(m->kernels->product_pack(m->queue, &args, err));
        args.w += args.rows * d;
        args.packed = (char *)args.packed +
                      rlf_packed_bytes(m->kernels, args.rows, d,
                                       RLF_PRODUCT_FORWARD, to.bf16);
    }
    if (!to.backward || to.bf16)
        return RLF_OK;
    args = (rlf_product_pack_args){.rows = t->vocab,
                                   .cols = d,
                                   .w = w,
                                   .form = RLF_PRODUCT_BACKWARD,
                                   .packed = to.backward};
    return m->kernels->product_pack(m->queue, &args, err);
}

/* The matrices of a layer, which lie together. */
static rlf_status
pack_layer(const rlf_model *m, int layer, const float *w, rlf_err *err)
{
    const rlf_table *t = m->table;
    const rlf_layer *l = &t->layers[layer];
    for (int i = l->first; i < l->last; i++) {
        const rlf_matrix *x = &t->matrix[i];
        RLF_TRY(pack(m, w + (x->offset - l->matrices), x->rows, x->cols,
                     m->packed[i], err));
    }
    return RLF_OK;
}

rlf_status
rlf_model_pack_layer(const rlf_model *m, int layer, rlf_err *err)
{
    return pack_layer(
        m, layer, rlf_block_place(m, m->table->layers[layer].matrices), err);
}

/* The embedding to m->rows or m->words, if that is no head. */
static rlf_status
pack_rows(const rlf_model *m, const float *w, rlf_err *err)
{
    const rlf_table *t = m->table;
    const rlf_packed words = {.forward = (void *)(uintptr_t)m->words,
                              .bf16 = true};
    if (m->words)
        return m->words == m->lm.forward ? RLF_OK
                                         : pack_words(m, w, words, err);
    if (!m->rows || m->rows == m->lm.forward)
        return RLF_OK;
    return pack(m, w, t->vocab, t->config.hidden,
                (rlf_packed){.forward = m->rows}, err);
}

/* Is the embedding of the model, of all stages, its head? */
static bool
is_tied(const rlf_table *t)
{
    return t->whole->embed == t->whole->lm;
}

rlf_status
rlf_model_landed(rlf_model *m, int turn, rlf_err *err)
{
    const rlf_table *t = m->table;
    int layers = t->config.layers;
    bool score = t->score != RLF_NO_SLOT && !rlf_table_adapted(t);
    if (turn < layers)
        return t->layers[turn].place < 0 ? RLF_OK
                                         : rlf_model_pack_layer(m, turn, err);
    if (t->embed != RLF_NO_SLOT && turn == layers + !is_tied(t))
        RLF_TRY(pack_rows(m, rlf_block_place(m, t->embed), err));
    if (turn > layers)
        return RLF_OK;
    if (t->lm != RLF_NO_SLOT)
        RLF_TRY(pack_words(m, rlf_block_place(m, t->lm), m->lm, err));
    if (score)
        RLF_TRY(pack(m, rlf_block_place(m, t->score), 1, t->config.hidden,
                     m->score, err));
    return RLF_OK;
}

/* Packs all that training changes of a model that has adapters. */
static rlf_status
pack_adapters(const rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    for (int i = t->base_matrices; i < t->n_matrix; i++)
        RLF_TRY(pack(m, rlf_block_place(m, t->matrix[i].offset),
                     t->matrix[i].rows, t->matrix[i].cols, m->packed[i], err));
    if (!rlf_table_adapted(t) || t->score == RLF_NO_SLOT)
        return RLF_OK;
    return pack(m, rlf_block_place(m, t->score), 1, t->config.hidden, m->score,
                err);
}

static rlf_status
pack_all(rlf_model *m, rlf_err *err)
{
    int layers = m->table->config.layers;
    for (int i = m->offload ? layers : 0; i <= layers + 1; i++)
        RLF_TRY(rlf_model_landed(m, i, err));
    return RLF_OK;
}

rlf_status
rlf_model_changed(rlf_model *m, rlf_err *err)
{
    if (m->offload)
        RLF_TRY(rlf_offload_changed(m, err));
    if (!m->bare && !m->loan.packed && m->weights)
        RLF_TRY(pack_all(m, err));
    if (!m->bare)
        RLF_TRY(pack_adapters(m, err));
    return rlf_model_renewed(m, err);
}

/* Adds one to all vectors of the base, which lie together, though norms alone
 * are read so. */
static rlf_status
add_ones(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    const int64_t n = t->vectors - t->matrices;
    rlf_fill_args ones = {.n = n, .a = 1, .y = m->one_plus};
    rlf_axpby_args sum = {.n = n,
                          .a = 1,
                          .b = 1,
                          .x = m->vectors ? m->vectors
                                          : m->weights + t->matrices,
                          .y = m->one_plus};
    RLF_TRY(m->kernels->fill(m->queue, &ones, err));
    return m->kernels->axpby(m->queue, &sum, err);
}

rlf_status
rlf_model_renewed(rlf_model *m, rlf_err *err)
{
    if (m->one_plus)
        RLF_TRY(add_ones(m, err));
    if (m->lender)
        m->lender->loan.taken = true;
    m->version++;
    return RLF_OK;
}

/* A matrix of a layer waits in host memory until it has the others. */
static rlf_status
fill_layer(rlf_model *m, const rlf_slot *slot, const float *part, rlf_err *err)
{
    const rlf_table *t = m->table;
    int layer = rlf_block_layer(t, slot->offset);
    int64_t n = rlf_block_layer_floats(t, layer),
            first = t->layers[layer].matrices;
    if (!m->filling)
        m->filling = rlf_try_malloc((size_t)n * sizeof *part);
    if (!m->filling)
        return rlf_fail_memory(err, (size_t)n * sizeof *part,
                               "the matrices of a layer");
    memcpy(m->filling + (slot->offset - first), part,
           (size_t)slot->count * sizeof *part);
    if (slot->offset + slot->count < first + n)
        return RLF_OK;
    RLF_TRY(pack_layer(m, layer, m->filling, err));
    RLF_TRY(rlf_queue_sync(m->queue, err));
    free(m->filling);
    m->filling = NULL;
    return RLF_OK;
}

rlf_status
rlf_model_fill(rlf_model *m, const rlf_slot *slot, const float *part,
               rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t offset = slot->offset;
    bool embeds = offset == t->embed;
    RLF_ASSERT(!m->weights);
    if (offset >= t->matrices || (embeds && m->embed))
        RLF_TRY(rlf_queue_copy(m->queue, rlf_block_place(m, offset), part,
                               (size_t)slot->count * sizeof *part,
                               RLF_COPY_TO_DEVICE, err));
    if (embeds)
        RLF_TRY(pack_rows(m, part, err));
    if (offset == t->lm)
        RLF_TRY(pack_words(m, part, m->lm, err));
    if (offset == t->score && offset < t->matrices)
        RLF_TRY(pack(m, part, 1, t->config.hidden, m->score, err));
    if (rlf_block_layer(t, offset) < t->config.layers)
        return fill_layer(m, slot, part, err);
    return rlf_queue_sync(m->queue, err);
}

/* Of a packing for BACKWARD a panel has all rows. */
bool
rlf_model_fills_rows(const rlf_model *m, const rlf_table *t,
                     const rlf_slot *slot)
{
    bool one = !m->trained || m->kernels->one_pack || m->lm.bf16;
    return m->by_layer && rlf_form_is_plain(slot) &&
           (slot->offset == t->lm ? one : slot->offset == t->embed);
}

/* Rows of a head, packed shard by shard, or of what is packed as one. */
static rlf_status
pack_part(const rlf_model *m, const float *w, int64_t first, int64_t n,
          rlf_packed to, bool shards, rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t d = t->config.hidden;
    size_t before = 0;
    for (int s = 0; shards && first >= rlf_table_shard_tokens(t, s); s++) {
        int64_t rows = rlf_table_shard_tokens(t, s);
        before +=
            rlf_packed_bytes(m->kernels, rows, d, RLF_PRODUCT_FORWARD, to.bf16);
        first -= rows;
    }
    before +=
        rlf_packed_bytes(m->kernels, first, d, RLF_PRODUCT_FORWARD, to.bf16);
    rlf_product_pack_args args = {.rows = n,
                                  .cols = d,
                                  .w = w,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .bf16 = to.bf16,
                                  .packed = (char *)to.forward + before};
    return m->kernels->product_pack(m->queue, &args, err);
}

rlf_status
rlf_model_fill_rows(rlf_model *m, const rlf_slot *slot, int64_t first,
                    int64_t n, const float *part, rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t d = t->config.hidden;
    const rlf_packed words = {.forward = (void *)(uintptr_t)m->words,
                              .bf16 = true};
    bool embeds = slot->offset == t->embed;
    if (embeds && m->embed)
        RLF_TRY(rlf_queue_copy(m->queue, m->embed + first * d, part,
                               (size_t)(n * d) * sizeof *part,
                               RLF_COPY_TO_DEVICE, err));
    if (embeds && m->words && m->words != m->lm.forward)
        RLF_TRY(pack_part(m, part, first, n, words, true, err));
    if (embeds && m->rows && m->rows != m->lm.forward)
        RLF_TRY(pack_part(m, part, first, n, (rlf_packed){.forward = m->rows},
                          false, err));
    if (slot->offset == t->lm)
        RLF_TRY(pack_part(m, part, first, n, m->lm, true, err));
    return rlf_queue_sync(m->queue, err);
}

rlf_status
rlf_model_reclaim(rlf_model *m, rlf_err *err)
{
    rlf_loan *loan = &m->loan;
    if (loan->taken)
        RLF_TRY(rlf_queue_set(m->queue, loan->base, 0, loan->bytes, err));
    loan->taken = false;
    return loan->packed ? pack_all(m, err) : RLF_OK;
}
