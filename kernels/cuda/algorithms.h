/* The algorithms of products on a GPU. Which one it is depends on the GPU
 * and on the libraries that are there, and it decides bits, so it is an input
 * of a run. */
#ifndef RLF_KERNELS_CUDA_ALGORITHMS_H
#define RLF_KERNELS_CUDA_ALGORITHMS_H

#include "engine/base/str.h"
#include "engine/dev/dev.h"
#include "kernels/kernels.h"

/* Does the queue's GPU multiply by warp groups? Then all forward products of
 * bf16 are made so, and their bits are those of this way. It is tried once. */
bool rlf_group_tiles(rlf_queue *queue);
/* All that decides, in words: nothing for f32, whose bits are those of the CPU.
 * `capability` is 90 for 9.0; `version` that of cuBLASLt, 0: it is not there.
 */
void rlf_cuda_algorithms(rlf_cast_type real, int capability, bool groups,
                         size_t version, rlf_buf *out);
/* For rlf_backend: the same of the queue's GPU. */
void rlf_cuda_products(rlf_queue *queue, rlf_cast_type real, rlf_buf *out);

#endif
