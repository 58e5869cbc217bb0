/* The shards and parts of a product's k. */
#ifndef RLF_KERNELS_CPU_PARTS_H
#define RLF_KERNELS_CPU_PARTS_H

#include "kernels/cpu/ops.h"

/* Completes shards and parts. An error if the parts do not make up k. */
static inline rlf_status
find_parts(rlf_product_args *a, rlf_err *err)
{
    a->shards = rlf_shards_of(a->shards);
    NEED(a->shards.of <= RLF_MOST_SHARDS && a->shards.first >= 0 &&
             a->shards.count > 0 &&
             a->shards.first + a->shards.count <= a->shards.of,
         "product");
    int64_t k = 0;
    if (!a->parts) {
        NEED(a->shards.count == a->shards.of, "product");
        a->parts = &a->k;
        a->n_parts = 1;
    }
    for (int i = 0; i < a->n_parts; i++)
        k += rlf_pieces_held(a->shards, a->parts[i],
                             a->pieces ? a->pieces[i] : 0);
    NEED(k == a->k, "product");
    return RLF_OK;
}

#endif
