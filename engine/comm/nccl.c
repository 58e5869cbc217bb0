/* Device memory from GPU to GPU, over NCCL's send and receive.
 *
 * One communicator over all ranks serves every group: a call is some sends and
 * receives between pairs, all at once, in the order of the queue. What adds
 * does so in our tree on the GPU (fold), so bits are those of reduce.c; the
 * blocks and chunks are its too. Nothing here waits for a message: the calls
 * are put into the queue, and while the host waits for that a watch looks at
 * the abort word, at NCCL and at the limit, and ends what is under way if need
 * be. So NCCL is used by the rank's own thread alone. Messages that are started
 * (rlf_device_start) do not come here: see device.c. */
#include "engine/comm/nccl.h"
#include "engine/base/clock.h"
#include "engine/comm/port.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Up to that much everyone gets everything and adds it. */
#define SMALL_BYTES ((size_t)512 << 10)
#define SPIN_NS 2000000
#define NAP_NS 50000

typedef struct nccl_state {
    const rlf_nccl *nccl;
    rlf_fold_fn *fold;
    void *comm; /* NULL: ended */
    const char *doing;
    uint64_t since; /* this wait began, or a peer's last heartbeat */
    uint32_t heartbeats;
} nccl_state;

/* ---- waiting and ending ---- */

/* NCCL does not end before all recordings that have its calls have; those that
 * are left are of no use then. */
static void
end_recordings(rlf_port *port)
{
    port->queue->device->ops->recordings_end(port->queue);
}

/* Nothing of the device is read or written by others any more. */
static void
stop(rlf_port *port)
{
    nccl_state *s = port->state;
    rlf_err ignored = RLF_ERR_NONE;
    port->queue->watch = NULL;
    end_recordings(port);
    if (s->comm)
        s->nccl->abort(s->comm);
    s->comm = NULL;
    rlf_queue_sync(port->queue, &ignored);
}

static rlf_status
give_up(rlf_port *port, rlf_err *err)
{
    stop(port);
    return rlf_comm_give_up(port->comm, err);
}

static rlf_status
failed(rlf_port *port, int result, rlf_err *err)
{
    nccl_state *s = port->state;
    rlf_fail(err, RLF_ENV, "NCCL fails in %s: %s", s->doing,
             s->nccl->text(result));
    rlf_err_hint(err, "NCCL_DEBUG=WARN in the environment makes it say more");
    return give_up(port, err);
}

/* Returns the heartbeats of the other ranks of this process. */
static uint32_t
heartbeats_of_others(const rlf_comm *comm)
{
    uint32_t sum = 0;
    for (int i = 0; i < comm->world->local; i++)
        if (i != comm->index)
            sum += __atomic_load_n(&comm->world->ends[i]->heartbeat,
                                   __ATOMIC_RELAXED);
    return sum;
}

static rlf_status
look_at_limit(rlf_port *port, rlf_err *err)
{
    nccl_state *s = port->state;
    double limit = port->comm->world->options.limit;
    if (limit <= 0 || rlf_clock_since(s->since) < limit)
        return RLF_OK;
    uint32_t heartbeats = heartbeats_of_others(port->comm);
    if (heartbeats != s->heartbeats) {
        s->heartbeats = heartbeats;
        s->since = rlf_clock_now();
        return RLF_OK;
    }
    rlf_fail(err, RLF_ENV,
             "rank %d has waited %.1f s for its GPU and the ranks that it "
             "shares %s with, longer than the limit of %g s",
             port->comm->rank, rlf_clock_since(s->since), s->doing, limit);
    rlf_err_hint(err, "see what those ranks were doing; if they were working, "
                      "raise the limit");
    return give_up(port, err);
}

/* Is all well? Then let others work. */
static rlf_status
look(rlf_port *port, bool first, rlf_err *err)
{
    nccl_state *s = port->state;
    rlf_comm *comm = port->comm;
    if (first) {
        s->since = rlf_clock_now();
        s->heartbeats = heartbeats_of_others(comm);
    }
    if (rlf_world_aborted(comm->world))
        return give_up(port, err);
    int result = s->nccl->state(s->comm);
    if (result != RLF_NCCL_OK && result != RLF_NCCL_BUSY)
        return failed(port, result, err);
    RLF_TRY(look_at_limit(port, err));
    if (comm->spin)
        rlf_futex_relax();
    else if (rlf_clock_now() - s->since < SPIN_NS)
        sched_yield();
    else
        rlf_clock_sleep(NAP_NS);
    return RLF_OK;
}

