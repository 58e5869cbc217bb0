/* From counts to durations: see costs.h. */
#include "engine/simulate/costs.h"

#include <math.h>

#include "engine/graph/class.h"
#include "engine/plan/weight_copies.h"
#include "engine/timing/transfers.h"
#include "engine/timing/measured.h"
#include "engine/timing/workload.h"

/* Seconds of the controller for a command, as bench/dispatch measures them:
 * alone, and for each of several ranks. */
#define POST_ALONE 0.15e-6
#define POST_EACH 1.2e-6

struct rlf_costs {
    rlf_costs_options options;
    const rlf_plan *plan;
    rlf_arena *arena;
    double ***weights; /* per resource: from copy to copy; < 0: none goes */
    rlf_rank_links ***links; /* per node and rank; NULL: not asked for yet */
    uint32_t *seats;   /* per node */
    uint32_t *rooms;   /* likewise: tokens of a micro-batch */
    rlf_costs_asked asked;
};

/* ---- pieces ---- */

static rlf_cost
count(const rlf_costs *c, const rlf_node *node, int rank,
      const rlf_piece *piece)
{
    return rlf_opened_piece(&c->options.ranks[rank], c->options.sizes, node->id,
                            piece);
}

static rlf_rank_links *
links_of(const rlf_costs *c, const rlf_node *node, int rank)
{
    rlf_rank_links ***all = &c->links[node->id];
    if (!*all)
        *all = RLF_NEW_ARRAY(c->arena, rlf_rank_links *, c->plan->ranks);
    rlf_rank_links **links = &(*all)[rank];
    if (!*links) {
        *links = RLF_NEW(c->arena, rlf_rank_links);
        **links = (rlf_rank_links){.layout = &c->plan->place[node->id].layout,
                                   .rank = rank};
    }
    return *links;
}

static double
seconds_of(const rlf_costs *c, const rlf_cost *cost, const rlf_node *node,
           int rank, double rows)
{
    rlf_seconds out;
    rlf_seconds_over(c->options.speeds, cost, links_of(c, node, rank), rows,
                     &out);
    return out.total;
}

/* ---- lines ---- */

/* Seconds of a piece by the profile of the rank's device (`chunk`, `parts`: of
 * rlf_measured_piece); false: it has no line for it. */
static bool
by_line(rlf_costs *c, rlf_measured_kind kind, const rlf_node *node, int rank,
        double x, double y, bool chunk, int parts, double *out)
{
    const rlf_measured_piece piece = {.kind = kind,
                                      .node = node,
                                      .rank = rank,
                                      .x = x,
                                      .y = y,
                                      .chunk = chunk,
                                      .parts = parts};
    rlf_measured_said said;
    if (!c->options.speeds->profiles || !c->options.speeds->profiles[rank])
        return false;
    if (!rlf_measured_seconds(c->options.speeds, c->plan, &piece, &said)) {
        c->asked.counted++;
        return false;
    }
    c->asked.measured += said.exact;
    c->asked.alike += !said.exact;
    c->asked.seconds += said.seconds;
    c->asked.beyond += said.beyond ? said.seconds : 0;
    *out = said.seconds;
    return true;
}

/* Offloaded weights come to a device before a piece reads them, which no line
 * has in it. */
static double
bring(const rlf_costs *c, const rlf_node *node, int rank,
      const rlf_piece *piece)
{
    const rlf_graph *graph = c->plan->graph;
    const rlf_place_row *row =
        node->receiver < 0
            ? NULL
            : rlf_placement_find(graph->placement, node->receiver, NULL);
    rlf_seconds out;
    if (!row || row->offload != 1 ||
        !rlf_cluster_part_of(c->options.speeds->cluster, rank)
             ->machine->device->gpu)
        return 0;
    rlf_seconds_copy(c->options.speeds, rank,
                     count(c, node, rank, piece).brought, &out);
    return out.total;
}

static bool
reads_model(const rlf_node *node)
{
    return node->class->work == RLF_WORK_READ ||
           node->class->work == RLF_WORK_GENERATE;
}

/* Runs measure what other models read before the first micro-batch of an update
 * (rlf_loss_reads_first) with its end: where that has a line, it is in it. */
