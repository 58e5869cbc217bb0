/* Sampling under filters (kernels/sample.h): a row's words in bins, by as many
 * blocks as there is room for; then a block a row finds where top_k and top_p
 * end and draws the token. Shared by nobody: it is a part of sample.cu.
 *
 * Words are counted and weights are added with atomics, as whole numbers, so
 * that their order says nothing. A block goes over its row once for each digit
 * of a search, and once to draw. */
#ifndef RLF_KERNELS_CUDA_FILTER_H
#define RLF_KERNELS_CUDA_FILTER_H

#include "kernels/cuda/head.h"

extern "C" {
#include "kernels/sample.h"
}

/* Threads of a block that has a row: for long rows and for short ones. */
static constexpr int MOST_THREADS = 1024, FEW_THREADS = 128;
static constexpr int SHORT = 8192;
/* Words that a block puts into bins, if there are blocks enough. */
static constexpr int SHARE = 4096;

/* A row, whose first word is aligned to 16 bytes. */
typedef struct line {
    const float *z;
    int v;
    float top;
} line;

/* Bins in shared memory, which adds numbers of 32 bits at once. */
typedef struct shared_bins {
    /* The low and high words of the mass in each bin. */
    uint32_t low[SAMPLE_BINS], high[SAMPLE_BINS];
    uint32_t count[SAMPLE_BINS];
} shared_bins;

/* The shared memory of a block. */
typedef struct board {
    shared_bins bins;
    uint64_t mass[WARP]; /* the mass of each warp */
    uint32_t count[WARP];
    sample_place place;
    int id;
} board;

/* ---- going over a row -------------------------------------------------- */

/* Loads that a thread makes before it does something with them. */
static constexpr int AT_ONCE = 4;

/* visit(id, d) for the words first..end-1, four neighbours a thread, of
 * threads at, at + step, ...; first is a multiple of 4. */
template <typename F>
static __device__ __forceinline__ void
each_word(const line &l, int first, int end, int at, int step, F visit)
{
    for (int i = first + 4 * at; i < end; i += 4 * AT_ONCE * step) {
        several<float, 4> x[AT_ONCE] = {};
        RLF_UNROLL
        for (int k = 0; k < AT_ONCE; k++)
            if (i + 4 * k * step < end)
                x[k] = take<4>(l.z + i + 4 * k * step);
        RLF_UNROLL
        for (int k = 0; k < AT_ONCE; k++)
            RLF_UNROLL
        for (int e = 0; e < 4; e++) {
            int id = i + 4 * k * step + e;
            if (id < end)
                visit(id, l.top - x[k].x[e]);
        }
    }
}

/* A thread's words of one bin, as long as no other comes: where all words are
 * alike, threads seldom meet. */
typedef struct tally {
    shared_bins *bins;
    int bin;
    uint32_t count; /* 0: of no bin yet */
    uint64_t mass;
} tally;

static __device__ __forceinline__ void
put_down(tally &t)
{
    if (t.count) {
        uint32_t low = (uint32_t)t.mass;
        uint32_t was = atomicAdd(&t.bins->low[t.bin], low);
        uint32_t high = (uint32_t)(t.mass >> 32) + (was + low < low);
        if (high)
            atomicAdd(&t.bins->high[t.bin], high);
        atomicAdd(&t.bins->count[t.bin], t.count);
    }
    t.count = 0;
    t.mass = 0;
}

static __device__ __forceinline__ void
count_word(tally &t, int bin, float d)
{
    if (bin != t.bin)
        put_down(t);
    t.bin = bin;
    t.count++;
    t.mass += sample_weight(exp_1(-d));
}

/* ---- bins -------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t
mass_of(const shared_bins &b, int bin)
{
    return (uint64_t)b.high[bin] << 32 | b.low[bin];
}

static __device__ __forceinline__ void
set_bin(shared_bins *b, int bin, uint64_t mass, uint32_t count)
{
    b->low[bin] = (uint32_t)mass;
    b->high[bin] = (uint32_t)(mass >> 32);
    b->count[bin] = count;
}

static __device__ void
clear(shared_bins *b)
{
    for (int i = threadIdx.x; i < SAMPLE_BINS; i += blockDim.x)
        set_bin(b, i, 0, 0);
}

/* The sum over a warp's threads up to this one. */
template <typename T>
static __device__ __forceinline__ T
warp_up_to(T x)
{
    int lane = threadIdx.x % WARP;
    for (int w = 1; w < WARP; w *= 2) {
        T other = __shfl_sync(ALL_LANES, x, lane >= w ? lane - w : 0);
        x += lane >= w ? other : 0;
    }
    return x;
}

