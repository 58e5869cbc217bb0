/* Products of bf16 by tiles: what product_mma.cu and product_wgmma.cu share. A
 * block makes a tile of c; its warps bring tiles of a and b to shared memory,
 * some stages ahead, and multiply them. See product_mma.cu for the bits. */
#ifndef RLF_KERNELS_CUDA_PRODUCT_TILE_H
#define RLF_KERNELS_CUDA_PRODUCT_TILE_H

#include "kernels/cuda/mma.h"

static constexpr int DEPTH = 64; /* of a tile along k */
static constexpr int LOAD = 8;   /* numbers of a copy of 16 bytes */

typedef enum result {
    RESULT_REAL, /* bf16: start + sum */
    RESULT_F32,  /* the same in f32 */
} result;

/* c[m, n] = start + a b^T. a is [m][k], or [k][m] if its template says so, b
 * likewise [n][k] or [k][n]. */
typedef struct matmul {
    int64_t m, n, k;
    const uint16_t *a, *b;
    int64_t lda, ldb;
    bool a_whole, b_whole; /* loads of 16 bytes are aligned, and within */
    const float *bias;     /* [n] or NULL */
    void *c;
    int64_t ldc;
    result out;
    bool add;           /* start is c, else 0 */
    int parts;          /* of k */
    int64_t part_tiles; /* of DEPTH, each but the last */
    float *partial;     /* [blocks][parts][tile] where blocks share the parts,
                           else NULL */
    int32_t *finished;  /* [blocks] parts so far; 0 before and after */
} matmul;

/* ---- tiles in shared memory -------------------------------------------- *
 *
 * Rows of 16-byte pieces; piece p of row r is kept at p ^ (r % 8), so that the
 * eight rows that a matrix of ldmatrix takes lie in different banks. */

template <int WIDTH> /* numbers a row */
static __device__ __forceinline__ char *
piece(char *tile, int row, int p)
{
    return tile + (row * (WIDTH / LOAD) + (p ^ (row % 8))) * 16;
}

/* 8 numbers at x[row][col], zeros beyond rows and cols. */
static __device__ __forceinline__ void
load_piece(char *to, const uint16_t *x, int64_t ld, bool whole, int64_t row,
           int64_t rows, int64_t col, int64_t cols)
{
    const uint16_t *from = x + row * ld + col;
    if (whole) {
        bool valid = row < rows && col < cols;
        copy_async16(to, valid ? from : x, valid);
        return;
    }
    uint16_t some[LOAD];
    for (int i = 0; i < LOAD; i++)
        some[i] = row < rows && col + i < cols ? from[i] : (uint16_t)0;
    memcpy(to, some, sizeof some);
}

/* A tile of ROWS x WIDTH at x[row][col], by THREADS threads. */
template <int ROWS, int WIDTH, int BLOCK>
static __device__ __forceinline__ void
load_tile(char *tile, const uint16_t *x, int64_t ld, bool whole, int64_t row,
          int64_t rows, int64_t col, int64_t cols)
{
    constexpr int EACH_ROW = WIDTH / LOAD, PIECES = ROWS * EACH_ROW;
    static_assert(PIECES % BLOCK == 0 || PIECES < BLOCK, "pieces of a tile");
    RLF_UNROLL
    for (int i = (int)threadIdx.x; i < PIECES; i += BLOCK) {
        int r = i / EACH_ROW, p = i % EACH_ROW;
        load_piece(piece<WIDTH>(tile, r, p), x, ld, whole, row + r, rows,
                   col + p * LOAD, cols);
    }
}

/* ---- a block ----------------------------------------------------------- */

/* A tile of BM x BN of c by WARPS_M x WARPS_N warps. A_TURNED: a is [k][m];
 * B_TURNED: b is [k][n]. Who multiplies (product_mma.cu, product_wgmma.cu) adds
 * `multiply`, which may be under way in LAG stages when it returns, `settle`,
 * after which it is not, and `see`, that a thread calls for what it has put
 * into shared memory. */
template <int BM_, int BN_, int WARPS_M_, int WARPS_N_, int STAGES_, bool A_,
          bool B_>
struct shape {
    static constexpr int BM = BM_, BN = BN_, STAGES = STAGES_;
    static constexpr int WARPS_M = WARPS_M_, WARPS_N = WARPS_N_;
    static constexpr bool A_TURNED = A_, B_TURNED = B_;
    static constexpr int BLOCK = WARPS_M * WARPS_N * WARP;
    static constexpr int WM = BM / WARPS_M, WN = BN / WARPS_N; /* of a warp */
    static constexpr int MT = WM / 16, NT = WN / 8;
    static constexpr int A_BYTES = BM * DEPTH * 2, B_BYTES = BN * DEPTH * 2;
    static constexpr int ALIGN = 1024;
    static constexpr int SHARED = STAGES * (A_BYTES + B_BYTES) + ALIGN;
    static_assert(MT > 0 && NT % 2 == 0, "tiles of a warp");
    static_assert(!A_TURNED || BM >= 64, "pieces of a turned tile");
    static_assert(!B_TURNED || BN >= 64, "pieces of a turned tile");
};

