/* Models: made, given memory, ended; copies and weighted sums of them. What
 * lies where in a model's block is in block.c, packing in pack.c. */
#include "nodes/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/fmath.h"
#include "engine/comm/comm.h"
#include "engine/io/safetensors.h"
#include "nodes/model/block.h"
#include "nodes/model/finite.h"
#include "nodes/model/gradient.h"
#include "nodes/model/offload.h"
#include "nodes/model/tables.h"
#include "nodes/model/buffers.h"

/* The factor of rotated queries of the positions from `first` on; *n of `left`
 * positions have it. */
static double
growth(const rlf_model_config *c, int first, int left, int *n)
{
    int step = first / c->query_reach,
        end = c->query_reach - first % c->query_reach;
    *n = end < left ? end : left;
    return 1 + c->query_growth * rlf_log1p(step);
}

/* One of the tables, piece by piece where queries grow. */
static rlf_status
make_rotations(rlf_model *m, rlf_rotation which, rlf_err *err)
{
    const rlf_model_config *c = &m->table->config;
    const rlf_rope *rope =
        which == RLF_ROTATION_LOCAL ? &c->local_rope : &c->rope;
    int dim = rlf_model_config_rotated(c), half = dim / 2, n = m->positions;
    double *exact = RLF_NEW_ARRAY(m->arena, double, half);
    float *frequency = RLF_NEW_ARRAY(m->arena, float, half);
    double scale = rlf_rope_frequencies(rope, dim, m->caps.reach, exact);
    for (int i = 0; i < half; i++)
        frequency[i] = (float)exact[i];
    RLF_TRY(rlf_queue_copy(m->queue, m->frequencies, frequency,
                           (size_t)half * sizeof(float), RLF_COPY_TO_DEVICE,
                           err));
    for (int first = 0; first < m->positions; first += n) {
        double grown = which == RLF_ROTATION_QUERIES
                           ? growth(c, first, m->positions - first, &n)
                           : 1;
        rlf_rope_table_args args = {
            .first = first,
            .n = n,
            .half = half,
            .inv_freq = m->frequencies,
            .scale = (float)(scale * grown),
            .cos = m->cosines[which] + (int64_t)first * half,
            .sin = m->sines[which] + (int64_t)first * half};
        RLF_TRY(m->kernels->rope_table(m->queue, &args, err));
    }
    return RLF_OK;
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
                                 : rlf_tables_get(options->tables,
                                                  &m->table->config,
                                                  options->head, &cut,
                                                  m->arena);
        list[i] = (rlf_stage){t, rlf_block_slices(t, options, m->arena)};
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

/* Lays out the parts of a model that has no memory yet: whether a part is
 * there is asked before it is. */
static void
lay(rlf_model *m, const rlf_model_options *options)
{
    rlf_suballocator c = {.base = (char *)(uintptr_t)64};
    m->bytes = rlf_block_suballocate(m, &c, options);
    m->block_bytes = c.used;
}

/* A block of its own, or a part of what is lent. */
static rlf_status
take_memory(rlf_model *m, rlf_err *err)
{
    rlf_loan *loan = m->lender ? &m->lender->loan : NULL;
    size_t bytes = m->block_bytes;
    rlf_suballocator c;
    if (loan) {
        RLF_ASSERT(loan->given + bytes <= loan->asked);
        c = (rlf_suballocator){.base = loan->base + loan->given};
        loan->given += bytes;
        loan->taken = true;
    } else {
        RLF_TRY(rlf_device_alloc(m->queue->device, bytes, &m->block, err));
        c = (rlf_suballocator){.base = m->block};
    }
    char *base = c.base;
    rlf_block_suballocate(m, &c, &m->options);
    return rlf_queue_set(m->queue, base, 0, bytes, err);
}

/* A model that is made: its tables, which are as long as it has layers. */
typedef struct making {
    rlf_model *model;
    const rlf_model_config *config;
    const rlf_model_options *options;
    rlf_cut cut;
} making;

static const char tables_words[] = "the tables of a model";

static void
make_tables(void *p)
{
    const making *k = p;
    const rlf_model_options *options = k->options;
    rlf_model *m = k->model;
    m->table = rlf_tables_get(options->tables, k->config, options->head,
                              &k->cut, m->arena);
    m->slices = rlf_block_slices(m->table, options, m->arena);
    m->stage = stages_of(m, options);
    m->flights = flights_of(m, options->flights);
    m->owed = options->owed ? flights_of(m, options->owed) : NULL;
    m->gradient.lane = RLF_NEW_ARRAY(m->arena, int, 2 * m->table->cut.chunks);
    m->packed = RLF_NEW_ARRAY(m->arena, rlf_packed, m->table->n_matrix);
    m->saved = RLF_NEW_ARRAY(m->arena, uint8_t, m->table->whole->n_slots);
    memset(m->saved, RLF_ELEMENT_F32, (size_t)m->table->whole->n_slots);
    if (options->offload)
        m->offload = RLF_NEW(m->arena, rlf_offload);
}

rlf_status
rlf_model_lay(rlf_queue *queue, const rlf_kernels *kernels,
              const rlf_model_config *config, const rlf_model_options *options,
              rlf_err *err, rlf_model **out)
{
    const rlf_cut cut = rlf_block_cut(options);
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
        .by_layer =
            options->by_layer || (config->lora.rank && !options->offload),
        .lender = options->lender,
        .caps = rlf_caps_resolve(options->caps, (uint32_t)config->context)};
    making made = {m, config, options, cut};
    status = rlf_memory_guard(make_tables, &made, tables_words, err);
    if (status < 0) {
        rlf_arena_free(arena);
        return status;
    }
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
    if (m->bare || m->lender)
        return RLF_OK;
    for (int i = 0; i < RLF_ROTATIONS; i++)
        if (m->cosines[i])
            RLF_TRY(make_rotations(m, (rlf_rotation)i, err));
    return RLF_OK;
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

static void
make_outline(void *p)
{
    const making *k = p;
    rlf_model *m = k->model;
    m->table = rlf_tables_get(k->options->tables, k->config, k->options->head,
                              &k->cut, m->arena);
    m->slices = rlf_slices_make(m->table, 1, 0, m->arena);
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
        .arena = arena,
        .kernels = kernels,
        .trained = options->trained,
        .caps = rlf_caps_resolve(options->caps, (uint32_t)config->context)};
    making made = {m, config, options, cut};
    RLF_TRY(rlf_memory_guard(make_outline, &made, tables_words, err));
    m->arena = NULL; /* it is the caller's */
    *out = m;
    return RLF_OK;
}

