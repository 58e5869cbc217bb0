/* Elementary functions in double precision with the same bits everywhere.
 *
 * libm's exp, log, tanh, pow differ between versions and machines; these are
 * sums, products, divisions and explicit fused multiply-adds in a fixed order,
 * so every machine with IEEE arithmetic gives the same bits (compile with
 * -ffp-contract=off). Errors are below 1 ulp for exp, log and pow and below
 * 2.5 ulp for the rest over the whole range, denormal results included (tested
 * against long double). Special values follow C11 annex F.
 *
 * All are static inline, so that each instruction set gets its own instance.
 * The f32 vector versions are in kernels/cpu/simd.h. */
#ifndef RLF_BASE_FMATH_H
#define RLF_BASE_FMATH_H

#include "engine/base/inline.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

RLF_INLINE double
rlf_fma(double a, double b, double c)
{
    return __builtin_fma(a, b, c);
}

RLF_INLINE uint64_t
rlf_f64_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

RLF_INLINE double
rlf_f64_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* The remainder of a by b with the sign of b. fmod has no error; the quotient
 * would have one, and be no whole number at all beyond 2^53. */
RLF_INLINE double
rlf_mod(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/* x * 2^n, rounded once; |n| < 2200. */
RLF_INLINE double
rlf_scale2(double x, int n)
{
    if (n > 1023) {
        x *= 0x1p1023;
        n -= 1023;
        if (n > 1023) {
            x *= 0x1p1023;
            n -= 1023;
        }
    } else if (n < -1022) {
        /* 53 bits more than the target, so only the last step rounds */
        x *= 0x1p-969;
        n += 969;
        if (n < -1022) {
            x *= 0x1p-969;
            n += 969;
        }
        if (n < -1022)
            return x * 0;
    }
    return x * rlf_f64_from_bits((uint64_t)(n + 1023) << 52);
}

/* r in [-0.35, 0.35]: exp(r) - 1 = r + r^2 q(r), the Taylor series to r^14. */
RLF_INLINE double
rlf_exp_tail_(double r)
{
    double q = 1 / 87178291200.0;
    q = rlf_fma(q, r, 1 / 6227020800.0);
    q = rlf_fma(q, r, 1 / 479001600.0);
    q = rlf_fma(q, r, 1 / 39916800.0);
    q = rlf_fma(q, r, 1 / 3628800.0);
    q = rlf_fma(q, r, 1 / 362880.0);
    q = rlf_fma(q, r, 1 / 40320.0);
    q = rlf_fma(q, r, 1 / 5040.0);
    q = rlf_fma(q, r, 1 / 720.0);
    q = rlf_fma(q, r, 1 / 120.0);
    q = rlf_fma(q, r, 1 / 24.0);
    q = rlf_fma(q, r, 1 / 6.0);
    q = rlf_fma(q, r, 0.5);
    return q;
}

#define RLF_LN2_HI_ 0x1.62e42fefa38p-1 /* 11 low bits zero: n * it is exact */
#define RLF_LN2_LO_ 0x1.ef35793c7673p-45

/* x = n ln 2 + *r + *low, |*r| <= 0.35; |x| < 1000. */
RLF_INLINE int
rlf_exp_reduce_(double x, double *r, double *low)
{
    double n = rlf_fma(x, 0x1.71547652b82fep0, 0x1.8p52) - 0x1.8p52;
    double hi = rlf_fma(n, -RLF_LN2_HI_, x); /* exact */
    double lo = n * -RLF_LN2_LO_;
    *r = hi + lo;
    *low = lo - (*r - hi);
    return (int)n;
}

/* e^(x + low) where |low| is far below an ulp of x. */
RLF_INLINE double
rlf_exp_sum_(double x, double low)
{
    if (x != x)
        return x;
    if (x > 709.79)
        return __builtin_inf();
    if (x < -745.14)
        return 0;
    double r, rest;
    int n = rlf_exp_reduce_(x, &r, &rest);
    rest += low;
    double p = r * r * rlf_exp_tail_(r);
    p = rlf_fma(rest, 1 + (r + p), p);
    return rlf_scale2(1 + (r + p), n);
}

RLF_INLINE double
rlf_exp(double x)
{
    return rlf_exp_sum_(x, 0);
}

/* e^x - 1, exact near 0. */
RLF_INLINE double
rlf_expm1(double x)
{
    if (x != x || x == 0)
        return x;
    if (x > 709.79)
        return __builtin_inf();
    if (x < -40)
        return -1;
    double r, rest;
    int n = rlf_exp_reduce_(x, &r, &rest);
    double p = r + rlf_fma(r * r, rlf_exp_tail_(r), rlf_fma(r, rest, rest));
    if (n == 0)
        return p;
    if (n > 1000)
        return rlf_scale2(1 + p, n);
    double two = rlf_f64_from_bits((uint64_t)(n + 1023) << 52);
    double base = two - 1, sum = rlf_fma(two, p, base);
    /* what `base` lost in rounding, for large and for very small n */
    return sum + ((two - (base + 1)) + 0);
}

/* log x = n ln 2 + hi + lo with x = 2^n m, m in [0.70, 1.42): hi + lo is
 * log m to about 2^-66. x is finite and positive. */
RLF_INLINE int
rlf_log_parts_(double x, double *hi, double *lo)
{
    int n = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        n = -54;
    }
    uint64_t u = rlf_f64_bits(x);
    /* 0x3fe6a09e...: sqrt(1/2), so that m straddles 1 */
    uint64_t t = u - UINT64_C(0x3fe6a09e00000000);
    int e = (int)((int64_t)t >> 52);
    double m = rlf_f64_from_bits(u - ((uint64_t)(int64_t)e << 52));
    n += e;
    /* s = f / (2 + f); log m = 2 s + s^3 (2/3 + 2/5 s^2 + ...) */
    double f = m - 1, g = 2 + f;
    double g_lo = f - (g - 2);
    double s = f / g;
    double s_lo = (rlf_fma(-s, g, f) - s * g_lo) / g;
    double z = s * s, z_lo = rlf_fma(s, s, -z) + 2 * s * s_lo;
    double q = 2 / 25.0;
    q = rlf_fma(q, z, 2 / 23.0);
    q = rlf_fma(q, z, 2 / 21.0);
    q = rlf_fma(q, z, 2 / 19.0);
    q = rlf_fma(q, z, 2 / 17.0);
    q = rlf_fma(q, z, 2 / 15.0);
    q = rlf_fma(q, z, 2 / 13.0);
    q = rlf_fma(q, z, 2 / 11.0);
    q = rlf_fma(q, z, 2 / 9.0);
    q = rlf_fma(q, z, 2 / 7.0);
    q = rlf_fma(q, z, 2 / 5.0);
    /* w = 2/3 + q z in two parts; 0x1.5555555555555p-55 completes 2/3 */
    double qz = q * z;
    double w = 2 / 3.0 + qz;
    double w_lo =
        (qz - (w - 2 / 3.0)) + 0x1.5555555555555p-55 + rlf_fma(q, z, -qz);
    /* c = s z w in two parts */
    double a = s * z, a_lo = rlf_fma(s, z, -a) + rlf_fma(s_lo, z, s * z_lo);
    double c = a * w, c_lo = rlf_fma(a, w, -c) + rlf_fma(a_lo, w, a * w_lo);
    double big = 2 * s;
    *hi = big + c;
    *lo = (c - (*hi - big)) + (c_lo + 2 * s_lo);
    return n;
}

