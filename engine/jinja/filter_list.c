/* Filters on lists, dicts and generators. Those that are generators in the
 * reference do nothing before somebody asks for an element. */
#include "engine/jinja/inside.h"

#include <string.h>

/* ---- attributes ---- */

static bool
is_number(const char *p, size_t n, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || i == 18)
            return false;
        *out = *out * 10 + (p[i] - '0');
    }
    return n > 0;
}

static jinja_value
step(jinja_run *r, jinja_value v, jinja_value key, jinja_value fallback)
{
    v = jinja_getitem(r, v, key);
    return v.kind == JINJA_UNDEFINED && jinja_is_given(fallback) ? fallback : v;
}

static jinja_value
path_of_text(jinja_run *r, jinja_value v, const char *p, size_t n,
             jinja_value fallback)
{
    for (const char *end = p + n;; p++) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        size_t k = (size_t)((dot ? dot : end) - p);
        int64_t i;
        v = step(r, v,
                 is_number(p, k, &i) ? jinja_int(i) : jinja_text_of(r, p, k),
                 fallback);
        p += k;
        if (!dot)
            return v;
    }
}

/* The value that an attribute path leads to: "a.b.0". */
static jinja_value
follow_path(jinja_run *r, jinja_value v, jinja_value path, jinja_value fallback)
{
    if (!jinja_is_given(path))
        return v;
    if (path.kind == JINJA_TEXT)
        return path_of_text(r, v, path.text->p, path.text->n, fallback);
    return step(r, v, path, fallback);
}

/* The value that elements are compared by: without letter case, unless it
 * counts. */
static jinja_value
folded(jinja_run *r, jinja_value v, bool case_sensitive)
{
    return v.kind == JINJA_TEXT && !case_sensitive ? jinja_lower(r, v) : v;
}

static jinja_value
missing(void)
{
    return (jinja_value){.kind = JINJA_MISSING};
}

/* ---- sorting ---- */

typedef struct sorted {
    jinja_value key, value;
} sorted;

static void
merge_sort(jinja_run *r, sorted *a, sorted *tmp, size_t n, bool reverse)
{
    if (n < 2)
        return;
    size_t half = n / 2, i = 0, k = half, at = 0;
    merge_sort(r, a, tmp, half, reverse);
    merge_sort(r, a + half, tmp, n - half, reverse);
    while (i < half && k < n) {
        int order = reverse ? jinja_order(r, a[i].key, a[k].key, "<")
                            : jinja_order(r, a[k].key, a[i].key, "<");
        tmp[at++] = order < 0 ? a[k++] : a[i++];
    }
    while (i < half)
        tmp[at++] = a[i++];
    while (k < n)
        tmp[at++] = a[k++];
    memcpy(a, tmp, n * sizeof *a);
}

static jinja_value
sort_by_keys(jinja_run *r, jinja_value list, jinja_value keys, bool reverse)
{
    size_t n = list.list->count;
    sorted *all = jinja_alloc(r, (n + 1) * sizeof *all);
    sorted *tmp = jinja_alloc(r, (n + 1) * sizeof *tmp);
    for (size_t i = 0; i < n; i++)
        all[i] = (sorted){keys.list->data[i], list.list->data[i]};
    merge_sort(r, all, tmp, n, reverse);
    jinja_value out = jinja_list_new(r, JINJA_LIST);
    for (size_t i = 0; i < n; i++)
        jinja_push(r, out, all[i].value);
    return out;
}

/* The key of an element by "a,b.c": a list of both. */
static jinja_value
many_paths(jinja_run *r, jinja_value v, jinja_value paths, bool case_sensitive)
{
    jinja_value key = jinja_list_new(r, JINJA_LIST);
    if (paths.kind != JINJA_TEXT) {
        jinja_value one = follow_path(r, v, paths, missing());
        jinja_push(r, key, folded(r, one, case_sensitive));
        return key;
    }
    jinja_value list = jinja_split(r, paths, jinja_text_z(r, ","), -1, false);
    for (size_t i = 0; i < list.list->count; i++) {
        jinja_value one = follow_path(r, v, list.list->data[i], missing());
        jinja_push(r, key, folded(r, one, case_sensitive));
    }
    return key;
}

