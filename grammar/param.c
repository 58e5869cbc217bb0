/* Parameters: defaults, settings of the command line, ranges. */
#include "grammar/passes.h"

#include "engine/base/option_table.h"
#include "grammar/literal.h"
#include "grammar/other_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct reader {
    rlf_sema *s;
    const rlf_ast_decl *decl;
    const char *type;
} reader;

/* ---- texts of values ---- */

static const char *
text_of(rlf_sema *s, const rlf_entity *entity, const char *type)
{
    double number;
    rlf_buf buf = {0};
    if (entity->kind == RLF_ENTITY_TEXT) {
        rlf_buf_puts(&buf, entity->text);
    } else if (entity->kind == RLF_ENTITY_NUMBER &&
               rlf_term_constant(s, entity->term, &number)) {
        if (!strcmp(type, "bool"))
            rlf_buf_puts(&buf, number > 0 ? "true" : "false");
        else if (!strcmp(type, "int"))
            rlf_buf_printf(&buf, "%.0f", number);
        else
            rlf_buf_number(&buf, number);
    }
    char *text = rlf_arena_strndup(s->arena, buf.p ? buf.p : "", buf.n);
    rlf_buf_free(&buf);
    return text;
}

/* ---- values given as texts ---- */

static bool
read_bool(const char *text, double *out)
{
    bool yes = !strcmp(text, "true") || !strcmp(text, "1");
    *out = yes;
    return yes || !strcmp(text, "false") || !strcmp(text, "0");
}

/* Whole numbers are kept as doubles, which have them all up to here. */
#define LARGEST_INT 9007199254740992.0

/* The numbers that the type takes, in words, or NULL: the value is fine. */
static const char *
wrong_number(const char *type, double x)
{
    if (!strcmp(type, "bool"))
        return x == 0 || x == 1 ? NULL : "true or false";
    if (strcmp(type, "int") != 0)
        return NULL;
    if (x != floor(x))
        return "a whole number";
    return fabs(x) <= LARGEST_INT ? NULL : "a whole number of up to 2^53";
}

/* Not what the parameter takes, which is `wanted`. */
static rlf_diag *
complain(const reader *r, const char *text, const char *wanted)
{
    const char *given =
        *text ? rlf_arena_printf(r->s->arena, "'%s' was given", text)
              : "what was given is empty";
    return rlf_diag_error(r->s->diags, "param", r->decl->name.span,
                          "parameter '%s' is %s, and %s", r->decl->name.text,
                          wanted, given);
}

static rlf_entity
refuse(const reader *r, const char *text, const char *wanted)
{
    complain(r, text, wanted);
    return rlf_entity_none(r->decl->name.span);
}

/* A number as programs write it, with a '-' before it if it is negative; false:
 * what is wrong is told. */
static bool
read_number(const reader *r, const char *text, double *out)
{
    rlf_sema *s = r->s;
    rlf_span at = r->decl->name.span;
    rlf_ast_unit unit;
    rlf_diag *diag;
    switch (rlf_literal_read(text, true, out, &unit)) {
    case RLF_LITERAL_FORM:
        diag = complain(r, text, "a number");
        if (*text)
            rlf_diag_hint(s->diags, diag,
                          "numbers are written as in programs: 1e-5, 0.5, 10K");
        return false;
    case RLF_LITERAL_LARGE:
        rlf_diag_error(s->diags, "param", at,
                       "what parameter '%s' was given, '%s', is too large a "
                       "number",
                       r->decl->name.text, text);
        return false;
    case RLF_LITERAL_SMALL:
        diag = rlf_diag_error(
            s->diags, "param", at,
            "what parameter '%s' was given, '%s', is too small a number",
            r->decl->name.text, text);
        rlf_diag_hint(s->diags, diag, "it would be 0: say 0 if that is meant");
        return false;
    case RLF_LITERAL_ROUND:
        if (!strcmp(r->type, "int")) {
            complain(r, text, "a whole number of up to 2^53");
            return false;
        }
        diag =
            rlf_diag_error(s->diags, "param", at,
                           "what parameter '%s' was given, '%s', would be %.0f",
                           r->decl->name.text, text, *out);
        rlf_diag_hint(s->diags, diag,
                      "above 2^53 not all whole numbers are kept: give one "
                      "that is, or a measure with an exponent, as 1e20");
        return false;
    case RLF_LITERAL_FINE:
        break;
    }
    if (unit == RLF_AST_PLAIN)
        return true;
    diag = complain(r, text, "a number without a unit");
    rlf_diag_hint(s->diags, diag, "K and M multiply by 1,000 and 1,000,000");
    return false;
}

