/* Operations on rows one by one: embedding, gather and scatter, sums down the
 * columns, activations, additions, casts. What adds over tokens does so in
 * token order, a column a thread. */
#include "kernels/cuda/columns.h"

extern "C" {
#include "engine/base/half.h"
}

/* ---- gather and scatter ------------------------------------------------ */

template <int V>
static __global__ void
gather_kernel(rlf_rows_gather_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        int64_t from = a.index[p.row], j = p.at * V;
        several<rlf_real, V> y;
        if (from >= 0)
            y = take<V>(a.x + from * a.ldx + j);
        for (int e = 0; e < V && from < 0; e++)
            y.x[e] = narrow(0);
        give<V>(a.y + p.row * a.ldy + j, y);
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
    bool wide = is_wide(a.x, a.ldx) && is_wide(a.y, a.ldy) && a.d % WIDE == 0;
    if (a.m * a.d > 0)
        LAUNCH_WIDE(gather_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("rows_gather", err);
}

template <int V>
static __global__ void
embed_kernel(rlf_embed_args a, int32_t *fault)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        int64_t token = a.tokens[p.row];
        if (token < 0 && a.sampled)
            token = a.sampled[-1 - token];
        int64_t at = token - a.first, j = p.at * V;
        bool here = at >= 0 && at < a.part;
        several<rlf_real, V> y;
        several<float, V> w;
        if (token < 0 || token >= a.v)
            *fault = 1;
        for (int e = 0; e < V; e++)
            w.x[e] = -0.0f;
        if (here && a.w)
            w = take_floats<V>(a.w + at * a.d + j);
        RLF_UNROLL
        for (int e = 0; e < V; e++)
            y.x[e] = narrow(w.x[e]);
        if (here && !a.w)
            y = take<V>(a.rows + at * a.ld_rows + j);
        give<V>(a.y + p.row * a.ldy + j, y);
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
    bool wide = a.d % WIDE == 0 && is_wide(a.y, a.ldy) &&
                (a.w ? is_wide(a.w, a.d) : is_wide(a.rows, a.ld_rows));
    if (a.m * a.d > 0)
        LAUNCH_WIDE(embed_kernel, wide, a.m * a.d, queue, a,
                    CUDA(fault)(queue));
    return CUDA(launched)("embed", err);
}

/* Rows of x to rows index[i] - first of those 0..part-1 of y, in order of i.
 *
 * First the rows are put in the order of their indices, and where these are
 * equal in their own: a row counts those that come before it. Then every row of
 * y that some go to has a block. PIECE rows at a time, for counting takes the
 * square of their number. */
template <typename Y> struct scatter {
    int64_t m, d, ldx, ldy;
    const int32_t *index;
    const rlf_real *x;
    Y *y;
    bool add;
    int64_t first, part, v;
    int32_t *fault; /* NULL: negative ones are skipped */
    int32_t *order; /* [m] rows in the order of their indices */
    int32_t *run;   /* [m] how many have the index of order[i], where it is
                       the first of them; else 0 */
};

static constexpr int64_t PIECE = 16384;
static constexpr int PARTS = THREADS / WARP;

/* A block for WARP rows; each of its warps counts a part of all. */
static __global__ void
order_kernel(const int32_t *index, int n, int32_t *order, int32_t *run)
{
    __shared__ int32_t others[THREADS];
    __shared__ int counts[3][PARTS][WARP];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    int item = (int)blockIdx.x * WARP + lane;
    int32_t own = item < n ? index[item] : 0;
    int less = 0, same = 0, before = 0;
    for (int base = 0; base < n; base += THREADS) {
        int at = base + (int)threadIdx.x;
        __syncthreads();
        others[threadIdx.x] = at < n ? index[at] : own;
        __syncthreads();
        RLF_UNROLL
        for (int k = 0; k < WARP; k++) {
            int j = base + warp * WARP + k;
            int32_t other = others[warp * WARP + k];
            less += j < n && other < own;
            same += j < n && other == own;
            before += j < item && other == own;
        }
    }
    counts[0][warp][lane] = less;
    counts[1][warp][lane] = same;
    counts[2][warp][lane] = before;
    __syncthreads();
    if (warp || item >= n)
        return;
    less = same = before = 0;
    for (int w = 0; w < PARTS; w++) {
        less += counts[0][w][lane];
        same += counts[1][w][lane];
        before += counts[2][w][lane];
    }
    order[less + before] = item;
    run[less + before] = before ? 0 : same;
}

template <int V>
static __device__ __forceinline__ several<float, V>
take_row(const float *p)
{
    return take_floats<V>(p);
}

template <int V>
static __device__ __forceinline__ void
give_row(float *p, const several<float, V> &x)
{
    give_floats<V>(p, x);
}

template <int V>
static __device__ __forceinline__ several<__nv_bfloat16, V>
take_row(const __nv_bfloat16 *p)
{
    return take<V>(p);
}

