/* Calls of what classes do: methods, functions, fields, draws. Those of hooks
 * are in hook.c. */
#include "grammar/call.h"

#include "grammar/other_names.h"

#include <string.h>

/* ---- what is the same for all ---- */

void
rlf_call_check_supported(rlf_sema *s, const rlf_node_class *class,
                         rlf_span span)
{
    if (class->unsupported)
        rlf_sema_refuse(s, span, class->unsupported,
                        class->level != RLF_LEVEL_VOCAB);
}

int
rlf_call_set_argument(const rlf_item *item)
{
    for (size_t i = 0; i < item->inputs.count; i++) {
        if (item->inputs.data[i].is_set)
            return item->inputs.data[i].id;
    }
    return -1;
}

/* The domain of a set that a level means; -1: the set has none. */
static int
domain_at(rlf_sema *s, int set, rlf_level level)
{
    const rlf_set *d = set >= 0 ? &s->graph->sets.data[set] : NULL;
    switch (level) {
    case RLF_LEVEL_SCALAR:
        return 0;
    case RLF_LEVEL_PROMPT:
        return d ? d->prompts : -1;
    case RLF_LEVEL_SAMPLE:
        return d ? d->samples : -1;
    case RLF_LEVEL_TOKEN:
        return d ? d->tokens : -1;
    case RLF_LEVEL_VOCAB:
        return d && d->tokens >= 0 ? rlf_level_vocab(s, d->tokens) : -1;
    }
    return -1;
}

/* Token columns of a set need its responses, tokenized by one model. */
static bool
check_tokens(rlf_sema *s, const rlf_node_class *class, int model, int set,
             rlf_span span)
{
    if (set < 0 || !(class->needs_tokens || class->level >= RLF_LEVEL_TOKEN))
        return true;
    rlf_set *d = &s->graph->sets.data[set];
    if (d->tokens < 0) {
        rlf_diag *diag = rlf_diag_error(s->diags, "level", span,
                                        "'%s' has no responses", d->name);
        rlf_diag_hint(s->diags, diag,
                      "a response is made by m.generate(%s, ...) or "
                      "respond(text)",
                      d->name);
        return false;
    }
    /* The model that reads a set of given texts first makes its tokens. */
    for (int k = set; k >= 0 && model >= 0; k = s->graph->sets.data[k].origin) {
        if (s->graph->sets.data[k].model < 0)
            s->graph->sets.data[k].model = model;
    }
    return true;
}

/* One that is read without arguments: made where it is first asked for. */
static rlf_item *
new_shared(rlf_sema *s, const rlf_node_class *class, int receiver,
           rlf_span span)
{
    rlf_item *item = rlf_item_new(s, class, receiver, span);
    item->shared = true;
    item->writes.count = 0;
    return item;
}

void
rlf_call_read_arguments(rlf_sema *s, rlf_item *item)
{
    for (int i = 0; i < item->n_args; i++) {
        if (item->args[i].kind == RLF_ARG_RESOURCE &&
            item->args[i].resource != item->receiver)
            RLF_PUSH_IN(s->arena, &item->reads, item->args[i].resource);
    }
}

static const rlf_arg *
arg_named(const rlf_item *item, const char *name)
{
    return rlf_args_find(item->args, item->n_args, name);
}

/* A set given by a call: which domains it has follows from what it is made
 * of. With `n:` a generation has its own samples, else the prompt's row. */
