/* Making and printing plans: see plan.h. */
#include "engine/plan/plan.h"

#include "engine/base/digest.h"
#include "engine/layout/lanes.h"
#include "engine/plan/fit.h"
#include "engine/plan/weight_copies.h"
#include "engine/plan/pipes.h"
#include "engine/plan/strategy.h"
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static rlf_partition
partition_of(const rlf_node *node)
{
    rlf_partition partition = node->class->partition;
    bool rows =
        partition == RLF_PARTITION_ROWS || partition == RLF_PARTITION_NEAR;
    return rows && node->rows < 0 ? RLF_PARTITION_WHOLE : partition;
}

const rlf_node *
rlf_plan_placed_as(const rlf_graph *graph, const rlf_node *node)
{
    for (size_t i = 0; node->words && i < node->words->program->inputs.count;
         i++)
        if (node->words->model[i] == node->receiver) {
            int value = node->inputs[node->words->input[i]];
            return &graph->nodes.data[graph->values.data[value].node];
        }
    return node;
}

bool
rlf_plan_runs(const rlf_graph *graph, const rlf_node *call)
{
    if (call->class->level != RLF_LEVEL_VOCAB)
        return rlf_place_can(call);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        const rlf_node *as = rlf_plan_placed_as(graph, node);
        if (as != node && as->receiver == call->receiver &&
            as->class == call->class)
            return true;
    }
    return false;
}

const rlf_place_row *
rlf_plan_row(const rlf_graph *graph, const rlf_node *node)
{
    node = rlf_plan_placed_as(graph, node);
    return rlf_place_can(node) ? rlf_placement_find(graph->placement,
                                                    node->receiver, node->class)
                               : NULL;
}

/* Are its place rows still to be found? They keep what the program says. */
static bool
is_searched(const rlf_plan *plan)
{
    const rlf_placement *placement = plan->graph->placement;
    return placement && placement->strategy == RLF_STRATEGY_AUTO &&
           !placement->n_rows;
}

/* The place row of a whole model, or NULL. */
static const rlf_place_row *
model_row(const rlf_plan *plan, int model)
{
    const rlf_placement *placement = plan->graph->placement;
    return is_searched(plan) ? rlf_placement_pin(placement, model, NULL)
                             : rlf_placement_find(placement, model, NULL);
}

/* Counts the replicas that train. A run that goes on has the lanes that it
 * began with, of which each replica has one at least; and where no place row
 * says how many there are, one that would only make others wait is left out.
 * The first ones train.
 */
static void
limit_replicas(const rlf_plan *plan, const rlf_sums *sums, const rlf_node *node)
{
    rlf_node_place *place = &plan->place[node->id];
    rlf_layout *layout = &place->layout;
    place->asked_dp = layout->dp;
    if (node->class->work != RLF_WORK_TRAIN)
        return;
    const rlf_place_row *row = model_row(plan, node->receiver);
    int lanes =
        sums && !(row && row->lanes > 0) ? sums[node->receiver].lanes : 0;
    if (lanes > 0 && lanes < layout->dp)
        layout->dp = lanes;
    if (!rlf_plan_row(plan->graph, node)) {
        layout->dp = rlf_lanes_replicas(layout->dp);
        if (layout->dp > RLF_MOST_LANES)
            layout->dp = RLF_MOST_LANES;
    }
    layout->n_ranks = layout->tp * layout->pp * layout->dp;
}

/* Places all that no place row places: data parallel, calls of models where the
 * strategy has them, all else on all ranks. `sums`: of a checkpoint, or NULL.
 */
