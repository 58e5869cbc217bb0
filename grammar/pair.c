/* Readings of paired sets become one.
 *
 * A preference has two responses of each row, `ref.logprob(good)` and
 * `ref.logprob(bad)`: two calls, whose sets are given responses to the same
 * prompts (rlf_sets_paired). One item that gives both columns reads their
 * samples by turns, and so computes a prompt once (nodes/logprob.c). No value
 * of the program depends on it: calls of one kind on one model, that nothing
 * between them changes, and of sets whose samples are all there at once. What
 * is generated comes sample by sample, and a call on it waits for no other. */
#include "grammar/lower.h"

/* The set that the item reads, if it is a call that others can be joined with;
 * else -1. */
static int
set_read(const rlf_sema *s, const rlf_item *it)
{
    const rlf_node_class *class = it->class;
    if (!class->live || class->level == RLF_LEVEL_VOCAB || it->joined ||
        !it->inputs.count || !it->inputs.data[0].is_set)
        return -1;
    int set = it->inputs.data[0].id;
    return s->graph->sets.data[set].kind == RLF_SET_WRITTEN ? set : -1;
}

static bool
are_alike(const rlf_sema *s, const rlf_item *a, const rlf_item *b)
{
    int x = set_read(s, a), y = set_read(s, b);
    const rlf_set *sets = s->graph->sets.data;
    for (size_t i = 0; i < a->inputs.count; i++)
        if (a->inputs.data[i].id == y)
            return false; /* it reads that set already */
    return x >= 0 && y >= 0 && a->class == b->class &&
           a->receiver == b->receiver && a->looking == b->looking &&
           a->ahead == b->ahead && rlf_sets_paired(&sets[x], &sets[y]);
}

/* Is all that the item reads there at a place of its region? */
static bool
is_ready(const rlf_sema *s, const rlf_item *it, int place)
{
    const rlf_maker *maker = &s->makers.data[it->inputs.data[0].id];
    const rlf_item *made =
        maker->item >= 0 ? &s->items.data[maker->item] : NULL;
    return !made || made->region != it->region || made->place < place;
}

static bool
depends(const rlf_sema *s, int term, int item, bool *seen)
{
    const rlf_term *t = &s->terms.data[term];
    if (seen[term])
        return false;
    seen[term] = true;
    if (t->kind == RLF_TERM_OUT)
        return t->item == item;
    for (int k = 0; k < 3; k++)
        if (t->arg[k] >= 0 && depends(s, t->arg[k], item, seen))
            return true;
    return false;
}

/* Do items of a region between two of its places take what an item gives? */
static bool
is_used(const rlf_sema *s, const rlf_sema_part *part, int item, int from,
        int to)
{
    bool *seen = RLF_NEW_ARRAY(s->arena, bool, s->terms.count);
    for (int place = from + 1; place < to; place++) {
        const rlf_item *it = &s->items.data[part->items.data[place]];
        for (size_t i = 0; i < it->inputs.count; i++)
            if (!it->inputs.data[i].is_set &&
                depends(s, it->inputs.data[i].id, item, seen))
                return true;
    }
    return false;
}

/* `to` has what `from` reads and gives, too; `first`: before its own. */
static void
join(rlf_sema *s, int from, int to, bool first)
{
    rlf_item *a = &s->items.data[from], *b = &s->items.data[to];
    rlf_item *order[] = {first ? a : b, first ? b : a};
    rlf_item out = *b;
    out.inputs.data = NULL, out.outputs.data = NULL;
    out.inputs.count = out.inputs.room = 0;
    out.outputs.count = out.outputs.room = 0;
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < order[k]->inputs.count; i++)
            RLF_PUSH_IN(s->arena, &out.inputs, order[k]->inputs.data[i]);
        for (size_t i = 0; i < order[k]->outputs.count; i++)
            RLF_PUSH_IN(s->arena, &out.outputs, order[k]->outputs.data[i]);
    }
    out.span = order[0]->span;
    *b = out;
    a->joined = true;
    for (size_t i = 0; i < b->outputs.count; i++) {
        rlf_term *t = &s->terms.data[b->outputs.data[i].id];
        t->item = to;
        t->port = (int)i;
    }
}

/* Does the item change something, or is it what decides whether what follows is
 * run at all? Then calls stay on their sides of it. */
static bool
parts(const rlf_item *it)
{
    return it->writes.count || it->regions.count ||
           it->class->control_flow != RLF_CONTROL_FLOW_NONE;
}

/* Joins the call at a place of a region with the nearest before it that it can
 * be joined with: there, or, if what it reads comes later, here. */
static void
join_at(rlf_sema *s, const rlf_sema_part *part, int place)
{
    int own = part->items.data[place];
    for (int k = place - 1; k >= 0; k--) {
        int at = part->items.data[k];
        if (parts(&s->items.data[at]))
            return;
        if (!are_alike(s, &s->items.data[at], &s->items.data[own]))
            continue;
        if (is_ready(s, &s->items.data[own], k))
            join(s, own, at, false);
        else if (!is_used(s, part, at, k, place))
            join(s, at, own, true);
        return;
    }
}

void
rlf_lower_pairs(rlf_sema *s)
{
    for (size_t p = 0; p < s->parts.count; p++)
        for (size_t i = 0; i < s->parts.data[p].items.count; i++) {
            int item = s->parts.data[p].items.data[i];
            if (set_read(s, &s->items.data[item]) >= 0)
                join_at(s, &s->parts.data[p], (int)i);
        }
}