static int
make_set(rlf_sema *s, const rlf_item *item, int receiver_set)
{
    const rlf_node_class *class = item->class;
    const char *name = rlf_arena_printf(s->arena, "%s(...)", class->name);
    int set = rlf_call_set_argument(item);
    if (class->work == RLF_WORK_GENERATE) {
        const rlf_arg *n = arg_named(item, "n");
        bool several = n && n->given;
        int made = rlf_set_generated(s, name, set, several, item->receiver,
                                     item->span);
        s->graph->sets.data[made].single =
            several && n->kind == RLF_ARG_NUMBER && n->number < 2;
        return made;
    }
    if (class->gives_turns)
        return rlf_set_conversations(s, name, set, item->span);
    int term = -1;
    for (size_t i = 0; i < item->inputs.count; i++) {
        if (!item->inputs.data[i].is_set)
            term = item->inputs.data[i].id;
    }
    const rlf_term *t = &s->terms.data[term];
    if (receiver_set >= 0) {
        const rlf_set *whole = &s->graph->sets.data[receiver_set];
        bool by_prompt =
            rlf_domain_reaches(&s->graph->domains, t->domain, whole->prompts);
        return rlf_set_part(s, name, receiver_set, by_prompt, item->span);
    }
    if (class->level == RLF_LEVEL_PROMPT)
        return rlf_set_asked(s, name, t->domain, set, item->span);
    return rlf_set_written(s, name, t->domain, set, item->span);
}

/* May it stand here, if it changes something, or ends something? */
static bool
may_change(rlf_sema *s, const rlf_item *item)
{
    if (!item->writes.count &&
        item->class->control_flow == RLF_CONTROL_FLOW_NONE)
        return true;
    if (s->update < 0 && !s->collecting)
        return true;
    const char *block = s->update >= 0 ? "update" : "collect";
    rlf_diag *diag =
        rlf_diag_error(s->diags, "statement", item->span,
                       "%s %s holds no '%s': it changes more than its result",
                       s->update >= 0 ? "an" : "a", block, item->class->name);
    rlf_diag_hint(s->diags, diag, "call it before or after the %s", block);
    return false;
}

/* Enter the item and make its one result. */
static rlf_entity
finish(rlf_sema *s, rlf_item *item, int receiver_set)
{
    const rlf_node_class *class = item->class;
    rlf_entity entity = rlf_entity_none(item->span);
    if (!may_change(s, item))
        return entity;
    rlf_call_read_arguments(s, item);
    int set = receiver_set >= 0 ? receiver_set : rlf_call_set_argument(item);
    if (class->gives == RLF_GIVES_SET) {
        int made = make_set(s, item, receiver_set);
        int index = rlf_item_place(s, item);
        rlf_item_output_set(s, index, made);
        entity.kind = RLF_ENTITY_SET;
        entity.set = made;
        return entity;
    }
    int index = rlf_item_place(s, item);
    if (class->gives == RLF_GIVES_NOTHING)
        return entity;
    int domain = domain_at(s, set, class->level);
    int term = rlf_item_output_term(
        s, index, domain, class->gives == RLF_GIVES_TEXT, set, class->name);
    if (class->level == RLF_LEVEL_VOCAB) /* it lives where it is written */
        s->terms.data[term].update = s->update;
    return rlf_entity_term(s, term, item->span);
}

/* ---- functions: ask, respond ---- */

/* The set that a text column's rows belong to stands for a `to:` that was not
 * given; it is an input in any case, for its prompts and its tokens. */
static void
fill_to(rlf_sema *s, rlf_item *item)
{
    bool given = rlf_call_set_argument(item) >= 0;
    size_t text = 0;
    while (item->inputs.data[text].is_set)
        text++;
    const rlf_term *t = &s->terms.data[item->inputs.data[text].id];
    int set = t->set >= 0 ? t->set : rlf_set_of_domain(s, t->domain);
    if (set < 0 || (given && s->graph->sets.data[set].tokens < 0))
        return;
    int input = rlf_item_input_set(s, item, set);
    for (int i = 0; i < item->class->n_formals && !given; i++) {
        if (item->class->formals[i].kind != RLF_FORMAL_SET)
            continue;
        item->args[i].kind = RLF_ARG_VALUE;
        item->args[i].value = set;
        item->args[i].input = input;
    }
}

/* The rows of the text go back to prompts of the set that it answers. */
static bool
answers(rlf_sema *s, const rlf_item *item)
{
    int set = rlf_call_set_argument(item);
    for (size_t i = 0; i < item->inputs.count && set >= 0; i++) {
        if (item->inputs.data[i].is_set)
            continue;
        const rlf_term *t = &s->terms.data[item->inputs.data[i].id];
        const rlf_set *d = &s->graph->sets.data[set];
        if (rlf_domain_reaches(&s->graph->domains, d->prompts, t->domain))
            continue;
        rlf_diag_error(s->diags, "level", item->span,
                       "the text is %s, whose rows belong to no prompts of "
                       "'%s'",
                       rlf_level_name(s, t->domain, t->set), d->name);
        return false;
    }
    return true;
}

