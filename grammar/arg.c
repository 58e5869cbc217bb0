/* The value of one argument against its formal: a number, a text, a word, a
 * list, a set, a constructor. */
#include "grammar/matcher.h"

#include "grammar/other_names.h"

#include <math.h>
#include <string.h>

/* Returns the name of an argument in messages: as it was written. */
static const char *
called(const rlf_matcher *m, const rlf_formal *f)
{
    return rlf_arena_printf(m->s->arena,
                            f->labelled ? "'%s:' of '%s'"
                            : m->item   ? "the %s of '%s'"
                                        : "'%s' of '%s'",
                            f->name, m->what);
}

/* Does the run take a value that is never finite? What is infinite is a number
 * there, if the formal has no bounds. */
static bool
finite_enough(const rlf_matcher *m, const rlf_formal *f, int term,
              rlf_span span)
{
    char why[RLF_FORMAL_WHY];
    bool state = m->item && m->item->class->receiver == RLF_RECEIVER_STATE;
    bool bounded =
        f->kind == RLF_FORMAL_INT || (!rlf_formal_takes(f, INFINITY, why) &&
                                      !rlf_formal_takes(f, -INFINITY, why));
    if (state)
        return rlf_finite_effect(m->s, term, span);
    return rlf_finite_use(
        m->s, term, bounded ? RLF_NONFINITE_INFINITE : RLF_NONFINITE_NAN, span);
}

/* The number that stands for a constant in a branch that is never taken: `x` if
 * the formal takes it. The branch may be dead because it does not. */
static double
stand_in(const rlf_formal *f, double x)
{
    const double others[] = {f->fallback, f->least, 1};
    char why[RLF_FORMAL_WHY];
    for (size_t i = 0; i < RLF_COUNT(others); i++)
        if (!isfinite(x) || !rlf_formal_takes(f, x, why))
            x = others[i];
    return x;
}

/* A constant: in the formal's unit, if any, and in its bounds. */
static bool
fits(const rlf_matcher *m, const rlf_formal *f, int term, rlf_span span)
{
    const rlf_term *t = &m->s->terms.data[term];
    rlf_diags *diags = m->s->diags;
    rlf_diag *diag;
    char why[RLF_FORMAL_WHY];
    if (t->unit != RLF_UNIT_NONE && t->unit != f->unit) {
        diag = rlf_diag_error(diags, "unit", span, "%s is %s, not %s",
                              called(m, f), rlf_unit_word(f->unit),
                              rlf_unit_word(t->unit));
        rlf_diag_hint(diags, diag, "%s",
                      f->unit == RLF_UNIT_TIME ? "units of time are ms s min h"
                      : f->unit == RLF_UNIT_BYTES
                          ? "units of bytes are KB MB GB"
                          : "write it without the unit");
        return false;
    }
    if (!finite_enough(m, f, term, span))
        return false;
    if (m->s->idle || rlf_formal_takes(f, t->value, why))
        return true;
    diag = rlf_diag_error(diags, "argument", span, "%s %s", called(m, f), why);
    /* So few bytes lack their unit; 16 GB of a limit, which has a value of its
     * own where nothing is said, and more are not meant. */
    double megabyte = 1024 * 1024;
    bool bytes = f->unit == RLF_UNIT_BYTES, limit = f->fallback > 0;
    double scale = limit ? megabyte : 1024 * megabyte;
    if (t->unit == RLF_UNIT_NONE && bytes && t->value < 16384 &&
        rlf_formal_takes(f, t->value * scale, why))
        rlf_diag_hint(diags, diag, "write its unit: %.12g%s (%s)", t->value,
                      limit ? "MB" : "GB", f->doc);
    else if (bytes && t->value < f->least && f->least >= megabyte)
        rlf_diag_hint(diags, diag, "write %.12gMB or more (%s)",
                      ceil(f->least / megabyte), f->doc);
    else
        rlf_diag_hint(diags, diag, "%s", f->doc);
    return false;
}

