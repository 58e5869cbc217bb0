/* Names that mean nothing where they stand: the message, and what was meant.
 *
 * Only what could stand there is proposed: a function where something is
 * called, what changes on the left of `:=`, values elsewhere. Before a name
 * that is nearly the same comes what is known for sure: a name of a block that
 * has ended, of an import with a name of its own, of the library. */
#include "grammar/passes.h"

#include "grammar/other_names.h"
#include "grammar/parse.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can stand there ---- */

typedef RLF_VEC(const char *) names;

static bool
fits(rlf_ast_decl_kind kind, rlf_wanted wanted)
{
    switch (kind) {
    case RLF_AST_DEF:
        return wanted == RLF_WANT_FUNCTION;
    case RLF_AST_HOOK:
        return wanted != RLF_WANT_CHANGING;
    case RLF_AST_STATE:
    case RLF_AST_MODEL:
        return wanted != RLF_WANT_FUNCTION;
    case RLF_AST_PARAM:
    case RLF_AST_DATA:
        return wanted == RLF_WANT_VALUE;
    default:
        return false;
    }
}

static void
add_module(names *list, const rlf_module *module, rlf_wanted wanted)
{
    for (size_t i = 0; i < module->names.count; i++) {
        const rlf_ast_decl *decl = module->names.entries[i].value;
        if (fits(decl->kind, wanted))
            RLF_PUSH(list, module->names.entries[i].key);
    }
}

static void
add_built_in(const rlf_sema *s, names *list, rlf_wanted wanted)
{
    const char *builtins[64];
    size_t n = wanted == RLF_WANT_FUNCTION
                   ? rlf_builtin_names(builtins, RLF_COUNT(builtins))
                   : 0;
    for (size_t i = 0; i < n; i++)
        RLF_PUSH(list, builtins[i]);
    for (int i = 0; i < s->classes->n_nodes; i++) {
        const rlf_node_class *c = s->classes->node[i];
        bool plain = c->receiver == RLF_RECEIVER_NONE;
        bool function = c->form == RLF_FORM_CALL && plain;
        bool value = c->form == RLF_FORM_FIELD && plain;
        if ((function && wanted == RLF_WANT_FUNCTION) ||
            (value && wanted == RLF_WANT_VALUE))
            RLF_PUSH(list, c->name);
    }
}

static const char *
nearest(rlf_sema *s, const char *name, rlf_wanted wanted)
{
    names list = {0};
    for (rlf_scope *scope = s->scope; scope && wanted == RLF_WANT_VALUE;
         scope = scope->parent)
        for (size_t i = 0; i < scope->entities.count; i++)
            RLF_PUSH(&list, scope->entities.entries[i].key);
    const rlf_module *module = s->scope->module;
    add_module(&list, module, wanted);
    for (size_t i = 0; i < module->imports.count; i++)
        if (!module->imports.data[i].alias)
            add_module(&list, module->imports.data[i].module, wanted);
    add_built_in(s, &list, wanted);
    const char *found = rlf_other_name(name, list.data, list.count);
    RLF_VEC_FREE(&list);
    return found;
}

/* ---- the library ---- */

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool
declares(rlf_sema *s, const char *path, const char *name)
{
    rlf_diags aside = {.arena = s->arena, .sources = s->sources};
    rlf_err err = RLF_ERR_NONE;
    uint32_t source;
    if (rlf_sources_read(s->sources, path, &err, &source) < 0)
        return false;
    const rlf_ast_program *program =
        rlf_parse(s->sources, source, s->arena, &aside);
    for (size_t i = 0; i < program->decls.count; i++) {
        const rlf_ast_decl *decl = program->decls.data[i];
        if (decl->kind == RLF_AST_DEF && !strcmp(decl->name.text, name))
            return true;
    }
    return false;
}

/* The library's files that end so, without that, in the order of their names;
 * texts of the arena. */
static names
list_library(rlf_sema *s, const char *suffix)
{
    DIR *directory = s->options->stdlib ? opendir(s->options->stdlib) : NULL;
    names files = {0};
    const struct dirent *entry;
    size_t k = strlen(suffix);
    while (directory && (entry = readdir(directory))) {
        size_t n = strlen(entry->d_name);
        if (n > k && !strcmp(entry->d_name + n - k, suffix))
            RLF_PUSH(&files, rlf_arena_strndup(s->arena, entry->d_name, n - k));
    }
    if (directory)
        closedir(directory);
    if (files.count)
        qsort(files.data, files.count, sizeof *files.data, by_name);
    return files;
}

