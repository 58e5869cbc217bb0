/* `def`s that nothing uses: what is wrong with them whatever they are given.
 *
 * A def is checked where it is expanded (def.c), so one that is never used
 * would be right whatever it says. Here the names, functions and reductions of
 * its body are looked up, and whether it uses itself. Levels, types and units
 * follow from the arguments, and are not known. */
#include "grammar/passes.h"

#include <string.h>

typedef struct pending {
    const rlf_ast_decl *def;
    rlf_module *module;
    bool begun; /* its body is being looked at, or was */
} pending;

typedef struct looker {
    rlf_sema *s;
    RLF_VEC(pending) list;
} looker;

static void look(looker *l, const rlf_ast_expr *e);
static void look_into(looker *l, pending *p);

/* A use of a def: of one that is unused too, or that is looked at now. */
static void
look_at_use(looker *l, const rlf_ast_decl *def, const rlf_ast_expr *call)
{
    pending *p = NULL;
    for (size_t i = 0; i < l->list.count && !p; i++)
        if (l->list.data[i].def == def)
            p = &l->list.data[i];
    if (p && rlf_def_ends(l->s, def, call) && !p->begun)
        look_into(l, p);
}

static void
look_at_call(looker *l, const rlf_ast_expr *e)
{
    rlf_sema *s = l->s;
    const rlf_ast_expr *called = e->left;
    rlf_found_name found = {0};
    bool field = called->kind == RLF_AST_FIELD;
    bool over = e->args && e->args->count && e->args->data[0].over.text;
    for (size_t i = 0; e->args && i < e->args->count; i++) {
        look(l, e->args->data[i].value);
        if (e->args->data[i].over.text)
            rlf_level_over_is(s, &e->args->data[i].over);
    }
    if (field && !rlf_name_qualified(s, called, &found)) {
        look(l, called->left);
        return;
    }
    if (!field && called->kind != RLF_AST_NAME) {
        rlf_eval(s, e); /* says that this is no function */
        return;
    }
    const char *name = called->name.text;
    if (!field && over && rlf_builtin_is(name))
        return;
    if (!field && !rlf_name_find(s, &called->name, &found)) {
        if (!rlf_builtin_is(name) &&
            !rlf_classes_find(s->classes, RLF_FORM_CALL, RLF_RECEIVER_NONE,
                              name))
            rlf_name_unknown(s, &called->name, RLF_WANT_FUNCTION, e);
        return;
    }
    if (found.decl && found.decl->kind == RLF_AST_DEF)
        look_at_use(l, found.decl, e);
}

static void
look_at_name(looker *l, const rlf_ast_expr *e)
{
    rlf_sema *s = l->s;
    rlf_found_name found;
    bool wrong;
    if (rlf_name_find(s, &e->name, &found))
        wrong = found.decl && (found.decl->kind == RLF_AST_DEF ||
                               found.decl->kind == RLF_AST_FLOW);
    else
        wrong = !rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_NONE,
                                  e->name.text);
    if (wrong)
        rlf_eval(s, e); /* says so */
}

/* Texts are compared, and nothing else is done with them. */
static void
look_at_text(looker *l, const rlf_ast_expr *e, const rlf_ast_expr *side)
{
    bool compares = e->op == RLF_AST_EQ || e->op == RLF_AST_NE;
    if (!compares && side && side->kind == RLF_AST_STRING)
        rlf_eval_number(l->s, side);
}

static void
look(looker *l, const rlf_ast_expr *e)
{
    rlf_found_name found;
    if (!e)
        return;
    switch (e->kind) {
    case RLF_AST_CALL:
        look_at_call(l, e);
        return;
    case RLF_AST_NAME:
        look_at_name(l, e);
        return;
    case RLF_AST_FIELD:
        if (rlf_name_qualified(l->s, e, &found))
            return;
        break;
    case RLF_AST_UNARY:
    case RLF_AST_BINARY:
        look_at_text(l, e, e->left);
        look_at_text(l, e, e->right);
        break;
    default:
        break;
    }
    look(l, e->left);
    look(l, e->right);
    look(l, e->other);
    for (size_t i = 0; e->args && i < e->args->count; i++)
        look(l, e->args->data[i].value);
}

static void
look_into(looker *l, pending *p)
{
    rlf_sema *s = l->s;
    const rlf_ast_decl *def = p->def;
    rlf_scope *outside = s->scope;
    p->begun = true;
    rlf_scope_push(s, NULL, p->module)->def = true;
    s->defs[s->n_defs++] = def;
    s->expanding++;
    for (size_t i = 0; def->formals && i < def->formals->count; i++) {
        const rlf_ast_formal *f = &def->formals->data[i];
        look(l, f->value);
        look(l, f->low);
        look(l, f->high);
        rlf_def_formal(s, s->scope, f);
    }
    bool good = rlf_def_form(s, def);
    for (size_t i = 0; good && i < def->body->stmts.count; i++) {
        const rlf_ast_stmt *stmt = def->body->stmts.data[i];
        look(l, stmt->value);
        if (stmt->kind == RLF_AST_LET)
            rlf_name_give(s, &stmt->name, rlf_entity_none(stmt->name.span));
    }
    s->expanding--;
    s->n_defs--;
    s->scope = outside;
}

void
rlf_sema_unused_defs(rlf_sema *s)
{
    looker l = {.s = s};
    for (size_t m = 0; m < s->modules.count; m++) {
        rlf_module *module = s->modules.data[m];
        for (size_t i = 0; i < module->program->decls.count; i++) {
            const rlf_ast_decl *decl = module->program->decls.data[i];
            pending p = {decl, module, false};
            if (decl->kind == RLF_AST_DEF && decl->name.text &&
                !rlf_map_get(&module->used, decl->name.text))
                RLF_PUSH_IN(s->arena, &l.list, p);
        }
    }
    for (size_t i = 0; i < l.list.count; i++)
        if (!l.list.data[i].begun)
            look_into(&l, &l.list.data[i]);
}
