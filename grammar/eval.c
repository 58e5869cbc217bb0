/* The meaning of expressions: the walk over them. */
#include "grammar/passes.h"

#include <string.h>

/* ---- entities ---- */

rlf_entity
rlf_entity_none(rlf_span span)
{
    return (rlf_entity){.kind = RLF_ENTITY_NONE,
                        .term = -1,
                        .set = -1,
                        .resource = -1,
                        .span = span};
}

rlf_entity
rlf_entity_term(const rlf_sema *s, int term, rlf_span span)
{
    rlf_entity t = rlf_entity_none(span);
    if (term < 0)
        return t;
    t.kind = s->terms.data[term].text ? RLF_ENTITY_WORDS : RLF_ENTITY_NUMBER;
    t.term = term;
    return t;
}

const char *
rlf_entity_word(const rlf_sema *s, const rlf_entity *entity)
{
    (void)s;
    static const char *const words[] = {
        [RLF_ENTITY_NONE] = "nothing",
        [RLF_ENTITY_NUMBER] = "a number",
        [RLF_ENTITY_WORDS] = "a text",
        [RLF_ENTITY_TEXT] = "a text",
        [RLF_ENTITY_LIST] = "a list",
        [RLF_ENTITY_SET] = "a set",
        [RLF_ENTITY_MODEL] = "a model",
        [RLF_ENTITY_DATA] = "a data set",
        [RLF_ENTITY_HOOK] = "a hook",
        [RLF_ENTITY_RECORD] = "the hook's results",
    };
    return words[entity->kind];
}

int
rlf_entity_number(rlf_sema *s, const rlf_entity *entity, rlf_span span)
{
    if (entity->kind == RLF_ENTITY_NUMBER)
        return entity->term;
    if (entity->kind == RLF_ENTITY_NONE)
        return -1;
    const rlf_hook_outputs *r = entity->record;
    if (entity->kind == RLF_ENTITY_RECORD && r->n_gives == 1 &&
        !r->gives[0].name[0])
        return rlf_entity_number(s, &r->values[0], span);
    rlf_diag *diag = rlf_diag_error(s->diags, "type", span,
                                    "a number is wanted, and this "
                                    "is %s",
                                    rlf_entity_word(s, entity));
    if (entity->kind == RLF_ENTITY_RECORD)
        rlf_diag_hint(s->diags, diag, "name one of them: .%s",
                      r->gives[0].name);
    return -1;
}

int
rlf_entity_set(rlf_sema *s, const rlf_entity *entity, rlf_span span)
{
    if (entity->kind == RLF_ENTITY_SET)
        return entity->set;
    if (entity->kind == RLF_ENTITY_NONE)
        return -1;
    if (entity->kind == RLF_ENTITY_DATA) {
        rlf_entity all = rlf_call_data(s, entity->resource, span);
        return all.kind == RLF_ENTITY_SET ? all.set : -1;
    }
    rlf_diag_error(s->diags, "type", span,
                   "a set of samples is wanted, and this is %s",
                   rlf_entity_word(s, entity));
    return -1;
}

int
rlf_eval_number(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_entity entity = rlf_eval(s, e);
    return rlf_entity_number(s, &entity, e->span);
}

int
rlf_eval_plain(rlf_sema *s, const rlf_ast_expr *e)
{
    int term = rlf_eval_number(s, e);
    return term >= 0 && rlf_term_plain(s, term, e->span) ? term : -1;
}

bool
rlf_eval_outside(rlf_sema *s, rlf_span span, const char *what)
{
    if (s->part >= 0)
        return false;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "type", span, "%s has no value before the run starts", what);
    rlf_diag_hint(s->diags, diag,
                  "here only %sparameters and numbers can stand",
                  s->choosing >= 0 ? "fields of the row, " : "");
    return true;
}

/* ---- names ---- */

static const char *
quoted(rlf_sema *s, const char *name)
{
    return rlf_arena_printf(s->arena, "'%s'", name);
}

