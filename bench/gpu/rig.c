/* See rig.h. */
#include "bench/gpu/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 4, BLOCK = 1 << 20 };

void
rig_open(rig *r, int argc, char **argv)
{
    *r = (rig){.times = 24};
    for (int i = 1; i < argc; i++)
        r->small |= strcmp(argv[i], "tiny") == 0;
    limits_open(r->small, &r->device, &r->queue, &r->kernels);
    if (r->small)
        r->times = 2;
    r->limits = limits_measure(r->queue);
}

void
rig_close(rig *r)
{
    rig_clear(r);
    rlf_queue_free(r->queue);
    rlf_device_free(r->device);
}

bool
rig_named(int argc, char **argv, const char *shape)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], shape) == 0)
            return true;
    return argc == 1 && strcmp(shape, "tiny") != 0;
}

void *
rig_take(rig *r, size_t bytes)
{
    rlf_err err = RLF_ERR_NONE;
    void *p;
    if (r->n_blocks == RIG_BLOCKS)
        must(rlf_fail(&err, RLF_BUG, "too many blocks"), &err);
    must(rlf_device_alloc(r->device, bytes, &p, &err), &err);
    r->blocks[r->n_blocks] = p;
    r->bytes[r->n_blocks++] = bytes;
    return p;
}

void
rig_clear(rig *r)
{
    rlf_err err = RLF_ERR_NONE;
    must(rlf_queue_sync(r->queue, &err), &err);
    while (r->n_blocks) {
        r->n_blocks--;
        rlf_device_release(r->device, r->blocks[r->n_blocks],
                           r->bytes[r->n_blocks]);
    }
}

void *
rig_send(rig *r, const void *host, size_t bytes)
{
    rlf_err err = RLF_ERR_NONE;
    void *p = rig_take(r, bytes);
    must(rlf_queue_copy(r->queue, p, host, bytes, RLF_COPY_TO_DEVICE, &err),
         &err);
    must(rlf_queue_sync(r->queue, &err), &err);
    return p;
}

/* The i-th of a stream of numbers. */
static uint32_t
scatter(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15U;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93U;
    return (uint32_t)(x >> 32);
}

/* n numbers of `size` bytes: BLOCK of them again and again. */
static void *
numbers(rig *r, int64_t n, size_t size)
{
    rlf_err err = RLF_ERR_NONE;
    int64_t some = n < BLOCK ? n : BLOCK;
    char *p = rig_take(r, (size_t)n * size), *host = malloc(BLOCK * size);
    for (int64_t i = 0; i < some; i++) {
        float x = (float)(scatter((uint64_t)i) >> 8) * 0x1p-23F - 1;
        uint32_t bits;
        memcpy(&bits, &x, sizeof bits);
        uint16_t half = (uint16_t)(bits >> 16);
        memcpy(host + (size_t)i * size,
               size == sizeof half ? (void *)&half : (void *)&x, size);
    }
    for (int64_t at = 0; at < n; at += some) {
        int64_t now = n - at < some ? n - at : some;
        must(rlf_queue_copy(r->queue, p + (size_t)at * size, host,
                            (size_t)now * size, RLF_COPY_TO_DEVICE, &err),
             &err);
    }
    must(rlf_queue_sync(r->queue, &err), &err);
    free(host);
    return p;
}

void *
rig_reals(rig *r, int64_t n)
{
    return numbers(r, n, rlf_real_bytes(r->kernels));
}

float *
rig_floats(rig *r, int64_t n)
{
    return numbers(r, n, sizeof(float));
}

float *
rig_zeros(rig *r, int64_t n)
{
    rlf_err err = RLF_ERR_NONE;
    float *p = rig_take(r, (size_t)n * sizeof *p);
    must(rlf_queue_set(r->queue, p, 0, (size_t)n * sizeof *p, &err), &err);
    return p;
}

int32_t *
rig_ints(rig *r, int64_t n, int64_t most)
{
    int32_t *host = malloc((size_t)n * sizeof *host);
    for (int64_t i = 0; i < n; i++)
        host[i] = (int32_t)(scatter((uint64_t)i) % (uint64_t)most);
    int32_t *p = rig_send(r, host, (size_t)n * sizeof *host);
    free(host);
    return p;
}

/* ---- time -------------------------------------------------------------- */

typedef struct round {
    rig_call *call;
    const char *args; /* n of them, `size` bytes each */
    size_t size;
    int n;
} round;

static rlf_status
call_all(rig *r, const round *what, rlf_err *err)
{
    for (int i = 0; i < r->times; i++)
        RLF_TRY(what->call(
            r->queue, what->args + (size_t)(i % what->n) * what->size, err));
    return RLF_OK;
}

/* The round recorded; NULL if it cannot be. */
static rlf_recording *
record(rig *r, const round *what)
{
    rlf_err err = RLF_ERR_NONE;
    const rlf_device_ops *ops = r->device->ops;
    rlf_recording *out = NULL;
    if (!r->device->caps.records || ops->record(r->queue, &err) < 0)
        return NULL;
    rlf_status status = call_all(r, what, &err);
    if (ops->recorded(r->queue, &out, &err) < 0)
        out = NULL;
    if (status >= 0 || !out)
        return out;
    ops->recording_free(out);
    return NULL;
}

/* Seconds of its best replay. 0: it cannot be recorded. */
static double
recorded(rig *r, const round *what)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_recording *made = record(r, what);
    double best = 0;
    for (int i = 0; made && i <= ROUNDS; i++) {
        double t = seconds_now();
        must(r->device->ops->replay(r->queue, made, &err), &err);
        must(rlf_queue_sync(r->queue, &err), &err);
        t = seconds_now() - t;
        best = i == 1 || (i && t < best) ? t : best; /* the first warms up */
    }
    if (made)
        r->device->ops->recording_free(made);
    return best;
}

double
rig_time(rig *r, rig_call *call, const void *args, size_t size, int n)
{
    rlf_err err = RLF_ERR_NONE;
    const round what = {call, args, size, n};
    int rounds = r->small ? 1 : ROUNDS;
    must(call_all(r, &what, &err), &err); /* libraries are loaded, and so on */
    must(rlf_queue_sync(r->queue, &err), &err);
    double best = recorded(r, &what);
    for (int i = 0; best == 0 || i < rounds; i++) {
        double t = seconds_now();
        must(call_all(r, &what, &err), &err);
        must(rlf_queue_sync(r->queue, &err), &err);
        t = seconds_now() - t;
        best = best == 0 || t < best ? t : best;
    }
    return best / r->times;
}

/* ---- rows -------------------------------------------------------------- */

void
rig_table(void)
{
    printf("\n| | took | due | ratio | wanted |\n|---|---|---|---|---|\n");
}

void
rig_row(const char *what, double seconds, double due, const char *by,
        double wanted)
{
    bool long_one = seconds >= 1e-3;
    double unit = long_one ? 1e3 : 1e6;
    printf("| %-44s | %9.2f %s | %9.2f %s by %-5s | %5.2f |", what,
           seconds * unit, long_one ? "ms" : "us", due * unit,
           long_one ? "ms" : "us", by, due / seconds);
    if (wanted > 0)
        printf(" %.2f |\n", wanted);
    else
        printf(" |\n");
    fflush(stdout);
}

double
rig_due(const rig *r, double bytes, double flops, const char **by)
{
    double by_bytes = bytes / r->limits.bytes;
    double by_flops = flops / r->limits.flops;
    *by = by_flops > by_bytes ? "flops" : "bytes";
    return by_flops > by_bytes ? by_flops : by_bytes;
}
