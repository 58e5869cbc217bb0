/* Python's operators on values. Integers have 64 bits here: what does not fit
 * is an error, not another number. */
#include "engine/jinja/inside.h"

#include <math.h>
#include <string.h>

static const char *
sign_of(jinja_op op)
{
    static const char *const signs[] = {
        [JINJA_ADD] = "+",          [JINJA_SUB] = "-",       [JINJA_MUL] = "*",
        [JINJA_DIV] = "/",          [JINJA_FLOORDIV] = "//", [JINJA_MOD] = "%",
        [JINJA_POW] = "** or pow()"};
    return signs[op];
}

static _Noreturn void
too_large(jinja_run *r)
{
    jinja_stop(r, "an integer of more than 64 bits is not supported");
}

static _Noreturn void
wrong_kinds(jinja_run *r, jinja_op op, jinja_value a, jinja_value b)
{
    if (op == JINJA_ADD && a.kind == JINJA_TEXT)
        jinja_stop(r, "TypeError: can only concatenate str (not \"%s\") to str",
                   jinja_type(b));
    if (op == JINJA_ADD && (a.kind == JINJA_LIST || a.kind == JINJA_TUPLE))
        jinja_stop(r, "TypeError: can only concatenate %s (not \"%s\") to %s",
                   jinja_type(a), jinja_type(b), jinja_type(a));
    jinja_stop(r,
               "TypeError: unsupported operand type(s) for %s: '%s' and '%s'",
               sign_of(op), jinja_type(a), jinja_type(b));
}

/* ---- texts and lists ---- */

jinja_value
jinja_joined(jinja_run *r, jinja_value a, jinja_value b)
{
    bool markup = a.markup || b.markup;
    if (markup && !a.markup)
        a = jinja_escaped(r, a);
    if (markup && !b.markup)
        b = jinja_escaped(r, b);
    size_t n = a.text->n + b.text->n;
    jinja_pay(r, n / 32);
    char *p = jinja_alloc(r, n + 1);
    if (a.text->n)
        memcpy(p, a.text->p, a.text->n);
    if (b.text->n)
        memcpy(p + a.text->n, b.text->p, b.text->n);
    jinja_value v = jinja_text_of(r, p, n);
    v.markup = markup;
    return v;
}

jinja_value
jinja_repeated(jinja_run *r, jinja_value text, int64_t times)
{
    size_t n = text.text->n, most = SIZE_MAX / 4;
    if (times < 0)
        times = 0;
    if (n && (uint64_t)times > most / n)
        times = (int64_t)(most / n); /* which no memory limit allows */
    char *p = jinja_alloc(r, n * (size_t)times + 1);
    jinja_pay(r, n * (size_t)times / 32 + (size_t)times / 8);
    for (int64_t i = 0; n && i < times; i++)
        memcpy(p + (size_t)i * n, text.text->p, n);
    jinja_value v = jinja_text_of(r, p, n * (size_t)times);
    v.markup = text.markup;
    return v;
}

static jinja_value
repeated_list(jinja_run *r, jinja_value list, int64_t times)
{
    jinja_value out = jinja_list_new(r, list.kind);
    for (int64_t i = 0; i < times && list.list->count; i++) {
        jinja_pay(r, 1 + list.list->count / 4);
        for (size_t k = 0; k < list.list->count; k++)
            jinja_push(r, out, list.list->data[k]);
    }
    return out;
}

static jinja_value
joined_lists(jinja_run *r, jinja_value a, jinja_value b)
{
    jinja_value out = jinja_list_new(r, a.kind);
    jinja_pay(r, (a.list->count + b.list->count) / 4);
    for (size_t i = 0; i < a.list->count; i++)
        jinja_push(r, out, a.list->data[i]);
    for (size_t i = 0; i < b.list->count; i++)
        jinja_push(r, out, b.list->data[i]);
    return out;
}

/* ---- numbers ---- */

static jinja_value
float_mod(double a, double b)
{
    double m = fmod(a, b);
    if (m != 0 ? (b < 0) != (m < 0) : false)
        m += b;
    return jinja_float(m == 0 ? copysign(0.0, b) : m);
}

static double
float_floordiv(double a, double b)
{
    double m = fmod(a, b), div = (a - m) / b;
    if (m != 0 && (b < 0) != (m < 0))
        div -= 1.0;
    if (div == 0)
        return copysign(0.0, a / b);
    double floored = floor(div);
    return div - floored > 0.5 ? floored + 1.0 : floored;
}

static jinja_value
int_pow(jinja_run *r, int64_t a, int64_t b)
{
    int64_t out = 1;
    if (b < 0) {
        if (!a)
            jinja_stop(r,
                       "ZeroDivisionError: 0.0 cannot be raised to a negative "
                       "power");
        return jinja_float(pow((double)a, (double)b));
    }
    while (b) {
        if (b & 1 && __builtin_mul_overflow(out, a, &out))
            too_large(r);
        b >>= 1;
        if (b && __builtin_mul_overflow(a, a, &a))
            too_large(r);
    }
    return jinja_int(out);
}

