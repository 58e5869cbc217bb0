/* Parts of one block: sizes first, memory after.
 *
 * The same function that gives out the parts runs once without a block to
 * count them, so what is printed, allocated and used cannot differ. */
#ifndef RLF_MODEL_SUBALLOCATE_H
#define RLF_MODEL_SUBALLOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

typedef struct rlf_suballocator {
    char *base; /* NULL: only count */
    size_t used;
} rlf_suballocator;

/* `bytes` on a boundary of 64; NULL while counting. */
static inline void *
rlf_suballocate(rlf_suballocator *c, size_t bytes)
{
    size_t at = c->used;
    c->used += (bytes + 63) / 64 * 64;
    return c->base ? c->base + at : NULL;
}

static inline float *
rlf_suballocate_floats(rlf_suballocator *c, int64_t n)
{
    return (float *)rlf_suballocate(c, (size_t)n * sizeof(float));
}

/* Activations. */
static inline rlf_real *
rlf_suballocate_reals(rlf_suballocator *c, const rlf_kernels *k, int64_t n)
{
    return rlf_suballocate(c, (size_t)n * rlf_real_bytes(k));
}

static inline int32_t *
rlf_suballocate_ints(rlf_suballocator *c, int64_t n)
{
    return (int32_t *)rlf_suballocate(c, (size_t)n * sizeof(int32_t));
}

#endif
