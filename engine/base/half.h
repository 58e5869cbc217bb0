/* The two 16-bit float formats, to and from f32, by integer arithmetic.
 *
 * To f32 is exact. From f32 rounds to nearest, ties to even, whatever the
 * rounding mode; what is too large becomes infinity, f16 subnormals are
 * made, a NaN stays a (quiet) NaN. The bits are the same on every machine. */
#ifndef RLF_BASE_HALF_H
#define RLF_BASE_HALF_H

#include "engine/base/inline.h"

#include <stdint.h>
#include <string.h>

RLF_INLINE uint32_t
rlf_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

RLF_INLINE float
rlf_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x as an f32 that a narrower type is rounded from as from x itself: toward
 * zero, and to the odd of two neighbours if that is not x ("rounding to odd"),
 * so that no tie arises that x is none of. */
RLF_INLINE float
rlf_f64_to_odd_f32(double x)
{
    float near = (float)x;
    uint32_t u = rlf_f32_bits(near);
    if ((double)near == x || near != near)
        return near;
    if (((double)near > x) == (x >= 0)) /* away from zero */
        u--;
    return rlf_f32_of_bits(u | 1);
}

RLF_INLINE float
rlf_bf16_to_f32(uint16_t h)
{
    return rlf_f32_of_bits((uint32_t)h << 16);
}

RLF_INLINE uint16_t
rlf_f32_to_bf16(float x)
{
    uint32_t u = rlf_f32_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

RLF_INLINE float
rlf_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
    if (exponent == 0) /* zero or subnormal: mantissa * 2^-24, exact */
        return rlf_f32_of_bits(sign | rlf_f32_bits((float)mantissa * 0x1p-24f));
    if (exponent == 31)
        return rlf_f32_of_bits(sign | 0x7f800000u | mantissa << 13);
    return rlf_f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

RLF_INLINE uint16_t
rlf_f32_to_f16(float x)
{
    uint32_t u = rlf_f32_bits(x), a = u & 0x7fffffffu, r;
    uint32_t sign = u >> 16 & 0x8000u;
    if (a > 0x7f800000u) { /* NaN */
        r = 0x7e00u | (a >> 13 & 0x3ffu);
    } else if (a >= 0x477ff000u) { /* 65520 and above */
        r = 0x7c00u;
    } else if (a <= 0x33000000u) { /* 2^-25 and below */
        r = 0;
    } else if (a < 0x38800000u) { /* below 2^-14: units of 2^-24 */
        uint32_t shift = 126 - (a >> 23);
        uint32_t mantissa = (a & 0x7fffffu) | 0x800000u;
        uint32_t rest = mantissa & ((1u << shift) - 1);
        uint32_t half = 1u << (shift - 1);
        r = mantissa >> shift;
        r += rest > half || (rest == half && (r & 1));
    } else {
        r = ((a + 0xfffu + (a >> 13 & 1)) >> 13) - (112u << 10);
    }
    return (uint16_t)(sign | r);
}

#endif
