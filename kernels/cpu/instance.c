/* The table of one instruction set. Every call tells the queue's hook before
 * and after, so that a trace or a clock sees all operations alike. */
#include "kernels/cpu/ops.h"
#include "kernels/cpu/select.h"

#define OP(op, doc, flops, bytes)                                              \
    static rlf_status call_##op(rlf_queue *queue, const rlf_##op##_args *args, \
                                rlf_err *err)                                  \
    {                                                                          \
        if (!queue->hook)                                                      \
            return ISA(op)(queue, args, err);                                  \
        queue->hook(queue->hook_ctx, #op, true);                               \
        rlf_status status = ISA(op)(queue, args, err);                         \
        queue->hook(queue->hook_ctx, #op, false);                              \
        return status;                                                         \
    }
#include "kernels/op.def"
#undef OP

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const rlf_kernels ISA(kernels) = {
    .backend = "cpu",
    .isa = TEXT(RLF_ISA),
#if RLF_REAL_BITS == 32
    .real = RLF_CAST_F32,
    .bf16_weights = true,
#else
    .real = RLF_CAST_BF16,
#endif
    .product_packed_bytes = ISA(product_packed_bytes),
    .head_tile = 8 << 20, /* a small part of the memory, read from caches */
    .head_work_bytes = ISA(head_work_bytes),
#define OP(op, doc, flops, bytes) .op = call_##op,
#include "kernels/op.def"
#undef OP
};
