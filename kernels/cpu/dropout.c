/* Dropout: which numbers are kept is drawn anew wherever it is asked, so no
 * mask is kept between forward and backward. */
#include "kernels/cpu/ops.h"

/* a times m: the low words, and *high. */
INLINE vu
multiply_wide(vu a, uint32_t m, vu *high)
{
#if VL == 16
    const __m512i by = _mm512_set1_epi32((int32_t)m);
    __m512i even = _mm512_mul_epu32((__m512i)a, by);
    __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64((__m512i)a, 32), by);
    *high =
        (vu)_mm512_mask_blend_epi32(0xaaaa, _mm512_srli_epi64(even, 32), odd);
    return (vu)_mm512_mask_blend_epi32(0xaaaa, even,
                                       _mm512_slli_epi64(odd, 32));
#elif VL == 8
    const __m256i by = _mm256_set1_epi32((int32_t)m);
    __m256i even = _mm256_mul_epu32((__m256i)a, by);
    __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64((__m256i)a, 32), by);
    *high = (vu)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    return (vu)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
#else
    vu low;
    for (int i = 0; i < VL; i++) {
        uint64_t product = (uint64_t)a[i] * m;
        low[i] = (uint32_t)product;
        (*high)[i] = (uint32_t)(product >> 32);
    }
    return low;
#endif
}

/* Returns the counter of lane i: in each 128 bits one of each quarter of them,
 * so that four vectors of words, turned within 128 bits, are in the order of
 * columns. */
INLINE uint32_t
counter_of(uint32_t i)
{
    return i % 4 * (VL / 4) + i / 4;
}

/* The words c[0..3] of those, in the order of columns. */
INLINE void
put_words(const vu *c, uint32_t *words)
{
#if VL == 16
    __m512i a = _mm512_unpacklo_epi32((__m512i)c[0], (__m512i)c[1]);
    __m512i b = _mm512_unpackhi_epi32((__m512i)c[0], (__m512i)c[1]);
    __m512i d = _mm512_unpacklo_epi32((__m512i)c[2], (__m512i)c[3]);
    __m512i e = _mm512_unpackhi_epi32((__m512i)c[2], (__m512i)c[3]);
    _mm512_storeu_si512(words, _mm512_unpacklo_epi64(a, d));
    _mm512_storeu_si512(words + VL, _mm512_unpackhi_epi64(a, d));
    _mm512_storeu_si512(words + 2 * VL, _mm512_unpacklo_epi64(b, e));
    _mm512_storeu_si512(words + 3 * VL, _mm512_unpackhi_epi64(b, e));
#elif VL == 8
    __m256i a = _mm256_unpacklo_epi32((__m256i)c[0], (__m256i)c[1]);
    __m256i b = _mm256_unpackhi_epi32((__m256i)c[0], (__m256i)c[1]);
    __m256i d = _mm256_unpacklo_epi32((__m256i)c[2], (__m256i)c[3]);
    __m256i e = _mm256_unpackhi_epi32((__m256i)c[2], (__m256i)c[3]);
    __m256i *to = (__m256i *)words;
    _mm256_storeu_si256(to, _mm256_unpacklo_epi64(a, d));
    _mm256_storeu_si256(to + 1, _mm256_unpackhi_epi64(a, d));
    _mm256_storeu_si256(to + 2, _mm256_unpacklo_epi64(b, e));
    _mm256_storeu_si256(to + 3, _mm256_unpackhi_epi64(b, e));
#else
    for (int i = 0; i < VL; i++)
        for (int w = 0; w < 4; w++)
            words[4 * i + w] = c[w][i];
#endif
}

/* The words of counters (block, module, 0, 0) and those behind it, VL of them,
 * in the order of columns: Philox4x32-10 (engine/base/philox.c). */
INLINE void
draw(uint32_t block, uint32_t module, uint64_t key, uint32_t *words)
{
    vu c0, c1 = {0}, c2 = {0}, c3 = {0};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32), first[VL];
    for (uint32_t i = 0; i < VL; i++)
        first[i] = block + counter_of(i);
    memcpy(&c0, first, sizeof c0);
    c1 += module;
    for (int round = 0; round < 10; round++) {
        vu a_high, b_high, a = multiply_wide(c0, 0xD2511F53u, &a_high);
        vu b = multiply_wide(c2, 0xCD9E8D57u, &b_high);
        c0 = b_high ^ c1 ^ k0;
        c1 = b;
        c2 = a_high ^ c3 ^ k1;
        c3 = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    const vu c[4] = {c0, c1, c2, c3};
    put_words(c, words);
}

/* n <= VL numbers by their words. */
INLINE void
drop_part(const rlf_dropout_args *a, const uint32_t *words, const rlf_real *x,
          rlf_real *y, int64_t n)
{
    vu word;
    memcpy(&word, words, sizeof word);
    vi kept = (vi)(word >= a->below);
    vf scale = vset(a->scale), v = rload_part(x, n);
    if (a->add) {
        vf at = rload_part(y, n);
        rstore_part(y, vselect(kept, vfma(scale, v, at), at), n);
    } else {
        rstore_part(y, vselect(kept, v * scale, vset(0)), n);
    }
}

static void
drop_rows(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_dropout_args *a = ctx;
    uint32_t words[4 * VL + VL] = {0}; /* a part may begin at the last one */
    int64_t end = a->first + a->d;
    for (int64_t m = first; m < last; m++) {
        uint64_t key = a->keys[a->index ? a->index[m] : m];
        const rlf_real *x = a->x + m * a->ldx;
        rlf_real *y = a->y + m * a->ldy;
        for (int64_t c = a->first / 4 * 4; c < end; c += 4 * VL) {
            int64_t from = c < a->first ? a->first : c;
            int64_t to = c + 4 * VL < end ? c + 4 * VL : end;
            draw((uint32_t)(c / 4), a->module, key, words);
            for (int64_t j = from; j < to; j += VL)
                drop_part(a, words + (j - c), x + (j - a->first),
                          y + (j - a->first), to - j);
        }
    }
}

rlf_status
ISA(dropout)(rlf_queue *queue, const rlf_dropout_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0 && args->first >= 0, "dropout");
    rlf_dropout_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    rlf_cpu_share(queue, a.m, 16, 10.0 * (double)a.m * (double)a.d, drop_rows,
                  &a);
    return RLF_OK;
}
