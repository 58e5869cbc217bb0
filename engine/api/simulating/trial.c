/* Plans that are simulated: see trial.h. */
#include "engine/api/simulating/trial.h"

#include <math.h>

#include "engine/api/machines/planned_device.h"
#include "engine/plan/rank_classes.h"
#include "engine/plan/pools.h"
#include "engine/simulate/costs.h"

static const rlf_device_kind *
device_of(const rlf_trial *t, int rank)
{
    return rlf_cluster_part_of(t->session->planning.cluster, rank)
        ->machine->device;
}

/* Generations have the fewest pages of all ranks, as in a run
 * (engine/sched/budget.c). */
static void
note_pages(rlf_trial *t, const rlf_pool *pool, uint64_t units)
{
    const rlf_graph *graph = t->plan->graph;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const rlf_node *node = &graph->nodes.data[i];
        rlf_page_room *room = &t->pages[i];
        if (node->class->work != RLF_WORK_GENERATE ||
            node->receiver != pool->resource)
            continue;
        if (!room->tokens || units < room->pages)
            *room = (rlf_page_room){units, pool->least, pool->tokens};
    }
}

/* Pages take the memory that a GPU has beside all else; on a host that
 * is for others too, and pages are those that the plan counts. */
static void
find_pages(rlf_trial *t, int r, const rlf_opened *opened, rlf_arena *arena)
{
    const rlf_device_kind *device = device_of(t, r);
    rlf_pools pools = {.arena = arena};
    rlf_opened_pools(opened, &pools);
    uint64_t *units = RLF_NEW_ARRAY(arena, uint64_t, pools.list.count);
    double taken = t->memory[r] - (double)rlf_pools_bytes(&pools);
    double left = device->memory > taken ? device->memory - taken : 0;
    if (device->gpu)
        rlf_pools_divide(&pools, (uint64_t)left, units);
    for (size_t i = 0; i < pools.list.count; i++) {
        const rlf_pool *p = &pools.list.data[i];
        note_pages(t, p, device->gpu ? units[i] : *p->units);
    }
}

/* Counts the memory that a rank takes. */
static void
weigh(rlf_trial *t, int r, const rlf_opened *opened, rlf_arena *arena)
{
    const rlf_device_kind *device = device_of(t, r);
    t->memory[r] = rlf_planned_memory(opened, device->gpu, arena);
    t->host[r] = device->gpu ? rlf_planned_offloaded(opened, arena) : 0;
    find_pages(t, r, opened, arena);
    t->lacks = fmax(t->lacks, t->memory[r] - device->memory);
    if (t->memory[r] / device->memory <= t->fill)
        return;
    t->fill = t->memory[r] / device->memory;
    t->fullest = r;
}

/* A rank that takes as much as others may be on another kind of device: one of
 * each kind is counted. */
static void
weigh_kinds(rlf_trial *t, int rank, const int *like, const rlf_opened *opened,
            rlf_arena *arena)
{
    const rlf_cluster *cluster = t->session->planning.cluster;
    weigh(t, rank, opened, arena);
    for (int i = 0; i < cluster->n_parts; i++) {
        const rlf_cluster_part *part = &cluster->parts[i];
        int r = part->first_rank, end = r + part->count * part->machine->count;
        if (part == rlf_cluster_part_of(cluster, rank))
            continue;
        while (r < end && r < t->plan->ranks && like[r] != rank)
            r++;
        if (r < end && r < t->plan->ranks)
            weigh(t, r, opened, arena);
    }
}

static rlf_trial
new_trial(const rlf_session *s, const rlf_plan *plan, rlf_arena *arena)
{
    return (rlf_trial){
        .session = s,
        .plan = plan,
        .arena = arena,
        .lacks = -INFINITY,
        .memory = RLF_NEW_ARRAY(arena, double, plan->ranks),
        .host = RLF_NEW_ARRAY(arena, double, plan->ranks),
        .pages = RLF_NEW_ARRAY(arena, rlf_page_room, plan->graph->nodes.count)};
}