size_t
rlf_library_files(rlf_sema *s, const char *const **out)
{
    names files = list_library(s, ".rlf");
    const char **list = RLF_NEW_ARRAY(s->arena, const char *, files.count + 1);
    for (size_t i = 0; i < files.count; i++)
        list[i] = files.data[i];
    size_t n = files.count;
    RLF_VEC_FREE(&files);
    *out = list;
    return n;
}

/* The file of the installed library that declares it, as it is imported; or
 * NULL. */
static const char *
in_library(rlf_sema *s, const char *name)
{
    names files = list_library(s, ".rlf");
    const char *found = NULL;
    for (size_t i = 0; i < files.count && !found; i++)
        if (declares(s,
                     rlf_arena_printf(s->arena, "%s/%s.rlf", s->options->stdlib,
                                      files.data[i]),
                     name))
            found = files.data[i];
    RLF_VEC_FREE(&files);
    return found;
}

/* Of what an import with a name of its own declares. */
static bool
hint_alias(rlf_sema *s, rlf_diag *diag, const char *name)
{
    const rlf_module *module = s->scope->module;
    for (size_t i = 0; i < module->imports.count; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (import->alias && rlf_map_get(&import->module->names, name)) {
            rlf_diag_hint(s->diags, diag, "write '%s.%s'", import->alias, name);
            return true;
        }
    }
    return false;
}

bool
rlf_import_hint(rlf_sema *s, rlf_diag *diag, const char *name, bool hides)
{
    if (hint_alias(s, diag, name))
        return true;
    const char *file = in_library(s, name);
    if (file && hides)
        rlf_diag_hint(s->diags, diag,
                      "the library has %s(...), in \"std/%s\", which this name "
                      "hides: give it another one",
                      name, file);
    else if (file)
        rlf_diag_hint(s->diags, diag, "it is in the library: import \"std/%s\"",
                      file);
    return file != NULL;
}

void
rlf_import_hint_hook(rlf_sema *s, const rlf_ast_expr *call, size_t before)
{
    bool named = call->left->kind == RLF_AST_NAME;
    if (!named || !call->args || !call->args->count)
        return;
    rlf_span first = call->args->data[0].value->span;
    for (size_t i = before; i < s->diags->list.count; i++) {
        rlf_diag *diag = &s->diags->list.data[i];
        if (!diag->hint && diag->at.first == first.first &&
            diag->at.source == first.source)
            rlf_import_hint(s, diag, call->left->name.text, true);
    }
}

void
rlf_import_unknown(rlf_sema *s, rlf_diag *diag, const char *text)
{
    const char *name = text + strlen("std/");
    names lua = list_library(s, ".lua"), files = list_library(s, ".rlf");
    bool module = false;
    for (size_t i = 0; i < lua.count; i++)
        module = module || !strcmp(lua.data[i], name);
    const char *near = rlf_str_nearest(name, files.data, files.count);
    if (module)
        rlf_diag_hint(s->diags, diag,
                      "it is a Lua module: require(\"%s\") in the file of a "
                      "hook",
                      name);
    else if (near)
        rlf_diag_hint(s->diags, diag, "did you mean \"std/%s\"?", near);
    else
        rlf_diag_hint(s->diags, diag,
                      "the installed library is in %s (RLFLOW_STDLIB names "
                      "another directory)",
                      s->options->stdlib);
    RLF_VEC_FREE(&lua);
    RLF_VEC_FREE(&files);
}

/* ---- what is named below ---- */

/* The place where the block, or one in it, gives the name; NULL: nowhere. */
static const rlf_ast_name *
given_in(const rlf_ast_block *block, const char *name)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        if (stmt->kind == RLF_AST_LET && !strcmp(stmt->name.text, name))
            return &stmt->name;
        const rlf_ast_name *found = given_in(stmt->body, name);
        found = found ? found : given_in(stmt->other, name);
        if (found)
            return found;
    }
    return NULL;
}

/* The statement of the flow or def around that names it later. */
static const rlf_ast_name *
given_below(const rlf_sema *s, const rlf_ast_name *name)
{
    const rlf_ast_program *program = s->scope->module->program;
    for (size_t i = 0; i < program->decls.count; i++) {
        const rlf_ast_decl *decl = program->decls.data[i];
        bool around = decl->body && decl->span.first <= name->span.first &&
                      name->span.last <= decl->span.last;
        const rlf_ast_name *below =
            around ? given_in(decl->body, name->text) : NULL;
        if (below && below->span.first > name->span.first)
            return below;
    }
    return NULL;
}

/* Has the data (-1: none) such a field? */
static bool
is_field(rlf_sema *s, int data, const char *name)
{
    rlf_field kind = RLF_FIELD_NONE;
    const char *nearest;
    rlf_err unread = RLF_ERR_NONE;
    const rlf_resource *of = data < 0 ? NULL : &s->graph->resources.data[data];
    bool found = of &&
                 of->class->data->field(s->graph, of, name, &unread, &kind,
                                        &nearest) >= 0 &&
                 kind != RLF_FIELD_NONE;
    rlf_err_clear(&unread);
    return found;
}

