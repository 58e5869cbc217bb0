/* The parser's expressions, with the reference's precedence. */
#include "engine/jinja/inside.h"

#include <string.h>

static jinja_node *parse_or(jinja_parser *p);
static jinja_node *parse_unary(jinja_parser *p, bool with_filter);
static jinja_node *parse_postfix(jinja_parser *p, jinja_node *node);
static jinja_node *parse_primary(jinja_parser *p, bool with_namespace);

jinja_node *
jinja_node_new(jinja_parser *p, jinja_op op, uint32_t at)
{
    jinja_node *node = JINJA_NEW(p->r, jinja_node);
    node->op = op;
    node->at = at;
    return node;
}

const jinja_token *
jinja_peek(const jinja_parser *p, size_t ahead)
{
    size_t i = p->next + ahead;
    return &p->tokens.data[i < p->tokens.count ? i : p->tokens.count - 1];
}

const jinja_token *
jinja_take(jinja_parser *p)
{
    const jinja_token *token = jinja_peek(p, 0);
    p->next++;
    p->r->at = token->at;
    return token;
}

bool
jinja_is(const jinja_token *t, const char *op)
{
    return t->kind == JINJA_T_OPERATOR && jinja_text_is(t->text, op);
}

bool
jinja_is_name(const jinja_token *t, const char *name)
{
    return t->kind == JINJA_T_NAME && jinja_text_is(t->text, name);
}

bool
jinja_skip_if(jinja_parser *p, const char *op)
{
    bool is = jinja_is(jinja_peek(p, 0), op);
    if (is)
        jinja_take(p);
    return is;
}

bool
jinja_skip_name(jinja_parser *p, const char *name)
{
    bool is = jinja_is_name(jinja_peek(p, 0), name);
    if (is)
        jinja_take(p);
    return is;
}

void
jinja_unexpected(jinja_parser *p, const char *want)
{
    const jinja_token *t = jinja_peek(p, 0);
    const char *what = t->kind == JINJA_T_END ? "the end of the template"
                       : t->kind == JINJA_T_BLOCK_END    ? "%}"
                       : t->kind == JINJA_T_VARIABLE_END ? "}}"
                       : t->kind == JINJA_T_DATA        ? "text of the template"
                       : t->kind == JINJA_T_BLOCK_BEGIN ? "{%"
                       : t->kind == JINJA_T_VARIABLE_BEGIN ? "{{"
                       : t->kind == JINJA_T_TEXT           ? "a text"
                                                           : NULL;
    p->r->at = t->at;
    if (what)
        jinja_stop(p->r, "expected %s, found %s", want, what);
    jinja_stop(p->r, "expected %s, found '%.*s'", want,
               (int)rlf_str_cut((rlf_str){t->text->p, t->text->n}, 40),
               t->text->p);
}

const jinja_token *
jinja_expect(jinja_parser *p, jinja_token_kind kind, const char *op)
{
    const jinja_token *t = jinja_peek(p, 0);
    if (t->kind != kind ||
        ((kind == JINJA_T_OPERATOR || kind == JINJA_T_NAME) && op &&
         !jinja_text_is(t->text, op)))
        jinja_unexpected(p, op                             ? op
                            : kind == JINJA_T_NAME         ? "a name"
                            : kind == JINJA_T_BLOCK_END    ? "%}"
                            : kind == JINJA_T_VARIABLE_END ? "}}"
                                                           : "something else");
    return jinja_take(p);
}

static jinja_node *
constant(jinja_parser *p, uint32_t at, jinja_value value)
{
    jinja_node *node = jinja_node_new(p, JINJA_CONST, at);
    node->value = value;
    return node;
}

static jinja_node *
two(jinja_parser *p, jinja_op op, uint32_t at, jinja_node *a, jinja_node *b)
{
    jinja_node *node = jinja_node_new(p, op, at);
    node->a = a;
    node->b = b;
    return node;
}

jinja_node *
jinja_parse_expression(jinja_parser *p)
{
    jinja_enter(p->r);
    uint32_t at = jinja_peek(p, 0)->at;
    jinja_node *node = parse_or(p);
    while (jinja_skip_name(p, "if")) {
        jinja_node *cond = jinja_node_new(p, JINJA_COND, at);
        cond->a = parse_or(p);
        cond->b = node;
        if (jinja_skip_name(p, "else"))
            cond->c = jinja_parse_expression(p);
        node = cond;
    }
    jinja_leave(p->r);
    return node;
}