static rlf_entity
declared(rlf_sema *s, const rlf_found_name *found, const rlf_ast_name *name)
{
    const rlf_ast_decl *decl = found->decl;
    rlf_entity none = rlf_entity_none(name->span);
    if (!decl)
        return none; /* two imports gave it */
    switch (decl->kind) {
    case RLF_AST_STATE: {
        int state = rlf_sema_state(s, decl, found->module);
        if (state < 0 || rlf_eval_outside(s, name->span, "a state"))
            return none;
        return rlf_entity_term(s, rlf_call_state(s, state, name->span),
                               name->span);
    }
    case RLF_AST_DEF:
        rlf_diag_error(s->diags, "type", name->span,
                       "'%s' is a function: it is used as %s(...)", name->text,
                       name->text);
        return none;
    case RLF_AST_FLOW:
        rlf_diag_error(s->diags, "type", name->span,
                       "'%s' is the flow and has no value", name->text);
        return none;
    default:
        return rlf_sema_declared(s, decl, found->module);
    }
}

static void
of_a_round(rlf_sema *s, const rlf_ast_name *name, const rlf_named *named)
{
    rlf_diag *diag = rlf_diag_error(
        s->diags, "collect", name->span,
        "'%s' is made anew in each round of the collect and does not "
        "exist after it",
        name->text);
    rlf_diag_note(s->diags, diag, named->span, "made here");
    rlf_diag_hint(s->diags, diag,
                  "name it before the collect, or make it of what was kept");
}

static rlf_entity
eval_name(rlf_sema *s, const rlf_ast_name *name)
{
    rlf_found_name found;
    if (rlf_name_find(s, name, &found)) {
        if (found.local && found.local->round)
            of_a_round(s, name, found.local);
        rlf_entity entity =
            found.local ? found.local->entity : declared(s, &found, name);
        entity.span = name->span;
        return rlf_level_here(s, &entity, name->span)
                   ? entity
                   : rlf_entity_none(name->span);
    }
    const rlf_node_class *value = rlf_classes_find(
        s->classes, RLF_FORM_FIELD, RLF_RECEIVER_NONE, name->text);
    if (value) {
        if (rlf_eval_outside(s, name->span, quoted(s, value->name)))
            return rlf_entity_none(name->span);
        return rlf_entity_term(s, rlf_call_value(s, value, name->span),
                               name->span);
    }
    if (rlf_builtin_is(name->text))
        rlf_diag_error(s->diags, "type", name->span,
                       "'%s' is a function: it is used as %s(...)", name->text,
                       name->text);
    else
        rlf_name_unknown(s, name, RLF_WANT_VALUE, NULL);
    return rlf_entity_none(name->span);
}

/* ---- operators ---- */

static const rlf_expr_code codes[RLF_AST_OPS] = {
    [RLF_AST_OR] = RLF_EXPR_OR,   [RLF_AST_AND] = RLF_EXPR_AND,
    [RLF_AST_NOT] = RLF_EXPR_NOT, [RLF_AST_LT] = RLF_EXPR_LT,
    [RLF_AST_LE] = RLF_EXPR_LE,   [RLF_AST_GT] = RLF_EXPR_LT,
    [RLF_AST_GE] = RLF_EXPR_LE,   [RLF_AST_EQ] = RLF_EXPR_EQ,
    [RLF_AST_NE] = RLF_EXPR_NE,   [RLF_AST_ADD] = RLF_EXPR_ADD,
    [RLF_AST_SUB] = RLF_EXPR_SUB, [RLF_AST_MUL] = RLF_EXPR_MUL,
    [RLF_AST_DIV] = RLF_EXPR_DIV, [RLF_AST_MOD] = RLF_EXPR_MOD,
    [RLF_AST_NEG] = RLF_EXPR_NEG, [RLF_AST_POW] = RLF_EXPR_POW,
};

