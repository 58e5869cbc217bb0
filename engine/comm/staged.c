/* Device memory by way of the host: what is sent is copied to pinned memory,
 * goes with the calls of comm.h, and what came is copied back.
 *
 * A call goes in rounds, each through one of two slots: while a round is on its
 * way between ranks, the next one's bytes come from the device and those of the
 * last one go to it. So its memory has a bound, the same for every call. All
 * that is added is added by reduce.c, element by element: rounds change no bit.
 */
#include "engine/comm/port.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_BYTES ((size_t)8 << 20)
#define LEAST_PIECE ((size_t)64 << 10)
#define ALIGNED RLF_SLOT_ALIGNED

/* One call of device.h. The two functions say what a round is. */
typedef struct job job;
struct job {
    rlf_port *port;
    rlf_group *group;
    size_t n_rounds;
    /* Copies between device and slot, to the host (before) or back (after). */
    rlf_status (*copies)(job *j, size_t round, char *slot, bool back,
                         rlf_err *err);
    rlf_status (*communicate)(job *j, size_t round, char *slot, rlf_err *err);
    /* Of its kind: */
    const rlf_reduction *reduction;
    const char *in;
    char *out;
    const size_t *in_bytes; /* [n] */
    size_t chunk;           /* bytes of a block in a round */
    size_t bytes;
    int tag;
    const rlf_strided_message *sends, *receives;
    int n_sends, n_receives;
    size_t *counts; /* [n], of the round */
    rlf_part *parts;
};

size_t
rlf_device_staging(int n)
{
    size_t least = 2 * (size_t)n * LEAST_PIECE;
    return SLOTS * (SLOT_BYTES > least ? SLOT_BYTES : least);
}

/* ---- rounds ---- */

/* The queue's work with the slot, up to now. */
static rlf_status
mark(rlf_port *port, size_t slot, rlf_err *err)
{
    return port->queue->device->ops->event_record(port->used[slot], port->queue,
                                                  err);
}

static rlf_status
fetch(job *j, size_t round, rlf_err *err)
{
    size_t slot = round % SLOTS;
    RLF_TRY(j->copies(j, round, j->port->slot[slot], false, err));
    return mark(j->port, slot, err);
}

static rlf_status
run(job *j, rlf_err *err)
{
    rlf_port *port = j->port;
    if (j->n_rounds)
        RLF_TRY(fetch(j, 0, err));
    for (size_t r = 0; r < j->n_rounds; r++) {
        size_t slot = r % SLOTS;
        if (r + 1 < j->n_rounds)
            RLF_TRY(fetch(j, r + 1, err));
        if (!port->on_device)
            RLF_TRY(rlf_port_await(port, port->used[slot], err));
        RLF_TRY(j->communicate(j, r, port->slot[slot], err));
        RLF_TRY(j->copies(j, r, port->slot[slot], true, err));
        RLF_TRY(mark(port, slot, err));
    }
    return RLF_OK;
}

static rlf_copy
kind_of(const job *j, bool back)
{
    return j->port->on_device ? RLF_COPY_ON_DEVICE
           : back             ? RLF_COPY_TO_DEVICE
                              : RLF_COPY_TO_HOST;
}

static rlf_status
copy(const job *j, char *device, char *slot, size_t bytes, bool back,
     rlf_err *err)
{
    return rlf_queue_copy(j->port->queue, back ? device : slot,
                          back ? slot : device, bytes, kind_of(j, back), err);
}

/* Of `bytes` in pieces of `chunk`, those of piece i. */
static size_t
piece(size_t bytes, size_t chunk, size_t i)
{
    size_t at = i * chunk;
    return at >= bytes ? 0 : bytes - at < chunk ? bytes - at : chunk;
}

static size_t
rounds(size_t bytes, size_t chunk)
{
    return (bytes + chunk - 1) / chunk;
}

static size_t
largest(const size_t *bytes, int n)
{
    size_t most = 0;
    for (int i = 0; i < n; i++)
        most = bytes[i] > most ? bytes[i] : most;
    return most;
}

/* The slot in n blocks of equal size. */
static size_t
block_chunk(const rlf_port *port, int n)
{
    return port->slot_bytes / (size_t)n / ALIGNED * ALIGNED;
}

/* ---- all-reduce, whose data lie in one piece ---- */

