/* The gradient of attention on packed sequences, with the bits of
 * kernels/cpu/attention_grad.c:
 *   p = exp(s - lse), dp = do v, ds = p (dp - do o) scale
 * with a soft cap c: s = c t, t = tanh(scale q k / c), ds times 1 - t^2
 *   dq += ds k (keys in order), dk += ds q, dv += p do (rows in order of query
 *   head, sequence and token)
 * One kernel makes dq, a warp a query; one makes dk and dv, a warp a key. */
#include "kernels/cuda/attention.h"

typedef struct plan {
    rlf_attention_grad_args a;
    int64_t first, tokens; /* of all sequences */
    float *dots;           /* [tokens, heads]: do o */
} plan;

static __global__ void
dots_kernel(plan p)
{
    const rlf_attention_grad_args &a = p.a;
    EACH_WARP(i, p.tokens * a.heads)
    {
        int64_t row = p.first + i / a.heads, h = i % a.heads;
        float dot = row_dot(a.d_o + row * a.lddo + h * a.d,
                            a.o + row * a.ldo + h * a.d, NULL, a.d);
        if (threadIdx.x % WARP == 0)
            p.dots[i] = dot;
    }
}

/* The probability of query row `row` and key row `key`, and ds. */
static __device__ __forceinline__ void
slope(const plan &p, int64_t row, int64_t h, int64_t key, float *weight,
      float *ds)
{
    const rlf_attention_grad_args &a = p.a;
    int64_t g = h / (a.heads / a.kv_heads);
    const rlf_real *q = a.q + row * a.ldq + h * a.d;
    const rlf_real *d_o = a.d_o + row * a.lddo + h * a.d;
    const rlf_real *k = a.k + key * a.ldk + g * a.d;
    const rlf_real *v = a.v + key * a.ldv + g * a.d;
    float s = 0, dp = 0;
    for (int64_t x = 0; x < a.d; x++) {
        s = fmaf(widen(q[x]), widen(k[x]), s);
        dp = fmaf(widen(d_o[x]), widen(v[x]), dp);
    }
    float dot = p.dots[(row - p.first) * a.heads + h];
    float z = s * (a.cap != 0 ? a.scale / a.cap : a.scale), t = z;
    if (a.cap != 0) {
        t = tanh_1(z);
        z = t * a.cap;
    }
    *weight = exp_1(z - a.lse[row * a.heads + h]);
    *ds = *weight * (dp - dot) * a.scale;
    if (a.cap != 0)
        *ds *= fmaf(-t, t, 1.0f);
}

static __global__ void
queries_kernel(plan p)
{
    const rlf_attention_grad_args &a = p.a;
    int lane = threadIdx.x % WARP;
    EACH_WARP(i, p.tokens * a.heads)
    {
        int64_t row = p.first + i / a.heads, h = i % a.heads;
        int64_t g = h / (a.heads / a.kv_heads);
        int64_t s = sequence_of(a.offsets, a.n_seqs, row);
        int64_t pos = prefix_start(a.prefixes, s) + row - a.offsets[s];
        int64_t from = a.window && pos + 1 > a.window ? pos + 1 - a.window : 0;
        float acc[MOST_D / WARP] = {0};
        for (int64_t j0 = from; j0 <= pos; j0 += WARP) {
            float weight = 0, ds = 0;
            int64_t mine = 0;
            if (j0 + lane <= pos) {
                mine = prefix_row(a.prefixes, a.offsets, s, j0 + lane);
                slope(p, row, h, mine, &weight, &ds);
            }
            for (int j = 0; j < WARP && j0 + j <= pos; j++) {
                float w = __shfl_sync(0xffffffffu, ds, j);
                int64_t key = prefix_row(a.prefixes, a.offsets, s, j0 + j);
                const rlf_real *k = a.k + key * a.ldk + g * a.d;
                for (int x = 0; x < MOST_D / WARP; x++)
                    if (lane + x * WARP < a.d)
                        acc[x] = fmaf(w, widen(k[lane + x * WARP]), acc[x]);
            }
        }
        for (int x = 0; x < MOST_D / WARP; x++)
            if (lane + x * WARP < a.d)
                a.dq[row * a.lddq + h * a.d + lane + x * WARP] = narrow(acc[x]);
    }
}

static constexpr int LEVELS = 7; /* of a tree over the parts of a group */
static constexpr int EACH_LANE = MOST_D / WARP;

static_assert(1 << (LEVELS - 1) == RLF_MOST_SHARDS, "levels of a tree");

/* The sum over part `part` goes into a tree; after the last the root is in
 * sum, too. */
static __device__ void
join(float (*tree)[EACH_LANE], int part, float *sum)
{
    int level = 0; /* as many sums wait as part has bits */
    for (; part >> level & 1; level++)
        for (int x = 0; x < EACH_LANE; x++)
            sum[x] = tree[level][x] + sum[x];
    for (int x = 0; x < EACH_LANE; x++)
        tree[level][x] = sum[x];
}

/* Adds what rows first..last-1 of query head h, a warp's turn after another,
 * give to a key and its value. */
