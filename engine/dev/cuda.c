/* A GPU behind the table of dev.h: see cuda.h. Every call of the runtime is
 * checked; its error becomes a sentence with what was being done. */
#include "engine/dev/cuda.h"

#include "engine/base/arena.h"
#include "engine/base/vec.h"
#include "config.h"

#ifndef RLF_HAVE_CUDA

static rlf_status
built_without(rlf_err *err)
{
    rlf_fail(err, RLF_ENV, "this rlflow was built without CUDA");
    rlf_err_hint(err, "build it where nvcc is found, or with --with-cuda=DIR");
    return RLF_ENV;
}

rlf_status
rlf_device_cuda_new(const rlf_cuda_options *options, rlf_device **out,
                    rlf_err *err)
{
    (void)options;
    *out = NULL;
    return built_without(err);
}

rlf_status
rlf_device_cuda_count(int *out, rlf_err *err)
{
    *out = 0;
    return built_without(err);
}

rlf_status
rlf_device_cuda_memory(int index, rlf_device_memory *out, rlf_err *err)
{
    (void)index;
    *out = (rlf_device_memory){0};
    return built_without(err);
}

#else

#include "engine/dev/cores.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256
/* Of a queue: what operations need for themselves, and small arrays on their
 * way from the host. */
#define SCRATCH ((size_t)64 << 20)
#define STAGE ((size_t)8 << 20)
#define COUNTERS (RLF_CUDA_COUNTERS * sizeof(int32_t))
/* What a copy may have at most to go through pinned memory, and the room for
 * those on their way to the host. */
#define SMALL ((size_t)1 << 20)
#define LANDING (4 * SMALL)
enum { LANDINGS = 64 };
/* What the driver takes once kernels are launched: their code, their local
 * memory, recorded graphs. */
#define SPARE ((size_t)512 << 20)
/* What our kernels are compiled for, at least. */
#define OLDEST 80

/* Pinned memory that was given out. */
typedef struct host_block {
    char *at;
    size_t bytes;
    struct host_block *next;
} host_block;

typedef struct cuda_device {
    rlf_device device; /* first */
    int index;
    size_t limit;
    int multiprocessors, capability;
    int recording; /* queues that do */
    host_block *host;
} cuda_device;

/* A copy to the host, in `landing` until the next wait for the queue. */
typedef struct landing {
    void *to;
    const char *from;
    size_t bytes;
} landing;

typedef struct cuda_queue {
    rlf_queue queue; /* first */
    cudaStream_t stream;
    char *scratch;
    char *staged_host, *staged; /* rings of STAGE bytes */
    size_t stage_at;
    char *landing; /* of LANDING bytes */
    size_t landing_at;
    landing landings[LANDINGS];
    int n_landings;
    int32_t *fault; /* of the host, seen by the GPU */
    int32_t *counters;
    void *kept; /* of kernels */
    void (*end_kept)(void *kept);
    int mark;
    bool recording;
} cuda_queue;

struct rlf_event {
    cudaEvent_t event;
};

struct rlf_recording {
    cudaGraphExec_t graph;
};

/* What to do about errors whose own words do not say it. */
static const struct {
    cudaError_t error;
    const char *hint;
} advice[] = {
    {cudaErrorDevicesUnavailable,
     "another process has this GPU for itself (see nvidia-smi)"},
    {cudaErrorMemoryAllocation,
     "others have the memory of this GPU (see nvidia-smi)"},
    {cudaErrorNoKernelImageForDevice,
     "this rlflow has kernels for " RLF_CUDA_ARCHS
     ": configure it with CUDA_ARCHS for this GPU"},
    {cudaErrorUnsupportedPtxVersion,
     "the driver is older than the toolkit that rlflow was built with"},
    {cudaErrorSystemDriverMismatch,
     "the driver was replaced while it was in use: restart the machine"},
    {cudaErrorCompatNotSupportedOnDevice,
     "the compatibility libraries do not serve this GPU: install the driver "
     "that the toolkit asks for"},
    {cudaErrorECCUncorrectable,
     "the memory of this GPU is defective (see nvidia-smi -q)"},
};

