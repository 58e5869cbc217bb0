/* Declarations that the files of this folder share. */
#ifndef RLF_KERNELS_CUDA_OPS_H
#define RLF_KERNELS_CUDA_OPS_H

#include "kernels/cuda/platform.h"

extern "C" {
#include "engine/dev/cuda.h"
#include "kernels/kernels.h"

#ifdef RLF_CUDA_EMULATED
#include "kernels/cuda/emulate_steps.h"

/* As those of engine/dev/cuda.h, on queues of any device in host memory. */
int32_t *rlf_emulated_fault(rlf_queue *queue);
rlf_status rlf_emulated_scratch(rlf_queue *queue, size_t bytes, void **out,
                                rlf_err *err);
size_t rlf_emulated_scratch_bytes(void);
int32_t *rlf_emulated_counters(rlf_queue *queue);
int rlf_emulated_multiprocessors(rlf_queue *queue);
size_t rlf_emulated_shared_bytes(rlf_queue *queue);
rlf_status rlf_emulated_allow_shared(rlf_queue *queue, const void *kernel,
                                     size_t bytes, rlf_err *err);
rlf_status rlf_emulated_stage(rlf_queue *queue, const void *host, size_t bytes,
                              const void **out, rlf_err *err);
rlf_status rlf_emulated_fetch(rlf_queue *queue, void *to, const void *host,
                              size_t bytes, rlf_err *err);
bool rlf_emulated_on_host(const void *p);
#endif

#define OP(name, doc, flops, bytes)                                          \
    rlf_status TYPED(name)(rlf_queue * queue, const rlf_##name##_args *args, \
                           rlf_err *err);
#include "kernels/op.def"
#undef OP

/* One for all types (dense.cu). */
rlf_status CUDA(expr_dense)(rlf_queue *queue, const rlf_expr_dense_args *args,
                            rlf_err *err);

/* The table (instance.cu) without hooks: operations made of others take them
 * from here. */
extern const rlf_kernels TYPED(rows);

size_t TYPED(product_packed_bytes)(int64_t rows, int64_t cols,
                                   rlf_product_form form);
size_t TYPED(head_work_bytes)(int64_t rows, int64_t v, int64_t d,
                              const rlf_head_part *part);
}

static constexpr int WARP = 32, LANES = 64, THREADS = 256;

static inline int64_t
or_dense(int64_t ld, int64_t dense)
{
    return ld ? ld : dense;
}

