/* The identity of what a graph computes: structure, attributes, programs. Not
 * in it: spans, paths, names, and nodes that only look. */
#include "engine/base/hash.h"
#include "engine/graph/class.h"

#include <string.h>

static uint64_t
add_text(uint64_t hash, const char *text)
{
    return rlf_hash(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t
add_number(uint64_t hash, double x)
{
    return rlf_hash(hash, &x, sizeof x);
}

static uint64_t
add_int(uint64_t hash, int x)
{
    return rlf_hash(hash, &x, sizeof x);
}

static uint64_t
add_args(uint64_t hash, const rlf_arg *args, int n)
{
    for (int i = 0; i < n; i++) {
        hash = add_int(hash, (int)args[i].kind);
        hash = add_text(hash, args[i].name);
        if (args[i].kind == RLF_ARG_NUMBER)
            hash = add_number(hash, args[i].number);
        if (args[i].kind == RLF_ARG_LIST)
            hash = add_args(hash, args[i].list, args[i].n_list);
    }
    return hash;
}

/* Values are named by who makes them, so that an unused or looking node does
 * not shift the names of the others. */
static uint64_t
add_values(uint64_t hash, const rlf_graph *graph, const int *values, int n)
{
    for (int i = 0; i < n; i++) {
        const rlf_value *v = &graph->values.data[values[i]];
        hash = add_int(hash, (int)v->kind);
        hash = add_int(hash, v->port);
        if (v->node >= 0)
            hash = add_int(hash, (int)graph->nodes.data[v->node].site);
    }
    return hash;
}

uint64_t
rlf_graph_hash(const rlf_graph *graph)
{
    uint64_t hash = RLF_HASH_INIT;
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        hash = add_int(hash, (int)r->kind);
        hash = add_text(hash, r->name);
        hash = add_text(hash, r->constructor);
        hash = add_args(hash, r->args, r->n_args);
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        if (node->looking)
            continue;
        hash = add_text(hash, node->class->name);
        hash = add_int(hash, node->receiver);
        hash = add_values(hash, graph, node->inputs, node->n_inputs);
        hash = add_args(hash, node->args, node->n_args);
        if (node->expr)
            hash = rlf_expr_hash(node->expr, hash);
        if (node->loss)
            hash = rlf_expr_hash(node->loss->program, hash);
    }
    return rlf_hash_mix(hash);
}