rlf_entity
rlf_call_function(rlf_sema *s, const rlf_node_class *class,
                  const rlf_ast_expr *call)
{
    rlf_entity none = rlf_entity_none(call->span);
    rlf_item *item = rlf_item_new(s, class, -1, call->span);
    if (!rlf_args_match(s, call->args, class->formals, class->n_formals,
                        class->extra, class->name, call->at, item))
        return none;
    rlf_call_check_supported(s, class, call->span);
    if (class->gives != RLF_GIVES_SET)
        return finish(s, item, -1);
    for (size_t i = 0; i < item->inputs.count; i++) {
        const rlf_item_input *in = &item->inputs.data[i];
        rlf_level level = in->is_set
                              ? RLF_LEVEL_PROMPT
                              : rlf_level_of(s, s->terms.data[in->id].domain);
        if (level != RLF_LEVEL_PROMPT && level != RLF_LEVEL_SAMPLE) {
            rlf_diag_error(s->diags, "level", call->span,
                           "'%s' takes a text per row of a set", class->name);
            return none;
        }
    }
    fill_to(s, item);
    if (!answers(s, item))
        return none;
    return finish(s, item, -1);
}

/* ---- methods ---- */

static rlf_receiver
receiver_of(const rlf_entity *entity)
{
    switch (entity->kind) {
    case RLF_ENTITY_MODEL:
        return RLF_RECEIVER_MODEL;
    case RLF_ENTITY_SET:
        return RLF_RECEIVER_SET;
    case RLF_ENTITY_DATA:
        return RLF_RECEIVER_DATA;
    default:
        return RLF_RECEIVER_NONE;
    }
}

/* s.at_last(x), s.at_all(x): arithmetic that a set's tokens are needed for. */
static bool
at_tokens(rlf_sema *s, int set, const rlf_ast_expr *call, rlf_entity *out)
{
    const char *name = call->left->name.text;
    bool last = !strcmp(name, "at_last");
    if (!last && strcmp(name, "at_all") != 0)
        return false;
    *out = rlf_entity_none(call->span);
    if (!call->args || call->args->count != 1 ||
        call->args->data[0].label.text) {
        rlf_diag_error(s->diags, "argument", call->at,
                       "'%s' takes one argument", name);
        return true;
    }
    const rlf_set *d = &s->graph->sets.data[set];
    const rlf_ast_expr *e = call->args->data[0].value;
    int x = rlf_eval_plain(s, e);
    if (x < 0 || !rlf_term_takes(s, e, name))
        return true;
    const rlf_term *t = &s->terms.data[x];
    d = &s->graph->sets.data[set];
    if (d->tokens < 0) {
        rlf_diag_error(s->diags, "level", call->left->span,
                       "'%s' has no responses", d->name);
        return true;
    }
    if (!rlf_domain_reaches(&s->graph->domains, t->domain, d->samples)) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "level", e->span,
                           "'%s' takes one per sample of '%s', "
                           "and this is %s",
                           name, d->name, rlf_level_name(s, t->domain, t->set));
        if (rlf_level_of(s, t->domain) == RLF_LEVEL_TOKEN)
            rlf_diag_hint(s->diags, diag,
                          "it has a value on each token "
                          "already");
        return true;
    }
    int rows = rlf_term_down(s, x, d->samples, e->span);
    int term = last ? rlf_term_op(s, (rlf_term){.code = RLF_EXPR_AT_LAST,
                                                .arg = {rows, -1, -1},
                                                .domain = d->tokens,
                                                .span = call->span})
                    : rlf_term_down(s, rows, d->tokens, call->span);
    s->terms.data[term].set = set;
    *out = rlf_entity_term(s, term, call->span);
    return true;
}

