/* See block.h. One device block holds everything of a model; rlf_suballocate()
 * gives out its parts and, run without a block, counts them. */
#include "nodes/model/block.h"

#include <string.h>

#include "engine/comm/comm.h"
#include "nodes/model/gradient.h"
#include "nodes/model/offload.h"
#include "nodes/model/tables.h"

/* The first slot of the block that ends behind `offset`. */
static int
slot_behind(const rlf_table *t, int64_t offset)
{
    int from = 0, to = t->n_slots;
    while (from < to) {
        int at = from + (to - from) / 2;
        if (t->slots[at].offset + t->slots[at].count > offset)
            to = at;
        else
            from = at + 1;
    }
    return from;
}

/* Does nothing change the weights of the base, which are packed alone? */
static bool
is_still(const rlf_model *m, const rlf_model_options *o)
{
    bool still = rlf_table_adapted(m->table) || (o->by_layer && o->fixed);
    return still && !m->offload && !o->bare;
}

/* Is the head's packing read as the embedding, too? */
static bool
reads_head(const rlf_model *m, const rlf_model_options *o)
{
    const rlf_table *t = m->table;
    return t->embed != RLF_NO_SLOT && t->embed == t->lm && is_still(m, o) &&
           !m->kernels->one_pack;
}

/* Is the matrix of n floats at `offset` kept in bf16? All of its tensors must
 * be of that type, and nothing may change them. */
static bool
stays_bf16(const rlf_model *m, const rlf_model_options *o, int64_t offset,
           int64_t n)
{
    const rlf_table *t = m->table;
    if (!o->bf16 || !m->kernels->bf16_weights || !is_still(m, o))
        return false;
    int i = slot_behind(t, offset);
    for (; i < t->n_slots && t->slots[i].offset < offset + n; i++)
        if (!o->bf16[t->slots[i].number])
            return false;
    return true;
}

static rlf_packed
carve_packed(rlf_suballocator *c, const rlf_kernels *k, int64_t rows,
             int64_t cols, bool trained, bool bf16)
{
    rlf_packed p = {.bf16 = bf16};
    p.forward = rlf_suballocate(
        c, rlf_packed_bytes(k, rows, cols, RLF_PRODUCT_FORWARD, bf16));
    if (trained)
        p.backward =
            k->one_pack || bf16
                ? p.forward
                : rlf_suballocate(c, k->product_packed_bytes(
                                         rows, cols, RLF_PRODUCT_BACKWARD));
    return p;
}

rlf_slices
rlf_block_slices(const rlf_table *t, const rlf_model_options *o,
                 rlf_arena *arena)
{
    bool sliced = o->sliced && o->trained && o->replicas;
    return rlf_slices_make(t, sliced ? rlf_group_size(o->replicas) : 1,
                           sliced ? rlf_group_index(o->replicas) : 0, arena);
}

/* Each shard of the head's matrix is packed by itself. */
static rlf_packed
carve_head(rlf_suballocator *c, const rlf_kernels *k, const rlf_table *t,
           bool trained, bool bf16)
{
    rlf_packed p = {.bf16 = bf16};
    size_t bytes = 0;
    for (int s = 0; s < t->shards.count; s++)
        bytes += rlf_packed_bytes(k, rlf_table_shard_tokens(t, s),
                                  t->config.hidden, RLF_PRODUCT_FORWARD, bf16);
    p.forward = rlf_suballocate(c, bytes);
    if (trained)
        p.backward = k->one_pack || bf16
                         ? p.forward
                         : rlf_suballocate(c, k->product_packed_bytes(
                                                  t->vocab, t->config.hidden,
                                                  RLF_PRODUCT_BACKWARD));
    return p;
}

/* The words of the embedding, or of a head. */
static int64_t
word_floats(const rlf_table *t)
{
    return t->vocab * t->config.hidden;
}

/* Of the weights what is read as it is: vectors, and the embedding; as
 * activations, where that is what a packed matrix is; of bf16 as a head, and
 * never beside a head that is read for it. */
static void
carve_near(rlf_model *m, rlf_suballocator *c, const rlf_model_options *options)
{
    const rlf_table *t = m->table;
    const rlf_kernels *k = m->kernels;
    bool embeds = !options->bare && t->embed != RLF_NO_SLOT;
    bool bf16 = embeds && stays_bf16(m, options, t->embed, word_floats(t));
    if (reads_head(m, options))
        m->words = NULL; /* until its head is there */
    else if (bf16)
        m->words = carve_head(c, k, t, false, true).forward;
    else if (embeds && !k->one_pack)
        m->embed = rlf_suballocate_floats(c, word_floats(t));
    else if (embeds && t->embed != t->lm)
        m->rows = rlf_suballocate(
            c, k->product_packed_bytes(t->vocab, t->config.hidden,
                                       RLF_PRODUCT_FORWARD));
    m->vectors = rlf_suballocate_floats(c, t->count - t->matrices);
}

