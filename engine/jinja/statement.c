/* Statements, and the object `loop`. */
#include "engine/jinja/inside.h"

#include <string.h>

typedef enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE } flow;

static flow exec(jinja_run *r, jinja_frame *f, const jinja_node *n);

static flow
exec_all(jinja_run *r, jinja_frame *f, const jinja_nodes *body)
{
    flow way = FLOW_ON;
    for (size_t i = 0; i < body->count && way == FLOW_ON; i++)
        way = exec(r, f, body->data[i]);
    return way;
}

void
jinja_exec(jinja_run *r, jinja_frame *f, const jinja_nodes *body)
{
    exec_all(r, f, body);
}

/* ---- set ---- */

static void assign(jinja_run *r, jinja_frame *f, const jinja_node *target,
                   jinja_value v);

static void
unpack(jinja_run *r, jinja_frame *f, const jinja_node *target, jinja_value v)
{
    size_t n = target->list.count;
    jinja_iter *it = jinja_iterate(r, v);
    jinja_value all = jinja_list_new(r, JINJA_LIST), element;
    while (all.list->count <= n && jinja_next(r, it, &element))
        jinja_push(r, all, element);
    r->at = target->at;
    if (all.list->count > n)
        jinja_stop(r, "ValueError: too many values to unpack (expected %zu)",
                   n);
    if (all.list->count < n)
        jinja_stop(r,
                   "ValueError: not enough values to unpack (expected %zu, "
                   "got %zu)",
                   n, all.list->count);
    for (size_t i = 0; i < n; i++)
        assign(r, f, target->list.data[i], all.list->data[i]);
}

static void
set_attribute(jinja_run *r, jinja_frame *f, const jinja_node *target,
              jinja_value v)
{
    jinja_value space = *jinja_slot(f, target->ref);
    const jinja_text *name = target->attribute;
    r->at = target->at;
    if (space.kind != JINJA_NAMESPACE)
        jinja_stop(r, "TemplateRuntimeError: cannot assign attribute on "
                      "non-namespace object");
    if (name->n && name->p[0] == '_')
        jinja_stop(r, "SecurityError: a namespace cannot have attributes that "
                      "begin with an underscore");
    jinja_store(r, space.dict,
                (jinja_value){.kind = JINJA_TEXT, .text = (jinja_text *)name},
                v);
}

static void
assign(jinja_run *r, jinja_frame *f, const jinja_node *target, jinja_value v)
{
    if (target->op == JINJA_NAME)
        *jinja_slot(f, target->ref) = v;
    else if (target->op == JINJA_NSREF)
        set_attribute(r, f, target, v);
    else
        unpack(r, f, target, v);
}

/* The reference looks at this before the value. */
static void
check_namespaces(jinja_run *r, jinja_frame *f, const jinja_node *target)
{
    if (target->op == JINJA_NSREF &&
        jinja_slot(f, target->ref)->kind != JINJA_NAMESPACE) {
        r->at = target->at;
        jinja_stop(r, "TemplateRuntimeError: cannot assign attribute on "
                      "non-namespace object");
    }
    for (size_t i = 0; i < target->list.count; i++)
        check_namespaces(r, f, target->list.data[i]);
}

/* The output of a body in a scope of its own. */
static jinja_value
captured(jinja_run *r, jinja_frame *f, const jinja_node *n, flow *way)
{
    jinja_buf out = {0}, *before = r->out;
    r->out = &out;
    *way = exec_all(r, f, &n->body);
    r->out = before;
    return jinja_taken(r, &out);
}

/* A block may be stored in a dict: the reference looks for a namespace only
 * where an expression is set. */
static void
assign_block(jinja_run *r, jinja_frame *f, const jinja_node *target,
             jinja_value v)
{
    jinja_value *to =
        target->op == JINJA_NSREF ? jinja_slot(f, target->ref) : NULL;
    if (!to || to->kind != JINJA_DICT) {
        assign(r, f, target, v);
        return;
    }
    jinja_text *name = (jinja_text *)target->attribute;
    jinja_store(r, to->dict, (jinja_value){.kind = JINJA_TEXT, .text = name},
                v);
}