/* Parameters: reverse, case_sensitive, attribute. */
JINJA_FILTER(sort)
{
    jinja_value list = jinja_listed(r, self, JINJA_LIST);
    jinja_value keys = jinja_list_new(r, JINJA_LIST);
    bool case_sensitive = jinja_flag(r, args->v[1]);
    for (size_t i = 0; i < list.list->count; i++)
        jinja_push(
            r, keys,
            many_paths(r, list.list->data[i], args->v[2], case_sensitive));
    return sort_by_keys(r, list, keys, jinja_flag(r, args->v[0]));
}

/* Parameters: case_sensitive, by, reverse. */
JINJA_FILTER(dictsort)
{
    bool by_value = false;
    if (args->v[1].kind != JINJA_MISSING) {
        const jinja_text *by = jinja_need_text(r, args->v[1]);
        by_value = jinja_text_is(by, "value");
        if (!by_value && !jinja_text_is(by, "key"))
            jinja_stop(r, "FilterArgumentError: You can only sort by either "
                          "\"key\" or \"value\"");
    }
    if (self.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, self);
    if (self.kind != JINJA_DICT)
        jinja_stop(r, "AttributeError: '%s' object has no attribute 'items'",
                   jinja_type(self));
    self.kind = JINJA_VIEW;
    self.view = JINJA_ITEMS;
    jinja_value list = jinja_listed(r, self, JINJA_LIST);
    jinja_value keys = jinja_list_new(r, JINJA_LIST);
    for (size_t i = 0; i < list.list->count; i++)
        jinja_push(r, keys,
                   folded(r, list.list->data[i].list->data[by_value],
                          jinja_flag(r, args->v[0])));
    return sort_by_keys(r, list, keys, jinja_flag(r, args->v[2]));
}

static jinja_value
extreme(jinja_run *r, jinja_value self, const jinja_args *args, bool most)
{
    jinja_iter *it = jinja_iterate(r, self);
    jinja_value best, best_key, element;
    bool case_sensitive = jinja_flag(r, args->v[0]);
    if (!jinja_next(r, it, &best))
        return jinja_hinted(r, "No aggregated item, sequence was empty.");
    best_key =
        folded(r, follow_path(r, best, args->v[1], missing()), case_sensitive);
    while (jinja_next(r, it, &element)) {
        jinja_value key = folded(
            r, follow_path(r, element, args->v[1], missing()), case_sensitive);
        int order = jinja_order(r, key, best_key, most ? ">" : "<");
        if (most ? order > 0 : order < 0) {
            best = element;
            best_key = key;
        }
    }
    return best;
}

JINJA_FILTER(min)
{
    return extreme(r, self, args, false);
}

JINJA_FILTER(max)
{
    return extreme(r, self, args, true);
}

/* Parameters: attribute, default, case_sensitive. */
JINJA_FILTER(groupby)
{
    jinja_value list = jinja_listed(r, self, JINJA_LIST);
    jinja_value keys = jinja_list_new(r, JINJA_LIST),
                out = jinja_list_new(r, JINJA_LIST);
    jinja_value group = missing(), last = missing();
    bool case_sensitive = jinja_flag(r, args->v[2]);
    for (size_t i = 0; i < list.list->count; i++) {
        jinja_value v =
            follow_path(r, list.list->data[i], args->v[0], args->v[1]);
        jinja_push(r, keys, folded(r, v, case_sensitive));
    }
    list = sort_by_keys(r, list, keys, false);
    for (size_t i = 0; i < list.list->count; i++) {
        jinja_value element = list.list->data[i];
        jinja_value own = follow_path(r, element, args->v[0], args->v[1]);
        jinja_value key = folded(r, own, case_sensitive);
        if (!i || !jinja_equal(r, key, last)) {
            jinja_value pair = jinja_list_new(r, JINJA_TUPLE);
            pair.grouping = true;
            group = jinja_list_new(r, JINJA_LIST);
            jinja_push(r, pair, own);
            jinja_push(r, pair, group);
            jinja_push(r, out, pair);
        }
        last = key;
        jinja_push(r, group, element);
    }
    return out;
}

