/* Ends and their queues, and the transport of device memory. A transport's part
 * of a call stands in its own file; messages that are started in transfer.c. */
#include "engine/comm/port.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* -- attaching ----------------------------------------------------------- */

/* Each rank tells the others this of its device. */
typedef struct identity {
    bool host_memory;
    bool nccl; /* it could */
    uint8_t id[16];
} identity;

/* Does every rank have NCCL, and hardware of its own? */
static bool
can_nccl(const identity *all, size_t n)
{
    static const uint8_t none[16];
    for (size_t i = 0; i < n; i++) {
        if (!all[i].nccl || memcmp(all[i].id, none, sizeof none) == 0)
            return false;
        for (size_t k = 0; k < i; k++)
            if (memcmp(all[i].id, all[k].id, sizeof none) == 0)
                return false;
    }
    return n > 1;
}

/* A run's ranks have devices of one kind. */
static rlf_status
compare(rlf_comm *comm, const rlf_queue *queue, bool nccl, rlf_err *err,
        bool *all_nccl)
{
    size_t n = (size_t)rlf_comm_size(comm);
    identity mine = {.host_memory = queue->device->caps.host_memory,
                     .nccl = nccl};
    memcpy(mine.id, queue->device->id, sizeof mine.id);
    identity *all = rlf_calloc(n, sizeof *all);
    rlf_status status = rlf_group_all_gather(rlf_group_world(comm), &mine,
                                             sizeof mine, all, err);
    for (size_t i = 0; status >= 0 && i < n; i++)
        if (all[i].host_memory != mine.host_memory)
            status = rlf_fail(err, RLF_USER, "rank %zu works %s, rank %d %s", i,
                              all[i].host_memory ? "on its host" : "on a GPU",
                              comm->rank,
                              mine.host_memory ? "on its host" : "on a GPU");
    *all_nccl = can_nccl(all, n);
    free(all);
    return status;
}

static const rlf_device_transport direct = {
    .name = "direct",
    .doc = "device memory is the memory of the host",
    .started = "likewise"};

rlf_status
rlf_comm_estimate_transport(rlf_comm *comm, rlf_queue *queue,
                            const rlf_attach_options *options, rlf_err *err,
                            rlf_device_transport *out)
{
    bool nccl = options->nccl && options->fold;
    int n = rlf_comm_size(comm);
    RLF_TRY(compare(comm, queue, nccl, err, &nccl));
    *out = direct;
    if (queue->device->caps.host_memory)
        return RLF_OK;
    const rlf_device_transport_ops *ops =
        nccl ? &rlf_device_transport_nccl : &rlf_device_transport_staged;
    *out = (rlf_device_transport){.name = ops->name, .doc = ops->doc};
    *(nccl ? &out->device_bytes : &out->host_bytes) = rlf_device_staging(n);
    out->nccl_bytes = nccl ? rlf_nccl_bytes(n) : 0;
    out->estimated = nccl;
    return RLF_OK;
}

rlf_status
rlf_comm_attach(rlf_comm *comm, rlf_queue *queue,
                const rlf_attach_options *options, rlf_err *err)
{
    bool nccl = options->nccl && options->fold;
    RLF_ASSERT(!comm->port);
    RLF_TRY(compare(comm, queue, nccl, err, &nccl));
    rlf_port *port = rlf_calloc(1, sizeof *port);
    port->comm = comm;
    port->queue = queue;
    port->transport = direct;
    comm->port = port;
    rlf_status status = RLF_OK;
    if (!queue->device->caps.host_memory)
        status = rlf_peers_open(port, err);
    if (status >= 0 && !queue->device->caps.host_memory)
        status = nccl ? rlf_nccl_open(port, options, err)
                      : rlf_staged_open(port, err);
    if (port->ops) {
        port->transport.name = port->ops->name;
        port->transport.doc = port->ops->doc;
    }
    if (status < 0)
        rlf_comm_detach(comm);
    return status;
}

void
rlf_comm_detach(rlf_comm *comm)
{
    rlf_port *port = comm ? comm->port : NULL;
    if (!port)
        return;
    if (rlf_world_aborted(comm->world))
        rlf_comm_cancel(comm);
    if (port->ops)
        port->ops->close(port);
    rlf_transfers_close(port);
    rlf_peers_close(port);
    comm->port = NULL;
    free(port);
}

const rlf_device_transport *
rlf_comm_device_transport(const rlf_comm *comm)
{
    return comm->port ? &comm->port->transport : NULL;
}

rlf_status
rlf_port_await(rlf_port *port, rlf_event *event, rlf_err *err)
{
    const rlf_device_ops *ops = port->queue->device->ops;
    rlf_status status;
    while ((status = ops->event_done(event, err)) == RLF_AGAIN) {
        if (rlf_world_aborted(port->comm->world))
            return rlf_comm_give_up(port->comm, err);
        RLF_TRY(rlf_comm_progress(port->comm, err));
        if (port->comm->spin)
            rlf_futex_relax();
        else
            sched_yield();
    }
    return status;
}

/* -- the calls ----------------------------------------------------------- */

rlf_status
rlf_port_enter(rlf_queue *queue, const rlf_group *group, rlf_port **out,
               rlf_err *err)
{
    *out = NULL;
    if (queue->device->caps.host_memory)
        return rlf_queue_sync(queue, err);
    rlf_port *port = group->comm->port;
    if (!port || port->queue != queue)
        return rlf_fail(err, RLF_BUG,
                        "rank %d has no transport for the memory of its device",
                        group->comm->rank);
    *out = port;
    return rlf_comm_check(group->comm->world, err);
}

