/* Groups, and the collectives that only move: each is one batch or a few. */
#include "engine/comm/internal.h"

/* Bytes from which on a broadcast between processes is a scatter and an
 * all-gather. */
#define SCATTER_BYTES ((size_t)1 << 18)

rlf_group *
rlf_group_planned(int n, int index)
{
    rlf_group *g = rlf_calloc(1, sizeof *g);
    g->n = n;
    g->index = index;
    return g;
}

rlf_status
rlf_group_new(rlf_comm *comm, const int *ranks, int n, rlf_group **out,
              rlf_err *err)
{
    const rlf_comm_world *world = comm->world;
    *out = NULL;
    int index = -1;
    bool one_process = true;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= world->size)
            return rlf_fail(err, RLF_BUG,
                            "a group names rank %d in a world of %d", ranks[i],
                            world->size);
        for (int j = 0; j < i; j++)
            if (ranks[j] == ranks[i])
                return rlf_fail(err, RLF_BUG, "a group names rank %d twice",
                                ranks[i]);
        if (ranks[i] == comm->rank)
            index = i;
        one_process &=
            rlf_process_of(world, ranks[i]) == rlf_process_of(world, ranks[0]);
    }
    if (index < 0)
        return rlf_fail(err, RLF_BUG, "rank %d is not in the group it makes",
                        comm->rank);
    rlf_group *g = rlf_group_planned(n, index);
    g->comm = comm;
    g->ranks = rlf_calloc((size_t)n, sizeof *g->ranks);
    memcpy(g->ranks, ranks, (size_t)n * sizeof *ranks);
    g->one_process = one_process;
    g->sends = rlf_calloc(2 * (size_t)n, sizeof *g->sends);
    g->receives = g->sends + n;
    g->counts = rlf_calloc((size_t)n, sizeof *g->counts);
    g->parts = rlf_calloc((size_t)n, sizeof *g->parts);
    *out = g;
    return RLF_OK;
}

rlf_status
rlf_group_part(const rlf_group *group, int first, int n, rlf_group **out,
               rlf_err *err)
{
    RLF_ASSERT(first >= 0 && n > 0 && first + n <= group->n);
    if (!group->comm) {
        *out = rlf_group_planned(n, group->index - first);
        return RLF_OK;
    }
    return rlf_group_new(group->comm, group->ranks + first, n, out, err);
}

void
rlf_group_free(rlf_group *group)
{
    if (!group)
        return;
    free(group->ranks);
    free(group->sends);
    free(group->counts);
    free(group->parts);
    free(group);
}

rlf_group *
rlf_group_world(rlf_comm *comm)
{
    return comm->all;
}

int
rlf_group_size(const rlf_group *group)
{
    return group->n;
}

int
rlf_group_index(const rlf_group *group)
{
    return group->index;
}

int
rlf_group_rank(const rlf_group *group, int at)
{
    RLF_ASSERT(group->ranks);
    return group->ranks[at];
}

/* After round k everyone has heard, through others, of 2^k members. */
rlf_status
rlf_group_barrier(rlf_group *group, rlf_err *err)
{
    int n = group->n, me = group->index;
    rlf_group_meet(group);
    for (int far = 1; far < n; far *= 2) {
        rlf_part to = {.peer = (me + far) % n};
        rlf_part from = {.peer = (me - far + n) % n};
        RLF_TRY(rlf_batch_run(group, RLF_KIND_BARRIER, &to, 1, &from, 1, err));
    }
    return RLF_OK;
}

/* Within a process all copy from the root at the same time. */
static rlf_status
bcast_flat(rlf_group *group, int root, void *data, size_t bytes, rlf_err *err)
{
    rlf_part from = {root, data, bytes};
    if (group->index != root)
        return rlf_batch_run(group, RLF_KIND_BCAST, NULL, 0, &from, 1, err);
    int n = 0;
    for (int i = 0; i < group->n; i++)
        if (i != root)
            group->sends[n++] = (rlf_part){i, data, bytes};
    return rlf_batch_run(group, RLF_KIND_BCAST, group->sends, n, NULL, 0, err);
}

