/* Opening and closing a run, and what can be asked between steps. */
#include "engine/sched/run.h"

#include "engine/graph/class.h"
#include "engine/sched/state.h"

static void
report(void *sink, const char *name, double value)
{
    rlf_metrics_add(sink, name, value);
}

/* Resources in order of declaration: a copy comes after what it copies. When
 * all are open each may look at others. */
static rlf_status
open_resources(rlf_run *run, rlf_err *err)
{
    size_t n = run->graph->resources.count;
    run->env.resource = rlf_calloc(n, sizeof(void *));
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        rlf_status status = run->classes->resource[r->kind]->open(
            &run->env, r, err, &run->env.resource[i]);
        if (status < 0) {
            rlf_err_place(err, r->span, r->name);
            return status;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        rlf_status status = run->classes->resource[r->kind]->settle(
            &run->env, r, run->env.resource[i], err);
        if (status < 0) {
            rlf_err_place(err, r->span, r->name);
            return status;
        }
    }
    return RLF_OK;
}

static rlf_status
open_nodes(rlf_run *run, rlf_err *err)
{
    size_t n = run->graph->nodes.count;
    run->node_state = rlf_calloc(n, sizeof(void *));
    run->node_ready = rlf_calloc(n, sizeof(bool));
    for (size_t i = 0; i < n; i++) {
        const rlf_node *node = &run->graph->nodes.data[i];
        rlf_status status =
            node->class->init(&run->env, node, err, &run->node_state[i]);
        if (status < 0) {
            rlf_err_place(err, node->span, node->class->name);
            return status;
        }
        run->node_ready[i] = true;
    }
    return RLF_OK;
}

static rlf_status
open_all(rlf_run *run, rlf_err *err)
{
    rlf_cpu_options cpu = {.n_threads = run->options.threads};
    RLF_TRY(rlf_device_cpu_new(&cpu, &run->device, err));
    RLF_TRY(rlf_queue_new(run->device, &run->queue, err));
    run->scratch = run->device->allocated;
    run->env.queue = run->queue;
    const char *isa = run->options.isa;
    run->env.kernels = isa ? rlf_kernels_cpu_isa(isa) : rlf_kernels_cpu();
    if (!run->env.kernels)
        return rlf_fail(err, RLF_USER,
                        "this machine or build has no kernels for \"%s\"", isa);
    if (run->options.directory)
        RLF_TRY(rlf_flight_open(run->options.directory, 0, err, &run->flight));
    RLF_TRY(open_resources(run, err));
    return open_nodes(run, err);
}

rlf_status
rlf_run_open(const rlf_plan *plan, const rlf_classes *classes,
             const rlf_run_options *options, rlf_err *err, rlf_run **out)
{
    rlf_run *run = rlf_calloc(1, sizeof *run);
    run->plan = plan;
    run->graph = plan->graph;
    run->classes = classes;
    run->options = *options;
    run->order = rlf_order_new(plan->graph, options->policy);
    run->env = (rlf_env){.graph = plan->graph,
                         .seed = options->seed,
                         .pool = rlf_arena_new(),
                         .log = options->log,
                         .trace = options->trace,
                         .report = report,
                         .sink = &run->metrics};
    rlf_status status = open_all(run, err);
    if (status < 0) {
        rlf_run_close(run);
        return status;
    }
    *out = run;
    return RLF_OK;
}

void
rlf_run_close(rlf_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; run->node_ready && i < run->graph->nodes.count; i++)
        if (run->node_ready[i])
            run->graph->nodes.data[i].class->fini(run->node_state[i]);
    free(run->node_state);
    free(run->node_ready);
    rlf_arena_free(run->env.pool);
    for (size_t i = run->graph->resources.count; run->env.resource && i-- > 0;)
        if (run->env.resource[i])
            run->classes->resource[run->graph->resources.data[i].kind]->close(
                run->env.resource[i]);
    free(run->env.resource);
    rlf_order_free(run->order);
    rlf_metrics_free(&run->metrics);
    RLF_VEC_FREE(&run->slots);
    rlf_queue_free(run->queue);
    rlf_device_free(run->device);
    rlf_flight_close(run->flight);
    free(run);
}

uint32_t
rlf_run_steps(const rlf_run *run)
{
    return run->step;
}

bool
rlf_run_ended(const rlf_run *run)
{
    return run->ended;
}

bool
rlf_run_wants_checkpoint(const rlf_run *run)
{
    return run->wants_checkpoint;
}

const rlf_metrics *
rlf_run_metrics(const rlf_run *run)
{
    return &run->metrics;
}

/* The flow's own draws end the run when the smallest of them is through. */
uint64_t
rlf_run_epoch(const rlf_run *run)
{
    uint64_t least = 0;
    const rlf_region *flow = &run->graph->regions.data[0];
    for (int i = 0; i < flow->n_nodes; i++) {
        const rlf_node *node = &run->graph->nodes.data[flow->nodes[i]];
        if (node->class->role != RLF_ROLE_DRAW)
            continue;
        const rlf_arg *count = rlf_node_arg(node, "count");
        if (count->kind != RLF_ARG_NUMBER || count->number < 1)
            continue;
        uint64_t rows = run->classes->resource[RLF_RESOURCE_DATA]->rows(
            run->env.resource[node->receiver]);
        uint64_t steps =
            (rows + (uint64_t)count->number - 1) / (uint64_t)count->number;
        if (!least || steps < least)
            least = steps;
    }
    return least;
}

void
rlf_run_memory(const rlf_run *run, rlf_memory *out)
{
    RLF_PUSH_IN(out->arena, &out->rows,
                (rlf_memory_row){.owner = "kernels",
                                 .purpose = "scratch of threads",
                                 .device = run->scratch});
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        run->classes->resource[r->kind]->memory(run->graph, r,
                                                run->env.resource[i], out);
    }
}

void
rlf_run_notes(const rlf_run *run, rlf_buf *out)
{
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        run->classes->resource[r->kind]->note(r, run->env.resource[i], out);
    }
}

uint64_t
rlf_run_device_bytes(const rlf_run *run)
{
    return run->device->allocated;
}
