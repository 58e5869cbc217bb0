/* rlf_comm_fold() on a GPU: a thread an element, for the collectives that add
 * over NCCL (nccl.c). */
extern "C" {
#include "engine/comm/device.h"
#include "engine/dev/cuda.h"
rlf_fold_fn rlf_cuda_fold;
}
#include "engine/comm/fold.cuh"

#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 132 * 16, FEW = 16 };

/* Their places: few of them travel with the launch. */
struct places {
    const void *few[FEW];
    const void *const *all; /* of the device; or NULL */
};

#define KERNEL(how, name, type)                                               \
    static __global__ void how##_##name##_kernel(void *out, places parts,     \
                                                 int n_parts, size_t n)       \
    {                                                                         \
        const void *const *list = parts.all ? parts.all : parts.few;          \
        size_t step = (size_t)gridDim.x * blockDim.x;                         \
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; \
             i += step)                                                       \
            ((type *)out)[i] = (type)fold_##how##_##name(list, n_parts, i);   \
    }
#define COMM_TYPE(name, type, text) \
    KERNEL(sum, name, type)         \
    KERNEL(max, name, type)         \
    KERNEL(min, name, type)
#include "engine/comm/type.def"
#undef COMM_TYPE

typedef void fold_kernel(void *out, places parts, int n_parts, size_t n);

static fold_kernel *const kernels[RLF_COMM_TYPES][RLF_COMM_HOWS] = {
#define COMM_TYPE(name, type, text) \
    {sum_##name##_kernel, max_##name##_kernel, min_##name##_kernel},
#include "engine/comm/type.def"
#undef COMM_TYPE
};

rlf_status
rlf_cuda_fold(rlf_queue *queue, void *out, const void *const *parts,
              int n_parts, size_t n, rlf_comm_type type, rlf_comm_how how,
              rlf_err *err)
{
    places list = {};
    if (n_parts <= FEW) {
        for (int i = 0; i < n_parts; i++)
            list.few[i] = parts[i];
    } else {
        const void *there;
        RLF_TRY(rlf_cuda_stage(queue, parts, (size_t)n_parts * sizeof *parts,
                               &there, err));
        list.all = (const void *const *)there;
    }
    size_t blocks = (n + THREADS - 1) / THREADS;
    blocks = blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS;
    fold_kernel *kernel = kernels[type][how];
    if (n)
        kernel<<<(unsigned)blocks, THREADS, 0, rlf_cuda_stream(queue)>>>(
            out, list, n_parts, n);
    return rlf_cuda_launched("adding what came from other ranks", err);
}
