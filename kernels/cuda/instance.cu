/* The table of the GPU. Every call tells the queue's hook before and after, as
 * kernels/cpu does; what a hook measures is the time to launch. */
#include "kernels/cuda/ops.h"

#define OP(op, doc, flops, bytes)                                              \
    static rlf_status call_##op(rlf_queue *queue, const rlf_##op##_args *args, \
                                rlf_err *err)                                  \
    {                                                                          \
        if (!queue->hook)                                                      \
            return CUDA(op)(queue, args, err);                                 \
        queue->hook(queue->hook_ctx, #op, true);                               \
        rlf_status status = CUDA(op)(queue, args, err);                        \
        queue->hook(queue->hook_ctx, #op, false);                              \
        return status;                                                         \
    }
#include "kernels/op.def"
#undef OP

#ifdef RLF_CUDA_EMULATED
#define TABLE rlf_kernels_emulated
#define BACKEND "emulated"
#else
#define TABLE rlf_kernels_cuda
#define BACKEND "cuda"
#endif

extern "C" const rlf_kernels *
TABLE(void)
{
    static const rlf_kernels table = {
        .backend = BACKEND,
        .isa = "f32",
        .real = RLF_CAST_F32,
        .product_packed_bytes = CUDA(product_packed_bytes),
        .head_work_bytes = CUDA(head_work_bytes),
#define OP(op, doc, flops, bytes) .op = call_##op,
#include "kernels/op.def"
#undef OP
    };
    return &table;
}
