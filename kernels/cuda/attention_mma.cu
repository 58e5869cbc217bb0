/* Attention in bf16 on tensor cores, forward: packed sequences and the paged
 * cache, in tiles of rows and, for few rows over many keys, by splits.
 *
 * All of a row's arithmetic is attention_mma_row.h: the bits of a token are the
 * same in training, in a prefill by any pieces, and in decoding. */
#include "kernels/cuda/attention_mma_row.h"

extern "C" {
#include "engine/base/arena.h"
}

#include <stdlib.h>

static constexpr int WARPS = 4; /* of a tile's block */
static constexpr int SPLIT_ROWS = 16;
/* Sequences with at most so many new rows go by splits. */
static constexpr int64_t FEW_ROWS = 64;
static constexpr size_t MOST_PARTIALS = (size_t)48 << 20;
/* Shared memory of a multiprocessor of sm_90; where there is less, fewer blocks
 * run at once. */
static constexpr size_t SHARED_OF_ONE = 228 << 10;

/* ---- a tile of rows ---------------------------------------------------- */

/* Add the sums of the splits before, which are in `total` unless this is the
 * first. */
template <int MT, int D>
static __device__ __forceinline__ void
add_total(sums<MT, D> &t, const quad *total, float c)
{
    constexpr int THREADS_OF_TILE = WARPS * WARP;
    total += threadIdx.x;
    RLF_UNROLL
    for (int i = 0; i < MT; i++) {
        quad before = total[(MT * D / 8 + i) * THREADS_OF_TILE];
        joint j[2];
        RLF_UNROLL
        for (int h = 0; h < 2; h++) {
            j[h] = join(before.x[h], before.x[2 + h], t.m[i][h], t.l[i][h], c);
            t.m[i][h] = j[h].m;
            t.l[i][h] = j[h].l;
        }
        RLF_UNROLL
        for (int n = 0; n < D / 8; n++) {
            quad x = total[(i * (D / 8) + n) * THREADS_OF_TILE];
            RLF_UNROLL
            for (int e = 0; e < 4; e++)
                t.acc[i][n][e] =
                    fmaf(t.acc[i][n][e], j[e / 2].b, x.x[e] * j[e / 2].a);
        }
    }
}

template <int MT, int D>
static __device__ __forceinline__ void
keep_total(const sums<MT, D> &t, quad *total)
{
    constexpr int THREADS_OF_TILE = WARPS * WARP;
    total += threadIdx.x;
    RLF_UNROLL
    for (int i = 0; i < MT; i++) {
        total[(MT * D / 8 + i) * THREADS_OF_TILE] = {
            {t.m[i][0], t.m[i][1], t.l[i][0], t.l[i][1]}};
        RLF_UNROLL
        for (int n = 0; n < D / 8; n++)
            total[(i * (D / 8) + n) * THREADS_OF_TILE] = {
                {t.acc[i][n][0], t.acc[i][n][1], t.acc[i][n][2],
                 t.acc[i][n][3]}};
    }
}

/* Bytes of one block's totals. */
template <int MT, int D>
static constexpr size_t
    TOTAL_BYTES = sizeof(quad) * MT *(D / 8 + 1) * WARPS *WARP;

/* `several`: there are splits before; `more`: there will be others. */
template <int MT, int D>
static __device__ __forceinline__ void
add_split(sums<MT, D> &t, const forward &f, bool several, bool more)
{
    quad *total =
        (quad *)f.totals + blockIdx.x * (TOTAL_BYTES<MT, D> / sizeof(quad));
    if (several)
        add_total(t, total, f.c);
    if (more)
        keep_total(t, total);
}