static flow
exec_set_block(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    flow way;
    jinja_begin_scope(r, f, &n->enter);
    jinja_value v = captured(r, f, n, &way);
    if (way == FLOW_ON && n->b)
        v = jinja_filtered(r, f, n->b, v);
    if (way == FLOW_ON)
        assign_block(r, f, n->a, v);
    jinja_end_scope(f, &n->enter);
    return way;
}

/* Puts what a block gives as a whole, which must be a text already. */
static void
put_text(jinja_run *r, const jinja_node *n, jinja_value v)
{
    r->at = n->at;
    if (v.kind != JINJA_TEXT)
        jinja_stop(r, "TypeError: expected str instance, %s found",
                   jinja_type(v));
    jinja_print(r, r->out, v);
}

static flow
exec_filter_block(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    flow way;
    jinja_begin_scope(r, f, &n->enter);
    jinja_value v = captured(r, f, n, &way);
    if (way == FLOW_ON)
        put_text(r, n, jinja_filtered(r, f, n->b, v));
    jinja_end_scope(f, &n->enter);
    return way;
}

static flow
exec_with(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_begin_scope(r, f, &n->enter);
    for (size_t i = 0; i < n->list.count; i++)
        assign(r, f, n->list.data[i], jinja_eval(r, f, n->more.data[i]));
    flow way = exec_all(r, f, &n->body);
    jinja_end_scope(f, &n->enter);
    return way;
}

/* ---- macros and call blocks ---- */

static jinja_value
macro_of(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_macro *macro = JINJA_NEW(r, jinja_macro);
    *macro = (jinja_macro){.node = n, .frame = f};
    return (jinja_value){.kind = JINJA_MACRO, .macro = macro};
}

/* The position in the output of the whole template, in characters. */
static size_t
root_chars(jinja_run *r)
{
    for (; r->root_counted < r->root->n; r->root_counted++)
        r->root_chars +=
            ((unsigned char)r->root->p[r->root_counted] & 0xC0) != 0x80;
    return r->root_chars;
}

static void
exec_generation(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    const jinja_args none = {0};
    jinja_value text = jinja_call(r, macro_of(r, f, n), &none);
    size_t first = root_chars(r), from = r->root->n;
    rlf_jinja_span span = {first, first + jinja_chars(text.text), from,
                           from + text.text->n, r->out == r->root};
    JINJA_PUSH(r, &r->spans, span);
    jinja_print(r, r->out, text);
}

/* ---- for ---- */

static jinja_value
peek(jinja_run *r, jinja_loop *loop)
{
    if (!loop->has_after) {
        if (!jinja_next(r, loop->iter, &loop->after))
            loop->after = (jinja_value){.kind = JINJA_MISSING};
        loop->has_after = loop->after.kind != JINJA_MISSING;
    }
    return loop->after;
}

size_t
jinja_loop_length(jinja_run *r, jinja_loop *loop)
{
    if (loop->has_length)
        return loop->length;
    loop->has_length = true;
    if (jinja_has_length(loop->source)) {
        loop->length = jinja_length(r, loop->source);
        return loop->length;
    }
    jinja_value rest = jinja_listed(
        r, (jinja_value){.kind = JINJA_ITER, .iter = loop->iter}, JINJA_LIST);
    loop->length =
        rest.list->count + (size_t)(loop->index + 1) + loop->has_after;
    loop->iter = jinja_iterate(r, rest);
    return loop->length;
}

