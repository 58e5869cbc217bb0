/* A GPU behind the table of dev.h: its memory, its events and the table itself.
 * What a queue does is in cuda_queue.c, recordings in cuda_record.c, which
 * GPUs there are in cuda_open.c. Every call of the runtime is checked; its
 * error becomes a sentence with what was being done. */
#include "engine/dev/cuda_internal.h"

#include "engine/base/arena.h"
#include "engine/dev/cores.h"

#include <stdlib.h>
#include <string.h>

struct rlf_event {
    cudaEvent_t event;
};

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

rlf_status
rlf_cuda_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    rlf_cuda_device *cuda = (rlf_cuda_device *)device;
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    RLF_CUDA_NOT_RECORDED(cuda, "memory taken meanwhile");
    size_t have = rlf_cuda_rounded(bytes);
    if (have < bytes ||
        (cuda->limit &&
         (have > cuda->limit || device->allocated > cuda->limit - have)))
        return no_memory(device, bytes, err);
    RLF_CUDA_TRY(cudaSetDevice(device->number), "choosing a GPU");
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

void
rlf_cuda_free(rlf_device *device, void *p, size_t bytes)
{
    if (!p)
        return;
    cudaSetDevice(device->number);
    device->allocated -= rlf_cuda_rounded(bytes);
    cudaFree(p);
}

/* ---- pinned memory ----
 *
 * The driver may take or free it only once all is done that runs on this GPU
 * and on those that it reaches: and a message of NCCL that another rank of the
 * process waits for there may wait for this one. So what is taken and given
 * back again and again, small blocks, is kept, in sizes that fit again. */

enum { PAGE = 4 << 10, KEPT = 4 << 20 };

static size_t
pinned_size(size_t bytes)
{
    size_t size = PAGE;
    if (bytes > KEPT)
        return bytes;
    while (size < bytes)
        size *= 2;
    return size;
}

static rlf_status
take_pinned(rlf_cuda_device *cuda, size_t bytes, void **out, rlf_err *err)
{
    RLF_CUDA_TRY(cudaSetDevice(cuda->device.number), "choosing a GPU");
    RLF_CUDA_TRY(cudaMallocHost(out, bytes),
                 "taking pinned memory of the host");
    rlf_cuda_block *block = rlf_calloc(1, sizeof *block);
    *block = (rlf_cuda_block){*out, bytes, false, cuda->host};
    cuda->host = block;
    return RLF_OK;
}

static rlf_status
cuda_host_alloc(rlf_device *device, size_t bytes, void **out, rlf_err *err)
{
    rlf_cuda_device *cuda = (rlf_cuda_device *)device;
    size_t size = pinned_size(bytes);
    rlf_cuda_block *block = cuda->host;
    *out = NULL;
    if (bytes == 0)
        return RLF_OK;
    RLF_CUDA_NOT_RECORDED(cuda, "memory taken meanwhile");
    while (block && !(block->kept && block->bytes == size))
        block = block->next;
    if (block) {
        block->kept = false;
        *out = block->at;
    } else {
        RLF_TRY(take_pinned(cuda, size, out, err));
    }
    memset(*out, 0, bytes);
    return RLF_OK;
}

static void
free_pinned(rlf_cuda_block **at)
{
    rlf_cuda_block *block = *at;
    *at = block->next;
    cudaFreeHost(block->at);
    free(block);
}

static void
cuda_host_free(rlf_device *device, void *p, size_t bytes)
{
    rlf_cuda_block **at = &((rlf_cuda_device *)device)->host;
    (void)bytes;
    while (*at && (*at)->at != p)
        at = &(*at)->next;
    if (*at && (*at)->bytes <= KEPT)
        (*at)->kept = true;
    else if (*at)
        free_pinned(at);
}

bool
rlf_cuda_is_pinned(const rlf_device *device, const void *p)
{
    const rlf_cuda_block *block = ((const rlf_cuda_device *)device)->host;
    while (block && (block->kept ||
                     (size_t)((const char *)p - block->at) >= block->bytes))
        block = block->next;
    return block != NULL;
}

/* ---- events ---- */

