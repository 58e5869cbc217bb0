/* Attributes, elements and slices, as the immutable sandbox gives them. */
#include "engine/jinja/inside.h"

#include <string.h>

/* ---- methods of dicts, lists, tuples, ranges ---- */

static jinja_value
get(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_value *there = jinja_find(r, self.dict, args->v[0]);
    if (there)
        return *there;
    return args->v[1].kind == JINJA_MISSING ? jinja_none() : args->v[1];
}

static jinja_value
view(jinja_value dict, uint8_t which)
{
    dict.kind = JINJA_VIEW;
    dict.view = which;
    return dict;
}

static jinja_value
keys(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return view(self, JINJA_KEYS);
}

static jinja_value
values(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return view(self, JINJA_VALUES);
}

static jinja_value
items(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return view(self, JINJA_ITEMS);
}

static jinja_value
copy(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)args;
    if (self.kind == JINJA_LIST)
        return jinja_listed(r, self, JINJA_LIST);
    jinja_value dict = jinja_dict_new(r);
    jinja_pay(r, self.dict->count);
    for (size_t i = 0; i < self.dict->count; i++)
        JINJA_PUSH(r, dict.dict, self.dict->data[i]);
    return dict;
}

static jinja_value
count(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_iter *it = jinja_iterate(r, self);
    jinja_value element;
    int64_t n = 0;
    while (jinja_next(r, it, &element))
        n += jinja_same(element, args->v[0]) ||
             jinja_equal(r, element, args->v[0]);
    return jinja_int(n);
}

static jinja_value
index_of(jinja_run *r, jinja_value self, const jinja_args *args)
{
    int64_t n = (int64_t)jinja_length(r, self), first = 0, last = n;
    if (args->v[1].kind != JINJA_MISSING)
        first = jinja_need_int(r, args->v[1]);
    if (args->v[2].kind != JINJA_MISSING)
        last = jinja_need_int(r, args->v[2]);
    first = first < 0 ? (first + n < 0 ? 0 : first + n) : first;
    last = last < 0 ? last + n : last > n ? n : last;
    for (int64_t i = first; i < last; i++) {
        jinja_value element = jinja_element(r, self, (size_t)i);
        if (jinja_same(element, args->v[0]) ||
            jinja_equal(r, element, args->v[0]))
            return jinja_int(i);
    }
    jinja_stop(r, "ValueError: the value is not in the list");
}

static jinja_value
cycle(jinja_run *r, jinja_value self, const jinja_args *args)
{
    if (!args->n || args->n_named)
        jinja_stop(r, "TypeError: no items for cycling given");
    return args->v[(size_t)self.loop->index % args->n];
}

static jinja_value
changed(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_value now = jinja_list_new(r, JINJA_TUPLE);
    for (size_t i = 0; i < args->n; i++)
        jinja_push(r, now, args->v[i]);
    bool is = self.loop->changed.kind == JINJA_MISSING ||
              !jinja_equal(r, self.loop->changed, now);
    self.loop->changed = now;
    return jinja_bool(is);
}

static jinja_value
next_item(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    jinja_cycler *c = self.cycler;
    jinja_value v = c->items.list->data[c->at];
    c->at = (c->at + 1) % c->items.list->count;
    return v;
}

static jinja_value
reset(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    self.cycler->at = 0;
    return jinja_none();
}

static jinja_value
is_integer(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return jinja_bool(self.f == (double)(int64_t)self.f);
}

#define BIT(kind) (1u << (kind))
#define CHANGES(name, kinds)          \
    {                                 \
        name, NULL, NULL, kinds, true \
    }
