/* `collect batch (rounds: r) { ... keep c }`: what a round is, and what is left
 * of the rounds after it.
 *
 * The flow's draw moves into the block: there `batch` is what a round draws,
 * after it what was kept. Whatever is named inside and belongs to the prompts
 * of a round, set or column, has a twin on domains of its own, which go up to
 * one another as those of the round do; the name stands for the twin after the
 * block. Twins are outputs of the collect, what they are made of are inputs of
 * its keep, in the same order (behind the condition). All other names that are
 * made anew in each round end with the block. */
#include "grammar/passes.h"

#include <string.h>

typedef struct collecting {
    rlf_sema *s;
    int item, keep; /* the collect and its keep */
    int body;       /* the block's region */
    int kept;       /* the set that the flow drew, and that is kept now */
    int drawn;      /* the set that a round draws */
    int rows;       /* its domain */
    int *twin;      /* per domain that was there after the block; -1 none yet */
    int n_twins;
    bool in_parts; /* a round draws fewer rows than are wanted */
    rlf_ast_name name;
} collecting;

/* ---- twins ---- */

static bool
belongs(const collecting *c, int domain)
{
    return domain > 0 &&
           rlf_domain_reaches(&c->s->graph->domains, c->rows, domain);
}

static bool
set_belongs(const collecting *c, int set)
{
    const rlf_set *d = &c->s->graph->sets.data[set];
    return belongs(c, d->prompts) && belongs(c, d->samples);
}

static int
twin_domain(collecting *c, int domain)
{
    rlf_domains *domains = &c->s->graph->domains;
    if (!belongs(c, domain) || domain >= c->n_twins)
        return domain;
    if (c->twin[domain] >= 0)
        return c->twin[domain];
    rlf_domain d = *rlf_domains_get(domains, domain);
    if (d.owner >= 0)
        d.owner = twin_domain(c, d.owner);
    for (int k = 0; k < d.n_up; k++)
        d.up[k] = twin_domain(c, d.up[k]);
    d.maybe_empty = true;
    return c->twin[domain] = rlf_domains_add(domains, d);
}

/* The source of a set or term becomes an input of the keep, the twin an
 * output of the collect. */
static void
add_source(collecting *c, bool is_set, int id)
{
    rlf_sema *s = c->s;
    if (!is_set)
        rlf_term_use(s, id);
    RLF_PUSH_IN(s->arena, &s->items.data[c->keep].inputs,
                (rlf_item_input){is_set, id});
}

/* The output that was made of it already; -1 none. */
static int
find_twin(const collecting *c, bool is_set, int id)
{
    const rlf_item *keep = &c->s->items.data[c->keep];
    for (size_t i = 1; i < keep->inputs.count; i++)
        if (keep->inputs.data[i].is_set == is_set &&
            keep->inputs.data[i].id == id)
            return c->s->items.data[c->item].outputs.data[i - 1].id;
    return -1;
}

static int
twin_set(collecting *c, int set)
{
    rlf_sema *s = c->s;
    int twin = find_twin(c, true, set);
    if (twin >= 0)
        return twin;
    rlf_set d = s->graph->sets.data[set];
    /* A part goes with its whole, so that x[part] is found again. */
    if (d.origin >= 0)
        d.origin = set_belongs(c, d.origin) ? twin_set(c, d.origin) : -1;
    if (d.from >= 0)
        d.from = find_twin(c, true, d.from);
    d.prompts = twin_domain(c, d.prompts);
    d.samples = twin_domain(c, d.samples);
    if (d.tokens >= 0)
        d.tokens = twin_domain(c, d.tokens);
    twin = rlf_set_add(s, d);
    rlf_item_output_set(s, c->item, twin);
    add_source(c, true, set);
    return twin;
}

static int
twin_term(collecting *c, int term)
{
    rlf_sema *s = c->s;
    int twin = find_twin(c, false, term);
    if (twin >= 0)
        return twin;
    const rlf_term t = s->terms.data[term];
    /* Its rows are those of a set, which goes with it. */
    int set = t.set >= 0 ? t.set : rlf_set_of_domain(s, t.domain);
    set = set >= 0 && set_belongs(c, set) ? twin_set(c, set) : -1;
    twin = rlf_item_output_term(s, c->item, twin_domain(c, t.domain), t.text,
                                set, t.name);
    add_source(c, false, term);
    return twin;
}

/* ---- names after the block ---- */

/* Was it made in the block? */
static bool
set_is_inside(const collecting *c, int set)
{
    int item = c->s->makers.data[set].item;
    return item >= 0 &&
           rlf_sema_part_holds(c->s, c->body, c->s->items.data[item].region);
}

