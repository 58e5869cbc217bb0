/* The tree that adds: rlf_comm_fold(). Tiles of a few hundred elements, so that
 * the partial sums stay in the first-level cache. */
#include "engine/comm/comm.h"

#include <string.h>

#include "engine/base/half.h"

#define TILE 256
#define DEPTH 32 /* levels of a tree; more than any int has bits */

/* Elements that the machine adds at once; integers as unsigned, which wrap. */
typedef float f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double f64x4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef uint32_t i32x8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t i64x4 __attribute__((vector_size(32), aligned(8), may_alias));

typedef void combine_fn(void *out, const void *a, const void *b, size_t n);

#define SUM_FN(name, type, vector)                                      \
    static void name(void *out, const void *a, const void *b, size_t n) \
    {                                                                   \
        type *o = out;                                                  \
        const type *x = a, *y = b;                                      \
        size_t wide = sizeof(vector) / sizeof(type), i = 0;             \
        for (; i + wide <= n; i += wide)                                \
            *(vector *)(o + i) =                                        \
                *(const vector *)(x + i) + *(const vector *)(y + i);    \
        for (; i < n; i++)                                              \
            o[i] = x[i] + y[i];                                         \
    }
SUM_FN(sum_F32, float, f32x8)
SUM_FN(sum_F64, double, f64x4)
SUM_FN(sum_I32, uint32_t, i32x8)
SUM_FN(sum_I64, uint64_t, i64x4)

/* Of a NaN and a number the NaN: it compares as neither. */
#define CHOOSE_FN(name, type, less)                                     \
    static void name(void *out, const void *a, const void *b, size_t n) \
    {                                                                   \
        type *o = out;                                                  \
        const type *x = a, *y = b;                                      \
        for (size_t i = 0; i < n; i++)                                  \
            o[i] = x[i] less y[i] || x[i] != x[i] ? x[i] : y[i];        \
    }
CHOOSE_FN(max_F32, float, >)
CHOOSE_FN(min_F32, float, <)
CHOOSE_FN(max_F64, double, >)
CHOOSE_FN(min_F64, double, <)
CHOOSE_FN(max_I32, int32_t, >)
CHOOSE_FN(min_I32, int32_t, <)
CHOOSE_FN(max_I64, int64_t, >)
CHOOSE_FN(min_I64, int64_t, <)

/* A pair of bf16 by way of f32. */
#define BF16_FN(name, combine)                                              \
    static void name(void *out, const void *a, const void *b, size_t n)     \
    {                                                                       \
        uint16_t *o = out;                                                  \
        const uint16_t *x = a, *y = b;                                      \
        for (size_t i = 0; i < n; i++) {                                    \
            float pair[2] = {rlf_bf16_to_f32(x[i]), rlf_bf16_to_f32(y[i])}; \
            combine(pair, pair, pair + 1, 1);                               \
            o[i] = rlf_f32_to_bf16(pair[0]);                                \
        }                                                                   \
    }
BF16_FN(sum_BF16, sum_F32)
BF16_FN(max_BF16, max_F32)
BF16_FN(min_BF16, min_F32)

static combine_fn *const combines[RLF_COMM_OPS][RLF_COMM_TYPES] = {
#define COMM_TYPE(name, type, text)               \
    [RLF_COMM_SUM][RLF_COMM_##name] = sum_##name, \
    [RLF_COMM_MAX][RLF_COMM_##name] = max_##name, \
    [RLF_COMM_MIN][RLF_COMM_##name] = min_##name,
#include "engine/comm/type.def"
#undef COMM_TYPE
};

size_t
rlf_comm_type_size(rlf_comm_type type)
{
    static const size_t sizes[RLF_COMM_TYPES] = {
#define COMM_TYPE(name, c_type, text) sizeof(c_type),
#include "engine/comm/type.def"
#undef COMM_TYPE
    };
    return sizes[type];
}

/* The parts come one by one on a stack; after part i as many pairs are combined
 * as i + 1 has factors of two, and at the end what is left from the right:
 * that is the tree by levels, an odd last one going up unchanged. */
static void
fold_tile(char *out, const void *const *parts, int n_parts, size_t at, size_t n,
          combine_fn *combine)
{
    double tiles[DEPTH][TILE]; /* the widest element */
    const void *top[DEPTH + 1];
    int height = 0;
    for (int i = 0; i < n_parts; i++) {
        top[height++] = (const char *)parts[i] + at;
        bool last = i + 1 == n_parts;
        for (int j = i + 1; height > 1 && (last || !(j & 1)); j >>= 1) {
            height--;
            void *to = last && height == 1 ? (void *)(out + at)
                                           : (void *)tiles[height - 1];
            combine(to, top[height - 1], top[height], n);
            top[height - 1] = to;
        }
    }
}

void
rlf_comm_fold(void *out, const void *const *parts, int n_parts, size_t n,
              rlf_comm_type type, rlf_comm_op op)
{
    size_t size = rlf_comm_type_size(type);
    if (n_parts == 1) {
        if (n && out != parts[0])
            memcpy(out, parts[0], n * size);
        return;
    }
    for (size_t i = 0; i < n; i += TILE)
        fold_tile(out, parts, n_parts, i * size, n - i < TILE ? n - i : TILE,
                  combines[op][type]);
}