/* Refuse sizes that cannot be meant. Needs `err`. */
#define NEED(condition, op)                                                 \
    do {                                                                    \
        if (!(condition))                                                   \
            return rlf_fail(err, RLF_BUG, "wrong arguments for %s: not %s", \
                            op, #condition);                                \
    } while (0)

/* Blocks for n items, `each` a block; the kernels stride over the rest. */
static inline dim3
blocks_for(int64_t n, int64_t each)
{
    int64_t blocks = (n + each - 1) / each;
    return dim3((unsigned)(blocks < 65535 ? blocks : 65535));
}

/* Rows of a matrix to be packed, `first` rows behind where args->packed is. */
typedef void pack_rows_fn(rlf_queue *queue, rlf_product_pack_args args,
                          int64_t first);

/* A matrix in host memory comes through scratch, some rows at a time; a row is
 * never more than there is. */
static inline rlf_status
pack_near(rlf_queue *queue, const rlf_product_pack_args &a, pack_rows_fn *pack,
          rlf_err *err)
{
    constexpr int64_t bytes_at_once = EMULATED ? 4 << 10 : 32 << 20;
    if (!CUDA(on_host)(a.w)) {
        pack(queue, a, 0);
        return RLF_OK;
    }
    int64_t most = bytes_at_once / (a.ldw * (int64_t)sizeof(float));
    rlf_product_pack_args some = a;
    most = most > 0 ? most : 1;
    for (int64_t i = 0; i < a.rows; i += most) {
        void *near;
        some.rows = a.rows - i < most ? a.rows - i : most;
        size_t bytes =
            (size_t)((some.rows - 1) * a.ldw + a.cols) * sizeof(float);
        RLF_TRY(CUDA(scratch)(queue, bytes, &near, err));
        RLF_TRY(CUDA(fetch)(queue, near, a.w + i * a.ldw, bytes, err));
        some.w = (const float *)near;
        pack(queue, some, i);
    }
    return RLF_OK;
}

/* for (the items of this thread) */
#define EACH(i, n)                                                   \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, \
                 i##_step = (int64_t)gridDim.x * blockDim.x;         \
         i < (n); i += i##_step)

/* for (the rows of this warp) */
#define EACH_WARP(i, n)                                                       \
    for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, \
                 i##_step = (int64_t)gridDim.x * blockDim.x / WARP;           \
         i < (n); i += i##_step)

/* ---- activations ------------------------------------------------------- *
 *
 * Read by widen(), written by narrow(), which rounds to nearest even; all
 * arithmetic is in f32. For activations in f32 both change nothing. */

static __device__ __forceinline__ float
widen(float x)
{
    return x;
}

static __device__ __forceinline__ float
widen(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}

template <typename T = rlf_real>
static __device__ __forceinline__ T
narrow(float x)
{
    if constexpr (sizeof(T) == sizeof x)
        return x;
    else
        return __float2bfloat16_rn(x);
}

/* ---- several neighbours at once ---------------------------------------- *
 *
 * Kernels that only move and change numbers take WIDE activations a thread, 16
 * bytes, where addresses allow it, else one: template parameter V. */

static constexpr int WIDE = (int)(16 / sizeof(rlf_real));

template <typename T, int V> struct alignas(V * sizeof(T)) several {
    T x[V];
};

template <int V, typename T>
static __device__ __forceinline__ several<T, V>
take(const T *p)
{
    return *(const several<T, V> *)p;
}

template <int V, typename T>
static __device__ __forceinline__ void
give(T *p, const several<T, V> &x)
{
#ifdef RLF_CUDA_EMULATED
    memcpy(p, &x, sizeof x);
#else
    if constexpr (sizeof x == 16) { /* or it may be stored in pieces */
        uint4 all;
        memcpy(&all, &x, sizeof all);
        *(uint4 *)p = all;
    } else {
        *(several<T, V> *)p = x;
    }
#endif
}

/* V floats of an address that is aligned to 16 bytes at most. */
template <int V>
static __device__ __forceinline__ several<float, V>
take_floats(const float *p)
{
    constexpr int EACH = V < 4 ? V : 4;
    several<float, V> out;
    RLF_UNROLL
    for (int i = 0; i < V; i += EACH) {
        several<float, EACH> some = take<EACH>(p + i);
        RLF_UNROLL
        for (int e = 0; e < EACH; e++)
            out.x[i + e] = some.x[e];
    }
    return out;
}

template <int V>
static __device__ __forceinline__ void
give_floats(float *p, const several<float, V> &x)
{
    constexpr int EACH = V < 4 ? V : 4;
    RLF_UNROLL
    for (int i = 0; i < V; i += EACH) {
        several<float, EACH> some;
        RLF_UNROLL
        for (int e = 0; e < EACH; e++)
            some.x[e] = x.x[i + e];
        give<EACH>(p + i, some);
    }
}

/* Of rows that begin at p, ld elements apart: does each begin at a multiple of
 * 16 bytes? */
template <typename T>
static inline bool
is_wide(const T *p, int64_t ld)
{
    return (uintptr_t)p % 16 == 0 && ld % (int64_t)(16 / sizeof(T)) == 0;
}

typedef struct spot {
    int64_t row, at;
} spot;

/* Of item i of rows of n items; both small numbers as a rule, which are divided
 * in a fraction of the time. */
static __device__ __forceinline__ spot
spot_of(int64_t i, int64_t n)
{
    if ((uint64_t)(i | n) >> 32)
        return {i / n, i % n};
    uint32_t row = (uint32_t)i / (uint32_t)n;
    return {row, (uint32_t)i - row * (uint32_t)n};
}

/* Launch kernel<V> for n activations, whole rows of `wide` ones or not. */
#define LAUNCH_WIDE(kernel, wide, n, queue, ...)                               \
    do {                                                                       \
        if (wide)                                                              \
            RLF_LAUNCH(kernel<WIDE>, blocks_for((n) / WIDE, THREADS), THREADS, \
                       0, queue, __VA_ARGS__);                                 \
        else                                                                   \
            RLF_LAUNCH(kernel<1>, blocks_for(n, THREADS), THREADS, 0, queue,   \
                       __VA_ARGS__);                                           \
    } while (0)

/* ---- arithmetic with the bits of kernels/cpu/simd.h -------------------- */

static __device__ __forceinline__ float
bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static __device__ __forceinline__ uint32_t
float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static __device__ __forceinline__ float
exp_1(float x)
{
    float t = fmaf(x, 0x1.715476p0f, 0x1.8p23f), n = t - 0x1.8p23f;
    float r = fmaf(n, -0x1.62e4p-1f, x);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float q = 0x1.6d10fep-10f;
    q = fmaf(q, r, 0x1.120b64p-7f);
    q = fmaf(q, r, 0x1.55551ap-5f);
    q = fmaf(q, r, 0x1.5554dep-3f);
    q = fmaf(q, r, 0.5f);
    float y = fmaf(q, r * r, r) + 1.0f;
    y = bits_float(float_bits(y) + (float_bits(t) << 23));
    y = x < -0x1.5d589ep6f ? 0 : y;
    y = x > 0x1.62e42ep6f ? INFINITY : y;
    return x == x ? y : x;
}

static __device__ __forceinline__ float
log_1(float x)
{
    int32_t u = (int32_t)float_bits(x) - 0x3f3504f3, e = u >> 23;
    float m = bits_float((uint32_t)((u & 0x7fffff) + 0x3f3504f3));
    float n = (float)e, f = m - 1.0f, s = f / (m + 1.0f), z = s * s;
    float q = 2 / 9.0f;
    q = fmaf(q, z, 2 / 7.0f);
    q = fmaf(q, z, 2 / 5.0f);
    q = fmaf(q, z, 2 / 3.0f);
    float low = fmaf(n, 0x1.7f7d1cp-20f, s * z * q);
    return fmaf(n, 0x1.62e4p-1f, fmaf(2, s, low));
}

static __device__ __forceinline__ float
sigmoid_1(float x)
{
    return 1.0f / (exp_1(-x) + 1.0f);
}

static __device__ __forceinline__ float
inner_gelu_1(float x, float *slope)
{
    float t = fminf(x * x, 36), even = 0, d = 0;
#define TERM(i, c)           \
    even = fmaf(even, t, c); \
    d = fmaf(d, t, (2 * (i) + 1) * (c));
#include "kernels/gelu.def"
#undef TERM
    *slope = d;
    return x * even;
}

static __device__ __forceinline__ float
inner_gelu_tanh_1(float x, float *slope)
{
    const float k = 1.59576912f, cubic = 0.0713548163f; /* k 0.044715 */
    float square = x * x;
    *slope = fmaf(square, 3 * cubic, k);
    return x * fmaf(square, cubic, k);
}

/* z of the activation x * sigmoid(z), and its derivative. The emulated build
 * refuses a switch that lacks a value; nvcc says nothing, so there it traps. */
static __device__ __forceinline__ float
inner_1(rlf_act act, float x, float *slope)
{
    *slope = 1;
    switch (act) {
    case RLF_ACT_SILU:
        return x;
    case RLF_ACT_GELU_TANH:
        return inner_gelu_tanh_1(x, slope);
    case RLF_ACT_GELU:
        return inner_gelu_1(x, slope);
    }
    __trap();
    return x;
}

static __device__ __forceinline__ float
activate_1(rlf_act act, float x)
{
    float slope;
    return x * sigmoid_1(inner_1(act, x, &slope));
}

/* The hyperbolic tangent with the CPU's bits. */
static __device__ __forceinline__ float
tanh_1(float x)
{
    float z = x * x, size = fabsf(x);
    float q = -0x1.76acbap-8f;
    q = fmaf(q, z, 0x1.5256fap-6f);
    q = fmaf(q, z, -0x1.b8444ep-5f);
    q = fmaf(q, z, 0x1.110768p-3f);
    q = fmaf(q, z, -0x1.555534p-2f);
    if (size < 0.625f)
        return fmaf(q * z, x, x);
    return copysignf(1.0f - 2.0f / (exp_1(size + size) + 1.0f), x);
}

/* The larger; b where one of them is a NaN. */
static __device__ __forceinline__ float
max_1(float a, float b)
{
    return a > b ? a : b;
}

/* 64 running lanes are a warp's, two a thread: lane l and lane l + 32. The
 * upper half is added to the lower until one is left; every thread has it. */
static __device__ __forceinline__ float
lanes_sum(float low, float high)
{
    float s = low + high;
    for (int w = WARP / 2; w >= 1; w /= 2)
        s += __shfl_xor_sync(0xffffffffu, s, w);
    return s;
}

static __device__ __forceinline__ float
lanes_max(float low, float high)
{
    float s = max_1(low, high);
    for (int w = WARP / 2; w >= 1; w /= 2)
        s = max_1(s, __shfl_xor_sync(0xffffffffu, s, w));
    return s;
}

/* By a warp: sum over i of a[i] c[i] b[i] (c NULL: of a[i] b[i]). */
static __device__ __forceinline__ float
row_dot(const rlf_real *a, const rlf_real *b, const float *c, int64_t n)
{
    float sum[2] = {0, 0};
    int lane = threadIdx.x % WARP;
    for (int64_t i = lane; i < n; i += LANES)
        for (int h = 0; h < 2; h++) {
            int64_t j = i + h * WARP;
            if (j < n)
                sum[h] = fmaf(c ? widen(a[j]) * c[j] : widen(a[j]), widen(b[j]),
                              sum[h]);
        }
    return lanes_sum(sum[0], sum[1]);
}

/* 2^x by the hardware: within 2 units of the last place, 2^0 is 1. */
static __device__ __forceinline__ float
exp2_fast(float x)
{
#ifdef RLF_CUDA_EMULATED
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

#endif