static rlf_status
fail(cudaError_t error, const char *what, rlf_err *err)
{
    rlf_fail(err, RLF_ENV, "%s: %s", what, cudaGetErrorString(error));
    for (size_t i = 0; i < RLF_COUNT(advice); i++)
        if (advice[i].error == error)
            rlf_err_hint(err, "%s", advice[i].hint);
    return RLF_ENV;
}

/* Refuse what the runtime refuses. Needs `err`. */
#define TRY(call, what)                     \
    do {                                    \
        cudaError_t error_ = (call);        \
        if (error_ != cudaSuccess)          \
            return fail(error_, what, err); \
    } while (0)

static size_t
rounded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Refuse what a recording cannot have. Needs `err`. */
#define NOT_RECORDED(q, what)                       \
    do {                                            \
        if ((q)->recording)                         \
            return rlf_fail(err, RLF_BUG,           \
                            "a queue that records " \
                            "cannot have " what);   \
    } while (0)

static rlf_status
no_memory(const rlf_device *device, size_t bytes, rlf_err *err)
{
    size_t left = 0, all = 0;
    cudaMemGetInfo(&left, &all);
    rlf_fail(err, RLF_ENV,
             "no memory for a block of %zu bytes on the GPU (%zu are in use "
             "here, %zu of %zu are free)",
             bytes, device->allocated, left, all);
    rlf_err_hint(err, "lower the caps of the run (see rlflow check)");
    return RLF_ENV;
}

static rlf_status
cuda_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    cuda_device *cuda = (cuda_device *)device;
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    NOT_RECORDED(cuda, "memory taken meanwhile");
    size_t have = rounded(bytes);
    if (have < bytes ||
        (cuda->limit &&
         (have > cuda->limit || device->allocated > cuda->limit - have)))
        return no_memory(device, bytes, err);
    TRY(cudaSetDevice(cuda->index), "choosing a GPU");
    if (cudaMalloc(out, have) != cudaSuccess) {
        cudaGetLastError(); /* it is told here, and not again */
        *out = NULL;
        return no_memory(device, bytes, err);
    }
    device->allocated += have;
    if (device->allocated > device->peak)
        device->peak = device->allocated;
    return RLF_OK;
}

static void
cuda_free(rlf_device *device, void *p, size_t bytes)
{
    if (!p)
        return;
    cudaSetDevice(((cuda_device *)device)->index);
    device->allocated -= rounded(bytes);
    cudaFree(p);
}

static rlf_status
cuda_host_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    cuda_device *cuda = (cuda_device *)device;
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    NOT_RECORDED(cuda, "memory taken meanwhile");
    TRY(cudaSetDevice(cuda->index), "choosing a GPU");
    TRY(cudaMallocHost(out, bytes), "taking pinned memory of the host");
    memset(*out, 0, bytes);
    host_block *block = rlf_calloc(1, sizeof *block);
    *block = (host_block){*out, bytes, cuda->host};
    cuda->host = block;
    return RLF_OK;
}

static void
cuda_host_free(rlf_device *device, void *p, size_t bytes)
{
    (void)bytes;
    host_block **at = &((cuda_device *)device)->host, *block;
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    if (!(block = *at))
        return;
    *at = block->next;
    free(block);
    cudaFreeHost(p);
}

static bool
is_pinned(const cuda_queue *q, const void *p)
{
    const host_block *block = ((const cuda_device *)q->queue.device)->host;
    while (block && (size_t)((const char *)p - block->at) >= block->bytes)
        block = block->next;
    return block != NULL;
}

/* ---- copies ---- */

/* As long as the watch is content. */
static rlf_status
watched_sync(cuda_queue *q, rlf_err *err)
{
    cudaError_t error;
    bool first = true;
    for (; (error = cudaStreamQuery(q->stream)) == cudaErrorNotReady;
         first = false)
        RLF_TRY(q->queue.watch(q->queue.watch_ctx, first, err));
    TRY(error, "waiting for the GPU");
    return RLF_OK;
}

/* Until all is done: what was on its way to the host has arrived. */
static rlf_status
settle(cuda_queue *q, rlf_err *err)
{
    NOT_RECORDED(q, "a wait");
    int n = q->n_landings;
    q->n_landings = 0;
    q->landing_at = 0;
    if (q->queue.watch)
        RLF_TRY(watched_sync(q, err));
    else
        TRY(cudaStreamSynchronize(q->stream), "waiting for the GPU");
    for (int i = 0; i < n; i++)
        memcpy(q->landings[i].to, q->landings[i].from, q->landings[i].bytes);
    return RLF_OK;
}

