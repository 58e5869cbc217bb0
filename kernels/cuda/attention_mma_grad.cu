/* The gradient of attention in bf16 on tensor cores (Dao 2023, "FlashAttention-
 * 2", algorithm 2, in two passes). With c = scale log2 e:
 *   p = exp2(c q k - lse log2 e), dp = do v, ds = p (dp - do o)
 *   dv = sum of p do, dk = scale sum of ds q (over rows in order)
 *   dq = scale sum of ds k (over keys in order)
 * with a soft cap: s is cap tanh(scale q k / cap) / scale, and ds has its slope
 * One kernel makes dk and dv, a tile of keys a block; one makes dq, a tile of
 * rows a block. Nothing is added up by atomics, and tiles begin at a sequence's
 * first token: the bits of a sequence do not depend on others, but for those
 * that share its keys, which go by in their order.
 *
 * The products for dk and dv are of keys times rows (k q rather than q k), so
 * that p and ds are, in the registers where they come to be, what the tensor
 * cores take for the next product. */
#include "kernels/cuda/attention_tile.h"

extern "C" {
#include "engine/base/arena.h"
}

#include <stdlib.h>

namespace
{

struct backward {
    const int32_t *offsets;
    rlf_prefixes prefixes;
    int64_t n_seqs;
    int heads, kv_heads, group, d, window;
    float scale, c;
    /* of a soft cap: scale / cap, cap / scale, 1 / (cap log2 e); or 0 */
    float cap_in, cap_out, cap_back;
    const uint16_t *q, *k, *v, *o, *d_o;
    uint16_t *dq, *dk, *dv;
    int64_t ldq, ldk, ldv, ldo, lddo, lddq, lddk, lddv;
    const float *lse;
    float *dots; /* [tokens, heads]: do o */
    int64_t first, tokens;
    const tile *tiles;
    int n_tiles;
};

/* A sequence's tokens. */
struct tokens_of {
    int64_t first;
    int n;
};

} // namespace

static __device__ __forceinline__ tokens_of
sequence_at(const backward &b, int s)
{
    int first = b.offsets[s];
    return {first, b.offsets[s + 1] - first};
}

/* By a warp: do o of a row. */
static __global__ void
dots_kernel(backward b)
{
    EACH_WARP(i, b.tokens * b.heads)
    {
        int64_t row = b.first + i / b.heads, at = i % b.heads * b.d;
        const uint16_t *x = b.d_o + row * b.lddo + at,
                       *y = b.o + row * b.ldo + at;
        float low = 0, high = 0;
        for (int e = lane_of() * 2; e < b.d; e += 2 * WARP) {
            uint32_t a = *(const uint32_t *)(x + e),
                     b = *(const uint32_t *)(y + e);
            low = fmaf(bf16_float((uint16_t)a), bf16_float((uint16_t)b), low);
            high = fmaf(bits_float(a & 0xffff0000u),
                        bits_float(b & 0xffff0000u), high);
        }
        float dot = lanes_sum(low, high);
        if (lane_of() == 0)
            b.dots[i] = dot;
    }
}

/* Does the token see the key? */
static __device__ __forceinline__ bool
sees(int token, int key, int window)
{
    return key <= token && (!window || token - key < window);
}

/* p = exp2(c s - lse), 0 where the token does not see the key. */
static __device__ __forceinline__ float
weight_of(float s, const backward &b, float lse, bool seen)
{
    if (b.cap_in != 0)
        s = tanh_1(s * b.cap_in) * b.cap_out;
    return seen ? exp2_fast(fmaf(s, b.c, -lse)) : 0;
}

/* p, times the slope of a soft cap: 1 - t^2, where the score is cap * t, which
 * p tells. */
static __device__ __forceinline__ float
sloped(float p, const backward &b, float lse)
{
    if (b.cap_in == 0 || p == 0)
        return p;
    float t = fmaf(log_1(p), LOG2_E, lse) * b.cap_back;
    return p * fmaf(-t, t, 1.0f);
}