/* log x = *hi + *lo, *lo below an ulp of *hi. */
RLF_INLINE double
rlf_log_two_(double x, double *low)
{
    double hi, lo;
    int n = rlf_log_parts_(x, &hi, &lo);
    double top = n * RLF_LN2_HI_; /* exact */
    double sum = top + hi;
    double rest = (n ? hi - (sum - top) : 0) + rlf_fma(n, RLF_LN2_LO_, lo);
    double out = sum + rest;
    *low = rest - (out - sum);
    return out;
}

RLF_INLINE double
rlf_ln(double x)
{
    if (x != x || x == __builtin_inf())
        return x;
    if (x <= 0)
        return x == 0 ? -__builtin_inf() : __builtin_nan("");
    double low;
    return rlf_log_two_(x, &low);
}

/* log(1 + x), exact near 0. */
RLF_INLINE double
rlf_log1p(double x)
{
    if (x != x || x == __builtin_inf() || x == 0)
        return x;
    if (x <= -1)
        return x == -1 ? -__builtin_inf() : __builtin_nan("");
    if (x < 0x1p-54 && x > -0x1p-54)
        return x;
    double u = 1 + x, low;
    double lost = u > 2 || u < -2 ? 1 - (u - x) : x - (u - 1);
    double y = rlf_log_two_(u, &low);
    return y + (low + lost / u);
}