static void
place_all(rlf_plan *plan, const rlf_sums *sums, rlf_arena *arena)
{
    size_t n = plan->graph->nodes.count;
    int *ranks = RLF_NEW_ARRAY(arena, int, plan->ranks);
    for (int i = 0; i < plan->ranks; i++)
        ranks[i] = i;
    plan->place = RLF_NEW_ARRAY(arena, rlf_node_place, n);
    const rlf_range *partition =
        rlf_strategy_make(plan->graph, plan->ranks, arena);
    for (size_t i = 0; i < n; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        rlf_place_row row = rlf_place_row_new(-1, NULL);
        const rlf_place_row *said = rlf_plan_row(plan->graph, node);
        row.ranks = ranks + partition[i].first;
        row.n_ranks = row.dp = (int)rlf_range_size(partition[i]);
        if (said)
            row = *said;
        bool interleaved =
            row.schedule && strcmp(row.schedule, "interleaved") == 0;
        bool update = node->class->work == RLF_WORK_TRAIN;
        bool vee = row.schedule && strcmp(row.schedule, "zb-v") == 0;
        int chunks = row.chunks > 0 ? row.chunks : interleaved || vee ? 2 : 1;
        plan->place[i] = (rlf_node_place){
            .partition = partition_of(node),
            .ranks = row.ranks,
            .layout = {.ranks = row.ranks,
                       .n_ranks = row.n_ranks,
                       .tp = row.tp,
                       .pp = row.pp,
                       .dp = row.dp,
                       .chunks = update && row.pp > 1 ? chunks : 1,
                       .vee = update && row.pp > 1 && vee},
            .zero = row.zero > 0 ? row.zero : 0,
            .schedule = row.schedule ? row.schedule : "1f1b",
            .table = row.table,
            .tokens = row.tokens > 0 ? row.tokens : 0,
            .recompute = row.recompute > 0,
            .migrate = row.migrate,
            .seats = row.seats > 0 ? row.seats : 0,
            .carry = row.carry,
            .chunks = chunks,
            .vee = vee,
        };
        limit_replicas(plan, sums, node);
    }
}

/* Whose samples may go to other ranks follows from where calls are. */
static const rlf_caps *
caps_of(const rlf_plan *plan, rlf_arena *arena)
{
    rlf_caps *caps = rlf_plan_caps(plan->graph, arena);
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        const rlf_node_place *place = &plan->place[i];
        if (node->class->work == RLF_WORK_GENERATE && place->migrate &&
            place->layout.dp > 1)
            caps[node->receiver].handover = true;
    }
    return caps;
}

/* The place rows against the run that is asked for. */
static rlf_status
check_rows(const rlf_plan *plan, rlf_err *err)
{
    const rlf_placement *placement = plan->graph->placement;
    int needed = 0;
    for (int i = 0; placement && i < placement->n_rows; i++) {
        const rlf_place_row *row = &placement->rows[i];
        int n = row->ranks[row->n_ranks - 1] + 1;
        needed = n > needed ? n : needed;
    }
    for (int i = 0; placement && i < placement->n_rows; i++) {
        const rlf_place_row *row = &placement->rows[i];
        int most = row->ranks[row->n_ranks - 1];
        const char *dot = row->call ? "." : "";
        const char *model = plan->graph->resources.data[row->model].name;
        const char *call = row->call ? row->call->name : "";
        if (most < plan->ranks)
            continue;
        rlf_fail(err, RLF_USER,
                 "'%s%s%s' is placed on rank %d, so it needs %d ranks, and "
                 "the run has %d",
                 model, dot, call, most, most + 1, plan->ranks);
        rlf_err_hint(err,
                     needed > most + 1
                         ? "run it with --ranks %d, which other rows need, or "
                           "place all on ranks below %d"
                         : "run it with --ranks %d, or place it on ranks "
                           "below %d",
                     needed, plan->ranks);
        rlf_err_place(err, row->span, NULL);
        return RLF_USER;
    }
    return RLF_OK;
}

/* The update of a model, or NULL. */
static const rlf_node *
update_of(const rlf_plan *plan, int model)
{
    if (!plan->graph->resources.data[model].class->model)
        return NULL;
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        if (node->class->work == RLF_WORK_TRAIN && node->receiver == model)
            return node;
    }
    return NULL;
}

