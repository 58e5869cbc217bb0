/* Products that add along k in order, one fused multiply-add each, from the
 * value already in the output: the same chain, and the same bits, as
 * kernels/cpu/product.c. A thread has a column and some rows.
 *
 * Packed weights are the matrix itself, [rows, cols]; both forms read it. */
#include "kernels/cuda/ops.h"

static constexpr int ROWS = 8;        /* of a thread */
static constexpr int MOST_PARTS = 8;  /* of k */
static constexpr int MOST_LEVELS = 7; /* of a tree over RLF_MOST_SHARDS */

static_assert(1 << (MOST_LEVELS - 1) == RLF_MOST_SHARDS, "levels of a tree");

size_t
TYPED(product_packed_bytes)(int64_t rows, int64_t cols, rlf_product_form form)
{
    return form == RLF_PRODUCT_FORWARD ? (size_t)(rows * cols) * sizeof(float)
                                       : 0;
}

static __global__ void
pack_kernel(rlf_product_pack_args a)
{
    float *out = (float *)a.packed;
    EACH(i, a.rows * a.cols)
    out[i] = a.w[i / a.cols * a.ldw + i % a.cols];
}

static void
pack_rows(rlf_queue *queue, rlf_product_pack_args a, int64_t first)
{
    a.packed = (float *)a.packed + first * a.cols;
    RLF_LAUNCH(pack_kernel, blocks_for(a.rows * a.cols, THREADS), THREADS, 0,
               queue, a);
}

rlf_status
TYPED(product_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
                    rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0 && !args->bf16, "product_pack");
    rlf_product_pack_args a = *args;
    a.ldw = or_dense(a.ldw, a.cols);
    if (a.form != RLF_PRODUCT_FORWARD || a.rows * a.cols == 0)
        return RLF_OK;
    RLF_TRY(pack_near(queue, a, pack_rows, err));
    return CUDA(launched)("product_pack", err);
}

/* ---- products ---------------------------------------------------------- */

typedef struct plan {
    rlf_product_args a;
    int64_t parts[MOST_PARTS];
    int pieces[MOST_PARTS];
    int64_t by_k, by_n; /* from one to the next in the packed weight */
} plan;

/* sums[r] += x[r, k] w[k, n] over k of from..to-1. */
static __device__ __forceinline__ void
add_range(const plan &p, int64_t row, int rows, int64_t n, int64_t from,
          int64_t to, float *sums)
{
    const float *w = (const float *)p.a.packed + n * p.by_n;
    const float *x = p.a.x + row * p.a.ldx;
    for (int64_t k = from; k < to; k++) {
        float y = w[k * p.by_k];
        RLF_UNROLL
        for (int r = 0; r < ROWS; r++)
            if (r < rows)
                sums[r] = fmaf(x[r * p.a.ldx + k], y, sums[r]);
    }
}

/* As rlf_piece_first. */
static __device__ int64_t
piece_first(int64_t n, int pieces, int of, int s)
{
    int each = pieces ? of / pieces : 0;
    return each > 1 ? n * ((s + each - 1) / each) / pieces : n * s / of;
}

/* Partial sum s: over its shard of each part of k. */
static __device__ void
add_shard(const plan &p, int64_t row, int rows, int64_t n, int s, float *sums)
{
    const rlf_shards h = p.a.shards;
    int64_t at = 0; /* where the part begins, of what is held */
    for (int i = 0; i < p.a.n_parts; i++) {
        int64_t size = p.parts[i];
        int64_t first = piece_first(size, p.pieces[i], h.of, h.first);
        add_range(p, row, rows, n,
                  at + piece_first(size, p.pieces[i], h.of, s) - first,
                  at + piece_first(size, p.pieces[i], h.of, s + 1) - first,
                  sums);
        at +=
            piece_first(size, p.pieces[i], h.of, h.first + h.count) - first;
    }
}

