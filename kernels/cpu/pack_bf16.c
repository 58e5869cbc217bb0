/* Weights into panels of bf16: [panel][pair of k][NR], two numbers a lane, of
 * which that of the smaller k is the upper (pairs.h). Each is rounded to
 * nearest even. A last k without another has a zero beside it. */
#include "kernels/cpu/panel.h"
#include "kernels/cpu/pairs.h"

size_t
ISA(product_packed_bytes)(int64_t rows, int64_t cols, rlf_product_form form)
{
    bool forward = form == RLF_PRODUCT_FORWARD;
    int64_t n = forward ? rows : cols, k = forward ? cols : rows;
    return (size_t)(n_panels(n) * NR * n_pairs(k)) * sizeof(uint32_t);
}

_Static_assert(RLF_PACK_ROWS % NR == 0, "whole panels");

/* VL pairs of a row of floats, or as many as its n numbers make. */
INLINE vu
row_pairs(const float *w, int64_t n)
{
    uint16_t bits[2 * VL] = {0};
    if (n >= 2 * VL) {
        vstore_bf16(bits, vload(w));
        vstore_bf16(bits + VL, vload(w + VL));
    } else {
        for (int64_t i = 0; i < n; i++)
            bits[i] = rlf_f32_to_bf16(w[i]);
    }
    vu two;
    memcpy(&two, bits, sizeof two);
    return two << 16 | two >> 16;
}

/* Panel p, for FORWARD: pairs lie along a row of w. */
static void
pack_forward(const rlf_product_pack_args *a, int64_t p)
{
    int64_t k = a->cols, pairs = n_pairs(k), ld = or_dense(a->ldw, a->cols);
    int64_t w = a->rows - p * NR < NR ? a->rows - p * NR : NR;
    uint32_t *out = (uint32_t *)a->packed + p * NR * pairs;
    if (w < NR)
        memset(out, 0, (size_t)(NR * pairs) * sizeof *out);
    for (int64_t i0 = 0; i0 < pairs; i0 += VL) {
        int64_t n = pairs - i0 < VL ? pairs - i0 : VL;
        for (int64_t j = 0; j < w; j++) {
            vu two = row_pairs(a->w + (p * NR + j) * ld + 2 * i0, k - 2 * i0);
            for (int64_t i = 0; i < n; i++)
                out[(i0 + i) * NR + j] = two[i];
        }
    }
}

/* Columns of a row of w, rounded; zeros behind the last. */
INLINE vu
column_bits(const float *w, int64_t n)
{
    uint16_t bits[VL];
    vstore_bf16(bits, load_part(w, n));
    return (vu)vload_bf16(bits) >> 16;
}

/* Panel p, for BACKWARD: pairs are of neighbouring rows. */
static void
pack_backward(const rlf_product_pack_args *a, int64_t p)
{
    int64_t ld = or_dense(a->ldw, a->cols), pairs = n_pairs(a->rows);
    uint32_t *out = (uint32_t *)a->packed + p * NR * pairs;
    for (int64_t i = 0; i < pairs; i++, out += NR)
        for (int64_t j = 0; j < NR; j += VL) {
            int64_t n = a->cols - p * NR - j;
            const float *w = a->w + 2 * i * ld + p * NR + j;
            vu upper = {0}, lower = {0};
            if (n > 0)
                upper = column_bits(w, n);
            if (n > 0 && 2 * i + 1 < a->rows)
                lower = column_bits(w + ld, n);
            upper = upper << 16 | lower;
            memcpy(out + j, &upper, sizeof upper);
        }
}

static void
pack_panels(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_product_pack_args *a = ctx;
    for (int64_t p = first; p < last; p++)
        if (a->form == RLF_PRODUCT_BACKWARD)
            pack_backward(a, p);
        else
            pack_forward(a, p);
}

rlf_status
ISA(product_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
                  rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0 && !args->bf16, "product_pack");
    bool forward = args->form == RLF_PRODUCT_FORWARD;
    rlf_product_pack_args a = *args;
    rlf_cpu_share(queue, n_panels(forward ? a.rows : a.cols), 1,
                  8.0 * (double)a.rows * (double)a.cols, pack_panels, &a);
    return RLF_OK;
}

void
ISA(panel_row)(const void *packed, bool bf16, int64_t cols, int64_t row,
               rlf_real *out)
{
    (void)bf16;
    const uint32_t *from =
        (const uint32_t *)packed + row / NR * NR * n_pairs(cols) + row % NR;
    for (int64_t i = 0; i < cols; i++) {
        uint32_t two = from[i / 2 * NR];
        out[i].bits = (uint16_t)(i % 2 ? two : two >> 16);
    }
}
