/* The program's evaluations as a program of their own.
 *
 * A metric is an evaluation if a model generates for it and nothing in it
 * depends on what a step draws, on a state or on `step`: so it says the same of
 * the same weights wherever it stands. Of the flow stays what such metrics are
 * made of; loops, updates and all else go. The blocks of `every`, and of an
 * `if` on what goes, are carried out. Of several metrics of one name the first
 * stays.
 *
 * All that is done to the tree, before names are resolved, so that messages
 * show the user's lines. The walk over it knows names by their place alone, as
 * name.c looks them up. */
#include "grammar/passes.h"

#include <string.h>

/* The sources that an expression is made of, a bit each. */
enum {
    OF_STEPS = 1, /* of draws, states or `step` */
    GENERATES = 2 /* a model generates for it */
};

/* A name of the flow or of a def. */
typedef struct local {
    const char *name;
    unsigned made_of;
    rlf_ast_stmt *let; /* that gives it; NULL: nothing that could stay */
    bool needed;
    struct local *outer;
} local;

typedef struct known_def {
    const rlf_ast_decl *decl;
    unsigned made_of;
} known_def;

typedef struct reached {
    rlf_ast_decl *decl;
    rlf_module *module;
} reached;

typedef struct slice {
    rlf_sema *s;
    bool marks; /* the walk notes what it meets: it is needed */
    struct {
        known_def *data;
        size_t count, room;
    } defs;
    struct {
        reached *data;
        size_t count, room;
    } decls; /* that are needed */
    struct {
        local **data;
        size_t count, room;
    } lets;          /* of the flow, that could stay */
    rlf_map metrics; /* name -> anything: it has one */
} slice;

static unsigned walk(slice *w, rlf_ast_expr *e, local *names,
                     rlf_module *module);

/* ---- names ---- */

static rlf_ast_decl *
find_decl(rlf_module *module, const char *name, rlf_module **in)
{
    rlf_ast_decl *decl = rlf_map_get(&module->names, name);
    *in = module;
    for (size_t i = 0; i < module->imports.count && !decl; i++) {
        const rlf_module_import *import = &module->imports.data[i];
        if (!import->alias)
            decl = rlf_map_get(&import->module->names, name);
        *in = import->module;
    }
    return decl;
}

static rlf_module *
find_alias(const rlf_module *module, const char *alias)
{
    for (size_t i = 0; i < module->imports.count; i++)
        if (module->imports.data[i].alias &&
            strcmp(module->imports.data[i].alias, alias) == 0)
            return module->imports.data[i].module;
    return NULL;
}

static local *
find_local(local *names, const char *name)
{
    while (names && strcmp(names->name, name) != 0)
        names = names->outer;
    return names;
}

static local *
name_one(slice *w, const char *name, unsigned made_of, rlf_ast_stmt *let,
         local *outer)
{
    local *one = RLF_NEW(w->s->arena, local);
    *one =
        (local){.name = name, .made_of = made_of, .let = let, .outer = outer};
    return one;
}

/* ---- what declarations are made of ---- */

static bool
is_reached(const slice *w, const rlf_ast_decl *decl)
{
    for (size_t i = 0; i < w->decls.count; i++)
        if (w->decls.data[i].decl == decl)
            return true;
    return false;
}

static unsigned
walk_body(slice *w, rlf_ast_decl *def, rlf_module *module)
{
    local *names = NULL;
    unsigned made_of = 0;
    for (size_t i = 0; def->formals && i < def->formals->count; i++) {
        rlf_ast_formal *f = &def->formals->data[i];
        if (f->value)
            made_of |= walk(w, f->value, names, module);
        names = name_one(w, f->name.text, 0, NULL, names);
    }
    for (size_t i = 0; i < def->body->stmts.count; i++) {
        rlf_ast_stmt *stmt = def->body->stmts.data[i];
        if (stmt->value)
            made_of |= walk(w, stmt->value, names, module);
        if (stmt->kind == RLF_AST_LET)
            names = name_one(w, stmt->name.text, 0, NULL, names);
    }
    return made_of;
}

