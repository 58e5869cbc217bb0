/* A weight's form in files: where the elements of a slot are in the tensor of
 * the files that has them.
 *
 * A slot is a matrix [outputs, inputs] or a vector, for kernels know one
 * layout. Files may have several slots side by side as one tensor (Phi-3's
 * qkv_proj), matrices transposed (GPT-2), the two rows that are rotated
 * together side by side (Cohere), q, k and v head by head (GPT-NeoX), a matrix
 * that is added and never multiplied with (GPT-2's positions). That is undone
 * in reading and made again in saving, exactly. */
#ifndef RLF_MODEL_FORM_H
#define RLF_MODEL_FORM_H

#include "engine/io/safetensors.h"
#include "nodes/model/table.h"

/* Is it in files as it is here, perhaps with others before and behind it? */
bool rlf_form_is_plain(const rlf_slot *slot);
/* Is it the last one of its tensor? */
bool rlf_form_ends(const rlf_slot *slot);
/* Name and shape of the tensor; all else is 0. */
rlf_tensor rlf_form_tensor(const rlf_slot *slot);
/* Element i of the slot in the tensor. */
int64_t rlf_form_place(const rlf_slot *slot, int64_t i);
/* n elements of the slot from `at` on, as rlf_tensor_read_f32. */
rlf_status rlf_form_read(const rlf_slot *slot, const rlf_tensor *tensor,
                         int64_t at, int64_t n, rlf_err *err, float *values);
/* All elements of the slot to where the tensor has them. */
void rlf_form_put(const rlf_slot *slot, const float *values, float *tensor);

#endif
