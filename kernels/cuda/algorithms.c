/* The algorithms of products on this GPU: see algorithms.h. */
#include "kernels/cuda/algorithms.h"

#include "config.h"
#include "engine/dev/cuda.h"
#include "kernels/cuda/lt.h"

void
rlf_cuda_products(rlf_queue *queue, rlf_cast_type real, rlf_buf *out)
{
    if (real != RLF_CAST_F32)
        rlf_cuda_algorithms(real, rlf_cuda_capability(queue),
                            rlf_group_tiles(queue), rlf_lt_version(queue), out);
}