static const char *
start_path(const rlf_sema *s, const char *text)
{
    const char *start = s->options->start;
    if (text[0] == '/' || !start || !*start || !strcmp(start, "."))
        return text;
    return rlf_arena_printf(s->arena, "%s/%s", start, text);
}

static rlf_entity
read_setting(const reader *r, const char *text)
{
    rlf_sema *s = r->s;
    rlf_entity entity = rlf_entity_none(r->decl->name.span);
    double x = 0;
    bool path = !strcmp(r->type, "path");
    if (path && !*text)
        return refuse(r, text, "a path");
    if (path || !strcmp(r->type, "text")) {
        entity.kind = RLF_ENTITY_TEXT;
        entity.resolved = path;
        entity.written = path ? text : NULL;
        entity.text =
            path ? start_path(s, text) : rlf_arena_strdup(s->arena, text);
        return entity;
    }
    if (!strcmp(r->type, "bool")) {
        if (!read_bool(text, &x)) {
            rlf_diag *diag = complain(r, text, "true or false");
            if (!strcasecmp(text, "true") || !strcasecmp(text, "false"))
                rlf_diag_hint(s->diags, diag, "write it in small letters");
            return rlf_entity_none(r->decl->name.span);
        }
    } else if (!read_number(r, text, &x)) {
        return entity;
    }
    const char *wanted = wrong_number(r->type, x);
    if (wanted)
        return refuse(r, text, wanted);
    rlf_span at = r->decl->name.span;
    int term = strcmp(r->type, "bool") ? rlf_term_number(s, x, at)
                                       : rlf_term_truth(s, x > 0, at);
    return rlf_entity_term(s, term, at);
}

/* ---- defaults ---- */

/* Of a parameter of type int or float: not true or false. */
static bool
is_number(const reader *r, const rlf_entity *value)
{
    return rlf_term_is_number(
        r->s, value->term,
        rlf_arena_printf(r->s->arena, "parameter '%s'", r->decl->name.text),
        value->span);
}

static rlf_entity
read_default(const reader *r, rlf_module *module)
{
    rlf_sema *s = r->s;
    const rlf_ast_expr *e = r->decl->value;
    rlf_entity entity = rlf_eval(s, e);
    bool text = !strcmp(r->type, "text") || !strcmp(r->type, "path");
    double x;
    if (entity.kind == RLF_ENTITY_NONE)
        return entity;
    if (text && entity.kind == RLF_ENTITY_TEXT) {
        if (r->type[0] == 'p' && !entity.resolved) {
            entity.written = entity.text;
            entity.text = rlf_sema_path(s, module, entity.text);
            entity.resolved = true;
            if (s->options->look)
                rlf_look_note_path(s->options->look, e->span, entity.text);
        }
        return entity;
    }
    bool number = entity.kind == RLF_ENTITY_NUMBER &&
                  rlf_term_constant(s, entity.term, &x);
    if (!text && number &&
        (!rlf_term_plain(s, entity.term, e->span) ||
         !rlf_finite_use(s, entity.term, RLF_NONFINITE_INFINITE, e->span)))
        return rlf_entity_none(e->span);
    bool truth = !strcmp(r->type, "bool");
    const char *wanted = !number ? NULL : wrong_number(r->type, x);
    if (!text && number && !wanted && truth)
        return rlf_entity_term(s, rlf_term_truth(s, x > 0, e->span), e->span);
    if (!text && number && !wanted)
        return is_number(r, &entity) ? entity : rlf_entity_none(e->span);
    rlf_diag *diag = rlf_diag_error(
        s->diags, "param", e->span,
        "the default of a parameter of type %s cannot be this", r->type);
    rlf_diag_hint(s->diags, diag, "it is %s",
                  text     ? "a text, in quotes"
                  : wanted ? wanted
                  : truth  ? "true or false"
                           : "a number");
    return rlf_entity_none(e->span);
}

