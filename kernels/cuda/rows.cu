/* Operations on rows one by one: embedding, gather and scatter, sums down the
 * columns, swiglu, additions, casts. What adds over tokens has a thread a
 * column, so that every column adds in token order. */
#include "kernels/cuda/ops.h"

extern "C" {
#include "engine/base/half.h"
}

/* ---- gather and scatter ------------------------------------------------ */

static __global__ void
gather_kernel(rlf_rows_gather_args a)
{
    EACH(i, a.m * a.d)
    {
        int64_t row = i / a.d, j = i % a.d, from = a.index[row];
        a.y[row * a.ldy + j] = from < 0 ? narrow(0) : a.x[from * a.ldx + j];
    }
}

rlf_status
TYPED(rows_gather)(rlf_queue *queue, const rlf_rows_gather_args *args,
                   rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "rows_gather");
    rlf_rows_gather_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    if (a.m * a.d > 0)
        RLF_LAUNCH(gather_kernel, blocks_for(a.m * a.d, THREADS), THREADS, 0,
                   queue, a);
    return CUDA(launched)("rows_gather", err);
}

static __global__ void
embed_kernel(rlf_embed_args a, int32_t *fault)
{
    EACH(i, a.m * a.d)
    {
        int64_t row = i / a.d, j = i % a.d, at = a.tokens[row] - a.first;
        bool here = at >= 0 && at < a.part;
        if (a.tokens[row] < 0 || a.tokens[row] >= a.v)
            *fault = 1;
        rlf_real y = narrow(-0.0f);
        if (here)
            y = a.w ? narrow(a.w[at * a.d + j]) : a.rows[at * a.ld_rows + j];
        a.y[row * a.ldy + j] = y;
    }
}

rlf_status
TYPED(embed)(rlf_queue *queue, const rlf_embed_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "embed");
    rlf_embed_args a = *args;
    a.ldy = or_dense(a.ldy, a.d);
    a.ld_rows = or_dense(a.ld_rows, a.d);
    a.part = a.part ? a.part : a.v;
    if (a.m * a.d > 0)
        RLF_LAUNCH(embed_kernel, blocks_for(a.m * a.d, THREADS), THREADS, 0,
                   queue, a, CUDA(fault)(queue));
    return CUDA(launched)("embed", err);
}

/* Rows index[i] - first of those 0..part-1 of y. */
template <typename Y> struct scatter {
    int64_t m, d, ldx, ldy;
    const int32_t *index;
    const rlf_real *x;
    Y *y;
    bool add;
    int64_t first, part, v;
    int32_t *fault; /* NULL: negative ones are skipped */
};

template <typename Y>
static __global__ void
scatter_kernel(scatter<Y> s)
{
    EACH(j, s.d)
    for (int64_t i = 0; i < s.m; i++) {
        int64_t at = s.index[i] - s.first;
        if (s.fault && (s.index[i] < 0 || s.index[i] >= s.v))
            *s.fault = 1;
        if (at < 0 || at >= s.part)
            continue;
        Y *y = s.y + at * s.ldy + j;
        float x = widen(s.x[i * s.ldx + j]);
        *y = narrow<Y>(s.add ? widen(*y) + x : x);
    }
}

template <typename Y>
static rlf_status
launch_scatter(rlf_queue *queue, scatter<Y> s, const char *op, rlf_err *err)
{
    if (s.m * s.d > 0)
        RLF_LAUNCH(scatter_kernel, blocks_for(s.d, WARP), WARP, 0, queue, s);
    return CUDA(launched)(op, err);
}

rlf_status
TYPED(rows_scatter)(rlf_queue *queue, const rlf_rows_scatter_args *args,
                    rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "rows_scatter");
    scatter<rlf_real> s = {.m = args->m,
                           .d = args->d,
                           .ldx = or_dense(args->ldx, args->d),
                           .ldy = or_dense(args->ldy, args->d),
                           .index = args->index,
                           .x = args->x,
                           .y = args->y,
                           .add = args->add,
                           .part = INT64_MAX};
    return launch_scatter(queue, s, "rows_scatter", err);
}

rlf_status
TYPED(embed_grad)(rlf_queue *queue, const rlf_embed_grad_args *args,
                  rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "embed_grad");
    scatter<float> s = {.m = args->m,
                        .d = args->d,
                        .ldx = or_dense(args->lddy, args->d),
                        .ldy = args->d,
                        .index = args->tokens,
                        .x = args->dy,
                        .y = args->dw,
                        .add = true,
                        .first = args->first,
                        .part = args->part ? args->part : args->v,
                        .v = args->v,
                        .fault = CUDA(fault)(queue)};
    return launch_scatter(queue, s, "embed_grad", err);
}

static __global__ void
bias_kernel(rlf_bias_grad_args a)
{
    EACH(j, a.n)
    {
        float sum = a.db[j];
        for (int64_t i = 0; i < a.m; i++)
            sum += widen(a.dy[i * a.lddy + j]);
        a.db[j] = sum;
    }
}

rlf_status
TYPED(bias_grad)(rlf_queue *queue, const rlf_bias_grad_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0, "bias_grad");
    rlf_bias_grad_args a = *args;
    a.lddy = or_dense(a.lddy, a.n);
    if (a.n)
        RLF_LAUNCH(bias_kernel, blocks_for(a.n, WARP), WARP, 0, queue, a);
    return CUDA(launched)("bias_grad", err);
}