/* x of each warp is at[warp]: what comes before this one, and all. */
template <typename T>
static __device__ __forceinline__ T
warps_before(const T *at, T *all)
{
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    T own = lane < (int)blockDim.x / WARP ? at[lane] : 0;
    T sum = warp_up_to(own);
    *all = __shfl_sync(ALL_LANES, sum, WARP - 1);
    return __shfl_sync(ALL_LANES, sum - own, warp);
}

/* Sums of the bins before a thread's own, of its own, and of all. */
typedef struct span {
    uint64_t mass, own_mass, all_mass;
    uint32_t count, own_count, all_count;
} span;

/* Bins of the block's threads: equally many each, side by side. */
static __device__ span
span_bins(board *b)
{
    int each = SAMPLE_BINS / blockDim.x, warp = threadIdx.x / WARP;
    span s = {};
    for (int i = 0; i < each; i++) {
        s.own_mass += mass_of(b->bins, threadIdx.x * each + i);
        s.own_count += b->bins.count[threadIdx.x * each + i];
    }
    s.mass = warp_up_to(s.own_mass);
    s.count = warp_up_to(s.own_count);
    if (threadIdx.x % WARP == WARP - 1) {
        b->mass[warp] = s.mass;
        b->count[warp] = s.count;
    }
    __syncthreads();
    s.mass += warps_before(b->mass, &s.all_mass) - s.own_mass;
    s.count += warps_before(b->count, &s.all_count) - s.own_count;
    return s;
}

/* The place where the sum of the bins reaches goal, of at most all of it. */
static __device__ sample_place
find(board *b, const span &s, uint64_t goal, bool by_count)
{
    uint64_t before = by_count ? s.count : s.mass;
    uint64_t own = by_count ? s.own_count : s.own_mass;
    if (before < goal && before + own >= goal) {
        int each = SAMPLE_BINS / blockDim.x;
        sample_place p = {s.mass, 0, s.count, 0, (int)threadIdx.x * each};
        for (;; p.bin++) {
            p.own_mass = mass_of(b->bins, p.bin);
            p.own_count = b->bins.count[p.bin];
            if ((by_count ? p.count + p.own_count : p.mass + p.own_mass) >=
                goal)
                break;
            p.mass += p.own_mass;
            p.count += p.own_count;
        }
        b->place = p;
    }
    __syncthreads();
    sample_place p = b->place;
    __syncthreads(); /* the bins and the place may be written again */
    return p;
}

/* ---- where a sum by id reaches a goal ---------------------------------- */

/* Words of a piece: as many as a warp loads at once, or more, so that there are
 * no more pieces than bins. */
static __device__ __forceinline__ int
piece_words(const line &l)
{
    int least = 4 * AT_ONCE * WARP,
        most = (l.v + SAMPLE_BINS - 1) / SAMPLE_BINS;
    return (most + least - 1) / least * least;
}

/* A piece a bin: the sum of weigh(id, d) over its words. */
template <typename F>
static __device__ span
span_pieces(board *b, const line &l, F weigh)
{
    int words = piece_words(l);
    int lane = threadIdx.x % WARP, warps = blockDim.x / WARP;
    clear(&b->bins);
    __syncthreads();
    for (int i = threadIdx.x / WARP; i * words < l.v; i += warps) {
        int end = (i + 1) * words < l.v ? (i + 1) * words : l.v;
        uint64_t sum = 0;
        each_word(l, i * words, end, lane, WARP,
                  [&](int id, float d) { sum += weigh(id, d); });
        sum = warp_up_to(sum);
        if (lane == WARP - 1)
            set_bin(&b->bins, i, sum, 0);
    }
    __syncthreads();
    return span_bins(b);
}

/* The word at which it is, of the pieces `s`: a warp looks at its piece. */
template <typename F>
static __device__ int
find_word(board *b, const line &l, const span &s, uint64_t goal, F weigh)
{
    sample_place p = find(b, s, goal, false);
    int words = piece_words(l), first = p.bin * words + 4 * (int)threadIdx.x;
    if (threadIdx.x < WARP)
        for (int i = first; p.mass < goal; i += 4 * WARP) {
            uint64_t own[4], all = 0;
            RLF_UNROLL
            for (int e = 0; e < 4; e++) {
                own[e] = i + e < l.v ? weigh(i + e, l.top - l.z[i + e]) : 0;
                all += own[e];
            }
            uint64_t sum = p.mass + warp_up_to(all);
            p.mass = __shfl_sync(ALL_LANES, sum, WARP - 1);
            sum -= all;
            RLF_UNROLL
            for (int e = 0; e < 4; e++) {
                if (sum < goal && sum + own[e] >= goal)
                    b->id = i + e;
                sum += own[e];
            }
        }
    __syncthreads();
    int id = b->id;
    __syncthreads();
    return id;
}

