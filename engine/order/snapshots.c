/* Copies of weights for what is computed ahead.
 *
 * A node that works ahead (rlf_node.ahead) needs the weights with which a step
 * begins, however long it takes. Where it reads a model from a copy on other
 * ranks than those of the first copy, which is the one that changes, the copy
 * itself keeps them: it is pinned. Then no update waits for what is made ahead,
 * and who wants newer weights in such a copy, or in another on ranks of it
 * (there the two may share memory), waits instead. Elsewhere updates wait.
 *
 * With k > 1 steps ahead the next steps may begin while the pin is still read
 * with older weights. Then theirs wait in copies beside it
 * (rlf_weight_copy.later_of), at most k - 1 versions, and become the pin's one
 * after the other.
 *
 * A node that every rank computes needs its inputs everywhere. Posted behind an
 * update it would keep ranks that sample ahead waiting for the update; so it is
 * deferred (rlf_control_blocks_samplers), and so are rows of which one input is
 * on such ranks and another one on those that are at work. */
#include "engine/graph/class.h"
#include "engine/order/control_state.h"
#include "engine/plan/weight_copies.h"

static const rlf_layout *
layout_of(const rlf_control *c, int model, int copy)
{
    return &c->plan->copies[model].list[copy].mesh.layout;
}

static void
add_pin(rlf_control *c, int model, int copy, int node)
{
    for (int i = 0; i < c->n_pins; i++)
        if (c->pins[i].model == model && c->pins[i].copy == copy)
            return;
    c->pins[c->n_pins++] =
        (pin){.model = model,
              .copy = copy,
              .node = node,
              .waiting = RLF_NEW_ARRAY(c->lasting, struct waiting,
                                       c->plan->graph->ahead)};
}

/* Does the node read what is pinned, or what may share its memory? */
static bool
reads_copy(const rlf_control *c, const rlf_node *node)
{
    const int *copy = c->plan->place[node->id].copy;
    for (int i = 0; i < c->n_pins && !node->ahead; i++) {
        int model = c->pins[i].model;
        if (copy[model] > 0 &&
            rlf_layout_shares_ranks(layout_of(c, model, copy[model]),
                                    layout_of(c, model, c->pins[i].copy)))
            return true;
    }
    return false;
}

static void
put_layout(word *set, const rlf_layout *l)
{
    for (int i = 0; i < l->n_ranks; i++)
        put(set, l->ranks[i]);
}

void
rlf_control_find_snapshots(rlf_control *c, rlf_policy *policy)
{
    const rlf_graph *graph = c->plan->graph;
    size_t n = graph->resources.count, nodes = graph->nodes.count;
    c->makers = RLF_NEW_ARRAY(c->lasting, word, c->n_words);
    for (size_t i = 0; i < nodes; i++)
        if (graph->nodes.data[i].ahead &&
            graph->nodes.data[i].class->work == RLF_WORK_GENERATE)
            put_layout(c->makers, &c->plan->place[i].layout);
    bool *separate = RLF_NEW_ARRAY(c->lasting, bool, n);
    bool *copies = RLF_NEW_ARRAY(c->lasting, bool, nodes);
    c->separate = policy->separate = separate;
    policy->copies = copies;
    if (!graph->ahead || !c->plan->copies)
        return;
    for (size_t i = 0; i < n; i++)
        separate[i] = c->plan->copies[i].n > 1 &&
                      rlf_weight_copies_separate(c->plan, (int)i);
    c->pins = RLF_NEW_ARRAY(c->lasting, pin, n * nodes);
    for (size_t i = 0; i < nodes; i++)
        for (size_t k = 0; k < n && graph->nodes.data[i].ahead; k++)
            if (separate[k] && c->plan->place[i].copy[k] > 0)
                add_pin(c, (int)k, c->plan->place[i].copy[k], (int)i);
    for (size_t i = 0; i < nodes; i++)
        copies[i] = reads_copy(c, &graph->nodes.data[i]);
}

/* ---- what waits ---- */

/* Weights that wait for what is made ahead for a step become those of the pin
 * when all that is made before it is there. */
static void
take_waiting(rlf_control *c, pin *p)
{
    uint64_t *version = c->version[p->model];
    while (p->n_waiting &&
           rlf_order_made_before(c->order, p->waiting[0].step)) {
        int from = p->waiting[0].copy;
        p->n_waiting--;
        memmove(p->waiting, p->waiting + 1,
                (size_t)p->n_waiting * sizeof *p->waiting);
        version[p->copy] = version[from];
        rlf_rank_command *command = rlf_control_post(c, RLF_DO_WEIGHTS, -1);
        command->model = p->model;
        command->from = from;
        command->copy = p->copy;
        command->node = p->node;
        rlf_control_note_weights(c, command);
    }
}

void
rlf_control_take_waiting(rlf_control *c, int model)
{
    for (int i = 0; i < c->n_pins; i++)
        if (c->pins[i].model == model)
            take_waiting(c, &c->pins[i]);
}

/* A copy in which nothing waits. */
static int
unused_copy(const rlf_control *c, const pin *p)
{
    const rlf_weight_copies *copies = &c->plan->copies[p->model];
    for (int i = 0, copy;
         (copy = rlf_weight_copies_later(copies, p->copy, i)) >= 0; i++) {
        bool taken = false;
        for (int k = 0; k < p->n_waiting; k++)
            taken |= p->waiting[k].copy == copy;
        if (!taken)
            return copy;
    }
    return -1;
}

/* The weights with which the present step begins, for what is made ahead in
 * it. */
