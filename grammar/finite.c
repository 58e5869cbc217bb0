/* Numbers that are not finite: where one arises among the constants, which
 * values can then never be finite, and what is said where one is used.
 *
 * That 1 / 0 is written is no error by itself: it may be named for a choice
 * that does not take it, or be a limit that is never reached. So a fault is
 * kept with its message, and becomes an error where what is made of it is used
 * and cannot be finite, whatever the values of the run are. */
#include "grammar/passes.h"

#include <math.h>

/* ---- faults ---- */

/* "1 / 0", "log(-1)": an operation on constants. */
static const char *
constants(const rlf_sema *s, rlf_expr_code code, const double *v)
{
    switch (code) {
    case RLF_EXPR_ADD:
    case RLF_EXPR_SUB:
    case RLF_EXPR_MUL:
    case RLF_EXPR_DIV:
    case RLF_EXPR_MOD:
    case RLF_EXPR_POW:
        return rlf_arena_printf(s->arena, "%.12g %c %.12g", v[0],
                                code == RLF_EXPR_ADD   ? '+'
                                : code == RLF_EXPR_SUB ? '-'
                                : code == RLF_EXPR_MUL ? '*'
                                : code == RLF_EXPR_DIV ? '/'
                                : code == RLF_EXPR_MOD ? '%'
                                                       : '^',
                                v[1]);
    case RLF_EXPR_LOG:
        return rlf_arena_printf(s->arena, "log(%.12g)", v[0]);
    case RLF_EXPR_SQRT:
        return rlf_arena_printf(s->arena, "sqrt(%.12g)", v[0]);
    case RLF_EXPR_EXP:
        return rlf_arena_printf(s->arena, "exp(%.12g)", v[0]);
    default:
        return "this";
    }
}

void
rlf_finite_fold(rlf_sema *s, rlf_expr_code code, const int *args, int n,
                int result, rlf_span at)
{
    rlf_term *t = &s->terms.data[result];
    double v[3] = {0};
    if (isfinite(t->value))
        return;
    t->nonfinite = isnan(t->value) ? RLF_NONFINITE_NAN : RLF_NONFINITE_INFINITE;
    for (int k = 0; k < n; k++) {
        const rlf_term *a = &s->terms.data[args[k]];
        v[k] = a->value;
        if (!a->nonfinite)
            continue;
        t->fault = a->fault;
        return;
    }
    rlf_diag fault = {
        .code = "number",
        .at = at,
        .text = rlf_arena_printf(s->arena, "%s is %s", constants(s, code, v),
                                 isnan(t->value) ? "not a number" : "infinite"),
        .hint = code == RLF_EXPR_DIV || code == RLF_EXPR_MOD
                    ? "where the divisor may be 0 choose another value: "
                      "d > 0 ? x / d : 0"
                : isnan(t->value)
                    ? "write what it is to be instead, or choose: c ? a : b"
                    : "numbers go up to 1.8e308: write a smaller one; where "
                      "no limit is meant, leave the limit out"};
    if (n > 0)
        fault.left = s->operand[0];
    if (n > 1)
        fault.right = s->operand[1];
    t->fault = (int)s->faults.count;
    RLF_PUSH_IN(s->arena, &s->faults, fault);
}

/* ---- what is made of them ---- */

static const rlf_term *
arg_of(const rlf_sema *s, const rlf_term *t, int k)
{
    return t->arg[k] >= 0 ? &s->terms.data[t->arg[k]] : NULL;
}

static bool
is_nonfinite(const rlf_sema *s, const rlf_term *t, int k,
             rlf_nonfinite_kind least)
{
    const rlf_term *a = arg_of(s, t, k);
    return a && a->nonfinite >= least;
}

static bool
take(const rlf_sema *s, rlf_term *t, int k, rlf_nonfinite_kind least)
{
    if (!is_nonfinite(s, t, k, least))
        return false;
    t->nonfinite = s->terms.data[t->arg[k]].nonfinite;
    t->fault = s->terms.data[t->arg[k]].fault;
    return true;
}

/* Operand `k`, 1: in every step another number than 0; 0: in every step 0. */
static bool
is_always(const rlf_sema *s, const rlf_term *t, int k, bool yes)
{
    double least, most;
    rlf_term_bounds(s, t->arg[k], &least, &most);
    return yes ? least > 0 || most < 0 : least >= 0 && most <= 0;
}

