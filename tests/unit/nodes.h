/* A small world for tests of node classes: a graph made by hand, data files
 * written on the spot, and calls carried out without a scheduler. */
#ifndef RLF_TESTS_UNIT_NODES_H
#define RLF_TESTS_UNIT_NODES_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "nodes/table.h"
#include "tests/tap.h"

#include <unistd.h>

typedef struct world {
    rlf_arena *arena, *pool;
    rlf_sources sources;
    rlf_graph *graph;
    rlf_env env;
    void *resource[8];
    rlf_err err;
    /* The reports of a step: by name, the last value and how many there
     * were. */
    struct {
        char name[32];
        double sum;
        int n;
    } reported[8];
    int n_reported;
} world;

TAP_FUNCTION void
world_report(void *sink, const char *name, double value)
{
    world *w = sink;
    int i = 0;
    while (i < w->n_reported && strcmp(w->reported[i].name, name) != 0)
        i++;
    if (i == w->n_reported) {
        snprintf(w->reported[i].name, sizeof w->reported[i].name, "%s", name);
        w->n_reported++;
    }
    w->reported[i].sum += value;
    w->reported[i].n++;
}

TAP_FUNCTION world *
world_new(uint64_t seed)
{
    world *w = calloc(1, sizeof *w);
    w->arena = rlf_arena_new();
    w->pool = rlf_arena_new();
    w->sources.arena = w->arena;
    w->graph = rlf_graph_new(w->arena, &w->sources);
    w->env = (rlf_env){.graph = w->graph,
                       .seed = seed,
                       .step = 1,
                       .pool = w->pool,
                       .resource = w->resource,
                       .report = world_report,
                       .sink = w};
    w->err = (rlf_err)RLF_ERR_NONE;
    return w;
}

TAP_FUNCTION void
world_free(world *w)
{
    for (size_t i = 0; i < w->graph->resources.count; i++) {
        rlf_resource_kind kind = w->graph->resources.data[i].class->kind;
        rlf_node_classes.resource[kind]->close(w->resource[i]);
    }
    rlf_arena_free(w->pool);
    rlf_arena_free(w->arena);
    free(w);
}

/* A file in the directory of the test, to be removed by the caller. */
TAP_FUNCTION void
write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        bail("cannot write %s", path);
}

TAP_FUNCTION rlf_arg
text_arg(const char *name, const char *text)
{
    return (rlf_arg){
        .kind = RLF_ARG_TEXT, .name = name, .text = text, .given = true};
}

TAP_FUNCTION rlf_arg
number_arg(const char *name, double number)
{
    return (rlf_arg){
        .kind = RLF_ARG_NUMBER, .name = name, .number = number, .given = true};
}

TAP_FUNCTION rlf_arg
value_arg(const char *name, int value, int input)
{
    return (rlf_arg){.kind = RLF_ARG_VALUE,
                     .name = name,
                     .value = value,
                     .input = input,
                     .given = true};
}

/* Add a resource with these arguments, ready to be used; its index, or -1 with
 * the error in w->err. A data set gets a domain if it has none. */
TAP_FUNCTION int
add_resource(world *w, rlf_resource resource, const rlf_arg *args, int n)
{
    resource.args = RLF_NEW_ARRAY(w->arena, rlf_arg, n);
    if (n)
        memcpy(resource.args, args, sizeof *args * (size_t)n);
    resource.n_args = n;
    if (resource.class->data && resource.domain <= 0)
        resource.domain = rlf_domains_add(&w->graph->domains,
                                          (rlf_domain){.kind = RLF_DOMAIN_ROWS,
                                                       .name = resource.name,
                                                       .owner = -1});
    const rlf_resource_class *class = resource.class;
    int index = rlf_graph_add_resource(w->graph, resource);
    rlf_err_clear(&w->err);
    rlf_status status = class->open(&w->env, &w->graph->resources.data[index],
                                    &w->err, &w->resource[index]);
    if (status >= 0)
        status = class->settle(&w->env, &w->graph->resources.data[index],
                               w->resource[index], &w->err);
    if (status >= 0 && class->model)
        status =
            class->model->reserve(&w->env, &w->graph->resources.data[index],
                                  w->resource[index], &w->err);
    return status < 0 ? -1 : index;
}

TAP_FUNCTION int
add_domain(world *w, rlf_domain_kind kind, const char *name, int owner)
{
    return rlf_domains_add(
        &w->graph->domains,
        (rlf_domain){.kind = kind, .name = name, .owner = owner});
}

