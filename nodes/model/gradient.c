/* A block is the gradients of all weights, then the head's share of a tied
 * embedding, then the sums of head norms. Lane l adds into block popcount(l):
 * as many trees wait to be joined as l has bits. */
#include "nodes/model/gradient.h"

#include <string.h>

#include "engine/comm/comm.h"
#include "engine/layout/lanes.h"
#include "nodes/model/parallel.h"

_Static_assert(1 << (RLF_MOST_LEVELS - 1) == RLF_MOST_LANES, "a level a bit");

rlf_status
rlf_gradient_check(const rlf_model_options *o, rlf_err *err)
{
    return rlf_lanes_check(o->lanes ? o->lanes : 1,
                           o->replicas ? rlf_group_size(o->replicas) : 1, err);
}

static bool
is_tied(const rlf_table *t)
{
    return t->lm != RLF_NO_SLOT && t->lm == t->embed && !rlf_table_adapted(t);
}

/* Floats of a layer's sums of head norms. */
static int64_t
norm_floats(const rlf_table *t)
{
    if (!t->head_norms || t->shards.count == 1 || rlf_table_adapted(t))
        return 0;
    return (int64_t)(t->norm_sums[0] + t->norm_sums[1]) * t->config.head_dim;
}

bool
rlf_gradient_has_ends(const rlf_table *t)
{
    return t->ends != RLF_NO_SLOT && !rlf_table_adapted(t);
}

/* The floats of the own slice of an embedding that the other end has too. */
static int64_t
other_floats(const rlf_model *m, int64_t *at)
{
    const rlf_table *t = m->table;
    return !rlf_gradient_has_ends(t)
               ? 0
               : rlf_slices_overlap(&m->slices, m->slices.own, t->ends,
                                    t->vocab * t->config.hidden, at);
}

static int64_t
tied_floats(const rlf_table *t)
{
    return is_tied(t) ? t->vocab * t->config.hidden : 0;
}

/* Returns the block that takes a lane. */
static int
block_of(int lane)
{
    return __builtin_popcount((unsigned)lane);
}

/* Gradients are added to this block from now on. */
static void
use_block(rlf_model *m, int block)
{
    rlf_gradient *g = &m->gradient;
    const rlf_table *t = m->table;
    float *at = g->blocks[block];
    g->weights = at;
    at = at ? at + rlf_table_trained(t) : NULL;
    g->tied = is_tied(t) ? at : NULL;
    at = at ? at + tied_floats(t) : NULL;
    g->head_norms = norm_floats(t) ? at : NULL;
}

/* The lane at hand of one part. */
static int *
lane_at(const rlf_gradient *g, int chunk, int part)
{
    return &g->lane[2 * chunk + (part == RLF_GRADIENT_MATRICES)];
}

void
rlf_gradient_select(rlf_model *m, int chunk, int part)
{
    use_block(m, block_of(*lane_at(&m->gradient, chunk, part)));
}

size_t
rlf_gradient_suballocate(rlf_model *m, const rlf_model_options *o,
                         rlf_suballocator *c)
{
    const rlf_table *t = m->table;
    rlf_gradient *g = &m->gradient;
    int lanes = o->lanes ? o->lanes : 1;
    rlf_range held = {0, lanes};
    if (o->replicas)
        held = rlf_lanes_part(lanes, rlf_group_size(o->replicas),
                              rlf_group_index(o->replicas));
    *g = (rlf_gradient){.lane = g->lane,
                        .lanes = lanes,
                        .first = (int)held.first,
                        .held = (int)(held.last - held.first),
                        .floats = rlf_table_trained(t) + tied_floats(t) +
                                  t->n_layers * norm_floats(t)};
    g->blocks[0] = rlf_suballocate_floats(c, g->floats);
    size_t before = c->used;
    for (int i = 1; i <= rlf_lanes_waiting(g->held); i++)
        g->blocks[i] = rlf_suballocate_floats(c, g->floats);
    size_t partial = c->used - before;
    int64_t at;
    if (rlf_gradient_has_ends(t))
        g->other = rlf_suballocate_floats(c, other_floats(m, &at));
    use_block(m, 0);
    return partial;
}

int64_t
rlf_gradient_head_norm(const rlf_table *t, int layer, int which)
{
    const rlf_layer *l = &t->layers[layer];
    if (!norm_floats(t))
        return l->head_norms->vector[which];
    return t->count + tied_floats(t) + l->place * norm_floats(t) +
           which * t->norm_sums[0] * t->config.head_dim;
}

