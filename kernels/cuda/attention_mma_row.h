/* Attention in bf16 on tensor cores, forward: the arithmetic of a row, which
 * tiles and splits have in common. The same blocks of keys in the same order
 * with the same instructions (attend), sums over the same splits at absolute
 * positions, joined in order (join). */
#ifndef RLF_KERNELS_CUDA_ATTENTION_MMA_ROW_H
#define RLF_KERNELS_CUDA_ATTENTION_MMA_ROW_H

#include "kernels/cuda/attention_tile.h"

namespace
{

/* Both operations in one. */
struct forward {
    const int32_t *offsets;
    const int32_t *starts;  /* NULL: 0 */
    const int32_t *parents; /* of packed sequences; NULL: none is shared */
    int heads, kv_heads, group, d, window;
    float scale, c;        /* c: scale * log2 e */
    /* Factors of a soft cap: scale / cap, cap / scale; or 0. */
    float cap_in, cap_out;
    const uint16_t *q;
    uint16_t *o;
    int64_t ldq, ldo;
    float *lse; /* or NULL */

    const uint16_t *k, *v; /* packed */
    int64_t ldk, ldv;
    const uint16_t *kv; /* paged */
    const int32_t *pages;
    int64_t ld_pages, page_stride;
    int page_size;

    const tile *tiles;
    int n_tiles;
    float *totals; /* a place a block, if a sequence has several splits */
};

/* New tokens of a sequence: rows of q from `first` on, at positions from
 * `start` on. */
struct sequence {
    int64_t first;
    int start, n;
};

/* A row's sum over some keys: acc / l is what attention gives of them, the
 * exponents count from m (a score before it is scaled). l is 0 where the row
 * has seen nothing. A thread has rows g and g + 8 of each sixteen. */
template <int MT, int D> struct sums {
    float acc[MT][D / 8][4];
    float m[MT][2], l[MT][2];
};

/* Says how two of them add up: m, l of both; acc is b times the later's plus a
 * times the earlier's. */
struct joint {
    float m, l, a, b;
};

} // namespace

static __device__ __forceinline__ sequence
sequence_at(const forward &f, int s)
{
    int first = f.offsets[s];
    return {first, f.starts ? f.starts[s] : 0, f.offsets[s + 1] - first};
}

template <bool PAGED>
static __device__ __forceinline__ auto
keys_of(const forward &f, int s, int g)
{
    if constexpr (PAGED)
        return paged_keys{f.kv + (int64_t)g * 2 * f.page_size * f.d,
                          f.pages + s * f.ld_pages, f.page_stride, f.page_size,
                          f.d};
    else
        return packed_keys{f.k + g * f.d, f.v + g * f.d,         f.ldk, f.ldv,
                           f.offsets,     {f.starts, f.parents}, s};
}

/* The first position that the token at `position` sees. */
static __device__ __forceinline__ int
seen_from(const forward &f, int position)
{
    return f.window && position >= f.window ? position + 1 - f.window : 0;
}

/* ---- arithmetic of a row ----------------------------------------------- */

template <int MT, int D>
static __device__ __forceinline__ void
begin(sums<MT, D> &s)
{
    clear(s.acc);
    RLF_UNROLL
    for (int i = 0; i < MT * 2; i++) {
        s.m[i / 2][i % 2] = -INFINITY;
        s.l[i / 2][i % 2] = 0;
    }
}

/* The places of a warp's rows: `first`.. of the n of a sequence. */
struct places {
    int first, n;
    int start;   /* the position of the sequence's first new token */
    int low, to; /* positions of the first and the last row; to < 0: none */
};

template <int MT>
static __device__ __forceinline__ places
places_of(const forward &f, const sequence &seq, int first, int n)
{
    int end = first + 16 * MT < n ? first + 16 * MT : n;
    return {first, n, seq.start, seq.start + first / f.group,
            first < n ? seq.start + (end - 1) / f.group : -1};
}

/* Does one of the rows see something of the block, all of them all of it? */
static __device__ __forceinline__ bool
some_see(const forward &f, const places &p, int base)
{
    return base <= p.to && base + BLOCK > seen_from(f, p.low);
}

static __device__ __forceinline__ bool
all_see(const forward &f, const places &p, int base)
{
    return base + BLOCK - 1 <= p.low && base >= seen_from(f, p.to);
}