static jinja_relation
relation_of(jinja_parser *p, bool *is)
{
    static const char *const ops[] = {"==", "!=", "<", "<=", ">", ">="};
    const jinja_token *t = jinja_peek(p, 0);
    *is = true;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (jinja_skip_if(p, ops[i]))
            return (jinja_relation)i;
    if (jinja_skip_name(p, "in"))
        return JINJA_IN;
    *is = jinja_is_name(t, "not") && jinja_is_name(jinja_peek(p, 1), "in");
    if (*is) {
        jinja_take(p);
        jinja_take(p);
    }
    return JINJA_NOT_IN;
}

static jinja_node *
parse_pow(jinja_parser *p)
{
    jinja_node *left = parse_unary(p, true);
    while (jinja_is(jinja_peek(p, 0), "**")) {
        uint32_t at = jinja_take(p)->at;
        left = two(p, JINJA_POW, at, left, parse_unary(p, true));
    }
    return left;
}

static jinja_node *
parse_product(jinja_parser *p)
{
    static const struct {
        const char *text;
        jinja_op op;
    } ops[] = {{"*", JINJA_MUL},
               {"/", JINJA_DIV},
               {"//", JINJA_FLOORDIV},
               {"%", JINJA_MOD}};
    jinja_node *left = parse_pow(p);
    for (size_t i = 0; i < 4; i++) {
        if (!jinja_is(jinja_peek(p, 0), ops[i].text))
            continue;
        uint32_t at = jinja_take(p)->at;
        left = two(p, ops[i].op, at, left, parse_pow(p));
        i = (size_t)-1;
    }
    return left;
}

static jinja_node *
parse_concat(jinja_parser *p)
{
    jinja_node *first = parse_product(p);
    if (!jinja_is(jinja_peek(p, 0), "~"))
        return first;
    jinja_node *node = jinja_node_new(p, JINJA_CONCAT, jinja_peek(p, 0)->at);
    JINJA_PUSH(p->r, &node->list, first);
    while (jinja_skip_if(p, "~"))
        JINJA_PUSH(p->r, &node->list, parse_product(p));
    return node;
}

static jinja_node *
parse_sum(jinja_parser *p)
{
    jinja_node *left = parse_concat(p);
    for (;;) {
        const jinja_token *t = jinja_peek(p, 0);
        bool add = jinja_is(t, "+");
        if (!add && !jinja_is(t, "-"))
            return left;
        jinja_take(p);
        left =
            two(p, add ? JINJA_ADD : JINJA_SUB, t->at, left, parse_concat(p));
    }
}

static jinja_node *
parse_compare(jinja_parser *p)
{
    jinja_node *first = parse_sum(p), *node = NULL;
    for (;;) {
        bool is;
        uint32_t at = jinja_peek(p, 0)->at;
        jinja_relation relation = relation_of(p, &is);
        if (!is)
            return node ? node : first;
        if (!node) {
            node = jinja_node_new(p, JINJA_COMPARE, at);
            node->a = first;
        }
        jinja_node *operand = jinja_node_new(p, JINJA_OPERAND, at);
        operand->relation = relation;
        operand->a = parse_sum(p);
        JINJA_PUSH(p->r, &node->list, operand);
    }
}

static jinja_node *
parse_not(jinja_parser *p)
{
    if (!jinja_is_name(jinja_peek(p, 0), "not"))
        return parse_compare(p);
    jinja_node *node = jinja_node_new(p, JINJA_NOT, jinja_take(p)->at);
    jinja_enter(p->r);
    node->a = parse_not(p);
    jinja_leave(p->r);
    return node;
}

static jinja_node *
parse_and(jinja_parser *p)
{
    jinja_node *left = parse_not(p);
    while (jinja_is_name(jinja_peek(p, 0), "and")) {
        uint32_t at = jinja_take(p)->at;
        left = two(p, JINJA_AND, at, left, parse_not(p));
    }
    return left;
}

