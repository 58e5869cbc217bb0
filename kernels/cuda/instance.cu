/* The table of a type on the GPU: which function does an operation. A type
 * that has a better one than the sources it shares names it here.
 *
 * Every call tells the queue's hook before and after, as kernels/cpu does; what
 * a hook measures is the time to launch. */
#include "kernels/cuda/attention_mma.h"
#include "kernels/cuda/norm_grad.h"
#include "kernels/cuda/ops.h"
#include "kernels/cuda/product_mma.h"

/* Logits of a tile of the head: large enough that the head's weights and their
 * gradients are read seldom, small enough to stay a small part of the memory.
 */
static constexpr int64_t HEAD_TILE = EMULATED ? 8 << 20 : 256 << 20;

/* Choices that differ between the types. */
#define EITHER_f32(f32, bf16) f32
#define EITHER_bf16(f32, bf16) bf16
#define EITHER_OF(type, f32, bf16) EITHER_##type(f32, bf16)
#define EITHER_IN(type, f32, bf16) EITHER_OF(type, f32, bf16)
#define EITHER(f32, bf16) EITHER_IN(RLF_TYPE, f32, bf16)

constexpr rlf_kernels TYPED(rows) = [] {
    rlf_kernels t = {
#ifdef RLF_CUDA_EMULATED
        .backend = "emulated",
#else
        .backend = "cuda",
#endif
        .isa = EITHER("f32", "bf16"),
        .real = EITHER(RLF_CAST_F32, RLF_CAST_BF16),
        .one_pack = true,
        .product_packed_bytes = EITHER(TYPED(product_packed_bytes),
                                       CUDA(mma_packed_bytes)),
        .head_tile = HEAD_TILE,
        .head_work_bytes = TYPED(head_work_bytes),
    };
#define OP(op, doc, flops, bytes) t.op = TYPED(op);
#include "kernels/op.def"
#undef OP
    t.expr_dense = CUDA(expr_dense);
    if constexpr (EITHER(false, true)) {
        t.product_pack = CUDA(mma_pack);
        t.product = CUDA(mma_product);
        t.product_glu = CUDA(mma_product_glu);
        t.product_grad = CUDA(mma_product_grad);
        t.rmsnorm_grad = CUDA(rmsnorm_grad_tiles);
        t.attention = CUDA(mma_attention);
        t.attention_paged = CUDA(mma_attention_paged);
        t.attention_grad = CUDA(mma_attention_grad);
    }
    return t;
}();

#define OP(op, doc, flops, bytes)                                              \
    static rlf_status call_##op(rlf_queue *queue, const rlf_##op##_args *args, \
                                rlf_err *err)                                  \
    {                                                                          \
        if (!queue->hook)                                                      \
            return TYPED(rows).op(queue, args, err);                           \
        queue->hook(queue->hook_ctx, #op, true);                               \
        rlf_status status = TYPED(rows).op(queue, args, err);                  \
        queue->hook(queue->hook_ctx, #op, false);                              \
        return status;                                                         \
    }
#include "kernels/op.def"
#undef OP

#ifdef RLF_CUDA_EMULATED
#define TABLE EITHER(rlf_kernels_emulated, rlf_kernels_emulated_bf16)
#else
#define TABLE EITHER(rlf_kernels_cuda, rlf_kernels_cuda_bf16)
#endif

extern "C" const rlf_kernels *
TABLE(void)
{
    static constexpr rlf_kernels table = [] {
        rlf_kernels t = TYPED(rows);
#define OP(op, doc, flops, bytes) t.op = call_##op;
#include "kernels/op.def"
#undef OP
        return t;
    }();
    return &table;
}
