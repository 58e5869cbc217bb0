/* The collectives that add, once for every transport.
 *
 * Blocks go to their owner, who adds those of all members in the tree of
 * sum.c. They come in chunks that stay in the cache between their arrival and
 * their addition; while one is added the next one travels. Within a process
 * nothing travels: an owner reads what the others have. What is small goes to
 * everyone, and everyone adds all of it: the same tree, one message less. */
#include "engine/comm/internal.h"

/* All-reduce of at most that many bytes by as many members: all to all. */
#define SMALL_BYTES LEAST_CHUNK
#define SMALL_MEMBERS 16
#define CHUNKS 2 /* travel at a time */

/* A reduction under way. */
typedef struct reduction {
    rlf_group *group;
    rlf_comm_kind kind;
    const char *in;
    char *out;            /* the own block of the result */
    const size_t *counts; /* [n] elements that each owns */
    size_t size;          /* of an element */
    size_t chunk;         /* elements */
    rlf_comm_type type;
    rlf_comm_op op;
    rlf_batch *batch[CHUNKS];
} reduction;

static size_t
chunk_length(size_t count, size_t chunk, size_t i)
{
    size_t at = i * chunk;
    return at >= count ? 0 : count - at < chunk ? count - at : chunk;
}

/* The place that chunk i from member `from` is received in. */
static char *
staging_at(const reduction *a, size_t i, int from)
{
    size_t slot = i % CHUNKS * (size_t)a->group->n + (size_t)from;
    return a->group->comm->staging + slot * a->chunk * a->size;
}

/* Chunk i of every member's block to its owner, and of the own from all. */
static rlf_status
chunk_start(reduction *a, size_t i, rlf_err *err)
{
    rlf_group *g = a->group;
    int n_sends = 0, n_receives = 0, me = g->index;
    size_t own = chunk_length(a->counts[me], a->chunk, i) * a->size;
    size_t before = 0;
    for (int to = 0; to < g->n; to++) {
        size_t length = chunk_length(a->counts[to], a->chunk, i);
        size_t at = (before + i * a->chunk) * a->size;
        before += a->counts[to];
        if (to == me)
            continue;
        if (length)
            g->sends[n_sends++] =
                (rlf_part){to, (char *)a->in + at, length * a->size};
        if (own)
            g->receives[n_receives++] =
                (rlf_part){to, staging_at(a, i, to), own};
    }
    return rlf_batch_begin(g, a->kind, 0, g->sends, n_sends, g->receives,
                           n_receives, &a->batch[i % CHUNKS], err);
}

static void
chunk_add(reduction *a, size_t i)
{
    rlf_group *g = a->group;
    size_t length = chunk_length(a->counts[g->index], a->chunk, i);
    if (!length)
        return;
    size_t before = i * a->chunk;
    for (int m = 0; m < g->index; m++)
        before += a->counts[m];
    for (int m = 0; m < g->n; m++)
        g->parts[m] =
            m == g->index ? a->in + before * a->size : staging_at(a, i, m);
    rlf_comm_fold(a->out + i * a->chunk * a->size, g->parts, g->n, length,
                  a->type, a->op);
}

/* Staging for a chunk from every member, CHUNKS times. */
static rlf_status
choose_chunk(reduction *a, rlf_err *err)
{
    rlf_comm *comm = a->group->comm;
    size_t slots = CHUNKS * (size_t)a->group->n;
    size_t bytes = STAGING_BYTES / slots / 64 * 64;
    if (bytes < LEAST_CHUNK)
        bytes = LEAST_CHUNK;
    if (comm->staging_bytes < bytes * slots) {
        free(comm->staging);
        comm->staging_bytes = 0;
        comm->staging = rlf_try_malloc_aligned(bytes * slots);
        if (!comm->staging)
            return rlf_fail_memory(err, bytes * slots,
                                   "the sums of a group of ranks");
        comm->staging_bytes = bytes * slots;
    }
    a->chunk = bytes / a->size;
    return RLF_OK;
}

/* Elements that are added between two signs of life. */
#define BETWEEN_HEARTBEATS ((size_t)1 << 20)

/* Are all blocks large enough to be read where their senders have them? */
static bool
can_borrow(const reduction *a)
{
    const rlf_group *g = a->group;
    for (int i = 0; i < g->n; i++)
        if (a->counts[i] && a->counts[i] * a->size <= EAGER_BYTES)
            return false;
    return g->one_process;
}

/* The own block of all members, where they have it. */
static void
add_borrowed(reduction *a, const rlf_part *receives, int n_receives,
             size_t before)
{
    rlf_group *g = a->group;
    size_t own = a->counts[g->index];
    for (size_t at = 0; at < own; at += BETWEEN_HEARTBEATS) {
        size_t n =
            own - at < BETWEEN_HEARTBEATS ? own - at : BETWEEN_HEARTBEATS;
        g->parts[g->index] = a->in + (before + at) * a->size;
        for (int i = 0; i < n_receives; i++)
            g->parts[receives[i].peer] =
                (const char *)receives[i].data + at * a->size;
        rlf_comm_fold(a->out + at * a->size, g->parts, g->n, n, a->type, a->op);
        rlf_comm_heartbeat(g->comm);
    }
}

