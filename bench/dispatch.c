/* What a node costs besides its work: a step of nodes that do nothing, through
 * the controller, against a call of their class.
 *
 *     bench/dispatch [RANKS ...]      thread ranks (default 1 2 4 8)
 *
 * Two programs: a chain of nodes, which are posted one behind another; and as
 * many `if`s, each of which has to be answered before the next is posted. */
#include "engine/base/clock.h"
#include "engine/dev/cores.h"
#include "engine/sched/desk.h"
#include "engine/sched/run.h"
#include "nodes/table.h"

#include <stdio.h>
#include <stdlib.h>

enum { NODES = 1000, STEPS = 30 };

static const struct {
    double one, many; /* microseconds that are wanted of an empty command */
} wanted = {1, 60};

static rlf_status
nothing(rlf_call *call, rlf_err *err)
{
    (void)err;
    call->branch = -1;
    return RLF_OK;
}

static const rlf_node_class empty = {.name = "empty",
                                     .role = RLF_ROLE_EXPR,
                                     .granularity = RLF_GRAIN_BATCH,
                                     .infer = rlf_class_no_infer,
                                     .cost = rlf_class_no_cost,
                                     .init = rlf_class_no_init,
                                     .fini = rlf_class_no_fini,
                                     .open = rlf_class_no_open,
                                     .step = nothing,
                                     .trainable = &rlf_trainable_none,
                                     .handover = &rlf_handover_none};
static rlf_node_class choice; /* the same in the role of an if */

static rlf_graph *
make(const rlf_node_class *class, rlf_arena *arena, rlf_sources *sources)
{
    sources->arena = arena;
    rlf_graph *graph = rlf_graph_new(arena, sources);
    for (int i = 0, before = -1; i < NODES; i++) {
        rlf_value made = {.set = -1, .node = -1, .name = "x"};
        int out = rlf_graph_add_value(graph, made);
        rlf_node node = {.class = class,
                         .grain = RLF_GRAIN_BATCH,
                         .rows = -1,
                         .receiver = -1,
                         .n_inputs = before >= 0,
                         .n_outputs = 1};
        node.inputs = RLF_NEW_ARRAY(arena, int, 1);
        node.outputs = RLF_NEW_ARRAY(arena, int, 1);
        node.inputs[0] = before;
        node.outputs[0] = before = out;
        rlf_graph_add_node(graph, node);
    }
    return graph;
}

static void
must(rlf_status status, const rlf_err *err)
{
    if (status < 0) {
        fprintf(stderr, "bench/dispatch: %s\n", err->sentence);
        exit(1);
    }
}

/* Thread ranks; NULL for one. */
static rlf_status
make_world(int ranks, rlf_err *err, rlf_comm_world **out)
{
    const rlf_comm_options options = {.n_ranks = ranks,
                                      .mail_slots = RLF_DESK_SLOTS,
                                      .mail_bytes = RLF_DESK_PIECE};
    *out = NULL;
    return ranks > 1 ? rlf_comm_world_new(&options, out, err) : RLF_OK;
}

/* Microseconds a node: the fastest step. */
static double
measure(const rlf_node_class *class, int ranks)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {0};
    rlf_err err = RLF_ERR_NONE;
    rlf_plan *plan;
    rlf_run *run;
    must(rlf_plan_make(make(class, arena, &sources),
                       &(rlf_plan_options){.ranks = ranks}, arena, &err, &plan),
         &err);
    rlf_run_options options = {.threads = ranks};
    must(make_world(ranks, &err, &options.world), &err);
    must(rlf_run_open(plan, &rlf_node_classes, &options, &err, &run), &err);
    double best = 1e9;
    for (int i = 0; i < STEPS; i++) {
        uint64_t from = rlf_clock_now();
        must(rlf_run_step(run, &err), &err);
        double took = rlf_clock_since(from) * 1e6 / NODES;
        best = took < best ? took : best;
    }
    rlf_run_close(run);
    if (options.world)
        rlf_comm_world_free(options.world);
    rlf_arena_free(arena);
    return best;
}

static double
measure_calls(void)
{
    const rlf_node_class *volatile class = &empty;
    rlf_err err = RLF_ERR_NONE;
    rlf_call call = {0};
    uint64_t from = rlf_clock_now();
    for (int i = 0; i < NODES * STEPS; i++)
        must(class->step(&call, &err), &err);
    return rlf_clock_since(from) * 1e6 / NODES / STEPS;
}

int
main(int argc, char **argv)
{
    static const int usual[] = {1, 2, 4, 8};
    choice = empty;
    choice.role = RLF_ROLE_IF;
    printf("cores: %d; a call of the class alone: %.4f us\n"
           "ranks   a node  of wanted   an answer  of wanted\n",
           rlf_cores_count(), measure_calls());
    for (int i = 0; i < (argc > 1 ? argc - 1 : 4); i++) {
        int ranks = argc > 1 ? atoi(argv[i + 1]) : usual[i];
        double want = ranks > 1 ? wanted.many : wanted.one;
        double node = measure(&empty, ranks), answer = measure(&choice, ranks);
        printf("%5d %8.2f %9.2fx %11.2f %9.2fx\n", ranks, node, node / want,
               answer, answer / want);
    }
    return 0;
}
