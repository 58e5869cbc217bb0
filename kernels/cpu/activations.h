/* Activations read and written, in the type that the sources are compiled for
 * (-DRLF_REAL_BITS=32: f32, 16: bf16). All arithmetic is in f32; what is
 * written is rounded to nearest even. */
#ifndef RLF_KERNELS_CPU_ACTIVATIONS_H
#define RLF_KERNELS_CPU_ACTIVATIONS_H

#include "engine/base/half.h"
#include "kernels/cpu/simd.h"
#include "kernels/real.h"

#if RLF_REAL_BITS == 32

INLINE vf
rload(const rlf_real *p)
{
    return vload(p);
}

INLINE vf
rload_n(const rlf_real *p, int64_t n)
{
    return vload_n(p, n);
}

INLINE void
rstore(rlf_real *p, vf x)
{
    vstore(p, x);
}

INLINE void
rstore_n(rlf_real *p, vf x, int64_t n)
{
    vstore_n(p, x, n);
}

INLINE float
rget(const rlf_real *p)
{
    return *p;
}

INLINE rlf_real
rmake(float x)
{
    return x;
}

#else

INLINE vf
rload(const rlf_real *p)
{
    return vload_bf16(&p->bits);
}

INLINE vf
rload_n(const rlf_real *p, int64_t n)
{
    uint16_t t[VL] = {0};
    memcpy(t, p, (size_t)n * sizeof *p);
    return vload_bf16(t);
}

INLINE void
rstore(rlf_real *p, vf x)
{
    vstore_bf16(&p->bits, x);
}

INLINE void
rstore_n(rlf_real *p, vf x, int64_t n)
{
    uint16_t t[VL];
    vstore_bf16(t, x);
    memcpy(p, t, (size_t)n * sizeof *p);
}

INLINE float
rget(const rlf_real *p)
{
    return rlf_bf16_to_f32(p->bits);
}

INLINE rlf_real
rmake(float x)
{
    return (rlf_real){rlf_f32_to_bf16(x)};
}

#endif

/* The last piece of a row, of n > 0 elements; zeros behind them. */
INLINE vf
rload_part(const rlf_real *p, int64_t n)
{
    return n >= VL ? rload(p) : rload_n(p, n);
}

INLINE void
rstore_part(rlf_real *p, vf x, int64_t n)
{
    if (n >= VL)
        rstore(p, x);
    else
        rstore_n(p, x, n);
}

/* n <= 64 rows of d (a multiple of 8), `ld` apart, as floats: in `rows`, which
 * has room for them where activations are not floats; the distance from one to
 * the next becomes *ld. */
INLINE const float *
rfloats(const rlf_real *x, int64_t *ld, int64_t n, int64_t d, float *rows)
{
#if RLF_REAL_BITS == 32
    (void)ld, (void)n, (void)d, (void)rows;
    return x;
#else
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i += VL)
            store_part(rows + j * d + i, rload_part(x + j * *ld + i, d - i),
                       d - i);
    *ld = d;
    return rows;
#endif
}

/* sum over i of a[i] * b[i] * c[i] (c NULL: of a[i] * b[i]) in 64 lanes. */
INLINE float
row_dot(const rlf_real *a, const rlf_real *b, const float *c, int64_t n)
{
    lanes s = lanes_set(0);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int j = 0; j < NL; j++) {
            vf x = rload(a + i + j * VL);
            if (c)
                x *= vload(c + i + j * VL);
            s.v[j] = vfma(x, rload(b + i + j * VL), s.v[j]);
        }
    for (int j = 0; i < n; i += VL, j++) {
        int64_t left = n - i;
        vf x, y, z = vset(1);
        if (left >= VL) {
            x = rload(a + i), y = rload(b + i);
            if (c)
                z = vload(c + i);
        } else {
            x = rload_n(a + i, left), y = rload_n(b + i, left);
            if (c)
                z = vload_n(c + i, left);
        }
        if (c)
            x *= z;
        s.v[j] = vfma(x, y, s.v[j]);
    }
    return lanes_sum(&s);
}

#endif