/* Called by rlf_queue_sync() and rlf_event_sync() while they wait. */
static rlf_status
watch(void *ctx, bool first, rlf_err *err)
{
    rlf_port *port = ctx;
    if (rlf_comm_progress(port->comm, err) < 0)
        return give_up(port, err);
    return look(port, first, err);
}

/* Until NCCL has done what it was asked for: the queue has it. The queue may
 * record, so messages of the host stay where they are. */
static rlf_status
settle(rlf_port *port, int result, rlf_err *err)
{
    nccl_state *s = port->state;
    for (bool first = true; result == RLF_NCCL_BUSY; first = false) {
        RLF_TRY(look(port, first, err));
        result = s->nccl->state(s->comm);
    }
    return result == RLF_NCCL_OK ? RLF_OK : failed(port, result, err);
}

/* ---- messages ---- */

/* A call begins under this name. */
static rlf_status
enter(rlf_port *port, rlf_comm_kind kind, rlf_err *err)
{
    nccl_state *s = port->state;
    s->doing = rlf_kind_names[kind];
    return s->comm ? RLF_OK : rlf_comm_give_up(port->comm, err);
}

/* Copies messages of a rank to itself: the i-th that goes is the i-th that
 * comes. */
static rlf_status
copy_own(rlf_port *port, int me, const rlf_part *sends, int n_sends,
         const rlf_part *receives, int n_receives, rlf_err *err)
{
    int k = 0;
    for (int i = 0; i < n_sends; i++) {
        if (sends[i].peer != me)
            continue;
        while (k < n_receives && receives[k].peer != me)
            k++;
        if (k == n_receives || receives[k].bytes != sends[i].bytes)
            return rlf_fail(err, RLF_BUG,
                            "rank %d sends itself what it does not expect",
                            port->comm->rank);
        RLF_TRY(rlf_queue_copy(port->queue, receives[k++].data, sends[i].data,
                               sends[i].bytes, RLF_COPY_ON_DEVICE, err));
    }
    return RLF_OK;
}

/* One side of some messages. */
static int
put(rlf_port *port, const rlf_group *group, bool send, const rlf_part *parts,
    int n)
{
    nccl_state *s = port->state;
    int result = RLF_NCCL_OK;
    for (int i = 0; i < n && result == RLF_NCCL_OK; i++) {
        const rlf_part *p = &parts[i];
        int peer = group->ranks[p->peer];
        if (!p->bytes || p->peer == group->index)
            continue;
        result =
            send ? s->nccl->send(s->comm, p->data, p->bytes, peer, port->queue)
                 : s->nccl->receive(s->comm, p->data, p->bytes, peer,
                                    port->queue);
        port->comm->n_sent += send ? p->bytes : 0;
        result = result == RLF_NCCL_BUSY ? RLF_NCCL_OK : result;
    }
    return result;
}

/* All of them at once, into the queue. */
static rlf_status
send_and_receive(rlf_port *port, const rlf_group *group, const rlf_part *sends,
                 int n_sends, const rlf_part *receives, int n_receives,
                 rlf_err *err)
{
    nccl_state *s = port->state;
    RLF_TRY(copy_own(port, group->index, sends, n_sends, receives, n_receives,
                     err));
    int result = s->nccl->begin();
    if (result != RLF_NCCL_OK)
        return failed(port, result, err);
    int sent = put(port, group, true, sends, n_sends);
    int received = sent == RLF_NCCL_OK
                       ? put(port, group, false, receives, n_receives)
                       : sent;
    result = s->nccl->end();
    rlf_comm_heartbeat(port->comm);
    return settle(port, received == RLF_NCCL_OK ? result : received, err);
}

/* Messages between the slots of staged.c. */
static rlf_status
nccl_parts(rlf_port *port, rlf_group *group, int tag, const rlf_part *sends,
           int n_sends, const rlf_part *receives, int n_receives, rlf_err *err)
{
    (void)tag;
    RLF_TRY(enter(port, RLF_KIND_BATCH, err));
    return send_and_receive(port, group, sends, n_sends, receives, n_receives,
                            err);
}

/* ---- collectives that move ---- */

