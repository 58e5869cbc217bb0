/* Updates: which calls are live, what is minimized, what is reported.
 *
 * Live are the calls on the model that is updated, written in the block (also
 * through a def). What was named before, and what the derivative does not go
 * through, is constant. A loss with nothing live is an error. */
#include "grammar/passes.h"

#include <string.h>

bool
rlf_update_live(rlf_sema *s, const rlf_item *item, int set, int *term)
{
    const rlf_node_class *class = item->class;
    int model = item->receiver;
    if (s->update < 0 || !class->live || set < 0 ||
        s->updates.data[s->update].model != model)
        return false;
    rlf_update_statement *u = &s->updates.data[s->update];
    for (size_t i = 0; i < u->calls.count; i++) {
        if (u->calls.data[i].class == class && u->calls.data[i].set == set) {
            *term = u->calls.data[i].term;
            return true;
        }
    }
    const rlf_set *d = &s->graph->sets.data[set];
    int domain = class->level == RLF_LEVEL_VOCAB ? rlf_level_vocab(s, d->tokens)
                 : class->level == RLF_LEVEL_TOKEN ? d->tokens
                                                   : d->samples;
    *term = rlf_term_add(s, (rlf_term){.kind = RLF_TERM_LIVE,
                                       .arg = {-1, -1, -1},
                                       .domain = domain,
                                       .item = -1,
                                       .port = (int)u->calls.count,
                                       .set = set,
                                       .live = true,
                                       .touches = true,
                                       .name = rlf_arena_printf(
                                           s->arena, "%s.%s(%s)",
                                           s->graph->resources.data[model].name,
                                           class->name, d->name),
                                       .span = item->span});
    RLF_PUSH_IN(s->arena, &u->calls,
                (rlf_update_call){.class = class,
                                  .set = set,
                                  .term = *term,
                                  .args = item->args,
                                  .n_args = item->n_args});
    return true;
}

/* ---- statements of the block ---- */

/* The operation without a derivative that a live value goes into; -1: none
 * below. */
static int
end_of_derivative(const rlf_sema *s, int term, bool *seen)
{
    const rlf_term *t = &s->terms.data[term];
    if (seen[term] || t->kind != RLF_TERM_OP || !t->touches)
        return -1;
    seen[term] = true;
    for (int k = 0; k < 3; k++)
        if (t->arg[k] >= 0 && s->terms.data[t->arg[k]].live)
            return term;
    for (int k = 0; k < 3; k++) {
        int found = t->arg[k] >= 0 ? end_of_derivative(s, t->arg[k], seen) : -1;
        if (found >= 0)
            return found;
    }
    return -1;
}

static void
no_derivative(rlf_sema *s, const rlf_ast_stmt *stmt, int term)
{
    bool *seen = RLF_NEW_ARRAY(s->arena, bool, s->terms.count);
    int end = end_of_derivative(s, term, seen);
    rlf_diag *diag = rlf_diag_error(
        s->diags, "live",
        end >= 0 ? s->terms.data[end].span : stmt->value->span,
        "'%s' changes this loss only through what has no derivative",
        s->graph->resources.data[s->updates.data[s->update].model].name);
    rlf_diag_hint(s->diags, diag,
                  "comparisons, the condition of a choice, floor, sg, count "
                  "and rank are constants to the derivative: minimize what "
                  "they are made of");
}

/* Something is minimized here: always, or where the ifs around hold. */
static void
note_taken(rlf_sema *s, rlf_span span)
{
    rlf_update_statement *u = &s->updates.data[s->update];
    if (s->condition < 0)
        u->taken = -1;
    else if (u->loss < 0)
        u->taken = s->condition;
    else if (u->taken >= 0)
        u->taken = rlf_term_pointwise(s, RLF_EXPR_OR, u->taken, s->condition,
                                      -1, span);
}

/* Has it no logits? */
static bool
is_critic(const rlf_resource *model)
{
    const rlf_arg *head = rlf_args_find(model->args, model->n_args, "head");
    return head && head->kind == RLF_ARG_TEXT && !strcmp(head->text, "scalar");
}