static bool
term_is_inside(const collecting *c, int term)
{
    const rlf_term *t = &c->s->terms.data[term];
    return t->kind != RLF_TERM_CONST &&
           rlf_sema_part_holds(c->s, c->body, t->region);
}

/* Changes the entity to what it is after the block: false if it is nothing
 * then.
 */
static bool
after_block(collecting *c, rlf_entity *entity)
{
    rlf_sema *s = c->s;
    if (entity->kind == RLF_ENTITY_SET && set_is_inside(c, entity->set)) {
        if (!set_belongs(c, entity->set))
            return false;
        entity->set = twin_set(c, entity->set);
    } else if ((entity->kind == RLF_ENTITY_NUMBER ||
                entity->kind == RLF_ENTITY_WORDS) &&
               term_is_inside(c, entity->term)) {
        int domain = s->terms.data[entity->term].domain;
        if (!belongs(c, domain) || rlf_level_of(s, domain) == RLF_LEVEL_VOCAB)
            return false;
        entity->term = twin_term(c, entity->term);
    } else if (entity->kind == RLF_ENTITY_RECORD) {
        rlf_hook_outputs *r = RLF_NEW(s->arena, rlf_hook_outputs);
        *r = *entity->record;
        r->values = RLF_NEW_ARRAY(s->arena, rlf_entity, r->n_gives + 1);
        for (int i = 0; i <= r->n_gives; i++) {
            r->values[i] = entity->record->values[i];
            if (!after_block(c, &r->values[i]))
                return false;
        }
        entity->record = r;
    }
    return true;
}

static void
give_names(collecting *c, const rlf_scope *inside)
{
    rlf_sema *s = c->s;
    for (size_t i = 0; i < inside->entities.count; i++) {
        const char *text = inside->entities.entries[i].key;
        rlf_named *before = inside->entities.entries[i].value, named = *before;
        if (!strcmp(text, c->name.text))
            continue;
        bool stays = after_block(c, &named.entity);
        if (!stays)
            named.entity = rlf_entity_none(named.span);
        rlf_name_give(s, &(rlf_ast_name){.text = text, .span = named.span},
                      named.entity);
        rlf_named *given = rlf_map_get(&s->scope->entities, text);
        given->round = !stays;
        given->inside = before;
    }
}

/* After a message: the names are there, and whatever uses them is silent. */
static void
give_nothing(rlf_sema *s, const rlf_ast_block *block)
{
    for (size_t i = 0; i < block->stmts.count; i++) {
        const rlf_ast_stmt *stmt = block->stmts.data[i];
        if (stmt->kind == RLF_AST_LET)
            rlf_name_give(s, &stmt->name, rlf_entity_none(stmt->name.span));
    }
}

/* ---- the draw ---- */

/* The item that draws what is collected; -1 after a message. */
static int
find_draw(rlf_sema *s, const rlf_ast_name *name)
{
    rlf_found_name found;
    if (!rlf_name_find(s, name, &found)) {
        rlf_name_unknown(s, name, RLF_WANT_VALUE, NULL);
        return -1;
    }
    const rlf_entity *entity = found.local ? &found.local->entity : NULL;
    if (entity && entity->kind == RLF_ENTITY_NONE)
        return -1;
    int item = entity && entity->kind == RLF_ENTITY_SET
                   ? s->makers.data[entity->set].item
                   : -1;
    if (item >= 0 && s->items.data[item].class->draws &&
        s->items.data[item].writes.count)
        return item;
    bool again = item >= 0 && s->items.data[item].class->control_flow ==
                                  RLF_CONTROL_FLOW_ROUNDS;
    rlf_diag *diag = rlf_diag_error(s->diags, "collect", name->span,
                                    again ? "'%s' is collected already"
                                          : "'%s' is not what the flow draws",
                                    name->text);
    rlf_diag_hint(s->diags, diag,
                  again ? "one collect may hold all that it is kept for"
                        : "what is collected stands in the flow's head, "
                          "(batch: data[64])");
    return -1;
}

/* Before the collect there are no rows yet. */
static bool
is_unused(rlf_sema *s, int draw, const rlf_ast_stmt *stmt)
{
    int set = s->items.data[draw].outputs.data[0].id;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *item = &s->items.data[i];
        for (size_t k = 0; k < item->inputs.count; k++) {
            if (!item->inputs.data[k].is_set || item->inputs.data[k].id != set)
                continue;
            rlf_diag *diag = rlf_diag_error(
                s->diags, "collect", item->span,
                "'%s' has no rows before it is collected", stmt->name.text);
            rlf_diag_note(s->diags, diag, stmt->name.span, "collected here");
            rlf_diag_hint(s->diags, diag,
                          "say this in the collect, or after it");
            return false;
        }
    }
    return true;
}

