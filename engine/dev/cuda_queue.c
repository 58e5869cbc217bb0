/* A queue of a GPU: a stream, small arrays and copies through pinned memory of
 * its own, and what kernels ask a queue for. See cuda.h. */
#include "engine/dev/cuda_internal.h"

#include "engine/base/arena.h"

#include <stdlib.h>
#include <string.h>

/* Of a queue: what operations need for themselves, and small arrays on their
 * way from the host. */
#define SCRATCH ((size_t)64 << 20)
#define STAGE ((size_t)8 << 20)
#define COUNTERS (RLF_CUDA_COUNTERS * sizeof(int32_t))
/* Bytes of a copy that goes through the rings at most, and the room for those
 * on their way to the host. */
#define SMALL ((size_t)1 << 20)
#define LANDING (4 * SMALL)

/* ---- copies ---- */

/* As long as the watch is content. */
static rlf_status
watched_sync(rlf_cuda_queue *q, rlf_err *err)
{
    cudaError_t error;
    bool first = true;
    for (; rlf_cuda_unready(error = cudaStreamQuery(q->stream)); first = false)
        RLF_TRY(q->queue.watch(q->queue.watch_ctx, first, err));
    RLF_CUDA_TRY(error, "waiting for the GPU");
    return RLF_OK;
}

/* As long as the watch is content. */
rlf_status
rlf_cuda_wait(rlf_cuda_queue *q, cudaEvent_t event, rlf_err *err)
{
    cudaError_t error = cudaErrorNotReady;
    if (!q->queue.watch)
        error = cudaEventSynchronize(event);
    for (bool first = true; q->queue.watch; first = false) {
        if (!rlf_cuda_unready(error = cudaEventQuery(event)))
            break;
        RLF_TRY(q->queue.watch(q->queue.watch_ctx, first, err));
    }
    RLF_CUDA_TRY(error, "waiting for the GPU");
    return RLF_OK;
}

/* Until all is done: what was on its way to the host has arrived. */
static rlf_status
settle(rlf_cuda_queue *q, rlf_err *err)
{
    RLF_CUDA_NOT_RECORDED(q, "a wait");
    int n = q->n_landings;
    q->n_landings = 0;
    q->landing_at = 0;
    if (q->queue.watch)
        RLF_TRY(watched_sync(q, err));
    else
        RLF_CUDA_TRY(cudaStreamSynchronize(q->stream), "waiting for the GPU");
    for (int i = 0; i < n; i++)
        memcpy(q->landings[i].to, q->landings[i].from, q->landings[i].bytes);
    return RLF_OK;
}

/* The next place in the rings for `bytes`, at most STAGE. */
static rlf_status
take_stage(rlf_cuda_queue *q, size_t bytes, size_t *at, rlf_err *err)
{
    size_t have = rlf_cuda_rounded(bytes);
    if (q->stage_at + have > STAGE) { /* round the ring */
        RLF_TRY(settle(q, err));
        q->stage_at = 0;
    }
    *at = q->stage_at;
    q->stage_at += have;
    return RLF_OK;
}

static rlf_status
send(rlf_cuda_queue *q, void *to, const void *pinned, size_t bytes,
     rlf_err *err)
{
    RLF_CUDA_TRY(
        cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, q->stream),
        "copying to the GPU");
    return RLF_OK;
}

/* The host goes on as long as there are pieces: it waits for the oldest copy,
 * and for nothing that the queue was given after that. */
static rlf_status
send_pieces(rlf_cuda_queue *q, char *to, const char *from, size_t bytes,
            rlf_err *err)
{
    rlf_cuda_pieces *all = &q->pieces;
    for (size_t at = 0; at < bytes; at += RLF_CUDA_PIECE) {
        size_t i = all->n % RLF_CUDA_PIECES, some = bytes - at;
        char *piece = all->memory + i * RLF_CUDA_PIECE;
        some = some < RLF_CUDA_PIECE ? some : RLF_CUDA_PIECE;
        if (all->n >= RLF_CUDA_PIECES)
            RLF_TRY(rlf_cuda_wait(q, all->copied[i], err));
        memcpy(piece, from + at, some);
        RLF_TRY(send(q, to + at, piece, some, err));
        RLF_CUDA_TRY(cudaEventRecord(all->copied[i], q->stream),
                     "recording an event");
        all->n++;
    }
    return RLF_OK;
}

/* Ordinary memory may change once this has returned, so it goes through pinned
 * memory: the driver need not have made a copy of it where the GPU can read
 * such memory by itself. */
static rlf_status
copy_to_device(rlf_cuda_queue *q, void *to, const void *from, size_t bytes,
               rlf_err *err)
{
    if (rlf_cuda_is_pinned(q->queue.device, from))
        return send(q, to, from, bytes, err);
    if (bytes > SMALL)
        return send_pieces(q, to, from, bytes, err);
    size_t at;
    RLF_TRY(take_stage(q, bytes, &at, err));
    memcpy(q->staged_host + at, from, bytes);
    return send(q, to, q->staged_host + at, bytes, err);
}