static void
minimize(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    int term = rlf_eval_plain(s, stmt->value);
    s->updates.data[s->update].tried = true;
    if (term < 0)
        return;
    const rlf_term *t = &s->terms.data[term];
    if (t->domain != 0) {
        rlf_diag *diag = rlf_diag_error(s->diags, "level", stmt->value->span,
                                        "a loss is one number, and this is %s",
                                        rlf_level_name(s, t->domain, t->set));
        rlf_diag_hint(s->diags, diag,
                      "say how to average: mean(... over batch)");
        return;
    }
    if (!t->live && t->touches) {
        no_derivative(s, stmt, term);
        return;
    }
    if (!t->live) {
        const rlf_resource *model =
            &s->graph->resources.data[s->updates.data[s->update].model];
        rlf_diag *diag = rlf_diag_error(s->diags, "live", stmt->value->span,
                                        "nothing in this loss is live: it does "
                                        "not change with '%s'",
                                        model->name);
        rlf_diag_hint(s->diags, diag,
                      "call %s.%s(...) in the update; what was named before is "
                      "a constant",
                      model->name, is_critic(model) ? "value" : "logprob");
        return;
    }
    if (!rlf_finite_effect(s, term, stmt->value->span))
        return;
    if (s->condition >= 0) {
        int zero = rlf_term_number(s, 0, stmt->span);
        term = rlf_term_pointwise(s, RLF_EXPR_SELECT, s->condition, term, zero,
                                  stmt->span);
    }
    note_taken(s, stmt->span);
    int loss = s->updates.data[s->update].loss;
    if (loss >= 0)
        term = rlf_term_pointwise(s, RLF_EXPR_ADD, loss, term, -1, stmt->span);
    s->updates.data[s->update].loss = term;
}

/* An output of the update's node; its number. */
static int
add_report(rlf_sema *s, rlf_update_report report)
{
    rlf_update_statement *u = &s->updates.data[s->update];
    rlf_term_use(s, report.term);
    RLF_PUSH_IN(s->arena, &u->reports, report);
    return (int)u->reports.count - 1;
}

void
rlf_update_look(rlf_sema *s, const rlf_formal *formal, int term, rlf_span at)
{
    add_report(
        s,
        (rlf_update_report){
            .within = formal, .term = term, .out = -1, .when = -1, .span = at});
}

static bool
is_condition(const rlf_update_report *r)
{
    return !r->name && !r->within;
}

/* The output that says whether the ifs around hold; -1: there are none. */
static int
condition(rlf_sema *s, rlf_span span)
{
    const rlf_update_statement *u = &s->updates.data[s->update];
    if (s->condition < 0)
        return -1;
    for (size_t i = 0; i < u->reports.count; i++)
        if (is_condition(&u->reports.data[i]) &&
            u->reports.data[i].term == s->condition)
            return (int)i;
    return add_report(
        s, (rlf_update_report){
               .term = s->condition, .out = -1, .when = -1, .span = span});
}

static void
report(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    for (size_t i = 0; i < stmt->binds->count; i++) {
        const rlf_ast_bind *bind = &stmt->binds->data[i];
        int term = rlf_sema_metric(s, bind);
        if (term < 0)
            continue;
        add_report(s, (rlf_update_report){.name = bind->name.text,
                                          .term = term,
                                          .out = -1,
                                          .when = condition(s, stmt->span),
                                          .span = bind->value->span});
    }
}

static void statements(rlf_sema *s, const rlf_ast_block *block);

static void
branch(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    int condition = rlf_eval_plain(s, stmt->value), outer = s->condition;
    if (condition < 0 ||
        !rlf_finite_use(s, condition, RLF_NONFINITE_NAN, stmt->value->span))
        return;
    const rlf_term *t = &s->terms.data[condition];
    if (t->domain != 0) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "level", stmt->value->span,
                           "an if takes one number, and this is %s",
                           rlf_level_name(s, t->domain, t->set));
        rlf_diag_hint(s->diags, diag,
                      "reduce it, as in max(... over batch); or choose by "
                      "value: c ? a : b");
        return;
    }
    double value;
    rlf_condition_look(s, stmt->value, condition, "step");
    bool known = rlf_term_constant(s, condition, &value);
    int taken = known && (value > 0 || value < 0) ? 0 : 1;
    int no = rlf_term_pointwise(s, RLF_EXPR_NOT, condition, -1, -1, stmt->span);
    for (int k = 0; k < 2; k++) {
        s->maybe += !known;
        s->idle += known && k != taken;
        int mine = k ? no : condition;
        s->condition = outer < 0 ? mine
                                 : rlf_term_pointwise(s, RLF_EXPR_AND, outer,
                                                      mine, -1, stmt->span);
        if (k == 0)
            statements(s, stmt->body);
        else if (stmt->other)
            statements(s, stmt->other);
        s->idle -= known && k != taken;
        s->maybe -= !known;
    }
    s->condition = outer;
}

