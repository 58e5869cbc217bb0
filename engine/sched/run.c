/* Opening and closing a run, and what can be asked between steps. */
#include "engine/sched/run.h"

#include "engine/base/trace.h"
#include "engine/graph/class.h"
#include "engine/io/spool.h"
#include "engine/sched/state.h"

#include <stdio.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

const char *const rlf_time_names[RLF_TIMES] = {[RLF_TIME_GENERATE] = "generate",
                                               [RLF_TIME_READ] = "read",
                                               [RLF_TIME_TRAIN] = "train",
                                               [RLF_TIME_LUA] = "lua"};

const char *const rlf_own_time_names[RLF_OWN_TIMES] = {
    [RLF_TIME_GENERATE] = "generate", [RLF_TIME_READ] = "read",
    [RLF_TIME_TRAIN] = "train",       [RLF_TIME_LUA] = "lua",
    [RLF_OWN_MOVE] = "move",          [RLF_OWN_WAIT] = "wait",
    [RLF_OWN_REST] = "rest"};

static rlf_status
tell(void *sink, const rlf_rank_event *event, rlf_err *err)
{
    return rlf_run_hear(sink, event, err);
}

static void
make_ranks(rlf_run *run, int n, int first)
{
    run->n_local = n;
    run->ranks = rlf_calloc((size_t)n, sizeof *run->ranks);
    for (int i = 0; i < n; i++) {
        rlf_rank *rank = &run->ranks[i];
        char name[32];
        snprintf(name, sizeof name, "rank %d", first + i);
        *rank = (rlf_rank){.rank = first + i,
                           .plan = run->plan,
                           .graph = run->graph,
                           .options = &run->options,
                           .tell = tell,
                           .sink = run};
        rank->env.trace = rlf_trace_add(run->options.trace, rank->rank, name);
        rank->env.measure = run->options.measure;
        rank->env.sample_trace = run->options.sample_trace;
    }
}

static rlf_status
open_rank_threads(rlf_run *run, rlf_err *err)
{
    rlf_comm_world *world = run->options.world;
    RLF_ASSERT(world && rlf_comm_world_size(world) == run->plan->ranks);
    int local = rlf_comm_world_local(world);
    int first = rlf_comm_world_process(world) * local;
    make_ranks(run, local, first);
    int here = rlf_rank_neighbours(world, first);
    int each = run->options.threads
                   ? run->options.threads / local
                   : rlf_comm_world_caps(world)->n_cores / here;
    const rlf_rank_threads_options options = {
        .world = world,
        .threads = each > 1 ? each : 1,
        .n_machine = here,
        .patience = run->options.patience * RLF_PATIENCE_FILES,
        .step_patience = run->options.patience,
        .needs = run->needs,
        .arena = run->kept};
    return rlf_rank_threads_open(run->ranks, &options, err, &run->rank_threads);
}

rlf_status
rlf_run_open(const rlf_plan *plan, const rlf_run_options *options, rlf_err *err,
             rlf_run **out)
{
    rlf_run *run = rlf_calloc(1, sizeof *run);
    run->plan = plan;
    run->graph = plan->graph;
    run->options = *options;
    run->options.spools = rlf_spools_new(options->directory);
    run->arena = rlf_arena_new();
    run->kept = rlf_arena_new();
    run->n_steps = plan->graph->ahead + 1;
    run->steps = RLF_NEW_ARRAY(run->kept, run_step, run->n_steps);
    run->ends = RLF_NEW_ARRAY(run->kept, rlf_rank_event, plan->ranks);
    size_t n_calls = (size_t)plan->ranks * plan->graph->nodes.count;
    run->calls = RLF_NEW_ARRAY(run->kept, double, n_calls);
    run->called = RLF_NEW_ARRAY(run->kept, uint32_t, n_calls);
    run->ended_steps = RLF_NEW_ARRAY(run->kept, uint32_t, plan->ranks);
    run->own = RLF_NEW_ARRAY(run->kept, rlf_rank_use, plan->ranks);
    run->needs = RLF_NEW_ARRAY(run->kept, rlf_needs, plan->ranks);
    *out = run;
    run->control = rlf_control_new(plan, options->policy);
    rlf_status status;
    if (plan->ranks > 1) {
        status = open_rank_threads(run, err);
    } else {
        make_ranks(run, 1, 0);
        status = rlf_rank_open(&run->ranks[0], options->threads, 0, err);
        if (status >= 0)
            rlf_rank_needs(&run->ranks[0], run->kept, &run->needs[0]);
    }
    if (status < 0)
        return status;
#ifdef __GLIBC__
    /* The parsed JSON of large tokenizers took some 40 MB each. Not by the
     * ranks themselves: where a sanitizer stands in for malloc, glibc's own is
     * made ready by this call, which two threads must not do at once. */
    malloc_trim(0);
#endif
    return RLF_OK;
}