static const jinja_builtin methods[] = {
    {"get", "key default?", get, BIT(JINJA_DICT), false},
    {"keys", "", keys, BIT(JINJA_DICT), false},
    {"values", "", values, BIT(JINJA_DICT), false},
    {"items", "", items, BIT(JINJA_DICT), false},
    {"copy", "", copy, BIT(JINJA_DICT) | BIT(JINJA_LIST), false},
    {"count", "value", count,
     BIT(JINJA_LIST) | BIT(JINJA_TUPLE) | BIT(JINJA_RANGE), false},
    {"index", "value start? stop?", index_of,
     BIT(JINJA_LIST) | BIT(JINJA_TUPLE) | BIT(JINJA_RANGE), false},
    {"cycle", NULL, cycle, BIT(JINJA_LOOP), false},
    {"changed", NULL, changed, BIT(JINJA_LOOP), false},
    {"next", "", next_item, BIT(JINJA_CYCLER), false},
    {"reset", "", reset, BIT(JINJA_CYCLER), false},
    {"is_integer", "", is_integer, BIT(JINJA_FLOAT), false},
    CHANGES("append", BIT(JINJA_LIST)),
    CHANGES("extend", BIT(JINJA_LIST)),
    CHANGES("insert", BIT(JINJA_LIST)),
    CHANGES("remove", BIT(JINJA_LIST)),
    CHANGES("reverse", BIT(JINJA_LIST)),
    CHANGES("sort", BIT(JINJA_LIST)),
    CHANGES("clear", BIT(JINJA_LIST) | BIT(JINJA_DICT)),
    CHANGES("pop", BIT(JINJA_LIST) | BIT(JINJA_DICT)),
    CHANGES("popitem", BIT(JINJA_DICT)),
    CHANGES("setdefault", BIT(JINJA_DICT)),
    CHANGES("update", BIT(JINJA_DICT)),
};

static const jinja_builtin *
find_in(const jinja_builtin *list, size_t n, jinja_kind kind,
        const jinja_text *name)
{
    for (size_t i = 0; i < n; i++)
        if ((list[i].kinds & BIT(kind)) && jinja_text_is(name, list[i].name))
            return &list[i];
    return NULL;
}

const jinja_builtin *
jinja_method_find(jinja_kind kind, const jinja_text *name)
{
    if (kind != JINJA_TEXT)
        return find_in(methods, sizeof methods / sizeof *methods, kind, name);
    const jinja_builtin *b =
        find_in(jinja_text_methods, jinja_n_text_methods, kind, name);
    return b ? b : find_in(jinja_text_tests, jinja_n_text_tests, kind, name);
}

/* ---- attributes ---- */

static jinja_value
missing(void)
{
    return (jinja_value){.kind = JINJA_MISSING};
}

static jinja_value
macro_attribute(jinja_run *r, const jinja_macro *macro, const jinja_text *name)
{
    const jinja_node *n = macro->node;
    if (jinja_text_is(name, "name"))
        return n->name ? (jinja_value){.kind = JINJA_TEXT,
                                       .text = (jinja_text *)n->name}
                       : jinja_none();
    if (jinja_text_is(name, "catch_kwargs"))
        return jinja_bool(n->takes_kwargs);
    if (jinja_text_is(name, "catch_varargs"))
        return jinja_bool(n->takes_varargs);
    if (jinja_text_is(name, "caller"))
        return jinja_bool(n->takes_caller);
    if (!jinja_text_is(name, "arguments"))
        return missing();
    jinja_value list = jinja_list_new(r, JINJA_TUPLE);
    for (size_t i = 0; i < n->list.count; i++)
        jinja_push(r, list,
                   (jinja_value){.kind = JINJA_TEXT,
                                 .text = (jinja_text *)n->list.data[i]->name});
    return list;
}

static jinja_value
number_attribute(jinja_value of, const jinja_text *name)
{
    int64_t i;
    if (jinja_text_is(name, "real") || jinja_text_is(name, "imag")) {
        bool real = jinja_text_is(name, "real");
        if (of.kind == JINJA_FLOAT)
            return jinja_float(real ? of.f : 0);
        jinja_as_int(of, &i);
        return jinja_int(real ? i : 0);
    }
    if (jinja_as_int(of, &i) && jinja_text_is(name, "numerator"))
        return jinja_int(i);
    if (jinja_as_int(of, &i) && jinja_text_is(name, "denominator"))
        return jinja_int(1);
    return missing();
}

