/* The norm first: nothing is changed before it is known to be finite. */
#include "nodes/model/optimizer.h"

#include <math.h>

#include "engine/base/fmath.h"

static rlf_status
add_tied(rlf_model *m, rlf_err *err)
{
    const rlf_model_config *c = &m->table->config;
    if (!m->tied_grads)
        return RLF_OK;
    rlf_axpby_args args = {.n = (int64_t)c->vocab * c->hidden,
                           .a = 1,
                           .b = 1,
                           .x = m->tied_grads,
                           .y = m->grads + m->table->embed};
    RLF_TRY(m->kernels->axpby(m->queue, &args, err));
    return rlf_queue_set(m->queue, m->tied_grads, 0,
                         (size_t)args.n * sizeof(float), err);
}

/* Sum of squares of the gradients of slots first..last-1. */
static rlf_status
sum_squares(rlf_model *m, int first, int last, rlf_err *err, double *sum)
{
    double *total = m->norm_sums;
    RLF_TRY(rlf_queue_set(m->queue, total, 0, sizeof *total, err));
    for (int i = first; i < last; i++) {
        const rlf_slot *slot = &m->table->slots[i];
        rlf_sumsq_args args = {.n = slot->count,
                               .x = m->grads + slot->offset,
                               .blocks = m->norm_sums + 1,
                               .total = total};
        RLF_TRY(m->kernels->sumsq(m->queue, &args, err));
    }
    RLF_TRY(rlf_queue_copy(m->queue, sum, total, sizeof *sum, RLF_COPY_TO_HOST,
                           err));
    return rlf_queue_sync(m->queue, err);
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
                           .g = m->grads + first,
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
    RLF_TRY(add_tied(m, err));
    RLF_TRY(sum_squares(m, 0, t->n_slots, err, &sum));
    if (!isfinite(sum))
        return fail_not_finite(m, err);
    *norm = sqrt(sum);
    double scale = s->clip > 0 && *norm > s->clip ? s->clip / *norm : 1;
    m->steps++;
    RLF_TRY(step_range(m, s, scale, 0, t->matrices, s->decay, err));
    RLF_TRY(step_range(m, s, scale, t->matrices, t->count, 0, err));
    RLF_TRY(rlf_queue_set(m->queue, m->grads, 0,
                          (size_t)t->count * sizeof(float), err));
    return rlf_model_changed(m, err);
}
