/* Values: made, compared, looked up; Python's rules. */
#define _GNU_SOURCE /* memmem */
#include "engine/jinja/inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

jinja_value
jinja_none(void)
{
    return (jinja_value){.kind = JINJA_NONE};
}

jinja_value
jinja_bool(bool b)
{
    return (jinja_value){.kind = JINJA_BOOL, .b = b};
}

jinja_value
jinja_int(int64_t i)
{
    return (jinja_value){.kind = JINJA_INT, .i = i};
}

jinja_value
jinja_float(double f)
{
    return (jinja_value){.kind = JINJA_FLOAT, .f = f};
}

jinja_value
jinja_text_of(jinja_run *r, const char *p, size_t n)
{
    jinja_text *text = JINJA_NEW(r, jinja_text);
    *text = (jinja_text){p, n, n ? SIZE_MAX : 0};
    return (jinja_value){.kind = JINJA_TEXT, .text = text};
}

static jinja_value
copy_text(jinja_run *r, const char *p, size_t n)
{
    char *copy = jinja_alloc(r, n + 1);
    if (n)
        memcpy(copy, p, n);
    return jinja_text_of(r, copy, n);
}

jinja_value
jinja_text_z(jinja_run *r, const char *p)
{
    return copy_text(r, p, strlen(p));
}

jinja_value
jinja_list_new(jinja_run *r, jinja_kind kind)
{
    return (jinja_value){.kind = (uint8_t)kind,
                         .list = JINJA_NEW(r, jinja_list)};
}

void
jinja_push(jinja_run *r, jinja_value list, jinja_value element)
{
    JINJA_PUSH(r, list.list, element);
}

jinja_value
jinja_dict_new(jinja_run *r)
{
    return (jinja_value){.kind = JINJA_DICT, .dict = JINJA_NEW(r, jinja_dict)};
}

/* ---- undefined ---- */

static jinja_value
undefined(jinja_run *r, jinja_undefined why)
{
    jinja_undefined *u = JINJA_NEW(r, jinja_undefined);
    *u = why;
    return (jinja_value){.kind = JINJA_UNDEFINED, .undefined = u};
}

jinja_value
jinja_hinted(jinja_run *r, const char *hint)
{
    return undefined(r, (jinja_undefined){.hint = hint});
}

static jinja_value
as_value(const jinja_text *text)
{
    return (jinja_value){.kind = JINJA_TEXT, .text = (jinja_text *)text};
}

jinja_value
jinja_unnamed(jinja_run *r, const jinja_text *name)
{
    return undefined(r, (jinja_undefined){.name = as_value(name)});
}

jinja_value
jinja_lacking(jinja_run *r, jinja_value of, jinja_value name)
{
    return undefined(r, (jinja_undefined){.of = jinja_type(of), .name = name});
}

jinja_value
jinja_unsafe(jinja_run *r, jinja_value of, const jinja_text *name)
{
    return undefined(r, (jinja_undefined){.of = jinja_type(of),
                                          .name = as_value(name),
                                          .unsafe = true});
}

void
jinja_stop_undefined(jinja_run *r, jinja_value v)
{
    const jinja_undefined *u = v.undefined;
    jinja_buf name = {0};
    if (u->hint)
        jinja_stop(r, "UndefinedError: %s", u->hint);
    jinja_repr(r, &name, u->name);
    jinja_put(r, &name, 0);
    int n = (int)rlf_str_cut((rlf_str){name.p, name.n - 1}, 80);
    if (u->unsafe)
        jinja_stop(r,
                   "SecurityError: access to attribute %.*s of '%s' object is "
                   "unsafe",
                   n, name.p, u->of);
    if (!u->of)
        jinja_stop(r, "UndefinedError: %.*s is undefined", n, name.p);
    jinja_stop(r, "UndefinedError: '%s object' has no %s %.*s", u->of,
               u->name.kind == JINJA_TEXT ? "attribute" : "element", n, name.p);
}

/* ---- kinds ---- */

const char *
jinja_type(jinja_value v)
{
    static const char *const names[] = {
        [JINJA_MISSING] = "missing",   [JINJA_UNDEFINED] = "Undefined",
        [JINJA_NONE] = "NoneType",     [JINJA_BOOL] = "bool",
        [JINJA_INT] = "int",           [JINJA_FLOAT] = "float",
        [JINJA_TEXT] = "str",          [JINJA_LIST] = "list",
        [JINJA_TUPLE] = "tuple",       [JINJA_DICT] = "dict",
        [JINJA_RANGE] = "range",       [JINJA_VIEW] = "dict view",
        [JINJA_ITER] = "generator",    [JINJA_NAMESPACE] = "namespace",
        [JINJA_MACRO] = "Macro",       [JINJA_METHOD] = "method",
        [JINJA_FUNCTION] = "function", [JINJA_LOOP] = "LoopContext",
        [JINJA_CYCLER] = "Cycler",     [JINJA_JOINER] = "Joiner",
    };
    return v.kind == JINJA_TEXT && v.markup ? "Markup" : names[v.kind];
}