/* Keys that a row does not see in the block at `base` get -infinity. */
template <int MT>
static __device__ __forceinline__ void
hide(float (&s)[MT][BLOCK / 8][4], const forward &f, const places &p, int base)
{
    int column = base + lane_of() % 4 * 2;
    RLF_UNROLL
    for (int i = 0; i < MT * 2; i++) {
        int row = p.first + i * 8 + lane_of() / 4;
        int to = p.start + (row < p.n ? row : p.n - 1) / f.group;
        int from = seen_from(f, to);
        RLF_UNROLL
        for (int n = 0; n < BLOCK / 8; n++)
            RLF_UNROLL
        for (int e = 0; e < 2; e++) {
            int at = column + n * 8 + e;
            if (at < from || at > to)
                s[i / 2][n][i % 2 * 2 + e] = -INFINITY;
        }
    }
}

/* Scores, before they are scaled, under a soft cap. */
template <int MT>
static __device__ __forceinline__ void
soft_cap(float (&s)[MT][BLOCK / 8][4], const forward &f)
{
    RLF_UNROLL
    for (int i = 0; i < MT; i++)
        RLF_UNROLL
    for (int n = 0; n < BLOCK / 8; n++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        s[i][n][e] = tanh_1(s[i][n][e] * f.cap_in) * f.cap_out;
}

/* Scores become weights, and the sums go over to a maximum with them. HALVES 1:
 * rows 8..15 are not there. */
template <int MT, int D, int HALVES>
static __device__ __forceinline__ void
weigh(sums<MT, D> &t, float (&s)[MT][BLOCK / 8][4], float c)
{
    RLF_UNROLL
    for (int i = 0; i < MT; i++)
        RLF_UNROLL
    for (int h = 0; h < 2; h++) {
        if (h >= HALVES) {
            RLF_UNROLL
            for (int n = 0; n < BLOCK / 8; n++)
                s[i][n][2] = s[i][n][3] = 0;
            continue;
        }
        float top = t.m[i][h];
        RLF_UNROLL
        for (int n = 0; n < BLOCK / 8; n++)
            top = fmaxf(top, fmaxf(s[i][n][2 * h], s[i][n][2 * h + 1]));
        top = row_max(top);
        float base = top == -INFINITY ? 0 : top, sum = 0;
        float keep = exp2_fast((t.m[i][h] - base) * c);
        RLF_UNROLL
        for (int n = 0; n < BLOCK / 8; n++)
            RLF_UNROLL
        for (int e = 2 * h; e < 2 * h + 2; e++) {
            s[i][n][e] = exp2_fast(fmaf(s[i][n][e], c, -(base * c)));
            sum += s[i][n][e];
        }
        t.m[i][h] = top;
        t.l[i][h] = fmaf(t.l[i][h], keep, sum); /* of this lane's columns */
        RLF_UNROLL
        for (int n = 0; n < D / 8; n++) {
            t.acc[i][n][2 * h] *= keep;
            t.acc[i][n][2 * h + 1] *= keep;
        }
    }
}

/* A block of keys: all of attention's arithmetic is here. */
template <int MT, int D, int HALVES>
static __device__ __forceinline__ void
attend(sums<MT, D> &t, const forward &f, const uint16_t *q, const uint16_t *k,
       const uint16_t *v, const places &p, int base)
{
    float s[MT][BLOCK / 8][4];
    clear(s);
    add_rows<MT, BLOCK / 8, D>(s, q, k);
    if (f.cap_in != 0)
        soft_cap(s, f);
    if (!all_see(f, p, base))
        hide(s, f, p, base);
    weigh<MT, D, HALVES>(t, s, f.c);
    add_columns<MT, BLOCK / 8, D / 8, PITCH<D>>(t.acc, s, v);
}

/* A split ends: what its lanes have of l becomes the row's. */
template <int MT, int D>
static __device__ __forceinline__ void
end_split(sums<MT, D> &t)
{
    RLF_UNROLL
    for (int i = 0; i < MT * 2; i++)
        t.l[i / 2][i % 2] = row_sum(t.l[i / 2][i % 2]);
}

static __device__ __forceinline__ joint
join(float m0, float l0, float m1, float l1, float c)
{
    if (l1 == 0)
        return {m0, l0, 1, 0};
    if (l0 == 0)
        return {m1, l1, 0, 1};
    float m = fmaxf(m0, m1);
    float a = exp2_fast((m0 - m) * c), b = exp2_fast((m1 - m) * c);
    return {m, fmaf(l1, b, l0 * a), a, b};
}

/* An element of the row; + 0 for a zero that has a sign only because of splits
 * or blocks in which the row saw nothing. */
static __device__ __forceinline__ float
finish(float acc, float l)
{
    return acc * (1 / l) + 0.0f;
}

#endif
