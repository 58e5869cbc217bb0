/* The flow's statements, one function each. */
#include "grammar/passes.h"

#include <string.h>

/* ---- small helpers ---- */

static const rlf_node_class *
class_of(const rlf_sema *s, const char *name)
{
    return rlf_classes_syntax(s->classes, name);
}

/* The arguments (e). */
static const rlf_ast_args *
one_argument(rlf_sema *s, const rlf_ast_expr *e)
{
    rlf_ast_args *args = RLF_NEW(s->arena, rlf_ast_args);
    rlf_ast_arg arg = {.span = e->span, .value = (rlf_ast_expr *)e};
    RLF_PUSH_IN(s->arena, args, arg);
    return args;
}

rlf_item *
rlf_item_of(rlf_sema *s, const rlf_node_class *class, int resource,
            const rlf_ast_expr *e, rlf_span span)
{
    rlf_item *item = rlf_item_new(s, class, resource, span);
    if (!rlf_args_match(s, one_argument(s, e), class->formals, class->n_formals,
                        false,
                        resource < 0 ? class->name
                                     : s->graph->resources.data[resource].name,
                        span, item))
        return NULL;
    return item;
}

static void check_block(rlf_sema *s, const rlf_ast_block *block);

/* Run a block as region `part` of an item. */
static void
body(rlf_sema *s, int item, const rlf_ast_block *block, int part)
{
    int before = s->part;
    RLF_PUSH_IN(s->arena, &s->items.data[item].regions, part);
    s->part = part;
    check_block(s, block);
    s->part = before;
}

/* ---- names and states ---- */

static void
set_model(rlf_sema *s, const rlf_ast_stmt *stmt, int model)
{
    const rlf_node_class *class = class_of(s, ":=");
    rlf_item *item = rlf_item_new(s, class, model, stmt->span);
    if (!rlf_assign_sum(s, item, stmt->value))
        return;
    rlf_item_place(s, item);
}

/* Is what a state per row is set to one per row of its data, or of some? */
static bool
fits_rows(rlf_sema *s, const rlf_item *item, int state, const rlf_ast_expr *e)
{
    const rlf_resource *r = &s->graph->resources.data[state];
    const rlf_term *t = &s->terms.data[item->inputs.data[0].id];
    if (t->domain == 0 || rlf_set_some_of(s, t->domain, r->domain))
        return true;
    const rlf_domains *domains = &s->graph->domains;
    rlf_diag *diag =
        rlf_diag_error(s->diags, "level", e->span,
                       "'%s' is one per row of '%s', and this is %s", r->name,
                       s->graph->resources.data[r->source].name,
                       rlf_level_name(s, t->domain, t->set));
    if (rlf_domain_reaches(domains, r->domain, t->domain))
        rlf_diag_hint(s->diags, diag, "%s",
                      rlf_domains_get(domains, t->domain)->kind ==
                              RLF_DOMAIN_TOKENS
                          ? "reduce it: mean(mean(... over tokens) over "
                            "group)"
                          : "reduce it: mean(... over group)");
    return false;
}

static void
set_state(rlf_sema *s, const rlf_ast_stmt *stmt, const rlf_found_name *found)
{
    int state = rlf_sema_state(s, found->decl, found->module);
    if (state < 0) {
        rlf_eval(s, stmt->value);
        return;
    }
    int rows = s->graph->resources.data[state].domain;
    const rlf_node_class *class =
        rlf_classes_syntax(s->classes, rows > 0 ? "set_rows" : "set_state");
    rlf_item *item = rlf_item_of(s, class, state, stmt->value, stmt->span);
    if (!item || (rows > 0 && !fits_rows(s, item, state, stmt->value)))
        return;
    if (!s->idle && rlf_assign_same(s, found->decl, stmt->value))
        rlf_diag_hint(s->diags,
                      rlf_diag_warning(s->diags, "unused", stmt->value->span,
                                       "this leaves '%s' as it is",
                                       stmt->name.text),
                      "take it out, or write what changes it");
    rlf_item_place(s, item);
}

