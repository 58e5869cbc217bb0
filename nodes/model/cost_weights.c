/* Counts of work on weights: packing, gradients of lanes and replicas, the
 * optimizer's step, weighted sums. Read it beside pack.c, gradient.c,
 * optimizer.c and model.c. */
#include "nodes/model/cost.h"

#include "engine/comm/comm.h"
#include "nodes/model/counter.h"
#include "nodes/model/finite.h"
#include "nodes/model/gradient.h"
#include "nodes/model/optimizer.h"

typedef rlf_counter counter;

/* The first matrix that is trained, and whether a language head is. */
static int
first_matrix(const rlf_table *t)
{
    return rlf_table_adapted(t) ? t->base_matrices : 0;
}

static bool
trains_words(const rlf_table *t)
{
    return t->lm != RLF_NO_SLOT && !rlf_table_adapted(t);
}

/* Elements of all matrices that are packed. */
static double
matrices(const counter *c)
{
    const rlf_table *t = c->table;
    double n = 0;
    for (int i = first_matrix(t); i < t->n_matrix; i++)
        n += (double)(t->matrix[i].rows * t->matrix[i].cols);
    if (trains_words(t))
        n += c->vocab * c->d;
    if (t->score != RLF_NO_SLOT)
        n += c->d;
    return n;
}

/* Packing each matrix, for one or both forms; the language head's forward one
 * shard by shard. */
static void
pack(const counter *c, bool trained)
{
    const rlf_table *t = c->table;
    bool heads = trains_words(t);
    int own = t->n_matrix - first_matrix(t);
    int forms = trained && !c->out->kernels->one_pack ? 2 : 1;
    double n = forms * matrices(c);
    rlf_counter_add_f32(c, 0, n, 0);
    rlf_counter_add(c, 0, 0, n);
    rlf_counter_start(c, forms * (own + (t->score != RLF_NO_SLOT)));
    rlf_counter_start(c, heads ? t->shards.count + forms - 1 : 0);
}

/* 1 + w of vectors, where norms multiply by that. */
static void
add_ones(const counter *c)
{
    const rlf_table *t = c->table;
    double n = (double)(t->vectors - t->matrices);
    if (!t->program->one_plus)
        return;
    rlf_counter_start(c, 2);
    rlf_counter_add_f32(c, 2 * n, 2 * n, 2 * n);
}

/* The first tensor that is trained. */
static int
first_slot(const rlf_table *t)
{
    return rlf_table_adapted(t) ? t->n_base : 0;
}

/* Weights that are trained, without the gaps between tensors. */
static double
weights(const rlf_table *t)
{
    int64_t n = 0;
    for (int i = first_slot(t); i < t->n_slots; i++)
        n += t->slots[i].count;
    return (double)n;
}

/* Additions of n floats onto others, in `calls` pieces. */
static void
add_floats(const counter *c, double calls, double n)
{
    rlf_counter_start(c, n > 0 ? calls : 0);
    rlf_counter_add_f32(c, 2 * n, 2 * n, n);
}

/* Looks at all of these, a tensor at a time (finite.c). */
static void
look_at_weights(const counter *c)
{
    const rlf_table *t = c->table;
    for (int i = first_slot(t); i < t->n_slots; i++)
        rlf_counter_start(c, (double)rlf_finite_pieces(t->slots[i].count));
    rlf_counter_add_f32(c, 2 * weights(t), weights(t), 0);
}

/* A block of gradients over the replicas; where they have slices each gets its
 * own, and hands round the new weights. */
static void
cost_replicas(const counter *c, const rlf_model *m)
{
    const rlf_slices *s = &m->slices;
    const rlf_gradient *g = &m->gradient;
    const rlf_table *t = c->table;
    int n = m->replicas ? rlf_group_size(m->replicas) : 1;
    bool tied = g->tied, norms = g->head_norms;
    if (s->n == 1) {
        rlf_counter_sum(c, RLF_AXIS_DP, n, 1 + tied + norms,
                        4 * (double)g->floats);
        return;
    }
    double all = (double)rlf_table_trained(t),
           own = (double)(s->last - s->first);
    double shared = 0, mine = 0;
    if (tied) {
        int64_t at, held = t->vocab * t->config.hidden;
        shared = (double)held;
        mine = (double)rlf_slices_overlap(s, s->own, t->embed, held, &at);
    }
    rlf_counter_meet(c, RLF_AXIS_DP, 2 + tied,
                     4 * (all - own + shared - mine) + (n - 1) * 4 * own);
    rlf_counter_sum(c, RLF_AXIS_DP, n, norms,
                    4 * ((double)g->floats - all - shared));
}

