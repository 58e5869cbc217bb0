/* Tests: what may stand behind `is`, and in select and its like. */
#include "engine/jinja/inside.h"

#include <string.h>

#define TEST(name)                                          \
    static jinja_value name(jinja_run *r, jinja_value self, \
                            const jinja_args *args)

/* One that asks the value alone. */
#define ASK(name, condition)          \
    TEST(name)                        \
    {                                 \
        (void)r, (void)args;          \
        return jinja_bool(condition); \
    }

static bool
is_sequence(jinja_value v)
{
    return v.kind == JINJA_UNDEFINED || v.kind == JINJA_TEXT ||
           v.kind == JINJA_LIST || v.kind == JINJA_TUPLE ||
           v.kind == JINJA_DICT || v.kind == JINJA_RANGE;
}

static bool
is_callable(jinja_value v)
{
    return v.kind == JINJA_UNDEFINED || v.kind == JINJA_MACRO ||
           v.kind == JINJA_METHOD || v.kind == JINJA_FUNCTION ||
           v.kind == JINJA_LOOP || v.kind == JINJA_JOINER;
}

ASK(ask_defined, self.kind != JINJA_UNDEFINED)
ASK(ask_undefined, self.kind == JINJA_UNDEFINED)
ASK(ask_none, self.kind == JINJA_NONE)
ASK(ask_boolean, self.kind == JINJA_BOOL)
ASK(ask_false, self.kind == JINJA_BOOL && !self.b)
ASK(ask_true, self.kind == JINJA_BOOL && self.b)
ASK(ask_integer, self.kind == JINJA_INT)
ASK(ask_float, self.kind == JINJA_FLOAT)
ASK(ask_number, self.kind >= JINJA_BOOL && self.kind <= JINJA_FLOAT)
ASK(ask_string, self.kind == JINJA_TEXT)
ASK(ask_mapping, self.kind == JINJA_DICT)
ASK(ask_sequence, is_sequence(self))
ASK(ask_iterable, jinja_iterable(self))
ASK(ask_callable, is_callable(self))
ASK(ask_escaped, self.kind == JINJA_TEXT && self.markup)
ASK(ask_lower, jinja_all_lower(jinja_str(r, self).text))
ASK(ask_upper, jinja_all_upper(jinja_str(r, self).text))
ASK(ask_sameas, jinja_same(self, args->v[0]) ||
                    (self.kind == JINJA_INT && args->v[0].kind == JINJA_INT &&
                     self.i == args->v[0].i))
ASK(ask_in, jinja_contains(r, args->v[0], self))
ASK(ask_eq, jinja_relate(r, JINJA_EQ, self, args->v[0]))
ASK(ask_ne, jinja_relate(r, JINJA_NE, self, args->v[0]))
ASK(ask_lt, jinja_relate(r, JINJA_LT, self, args->v[0]))
ASK(ask_le, jinja_relate(r, JINJA_LE, self, args->v[0]))
ASK(ask_gt, jinja_relate(r, JINJA_GT, self, args->v[0]))
ASK(ask_ge, jinja_relate(r, JINJA_GE, self, args->v[0]))

static bool
leaves(jinja_run *r, jinja_value v, jinja_value by, int64_t rest)
{
    return jinja_equal(r, jinja_binary(r, JINJA_MOD, v, by), jinja_int(rest));
}

ASK(ask_odd, leaves(r, self, jinja_int(2), 1))
ASK(ask_even, leaves(r, self, jinja_int(2), 0))
ASK(ask_divisible, leaves(r, self, args->v[0], 0))

static const jinja_text *
name_of(jinja_run *r, jinja_value v)
{
    static const jinja_text none = {"", 0, 0};
    if (!jinja_hashable(v))
        jinja_stop(r, "TypeError: unhashable type: '%s'", jinja_type(v));
    return v.kind == JINJA_TEXT ? v.text : &none;
}

ASK(ask_filter, jinja_filter_find(name_of(r, self)) ||
                    jinja_filter_is_absent(name_of(r, self)))
ASK(ask_test, jinja_test_find(name_of(r, self)) != NULL)

#define ROW(name, parameters, call)      \
    {                                    \
        name, parameters, call, 0, false \
    }
static const jinja_builtin tests[] = {
    ROW("odd", "", ask_odd),
    ROW("even", "", ask_even),
    ROW("divisibleby", "num", ask_divisible),
    ROW("defined", "", ask_defined),
    ROW("undefined", "", ask_undefined),
    ROW("filter", "", ask_filter),
    ROW("test", "", ask_test),
    ROW("none", "", ask_none),
    ROW("boolean", "", ask_boolean),
    ROW("false", "", ask_false),
    ROW("true", "", ask_true),
    ROW("integer", "", ask_integer),
    ROW("float", "", ask_float),
    ROW("lower", "", ask_lower),
    ROW("upper", "", ask_upper),
    ROW("string", "", ask_string),
    ROW("mapping", "", ask_mapping),
    ROW("number", "", ask_number),
    ROW("sequence", "", ask_sequence),
    ROW("iterable", "", ask_iterable),
    ROW("callable", "", ask_callable),
    ROW("sameas", "other", ask_sameas),
    ROW("escaped", "", ask_escaped),
    ROW("in", "seq", ask_in),
    ROW("==", "b", ask_eq),
    ROW("eq", "b", ask_eq),
    ROW("equalto", "b", ask_eq),
    ROW("!=", "b", ask_ne),
    ROW("ne", "b", ask_ne),
    ROW(">", "b", ask_gt),
    ROW("gt", "b", ask_gt),
    ROW("greaterthan", "b", ask_gt),
    ROW("ge", "b", ask_ge),
    ROW(">=", "b", ask_ge),
    ROW("<", "b", ask_lt),
    ROW("lt", "b", ask_lt),
    ROW("lessthan", "b", ask_lt),
    ROW("<=", "b", ask_le),
    ROW("le", "b", ask_le),
};

const jinja_builtin *
jinja_test_find(const jinja_text *name)
{
    return jinja_builtin_find(tests, sizeof tests / sizeof *tests, name);
}