/* Are its matrices packed alone? Those of a base are, which nothing changes; of
 * its adapters, which lie with the vectors, the floats are kept as well. A bare
 * one has no other. */
static bool
is_near(const rlf_model *m, const rlf_model_options *options)
{
    return m->offload || options->by_layer || rlf_table_adapted(m->table);
}

int64_t
rlf_block_layer_floats(const rlf_table *t, int layer)
{
    return t->layers[layer].matrices_end - t->layers[layer].matrices;
}

/* Has it a head that lands? An embedding comes to where it stays. */
static bool
head_lands(const rlf_table *t)
{
    return t->lm != RLF_NO_SLOT && t->lm != t->embed;
}

/* The floats for a layer; or for the head, and the score behind it. */
static int64_t
landing_floats(const rlf_table *t)
{
    int64_t most = head_lands(t) ? word_floats(t) : 0;
    if (t->score != RLF_NO_SLOT)
        most += t->config.hidden;
    for (int i = 0; i < t->config.layers; i++)
        if (rlf_block_layer_floats(t, i) > most)
            most = rlf_block_layer_floats(t, i);
    return most;
}

/* Has a slot of n floats from `slot` on this one? */
static bool
within(int64_t offset, int64_t slot, int64_t n)
{
    return slot != RLF_NO_SLOT && offset >= slot && offset < slot + n;
}

int
rlf_block_layer(const rlf_table *t, int64_t offset)
{
    int layer = 0;
    while (layer < t->config.layers &&
           !within(offset, t->layers[layer].matrices,
                   rlf_block_layer_floats(t, layer)))
        layer++;
    return layer;
}

float *
rlf_block_place(const rlf_model *m, int64_t offset)
{
    const rlf_table *t = m->table;
    int64_t words = word_floats(t);
    if (m->weights)
        return m->weights + offset;
    if (offset >= t->matrices)
        return m->vectors + (offset - t->matrices);
    if (within(offset, t->embed, words))
        return m->embed + (offset - t->embed);
    if (within(offset, t->lm, words))
        return m->landing + (offset - t->lm);
    if (within(offset, t->score, t->config.hidden))
        return m->landing + (head_lands(t) ? words : 0) + (offset - t->score);
    return m->landing +
           (offset - t->layers[rlf_block_layer(t, offset)].matrices);
}

/* The place of a matrix by layer, where packing is the matrix. */
static char *
packed_spot(const rlf_model *m, const rlf_slot *slot, size_t row)
{
    const rlf_table *t = m->table;
    if (slot->offset == t->embed)
        return (char *)m->rows;
    if (slot->offset == t->lm)
        return m->lm.forward;
    if (slot->offset == t->score)
        return m->score.forward;
    int i = t->layers[rlf_block_layer(t, slot->offset)].last - 1;
    while (slot->offset < t->matrix[i].offset)
        i--;
    int64_t rows = (slot->offset - t->matrix[i].offset) / slot->cols;
    return (char *)m->packed[i].forward + (size_t)rows * row;
}

rlf_spot
rlf_block_spot(const rlf_model *m, const rlf_slot *slot)
{
    const rlf_kernels *k = m->kernels;
    const rlf_table *t = m->table;
    size_t cols = (size_t)(slot->cols ? slot->cols : 1);
    if (m->weights || m->landing || !slot->cols || slot->offset >= t->matrices)
        return (rlf_spot){(char *)rlf_block_place(m, slot->offset),
                          sizeof(float), cols * sizeof(float)};
    size_t number = rlf_real_bytes(k),
           row = (size_t)rlf_packed_row(k, slot->cols) * number;
    return (rlf_spot){packed_spot(m, slot, row), number, row};
}

size_t
rlf_block_stage(const rlf_model *m, const rlf_model_options *options)
{
    const rlf_kernels *k = m->kernels;
    const rlf_table *whole = m->table->whole;
    size_t all = 0, row = 0, stage = options->stage;
    if (k->real == RLF_CAST_F32 || !k->one_pack)
        return 0;
    for (int i = 0; i < whole->n_slots; i++) {
        const rlf_slot *slot = &whole->slots[i];
        if (!slot->file_cols || rlf_table_adapted(whole))
            continue; /* adapters travel as they are */
        size_t bytes =
            (size_t)rlf_packed_row(k, slot->file_cols) * rlf_real_bytes(k);
        all += (size_t)slot->file_rows * bytes;
        row = bytes > row ? bytes : row;
    }
    stage = stage < all ? stage : all;
    stage = stage > row ? stage : row;
    return (stage + 63) / 64 * 64;
}

