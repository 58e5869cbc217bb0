/* Compiled calls: what a pass does, one operation after another.
 *
 * A call is the arguments of an operation of kernels/kernels.h as the operation
 * will get them, but for what is known only when it runs. Where a pointer
 * belongs it has a place, which is a block of memory and an offset: blocks
 * move, and passes and models are made apart. Its first number (of tokens, rows
 * or sequences), index arrays and pages are 0 and come from the micro-batch at
 * hand. compile.h makes calls of the rows of a model, once for a pass; cost.c
 * counts what they do. */
#ifndef RLF_MODEL_CALL_H
#define RLF_MODEL_CALL_H

#include "kernels/kernels.h"
#include "nodes/model/model.h"

/* The blocks that places are counted from. */
typedef enum rlf_block {
    RLF_AT_NOTHING, /* NULL stays NULL */
    /* of a pass */
    RLF_AT_VALUES, /* what lives through forward and backward */
    RLF_AT_LAYER, /* memory of the call's layer: its own, shared, or borrowed */
    RLF_AT_SCRATCH, /* gradients on their way; of the pass or lent */
    RLF_AT_HIDDEN,  /* rlf_pass.hidden, and so on */
    RLF_AT_RSTD,
    RLF_AT_D_HIDDEN,
    RLF_AT_D_X,
    RLF_AT_TOKENS,
    RLF_AT_POSITIONS,
    RLF_AT_ROWS,
    RLF_AT_KEYS,
    /* what is of a model: */
    RLF_AT_WEIGHTS,  /* weights as the table has them: vectors only */
    RLF_AT_ONE_PLUS, /* 1 + these */
    RLF_AT_GRADIENT,
    RLF_AT_COSINES, /* the offset is an rlf_rotation */
    RLF_AT_SINES,
    RLF_AT_PACKED, /* the offset is the matrix's number */
    RLF_AT_PACKED_BACK,
    RLF_N_BLOCKS
} rlf_block;

/* A block and bytes from its beginning, as a pointer holds them. */
typedef uintptr_t rlf_address;

static inline rlf_address
rlf_address_at(rlf_block block, int64_t bytes)
{
    return ((rlf_address)block << 48) + (rlf_address)bytes;
}

static inline rlf_block
rlf_address_block(rlf_address place)
{
    return (rlf_block)(place >> 48);
}

/* The meaning of a call's first number. */
typedef enum rlf_count {
    RLF_COUNT_TOKENS,
    RLF_COUNT_ROWS, /* tokens whose output is wanted */
    RLF_COUNT_SEQUENCES,
    RLF_N_COUNTS
} rlf_count;

/* The operations that passes are made of, without heads. */
// clang-format off
#define RLF_CALL_OPS(X)                                                  \
    X(product) X(product_glu) X(product_grad) X(bias_grad)            \
    X(embed) X(embed_grad) X(rows_gather) X(rows_scatter)                \
    X(rmsnorm) X(rmsnorm_grad) X(norm_sums)                              \
    X(layernorm) X(layernorm_grad) X(rope) X(glu) X(glu_grad)      \
    X(add) X(clip) X(dropout)                                            \
    X(kv_write) X(attention) X(attention_paged) X(attention_grad)
// clang-format on

/* Calls that are no kernel's, behind those of rlf_op. */
enum {
    RLF_CALL_SUM = RLF_N_OPS, /* `to` becomes the sum over ranks */
    RLF_CALL_SUM_F32,         /* ... of floats */
    RLF_CALL_SUM_COPIES,      /* over those that hold the same heads */
    RLF_CALL_COPY,            /* `from` to `to` */
    RLF_CALL_ZERO,            /* 0 to `to` */
    RLF_CALL_BRING            /* the layer's matrices, of an offloaded model */
};

typedef struct rlf_move_args {
    int64_t m, width; /* dense */
    rlf_real *to;
    const rlf_real *from;
} rlf_move_args;

typedef struct rlf_kernel_call {
    uint8_t op;    /* rlf_op or one of the above */
    uint8_t count; /* rlf_count */
    bool prefetch; /* a product, before keys and values go to their pages */
    int layer;     /* the layer whose AT_LAYER it means */
    union {
        rlf_move_args move;
#define X(name) rlf_##name##_args name;
        RLF_CALL_OPS(X)
#undef X
    };
} rlf_kernel_call;

/* Calls one after another. */
typedef struct rlf_kernel_calls {
    RLF_VEC(rlf_kernel_call) list;
    struct rlf_rates
        *rates; /* the rates of calls that are counted instead (rates.h) */
} rlf_kernel_calls;

struct rlf_pass;
/* Carries the calls out on the micro-batch that the pass has at hand. Gradients
 * go where they were last selected (gradient.h). */
rlf_status rlf_calls_run(const rlf_kernel_calls *calls, const rlf_model *model,
                         const struct rlf_pass *pass, rlf_err *err);

#endif