static bool
in_finish(const rlf_costs *c, const rlf_portion *p, double *out)
{
    const rlf_measured_piece piece = {.kind = RLF_MEASURED_FINISH,
                                      .node = p->node,
                                      .rank = p->rank,
                                      .x = (double)p->rows,
                                      .parts = 1};
    rlf_measured_said said;
    *out = 0;
    return c->options.speeds->profiles &&
           c->options.speeds->profiles[p->rank] &&
           rlf_measured_seconds(c->options.speeds, c->plan, &piece, &said);
}

/* Passes of an update: its live calls, those that one pass serves once. */
static int
groups_of(const rlf_node *node)
{
    int n = node->loss ? rlf_loss_passes(node->loss) : 0;
    return n ? n : 1;
}

/* A micro-batch that is simulated stands for one of each of an update's passes,
 * which runs measure one by one. */
static bool
portion_by_line(rlf_costs *c, const rlf_portion *p, double *out)
{
    double tokens = (double)p->rows * (p->prompt + p->response);
    bool trains = p->node && p->node->class->work == RLF_WORK_TRAIN;
    rlf_measured_kind kind = RLF_MEASURED_ROWS;
    double x = tokens;
    switch (p->kind) {
    case RLF_PORTION_OPEN:
        kind = RLF_MEASURED_OPEN;
        x = 0;
        break;
    case RLF_PORTION_STEP:
        kind = RLF_MEASURED_STEP;
        x = 0;
        break;
    case RLF_PORTION_ROWS:
        if (!reads_model(p->node))
            x = p->all ? 0 : (double)p->rows;
        break;
    case RLF_PORTION_BEFORE:
        if (p->node->loss && p->node->loss->reach != RLF_REACH_BATCH)
            return in_finish(c, p, out);
        kind = RLF_MEASURED_FORWARD;
        break;
    case RLF_PORTION_FORWARD:
        kind = trains ? RLF_MEASURED_FORWARD : RLF_MEASURED_ROWS;
        break;
    case RLF_PORTION_BACKWARD:
        kind = RLF_MEASURED_BACKWARD;
        break;
    case RLF_PORTION_WEIGHTS:
        kind = RLF_MEASURED_WEIGHTS;
        break;
    case RLF_PORTION_FINISH:
        kind = RLF_MEASURED_FINISH;
        x = (double)p->rows;
        break;
    }
    bool chunk = !trains && p->kind == RLF_PORTION_FORWARD;
    int parts = kind == RLF_MEASURED_ROWS ? p->micros : 1;
    bool known = by_line(c, kind, p->node, p->rank, x, 0, chunk, parts, out);
    if (trains && kind != RLF_MEASURED_FINISH)
        *out *= groups_of(p->node);
    return known;
}

static uint32_t
whole(double x)
{
    return x < 1 ? 1 : (uint32_t)(x + 0.5);
}

static rlf_piece
piece_of(const rlf_portion *p)
{
    static const rlf_piece_kind kinds[] = {
        [RLF_PORTION_ROWS] = RLF_PIECE_ROWS,
        [RLF_PORTION_BEFORE] = RLF_PIECE_BEFORE,
        [RLF_PORTION_FORWARD] = RLF_PIECE_FORWARD,
        [RLF_PORTION_BACKWARD] = RLF_PIECE_BACKWARD,
        [RLF_PORTION_WEIGHTS] = RLF_PIECE_WEIGHTS,
        [RLF_PORTION_FINISH] = RLF_PIECE_FINISH};
    return (rlf_piece){.kind = kinds[p->kind],
                       .rows = (uint64_t)p->rows,
                       .prompt = whole(p->prompt),
                       .response = whole(p->response),
                       .chunk = p->chunk};
}

/* Of so many rows, of which so many share a prompt. Messages from stage to
 * stage are asked for apart. */
static double
take_alike(const rlf_costs *c, const rlf_portion *p, double rows, uint32_t each)
{
    rlf_piece piece = piece_of(p);
    piece.each = each;
    double tokens = rows * (p->prompt + p->response), seconds = 0;
    piece.rows = (uint64_t)rows;
    bool micro = p->kind != RLF_PORTION_ROWS && p->kind != RLF_PORTION_FINISH;
    for (piece.group = 0; piece.group < groups_of(p->node); piece.group++) {
        rlf_cost cost = count(c, p->node, p->rank, &piece);
        if (micro)
            cost.meets[RLF_AXIS_PP] = (rlf_meets){0};
        seconds += seconds_of(c, &cost, p->node, p->rank, tokens);
    }
    return seconds;
}

