/* Calls: arguments to parameters, macros, functions. */
#include "engine/jinja/inside.h"

#include <string.h>

enum { MOST_PARAMETERS = 8 };

const jinja_builtin *
jinja_builtin_find(const jinja_builtin *list, size_t n, const jinja_text *name)
{
    for (size_t i = 0; i < n; i++)
        if (jinja_text_is(name, list[i].name))
            return &list[i];
    return NULL;
}

typedef struct parameter {
    const char *p;
    size_t n;
    bool optional;
} parameter;

static size_t
read_parameters(const char *list, parameter out[MOST_PARAMETERS])
{
    size_t n = 0;
    while (*list) {
        size_t k = strcspn(list, " ");
        out[n].optional = list[k - 1] == '?';
        out[n].p = list;
        out[n++].n = k - (list[k - 1] == '?');
        list += k + strspn(list + k, " ");
    }
    return n;
}

static bool
is_named(const jinja_value key, const parameter *p)
{
    return key.text->n == p->n && memcmp(key.text->p, p->p, p->n) == 0;
}

jinja_value
jinja_call_builtin(jinja_run *r, const jinja_builtin *b, jinja_value self,
                   const jinja_args *args)
{
    parameter parameters[MOST_PARAMETERS] = {0};
    jinja_value values[MOST_PARAMETERS] = {0};
    if (!b->parameters)
        return b->call(r, self, args);
    size_t n = read_parameters(b->parameters, parameters);
    if (args->n > n)
        jinja_stop(r,
                   "TypeError: %s() takes at most %zu arguments, %zu are given",
                   b->name, n, args->n);
    for (size_t i = 0; i < args->n; i++)
        values[i] = args->v[i];
    for (size_t i = 0; i < args->n_named; i++) {
        jinja_pair named = args->named[i];
        size_t k = 0;
        while (k < n && !is_named(named.key, &parameters[k]))
            k++;
        if (k == n || values[k].kind != JINJA_MISSING)
            jinja_stop(r, "TypeError: %s() got %s keyword argument '%.*s'",
                       b->name, k == n ? "an unexpected" : "twice the",
                       (int)rlf_str_cut(
                           (rlf_str){named.key.text->p, named.key.text->n}, 80),
                       named.key.text->p);
        values[k] = named.value;
    }
    for (size_t i = 0; i < n; i++)
        if (!parameters[i].optional && values[i].kind == JINJA_MISSING)
            jinja_stop(r, "TypeError: %s() is missing the argument '%.*s'",
                       b->name, (int)parameters[i].n, parameters[i].p);
    const jinja_args bound = {.v = values, .n = n};
    return b->call(r, self, &bound);
}

/* ---- macros ---- */

/* The keyword argument of that name, taken out; MISSING: it is not given. */
static jinja_value
take_named(jinja_args *args, const jinja_text *name)
{
    for (size_t i = 0; i < args->n_named; i++) {
        jinja_pair pair = args->named[i];
        if (pair.key.text->n != name->n ||
            memcmp(pair.key.text->p, name->p, name->n) != 0)
            continue;
        memmove(&args->named[i], &args->named[i + 1],
                (args->n_named - i - 1) * sizeof *args->named);
        args->n_named--;
        return pair.value;
    }
    return (jinja_value){.kind = JINJA_MISSING};
}

static void
give_rest(jinja_run *r, jinja_frame *f, const jinja_node *n, jinja_args *left)
{
    size_t taken = left->n < n->list.count ? left->n : n->list.count;
    if (n->takes_kwargs) {
        jinja_value dict = jinja_dict_new(r);
        for (size_t i = 0; i < left->n_named; i++)
            JINJA_PUSH(r, dict.dict, left->named[i]);
        *jinja_slot(f, n->kwargs_ref) = dict;
    } else if (left->n_named) {
        jinja_stop_text(
            r, "TypeError: the macro takes no keyword argument ",
            (rlf_str){left->named[0].key.text->p, left->named[0].key.text->n});
    }
    if (n->takes_varargs) {
        jinja_value rest = jinja_list_new(r, JINJA_TUPLE);
        for (size_t i = taken; i < left->n; i++)
            jinja_push(r, rest, left->v[i]);
        *jinja_slot(f, n->varargs_ref) = rest;
    } else if (left->n > taken) {
        jinja_stop(r,
                   "TypeError: the macro takes not more than %zu argument(s)",
                   n->list.count);
    }
}

