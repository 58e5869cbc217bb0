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

#include "kernels/cuda/product_wgmma.h"

extern "C" {
#include "kernels/cuda/lt.h"
}

/* ---- by warps ---------------------------------------------------------- */

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

/* sum += the products of one stage. */
template <class S>
static __device__ __forceinline__ void
multiply_stage(char *stage, int warp_row, int warp_col,
               float (&sum)[S::MT][S::NT][4])
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

/* Warps multiply what lies in shared memory, tiles of 16 x 8. */
template <int BM, int BN, int WARPS_M, int WARPS_N, int STAGES, bool A, bool B>
struct by_warps : shape<BM, BN, WARPS_M, WARPS_N, STAGES, A, B> {
    static constexpr int LAG = 0;

    static __device__ __forceinline__ void
    multiply(char *stage, int warp_row, int warp_col,
             float (&sum)[by_warps::MT][by_warps::NT][4])
    {
        multiply_stage<by_warps>(stage, warp_row, warp_col, sum);
    }

    static __device__ __forceinline__ void keep_up(void)
    {
    }

    static __device__ __forceinline__ void
    settle(float (&)[by_warps::MT][by_warps::NT][4])
    {
    }

    static __device__ __forceinline__ void see(void)
    {
    }
};

/* ---- which tiles ------------------------------------------------------- */

