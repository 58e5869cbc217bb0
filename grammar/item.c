/* Items: nodes to be, in the order of the program. */
#include "grammar/passes.h"

rlf_item *
rlf_item_new(rlf_sema *s, const rlf_node_class *class, int receiver,
             rlf_span span)
{
    rlf_item *item = RLF_NEW(s->arena, rlf_item);
    item->class = class;
    item->receiver = receiver;
    item->update = -1;
    item->node = -1;
    item->keep = -1;
    item->span = span;
    item->span.use = s->use;
    bool lasts = class->receiver == RLF_RECEIVER_MODEL ||
                 class->receiver == RLF_RECEIVER_STATE;
    if (receiver >= 0 && class->writes)
        RLF_PUSH_IN(s->arena, &item->writes, receiver);
    else if (receiver >= 0 && lasts)
        RLF_PUSH_IN(s->arena, &item->reads, receiver);
    return item;
}

int
rlf_item_input_term(rlf_sema *s, rlf_item *item, int term)
{
    for (size_t i = 0; i < item->inputs.count; i++) {
        if (!item->inputs.data[i].is_set && item->inputs.data[i].id == term)
            return (int)i;
    }
    rlf_term_use(s, term);
    RLF_PUSH_IN(s->arena, &item->inputs, (rlf_item_input){false, term});
    return (int)item->inputs.count - 1;
}

int
rlf_item_input_set(rlf_sema *s, rlf_item *item, int set)
{
    for (size_t i = 0; i < item->inputs.count; i++) {
        if (item->inputs.data[i].is_set && item->inputs.data[i].id == set)
            return (int)i;
    }
    RLF_PUSH_IN(s->arena, &item->inputs, (rlf_item_input){true, set});
    return (int)item->inputs.count - 1;
}

int
rlf_item_place(rlf_sema *s, const rlf_item *item)
{
    int index = (int)s->items.count;
    RLF_ASSERT(s->part >= 0);
    RLF_PUSH_IN(s->arena, &s->items, *item);
    rlf_item *placed = &s->items.data[index];
    placed->region = s->part;
    placed->place = (int)s->parts.data[s->part].items.count;
    RLF_PUSH_IN(s->arena, &s->parts.data[s->part].items, index);
    return index;
}

int
rlf_item_output_term(rlf_sema *s, int item, int domain, bool text, int set,
                     const char *name)
{
    rlf_item *it = &s->items.data[item];
    int port = (int)it->outputs.count;
    /* An update's node is not part of the update's own block. */
    int update = s->update;
    s->update = -1;
    int term = rlf_term_add(s, (rlf_term){.kind = RLF_TERM_OUT,
                                          .arg = {-1, -1, -1},
                                          .domain = domain,
                                          .item = item,
                                          .port = port,
                                          .set = set,
                                          .text = text,
                                          .name = name,
                                          .span = it->span});
    s->update = update;
    RLF_PUSH_IN(s->arena, &it->outputs, (rlf_item_output){false, term, name});
    return term;
}

void
rlf_item_output_set(rlf_sema *s, int item, int set)
{
    rlf_item *it = &s->items.data[item];
    s->makers.data[set].item = item;
    s->makers.data[set].port = (int)it->outputs.count;
    RLF_PUSH_IN(s->arena, &it->outputs,
                (rlf_item_output){true, set, s->graph->sets.data[set].name});
}

/* ---- what is read once ---- */

static const char *
made_key(const rlf_sema *s, const rlf_node_class *class, int of,
         const char *name, int part)
{
    return rlf_arena_printf(s->arena, "%p %d %d %s", (const void *)class, of,
                            part, name ? name : "");
}

int
rlf_item_made(const rlf_sema *s, const rlf_node_class *class, int of,
              const char *name)
{
    for (int part = s->part; part >= 0;) {
        const void *found =
            rlf_map_get(&s->made, made_key(s, class, of, name, part));
        int parent = s->parts.data[part].parent;
        if (found)
            return (int)(uintptr_t)found - 1;
        part = parent < 0 ? -1 : s->items.data[parent].region;
    }
    return -1;
}

void
rlf_item_keep(rlf_sema *s, const rlf_node_class *class, int of,
              const char *name, int made)
{
    rlf_map_put(&s->made, made_key(s, class, of, name, s->part),
                (void *)(uintptr_t)(made + 1));
}

int
rlf_sema_part_new(rlf_sema *s, int parent)
{
    RLF_PUSH_IN(s->arena, &s->parts, (rlf_sema_part){.parent = parent});
    return (int)s->parts.count - 1;
}

bool
rlf_sema_part_holds(const rlf_sema *s, int outer, int inner)
{
    while (inner != outer) {
        int item = s->parts.data[inner].parent;
        if (item < 0)
            return false;
        inner = s->items.data[item].region;
    }
    return true;
}
