/* AdamW and the norm of gradients. */
#include "kernels/cpu/ops.h"

INLINE vf
vsqrt(vf x)
{
#if VL == 16
    return (vf)_mm512_sqrt_ps((__m512)x);
#elif VL == 8
    return (vf)_mm256_sqrt_ps((__m256)x);
#else
    for (int i = 0; i < VL; i++)
        x[i] = __builtin_sqrtf(x[i]);
    return x;
#endif
}

typedef struct adamw_plan {
    rlf_adamw_args a;
    float keep, rest1, rest2, c1, c2;
} adamw_plan;

INLINE vf
adamw_step(const adamw_plan *p, vf w, vf g, vf *m, vf *v)
{
    const rlf_adamw_args *a = &p->a;
    g *= a->grad_scale;
    *m = vfma(vset(a->beta1), *m, p->rest1 * g);
    *v = vfma(vset(a->beta2), *v, p->rest2 * (g * g));
    vf step = (*m * p->c1) / (vsqrt(*v * p->c2) + a->eps);
    return vfma(vset(-a->lr), step, w * p->keep);
}

static void
adamw_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    (void)scratch;
    const adamw_plan *p = ctx;
    const rlf_adamw_args *a = &p->a;
    int64_t i = first;
    for (; i + VL <= last; i += VL) {
        vf m = vload(a->m + i), v = vload(a->v + i);
        vf w = adamw_step(p, vload(a->w + i), vload(a->g + i), &m, &v);
        vstore(a->w + i, w);
        vstore(a->m + i, m);
        vstore(a->v + i, v);
    }
    if (i < last) {
        int64_t n = last - i;
        vf m = vload_n(a->m + i, n), v = vload_n(a->v + i, n);
        vf w =
            adamw_step(p, vload_n(a->w + i, n), vload_n(a->g + i, n), &m, &v);
        vstore_n(a->w + i, w, n);
        vstore_n(a->m + i, m, n);
        vstore_n(a->v + i, v, n);
    }
}

rlf_status
ISA(adamw)(rlf_queue *queue, const rlf_adamw_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->bias1 > 0 && args->bias2 > 0, "adamw");
    NEED(!args->packed, "adamw without one_pack");
    adamw_plan p = {.a = *args};
    p.keep = (float)(1 - (double)args->lr * (double)args->decay);
    p.rest1 = (float)(1 - (double)args->beta1);
    p.rest2 = (float)(1 - (double)args->beta2);
    p.c1 = (float)(1 / args->bias1);
    p.c2 = (float)(1 / args->bias2);
    rlf_cpu_share(queue, args->n, 4096, 28.0 * (double)args->n, adamw_part, &p);
    return RLF_OK;
}

/* ---- sums of squares --------------------------------------------------- */

#define BLOCK RLF_SUMSQ_BLOCK
typedef double vd __attribute__((vector_size(64)));
typedef float v8 __attribute__((vector_size(32), aligned(4)));

/* 64 running lanes, folded in a tree. Squares of f32 are exact in f64. */
static double
sumsq_block(const float *x, int64_t n)
{
    vd s[8] = {0};
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int j = 0; j < 8; j++) {
            vd t = __builtin_convertvector(*(const v8 *)(x + i + 8 * j), vd);
            s[j] += t * t;
        }
    double a[64];
    memcpy(a, s, sizeof a);
    for (int j = 0; i < n; i++, j++)
        a[j] += (double)x[i] * (double)x[i];
    for (int w = 32; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            a[j] += a[j + w];
    return a[0];
}

/* Blocks that fit a piece of the stack when the caller gives no room. */
#define GROUP 512

typedef struct sumsq_plan {
    const rlf_sumsq_args *a;
    int64_t first; /* block */
    double *blocks;
} sumsq_plan;

/* Elements at..at+n-1 of columns, one after the other. */
static void
copy_columns(const rlf_sumsq_args *a, int64_t at, int64_t n, float *out)
{
    while (n > 0) {
        int64_t column = at % a->width, count = a->width - column;
        count = count < n ? count : n;
        memcpy(out, a->x + at / a->width * a->ld + column, (size_t)count * 4);
        out += count;
        at += count;
        n -= count;
    }
}

static void
sumsq_part(void *ctx, int64_t first, int64_t last, char *scratch)
{
    const sumsq_plan *p = ctx;
    const rlf_sumsq_args *a = p->a;
    for (int64_t b = first; b < last; b++) {
        int64_t at = (p->first + b) * BLOCK;
        int64_t n = a->n - at < BLOCK ? a->n - at : BLOCK;
        const float *x = a->x + at;
        if (a->ld != a->width) {
            copy_columns(a, at, n, (float *)scratch);
            x = (const float *)scratch;
        }
        p->blocks[b] = sumsq_block(x, n);
    }
}

rlf_status
ISA(sumsq)(rlf_queue *queue, const rlf_sumsq_args *args, rlf_err *err)
{
    NEED(args->n >= 0 && args->width >= 0 && args->ld >= args->width, "sumsq");
    double room[GROUP], sum = args->total ? *args->total : 0;
    int64_t n_blocks = (args->n + BLOCK - 1) / BLOCK;
    for (int64_t b = 0; b < n_blocks; b += GROUP) {
        int64_t end = b + GROUP < n_blocks ? b + GROUP : n_blocks;
        sumsq_plan p = {.a = args,
                        .first = b,
                        .blocks = args->blocks ? args->blocks + b : room};
        rlf_cpu_share(queue, end - b, 1, 8.0 * (double)((end - b) * BLOCK),
                      sumsq_part, &p);
        for (int64_t i = 0; i < end - b; i++)
            sum += p.blocks[i];
    }
    if (args->total)
        *args->total = sum;
    return RLF_OK;
}
