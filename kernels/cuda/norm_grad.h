/* The gradient of RMSNorm in bf16: see norm_grad.cu. As the operation of
 * kernels.h, but that dweight adds up tiles of rows. */
#ifndef RLF_KERNELS_CUDA_NORM_GRAD_H
#define RLF_KERNELS_CUDA_NORM_GRAD_H

#include "kernels/cuda/ops.h"

extern "C" {
rlf_status CUDA(rmsnorm_grad_tiles)(rlf_queue *queue,
                                    const rlf_rmsnorm_grad_args *args,
                                    rlf_err *err);
}

#endif