/* Nothing is copied: each adds its block straight from the others' memory. */
static rlf_status
add_in_place(reduction *a, rlf_err *err)
{
    rlf_group *g = a->group;
    int n_sends = 0, n_receives = 0, me = g->index;
    size_t own = a->counts[me] * a->size, before = 0, mine = 0;
    for (int i = 0; i < g->n; i++) {
        char *block = (char *)a->in + before * a->size;
        if (i == me)
            mine = before;
        else if (a->counts[i])
            g->sends[n_sends++] = (rlf_part){i, block, a->counts[i] * a->size};
        if (i != me && own)
            g->receives[n_receives++] = (rlf_part){i, NULL, own};
        before += a->counts[i];
    }
    rlf_batch *batch;
    RLF_TRY(rlf_batch_borrow(g, a->kind, g->sends, n_sends, g->receives,
                             n_receives, &batch, err));
    add_borrowed(a, g->receives, n_receives, mine);
    return rlf_batch_return(&batch, err);
}

static rlf_status
add_blocks(reduction *a, rlf_err *err)
{
    rlf_group *g = a->group;
    if (can_borrow(a))
        return add_in_place(a, err);
    RLF_TRY(choose_chunk(a, err));
    size_t most = 0, n_chunks;
    for (int i = 0; i < g->n; i++)
        most = a->counts[i] > most ? a->counts[i] : most;
    n_chunks = (most + a->chunk - 1) / a->chunk;
    for (size_t i = 0; i < CHUNKS && i < n_chunks; i++)
        RLF_TRY(chunk_start(a, i, err));
    for (size_t i = 0; i < n_chunks; i++) {
        RLF_TRY(rlf_batch_wait(&a->batch[i % CHUNKS], err));
        chunk_add(a, i);
        if (i + CHUNKS < n_chunks)
            RLF_TRY(chunk_start(a, i + CHUNKS, err));
    }
    return RLF_OK;
}

/* Everyone gets everything and adds it. */

static rlf_status
all_reduce_small(reduction *a, size_t bytes, rlf_err *err)
{
    rlf_group *g = a->group;
    int n = 0;
    a->chunk = bytes / a->size;
    for (int i = 0; i < g->n; i++) {
        g->parts[i] = a->in;
        if (i == g->index)
            continue;
        g->parts[i] = staging_at(a, 0, i);
        g->sends[n] = (rlf_part){i, (char *)a->in, bytes};
        g->receives[n++] = (rlf_part){i, staging_at(a, 0, i), bytes};
    }
    RLF_TRY(rlf_batch_run(g, a->kind, g->sends, n, g->receives, n, err));
    rlf_comm_fold(a->out, g->parts, g->n, a->chunk, a->type, a->op);
    return RLF_OK;
}

rlf_status
rlf_group_all_reduce(rlf_group *group, const void *in, void *out, size_t n,
                     rlf_comm_type type, rlf_comm_op op, rlf_err *err)
{
    reduction a = {.group = group,
                   .kind = RLF_KIND_ALL_REDUCE,
                   .in = in,
                   .out = out,
                   .counts = group->counts,
                   .size = rlf_comm_type_size(type),
                   .type = type,
                   .op = op};
    if (!n)
        return rlf_comm_check(group->comm->world, err);
    rlf_group_meet(group);
    RLF_TRY(choose_chunk(&a, err));
    if (n * a.size <= SMALL_BYTES && group->n <= SMALL_MEMBERS)
        return all_reduce_small(&a, n * a.size, err);
    for (int i = 0; i < group->n; i++)
        group->counts[i] = rlf_group_block(n, group->n, i + 1) -
                           rlf_group_block(n, group->n, i);
    a.out = (char *)out + rlf_group_block(n, group->n, group->index) * a.size;
    RLF_TRY(add_blocks(&a, err));
    for (int i = 0; i < group->n; i++)
        group->counts[i] *= a.size;
    return rlf_group_gather(group, a.kind, a.out, group->counts, out, err);
}

rlf_status
rlf_group_reduce_scatter(rlf_group *group, const void *in, void *out,
                         const size_t *counts, rlf_comm_type type,
                         rlf_comm_op op, rlf_err *err)
{
    reduction a = {.group = group,
                   .kind = RLF_KIND_REDUCE_SCATTER,
                   .in = in,
                   .out = out,
                   .counts = counts,
                   .size = rlf_comm_type_size(type),
                   .type = type,
                   .op = op};
    RLF_TRY(rlf_comm_check(group->comm->world, err));
    rlf_group_meet(group);
    return add_blocks(&a, err);
}