/* The replicas at the other end of the pipeline that have a part of this rank's
 * slice of the embedding, as it is cut there. */
static int
count_ends(const rlf_model *m, int64_t first, int64_t n)
{
    const rlf_table *t = m->table;
    int64_t floats = t->vocab * t->config.hidden;
    const rlf_stage *other = &m->stage[t->cut.stage ? 0 : t->cut.stages - 1];
    int count = 0;
    for (int i = 0; i < m->slices.n; i++) {
        int64_t its, width = rlf_slices_overlap(
                         &other->slices, i, other->table->ends, floats, &its);
        count += its < first + n && its + width > first;
    }
    return count;
}

/* The blocks of the norm to slices and stages, and the gradient of an embedding
 * on both ends of the pipeline to the other end. */
static void
cost_stages(const counter *c, const rlf_model *m)
{
    const rlf_slices *s = &m->slices;
    const rlf_table *t = c->table;
    int axes =
        (t->cut.stages > 1 ? RLF_AXIS_PP : 0) | (s->n > 1 ? RLF_AXIS_DP : 0);
    int others = s->n * t->cut.stages - 1;
    double blocks = (double)rlf_slices_blocks(s, t, s->own);
    rlf_counter_meet(c, axes, others > 0, 8 * blocks * others);
    if (!rlf_gradient_has_ends(t))
        return;
    int64_t at, n = rlf_slices_overlap(s, s->own, t->ends,
                                       t->vocab * t->config.hidden, &at);
    rlf_counter_meet(c, axes, count_ends(m, at, n), 4 * (double)n);
    add_floats(c, 1, (double)n);
}

/* Counts the sums over ranks that hold parts of one tensor, and of the norm. */
static void
cost_joins(const counter *c)
{
    const rlf_table *t = c->table;
    int ranks = t->cut.ranks, norms = 2 * t->n_layers;
    if (ranks == 1)
        return;
    if (t->head_norms && !rlf_table_adapted(t))
        rlf_counter_sum(c, RLF_AXIS_TP, ranks, norms,
                        4.0 * norms * c->config->head_dim);
    rlf_counter_sum(c, RLF_AXIS_TP, ranks, 1, 8); /* an f64 */
}

/* The squares that this rank adds, of each shard of a tensor what is in its
 * slice. */
static void
cost_squares(const counter *c, const rlf_model *m)
{
    const rlf_table *t = m->table;
    for (int i = 0; i < t->n_slots; i++)
        for (int s = 0; s < t->shards.count; s++) {
            double n = (double)rlf_slices_part(&m->slices, t, &t->slots[i], s,
                                               m->slices.own)
                           .count;
            rlf_counter_start(c, n > 0);
            rlf_counter_add_f32(c, 2 * n, n, 0);
        }
}

/* Lanes one onto the other, and shares of an embedding and of head norms. */
static void
cost_lanes(const counter *c, const rlf_model *m)
{
    const rlf_table *t = c->table;
    const rlf_gradient *g = &m->gradient;
    const rlf_slices *s = &m->slices;
    double floats = (double)g->floats, waiting = g->held - 1;
    add_floats(c, waiting * rlf_gradient_ranges(t), waiting * floats);
    if (g->tied) {
        int64_t at, held = t->vocab * t->config.hidden;
        add_floats(c, 1,
                   (double)rlf_slices_overlap(s, s->own, t->embed, held, &at));
    }
    double sums = (double)(t->norm_sums[0] + t->norm_sums[1]) * t->n_layers;
    if (g->head_norms)
        add_floats(c, sums, sums * t->config.head_dim);
}

void
rlf_cost_optimizer(const rlf_model *m, rlf_counts *out)
{
    const rlf_slices *s = &m->slices;
    counter c = rlf_counter_of(m->table, out);
    double n = (double)(s->last - s->first);
    cost_lanes(&c, m);
    cost_replicas(&c, m);
    cost_stages(&c, m);
    cost_joins(&c);
    cost_squares(&c, m);
    rlf_counter_start(&c, rlf_optimizer_ranges(m));
    rlf_counter_add_f32(&c, 16 * n, 4 * n, 3 * n); /* adamw */
    look_at_weights(&c);
    if (rlf_optimizer_packs(m))
        rlf_counter_add(&c, 0, 0, matrices(&c));
    else
        pack(&c, true);
    add_ones(&c);
}

void
rlf_cost_assign(const rlf_table *table, bool trained, int terms,
                rlf_counts *out)
{
    counter c = rlf_counter_of(table, out);
    add_floats(&c, (double)table->n_slots * terms, weights(table) * terms);
    look_at_weights(&c);
    pack(&c, trained);
    add_ones(&c);
}