static bool
wrong(const rlf_matcher *m, const rlf_formal *f, const rlf_entity *got,
      const char *wanted)
{
    if (got->kind == RLF_ENTITY_NONE)
        return false;
    rlf_diag *diag = rlf_diag_error(m->s->diags, "argument", got->span,
                                    "%s is %s, and this is %s", called(m, f),
                                    wanted, rlf_entity_word(m->s, got));
    if (f->kind == RLF_FORMAL_TEXT_COLUMN)
        rlf_diag_hint(m->s->diags, diag,
                      "texts of rows are a data column, as batch.answer, those "
                      "of samples, as roll.text, or of a hook: hook h = "
                      "lua(\"h.lua\") -> text");
    return false;
}

static bool
put_term(const rlf_matcher *m, rlf_arg *arg, int term)
{
    arg->kind = RLF_ARG_VALUE;
    arg->value = term;
    arg->input = rlf_item_input_term(m->s, m->item, term);
    return true;
}

/* Does the expression name something that changes while running? Optimizer
 * arguments may; they are read at each update, so the resource goes without. */
static bool changes(rlf_sema *s, const rlf_ast_expr *e);

/* Does what the def computes of its own change? */
static bool
def_changes(rlf_sema *s, const rlf_ast_decl *def, rlf_module *module)
{
    rlf_scope *outside = s->scope;
    const char *key = rlf_arena_printf(s->arena, "%p", (const void *)def);
    const void *known = rlf_map_get(&s->changing, key);
    bool found = false;
    if (known)
        return (uintptr_t)known == 2;
    rlf_map_put(&s->changing, key, (void *)1); /* also for one in itself */
    rlf_scope_push(s, NULL, module)->def = true;
    for (size_t i = 0; def->formals && i < def->formals->count; i++) {
        found |= changes(s, def->formals->data[i].value);
        rlf_def_formal(s, s->scope, &def->formals->data[i]);
    }
    for (size_t i = 0; i < def->body->stmts.count; i++) {
        const rlf_ast_stmt *stmt = def->body->stmts.data[i];
        found |= changes(s, stmt->value);
        if (stmt->kind == RLF_AST_LET)
            rlf_name_give(s, &stmt->name, rlf_entity_none(stmt->span));
    }
    s->scope = outside;
    rlf_map_put(&s->changing, key, (void *)(uintptr_t)(1 + found));
    return found;
}

/* The def that a call uses; NULL: it is none. */
static const rlf_ast_decl *
def_of(rlf_sema *s, const rlf_ast_expr *e, rlf_module **module)
{
    rlf_found_name found;
    bool plain = e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_NAME;
    bool known = plain ? rlf_name_find(s, &e->left->name, &found)
                       : e->kind == RLF_AST_CALL &&
                             rlf_name_qualified(s, e->left, &found);
    if (!known || !found.decl || found.decl->kind != RLF_AST_DEF)
        return NULL;
    *module = found.module;
    return found.decl;
}

static bool
changes(rlf_sema *s, const rlf_ast_expr *e)
{
    if (!e)
        return false;
    rlf_found_name found;
    if (e->kind == RLF_AST_NAME) {
        if (rlf_name_find(s, &e->name, &found))
            return found.decl && found.decl->kind == RLF_AST_STATE;
        return rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_NONE,
                                e->name.text) != NULL;
    }
    rlf_module *module = NULL;
    const rlf_ast_decl *def = def_of(s, e, &module);
    if (def && def_changes(s, def, module))
        return true;
    if (changes(s, e->left) || changes(s, e->right) || changes(s, e->other))
        return true;
    for (size_t i = 0; e->args && i < e->args->count; i++) {
        if (changes(s, e->args->data[i].value))
            return true;
    }
    return false;
}

/* A number that changes while running must be in the formal's bounds in some
 * step. */