static void
unknown_method(rlf_sema *s, const rlf_entity *receiver,
               const rlf_ast_expr *call)
{
    const rlf_ast_name *name = &call->left->name;
    const char *names[64];
    size_t n = 0;
    for (int i = 0; i < s->classes->n_nodes && n < RLF_COUNT(names) - 3; i++) {
        const rlf_node_class *c = s->classes->node[i];
        if (c->form == RLF_FORM_CALL && c->receiver == receiver_of(receiver))
            names[n++] = c->name;
    }
    if (receiver->kind == RLF_ENTITY_SET) {
        names[n++] = "at_last";
        names[n++] = "at_all";
        names[n++] = "split";
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "name", name->span, "%s has no method '%s'",
                       rlf_entity_word(s, receiver), name->text);
    if (rlf_form_method(s, diag, receiver, call))
        return;
    const char *meant = rlf_other_name(name->text, names, n);
    if (meant)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", meant);
    else
        rlf_form_methods(s, diag, receiver,
                         rlf_form_text(s, call->left->left->span));
}

/* A condition of another set, or of a finer level, than what is chosen from. */
static void
hint_choice(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *call, int set,
            const rlf_term *t)
{
    const char *name = call->left->name.text;
    const char *c = call->args && call->args->count
                        ? rlf_form_text(s, call->args->data[0].span)
                        : "...";
    const rlf_domains *domains = &s->graph->domains;
    int of = t->set >= 0 ? t->set : rlf_set_of_domain(s, t->domain);
    const rlf_set *d = &s->graph->sets.data[set];
    if (t->domain == 0)
        rlf_diag_hint(s->diags, diag,
                      "for all samples or none of them: if %s { ... }", c);
    else if (rlf_level_of(s, t->domain) > RLF_LEVEL_SAMPLE)
        rlf_diag_hint(s->diags, diag, "reduce it: max(%s over tokens)", c);
    else if (of >= 0 && of != set &&
             rlf_domain_reaches(domains, d->prompts, t->domain))
        rlf_diag_hint(s->diags, diag,
                      "choose samples of '%s': %s.%s(%s); or prompts, by what "
                      "is one per prompt: max(%s over group)",
                      s->graph->sets.data[of].name,
                      s->graph->sets.data[of].name, name, c, c);
}

/* Does it read all of a set whose pieces a loop around walks? */
static void
note_reread(rlf_sema *s, const rlf_node_class *class, int model, int set,
            bool live, rlf_span span)
{
    for (const rlf_loop *loop = s->loop; loop; loop = loop->outer)
        if (loop->whole == set)
            RLF_PUSH_IN(s->arena, &s->rereads,
                        (rlf_reread){.model = model,
                                     .whole = set,
                                     .piece = loop->piece,
                                     .part = loop->part,
                                     .method = class->name,
                                     .live = live,
                                     .span = span});
}

static rlf_entity
call_class(rlf_sema *s, const rlf_node_class *class, const rlf_entity *receiver,
           const rlf_ast_expr *call)
{
    rlf_entity none = rlf_entity_none(call->span);
    bool on_set = receiver->kind == RLF_ENTITY_SET;
    int method_set = s->method_set;
    int model = receiver->kind == RLF_ENTITY_MODEL ? receiver->resource : -1;
    rlf_item *item = rlf_item_new(s, class, model, call->span);
    if (on_set)
        rlf_item_input_set(s, item, receiver->set);
    s->method_set = on_set ? receiver->set : -1;
    bool good = rlf_args_match(s, call->args, class->formals, class->n_formals,
                               class->extra, class->name, call->left->at, item);
    s->method_set = method_set;
    /* The error was reported already; where a set is made it is there
     * nevertheless, so that what follows is looked at too. */
    if (!good &&
        (class->work != RLF_WORK_GENERATE || rlf_call_set_argument(item) < 0))
        return none;
    rlf_call_check_supported(s, class, call->span);
    int set = on_set ? receiver->set : rlf_call_set_argument(item);
    if (!check_tokens(s, class, model, set, call->span))
        return none;
    int term;
    bool live = rlf_update_live(s, item, set, &term);
    if (model >= 0 && class->work != RLF_WORK_GENERATE)
        note_reread(s, class, model, set, live, call->span);
    if (live)
        return rlf_entity_term(s, term, call->span);
    if (s->update >= 0 && class->work == RLF_WORK_GENERATE) {
        rlf_diag *diag = rlf_diag_error(s->diags, "update", call->span,
                                        "an update holds no generation");
        rlf_diag_hint(s->diags, diag, "give the set a name before it");
        return none;
    }
    if (on_set && class->gives == RLF_GIVES_SET) {
        int condition = item->inputs.data[item->inputs.count - 1].id;
        const rlf_term *t = &s->terms.data[condition];
        const rlf_set *d = &s->graph->sets.data[set];
        if (t->domain == 0 ||
            !rlf_domain_reaches(&s->graph->domains, t->domain, d->samples)) {
            rlf_diag *diag = rlf_diag_error(
                s->diags, "level", call->span,
                "'%s' takes one per sample or prompt of '%s', and this is %s",
                class->name, d->name, rlf_level_name(s, t->domain, t->set));
            hint_choice(s, diag, call, set, t);
            return none;
        }
    }
    return finish(s, item, on_set ? receiver->set : -1);
}