/* ---- ranges ---- */

static bool
same_value(rlf_sema *s, const rlf_entity *a, const rlf_entity *b)
{
    double x, y;
    if (a->kind == RLF_ENTITY_TEXT && b->kind == RLF_ENTITY_TEXT)
        return strcmp(a->text, b->text) == 0;
    return a->kind == RLF_ENTITY_NUMBER && b->kind == RLF_ENTITY_NUMBER &&
           rlf_term_constant(s, a->term, &x) &&
           rlf_term_constant(s, b->term, &y) && x == y;
}

/* Checks that a choice of a list is of the parameter's type. */
static void
check_choice(const reader *r, const rlf_entity *choice)
{
    bool text = !strcmp(r->type, "text") || !strcmp(r->type, "path");
    double x;
    bool number = choice->kind == RLF_ENTITY_NUMBER &&
                  rlf_term_constant(r->s, choice->term, &x);
    bool truth = !strcmp(r->type, "bool");
    if (choice->kind == RLF_ENTITY_NONE ||
        (number && !text && !truth && !is_number(r, choice)) ||
        (number && !rlf_finite_use(r->s, choice->term, RLF_NONFINITE_INFINITE,
                                   choice->span)) ||
        (text ? choice->kind == RLF_ENTITY_TEXT
              : number && !wrong_number(r->type, x) &&
                    rlf_term_plain(r->s, choice->term, choice->span)))
        return;
    rlf_diag_error(r->s->diags, "param", choice->span,
                   "a parameter of type %s cannot be this", r->type);
}

bool
rlf_range_end(rlf_sema *s, const rlf_ast_expr *e, double *out)
{
    int term = rlf_eval_plain(s, e);
    return rlf_term_constant(s, term, out) &&
           rlf_term_is_number(s, term, "the end of a range", e->span) &&
           rlf_finite_use(s, term, RLF_NONFINITE_INFINITE, e->span);
}

/* The range of what may be given, as text; *inside: whether `value` is in it.
 */
static const char *
check_range(const reader *r, const rlf_entity *value, bool *inside)
{
    rlf_sema *s = r->s;
    const rlf_ast_decl *decl = r->decl;
    rlf_buf text = {0};
    *inside = true;
    if (decl->low && decl->high) {
        double low, high, x;
        bool known = rlf_range_end(s, decl->low, &low);
        known = rlf_range_end(s, decl->high, &high) && known;
        if (known && value->kind == RLF_ENTITY_NUMBER &&
            rlf_term_constant(s, value->term, &x))
            *inside = x >= low && x <= high;
        bool texts = !strcmp(r->type, "text") || !strcmp(r->type, "path");
        if (known && (texts || !strcmp(r->type, "bool") || low > high)) {
            rlf_diag *diag = rlf_diag_error(
                s->diags, "param",
                rlf_span_join(decl->low->span, decl->high->span),
                low > high ? "there is nothing in this range"
                           : "a parameter of type %s has no range of numbers",
                r->type);
            rlf_diag_hint(s->diags, diag,
                          low > high ? "the smaller number comes first"
                                     : "list what it can be: in [a, b]");
            *inside = true;
        }
        if (known) {
            rlf_buf_number(&text, low);
            rlf_buf_puts(&text, "..");
            rlf_buf_number(&text, high);
        }
    } else if (decl->low) {
        rlf_entity list = rlf_eval(s, decl->low);
        if (list.kind != RLF_ENTITY_LIST) {
            rlf_diag_error(s->diags, "param", decl->low->span,
                           "a parameter is in a range a..b, or in a list");
            return "";
        }
        *inside = value->kind == RLF_ENTITY_NONE;
        for (size_t i = 0; i < list.n_list; i++) {
            check_choice(r, &list.list[i]);
            *inside = *inside || same_value(s, value, &list.list[i]);
            rlf_buf_printf(&text, "%s%s", i ? ", " : "[",
                           text_of(s, &list.list[i], r->type));
        }
        rlf_buf_putc(&text, ']');
    }
    char *copy = rlf_arena_strndup(s->arena, text.p ? text.p : "", text.n);
    rlf_buf_free(&text);
    return copy;
}

