/* What the name at a place means. */
#include "grammar/look_inside.h"

#include <string.h>

static const rlf_module *
program_of(const rlf_look *look)
{
    return look->sema->modules.data[0];
}

/* ---- what is declared ---- */

static bool
tell_decl(rlf_look *look, const rlf_ast_decl *decl, rlf_look_meaning *out)
{
    out->code = rlf_look_declaration(look, decl);
    out->doc = decl->doc;
    if (!out->doc && decl->help)
        out->doc = decl->help->string.p;
    out->definition = decl->name.text ? decl->name.span : decl->span;
    return true;
}

static bool
tell_file(const rlf_module *module, rlf_look_meaning *out)
{
    out->code = module->path;
    out->doc = module->program->doc;
    out->definition = (rlf_span){module->program->source, 0, 0, 0};
    return true;
}

static bool
tell_import(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    const rlf_module *module = program_of(look);
    out->span = c->decl->value->span;
    for (size_t i = 0; i < module->imports.count; i++)
        if (module->imports.data[i].span.first == c->decl->span.first)
            return tell_file(module->imports.data[i].module, out);
    return false;
}

static bool
tell_named(rlf_look *look, const rlf_look_named *n, rlf_look_meaning *out)
{
    if (n->import)
        return tell_file(n->import->module, out);
    if (!n->local)
        return n->decl && tell_decl(look, n->decl, out);
    const rlf_look_local *here = &n->here;
    rlf_span span = here->span;
    if (here->stmt && here->stmt->kind == RLF_AST_LET && here->stmt->value)
        span = rlf_span_join(here->name->span, here->stmt->value->span);
    out->code = rlf_look_text(look, span);
    out->definition = here->name->span;
    if (!out->value)
        out->value =
            rlf_look_value(look, rlf_look_entity_given(look, here->name->span));
    return true;
}

/* ---- what is built in ---- */

static bool
tell_class(rlf_look *look, const char *before, const rlf_node_class *class,
           rlf_look_meaning *out)
{
    bool call = class->form != RLF_FORM_FIELD;
    out->code =
        call ? rlf_look_signature(look, before, class->name, class->formals,
                                  class->n_formals)
             : rlf_arena_printf(look->arena, "%s%s", before, class->name);
    out->doc = class->doc;
    out->formals = rlf_look_formals(look, class->formals, class->n_formals);
    return true;
}

static bool
tell_constructor(rlf_look *look, const rlf_constructor *c,
                 rlf_look_meaning *out)
{
    out->code = rlf_look_signature(look, "", c->name, c->formals, c->n_formals);
    out->doc = c->doc;
    out->formals = rlf_look_formals(look, c->formals, c->n_formals);
    return true;
}

static bool
tell_builtin(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    const rlf_sema *s = look->sema;
    const char *name = c->name->text;
    const rlf_constructor *constructor =
        rlf_look_constructor(look, c->decl, name);
    const rlf_node_class *class =
        rlf_classes_find(s->classes, c->call ? RLF_FORM_CALL : RLF_FORM_FIELD,
                         RLF_RECEIVER_NONE, name);
    if (constructor)
        return tell_constructor(look, constructor, out);
    if (class)
        return tell_class(look, "", class, out);
    out->doc = rlf_builtin_doc(name);
    out->code = out->doc ? rlf_builtin_form(look->arena, name) : NULL;
    return out->doc != NULL;
}

/* ---- what stands behind a dot ---- */

static const char *
before_dot(rlf_look *look, const rlf_ast_expr *receiver)
{
    return rlf_arena_printf(look->arena, "%s.",
                            rlf_look_text(look, receiver->span));
}

static const rlf_node_class *
class_behind(rlf_look *look, const rlf_ast_expr *receiver, bool call,
             const char *name)
{
    const rlf_classes *classes = look->sema->classes;
    rlf_form form = call ? RLF_FORM_CALL : RLF_FORM_FIELD;
    rlf_receiver of = rlf_look_receiver(rlf_look_entity(look, receiver));
    const rlf_node_class *class =
        of ? rlf_classes_find(classes, form, of, name) : NULL;
    /* One that no value is known of: what has such a name at all. */
    for (int i = RLF_RECEIVER_MODEL; !of && !class && i <= RLF_RECEIVER_STATE;
         i++)
        class = rlf_classes_find(classes, form, (rlf_receiver)i, name);
    return class;
}

static bool
tell_field(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    const rlf_ast_expr *receiver = c->expr->left;
    rlf_look_named named;
    if (receiver->kind == RLF_AST_NAME &&
        rlf_look_name(look, c->decl, c->at, receiver->name.text, &named) &&
        named.import) {
        const rlf_ast_decl *decl =
            rlf_map_get(&named.import->module->names, c->name->text);
        return decl && tell_decl(look, decl, out);
    }
    const rlf_constructor *chooses =
        rlf_look_constructor(look, c->decl, c->name->text);
    const rlf_node_class *class =
        class_behind(look, receiver, c->call != NULL, c->name->text);
    if (class)
        return tell_class(look, before_dot(look, receiver), class, out);
    if (chooses)
        return tell_constructor(look, chooses, out);
    out->code = rlf_look_text(look, c->expr->span);
    return out->value != NULL;
}

/* ---- labels ---- */

