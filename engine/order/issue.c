/* Issuing: walking the program, one instance a node and iteration. */
#include "engine/base/hash.h"
#include "engine/graph/class.h"
#include "engine/order/state.h"

static frame *
top(step_state *st)
{
    return &st->frames.data[st->frames.count - 1];
}

static void
wait_for(rlf_order *order, instance *in, int other)
{
    if (other < 0 || at(order, other)->done)
        return;
    in->after[in->n_after++] = other;
}

/* Does what is made ahead read this model from a copy that nobody changes? */
static bool
is_separate(const rlf_order *order, int resource)
{
    return order->policy.separate && order->policy.separate[resource];
}

/* Does the node read what is being read ahead, and has the step changed the
 * model since, or may that read still be one of an earlier step? */
static bool
needs_newer(const rlf_order *order, const rlf_node *node)
{
    if (node->ahead || !order->policy.copies || !order->policy.copies[node->id])
        return false;
    int now = (int)(order->step % (uint64_t)order->n_steps);
    for (int i = 0; i < node->n_reads; i++) {
        int writer = order->used[node->reads[i]].writer;
        bool changed = writer >= 0 && writer % order->n_steps == now;
        if (is_separate(order, node->reads[i]) &&
            (changed || order->graph->ahead > 1))
            return true;
    }
    return false;
}

/* Through what it reads and writes an instance waits for earlier ones: a
 * reader for the last writer, a writer for that and all readers since. */
static void
order_by_resources(rlf_order *order, step_state *st, int self)
{
    instance *in = at(order, self);
    const rlf_node *node = in->shown.node;
    size_t most = (size_t)node->n_reads;
    in->last = needs_newer(order, node);
    for (int i = 0; i < node->n_writes; i++)
        most += 1 + order->used[node->writes[i]].readers.count;
    in->after = RLF_NEW_ARRAY(st->arena, int, most);
    for (int i = 0; i < node->n_reads; i++) {
        usage *u = &order->used[node->reads[i]];
        if (node->ahead && is_separate(order, node->reads[i])) {
            in->next = true; /* the copy is that of one step at a time */
            continue;
        }
        wait_for(order, in, u->writer);
        RLF_PUSH(&u->readers, self);
    }
    for (int i = 0; i < node->n_writes; i++) {
        usage *u = &order->used[node->writes[i]];
        wait_for(order, in, u->writer);
        for (size_t k = 0; k < u->readers.count; k++)
            if (u->readers.data[k] != self)
                wait_for(order, in, u->readers.data[k]);
        u->writer = self;
        u->readers.count = 0;
    }
}

int
rlf_order_add(rlf_order *order, step_state *st, const rlf_node *node,
              uint64_t iteration)
{
    instance *in = RLF_NEW(st->arena, instance);
    int self = (int)st->instances.count * order->n_steps + st->index;
    in->step = st->index;
    in->shown.node = node;
    in->shown.iteration = iteration;
    in->shown.input = RLF_NEW_ARRAY(st->arena, rlf_origin, node->n_inputs);
    for (int i = 0; i < node->n_inputs; i++)
        in->shown.input[i] = st->latest[node->inputs[i]];
    for (int i = 0; i < node->n_outputs; i++)
        st->latest[node->outputs[i]] = (rlf_origin){self, i};
    in->branch = -1;
    RLF_PUSH(&st->instances, in);
    return self;
}

/* One iteration: an instance whose outputs are the region's arguments, behind
 * those of the node; it reads what the for itself read, and what the region
 * gave in the iteration before. */