/* NaN, unless the other side decides alone. */
static void
note_either(const rlf_sema *s, rlf_term *t)
{
    for (int k = 0; k < 2; k++)
        if (is_nonfinite(s, t, k, RLF_NONFINITE_NAN) &&
            (is_nonfinite(s, t, 1 - k, RLF_NONFINITE_NAN) ||
             is_always(s, t, 1 - k, t->code == RLF_EXPR_AND)))
            take(s, t, k, RLF_NONFINITE_NAN);
}

/* Of a choice that a run decides, if neither side can be finite. */
static void
note_choice(const rlf_sema *s, rlf_term *t)
{
    if (take(s, t, 0, RLF_NONFINITE_NAN) || t->text)
        return;
    if (is_always(s, t, 0, true))
        take(s, t, 1, RLF_NONFINITE_INFINITE);
    else if (is_always(s, t, 0, false))
        take(s, t, 2, RLF_NONFINITE_INFINITE);
    else if (is_nonfinite(s, t, 1, RLF_NONFINITE_INFINITE) &&
             is_nonfinite(s, t, 2, RLF_NONFINITE_INFINITE))
        take(s, t, is_nonfinite(s, t, 1, RLF_NONFINITE_NAN) ? 2 : 1,
             RLF_NONFINITE_INFINITE);
}

/* x^0 and 1^x are 1 whatever x is. */
static void
note_power(const rlf_sema *s, rlf_term *t)
{
    double least, most;
    if (is_nonfinite(s, t, 0, RLF_NONFINITE_NAN) && is_always(s, t, 1, true))
        take(s, t, 0, RLF_NONFINITE_NAN);
    if (!is_nonfinite(s, t, 1, RLF_NONFINITE_NAN))
        return;
    rlf_term_bounds(s, t->arg[0], &least, &most);
    if (least > 1 || most < 1)
        take(s, t, 1, RLF_NONFINITE_NAN);
}

/* An infinite argument decides nothing if it is the one that is not chosen. */
static void
note_extreme(const rlf_sema *s, rlf_term *t)
{
    double least, most;
    for (int k = 0; k < 2; k++) {
        if (!is_nonfinite(s, t, k, RLF_NONFINITE_INFINITE))
            continue;
        rlf_term_bounds(s, t->arg[k], &least, &most);
        bool chosen =
            t->code == RLF_EXPR_MIN ? most <= -INFINITY : least >= INFINITY;
        bool other = is_nonfinite(s, t, 1 - k, RLF_NONFINITE_INFINITE);
        if (chosen || other || is_nonfinite(s, t, k, RLF_NONFINITE_NAN))
            take(s, t, k, RLF_NONFINITE_INFINITE);
    }
}

/* One of the operands that `least` holds of; a NaN first. */
static void
take_any(const rlf_sema *s, rlf_term *t, rlf_nonfinite_kind least)
{
    for (int k = 0; k < 3; k++)
        if (take(s, t, k, RLF_NONFINITE_NAN))
            return;
    for (int k = 0; k < 3; k++)
        if (take(s, t, k, least))
            return;
}