static void
statement(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    switch (stmt->kind) {
    case RLF_AST_LET:
        rlf_name_let(s, &stmt->name, rlf_eval(s, stmt->value), "named");
        break;
    case RLF_AST_MINIMIZE:
        minimize(s, stmt);
        break;
    case RLF_AST_REPORT:
        report(s, stmt);
        break;
    case RLF_AST_IF:
        branch(s, stmt);
        break;
    default: {
        rlf_diag *diag = rlf_diag_error(s->diags, "update", stmt->span,
                                        "this cannot stand in an update");
        rlf_diag_hint(s->diags, diag,
                      "it holds names, if, report and minimize");
    }
    }
}

static void
statements(rlf_sema *s, const rlf_ast_block *block)
{
    rlf_scope *outside = s->scope;
    rlf_scope_push(s, outside, outside->module);
    for (size_t i = 0; i < block->stmts.count; i++)
        statement(s, block->stmts.data[i]);
    rlf_scope_leave(s, outside);
}

/* ---- the node ---- */

/* The optimizer's arguments, read where the update stands. */
static bool
optimizer(rlf_sema *s, const rlf_ast_stmt *stmt, rlf_item *item)
{
    rlf_module *module = NULL;
    const rlf_ast_expr *call = rlf_sema_optimizer(s, item->receiver, &module);
    const char *name = s->graph->resources.data[item->receiver].name;
    if (!call) {
        rlf_diag *diag = rlf_diag_error(s->diags, "update", stmt->name.span,
                                        "model '%s' has no optimizer", name);
        rlf_diag_note(s->diags, diag,
                      s->graph->resources.data[item->receiver].span,
                      "it is declared here");
        rlf_diag_hint(s->diags, diag, "optimizer: adamw(lr: 1e-5)");
        return false;
    }
    rlf_scope *outside = s->scope;
    rlf_scope_push(s, NULL, module);
    bool good = rlf_args_match(s, call->args, item->class->formals,
                               item->class->n_formals, false,
                               call->left->name.text, call->at, item);
    s->scope = outside;
    return good;
}

/* Reads the options behind the model: *shared is NULL unless it is given as
 * true. False if an error was said of one. */
static bool
options(rlf_sema *s, const rlf_ast_stmt *stmt, const rlf_item *item,
        const rlf_arg **shared)
{
    rlf_item own = {.class = item->class};
    bool good = rlf_args_match(s, stmt->args, item->class->options,
                               item->class->n_options, false, item->class->name,
                               stmt->name.span, &own);
    const rlf_arg *arg = rlf_args_find(own.args, own.n_args, "shared");
    *shared =
        good && arg->kind == RLF_ARG_NUMBER && arg->number != 0 ? arg : NULL;
    return good;
}

/* Does the update read values per word at the set's tokens? */
static bool
reads_words(const rlf_update_statement *u, int set)
{
    for (size_t i = 0; i < u->calls.count; i++)
        if (u->calls.data[i].set == set &&
            u->calls.data[i].class->level == RLF_LEVEL_VOCAB)
            return true;
    return false;
}

/* Has another of the calls a set of responses to the same prompts? *apart: so,
 * but not in one pass. */
static bool
is_paired(const rlf_sema *s, const rlf_update_statement *u, int set,
          bool *apart)
{
    const rlf_set *sets = s->graph->sets.data;
    bool any = false;
    for (size_t i = 0; i < u->calls.count; i++) {
        int other = u->calls.data[i].set;
        if (other == set || !rlf_sets_paired(&sets[other], &sets[set]))
            continue;
        bool words = reads_words(u, set) || reads_words(u, other);
        *apart |= words;
        any |= !words;
    }
    return any;
}

/* The set of which another is a part, or a part of a part. */
static int
whole_of(const rlf_sema *s, int set)
{
    const rlf_set *sets = s->graph->sets.data;
    while (sets[set].origin >= 0)
        set = sets[set].origin;
    return set;
}

/* Of the calls' sets one that is a part, while the whole has responses to the
 * same prompts as (the whole of) another; -1: none is. */
