/* Connections between the processes of a world: what rendezvous.c (how they
 * come about) and link.c (what travels on them) share. */
#ifndef RLF_COMM_LINK_H
#define RLF_COMM_LINK_H

#include "engine/base/str.h"
#include "engine/comm/internal.h"

enum { RLF_WAIT = 200 };

typedef struct rlf_connection {
    int fd, process;      /* fd -1: closed */
    bool bye;             /* the other end said good-bye */
    bool stopped;         /* after an abort it touches no foreign memory */
    pthread_mutex_t lock; /* taken for `out`, `heartbeats` and `waits` */
    rlf_buf out, in;
    uint64_t silent;         /* atomic: ns since it was heard of */
    uint32_t heartbeats;     /* heartbeats of its ranks */
    uint32_t controller;     /* atomic: the controller's, of process 0 */
    char (*waits)[RLF_WAIT]; /* per rank of it, what it waits for */
} rlf_connection;

struct rlf_connections {
    rlf_comm_world *world;
    rlf_connection
        *links; /* process 0: to every other; else to process 0 alone */
    int n;
    int bell; /* eventfd: something to send, or the end */
    bool started;
    uint32_t leaving; /* atomic: 1 after saying good-bye, 2 at once */
    rlf_futex stopped; /* after an abort: 1 when every process has stopped */
    bool stopped_here;
    /* The clock, ns, when this process last told its heartbeats. */
    uint64_t told;
    /* The clock, ns, when it last looked for those of others. */
    uint64_t watched;
    uint32_t pauses;  /* atomic: how often that was too long ago */
    pthread_t reader;
};

/* Connect: fills links and n, and the world's machines. */
rlf_status rlf_connections_meet(rlf_connections *links, rlf_err *err);

#endif