static int
power_of_two(int n)
{
    int power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Shards and lanes of models about which nothing is said: the largest split
 * that any call or update has. On the CPU lanes are at least so many that a few
 * ranks, and one, have the same bits. A strategy has the lanes of all ranks, so
 * that it decides where, and no bit of what. */
static rlf_sums
default_sums(const rlf_plan *plan)
{
    bool cpu = strcmp(plan->numerics.backend, "cpu") == 0;
    rlf_sums base = {1, cpu ? RLF_CPU_LANES : 1};
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        int tp = plan->place[i].layout.tp, dp = plan->place[i].asked_dp;
        if (rlf_place_can(node) && tp > base.shards)
            base.shards = power_of_two(tp);
        if (node->class->work == RLF_WORK_TRAIN && dp > base.lanes)
            base.lanes = power_of_two(dp);
    }
    const rlf_placement *placement = plan->graph->placement;
    for (int i = 0; is_searched(plan) && i < placement->n_pins; i++) {
        const rlf_place_row *pin = &placement->pins[i];
        if (pin->tp > base.shards)
            base.shards = power_of_two(pin->tp);
        if (pin->dp > base.lanes)
            base.lanes = power_of_two(pin->dp);
    }
    if (placement && placement->strategy != RLF_STRATEGY_NONE &&
        base.lanes < plan->ranks)
        base.lanes = power_of_two(plan->ranks);
    if (base.lanes > RLF_MOST_LANES)
        base.lanes = RLF_MOST_LANES;
    return base;
}

/* Shards and lanes of every model: what its place row says, else what the
 * checkpoint has, else the default, of shards no more than it can have. */
static rlf_status
set_sums(rlf_plan *plan, const rlf_plan_options *options, rlf_arena *arena,
         rlf_err *err)
{
    size_t n = plan->graph->resources.count;
    rlf_sums *sums = RLF_NEW_ARRAY(arena, rlf_sums, n);
    rlf_sums base = default_sums(plan);
    plan->numerics.shards = base.shards;
    plan->numerics.lanes = base.lanes;
    plan->sums = sums;
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &plan->graph->resources.data[i];
        const rlf_place_row *row =
            r->class->model ? model_row(plan, (int)i) : NULL;
        sums[i] = base;
        if (options->sums && options->sums[i].shards > 0)
            sums[i].shards = options->sums[i].shards;
        else if (r->class->model && !(row && row->shards > 0))
            sums[i].shards = rlf_fit_shards(plan->graph, r, base.shards);
        if (options->sums && options->sums[i].lanes > 0)
            sums[i].lanes = options->sums[i].lanes;
        if (!r->class->model)
            sums[i] = (rlf_sums){1, 1};
        if (row && row->shards > 0)
            sums[i].shards = row->shards;
        if (row && row->lanes > 0)
            sums[i].lanes = row->lanes;
        if (!r->trained)
            sums[i].lanes = 1;
        const rlf_node *update = update_of(plan, (int)i);
        int dp = update ? plan->place[update->id].layout.dp : 1;
        rlf_status status = rlf_lanes_check(sums[i].lanes, dp, err);
        if (status < 0) {
            row = update ? rlf_plan_row(plan->graph, update) : row;
            rlf_err_place(err, row ? row->span : r->span, r->name);
            return status;
        }
    }
    return RLF_OK;
}

static rlf_digest
add_text(rlf_digest digest, const char *text)
{
    return rlf_digest_add(digest, text, strlen(text) + 1);
}

static rlf_digest
add_pipe(rlf_digest digest, const rlf_pipe *pipe)
{
    rlf_buf text = {0};
    rlf_pipe_print(pipe, &text);
    digest = rlf_digest_add(digest, text.p, text.n);
    rlf_buf_free(&text);
    return digest;
}

/* Of what it says of the calls and of each model, however that came to be said:
 * by place rows, by a strategy, or by a default. */
static rlf_digest
digest_plan(const rlf_plan *plan)
{
    rlf_digest digest =
        rlf_digest_add((rlf_digest){0}, &plan->program, sizeof plan->program);
    digest = add_text(digest, plan->numerics.backend);
    digest = add_text(digest, plan->numerics.dtype);
    digest = add_text(digest, plan->numerics.version);
    digest = rlf_digest_add(digest, &plan->ranks, sizeof plan->ranks);
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_layout *l = &plan->place[i].layout;
        int split[] = {l->tp,
                       l->pp,
                       l->dp,
                       plan->place[i].zero,
                       plan->place[i].chunks,
                       plan->place[i].tokens,
                       plan->place[i].migrate,
                       plan->place[i].seats,
                       (int)plan->place[i].carry,
                       plan->place[i].recompute};
        digest = rlf_digest_add(digest, split, sizeof split);
        const rlf_loss *loss = plan->graph->nodes.data[i].loss;
        if (loss && loss->shared) /* numerics */
            digest = add_text(digest, "shared");
        digest = add_text(digest, plan->place[i].schedule);
        if (plan->place[i].pipe)
            digest = add_pipe(digest, plan->place[i].pipe);
        digest =
            rlf_digest_add(digest, l->ranks, sizeof(int) * (size_t)l->n_ranks);
    }
    digest = rlf_digest_add(digest, plan->sums,
                            plan->graph->resources.count * sizeof *plan->sums);
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_place_row *row =
            rlf_placement_find(plan->graph->placement, (int)i, NULL);
        int offload = row && row->offload == 1;
        digest = rlf_digest_add(digest, &offload, sizeof offload);
    }
    return digest;
}

