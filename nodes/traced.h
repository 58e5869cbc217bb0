/* Facts about the sample that is looked at (engine/graph/sample_trace.h), as
 * several classes tell them. */
#ifndef RLF_NODES_TRACED_H
#define RLF_NODES_TRACED_H

#include "engine/graph/sample_trace.h"
#include "nodes/operations.h"

/* Member ,"terms":[...]: each operation that somebody has written, in the order
 * of the program, with its values at the sample. `only`: per operation whether
 * it counts; NULL: all do. `scalars`: also numbers that the step has once. How
 * many there are. */
int rlf_traced_terms(const rlf_sample_trace *trace, const rlf_traced_row *at,
                     const rlf_operations *all, const bool *only,
                     bool scalars, rlf_buf *fact);
/* As rlf_operations_open of the whole program, in as much memory as a sample
 * that is looked at may take. */
bool rlf_traced_open(const rlf_expr *expr, const rlf_expr_bind *bind,
                     rlf_arena *arena, rlf_operations *all);

#endif
