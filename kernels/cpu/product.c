/* Matrix products whose bits do not depend on how they are cut.
 *
 * Every element of c is one chain of fused multiply-adds along k in order,
 * from the value that is there. So rows may be tiled, k may be cut, threads
 * may share columns: the bits stay. Weights are packed into panels of NR
 * columns ([panel][k][NR]); a micro-kernel keeps up to MR rows times NR
 * columns of c in registers. The gradient of a weight is the same product
 * with tokens as k, read where they lie. */
#include "kernels/cpu/ops.h"

#if VL == 16
#define MR 9
#define NV 3
#else
#define MR 6
#define NV 2
#endif
#define NR (NV * VL)
/* k is cut so that a panel's piece stays in the first-level cache. */
#define KC 256
/* Rows of a task: their piece of x stays in the second-level cache. */
#define MC (MR * 14)

/* A micro-kernel's operands: a[i, k] = a[i * a_row + k * a_k],
 * b[k, j] = b[k * b_k + j], c[i, j], and where the sum starts. */
typedef struct micro {
    const float *a, *b;
    int64_t a_row, a_k, b_k;
    float *c;
    const float *start; /* NULL: zeros */
    int64_t ldc, ld_start;
    int64_t k;
} micro;

/* `m` rows times `nv` vectors, both constants. */
INLINE void
micro_run(const micro *o, const int m, const int nv, const int64_t a_row,
          const int64_t a_k)
{
    vf acc[MR][NV];
    if (o->start)
        _Pragma("GCC unroll 16") for (int i = 0; i < m; i++)
            _Pragma("GCC unroll 4") for (int j = 0; j < nv; j++) acc[i][j] =
                vload(o->start + i * o->ld_start + j * VL);
    else
        _Pragma("GCC unroll 16") for (int i = 0; i < m; i++)
            _Pragma("GCC unroll 4") for (int j = 0; j < nv; j++) acc[i][j] =
                vset(0);
    const float *a = o->a, *b = o->b;
    const int64_t b_k = o->b_k;
    for (int64_t k = o->k; k > 0; k--) {
        vf v[NV];
        _Pragma("GCC unroll 4") for (int j = 0; j < nv; j++) v[j] =
            vload(b + j * VL);
        _Pragma("GCC unroll 16") for (int i = 0; i < m; i++)
        {
            vf x = vset(a[i * a_row]);
            _Pragma("GCC unroll 4") for (int j = 0; j < nv; j++) acc[i][j] =
                vfma(x, v[j], acc[i][j]);
        }
        a += a_k;
        b += b_k;
    }
    _Pragma("GCC unroll 16") for (int i = 0; i < m; i++)
        _Pragma("GCC unroll 4") for (int j = 0; j < nv; j++)
            vstore(o->c + i * o->ldc + j * VL, acc[i][j]);
}

typedef void micro_fn(const micro *o);

// clang-format off
/* x rows: k runs along a row; dy rows: k (the token) runs down a column */
#define MICRO(m, nv)                                                         \
    static void along_##m##_##nv(const micro *o)                             \
    { micro_run(o, m, nv, o->a_row, 1); }                                    \
    static void down_##m##_##nv(const micro *o)                              \
    { micro_run(o, m, nv, 1, o->a_k); }
#if MR == 9
#define EACH_M(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv) \
    X(7, nv) X(8, nv) X(9, nv)
#else
#define EACH_M(X, nv) X(1, nv) X(2, nv) X(3, nv) X(4, nv) X(5, nv) X(6, nv)
#endif
EACH_M(MICRO, 1)
EACH_M(MICRO, 2)
#if NV == 3
EACH_M(MICRO, 3)
#endif
#define ALONG(m, nv) along_##m##_##nv,
#define DOWN(m, nv) down_##m##_##nv,
static micro_fn *const along[NV + 1][MR + 1] = {
    [1] = {NULL, EACH_M(ALONG, 1)},
    [2] = {NULL, EACH_M(ALONG, 2)},
#if NV == 3
    [3] = {NULL, EACH_M(ALONG, 3)},
#endif
};
static micro_fn *const down[NV + 1][MR + 1] = {
    [1] = {NULL, EACH_M(DOWN, 1)},
    [2] = {NULL, EACH_M(DOWN, 2)},
#if NV == 3
    [3] = {NULL, EACH_M(DOWN, 3)},
#endif
};
// clang-format on

/* `o` for all of `rows` rows and `w` <= NR columns. Columns that do not fill a
 * vector go through a buffer: c is never touched beyond its columns. */
