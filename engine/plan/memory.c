/* The table of memory: see memory.h. */
#include "engine/plan/memory.h"

#include "engine/base/vec.h"
#include "engine/layout/lanes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The program, its libraries, and what is too small to have a row. */
#define PROGRAM_BYTES ((uint64_t)8 << 20)

rlf_sizes
rlf_opened_sizes(const rlf_opened *o, rlf_arena *arena)
{
    const rlf_graph *graph = o->plan->graph;
    size_t n = graph->resources.count;
    double *rows = RLF_NEW_ARRAY(arena, double, n);
    rlf_sizes_options options = {.rows = rows};
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        const rlf_data_class *data = r->class->data;
        rows[i] = data ? (double)data->rows(o->resource[i])->count : 0;
        const rlf_caps *caps = rlf_resource_caps(r, o->resource[i]);
        if (caps && caps->longest > options.longest)
            options.longest = caps->longest;
    }
    if (options.longest <= 0)
        options.longest = RLF_CAP_TOKENS; /* no model: texts have no tokens */
    return rlf_sizes_make(graph, &options, arena);
}

/* Bytes that a node leaves in the step's pool. A field that lies in its set
 * costs nothing more. */
static double
host_bytes(const rlf_opened *o, const rlf_sizes *sizes, const rlf_node *node,
           const rlf_cost *cost)
{
    const rlf_graph *graph = o->plan->graph;
    double bytes = cost->host;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *value = &graph->values.data[node->outputs[i]];
        if (!node->class->view)
            bytes += rlf_sizes_bytes(graph, sizes, value);
    }
    return bytes;
}

/* Of a node of the graph, or one that is as it. */
static rlf_cost
cost_of(const rlf_opened *o, const rlf_sizes *sizes, const rlf_node *node,
        const rlf_piece *piece)
{
    const rlf_layout *layout = &o->plan->place[node->id].layout;
    const rlf_load load = {.graph = o->plan->graph,
                           .sizes = sizes,
                           .layout = layout,
                           .rank = o->rank,
                           .resource = o->resource,
                           .piece = piece};
    rlf_cost cost = {0};
    node->class->cost(&load, node, &cost);
    if (rlf_layout_find(layout, o->rank).tp < 0) /* others do it */
        cost = (rlf_cost){.host = cost.host};
    return cost;
}

rlf_cost
rlf_opened_cost(const rlf_opened *o, const rlf_sizes *sizes, int index)
{
    const rlf_node *node = &o->plan->graph->nodes.data[index];
    rlf_cost cost = cost_of(o, sizes, node, NULL), all = {0};
    double runs = sizes->runs[index];
    rlf_cost_add(&all, &cost, runs);
    all.host = runs * host_bytes(o, sizes, node, &cost);
    return all;
}

rlf_cost
rlf_opened_cost_shared(const rlf_opened *o, const rlf_sizes *sizes, int index)
{
    rlf_node node = o->plan->graph->nodes.data[index];
    rlf_arena *arena = rlf_arena_new();
    rlf_loss loss = *node.loss;
    loss.shared = true;
    loss.calls = RLF_NEW_ARRAY(arena, rlf_live_call, loss.n_calls);
    memcpy(loss.calls, node.loss->calls,
           sizeof *loss.calls * (size_t)loss.n_calls);
    rlf_loss_find_passes(o->plan->graph, node.inputs, &loss);
    loss.reach = rlf_loss_reach(&loss);
    node.loss = &loss;
    rlf_cost cost = cost_of(o, sizes, &node, NULL), all = {0};
    rlf_cost_add(&all, &cost, sizes->runs[index]);
    rlf_arena_free(arena);
    return all;
}

rlf_cost
rlf_opened_piece(const rlf_opened *o, const rlf_sizes *sizes, int index,
                 const rlf_piece *piece)
{
    return cost_of(o, sizes, &o->plan->graph->nodes.data[index], piece);
}

/* The place row of a model that gives it so many lanes and leaves all else as
 * it is.
 */