static double
take_rows(const rlf_costs *c, const rlf_portion *p, double rows)
{
    rlf_sharing of = rlf_sharing_of(p->each);
    double seconds = 0;
    if (!(p->each > 0))
        return take_alike(c, p, rows, 0);
    for (int k = 0; k < 2; k++)
        if (of.part[k] > 0)
            seconds += of.part[k] * take_alike(c, p, rows, of.each[k]);
    return seconds;
}

/* Of micro-batches that have so many rows on average some have one more than
 * others. */
static double
take_portion(void *self, const rlf_portion *p)
{
    rlf_costs *c = self;
    double fewer = floor(p->rows), more = p->rows - fewer, seconds = 0;
    bool other = p->kind == RLF_PORTION_OPEN || p->kind == RLF_PORTION_STEP;
    bool measured = portion_by_line(c, p, &seconds);
    if (other)
        return seconds;
    if (measured) {
        const rlf_piece piece = piece_of(p);
        return seconds + bring(c, p->node, p->rank, &piece);
    }
    if (more < 1e-9 || fewer < 1)
        seconds = take_rows(c, p, floor(p->rows + 0.5));
    else
        seconds = (1 - more) * take_rows(c, p, fewer) +
                  more * take_rows(c, p, fewer + 1);
    return seconds;
}

static double
take_message(void *self, int from, int to, double bytes)
{
    const rlf_costs *c = self;
    rlf_seconds out;
    rlf_seconds_message(c->options.speeds, from, to, bytes, &out);
    return out.total;
}

static double
take_edge(void *self, int rank, double bytes, int messages)
{
    double seconds = 0;
    by_line(self, RLF_MEASURED_EDGE, NULL, rank, bytes, messages, false, 1,
            &seconds);
    return seconds;
}

static double
take_stage(void *self, const rlf_portion *p, int to)
{
    const rlf_costs *c = self;
    rlf_piece piece = piece_of(p);
    piece.rows = (uint64_t)(p->rows + 0.5);
    rlf_seconds out;
    double bytes = 0;
    for (piece.group = 0; piece.group < groups_of(p->node); piece.group++)
        bytes += count(c, p->node, p->rank, &piece).meets[RLF_AXIS_PP].bytes;
    rlf_seconds_stage(c->options.speeds, &c->plan->place[p->node->id].layout,
                      p->rank, to, bytes, &out);
    return out.total;
}

static double
take_pass(rlf_costs *c, const rlf_node *node, int rank, const rlf_piece *piece)
{
    double rows = (double)piece->rows, prompts = (double)piece->prompts;
    double p = piece->prompt, fed = rows + prompts * p, seconds;
    double keys = prompts * p * (p + 1) / 2 + rows * (piece->context + 1);
    if (by_line(c, RLF_MEASURED_TURN, node, rank, fed, keys, false, 1,
                &seconds))
        return seconds + bring(c, node, rank, piece);
    rlf_cost cost = count(c, node, rank, piece);
    return seconds_of(c, &cost, node, rank, fed);
}

/* A turn on one stage: as many passes as there are stages, over which samples
 * are assigned as evenly as can be. A token goes through all stages, so a pass
 * without samples takes as long as one with one. */
static double
take_passes(rlf_costs *c, const rlf_turn *turn, int rank)
{
    uint64_t pp = (uint64_t)c->plan->place[turn->node->id].layout.pp;
    rlf_piece last = {.kind = RLF_PIECE_TURN};
    double sum = 0, seconds = 0;
    for (uint64_t k = 0; k < pp; k++) {
        rlf_piece piece = {.kind = RLF_PIECE_TURN,
                           .rows = (turn->rows + pp - 1 - k) / pp,
                           .prompts = (turn->prompts + k) / pp,
                           .prompt = whole(turn->prompt),
                           .context = turn->context};
        piece.rows += !piece.rows && !piece.prompts;
        if (!k || piece.rows != last.rows || piece.prompts != last.prompts)
            seconds = take_pass(c, turn->node, rank, &piece);
        last = piece;
        sum += seconds;
    }
    return sum;
}

