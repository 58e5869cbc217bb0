/* Running expression programs over ragged columns.
 *
 * A plan (expr_plan.c) cuts a program into stages at the operations that cross
 * rows. Within a stage every row is carried through all operations at once, in
 * blocks of tokens that stay in the cache; only what crosses a stage is stored.
 * All arithmetic is f64 with the functions of engine/base/fmath.h. What is
 * reduced over a row's tokens goes to 256 lanes, token i to lane i % 256, each
 * in order; then lane l takes lane l + 128, + 64 ... + 1. Sums over rows go one
 * after another. So neither threads nor the pieces that a program is run in
 * change a bit, and every machine gives the same.
 *
 * Domains of vocabulary are not run here: they never leave the head's kernels.
 */
#ifndef RLF_KERNELS_EXPR_H
#define RLF_KERNELS_EXPR_H

#include "engine/dev/dev.h"
#include "engine/expr/expr.h"
#include "engine/expr/space.h"

/* Read-only once made; as many runs at the same time as one likes. */
typedef struct rlf_expr_plan rlf_expr_plan;

/* The operands that a program is run on. Columns lie in host memory. */
typedef struct rlf_expr_bind {
    const rlf_column *inputs; /* one an input of the program */
    /* One an output; number and text both NULL: not wanted. `space` says where
     * it lives and storage for its extent is the caller's. An output never
     * shares storage with an input. */
    const rlf_column *outputs;
    /* Spaces that no input or output column is on or below, indexed by domain;
     * entries and the array itself may be NULL. */
    const rlf_space *const *spaces;
    uint64_t seed;      /* the run's seed, of UNIFORM */
    uint32_t step;      /* the step, */
    uint64_t iteration; /* a hash of the loop counters around it, or 0 */
} rlf_expr_bind;

/* Tokens first..last-1 of a row; last is cut to the row's length. Values of the
 * row itself are computed whatever the range. */
typedef struct rlf_expr_part {
    uint32_t row, first, last;
} rlf_expr_part;

/* RLF_USER for a program with a vocabulary domain, RLF_BUG for one that breaks
 * the law of expr.h. The plan lives in `arena`, and keeps pointing to names and
 * domains of `expr`. */
rlf_status rlf_expr_plan_new(const rlf_expr *expr, rlf_arena *arena,
                             rlf_err *err, const rlf_expr_plan **out);

/* Compute all outputs. RLF_USER for a choice of texts by a NaN, with its place.
 * `queue` may be NULL; if it has a hook, the hook sees operation "expr".
 * Returns when the work is done. */
rlf_status rlf_expr_run(const rlf_expr_plan *plan, rlf_queue *queue,
                        const rlf_expr_bind *bind, rlf_err *err);

/* A piece: only rows `rows` (ascending) of the ROWS domain `domain` and what
 * lies above and below them. Nothing else is read or written. The bits are
 * those of a whole run for outputs that need no other rows (a reduction over a
 * group needs the whole group among `rows`); scalar outputs are not computed.
 */
rlf_status rlf_expr_run_rows(const rlf_expr_plan *plan, rlf_queue *queue,
                             const rlf_expr_bind *bind, int domain,
                             const uint32_t *rows, uint32_t n_rows,
                             rlf_err *err);

/* An update by micro-batches: begin computes everything that does not depend
 * on live inputs, once and for all rows; each part then computes, for some rows
 * of `domain`, the outputs on that domain and its tokens whose reach is at most
 * SAMPLE (a token range: POINT). Other outputs are left alone: for those,
 * rlf_expr_rest when all live values are there computes every output that
 * depends on live inputs. `bind` and its columns stay until the frame's arena
 * is reset. Parts must not run at the same time. */
typedef struct rlf_expr_frame rlf_expr_frame;
rlf_status rlf_expr_begin(const rlf_expr_plan *plan, rlf_queue *queue,
                          const rlf_expr_bind *bind, rlf_arena *arena,
                          rlf_err *err, rlf_expr_frame **out);
rlf_status rlf_expr_part_run(rlf_expr_frame *frame, int domain,
                             const rlf_expr_part *parts, uint32_t n_parts,
                             rlf_err *err);
rlf_status rlf_expr_rest(rlf_expr_frame *frame, rlf_err *err);

#endif