static unsigned
walk_def(slice *w, rlf_ast_decl *def, rlf_module *module)
{
    for (size_t i = 0; !w->marks && i < w->defs.count; i++)
        if (w->defs.data[i].decl == def)
            return w->defs.data[i].made_of;
    size_t index = w->defs.count;
    RLF_PUSH_IN(w->s->arena, &w->defs, ((known_def){def, 0}));
    unsigned made_of = walk_body(w, def, module);
    w->defs.data[index].made_of = made_of;
    return made_of;
}

static unsigned
walk_decl(slice *w, rlf_ast_decl *decl, rlf_module *module)
{
    if (decl->kind == RLF_AST_STATE)
        return OF_STEPS;
    if (w->marks && is_reached(w, decl))
        return 0;
    if (w->marks)
        RLF_PUSH_IN(w->s->arena, &w->decls, ((reached){decl, module}));
    if (decl->kind == RLF_AST_DEF)
        return walk_def(w, decl, module);
    if (w->marks && decl->value && decl->kind != RLF_AST_FLOW)
        walk(w, decl->value, NULL, module);
    return 0;
}

/* ---- calls of generate ---- */

static rlf_ast_expr *
new_expr(rlf_sema *s, rlf_ast_expr_kind kind, rlf_span span)
{
    rlf_ast_expr *e = RLF_NEW(s->arena, rlf_ast_expr);
    *e = (rlf_ast_expr){.kind = kind, .depth = 1, .span = span, .at = span};
    return e;
}

static rlf_ast_expr *
new_number(rlf_sema *s, double number, rlf_span span)
{
    rlf_ast_expr *e = new_expr(s, RLF_AST_NUMBER, span);
    rlf_buf text = {0};
    rlf_buf_number(&text, number);
    e->number = number;
    e->name = (rlf_ast_name){span, rlf_arena_strndup(s->arena, text.p, text.n)};
    rlf_buf_free(&text);
    return e;
}

static rlf_ast_arg
new_arg(const char *label, rlf_ast_expr *value)
{
    return (rlf_ast_arg){
        .span = value->span, .label = {value->span, label}, .value = value};
}

static bool
is_labelled(const rlf_ast_arg *arg, const char *label)
{
    return arg->label.text && strcmp(arg->label.text, label) == 0;
}

/* Sets how many answers are sampled, and how, as the evaluation's options
 * say. */
static void
set_sampling(slice *w, rlf_ast_expr *call)
{
    const rlf_evaluate *o = w->s->options->evaluate;
    rlf_ast_args *args = RLF_NEW(w->s->arena, rlf_ast_args);
    bool sampled = o->samples > 1 || o->temperature > 0;
    for (size_t i = 0; call->args && i < call->args->count; i++) {
        const rlf_ast_arg *arg = &call->args->data[i];
        if ((o->samples && is_labelled(arg, "n")) ||
            (sampled && is_labelled(arg, "greedy")) ||
            (o->temperature > 0 && is_labelled(arg, "temperature")))
            continue;
        RLF_PUSH_IN(w->s->arena, args, *arg);
    }
    if (o->samples)
        RLF_PUSH_IN(w->s->arena, args,
                    new_arg("n", new_number(w->s, o->samples, call->left->at)));
    if (o->temperature > 0)
        RLF_PUSH_IN(w->s->arena, args,
                    new_arg("temperature",
                            new_number(w->s, o->temperature, call->left->at)));
    call->args = args;
}

/* ---- expressions ---- */

static unsigned
walk_name(slice *w, const char *name, local *names, rlf_module *module)
{
    rlf_module *in;
    local *one = find_local(names, name);
    if (one) {
        bool fresh = w->marks && one->let && !one->needed;
        one->needed = one->needed || w->marks;
        if (fresh)
            walk(w, one->let->value, one->outer, module);
        return one->made_of;
    }
    rlf_ast_decl *decl = find_decl(module, name, &in);
    if (decl)
        return walk_decl(w, decl, in);
    return strcmp(name, "step") == 0 ? OF_STEPS : 0;
}