/* Weights in host memory cannot be changed there, nor be added. */
static rlf_status
check_offload(const rlf_plan *plan, rlf_err *err)
{
    const rlf_graph *graph = plan->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->work != RLF_WORK_WEIGHTS)
            continue;
        for (int k = -1; k < node->n_reads; k++) {
            int model = k < 0 ? node->receiver : node->reads[k];
            const rlf_place_row *row =
                rlf_placement_find(graph->placement, model, NULL);
            if (!row || row->offload != 1)
                continue;
            const char *name = graph->resources.data[model].name;
            rlf_fail(err, RLF_USER,
                     "model '%s' is offloaded, but '%s' %s its weights", name,
                     node->class->name, k < 0 ? "changes" : "reads");
            rlf_err_hint(err, "leave out offload: of %s", name);
            rlf_err_place(err, row->span, name);
            return RLF_USER;
        }
    }
    return RLF_OK;
}

/* These digests do not depend on where calls are. */
static void
digest_graph(rlf_plan *plan, const rlf_plan *same)
{
    const rlf_graph *graph = plan->graph;
    plan->program = same ? same->program : rlf_graph_digest(graph);
    plan->shape = same ? same->shape : rlf_graph_shape(graph);
    if (graph->ahead)
        plan->values = same ? same->values : rlf_graph_value_digests(graph);
}

rlf_status
rlf_plan_make(const rlf_graph *graph, const rlf_plan_options *options,
              rlf_arena *arena, rlf_err *err, rlf_plan **out)
{
    rlf_plan *plan = RLF_NEW(arena, rlf_plan);
    plan->graph = graph;
    plan->ranks = options->ranks;
    plan->links = options->links;
    plan->numerics =
        (rlf_numerics){.backend = options->backend ? options->backend : "cpu",
                       .dtype = options->dtype ? options->dtype : "f32",
                       .version = PACKAGE_VERSION,
                       .shards = 1,
                       .lanes = 1};
    RLF_TRY(check_rows(plan, err));
    RLF_TRY(check_offload(plan, err));
    place_all(plan, options->sums, arena);
    RLF_TRY(rlf_pipes_make(plan, options->kepts, arena, err));
    plan->caps = caps_of(plan, arena);
    rlf_weight_copies_make(plan, arena);
    RLF_TRY(set_sums(plan, options, arena, err));
    digest_graph(plan, options->same);
    plan->digest = digest_plan(plan);
    *out = plan;
    return RLF_OK;
}

/* The most prompts that a minibatch of the update has, or parts of them where
 * samples of one are taken apart; INFINITY: not known. */
static double
count_shared(const rlf_graph *graph, const rlf_sizes *sizes,
             const rlf_node *node)
{
    double most = 0;
    for (int i = 0; i < node->loss->n_calls; i++) {
        const rlf_live_call *live = &node->loss->calls[i];
        int value = node->inputs[live->set_input];
        int sets = rlf_loss_sets(node->loss, live->pass, NULL);
        const rlf_set_size *size = &sizes->set[graph->values.data[value].set];
        double prompt = isfinite(size->prompt) ? size->prompt : 0;
        double all = sets * size->samples;
        double each =
            rlf_caps_shared(prompt, size->response, all / size->prompts, sets);
        most = fmax(most, ceil(all / each));
    }
    return most;
}

/* A line for every update in which replicas have no sample, for there are fewer
 * prompts that samples share. */
