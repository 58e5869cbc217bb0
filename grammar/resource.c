/* Declarations of data, models, hooks and states: resources of the graph. */
#include "grammar/passes.h"

#include <string.h>

/* ---- constructors ---- */

const rlf_constructor *
rlf_constructor_of(rlf_sema *s, rlf_resource_kind kind, const rlf_ast_expr *e)
{
    const rlf_resource_class *class = s->classes->resource[kind];
    const char *name = NULL;
    rlf_span at = e->span;
    if (e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_NAME)
        name = e->left->name.text;
    /* d.where(...) is a constructor with the data before the dot. */
    if (e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_FIELD)
        name = e->left->name.text;
    if (name)
        at = e->left->at;
    const rlf_constructor *c =
        name ? rlf_classes_constructor(s->classes, kind, NULL, name) : NULL;
    if (c && c->rest) {
        rlf_diag *diag = rlf_diag_error(s->diags, "name", at,
                                        "'%s' is no call, but a part of a data "
                                        "set",
                                        name);
        rlf_diag_hint(s->diags, diag, "d.%s, of a data set d that has %s: N",
                      name, name);
        return NULL;
    }
    if (c && c->chooses == (e->left->kind == RLF_AST_FIELD))
        return c;
    if (c) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "name", at, "'%s(...)' is written %s", name,
            c->chooses ? "after a data set, with a dot"
                       : "by itself, not after a name and a dot");
        const rlf_ast_expr *before = c->chooses ? NULL : e->left->left;
        if (before && before->kind == RLF_AST_NAME && !e->args)
            rlf_diag_hint(s->diags, diag, "%s(%s)", name, before->name.text);
        else
            rlf_diag_hint(s->diags, diag, c->chooses ? "d.%s(...)" : "%s(...)",
                          name);
        return NULL;
    }
    const char **names =
        RLF_NEW_ARRAY(s->arena, const char *, class->n_constructors);
    size_t n = 0;
    rlf_buf list = {0};
    for (int i = 0; i < class->n_constructors; i++) {
        if (class->constructors[i].within || class->constructors[i].rest)
            continue;
        names[n++] = class->constructors[i].name;
        rlf_buf_printf(&list, "%s%s(...)", n > 1 ? ", " : "", names[n - 1]);
    }
    rlf_diag *diag =
        name ? rlf_diag_error(s->diags, "name", at,
                              "nothing named '%s(...)' makes a %s", name,
                              class->noun)
             : rlf_diag_error(s->diags, "type", at, "this does not make a %s",
                              class->noun);
    const char *nearest = name ? rlf_str_nearest(name, names, n) : NULL;
    if (nearest)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
    else
        rlf_diag_hint(s->diags, diag, "it is made by %s", list.p);
    rlf_buf_free(&list);
    return NULL;
}

static bool
make(rlf_sema *s, rlf_resource_kind kind, const rlf_ast_decl *decl,
     const rlf_module *module, rlf_resource *out)
{
    *out = (rlf_resource){.class = s->classes->resource[kind],
                          .name = decl->name.text,
                          .source = -1,
                          .directory = module->directory,
                          .span = decl->span};
    const rlf_constructor *c = rlf_constructor_of(s, kind, decl->value);
    if (!c || !rlf_args_constructor(s, decl->value, c, kind, &out->args,
                                    &out->n_args))
        return false;
    out->constructor = c->name;
    for (int i = 0; i < out->n_args; i++) {
        if (out->args[i].kind == RLF_ARG_RESOURCE)
            out->source = out->args[i].resource;
    }
    return true;
}

/* ---- hooks ---- */

static bool
is_level(const char *word)
{
    return rlf_word_is_of("sample|prompt|token|text|scalar", word);
}

/* A hook per step gives scalars, all others give a value for each sample or
 * token; every hook can give texts. */
