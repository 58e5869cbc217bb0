/* A table of bf16 with the face of one of f32, so that the cases of
 * kernels_*.c test both: activations are handed over in bf16 copies, what an
 * operation gave comes back widened.
 *
 * Numbers that a case makes (values()) are bf16 already, so nothing is lost on
 * the way in. Between the rows of a copy and behind it lie marks that must
 * still be there afterwards. */
#ifndef RLF_TESTS_KERNELS_BF16_H
#define RLF_TESTS_KERNELS_BF16_H

#include "engine/base/half.h"

enum { MOST_VIEWS = 8, POOL = 64 << 20, MARK = 0xffff };

typedef struct view {
    const float *x;
    uint16_t *h;
    int64_t rows, ld, n;
    bool out;
} view;

static view views[MOST_VIEWS];
static int n_views;
static uint16_t *pool; /* of the copies of one call */
static int64_t pool_used;

static const rlf_kernels *
table_of(rlf_queue *queue)
{
    (void)queue;
    if (narrow_of_cpu)
        return narrow_of_cpu;
#ifdef RLF_HAVE_CUDA
    if (!queue->device->caps.host_memory)
        return rlf_kernels_cuda_bf16();
#endif
#ifdef RLF_HAVE_EMULATED
    return rlf_kernels_emulated_bf16();
#else
    return NULL;
#endif
}

/* x[rows, n], of which row r begins at r * ld (0: n), in bf16; NULL for NULL.
 * The same x twice is one copy, as an operation in place wants it. */
static void *
view_of(rlf_queue *queue, const void *x, int64_t rows, int64_t ld, int64_t n,
        bool out)
{
    if (!x || rows <= 0)
        return (void *)(uintptr_t)x;
    for (int i = 0; i < n_views; i++)
        if (views[i].x == x) {
            views[i].out |= out;
            return views[i].h;
        }
    if (!pool) {
        pool = aligned_alloc(64, POOL);
        if (!pool)
            bail("no memory for a test");
        pin(&(env){.queue = queue}, pool, POOL);
    }
    view v = {.x = x,
              .h = pool + pool_used,
              .rows = rows,
              .ld = ld ? ld : n,
              .n = n,
              .out = out};
    int64_t size = (rows - 1) * v.ld + n;
    pool_used += (size + 64) / 32 * 32;
    if (n_views == MOST_VIEWS || pool_used > (int64_t)(POOL / sizeof *pool))
        bail("too much for the copies of one call");
    memset(v.h, MARK & 0xff, (size_t)(size + 32) * sizeof *v.h);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < n; i++)
            v.h[r * v.ld + i] = rlf_f32_to_bf16(v.x[r * v.ld + i]);
    views[n_views++] = v;
    return v.h;
}

static bool
marks_are_whole(const view *v)
{
    int64_t size = (v->rows - 1) * v->ld + v->n;
    bool whole = true;
    for (int64_t r = 0; r + 1 < v->rows; r++)
        for (int64_t i = v->n; i < v->ld; i++)
            whole &= v->h[r * v->ld + i] == MARK;
    for (int64_t i = size; i < size + 32; i++)
        whole &= v->h[i] == MARK;
    return whole;
}

static rlf_status
views_end(rlf_queue *queue, rlf_status status, rlf_err *err)
{
    if (status >= 0)
        status = rlf_queue_sync(queue, err);
    for (int k = 0; k < n_views && status >= 0; k++) {
        view v = views[k];
        if (!marks_are_whole(&v))
            status = rlf_fail(err, RLF_BUG, "wrote beyond a row of bf16");
        float *x = (float *)(uintptr_t)v.x;
        for (int64_t r = 0; v.out && r < v.rows; r++)
            for (int64_t i = 0; i < v.n; i++)
                x[r * v.ld + i] = rlf_bf16_to_f32(v.h[r * v.ld + i]);
    }
    n_views = 0;
    pool_used = 0;
    return status;
}

static int64_t
last_of(const int32_t *index, int64_t n)
{
    int64_t last = 0;
    for (int64_t i = 0; i < n; i++)
        last = index[i] > last ? index[i] : last;
    return last;
}

/* Numbers from the first page to the end of page `last`. */
static int64_t
pages_size(int64_t last, int64_t stride, int64_t page_size, int64_t kv_heads,
           int64_t d)
{
    int64_t page = rlf_kv_page_floats(page_size, kv_heads, d);
    return last * (stride ? stride : page) + page;
}

static int64_t
last_page(const rlf_attention_paged_args *a)
{
    int64_t last = 0;
    for (int64_t s = 0; s < a->n_seqs; s++) {
        int64_t end = a->starts[s] + a->offsets[s + 1] - a->offsets[s];
        int64_t used = (end + a->page_size - 1) / a->page_size;
        int64_t p = last_of(a->pages + s * a->ld_pages, used);
        last = p > last ? p : last;
    }
    return last;
}

static int64_t
last_token(const int32_t *offsets, int64_t n_seqs)
{
    return n_seqs ? offsets[n_seqs] : 0;
}

/* clang-format off */
#define IN(p, rows, ld, n) a.p = view_of(queue, a.p, rows, ld, n, false);
#define OUT(p, rows, ld, n) a.p = view_of(queue, a.p, rows, ld, n, true);
#define NARROW(op, copies)                                                  \
    TAP_FUNCTION rlf_status narrow_##op(                                    \
        rlf_queue *queue, const rlf_##op##_args *args, rlf_err *err)        \
    {                                                                       \
        rlf_##op##_args a = *args;                                          \
        copies                                                              \
        return views_end(queue, table_of(queue)->op(queue, &a, err), err);  \
    }
#define TOKENS last_token(a.offsets, a.n_seqs)
#define GROUPS (a.groups ? a.groups : 1)

