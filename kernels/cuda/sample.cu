/* Choosing a token from a row of logits, with the bits of kernels/cpu/sample.c.
 * Without filters a warp has a row: the chunk in which the cumulative sum
 * passes uniform * S is found from the chunks' sums, then the token within it.
 * Threads look at many neighbours at once, and all of them add what lies in
 * shared memory, in order. With filters see filter.h. */
#include "kernels/cuda/filter.h"

extern "C" {
#include "engine/base/fmath.h"
}

typedef struct plan {
    tile t;
    rlf_sample_args a;
} plan;

/* Of the warp's threads. */
static __device__ __forceinline__ int
warp_least(int x)
{
    for (int w = WARP / 2; w >= 1; w /= 2) {
        int other = __shfl_xor_sync(ALL_LANES, x, w);
        x = other < x ? other : x;
    }
    return x;
}

/* Of a chunk, what a thread of a warp has: words lane, lane + WARP, ... */
static constexpr int OWN = CHUNK / WARP;

/* The first of the most likely tokens, if it is held here. */
static __device__ pick
likeliest(const tile &t, int64_t r)
{
    const float *z = t.z + r * t.ld;
    const part *parts = t.parts + r * t.n_chunks;
    double top = t.wholes[r].m;
    int s = 0, n = t.places * t.n_slices, lane = threadIdx.x % WARP;
    while (s < n && slice_measure(t, r, s)->m != top)
        s++;
    s -= t.place * t.n_slices;
    if (s < 0 || s >= t.n_slices)
        return {-1, 0}; /* elsewhere, or no logit is a number */
    int c = t.n_chunks;
    RLF_UNROLL_BY(8)
    for (int i = slice_of(t, s).chunk + lane; i < t.n_chunks; i += WARP)
        c = i < c && (double)parts[i].m == top ? i : c;
    c = warp_least(c);
    if (c == t.n_chunks)
        return {-1, 0};
    float m = (float)top;
    int held = (int)t.held;
    for (int i = (int)chunk_of(t, c).from; i < held; i += CHUNK) {
        int at = held;
        RLF_UNROLL
        for (int k = OWN - 1; k >= 0; k--) {
            int own = i + k * WARP + lane;
            at = own < held && z[own] == m ? own : at;
        }
        at = warp_least(at);
        if (at < held)
            return {(int32_t)(t.token + at), z[at]};
    }
    return {-1, 0};
}

/* The slice in which the cumulative sum passes goal; *sum: that before it.
 * Rounding may let the goal lie beyond the last one. */
static __device__ int
draw_slice(const tile &t, int64_t r, double goal, double *sum)
{
    int found = 0;
    double before = *sum = 0;
    for (int s = 0; s < t.places * t.n_slices; s++) {
        const measured *x = slice_measure(t, r, s);
        double w = rlf_exp(x->m - t.wholes[r].m);
        if (x->s * w > 0) {
            found = s;
            *sum = before;
        }
        before = rlf_fma(x->s, w, before);
        if (before > goal)
            break;
    }
    return found;
}

/* Terms that the threads of a warp have looked at, to be added in order. */
typedef struct terms {
    double x[CHUNK], w[CHUNK];
} terms;

/* sum = add(sum, i) over i, which makes it no smaller, up to the first that
 * makes it exceed goal: returns it, or n. *sum: before that. Several are added
 * before anyone asks. */
template <typename F>
static __device__ __forceinline__ int
add_until(double goal, int n, double *sum, F add)
{
    constexpr int SOME = 8;
    int i = 0;
    for (; i + SOME <= n; i += SOME) {
        double next = *sum;
        RLF_UNROLL
        for (int k = 0; k < SOME; k++)
            next = add(next, i + k);
        if (!(next <= goal))
            break;
        *sum = next;
    }
    for (; i < n; i++) {
        double next = add(*sum, i);
        if (next > goal)
            break;
        *sum = next;
    }
    return i;
}

/* The chunk of slice l in which the sum passes goal; *sum: that before it.
 * Rounding may let the goal lie beyond the last one. */
static __device__ int
draw_chunk(terms *has, const part *parts, const slice &l, double m, double goal,
           double *sum)
{
    int lane = threadIdx.x % WARP;
    for (int c = 0;; c += CHUNK) {
        int n = l.n_chunks - c < CHUNK ? l.n_chunks - c : CHUNK;
        RLF_UNROLL_BY(8)
        for (int i = lane; i < n; i += WARP) {
            part own = parts[l.chunk + c + i];
            has->x[i] = (double)own.s;
            has->w[i] = rlf_exp((double)own.m - m);
        }
        __syncwarp();
        bool last = c + n == l.n_chunks;
        int at = add_until(goal, last ? n - 1 : n, sum, [=](double s, int i) {
            return rlf_fma(has->x[i], has->w[i], s);
        });
        __syncwarp();
        if (last || at < n)
            return l.chunk + c + at;
    }
}