/* The warp's rows `first`.. of n, by way of its rows of q in shared memory. */
template <int MT, int D>
static __device__ __forceinline__ void
write_rows(const sums<MT, D> &t, const forward &f, const sequence &seq, int g,
           uint16_t *q, int first, int n)
{
    constexpr int P = PITCH<D>;
    int lane = lane_of(), r = lane / 4, x = lane % 4 * 2;
    __syncwarp();
    RLF_UNROLL
    for (int i = 0; i < MT * 2; i++) {
        int row = first + i * 8 + r;
        float m = t.m[i / 2][i % 2], l = t.l[i / 2][i % 2];
        if (f.lse && x == 0 && row < n) {
            int token = row / f.group, head = g * f.group + row % f.group;
            f.lse[(seq.first + token) * f.heads + head] =
                fmaf(m, f.scale, log_1(l));
        }
        RLF_UNROLL
        for (int k = 0; k < D / 8; k++) {
            const float *two = &t.acc[i / 2][k][i % 2 * 2];
            uint32_t pair = bf16_pair(finish(two[0], l), finish(two[1], l));
            memcpy((char *)(q + (i * 8 + r) * P + k * 8 + x), &pair, 4);
        }
    }
    __syncwarp();
    for (int i = lane; i < 16 * MT * (D / 8); i += WARP) {
        int row = first + i / (D / 8), y = i % (D / 8) * 8;
        if (row >= n || y >= f.d)
            continue;
        int token = row / f.group, head = g * f.group + row % f.group;
        *(chunk *)(f.o + (seq.first + token) * f.ldo + (int64_t)head * f.d +
                   y) = *(const chunk *)(q + i / (D / 8) * P + y);
    }
}

template <int MT, int D, int STAGES>
static constexpr size_t TILE_SHARED =
    sizeof(uint16_t) * PITCH<D> *(16 * MT * WARPS + STAGES * 2 * BLOCK);

/* Registers and shared memory for wide heads are for half as much. */
template <int D> static constexpr int TILE_MT = D <= 128 ? 2 : 1;
template <int D> static constexpr int TILE_STAGES = D <= 128 ? 2 : 1;

/* The operands of a block, in shared memory: registers are for sums. */
template <typename K> struct work {
    K source;
    sequence seq;
    int g, first, n; /* rows first.. of the sequence's n */
    int from, end;   /* the keys that are seen */
    places at[WARPS];
};

template <int MT, bool PAGED, typename K>
static __device__ __forceinline__ void
begin_work(work<K> &w, const forward &f, int item)
{
    tile at = f.tiles[item / f.kv_heads];
    w.g = item % f.kv_heads;
    w.seq = sequence_at(f, at.sequence);
    w.source = keys_of<PAGED>(f, at.sequence, w.g);
    w.first = at.first;
    w.n = w.seq.n * f.group;
    for (int i = 0; i < WARPS; i++)
        w.at[i] = places_of<MT>(f, w.seq, at.first + i * 16 * MT, w.n);
    places all = places_of<MT * WARPS>(f, w.seq, at.first, w.n);
    w.from = seen_from(f, all.low);
    w.end = all.to + 1;
}

/* The keys of the block at `base`. */
template <int D, typename K>
static __device__ __forceinline__ void
copy_block(uint16_t *to, const work<K> &w, int base, int d)
{
    copy_keys<BLOCK, D>(to, to + BLOCK * PITCH<D>, w.source, base, w.from,
                        w.end, d, (int)threadIdx.x, WARPS * WARP);
}

/* Blocks of 64 keys come while those before are computed with, if there is
 * room for two. */
