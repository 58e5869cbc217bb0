/* Panels of packed weights: their widths, and how they are read in other forms.
 *
 * A packed matrix is [panel][k][NR]: NR columns of a product side by side for
 * each k. Beside activations of f32, weights of bf16 are packed for FORWARD
 * alone, in half of the bytes, and both forms of product read that packing; the
 * embedding reads one of either type. Where activations are bf16 all weights
 * are, and a panel has pairs of k: [panel][k / 2][NR][2] (pack_bf16.c). */
#ifndef RLF_KERNELS_CPU_PANEL_H
#define RLF_KERNELS_CPU_PANEL_H

#include "kernels/cpu/ops.h"

/* A micro-kernel holds up to MR rows times NV vectors of a product. */
#if VL == 16
#define MR 9
#define NV 3
#else
#define MR 6
#define NV 2
#endif
#define NR (NV * VL)

static inline int64_t
n_panels(int64_t n)
{
    return (n + NR - 1) / NR;
}

static inline int64_t
n_pairs(int64_t k)
{
    return (k + 1) / 2;
}

/* Numbers of bf16, n of them, become floats. */
void ISA(bf16_widen)(const uint16_t *x, int64_t n, float *out);

/* Takes from w[rows, cols] of bf16, packed for FORWARD, rows first..first+n-1
 * of its columns col..col+NR-1, as [n][NR] floats. Columns behind the last are
 * 0. */
void ISA(panel_turn)(const uint16_t *packed, int64_t cols, int64_t first,
                     int64_t n, int64_t col, float *out);

/* Row `row` of a matrix of f32 or bf16, packed for FORWARD, as `cols`
 * activations. Where these are bf16 the packing is always. */
void ISA(panel_row)(const void *packed, bool bf16, int64_t cols, int64_t row,
                    rlf_real *out);

#endif
