/* Messages of device memory that are started and awaited later: each goes from
 * device to device where the receiver's reaches the sender's (peer.c), else by
 * way of pinned memory of the host, as a message of comm.h. One batch has both.
 */
#include "engine/comm/port.h"

#include <stdlib.h>
#include <string.h>

struct rlf_device_transfer {
    rlf_port *port; /* NULL: direct */
    rlf_batch *batch;
    /* By way of the host: */
    rlf_pinned_block *pinned; /* or NULL */
    rlf_part *receives;       /* where they go on the device; in order in it */
    int n_receives;
    /* From device to device: */
    rlf_event *ready;   /* NULL: none */
    rlf_peer_message *peered; /* one a message, of either way */
};

static void
transfer_free(rlf_device_transfer *t)
{
    for (rlf_transfer_event *s = t->port ? t->port->events : NULL; s;
         s = s->next)
        s->of = s->of == t ? NULL : s->of;
    if (t->pinned)
        t->pinned->taken = false;
    free(t->receives);
    free(t->peered);
    free(t);
}

/* ---- from device to device ---- */

static rlf_status
event_take(rlf_device_transfer *t, rlf_event **out, rlf_err *err)
{
    rlf_device *device = t->port->queue->device;
    rlf_transfer_event *s = t->port->events;
    while (s && s->of)
        s = s->next;
    if (!s) {
        rlf_event *event;
        RLF_TRY(device->ops->event_new(device, &event, err));
        s = rlf_calloc(1, sizeof *s);
        *s = (rlf_transfer_event){.next = t->port->events, .event = event};
        t->port->events = s;
    }
    s->of = t;
    *out = s->event;
    return RLF_OK;
}

/* Message i of the transfer, after the queue's work so far. */
static rlf_status
add_peered(rlf_device_transfer *t, int i, rlf_comm_message *m, rlf_err *err)
{
    const rlf_device_ops *ops = t->port->queue->device->ops;
    rlf_peer_message *p = &t->peered[i];
    if (!t->ready) {
        RLF_TRY(event_take(t, &t->ready, err));
        RLF_TRY(ops->event_record(t->ready, t->port->queue, err));
    }
    *p = (rlf_peer_message){.port = t->port, .ready = t->ready};
    m->peered = p;
    return m->send ? RLF_OK : event_take(t, &p->came, err);
}

/* ---- by way of the host ---- */

/* Marks the block: it may be used again once the queue has come here. */
static rlf_status
pinned_mark(rlf_port *port, rlf_pinned_block *pinned, rlf_err *err)
{
    const rlf_device_ops *ops = port->queue->device->ops;
    pinned->marked = true;
    return ops->event_record(pinned->filled, port->queue, err);
}

static rlf_status
pinned_new(rlf_port *port, size_t bytes, rlf_pinned_block **out, rlf_err *err)
{
    rlf_device *device = port->queue->device;
    rlf_pinned_block *p = rlf_calloc(1, sizeof *p);
    p->bytes = bytes;
    rlf_status status =
        device->ops->host_alloc(device, bytes, (void **)&p->data, err);
    if (status >= 0)
        status = device->ops->event_new(device, &p->filled, err);
    if (status < 0) {
        device->ops->host_free(device, p->data, bytes);
        free(p);
        return status;
    }
    p->next = port->pinned;
    port->pinned = p;
    *out = p;
    return RLF_OK;
}

/* One with room, the smallest there is. */
static rlf_status
pinned_take(rlf_port *port, size_t bytes, rlf_pinned_block **out, rlf_err *err)
{
    rlf_pinned_block *found = NULL;
    for (rlf_pinned_block *p = port->pinned; p; p = p->next)
        if (!p->taken && p->bytes >= bytes &&
            (!found || p->bytes < found->bytes))
            found = p;
    if (!found)
        RLF_TRY(pinned_new(port, bytes, &found, err));
    else if (found->marked)
        RLF_TRY(rlf_port_await(port, found->filled, err));
    found->marked = false;
    found->taken = true;
    *out = found;
    return RLF_OK;
}

/* Their places in a pinned block, one after the other; what is sent comes there
 * first. */
