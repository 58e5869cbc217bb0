/* Attention: a warp a row (one token, one head), with the bits of
 * kernels/cpu/attention.c.
 *
 * Keys go by in blocks of 64 from position 0, two a thread; a score adds over d
 * in order, the block's maximum and sum are trees over 64 lanes, values add
 * over keys in order with the elements of the accumulator spread over the
 * threads. One row function serves packed sequences and the paged cache. */
#include "kernels/cuda/attention.h"

/* A row's keys and values: the place of a position, and element x of the key,
 * of the value, at a place. */
namespace
{

typedef struct packed_keys {
    const rlf_real *k, *v;
    int64_t ldk, ldv;
    const int32_t *offsets;
    rlf_prefixes prefixes;
    int64_t sequence;

    __device__ int64_t place(int64_t position) const
    {
        return prefix_row(prefixes, offsets, sequence, position);
    }

    __device__ float key(int64_t at, int64_t x) const
    {
        return widen(k[at * ldk + x]);
    }

    __device__ float value(int64_t at, int64_t x) const
    {
        return widen(v[at * ldv + x]);
    }
} packed_keys;

typedef struct paged_keys {
    const rlf_real *kv; /* of the key/value head, in page 0 */
    const int32_t *pages;
    int64_t page_size, page_stride, d;

    __device__ int64_t place(int64_t position) const
    {
        return position;
    }

    __device__ const rlf_real *page(int64_t at) const
    {
        return kv + pages[at / page_size] * page_stride;
    }

    __device__ float key(int64_t at, int64_t x) const
    {
        return widen(page(at)[x * page_size + at % page_size]);
    }

    __device__ float value(int64_t at, int64_t x) const
    {
        return widen(page(at)[(page_size + at % page_size) * d + x]);
    }
} paged_keys;

} // namespace

/* Scores of this thread's keys first + lane and first + lane + 32 of those
 * lo..hi-1; -infinity for the others. */
template <typename K>
static __device__ __forceinline__ void
score_block(const K &keys, const rlf_real *q, int64_t d, int64_t base, int lo,
            int hi, float scale, float cap, float *s)
{
    int lane = threadIdx.x % WARP;
    for (int h = 0; h < 2; h++) {
        int j = lane + h * WARP;
        float sum = 0;
        s[h] = -INFINITY;
        if (j < lo || j >= hi)
            continue;
        int64_t at = keys.place(base + j);
        for (int64_t x = 0; x < d; x++)
            sum = fmaf(widen(q[x]), keys.key(at, x), sum);
        s[h] = cap != 0 ? tanh_1(sum * (scale / cap)) * cap : sum * scale;
    }
}

/* The row of the token at `pos`; returns its log of the sum of exp. */
template <typename K>
static __device__ float
attend_row(const K &keys, const rlf_real *q, rlf_real *o, int64_t d,
           int64_t pos, int64_t window, float scale, float cap)
{
    int lane = threadIdx.x % WARP;
    float acc[MOST_D / WARP] = {0}, m = -INFINITY, l = 0;
    int64_t from = window && pos + 1 > window ? pos + 1 - window : 0;
    for (int64_t base = from / BLOCK * BLOCK; base <= pos; base += BLOCK) {
        int lo = from > base ? (int)(from - base) : 0;
        int hi = pos + 1 - base < BLOCK ? (int)(pos + 1 - base) : BLOCK;
        float p[2];
        score_block(keys, q, d, base, lo, hi, scale, cap, p);
        float top = lanes_max(p[0], p[1]);
        top = top > m ? top : m;
        for (int h = 0; h < 2; h++)
            p[h] = exp_1(p[h] - top);
        float keep = l == 0 ? 0 : exp_1(m - top);
        l = fmaf(l, keep, lanes_sum(p[0], p[1]));
        m = top;
        if (keep != 1)
            for (int i = 0; i < MOST_D / WARP; i++)
                acc[i] *= keep;
        for (int j = lo; j < hi; j++) {
            float w =
                __shfl_sync(0xffffffffu, j < WARP ? p[0] : p[1], j % WARP);
            int64_t at = keys.place(base + j);
            for (int i = 0; i < MOST_D / WARP; i++)
                if (lane + i * WARP < d)
                    acc[i] = fmaf(w, keys.value(at, lane + i * WARP), acc[i]);
        }
    }
    for (int i = 0; i < MOST_D / WARP; i++)
        if (lane + i * WARP < d)
            o[lane + i * WARP] = narrow(acc[i] / l);
    return m + log_1(l);
}

