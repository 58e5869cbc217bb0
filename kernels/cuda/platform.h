/* The platform that the sources of this folder are compiled against: CUDA, or
 * its emulation on the host (emulate.h) with -DRLF_CUDA_EMULATED; and for which
 * activations: -DRLF_TYPE=f32 or bf16 (a bare word to paste into names),
 * -DRLF_REAL=float or
 * __nv_bfloat16.
 *
 * CUDA(name) is what engine/dev gives, TYPED(name) a function of one type. */
#ifndef RLF_KERNELS_CUDA_PLATFORM_H
#define RLF_KERNELS_CUDA_PLATFORM_H

#ifdef RLF_CUDA_EMULATED
#include "kernels/cuda/emulate.h"
#define RLF_UNROLL
#define RLF_UNROLL_BY(n)
#define CUDA(name) rlf_emulated_##name
#define TYPED_(type, name) rlf_emulated_##type##_##name
#define EMULATED true
#define RLF_LAUNCH(kernel, grid, block, shared, queue, ...) \
    emulate(queue, grid, block, shared,                     \
            emulate_call([=](auto... a) { kernel(a...); }, __VA_ARGS__))
#else
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#define RLF_UNROLL _Pragma("unroll")
#define RLF_PRAGMA(x) _Pragma(#x)
#define RLF_UNROLL_BY(n) RLF_PRAGMA(unroll n)
#define CUDA(name) rlf_cuda_##name
#define TYPED_(type, name) rlf_cuda_##type##_##name
#define EMULATED false
#define RLF_DYNAMIC_SHARED(type, name) \
    extern __shared__ __align__(128) type name[]
#define RLF_LAUNCH(kernel, grid, block, shared, queue, ...) \
    kernel<<<grid, block, shared, CUDA(stream)(queue)>>>(__VA_ARGS__)
#endif

#ifndef RLF_TYPE
#error "compile with -DRLF_TYPE=f32 or bf16"
#endif
#define TYPED_OF(type, name) TYPED_(type, name)
#define TYPED(name) TYPED_OF(RLF_TYPE, name)

#endif