static rlf_status
copy_to_host(rlf_cuda_queue *q, void *to, const void *from, size_t bytes,
             rlf_err *err)
{
    if (bytes <= SMALL && !rlf_cuda_is_pinned(q->queue.device, to)) {
        if (q->n_landings == RLF_CUDA_LANDINGS ||
            q->landing_at + rlf_cuda_rounded(bytes) > LANDING)
            RLF_TRY(settle(q, err));
        char *at = q->landing + q->landing_at;
        q->landing_at += rlf_cuda_rounded(bytes);
        q->landings[q->n_landings++] = (rlf_cuda_landing){to, at, bytes};
        to = at;
    }
    RLF_CUDA_TRY(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, q->stream),
        "copying from the GPU");
    return RLF_OK;
}

rlf_status
rlf_cuda_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
              rlf_copy kind, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    if (bytes == 0)
        return RLF_OK;
    if (kind != RLF_COPY_ON_DEVICE)
        RLF_CUDA_NOT_RECORDED(q, "copies of the host's memory");
    if (kind == RLF_COPY_TO_DEVICE)
        return copy_to_device(q, to, from, bytes, err);
    if (kind == RLF_COPY_TO_HOST)
        return copy_to_host(q, to, from, bytes, err);
    if (kind == RLF_COPY_ON_HOST) {
        RLF_TRY(settle(q, err));
        memcpy(to, from, bytes);
        return RLF_OK;
    }
    RLF_CUDA_TRY(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, q->stream),
        "copying on the GPU");
    return RLF_OK;
}

static const enum cudaMemcpyKind kinds[] = {
    [RLF_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    [RLF_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
    [RLF_COPY_TO_HOST] = cudaMemcpyDeviceToHost,
    [RLF_COPY_ON_HOST] = cudaMemcpyHostToHost,
};

rlf_status
rlf_cuda_copy_rows(rlf_queue *queue, void *to, size_t to_stride,
                   const void *from, size_t from_stride, size_t bytes,
                   size_t rows, rlf_copy kind, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    if (kind != RLF_COPY_ON_DEVICE)
        RLF_CUDA_NOT_RECORDED(q, "copies of the host's memory");
    if (bytes && rows)
        RLF_CUDA_TRY(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes,
                                       rows, kinds[kind], q->stream),
                     "copying rows");
    return RLF_OK;
}

rlf_status
rlf_cuda_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    if (bytes)
        RLF_CUDA_TRY(cudaMemsetAsync(to, byte, bytes, q->stream),
                     "setting memory");
    return RLF_OK;
}

/* ---- queues ---- */

void
rlf_cuda_queue_free(rlf_queue *queue)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    if (q->stream) {
        cudaStreamSynchronize(q->stream);
        cudaStreamDestroy(q->stream);
    }
    if (q->kept)
        q->end_kept(q->kept);
    rlf_cuda_free(queue->device, q->scratch, SCRATCH);
    rlf_cuda_free(queue->device, q->staged, STAGE);
    rlf_cuda_free(queue->device, q->counters, COUNTERS);
    for (int i = 0; i < RLF_CUDA_PIECES; i++)
        if (q->pieces.copied[i])
            cudaEventDestroy(q->pieces.copied[i]);
    cudaFreeHost(q->pieces.memory);
    cudaFreeHost(q->staged_host);
    cudaFreeHost(q->landing);
    cudaFreeHost(q->fault);
    free(q);
}

static rlf_status
open_pieces(rlf_cuda_pieces *all, rlf_err *err)
{
    RLF_CUDA_TRY(
        cudaMallocHost((void **)&all->memory, RLF_CUDA_PIECES * RLF_CUDA_PIECE),
        "taking pinned memory of the host");
    for (int i = 0; i < RLF_CUDA_PIECES; i++)
        RLF_CUDA_TRY(
            cudaEventCreateWithFlags(&all->copied[i], cudaEventDisableTiming),
            "making an event");
    return RLF_OK;
}

static rlf_status
open_queue(rlf_cuda_queue *q, rlf_err *err)
{
    rlf_device *device = q->queue.device;
    RLF_CUDA_TRY(cudaSetDevice(device->number), "choosing a GPU");
    RLF_CUDA_TRY(cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking),
                 "making a stream");
    RLF_CUDA_TRY(cudaMallocHost((void **)&q->staged_host, STAGE),
                 "taking pinned memory of the host");
    RLF_TRY(open_pieces(&q->pieces, err));
    RLF_CUDA_TRY(cudaMallocHost((void **)&q->landing, LANDING),
                 "taking pinned memory of the host");
    RLF_CUDA_TRY(cudaMallocHost((void **)&q->fault, sizeof *q->fault),
                 "taking pinned memory of the host");
    *q->fault = 0;
    RLF_TRY(rlf_cuda_alloc(device, STAGE, (void **)&q->staged, err));
    RLF_TRY(rlf_cuda_alloc(device, COUNTERS, (void **)&q->counters, err));
    RLF_CUDA_TRY(cudaMemsetAsync(q->counters, 0, COUNTERS, q->stream),
                 "setting memory");
    return rlf_cuda_alloc(device, SCRATCH, (void **)&q->scratch, err);
}