/* The sizes of tiles: for one to sixteen rows, for some, for many. */
template <bool A, bool B>
static rlf_status
choose(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    if (!p.a_whole || !p.b_whole)
        return launch<by_warps<64, 64, 2, 2, 4, A, B>, any_source>(queue, p,
                                                                   err);
    if constexpr (!A) {
        if (p.m <= 16)
            return launch<by_warps<16, 64, 1, 4, 6, A, B>>(queue, p, err);
    }
    int64_t blocks = ((p.m + 127) / 128) * ((p.n + 127) / 128);
    if (p.m <= 64 || blocks < CUDA(multiprocessors)(queue) / 2)
        return launch<by_warps<64, 64, 2, 2, 4, A, B>>(queue, p, err);
    return launch<by_warps<128, 128, 2, 4, 3, A, B>>(queue, p, err);
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

/* May a matrix of `cols` columns be loaded 16 bytes at a time? */
static bool
is_whole(const void *x, int64_t ld, int64_t cols)
{
    return (uintptr_t)x % 16 == 0 && ld % LOAD == 0 && cols % LOAD == 0;
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

/* Rows of cols numbers as rows of ld, the rest zeros; V divides both. */
template <int V>
static __global__ void
mma_pack_kernel(rlf_product_pack_args a, int64_t ld)
{
    uint16_t *out = (uint16_t *)a.packed;
    int64_t per = ld / V;
    EACH(i, a.rows * per)
    {
        spot p = spot_of(i, per);
        several<uint16_t, V> x = {};
        if (p.at * V < a.cols) {
            several<float, V> w =
                take_floats<V>(a.w + p.row * a.ldw + p.at * V);
            RLF_UNROLL
            for (int e = 0; e < V; e++)
                x.x[e] = (uint16_t)bf16_pair(w.x[e], 0);
        }
        give<V>(out + i * V, x);
    }
}

static void
pack_rows(rlf_queue *queue, rlf_product_pack_args a, int64_t first)
{
    int64_t ld = packed_ld(a.cols);
    a.packed = (uint16_t *)a.packed + first * ld;
    bool wide = a.cols % WIDE == 0 && is_wide(a.w, a.ldw);
    LAUNCH_WIDE(mma_pack_kernel, wide, a.rows * ld, queue, a, ld);
}

rlf_status
CUDA(mma_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
               rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0, "product_pack");
    rlf_product_pack_args a = *args;
    a.ldw = or_dense(a.ldw, a.cols);
    bool by_groups; /* is tried before anything is multiplied */
    RLF_TRY(CUDA(group_tiles)(queue, &by_groups, err));
    if (a.form == RLF_PRODUCT_FORWARD && a.rows * a.cols > 0)
        RLF_TRY(pack_near(queue, a, pack_rows, err));
    return CUDA(launched)("product_pack", err);
}

/* The numerics of forward products: as many parts of k as blocks of 64 columns
 * stay side by side on the GPU (two on each of 132 multiprocessors: one block
 * more would be a second round), each of at least PART_TILES tiles. */
static constexpr int64_t PART_TILES = 8, BLOCKS_AT_ONCE = 264;

/* The parts of k of a forward product: by the layer's shape alone. */
static void
cut(matmul *p)
{
    int64_t tiles = (p->k + DEPTH - 1) / DEPTH, columns = (p->n + 63) / 64;
    int64_t parts = BLOCKS_AT_ONCE / columns, most = tiles / PART_TILES;
    parts = parts < most ? parts : most;
    parts = parts > 1 ? parts : 1;
    p->part_tiles = (tiles + parts - 1) / parts;
    p->parts = tiles ? (int)((tiles + p->part_tiles - 1) / p->part_tiles) : 1;
}

/* The product of activations and packed weights. */
static matmul
product_of(const rlf_product_args *a)
{
    matmul p = {.m = a->m, .n = a->n, .k = a->k};
    p.a = (const uint16_t *)a->x;
    p.lda = or_dense(a->ldx, a->k);
    p.a_whole = is_whole(p.a, p.lda, p.k);
    p.b = (const uint16_t *)a->packed;
    p.ldb = packed_ld(a->form == RLF_PRODUCT_BACKWARD ? a->n : a->k);
    p.b_whole = true;
    p.bias = a->bias;
    p.c = a->c;
    p.ldc = or_dense(a->ldc, a->n);
    p.out = a->c_f32 ? RESULT_F32 : RESULT_REAL;
    p.add = a->add;
    return p;
}

/* With few rows a product waits for its weights, and its results are in
 * registers: glu costs nothing there. With many it is arithmetic that
 * nothing else goes on beside. */
static constexpr int64_t FEW = 64;

static rlf_status
choose_gated(rlf_queue *queue, const matmul &p, rlf_err *err)
{
    if (p.m <= 16)
        return launch<by_warps<16, 64, 1, 4, 6, false, false>, gated_source>(
            queue, p, err);
    return launch<by_warps<64, 64, 2, 2, 4, false, false>, gated_source>(
        queue, p, err);
}

rlf_status
CUDA(mma_product_glu)(rlf_queue *queue, const rlf_product_glu_args *a,
                         rlf_err *err)
{
    NEED(a->m >= 0 && a->d >= 0 && a->k >= 0, "product_glu");
    if (a->m == 0 || a->d == 0)
        return RLF_OK;
    rlf_product_args both = rlf_gates_of(a);
    both.c = a->y;
    both.ldc = or_dense(a->ldy, a->d);
    matmul p = product_of(&both);
    if (a->keep || p.m > FEW || !p.a_whole || a->act != RLF_ACT_SILU)
        return TYPED(product_glu)(queue, a, err);
    cut(&p);
    bool by_groups;
    RLF_TRY(CUDA(group_tiles)(queue, &by_groups, err));
    return by_groups ? CUDA(group_gated)(queue, p, err)
                     : choose_gated(queue, p, err);
}

rlf_status
CUDA(mma_product)(rlf_queue *queue, const rlf_product_args *a, rlf_err *err)
{
    NEED(a->m >= 0 && a->n >= 0 && a->k >= 0, "product");
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    matmul p = product_of(a);
    if (a->form == RLF_PRODUCT_BACKWARD) {
        p.parts = 1;
        p.part_tiles = (p.k + DEPTH - 1) / DEPTH;
        return p.bias ? choose<false, true>(queue, p, err)
                      : by_library<false, true>(queue, p, err);
    }
    cut(&p);
    bool by_groups;
    RLF_TRY(CUDA(group_tiles)(queue, &by_groups, err));
    return by_groups ? CUDA(group_product)(queue, p, err)
                     : choose<false, false>(queue, p, err);
}

rlf_status
CUDA(mma_measures)(rlf_queue *queue, const void *x, int64_t ldx, int64_t d,
                   bool *out, rlf_err *err)
{
    RLF_TRY(CUDA(group_tiles)(queue, out, err));
    *out = *out && is_whole(x, or_dense(ldx, d), d);
    return RLF_OK;
}

rlf_status
CUDA(mma_logits)(rlf_queue *queue, const rlf_product_args *a,
                 const measures *measured, rlf_err *err)
{
    NEED(a->m >= 0 && a->n >= 0 && a->k >= 0, "logits");
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    matmul p = product_of(a);
    p.measured = *measured;
    cut(&p);
    return CUDA(group_logits)(queue, p, err);
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
    p.a_whole = is_whole(p.a, p.lda, p.m);
    p.b = (const uint16_t *)a->x;
    p.ldb = or_dense(a->ldx, a->k);
    p.b_whole = is_whole(p.b, p.ldb, p.n);
    p.c = a->dw;
    p.ldc = or_dense(a->lddw, a->k);
    p.out = RESULT_F32;
    p.add = true;
    p.parts = 1;
    p.part_tiles = (p.k + DEPTH - 1) / DEPTH;
    return by_library<true, true>(queue, p, err);
}