/* c[16 MT, 8 N] times `scale` to rows of bf16, by way of the warp's own rows of
 * a tile in shared memory, columns from `column` on. */
template <int MT, int N, int P>
static __device__ __forceinline__ void
stage_result(const float (&c)[MT][N][4], float scale, uint16_t *shared)
{
    int lane = lane_of();
    shared += lane / 4 * P + lane % 4 * 2;
    RLF_UNROLL
    for (int i = 0; i < MT * 2; i++)
        RLF_UNROLL
    for (int n = 0; n < N; n++) {
        const float *two = &c[i / 2][n][i % 2 * 2];
        uint32_t pair = bf16_pair(two[0] * scale, two[1] * scale);
        memcpy((char *)(shared + i * 8 * P + n * 8), &pair, 4);
    }
}

/* ---- dk and dv --------------------------------------------------------- */

/* KEYS = 16 WARPS keys a block, a row of keys a warp; ROWS rows (token, head)
 * of queries at a time, two such tiles in shared memory; W columns of the
 * results (all, or half of them at a time where registers are too few). */
template <int D, int W, int WARPS, int ROWS> struct keys_shape {
    static constexpr int P = PITCH<D>, KEYS = 16 * WARPS,
                         THREADS = WARP * WARPS;
    static constexpr int STAGE = 2 * ROWS * P; /* q and do */
    /* of a row of a stage: lse log2 e, do o, its token */
    static constexpr size_t BYTES =
        sizeof(uint16_t) * (2 * KEYS * P + 2 * STAGE) +
        2 * ROWS * (2 * sizeof(float) + sizeof(int));
    static constexpr int PARTS = D / W;
};

/* Reads what a row adds to the products: of N rows from `first` on of n. What
 * is not there weighs nothing. */
template <int N>
static __device__ __forceinline__ void
copy_rows_of(float *lse, float *dot, int *token, const backward &b,
             const tokens_of &seq, int g, int first, int n, int shift,
             int thread, int threads)
{
    for (int i = thread; i < N; i += threads) {
        int row = first + i, t = row / b.group;
        int64_t at = (seq.first + t) * b.heads + g * b.group + row % b.group;
        bool there = row < n;
        lse[i] = there ? b.lse[at] * LOG2_E : INFINITY;
        dot[i] = there ? b.dots[at - b.first * b.heads] : 0;
        token[i] = t + shift;
    }
}

/* The operands of a block, in shared memory: registers are for sums. */
struct work {
    packed_keys source;
    rows queries, slopes; /* q and do of the group's first head */
    tokens_of seq;        /* of the keys, or of the rows */
    int g, first, n;      /* keys, or rows, first.. of n */
    int from, end;        /* the rows, or keys, that they meet */
    int start;            /* the position of the sequence's first token */
    /* Of keys: whose rows meet them, by how many positions these lie behind the
     * sequence of the keys, and how many of its keys they see; -1: all have
     * met them. */
    int reader, shift, limit;
    tokens_of read_by;
};

static __device__ __forceinline__ void
set_queries(work &w, const backward &b, const tokens_of &seq)
{
    int64_t head = (int64_t)w.g * b.group * b.d;
    w.queries = {b.q + seq.first * b.ldq + head, b.ldq};
    w.slopes = {b.d_o + seq.first * b.lddo + head, b.lddo};
}

static __device__ __forceinline__ void
begin_work(work &w, const backward &b, int sequence, int first, int g)
{
    w.seq = sequence_at(b, sequence);
    w.source = {b.k + g * b.d, b.v + g * b.d, b.ldk,   b.ldv,
                b.offsets,     b.prefixes,    sequence};
    w.g = g;
    w.first = first;
    w.start = (int)prefix_start(b.prefixes, sequence);
    set_queries(w, b, w.seq);
}

