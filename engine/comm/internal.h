/* Declarations that the files of this folder share: ends, batches, requests,
 * the interface of a backend. Not for others; the contract is comm.h. */
#ifndef RLF_COMM_INTERNAL_H
#define RLF_COMM_INTERNAL_H

#include "engine/base/vec.h"
#include "engine/comm/comm.h"
#include "engine/comm/mail.h"
#include "engine/dev/dev.h"
#include "engine/dev/futex.h"

#include <pthread.h>

/* A send of at most that much is copied at once. */
#define EAGER_BYTES 1024
/* The number of such copies that wait for their receiver; then the sender
 * waits. */
#define EAGER_CELLS 64
/* Bytes of the memory where parts of other ranks are added. */
#define STAGING_BYTES ((size_t)1 << 21)
#define LEAST_CHUNK ((size_t)4096)

/* The kind of a batch, which gives its tag and its name. */
typedef enum rlf_comm_kind {
    RLF_KIND_BATCH,
    RLF_KIND_BARRIER,
    RLF_KIND_BCAST,
    RLF_KIND_ALL_GATHER,
    RLF_KIND_ALL_REDUCE,
    RLF_KIND_REDUCE_SCATTER,
    RLF_KINDS
} rlf_comm_kind;
#define RLF_TAGS (RLF_TAG_LAST + RLF_KINDS)
/* Messages of device memory within a process match among themselves. */
#define RLF_TAG_PEERED RLF_TAGS

typedef struct rlf_channel rlf_channel;
typedef struct rlf_port rlf_port;

/* A message that lies on devices of this process (peer.c), one side of it. */
typedef struct rlf_peer_message {
    rlf_port *port;   /* the rank's */
    rlf_event *ready; /* its queue may be read from, or written to, from this
                         event on */
    /* The copy of a received message is done from this event on. */
    rlf_event *came;
} rlf_peer_message;

/* One send or receive under way. The state changes under the channel's lock,
 * but for COPYING to DONE; the owner alone counts it as finished. */
typedef enum rlf_request_state {
    RLF_REQUEST_POSTED,  /* it is in a list of its channel */
    RLF_REQUEST_MATCHED, /* `other` is set; the receiver copies */
    RLF_REQUEST_COPYING,
    RLF_REQUEST_MOVING, /* peered: the copy goes on by itself */
    RLF_REQUEST_DONE,
} rlf_request_state;

typedef struct rlf_request {
    struct rlf_request *next;  /* the next one in the channel's list */
    struct rlf_request *other; /* matched */
    rlf_channel *channel;      /* NULL: of another process */
    const rlf_peer_message *peered; /* NULL: in memory of the host */
    char *data;                /* NULL: see strided */
    size_t bytes;
    /* Rows of another process's memory, packed at `data`. */
    const rlf_strided_rows *strided;
    int n_strided;
    int peer, tag; /* peer: world rank */
    uint32_t state;
    bool send, cell, finished;
    bool borrow;  /* a receive that has no place: it reads at the sender's */
    int n_pieces; /* pieces of a message to another process that are not done
                     yet */
    rlf_batch *batch;
} rlf_request;

struct rlf_batch {
    rlf_batch *next, *before; /* neighbours in the list of batches under way */
    rlf_comm *comm;
    rlf_comm_kind kind;
    size_t n, left, room;
    size_t receiving; /* receives among `left` */
    rlf_request *requests;
    bool cancelled;
};

typedef struct rlf_mailbox {
    pthread_mutex_t lock;
    uint32_t count; /* atomic */
    uint32_t first, n_slots;
    size_t slot_bytes; /* bytes of a slot, with its head */
    char *slots;
} rlf_mailbox;

/* The state of a rank's wait, readable by other threads (atomic each). */
typedef struct rlf_wait_state {
    bool on, send;
    int kind, peer;
    uint64_t since, bytes;
} rlf_wait_state;

struct rlf_comm {
    rlf_futex bell; /* rung when something may have changed for this rank */
    uint32_t heartbeat; /* atomic */
    rlf_comm_world *world;
    int rank, index;
    bool spin;
    const char *label; /* atomic */
    rlf_group *all;
    rlf_batch *first, *last; /* under way, oldest first */
    rlf_batch *spare;
    uint64_t n_moved; /* requests finished */
    uint64_t n_sent;  /* bytes of sends to others */
    uint64_t n_met;   /* collectives, messages received: rlf_comm_met */
    uint64_t waited;  /* nanoseconds of pauses: rlf_comm_waited */
    char *staging;
    size_t staging_bytes;
    rlf_wait_state waiting;
    rlf_mailbox mailbox;
    rlf_port *port; /* port.h; NULL: not attached */
    void *remote;   /* the backend's */
    int n_remote;   /* requests of other processes under way */
    bool polls;     /* a message waits for a device, which rings no bell, so it
                       polls */
};

