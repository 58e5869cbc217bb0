/* Products of bf16 on tensor cores: see product_mma.cu. As the operations of
 * kernels.h, but that one packing serves both forms and shards are one sum. */
#ifndef RLF_KERNELS_CUDA_PRODUCT_MMA_H
#define RLF_KERNELS_CUDA_PRODUCT_MMA_H

#include "kernels/cuda/measure.h"

extern "C" {
size_t CUDA(mma_packed_bytes)(int64_t rows, int64_t cols,
                              rlf_product_form form);
rlf_status CUDA(mma_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
                          rlf_err *err);
rlf_status CUDA(mma_product)(rlf_queue *queue, const rlf_product_args *args,
                             rlf_err *err);
rlf_status CUDA(mma_product_glu)(rlf_queue *queue,
                                 const rlf_product_glu_args *args,
                                 rlf_err *err);
/* Are logits of such activations measured by their product on this GPU? Errors
 * are those of group_tiles() (algorithms.h). */
rlf_status CUDA(mma_measures)(rlf_queue *queue, const void *x, int64_t ldx,
                              int64_t d, bool *out, rlf_err *err);
/* Logits and their measures; args->c NULL: only these. */
rlf_status CUDA(mma_logits)(rlf_queue *queue, const rlf_product_args *args,
                            const measures *measured, rlf_err *err);
rlf_status CUDA(mma_product_grad)(rlf_queue *queue,
                                  const rlf_product_grad_args *args,
                                  rlf_err *err);
}

#endif