template <int MT, int D, int STAGES, bool PAGED>
static __global__ void
__launch_bounds__(WARPS *WARP) tile_kernel(forward f)
{
    constexpr int P = PITCH<D>, ROWS = 16 * MT * WARPS, STAGE = 2 * BLOCK * P;
    RLF_DYNAMIC_SHARED(chunk, shared);
    __shared__ work<decltype(keys_of<PAGED>(f, 0, 0))> w;
    uint16_t *q = (uint16_t *)shared, *keys = q + ROWS * P;
    int warp = (int)threadIdx.x / WARP;
    uint16_t *mine = q + warp * 16 * MT * P;
    for (int item = (int)blockIdx.x; item < f.n_tiles * f.kv_heads;
         item += (int)gridDim.x) {
        __syncthreads(); /* the tile before is through with shared memory */
        if (threadIdx.x == 0)
            begin_work<MT, PAGED>(w, f, item);
        __syncthreads();
        copy_queries<ROWS, D>(
            q,
            {f.q + w.seq.first * f.ldq + (int64_t)w.g * f.group * f.d, f.ldq},
            w.first, w.n, f.group, f.d, (int)threadIdx.x, WARPS * WARP);
        int base = w.from / BLOCK * BLOCK, stage = 0;
        if (STAGES == 2)
            copy_block<D>(keys, w, base, f.d);
        copy_async_commit();
        sums<MT, D> t;
        begin(t);
        bool several = false;
        for (; base < w.end; base += BLOCK) {
            if (STAGES == 2) {
                copy_async_wait<0>();
                __syncthreads();
                if (base + BLOCK < w.end)
                    copy_block<D>(keys + (stage ^ 1) * STAGE, w, base + BLOCK,
                                  f.d);
                copy_async_commit();
            } else {
                __syncthreads();
                copy_block<D>(keys, w, base, f.d);
                copy_async_commit();
                copy_async_wait<0>();
                __syncthreads();
            }
            const uint16_t *k = keys + stage * STAGE;
            stage = STAGES == 2 ? stage ^ 1 : 0;
            if (some_see(f, w.at[warp], base))
                attend<MT, D, 2>(t, f, mine, k, k + BLOCK * P, w.at[warp],
                                 base);
            if ((base + BLOCK) % SPLIT == 0 && base + BLOCK < w.end) {
                end_split(t);
                add_split<MT, D>(t, f, several, true);
                several = true;
                begin(t);
            }
        }
        end_split(t);
        add_split<MT, D>(t, f, several, false);
        write_rows(t, f, w.seq, w.g, mine, w.at[warp].first, w.n);
    }
}

/* ---- splits ------------------------------------------------------------ */

namespace
{

/* Sums over splits, of rows (token, head) from the first sequence's on. */
struct partials {
    int first, n_seqs; /* sequences of this round */
    int row_tiles, most_rows;
    int n_splits;
    float *acc;       /* [rows, n_splits, d] */
    float *ml;        /* [rows, n_splits, 2] */
    int32_t *written; /* [n_seqs, row_tiles, kv_heads] splits so far; 0 before
                         and after */
};

} // namespace

/* The row of the token at `position` sees keys of one split only. */
static __device__ __forceinline__ bool
one_split(const forward &f, int position)
{
    return seen_from(f, position) / SPLIT == position / SPLIT;
}

/* Of a row, the first split. */
static __device__ __forceinline__ int64_t
part_of(const forward &f, const partials &p, int64_t place, int head)
{
    return ((place - f.offsets[p.first]) * f.heads + head) * p.n_splits;
}

template <int D>
static __device__ __forceinline__ void
write_split(const sums<1, D> &t, const forward &f, const partials &p,
            const sequence &seq, int g, int first, int n, int split)
{
    int lane = lane_of(), x = lane % 4 * 2;
    RLF_UNROLL
    for (int h = 0; h < 2; h++) {
        int row = first + h * 8 + lane / 4;
        int head = g * f.group + row % f.group, token = row / f.group;
        int position = seq.start + token;
        int64_t place = seq.first + token;
        float l = t.l[0][h];
        if (row >= n || position < split * SPLIT ||
            seen_from(f, position) >= (split + 1) * SPLIT)
            continue;
        if (one_split(f, position)) {
            uint16_t *o = f.o + place * f.ldo + (int64_t)head * f.d;
            RLF_UNROLL
            for (int n8 = 0; n8 < D / 8; n8++) {
                const float *two = &t.acc[0][n8][2 * h];
                uint32_t pair = bf16_pair(finish(two[0], l), finish(two[1], l));
                if (n8 * 8 < f.d)
                    *(uint32_t *)(o + n8 * 8 + x) = pair;
            }
            continue;
        }
        int64_t i = part_of(f, p, place, head) + split;
        if (x == 0) {
            p.ml[2 * i] = t.m[0][h];
            p.ml[2 * i + 1] = l;
        }
        RLF_UNROLL
        for (int n8 = 0; n8 < D / 8; n8++)
            if (n8 * 8 < f.d)
                for (int e = 0; e < 2; e++)
                    p.acc[i * f.d + n8 * 8 + x + e] = t.acc[0][n8][2 * h + e];
    }
}

