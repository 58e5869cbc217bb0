/* Attention in bf16 on tensor cores: what its forward and backward kernels are
 * made of. Tiles of rows in shared memory, products of them by a warp, the
 * running softmax of a row, sums over splits of the keys.
 *
 * Rows of a tile are pairs (token, query head) of one key/value head: row r is
 * head r % group of token r / group. So a tile is full whether many tokens are
 * there or one, and reads its keys once for the whole group. */
#ifndef RLF_KERNELS_CUDA_ATTENTION_TILE_H
#define RLF_KERNELS_CUDA_ATTENTION_TILE_H

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_mma.h"
#include "kernels/cuda/mma.h"

/* Keys go by in blocks of 64 (BLOCK), and each SPLIT of them has a sum of its
 * own; both begin at position 0. Part of the numerics: see README.md. */
static constexpr int SPLIT = 512;
static constexpr float LOG2_E = 1.44269504088896340736f;
static constexpr unsigned ALL_LANES = 0xffffffffu;

/* Rows of D elements in shared memory lie this far apart, so that eight of them
 * are in different banks. */
template <int D> static constexpr int PITCH = D + 8;

namespace
{

/* Eight elements: what one thread moves at once. */
struct alignas(16) chunk {
    uint32_t word[4];
};

struct alignas(16) quad {
    float x[4];
};

/* Rows `ld` apart. */
struct rows {
    const uint16_t *at;
    int64_t ld;
};

/* The keys and values of a sequence, sixteen positions at a time, unless they
 * are not together. */
struct packed_keys {
    const uint16_t *k, *v; /* of the key/value head */
    int64_t ldk, ldv;
    const int32_t *offsets;
    rlf_prefixes prefixes;
    int sequence;

    __device__ bool together(int at) const
    {
        int s = sequence, start = 0, end = at + 16;
        for (; prefixes.starts && (start = prefixes.starts[s]) > at;
             s = prefixes.parents[s])
            end = start;
        return end >= at + 16;
    }

    __device__ rows keys(int at) const
    {
        return {k + prefix_row(prefixes, offsets, sequence, at) * ldk, ldk};
    }

    __device__ rows values(int at) const
    {
        return {v + prefix_row(prefixes, offsets, sequence, at) * ldv, ldv};
    }

    __device__ rows none(void) const
    {
        return {k, 0};
    }
};

/* In a page: keys [page_size, d], values [page_size, d] of a head, then of the
 * next. */
struct paged_keys {
    const uint16_t *kv; /* keys or values of the key/value head, in page 0 */
    const int32_t *pages;
    int64_t page_stride;
    int page_size, d;

    __device__ bool together(int) const
    {
        return true;
    }

    __device__ rows keys(int at) const
    {
        int page = at / page_size;
        return {kv + pages[page] * page_stride + (at - page * page_size) * d,
                d};
    }

    __device__ rows values(int at) const
    {
        rows r = keys(at);
        return {r.at + page_size * d, d};
    }

    __device__ rows none(void) const
    {
        return {kv, 0};
    }
};

} // namespace

static __device__ __forceinline__ int
lane_of(void)
{
    return (int)(threadIdx.x % WARP);
}

/* Tiles are for GPUs whose blocks can have this much shared memory; those with
 * less (99 KB: sm_86, sm_89, sm_12x) have smaller ones, up to SMALL_D. */
static constexpr size_t ROOM = 144 << 10;
static constexpr int64_t SMALL_D = 128;

static inline bool
is_small(rlf_queue *queue)
{
    return CUDA(shared_bytes)(queue) < ROOM;
}

static inline rlf_status
check_room(rlf_queue *queue, int64_t d, const char *op, rlf_err *err)
{
    if (d <= SMALL_D || !is_small(queue))
        return RLF_OK;
    return rlf_fail(err, RLF_USER,
                    "%s: heads of %lld elements in bf16 need a GPU with %zu KB "
                    "of shared memory a block, and this one has %zu; in f32 "
                    "they run here too",
                    op, (long long)d, ROOM >> 10,
                    CUDA(shared_bytes)(queue) >> 10);
}

/* The smallest of the widths that kernels are made for. */
static inline int
width_class(int64_t d)
{
    return d <= 64 ? 0 : d <= 96 ? 1 : d <= 128 ? 2 : 3;
}

/* ---- numbers ----------------------------------------------------------- */

/* Over the four lanes that share a row of a product. */
static __device__ __forceinline__ float
row_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