/* The item is no longer where it was placed. */
static void
leave_region(rlf_sema *s, int item)
{
    rlf_sema_part *part = &s->parts.data[s->items.data[item].region];
    size_t n = --part->items.count;
    for (size_t i = (size_t)s->items.data[item].place; i < n; i++) {
        part->items.data[i] = part->items.data[i + 1];
        s->items.data[part->items.data[i]].place--;
    }
}

/* Into the block, where each round says how many rows it draws. */
static void
move_draw(collecting *c, int draw, double most)
{
    rlf_sema *s = c->s;
    rlf_item *item = &s->items.data[draw];
    item->region = c->body;
    item->place = (int)s->parts.data[c->body].items.count;
    RLF_PUSH_IN(s->arena, &s->parts.data[c->body].items, draw);
    int term = rlf_term_add(s, (rlf_term){.kind = RLF_TERM_OUT,
                                          .arg = {-1, -1, -1},
                                          .item = c->item,
                                          .port = -1,
                                          .set = -1,
                                          .name = "wanted",
                                          .span = item->span});
    RLF_PUSH_IN(s->arena, &s->parts.data[c->body].terms, term);
    rlf_arg *count =
        (rlf_arg *)rlf_args_find(item->args, item->n_args, "count");
    count->kind = RLF_ARG_VALUE;
    count->number = most;
    count->value = term;
    count->input = rlf_item_input_term(s, item, term);
    c->kept = item->outputs.data[0].id;
    c->drawn = rlf_set_draw(s, c->name.text, item->receiver, false, item->span);
    c->rows = s->graph->sets.data[c->drawn].prompts;
    item->outputs.data[0].id = c->drawn;
    s->makers.data[c->drawn].item = draw;
}

/* ---- the block ---- */

static bool
is_keep(const rlf_ast_block *block, size_t i)
{
    return block->stmts.data[i]->kind == RLF_AST_KEEP;
}

/* One keep, at the end. */
static bool
ends_with_keep(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    size_t n = stmt->body->stmts.count;
    if (!n || !is_keep(stmt->body, n - 1)) {
        rlf_diag_error(s->diags, "statement", stmt->span,
                       "a collect ends with 'keep c'");
        return false;
    }
    for (size_t i = 0; i + 1 < n; i++) {
        if (!is_keep(stmt->body, i))
            continue;
        rlf_diag *diag = rlf_diag_error(s->diags, "statement",
                                        stmt->body->stmts.data[i]->span,
                                        "a collect has one 'keep', at its end");
        rlf_diag_hint(s->diags, diag, "keep a and b");
        return false;
    }
    return true;
}

/* A condition that holds for no prompt, or for each. With rounds that draw some
 * of the prompts the latter is a way to make them a few at a time. */
static void
look_at_keep(const collecting *c, const rlf_ast_expr *e, int term)
{
    double least, most;
    rlf_term_bounds(c->s, term, &least, &most);
    if (!c->in_parts || (least >= 0 && most <= 0))
        rlf_condition_look(c->s, e, term, "step");
}

/* The keep of the block: its condition goes down to the prompts. */
static int
place_keep(collecting *c, const rlf_ast_expr *e, rlf_span span)
{
    rlf_sema *s = c->s;
    rlf_item *item =
        rlf_item_of(s, rlf_classes_syntax(s->classes, "keep"), -1, e, span);
    if (!item)
        return -1;
    int term = item->inputs.data[0].id;
    const rlf_term *t = &s->terms.data[term];
    if (rlf_domain_reaches(&s->graph->domains, t->domain, c->rows)) {
        look_at_keep(c, e, term);
        return rlf_item_place(s, item);
    }
    rlf_diag *diag =
        rlf_diag_error(s->diags, "level", e->span,
                       "'keep' takes one per prompt of '%s', and this is %s",
                       c->name.text, rlf_level_name(s, t->domain, t->set));
    rlf_level level = rlf_level_of(s, t->domain);
    if (level == RLF_LEVEL_SAMPLE)
        rlf_diag_hint(s->diags, diag, "mean(... over group) is one per prompt");
    return -1;
}

