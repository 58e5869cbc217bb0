/* See program.h. */
#include "engine/search/program.h"

#include "engine/order/answer.h"
#include "engine/plan/plan.h"
#include "engine/search/model_sums.h"

/* ---- calls ---- */

int
rlf_pareto_call_of(const rlf_pareto *f, const rlf_node *node)
{
    if (!rlf_place_can(node))
        return -1;
    for (int i = 0; i < f->problem.n_calls; i++)
        if (f->calls[i].model == node->receiver &&
            f->calls[i].class == node->class)
            return i;
    return -1;
}

/* The part of steps that what no late step has counts for. */
#define HARDLY 1e-6

double
rlf_pareto_share(const rlf_pareto *f, const rlf_node *node)
{
    uint64_t interval = rlf_answer_interval(f->options.graph, node);
    bool taken = rlf_answer_taken(f->options.graph, node);
    return interval ? (taken ? 1 : HARDLY) / (double)interval : 0;
}

static rlf_status
find_calls(rlf_pareto *f, rlf_arena *arena, rlf_err *err)
{
    const rlf_graph *graph = f->options.graph;
    f->calls = RLF_NEW_ARRAY(arena, rlf_pareto_call, RLF_SEARCH_CALLS);
    f->problem.calls = RLF_NEW_ARRAY(arena, rlf_problem_call, RLF_SEARCH_CALLS);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (!rlf_place_can(node) || rlf_pareto_call_of(f, node) >= 0)
            continue;
        if (f->problem.n_calls == RLF_SEARCH_CALLS)
            return rlf_fail(err, RLF_USER,
                            "the program has more than %d calls of models that "
                            "can be placed",
                            RLF_SEARCH_CALLS);
        bool trains = node->class->work == RLF_WORK_TRAIN;
        f->problem.calls[f->problem.n_calls] = (rlf_problem_call){
            .name = rlf_arena_printf(arena, "%s.%s",
                                     graph->resources.data[node->receiver].name,
                                     node->class->name),
            .model = node->receiver,
            .kind = trains ? RLF_STAGE_UPDATE
                    : node->class->work == RLF_WORK_GENERATE
                        ? RLF_STAGE_GENERATE
                        : RLF_STAGE_READ,
            .idle = !rlf_plan_runs(graph, node),
            .ahead = node->ahead ? (int)graph->ahead : 0,
        };
        f->calls[f->problem.n_calls++] =
            (rlf_pareto_call){node->receiver, node->class, -1};
    }
    return RLF_OK;
}

/* ---- what they need ---- */

/* Calls, as bits, that a value needs: those of the node that makes it, or of a
 * piece of a `for` of the for. */
static uint32_t
needs_of(const rlf_pareto *f, const uint32_t *needs, int value)
{
    const rlf_graph *graph = f->options.graph;
    int node = graph->values.data[value].node;
    for (size_t r = 0; r < graph->regions.count && node < 0; r++)
        for (int i = 0; i < graph->regions.data[r].n_args; i++)
            if (graph->regions.data[r].args[i] == value)
                node = graph->regions.data[r].node;
    if (node < 0)
        return 0;
    int call = rlf_pareto_call_of(f, &graph->nodes.data[node]);
    return needs[node] | (call < 0 ? 0 : 1u << call);
}

/* A node needs what its inputs do, those of the node in whose region it stands,
 * and what its own regions give it. */
static uint32_t
gather(const rlf_pareto *f, const uint32_t *needs, const rlf_node *node)
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

/* Generations, as bits, whose samples the node reads as they are complete: all
 * else that it reads is there when the generation begins. */
static uint32_t
follows_of(const rlf_pareto *f, const uint32_t *needs, const rlf_node *node)
{
    const rlf_graph *graph = f->options.graph;
    uint32_t follows = 0, rest = 0, before = 0;
    if (node->grain != RLF_GRAIN_SAMPLE || node->rows < 0)
        return 0;
    for (int i = 0; i < node->n_inputs; i++) {
        int from = graph->values.data[node->inputs[i]].node;
        const rlf_node *made = from < 0 ? NULL : &graph->nodes.data[from];
        if (!made || made->class->work != RLF_WORK_GENERATE ||
            made->rows != node->rows) {
            rest |= needs_of(f, needs, node->inputs[i]);
            continue;
        }
        follows |= 1u << rlf_pareto_call_of(f, made);
        before |= needs[from];
    }
    return rest & ~before ? 0 : follows;
}

static void
find_needs(rlf_pareto *f, rlf_arena *arena)
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
        for (size_t i = 0; i < graph->nodes.count; i++) {
            const rlf_node *node = &graph->nodes.data[i];
            if (rlf_pareto_call_of(f, node) != c)
                continue;
            all |= needs[i];
            call->follows |= follows_of(f, needs, node);
        }
        call->follows &= call->kind == RLF_STAGE_READ ? all : 0;
        for (int k = 0; k < c; k++)
            if (all >> k & 1)
                list[call->n_needs++] = k;
        call->needs = list;
    }
    rlf_model_sums_set(f, needs, arena);
}

rlf_status
rlf_program_calls(rlf_pareto *f, rlf_arena *arena, rlf_err *err)
{
    RLF_TRY(find_calls(f, arena, err));
    if (!f->problem.n_calls)
        return rlf_fail(err, RLF_USER,
                        "the program calls no model, so there is nothing to "
                        "place");
    find_needs(f, arena);
    return RLF_OK;
}