static unsigned
walk_field(slice *w, rlf_ast_expr *e, local *names, rlf_module *module)
{
    const rlf_ast_expr *left = e->left;
    bool may = left->kind == RLF_AST_NAME &&
               !find_local(names, left->name.text) &&
               !rlf_map_get(&module->names, left->name.text);
    rlf_module *in = may ? find_alias(module, left->name.text) : NULL;
    rlf_ast_decl *decl = in ? rlf_map_get(&in->names, e->name.text) : NULL;
    return decl ? walk_decl(w, decl, in) : walk(w, e->left, names, module);
}

static unsigned
walk(slice *w, rlf_ast_expr *e, local *names, rlf_module *module)
{
    unsigned made_of = 0;
    if (e->kind == RLF_AST_NAME)
        return walk_name(w, e->name.text, names, module);
    if (e->kind == RLF_AST_FIELD)
        return walk_field(w, e, names, module);
    if (e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_FIELD &&
        strcmp(e->left->name.text, "generate") == 0) {
        made_of |= GENERATES;
        if (w->marks)
            set_sampling(w, e);
    }
    if (e->left)
        made_of |= walk(w, e->left, names, module);
    if (e->right)
        made_of |= walk(w, e->right, names, module);
    if (e->other)
        made_of |= walk(w, e->other, names, module);
    for (size_t i = 0; e->args && i < e->args->count; i++)
        made_of |= walk(w, e->args->data[i].value, names, module);
    return made_of;
}

/* ---- statements ---- */

static rlf_ast_block *filter(slice *w, const rlf_ast_block *block,
                             local *names);

/* A metric that stays makes all that it is made of needed. */
static rlf_ast_stmt *
filter_report(slice *w, const rlf_ast_stmt *stmt, local *names)
{
    rlf_module *module = w->s->modules.data[0];
    rlf_ast_binds *binds = RLF_NEW(w->s->arena, rlf_ast_binds);
    for (size_t i = 0; i < stmt->binds->count; i++) {
        const rlf_ast_bind *bind = &stmt->binds->data[i];
        if (walk(w, bind->value, names, module) != GENERATES ||
            rlf_map_get(&w->metrics, bind->name.text))
            continue;
        rlf_map_put(&w->metrics, bind->name.text, (void *)(uintptr_t)bind);
        RLF_PUSH_IN(w->s->arena, binds, *bind);
        w->marks = true;
        walk(w, bind->value, names, module);
        w->marks = false;
    }
    rlf_ast_stmt *kept = RLF_NEW(w->s->arena, rlf_ast_stmt);
    *kept = *stmt;
    kept->binds = binds;
    return binds->count ? kept : NULL;
}

/* A block as one that is always carried out. */
static rlf_ast_stmt *
always(slice *w, const rlf_ast_stmt *stmt, rlf_ast_block *body)
{
    rlf_ast_stmt *kept = RLF_NEW(w->s->arena, rlf_ast_stmt);
    *kept = (rlf_ast_stmt){.kind = RLF_AST_IF,
                           .span = stmt->span,
                           .value = new_number(w->s, 1, stmt->value->span),
                           .body = body};
    return body->stmts.count ? kept : NULL;
}

static void
filter_if(slice *w, const rlf_ast_stmt *stmt, local *names, rlf_ast_block *out)
{
    rlf_arena *arena = w->s->arena;
    rlf_module *module = w->s->modules.data[0];
    rlf_ast_stmt *kept;
    bool decided = !walk(w, stmt->value, names, module);
    size_t before = w->metrics.count;
    rlf_map metrics = {.arena = arena};
    for (size_t i = 0; i < before; i++)
        rlf_map_put(&metrics, w->metrics.entries[i].key,
                    w->metrics.entries[i].value);
    rlf_ast_block *body = filter(w, stmt->body, names), *other = NULL;
    if (decided) { /* one of both sides has the metric */
        rlf_map of_body = w->metrics;
        w->metrics = metrics;
        if (stmt->other)
            other = filter(w, stmt->other, names);
        for (size_t i = 0; i < of_body.count; i++)
            rlf_map_put(&w->metrics, of_body.entries[i].key,
                        of_body.entries[i].value);
        if (!body->stmts.count && !(other && other->stmts.count))
            return;
        w->marks = true;
        walk(w, stmt->value, names, module);
        w->marks = false;
        kept = RLF_NEW(arena, rlf_ast_stmt);
        *kept = *stmt;
        kept->body = body;
        kept->other = other && other->stmts.count ? other : NULL;
        RLF_PUSH_IN(arena, &out->stmts, kept);
        return;
    }
    if ((kept = always(w, stmt, body)) != NULL)
        RLF_PUSH_IN(arena, &out->stmts, kept);
    if (stmt->other &&
        (kept = always(w, stmt, filter(w, stmt->other, names))) != NULL)
        RLF_PUSH_IN(arena, &out->stmts, kept);
}