/* Bytes that were carved since *at, which moves on. */
static size_t
since(const rlf_suballocator *c, size_t *at)
{
    size_t bytes = c->used - *at;
    *at = c->used;
    return bytes;
}

/* Matrix i of the base. */
static rlf_packed
carve_matrix(const rlf_model *m, rlf_suballocator *c, int i,
             const rlf_model_options *options)
{
    const rlf_matrix *x = &m->table->matrix[i];
    bool bf16 = stays_bf16(m, options, x->offset, x->rows * x->cols);
    return carve_packed(c, m->kernels, x->rows, x->cols, options->trained,
                        bf16);
}

/* Carves the layers; those of an offloaded model share the memory of the
 * largest. */
static void
carve_layers(rlf_model *m, rlf_suballocator *c,
             const rlf_model_options *options)
{
    const rlf_table *t = m->table;
    size_t begin = c->used, end = begin;
    for (int i = 0; i < t->config.layers; i++) {
        if (m->offload)
            c->used = begin;
        for (int k = t->layers[i].first; k < t->layers[i].last; k++)
            m->packed[k] = carve_matrix(m, c, k, options);
        end = c->used > end ? c->used : end;
    }
    c->used = end;
    for (int k = t->base_matrices; k < t->n_matrix; k++)
        m->packed[k] = carve_packed(c, m->kernels, t->matrix[k].rows,
                                    t->matrix[k].cols, options->trained, false);
}

/* Returns the share of bf16 numbers among those that are packed, the heads'
 * included. */
static double
share_narrow(const rlf_model *m)
{
    const rlf_table *t = m->table;
    double all = 0, narrow = 0;
    for (int i = 0; i < t->n_matrix; i++) {
        double n = (double)(t->matrix[i].rows * t->matrix[i].cols);
        all += n;
        narrow += m->packed[i].bf16 ? n : 0;
    }
    double words = t->lm != RLF_NO_SLOT ? (double)word_floats(t) : 0;
    all += words;
    narrow += m->lm.bf16 ? words : 0;
    return all > 0 ? narrow / all : 0;
}

static void
carve_matrices(rlf_model *m, rlf_suballocator *c,
               const rlf_model_options *options)
{
    const rlf_table *t = m->table;
    const rlf_kernels *k = m->kernels;
    bool tied = t->embed != RLF_NO_SLOT && t->embed == t->lm;
    carve_layers(m, c, options);
    if (t->lm != RLF_NO_SLOT)
        m->lm = carve_head(c, k, t, options->trained,
                           stays_bf16(m, options, t->lm, word_floats(t)));
    if (reads_head(m, options))
        m->words = m->lm.forward;
    if (m->vectors && k->one_pack && tied)
        m->rows = m->lm.forward;
    if (t->score != RLF_NO_SLOT)
        m->score =
            carve_packed(c, k, 1, t->config.hidden, options->trained, false);
    m->narrow = share_narrow(m);
}

/* Carves the tables; those of the lender are the same. */
static void
carve_tables(rlf_model *m, rlf_suballocator *c)
{
    int64_t half = rlf_model_config_rotated(&m->table->config) / 2;
    m->positions = (int)m->caps.longest;
    if (m->lender) {
        m->frequencies = m->lender->frequencies;
        memcpy(m->cosines, m->lender->cosines, sizeof m->cosines);
        memcpy(m->sines, m->lender->sines, sizeof m->sines);
        return;
    }
    m->frequencies = rlf_suballocate_floats(c, half);
    for (int i = 0; i < RLF_ROTATIONS; i++) {
        if (!rlf_model_config_rotates(&m->table->config, (rlf_rotation)i))
            continue;
        m->cosines[i] = rlf_suballocate_floats(c, m->positions * half);
        m->sines[i] = rlf_suballocate_floats(c, m->positions * half);
    }
}

static void
carve_optimizer(rlf_model *m, rlf_suballocator *c)
{
    const rlf_slices *s = &m->slices;
    m->moment1 = rlf_suballocate_floats(c, s->last - s->first);
    m->moment2 = rlf_suballocate_floats(c, s->last - s->first);
    m->norm_sums = rlf_suballocate(
        c, (size_t)rlf_slices_blocks(s, m->table, s->own) * sizeof(double));
}

/* All that passes read of a base, which is the beginning of the other's table.
 */
