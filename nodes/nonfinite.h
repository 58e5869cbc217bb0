/* The operation of an expression program that first made a value which is not
 * finite: for messages, when a step fails for one.
 *
 * A program is run once more with all its operations as outputs, and the value
 * is followed back, index by index, to the first operation whose arguments are
 * finite. What a node was given is known by the node that made it:
 * rlf_env.nonfinite.
 */
#ifndef RLF_NODES_NONFINITE_H
#define RLF_NODES_NONFINITE_H

#include "engine/graph/class.h"
#include "nodes/operations.h"

/* The operation that made what operation `op` gives at place `at` of its column
 * (UINT64_MAX: at its first place that is not finite), and in `place` what is
 * to be said of it. It may be an INPUT. -1: that cannot be found out, or it is
 * finite. */
int rlf_nonfinite_find(const rlf_expr *expr, const rlf_expr_bind *bind, int op,
                       uint64_t at, const rlf_operations_piece *piece,
                       rlf_nonfinite_place *place);
/* The same where only the row of place `at` of a column of `space` is known for
 * certain, for others may not be there yet: the operation that made the first
 * value which is not finite among those of that row that go into `op`. What it
 * has become where the row ends, as the argument of a reduction, is in `value`.
 */
int rlf_nonfinite_find_below(const rlf_expr *expr, const rlf_expr_bind *bind,
                             int op, const rlf_space *space, uint64_t at,
                             double *value, rlf_nonfinite_place *place);
/* Note in rlf_env.nonfinite where outputs of an expression node were made that
 * are not finite. */
void rlf_nonfinite_note(const rlf_call *call, const rlf_expr_bind *bind);
/* The error of a choice of texts by a NaN, at the place where that was made. */
void rlf_nonfinite_place_choice(const rlf_call *call, const rlf_expr_bind *bind,
                                rlf_err *err);

#endif
