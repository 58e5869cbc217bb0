/* The table of a type on the GPU: which function does an operation. A type
 * that has a better one than the sources it shares names it here (EITHER).
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

constexpr rlf_kernels TYPED(rows) = {
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
    .product_pack = EITHER(TYPED(product_pack), CUDA(mma_pack)),
    .product = EITHER(TYPED(product), CUDA(mma_product)),
    .product_swiglu = EITHER(TYPED(product_swiglu), CUDA(mma_product_swiglu)),
    .product_grad = EITHER(TYPED(product_grad), CUDA(mma_product_grad)),
    .bias_grad = TYPED(bias_grad),
    .embed = TYPED(embed),
    .embed_grad = TYPED(embed_grad),
    .rows_gather = TYPED(rows_gather),
    .rows_scatter = TYPED(rows_scatter),
    .rmsnorm = TYPED(rmsnorm),
    .norm_sums = TYPED(norm_sums),
    .rmsnorm_grad = EITHER(TYPED(rmsnorm_grad), CUDA(rmsnorm_grad_tiles)),
    .layernorm = TYPED(layernorm),
    .layernorm_grad = TYPED(layernorm_grad),
    .rope_table = TYPED(rope_table),
    .rope = TYPED(rope),
    .swiglu = TYPED(swiglu),
    .swiglu_grad = TYPED(swiglu_grad),
    .add = TYPED(add),
    .clip = TYPED(clip),
    .dropout = TYPED(dropout),
    .axpby = TYPED(axpby),
    .fill = TYPED(fill),
    .cast = TYPED(cast),
    .kv_write = TYPED(kv_write),
    .attention = EITHER(TYPED(attention), CUDA(mma_attention)),
    .attention_paged = EITHER(TYPED(attention_paged),
                              CUDA(mma_attention_paged)),
    .attention_grad = EITHER(TYPED(attention_grad), CUDA(mma_attention_grad)),
    .head_logprob = TYPED(head_logprob),
    .head_loss = TYPED(head_loss),
    .sample = TYPED(sample),
    .adamw = TYPED(adamw),
    .sumsq = TYPED(sumsq),
    .expr_dense = CUDA(expr_dense),
};

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