typedef struct rlf_connections rlf_connections;

struct rlf_comm_world {
    rlf_comm_options options;
    rlf_comm_caps caps;
    int size, local, process;
    int n_cores;  /* cores of this machine that the run has */
    int *machine; /* [n_processes] */
    rlf_comm **ends;
    rlf_comm *controller;
    rlf_channel *channels; /* [local * local], from * local + to */
    void *remote;          /* the backend's */
    rlf_connections *links;
    pthread_mutex_t lock; /* taken for first_error */
    int noted, told;      /* atomic: see rlf_comm_world_note */
    bool relays;          /* atomic: see rlf_comm_world_relay */
    uint32_t aborted;     /* atomic */
    int lost;             /* process that the first error is about, or -1 */
    bool gone;            /* the process has ended, so its launcher knows too */
    rlf_err first_error;
};

struct rlf_group {
    rlf_comm *comm;
    int n, index;
    bool one_process;
    int *ranks;
    rlf_part *sends, *receives; /* [n], filled by the call in progress */
    size_t *counts;     /* [n] the length of each part, filled by that call */
    const void **parts; /* [n] parts to add, filled by that call */
};

/* The calls that reach ranks of other processes. Calls never block. After an
 * abort none of them touches a buffer, here or in another process. */
struct rlf_comm_backend {
    const char *name, *doc;
    /* Join the other processes: sets world->process, caps.n_processes and
     * world->remote. This and close() may wait. */
    rlf_status (*open)(rlf_comm_world *world, rlf_err *err);
    /* `bytes` of every process into all[n_processes][bytes]. */
    rlf_status (*share)(rlf_comm_world *world, const void *mine, size_t bytes,
                        void *all, rlf_err *err);
    void (*close)(rlf_comm_world *world, bool good);
    void (*kill)(rlf_comm_world *world, int exit_status);
    void (*end_open)(rlf_comm *comm);
    void (*end_close)(rlf_comm *comm);
    rlf_status (*start)(rlf_comm *comm, rlf_request *request, rlf_err *err);
    /* Test what is under way; rlf_request_finish() for what is done. */
    rlf_status (*progress)(rlf_comm *comm, rlf_err *err);
    /* The run was aborted: returns when no thread of this process moves data,
     * and none will. */
    void (*stop)(rlf_comm_world *world);
    /* After every process has stopped: forget what this end has under way. */
    void (*cancel)(rlf_comm *comm);
};

/* A collective begins. */
static inline void
rlf_group_meet(rlf_group *group)
{
    group->comm->n_met += group->n > 1;
}

static inline int
rlf_process_of(const rlf_comm_world *world, int rank)
{
    return rank / world->local;
}

static inline bool
rlf_world_aborted(const rlf_comm_world *world)
{
    return __atomic_load_n(&world->aborted, __ATOMIC_ACQUIRE);
}

/* world.c */
/* Abort, since nothing more will come of a process; -1: for another reason. */
void rlf_world_lose(rlf_comm_world *world, int process, bool gone,
                    const rlf_err *cause);

/* batch.c */
extern const char *const rlf_kind_names[RLF_KINDS];
rlf_status rlf_batch_begin(rlf_group *group, rlf_comm_kind kind, int tag,
                           const rlf_part *sends, int n_sends,
                           const rlf_part *receives, int n_receives,
                           rlf_batch **out, rlf_err *err);
rlf_status rlf_batch_run(rlf_group *group, rlf_comm_kind kind,
                         const rlf_part *sends, int n_sends,
                         const rlf_part *receives, int n_receives,
                         rlf_err *err);
/* Within a process: what is received stays where its sender has it. Returns
 * when all of it may be read, at the address that the k-th receive then has in
 * receives[k].data, until rlf_batch_return, which waits for the own sends.
 * More than EAGER_BYTES each. */
rlf_status rlf_batch_borrow(rlf_group *group, rlf_comm_kind kind,
                            const rlf_part *sends, int n_sends,
                            rlf_part *receives, int n_receives, rlf_batch **out,
                            rlf_err *err);
rlf_status rlf_batch_return(rlf_batch **batch, rlf_err *err);
/* Messages of one tag, receives first; their `peered` stays until all are done.
 */
typedef struct rlf_comm_message {
    rlf_part part;
    bool send;
    const rlf_peer_message *peered; /* NULL: `part` lies on the host */
} rlf_comm_message;
rlf_status rlf_batch_begin_messages(rlf_group *group, int tag,
                                    const rlf_comm_message *messages, int n,
                                    rlf_batch **out, rlf_err *err);