static rlf_status
whole_copies(job *j, size_t round, char *slot, bool back, rlf_err *err)
{
    size_t n = piece(j->bytes, j->chunk, round), at = round * j->chunk;
    char *device = back ? j->out : (char *)j->in;
    return copy(j, device + at, slot, n, back, err);
}

static rlf_status
whole_add(job *j, size_t round, char *slot, rlf_err *err)
{
    const rlf_reduction *a = j->reduction;
    size_t n = piece(j->bytes, j->chunk, round) / a->size;
    return rlf_group_all_reduce(j->group, slot, slot, n, a->type, a->op, err);
}

/* ---- a block for each member ---- */

/* A round's piece of every block lies in the slot one after the other; `only`:
 * of one member alone, `but`: of all others. */
static rlf_status
block_copies(const job *j, size_t round, char *slot, char *device,
             const size_t *bytes, int only, int but, bool back, rlf_err *err)
{
    for (int i = 0; i < j->group->n; i++) {
        size_t n = piece(bytes[i], j->chunk, round);
        if (n && (only < 0 || i == only) && i != but)
            RLF_TRY(copy(j, device + round * j->chunk, slot, n, back, err));
        slot += n;
        device += only < 0 ? bytes[i] : 0;
    }
    return RLF_OK;
}

static void
round_counts(const job *j, size_t round, const size_t *bytes, size_t *out)
{
    for (int i = 0; i < j->group->n; i++)
        out[i] = piece(bytes[i], j->chunk, round);
}

/* The place of this member's piece in the slot. */
static char *
own_piece(const job *j, char *slot)
{
    for (int i = 0; i < j->group->index; i++)
        slot += j->counts[i];
    return slot;
}

static rlf_status
gather_copies(job *j, size_t round, char *slot, bool back, rlf_err *err)
{
    int me = j->group->index;
    return block_copies(j, round, slot, back ? j->out : (char *)j->in,
                        j->in_bytes, back ? -1 : me, back ? me : -1, back, err);
}

static rlf_status
gather_round(job *j, size_t round, char *slot, rlf_err *err)
{
    round_counts(j, round, j->in_bytes, j->counts);
    return rlf_group_all_gatherv(j->group, own_piece(j, slot), j->counts, slot,
                                 err);
}

static rlf_status
staged_all_gather(rlf_port *port, rlf_group *group, const char *data,
                  const size_t *bytes, char *out, rlf_err *err)
{
    int me = group->index;
    char *place = out;
    for (int i = 0; i < me; i++)
        place += bytes[i];
    if (place != data)
        RLF_TRY(rlf_queue_copy(port->queue, place, data, bytes[me],
                               RLF_COPY_ON_DEVICE, err));
    job j = {.port = port,
             .group = group,
             .copies = gather_copies,
             .communicate = gather_round,
             .in = data,
             .out = out,
             .in_bytes = bytes,
             .chunk = block_chunk(port, group->n),
             .counts = rlf_calloc((size_t)group->n, sizeof(size_t))};
    j.n_rounds = group->n > 1 ? rounds(largest(bytes, group->n), j.chunk) : 0;
    rlf_status status = run(&j, err);
    free(j.counts);
    return status;
}

static rlf_status
scatter_copies(job *j, size_t round, char *slot, bool back, rlf_err *err)
{
    return block_copies(j, round, slot, back ? j->out : (char *)j->in,
                        j->in_bytes, back ? j->group->index : -1, -1, back,
                        err);
}

static rlf_status
scatter_round(job *j, size_t round, char *slot, rlf_err *err)
{
    const rlf_reduction *a = j->reduction;
    round_counts(j, round, j->in_bytes, j->counts);
    char *own = own_piece(j, slot);
    for (int i = 0; i < j->group->n; i++)
        j->counts[i] /= a->size;
    return rlf_group_reduce_scatter(j->group, slot, own, j->counts, a->type,
                                    a->op, err);
}

static rlf_status
add_blocks(rlf_port *port, rlf_group *group, const rlf_reduction *a,
           rlf_err *err)
{
    size_t n = (size_t)group->n, *counts = rlf_calloc(2 * n, sizeof *counts);
    for (size_t i = 0; i < n; i++)
        counts[i] = a->counts[i] * a->size;
    job j = {.port = port,
             .group = group,
             .copies = scatter_copies,
             .communicate = scatter_round,
             .reduction = a,
             .in = a->in,
             .out = a->out,
             .in_bytes = counts,
             .chunk = block_chunk(port, group->n),
             .counts = counts + n};
    j.n_rounds = rounds(largest(counts, group->n), j.chunk);
    rlf_status status = run(&j, err);
    free(counts);
    return status;
}

