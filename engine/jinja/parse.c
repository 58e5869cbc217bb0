/* The parser's statements: tokens to nodes. */
#include "engine/jinja/inside.h"

#include <string.h>

static jinja_nodes parse_body(jinja_parser *p, const char *const *ends);

/* The body of a block up to one of the names in `ends`, which stays. */
static jinja_nodes
parse_block(jinja_parser *p, const char *const *ends)
{
    jinja_skip_if(p, ":");
    jinja_expect(p, JINJA_T_BLOCK_END, NULL);
    jinja_enter(p->r);
    jinja_nodes body = parse_body(p, ends);
    jinja_leave(p->r);
    return body;
}

/* The same, and takes the one name that ends it. */
static jinja_nodes
parse_until(jinja_parser *p, const char *end)
{
    const char *const ends[] = {end, NULL};
    jinja_nodes body = parse_block(p, ends);
    jinja_take(p);
    return body;
}

static void
check_target(jinja_parser *p, const jinja_node *target)
{
    if (target->op == JINJA_TUPLE_OF) {
        for (size_t i = 0; i < target->list.count; i++)
            check_target(p, target->list.data[i]);
        return;
    }
    if (target->op != JINJA_NAME && target->op != JINJA_NSREF) {
        p->r->at = target->at;
        jinja_stop(p->r, "a value cannot be set here");
    }
}

static jinja_node *
parse_target(jinja_parser *p, const char *end, bool with_namespace)
{
    const jinja_tuple_rule rule = {
        .simple = true, .end = end, .with_namespace = with_namespace};
    jinja_node *target = jinja_parse_tuple(p, &rule);
    check_target(p, target);
    return target;
}

static jinja_node *
parse_name_target(jinja_parser *p)
{
    const jinja_token *t = jinja_expect(p, JINJA_T_NAME, NULL);
    jinja_node *node = jinja_node_new(p, JINJA_NAME, t->at);
    static const char *const constants[] = {"true", "false", "none",
                                            "True", "False", "None"};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (jinja_text_is(t->text, constants[i]))
            jinja_stop(p->r, "a value cannot be set here");
    node->name = t->text;
    return node;
}

static jinja_node *
parse_set(jinja_parser *p)
{
    const jinja_tuple_rule rule = {0};
    uint32_t at = jinja_take(p)->at;
    jinja_node *node = jinja_node_new(p, JINJA_SET, at);
    node->a = parse_target(p, NULL, true);
    if (jinja_skip_if(p, "=")) {
        node->b = jinja_parse_tuple(p, &rule);
        return node;
    }
    node->op = JINJA_SET_BLOCK;
    node->b = jinja_parse_filter(p, NULL, false);
    node->body = parse_until(p, "endset");
    return node;
}

static jinja_node *
parse_for(jinja_parser *p)
{
    static const char *const ends[] = {"endfor", "else", NULL};
    const jinja_tuple_rule rule = {.no_condition = true, .end = "recursive"};
    jinja_node *node = jinja_node_new(p, JINJA_FOR, jinja_take(p)->at);
    node->a = parse_target(p, "in", false);
    jinja_expect(p, JINJA_T_NAME, "in");
    node->b = jinja_parse_tuple(p, &rule);
    if (jinja_skip_name(p, "if"))
        node->c = jinja_parse_expression(p);
    node->recursive = jinja_skip_name(p, "recursive");
    node->body = parse_block(p, ends);
    if (jinja_is_name(jinja_take(p), "else"))
        node->more = parse_until(p, "endfor");
    return node;
}

/* An `if`: a, body; `elif`s in list; `else` in more. */
static jinja_node *
parse_if(jinja_parser *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL};
    const jinja_tuple_rule rule = {.no_condition = true};
    jinja_node *result = jinja_node_new(p, JINJA_IF, jinja_take(p)->at),
               *node = result;
    for (;;) {
        node->a = jinja_parse_tuple(p, &rule);
        node->body = parse_block(p, ends);
        const jinja_token *t = jinja_take(p);
        if (jinja_is_name(t, "elif")) {
            node = jinja_node_new(p, JINJA_IF, t->at);
            JINJA_PUSH(p->r, &result->list, node);
            continue;
        }
        if (jinja_is_name(t, "else"))
            result->more = parse_until(p, "endif");
        return result;
    }
}

static jinja_node *
parse_with(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_WITH, jinja_take(p)->at);
    while (jinja_peek(p, 0)->kind != JINJA_T_BLOCK_END) {
        if (node->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        JINJA_PUSH(p->r, &node->list, parse_target(p, NULL, false));
        jinja_expect(p, JINJA_T_OPERATOR, "=");
        JINJA_PUSH(p->r, &node->more, jinja_parse_expression(p));
    }
    node->body = parse_until(p, "endwith");
    return node;
}