static int
part_without_partner(const rlf_sema *s, const rlf_update_statement *u,
                     int *other)
{
    const rlf_set *sets = s->graph->sets.data;
    bool apart = false;
    for (size_t i = 0; i < u->calls.count; i++) {
        int set = u->calls.data[i].set, whole = whole_of(s, set);
        if (whole == set || reads_words(u, set) || is_paired(s, u, set, &apart))
            continue;
        for (size_t k = 0; k < u->calls.count; k++) {
            *other = u->calls.data[k].set;
            int with = whole_of(s, *other);
            if (with != whole && !reads_words(u, *other) &&
                rlf_sets_paired(&sets[with], &sets[whole]))
                return set;
        }
    }
    return -1;
}

/* Which rows of a set have gone is not known before it is read, so those of two
 * sets cannot go through the model row by row. True: so it is, which was said.
 */
static bool
check_parts(rlf_sema *s, const rlf_update_statement *u, bool any)
{
    static const char text[] =
        "'%s' is a part of '%s', with rows of its own: its samples share no "
        "prompt with those of '%s'";
    const rlf_set *sets = s->graph->sets.data;
    int other, part = part_without_partner(s, u, &other);
    if (part < 0)
        return false;
    const char *name = sets[part].name;
    const char *whole = sets[whole_of(s, part)].name;
    rlf_diag *diag = any ? rlf_diag_warning(s->diags, "update", u->shared->span,
                                            text, name, whole, sets[other].name)
                         : rlf_diag_error(s->diags, "update", u->shared->span,
                                          text, name, whole, sets[other].name);
    rlf_diag_hint(s->diags, diag,
                  "choose rows before responses are read (kept = "
                  "batch.where(...), respond(kept.FIELD)), or train on all of "
                  "'%s' and multiply its values by the condition",
                  whole);
    return true;
}

/* Samples share a prompt only if it has several. */
static void
check_shared(rlf_sema *s, const rlf_update_statement *u)
{
    bool any = false, made = false, words = false;
    for (size_t i = 0; i < u->calls.count; i++) {
        int set = u->calls.data[i].set;
        const rlf_set *d = &s->graph->sets.data[set];
        made |= d->samples != d->prompts;
        any |= d->samples != d->prompts && !d->single;
        any |= is_paired(s, u, set, &words);
    }
    if (!u->shared || check_parts(s, u, any || made) || any)
        return;
    const char *set = s->graph->sets.data[u->calls.data[0].set].name;
    const char *text =
        words ? "responses whose values per word of the vocabulary are read "
                "share no prompt with those of another set"
              : "'%s' has one sample of each prompt: no other shares it";
    rlf_diag *diag =
        made ? rlf_diag_warning(s->diags, "update", u->shared->span, text, set)
             : rlf_diag_error(s->diags, "update", u->shared->span, text, set);
    rlf_diag_hint(s->diags, diag,
                  "leave shared: true out, sample several responses to a "
                  "prompt (n: of generate), or train on two responses of each "
                  "row");
}

/* Output `r` of the update as an argument of `item`. */
static rlf_arg
report_arg(rlf_sema *s, const rlf_update_report *r, rlf_item *item,
           const char *name)
{
    return (rlf_arg){.kind = RLF_ARG_VALUE,
                     .name = name,
                     .value = r->out,
                     .input = rlf_item_input_term(s, item, r->out),
                     .given = true,
                     .span = r->span};
}

/* A node that reports what has condition `when` (-1: none). */
static void
place_report(rlf_sema *s, const rlf_update_statement *u, int when)
{
    rlf_item *item =
        rlf_item_new(s, rlf_classes_syntax(s->classes, "report"), -1, u->span);
    item->args = RLF_NEW_ARRAY(s->arena, rlf_arg, u->reports.count);
    for (size_t i = 0; i < u->reports.count; i++) {
        const rlf_update_report *r = &u->reports.data[i];
        if (r->name && r->when == when)
            item->args[item->n_args++] = report_arg(s, r, item, r->name);
    }
    if (item->n_args)
        rlf_item_place(s, item);
}

/* An if around the reports of condition `when`. */
static void
place_conditional(rlf_sema *s, const rlf_update_statement *u, int when)
{
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "if");
    const rlf_update_report *r = &u->reports.data[when];
    rlf_item *item = rlf_item_new(s, class, -1, r->span);
    item->args = RLF_NEW(s->arena, rlf_arg);
    item->args[0] = report_arg(s, r, item, class->formals[0].name);
    item->n_args = 1;
    int index = rlf_item_place(s, item), part = s->part;
    RLF_PUSH_IN(s->arena, &s->parts, (rlf_sema_part){.parent = index});
    s->part = (int)s->parts.count - 1;
    RLF_PUSH_IN(s->arena, &s->items.data[index].regions, s->part);
    place_report(s, u, when);
    s->part = part;
}