static jinja_value
not_given(jinja_run *r, const jinja_text *name)
{
    jinja_buf hint = {0};
    jinja_puts(r, &hint, "parameter '");
    jinja_add(r, &hint, name->p, name->n);
    jinja_puts(r, &hint, "' was not provided");
    jinja_put(r, &hint, 0);
    return jinja_hinted(r, hint.p);
}

static void
give_arguments(jinja_run *r, jinja_frame *f, const jinja_node *n,
               const jinja_args *given)
{
    jinja_args left = *given;
    bool found_caller = false;
    left.named = jinja_alloc(r, (left.n_named + 1) * sizeof *left.named);
    if (left.n_named)
        memcpy(left.named, given->named, left.n_named * sizeof *left.named);
    for (size_t i = 0; i < n->list.count; i++) {
        const jinja_node *p = n->list.data[i];
        *jinja_slot(f, p->ref) =
            i < left.n ? left.v[i] : take_named(&left, p->name);
        found_caller |= jinja_text_is(p->name, "caller");
    }
    if (n->takes_caller && !found_caller) {
        jinja_value name = jinja_text_z(r, "caller");
        jinja_value caller = take_named(&left, name.text);
        if (caller.kind == JINJA_MISSING || caller.kind == JINJA_NONE)
            caller = jinja_hinted(r, "No caller defined");
        *jinja_slot(f, n->caller_ref) = caller;
    }
    give_rest(r, f, n, &left);
    size_t first = n->list.count - n->more.count;
    for (size_t i = 0; i < n->list.count; i++) {
        const jinja_node *p = n->list.data[i];
        if (jinja_slot(f, p->ref)->kind != JINJA_MISSING)
            continue;
        jinja_value v = i >= first ? jinja_eval(r, f, n->more.data[i - first])
                                   : not_given(r, p->name);
        *jinja_slot(f, p->ref) = v;
    }
}

static jinja_value
call_macro(jinja_run *r, const jinja_macro *macro, const jinja_args *args)
{
    const jinja_node *n = macro->node;
    jinja_buf out = {0}, *before = r->out;
    jinja_frame *f = jinja_frame_new(r, macro->frame, n->function);
    jinja_enter(r);
    jinja_begin_scope(r, f, &n->enter);
    give_arguments(r, f, n, args);
    r->out = &out;
    jinja_exec(r, f, &n->body);
    r->out = before;
    jinja_leave(r);
    return jinja_taken(r, &out);
}

jinja_value
jinja_call(jinja_run *r, jinja_value callee, const jinja_args *args)
{
    switch (callee.kind) {
    case JINJA_UNDEFINED:
        jinja_stop_undefined(r, callee);
    case JINJA_MACRO:
        return call_macro(r, callee.macro, args);
    case JINJA_METHOD:
        return jinja_call_builtin(r, callee.method->builtin,
                                  callee.method->self, args);
    case JINJA_FUNCTION:
        return jinja_call_builtin(r, callee.function, callee, args);
    case JINJA_LOOP:
        return jinja_loop_call(r, callee.loop, args);
    case JINJA_JOINER:
        if (args->n || args->n_named)
            jinja_stop(r, "TypeError: a joiner takes no arguments");
        return callee.cycler->at++ ? callee.cycler->items : jinja_text_z(r, "");
    default:
        jinja_stop(r, "TypeError: '%s' object is not callable",
                   jinja_type(callee));
    }
}

/* ---- from nodes ---- */

