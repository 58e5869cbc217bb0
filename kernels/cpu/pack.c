/* Weights into panels, in f32 or in the bf16 that they are of, and out of them
 * again: see panel.h. Packing moves numbers, and bf16 becomes f32 by a shift,
 * so nothing here rounds. */
#include "engine/base/half.h"
#include "kernels/cpu/panel.h"

size_t
ISA(product_packed_bytes)(int64_t rows, int64_t cols, rlf_product_form form)
{
    bool forward = form == RLF_PRODUCT_FORWARD;
    int64_t n = forward ? rows : cols, k = forward ? cols : rows;
    return (size_t)(n_panels(n) * NR * k) * sizeof(float);
}

_Static_assert(RLF_PACK_ROWS % NR == 0, "whole panels");

/* ---- packing ----------------------------------------------------------- */

/* Columns i0..i1-1 of n rows become those of a panel, number by number. */
INLINE void
turn_numbers(const float *w, int64_t ld, int64_t i0, int64_t i1, int64_t n,
             void *out, const bool bf16)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = i0; i < i1; i++)
            if (bf16)
                ((uint16_t *)out)[i * NR + j] =
                    (uint16_t)(rlf_f32_bits(w[j * ld + i]) >> 16);
            else
                ((float *)out)[i * NR + j] = w[j * ld + i];
}

/* Panel p, for FORWARD: transposed in strips of 64 k, so that both sides stay
 * in cache, and f32 by 8 rows of 8. */
INLINE void
pack_forward(const rlf_product_pack_args *a, int64_t p, const bool bf16)
{
    int64_t k = a->cols, ld = or_dense(a->ldw, a->cols);
    int64_t w = a->rows - p * NR < NR ? a->rows - p * NR : NR;
    size_t number = bf16 ? sizeof(uint16_t) : sizeof(float);
    char *out = (char *)a->packed + (size_t)(p * NR * k) * number;
    if (w < NR)
        memset(out, 0, (size_t)(NR * k) * number);
    for (int64_t i0 = 0; i0 < k; i0 += 64) {
        int64_t i1 = i0 + 64 < k ? i0 + 64 : k, j = 0;
        const float *rows = a->w + p * NR * ld;
#if VL >= 8
        for (; !bf16 && j + 8 <= w; j += 8, rows += 8 * ld) {
            float *to = (float *)out + j;
            int64_t i = i0;
            for (; i + 8 <= i1; i += 8)
                transpose_8(rows + i, ld, to + i * NR, NR);
            turn_numbers(rows, ld, i, i1, 8, to, false);
        }
#endif
        turn_numbers(rows, ld, i0, i1, w - j, out + (size_t)j * number, bf16);
    }
}

static void
pack_backward(const rlf_product_pack_args *a, int64_t p)
{
    int64_t n = a->cols, k = a->rows, ld = or_dense(a->ldw, a->cols);
    int64_t w = n - p * NR < NR ? n - p * NR : NR;
    float *out = (float *)a->packed + p * NR * k;
    if (w < NR)
        memset(out, 0, (size_t)(NR * k) * sizeof *out);
    for (int64_t i = 0; i < k; i++)
        memcpy(out + i * NR, a->w + i * ld + p * NR, (size_t)w * 4);
}

static void
pack_panels(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_product_pack_args *a = ctx;
    for (int64_t p = first; p < last; p++)
        if (a->form == RLF_PRODUCT_BACKWARD)
            pack_backward(a, p);
        else if (a->bf16)
            pack_forward(a, p, true);
        else
            pack_forward(a, p, false);
}

rlf_status
ISA(product_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
                  rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0, "product_pack");
    bool forward = args->form == RLF_PRODUCT_FORWARD;
    NEED(forward || !args->bf16, "product_pack");
    rlf_product_pack_args a = *args;
    rlf_cpu_share(queue, n_panels(forward ? a.rows : a.cols), 1,
                  8.0 * (double)a.rows * (double)a.cols, pack_panels, &a);
    return RLF_OK;
}

/* ---- what is packed, read otherwise ------------------------------------ */

void
ISA(bf16_widen)(const uint16_t *x, int64_t n, float *out)
{
    int64_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(out + i, vload_bf16(x + i));
    for (; i < n; i++)
        out[i] = rlf_bf16_to_f32(x[i]);
}

#if VL >= 8
/* 8 numbers of bf16 from each of 8 columns, NR apart, become 8 rows. */
INLINE void
turn_8(const uint16_t *x, float *out)
{
    __m256 a[8];
    for (int i = 0; i < 8; i++) {
        __m128i half = _mm_loadu_si128((const __m128i *)(x + i * NR));
        a[i] = _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
    }
    transpose_regs(a, out, NR);
}
#endif

/* Rows from..to-1 of one panel, which begins at `panel`, and w columns. */
INLINE void
turn_part(const uint16_t *panel, int64_t from, int64_t to, int64_t w,
          float *out)
{
    int64_t i = from;
#if VL >= 8
    for (; i + 8 <= to; i += 8, out += 8 * NR) {
        int64_t j = 0;
        for (; j + 8 <= w; j += 8)
            turn_8(panel + j * NR + i, out + j);
        for (; j < w; j++)
            for (int64_t l = 0; l < 8; l++)
                out[l * NR + j] = rlf_bf16_to_f32(panel[j * NR + i + l]);
    }
#endif
    for (; i < to; i++, out += NR)
        for (int64_t j = 0; j < w; j++)
            out[j] = rlf_bf16_to_f32(panel[j * NR + i]);
}

void
ISA(panel_turn)(const uint16_t *packed, int64_t cols, int64_t first, int64_t n,
                int64_t col, float *out)
{
    int64_t w = cols - col < NR ? cols - col : NR, end = first + n;
    if (w < NR)
        memset(out, 0, (size_t)(n * NR) * sizeof *out);
    while (first < end) {
        int64_t p = first / NR, from = first - p * NR;
        int64_t to = end - p * NR < NR ? end - p * NR : NR;
        turn_part(packed + (p * cols + col) * NR, from, to, w, out);
        out += (to - from) * NR;
        first += to - from;
    }
}

void
ISA(panel_row)(const void *packed, bool bf16, int64_t cols, int64_t row,
               rlf_real *out)
{
    int64_t at = row / NR * NR * cols + row % NR;
    if (bf16)
        for (int64_t i = 0; i < cols; i++)
            out[i] = rlf_bf16_to_f32(((const uint16_t *)packed)[at + i * NR]);
    else
        for (int64_t i = 0; i < cols; i++)
            out[i] = ((const float *)packed)[at + i * NR];
}