rlf_entity
rlf_call_method(rlf_sema *s, const rlf_entity *receiver,
                const rlf_ast_expr *call)
{
    const rlf_ast_name *name = &call->left->name;
    rlf_entity none = rlf_entity_none(call->span), entity = *receiver;
    if (rlf_eval_outside(s, call->span, "a call"))
        return none;
    if (entity.kind == RLF_ENTITY_DATA) {
        entity = rlf_call_data(s, entity.resource, entity.span);
        if (entity.kind != RLF_ENTITY_SET)
            return none;
    }
    rlf_entity out;
    if (entity.kind == RLF_ENTITY_SET && at_tokens(s, entity.set, call, &out))
        return out;
    const rlf_node_class *class =
        receiver_of(&entity) == RLF_RECEIVER_NONE
            ? NULL
            : rlf_classes_find(s->classes, RLF_FORM_CALL, receiver_of(&entity),
                               name->text);
    if (class)
        return call_class(s, class, &entity, call);
    if (entity.kind == RLF_ENTITY_SET && !strcmp(name->text, "split")) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", call->span,
                                        "pieces are for a loop only");
        rlf_diag_hint(s->diags, diag, "for mini in s.split(...) { ... }");
    } else if (receiver_of(&entity) == RLF_RECEIVER_NONE) {
        rlf_form_method(
            s,
            rlf_diag_error(s->diags, "type", name->span, "%s no methods",
                           entity.kind == RLF_ENTITY_RECORD
                               ? "the hook's results have"
                               : rlf_arena_printf(s->arena, "%s has",
                                                  rlf_entity_word(s, &entity))),
            &entity, call);
    } else {
        unknown_method(s, &entity, call);
    }
    return none;
}

/* ---- fields ---- */

/* Hints at what a field that a set does not have was meant to be. `nearest`:
 * the field of its data that is called nearly so, or NULL. */
static void
hint_field(rlf_sema *s, rlf_diag *diag, const rlf_ast_expr *e, const rlf_set *d,
           const char *nearest)
{
    const char *names[32], *list = "", *name = e->name.text;
    const char *x = rlf_form_text(s, e->left->span);
    size_t n = 0;
    for (int i = 0; i < s->classes->n_nodes && n < RLF_COUNT(names); i++) {
        const rlf_node_class *c = s->classes->node[i];
        bool method = c->receiver == RLF_RECEIVER_SET &&
                      c->form == RLF_FORM_CALL && !strcmp(c->name, name);
        if (method) {
            rlf_diag_hint(s->diags, diag, "a method is called: %s.%s(...)", x,
                          name);
            return;
        }
        if (c->form != RLF_FORM_FIELD || c->receiver != RLF_RECEIVER_SET ||
            (d->tokens < 0 && c->needs_tokens) || c->unsupported)
            continue;
        names[n++] = c->name;
        list = rlf_arena_printf(s->arena, "%s%s%s.%s", list, *list ? ", " : "",
                                x, c->name);
    }
    const char *meant = rlf_other_name(name, names, n);
    if (!strcmp(name, "size") || !strcmp(name, "count"))
        rlf_diag_hint(s->diags, diag,
                      "how many samples there are is count(y over batch), of "
                      "a value y of each");
    else if (nearest || meant)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?",
                      nearest ? nearest : meant);
    else
        rlf_diag_hint(s->diags, diag, "it has %s%s", list,
                      d->data >= 0 ? ", and the fields of its data" : "");
}

