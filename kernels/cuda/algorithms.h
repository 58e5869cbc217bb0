/* The algorithms of products on a GPU. Which one it is depends on the GPU
 * and on the libraries that are there, and it decides bits, so it is an input
 * of a run. */
#ifndef RLF_KERNELS_CUDA_ALGORITHMS_H
#define RLF_KERNELS_CUDA_ALGORITHMS_H

#include "engine/base/str.h"
#include "engine/dev/dev.h"
#include "kernels/kernels.h"

/* Tells whether the queue's device multiplies by warp groups. Then all forward
 * products of bf16 are made so, and their bits are those of this way. The first
 * call tries them, unless `use` has decided, and waits for the queue: they are
 * not used where a result is wrong. RLF_ENV: the trial failed; the next call
 * makes it again. */
rlf_status rlf_cuda_group_tiles(rlf_queue *queue, bool *out, rlf_err *err);
/* Decides it for all queues of the device. */
void rlf_cuda_group_use(rlf_device *device, bool use);
/* The same of the emulation. */
rlf_status rlf_emulated_group_tiles(rlf_queue *queue, bool *out, rlf_err *err);
void rlf_emulated_group_use(rlf_device *device, bool use);
/* RLF_ENV where attention in bf16 gives a token other bits in another batch,
 * or where the trial failed. Waits for the queue. */
rlf_status rlf_cuda_try_attention(rlf_queue *queue, rlf_err *err);
rlf_status rlf_emulated_try_attention(rlf_queue *queue, rlf_err *err);
/* Tells whether the device is of a kind that has warp groups. */
bool rlf_cuda_has_groups(rlf_queue *queue);
bool rlf_emulated_has_groups(rlf_queue *queue);
/* A line for rlf_backend.prepare where they have been found wrong. */
extern const char rlf_cuda_groups_wrong[];
/* All that decides, in words: nothing for f32, whose bits are those of the CPU.
 * `capability` is 90 for 9.0; `version` that of cuBLASLt, 0: it is not there.
 */
void rlf_cuda_algorithms(rlf_cast_type real, int capability, bool groups,
                         size_t version, rlf_buf *out);

/* For rlf_backend, of GPUs. The set has this bit: */
#define RLF_BY_WARP_GROUPS 1u
rlf_status rlf_cuda_prepare(rlf_queue *queue, rlf_cast_type real,
                            uint32_t *algorithms, rlf_buf *notes, rlf_err *err);
void rlf_cuda_choose(rlf_queue *queue, rlf_cast_type real, uint32_t algorithms,
                     rlf_buf *out);

#endif
