/* One way to test every tensor operation.
 *
 * A case makes inputs from a seed of its own, calls an operation and hands its
 * outputs to out(). It is run on every instruction set at hand and on teams of
 * several sizes: all outputs must have the same bits, and their hash must be
 * the one that kernels_bits.h keeps, so that other machines and compilers are
 * held to it too. Once, with `check` set, the case also compares with its own
 * oracle: double precision, a scalar loop, finite differences.
 *
 * The GPU's kernels are held to the same hashes: on a GPU if there is one, and
 * compiled for the host (kernels/cuda/emulate.h) everywhere. Its table of bf16
 * goes through the same cases behind a face of f32 (kernels_bf16.h); it has no
 * hash, and is compared with rounding in mind (like_real, agree).
 *
 * Teams of several sizes are tried on the widest instruction set at hand. Where
 * the machine is slow (quick()), a case runs once on each instruction
 * set, on two threads, and the oracle looks at every seventh row; under a
 * sanitizer only on the widest, which is of the same source. */
#ifndef RLF_TESTS_KERNELS_CASE_H
#define RLF_TESTS_KERNELS_CASE_H

#include "engine/base/half.h"
#include "engine/base/hash.h"
#include "engine/dev/cuda.h"
#include "kernels/kernels.h"
#include "config.h"
#ifdef RLF_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif
#include "tests/tap.h"
#include "tests/unit/kernels_bits.h"

typedef struct env {
    const rlf_kernels *k;
    rlf_queue *queue;
    rlf_err err;
    bool check;
    bool bf16; /* activations are */
    bool even; /* bf16 of a CPU: sums are rounded in one place only */
    bool slow; /* few calls to compare with */
    uint64_t random, hash;
    void *held[256];
    int n_held;
    const char *name;
    double worst; /* relative to the tolerance */
    bool equal;
    char why[160];
} env;

typedef struct op_case {
    const char *name;
    void (*run)(env *e);
} op_case;

TAP_FUNCTION double
uniform(env *e)
{
    e->random ^= e->random << 13;
    e->random ^= e->random >> 7;
    e->random ^= e->random << 17;
    return (double)(e->random >> 11) * 0x1p-53;
}

/* Let a GPU see memory of the host; `bytes` 0: no longer. */
TAP_FUNCTION void
pin(const env *e, void *p, size_t bytes)
{
    (void)e, (void)p, (void)bytes;
#ifdef RLF_HAVE_CUDA
    if (e->queue->device->caps.host_memory)
        return;
    cudaError_t error =
        bytes ? cudaHostRegister(p, bytes, 0) : cudaHostUnregister(p);
    if (error != cudaSuccess)
        bail("%s", cudaGetErrorString(error));
#endif
}

/* Memory that lives to the end of the case, with room to spot writes beyond. A
 * GPU's driver maps whole pages, and no page for two blocks. */
TAP_FUNCTION void *
take(env *e, int64_t n, size_t size)
{
    size_t unit = e->queue->device->caps.host_memory ? 64 : 4096;
    size_t bytes = ((size_t)n * size + 64 + unit - 1) / unit * unit;
    void *p = aligned_alloc(unit, bytes);
    if (!p || e->n_held == 256)
        bail("no memory for a test");
    pin(e, p, bytes);
    memset(p, 0xff, (size_t)n * size + 64); /* NaN */
    e->held[e->n_held++] = p;
    return p;
}

TAP_FUNCTION float *
blank(env *e, int64_t n)
{
    return take(e, n, sizeof(float));
}

/* n values in [-scale, scale); of bf16 where activations are. */
TAP_FUNCTION float *
values(env *e, int64_t n, double scale)
{
    float *x = blank(e, n);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)((uniform(e) * 2 - 1) * scale);
        if (e->bf16)
            x[i] = rlf_bf16_to_f32(rlf_f32_to_bf16(x[i]));
    }
    return x;
}

TAP_FUNCTION float *
copy_of(env *e, const float *x, int64_t n)
{
    float *y = blank(e, n);
    memcpy(y, x, (size_t)n * 4);
    return y;
}

TAP_FUNCTION double *
as_doubles(env *e, const float *x, int64_t n)
{
    double *y = take(e, n, sizeof *y);
    for (int64_t i = 0; i < n; i++)
        y[i] = (double)x[i];
    return y;
}

