/* Expressions: nodes to values. */
#include "engine/jinja/inside.h"

#include <string.h>

jinja_value *
jinja_slot(jinja_frame *f, jinja_ref ref)
{
    while (f->depth > ref.depth)
        f = f->outer;
    return &f->slots[ref.slot];
}

jinja_frame *
jinja_frame_new(jinja_run *r, jinja_frame *outer,
                const jinja_function *function)
{
    jinja_frame *f = JINJA_NEW(r, jinja_frame);
    f->outer = outer;
    f->depth = function->depth;
    f->slots = jinja_alloc(r, (function->slots.count + 1) * sizeof *f->slots);
    return f;
}

/* The value of a name outside of the template: a variable, or a function. */
static jinja_value
look_up(jinja_run *r, const jinja_text *name)
{
    jinja_value *there =
        jinja_find_text(r, r->variables, (rlf_str){name->p, name->n});
    if (there)
        return *there;
    const jinja_builtin *b = jinja_global_find(name);
    return b ? (jinja_value){.kind = JINJA_FUNCTION, .function = b}
             : (jinja_value){.kind = JINJA_MISSING};
}

void
jinja_begin_scope(jinja_run *r, jinja_frame *f, const jinja_entries *enter)
{
    for (size_t i = 0; i < enter->count; i++) {
        const jinja_entry *e = &enter->data[i];
        jinja_value v = {.kind = JINJA_MISSING};
        if (e->load == JINJA_LOAD_RESOLVE)
            v = look_up(r, e->name);
        else if (e->load == JINJA_LOAD_ALIAS)
            v = *jinja_slot(f, e->from);
        if (e->load != JINJA_LOAD_PARAMETER)
            *jinja_slot(f, e->ref) = v;
    }
}

void
jinja_end_scope(jinja_frame *f, const jinja_entries *enter)
{
    for (size_t i = 0; i < enter->count; i++)
        *jinja_slot(f, enter->data[i].ref) =
            (jinja_value){.kind = JINJA_MISSING};
}

static jinja_value
eval_list(jinja_run *r, jinja_frame *f, const jinja_node *n, jinja_kind kind)
{
    jinja_value list = jinja_list_new(r, kind);
    for (size_t i = 0; i < n->list.count; i++) {
        jinja_value element = jinja_eval(r, f, n->list.data[i]);
        jinja_push(r, list, element);
    }
    return list;
}

static jinja_value
eval_dict(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value dict = jinja_dict_new(r);
    for (size_t i = 0; i < n->list.count; i += 2) {
        jinja_value key = jinja_eval(r, f, n->list.data[i]);
        jinja_value value = jinja_eval(r, f, n->list.data[i + 1]);
        r->at = n->at;
        jinja_store(r, dict.dict, key, value);
    }
    return dict;
}

/* a < b < c: each neighbour, until one does not hold. */
static jinja_value
eval_compare(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value left = jinja_eval(r, f, n->a);
    bool is = true;
    for (size_t i = 0; i < n->list.count && is; i++) {
        const jinja_node *operand = n->list.data[i];
        jinja_value right = jinja_eval(r, f, operand->a);
        r->at = operand->at;
        is = jinja_relate(r, operand->relation, left, right);
        left = right;
    }
    return jinja_bool(is);
}

static jinja_value
eval_item(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value of = jinja_eval(r, f, n->a);
    const jinja_node *s = n->b;
    if (s->op != JINJA_SLICE) {
        jinja_value key = jinja_eval(r, f, s);
        r->at = n->at;
        return jinja_getitem(r, of, key);
    }
    jinja_value none = jinja_none();
    jinja_value first = s->a ? jinja_eval(r, f, s->a) : none;
    jinja_value last = s->b ? jinja_eval(r, f, s->b) : none;
    jinja_value step = s->c ? jinja_eval(r, f, s->c) : none;
    r->at = n->at;
    return jinja_slice(r, of, first, last, step);
}

static jinja_value
eval_condition(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    if (jinja_truth(r, jinja_eval(r, f, n->a)))
        return jinja_eval(r, f, n->b);
    if (n->c)
        return jinja_eval(r, f, n->c);
    return jinja_hinted(r, "the inline if-expression evaluated to false and no "
                           "else section was defined");
}

static jinja_value
eval_concat(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_buf out = {0};
    jinja_value parts = eval_list(r, f, n, JINJA_LIST);
    for (size_t i = 0; i < parts.list->count; i++)
        jinja_print(r, &out, parts.list->data[i]);
    return jinja_taken(r, &out);
}

static jinja_value
eval_filter(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value input = jinja_eval(r, f, n->a);
    jinja_value v = jinja_apply(r, f, n, input);
    if (n->op == JINJA_TEST)
        return jinja_bool(jinja_truth(r, v) != n->negated);
    return v;
}

static jinja_value
eval_name(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value v = *jinja_slot(f, n->ref);
    return v.kind == JINJA_MISSING ? jinja_unnamed(r, n->name) : v;
}

static jinja_value
eval_binary(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value a = jinja_eval(r, f, n->a), b;
    if (n->op == JINJA_AND || n->op == JINJA_OR)
        return jinja_truth(r, a) == (n->op == JINJA_OR)
                   ? a
                   : jinja_eval(r, f, n->b);
    b = jinja_eval(r, f, n->b);
    r->at = n->at;
    return jinja_binary(r, n->op, a, b);
}

static jinja_value
eval_one(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value v;
    switch (n->op) {
    case JINJA_CONST:
        return n->value;
    case JINJA_NAME:
        return eval_name(r, f, n);
    case JINJA_TUPLE_OF:
        return eval_list(r, f, n, JINJA_TUPLE);
    case JINJA_LIST_OF:
        return eval_list(r, f, n, JINJA_LIST);
    case JINJA_DICT_OF:
        return eval_dict(r, f, n);
    case JINJA_NEGATIVE:
    case JINJA_POSITIVE:
        v = jinja_eval(r, f, n->a);
        r->at = n->at;
        return jinja_unary(r, n->op, v);
    case JINJA_NOT:
        return jinja_bool(!jinja_truth(r, jinja_eval(r, f, n->a)));
    case JINJA_CONCAT:
        return eval_concat(r, f, n);
    case JINJA_COMPARE:
        return eval_compare(r, f, n);
    case JINJA_COND:
        return eval_condition(r, f, n);
    case JINJA_FILTER:
    case JINJA_TEST:
        return eval_filter(r, f, n);
    case JINJA_CALL:
        return jinja_call_node(r, f, n, (jinja_value){.kind = JINJA_MISSING});
    case JINJA_GETATTR:
        v = jinja_eval(r, f, n->a);
        r->at = n->at;
        return jinja_getattr(r, v, n->name);
    case JINJA_GETITEM:
        return eval_item(r, f, n);
    case JINJA_SLICE:
        jinja_stop(r, "a slice stands alone in [ ]");
    default:
        return eval_binary(r, f, n);
    }
}

jinja_value
jinja_eval(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_enter(r);
    jinja_pay(r, 1);
    r->at = n->at;
    jinja_value v = eval_one(r, f, n);
    jinja_leave(r);
    return v;
}
