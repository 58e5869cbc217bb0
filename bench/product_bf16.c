/* Our products in bf16 beside ours in f32 and oneDNN's in bf16, in one run.
 *
 *     bench/product_bf16 [threads] [seconds per measurement [n k]]
 *
 * For every shape: GFLOP/s of y = x w^T in the three, of dw += dy^T x and of
 * dx = dy w in our two, as best of many calls that alternate; then the
 * geometric means of the ratios. */
#include "bench/matmul.h"
#include "bench/measure.h"
#include "kernels/kernels.h"

#include <omp.h>

static const int shapes[][2] = {
    {288, 288}, {864, 288},   {1536, 288},  {288, 768},   {32000, 288},
    {896, 896}, {2048, 2048}, {5632, 2048}, {2048, 5632},
};
static const int rows[] = {1, 4, 16, 64, 256, 1024, 2048};

/* The operands of a product in one type. */
typedef struct side {
    const rlf_kernels *kernels;
    void *x, *c, *packed, *back;
} side;

typedef struct work {
    int m, n, k;
    rlf_queue *queue;
    side side[2]; /* bf16, f32 */
    float *dw;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    matmul theirs;
} work;

static void
forward(const work *a, const side *s)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_args p = {.m = a->m,
                          .n = a->n,
                          .k = a->k,
                          .x = s->x,
                          .packed = s->packed,
                          .c = s->c};
    s->kernels->product(a->queue, &p, &err);
}

static void
gradient(const work *a, const side *s)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_grad_args p = {
        .m = a->m, .n = a->n, .k = a->k, .dy = s->c, .x = s->x, .dw = a->dw};
    s->kernels->product_grad(a->queue, &p, &err);
}

static void
backward(const work *a, const side *s)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_product_args p = {.m = a->m,
                          .n = a->k,
                          .k = a->n,
                          .x = s->c,
                          .packed = s->back,
                          .form = RLF_PRODUCT_BACKWARD,
                          .c = s->x};
    s->kernels->product(a->queue, &p, &err);
}

static void
theirs(const work *a, const side *s)
{
    (void)s;
    matmul_run(&a->theirs);
}

typedef void product_fn(const work *a, const side *s);

static double
best(product_fn *fn, const work *a, const side *s, double seconds)
{
    /* let the other side's threads fall asleep */
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    double least = 1e9, start = now();
    do {
        double t = now();
        fn(a, s);
        t = now() - t;
        least = t < least ? t : least;
    } while (now() - start < seconds);
    return least;
}

static void
print(const char *what, const mean *m)
{
    printf("%-44s geometric mean %.2f, least %.2f\n", what,
           exp(m->log_sum / m->n), m->least);
}

/* Means of ratios: to f32 with few rows, with many, of gradients; to oneDNN. */
enum { FEW, MANY, GRADIENTS, ONEDNN, MEANS };

static void
measure(work *a, double seconds, mean means[MEANS])
{
    enum { CASES = 7 };
    static product_fn *const fns[CASES] = {
        forward, forward, theirs, gradient, gradient, backward, backward};
    static const int sides[CASES] = {0, 1, 0, 0, 1, 0, 1};
    double t[CASES], rate[CASES], flops = 2e-9 * a->m * a->n * a->k;
    a->theirs = matmul_open(a->engine, a->stream, dnnl_bf16, a->m, a->n, a->k,
                            a->side[0].x, a->side[0].c);
    for (int i = 0; i < CASES; i++)
        t[i] = 1e9;
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < CASES; i++) {
            if (i >= 3 && a->m < 64)
                continue;
            double b = best(fns[i], a, &a->side[sides[i]], seconds / 3);
            t[i] = b < t[i] ? b : t[i];
        }
    matmul_close(&a->theirs);
    for (int i = 0; i < CASES; i++)
        rate[i] = flops / t[i];
    printf("m %4d n %5d k %4d  forward %4.0f / %4.0f %4.0f", a->m, a->n, a->k,
           rate[0], rate[1], rate[2]);
    add(&means[a->m < 64 ? FEW : MANY], rate[0] / rate[1]);
    add(&means[ONEDNN], rate[0] / rate[2]);
    if (a->m >= 64) {
        printf("  dw %4.0f / %4.0f  dx %4.0f / %4.0f", rate[3], rate[4],
               rate[5], rate[6]);
        add(&means[GRADIENTS], rate[3] / rate[4]);
        add(&means[GRADIENTS], rate[5] / rate[6]);
    }
    printf("\n");
    fflush(stdout);
}

