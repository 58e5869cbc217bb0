/* Our packed products beside oneDNN's, in one run.
 *
 *     bench/product [threads] [seconds per measurement [n k]]
 *
 * For every shape: GFLOP/s of y = x w^T (ours, oneDNN's best of sgemm and a
 * matmul primitive with weights in the layout it prefers), of dw += dy^T x and
 * of dx = dy w, as best of many calls that alternate; then the geometric means
 * of the ratios. */
#include "bench/matmul.h"
#include "bench/measure.h"
#include "kernels/kernels.h"

#include <omp.h>

static const int shapes[][2] = {
    {96, 96},   {192, 96},    {512, 96},    {96, 256},    {43, 96},
    {288, 288}, {864, 288},   {1536, 288},  {288, 768},   {32000, 288},
    {896, 896}, {2048, 2048}, {5632, 2048}, {2048, 5632},
};
static const int rows[] = {1, 4, 16, 64, 256, 1024, 2048};

typedef struct work {
    int m, n, k;
    const rlf_kernels *kernels;
    rlf_queue *queue;
    float *x, *w, *c, *dw;
    void *packed, *back;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    matmul theirs;
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
    matmul_run(&a->theirs);
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
    a->theirs = matmul_open(a->engine, a->stream, dnnl_f32, a->m, a->n, a->k,
                            a->x, a->c);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 7; i++) {
            if (i >= 3 && a->m < 64)
                continue;
            double b = best(fns[i], a, seconds / 3);
            t[i] = b < t[i] ? b : t[i];
        }
    matmul_close(&a->theirs);
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
    check(rlf_device_alloc(device, n * 4, &p, &err), &err);
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
    check(rlf_device_cpu_new(&options, &device, &err), &err);
    check(rlf_queue_new(device, &a.queue, &err), &err);
    omp_set_num_threads(threads);
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    must(dnnl_engine_create(&a.engine, dnnl_cpu, 0));
    must(dnnl_stream_create(&a.stream, a.engine, dnnl_stream_default_flags));
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
