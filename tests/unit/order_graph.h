/* Graphs made by hand for tests of the controller: classes with nothing but
 * what it looks at, and nodes of named parts. */
#ifndef RLF_TESTS_UNIT_ORDER_GRAPH_H
#define RLF_TESTS_UNIT_ORDER_GRAPH_H

#include "engine/base/vec.h"
#include "engine/graph/class.h"
#include "tests/tap.h"

static const rlf_model_class weights = {.outline = NULL};
static const rlf_resource_class a_model = {.name = "model", .model = &weights};
static const rlf_node_class draw = {.name = "draw", .draws = true};
static const rlf_node_class generate = {.name = "generate",
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .work = RLF_WORK_GENERATE};
static const rlf_node_class logprob = {
    .name = "logprob", .work = RLF_WORK_READ, .receiver = RLF_RECEIVER_MODEL};
static const rlf_node_class logprobs = {.name = "logprobs",
                                        .work = RLF_WORK_READ,
                                        .receiver = RLF_RECEIVER_MODEL,
                                        .level = RLF_LEVEL_VOCAB};
static const rlf_node_class words = {.name = "words", .work = RLF_WORK_READ};
static const rlf_node_class judge = {.name = "judge", .work = RLF_WORK_HOST};
static const rlf_node_class arith = {.name = "expr",
                                     .program = RLF_PROGRAM_EXPR};
static const rlf_node_class update = {.name = "update", .work = RLF_WORK_TRAIN};
static const rlf_node_class reporting = {.name = "report", .reports = true};
static const rlf_node_class loop = {.name = "for",
                                    .control_flow = RLF_CONTROL_FLOW_LOOP};
static const rlf_node_class quit = {.name = "break",
                                    .control_flow = RLF_CONTROL_FLOW_LEAVE};
static const rlf_node_class when = {.name = "if",
                                    .control_flow = RLF_CONTROL_FLOW_CHOICE};
static const rlf_node_class gather = {.name = "collect",
                                      .control_flow = RLF_CONTROL_FLOW_ROUNDS};
static const rlf_node_class keep = {.name = "keep", .ends_round = true};

/* The parts of a node beside its class; members that are not given are those of
 * a node in the flow that is made of nothing. */
typedef struct node_parts {
    rlf_granularity grain;
    int rows; /* domain that its pieces are made of; not of grain BATCH */
    int region;
    int model; /* + 1: it reads it, an update writes it */
    const int *inputs;
    int n_inputs;
    bool silent; /* it has no output */
} node_parts;

#define IN(...)                           \
    .inputs = (const int[]){__VA_ARGS__}, \
    .n_inputs = (int)RLF_COUNT(((const int[]){__VA_ARGS__}))
#define BATCH .grain = RLF_GRAIN_BATCH

TAP_FUNCTION int *
one_int(const rlf_graph *graph, int x)
{
    int *list = RLF_NEW(graph->arena, int);
    *list = x;
    return list;
}

TAP_FUNCTION int
add_value(rlf_graph *graph, const char *name)
{
    return rlf_graph_add_value(
        graph, (rlf_value){.domain = 0, .set = -1, .node = -1, .name = name});
}

/* With a region of its own, if its control flow needs one. Returns its output,
 * of its class's name; -1: it has none. */
TAP_FUNCTION int
add_node(rlf_graph *graph, const rlf_node_class *class, node_parts of)
{
    int out = of.silent ? -1 : add_value(graph, class->name);
    int *model = one_int(graph, of.model - 1);
    bool writes = of.model && class->work == RLF_WORK_TRAIN;
    bool body = class->control_flow == RLF_CONTROL_FLOW_LOOP ||
                class->control_flow == RLF_CONTROL_FLOW_CHOICE ||
                class->control_flow == RLF_CONTROL_FLOW_ROUNDS;
    rlf_node node = {.class = class,
                     .region = of.region,
                     .grain = of.grain,
                     .rows = of.grain == RLF_GRAIN_BATCH ? -1 : of.rows,
                     .receiver = of.model - 1,
                     .inputs = RLF_NEW_ARRAY(graph->arena, int, of.n_inputs),
                     .n_inputs = of.n_inputs,
                     .outputs = one_int(graph, out),
                     .n_outputs = !of.silent,
                     .writes = model,
                     .n_writes = writes,
                     .reads = model,
                     .n_reads = of.model && !writes};
    for (int i = 0; i < of.n_inputs; i++)
        node.inputs[i] = of.inputs[i];
    if (body) {
        int id = (int)graph->nodes.count;
        node.regions = one_int(graph, rlf_graph_add_region(graph, id));
        node.n_regions = 1;
    }
    rlf_graph_add_node(graph, node);
    return out;
}

/* Ranks first .. first + n - 1, `tp` of them a replica. */
TAP_FUNCTION rlf_layout
ranks_of(rlf_arena *arena, int first, int n, int tp)
{
    int *ranks = RLF_NEW_ARRAY(arena, int, n);
    for (int i = 0; i < n; i++)
        ranks[i] = first + i;
    return (rlf_layout){
        .ranks = ranks, .n_ranks = n, .tp = tp, .pp = 1, .dp = n / tp};
}

#endif