/* Called after an abort: nothing of this rank is read or written any more. */
void rlf_comm_cancel(rlf_comm *comm);
/* Move on all that this end has under way. */
rlf_status rlf_comm_progress(rlf_comm *comm, rlf_err *err);
/* The run fails: by *err if something was decided here, then it is aborted;
 * else another rank failed first and *err tells. Cancels all; the status. */
rlf_status rlf_comm_give_up(rlf_comm *comm, rlf_err *err);
/* Sleep, spin or yield until the bell rings or `ns` are over; `idle`: since
 * when nothing moved. */
void rlf_comm_pause(rlf_comm *comm, uint32_t bell, uint64_t idle, uint64_t ns);
void rlf_comm_batches_free(rlf_comm *comm);

/* group.c */
/* The beginning of block i of n_blocks even blocks of n; i = n_blocks: n. */
size_t rlf_group_block(size_t n, int n_blocks, int i);
/* All-gather of bytes[member], under the name of `kind`. */
rlf_status rlf_group_gather(rlf_group *group, rlf_comm_kind kind,
                            const void *data, const size_t *bytes, void *out,
                            rlf_err *err);

/* request.c */
/* Starts it; a request that is wrong is not aborted yet. */
rlf_status rlf_request_start(rlf_comm *comm, rlf_request *request,
                             rlf_err *err);
void rlf_request_finish(rlf_comm *comm, rlf_request *request);

/* strided.c */
/* All bytes of one request to the places of another; as many. */
void rlf_request_copy(const rlf_request *to, const rlf_request *from);
/* The strided rows of a request to or from `bytes` bytes in one piece. */
void rlf_request_pack(const rlf_request *from, void *to);
void rlf_request_unpack(const rlf_request *to, const void *from);

/* thread.c: ranks of one process */
rlf_status rlf_channels_new(rlf_comm_world *world, rlf_err *err);
void rlf_channels_free(rlf_comm_world *world);
/* Returns the channel between two ranks of this process, by their indices. */
rlf_channel *rlf_channel_at(const rlf_comm_world *world, int from, int to);
void rlf_channel_start(rlf_comm *comm, rlf_request *request);
/* Copies if matched; whether the request is done. */
rlf_status rlf_channel_move(rlf_comm *comm, rlf_request *request, bool *done,
                            rlf_err *err);
/* Returns to its sender the memory that a receive has borrowed. */
void rlf_channel_return(rlf_comm *comm, rlf_request *receive);
void rlf_channel_cancel(rlf_request *request);

/* peer.c: the last two are called with the channel locked */
/* Called by the rank that started it. RLF_AGAIN: its queue has not come there.
 */
rlf_status rlf_peered_ready(const rlf_request *request, rlf_err *err);
/* Called by the receiver: begins the copy. RLF_AGAIN: one of the two is not
 * ready. */
rlf_status rlf_peered_begin(const rlf_request *receive, const rlf_request *send,
                            rlf_err *err);
/* Called by either. RLF_AGAIN: the copy is still under way. */
rlf_status rlf_peered_done(const rlf_request *receive, rlf_err *err);

/* mail.c */
rlf_status rlf_mailbox_open(rlf_mailbox *box, int n_slots, size_t slot_bytes,
                            rlf_err *err);
void rlf_mailbox_close(rlf_mailbox *box);
/* Into the box of a rank of this process or of the controller. */
rlf_status rlf_mail_deliver(rlf_comm_world *world, int to, int from,
                            const void *message, size_t bytes, rlf_err *err);

/* link.c: connections between processes, with a thread that reads */
rlf_status rlf_connections_open(rlf_comm_world *world, rlf_err *err);
void rlf_connections_close(rlf_comm_world *world, bool good);
void rlf_connections_mail(rlf_connections *links, int to, int from,
                          const void *message, size_t bytes);
/* Returns the heartbeats of ranks of other processes, as they last said. */
uint64_t rlf_connections_heartbeats(rlf_connections *links);
uint32_t rlf_connections_controller_heartbeats(rlf_connections *links);
void rlf_connections_waits(rlf_connections *links, int rank, char *text,
                           size_t room);
uint32_t rlf_connections_pauses(rlf_connections *links);
/* Tells all others a heartbeat now, in process 0. */
void rlf_connections_tell(rlf_connections *links);
double rlf_connections_silence(rlf_connections *links, int process);
/* Tell the others; `lost`: the process that it is about, or -1. */
void rlf_connections_abort(rlf_connections *links, const rlf_err *cause,
                           int lost, bool gone);
/* After an abort: until every process has stopped moving data, or a few
 * seconds. A transport may read the memory of a sender in another process, so
 * that must stay until nobody does any more. */
void rlf_connections_wait_stopped(rlf_connections *links);

#endif
