/* The calls of NCCL that this folder makes, as a table: libnccl's
 * (nccl_library.c), or what a test puts in its place. They never wait: what
 * they began is done, or has failed, when `state` says so. Numbers are NCCL's
 * results. */
#ifndef RLF_COMM_NCCL_H
#define RLF_COMM_NCCL_H

#include "engine/dev/dev.h"

enum { RLF_NCCL_OK = 0, RLF_NCCL_BUSY = 7, RLF_NCCL_ID = 128 };

typedef struct rlf_nccl {
    /* A name for a communicator, RLF_NCCL_ID bytes. */
    int (*id)(void *id);
    int (*open)(void **comm, int n, const void *id, int rank);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(void *comm, const void *data, size_t bytes, int peer,
                rlf_queue *queue);
    int (*receive)(void *comm, void *data, size_t bytes, int peer,
                   rlf_queue *queue);
    int (*state)(void *comm);
    /* Flush; done when `state` says so, then close. */
    int (*finish)(void *comm);
    int (*close)(void *comm);
    /* Ends what is under way, and the communicator. */
    int (*abort)(void *comm);
    const char *(*text)(int result);
} rlf_nccl;

#endif