NARROW(product_pack, )
NARROW(product, IN(x, a.m, a.ldx, a.k) OUT(c, a.m, a.ldc, a.n))
NARROW(product_glu, IN(x, a.m, a.ldx, a.k) OUT(c, a.m, 0, 2 * a.d)
       OUT(y, a.m, a.ldy, a.d))
NARROW(product_grad, IN(dy, a.m, a.lddy, a.n) IN(x, a.m, a.ldx, a.k))
NARROW(bias_grad, IN(dy, a.m, a.lddy, a.n))
NARROW(embed, OUT(y, a.m, a.ldy, a.d))
NARROW(embed_grad, IN(dy, a.m, a.lddy, a.d))
NARROW(rows_gather, IN(x, last_of(a.index, a.m) + 1, a.ldx, a.d)
       OUT(y, a.m, a.ldy, a.d))
NARROW(rows_scatter, IN(x, a.m, a.ldx, a.d)
       OUT(y, last_of(a.index, a.m) + 1, a.ldy, a.d))
NARROW(rmsnorm, IN(x, a.m, a.ldx, GROUPS * a.d) OUT(y, a.m, a.ldy, GROUPS * a.d))
NARROW(norm_sums, IN(x, a.m, a.ldx, a.d) IN(dy, a.m, a.lddy, a.d))
NARROW(rmsnorm_grad, IN(x, a.m, a.ldx, GROUPS * a.d)
       IN(dy, a.m, a.lddy, GROUPS * a.d) OUT(dx, a.m, a.lddx, GROUPS * a.d))
NARROW(layernorm, IN(x, a.m, a.ldx, GROUPS * a.d) OUT(y, a.m, a.ldy, GROUPS * a.d))
NARROW(layernorm_grad, IN(x, a.m, a.ldx, GROUPS * a.d)
       IN(dy, a.m, a.lddy, GROUPS * a.d) OUT(dx, a.m, a.lddx, GROUPS * a.d))
NARROW(rope_table, )
NARROW(rope, IN(x, a.m, a.ldx, a.heads * a.d) OUT(y, a.m, a.ldy, a.heads * a.d))
NARROW(glu, IN(gate, a.m, a.ldx, a.d) IN(up, a.m, a.ldx, a.d)
       OUT(y, a.m, a.ldy, a.d))
NARROW(glu_grad, IN(gate, a.m, a.ldx, a.d) IN(up, a.m, a.ldx, a.d)
       IN(dy, a.m, a.lddy, a.d) OUT(dgate, a.m, a.lddx, a.d)
       OUT(dup, a.m, a.lddx, a.d))
NARROW(add, IN(a, a.m, a.lda, a.d) IN(b, a.m, a.ldb, a.d)
       OUT(c, a.m, a.ldc, a.d))
NARROW(clip, IN(x, a.m, a.ldx, a.d) IN(by, a.m, a.ldby, a.d)
       OUT(y, a.m, a.ldy, a.d))
NARROW(dropout, IN(x, a.m, a.ldx, a.d) OUT(y, a.m, a.ldy, a.d))
NARROW(axpby, )
NARROW(fill, )
NARROW(cast, )
NARROW(kv_write, IN(k, a.m, a.ldk, a.kv_heads * a.d)
       IN(v, a.m, a.ldv, a.kv_heads * a.d)
       OUT(kv, 1, 0, pages_size(last_of(a.slots, a.m) / a.page_size,
                                a.page_stride, a.page_size, a.kv_heads, a.d))
       OUT(q, a.m, a.ldq, a.heads * a.d))
NARROW(attention, IN(q, TOKENS, a.ldq, a.heads * a.d)
       IN(k, TOKENS, a.ldk, a.kv_heads * a.d)
       IN(v, TOKENS, a.ldv, a.kv_heads * a.d)
       OUT(o, TOKENS, a.ldo, a.heads * a.d))
NARROW(attention_paged, IN(q, TOKENS, a.ldq, a.heads * a.d)
       IN(kv, 1, 0, pages_size(last_page(&a), a.page_stride, a.page_size,
                               a.kv_heads, a.d))
       OUT(o, TOKENS, a.ldo, a.heads * a.d))
NARROW(attention_grad, IN(q, TOKENS, a.ldq, a.heads * a.d)
       IN(k, TOKENS, a.ldk, a.kv_heads * a.d)
       IN(v, TOKENS, a.ldv, a.kv_heads * a.d)
       IN(o, TOKENS, a.ldo, a.heads * a.d)
       IN(d_o, TOKENS, a.lddo, a.heads * a.d)
       OUT(dq, TOKENS, a.lddq, a.heads * a.d)
       OUT(dk, TOKENS, a.lddk, a.kv_heads * a.d)
       OUT(dv, TOKENS, a.lddv, a.kv_heads * a.d))
NARROW(head_logprob, IN(x, a.m, a.ldx, a.d))
NARROW(head_loss, IN(forward.x, a.forward.m, a.forward.ldx, a.forward.d)
       OUT(dx, a.forward.m, a.lddx, a.forward.d))
NARROW(sample, IN(x, a.m, a.ldx, a.d))
NARROW(adamw, )
NARROW(sumsq, )
NARROW(expr_dense, )
/* clang-format on */

/* With the sizes of `table`. */
TAP_FUNCTION const rlf_kernels *
narrow_kernels(const rlf_kernels *table, rlf_kernels *out)
{
    *out = *table;
#define OP(op, doc, flops, bytes) out->op = narrow_##op;
#include "kernels/op.def"
#undef OP
    return out;
}

#undef IN
#undef OUT
#undef NARROW
#undef TOKENS
#undef GROUPS

#endif
