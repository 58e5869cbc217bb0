/* Vectors of f32 for one instruction set, and the functions on them whose bits
 * do not depend on which.
 *
 * This folder is compiled once per instruction set with RLF_ISA naming it (v4,
 * v3 or portable). VL lanes a vector; a sum over a row is always 64 lanes wide
 * (`lanes`, 64 / VL vectors), whatever VL is. Every fused multiply-add is
 * written out; nothing here may be contracted or reordered. */
#ifndef RLF_KERNELS_CPU_SIMD_H
#define RLF_KERNELS_CPU_SIMD_H

#include "engine/base/fmath.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#define VL 16
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VL 8
#else
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
#define VL 4
#endif
#define LANES 64
#define NL (LANES / VL)

#define INLINE static inline __attribute__((always_inline))

/* Before a loop over constant bounds. Sums in an array of vectors stay in
 * registers only if every loop over them is unrolled. */
#define UNROLL _Pragma("GCC unroll 16")

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef float vf_any __attribute__((vector_size(VL * 4), aligned(4)));
typedef int32_t vi_any __attribute__((vector_size(VL * 4), aligned(4)));

INLINE vf
vload(const float *p)
{
    return *(const vf_any *)p;
}

INLINE void
vstore(float *p, vf x)
{
    *(vf_any *)p = x;
}

/* Numbers of bf16, the upper halves of floats. */
INLINE vf
vload_bf16(const uint16_t *p)
{
#if VL == 16
    __m512i x = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
    return (vf)_mm512_slli_epi32(x, 16);
#elif VL == 8
    __m256i x = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p));
    return (vf)_mm256_slli_epi32(x, 16);
#elif defined(__aarch64__)
    return (vf)vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16);
#else
    return (vf)((vu){p[0], p[1], p[2], p[3]} << 16);
#endif
}

/* yes where mask is all ones, no where it is 0. */
INLINE vf
vselect(vi mask, vf yes, vf no)
{
    return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
}

/* Rounded to numbers of bf16, to nearest even, by integer arithmetic. */
INLINE void
vstore_bf16(uint16_t *p, vf x)
{
    vu u = (vu)x, down = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    down = (vu)vselect((vi)(x == x), (vf)down, (vf)(u >> 16 | 0x40));
#if VL == 16
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16((__m512i)down));
#elif VL == 8
    __m256i two = _mm256_packus_epi32((__m256i)down, (__m256i)down);
    _mm_storeu_si128((__m128i *)p, _mm256_castsi256_si128(
                                       _mm256_permute4x64_epi64(two, 0x08)));
#else
    for (int i = 0; i < VL; i++)
        p[i] = (uint16_t)down[i];
#endif
}

INLINE vf
vset(float x)
{
#if VL == 16
    return (vf)_mm512_set1_ps(x);
#elif VL == 8
    return (vf)_mm256_set1_ps(x);
#else
    return (vf){x, x, x, x};
#endif
}

/* a * b + c, rounded once. */
INLINE vf
vfma(vf a, vf b, vf c)
{
#if VL == 16
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VL == 8
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    vf r;
    for (int i = 0; i < VL; i++)
        r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
#endif
}

/* The first n < VL elements, zeros after them. */
INLINE vf
vload_n(const float *p, int64_t n)
{
#if VL == 16
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#else
    float t[VL] = {0};
    memcpy(t, p, (size_t)n * 4);
    return vload(t);
#endif
}

INLINE void
vstore_n(float *p, vf x, int64_t n)
{
#if VL == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)x);
#else
    float t[VL];
    vstore(t, x);
    memcpy(p, t, (size_t)n * 4);
#endif
}

/* The same for the last piece of a row, of n > 0 elements. */
INLINE vf
load_part(const float *p, int64_t n)
{
    return n >= VL ? vload(p) : vload_n(p, n);
}

INLINE void
store_part(float *p, vf x, int64_t n)
{
    if (n >= VL)
        vstore(p, x);
    else
        vstore_n(p, x, n);
}

