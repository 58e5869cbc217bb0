#include "bench/gpu/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "engine/dev/cuda.h"
#ifdef RLF_HAVE_CUDA
#include "kernels/cuda/lt.h"
#endif
#ifdef RLF_HAVE_EMULATED
#include "kernels/cuda/emulate_device.h"
#endif

void
must(rlf_status status, const rlf_err *err)
{
    if (status >= 0)
        return;
    fprintf(stderr, "bench: %s\n", err->sentence);
    exit(status == RLF_ENV ? 3 : 1);
}

double
seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Opens a device without a GPU, so that a program can be tried: emulated, or
 * the CPU. */
static void
open_instead(rlf_device **device, const rlf_kernels **kernels)
{
    rlf_err err = RLF_ERR_NONE;
#ifdef RLF_HAVE_EMULATED
    if (rlf_kernels_machine_has("v3")) {
        const rlf_backend *b = &rlf_backend_emulated;
        must(b->open(&(rlf_backend_options){.n_threads = 1}, device, &err),
             &err);
        *kernels = b->kernels(NULL, RLF_CAST_BF16);
        return;
    }
#endif
    must(rlf_device_cpu_new(&(rlf_cpu_options){.n_threads = 1}, device, &err),
         &err);
    *kernels = rlf_kernels_cpu();
}

void
limits_open(bool fallback, rlf_device **device, rlf_queue **queue,
            const rlf_kernels **kernels)
{
    rlf_err err = RLF_ERR_NONE, none = RLF_ERR_NONE;
    int n;
    if (fallback && rlf_device_cuda_count(&n, &none) < 0) {
        open_instead(device, kernels);
    } else {
        must(rlf_device_cuda_new(&(rlf_cuda_options){0}, device, &err), &err);
#ifdef RLF_HAVE_CUDA
        *kernels = rlf_kernels_cuda_bf16();
#endif
    }
    must(rlf_queue_new(*device, queue, &err), &err);
}

bool
limits_gpu(const rlf_queue *queue)
{
    return strcmp(queue->device->ops->name, "cuda") == 0;
}

/* Returns a block of random bf16 numbers near 1: zeros would be multiplied
 * faster. The host makes a piece of them, which the device copies until the
 * block is full. */
static void *
block_of(rlf_queue *queue, size_t bytes)
{
    enum { PIECE = 16 << 20 };
    rlf_err err = RLF_ERR_NONE;
    char *block;
    size_t have = bytes < PIECE ? bytes : PIECE;
    uint16_t *host = malloc(have);
    uint32_t x = 2463534242U;
    for (size_t i = 0; i < have / 2; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        host[i] = (uint16_t)(0x3f00 | (x & 0x80ff));
    }
    must(rlf_device_alloc(queue->device, bytes, (void **)&block, &err), &err);
    must(rlf_queue_copy(queue, block, host, have, RLF_COPY_TO_DEVICE, &err),
         &err);
    for (; have < bytes; have *= 2) {
        size_t some = bytes - have < have ? bytes - have : have;
        must(rlf_queue_copy(queue, block + have, block, some,
                            RLF_COPY_ON_DEVICE, &err),
             &err);
    }
    must(rlf_queue_sync(queue, &err), &err);
    free(host);
    return block;
}

static double
copy_rate(rlf_queue *queue, size_t bytes)
{
    enum { TIMES = 8, ROUNDS = 4 };
    rlf_err err = RLF_ERR_NONE;
    char *from = block_of(queue, bytes), *to = block_of(queue, bytes);
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double t = seconds_now();
        for (int i = 0; i < TIMES; i++)
            must(rlf_queue_copy(queue, to, from, bytes, RLF_COPY_ON_DEVICE,
                                &err),
                 &err);
        must(rlf_queue_sync(queue, &err), &err);
        double rate = 2.0 * TIMES * (double)bytes / (seconds_now() - t);
        best = rate > best ? rate : best;
    }
    rlf_device_release(queue->device, from, bytes);
    rlf_device_release(queue->device, to, bytes);
    return best;
}

static double
product_rate(rlf_queue *queue)
{
#ifdef RLF_HAVE_CUDA
    enum { N = 8192, TIMES = 8, ROUNDS = 4 };
    rlf_err err = RLF_ERR_NONE;
    if (!limits_gpu(queue))
        return 1e9;
    size_t bytes = (size_t)2 * N * N;
    void *a = block_of(queue, bytes), *b = block_of(queue, bytes);
    void *c = block_of(queue, bytes);
    const rlf_lt_product p = {.m = N,
                              .n = N,
                              .k = N,
                              .a = a,
                              .b = b,
                              .c = c,
                              .lda = N,
                              .ldb = N,
                              .ldc = N};
    double best = 0;
    for (int round = 0; round <= ROUNDS; round++) {
        double t = seconds_now();
        for (int i = 0; i < TIMES; i++)
            if (rlf_lt_multiply(queue, &p, &err) != RLF_OK)
                must(rlf_fail(&err, RLF_ENV, "cuBLASLt is not there"), &err);
        must(rlf_queue_sync(queue, &err), &err);
        double rate = 2.0 * TIMES * N * N * N / (seconds_now() - t);
        best = round && rate > best ? rate : best; /* the first warms up */
    }
    rlf_device_release(queue->device, a, bytes);
    rlf_device_release(queue->device, b, bytes);
    rlf_device_release(queue->device, c, bytes);
    return best;
#else
    (void)queue;
    return 1e9;
#endif
}

limits
limits_measure(rlf_queue *queue)
{
    bool gpu = limits_gpu(queue);
    setvbuf(stdout, NULL, _IOLBF, 0); /* who is cut off has its rows */
    limits l = {.bytes = copy_rate(queue, (size_t)(gpu ? 4096 : 64) << 20),
                .flops = product_rate(queue)};
    printf("copies %.0f GB/s, products %.0f TFLOP/s%s\n", l.bytes / 1e9,
           l.flops / 1e12, gpu ? "" : " (without a GPU: no measurement)");
    return l;
}