RLF_INLINE double
rlf_tanh(double x)
{
    double a = x < 0 ? -x : x;
    if (x != x || a == 0)
        return x;
    double t, y;
    if (a > 22) {
        y = 1;
    } else if (a >= 0.5) {
        t = rlf_expm1(2 * a);
        y = 1 - 2 / (t + 2);
    } else {
        t = rlf_expm1(2 * a);
        y = t / (t + 2);
    }
    return x < 0 ? -y : y;
}

/* 1 / (1 + e^-x). */
RLF_INLINE double
rlf_sigmoid(double x)
{
    if (x >= 0)
        return 1 / (1 + rlf_exp(-x));
    double e = rlf_exp(x);
    return e / (1 + e);
}

/* log(sigmoid(x)), exact for large |x|. */
RLF_INLINE double
rlf_log_sigmoid(double x)
{
    if (x >= 0)
        return -rlf_log1p(rlf_exp(-x));
    return x - rlf_log1p(rlf_exp(x));
}

/* Returns of a finite y: 0 no integer, 1 odd, 2 even. */
RLF_INLINE int
rlf_parity_(double y)
{
    double a = y < 0 ? -y : y;
    if (a >= 0x1p53)
        return 2;
    if (a != (double)(int64_t)a)
        return 0;
    return (int64_t)a & 1 ? 1 : 2;
}

/* x^y. */
RLF_INLINE double
rlf_pow(double x, double y)
{
    const double inf = __builtin_inf();
    if (y == 0 || x == 1)
        return 1;
    if (x != x || y != y)
        return x + y;
    double a = x < 0 ? -x : x;
    if (y == inf || y == -inf) {
        if (a == 1)
            return 1;
        return (a > 1) == (y > 0) ? inf : 0;
    }
    int parity = rlf_parity_(y);
    double sign = rlf_f64_bits(x) >> 63 && parity == 1 ? -1 : 1;
    if (a == 0 || a == inf)
        return (a == 0) == (y > 0) ? sign * 0 : sign * inf;
    if (x < 0 && parity == 0)
        return __builtin_nan("");
    double low, l = rlf_log_two_(a, &low);
    double p = y * l;
    if (p > 800 || p < -800)
        return sign * (p > 0 ? inf : 0);
    double p_lo = rlf_fma(y, l, -p) + y * low;
    return sign * rlf_exp_sum_(p, p_lo);
}

/* sin and cos of x for |x| < 2^27, within 1 ulp or 2^-60 of 1. */
RLF_INLINE void
rlf_sincos(double x, double *sine, double *cosine)
{
    double n = rlf_fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52) - 0x1.8p52;
    /* pi/2 in three parts of 53 bits */
    double r = rlf_fma(n, -0x1.921fb54442d18p0, x);
    double t = n * 0x1.1a62633145c07p-54;
    double hi = r - t;
    double lo = ((r - hi) - t) - rlf_fma(n, 0x1.1a62633145c07p-54, -t);
    double z = hi * hi;
    double s = -1 / 121645100408832000.0, c = -1 / 6402373705728000.0;
    s = rlf_fma(s, z, 1 / 355687428096000.0);
    s = rlf_fma(s, z, -1 / 1307674368000.0);
    s = rlf_fma(s, z, 1 / 6227020800.0);
    s = rlf_fma(s, z, -1 / 39916800.0);
    s = rlf_fma(s, z, 1 / 362880.0);
    s = rlf_fma(s, z, -1 / 5040.0);
    s = rlf_fma(s, z, 1 / 120.0);
    s = rlf_fma(s, z, -1 / 6.0);
    c = rlf_fma(c, z, 1 / 20922789888000.0);
    c = rlf_fma(c, z, -1 / 87178291200.0);
    c = rlf_fma(c, z, 1 / 479001600.0);
    c = rlf_fma(c, z, -1 / 3628800.0);
    c = rlf_fma(c, z, 1 / 40320.0);
    c = rlf_fma(c, z, -1 / 720.0);
    c = rlf_fma(c, z, 1 / 24.0);
    double h = 0.5 * z, one = 1 - h;
    c = one + (((1 - one) - h) + rlf_fma(z * z, c, -hi * lo));
    s = hi + rlf_fma(hi * z, s, lo * (1 - h));
    switch ((int)((int64_t)n & 3)) {
    case 0:
        *sine = s, *cosine = c;
        break;
    case 1:
        *sine = c, *cosine = -s;
        break;
    case 2:
        *sine = -s, *cosine = -c;
        break;
    default:
        *sine = -c, *cosine = s;
    }
}

#endif
