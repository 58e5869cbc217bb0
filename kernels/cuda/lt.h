/* Products by cuBLASLt, for what need not have the bits of our own: gradients,
 * by activations and by weights.
 *
 * The library is found at run time, so a program built with CUDA starts where
 * it is not installed. What is asked of it is deterministic: the same sizes on
 * the same GPU and library give the same algorithm and the same bits. */
#ifndef RLF_KERNELS_CUDA_LT_H
#define RLF_KERNELS_CUDA_LT_H

#include "engine/base/status.h"
#include "engine/dev/dev.h"

/* c[m, n] = start + a b^T of bf16, rows ld apart: a is [m][k], turned [k][m]; b
 * is [n][k], turned [k][n]. start is c if `add`, else 0. */
typedef struct rlf_lt_product {
    int64_t m, n, k;
    const void *a, *b;
    int64_t lda, ldb, ldc;
    bool a_turned, b_turned;
    void *c;
    bool c_f32, add;
    int offer; /* the number of the algorithm among those that the library
                  offers, from the one that it thinks best; RLF_AGAIN if there
                  are fewer */
} rlf_lt_product;

/* Multiplies in queue order. RLF_AGAIN: not by cuBLASLt (it is not there, or
 * does not take these sizes); nothing was done. */
rlf_status rlf_lt_multiply(rlf_queue *queue, const rlf_lt_product *product,
                           rlf_err *err);

/* The version of the library; 0: it is not there. */
size_t rlf_lt_version(rlf_queue *queue);
/* The reason why it is not there, for people; NULL: it is. */
const char *rlf_lt_missing(rlf_queue *queue);

#endif