/* ---- packed sequences -------------------------------------------------- */

static __global__ void
attention_kernel(rlf_attention_args a, int64_t first, int64_t tokens)
{
    EACH_WARP(i, tokens * a.heads)
    {
        int64_t row = first + i / a.heads, h = i % a.heads;
        int64_t g = h / (a.heads / a.kv_heads);
        int64_t s = sequence_of(a.offsets, a.n_seqs, row);
        int64_t position = prefix_start(a.prefixes, s) + row - a.offsets[s];
        packed_keys keys = {a.k + g * a.d, a.v + g * a.d, a.ldk,     a.ldv,
                            a.offsets,     a.prefixes,    s};
        float lse = attend_row(keys, a.q + row * a.ldq + h * a.d,
                               a.o + row * a.ldo + h * a.d, a.d, position,
                               a.window, a.scale, a.cap);
        if (a.lse && threadIdx.x % WARP == 0)
            a.lse[row * a.heads + h] = lse;
    }
}

rlf_status
TYPED(attention)(rlf_queue *queue, const rlf_attention_args *args, rlf_err *err)
{
    rlf_attention_args a = *args;
    RLF_TRY(check_heads(a.heads, a.kv_heads, a.d, a.window, "attention", err));
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldk = or_dense(a.ldk, a.kv_heads * a.d);
    a.ldv = or_dense(a.ldv, a.kv_heads * a.d);
    a.ldo = or_dense(a.ldo, a.heads * a.d);
    int64_t first = a.n_seqs ? a.offsets[0] : 0;
    int64_t tokens = a.n_seqs ? a.offsets[a.n_seqs] - first : 0;
    NEED(tokens >= 0, "attention");
    NEED(rlf_prefixes_valid(&a.prefixes, a.offsets, a.n_seqs), "attention");
    if (tokens == 0)
        return RLF_OK;
    RLF_TRY(stage_offsets(queue, &a.offsets, a.n_seqs + 1, err));
    RLF_TRY(stage_prefixes(queue, &a.prefixes, a.n_seqs, err));
    RLF_LAUNCH(attention_kernel, blocks_for(tokens * a.heads, THREADS / WARP),
               THREADS, 0, queue, a, first, tokens);
    return CUDA(launched)("attention", err);
}

/* ---- paged cache ------------------------------------------------------- */

static __global__ void
paged_kernel(rlf_attention_paged_args a, int64_t first, int64_t tokens)
{
    EACH_WARP(i, tokens * a.heads)
    {
        int64_t row = first + i / a.heads, h = i % a.heads;
        int64_t g = h / (a.heads / a.kv_heads);
        int64_t s = sequence_of(a.offsets, a.n_seqs, row);
        paged_keys keys = {a.kv + g * 2 * a.page_size * a.d,
                           a.pages + s * a.ld_pages, a.page_size, a.page_stride,
                           a.d};
        attend_row(keys, a.q + row * a.ldq + h * a.d,
                   a.o + row * a.ldo + h * a.d, a.d,
                   a.starts[s] + row - a.offsets[s], a.window, a.scale, a.cap);
    }
}

rlf_status
TYPED(attention_paged)(rlf_queue *queue, const rlf_attention_paged_args *args,
                       rlf_err *err)
{
    rlf_attention_paged_args a = *args;
    RLF_TRY(check_heads(a.heads, a.kv_heads, a.d, a.window, "attention_paged",
                        err));
    NEED(a.page_size > 0 && a.page_size % 16 == 0, "attention_paged");
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldo = or_dense(a.ldo, a.heads * a.d);
    a.page_stride = or_dense(a.page_stride,
                             rlf_kv_page_floats(a.page_size, a.kv_heads, a.d));
    int64_t first = a.n_seqs ? a.offsets[0] : 0;
    int64_t tokens = a.n_seqs ? a.offsets[a.n_seqs] - first : 0;
    NEED(tokens >= 0, "attention_paged");
    if (tokens == 0)
        return RLF_OK;
    RLF_TRY(
        place_offsets(queue, &a.offsets, a.device_offsets, a.n_seqs + 1, err));
    RLF_TRY(place_offsets(queue, &a.starts, a.device_starts, a.n_seqs, err));
    RLF_LAUNCH(paged_kernel, blocks_for(tokens * a.heads, THREADS / WARP),
               THREADS, 0, queue, a, first, tokens);
    return CUDA(launched)("attention_paged", err);
}
