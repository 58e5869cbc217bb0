/* Readiness: which issued instance can run, and on which rows. */
#include "engine/graph/class.h"
#include "engine/order/state.h"

#include <stdlib.h>

/* True: what is made ahead in this step is there. */
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
               ? rlf_order_made_before(order, order->steps[in->step].step)
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
    return order->steps[in->step].arena;
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

/* ---- pieces ---- */

/* The rows of each group, behind one another. */
static void
list_groups(rlf_arena *arena, const instance *stream, found *f)
{
    uint32_t n = stream->n_rows, groups = 0;
    for (uint32_t i = 0; i < n; i++)
        if (stream->owner[i] >= groups)
            groups = stream->owner[i] + 1;
    f->left = RLF_NEW_ARRAY(arena, uint32_t, groups);
    f->first = RLF_NEW_ARRAY(arena, uint32_t, groups + 2);
    f->member = RLF_NEW_ARRAY(arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        f->left[stream->owner[i]]++;
        f->first[stream->owner[i] + 2]++; /* two ahead */
    }
    for (uint32_t g = 2; g < groups + 2; g++)
        f->first[g] += f->first[g - 1];
    for (uint32_t i = 0; i < n; i++)
        f->member[f->first[stream->owner[i] + 1]++] = i;
}

static found *
found_of(rlf_order *order, instance *in, const instance *stream)
{
    if (in->found)
        return in->found;
    rlf_arena *arena = arena_of(order, in);
    found *f = in->found = RLF_NEW(arena, found);
    f->rows = RLF_NEW_ARRAY(arena, uint32_t, stream->n_rows);
    f->met = RLF_NEW_ARRAY(arena, bool, stream->n_rows);
    f->seen = RLF_NEW_ARRAY(arena, uint32_t, in->shown.node->n_inputs);
    f->over = RLF_NEW_ARRAY(arena, bool, in->shown.node->n_inputs);
    if (in->shown.node->grain == RLF_GRAIN_GROUP)
        list_groups(arena, stream, f);
    return f;
}

/* The row's inputs are complete. */
static void
meet(found *f, const instance *stream, uint32_t row)
{
    f->met[row] = true;
    if (!f->left) {
        f->rows[f->n++] = row;
        return;
    }
    uint32_t group = stream->owner[row];
    if (--f->left[group] > 0)
        return;
    for (uint32_t i = f->first[group]; i < f->first[group + 1]; i++)
        f->rows[f->n++] = f->member[i];
}

/* Finds the rows that have arrived since. An input that is done by now
 * completes rows that were looked at before: then all are looked at again, once
 * an input. */
static void
find_more(rlf_order *order, instance *in, const instance *stream)
{
    const rlf_node *node = in->shown.node;
    found *f = found_of(order, in, stream);
    bool again = false;
    for (int i = 0; i < node->n_inputs; i++) {
        bool over = at(order, in->shown.input[i].instance)->done;
        again |= over && !f->over[i];
        f->over[i] = over;
    }
    if (again)
        memset(f->seen, 0, sizeof *f->seen * (size_t)node->n_inputs);
    for (int i = 0; i < node->n_inputs; i++) {
        const instance *from = at(order, in->shown.input[i].instance);
        for (; !from->done && f->seen[i] < from->n_ready; f->seen[i]++) {
            uint32_t row = from->arrived[f->seen[i]];
            if (!f->met[row] && row_ready(order, in, row))
                meet(f, stream, row);
        }
    }
}

static int
by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool
is_streaming(const rlf_node *node)
{
    return node->class->work == RLF_WORK_GENERATE;
}

uint32_t
rlf_order_piece(const rlf_order *order, uint32_t n)
{
    const rlf_policy *p = &order->policy;
    uint32_t part = p->parts ? n / p->parts : 0;
    return p->piece && part > p->piece ? part : p->piece;
}