static void
note_shared(const rlf_plan *plan, rlf_buf *out)
{
    const rlf_graph *graph = plan->graph;
    rlf_arena *arena = rlf_arena_new();
    rlf_sizes sizes = rlf_sizes_make(graph, &(rlf_sizes_options){0}, arena);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!node->loss || !node->loss->shared)
            continue;
        int dp = plan->place[i].layout.dp;
        double n = count_shared(graph, &sizes, node);
        if (n < dp)
            rlf_buf_printf(out,
                           "%s trains on %.0f of %d replicas: samples that "
                           "share a prompt are one replica's, and an update "
                           "has no more prompts\n",
                           graph->resources.data[node->receiver].name, n, dp);
    }
    rlf_arena_free(arena);
}

void
rlf_plan_notes(const rlf_plan *plan, rlf_buf *out)
{
    note_shared(plan, out);
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_node *node = update_of(plan, (int)i);
        const rlf_node_place *place = node ? &plan->place[node->id] : NULL;
        if (!place || place->layout.dp == place->asked_dp)
            continue;
        int lanes = plan->sums[i].lanes;
        rlf_buf_printf(out, "%s trains on %d of %d replicas: ",
                       plan->graph->resources.data[i].name, place->layout.dp,
                       place->asked_dp);
        if (lanes >= place->asked_dp)
            rlf_buf_printf(out,
                           "with more one would have more of the %d lanes, and "
                           "the others would wait for it\n",
                           lanes);
        else if (lanes >= RLF_MOST_LANES)
            rlf_buf_printf(out, "a sum has %d lanes at most\n", lanes);
        else
            rlf_buf_printf(out,
                           "the run began with %d lanes (--accept lanes takes "
                           "more, with other bits from here on)\n",
                           lanes);
    }
}

static bool
printed_before(const rlf_plan *plan, size_t index)
{
    const rlf_node *node = &plan->graph->nodes.data[index];
    for (size_t i = 0; i < index; i++) {
        const rlf_node *other = &plan->graph->nodes.data[i];
        if (rlf_place_can(other) && other->receiver == node->receiver &&
            other->class == node->class)
            return true;
    }
    return false;
}

/* Is there a call of the model that a place row places? */
static bool
is_called(const rlf_plan *plan, int model)
{
    bool called = false;
    for (size_t i = 0; i < plan->graph->nodes.count; i++)
        called |= plan->graph->nodes.data[i].receiver == model &&
                  rlf_place_can(&plan->graph->nodes.data[i]);
    return called;
}

/* The place row that would place a node where it is. */
static rlf_place_row
row_of(const rlf_plan *plan, size_t index)
{
    const rlf_node *node = &plan->graph->nodes.data[index];
    const rlf_node_place *place = &plan->place[index];
    rlf_place_row row = rlf_place_row_new(node->receiver, node->class);
    row.ranks = place->ranks;
    row.n_ranks = place->layout.n_ranks;
    row.tp = place->layout.tp;
    row.pp = place->layout.pp;
    row.dp = place->layout.dp;
    row.tokens = place->tokens ? place->tokens : -1;
    if (node->class->work == RLF_WORK_GENERATE) {
        row.migrate = place->migrate;
        row.seats = place->seats ? place->seats : -1;
        row.carry = place->carry;
    }
    if (node->class->work == RLF_WORK_TRAIN) {
        row.recompute = place->recompute ? 1 : -1;
        row.zero = place->zero ? place->zero : -1;
        if (strcmp(place->schedule, "1f1b") != 0)
            row.schedule = place->schedule;
        row.table = place->table;
        row.chunks =
            strcmp(place->schedule, "interleaved") == 0 && place->chunks > 1
                ? place->chunks
                : -1;
    }
    return row;
}

/* Shards and lanes that place rows of the calls alone would give all models. */
static rlf_sums
sums_of_rows(const rlf_plan *plan)
{
    bool cpu = strcmp(plan->numerics.backend, "cpu") == 0;
    rlf_sums sums = {1, cpu ? RLF_CPU_LANES : 1};
    for (size_t i = 0; i < plan->graph->nodes.count; i++) {
        const rlf_node *node = &plan->graph->nodes.data[i];
        const rlf_layout *layout = &plan->place[i].layout;
        if (rlf_place_can(node) && layout->tp > sums.shards)
            sums.shards = power_of_two(layout->tp);
        if (node->class->work == RLF_WORK_TRAIN && layout->dp > sums.lanes)
            sums.lanes = power_of_two(layout->dp);
    }
    return sums;
}

