/* Loops of the pointwise operations, one table per instruction set. */
#ifndef RLF_KERNELS_CPU_EXPR_LOOPS_H
#define RLF_KERNELS_CPU_EXPR_LOOPS_H

#include "config.h"
#include "engine/expr/expr.h"

/* y[i] = op(a[i], b[i], c[i]); arguments beyond the arity point to n readable
 * numbers all the same. */
typedef void rlf_expr_loop(double *y, const double *a, const double *b,
                           const double *c, size_t n);

extern rlf_expr_loop *const rlf_cpu_portable_expr_loops[RLF_EXPR_CODES];
#ifdef RLF_ISA_V3
extern rlf_expr_loop *const rlf_cpu_v3_expr_loops[RLF_EXPR_CODES];
#endif
#ifdef RLF_ISA_V4
extern rlf_expr_loop *const rlf_cpu_v4_expr_loops[RLF_EXPR_CODES];
#endif

#endif
