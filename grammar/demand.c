/* Places at which terms are computed.
 *
 * A term is "demanded" by the items that take it, and computed in the region
 * where it was written, before the first of them; a reduction over vocab while
 * the models are still those that its logprobs were called on. */
#include "grammar/lower.h"

/* The place in region `part` of the item, or of the one that it is inside of.
 */
static int
place_in(const rlf_sema *s, int item, int part)
{
    while (s->items.data[item].region != part)
        item = s->parts.data[s->items.data[item].region].parent;
    return s->items.data[item].place;
}

static void demand(rlf_lower *l, int term, int item);

/* The first place of a region where a term's value is there. */
static int
ready(rlf_sema *s, rlf_lower *l, int term, int part)
{
    const rlf_term *t = &s->terms.data[term];
    int region =
        t->kind == RLF_TERM_OUT ? s->items.data[t->item].region : t->region;
    if (!rlf_sema_part_holds(s, part, region))
        return 0; /* made outside */
    if (t->kind == RLF_TERM_OUT)
        return t->item < 0 ? 0 : place_in(s, t->item, part) + 1;
    return region == part && l->demanded[term] ? l->placed[term] : 0;
}

typedef struct reduction {
    rlf_lower *l;
    int term, item;
    int place; /* where all it takes is there */
    int first; /* place of the first logprobs in it */
} reduction;

static void
demand_leaf(void *ctx, int leaf)
{
    reduction *r = ctx;
    rlf_sema *s = r->l->s;
    int part = s->terms.data[r->term].region;
    demand(r->l, leaf, r->item);
    int place = ready(s, r->l, leaf, part);
    if (place > r->place)
        r->place = place;
    if (rlf_level_of(s, s->terms.data[leaf].domain) == RLF_LEVEL_VOCAB &&
        (r->first < 0 || place < r->first))
        r->first = place;
}

/* Does an item from place `from` up to `to` change a model that the leaf is a
 * call on? */
typedef struct change {
    rlf_lower *l;
    int part, from, to;
    int item; /* that does */
} change;

static void
find_change(void *ctx, int leaf)
{
    change *c = ctx;
    rlf_sema *s = c->l->s;
    const rlf_term *t = &s->terms.data[leaf];
    if (t->kind != RLF_TERM_OUT ||
        rlf_level_of(s, t->domain) != RLF_LEVEL_VOCAB)
        return;
    int model = s->items.data[t->item].receiver;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_item *it = &s->items.data[i];
        if (!rlf_sema_part_holds(s, c->part, it->region))
            continue;
        int place = place_in(s, (int)i, c->part);
        for (size_t k = 0; k < it->writes.count; k++)
            if (it->writes.data[k] == model && place >= c->from &&
                place < c->to && c->item < 0)
                c->item = (int)i;
    }
}

/* The item that changes a model of the reduction before `place`; -1: none. */
static int
changed(const reduction *r, int place)
{
    rlf_sema *s = r->l->s;
    change c = {r->l, s->terms.data[r->term].region, r->first, place, -1};
    rlf_vocab_leaves(s, r->term, find_change, &c);
    return c.item;
}

/* A reduction over vocab runs, together with others, where it is needed; but
 * while its models are those that logprobs was called on. */
static void
demand_words(rlf_lower *l, int term, int item)
{
    rlf_sema *s = l->s;
    reduction r = {l, term, item, 0, -1};
    const rlf_term *t = &s->terms.data[term];
    rlf_vocab_leaves(s, term, demand_leaf, &r);
    int late = place_in(s, item, t->region);
    if (changed(&r, late) < 0)
        r.place = late;
    int at = changed(&r, r.place);
    if (at >= 0) {
        rlf_diag *diag =
            rlf_diag_error(s->diags, "level", t->span,
                           "the weights change between logprobs and what is "
                           "needed to reduce it here");
        rlf_diag_note(s->diags, diag, s->items.data[at].span,
                      "they change here");
        rlf_diag_hint(s->diags, diag,
                      "reduce it before, or call logprobs after that");
    }
    l->placed[term] = r.place;
    RLF_PUSH_IN(s->arena, &l->parts[t->region].places[r.place].terms, term);
}