bool
jinja_as_int(jinja_value v, int64_t *out)
{
    *out = v.kind == JINJA_BOOL ? v.b : v.kind == JINJA_INT ? v.i : 0;
    return v.kind == JINJA_BOOL || v.kind == JINJA_INT;
}

bool
jinja_as_number(jinja_value v, double *out)
{
    int64_t i;
    bool is = jinja_as_int(v, &i);
    *out = v.kind == JINJA_FLOAT ? v.f : (double)i;
    return is || v.kind == JINJA_FLOAT;
}

int64_t
jinja_need_int(jinja_run *r, jinja_value v)
{
    int64_t i;
    if (!jinja_as_int(v, &i))
        jinja_stop(r,
                   "TypeError: '%s' object cannot be interpreted as an integer",
                   jinja_type(v));
    return i;
}

const jinja_text *
jinja_need_text(jinja_run *r, jinja_value v)
{
    if (v.kind != JINJA_TEXT)
        jinja_stop(r, "TypeError: a str is expected, not '%s'", jinja_type(v));
    return v.text;
}

uint64_t
jinja_range_count(const jinja_range *g)
{
    bool up = g->step > 0;
    if (up ? g->first >= g->last : g->first <= g->last)
        return 0;
    uint64_t way = up ? (uint64_t)g->last - (uint64_t)g->first
                      : (uint64_t)g->first - (uint64_t)g->last;
    uint64_t step = up ? (uint64_t)g->step : -(uint64_t)g->step;
    return (way - 1) / step + 1;
}

bool
jinja_has_length(jinja_value v)
{
    return v.kind == JINJA_UNDEFINED || v.kind == JINJA_TEXT ||
           v.kind == JINJA_LIST || v.kind == JINJA_TUPLE ||
           v.kind == JINJA_DICT || v.kind == JINJA_RANGE ||
           v.kind == JINJA_VIEW || v.kind == JINJA_LOOP;
}

size_t
jinja_length(jinja_run *r, jinja_value v)
{
    switch (v.kind) {
    case JINJA_UNDEFINED:
        return 0;
    case JINJA_TEXT:
        return jinja_chars(v.text);
    case JINJA_LIST:
    case JINJA_TUPLE:
        return v.list->count;
    case JINJA_DICT:
    case JINJA_VIEW:
        return v.dict->count;
    case JINJA_RANGE:
        return jinja_range_count(v.range);
    case JINJA_LOOP:
        return jinja_loop_length(r, v.loop);
    default:
        jinja_stop(r, "TypeError: object of type '%s' has no len()",
                   jinja_type(v));
    }
}

bool
jinja_truth(jinja_run *r, jinja_value v)
{
    double number;
    if (jinja_as_number(v, &number))
        return number != 0;
    if (v.kind == JINJA_NONE || v.kind == JINJA_MISSING)
        return false;
    return v.kind == JINJA_TEXT
               ? v.text->n > 0
               : !jinja_has_length(v) || jinja_length(r, v) > 0;
}

jinja_value
jinja_element(jinja_run *r, jinja_value v, size_t i)
{
    if (v.kind == JINJA_LIST || v.kind == JINJA_TUPLE)
        return v.list->data[i];
    if (v.kind == JINJA_RANGE)
        return jinja_int(v.range->first + (int64_t)i * v.range->step);
    size_t at = jinja_byte_of(r, v.text, i), n;
    jinja_code(v.text->p + at, &n);
    return jinja_part(r, v, at, at + n);
}

/* ---- equality ---- */

bool
jinja_same(jinja_value a, jinja_value b)
{
    if (a.kind != b.kind)
        return false;
    if (a.kind == JINJA_NONE || a.kind == JINJA_MISSING)
        return true;
    if (a.kind == JINJA_BOOL)
        return a.b == b.b;
    if (a.kind == JINJA_INT) /* small ones are the same objects */
        return a.i == b.i && a.i >= -5 && a.i <= 256;
    return a.kind != JINJA_FLOAT && a.text == b.text;
}

static bool
lists_equal(jinja_run *r, const jinja_list *a, const jinja_list *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; i++)
        equal = jinja_same(a->data[i], b->data[i]) ||
                jinja_equal(r, a->data[i], b->data[i]);
    return equal;
}

