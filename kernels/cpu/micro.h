/* Instances of micro-kernels, which are made for constant numbers of rows and
 * vectors, and tables of them by these. A file that has micro-kernels defines
 * `micro`, their operands, and micro_fn before it makes tables. */
#ifndef RLF_KERNELS_CPU_MICRO_H
#define RLF_KERNELS_CPU_MICRO_H

#include "kernels/cpu/panel.h"

// clang-format off
/* X(rows, vectors) for 1 to MR rows */
#if MR == 9
#define EACH_M(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv) \
    X(7, nv) X(8, nv) X(9, nv)
#else
#define EACH_M(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#endif
/* the same for whole panels of NV vectors, and for 1 to NV of them */
#if NV == 3
#define EACH_WHOLE(X) EACH_M(X, 3)
#define EACH_MICRO(X) EACH_M(X, 1) EACH_M(X, 2) EACH_M(X, 3)
#else
#define EACH_WHOLE(X) EACH_M(X, 2)
#define EACH_MICRO(X) EACH_M(X, 1) EACH_M(X, 2)
#endif

/* Tables of the functions that NAME(rows, vectors) names, each with a comma:
 * by rows, and by vectors and rows. Nothing has 0 rows or 0 vectors. */
#define WHOLE_TABLE(NAME) {NULL, EACH_WHOLE(NAME)}
#if NV == 3
#define MICRO_TABLE(NAME) \
    {[1] = {NULL, EACH_M(NAME, 1)}, \
     [2] = {NULL, EACH_M(NAME, 2)}, \
     [3] = {NULL, EACH_M(NAME, 3)}}
#else
#define MICRO_TABLE(NAME) \
    {[1] = {NULL, EACH_M(NAME, 1)}, \
     [2] = {NULL, EACH_M(NAME, 2)}}
#endif
// clang-format on

#endif