/* A field of the data rows that a set's prompts came from. */
static rlf_entity
data_field(rlf_sema *s, int set, const rlf_ast_expr *e)
{
    const rlf_set *d = &s->graph->sets.data[set];
    rlf_entity none = rlf_entity_none(e->span);
    rlf_field kind = RLF_FIELD_NONE;
    const char *nearest = NULL;
    if (d->data >= 0 && !rlf_data_kind(s, d->data, &e->name, &kind, &nearest))
        return none;
    if (kind == RLF_FIELD_NONE) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "name", e->name.span,
                           "'%s' has no field '%s'", d->name, e->name.text);
        hint_field(s, diag, e, d, nearest);
        return none;
    }
    const rlf_node_class *class =
        rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_DATA,
                         kind == RLF_FIELD_TEXT ? "words" : "number");
    int term = rlf_item_made(s, class, set, e->name.text);
    if (term >= 0)
        return rlf_entity_term(s, term, e->span);
    rlf_item *item = new_shared(s, class, d->data, e->span);
    rlf_item_input_set(s, item, set);
    item->args = RLF_NEW(s->arena, rlf_arg);
    item->args[0] = (rlf_arg){.kind = RLF_ARG_TEXT,
                              .name = "name",
                              .text = e->name.text,
                              .given = true,
                              .span = e->name.span};
    item->n_args = 1;
    int index = rlf_item_place(s, item);
    term = rlf_item_output_term(s, index, domain_at(s, set, class->level),
                                kind == RLF_FIELD_TEXT, set, e->name.text);
    rlf_item_keep(s, class, set, e->name.text, term);
    return rlf_entity_term(s, term, e->span);
}

static rlf_entity
set_field(rlf_sema *s, int set, const rlf_ast_expr *e)
{
    const rlf_node_class *class = rlf_classes_find(
        s->classes, RLF_FORM_FIELD, RLF_RECEIVER_SET, e->name.text);
    rlf_entity none = rlf_entity_none(e->span);
    if (!class)
        return data_field(s, set, e);
    if (!check_tokens(s, class, -1, set, e->span))
        return none;
    rlf_call_check_supported(s, class, e->span);
    int term = rlf_item_made(s, class, set, NULL);
    if (term >= 0)
        return rlf_entity_term(s, term, e->span);
    rlf_item *item = new_shared(s, class, -1, e->span);
    rlf_item_input_set(s, item, set);
    int index = rlf_item_place(s, item);
    term =
        rlf_item_output_term(s, index, domain_at(s, set, class->level),
                             class->gives == RLF_GIVES_TEXT, set, class->name);
    rlf_item_keep(s, class, set, NULL, term);
    return rlf_entity_term(s, term, e->span);
}

static rlf_entity
record_field(rlf_sema *s, const rlf_hook_outputs *r, const rlf_ast_expr *e)
{
    const char **names = RLF_NEW_ARRAY(s->arena, const char *, r->n_gives + 1);
    for (int i = 0; i < r->n_gives; i++)
        names[i] = r->gives[i].name;
    names[r->n_gives] = "ok";
    for (int i = 0; i <= r->n_gives; i++) {
        if (!strcmp(names[i], e->name.text))
            return r->values[i];
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "name", e->name.span, "'%s' gives no '%s'",
                       r->hook, e->name.text);
    const char *nearest =
        rlf_str_nearest(e->name.text, names, (size_t)r->n_gives + 1);
    if (rlf_builtin_reduces(e->name.text))
        rlf_diag_hint(s->diags, diag, "write %s(%s over batch)", e->name.text,
                      rlf_form_text(s, e->left->span));
    else if (nearest)
        rlf_diag_hint(s->diags, diag, "did you mean '%s'?", nearest);
    else if (r->n_gives == 1 && !r->gives[0].name[0])
        rlf_diag_hint(s->diags, diag,
                      "what a hook gives is named where it is declared: "
                      "hook %s = lua(...) -> (%s, ...)",
                      r->hook, e->name.text);
    return rlf_entity_none(e->span);
}

