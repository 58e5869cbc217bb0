/* Between which numbers an expression stays in every step, as far as constants,
 * `step` and operations tell: what is wrong in each of them need not wait for
 * one. Of whole numbers also which remainder they have, so that step == 1.5, or
 * step == 31 in each 30th step, is known to be never so. */
#include "grammar/passes.h"

#include <math.h>
#include <string.h>

/* Operations that are looked at: a term may be an argument many times. */
enum { MOST_LOOKS = 256 };

typedef struct bounds {
    double least, most;
    /* `stride` > 0: whole numbers, `rest` more than a multiple of it. */
    double stride, rest;
} bounds;

static const bounds any = {-INFINITY, INFINITY, 0, 0};

static bounds
between(double least, double most)
{
    return (bounds){least, most, 0, 0};
}

static bounds
both(bounds a, bounds b)
{
    return between(fmin(a.least, b.least), fmax(a.most, b.most));
}

/* 0 times what has no end is 0 here: no number of a step is infinite. */
static double
product(double a, double b)
{
    bool nothing = fpclassify(a) == FP_ZERO || fpclassify(b) == FP_ZERO;
    return nothing ? 0 : a * b;
}

/* 0 alone, times what may be infinite, may be no number. */
static bool
may_be_none(bounds a, bounds b)
{
    return a.least >= 0 && a.most <= 0 && (isinf(b.least) || isinf(b.most));
}

static bounds
times(bounds a, bounds b)
{
    if (may_be_none(a, b) || may_be_none(b, a))
        return any;
    double p = product(a.least, b.least), q = product(a.least, b.most),
           r = product(a.most, b.least), t = product(a.most, b.most);
    return between(fmin(fmin(p, q), fmin(r, t)), fmax(fmax(p, q), fmax(r, t)));
}

static bounds
inverse(bounds a)
{
    if (a.least >= 0 && a.most <= 0) /* infinite, of either sign */
        return any;
    if (a.least >= 0) /* of 0 it is infinite */
        return between(1 / a.most, a.least > 0 ? 1 / a.least : INFINITY);
    if (a.most >= 0)
        return any;
    return between(1 / a.most, 1 / a.least);
}

/* 1 if a is not 0, as conditions take it. */
static bounds
truth(bounds a)
{
    return between(a.least > 0 || a.most < 0, a.least < 0 || a.most > 0);
}

static bounds
negated(bounds a)
{
    return between(1 - a.most, 1 - a.least);
}

/* ---- whole numbers ---- */

enum { MOST_WHOLE = 1 << 30 };

static bool
is_single(bounds a)
{
    return a.least >= a.most && isfinite(a.least);
}

/* The same with its remainders, if it is one whole number: by any number. */
static bounds
as_whole(bounds a)
{
    bool whole =
        is_single(a) && a.least == floor(a.least) && fabs(a.least) < MOST_WHOLE;
    if (a.stride > 0 || !whole)
        return a;
    a.stride = MOST_WHOLE;
    a.rest = a.least;
    return a;
}

