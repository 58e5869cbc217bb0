/* Attention on a GPU beside what the GPU can do, in one run.
 *
 *     bench/gpu/attention [tiny]
 *
 * Packed causal sequences, forward and backward: flops (4 d and 10 d for every
 * query head, token and position that it sees) a second, over the rate of
 * cuBLASLt's product of 8192 cubed. Decoding: bytes of keys and values a
 * second, over those that a copy reads and writes. Times are of calls one after
 * the other, launches and all. `tiny` runs on the CPU where there is no GPU: a
 * look at the program, no measurement. */
#include "bench/gpu/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct form {
    const char *name;
    int64_t heads, kv_heads, d;
    int64_t n_seqs, length, window; /* packed */
    int batches[5], contexts[4];    /* of decoding; 0: no more */
} form;

static const form forms[] = {
    {"1b", 32, 8, 64, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048, 8192}},
    {"7b", 32, 32, 128, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048}},
    {"8b", 32, 8, 128, 8, 2048, 0, {1, 16, 64, 256}, {512, 2048, 8192}},
    {"long", 32, 8, 128, 1, 16384, 0, {1}, {32768}},
    {"window", 32, 8, 128, 1, 16384, 1024, {1}, {32768}},
    {"ragged", 32, 8, 128, 64, 256, 0, {0}, {0}},
};

static const form tiny = {"tiny", 4, 2, 64, 2, 40, 0, {1, 4}, {64}};

enum { PAGE = 64, ROUNDS = 3 };

typedef struct bench {
    rlf_device *device;
    rlf_queue *queue;
    const rlf_kernels *kernels;
    limits limits;
    int times; /* calls of a round */
} bench;

static void *
take(const bench *b, int64_t n, size_t size)
{
    rlf_err err = RLF_ERR_NONE;
    void *p;
    must(rlf_device_alloc(b->device, (size_t)n * size, &p, &err), &err);
    return p;
}

static void
give(const bench *b, void *p, int64_t n, size_t size)
{
    rlf_device_release(b->device, p, (size_t)n * size);
}

static void
send(const bench *b, void *to, const void *from, size_t bytes)
{
    rlf_err err = RLF_ERR_NONE;
    must(rlf_queue_copy(b->queue, to, from, bytes, RLF_COPY_TO_DEVICE, &err),
         &err);
    must(rlf_queue_sync(b->queue, &err), &err);
}

/* n activations in [-1, 1): a block of them again and again. */
static void *
numbers(const bench *b, int64_t n)
{
    enum { BLOCK = 1 << 20 };
    size_t size = rlf_real_bytes(b->kernels);
    char *p = take(b, n, size), *host = malloc(BLOCK * size);
    uint32_t x = 2463534242U;
    for (size_t i = 0; i < BLOCK; i++) {
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        float value = (float)(x >> 8) * 0x1p-23F - 1;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        uint16_t half = (uint16_t)(bits >> 16);
        if (size == sizeof half)
            memcpy(host + i * size, &half, sizeof half);
        else
            memcpy(host + i * size, &value, sizeof value);
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t some = n - at < BLOCK ? n - at : BLOCK;
        send(b, p + (size_t)at * size, host, (size_t)some * size);
    }
    free(host);
    return p;
}

/* Seconds of a call: the best round. */
static double
time_of(const bench *b, void (*call)(const bench *b, const void *args),
        const void *args)
{
    rlf_err err = RLF_ERR_NONE;
    double best = 1e30;
    for (int round = 0; round <= ROUNDS; round++) {
        double t = seconds_now();
        for (int i = 0; i < b->times; i++)
            call(b, args);
        must(rlf_queue_sync(b->queue, &err), &err);
        t = (seconds_now() - t) / b->times;
        best = round && t < best ? t : best; /* the first warms up */
    }
    return best;
}

static void
call_forward(const bench *b, const void *args)
{
    rlf_err err = RLF_ERR_NONE;
    must(b->kernels->attention(b->queue, args, &err), &err);
}

static void
call_backward(const bench *b, const void *args)
{
    rlf_err err = RLF_ERR_NONE;
    must(b->kernels->attention_grad(b->queue, args, &err), &err);
}

static void
call_paged(const bench *b, const void *args)
{
    rlf_err err = RLF_ERR_NONE;
    must(b->kernels->attention_paged(b->queue, args, &err), &err);
}

/* Of one query head: positions seen by all tokens. */
static double
seen(const form *f)
{
    double n = 0;
    for (int64_t t = 0; t < f->length; t++)
        n += (double)(f->window && t >= f->window ? f->window : t + 1);
    return n * (double)f->n_seqs;
}