/* Within chunk k, whose largest logit is m and whose terms count w: the token
 * at which the sum passes goal, or the last with a term, or `none`. */
static __device__ int64_t
draw_token(terms *has, const float *z, chunk k, float m, double w, double sum,
           double goal, int64_t none)
{
    int lane = threadIdx.x % WARP, n = (int)k.n, last = -1;
    RLF_UNROLL
    for (int i = 0; i < OWN; i++) {
        int at = i * WARP + lane;
        double x = at < n ? (double)exp_1(z[k.from + at] - m) * w : 0;
        has->x[at] = x;
        last = x > 0 ? at : last;
    }
    __syncwarp();
    int at = add_until(goal, n, &sum,
                       [=](double s, int i) { return s + has->x[i]; });
    __syncwarp();
    last = -warp_least(-last);
    return at < n ? k.from + at : last >= 0 ? k.from + last : none;
}

/* The token in which it does, if it is held here. */
static __device__ pick
draw(terms *has, const tile &t, int64_t r, double uniform)
{
    const float *z = t.z + r * t.ld;
    const part *parts = t.parts + r * t.n_chunks;
    const whole o = t.wholes[r];
    double goal = uniform * o.s, sum;
    int s = draw_slice(t, r, goal, &sum) - t.place * t.n_slices;
    if (s < 0 || s >= t.n_slices)
        return {-1, 0};
    slice l = slice_of(t, s);
    int c = draw_chunk(has, parts, l, o.m, goal, &sum);
    float m = parts[c].m;
    double w = rlf_exp((double)m - o.m);
    int64_t found = draw_token(has, z, chunk_of(t, c), m, w, sum, goal, l.from);
    return {(int32_t)(t.token + found), z[found]};
}

/* Is what is picked here what is picked? */
static __host__ __device__ bool
picks_alone(const tile &t)
{
    return t.full || t.places == 1;
}

static __device__ void
give_row(const plan &p, int64_t r, pick found)
{
    const tile &t = p.t;
    p.a.tokens[t.first + r] = found.token;
    p.a.logprob[t.first + r] = logprob_of(t, r, found.z);
    if (p.a.entropy)
        p.a.entropy[t.first + r] = t.entropy[r];
}

/* A block of a warp a row. */
static __global__ void
pick_kernel(plan p)
{
    __shared__ terms has;
    const tile &t = p.t;
    for (int64_t r = blockIdx.x; r < t.n; r += gridDim.x) {
        pick found = p.a.greedy ? likeliest(t, r)
                                : draw(&has, t, r, p.a.uniform[t.first + r]);
        if (threadIdx.x > 0)
            continue;
        if (!picks_alone(t))
            t.picks[t.place * t.n + r] = found;
        else
            give_row(p, r, found.token < 0 ? pick{0, 0} : found);
    }
}

/* Gives what was picked, wherever; token 0 where no logit is a number. */
static __global__ void
give_kernel(plan p)
{
    const tile &t = p.t;
    EACH(r, t.n)
    {
        pick found = {0, 0};
        for (int place = 0; place < t.places; place++)
            if (t.picks[place * t.n + r].token >= 0)
                found = t.picks[place * t.n + r];
        give_row(p, r, found);
    }
}

/* ---- with filters ------------------------------------------------------ */

static __device__ line
line_of(const tile &t, int64_t r)
{
    const float *z = t.full ? t.full + r * t.ldv : t.z + r * t.ld;
    return {z, (int)t.a.v, (float)t.wholes[r].m};
}

/* So many blocks a row. */
static __global__ void
count_kernel(tile t, int parts)
{
    __shared__ shared_bins bins;
    for (int64_t i = blockIdx.x; i < t.n * parts; i += gridDim.x) {
        spot p = spot_of(i, parts);
        line l = line_of(t, p.row);
        int64_t fours = (l.v + 3) / 4;
        int first = (int)(fours * p.at / parts * 4);
        int end = (int)(fours * (p.at + 1) / parts * 4);
        count_part(&bins, l, first, end < l.v ? end : l.v, &t.bins[p.row]);
    }
}

