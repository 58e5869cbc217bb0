/* Expression programs over dense columns: rows, each with v words.
 *
 * A program whose rows are all alike (a token each, with the words of the
 * vocabulary below it) needs no spaces and no maps. It is lowered once from its
 * plan to steps that a device interprets: operands are named by where they
 * are, values of a row that each word needs are read and not spread, texts are
 * numbers. The operation expr_dense (kernels.h) runs it; a device reads the
 * image alone, the CPU runs the plan. The bits are those of kernels/expr.h.
 *
 * Operations that look at other rows, and random numbers, are not for this. */
#ifndef RLF_KERNELS_EXPR_DENSE_H
#define RLF_KERNELS_EXPR_DENSE_H

#include "engine/expr/expr.h"

typedef enum rlf_dense_place {
    RLF_DENSE_NONE,
    RLF_DENSE_ROW,    /* register of the row */
    RLF_DENSE_BLOCK,  /* a value of a block of its words */
    RLF_DENSE_KEPT,   /* a value of all its words */
    RLF_DENSE_INPUT,  /* column of the row, or of its words */
    RLF_DENSE_OUTPUT, /* an output, which is only written */
    RLF_DENSE_CONST,
    RLF_DENSE_LENGTH, /* the number of words of a row */
} rlf_dense_place;

typedef struct rlf_dense_operand {
    uint16_t place; /* rlf_dense_place */
    uint16_t index;
} rlf_dense_operand;

/* y = code(arg...): pointwise (SG: a copy) and AT_LAST at each row or word,
 * reductions of words to the row, scans over all words of it. */
typedef struct rlf_dense_step {
    rlf_dense_operand y, arg[3];
    uint32_t code; /* rlf_expr_code */
} rlf_dense_step;

typedef enum rlf_dense_kind {
    RLF_DENSE_ROWS,  /* steps on values of the row */
    RLF_DENSE_WORDS, /* it works on the row's words, block by block; reductions
                        come last */
    RLF_DENSE_SCANS, /* it works on all words of the row */
} rlf_dense_kind;

typedef struct rlf_dense_pass {
    uint32_t kind;         /* rlf_dense_kind */
    uint32_t first, count; /* steps, */
    uint32_t reductions;   /* the number of reductions behind them */
} rlf_dense_pass;

/* In one piece of memory, so that one copy brings it to a device. */
typedef struct rlf_dense_image {
    uint32_t bytes; /* with this */
    uint32_t n_passes, n_rows, n_blocks, n_kept;
    uint32_t ranks;                 /* there is a RANK */
    uint32_t chains;                /* there is a running sum */
    uint32_t passes, steps, values; /* offsets of the arrays, bytes */
} rlf_dense_image;

/* Read-only once made; as many runs at the same time as one likes. */
typedef struct rlf_expr_dense {
    const struct rlf_expr_plan *plan;
    int rows, words; /* its domains; words -1: none */
    bool has_words;  /* steps on words */
    uint32_t n_inputs, n_outputs;
    const bool *of_words; /* per input, then per output: on words */
    const rlf_dense_image *image;
} rlf_expr_dense;

/* One domain of rows, one of tokens below it: the words. No texts go in or out.
 * RLF_BUG if rows look at others. What is live in the program is none of this
 * function's business. */
rlf_status rlf_expr_dense_new(const rlf_expr *expr, rlf_arena *arena,
                              rlf_err *err, const rlf_expr_dense **out);

/* The work on a row with v words: operations, one for each value that is made
 * or reduced, and bytes of columns, those of rows in f64. */
typedef struct rlf_dense_work {
    double ops, read, written;
} rlf_dense_work;
rlf_dense_work rlf_expr_dense_work(const rlf_expr *expr, double v);

#endif