jinja_value
jinja_loop_attribute(jinja_run *r, jinja_loop *loop, const jinja_text *name)
{
    int64_t i = loop->index;
    if (jinja_text_is(name, "index0"))
        return jinja_int(i);
    if (jinja_text_is(name, "index"))
        return jinja_int(i + 1);
    if (jinja_text_is(name, "first"))
        return jinja_bool(i == 0);
    if (jinja_text_is(name, "last"))
        return jinja_bool(peek(r, loop).kind == JINJA_MISSING);
    if (jinja_text_is(name, "length"))
        return jinja_int((int64_t)jinja_loop_length(r, loop));
    if (jinja_text_is(name, "revindex"))
        return jinja_int((int64_t)jinja_loop_length(r, loop) - i);
    if (jinja_text_is(name, "revindex0"))
        return jinja_int((int64_t)jinja_loop_length(r, loop) - i - 1);
    if (jinja_text_is(name, "depth0"))
        return jinja_int((int64_t)loop->depth);
    if (jinja_text_is(name, "depth"))
        return jinja_int((int64_t)loop->depth + 1);
    if (jinja_text_is(name, "previtem"))
        return i ? loop->before : jinja_hinted(r, "there is no previous item");
    if (!jinja_text_is(name, "nextitem"))
        return (jinja_value){.kind = JINJA_MISSING};
    jinja_value next = peek(r, loop);
    return next.kind == JINJA_MISSING ? jinja_hinted(r, "there is no next item")
                                      : next;
}

/* The value of a target's names: tuples of those that were unpacked. */
static jinja_value
value_of_target(jinja_run *r, jinja_frame *f, const jinja_node *target)
{
    if (target->op == JINJA_NAME)
        return *jinja_slot(f, target->ref);
    jinja_value tuple = jinja_list_new(r, JINJA_TUPLE);
    for (size_t i = 0; i < target->list.count; i++)
        jinja_push(r, tuple, value_of_target(r, f, target->list.data[i]));
    return tuple;
}

/* The elements for which a loop's condition holds, as the target takes them. */
static bool
next_that_holds(jinja_run *r, jinja_iter *it, jinja_value *out)
{
    const jinja_node *target = it->node->test_target;
    while (jinja_next(r, it->from, out)) {
        assign(r, it->frame, target, *out);
        if (!jinja_truth(r, jinja_eval(r, it->frame, it->node->c)))
            continue;
        *out = value_of_target(r, it->frame, target);
        return true;
    }
    return false;
}

static jinja_value
filtered_by_condition(jinja_run *r, jinja_frame *f, const jinja_node *n,
                      jinja_value from)
{
    jinja_iter *it = JINJA_NEW(r, jinja_iter);
    it->next = next_that_holds;
    it->from = jinja_iterate(r, from);
    it->node = n;
    it->frame = jinja_frame_new(r, f, n->test_function);
    jinja_begin_scope(r, it->frame, &n->enter_test);
    return jinja_generator(it);
}

static bool
next_of(jinja_run *r, jinja_loop *loop, jinja_value *out)
{
    if (loop->has_after) {
        *out = loop->after;
        loop->has_after = false;
    } else if (!jinja_next(r, loop->iter, out)) {
        return false;
    }
    loop->index++;
    loop->before = loop->current;
    loop->current = *out;
    return true;
}

/* As in the reference `else` is for a loop none of whose rounds came to its
 * end: one that breaks or continues does not count. */
static flow
run_loop(jinja_run *r, jinja_frame *f, const jinja_node *n, jinja_value source,
         jinja_loop *loop)
{
    jinja_value element;
    bool any = false;
    if (n->c)
        source = filtered_by_condition(r, loop->frame, n, source);
    loop->source = source;
    loop->iter = jinja_iterate(r, source);
    loop->index = -1;
    while (next_of(r, loop, &element)) {
        if (n->extended)
            *jinja_slot(f, n->loop_ref) =
                (jinja_value){.kind = JINJA_LOOP, .loop = loop};
        assign(r, f, n->a, element);
        jinja_begin_scope(r, f, &n->enter);
        flow way = exec_all(r, f, &n->body);
        any |= way == FLOW_ON;
        if (way == FLOW_BREAK)
            break;
    }
    jinja_end_scope(f, &n->enter);
    if (any || !n->more.count)
        return FLOW_ON;
    jinja_begin_scope(r, f, &n->enter_else);
    flow way = exec_all(r, f, &n->more);
    jinja_end_scope(f, &n->enter_else);
    return way;
}