/* The place row among these of a whole model; else a new one behind them, on
 * all ranks. */
static rlf_place_row *
whole_row(const rlf_plan *plan, int model, rlf_place_row *rows, int *n,
          rlf_arena *arena)
{
    for (int i = 0; i < *n; i++)
        if (rows[i].model == model && !rows[i].call)
            return &rows[i];
    rlf_place_row *row = &rows[(*n)++];
    int *ranks = RLF_NEW_ARRAY(arena, int, plan->ranks);
    for (int k = 0; k < plan->ranks; k++)
        ranks[k] = k;
    *row = rlf_place_row_new(model, NULL);
    row->ranks = ranks;
    row->n_ranks = row->dp = plan->ranks;
    return row;
}

/* Adds the plan's sums to its place rows, since a strategy, replicas
 * that do not train, or a checkpoint have given it others than place rows
 * would. */
static void
add_sums(const rlf_plan *plan, bool all, rlf_place_row *rows, int *n,
         rlf_arena *arena)
{
    rlf_sums given = sums_of_rows(plan);
    for (size_t i = 0; i < plan->graph->resources.count; i++) {
        const rlf_resource *r = &plan->graph->resources.data[i];
        const rlf_sums *sums = &plan->sums[i];
        bool shards = all || sums->shards != given.shards;
        bool lanes = r->trained && (all || sums->lanes != given.lanes);
        if (!r->class->model || (!shards && !lanes))
            continue;
        rlf_place_row *row = whole_row(plan, (int)i, rows, n, arena);
        if (shards)
            row->shards = sums->shards;
        if (lanes)
            row->lanes = sums->lanes;
    }
}

rlf_place_row *
rlf_plan_rows(const rlf_plan *plan, bool all, rlf_arena *arena, int *n)
{
    const rlf_placement *placement = plan->graph->placement;
    size_t n_nodes = plan->graph->nodes.count;
    size_t n_said = placement ? (size_t)placement->n_rows : 0;
    rlf_place_row *rows = RLF_NEW_ARRAY(
        arena, rlf_place_row, n_nodes + n_said + plan->graph->resources.count);
    *n = 0;
    for (size_t i = 0; i < n_nodes; i++)
        if (rlf_place_can(&plan->graph->nodes.data[i]) &&
            !printed_before(plan, i))
            rows[(*n)++] = row_of(plan, i);
    for (size_t i = 0; i < n_said; i++) {
        /* what is said of whole models goes on being said */
        const rlf_place_row *row = &placement->rows[i];
        bool says = row->offload >= 0 || row->shards >= 0 || row->lanes >= 0;
        if (!row->call && (says || !is_called(plan, row->model)))
            rows[(*n)++] = *row;
    }
    add_sums(plan, all, rows, n, arena);
    return rows;
}

/* Does a model add up as most do? Of one that nothing trains lanes decide
 * nothing. */
static bool
has_sums(const rlf_plan *plan, size_t resource, rlf_sums sums)
{
    const rlf_resource *r = &plan->graph->resources.data[resource];
    const rlf_sums *own = &plan->sums[resource];
    return r->class->model && own->shards == sums.shards &&
           (!r->trained || own->lanes == sums.lanes);
}

/* The sums that most models have, of several such the least; *count: how many
 * models do, 0 where there are more than one and each has its own. It is a
 * function of what the models have, so that a plan which was read back prints
 * as the one that it is of. */
static rlf_sums
common_sums(const rlf_plan *plan, rlf_arena *arena, int *models, int *count)
{
    size_t total = plan->graph->resources.count, n = 0;
    size_t *of = RLF_NEW_ARRAY(arena, size_t, total);
    rlf_sums best = {1, 1};
    for (size_t i = 0; i < total; i++)
        if (plan->graph->resources.data[i].class->model)
            of[n++] = i;
    *models = (int)n;
    *count = 0;
    for (size_t k = 0; k < n * n; k++) {
        rlf_sums sums = {plan->sums[of[k / n]].shards,
                         plan->sums[of[k % n]].lanes};
        int alike = 0;
        for (size_t i = 0; i < n; i++)
            alike += has_sums(plan, of[i], sums);
        bool less = sums.shards != best.shards ? sums.shards < best.shards
                                               : sums.lanes < best.lanes;
        if (alike > *count || (alike == *count && less)) {
            best = sums;
            *count = alike;
        }
    }
    if (*count == 1 && *models > 1)
        *count = 0;
    return best;
}