/* The next place in the rings for `bytes`, at most STAGE. */
static rlf_status
take_stage(cuda_queue *q, size_t bytes, size_t *at, rlf_err *err)
{
    size_t have = rounded(bytes);
    if (q->stage_at + have > STAGE) { /* round the ring */
        RLF_TRY(settle(q, err));
        q->stage_at = 0;
    }
    *at = q->stage_at;
    q->stage_at += have;
    return RLF_OK;
}

static rlf_status
copy_to_device(cuda_queue *q, void *to, const void *from, size_t bytes,
               rlf_err *err)
{
    if (bytes <= SMALL && !is_pinned(q, from)) {
        size_t at;
        RLF_TRY(take_stage(q, bytes, &at, err));
        from = memcpy(q->staged_host + at, from, bytes);
    }
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, q->stream),
        "copying to the GPU");
    return RLF_OK;
}

static rlf_status
copy_to_host(cuda_queue *q, void *to, const void *from, size_t bytes,
             rlf_err *err)
{
    if (bytes <= SMALL && !is_pinned(q, to)) {
        if (q->n_landings == LANDINGS ||
            q->landing_at + rounded(bytes) > LANDING)
            RLF_TRY(settle(q, err));
        char *at = q->landing + q->landing_at;
        q->landing_at += rounded(bytes);
        q->landings[q->n_landings++] = (landing){to, at, bytes};
        to = at;
    }
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, q->stream),
        "copying from the GPU");
    return RLF_OK;
}

static rlf_status
cuda_copy(rlf_queue *queue, void *to, const void *from, size_t bytes,
          rlf_copy kind, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    if (bytes == 0)
        return RLF_OK;
    if (kind != RLF_COPY_ON_DEVICE)
        NOT_RECORDED(q, "copies of the host's memory");
    if (kind == RLF_COPY_TO_DEVICE)
        return copy_to_device(q, to, from, bytes, err);
    if (kind == RLF_COPY_TO_HOST)
        return copy_to_host(q, to, from, bytes, err);
    if (kind == RLF_COPY_ON_HOST) {
        RLF_TRY(settle(q, err));
        memcpy(to, from, bytes);
        return RLF_OK;
    }
    TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, q->stream),
        "copying on the GPU");
    return RLF_OK;
}

static const enum cudaMemcpyKind kinds[] = {
    [RLF_COPY_ON_DEVICE] = cudaMemcpyDeviceToDevice,
    [RLF_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
    [RLF_COPY_TO_HOST] = cudaMemcpyDeviceToHost,
    [RLF_COPY_ON_HOST] = cudaMemcpyHostToHost,
};

static rlf_status
cuda_copy_rows(rlf_queue *queue, void *to, size_t to_stride, const void *from,
               size_t from_stride, size_t bytes, size_t rows, rlf_copy kind,
               rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    if (kind != RLF_COPY_ON_DEVICE)
        NOT_RECORDED(q, "copies of the host's memory");
    if (bytes && rows)
        TRY(cudaMemcpy2DAsync(to, to_stride, from, from_stride, bytes, rows,
                              kinds[kind], q->stream),
            "copying rows");
    return RLF_OK;
}

static rlf_status
cuda_set(rlf_queue *queue, void *to, int byte, size_t bytes, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    if (bytes)
        TRY(cudaMemsetAsync(to, byte, bytes, q->stream), "setting memory");
    return RLF_OK;
}

static void
cuda_queue_free(rlf_queue *queue)
{
    cuda_queue *q = (cuda_queue *)queue;
    if (q->stream) {
        cudaStreamSynchronize(q->stream);
        cudaStreamDestroy(q->stream);
    }
    if (q->kept)
        q->end_kept(q->kept);
    cuda_free(queue->device, q->scratch, SCRATCH);
    cuda_free(queue->device, q->staged, STAGE);
    cuda_free(queue->device, q->counters, COUNTERS);
    cudaFreeHost(q->staged_host);
    cudaFreeHost(q->landing);
    cudaFreeHost(q->fault);
    free(q);
}

static rlf_status
open_queue(cuda_queue *q, rlf_err *err)
{
    rlf_device *device = q->queue.device;
    TRY(cudaSetDevice(((cuda_device *)device)->index), "choosing a GPU");
    TRY(cudaStreamCreateWithFlags(&q->stream, cudaStreamNonBlocking),
        "making a stream");
    TRY(cudaMallocHost((void **)&q->staged_host, STAGE),
        "taking pinned memory of the host");
    TRY(cudaMallocHost((void **)&q->landing, LANDING),
        "taking pinned memory of the host");
    TRY(cudaMallocHost((void **)&q->fault, sizeof *q->fault),
        "taking pinned memory of the host");
    *q->fault = 0;
    RLF_TRY(cuda_alloc(device, STAGE, (void **)&q->staged, err));
    RLF_TRY(cuda_alloc(device, COUNTERS, (void **)&q->counters, err));
    TRY(cudaMemset(q->counters, 0, COUNTERS), "setting memory");
    return cuda_alloc(device, SCRATCH, (void **)&q->scratch, err);
}

static rlf_status
cuda_queue_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    cuda_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    rlf_status status = open_queue(q, err);
    if (status < 0)
        cuda_queue_free(&q->queue);
    else
        *out = &q->queue;
    return status;
}