/* By a warp that has written a split of so many: is it the last of them? */
static __device__ __forceinline__ bool
is_last(int32_t *written, int splits)
{
    int32_t before = 0;
    __threadfence();
    __syncwarp();
    if (lane_of() == 0) {
        before = atomicAdd(written, 1);
        if (before == splits - 1)
            *written = 0;
    }
    before = __shfl_sync(ALL_LANES, before, 0);
    __threadfence();
    return before == splits - 1;
}

/* The sums over splits of rows first.. of the n of a sequence, in order, by a
 * warp: four elements a lane, some splits on their way at a time. */
static __device__ void
join_rows(const forward &f, const partials &p, const sequence &seq, int g,
          int first, int n)
{
    int count = n - first < SPLIT_ROWS ? n - first : SPLIT_ROWS;
    int fours = f.d / 4;
    for (int i = lane_of(); i < count * fours; i += WARP) {
        int row = first + i / fours, at = i % fours * 4;
        int position = seq.start + row / f.group;
        int64_t place = seq.first + row / f.group;
        int head = g * f.group + row % f.group, to = position / SPLIT;
        int64_t part = part_of(f, p, place, head);
        float x[4] = {0}, m = -INFINITY, l = 0;
        if (one_split(f, position))
            continue;
        RLF_UNROLL_BY(4)
        for (int s = seen_from(f, position) / SPLIT; s <= to; s++) {
            several<float, 2> ml = take<2>(p.ml + 2 * (part + s));
            several<float, 4> acc = take<4>(p.acc + (part + s) * f.d + at);
            joint j = join(m, l, ml.x[0], ml.x[1], f.c);
            m = j.m;
            l = j.l;
            RLF_UNROLL
            for (int e = 0; e < 4; e++)
                x[e] = fmaf(acc.x[e], j.b, x[e] * j.a);
        }
        uint16_t *o = f.o + place * f.ldo + (int64_t)head * f.d + at;
        give<2>(
            (uint32_t *)o,
            several<uint32_t, 2>{bf16_pair(finish(x[0], l), finish(x[1], l)),
                                 bf16_pair(finish(x[2], l), finish(x[3], l))});
    }
}

template <int D>
static constexpr size_t
    SPLIT_SHARED = sizeof(uint16_t) * PITCH<D> *(SPLIT_ROWS + 2 * 2 * BLOCK);

namespace
{

static_assert(SPLIT == 16 * WARP, "a lane for sixteen positions");

/* The places of a split's keys, sixteen positions a lane: looked up once. */
struct held_keys {
    const uint16_t *mine, *any;
    int64_t to_values;
    int d;

    __device__ bool together(int) const
    {
        return true;
    }

    __device__ rows keys(int at) const
    {
        return {(const uint16_t *)(uintptr_t)__shfl_sync(
                    ALL_LANES, (unsigned long long)(uintptr_t)mine,
                    at % SPLIT / 16),
                d};
    }

    __device__ rows values(int at) const
    {
        return {keys(at).at + to_values, d};
    }

    __device__ rows none(void) const
    {
        return {any, 0};
    }
};

} // namespace

