/* How fast this machine is: see speed.h. The least time of several tries
 * counts: what others on the machine take is no speed of it. */
#include "engine/api/machines/speed.h"

#include "engine/base/clock.h"
#include "engine/base/memory.h"
#include "engine/base/str.h"
#include "engine/dev/cores.h"
#include "engine/dev/dev.h"
#include "engine/dev/memory.h"
#include "kernels/kernels.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    N = 1024,          /* rows and columns of the matrices */
    TRIES = 4,         /* of each, at least */
    BLOCK = 256 << 20, /* bytes that are read and touched, at most */
    SMALL = 4096,      /* bytes of a file */
};

#define LEAST_SECONDS 0.25 /* of the tries of one thing */
#define MOST_SECONDS 1.0   /* ... after which no other is begun */

/* Is try `i` of one thing, from 0 on, to be made? */
static bool
tries_again(int i, uint64_t begun)
{
    double took = rlf_clock_since(begun);
    return i == 0 ||
           (took < MOST_SECONDS && (i < TRIES || took < LEAST_SECONDS));
}

/* ---- products ---- */

static void
fill(void *p, size_t bytes, rlf_cast_type type)
{
    float *f = p;
    uint16_t *h = p;
    if (type == RLF_CAST_F32)
        for (size_t i = 0; i < bytes / 4; i++)
            f[i] = (float)(i % 13) * 0.125F;
    else
        for (size_t i = 0; i < bytes / 2; i++)
            h[i] = (uint16_t)(0x3e00 + i % 13 * 16); /* from 0.125 on */
}

/* Operations a second; 0: this build has no such kernels. */
static rlf_status
measure_product(rlf_device *device, rlf_queue *queue, const rlf_kernels *k,
                double *out, rlf_err *err)
{
    if (!k) {
        *out = 0;
        return RLF_OK;
    }
    size_t bytes = (size_t)N * N * rlf_real_bytes(k),
           packed = k->product_packed_bytes(N, N, RLF_PRODUCT_FORWARD);
    float *w;
    char *x, *c, *p;
    RLF_TRY(rlf_device_alloc(device, (size_t)N * N * 4, (void **)&w, err));
    RLF_TRY(rlf_device_alloc(device, bytes, (void **)&x, err));
    RLF_TRY(rlf_device_alloc(device, bytes, (void **)&c, err));
    RLF_TRY(rlf_device_alloc(device, packed, (void **)&p, err));
    fill(w, (size_t)N * N * 4, RLF_CAST_F32);
    fill(x, bytes, k->real);
    const rlf_product_pack_args pack = {
        .rows = N, .cols = N, .w = w, .packed = p};
    RLF_TRY(k->product_pack(queue, &pack, err));
    const rlf_product_args product = {
        .m = N, .n = N, .k = N, .x = x, .packed = p, .c = c};
    double best = INFINITY;
    uint64_t begun = rlf_clock_now();
    for (int i = 0; tries_again(i, begun); i++) {
        uint64_t from = rlf_clock_now();
        RLF_TRY(k->product(queue, &product, err));
        best = fmin(best, rlf_clock_since(from));
    }
    *out = 2.0 * N * N * N / best;
    rlf_device_release(device, w, (size_t)N * N * 4);
    rlf_device_release(device, x, bytes);
    rlf_device_release(device, c, bytes);
    rlf_device_release(device, p, packed);
    return RLF_OK;
}

/* ---- memory ---- */

typedef struct reading {
    const uint64_t *p;
    size_t n;       /* numbers for each thread */
    uint64_t *sums; /* [threads][8] */
} reading;

static void
read_part(void *arg, int thread, int n_threads)
{
    const reading *r = arg;
    const uint64_t *p = r->p + r->n * (size_t)thread;
    uint64_t s[8] = {0};
    (void)n_threads;
    for (size_t i = 0; i < r->n; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] += p[i + (size_t)k];
    for (int k = 0; k < 8; k++)
        r->sums[8 * thread + k] = s[k];
}

static rlf_status
measure_memory(rlf_device *device, rlf_machine_speed *out, rlf_err *err)
{
    /* What a small machine may not lend without ending something. */
    uint64_t limit = rlf_host_memory_limit() / 8;
    size_t block = limit < BLOCK ? (size_t)limit / SMALL * SMALL : BLOCK;
    char *p = mmap(NULL, block, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return rlf_fail(err, RLF_MEMORY,
                        "there is no memory for a block of %zu MB",
                        block >> 20);
    madvise(p, block, MADV_HUGEPAGE);
    uint64_t from = rlf_clock_now();
    for (size_t i = 0; i < block; i += 4096)
        p[i] = 1;
    out->touch = (double)block / rlf_clock_since(from);
    uint64_t *sums = rlf_calloc((size_t)out->threads * 8, sizeof *sums);
    reading r = {.p = (const uint64_t *)(const void *)p,
                 .n = block / 8 / (size_t)out->threads / 8 * 8,
                 .sums = sums};
    double best = INFINITY;
    uint64_t begun = rlf_clock_now();
    for (int i = 0; tries_again(i, begun); i++) {
        from = rlf_clock_now();
        rlf_team_run(device->team, read_part, &r);
        best = fmin(best, rlf_clock_since(from));
    }
    out->read = (double)r.n * 8 * out->threads / best;
    free(sums);
    munmap(p, block);
    return RLF_OK;
}

/* ---- the disk ---- */

/* Seconds until a file of one page is written and synced; NaN: it cannot be,
 * for *why. */
static double
measure_sync(const char *directory, int *why)
{
    char page[SMALL] = {0};
    rlf_buf path = {0};
    rlf_buf_printf(&path, "%s/.rlflow-XXXXXX", directory);
    int fd = mkstemp(path.p);
    *why = fd < 0 ? errno : 0;
    if (fd >= 0)
        unlink(path.p);
    rlf_buf_free(&path);
    if (fd < 0)
        return NAN;
    double best = NAN;
    for (int i = 0; i < TRIES; i++) {
        uint64_t from = rlf_clock_now();
        ssize_t n = pwrite(fd, page, sizeof page, (off_t)i * SMALL);
        if (n != SMALL || fsync(fd) < 0) {
            *why = n >= 0 && n < SMALL ? ENOSPC : errno;
            best = NAN;
            break;
        }
        double took = rlf_clock_since(from);
        best = isnan(best) || took < best ? took : best;
    }
    close(fd);
    return best;
}

rlf_status
rlf_machine_measure(const char *directory, rlf_machine_speed *out, rlf_err *err)
{
    const rlf_cpu_options options = {0};
    rlf_device *device = NULL;
    rlf_queue *queue = NULL;
    *out = (rlf_machine_speed){.threads = rlf_cores_count(),
                               .product = NAN,
                               .bf16 = NAN,
                               .read = NAN,
                               .touch = NAN};
    rlf_status status = rlf_device_cpu_new(&options, &device, err);
    if (status >= 0)
        status = rlf_queue_new(device, &queue, err);
    if (status >= 0)
        status = measure_product(device, queue, rlf_kernels_cpu(),
                                 &out->product, err);
    if (status >= 0)
        status = measure_product(device, queue, rlf_kernels_cpu_bf16(NULL),
                                 &out->bf16, err);
    if (status >= 0)
        status = measure_memory(device, out, err);
    out->sync = measure_sync(directory, &out->why);
    rlf_queue_free(queue);
    rlf_device_free(device);
    return status;
}
