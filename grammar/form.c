/* The form in which what is written another way is written here: a method
 * called as a function, a function or a field called as a method.
 *
 * Hints alone, made of the program's own words. Nothing is evaluated: an
 * argument is a model if it is the name of one. */
#include "grammar/passes.h"

#include "grammar/other_names.h"

#include <string.h>

/* ---- the program's own words ---- */

const char *
rlf_form_text(const rlf_sema *s, rlf_span span)
{
    enum { MOST = 60 };
    if (!span.source || span.last - span.first > MOST)
        return "...";
    const rlf_source *source = rlf_sources_get(s->sources, span.source);
    const char *text = rlf_arena_strndup(s->arena, source->text + span.first,
                                         span.last - span.first);
    return strchr(text, '\n') ? "..." : text;
}

/* The arguments without number `left_out` (-1: all of them). */
static const char *
arguments(const rlf_sema *s, const rlf_ast_args *args, int left_out)
{
    const char *text = "";
    for (size_t i = 0; args && i < args->count; i++)
        if ((int)i != left_out)
            text = rlf_arena_printf(s->arena, "%s%s%s", text, *text ? ", " : "",
                                    rlf_form_text(s, args->data[i].span));
    return text;
}

/* ---- what stands for what ---- */

rlf_entity_kind
rlf_form_kind(const rlf_sema *s, const rlf_ast_expr *e)
{
    if (e->kind != RLF_AST_NAME)
        return RLF_ENTITY_NONE;
    for (const rlf_scope *scope = s->scope; scope; scope = scope->parent) {
        const rlf_named *named = rlf_map_get(&scope->entities, e->name.text);
        if (named)
            return named->entity.kind;
    }
    const rlf_ast_decl *decl =
        rlf_map_get(&s->scope->module->names, e->name.text);
    return !decl                         ? RLF_ENTITY_NONE
           : decl->kind == RLF_AST_MODEL ? RLF_ENTITY_MODEL
           : decl->kind == RLF_AST_DATA  ? RLF_ENTITY_DATA
           : decl->kind == RLF_AST_HOOK  ? RLF_ENTITY_HOOK
           : decl->kind == RLF_AST_STATE || decl->kind == RLF_AST_PARAM
               ? RLF_ENTITY_NUMBER
               : RLF_ENTITY_NONE;
}

static bool
is_method_of_sets(const rlf_sema *s, const char *name)
{
    return !strcmp(name, "at_last") || !strcmp(name, "at_all") ||
           !strcmp(name, "split") ||
           rlf_classes_find(s->classes, RLF_FORM_CALL, RLF_RECEIVER_SET, name);
}

/* The argument that stands before the dot of method `name`; -1: none does.
 * *model: that is a model's. */
static int
receiver_in(rlf_sema *s, const rlf_ast_args *args, const char *name,
            bool *model)
{
    *model = rlf_classes_find(s->classes, RLF_FORM_CALL, RLF_RECEIVER_MODEL,
                              name) != NULL;
    for (size_t i = 0; args && i < args->count; i++) {
        rlf_entity_kind kind = rlf_form_kind(s, args->data[i].value);
        bool fits = *model ? kind == RLF_ENTITY_MODEL
                           : kind == RLF_ENTITY_SET || kind == RLF_ENTITY_DATA;
        if (fits && !args->data[i].over.text)
            return (int)i;
    }
    return -1;
}

/* The method of models that a name was meant to be; the name itself if it is
 * one of sets, or none at all. */
static const char *
method_meant(const rlf_sema *s, const char *name)
{
    const char *names[32];
    size_t n = 0;
    for (int i = 0; i < s->classes->n_nodes && n < RLF_COUNT(names); i++) {
        const rlf_node_class *c = s->classes->node[i];
        if (c->form == RLF_FORM_CALL && c->receiver == RLF_RECEIVER_MODEL)
            names[n++] = c->name;
    }
    const char *meant =
        is_method_of_sets(s, name) ? NULL : rlf_other_name(name, names, n);
    return meant ? meant : name;
}