/* One statement; the names behind it. */
static local *
filter_statement(slice *w, rlf_ast_stmt *stmt, local *names, rlf_ast_block *out)
{
    rlf_arena *arena = w->s->arena;
    rlf_ast_stmt *kept = NULL;
    switch (stmt->kind) {
    case RLF_AST_LET: {
        unsigned made_of = walk(w, stmt->value, names, w->s->modules.data[0]);
        bool stays = !(made_of & OF_STEPS);
        names =
            name_one(w, stmt->name.text, made_of, stays ? stmt : NULL, names);
        if (stays) {
            RLF_PUSH_IN(arena, &w->lets, names);
            kept = stmt;
        }
        break;
    }
    case RLF_AST_REPORT:
        kept = filter_report(w, stmt, names);
        break;
    case RLF_AST_EVERY:
        kept = always(w, stmt, filter(w, stmt->body, names));
        break;
    case RLF_AST_IF:
        filter_if(w, stmt, names, out);
        break;
    case RLF_AST_COLLECT: /* what it names can be used after it */
    case RLF_AST_FOR:
    case RLF_AST_SET:
    case RLF_AST_UPDATE:
    case RLF_AST_MINIMIZE:
    case RLF_AST_RETURN:
    case RLF_AST_KEEP:
    case RLF_AST_BREAK:
    case RLF_AST_CHECKPOINT:
        break;
    }
    if (stmt->kind == RLF_AST_COLLECT)
        for (size_t i = 0; i < stmt->body->stmts.count; i++)
            if (stmt->body->stmts.data[i]->kind == RLF_AST_LET)
                names = name_one(w, stmt->body->stmts.data[i]->name.text,
                                 OF_STEPS, NULL, names);
    if (kept)
        RLF_PUSH_IN(arena, &out->stmts, kept);
    return names;
}

static rlf_ast_block *
filter(slice *w, const rlf_ast_block *block, local *names)
{
    rlf_ast_block *out = RLF_NEW(w->s->arena, rlf_ast_block);
    out->span = block->span;
    for (size_t i = 0; i < block->stmts.count; i++)
        names = filter_statement(w, block->stmts.data[i], names, out);
    return out;
}

static bool
is_needed(const slice *w, const rlf_ast_stmt *stmt)
{
    for (size_t i = 0; i < w->lets.count; i++)
        if (w->lets.data[i]->let == stmt)
            return w->lets.data[i]->needed;
    return true;
}

/* Names that nothing needs go, and blocks with nothing else. */
static void
drop(const slice *w, rlf_ast_block *block)
{
    size_t n = 0;
    for (size_t i = 0; i < block->stmts.count; i++) {
        rlf_ast_stmt *stmt = block->stmts.data[i];
        if (stmt->kind == RLF_AST_LET && !is_needed(w, stmt))
            continue;
        if (stmt->kind == RLF_AST_IF)
            drop(w, stmt->body);
        if (stmt->kind == RLF_AST_IF && stmt->other)
            drop(w, stmt->other);
        if (stmt->kind == RLF_AST_IF && !stmt->body->stmts.count &&
            !(stmt->other && stmt->other->stmts.count))
            continue;
        block->stmts.data[n++] = stmt;
    }
    block->stmts.count = n;
}

