/* Problems of programs: see fronts.h. */
#include "engine/search/fronts.h"

#include <math.h>
#include <string.h>

#include "engine/plan/candidate.h"
#include "engine/plan/fit.h"
#include "engine/search/calls.h"

enum { MOST_STAGES = 64, MOST_REPLICAS = 128 };

/* ---- calls ---- */

/* The call of the problem that a node belongs to, or -1. */
static int
call_of(const rlf_fronts *f, const rlf_node *node)
{
    if (!rlf_place_can(node))
        return -1;
    for (int i = 0; i < f->problem.n_calls; i++)
        if (f->calls[i].model == node->receiver &&
            f->calls[i].class == node->class)
            return i;
    return -1;
}

static rlf_status
find_calls(rlf_fronts *f, rlf_arena *arena, rlf_err *err)
{
    const rlf_graph *graph = f->options.graph;
    f->calls = RLF_NEW_ARRAY(arena, rlf_front_call, RLF_SEARCH_CALLS);
    f->problem.calls = RLF_NEW_ARRAY(arena, rlf_problem_call, RLF_SEARCH_CALLS);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!rlf_place_can(node) || call_of(f, node) >= 0)
            continue;
        if (f->problem.n_calls == RLF_SEARCH_CALLS)
            return rlf_fail(err, RLF_USER,
                            "the program has more than %d calls of models that "
                            "can be placed",
                            RLF_SEARCH_CALLS);
        bool trains = node->class->role == RLF_ROLE_UPDATE;
        f->problem.calls[f->problem.n_calls] = (rlf_problem_call){
            .name = rlf_arena_printf(arena, "%s.%s",
                                     graph->resources.data[node->receiver].name,
                                     node->class->name),
            .model = node->receiver,
            .kind = trains                 ? RLF_STAGE_UPDATE
                    : node->class->sampled ? RLF_STAGE_GENERATE
                                           : RLF_STAGE_READ,
            .ahead = node->ahead ? (int)graph->ahead : 0,
        };
        f->calls[f->problem.n_calls++] =
            (rlf_front_call){node->receiver, node->class};
    }
    return f->problem.n_calls ? RLF_OK
                              : rlf_fail(err, RLF_USER,
                                         "the program calls no model, so there "
                                         "is nothing to place");
}

/* Calls, as bits, that a value needs: those of the node that makes it, or of a
 * piece of a `for` of the for. */
static uint32_t
needs_of(const rlf_fronts *f, const uint32_t *needs, int value)
{
    const rlf_graph *graph = f->options.graph;
    int node = graph->values.data[value].node;
    for (size_t r = 0; r < graph->regions.count && node < 0; r++)
        for (int i = 0; i < graph->regions.data[r].n_args; i++)
            if (graph->regions.data[r].args[i] == value)
                node = graph->regions.data[r].node;
    if (node < 0)
        return 0;
    int call = call_of(f, &graph->nodes.data[node]);
    return needs[node] | (call < 0 ? 0 : 1u << call);
}

/* A node needs what its inputs do, those of the node in whose region it stands,
 * and what its own regions give it. */
static uint32_t
gather(const rlf_fronts *f, const uint32_t *needs, const rlf_node *node)
{
    const rlf_graph *graph = f->options.graph;
    uint32_t all = 0;
    for (int i = 0; i < node->n_inputs; i++)
        all |= needs_of(f, needs, node->inputs[i]);
    for (int r = 0; r < node->n_regions; r++) {
        const rlf_region *region = &graph->regions.data[node->regions[r]];
        for (int i = 0; i < region->n_gives; i++)
            all |= needs_of(f, needs, region->gives[i]);
    }
    int owner = graph->regions.data[node->region].node;
    for (int i = 0; owner >= 0 && i < graph->nodes.data[owner].n_inputs; i++)
        all |= needs_of(f, needs, graph->nodes.data[owner].inputs[i]);
    return all;
}

static void
find_needs(rlf_fronts *f, rlf_arena *arena)
{
    const rlf_graph *graph = f->options.graph;
    uint32_t *needs = RLF_NEW_ARRAY(arena, uint32_t, graph->nodes.count);
    bool changed;
    do {
        changed = false;
        for (size_t i = 0; i < graph->nodes.count; i++) {
            uint32_t all = gather(f, needs, &graph->nodes.data[i]);
            changed |= all != needs[i];
            needs[i] = all;
        }
    } while (changed);
    for (int c = 0; c < f->problem.n_calls; c++) {
        rlf_problem_call *call = &f->problem.calls[c];
        int *list = RLF_NEW_ARRAY(arena, int, f->problem.n_calls);
        uint32_t all = 0;
        for (size_t i = 0; i < graph->nodes.count; i++)
            if (call_of(f, &graph->nodes.data[i]) == c)
                all |= needs[i];
        for (int k = 0; k < c; k++)
            if (all >> k & 1)
                list[call->n_needs++] = k;
        call->needs = list;
    }
}