template <int V>
static __device__ __forceinline__ void
give_row(__nv_bfloat16 *p, const several<__nv_bfloat16, V> &x)
{
    give<V>(p, x);
}

template <typename Y, int V>
static __device__ __forceinline__ void
scatter_rows(const scatter<Y> &s)
{
    for (int64_t i = blockIdx.x; i < s.m; i += gridDim.x) {
        int n = s.run[i];
        if (!n)
            continue;
        int64_t index = s.index[s.order[i]], at = index - s.first;
        if (s.fault && (index < 0 || index >= s.v))
            *s.fault = 1;
        if (at < 0 || at >= s.part)
            continue;
        for (int64_t j = threadIdx.x * V; j < s.d; j += blockDim.x * V) {
            several<Y, V> y = take_row<V>(s.y + at * s.ldy + j);
            RLF_UNROLL_BY(4)
            for (int k = 0; k < n; k++) {
                several<rlf_real, V> x =
                    take<V>(s.x + s.order[i + k] * s.ldx + j);
                RLF_UNROLL
                for (int e = 0; e < V; e++)
                    y.x[e] = narrow<Y>(s.add ? widen(y.x[e]) + widen(x.x[e])
                                             : widen(x.x[e]));
            }
            give_row<V>(s.y + at * s.ldy + j, y);
        }
    }
}

template <typename Y>
static __global__ void
wide_scatter_kernel(scatter<Y> s)
{
    scatter_rows<Y, WIDE>(s);
}

template <typename Y>
static __global__ void
scatter_kernel(scatter<Y> s)
{
    scatter_rows<Y, 1>(s);
}

template <typename Y>
static rlf_status
launch_scatter(rlf_queue *queue, scatter<Y> s, const char *op, rlf_err *err)
{
    bool wide = s.d % WIDE == 0 && is_wide(s.x, s.ldx) && is_wide(s.y, s.ldy);
    int64_t m = s.m;
    void *scratch;
    if (m * s.d <= 0)
        return RLF_OK;
    RLF_TRY(CUDA(scratch)(queue, 2 * PIECE * sizeof(int32_t), &scratch, err));
    s.order = (int32_t *)scratch;
    s.run = s.order + PIECE;
    for (int64_t done = 0; done < m; done += s.m) {
        s.m = m - done < PIECE ? m - done : PIECE;
        RLF_LAUNCH(order_kernel, blocks_for(s.m, WARP), THREADS, 0, queue,
                   s.index, (int)s.m, s.order, s.run);
        if (wide)
            RLF_LAUNCH(wide_scatter_kernel<Y>, blocks_for(s.m, 1), THREADS, 0,
                       queue, s);
        else
            RLF_LAUNCH(scatter_kernel<Y>, blocks_for(s.m, 1), THREADS, 0, queue,
                       s);
        s.index += s.m;
        s.x += s.m * s.ldx;
    }
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

rlf_status
TYPED(bias_grad)(rlf_queue *queue, const rlf_bias_grad_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0, "bias_grad");
    columns c = {.m = args->m,
                 .d = args->n,
                 .each = 1,
                 .a = args->dy,
                 .b = NULL,
                 .lda = or_dense(args->lddy, args->n),
                 .ldb = 0,
                 .scale = NULL,
                 .groups = 1,
                 .sum = args->db};
    if (c.m * c.d > 0)
        launch_columns(queue, c);
    return CUDA(launched)("bias_grad", err);
}

/* ---- gated activations -------------------------------------------------- */

template <int V>
static __global__ void
glu_kernel(rlf_glu_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        int64_t at = p.row * a.ldx + p.at * V;
        several<rlf_real, V> g = take<V>(a.gate + at), u = g;
        if (a.up)
            u = take<V>(a.up + at);
        RLF_UNROLL
        for (int e = 0; e < V; e++) {
            float y = activate_1(a.act, widen(g.x[e]));
            g.x[e] = narrow(a.up ? y * widen(u.x[e]) : y);
        }
        give<V>(a.y + p.row * a.ldy + p.at * V, g);
    }
}

rlf_status
TYPED(glu)(rlf_queue *queue, const rlf_glu_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "glu");
    rlf_glu_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    bool wide = is_wide(a.gate, a.ldx) && (!a.up || is_wide(a.up, a.ldx)) &&
                is_wide(a.y, a.ldy) && a.d % WIDE == 0;
    if (a.m * a.d > 0)
        LAUNCH_WIDE(glu_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("glu", err);
}

rlf_status
TYPED(product_glu)(rlf_queue *queue, const rlf_product_glu_args *args,
                      rlf_err *err)
{
    const rlf_product_glu_args &a = *args;
    rlf_product_args product = rlf_gates_of(args);
    rlf_glu_args gate = {.m = a.m,
                              .d = a.d,
                              .gate = a.c,
                              .up = a.c + a.d,
                              .ldx = 2 * a.d,
                              .act = a.act,
                              .y = a.y,
                              .ldy = a.ldy};
    RLF_TRY(TYPED(rows).product(queue, &product, err));
    return TYPED(rows).glu(queue, &gate, err);
}

