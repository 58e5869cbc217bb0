/* From the rows of a model to the calls of a pass, and where its values lie.
 *
 * Forward, each row becomes the calls of its operation. A value lies over one
 * that it is made of, if the operation allows that and nobody reads the old one
 * again; else in memory of its size that is free again; else in memory of its
 * own. What derivatives read is kept until they have read it.
 *
 * Backward, the rows are walked back. The gradient of a value is added to the
 * one that is there. Else it lies over the gradient that it is made of, if the
 * operation allows that and nobody else's gradient is there (a sum passes its
 * gradient on to both sides without a copy); else over the value itself, if no
 * derivative reads that any more; else in scratch. Gradients of values that are
 * side by side, and come from one product, are side by side too.
 *
 * Some rows are carried out together where that changes no bit (a product with
 * the gates behind it; norms of heads, rotation and pages). Sums over ranks and
 * copies are calls of their own. Recomputing a layer is its rows once more, but
 * for those that make nothing that a derivative reads. */
#ifndef RLF_MODEL_COMPILE_H
#define RLF_MODEL_COMPILE_H

#include "nodes/model/call.h"

/* Everything that the calls of a pass depend on, besides the model's table. */
typedef struct rlf_pass_options {
    int tokens;     /* T */
    bool train;     /* keeps what backward needs */
    bool recompute; /* ... but computes most of it again */
    int chunk;      /* the chunk whose layers a pass that trains has */
    bool lent;      /* has no scratch of its own: rlf_pass_lend */
    bool split;     /* backward leaves weights for later (transformer.h) */
    bool layers;    /* has what a layer keeps but for residuals, for others */
} rlf_pass_options;

typedef struct rlf_code {
    /* [chunks] of those that the pass has: packed sequences, or new tokens over
     * pages (of a pass that does not train). */
    rlf_kernel_calls *forward, *paged;
    rlf_kernel_calls
        again; /* the last layer of the model recomputed, before backward;
           not needed while its memory is as forward left it */
    rlf_kernel_calls backward;
    rlf_kernel_calls weights; /* the calls of a split backward that give the
                                 gradients of weights */
    /* Weights that are left so read the residual that came in, as products of
     * families without a norm before them do: it stays until then. */
    bool keeps_input;
    /* [chunks] where the residual comes in and goes out: of AT_VALUES */
    rlf_address *input, *output;
    /* Bytes of memory for T tokens: */
    size_t values, scratch;
    size_t *layer; /* [config.layers] of each layer */
} rlf_code;

/* Compiles a pass in `arena`; or finds its memory alone, without calls. */
const rlf_code *rlf_compile_pass(const rlf_table *table,
                                 const rlf_kernels *kernels,
                                 const rlf_pass_options *options,
                                 rlf_arena *arena);
const rlf_code *rlf_measure_pass(const rlf_table *table,
                                 const rlf_kernels *kernels,
                                 const rlf_pass_options *options,
                                 rlf_arena *arena);

#endif