/* The rows of the reader that see one of the keys. */
template <int KEYS, int ROWS>
static __device__ __forceinline__ void
find_rows(work &w, const backward &b)
{
    int n = w.limit < w.seq.n ? w.limit : w.seq.n;
    int last = w.first + KEYS < n ? w.first + KEYS - 1 : n - 1;
    w.from = w.shift ? 0 : w.first * b.group / ROWS * ROWS;
    w.end = w.read_by.n * b.group;
    if (b.window && last + b.window < w.read_by.n + w.shift)
        w.end = (last + b.window - w.shift) * b.group;
}

/* First the keys' own sequence. */
template <int KEYS, int ROWS>
static __device__ __forceinline__ void
first_reader(work &w, const backward &b)
{
    w.n = w.limit = w.seq.n;
    w.reader = w.source.sequence;
    w.read_by = w.seq;
    w.shift = 0;
    find_rows<KEYS, ROWS>(w, b);
}

/* Then the sequences that see some of the keys, which lie behind it. */
template <int KEYS, int ROWS>
static __device__ __forceinline__ void
next_reader(work &w, const backward &b)
{
    const rlf_prefixes &p = b.prefixes;
    int of = w.source.sequence, s = w.reader + 1;
    for (; p.parents && s < b.n_seqs && p.parents[s] >= 0; s++) {
        w.limit = (int)prefix_sees(p, s, of) - w.start;
        if (w.limit <= w.first)
            continue;
        w.reader = s;
        w.read_by = sequence_at(b, s);
        w.shift = p.starts[s] - w.start;
        set_queries(w, b, w.read_by);
        find_rows<KEYS, ROWS>(w, b);
        if (w.end > 0)
            return;
    }
    w.reader = -1;
}

/* Rows first.. of queries to a stage. */
template <typename S, int D, int ROWS>
static __device__ __forceinline__ void
copy_stage(char *shared, const backward &b, const work &w, int first, int stage)
{
    uint16_t *q = (uint16_t *)shared + 2 * S::KEYS * S::P + stage * S::STAGE;
    float *lse =
        (float *)((uint16_t *)shared + 2 * S::KEYS * S::P + 2 * S::STAGE) +
        stage * 3 * ROWS;
    int thread = (int)threadIdx.x;
    copy_queries<ROWS, D>(q, w.queries, first, w.end, b.group, b.d, thread,
                          S::THREADS);
    copy_queries<ROWS, D>(q + ROWS * S::P, w.slopes, first, w.end, b.group, b.d,
                          thread, S::THREADS);
    copy_rows_of<ROWS>(lse, lse + ROWS, (int *)(lse + 2 * ROWS), b, w.read_by,
                       w.g, first, w.end, w.shift, thread, S::THREADS);
}

/* Keys and values of the tile, which are the sequence's own. */
template <int N, int D>
static __device__ __forceinline__ void
copy_own_keys(uint16_t *k, uint16_t *v, const work &w, const backward &b,
              int threads)
{
    for (int i = (int)threadIdx.x; i < N * (D / 8); i += threads) {
        int r = i / (D / 8), x = i % (D / 8) * 8;
        bool valid = w.first + r < w.n && x < b.d;
        int64_t row = w.seq.first + w.first + (valid ? r : 0);
        int to = r * PITCH<D> + x, from = valid ? x : 0;
        copy_async16(k + to, w.source.k + row * b.ldk + from, valid);
        copy_async16(v + to, w.source.v + row * b.ldv + from, valid);
    }
}

/* Rows of keys of the warp to rows `ld` apart in memory. */
template <int W, int P>
static __device__ __forceinline__ void
put_keys(uint16_t *to, int64_t ld, const uint16_t *from, int n, int columns)
{
    for (int i = lane_of(); i < 16 * (W / 8); i += WARP) {
        int r = i / (W / 8), x = i % (W / 8) * 8;
        if (r < n && x < columns)
            *(chunk *)(to + r * ld + x) = *(const chunk *)(from + r * P + x);
    }
}