/* `name := e` of what is neither state nor model. */
static void
cannot_change(rlf_sema *s, const rlf_ast_stmt *stmt,
              const rlf_found_name *found)
{
    const rlf_entity *entity = found->local ? &found->local->entity : NULL;
    if (entity && entity->kind == RLF_ENTITY_NONE)
        return;
    bool one = entity ? entity->kind == RLF_ENTITY_NUMBER &&
                            s->terms.data[entity->term].domain == 0
                      : found->decl->kind == RLF_AST_PARAM;
    rlf_diag *diag = rlf_diag_error(
        s->diags, "name", stmt->name.span,
        "only states and models change, and '%s' is neither", stmt->name.text);
    rlf_diag_note(s->diags, diag,
                  entity ? found->local->span : found->decl->name.span,
                  "it is named here");
    if (one)
        rlf_diag_hint(s->diags, diag,
                      "for a number that lasts from step to step, declare "
                      "another name: state s = 0");
    else
        rlf_diag_hint(s->diags, diag,
                      "a name stands for one value: give the new one another "
                      "name, with '='");
}

static void
set(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_found_name found;
    const void *read = rlf_map_get(&s->scope->module->used, stmt->name.text);
    if (!rlf_name_find(s, &stmt->name, &found)) {
        rlf_name_unknown(s, &stmt->name, RLF_WANT_CHANGING, NULL);
    } else if (found.decl && found.decl->kind == RLF_AST_STATE) {
        if (!read) /* to set it is no use of it */
            rlf_map_put(&found.module->used, stmt->name.text, NULL);
        set_state(s, stmt, &found);
        if (!read) /* nor is what it is set from, where it is itself */
            rlf_map_put(&found.module->used, stmt->name.text, NULL);
    } else if (found.decl && found.decl->kind == RLF_AST_MODEL) {
        rlf_entity model = rlf_sema_declared(s, found.decl, found.module);
        if (model.kind == RLF_ENTITY_MODEL)
            set_model(s, stmt, model.resource);
    } else if (found.decl || found.local) {
        cannot_change(s, stmt, &found);
    }
}

/* ---- control ---- */

/* The set of `s.split(...)`; -1 after a message. */
static int
split_set(rlf_sema *s, const rlf_ast_expr *e, const char *word)
{
    bool call = e->kind == RLF_AST_CALL && e->left->kind == RLF_AST_FIELD &&
                !strcmp(e->left->name.text, word);
    if (!call) {
        rlf_diag *diag = rlf_diag_error(s->diags, "type", e->span,
                                        "a loop walks the pieces of a set");
        bool inner = e->kind == RLF_AST_CALL && e->args && e->args->count;
        const rlf_ast_expr *set = inner ? e->args->data[0].value : e;
        rlf_diag_hint(s->diags, diag, "for mini in %s.%s(parts: 4) { ... }",
                      set->kind == RLF_AST_NAME ? set->name.text : "roll",
                      word);
        return -1;
    }
    rlf_entity entity = rlf_eval(s, e->left->left);
    return rlf_entity_set(s, &entity, e->left->left->span);
}

static void
loop(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    const rlf_node_class *class = class_of(s, "split");
    rlf_item *item = rlf_item_new(s, class, -1, stmt->span);
    size_t n = stmt->binds->count;
    int *whole = RLF_NEW_ARRAY(s->arena, int, n);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_expr *e = stmt->binds->data[i].value;
        whole[i] = split_set(s, e, class->name);
        good = good && whole[i] >= 0;
        if (whole[i] < 0)
            continue;
        /* Each set keeps an input of its own, also if it stands twice. */
        RLF_PUSH_IN(s->arena, &item->inputs, (rlf_item_input){true, whole[i]});
        good = rlf_args_match(s, e->args, class->formals, class->n_formals,
                              false, class->name, e->left->at, item) &&
               good;
    }
    if (!good)
        return;
    int index = rlf_item_place(s, item), part = rlf_sema_part_new(s, index);
    rlf_scope *outside = s->scope;
    rlf_loop *around = s->loop, *mine = RLF_NEW_ARRAY(s->arena, rlf_loop, n);
    rlf_scope_push(s, outside, outside->module);
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_name *name = &stmt->binds->data[i].name;
        rlf_entity piece = rlf_entity_none(name->span);
        piece.kind = RLF_ENTITY_SET;
        piece.set = rlf_set_part(s, name->text, whole[i], true, name->span);
        RLF_PUSH_IN(s->arena, &s->parts.data[part].sets, piece.set);
        s->makers.data[piece.set].port = (int)i;
        rlf_name_let(s, name, piece, "split off");
        mine[i] = (rlf_loop){whole[i], piece.set, part, s->loop};
        s->loop = &mine[i];
    }
    body(s, index, stmt->body, part);
    s->loop = around;
    rlf_scope_leave(s, outside);
}