/* ---- the model ---- */

static const rlf_ast_expr *
argument(const rlf_ast_expr *call, const char *label)
{
    for (size_t i = 0; call->args && i < call->args->count; i++)
        if (is_labelled(&call->args->data[i], label))
            return call->args->data[i].value;
    return NULL;
}

static bool
is_call_of(const rlf_ast_expr *e, const char *name)
{
    return e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_NAME &&
           strcmp(e->left->name.text, name) == 0;
}

/* The source of a model: the argument `from`. */
static rlf_ast_expr *
from_of(const rlf_ast_expr *call)
{
    const rlf_ast_expr *named = argument(call, "from");
    bool first =
        call->args && call->args->count && !call->args->data[0].label.text;
    return named   ? (rlf_ast_expr *)named
           : first ? call->args->data[0].value
                   : NULL;
}

/* The declaration that a copy or a base is of; NULL: it is neither. */
static const reached *
copied(const slice *w, const reached *model)
{
    const rlf_ast_expr *value = model->decl->value;
    if (!is_call_of(value, "copy") && !is_call_of(value, "base"))
        return NULL;
    const rlf_ast_expr *from = from_of(value);
    for (size_t i = 0; from && from->kind == RLF_AST_NAME && i < w->decls.count;
         i++) {
        const reached *r = &w->decls.data[i];
        if (r->decl->kind == RLF_AST_MODEL && r->module == model->module &&
            strcmp(r->decl->name.text, from->name.text) == 0)
            return r;
    }
    return NULL;
}

/* The one that is evaluated: the only one that is trained, else the only one;
 * NULL after a message. */
static const reached *
choose_model(const slice *w, rlf_span at)
{
    const reached *trained = NULL, *any = NULL;
    size_t n_trained = 0, n = 0;
    for (size_t i = 0; i < w->decls.count; i++) {
        const reached *r = &w->decls.data[i];
        if (r->decl->kind != RLF_AST_MODEL)
            continue;
        n++;
        any = r;
        if (argument(r->decl->value, "optimizer")) {
            n_trained++;
            trained = r;
        }
    }
    if (n_trained == 1 || (!n_trained && n == 1))
        return n_trained ? trained : any;
    rlf_diag *diag = rlf_diag_error(
        w->s->diags, "evaluation", at,
        "the evaluations are of several models, and which one is to be another "
        "is not clear");
    rlf_diag_hint(w->s->diags, diag,
                  "it is the one that has an optimizer, or the only one");
    return NULL;
}

static rlf_ast_expr *
new_text(rlf_sema *s, const char *text, rlf_span span)
{
    rlf_ast_expr *e = new_expr(s, RLF_AST_STRING, span);
    e->string = rlf_str_of(rlf_arena_strdup(s->arena, text));
    return e;
}

static rlf_ast_expr *
new_call(rlf_sema *s, const char *name, rlf_ast_args *args, rlf_span span)
{
    rlf_ast_expr *e = new_expr(s, RLF_AST_CALL, span);
    e->left = new_expr(s, RLF_AST_NAME, span);
    e->left->name = (rlf_ast_name){span, name};
    e->args = args;
    e->depth = 3;
    return e;
}

/* Of a checkpoint with several models the one that is called as the program
 * calls the one that it evaluates; false after a message. */
static bool
pick(const slice *w, const reached *model, const char **path, bool *adapter)
{
    const rlf_evaluate *o = w->s->options->evaluate;
    rlf_buf names = {0};
    *path = o->model;
    *adapter = o->adapter;
    if (!o->several)
        return true;
    for (size_t i = 0; i < o->n_several; i++) {
        const rlf_evaluated *one = &o->several[i];
        if (strcmp(one->name, model->decl->name.text) == 0) {
            *path = one->model;
            *adapter = one->adapter;
            rlf_buf_free(&names);
            return true;
        }
        rlf_buf_printf(&names, "%s%s", i ? ", " : "", one->model);
    }
    rlf_diag *diag = rlf_diag_error(
        w->s->diags, "evaluation", model->decl->name.span,
        "%s has several models, and none of them is called '%s'", o->model,
        model->decl->name.text);
    rlf_diag_hint(w->s->diags, diag, "name one of them: %s", names.p);
    rlf_buf_free(&names);
    return false;
}

