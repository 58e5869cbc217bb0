/* Statements of a program without an effect: warnings, once nothing is wrong.
 *
 * A name that nothing reads, a model that could be trained and is not, a metric
 * that says the same in each step: a program that has them runs, but hardly
 * does what was meant. Only the program's own file is looked at, not what it
 * imports. */
#include "grammar/passes.h"

#include <string.h>

static void
warn(rlf_sema *s, rlf_span at, const char *name, const char *what,
     const char *hint)
{
    rlf_diag *diag = rlf_diag_warning(s->diags, "unused", at,
                                      "'%s' is %s and never used", name, what);
    rlf_diag_hint(s->diags, diag, "%s", hint);
}

/* ---- declarations ---- */

/* Enter the names that the expression mentions. */
static void
mention(const rlf_ast_expr *e, rlf_map *names)
{
    /* what leans to the left, as sums do, is walked, not descended into */
    for (; e; e = e->left) {
        if (e->kind == RLF_AST_NAME)
            rlf_map_put(names, e->name.text, names);
        for (size_t i = 0; e->args && i < e->args->count; i++)
            mention(e->args->data[i].value, names);
        mention(e->right, names);
        mention(e->other, names);
    }
}

/* A def's arguments, and the names in its block. */
static void
look_into_def(rlf_sema *s, const rlf_ast_decl *def)
{
    rlf_map names = {.arena = s->arena};
    for (size_t i = 0; i < def->body->stmts.count; i++)
        mention(def->body->stmts.data[i]->value, &names);
    for (size_t i = 0; def->formals && i < def->formals->count; i++) {
        const rlf_ast_name *name = &def->formals->data[i].name;
        if (!rlf_map_get(&names, name->text))
            warn(s, name->span, name->text, "an argument",
                 "take it out of the def, and of its uses");
    }
    for (size_t i = 0; i < def->body->stmts.count; i++) {
        const rlf_ast_stmt *stmt = def->body->stmts.data[i];
        if (stmt->kind == RLF_AST_LET && !rlf_map_get(&names, stmt->name.text))
            warn(s, stmt->name.span, stmt->name.text, "named",
                 "take it out, or use it");
    }
}

static void
look_at_decl(rlf_sema *s, const rlf_module *module, const rlf_ast_decl *decl)
{
    if (decl->kind == RLF_AST_DEF)
        look_into_def(s, decl);
    if (!decl->name.text || decl->kind == RLF_AST_IMPORT ||
        decl->kind == RLF_AST_FLOW || decl->kind == RLF_AST_PLACE ||
        rlf_map_get(&module->used, decl->name.text))
        return;
    warn(s, decl->name.span, decl->name.text, "declared",
         decl->kind == RLF_AST_STATE ? "what ':=' sets is to be read somewhere"
         : decl->kind == RLF_AST_PARAM
             ? "a setting of it would change nothing: take it out, or use it"
             : "take it out, or use it");
}

/* ---- models, states and metrics ---- */

/* Of each resource: does an item write it? */
static bool *
find_written(rlf_sema *s)
{
    bool *written = RLF_NEW_ARRAY(s->arena, bool, s->graph->resources.count);
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *item = &s->items.data[i];
        if (item->receiver >= 0 && item->class->writes)
            written[item->receiver] = true;
    }
    return written;
}

static void
look_at_states(rlf_sema *s, const rlf_module *module)
{
    const bool *written = find_written(s);
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        if (!r->class->values || written[i] ||
            !rlf_map_get(&module->used, r->name))
            continue;
        rlf_diag *diag =
            rlf_diag_warning(s->diags, "unused", r->span,
                             "state '%s' is never set: it stays as it is "
                             "declared",
                             r->name);
        rlf_diag_hint(s->diags, diag,
                      "set it by '%s := ...', or declare it as a param",
                      r->name);
    }
}

/* Is the model updated, or one that is a copy of it? */
static bool
is_trained(const rlf_sema *s, int model)
{
    bool trained = s->graph->resources.data[model].trained;
    for (size_t i = 0; i < s->graph->resources.count && !trained; i++)
        trained = s->graph->resources.data[i].source == model &&
                  is_trained(s, (int)i);
    return trained;
}

