/* Access of a GPU to the memory of another rank's GPU in the same process:
 * which it can read, the queue that copies from there, the copy. A stream of
 * its own, so that what comes from others passes the rank's work; of a higher
 * priority, so that the driver does not line both up in one of its own queues.
 * What knows of messages is engine/comm. */
#include "engine/dev/cuda_internal.h"

#include "engine/base/arena.h"

bool
rlf_cuda_reaches(rlf_device *device, int number)
{
    int can = 0;
    if (number == device->number)
        return true;
    if (cudaSetDevice(device->number) != cudaSuccess ||
        cudaDeviceCanAccessPeer(&can, device->number, number) != cudaSuccess ||
        !can) {
        cudaGetLastError(); /* it is an answer, not an error */
        return false;
    }
    cudaError_t error = cudaDeviceEnablePeerAccess(number, 0);
    cudaGetLastError();
    return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
}

static rlf_status
open_lane(rlf_cuda_queue *q, rlf_err *err)
{
    int least, greatest;
    RLF_CUDA_TRY(cudaSetDevice(q->queue.device->number), "choosing a GPU");
    RLF_CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest),
                 "looking at a GPU");
    RLF_CUDA_TRY(cudaStreamCreateWithPriority(&q->stream, cudaStreamNonBlocking,
                                              greatest),
                 "making a stream");
    return RLF_OK;
}

rlf_status
rlf_cuda_lane_new(rlf_device *device, rlf_queue **out, rlf_err *err)
{
    rlf_cuda_queue *q = rlf_calloc(1, sizeof *q);
    q->queue.device = device;
    rlf_status status = open_lane(q, err);
    if (status < 0)
        rlf_cuda_queue_free(&q->queue);
    else
        *out = &q->queue;
    return status;
}

rlf_status
rlf_cuda_copy_from(rlf_queue *queue, void *to, const rlf_device *other,
                   const void *from, size_t bytes, rlf_err *err)
{
    const rlf_cuda_queue *q = (const rlf_cuda_queue *)queue;
    int here = queue->device->number;
    if (bytes == 0)
        return RLF_OK;
    cudaError_t error =
        other->number == here
            ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                              q->stream)
            : cudaMemcpyPeerAsync(to, here, from, other->number, bytes,
                                  q->stream);
    RLF_CUDA_TRY(error, "copying from the GPU of another rank");
    return RLF_OK;
}
