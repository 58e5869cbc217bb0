/* A GPU that is not there, for tests of whole runs: the kernels of this folder
 * on the host (emulate.h), on memory that the host cannot touch.
 *
 * Its blocks lie in address space without any access but while work of its
 * queues is carried out: whoever dereferences a device pointer outside of that
 * dies at that line. Nothing is carried out before somebody waits for it, so a
 * missing wait gives other bits, the same each time. What is copied to the host
 * arrives with the next wait for the queue and is rubbish until then. */
#ifndef RLF_KERNELS_CUDA_EMULATE_DEVICE_H
#define RLF_KERNELS_CUDA_EMULATE_DEVICE_H

#include "kernels/backend.h"

/* Two devices of 512 MB, named "emulated". */
extern const rlf_backend rlf_backend_emulated;

/* Does the queue record? For what stands in for NCCL in tests. */
bool rlf_emulated_records(const rlf_queue *queue);
/* Work of the host in the place of a kernel, on a copy of its arguments: it is
 * carried out with the memory open, at once, or recorded. `end` comes when it
 * will not be carried out again. Tests give it what is no kernel of ours, as
 * the work of NCCL. */
void rlf_emulated_run(rlf_queue *queue, void (*run)(void *args),
                      void (*end)(void *args), const void *args, size_t bytes);

#endif