static int
add_iteration(rlf_order *order, step_state *st, frame *f)
{
    instance *loop = at(order, f->for_instance);
    const rlf_region *region = &order->graph->regions.data[f->region];
    int self =
        rlf_order_add(order, st, loop->shown.node, loop->shown.iteration);
    instance *in = at(order, self);
    in->shown.loop = true;
    in->started = true;
    int n_in = loop->shown.node->n_inputs, n_out = loop->shown.node->n_outputs;
    in->shown.input =
        RLF_NEW_ARRAY(st->arena, rlf_origin, n_in + region->n_gives);
    for (int i = 0; i < n_in; i++)
        in->shown.input[i] = loop->shown.input[i];
    for (int i = 0; i < region->n_gives; i++)
        in->shown.input[n_in + i] =
            f->turn ? st->latest[region->gives[i]] : (rlf_origin){-1, -1};
    for (int i = 0; i < region->n_args; i++)
        st->latest[region->args[i]] = (rlf_origin){self, n_out + i};
    return self;
}

static uint64_t
deeper(uint64_t iteration, const rlf_node *node, uint32_t turn)
{
    uint64_t key[2] = {iteration, (uint64_t)node->site << 32 | (turn + 1)};
    return rlf_hash_mix(rlf_hash(RLF_HASH_INIT, key, sizeof key));
}

/* Leave the innermost for, or the flow. */
static void
leave(rlf_order *order, step_state *st)
{
    while (st->frames.count && top(st)->for_instance < 0)
        st->frames.count--;
    if (st->frames.count)
        st->frames.count--;
    else
        order->left = true;
}

static bool
is_round(const rlf_order *order, const frame *f)
{
    if (f->for_instance < 0)
        return false;
    const instance *loop = at(order, f->for_instance);
    return loop->shown.node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS;
}

/* Begin a round of a collect: its LOOP instance says whether there is one. */
static int
ask_round(rlf_order *order, step_state *st, uint32_t *iteration)
{
    frame *f = top(st);
    instance *loop = at(order, f->for_instance);
    f->next = 0;
    f->keep = -1;
    f->iteration = deeper(loop->shown.iteration, loop->shown.node, f->turn);
    *iteration = f->turn;
    return st->control = add_iteration(order, st, f);
}

/* The collect itself is answered, or a LOOP of it. */
static int
enter_collect(rlf_order *order, step_state *st, int answered,
              uint32_t *iteration)
{
    const instance *in = at(order, answered);
    if (!in->shown.loop) {
        RLF_PUSH(&st->frames, (frame){.region = in->shown.node->regions[0],
                                      .for_instance = answered});
        return ask_round(order, st, iteration);
    }
    if (in->branch < 0)
        st->frames.count--;
    return -1;
}

/* The control node is answered: enter what it chose. Returns the LOOP instance
 * of a first iteration, or -1. */
static int
enter(rlf_order *order, step_state *st, uint32_t *iteration)
{
    int answered = st->control;
    instance *in = at(order, answered);
    const rlf_node *node = in->shown.node;
    st->control = -1;
    if (node->class->control_flow == RLF_CONTROL_FLOW_LEAVE) {
        if (in->leave)
            leave(order, st);
        return -1;
    }
    if (node->class->control_flow == RLF_CONTROL_FLOW_ROUNDS)
        return enter_collect(order, st, answered, iteration);
    if (node->class->control_flow != RLF_CONTROL_FLOW_LOOP) {
        if (in->branch >= 0 && in->branch < node->n_regions)
            RLF_PUSH(&st->frames, (frame){.region = node->regions[in->branch],
                                          .for_instance = -1,
                                          .iteration = in->shown.iteration});
        return -1;
    }
    if (!in->count)
        return -1;
    RLF_PUSH(&st->frames,
             (frame){.region = node->regions[0],
                     .for_instance = answered,
                     .turns = in->count,
                     .iteration = deeper(in->shown.iteration, node, 0)});
    *iteration = 0;
    return add_iteration(order, st, top(st));
}

/* The frame is at its end: the next iteration (its LOOP instance is returned),
 * or out of it. */
static int
next_turn(rlf_order *order, step_state *st, uint32_t *iteration)
{
    frame *f = top(st);
    if (is_round(order, f)) {
        f->turn++;
        return ask_round(order, st, iteration);
    }
    if (f->for_instance < 0 || f->turn + 1 == f->turns) {
        st->frames.count--;
        return -1;
    }
    const instance *loop = at(order, f->for_instance);
    f->turn++;
    f->next = 0;
    f->iteration = deeper(loop->shown.iteration, loop->shown.node, f->turn);
    *iteration = f->turn;
    return add_iteration(order, st, f);
}

