/* See peaks.h. */
#include "bench/peaks.h"
#include "bench/measure.h"
#include "engine/dev/dev.h"

#include "config.h"

#include <string.h>
#include <unistd.h>
#ifdef RLF_HAVE_ONEDNN
#include <dnnl.h>
#include <omp.h>
#endif

enum { N = 1536 }; /* a square product that fits no second-level cache */

static float *
numbers(size_t n)
{
    float *p = aligned_alloc(64, (n * sizeof *p + 63) / 64 * 64);
    if (!p)
        exit(1);
    for (size_t i = 0; i < n; i++)
        p[i] = (float)(i % 13) * 0.1F;
    return p;
}

/* The best of so many seconds, or of three calls. */
#define BEST(seconds, call)                                            \
    ({                                                                 \
        double best_ = 1e30, start_ = now();                           \
        for (int i_ = 0; i_ < 3 || now() - start_ < (seconds); i_++) { \
            double t_ = now();                                         \
            call;                                                      \
            t_ = now() - t_;                                           \
            best_ = t_ < best_ ? t_ : best_;                           \
        }                                                              \
        best_;                                                         \
    })

/* ---- flops ---- */

static void
measure_flops(rlf_queue *queue, int threads, double seconds, bench_peaks *out)
{
    const rlf_kernels *k = rlf_kernels_cpu();
    rlf_err err = RLF_ERR_NONE;
    float *a = numbers((size_t)N * N), *b = numbers((size_t)N * N);
    float *c = numbers((size_t)N * N);
    float *packed =
        numbers(k->product_packed_bytes(N, N, RLF_PRODUCT_FORWARD) / 4);
    const double flops = 2.0 * N * N * N;
    const rlf_product_pack_args pack = {
        .rows = N, .cols = N, .w = b, .packed = packed};
    check(k->product_pack(queue, &pack, &err), &err);
    const rlf_product_args product = {
        .m = N, .n = N, .k = N, .x = a, .packed = packed, .c = c};
    out->flops =
        flops / BEST(seconds, check(k->product(queue, &product, &err), &err));
#ifdef RLF_HAVE_ONEDNN
    omp_set_num_threads(threads);
    out->library = flops / BEST(seconds, dnnl_sgemm('N', 'T', N, N, N, 1, a, N,
                                                    b, N, 0, c, N));
    if (out->library > out->flops)
        out->flops = out->library;
#else
    (void)threads;
#endif
    free(a);
    free(b);
    free(c);
    free(packed);
}

/* ---- bytes ---- */

typedef struct reading {
    const float *p;
    size_t n; /* a multiple of 64 a thread */
    float *sums;
} reading;

/* Sums so that every number is used; two loops beside the product of one row,
 * since which of them is fastest depends on the machine. */
#define LINES(r, thread, n_threads, ahead)             \
    size_t each = (r)->n / (size_t)(n_threads);        \
    const float *p = (r)->p + each * (size_t)(thread); \
    float s[64] = {0};                                 \
    for (size_t i = 0; i < each; i += 64) {            \
        ahead;                                         \
        for (int k = 0; k < 64; k++)                   \
            s[k] += p[i + (size_t)k];                  \
    }                                                  \
    float sum = 0;                                     \
    for (int k = 0; k < 64; k++)                       \
        sum += s[k];                                   \
    (r)->sums[(thread)*16] = sum

static void
read_plainly(void *arg, int thread, int n_threads)
{
    const reading *r = arg;
    LINES(r, thread, n_threads, (void)0);
}

static void
read_ahead(void *arg, int thread, int n_threads)
{
    const reading *r = arg;
    LINES(r, thread, n_threads, {
        __builtin_prefetch(p + i + 512);
        __builtin_prefetch(p + i + 528);
        __builtin_prefetch(p + i + 544);
        __builtin_prefetch(p + i + 560);
    });
}

enum { K = 1024 }; /* of the product of one row, which reads as well */

static void
measure_bytes(rlf_device *device, rlf_queue *queue, int threads, double seconds,
              bench_peaks *out)
{
    const rlf_kernels *kernels = rlf_kernels_cpu();
    rlf_err err = RLF_ERR_NONE;
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    /* some machines name the sum of several caches */
    double most = 4.0 * (double)cache;
    most = most < 256e6 ? 256e6 : most > 512e6 ? 512e6 : most;
    const double sizes[BENCH_BLOCKS] = {256e3 * threads, 4e6, 16e6, most};
    float *p = numbers((size_t)most / 4), sums[64 * 16], x[K] = {0};
    float *y = numbers((size_t)most / 4 / K);
    for (int i = 0; i < BENCH_BLOCKS; i++) {
        size_t part = (size_t)(64 * threads);
        reading r = {
            .p = p, .n = (size_t)sizes[i] / 4 / part * part, .sums = sums};
        /* small blocks many times, so that starting is not measured */
        int times = i < 2 ? 16 : 1;
        double plain = BEST(seconds, {
            for (int k = 0; k < times; k++)
                rlf_team_run(device->team, read_plainly, &r);
        });
        double ahead = BEST(seconds, {
            for (int k = 0; k < times; k++)
                rlf_team_run(device->team, read_ahead, &r);
        });
        const rlf_product_args row = {.m = 1,
                                      .n = (int64_t)r.n / K / 96 *
                                           96, /* whole panels */
                                      .k = K,
                                      .x = x,
                                      .packed = p,
                                      .c = y};
        double product = BEST(seconds, {
            for (int k = 0; k < times; k++)
                check(kernels->product(queue, &row, &err), &err);
        });
        double bytes = (double)r.n * 4 * times;
        double loops = bytes / (plain < ahead ? plain : ahead);
        product = (double)row.n * K * 4 * times / product;
        out->bytes[i] = (double)r.n * 4;
        out->read[i] = loops > product ? loops : product;
    }
    free(p);
    free(y);
}

void
bench_peaks_measure(rlf_device *device, rlf_queue *queue, int threads,
                    double seconds, bench_peaks *out)
{
    *out = (bench_peaks){0};
    clock_used = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    measure_flops(queue, threads, seconds, out);
    measure_bytes(device, queue, threads, seconds, out);
}

double
bench_peaks_due(const bench_peaks *peaks, double flops, double bytes)
{
    int i = 0;
    while (i < BENCH_BLOCKS - 1 && bytes > peaks->bytes[i])
        i++;
    double a = flops / peaks->flops, b = bytes / peaks->read[i];
    return a > b ? a : b;
}
