/* Between which numbers an expression stays in every step, as far as it is made
 * of numbers and `step`: what is wrong in each of them need not wait for one.
 */
#include "grammar/sema.h"

#include <math.h>
#include <string.h>

/* Operations that are looked at: a term may be an argument many times. */
enum { MOST_LOOKS = 256 };

typedef struct bounds {
    double least, most;
} bounds;

static const bounds any = {-INFINITY, INFINITY};

static bounds
both(bounds a, bounds b)
{
    return (bounds){fmin(a.least, b.least), fmax(a.most, b.most)};
}

/* 0 times what has no end is 0 here: no number of a step is infinite. */
static double
product(double a, double b)
{
    bool nothing = fpclassify(a) == FP_ZERO || fpclassify(b) == FP_ZERO;
    return nothing ? 0 : a * b;
}

static bounds
times(bounds a, bounds b)
{
    double p = product(a.least, b.least), q = product(a.least, b.most),
           r = product(a.most, b.least), t = product(a.most, b.most);
    return (bounds){fmin(fmin(p, q), fmin(r, t)), fmax(fmax(p, q), fmax(r, t))};
}

static bounds
inverse(bounds a)
{
    if (a.least <= 0 && a.most >= 0)
        return any;
    return (bounds){1 / a.most, 1 / a.least};
}

/* 1 if a is not 0, as conditions take it. */
static bounds
truth(bounds a)
{
    return (bounds){a.least > 0 || a.most < 0, a.least < 0 || a.most > 0};
}

static bounds
negated(bounds a)
{
    return (bounds){1 - a.most, 1 - a.least};
}

static bounds
equal(bounds a, bounds b)
{
    bool apart = a.most < b.least || b.most < a.least;
    bool single = !apart && a.least >= b.most && a.most <= b.least;
    return (bounds){single, !apart};
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
        return (bounds){-a[0].most, -a[0].least};
    case RLF_EXPR_ADD:
        return (bounds){a[0].least + a[1].least, a[0].most + a[1].most};
    case RLF_EXPR_SUB:
        return (bounds){a[0].least - a[1].most, a[0].most - a[1].least};
    case RLF_EXPR_MUL:
        return times(a[0], a[1]);
    case RLF_EXPR_DIV:
        return times(a[0], inverse(a[1]));
    case RLF_EXPR_MIN:
        return (bounds){fmin(a[0].least, a[1].least),
                        fmin(a[0].most, a[1].most)};
    case RLF_EXPR_MAX:
        return (bounds){fmax(a[0].least, a[1].least),
                        fmax(a[0].most, a[1].most)};
    case RLF_EXPR_CLAMP: /* at least a[1], then at most a[2] */
        return (bounds){fmin(fmax(a[0].least, a[1].least), a[2].least),
                        fmin(fmax(a[0].most, a[1].most), a[2].most)};
    case RLF_EXPR_LT:
        return (bounds){a[0].most < a[1].least, !(a[0].least >= a[1].most)};
    case RLF_EXPR_LE:
        return (bounds){a[0].most <= a[1].least, !(a[0].least > a[1].most)};
    case RLF_EXPR_EQ:
        return equal(a[0], a[1]);
    case RLF_EXPR_NE:
        return negated(equal(a[0], a[1]));
    case RLF_EXPR_NOT:
        return negated(truth(a[0]));
    case RLF_EXPR_AND:
        return (bounds){fmin(truth(a[0]).least, truth(a[1]).least),
                        fmin(truth(a[0]).most, truth(a[1]).most)};
    case RLF_EXPR_OR:
        return (bounds){fmax(truth(a[0]).least, truth(a[1]).least),
                        fmax(truth(a[0]).most, truth(a[1]).most)};
    case RLF_EXPR_SELECT:
        return both(a[1], a[2]);
    case RLF_EXPR_EXP:
        return (bounds){0, INFINITY};
    case RLF_EXPR_SIGMOID:
        return (bounds){0, 1};
    default:
        return any;
    }
}

static bounds
look(const rlf_sema *s, int term, int *looks)
{
    const rlf_term *t = &s->terms.data[term];
    double value;
    if (rlf_term_constant(s, term, &value))
        return (bounds){value, value};
    if (t->kind == RLF_TERM_OUT && s->items.data[t->item].class->counts)
        return (bounds){1, INFINITY};
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