static bool
dicts_equal(jinja_run *r, const jinja_dict *a, const jinja_dict *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; i < a->count && equal; i++) {
        const jinja_value *other = jinja_find(r, b, a->data[i].key);
        equal = other && jinja_equal(r, a->data[i].value, *other);
    }
    return equal;
}

static bool
views_equal(jinja_run *r, jinja_value a, jinja_value b)
{
    bool equal = a.dict->count == b.dict->count && a.view == b.view &&
                 a.view != JINJA_VALUES;
    for (size_t i = 0; i < a.dict->count && equal; i++) {
        const jinja_value *other = jinja_find(r, b.dict, a.dict->data[i].key);
        equal = other && (a.view == JINJA_KEYS ||
                          jinja_equal(r, a.dict->data[i].value, *other));
    }
    return equal;
}

static bool
ranges_equal(const jinja_range *a, const jinja_range *b)
{
    uint64_t n = jinja_range_count(a);
    return n == jinja_range_count(b) &&
           (!n || (a->first == b->first && (n == 1 || a->step == b->step)));
}

bool
jinja_equal(jinja_run *r, jinja_value a, jinja_value b)
{
    double x, y;
    bool equal;
    jinja_pay(r, 1);
    if (jinja_as_number(a, &x) && jinja_as_number(b, &y))
        return a.kind == JINJA_INT && b.kind == JINJA_INT ? a.i == b.i : x == y;
    if (a.kind != b.kind)
        return false;
    jinja_enter(r);
    switch (a.kind) {
    case JINJA_UNDEFINED:
        equal = true;
        break;
    case JINJA_TEXT:
        jinja_pay(r, a.text->n / 32);
        equal = a.text->n == b.text->n &&
                memcmp(a.text->p, b.text->p, a.text->n) == 0;
        break;
    case JINJA_LIST:
    case JINJA_TUPLE:
        equal = lists_equal(r, a.list, b.list);
        break;
    case JINJA_DICT:
        equal = dicts_equal(r, a.dict, b.dict);
        break;
    case JINJA_VIEW:
        equal = (a.dict == b.dict && a.view == b.view) || views_equal(r, a, b);
        break;
    case JINJA_RANGE:
        equal = ranges_equal(a.range, b.range);
        break;
    case JINJA_METHOD:
        equal = a.method->builtin == b.method->builtin &&
                jinja_same(a.method->self, b.method->self);
        break;
    default:
        equal = jinja_same(a, b);
    }
    jinja_leave(r);
    return equal;
}

/* ---- order ---- */

static _Noreturn void
no_order(jinja_run *r, jinja_value a, jinja_value b, const char *op)
{
    jinja_stop(r,
               "TypeError: '%s' not supported between instances of '%s' and "
               "'%s'",
               op, jinja_type(a), jinja_type(b));
}