static bool
is_text(const rlf_entity *t)
{
    return t->kind == RLF_ENTITY_TEXT || t->kind == RLF_ENTITY_WORDS;
}

/* A text as a term, also one that is known now. */
static int
text_term(rlf_sema *s, const rlf_entity *t)
{
    return t->kind == RLF_ENTITY_TEXT ? rlf_term_words(s, t->text, t->span)
                                      : t->term;
}

/* `==` and `!=` of texts. */
static rlf_entity
compare_texts(rlf_sema *s, const rlf_ast_expr *e, const rlf_entity *a,
              const rlf_entity *b)
{
    bool equal = e->op == RLF_AST_EQ;
    rlf_entity none = rlf_entity_none(e->span);
    if ((!equal && e->op != RLF_AST_NE) || !is_text(a) || !is_text(b)) {
        bool both = is_text(a) && is_text(b);
        rlf_diag *diag =
            both ? rlf_diag_error(s->diags, "type", e->at,
                                  "'%s' takes numbers, and these are texts",
                                  rlf_ast_op_text(e->op))
                 : rlf_diag_error(s->diags, "type", e->at,
                                  "this is %s and %s: texts and numbers do not "
                                  "mix",
                                  rlf_entity_word(s, a), rlf_entity_word(s, b));
        diag->left = e->left->span;
        diag->right = e->right->span;
        rlf_diag_hint(s->diags, diag, "two texts can be compared by == and !=");
        return none;
    }
    if (a->kind == RLF_ENTITY_TEXT && b->kind == RLF_ENTITY_TEXT) {
        bool same = strcmp(a->text, b->text) == 0;
        return rlf_entity_term(s, rlf_term_truth(s, same == equal, e->span),
                               e->span);
    }
    int term = rlf_term_pointwise(s, RLF_EXPR_TEXT_EQ, text_term(s, a),
                                  text_term(s, b), -1, e->at);
    if (!equal)
        term = rlf_term_pointwise(s, RLF_EXPR_NOT, term, -1, -1, e->at);
    return rlf_entity_term(s, term, e->span);
}

static void
widen(rlf_sema *s, int term, rlf_span span)
{
    if (term >= 0 && s->terms.data[term].kind == RLF_TERM_OP &&
        !s->terms.data[term].named) {
        s->terms.data[term].span = span;
        s->terms.data[term].span.use = s->use;
    }
}

/* `a - -b` is a + b, and more often a slip. */
static void
warn_signs(rlf_sema *s, const rlf_ast_expr *e, const rlf_ast_expr *operand)
{
    /* -b * c is written, and parsed, as (-b) * c */
    while (operand->kind == RLF_AST_BINARY && !operand->paren &&
           (operand->op == RLF_AST_MUL || operand->op == RLF_AST_DIV ||
            operand->op == RLF_AST_MOD))
        operand = operand->left;
    if ((e->op != RLF_AST_SUB && e->op != RLF_AST_NEG) ||
        operand->kind != RLF_AST_UNARY || operand->op != RLF_AST_NEG ||
        operand->paren)
        return;
    rlf_diag *diag = rlf_diag_warning(s->diags, "sign", operand->at,
                                      "one minus after another is a plus");
    rlf_diag_hint(s->diags, diag,
                  "leave one out, or put what is negative in parentheses");
}

/* Evaluates what counts for nothing unless `counts`, and then where the
 * condition (a term; -1: none) holds or does not, as `holds` says. */
static rlf_entity
eval_side(rlf_sema *s, const rlf_ast_expr *e, bool counts, int condition,
          bool holds)
{
    const rlf_sema_choice *outer = s->choice;
    double value;
    s->idle += !counts;
    if (condition >= 0 && !rlf_term_constant(s, condition, &value)) {
        rlf_sema_choice *choice = RLF_NEW(s->arena, rlf_sema_choice);
        *choice = (rlf_sema_choice){condition, holds, outer};
        s->choice = choice;
    }
    rlf_entity entity = rlf_eval(s, e);
    s->choice = outer;
    s->idle -= !counts;
    return entity;
}