static void
borrow(rlf_model *m, const rlf_model *from)
{
    const rlf_table *t = m->table;
    RLF_ASSERT(t->vectors == from->table->vectors &&
               t->n_matrix == from->table->base_matrices);
    for (int i = 0; i < t->n_matrix; i++) {
        m->packed[i].forward = from->packed[i].forward;
        m->packed[i].bf16 = from->packed[i].bf16;
    }
    m->lm.forward = from->lm.forward;
    m->lm.bf16 = from->lm.bf16;
    m->words = from->words;
    m->narrow = from->narrow;
    m->vectors = from->vectors;
    m->embed = from->embed;
    m->rows = from->rows;
    m->one_plus = from->one_plus;
}

/* Parts that may be lent come last. */
rlf_model_bytes
rlf_block_suballocate(rlf_model *m, rlf_suballocator *c,
                      const rlf_model_options *options)
{
    const rlf_table *t = m->table;
    rlf_model_bytes bytes = {0};
    size_t at = c->used;
    bool trained = options->trained;
    if (options->base_of) {
        borrow(m, options->base_of);
        carve_tables(m, c);
        bytes.tables = since(c, &at);
        return bytes;
    }
    m->loan = (rlf_loan){.asked = options->lends,
                         .packed = options->lends && options->unread};
    bool near = is_near(m, options), adapted = rlf_table_adapted(t);
    if (near)
        carve_near(m, c, options);
    if (options->by_layer && !options->fixed && !adapted &&
        !m->kernels->one_pack)
        m->landing = rlf_suballocate_floats(c, landing_floats(t));
    if (!near)
        m->weights = rlf_suballocate_floats(c, t->count);
    if (options->serves && !trained)
        m->staging = rlf_suballocate(c, rlf_block_stage(m, options));
    if (t->program->one_plus && !options->bare)
        m->one_plus = rlf_suballocate_floats(c, t->vectors - t->matrices);
    m->squares = rlf_suballocate(c, sizeof *m->squares);
    bytes.weights = since(c, &at);
    bytes.host = m->offload ? (size_t)t->count * sizeof(float) : 0;
    if (options->bare)
        return bytes;
    carve_tables(m, c);
    bytes.tables = since(c, &at);
    if (trained)
        carve_optimizer(m, c);
    bytes.optimizer = since(c, &at);
    size_t lent = at;
    carve_matrices(m, c, options);
    bytes.packed = since(c, &at);
    if (!trained)
        return bytes;
    lent = m->loan.packed ? lent : at;
    bytes.partial = rlf_gradient_suballocate(m, options, c);
    bytes.gradients = since(c, &at) - bytes.partial;
    size_t asked = options->lends;
    if (options->serves) {
        size_t stage = rlf_block_stage(m, options);
        m->staging = stage && c->base ? c->base + lent + asked : NULL;
        asked += stage;
    }
    if (c->used - lent < asked)
        c->used = lent + asked;
    bytes.loan = since(c, &at);
    m->loan.base = c->base ? c->base + lent : NULL;
    m->loan.bytes = c->used - lent;
    return bytes;
}

rlf_model_bytes
rlf_model_count_bytes(const rlf_table *table, const rlf_kernels *kernels,
                      const rlf_model_options *options)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model m = {.table = table,
                   .kernels = kernels,
                   .caps = rlf_caps_resolve(options->caps,
                                            (uint32_t)table->config.context),
                   .slices = rlf_block_slices(table, options, arena)};
    m.packed = RLF_NEW_ARRAY(arena, rlf_packed, table->n_matrix);
    if (options->offload)
        m.offload = RLF_NEW(arena, rlf_offload);
    rlf_suballocator c = {0};
    rlf_model_bytes bytes = rlf_block_suballocate(&m, &c, options);
    rlf_arena_free(arena);
    return bytes;
}

rlf_cut
rlf_block_cut(const rlf_model_options *o)
{
    return (rlf_cut){.shards = o->shards,
                     .ranks = o->group ? rlf_group_size(o->group) : 1,
                     .rank = o->group ? rlf_group_index(o->group) : 0,
                     .stages = o->stages ? rlf_group_size(o->stages) : 1,
                     .stage = o->stages ? rlf_group_index(o->stages) : 0,
                     .chunks = o->chunks,
                     .vee = o->vee};
}

rlf_status
rlf_model_loan_bytes(const rlf_kernels *kernels, const rlf_model_config *config,
                     const rlf_model_options *options, rlf_err *err,
                     size_t *bytes)
{
    const rlf_cut cut = rlf_block_cut(options);
    RLF_TRY(rlf_table_check_cut(config, &cut, err));
    rlf_arena *arena = rlf_arena_new();
    const rlf_table *t =
        rlf_tables_get(options->tables, config, options->head, &cut, arena);
    rlf_model_bytes b = rlf_model_count_bytes(t, kernels, options);
    *bytes = b.weights + b.packed;
    rlf_arena_free(arena);
    return RLF_OK;
}
