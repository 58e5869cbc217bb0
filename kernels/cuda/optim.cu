/* AdamW and sums of squares. */
#include "kernels/cuda/ops.h"

typedef struct adamw_plan {
    rlf_adamw_args a;
    float keep, rest1, rest2, c1, c2;
    int64_t ld; /* of packed */
} adamw_plan;

/* QUAD elements a thread where addresses allow it. */
static constexpr int QUAD = 4;

template <int V, bool PACKS>
static __global__ void
adamw_kernel(adamw_plan p)
{
    const rlf_adamw_args a = p.a;
    EACH(i, a.n / V)
    {
        several<float, V> g = take<V>(a.g + i * V), w = take<V>(a.w + i * V);
        several<float, V> m = take<V>(a.m + i * V), v = take<V>(a.v + i * V);
        several<rlf_real, V> real;
        RLF_UNROLL
        for (int e = 0; e < V; e++) {
            float slope = g.x[e] * a.grad_scale;
            m.x[e] = fmaf(a.beta1, m.x[e], p.rest1 * slope);
            v.x[e] = fmaf(a.beta2, v.x[e], p.rest2 * (slope * slope));
            float step = (m.x[e] * p.c1) / (sqrtf(v.x[e] * p.c2) + a.eps);
            w.x[e] = fmaf(-a.lr, step, w.x[e] * p.keep);
            real.x[e] = narrow(w.x[e]);
        }
        give<V>(a.w + i * V, w);
        give<V>(a.m + i * V, m);
        give<V>(a.v + i * V, v);
        if constexpr (PACKS) {
            spot at = spot_of(i, a.cols / V);
            give<V>((rlf_real *)a.packed + at.row * p.ld + at.at * V, real);
        }
    }
}

/* Elements first, first + 1, ... of n. */
static adamw_plan
rest_of(adamw_plan p, int64_t first)
{
    p.a.n -= first;
    p.a.w += first;
    p.a.m += first;
    p.a.v += first;
    p.a.g += first;
    return p;
}

template <bool PACKS>
static void
launch_adamw(rlf_queue *queue, adamw_plan p)
{
    const rlf_adamw_args *a = &p.a;
    bool wide = ((uintptr_t)a->w | (uintptr_t)a->m | (uintptr_t)a->v |
                 (uintptr_t)a->g | (uintptr_t)a->packed) %
                        16 ==
                    0 &&
                (!PACKS || (a->cols % QUAD == 0 && p.ld % QUAD == 0));
    int64_t quads = wide ? a->n / QUAD : 0;
    auto *kernel = adamw_kernel<QUAD, PACKS>, *one = adamw_kernel<1, PACKS>;
    if (quads)
        RLF_LAUNCH(kernel, blocks_for(quads, THREADS), THREADS, 0, queue, p);
    p = rest_of(p, quads * QUAD); /* that is packed: all or nothing */
    if (p.a.n)
        RLF_LAUNCH(one, blocks_for(p.a.n, THREADS), THREADS, 0, queue, p);
}

rlf_status
TYPED(adamw)(rlf_queue *queue, const rlf_adamw_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->bias1 > 0 && args->bias2 > 0, "adamw");
    NEED(!args->packed || (args->cols > 0 && args->n % args->cols == 0),
         "adamw of a matrix");
    adamw_plan p = {.a = *args};
    p.keep = (float)(1 - (double)args->lr * (double)args->decay);
    p.rest1 = (float)(1 - (double)args->beta1);
    p.rest2 = (float)(1 - (double)args->beta2);
    p.c1 = (float)(1 / args->bias1);
    p.c2 = (float)(1 / args->bias2);
    if (args->packed)
        p.ld = rlf_packed_row(&TYPED(rows), args->cols);
    if (args->packed)
        launch_adamw<true>(queue, p);
    else
        launch_adamw<false>(queue, p);
    return CUDA(launched)("adamw", err);
}

/* ---- sums of squares --------------------------------------------------- */

/* The place of element i. */
static __device__ __forceinline__ int64_t
at_of(const rlf_sumsq_args &a, int64_t i)
{
    if (!a.width)
        return i;
    spot p = spot_of(i, a.width);
    return p.row * a.ld + p.at;
}

/* A block of 64 threads, a lane each, per block of 4096 elements; SOME of them
 * are on their way at once. */
static constexpr int SOME = 8;

static __global__ void
sumsq_kernel(rlf_sumsq_args a, int64_t n_blocks)
{
    __shared__ double lane[LANES];
    for (int64_t b = blockIdx.x; b < n_blocks; b += gridDim.x) {
        int64_t end = (b + 1) * RLF_SUMSQ_BLOCK;
        end = end < a.n ? end : a.n;
        double sum = 0;
        int64_t i = b * RLF_SUMSQ_BLOCK + threadIdx.x;
        for (; i < end; i += SOME * LANES) {
            float x[SOME]; /* 0 changes no sum of squares */
            RLF_UNROLL
            for (int k = 0; k < SOME; k++)
                x[k] = i + k * LANES < end ? a.x[at_of(a, i + k * LANES)] : 0;
            RLF_UNROLL
            for (int k = 0; k < SOME; k++)
                sum += (double)x[k] * (double)x[k];
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
