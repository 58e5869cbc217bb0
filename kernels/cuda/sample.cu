/* Choosing a token from a row of logits, with the bits of kernels/cpu/sample.c:
 * a warp a row. Without filters the chunk in which the cumulative sum passes
 * uniform * S is found from the chunks' sums, then the token within it: a
 * thread looks at each of WARP neighbours, and all threads add them in order.
 * With filters one thread does it: tokens leave a heap in order until top_k or
 * top_p ends it; then the cumulative sum runs over what is kept, by id. */
#include "kernels/cuda/head.h"

extern "C" {
#include "engine/base/fmath.h"
}

typedef struct plan {
    tile t;
    rlf_sample_args a;
} plan;

/* The first lane of the warp for which it holds; WARP: none. */
static __device__ __forceinline__ int
first_lane(bool holds)
{
    int first = holds ? (int)(threadIdx.x % WARP) : WARP;
    for (int w = WARP / 2; w >= 1; w /= 2) {
        int other = __shfl_xor_sync(ALL_LANES, first, w);
        first = other < first ? other : first;
    }
    return first;
}

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
    int first = WARP;
    for (int c = slice_of(t, s).chunk; c < t.n_chunks; c += WARP) {
        int own = c + lane;
        first = first_lane(own < t.n_chunks && (double)parts[own].m == top);
        if (first == WARP)
            continue;
        for (int64_t i = chunk_of(t, c + first).from; i < t.held; i += WARP) {
            int at = first_lane(i + lane < t.held &&
                                z[i + lane] == parts[c + first].m);
            if (at < WARP)
                return {(int32_t)(t.token + i + at), z[i + at]};
        }
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

/* Within chunk k, whose largest logit is m and whose terms count w: *found
 * becomes the token at which the sum passes goal, or the last with a term. */
static __device__ void
draw_token(const float *z, chunk k, float m, double w, double sum, double goal,
           int64_t *found)
{
    int lane = threadIdx.x % WARP;
    for (int64_t i = 0; i < k.n; i += WARP) {
        bool own = i + lane < k.n;
        double e = own ? (double)exp_1(z[k.from + i + lane] - m) * w : 0;
        for (int at = 0; at < WARP && i + at < k.n; at++) {
            double x = __shfl_sync(ALL_LANES, e, at);
            sum += x;
            if (x > 0)
                *found = k.from + i + at;
            if (sum > goal && x > 0)
                return;
        }
    }
}

/* The token in which it does, if it is held here. */
static __device__ pick
draw(const tile &t, int64_t r, double uniform)
{
    const float *z = t.z + r * t.ld;
    const part *parts = t.parts + r * t.n_chunks;
    const whole o = t.wholes[r];
    double goal = uniform * o.s, sum;
    int s = draw_slice(t, r, goal, &sum) - t.place * t.n_slices;
    if (s < 0 || s >= t.n_slices)
        return {-1, 0};
    slice l = slice_of(t, s);
    int64_t found = l.from;
    int end = l.chunk + l.n_chunks, lane = threadIdx.x % WARP;
    for (int c = l.chunk; c < end; c += WARP) {
        part own = parts[c + lane < end ? c + lane : l.chunk];
        double w = rlf_exp((double)own.m - o.m);
        for (int k = 0; k < WARP && c + k < end; k++) {
            float mass = __shfl_sync(ALL_LANES, own.s, k);
            float m = __shfl_sync(ALL_LANES, own.m, k);
            double wk = __shfl_sync(ALL_LANES, w, k);
            double next = rlf_fma((double)mass, wk, sum);
            /* rounding may let the goal lie beyond the last token */
            if (next > goal || c + k == end - 1) {
                draw_token(z, chunk_of(t, c + k), m, wk, sum, goal, &found);
                return {(int32_t)(t.token + found), z[found]};
            }
            sum = next;
        }
    }
    return {(int32_t)(t.token + found), z[found]};
}

/* Does token a come before b? */
static __device__ bool
comes_before(const float *z, int32_t a, int32_t b)
{
    return z[a] > z[b] || (z[a] == z[b] && a < b);
}

static __device__ void
sift(const float *z, int32_t *heap, int64_t n, int64_t i)
{
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= n)
            return;
        if (child + 1 < n && comes_before(z, heap[child + 1], heap[child]))
            child++;
        if (!comes_before(z, heap[child], heap[i]))
            return;
        int32_t held = heap[i];
        heap[i] = heap[child];
        heap[child] = held;
        i = child;
    }
}