/* A block a row. */
static __global__ void
__launch_bounds__(MOST_THREADS) filter_kernel(plan p)
{
    __shared__ board b;
    const tile &t = p.t;
    for (int64_t r = blockIdx.x; r < t.n; r += gridDim.x) {
        line l = line_of(t, r);
        int32_t token =
            draw_filtered(&b, l, &t.bins[r], p.a, p.a.uniform[t.first + r]);
        if (threadIdx.x == 0)
            give_row(p, r, {token, l.z[token]});
    }
}

static __global__ void
spread_kernel(tile t)
{
    EACH(i, t.n * t.a.v)
    {
        int64_t r = i / t.a.v, j = i % t.a.v;
        int place = 0;
        while (place + 1 < t.places &&
               j >= shard_from(t, (int64_t)(place + 1) * t.n_slices))
            place++;
        int64_t from = shard_from(t, (int64_t)place * t.n_slices);
        t.full[r * t.ldv + j] = t.gathered[(place * t.n + r) * t.ld + j - from];
    }
}

/* All logits of each row, which the places hold in parts. */
static rlf_status
gather_rows(rlf_queue *queue, const tile *t, rlf_err *err)
{
    const rlf_head_part *p = &t->a.part;
    size_t bytes = (size_t)(t->n * t->ld) * sizeof(float);
    RLF_TRY(rlf_queue_copy(queue, t->gathered + t->place * t->n * t->ld, t->z,
                           bytes, RLF_COPY_ON_DEVICE, err));
    RLF_TRY(p->share(p->ctx, queue, t->gathered, bytes, err));
    RLF_LAUNCH(spread_kernel, blocks_for(t->n * t->a.v, THREADS), THREADS, 0,
               queue, *t);
    return RLF_OK;
}

static rlf_status
filter_tile(rlf_queue *queue, const plan *p, rlf_err *err)
{
    const tile *t = &p->t;
    int64_t most = 4 * CUDA(multiprocessors)(queue) / t->n;
    int64_t parts = (t->a.v + SHARE - 1) / SHARE;
    parts = parts < most ? parts : most > 1 ? most : 1;
    if (p->a.top_k > 0 || sample_cuts_mass(&p->a)) {
        RLF_TRY(rlf_queue_set(queue, t->bins, 0, (size_t)t->n * sizeof *t->bins,
                              err));
        RLF_LAUNCH(count_kernel, blocks_for(t->n * parts, 1), THREADS, 0, queue,
                   *t, (int)parts);
    }
    int threads = t->a.v <= SHORT ? FEW_THREADS : MOST_THREADS;
    RLF_LAUNCH(filter_kernel, blocks_for(t->n, 1), threads, 0, queue, *p);
    return RLF_OK;
}

static rlf_status
sample_tile(rlf_queue *queue, plan *p, rlf_err *err)
{
    tile *t = &p->t;
    const rlf_head_part *part = &t->a.part;
    RLF_TRY(TYPED(head_logits)(queue, t, err));
    if (t->full)
        RLF_TRY(gather_rows(queue, t, err));
    if (t->a.whole_rows) {
        RLF_TRY(filter_tile(queue, p, err));
        return CUDA(launched)("sample", err);
    }
    RLF_LAUNCH(pick_kernel, blocks_for(t->n, 1), WARP, 0, queue, *p);
    if (!picks_alone(*t)) {
        RLF_TRY(part->share(part->ctx, queue, t->picks,
                            (size_t)t->n * sizeof(pick), err));
        RLF_LAUNCH(give_kernel, blocks_for(t->n, WARP), WARP, 0, queue, *p);
    }
    return CUDA(launched)("sample", err);
}

rlf_status
TYPED(sample)(rlf_queue *queue, const rlf_sample_args *args, rlf_err *err)
{
    plan p = {.a = *args};
    RLF_TRY(sample_check(args, err));
    tile *t = &p.t;
    head_args a = {.m = args->m,
                   .v = args->v,
                   .d = args->d,
                   .part = args->part,
                   .x = args->x,
                   .ldx = args->ldx,
                   .packed = args->packed,
                   .bias = args->bias,
                   .scale = args->scale,
                   .cap = args->cap,
                   .temperature = args->temperature,
                   .temperatures = args->temperatures,
                   .greedy = args->greedy,
                   .with_entropy = args->entropy != NULL,
                   .whole_rows = sample_has_filters(args)};
    RLF_TRY(TYPED(head_open)(queue, &a, args->work, args->work_bytes, t, err));
    for (t->first = 0; t->first < a.m; t->first += t->rows) {
        t->n = a.m - t->first < t->rows ? a.m - t->first : t->rows;
        RLF_TRY(sample_tile(queue, &p, err));
    }
    return RLF_OK;
}