/* `name(args)` is R.name(rest), with one of the arguments as R. */
static const char *
as_method(rlf_sema *s, const rlf_ast_args *args, const char *name)
{
    bool model;
    name = method_meant(s, name);
    int i = receiver_in(s, args, name, &model);
    if (i >= 0 && !model && !is_method_of_sets(s, name))
        return NULL;
    return i < 0 ? NULL
                 : rlf_arena_printf(s->arena, "%s.%s(%s)",
                                    args->data[i].value->name.text, name,
                                    arguments(s, args, i));
}

/* ---- functions that are none ---- */

/* where(c, a, b), of three values. */
static const char *
as_choice(const rlf_sema *s, const rlf_ast_args *args, const char *name)
{
    enum { PARTS = 3 };
    const char *x[PARTS];
    if (!args || args->count != PARTS)
        return NULL;
    for (size_t i = 0; i < PARTS; i++) {
        if (args->data[i].label.text)
            return NULL;
        x[i] = rlf_form_text(s, args->data[i].span);
    }
    return rlf_other_name_choice(s->arena, name, x, PARTS);
}

static const char *
constructed(rlf_sema *s, const rlf_ast_expr *call)
{
    const char *name = call->left->name.text;
    for (size_t k = 0; k < RLF_RESOURCE_KINDS; k++) {
        const rlf_resource_class *class = s->classes->resource[k];
        for (int i = 0; !class->values && i < class->n_constructors; i++) {
            const rlf_constructor *c = &class->constructors[i];
            if (strcmp(c->name, name) != 0 || c->chooses || c->rest)
                continue;
            if (c->within)
                return rlf_arena_printf(
                    s->arena, "it stands in the %s(...) of a declaration",
                    c->within);
            return rlf_arena_printf(
                s->arena,
                "it is declared outside of the flow: %s NAME = %s(%s)",
                class->name, name, arguments(s, call->args, -1));
        }
    }
    return NULL;
}

bool
rlf_form_function(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *call)
{
    const char *name = call->left->name.text;
    const rlf_ast_args *args = call->args;
    const char *hint = as_choice(s, args, name);
    if (hint) {
        rlf_diag_hint(s->diags, diag, "write %s", hint);
        return true;
    }
    hint = as_method(s, args, name);
    bool model = rlf_classes_find(s->classes, RLF_FORM_CALL, RLF_RECEIVER_MODEL,
                                  name) != NULL;
    bool field = rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_SET,
                                  name) != NULL;
    if (hint) {
        rlf_diag_hint(s->diags, diag, "it is a method: write %s", hint);
        return true;
    }
    if (field && args && args->count == 1 && !model) {
        rlf_diag_hint(s->diags, diag, "it is a field: write %s.%s",
                      rlf_form_text(s, args->data[0].span), name);
        return true;
    }
    if (model || is_method_of_sets(s, name)) {
        rlf_diag_hint(s->diags, diag,
                      "it is a method: write %s.%s(%s), with %s before "
                      "the dot",
                      model ? "m" : "s", name, arguments(s, args, -1),
                      model ? "the model" : "the set");
        return true;
    }
    hint = constructed(s, call);
    const char *x =
        args && args->count ? rlf_form_text(s, args->data[0].span) : "x";
    if (!hint && (hint = rlf_other_name_formula(s->arena, name, x)))
        hint = rlf_arena_printf(s->arena, "write %s", hint);
    if (hint)
        rlf_diag_hint(s->diags, diag, "%s", hint);
    return hint != NULL;
}

/* As in mean(x, -1), where others write an axis. */
static bool
is_axis(const rlf_sema *s, rlf_span span)
{
    const char *text = rlf_form_text(s, span);
    return !text[strspn(text, "-0123456789")];
}

