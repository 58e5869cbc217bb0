/* Adapters made part of the model that they are beside: w + s b a in the place
 * of each w that has one, a model without adapters of the same outputs, but
 * for the rounding of its weights. */
#ifndef RLF_MODEL_MERGE_H
#define RLF_MODEL_MERGE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct rlf_merged {
    const char *architecture; /* the architecture that config.json names, in the
                                 arena */
    int tensors, adapted;     /* written; of these, with an adapter in them */
    uint64_t bytes;           /* bytes of their values */
    bool untied; /* the language head is the model's own, though config.json
                    says that it is the embedding */
} rlf_merged;

/* Write config.json, generation_config.json and the safetensors of the model in
 * `base` with the adapter in `adapter`, directories, into `dir`, which is
 * there: in as many files, with an index if they are several. Each value is
 * computed in double precision and rounded once more, to the type of its
 * tensor; other tensors are as they were. A scalar head that was trained with
 * the adapter is taken, and if that was made for one the model's only head.
 * Takes memory of 1 MB and of the two matrices of one adapter. RLF_USER as when
 * a program reads the model with the adapter, and where a value is not finite.
 */
rlf_status rlf_merge_write(const char *base, const char *adapter,
                           const char *dir, rlf_arena *arena, rlf_err *err,
                           rlf_merged *out);

#endif