static void
put_numbers(const rlf_resource *r, rlf_sums sums, rlf_buf *out)
{
    rlf_buf_printf(out, "shards %d", sums.shards);
    if (!r || r->trained)
        rlf_buf_printf(out, ", lanes %d", sums.lanes);
}

/* Updates in which samples share their prompt. */
static void
put_shared(const rlf_plan *plan, rlf_buf *out)
{
    const rlf_graph *graph = plan->graph;
    int n = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->loss && node->loss->shared)
            rlf_buf_printf(out, "%s%s.%s", n++ ? ", " : "# shared prompts: ",
                           graph->resources.data[node->receiver].name,
                           node->class->name);
    }
    rlf_buf_puts(out, n ? "\n" : "");
}

/* "shards 2, lanes 4 (all models but actor)", then a line for each of these;
 * where each model has others only the lines. Lanes are those of models that
 * are trained. */
static void
put_sums(const rlf_plan *plan, rlf_arena *arena, rlf_buf *out)
{
    const rlf_numerics *n = &plan->numerics;
    const rlf_resource *r = plan->graph->resources.data;
    size_t total = plan->graph->resources.count;
    int models, count, k = 0;
    rlf_sums common = common_sums(plan, arena, &models, &count);
    const rlf_resource *one = NULL; /* of those that have them a trained one */
    for (size_t i = 0; i < total; i++)
        if (has_sums(plan, i, common) && (!one || r[i].trained))
            one = &r[i];
    rlf_buf_printf(out, "# numerics: %s %s", n->backend, n->dtype);
    if (count) {
        rlf_buf_puts(out, ", ");
        put_numbers(one, common, out);
    }
    for (size_t i = 0; i < total && count && count < models; i++)
        if (r[i].class->model && !has_sums(plan, i, common))
            rlf_buf_printf(out, "%s%s", k++ ? ", " : " (all models but ",
                           r[i].name);
    rlf_buf_printf(out, "%s, rlflow %s\n", k ? ")" : "", n->version);
    for (size_t i = 0; i < total; i++)
        if (r[i].class->model && !(count && has_sums(plan, i, common))) {
            rlf_buf_printf(out, "# numerics of %s: ", r[i].name);
            put_numbers(&r[i], plan->sums[i], out);
            rlf_buf_putc(out, '\n');
        }
    put_shared(plan, out);
}

/* The name of the program's file without its folders, which are nobody else's
 * matter. */
static const char *
file_name(const rlf_graph *graph)
{
    if (!graph->sources || !graph->sources->list.count)
        return "?";
    const char *path = graph->sources->list.data[0].path;
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void
rlf_plan_print_place(const rlf_plan *plan, bool all, rlf_buf *out)
{
    rlf_arena *arena = rlf_arena_new();
    int n;
    const rlf_place_row *rows = rlf_plan_rows(plan, all, arena, &n);
    rlf_buf_puts(out, "place {\n");
    for (int i = 0; i < n; i++) {
        rlf_buf_puts(out, "    ");
        rlf_place_row_print(plan->graph, &rows[i], out);
        rlf_buf_putc(out, '\n');
    }
    rlf_buf_puts(out, "}\n");
    rlf_arena_free(arena);
}

void
rlf_plan_print(const rlf_plan *plan, rlf_buf *out)
{
    char whole[RLF_DIGEST_TEXT], program[RLF_DIGEST_TEXT];
    char shape[RLF_DIGEST_TEXT];
    rlf_buf_line(out, "# plan %s, program %s, shape %s, ranks %d, file %s\n",
                 rlf_digest_print(plan->digest, whole),
                 rlf_digest_print(plan->program, program),
                 rlf_digest_print(plan->shape, shape), plan->ranks,
                 file_name(plan->graph));
    rlf_arena *arena = rlf_arena_new();
    put_sums(plan, arena, out);
    rlf_arena_free(arena);
    rlf_plan_print_place(plan, false, out);
}
