/* Products of tiles by a warp group of four warps (wgmma, sm_90a): operands are
 * read from shared memory while the threads go on.
 *
 * Tiles are rows of 64 numbers (128 bytes) whose 16-byte pieces lie as
 * product_tile.h puts them, which is the hardware's swizzle of 128 bytes; they
 * begin at multiples of 1024 bytes. */
#ifndef RLF_KERNELS_CUDA_WGMMA_H
#define RLF_KERNELS_CUDA_WGMMA_H

#include "kernels/cuda/mma.h"

static constexpr int GROUP = 4 * WARP;

#ifdef RLF_CUDA_EMULATED

static inline float
wgmma_at(const char *tile, int row, int k)
{
    uint16_t x;
    int p = k / 8 ^ row % 8;
    memcpy(&x, tile + row * 128 + p * 16 + k % 8 * 2, sizeof x);
    return bf16_float(x);
}

#else

/* The descriptor of a tile's numbers from k on. */
static __device__ __forceinline__ uint64_t
wgmma_operand(const char *tile, int k)
{
    uint64_t address = (uint32_t)__cvta_generic_to_shared(tile) + k * 2;
    constexpr uint64_t EIGHT_ROWS = 1024, SWIZZLE_128 = 1;
    return (address & 0x3ffff) >> 4 | 1ull << 16 | EIGHT_ROWS >> 4 << 32 |
           SWIZZLE_128 << 62;
}

#endif

/* Makes generic stores to shared memory before it visible to what follows. */
static __device__ __forceinline__ void
wgmma_see_shared(void)
{
#ifndef RLF_CUDA_EMULATED
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* Called before the first product onto registers that were written. */
static __device__ __forceinline__ void
wgmma_begin(void)
{
#ifndef RLF_CUDA_EMULATED
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

static __device__ __forceinline__ void
wgmma_commit(void)
{
#ifdef RLF_CUDA_EMULATED
    emulate_start_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits until at most the N groups committed last are under way. */
template <int N>
static __device__ __forceinline__ void
wgmma_wait(void)
{
#ifdef RLF_CUDA_EMULATED
    emulate_start_wait(N);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}

/* Values that a wait made whole are not read before it. */
template <int N>
static __device__ __forceinline__ void
wgmma_settled(float (&c)[N][4])
{
#ifndef RLF_CUDA_EMULATED
    RLF_UNROLL
    for (int j = 0; j < N; j++)
        RLF_UNROLL
    for (int i = 0; i < 4; i++)
        asm volatile("" : "+f"(c[j][i])::"memory");
#else
    (void)c;
#endif
}

/* c[64, N] += a[64, 16] b[N, 16]^T, both tiles at k..k+15. Warp w of the group
 * has the rows 16 w.., each lane what mma_bf16 would give it. Between begin and
 * commit; c is there after the wait. */
template <int N>
static __device__ __forceinline__ void
wgmma(float (&c)[N / 8][4], const char *a, const char *b, int k);

#ifdef RLF_CUDA_EMULATED

typedef double wgmma_sums __attribute__((vector_size(32)));

/* This thread's share. */
template <int N>
static inline void
emulate_wgmma(float *c, const char *a, const char *b, int k)
{
    int lane = emulate_lane(), warp = (int)threadIdx.x / WARP % 4;
    int row = warp * 16 + lane / 4, col = lane % 4 * 2;
    wgmma_sums x[16];
    for (int e = 0; e < 16; e++) {
        double upper = (double)wgmma_at(a, row, k + e);
        double lower = (double)wgmma_at(a, row + 8, k + e);
        x[e] = wgmma_sums{upper, upper, lower, lower};
    }
    for (int j = 0; j < N / 8; j++, c += 4, col += 8) {
        wgmma_sums sum = {(double)c[0], (double)c[1], (double)c[2],
                          (double)c[3]};
        for (int e = 0; e < 16; e++) {
            double left = (double)wgmma_at(b, col, k + e);
            double right = (double)wgmma_at(b, col + 1, k + e);
            sum += x[e] * wgmma_sums{left, right, left, right};
        }
        for (int i = 0; i < 4; i++)
            c[i] = (float)sum[i];
    }
}

template <int N>
static inline void
wgmma(float (&c)[N / 8][4], const char *a, const char *b, int k)
{
    int row = (int)threadIdx.x / WARP % 4 * 16 + emulate_lane() / 2;
    for (int p = k / 8; p < k / 8 + 2; p++) {
        emulate_will_read16(a + row * 128 + (p ^ row % 8) * 16);
        for (int col = emulate_lane(); col < N; col += WARP)
            emulate_will_read16(b + col * 128 + (p ^ col % 8) * 16);
    }
    emulate_start(emulate_wgmma<N>, &c[0][0], a, b, k);
}

#else

#define C1(j) "+f"(c[j][0]), "+f"(c[j][1]), "+f"(c[j][2]), "+f"(c[j][3])
#define C8(j)                                                                \
    C1(j), C1(j + 1), C1(j + 2), C1(j + 3), C1(j + 4), C1(j + 5), C1(j + 6), \
        C1(j + 7)

// clang-format off
template <>
__device__ __forceinline__ void
wgmma<64>(float (&c)[8][4], const char *a, const char *b, int k)
{
    asm volatile("{\n.reg .pred always;\nsetp.eq.b32 always, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, always, 1, 1, 0, 0;\n}"
                 : C8(0)
                 : "l"(wgmma_operand(a, k)), "l"(wgmma_operand(b, k))
                 : "memory");
}

template <>
__device__ __forceinline__ void
wgmma<128>(float (&c)[16][4], const char *a, const char *b, int k)
{
    asm volatile("{\n.reg .pred always;\nsetp.eq.b32 always, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, always, 1, 1, 0, 0;\n}"
                 : C8(0), C8(8)
                 : "l"(wgmma_operand(a, k)), "l"(wgmma_operand(b, k))
                 : "memory");
}

template <>
__device__ __forceinline__ void
wgmma<192>(float (&c)[24][4], const char *a, const char *b, int k)
{
    asm volatile("{\n.reg .pred always;\nsetp.eq.b32 always, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, "
                 "%72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, "
                 "%88, %89, %90, %91, %92, %93, %94, %95}, "
                 "%96, %97, always, 1, 1, 0, 0;\n}"
                 : C8(0), C8(8), C8(16)
                 : "l"(wgmma_operand(a, k)), "l"(wgmma_operand(b, k))
                 : "memory");
}

template <>
__device__ __forceinline__ void
wgmma<256>(float (&c)[32][4], const char *a, const char *b, int k)
{
    asm volatile("{\n.reg .pred always;\nsetp.eq.b32 always, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, "
                 "%8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, "
                 "%24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, "
                 "%40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, "
                 "%56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, "
                 "%72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, "
                 "%88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, "
                 "%104, %105, %106, %107, %108, %109, %110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, "
                 "%120, %121, %122, %123, %124, %125, %126, %127}, "
                 "%128, %129, always, 1, 1, 0, 0;\n}"
                 : C8(0), C8(8), C8(16), C8(24)
                 : "l"(wgmma_operand(a, k)), "l"(wgmma_operand(b, k))
                 : "memory");
}
// clang-format on

#undef C8
#undef C1

#endif

#endif