TAP_FUNCTION int32_t *
indices(env *e, int64_t n, int64_t below)
{
    int32_t *x = take(e, n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = (int32_t)(uniform(e) * (double)below);
    return x;
}

/* The emulation of f32 has the bits by whose hash all are held: of what an
 * oracle or another call compares with them it needs no second look. */
TAP_FUNCTION bool
bits_suffice(const env *e)
{
    return e->slow && !e->bf16;
}

/* n outputs of `size` bytes; what lies behind must be untouched. */
TAP_FUNCTION void
out(env *e, const void *x, int64_t n, size_t size)
{
    static const unsigned char mark[64] = {
        [0 ... 63] = 0xff,
    };
    e->hash = rlf_hash(e->hash, x, (size_t)n * size);
    if (memcmp((const char *)x + (size_t)n * size, mark, 64) != 0 && !e->why[0])
        snprintf(e->why, sizeof e->why, "wrote beyond an output of %lld",
                 (long long)n);
}

TAP_FUNCTION void
out_f32(env *e, const float *x, int64_t n)
{
    out(e, x, n, sizeof *x);
}

/* |got - want| <= tolerance * (1 + |want|) * size, element by element. */
TAP_FUNCTION void
like(env *e, const float *got, const double *want, int64_t n, double tolerance,
     const char *what)
{
    for (int64_t i = 0; i < n; i++) {
        double off =
            fabs((double)got[i] - want[i]) / (tolerance * (1 + fabs(want[i])));
        if (off > e->worst)
            e->worst = off;
        if (!(off <= 1) && !e->why[0])
            snprintf(e->why, sizeof e->why, "%s[%lld] is %.9g, not %.9g", what,
                     (long long)i, (double)got[i], want[i]);
    }
}

TAP_FUNCTION void
same(env *e, const void *got, const void *want, int64_t n, size_t size,
     const char *what)
{
    for (int64_t i = 0; i < n; i++)
        if (memcmp((const char *)got + (size_t)i * size,
                   (const char *)want + (size_t)i * size, size) != 0) {
            if (!e->why[0])
                snprintf(e->why, sizeof e->why, "%s: element %lld differs",
                         what, (long long)i);
            return;
        }
}

/* An activation of bf16 may be off by some roundings, 2^-9 each. */
#define BF16_TOLERANCE 0x1p-7

/* As like(), of activations. */
TAP_FUNCTION void
like_real(env *e, const float *got, const double *want, int64_t n,
          double tolerance, const char *what)
{
    like(e, got, want, n, e->bf16 ? BF16_TOLERANCE : tolerance, what);
}

/* The same bits in f32. In bf16 sums may go in another order; `real`: and what
 * is compared is rounded. */
TAP_FUNCTION void
agree(env *e, const float *got, const float *want, int64_t n, bool real,
      const char *what)
{
    if (!e->bf16) {
        same(e, got, want, n, sizeof *got, what);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = (double)want[i];
        like(e, got + i, &x, 1, real ? BF16_TOLERANCE : 1e-4, what);
    }
}

TAP_FUNCTION void
must(env *e, rlf_status status)
{
    if (status < 0 && !e->why[0])
        snprintf(e->why, sizeof e->why, "failed: %.120s", e->err.sentence);
}
#define CALL(e, op, ...) \
    must(e, (e)->k->op((e)->queue, &(rlf_##op##_args){__VA_ARGS__}, &(e)->err))

/* The backend that a case runs on: a table of kernels, and a queue for each
 * team. */
typedef struct backend {
    const char *name;
    const rlf_kernels *kernels; /* NULL: why not */
    const rlf_kernels *narrow;  /* the CPU's table of bf16 behind that */
    const char *missing;
    bool first; /* its oracle looks at every row */
    bool slow;  /* emulated */
    bool once;  /* on one queue of two threads */
    bool again; /* the device of the one before, in another type */
} backend;

/* The table of bf16 whose cases run, if it is the CPU's. */
static const rlf_kernels *narrow_of_cpu;

TAP_FUNCTION void
run_case(env *e, const op_case *c, const backend *b, rlf_queue *queue,
         bool check)
{
    const rlf_kernels *k = b->kernels;
    *e = (env){.k = k,
               .queue = queue,
               .err = RLF_ERR_NONE,
               .check = check,
               .bf16 = k->real == RLF_CAST_BF16,
               .even = b->narrow != NULL,
               .slow = b->slow,
               .random = rlf_hash_text(c->name) | 1,
               .hash = RLF_HASH_INIT,
               .name = c->name};
    narrow_of_cpu = b->narrow;
    c->run(e);
    narrow_of_cpu = NULL;
    for (int i = 0; i < e->n_held; i++) {
        pin(e, e->held[i], 0);
        free(e->held[i]);
    }
}

TAP_FUNCTION rlf_queue *
queue_of(int n_threads)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    rlf_cpu_options options = {.n_threads = n_threads};
    if (rlf_device_cpu_new(&options, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    return queue;
}

TAP_FUNCTION void
queue_end(rlf_queue *queue)
{
    rlf_device *device = queue->device;
    rlf_queue_free(queue);
    rlf_device_free(device);
}

/* From one row that an oracle looks at to the next: the first backend shows all
 * of them; who has its bits needs few more, who computes in bf16 some. */
static int64_t row_step = 1;

TAP_FUNCTION int64_t
row_stride(void)
{
    return quick() ? 7 : row_step;
}

/* Returns how many of `most` finite differences are taken, so that their share
 * of all is that of the rows that are compared. */
TAP_FUNCTION int
n_slopes(int most)
{
    int n = most / (int)row_stride();
    return n > 1 ? n : 1;
}

#ifdef RLF_HAVE_EMULATED
const rlf_kernels *rlf_kernels_emulated(void);
const rlf_kernels *rlf_kernels_emulated_bf16(void);
#endif

#include "tests/unit/kernels_bf16.h"

#ifdef RLF_HAVE_CUDA
/* A case reads what an operation gave when it returns. */
#define OP(op, doc, flops, bytes)                                     \
    TAP_FUNCTION rlf_status wait_##op(                                \
        rlf_queue *queue, const rlf_##op##_args *args, rlf_err *err)  \
    {                                                                 \
        rlf_status status = rlf_kernels_cuda()->op(queue, args, err); \
        return status < 0 ? status : rlf_queue_sync(queue, err);      \
    }
#include "kernels/op.def"
#undef OP

TAP_FUNCTION const rlf_kernels *
waiting_kernels(void)
{
    static rlf_kernels table;
    table = *rlf_kernels_cuda();
#define OP(op, doc, flops, bytes) table.op = wait_##op;
#include "kernels/op.def"
#undef OP
    return &table;
}

TAP_FUNCTION rlf_queue *
gpu_queue(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_device *device;
    rlf_queue *queue;
    if (rlf_device_cuda_new(&(rlf_cuda_options){0}, &device, &err) < 0 ||
        rlf_queue_new(device, &queue, &err) < 0)
        bail("%s", err.sentence);
    return queue;
}
#endif

TAP_FUNCTION backend
isa_backend(const char *isa, bool once)
{
    return (backend){.name = isa,
                     .kernels = rlf_kernels_cpu_isa(isa),
                     .missing = "this machine has no such instructions",
                     .once = once || quick()};
}

/* The same of bf16. */
TAP_FUNCTION backend
narrow_backend(const char *isa, const char *name, bool once)
{
    static rlf_kernels tables[4];
    static int n;
    backend b = {.name = name,
                 .narrow = rlf_kernels_cpu_bf16(isa),
                 .missing = "this machine has no such instructions",
                 .once = once || quick()};
    if (b.narrow)
        b.kernels = narrow_kernels(b.narrow, &tables[n++]);
    return b;
}

/* The GPU's kernels on the host, compiled for the instructions of v3. */
TAP_FUNCTION backend
emulated_backend(bool bf16)
{
    backend b = {.name = bf16 ? "emulated bf16" : "emulated",
                 .slow = true,
                 .once = true,
                 .again = bf16};
#ifdef RLF_HAVE_EMULATED
#ifdef __x86_64__
    bool can = rlf_kernels_machine_has("v3");
#else
    bool can = true;
#endif
    static rlf_kernels narrow;
    bool long_run = quick() && !asked_for("emulated");
    if (can && !long_run)
        b.kernels = bf16 ? narrow_kernels(rlf_kernels_emulated_bf16(), &narrow)
                         : rlf_kernels_emulated();
    b.missing = can ? "it takes long" : "this machine has no fma";
#else
    b.missing = "no C++ compiler";
#endif
    return b;
}

TAP_FUNCTION backend
gpu_backend(bool bf16)
{
    static rlf_err err;
    int n;
    backend b = {.name = bf16 ? "cuda bf16" : "cuda",
                 .once = true,
                 .again = bf16,
                 .missing = err.sentence};
    rlf_err_clear(&err);
    if (rlf_device_cuda_count(&n, &err) < 0)
        return b;
#ifdef RLF_HAVE_CUDA
    static rlf_kernels narrow;
    b.kernels = bf16 ? narrow_kernels(rlf_kernels_cuda_bf16(), &narrow)
                     : waiting_kernels();
#endif
    return b;
}

/* The hash that is kept of a case. */
TAP_FUNCTION uint64_t
hash_of(const char *name, bool bf16)
{
    const struct kernels_hash *x = bf16 ? kernels_bits_bf16 : kernels_bits;
    size_t n = bf16 ? sizeof kernels_bits_bf16 : sizeof kernels_bits;
    for (size_t i = 0; i < n / sizeof *x; i++)
        if (strcmp(x[i].name, name) == 0)
            return x[i].hash;
    return 0;
}

TAP_FUNCTION void
check_case(const op_case *c, const backend *b, rlf_queue *const *queues)
{
    static const int teams[] = {1, 2, 3, 8};
    env e;
    uint64_t want = hash_of(c->name, b->narrow != NULL);
    row_step = b->first ? 1 : b->kernels->real == RLF_CAST_BF16 ? 3 : 61;
    for (int t = b->once ? 1 : 0; t < (b->once ? 2 : 4); t++) {
        run_case(&e, c, b, queues[t], t == 1);
        if (t == 1) {
            ok(!e.why[0], "%s on %s is right", c->name, b->name);
            if (e.why[0])
                note("%s", e.why);
            else if (getenv("VERBOSE"))
                note("%.2f of the tolerance", e.worst);
        }
        if ((!e.bf16 || b->narrow) &&
            !ok(e.hash == want, "%s on %s, %d threads: its bits", c->name,
                b->name, teams[t]))
            note("{\"%s\", UINT64_C(0x%016" PRIx64 ")},%s", c->name, e.hash,
                 b->narrow ? " bf16" : "");
    }
}

/* Run all cases; `only` (argv[1]) picks one. */
TAP_FUNCTION int
run_cases(const op_case *cases, int n_cases, const char *only)
{
    static const int teams[] = {1, 2, 3, 8};
    backend backends[] = {isa_backend("portable", true),
                          isa_backend("v3", rlf_kernels_cpu_isa("v4") != NULL),
                          isa_backend("v4", false),
                          narrow_backend("portable", "portable bf16", true),
                          narrow_backend("v3", "v3 bf16", true),
                          narrow_backend("v4", "v4 bf16", true),
                          narrow_backend("v4_bf16", "v4_bf16", false),
                          emulated_backend(false),
                          emulated_backend(true),
                          gpu_backend(false),
                          gpu_backend(true)};
    enum { N_BACKENDS = sizeof backends / sizeof *backends, FIRST_GPU = 9 };
    rlf_queue *queues[4], *gpu[4] = {NULL};
    int widest = backends[2].kernels ? 2 : backends[1].kernels ? 1 : 0;
    int first = 0;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    first = quick() ? widest : 0;
#endif
    backends[first].first = true;
    for (int b = 3; quick() && b < 3 + widest; b++) {
        backends[b].kernels = NULL;
        backends[b].missing = "in full passes";
    }
    for (int b = 0; quick() && b < widest; b++) /* the same source, wider */
        if (b != first) {
            backends[b].kernels = NULL;
            backends[b].missing = "in full passes";
        }
    for (int t = 0; t < 4; t++)
        queues[t] = queue_of(teams[t]);
#ifdef RLF_HAVE_CUDA
    if (backends[FIRST_GPU].kernels)
        gpu[1] = gpu_queue();
#endif
    for (int b = 0; b < N_BACKENDS; b++)
        if (wanted(backends[b].name) && !backends[b].kernels &&
            !backends[b].again)
            skip("%s: %s", backends[b].name, backends[b].missing);
    for (int i = 0; i < n_cases; i++)
        for (int b = 0; b < N_BACKENDS; b++)
            if (wanted(backends[b].name) && backends[b].kernels &&
                !(only && strcmp(only, cases[i].name) != 0))
                check_case(&cases[i], &backends[b],
                           b >= FIRST_GPU ? gpu : queues);
    for (int t = 0; t < 4; t++)
        queue_end(queues[t]);
    if (gpu[1])
        queue_end(gpu[1]);
    return done();
}

#endif
