/* The law of the table of operations: a program that passes can be run. What
 * fails here is a fault of whoever made the program, not of the user. */
#include "engine/expr/expr.h"

/* The places where an operation looks for its arguments. */
typedef enum shape {
    SHAPE_SOURCE,    /* no arguments */
    SHAPE_POINTWISE, /* arguments on its own domain */
    SHAPE_DOWN,      /* its argument above */
    SHAPE_REDUCE,    /* its argument below */
    SHAPE_GROUPED,   /* own domain, and an `over` above */
    SHAPE_SCAN,      /* own domain, of tokens */
    SHAPE_AT_LAST,   /* from the rows of its tokens */
} shape;

static shape
shape_of(rlf_expr_code code)
{
    switch (code) {
    case RLF_EXPR_INPUT:
    case RLF_EXPR_CONST:
        return SHAPE_SOURCE;
    case RLF_EXPR_DOWN:
        return SHAPE_DOWN;
    case RLF_EXPR_SUM:
    case RLF_EXPR_MEAN:
    case RLF_EXPR_STD:
    case RLF_EXPR_VAR:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
    case RLF_EXPR_COUNT:
        return SHAPE_REDUCE;
    case RLF_EXPR_RANK:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_UNROTATE:
        return SHAPE_GROUPED;
    case RLF_EXPR_DISCOUNT:
    case RLF_EXPR_COMPOUND:
    case RLF_EXPR_CUMSUM:
    case RLF_EXPR_NEXT:
    case RLF_EXPR_PREV:
        return SHAPE_SCAN;
    case RLF_EXPR_AT_LAST:
        return SHAPE_AT_LAST;
    default:
        return SHAPE_POINTWISE;
    }
}

static bool
argument_fits(const rlf_expr *expr, const rlf_expr_op *op,
              const rlf_expr_op *arg)
{
    const rlf_domains *ds = expr->domains;
    const rlf_domain *d = rlf_domains_get(ds, op->domain);
    switch (shape_of(op->code)) {
    case SHAPE_SOURCE:
        return false;
    case SHAPE_POINTWISE:
        return arg->domain == op->domain;
    case SHAPE_DOWN:
        return arg->domain != op->domain &&
               rlf_domain_reaches(ds, arg->domain, op->domain);
    case SHAPE_REDUCE:
        if ((op->code == RLF_EXPR_LEAST || op->code == RLF_EXPR_MOST) &&
            d->kind == RLF_DOMAIN_TOKENS &&
            rlf_domains_get(ds, arg->domain)->kind == RLF_DOMAIN_TOKENS)
            return false; /* most tokens would have nothing below them */
        return arg->domain != op->domain &&
               rlf_domain_reaches(ds, op->domain, arg->domain);
    case SHAPE_GROUPED:
        return arg->domain == op->domain && op->over != op->domain &&
               rlf_domain_reaches(ds, op->over, op->domain);
    case SHAPE_SCAN:
        return arg->domain == op->domain && d->kind == RLF_DOMAIN_TOKENS;
    case SHAPE_AT_LAST:
        return d->kind == RLF_DOMAIN_TOKENS && arg->domain == d->owner;
    }
    return false;
}

/* Texts go only where texts are meant. */
static bool
texts_fit(const rlf_expr *expr, const rlf_expr_op *op)
{
    const rlf_expr_op *o = expr->ops.data;
    switch (op->code) {
    case RLF_EXPR_INPUT:
        return op->text == expr->inputs.data[op->index].text;
    case RLF_EXPR_CONST:
        return true;
    case RLF_EXPR_DOWN:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_UNROTATE:
        return op->text == o[op->arg[0]].text;
    case RLF_EXPR_SELECT:
        return !o[op->arg[0]].text && op->text == o[op->arg[1]].text &&
               op->text == o[op->arg[2]].text;
    case RLF_EXPR_TEXT_EQ:
        return !op->text && o[op->arg[0]].text && o[op->arg[1]].text;
    case RLF_EXPR_COUNT:
        return !op->text;
    default:
        for (int k = 0; k < rlf_expr_arity(op->code); k++)
            if (o[op->arg[k]].text)
                return false;
        return !op->text;
    }
}

static rlf_status
check_op(const rlf_expr *expr, size_t i, rlf_err *err)
{
    const rlf_expr_op *op = &expr->ops.data[i];
    int n = (int)expr->domains->list.count;
    if ((unsigned)op->code >= RLF_EXPR_CODES)
        return rlf_fail(err, RLF_BUG, "operation %zu has no known code", i);
    const char *name = rlf_expr_text(op->code);
    if (op->domain < 0 || op->domain >= n || op->over < 0 || op->over >= n)
        return rlf_fail(err, RLF_BUG, "%%%zu (%s) lives on no domain", i, name);
    if (op->code == RLF_EXPR_INPUT &&
        (op->index < 0 || (size_t)op->index >= expr->inputs.count ||
         op->domain != expr->inputs.data[op->index].domain))
        return rlf_fail(err, RLF_BUG,
                        "%%%zu names no input, or not on its domain", i);
    if (op->code == RLF_EXPR_CONST && op->domain != 0)
        return rlf_fail(err, RLF_BUG,
                        "%%%zu: a constant lives on the scalar domain", i);
    for (int k = 0; k < rlf_expr_arity(op->code); k++) {
        if (op->arg[k] < 0 || (size_t)op->arg[k] >= i)
            return rlf_fail(err, RLF_BUG,
                            "argument %d of %%%zu (%s) is not before it", k, i,
                            name);
        if (!argument_fits(expr, op, &expr->ops.data[op->arg[k]]))
            return rlf_fail(err, RLF_BUG,
                            "argument %d of %%%zu (%s) lives on a domain that "
                            "does not fit",
                            k, i, name);
    }
    if (!texts_fit(expr, op))
        return rlf_fail(err, RLF_BUG, "%%%zu (%s) mixes a text and a number", i,
                        name);
    return RLF_OK;
}

rlf_status
rlf_expr_check(const rlf_expr *expr, rlf_err *err)
{
    for (size_t i = 0; i < expr->inputs.count; i++) {
        int d = expr->inputs.data[i].domain;
        if (d < 0 || (size_t)d >= expr->domains->list.count)
            return rlf_fail(err, RLF_BUG, "input %zu lives on no domain", i);
    }
    for (size_t i = 0; i < expr->ops.count; i++)
        RLF_TRY(check_op(expr, i, err));
    for (size_t i = 0; i < expr->outputs.count; i++)
        if (expr->outputs.data[i].op < 0 ||
            (size_t)expr->outputs.data[i].op >= expr->ops.count)
            return rlf_fail(err, RLF_BUG, "output %zu is no operation", i);
    return RLF_OK;
}