/* Bit i: lane i of a mask. */
INLINE uint32_t
vbits(vi mask)
{
#if VL == 16
    return _mm512_movepi32_mask((__m512i)mask);
#elif VL == 8
    return (uint32_t)_mm256_movemask_ps((__m256)mask);
#else
    vu bits = (vu)mask & (vu){1, 2, 4, 8};
    return bits[0] | bits[1] | bits[2] | bits[3];
#endif
}

/* The larger; b where one of them is a NaN. */
INLINE vf
vmax(vf a, vf b)
{
#if VL == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return vselect((vi)(a > b), a, b);
#endif
}

/* e^x within 1.1 ulp; below the smallest normal number 0. */
INLINE vf
vexp(vf x)
{
    const vf magic = vset(0x1.8p23f);
    vf t = vfma(x, vset(0x1.715476p0f), magic);
    vf n = t - magic;
    vf r = vfma(n, vset(-0x1.62e4p-1f), x); /* exact: 15 bits of ln 2 */
    r = vfma(n, vset(-0x1.7f7d1cp-20f), r);
    vf q = vset(0x1.6d10fep-10f); /* (e^r - 1 - r) / r^2 */
    q = vfma(q, r, vset(0x1.120b64p-7f));
    q = vfma(q, r, vset(0x1.55551ap-5f));
    q = vfma(q, r, vset(0x1.5554dep-3f));
    q = vfma(q, r, vset(0.5f));
    vf y = vfma(q, r * r, r) + 1.0f;
    const vf low = vset(-0x1.5d589ep6f), high = vset(0x1.62e42ep6f);
#if VL == 16
    __mmask16 some = _mm512_cmp_ps_mask((__m512)x, (__m512)low, _CMP_NLT_UQ);
    __mmask16 over = _mm512_cmp_ps_mask((__m512)x, (__m512)high, _CMP_GT_OQ);
    __m512 e = _mm512_maskz_scalef_ps(some, (__m512)y, (__m512)n);
    return (vf)_mm512_mask_mov_ps(e, over, (__m512)vset(__builtin_inff()));
#else
    y = (vf)((vu)y + ((vu)t << 23)); /* wraps around beyond `low` and `high` */
    y = vselect((vi)(x < low), vset(0), y);
    y = vselect((vi)(x > high), vset(__builtin_inff()), y);
    return vselect((vi)(x == x), y, x);
#endif
}

INLINE float
exp_1(float x)
{
    return vexp(vset(x))[0];
}

/* The natural logarithm of positive normal numbers, within 1.5 ulp or 2^-25. */
INLINE vf
vlog(vf x)
{
    /* x = 2^n m, m in [0.707, 1.414) */
    vi u = (vi)x - 0x3f3504f3;
    vi e = u >> 23;
    vf m = (vf)((u & 0x7fffff) + 0x3f3504f3);
    vf n = __builtin_convertvector(e, vf);
    vf f = m - 1.0f, s = f / (m + 1.0f), z = s * s;
    vf q = vset(2 / 9.0f); /* log m = 2 s + s z (2/3 + 2/5 z + ...) */
    q = vfma(q, z, vset(2 / 7.0f));
    q = vfma(q, z, vset(2 / 5.0f));
    q = vfma(q, z, vset(2 / 3.0f));
    vf low = vfma(n, vset(0x1.7f7d1cp-20f), s * z * q);
    return vfma(n, vset(0x1.62e4p-1f), vfma(vset(2), s, low));
}

/* 1 / (1 + e^-x). */
INLINE vf
vsigmoid(vf x)
{
    return vset(1) / (vexp(-x) + 1.0f);
}

/* The hyperbolic tangent, within 2.5 ulp: near 0 an odd polynomial, the rest
 * from e^2|x|. */
INLINE vf
vtanh(vf x)
{
    vf z = x * x;
    vf q = vset(-0x1.76acbap-8f); /* (tanh(x) / x - 1) / x^2 up to 0.625 */
    q = vfma(q, z, vset(0x1.5256fap-6f));
    q = vfma(q, z, vset(-0x1.b8444ep-5f));
    q = vfma(q, z, vset(0x1.110768p-3f));
    q = vfma(q, z, vset(-0x1.555534p-2f));
    vf near = vfma(q * z, x, x);
    vi sign = (vi)x & (vi)vset(-0.0f);
    vf size = (vf)((vi)x & ~sign);
    vf far = 1.0f - vset(2) / (vexp(size + size) + 1.0f);
    far = (vf)((vi)far | sign);
    return vselect((vi)(size < 0.625f), near, far);
}