/* The right of `and` and `or` where the left decides. */
static bool
is_decided(const rlf_sema *s, rlf_ast_op op, const rlf_entity *left)
{
    double value;
    if ((op != RLF_AST_AND && op != RLF_AST_OR) ||
        left->kind != RLF_ENTITY_NUMBER ||
        !rlf_term_constant(s, left->term, &value) ||
        s->terms.data[left->term].nonfinite == RLF_NONFINITE_NAN)
        return false;
    return (value > 0 || value < 0) == (op == RLF_AST_OR);
}

static rlf_entity
eval_binary(rlf_sema *s, const rlf_ast_expr *e)
{
    warn_signs(s, e, e->right);
    rlf_entity a = rlf_eval(s, e->left);
    bool logic = e->op == RLF_AST_AND || e->op == RLF_AST_OR;
    rlf_entity b = eval_side(s, e->right, !is_decided(s, e->op, &a),
                             logic && a.kind == RLF_ENTITY_NUMBER ? a.term : -1,
                             e->op == RLF_AST_AND);
    if (a.kind == RLF_ENTITY_NONE || b.kind == RLF_ENTITY_NONE)
        return rlf_entity_none(e->span);
    if (is_text(&a) || is_text(&b))
        return compare_texts(s, e, &a, &b);
    if (!rlf_term_computes(s, e))
        return rlf_entity_none(e->span);
    int x = rlf_entity_number(s, &a, e->left->span);
    int y = rlf_entity_number(s, &b, e->right->span);
    bool turned = e->op == RLF_AST_GT || e->op == RLF_AST_GE;
    if (x < 0 || y < 0)
        return rlf_entity_none(e->span);
    s->operand[0] = e->left->span;
    s->operand[1] = e->right->span;
    int term = -1;
    if (rlf_level_meet(s, x, y, e->at) >= 0)
        term = rlf_term_pointwise(s, codes[e->op], turned ? y : x,
                                  turned ? x : y, -1, e->at);
    s->operand[0] = s->operand[1] = (rlf_span){0};
    widen(s, term, e->span);
    return rlf_entity_term(s, term, e->span);
}

/* The side of a choice that is taken for good, on the level that the choice has
 * whatever its condition is: that of both sides. */
static rlf_entity
take_side(rlf_sema *s, rlf_entity taken, const rlf_entity *other, rlf_span at)
{
    if (taken.kind != RLF_ENTITY_NUMBER || other->kind != RLF_ENTITY_NUMBER)
        return taken;
    int domain = rlf_domain_meet(&s->graph->domains,
                                 s->terms.data[taken.term].domain,
                                 s->terms.data[other->term].domain);
    if (domain < 0 || domain == s->terms.data[taken.term].domain)
        return taken;
    int term = rlf_term_down(s, taken.term, domain, at);
    return rlf_entity_term(s, term, at);
}

static rlf_entity
eval_choice(rlf_sema *s, const rlf_ast_expr *e)
{
    int c = rlf_eval_number(s, e->left);
    double value;
    bool known =
        c >= 0 && rlf_term_constant(s, c, &value) &&
        s->terms.data[c].nonfinite != RLF_NONFINITE_NAN; /* decides nothing */
    bool yes = known && (value > 0 || value < 0);
    if (c >= 0)
        rlf_condition_look(s, e->left, c, "step");
    rlf_entity a = eval_side(s, e->right, !known || yes, c, true);
    rlf_entity b = eval_side(s, e->other, !known || !yes, c, false);
    if (c < 0 || a.kind == RLF_ENTITY_NONE || b.kind == RLF_ENTITY_NONE)
        return rlf_entity_none(e->span);
    if (known && a.kind == b.kind)
        return yes ? take_side(s, a, &b, e->span) : take_side(s, b, &a, e->span);
    bool words = is_text(&a) && is_text(&b);
    if (words && !rlf_finite_use(s, c, RLF_NONFINITE_NAN, e->left->span))
        return rlf_entity_none(e->span);
    int x = words ? text_term(s, &a) : rlf_entity_number(s, &a, e->right->span);
    int y = words ? text_term(s, &b) : rlf_entity_number(s, &b, e->other->span);
    int term = rlf_term_pointwise(s, RLF_EXPR_SELECT, c, x, y, e->at);
    widen(s, term, e->span);
    return rlf_entity_term(s, term, e->span);
}

