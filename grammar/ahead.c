/* Values that are made ahead: the samples of a generate with `ahead: k`, and
 * all that they are made of.
 *
 * These items and terms make a part of the flow of their own, which the engine
 * works on k steps before the rest (engine/order). Whatever is given a name and
 * goes into the samples belongs to it, wherever else it is used; a collect
 * belongs to it as a whole. A state that is named in both parts is read in
 * each. */
#include "grammar/lower.h"

static void mark_item(rlf_lower *l, int item);

static void
mark_term(rlf_lower *l, int term)
{
    const rlf_term *t = &l->s->terms.data[term];
    if (l->early[term])
        return;
    l->early[term] = true;
    for (int k = 0; k < 3; k++)
        if (t->arg[k] >= 0)
            mark_term(l, t->arg[k]);
    if (t->kind == RLF_TERM_OUT && t->item >= 0)
        mark_item(l, t->item);
}

static void
mark_region(rlf_lower *l, int part)
{
    const rlf_sema_part *p = &l->s->parts.data[part];
    for (size_t i = 0; i < p->items.count; i++)
        mark_item(l, p->items.data[i]);
}

static void
mark_item(rlf_lower *l, int item)
{
    rlf_sema *s = l->s;
    rlf_item *it = &s->items.data[item];
    if (it->ahead)
        return;
    it->ahead = true;
    for (size_t i = 0; i < it->inputs.count; i++) {
        int id = it->inputs.data[i].id;
        if (!it->inputs.data[i].is_set)
            mark_term(l, id);
        else if (s->makers.data[id].item >= 0)
            mark_item(l, s->makers.data[id].item);
        else
            mark_item(l, l->piece_of[id]);
    }
    for (size_t i = 0; i < it->regions.count; i++)
        mark_region(l, it->regions.data[i]);
    int parent = s->parts.data[it->region].parent;
    if (parent >= 0)
        mark_item(l, parent);
}

/* `ahead:` of an item, or NULL. */
static const rlf_arg *
argument(const rlf_item *it)
{
    const rlf_arg *arg = it->class->work == RLF_WORK_GENERATE
                             ? rlf_args_find(it->args, it->n_args, "ahead")
                             : NULL;
    return arg && arg->kind == RLF_ARG_NUMBER && arg->number > 0 ? arg : NULL;
}

/* The block around an item that may be left out, or run more than once, in a
 * step; NULL: none. */
static const rlf_item *
block_around(const rlf_sema *s, const rlf_item *it)
{
    int parent;
    while ((parent = s->parts.data[it->region].parent) >= 0) {
        it = &s->items.data[parent];
        if (it->class->control_flow != RLF_CONTROL_FLOW_ROUNDS)
            return it;
    }
    return NULL;
}

static bool
is_right(rlf_sema *s, const rlf_item *it, const rlf_arg *arg,
         const rlf_arg *first)
{
    const rlf_item *block = block_around(s, it);
    rlf_diag *diag;
    if (block) {
        diag =
            rlf_diag_error(s->diags, "ahead", arg->span,
                           "only what every step generates once can be made "
                           "ahead, and this stands in a block of '%s'",
                           block->class->control_flow == RLF_CONTROL_FLOW_LOOP
                               ? "for"
                               : block->class->name);
        rlf_diag_note(s->diags, diag, block->span, "the block begins here");
        rlf_diag_hint(s->diags, diag,
                      "generate it before the block, or leave "
                      "out 'ahead:'");
        return false;
    }
    if (first->number >= arg->number && first->number <= arg->number)
        return true;
    diag = rlf_diag_error(s->diags, "ahead", arg->span,
                          "this is made %g steps ahead, and other samples %g: "
                          "a flow has one number of steps",
                          arg->number, first->number);
    rlf_diag_note(s->diags, diag, first->span, "the other one is here");
    return false;
}

void
rlf_lower_ahead(rlf_lower *l)
{
    rlf_sema *s = l->s;
    const rlf_arg *first = NULL;
    for (size_t i = 0; i < s->items.count; i++) {
        const rlf_arg *arg = argument(&s->items.data[i]);
        if (!arg)
            continue;
        first = first ? first : arg;
        if (is_right(s, &s->items.data[i], arg, first))
            mark_item(l, (int)i);
    }
    s->graph->ahead = first ? (uint32_t)first->number : 0;
}
