/* RMSNorm: a warp a row. */
#include "kernels/cuda/columns.h"

/* Rows lie in shared memory while a warp is at them: they are read from the
 * GPU's memory once and WIDE at a time, whatever the order of a sum is. */
static constexpr size_t ROOM = 64 << 10, MOST_ROOM = 96 << 10;

/* Warps of a block, each with n rows of d; 0: they do not fit. */
static int
warps_of(int64_t d, int n)
{
    size_t bytes = (size_t)(d * n) * sizeof(rlf_real);
    size_t fit = ROOM / bytes;
    if (bytes > MOST_ROOM)
        return 0;
    return fit < 1 ? 1 : fit < THREADS / WARP ? (int)fit : THREADS / WARP;
}

/* A row to shared memory, by a warp; V = 1: it stays where it is. */
template <int V>
static __device__ __forceinline__ const rlf_real *
bring(rlf_real *to, const rlf_real *x, int64_t d)
{
    if constexpr (V > 1) {
        RLF_UNROLL_BY(4)
        for (int64_t j = threadIdx.x % WARP * V; j < d; j += WARP * V)
            give<V>(to + j, take<V>(x + j));
        return to;
    } else {
        return x;
    }
}

template <int V>
static __global__ void
rmsnorm_kernel(rlf_rmsnorm_args a)
{
    RLF_DYNAMIC_SHARED(rlf_real, rows);
    rlf_real *own = rows + threadIdx.x / WARP * a.d;
    EACH_WARP(i, a.m * a.groups)
    {
        spot p = spot_of(i, a.groups);
        rlf_real *y = a.y + p.row * a.ldy + p.at * a.d;
        const rlf_real *x =
            bring<V>(own, a.x + p.row * a.ldx + p.at * a.d, a.d);
        __syncwarp();
        float mean = a.sums ? a.sums[i] / (float)a.whole
                            : row_dot(x, x, NULL, a.d) / (float)a.d;
        float r = 1 / sqrtf(mean + a.eps);
        __syncwarp(); /* sums may be rstd */
        if (a.rstd && threadIdx.x % WARP == 0)
            a.rstd[i] = r;
        for (int64_t j = threadIdx.x % WARP * V; j < a.d; j += WARP * V) {
            several<rlf_real, V> z = take<V>(x + j);
            several<float, V> w = take_floats<V>(a.weight + j);
            RLF_UNROLL
            for (int e = 0; e < V; e++)
                z.x[e] = narrow(widen(z.x[e]) * r * w.x[e]);
            give<V>(y + j, z);
        }
        __syncwarp();
    }
}

/* Launch kernel<V> for the rows of `args`, of which a warp keeps `kept`. */
#define LAUNCH_ROWS(kernel, wide, kept, queue, args, err)                    \
    do {                                                                     \
        int warps = (wide) ? warps_of((args).d, kept) : 0;                   \
        int64_t n = (args).m * (args).groups;                                \
        size_t shared =                                                      \
            (size_t)(warps * (kept) * (args).d) * sizeof(rlf_real);          \
        if (warps) {                                                         \
            RLF_TRY(CUDA(allow_shared)(queue, (const void *)kernel<WIDE>,    \
                                       shared, err));                        \
            RLF_LAUNCH(kernel<WIDE>, blocks_for(n, warps), warps *WARP,      \
                       shared, queue, args);                                 \
        } else {                                                             \
            RLF_LAUNCH(kernel<1>, blocks_for(n, THREADS / WARP), THREADS, 0, \
                       queue, args);                                         \
        }                                                                    \
    } while (0)

rlf_status
TYPED(rmsnorm)(rlf_queue *queue, const rlf_rmsnorm_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0 && args->groups >= 0, "rmsnorm");
    rlf_rmsnorm_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.ldy = or_dense(a.ldy, a.groups * a.d);
    bool wide = a.d % WIDE == 0 && is_wide(a.x, a.ldx) && is_wide(a.y, a.ldy) &&
                is_wide(a.weight, 0);
    if (a.m)
        LAUNCH_ROWS(rmsnorm_kernel, wide, 1, queue, a, err);
    return CUDA(launched)("rmsnorm", err);
}

typedef struct norm_sums {
    rlf_norm_sums_args a;
    int64_t end[RLF_MOST_SHARDS];
} norm_sums;