static void
micro_rows(micro o, micro_fn *const fns[][MR + 1], int64_t rows, int64_t w)
{
    int64_t nv = (w + VL - 1) / VL;
    bool whole = w % VL == 0;
    float buffer[MR * NR];
    for (int64_t i = 0; i < rows; i += MR) {
        int64_t m = rows - i < MR ? rows - i : MR;
        if (whole) {
            fns[nv][m](&o);
        } else {
            micro part = o;
            part.c = buffer;
            part.ldc = NR;
            if (o.start) {
                for (int64_t r = 0; r < m; r++)
                    memcpy(buffer + r * NR, o.start + r * o.ld_start,
                           (size_t)w * 4);
                part.start = buffer;
                part.ld_start = NR;
            }
            fns[nv][m](&part);
            for (int64_t r = 0; r < m; r++)
                memcpy(o.c + r * o.ldc, buffer + r * NR, (size_t)w * 4);
        }
        o.a += m * o.a_row;
        o.c += m * o.ldc;
        if (o.start)
            o.start += m * o.ld_start;
    }
}

/* ---- y = x w^T, dx = dy w ---------------------------------------------- */

static int64_t
n_panels(int64_t n)
{
    return (n + NR - 1) / NR;
}

size_t
ISA(product_packed_bytes)(int64_t rows, int64_t cols, rlf_product_form form)
{
    bool forward = form == RLF_PRODUCT_FORWARD;
    int64_t n = forward ? rows : cols, k = forward ? cols : rows;
    return (size_t)(n_panels(n) * NR * k) * sizeof(float);
}

static void
pack_panels(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const rlf_product_pack_args *a = ctx;
    bool forward = a->form == RLF_PRODUCT_FORWARD;
    int64_t n = forward ? a->rows : a->cols, k = forward ? a->cols : a->rows;
    int64_t ld = or_dense(a->ldw, a->cols);
    for (int64_t p = first; p < last; p++) {
        float *out = (float *)a->packed + p * NR * k;
        int64_t w = n - p * NR < NR ? n - p * NR : NR;
        if (w < NR)
            memset(out, 0, (size_t)(NR * k) * sizeof *out);
        if (!forward) {
            for (int64_t i = 0; i < k; i++)
                memcpy(out + i * NR, a->w + i * ld + p * NR, (size_t)w * 4);
            continue;
        }
        /* transpose in strips of 16 k, so that both sides stay in cache */
        for (int64_t i0 = 0; i0 < k; i0 += 16) {
            int64_t i1 = i0 + 16 < k ? i0 + 16 : k;
            for (int64_t j = 0; j < w; j++) {
                const float *row = a->w + (p * NR + j) * ld;
                for (int64_t i = i0; i < i1; i++)
                    out[i * NR + j] = row[i];
            }
        }
    }
}

rlf_status
ISA(product_pack)(rlf_queue *queue, const rlf_product_pack_args *args,
                  rlf_err *err)
{
    NEED(args->rows >= 0 && args->cols >= 0, "product_pack");
    bool forward = args->form == RLF_PRODUCT_FORWARD;
    rlf_product_pack_args a = *args;
    rlf_cpu_share(queue, n_panels(forward ? a.rows : a.cols), 1,
                  8.0 * (double)a.rows * (double)a.cols, pack_panels, &a);
    return RLF_OK;
}

void
ISA(product_part)(const rlf_product_args *a, int64_t row, int64_t n_rows,
                  int64_t first, int64_t last)
{
    int64_t ldx = or_dense(a->ldx, a->k), ldc = or_dense(a->ldc, a->n);
    /* few rows read each panel once: then no cut of k */
    int64_t step = n_rows <= MR ? a->k : KC;
    for (int64_t k = 0; k == 0 || k < a->k; k += step) {
        int64_t kc = a->k - k < step ? a->k - k : step;
        for (int64_t n = first; n < last; n += NR) {
            int64_t w = last - n < NR ? last - n : NR;
            float *c = a->c + row * ldc + n;
            micro o = {.a = a->x + row * ldx + k,
                       .b = (const float *)a->packed + n * a->k + k * NR,
                       .a_row = ldx,
                       .b_k = NR,
                       .c = c,
                       .start = c,
                       .ldc = ldc,
                       .ld_start = ldc,
                       .k = kc};
            if (k == 0 && !a->add) {
                o.start = a->bias ? a->bias + n : NULL;
                o.ld_start = 0;
            }
            micro_rows(o, along, n_rows, w);
        }
        if (step == 0)
            break;
    }
}

/* A product cut into tasks: row blocks within column groups. */
typedef struct product_plan {
    rlf_product_args a;
    int64_t row_step, n_row_blocks, col_step;
} product_plan;

static void
product_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const product_plan *p = ctx;
    for (int64_t t = first; t < last; t++) {
        int64_t row = t % p->n_row_blocks * p->row_step;
        int64_t col = t / p->n_row_blocks * p->col_step;
        int64_t rows = p->a.m - row < p->row_step ? p->a.m - row : p->row_step;
        int64_t end = col + p->col_step < p->a.n ? col + p->col_step : p->a.n;
        ISA(product_part)(&p->a, row, rows, col, end);
    }
}

