/* Products of bf16 on a GPU beside what they are due, the larger of bytes over
 * the bandwidth of a copy and flops over the rate of cuBLASLt's product of 8192
 * cubed, and beside cuBLASLt: the best of what it offers for the same product.
 *
 *     bench/gpu/products [1b | 7b | tiny]
 *
 * Forward products are those of decoding and of training, which have the same
 * bits for any number of rows; here is seen what that costs. Gradients are
 * cuBLASLt's first choice. Weights are read from memory, not from caches: there
 * are as many copies of them as fill these several times. */
#include "bench/gpu/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#ifdef RLF_HAVE_CUDA
#include "kernels/cuda/lt.h"
#endif

enum { COPIES = 16, OFFERS = 8 };
#define COLD ((int64_t)512 << 20)

typedef struct layer {
    const char *shape, *name;
    int64_t n, k; /* [n, k] weights */
} layer;

static const layer layers[] = {
    {"1b", "qkv", 3072, 2048},       {"1b", "o", 2048, 2048},
    {"1b", "gate, up", 16384, 2048}, {"1b", "down", 2048, 8192},
    {"7b", "qkv", 12288, 4096},      {"7b", "o", 4096, 4096},
    {"7b", "gate, up", 22016, 4096}, {"7b", "down", 4096, 11008},
    {"tiny", "qkv", 160, 64},        {"tiny", "down", 64, 320},
};

static const int64_t rows[] = {1, 16, 64, 256, 2048, 16384};

/* A product that both libraries compute. */
typedef struct job {
    const layer *l;
    int64_t m;
    enum {
        FORWARD,
        BY_X,
        BY_W,
        /* Forward, and the gradients by x and by w. */
        KINDS
    } kind;
    int n;                                    /* copies of the weights */
    void *w[COPIES];                          /* packed */
    void *x, *y;                              /* [m, k], [m, n] */
    float *dw;
} job;

static const rlf_kernels *kernels;

static rlf_status
product_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return kernels->product(queue, args, err);
}

static rlf_status
grad_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return kernels->product_grad(queue, args, err);
}

static double
ours(rig *r, const job *j)
{
    rlf_product_args p[COPIES];
    bool back = j->kind == BY_X;
    if (j->kind == BY_W) {
        const rlf_product_grad_args g = {.m = j->m,
                                         .n = j->l->n,
                                         .k = j->l->k,
                                         .dy = j->y,
                                         .x = j->x,
                                         .dw = j->dw};
        return rig_time(r, grad_call, &g, sizeof g, 1);
    }
    for (int i = 0; i < j->n; i++)
        p[i] = (rlf_product_args){.m = j->m,
                                  .n = back ? j->l->k : j->l->n,
                                  .k = back ? j->l->n : j->l->k,
                                  .x = back ? j->y : j->x,
                                  .packed = j->w[i],
                                  .form = back ? RLF_PRODUCT_BACKWARD
                                               : RLF_PRODUCT_FORWARD,
                                  .c = back ? j->x : j->y};
    return rig_time(r, product_call, p, sizeof *p, j->n);
}

#ifdef RLF_HAVE_CUDA

static rlf_status
library_call(rlf_queue *queue, const void *args, rlf_err *err)
{
    return rlf_lt_multiply(queue, args, err);
}

/* The product of the same operands in cuBLASLt's hands. */
static rlf_lt_product
asked_of(const job *j, int copy, int offer)
{
    int64_t m = j->m, n = j->l->n, k = j->l->k;
    rlf_lt_product p = {.m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n};
    p.offer = offer;
    p.a = j->x;
    p.b = j->w[copy];
    p.c = j->y;
    if (j->kind == BY_X) {
        p.n = p.ldb = p.ldc = k;
        p.k = p.lda = n;
        p.b_turned = true;
        p.a = j->y;
        p.c = j->x;
    }
    if (j->kind == BY_W) {
        p.m = p.lda = n;
        p.n = p.ldb = p.ldc = k;
        p.k = m;
        p.a_turned = p.b_turned = p.c_f32 = p.add = true;
        p.a = j->y;
        p.b = j->x;
        p.c = j->dw;
    }
    return p;
}