bool
rlf_run_close(rlf_run *run)
{
    if (!run)
        return true;
    if (!rlf_rank_threads_close(run->rank_threads))
        return false;
    if (run->plan->ranks == 1 && run->ranks)
        rlf_rank_close(&run->ranks[0]);
    free(run->ranks);
    for (uint32_t i = 0; i < run->n_steps; i++)
        rlf_metrics_free(&run->steps[i].metrics);
    rlf_control_free(run->control);
    rlf_arena_free(run->arena);
    rlf_arena_free(run->kept);
    rlf_buf_free(&run->accepted);
    rlf_spools_free(run->options.spools);
    free(run);
    return true;
}

rlf_status
rlf_run_follow(rlf_run *run, rlf_err *err)
{
    return rlf_rank_threads_follow(run->rank_threads, err);
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
    return run->ranks[0].wants_checkpoint;
}

bool
rlf_run_unnoted(const rlf_run *run, rlf_err *err)
{
    for (int i = 0; i < run->n_local; i++)
        if (rlf_flight_failed(run->ranks[i].flight, err))
            return true;
    return false;
}

const rlf_metrics *
rlf_run_metrics(const rlf_run *run)
{
    return &run->steps[run->step % run->n_steps].metrics;
}

double
rlf_run_seconds(const rlf_run *run, int which)
{
    return run->seconds[which] / run->plan->ranks;
}

rlf_rank_use
rlf_run_rank(const rlf_run *run, int rank, double seconds)
{
    rlf_rank_use own = run->own[rank];
    double known = 0;
    int first = rank;
    for (int i = 0; i < RLF_OWN_TIMES; i++)
        known += own.seconds[i];
    /* before its first command of the step and behind its last one */
    if (seconds > known)
        own.seconds[run->rank_threads ? RLF_OWN_WAIT : RLF_OWN_REST] +=
            seconds - known;
    while (!own.process && first-- > 0) /* the first of its process knows */
        own.process = run->own[first].process;
    return own;
}

double
rlf_run_call_seconds(const rlf_run *run, int node)
{
    size_t n = run->plan->graph->nodes.count;
    double most = 0;
    for (size_t r = 0; r < (size_t)run->plan->ranks; r++) {
        size_t i = r * n + (size_t)node;
        if (run->called[i] && run->calls[i] / run->called[i] > most)
            most = run->calls[i] / run->called[i];
    }
    return most;
}

uint64_t
rlf_run_tokens(const rlf_run *run)
{
    return run->steps[run->step % run->n_steps].tokens;
}

/* The flow's own draws end the run when the smallest of them is through. Of a
 * collect count the prompts that it is to keep, whatever it has to draw. */
uint64_t
rlf_run_epoch(const rlf_run *run)
{
    uint64_t least = 0;
    const rlf_region *flow = &run->graph->regions.data[0];
    for (int i = 0; i < flow->n_nodes; i++) {
        const rlf_node *node = &run->graph->nodes.data[flow->nodes[i]];
        if (!node->class->draws)
            continue;
        const rlf_arg *count = rlf_args_find(node->args, node->n_args, "count");
        if (count->kind != RLF_ARG_NUMBER || count->number < 1)
            continue;
        const rlf_resource *r = &run->graph->resources.data[node->receiver];
        uint64_t rows =
            r->class->data->rows(run->ranks[0].env.resource[node->receiver])
                ->count;
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
    rlf_rank_memory(&run->ranks[0], out);
}

int
rlf_run_threads(const rlf_run *run)
{
    return run->ranks[0].device->caps.n_threads;
}

const char *
rlf_run_isa(const rlf_run *run)
{
    return run->ranks[0].env.kernels->isa;
}

rlf_opened
rlf_run_opened(const rlf_run *run)
{
    return rlf_rank_opened(&run->ranks[0]);
}

const rlf_needs *
rlf_run_needs(const rlf_run *run, int rank)
{
    return &run->needs[rank];
}

void
rlf_run_notes(const rlf_run *run, rlf_buf *out)
{
    for (size_t i = 0; i < run->graph->resources.count; i++) {
        const rlf_resource *r = &run->graph->resources.data[i];
        r->class->note(r, run->ranks[0].env.resource[i], out);
    }
}

uint64_t
rlf_run_device_bytes(const rlf_run *run)
{
    return run->ranks[0].device->peak;
}

uint64_t
rlf_run_pool_bytes(const rlf_run *run)
{
    return rlf_rank_pool_bytes(&run->ranks[0]);
}

void
rlf_run_doing(const rlf_run *run, char *text, size_t room)
{
    int doing = __atomic_load_n(&run->ranks[0].doing, __ATOMIC_RELAXED);
    if (doing >= 0)
        rlf_node_words(run->graph, &run->graph->nodes.data[doing], text, room);
    else
        snprintf(text, room, "%s", rlf_do_doing[-1 - doing]);
}

const char *
rlf_run_products(const rlf_run *run)
{
    return run->ranks[0].products.p ? run->ranks[0].products.p : "";
}
