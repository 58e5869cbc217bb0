/* rlf_comm_fold() on a GPU: a thread an element, for the collectives that add
 * over NCCL (nccl.c). */
extern "C" {
#include "engine/comm/device.h"
#include "engine/dev/cuda.h"
rlf_fold_fn rlf_cuda_fold;
}
#include "engine/comm/fold.cuh"

#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 132 * 16 };

/* Their places: up to FOLD_WITH_LAUNCH of them travel with the launch, which a
 * recording keeps. */
struct places {
    const void *few[FOLD_WITH_LAUNCH];
    const void *const *all; /* of the device; or NULL */
};

/* PARTS of them, or n_parts: where it is known how many there are, the stack is
 * in registers. The places are read where the launch has put them. */
#define KERNEL(op, name, type)                                               \
    template <int PARTS>                                                      \
    static __global__ void op##_##name##_kernel(                             \
        void *out, const __grid_constant__ places parts, int n_parts,         \
        size_t n)                                                             \
    {                                                                         \
        const void *const *list = parts.all ? parts.all : parts.few;          \
        int known = PARTS ? PARTS : n_parts;                                  \
        size_t step = (size_t)gridDim.x * blockDim.x;                         \
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; \
             i += step)                                                       \
            ((type *)out)[i] = (type)fold_##op##_##name(list, known, i);      \
    }
#define COMM_TYPE(name, type, text) \
    KERNEL(sum, name, type)         \
    KERNEL(max, name, type)         \
    KERNEL(min, name, type)
#include "engine/comm/type.def"
#undef COMM_TYPE

typedef void fold_kernel(void *out, const places parts, int n_parts, size_t n);

template <int PARTS>
static fold_kernel *const kernels[RLF_COMM_TYPES][RLF_COMM_OPS] = {
#define COMM_TYPE(name, type, text)                          \
    {sum_##name##_kernel<PARTS>, max_##name##_kernel<PARTS>, \
     min_##name##_kernel<PARTS>},
#include "engine/comm/type.def"
#undef COMM_TYPE
};

rlf_status
rlf_cuda_fold(rlf_queue *queue, void *out, const void *const *parts,
              int n_parts, size_t n, rlf_comm_type type, rlf_comm_op op,
              rlf_err *err)
{
    places list = {};
    if (n_parts <= FOLD_WITH_LAUNCH) {
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
    fold_kernel *kernel = n_parts == 2   ? kernels<2>[type][op]
                          : n_parts == 4 ? kernels<4>[type][op]
                          : n_parts == 8 ? kernels<8>[type][op]
                                         : kernels<0>[type][op];
    if (n)
        kernel<<<(unsigned)blocks, THREADS, 0, rlf_cuda_stream(queue)>>>(
            out, list, n_parts, n);
    return rlf_cuda_launched("adding what came from other ranks", err);
}
