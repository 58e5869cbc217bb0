/* Names: what they mean, and that each is given once.
 *
 * Innermost first: names given in the blocks around, a def's formals, the
 * file's declarations, imported names, built-in ones. A name that two imports
 * give is an error where it is used. */
#include "grammar/passes.h"

#include <string.h>

rlf_scope *
rlf_scope_push(rlf_sema *s, rlf_scope *parent, rlf_module *module)
{
    rlf_scope *scope = RLF_NEW(s->arena, rlf_scope);
    scope->parent = parent;
    scope->module = module;
    scope->entities.arena = s->arena;
    s->scope = scope;
    return scope;
}

void
rlf_scope_leave(rlf_sema *s, rlf_scope *outside)
{
    for (const rlf_scope *scope = s->scope; scope && scope != outside;
         scope = scope->parent)
        for (size_t i = 0; i < scope->entities.count; i++)
            rlf_map_put(&s->ended, scope->entities.entries[i].key,
                        scope->entities.entries[i].value);
    s->scope = outside;
}

static bool
find_imported(rlf_sema *s, rlf_module *module, const rlf_ast_name *name,
              rlf_found_name *out)
{
    const rlf_module_import *first = NULL;
    for (size_t i = 0; i < module->imports.count; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        const rlf_ast_decl *decl =
            import->alias ? NULL
                          : rlf_map_get(&import->module->names, name->text);
        if (!decl || (first && first->module == import->module))
            continue;
        if (first) {
            rlf_diag *diag =
                rlf_diag_error(s->diags, "name", name->span,
                               "two imports give '%s'", name->text);
            rlf_diag_note(s->diags, diag, first->span, "this one");
            rlf_diag_note(s->diags, diag, import->span, "and this one");
            rlf_diag_hint(s->diags, diag,
                          "import one of them as a name of its own: import "
                          "\"...\" as x, then x.%s",
                          name->text);
            *out = (rlf_found_name){0};
            return true;
        }
        first = import;
        module->imports.data[i].used = true;
        out->decl = decl;
        out->module = import->module;
    }
    return first != NULL;
}

bool
rlf_name_find(rlf_sema *s, const rlf_ast_name *name, rlf_found_name *out)
{
    *out = (rlf_found_name){0};
    for (rlf_scope *scope = s->scope; scope; scope = scope->parent) {
        rlf_named *local = rlf_map_get(&scope->entities, name->text);
        out->local = local;
        for (; local; local = local->inside)
            local->used = true;
        if (out->local)
            return true;
    }
    rlf_module *module = s->scope->module;
    const rlf_ast_decl *decl = rlf_map_get(&module->names, name->text);
    /* The flow's own name means nothing in it, and hides nothing. */
    if ((!decl || decl->kind == RLF_AST_FLOW) &&
        find_imported(s, module, name, out))
        return true;
    if (decl && decl->kind == RLF_AST_FLOW && rlf_builtin_is(name->text))
        return false;
    out->decl = decl;
    out->module = module;
    if (decl)
        rlf_map_put(&module->used, name->text, (void *)(uintptr_t)decl);
    return decl != NULL;
}

bool
rlf_name_qualified(rlf_sema *s, const rlf_ast_expr *field, rlf_found_name *out)
{
    if (field->kind != RLF_AST_FIELD || field->left->kind != RLF_AST_NAME)
        return false;
    rlf_module *module = s->scope->module;
    const char *alias = field->left->name.text;
    *out = (rlf_found_name){0};
    for (rlf_scope *scope = s->scope; scope; scope = scope->parent) {
        if (rlf_map_get(&scope->entities, alias))
            return false;
    }
    if (rlf_map_get(&module->names, alias))
        return false;
    for (size_t i = 0; i < module->imports.count; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (!import->alias || strcmp(import->alias, alias) != 0)
            continue;
        module->imports.data[i].used = true;
        out->decl = rlf_map_get(&import->module->names, field->name.text);
        out->module = import->module;
        if (!out->decl) {
            rlf_diag_error(s->diags, "name", field->name.span,
                           "'%s' declares no '%s'", alias, field->name.text);
        }
        return true;
    }
    return false;
}

/* ---- giving names ---- */

