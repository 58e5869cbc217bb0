/* Enough of CUDA's language to run a kernel on the host: every thread of a
 * block is a fiber, blocks run one after the other.
 *
 * For tests on machines without a GPU: the sources of this folder are compiled
 * as C++ against this file, and their results held to the same hashes as all
 * other backends'. It knows bf16, the threads of a block, shared memory,
 * __syncthreads and the shuffles of whole warps; a warp whose threads do not
 * meet at the same call is a mistake, and ends the program. So are addresses
 * that are not aligned as an instruction wants them, and a thread that ends
 * before what it started.
 *
 * It does what a GPU may do at its worst: blocks and warps go in an order that
 * is not theirs, and what is started beside (copies, products of warp groups)
 * is carried out no sooner than it is waited for. With -DRLF_EMULATED_RACES and
 * ThreadSanitizer every thread of a block is a thread to that, which knows of
 * __syncthreads, __syncwarp and atomics: two that touch the same memory without
 * one of these between are reported. */
#ifndef RLF_KERNELS_CUDA_EMULATE_H
#define RLF_KERNELS_CUDA_EMULATE_H

#include "engine/base/half.h"

#include <functional>
#include <math.h>
#include <stdint.h>
#include <string.h>

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1)
        : x(a), y(b), z(c)
    {
    }
};

struct __nv_bfloat16 {
    uint16_t bits;
};

static inline float
__bfloat162float(__nv_bfloat16 x)
{
    return rlf_bf16_to_f32(x.bits);
}

static inline __nv_bfloat16
__float2bfloat16_rn(float x)
{
    return {rlf_f32_to_bf16(x)};
}

/* The position of the thread that runs; each thread of the host emulates a GPU
 * of its own. */
extern constinit thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define RLF_DYNAMIC_SHARED(type, name) type *name = (type *)emulate_shared()

/* A kernel with its arguments as they are now. */
template <typename K, typename... A>
static inline std::function<void()>
emulate_call(K kernel, A... args)
{
    return [=] { kernel(args...); };
}

/* Runs it, or puts it down if the queue records. */
void emulate(struct rlf_queue *queue, dim3 grid, dim3 block, size_t shared,
             const std::function<void()> &kernel);
char *emulate_shared(void);
/* Deposits 8 bytes; returns those of the thread at `lane` of the warp when all
 * of it have done so. */
uint64_t emulate_shuffle(uint64_t bits, int lane);
int emulate_lane(void);
void __syncthreads(void);
/* Blocks run one after the other, and fibers in turn. */
static inline void
__threadfence(void)
{
}

static inline void
__trap(void)
{
    __builtin_trap();
}

template <typename T>
static inline T
atomicAdd(T *at, T n)
{
    return __atomic_fetch_add(at, n, __ATOMIC_RELAXED);
}

static inline int32_t
atomicMin(int32_t *at, int32_t n)
{
    int32_t was = __atomic_load_n(at, __ATOMIC_RELAXED);
    __atomic_store_n(at, n < was ? n : was, __ATOMIC_RELAXED);
    return was;
}

void __syncwarp(unsigned mask = 0xffffffff);

/* Work that goes on beside (mma.h, wgmma.h). c += a b^T at k, as `run` does it.
 */
typedef void emulate_product(float *c, const char *a, const char *b, int k);
void emulate_copy(void *shared, const void *global, unsigned bytes, bool valid);
void emulate_copy_commit(void);
void emulate_copy_wait(unsigned n);
void emulate_start(emulate_product *run, float *c, const char *a, const char *b,
                   int k);
void emulate_start_commit(void);
void emulate_start_wait(unsigned n);
/* An access of 16 bytes, for ThreadSanitizer. */
void emulate_will_read16(const void *p);

template <typename T>
static inline T
emulate_exchange(T value, int lane)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = emulate_shuffle(bits, lane);
    memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
static inline T
__shfl_xor_sync(unsigned, T value, int mask)
{
    return emulate_exchange(value, emulate_lane() ^ mask);
}

template <typename T>
static inline T
__shfl_sync(unsigned, T value, int lane)
{
    return emulate_exchange(value, lane);
}

#endif
