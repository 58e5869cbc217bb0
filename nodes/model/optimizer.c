/* The norm first: nothing is changed before it is known to be finite. */
#include "nodes/model/optimizer.h"

#include <math.h>

#include "engine/base/fmath.h"
#include "nodes/model/gradient.h"
#include "nodes/model/parallel.h"

/* Sum of squares of the gradients of slots first..last-1: for each shard over
 * the blocks of its part of each tensor in order, then in a tree. */
static rlf_status
sum_squares(rlf_model *m, int first, int last, rlf_err *err, double *sum)
{
    const rlf_table *t = m->table;
    int n = t->shards.count;
    double sums[RLF_MOST_SHARDS];
    RLF_TRY(rlf_queue_set(m->queue, m->norm_sums, 0, (size_t)n * sizeof *sums,
                          err));
    for (int i = first; i < last; i++)
        for (int s = 0; s < n; s++) {
            const rlf_slot *slot = &t->slots[i];
            rlf_slot_part part = rlf_slot_shard(t, slot, s);
            rlf_sumsq_args args = {.n = part.count,
                                   .x = m->gradient.weights + slot->offset +
                                        part.at,
                                   .width = part.width,
                                   .ld = part.ld,
                                   .blocks = m->norm_sums + n,
                                   .total = m->norm_sums + s};
            RLF_TRY(m->kernels->sumsq(m->queue, &args, err));
        }
    RLF_TRY(rlf_queue_copy(m->queue, sums, m->norm_sums,
                           (size_t)n * sizeof *sums, RLF_COPY_TO_HOST, err));
    RLF_TRY(rlf_queue_sync(m->queue, err));
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

/* Floats first..last-1 of the block. */
static rlf_status
step_range(rlf_model *m, const rlf_adamw *s, double scale, int64_t first,
           int64_t last, double decay, rlf_err *err)
{
    double t = (double)m->steps;
    rlf_adamw_args args = {.n = last - first,
                           .w = m->weights + first,
                           .m = m->moment1 + first,
                           .v = m->moment2 + first,
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
    RLF_TRY(rlf_gradient_clear(m, err));
    return rlf_model_changed(m, err);
}