/* Element i of a row is added to lane i % 64. */
typedef struct lanes {
    vf v[NL];
} lanes;

INLINE lanes
lanes_set(float x)
{
    lanes s;
    UNROLL for (int i = 0; i < NL; i++) s.v[i] = vset(x);
    return s;
}

#if VL >= 8
/* The halves of 8 lanes, then of 4, then of 2. */
INLINE float
fold_sum(__m256 x)
{
    __m128 y =
        _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

INLINE float
fold_max(__m256 x)
{
    __m128 y =
        _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_max_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_max_ss(y, _mm_movehdup_ps(y)));
}
#endif

/* The upper half of the lanes is added to the lower until one is left: a
 * binary tree. */
INLINE float
lanes_sum(const lanes *s)
{
    vf t[NL];
    UNROLL for (int i = 0; i < NL; i++) t[i] = s->v[i];
    UNROLL for (int w = NL / 2; w >= 1; w /= 2)
        UNROLL for (int i = 0; i < w; i++) t[i] += t[i + w];
#if VL == 16
    return fold_sum(_mm256_add_ps(_mm512_castps512_ps256((__m512)t[0]),
                                  _mm512_extractf32x8_ps((__m512)t[0], 1)));
#elif VL == 8
    return fold_sum((__m256)t[0]);
#else
    return (t[0][0] + t[0][2]) + (t[0][1] + t[0][3]);
#endif
}

INLINE float
lanes_max(const lanes *s)
{
    vf t = s->v[0];
    UNROLL for (int i = 1; i < NL; i++) t = vmax(t, s->v[i]);
#if VL == 16
    return fold_max(_mm256_max_ps(_mm512_castps512_ps256((__m512)t),
                                  _mm512_extractf32x8_ps((__m512)t, 1)));
#elif VL == 8
    return fold_max((__m256)t);
#else
    float a = t[0] > t[2] ? t[0] : t[2], b = t[1] > t[3] ? t[1] : t[3];
    return a > b ? a : b;
#endif
}

#if VL >= 8
/* 8 rows of 8 become 8 columns, `to` apart. */
INLINE void
transpose_regs(__m256 a[8], float *out, int64_t to)
{
    __m256 b[8];
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
    UNROLL for (int i = 0; i < 8; i += 4)
    {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
    UNROLL for (int i = 0; i < 4; i++)
    {
        _mm256_storeu_ps(out + i * to,
                         _mm256_permute2f128_ps(a[i], a[i + 4], 0x20));
        _mm256_storeu_ps(out + (i + 4) * to,
                         _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
    }
}

/* The same of rows in memory, `ld` apart. */
INLINE void
transpose_8(const float *x, int64_t ld, float *out, int64_t to)
{
    __m256 a[8];
    UNROLL for (int i = 0; i < 8; i++) a[i] = _mm256_loadu_ps(x + i * ld);
    transpose_regs(a, out, to);
}
#endif

/* n <= 64 rows of d (a multiple of 8), `ld` apart, become out[d][64], zeros
 * behind. (Zeros, for denormals in lanes that nobody uses cost time too.) */
INLINE void
transpose(const float *x, int64_t ld, int64_t n, int64_t d, float *out)
{
    int64_t j = 0;
    if (n < LANES)
        memset(out, 0, (size_t)(d * LANES) * sizeof *out);
#if VL >= 8
    for (; j + 8 <= n; j += 8)
        for (int64_t i = 0; i < d; i += 8)
            transpose_8(x + j * ld + i, ld, out + i * LANES + j, LANES);
#endif
    for (; j < n; j++)
        for (int64_t i = 0; i < d; i++)
            out[i * LANES + j] = x[j * ld + i];
}

#endif
