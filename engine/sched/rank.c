/* Opening and closing a rank: device, meshes, resources, nodes. */
#include "engine/sched/rank.h"

#include "engine/base/log.h"
#include "engine/comm/device.h"
#include "engine/graph/class.h"

/* Of ranks that compute the same, one keeps the metrics. */
static void
report(void *sink, const char *name, double value)
{
    rlf_rank *rank = sink;
    if (rank->recording)
        rlf_metrics_add(&rank->now->metrics, name, value);
}

/* ---- meshes ---- */

static rlf_status
make_group(void *ctx, const int *ranks, int n, rlf_err *err, rlf_group **out)
{
    const rlf_rank *rank = ctx;
    *out = NULL;
    return rank->comm ? rlf_group_new(rank->comm, ranks, n, out, err) : RLF_OK;
}

static rlf_status
open_meshes(rlf_rank *rank, rlf_err *err)
{
    rank->groups =
        (rlf_mesh_groups){.rank = rank->rank, .make = make_group, .ctx = rank};
    return rlf_meshes_make(&rank->groups, rank->plan, rank->arena, err,
                           &rank->env);
}

/* ---- resources and nodes ---- */

static bool
names_broken(const rlf_arg *args, int n, const bool *broken)
{
    for (int i = 0; i < n; i++)
        if ((args[i].kind == RLF_ARG_RESOURCE && broken[args[i].resource]) ||
            (args[i].kind == RLF_ARG_LIST &&
             names_broken(args[i].list, args[i].n_list, broken)))
            return true;
    return false;
}

/* An input is wrong, not the run: whoever mends it wants to hear of all of them
 * at once. */
static bool
can_go_on(const rlf_rank *rank, rlf_status status)
{
    return (status == RLF_USER || status == RLF_ENV || status == RLF_IMPURE) &&
           (!rank->comm ||
            rlf_comm_cause(rlf_comm_world_of(rank->comm)) == RLF_OK);
}

/* Each resource that can be opened, in order of declaration: a copy comes after
 * what it copies. The first error is the rank's. */
static rlf_status
open_each(rlf_rank *rank, bool *broken, rlf_err *err)
{
    const rlf_run_options *o = rank->options;
    for (size_t i = 0; i < rank->graph->resources.count; i++) {
        const rlf_resource *r = &rank->graph->resources.data[i];
        broken[i] = (r->source >= 0 && broken[r->source]) ||
                    names_broken(r->args, r->n_args, broken);
        if (broken[i])
            continue;
        rlf_err why = RLF_ERR_NONE;
        rlf_status status =
            r->class->open(&rank->env, r, &why, &rank->env.resource[i]);
        if (status >= 0)
            continue;
        broken[i] = true;
        rlf_err_place(&why, r->span, r->name);
        why.rank = rank->comm ? rank->rank : -1;
        bool more = can_go_on(rank, status);
        if (more && o->input_error)
            o->input_error(o->sink, &why);
        if (err->status >= 0)
            *err = why;
        if (!more || !o->input_error)
            break;
    }
    return err->status;
}

/* Opens the resources, and lets each look at the others when all are open. */
static rlf_status
open_resources(rlf_rank *rank, rlf_err *err)
{
    size_t n = rank->graph->resources.count;
    rank->env.resource = rlf_calloc(n, sizeof(void *));
    bool *broken = rlf_calloc(n + 1, sizeof *broken);
    rlf_status opened = open_each(rank, broken, err);
    free(broken);
    RLF_TRY(opened);
    for (size_t i = 0; i < n; i++) {
        const rlf_resource *r = &rank->graph->resources.data[i];
        rlf_status status =
            r->class->settle(&rank->env, r, rank->env.resource[i], err);
        if (status < 0) {
            rlf_err_place(err, r->span, r->name);
            return status;
        }
    }
    return RLF_OK;
}

