/* Products of bf16 on tensor cores, sums in f32: forward, backward, gradients
 * of weights.
 *
 * Bits. A row's result does not depend on the other rows: k is taken in steps
 * of 16 from 0 on, in every size of tile, and is cut into parts that depend on
 * the layer's shape alone. A part is a sum from 0; parts are added in order.
 * Where few rows would leave most of the GPU idle (decoding), parts are summed
 * by blocks of their own, and whoever finishes last adds them; with many rows
 * one block takes them in turn. Both give the same bits.
 *
 * Gradients, by activations and by weights, are cuBLASLt's where it is there:
 * they are the same bits from run to run, but not in another tile.
 *
 * Weights are packed once for both forms: bf16 [rows][cols], rows padded with
 * zeros to a multiple of 8. Tensor cores read a tile either way. */
#include "kernels/cuda/product_mma.h"

#include "kernels/cuda/mma.h"

extern "C" {
#include "kernels/cuda/lt.h"
}

static constexpr int DEPTH = 64; /* of a tile along k */
static constexpr int LOAD = 8;   /* numbers of a copy of 16 bytes */

/* The numerics of forward products: at least PART_TILES tiles of k a part, and
 * as few parts as give IDEAL_BLOCKS blocks of 64 columns. */
static constexpr int64_t PART_TILES = 8, IDEAL_BLOCKS = 264;

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
 * B_TURNED: b is [k][n]. */
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
    static constexpr int SHARED = STAGES * (A_BYTES + B_BYTES);
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

/* Rows row..row+15 of a at k..k+15 of the tile. */
template <class S>
static __device__ __forceinline__ void
read_a(uint32_t (&r)[4], char *tile, int row, int k)
{
    int lane = threadIdx.x % WARP, i = lane / 8, at = lane % 8;
    if (S::A_TURNED)
        ldmatrix4_trans(
            r, piece<S::BM>(tile, k + i / 2 * 8 + at, row / 8 + i % 2));
    else
        ldmatrix4(r, piece<DEPTH>(tile, row + i % 2 * 8 + at, k / 8 + i / 2));
}

/* Columns col..col+15 of b^T at k..k+15 of the tile: two operands. */
template <class S>
static __device__ __forceinline__ void
read_b(uint32_t (&r)[4], char *tile, int col, int k)
{
    int lane = threadIdx.x % WARP, i = lane / 8, at = lane % 8;
    if (S::B_TURNED)
        ldmatrix4_trans(
            r, piece<S::BN>(tile, k + i % 2 * 8 + at, col / 8 + i / 2));
    else
        ldmatrix4(r, piece<DEPTH>(tile, col + i / 2 * 8 + at, k / 8 + i % 2));
}

template <class S> using sums = float[S::MT][S::NT][4];

/* sum += the products of one stage. */
template <class S>
static __device__ __forceinline__ void
multiply_stage(char *stage, int warp_row, int warp_col, sums<S> &sum)
{
    RLF_UNROLL
    for (int k = 0; k < DEPTH; k += 16) {
        uint32_t a[S::MT][4], b[S::NT / 2][4];
        RLF_UNROLL
        for (int i = 0; i < S::MT; i++)
            read_a<S>(a[i], stage, warp_row + i * 16, k);
        RLF_UNROLL
        for (int j = 0; j < S::NT / 2; j++)
            read_b<S>(b[j], stage + S::A_BYTES, warp_col + j * 16, k);
        RLF_UNROLL
        for (int i = 0; i < S::MT; i++)
            RLF_UNROLL
        for (int j = 0; j < S::NT; j++) {
            const uint32_t pair[2] = {b[j / 2][j % 2 * 2],
                                      b[j / 2][j % 2 * 2 + 1]};
            mma_bf16(sum[i][j], a[i], pair);
        }
    }
}

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
    for (int i = 0; i < S::STAGES - 1; i++) {
        if (begin + i < end)
            load_stage<S>(p, shared + i * STAGE, row, col, (begin + i) * DEPTH);
        copy_async_commit();
    }
    sums<S> part;
    clear<S>(part);
    int64_t left = p.part_tiles;
    int at = 0;
    for (int64_t t = begin; t < end; t++) {
        copy_async_wait<S::STAGES - 2>();
        __syncthreads(); /* the tile is there, and the one before it read */
        int64_t next = t + S::STAGES - 1;
        int to = at == 0 ? S::STAGES - 1 : at - 1;
        if (next < end)
            load_stage<S>(p, shared + to * STAGE, row, col, next * DEPTH);
        copy_async_commit();
        multiply_stage<S>(shared + at * STAGE, warp_row, warp_col, part);
        at = at + 1 == S::STAGES ? 0 : at + 1;
        if (--left == 0 || t + 1 == end) {
            add_part<S>(total, part);
            clear<S>(part);
            left = p.part_tiles;
        }
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
    RLF_DYNAMIC_SHARED(char, shared);
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

/* May a matrix of `cols` columns be loaded 16 bytes at a time? */
static bool
whole(const void *x, int64_t ld, int64_t cols)
{
    return (uintptr_t)x % 16 == 0 && ld % LOAD == 0 && cols % LOAD == 0;
}

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

/* The sizes of tiles: for one to sixteen rows, for some, for many. */
template <bool A, bool B>
static rlf_status
choose(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    if constexpr (!A) {
        if (p.m <= 16)
            return launch<shape<16, 64, 1, 4, 6, A, B>>(queue, p, err);
    }
    int64_t blocks = ((p.m + 127) / 128) * ((p.n + 127) / 128);
    if (p.m <= 64 || blocks < CUDA(multiprocessors)(queue) / 2)
        return launch<shape<64, 64, 2, 2, 4, A, B>>(queue, p, err);
    return launch<shape<128, 128, 2, 4, 3, A, B>>(queue, p, err);
}

/* Gradients need not have the bits of another tile: cuBLASLt's are fine. */
template <bool A, bool B>
static rlf_status
by_library(rlf_queue *queue, const matmul &p, rlf_err *err)
{
#ifndef RLF_CUDA_EMULATED
    rlf_lt_product product = {.m = p.m,
                              .n = p.n,
                              .k = p.k,
                              .a = p.a,
                              .b = p.b,
                              .lda = p.lda,
                              .ldb = p.ldb,
                              .ldc = p.ldc,
                              .a_turned = A,
                              .b_turned = B,
                              .c = p.c,
                              .c_f32 = p.out == RESULT_F32,
                              .add = p.add};
    rlf_status status = rlf_lt_multiply(queue, &product, err);
    if (status != RLF_AGAIN)
        return status;
#endif
    return choose<A, B>(queue, p, err);
}

/* ---- operations -------------------------------------------------------- */

static int64_t
packed_ld(int64_t cols)
{
    return (cols + LOAD - 1) / LOAD * LOAD;
}

size_t
CUDA(mma_packed_bytes)(int64_t rows, int64_t cols, rlf_product_form form)
{
    return form == RLF_PRODUCT_FORWARD
               ? (size_t)(rows * packed_ld(cols)) * sizeof(uint16_t)
               : 0;
}

static __global__ void
mma_pack_kernel(rlf_product_pack_args a, int64_t ld)
{
    uint16_t *out = (uint16_t *)a.packed;
    EACH(i, a.rows * ld)
    {
        int64_t row = i / ld, col = i % ld;
        out[i] = col < a.cols ? (uint16_t)bf16_pair(a.w[row * a.ldw + col], 0)
                              : (uint16_t)0;
    }
}

rlf_status
CUDA(mma_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
               rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0, "product_pack");
    rlf_product_pack_args a = *args;
    a.ldw = or_dense(a.ldw, a.cols);
    int64_t ld = packed_ld(a.cols);
    if (a.form == RLF_PRODUCT_FORWARD && a.rows * ld > 0)
        RLF_LAUNCH(mma_pack_kernel, blocks_for(a.rows * ld, THREADS), THREADS,
                   0, queue, a, ld);
    return CUDA(launched)("product_pack", err);
}