jinja_value
jinja_own_attribute(jinja_run *r, jinja_value of, const jinja_text *name)
{
    const jinja_builtin *b = jinja_method_find(of.kind, name);
    jinja_value *there;
    if (b && b->changes)
        return jinja_unsafe(r, of, name);
    if (b) {
        jinja_method *method = JINJA_NEW(r, jinja_method);
        *method = (jinja_method){b, of};
        return (jinja_value){.kind = JINJA_METHOD, .method = method};
    }
    switch (of.kind) {
    case JINJA_NAMESPACE:
        there = jinja_find_text(r, of.dict, (rlf_str){name->p, name->n});
        return there ? *there : missing();
    case JINJA_LOOP:
        return jinja_loop_attribute(r, of.loop, name);
    case JINJA_MACRO:
        return macro_attribute(r, of.macro, name);
    case JINJA_TUPLE:
        if (of.grouping && jinja_text_is(name, "grouper"))
            return of.list->data[0];
        return of.grouping && jinja_text_is(name, "list") ? of.list->data[1]
                                                          : missing();
    case JINJA_RANGE:
        return jinja_text_is(name, "start")  ? jinja_int(of.range->first)
               : jinja_text_is(name, "stop") ? jinja_int(of.range->last)
               : jinja_text_is(name, "step") ? jinja_int(of.range->step)
                                             : missing();
    case JINJA_CYCLER:
        return jinja_text_is(name, "current")
                   ? of.cycler->items.list->data[of.cycler->at]
                   : missing();
    case JINJA_BOOL:
    case JINJA_INT:
    case JINJA_FLOAT:
        return number_attribute(of, name);
    default:
        return missing();
    }
}