static _Noreturn void
by_zero(jinja_run *r)
{
    jinja_stop(r, "ZeroDivisionError: division by zero");
}

static jinja_value
ints(jinja_run *r, jinja_op op, int64_t a, int64_t b)
{
    int64_t out = 0;
    bool over = false;
    if (!b && (op == JINJA_DIV || op == JINJA_FLOORDIV || op == JINJA_MOD))
        by_zero(r);
    switch (op) {
    case JINJA_ADD:
        over = __builtin_add_overflow(a, b, &out);
        break;
    case JINJA_SUB:
        over = __builtin_sub_overflow(a, b, &out);
        break;
    case JINJA_MUL:
        over = __builtin_mul_overflow(a, b, &out);
        break;
    case JINJA_DIV:
        return jinja_float((double)a / (double)b);
    case JINJA_POW:
        return int_pow(r, a, b);
    default:
        if (b == -1) {
            over = op == JINJA_FLOORDIV && __builtin_sub_overflow(0, a, &out);
            out = op == JINJA_MOD ? 0 : out;
            break;
        }
        out = op == JINJA_MOD ? a % b : a / b;
        if (op == JINJA_MOD && out && (out < 0) != (b < 0))
            out += b;
        if (op == JINJA_FLOORDIV && a % b && (a < 0) != (b < 0))
            out--;
    }
    if (over)
        too_large(r);
    return jinja_int(out);
}

static jinja_value
floats(jinja_run *r, jinja_op op, double a, double b)
{
    if (b == 0 && (op == JINJA_DIV || op == JINJA_FLOORDIV || op == JINJA_MOD))
        by_zero(r);
    switch (op) {
    case JINJA_ADD:
        return jinja_float(a + b);
    case JINJA_SUB:
        return jinja_float(a - b);
    case JINJA_MUL:
        return jinja_float(a * b);
    case JINJA_DIV:
        return jinja_float(a / b);
    case JINJA_FLOORDIV:
        return jinja_float(float_floordiv(a, b));
    case JINJA_MOD:
        return float_mod(a, b);
    default:
        if (a == 0 && b < 0)
            by_zero(r);
        if (a < 0 && b != floor(b))
            jinja_stop(r, "complex numbers are not supported");
        if (isfinite(a) && isfinite(b) && !isfinite(pow(a, b)))
            jinja_stop(r, "OverflowError: the result is too large");
        return jinja_float(pow(a, b));
    }
}

/* ---- all of them ---- */

static bool
is_list(jinja_value v)
{
    return v.kind == JINJA_LIST || v.kind == JINJA_TUPLE;
}

jinja_value
jinja_binary(jinja_run *r, jinja_op op, jinja_value a, jinja_value b)
{
    int64_t i, k;
    double x, y;
    if (a.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, a);
    if (op == JINJA_MOD && a.kind == JINJA_TEXT)
        return jinja_percent(r, a, b);
    if (b.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, b);
    if (jinja_as_int(a, &i) && jinja_as_int(b, &k))
        return ints(r, op, i, k);
    if (jinja_as_number(a, &x) && jinja_as_number(b, &y))
        return floats(r, op, x, y);
    if (op == JINJA_ADD && a.kind == JINJA_TEXT && b.kind == JINJA_TEXT)
        return jinja_joined(r, a, b);
    if (op == JINJA_ADD && is_list(a) && a.kind == b.kind)
        return joined_lists(r, a, b);
    if (op == JINJA_MUL && jinja_as_int(a, &i)) {
        jinja_value swap = a;
        a = b;
        b = swap;
    }
    if (op == JINJA_MUL && jinja_as_int(b, &k) && a.kind == JINJA_TEXT)
        return jinja_repeated(r, a, k);
    if (op == JINJA_MUL && jinja_as_int(b, &k) && is_list(a))
        return repeated_list(r, a, k);
    wrong_kinds(r, op, a, b);
}

jinja_value
jinja_unary(jinja_run *r, jinja_op op, jinja_value a)
{
    int64_t i;
    if (a.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, a);
    if (a.kind == JINJA_FLOAT)
        return jinja_float(op == JINJA_NEGATIVE ? -a.f : a.f);
    if (!jinja_as_int(a, &i))
        jinja_stop(r, "TypeError: bad operand type for unary %s: '%s'",
                   op == JINJA_NEGATIVE ? "-" : "+", jinja_type(a));
    if (op == JINJA_NEGATIVE && i == INT64_MIN)
        too_large(r);
    return jinja_int(op == JINJA_NEGATIVE ? -i : i);
}
