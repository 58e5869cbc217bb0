/* Finds how far operations look, which decides micro-batches.
 *
 * An operation is local when its arguments are on the same rows domain (or its
 * tokens); the rest crosses rows and needs all of them before it starts. */
#include "engine/expr/expr.h"

bool
rlf_expr_crosses(const rlf_expr *expr, int index)
{
    const rlf_expr_op *op = &expr->ops.data[index];
    int rows = rlf_domain_rows(expr->domains, op->domain);
    if (op->code == RLF_EXPR_RANK || op->code == RLF_EXPR_ROTATE ||
        op->code == RLF_EXPR_UNROTATE)
        return rlf_domain_rows(expr->domains, op->over) != rows;
    for (int k = 0; k < rlf_expr_arity(op->code); k++) {
        int from = expr->ops.data[op->arg[k]].domain;
        if (from != op->domain && from != rows && op->domain != rows)
            return true;
        if (rlf_domain_rows(expr->domains, from) != rows)
            return true;
    }
    return false;
}

/* The reach of `op` to live inputs, given that of its arguments (-1: nothing).
 */
static int
sees(const rlf_expr *expr, const int *seen, int index)
{
    const rlf_expr_op *op = &expr->ops.data[index];
    if (op->code == RLF_EXPR_INPUT)
        return expr->inputs.data[op->index].live ? RLF_REACH_POINT : -1;
    int most = -1;
    for (int k = 0; k < rlf_expr_arity(op->code); k++)
        if (seen[op->arg[k]] > most)
            most = seen[op->arg[k]];
    if (most < 0)
        return -1;
    bool point = rlf_expr_is_pointwise(op->code);
    int step = rlf_expr_crosses(expr, index) ? RLF_REACH_BATCH
               : point                       ? RLF_REACH_POINT
                                             : RLF_REACH_SAMPLE;
    return step > most ? step : most;
}

rlf_reach
rlf_expr_reach(const rlf_expr *expr, int output)
{
    int last = expr->outputs.data[output].op;
    rlf_arena *arena = rlf_arena_new();
    int *seen = RLF_NEW_ARRAY(arena, int, last + 1);
    for (int i = 0; i <= last; i++)
        seen[i] = sees(expr, seen, i);
    int reach = seen[last] < 0 ? RLF_REACH_POINT : seen[last];
    rlf_arena_free(arena);
    return (rlf_reach)reach;
}

bool *
rlf_expr_depends(const rlf_expr *expr, rlf_arena *arena)
{
    bool *depends = RLF_NEW_ARRAY(arena, bool, expr->ops.count + 1);
    for (size_t i = 0; i < expr->ops.count; i++) {
        const rlf_expr_op *op = &expr->ops.data[i];
        if (op->code == RLF_EXPR_INPUT)
            depends[i] = expr->inputs.data[op->index].live;
        for (int k = 0; k < rlf_expr_arity(op->code); k++)
            depends[i] |= depends[op->arg[k]];
    }
    return depends;
}
