/* Sums down the columns of many rows, in the order of the rows: gradients of
 * biases and of norms' weights.
 *
 * A column's sum is a chain of one addition a row, so what counts is that the
 * rows are there in time: a block has COLUMNS columns and copies tiles of rows
 * to shared memory, several ahead of the one that its first warp adds up.
 *
 * Rows may have several groups of d columns that are added to the same sums,
 * one after the other. */
#ifndef RLF_KERNELS_CUDA_COLUMNS_H
#define RLF_KERNELS_CUDA_COLUMNS_H

#include "kernels/cuda/mma.h"

/* sum[j] += a[k][j], or fma(a[k][j], (b[k][j] - center[k]) * scale[k], sum),
 * over k in order: row k / each of a and b, group k % each of those from
 * `group` on. */
typedef struct columns {
    int64_t m, d, each;
    const rlf_real *a, *b; /* b NULL: none */
    int64_t lda, ldb;
    const float *center; /* centers by row and group, `groups` a row; NULL: 0 */
    const float *scale;  /* scales by row and group, as `center` */
    int64_t groups;
    float *sum; /* [groups / each, d] */
} columns;

static constexpr int COLUMNS = 32, AHEAD = 4;
/* Rows of a tile: 4 KB of each matrix. */
static constexpr int TILE_ROWS = (int)(128 / sizeof(rlf_real));

typedef struct column_tile {
    alignas(16) rlf_real a[TILE_ROWS][COLUMNS];
    alignas(16) rlf_real b[TILE_ROWS][COLUMNS];
    float center[TILE_ROWS], scale[TILE_ROWS];
} column_tile;

/* Rows from `first` on of the columns from `col` on of a shard, as far as there
 * are any; a group of copies of its own even if there are none. */
static __device__ __forceinline__ void
fetch_columns(const columns &c, column_tile *to, int64_t first, int64_t shard,
              int64_t col)
{
    constexpr int A_ROW = COLUMNS / WIDE;
    int64_t terms = c.m * c.each;
    for (int i = threadIdx.x; i < TILE_ROWS * A_ROW; i += THREADS) {
        int row = i / A_ROW, at = i % A_ROW * WIDE;
        int64_t k = first + row;
        bool valid = k < terms && col + at < c.d;
        spot p = spot_of(valid ? k : 0, c.each);
        int64_t j = (shard * c.each + p.at) * c.d + (valid ? col + at : 0);
        copy_async16(&to->a[row][at], c.a + p.row * c.lda + j, valid);
        if (c.b)
            copy_async16(&to->b[row][at], c.b + p.row * c.ldb + j, valid);
        int64_t of = p.row * c.groups + shard * c.each + p.at;
        if (c.b && at == 0)
            copy_async4(&to->scale[row], c.scale + of, valid);
        if (c.center && at == 0)
            copy_async4(&to->center[row], c.center + of, valid);
    }
    copy_async_commit();
}

static __global__ void
__launch_bounds__(THREADS) columns_kernel(columns c)
{
    __shared__ column_tile tiles[AHEAD];
    int64_t blocks = (c.d + COLUMNS - 1) / COLUMNS, terms = c.m * c.each;
    int64_t shard = blockIdx.x / blocks;
    int64_t col = blockIdx.x % blocks * COLUMNS;
    int64_t n_tiles = (terms + TILE_ROWS - 1) / TILE_ROWS;
    int64_t j = col + threadIdx.x;
    bool adds = threadIdx.x < COLUMNS && j < c.d;
    float sum = adds ? c.sum[shard * c.d + j] : 0;
    for (int i = 0; i < AHEAD - 1; i++)
        fetch_columns(c, &tiles[i], (int64_t)i * TILE_ROWS, shard, col);
    for (int64_t t = 0; t < n_tiles; t++) {
        copy_async_wait<AHEAD - 2>();
        __syncthreads(); /* it is there, and the one before done with */
        fetch_columns(c, &tiles[(t + AHEAD - 1) % AHEAD],
                      (t + AHEAD - 1) * TILE_ROWS, shard, col);
        const column_tile *from = &tiles[t % AHEAD];
        int64_t first = t * TILE_ROWS;
        int n = (int)(terms - first < TILE_ROWS ? terms - first : TILE_ROWS);
        if (!adds)
            continue;
        if (c.center) {
            RLF_UNROLL_BY(8)
            for (int r = 0; r < n; r++) {
                float b = widen(from->b[r][threadIdx.x]) - from->center[r];
                sum = fmaf(widen(from->a[r][threadIdx.x]), b * from->scale[r],
                           sum);
            }
        } else if (c.b) {
            RLF_UNROLL_BY(8)
            for (int r = 0; r < n; r++)
                sum =
                    fmaf(widen(from->a[r][threadIdx.x]),
                         widen(from->b[r][threadIdx.x]) * from->scale[r], sum);
        } else {
            RLF_UNROLL_BY(8)
            for (int r = 0; r < n; r++)
                sum += widen(from->a[r][threadIdx.x]);
        }
    }
    copy_async_wait<0>();
    if (adds)
        c.sum[shard * c.d + j] = sum;
}

/* The same a thread a column, where rows cannot be copied 16 bytes at a time.
 */
static __global__ void
narrow_columns_kernel(columns c)
{
    EACH(i, c.groups / c.each * c.d)
    {
        int64_t shard = i / c.d, j = i % c.d;
        float sum = c.sum[i];
        for (int64_t k = 0; k < c.m * c.each; k++) {
            int64_t row = k / c.each, g = shard * c.each + k % c.each;
            float a = widen(c.a[row * c.lda + g * c.d + j]);
            float b = c.b ? widen(c.b[row * c.ldb + g * c.d + j]) : 0;
            b = c.center ? b - c.center[row * c.groups + g] : b;
            sum = c.b ? fmaf(a, b * c.scale[row * c.groups + g], sum) : sum + a;
        }
        c.sum[i] = sum;
    }
}

static inline void
launch_columns(rlf_queue *queue, const columns &c)
{
    int64_t shards = c.groups / c.each;
    bool wide =
        c.d % WIDE == 0 && is_wide(c.a, c.lda) && (!c.b || is_wide(c.b, c.ldb));
    if (wide)
        RLF_LAUNCH(columns_kernel,
                   dim3((unsigned)(shards * ((c.d + COLUMNS - 1) / COLUMNS))),
                   THREADS, 0, queue, c);
    else
        RLF_LAUNCH(narrow_columns_kernel, blocks_for(shards * c.d, WARP), WARP,
                   0, queue, c);
}

#endif