/* A round of a collect that is issued, but not over. */
static bool
round_is_open(const rlf_order *order, const frame *f)
{
    return is_round(order, f) && f->keep >= 0 && !at(order, f->keep)->done;
}

/* Is everything issued that is made ahead in this step? */
static bool
ahead_issued(const rlf_order *order)
{
    return order->made == order->step + order->graph->ahead &&
           !step_of(order, order->made)->ahead;
}

/* Does the node change what things read that are yet to be issued ahead? */
static bool
must_wait(const rlf_order *order, const step_state *st, const rlf_node *node)
{
    for (int i = 0; !st->ahead && i < node->n_writes; i++)
        if (order->held[node->writes[i]] && !ahead_issued(order))
            return true;
    return false;
}

/* Of the flow itself a walk issues what is ahead, or what is not. */
static bool
is_passed(const step_state *st, const frame *f, const rlf_node *node)
{
    return f->region == 0 && node->ahead != st->ahead;
}

static void
issue_node(rlf_order *order, step_state *st, frame *f, const rlf_node *node)
{
    int self = rlf_order_add(order, st, node, f->iteration);
    order_by_resources(order, st, self);
    if (node->class->control_flow != RLF_CONTROL_FLOW_NONE)
        st->control = self;
    if (node->class->ends_round)
        f->keep = self;
}

/* Issue a step's nodes as far as it goes; the same answer as rlf_order_issue.
 */
static int
walk(rlf_order *order, step_state *st, uint32_t *iteration)
{
    for (;;) {
        if (st->control >= 0) {
            if (!at(order, st->control)->done)
                return -1;
            int loop = enter(order, st, iteration);
            if (loop >= 0)
                return loop;
        }
        if (!st->frames.count)
            return -1;
        frame *f = top(st);
        const rlf_region *region = &order->graph->regions.data[f->region];
        if (f->next == region->n_nodes) {
            if (round_is_open(order, f))
                return -1;
            int loop = next_turn(order, st, iteration);
            if (loop >= 0)
                return loop;
            continue;
        }
        const rlf_node *node =
            &order->graph->nodes.data[region->nodes[f->next]];
        bool passed = is_passed(st, f, node);
        if (!passed && must_wait(order, st, node))
            return -1;
        f->next++;
        if (!passed)
            issue_node(order, st, f, node);
    }
}

static void
begin_walk(step_state *st, bool ahead)
{
    st->ahead = ahead;
    RLF_PUSH(&st->frames, (frame){.region = 0, .for_instance = -1});
}

/* The walk has come to its end. */
static bool
is_over(const step_state *st)
{
    return !st->frames.count && st->control < 0;
}

/* Issues what is made ahead, one step's after the other's. */
static int
issue_ahead(rlf_order *order, uint32_t *iteration)
{
    while (!ahead_issued(order)) {
        step_state *st = step_of(order, order->made);
        if (st->ahead) {
            int loop = walk(order, st, iteration);
            if (loop >= 0 || !is_over(st))
                return loop;
            st->ahead = false;
            st->n_ahead = st->instances.count;
        } else {
            begin_walk(step_of(order, ++order->made), true);
        }
    }
    return -1;
}

int
rlf_order_issue(rlf_order *order, uint32_t *iteration)
{
    int loop = issue_ahead(order, iteration);
    step_state *st = step_of(order, order->step);
    if (loop >= 0 || st->ahead)
        return loop;
    if (!order->begun) {
        if (order->made < order->step)
            return -1;
        begin_walk(st, false);
        order->begun = true;
    }
    return walk(order, st, iteration);
}

bool
rlf_order_issued(const rlf_order *order)
{
    return order->begun && is_over(step_of(order, order->step));
}
