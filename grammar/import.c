/* Reading a program and the files that it imports, each once. */
#include "grammar/passes.h"

#include "grammar/cluster.h"
#include "grammar/parse.h"

#include <string.h>

static const char *
directory_of(rlf_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return rlf_arena_strndup(arena, path,
                             slash ? (size_t)(slash - path) + 1 : 0);
}

const char *
rlf_sema_path(rlf_sema *s, const rlf_module *module, const char *text)
{
    if (text[0] == '/')
        return text;
    if (!strncmp(text, "std/", 4) && s->options->stdlib)
        return rlf_arena_printf(s->arena, "%s/%s", s->options->stdlib,
                                text + 4);
    return rlf_arena_printf(s->arena, "%s%s", module->directory, text);
}

/* Declarations hide nothing that is built in. The flow's own name means
 * nothing in it. */
static void
refuse_builtin(rlf_sema *s, const rlf_ast_decl *decl)
{
    if (decl->kind == RLF_AST_FLOW)
        return;
    rlf_name_refuse_builtin(s, &decl->name,
                            decl->kind == RLF_AST_DEF ||
                                decl->kind == RLF_AST_HOOK);
    bool def = decl->kind == RLF_AST_DEF && decl->formals;
    for (size_t i = 0; def && i < decl->formals->count; i++)
        rlf_name_refuse_builtin(s, &decl->formals->data[i].name, false);
}

/* A file's names; one that is declared twice is reported. */
static void
index_names(rlf_sema *s, rlf_module *module)
{
    module->names.arena = s->arena;
    module->used.arena = s->arena;
    for (size_t i = 0; i < module->program->decls.count; i++) {
        rlf_ast_decl *decl = module->program->decls.data[i];
        if (!decl->name.text || decl->kind == RLF_AST_IMPORT ||
            decl->kind == RLF_AST_PLACE)
            continue;
        refuse_builtin(s, decl);
        if (decl->kind == RLF_AST_DEF)
            rlf_def_ranges(s, decl);
        rlf_ast_decl *before = rlf_map_get(&module->names, decl->name.text);
        if (!before) {
            rlf_map_put(&module->names, decl->name.text, decl);
            continue;
        }
        rlf_diag *diag =
            rlf_diag_error(s->diags, "name", decl->name.span,
                           "'%s' is declared twice", decl->name.text);
        rlf_diag_note(s->diags, diag, before->name.span, "first here");
    }
}

static rlf_module *
find_module(const rlf_sema *s, const char *path)
{
    for (size_t i = 0; i < s->modules.count; i++) {
        if (!strcmp(s->modules.data[i]->path, path))
            return s->modules.data[i];
    }
    return NULL;
}

static rlf_status load(rlf_sema *s, const char *path, rlf_err *err,
                       rlf_module **out);

/* A path that is wrong is a mistake of the program; that a file cannot be read
 * is not. */
static rlf_status
load_import(rlf_sema *s, rlf_module *module, const rlf_ast_decl *decl,
            rlf_err *err)
{
    const char *text = decl->value->string.p;
    size_t n = strlen(text);
    const char *suffix = n > 4 && !strcmp(text + n - 4, ".rlf") ? "" : ".rlf";
    const char *path = rlf_arena_printf(s->arena, "%s%s",
                                        rlf_sema_path(s, module, text), suffix);
    rlf_module *imported = find_module(s, path);
    rlf_err why = RLF_ERR_NONE;
    if (imported && imported->loading) {
        rlf_diag_error(s->diags, "import", decl->value->span,
                       "'%s' imports itself, through this import", text);
        return RLF_OK;
    }
    if (!imported && s->importing == RLF_IMPORT_DEPTH) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "size", decl->value->span,
            "more than %d files import one another in turn up to here",
            (int)RLF_IMPORT_DEPTH);
        rlf_diag_hint(s->diags, diag,
                      "import the files that are needed beside one another");
        return RLF_OK;
    }
    s->importing++;
    rlf_status status = imported ? RLF_OK : load(s, path, &why, &imported);
    s->importing--;
    if (status < 0 && status != RLF_USER) {
        *err = why;
        rlf_err_place(err, decl->value->span, NULL);
        return status;
    }
    if (status < 0) {
        rlf_diag *diag = rlf_diag_error(s->diags, "import", decl->value->span,
                                        "%s", why.sentence);
        if (!strncmp(text, "std/", 4))
            rlf_import_unknown(s, diag, text);
        else
            rlf_diag_hint(s->diags, diag,
                          "it is looked for beside the file that imports it; "
                          "the library is \"std/...\"");
        return RLF_OK;
    }
    RLF_PUSH_IN(s->arena, &module->imports,
                (rlf_module_import){.module = imported,
                                    .alias = decl->name.text,
                                    .span = decl->span});
    return RLF_OK;
}