static const rlf_formal *
formals_called(rlf_look *look, const rlf_look_cursor *c, int *n,
               const rlf_ast_decl **def)
{
    const rlf_ast_expr *f = c->call ? c->call->left : NULL;
    const rlf_sema *s = look->sema;
    const rlf_node_class *class = NULL;
    const rlf_constructor *constructor = NULL;
    rlf_look_named named;
    *def = NULL;
    *n = 0;
    if (!f || (f->kind != RLF_AST_NAME && f->kind != RLF_AST_FIELD))
        return NULL;
    if (f->kind == RLF_AST_FIELD) {
        if (f->left->kind == RLF_AST_NAME &&
            rlf_look_name(look, c->decl, c->at, f->left->name.text, &named) &&
            named.import)
            *def = rlf_map_get(&named.import->module->names, f->name.text);
        else
            class = class_behind(look, f->left, true, f->name.text);
    } else if (rlf_look_name(look, c->decl, c->at, f->name.text, &named)) {
        *def = named.local ? NULL : named.decl;
    } else {
        class = rlf_classes_find(s->classes, RLF_FORM_CALL, RLF_RECEIVER_NONE,
                                 f->name.text);
        constructor = rlf_look_constructor(look, c->decl, f->name.text);
    }
    if (constructor) {
        *n = constructor->n_formals;
        return constructor->formals;
    }
    *n = class ? class->n_formals : 0;
    return class ? class->formals : NULL;
}

static bool
tell_label(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    int n;
    const rlf_ast_decl *def;
    const rlf_formal *formals = formals_called(look, c, &n, &def);
    for (int i = 0; i < n; i++)
        if (strcmp(formals[i].name, c->name->text) == 0) {
            out->code = rlf_look_formal(look, &formals[i]);
            out->doc = formals[i].doc;
            return true;
        }
    for (size_t i = 0; def && def->formals && i < def->formals->count; i++) {
        const rlf_ast_formal *f = &def->formals->data[i];
        if (strcmp(f->name.text, c->name->text) != 0)
            continue;
        out->code = rlf_look_text(look, f->span);
        out->doc = def->doc;
        out->definition = f->name.span;
        return true;
    }
    return false;
}

/* ---- all ---- */

static bool
tell_use(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    rlf_look_named named;
    if (rlf_look_name(look, c->decl, c->at, c->name->text, &named))
        return tell_named(look, &named, out);
    return tell_builtin(look, c, out);
}

static bool
tell_bind(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    rlf_look_named named;
    bool metric = c->stmt && c->stmt->kind == RLF_AST_REPORT;
    out->value =
        rlf_look_value(look, rlf_look_entity_given(look, c->name->span));
    if (!metric && rlf_look_name(look, c->decl, c->at, c->name->text, &named) &&
        named.local)
        return tell_named(look, &named, out);
    out->definition = c->name->span;
    out->code = rlf_arena_printf(look->arena, metric ? "report %s" : "%s",
                                 c->name->text);
    out->doc = metric ? "a metric of each step" : NULL;
    return true;
}

static bool
tell_over(const rlf_look_cursor *c, rlf_look_meaning *out)
{
    static const struct {
        const char *word, *doc;
    } levels[] = {{"tokens", "over the tokens of each response"},
                  {"group", "over the samples of each prompt"},
                  {"batch", "over all that there is in the step"},
                  {"vocab", "over the words of the vocabulary at each token"}};
    for (size_t i = 0; i < RLF_COUNT(levels); i++)
        if (strcmp(levels[i].word, c->name->text) == 0) {
            out->code = levels[i].word;
            out->doc = levels[i].doc;
            return true;
        }
    return false;
}

static bool
tell(rlf_look *look, const rlf_look_cursor *c, rlf_look_meaning *out)
{
    if (c->expr)
        out->value = rlf_look_value(
            look, rlf_look_entity(look, c->call ? c->call : c->expr));
    switch (c->role) {
    case RLF_LOOK_USE:
        return tell_use(look, c, out);
    case RLF_LOOK_FIELD:
        return tell_field(look, c, out);
    case RLF_LOOK_LABEL:
        return tell_label(look, c, out);
    case RLF_LOOK_BIND:
        return tell_bind(look, c, out);
    case RLF_LOOK_DECL:
        return tell_decl(look, c->decl, out);
    case RLF_LOOK_FORMAL:
        return tell_use(look, c, out);
    case RLF_LOOK_OVER:
        return tell_over(c, out);
    case RLF_LOOK_IMPORT:
        return tell_import(look, c, out);
    case RLF_LOOK_NOTHING:
        break;
    }
    return false;
}

/* The text in quotes of a path. */
static bool
tell_path(const rlf_look *look, uint32_t offset, rlf_look_meaning *out)
{
    const char *text = rlf_sources_get(look->sema->sources, look->source)->text;
    for (size_t i = 0; i < look->paths.count; i++) {
        const rlf_look_path *p = &look->paths.data[i];
        if (p->span.source != program_of(look)->program->source ||
            offset < p->span.first || offset >= p->span.last ||
            text[p->span.first] != '"')
            continue;
        out->span = p->span;
        out->code = out->file = p->path;
        return true;
    }
    return false;
}

bool
rlf_look_at(rlf_look *look, uint32_t offset, rlf_look_meaning *out)
{
    rlf_look_cursor c;
    rlf_look_find(program_of(look)->program, offset, &c);
    /* Behind a word is on it, too. */
    if (c.role == RLF_LOOK_NOTHING && offset > 0)
        rlf_look_find(program_of(look)->program, offset - 1, &c);
    *out = (rlf_look_meaning){0};
    if (c.name)
        out->span = c.name->span;
    return c.role == RLF_LOOK_NOTHING ? tell_path(look, offset, out)
                                      : tell(look, &c, out);
}