static int
compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int
text_order(const jinja_text *a, const jinja_text *b)
{
    size_t n = a->n < b->n ? a->n : b->n;
    int order = n ? memcmp(a->p, b->p, n) : 0; /* that of code points */
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

int
jinja_order(jinja_run *r, jinja_value a, jinja_value b, const char *op)
{
    double x, y;
    jinja_pay(r, 1);
    if (a.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, a);
    if (b.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, b);
    if (a.kind == JINJA_INT && b.kind == JINJA_INT)
        return (a.i > b.i) - (a.i < b.i);
    if (jinja_as_number(a, &x) && jinja_as_number(b, &y))
        return compare(x, y);
    if (a.kind != b.kind)
        no_order(r, a, b, op);
    if (a.kind == JINJA_TEXT)
        return text_order(a.text, b.text);
    if (a.kind != JINJA_LIST && a.kind != JINJA_TUPLE)
        no_order(r, a, b, op);
    int order = 0;
    jinja_enter(r);
    for (size_t i = 0; !order; i++) {
        if (i == a.list->count || i == b.list->count) {
            order = (i < a.list->count) - (i < b.list->count);
            break;
        }
        jinja_value p = a.list->data[i], q = b.list->data[i];
        if (!jinja_same(p, q) && !jinja_equal(r, p, q)) {
            order = jinja_order(r, p, q, op);
            break;
        }
    }
    jinja_leave(r);
    return order;
}

static bool
has_nan(jinja_value a, jinja_value b)
{
    return (a.kind == JINJA_FLOAT && isnan(a.f)) ||
           (b.kind == JINJA_FLOAT && isnan(b.f));
}

bool
jinja_relate(jinja_run *r, jinja_relation relation, jinja_value a,
             jinja_value b)
{
    static const char *const names[] = {"==", "!=", "<", "<=", ">", ">="};
    int order;
    switch (relation) {
    case JINJA_EQ:
        return jinja_equal(r, a, b);
    case JINJA_NE:
        return !jinja_equal(r, a, b);
    case JINJA_IN:
        return jinja_contains(r, b, a);
    case JINJA_NOT_IN:
        return !jinja_contains(r, b, a);
    default:
        order = jinja_order(r, a, b, names[relation]);
        if (has_nan(a, b))
            return false;
        return relation == JINJA_LT   ? order < 0
               : relation == JINJA_LE ? order <= 0
               : relation == JINJA_GT ? order > 0
                                      : order >= 0;
    }
}

bool
jinja_contains(jinja_run *r, jinja_value in, jinja_value v)
{
    jinja_value element;
    if (in.kind == JINJA_TEXT) {
        if (v.kind != JINJA_TEXT)
            jinja_stop(r,
                       "TypeError: 'in <string>' requires string as left "
                       "operand, not %s",
                       jinja_type(v));
        jinja_pay(r, in.text->n / 32);
        return !v.text->n ||
               memmem(in.text->p, in.text->n, v.text->p, v.text->n) != NULL;
    }
    if (in.kind == JINJA_DICT ||
        (in.kind == JINJA_VIEW && in.view == JINJA_KEYS))
        return jinja_find(r, in.dict, v) != NULL;
    if (!jinja_iterable(in))
        jinja_stop(r, "TypeError: argument of type '%s' is not iterable",
                   jinja_type(in));
    jinja_iter *it = jinja_iterate(r, in);
    while (jinja_next(r, it, &element))
        if (jinja_same(element, v) || jinja_equal(r, element, v))
            return true;
    return false;
}

/* ---- dicts ---- */

bool
jinja_hashable(jinja_value v)
{
    bool is = v.kind != JINJA_LIST && v.kind != JINJA_DICT &&
              (v.kind != JINJA_VIEW || v.view == JINJA_VALUES);
    if (v.kind == JINJA_TUPLE)
        for (size_t i = 0; i < v.list->count && is; i++)
            is = jinja_hashable(v.list->data[i]);
    return is;
}

jinja_value *
jinja_find_text(jinja_run *r, const jinja_dict *dict, rlf_str key)
{
    jinja_pay(r, dict->count / 8);
    for (size_t i = 0; i < dict->count; i++) {
        jinja_value k = dict->data[i].key;
        if (k.kind == JINJA_TEXT && k.text->n == key.n &&
            memcmp(k.text->p, key.p, key.n) == 0)
            return &dict->data[i].value;
    }
    return NULL;
}

jinja_value *
jinja_find(jinja_run *r, const jinja_dict *dict, jinja_value key)
{
    if (key.kind == JINJA_TEXT)
        return jinja_find_text(r, dict, (rlf_str){key.text->p, key.text->n});
    if (!jinja_hashable(key))
        jinja_stop(r, "TypeError: unhashable type: '%s'", jinja_type(key));
    for (size_t i = 0; i < dict->count; i++)
        if (jinja_same(dict->data[i].key, key) ||
            jinja_equal(r, dict->data[i].key, key))
            return &dict->data[i].value;
    return NULL;
}

void
jinja_store(jinja_run *r, jinja_dict *dict, jinja_value key, jinja_value value)
{
    jinja_value *there = jinja_find(r, dict, key);
    if (there)
        *there = value;
    else
        JINJA_PUSH(r, dict, (jinja_pair){key, value});
}

/* ---- from JSON ---- */

jinja_value
jinja_from_json(jinja_run *r, const json_t *json)
{
    jinja_value v = jinja_none();
    json_t *object = (json_t *)json, *element;
    const char *key;
    size_t i, n;
    switch (json_typeof(json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return jinja_bool(json_is_true(json));
    case JSON_INTEGER:
        return jinja_int(json_integer_value(json));
    case JSON_REAL:
        return jinja_float(json_real_value(json));
    case JSON_STRING:
        return copy_text(r, json_string_value(json), json_string_length(json));
    case JSON_ARRAY:
        jinja_enter(r);
        v = jinja_list_new(r, JINJA_LIST);
        json_array_foreach(object, i, element)
            jinja_push(r, v, jinja_from_json(r, element));
        jinja_leave(r);
        return v;
    case JSON_OBJECT:
        jinja_enter(r);
        v = jinja_dict_new(r);
        json_object_keylen_foreach(object, key, n, element)
        {
            jinja_pair pair = {copy_text(r, key, n),
                               jinja_from_json(r, element)};
            JINJA_PUSH(r, v.dict, pair);
        }
        jinja_leave(r);
        return v;
    default:
        return v;
    }
}
