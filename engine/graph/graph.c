/* The graph's tables: adding and finding. What may be in them is verify.c's
 * matter, how they print dump.c's. */
#include "engine/graph/graph.h"

#include "engine/base/vec.h"
#include "engine/graph/class.h"

rlf_graph *
rlf_graph_new(rlf_arena *arena, rlf_sources *sources)
{
    rlf_graph *graph = RLF_NEW(arena, rlf_graph);
    graph->arena = arena;
    graph->sources = sources;
    rlf_domains_init(&graph->domains, arena);
    rlf_graph_add_region(graph, -1);
    return graph;
}

int
rlf_graph_add_value(rlf_graph *graph, rlf_value value)
{
    RLF_PUSH_IN(graph->arena, &graph->values, value);
    return (int)graph->values.count - 1;
}

int
rlf_graph_add_set(rlf_graph *graph, rlf_set set)
{
    RLF_PUSH_IN(graph->arena, &graph->sets, set);
    return (int)graph->sets.count - 1;
}

int
rlf_graph_add_region(rlf_graph *graph, int node)
{
    rlf_region region = {.node = node};
    RLF_PUSH_IN(graph->arena, &graph->regions, region);
    return (int)graph->regions.count - 1;
}

int
rlf_graph_add_resource(rlf_graph *graph, rlf_resource resource)
{
    RLF_PUSH_IN(graph->arena, &graph->resources, resource);
    return (int)graph->resources.count - 1;
}

/* Regions hold few nodes and grow one at a time: double at powers of two. */
static void
region_append(rlf_graph *graph, rlf_region *region, int node)
{
    int n = region->n_nodes;
    if ((n & (n - 1)) == 0) {
        int *nodes = RLF_NEW_ARRAY(graph->arena, int, n ? 2 * n : 1);
        if (n)
            memcpy(nodes, region->nodes, sizeof(int) * (size_t)n);
        region->nodes = nodes;
    }
    region->nodes[region->n_nodes++] = node;
}

int
rlf_graph_add_node(rlf_graph *graph, rlf_node node)
{
    node.id = (int)graph->nodes.count;
    for (int i = 0; i < node.n_outputs; i++) {
        rlf_value *value = &graph->values.data[node.outputs[i]];
        value->node = node.id;
        value->port = i;
    }
    RLF_PUSH_IN(graph->arena, &graph->nodes, node);
    region_append(graph, &graph->regions.data[node.region], node.id);
    return node.id;
}

const rlf_arg *
rlf_node_arg(const rlf_node *node, const char *name)
{
    for (int i = 0; i < node->class->n_formals; i++)
        if (strcmp(node->class->formals[i].name, name) == 0)
            return &node->args[i];
    rlf_bug_at(__FILE__, __LINE__, name);
}

const rlf_arg *
rlf_args_find(const rlf_arg *args, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (args[i].name && strcmp(args[i].name, name) == 0)
            return &args[i];
    return NULL;
}

rlf_status
rlf_arg_blame(const rlf_arg *arg, rlf_status status, rlf_err *err)
{
    if (status < 0 && arg && arg->span.source)
        rlf_err_place(err, arg->span, NULL);
    return status;
}

const rlf_arg *
rlf_args_plain(const rlf_arg *args, int n, int i)
{
    for (int k = 0; k < n; k++)
        if (!args[k].name && i-- == 0)
            return &args[k];
    return NULL;
}

const rlf_node *
rlf_graph_maker(const rlf_graph *graph, int set)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        for (int k = 0; k < node->n_outputs; k++) {
            const rlf_value *value = &graph->values.data[node->outputs[k]];
            if (value->kind == RLF_VALUE_SET && value->set == set)
                return node;
        }
    }
    return NULL;
}

bool
rlf_graph_once(const rlf_graph *graph, int region)
{
    while (region > 0) {
        const rlf_node *node =
            &graph->nodes.data[graph->regions.data[region].node];
        if (node->class->control_flow != RLF_CONTROL_FLOW_CHOICE)
            return false;
        region = node->region;
    }
    return region == 0;
}