static rlf_status
cuda_queue_sync(rlf_queue *queue, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    RLF_TRY(settle(q, err));
    if (*q->fault == 0)
        return RLF_OK;
    *q->fault = 0;
    return rlf_fail(err, RLF_BUG,
                    "an operation on the GPU met an index out of range");
}

static rlf_status
cuda_event_new(rlf_device *device, rlf_event **out, rlf_err *err)
{
    cudaEvent_t event;
    TRY(cudaSetDevice(((cuda_device *)device)->index), "choosing a GPU");
    TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "making an event");
    *out = rlf_calloc(1, sizeof **out);
    (*out)->event = event;
    return RLF_OK;
}

static void
cuda_event_free(rlf_event *event)
{
    if (event)
        cudaEventDestroy(event->event);
    free(event);
}

static rlf_status
cuda_event_record(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    NOT_RECORDED((cuda_queue *)queue, "events");
    TRY(cudaEventRecord(event->event, ((cuda_queue *)queue)->stream),
        "recording an event");
    return RLF_OK;
}

static rlf_status
cuda_event_wait(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    NOT_RECORDED((cuda_queue *)queue, "events");
    TRY(cudaStreamWaitEvent(((cuda_queue *)queue)->stream, event->event, 0),
        "waiting for an event");
    return RLF_OK;
}

static rlf_status
cuda_event_done(rlf_event *event, rlf_err *err)
{
    cudaError_t error = cudaEventQuery(event->event);
    if (error == cudaErrorNotReady)
        return RLF_AGAIN;
    TRY(error, "looking at an event");
    return RLF_OK;
}

/* ---- recordings: CUDA graphs ---- */

static rlf_status
cuda_record(rlf_queue *queue, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    NOT_RECORDED(q, "a recording within one");
    /* other threads may do what they like with their GPUs */
    TRY(cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal),
        "beginning to record");
    q->recording = true;
    ((cuda_device *)queue->device)->recording++;
    return RLF_OK;
}