/* As in group.c: of one step the partners all differ. */
static rlf_status
gather(rlf_port *port, rlf_group *group, const char *data, const size_t *bytes,
       char *out, rlf_err *err)
{
    int n = group->n, me = group->index;
    for (int i = 0; i < n; i++) {
        int step = (i - me + n) % n;
        group->sends[step] = (rlf_part){i, (char *)data, bytes[me]};
        group->receives[step] = (rlf_part){i, out, bytes[i]};
        out += bytes[i];
    }
    int first = group->receives[0].data == data; /* it is there already */
    return send_and_receive(port, group, group->sends + first, n - first,
                            group->receives + first, n - first, err);
}

static rlf_status
nccl_all_gather(rlf_port *port, rlf_group *group, const char *data,
                const size_t *bytes, char *out, rlf_err *err)
{
    RLF_TRY(enter(port, RLF_KIND_ALL_GATHER, err));
    return gather(port, group, data, bytes, out, err);
}

/* ---- collectives that add ---- */

static size_t
piece(size_t count, size_t chunk, size_t i)
{
    size_t at = i * chunk;
    return at >= count ? 0 : count - at < chunk ? count - at : chunk;
}

static rlf_status
add_small(rlf_port *port, rlf_group *group, const rlf_reduction *a,
          rlf_err *err)
{
    nccl_state *s = port->state;
    size_t bytes = a->n * a->size;
    int n = 0;
    for (int i = 0; i < group->n; i++) {
        char *room = port->slot[0] + (size_t)i * bytes;
        group->parts[i] = i == group->index ? a->in : room;
        if (i == group->index)
            continue;
        group->sends[n] = (rlf_part){i, (char *)a->in, bytes};
        group->receives[n++] = (rlf_part){i, room, bytes};
    }
    RLF_TRY(send_and_receive(port, group, group->sends, n, group->receives, n,
                             err));
    return s->fold(port->queue, a->out, group->parts, group->n, a->n, a->type,
                   a->op, err);
}

/* Chunk i of every member's block goes to its owner, who adds its own. */
static rlf_status
add_chunk(rlf_port *port, rlf_group *group, const rlf_reduction *a,
          const size_t *counts, size_t chunk, size_t i, char *out, rlf_err *err)
{
    nccl_state *s = port->state;
    size_t before = 0, own = piece(counts[group->index], chunk, i);
    int n_sends = 0, n_receives = 0;
    for (int m = 0; m < group->n; m++) {
        const char *from = a->in + (before + i * chunk) * a->size;
        char *room = port->slot[i % SLOTS] + (size_t)m * chunk * a->size;
        size_t n = piece(counts[m], chunk, i);
        before += counts[m];
        group->parts[m] = m == group->index ? from : room;
        if (m == group->index)
            continue;
        group->sends[n_sends++] = (rlf_part){m, (char *)from, n * a->size};
        group->receives[n_receives++] = (rlf_part){m, room, own * a->size};
    }
    RLF_TRY(send_and_receive(port, group, group->sends, n_sends,
                             group->receives, n_receives, err));
    return own ? s->fold(port->queue, out + i * chunk * a->size, group->parts,
                         group->n, own, a->type, a->op, err)
               : RLF_OK;
}