static rlf_status
staged_add(rlf_port *port, rlf_group *group, const rlf_reduction *a,
           rlf_err *err)
{
    if (a->kind == RLF_KIND_REDUCE_SCATTER)
        return add_blocks(port, group, a, err);
    job j = {.port = port,
             .group = group,
             .n_rounds = rounds(a->n * a->size, port->slot_bytes),
             .copies = whole_copies,
             .communicate = whole_add,
             .reduction = a,
             .in = a->in,
             .out = a->out,
             .chunk = port->slot_bytes,
             .bytes = a->n * a->size};
    return run(&j, err);
}

/* ---- messages ---- */

static size_t
bytes_of(const rlf_strided_message *message)
{
    size_t sum = 0;
    for (int i = 0; i < message->n; i++)
        sum += message->list[i].bytes * message->list[i].rows;
    return sum;
}

/* Bytes first..first+n-1 of strided rows, and the host's. */
static rlf_status
copy_rows(const job *j, const rlf_strided_rows *s, size_t first, size_t n,
          char *host, bool back, rlf_err *err)
{
    char *data = s->data;
    if (s->stride == s->bytes)
        return copy(j, data + first, host, n, back, err);
    size_t row = first / s->bytes, at = first % s->bytes;
    if (at) { /* the rest of a row */
        size_t rest = s->bytes - at < n ? s->bytes - at : n;
        RLF_TRY(copy(j, data + row++ * s->stride + at, host, rest, back, err));
        host += rest;
        n -= rest;
    }
    size_t rows = n / s->bytes;
    char *device = data + row * s->stride;
    if (rows)
        RLF_TRY(rlf_queue_copy_rows(
            j->port->queue, back ? device : host, back ? s->stride : s->bytes,
            back ? host : device, back ? s->bytes : s->stride, s->bytes, rows,
            kind_of(j, back), err));
    n -= rows * s->bytes;
    return n ? copy(j, device + rows * s->stride, host + rows * s->bytes, n,
                    back, err)
             : RLF_OK;
}

/* Piece `round` of a message, packed. */
static rlf_status
copy_message(const job *j, const rlf_strided_message *m, size_t round,
             char *host, bool back, rlf_err *err)
{
    size_t first = round * j->chunk, last = first + j->chunk, begin = 0;
    for (int i = 0; i < m->n && begin < last; i++) {
        const rlf_strided_rows *s = &m->list[i];
        size_t end = begin + s->bytes * s->rows;
        size_t from = begin > first ? begin : first;
        size_t to = end < last ? end : last;
        if (from < to) {
            RLF_TRY(copy_rows(j, s, from - begin, to - from, host, back, err));
            host += to - from;
        }
        begin = end;
    }
    return RLF_OK;
}

/* Pieces of a message; an empty one has one too. */
static size_t
pieces_of(const job *j, const rlf_strided_message *m)
{
    size_t n = rounds(bytes_of(m), j->chunk);
    return n ? n : 1;
}

/* The pieces of a round that the messages of one side have, in their order,
 * from *at on; copied to or from the device if `copies`. Returns their number
 * in `parts`. */
static rlf_status
lay_out(job *j, size_t round, bool sends, bool copies, bool back, char **at,
        rlf_part *parts, int *n_parts, rlf_err *err)
{
    const rlf_strided_message *list = sends ? j->sends : j->receives;
    int n = sends ? j->n_sends : j->n_receives;
    *n_parts = 0;
    for (int i = 0; i < n; i++) {
        if (round >= pieces_of(j, &list[i]))
            continue;
        size_t bytes = piece(bytes_of(&list[i]), j->chunk, round);
        if (copies)
            RLF_TRY(copy_message(j, &list[i], round, *at, back, err));
        parts[(*n_parts)++] = (rlf_part){list[i].peer, *at, bytes};
        *at += bytes;
    }
    return RLF_OK;
}

static rlf_status
message_copies(job *j, size_t round, char *slot, bool back, rlf_err *err)
{
    int n;
    RLF_TRY(lay_out(j, round, true, !back, false, &slot, j->parts, &n, err));
    return back ? lay_out(j, round, false, true, true, &slot, j->parts, &n, err)
                : RLF_OK;
}

