/* Sums of models: see model_sums.h. */
#include "engine/search/model_sums.h"

#include "engine/plan/weight_copies.h"
#include "engine/timing/measured.h"

/* The call in whose layout the model's weights are first
 * (engine/plan/weight_copies.h), or -1. */
static int
first_call(const rlf_pareto *f, int model)
{
    const rlf_graph *graph = f->options.graph;
    int first = rlf_weight_copies_first(graph, model);
    return first < 0
               ? -1
               : rlf_pareto_call_of(
                     f, rlf_plan_placed_as(graph, &graph->nodes.data[first]));
}

/* The last call that comes before a node, or -1. */
static int
call_before(const rlf_pareto *f, const rlf_node *node)
{
    int last = -1;
    for (int i = 0; i < node->id; i++) {
        int c = rlf_pareto_call_of(f, &f->options.graph->nodes.data[i]);
        last = c > last ? c : last;
    }
    return last;
}

/* The first calls of the models that it reads from others, but for its own, as
 * bits. */
static uint32_t
lent_to(const rlf_pareto *f, const rlf_node *node)
{
    uint32_t lent = 0;
    for (int k = 0; k < node->n_reads; k++)
        if (rlf_place_borrows(node, node->reads[k])) {
            int c = first_call(f, node->reads[k]);
            lent |= c < 0 ? 0 : 1u << c;
        }
    return lent;
}

void
rlf_model_sums_set(rlf_pareto *f, const uint32_t *needs, rlf_arena *arena)
{
    const rlf_graph *graph = f->options.graph;
    rlf_model_sum *list = RLF_NEW_ARRAY(arena, rlf_model_sum, RLF_SEARCH_SUMS);
    int n = 0;
    for (size_t i = 0; i < graph->nodes.count && n < RLF_SEARCH_SUMS; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->class->work != RLF_WORK_WEIGHTS)
            continue;
        int at = first_call(f, node->receiver);
        if (at < 0 || f->problem.calls[at].model != node->receiver)
            continue;
        list[n++] = (rlf_model_sum){.model = node->receiver,
                                    .after = call_before(f, node),
                                    .at = at,
                                    .needs = needs[i],
                                    .lent = lent_to(f, node),
                                    .share = rlf_pareto_share(f, node)};
    }
    f->problem.model_sums = list;
    f->problem.n_model_sums = n;
}

double
rlf_model_sums_seconds(const rlf_pareto *f, const rlf_opened *opened,
                       const rlf_sizes *sizes, const rlf_node *node)
{
    const rlf_speeds *speeds = f->options.speeds;
    const rlf_measured_piece piece = {
        .kind = RLF_MEASURED_ROWS, .node = node, .rank = opened->rank};
    const rlf_piece once = {.kind = RLF_PIECE_ROWS, .rows = 1};
    rlf_measured_said said;
    rlf_seconds seconds;
    if (rlf_measured_seconds(speeds, opened->plan, &piece, &said))
        return said.seconds;
    const rlf_cost cost = rlf_opened_piece(opened, sizes, node->id, &once);
    rlf_seconds_of(speeds, &cost, &opened->plan->place[node->id].layout,
                   opened->rank, 1, &seconds);
    return seconds.total;
}
