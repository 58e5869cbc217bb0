/* Strategies: see strategy.h. */
#include "engine/plan/strategy.h"

#include "engine/graph/class.h"

typedef struct spread {
    const rlf_graph *graph;
    int n_ranks;
    rlf_range *ranks; /* per node */
    int *depth;       /* per node: calls of models on the longest way to it */
} spread;

static bool
is_update(const rlf_node *node)
{
    return node->class->work == RLF_WORK_TRAIN;
}

/* A call that neither samples nor trains. */
static bool
reads(const rlf_node *node)
{
    return rlf_place_can(node) && !is_update(node) &&
           node->class->work != RLF_WORK_GENERATE;
}

/* ---- separate ---- */

/* Does it read the present weights of a model that trains while older ones of
 * it sample? Where these lie it would have to wait for them. */
static bool
reads_present(const rlf_graph *graph, const rlf_node *node)
{
    bool ahead = false;
    for (size_t i = 0; i < graph->nodes.count; i++)
        ahead |= graph->nodes.data[i].ahead &&
                 graph->nodes.data[i].receiver == node->receiver;
    return ahead && reads(node) && !node->ahead &&
           graph->resources.data[node->receiver].trained;
}

/* Training on the last half of the ranks, sampling and reading on the others,
 * which are one more if the number is odd. A program that only trains, or never
 * does, has nothing to separate. */
static void
separate(spread *s)
{
    int updates = 0, others = 0, n = s->n_ranks, first = n - n / 2;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        updates += is_update(node);
        others += rlf_place_can(node) && !is_update(node);
    }
    if (!updates || !others || n == 1)
        return;
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        bool trains = is_update(node) || reads_present(s->graph, node);
        if (rlf_place_can(node))
            s->ranks[i] =
                trains ? (rlf_range){first, n} : (rlf_range){0, first};
    }
}

/* ---- interleave ---- */

/* The node that makes a value; of a piece of a for the for. */
static int
maker(const rlf_graph *graph, int value)
{
    if (graph->values.data[value].node >= 0)
        return graph->values.data[value].node;
    for (size_t r = 0; r < graph->regions.count; r++)
        for (int i = 0; i < graph->regions.data[r].n_args; i++)
            if (graph->regions.data[r].args[i] == value)
                return graph->regions.data[r].node;
    return -1;
}

/* Nodes stand behind those that make what they read. */
static void
measure_depth(spread *s)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        for (int k = 0; k < node->n_inputs; k++) {
            int from = maker(s->graph, node->inputs[k]);
            if (from < 0)
                continue;
            int depth =
                s->depth[from] + rlf_place_can(&s->graph->nodes.data[from]);
            s->depth[i] = depth > s->depth[i] ? depth : s->depth[i];
        }
    }
}

/* The first reading call of a model, which stands for the others. */
static const rlf_node *
first_read(const spread *s, int model)
{
    for (size_t i = 0; i < s->graph->nodes.count; i++)
        if (s->graph->nodes.data[i].receiver == model &&
            reads(&s->graph->nodes.data[i]))
            return &s->graph->nodes.data[i];
    return NULL;
}

/* Neither of the two calls needs the other, and they belong to the same part
 * of a step. */
static bool
side_by_side(const spread *s, const rlf_node *a, const rlf_node *b)
{
    return a && b && a->region == b->region &&
           s->depth[a->id] == s->depth[b->id];
}

/* Models whose reading calls could run at the same time do so, each on its
 * part of the ranks; more models than ranks take turns. */
static void
interleave(spread *s)
{
    measure_depth(s);
    for (size_t i = 0; i < s->graph->nodes.count; i++) {
        const rlf_node *node = &s->graph->nodes.data[i];
        if (!reads(node))
            continue;
        const rlf_node *first = first_read(s, node->receiver);
        int count = 0, index = 0;
        for (size_t m = 0; m < s->graph->resources.count; m++) {
            if (!side_by_side(s, first, first_read(s, (int)m)))
                continue;
            index = (int)m == node->receiver ? count : index;
            count++;
        }
        int parts = count < s->n_ranks ? count : s->n_ranks;
        s->ranks[i] = rlf_range_part(s->n_ranks, parts, index % parts);
    }
}

const rlf_range *
rlf_strategy_make(const rlf_graph *graph, int n_ranks, rlf_arena *arena)
{
    size_t n = graph->nodes.count;
    spread s = {.graph = graph,
                .n_ranks = n_ranks,
                .ranks = RLF_NEW_ARRAY(arena, rlf_range, n),
                .depth = RLF_NEW_ARRAY(arena, int, n)};
    for (size_t i = 0; i < n; i++)
        s.ranks[i] = (rlf_range){0, n_ranks};
    rlf_strategy strategy =
        graph->placement ? graph->placement->strategy : RLF_STRATEGY_NONE;
    if (strategy == RLF_STRATEGY_SEPARATE)
        separate(&s);
    else if (strategy == RLF_STRATEGY_INTERLEAVE)
        interleave(&s);
    return s.ranks;
}
