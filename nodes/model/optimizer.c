/* The norm first: nothing is changed before it is known to be finite. */
#include "nodes/model/optimizer.h"

#include <math.h>
#include <stdlib.h>

#include "engine/base/fmath.h"
#include "nodes/model/block.h"
#include "nodes/model/finite.h"
#include "nodes/model/gradient.h"
#include "nodes/model/parallel.h"

static int64_t
blocks_of(int64_t n)
{
    return (n + RLF_SUMSQ_BLOCK - 1) / RLF_SUMSQ_BLOCK;
}

/* The sum over each block of the gradients in the own slice, slot by slot. */
static rlf_status
square_blocks(rlf_model *m, rlf_err *err)
{
    const rlf_table *t = m->table;
    double *blocks = m->norm_sums;
    for (int i = 0; i < t->n_slots; i++)
        for (int s = 0; s < t->shards.count; s++) {
            const rlf_slot *slot = &t->slots[i];
            rlf_slot_part part =
                rlf_slices_part(&m->slices, t, slot, s, m->slices.own);
            if (!part.count)
                continue;
            rlf_sumsq_args args = {.n = part.count,
                                   .x = rlf_gradient_of(m, slot->offset) +
                                        part.at,
                                   .width = part.width,
                                   .ld = part.ld,
                                   .blocks = blocks};
            RLF_TRY(m->kernels->sumsq(m->queue, &args, err));
            blocks += blocks_of(part.count);
        }
    return RLF_OK;
}

/* The blocks of one tensor at a stage, shard by shard and slice by slice, onto
 * `sums` if they count; at[slice] goes on behind them. */
static void
add_slot(const rlf_stage *stage, int slot, bool counts, const double **at,
         double *sums)
{
    const rlf_table *t = stage->table;
    for (int s = 0; s < t->shards.count; s++)
        for (int k = 0; k < stage->slices.n; k++) {
            rlf_slot_part part =
                rlf_slices_part(&stage->slices, t, &t->slots[slot], s, k);
            for (int64_t b = blocks_of(part.count); b > 0; b--, at[k]++)
                sums[s] += counts ? *at[k] : 0;
        }
}

/* Sum of squares of the gradients of tensors first..last-1 of all stages: for
 * each shard over the blocks of its part of each in order, then in a tree.
 * `blocks` are those of rlf_parallel_gather_blocks. A tensor that both ends of
 * the pipeline have counts once. */
static rlf_status
sum_blocks(rlf_model *m, const double *blocks, int first, int last,
           rlf_err *err, double *sum)
{
    const rlf_table *t = m->table;
    int n = t->shards.count, stages = t->cut.stages, slices = m->slices.n;
    double sums[RLF_MOST_SHARDS] = {0};
    const double **at;
    RLF_TRY(rlf_try_array((size_t)(stages * slices), sizeof *at,
                          "the blocks of a gradient", err, &at));
    for (int k = 0; k < slices; k++)
        for (int p = 0; p < stages; p++) {
            const rlf_stage *stage = &m->stage[p];
            at[p * slices + k] = blocks;
            blocks += rlf_slices_blocks(&stage->slices, stage->table, k);
        }
    for (int i = 0; i < last; i++) {
        bool counts = i >= first;
        for (int p = 0; p < stages; p++) {
            int slot = m->stage[p].table->own[i];
            if (slot < 0)
                continue;
            add_slot(&m->stage[p], slot, counts, &at[p * slices], sums);
            counts = false;
        }
    }
    free(at);
    for (int step = 1; step < n; step *= 2)
        for (int s = 0; s + step < n; s += 2 * step)
            sums[s] += sums[s + step];
    *sum = sums[0];
    return rlf_parallel_sum_f64(m, sum, 1, err);
}