/* ---- generators ---- */

static const jinja_args *
kept(jinja_run *r, const jinja_args *args)
{
    jinja_args *copy = JINJA_NEW(r, jinja_args);
    copy->v = jinja_alloc(r, (args->n + 1) * sizeof *copy->v);
    copy->named = jinja_alloc(r, (args->n_named + 1) * sizeof *copy->named);
    if (args->n)
        memcpy(copy->v, args->v, args->n * sizeof *copy->v);
    if (args->n_named)
        memcpy(copy->named, args->named, args->n_named * sizeof *copy->named);
    copy->n = args->n;
    copy->n_named = args->n_named;
    return copy;
}

static jinja_value
generator(jinja_run *r, bool (*next)(jinja_run *, jinja_iter *, jinja_value *),
          jinja_value source, const jinja_args *args)
{
    jinja_iter *it = JINJA_NEW(r, jinja_iter);
    it->next = next;
    it->source = source;
    it->args = kept(r, args);
    return jinja_generator(it);
}

/* The first time: what it goes through, nothing of what is false. */
static bool
begin(jinja_run *r, jinja_iter *it)
{
    it->begun = true;
    if (!jinja_truth(r, it->source))
        return false;
    it->from = jinja_iterate(r, it->source);
    return true;
}

/* Sets the filter or test that is meant, and the arguments that are left for
 * it. */
static void
take_builtin(jinja_run *r, jinja_iter *it, size_t at, bool filter)
{
    const jinja_args *args = it->args;
    jinja_args *rest = JINJA_NEW(r, jinja_args);
    *rest = *args;
    rest->v += at + 1;
    rest->n -= at + 1;
    it->args = rest;
    const jinja_text *name = jinja_need_text(r, args->v[at]);
    it->builtin = filter ? jinja_filter_find(name) : jinja_test_find(name);
    if (!it->builtin)
        jinja_stop_text(r,
                        filter ? "TemplateRuntimeError: there is no filter "
                               : "TemplateRuntimeError: there is no test ",
                        (rlf_str){name->p, name->n});
}

static void
take_attribute(jinja_run *r, jinja_iter *it)
{
    it->attribute = it->fallback = missing();
    for (size_t i = 0; i < it->args->n_named; i++) {
        const jinja_text *name = it->args->named[i].key.text;
        if (jinja_text_is(name, "attribute"))
            it->attribute = it->args->named[i].value;
        else if (jinja_text_is(name, "default"))
            it->fallback = it->args->named[i].value;
        else
            jinja_stop_text(r,
                            "FilterArgumentError: Unexpected keyword argument ",
                            (rlf_str){name->p, name->n});
    }
}

static bool
has_attribute(const jinja_args *args)
{
    for (size_t i = 0; i < args->n_named; i++)
        if (jinja_text_is(args->named[i].key.text, "attribute"))
            return true;
    return false;
}

static bool
next_mapped(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (!it->begun) {
        if (!begin(r, it))
            return false;
        if (!it->args->n && has_attribute(it->args))
            take_attribute(r, it);
        else if (it->args->n)
            take_builtin(r, it, 0, true);
        else
            jinja_stop(r,
                       "FilterArgumentError: map requires a filter argument");
    }
    if (!jinja_next(r, it->from, out))
        return false;
    *out = it->builtin ? jinja_call_builtin(r, it->builtin, *out, it->args)
                       : follow_path(r, *out, it->attribute, it->fallback);
    return true;
}

JINJA_FILTER(map)
{
    return generator(r, next_mapped, self, args);
}