/* That of the slowest stage. */
static double
take_turn(void *self, const rlf_turn *turn)
{
    rlf_costs *c = self;
    const rlf_layout *l = &c->plan->place[turn->node->id].layout;
    double most = 0;
    for (int i = 0; i < turn->n_ranks; i++)
        if (rlf_layout_find(l, turn->ranks[i]).tp == 0)
            most = fmax(most, take_passes(c, turn, turn->ranks[i]));
    return most;
}

/* Bytes of keys and values of a token: what a turn reads more if every context
 * is longer by one. */
static double
page_bytes(const rlf_costs *c, const rlf_node *node, int rank)
{
    rlf_piece piece = {.kind = RLF_PIECE_TURN, .rows = 1, .context = 64};
    rlf_cost less = count(c, node, rank, &piece);
    piece.context++;
    return count(c, node, rank, &piece).read - less.read;
}

static double
take_handover(void *self, const rlf_node *node, int rank, uint32_t samples,
              uint64_t tokens)
{
    const rlf_costs *c = self;
    const rlf_layout *l = &c->plan->place[node->id].layout;
    rlf_carry carry = c->plan->place[node->id].carry;
    if (!samples)
        return 0;
    /* nobody says between whom: as far as between the layout's ends */
    int other = l->ranks[0] == rank ? l->ranks[l->n_ranks - 1] : l->ranks[0];
    rlf_piece piece = {.kind = RLF_PIECE_TURN,
                       .prompts = samples,
                       .prompt = whole((double)tokens / samples)};
    rlf_cost again = count(c, node, rank, &piece);
    double pages = take_message(self, rank, other,
                                (double)tokens * page_bytes(c, node, rank));
    double anew = l->pp * seconds_of(c, &again, node, rank, (double)tokens);
    return carry == RLF_CARRY_PAGES    ? pages
           : carry == RLF_CARRY_TOKENS ? anew
                                       : fmin(pages, anew);
}

/* ---- weights ---- */

static rlf_status
time_edge(const rlf_costs *c, int model, int from, int to, rlf_err *err,
          double *seconds)
{
    const rlf_resource *r = &c->plan->graph->resources.data[model];
    const rlf_opened *first = &c->options.ranks[0];
    rlf_arena *scratch = rlf_arena_new();
    rlf_shapes shapes;
    rlf_realloc_plan plan;
    rlf_status status = r->class->model->shapes(
        c->plan->graph, r, first->resource[model], scratch, err, &shapes);
    if (status >= 0) {
        const rlf_realloc_job job = rlf_weight_copies_job(
            c->plan, model, from, to, &shapes, NULL, c->options.real);
        status = rlf_realloc_make(&job, scratch, err, &plan);
        if (status >= 0)
            *seconds = rlf_transfers_seconds(c->options.speeds, &job, &plan,
                                             c->plan->ranks, scratch, NULL);
    }
    rlf_arena_free(scratch);
    return status;
}

/* All of a copy that its moves depend on. */
static void
name_copy(const rlf_weight_copy *copy, rlf_buf *out)
{
    const rlf_layout *l = &copy->mesh.layout;
    rlf_buf_printf(out, " %d %d %d %d %d %d:", copy->by_layer, l->tp, l->pp,
                   l->dp, l->chunks, l->vee);
    for (int i = 0; i < l->n_order; i++)
        rlf_buf_printf(out, " %d %d", (int)l->order[i].axis, l->order[i].size);
    for (int i = 0; i < l->n_ranks; i++)
        rlf_buf_printf(out, " %d", l->ranks[i]);
}

/* As it was timed before, or else now. */
static rlf_status
find_edge(rlf_costs *c, int model, int from, int to, rlf_err *err)
{
    const rlf_weight_copy *list = c->plan->copies[model].list;
    double *seconds = &c->weights[model][from][to];
    rlf_map *moves = c->options.moves;
    rlf_buf key = {0};
    if (!moves)
        return time_edge(c, model, from, to, err, seconds);
    rlf_buf_printf(&key, "%d", model);
    name_copy(&list[from], &key);
    name_copy(&list[to], &key);
    const double *known = rlf_map_get(moves, key.p);
    rlf_status status = RLF_OK;
    if (known)
        *seconds = *known;
    else
        status = time_edge(c, model, from, to, err, seconds);
    if (!known && status >= 0) {
        double *kept = RLF_NEW(moves->arena, double);
        *kept = *seconds;
        rlf_map_put(moves, key.p, kept);
    }
    rlf_buf_free(&key);
    return status;
}