/* ---- one parameter ---- */

static const char *
setting_of(const rlf_sema *s, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < s->options->n_settings; i++) {
        if (!strcmp(s->options->settings[i].name, name))
            value = s->options->settings[i].value;
    }
    return value;
}

static bool
known_type(const char *type)
{
    static const char *const types[] = {"int", "float", "bool", "text", "path"};
    for (size_t i = 0; i < RLF_COUNT(types); i++) {
        if (!strcmp(types[i], type))
            return true;
    }
    return false;
}

/* A number between the two of a list: others write a range so. */
static void
hint_interval(rlf_sema *s, rlf_diag *diag, const rlf_ast_decl *decl,
              const rlf_entity *value)
{
    const rlf_ast_args *list =
        decl->low && !decl->high ? decl->low->args : NULL;
    double x, low, high;
    if (!list || list->count != 2 || value->kind != RLF_ENTITY_NUMBER ||
        !rlf_term_constant(s, value->term, &x) ||
        !rlf_range_end(s, list->data[0].value, &low) ||
        !rlf_range_end(s, list->data[1].value, &high) || x < low || x > high)
        return;
    rlf_diag_hint(s->diags, diag,
                  "a list has the values that it can be; a range is in %s..%s",
                  rlf_form_text(s, list->data[0].span),
                  rlf_form_text(s, list->data[1].span));
}

/* Some path or text, so that all else that is wrong can be told as well. */
static void
stand_in(const reader *r, rlf_entity *value)
{
    bool path = !strcmp(r->type, "path"), text = !strcmp(r->type, "text");
    r->s->ungiven++;
    if ((!path && !text) || r->decl->low)
        return; /* nothing is said of what depends on it */
    value->kind = RLF_ENTITY_TEXT;
    value->text = r->decl->name.text;
    value->resolved = path;
}

rlf_entity
rlf_param_value(rlf_sema *s, const rlf_ast_decl *decl, rlf_module *module)
{
    rlf_entity value = rlf_entity_none(decl->name.span);
    reader r = {s, decl, decl->word.text};
    if (!known_type(r.type)) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", decl->word.span,
                                        "there is no type '%s'", r.type);
        static const char *const types[] = {"int", "float", "bool", "text",
                                            "path"};
        const char *meant = rlf_other_name(r.type, types, RLF_COUNT(types));
        if (meant)
            rlf_diag_hint(s->diags, diag, "did you mean '%s'?", meant);
        else
            rlf_diag_hint(s->diags, diag,
                          "it is int, float, bool, text or path");
        return value;
    }
    const char *given = setting_of(s, decl->name.text);
    rlf_entity fallback = value;
    if (decl->value)
        fallback = read_default(&r, module);
    value = given ? read_setting(&r, given) : fallback;
    bool inside;
    const char *within = check_range(&r, &value, &inside);
    const char *text = text_of(s, &value, r.type);
    if (!inside) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "param", decl->name.span,
                           "parameter '%s' is %s, and must be in %s",
                           decl->name.text, *text ? text : "empty", within);
        hint_interval(s, diag, decl, &value);
    }
    if (!given && !decl->value && !s->options->params_only) {
        rlf_diag_error(s->diags, "param", decl->name.span,
                       "parameter '%s' must be given: %s=VALUE",
                       decl->name.text, decl->name.text);
        stand_in(&r, &value);
    }
    rlf_param param = {
        .name = decl->name.text,
        .type = r.type,
        .value = given || decl->value ? text_of(s, &value, r.type) : NULL,
        .fallback = decl->value ? text_of(s, &fallback, r.type) : NULL,
        .within = within,
        .doc = decl->help ? decl->help->string.p : decl->doc,
        .given = given != NULL,
    };
    RLF_PUSH_IN(s->arena, &s->graph->params, param);
    return value;
}