/* Parameters in list, defaults (of the last of them) in more. */
static void
parse_signature(jinja_parser *p, jinja_node *node)
{
    jinja_expect(p, JINJA_T_OPERATOR, "(");
    while (!jinja_is(jinja_peek(p, 0), ")")) {
        if (node->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        jinja_node *name = parse_name_target(p);
        if (jinja_skip_if(p, "="))
            JINJA_PUSH(p->r, &node->more, jinja_parse_expression(p));
        else if (node->more.count)
            jinja_stop(p->r, "a parameter without default follows one with a "
                             "default");
        for (size_t i = 0; i < node->list.count; i++)
            if (rlf_str_eq((rlf_str){node->list.data[i]->name->p,
                                     node->list.data[i]->name->n},
                           (rlf_str){name->name->p, name->name->n}))
                jinja_stop(p->r, "a parameter is there twice");
        JINJA_PUSH(p->r, &node->list, name);
    }
    jinja_take(p);
}

static jinja_node *
parse_macro(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_MACRO_OF, jinja_take(p)->at);
    node->a = parse_name_target(p);
    node->name = node->a->name;
    parse_signature(p, node);
    node->body = parse_until(p, "endmacro");
    return node;
}

static jinja_node *
parse_call_block(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_CALL_BLOCK, jinja_take(p)->at);
    if (jinja_is(jinja_peek(p, 0), "("))
        parse_signature(p, node);
    node->b = jinja_parse_expression(p);
    if (node->b->op != JINJA_CALL)
        jinja_stop(p->r, "a call is expected");
    node->body = parse_until(p, "endcall");
    return node;
}

static jinja_node *
parse_generation(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_GENERATION, jinja_take(p)->at);
    node->body = parse_until(p, "endgeneration");
    p->generates = true;
    return node;
}

static jinja_node *
parse_filter_block(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_FILTER_BLOCK, jinja_take(p)->at);
    node->b = jinja_parse_filter(p, NULL, true);
    node->body = parse_until(p, "endfilter");
    return node;
}

static jinja_node *
parse_print(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_OUTPUT, jinja_take(p)->at);
    while (jinja_peek(p, 0)->kind != JINJA_T_BLOCK_END) {
        if (node->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        JINJA_PUSH(p->r, &node->list, jinja_parse_expression(p));
    }
    return node;
}

static jinja_node *
parse_word(jinja_parser *p)
{
    const jinja_token *t = jinja_take(p);
    return jinja_node_new(
        p, jinja_is_name(t, "break") ? JINJA_BREAK : JINJA_CONTINUE, t->at);
}

static jinja_node *
parse_statement(jinja_parser *p)
{
    static const struct {
        const char *name;
        jinja_node *(*parse)(jinja_parser *);
    } tags[] = {
        {"for", parse_for},       {"if", parse_if},
        {"set", parse_set},       {"macro", parse_macro},
        {"with", parse_with},     {"call", parse_call_block},
        {"print", parse_print},   {"filter", parse_filter_block},
        {"break", parse_word},    {"generation", parse_generation},
        {"continue", parse_word},
    };
    static const char *const absent[] = {"block",  "extends", "include",
                                         "import", "from",    "autoescape"};
    const jinja_token *t = jinja_peek(p, 0);
    p->r->at = t->at;
    if (t->kind != JINJA_T_NAME)
        jinja_unexpected(p, "the name of a tag");
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (jinja_is_name(t, tags[i].name))
            return tags[i].parse(p);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (jinja_is_name(t, absent[i]))
            jinja_stop(p->r, "the tag `%s` is not supported in chat templates",
                       absent[i]);
    jinja_stop_text(p->r,
                    "an unknown tag: ", (rlf_str){t->text->p, t->text->n});
}

static bool
is_end(const jinja_parser *p, const char *const *ends)
{
    for (; ends && *ends; ends++)
        if (jinja_is_name(jinja_peek(p, 0), *ends))
            return true;
    return false;
}

static void
add_output(jinja_parser *p, jinja_nodes *body, jinja_node *expression)
{
    jinja_node *last = body->count ? body->data[body->count - 1] : NULL;
    if (!last || last->op != JINJA_OUTPUT) {
        last = jinja_node_new(p, JINJA_OUTPUT, expression->at);
        JINJA_PUSH(p->r, body, last);
    }
    JINJA_PUSH(p->r, &last->list, expression);
}

static jinja_nodes
parse_body(jinja_parser *p, const char *const *ends)
{
    const jinja_tuple_rule rule = {0};
    jinja_nodes body = {0};
    for (;;) {
        const jinja_token *t = jinja_peek(p, 0);
        if (t->kind == JINJA_T_END) {
            p->r->at = t->at;
            if (ends)
                jinja_stop(p->r,
                           "the template ends where {%% %s %%} is expected",
                           ends[0]);
            return body;
        }
        jinja_take(p);
        if (t->kind == JINJA_T_DATA) {
            jinja_node *data = jinja_node_new(p, JINJA_CONST, t->at);
            data->value = jinja_text_of(p->r, t->text->p, t->text->n);
            add_output(p, &body, data);
        } else if (t->kind == JINJA_T_VARIABLE_BEGIN) {
            add_output(p, &body, jinja_parse_tuple(p, &rule));
            jinja_expect(p, JINJA_T_VARIABLE_END, NULL);
        } else {
            if (is_end(p, ends))
                return body;
            jinja_node *statement = parse_statement(p);
            JINJA_PUSH(p->r, &body, statement);
            jinja_expect(p, JINJA_T_BLOCK_END, NULL);
        }
    }
}

jinja_nodes
jinja_parse(jinja_parser *p)
{
    return parse_body(p, NULL);
}