static void
note(const rlf_sema *s, rlf_term *t)
{
    switch (t->code) {
    case RLF_EXPR_NEG:
    case RLF_EXPR_ABS:
    case RLF_EXPR_SG:
    case RLF_EXPR_DOWN:
    case RLF_EXPR_FLOOR:
    case RLF_EXPR_LOG:
    case RLF_EXPR_SQRT:
    case RLF_EXPR_ADD:
    case RLF_EXPR_SUB:
    case RLF_EXPR_MUL:
    case RLF_EXPR_ROTATE:
    case RLF_EXPR_CUMSUM:
        take_any(s, t, RLF_NONFINITE_INFINITE);
        break;
    case RLF_EXPR_DIV:
    case RLF_EXPR_MOD:
        if (!take(s, t, 1, RLF_NONFINITE_NAN))
            take(s, t, 0, RLF_NONFINITE_INFINITE);
        break;
    case RLF_EXPR_DISCOUNT:
        take(s, t, 0, RLF_NONFINITE_INFINITE);
        break;
    case RLF_EXPR_POW:
        note_power(s, t);
        break;
    case RLF_EXPR_AND:
    case RLF_EXPR_OR:
        note_either(s, t);
        break;
    case RLF_EXPR_SELECT:
        note_choice(s, t);
        break;
    case RLF_EXPR_MIN:
    case RLF_EXPR_MAX:
        note_extreme(s, t);
        break;
    case RLF_EXPR_SUM:
    case RLF_EXPR_MEAN:
    case RLF_EXPR_LEAST:
    case RLF_EXPR_MOST:
        if (!rlf_level_may_be_empty(s, s->terms.data[t->arg[0]].domain))
            take(s, t, 0, RLF_NONFINITE_INFINITE);
        break;
    case RLF_EXPR_LT:
    case RLF_EXPR_LE:
    case RLF_EXPR_EQ:
    case RLF_EXPR_NE:
    case RLF_EXPR_TEXT_EQ:
    case RLF_EXPR_NOT:
    case RLF_EXPR_EXP:
    case RLF_EXPR_SIGMOID:
    case RLF_EXPR_LOG_SIGMOID:
    case RLF_EXPR_TANH:
    case RLF_EXPR_CLAMP:
    case RLF_EXPR_RANK:
        take_any(s, t, RLF_NONFINITE_NAN);
        break;
    default:
        break;
    }
}

void
rlf_finite_note(const rlf_sema *s, rlf_term *t)
{
    for (int k = 0; k < 3; k++) {
        if (!is_nonfinite(s, t, k, RLF_NONFINITE_INFINITE))
            continue;
        note(s, t);
        return;
    }
}

/* ---- uses ---- */

static void
copy_fault(rlf_sema *s, rlf_diag *diag, const rlf_diag *fault, rlf_span use)
{
    diag->left = fault->left;
    diag->right = fault->right;
    diag->hint = fault->hint;
    diag->notes.count = 0;
    for (size_t i = 0; i < fault->notes.count; i++)
        RLF_PUSH_IN(s->arena, &diag->notes, fault->notes.data[i]);
    bool within = use.source == fault->at.source &&
                  use.first <= fault->at.first && use.last >= fault->at.last;
    if (!within && use.source && !fault->notes.count)
        rlf_diag_note(s->diags, diag, use, "it is used here");
}

/* Can a use end the run? */
static bool
is_wrong(const rlf_sema *s, int term, rlf_nonfinite_kind least)
{
    const rlf_term *t = &s->terms.data[term];
    return !s->idle && t->nonfinite >= least &&
           !rlf_level_may_be_empty(s, t->domain);
}

bool
rlf_finite_use(rlf_sema *s, int term, rlf_nonfinite_kind wrong, rlf_span use)
{
    if (term < 0 || !is_wrong(s, term, wrong))
        return true;
    rlf_diag fault = s->faults.data[s->terms.data[term].fault];
    copy_fault(s,
               rlf_diag_error(s->diags, fault.code, fault.at, "%s", fault.text),
               &fault, use);
    return false;
}

bool
rlf_finite_effect(rlf_sema *s, int term, rlf_span use)
{
    if (!s->maybe)
        return rlf_finite_use(s, term, RLF_NONFINITE_INFINITE, use);
    if (term < 0 || !is_wrong(s, term, RLF_NONFINITE_INFINITE))
        return true;
    rlf_diag fault = s->faults.data[s->terms.data[term].fault];
    copy_fault(s,
               rlf_diag_warning(s->diags, fault.code, fault.at,
                                "%s, which ends the run if it comes to that",
                                fault.text),
               &fault, use);
    return true;
}

void
rlf_finite_metric(rlf_sema *s, const char *name, int term, rlf_span at)
{
    if (!is_wrong(s, term, RLF_NONFINITE_INFINITE))
        return;
    rlf_diag fault = s->faults.data[s->terms.data[term].fault];
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "constant", at, "the metric '%s' is %s: null each time", name,
        s->terms.data[term].nonfinite == RLF_NONFINITE_NAN ? "not a number"
                                                           : "never finite");
    rlf_diag_note(s->diags, diag, fault.at, "%s", fault.text);
    diag->hint = fault.hint;
}