/* Adds what the reader's rows give to the warp's keys and their values. */
template <int D, int W, int WARPS, int ROWS>
static __device__ __forceinline__ void
add_reader(float (&dk)[1][W / 8][4], float (&dv)[1][W / 8][4], char *shared,
           const backward &b, const work &w, int part)
{
    using S = keys_shape<D, W, WARPS, ROWS>;
    constexpr int P = S::P;
    uint16_t *k = (uint16_t *)shared, *v = k + S::KEYS * P;
    uint16_t *stages = v + S::KEYS * P;
    int warp = (int)threadIdx.x / WARP, lane = lane_of();
    uint16_t *my_k = k + warp * 16 * P, *my_v = v + warp * 16 * P;
    int first = w.from;
    copy_stage<S, D, ROWS>(shared, b, w, first, 0);
    copy_async_commit();
    for (int stage = 0; first < w.end; first += ROWS, stage ^= 1) {
        copy_async_wait<0>();
        __syncthreads();
        if (first + ROWS < w.end)
            copy_stage<S, D, ROWS>(shared, b, w, first + ROWS, stage ^ 1);
        copy_async_commit();
        const uint16_t *q = stages + stage * S::STAGE, *d_o = q + ROWS * P;
        const float *lse =
            (const float *)(stages + 2 * S::STAGE) + stage * 3 * ROWS;
        const float *dot = lse + ROWS;
        const int *token = (const int *)(dot + ROWS);
        int low = w.first + warp * 16;
        if (token[ROWS - 1] < low)
            continue; /* before all of the warp's keys */
        bool hidden = token[0] < low + 15 || w.limit < low + 16 ||
                      (b.window && token[ROWS - 1] >= low + b.window);
        float s[1][ROWS / 8][4], dp[1][ROWS / 8][4];
        clear(s);
        add_rows<1, ROWS / 8, D>(s, my_k, q);
        RLF_UNROLL
        for (int x = 0; x < ROWS / 8; x++)
            RLF_UNROLL
        for (int e = 0; e < 4; e++) {
            int column = x * 8 + lane % 4 * 2 + e % 2;
            int key = low + lane / 4 + e / 2 * 8;
            bool seen = !hidden ||
                        (sees(token[column], key, b.window) && key < w.limit);
            s[0][x][e] = weight_of(s[0][x][e], b, lse[column], seen);
        }
        add_columns<1, ROWS / 8, W / 8, P>(dv, s, d_o + part);
        clear(dp);
        add_rows<1, ROWS / 8, D>(dp, my_v, d_o);
        RLF_UNROLL
        for (int x = 0; x < ROWS / 8; x++)
            RLF_UNROLL
        for (int e = 0; e < 4; e++) {
            int column = x * 8 + lane % 4 * 2 + e % 2;
            dp[0][x][e] = sloped(s[0][x][e], b, lse[column]) *
                          (dp[0][x][e] - dot[column]);
        }
        add_columns<1, ROWS / 8, W / 8, P>(dk, dp, q + part);
    }
}