static rlf_status
cuda_recorded(rlf_queue *queue, rlf_recording **out, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    if (!q->recording)
        return rlf_fail(err, RLF_BUG, "the queue was not recording");
    q->recording = false;
    ((cuda_device *)queue->device)->recording--;
    cudaError_t error = cudaStreamEndCapture(q->stream, &graph);
    if (error == cudaSuccess && out)
        error = cudaGraphInstantiateWithFlags(&exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (error != cudaSuccess)
        cudaGetLastError(); /* it is told here, and not again */
    TRY(error, "recording operations");
    if (!out)
        return RLF_OK;
    *out = rlf_calloc(1, sizeof **out);
    (*out)->graph = exec;
    return RLF_OK;
}

static rlf_status
cuda_replay(rlf_queue *queue, rlf_recording *recording, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    NOT_RECORDED(q, "a recording within one");
    TRY(cudaGraphLaunch(recording->graph, q->stream),
        "carrying out what was recorded");
    return RLF_OK;
}

static void
cuda_recording_free(rlf_recording *recording)
{
    if (recording)
        cudaGraphExecDestroy(recording->graph);
    free(recording);
}

static void
cuda_device_free(rlf_device *device)
{
    rlf_team_free(device->team);
    free(device);
}

static const rlf_device_ops cuda_ops = {
    .name = "cuda",
    .doc = "a GPU",
    .alloc = cuda_alloc,
    .free = cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .copy = cuda_copy,
    .copy_rows = cuda_copy_rows,
    .set = cuda_set,
    .queue_new = cuda_queue_new,
    .queue_free = cuda_queue_free,
    .queue_sync = cuda_queue_sync,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_done = cuda_event_done,
    .record = cuda_record,
    .recorded = cuda_recorded,
    .replay = cuda_replay,
    .recording_free = cuda_recording_free,
    .device_free = cuda_device_free,
};

rlf_status
rlf_device_cuda_count(int *out, rlf_err *err)
{
    *out = 0;
    cudaError_t error = cudaGetDeviceCount(out);
    if (error == cudaSuccess && *out > 0)
        return RLF_OK;
    cudaGetLastError(); /* it is told here, and not again */
    *out = 0;
    fail(error == cudaSuccess ? cudaErrorNoDevice : error, "no GPU can be used",
         err);
    rlf_err_hint(err,
                 "a GPU and a driver for CUDA %d.%d or later are needed "
                 "(nvidia-smi shows those there are); CUDA_VISIBLE_DEVICES may "
                 "hide it",
                 CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100);
    return RLF_ENV;
}

/* Kernels of sm_XY run where the major number is X and the minor one at least
 * Y. */
static bool
has_kernels(int major, int minor)
{
    const char *at = RLF_CUDA_ARCHS;
    for (; (at = strstr(at, "sm_")); at++) {
        int n = atoi(at + 3);
        if (n / 10 == major && n % 10 <= minor)
            return true;
    }
    return false;
}

static rlf_status
check_gpu(int index, rlf_err *err)
{
    int n;
    struct cudaDeviceProp prop;
    RLF_TRY(rlf_device_cuda_count(&n, err));
    if (index < 0 || index >= n) {
        rlf_fail(err, RLF_ENV, "there is no GPU %d: this process sees %d",
                 index, n);
        rlf_err_hint(err, "CUDA_VISIBLE_DEVICES says which ones it sees");
        return RLF_ENV;
    }
    TRY(cudaGetDeviceProperties(&prop, index), "looking at a GPU");
    if (10 * prop.major + prop.minor < OLDEST)
        return rlf_fail(err, RLF_ENV,
                        "GPU %d (%s) has compute capability %d.%d; %d.%d is "
                        "the oldest that is supported",
                        index, prop.name, prop.major, prop.minor, OLDEST / 10,
                        OLDEST % 10);
    if (!has_kernels(prop.major, prop.minor)) {
        rlf_fail(err, RLF_ENV,
                 "GPU %d (%s) has compute capability %d.%d, but this rlflow "
                 "has kernels for %s",
                 index, prop.name, prop.major, prop.minor, RLF_CUDA_ARCHS);
        rlf_err_hint(err, "configure it with CUDA_ARCHS=sm_%d%d", prop.major,
                     prop.minor);
        return RLF_ENV;
    }
    TRY(cudaSetDevice(index), "choosing a GPU");
    TRY(cudaFree(NULL), "starting a GPU"); /* makes its context */
    return RLF_OK;
}

rlf_status
rlf_device_cuda_memory(int index, rlf_device_memory *out, rlf_err *err)
{
    size_t now = 0, ever = 0;
    struct cudaDeviceProp prop;
    *out = (rlf_device_memory){0};
    RLF_TRY(check_gpu(index, err));
    TRY(cudaMemGetInfo(&now, &ever), "looking at the memory of a GPU");
    TRY(cudaGetDeviceProperties(&prop, index), "looking at a GPU");
    out->left = now > SPARE ? now - SPARE : 1;
    out->all = ever;
    memcpy(out->id, &prop.uuid, sizeof out->id);
    return RLF_OK;
}

rlf_status
rlf_device_cuda_new(const rlf_cuda_options *options, rlf_device **out,
                    rlf_err *err)
{
    int n = options->n_threads ? options->n_threads : rlf_cores_count();
    int n_run = options->n_run_threads > n ? options->n_run_threads : n;
    *out = NULL;
    RLF_TRY(check_gpu(options->index, err));
    struct cudaDeviceProp prop;
    TRY(cudaGetDeviceProperties(&prop, options->index), "looking at a GPU");
    cuda_device *cuda = rlf_calloc(1, sizeof *cuda);
    rlf_status status = rlf_team_new(n, n_run, &cuda->device.team, err);
    if (status < 0) {
        free(cuda);
        return status;
    }
    cuda->index = options->index;
    cuda->limit = options->memory_limit;
    cuda->multiprocessors = prop.multiProcessorCount;
    cuda->capability = 10 * prop.major + prop.minor;
    memcpy(cuda->device.id, &prop.uuid, sizeof cuda->device.id);
    cuda->device.ops = &cuda_ops;
    cuda->device.caps = (rlf_device_caps){.asynchronous = true,
                                          .records = true,
                                          .n_threads = 1,
                                          .alignment = ALIGNMENT};
    *out = &cuda->device;
    return RLF_OK;
}

/* ---- for kernels/cuda -------------------------------------------------- */

size_t
rlf_cuda_taken(rlf_device *device)
{
    size_t left = 0, all = 0;
    cudaSetDevice(((cuda_device *)device)->index);
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? all - left : 0;
}

struct CUstream_st *
rlf_cuda_stream(rlf_queue *queue)
{
    return ((cuda_queue *)queue)->stream;
}

int32_t *
rlf_cuda_fault(rlf_queue *queue)
{
    return ((cuda_queue *)queue)->fault;
}

rlf_status
rlf_cuda_launched(const char *operation, rlf_err *err)
{
    TRY(cudaGetLastError(), operation);
    return RLF_OK;
}

rlf_status
rlf_cuda_scratch(rlf_queue *queue, size_t bytes, void **out, rlf_err *err)
{
    *out = ((cuda_queue *)queue)->scratch;
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
    return ((cuda_queue *)queue)->counters;
}

void **
rlf_cuda_keep(rlf_queue *queue, void (*end)(void *kept))
{
    cuda_queue *q = (cuda_queue *)queue;
    q->end_kept = end;
    return &q->kept;
}

int *
rlf_cuda_mark(rlf_queue *queue)
{
    return &((cuda_queue *)queue)->mark;
}

int
rlf_cuda_capability(rlf_queue *queue)
{
    return ((cuda_device *)queue->device)->capability;
}

int
rlf_cuda_multiprocessors(rlf_queue *queue)
{
    return ((cuda_device *)queue->device)->multiprocessors;
}

rlf_status
rlf_cuda_allow_shared(const void *kernel, size_t bytes, rlf_err *err)
{
    enum { ALWAYS = 48 << 10 };
    if (bytes > ALWAYS)
        TRY(cudaFuncSetAttribute(kernel,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)bytes),
            "asking for shared memory");
    return RLF_OK;
}

