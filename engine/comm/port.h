/* Declarations that the transports of device memory (device.h) share: device.c,
 * transfer.c, peer.c, staged.c, nccl.c. */
#ifndef RLF_COMM_PORT_H
#define RLF_COMM_PORT_H

#include "engine/comm/device.h"
#include "engine/comm/internal.h"

#define SLOTS 2
#define RLF_SLOT_ALIGNED 64

/* Pinned memory of the host for a message that was started. */
typedef struct rlf_pinned_block {
    struct rlf_pinned_block *next;
    char *data;
    size_t bytes;
    rlf_event *filled; /* the queue's last copy out of it */
    bool taken, marked;
} rlf_pinned_block;

/* An event for a message that was started. */
typedef struct rlf_transfer_event {
    struct rlf_transfer_event *next;
    rlf_event *event;
    const rlf_device_transfer *of; /* NULL: free */
} rlf_transfer_event;

/* A collective that reduces: all-reduce or reduce-scatter. */
typedef struct rlf_reduction {
    rlf_comm_kind kind;
    const char *in;
    char *out;            /* all-reduce: all; else the own part */
    const size_t *counts; /* [n] elements that each owns */
    size_t size;          /* bytes of an element */
    rlf_comm_type type;
    rlf_comm_op op;
    size_t n; /* elements in all */
} rlf_reduction;

typedef rlf_status rlf_parts_fn(rlf_port *port, rlf_group *group, int tag,
                                const rlf_part *sends, int n_sends,
                                const rlf_part *receives, int n_receives,
                                rlf_err *err);

/* The calls of device.h under the same names. */
typedef struct rlf_device_transport_ops {
    const char *name, *doc;
    bool queued; /* rlf_device_is_queued() */
    rlf_status (*exchange)(rlf_port *port, rlf_group *group, int tag,
                           const rlf_strided_message *sends, int n_sends,
                           const rlf_strided_message *receives, int n_receives,
                           rlf_err *err);
    /* NULL: as messages of one row. */
    rlf_parts_fn *exchange_parts;
    rlf_status (*all_gather)(rlf_port *port, rlf_group *group, const char *data,
                             const size_t *bytes, char *out, rlf_err *err);
    rlf_status (*add)(rlf_port *port, rlf_group *group, const rlf_reduction *a,
                      rlf_err *err);
    void (*close)(rlf_port *port);
} rlf_device_transport_ops;

struct rlf_port {
    rlf_comm *comm;
    rlf_queue *queue;
    const rlf_device_transport_ops *ops; /* NULL: direct */
    rlf_device_transport transport;
    void *state; /* the transport's */
    /* Staging: two slots, used in turn, of the host or of the device; and how
     * what lies there goes to others. */
    bool on_device;
    rlf_parts_fn *parts;
    char *slot[SLOTS];
    size_t slot_bytes, piece;
    rlf_event *used[SLOTS]; /* the queue's last work with it */
    /* Messages that are started: by way of the host, or from device to device
     * (peer.c) between this rank and that number i of the process, where it
     * reads from that one, or that one from it. */
    rlf_pinned_block *pinned;
    rlf_transfer_event *events;
    rlf_queue *lane; /* the queue in which they are copied; NULL: no device is
                        reached */
    bool *reads, *read_by; /* [local] */
};

/* device.c */
/* The group's port; NULL: comm.h's own calls may have the memory, the queue's
 * work is done. */
rlf_status rlf_port_enter(rlf_queue *queue, const rlf_group *group,
                          rlf_port **out, rlf_err *err);
/* Waits until the queue has come to the event; moves on what the end has under
 * way. */
rlf_status rlf_port_await(rlf_port *port, rlf_event *event, rlf_err *err);

/* transfer.c: what it keeps for messages that are started. Nothing is under
 * way, and the queue's work is done. */
void rlf_transfers_close(rlf_port *port);

/* peer.c */
/* Called by all ranks of the world together: finds who can read from whom. */
rlf_status rlf_peers_open(rlf_port *port, rlf_err *err);
void rlf_peers_close(rlf_port *port);
/* Does a message between this rank and `rank` go from device to device? */
bool rlf_port_peered(const rlf_port *port, int rank, bool send);

/* staged.c */
extern const rlf_device_transport_ops rlf_device_transport_staged;
rlf_status rlf_staged_open(rlf_port *port, rlf_err *err);
void rlf_staged_close(rlf_port *port);
/* Slots where port->on_device says; their bytes are counted. */
rlf_status rlf_slots_open(rlf_port *port, rlf_err *err);
/* Messages in pieces, packed in the slots. */
rlf_status rlf_staged_exchange(rlf_port *port, rlf_group *group, int tag,
                               const rlf_strided_message *sends, int n_sends,
                               const rlf_strided_message *receives,
                               int n_receives, rlf_err *err);

/* nccl.c */
extern const rlf_device_transport_ops rlf_device_transport_nccl;
/* About what NCCL takes of a device in a world of n ranks (README). */
size_t rlf_nccl_bytes(int n);
/* One communicator for all ranks; they have one GPU each. */
rlf_status rlf_nccl_open(rlf_port *port, const rlf_attach_options *options,
                         rlf_err *err);

#endif