/* The first tensor whose gradient is not finite, for the message. */
static rlf_status
fail_not_finite(rlf_model *m, const double *blocks, rlf_err *err)
{
    const rlf_table *t = m->table->whole;
    const char *name = "all tensors together";
    for (int i = 0; i < t->n_slots; i++) {
        double sum;
        RLF_TRY(sum_blocks(m, blocks, i, i + 1, err, &sum));
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

/* The optimizer keeps squares as f32: beyond this they would be infinite, and
 * the weight stand still for ever. */
#define LARGEST 1e19

static rlf_status
fail_large(double norm, rlf_err *err)
{
    rlf_fail(err, RLF_USER, "the gradient's norm is %g, and %g is the most",
             norm, LARGEST);
    rlf_err_hint(err, "clip the gradient (optimizer: adamw(clip: 1.0)), or "
                      "make the loss smaller");
    return RLF_USER;
}

rlf_status
rlf_optimizer_norm(rlf_model *m, rlf_err *err, double *norm)
{
    double sum = 0;
    size_t count = 1;
    for (int p = 0; p < m->table->cut.stages; p++)
        for (int k = 0; k < m->slices.n; k++)
            count += (size_t)rlf_slices_blocks(&m->stage[p].slices,
                                               m->stage[p].table, k);
    RLF_TRY(square_blocks(m, err));
    double *blocks;
    RLF_TRY(rlf_try_array(count, sizeof *blocks, "the blocks of a gradient",
                          err, &blocks));
    rlf_status status = rlf_parallel_gather_blocks(m, err, blocks);
    if (status >= 0)
        status = sum_blocks(m, blocks, 0, m->table->whole->n_slots, err, &sum);
    if (status >= 0 && !isfinite(sum))
        status = fail_not_finite(m, blocks, err);
    free(blocks);
    *norm = sqrt(sum);
    return status;
}

/* ---- the step ---- */

/* What is the same for all tensors of a step. */
typedef struct step {
    const rlf_adamw *settings;
    double scale;
} step;

static rlf_adamw_args
arguments(const rlf_model *m, const step *s, int64_t first, int64_t n)
{
    const rlf_adamw *set = s->settings;
    double t = (double)m->steps;
    int64_t at = first - m->slices.first;
    return (rlf_adamw_args){.n = n,
                            .w = rlf_block_place(m, first),
                            .m = m->moment1 + at,
                            .v = m->moment2 + at,
                            .g = rlf_gradient_of(m, first),
                            .grad_scale = (float)s->scale,
                            .lr = (float)set->lr,
                            .beta1 = (float)set->beta1,
                            .beta2 = (float)set->beta2,
                            .eps = (float)set->eps,
                            .bias1 = 1 - rlf_pow(set->beta1, t),
                            .bias2 = 1 - rlf_pow(set->beta2, t)};
}

/* Steps the floats of first..last-1 of the block that are in the own slice. */
static rlf_status
step_range(rlf_model *m, const step *s, int64_t first, int64_t last,
           double decay, rlf_err *err)
{
    const rlf_slices *own = &m->slices;
    int64_t at, n = rlf_slices_overlap(own, own->own, first, last - first, &at);
    if (!n)
        return RLF_OK;
    rlf_adamw_args args = arguments(m, s, first + at, n);
    args.decay = (float)decay;
    return m->kernels->adamw(m->queue, &args, err);
}

/* Matrix i of all that rlf_model_changed would pack, in the order of the block:
 * an embedding that is the head, those of layers, heads; of adapters, and the
 * scalar head, alone. Of a model that is only laid out, without memory, nothing
 * is packed anywhere. */
typedef struct matrix {
    rlf_matrix is;
    void *packed;
} matrix;

static bool
get_matrix(const rlf_model *m, int i, matrix *out)
{
    const rlf_table *t = m->table;
    int64_t d = t->config.hidden;
    const matrix head = {{t->lm, t->vocab, d}, m->lm.forward};
    bool adapted = rlf_table_adapted(t);
    int before = t->lm == 0 && !adapted, behind = t->lm > 0 && !adapted;
    int first = adapted ? t->base_matrices : 0, n = t->n_matrix - first;
    if (i < before) {
        *out = head;
        return true;
    }
    i -= before;
    if (i < n) {
        *out = (matrix){t->matrix[first + i],
                        m->packed ? m->packed[first + i].forward : NULL};
        return true;
    }
    i -= n;
    *out = i < behind ? head : (matrix){{t->score, 1, d}, m->score.forward};
    return i < behind + (t->score != RLF_NO_SLOT);
}

/* Matrices with their packed copies, and what lies between them. */
static rlf_status
step_packed(rlf_model *m, const step *s, rlf_err *err)
{
    double decay = s->settings->decay;
    int64_t at = m->table->trained;
    matrix w;
    for (int i = 0; get_matrix(m, i, &w); i++) {
        int64_t n = w.is.rows * w.is.cols;
        RLF_TRY(step_range(m, s, at, w.is.offset, decay, err));
        rlf_adamw_args args = arguments(m, s, w.is.offset, n);
        args.decay = (float)decay;
        args.packed = w.packed;
        args.cols = w.is.cols;
        RLF_TRY(m->kernels->adamw(m->queue, &args, err));
        at = w.is.offset + n;
    }
    return step_range(m, s, at, m->table->decayed, decay, err);
}

bool
rlf_optimizer_packs(const rlf_model *m)
{
    return m->kernels->one_pack && m->slices.n == 1 && !m->bare &&
           !m->loan.packed;
}

/* Is any of floats first..last-1 of the block in the own slice? */
static bool
steps_any(const rlf_model *m, int64_t first, int64_t last)
{
    int64_t at;
    return rlf_slices_overlap(&m->slices, m->slices.own, first, last - first,
                              &at) > 0;
}

int
rlf_optimizer_ranges(const rlf_model *m)
{
    const rlf_table *t = m->table;
    int vectors = steps_any(m, t->decayed, t->count);
    if (!rlf_optimizer_packs(m))
        return steps_any(m, t->trained, t->decayed) + vectors;
    int64_t at = t->trained;
    int n = vectors;
    matrix w;
    for (int i = 0; get_matrix(m, i, &w); i++) {
        n += 1 + (w.is.offset > at);
        at = w.is.offset + w.is.rows * w.is.cols;
    }
    return n + (t->decayed > at);
}

/* Checks after a step: weights that are no numbers end the run. */
static rlf_status
check_weights(const rlf_model *m, const rlf_adamw *settings, rlf_err *err)
{
    rlf_status status = rlf_model_check_finite(m, err);
    if (status == RLF_USER && (float)settings->eps == 0)
        rlf_err_hint(err, "with eps: 0 a gradient that is 0 from the first "
                          "step on, as that of a word that no text has, makes "
                          "0 / 0: say eps: 1e-8");
    RLF_TRY(status);
    return RLF_OK;
}

rlf_status
rlf_optimizer_step(rlf_model *m, const rlf_adamw *settings, rlf_err *err,
                   double *norm)
{
    const rlf_table *t = m->table;
    step s = {.settings = settings, .scale = 1};
    bool packs = rlf_optimizer_packs(m);
    RLF_ASSERT(m->trained);
    RLF_TRY(rlf_gradient_finish(m, err));
    RLF_TRY(rlf_optimizer_norm(m, err, norm));
    if (settings->clip > 0 && *norm > settings->clip)
        s.scale = settings->clip / *norm;
    if (!(*norm * s.scale < LARGEST))
        return fail_large(*norm, err);
    m->begun++;
    m->steps++;
    if (packs)
        RLF_TRY(step_packed(m, &s, err));
    else
        RLF_TRY(
            step_range(m, &s, t->trained, t->decayed, settings->decay, err));
    RLF_TRY(step_range(m, &s, t->decayed, t->count, 0, err));
    RLF_TRY(rlf_parallel_gather_slices(m, err));
    RLF_TRY(check_weights(m, settings, err));
    RLF_TRY(rlf_gradient_clear(m, err));
    return packs ? rlf_model_renewed(m, err) : rlf_model_changed(m, err);
}