/* ---- layouts ---- */

/* What a model's calls take where all of them lie on one layout. */
typedef struct measure {
    const rlf_fronts *fronts;
    int model;
    bool unified;                        /* memory of host and device is one */
    rlf_choice choice[RLF_SEARCH_CALLS]; /* per call of the problem */
    double weights;                      /* bytes of all stages together */
} measure;

/* Memory of one stage; each call keeps the most of all stages. */
static void
measure_memory(measure *m, const rlf_opened *opened)
{
    rlf_call_bytes bytes = rlf_call_memory(opened, m->model, m->unified);
    for (int c = 0; c < m->fronts->problem.n_calls; c++) {
        const rlf_problem_call *call = &m->fronts->problem.calls[c];
        if (call->model != m->model)
            continue;
        m->choice[c].kept = fmax(m->choice[c].kept, bytes.kept);
        m->choice[c].own = fmax(m->choice[c].own, bytes.own[call->kind]);
    }
    m->weights += bytes.kept;
}

/* Seconds of all runs of each call, as if all stages were like this rank's. */
static void
measure_seconds(measure *m, const rlf_opened *opened, rlf_arena *arena)
{
    const rlf_fronts *f = m->fronts;
    rlf_sizes sizes = rlf_opened_sizes(opened, arena);
    double sum[RLF_SEARCH_CALLS] = {0};
    for (size_t i = 0; i < f->options.graph->nodes.count; i++) {
        const rlf_node *node = &f->options.graph->nodes.data[i];
        int c = call_of(f, node);
        if (c < 0 || node->receiver != m->model)
            continue;
        rlf_seconds seconds;
        rlf_call_seconds(opened, &sizes, node,
                         rlf_call_cut_of(opened, &sizes, node),
                         f->options.speeds, &seconds);
        sum[c] += seconds.total;
    }
    for (int c = 0; c < f->problem.n_calls; c++)
        m->choice[c].seconds = fmax(m->choice[c].seconds, sum[c]);
}

/* The model on these ranks, every other one on rank 0. */
static rlf_status
make_plan(const measure *m, const rlf_choice *at, rlf_arena *arena,
          rlf_err *err, rlf_plan **out)
{
    const rlf_graph *graph = m->fronts->options.graph;
    rlf_place_row *rows =
        RLF_NEW_ARRAY(arena, rlf_place_row, graph->resources.count);
    int *ranks = RLF_NEW_ARRAY(arena, int, at->count), n = 0;
    for (int i = 0; i < at->count; i++)
        ranks[i] = at->first + i;
    for (size_t i = 0; i < graph->resources.count; i++) {
        if (graph->resources.data[i].kind != RLF_RESOURCE_MODEL)
            continue;
        rows[n] = rlf_place_row_new((int)i, NULL);
        if ((int)i == m->model) {
            rows[n].ranks = ranks;
            rows[n].n_ranks = at->count;
            rows[n].tp = at->tp;
            rows[n].pp = at->pp;
            rows[n].dp = at->dp;
        }
        n++;
    }
    RLF_TRY(rlf_plan_candidate(graph, rows, n, m->fronts->options.plan, arena,
                               err, out));
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node_place *place = &(*out)->place[i];
        if (graph->nodes.data[i].receiver == m->model &&
            place->layout.dp < place->asked_dp)
            return rlf_fail(err, RLF_USER,
                            "%d replicas are more than can have a lane",
                            place->asked_dp);
    }
    return rlf_plan_fits(*out, m->fronts->options.classes, err);
}

/* RLF_USER: the model cannot be cut so. */
static rlf_status
measure_layout(measure *m, const rlf_choice *at, rlf_arena *arena, rlf_err *err)
{
    rlf_plan *plan;
    m->weights = 0;
    for (int c = 0; c < m->fronts->problem.n_calls; c++)
        m->choice[c] = *at;
    RLF_TRY(make_plan(m, at, arena, err, &plan));
    for (int stage = 0; stage < at->pp; stage++) {
        rlf_opened opened;
        int rank = at->first + stage * at->tp;
        RLF_TRY(rlf_outline_rank(m->fronts->options.outline, plan, rank, arena,
                                 err, &opened));
        measure_seconds(m, &opened, arena);
        measure_memory(m, &opened);
    }
    return RLF_OK;
}