/* Dropout that nothing draws. */
static void
look_at_dropout(rlf_sema *s, int model)
{
    const rlf_resource *r = &s->graph->resources.data[model];
    const rlf_arg *lora =
        r->class->model ? rlf_args_find(r->args, r->n_args, "lora") : NULL;
    const rlf_arg *dropout =
        lora ? rlf_args_find(lora->list, lora->n_list, "dropout") : NULL;
    if (!dropout || !(dropout->number > 0) || is_trained(s, model))
        return;
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "unused", dropout->span,
        "dropout is in updates alone, and model '%s' is never updated",
        r->name);
    rlf_diag_hint(s->diags, diag, "leave it out: nothing else drops anything");
}

static void
look_at_models(rlf_sema *s)
{
    for (size_t i = 0; i < s->graph->resources.count; i++) {
        const rlf_resource *r = &s->graph->resources.data[i];
        const rlf_arg *optimizer =
            r->class->model ? rlf_args_find(r->args, r->n_args, "optimizer")
                            : NULL;
        if (!optimizer || optimizer->kind == RLF_ARG_ABSENT || r->trained) {
            look_at_dropout(s, (int)i);
            continue;
        }
        rlf_diag *diag = rlf_diag_warning(
            s->diags, "unused", optimizer->span,
            "model '%s' has an optimizer and is never updated", r->name);
        rlf_diag_hint(s->diags, diag,
                      "leave the optimizer out, or say update %s", r->name);
    }
}

static void
look_at_metrics(rlf_sema *s)
{
    double value;
    for (size_t i = 0; i < s->metrics.count; i++) {
        const rlf_metric_name *m = &s->metrics.data[i];
        if (!rlf_term_constant(s, m->term, &value) ||
            s->terms.data[m->term].nonfinite) /* said of it already */
            continue;
        rlf_diag *diag = rlf_diag_warning(s->diags, "constant", m->span,
                                          "the metric '%s' is %.12g each time",
                                          m->name, value);
        rlf_diag_hint(s->diags, diag,
                      "it is made of numbers and parameters alone");
    }
}

/* Does the body of the loop change the model? */
static bool
changes_in(const rlf_sema *s, int part, int model)
{
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *item = &s->items.data[i];
        for (size_t k = 0; k < item->writes.count; k++)
            if (item->writes.data[k] == model &&
                rlf_sema_part_holds(s, part, item->region))
                return true;
    }
    return false;
}

/* A call that reads all of a set for each of its pieces. With a model that the
 * loop trains it may be meant: how far it went, on all samples. In an update it
 * is the piece that is meant. */
static void
look_at_rereads(rlf_sema *s)
{
    for (size_t i = 0; i < s->rereads.count; i++) {
        const rlf_reread *r = &s->rereads.data[i];
        bool again = !changes_in(s, r->part, r->model);
        if (!again && !r->live)
            continue;
        const char *model = s->graph->resources.data[r->model].name;
        const char *whole = s->graph->sets.data[r->whole].name;
        const char *piece = s->graph->sets.data[r->piece].name;
        rlf_diag *diag = rlf_diag_warning(
            s->diags, "again", r->span,
            "this reads all of '%s' again for each '%s'", whole, piece);
        if (r->live)
            rlf_diag_hint(s->diags, diag, "write %s.%s(%s)", model, r->method,
                          piece);
        else
            rlf_diag_hint(s->diags, diag,
                          "write %s.%s(%s); or give %s.%s(%s) a name before "
                          "the loop, which changes nothing in it",
                          model, r->method, piece, model, r->method, whole);
    }
}

void
rlf_sema_unused(rlf_sema *s)
{
    const rlf_module *module = s->modules.data[0];
    for (size_t i = 0; i < module->imports.count; i++)
        if (!module->imports.data[i].used)
            rlf_diag_warning(s->diags, "unused", module->imports.data[i].span,
                             "nothing of this import is used");
    for (size_t i = 0; i < module->program->decls.count; i++)
        look_at_decl(s, module, module->program->decls.data[i]);
    for (size_t i = 0; i < s->given.count; i++) {
        const rlf_given_name *g = &s->given.data[i];
        if (!g->named->used)
            warn(s, g->named->span, g->name, g->what, "take it out, or use it");
    }
    look_at_states(s, module);
    look_at_models(s);
    look_at_rereads(s);
    look_at_metrics(s);
}