static __device__ __forceinline__ held_keys
hold_keys(const paged_keys &source, int split, int from, int end)
{
    int at = split * SPLIT + lane_of() * 16;
    bool seen = at < end && at + 16 > from;
    return {seen ? source.keys(at).at : source.kv, source.kv,
            (int64_t)source.page_size * source.d, source.d};
}

/* A warp a block: sixteen rows of a sequence over one split of its keys. Who
 * writes the last of them joins them. */
template <int D, int HALVES>
static __global__ void
__launch_bounds__(WARP) split_kernel(forward f, partials p)
{
    constexpr int P = PITCH<D>;
    RLF_DYNAMIC_SHARED(chunk, shared);
    uint16_t *q = (uint16_t *)shared, *keys = q + SPLIT_ROWS * P;
    int thread = (int)threadIdx.x;
    int64_t per_split = (int64_t)p.n_seqs * p.row_tiles * f.kv_heads;
    for (int64_t item = blockIdx.x; item < per_split * p.n_splits;
         item += gridDim.x) {
        int g = (int)(item % f.kv_heads), split = (int)(item / per_split);
        int first = (int)(item / f.kv_heads % p.row_tiles) * SPLIT_ROWS;
        int s = p.first + (int)(item / f.kv_heads / p.row_tiles % p.n_seqs);
        sequence seq = sequence_at(f, s);
        int n = seq.n * f.group;
        if (first >= n || n > p.most_rows)
            continue;
        places rows_at = places_of<1>(f, seq, first, n);
        int from = seen_from(f, rows_at.low), end = rows_at.to + 1;
        from = from > split * SPLIT ? from : split * SPLIT;
        end = end < (split + 1) * SPLIT ? end : (split + 1) * SPLIT;
        if (from >= end)
            continue;
        held_keys source = hold_keys(keys_of<true>(f, s, g), split, from, end);
        sums<1, D> t;
        begin(t);
        __syncwarp(); /* all are through with the item before */
        rows queries = {f.q + seq.first * f.ldq + (int64_t)g * f.group * f.d,
                        f.ldq};
        copy_queries<SPLIT_ROWS, D>(q, queries, first, n, f.group, f.d, thread,
                                    WARP);
        int base = from / BLOCK * BLOCK, stage = 0;
        copy_keys<BLOCK, D>(keys, keys + BLOCK * P, source, base, from, end,
                            f.d, thread, WARP);
        copy_async_commit();
        for (; base < end; base += BLOCK) {
            uint16_t *k = keys + stage * 2 * BLOCK * P;
            copy_async_wait<0>();
            __syncwarp();
            stage ^= 1;
            uint16_t *next = keys + stage * 2 * BLOCK * P;
            if (base + BLOCK < end)
                copy_keys<BLOCK, D>(next, next + BLOCK * P, source,
                                    base + BLOCK, from, end, f.d, thread, WARP);
            copy_async_commit();
            attend<1, D, HALVES>(t, f, q, k, k + BLOCK * P, rows_at, base);
        }
        end_split(t);
        write_split(t, f, p, seq, g, first, n, split);
        int splits = rows_at.to / SPLIT - seen_from(f, rows_at.low) / SPLIT + 1;
        if (splits > 1 && is_last(p.written + item % per_split, splits))
            join_rows(f, p, seq, g, first, n);
    }
}

/* ---- launches ---------------------------------------------------------- */

/* Blocks of tiles at once: two fit on a multiprocessor. */
static int64_t
tile_blocks(rlf_queue *queue)
{
    return 2 * (int64_t)CUDA(multiprocessors)(queue);
}

template <int D, bool PAGED, int STAGES = TILE_STAGES<D>>
static rlf_status
launch_tiles(rlf_queue *queue, const forward &f, rlf_err *err)
{
    constexpr int MT = TILE_MT<D>;
    constexpr size_t bytes = TILE_SHARED<MT, D, STAGES>;
    auto *kernel = tile_kernel<MT, D, STAGES, PAGED>;
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)kernel, bytes, err));
    int64_t items = f.n_tiles * f.kv_heads, most = tile_blocks(queue);
    dim3 grid((unsigned)(items < most ? items : most));
    RLF_LAUNCH(kernel, grid, WARPS * WARP, bytes, queue, f);
    return RLF_OK;
}

