/* AdamW and sums of squares. */
#include "kernels/cuda/ops.h"

typedef struct adamw_plan {
    rlf_adamw_args a;
    float keep, rest1, rest2, c1, c2;
} adamw_plan;

static __global__ void
adamw_kernel(adamw_plan p)
{
    const rlf_adamw_args a = p.a;
    EACH(i, a.n)
    {
        float g = a.g[i] * a.grad_scale;
        float m = fmaf(a.beta1, a.m[i], p.rest1 * g);
        float v = fmaf(a.beta2, a.v[i], p.rest2 * (g * g));
        float step = (m * p.c1) / (sqrtf(v * p.c2) + a.eps);
        a.w[i] = fmaf(-a.lr, step, a.w[i] * p.keep);
        a.m[i] = m;
        a.v[i] = v;
    }
}

rlf_status
TYPED(adamw)(rlf_queue *queue, const rlf_adamw_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->bias1 > 0 && args->bias2 > 0, "adamw");
    adamw_plan p = {.a = *args};
    p.keep = (float)(1 - (double)args->lr * (double)args->decay);
    p.rest1 = (float)(1 - (double)args->beta1);
    p.rest2 = (float)(1 - (double)args->beta2);
    p.c1 = (float)(1 / args->bias1);
    p.c2 = (float)(1 / args->bias2);
    if (args->n)
        RLF_LAUNCH(adamw_kernel, blocks_for(args->n, THREADS), THREADS, 0,
                   queue, p);
    return CUDA(launched)("adamw", err);
}

/* ---- sums of squares --------------------------------------------------- */

/* A block of 64 threads, a lane each, per block of 4096 elements. */
static __global__ void
sumsq_kernel(rlf_sumsq_args a, int64_t n_blocks)
{
    __shared__ double lane[LANES];
    for (int64_t b = blockIdx.x; b < n_blocks; b += gridDim.x) {
        int64_t end = (b + 1) * RLF_SUMSQ_BLOCK;
        end = end < a.n ? end : a.n;
        double sum = 0;
        for (int64_t i = b * RLF_SUMSQ_BLOCK + threadIdx.x; i < end;
             i += LANES) {
            int64_t at = a.width ? i / a.width * a.ld + i % a.width : i;
            double x = (double)a.x[at];
            sum += x * x;
        }
        lane[threadIdx.x] = sum;
        __syncthreads();
        for (int w = LANES / 2; w >= 1; w /= 2) {
            if (threadIdx.x < (unsigned)w)
                lane[threadIdx.x] += lane[threadIdx.x + w];
            __syncthreads();
        }
        if (threadIdx.x == 0)
            a.blocks[b] = lane[0];
        __syncthreads();
    }
}

/* The blocks in order, onto what is there. */
static __global__ void
add_blocks_kernel(const double *blocks, int64_t n, double *total)
{
    double sum = *total;
    for (int64_t i = 0; i < n; i++)
        sum += blocks[i];
    *total = sum;
}

rlf_status
TYPED(sumsq)(rlf_queue *queue, const rlf_sumsq_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->width >= 0 && args->ld >= args->width, "sumsq");
    rlf_sumsq_args a = *args;
    int64_t n_blocks = (a.n + RLF_SUMSQ_BLOCK - 1) / RLF_SUMSQ_BLOCK;
    if (n_blocks == 0)
        return RLF_OK;
    if (!a.blocks)
        RLF_TRY(CUDA(scratch)(queue, (size_t)n_blocks * sizeof(double),
                              (void **)&a.blocks, err));
    RLF_LAUNCH(sumsq_kernel, blocks_for(n_blocks, 1), LANES, 0, queue, a,
               n_blocks);
    if (a.total)
        RLF_LAUNCH(add_blocks_kernel, 1, 1, 0, queue, a.blocks, n_blocks,
                   a.total);
    return CUDA(launched)("sumsq", err);
}