/* Seconds of the best that it offers; 0: nothing. */
static double
library(rig *r, const job *j)
{
    rlf_err err = RLF_ERR_NONE;
    double best = 0;
    for (int offer = 0; offer < OFFERS; offer++) {
        rlf_lt_product p[COPIES];
        if (!limits_gpu(r->queue))
            return 0;
        for (int i = 0; i < j->n; i++)
            p[i] = asked_of(j, i, offer);
        if (rlf_lt_multiply(r->queue, p, &err) != RLF_OK)
            continue; /* it has no such offer */
        double t = rig_time(r, library_call, p, sizeof *p, j->n);
        best = best == 0 || t < best ? t : best;
    }
    return best;
}

#else

static double
library(rig *r, const job *j)
{
    (void)r, (void)j;
    return 0;
}

#endif

static void
measure(rig *r, job *j)
{
    static const char *const kinds[] = {"", ", by x", ", by w"};
    double m = (double)j->m, n = (double)j->l->n, k = (double)j->l->k;
    double real = (double)rlf_real_bytes(kernels);
    double bytes = j->kind == BY_W ? (m * n + m * k) * real + n * k * 8
                                   : (m * n + m * k + n * k) * real;
    const char *by;
    double due = rig_due(r, bytes, 2 * m * n * k, &by);
    int times = r->times;
    if (due > 1e-3 && times > 6)
        r->times = 6;
    double took = ours(r, j), other = library(r, j);
    r->times = times;
    printf("| %s %s %d x %d%s | %d | %.2f | %.2f by %s | %.2f |", j->l->shape,
           j->l->name, (int)j->l->n, (int)j->l->k, kinds[j->kind], (int)j->m,
           took * 1e6, due * 1e6, by, due / took);
    if (other > 0)
        printf(" %.2f | %.2f |\n", other * 1e6, other / took);
    else
        printf(" - | - |\n");
    fflush(stdout);
}

static void
run(rig *r, const layer *l)
{
    rlf_err err = RLF_ERR_NONE;
    int64_t most = r->small ? 16 : 16384;
    size_t packed =
        kernels->product_packed_bytes(l->n, l->k, RLF_PRODUCT_FORWARD);
    job j = {.l = l, .n = (int)(COLD / (int64_t)packed)};
    j.n = j.n < 1 || r->small ? 1 : j.n > COPIES ? COPIES : j.n;
    j.dw = rig_floats(r, l->n * l->k);
    for (int i = 0; i < j.n; i++) {
        j.w[i] = rig_take(r, packed);
        const rlf_product_pack_args pack = {.rows = l->n,
                                            .cols = l->k,
                                            .w = j.dw,
                                            .form = RLF_PRODUCT_FORWARD,
                                            .packed = j.w[i]};
        must(kernels->product_pack(r->queue, &pack, &err), &err);
    }
    j.x = rig_reals(r, most * l->k);
    j.y = rig_reals(r, most * l->n);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int kind = 0; kind < KINDS && rows[i] <= most; kind++) {
            j.m = rows[i];
            j.kind = kind;
            /* gradients are of training; the CPU packs another way for them */
            if (kind == FORWARD || (kernels->one_pack && j.m >= most / 64))
                measure(r, &j);
        }
    rig_clear(r);
}

int
main(int argc, char **argv)
{
    rig r;
    rig_open(&r, argc, argv);
    kernels = r.kernels;
    printf("\n| weights | rows | us | due | of due | cuBLASLt's best | of that "
           "|\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (rig_named(argc, argv, layers[i].shape))
            run(&r, &layers[i]);
    rig_close(&r);
    return 0;
}
