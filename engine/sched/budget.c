/* The memory budget of a rank, of its machine and of its device, and the use of
 * what is left there: pages of keys and values.
 *
 * Ranks tell each other what they found before anyone takes something, so that
 * those that share a device divide what is free of it, and whatever they run
 * together is as large on all of them. */
#include "engine/comm/comm.h"
#include "engine/dev/memory.h"
#include "engine/graph/class.h"
#include "engine/plan/pools.h"
#include "engine/sched/rank.h"

#include <string.h>

int
rlf_rank_neighbours(const rlf_comm_world *world, int rank)
{
    int n = 0, machine = rlf_comm_world_machine(world, rank);
    for (int r = 0; r < rlf_comm_world_size(world); r++)
        n += rlf_comm_world_machine(world, r) == machine;
    return n;
}

/* Of the ranks on this one's machine: how many, and how many before it. */
static int
machine_ranks(const rlf_rank *rank, int *before)
{
    const rlf_comm_world *world = rank->options->world;
    if (!world) {
        *before = rank->rank;
        return rank->plan->ranks;
    }
    int machine = rlf_comm_world_machine(world, rank->rank);
    *before = 0;
    for (int r = 0; r < rank->rank; r++)
        *before += rlf_comm_world_machine(world, r) == machine;
    return rlf_rank_neighbours(world, rank->rank);
}

/* The findings of a rank, for the others. */
typedef struct finding {
    rlf_device_memory memory;
    int machine;
} finding;

static bool
same_device(const finding *a, const finding *b)
{
    return a->machine == b->machine &&
           memcmp(a->memory.id, b->memory.id, sizeof a->memory.id) == 0;
}

/* The least that one of them found free, among the ranks that share a device.
 */
static void
share_device(const finding *all, int n, const finding *own, uint64_t most,
             rlf_memory_room *out)
{
    out->free = own->memory.left;
    out->all = own->memory.all;
    for (int i = 0; i < n; i++) {
        if (!same_device(&all[i], own))
            continue;
        out->ranks++;
        if (all[i].memory.left < out->free)
            out->free = all[i].memory.left;
    }
    out->device = most && most < out->free ? most : out->free;
    out->device /= (uint64_t)out->ranks;
}

/* Ranks take the devices of their machine in turn; several may share one. */
rlf_status
rlf_rank_find_limit(rlf_rank *rank, const rlf_backend *backend, rlf_err *err,
                    int *index)
{
    int n_devices, before, n = machine_ranks(rank, &before);
    uint64_t most = rank->options->memory;
    finding own = {0};
    RLF_TRY(backend->count(&n_devices, err));
    *index = before % n_devices;
    rank->limit = (rlf_memory_room){
        .host = (most ? most : rlf_host_memory_limit()) / (uint64_t)n};
    RLF_TRY(backend->memory(*index, &own.memory, err));
    if (!own.memory.all)
        return RLF_OK;
    if (!rank->comm) {
        share_device(&own, 1, &own, most, &rank->limit);
        return RLF_OK;
    }
    rlf_group *world = rlf_group_world(rank->comm);
    RLF_TRY(rlf_group_barrier(world, err)); /* looking takes some, too */
    RLF_TRY(backend->memory(*index, &own.memory, err));
    own.machine = rlf_comm_world_machine(rank->options->world, rank->rank);
    finding *all = rlf_calloc((size_t)rank->plan->ranks, sizeof *all);
    rlf_status status = rlf_group_all_gather(world, &own, sizeof own, all, err);
    share_device(all, rank->plan->ranks, &own, most, &rank->limit);
    free(all);
    return status;
}

/* ---- pools ---- */

/* Bytes of a device that everything but pools takes. */
static uint64_t
taken_bytes(const rlf_rank *rank, const rlf_pools *pools)
{
    rlf_memory memory = {.arena = pools->arena};
    uint64_t bytes = 0;
    rlf_rank_memory(rank, &memory);
    for (size_t i = 0; i < memory.rows.count; i++)
        bytes += memory.rows.data[i].device;
    return bytes - rlf_pools_bytes(pools);
}

static void
divide(rlf_pools *pools, uint64_t left)
{
    size_t n = pools->list.count;
    uint64_t *units = RLF_NEW_ARRAY(pools->arena, uint64_t, n);
    rlf_pools_divide(pools, left, units);
    for (size_t i = 0; i < n; i++)
        *pools->list.data[i].units = units[i];
}

/* Pools that several ranks run together are as large as where there is least: a
 * model has pools of one size. */
static rlf_status
agree(const rlf_rank *rank, rlf_pools *pools, rlf_err *err)
{
    size_t n = rank->graph->resources.count, ranks = (size_t)rank->plan->ranks;
    uint64_t *all = RLF_NEW_ARRAY(pools->arena, uint64_t, n * ranks);
    uint64_t *own = RLF_NEW_ARRAY(pools->arena, uint64_t, n);
    for (size_t i = 0; i < n; i++)
        own[i] = UINT64_MAX;
    for (size_t i = 0; i < pools->list.count; i++) {
        const rlf_pool *p = &pools->list.data[i];
        if (*p->units < own[p->resource])
            own[p->resource] = *p->units;
    }
    RLF_TRY(rlf_group_all_gather(rlf_group_world(rank->comm), own,
                                 n * sizeof *own, all, err));
    for (size_t i = 0; i < pools->list.count; i++) {
        const rlf_pool *p = &pools->list.data[i];
        for (size_t r = 0; r < ranks; r++)
            if (all[r * n + (size_t)p->resource] < *p->units)
                *p->units = all[r * n + (size_t)p->resource];
    }
    return RLF_OK;
}

static rlf_status
fill_pools(rlf_rank *rank, rlf_pools *pools, rlf_err *err)
{
    const rlf_opened opened = rlf_rank_opened(rank);
    rlf_opened_pools(&opened, pools);
    uint64_t taken = taken_bytes(rank, pools), limit = rank->limit.device;
    divide(pools, taken < limit ? limit - taken : 0);
    return rank->comm ? agree(rank, pools, err) : RLF_OK;
}

rlf_status
rlf_rank_fill_pools(rlf_rank *rank, rlf_err *err)
{
    if (!rank->limit.device)
        return RLF_OK; /* the host's memory is for others too */
    rlf_pools pools = {.arena = rlf_arena_new()};
    rlf_status status = fill_pools(rank, &pools, err);
    rlf_arena_free(pools.arena);
    return status;
}