rlf_status
rlf_cuda_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    rlf_cuda_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    rlf_status status = open_queue(q, err);
    if (status < 0)
        rlf_cuda_queue_free(&q->queue);
    else
        *out = &q->queue;
    return status;
}

rlf_status
rlf_cuda_queue_sync(rlf_queue *queue, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    RLF_TRY(settle(q, err));
    return rlf_cuda_look_at_fault(q, err);
}

/* Looks for a fault that operations which are done have found in their
 * arguments. */
rlf_status
rlf_cuda_look_at_fault(rlf_cuda_queue *q, rlf_err *err)
{
    if (!q->fault || *q->fault == 0) /* a lane has none */
        return RLF_OK;
    *q->fault = 0;
    return rlf_fail(err, RLF_BUG,
                    "an operation on the GPU met an index out of range");
}

/* ---- for kernels/cuda ---- */

struct CUstream_st *
rlf_cuda_stream(rlf_queue *queue)
{
    return ((rlf_cuda_queue *)queue)->stream;
}

int32_t *
rlf_cuda_fault(rlf_queue *queue)
{
    return ((rlf_cuda_queue *)queue)->fault;
}

rlf_status
rlf_cuda_launched(const char *operation, rlf_err *err)
{
    RLF_CUDA_TRY(cudaGetLastError(), operation);
    return RLF_OK;
}

rlf_status
rlf_cuda_scratch(rlf_queue *queue, size_t bytes, void **out, rlf_err *err)
{
    *out = ((rlf_cuda_queue *)queue)->scratch;
    if (bytes > SCRATCH)
        return rlf_fail(err, RLF_ENV,
                        "an operation needs %zu bytes of scratch; there are "
                        "%zu",
                        bytes, SCRATCH);
    return RLF_OK;
}

size_t
rlf_cuda_scratch_bytes(void)
{
    return SCRATCH;
}

int32_t *
rlf_cuda_counters(rlf_queue *queue)
{
    return ((rlf_cuda_queue *)queue)->counters;
}

void **
rlf_cuda_keep(rlf_queue *queue, void (*end)(void *kept))
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    q->end_kept = end;
    return &q->kept;
}

int
rlf_cuda_capability(rlf_queue *queue)
{
    return ((rlf_cuda_device *)queue->device)->capability;
}

size_t
rlf_cuda_shared_bytes(rlf_queue *queue)
{
    return ((rlf_cuda_device *)queue->device)->shared;
}

int
rlf_cuda_multiprocessors(rlf_queue *queue)
{
    return ((rlf_cuda_device *)queue->device)->multiprocessors;
}

rlf_status
rlf_cuda_allow_shared(rlf_queue *queue, const void *kernel, size_t bytes,
                      rlf_err *err)
{
    enum { ALWAYS = 44 << 10 }; /* 48, with what a kernel has of its own */
    rlf_cuda_device *cuda = (rlf_cuda_device *)queue->device;
    rlf_cuda_allowed *known = cuda->allowed.data;
    size_t i = 0, n = cuda->allowed.count;
    if (bytes <= ALWAYS)
        return RLF_OK;
    while (i < n && known[i].kernel != kernel)
        i++;
    if (i == n) {
        /* All that there is: other threads may use the same GPU, and who asks
         * for less would take it from them. */
        struct cudaFuncAttributes own;
        RLF_CUDA_TRY(cudaFuncGetAttributes(&own, kernel),
                     "looking at a kernel");
        size_t most = cuda->shared - own.sharedSizeBytes;
        RLF_CUDA_TRY(
            cudaFuncSetAttribute(
                kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most),
            "asking for shared memory");
        RLF_PUSH(&cuda->allowed, (rlf_cuda_allowed){kernel, most});
        known = cuda->allowed.data;
    }
    return bytes <= known[i].bytes
               ? RLF_OK
               : rlf_fail(err, RLF_ENV,
                          "an operation needs %zu bytes of shared memory; this "
                          "GPU has %zu for it",
                          bytes, known[i].bytes);
}

rlf_status
rlf_cuda_stage(rlf_queue *queue, const void *host, size_t bytes,
               const void **out, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    size_t at;
    RLF_CUDA_NOT_RECORDED(q, "arrays from the host");
    if (rlf_cuda_rounded(bytes) > STAGE)
        return rlf_fail(err, RLF_ENV,
                        "an array of %zu bytes is too large to be staged",
                        bytes);
    RLF_TRY(take_stage(q, bytes, &at, err));
    memcpy(q->staged_host + at, host, bytes);
    RLF_CUDA_TRY(cudaMemcpyAsync(q->staged + at, q->staged_host + at, bytes,
                                 cudaMemcpyHostToDevice, q->stream),
                 "sending a small array");
    *out = q->staged + at;
    return RLF_OK;
}

rlf_status
rlf_cuda_fetch(rlf_queue *queue, void *to, const void *host, size_t bytes,
               rlf_err *err)
{
    RLF_CUDA_NOT_RECORDED((rlf_cuda_queue *)queue, "arrays from the host");
    return copy_to_device((rlf_cuda_queue *)queue, to, host, bytes, err);
}