static jinja_node *
parse_or(jinja_parser *p)
{
    jinja_node *left = parse_and(p);
    while (jinja_is_name(jinja_peek(p, 0), "or")) {
        uint32_t at = jinja_take(p)->at;
        left = two(p, JINJA_OR, at, left, parse_and(p));
    }
    return left;
}

/* ---- calls ---- */

static void
parse_args(jinja_parser *p, jinja_node *node)
{
    jinja_run *r = p->r;
    bool comma = false;
    jinja_expect(p, JINJA_T_OPERATOR, "(");
    while (!jinja_is(jinja_peek(p, 0), ")")) {
        if (comma) {
            jinja_expect(p, JINJA_T_OPERATOR, ",");
            if (jinja_is(jinja_peek(p, 0), ")"))
                break;
        }
        const jinja_token *t = jinja_peek(p, 0);
        if (jinja_is(t, "*") && !node->dyn_args && !node->dyn_kwargs) {
            jinja_take(p);
            node->dyn_args = jinja_parse_expression(p);
        } else if (jinja_is(t, "**") && !node->dyn_kwargs) {
            jinja_take(p);
            node->dyn_kwargs = jinja_parse_expression(p);
        } else if (t->kind == JINJA_T_NAME && jinja_is(jinja_peek(p, 1), "=") &&
                   !node->dyn_kwargs) {
            jinja_node *keyword = jinja_node_new(p, JINJA_KEYWORD, t->at);
            keyword->name = t->text;
            jinja_take(p);
            jinja_take(p);
            keyword->a = jinja_parse_expression(p);
            JINJA_PUSH(r, &node->more, keyword);
        } else if (!node->dyn_args && !node->dyn_kwargs && !node->more.count) {
            JINJA_PUSH(r, &node->list, jinja_parse_expression(p));
        } else {
            r->at = t->at;
            jinja_stop(r, "invalid syntax for function call expression");
        }
        comma = true;
    }
    jinja_expect(p, JINJA_T_OPERATOR, ")");
}

static jinja_node *
parse_call(jinja_parser *p, jinja_node *callee)
{
    jinja_node *node = jinja_node_new(p, JINJA_CALL, jinja_peek(p, 0)->at);
    node->a = callee;
    parse_args(p, node);
    return node;
}

/* A name with dots, as filters and tests may have. */
static const jinja_text *
dotted_name(jinja_parser *p)
{
    const jinja_text *name = jinja_expect(p, JINJA_T_NAME, NULL)->text;
    while (jinja_skip_if(p, ".")) {
        jinja_buf out = {0};
        const jinja_text *part = jinja_expect(p, JINJA_T_NAME, NULL)->text;
        jinja_add(p->r, &out, name->p, name->n);
        jinja_puts(p->r, &out, ".");
        jinja_add(p->r, &out, part->p, part->n);
        name = jinja_taken(p->r, &out).text;
    }
    return name;
}

jinja_node *
jinja_parse_filter(jinja_parser *p, jinja_node *input, bool first)
{
    while (first || jinja_skip_if(p, "|")) {
        jinja_node *node =
            jinja_node_new(p, JINJA_FILTER, jinja_peek(p, 0)->at);
        node->a = input;
        node->name = dotted_name(p);
        if (jinja_is(jinja_peek(p, 0), "("))
            parse_args(p, node);
        input = node;
        first = false;
    }
    return input;
}

static bool
begins_argument(const jinja_parser *p)
{
    const jinja_token *t = jinja_peek(p, 0);
    if (t->kind == JINJA_T_NAME)
        return !jinja_is_name(t, "else") && !jinja_is_name(t, "or") &&
               !jinja_is_name(t, "and");
    return t->kind == JINJA_T_TEXT || t->kind == JINJA_T_INT ||
           t->kind == JINJA_T_FLOAT || jinja_is(t, "[") || jinja_is(t, "{");
}

static jinja_node *
parse_test(jinja_parser *p, jinja_node *input)
{
    jinja_node *node = jinja_node_new(p, JINJA_TEST, jinja_take(p)->at);
    node->a = input;
    node->negated = jinja_skip_name(p, "not");
    node->name = dotted_name(p);
    if (jinja_is(jinja_peek(p, 0), "(")) {
        parse_args(p, node);
    } else if (begins_argument(p)) {
        if (jinja_is_name(jinja_peek(p, 0), "is"))
            jinja_stop(p->r, "tests with `is` cannot follow each other");
        jinja_node *argument = parse_postfix(p, parse_primary(p, false));
        JINJA_PUSH(p->r, &node->list, argument);
    }
    return node;
}