/* to += from, which becomes 0. */
static rlf_status
move(rlf_model *m, float *to, float *from, int64_t n, rlf_err *err)
{
    rlf_axpby_args args = {.n = n, .a = 1, .b = 1, .x = from, .y = to};
    RLF_TRY(m->kernels->axpby(m->queue, &args, err));
    return rlf_queue_set(m->queue, from, 0, (size_t)n * sizeof(float), err);
}

/* The floats of a block that belong to a part of a chunk, in RANGES: matrices
 * of its layers, with the embedding before them on the first stage; or what
 * stands behind them on the last stage, vectors, the head that lies where the
 * first stage has the embedding, a tied head's share, sums of head norms. */
enum { RANGES = 5 };

static void
find_ranges(const rlf_table *t, int chunk, int part, rlf_range out[RANGES])
{
    const rlf_chunk span = t->chunk[chunk];
    bool first = chunk == 0, last = chunk == t->cut.chunks - 1;
    memset(out, 0, RANGES * sizeof *out);
    if (rlf_table_adapted(t)) {
        int64_t begin = t->layers[span.first].adapters,
                behind = t->layers[span.last - 1].adapters_end;
        if (part == RLF_GRADIENT_MATRICES)
            out[0] = (rlf_range){begin - t->trained, behind - t->trained};
        else if (last)
            out[0] = (rlf_range){behind - t->trained, t->count - t->trained};
        return;
    }
    const rlf_layer *l = &t->layers[span.first];
    const rlf_layer *next = last ? NULL : &t->layers[t->chunk[chunk + 1].first];
    int64_t front = t->layers[t->chunk[0].first].matrices;
    int64_t end = t->layers[span.last - 1].matrices_end;
    bool head = last && t->embed == RLF_NO_SLOT;
    int64_t tied = last ? tied_floats(t) : 0, each = norm_floats(t);
    int64_t norms = t->count + tied_floats(t);
    bool embeds = first && t->embed != RLF_NO_SLOT;
    if (part == RLF_GRADIENT_MATRICES) {
        out[0] = (rlf_range){embeds ? 0 : l->matrices, end};
        return;
    }
    out[0] = (rlf_range){end, last ? t->matrices : end};
    out[1] = (rlf_range){first ? t->matrices : l->vectors,
                         last ? t->count : next->vectors};
    out[2] = (rlf_range){0, head ? front : 0};
    out[3] = (rlf_range){t->count, t->count + tied};
    out[4] = (rlf_range){norms + l->place * each,
                         norms + (last ? t->n_layers : next->place) * each};
}

int
rlf_gradient_ranges(const rlf_table *t)
{
    static const int parts[] = {RLF_GRADIENT_REST, RLF_GRADIENT_MATRICES};
    rlf_range ranges[RANGES];
    int count = 0;
    for (int k = 0; k < 2 * t->cut.chunks; k++) {
        find_ranges(t, k / 2, parts[k % 2], ranges);
        for (int i = 0; i < RANGES; i++)
            count += rlf_range_size(ranges[i]) > 0;
    }
    return count;
}

/* Adds what block `from` has of a part of a chunk onto the block before. */
static rlf_status
move_down(rlf_model *m, int chunk, int part, int from, rlf_err *err)
{
    rlf_range ranges[RANGES];
    float *const *blocks = m->gradient.blocks;
    find_ranges(m->table, chunk, part, ranges);
    for (int i = 0; i < RANGES; i++) {
        int64_t at = ranges[i].first, n = rlf_range_size(ranges[i]);
        if (n)
            RLF_TRY(move(m, blocks[from - 1] + at, blocks[from] + at, n, err));
    }
    return RLF_OK;
}

static rlf_status
next_lane(rlf_model *m, int chunk, int part, rlf_err *err)
{
    rlf_gradient *g = &m->gradient;
    int *at = lane_at(g, chunk, part), block = block_of(*at);
    for (int lane = *at; lane & 1; lane >>= 1, block--)
        RLF_TRY(move_down(m, chunk, part, block, err));
    if (++*at == g->held) {
        /* trees that still wait, where lanes are no power of two */
        for (block = block_of(g->held) - 1; block > 0; block--)
            RLF_TRY(move_down(m, chunk, part, block, err));
        *at = 0;
    }
    return RLF_OK;
}