TAP_FUNCTION int
add_domain_under(world *w, rlf_domain_kind kind, const char *name, int owner,
                 int up)
{
    return rlf_domains_add(
        &w->graph->domains,
        (rlf_domain){
            .kind = kind, .name = name, .owner = owner, .up = {up}, .n_up = 1});
}

/* A rollout, made of no other set, no data and no model. */
TAP_FUNCTION rlf_set
sampled_set(const char *name, int prompts, int samples, int tokens)
{
    return (rlf_set){.kind = RLF_SET_SAMPLED,
                     .name = name,
                     .prompts = prompts,
                     .samples = samples,
                     .tokens = tokens,
                     .origin = -1,
                     .from = -1,
                     .data = -1,
                     .model = -1};
}

TAP_FUNCTION int
add_set_value(world *w, rlf_set set)
{
    int index = rlf_graph_add_set(w->graph, set);
    return rlf_graph_add_value(
        w->graph,
        (rlf_value){.kind = RLF_VALUE_SET, .domain = -1, .set = index});
}

TAP_FUNCTION int
add_column_value(world *w, rlf_value_kind kind, int domain)
{
    return rlf_graph_add_value(
        w->graph, (rlf_value){.kind = kind, .domain = domain, .set = -1});
}

/* The parts of a node beside its class: (node_parts){ARGS(...), OUT(set)}.
 * Arguments are in the order of the class's formals, then the extra ones. */
typedef struct node_parts {
    const rlf_arg *args;
    const int *inputs, *outputs; /* values */
    int n_args, n_inputs, n_outputs;
    uint32_t site;
} node_parts;

#define LISTED(type, name, ...)          \
    .name = (const type[]){__VA_ARGS__}, \
    .n_##name = (int)RLF_COUNT(((const type[]){__VA_ARGS__}))
#define ARGS(...) LISTED(rlf_arg, args, __VA_ARGS__)
#define IN(...) LISTED(int, inputs, __VA_ARGS__)
#define OUT(...) LISTED(int, outputs, __VA_ARGS__)
/* the first n of an array */
#define ARGS_OF(array, n) .args = array, .n_args = n
#define IN_OF(array, n) .inputs = array, .n_inputs = n
#define OUT_OF(array, n) .outputs = array, .n_outputs = n

/* A node in the flow, on `receiver` (a resource, -1: none); parts are copied.
 * Returns its index. */
TAP_FUNCTION int
add_node(world *w, const rlf_node_class *class, int receiver, node_parts parts)
{
    rlf_node node = {.class = class,
                     .grain = class->granularity,
                     .rows = -1,
                     .receiver = receiver,
                     .n_inputs = parts.n_inputs,
                     .n_outputs = parts.n_outputs,
                     .n_args = parts.n_args,
                     .site = parts.site};
    node.args = RLF_NEW_ARRAY(w->arena, rlf_arg, parts.n_args);
    node.inputs = RLF_NEW_ARRAY(w->arena, int, parts.n_inputs);
    node.outputs = RLF_NEW_ARRAY(w->arena, int, parts.n_outputs);
    for (int i = 0; i < parts.n_args; i++)
        node.args[i] = parts.args[i];
    for (int i = 0; i < parts.n_inputs; i++)
        node.inputs[i] = parts.inputs[i];
    for (int i = 0; i < parts.n_outputs; i++)
        node.outputs[i] = parts.outputs[i];
    return rlf_graph_add_node(w->graph, node);
}

/* A call of node `id`, ready to be opened, with a state of its own. */
TAP_FUNCTION rlf_call
make_call(world *w, int id, const rlf_content *in)
{
    const rlf_node *node = &w->graph->nodes.data[id];
    rlf_call call = {.env = &w->env, .node = node, .branch = -1};
    int room = node->n_outputs > 4 ? node->n_outputs : 4;
    call.in = RLF_NEW_ARRAY(w->pool, rlf_content, node->n_inputs);
    call.out = RLF_NEW_ARRAY(w->pool, rlf_content, room);
    if (node->n_inputs)
        memcpy(call.in, in, sizeof *in * (size_t)node->n_inputs);
    if (node->class->init(&w->env, node, &w->err, &call.state) < 0)
        bail("init: %s", w->err.sentence);
    rlf_arena_defer(w->arena, node->class->fini, call.state);
    return call;
}

/* Open it and run it in one piece. */
TAP_FUNCTION rlf_status
run_call(world *w, rlf_call *call)
{
    rlf_err_clear(&w->err);
    rlf_status status = call->node->class->open(call, &w->err);
    return status < 0 ? status : call->node->class->step(call, &w->err);
}

#endif
