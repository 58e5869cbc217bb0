/* Attention of bf16 on tensor cores: see attention_mma.cu and
 * attention_mma_grad.cu. As the operations of kernels.h; rows of activations
 * begin at multiples of 16 bytes. */
#ifndef RLF_KERNELS_CUDA_ATTENTION_MMA_H
#define RLF_KERNELS_CUDA_ATTENTION_MMA_H

#include "kernels/cuda/ops.h"

extern "C" {
rlf_status CUDA(mma_attention)(rlf_queue *queue, const rlf_attention_args *args,
                               rlf_err *err);
rlf_status CUDA(mma_attention_paged)(rlf_queue *queue,
                                     const rlf_attention_paged_args *args,
                                     rlf_err *err);
rlf_status CUDA(mma_attention_grad)(rlf_queue *queue,
                                    const rlf_attention_grad_args *args,
                                    rlf_err *err);
}

#endif
