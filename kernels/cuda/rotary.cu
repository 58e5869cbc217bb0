/* Rotary embedding; keys and values of tokens to their pages, rotated on the
 * way. A thread has V pairs of a head, or V elements of what is not rotated. */
#include "kernels/cuda/ops.h"

extern "C" {
#include "engine/base/fmath.h"
}

static __global__ void
rope_table_kernel(rlf_rope_table_args a)
{
    EACH(i, a.n * a.half)
    {
        float angle =
            (float)(a.first + i / a.half) * a.inv_freq[i % a.half];
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

/* Of m rows, by their tokens' positions. */
typedef struct rotation {
    int64_t half;
    const int32_t *positions;
    int64_t n_positions;
    const float *cos, *sin;
    int32_t *fault;
    bool back;
} rotation;

template <int V> struct pairs {
    several<rlf_real, V> one, two;
};

/* The pairs j.. of a row, rotated; false: its position is none. */
template <int V>
static __device__ __forceinline__ bool
turn(const rotation &r, int64_t row, int64_t j, pairs<V> *out)
{
    int32_t position = r.positions[row];
    if (position < 0 || position >= r.n_positions) {
        *r.fault = 1;
        return false;
    }
    several<float, V> c = take_floats<V>(r.cos + position * r.half + j);
    several<float, V> s = take_floats<V>(r.sin + position * r.half + j);
    RLF_UNROLL
    for (int e = 0; e < V; e++) {
        float x1 = widen(out->one.x[e]), x2 = widen(out->two.x[e]);
        float t = r.back ? -s.x[e] : s.x[e];
        out->one.x[e] = narrow(fmaf(x1, c.x[e], -(x2 * t)));
        out->two.x[e] = narrow(fmaf(x2, c.x[e], x1 * t));
    }
    return true;
}

/* Those of x, which are elements j.. and half + j.. . */
template <int V>
static __device__ __forceinline__ bool
rotate(const rotation &r, int64_t row, int64_t j, const rlf_real *x,
       pairs<V> *out)
{
    *out = {take<V>(x + j), take<V>(x + r.half + j)};
    return turn(r, row, j, out);
}

template <int V>
static __global__ void
rope_kernel(rlf_rope_args a, rotation r)
{
    int64_t width = (a.d - a.half) / V;
    EACH(i, a.m * a.heads * width)
    {
        spot h = spot_of(i, width);
        spot p = spot_of(h.row, a.heads);
        int64_t j = h.at * V;
        const rlf_real *x = a.x + p.row * a.ldx + p.at * a.d;
        rlf_real *y = a.y + p.row * a.ldy + p.at * a.d;
        pairs<V> both;
        if (j >= a.half) {
            give<V>(y + a.half + j, take<V>(x + a.half + j));
        } else if (rotate(r, p.row, j, x, &both)) {
            give<V>(y + j, both.one);
            give<V>(y + a.half + j, both.two);
        }
    }
}

rlf_status
TYPED(rope)(rlf_queue *queue, const rlf_rope_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->heads >= 0 && 2 * args->half <= args->d, "rope");
    rlf_rope_args a = *args;
    a.ldx = or_dense(a.ldx, a.heads * a.d);
    a.ldy = or_dense(a.ldy, a.heads * a.d);
    rotation r = {.half = a.half,
                  .positions = a.positions,
                  .n_positions = a.n_positions,
                  .cos = a.cos,
                  .sin = a.sin,
                  .fault = CUDA(fault)(queue),
                  .back = a.back};
    int64_t n = a.m * a.heads * (a.d - a.half);
    bool wide = a.d % WIDE == 0 && a.half % WIDE == 0 && is_wide(a.x, a.ldx) &&
                is_wide(a.y, a.ldy) && is_wide(a.cos, 0) && is_wide(a.sin, 0);
    if (n)
        LAUNCH_WIDE(rope_kernel, wide, n, queue, a, r);
    return CUDA(launched)("rope", err);
}

/* ---- to the pages ------------------------------------------------------ */

/* The places of the key and the value of a position and head; in f32 keys are
 * transposed (attention.cu). */
typedef struct place {
    rlf_real *key, *value;
    int64_t step; /* from one of the key's elements to the next */
} place;

static __device__ __forceinline__ place
place_of(const rlf_kv_write_args &a, int32_t slot, int64_t head)
{
    constexpr bool TURNED = sizeof(rlf_real) == sizeof(float);
    spot s = spot_of(slot, a.page_size);
    rlf_real *keys =
        a.kv + s.row * a.page_stride + head * 2 * a.page_size * a.d;
    return {keys + (TURNED ? s.at : s.at * a.d),
            keys + (a.page_size + s.at) * a.d, TURNED ? a.page_size : 1};
}

template <int V>
static __device__ __forceinline__ void
give_key(const place &to, int64_t j, const several<rlf_real, V> &x)
{
    if (to.step == 1) {
        give<V>(to.key + j, x);
        return;
    }
    RLF_UNROLL
    for (int e = 0; e < V; e++)
        to.key[(j + e) * to.step] = x.x[e];
}

/* Heads of q, then those of k with those of v. */
template <int V>
static __global__ void
kv_write_kernel(rlf_kv_write_args a, rotation r)
{
    int64_t width = (a.d - a.half) / V;
    EACH(i, a.m * (a.heads + a.kv_heads) * width)
    {
        spot h = spot_of(i, width);
        spot p = spot_of(h.row, a.heads + a.kv_heads);
        int64_t j = h.at * V, g = p.at - a.heads;
        bool rotates = j < a.half;
        pairs<V> both;
        if (g < 0) {
            rlf_real *q = a.q + p.row * a.ldq + p.at * a.d;
            if (rotates && rotate(r, p.row, j, q, &both)) {
                give<V>(q + j, both.one);
                give<V>(q + a.half + j, both.two);
            }
            continue;
        }
        if (a.slots[p.row] < 0)
            continue;
        place to = place_of(a, a.slots[p.row], g);
        const rlf_real *k = a.k + p.row * a.ldk + g * a.d;
        const rlf_real *v = a.v + p.row * a.ldv + g * a.d;
        if (!rotates) {
            give_key<V>(to, a.half + j, take<V>(k + a.half + j));
        } else if (rotate(r, p.row, j, k, &both)) {
            give_key<V>(to, j, both.one);
            give_key<V>(to, a.half + j, both.two);
            give<V>(to.value + j, take<V>(v + j));
        }
        give<V>(to.value + a.half + j, take<V>(v + a.half + j));
    }
}

/* An element of a head as its norm gives it; factor: 1 / rms. */
static __device__ __forceinline__ several<rlf_real, 1>
normed(const rlf_real *x, const float *weight, float factor, int64_t j)
{
    return {{narrow(widen(x[j]) * factor * weight[j])}};
}

/* The same with a norm before: a warp a head, as rmsnorm has. */
static __global__ void
norm_write_kernel(rlf_kv_write_args a, rotation r)
{
    EACH_WARP(i, a.m * (a.heads + a.kv_heads))
    {
        spot p = spot_of(i, a.heads + a.kv_heads);
        int64_t g = p.at - a.heads;
        bool is_q = g < 0, kept = !is_q && a.slots[p.row] >= 0;
        rlf_real *q = a.q + p.row * a.ldq + p.at * a.d;
        const rlf_real *x = is_q ? q : a.k + p.row * a.ldk + g * a.d;
        const rlf_real *v = a.v + p.row * a.ldv + g * a.d;
        const float *weight = is_q ? a.q_weight : a.k_weight;
        place to = kept ? place_of(a, a.slots[p.row], g) : place{q, NULL, 1};
        float mean = row_dot(x, x, NULL, a.d) / (float)a.d;
        float factor = 1 / sqrtf(mean + a.eps);
        __syncwarp(); /* all have read what is now written */
        if (!is_q && !kept)
            continue;
        for (int64_t j = threadIdx.x % WARP; j < a.d - a.half; j += WARP) {
            pairs<1> both;
            both.two = normed(x, weight, factor, a.half + j);
            if (j < a.half) {
                both.one = normed(x, weight, factor, j);
                if (!turn(r, p.row, j, &both))
                    continue;
                give_key<1>(to, j, both.one);
            }
            give_key<1>(to, a.half + j, both.two);
        }
        for (int64_t j = threadIdx.x % WARP; kept && j < a.d; j += WARP)
            to.value[j] = v[j];
    }
}

rlf_status
TYPED(kv_write)(rlf_queue *queue, const rlf_kv_write_args *args, rlf_err *err)
{
    NEED(args->page_size > 0 && args->page_size % 16 == 0, "kv_write");
    NEED(args->half >= 0 && 2 * args->half <= args->d, "kv_write");
    NEED(!args->q_weight == !args->k_weight && (args->half || !args->q_weight),
         "kv_write");
    rlf_kv_write_args a = *args;
    a.heads = a.half ? a.heads : 0;
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldk = or_dense(a.ldk, a.kv_heads * a.d);
    a.ldv = or_dense(a.ldv, a.kv_heads * a.d);
    a.page_stride = or_dense(a.page_stride,
                             rlf_kv_page_floats(a.page_size, a.kv_heads, a.d));
    rotation r = {.half = a.half,
                  .positions = a.positions,
                  .n_positions = a.n_positions,
                  .cos = a.cos,
                  .sin = a.sin,
                  .fault = CUDA(fault)(queue)};
    int64_t n = a.m * (a.heads + a.kv_heads) * (a.d - a.half);
    bool wide = a.d % WIDE == 0 && a.half % WIDE == 0 && is_wide(a.q, a.ldq) &&
                is_wide(a.k, a.ldk) && is_wide(a.v, a.ldv) &&
                is_wide(a.kv, a.page_stride) && is_wide(a.cos, 0) &&
                is_wide(a.sin, 0);
    int64_t heads = a.m * (a.heads + a.kv_heads);
    if (n && a.q_weight)
        RLF_LAUNCH(norm_write_kernel, blocks_for(heads, THREADS / WARP),
                   THREADS, 0, queue, a, r);
    else if (n)
        LAUNCH_WIDE(kv_write_kernel, wide, n, queue, a, r);
    return CUDA(launched)("kv_write", err);
}
