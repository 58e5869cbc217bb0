/* Our packed products beside oneDNN's, in one run.
 *
 *     bench/product [threads] [seconds per measurement [n k]]
 *
 * For every shape: GFLOP/s of y = x w^T (ours, oneDNN's best of sgemm and a
 * matmul primitive with weights in the layout it prefers), of dw += dy^T x and
 * of dx = dy w, as best of many calls that alternate; then the geometric means
 * of the ratios. */
#include "kernels/kernels.h"

#include <dnnl.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int shapes[][2] = {
    {96, 96},   {192, 96},    {512, 96},    {96, 256},    {43, 96},
    {288, 288}, {864, 288},   {1536, 288},  {288, 768},   {32000, 288},
    {896, 896}, {2048, 2048}, {5632, 2048}, {2048, 5632},
};
static const int rows[] = {1, 4, 16, 64, 256, 1024, 2048};

/* With one thread the thread's own time: other processes do not disturb it. */
static clockid_t clock_used = CLOCK_MONOTONIC;

static double
now(void)
{
    struct timespec t;
    clock_gettime(clock_used, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct work {
    int m, n, k;
    const rlf_kernels *kernels;
    rlf_queue *queue;
    float *x, *w, *c, *dw;
    void *packed, *back;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_t primitive;
    dnnl_memory_t mx, mw, mc;
} work;

static void
ours(work *a)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_args p = {.m = a->m,
                          .n = a->n,
                          .k = a->k,
                          .x = a->x,
                          .packed = a->packed,
                          .c = a->c};
    a->kernels->product(a->queue, &p, &err);
}

static void
ours_grad(work *a)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_grad_args p = {
        .m = a->m, .n = a->n, .k = a->k, .dy = a->c, .x = a->x, .dw = a->dw};
    a->kernels->product_grad(a->queue, &p, &err);
}

static void
ours_back(work *a)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_args p = {.m = a->m,
                          .n = a->k,
                          .k = a->n,
                          .x = a->c,
                          .packed = a->back,
                          .c = a->x};
    a->kernels->product(a->queue, &p, &err);
}

static void
theirs(work *a)
{
    dnnl_sgemm('N', 'T', a->m, a->n, a->k, 1, a->x, a->k, a->w, a->k, 0, a->c,
               a->n);
}

static void
theirs_grad(work *a)
{
    dnnl_sgemm('T', 'N', a->n, a->k, a->m, 1, a->c, a->n, a->x, a->k, 1, a->dw,
               a->k);
}

static void
theirs_back(work *a)
{
    dnnl_sgemm('N', 'N', a->m, a->k, a->n, 1, a->c, a->n, a->w, a->k, 0, a->x,
               a->k);
}

static void
theirs_matmul(work *a)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, a->mx},
                              {DNNL_ARG_WEIGHTS, a->mw},
                              {DNNL_ARG_DST, a->mc}};
    dnnl_primitive_execute(a->primitive, a->stream, 3, args);
    dnnl_stream_wait(a->stream);
}

static void
check(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN failed: %d\n", (int)status);
        exit(1);
    }
}

/* A matmul primitive that chose the layout of its weights. */
static void
open_matmul(work *a)
{
    dnnl_memory_desc_t x, w, any, c;
    dnnl_dims_t dx = {a->m, a->k}, dw = {a->k, a->n}, dc = {a->m, a->n};
    check(dnnl_memory_desc_init_by_tag(&x, 2, dx, dnnl_f32, dnnl_ab));
    check(dnnl_memory_desc_init_by_tag(&any, 2, dw, dnnl_f32,
                                       dnnl_format_tag_any));
    check(dnnl_memory_desc_init_by_tag(&c, 2, dc, dnnl_f32, dnnl_ab));
    dnnl_matmul_desc_t desc;
    dnnl_primitive_desc_t pd;
    check(dnnl_matmul_desc_init(&desc, &x, &any, NULL, &c));
    check(dnnl_primitive_desc_create(&pd, &desc, NULL, a->engine, NULL));
    w = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    check(dnnl_primitive_create(&a->primitive, pd));
    check(dnnl_memory_create(&a->mx, &x, a->engine, a->x));
    check(dnnl_memory_create(&a->mw, &w, a->engine, DNNL_MEMORY_ALLOCATE));
    check(dnnl_memory_create(&a->mc, &c, a->engine, a->c));
    void *p; /* any numbers will do */
    check(dnnl_memory_get_data_handle(a->mw, &p));
    memset(p, 0, dnnl_memory_desc_get_size(&w));
    dnnl_primitive_desc_destroy(pd);
}

static void
close_matmul(work *a)
{
    dnnl_primitive_destroy(a->primitive);
    dnnl_memory_destroy(a->mx);
    dnnl_memory_destroy(a->mw);
    dnnl_memory_destroy(a->mc);
}

