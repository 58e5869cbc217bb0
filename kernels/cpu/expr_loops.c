/* The pointwise operations as loops, once for each instruction set. What they
 * compute is engine/expr/pointwise.def. y may be any of the arguments. */
#include "kernels/cpu/expr_loops.h"

#include "engine/base/fmath.h"

#ifndef RLF_ISA
#error "compile with -DRLF_ISA=portable, v3 or v4"
#endif
#define PASTE_(isa) rlf_cpu_##isa##_expr_loops
#define PASTE(isa) PASTE_(isa)

/* Eight at a time into a local array: so compilers use vectors without having
 * to prove that y is none of the arguments, and choices become masks. */
enum { WIDE = 8 };

#define POINTWISE(name, value)                                             \
    static void loop_##name(double *y, const double *pa, const double *pb, \
                            const double *pc, size_t n)                    \
    {                                                                      \
        size_t i = 0;                                                      \
        for (; i + WIDE <= n; i += WIDE) {                                 \
            double out[WIDE];                                              \
            for (int k = 0; k < WIDE; k++) {                               \
                const double a = pa[i + k], b = pb[i + k], c = pc[i + k];  \
                (void)b;                                                   \
                (void)c;                                                   \
                out[k] = value;                                            \
            }                                                              \
            for (int k = 0; k < WIDE; k++)                                 \
                y[i + k] = out[k];                                         \
        }                                                                  \
        for (; i < n; i++) {                                               \
            const double a = pa[i], b = pb[i], c = pc[i];                  \
            (void)b;                                                       \
            (void)c;                                                       \
            y[i] = value;                                                  \
        }                                                                  \
    }
#include "engine/expr/pointwise.def"
#undef POINTWISE

rlf_expr_loop *const PASTE(RLF_ISA)[RLF_EXPR_CODES] = {
#define POINTWISE(name, value) [RLF_EXPR_##name] = loop_##name,
#include "engine/expr/pointwise.def"
#undef POINTWISE
};
