/* Forward products by warp groups, where the GPU has them. */
#ifndef RLF_KERNELS_CUDA_PRODUCT_WGMMA_H
#define RLF_KERNELS_CUDA_PRODUCT_WGMMA_H

#include "kernels/cuda/product_tile.h"

extern "C" {
#include "kernels/cuda/algorithms.h"
}

/* p: neither operand turned; its parts are cut. */
rlf_status CUDA(group_product)(rlf_queue *queue, const matmul &p, rlf_err *err);
/* Up to 64 rows; columns are gates beside ups, c is what glu makes of them.
 * Loads of 16 bytes are aligned. */
rlf_status CUDA(group_gated)(rlf_queue *queue, const matmul &p, rlf_err *err);
/* The same as CUDA(group_product) with p.measured; loads of 16 bytes are
 * aligned.
 */
rlf_status CUDA(group_logits)(rlf_queue *queue, const matmul &p, rlf_err *err);

#endif
