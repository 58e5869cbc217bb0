/* The values of all operations of an expression program, which is run once more
 * with each of them as an output: for messages about one of them, and for a
 * sample that is looked at. */
#ifndef RLF_NODES_OPERATIONS_H
#define RLF_NODES_OPERATIONS_H

#include "kernels/expr.h"

/* Rows of a piece; `rows` NULL: all. */
typedef struct rlf_operations_piece {
    int domain;
    const uint32_t *rows;
    uint32_t n_rows;
} rlf_operations_piece;

typedef struct rlf_operations {
    const rlf_expr *expr;
    const rlf_expr_bind *bind;
    const rlf_operations_piece *piece;
    rlf_column *values; /* per operation; number NULL: it is not known */
    bool *own;          /* per operation: its column was made here */
} rlf_operations;

/* The program with the inputs of `bind`, in at most so many bytes; lists are in
 * `arena`. False: that cannot be had. To be closed in any case. */
bool rlf_operations_open(const rlf_expr *expr, const rlf_expr_bind *bind,
                         const rlf_operations_piece *piece, size_t most,
                         rlf_arena *arena, rlf_operations *all);
void rlf_operations_close(rlf_operations *all);

#endif