template <int V>
static __global__ void
glu_grad_kernel(rlf_glu_grad_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        int64_t at = p.row * a.ldx + p.at * V, to = p.row * a.lddx + p.at * V;
        several<rlf_real, V> dy = take<V>(a.dy + p.row * a.lddy + p.at * V);
        several<rlf_real, V> g = take<V>(a.gate + at), u = g;
        if (a.up)
            u = take<V>(a.up + at);
        RLF_UNROLL
        for (int e = 0; e < V; e++) {
            float x = widen(g.x[e]), up = widen(u.x[e]), d = widen(dy.x[e]);
            float slope, s = sigmoid_1(inner_1(a.act, x, &slope));
            float t = s * fmaf(x * slope, 1.0f - s, 1);
            u.x[e] = narrow(d * (x * s));
            g.x[e] = narrow(a.up ? d * up * t : d * t);
        }
        if (a.up)
            give<V>(a.dup + to, u);
        give<V>(a.dgate + to, g);
    }
}

rlf_status
TYPED(glu_grad)(rlf_queue *queue, const rlf_glu_grad_args *args,
                   rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "glu_grad");
    rlf_glu_grad_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.lddy = or_dense(a.lddy, a.d);
    a.lddx = or_dense(a.lddx, a.d);
    bool wide = is_wide(a.gate, a.ldx) && is_wide(a.dy, a.lddy) &&
                is_wide(a.dgate, a.lddx) && a.d % WIDE == 0;
    if (a.up)
        wide = wide && is_wide(a.up, a.ldx) && is_wide(a.dup, a.lddx);
    if (a.m * a.d > 0)
        LAUNCH_WIDE(glu_grad_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("glu_grad", err);
}

/* ---- element by element ------------------------------------------------ */

template <int V>
static __global__ void
add_kernel(rlf_add_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        several<rlf_real, V> x = take<V>(a.a + p.row * a.lda + p.at * V);
        if (a.b) {
            several<rlf_real, V> y = take<V>(a.b + p.row * a.ldb + p.at * V);
            RLF_UNROLL
            for (int e = 0; e < V; e++)
                x.x[e] = narrow(fmaf(a.scale, widen(y.x[e]), widen(x.x[e])));
        } else if (a.scale != 1) {
            RLF_UNROLL
            for (int e = 0; e < V; e++)
                x.x[e] = narrow(widen(x.x[e]) * a.scale);
        }
        give<V>(a.c + p.row * a.ldc + p.at * V, x);
    }
}

rlf_status
TYPED(add)(rlf_queue *queue, const rlf_add_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0, "add");
    rlf_add_args a = *args;
    a.scale = a.scale == 0 ? 1 : a.scale;
    a.lda = or_dense(a.lda, a.d);
    a.ldb = or_dense(a.ldb, a.d);
    a.ldc = or_dense(a.ldc, a.d);
    bool wide = is_wide(a.a, a.lda) && (!a.b || is_wide(a.b, a.ldb)) &&
                is_wide(a.c, a.ldc) && a.d % WIDE == 0;
    if (a.m * a.d > 0)
        LAUNCH_WIDE(add_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("add", err);
}

template <int V>
static __global__ void
clip_kernel(rlf_clip_args a)
{
    int64_t per = a.d / V;
    EACH(i, a.m * per)
    {
        spot p = spot_of(i, per);
        several<rlf_real, V> x = take<V>(a.x + p.row * a.ldx + p.at * V);
        several<rlf_real, V> by = x;
        if (a.by)
            by = take<V>(a.by + p.row * a.ldby + p.at * V);
        RLF_UNROLL
        for (int e = 0; e < V; e++) {
            float at = widen(by.x[e]);
            if (at > a.bound || at < -a.bound)
                x.x[e] = narrow(a.by       ? 0.0f
                                : at > 0.0f ? a.bound
                                            : -a.bound);
        }
        give<V>(a.y + p.row * a.ldy + p.at * V, x);
    }
}

rlf_status
TYPED(clip)(rlf_queue *queue, const rlf_clip_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->d >= 0 && args->bound > 0, "clip");
    rlf_clip_args a = *args;
    a.ldx = or_dense(a.ldx, a.d);
    a.ldby = or_dense(a.ldby, a.d);
    a.ldy = or_dense(a.ldy, a.d);
    bool wide = is_wide(a.x, a.ldx) && (!a.by || is_wide(a.by, a.ldby)) &&
                is_wide(a.y, a.ldy) && a.d % WIDE == 0;
    if (a.m * a.d > 0)
        LAUNCH_WIDE(clip_kernel, wide, a.m * a.d, queue, a);
    return CUDA(launched)("clip", err);
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
