/* Declarations that the files of this folder share: names per instruction set,
 * checks, and the products that other operations are built of. */
#ifndef RLF_KERNELS_CPU_OPS_H
#define RLF_KERNELS_CPU_OPS_H

#include "kernels/cpu/activations.h"
#include "kernels/cpu/run.h"
#include "kernels/kernels.h"

#ifndef RLF_ISA
#error "compile with -DRLF_ISA=portable, v3, v4 or v4_bf16"
#endif
#define ISA_PASTE_(isa, type, name) rlf_cpu_##isa##_##type##_##name
#define ISA_PASTE(isa, type, name) ISA_PASTE_(isa, type, name)
#define ISA(name) ISA_PASTE(RLF_ISA, RLF_TYPE, name)

/* The set v4_bf16 differs from v4 in products alone: what makes none is that of
 * v4, by whichever name it is called. */
// clang-format off
#define rlf_cpu_v4_bf16_bf16_kv_write rlf_cpu_v4_bf16_kv_write
#define rlf_cpu_v4_bf16_bf16_attention rlf_cpu_v4_bf16_attention
#define rlf_cpu_v4_bf16_bf16_attention_paged rlf_cpu_v4_bf16_attention_paged
#define rlf_cpu_v4_bf16_bf16_attention_grad rlf_cpu_v4_bf16_attention_grad
#define rlf_cpu_v4_bf16_bf16_rmsnorm rlf_cpu_v4_bf16_rmsnorm
#define rlf_cpu_v4_bf16_bf16_norm_sums rlf_cpu_v4_bf16_norm_sums
#define rlf_cpu_v4_bf16_bf16_rmsnorm_grad rlf_cpu_v4_bf16_rmsnorm_grad
#define rlf_cpu_v4_bf16_bf16_rope_table rlf_cpu_v4_bf16_rope_table
#define rlf_cpu_v4_bf16_bf16_rope rlf_cpu_v4_bf16_rope
#define rlf_cpu_v4_bf16_bf16_layernorm rlf_cpu_v4_bf16_layernorm
#define rlf_cpu_v4_bf16_bf16_layernorm_grad rlf_cpu_v4_bf16_layernorm_grad
#define rlf_cpu_v4_bf16_bf16_dropout rlf_cpu_v4_bf16_dropout
#define rlf_cpu_v4_bf16_bf16_adamw rlf_cpu_v4_bf16_adamw
#define rlf_cpu_v4_bf16_bf16_sumsq rlf_cpu_v4_bf16_sumsq
// clang-format on

/* Bytes of scratch that a thread of a queue has at least. */
#define SCRATCH_BYTES ((size_t)1 << 20)

#define OP(name, doc, flops, bytes)                                        \
    rlf_status ISA(name)(rlf_queue * queue, const rlf_##name##_args *args, \
                         rlf_err *err);
#include "kernels/op.def"
#undef OP

size_t ISA(product_packed_bytes)(int64_t rows, int64_t cols,
                                 rlf_product_form form);
size_t ISA(head_work_bytes)(int64_t rows, int64_t v, int64_t d,
                            const rlf_head_part *part);

/* Columns first..last-1 of product's c for the rows row..row+n_rows-1, in the
 * calling thread; `first` is a multiple of 768 (or of the panel width). */
void ISA(product_part)(const rlf_product_args *args, int64_t row,
                       int64_t n_rows, int64_t first, int64_t last,
                       char *scratch);

static inline int64_t
or_dense(int64_t ld, int64_t dense)
{
    return ld ? ld : dense;
}

/* Refuse sizes that cannot be meant. Needs `err`. */
#define NEED(condition, op)                                                 \
    do {                                                                    \
        if (!(condition))                                                   \
            return rlf_fail(err, RLF_BUG, "wrong arguments for %s: not %s", \
                            op, #condition);                                \
    } while (0)

#endif