template <int D, int W, int WARPS, int ROWS>
static __global__ void
__launch_bounds__(WARPS *WARP) keys_kernel(backward b)
{
    using S = keys_shape<D, W, WARPS, ROWS>;
    constexpr int P = S::P;
    RLF_DYNAMIC_SHARED(chunk, shared);
    __shared__ work w;
    uint16_t *k = (uint16_t *)shared, *v = k + S::KEYS * P;
    int warp = (int)threadIdx.x / WARP;
    uint16_t *my_k = k + warp * 16 * P, *my_v = v + warp * 16 * P;

    int items = b.n_tiles * b.kv_heads * S::PARTS;
    for (int item = (int)blockIdx.x; item < items; item += (int)gridDim.x) {
        int part = item % S::PARTS * W;
        __syncthreads(); /* the tile before is through with shared memory */
        if (threadIdx.x == 0) {
            tile at = b.tiles[item / S::PARTS / b.kv_heads];
            begin_work(w, b, at.sequence, at.first,
                       item / S::PARTS % b.kv_heads);
            first_reader<S::KEYS, ROWS>(w, b);
        }
        __syncthreads();
        copy_own_keys<S::KEYS, D>(k, v, w, b, S::THREADS);
        float dk[1][W / 8][4], dv[1][W / 8][4];
        clear(dk);
        clear(dv);
        while (w.reader >= 0) {
            add_reader<D, W, WARPS, ROWS>(dk, dv, (char *)shared, b, w, part);
            __syncthreads(); /* all are through with the rows */
            if (threadIdx.x == 0)
                next_reader<S::KEYS, ROWS>(w, b);
            __syncthreads();
        }
        /* no one reads k and v any more but the warp whose rows they are */
        __syncwarp();
        stage_result<1, W / 8, P>(dk, b.scale, my_k);
        stage_result<1, W / 8, P>(dv, 1, my_v);
        __syncwarp();
        int low = w.first + warp * 16;
        int64_t row = w.seq.first + low;
        put_keys<W, P>(b.dk + row * b.lddk + w.g * b.d + part, b.lddk, my_k,
                       w.n - low, b.d - part);
        put_keys<W, P>(b.dv + row * b.lddv + w.g * b.d + part, b.lddv, my_v,
                       w.n - low, b.d - part);
    }
}

/* ---- dq ---------------------------------------------------------------- */

static constexpr int QUERY_WARPS = 4, FEW_KEYS = 32;

/* 16 MT rows a warp; FEW_KEYS keys at a time, two such tiles. */
template <int MT, int D> struct queries_shape {
    static constexpr int P = PITCH<D>, ROWS = 16 * MT * QUERY_WARPS;
    static constexpr int STAGE = 2 * FEW_KEYS * P;
    static constexpr int THREADS = WARP * QUERY_WARPS;
    static constexpr size_t BYTES =
        sizeof(uint16_t) * (2 * ROWS * P + 2 * STAGE);
};

/* The keys that the rows see. */
template <int ROWS>
static __device__ __forceinline__ void
find_keys(work &w, const backward &b)
{
    w.n = w.seq.n * b.group;
    int low = w.start + w.first / b.group;
    int last = w.first + ROWS < w.n ? w.first + ROWS - 1 : w.n - 1;
    w.from = b.window && low >= b.window ? low + 1 - b.window : 0;
    w.end = w.start + last / b.group + 1;
}

/* Rows of the warp, of sums over keys, to dq. */
template <int MT, int D, int P>
static __device__ __forceinline__ void
put_rows(const backward &b, const work &w, const uint16_t *from, int first)
{
    for (int i = lane_of(); i < 16 * MT * (D / 8); i += WARP) {
        int r = i / (D / 8), x = i % (D / 8) * 8, row = first + r;
        if (row >= w.n || x >= b.d)
            continue;
        int64_t column = (int64_t)(w.g * b.group + row % b.group) * b.d + x;
        *(chunk *)(b.dq + (w.seq.first + row / b.group) * b.lddq + column) =
            *(const chunk *)(from + r * P + x);
    }
}