/* An update that never minimizes anything changes nothing. */
static void
warn_idle(rlf_sema *s, rlf_update_statement *u)
{
    double value;
    if (u->taken < 0 || !rlf_term_constant(s, u->taken, &value))
        return;
    if (value > 0 || value < 0)
        u->taken = -1;
    else if (!s->idle)
        rlf_diag_warning(s->diags, "update", u->span,
                         "this update changes nothing: no 'minimize' of it is "
                         "ever carried out");
}

/* A learning rate that is a constant 0, in 32 bits; of one that changes a run
 * tells. */
static void
warn_rate(rlf_sema *s, const rlf_item *item)
{
    const rlf_arg *lr = rlf_args_find(item->args, item->n_args, "lr");
    if (lr->kind != RLF_ARG_NUMBER || (float)lr->number > 0 || s->idle)
        return;
    for (size_t i = 0; i < s->diags->list.count; i++)
        if (s->diags->list.data[i].at.source == lr->span.source &&
            s->diags->list.data[i].at.first == lr->span.first)
            return; /* of another update of the model */
    rlf_diag_warning(s->diags, "update", lr->span,
                     "the learning rate is 0%s: '%s' learns nothing",
                     lr->number > 0 ? " in 32 bits" : "",
                     s->graph->resources.data[item->receiver].name);
}

/* Enter the node, and what its reports go to. */
static void
finish(rlf_sema *s, rlf_item *item, int number)
{
    rlf_update_statement *u = &s->updates.data[number];
    item->update = number;
    check_shared(s, u);
    warn_idle(s, u);
    warn_rate(s, item);
    rlf_narrow_warn(s, u);
    for (size_t i = 0; i < u->calls.count; i++)
        rlf_item_input_set(s, item, u->calls.data[i].set);
    s->graph->resources.data[item->receiver].trained = true;
    int index = rlf_item_place(s, item);
    for (size_t i = 0; i < u->reports.count; i++) {
        rlf_update_report *r = &u->reports.data[i];
        r->out = rlf_item_output_term(s, index, 0, false, -1,
                                      r->name ? r->name : "reports");
    }
    place_report(s, u, -1);
    for (size_t i = 0; i < u->reports.count; i++) {
        const rlf_update_report *r = &u->reports.data[i];
        if (is_condition(r))
            place_conditional(s, u, (int)i);
        else if (r->within)
            rlf_range_place(s, r->within, r->out, r->span);
    }
}

void
rlf_sema_update(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    rlf_ast_expr name = {.kind = RLF_AST_NAME,
                         .span = stmt->name.span,
                         .at = stmt->name.span,
                         .name = stmt->name};
    rlf_entity model = rlf_eval(s, &name);
    if (model.kind != RLF_ENTITY_MODEL) {
        if (model.kind != RLF_ENTITY_NONE)
            rlf_diag_error(s->diags, "type", stmt->name.span,
                           "an update is of a model, and this is %s",
                           rlf_entity_word(s, &model));
        return;
    }
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "update");
    size_t errors = s->diags->errors;
    rlf_item *item = rlf_item_new(s, class, model.resource, stmt->span);
    const rlf_arg *shared;
    if (!options(s, stmt, item, &shared) || !optimizer(s, stmt, item))
        return;
    RLF_PUSH_IN(s->arena, &s->updates,
                (rlf_update_statement){.model = model.resource,
                                       .shared = shared,
                                       .span = stmt->span,
                                       .loss = -1,
                                       .taken = -1});
    int number = (int)s->updates.count - 1, condition = s->condition;
    s->update = number;
    s->condition = -1;
    statements(s, stmt->body);
    s->update = -1;
    s->condition = condition;
    if (s->diags->errors > errors)
        return;
    if (s->updates.data[number].loss < 0) {
        if (!s->updates.data[number].tried)
            rlf_diag_hint(s->diags,
                          rlf_diag_error(s->diags, "update", stmt->span,
                                         "this update minimizes nothing"),
                          "write its loss: update %s minimize LOSS, or a "
                          "'minimize LOSS' in the block",
                          stmt->name.text);
        return;
    }
    finish(s, item, number);
}