bool
rlf_device_is_queued(const rlf_group *group)
{
    const rlf_port *port = group->comm->port;
    return port && port->ops && port->ops->queued;
}

rlf_status
rlf_device_check(rlf_queue *queue, const rlf_group *group, rlf_err *err)
{
    rlf_port *port;
    return rlf_port_enter(queue, group, &port, err);
}

/* By whatever transport, in however many rounds, these were so many meetings.
 */
static rlf_status
met(rlf_group *group, uint64_t before, size_t times, rlf_status status)
{
    group->comm->n_met = before + (group->n > 1 ? times : 0);
    return status;
}

/* Messages from others. */
static size_t
count_others(const rlf_group *group, const rlf_part *parts, int n)
{
    size_t count = 0;
    for (int i = 0; i < n; i++)
        count += parts[i].peer != group->index;
    return count;
}

static size_t
count_strided(const rlf_group *group, const rlf_strided_message *rows, int n)
{
    size_t count = 0;
    for (int i = 0; i < n; i++)
        count += rows[i].peer != group->index;
    return count;
}

rlf_status
rlf_device_exchange_strided(rlf_queue *queue, rlf_group *group, int tag,
                            const rlf_strided_message *sends, int n_sends,
                            const rlf_strided_message *receives, int n_receives,
                            rlf_err *err)
{
    rlf_port *port;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    uint64_t before = group->comm->n_met;
    if (!port)
        return rlf_group_exchange_strided(group, tag, sends, n_sends, receives,
                                          n_receives, err);
    return met(group, before, count_strided(group, receives, n_receives),
               port->ops->exchange(port, group, tag, sends, n_sends, receives,
                                   n_receives, err));
}

/* Each part as a message of one row. */
static void
strided_of(const rlf_part *parts, int n, rlf_strided_rows *rows,
           rlf_strided_message *out)
{
    for (int i = 0; i < n; i++) {
        rows[i] = (rlf_strided_rows){parts[i].data, parts[i].bytes,
                                     parts[i].bytes, parts[i].bytes != 0};
        out[i] = (rlf_strided_message){parts[i].peer, &rows[i], 1};
    }
}

rlf_status
rlf_device_exchange(rlf_queue *queue, rlf_group *group, int tag,
                    const rlf_part *sends, int n_sends,
                    const rlf_part *receives, int n_receives, rlf_err *err)
{
    rlf_port *port;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    if (!port)
        return rlf_group_exchange(group, tag, sends, n_sends, receives,
                                  n_receives, err);
    uint64_t before = group->comm->n_met;
    size_t times = count_others(group, receives, n_receives);
    if (port->ops->exchange_parts)
        return met(group, before, times,
                   port->ops->exchange_parts(port, group, tag, sends, n_sends,
                                             receives, n_receives, err));
    size_t n = (size_t)(n_sends + n_receives) + 1;
    rlf_strided_rows *rows = rlf_calloc(n, sizeof *rows);
    rlf_strided_message *messages = rlf_calloc(n, sizeof *messages);
    strided_of(sends, n_sends, rows, messages);
    strided_of(receives, n_receives, rows + n_sends, messages + n_sends);
    rlf_status status =
        port->ops->exchange(port, group, tag, messages, n_sends,
                            messages + n_sends, n_receives, err);
    free(rows);
    free(messages);
    return met(group, before, times, status);
}

rlf_status
rlf_device_all_gatherv(rlf_queue *queue, rlf_group *group, const void *data,
                       const size_t *bytes, void *out, rlf_err *err)
{
    rlf_port *port;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    uint64_t before = group->comm->n_met;
    if (!port)
        return rlf_group_all_gatherv(group, data, bytes, out, err);
    return met(group, before, 1,
               port->ops->all_gather(port, group, data, bytes, out, err));
}

rlf_status
rlf_device_all_gather(rlf_queue *queue, rlf_group *group, const void *data,
                      size_t bytes, void *out, rlf_err *err)
{
    size_t n = (size_t)group->n, *each = rlf_calloc(n, sizeof *each);
    for (size_t i = 0; i < n; i++)
        each[i] = bytes;
    rlf_status status =
        rlf_device_all_gatherv(queue, group, data, each, out, err);
    free(each);
    return status;
}

rlf_status
rlf_device_all_reduce(rlf_queue *queue, rlf_group *group, const void *in,
                      void *out, size_t n, rlf_comm_type type, rlf_comm_op op,
                      rlf_err *err)
{
    rlf_port *port;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    if (!port)
        return rlf_group_all_reduce(group, in, out, n, type, op, err);
    const rlf_reduction a = {.kind = RLF_KIND_ALL_REDUCE,
                             .in = in,
                             .out = out,
                             .size = rlf_comm_type_size(type),
                             .type = type,
                             .op = op,
                             .n = n};
    uint64_t before = group->comm->n_met;
    return met(group, before, n > 0, port->ops->add(port, group, &a, err));
}

rlf_status
rlf_device_reduce_scatter(rlf_queue *queue, rlf_group *group, const void *in,
                          void *out, const size_t *counts, rlf_comm_type type,
                          rlf_comm_op op, rlf_err *err)
{
    rlf_port *port;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    if (!port)
        return rlf_group_reduce_scatter(group, in, out, counts, type, op, err);
    const rlf_reduction a = {.kind = RLF_KIND_REDUCE_SCATTER,
                             .in = in,
                             .out = out,
                             .counts = counts,
                             .size = rlf_comm_type_size(type),
                             .type = type,
                             .op = op};
    uint64_t before = group->comm->n_met;
    return met(group, before, 1, port->ops->add(port, group, &a, err));
}
