/* One GPU as a device (dev.h): memory of its own, streams, events.
 *
 * The functions that kernels/cuda needs beyond dev.h stand here too: the stream
 * of a queue, scratch, small arrays from the host. Of a build without CUDA only
 * what opens and counts may be called, which says so. */
#ifndef RLF_DEV_CUDA_H
#define RLF_DEV_CUDA_H

#include "engine/dev/dev.h"

typedef struct rlf_cuda_options {
    int index;     /* the number among the GPUs that the process may see */
    int n_threads; /* threads of the team on the host, as in rlf_cpu_options */
    int n_run_threads;   /* threads of the teams of all ranks here, as in
                            rlf_cpu_options */
    size_t memory_limit; /* bytes of alloc in all; 0: what is free */
} rlf_cuda_options;

/* RLF_ENV where there is no driver, no such GPU or too old a one, with what to
 * do about it. Operations of its queues are for the thread that made it. */
rlf_status rlf_device_cuda_new(const rlf_cuda_options *options,
                               rlf_device **out, rlf_err *err);
/* Counts how many GPUs this process may use, at least 1; RLF_ENV says why none.
 */
rlf_status rlf_device_cuda_count(int *out, rlf_err *err);
/* Finds the memory of a GPU. What the driver will take for the code of kernels
 * is not left. */
rlf_status rlf_device_cuda_memory(int index, rlf_device_memory *out,
                                  rlf_err *err);

/* ---- for kernels/cuda -------------------------------------------------- */

/* Bytes of its memory that are taken, by whomever. */
size_t rlf_cuda_taken(rlf_device *device);
struct CUstream_st *rlf_cuda_stream(rlf_queue *queue);
/* Called after the launches of an operation: RLF_ENV if one of them failed. */
rlf_status rlf_cuda_launched(const char *operation, rlf_err *err);
/* A word that a kernel sets when it meets an index out of range; the next wait
 * for the queue gives RLF_BUG. */
int32_t *rlf_cuda_fault(rlf_queue *queue);
/* Memory of the queue for one operation: good until the next call. RLF_ENV if
 * it is more than a queue has. */
rlf_status rlf_cuda_scratch(rlf_queue *queue, size_t bytes, void **out,
                            rlf_err *err);
/* The size of that memory. */
size_t rlf_cuda_scratch_bytes(void);
/* RLF_CUDA_COUNTERS words of the queue's GPU that are 0 between operations. */
#define RLF_CUDA_COUNTERS 4096
int32_t *rlf_cuda_counters(rlf_queue *queue);
/* A pointer that kernels keep with the queue: NULL at first. `end` gets it,
 * unless it is NULL, when the queue is freed. */
void **rlf_cuda_keep(rlf_queue *queue, void (*end)(void *kept));
/* Returns 10 times the major number of the capability of the queue's GPU, plus
 * the minor one. */
int rlf_cuda_capability(rlf_queue *queue);
/* The number of multiprocessors of the queue's device. */
int rlf_cuda_multiprocessors(rlf_queue *queue);
/* Returns the bytes of shared memory that a block of the queue's GPU can have
 * in all. */
size_t rlf_cuda_shared_bytes(rlf_queue *queue);
/* Let `kernel` have so many bytes of dynamic shared memory a block, before it
 * is launched with them; the driver is asked once a kernel. RLF_ENV if the GPU
 * has less. */
rlf_status rlf_cuda_allow_shared(rlf_queue *queue, const void *kernel,
                                 size_t bytes, rlf_err *err);
/* A copy on the device of `bytes` in host memory, which may change at once. For
 * what is small: it lasts for the operations of some megabytes more of it. */
rlf_status rlf_cuda_stage(rlf_queue *queue, const void *host, size_t bytes,
                          const void **out, rlf_err *err);
/* Copies to memory of the device. */
rlf_status rlf_cuda_fetch(rlf_queue *queue, void *to, const void *host,
                          size_t bytes, rlf_err *err);
/* Does it lie in memory of the host? */
bool rlf_cuda_on_host(const void *p);

#endif