static rlf_status
add_blocks(rlf_port *port, rlf_group *group, const rlf_reduction *a,
           const size_t *counts, char *out, rlf_err *err)
{
    size_t n = (size_t)group->n, most = 0;
    size_t chunk =
        port->slot_bytes / n / RLF_SLOT_ALIGNED * RLF_SLOT_ALIGNED / a->size;
    for (size_t i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    for (size_t i = 0; i * chunk < most; i++)
        RLF_TRY(add_chunk(port, group, a, counts, chunk, i, out, err));
    return RLF_OK;
}

static rlf_status
all_reduce(rlf_port *port, rlf_group *group, const rlf_reduction *a,
           rlf_err *err)
{
    int n = group->n;
    size_t bytes = a->n * a->size;
    if (!a->n)
        return RLF_OK;
    if (bytes <= SMALL_BYTES && bytes * (size_t)n <= port->slot_bytes)
        return add_small(port, group, a, err);
    for (int i = 0; i < n; i++)
        group->counts[i] =
            rlf_group_block(a->n, n, i + 1) - rlf_group_block(a->n, n, i);
    char *own = a->out + rlf_group_block(a->n, n, group->index) * a->size;
    RLF_TRY(add_blocks(port, group, a, group->counts, own, err));
    for (int i = 0; i < n; i++)
        group->counts[i] *= a->size;
    return gather(port, group, own, group->counts, a->out, err);
}

static rlf_status
nccl_add(rlf_port *port, rlf_group *group, const rlf_reduction *a, rlf_err *err)
{
    RLF_TRY(enter(port, a->kind, err));
    if (a->kind == RLF_KIND_ALL_REDUCE)
        return all_reduce(port, group, a, err);
    return add_blocks(port, group, a, a->counts, a->out, err);
}

/* ---- the transport ---- */

/* NCCL takes memory for a peer when it first hears of it: now, so that it is
 * known. */
static rlf_status
greet(rlf_port *port, rlf_err *err)
{
    rlf_group *all = rlf_group_world(port->comm);
    size_t *bytes = rlf_calloc((size_t)all->n, sizeof *bytes);
    for (int i = 0; i < all->n; i++)
        bytes[i] = RLF_SLOT_ALIGNED;
    rlf_status status =
        nccl_all_gather(port, all, port->slot[0], bytes, port->slot[1], err);
    free(bytes);
    return status < 0 ? status : rlf_queue_sync(port->queue, err);
}

static rlf_status
start(rlf_port *port, rlf_err *err)
{
    nccl_state *s = port->state;
    rlf_comm *comm = port->comm;
    char id[RLF_NCCL_ID] = {0};
    s->doing = "its start";
    int result = comm->rank == 0 ? s->nccl->id(id) : RLF_NCCL_OK;
    if (result != RLF_NCCL_OK)
        return failed(port, result, err);
    RLF_TRY(rlf_group_bcast(rlf_group_world(comm), 0, id, sizeof id, err));
    result = s->nccl->open(&s->comm, comm->world->size, id, comm->rank);
    RLF_TRY(settle(port, result, err));
    port->queue->watch = watch;
    port->queue->watch_ctx = port;
    RLF_TRY(rlf_slots_open(port, err));
    return greet(port, err);
}

static void
nccl_close(rlf_port *port)
{
    nccl_state *s = port->state;
    rlf_err err = RLF_ERR_NONE;
    end_recordings(port);
    if (s->comm && !rlf_world_aborted(port->comm->world) &&
        settle(port, s->nccl->finish(s->comm), &err) == RLF_OK) {
        s->nccl->close(s->comm);
        s->comm = NULL;
    }
    stop(port);
    rlf_staged_close(port);
    free(s);
}

const rlf_device_transport_ops rlf_device_transport_nccl = {
    .name = "nccl",
    .doc = "from GPU to GPU, by NCCL",
    .queued = true,
    .exchange = rlf_staged_exchange,
    .exchange_parts = nccl_parts,
    .all_gather = nccl_all_gather,
    .add = nccl_add,
    .close = nccl_close,
};

/* A positive number of the environment, as NCCL reads it. */
static size_t
setting(const char *name, size_t otherwise)
{
    const char *text = getenv(name);
    long long n = text ? atoll(text) : 0;
    return n > 0 ? (size_t)n : otherwise;
}

size_t
rlf_nccl_bytes(int n)
{
    enum { CHANNELS = 32, BUFFER = 4 << 20 };
    size_t channels = setting("NCCL_MAX_P2P_NCHANNELS", CHANNELS);
    return (size_t)(n - 1) * channels * setting("NCCL_BUFFSIZE", BUFFER);
}

/* All but the slots is NCCL's. */
static void
count_taken(rlf_port *port, size_t now, size_t before)
{
    size_t more = now > before ? now - before : 0,
           own = port->transport.device_bytes;
    port->transport.nccl_bytes = more > own ? more - own : 0;
}

rlf_status
rlf_nccl_open(rlf_port *port, const rlf_attach_options *options, rlf_err *err)
{
    rlf_device *device = port->queue->device;
    nccl_state *s = rlf_calloc(1, sizeof *s);
    s->nccl = options->nccl;
    s->fold = options->fold;
    port->state = s;
    port->ops = &rlf_device_transport_nccl;
    port->parts = nccl_parts;
    port->on_device = true;
    size_t before = options->taken ? options->taken(device) : 0;
    RLF_TRY(start(port, err));
    if (options->taken)
        count_taken(port, options->taken(device), before);
    return RLF_OK;
}