rlf_status
rlf_trial_weigh(const rlf_session *s, const rlf_outline *outline,
                const rlf_plan *plan, rlf_arena *arena, rlf_err *err,
                rlf_trial *t)
{
    *t = new_trial(s, plan, arena);
    const int *ranks, *like;
    int n = rlf_rank_classes_each(plan, rlf_outline_layers(outline), arena,
                                  &ranks, &like);
    rlf_arena *scratch = rlf_arena_scratch(arena);
    rlf_status status = RLF_OK;
    for (int i = 0; i < n && status >= 0; i++) {
        rlf_opened opened;
        status =
            rlf_outline_rank(outline, plan, ranks[i], scratch, err, &opened);
        if (status >= 0)
            weigh_kinds(t, ranks[i], like, &opened, scratch);
        rlf_arena_reset(scratch);
    }
    for (int r = 0; r < plan->ranks; r++)
        t->host[r] = t->host[like[r]];
    rlf_arena_free(scratch);
    return status;
}

rlf_status
rlf_trial_open(const rlf_session *s, const rlf_outline *outline,
               const rlf_plan *plan, rlf_arena *arena, rlf_err *err,
               rlf_trial *t)
{
    *t = new_trial(s, plan, arena);
    t->ranks = RLF_NEW_ARRAY(arena, rlf_opened, plan->ranks);
    for (int r = 0; r < plan->ranks; r++) {
        RLF_TRY(rlf_outline_rank(outline, plan, r, arena, err, &t->ranks[r]));
        weigh(t, r, &t->ranks[r], arena);
    }
    t->sizes = rlf_opened_sizes(&t->ranks[0], arena);
    return RLF_OK;
}

rlf_status
rlf_trial_fits(const rlf_trial *t, rlf_err *err)
{
    const rlf_device_kind *device = device_of(t, t->fullest);
    double bytes = t->memory[t->fullest];
    char takes[RLF_BYTES_TEXT], has[RLF_BYTES_TEXT], lacks[RLF_BYTES_TEXT];
    if (t->fill <= 1)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "the plan does not fit: rank %d takes %s, and its device %s has "
             "%s: %s are missing",
             t->fullest, rlf_gb_text(bytes, 3, takes), device->name,
             rlf_gb_text(device->memory, 3, has),
             rlf_gb_text(bytes - device->memory, 3, lacks));
    return RLF_USER;
}

static rlf_status
say_host(const rlf_trial *t, int machine, double bytes, double host,
         rlf_err *err)
{
    const rlf_graph *graph = t->plan->graph;
    char takes[RLF_BYTES_TEXT], has[RLF_BYTES_TEXT], lacks[RLF_BYTES_TEXT];
    rlf_fail(
        err, RLF_USER,
        "the plan does not fit: offloaded weights take %s of machine %d, and "
        "its host has %s: %s are missing",
        rlf_gb_text(bytes, 3, takes), machine, rlf_gb_text(host, 3, has),
        rlf_gb_text(bytes - host, 3, lacks));
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_place_row *row =
            rlf_placement_find(graph->placement, (int)i, NULL);
        if (!row || row->offload != 1)
            continue;
        const char *name = graph->resources.data[i].name;
        rlf_err_hint(err, "leave out offload: of %s, or take a larger tp or pp",
                     name);
        rlf_err_place(err, row->span, name);
        break;
    }
    return RLF_USER;
}

rlf_status
rlf_trial_host_fits(const rlf_trial *t, rlf_err *err)
{
    const rlf_cluster *cluster = t->session->planning.cluster;
    double bytes = 0;
    for (int r = 0; r < t->plan->ranks; r++) {
        int machine = rlf_cluster_machine(cluster, r);
        bool begins = !r || rlf_cluster_machine(cluster, r - 1) != machine;
        bool ends = r + 1 == t->plan->ranks ||
                    rlf_cluster_machine(cluster, r + 1) != machine;
        double host = rlf_cluster_part_of(cluster, r)->machine->host;
        bytes = (begins ? 0 : bytes) + t->host[r];
        if (ends && bytes > 0 && bytes > host)
            return say_host(t, machine, bytes, host, err);
    }
    return RLF_OK;
}