/* Has the set whose method takes this as an argument such a field? */
static bool
is_of_set(rlf_sema *s, const char *name)
{
    if (s->method_set < 0)
        return false;
    if (rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_SET, name))
        return true;
    return is_field(s, s->graph->sets.data[s->method_set].data, name);
}

/* The functions that there are, where nothing is like the name. */
static void
hint_functions(rlf_sema *s, rlf_diag *diag)
{
    const char *words[64], *text = "";
    size_t n = rlf_builtin_names(words, RLF_COUNT(words));
    for (size_t i = 0; i < n; i++) {
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice = twice || !strcmp(words[k], words[i]);
        if (!twice)
            text = rlf_arena_printf(s->arena, "%s%s%s", text, i ? " " : "",
                                    words[i]);
    }
    rlf_diag_hint(s->diags, diag,
                  "there are %s, and those of the library: man rlflow-std",
                  text);
}

/* ---- the message ---- */

/* Hints at what is known for sure of the name: true after a hint. */
static bool
hint_known(rlf_sema *s, rlf_diag *diag, const rlf_ast_name *name,
           rlf_wanted wanted, const rlf_ast_expr *call)
{
    const rlf_named *ended = rlf_map_get(&s->ended, name->text);
    if (ended && wanted != RLF_WANT_FUNCTION) {
        rlf_diag_note(s->diags, diag, ended->span,
                      "a name ends with its block, and this did");
        rlf_diag_hint(s->diags, diag,
                      "use it in the block, or name before the block what is "
                      "needed after it");
        return true;
    }
    const rlf_ast_name *below = given_below(s, name);
    if (below) {
        rlf_diag_hint(
            s->diags, diag,
            "it is named below, in line %u: a name is used after "
            "that",
            (unsigned)rlf_sources_place(s->sources, below->span).line);
        return true;
    }
    if (is_field(s, s->choosing, name->text)) {
        rlf_diag_hint(s->diags, diag, "a field of a row: write %s.%s",
                      s->graph->resources.data[s->choosing].name, name->text);
        return true;
    }
    const rlf_module *module = s->scope->module;
    for (size_t i = 0; i < module->imports.count; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (import->alias && !strcmp(import->alias, name->text)) {
            rlf_diag_hint(s->diags, diag,
                          "an import has that name: %s.NAME is one of its "
                          "functions",
                          import->alias);
            return true;
        }
    }
    if (hint_alias(s, diag, name->text))
        return true;
    if (is_of_set(s, name->text)) {
        rlf_diag_hint(s->diags, diag, "a field of the set: write %s.%s",
                      s->graph->sets.data[s->method_set].name, name->text);
        return true;
    }
    if (call && rlf_form_function(s, diag, call))
        return true;
    const char *hint = rlf_other_name_instead(name->text);
    if (hint) {
        rlf_diag_hint(s->diags, diag, "%s", hint);
        return true;
    }
    return (wanted == RLF_WANT_FUNCTION || !name->text[1]) &&
           rlf_import_hint(s, diag, name->text, false);
}

void
rlf_name_unknown(rlf_sema *s, const rlf_ast_name *name, rlf_wanted wanted,
                 const rlf_ast_expr *call)
{
    rlf_diag *diag = rlf_diag_error(
        s->diags, "name", name->span,
        wanted == RLF_WANT_CHANGING   ? "there is no state or model named '%s'"
        : wanted == RLF_WANT_FUNCTION ? "there is no function named '%s'"
                                      : "there is nothing named '%s'",
        name->text);
    if (s->diags->kept < s->diags->errors) /* it is counted alone */
        return;
    if (wanted != RLF_WANT_CHANGING && hint_known(s, diag, name, wanted, call))
        return;
    const char *near = nearest(s, name->text, wanted);
    if (wanted == RLF_WANT_CHANGING &&
        rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_NONE,
                         name->text))
        rlf_diag_hint(
            s->diags, diag,
            "'%s' is a built-in value, which no program sets; what "
            "':=' changes is declared, with another name: state my_%s "
            "= 0",
            name->text, name->text);
    else if (near)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", near);
    else if (wanted == RLF_WANT_CHANGING)
        rlf_diag_hint(s->diags, diag,
                      "what ':=' changes is declared: state %s = 0; a name is "
                      "given by '='",
                      name->text);
    else if (wanted == RLF_WANT_FUNCTION)
        hint_functions(s, diag);
}