static __device__ void
add_rows(const plan &p, int64_t h, int64_t key, int64_t first, int64_t last,
         float *dk, float *dv)
{
    const rlf_attention_grad_args &a = p.a;
    int lane = threadIdx.x % WARP;
    for (int64_t t0 = first; t0 < last; t0 += WARP) {
        float weight = 0, ds = 0;
        if (t0 + lane < last)
            slope(p, t0 + lane, h, key, &weight, &ds);
        for (int t = 0; t < WARP && t0 + t < last; t++) {
            float w = __shfl_sync(0xffffffffu, weight, t);
            float d = __shfl_sync(0xffffffffu, ds, t);
            const rlf_real *q = a.q + (t0 + t) * a.ldq + h * a.d;
            const rlf_real *d_o = a.d_o + (t0 + t) * a.lddo + h * a.d;
            for (int x = 0; x < EACH_LANE; x++)
                if (lane + x * WARP < a.d) {
                    int at = lane + x * WARP;
                    dv[x] = fmaf(w, widen(d_o[at]), dv[x]);
                    dk[x] = fmaf(d, widen(q[at]), dk[x]);
                }
        }
    }
}

/* The same of all rows of the head that see the key, one of sequence s's. */
static __device__ void
add_head(const plan &p, int64_t h, int64_t s, int64_t key, float *dk, float *dv)
{
    const rlf_attention_grad_args &a = p.a;
    const rlf_prefixes &shared = a.prefixes;
    int64_t end = a.offsets[s + 1], of = s;
    if (a.window && key + a.window < end)
        end = key + a.window;
    add_rows(p, h, key, key, end, dk, dv);
    int64_t position = prefix_start(shared, s) + key - a.offsets[s];
    for (s++; shared.parents && s < a.n_seqs && shared.parents[s] >= 0; s++) {
        if (prefix_sees(shared, s, of) <= position)
            continue;
        end = a.offsets[s + 1];
        int64_t most = a.offsets[s] + position + a.window - shared.starts[s];
        if (a.window && most < end)
            end = most;
        add_rows(p, h, key, a.offsets[s], end, dk, dv);
    }
}

static __global__ void
keys_kernel(plan p)
{
    const rlf_attention_grad_args &a = p.a;
    int lane = threadIdx.x % WARP;
    int64_t group = a.heads / a.kv_heads, each = group / a.parts;
    float tree_k[LEVELS][EACH_LANE], tree_v[LEVELS][EACH_LANE];
    EACH_WARP(i, p.tokens * a.kv_heads)
    {
        int64_t key = p.first + i / a.kv_heads, g = i % a.kv_heads;
        int64_t s = sequence_of(a.offsets, a.n_seqs, key);
        float dk[EACH_LANE] = {0}, dv[EACH_LANE] = {0};
        for (int64_t h = g * group; h < (g + 1) * group; h++) {
            for (int x = 0; x < EACH_LANE && h % each == 0; x++)
                dk[x] = dv[x] = 0;
            add_head(p, h, s, key, dk, dv);
            if (a.parts > 1 && (h + 1) % each == 0) {
                join(tree_k, (int)(h % group / each), dk);
                join(tree_v, (int)(h % group / each), dv);
            }
        }
        for (int x = 0; x < MOST_D / WARP; x++)
            if (lane + x * WARP < a.d) {
                a.dk[key * a.lddk + g * a.d + lane + x * WARP] = narrow(dk[x]);
                a.dv[key * a.lddv + g * a.d + lane + x * WARP] = narrow(dv[x]);
            }
    }
}

rlf_status
TYPED(attention_grad)(rlf_queue *queue, const rlf_attention_grad_args *args,
                      rlf_err *err)
{
    plan p = {.a = *args};
    rlf_attention_grad_args &a = p.a;
    RLF_TRY(
        check_heads(a.heads, a.kv_heads, a.d, a.window, "attention_grad", err));
    a.parts = a.parts ? a.parts : 1;
    NEED(a.parts > 0 && (a.parts & (a.parts - 1)) == 0 &&
             a.heads / a.kv_heads % a.parts == 0,
         "attention_grad");
    a.ldq = or_dense(a.ldq, a.heads * a.d);
    a.ldo = or_dense(a.ldo, a.heads * a.d);
    a.lddo = or_dense(a.lddo, a.heads * a.d);
    a.lddq = or_dense(a.lddq, a.heads * a.d);
    a.ldk = or_dense(a.ldk, a.kv_heads * a.d);
    a.ldv = or_dense(a.ldv, a.kv_heads * a.d);
    a.lddk = or_dense(a.lddk, a.kv_heads * a.d);
    a.lddv = or_dense(a.lddv, a.kv_heads * a.d);
    p.first = a.n_seqs ? a.offsets[0] : 0;
    p.tokens = a.n_seqs ? a.offsets[a.n_seqs] - p.first : 0;
    NEED(p.tokens >= 0, "attention_grad");
    NEED(rlf_prefixes_valid(&a.prefixes, a.offsets, a.n_seqs),
         "attention_grad");
    if (p.tokens == 0)
        return RLF_OK;
    RLF_TRY(stage_offsets(queue, &a.offsets, a.n_seqs + 1, err));
    RLF_TRY(stage_prefixes(queue, &a.prefixes, a.n_seqs, err));
    RLF_TRY(CUDA(scratch)(queue, (size_t)(p.tokens * a.heads) * sizeof(float),
                          (void **)&p.dots, err));
    dim3 by_query = blocks_for(p.tokens * a.heads, THREADS / WARP);
    dim3 by_key = blocks_for(p.tokens * a.kv_heads, THREADS / WARP);
    RLF_LAUNCH(dots_kernel, by_query, THREADS, 0, queue, p);
    RLF_LAUNCH(queries_kernel, by_query, THREADS, 0, queue, p);
    RLF_LAUNCH(keys_kernel, by_key, THREADS, 0, queue, p);
    return CUDA(launched)("attention_grad", err);
}