/* ---- choices ---- */

/* The layouts of a model on one mesh, for each of its calls those that no other
 * beats. */
typedef struct layouts {
    measure measure;
    rlf_choice *list[RLF_SEARCH_CALLS];
    int n[RLF_SEARCH_CALLS];
    rlf_err err; /* of the last one that could not be */
} layouts;

enum { MOST_LAYOUTS = 256 };

static void
measure_mesh(layouts *l, const rlf_cluster_mesh *mesh, int machine)
{
    int n_calls = l->measure.fronts->problem.n_calls;
    memset(l->n, 0, sizeof l->n);
    for (int tp = 1; tp <= mesh->n && tp <= machine; tp *= 2)
        for (int pp = 1; pp <= MOST_STAGES && tp * pp <= mesh->n; pp++) {
            rlf_choice at = {.first = mesh->first,
                             .count = mesh->n,
                             .tp = tp,
                             .pp = pp,
                             .dp = mesh->n / tp / pp};
            if (tp * pp * at.dp != mesh->n || at.dp > MOST_REPLICAS)
                continue;
            rlf_arena *scratch = rlf_arena_new();
            rlf_err err = RLF_ERR_NONE;
            bool good = measure_layout(&l->measure, &at, scratch, &err) >= 0;
            if (!good)
                l->err = err;
            if (good && tp == 1 && pp == 1)
                l->measure.fronts->weights[l->measure.model] =
                    l->measure.weights;
            for (int c = 0; good && c < n_calls; c++)
                if (l->measure.choice[c].seconds > 0 && l->n[c] < MOST_LAYOUTS)
                    l->list[c][l->n[c]++] = l->measure.choice[c];
            rlf_arena_free(scratch);
        }
    for (int c = 0; c < n_calls; c++)
        l->n[c] = rlf_choices_front(l->list[c], l->n[c]);
}

/* All meshes of the cluster, larger ones first; those of one size in one part
 * are alike, so one of them is measured. */
static rlf_status
add_choices(rlf_fronts *f, int model, const rlf_cluster_mesh *meshes, int n,
            rlf_arena *arena, rlf_err *err)
{
    const rlf_cluster *cluster = f->options.speeds->cluster;
    layouts l = {.measure = {.fronts = f, .model = model}};
    l.measure.unified = !cluster->parts[0].machine->device->gpu;
    for (int c = 0; c < f->problem.n_calls; c++)
        l.list[c] = RLF_NEW_ARRAY(arena, rlf_choice, MOST_LAYOUTS);
    for (int i = 0; i < n; i++) {
        const rlf_cluster_part *part =
            rlf_cluster_part_of(cluster, meshes[i].first);
        bool same = i && meshes[i - 1].n == meshes[i].n &&
                    rlf_cluster_part_of(cluster, meshes[i - 1].first) == part;
        if (meshes[i].first + meshes[i].n > f->problem.devices)
            continue;
        if (!same)
            measure_mesh(&l, &meshes[i], part->machine->count);
        for (int c = 0; c < f->problem.n_calls; c++) {
            rlf_problem_call *call = &f->problem.calls[c];
            for (int k = 0; call->model == model && k < l.n[c]; k++) {
                rlf_choice *to = &call->choices[call->n_choices++];
                *to = l.list[c][k];
                to->first = meshes[i].first;
            }
        }
    }
    for (int c = 0; c < f->problem.n_calls; c++)
        if (f->problem.calls[c].model == model &&
            !f->problem.calls[c].n_choices) {
            rlf_fail(err, RLF_USER,
                     "'%s' cannot be cut so that it runs on this cluster",
                     f->options.graph->resources.data[model].name);
            rlf_err_hint(err, "%s", l.err.sentence);
            return RLF_USER;
        }
    return RLF_OK;
}

/* ---- moves of weights ---- */

/* Each machine gets the parts that its ranks need once, over the link that they
 * share, unless those who have them are in it; then they spread inside. */