/* ---- postfix ---- */

static jinja_node *
parse_subscribed(jinja_parser *p)
{
    uint32_t at = jinja_peek(p, 0)->at;
    jinja_node *first = NULL;
    if (!jinja_is(jinja_peek(p, 0), ":")) {
        first = jinja_parse_expression(p);
        if (!jinja_is(jinja_peek(p, 0), ":"))
            return first;
    }
    jinja_take(p);
    jinja_node *slice = jinja_node_new(p, JINJA_SLICE, at);
    const jinja_token *t = jinja_peek(p, 0);
    slice->a = first;
    if (!jinja_is(t, ":") && !jinja_is(t, "]") && !jinja_is(t, ","))
        slice->b = jinja_parse_expression(p);
    if (jinja_skip_if(p, ":")) {
        t = jinja_peek(p, 0);
        if (!jinja_is(t, "]") && !jinja_is(t, ","))
            slice->c = jinja_parse_expression(p);
    }
    return slice;
}

static jinja_node *
parse_subscript(jinja_parser *p, jinja_node *of)
{
    const jinja_token *t = jinja_take(p);
    if (jinja_is(t, ".")) {
        const jinja_token *name = jinja_peek(p, 0);
        if (name->kind != JINJA_T_NAME && name->kind != JINJA_T_INT)
            jinja_unexpected(p, "a name or number");
        jinja_take(p);
        if (name->kind == JINJA_T_INT)
            return two(p, JINJA_GETITEM, t->at, of,
                       constant(p, name->at, jinja_int(name->i)));
        jinja_node *node = jinja_node_new(p, JINJA_GETATTR, t->at);
        node->a = of;
        node->name = name->text;
        return node;
    }
    jinja_node *tuple = jinja_node_new(p, JINJA_TUPLE_OF, t->at);
    while (!jinja_is(jinja_peek(p, 0), "]")) {
        if (tuple->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        JINJA_PUSH(p->r, &tuple->list, parse_subscribed(p));
    }
    jinja_take(p);
    jinja_node *key = tuple->list.count == 1 ? tuple->list.data[0] : tuple;
    return two(p, JINJA_GETITEM, t->at, of, key);
}

static jinja_node *
parse_postfix(jinja_parser *p, jinja_node *node)
{
    for (;;) {
        const jinja_token *t = jinja_peek(p, 0);
        if (jinja_is(t, ".") || jinja_is(t, "["))
            node = parse_subscript(p, node);
        else if (jinja_is(t, "("))
            node = parse_call(p, node);
        else
            return node;
    }
}

static jinja_node *
parse_unary(jinja_parser *p, bool with_filter)
{
    const jinja_token *t = jinja_peek(p, 0);
    jinja_node *node;
    jinja_enter(p->r);
    if (jinja_is(t, "-") || jinja_is(t, "+")) {
        jinja_take(p);
        node = jinja_node_new(
            p, jinja_is(t, "-") ? JINJA_NEGATIVE : JINJA_POSITIVE, t->at);
        node->a = parse_unary(p, false);
    } else {
        node = parse_primary(p, false);
    }
    node = parse_postfix(p, node);
    while (with_filter) {
        t = jinja_peek(p, 0);
        if (jinja_is(t, "|"))
            node = jinja_parse_filter(p, node, false);
        else if (jinja_is_name(t, "is"))
            node = parse_test(p, node);
        else if (jinja_is(t, "("))
            node = parse_call(p, node);
        else
            break;
    }
    jinja_leave(p->r);
    return node;
}

/* ---- primary ---- */

static bool
ends_tuple(const jinja_parser *p, const jinja_tuple_rule *rule)
{
    const jinja_token *t = jinja_peek(p, 0);
    return t->kind == JINJA_T_VARIABLE_END || t->kind == JINJA_T_BLOCK_END ||
           jinja_is(t, ")") || (rule->end && jinja_is_name(t, rule->end));
}

jinja_node *
jinja_parse_tuple(jinja_parser *p, const jinja_tuple_rule *rule)
{
    jinja_node *tuple = jinja_node_new(p, JINJA_TUPLE_OF, jinja_peek(p, 0)->at);
    bool is_tuple = false;
    for (;;) {
        if (tuple->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        if (ends_tuple(p, rule))
            break;
        jinja_node *element = rule->simple
                                  ? parse_primary(p, rule->with_namespace)
                              : rule->no_condition ? parse_or(p)
                                                   : jinja_parse_expression(p);
        JINJA_PUSH(p->r, &tuple->list, element);
        if (!jinja_is(jinja_peek(p, 0), ","))
            break;
        is_tuple = true;
    }
    if (is_tuple)
        return tuple;
    if (tuple->list.count)
        return tuple->list.data[0];
    if (!rule->parentheses)
        jinja_unexpected(p, "an expression");
    return tuple;
}

static jinja_node *
parse_list(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_LIST_OF, jinja_take(p)->at);
    while (!jinja_is(jinja_peek(p, 0), "]")) {
        if (node->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        if (jinja_is(jinja_peek(p, 0), "]"))
            break;
        JINJA_PUSH(p->r, &node->list, jinja_parse_expression(p));
    }
    jinja_take(p);
    return node;
}

static jinja_node *
parse_dict(jinja_parser *p)
{
    jinja_node *node = jinja_node_new(p, JINJA_DICT_OF, jinja_take(p)->at);
    while (!jinja_is(jinja_peek(p, 0), "}")) {
        if (node->list.count)
            jinja_expect(p, JINJA_T_OPERATOR, ",");
        if (jinja_is(jinja_peek(p, 0), "}"))
            break;
        JINJA_PUSH(p->r, &node->list, jinja_parse_expression(p));
        jinja_expect(p, JINJA_T_OPERATOR, ":");
        JINJA_PUSH(p->r, &node->list, jinja_parse_expression(p));
    }
    jinja_take(p);
    return node;
}

static jinja_node *
parse_name(jinja_parser *p, bool with_namespace)
{
    const jinja_token *t = jinja_take(p);
    bool yes = jinja_is_name(t, "true") || jinja_is_name(t, "True");
    if (yes || jinja_is_name(t, "false") || jinja_is_name(t, "False"))
        return constant(p, t->at, jinja_bool(yes));
    if (jinja_is_name(t, "none") || jinja_is_name(t, "None"))
        return constant(p, t->at, jinja_none());
    jinja_node *node = jinja_node_new(p, JINJA_NAME, t->at);
    node->name = t->text;
    if (with_namespace && jinja_skip_if(p, ".")) {
        node->op = JINJA_NSREF;
        node->attribute = jinja_expect(p, JINJA_T_NAME, NULL)->text;
    }
    return node;
}

static jinja_node *
parse_texts(jinja_parser *p)
{
    jinja_buf out = {0};
    uint32_t at = jinja_peek(p, 0)->at;
    while (jinja_peek(p, 0)->kind == JINJA_T_TEXT) {
        const jinja_text *text = jinja_take(p)->text;
        jinja_add(p->r, &out, text->p, text->n);
    }
    return constant(p, at, jinja_taken(p->r, &out));
}

static jinja_node *
parse_primary(jinja_parser *p, bool with_namespace)
{
    const jinja_token *t = jinja_peek(p, 0);
    if (t->kind == JINJA_T_NAME)
        return parse_name(p, with_namespace);
    if (t->kind == JINJA_T_TEXT)
        return parse_texts(p);
    if (t->kind == JINJA_T_INT)
        return constant(p, t->at, jinja_int(jinja_take(p)->i));
    if (t->kind == JINJA_T_FLOAT)
        return constant(p, t->at, jinja_float(jinja_take(p)->f));
    if (jinja_is(t, "[") || jinja_is(t, "{")) {
        jinja_enter(p->r);
        jinja_node *node = jinja_is(t, "[") ? parse_list(p) : parse_dict(p);
        jinja_leave(p->r);
        return node;
    }
    if (!jinja_is(t, "("))
        jinja_unexpected(p, "an expression");
    const jinja_tuple_rule rule = {.parentheses = true};
    jinja_take(p);
    jinja_enter(p->r);
    jinja_node *node = jinja_parse_tuple(p, &rule);
    jinja_leave(p->r);
    jinja_expect(p, JINJA_T_OPERATOR, ")");
    return node;
}