rlf_status
ISA(product)(rlf_queue *queue, const rlf_product_args *args, rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product");
    if (args->shards > 1 || args->shards < 0)
        return rlf_fail(err, RLF_USER,
                        "products in %d partial sums are not supported yet",
                        args->shards);
    product_plan p = {.a = *args};
    rlf_product_args *a = &p.a;
    if (a->m == 0 || a->n == 0)
        return RLF_OK;
    if (a->add && a->bias) {
        int64_t ldc = or_dense(a->ldc, a->n);
        for (int64_t i = 0; i < a->m; i++)
            for (int64_t j = 0; j < a->n; j++)
                a->c[i * ldc + j] += a->bias[j];
    }
    int threads = ((rlf_cpu_queue *)queue)->n_threads;
    int64_t panels = n_panels(a->n), want = 4 * threads;
    p.row_step = a->m < MC ? a->m : MC;
    p.n_row_blocks = (a->m + p.row_step - 1) / p.row_step;
    /* a column group's panels stay in the second-level cache */
    int64_t groups = (panels * NR * a->k * 4 + (768 << 10) - 1) / (768 << 10);
    if (groups < 1)
        groups = 1;
    if (groups * p.n_row_blocks < want)
        groups = (want + p.n_row_blocks - 1) / p.n_row_blocks;
    if (groups > panels)
        groups = panels;
    int64_t step = (panels + groups - 1) / groups;
    p.col_step = step * NR;
    groups = (panels + step - 1) / step;
    rlf_cpu_share(queue, groups * p.n_row_blocks, 1,
                  2.0 * (double)a->m * (double)a->n * (double)a->k,
                  product_tasks, &p);
    return RLF_OK;
}

/* ---- dw += dy^T x ------------------------------------------------------ */

typedef struct grad_plan {
    rlf_product_grad_args a;
    int64_t row_step, n_row_blocks, col_step;
} grad_plan;

/* Rows `row`.. of dw, one panel of columns from `col`: all tokens in order. */
static void
grad_panel(const rlf_product_grad_args *a, int64_t row, int64_t rows,
           int64_t col, int64_t w, char *scratch)
{
    float *packed = (float *)scratch;
    for (int64_t m = 0; m < a->m; m += KC) {
        int64_t kc = a->m - m < KC ? a->m - m : KC;
        float *c = a->dw + row * a->lddw + col;
        micro o = {.a = a->dy + m * a->lddy + row,
                   .b = a->x + m * a->ldx + col,
                   .a_row = 1,
                   .a_k = a->lddy,
                   .b_k = a->ldx,
                   .c = c,
                   .start = c,
                   .ldc = a->lddw,
                   .ld_start = a->lddw,
                   .k = kc};
        if (w % VL) { /* the last vector would read beyond x */
            int64_t nv = (w + VL - 1) / VL * VL;
            for (int64_t k = 0; k < kc; k++)
                for (int64_t j = 0; j < nv; j++)
                    packed[k * NR + j] = j < w ? o.b[k * a->ldx + j] : 0;
            o.b = packed;
            o.b_k = NR;
        }
        micro_rows(o, down, rows, w);
    }
}

static void
grad_tasks(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const grad_plan *p = ctx;
    const rlf_product_grad_args *a = &p->a;
    for (int64_t t = first; t < last; t++) {
        int64_t row = t % p->n_row_blocks * p->row_step;
        int64_t col = t / p->n_row_blocks * p->col_step;
        int64_t rows = a->n - row < p->row_step ? a->n - row : p->row_step;
        int64_t end = col + p->col_step < a->k ? col + p->col_step : a->k;
        for (int64_t j = col; j < end; j += NR)
            grad_panel(a, row, rows, j, end - j < NR ? end - j : NR, scratch);
    }
}

rlf_status
ISA(product_grad)(rlf_queue *queue, const rlf_product_grad_args *args,
                  rlf_err *err)
{
    NEED(args->m >= 0 && args->n >= 0 && args->k >= 0, "product_grad");
    grad_plan p = {.a = *args};
    rlf_product_grad_args *a = &p.a;
    if (a->m == 0 || a->n == 0 || a->k == 0)
        return RLF_OK;
    a->lddy = or_dense(a->lddy, a->n);
    a->ldx = or_dense(a->ldx, a->k);
    a->lddw = or_dense(a->lddw, a->k);
    p.row_step = a->n < MC ? a->n : MC;
    p.n_row_blocks = (a->n + p.row_step - 1) / p.row_step;
    p.col_step = NR;
    rlf_cpu_share(queue, n_panels(a->k) * p.n_row_blocks, 1,
                  2.0 * (double)a->m * (double)a->n * (double)a->k, grad_tasks,
                  &p);
    return RLF_OK;
}