template <int MT, int D>
static __global__ void
__launch_bounds__(QUERY_WARPS *WARP) queries_kernel(backward b)
{
    using S = queries_shape<MT, D>;
    constexpr int P = S::P, KEYS = FEW_KEYS;
    RLF_DYNAMIC_SHARED(chunk, shared);
    __shared__ work w;
    uint16_t *q = (uint16_t *)shared, *d_o = q + S::ROWS * P;
    uint16_t *stages = d_o + S::ROWS * P;
    int thread = (int)threadIdx.x, warp = thread / WARP, lane = lane_of();
    uint16_t *my_q = q + warp * 16 * MT * P, *my_d_o = d_o + warp * 16 * MT * P;

    for (int item = (int)blockIdx.x; item < b.n_tiles * b.kv_heads;
         item += (int)gridDim.x) {
        __syncthreads(); /* the tile before is through with shared memory */
        if (thread == 0) {
            tile at = b.tiles[item / b.kv_heads];
            begin_work(w, b, at.sequence, at.first, item % b.kv_heads);
            find_keys<S::ROWS>(w, b);
        }
        __syncthreads();
        copy_queries<S::ROWS, D>(q, w.queries, w.first, w.n, b.group, b.d,
                                 thread, S::THREADS);
        copy_queries<S::ROWS, D>(d_o, w.slopes, w.first, w.n, b.group, b.d,
                                 thread, S::THREADS);
        int base = w.from / KEYS * KEYS;
        copy_keys<KEYS, D>(stages, stages + KEYS * P, w.source, base, w.from,
                           w.end, b.d, thread, S::THREADS);
        copy_async_commit();

        float dq[MT][D / 8][4], lse[MT][2], dot[MT][2];
        clear(dq);
        int mine = w.first + warp * 16 * MT;
        RLF_UNROLL
        for (int i = 0; i < MT * 2; i++) {
            int row = mine + i * 8 + lane / 4;
            row = row < w.n ? row : w.n - 1;
            int64_t place = (w.seq.first + row / b.group) * b.heads +
                            w.g * b.group + row % b.group;
            lse[i / 2][i % 2] = b.lse[place] * LOG2_E;
            dot[i / 2][i % 2] = b.dots[place - b.first * b.heads];
        }
        for (int stage = 0; base < w.end; base += KEYS, stage ^= 1) {
            copy_async_wait<0>();
            __syncthreads();
            uint16_t *next = stages + (stage ^ 1) * S::STAGE;
            if (base + KEYS < w.end)
                copy_keys<KEYS, D>(next, next + KEYS * P, w.source, base + KEYS,
                                   w.from, w.end, b.d, thread, S::THREADS);
            copy_async_commit();
            /* the positions of the warp's first and last row */
            int end = mine + 16 * MT < w.n ? mine + 16 * MT : w.n;
            int first = w.start + mine / b.group;
            int last = w.start + (end - 1) / b.group;
            if (mine >= w.n || base > last ||
                (b.window && base + KEYS - 1 <= first - b.window))
                continue; /* no row of the warp sees them */
            const uint16_t *k = stages + stage * S::STAGE, *v = k + KEYS * P;
            bool hidden = base + KEYS - 1 > first ||
                          (b.window && base <= last - b.window);
            float s[MT][KEYS / 8][4], dp[MT][KEYS / 8][4];
            clear(s);
            clear(dp);
            add_rows<MT, KEYS / 8, D>(s, my_q, k);
            add_rows<MT, KEYS / 8, D>(dp, my_d_o, v);
            RLF_UNROLL
            for (int i = 0; i < MT * 2; i++) {
                int token = w.start + (mine + i * 8 + lane / 4) / b.group;
                RLF_UNROLL
                for (int x = 0; x < KEYS / 8; x++)
                    RLF_UNROLL
                for (int e = i % 2 * 2; e < i % 2 * 2 + 2; e++) {
                    int key = base + x * 8 + lane % 4 * 2 + e % 2;
                    bool seen = !hidden || sees(token, key, b.window);
                    float p =
                        weight_of(s[i / 2][x][e], b, lse[i / 2][i % 2], seen);
                    dp[i / 2][x][e] = sloped(p, b, lse[i / 2][i % 2]) *
                                      (dp[i / 2][x][e] - dot[i / 2][i % 2]);
                }
            }
            add_columns<MT, KEYS / 8, D / 8, P>(dq, dp, k);
        }
        __syncwarp();
        stage_result<MT, D / 8, P>(dq, b.scale, my_q);
        __syncwarp();
        put_rows<MT, D, P>(b, w, my_q, mine);
    }
}

/* ---- launches ---------------------------------------------------------- */