static double
best(void (*fn)(work *), work *a, double seconds)
{
    /* let the other side's threads fall asleep */
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    double least = 1e9, start = now();
    do {
        double t = now();
        fn(a);
        t = now() - t;
        least = t < least ? t : least;
    } while (now() - start < seconds);
    return least;
}

typedef struct mean {
    double log_sum, least;
    int n;
} mean;

static void
add(mean *m, double ratio)
{
    m->log_sum += log(ratio);
    m->least = m->n++ && m->least < ratio ? m->least : ratio;
}

static void
print(const char *what, const mean *m)
{
    printf("%-34s geometric mean %.0f %%, least %.0f %%\n", what,
           100 * exp(m->log_sum / m->n), 100 * m->least);
}

static void
measure(work *a, double seconds, mean *few, mean *many, mean *grads)
{
    void (*fns[7])(work *) = {ours,        theirs,    theirs_matmul, ours_grad,
                              theirs_grad, ours_back, theirs_back};
    double t[7];
    for (int i = 0; i < 7; i++)
        t[i] = 1e9;
    open_matmul(a);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 7; i++) {
            if (i >= 3 && a->m < 64)
                continue;
            double b = best(fns[i], a, seconds / 3);
            t[i] = b < t[i] ? b : t[i];
        }
    close_matmul(a);
    double flops = 2e-9 * a->m * a->n * a->k;
    double dnnl = t[1] < t[2] ? t[1] : t[2];
    printf("m %4d n %5d k %4d  forward %4.0f / %4.0f %4.0f  %3.0f %%", a->m,
           a->n, a->k, flops / t[0], flops / t[1], flops / t[2],
           100 * dnnl / t[0]);
    add(a->m <= 64 ? few : many, dnnl / t[0]);
    if (a->m >= 64) {
        printf("  dw %4.0f / %4.0f %3.0f %%  dx %4.0f / %4.0f %3.0f %%",
               flops / t[3], flops / t[4], 100 * t[4] / t[3], flops / t[5],
               flops / t[6], 100 * t[6] / t[5]);
        add(grads, t[4] / t[3]);
        add(grads, t[6] / t[5]);
    }
    printf("\n");
    fflush(stdout);
}

/* Memory from the device, so that large blocks lie in huge pages for both
 * sides. */
static float *
numbers(rlf_device *device, size_t n)
{
    rlf_err err = RLF_ERR_NONE;
    void *p;
    if (rlf_device_alloc(device, n * 4, &p, &err) < 0) {
        fprintf(stderr, "%s\n", err.sentence);
        exit(1);
    }
    float *x = p;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)((double)(i * 2654435761u % 1000) / 1000 - 0.5);
    return x;
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    double seconds = argc > 2 ? atof(argv[2]) : 0.1;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    work a = {.kernels = rlf_kernels_cpu()};
    rlf_cpu_options options = {.n_threads = threads};
    if (rlf_device_cpu_new(&options, &device, &err) < 0 ||
        rlf_queue_new(device, &a.queue, &err) < 0)
        return fprintf(stderr, "%s\n", err.sentence), 1;
    omp_set_num_threads(threads);
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    check(dnnl_engine_create(&a.engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&a.stream, a.engine, dnnl_stream_default_flags));
    printf("%s, %d threads; ours / oneDNN sgemm, matmul (GFLOP/s)\n",
           a.kernels->isa, threads);
    mean few = {0}, many = {0}, grads = {0};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t n = (size_t)shapes[s][0], k = (size_t)shapes[s][1];
        if (argc > 4 &&
            (atoi(argv[3]) != shapes[s][0] || atoi(argv[4]) != shapes[s][1]))
            continue;
        a.n = (int)n;
        a.k = (int)k;
        a.w = numbers(device, n * k);
        a.dw = numbers(device, n * k);
        a.x = numbers(device, 2048 * k);
        a.c = numbers(device, 2048 * n);
        a.packed = numbers(device, (n + 64) * k);
        a.back = numbers(device, n * (k + 64));
        rlf_product_pack_args p = {
            .rows = a.n, .cols = a.k, .w = a.w, .packed = a.packed};
        a.kernels->product_pack(a.queue, &p, &err);
        p.form = RLF_PRODUCT_BACKWARD;
        p.packed = a.back;
        a.kernels->product_pack(a.queue, &p, &err);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            a.m = rows[i];
            measure(&a, seconds, &few, &many, &grads);
        }
        void *held[] = {a.w, a.dw, a.x, a.c, a.packed, a.back};
        for (int i = 0; i < 6; i++)
            rlf_device_release(device, held[i], 0);
    }
    print("forward, 1..64 rows:", &few);
    print("forward, 256 rows and more:", &many);
    print("gradients, 64 rows and more:", &grads);
    dnnl_stream_destroy(a.stream);
    dnnl_engine_destroy(a.engine);
    rlf_queue_free(a.queue);
    rlf_device_free(device);
    return 0;
}