template <int D>
static rlf_status
launch_splits(rlf_queue *queue, const forward &f, const partials &p,
              rlf_err *err)
{
    constexpr size_t bytes = SPLIT_SHARED<D>;
    auto *kernel = p.most_rows <= 8 ? split_kernel<D, 1> : split_kernel<D, 2>;
    RLF_TRY(CUDA(allow_shared)(queue, (const void *)kernel, bytes, err));
    int64_t items = (int64_t)p.n_seqs * p.row_tiles * f.kv_heads * p.n_splits;
    int64_t most = CUDA(multiprocessors)(queue) * (SHARED_OF_ONE / bytes);
    dim3 grid((unsigned)(items < most ? items : most));
    RLF_LAUNCH(kernel, grid, WARP, bytes, queue, f, p);
    return RLF_OK;
}

/* For heads up to 64, 96, 128, 256 elements. */
typedef struct width {
    int tile_rows;
    size_t total_bytes;
    rlf_status (*tiles)(rlf_queue *queue, const forward &f, rlf_err *err);
    rlf_status (*paged_tiles)(rlf_queue *queue, const forward &f, rlf_err *err);
    rlf_status (*splits)(rlf_queue *queue, const forward &f, const partials &p,
                         rlf_err *err);
} width;

template <int D, int STAGES = TILE_STAGES<D>>
static constexpr width WIDTH = {
    16 * TILE_MT<D> *WARPS, TOTAL_BYTES<TILE_MT<D>, D>,
    launch_tiles<D, false, STAGES>, launch_tiles<D, true, STAGES>,
    launch_splits<D>};

/* Of GPUs with room for them, and of small ones; how much of a tile is there at
 * a time changes no bit. */
static const width widths[2][4] = {
    {WIDTH<64>, WIDTH<96>, WIDTH<128>, WIDTH<256>},
    {WIDTH<64>, WIDTH<96>, WIDTH<128, 1>, {}}};

/* Sequences on the host, as they are cut into tiles. */
typedef struct batch {
    const int32_t *offsets, *starts; /* starts NULL: 0 */
    int64_t n_seqs;
} batch;

static int64_t
tiles_of(const batch *b, const forward *f, int rows_each, int64_t more_than,
         tile *out, int *most_end)
{
    int64_t n_tiles = 0;
    for (int64_t s = 0; s < b->n_seqs; s++) {
        int64_t n = (int64_t)(b->offsets[s + 1] - b->offsets[s]) * f->group;
        if (n <= more_than)
            continue;
        int64_t start = b->starts ? b->starts[s] : 0;
        for (int64_t first = 0; first < n; first += rows_each, n_tiles++) {
            int64_t last = first + rows_each < n ? first + rows_each : n;
            int64_t end = start + (last - 1) / f->group + 1;
            int64_t from = start + first / f->group + 1 - f->window;
            from = f->window && from > 0 ? from : 0;
            *most_end = *most_end > (int)end ? *most_end : (int)end;
            if (out)
                out[n_tiles] = {(int32_t)s, (int32_t)first, end - from};
        }
    }
    return n_tiles;
}