static bool
could_fit(const rlf_matcher *m, const rlf_formal *f, int term, rlf_span span)
{
    double least, most;
    rlf_term_bounds(m->s, term, &least, &most);
    bool below = most<f->least, above = least> f->most;
    if (f->least >= f->most || (!below && !above))
        return true;
    rlf_diag *diag = rlf_diag_error(
        m->s->diags, "argument", span,
        "%s is never %s %.12g, and must be from %.12g to %.12g", called(m, f),
        below ? "above" : "below", below ? most : least, f->least, f->most);
    rlf_diag_hint(m->s->diags, diag, "%s", f->doc);
    return false;
}

/* A text where a number is wanted: its quotes are too much if it begins as one.
 */
static void
quoted_number(const rlf_matcher *m, const rlf_formal *f, const rlf_entity *text)
{
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "type", text->span,
                       "%s is a number, and this is a text", called(m, f));
    if (text->text[strspn(text->text, "-.")] &&
        strchr("0123456789", text->text[strspn(text->text, "-.")]))
        rlf_diag_hint(m->s->diags, diag, "write it without the quotes: %s",
                      text->text);
}

/* A formal that counts or measures has bounds; the others are conditions, and
 * what a state keeps. */
static bool
is_measure(const rlf_formal *f)
{
    return f->kind == RLF_FORMAL_INT ||
           (f->kind == RLF_FORMAL_NUMBER && f->least < f->most);
}

static bool
put_number(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
           rlf_arg *arg)
{
    rlf_sema *s = m->s;
    if (m->lazy && changes(s, e)) {
        arg->kind = RLF_ARG_ABSENT;
        return true;
    }
    if (e->kind == RLF_AST_STRING) {
        rlf_entity text = rlf_eval(s, e);
        quoted_number(m, f, &text);
        return false;
    }
    int term = rlf_eval_number(s, e);
    if (term < 0 ||
        (is_measure(f) && !rlf_term_is_written_number(s, e, called(m, f))))
        return false;
    const rlf_term *t = &s->terms.data[term];
    if (is_measure(f) && !rlf_term_is_number(s, term, called(m, f), e->span))
        return false;
    if (rlf_term_constant(s, term, &arg->number)) {
        arg->kind = RLF_ARG_NUMBER;
        arg->literal = e->kind == RLF_AST_NUMBER;
        if (s->idle)
            arg->number = stand_in(f, arg->number);
        return fits(m, f, term, e->span);
    }
    if (!m->item || f->kind != RLF_FORMAL_NUMBER) {
        rlf_diag_error(s->diags, "argument", e->span,
                       "%s must be known before the run starts", called(m, f));
        return false;
    }
    if (t->domain != 0 || t->text) {
        const rlf_node_class *class = m->item->class;
        bool choice =
            class->condition && class->control_flow != RLF_CONTROL_FLOW_LEAVE;
        rlf_diag *diag = rlf_diag_error(
            s->diags, "level", e->span, "%s is one number, and this is %s",
            called(m, f), rlf_level_name(s, t->domain, t->set));
        if (!t->text)
            rlf_diag_hint(s->diags, diag,
                          choice ? "reduce it, as in mean(... over batch); or "
                                   "choose value by value: c ? a : b"
                                 : "reduce it, as in mean(... over batch)");
        return false;
    }
    return finite_enough(m, f, term, e->span) &&
           could_fit(m, f, term, e->span) && put_term(m, arg, term);
}

/* Is it said as a number: one that is written, or a parameter that is one? */
static bool
is_number(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_found_name found;
    if (e->kind != RLF_AST_NAME)
        return e->kind == RLF_AST_NUMBER;
    return rlf_name_find(s, &e->name, &found) && found.decl &&
           found.decl->kind == RLF_AST_PARAM &&
           strcmp(found.decl->word.text, "bool") != 0;
}

static bool
put_flag(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
         rlf_arg *arg)
{
    rlf_entity t = rlf_eval(m->s, e);
    if (t.kind != RLF_ENTITY_NUMBER || is_number(m->s, e))
        return wrong(m, f, &t, "true or false");
    return put_number(m, f, e, arg);
}