static double
move(void *arg, int model, const rlf_choice *from, const rlf_choice *to)
{
    const rlf_fronts *f = arg;
    const rlf_cluster *cluster = f->options.speeds->cluster;
    const rlf_cluster_part *part = rlf_cluster_part_of(cluster, to->first);
    int machine = part->machine->count;
    double bytes = to->kept, all = f->weights[model];
    double inside = part->machine->start + bytes / part->machine->link;
    bool near = from->first / machine == to->first / machine &&
                from->first + from->count >= to->first + to->count &&
                from->count <= machine;
    if (near || cluster->machines == 1)
        return inside;
    double parts = bytes * (to->count < machine ? to->count : machine);
    double across = cluster->start + fmin(parts, all) / part->link;
    return inside + across;
}

/* ---- problems ---- */

static void
set_memory(rlf_fronts *f, rlf_arena *arena)
{
    double *memory = RLF_NEW_ARRAY(arena, double, f->problem.devices);
    const rlf_cluster *cluster = f->options.speeds->cluster;
    for (int i = 0; i < f->problem.devices; i++)
        memory[i] = rlf_cluster_part_of(cluster, i)->machine->device->memory;
    f->problem.memory = memory;
}

rlf_status
rlf_fronts_make(const rlf_fronts_options *options, rlf_arena *arena,
                rlf_err *err, rlf_fronts *out)
{
    const rlf_cluster *cluster = options->speeds->cluster;
    rlf_cluster_mesh *meshes;
    int n;
    *out = (rlf_fronts){.options = *options};
    out->problem.devices = options->plan->ranks;
    out->problem.move = move;
    out->problem.arg = out;
    int machine = cluster->parts[0].machine->count;
    bool alike = cluster->n_parts == 1 && !(machine & (machine - 1)) &&
                 out->problem.devices == cluster->ranks;
    out->problem.machine = alike ? machine : 0;
    out->weights =
        RLF_NEW_ARRAY(arena, double, options->graph->resources.count);
    set_memory(out, arena);
    RLF_TRY(find_calls(out, arena, err));
    find_needs(out, arena);
    RLF_TRY(rlf_cluster_meshes(cluster, arena, err, &meshes, &n));
    for (int c = 0; c < out->problem.n_calls; c++)
        out->problem.calls[c].choices =
            RLF_NEW_ARRAY(arena, rlf_choice, (size_t)n * MOST_LAYOUTS);
    for (size_t i = 0; i < options->graph->resources.count; i++) {
        bool called = false;
        for (int c = 0; c < out->problem.n_calls; c++)
            called |= out->problem.calls[c].model == (int)i;
        if (called)
            RLF_TRY(add_choices(out, (int)i, meshes, n, arena, err));
    }
    return rlf_problem_close(&out->problem, arena, err);
}

/* The choice with that layout, or -1. */
static int
find_layout(const rlf_problem_call *call, const rlf_layout *layout)
{
    for (int i = 1; i < layout->n_ranks; i++)
        if (layout->ranks[i] != layout->ranks[i - 1] + 1)
            return -1;
    for (int k = 0; k < call->n_choices; k++) {
        const rlf_choice *c = &call->choices[k];
        if (c->first == layout->ranks[0] && c->count == layout->n_ranks &&
            c->tp == layout->tp && c->pp == layout->pp && c->dp == layout->dp)
            return k;
    }
    return -1;
}

bool
rlf_fronts_find(const rlf_fronts *f, const rlf_plan *plan, int *choice)
{
    for (int c = 0; c < f->problem.n_calls; c++)
        choice[c] = -1;
    for (size_t i = 0; i < f->options.graph->nodes.count; i++) {
        int c = call_of(f, &f->options.graph->nodes.data[i]);
        if (c >= 0)
            choice[c] =
                find_layout(&f->problem.calls[c], &plan->place[i].layout);
    }
    for (int c = 0; c < f->problem.n_calls; c++)
        if (choice[c] < 0)
            return false;
    return true;
}

rlf_place_row *
rlf_fronts_rows(const rlf_fronts *f, const int *choice, rlf_arena *arena)
{
    rlf_place_row *rows =
        RLF_NEW_ARRAY(arena, rlf_place_row, f->problem.n_calls);
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_choice *at = &f->problem.calls[c].choices[choice[c]];
        int *ranks = RLF_NEW_ARRAY(arena, int, at->count);
        for (int i = 0; i < at->count; i++)
            ranks[i] = at->first + i;
        rows[c] = rlf_place_row_new(f->calls[c].model, f->calls[c].class);
        rows[c].ranks = ranks;
        rows[c].n_ranks = at->count;
        rows[c].tp = at->tp;
        rows[c].pp = at->pp;
        rows[c].dp = at->dp;
    }
    return rows;
}