/* ---- swiglu ------------------------------------------------------------ */

static __global__ void
swiglu_kernel(rlf_swiglu_args a)
{
    EACH(i, a.m * a.d)
    {
        int64_t row = i / a.d, j = i % a.d;
        float g = widen(a.gate[row * a.ldx + j]);
        float u = widen(a.up[row * a.ldx + j]);
        a.y[row * a.ldy + j] = narrow(g * sigmoid_1(g) * u);
    }
}

rlf_status
TYPED(swiglu)(rlf_queue *queue, const rlf_swiglu_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "swiglu");
    rlf_swiglu_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    if (a.m * a.d > 0)
        RLF_LAUNCH(swiglu_kernel, blocks_for(a.m * a.d, THREADS), THREADS, 0,
                   queue, a);
    return CUDA(launched)("swiglu", err);
}

static __global__ void
swiglu_grad_kernel(rlf_swiglu_grad_args a)
{
    EACH(i, a.m * a.d)
    {
        int64_t row = i / a.d, j = i % a.d;
        float g = widen(a.gate[row * a.ldx + j]);
        float u = widen(a.up[row * a.ldx + j]);
        float dy = widen(a.dy[row * a.lddy + j]), s = sigmoid_1(g);
        float t = fmaf(g, 1.0f - s, 1);
        a.dup[row * a.lddx + j] = narrow(dy * (g * s));
        a.dgate[row * a.lddx + j] = narrow(dy * u * (s * t));
    }
}

rlf_status
TYPED(swiglu_grad)(rlf_queue *queue, const rlf_swiglu_grad_args *args,
                   rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "swiglu_grad");
    rlf_swiglu_grad_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.lddy = or_dense(a.lddy, a.d);
    a.lddx = or_dense(a.lddx, a.d);
    if (a.m * a.d > 0)
        RLF_LAUNCH(swiglu_grad_kernel, blocks_for(a.m * a.d, THREADS), THREADS,
                   0, queue, a);
    return CUDA(launched)("swiglu_grad", err);
}

/* ---- element by element ------------------------------------------------ */

static __global__ void
add_kernel(rlf_add_args a)
{
    EACH(i, a.m * a.d)
    {
        int64_t row = i / a.d, j = i % a.d;
        a.c[row * a.ldc + j] =
            narrow(widen(a.a[row * a.lda + j]) + widen(a.b[row * a.ldb + j]));
    }
}

rlf_status
TYPED(add)(rlf_queue *queue, const rlf_add_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "add");
    rlf_add_args a = *args;
    a.lda = or_dense(a.lda, a.d);
    a.ldb = or_dense(a.ldb, a.d);
    a.ldc = or_dense(a.ldc, a.d);
    if (a.m * a.d > 0)
        RLF_LAUNCH(add_kernel, blocks_for(a.m * a.d, THREADS), THREADS, 0,
                   queue, a);
    return CUDA(launched)("add", err);
}

static __global__ void
axpby_kernel(rlf_axpby_args a)
{
    EACH(i, a.n)
    a.y[i] = a.b == 0 ? a.a * a.x[i] : fmaf(a.a, a.x[i], a.b * a.y[i]);
}

rlf_status
TYPED(axpby)(rlf_queue *queue, const rlf_axpby_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "axpby");
    rlf_axpby_args a = *args;
    if (a.n)
        RLF_LAUNCH(axpby_kernel, blocks_for(a.n, THREADS), THREADS, 0, queue,
                   a);
    return CUDA(launched)("axpby", err);
}

static __global__ void
fill_kernel(rlf_fill_args a)
{
    EACH(i, a.n)
    a.y[i] = a.a;
}

rlf_status
TYPED(fill)(rlf_queue *queue, const rlf_fill_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "fill");
    rlf_fill_args a = *args;
    if (a.n)
        RLF_LAUNCH(fill_kernel, blocks_for(a.n, THREADS), THREADS, 0, queue, a);
    return CUDA(launched)("fill", err);
}

static __global__ void
cast_kernel(rlf_cast_args a)
{
    const uint16_t *h = (const uint16_t *)a.x;
    const float *f = (const float *)a.x;
    uint16_t *to_h = (uint16_t *)a.y;
    float *to_f = (float *)a.y;
    EACH(i, a.n)
    {
        if (a.to == RLF_CAST_BF16)
            to_h[i] = rlf_f32_to_bf16(f[i]);
        else if (a.to == RLF_CAST_F16)
            to_h[i] = rlf_f32_to_f16(f[i]);
        else if (a.from == RLF_CAST_F32)
            to_f[i] = f[i];
        else
            to_f[i] = a.from == RLF_CAST_BF16 ? rlf_bf16_to_f32(h[i])
                                              : rlf_f16_to_f32(h[i]);
    }
}

rlf_status
TYPED(cast)(rlf_queue *queue, const rlf_cast_args *args, rlf_err *err)
{
    NEED(args->n >= 0, "cast");
    NEED(args->from == RLF_CAST_F32 || args->to == RLF_CAST_F32, "cast");
    rlf_cast_args a = *args;
    if (a.n)
        RLF_LAUNCH(cast_kernel, blocks_for(a.n, THREADS), THREADS, 0, queue, a);
    return CUDA(launched)("cast", err);
}