/* judge.lua or models/small without quotes: a field or a quotient of what means
 * nothing there. */
static bool
is_bare_path(const rlf_matcher *m, const rlf_ast_expr *e)
{
    rlf_found_name found;
    const rlf_ast_expr *first = e;
    while (!first->paren &&
           (first->kind == RLF_AST_FIELD ||
            (first->kind == RLF_AST_BINARY && first->op == RLF_AST_DIV)))
        first = first->left;
    if (first == e || first->kind != RLF_AST_NAME ||
        (e->kind == RLF_AST_FIELD && rlf_name_qualified(m->s, e, &found)))
        return false;
    return !rlf_name_find(m->s, &first->name, &found) ||
           (found.decl && (found.decl->kind == RLF_AST_HOOK ||
                           found.decl->kind == RLF_AST_DATA ||
                           found.decl->kind == RLF_AST_MODEL));
}

static bool
put_text(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
         rlf_arg *arg, bool path)
{
    if (path && is_bare_path(m, e)) {
        rlf_diag *diag = rlf_diag_error(m->s->diags, "argument", e->span,
                                        "%s is a path, which stands in quotes",
                                        called(m, f));
        rlf_diag_hint(m->s->diags, diag, "write \"%s\"",
                      rlf_form_text(m->s, e->span));
        return false;
    }
    rlf_entity t = rlf_eval(m->s, e);
    if (t.kind != RLF_ENTITY_TEXT)
        return wrong(m, f, &t, path ? "a path" : "a text");
    if (path && !t.text[0]) {
        rlf_diag_error(m->s->diags, "argument", t.span, "%s is an empty path",
                       called(m, f));
        return false;
    }
    arg->kind = RLF_ARG_TEXT;
    arg->path = path;
    arg->text = path && !t.resolved
                    ? rlf_sema_path(m->s, m->s->scope->module, t.text)
                    : t.text;
    if (path && f->find)
        arg->text =
            f->find(arg->text, t.written ? t.written : t.text, m->s->arena);
    if (path && m->s->options->look)
        rlf_look_note_path(m->s->options->look, t.span, arg->text);
    return true;
}

/* A text is as long as the formal asks for. */
static bool
not_empty(const rlf_matcher *m, const rlf_formal *f, const rlf_entity *text)
{
    if (f->least < 1 || text->text[0])
        return true;
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "argument", text->span,
                       "%s is an empty text, which does nothing", called(m, f));
    rlf_diag_hint(m->s->diags, diag, "leave '%s:' out, or write a text",
                  f->name);
    return false;
}

/* An element of a list: a text, or a number without a unit. */
static bool
put_element(const rlf_matcher *m, const rlf_formal *f, const rlf_entity *t,
            rlf_arg *one)
{
    bool text = f->kind == RLF_FORMAL_TEXTS;
    rlf_entity_kind wanted = text ? RLF_ENTITY_TEXT : RLF_ENTITY_NUMBER;
    one->span = t->span;
    one->given = true;
    if (t->kind == RLF_ENTITY_NONE)
        return false;
    if (t->kind != wanted && !(text && t->kind == RLF_ENTITY_WORDS)) {
        rlf_diag_error(m->s->diags, "argument", t->span,
                       "an element of %s is %s, and this is %s", called(m, f),
                       text ? "a text" : "a number", rlf_entity_word(m->s, t));
        return false;
    }
    one->kind = text ? RLF_ARG_TEXT : RLF_ARG_NUMBER;
    one->text = t->text;
    if (t->kind == RLF_ENTITY_TEXT)
        return not_empty(m, f, t);
    if (!text &&
        (!rlf_term_plain(m->s, t->term, t->span) ||
         !rlf_term_is_number(
             m->s, t->term,
             rlf_arena_printf(m->s->arena, "an element of %s", called(m, f)),
             t->span)))
        return false;
    if (!text && rlf_term_constant(m->s, t->term, &one->number))
        return rlf_finite_use(m->s, t->term, RLF_NONFINITE_INFINITE, t->span);
    rlf_diag_error(m->s->diags, "argument", t->span,
                   "%s must be known before the run starts", called(m, f));
    return false;
}