/* `lm("MODEL", ...)` with the texts of the model that it stands for; or its
 * model with an adapter. */
static void
replace(slice *w, const reached *model)
{
    rlf_sema *s = w->s;
    static const char *const kept[] = {"template", "tokenizer", "date",
                                       "dtype"};
    const reached *root = model;
    for (const reached *of; (of = copied(w, root)) != NULL;)
        root = of;
    const rlf_ast_expr *value = root->decl->value;
    rlf_span span = value->span;
    rlf_ast_args *args = RLF_NEW(s->arena, rlf_ast_args);
    rlf_ast_expr *from = from_of(value);
    const char *dir;
    bool adapter;
    if (!pick(w, model, &dir, &adapter))
        return;
    rlf_ast_expr *path = new_text(s, dir, span);
    if (adapter && (!from || from->kind == RLF_AST_CALL)) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "evaluation", span,
            "%s is an adapter, and the program's model '%s' has no directory",
            dir, root->decl->name.text);
        rlf_diag_hint(s->diags, diag,
                      "rlflow merge makes a model of both; evaluate that");
        return;
    }
    RLF_PUSH_IN(s->arena, args, new_arg(NULL, adapter ? from : path));
    if (adapter) {
        rlf_ast_args *of = RLF_NEW(s->arena, rlf_ast_args);
        RLF_PUSH_IN(s->arena, of, new_arg("from", path));
        RLF_PUSH_IN(s->arena, args,
                    new_arg("lora", new_call(s, "lora", of, span)));
    }
    for (size_t i = 0; value->args && i < value->args->count; i++)
        for (size_t k = 0; k < RLF_COUNT(kept); k++)
            if (is_labelled(&value->args->data[i], kept[k]))
                RLF_PUSH_IN(s->arena, args, value->args->data[i]);
    model->decl->value = new_call(s, "lm", args, span);
}

/* The model as the program begins with it, without what trains it. */
static void
leave_training(slice *w, rlf_ast_decl *model)
{
    rlf_ast_args *args = RLF_NEW(w->s->arena, rlf_ast_args);
    const rlf_ast_expr *value = model->value;
    for (size_t i = 0; value->args && i < value->args->count; i++) {
        const rlf_ast_arg *arg = &value->args->data[i];
        bool fresh = is_labelled(arg, "lora") &&
                     arg->value->kind == RLF_AST_CALL &&
                     !argument(arg->value, "from");
        if (!is_labelled(arg, "optimizer") && !fresh)
            RLF_PUSH_IN(w->s->arena, args, *arg);
    }
    model->value->args = args;
}

/* A copy or a base has the weights of the program's model, not of the one that
 * is evaluated. */
static bool
refuse_copies(const slice *w, const reached *model)
{
    bool refused = false;
    for (size_t i = 0; i < w->decls.count; i++) {
        const reached *r = &w->decls.data[i];
        if (r->decl->kind != RLF_AST_MODEL || r == model ||
            copied(w, r) != model)
            continue;
        rlf_diag_error(w->s->diags, "evaluation", r->decl->span,
                       "'%s' is made of '%s', in whose place another model is "
                       "evaluated",
                       r->decl->name.text, model->decl->name.text);
        refused = true;
    }
    return refused;
}

static void
set_model(slice *w, rlf_span at)
{
    const reached *model = choose_model(w, at);
    if (!model || model->decl->value->kind != RLF_AST_CALL)
        return;
    if (!w->s->options->evaluate->model)
        for (size_t i = 0; i < w->decls.count; i++) {
            if (w->decls.data[i].decl->kind == RLF_AST_MODEL &&
                w->decls.data[i].decl->value->kind == RLF_AST_CALL)
                leave_training(w, w->decls.data[i].decl);
        }
    else if (!refuse_copies(w, model))
        replace(w, model);
}

/* ---- all of it ---- */

