/* Issuing: walking the program, one instance a node and iteration. */
#include "engine/base/hash.h"
#include "engine/graph/class.h"
#include "engine/order/state.h"

static frame *
top(rlf_order *order)
{
    return &order->frames.data[order->frames.count - 1];
}

static void
wait_for(rlf_order *order, instance *in, int other)
{
    if (other < 0 || order->instances.data[other]->done)
        return;
    in->after[in->n_after++] = other;
}

static void
add_reader(rlf_order *order, usage *u, int reader)
{
    if (u->n_readers == u->room) {
        int room = u->room ? 2 * u->room : 4;
        int *readers = RLF_NEW_ARRAY(order->arena, int, room);
        if (u->n_readers)
            memcpy(readers, u->readers, sizeof(int) * (size_t)u->n_readers);
        u->readers = readers;
        u->room = room;
    }
    u->readers[u->n_readers++] = reader;
}

/* Through what it reads and writes an instance waits for earlier ones: a
 * reader for the last writer, a writer for that and all readers since. */
static void
order_by_resources(rlf_order *order, instance *in, int self)
{
    const rlf_node *node = in->shown.node;
    int most = node->n_reads;
    for (int i = 0; i < node->n_writes; i++)
        most += 1 + order->used[node->writes[i]].n_readers;
    in->after = RLF_NEW_ARRAY(order->arena, int, most);
    for (int i = 0; i < node->n_reads; i++) {
        usage *u = &order->used[node->reads[i]];
        wait_for(order, in, u->writer);
        add_reader(order, u, self);
    }
    for (int i = 0; i < node->n_writes; i++) {
        usage *u = &order->used[node->writes[i]];
        wait_for(order, in, u->writer);
        for (int k = 0; k < u->n_readers; k++)
            if (u->readers[k] != self)
                wait_for(order, in, u->readers[k]);
        *u = (usage){.writer = self};
    }
}

static int
add_instance(rlf_order *order, const rlf_node *node, uint64_t iteration)
{
    instance *in = RLF_NEW(order->arena, instance);
    int self = (int)order->instances.count;
    in->shown.node = node;
    in->shown.iteration = iteration;
    in->shown.input =
        RLF_NEW_ARRAY(order->arena, struct rlf_origin, node->n_inputs);
    for (int i = 0; i < node->n_inputs; i++)
        in->shown.input[i] = order->latest[node->inputs[i]];
    for (int i = 0; i < node->n_outputs; i++)
        order->latest[node->outputs[i]] = (struct rlf_origin){self, i};
    in->branch = -1;
    RLF_PUSH(&order->instances, in);
    return self;
}

/* One iteration: an instance whose outputs are the region's arguments, behind
 * those of the node; it reads what the for itself read, and what the region
 * gave in the iteration before. */
static int
add_iteration(rlf_order *order, frame *f)
{
    instance *loop = order->instances.data[f->for_instance];
    const rlf_region *region = &order->graph->regions.data[f->region];
    int self = add_instance(order, loop->shown.node, loop->shown.iteration);
    instance *in = order->instances.data[self];
    in->shown.loop = true;
    in->started = true;
    int n_in = loop->shown.node->n_inputs, n_out = loop->shown.node->n_outputs;
    in->shown.input =
        RLF_NEW_ARRAY(order->arena, struct rlf_origin, n_in + region->n_gives);
    for (int i = 0; i < n_in; i++)
        in->shown.input[i] = loop->shown.input[i];
    for (int i = 0; i < region->n_gives; i++)
        in->shown.input[n_in + i] = f->turn ? order->latest[region->gives[i]]
                                            : (struct rlf_origin){-1, -1};
    for (int i = 0; i < region->n_args; i++)
        order->latest[region->args[i]] = (struct rlf_origin){self, n_out + i};
    return self;
}

static bool
is_control(const rlf_node *node)
{
    switch (node->class->role) {
    case RLF_ROLE_FOR:
    case RLF_ROLE_IF:
    case RLF_ROLE_EVERY:
    case RLF_ROLE_COLLECT:
    case RLF_ROLE_BREAK:
        return true;
    default:
        return false;
    }
}

static uint64_t
deeper(uint64_t iteration, const rlf_node *node, uint32_t turn)
{
    uint64_t key[2] = {iteration, (uint64_t)node->site << 32 | (turn + 1)};
    return rlf_hash_mix(rlf_hash(RLF_HASH_INIT, key, sizeof key));
}