static void
look_at_condition(rlf_sema *s, const rlf_ast_expr *e, const rlf_arg *condition)
{
    bool known = condition->kind == RLF_ARG_NUMBER;
    rlf_condition_look(s, e,
                       known ? rlf_term_number(s, condition->number, e->span)
                             : condition->value,
                       "step");
}

static void
branch(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_item *item =
        rlf_item_of(s, class_of(s, "if"), -1, stmt->value, stmt->span);
    if (!item)
        return;
    const rlf_arg *condition = &item->args[0];
    bool known = condition->kind == RLF_ARG_NUMBER;
    bool yes = known && (condition->number > 0 || condition->number < 0);
    if (!s->options->evaluate) /* where some were put */
        look_at_condition(s, stmt->value, condition);
    int index = rlf_item_place(s, item);
    s->maybe += !known;
    s->idle += known && !yes;
    body(s, index, stmt->body, rlf_sema_part_new(s, index));
    s->idle += yes - (known && !yes);
    if (stmt->other)
        body(s, index, stmt->other, rlf_sema_part_new(s, index));
    s->idle -= yes;
    s->maybe -= !known;
}

static void
every(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_item *item =
        rlf_item_of(s, class_of(s, "every"), -1, stmt->value, stmt->span);
    if (!item)
        return;
    if (!s->idle && item->args[0].literal && item->args[0].number <= 1)
        rlf_diag_hint(s->diags,
                      rlf_diag_warning(s->diags, "constant", stmt->value->span,
                                       "this block runs in every step"),
                      "leave the 'every' out");
    int index = rlf_item_place(s, item);
    body(s, index, stmt->body, rlf_sema_part_new(s, index));
}

static void
leave(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_item *item =
        rlf_item_of(s, class_of(s, "break"), -1, stmt->value, stmt->span);
    if (!item)
        return;
    look_at_condition(s, stmt->value, &item->args[0]);
    rlf_item_place(s, item);
}

static void
checkpoint(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_item_place(s,
                   rlf_item_new(s, class_of(s, "checkpoint"), -1, stmt->span));
}

/* ---- reports ---- */

/* Are both written in a step in which one of them is? */
static bool
written_together(const rlf_sema *s, const rlf_metric_name *a,
                 const rlf_metric_name *b)
{
    if (a->update >= 0 && a->update == b->update)
        return a->condition < 0 || b->condition < 0 ||
               a->condition == b->condition;
    return rlf_sema_part_holds(s, a->part, b->part) ||
           rlf_sema_part_holds(s, b->part, a->part);
}

/* True: a metric may have this name here; it is noted as taken. */
static bool
name_metric(rlf_sema *s, const rlf_ast_name *name, int term)
{
    const rlf_node_class *class = class_of(s, "report");
    rlf_metric_name metric = {name->text,   term,       s->part, s->update,
                              s->condition, name->span, 0};
    if (rlf_word_is_of(class->taken, name->text)) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "name", name->span,
                           "each line of metrics has its own '%s'", name->text);
        rlf_diag_hint(s->diags, diag, "give the metric another name");
        return false;
    }
    int last = (int)(uintptr_t)rlf_map_get(&s->metric_at, name->text);
    const rlf_metric_name *before = NULL;
    metric.before = last;
    for (int i = last; i > 0; i = s->metrics.data[i - 1].before) {
        const rlf_metric_name *one = &s->metrics.data[i - 1];
        before = written_together(s, one, &metric) ? one : before;
    }
    if (before) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "name", name->span,
            "'%s' is reported twice: the mean of both would be written",
            name->text);
        rlf_diag_note(s->diags, diag, before->span, "first here");
        rlf_diag_hint(s->diags, diag, "give one of them another name");
        return false;
    }
    RLF_PUSH_IN(s->arena, &s->metrics, metric);
    rlf_map_put(&s->metric_at, name->text, (void *)(uintptr_t)s->metrics.count);
    return true;
}

/* *raw: the term as it is written. */
static int
metric(rlf_sema *s, const rlf_ast_bind *bind, int *raw)
{
    int term = *raw = rlf_eval_plain(s, bind->value);
    if (!name_metric(s, &bind->name, term) || term < 0)
        return -1;
    const rlf_term *t = &s->terms.data[term];
    if (t->domain != 0) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "level", bind->value->span,
                           "a report is one number, and this is %s",
                           rlf_level_name(s, t->domain, t->set));
        rlf_diag_hint(s->diags, diag, "mean(... over batch)");
        return -1;
    }
    rlf_finite_metric(s, bind->name.text, term, bind->name.span);
    return rlf_measure(s, term);
}