static rlf_status
cuda_event_new(rlf_device *device, rlf_event **out, rlf_err *err)
{
    cudaEvent_t event;
    RLF_CUDA_TRY(cudaSetDevice(device->number), "choosing a GPU");
    RLF_CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
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
    RLF_CUDA_NOT_RECORDED((rlf_cuda_queue *)queue, "events");
    RLF_CUDA_TRY(
        cudaEventRecord(event->event, ((rlf_cuda_queue *)queue)->stream),
        "recording an event");
    return RLF_OK;
}

static rlf_status
cuda_event_wait(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    RLF_CUDA_NOT_RECORDED((rlf_cuda_queue *)queue, "events");
    RLF_CUDA_TRY(
        cudaStreamWaitEvent(((rlf_cuda_queue *)queue)->stream, event->event, 0),
        "waiting for an event");
    return RLF_OK;
}

static rlf_status
cuda_event_done(rlf_event *event, rlf_err *err)
{
    cudaError_t error = cudaEventQuery(event->event);
    if (rlf_cuda_unready(error))
        return RLF_AGAIN;
    RLF_CUDA_TRY(error, "looking at an event");
    return RLF_OK;
}

/* ---- the device ---- */

static rlf_status
cuda_event_sync(rlf_event *event, rlf_queue *queue, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    RLF_CUDA_NOT_RECORDED(q, "a wait");
    RLF_TRY(rlf_cuda_wait(q, event->event, err));
    return rlf_cuda_look_at_fault(q, err);
}

static void
cuda_device_free(rlf_device *device)
{
    rlf_cuda_device *cuda = (rlf_cuda_device *)device;
    while (cuda->host)
        free_pinned(&cuda->host);
    RLF_VEC_FREE(&cuda->allowed);
    rlf_team_free(device->team);
    free(device);
}

static const rlf_device_ops cuda_ops = {
    .name = "cuda",
    .doc = "a GPU",
    .alloc = rlf_cuda_alloc,
    .free = rlf_cuda_free,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .copy = rlf_cuda_copy,
    .copy_rows = rlf_cuda_copy_rows,
    .set = rlf_cuda_set,
    .queue_new = rlf_cuda_queue_new,
    .queue_free = rlf_cuda_queue_free,
    .queue_sync = rlf_cuda_queue_sync,
    .event_new = cuda_event_new,
    .event_free = cuda_event_free,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_done = cuda_event_done,
    .event_sync = cuda_event_sync,
    .reaches = rlf_cuda_reaches,
    .lane_new = rlf_cuda_lane_new,
    .copy_from = rlf_cuda_copy_from,
    .record = rlf_cuda_record,
    .recorded = rlf_cuda_recorded,
    .replay = rlf_cuda_replay,
    .recording_free = rlf_cuda_recording_free,
    .recordings_end = rlf_cuda_recordings_end,
    .device_free = cuda_device_free,
};

rlf_status
rlf_device_cuda_new(const rlf_cuda_options *options, rlf_device **out,
                    rlf_err *err)
{
    int n = options->n_threads ? options->n_threads : rlf_cores_count();
    int n_run = options->n_run_threads > n ? options->n_run_threads : n;
    *out = NULL;
    struct cudaDeviceProp prop;
    RLF_TRY(rlf_cuda_open(options->index, &prop, err));
    rlf_cuda_device *cuda = rlf_calloc(1, sizeof *cuda);
    rlf_status status = rlf_team_new(n, n_run, &cuda->device.team, err);
    if (status < 0) {
        free(cuda);
        return status;
    }
    cuda->device.number = options->index;
    cuda->limit = options->memory_limit;
    cuda->shared = prop.sharedMemPerBlockOptin;
    cuda->multiprocessors = prop.multiProcessorCount;
    cuda->capability = 10 * prop.major + prop.minor;
    memcpy(cuda->device.id, &prop.uuid, sizeof cuda->device.id);
    cuda->device.ops = &cuda_ops;
    cuda->device.caps = (rlf_device_caps){.asynchronous = true,
                                          .records = true,
                                          .n_threads = 1,
                                          .alignment = RLF_CUDA_ALIGNMENT};
    *out = &cuda->device;
    return RLF_OK;
}

size_t
rlf_cuda_taken(rlf_device *device)
{
    size_t left = 0, all = 0;
    cudaSetDevice(device->number);
    return cudaMemGetInfo(&left, &all) == cudaSuccess ? all - left : 0;
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
