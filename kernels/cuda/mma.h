/* Tensor cores and what feeds them: tiles of bf16, multiplied by a warp with
 * sums in f32 (mma.sync, from sm_80 on), tiles read from shared memory, copies
 * from the GPU's memory to it that go on beside the arithmetic.
 *
 * Lane l of a warp is in group g = l / 4 at place t = l % 4. A bf16 pair in a
 * word: the lower index in the lower half. All lanes call together. */
#ifndef RLF_KERNELS_CUDA_MMA_H
#define RLF_KERNELS_CUDA_MMA_H

#include "kernels/cuda/ops.h"

extern "C" {
#include "engine/base/half.h"
}

#ifdef RLF_CUDA_EMULATED
/* The same on the host. Sums are rounded once an instruction: what a GPU gives
 * differs in the last bit, but there as here a row's does not depend on others.
 */
void emulate_mma(float *c, const uint32_t *a, const uint32_t *b);
void emulate_ldmatrix(uint32_t *r, const void *row, bool transposed);
#endif

/* Two numbers as bf16, rounded to nearest even, NaN to NaN. */
static __device__ __forceinline__ uint32_t
bf16_pair(float low, float high)
{
    uint32_t pair;
#ifdef RLF_CUDA_EMULATED
    uint16_t half[2] = {rlf_f32_to_bf16(low), rlf_f32_to_bf16(high)};
    memcpy(&pair, half, sizeof pair);
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

/* The same as f16: 11 bits, but nothing above 65,504. */
static __device__ __forceinline__ uint32_t
f16_pair(float low, float high)
{
    uint32_t pair;
#ifdef RLF_CUDA_EMULATED
    uint16_t half[2] = {rlf_f32_to_f16(low), rlf_f32_to_f16(high)};
    memcpy(&pair, half, sizeof pair);
#else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#endif
    return pair;
}

static __device__ __forceinline__ float
f16_float(uint16_t x)
{
#ifdef RLF_CUDA_EMULATED
    return rlf_f16_to_f32(x);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
#endif
}

static __device__ __forceinline__ float
bf16_float(uint16_t x)
{
    return bits_float((uint32_t)x << 16);
}

/* c[16, 8] += a[16, 16] b[16, 8]. The lane has
 *   a[0], a[1]: rows g, g + 8 at k = 2 t, 2 t + 1; a[2], a[3]: at k + 8;
 *   b[0], b[1]: column g at k = 2 t, 2 t + 1; at k + 8;
 *   c[0], c[1]: row g at columns 2 t, 2 t + 1; c[2], c[3]: row g + 8. */
static __device__ __forceinline__ void
mma_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
#ifdef RLF_CUDA_EMULATED
    emulate_mma(c, a, b);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
#endif
}

/* Four matrices of 8 x 8: lane l gives the row l % 8 of matrix l / 8 (16 bytes
 * of shared memory, aligned so), and gets of each row g, columns 2 t and
 * 2 t + 1. */
static __device__ __forceinline__ void
ldmatrix4(uint32_t (&r)[4], const void *row)
{
#ifdef RLF_CUDA_EMULATED
    emulate_ldmatrix(r, row, false);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
#endif
}

/* The same of the matrices' transposes: rows 2 t and 2 t + 1 at column g. */
static __device__ __forceinline__ void
ldmatrix4_trans(uint32_t (&r)[4], const void *row)
{
#ifdef RLF_CUDA_EMULATED
    emulate_ldmatrix(r, row, true);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"((uint32_t)__cvta_generic_to_shared(row))
                 : "memory");
#endif
}

/* 16 bytes, both sides aligned so, to shared memory; zeros unless `valid` (then
 * `global` is not read, but is an address of the GPU's memory all the same).
 * There when the group that it was committed with is waited for, and, for other
 * threads, a barrier after that. */
static __device__ __forceinline__ void
copy_async16(void *shared, const void *global, bool valid)
{
#ifdef RLF_CUDA_EMULATED
    emulate_copy(shared, global, 16, valid);
#else
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(global),
                   "r"(valid ? 16 : 0)
                 : "memory");
#endif
}

/* The same of 4 bytes. */
static __device__ __forceinline__ void
copy_async4(void *shared, const void *global, bool valid)
{
#ifdef RLF_CUDA_EMULATED
    emulate_copy(shared, global, 4, valid);
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(global),
                   "r"(valid ? 4 : 0)
                 : "memory");
#endif
}

static __device__ __forceinline__ void
copy_async_commit(void)
{
#ifdef RLF_CUDA_EMULATED
    emulate_copy_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most the N groups committed last are under way. */
template <int N>
static __device__ __forceinline__ void
copy_async_wait(void)
{
#ifdef RLF_CUDA_EMULATED
    emulate_copy_wait(N);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

#endif
