/* The rotation of a head by its token's position, for the operations that
 * rotate: on its way to another place, or where it is. */
#ifndef RLF_KERNELS_CPU_ROTATE_H
#define RLF_KERNELS_CPU_ROTATE_H

#include "kernels/cpu/ops.h"

typedef struct rotation {
    const float *cos, *sin; /* of rope_table */
    int64_t half;
    bool back;
} rotation;

/* The first 2 * half elements of y from those of x; y may be x. */
INLINE void
rotate(const rotation *r, int32_t position, const float *x, float *y)
{
    int64_t half = r->half;
    const float *cs = r->cos + position * half, *sn = r->sin + position * half;
    for (int64_t i = 0; i < half; i += VL) {
        int64_t n = half - i;
        bool whole = n >= VL;
        vf c = whole ? vload(cs + i) : vload_n(cs + i, n);
        vf s = whole ? vload(sn + i) : vload_n(sn + i, n);
        vf x1 = whole ? vload(x + i) : vload_n(x + i, n);
        vf x2 = whole ? vload(x + half + i) : vload_n(x + half + i, n);
        s = r->back ? -s : s;
        vf y1 = vfma(x1, c, -(x2 * s)), y2 = vfma(x2, c, x1 * s);
        if (whole) {
            vstore(y + i, y1);
            vstore(y + half + i, y2);
        } else {
            vstore_n(y + i, y1, n);
            vstore_n(y + half + i, y2, n);
        }
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
