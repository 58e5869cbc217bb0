/* The controller's state and its events: see order.h. issue.c walks the
 * program, ready.c finds what can run. */
#include "engine/order/order.h"

#include "engine/order/state.h"

rlf_order *
rlf_order_new(const rlf_graph *graph, rlf_policy policy)
{
    rlf_order *order = rlf_calloc(1, sizeof *order);
    order->graph = graph;
    order->policy = policy;
    order->arena = rlf_arena_new();
    order->latest = rlf_calloc(graph->values.count, sizeof *order->latest);
    order->used = rlf_calloc(graph->resources.count, sizeof *order->used);
    return order;
}

void
rlf_order_free(rlf_order *order)
{
    if (!order)
        return;
    RLF_VEC_FREE(&order->instances);
    RLF_VEC_FREE(&order->frames);
    rlf_arena_free(order->arena);
    free(order->latest);
    free(order->used);
    free(order);
}

void
rlf_order_begin(rlf_order *order)
{
    rlf_arena_reset(order->arena);
    order->instances.count = 0;
    order->frames.count = 0;
    order->first_open = 0;
    order->generation = -1;
    order->control = -1;
    order->left = false;
    for (size_t i = 0; i < order->graph->values.count; i++)
        order->latest[i] = (struct rlf_origin){-1, -1};
    for (size_t i = 0; i < order->graph->resources.count; i++)
        order->used[i] = (usage){.writer = -1};
    RLF_PUSH(&order->frames, (frame){.region = 0, .for_instance = -1});
}

const rlf_instance *
rlf_order_instance(const rlf_order *order, int index)
{
    return &order->instances.data[index]->shown;
}

int
rlf_order_count(const rlf_order *order)
{
    return (int)order->instances.count;
}

bool
rlf_order_left(const rlf_order *order)
{
    return order->left;
}

struct rlf_origin
rlf_order_latest(const rlf_order *order, int value)
{
    return order->latest[value];
}

static void
opened(rlf_order *order, instance *in, const rlf_order_event *event)
{
    in->opened = true;
    in->n_rows = event->n_rows;
    in->owner = event->owner;
    in->ready = RLF_NEW_ARRAY(order->arena, bool, event->n_rows);
    if (!in->taken) /* else a piece was given out already */
        in->taken = RLF_NEW_ARRAY(order->arena, bool, event->n_rows);
}

static void
rows_ready(instance *in, const uint32_t *rows, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        RLF_ASSERT(rows[i] < in->n_rows && !in->ready[rows[i]]);
        in->ready[rows[i]] = true;
        in->n_ready++;
    }
}

void
rlf_order_tell(rlf_order *order, const rlf_order_event *event)
{
    instance *in = order->instances.data[event->instance];
    switch (event->kind) {
    case RLF_EVENT_OPENED:
        opened(order, in, event);
        break;
    case RLF_EVENT_ROWS:
        rows_ready(in, event->rows, event->n_rows);
        break;
    case RLF_EVENT_DONE:
        in->opened = in->done = true;
        in->count = event->count;
        in->branch = event->branch;
        in->leave = event->leave;
        if (order->generation == event->instance)
            order->generation = -1;
        while (order->first_open < order->instances.count &&
               order->instances.data[order->first_open]->done)
            order->first_open++;
        break;
    }
}
