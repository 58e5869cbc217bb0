/* Shards of models: see shards.h. */
#include "engine/search/shards.h"

#include "engine/plan/fit.h"
#include "engine/plan/weight_copies.h"
#include "engine/search/fixed_rows.h"

const rlf_place_row *
rlf_shards_row(const rlf_pareto *f, int model)
{
    const rlf_placement *placement = f->options.graph->placement;
    const rlf_place_row *row = rlf_placement_find(placement, model, NULL);
    return row ? row : rlf_placement_pin(placement, model, NULL);
}

int
rlf_shards_said(const rlf_pareto *f, int model, bool tp)
{
    int most = 1;
    for (int c = 0; c < f->problem.n_calls; c++) {
        const rlf_place_row *fixed = rlf_fixed_rows_call(f, c);
        bool update = f->problem.calls[c].kind == RLF_STAGE_UPDATE;
        int is = !fixed ? 1 : tp ? fixed->tp : update ? fixed->dp : 1;
        if (f->calls[c].model == model && is > most)
            most = is;
    }
    return most;
}

bool
rlf_shards_called(const rlf_pareto *f, int model)
{
    for (int c = 0; c < f->problem.n_calls; c++)
        if (f->problem.calls[c].model == model)
            return true;
    return false;
}

/* As the program says; else so many that every tp of a machine has some. */
static int
called_shards(const rlf_pareto *f, int model)
{
    const rlf_place_row *row = rlf_shards_row(f, model);
    const rlf_resource *r = &f->options.graph->resources.data[model];
    const rlf_cluster *cluster = f->options.speeds->cluster;
    int most = 1;
    if (row && row->shards > 0)
        return row->shards;
    for (int i = 0; i < cluster->n_parts; i++)
        if (cluster->parts[i].machine->count > most)
            most = cluster->parts[i].machine->count;
    if (most > f->problem.devices)
        most = f->problem.devices;
    if (most < rlf_shards_said(f, model, true))
        most = rlf_shards_said(f, model, true);
    return rlf_fit_shards(f->options.graph, r, most);
}

/* A model that nobody calls has a place row in the answer only if that is kept.
 */
static int
shards_of(const rlf_pareto *f, int model)
{
    const rlf_sums *given = f->options.plan->sums; /* of a checkpoint */
    const rlf_place_row *fixed = rlf_fixed_rows_model(f, model);
    if (given && given[model].shards > 0)
        return given[model].shards;
    if (rlf_shards_called(f, model))
        return called_shards(f, model);
    return fixed && fixed->shards > 0 ? fixed->shards : 0;
}

/* The call whose layout a node has, or -1. A sum of models is made where its
 * result lies. */
static int
call_of(const rlf_pareto *f, const rlf_node *node)
{
    const rlf_graph *graph = f->options.graph;
    if (node->class->work == RLF_WORK_WEIGHTS) {
        int first = rlf_weight_copies_first(graph, node->receiver);
        if (first < 0)
            return -1;
        node = &graph->nodes.data[first];
    }
    return rlf_pareto_call_of(f, rlf_plan_placed_as(graph, node));
}

void
rlf_shards_set(rlf_pareto *f)
{
    const rlf_graph *graph = f->options.graph;
    int n = (int)graph->resources.count;
    for (int m = 0; m < n; m++)
        if (graph->resources.data[m].class->model)
            f->sums[m].shards = shards_of(f, m);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        int c = call_of(f, node);
        for (int m = 0; m < n && c >= 0; m++) {
            int *lender = &f->calls[c].lender;
            if (f->sums[m].shards > 0 && rlf_place_borrows(node, m) &&
                (*lender < 0 || f->sums[m].shards < f->sums[*lender].shards))
                *lender = m;
        }
    }
}

bool
rlf_shards_lent(const rlf_pareto *f, int model)
{
    const rlf_graph *graph = f->options.graph;
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (rlf_place_borrows(&graph->nodes.data[i], model))
            return true;
    return false;
}

bool
rlf_shards_allow(const rlf_pareto *f, int call, int tp)
{
    int lender = f->calls[call].lender;
    return lender < 0 || f->sums[lender].shards % tp == 0;
}