/* A member that has the data sends it half of the way on, farthest first. */
static rlf_status
bcast_tree(rlf_group *group, int root, void *data, size_t bytes, rlf_err *err)
{
    int n = group->n, me = (group->index - root + n) % n, far = 1;
    while (far < n && !(me & far))
        far *= 2;
    if (me) {
        rlf_part from = {(me - far + root) % n, data, bytes};
        RLF_TRY(rlf_batch_run(group, RLF_KIND_BCAST, NULL, 0, &from, 1, err));
    }
    int n_sends = 0;
    for (far /= 2; far; far /= 2)
        if (me + far < n)
            group->sends[n_sends++] =
                (rlf_part){(me + far + root) % n, data, bytes};
    return rlf_batch_run(group, RLF_KIND_BCAST, group->sends, n_sends, NULL, 0,
                         err);
}

size_t
rlf_group_block(size_t n, int n_blocks, int i)
{
    size_t of = (size_t)n_blocks, at = (size_t)i;
    return n / of * at + n % of * at / of;
}

/* The root deals out even blocks, and all give theirs to all. */
static rlf_status
bcast_scatter(rlf_group *group, int root, char *data, size_t bytes,
              rlf_err *err)
{
    int n = group->n, me = group->index, n_sends = 0;
    rlf_part own = {.peer = root};
    for (int i = 0; i < n; i++) {
        size_t at = rlf_group_block(bytes, n, i);
        group->counts[i] = rlf_group_block(bytes, n, i + 1) - at;
        if (i == me)
            own = (rlf_part){root, data + at, group->counts[i]};
        else if (me == root)
            group->sends[n_sends++] =
                (rlf_part){i, data + at, group->counts[i]};
    }
    RLF_TRY(rlf_batch_run(group, RLF_KIND_BCAST, group->sends, n_sends, &own,
                          me != root, err));
    return rlf_group_gather(group, RLF_KIND_BCAST, own.data, group->counts,
                            data, err);
}

rlf_status
rlf_group_bcast(rlf_group *group, int root, void *data, size_t bytes,
                rlf_err *err)
{
    RLF_ASSERT(root >= 0 && root < group->n);
    if (group->n == 1 || !bytes)
        return rlf_comm_check(group->comm->world, err);
    rlf_group_meet(group);
    if (group->one_process)
        return bcast_flat(group, root, data, bytes, err);
    if (bytes < SCATTER_BYTES || group->n == 2)
        return bcast_tree(group, root, data, bytes, err);
    return bcast_scatter(group, root, data, bytes, err);
}

/* Of sends[0..n) and receives[0..n), where number `step` is for the member
 * that is `step` further: start those with bytes, but not to itself. So the
 * partners of a step all differ, and nobody is everybody's first. */
static rlf_status
run_steps(rlf_group *group, rlf_comm_kind kind, rlf_err *err)
{
    int n_sends = 0, n_receives = 0;
    for (int step = 1; step < group->n; step++) {
        if (group->sends[step].bytes)
            group->sends[n_sends++] = group->sends[step];
        if (group->receives[step].bytes)
            group->receives[n_receives++] = group->receives[step];
    }
    return rlf_batch_run(group, kind, group->sends, n_sends, group->receives,
                         n_receives, err);
}

rlf_status
rlf_group_gather(rlf_group *group, rlf_comm_kind kind, const void *data,
                 const size_t *bytes, void *out, rlf_err *err)
{
    int n = group->n, me = group->index;
    char *at = out;
    for (int i = 0; i < n; i++) {
        int step = (i - me + n) % n;
        group->sends[step] = (rlf_part){i, (void *)data, bytes[me]};
        group->receives[step] = (rlf_part){i, at, bytes[i]};
        if (i == me && bytes[i] && at != data)
            memcpy(at, data, bytes[i]);
        at += bytes[i];
    }
    return run_steps(group, kind, err);
}

rlf_status
rlf_group_all_gatherv(rlf_group *group, const void *data, const size_t *bytes,
                      void *out, rlf_err *err)
{
    rlf_group_meet(group);
    return rlf_group_gather(group, RLF_KIND_ALL_GATHER, data, bytes, out, err);
}

rlf_status
rlf_group_all_gather(rlf_group *group, const void *data, size_t bytes,
                     void *out, rlf_err *err)
{
    for (int i = 0; i < group->n; i++)
        group->counts[i] = bytes;
    rlf_group_meet(group);
    return rlf_group_gather(group, RLF_KIND_ALL_GATHER, data, group->counts,
                            out, err);
}
