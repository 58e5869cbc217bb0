/* Sums of products of pairs of bf16, as the instruction vdpbf16ps makes them:
 * the bits are its, with and without it.
 *
 * A lane of 32 bits holds two numbers. The sum takes the upper ones first: one
 * fused multiply-add in f32, rounded to nearest even, then another with the
 * lower ones. Denormals count as zeros on both sides, in operands and results;
 * a result is one if it is below the smallest normal number after rounding.
 * Rounding and this do not depend on MXCSR. Which NaN comes of one or of none
 * is left open.
 *
 * Without the instruction, two fused multiply-adds do the same while MXCSR says
 * so (pairs_begin), and where that is not there either it is written out. */
#ifndef RLF_KERNELS_CPU_PAIRS_H
#define RLF_KERNELS_CPU_PAIRS_H

#include "engine/base/half.h"
#include "kernels/cpu/simd.h"

#include <stdbool.h>

/* Factors of a product in a lane: the one that comes first is the upper. */
INLINE uint32_t
pair_of(uint16_t first, uint16_t second)
{
    return (uint32_t)first << 16 | second;
}

/* A factor by which a sum stays what it is, if the other is +0. */
#define PAIR_NONE 0x8000u

INLINE float
flush(float x)
{
    uint32_t u = rlf_f32_bits(x);
    return rlf_f32_of_bits(u & 0x7f800000u ? u : u & 0x80000000u);
}

/* Is the exact a b + c, which rounds to 2^-126 or is half of a denormal's step
 * from it, a tiny number? It is, if 24 bits would hold it below 2^-126: up to
 * the middle between that and the number of 24 bits before it. a b and its sum
 * with c are doubles but for what `rest` holds. */
INLINE bool
is_tiny(float a, float b, float c)
{
    const double middle = 0x1p-126 - 0x1p-151;
    double p = (double)a * (double)b, x = (double)c, s = p + x;
    double of_x = s - p, rest = (p - (s - of_x)) + (x - of_x);
    if (s < 0) {
        s = -s;
        rest = -rest;
    }
    return s < middle || (s == middle && rest < 0);
}

/* a and b are numbers of bf16. */
INLINE float
pair_fma_1(float a, float b, float c)
{
    a = flush(a), b = flush(b), c = flush(c);
    float r = __builtin_fmaf(a, b, c);
    uint32_t size = rlf_f32_bits(r) & 0x7fffffffu;
    if (size > 0x00800000u || (size == 0x00800000u && !is_tiny(a, b, c)))
        return r;
    return rlf_f32_of_bits(rlf_f32_bits(r) & 0x80000000u);
}

/* The reference, which any machine computes. */
INLINE float
pair_dot_1(float sum, uint32_t x, uint32_t y)
{
    sum = pair_fma_1(rlf_f32_of_bits(x & 0xffff0000u),
                     rlf_f32_of_bits(y & 0xffff0000u), sum);
    return pair_fma_1(rlf_f32_of_bits(x << 16), rlf_f32_of_bits(y << 16), sum);
}

/* Before and after calls of pair_dot: what they need of the thread's state,
 * which no other arithmetic may see. A function that is not inlined stands
 * between. */
#if VL >= 8 && !defined(__AVX512BF16__)
#define FLUSHES 0x8040u /* denormals are zeros, as results and as operands */
INLINE uint32_t
pairs_begin(void)
{
    uint32_t state = _mm_getcsr();
    _mm_setcsr(state | FLUSHES);
    return state;
}

INLINE void
pairs_end(uint32_t state)
{
    _mm_setcsr(state);
}
#else
INLINE uint32_t
pairs_begin(void)
{
    return 0;
}

INLINE void
pairs_end(uint32_t state)
{
    (void)state;
}
#endif

/* sum + the upper products, then + the lower ones. */
#if VL >= 8
INLINE vf
pair_dot(vf sum, vu x, vu y)
{
#if defined(__AVX512BF16__) && VL == 16
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)x, (__m512bh)y);
#else
    sum = vfma((vf)(x & 0xffff0000u), (vf)(y & 0xffff0000u), sum);
    return vfma((vf)(x << 16), (vf)(y << 16), sum);
#endif
}
#else
/* Not inlined: it is long. */
static __attribute__((noinline, unused)) vf
pair_dot(vf sum, vu x, vu y)
{
    for (int i = 0; i < VL; i++)
        sum[i] = pair_dot_1(sum[i], x[i], y[i]);
    return sum;
}
#endif

#endif
