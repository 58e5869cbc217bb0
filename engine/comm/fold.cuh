/* One element of rlf_comm_fold() on the GPU, the same bits: what fold.cu's
 * kernel does for each. In C it is what a test compares. */
#ifndef RLF_COMM_FOLD_CUH
#define RLF_COMM_FOLD_CUH

#include "engine/base/half.h"
#include "engine/base/inline.h"

enum { FOLD_DEPTH = 32 }; /* levels of a tree; more than an int has bits */

/* Places of so many parts are arguments of the launch (2 KB of the 4 KB that it
 * may have); those of more are sent before it, which a queue that records
 * refuses. What is recorded are steps of a model: of RLF_MOST_SHARDS ranks at
 * most. */
enum { FOLD_WITH_LAUNCH = 256 };

/* FOLD_FN(name, C type, what two become): the parts come one by one on a stack;
 * after part i as many pairs are combined as i + 1 has factors of two, and at
 * the end what is left from the right. */
#define FOLD_FN(name, type, both)                                          \
    RLF_INLINE type fold_##name(const void *const *parts, int n, size_t i) \
    {                                                                      \
        type stack[FOLD_DEPTH];                                            \
        int height = 0;                                                    \
        for (int p = 0; p < n; p++) {                                      \
            stack[height++] = ((const type *)parts[p])[i];                 \
            for (int j = p + 1; height > 1 && (p + 1 == n || !(j & 1));    \
                 j >>= 1) {                                                \
                type y = stack[--height], x = stack[height - 1];           \
                stack[height - 1] = both;                                  \
            }                                                              \
        }                                                                  \
        return stack[0];                                                   \
    }

/* Integers as unsigned, which wrap; of a NaN and a number the NaN. */
#define FOLD_CHOICES(name, type)                       \
    FOLD_FN(max_##name, type, x > y || x != x ? x : y) \
    FOLD_FN(min_##name, type, x < y || x != x ? x : y)

FOLD_FN(sum_F32, float, x + y)
FOLD_FN(sum_F64, double, x + y)
FOLD_FN(sum_I32, uint32_t, x + y)
FOLD_FN(sum_I64, uint64_t, x + y)
FOLD_CHOICES(F32, float)
FOLD_CHOICES(F64, double)
FOLD_CHOICES(I32, int32_t)
FOLD_CHOICES(I64, int64_t)

/* Sums of bf16 go by way of f32. */
#define WIDE(x) rlf_bf16_to_f32(x)
FOLD_FN(sum_BF16, uint16_t, rlf_f32_to_bf16(WIDE(x) + WIDE(y)))
FOLD_FN(max_BF16, uint16_t, WIDE(x) > WIDE(y) || WIDE(x) != WIDE(x) ? x : y)
FOLD_FN(min_BF16, uint16_t, WIDE(x) < WIDE(y) || WIDE(x) != WIDE(x) ? x : y)
#undef WIDE

#endif
