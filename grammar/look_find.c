/* A place in a syntax tree: the name that stands there, and the names that it
 * sees. Of the tree alone. */
#include "grammar/look_inside.h"

#include <string.h>

/* ---- the name at a place ---- */

static bool
holds(rlf_span span, uint32_t at)
{
    return span.first <= at && at <= span.last;
}

static bool
on(rlf_look_cursor *c, const rlf_ast_name *name, rlf_look_role role)
{
    if (!name->text || name->span.first > c->at || c->at >= name->span.last)
        return false;
    c->name = name;
    c->role = role;
    return true;
}

static bool find_expr(rlf_look_cursor *c, const rlf_ast_expr *e,
                      const rlf_ast_expr *call);

static bool
find_args(rlf_look_cursor *c, const rlf_ast_args *args,
          const rlf_ast_expr *call)
{
    for (size_t i = 0; args && i < args->count; i++) {
        const rlf_ast_arg *arg = &args->data[i];
        if (on(c, &arg->label, RLF_LOOK_LABEL)) {
            c->call = call;
            return true;
        }
        if (on(c, &arg->over, RLF_LOOK_OVER) || find_expr(c, arg->value, NULL))
            return true;
    }
    return false;
}

/* `call`: the call that `e` is the function of, or NULL. */
static bool
find_expr(rlf_look_cursor *c, const rlf_ast_expr *e, const rlf_ast_expr *call)
{
    if (!e || !holds(e->span, c->at))
        return false;
    bool named = e->kind == RLF_AST_NAME || e->kind == RLF_AST_FIELD;
    if (named && on(c, &e->name,
                    e->kind == RLF_AST_NAME ? RLF_LOOK_USE : RLF_LOOK_FIELD)) {
        c->expr = e;
        c->call = call;
        return true;
    }
    return find_expr(c, e->left, e->kind == RLF_AST_CALL ? e : NULL) ||
           find_expr(c, e->right, NULL) || find_expr(c, e->other, NULL) ||
           find_args(c, e->args, e->kind == RLF_AST_CALL ? e : NULL);
}

static bool
find_binds(rlf_look_cursor *c, const rlf_ast_binds *binds)
{
    for (size_t i = 0; binds && i < binds->count; i++)
        if (on(c, &binds->data[i].name, RLF_LOOK_BIND) ||
            find_expr(c, binds->data[i].value, NULL))
            return true;
    return false;
}

static bool
find_block(rlf_look_cursor *c, const rlf_ast_block *block)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        if (!holds(stmt->span, c->at))
            continue;
        c->stmt = stmt;
        if (on(c, &stmt->name,
               stmt->kind == RLF_AST_LET ? RLF_LOOK_BIND : RLF_LOOK_USE) ||
            find_expr(c, stmt->value, NULL) || find_binds(c, stmt->binds) ||
            find_args(c, stmt->args, NULL) || find_block(c, stmt->body) ||
            find_block(c, stmt->other))
            return true;
    }
    return false;
}

static bool
find_formals(rlf_look_cursor *c, const rlf_ast_formals *formals)
{
    for (size_t i = 0; formals && i < formals->count; i++) {
        const rlf_ast_formal *f = &formals->data[i];
        if (on(c, &f->name, RLF_LOOK_FORMAL) || find_expr(c, f->value, NULL) ||
            find_expr(c, f->low, NULL) || find_expr(c, f->high, NULL))
            return true;
    }
    return false;
}

static bool
find_rows(rlf_look_cursor *c, const rlf_ast_rows *rows)
{
    for (size_t i = 0; rows && i < rows->count; i++)
        if (on(c, &rows->data[i].model, RLF_LOOK_USE) ||
            find_args(c, rows->data[i].args, NULL))
            return true;
    return false;
}

