/* The origin of a model's tensors: the safetensors of a Hugging Face
 * directory, or first values; those of adapters from a directory of their own;
 * tensors by name, checked against the table.
 *
 * The way from what is read to the ranks that hold it is in weights.h. */
#ifndef RLF_MODEL_ORIGIN_H
#define RLF_MODEL_ORIGIN_H

#include "engine/io/safetensors.h"
#include "nodes/model/model.h"

/* The source of weights. */
typedef struct rlf_weights_origin {
    const char *dir; /* the directory whose safetensors have them; NULL: they
                        are first values */
    uint64_t seed;   /* the seed of first values */
    /* Of a model with adapters: whose adapter_model.safetensors has them, and a
     * scalar head that was trained with them; NULL: first values. */
    const char *adapter;
    /* Models in between, each a copy of the one behind it: a tensor that one of
     * them has not is 0. */
    const rlf_table *const *copies;
    int n_copies;
} rlf_weights_origin;

/* A config that ties the head to the embedding, beside files that have both and
 * not the same values: the head of the files is taken, and the config no longer
 * ties it (`untied` says so). */
rlf_status rlf_weights_tie(const char *dir, rlf_model_config *config,
                           rlf_err *err);
/* An origin as far as it is known without its numbers. */
typedef struct rlf_weights_known {
    const char *half; /* the type of tensors of 16 bits, as a file has it, or
                         NULL */
    bool blank_score; /* the scalar head begins as 0 */
    bool idle_score; /* the adapter has a scalar head, but the model has none */
} rlf_weights_known;

/* Checks that a model can be filled from it, as far as can be known so. */
rlf_status rlf_weights_check(const rlf_table *table,
                             const rlf_weights_origin *origin, rlf_err *err,
                             rlf_weights_known *out);

/* Finds the tensors of the whole model, but for those of adapters, that it has
 * in bf16: [slots], in `arena` (rlf_model_options.bf16); NULL: none. */
rlf_status rlf_weights_bf16(const rlf_table *table,
                            const rlf_weights_origin *origin, rlf_arena *arena,
                            rlf_err *err, const bool **out);

/* Returns how what was saved in `dir`, a model or adapters, is of another shape
 * than the table `whole`, for which `by` asks: the first tensor, as a part of a
 * sentence in `arena`. NULL: it is of that shape, or cannot be opened. */
const char *rlf_weights_differ(const rlf_table *whole, const char *dir,
                               const char *by, rlf_arena *arena);

/* An origin that is open. */
typedef struct rlf_weights_source {
    const rlf_weights_origin *origin;
    rlf_safetensors *file;  /* NULL: first values */
    rlf_safetensors *adapter;
    rlf_safetensors *state; /* the file of a checkpoint with masters; or NULL */
} rlf_weights_source;

/* Opens its files, if it has any; `state` stays NULL. RLF_USER: they have
 * tensors that a model of the table `whole` has not. To be closed whatever the
 * status. */
rlf_status rlf_weights_source_open(const rlf_table *whole,
                                   const rlf_weights_origin *origin,
                                   rlf_err *err, rlf_weights_source *out);
void rlf_weights_source_close(rlf_weights_source *from);

/* The file's tensor for a slot, of its shape; *out = NULL: it is 0, or a first
 * value. RLF_USER: it is lacking, of another shape, or of integers. */
rlf_status rlf_weights_source_find(const rlf_table *whole,
                                   const rlf_weights_source *from,
                                   const rlf_slot *slot, rlf_err *err,
                                   const rlf_tensor **out);
/* Reads n values of tensor `tensor` of the whole model, from `at` on. RLF_USER
 * also where one is not finite. */
rlf_status rlf_weights_source_read(const rlf_model *model,
                                   const rlf_weights_source *from, int tensor,
                                   int64_t at, int64_t n, float *values,
                                   rlf_err *err);

/* Is a tensor of numbers, and of the shape of `want`? RLF_USER if not. */
rlf_status rlf_weights_source_fits(const rlf_tensor *want, const rlf_tensor *x,
                                   rlf_err *err);

#endif