static void
bring_pin(rlf_control *c, pin *p)
{
    uint64_t *version = c->version[p->model];
    uint64_t step = c->step + c->plan->graph->ahead;
    take_waiting(c, p);
    int last = p->n_waiting ? p->waiting[p->n_waiting - 1].copy : p->copy;
    if (version[last] == version[0])
        return;
    int copy = p->copy;
    if (!rlf_order_made_before(c->order, step)) {
        copy = unused_copy(c, p);
        RLF_ASSERT(copy >= 0);
        p->waiting[p->n_waiting++] = (struct waiting){copy, step};
    }
    rlf_control_bring_copy(c, p->model, copy, p->node, -1);
}

void
rlf_control_bring_pins(rlf_control *c)
{
    for (int i = 0; i < c->n_pins && c->pins_due; i++)
        bring_pin(c, &c->pins[i]);
    c->pins_due = false;
}

/* ---- who samples is let alone ---- */

/* Ranks that sample, or are about to. */
static const word *
samplers_of(rlf_control *c, int generation)
{
    if (generation == c->sampling)
        return rlf_control_samplers(c);
    word *set = RLF_NEW_ARRAY(c->arena, word, c->n_words);
    const rlf_node *node = rlf_control_instance(c, generation)->node;
    put_layout(set, &rlf_control_place(c, node)->layout);
    return set;
}

const word *
rlf_control_next_samplers(rlf_control *c)
{
    int generation = rlf_order_generation(c->order);
    if (c->sampling >= 0)
        return rlf_control_samplers(c);
    return generation >= 0 && rlf_control_instance(c, generation)->node->ahead
               ? samplers_of(c, generation)
               : NULL;
}

/* Has a rank that does not sample anything to do yet that was posted? */
static bool
others_work(const rlf_control *c, const word *samplers, int generation)
{
    for (size_t i = 0; i < c->actives.count; i++) {
        const active *a = &c->actives.data[i];
        for (int k = 0; k < a->n_shares && a->instance != generation; k++)
            if (a->shares[k].reports && !a->reported[k] &&
                !has(samplers, a->shares[k].rank))
                return true;
    }
    return false;
}

/* Is there a sampling rank of the layout that lacks something of an instance?
 */
static bool
lacks(rlf_control *c, const word *samplers, int from, const rlf_layout *l)
{
    const track *t = rlf_control_track(c, from);
    bool rows = rlf_control_instance(c, from)->node->rows >= 0;
    uint32_t n = rows ? t->n_rows : 1;
    for (int i = 0; i < l->n_ranks && !t->everywhere; i++)
        for (uint32_t k = 0; k < n && has(samplers, l->ranks[i]); k++)
            if (!has(rlf_control_ranks_with(c, t, k), l->ranks[i]))
                return true;
    return false;
}

/* Would ranks that sample have to meet those that are at work in row `row`? One
 * input of it is on the ones alone, another one on the others, and nobody has
 * all. */
static bool
crosses(rlf_control *c, const rlf_instance *in, uint32_t row,
        const word *samplers, const word *busy)
{
    bool sampling = false, working = false;
    word *common = RLF_NEW_ARRAY(c->scratch, word, c->n_words);
    memset(common, 0xff, sizeof *common * (size_t)c->n_words);
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;) {
        const track *t = rlf_control_track(c, from);
        if (!lies_by_row(t) || !rlf_control_aligned(c, in->node, from))
            continue;
        const word *have = rlf_control_ranks_with(c, t, row);
        sampling |= is_within(c, have, samplers);
        working |= is_within(c, have, busy);
        for (int k = 0; k < c->n_words; k++)
            common[k] &= have[k];
    }
    bool apart = true;
    for (int k = 0; k < c->n_words; k++)
        apart &= !common[k];
    return sampling && working && apart;
}

/* The same of any row of a decision. */
static bool
any_crosses(rlf_control *c, const rlf_decision *decision, const word *samplers)
{
    const rlf_instance *in = rlf_control_instance(c, decision->instance);
    const word *busy = rlf_control_at_work(c);
    bool any = false;
    if (!rlf_control_knows_rows(c, decision->instance))
        return false;
    uint32_t n = decision->rows
                     ? decision->n_rows
                     : rlf_control_track(c, decision->instance)->n_rows;
    for (uint32_t k = 0; k < n && !any; k++) {
        rlf_arena_reset(c->scratch);
        any = crosses(c, in, decision->rows ? decision->rows[k] : k, samplers,
                      busy);
    }
    return any;
}

bool
rlf_control_blocks_samplers(rlf_control *c, const rlf_decision *decision)
{
    int generation = rlf_order_generation(c->order);
    if (generation < 0 || !rlf_control_instance(c, generation)->node->ahead)
        return false;
    const word *samplers = samplers_of(c, generation);
    if (!others_work(c, samplers, generation))
        return false;
    if (decision->kind == RLF_NEXT_END)
        return true; /* it waits for everyone anyway */
    const rlf_instance *in = rlf_control_instance(c, decision->instance);
    const rlf_node_place *place = rlf_control_place(c, in->node);
    if (decision->kind == RLF_NEXT_RUN &&
        place->partition == RLF_PARTITION_NEAR)
        return any_crosses(c, decision, samplers);
    if (decision->kind == RLF_NEXT_RUN &&
        place->partition != RLF_PARTITION_WHOLE)
        return false; /* that goes where it is free, or has what it needs */
    for (int i = 0, from; (from = rlf_control_input(c, in, &i)) >= 0;)
        if (lacks(c, samplers, from, &place->layout))
            return true;
    return false;
}