static bool
gives_level(rlf_sema *s, const rlf_node_class *class, const rlf_ast_name *word)
{
    bool step = class->level == RLF_LEVEL_SCALAR;
    if (rlf_word_is_of(step ? "scalar|text" : "sample|token|text", word->text))
        return true;
    bool level = is_level(word->text);
    rlf_diag *diag =
        level ? rlf_diag_error(s->diags, "level", word->span,
                               "a hook per %s cannot give one per %s",
                               class->name, word->text)
              : rlf_diag_error(s->diags, "name", word->span,
                               "a hook cannot give one per '%s'", word->text);
    if (step)
        rlf_diag_hint(s->diags, diag,
                      "it gives numbers or texts; leave out 'per: step' to "
                      "have one per sample");
    else if (!strcmp(word->text, "scalar"))
        rlf_diag_hint(s->diags, diag,
                      "a hook with 'per: step' gives one per step; or reduce "
                      "the result: mean(... over batch)");
    else if (!strcmp(word->text, "prompt"))
        rlf_diag_hint(
            s->diags, diag,
            "reduce the result: mean(... over group); called with a "
            "set of prompts, a hook gives one per prompt without '->'");
    else
        rlf_diag_hint(s->diags, diag, "it gives a sample, token or text");
    return false;
}

/* Is the name of result `i` that of no other? */
static bool
is_new_give(rlf_sema *s, const rlf_give *gives, size_t i,
            const rlf_ast_name *name)
{
    bool ok = name->text && !strcmp(name->text, "ok"), twice = false;
    for (size_t k = 0; k < i; k++)
        twice = twice || !strcmp(gives[k].name, name->text);
    if (!ok && !twice)
        return true;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "name", name->span,
        ok ? "each call gives an '%s' of its own: whether it went well"
           : "'%s' is given a second time",
        name->text);
    rlf_diag_hint(s->diags, diag, "give it another name");
    return false;
}

static bool
make_gives(rlf_sema *s, const rlf_ast_decl *decl, rlf_resource *out)
{
    size_t n = decl->formals ? decl->formals->count : 1;
    rlf_give *gives = RLF_NEW_ARRAY(s->arena, rlf_give, n);
    const char *usual = out->calls->gives == RLF_GIVES_TEXT     ? "text"
                        : out->calls->level == RLF_LEVEL_SCALAR ? "scalar"
                                                                : "sample";
    gives[0] = (rlf_give){"", usual};
    if (decl->word.text && is_level(decl->word.text)) {
        if (!gives_level(s, out->calls, &decl->word))
            return false;
        gives[0].level = decl->word.text;
    } else if (decl->word.text) {
        gives[0].name = decl->word.text;
    }
    if (!is_new_give(s, gives, 0, &decl->word))
        return false;
    for (size_t i = 0; decl->formals && i < n; i++) {
        const rlf_ast_formal *f = &decl->formals->data[i];
        const char *level = f->word.text ? f->word.text : usual;
        if (f->word.text && !gives_level(s, out->calls, &f->word))
            return false;
        gives[i] = (rlf_give){f->name.text, level};
        if (!is_new_give(s, gives, i, &f->name))
            return false;
    }
    out->gives = gives;
    out->n_gives = (int)n;
    if (out->calls->gives == RLF_GIVES_TEXT &&
        (n != 1 || gives[0].name[0] || strcmp(gives[0].level, "text") != 0)) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "type", decl->span,
                           "a hook per %s gives a text", out->calls->name);
        rlf_diag_hint(s->diags, diag, "leave the arrow out, or write -> text");
        return false;
    }
    return true;
}

static bool
make_hook(rlf_sema *s, const rlf_ast_decl *decl, rlf_resource *out)
{
    const char *per = out->class->hook->per(out);
    out->calls =
        rlf_classes_find(s->classes, RLF_FORM_HOOK, RLF_RECEIVER_HOOK, per);
    if (!out->calls) {
        rlf_diag_error(s->diags, "unsupported", decl->span,
                       "hooks per %s cannot run", per);
        return false;
    }
    return make_gives(s, decl, out);
}

/* ---- what a declaration is ---- */