/* x[s]: the part of a set that belongs to a set. */
static rlf_entity
part_of_set(rlf_sema *s, const rlf_ast_expr *e, int x, int set)
{
    rlf_entity part = rlf_entity_none(e->span);
    bool made;
    int index = rlf_set_belonging(s, x, set, e->span, &made);
    if (index < 0) {
        const rlf_set *sets = s->graph->sets.data;
        rlf_diag *diag = rlf_diag_error(s->diags, "level", e->span,
                                        "'%s' has no part that belongs to '%s'",
                                        sets[x].name, sets[set].name);
        rlf_diag_hint(s->diags, diag,
                      "what stands in the brackets has some of the prompts of "
                      "what stands before them");
        return part;
    }
    if (made) {
        rlf_item *item = rlf_item_new(s, rlf_classes_syntax(s->classes, "part"),
                                      -1, e->span);
        rlf_item_input_set(s, item, x);
        rlf_item_input_set(s, item, set);
        rlf_item_output_set(s, rlf_item_place(s, item), index);
    }
    part.kind = RLF_ENTITY_SET;
    part.set = index;
    return part;
}

/* roll[0], roll[score > 0]: samples have no numbers, and are chosen. */
static void
no_index(rlf_sema *s, const rlf_ast_expr *e, const rlf_entity *index)
{
    double number;
    bool one = rlf_term_constant(s, index->term, &number);
    const char *x = rlf_form_text(s, e->left->span);
    rlf_diag *diag = rlf_diag_error(s->diags, "type", index->span,
                                    "x[s] is the part of x that belongs to the "
                                    "set s, and this is a number");
    rlf_diag_hint(s->diags, diag,
                  "samples are chosen by a condition: %s.where(%s)", x,
                  one ? "..." : rlf_form_text(s, index->span));
}

/* x[s]: the part of a column that belongs to a set. */
static rlf_entity
eval_index(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_entity none = rlf_entity_none(e->span), x = rlf_eval(s, e->left);
    if (e->args->count != 1 || e->args->data[0].label.text ||
        e->args->data[0].over.text) {
        rlf_diag_error(s->diags, "argument", e->at,
                       "x[s] takes one set in its brackets");
        return none;
    }
    const rlf_ast_expr *inner = e->args->data[0].value;
    rlf_entity piece = rlf_eval(s, inner);
    int set = -1;
    if (piece.kind == RLF_ENTITY_NUMBER && x.kind == RLF_ENTITY_SET)
        no_index(s, e, &piece);
    else
        set = rlf_entity_set(s, &piece, inner->span);
    if (set < 0 || x.kind == RLF_ENTITY_NONE)
        return none;
    if (x.kind == RLF_ENTITY_SET || x.kind == RLF_ENTITY_DATA) {
        int whole = rlf_entity_set(s, &x, e->left->span);
        return whole < 0 ? none : part_of_set(s, e, whole, set);
    }
    int term = x.kind == RLF_ENTITY_WORDS
                   ? x.term
                   : rlf_entity_number(s, &x, e->left->span);
    if (term < 0)
        return none;
    const rlf_domains *domains = &s->graph->domains;
    const rlf_set *p = &s->graph->sets.data[set];
    int from = s->terms.data[term].domain, to = -1;
    if (from == 0)
        return rlf_entity_term(s, term, e->span);
    if (rlf_level_of(s, from) == RLF_LEVEL_VOCAB)
        to = p->tokens >= 0 ? rlf_level_vocab(s, p->tokens) : -1;
    else if (rlf_level_of(s, from) == RLF_LEVEL_TOKEN)
        to = p->tokens;
    else if (rlf_domain_reaches(domains, from, p->prompts))
        to = p->prompts;
    else
        to = p->samples;
    if (to < 0 || !rlf_domain_reaches(domains, from, to)) {
        rlf_diag_error(
            s->diags, "level", e->span, "%s has no part that belongs to '%s'",
            rlf_level_name(s, from, s->terms.data[term].set), p->name);
        return none;
    }
    int part = rlf_term_down(s, term, to, e->span);
    s->terms.data[part].set = set;
    return rlf_entity_term(s, part, e->span);
}