/* `at`: with an attribute of elements 1, else 0. */
static bool
next_selected(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (!it->begun) {
        if (!begin(r, it))
            return false;
        if (it->at && !it->args->n)
            jinja_stop(r,
                       "FilterArgumentError: Missing parameter for attribute "
                       "name");
        it->attribute = it->at ? it->args->v[0] : missing();
        if (it->args->n > it->at)
            take_builtin(r, it, it->at, false);
    }
    while (jinja_next(r, it->from, out)) {
        jinja_value v =
            it->at ? follow_path(r, *out, it->attribute, missing()) : *out;
        if (it->builtin)
            v = jinja_call_builtin(r, it->builtin, v, it->args);
        if (jinja_truth(r, v) != it->negate)
            return true;
    }
    return false;
}

static jinja_value
selection(jinja_run *r, jinja_value self, const jinja_args *args,
          size_t attribute, bool negate)
{
    jinja_value v = generator(r, next_selected, self, args);
    v.iter->at = attribute;
    v.iter->negate = negate;
    return v;
}

JINJA_FILTER(select_filter)
{
    return selection(r, self, args, 0, false);
}

JINJA_FILTER(reject)
{
    return selection(r, self, args, 0, true);
}

JINJA_FILTER(selectattr)
{
    return selection(r, self, args, 1, false);
}

JINJA_FILTER(rejectattr)
{
    return selection(r, self, args, 1, true);
}

/* Parameters: case_sensitive, attribute. */
static bool
next_unique(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (!it->begun) {
        it->begun = true;
        it->from = jinja_iterate(r, it->source);
        it->seen = JINJA_NEW(r, jinja_dict);
    }
    while (jinja_next(r, it->from, out)) {
        jinja_value key =
            folded(r, follow_path(r, *out, it->args->v[1], missing()),
                   jinja_flag(r, it->args->v[0]));
        if (jinja_find(r, it->seen, key))
            continue;
        jinja_pay(r, it->seen->count);
        jinja_store(r, it->seen, key, jinja_none());
        return true;
    }
    return false;
}

JINJA_FILTER(unique)
{
    return generator(r, next_unique, self, args);
}

static bool
next_item(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (!it->begun) {
        it->begun = true;
        if (it->source.kind == JINJA_UNDEFINED)
            return false;
        if (it->source.kind != JINJA_DICT)
            jinja_stop(r, "TypeError: Can only get item pairs from a mapping.");
        it->source.kind = JINJA_VIEW;
        it->source.view = JINJA_ITEMS;
        it->from = jinja_iterate(r, it->source);
    }
    return jinja_next(r, it->from, out);
}

JINJA_FILTER(items)
{
    return generator(r, next_item, self, args);
}

/* Parameters: linecount, fill_with. */
static bool
next_batch(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    int64_t n = jinja_need_int(r, it->args->v[0]);
    jinja_value element;
    if (!it->begun)
        it->from = jinja_iterate(r, it->source);
    it->begun = true;
    *out = jinja_list_new(r, JINJA_LIST);
    while ((int64_t)out->list->count != n && jinja_next(r, it->from, &element))
        jinja_push(r, *out, element);
    if (!out->list->count)
        return false;
    while (jinja_is_given(it->args->v[1]) && (int64_t)out->list->count < n)
        jinja_push(r, *out, it->args->v[1]);
    return true;
}

JINJA_FILTER(batch)
{
    return generator(r, next_batch, self, args);
}

/* Parameters: slices, fill_with. */
static bool
next_slice(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    int64_t slices = jinja_need_int(r, it->args->v[0]);
    if (!it->begun) {
        it->source = jinja_listed(r, it->source, JINJA_LIST);
        if (!slices)
            jinja_stop(r, "ZeroDivisionError: division by zero");
        it->begun = true;
    }
    if (it->number >= slices)
        return false;
    int64_t count = (int64_t)it->source.list->count;
    bool more = it->number < count % slices;
    int64_t n = count / slices + more;
    *out = jinja_list_new(r, JINJA_LIST);
    for (int64_t i = 0; i < n; i++)
        jinja_push(r, *out, it->source.list->data[it->at++]);
    if (jinja_is_given(it->args->v[1]) && !more)
        jinja_push(r, *out, it->args->v[1]);
    it->number++;
    return true;
}

JINJA_FILTER(slice)
{
    return generator(r, next_slice, self, args);
}