static const char *
lanes_row(const rlf_plan *plan, int model, int lanes, rlf_arena *arena)
{
    const rlf_place_row *is =
        rlf_placement_find(plan->graph->placement, model, NULL);
    rlf_place_row row = rlf_place_row_new(model, NULL);
    if (is) {
        row = *is;
    } else {
        int *ranks = RLF_NEW_ARRAY(arena, int, plan->ranks);
        for (int i = 0; i < plan->ranks; i++)
            ranks[i] = i;
        row.ranks = ranks;
        row.n_ranks = row.dp = plan->ranks;
    }
    row.lanes = lanes;
    rlf_buf text = {0};
    rlf_place_row_print(plan->graph, &row, &text);
    const char *copy = rlf_arena_strdup(arena, text.p);
    rlf_buf_free(&text);
    return copy;
}

/* Bytes of partial sums of gradients with fewer lanes, down to one for each
 * replica. */
static void
find_choices(const rlf_opened *o, int model, rlf_arena *arena,
             rlf_memory_row *row)
{
    const rlf_plan *plan = o->plan;
    const rlf_layout *layout = &plan->copies[model].list[0].mesh.layout;
    rlf_memory_choice *list =
        RLF_NEW_ARRAY(arena, rlf_memory_choice, RLF_MOST_LANES);
    int lanes = plan->sums[model].lanes, at;
    at = rlf_layout_find(layout, o->rank).dp;
    row->model = model;
    row->choices = list;
    for (lanes /= 2; lanes >= layout->dp && at >= 0; lanes /= 2) {
        int64_t held = rlf_range_size(rlf_lanes_part(lanes, layout->dp, at));
        list[row->n_choices++] = (rlf_memory_choice){
            .device = row->device / (uint64_t)row->blocks *
                      (uint64_t)rlf_lanes_waiting((int)held),
            .row = lanes_row(plan, model, lanes, arena)};
    }
}

/* The texts that a call of a hook gives in a step, and what its calls of the
 * function take for them. */
static double
texts_of(const rlf_opened *o, const rlf_sizes *sizes, const rlf_node *node)
{
    const rlf_graph *graph = o->plan->graph;
    double bytes = cost_of(o, sizes, node, NULL).host;
    for (int i = 0; i < node->n_outputs; i++) {
        const rlf_value *value = &graph->values.data[node->outputs[i]];
        bytes += rlf_sizes_text(graph, value) * sizes->values[value->domain];
    }
    return sizes->runs[node->id] * bytes;
}

/* A row for each hook that gives texts; all of them together. */
static double
put_texts(const rlf_opened *o, const rlf_sizes *sizes, rlf_memory *out)
{
    const rlf_graph *graph = o->plan->graph;
    double all = 0;
    for (size_t k = 0; k < graph->resources.count; k++) {
        double own = 0;
        bool hook = graph->resources.data[k].class->hook;
        for (size_t i = 0; hook && i < graph->nodes.count; i++)
            if (graph->nodes.data[i].receiver == (int)k)
                own += texts_of(o, sizes, &graph->nodes.data[i]);
        if (own > 0)
            RLF_PUSH_IN(out->arena, &out->rows,
                        (rlf_memory_row){.owner = graph->resources.data[k].name,
                                         .purpose = "texts of a step",
                                         .lower = "max_text: of the hook, or "
                                                  "rows of the flow's draw",
                                         .host = (uint64_t)ceil(own)});
        all += own;
    }
    return all;
}

/* The bytes that go from rank to rank at once: of the outputs of one node no row
 * is both sent and received, and rows that are kept are counted where they are
 * made. */
static double
largest_output(const rlf_opened *o, const rlf_sizes *sizes)
{
    const rlf_graph *graph = o->plan->graph;
    const rlf_cost none = {0};
    double most = 0;
    for (size_t i = 0; i < graph->nodes.count; i++)
        most = fmax(most, host_bytes(o, sizes, &graph->nodes.data[i], &none));
    return most;
}

uint64_t
rlf_opened_edge(const rlf_opened *o, rlf_arena *arena)
{
    rlf_sizes sizes = rlf_opened_sizes(o, arena);
    return (uint64_t)ceil(largest_output(o, &sizes));
}