template <class S>
static __device__ __forceinline__ void
load_stage(const matmul &p, char *stage, int64_t row, int64_t col, int64_t k)
{
    char *a = stage, *b = stage + S::A_BYTES;
    if (S::A_TURNED)
        load_tile<DEPTH, S::BM, S::BLOCK>(a, p.a, p.lda, p.a_whole, k, p.k, row,
                                          p.m);
    else
        load_tile<S::BM, DEPTH, S::BLOCK>(a, p.a, p.lda, p.a_whole, row, p.m, k,
                                          p.k);
    if (S::B_TURNED)
        load_tile<DEPTH, S::BN, S::BLOCK>(b, p.b, p.ldb, p.b_whole, k, p.k, col,
                                          p.n);
    else
        load_tile<S::BN, DEPTH, S::BLOCK>(b, p.b, p.ldb, p.b_whole, col, p.n, k,
                                          p.k);
}

template <class S> using sums = float[S::MT][S::NT][4];

template <class S>
static __device__ __forceinline__ void
clear(sums<S> &sum)
{
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int j = 0; j < S::NT; j++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        sum[i][j][e] = 0;
}

template <class S>
static __device__ __forceinline__ void
add_part(sums<S> &total, const sums<S> &part)
{
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int j = 0; j < S::NT; j++)
        RLF_UNROLL
    for (int e = 0; e < 4; e++)
        total[i][j][e] = total[i][j][e] + part[i][j][e];
}

/* total += the parts first..last-1 of k. */
template <class S>
static __device__ __forceinline__ void
sum_parts(const matmul &p, char *shared, int64_t row, int64_t col, int first,
          int last, int warp_row, int warp_col, sums<S> &total)
{
    constexpr int STAGE = S::A_BYTES + S::B_BYTES;
    int64_t tiles = (p.k + DEPTH - 1) / DEPTH;
    int64_t begin = first * p.part_tiles, end = last * p.part_tiles;
    end = end < tiles ? end : tiles;
    constexpr int AHEAD = S::STAGES - 1 - S::LAG;
    static_assert(AHEAD > 0, "stages");
    for (int i = 0; i < AHEAD; i++) {
        if (begin + i < end)
            load_stage<S>(p, shared + i * STAGE, row, col, (begin + i) * DEPTH);
        copy_async_commit();
    }
    int at = 0;
    int64_t t = begin;
    for (int i = first; i < last; i++) {
        sums<S> part;
        int64_t stop = (i + 1) * p.part_tiles;
        stop = stop < end ? stop : end;
        clear<S>(part);
        for (; t < stop; t++) {
            copy_async_wait<AHEAD - 1>();
            S::see();
            __syncthreads(); /* it is there, the one LAG + 1 before it read */
            int to = (at + AHEAD) % S::STAGES;
            if (t + AHEAD < end)
                load_stage<S>(p, shared + to * STAGE, row, col,
                              (t + AHEAD) * DEPTH);
            copy_async_commit();
            S::multiply(shared + at * STAGE, warp_row, warp_col, part);
            at = at + 1 == S::STAGES ? 0 : at + 1;
        }
        S::settle(part);
        add_part<S>(total, part);
    }
    copy_async_wait<0>();
}

/* ---- results ----------------------------------------------------------- */

static __device__ __forceinline__ void
put(const matmul &p, int64_t row, int64_t col, float x)
{
    if (p.bias)
        x = x + p.bias[col];
    int64_t at = row * p.ldc + col;
    if (p.out == RESULT_REAL) {
        uint16_t *c = (uint16_t *)p.c + at;
        if (p.add)
            x = x + bf16_float(*c);
        *c = (uint16_t)bf16_pair(x, 0);
    } else {
        float *c = (float *)p.c + at;
        *c = p.add ? x + *c : x;
    }
}

/* Two neighbours at once where that is aligned. */
static __device__ __forceinline__ void
put_pair(const matmul &p, int64_t row, int64_t col, float x, float y)
{
    if (row >= p.m || col >= p.n)
        return;
    if (p.out != RESULT_REAL || p.ldc % 2 || (uintptr_t)p.c % 4 ||
        col + 1 == p.n) {
        put(p, row, col, x);
        if (col + 1 < p.n)
            put(p, row, col + 1, y);
        return;
    }
    uint32_t *c = (uint32_t *)((uint16_t *)p.c + row * p.ldc + col);
    if (p.bias) {
        x = x + p.bias[col];
        y = y + p.bias[col + 1];
    }
    if (p.add) {
        uint32_t was = *c;
        x = x + bf16_float((uint16_t)was);
        y = y + bf16_float((uint16_t)(was >> 16));
    }
    *c = bf16_pair(x, y);
}

