/* The norm first: nothing is changed before it is known to be finite. */
#include "nodes/model/optimizer.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/fmath.h"
#include "nodes/model/gradient.h"
#include "nodes/model/parallel.h"

static int64_t
blocks_of(int64_t n)
{
    return (n + RLF_SUMSQ_BLOCK - 1) / RLF_SUMSQ_BLOCK;
}

/* The sum over each block of the gradients of slots first..last-1 in the own
 * slice, one after the other. */
static rlf_status
square_blocks(rlf_model *m, int first, int last, rlf_err *err)
{
    const rlf_table *t = m->table;
    double *blocks = m->norm_sums;
    for (int i = first; i < last; i++)
        for (int s = 0; s < t->shards.count; s++) {
            const rlf_slot *slot = &t->slots[i];
            rlf_slot_part part =
                rlf_slices_part(&m->slices, t, slot, s, m->slices.own);
            if (!part.count)
                continue;
            rlf_sumsq_args args = {.n = part.count,
                                   .x = m->gradient.weights + slot->offset +
                                        part.at,
                                   .width = part.width,
                                   .ld = part.ld,
                                   .blocks = blocks};
            RLF_TRY(m->kernels->sumsq(m->queue, &args, err));
            blocks += blocks_of(part.count);
        }
    return RLF_OK;
}

/* For each shard the blocks of its part of each tensor in order. `blocks` has
 * slice after slice; *sums are zero. */
static void
add_blocks(const rlf_model *m, int first, int last, const double *blocks,
           double *sums)
{
    const rlf_table *t = m->table;
    const rlf_slices *slices = &m->slices;
    const double **at = rlf_calloc((size_t)slices->n, sizeof *at);
    for (int k = 0; k < slices->n; k++) {
        at[k] = blocks;
        blocks += rlf_slices_blocks(slices, t, k, first, last);
    }
    for (int i = first; i < last; i++)
        for (int s = 0; s < t->shards.count; s++)
            for (int k = 0; k < slices->n; k++) {
                rlf_slot_part part =
                    rlf_slices_part(slices, t, &t->slots[i], s, k);
                for (int64_t b = blocks_of(part.count); b > 0; b--)
                    sums[s] += *at[k]++;
            }
    free(at);
}

/* Sum of squares of the gradients of slots first..last-1: for each shard over
 * the blocks of its part of each tensor in order, then in a tree. */
static rlf_status
sum_squares(rlf_model *m, int first, int last, rlf_err *err, double *sum)
{
    const rlf_slices *slices = &m->slices;
    int n = m->table->shards.count;
    double sums[RLF_MOST_SHARDS] = {0};
    size_t count = 1;
    for (int k = 0; k < slices->n; k++)
        count += (size_t)rlf_slices_blocks(slices, m->table, k, first, last);
    RLF_TRY(square_blocks(m, first, last, err));
    double *blocks = rlf_malloc(count * sizeof *blocks);
    rlf_status status =
        rlf_parallel_gather_blocks(m, first, last, m->norm_sums, err, blocks);
    if (status >= 0)
        add_blocks(m, first, last, blocks, sums);
    free(blocks);
    RLF_TRY(status);
    for (int step = 1; step < n; step *= 2)
        for (int s = 0; s + step < n; s += 2 * step)
            sums[s] += sums[s + step];
    *sum = sums[0];
    return rlf_parallel_sum_f64(m, sum, 1, err);
}

/* The first tensor whose gradient is not finite, for the message. */
static rlf_status
fail_not_finite(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    const char *name = "all tensors together";
    for (int i = 0; i < t->n_slots; i++) {
        double sum;
        RLF_TRY(sum_squares(m, i, i + 1, err, &sum));
        if (isfinite(sum))
            continue;
        name = t->slots[i].name;
        break;
    }
    rlf_fail(err, RLF_USER, "the gradient of %s is not finite", name);
    rlf_err_hint(err, "lower the learning rate, or clip the gradient "
                      "(optimizer: adamw(clip: 1.0))");
    return RLF_USER;
}

/* Of floats first..last-1 of the block those in the own slice. */
static rlf_status
step_range(rlf_model *m, const rlf_adamw *s, double scale, int64_t first,
           int64_t last, double decay, rlf_err *err)
{
    double t = (double)m->steps;
    const rlf_slices *own = &m->slices;
    int64_t at, n = rlf_slices_overlap(own, own->own, first, last - first, &at);
    if (!n)
        return RLF_OK;
    first += at;
    rlf_adamw_args args = {.n = n,
                           .w = m->weights + first,
                           .m = m->moment1 + first - own->first,
                           .v = m->moment2 + first - own->first,
                           .g = m->gradient.weights + first,
                           .grad_scale = (float)scale,
                           .lr = (float)s->lr,
                           .beta1 = (float)s->beta1,
                           .beta2 = (float)s->beta2,
                           .eps = (float)s->eps,
                           .decay = (float)decay,
                           .bias1 = 1 - rlf_pow(s->beta1, t),
                           .bias2 = 1 - rlf_pow(s->beta2, t)};
    return m->kernels->adamw(m->queue, &args, err);
}

rlf_status
rlf_optimizer_step(rlf_model *m, const rlf_adamw *s, rlf_err *err, double *norm)
{
    const rlf_table *t = m->table;
    double sum = 0;
    RLF_ASSERT(m->trained);
    RLF_TRY(rlf_gradient_finish(m, err));
    RLF_TRY(sum_squares(m, 0, t->n_slots, err, &sum));
    if (!isfinite(sum))
        return fail_not_finite(m, err);
    *norm = sqrt(sum);
    double scale = s->clip > 0 && *norm > s->clip ? s->clip / *norm : 1;
    m->steps++;
    RLF_TRY(step_range(m, s, scale, 0, t->matrices, s->decay, err));
    RLF_TRY(step_range(m, s, scale, t->matrices, t->count, 0, err));
    RLF_TRY(rlf_parallel_gather_slices(m, err));
    RLF_TRY(rlf_gradient_clear(m, err));
    return rlf_model_changed(m, err);
}
