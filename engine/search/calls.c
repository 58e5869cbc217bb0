/* What calls take on a layout: see calls.h. */
#include "engine/search/calls.h"

#include <math.h>
#include <string.h>

#include "engine/layout/lanes.h"

/* ---- rows ---- */

/* The set that a call runs its model on. */
static rlf_set_size
size_of(const rlf_opened *o, const rlf_sizes *sizes, const rlf_node *node)
{
    int value = node->class->sampled ? node->outputs[0]
                : node->loss && node->loss->n_calls
                    ? node->inputs[node->loss->calls[0].set_input]
                    : node->inputs[0];
    return sizes->set[o->plan->graph->values.data[value].set];
}

/* Lanes of an update's replica that has the most, and of how many. */
static void
lanes_of(const rlf_opened *o, const rlf_node *node, double *held, double *all)
{
    int dp = o->plan->place[node->id].layout.dp;
    int lanes = o->plan->sums ? o->plan->sums[node->receiver].lanes : 0;
    *held = 1;
    *all = dp;
    if (node->class->role != RLF_ROLE_UPDATE || lanes < dp)
        return;
    *held = (double)rlf_range_size(rlf_lanes_part(lanes, dp, dp - 1));
    *all = lanes;
}

/* Of the replica that has the most. */
static double
rows_of(const rlf_opened *o, const rlf_sizes *sizes, const rlf_node *node)
{
    double held, all;
    lanes_of(o, node, &held, &all);
    return ceil(size_of(o, sizes, node).samples * held / all);
}

static rlf_use
use_of(const rlf_node *node)
{
    return node->class->sampled                   ? RLF_USE_GENERATE
           : node->class->role == RLF_ROLE_UPDATE ? RLF_USE_UPDATE
                                                  : RLF_USE_READ;
}

/* Updates are cut lane by lane. */
rlf_call_cut
rlf_call_cut_of(const rlf_opened *o, const rlf_sizes *sizes,
                const rlf_node *node)
{
    const rlf_resource *r = &o->plan->graph->resources.data[node->receiver];
    const rlf_caps *caps =
        o->classes->resource[r->kind]->caps(o->resource[node->receiver]);
    rlf_set_size size = size_of(o, sizes, node);
    rlf_use use = use_of(node);
    double rows = rows_of(o, sizes, node), parts, all;
    lanes_of(o, node, &parts, &all);
    double each =
        fmax(1, floor(caps->tokens[use] / (size.prompt + size.response)));
    return (rlf_call_cut){
        .micros = (int)(parts * fmax(1, ceil(rows / parts / each))),
        .seats = (int)fmin(rows, caps->rows[RLF_USE_GENERATE])};
}

/* ---- pieces ---- */

/* What is asked for, and the sum so far. */
typedef struct work {
    const rlf_opened *opened;
    const rlf_sizes *sizes;
    const rlf_node *node;
    const rlf_layout *layout;
    const rlf_speeds *speeds;
    rlf_seconds *sum;
} work;

static uint32_t
whole(double x)
{
    return x < 1 ? 1 : (uint32_t)(x + 0.5);
}

static void
add_cost(const work *w, const rlf_cost *cost, double tokens, double times)
{
    rlf_seconds seconds;
    rlf_seconds_of(w->speeds, cost, w->layout, w->opened->rank, tokens, NULL, 0,
                   &seconds);
    rlf_seconds_add(w->sum, &seconds, times);
}

/* So many times, and messages between stages that are waited for. */
static void
add(const work *w, const rlf_piece *piece, double tokens, double times,
    double waits)
{
    rlf_cost cost = rlf_opened_piece(w->opened, w->sizes, w->node->id, piece);
    rlf_cost message = {0};
    message.meets[RLF_AXIS_PP] = cost.meets[RLF_AXIS_PP];
    cost.meets[RLF_AXIS_PP] = (rlf_meets){0};
    add_cost(w, &cost, tokens, times);
    add_cost(w, &message, 0, waits);
}

/* Waves of turns. Of a group one reads the prompt, the others its last token.
 */
static void
generate(const work *w, const rlf_set_size *size, rlf_call_cut cut, double rows)
{
    double pp = w->layout->pp, waves = ceil(rows / fmax(1, cut.seats));
    double each = ceil(rows / waves / pp);
    double groups = ceil(each * size->prompts / fmax(1, size->samples));
    rlf_piece first = {.kind = RLF_PIECE_TURN,
                       .prompts = (uint64_t)groups,
                       .rows = (uint64_t)(each - groups),
                       .prompt = whole(size->prompt),
                       .context = size->prompt};
    rlf_piece turn = {.kind = RLF_PIECE_TURN,
                      .rows = (uint64_t)each,
                      .context = size->prompt + size->response / 2};
    double firsts = waves * (2 * pp - 1);
    double turns = waves * (size->response - 1) * pp;
    add(w, &first, groups * size->prompt, firsts, firsts);
    add(w, &turn, each, turns, turns);
}

static int
groups_of(const rlf_node *node)
{
    const rlf_loss *loss = node->loss;
    int n = 0;
    for (int i = 0; loss && i < loss->n_calls; i++) {
        bool found = false;
        for (int k = 0; k < i && !found; k++)
            found = rlf_live_together(&loss->calls[i], &loss->calls[k]);
        n += !found;
    }
    return n ? n : 1;
}

/* `times` micro-batches, through each chunk that the rank has. What a stage
 * sends is on its way while it computes: only the first of them waits. */