template <class S>
static __device__ __forceinline__ void
put_tile(const matmul &p, int64_t row, int64_t col, const sums<S> &total)
{
    int lane = threadIdx.x % WARP, g = lane / 4, t = lane % 4;
    RLF_UNROLL
    for (int i = 0; i < S::MT; i++)
        RLF_UNROLL
    for (int j = 0; j < S::NT; j++) {
        const float *x = total[i][j];
        int64_t r = row + i * 16 + g, c = col + j * 8 + 2 * t;
        put_pair(p, r, c, x[0], x[1]);
        put_pair(p, r + 8, c, x[2], x[3]);
    }
}

/* Keep the block's part; if all are there, their sum in order becomes total.
 * A thread adds what the same thread of other blocks has kept. */
template <class S>
static __device__ bool
gather_parts(const matmul &p, int64_t block, int part, sums<S> &total)
{
    constexpr int EACH = S::MT * S::NT * 4, TILE = EACH * S::BLOCK;
    __shared__ int32_t before;
    float *all = p.partial + block * p.parts * TILE;
    float *own = all + (int64_t)part * TILE + threadIdx.x;
    const float *sum = &total[0][0][0];
    for (int e = 0; e < EACH; e++)
        own[e * S::BLOCK] = sum[e];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        before = atomicAdd(&p.finished[block], 1);
    __syncthreads();
    if (before != p.parts - 1)
        return false;
    __threadfence();
    clear<S>(total);
    float *out = &total[0][0][0];
    for (int s = 0; s < p.parts; s++) {
        const float *from = all + (int64_t)s * TILE + threadIdx.x;
        RLF_UNROLL
        for (int e = 0; e < EACH; e++)
            out[e] = out[e] + from[e * S::BLOCK];
    }
    if (threadIdx.x == 0)
        p.finished[block] = 0;
    return true;
}

/* Blocks that run at the same time share rows and columns: bands of BAND tiles
 * of rows are walked through column by column. */
static constexpr int64_t BAND = 8;

template <class S>
static __global__ void
__launch_bounds__(S::BLOCK) matmul_kernel(matmul p)
{
    RLF_DYNAMIC_SHARED(char, memory);
    char *shared = memory + (-(uintptr_t)memory & (S::ALIGN - 1));
    int64_t m_tiles = (p.m + S::BM - 1) / S::BM;
    int64_t n_tiles = (p.n + S::BN - 1) / S::BN;
    int64_t block = blockIdx.x, band = block / (BAND * n_tiles);
    int64_t high = m_tiles - band * BAND;
    high = high < BAND ? high : BAND;
    int64_t within = block - band * BAND * n_tiles;
    int64_t row = (band * BAND + within % high) * S::BM;
    int64_t col = within / high * S::BN;
    int warp = threadIdx.x / WARP;
    int warp_row = warp % S::WARPS_M * S::WM,
        warp_col = warp / S::WARPS_M * S::WN;
    bool shares = p.partial;
    int first = shares ? (int)blockIdx.y : 0;
    int last = shares ? first + 1 : p.parts;
    sums<S> total;
    clear<S>(total);
    sum_parts<S>(p, shared, row, col, first, last, warp_row, warp_col, total);
    if (shares && !gather_parts<S>(p, block, first, total))
        return;
    put_tile<S>(p, row + warp_row, col + warp_col, total);
}

/* ---- launching --------------------------------------------------------- */

/* Have the parts summed side by side if there is room for them. */
template <class S>
static rlf_status
share_parts(rlf_queue *queue, matmul *p, int64_t blocks, rlf_err *err)
{
    size_t bytes = (size_t)(blocks * p->parts * S::BM * S::BN) * sizeof(float);
    if (p->parts == 1 || blocks >= CUDA(multiprocessors)(queue) ||
        blocks > RLF_CUDA_COUNTERS || bytes > CUDA(scratch_bytes)())
        return RLF_OK;
    void *scratch;
    RLF_TRY(CUDA(scratch)(queue, bytes, &scratch, err));
    p->partial = (float *)scratch;
    p->finished = CUDA(counters)(queue);
    return RLF_OK;
}

template <class S>
static rlf_status
launch(rlf_queue *queue, matmul p, rlf_err *err)
{
    int64_t blocks = ((p.m + S::BM - 1) / S::BM) * ((p.n + S::BN - 1) / S::BN);
    RLF_TRY(share_parts<S>(queue, &p, blocks, err));
    RLF_TRY(CUDA(allow_shared)((const void *)matmul_kernel<S>, S::SHARED, err));
    dim3 grid((unsigned)blocks, p.partial ? (unsigned)p.parts : 1);
    RLF_LAUNCH(matmul_kernel<S>, grid, S::BLOCK, S::SHARED, queue, p);
    return CUDA(launched)("product", err);
}

#endif