rlf_status
rlf_cuda_stage(rlf_queue *queue, const void *host, size_t bytes,
               const void **out, rlf_err *err)
{
    cuda_queue *q = (cuda_queue *)queue;
    size_t at;
    NOT_RECORDED(q, "arrays from the host");
    if (rounded(bytes) > STAGE)
        return rlf_fail(err, RLF_ENV,
                        "an array of %zu bytes is too large to be staged",
                        bytes);
    RLF_TRY(take_stage(q, bytes, &at, err));
    memcpy(q->staged_host + at, host, bytes);
    TRY(cudaMemcpyAsync(q->staged + at, q->staged_host + at, bytes,
                        cudaMemcpyHostToDevice, q->stream),
        "sending a small array");
    *out = q->staged + at;
    return RLF_OK;
}

rlf_status
rlf_cuda_fetch(rlf_queue *queue, void *to, const void *host, size_t bytes,
               rlf_err *err)
{
    NOT_RECORDED((cuda_queue *)queue, "arrays from the host");
    return copy_to_device((cuda_queue *)queue, to, host, bytes, err);
}

bool
rlf_cuda_on_host(const void *p)
{
    struct cudaPointerAttributes is;
    if (cudaPointerGetAttributes(&is, p) == cudaSuccess)
        return is.type == cudaMemoryTypeHost ||
               is.type == cudaMemoryTypeUnregistered;
    cudaGetLastError();
    return true;
}

#endif
