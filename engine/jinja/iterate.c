/* Going through values, lazily as in the reference: a generator's elements are
 * made when they are asked for, once. */
#include "engine/jinja/inside.h"

#include <string.h>

static bool
next_element(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (it->at >= it->source.list->count)
        return false;
    (void)r;
    *out = it->source.list->data[it->at++];
    return true;
}

static bool
next_char(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    const jinja_text *t = it->source.text;
    size_t n;
    if (it->at >= t->n)
        return false;
    jinja_code(t->p + it->at, &n);
    *out = jinja_part(r, it->source, it->at, it->at + n);
    out->markup = false;
    it->at += n;
    return true;
}

static bool
next_number(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (it->at >= jinja_range_count(it->source.range))
        return false;
    *out = jinja_element(r, it->source, it->at++);
    return true;
}

static bool
next_pair(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    if (it->at >= it->source.dict->count)
        return false;
    jinja_pair pair = it->source.dict->data[it->at++];
    bool keys = it->source.kind == JINJA_DICT || it->source.view == JINJA_KEYS;
    if (keys || it->source.view == JINJA_VALUES) {
        *out = keys ? pair.key : pair.value;
        return true;
    }
    *out = jinja_list_new(r, JINJA_TUPLE);
    jinja_push(r, *out, pair.key);
    jinja_push(r, *out, pair.value);
    return true;
}

static bool
next_none(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    (void)r, (void)it, (void)out;
    return false;
}

static bool
next_of_loop(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    (void)it, (void)out;
    jinja_stop(r, "going through `loop` itself is not supported");
}

bool
jinja_iterable(jinja_value v)
{
    return jinja_has_length(v) || v.kind == JINJA_ITER;
}

jinja_iter *
jinja_iterate(jinja_run *r, jinja_value v)
{
    static bool (*const next[])(jinja_run *, jinja_iter *, jinja_value *) = {
        [JINJA_UNDEFINED] = next_none, [JINJA_TEXT] = next_char,
        [JINJA_LIST] = next_element,   [JINJA_TUPLE] = next_element,
        [JINJA_DICT] = next_pair,      [JINJA_VIEW] = next_pair,
        [JINJA_RANGE] = next_number,   [JINJA_LOOP] = next_of_loop,
    };
    if (v.kind == JINJA_ITER)
        return v.iter;
    if (!jinja_iterable(v))
        jinja_stop(r, "TypeError: '%s' object is not iterable", jinja_type(v));
    jinja_iter *it = JINJA_NEW(r, jinja_iter);
    it->next = next[v.kind];
    it->source = v;
    return it;
}

bool
jinja_next(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    jinja_pay(r, 1);
    jinja_enter(r);
    bool more = it->next(r, it, out);
    if (!more)
        it->next = next_none;
    jinja_leave(r);
    return more;
}

jinja_value
jinja_listed(jinja_run *r, jinja_value v, jinja_kind kind)
{
    jinja_value list = jinja_list_new(r, kind), element;
    jinja_iter *it = jinja_iterate(r, v);
    while (jinja_next(r, it, &element))
        jinja_push(r, list, element);
    return list;
}

jinja_value
jinja_generator(jinja_iter *it)
{
    return (jinja_value){.kind = JINJA_ITER, .iter = it};
}
