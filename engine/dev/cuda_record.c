/* Work of a GPU's queue, recorded and carried out again: a CUDA
 * graph, captured from its stream. See dev.h and replay.h. */
#include "engine/dev/cuda_internal.h"

#include "engine/base/arena.h"

#include <stdlib.h>

struct rlf_recording {
    rlf_recording *next; /* of the queue's */
    rlf_cuda_queue *queue;
    cudaGraphExec_t graph; /* NULL: ended */
    size_t bytes;          /* of the GPU, that the driver took for it */
};

/* One more, or one less: would another of the largest still have room? */
static void
count(rlf_cuda_device *cuda, size_t more, size_t less)
{
    cuda->recorded += more;
    cuda->recorded -= less;
    if (more > cuda->largest_recording)
        cuda->largest_recording = more;
    cuda->device.recorded_enough =
        cuda->recorded + cuda->largest_recording > RLF_CUDA_RECORDINGS;
}

static size_t
left(void)
{
    size_t now = 0, all = 0;
    return cudaMemGetInfo(&now, &all) == cudaSuccess ? now : 0;
}

/* With all the memory that it needs, so that it can be counted: as long as
 * nobody else takes or gives back some of the same GPU at that moment. */
static cudaError_t
make(rlf_cuda_queue *q, cudaGraph_t graph, cudaGraphExec_t *out, size_t *bytes)
{
    size_t before = left();
    cudaError_t error = cudaGraphInstantiateWithFlags(out, graph, 0);
    if (error == cudaSuccess)
        error = cudaGraphUpload(*out, q->stream);
    size_t after = left();
    *bytes = before > after ? before - after : 0;
    return error;
}

rlf_status
rlf_cuda_record(rlf_queue *queue, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    RLF_CUDA_NOT_RECORDED(q, "a recording within one");
    /* other threads may do what they like with their GPUs */
    RLF_CUDA_TRY(
        cudaStreamBeginCapture(q->stream, cudaStreamCaptureModeThreadLocal),
        "beginning to record");
    q->recording = true;
    ((rlf_cuda_device *)queue->device)->recording++;
    return RLF_OK;
}

rlf_status
rlf_cuda_recorded(rlf_queue *queue, rlf_recording **out, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    if (!q->recording)
        return rlf_fail(err, RLF_BUG, "the queue was not recording");
    q->recording = false;
    ((rlf_cuda_device *)queue->device)->recording--;
    cudaError_t error = cudaStreamEndCapture(q->stream, &graph);
    size_t bytes = 0;
    if (error == cudaSuccess && out)
        error = make(q, graph, &exec, &bytes);
    if (error != cudaSuccess && exec)
        cudaGraphExecDestroy(exec);
    if (graph)
        cudaGraphDestroy(graph);
    RLF_CUDA_TRY(error, "recording operations");
    if (!out)
        return RLF_OK;
    *out = rlf_calloc(1, sizeof **out);
    **out = (rlf_recording){q->recordings, q, exec, bytes};
    q->recordings = *out;
    count((rlf_cuda_device *)queue->device, bytes, 0);
    return RLF_OK;
}

rlf_status
rlf_cuda_replay(rlf_queue *queue, rlf_recording *recording, rlf_err *err)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    RLF_CUDA_NOT_RECORDED(q, "a recording within one");
    if (!recording->graph)
        return rlf_fail(err, RLF_BUG, "what was recorded has been ended");
    RLF_CUDA_TRY(cudaGraphLaunch(recording->graph, q->stream),
                 "carrying out what was recorded");
    return RLF_OK;
}

/* A graph that is under way is done first, as the runtime has it. */
static void
end(rlf_recording *recording)
{
    if (!recording->graph)
        return;
    cudaGraphExecDestroy(recording->graph);
    recording->graph = NULL;
    count((rlf_cuda_device *)recording->queue->queue.device, 0,
          recording->bytes);
}

void
rlf_cuda_recording_free(rlf_recording *recording)
{
    if (!recording)
        return;
    rlf_recording **at = &recording->queue->recordings;
    while (*at != recording)
        at = &(*at)->next;
    *at = recording->next;
    end(recording);
    free(recording);
}

void
rlf_cuda_recordings_end(rlf_queue *queue)
{
    rlf_cuda_queue *q = (rlf_cuda_queue *)queue;
    rlf_err ignored = RLF_ERR_NONE;
    if (q->recording)
        rlf_cuda_recorded(queue, NULL, &ignored);
    for (rlf_recording *r = q->recordings; r; r = r->next)
        end(r);
}