static rlf_entity
eval_list(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_entity list = rlf_entity_none(e->span);
    size_t n = e->args ? e->args->count : 0;
    list.kind = RLF_ENTITY_LIST;
    list.list = RLF_NEW_ARRAY(s->arena, rlf_entity, n);
    list.n_list = n;
    for (size_t i = 0; i < n; i++) {
        list.list[i] = rlf_eval(s, e->args->data[i].value);
        if (list.list[i].kind == RLF_ENTITY_NONE)
            list.kind = RLF_ENTITY_NONE;
    }
    return list;
}

/* ---- calls ---- */

static rlf_entity
call_found(rlf_sema *s, const rlf_found_name *found, const rlf_ast_name *name,
           const rlf_ast_expr *e)
{
    const rlf_ast_decl *decl = found->decl;
    rlf_entity none = rlf_entity_none(e->span);
    if (decl && decl->kind == RLF_AST_DEF)
        return rlf_eval_def(s, decl, found->module, e);
    if (decl && decl->kind == RLF_AST_HOOK) {
        rlf_entity hook = rlf_sema_declared(s, decl, found->module);
        return hook.kind == RLF_ENTITY_HOOK ? rlf_call_hook(s, hook.resource, e)
                                            : none;
    }
    if (found->local && found->local->entity.kind == RLF_ENTITY_NONE)
        return none;
    if (found->local && found->local->entity.kind == RLF_ENTITY_HOOK)
        return rlf_call_hook(s, found->local->entity.resource, e);
    if (found->local || decl) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", name->span,
                                        "'%s' is not a function", name->text);
        rlf_span at = found->local ? found->local->span : decl->name.span;
        rlf_diag_note(s->diags, diag, at, "it is named here");
        bool hides = !decl || decl->kind != RLF_AST_FLOW;
        if (rlf_import_hint(s, diag, name->text, hides))
            return none;
        if (decl && decl->kind == RLF_AST_DATA)
            rlf_diag_hint(s->diags, diag,
                          "the flow's head draws rows of it: %s[64]",
                          name->text);
        else
            rlf_form_called(s, diag, e);
    }
    return none;
}

static rlf_entity
eval_call(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_found_name found;
    if (e->left->kind == RLF_AST_FIELD) {
        if (rlf_name_qualified(s, e->left, &found))
            return found.decl ? call_found(s, &found, &e->left->name, e)
                              : rlf_entity_none(e->span);
        rlf_entity receiver = rlf_eval(s, e->left->left);
        if (receiver.kind == RLF_ENTITY_NONE)
            return receiver;
        return rlf_call_method(s, &receiver, e);
    }
    if (e->left->kind != RLF_AST_NAME) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", e->left->span,
                                        "this is not a function");
        if (e->left->kind == RLF_AST_NUMBER || e->left->paren)
            rlf_diag_hint(s->diags, diag, "a product is written with '*'");
        return rlf_entity_none(e->span);
    }
    const rlf_ast_name *name = &e->left->name;
    rlf_entity out;
    bool over = e->args && e->args->count && e->args->data[0].over.text;
    if (over && rlf_builtin_is(name->text)) {
        rlf_builtin_call(s, name->text, e, &out);
        return out;
    }
    if (rlf_name_find(s, name, &found))
        return call_found(s, &found, name, e);
    if (rlf_builtin_call(s, name->text, e, &out)) {
        if (out.kind == RLF_ENTITY_NUMBER)
            widen(s, out.term, e->span);
        return out;
    }
    const rlf_node_class *class = rlf_classes_find(
        s->classes, RLF_FORM_CALL, RLF_RECEIVER_NONE, name->text);
    if (!class) {
        rlf_name_unknown(s, name, RLF_WANT_FUNCTION, e);
        return rlf_entity_none(e->span);
    }
    if (rlf_eval_outside(s, e->span, quoted(s, class->name)))
        return rlf_entity_none(e->span);
    return rlf_call_function(s, class, e);
}