static void
add_list(jinja_run *r, jinja_value from, jinja_args *args)
{
    jinja_value list = jinja_listed(r, from, JINJA_LIST);
    jinja_value *v =
        jinja_alloc(r, (args->n + list.list->count + 1) * sizeof *v);
    if (args->n)
        memcpy(v, args->v, args->n * sizeof *v);
    if (list.list->count)
        memcpy(v + args->n, list.list->data, list.list->count * sizeof *v);
    args->v = v;
    args->n += list.list->count;
}

static void
add_named(jinja_run *r, jinja_args *args, jinja_value key, jinja_value value)
{
    for (size_t i = 0; i < args->n_named; i++)
        if (jinja_equal(r, args->named[i].key, key))
            jinja_stop_text(r, "TypeError: twice the keyword argument ",
                            (rlf_str){key.text->p, key.text->n});
    jinja_pair *named = jinja_alloc(r, (args->n_named + 1) * sizeof *named);
    if (args->n_named)
        memcpy(named, args->named, args->n_named * sizeof *named);
    named[args->n_named++] = (jinja_pair){key, value};
    args->named = named;
}

static void
add_dict(jinja_run *r, jinja_value from, jinja_args *args)
{
    if (from.kind != JINJA_DICT)
        jinja_stop(r, "TypeError: argument after ** must be a mapping, not %s",
                   jinja_type(from));
    for (size_t i = 0; i < from.dict->count; i++) {
        jinja_need_text(r, from.dict->data[i].key);
        add_named(r, args, from.dict->data[i].key, from.dict->data[i].value);
    }
}

static jinja_args
eval_args(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_args args = {0};
    args.v = jinja_alloc(r, (n->list.count + 1) * sizeof *args.v);
    for (size_t i = 0; i < n->list.count; i++)
        args.v[args.n++] = jinja_eval(r, f, n->list.data[i]);
    if (n->dyn_args)
        add_list(r, jinja_eval(r, f, n->dyn_args), &args);
    for (size_t i = 0; i < n->more.count; i++) {
        const jinja_node *keyword = n->more.data[i];
        jinja_value key = {.kind = JINJA_TEXT,
                           .text = (jinja_text *)keyword->name};
        add_named(r, &args, key, jinja_eval(r, f, keyword->a));
    }
    if (n->dyn_kwargs)
        add_dict(r, jinja_eval(r, f, n->dyn_kwargs), &args);
    return args;
}

/* `caller`: of a call block, else MISSING. */
jinja_value
jinja_call_node(jinja_run *r, jinja_frame *f, const jinja_node *n,
                jinja_value caller)
{
    jinja_value callee = jinja_eval(r, f, n->a);
    jinja_args args = eval_args(r, f, n);
    if (caller.kind != JINJA_MISSING)
        add_named(r, &args, jinja_text_z(r, "caller"), caller);
    r->at = n->at;
    return jinja_call(r, callee, &args);
}

jinja_value
jinja_apply(jinja_run *r, jinja_frame *f, const jinja_node *n,
            jinja_value input)
{
    jinja_args args = eval_args(r, f, n);
    r->at = n->at;
    if (!n->builtin && n->op == JINJA_FILTER && jinja_filter_is_absent(n->name))
        jinja_stop(r, "the filter `%.*s` is not supported in chat templates",
                   (int)n->name->n, n->name->p);
    if (!n->builtin)
        jinja_stop_text(r,
                        n->op == JINJA_FILTER
                            ? "TemplateRuntimeError: there is no filter "
                            : "TemplateRuntimeError: there is no test ",
                        (rlf_str){n->name->p, n->name->n});
    return jinja_call_builtin(r, n->builtin, input, &args);
}

jinja_value
jinja_filtered(jinja_run *r, jinja_frame *f, const jinja_node *n,
               jinja_value input)
{
    if (n->a)
        input = jinja_filtered(r, f, n->a, input);
    return jinja_apply(r, f, n, input);
}