/* An operand, in parentheses where it may bind less than '+'. */
static const char *
operand(const rlf_sema *s, rlf_span span)
{
    const char *text = rlf_form_text(s, span);
    return strpbrk(text, "+-<>=?") ? rlf_arena_printf(s->arena, "(%s)", text)
                                   : text;
}

/* Values one by one, which other languages put into a list for it; NULL: `name`
 * is not done so. */
static const char *
of_each(const rlf_sema *s, const char *name, const rlf_ast_args *list)
{
    bool sum = !strcmp(name, "sum"), mean = !strcmp(name, "mean");
    if (!strcmp(name, "max") || !strcmp(name, "min"))
        return rlf_arena_printf(s->arena, "write %s(%s)", name,
                                arguments(s, list, -1));
    const char *text = "";
    for (size_t i = 0; i < list->count && (sum || mean); i++)
        text = rlf_arena_printf(s->arena, "%s%s%s", text, i ? " + " : "",
                                operand(s, list->data[i].span));
    return sum    ? rlf_arena_printf(s->arena, "write %s", text)
           : mean ? rlf_arena_printf(s->arena, "write (%s) / %zu", text,
                                     list->count)
                  : NULL;
}

/* The level that mean(x, batch) is to be over, by its name, or a set; NULL: it
 * is neither. */
static const char *
level_given(const rlf_sema *s, const rlf_ast_args *args)
{
    if (!args || args->count != 2 || args->data[1].label.text ||
        args->data[1].value->kind != RLF_AST_NAME)
        return NULL;
    const rlf_ast_expr *second = args->data[1].value;
    if (rlf_word_is_of("vocab|tokens|group|batch", second->name.text))
        return second->name.text;
    return rlf_form_kind(s, second) == RLF_ENTITY_SET ? "batch" : NULL;
}

const char *
rlf_form_reduction(const rlf_sema *s, const char *name,
                   const rlf_ast_expr *call, const char *axes)
{
    const rlf_ast_args *args = call->args, *list = args;
    if (args && args->count == 1 && args->data[0].value->kind == RLF_AST_LIST)
        list = args->data[0].value->args;
    bool several = list && list->count > 1;
    for (size_t i = 0; several && i < list->count; i++)
        several = !list->data[i].label.text &&
                  (list != args || !is_axis(s, list->data[i].span));
    const char *x =
        args && args->count ? rlf_form_text(s, args->data[0].span) : "x";
    const char *over = level_given(s, args);
    if (over)
        return rlf_arena_printf(s->arena, "write %s(%s over %s)", name, x,
                                over);
    const char *hint = several ? of_each(s, name, list) : NULL;
    if (hint)
        return hint;
    if (!*axes)
        return rlf_arena_printf(s->arena, "%s is one number already", x);
    for (const char *next; *axes; axes = next) {
        int n = (int)strcspn(axes, "|");
        next = axes + n + (axes[n] == '|');
        hint = hint ? rlf_arena_printf(s->arena, "%s, or over %.*s", hint, n,
                                       axes)
                    : rlf_arena_printf(s->arena, "%s(%s over %.*s)", name, x, n,
                                       axes);
    }
    return hint;
}

/* The methods that can be called of a model, or of a set. */
static const char *
methods_of(const rlf_sema *s, rlf_receiver receiver, const char *before)
{
    const char *text = "";
    for (int i = 0; i < s->classes->n_nodes; i++) {
        const rlf_node_class *c = s->classes->node[i];
        if (c->form == RLF_FORM_CALL && c->receiver == receiver)
            text = rlf_arena_printf(s->arena, "%s%s%s.%s(...)", text,
                                    *text ? ", " : "", before, c->name);
    }
    if (receiver == RLF_RECEIVER_SET)
        text = rlf_arena_printf(s->arena,
                                "%s, %s.at_last(...), %s.at_all(...), and in "
                                "the head of a loop %s.split(...)",
                                text, before, before, before);
    return text;
}