void
rlf_opened_memory(const rlf_opened *o, rlf_memory *out)
{
    const rlf_graph *graph = o->plan->graph;
    rlf_sizes sizes = rlf_opened_sizes(o, out->arena);
    double step = 0, ahead = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        double host = rlf_opened_cost(o, &sizes, (int)i).host;
        step += host;
        if (graph->nodes.data[i].ahead)
            ahead += host * graph->ahead;
    }
    RLF_PUSH_IN(out->arena, &out->rows,
                (rlf_memory_row){.owner = "rlflow",
                                 .purpose = "program and libraries",
                                 .host = PROGRAM_BYTES});
    step -= put_texts(o, &sizes, out);
    RLF_PUSH_IN(out->arena, &out->rows,
                (rlf_memory_row){.owner = "step",
                                 .purpose = "sets and columns",
                                 .lower = "rows of the flow's draw, n: or "
                                          "max_new: of generate",
                                 .host = (uint64_t)ceil(step)});
    if (o->plan->ranks > 1)
        RLF_PUSH_IN(out->arena, &out->rows,
                    (rlf_memory_row){
                        .owner = "step",
                        .purpose = "rows between ranks",
                        .lower = "rows of the flow's draw, n: or max_new: of "
                                 "generate, or max_text: of hooks",
                        .host =
                            2 * (uint64_t)ceil(largest_output(o, &sizes))});
    if (graph->ahead)
        RLF_PUSH_IN(out->arena, &out->rows,
                    (rlf_memory_row){.owner = "steps",
                                     .purpose = "made ahead",
                                     .lower = "ahead: of generate",
                                     .host = (uint64_t)ceil(ahead)});
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        size_t k = out->rows.count;
        r->class->memory(graph, r, o->resource[i], out);
        for (; k < out->rows.count; k++)
            if (out->rows.data[k].blocks)
                find_choices(o, (int)i, out->arena, &out->rows.data[k]);
    }
}

uint64_t
rlf_memory_total(const rlf_memory *memory)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < memory->rows.count; i++)
        sum += memory->rows.data[i].device + memory->rows.data[i].host;
    return sum;
}

/* Bytes of a row that lie in the memory in question. */
static uint64_t
bytes_in(const rlf_memory_row *row, bool device, bool host)
{
    return (device ? row->device : 0) + (host ? row->host : 0);
}

enum { TOLD = 3 };
/* In the sentence of every such error, and of no other. */
#define MAY_USE "but it may use"

/* The rows that take most of it. */
static void
tell_largest(const rlf_memory *memory, bool device, bool host, rlf_err *err)
{
    const rlf_memory_row *told[TOLD] = {0};
    for (int k = 0; k < TOLD; k++) {
        for (size_t i = 0; i < memory->rows.count; i++) {
            const rlf_memory_row *row = &memory->rows.data[i];
            bool before = false;
            for (int j = 0; j < k; j++)
                before |= told[j] == row;
            if (!before && bytes_in(row, device, host) &&
                (!told[k] ||
                 bytes_in(row, device, host) > bytes_in(told[k], device, host)))
                told[k] = row;
        }
        if (!told[k])
            return;
        char text[RLF_BYTES_TEXT];
        rlf_bytes_text(bytes_in(told[k], device, host), text);
        rlf_err_hint(err, "%s '%s' %s takes %s", k ? "then" : "most of all",
                     told[k]->owner, told[k]->purpose, text);
    }
}

/* Whose the rest of a device is. */
static void
tell_rest(const rlf_memory_room *room, rlf_err *err)
{
    if (room->ranks > 1)
        rlf_err_hint(err, "%d ranks share the device", room->ranks);
    if (room->free < room->all - room->all / 8)
        rlf_err_hint(err,
                     "of its %.0f MB only %.0f were free: see what else runs "
                     "there",
                     (double)room->all / (1 << 20),
                     (double)room->free / (1 << 20));
}

/* A row under its k-th choice, or the last one. */
static const rlf_memory_choice *
choice(const rlf_memory_row *row, int k)
{
    int n = row->n_choices;
    return n ? &row->choices[k < n ? k : n - 1] : NULL;
}

/* Bytes that are taken with the k-th choice of every row. */
static uint64_t
total_with(const rlf_memory *memory, uint64_t total, int k)
{
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_choice *c = choice(&memory->rows.data[i], k);
        total -= c ? memory->rows.data[i].device - c->device : 0;
    }
    return total;
}