/* The text of one level of a recursive loop. */
static jinja_value
recursive(jinja_run *r, jinja_frame *outer, const jinja_node *n,
          jinja_value source, size_t depth)
{
    jinja_buf out = {0}, *before = r->out;
    jinja_loop *loop = JINJA_NEW(r, jinja_loop);
    *loop = (jinja_loop){.node = n, .frame = outer, .depth = depth};
    jinja_enter(r);
    r->out = &out;
    run_loop(r, jinja_frame_new(r, outer, n->function), n, source, loop);
    r->out = before;
    jinja_leave(r);
    return jinja_taken(r, &out);
}

jinja_value
jinja_loop_call(jinja_run *r, jinja_loop *loop, const jinja_args *args)
{
    if (args->n != 1 || args->n_named)
        jinja_stop(r, "TypeError: loop() takes one argument");
    if (!loop->node || !loop->node->recursive)
        jinja_stop(r,
                   "TypeError: The loop must have the 'recursive' marker to be "
                   "called recursively.");
    return recursive(r, loop->frame, loop->node, args->v[0], loop->depth + 1);
}

static flow
exec_for(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value source = jinja_eval(r, f, n->b);
    r->at = n->b->at;
    if (n->recursive) {
        jinja_print(r, r->out, recursive(r, f, n, source, 0));
        return FLOW_ON;
    }
    jinja_loop *loop = JINJA_NEW(r, jinja_loop);
    *loop = (jinja_loop){.node = n, .frame = f};
    return run_loop(r, f, n, source, loop);
}

/* ---- the others ---- */

static flow
exec_if(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    if (jinja_truth(r, jinja_eval(r, f, n->a)))
        return exec_all(r, f, &n->body);
    for (size_t i = 0; i < n->list.count; i++)
        if (jinja_truth(r, jinja_eval(r, f, n->list.data[i]->a)))
            return exec_all(r, f, &n->list.data[i]->body);
    return exec_all(r, f, &n->more);
}

static void
exec_output(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    for (size_t i = 0; i < n->list.count; i++) {
        const jinja_node *part = n->list.data[i];
        jinja_value v = jinja_eval(r, f, part);
        r->at = part->at;
        jinja_print(r, r->out, v);
    }
}

static flow
exec_one(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_value v;
    switch (n->op) {
    case JINJA_OUTPUT:
        exec_output(r, f, n);
        return FLOW_ON;
    case JINJA_FOR:
        return exec_for(r, f, n);
    case JINJA_IF:
        return exec_if(r, f, n);
    case JINJA_SET:
        check_namespaces(r, f, n->a);
        v = jinja_eval(r, f, n->b);
        assign(r, f, n->a, v);
        return FLOW_ON;
    case JINJA_SET_BLOCK:
        return exec_set_block(r, f, n);
    case JINJA_MACRO_OF:
        *jinja_slot(f, n->a->ref) = macro_of(r, f, n);
        return FLOW_ON;
    case JINJA_CALL_BLOCK:
        put_text(r, n, jinja_call_node(r, f, n->b, macro_of(r, f, n)));
        return FLOW_ON;
    case JINJA_GENERATION:
        exec_generation(r, f, n);
        return FLOW_ON;
    case JINJA_FILTER_BLOCK:
        return exec_filter_block(r, f, n);
    case JINJA_WITH:
        return exec_with(r, f, n);
    default:
        return n->op == JINJA_BREAK ? FLOW_BREAK : FLOW_CONTINUE;
    }
}

static flow
exec(jinja_run *r, jinja_frame *f, const jinja_node *n)
{
    jinja_enter(r);
    jinja_pay(r, 1);
    r->at = n->at;
    flow way = exec_one(r, f, n);
    jinja_leave(r);
    return way;
}