/* All sequences with more than `more_than` rows, in tiles. */
static rlf_status
by_tiles(rlf_queue *queue, forward f, const batch *b, int64_t more_than,
         rlf_err *err)
{
    const width *w = &widths[is_small(queue)][width_class(f.d)];
    int most_end = 0;
    f.n_tiles = (int)tiles_of(b, &f, w->tile_rows, more_than, NULL, &most_end);
    if (f.n_tiles == 0)
        return RLF_OK;
    if (most_end > SPLIT)
        RLF_TRY(CUDA(scratch)(queue,
                              w->total_bytes * (size_t)tile_blocks(queue),
                              (void **)&f.totals, err));
    tile *list = (tile *)rlf_malloc((size_t)f.n_tiles * sizeof *list);
    tiles_of(b, &f, w->tile_rows, more_than, list, &most_end);
    qsort(list, (size_t)f.n_tiles, sizeof *list, by_cost);
    rlf_status status =
        CUDA(stage)(queue, list, (size_t)f.n_tiles * sizeof *list,
                    (const void **)&f.tiles, err);
    if (status >= 0)
        status = (f.pages ? w->paged_tiles : w->tiles)(queue, f, err);
    free(list);
    return status;
}

/* Finds what the sequences with at most `most_rows` rows need: their new tokens
 * at most, and the splits of their keys. */
static void
few_rows(const batch *b, const forward *f, int64_t most_rows, int64_t *tokens,
         int64_t *splits)
{
    *tokens = *splits = 0;
    for (int64_t s = 0; s < b->n_seqs; s++) {
        int64_t n = b->offsets[s + 1] - b->offsets[s];
        if (n == 0 || n * f->group > most_rows)
            continue;
        int64_t k = (b->starts[s] + n + SPLIT - 1) / SPLIT;
        *tokens = *tokens > n ? *tokens : n;
        *splits = *splits > k ? *splits : k;
    }
}

/* Sequences with at most `most_rows` rows, split by split; as many at once as
 * their partial sums fit into scratch. false: not even those of one do. */
static rlf_status
by_splits(rlf_queue *queue, const forward &f, const batch *b, int64_t most_rows,
          bool *done, rlf_err *err)
{
    int64_t tokens, splits;
    few_rows(b, &f, most_rows, &tokens, &splits);
    partials p = {.most_rows = (int)(tokens * f.group),
                  .n_splits = (int)splits};
    *done = true;
    if (tokens == 0)
        return RLF_OK;
    p.row_tiles = (int)((tokens * f.group + SPLIT_ROWS - 1) / SPLIT_ROWS);
    int64_t sums = tokens * f.heads * splits, round = b->n_seqs;
    size_t each = (size_t)sums * (size_t)(f.d + 2) * sizeof(float);
    if (splits > 1) {
        int64_t fit = (int64_t)(MOST_PARTIALS / each);
        int64_t counted = RLF_CUDA_COUNTERS / (p.row_tiles * f.kv_heads);
        fit = fit < counted ? fit : counted;
        p.written = CUDA(counters)(queue);
        if (fit == 0) {
            *done = false;
            return RLF_OK;
        }
        round = round < fit ? round : fit;
        RLF_TRY(
            CUDA(scratch)(queue, each * (size_t)round, (void **)&p.acc, err));
        p.ml = p.acc + round * sums * f.d;
    }
    for (; p.first < b->n_seqs; p.first += (int)round) {
        int64_t left = b->n_seqs - p.first;
        p.n_seqs = (int)(left < round ? left : round);
        RLF_TRY(
            widths[is_small(queue)][width_class(f.d)].splits(queue, f, p, err));
    }
    return RLF_OK;
}

/* ---- the operations ---------------------------------------------------- */

static bool
all_in_chunks(const forward &f)
{
    return in_chunks(f.q, f.ldq) && in_chunks(f.o, f.ldo) &&
           in_chunks(f.k, f.ldk) && in_chunks(f.v, f.ldv) &&
           in_chunks(f.kv, f.page_stride);
}

