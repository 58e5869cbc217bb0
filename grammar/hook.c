/* Calls of hooks: the arguments that they add, and the record of results. */
#include "grammar/call.h"

#include <string.h>

/* The domain of a result; -1: the set has none of that level. */
static int
give_domain(const rlf_sema *s, const char *level, int set)
{
    if (set < 0)
        return 0;
    const rlf_set *d = &s->graph->sets.data[set];
    if (!strcmp(level, "token"))
        return d->tokens;
    return d->samples;
}

/* The results of a hook by name, with `ok` behind them. */
static rlf_entity
make_record(rlf_sema *s, const rlf_resource *hook, int index, int set,
            rlf_span span)
{
    rlf_hook_outputs *r = RLF_NEW(s->arena, rlf_hook_outputs);
    r->hook = hook->name;
    r->gives = hook->gives;
    r->n_gives = hook->n_gives;
    r->values = RLF_NEW_ARRAY(s->arena, rlf_entity, hook->n_gives + 1);
    for (int i = 0; i <= hook->n_gives; i++) {
        const char *level = i < hook->n_gives ? hook->gives[i].level : "sample";
        const char *name = i == hook->n_gives       ? "ok"
                           : hook->gives[i].name[0] ? hook->gives[i].name
                                                    : hook->name;
        int term = rlf_item_output_term(s, index, give_domain(s, level, set),
                                        strcmp(level, "text") == 0, set, name);
        r->values[i] = rlf_entity_term(s, term, span);
    }
    rlf_entity entity = rlf_entity_none(span);
    entity.kind = RLF_ENTITY_RECORD;
    entity.record = r;
    return entity;
}

/* Arguments that a call adds go down to the rows that the hook is called for.
 */
static bool
extras_reach(rlf_sema *s, const rlf_item *item, int set)
{
    int rows = set >= 0 ? s->graph->sets.data[set].samples : 0;
    for (int i = item->class->n_formals; i < item->n_args; i++) {
        const rlf_arg *arg = &item->args[i];
        if (arg->kind != RLF_ARG_VALUE)
            continue;
        const rlf_term *t = &s->terms.data[arg->value];
        if (rlf_domain_reaches(&s->graph->domains, t->domain, rows))
            continue;
        const char *what = rlf_level_name(s, t->domain, t->set);
        if (set < 0)
            rlf_diag_error(s->diags, "level", arg->span,
                           "a hook per step takes scalars, and '%s' is %s",
                           arg->name, what);
        else
            rlf_diag_error(s->diags, "level", arg->span,
                           "'%s' is %s, which is not broadcast to the samples "
                           "of '%s'",
                           arg->name, what, s->graph->sets.data[set].name);
        return false;
    }
    return true;
}

/* An argument that a call adds would stand in the place of a field of the data
 * row. */
static bool
extras_hide(rlf_sema *s, const rlf_item *item, int set)
{
    int data = set >= 0 ? s->graph->sets.data[set].data : -1;
    for (int i = item->class->n_formals; i < item->n_args && data >= 0; i++) {
        const rlf_arg *arg = &item->args[i];
        const rlf_resource *of = &s->graph->resources.data[data];
        rlf_field kind = RLF_FIELD_NONE;
        const char *near = NULL;
        rlf_err ignored = RLF_ERR_NONE;
        if (of->class->data->field(s->graph, of, arg->name, &ignored, &kind,
                                   &near) < 0 ||
            kind == RLF_FIELD_NONE)
            continue;
        rlf_diag *diag = rlf_diag_error(
            s->diags, "argument", arg->span,
            "what a call adds cannot be called '%s': that is a field of '%s', "
            "which the function would not see",
            arg->name, of->name);
        rlf_diag_hint(s->diags, diag,
                      "choose another name, as in given_%s:", arg->name);
        return true;
    }
    return false;
}

rlf_entity
rlf_call_hook(rlf_sema *s, int hook, const rlf_ast_expr *call)
{
    rlf_entity none = rlf_entity_none(call->span);
    const rlf_resource *resource = &s->graph->resources.data[hook];
    const rlf_node_class *class = resource->calls;
    if (rlf_eval_outside(s, call->span, "a hook"))
        return none;
    if (s->update >= 0) {
        rlf_diag *diag = rlf_diag_error(s->diags, "update", call->span,
                                        "an update holds no Lua");
        rlf_diag_hint(s->diags, diag, "give the result a name before it");
        return none;
    }
    if (class->gives == RLF_GIVES_TEXT) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "type", call->span,
            "'%s' is per %s: a generation calls it, not the flow",
            resource->name, class->name);
        rlf_diag_hint(s->diags, diag, "m.generate(..., tool: %s, turns: 4)",
                      resource->name);
        return none;
    }
    rlf_item *item = rlf_item_new(s, class, hook, call->span);
    size_t before = s->diags->list.count;
    if (!rlf_args_match(s, call->args, class->formals, class->n_formals,
                        class->extra, resource->name, call->at, item)) {
        rlf_import_hint_hook(s, call, before);
        return none;
    }
    rlf_call_check_supported(s, class, call->span);
    resource = &s->graph->resources.data[hook];
    int set = rlf_call_set_argument(item);
    for (int i = 0; i < resource->n_gives && set >= 0; i++) {
        if (give_domain(s, resource->gives[i].level, set) < 0) {
            rlf_diag_error(s->diags, "level", call->span,
                           "'%s' gives one per token, and '%s' has no "
                           "responses",
                           resource->name, s->graph->sets.data[set].name);
            return none;
        }
    }
    if (!extras_reach(s, item, set) || extras_hide(s, item, set))
        return none;
    rlf_call_read_arguments(s, item);
    int index = rlf_item_place(s, item);
    rlf_entity record = make_record(s, resource, index, set, call->span);
    bool plain = resource->n_gives == 1 && !resource->gives[0].name[0];
    if (plain && record.record->values[0].kind == RLF_ENTITY_WORDS)
        return record.record->values[0];
    return record;
}
