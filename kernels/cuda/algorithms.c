/* The algorithms of products on a GPU: see algorithms.h. */
#include "kernels/cuda/algorithms.h"

#include "config.h"
#include "engine/dev/cuda.h"
#include "kernels/cuda/lt.h"

rlf_status
rlf_cuda_prepare(rlf_queue *queue, rlf_cast_type real, uint32_t *algorithms,
                 rlf_buf *notes, rlf_err *err)
{
    bool by_groups;
    *algorithms = 0;
    if (real == RLF_CAST_F32)
        return RLF_OK;
    RLF_TRY(rlf_cuda_try_attention(queue, err));
    RLF_TRY(rlf_cuda_group_tiles(queue, &by_groups, err));
    if (by_groups)
        *algorithms |= RLF_BY_WARP_GROUPS;
    else if (rlf_cuda_has_groups(queue))
        rlf_buf_puts(notes, rlf_cuda_groups_wrong);
    const char *why = rlf_lt_missing(queue);
    if (why)
        rlf_buf_printf(notes,
                       "gradients of bf16 are made without cuBLASLt, which "
                       "takes longer: %s\n",
                       why);
    return RLF_OK;
}

void
rlf_cuda_choose(rlf_queue *queue, rlf_cast_type real, uint32_t algorithms,
                rlf_buf *out)
{
    bool by_groups = algorithms & RLF_BY_WARP_GROUPS;
    rlf_cuda_group_use(queue->device, by_groups);
    if (real != RLF_CAST_F32)
        rlf_cuda_algorithms(real, rlf_cuda_capability(queue), by_groups,
                            rlf_lt_version(queue), out);
}