rlf_status
CUDA(mma_attention)(rlf_queue *queue, const rlf_attention_args *args,
                    rlf_err *err)
{
    const rlf_attention_args &a = *args;
    RLF_TRY(check_heads(a.heads, a.kv_heads, a.d, a.window, "attention", err));
    RLF_TRY(check_room(queue, a.d, "attention", err));
    forward f = {.heads = (int)a.heads,
                 .kv_heads = (int)a.kv_heads,
                 .group = (int)(a.heads / a.kv_heads),
                 .d = (int)a.d,
                 .window = within_int(a.window),
                 .scale = a.scale,
                 .c = a.scale * LOG2_E,
                 .cap_in = a.cap != 0 ? a.scale / a.cap : 0,
                 .cap_out = a.cap / a.scale,
                 .q = (const uint16_t *)a.q,
                 .o = (uint16_t *)a.o,
                 .ldq = or_dense(a.ldq, a.heads * a.d),
                 .ldo = or_dense(a.ldo, a.heads * a.d),
                 .lse = a.lse,
                 .k = (const uint16_t *)a.k,
                 .v = (const uint16_t *)a.v,
                 .ldk = or_dense(a.ldk, a.kv_heads * a.d),
                 .ldv = or_dense(a.ldv, a.kv_heads * a.d)};
    NEED(a.n_seqs == 0 || all_in_chunks(f), "attention");
    if (a.n_seqs == 0)
        return RLF_OK;
    NEED(rlf_prefixes_valid(&a.prefixes, a.offsets, a.n_seqs), "attention");
    f.offsets = a.offsets;
    rlf_prefixes shared = a.prefixes;
    RLF_TRY(stage_offsets(queue, &f.offsets, a.n_seqs + 1, err));
    RLF_TRY(stage_prefixes(queue, &shared, a.n_seqs, err));
    f.starts = shared.starts;
    f.parents = shared.parents;
    batch b = {a.offsets, a.prefixes.starts, a.n_seqs};
    RLF_TRY(by_tiles(queue, f, &b, 0, err));
    return CUDA(launched)("attention", err);
}

rlf_status
CUDA(mma_attention_paged)(rlf_queue *queue,
                          const rlf_attention_paged_args *args, rlf_err *err)
{
    const rlf_attention_paged_args &a = *args;
    RLF_TRY(check_heads(a.heads, a.kv_heads, a.d, a.window, "attention_paged",
                        err));
    RLF_TRY(check_room(queue, a.d, "attention_paged", err));
    NEED(a.page_size > 0 && a.page_size % 16 == 0, "attention_paged");
    forward f = {.offsets = a.offsets,
                 .starts = a.starts,
                 .heads = (int)a.heads,
                 .kv_heads = (int)a.kv_heads,
                 .group = (int)(a.heads / a.kv_heads),
                 .d = (int)a.d,
                 .window = within_int(a.window),
                 .scale = a.scale,
                 .c = a.scale * LOG2_E,
                 .cap_in = a.cap != 0 ? a.scale / a.cap : 0,
                 .cap_out = a.cap / a.scale,
                 .q = (const uint16_t *)a.q,
                 .o = (uint16_t *)a.o,
                 .ldq = or_dense(a.ldq, a.heads * a.d),
                 .ldo = or_dense(a.ldo, a.heads * a.d),
                 .kv = (const uint16_t *)a.kv,
                 .pages = a.pages,
                 .ld_pages = a.ld_pages,
                 .page_stride =
                     or_dense(a.page_stride,
                              rlf_kv_page_floats(a.page_size, a.kv_heads, a.d)),
                 .page_size = (int)a.page_size};
    NEED(a.n_seqs == 0 || all_in_chunks(f), "attention_paged");
    if (a.n_seqs == 0)
        return RLF_OK;
    RLF_TRY(
        place_offsets(queue, &f.offsets, a.device_offsets, a.n_seqs + 1, err));
    RLF_TRY(place_offsets(queue, &f.starts, a.device_starts, a.n_seqs, err));
    batch b = {a.offsets, a.starts, a.n_seqs};
    bool done;
    RLF_TRY(by_splits(queue, f, &b, FEW_ROWS, &done, err));
    RLF_TRY(by_tiles(queue, f, &b, done ? FEW_ROWS : 0, err));
    return CUDA(launched)("attention_paged", err);
}
