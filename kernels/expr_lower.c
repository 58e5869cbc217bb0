/* Writing composite reductions out in simple ones.
 *
 * mean, var and std become sums (two passes: the mean first, then squares of
 * what is away from it); a reduction of tokens over more than their row becomes
 * one over the row and one over the rows; min and max choose NaN where there is
 * nothing. What is left: SUM, LEAST and MOST from tokens to their row or from
 * rows to rows, and COUNT likewise. */
#include "kernels/expr_plan.h"

#include <math.h>

typedef struct lower {
    rlf_expr *to;
    rlf_span span;
} lower;

static int
point(lower *l, rlf_expr_code code, int a, int b, int c)
{
    return rlf_expr_pointwise(l->to, code, a, b, c, l->span);
}

static int
reduce_once(lower *l, rlf_expr_code code, int a, int domain)
{
    return rlf_expr_add(l->to, (rlf_expr_op){.code = code,
                                             .domain = domain,
                                             .arg = {a, -1, -1},
                                             .span = l->span});
}

/* code is SUM, LEAST or MOST, or COUNT (then the counts of rows add). The least
 * of nothing is infinite. */
static int
reduce(lower *l, rlf_expr_code code, int a, int domain)
{
    const rlf_domains *ds = l->to->domains;
    int below = l->to->ops.data[a].domain;
    int rows = rlf_domain_rows(ds, below);
    if (below == rows || domain == rows ||
        rlf_domains_get(ds, domain)->kind == RLF_DOMAIN_TOKENS)
        return reduce_once(l, code, a, domain);
    int inner = reduce_once(l, code, a, rows);
    return reduce_once(l, code == RLF_EXPR_COUNT ? RLF_EXPR_SUM : code, inner,
                       domain);
}

/* Of nothing it is not a number. */
static int
extreme(lower *l, rlf_expr_code code, int a, int domain)
{
    int n = reduce(l, RLF_EXPR_COUNT, a, domain);
    return point(l, RLF_EXPR_SELECT, n, reduce(l, code, a, domain),
                 rlf_expr_constant(l->to, (double)NAN, l->span));
}

static int
mean(lower *l, int a, int domain)
{
    int n = reduce(l, RLF_EXPR_COUNT, a, domain);
    int sum = reduce(l, RLF_EXPR_SUM, a, domain);
    return point(l, RLF_EXPR_SELECT, n, point(l, RLF_EXPR_DIV, sum, n, -1),
                 rlf_expr_constant(l->to, 0, l->span));
}

/* Exactly 0 for values that are all the same: their mean need not be, when
 * the sum rounds, and "is there any spread" is a question that programs ask. */
static int
variance(lower *l, int a, int domain)
{
    int one = rlf_expr_constant(l->to, 1, l->span);
    int zero = rlf_expr_constant(l->to, 0, l->span);
    int n = reduce(l, RLF_EXPR_COUNT, a, domain);
    int away = point(l, RLF_EXPR_SUB, a, mean(l, a, domain), -1);
    int squares =
        reduce(l, RLF_EXPR_SUM, point(l, RLF_EXPR_MUL, away, away, -1), domain);
    int var =
        point(l, RLF_EXPR_DIV, squares, point(l, RLF_EXPR_SUB, n, one, -1), -1);
    int several = point(l, RLF_EXPR_LT, one, n, -1);
    var = point(l, RLF_EXPR_SELECT, several, var, zero);
    if (rlf_domains_get(l->to->domains, domain)->kind == RLF_DOMAIN_TOKENS)
        return var;
    int same = point(l, RLF_EXPR_EQ, reduce(l, RLF_EXPR_LEAST, a, domain),
                     reduce(l, RLF_EXPR_MOST, a, domain), -1);
    return point(l, RLF_EXPR_SELECT, same, zero, var);
}

static int
lower_op(lower *l, rlf_expr_op op)
{
    l->span = op.span;
    switch (op.code) {
    case RLF_EXPR_SUM:
    case RLF_EXPR_COUNT:
        return reduce(l, op.code, op.arg[0], op.domain);
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
        return extreme(l, op.code, op.arg[0], op.domain);
    case RLF_EXPR_MEAN:
        return mean(l, op.arg[0], op.domain);
    case RLF_EXPR_VAR:
        return variance(l, op.arg[0], op.domain);
    case RLF_EXPR_STD:
        return point(l, RLF_EXPR_SQRT, variance(l, op.arg[0], op.domain), -1,
                     -1);
    default:
        return rlf_expr_add(l->to, op);
    }
}

rlf_expr *
rlf_expr_lower(const rlf_expr *expr, rlf_arena *arena)
{
    lower l = {.to = rlf_expr_new(arena, expr->domains)};
    for (size_t i = 0; i < expr->inputs.count; i++)
        rlf_expr_add_input(l.to, expr->inputs.data[i]);
    int *map = RLF_NEW_ARRAY(arena, int, expr->ops.count + 1);
    for (size_t i = 0; i < expr->ops.count; i++) {
        rlf_expr_op op = expr->ops.data[i];
        for (int k = 0; k < rlf_expr_arity(op.code); k++)
            op.arg[k] = map[op.arg[k]];
        map[i] = lower_op(&l, op);
    }
    for (size_t i = 0; i < expr->outputs.count; i++)
        rlf_expr_add_output(l.to, expr->outputs.data[i].name,
                            map[expr->outputs.data[i].op]);
    return rlf_expr_prune(l.to, arena);
}