/* ---- all of them ---- */

/* Is there an option of that name, with - where a parameter has _? *hint says
 * how it is written, and what takes it; a parameter may be meant, too. */
static bool
is_option(const rlf_compile_setting *set, const char *nearest, rlf_buf *hint)
{
    rlf_buf word = {0};
    rlf_buf_printf(&word, "--%s", set->name);
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == '_')
            word.p[i] = '-';
    rlf_option option = rlf_option_called(word.p);
    if (option < RLF_OPTIONS) {
        const rlf_option_row *row = &rlf_option_rows[option];
        rlf_buf_puts(hint, word.p);
        if (row->type != RLF_OPTION_IS_FLAG)
            rlf_buf_printf(hint, " %s", set->value);
        const char *between = " is an option, of ";
        for (int c = 0; c < RLF_COMMANDS; c++) {
            if (!rlf_command_takes((rlf_command)c, option))
                continue;
            rlf_buf_printf(hint, "%s%s", between, rlf_command_rows[c].word);
            between = ", ";
        }
        if (nearest)
            rlf_buf_printf(hint, "; or did you mean '%s'?", nearest);
    }
    rlf_buf_free(&word);
    return option < RLF_OPTIONS;
}

static void
check_settings(rlf_sema *s)
{
    size_t n = s->graph->params.count;
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = s->graph->params.data[i].name;
    for (size_t k = 0; k < s->options->n_settings; k++) {
        const char *name = s->options->settings[k].name;
        bool found = false;
        for (size_t i = 0; i < n; i++)
            found = found || !strcmp(names[i], name);
        if (found)
            continue;
        rlf_diag *diag =
            rlf_diag_error(s->diags, "param", (rlf_span){0},
                           "%s has no parameter '%s'", s->options->path, name);
        const char *nearest = rlf_other_name(name, names, n);
        for (size_t i = 0; i < n && !nearest; i++)
            nearest = strcasecmp(names[i], name) ? NULL : names[i];
        rlf_buf option = {0};
        if (is_option(&s->options->settings[k], nearest, &option))
            rlf_diag_hint(s->diags, diag, "%s", option.p);
        else if (nearest)
            rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
        else
            rlf_diag_hint(s->diags, diag, "`rlflow params %s` lists them",
                          s->options->path);
        rlf_buf_free(&option);
    }
}

void
rlf_sema_params(rlf_sema *s)
{
    for (size_t m = 0; m < s->modules.count; m++) {
        rlf_module *module = s->modules.data[m];
        for (size_t i = 0; i < module->program->decls.count; i++) {
            const rlf_ast_decl *decl = module->program->decls.data[i];
            if (decl->kind == RLF_AST_PARAM &&
                (rlf_sema_needs(s, decl) || decl->value ||
                 setting_of(s, decl->name.text)))
                rlf_sema_declared(s, decl, module);
        }
    }
    check_settings(s);
}