rlf_status
rlf_gradient_next(rlf_model *m, int chunk, int parts, rlf_err *err)
{
    if (parts & RLF_GRADIENT_REST)
        RLF_TRY(next_lane(m, chunk, RLF_GRADIENT_REST, err));
    return parts & RLF_GRADIENT_MATRICES
               ? next_lane(m, chunk, RLF_GRADIENT_MATRICES, err)
               : RLF_OK;
}

/* The sums of a norm in a binary tree, onto its gradient. */
static rlf_status
fold_norm(rlf_model *m, int layer, int which, rlf_err *err)
{
    const rlf_row_slots *norms = m->table->layers[layer].head_norms;
    int64_t d = m->table->config.head_dim;
    int n = m->table->norm_sums[which];
    float *sums =
        m->gradient.weights + rlf_gradient_head_norm(m->table, layer, which);
    for (int step = 1; step < n; step *= 2)
        for (int s = 0; s + step < n; s += 2 * step)
            RLF_TRY(move(m, sums + s * d, sums + (s + step) * d, d, err));
    return move(m, m->gradient.weights + norms->vector[which], sums, d, err);
}

/* Joins what several ranks have parts of: norms of q and k. Of ranks that hold
 * the same key/value heads, and so the same gradient, the first's counts. */
static rlf_status
join_ranks(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    float *grads = m->gradient.weights;
    for (int i = 0; i < t->config.layers; i++) {
        const rlf_row_slots *norms = t->layers[i].head_norms;
        int64_t d = t->config.head_dim;
        if (!norms || rlf_table_adapted(t))
            continue;
        float *q = grads + norms->vector[0], *k = grads + norms->vector[1];
        RLF_TRY(rlf_parallel_sum_f32(m, q, d, err));
        if (t->cut.rank % t->copies)
            RLF_TRY(rlf_queue_set(m->queue, k, 0, (size_t)d * sizeof *k, err));
        RLF_TRY(rlf_parallel_sum_f32(m, k, d, err));
    }
    return RLF_OK;
}

/* The head's share of a tied embedding onto the embedding's own, in this
 * replica's slice. */
static rlf_status
finish_tied(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    rlf_gradient *g = &m->gradient;
    int64_t at, n = rlf_slices_overlap(&m->slices, m->slices.own, t->embed,
                                       tied_floats(t), &at);
    RLF_TRY(rlf_parallel_sum_slices(m, g->tied, t->embed, tied_floats(t), err));
    return n ? move(m, g->weights + t->embed + at, g->tied + at, n, err)
             : RLF_OK;
}

/* The same on the ends of a pipeline, one of which has the embedding's share
 * and the other the head's. */
static rlf_status
finish_ends(rlf_model *m, rlf_err *err)
{
    int64_t at = 0, n = other_floats(m, &at);
    RLF_TRY(rlf_parallel_swap_ends(m, err));
    rlf_axpby_args args = {.n = n,
                           .a = 1,
                           .b = 1,
                           .x = m->gradient.other,
                           .y = m->gradient.weights + m->table->ends + at};
    return n ? m->kernels->axpby(m->queue, &args, err) : RLF_OK;
}

rlf_status
rlf_gradient_finish(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    rlf_gradient *g = &m->gradient;
    for (int i = 0; i < 2 * t->cut.chunks; i++)
        RLF_ASSERT(g->lane[i] == 0);
    use_block(m, 0);
    int64_t norms = t->n_layers * norm_floats(t);
    RLF_TRY(rlf_parallel_sum_slices(m, g->weights, t->trained,
                                    rlf_table_trained(t), err));
    if (g->tied)
        RLF_TRY(finish_tied(m, err));
    if (rlf_gradient_has_ends(t))
        RLF_TRY(finish_ends(m, err));
    if (g->head_norms)
        RLF_TRY(rlf_parallel_sum_replicas(m, g->head_norms, norms, err));
    for (int i = 0; g->head_norms && i < t->config.layers; i++)
        for (int which = 0; which < 2 && t->layers[i].head_norms; which++)
            RLF_TRY(fold_norm(m, i, which, err));
    return join_ranks(m, err);
}

rlf_status
rlf_gradient_clear(rlf_model *m, rlf_err *err)
{
    return rlf_queue_set(m->queue, m->gradient.blocks[0], 0,
                         (size_t)m->gradient.floats * sizeof(float), err);
}