template <int D, int W, int WARPS, int ROWS>
static rlf_status
launch_keys(rlf_queue *queue, const backward &b, rlf_err *err)
{
    using S = keys_shape<D, W, WARPS, ROWS>;
    auto *kernel = keys_kernel<D, W, WARPS, ROWS>;
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)kernel, S::BYTES, err));
    int64_t items = (int64_t)b.n_tiles * b.kv_heads * S::PARTS;
    int64_t most = 65535;
    dim3 grid((unsigned)(items < most ? items : most));
    RLF_LAUNCH(kernel, grid, S::THREADS, S::BYTES, queue, b);
    return RLF_OK;
}

template <int MT, int D>
static rlf_status
launch_queries(rlf_queue *queue, const backward &b, rlf_err *err)
{
    using S = queries_shape<MT, D>;
    auto *kernel = queries_kernel<MT, D>;
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)kernel, S::BYTES, err));
    int64_t items = (int64_t)b.n_tiles * b.kv_heads, most = 65535;
    dim3 grid((unsigned)(items < most ? items : most));
    RLF_LAUNCH(kernel, grid, S::THREADS, S::BYTES, queue, b);
    return RLF_OK;
}

/* For heads up to 64, 96, 128, 256 elements. */
typedef struct width {
    int tile_keys, tile_rows;
    rlf_status (*keys)(rlf_queue *queue, const backward &b, rlf_err *err);
    rlf_status (*queries)(rlf_queue *queue, const backward &b, rlf_err *err);
} width;

/* Of GPUs with room for them, and of small ones. */
static const width widths[2][4] = {
    {{128, 128, launch_keys<64, 64, 8, 64>, launch_queries<2, 64>},
     {128, 128, launch_keys<96, 96, 8, 64>, launch_queries<2, 96>},
     {128, 128, launch_keys<128, 128, 8, 64>, launch_queries<2, 128>},
     {64, 64, launch_keys<256, 128, 4, 32>, launch_queries<1, 256>}},
    {{128, 128, launch_keys<64, 64, 8, 64>, launch_queries<2, 64>},
     {64, 128, launch_keys<96, 96, 4, 64>, launch_queries<2, 96>},
     {64, 64, launch_keys<128, 128, 4, 32>, launch_queries<1, 128>},
     {}}};

/* Tiles of `each` rows (group 1: of keys): their number, in `out` unless NULL.
 * Those of keys cost what sees them, those of rows what they see. */
static int64_t
tiles_of(const backward &b, const int32_t *offsets, int64_t n_seqs, int group,
         int each, bool of_keys, tile *out)
{
    int64_t n_tiles = 0;
    for (int64_t s = 0; s < n_seqs; s++) {
        int64_t length = offsets[s + 1] - offsets[s], n = length * group;
        for (int64_t first = 0; first < n; first += each, n_tiles++) {
            int64_t end = first + each < n ? first + each : n;
            int64_t low = first / group, high = (end - 1) / group + 1;
            int64_t cost = of_keys ? length - low : high;
            int64_t most = b.window + high - low;
            if (b.window && cost > most)
                cost = most;
            if (out)
                out[n_tiles] = {(int32_t)s, (int32_t)first, cost};
        }
    }
    return n_tiles;
}

static rlf_status
by_tiles(rlf_queue *queue, backward b, const int32_t *offsets, int64_t n_seqs,
         bool of_keys, rlf_err *err)
{
    const width *w = &widths[is_small(queue)][width_class(b.d)];
    int group = of_keys ? 1 : b.group;
    int each = of_keys ? w->tile_keys : w->tile_rows;
    b.n_tiles = (int)tiles_of(b, offsets, n_seqs, group, each, of_keys, NULL);
    tile *list = (tile *)rlf_malloc((size_t)b.n_tiles * sizeof *list);
    tiles_of(b, offsets, n_seqs, group, each, of_keys, list);
    qsort(list, (size_t)b.n_tiles, sizeof *list, by_cost);
    rlf_status status =
        CUDA(stage)(queue, list, (size_t)b.n_tiles * sizeof *list,
                    (const void **)&b.tiles, err);
    if (status >= 0)
        status = (of_keys ? w->keys : w->queries)(queue, b, err);
    free(list);
    return status;
}