static double
megabytes(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

rlf_opened
rlf_rank_opened(const rlf_rank *rank)
{
    return (rlf_opened){
        .plan = rank->plan, .resource = rank->env.resource, .rank = rank->rank};
}

void
rlf_rank_memory(const rlf_rank *rank, rlf_memory *out)
{
    RLF_PUSH_IN(out->arena, &out->rows,
                (rlf_memory_row){.owner = "kernels",
                                 .purpose = "scratch of threads",
                                 .device = rank->scratch});
    const rlf_device_transport *transport =
        rank->comm ? rlf_comm_device_transport(rank->comm) : NULL;
    transport = transport ? transport : &rank->transport;
    if (transport->host_bytes + transport->device_bytes)
        RLF_PUSH_IN(out->arena, &out->rows,
                    (rlf_memory_row){.owner = "ranks",
                                     .purpose = "messages between ranks",
                                     .device = transport->device_bytes,
                                     .host = transport->host_bytes});
    if (transport->nccl_bytes)
        RLF_PUSH_IN(
            out->arena, &out->rows,
            (rlf_memory_row){.owner = "ranks",
                             .purpose = transport->estimated
                                            ? "NCCL's buffers (estimate)"
                                            : "NCCL's buffers",
                             .device = transport->nccl_bytes});
    rlf_opened opened = rlf_rank_opened(rank);
    rlf_opened_memory(&opened, out);
    for (size_t i = 0; i < rank->graph->resources.count; i++)
        if (rank->passing[i])
            RLF_PUSH_IN(
                out->arena, &out->rows,
                (rlf_memory_row){.owner = rank->graph->resources.data[i].name,
                                 .purpose = "weights between ranks",
                                 .host = rank->passing[i]});
}

/* ---- the device ---- */

/* Bytes that a device takes beyond the table of memory, since its blocks begin
 * at round addresses: pools leave nothing of a limit. */
#define ROUNDING ((size_t)4 << 20)

static rlf_status
open_device(rlf_rank *rank, int threads, int run_threads, rlf_err *err)
{
    const rlf_run_options *o = rank->options;
    const rlf_backend *backend = o->backend ? o->backend : rlf_backends[0];
    rlf_backend_options options = {.n_threads = threads,
                                   .n_run_threads = run_threads};
    RLF_TRY(rlf_rank_find_limit(rank, backend, err, &options.index));
    options.memory_limit =
        ROUNDING + (rank->limit.device ? rank->limit.device : rank->limit.host);
    RLF_TRY(backend->open(&options, &rank->device, err));
    RLF_TRY(rlf_queue_new(rank->device, &rank->queue, err));
    rank->scratch = rank->device->allocated;
    rank->env.queue = rank->queue;
    rank->env.kernels = o->kernels;
    if (!o->kernels)
        RLF_TRY(rlf_backend_kernels(backend, o->isa, o->real, err,
                                    &rank->env.kernels));
    return rlf_rank_choose_algorithms(rank, backend, err);
}

void
rlf_rank_needs(const rlf_rank *rank, rlf_arena *arena, rlf_needs *out)
{
    *out = (rlf_needs){.memory.arena = arena, .limit = rank->limit};
    rlf_rank_memory(rank, &out->memory);
    if (!rank->options->dry)
        return;
    rlf_opened opened = rlf_rank_opened(rank);
    rlf_sizes sizes = rlf_opened_sizes(&opened, arena);
    for (size_t i = 0; i < rank->graph->nodes.count; i++) {
        rlf_cost cost = rlf_opened_cost(&opened, &sizes, (int)i);
        rlf_cost_add(&out->work, &cost, 1);
        out->runs += sizes.runs[i];
    }
}

uint64_t
rlf_rank_pool_bytes(const rlf_rank *rank)
{
    uint64_t bytes = rlf_arena_used(rank->env.pool);
    for (int i = 0; i < rank->n_steps; i++)
        bytes += rlf_arena_used(rank->steps[i].env.pool);
    return bytes;
}

/* Memory for all that is opened, once it is known to fit. */
static rlf_status
reserve_all(rlf_rank *rank, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_memory memory = {.arena = arena};
    rlf_rank_memory(rank, &memory);
    rlf_status status = rlf_memory_fits(
        &memory, &rank->limit, rank->plan->ranks > 1 ? rank->rank : -1, err);
    rlf_opened opened = rlf_rank_opened(rank);
    rank->keeps = rlf_opened_edge(&opened, arena);
    rlf_arena_free(arena);
    for (size_t i = 0; status >= 0 && i < rank->graph->resources.count; i++) {
        const rlf_resource *r = &rank->graph->resources.data[i];
        if (!r->class->model)
            continue;
        status =
            r->class->model->reserve(&rank->env, r, rank->env.resource[i], err);
        if (status < 0)
            rlf_err_place(err, r->span, r->name);
    }
    return status;
}

static rlf_status
open_nodes(rlf_rank *rank, rlf_err *err)
{
    size_t n = rank->graph->nodes.count;
    rank->node_state = rlf_calloc(n, sizeof(void *));
    rank->node_ready = rlf_calloc(n, sizeof(bool));
    for (size_t i = 0; i < n; i++) {
        const rlf_node *node = &rank->graph->nodes.data[i];
        rlf_status status =
            node->class->init(&rank->env, node, err, &rank->node_state[i]);
        if (status < 0) {
            rlf_err_place(err, node->span, node->class->name);
            return status;
        }
        rank->node_ready[i] = true;
    }
    return RLF_OK;
}

/* Steps have what the rank has, and pools of their own. */
static void
open_steps(rlf_rank *rank)
{
    rank->n_steps = (int)rank->graph->ahead + 1;
    rank->steps = rlf_calloc((size_t)rank->n_steps, sizeof *rank->steps);
    if (rank->options->call_seconds)
        rank->calls =
            rlf_calloc(rank->graph->nodes.count + 1, sizeof *rank->calls);
    for (int i = 0; i < rank->n_steps; i++) {
        rank->steps[i].env = rank->env;
        rank->steps[i].env.pool = rlf_arena_new();
    }
    rank->now = &rank->steps[0];
}

/* The transport of the device's memory to other ranks; of a dry run what it
 * would be. What NCCL took replaces the estimate before the rest is fitted to
 * what is left. */
static rlf_status
attach(rlf_rank *rank, rlf_err *err)
{
    const char *why;
    const rlf_attach_options best = rlf_attach_best(rank->device, &why);
    RLF_TRY(rlf_comm_estimate_transport(rank->comm, rank->queue, &best, err,
                                        &rank->transport));
    if (rank->options->dry)
        return RLF_OK;
    double about = megabytes(rank->transport.nccl_bytes);
    rlf_status status = rlf_comm_attach(rank->comm, rank->queue, &best, err);
    if (status < 0 && about > 0)
        rlf_err_hint(err,
                     "NCCL may take %.0f MB of each GPU (an estimate), where "
                     "%.0f MB were left to this rank",
                     about, megabytes(rank->limit.device));
    RLF_TRY(status);
    const rlf_device_transport *transport =
        rlf_comm_device_transport(rank->comm);
    if (!rank->device->caps.host_memory)
        rlf_log_info(rank->options->log, COMM,
                     "%s%s%s%s; messages of pipelines %s", transport->doc,
                     why ? " (" : "", why ? why : "", why ? ")" : "",
                     transport->started);
    if (about > 0)
        rlf_log_info(rank->options->log, COMM,
                     "NCCL took %.0f MB of the device (%.0f MB estimated)",
                     megabytes(transport->nccl_bytes), about);
    return RLF_OK;
}

static rlf_status
open_flight(rlf_rank *rank, rlf_err *err)
{
    const rlf_run_options *o = rank->options;
    rlf_mutex_lock(o->mutex);
    rlf_status status =
        rlf_flight_open(o->directory, rank->rank, err, &rank->flight);
    rlf_mutex_unlock(o->mutex);
    return status;
}

rlf_status
rlf_rank_open(rlf_rank *rank, int threads, int run_threads, rlf_err *err)
{
    rank->doing = rlf_doing_of(RLF_DO_BEGIN);
    const rlf_run_options *o = rank->options;
    rank->generation = -1;
    rank->arena = rlf_arena_new();
    rank->env = (rlf_env){.graph = rank->graph,
                          .rank = rank->rank,
                          .comm = rank->comm,
                          .seed = o->seed,
                          .day = o->day,
                          .pool = rlf_arena_new(),
                          .log = o->log,
                          .check_pure = o->check_pure,
                          .hooks = o->hooks,
                          .spools = o->spools,
                          .stops = o->stops,
                          .stops_arg = o->sink,
                          .called = &rank->called,
                          .trace = rank->env.trace,
                          .measure = rank->env.measure,
                          .sample_trace = rank->env.sample_trace,
                          .report = report,
                          .sink = rank};
    rank->env.nonfinite = RLF_NEW_ARRAY(rank->arena, rlf_nonfinite_place,
                                        rank->graph->values.count);
    RLF_TRY(open_device(rank, threads, run_threads, err));
    if (rank->comm)
        RLF_TRY(attach(rank, err));
    if (o->directory)
        RLF_TRY(open_flight(rank, err));
    RLF_TRY(open_meshes(rank, err));
    RLF_TRY(open_resources(rank, err));
    RLF_TRY(rlf_rank_open_edges(rank, err));
    RLF_TRY(rlf_rank_fill_pools(rank, err));
    if (!o->dry)
        RLF_TRY(reserve_all(rank, err));
    open_steps(rank);
    return open_nodes(rank, err);
}

void
rlf_rank_close(rlf_rank *rank)
{
    const rlf_graph *graph = rank->graph;
    rlf_err ended = RLF_ERR_NONE;
    (void)rlf_rank_keep_sent(rank, 0, &ended); /* the run is over */
    if (rank->queue) /* an update may be the last that a rank did */
        (void)rlf_queue_sync(rank->queue, &ended);
    for (size_t i = 0; rank->node_ready && i < graph->nodes.count; i++)
        if (rank->node_ready[i])
            graph->nodes.data[i].class->fini(rank->node_state[i]);
    rlf_buf_free(&rank->products);
    free(rank->node_state);
    free(rank->node_ready);
    if (rank->env.pool)
        rlf_arena_free(rank->env.pool);
    for (size_t i = graph->resources.count; rank->env.resource && i-- > 0;)
        if (rank->env.resource[i])
            graph->resources.data[i].class->close(rank->env.resource[i]);
    free(rank->env.resource);
    rlf_mesh_groups_free(&rank->groups);
    if (rank->arena)
        rlf_arena_free(rank->arena);
    for (int i = 0; rank->steps && i < rank->n_steps; i++) {
        rlf_metrics_free(&rank->steps[i].metrics);
        rlf_arena_free(rank->steps[i].env.pool);
    }
    free(rank->steps);
    free(rank->calls);
    RLF_VEC_FREE(&rank->slots);
    RLF_VEC_FREE(&rank->joint);
    RLF_VEC_FREE(&rank->sent);
    rlf_comm_detach(rank->comm);
    rlf_queue_free(rank->queue);
    rlf_device_free(rank->device);
    rlf_flight_close(rank->flight);
}