/* Inside a program: what is named and used again is worth keeping. */
static void
demand_inside(rlf_lower *l, int term, int item, int part)
{
    const rlf_term *t = &l->s->terms.data[term];
    if (t->kind != RLF_TERM_OP || l->demanded[term] || l->inside[term])
        return;
    if (t->region != part || (t->named && t->uses > 1) ||
        rlf_vocab_is_result(l->s, term)) {
        demand(l, term, item);
        return;
    }
    l->inside[term] = true;
    for (int k = 0; k < 3; k++) {
        if (t->arg[k] >= 0)
            demand_inside(l, t->arg[k], item, part);
    }
}

static void
demand(rlf_lower *l, int term, int item)
{
    rlf_sema *s = l->s;
    const rlf_term *t = &s->terms.data[term];
    if (t->touches) {
        rlf_diag *diag = rlf_diag_error(
            s->diags, "live", t->span,
            "this depends on live calls, and their values are known only "
            "inside the update");
        rlf_diag_hint(s->diags, diag, "it can be used by minimize and report");
        return;
    }
    if (t->kind != RLF_TERM_OP || l->demanded[term])
        return;
    l->demanded[term] = true;
    if (rlf_vocab_is_result(s, term)) {
        demand_words(l, term, item);
        return;
    }
    for (int k = 0; k < 3; k++) {
        if (t->arg[k] >= 0)
            demand_inside(l, t->arg[k], item, t->region);
    }
    int place = l->placed[term] = place_in(s, item, t->region);
    RLF_PUSH_IN(s->arena, &l->parts[t->region].places[place].terms, term);
}

typedef struct constant {
    rlf_lower *l;
    int item;
} constant;

/* A live value per token in a reduction over vocab would be derived through
 * both. */
static void
demand_constant(void *ctx, int leaf)
{
    const constant *c = ctx;
    rlf_sema *s = c->l->s;
    const rlf_term *t = &s->terms.data[leaf];
    if (rlf_level_of(s, t->domain) == RLF_LEVEL_VOCAB)
        return;
    if (!t->touches) {
        demand(c->l, leaf, c->item);
        return;
    }
    rlf_diag *diag = rlf_diag_error(s->diags, "unsupported", t->span,
                                    "a live value is broadcast to the words "
                                    "of the vocabulary here");
    rlf_diag_hint(s->diags, diag, "reduce first: x * sum(... over vocab)");
}

/* The constants of a loss: what was not written in the update. */
static void
demand_loss(rlf_lower *l, int term, int item, int update)
{
    const rlf_term *t = &l->s->terms.data[term];
    if (t->kind != RLF_TERM_OP || l->in_loss[term] == item)
        return;
    l->in_loss[term] = item;
    bool result = rlf_vocab_is_result(l->s, term);
    if (t->update != update || (result && !t->touches)) {
        demand(l, term, item);
        return;
    }
    if (result) {
        rlf_vocab_leaves(l->s, term, demand_constant, &(constant){l, item});
        return;
    }
    for (int k = 0; k < 3; k++) {
        if (t->arg[k] >= 0)
            demand_loss(l, t->arg[k], item, update);
    }
}

void
rlf_lower_demands(rlf_lower *l, int part)
{
    rlf_sema *s = l->s;
    for (size_t i = 0; i < s->parts.data[part].items.count; i++) {
        int item = s->parts.data[part].items.data[i];
        const rlf_item *it = &s->items.data[item];
        for (size_t k = 0; k < it->inputs.count; k++) {
            if (!it->inputs.data[k].is_set)
                demand(l, it->inputs.data[k].id, item);
        }
        if (it->update >= 0) {
            const rlf_update_statement *u = &s->updates.data[it->update];
            demand_loss(l, u->loss, item, it->update);
            if (u->taken >= 0)
                demand_loss(l, u->taken, item, it->update);
            for (size_t k = 0; k < u->reports.count; k++)
                demand_loss(l, u->reports.data[k].term, item, it->update);
        }
        for (size_t k = 0; k < it->regions.count; k++)
            rlf_lower_demands(l, it->regions.data[k]);
    }
}
