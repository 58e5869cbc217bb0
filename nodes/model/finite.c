/* See finite.h: squares of f32 fit into f64, so their sum is finite if and only
 * if each of them is. It is read once more for that, which is a tenth of what
 * an optimizer step reads and writes. */
#include "nodes/model/finite.h"

#include <math.h>

#include "nodes/model/block.h"

/* Weights of one call of the kernel, which has little room for what it adds
 * up. */
#define PIECE ((int64_t)1 << 20)

/* *m->squares += those of a tensor */
static rlf_status
add_squares(const rlf_model *m, const rlf_slot *slot, rlf_err *err)
{
    for (int64_t at = 0; at < slot->count; at += PIECE) {
        int64_t n = slot->count - at < PIECE ? slot->count - at : PIECE;
        const rlf_sumsq_args args = {.n = n,
                                     .x = rlf_block_place(m, slot->offset) + at,
                                     .total = m->squares};
        RLF_TRY(m->kernels->sumsq(m->queue, &args, err));
    }
    return RLF_OK;
}

/* The sum over tensors first..last-1. */
static rlf_status
sum_squares(const rlf_model *m, int first, int last, rlf_err *err, double *out)
{
    RLF_TRY(rlf_queue_set(m->queue, m->squares, 0, sizeof *out, err));
    for (int i = first; i < last; i++)
        RLF_TRY(add_squares(m, &m->table->slots[i], err));
    RLF_TRY(rlf_queue_copy(m->queue, out, m->squares, sizeof *out,
                           RLF_COPY_TO_HOST, err));
    return rlf_queue_sync(m->queue, err);
}

int64_t
rlf_finite_pieces(int64_t n)
{
    return (n + PIECE - 1) / PIECE;
}

rlf_status
rlf_model_check_finite(const rlf_model *m, rlf_err *err)
{
    double sum;
    int first = rlf_table_adapted(m->table) ? m->table->n_base : 0;
    RLF_TRY(sum_squares(m, first, m->table->n_slots, err, &sum));
    if (isfinite(sum))
        return RLF_OK;
    int i = first;
    for (; i < m->table->n_slots; i++) {
        RLF_TRY(sum_squares(m, i, i + 1, err, &sum));
        if (!isfinite(sum))
            break;
    }
    return rlf_fail(err, RLF_USER,
                    "this makes a weight of %s infinite or not a number",
                    m->table->slots[i].name);
}