/* Refuses clusters in a program: where it runs is said apart from it. */
static void
refuse_clusters(rlf_sema *s, const rlf_module *module)
{
    for (size_t i = 0; i < module->program->decls.count; i++) {
        const rlf_ast_decl *decl = module->program->decls.data[i];
        if (!rlf_cluster_declares(decl))
            continue;
        rlf_diag *diag =
            rlf_diag_error(s->diags, "cluster", decl->span,
                           "a program declares no %s",
                           rlf_ast_decl_word(decl->kind));
        rlf_diag_hint(s->diags, diag,
                      "a cluster stands in a file of its own, with nothing "
                      "else in it");
    }
}

/* Only a program has a flow; a file that is imported must not. */
static void
refuse_flows(rlf_sema *s, const rlf_module *module)
{
    for (size_t i = 0; i < module->program->decls.count; i++) {
        const rlf_ast_decl *decl = module->program->decls.data[i];
        if (decl->kind == RLF_AST_FLOW || decl->kind == RLF_AST_PLACE)
            rlf_diag_error(s->diags, "import", decl->span,
                           "a file that is imported must not have a %s",
                           decl->kind == RLF_AST_FLOW ? "flow" : "place");
    }
}

/* The path without "." and "..", as far as its text tells. */
static const char *
plain_path(rlf_arena *arena, const char *path)
{
    char *out = rlf_arena_strdup(arena, path);
    size_t n = 0, skip;
    for (const char *p = path; *p; p += skip) {
        skip = strcspn(p, "/") + (strchr(p, '/') != NULL);
        bool up = !strncmp(p, "../", 3) && n > 1;
        if (!strncmp(p, "./", 2) || (*p == '/' && n))
            continue;
        if (up) {
            for (n--; n > 0 && out[n - 1] != '/';)
                n--;
            continue;
        }
        memmove(out + n, p, skip);
        n += skip;
    }
    out[n] = 0;
    return out;
}

/* The file's text, as an editor has it or as it is on the disk. */
static rlf_status
take_text(rlf_sema *s, const char *path, rlf_err *err, uint32_t *source)
{
    const rlf_compile_options *o = s->options;
    if (o->text && !s->modules.count)
        return rlf_sources_take(s->sources, path, o->text, o->size, err,
                                source);
    const char *plain = o->n_edited ? plain_path(s->arena, path) : NULL;
    for (size_t i = 0; i < o->n_edited; i++)
        if (!strcmp(plain, plain_path(s->arena, o->edited[i].path)))
            return rlf_sources_take(s->sources, path, o->edited[i].text,
                                    o->edited[i].size, err, source);
    return rlf_sources_read(s->sources, path, err, source);
}

static rlf_status
load(rlf_sema *s, const char *path, rlf_err *err, rlf_module **out)
{
    uint32_t source;
    RLF_TRY(take_text(s, path, err, &source));
    rlf_module *module = RLF_NEW(s->arena, rlf_module);
    module->path = rlf_arena_strdup(s->arena, path);
    module->directory = directory_of(s->arena, path);
    module->loading = true;
    RLF_PUSH_IN(s->arena, &s->modules, module);
    module->program = rlf_parse(s->sources, source, s->arena, s->diags);
    index_names(s, module);
    refuse_clusters(s, module);
    if (s->modules.data[0] != module)
        refuse_flows(s, module);
    for (size_t i = 0; i < module->program->decls.count; i++) {
        if (module->program->decls.data[i]->kind == RLF_AST_IMPORT)
            RLF_TRY(
                load_import(s, module, module->program->decls.data[i], err));
    }
    module->loading = false;
    *out = module;
    return RLF_OK;
}

rlf_status
rlf_sema_load(rlf_sema *s, rlf_err *err)
{
    rlf_module *program;
    return load(s, s->options->path, err, &program);
}
