/* Hints about a value that is not finite: how its operation came to it, of
 * which arguments, and what to write instead. See expr.h. */
#include "engine/expr/expr.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOTHING_HINT(name)                                               \
    "it is the " name " of nothing, which is not a number: where there " \
    "may be none, say what is meant then, as in n > 0 ? " name           \
    "(x over batch) : 0, or leave such rows out with where()"

const char *
rlf_expr_nan_hint(rlf_expr_code code)
{
    switch (code) {
    case RLF_EXPR_LEAST:
        return NOTHING_HINT("min");
    case RLF_EXPR_MOST:
        return NOTHING_HINT("max");
    case RLF_EXPR_CLAMP:
        return "the lower bound of the clamp is above the upper one there, and "
               "nothing lies between: where bounds may cross, say which one "
               "holds, as in min(max(x, low), high)";
    default:
        return NULL;
    }
}

/* Advice about a value that an operation made. */
static const char *
advice(rlf_expr_code code, double value, const double *arg)
{
    bool root = code == RLF_EXPR_POW && isnan(value);
    switch (code) {
    case RLF_EXPR_DIV:
        if (arg && arg[1] != 0)
            break;
        return "it is divided by 0 there, as by the std of values that are "
               "equal: write x / (y + 1e-8), or y > 0 ? x / y : 0";
    case RLF_EXPR_MOD:
        return "it is what is left of a division by 0 there: write "
               "y > 0 ? x % y : 0";
    case RLF_EXPR_LOG:
        return "it is the log of 0 or of what is below 0 there: clamp its "
               "argument, as in log(max(x, 1e-8))";
    case RLF_EXPR_SQRT:
        return "it is the root of what is below 0 there: write "
               "sqrt(max(x, 0))";
    case RLF_EXPR_POW:
        if (root)
            return "it is a root of what is below 0 there: write "
                   "max(x, 0) ^ y";
        if (arg && arg[0] == 0)
            return "it is divided by 0 there, by a power below 0: write "
                   "max(x, 1e-8) ^ y";
        break;
    case RLF_EXPR_EXP:
        return "it is the exp of something large there: clamp its argument, "
               "as in exp(clamp(x, -20, 20))";
    default:
        if (rlf_expr_nan_hint(code) && isnan(value))
            return rlf_expr_nan_hint(code);
    }
    if (isnan(value))
        return "it is made of what is infinite there, as infinity minus "
               "infinity is: clamp what grows";
    return "it is beyond 1.8e308 there, the largest number that there is: "
           "clamp what grows";
}

/* "x op y" or "op(x, y, z)", as a user writes it. */
static void
show(rlf_expr_code code, const double *arg, char *out, size_t size)
{
    static const struct {
        rlf_expr_code code;
        const char *sign;
    } signs[] = {{RLF_EXPR_ADD, "+"}, {RLF_EXPR_SUB, "-"}, {RLF_EXPR_MUL, "*"},
                 {RLF_EXPR_DIV, "/"}, {RLF_EXPR_MOD, "%"}, {RLF_EXPR_POW, "^"}};
    char x[3][40];
    for (int k = 0; k < 3; k++)
        snprintf(x[k], sizeof x[k], arg[k] < 0 ? "(%.6g)" : "%.6g", arg[k]);
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].code == code) {
            snprintf(out, size, "%s %s %s", x[0], signs[i].sign, x[1]);
            return;
        }
    int n = rlf_expr_arity(code);
    if (n == 1)
        snprintf(out, size, "%s(%.6g)", rlf_expr_text(code), arg[0]);
    else if (n == 2)
        snprintf(out, size, "%s(%.6g, %.6g)", rlf_expr_text(code), arg[0],
                 arg[1]);
    else
        snprintf(out, size, "%s(%.6g, %.6g, %.6g)", rlf_expr_text(code), arg[0],
                 arg[1], arg[2]);
}

void
rlf_expr_nonfinite_hint(rlf_expr_code code, double value, const double *arg,
                        char hint[RLF_EXPR_HINT])
{
    const char *what = isnan(value) ? "not a number"
                       : value > 0  ? "infinite"
                                    : "minus infinity";
    char shown[120];
    if (arg) {
        show(code, arg, shown, sizeof shown);
        snprintf(hint, RLF_EXPR_HINT, "%s (%s is %s)", advice(code, value, arg),
                 shown, what);
        return;
    }
    snprintf(hint, RLF_EXPR_HINT, "%s", advice(code, value, arg));
}

void
rlf_expr_nan_of(rlf_expr_code code, const double *arg, char hint[RLF_EXPR_HINT])
{
    size_t n = strlen(hint);
    char shown[120];
    if (arg)
        show(code, arg, shown, sizeof shown);
    else
        snprintf(shown, sizeof shown, "the '%s' of that", rlf_expr_text(code));
    snprintf(hint + n, RLF_EXPR_HINT - n, ", and %s is not a number", shown);
}