/* Names that every object of Python has, and no template may use. */
static bool
is_inner(const jinja_text *name)
{
    static const char *const names[] = {
        "__class__",        "__doc__",     "__dict__",
        "__module__",       "__init__",    "__new__",
        "__repr__",         "__str__",     "__eq__",
        "__ne__",           "__hash__",    "__len__",
        "__getitem__",      "__iter__",    "__subclasshook__",
        "__getattribute__", "__reduce__",  "__reduce_ex__",
        "__sizeof__",       "__dir__",     "__format__",
        "__setattr__",      "__delattr__", "__init_subclass__",
        "__contains__",     "__add__"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (jinja_text_is(name, names[i]))
            return true;
    return false;
}

/* of[key] of Python; MISSING where it has none. */
static jinja_value
own_element(jinja_run *r, jinja_value of, jinja_value key)
{
    int64_t i;
    if (of.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, of);
    if (of.kind == JINJA_DICT) {
        jinja_value *there =
            jinja_hashable(key) ? jinja_find(r, of.dict, key) : NULL;
        return there ? *there : missing();
    }
    bool is = of.kind == JINJA_LIST || of.kind == JINJA_TUPLE ||
              of.kind == JINJA_RANGE || of.kind == JINJA_TEXT;
    if (!is || !jinja_as_int(key, &i))
        return missing();
    int64_t n = (int64_t)jinja_length(r, of);
    i = i < 0 ? i + n : i;
    return i < 0 || i >= n ? missing() : jinja_element(r, of, (size_t)i);
}

jinja_value
jinja_getattr(jinja_run *r, jinja_value of, const jinja_text *name)
{
    jinja_value key = {.kind = JINJA_TEXT, .text = (jinja_text *)name};
    if (is_inner(name))
        return jinja_unsafe(r, of, name);
    if (of.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, of);
    jinja_value v = jinja_own_attribute(r, of, name);
    if (v.kind == JINJA_MISSING)
        v = own_element(r, of, key);
    return v.kind == JINJA_MISSING ? jinja_lacking(r, of, key) : v;
}

jinja_value
jinja_getitem(jinja_run *r, jinja_value of, jinja_value key)
{
    jinja_value v = own_element(r, of, key);
    if (v.kind == JINJA_MISSING && key.kind == JINJA_TEXT) {
        v = jinja_own_attribute(r, of, key.text);
        if (v.kind == JINJA_MISSING && is_inner(key.text))
            v = jinja_unsafe(r, of, key.text);
    }
    return v.kind == JINJA_MISSING ? jinja_lacking(r, of, key) : v;
}

/* ---- slices ---- */

static int64_t
slice_bound(jinja_run *r, jinja_value v, int64_t fallback)
{
    int64_t i;
    if (v.kind == JINJA_NONE || v.kind == JINJA_MISSING)
        return fallback;
    if (!jinja_as_int(v, &i))
        jinja_stop(r,
                   "TypeError: slice indices must be integers or None or have "
                   "an __index__ method");
    return i;
}

static int64_t
clip(int64_t i, int64_t n, int64_t least, int64_t most)
{
    i = i < 0 ? i + n : i;
    return i < least ? least : i > most ? most : i;
}

static jinja_value
slice_of(jinja_run *r, jinja_value of, jinja_range g)
{
    uint64_t count = jinja_range_count(&g);
    if (of.kind == JINJA_RANGE) {
        jinja_range *range = JINJA_NEW(r, jinja_range);
        *range = (jinja_range){of.range->first + g.first * of.range->step,
                               of.range->first + g.last * of.range->step,
                               of.range->step * g.step};
        return (jinja_value){.kind = JINJA_RANGE, .range = range};
    }
    jinja_pay(r, count / 4);
    if (of.kind == JINJA_TEXT && g.step == 1) {
        size_t first = jinja_byte_of(r, of.text, (size_t)g.first);
        size_t last = jinja_byte_of(r, of.text, (size_t)g.last);
        return jinja_part(r, of, first, count ? last : first);
    }
    if (of.kind == JINJA_TEXT) {
        jinja_buf out = {0};
        for (uint64_t i = 0; i < count; i++)
            jinja_print(
                r, &out,
                jinja_element(r, of, (size_t)(g.first + (int64_t)i * g.step)));
        jinja_value v = jinja_taken(r, &out);
        v.markup = of.markup;
        return v;
    }
    jinja_value list = jinja_list_new(r, of.kind);
    for (uint64_t i = 0; i < count; i++)
        jinja_push(r, list, of.list->data[g.first + (int64_t)i * g.step]);
    return list;
}

jinja_value
jinja_slice(jinja_run *r, jinja_value of, jinja_value first, jinja_value last,
            jinja_value step)
{
    if (of.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, of);
    if (of.kind == JINJA_DICT)
        jinja_stop(r, "TypeError: unhashable type: 'slice'");
    if (of.kind != JINJA_TEXT && of.kind != JINJA_LIST &&
        of.kind != JINJA_TUPLE && of.kind != JINJA_RANGE)
        jinja_stop(r, "TypeError: '%s' object is not subscriptable",
                   jinja_type(of));
    int64_t n = (int64_t)jinja_length(r, of);
    jinja_range g = {.step = slice_bound(r, step, 1)};
    if (!g.step)
        jinja_stop(r, "ValueError: slice step cannot be zero");
    if (g.step < -(INT64_MAX / 4))
        g.step = -(INT64_MAX / 4);
    if (g.step > INT64_MAX / 4)
        g.step = INT64_MAX / 4;
    bool up = g.step > 0;
    int64_t least = up ? 0 : -1, most = up ? n : n - 1;
    g.first = slice_bound(r, first, INT64_MIN);
    g.last = slice_bound(r, last, INT64_MIN);
    bool no_first = first.kind == JINJA_NONE || first.kind == JINJA_MISSING;
    bool no_last = last.kind == JINJA_NONE || last.kind == JINJA_MISSING;
    g.first = no_first ? (up ? 0 : n - 1) : clip(g.first, n, least, most);
    g.last = no_last ? (up ? n : -1) : clip(g.last, n, least, most);
    return slice_of(r, of, g);
}