static rlf_status
add_staged(rlf_device_transfer *t, rlf_comm_message *messages, int n,
           rlf_err *err)
{
    rlf_port *port = t->port;
    size_t bytes = 0, n_staged = 0;
    bool fetched = false;
    for (int i = 0; i < n; i++) {
        bytes += messages[i].peered ? 0 : messages[i].part.bytes;
        n_staged += !messages[i].peered;
    }
    if (!n_staged)
        return RLF_OK;
    RLF_TRY(pinned_take(port, bytes + 1, &t->pinned, err));
    t->receives = rlf_calloc(n_staged, sizeof *t->receives);
    char *at = t->pinned->data;
    for (int i = 0; i < n; i++) {
        rlf_part *part = &messages[i].part;
        if (messages[i].peered)
            continue;
        if (messages[i].send)
            RLF_TRY(rlf_queue_copy(port->queue, at, part->data, part->bytes,
                                   RLF_COPY_TO_HOST, err));
        else
            t->receives[t->n_receives++] = *part;
        fetched |= messages[i].send;
        part->data = at;
        at += part->bytes;
    }
    if (!fetched)
        return RLF_OK;
    RLF_TRY(pinned_mark(port, t->pinned, err));
    return rlf_port_await(port, t->pinned->filled, err);
}

/* Copies received bytes to the device. */
static rlf_status
deliver(rlf_device_transfer *t, rlf_err *err)
{
    const char *at = t->pinned->data;
    for (int i = 0; i < t->n_receives; i++) {
        const rlf_part *p = &t->receives[i];
        RLF_TRY(rlf_queue_copy(t->port->queue, p->data, at, p->bytes,
                               RLF_COPY_TO_DEVICE, err));
        at += p->bytes;
    }
    return pinned_mark(t->port, t->pinned, err);
}

/* ---- the calls ---- */

static rlf_status
start(rlf_group *group, int tag, rlf_comm_message *messages, int n,
      rlf_device_transfer *t, rlf_err *err)
{
    t->peered = rlf_calloc((size_t)n + 1, sizeof *t->peered);
    for (int i = 0; i < n; i++) {
        rlf_comm_message *m = &messages[i];
        int rank = rlf_group_rank(group, m->part.peer);
        if (rlf_port_peered(t->port, rank, m->send))
            RLF_TRY(add_peered(t, i, m, err));
    }
    RLF_TRY(add_staged(t, messages, n, err));
    return rlf_batch_begin_messages(group, tag, messages, n, &t->batch, err);
}

rlf_status
rlf_device_start(rlf_queue *queue, rlf_group *group, int tag,
                 const rlf_part *sends, int n_sends, const rlf_part *receives,
                 int n_receives, rlf_device_transfer **out, rlf_err *err)
{
    rlf_port *port;
    *out = NULL;
    RLF_TRY(rlf_port_enter(queue, group, &port, err));
    int n = n_sends + n_receives;
    rlf_device_transfer *t = rlf_calloc(1, sizeof *t);
    t->port = port;
    rlf_comm_message *messages = rlf_calloc((size_t)n + 1, sizeof *messages);
    for (int i = 0; i < n; i++)
        messages[i] = i < n_receives
                          ? (rlf_comm_message){.part = receives[i]}
                          : (rlf_comm_message){.part = sends[i - n_receives],
                                               .send = true};
    rlf_status status =
        port ? start(group, tag, messages, n, t, err)
             : rlf_group_start(group, tag, sends, n_sends, receives, n_receives,
                               &t->batch, err);
    free(messages);
    if (status < 0)
        transfer_free(t);
    else
        *out = t;
    return status;
}

/* All messages are done, or none will be. */
static rlf_status
finish(rlf_device_transfer *t, rlf_status status, rlf_err *err)
{
    if (status >= 0 && t->n_receives)
        status = deliver(t, err);
    transfer_free(t);
    return status;
}

rlf_status
rlf_device_test(rlf_device_transfer **transfer, rlf_err *err)
{
    rlf_device_transfer *t = *transfer;
    rlf_status status = rlf_batch_test(&t->batch, err);
    if (status == RLF_AGAIN)
        return status;
    *transfer = NULL;
    return finish(t, status, err);
}

rlf_status
rlf_device_wait(rlf_device_transfer **transfer, rlf_err *err)
{
    rlf_device_transfer *t = *transfer;
    *transfer = NULL;
    return finish(t, rlf_batch_wait(&t->batch, err), err);
}

void
rlf_transfers_close(rlf_port *port)
{
    rlf_device *device = port->queue->device;
    while (port->pinned) {
        rlf_pinned_block *p = port->pinned;
        port->pinned = p->next;
        device->ops->host_free(device, p->data, p->bytes);
        device->ops->event_free(p->filled);
        free(p);
    }
    while (port->events) {
        rlf_transfer_event *s = port->events;
        port->events = s->next;
        device->ops->event_free(s->event);
        free(s);
    }
}
