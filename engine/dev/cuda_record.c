/* What a queue of a GPU was given, recorded and carried out again: a CUDA
 * graph, captured from its stream. See dev.h and replay.h. */
#include "engine/dev/cuda_internal.h"

#include "engine/base/arena.h"

#include <stdlib.h>

struct rlf_recording {
    rlf_recording *next; /* of the queue's */
    rlf_cuda_queue *queue;
    cudaGraphExec_t graph; /* NULL: ended */
};

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
    if (error == cudaSuccess && out)
        error = cudaGraphInstantiateWithFlags(&exec, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    if (error != cudaSuccess)
        cudaGetLastError(); /* it is told here, and not again */
    RLF_CUDA_TRY(error, "recording operations");
    if (!out)
        return RLF_OK;
    *out = rlf_calloc(1, sizeof **out);
    **out = (rlf_recording){q->recordings, q, exec};
    q->recordings = *out;
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
    if (recording->graph)
        cudaGraphExecDestroy(recording->graph);
    recording->graph = NULL;
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