static const char *
known_key(const rlf_sema *s, const rlf_ast_decl *decl)
{
    return rlf_arena_printf(s->arena, "%p", (const void *)decl);
}

static rlf_known *
find(const rlf_sema *s, const rlf_ast_decl *decl)
{
    const void *found = rlf_map_get(&s->known_at, known_key(s, decl));
    return found ? &s->known.data[(uintptr_t)found - 1] : NULL;
}

/* Enter a declaration; its number. */
static size_t
enter(rlf_sema *s, rlf_known known)
{
    RLF_PUSH_IN(s->arena, &s->known, known);
    rlf_map_put(&s->known_at, known_key(s, known.decl),
                (void *)(uintptr_t)s->known.count);
    return s->known.count - 1;
}

static rlf_entity
work_out(rlf_sema *s, const rlf_ast_decl *decl, rlf_module *module)
{
    static const rlf_entity_kind entities[] = {
        [RLF_AST_MODEL] = RLF_ENTITY_MODEL, [RLF_AST_HOOK] = RLF_ENTITY_HOOK};
    static const rlf_resource_kind kinds[] = {
        [RLF_AST_MODEL] = RLF_RESOURCE_MODEL,
        [RLF_AST_HOOK] = RLF_RESOURCE_HOOK};
    if (decl->kind == RLF_AST_PARAM)
        return rlf_param_value(s, decl, module);
    rlf_entity entity = rlf_entity_none(decl->name.span);
    if (decl->kind == RLF_AST_DATA) {
        entity.resource =
            rlf_data_make(s, decl->value, decl->name.text, decl->span, module);
        if (entity.resource >= 0)
            entity.kind = RLF_ENTITY_DATA;
        return entity;
    }
    rlf_resource resource;
    if (!make(s, kinds[decl->kind], decl, module, &resource))
        return entity;
    if (decl->kind == RLF_AST_HOOK && !make_hook(s, decl, &resource))
        return entity;
    entity.kind = entities[decl->kind];
    entity.resource = rlf_graph_add_resource(s->graph, resource);
    return entity;
}

/* Work something out as if at the top of `module`. */
typedef struct place {
    rlf_scope *scope;
    int part, update, choosing, method_set, idle, maybe;
} place;

static place
go_to(rlf_sema *s, rlf_module *module)
{
    place before = {s->scope,      s->part, s->update, s->choosing,
                    s->method_set, s->idle, s->maybe};
    rlf_scope_push(s, NULL, module);
    s->part = s->update = s->choosing = s->method_set = -1;
    s->idle = s->maybe = 0;
    return before;
}

static void
come_back(rlf_sema *s, place before)
{
    s->scope = before.scope;
    s->part = before.part;
    s->update = before.update;
    s->choosing = before.choosing;
    s->method_set = before.method_set;
    s->idle = before.idle;
    s->maybe = before.maybe;
}

rlf_entity
rlf_sema_declared(rlf_sema *s, const rlf_ast_decl *decl, rlf_module *module)
{
    rlf_known *known = find(s, decl);
    if (known && known->busy) {
        rlf_diag_error(s->diags, "name", decl->name.span,
                       "'%s' is declared by itself", decl->name.text);
        return rlf_entity_none(decl->name.span);
    }
    if (known)
        return known->entity;
    size_t index =
        enter(s, (rlf_known){.decl = decl, .module = module, .busy = true});
    place before = go_to(s, module);
    rlf_entity entity = work_out(s, decl, module);
    come_back(s, before);
    s->known.data[index].entity = entity;
    s->known.data[index].busy = false;
    while (entity.kind == RLF_ENTITY_MODEL &&
           s->known_of.count <= (size_t)entity.resource)
        RLF_PUSH_IN(s->arena, &s->known_of, 0);
    if (entity.kind == RLF_ENTITY_MODEL)
        s->known_of.data[entity.resource] = (int)index + 1;
    return entity;
}