static rlf_status
message_round(job *j, size_t round, char *slot, rlf_err *err)
{
    int n_out, n_in;
    rlf_part *in = j->parts + j->n_sends;
    RLF_TRY(
        lay_out(j, round, true, false, false, &slot, j->parts, &n_out, err));
    RLF_TRY(lay_out(j, round, false, false, false, &slot, in, &n_in, err));
    return j->port->parts(j->port, j->group, j->tag, j->parts, n_out, in, n_in,
                          err);
}

/* ---- slots ---- */

static void
slots_free(rlf_port *port)
{
    rlf_device *device = port->queue->device;
    const rlf_device_ops *ops = device->ops;
    for (int i = 0; i < SLOTS; i++) {
        (port->on_device ? ops->free : ops->host_free)(device, port->slot[i],
                                                       port->slot_bytes);
        ops->event_free(port->used[i]);
        port->slot[i] = NULL;
        port->used[i] = NULL;
    }
}

static rlf_status
slots_new(rlf_port *port, size_t bytes, rlf_err *err)
{
    rlf_device *device = port->queue->device;
    const rlf_device_ops *ops = device->ops;
    size_t *count = port->on_device ? &port->transport.device_bytes
                                    : &port->transport.host_bytes;
    *count += SLOTS * (bytes - port->slot_bytes);
    port->slot_bytes = bytes;
    for (int i = 0; i < SLOTS; i++) {
        RLF_TRY((port->on_device ? ops->alloc : ops->host_alloc)(
            device, bytes, (void **)&port->slot[i], err));
        RLF_TRY(ops->event_new(device, &port->used[i], err));
    }
    return RLF_OK;
}

/* Pieces are as long on both sides, whatever else goes on there: so more
 * messages at a time than two for each rank need larger slots. */
static rlf_status
slots_for(rlf_port *port, int n, rlf_err *err)
{
    size_t bytes = (size_t)n * port->piece;
    if (bytes <= port->slot_bytes)
        return RLF_OK;
    RLF_TRY(rlf_queue_sync(port->queue, err));
    slots_free(port);
    return slots_new(port, bytes, err);
}

rlf_status
rlf_staged_exchange(rlf_port *port, rlf_group *group, int tag,
                    const rlf_strided_message *sends, int n_sends,
                    const rlf_strided_message *receives, int n_receives,
                    rlf_err *err)
{
    RLF_TRY(slots_for(port, n_sends + n_receives, err));
    job j = {.port = port,
             .group = group,
             .copies = message_copies,
             .communicate = message_round,
             .chunk = port->piece,
             .tag = tag,
             .sends = sends,
             .receives = receives,
             .n_sends = n_sends,
             .n_receives = n_receives,
             .parts = rlf_calloc((size_t)(n_sends + n_receives) + 1,
                                 sizeof(rlf_part))};
    for (int i = 0; i < n_sends + n_receives; i++) {
        size_t n =
            pieces_of(&j, i < n_sends ? &sends[i] : &receives[i - n_sends]);
        j.n_rounds = n > j.n_rounds ? n : j.n_rounds;
    }
    rlf_status status = run(&j, err);
    free(j.parts);
    return status;
}

/* ---- the transport ---- */

static rlf_status
host_parts(rlf_port *port, rlf_group *group, int tag, const rlf_part *sends,
           int n_sends, const rlf_part *receives, int n_receives, rlf_err *err)
{
    (void)port;
    return rlf_group_exchange(group, tag, sends, n_sends, receives, n_receives,
                              err);
}

rlf_status
rlf_slots_open(rlf_port *port, rlf_err *err)
{
    int n = rlf_comm_size(port->comm);
    size_t bytes = rlf_device_staging(n) / SLOTS;
    port->piece = bytes / (2 * (size_t)n) / ALIGNED * ALIGNED;
    return slots_new(port, bytes, err);
}

rlf_status
rlf_staged_open(rlf_port *port, rlf_err *err)
{
    port->ops = &rlf_device_transport_staged;
    port->parts = host_parts;
    return rlf_slots_open(port, err);
}

void
rlf_staged_close(rlf_port *port)
{
    rlf_err ignored = RLF_ERR_NONE;
    rlf_queue_sync(port->queue, &ignored);
    slots_free(port);
}

const rlf_device_transport_ops rlf_device_transport_staged = {
    .name = "staged",
    .doc = "device memory goes through pinned memory of the host",
    .exchange = rlf_staged_exchange,
    .all_gather = staged_all_gather,
    .add = staged_add,
    .close = rlf_staged_close,
};
