/* One device block holds everything of a model; rlf_carve() gives out its parts
 * and, run without a block, counts them. */
#include "nodes/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/io/safetensors.h"
#include "nodes/model/gradient.h"
#include "nodes/model/offload.h"
#include "nodes/model/work.h"

static rlf_packed
carve_packed(rlf_carver *c, const rlf_kernels *k, int64_t rows, int64_t cols,
             bool trained)
{
    rlf_packed p = {0};
    p.forward =
        rlf_carve(c, k->product_packed_bytes(rows, cols, RLF_PRODUCT_FORWARD));
    if (trained)
        p.backward = k->one_pack
                         ? p.forward
                         : rlf_carve(c, k->product_packed_bytes(
                                            rows, cols, RLF_PRODUCT_BACKWARD));
    return p;
}

/* The part that this replica steps: all of it unless it is shared out. */
static rlf_slices
slices_of(const rlf_table *t, const rlf_model_options *o, rlf_arena *arena)
{
    bool sliced = o->sliced && o->trained && o->replicas;
    return rlf_slices_make(t, sliced ? rlf_group_size(o->replicas) : 1,
                           sliced ? rlf_group_index(o->replicas) : 0, arena);
}

/* Each shard of the head's matrix is packed by itself. */
static rlf_packed
carve_head(rlf_carver *c, const rlf_kernels *k, const rlf_table *t,
           bool trained)
{
    rlf_packed p = {0};
    size_t bytes = 0;
    for (int s = 0; s < t->shards.count; s++)
        bytes += k->product_packed_bytes(rlf_table_shard_tokens(t, s),
                                         t->config.hidden, RLF_PRODUCT_FORWARD);
    p.forward = rlf_carve(c, bytes);
    if (trained)
        p.backward = k->one_pack ? p.forward
                                 : rlf_carve(c, k->product_packed_bytes(
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
 * activations, where that is what a packed matrix is. */
static void
carve_near(rlf_model *m, rlf_carver *c)
{
    const rlf_table *t = m->table;
    const rlf_kernels *k = m->kernels;
    if (t->embed != RLF_NO_SLOT && !k->one_pack)
        m->embed = rlf_carve_floats(c, word_floats(t));
    else if (t->embed != RLF_NO_SLOT && t->embed != t->lm)
        m->rows =
            rlf_carve(c, k->product_packed_bytes(t->vocab, t->config.hidden,
                                                 RLF_PRODUCT_FORWARD));
    m->vectors = rlf_carve_floats(c, t->count - t->matrices);
}

/* The matrices of a layer lie together. */
static int64_t
layer_floats(const rlf_table *t, int layer)
{
    const rlf_layer_slots *l = &t->layers[layer];
    return l->place < 0 ? 0 : l->down + t->config.hidden * t->ffn - l->qkv;
}

/* Does the embedding or the head land? Not where an embedding of f32 comes to
 * where it stays, and is the head. */
static bool
words_land(const rlf_table *t, const rlf_kernels *k)
{
    return k->one_pack ? t->embed != RLF_NO_SLOT || t->lm != RLF_NO_SLOT
                       : t->lm != RLF_NO_SLOT && t->lm != t->embed;
}

/* For a layer; or for the words, and the score behind them. */
static int64_t
landing_floats(const rlf_table *t, const rlf_kernels *k)
{
    int64_t most = words_land(t, k) ? word_floats(t) : 0;
    if (t->score != RLF_NO_SLOT)
        most += t->config.hidden;
    for (int i = 0; i < t->config.layers; i++)
        if (layer_floats(t, i) > most)
            most = layer_floats(t, i);
    return most;
}

/* Has a slot of n floats from `slot` on this one? */
static bool
within(int64_t offset, int64_t slot, int64_t n)
{
    return slot != RLF_NO_SLOT && offset >= slot && offset < slot + n;
}

/* The layer that has a matrix, or config.layers. */
static int
layer_of(const rlf_table *t, int64_t offset)
{
    int layer = 0;
    while (layer < t->config.layers &&
           !within(offset, t->layers[layer].qkv, layer_floats(t, layer)))
        layer++;
    return layer;
}

float *
rlf_model_place(const rlf_model *m, int64_t offset)
{
    const rlf_table *t = m->table;
    int64_t words = word_floats(t);
    if (m->weights)
        return m->weights + offset;
    if (offset >= t->matrices)
        return m->vectors + (offset - t->matrices);
    if (within(offset, t->embed, words))
        return (m->embed ? m->embed : m->landing) + (offset - t->embed);
    if (within(offset, t->lm, words))
        return m->landing + (offset - t->lm);
    if (within(offset, t->score, t->config.hidden))
        return m->landing + (words_land(t, m->kernels) ? words : 0) +
               (offset - t->score);
    return m->landing + (offset - t->layers[layer_of(t, offset)].qkv);
}

/* What was carved since *at, which moves on. */
static size_t
since(const rlf_carver *c, size_t *at)
{
    size_t bytes = c->used - *at;
    *at = c->used;
    return bytes;
}

static void
carve_matrices(rlf_model *m, rlf_carver *c, bool trained)
{
    const rlf_table *t = m->table;
    const rlf_model_config *g = &t->config;
    const rlf_kernels *k = m->kernels;
    const rlf_layer_packed *one = NULL; /* that offloaded layers share */
    for (int i = 0; i < g->layers; i++) {
        rlf_layer_packed *p = &m->packed[i];
        if (t->layers[i].place < 0)
            continue;
        if (m->offload && one) {
            *p = *one;
            continue;
        }
        one = p;
        int64_t d = g->hidden, f = t->ffn, q = rlf_table_q(t);
        p->qkv = carve_packed(c, k, rlf_table_qkv(t), d, trained);
        p->o = carve_packed(c, k, d, q, trained);
        p->gate_up = carve_packed(c, k, 2 * f, d, trained);
        p->down = carve_packed(c, k, d, f, trained);
    }
    if (t->lm != RLF_NO_SLOT)
        m->lm = carve_head(c, k, t, trained);
    if (m->vectors && k->one_pack && t->embed != RLF_NO_SLOT &&
        t->embed == t->lm)
        m->rows = m->lm.forward;
    if (t->score != RLF_NO_SLOT)
        m->score = carve_packed(c, k, 1, g->hidden, trained);
}

/* Those of the lender are the same. */
static void
carve_tables(rlf_model *m, rlf_carver *c)
{
    int64_t half = m->table->config.head_dim / 2;
    m->positions = (int)m->caps.longest;
    if (m->lender) {
        m->frequencies = m->lender->frequencies;
        m->cosines = m->lender->cosines;
        m->sines = m->lender->sines;
        return;
    }
    m->frequencies = rlf_carve_floats(c, half);
    m->cosines = rlf_carve_floats(c, m->positions * half);
    m->sines = rlf_carve_floats(c, m->positions * half);
}

static void
carve_optimizer(rlf_model *m, rlf_carver *c)
{
    const rlf_slices *s = &m->slices;
    m->moment1 = rlf_carve_floats(c, s->last - s->first);
    m->moment2 = rlf_carve_floats(c, s->last - s->first);
    m->norm_sums = rlf_carve(c, (size_t)rlf_slices_blocks(s, m->table, s->own) *
                                    sizeof(double));
}

/* What may be lent comes last. */
static rlf_model_bytes
carve_model(rlf_model *m, rlf_carver *c, const rlf_model_options *options)
{
    const rlf_table *t = m->table;
    rlf_model_bytes bytes = {0};
    size_t at = c->used;
    bool trained = options->trained;
    m->loan = (rlf_loan){.asked = options->lends,
                         .packed = options->lends && options->unread};
    if (m->offload || options->by_layer)
        carve_near(m, c);
    if (options->by_layer && !options->fixed)
        m->landing = rlf_carve_floats(c, landing_floats(t, m->kernels));
    if (!m->offload && !options->by_layer)
        m->weights = rlf_carve_floats(c, t->count);
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
    carve_matrices(m, c, trained);
    bytes.packed = since(c, &at);
    if (!trained)
        return bytes;
    lent = m->loan.packed ? lent : at;
    rlf_gradient_carve(m, options, c);
    bytes.gradients = since(c, &at);
    if (c->used - lent < options->lends)
        c->used = lent + options->lends;
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
                   .slices = slices_of(table, options, arena)};
    m.packed = RLF_NEW_ARRAY(arena, rlf_layer_packed, table->config.layers);
    if (options->offload)
        m.offload = RLF_NEW(arena, rlf_offload);
    rlf_carver c = {0};
    rlf_model_bytes bytes = carve_model(&m, &c, options);
    rlf_arena_free(arena);
    return bytes;
}

static rlf_cut
cut_of(const rlf_model_options *o)
{
    return (rlf_cut){.shards = o->shards,
                     .ranks = o->group ? rlf_group_size(o->group) : 1,
                     .rank = o->group ? rlf_group_index(o->group) : 0,
                     .stages = o->stages ? rlf_group_size(o->stages) : 1,
                     .stage = o->stages ? rlf_group_index(o->stages) : 0,
                     .chunks = o->chunks};
}

rlf_status
rlf_model_loan_bytes(const rlf_kernels *kernels, const rlf_model_config *config,
                     const rlf_model_options *options, rlf_err *err,
                     size_t *bytes)
{
    const rlf_cut cut = cut_of(options);
    RLF_TRY(rlf_table_check_cut(config, &cut, err));
    rlf_arena *arena = rlf_arena_new();
    const rlf_table *t = rlf_table_new(config, options->head, &cut, arena);
    rlf_model_bytes b = rlf_model_count_bytes(t, kernels, options);
    *bytes = b.weights + b.packed;
    rlf_arena_free(arena);
    return RLF_OK;
}

static rlf_status
make_rotations(rlf_model *m, rlf_err *err)
{
    const rlf_model_config *c = &m->table->config;
    int half = c->head_dim / 2;
    double *exact = RLF_NEW_ARRAY(m->arena, double, half);
    float *frequency = RLF_NEW_ARRAY(m->arena, float, half);
    rlf_model_config_rope(c, exact);
    for (int i = 0; i < half; i++)
        frequency[i] = (float)exact[i];
    RLF_TRY(rlf_queue_copy(m->queue, m->frequencies, frequency,
                           (size_t)half * sizeof(float), RLF_COPY_TO_DEVICE,
                           err));
    rlf_rope_table_args args = {.n = m->positions,
                                .half = half,
                                .inv_freq = m->frequencies,
                                .cos = m->cosines,
                                .sin = m->sines};
    return m->kernels->rope_table(m->queue, &args, err);
}

/* All stages as this rank's replicas, tensor by tensor, see them. */
static const rlf_stage *
stages_of(const rlf_model *m, const rlf_model_options *options)
{
    rlf_cut cut = m->table->cut;
    int n = cut.stages, own = cut.stage;
    rlf_stage *list = RLF_NEW_ARRAY(m->arena, rlf_stage, n);
    for (int i = 0; i < n; i++) {
        cut.stage = i;
        const rlf_table *t = i == own
                                 ? m->table
                                 : rlf_table_new(&m->table->config,
                                                 options->head, &cut, m->arena);
        list[i] = (rlf_stage){t, slices_of(t, options, m->arena)};
    }
    return list;
}

static const int *
flights_of(const rlf_model *m, const int *given)
{
    int n = m->table->cut.chunks;
    int *flights = RLF_NEW_ARRAY(m->arena, int, n);
    for (int i = 0; i < n; i++)
        flights[i] = given ? given[i] : 1;
    return flights;
}

/* Copies are neighbours. */
static rlf_status
find_copies(rlf_model *m, rlf_err *err)
{
    int n = m->table->copies, rank = m->table->cut.rank;
    return n > 1 ? rlf_group_part(m->group, rank / n * n, n, &m->copies, err)
                 : RLF_OK;
}

/* Where the parts of a model will lie that has no memory yet: whether a part is
 * there is asked before it is. */
static void
lay(rlf_model *m, const rlf_model_options *options)
{
    rlf_carver c = {.base = (char *)(uintptr_t)64};
    m->bytes = carve_model(m, &c, options);
    m->block_bytes = c.used;
}

/* A block of its own, or a part of what is lent. */
static rlf_status
take_memory(rlf_model *m, rlf_err *err)
{
    rlf_loan *loan = m->lender ? &m->lender->loan : NULL;
    size_t bytes = m->block_bytes;
    rlf_carver c;
    if (loan) {
        RLF_ASSERT(loan->given + bytes <= loan->asked);
        c = (rlf_carver){.base = loan->base + loan->given};
        loan->given += bytes;
        loan->taken = true;
    } else {
        RLF_TRY(rlf_device_alloc(m->queue->device, bytes, &m->block, err));
        c = (rlf_carver){.base = m->block};
    }
    char *base = c.base;
    carve_model(m, &c, &m->options);
    return rlf_queue_set(m->queue, base, 0, bytes, err);
}

rlf_status
rlf_model_lay(rlf_queue *queue, const rlf_kernels *kernels,
              const rlf_model_config *config, const rlf_model_options *options,
              rlf_err *err, rlf_model **out)
{
    const rlf_cut cut = cut_of(options);
    rlf_status status = RLF_OK;
    RLF_TRY(rlf_table_check_cut(config, &cut, err));
    RLF_TRY(rlf_gradient_check(options, err));
    rlf_arena *arena = rlf_arena_new();
    rlf_model *m = RLF_NEW(arena, rlf_model);
    *m = (rlf_model){
        .arena = arena,
        .queue = queue,
        .kernels = kernels,
        .group = cut.ranks > 1 ? options->group : NULL,
        .replicas = options->replicas,
        .stages = cut.stages > 1 ? options->stages : NULL,
        .peers = options->peers ? options->peers : options->stages,
        .trained = options->trained,
        .bare = options->bare,
        .by_layer = options->by_layer,
        .lender = options->lender,
        .caps = rlf_caps_resolve(options->caps, (uint32_t)config->context),
        .table = rlf_table_new(config, options->head, &cut, arena)};
    m->slices = slices_of(m->table, options, arena);
    m->stage = stages_of(m, options);
    m->flights = flights_of(m, options->flights);
    m->gradient.lane = RLF_NEW_ARRAY(arena, int, m->table->cut.chunks);
    m->packed = RLF_NEW_ARRAY(arena, rlf_layer_packed, config->layers);
    m->saved = RLF_NEW_ARRAY(arena, uint8_t, m->table->whole->n_slots);
    memset(m->saved, RLF_ELEMENT_F32, (size_t)m->table->whole->n_slots);
    if (options->offload)
        m->offload = RLF_NEW(arena, rlf_offload);
    m->options = *options;
    lay(m, options);
    RLF_TRY_GOTO(find_copies(m, err), fail);
    *out = m;
    return RLF_OK;
fail:
    rlf_model_free(m);
    return status;
}

rlf_status
rlf_model_take(rlf_model *m, rlf_err *err)
{
    if (m->offload)
        RLF_TRY(rlf_offload_open(m, err));
    RLF_TRY(take_memory(m, err));
    return m->bare || m->lender ? RLF_OK : make_rotations(m, err);
}

rlf_status
rlf_model_new(rlf_queue *queue, const rlf_kernels *kernels,
              const rlf_model_config *config, const rlf_model_options *options,
              rlf_err *err, rlf_model **out)
{
    rlf_model *m;
    RLF_TRY(rlf_model_lay(queue, kernels, config, options, err, &m));
    rlf_status status = rlf_model_take(m, err);
    if (status < 0)
        rlf_model_free(m);
    else
        *out = m;
    return status;
}

rlf_status
rlf_model_outline(const rlf_kernels *kernels, const rlf_model_config *config,
                  const rlf_model_options *options, rlf_arena *arena,
                  rlf_err *err, const rlf_model **out)
{
    rlf_cut cut = {.shards = options->shards};
    RLF_TRY(rlf_table_check_cut(config, &cut, err));
    rlf_model *m = RLF_NEW(arena, rlf_model);
    *m = (rlf_model){
        .kernels = kernels,
        .trained = options->trained,
        .caps = rlf_caps_resolve(options->caps, (uint32_t)config->context),
        .table = rlf_table_new(config, options->head, &cut, arena)};
    m->slices = rlf_slices_make(m->table, 1, 0, arena);
    *out = m;
    return RLF_OK;
}

void
rlf_model_free(rlf_model *m)
{
    if (!m)
        return;
    rlf_work_free(m);
    rlf_offload_close(m);
    free(m->filling);
    rlf_group_free(m->copies);
    rlf_device_release(m->queue->device, m->block, m->block_bytes);
    rlf_arena_free(m->arena);
}

static rlf_status
pack(const rlf_model *m, const float *w, int64_t rows, int64_t cols,
     rlf_packed to, rlf_err *err)
{
    rlf_product_pack_args args = {.rows = rows,
                                  .cols = cols,
                                  .w = w,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .packed = to.forward};
    RLF_TRY(m->kernels->product_pack(m->queue, &args, err));
    if (!to.backward)
        return RLF_OK;
    args.form = RLF_PRODUCT_BACKWARD;
    args.packed = to.backward;
    return m->kernels->product_pack(m->queue, &args, err);
}

static rlf_status
pack_head(const rlf_model *m, const float *w, rlf_err *err)
{
    const rlf_table *t = m->table;
    int64_t d = t->config.hidden;
    rlf_product_pack_args args = {.cols = d,
                                  .w = w,
                                  .form = RLF_PRODUCT_FORWARD,
                                  .packed = m->lm.forward};
    for (int s = 0; s < t->shards.count; s++) {
        args.rows = rlf_table_shard_tokens(t, s);
        RLF_TRY(m->kernels->product_pack(m->queue, &args, err));
        args.w += args.rows * d;
        args.packed =
            (char *)args.packed +
            m->kernels->product_packed_bytes(args.rows, d, RLF_PRODUCT_FORWARD);
    }
    if (!m->lm.backward)
        return RLF_OK;
    args = (rlf_product_pack_args){.rows = t->vocab,
                                   .cols = d,
                                   .w = w,
                                   .form = RLF_PRODUCT_BACKWARD,
                                   .packed = m->lm.backward};
    return m->kernels->product_pack(m->queue, &args, err);
}

/* The matrices of a layer, which lie together. */
static rlf_status
pack_layer(const rlf_model *m, int layer, const float *w, rlf_err *err)
{
    const rlf_table *t = m->table;
    const rlf_layer_slots *l = &t->layers[layer];
    const rlf_layer_packed *p = &m->packed[layer];
    int64_t d = t->config.hidden, f = t->ffn;
    RLF_TRY(pack(m, w, rlf_table_qkv(t), d, p->qkv, err));
    RLF_TRY(pack(m, w + (l->o - l->qkv), d, rlf_table_q(t), p->o, err));
    RLF_TRY(pack(m, w + (l->gate_up - l->qkv), 2 * f, d, p->gate_up, err));
    return pack(m, w + (l->down - l->qkv), d, f, p->down, err);
}

rlf_status
rlf_model_pack_layer(const rlf_model *m, int layer, rlf_err *err)
{
    return pack_layer(m, layer, rlf_model_place(m, m->table->layers[layer].qkv),
                      err);
}

rlf_status
rlf_model_pack_rows(const rlf_model *m, const float *w, rlf_err *err)
{
    const rlf_table *t = m->table;
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
    if (turn < layers)
        return t->layers[turn].place < 0 ? RLF_OK
                                         : rlf_model_pack_layer(m, turn, err);
    if (t->embed != RLF_NO_SLOT && turn == layers + !is_tied(t))
        RLF_TRY(rlf_model_pack_rows(m, rlf_model_place(m, t->embed), err));
    if (turn > layers)
        return RLF_OK;
    if (t->lm != RLF_NO_SLOT)
        RLF_TRY(pack_head(m, rlf_model_place(m, t->lm), err));
    if (t->score != RLF_NO_SLOT)
        RLF_TRY(pack(m, rlf_model_place(m, t->score), 1, t->config.hidden,
                     m->score, err));
    return RLF_OK;
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
    int layer = layer_of(t, slot->offset);
    int64_t n = layer_floats(t, layer), first = t->layers[layer].qkv;
    if (!m->filling)
        m->filling = rlf_malloc((size_t)n * sizeof *part);
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
        RLF_TRY(rlf_queue_copy(m->queue, rlf_model_place(m, offset), part,
                               (size_t)slot->count * sizeof *part,
                               RLF_COPY_TO_DEVICE, err));
    if (embeds)
        RLF_TRY(rlf_model_pack_rows(m, part, err));
    if (offset == t->lm)
        RLF_TRY(pack_head(m, part, err));
    if (offset == t->score)
        RLF_TRY(pack(m, part, 1, t->config.hidden, m->score, err));
    if (layer_of(t, offset) < t->config.layers)
        return fill_layer(m, slot, part, err);
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

/* The moments belong to weights that are gone. */
static rlf_status
forget_moments(rlf_model *m, rlf_err *err)
{
    if (!m->trained)
        return RLF_OK;
    size_t bytes = (size_t)(m->slices.last - m->slices.first) * sizeof(float);
    m->steps = 0;
    RLF_TRY(rlf_queue_set(m->queue, m->moment1, 0, bytes, err));
    return rlf_queue_set(m->queue, m->moment2, 0, bytes, err);
}

/* Shapes of the trunk agree. */
static bool
same_form(const rlf_table *a, const rlf_table *b)
{
    for (int i = 0; i < a->n_slots; i++) {
        const rlf_slot *x = &a->slots[i];
        const rlf_slot *y = rlf_table_find(b, x->name);
        if (y && (x->rows != y->rows || x->cols != y->cols))
            return false;
    }
    return true;
}

rlf_status
rlf_model_check_copy(const rlf_model *m, const rlf_model *from, rlf_err *err)
{
    const rlf_table *t = m->table;
    if (!same_form(t, from->table))
        return rlf_fail(err, RLF_USER, "the models have different shapes");
    for (int i = 0; i < t->n_slots; i++)
        if (!rlf_table_find(from->table, t->slots[i].name) &&
            t->slots[i].offset != t->score)
            return rlf_fail(err, RLF_USER, "the model that is copied has no %s",
                            t->slots[i].name);
    return RLF_OK;
}

static rlf_status
set_zero(rlf_model *m, const rlf_slot *slot, rlf_err *err)
{
    float *to = m->weights + slot->offset;
    size_t bytes = (size_t)slot->count * sizeof *to;
    if (!m->offload)
        return rlf_queue_set(m->queue, to, 0, bytes, err);
    RLF_TRY(rlf_queue_sync(m->queue, err));
    memset(to, 0, bytes);
    return RLF_OK;
}

rlf_status
rlf_model_copy(rlf_model *m, const rlf_model *from, rlf_err *err)
{
    const rlf_table *t = m->table;
    RLF_TRY(rlf_model_check_copy(m, from, err));
    const rlf_table *all = t->whole, *its = from->table->whole;
    for (int i = 0; i < all->n_slots; i++) {
        const rlf_slot *x = rlf_table_find(its, all->slots[i].name);
        if (x)
            m->saved[i] = from->saved[x->number];
    }
    for (int i = 0; i < t->n_slots; i++) {
        const rlf_slot *to = &t->slots[i];
        const rlf_slot *x = rlf_table_find(from->table, to->name);
        if (!x) {
            RLF_TRY(set_zero(m, to, err));
            continue;
        }
        RLF_TRY(rlf_queue_copy(m->queue, m->weights + to->offset,
                               from->weights + x->offset,
                               (size_t)to->count * sizeof(float),
                               rlf_model_copy_kind(m, from), err));
    }
    m->tokenizer_dir = from->tokenizer_dir
                           ? rlf_arena_strdup(m->arena, from->tokenizer_dir)
                           : NULL;
    RLF_TRY(forget_moments(m, err));
    return rlf_model_changed(m, err);
}

/* One tensor of the weighted sum: its own share first, then the others in
 * order. */
static rlf_status
assign_slot(rlf_model *m, const rlf_slot *slot, const float *factor,
            const rlf_model *const *from, int n, rlf_err *err)
{
    float *y = m->weights + slot->offset;
    rlf_axpby_args args = {.n = slot->count, .x = y, .y = y};
    float own = 0;
    for (int i = 0; i < n; i++)
        if (from[i] == m)
            own = factor[i];
    bool any = false;
    for (int i = 0; i < n; i++) {
        if (from[i] == m)
            continue;
        const rlf_slot *x = rlf_table_find(from[i]->table, slot->name);
        if (!x)
            return rlf_fail(err, RLF_USER,
                            "a model of the weighted sum has no %s",
                            slot->name);
        args.x = from[i]->weights + x->offset;
        args.a = factor[i];
        args.b = any ? 1 : own;
        RLF_TRY(m->kernels->axpby(m->queue, &args, err));
        any = true;
    }
    args.a = own;
    return any ? RLF_OK : m->kernels->axpby(m->queue, &args, err);
}

rlf_status
rlf_model_assign(rlf_model *m, const float *factor,
                 const rlf_model *const *from, int n, rlf_err *err)
{
    for (int i = 0; i < n; i++)
        if (!same_form(m->table, from[i]->table))
            return rlf_fail(err, RLF_USER,
                            "the models of a weighted sum have different "
                            "shapes");
    for (int i = 0; i < m->table->n_slots; i++)
        RLF_TRY(assign_slot(m, &m->table->slots[i], factor, from, n, err));
    RLF_TRY(forget_moments(m, err));
    return rlf_model_changed(m, err);
}