static double
common_divisor(double a, double b)
{
    if (a >= MOST_WHOLE || b >= MOST_WHOLE)
        return fmin(a, b);
    while (b > 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return a;
}

static double
rest_of(double x, double stride)
{
    double rest = fmod(x, stride);
    return rest < 0 ? rest + stride : rest;
}

/* Remainders of a + sign * b. */
static bounds
with_sum(bounds sum, bounds a, bounds b, double sign)
{
    a = as_whole(a);
    b = as_whole(b);
    if (a.stride > 0 && b.stride > 0 && !(is_single(a) && is_single(b))) {
        sum.stride = common_divisor(a.stride, b.stride);
        sum.rest = rest_of(a.rest + sign * b.rest, sum.stride);
    }
    return sum;
}

/* Remainders of a times one whole number. */
static bounds
with_product(bounds product, bounds a, bounds b)
{
    double factor = fabs(b.least);
    if (!is_single(b) && is_single(a))
        return with_product(product, b, a);
    if (is_single(b) && as_whole(b).stride > 0 && a.stride > 0 && factor > 0 &&
        a.stride * factor < MOST_WHOLE) {
        product.stride = a.stride * factor;
        product.rest = rest_of(a.rest * b.least, product.stride);
    }
    return product;
}

/* The remainder of a by b, with the sign of b. */
static bounds
left_of(bounds a, bounds b)
{
    bounds left = {0, b.most, 0, 0};
    if (!(b.least > 0))
        return any;
    if (!is_single(b) || as_whole(b).stride <= 0 || a.stride <= 0)
        return left;
    left.stride = common_divisor(a.stride, b.least);
    left.rest = rest_of(a.rest, left.stride);
    left.least = left.rest;
    left.most = b.least - left.stride + left.rest;
    return left;
}

/* Are they of different remainders, or one whole and the other not? */
static bool
never_meet(bounds a, bounds b)
{
    bool broken = (a.stride > 0 && is_single(b) && b.least != floor(b.least)) ||
                  (b.stride > 0 && is_single(a) && a.least != floor(a.least));
    return broken || with_sum(between(0, 0), a, b, -1).rest > 0;
}

static bounds
equal(bounds a, bounds b)
{
    bool apart = a.most < b.least || b.most < a.least || never_meet(a, b);
    bool single = !apart && a.least >= b.most && a.most <= b.least;
    return between(single, !apart);
}

/* ---- operations ---- */

static bounds
magnitude(bounds a)
{
    double most = fmax(fabs(a.least), fabs(a.most));
    return between(fmax(0, fmax(a.least, -a.most)), most);
}

static bool
is_even(bounds a)
{
    return is_single(a) && fmod(a.least, 2) == 0;
}

/* Of many values, each in `a`. */
static bounds
look_over(const rlf_term *t, bounds a)
{
    switch (t->code) {
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
    case RLF_EXPR_ROTATE:
        return between(a.least, a.most);
    case RLF_EXPR_MEAN: /* of nothing it is 0 */
        return both(a, between(0, 0));
    case RLF_EXPR_SUM:
    case RLF_EXPR_CUMSUM:
        return between(a.least < 0 ? -INFINITY : 0, a.most > 0 ? INFINITY : 0);
    case RLF_EXPR_STD:
    case RLF_EXPR_VAR:
    case RLF_EXPR_COUNT:
    case RLF_EXPR_RANK:
        return between(0, INFINITY);
    default:
        return any;
    }
}

static bounds look(const rlf_sema *s, int term, int *looks);

static bounds
look_into(const rlf_sema *s, const rlf_term *t, int *looks)
{
    bounds a[3] = {any, any, any};
    for (int k = 0; k < 3; k++)
        if (t->arg[k] >= 0 && k < rlf_expr_arity(t->code))
            a[k] = look(s, t->arg[k], looks);
    switch (t->code) {
    case RLF_EXPR_DOWN:
    case RLF_EXPR_SG:
        return a[0];
    case RLF_EXPR_NEG:
        return between(-a[0].most, -a[0].least);
    case RLF_EXPR_ADD:
        return with_sum(between(a[0].least + a[1].least, a[0].most + a[1].most),
                        a[0], a[1], 1);
    case RLF_EXPR_SUB:
        return with_sum(between(a[0].least - a[1].most, a[0].most - a[1].least),
                        a[0], a[1], -1);
    case RLF_EXPR_MUL:
        return with_product(times(a[0], a[1]), a[0], a[1]);
    case RLF_EXPR_MOD:
        return left_of(a[0], a[1]);
    case RLF_EXPR_DIV:
        return times(a[0], inverse(a[1]));
    case RLF_EXPR_MIN:
        return between(fmin(a[0].least, a[1].least),
                       fmin(a[0].most, a[1].most));
    case RLF_EXPR_MAX:
        return between(fmax(a[0].least, a[1].least),
                       fmax(a[0].most, a[1].most));
    case RLF_EXPR_CLAMP: /* at least a[1], then at most a[2] */
        return between(fmin(fmax(a[0].least, a[1].least), a[2].least),
                       fmin(fmax(a[0].most, a[1].most), a[2].most));
    case RLF_EXPR_LT:
        return between(a[0].most < a[1].least, !(a[0].least >= a[1].most));
    case RLF_EXPR_LE:
        return between(a[0].most <= a[1].least, !(a[0].least > a[1].most));
    case RLF_EXPR_EQ:
        return equal(a[0], a[1]);
    case RLF_EXPR_NE:
        return negated(equal(a[0], a[1]));
    case RLF_EXPR_NOT:
        return negated(truth(a[0]));
    case RLF_EXPR_AND:
        return between(fmin(truth(a[0]).least, truth(a[1]).least),
                       fmin(truth(a[0]).most, truth(a[1]).most));
    case RLF_EXPR_OR:
        return between(fmax(truth(a[0]).least, truth(a[1]).least),
                       fmax(truth(a[0]).most, truth(a[1]).most));
    case RLF_EXPR_SELECT:
        return both(a[1], a[2]);
    case RLF_EXPR_EXP:
        return between(0, exp(a[0].most));
    case RLF_EXPR_SIGMOID:
    case RLF_EXPR_UNIFORM:
        return between(0, 1);
    case RLF_EXPR_TANH:
        return between(-1, 1);
    case RLF_EXPR_LOG_SIGMOID:
        return between(-INFINITY, 0);
    case RLF_EXPR_ABS:
        return magnitude(a[0]);
    case RLF_EXPR_POW:
        return a[0].least >= 0 || is_even(a[1]) ? between(0, INFINITY) : any;
    default:
        return look_over(t, a[0]);
    }
}

/* `step` is a multiple of this where the walk is: in blocks of `every`. */
static double
step_period(const rlf_sema *s)
{
    double period = 1;
    for (int part = s->part; part >= 0;) {
        int parent = s->parts.data[part].parent;
        const rlf_item *it = parent < 0 ? NULL : &s->items.data[parent];
        const rlf_arg *arg =
            it && it->class->period
                ? rlf_args_find(it->args, it->n_args, it->class->period)
                : NULL;
        double n = arg && arg->kind == RLF_ARG_NUMBER ? arg->number : 1;
        if (n >= 1 && n == floor(n) && period * n < MOST_WHOLE)
            period = period / common_divisor(period, n) * n;
        part = it ? it->region : -1;
    }
    return period;
}

static bounds
look(const rlf_sema *s, int term, int *looks)
{
    const rlf_term *t = &s->terms.data[term];
    double value;
    if (rlf_term_constant(s, term, &value))
        return between(value, value);
    if (t->kind == RLF_TERM_OUT &&
        s->items.data[t->item].class->is_step_number) {
        double period = step_period(s);
        return (bounds){period, INFINITY, period, 0};
    }
    if (t->kind != RLF_TERM_OP || ++*looks > MOST_LOOKS)
        return any;
    return look_into(s, t, looks);
}

void
rlf_term_bounds(const rlf_sema *s, int term, double *least, double *most)
{
    int looks = 0;
    bounds b = look(s, term, &looks);
    *least = b.least;
    *most = b.most;
}

/* ---- conditions ---- */

/* Is the expression made of numbers, truths and `step` alone? Where parameters
 * decide, a condition that never holds is a choice. */
static bool
is_of_step(const rlf_ast_expr *e)
{
    if (!e)
        return true;
    bool other = e->kind == RLF_AST_NAME && strcmp(e->name.text, "step") != 0;
    bool plain = e->kind == RLF_AST_NAME || e->kind == RLF_AST_NUMBER ||
                 e->kind == RLF_AST_TRUTH || e->kind == RLF_AST_UNARY ||
                 e->kind == RLF_AST_BINARY;
    return plain && !other && is_of_step(e->left) && is_of_step(e->right);
}

/* x == 1.5, step % 5 != 7 */
static bool
meets_number(const rlf_ast_expr *e)
{
    return e->kind == RLF_AST_BINARY &&
           (e->op == RLF_AST_EQ || e->op == RLF_AST_NE) &&
           e->right->kind == RLF_AST_NUMBER && e->right->number >= 1;
}

void
rlf_condition_look(rlf_sema *s, const rlf_ast_expr *e, int term,
                   const char *what)
{
    double least, most, value, period = step_period(s);
    if (!is_of_step(e))
        return;
    rlf_term_bounds(s, term, &least, &most);
    bool never = least >= 0 && most <= 0, always = least > 0 || most < 0;
    if (!never && !always)
        return;
    rlf_diag *diag = rlf_diag_warning(s->diags, "constant", e->span,
                                      "this condition holds in %s %s",
                                      never ? "no" : "every", what);
    if (rlf_term_constant(s, term, &value))
        return;
    if (period > 1)
        rlf_diag_hint(s->diags, diag,
                      "in this block 'step' is a multiple of %.0f", period);
    else
        rlf_diag_hint(s->diags, diag,
                      meets_number(e) ? "'step' is a whole number: 1, 2, 3, ..."
                                      : "the first step is step 1");
}