/* A piece of `in` while a producer is still at work. */
static bool
run_piece(rlf_order *order, int index, const instance *stream,
          rlf_decision *out)
{
    instance *in = at(order, index);
    uint32_t least = rlf_order_piece(order, stream->n_rows);
    if (!order->policy.piece || stream->n_ready < least)
        return false;
    find_more(order, in, stream);
    found *f = in->found;
    uint32_t *rows = f->rows + f->given, n = f->n - f->given;
    if (n < least)
        return false;
    qsort(rows, n, sizeof *rows, by_number);
    f->given = f->n;
    if (!in->taken)
        in->taken = RLF_NEW_ARRAY(arena_of(order, in), bool, stream->n_rows);
    for (uint32_t i = 0; i < n; i++)
        in->taken[rows[i]] = true;
    in->n_taken += n;
    in->started = true;
    *out = (rlf_decision){
        .kind = RLF_NEXT_RUN, .instance = index, .rows = rows, .n_rows = n};
    return true;
}

/* All that is left of `in`: its inputs are complete. */
static bool
run_rest(rlf_order *order, int index, rlf_decision *out)
{
    instance *in = at(order, index);
    if (in->all || (in->started && (!in->opened || in->n_taken == in->n_rows)))
        return false;
    *out = (rlf_decision){.kind = RLF_NEXT_RUN, .instance = index};
    if (in->started) {
        uint32_t *rows = RLF_NEW_ARRAY(arena_of(order, in), uint32_t,
                                       in->n_rows - in->n_taken);
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
ready_in(rlf_order *order, const step_state *st, rlf_decision *out)
{
    for (size_t i = st->first_open; i < st->instances.count; i++) {
        instance *in = st->instances.data[i];
        int id = (int)i * order->n_steps + st->index;
        const instance *stream;
        if (in->done || in->shown.loop || !resources_free(order, in) ||
            !inputs_ready(order, in, &stream))
            continue;
        if (is_streaming(in->shown.node)) {
            if (in->started || stream)
                continue;
            if (order->generation >= 0) {
                if (order->next_generation < 0)
                    order->next_generation = id;
                continue;
            }
        }
        if (stream ? run_piece(order, id, stream, out)
                   : run_rest(order, id, out)) {
            if (is_streaming(in->shown.node))
                order->generation = id;
            return true;
        }
    }
    return false;
}

int
rlf_order_held(const rlf_order *order, int after)
{
    const step_state *st = step_of(order, order->step);
    size_t i = after < 0 ? st->first_open : (size_t)(after / order->n_steps) + 1;
    for (; i < st->instances.count; i++) {
        const instance *in = st->instances.data[i];
        const instance *stream;
        if (!in->done && !in->started && !in->shown.loop &&
            !resources_free(order, in) && inputs_ready(order, in, &stream) &&
            !stream)
            return (int)i * order->n_steps + st->index;
    }
    return -1;
}

/* Nodes that are ahead go first: if they have ranks of its own they begin at
 * once.
 */
static bool
order_ready(rlf_order *order, rlf_decision *out)
{
    for (uint64_t s = order->step; s <= order->made; s++) {
        const step_state *st = step_of(order, s);
        if ((st->ahead || st->first_open < st->n_ahead) &&
            ready_in(order, st, out))
            return true;
    }
    return ready_in(order, step_of(order, order->step), out);
}

/* The step is over: what was issued of it is done, and the next can begin. */
static bool
is_over(const rlf_order *order)
{
    const step_state *st = step_of(order, order->step);
    bool next = order->graph->ahead && !order->settles
                    ? rlf_order_made_before(order, order->step + 2)
                    : ahead_done(order);
    return next && rlf_order_issued(order) &&
           st->first_open == st->instances.count;
}

rlf_decision
rlf_order_next(rlf_order *order)
{
    rlf_decision out = {.kind = RLF_NEXT_WAIT};
    uint32_t turn = 0;
    int loop = rlf_order_issue(order, &turn);
    order->next_generation = -1;
    if (loop >= 0)
        out = (rlf_decision){
            .kind = RLF_NEXT_LOOP, .instance = loop, .turn = turn};
    else if (order_ready(order, &out))
        ;
    else if (is_over(order))
        out.kind = RLF_NEXT_END;
    else if (order->generation >= 0)
        out = (rlf_decision){.kind = RLF_NEXT_TURN,
                             .instance = order->generation};
    return out;
}