static rlf_entity
eval_field(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_found_name found;
    if (rlf_name_qualified(s, e, &found))
        return found.decl ? declared(s, &found, &e->name)
                          : rlf_entity_none(e->span);
    rlf_entity receiver = rlf_eval(s, e->left);
    if (receiver.kind == RLF_ENTITY_NONE)
        return receiver;
    return rlf_call_field(s, &receiver, e);
}

static rlf_entity
eval_constant(rlf_sema *s, const rlf_ast_expr *e)
{
    static const rlf_unit units[] = {[RLF_AST_PLAIN] = RLF_UNIT_NONE,
                                     [RLF_AST_TIME] = RLF_UNIT_TIME,
                                     [RLF_AST_BYTES] = RLF_UNIT_BYTES};
    if (e->rounded) {
        rlf_diag_hint(s->diags,
                      rlf_diag_error(s->diags, "number", e->span,
                                     "this number would be %.0f", e->number),
                      "above 2^53 not all whole numbers are kept: write one "
                      "that is, or a measure with an exponent, as 1e20");
        return rlf_entity_none(e->span);
    }
    int term = rlf_term_number(s, e->number, e->span);
    s->terms.data[term].truth = s->terms.data[term].written =
        e->kind == RLF_AST_TRUTH;
    s->terms.data[term].unit = units[e->unit];
    return rlf_entity_term(s, term, e->span);
}

static rlf_entity
eval(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_entity entity = rlf_entity_none(e->span);
    switch (e->kind) {
    case RLF_AST_NAME:
        return eval_name(s, &e->name);
    case RLF_AST_NUMBER:
    case RLF_AST_TRUTH:
        return eval_constant(s, e);
    case RLF_AST_STRING:
        entity.kind = RLF_ENTITY_TEXT;
        entity.text = e->string.p;
        return entity;
    case RLF_AST_LIST:
        return eval_list(s, e);
    case RLF_AST_FIELD:
        return eval_field(s, e);
    case RLF_AST_CALL:
        return eval_call(s, e);
    case RLF_AST_INDEX:
        return eval_index(s, e);
    case RLF_AST_UNARY: {
        warn_signs(s, e, e->left);
        int term = rlf_eval_number(s, e->left);
        if (!rlf_term_computes(s, e))
            return entity;
        term = rlf_term_pointwise(s, codes[e->op], term, -1, -1, e->at);
        widen(s, term, e->span);
        return rlf_entity_term(s, term, e->span);
    }
    case RLF_AST_BINARY:
        return eval_binary(s, e);
    case RLF_AST_CHOICE:
        return eval_choice(s, e);
    case RLF_AST_BROKEN:
        break;
    }
    return entity;
}

rlf_entity
rlf_eval(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_entity entity = rlf_entity_none(e->span);
    bool many = s->terms.count > RLF_TERM_MOST;
    if (many || s->nesting == RLF_EVAL_DEPTH) {
        rlf_diag_error(s->diags, "size", e->span,
                       many ? "the program has too many operations"
                            : "this is nested too deeply");
        return entity;
    }
    s->nesting++;
    entity = eval(s, e);
    s->nesting--;
    if (s->options->look)
        rlf_look_note_value(s->options->look, e, &entity);
    return entity;
}