static rlf_diag *
refuse_none(rlf_sema *s, rlf_span at, const char *why)
{
    rlf_diag *diag = rlf_diag_error(s->diags, "evaluation", at, "%s", why);
    rlf_diag_hint(s->diags, diag,
                  "report accuracy = mean(judge(actor.generate(test, max_new: "
                  "256, greedy: true)) over batch), with data 'test' that the "
                  "flow does not draw from");
    return diag;
}

void
rlf_sema_evaluation(rlf_sema *s)
{
    slice w = {.s = s, .metrics.arena = s->arena};
    rlf_module *module = s->modules.data[0];
    rlf_ast_decl *flow = NULL;
    for (size_t i = 0; i < module->program->decls.count; i++)
        if (module->program->decls.data[i]->kind == RLF_AST_FLOW)
            flow = module->program->decls.data[i];
    if (!flow)
        return; /* which is told of when the flow is looked for */
    local *names = NULL;
    for (size_t i = 0; flow->binds && i < flow->binds->count; i++)
        names =
            name_one(&w, flow->binds->data[i].name.text, OF_STEPS, NULL, names);
    rlf_ast_block *body = filter(&w, flow->body, names);
    drop(&w, body);
    if (!body->stmts.count) {
        refuse_none(s, flow->name.span,
                    "the flow reports nothing that is generated for data that "
                    "no step draws, so there is nothing to evaluate");
        return;
    }
    flow->binds = NULL;
    flow->body = body;
    for (size_t i = 0; i < w.decls.count; i++)
        rlf_map_put(
            &s->needed,
            rlf_arena_printf(s->arena, "%p", (void *)w.decls.data[i].decl),
            w.decls.data[i].decl);
    set_model(&w, flow->name.span);
}

bool
rlf_sema_needs(const rlf_sema *s, const rlf_ast_decl *decl)
{
    return !s->options->evaluate ||
           rlf_map_get(&s->needed,
                       rlf_arena_printf(s->arena, "%p", (const void *)decl));
}

/* ---- metrics ---- */

/* The set that a model sampled whose samples the domain is; -1: none is. */
static int
sampled_set(const rlf_sema *s, int domain)
{
    for (size_t i = 0; i < s->graph->sets.count; i++) {
        const rlf_set *set = &s->graph->sets.data[i];
        if (set->kind == RLF_SET_SAMPLED && set->origin < 0 &&
            set->samples == domain)
            return (int)i;
    }
    return -1;
}

void
rlf_sema_score(rlf_sema *s, rlf_item *item, const rlf_ast_bind *bind, int term)
{
    const rlf_term *t = term >= 0 ? &s->terms.data[term] : NULL;
    if (!t)
        return;
    bool mean = t->kind == RLF_TERM_OP && t->code == RLF_EXPR_MEAN;
    int of = mean ? t->arg[0] : -1;
    int set = mean ? sampled_set(s, s->terms.data[of].domain) : -1;
    if (set < 0) {
        rlf_diag *diag = rlf_diag_warning(
            s->diags, "evaluation", bind->name.span,
            "'%s' is no mean over answers, and is left out", bind->name.text);
        rlf_diag_hint(s->diags, diag,
                      "mean(x over batch), where x is one per answer");
        return;
    }
    if (!s->terms.data[of].label)
        s->terms.data[of].label = bind->name.text;
    rlf_item_input_term(s, item, of);
    rlf_graph_score score = {bind->name.text, of, set};
    RLF_PUSH_IN(s->arena, &s->graph->evaluation.scores, score);
}

/* Until here a score's value is a term. */
void
rlf_sema_scores(rlf_sema *s)
{
    for (size_t i = 0; i < s->graph->evaluation.scores.count; i++) {
        rlf_graph_score *score = &s->graph->evaluation.scores.data[i];
        score->value = s->terms.data[score->value].value_index;
    }
    if (!s->graph->evaluation.scores.count)
        refuse_none(s, (rlf_span){s->modules.data[0]->program->source, 0, 0, 0},
                    "no metric is a mean over answers, so there is nothing to "
                    "evaluate");
}