static rlf_status
time_weights(rlf_costs *c, rlf_err *err)
{
    size_t n = c->plan->graph->resources.count;
    c->weights = RLF_NEW_ARRAY(c->arena, double **, n);
    for (int i = 0; i < (int)n; i++) {
        const rlf_weight_copies *copies = &c->plan->copies[i];
        c->weights[i] = RLF_NEW_ARRAY(c->arena, double *, copies->n);
        for (int k = 0; k < copies->n; k++)
            c->weights[i][k] = RLF_NEW_ARRAY(c->arena, double, copies->n);
        for (int k = 1; k < copies->n; k++) {
            int of = copies->list[k].later_of;
            RLF_TRY(find_edge(c, i, 0, k, err));
            if (of)
                RLF_TRY(find_edge(c, i, k, of, err));
        }
    }
    return RLF_OK;
}

static double
take_weights(void *self, const rlf_rank_command *command)
{
    const rlf_costs *c = self;
    return c->weights[command->model][command->from][command->copy];
}

/* ---- all ---- */

/* By the caps of the models, with nothing left open. */
static void
find_caps(rlf_costs *c)
{
    const rlf_graph *graph = c->plan->graph;
    c->seats = RLF_NEW_ARRAY(c->arena, uint32_t, graph->nodes.count);
    c->rooms = RLF_NEW_ARRAY(c->arena, uint32_t, graph->nodes.count);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->receiver < 0)
            continue;
        bool trains = node->class->work == RLF_WORK_TRAIN;
        int rank = c->plan->place[i].layout.ranks[0];
        const rlf_opened *o = &c->options.ranks[rank];
        const rlf_resource *r = &graph->resources.data[node->receiver];
        const rlf_caps *caps =
            rlf_resource_caps(r, o->resource[node->receiver]);
        if (!caps)
            continue;
        if (node->class->work == RLF_WORK_GENERATE)
            c->seats[i] = caps->rows[RLF_USE_GENERATE];
        else
            c->rooms[i] = caps->tokens[trains ? RLF_USE_UPDATE : RLF_USE_READ];
    }
}

rlf_status
rlf_costs_new(const rlf_costs_options *options, rlf_arena *arena, rlf_err *err,
              rlf_costs **out)
{
    rlf_costs *c = RLF_NEW(arena, rlf_costs);
    *c = (rlf_costs){
        .options = *options, .plan = options->ranks[0].plan, .arena = arena};
    c->links = RLF_NEW_ARRAY(arena, rlf_rank_links **,
                             c->plan->graph->nodes.count);
    RLF_TRY(time_weights(c, err));
    find_caps(c);
    *out = c;
    return RLF_OK;
}

rlf_durations
rlf_costs_durations(rlf_costs *c)
{
    int ranks = c->plan->ranks;
    const rlf_profile *p =
        c->options.speeds->profiles ? c->options.speeds->profiles[0] : NULL;
    return (rlf_durations){.self = c,
                           .portion = take_portion,
                           .turn = take_turn,
                           .message = take_message,
                           .stage = take_stage,
                           .edge =
                               c->options.speeds->profiles ? take_edge : NULL,
                           .other = c->options.speeds->profiles != NULL,
                           .known = !c->options.speeds->profiles,
                           .weights = take_weights,
                           .handover = take_handover,
                           .mail = p && ranks > 1 ? p->post / 2 : 0,
                           .cores = rlf_measured_cores(c->options.speeds),
                           .post = ranks > 1 ? POST_EACH * ranks : POST_ALONE};
}

rlf_costs_asked
rlf_costs_asked_of(const rlf_costs *c)
{
    return c->asked;
}

const uint32_t *
rlf_costs_seats(const rlf_costs *c)
{
    return c->seats;
}

const uint32_t *
rlf_costs_rooms(const rlf_costs *c)
{
    return c->rooms;
}
