/* Declarations that the files of a GPU share (cuda*.c): its device and its
 * queue, and how a call of the runtime is checked. Nobody else includes this.
 */
#ifndef RLF_DEV_CUDA_INTERNAL_H
#define RLF_DEV_CUDA_INTERNAL_H

#include "engine/base/vec.h"
#include "engine/dev/cuda.h"

#include <cuda_runtime_api.h>

#define RLF_CUDA_ALIGNMENT 256

/* Pinned memory: given out, or kept for who asks next. */
typedef struct rlf_cuda_block {
    char *at;
    size_t bytes;
    bool kept;
    struct rlf_cuda_block *next;
} rlf_cuda_block;

/* Bytes that are left to the driver: for the code of kernels and their local
 * memory, and for recordings. */
#define RLF_CUDA_SPARE ((size_t)512 << 20)
#define RLF_CUDA_RECORDINGS (RLF_CUDA_SPARE / 2)

/* A kernel that may have more shared memory than any: so much. */
typedef struct rlf_cuda_allowed {
    const void *kernel;
    size_t bytes;
} rlf_cuda_allowed;

typedef struct rlf_cuda_device {
    rlf_device device; /* first */
    size_t limit;
    size_t shared; /* bytes of shared memory that a block may have */
    RLF_VEC(rlf_cuda_allowed) allowed;
    int multiprocessors, capability;
    int recording; /* queues that do */
    /* Bytes that the driver took for recordings, and for the largest so far. */
    size_t recorded, largest_recording;
    rlf_cuda_block *host;
} rlf_cuda_device;

/* A copy to the host, in the queue's landing until the next wait for it. */
typedef struct rlf_cuda_landing {
    void *to;
    const char *from;
    size_t bytes;
} rlf_cuda_landing;

enum { RLF_CUDA_LANDINGS = 64 };

/* Pinned memory that large copies to the GPU go through, piece by piece in
 * turn: RLF_CUDA_PIECES of them, each with the event that its last copy is
 * done. */
enum { RLF_CUDA_PIECES = 16 };
#define RLF_CUDA_PIECE ((size_t)2 << 20)

typedef struct rlf_cuda_pieces {
    char *memory;
    cudaEvent_t copied[RLF_CUDA_PIECES];
    uint64_t n; /* taken so far */
} rlf_cuda_pieces;

typedef struct rlf_cuda_queue {
    rlf_queue queue; /* first */
    cudaStream_t stream;
    char *scratch;
    char *staged_host, *staged; /* rings of small arrays */
    size_t stage_at;
    rlf_cuda_pieces pieces;
    char *landing;
    size_t landing_at;
    rlf_cuda_landing landings[RLF_CUDA_LANDINGS];
    int n_landings;
    int32_t *fault; /* a word of the host, which the GPU sees */
    int32_t *counters;
    void *kept; /* memory of kernels */
    void (*end_kept)(void *kept);
    bool recording;
    rlf_recording *recordings; /* a list */
} rlf_cuda_queue;

/* The error of a call, in a sentence that begins with what was being done; with
 * what to do about it, where its own words do not say. The runtime forgets it:
 * the next launch is not blamed for it. */
rlf_status rlf_cuda_fail(cudaError_t error, const char *what, rlf_err *err);

/* Refuse what the runtime refuses. Needs `err`. */
#define RLF_CUDA_TRY(call, what)                     \
    do {                                             \
        cudaError_t error_ = (call);                 \
        if (error_ != cudaSuccess)                   \
            return rlf_cuda_fail(error_, what, err); \
    } while (0)

/* No error, though the runtime keeps it as the last one: the next launch would
 * be blamed for it. */
static inline bool
rlf_cuda_unready(cudaError_t error)
{
    if (error != cudaErrorNotReady)
        return false;
    cudaGetLastError();
    return true;
}

/* Refuse what a recording cannot have, of a queue or a device. Needs `err`. */
#define RLF_CUDA_NOT_RECORDED(q, what)              \
    do {                                            \
        if ((q)->recording)                         \
            return rlf_fail(err, RLF_BUG,           \
                            "a queue that records " \
                            "cannot have " what);   \
    } while (0)

/* `bytes` as they are taken. */
static inline size_t
rlf_cuda_rounded(size_t bytes)
{
    return (bytes + RLF_CUDA_ALIGNMENT - 1) / RLF_CUDA_ALIGNMENT *
           RLF_CUDA_ALIGNMENT;
}

/* cuda_open.c: a GPU that this process may use, with its context made. */
rlf_status rlf_cuda_open(int index, struct cudaDeviceProp *out, rlf_err *err);

/* cuda.c: members of its table that queues use too. */
rlf_status rlf_cuda_alloc(rlf_device *device, size_t bytes, void **out,
                          rlf_err *err);
void rlf_cuda_free(rlf_device *device, void *p, size_t bytes);
bool rlf_cuda_is_pinned(const rlf_device *device, const void *p);

/* Members of the table: cuda_queue.c. */
rlf_status rlf_cuda_queue_new(rlf_device *device, rlf_queue **out,
                              rlf_err *err);
void rlf_cuda_queue_free(rlf_queue *queue);
rlf_status rlf_cuda_queue_sync(rlf_queue *queue, rlf_err *err);
rlf_status rlf_cuda_look_at_fault(rlf_cuda_queue *q, rlf_err *err);
/* Returns when the event has happened, or when the watch ends the wait. */
rlf_status rlf_cuda_wait(rlf_cuda_queue *q, cudaEvent_t event, rlf_err *err);
rlf_status rlf_cuda_copy(rlf_queue *queue, void *to, const void *from,
                         size_t bytes, rlf_copy kind, rlf_err *err);
rlf_status rlf_cuda_copy_rows(rlf_queue *queue, void *to, size_t to_stride,
                              const void *from, size_t from_stride,
                              size_t bytes, size_t rows, rlf_copy kind,
                              rlf_err *err);
rlf_status rlf_cuda_set(rlf_queue *queue, void *to, int byte, size_t bytes,
                        rlf_err *err);
/* cuda_peer.c */
bool rlf_cuda_reaches(rlf_device *device, int number);
rlf_status rlf_cuda_lane_new(rlf_device *device, rlf_queue **out, rlf_err *err);
rlf_status rlf_cuda_copy_from(rlf_queue *queue, void *to,
                              const rlf_device *other, const void *from,
                              size_t bytes, rlf_err *err);
/* cuda_record.c */
rlf_status rlf_cuda_record(rlf_queue *queue, rlf_err *err);
rlf_status rlf_cuda_recorded(rlf_queue *queue, rlf_recording **out,
                             rlf_err *err);
rlf_status rlf_cuda_replay(rlf_queue *queue, rlf_recording *recording,
                           rlf_err *err);
void rlf_cuda_recording_free(rlf_recording *recording);
void rlf_cuda_recordings_end(rlf_queue *queue);

#endif