static void
go_through(const work *w, rlf_piece_kind kind, const rlf_set_size *size,
           double each, double times)
{
    const rlf_layout *l = w->layout;
    double chunks = l->chunks > 1 ? l->chunks : 1;
    rlf_piece piece = {.kind = kind,
                       .rows = (uint64_t)each,
                       .prompt = whole(size->prompt),
                       .response = whole(size->response)};
    for (piece.group = 0; piece.group < groups_of(w->node); piece.group++)
        for (piece.chunk = 0; piece.chunk < chunks; piece.chunk++)
            add(w, &piece, each * (size->prompt + size->response), times,
                (l->pp - 1) / chunks);
}

static double
rows_each(rlf_call_cut cut, double rows)
{
    return ceil(rows / fmax(1, cut.micros));
}

/* One direction of all micro-batches: the first comes to the last stage when it
 * has gone through the others. */
static void
pass(const work *w, rlf_piece_kind kind, const rlf_set_size *size,
     rlf_call_cut cut, double rows)
{
    const rlf_layout *l = w->layout;
    double chunks = l->chunks > 1 ? l->chunks : 1;
    go_through(w, kind, size, rows_each(cut, rows),
               fmax(1, cut.micros) + (l->pp - 1) / chunks);
}

/* What a split backward leaves is done while others would be waited for: of
 * each micro-batch, less one for each stage. */
static void
weights(const work *w, const rlf_set_size *size, rlf_call_cut cut, double rows)
{
    double stages = w->layout->pp - 1, micros = fmax(1, cut.micros);
    go_through(w, RLF_PIECE_WEIGHTS, size, rows_each(cut, rows),
               micros - fmin(stages, micros));
}

void
rlf_call_seconds(const rlf_opened *opened, const rlf_sizes *sizes,
                 const rlf_node *node, rlf_call_cut cut,
                 const rlf_speeds *speeds, rlf_seconds *out)
{
    rlf_set_size size = size_of(opened, sizes, node);
    double rows = rows_of(opened, sizes, node);
    rlf_seconds once = {0};
    const work w = {.opened = opened,
                    .sizes = sizes,
                    .node = node,
                    .layout = &opened->plan->place[node->id].layout,
                    .speeds = speeds,
                    .sum = &once};
    *out = once;
    if (node->class->sampled) {
        generate(&w, &size, cut, rows);
    } else if (node->class->role != RLF_ROLE_UPDATE) {
        pass(&w, RLF_PIECE_FORWARD, &size, cut, rows);
    } else {
        if (node->loss && node->loss->reach == RLF_REACH_BATCH)
            pass(&w, RLF_PIECE_BEFORE, &size, cut, rows);
        pass(&w, RLF_PIECE_FORWARD, &size, cut, rows);
        pass(&w, RLF_PIECE_BACKWARD, &size, cut, rows);
        if (opened->plan->place[node->id].owed) /* they fill what would wait */
            weights(&w, &size, cut, rows);
        rlf_piece last = {.kind = RLF_PIECE_FINISH,
                          .rows = (uint64_t)rows,
                          .prompt = whole(size.prompt),
                          .response = whole(size.response)};
        add(&w, &last, 0, 1, 1);
    }
    rlf_seconds_add(out, &once, sizes->runs[node->id]);
}

/* ---- memory ---- */

static double
bytes_of(const rlf_memory_row *row, bool unified)
{
    return (double)row->device + (unified ? (double)row->host : 0);
}

/* Adds a line of a model's memory to the calls that it is there for; weights
 * and their packings, to all. */
static void
add_bytes(const rlf_memory_row *row, bool unified, rlf_call_bytes *out)
{
    static const struct {
        const char *purpose;
        rlf_stage_kind kind;
    } purposes[] = {
        {"gradients", RLF_STAGE_UPDATE},
        {"partial sums", RLF_STAGE_UPDATE},
        {"optimizer", RLF_STAGE_UPDATE},
        {"activations of update", RLF_STAGE_UPDATE},
        {"activations of scoring", RLF_STAGE_READ},
        {"activations of generate", RLF_STAGE_GENERATE},
        {"keys and values", RLF_STAGE_GENERATE},
        {"lists of pages", RLF_STAGE_GENERATE},
        {"samples between ranks", RLF_STAGE_GENERATE},
    };
    for (size_t i = 0; i < sizeof purposes / sizeof *purposes; i++) {
        const char *purpose = purposes[i].purpose;
        if (strncmp(row->purpose, purpose, strlen(purpose)) == 0) {
            out->own[purposes[i].kind] += bytes_of(row, unified);
            out->lends += i == 0 ? bytes_of(row, unified) : 0;
            return;
        }
    }
    out->kept += bytes_of(row, unified);
}

rlf_call_bytes
rlf_call_memory(const rlf_opened *o, int model, bool unified)
{
    const rlf_graph *graph = o->plan->graph;
    const rlf_resource *r = &graph->resources.data[model];
    rlf_arena *scratch = rlf_arena_new();
    rlf_memory memory = {.arena = scratch};
    rlf_call_bytes out = {0};
    o->classes->resource[r->kind]->memory(graph, r, o->resource[model],
                                          &memory);
    for (size_t i = 0; i < memory.rows.count; i++)
        add_bytes(&memory.rows.data[i], unified, &out);
    rlf_arena_free(scratch);
    return out;
}
