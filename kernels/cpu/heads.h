/* The norm of a row or a head, and the rotation of a head by its token's
 * position, for the operations that have both or one: on the way to another
 * place, or where it is. */
#ifndef RLF_KERNELS_CPU_HEADS_H
#define RLF_KERNELS_CPU_HEADS_H

#include "kernels/cpu/ops.h"

/* y = x * r * weight, and r = 1 / sqrt(mean + eps); y may be x. */
INLINE float
norm_by(const rlf_real *x, const float *weight, float mean, float eps,
        int64_t d, rlf_real *y)
{
    float r = 1 / __builtin_sqrtf(mean + eps);
    int64_t j = 0;
    for (; j + VL <= d; j += VL)
        rstore(y + j, rload(x + j) * vset(r) * vload(weight + j));
    if (j < d) {
        vf w = vload_n(weight + j, d - j);
        rstore_n(y + j, rload_n(x + j, d - j) * vset(r) * w, d - j);
    }
    return r;
}

INLINE float
norm(const rlf_real *x, const float *weight, float eps, int64_t d, rlf_real *y)
{
    float mean = row_dot(x, x, NULL, d) / (float)d;
    return norm_by(x, weight, mean, eps, d, y);
}

typedef struct rotation {
    const float *cos, *sin; /* cosines and sines of rope_table */
    int64_t half;
    bool back;
} rotation;

/* The first 2 * half elements of y from those of x; y may be x. */
INLINE void
rotate(const rotation *r, int32_t position, const rlf_real *x, rlf_real *y)
{
    int64_t half = r->half;
    const float *cs = r->cos + position * half, *sn = r->sin + position * half;
    for (int64_t i = 0; i < half; i += VL) {
        int64_t n = half - i;
        bool whole = n >= VL;
        vf c = whole ? vload(cs + i) : vload_n(cs + i, n);
        vf s = whole ? vload(sn + i) : vload_n(sn + i, n);
        vf x1 = rload_part(x + i, n);
        vf x2 = rload_part(x + half + i, n);
        s = r->back ? -s : s;
        vf y1 = vfma(x1, c, -(x2 * s)), y2 = vfma(x2, c, x1 * s);
        rstore_part(y + i, y1, n);
        rstore_part(y + half + i, y2, n);
    }
}

static inline rlf_status
check_positions(const int32_t *positions, int64_t m, int64_t n_positions,
                rlf_err *err)
{
    for (int64_t i = 0; i < m; i++)
        if (positions[i] < 0 || positions[i] >= n_positions)
            return rlf_fail(err, RLF_BUG,
                            "position %d of row %lld is not in the table of "
                            "%lld positions",
                            (int)positions[i], (long long)i,
                            (long long)n_positions);
    return RLF_OK;
}

#endif