static __global__ void
norm_sums_kernel(norm_sums c)
{
    const rlf_norm_sums_args &a = c.a;
    int n = a.shards.count;
    EACH_WARP(i, a.m)
    {
        const rlf_real *x = a.x + i * a.ldx, *dy = a.dy + i * a.lddy;
        float part[RLF_MOST_SHARDS];
        for (int64_t s = 0, at = 0; s < n; at = c.end[s++])
            part[s] = row_dot(x + at, dy + at, a.weight ? a.weight + at : NULL,
                              c.end[s] - at);
        for (int step = 1; step < n; step *= 2)
            for (int s = 0; s + step < n; s += 2 * step)
                part[s] += part[s + step];
        if (threadIdx.x % WARP == 0)
            a.sums[i] = part[0];
    }
}

rlf_status
TYPED(norm_sums)(rlf_queue *queue, const rlf_norm_sums_args *args, rlf_err *err)
{
    norm_sums c = {*args};
    rlf_norm_sums_args &a = c.a;
    a.shards = rlf_shards_of(a.shards);
    NEED(a.m >= 0 && a.d > 0 && a.shards.count <= RLF_MOST_SHARDS &&
             rlf_norm_sums_ends(&a, c.end),
         "norm_sums");
    a.ldx = or_dense(a.ldx, a.d);
    a.lddy = a.dy ? or_dense(a.lddy, a.d) : a.ldx;
    a.weight = a.dy ? a.weight : NULL;
    a.dy = a.dy ? a.dy : a.x;
    if (a.m)
        RLF_LAUNCH(norm_sums_kernel, blocks_for(a.m, THREADS / WARP), THREADS,
                   0, queue, c);
    return CUDA(launched)("norm_sums", err);
}

template <int V>
static __global__ void
rmsnorm_grad_kernel(rlf_rmsnorm_grad_args a)
{
    RLF_DYNAMIC_SHARED(rlf_real, rows);
    rlf_real *own = rows + threadIdx.x / WARP * 2 * a.d;
    EACH_WARP(i, a.m * a.groups)
    {
        spot p = spot_of(i, a.groups);
        const rlf_real *x =
            bring<V>(own, a.x + p.row * a.ldx + p.at * a.d, a.d);
        const rlf_real *dy =
            bring<V>(own + a.d, a.dy + p.row * a.lddy + p.at * a.d, a.d);
        rlf_real *dx = a.dx + p.row * a.lddx + p.at * a.d;
        __syncwarp();
        float r = a.rstd[i];
        float mean = a.sums ? a.sums[i] / (float)a.whole
                            : row_dot(x, dy, a.weight, a.d) / (float)a.d;
        float coef = -(r * r * mean);
        for (int64_t j = threadIdx.x % WARP * V; j < a.d; j += WARP * V) {
            several<rlf_real, V> z = take<V>(x + j), d = take<V>(dy + j), was;
            several<float, V> w = take_floats<V>(a.weight + j);
            if (a.add)
                was = take<V>(dx + j);
            RLF_UNROLL
            for (int e = 0; e < V; e++) {
                float t = fmaf(widen(z.x[e]), coef, widen(d.x[e]) * w.x[e]);
                z.x[e] = narrow(a.add ? fmaf(r, t, widen(was.x[e])) : t * r);
            }
            give<V>(dx + j, z);
        }
        __syncwarp();
    }
}

rlf_status
TYPED(rmsnorm_grad)(rlf_queue *queue, const rlf_rmsnorm_grad_args *args,
                    rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0 && args->groups >= 0, "rmsnorm_grad");
    rlf_rmsnorm_grad_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.shards = a.shards ? a.shards : 1;
    NEED(a.shards > 0 && a.groups % a.shards == 0, "rmsnorm_grad");
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.lddy = or_dense(a.lddy, a.groups * a.d);
    a.lddx = or_dense(a.lddx, a.groups * a.d);
    if (a.m == 0)
        return RLF_OK;
    if (a.dweight) /* first: dx may be dy */
        launch_columns(queue, (columns){.m = a.m,
                                        .d = a.d,
                                        .each = a.groups / a.shards,
                                        .a = a.dy,
                                        .b = a.x,
                                        .lda = a.lddy,
                                        .ldb = a.ldx,
                                        .scale = a.rstd,
                                        .groups = a.groups,
                                        .sum = a.dweight});
    bool wide = a.d % WIDE == 0 && is_wide(a.x, a.ldx) &&
                is_wide(a.dy, a.lddy) && is_wide(a.dx, a.lddx) &&
                is_wide(a.weight, 0);
    LAUNCH_ROWS(rmsnorm_grad_kernel, wide, 2, queue, a, err);
    return CUDA(launched)("rmsnorm_grad", err);
}
