/* Sums in index order by one thread: for head.cu. */
#ifndef RLF_KERNELS_CUDA_ADD_H
#define RLF_KERNELS_CUDA_ADD_H

#include "kernels/cuda/platform.h"

/* x + a[0] + a[1]..., one after the other. Numbers are fetched 16 at a time, so
 * that the thread waits for the additions alone. */
template <typename T>
static __device__ __forceinline__ double
add_up(double x, const T *a, int n)
{
#ifndef RLF_CUDA_EMULATED
#pragma unroll 16
#endif
    for (int i = 0; i < n; i++)
        x += (double)a[i];
    return x;
}

#endif