static bool
any_waits(const rlf_trial *t)
{
    for (size_t i = 0; i < t->plan->graph->nodes.count; i++)
        if (t->out.waiting[i] || t->out.paged[i].waiting)
            return true;
    return false;
}

/* As many steps once more in another way, at which nobody looks: seconds of
 * one. */
static rlf_status
again(const rlf_trial *t, rlf_simulate_options options, rlf_err *err,
      double *seconds)
{
    rlf_simulated out;
    options.steps = t->out.steps;
    options.spread = 0;
    options.see = NULL;
    RLF_TRY(rlf_simulate(&options, t->arena, err, &out));
    *seconds = (out.ends[out.steps - 1] - out.ends[options.warm - 1]) /
               (out.steps - options.warm);
    return RLF_OK;
}

/* Each replica has a seat and pages for every sample; memory is not asked. */
static rlf_status
seat_all(rlf_trial *t, rlf_simulate_options options, rlf_err *err)
{
    options.seats = NULL;
    options.pages = NULL;
    return again(t, options, err, &t->seated);
}

static rlf_status
find_kinds(rlf_trial *t, rlf_simulate_options options, rlf_err *err)
{
    t->n_kinds = rlf_step_kinds(t->plan->graph, t->arena, &t->kinds);
    for (int i = 0; i < t->n_kinds; i++) {
        options.number = t->kinds[i].number;
        RLF_TRY(again(t, options, err, &t->kinds[i].seconds));
    }
    return RLF_OK;
}

rlf_status
rlf_trial_prepare(rlf_trial *t, const rlf_trial_options *o, rlf_err *err,
                  rlf_simulate_options *out)
{
    const rlf_session *s = t->session;
    const rlf_costs_options counted = {.ranks = t->ranks,
                                       .sizes = &t->sizes,
                                       .speeds = o->speeds,
                                       .real = rlf_cast_bytes(s->options.real),
                                       .moves = o->moves};
    rlf_durations *durations = RLF_NEW(t->arena, rlf_durations);
    RLF_TRY(rlf_costs_new(&counted, t->arena, err, &t->costs));
    *durations = rlf_costs_durations(t->costs);
    t->timeline.ranks = t->plan->ranks;
    t->seats = rlf_costs_seats(t->costs);
    *out = (rlf_simulate_options){.plan = t->plan,
                                  .sizes = &t->sizes,
                                  .durations = durations,
                                  .workload = o->workload,
                                  .seed = o->seed,
                                  .policy = rlf_session_policy(s),
                                  .steps = o->warm + o->steps,
                                  .warm = o->warm,
                                  .spread = o->spread,
                                  .seats = t->seats,
                                  .pages = t->pages,
                                  .rooms = rlf_costs_rooms(t->costs),
                                  .self = &t->timeline,
                                  .see = rlf_timeline_see};
    return RLF_OK;
}

rlf_status
rlf_trial_simulate(rlf_trial *t, const rlf_simulate_options *options,
                   rlf_err *err)
{
    uint32_t warm = options->warm;
    t->timeline.spans.count = 0;
    RLF_TRY(rlf_simulate(options, t->arena, err, &t->out));
    rlf_account_make(&t->timeline, t->plan->graph->nodes.count,
                     t->out.ends[warm - 1], t->out.ends[t->out.steps - 1],
                     t->out.steps - warm, t->arena, &t->account);
    return RLF_OK;
}

rlf_status
rlf_trial_run(rlf_trial *t, const rlf_trial_options *o, rlf_err *err)
{
    rlf_simulate_options options;
    RLF_TRY(rlf_trial_prepare(t, o, err, &options));
    RLF_TRY(rlf_trial_simulate(t, &options, err));
    t->asked = rlf_costs_asked_of(t->costs);
    if (any_waits(t))
        RLF_TRY(seat_all(t, options, err));
    return find_kinds(t, options, err);
}

void
rlf_trial_close(rlf_trial *t)
{
    rlf_timeline_free(&t->timeline);
}
