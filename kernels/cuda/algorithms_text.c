/* The algorithms of bf16 products on a GPU as a text: see algorithms.h. Built
 * without CUDA too, for the device that emulates one. */
#include "kernels/cuda/algorithms.h"

const char rlf_cuda_groups_wrong[] =
    "bf16 is not multiplied by warp groups: on this GPU and driver a result is "
    "wrong, or not the same in tiles of all sizes\n";

void
rlf_cuda_algorithms(rlf_cast_type real, int capability, bool groups,
                    size_t version, rlf_buf *out)
{
    if (real == RLF_CAST_F32)
        return; /* our own, with the bits of the CPU */
    rlf_buf_printf(out, "compute capability %d.%d, forward by %s, ",
                   capability / 10, capability % 10,
                   groups ? "warp groups" : "warps");
    if (version)
        rlf_buf_printf(out, "gradients by cuBLASLt %zu", version);
    else
        rlf_buf_puts(out, "gradients by warps");
}