/* Leave the innermost for, or the flow. */
static void
leave(rlf_order *order)
{
    while (order->frames.count && top(order)->for_instance < 0)
        order->frames.count--;
    if (order->frames.count)
        order->frames.count--;
    else
        order->left = true;
}

static bool
is_round(const rlf_order *order, const frame *f)
{
    if (f->for_instance < 0)
        return false;
    const instance *loop = order->instances.data[f->for_instance];
    return loop->shown.node->class->role == RLF_ROLE_COLLECT;
}

/* Begin a round of a collect: its LOOP instance says whether there is one. */
static int
ask_round(rlf_order *order, uint32_t *iteration)
{
    frame *f = top(order);
    instance *loop = order->instances.data[f->for_instance];
    f->next = 0;
    f->keep = -1;
    f->iteration = deeper(loop->shown.iteration, loop->shown.node, f->turn);
    *iteration = f->turn;
    return order->control = add_iteration(order, f);
}

/* The collect itself is answered, or a LOOP of it. */
static int
enter_collect(rlf_order *order, int answered, uint32_t *iteration)
{
    const instance *in = order->instances.data[answered];
    if (!in->shown.loop) {
        RLF_PUSH(&order->frames, (frame){.region = in->shown.node->regions[0],
                                         .for_instance = answered});
        return ask_round(order, iteration);
    }
    if (in->branch < 0)
        order->frames.count--;
    return -1;
}

/* The control node is answered: enter what it chose. Returns the LOOP instance
 * of a first iteration, or -1. */
static int
enter(rlf_order *order, uint32_t *iteration)
{
    int answered = order->control;
    instance *in = order->instances.data[answered];
    const rlf_node *node = in->shown.node;
    order->control = -1;
    if (node->class->role == RLF_ROLE_BREAK) {
        if (in->leave)
            leave(order);
        return -1;
    }
    if (node->class->role == RLF_ROLE_COLLECT)
        return enter_collect(order, answered, iteration);
    if (node->class->role != RLF_ROLE_FOR) {
        if (in->branch >= 0 && in->branch < node->n_regions)
            RLF_PUSH(&order->frames,
                     (frame){.region = node->regions[in->branch],
                             .for_instance = -1,
                             .iteration = in->shown.iteration});
        return -1;
    }
    if (!in->count)
        return -1;
    RLF_PUSH(&order->frames,
             (frame){.region = node->regions[0],
                     .for_instance = answered,
                     .turns = in->count,
                     .iteration = deeper(in->shown.iteration, node, 0)});
    *iteration = 0;
    return add_iteration(order, top(order));
}

/* The frame is at its end: the next iteration (its LOOP instance is returned),
 * or out of it. */
static int
next_turn(rlf_order *order, uint32_t *iteration)
{
    frame *f = top(order);
    if (is_round(order, f)) {
        f->turn++;
        return ask_round(order, iteration);
    }
    if (f->for_instance < 0 || f->turn + 1 == f->turns) {
        order->frames.count--;
        return -1;
    }
    const instance *loop = order->instances.data[f->for_instance];
    f->turn++;
    f->next = 0;
    f->iteration = deeper(loop->shown.iteration, loop->shown.node, f->turn);
    *iteration = f->turn;
    return add_iteration(order, f);
}

/* A round of a collect that is issued, but not over. */
static bool
round_is_open(const rlf_order *order, const frame *f)
{
    return is_round(order, f) && f->keep >= 0 &&
           !order->instances.data[f->keep]->done;
}

int
rlf_order_issue(rlf_order *order, uint32_t *iteration)
{
    for (;;) {
        if (order->control >= 0) {
            if (!order->instances.data[order->control]->done)
                return -1;
            int loop = enter(order, iteration);
            if (loop >= 0)
                return loop;
        }
        if (!order->frames.count)
            return -1;
        frame *f = top(order);
        const rlf_region *region = &order->graph->regions.data[f->region];
        if (f->next == region->n_nodes) {
            if (round_is_open(order, f))
                return -1;
            int loop = next_turn(order, iteration);
            if (loop >= 0)
                return loop;
            continue;
        }
        const rlf_node *node =
            &order->graph->nodes.data[region->nodes[f->next++]];
        int self = add_instance(order, node, f->iteration);
        order_by_resources(order, order->instances.data[self], self);
        if (is_control(node))
            order->control = self;
        if (node->class->role == RLF_ROLE_KEEP)
            f->keep = self;
    }
}
