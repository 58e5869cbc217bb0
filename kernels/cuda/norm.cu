/* RMSNorm and rotary embedding: a warp a row. */
#include "kernels/cuda/ops.h"

extern "C" {
#include "engine/base/fmath.h"
}

static __global__ void
rmsnorm_kernel(rlf_rmsnorm_args a)
{
    EACH_WARP(i, a.m * a.groups)
    {
        int64_t row = i / a.groups, group = i % a.groups;
        const rlf_real *x = a.x + row * a.ldx + group * a.d;
        rlf_real *y = a.y + row * a.ldy + group * a.d;
        float mean = row_dot(x, x, NULL, a.d) / (float)a.d;
        float r = 1 / sqrtf(mean + a.eps);
        if (a.rstd && threadIdx.x % WARP == 0)
            a.rstd[i] = r;
        for (int64_t j = threadIdx.x % WARP; j < a.d; j += WARP)
            y[j] = narrow(widen(x[j]) * r * a.weight[j]);
    }
}

rlf_status
TYPED(rmsnorm)(rlf_queue *queue, const rlf_rmsnorm_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d > 0 && args->groups >= 0, "rmsnorm");
    rlf_rmsnorm_args a = *args;
    a.groups = a.groups ? a.groups : 1;
    a.ldx = or_dense(a.ldx, a.groups * a.d);
    a.ldy = or_dense(a.ldy, a.groups * a.d);
    if (a.m)
        RLF_LAUNCH(rmsnorm_kernel, blocks_for(a.m * a.groups, THREADS / WARP),
                   THREADS, 0, queue, a);
    return CUDA(launched)("rmsnorm", err);
}

static __global__ void
rmsnorm_grad_kernel(rlf_rmsnorm_grad_args a)
{
    EACH_WARP(i, a.m * a.groups)
    {
        int64_t row = i / a.groups, group = i % a.groups;
        const rlf_real *x = a.x + row * a.ldx + group * a.d;
        const rlf_real *dy = a.dy + row * a.lddy + group * a.d;
        rlf_real *dx = a.dx + row * a.lddx + group * a.d;
        float r = a.rstd[i];
        float dot = row_dot(x, dy, a.weight, a.d);
        float coef = -(r * r * (dot / (float)a.d));
        for (int64_t j = threadIdx.x % WARP; j < a.d; j += WARP) {
            float t = fmaf(widen(x[j]), coef, widen(dy[j]) * a.weight[j]);
            dx[j] = narrow(a.add ? fmaf(r, t, widen(dx[j])) : t * r);
        }
    }
}

/* A thread a column of the weight's gradient, over rows in order. */
static __global__ void
rmsnorm_weight_kernel(rlf_rmsnorm_grad_args a)
{
    int64_t each = a.groups / a.shards;
    EACH(c, a.shards * a.d)
    {
        int64_t shard = c / a.d, j = c % a.d;
        float sum = a.dweight[c];
        for (int64_t row = 0; row < a.m; row++)
            for (int64_t g = shard * each; g < (shard + 1) * each; g++) {
                float x = widen(a.x[row * a.ldx + g * a.d + j]);
                float dy = widen(a.dy[row * a.lddy + g * a.d + j]);
                sum = fmaf(dy, x * a.rstd[row * a.groups + g], sum);
            }
        a.dweight[c] = sum;
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
        RLF_LAUNCH(rmsnorm_weight_kernel, blocks_for(a.shards * a.d, WARP),
                   WARP, 0, queue, a);
    RLF_LAUNCH(rmsnorm_grad_kernel, blocks_for(a.m * a.groups, THREADS / WARP),
               THREADS, 0, queue, a);
    return CUDA(launched)("rmsnorm_grad", err);
}

static __global__ void
rope_table_kernel(rlf_rope_table_args a)
{
    EACH(i, a.n * a.half)
    {
        float angle = (float)(i / a.half) * a.inv_freq[i % a.half];
        double s, c;
        rlf_sincos((double)angle, &s, &c);
        a.cos[i] = (float)c * a.scale;
        a.sin[i] = (float)s * a.scale;
    }
}

rlf_status
TYPED(rope_table)(rlf_queue *queue, const rlf_rope_table_args *args,
                  rlf_err *err)
{
    NEED(args->n >= 0 && args->half >= 0, "rope_table");
    rlf_rope_table_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    if (a.n * a.half > 0)
        RLF_LAUNCH(rope_table_kernel, blocks_for(a.n * a.half, THREADS),
                   THREADS, 0, queue, a);
    return CUDA(launched)("rope_table", err);
}

/* A thread a pair, or one element of the rest. */
static __global__ void
rope_kernel(rlf_rope_args a, int32_t *fault)
{
    int64_t width = a.d - a.half;
    EACH(i, a.m * a.heads * width)
    {
        int64_t j = i % width, head = i / width % a.heads;
        int64_t m = i / width / a.heads;
        const rlf_real *x = a.x + m * a.ldx + head * a.d;
        rlf_real *y = a.y + m * a.ldy + head * a.d;
        if (j >= a.half) {
            y[a.half + j] = x[a.half + j];
            continue;
        }
        if (a.positions[m] < 0 || a.positions[m] >= a.n_positions) {
            *fault = 1;
            continue;
        }
        float c = a.cos[a.positions[m] * a.half + j];
        float s = a.sin[a.positions[m] * a.half + j];
        float x1 = widen(x[j]), x2 = widen(x[a.half + j]);
        s = a.back ? -s : s;
        y[j] = narrow(fmaf(x1, c, -(x2 * s)));
        y[a.half + j] = narrow(fmaf(x2, c, x1 * s));
    }
}

rlf_status
TYPED(rope)(rlf_queue *queue, const rlf_rope_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->heads >= 0 && 2 * args->half <= args->d, "rope");
    rlf_rope_args a = *args;
    a.ldx = or_dense(a.ldx, a.heads * a.d);
    a.ldy = or_dense(a.ldy, a.heads * a.d);
    int64_t n = a.m * a.heads * (a.d - a.half);
    if (n)
        RLF_LAUNCH(rope_kernel, blocks_for(n, THREADS), THREADS, 0, queue, a,
                   CUDA(fault)(queue));
    return CUDA(launched)("rope", err);
}
