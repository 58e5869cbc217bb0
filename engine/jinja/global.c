/* Functions that every template has. */
#include "engine/jinja/inside.h"

#include <string.h>

#define FUNCTION(name)                                      \
    static jinja_value name(jinja_run *r, jinja_value self, \
                            const jinja_args *args)

enum { MOST_RANGE = 100000 }; /* the sandbox's */

FUNCTION(range)
{
    jinja_range *g = JINJA_NEW(r, jinja_range);
    (void)self;
    if (args->n < 1 || args->n > 3 || args->n_named)
        jinja_stop(r, "TypeError: range takes 1 to 3 arguments");
    int64_t a = jinja_need_int(r, args->v[0]);
    *g = (jinja_range){0, a, 1};
    if (args->n > 1)
        *g = (jinja_range){a, jinja_need_int(r, args->v[1]), 1};
    if (args->n > 2)
        g->step = jinja_need_int(r, args->v[2]);
    if (!g->step)
        jinja_stop(r, "ValueError: range() arg 3 must not be zero");
    if (jinja_range_count(g) > MOST_RANGE)
        jinja_stop(r,
                   "OverflowError: Range too big. The sandbox blocks ranges "
                   "larger than MAX_RANGE (%d).",
                   MOST_RANGE);
    return (jinja_value){.kind = JINJA_RANGE, .range = g};
}

static void
store_pair(jinja_run *r, jinja_dict *dict, jinja_value pair)
{
    jinja_value both = jinja_listed(r, pair, JINJA_LIST);
    if (both.list->count != 2)
        jinja_stop(r,
                   "ValueError: dictionary update sequence element has length "
                   "%zu; 2 is required",
                   both.list->count);
    jinja_store(r, dict, both.list->data[0], both.list->data[1]);
}

/* dict(mapping or pairs, name=value ...) */
FUNCTION(dict)
{
    jinja_value out = jinja_dict_new(r), pair;
    (void)self;
    if (args->n > 1)
        jinja_stop(r, "TypeError: dict expected at most 1 argument, got %zu",
                   args->n);
    if (args->n && args->v[0].kind == JINJA_DICT) {
        const jinja_dict *from = args->v[0].dict;
        for (size_t i = 0; i < from->count; i++)
            JINJA_PUSH(r, out.dict, from->data[i]);
    } else if (args->n) {
        jinja_iter *it = jinja_iterate(r, args->v[0]);
        while (jinja_next(r, it, &pair))
            store_pair(r, out.dict, pair);
    }
    for (size_t i = 0; i < args->n_named; i++)
        jinja_store(r, out.dict, args->named[i].key, args->named[i].value);
    return out;
}

FUNCTION(namespace)
{
    jinja_value out = dict(r, self, args);
    for (size_t i = 0; i < out.dict->count; i++) {
        jinja_value key = out.dict->data[i].key;
        if (key.kind == JINJA_TEXT && key.text->n && key.text->p[0] == '_')
            jinja_stop(r,
                       "SecurityError: a namespace cannot have attributes that "
                       "begin with an underscore");
    }
    out.kind = JINJA_NAMESPACE;
    return out;
}

FUNCTION(cycler)
{
    jinja_cycler *c = JINJA_NEW(r, jinja_cycler);
    (void)self;
    if (!args->n || args->n_named)
        jinja_stop(r, "RuntimeError: at least one item has to be provided");
    c->items = jinja_list_new(r, JINJA_LIST);
    for (size_t i = 0; i < args->n; i++)
        jinja_push(r, c->items, args->v[i]);
    return (jinja_value){.kind = JINJA_CYCLER, .cycler = c};
}

FUNCTION(joiner)
{
    jinja_cycler *c = JINJA_NEW(r, jinja_cycler);
    (void)self;
    c->items =
        args->v[0].kind == JINJA_MISSING ? jinja_text_z(r, ", ") : args->v[0];
    return (jinja_value){.kind = JINJA_JOINER, .cycler = c};
}

FUNCTION(lipsum)
{
    (void)self, (void)args;
    jinja_stop(r, "lipsum is not supported: no two of its texts are the same");
}

FUNCTION(raise_exception)
{
    jinja_value text = jinja_str(r, args->v[0]);
    (void)self;
    r->raised = true;
    jinja_stop_text(
        r, "the template refuses: ", (rlf_str){text.text->p, text.text->n});
}

FUNCTION(strftime_now)
{
    (void)self;
    return jinja_date(r, args->v[0]);
}

static const jinja_builtin functions[] = {
    {"range", NULL, range, 0, false},
    {"dict", NULL, dict, 0, false},
    {"namespace", NULL, namespace, 0, false},
    {"cycler", NULL, cycler, 0, false},
    {"joiner", "sep?", joiner, 0, false},
    {"lipsum", NULL, lipsum, 0, false},
    {"raise_exception", "message", raise_exception, 0, false},
    {"strftime_now", "format", strftime_now, 0, false},
};

const jinja_builtin *
jinja_global_find(const jinja_text *name)
{
    return jinja_builtin_find(functions, sizeof functions / sizeof *functions,
                              name);
}