static bool
all_in_chunks(const backward &b)
{
    return in_chunks(b.q, b.ldq) && in_chunks(b.k, b.ldk) &&
           in_chunks(b.v, b.ldv) && in_chunks(b.o, b.ldo) &&
           in_chunks(b.d_o, b.lddo) && in_chunks(b.dq, b.lddq) &&
           in_chunks(b.dk, b.lddk) && in_chunks(b.dv, b.lddv);
}

rlf_status
CUDA(mma_attention_grad)(rlf_queue *queue, const rlf_attention_grad_args *args,
                         rlf_err *err)
{
    const rlf_attention_grad_args &a = *args;
    RLF_TRY(
        check_heads(a.heads, a.kv_heads, a.d, a.window, "attention_grad", err));
    RLF_TRY(check_room(queue, a.d, "attention_grad", err));
    backward b = {.offsets = a.offsets,
                  .prefixes = a.prefixes,
                  .n_seqs = a.n_seqs,
                  .heads = (int)a.heads,
                  .kv_heads = (int)a.kv_heads,
                  .group = (int)(a.heads / a.kv_heads),
                  .d = (int)a.d,
                  .window = within_int(a.window),
                  .scale = a.scale,
                  .c = a.scale * LOG2_E,
                  .cap_in = a.cap != 0 ? a.scale / a.cap : 0,
                  .cap_out = a.cap / a.scale,
                  .cap_back = a.cap != 0 ? 1 / (a.cap * LOG2_E) : 0,
                  .q = (const uint16_t *)a.q,
                  .k = (const uint16_t *)a.k,
                  .v = (const uint16_t *)a.v,
                  .o = (const uint16_t *)a.o,
                  .d_o = (const uint16_t *)a.d_o,
                  .dq = (uint16_t *)a.dq,
                  .dk = (uint16_t *)a.dk,
                  .dv = (uint16_t *)a.dv,
                  .ldq = or_dense(a.ldq, a.heads * a.d),
                  .ldk = or_dense(a.ldk, a.kv_heads * a.d),
                  .ldv = or_dense(a.ldv, a.kv_heads * a.d),
                  .ldo = or_dense(a.ldo, a.heads * a.d),
                  .lddo = or_dense(a.lddo, a.heads * a.d),
                  .lddq = or_dense(a.lddq, a.heads * a.d),
                  .lddk = or_dense(a.lddk, a.kv_heads * a.d),
                  .lddv = or_dense(a.lddv, a.kv_heads * a.d),
                  .lse = a.lse};
    b.first = a.n_seqs ? a.offsets[0] : 0;
    b.tokens = a.n_seqs ? a.offsets[a.n_seqs] - b.first : 0;
    NEED(b.tokens >= 0, "attention_grad");
    if (b.tokens == 0)
        return RLF_OK;
    NEED(all_in_chunks(b), "attention_grad");
    NEED(rlf_prefixes_valid(&a.prefixes, a.offsets, a.n_seqs),
         "attention_grad");
    RLF_TRY(stage_offsets(queue, &b.offsets, a.n_seqs + 1, err));
    RLF_TRY(stage_prefixes(queue, &b.prefixes, a.n_seqs, err));
    RLF_TRY(CUDA(scratch)(queue, (size_t)(b.tokens * b.heads) * sizeof(float),
                          (void **)&b.dots, err));
    RLF_LAUNCH(dots_kernel, blocks_for(b.tokens * b.heads, THREADS / WARP),
               THREADS, 0, queue, b);
    RLF_TRY(by_tiles(queue, b, a.offsets, a.n_seqs, true, err));
    RLF_TRY(by_tiles(queue, b, a.offsets, a.n_seqs, false, err));
    return CUDA(launched)("attention_grad", err);
}