int
rlf_sema_metric(rlf_sema *s, const rlf_ast_bind *bind)
{
    int raw;
    return metric(s, bind, &raw);
}

static void
report(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    const rlf_node_class *class = class_of(s, "report");
    rlf_item *item = rlf_item_new(s, class, -1, stmt->span);
    size_t n = stmt->binds->count;
    item->args = RLF_NEW_ARRAY(s->arena, rlf_arg, n);
    for (size_t i = 0; i < n; i++) {
        const rlf_ast_bind *bind = &stmt->binds->data[i];
        int raw = -1, term = metric(s, bind, &raw);
        if (term < 0)
            continue;
        if (s->options->evaluate)
            rlf_sema_score(s, item, bind, raw);
        rlf_arg *arg = &item->args[item->n_args++];
        *arg = (rlf_arg){.kind = RLF_ARG_NUMBER,
                         .name = bind->name.text,
                         .given = true,
                         .span = bind->value->span};
        if (rlf_term_constant(s, term, &arg->number))
            continue;
        arg->kind = RLF_ARG_VALUE;
        arg->value = term;
        arg->input = rlf_item_input_term(s, item, term);
    }
    if (item->n_args)
        rlf_item_place(s, item);
}

/* ---- all statements ---- */

static void
misplaced(rlf_sema *s, const rlf_ast_stmt *stmt, const char *what,
          const char *where, const char *hint)
{
    rlf_diag *diag = rlf_diag_error(s->diags, "statement", stmt->span,
                                    "%s stands only in %s", what, where);
    if (!s->collecting || stmt->kind != RLF_AST_KEEP)
        rlf_diag_hint(s->diags, diag, hint,
                      rlf_form_text(s, stmt->value->span));
}

/* Refuses statements that a collect cannot hold: they would change something in
 * each round, or leave it in the middle. */
static bool
fits_collect(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    const char *what = stmt->kind == RLF_AST_UPDATE || stmt->kind == RLF_AST_SET
                           ? "no update and no ':='"
                       : stmt->kind == RLF_AST_COLLECT ? "no other collect"
                       : stmt->kind == RLF_AST_BREAK && !s->loop
                           ? "no break: 'rounds:' ends it"
                           : NULL;
    if (!s->collecting || !what)
        return true;
    rlf_diag_error(s->diags, "statement", stmt->span, "a collect holds %s",
                   what);
    return false;
}

/* Braces with nothing in them. */
static void
warn_empty(rlf_sema *s, const rlf_ast_block *block)
{
    if (!block || block->stmts.count)
        return;
    rlf_diag *diag = rlf_diag_warning(s->diags, "unused", block->span,
                                      "this block holds nothing");
    rlf_diag_hint(s->diags, diag,
                  "remove it together with the line that it belongs to");
}

void
rlf_sema_statement(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    warn_empty(s, stmt->body);
    warn_empty(s, stmt->other);
    if (!fits_collect(s, stmt))
        return;
    switch (stmt->kind) {
    case RLF_AST_LET:
        rlf_name_let(s, &stmt->name, rlf_eval(s, stmt->value), "named");
        break;
    case RLF_AST_SET:
        set(s, stmt);
        break;
    case RLF_AST_UPDATE:
        rlf_sema_update(s, stmt);
        break;
    case RLF_AST_MINIMIZE:
        misplaced(s, stmt, "minimize", "an update", "update MODEL minimize %s");
        break;
    case RLF_AST_RETURN:
        misplaced(s, stmt, "return", "a def",
                  "a flow gives nothing back: report y = %s writes a number");
        break;
    case RLF_AST_KEEP:
        misplaced(s, stmt, "keep", "a collect, at its end",
                  "samples of a set s are chosen by s.where(%s)");
        break;
    case RLF_AST_BREAK:
        leave(s, stmt);
        break;
    case RLF_AST_CHECKPOINT:
        checkpoint(s, stmt);
        break;
    case RLF_AST_REPORT:
        report(s, stmt);
        break;
    case RLF_AST_FOR:
        loop(s, stmt);
        break;
    case RLF_AST_EVERY:
        every(s, stmt);
        break;
    case RLF_AST_COLLECT:
        rlf_sema_collect(s, stmt);
        break;
    case RLF_AST_IF:
        branch(s, stmt);
        break;
    }
}

static void
check_block(rlf_sema *s, const rlf_ast_block *block)
{
    rlf_scope *outside = s->scope;
    rlf_scope_push(s, outside, outside->module);
    for (size_t i = 0; i < block->stmts.count; i++)
        rlf_sema_statement(s, block->stmts.data[i]);
    rlf_scope_leave(s, outside);
}