void
rlf_name_refuse_builtin(rlf_sema *s, const rlf_ast_name *name, bool function)
{
    bool value = rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_NONE,
                                  name->text);
    function = function && (rlf_builtin_is(name->text) ||
                            rlf_classes_find(s->classes, RLF_FORM_CALL,
                                             RLF_RECEIVER_NONE, name->text));
    if (!value && !function)
        return;
    rlf_diag *diag = rlf_diag_error(s->diags, "name", name->span,
                                    "'%s' is a built-in %s already", name->text,
                                    value ? "value" : "function");
    rlf_diag_hint(s->diags, diag,
                  "it would be replaced wherever it is used: choose another "
                  "name");
}

static void
given_twice(rlf_sema *s, const rlf_ast_name *name, rlf_span before, bool state)
{
    rlf_diag *diag = rlf_diag_error(s->diags, "name", name->span,
                                    "'%s' is given a second time", name->text);
    rlf_diag_note(s->diags, diag, before, "first here");
    if (state)
        rlf_diag_hint(s->diags, diag,
                      "a state changes by ':=': write %s := ...", name->text);
    else
        rlf_diag_hint(s->diags, diag,
                      "a name stands for one value; what changes is a state");
}

/* A set that has no name of its own takes this one; its domains too. */
static void
name_set(rlf_sema *s, rlf_set *set, const char *name)
{
    if (!strchr(set->name, '('))
        return;
    rlf_domain *domains = s->graph->domains.list.data;
    for (size_t i = 1; i < s->graph->domains.list.count; i++) {
        if (domains[i].name == set->name)
            domains[i].name = name;
    }
    if (set->tokens >= 0)
        domains[set->tokens].name =
            rlf_arena_printf(s->arena, "tokens of %s", name);
    set->name = name;
}

/* The full name of `name`, for messages: in a def with the def's. */
static const char *
full_name(rlf_sema *s, const char *name)
{
    return s->n_defs ? rlf_arena_printf(s->arena, "%s.%s",
                                        s->defs[s->n_defs - 1]->name.text, name)
                     : name;
}

/* The results of a hook that the program names are called as it reads them. */
static void
name_results(rlf_sema *s, const rlf_hook_outputs *record, const char *name)
{
    for (int i = 0; i <= record->n_gives; i++) {
        const char *what = i < record->n_gives ? record->gives[i].name : "ok";
        int index = record->values[i].term;
        if (what[0] && index >= 0 && !s->terms.data[index].label)
            s->terms.data[index].label =
                rlf_arena_printf(s->arena, "%s.%s", full_name(s, name), what);
    }
}

/* Values and sets are called by the first name that they are given. */
static void
name_entity(rlf_sema *s, const rlf_entity *entity, const char *name)
{
    if (entity->kind == RLF_ENTITY_RECORD && entity->record->n_gives == 1 &&
        !entity->record->gives[0].name[0])
        name_entity(s, &entity->record->values[0], name);
    if (entity->kind == RLF_ENTITY_RECORD)
        name_results(s, entity->record, name);
    if (entity->kind == RLF_ENTITY_NUMBER || entity->kind == RLF_ENTITY_WORDS) {
        rlf_term *term = &s->terms.data[entity->term];
        if (!term->named) {
            term->name = name;
            term->label = full_name(s, name);
        }
        term->named = true;
    }
    if (entity->kind == RLF_ENTITY_SET)
        name_set(s, &s->graph->sets.data[entity->set], name);
}

rlf_named *
rlf_name_give(rlf_sema *s, const rlf_ast_name *name, rlf_entity entity)
{
    rlf_named *named = RLF_NEW(s->arena, rlf_named);
    named->entity = entity;
    named->span = name->span;
    if (s->options->look)
        rlf_look_note_name(s->options->look, name->span, &entity);
    rlf_name_refuse_builtin(s, name, false);
    for (rlf_scope *scope = s->scope; scope; scope = scope->parent) {
        const rlf_named *before = rlf_map_get(&scope->entities, name->text);
        if (before) {
            given_twice(s, name, before->span, false);
            return named;
        }
        if (scope->def)
            break;
    }
    const rlf_ast_decl *decl =
        rlf_map_get(&s->scope->module->names, name->text);
    if (decl)
        given_twice(s, name, decl->name.span, decl->kind == RLF_AST_STATE);
    rlf_map_put(&s->scope->entities, name->text, named);
    name_entity(s, &entity, name->text);
    return named;
}

void
rlf_name_let(rlf_sema *s, const rlf_ast_name *name, rlf_entity entity,
             const char *what)
{
    rlf_given_name given = {name->text, rlf_name_give(s, name, entity), what};
    if (!s->expanding)
        RLF_PUSH_IN(s->arena, &s->given, given);
}
