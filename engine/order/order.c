/* The controller's state and its events: see order.h. issue.c walks the
 * program, ready.c finds what can run. */
#include "engine/order/order.h"

#include "engine/order/state.h"

/* Finds the models that nodes made ahead read: other nodes may change these
 * only once all that is ahead is issued. */
static void
find_held(rlf_order *order)
{
    const rlf_graph *graph = order->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; node->ahead && k < node->n_reads; k++) {
            int r = node->reads[k];
            bool separate = order->policy.separate && order->policy.separate[r];
            order->held[r] |= !separate;
        }
    }
}

rlf_order *
rlf_order_new(const rlf_graph *graph, rlf_policy policy)
{
    rlf_order *order = rlf_calloc(1, sizeof *order);
    order->graph = graph;
    order->policy = policy;
    order->n_steps = (int)graph->ahead + 1;
    order->generation = order->next_generation = -1;
    order->steps = rlf_calloc((size_t)order->n_steps, sizeof *order->steps);
    for (int i = 0; i < order->n_steps; i++) {
        order->steps[i] = (step_state){
            .index = i,
            .arena = rlf_arena_new(),
            .latest =
                rlf_calloc(graph->values.count, sizeof *order->steps[i].latest),
            .control = -1,
        };
    }
    order->used = rlf_calloc(graph->resources.count, sizeof *order->used);
    for (size_t i = 0; i < graph->resources.count; i++)
        order->used[i].writer = -1;
    order->held = rlf_calloc(graph->resources.count, sizeof *order->held);
    find_held(order);
    return order;
}

void
rlf_order_free(rlf_order *order)
{
    if (!order)
        return;
    for (int i = 0; i < order->n_steps; i++) {
        RLF_VEC_FREE(&order->steps[i].instances);
        RLF_VEC_FREE(&order->steps[i].frames);
        rlf_arena_free(order->steps[i].arena);
        free(order->steps[i].latest);
    }
    for (size_t i = 0; i < order->graph->resources.count; i++)
        RLF_VEC_FREE(&order->used[i].readers);
    free(order->steps);
    free(order->used);
    free(order->held);
    free(order);
}

/* Users of a resource that were instances of the step are done. */
static void
forget_users(rlf_order *order, const step_state *st)
{
    for (size_t i = 0; i < order->graph->resources.count; i++) {
        usage *u = &order->used[i];
        size_t left = 0;
        if (u->writer % order->n_steps == st->index)
            u->writer = -1;
        for (size_t k = 0; k < u->readers.count; k++)
            if (u->readers.data[k] % order->n_steps != st->index)
                u->readers.data[left++] = u->readers.data[k];
        u->readers.count = left;
    }
}

/* The state of the step begins anew. */
static void
clear(rlf_order *order, uint64_t step)
{
    step_state *st = step_of(order, step);
    forget_users(order, st);
    st->step = step;
    rlf_arena_reset(st->arena);
    st->instances.count = 0;
    st->frames.count = 0;
    st->first_open = st->n_ahead = 0;
    st->control = -1;
    st->ahead = false;
    for (size_t i = 0; i < order->graph->values.count; i++)
        st->latest[i] = (rlf_origin){-1, -1};
}

int
rlf_order_begin(rlf_order *order)
{
    uint64_t ahead = order->graph->ahead;
    uint64_t last = ++order->step + ahead, fresh = order->made ? 1 : ahead + 1;
    order->left = order->begun = order->settles = false;
    for (uint64_t s = last + 1 - fresh; s <= last; s++)
        clear(order, s);
    if (!ahead)
        order->made = order->step;
    return (int)fresh;
}

void
rlf_order_settle(rlf_order *order)
{
    order->settles = true;
}

/* True: what is made ahead for the step is there. */
static bool
is_made(const rlf_order *order, uint64_t step)
{
    const step_state *st = step_of(order, step);
    return step <= order->made && !st->ahead && st->first_open >= st->n_ahead;
}

bool
rlf_order_made_before(const rlf_order *order, uint64_t step)
{
    for (uint64_t s = order->step + 1; s < step; s++)
        if (!is_made(order, s))
            return false;
    return order->step >= step || is_made(order, order->step);
}