static __global__ void
product_kernel(plan p)
{
    const rlf_product_args &a = p.a;
    int64_t n = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= a.n)
        return;
    for (int64_t row = (int64_t)blockIdx.y * ROWS; row < a.m;
         row += (int64_t)gridDim.y * ROWS) {
        int rows = a.m - row < ROWS ? (int)(a.m - row) : ROWS;
        float tree[MOST_LEVELS][ROWS];
        for (int s = 0; s < a.shards.count; s++) {
            float sums[ROWS];
            for (int r = 0; r < rows; r++)
                sums[r] = s       ? 0
                          : a.add ? a.c[(row + r) * a.ldc + n] +
                                        (a.bias ? a.bias[n] : -0.0f)
                          : a.bias ? a.bias[n]
                                   : 0;
            add_shard(p, row, rows, n, a.shards.first + s, sums);
            int level = 0; /* as many sums wait as s has bits */
            for (; s >> level & 1; level++)
                for (int r = 0; r < rows; r++)
                    sums[r] = tree[level][r] + sums[r];
            for (int r = 0; r < rows; r++)
                tree[level][r] = sums[r];
        }
        int level = 0;
        while (!(a.shards.count >> level & 1))
            level++;
        for (int up = level + 1; up < MOST_LEVELS; up++)
            if (a.shards.count >> up & 1) {
                for (int r = 0; r < rows; r++)
                    tree[up][r] = tree[up][r] + tree[level][r];
                level = up;
            }
        for (int r = 0; r < rows; r++)
            a.c[(row + r) * a.ldc + n] = tree[level][r];
    }
}

/* Complete shards and parts, and see that the parts make up k. */
static rlf_status
find_parts(plan *p, rlf_err *err)
{
    rlf_product_args *a = &p->a;
    a->shards = rlf_shards_of(a->shards);
    NEED(a->shards.of <= RLF_MOST_SHARDS && a->shards.first >= 0 &&
             a->shards.count > 0 &&
             a->shards.first + a->shards.count <= a->shards.of,
         "product");
    NEED(a->parts || a->shards.count == a->shards.of, "product");
    NEED(a->n_parts <= MOST_PARTS, "product");
    int64_t k = 0;
    p->parts[0] = a->k;
    for (int i = 0; a->parts && i < a->n_parts; i++) {
        p->parts[i] = a->parts[i];
        p->pieces[i] = a->pieces ? a->pieces[i] : 0;
    }
    a->n_parts = a->parts ? a->n_parts : 1;
    for (int i = 0; i < a->n_parts; i++)
        k += rlf_pieces_held(a->shards, p->parts[i], p->pieces[i]);
    NEED(k == a->k, "product");
    return RLF_OK;
}

rlf_status
TYPED(product)(rlf_queue *queue, const rlf_product_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product");
    plan p = {.a = *args};
    rlf_product_args *a = &p.a;
    RLF_TRY(find_parts(&p, err));
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    a->ldx = or_dense(a->ldx, a->k);
    a->ldc = or_dense(a->ldc, a->n);
    bool forward = a->form == RLF_PRODUCT_FORWARD;
    p.by_k = forward ? 1 : a->n;
    p.by_n = forward ? a->k : 1;
    dim3 grid = blocks_for(a->n, WARP);
    grid.y = blocks_for(a->m, ROWS).x;
    RLF_LAUNCH(product_kernel, grid, WARP, 0, queue, p);
    return CUDA(launched)("product", err);
}

/* ---- dw += dy^T x ------------------------------------------------------ */

static __global__ void
grad_kernel(rlf_product_grad_args a)
{
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= a.k)
        return;
    for (int64_t first = (int64_t)blockIdx.y * ROWS; first < a.n;
         first += (int64_t)gridDim.y * ROWS) {
        int rows = a.n - first < ROWS ? (int)(a.n - first) : ROWS;
        float sums[ROWS];
        for (int r = 0; r < rows; r++)
            sums[r] = a.dw[(first + r) * a.lddw + k];
        for (int64_t m = 0; m < a.m; m++) {
            float x = a.x[m * a.ldx + k];
            RLF_UNROLL
            for (int r = 0; r < ROWS; r++)
                if (r < rows)
                    sums[r] = fmaf(a.dy[m * a.lddy + first + r], x, sums[r]);
        }
        for (int r = 0; r < rows; r++)
            a.dw[(first + r) * a.lddw + k] = sums[r];
    }
}

rlf_status
TYPED(product_grad)(rlf_queue *queue, const rlf_product_grad_args *args,
                    rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product_grad");
    rlf_product_grad_args a = *args;
    if (a.m == 0 || a.n == 0 || a.k == 0)
        return RLF_OK;
    a.lddy = or_dense(a.lddy, a.n);
    a.ldx = or_dense(a.ldx, a.k);
    a.lddw = or_dense(a.lddw, a.k);
    dim3 grid = blocks_for(a.k, WARP);
    grid.y = blocks_for(a.n, ROWS).x;
    RLF_LAUNCH(grad_kernel, grid, WARP, 0, queue, a);
    return CUDA(launched)("product_grad", err);
}