bool
rlf_form_called(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *call)
{
    const char *name = call->left->name.text;
    const char *hint = as_method(s, call->args, name);
    rlf_entity_kind kind = rlf_form_kind(s, call->left);
    if (hint)
        rlf_diag_hint(s->diags, diag, "the method is called so: %s", hint);
    else if (kind == RLF_ENTITY_MODEL)
        rlf_diag_hint(s->diags, diag, "a model is called by its methods: %s",
                      methods_of(s, RLF_RECEIVER_MODEL, name));
    else if (kind == RLF_ENTITY_SET)
        rlf_diag_hint(s->diags, diag, "a set has methods: %s",
                      methods_of(s, RLF_RECEIVER_SET, name));
    else
        return false;
    return true;
}

/* ---- methods that are none ---- */

/* `x.mean()` is mean(x over batch). */
static const char *
as_reduction(rlf_sema *s, const rlf_ast_expr *call, const char *x)
{
    const char *over = "batch";
    if (call->args && call->args->count == 1 &&
        call->args->data[0].value->kind == RLF_AST_NAME &&
        rlf_word_is_of("vocab|tokens|group|batch",
                       call->args->data[0].value->name.text))
        over = call->args->data[0].value->name.text;
    return rlf_arena_printf(s->arena, "%s(%s over %s)", call->left->name.text,
                            x, over);
}

bool
rlf_form_method(rlf_sema *s, rlf_diag *diag, const rlf_entity *receiver,
                const rlf_ast_expr *call)
{
    const rlf_ast_name *name = &call->left->name;
    const char *x = rlf_form_text(s, call->left->left->span);
    bool set = receiver->kind == RLF_ENTITY_SET;
    const char *more = arguments(s, call->args, -1), *hint = NULL;
    const char *comma = *more ? ", " : "";
    rlf_found_name found = {0};
    bool value = receiver->kind == RLF_ENTITY_NUMBER ||
                 receiver->kind == RLF_ENTITY_RECORD;
    if (value && rlf_builtin_reduces(name->text))
        hint = as_reduction(s, call, x);
    else if (value && rlf_other_name_formula(s->arena, name->text, x))
        hint = rlf_other_name_formula(s->arena, name->text, x);
    else if (rlf_builtin_is(name->text) ||
             (rlf_name_find(s, name, &found) &&
              ((found.decl && (found.decl->kind == RLF_AST_DEF ||
                               found.decl->kind == RLF_AST_HOOK)))))
        hint = rlf_arena_printf(s->arena, "%s(%s%s%s)", name->text, x, comma,
                                more);
    if (hint) {
        rlf_diag_hint(s->diags, diag, "it is a function: write %s", hint);
        return true;
    }
    if (receiver->kind == RLF_ENTITY_HOOK) {
        rlf_diag_hint(s->diags, diag, "a hook is called by its name: %s(%s)", x,
                      more);
        return true;
    }
    if (set &&
        rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_SET,
                         name->text) &&
        !*more) {
        rlf_diag_hint(s->diags, diag, "a field has no parentheses: write %s.%s",
                      x, name->text);
        return true;
    }
    bool model;
    int i = receiver_in(s, call->args, name->text, &model);
    if (i >= 0 && (model || is_method_of_sets(s, name->text))) {
        const char *rest = arguments(s, call->args, i);
        rlf_diag_hint(
            s->diags, diag, "it is a method of %s: write %s.%s(%s%s%s)",
            model ? "models" : "sets", call->args->data[i].value->name.text,
            name->text, x, *rest ? ", " : "", rest);
        return true;
    }
    return false;
}

void
rlf_form_methods(rlf_sema *s, rlf_diag *diag, const rlf_entity *receiver,
                 const char *x)
{
    rlf_diag_hint(s->diags, diag, "it has %s",
                  methods_of(s,
                             receiver->kind == RLF_ENTITY_MODEL
                                 ? RLF_RECEIVER_MODEL
                                 : RLF_RECEIVER_SET,
                             x));
}