const rlf_node *
rlf_order_restored(const rlf_graph *graph, int i)
{
    const rlf_region *flow = &graph->regions.data[0];
    for (int k = 0; k < flow->n_nodes; k++) {
        const rlf_node *node = &graph->nodes.data[flow->nodes[k]];
        if (node->ahead && i-- == 0)
            return node;
    }
    return NULL;
}

void
rlf_order_restore(rlf_order *order, uint64_t step)
{
    order->step = step;
    order->made = step + order->graph->ahead;
    for (uint64_t s = step + 1; s <= order->made; s++) {
        step_state *st = step_of(order, s);
        const rlf_node *node;
        clear(order, s);
        for (int i = 0; (node = rlf_order_restored(order->graph, i)); i++) {
            int self = rlf_order_add(order, st, node, 0);
            at(order, self)->done = true;
        }
        st->first_open = st->n_ahead = st->instances.count;
    }
}

int
rlf_order_undone(const rlf_order *order, uint32_t *complete, uint32_t *n_rows)
{
    for (uint64_t s = order->step; s <= order->made; s++) {
        const step_state *st = step_of(order, s);
        if (st->first_open == st->instances.count)
            continue;
        const instance *in = st->instances.data[st->first_open];
        *complete = in->n_ready;
        *n_rows = in->n_rows;
        return (int)st->first_open * order->n_steps + st->index;
    }
    return -1;
}

int
rlf_order_pending(const rlf_order *order, int id, int after)
{
    const step_state *st = &order->steps[id % order->n_steps];
    size_t end = (size_t)(id / order->n_steps), i = st->first_open;
    if (after >= 0)
        i = (size_t)(after / order->n_steps) + 1;
    for (; i < end; i++) {
        const instance *in = st->instances.data[i];
        if (!in->all && !in->done)
            return (int)i * order->n_steps + st->index;
    }
    return -1;
}

int
rlf_order_behind(const rlf_order *order, int id)
{
    const step_state *st = &order->steps[id % order->n_steps];
    size_t next = (size_t)(id / order->n_steps) + 1;
    return next < st->instances.count ? id + order->n_steps : -1;
}

int
rlf_order_generation(const rlf_order *order)
{
    return order->generation;
}

int
rlf_order_next_generation(const rlf_order *order)
{
    return order->next_generation;
}

const rlf_instance *
rlf_order_instance(const rlf_order *order, int index)
{
    return &at(order, index)->shown;
}

int
rlf_order_count(const rlf_order *order)
{
    return (int)step_of(order, order->step)->instances.count;
}

bool
rlf_order_left(const rlf_order *order)
{
    return order->left;
}

rlf_origin
rlf_order_latest(const rlf_order *order, int value)
{
    return rlf_order_later(order, 0, value);
}

rlf_origin
rlf_order_later(const rlf_order *order, int later, int value)
{
    return step_of(order, order->step + (uint64_t)later)->latest[value];
}

void
rlf_order_opened(rlf_order *order, int index, uint32_t n_rows,
                 const uint32_t *owner)
{
    step_state *st = &order->steps[index % order->n_steps];
    instance *in = at(order, index);
    in->opened = true;
    in->n_rows = n_rows;
    in->owner = owner;
    in->ready = RLF_NEW_ARRAY(st->arena, bool, n_rows);
    in->arrived = RLF_NEW_ARRAY(st->arena, uint32_t, n_rows);
    if (!in->taken) /* else a piece was given out already */
        in->taken = RLF_NEW_ARRAY(st->arena, bool, n_rows);
}

void
rlf_order_rows(rlf_order *order, int index, const uint32_t *rows,
               uint32_t n_rows)
{
    instance *in = at(order, index);
    for (uint32_t i = 0; i < n_rows; i++) {
        RLF_ASSERT(rows[i] < in->n_rows && !in->ready[rows[i]]);
        in->ready[rows[i]] = true;
        in->arrived[in->n_ready++] = rows[i];
    }
}

void
rlf_order_done(rlf_order *order, int index, uint32_t count, int branch,
               bool leave)
{
    step_state *st = &order->steps[index % order->n_steps];
    instance *in = at(order, index);
    in->opened = in->done = true;
    in->count = count;
    in->branch = branch;
    in->leave = leave;
    if (order->generation == index)
        order->generation = -1;
    while (st->first_open < st->instances.count &&
           st->instances.data[st->first_open]->done)
        st->first_open++;
}