rlf_entity
rlf_call_field(rlf_sema *s, const rlf_entity *receiver, const rlf_ast_expr *e)
{
    rlf_entity none = rlf_entity_none(e->span), entity = *receiver;
    if (entity.kind == RLF_ENTITY_RECORD)
        return record_field(s, entity.record, e);
    if (entity.kind == RLF_ENTITY_DATA && rlf_data_part(s, &entity, e))
        return entity;
    if (entity.kind == RLF_ENTITY_DATA && s->choosing >= 0)
        return rlf_data_field(s, entity.resource, e);
    if (entity.kind == RLF_ENTITY_DATA || entity.kind == RLF_ENTITY_SET) {
        int set = rlf_entity_set(s, &entity, entity.span);
        return set < 0 ? none : set_field(s, set, e);
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "type", e->name.span, "%s has no field '%s'",
                       rlf_entity_word(s, &entity), e->name.text);
    const char *x = rlf_form_text(s, e->left->span);
    if (entity.kind == RLF_ENTITY_MODEL)
        rlf_diag_hint(s->diags, diag, "a method is called: %s.%s(...)", x,
                      e->name.text);
    else if (rlf_builtin_reduces(e->name.text))
        rlf_diag_hint(s->diags, diag, "write %s(%s over batch)", e->name.text,
                      x);
    else if (rlf_builtin_is(e->name.text))
        rlf_diag_hint(s->diags, diag, "write %s(%s)", e->name.text, x);
    return none;
}

/* ---- data, states, values ---- */

rlf_entity
rlf_call_data(rlf_sema *s, int data, rlf_span span)
{
    rlf_entity entity = rlf_entity_none(span);
    if (rlf_eval_outside(s, span, "a data set"))
        return entity;
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "draw");
    entity.kind = RLF_ENTITY_SET;
    entity.set = rlf_item_made(s, class, data, NULL);
    if (entity.set >= 0)
        return entity;
    rlf_item *item = new_shared(s, class, data, span);
    rlf_args_match(s, NULL, class->formals, class->n_formals, false,
                   class->name, span, item);
    const char *name = s->graph->resources.data[data].name;
    uint32_t rows = s->graph->evaluation.rows;
    for (int i = 0; rows && i < item->n_args; i++)
        if (strcmp(item->args[i].name, "count") == 0) {
            item->args[i].kind = RLF_ARG_NUMBER;
            item->args[i].number = rows;
        }
    entity.set = rlf_set_draw(s, name, data, !rows, span);
    int index = rlf_item_place(s, item);
    rlf_item_output_set(s, index, entity.set);
    rlf_item_keep(s, class, data, NULL, entity.set);
    return entity;
}

int
rlf_call_state(rlf_sema *s, int state, rlf_span span)
{
    const rlf_resource *r = &s->graph->resources.data[state];
    const rlf_node_class *class =
        rlf_classes_find(s->classes, RLF_FORM_FIELD, RLF_RECEIVER_STATE,
                         r->domain > 0 ? "rows" : "state");
    rlf_item *item = new_shared(s, class, state, span);
    int index = rlf_item_place(s, item);
    return rlf_item_output_term(s, index, r->domain, false, -1, r->name);
}

int
rlf_call_value(rlf_sema *s, const rlf_node_class *class, rlf_span span)
{
    int term = rlf_item_made(s, class, -1, NULL);
    if (term >= 0)
        return term;
    rlf_item *item = new_shared(s, class, -1, span);
    int index = rlf_item_place(s, item);
    term = rlf_item_output_term(s, index, 0, false, -1, class->name);
    rlf_item_keep(s, class, -1, NULL, term);
    return term;
}