static __device__ __forceinline__ float
row_sum(float x)
{
    x += __shfl_xor_sync(ALL_LANES, x, 1);
    return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

/* ---- products of tiles by a warp --------------------------------------- */

/* c[16 MT, 8 N] += a b^T over D, both in rows in shared memory. */
template <int MT, int N, int D>
static __device__ __forceinline__ void
add_rows(float (&c)[MT][N][4], const uint16_t *a, const uint16_t *b)
{
    constexpr int P = PITCH<D>;
    int lane = lane_of();
    a += lane % 16 * P + lane / 16 * 8;
    b += (lane % 8 + lane / 16 * 8) * P + lane / 8 % 2 * 8;
    RLF_UNROLL
    for (int k = 0; k < D; k += 16) {
        uint32_t x[MT][4], y[4];
        RLF_UNROLL
        for (int i = 0; i < MT; i++)
            ldmatrix4(x[i], a + i * 16 * P + k);
        RLF_UNROLL
        for (int n = 0; n < N; n += 2) {
            ldmatrix4(y, b + n * 8 * P + k);
            uint32_t left[2] = {y[0], y[1]}, right[2] = {y[2], y[3]};
            RLF_UNROLL
            for (int i = 0; i < MT; i++) {
                mma_bf16(c[i][n], x[i], left);
                mma_bf16(c[i][n + 1], x[i], right);
            }
        }
    }
}

/* c[16 MT, 8 N] += p b, where p[16 MT, 8 K] is a product, rounded to bf16, and
 * b has 8 K rows in shared memory, P apart. */
template <int MT, int K, int N, int P>
static __device__ __forceinline__ void
add_columns(float (&c)[MT][N][4], const float (&p)[MT][K][4], const uint16_t *b)
{
    int lane = lane_of();
    b += lane % 16 * P + lane / 16 * 8;
    RLF_UNROLL
    for (int k = 0; k < K; k += 2) {
        uint32_t x[MT][4], y[4];
        RLF_UNROLL
        for (int i = 0; i < MT; i++)
            for (int e = 0; e < 4; e++) {
                const float *two = &p[i][k + e / 2][e % 2 * 2];
                x[i][e] = bf16_pair(two[0], two[1]);
            }
        RLF_UNROLL
        for (int n = 0; n < N; n += 2) {
            ldmatrix4_trans(y, b + k * 8 * P + n * 8);
            uint32_t left[2] = {y[0], y[1]}, right[2] = {y[2], y[3]};
            RLF_UNROLL
            for (int i = 0; i < MT; i++) {
                mma_bf16(c[i][n], x[i], left);
                mma_bf16(c[i][n + 1], x[i], right);
            }
        }
    }
}

template <int MT, int N>
static __device__ __forceinline__ void
clear(float (&c)[MT][N][4])
{
    RLF_UNROLL
    for (int i = 0; i < MT; i++)
        RLF_UNROLL
    for (int n = 0; n < N; n++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        c[i][n][e] = 0;
}

/* ---- tiles in shared memory -------------------------------------------- */

/* The keys and values of positions base..base+N-1, by `threads` threads; zeros
 * for what does not lie in lo..hi-1. base and N are multiples of 16. */
template <int N, int D, typename K>
static __device__ __forceinline__ void
copy_keys(uint16_t *k, uint16_t *v, const K &source, int base, int lo, int hi,
          int d, int thread, int threads)
{
    for (int j = 0; j < N; j += 16) {
        bool any = base + j < hi && base + j + 16 > lo;
        bool together = !any || source.together(base + j);
        rows key = any ? source.keys(base + j) : source.none();
        rows value = any ? source.values(base + j) : source.none();
        for (int i = thread; i < 16 * (D / 8); i += threads) {
            int r = i / (D / 8), x = i % (D / 8) * 8, at = base + j + r;
            bool valid = at >= lo && at < hi && x < d;
            int to = (j + r) * PITCH<D> + x;
            const uint16_t *one = key.at + r * key.ld;
            const uint16_t *other = value.at + r * value.ld;
            if (valid && !together) {
                one = source.keys(at).at;
                other = source.values(at).at;
            }
            copy_async16(k + to, valid ? one + x : key.at, valid);
            copy_async16(v + to, valid ? other + x : value.at, valid);
        }
    }
}

/* Rows first..first+N-1 of the pairs of one key/value head: `from` is its first
 * query head at the sequence's first token. Zeros from row `n` on. */
template <int N, int D>
static __device__ __forceinline__ void
copy_queries(uint16_t *to, rows from, int first, int n, int group, int d,
             int thread, int threads)
{
    for (int i = thread; i < N * (D / 8); i += threads) {
        int r = i / (D / 8), x = i % (D / 8) * 8, row = first + r;
        bool valid = row < n && x < d;
        int token = row / group, head = row - token * group;
        copy_async16(to + r * PITCH<D> + x,
                     from.at +
                         (valid ? token * from.ld + (int64_t)head * d + x : 0),
                     valid);
    }
}

/* ---- work --------------------------------------------------------------- */

/* A tile of a sequence: the first of its rows (or keys). */
typedef struct tile {
    int32_t sequence, first;
    int64_t cost;
} tile;

/* The dearest first, so that what is taken last is small. */
static inline int
by_cost(const void *a, const void *b)
{
    const tile *x = (const tile *)a, *y = (const tile *)b;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* A window beyond all positions is none. */
static inline int
within_int(int64_t window)
{
    return window > 1 << 30 ? 0 : (int)window;
}

/* Rows of 16 bytes can be moved. */
static inline bool
in_chunks(const void *p, int64_t ld)
{
    return (uintptr_t)p % sizeof(chunk) == 0 && ld % 8 == 0;
}

#endif