/* The last kept token in order of likelihood under top_k and top_p. */
static __device__ int32_t
last_kept(const plan &p, int64_t r, const float *z, int32_t *heap)
{
    const rlf_sample_args &a = p.a;
    float top = (float)p.t.wholes[r].m;
    double total = p.t.wholes[r].s;
    int64_t n = 0, k = a.top_k > 0 && a.top_k < a.v ? a.top_k : a.v;
    bool nucleus = a.top_p > 0 && a.top_p < 1;
    /* tokens below this share cannot be in the smallest set: all of them
     * together are less than what top_p leaves out */
    float least = 0;
    if (nucleus && k == a.v)
        least = (float)(0.5 * (1 - (double)a.top_p) * total / (double)a.v);
    for (int64_t i = 0; i < a.v; i++)
        if (least == 0 || exp_1(z[i] - top) >= least)
            heap[n++] = (int32_t)i;
    if (n == 0)
        return 0;
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(z, heap, n, i);
    /* the k first leave the heap, likeliest first, to the array's end */
    int64_t size = n, taken = 0;
    double mass = 0, goal = (double)a.top_p * total;
    if (nucleus && k < a.v)
        goal = INFINITY;
    while (taken < k && size > 0) {
        int32_t token = heap[0];
        heap[0] = heap[--size];
        sift(z, heap, size, 0);
        heap[size] = token;
        taken++;
        mass += (double)exp_1(z[token] - top);
        if (nucleus && mass >= goal)
            break;
    }
    int64_t last = n - taken;
    if (nucleus && k < a.v) {
        goal = (double)a.top_p * mass;
        mass = 0;
        for (last = n; last > n - taken;) {
            mass += (double)exp_1(z[heap[--last]] - top);
            if (mass >= goal)
                break;
        }
    }
    return heap[last];
}

/* z: all logits of the row. */
static __device__ pick
draw_filtered(const plan &p, int64_t r, const float *z, double uniform,
              int32_t *heap)
{
    const rlf_sample_args &a = p.a;
    float top = (float)p.t.wholes[r].m;
    bool cut = a.top_k > 0 || (a.top_p > 0 && a.top_p < 1);
    int32_t end = cut ? last_kept(p, r, z, heap) : 0;
    double sum = 0, goal = INFINITY;
    int64_t last = 0;
    while (last < a.v - 1 && z[last] != top)
        last++;
    for (int pass = 0; pass < 2; pass++) {
        sum = 0;
        for (int64_t i = 0; i < a.v; i++) {
            if (cut && comes_before(z, end, (int32_t)i))
                continue;
            float e = exp_1(z[i] - top);
            if (e < a.min_p || e == 0)
                continue;
            sum += (double)e;
            last = i;
            if (sum > goal)
                return {(int32_t)last, z[last]};
        }
        goal = uniform * sum;
    }
    return {(int32_t)last, z[last]};
}

static __host__ __device__ bool
has_filters(const rlf_sample_args &a)
{
    return !a.greedy &&
           (a.top_k > 0 || (a.top_p > 0 && a.top_p < 1) || a.min_p > 0);
}

static __global__ void
pick_kernel(plan p)
{
    const tile &t = p.t;
    EACH_WARP(r, t.n)
    {
        bool first = threadIdx.x % WARP == 0;
        double u = p.a.greedy ? 0 : p.a.uniform[t.first + r];
        const float *z = t.full ? t.full + r * t.a.v : t.z + r * t.ld;
        pick found = {-1, 0};
        if (p.a.greedy)
            found = likeliest(t, r);
        else if (!has_filters(p.a))
            found = draw(t, r, u);
        else if (first)
            found = draw_filtered(p, r, z, u, t.heaps + r * t.a.v);
        if (first)
            t.picks[t.place * t.n + r] = found;
    }
}

/* What was picked, wherever; token 0 where no logit is a number. */
static __global__ void
give_kernel(plan p)
{
    const tile &t = p.t;
    int first = t.full ? t.place : 0;
    int end = t.full ? t.place + 1 : t.places;
    EACH(r, t.n)
    {
        pick found = {0, 0};
        for (int place = first; place < end; place++)
            if (t.picks[place * t.n + r].token >= 0)
                found = t.picks[place * t.n + r];
        p.a.tokens[t.first + r] = found.token;
        p.a.logprob[t.first + r] = logprob_of(t, r, found.z);
        if (p.a.entropy)
            p.a.entropy[t.first + r] = t.entropy[r];
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
        t.full[i] = t.gathered[(place * t.n + r) * t.ld + j - from];
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
sample_tile(rlf_queue *queue, plan *p, rlf_err *err)
{
    tile *t = &p->t;
    const rlf_head_part *part = &t->a.part;
    RLF_TRY(TYPED(head_logits)(queue, t, err));
    if (t->full)
        RLF_TRY(gather_rows(queue, t, err));
    RLF_LAUNCH(pick_kernel, blocks_for(t->n, 1), WARP, 0, queue, *p);
    if (t->places > 1 && !t->full)
        RLF_TRY(part->share(part->ctx, queue, t->picks,
                            (size_t)t->n * sizeof(pick), err));
    RLF_LAUNCH(give_kernel, blocks_for(t->n, WARP), WARP, 0, queue, *p);
    return CUDA(launched)("sample", err);
}

rlf_status
TYPED(sample)(rlf_queue *queue, const rlf_sample_args *args, rlf_err *err)
{
    plan p = {.a = *args};
    tile *t = &p.t;
    head_args a = {.m = args->m,
                   .v = args->v,
                   .d = args->d,
                   .part = args->part,
                   .x = args->x,
                   .ldx = args->ldx,
                   .packed = args->packed,
                   .temperature = args->temperature,
                   .temperatures = args->temperatures,
                   .greedy = args->greedy,
                   .with_entropy = args->entropy != NULL,
                   .whole_rows = has_filters(*args)};
    RLF_TRY(TYPED(head_open)(&a, args->work, args->work_bytes, t, err));
    for (t->first = 0; t->first < a.m; t->first += t->rows) {
        t->n = a.m - t->first < t->rows ? a.m - t->first : t->rows;
        RLF_TRY(sample_tile(queue, &p, err));
    }
    return RLF_OK;
}