static void
packed(const bench *b, const form *f)
{
    int64_t n = f->n_seqs * f->length, q = f->heads * f->d;
    int64_t kv = f->kv_heads * f->d, row = q + 2 * kv;
    size_t size = rlf_real_bytes(b->kernels);
    int32_t *offsets = malloc((size_t)(f->n_seqs + 1) * sizeof *offsets);
    for (int64_t s = 0; s <= f->n_seqs; s++)
        offsets[s] = (int32_t)(s * f->length);
    void *x = numbers(b, n * row), *dx = take(b, n * row, size);
    void *o = take(b, n * q, size), *d_o = numbers(b, n * q);
    float *lse = take(b, n * f->heads, sizeof *lse);
    const void *k = rlf_real_at(b->kernels, x, q);
    const void *v = rlf_real_at(b->kernels, x, q + kv);
    const rlf_attention_args forward = {.n_seqs = f->n_seqs,
                                        .offsets = offsets,
                                        .heads = f->heads,
                                        .kv_heads = f->kv_heads,
                                        .d = f->d,
                                        .scale = 0.1F,
                                        .window = f->window,
                                        .q = x,
                                        .k = k,
                                        .v = v,
                                        .ldq = row,
                                        .ldk = row,
                                        .ldv = row,
                                        .o = o,
                                        .lse = lse};
    const rlf_attention_grad_args backward = {
        .n_seqs = f->n_seqs,
        .offsets = offsets,
        .heads = f->heads,
        .kv_heads = f->kv_heads,
        .d = f->d,
        .scale = 0.1F,
        .window = f->window,
        .q = x,
        .k = k,
        .v = v,
        .ldq = row,
        .ldk = row,
        .ldv = row,
        .o = o,
        .d_o = d_o,
        .lse = lse,
        .dq = dx,
        .dk = rlf_real_at(b->kernels, dx, q),
        .dv = rlf_real_at(b->kernels, dx, q + kv),
        .lddq = row,
        .lddk = row,
        .lddv = row};
    double flops = 4 * (double)(f->heads * f->d) * seen(f);
    double t = time_of(b, call_forward, &forward);
    printf("%-7s forward  %8.3f ms %6.1f TFLOP/s %5.1f %%\n", f->name, t * 1e3,
           flops / t / 1e12, 100 * flops / t / b->limits.flops);
    flops *= 2.5;
    t = time_of(b, call_backward, &backward);
    printf("%-7s backward %8.3f ms %6.1f TFLOP/s %5.1f %%\n", f->name, t * 1e3,
           flops / t / 1e12, 100 * flops / t / b->limits.flops);
    give(b, x, n * row, size);
    give(b, dx, n * row, size);
    give(b, o, n * q, size);
    give(b, d_o, n * q, size);
    give(b, lse, n * f->heads, sizeof *lse);
    free(offsets);
}

/* A token each for `batch` sequences after `context` others. */
static void
decode(const bench *b, const form *f, int batch, int context)
{
    int64_t q = f->heads * f->d, each = (context + PAGE) / PAGE;
    int64_t page = rlf_kv_page_floats(PAGE, f->kv_heads, f->d);
    size_t size = rlf_real_bytes(b->kernels);
    int32_t *offsets = malloc((size_t)(batch + 1) * sizeof *offsets);
    int32_t *starts = malloc((size_t)batch * sizeof *starts);
    int32_t *pages = malloc((size_t)(batch * each) * sizeof *pages);
    for (int s = 0; s <= batch; s++)
        offsets[s] = s;
    for (int s = 0; s < batch; s++)
        starts[s] = context - 1;
    /* pages of a sequence lie apart */
    for (int64_t i = 0; i < batch * each; i++)
        pages[i] = (int32_t)(i % each * batch + i / each);
    void *x = numbers(b, batch * q), *o = take(b, batch * q, size);
    void *kv = numbers(b, batch * each * page);
    int32_t *on_device = take(b, batch * each, sizeof *pages);
    send(b, on_device, pages, (size_t)(batch * each) * sizeof *pages);
    const rlf_attention_paged_args args = {.n_seqs = batch,
                                           .offsets = offsets,
                                           .starts = starts,
                                           .pages = on_device,
                                           .ld_pages = each,
                                           .heads = f->heads,
                                           .kv_heads = f->kv_heads,
                                           .d = f->d,
                                           .scale = 0.1F,
                                           .window = f->window,
                                           .q = x,
                                           .kv = kv,
                                           .page_size = PAGE,
                                           .o = o};
    double t = time_of(b, call_paged, &args);
    int64_t sees =
        f->window && f->window < context ? f->window : (int64_t)context;
    double bytes =
        2.0 * (double)(batch * sees * f->kv_heads * f->d) * (double)size;
    printf("%-7s decode %4d x %5d %8.1f us %6.0f GB/s %5.1f %%\n", f->name,
           batch, context, t * 1e6, bytes / t / 1e9,
           100 * bytes / t / b->limits.bytes);
    give(b, x, batch * q, size);
    give(b, o, batch * q, size);
    give(b, kv, batch * each * page, size);
    give(b, on_device, batch * each, sizeof *pages);
    free(offsets);
    free(starts);
    free(pages);
}

static void
run(const bench *b, const form *f)
{
    packed(b, f);
    for (int i = 0; i < 5 && f->batches[i]; i++)
        for (int j = 0; j < 4 && f->contexts[j]; j++)
            decode(b, f, f->batches[i], f->contexts[j]);
}

int
main(int argc, char **argv)
{
    bool small = argc > 1 && strcmp(argv[1], "tiny") == 0;
    bench b = {.times = small ? 1 : 20};
    limits_open(small, &b.device, &b.queue, &b.kernels);
    b.limits = limits_measure(b.queue);
    if (small)
        run(&b, &tiny);
    for (size_t i = 0; !small && i < sizeof forms / sizeof *forms; i++)
        run(&b, &forms[i]);
    rlf_queue_free(b.queue);
    rlf_device_free(b.device);
    return 0;
}
