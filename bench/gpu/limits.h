/* The limits of the GPU, measured in the run that is compared with them: bytes
 * that a large copy on the device reads and writes a second, and flops a second
 * of cuBLASLt's product of bf16 matrices of 8192 cubed. */
#ifndef RLF_BENCH_GPU_LIMITS_H
#define RLF_BENCH_GPU_LIMITS_H

#include "kernels/kernels.h"

typedef struct limits {
    double bytes, flops; /* a second */
} limits;

/* End the program with the sentence: status 3 where something is missing. */
void must(rlf_status status, const rlf_err *err);
double seconds_now(void);
/* The first GPU and its bf16 kernels. Without one: its kernels emulated, or the
 * CPU's, if `fallback`; else the program says why and ends. */
void limits_open(bool fallback, rlf_device **device, rlf_queue **queue,
                 const rlf_kernels **kernels);
/* Is it really one? */
bool limits_gpu(const rlf_queue *queue);
limits limits_measure(rlf_queue *queue);

#endif
