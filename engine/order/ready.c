/* Readiness: which issued instance can run, and on which rows. */
#include "engine/graph/class.h"
#include "engine/order/state.h"

/* What is made ahead in this step is there. */
static bool
ahead_done(const rlf_order *order)
{
    uint64_t last = order->step + order->graph->ahead;
    return rlf_order_made_before(order, last + 1);
}

static bool
resources_free(const rlf_order *order, const instance *in)
{
    for (int i = 0; i < in->n_after; i++)
        if (!at(order, in->after[i])->done)
            return false;
    return in->last ? ahead_done(order)
           : in->next
               ? rlf_order_made_before(order, order->lanes[in->lane].step)
               : true;
}

/* Can this instance follow `from` row by row? Both must be made of pieces of
 * the same rows, and a group class needs to know the groups. */
static bool
follows(const instance *in, const instance *from)
{
    return in->shown.node->grain != RLF_GRAIN_BATCH &&
           in->shown.node->rows >= 0 &&
           from->shown.node->rows == in->shown.node->rows && from->opened &&
           (in->shown.node->grain == RLF_GRAIN_SAMPLE || from->owner);
}

static rlf_arena *
arena_of(const rlf_order *order, const instance *in)
{
    return order->lanes[in->lane].arena;
}

/* The producer whose rows decide: NULL if all inputs are complete. */
static bool
inputs_ready(const rlf_order *order, const instance *in,
             const instance **stream)
{
    *stream = NULL;
    for (int i = 0; i < in->shown.node->n_inputs; i++) {
        const instance *from = at(order, in->shown.input[i].instance);
        if (from->done)
            continue;
        if (!follows(in, from))
            return false;
        *stream = from;
    }
    return true;
}

static bool
row_ready(const rlf_order *order, const instance *in, uint32_t row)
{
    for (int i = 0; i < in->shown.node->n_inputs; i++) {
        const instance *from = at(order, in->shown.input[i].instance);
        if (!from->done && !from->ready[row])
            return false;
    }
    return true;
}

/* Rows not yet given out whose inputs are complete (for a group class: only
 * whole groups), into out[]; returns how many. */
static uint32_t
piece(rlf_order *order, instance *in, const instance *stream, uint32_t *out)
{
    uint32_t n = stream->n_rows, count = 0;
    bool *whole = NULL;
    if (in->shown.node->grain == RLF_GRAIN_GROUP) {
        uint32_t groups = 0;
        for (uint32_t i = 0; i < n; i++)
            if (stream->owner[i] >= groups)
                groups = stream->owner[i] + 1;
        whole = RLF_NEW_ARRAY(arena_of(order, in), bool, groups);
        memset(whole, 1, groups);
        for (uint32_t i = 0; i < n; i++)
            if (!row_ready(order, in, i))
                whole[stream->owner[i]] = false;
    }
    for (uint32_t i = 0; i < n; i++)
        if ((!in->taken || !in->taken[i]) &&
            (whole ? whole[stream->owner[i]] : row_ready(order, in, i)))
            out[count++] = i;
    return count;
}

static bool
is_streaming(const rlf_node *node)
{
    return node->class->sampled;
}

/* The rows that are worth a piece while `stream` is still at work. */
static uint32_t
worth(const rlf_order *order, const instance *stream)
{
    const rlf_policy *p = &order->policy;
    uint32_t part = p->parts ? stream->n_rows / p->parts : 0;
    return part > p->piece ? part : p->piece;
}

/* A piece of `in` while a producer is still at work. */
static bool
run_piece(rlf_order *order, int index, const instance *stream,
          rlf_order_command *out)
{
    instance *in = at(order, index);
    uint32_t least = worth(order, stream);
    if (!order->policy.piece || stream->n_ready < least)
        return false;
    uint32_t *rows =
        RLF_NEW_ARRAY(arena_of(order, in), uint32_t, stream->n_rows);
    uint32_t n = piece(order, in, stream, rows);
    if (n < least)
        return false;
    if (!in->taken)
        in->taken = RLF_NEW_ARRAY(arena_of(order, in), bool, stream->n_rows);
    for (uint32_t i = 0; i < n; i++)
        in->taken[rows[i]] = true;
    in->n_taken += n;
    in->started = true;
    *out = (rlf_order_command){
        .kind = RLF_DO_RUN, .instance = index, .rows = rows, .n_rows = n};
    return true;
}

/* All that is left of `in`: its inputs are complete. */
static bool
run_rest(rlf_order *order, int index, rlf_order_command *out)
{
    instance *in = at(order, index);
    if (in->all || (in->started && (!in->opened || in->n_taken == in->n_rows)))
        return false;
    *out = (rlf_order_command){.kind = RLF_DO_RUN, .instance = index};
    if (in->started) {
        uint32_t *rows =
            RLF_NEW_ARRAY(arena_of(order, in), uint32_t, in->n_rows);
        for (uint32_t i = 0; i < in->n_rows; i++)
            if (!in->taken[i])
                rows[out->n_rows++] = i;
        memset(in->taken, 1, in->n_rows);
        in->n_taken = in->n_rows;
        out->rows = rows;
    }
    in->started = in->all = true;
    return true;
}

static bool
ready_in(rlf_order *order, const lane *l, rlf_order_command *out)
{
    for (size_t i = l->first_open; i < l->instances.count; i++) {
        instance *in = l->instances.data[i];
        int id = (int)i * order->n_lanes + l->index;
        const instance *stream;
        if (in->done || in->shown.loop || !resources_free(order, in) ||
            !inputs_ready(order, in, &stream))
            continue;
        if (is_streaming(in->shown.node) &&
            (in->started || order->generation >= 0 || stream))
            continue;
        if (stream ? run_piece(order, id, stream, out)
                   : run_rest(order, id, out)) {
            if (is_streaming(in->shown.node))
                order->generation = id;
            return true;
        }
    }
    return false;
}

/* What is ahead goes first: where it has ranks of its own they begin at once.
 */
bool
rlf_order_ready(rlf_order *order, rlf_order_command *out)
{
    for (uint64_t s = order->step; s <= order->made; s++) {
        const lane *l = lane_of(order, s);
        if ((l->ahead || l->first_open < l->n_ahead) && ready_in(order, l, out))
            return true;
    }
    return ready_in(order, lane_of(order, order->step), out);
}

/* The step is over: what was issued of it is done, and the next can begin. */
static bool
is_over(const rlf_order *order)
{
    const lane *l = lane_of(order, order->step);
    bool next = order->graph->ahead && !order->settles
                    ? rlf_order_made_before(order, order->step + 2)
                    : ahead_done(order);
    return next && rlf_order_issued(order) &&
           l->first_open == l->instances.count;
}

rlf_order_command
rlf_order_next(rlf_order *order)
{
    rlf_order_command out = {.kind = RLF_DO_WAIT};
    uint32_t iteration = 0;
    int loop = rlf_order_issue(order, &iteration);
    if (loop >= 0)
        out = (rlf_order_command){
            .kind = RLF_DO_LOOP, .instance = loop, .iteration = iteration};
    else if (rlf_order_ready(order, &out))
        ;
    else if (is_over(order))
        out.kind = RLF_DO_END;
    else if (order->generation >= 0)
        out = (rlf_order_command){.kind = RLF_DO_TURN,
                                  .instance = order->generation};
    out.n = order->n++;
    return out;
}