static bool
put_list(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
         rlf_arg *arg)
{
    bool text = f->kind == RLF_FORMAL_TEXTS;
    rlf_entity t = rlf_eval(m->s, e);
    if (text && t.kind == RLF_ENTITY_TEXT) {
        arg->kind = RLF_ARG_TEXT;
        arg->text = t.text;
        return not_empty(m, f, &t);
    }
    if (t.kind != RLF_ENTITY_LIST)
        return wrong(m, f, &t, text ? "a text or a list" : "a list of numbers");
    if (text && !t.n_list) {
        rlf_diag *diag = rlf_diag_error(
            m->s->diags, "argument", e->span,
            "%s is an empty list, which does nothing", called(m, f));
        rlf_diag_hint(m->s->diags, diag, "leave '%s:' out, or write a text",
                      f->name);
        return false;
    }
    arg->kind = RLF_ARG_LIST;
    arg->n_list = (int)t.n_list;
    arg->list = RLF_NEW_ARRAY(m->s->arena, rlf_arg, t.n_list);
    bool good = true;
    for (size_t i = 0; i < t.n_list; i++)
        good = put_element(m, f, &t.list[i], &arg->list[i]) && good;
    return good;
}

/* One of "a|b|c", written bare; or a text that is one. */
static bool
put_word(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
         rlf_arg *arg)
{
    const char *word = e->kind == RLF_AST_NAME ? e->name.text : NULL;
    const char *p = f->words;
    size_t n = word ? strlen(word) : 0;
    for (int tries = 0; tries < 2; tries++) {
        for (p = f->words; word && *p; p += strcspn(p, "|"), p += *p == '|') {
            if (strcspn(p, "|") == n && !memcmp(p, word, n)) {
                arg->kind = RLF_ARG_TEXT;
                arg->text = word;
                return true;
            }
        }
        if (tries || e->kind == RLF_AST_NUMBER)
            break;
        rlf_found_name found;
        bool named =
            e->kind != RLF_AST_NAME || (rlf_name_find(m->s, &e->name, &found) &&
                                        (found.local || found.decl));
        if (!named)
            break;
        rlf_entity t = rlf_eval(m->s, e);
        if (t.kind == RLF_ENTITY_NONE)
            return false;
        word = t.kind == RLF_ENTITY_TEXT ? t.text : NULL;
        n = word ? strlen(word) : 0;
    }
    rlf_buf list = {0};
    for (p = f->words; *p; p += strcspn(p, "|"), p += *p == '|')
        rlf_buf_printf(&list, "%s%.*s", list.n ? ", " : "",
                       (int)strcspn(p, "|"), p);
    rlf_diag *diag = rlf_diag_error(m->s->diags, "argument", e->span,
                                    "%s cannot be this", called(m, f));
    if (strchr(f->words, '|'))
        rlf_diag_hint(m->s->diags, diag, "it is one of %s", list.p);
    else
        rlf_diag_hint(m->s->diags, diag, "it is %s (%s)", list.p, f->doc);
    rlf_buf_free(&list);
    return false;
}

/* Can the argument be what the constructor makes? */
static bool
may_be(const rlf_formal *f, const char *constructor)
{
    return !f->words || rlf_word_is_of(f->words, constructor);
}

/* The constructor that can stand there, if its name is like this one: part of
 * it, or nearly the same. */
static const char *
nearest_constructor(const rlf_matcher *m, const rlf_formal *f, const char *name)
{
    const rlf_resource_class *class = m->s->classes->resource[m->kind];
    for (int i = 0; i < class->n_constructors; i++) {
        const rlf_constructor *c = &class->constructors[i];
        if (c->within && m->within && !strcmp(c->within, m->within) &&
            may_be(f, c->name) &&
            (strstr(c->name, name) || rlf_str_nearest(name, &c->name, 1)))
            return c->name;
    }
    return NULL;
}

