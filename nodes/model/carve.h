/* Parts of one block: sizes first, memory after.
 *
 * The same function that gives out the parts runs once without a block to
 * count them, so what is printed, allocated and used cannot differ. */
#ifndef RLF_MODEL_CARVE_H
#define RLF_MODEL_CARVE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

typedef struct rlf_carver {
    char *base; /* NULL: only count */
    size_t used;
} rlf_carver;

/* `bytes` on a boundary of 64; NULL while counting. */
static inline void *
rlf_carve(rlf_carver *c, size_t bytes)
{
    size_t at = c->used;
    c->used += (bytes + 63) / 64 * 64;
    return c->base ? c->base + at : NULL;
}

static inline float *
rlf_carve_floats(rlf_carver *c, int64_t n)
{
    return (float *)rlf_carve(c, (size_t)n * sizeof(float));
}

/* Activations. */
static inline rlf_real *
rlf_carve_reals(rlf_carver *c, const rlf_kernels *k, int64_t n)
{
    return rlf_carve(c, (size_t)n * rlf_real_bytes(k));
}

static inline int32_t *
rlf_carve_ints(rlf_carver *c, int64_t n)
{
    return (int32_t *)rlf_carve(c, (size_t)n * sizeof(int32_t));
}

#endif
