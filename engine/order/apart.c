/* Which weights are read ahead from copies of their own.
 *
 * What is made ahead (rlf_node.ahead) needs the weights with which a step
 * begins, all through the step. Where it reads a model from a hold on other
 * ranks than those of the first hold, which is the one that changes, the hold
 * itself keeps them: it is pinned. Then no update waits for what is made ahead,
 * and who wants newer weights in such a hold, or in another on ranks of it
 * (there the two may share memory), waits instead. Elsewhere updates wait. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"

static bool
share_ranks(const rlf_layout *a, const rlf_layout *b)
{
    for (int i = 0; i < a->n_ranks; i++)
        if (rlf_layout_find(b, a->ranks[i]).tp >= 0)
            return true;
    return false;
}

static const rlf_layout *
layout_of(const rlf_control *c, int model, int hold)
{
    return &c->plan->holds[model].list[hold].mesh.layout;
}

static bool
reads(const rlf_node *node, int resource)
{
    for (int i = 0; i < node->n_reads; i++)
        if (node->reads[i] == resource)
            return true;
    return false;
}

/* Is there something ahead that reads the model, and all of it elsewhere than
 * where it changes? */
static bool
is_apart(const rlf_control *c, int model)
{
    const rlf_graph *graph = c->plan->graph;
    bool some = false;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!node->ahead || !reads(node, model))
            continue;
        int hold = c->plan->place[i].hold[model];
        if (hold <= 0 ||
            share_ranks(layout_of(c, model, hold), layout_of(c, model, 0)))
            return false;
        some = true;
    }
    return some;
}

static void
add_pin(rlf_control *c, int model, int hold, int node)
{
    for (int i = 0; i < c->n_pins; i++)
        if (c->pins[i].model == model && c->pins[i].hold == hold)
            return;
    c->pins[c->n_pins++] = (pin){model, hold, node};
}

/* Does the node read what is pinned, or what may share its memory? */
static bool
reads_copy(const rlf_control *c, const rlf_node *node)
{
    const int *hold = c->plan->place[node->id].hold;
    for (int i = 0; i < c->n_pins && !node->ahead; i++) {
        int model = c->pins[i].model;
        if (hold[model] > 0 &&
            share_ranks(layout_of(c, model, hold[model]),
                        layout_of(c, model, c->pins[i].hold)))
            return true;
    }
    return false;
}

void
rlf_control_find_apart(rlf_control *c, rlf_policy *policy)
{
    const rlf_graph *graph = c->plan->graph;
    size_t n = graph->resources.count, nodes = graph->nodes.count;
    bool *apart = RLF_NEW_ARRAY(c->lasting, bool, n);
    bool *copies = RLF_NEW_ARRAY(c->lasting, bool, nodes);
    c->apart = policy->apart = apart;
    policy->copies = copies;
    if (!graph->ahead || !c->plan->holds)
        return;
    for (size_t i = 0; i < n; i++)
        apart[i] = c->plan->holds[i].n > 1 && is_apart(c, (int)i);
    c->pins = RLF_NEW_ARRAY(c->lasting, pin, n * nodes);
    for (size_t i = 0; i < nodes; i++)
        for (size_t k = 0; k < n && graph->nodes.data[i].ahead; k++)
            if (apart[k] && c->plan->place[i].hold[k] > 0)
                add_pin(c, (int)k, c->plan->place[i].hold[k], (int)i);
    for (size_t i = 0; i < nodes; i++)
        copies[i] = reads_copy(c, &graph->nodes.data[i]);
}

void
rlf_control_bring_pins(rlf_control *c)
{
    for (int i = 0; i < c->n_pins; i++)
        rlf_control_bring_hold(c, c->pins[i].model, c->pins[i].hold,
                               c->pins[i].node, -1);
}