static bool
put_constructor(const rlf_matcher *m, const rlf_formal *f,
                const rlf_ast_expr *e, rlf_arg *arg)
{
    const char *name = e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_NAME
                           ? e->left->name.text
                           : NULL;
    const rlf_constructor *c =
        name && may_be(f, name)
            ? rlf_classes_constructor(m->s->classes, m->kind, m->within, name)
            : NULL;
    if (!c) {
        rlf_diag *diag = rlf_diag_error(m->s->diags, "argument", e->span,
                                        "%s cannot be this", called(m, f));
        const char *near = name ? nearest_constructor(m, f, name) : NULL;
        if (near)
            rlf_diag_hint(m->s->diags, diag,
                          "there is no '%s'; there is %s(...)", name, near);
        else
            rlf_diag_hint(m->s->diags, diag, "%s", f->doc);
        return false;
    }
    arg->kind = RLF_ARG_LIST;
    arg->text = c->name;
    return rlf_args_constructor(m->s, e, c, m->kind, &arg->list, &arg->n_list);
}

/* reward(roll.text), where the hook gets the samples with all they have. */
static void
field_for_set(const rlf_matcher *m, const rlf_entity *field,
              const rlf_ast_expr *e)
{
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "type", e->span,
                       "a set of samples is wanted, and this is %s",
                       rlf_entity_word(m->s, field));
    rlf_diag_hint(m->s->diags, diag, "a set goes with all its fields: write %s",
                  rlf_form_text(m->s, e->left->span));
}

static bool
put_set(const rlf_matcher *m, const rlf_ast_expr *e, rlf_arg *arg)
{
    rlf_entity t = rlf_eval(m->s, e);
    bool field = (t.kind == RLF_ENTITY_WORDS || t.kind == RLF_ENTITY_NUMBER) &&
                 e->kind == RLF_AST_FIELD &&
                 rlf_form_kind(m->s, e->left) == RLF_ENTITY_SET;
    if (field) {
        field_for_set(m, &t, e);
        return false;
    }
    int set = rlf_entity_set(m->s, &t, e->span);
    if (set < 0)
        return false;
    arg->kind = RLF_ARG_VALUE;
    arg->value = set;
    arg->input = rlf_item_input_set(m->s, m->item, set);
    return true;
}

static bool
put_column(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
           rlf_arg *arg)
{
    bool text = f->kind == RLF_FORMAL_TEXT_COLUMN;
    rlf_entity t = rlf_eval(m->s, e);
    if (t.kind == RLF_ENTITY_NONE)
        return false;
    if (text && t.kind != RLF_ENTITY_WORDS)
        return wrong(m, f, &t, "a column of texts");
    int term = text ? t.term : rlf_entity_number(m->s, &t, e->span);
    return term >= 0 && rlf_term_plain(m->s, term, e->span) &&
           finite_enough(m, f, term, e->span) && put_term(m, arg, term);
}

static bool
put_resource(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
             rlf_arg *arg)
{
    bool hook = f->kind == RLF_FORMAL_HOOK;
    rlf_entity t = rlf_eval(m->s, e);
    if (t.kind != (hook ? RLF_ENTITY_HOOK : RLF_ENTITY_MODEL))
        return wrong(m, f, &t, hook ? "a hook" : "a model");
    arg->kind = RLF_ARG_RESOURCE;
    arg->resource = t.resource;
    return true;
}