/* ---- the head ---- */

/* A weight is one per row of the data that is drawn from. */
static void
fits_weight(rlf_sema *s, const rlf_item *item)
{
    const rlf_resource *data = &s->graph->resources.data[item->receiver];
    for (int i = 0; i < item->n_args; i++) {
        if (item->args[i].kind != RLF_ARG_VALUE)
            continue;
        const rlf_term *t = &s->terms.data[item->args[i].value];
        if (rlf_domain_reaches(&s->graph->domains, t->domain, data->domain))
            continue;
        rlf_diag_error(s->diags, "level", item->args[i].span,
                       "'%s:' is one per row of '%s', and this is %s",
                       item->args[i].name, data->name,
                       rlf_level_name(s, t->domain, t->set));
    }
}

/* `batch: prompts[64]`, `batch: prompts[128, weight: w]`. */
static void
draw(rlf_sema *s, const rlf_ast_bind *bind)
{
    const rlf_ast_expr *e = bind->value;
    const rlf_node_class *class = class_of(s, "draw");
    const rlf_ast_expr *of = e->kind == RLF_AST_INDEX ? e->left : e;
    rlf_entity data = rlf_eval(s, of);
    rlf_entity entity = rlf_entity_none(bind->name.span);
    if (data.kind != RLF_ENTITY_DATA) {
        rlf_diag *diag =
            data.kind == RLF_ENTITY_NONE
                ? NULL
                : rlf_diag_error(s->diags, "type", of->span,
                                 "a flow draws from a data set, and this is %s",
                                 rlf_entity_word(s, &data));
        if (data.kind == RLF_ENTITY_SET)
            rlf_diag_hint(s->diags, diag,
                          "declare what it draws from: data hard = "
                          "rows.where(...)");
        rlf_name_give(s, &bind->name, entity);
        return;
    }
    if (e->kind != RLF_AST_INDEX) {
        rlf_diag *diag = rlf_diag_error(s->diags, "argument", e->span,
                                        "the flow's head says how many rows a "
                                        "step draws");
        rlf_diag_hint(s->diags, diag, "%s: %s[64]", bind->name.text,
                      of->name.text ? of->name.text : "data");
        rlf_name_give(s, &bind->name, entity);
        return;
    }
    rlf_item *item = rlf_item_new(s, class, data.resource, e->span);
    bool good = rlf_args_match(
        s, e->args, class->formals, class->n_formals, false,
        rlf_arena_printf(s->arena, "%s[...]",
                         s->graph->resources.data[data.resource].name),
        e->left->span, item);
    if (good)
        fits_weight(s, item);
    entity.kind = RLF_ENTITY_SET;
    entity.set =
        rlf_set_draw(s, bind->name.text, data.resource, false, bind->name.span);
    /* The error was reported already; the set is there so that no more is. */
    int index = rlf_item_place(s, item);
    rlf_item_output_set(s, index, entity.set);
    rlf_name_let(s, &bind->name, entity, "drawn");
}

static const rlf_ast_decl *
find_flow(rlf_sema *s, const rlf_module *module)
{
    const rlf_ast_decl *flow = NULL;
    for (size_t i = 0; i < module->program->decls.count; i++) {
        const rlf_ast_decl *decl = module->program->decls.data[i];
        if (decl->kind != RLF_AST_FLOW)
            continue;
        if (flow) {
            rlf_diag *diag = rlf_diag_error(s->diags, "name", decl->name.span,
                                            "a program has one flow");
            rlf_diag_note(s->diags, diag, flow->name.span, "first here");
        }
        flow = decl;
    }
    if (!flow)
        rlf_diag_error(s->diags, "name",
                       (rlf_span){module->program->source, 0, 0, 0},
                       "the program has no flow");
    return flow;
}

void
rlf_sema_flow(rlf_sema *s)
{
    rlf_module *module = s->modules.data[0];
    const rlf_ast_decl *flow = find_flow(s, module);
    if (!flow)
        return;
    s->graph->name = flow->name.text;
    s->graph->doc = flow->doc ? flow->doc : module->program->doc;
    s->part = rlf_sema_part_new(s, -1);
    rlf_scope_push(s, NULL, module);
    for (size_t i = 0; flow->binds && i < flow->binds->count; i++)
        draw(s, &flow->binds->data[i]);
    check_block(s, flow->body);
}