/* The data set with a number per row. */
static bool
state_data(rlf_sema *s, const char *state, const rlf_ast_name *word, int *out)
{
    rlf_ast_expr name = {.kind = RLF_AST_NAME,
                         .span = word->span,
                         .at = word->span,
                         .name = *word};
    rlf_found_name found;
    if (rlf_word_is_of("int|float|bool|text|path|scalar|number", word->text) &&
        !rlf_name_find(s, word, &found)) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", word->span,
                                        "a state has no type: it is a number");
        rlf_diag_hint(s->diags, diag, "leave it out: state %s = ...", state);
        return false;
    }
    rlf_entity entity = rlf_eval(s, &name);
    if (entity.kind == RLF_ENTITY_DATA) {
        *out = entity.resource;
        return true;
    }
    if (entity.kind != RLF_ENTITY_NONE)
        rlf_diag_hint(
            s->diags,
            rlf_diag_error(s->diags, "type", word->span,
                           "a state has one number, or one per row of a data "
                           "set, and this is %s",
                           rlf_entity_word(s, &entity)),
            "state %s = ... is one number; state %s : DATA = ... one per row "
            "of DATA",
            state, state);
    return false;
}

int
rlf_sema_state(rlf_sema *s, const rlf_ast_decl *decl, rlf_module *module)
{
    rlf_known *known = find(s, decl);
    if (known)
        return known->entity.resource;
    size_t index =
        enter(s, (rlf_known){.decl = decl,
                             .module = module,
                             .entity = rlf_entity_none(decl->name.span)});
    const rlf_constructor *c =
        rlf_classes_constructor(s->classes, RLF_RESOURCE_STATE, NULL,
                                decl->word.text ? "rows" : "number");
    place before = go_to(s, module);
    int term = rlf_eval_plain(s, decl->value), source = -1;
    double value;
    bool good =
        rlf_term_constant(s, term, &value) &&
        rlf_finite_use(s, term, RLF_NONFINITE_INFINITE, decl->value->span);
    if (decl->word.text)
        good = state_data(s, decl->name.text, &decl->word, &source) && good;
    come_back(s, before);
    if (!good)
        return -1;
    rlf_arg *arg = RLF_NEW(s->arena, rlf_arg);
    *arg = (rlf_arg){.kind = RLF_ARG_NUMBER,
                     .number = value,
                     .given = true,
                     .span = decl->value->span};
    int resource = rlf_graph_add_resource(
        s->graph,
        (rlf_resource){
            .class = s->classes->resource[RLF_RESOURCE_STATE],
            .name = decl->name.text,
            .constructor = c->name,
            .args = arg,
            .n_args = 1,
            .source = source,
            .domain = source < 0 ? 0 : s->graph->resources.data[source].domain,
            .directory = module->directory,
            .span = decl->span});
    s->known.data[index].entity.resource = resource;
    return resource;
}

const rlf_ast_expr *
rlf_sema_optimizer(rlf_sema *s, int model, rlf_module **module)
{
    int number =
        (size_t)model < s->known_of.count ? s->known_of.data[model] : 0;
    const rlf_known *known = number ? &s->known.data[number - 1] : NULL;
    const rlf_ast_args *args = known ? known->decl->value->args : NULL;
    if (known)
        *module = known->module;
    for (size_t k = 0; args && k < args->count; k++) {
        const rlf_ast_arg *arg = &args->data[k];
        if (arg->label.text && !strcmp(arg->label.text, "optimizer") &&
            arg->value->kind == RLF_AST_CALL)
            return arg->value;
    }
    return NULL;
}

void
rlf_sema_resources(rlf_sema *s)
{
    for (size_t m = 0; m < s->modules.count; m++) {
        rlf_module *module = s->modules.data[m];
        for (size_t i = 0; i < module->program->decls.count; i++) {
            const rlf_ast_decl *decl = module->program->decls.data[i];
            if (decl->kind == RLF_AST_DATA || decl->kind == RLF_AST_MODEL ||
                decl->kind == RLF_AST_HOOK)
                rlf_sema_declared(s, decl, module);
            else if (decl->kind == RLF_AST_STATE)
                rlf_sema_state(s, decl, module);
        }
    }
}