bool
rlf_arg_put(const rlf_matcher *m, const rlf_formal *f, const rlf_ast_expr *e,
            rlf_arg *arg)
{
    switch (f->kind) {
    case RLF_FORMAL_NUMBER:
    case RLF_FORMAL_INT:
        return put_number(m, f, e, arg);
    case RLF_FORMAL_FLAG:
        return put_flag(m, f, e, arg);
    case RLF_FORMAL_TEXT:
        return put_text(m, f, e, arg, false);
    case RLF_FORMAL_PATH:
        return put_text(m, f, e, arg, true);
    case RLF_FORMAL_TEXTS:
    case RLF_FORMAL_NUMBERS:
        return put_list(m, f, e, arg);
    case RLF_FORMAL_SET:
        return put_set(m, e, arg);
    case RLF_FORMAL_COLUMN:
    case RLF_FORMAL_TEXT_COLUMN:
        return put_column(m, f, e, arg);
    case RLF_FORMAL_HOOK:
    case RLF_FORMAL_MODEL:
        return put_resource(m, f, e, arg);
    case RLF_FORMAL_WORD:
        return put_word(m, f, e, arg);
    case RLF_FORMAL_CONSTRUCTOR:
        return put_constructor(m, f, e, arg);
    case RLF_FORMAL_SOURCE:
        return e->kind == RLF_AST_CALL ? put_constructor(m, f, e, arg)
                                       : put_text(m, f, e, arg, true);
    }
    return false;
}

/* A column that is no text; `field`: the one that it may be. */
static void
no_column(const rlf_matcher *m, const rlf_ast_arg *given, const char *field)
{
    rlf_diag *diag = rlf_diag_error(
        m->s->diags, "argument", given->label.span,
        "'%s' has no option '%s:', and a column is the name of a field, a "
        "text",
        m->what, given->label.text);
    rlf_diag_hint(m->s->diags, diag, "%s: \"%s\" makes a column of it",
                  given->label.text, field);
}

/* x.y, where x means nothing yet: a field of rows, as a flow writes it. */
static bool
is_field(const rlf_matcher *m, const rlf_ast_expr *e)
{
    rlf_found_name found;
    return e->kind == RLF_AST_FIELD && e->left->kind == RLF_AST_NAME &&
           !rlf_name_find(m->s, &e->left->name, &found) &&
           !rlf_name_qualified(m->s, e, &found);
}

/* Arguments that a call passes to Lua are numbers or texts: a `false` would be
 * 0 there, which Lua takes for true. */
static bool
is_passed(const rlf_matcher *m, const rlf_ast_arg *given)
{
    if (given->value->kind != RLF_AST_TRUTH)
        return true;
    int number = given->value->number > 0;
    rlf_diag *diag =
        rlf_diag_error(m->s->diags, "type", given->value->span,
                       "a hook gets numbers and texts, and this is %s",
                       number ? "true" : "false");
    rlf_diag_hint(m->s->diags, diag,
                  "write %s: %d, and compare in Lua, where 0 counts as true",
                  given->label.text, number);
    return false;
}

bool
rlf_arg_put_extra(const rlf_matcher *m, const rlf_ast_arg *given, rlf_arg *arg)
{
    if (m->texts && is_field(m, given->value)) {
        no_column(m, given, given->value->name.text);
        return false;
    }
    rlf_entity t = rlf_eval(m->s, given->value);
    arg->name = given->label.text;
    arg->span = given->span;
    arg->given = true;
    if (t.kind == RLF_ENTITY_TEXT) {
        arg->kind = RLF_ARG_TEXT;
        arg->text = t.text;
        return true;
    }
    if (m->texts) {
        if (t.kind == RLF_ENTITY_NONE)
            return false;
        no_column(m, given, "FIELD");
        return false;
    }
    if (t.kind == RLF_ENTITY_WORDS && m->item)
        return put_term(m, arg, t.term);
    int term = rlf_entity_number(m->s, &t, given->value->span);
    if (term < 0 || !rlf_term_plain(m->s, term, given->value->span) ||
        !is_passed(m, given) ||
        !rlf_finite_use(m->s, term, RLF_NONFINITE_NAN, given->value->span))
        return false;
    if (rlf_term_constant(m->s, term, &arg->number)) {
        arg->kind = RLF_ARG_NUMBER;
        return true;
    }
    return m->item && put_term(m, arg, term);
}