/* Walk the block; its scope is left for the names in it. */
static void
walk(collecting *c, const rlf_ast_stmt *stmt)
{
    rlf_sema *s = c->s;
    rlf_scope *outside = s->scope;
    rlf_scope_push(s, outside, outside->module);
    rlf_named *batch = RLF_NEW(s->arena, rlf_named);
    batch->entity = rlf_entity_none(stmt->name.span);
    batch->entity.kind = RLF_ENTITY_SET;
    batch->entity.set = c->drawn;
    batch->span = stmt->name.span;
    rlf_map_put(&s->scope->entities, stmt->name.text, batch);
    int before = s->part;
    s->part = c->body;
    s->collecting = true;
    size_t n = stmt->body->stmts.count;
    for (size_t i = 0; i + 1 < n; i++)
        rlf_sema_statement(s, stmt->body->stmts.data[i]);
    const rlf_ast_stmt *last = stmt->body->stmts.data[n - 1];
    c->keep = place_keep(c, last->value, last->span);
    s->collecting = false;
    s->part = before;
    const rlf_scope *inside = s->scope;
    s->scope = outside;
    s->items.data[c->item].keep = c->keep;
    if (c->keep < 0) {
        give_nothing(s, stmt->body);
        return;
    }
    /* The flow's draw is now what was kept. */
    c->n_twins = (int)s->graph->domains.list.count;
    c->twin = RLF_NEW_ARRAY(s->arena, int, c->n_twins);
    for (int i = 0; i < c->n_twins; i++)
        c->twin[i] = -1;
    int rows = s->graph->sets.data[c->kept].prompts;
    s->graph->domains.list.data[rows].maybe_empty = true;
    c->twin[c->rows] = rows;
    rlf_item_output_set(s, c->item, c->kept);
    add_source(c, true, c->drawn);
    give_names(c, inside);
}

/* Adds the number of wanted prompts behind the collect's own arguments. */
static void
add_count(rlf_sema *s, rlf_item *item, const rlf_arg *count)
{
    rlf_arg *args = RLF_NEW_ARRAY(s->arena, rlf_arg, item->n_args + 1);
    memcpy(args, item->args, sizeof *args * (size_t)item->n_args);
    args[item->n_args++] = *count;
    item->args = args;
}

/* All rounds together may draw fewer than are wanted. */
static void
check_rounds(rlf_sema *s, const rlf_item *item, const rlf_arg *count,
             const rlf_ast_stmt *stmt)
{
    const rlf_arg *each = rlf_args_find(item->args, item->n_args, "draw");
    const rlf_arg *rounds = rlf_args_find(item->args, item->n_args, "rounds");
    if (!each->given || rounds->number * each->number >= count->number)
        return;
    rlf_diag *diag = rlf_diag_warning(
        s->diags, "collect", each->span,
        "the rounds draw %.0f prompts in all, and '%s' is to have %.0f: it is "
        "never full",
        rounds->number * each->number, stmt->name.text, count->number);
    rlf_diag_hint(s->diags, diag, "raise draw: or rounds:");
}

void
rlf_sema_collect(rlf_sema *s, const rlf_ast_stmt *stmt)
{
    const rlf_node_class *class = rlf_classes_syntax(s->classes, "collect");
    if (s->part != 0) {
        rlf_diag_error(s->diags, "statement", stmt->span,
                       "a collect stands in the flow itself, not in a block "
                       "of it");
        return;
    }
    rlf_item *item = rlf_item_new(s, class, -1, stmt->span);
    bool good = rlf_args_match(s, stmt->args, class->formals, class->n_formals,
                               false, class->name, stmt->name.span, item);
    good = ends_with_keep(s, stmt) && good;
    int draw = find_draw(s, &stmt->name);
    if (!good || draw < 0 || !is_unused(s, draw, stmt)) {
        give_nothing(s, stmt->body);
        return;
    }
    const rlf_item *drawing = &s->items.data[draw];
    const rlf_arg *count =
        rlf_args_find(drawing->args, drawing->n_args, "count");
    const rlf_arg *each = rlf_args_find(item->args, item->n_args, "draw");
    double most = each->given ? each->number : count->number;
    check_rounds(s, item, count, stmt);
    add_count(s, item, count);
    item->receiver = drawing->receiver;
    leave_region(s, draw);
    collecting c = {.s = s,
                    .name = stmt->name,
                    .keep = -1,
                    .in_parts = each->given && most < count->number};
    c.item = rlf_item_place(s, item);
    c.body = rlf_sema_part_new(s, c.item);
    RLF_PUSH_IN(s->arena, &s->items.data[c.item].regions, c.body);
    move_draw(&c, draw, most);
    walk(&c, stmt);
}