void
rlf_model_free(rlf_model *m)
{
    rlf_err ignored = RLF_ERR_NONE;
    if (!m)
        return;
    if (m->queue) { /* not only planned */
        (void)rlf_queue_sync(m->queue, &ignored);
        rlf_buffers_free(m);
        rlf_offload_close(m);
        free(m->filling);
        rlf_device_release(m->queue->device, m->block, m->block_bytes);
    }
    rlf_group_free(m->copies);
    rlf_arena_free(m->arena);
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

/* The slot of a table that is named as slot i of another one, or NULL. Tables
 * of one form have them in the same order, so it is mostly the i-th too. */
static const rlf_slot *
alike(const rlf_table *t, const rlf_table *other, int i)
{
    const char *name = other->slots[i].name;
    if (i < t->n_slots && strcmp(t->slots[i].name, name) == 0)
        return &t->slots[i];
    return rlf_table_find(t, name);
}

/* Shapes of the trunk agree. */
static bool
same_form(const rlf_table *a, const rlf_table *b)
{
    for (int i = 0; i < a->n_slots; i++) {
        const rlf_slot *x = &a->slots[i];
        const rlf_slot *y = alike(b, a, i);
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
        if (!alike(from->table, t, i) && t->slots[i].offset != t->score)
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
    m->begun++;
    for (int i = 0; i < m->table->n_slots; i++)
        RLF_TRY(assign_slot(m, &m->table->slots[i], factor, from, n, err));
    RLF_TRY(rlf_model_check_finite(m, err));
    RLF_TRY(forget_moments(m, err));
    return rlf_model_changed(m, err);
}
