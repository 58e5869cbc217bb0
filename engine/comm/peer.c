/* Messages of device memory between ranks of one process: the receiver's device
 * copies straight from the sender's memory. It may be the same device.
 *
 * Hosts match the two sides (thread.c). Once the queues of both have come to
 * where the message was started, which their events tell, the receiver gives
 * the copy to its lane, a queue beside the one that computes, and when that is
 * done both have it. So a device is only given what can be done at once, and no
 * queue ever waits for another rank: whatever order messages are started and
 * awaited in, none holds up another. (NCCL's sends and receives wait on the
 * device for each other. Two stages that send before they receive would stop
 * for ever in one queue; in queues of their own, with a communicator each, what
 * waits there keeps calls from returning that wait for the whole device, and
 * NCCL's manual warns of just that.) */
#include "engine/comm/port.h"

#include <stdlib.h>

/* Each rank tells the others this of its device. */
typedef struct card {
    const rlf_device_ops *ops; /* means something within a process alone */
    int number;
} card;

/* The ranks of this process whose memory the device reaches. */
static bool
look_around(const rlf_port *port, const card *all, bool *reads)
{
    const rlf_comm *comm = port->comm;
    rlf_device *device = port->queue->device;
    int n = comm->world->local, first = comm->world->process * n;
    bool others = false;
    for (int i = 0; i < n; i++) {
        reads[i] = all[first + i].ops == device->ops &&
                   device->ops->reaches(device, all[first + i].number);
        others |= reads[i] && i != comm->index;
    }
    reads[comm->index] &= others;
    return others;
}

/* Describes the ways of this rank to and from all others. */
static const char *
describe(const rlf_port *port)
{
    static const char *const texts[] = {
        "go through pinned memory of the host",
        ("go from GPU to GPU within a process where one reaches the other, "
         "else through the host"),
        "go from GPU to GPU by themselves"};
    const rlf_comm_world *world = port->comm->world;
    int some = 0, all = 2 * world->size;
    for (int i = 0; i < world->size; i++)
        for (int send = 0; send < 2; send++)
            some += i == port->comm->rank || rlf_port_peered(port, i, send);
    return texts[some == 2 ? 0 : some == all ? 2 : 1];
}

static rlf_status
exchange_cards(rlf_port *port, card *all, bool *rows, bool *others,
               rlf_err *err)
{
    const rlf_comm_world *world = port->comm->world;
    rlf_group *everyone = rlf_group_world(port->comm);
    size_t n = (size_t)world->local;
    const card mine = {port->queue->device->ops, port->queue->device->number};
    RLF_TRY(rlf_group_all_gather(everyone, &mine, sizeof mine, all, err));
    *others = look_around(port, all, port->reads);
    RLF_TRY(rlf_group_all_gather(everyone, port->reads, n, rows, err));
    for (size_t i = 0; i < n; i++)
        port->read_by[i] = rows[((size_t)world->process * n + i) * n +
                                (size_t)port->comm->index];
    return RLF_OK;
}

rlf_status
rlf_peers_open(rlf_port *port, rlf_err *err)
{
    const rlf_comm_world *world = port->comm->world;
    rlf_device *device = port->queue->device;
    size_t n = (size_t)world->local, size = (size_t)world->size;
    bool others = false, *rows = rlf_calloc(size * n, sizeof *rows);
    card *all = rlf_calloc(size, sizeof *all);
    port->reads = rlf_calloc(2 * n, sizeof *port->reads);
    port->read_by = port->reads + n;
    rlf_status status = exchange_cards(port, all, rows, &others, err);
    port->transport.started = describe(port);
    if (status >= 0 && others)
        status = device->ops->lane_new(device, &port->lane, err);
    free(all);
    free(rows);
    return status;
}

void
rlf_peers_close(rlf_port *port)
{
    rlf_queue_free(port->lane);
    free(port->reads);
}

bool
rlf_port_peered(const rlf_port *port, int rank, bool send)
{
    const rlf_comm_world *world = port->comm->world;
    if (rlf_process_of(world, rank) != world->process)
        return false;
    return (send ? port->read_by : port->reads)[rank % world->local];
}

rlf_status
rlf_peered_ready(const rlf_request *request, rlf_err *err)
{
    const rlf_peer_message *p = request->peered;
    return p->port->queue->device->ops->event_done(p->ready, err);
}

rlf_status
rlf_peered_begin(const rlf_request *receive, const rlf_request *send,
                 rlf_err *err)
{
    rlf_port *port = receive->peered->port;
    const rlf_device_ops *ops = port->queue->device->ops;
    rlf_status status = ops->event_done(send->peered->ready, err);
    if (status == RLF_OK)
        status = ops->event_done(receive->peered->ready, err);
    if (status != RLF_OK)
        return status;
    status = ops->copy_from(port->lane, receive->data,
                            send->peered->port->queue->device, send->data,
                            receive->bytes, err);
    if (status >= 0)
        status = ops->event_record(receive->peered->came, port->lane, err);
    if (status < 0) {
        rlf_err ignored = RLF_ERR_NONE;
        rlf_queue_sync(port->lane, &ignored);
    }
    return status;
}

rlf_status
rlf_peered_done(const rlf_request *receive, rlf_err *err)
{
    const rlf_peer_message *p = receive->peered;
    return p->port->queue->device->ops->event_done(p->came, err);
}
