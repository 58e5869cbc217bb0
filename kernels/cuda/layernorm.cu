/* LayerNorm and its gradient: a warp a row, which it reads from memory for each
 * of its sums. */
#include "kernels/cuda/columns.h"

/* By a warp: what each(j) gives for the columns of a row, added up as the CPU
 * has it; `each` adds to a sum. */
template <class F>
static __device__ __forceinline__ float
row_lanes(int64_t d, F each)
{
    float sum[2] = {0, 0};
    for (int64_t i = threadIdx.x % WARP; i < d; i += LANES)
        for (int h = 0; h < 2; h++)
            if (i + h * WARP < d)
                sum[h] = each(i + h * WARP, sum[h]);
    return lanes_sum(sum[0], sum[1]);
}

static __global__ void
layernorm_kernel(rlf_layernorm_args a)
{
    EACH_WARP(i, a.m * a.groups)
    {
        int64_t row = i / a.groups, at = i % a.groups * a.d;
        const rlf_real *x = a.x + row * a.ldx + at;
        rlf_real *y = a.y + row * a.ldy + at;
        float mean =
            row_lanes(a.d,
                      [=](int64_t j, float sum) { return sum + widen(x[j]); }) /
            (float)a.d;
        float spread = row_lanes(a.d,
                                 [=](int64_t j, float sum) {
                                     float t = widen(x[j]) - mean;
                                     return fmaf(t, t, sum);
                                 }) /
                       (float)a.d;
        float r = 1 / sqrtf(spread + a.eps);
        if (a.mean && threadIdx.x % WARP == 0)
            a.mean[i] = mean;
        if (a.rstd && threadIdx.x % WARP == 0)
            a.rstd[i] = r;
        for (int64_t j = threadIdx.x % WARP; j < a.d; j += WARP) {
            float t = (widen(x[j]) - mean) * r;
            float w = a.weight ? a.weight[at + j] : 1;
            y[j] = narrow(a.bias ? fmaf(t, w, a.bias[at + j]) : t * w);
        }
    }
}

rlf_status
TYPED(layernorm)(rlf_queue *queue, const rlf_layernorm_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0, "layernorm");
    rlf_layernorm_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.ldy = or_dense(a.ldy, a.groups * a.d);
    if (a.m)
        RLF_LAUNCH(layernorm_kernel,
                   blocks_for(a.m * a.groups, THREADS / WARP), THREADS, 0,
                   queue, a);
    return CUDA(launched)("layernorm", err);
}

static __global__ void
layernorm_grad_kernel(rlf_layernorm_grad_args a)
{
    EACH_WARP(i, a.m * a.groups)
    {
        int64_t row = i / a.groups, at = i % a.groups * a.d;
        const rlf_real *x = a.x + row * a.ldx + at;
        const rlf_real *dy = a.dy + row * a.lddy + at;
        rlf_real *dx = a.dx + row * a.lddx + at;
        const float *w = a.weight ? a.weight + at : NULL;
        float mean = a.mean[i], r = a.rstd[i];
        auto slope = [=](int64_t j) {
            return widen(dy[j]) * (w ? w[j] : 1);
        };
        float all = row_lanes(
            a.d, [=](int64_t j, float sum) { return sum + slope(j); });
        float along = row_lanes(a.d, [=](int64_t j, float sum) {
            return fmaf(slope(j), (widen(x[j]) - mean) * r, sum);
        });
        float coef = -(along / (float)a.d), shift = all / (float)a.d;
        __syncwarp(); /* dx may be dy */
        for (int64_t j = threadIdx.x % WARP; j < a.d; j += WARP) {
            float t = (widen(x[j]) - mean) * r;
            t = fmaf(t, coef, slope(j) - shift);
            dx[j] = narrow(a.add ? fmaf(r, t, widen(dx[j])) : t * r);
        }
    }
}

rlf_status
TYPED(layernorm_grad)(rlf_queue *queue, const rlf_layernorm_grad_args *args,
                      rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0, "layernorm_grad");
    rlf_layernorm_grad_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.lddy = or_dense(a.lddy, a.groups * a.d);
    a.lddx = or_dense(a.lddx, a.groups * a.d);
    if (a.m == 0)
        return RLF_OK;
    columns c = {.m = a.m,
                 .d = a.d,
                 .each = 1,
                 .a = a.dy,
                 .lda = a.lddy,
                 .groups = a.groups,
                 .sum = a.dbias};
    if (a.dbias) /* first: dx may be dy */
        launch_columns(queue, c);
    c.b = a.x;
    c.ldb = a.ldx;
    c.center = a.mean;
    c.scale = a.rstd;
    c.sum = a.dweight;
    if (a.dweight)
        launch_columns(queue, c);
    RLF_LAUNCH(layernorm_grad_kernel,
               blocks_for(a.m * a.groups, THREADS / WARP), THREADS, 0, queue,
               a);
    return CUDA(launched)("layernorm_grad", err);
}