/* ---- to one value ---- */

JINJA_FILTER(list)
{
    (void)args;
    return jinja_listed(r, self, JINJA_LIST);
}

JINJA_FILTER(first)
{
    jinja_value element;
    (void)args;
    if (jinja_next(r, jinja_iterate(r, self), &element))
        return element;
    return jinja_hinted(r, "No first item, sequence was empty.");
}

static bool
is_reversible(jinja_value v)
{
    return jinja_has_length(v) && v.kind != JINJA_LOOP;
}

JINJA_FILTER(last)
{
    (void)args;
    if (!is_reversible(self))
        jinja_stop(r, "TypeError: '%s' object is not reversible",
                   jinja_type(self));
    size_t n = jinja_length(r, self);
    if (!n)
        return jinja_hinted(r, "No last item, sequence was empty.");
    if (self.kind != JINJA_DICT && self.kind != JINJA_VIEW)
        return jinja_element(r, self, n - 1);
    return jinja_listed(r, self, JINJA_LIST).list->data[n - 1];
}

JINJA_FILTER(reverse)
{
    (void)args;
    if (self.kind == JINJA_TEXT) {
        jinja_value none = jinja_none();
        return jinja_slice(r, self, none, none, jinja_int(-1));
    }
    if (!jinja_iterable(self))
        jinja_stop(r, "FilterArgumentError: argument must be iterable");
    jinja_value all = jinja_listed(r, self, JINJA_LIST);
    jinja_value none = jinja_none();
    jinja_value turned = jinja_slice(r, all, none, none, jinja_int(-1));
    return is_reversible(self) ? jinja_generator(jinja_iterate(r, turned))
                               : turned;
}

/* Parameters: d, attribute. */
JINJA_FILTER(join)
{
    jinja_buf out = {0};
    jinja_value between = args->v[0], element;
    jinja_iter *it = jinja_iterate(r, self);
    for (size_t i = 0; jinja_next(r, it, &element); i++) {
        if (i && between.kind != JINJA_MISSING)
            jinja_print(r, &out, between);
        jinja_print(r, &out, follow_path(r, element, args->v[1], missing()));
    }
    return jinja_taken(r, &out);
}

/* Parameters: attribute, start. */
JINJA_FILTER(sum)
{
    jinja_value total =
        args->v[1].kind == JINJA_MISSING ? jinja_int(0) : args->v[1];
    jinja_value element;
    jinja_iter *it = jinja_iterate(r, self);
    if (total.kind == JINJA_TEXT)
        jinja_stop(r, "TypeError: sum() can't sum strings");
    while (jinja_next(r, it, &element))
        total = jinja_binary(r, JINJA_ADD, total,
                             follow_path(r, element, args->v[0], missing()));
    return total;
}

#define ROW(name, parameters, call)      \
    {                                    \
        name, parameters, call, 0, false \
    }
const jinja_builtin jinja_list_filters[] = {
    ROW("batch", "linecount fill_with?", batch),
    ROW("dictsort", "case_sensitive? by? reverse?", dictsort),
    ROW("first", "", first),
    ROW("groupby", "attribute default? case_sensitive?", groupby),
    ROW("items", "", items),
    ROW("join", "d? attribute?", join),
    ROW("last", "", last),
    ROW("list", "", list),
    ROW("map", NULL, map),
    ROW("max", "case_sensitive? attribute?", max),
    ROW("min", "case_sensitive? attribute?", min),
    ROW("reject", NULL, reject),
    ROW("rejectattr", NULL, rejectattr),
    ROW("reverse", "", reverse),
    ROW("select", NULL, select_filter),
    ROW("selectattr", NULL, selectattr),
    ROW("slice", "slices fill_with?", slice),
    ROW("sort", "reverse? case_sensitive? attribute?", sort),
    ROW("sum", "attribute? start?", sum),
    ROW("unique", "case_sensitive? attribute?", unique),
};
const size_t jinja_n_list_filters =
    sizeof jinja_list_filters / sizeof *jinja_list_filters;