/* The first choice with which all fits, or the last one. */
static int
find_choice(const rlf_memory *memory, uint64_t total, uint64_t limit)
{
    int k = 0, most = 0;
    for (size_t i = 0; i < memory->rows.count; i++)
        if (memory->rows.data[i].n_choices > most)
            most = memory->rows.data[i].n_choices;
    while (k + 1 < most && total_with(memory, total, k) > limit)
        k++;
    return k;
}

/* Partial sums of gradients need not be there with fewer lanes: which place
 * rows say so? They change bits, so that nobody but the user takes them.
 * `fits`: with them all fits. */
static void
tell_lanes(const rlf_memory *memory, uint64_t total, int k, bool fits,
           rlf_err *err)
{
    uint64_t less = total - total_with(memory, total, k), sums = 0;
    rlf_buf rows = {0};
    char all[RLF_BYTES_TEXT], saved[RLF_BYTES_TEXT];
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        if (!row->n_choices)
            continue;
        rlf_buf_printf(&rows, "%s%s", rows.n ? "; " : "", choice(row, k)->row);
        sums += row->device;
    }
    rlf_err_hint(err,
                 "%s are for partial sums of gradients, by lanes: place { "
                 "%s } takes %s less%s, and has other bits",
                 rlf_bytes_text(sums, all), rows.p, rlf_bytes_text(less, saved),
                 fits ? ", which fits" : "");
    rlf_buf_free(&rows);
}

static rlf_status
check_fit(const rlf_memory *memory, bool device, bool host,
          const rlf_memory_room *room, int rank, rlf_err *err)
{
    uint64_t total = 0, most = 0, limit = host ? room->host : room->device;
    const rlf_memory_row *largest = NULL;
    for (size_t i = 0; i < memory->rows.count; i++) {
        const rlf_memory_row *row = &memory->rows.data[i];
        uint64_t bytes = bytes_in(row, device, host);
        total += bytes;
        if (!row->lower || bytes <= most)
            continue;
        largest = row;
        most = bytes;
    }
    if (total <= limit)
        return RLF_OK;
    rlf_status status = host ? RLF_USER : RLF_ENV;
    char who[32], is[RLF_BYTES_TEXT], may[RLF_BYTES_TEXT],
        lacks[RLF_BYTES_TEXT];
    snprintf(who, sizeof who, rank < 0 ? "the run" : "rank %d", rank);
    rlf_fail(err, status,
             "%s takes %s of %s at its caps, " MAY_USE " %s: %s are missing",
             who, rlf_bytes_text(total, is),
             !host ? "a device's memory" : "memory", rlf_bytes_text(limit, may),
             rlf_bytes_text(total - limit, lacks));
    int k = find_choice(memory, total, limit);
    uint64_t left = device ? total_with(memory, total, k) : total;
    if (left <= limit) {
        tell_lanes(memory, total, k, true, err);
        return status;
    }
    if (largest)
        rlf_err_hint(err, "%s are for '%s' %s: lower %s",
                     rlf_bytes_text(most, is), largest->owner, largest->purpose,
                     largest->lower);
    else
        rlf_err_hint(err, "no cap makes it smaller: take smaller models");
    if ((total - left) * 4 > total - limit) /* not all, but much of it */
        tell_lanes(memory, total, k, false, err);
    if (host)
        return status;
    tell_largest(memory, device, host, err);
    tell_rest(room, err);
    return status;
}

rlf_status
rlf_memory_fits(const rlf_memory *memory, const rlf_memory_room *room, int rank,
                rlf_err *err)
{
    if (!room->device)
        return check_fit(memory, true, true, room, rank, err);
    RLF_TRY(check_fit(memory, true, false, room, rank, err));
    return check_fit(memory, false, true, room, rank, err);
}

bool
rlf_memory_is_missing(const rlf_err *err)
{
    return err->status < 0 && strstr(err->sentence, MAY_USE) != NULL;
}

bool
rlf_memory_same(const rlf_memory *a, const rlf_memory *b)
{
    bool same = a->rows.count == b->rows.count;
    for (size_t i = 0; same && i < a->rows.count; i++) {
        const rlf_memory_row *x = &a->rows.data[i], *y = &b->rows.data[i];
        same = strcmp(x->owner, y->owner) == 0 &&
               strcmp(x->purpose, y->purpose) == 0 && x->device == y->device &&
               x->host == y->host;
    }
    return same;
}
