/* The ways of bf16 products on a GPU, which decide their bits: see
 * algorithms.h. */
#include "kernels/cuda/algorithms.h"

#include "config.h"
#include "engine/dev/cuda.h"
#include "kernels/cuda/lt.h"

void
rlf_cuda_products(rlf_queue *queue, rlf_cast_type real, rlf_buf *out)
{
    if (real == RLF_CAST_F32)
        return; /* our own, with the bits of the CPU */
    int capability = rlf_cuda_capability(queue);
    size_t version = rlf_lt_version(queue);
    rlf_buf_printf(out, "compute capability %d.%d, forward by %s, ",
                   capability / 10, capability % 10,
                   rlf_group_tiles(queue) ? "warp groups" : "warps");
    if (version)
        rlf_buf_printf(out, "gradients by cuBLASLt %zu", version);
    else
        rlf_buf_puts(out, "gradients by warps");
}