/* The n-th word at d. */
static __device__ int
nth_at(board *b, const line &l, float d, uint64_t n)
{
    auto is_at = [=](int, float x) -> uint64_t { return x == d; };
    span s = span_pieces(b, l, is_at);
    return find_word(b, l, s, n, is_at);
}

/* ---- top_k and top_p --------------------------------------------------- */

/* The coarse bins of a row come from global memory. */
static __device__ span
fetch_bins(board *b, const sample_bins *all)
{
    for (int i = threadIdx.x; i < SAMPLE_BINS; i += blockDim.x)
        set_bin(&b->bins, i, all->mass[i], all->count[i]);
    __syncthreads();
    return span_bins(b);
}

/* Searched words by the next digit. */
static __device__ span
span_digits(board *b, const line &l, const sample_search &s)
{
    float first = rlf_f32_of_bits(s.low), last = rlf_f32_of_bits(s.end - 1);
    clear(&b->bins);
    __syncthreads();
    tally mine = {&b->bins};
    each_word(l, 0, l.v, threadIdx.x, blockDim.x, [&](int, float d) {
        uint32_t bits = rlf_f32_bits(d) - s.low;
        if (d >= first && d <= last)
            count_word(mine, (int)(bits >> s.shift), d);
    });
    put_down(mine);
    __syncthreads();
    return span_bins(b);
}

/* The cut by top_k and top_p, one after the other. */
static __device__ sample_cut
cut_row(board *b, const line &l, const sample_bins *all,
        const rlf_sample_args &a)
{
    sample_cut cut = {SAMPLE_REACH, 0};
    uint64_t mass = 0;              /* of what is kept; 0: of all words */
    uint32_t taken = 0, others = 0; /* of the words at cut.d */
    for (int by_count = 1; by_count >= 0; by_count--) {
        if (by_count ? a.top_k <= 0 : !sample_cuts_mass(&a))
            continue;
        span x = fetch_bins(b, all);
        mass = mass ? mass : x.all_mass;
        sample_search s = {by_count ? (uint64_t)a.top_k
                                    : sample_nucleus(a.top_p, mass),
                           (bool)by_count};
        if (mass == 0 || (by_count && s.goal >= x.all_count))
            continue;
        sample_begin(&s, find(b, x, s.goal, s.by_count));
        do
            x = span_digits(b, l, s);
        while (sample_narrow(&s, find(b, x, sample_left(&s), s.by_count)));
        taken = sample_taken(&s);
        others = s.at.own_count - taken;
        mass = sample_mass(&s, taken);
        cut = {rlf_f32_of_bits(s.low), l.v};
    }
    if (others)
        cut.last = nth_at(b, l, cut.d, taken);
    return cut;
}

/* ---- a row ------------------------------------------------------------- */

/* The token, by all threads of the block. */
static __device__ int32_t
draw_filtered(board *b, const line &l, const sample_bins *all,
              const rlf_sample_args &a, double uniform)
{
    sample_cut cut = cut_row(b, l, all, a);
    float min_p = a.min_p;
    auto kept = [=](int id, float d) -> uint64_t {
        float e = sample_keeps(cut, d, id) ? exp_1(-d) : 0;
        return e >= min_p ? sample_weight(e) : 0;
    };
    span s = span_pieces(b, l, kept);
    return s.all_mass
               ? find_word(b, l, s, sample_goal(uniform, s.all_mass), kept)
               : 0; /* no logit is a number */
}

/* A part of a row in coarse bins, which are added to those in global memory. */
static __device__ void
count_part(shared_bins *b, const line &l, int first, int end, sample_bins *all)
{
    clear(b);
    __syncthreads();
    tally mine = {b};
    each_word(l, first, end, threadIdx.x, blockDim.x, [&](int, float d) {
        if (sample_reaches(d))
            count_word(mine, sample_bin(d), d);
    });
    put_down(mine);
    __syncthreads();
    for (int i = threadIdx.x; i < SAMPLE_COARSE; i += blockDim.x)
        if (b->count[i]) {
            atomicAdd((unsigned long long *)&all->mass[i],
                      (unsigned long long)mass_of(*b, i));
            atomicAdd(&all->count[i], b->count[i]);
        }
    __syncthreads();
}

#endif