/* From the device, so that large blocks lie in huge pages for all sides; of
 * zeros, or of small numbers in a type. */
static void *
numbers(rlf_device *device, size_t n, rlf_cast_type type)
{
    rlf_err err = RLF_ERR_NONE;
    void *p;
    check(rlf_device_alloc(device, n * 4, &p, &err), &err);
    float *x = p;
    uint16_t *h = p;
    for (size_t i = 0; i < n; i++) {
        float value = (float)((double)(i * 2654435761u % 1000) / 1000 - 0.5);
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (type == RLF_CAST_BF16)
            h[i] = (uint16_t)(bits >> 16);
        else
            x[i] = value;
    }
    return p;
}

/* What products of up to 2,048 rows read and write. */
static void
open_side(side *s, rlf_device *device, rlf_queue *queue, int n, int k,
          const float *w)
{
    rlf_err err = RLF_ERR_NONE;
    size_t wide = (size_t)n + 64, deep = (size_t)k + 64;
    s->x = numbers(device, 2048 * (size_t)k, s->kernels->real);
    s->c = numbers(device, 2048 * (size_t)n, s->kernels->real);
    s->packed = numbers(device, wide * deep, RLF_CAST_F32);
    s->back = numbers(device, wide * deep, RLF_CAST_F32);
    rlf_product_pack_args p = {
        .rows = n, .cols = k, .w = w, .packed = s->packed};
    s->kernels->product_pack(queue, &p, &err);
    p.form = RLF_PRODUCT_BACKWARD;
    p.packed = s->back;
    s->kernels->product_pack(queue, &p, &err);
}

static void
close_side(side *s, rlf_device *device)
{
    void *held[] = {s->x, s->c, s->packed, s->back};
    for (int i = 0; i < 4; i++)
        rlf_device_release(device, held[i], 0);
}

int
main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 2;
    double seconds = argc > 2 ? atof(argv[2]) : 0.1;
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    work a = {.side = {{.kernels = rlf_kernels_cpu_bf16(NULL)},
                       {.kernels = rlf_kernels_cpu()}}};
    rlf_cpu_options options = {.n_threads = threads};
    check(rlf_device_cpu_new(&options, &device, &err), &err);
    check(rlf_queue_new(device, &a.queue, &err), &err);
    omp_set_num_threads(threads);
    if (threads == 1)
        clock_used = CLOCK_THREAD_CPUTIME_ID;
    must(dnnl_engine_create(&a.engine, dnnl_cpu, 0));
    must(dnnl_stream_create(&a.stream, a.engine, dnnl_stream_default_flags));
    printf("%d threads; %s in bf16 / %s in f32, oneDNN in bf16 (GFLOP/s)\n",
           threads, a.side[0].kernels->isa, a.side[1].kernels->isa);
    mean means[MEANS] = {{0}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        a.n = shapes[s][0];
        a.k = shapes[s][1];
        if (argc > 4 && (atoi(argv[3]) != a.n || atoi(argv[4]) != a.k))
            continue;
        size_t weights = (size_t)a.n * (size_t)a.k;
        float *w = numbers(device, weights, RLF_CAST_F32);
        a.dw = numbers(device, weights, RLF_CAST_F32);
        for (int i = 0; i < 2; i++)
            open_side(&a.side[i], device, a.queue, a.n, a.k, w);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            a.m = rows[i];
            measure(&a, seconds, means);
        }
        for (int i = 0; i < 2; i++)
            close_side(&a.side[i], device);
        rlf_device_release(device, w, 0);
        rlf_device_release(device, a.dw, 0);
    }
    print("forward to f32, 1 to 16 rows:", &means[FEW]);
    print("forward to f32, 64 rows and more:", &means[MANY]);
    print("gradients to f32, 64 rows and more:", &means[GRADIENTS]);
    print("forward to oneDNN in bf16:", &means[ONEDNN]);
    dnnl_stream_destroy(a.stream);
    dnnl_engine_destroy(a.engine);
    rlf_queue_free(a.queue);
    rlf_device_free(device);
    return 0;
}