/* The parts of k of a forward product: by the layer's shape alone. */
static void
cut(matmul *p)
{
    int64_t tiles = (p->k + DEPTH - 1) / DEPTH, columns = (p->n + 63) / 64;
    int64_t parts = (IDEAL_BLOCKS + columns - 1) / columns;
    int64_t most = tiles / PART_TILES;
    parts = parts < most ? parts : most;
    parts = parts > 1 ? parts : 1;
    p->part_tiles = (tiles + parts - 1) / parts;
    p->parts = tiles ? (int)((tiles + p->part_tiles - 1) / p->part_tiles) : 1;
}

rlf_status
CUDA(mma_product)(rlf_queue *queue, const rlf_product_args *a, rlf_err *err)
{
    NEED(a->m >= 0 && a->n >= 0 && a->k >= 0, "product");
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    bool back = a->form == RLF_PRODUCT_BACKWARD;
    matmul p = {.m = a->m, .n = a->n, .k = a->k};
    p.a = (const uint16_t *)a->x;
    p.lda = or_dense(a->ldx, a->k);
    p.a_whole = whole(p.a, p.lda, p.k);
    p.b = (const uint16_t *)a->packed;
    p.ldb = packed_ld(back ? a->n : a->k);
    p.b_whole = true;
    p.bias = a->bias;
    p.c = a->c;
    p.ldc = or_dense(a->ldc, a->n);
    p.out = a->c_f32 ? RESULT_F32 : RESULT_REAL;
    p.add = a->add;
    if (back) {
        p.parts = 1;
        p.part_tiles = (p.k + DEPTH - 1) / DEPTH;
        return p.bias ? choose<false, true>(queue, p, err)
                      : by_library<false, true>(queue, p, err);
    }
    cut(&p);
    return choose<false, false>(queue, p, err);
}

rlf_status
CUDA(mma_product_grad)(rlf_queue *queue, const rlf_product_grad_args *a,
                       rlf_err *err)
{
    NEED(a->m >= 0 && a->n >= 0 && a->k >= 0, "product_grad");
    if (a->m == 0 || a->n == 0 || a->k == 0)
        return RLF_OK;
    /* dw[n, k] = dy^T x: the sum is over tokens */
    matmul p = {.m = a->n, .n = a->k, .k = a->m};
    p.a = (const uint16_t *)a->dy;
    p.lda = or_dense(a->lddy, a->n);
    p.a_whole = whole(p.a, p.lda, p.m);
    p.b = (const uint16_t *)a->x;
    p.ldb = or_dense(a->ldx, a->k);
    p.b_whole = whole(p.b, p.ldb, p.n);
    p.c = a->dw;
    p.ldc = or_dense(a->lddw, a->k);
    p.out = RESULT_F32;
    p.add = true;
    p.parts = 1;
    p.part_tiles = (p.k + DEPTH - 1) / DEPTH;
    return by_library<true, true>(queue, p, err);
}