static bool
find_decl(rlf_look_cursor *c, const rlf_ast_decl *decl)
{
    c->decl = decl;
    if (decl->kind == RLF_AST_IMPORT && decl->value &&
        holds(decl->value->span, c->at)) {
        c->role = RLF_LOOK_IMPORT;
        return true;
    }
    return on(c, &decl->name, RLF_LOOK_DECL) ||
           find_formals(c, decl->formals) || find_binds(c, decl->binds) ||
           find_expr(c, decl->value, NULL) || find_expr(c, decl->low, NULL) ||
           find_expr(c, decl->high, NULL) || find_block(c, decl->body) ||
           find_rows(c, decl->rows);
}

void
rlf_look_find(const rlf_ast_program *program, uint32_t at, rlf_look_cursor *out)
{
    *out = (rlf_look_cursor){.at = at};
    for (size_t i = 0; i < program->decls.count; i++)
        if (holds(program->decls.data[i]->span, at) &&
            find_decl(out, program->decls.data[i]))
            return;
}

/* ---- the names that a place sees ---- */

typedef struct walk {
    uint32_t at;
    rlf_look_local_function *function;
    void *arg;
} walk;

static void
give(const walk *w, const rlf_ast_name *name, const rlf_ast_formal *formal,
     const rlf_ast_stmt *stmt, rlf_span span)
{
    const rlf_look_local local = {name, formal, stmt, span};
    if (name->text)
        w->function(w->arg, &local);
}

static void
walk_block(const walk *w, const rlf_ast_block *block)
{
    for (size_t i = 0; block && i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        if (stmt->span.first > w->at)
            break;
        if (stmt->kind == RLF_AST_LET)
            give(w, &stmt->name, NULL, stmt, stmt->span);
        bool inside = holds(stmt->span, w->at);
        /* What a collect keeps has its names behind it as well. */
        if (!inside && stmt->kind != RLF_AST_COLLECT)
            continue;
        for (size_t k = 0; stmt->kind == RLF_AST_FOR && k < stmt->binds->count;
             k++)
            give(w, &stmt->binds->data[k].name, NULL, stmt,
                 rlf_span_join(stmt->binds->data[k].name.span,
                               stmt->binds->data[k].value->span));
        walk_block(w, stmt->body);
        walk_block(w, stmt->other);
    }
}

void
rlf_look_locals(const rlf_ast_decl *decl, uint32_t at,
                rlf_look_local_function *function, void *arg)
{
    const walk w = {at, function, arg};
    for (size_t i = 0; decl && decl->kind == RLF_AST_DEF && decl->formals &&
                       i < decl->formals->count;
         i++) {
        const rlf_ast_formal *f = &decl->formals->data[i];
        give(&w, &f->name, f, NULL, f->span);
    }
    for (size_t i = 0; decl && decl->kind == RLF_AST_FLOW && decl->binds &&
                       i < decl->binds->count;
         i++) {
        const rlf_ast_bind *b = &decl->binds->data[i];
        give(&w, &b->name, NULL, NULL,
             rlf_span_join(b->name.span, b->value->span));
    }
    if (decl)
        walk_block(&w, decl->body);
}

typedef struct wanted {
    const char *name;
    rlf_look_named *out;
} wanted;

static void
match(void *arg, const rlf_look_local *local)
{
    const wanted *w = arg;
    if (strcmp(local->name->text, w->name) != 0)
        return;
    w->out->local = true;
    w->out->here = *local;
}

bool
rlf_look_name(const rlf_look *look, const rlf_ast_decl *around, uint32_t at,
              const char *name, rlf_look_named *out)
{
    const rlf_module *module = look->sema->modules.data[0];
    wanted w = {name, out};
    *out = (rlf_look_named){0};
    rlf_look_locals(around, at, match, &w);
    if (out->local)
        return true;
    out->module = module;
    out->decl = rlf_map_get(&module->names, name);
    for (size_t i = 0; i < module->imports.count && !out->decl; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (import->alias && strcmp(import->alias, name) == 0) {
            out->import = import;
            return true;
        }
        if (import->alias)
            continue;
        out->decl = rlf_map_get(&import->module->names, name);
        out->module = import->module;
    }
    return out->decl != NULL;
}
