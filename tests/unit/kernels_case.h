/* One way to test every tensor operation.
 *
 * A case makes inputs from a seed of its own, calls an operation and hands its
 * outputs to out(). It is run on every instruction set at hand and on teams of
 * several sizes: all outputs must have the same bits, and their hash must be
 * the one that kernels_bits.h keeps, so that other machines and compilers are
 * held to it too. Once, with `check` set, the case also compares with its own
 * oracle: double precision, a scalar loop, finite differences.
 *
 * Where the machine is slow (quick()), a case runs once on each instruction
 * set, on two threads, and the oracle looks at every seventh row. */
#ifndef RLF_TESTS_KERNELS_CASE_H
#define RLF_TESTS_KERNELS_CASE_H

#include "engine/base/hash.h"
#include "kernels/kernels.h"
#include "tests/tap.h"
#include "tests/unit/kernels_bits.h"

typedef struct env {
    const rlf_kernels *k;
    rlf_queue *queue;
    rlf_err err;
    bool check;
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

/* Memory that lives to the end of the case, with room to spot writes beyond. */
TAP_FUNCTION void *
take(env *e, int64_t n, size_t size)
{
    void *p = aligned_alloc(64, ((size_t)n * size + 64 + 63) / 64 * 64);
    if (!p || e->n_held == 256)
        bail("no memory for a test");
    memset(p, 0xff, (size_t)n * size + 64); /* NaN */
    e->held[e->n_held++] = p;
    return p;
}

TAP_FUNCTION float *
blank(env *e, int64_t n)
{
    return take(e, n, sizeof(float));
}

/* n values in [-scale, scale). */
TAP_FUNCTION float *
values(env *e, int64_t n, double scale)
{
    float *x = blank(e, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((uniform(e) * 2 - 1) * scale);
    return x;
}

TAP_FUNCTION float *
copy_of(env *e, const float *x, int64_t n)
{
    float *y = blank(e, n);
    memcpy(y, x, (size_t)n * 4);
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

TAP_FUNCTION void
must(env *e, rlf_status status)
{
    if (status < 0 && !e->why[0])
        snprintf(e->why, sizeof e->why, "failed: %.120s", e->err.sentence);
}
#define CALL(e, op, ...) \
    must(e, (e)->k->op((e)->queue, &(rlf_##op##_args){__VA_ARGS__}, &(e)->err))

TAP_FUNCTION void
run_case(env *e, const op_case *c, const rlf_kernels *k, rlf_queue *queue,
         bool check)
{
    *e = (env){.k = k,
               .queue = queue,
               .err = RLF_ERR_NONE,
               .check = check,
               .random = rlf_hash_text(c->name) | 1,
               .hash = RLF_HASH_INIT,
               .name = c->name};
    c->run(e);
    for (int i = 0; i < e->n_held; i++)
        free(e->held[i]);
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

/* From one row that an oracle looks at to the next. */
TAP_FUNCTION int64_t
row_stride(void)
{
    return quick() ? 7 : 1;
}

/* Run all cases; `only` (argv[1]) picks one. */
TAP_FUNCTION int
run_cases(const op_case *cases, int n_cases, const char *only)
{
    static const char *const isas[] = {"portable", "v3", "v4"};
    static const int teams[] = {1, 2, 3, 8};
    rlf_queue *queues[4];
    for (int t = 0; t < 4; t++)
        queues[t] = queue_of(teams[t]);
    for (int i = 0; i < n_cases; i++) {
        const op_case *c = &cases[i];
        if (only && strcmp(only, c->name) != 0)
            continue;
        env e;
        uint64_t want = 0;
        for (size_t b = 0; b < sizeof kernels_bits / sizeof *kernels_bits; b++)
            if (strcmp(kernels_bits[b].name, c->name) == 0)
                want = kernels_bits[b].hash;
        for (int s = 0; s < 3; s++) {
            const rlf_kernels *k = rlf_kernels_cpu_isa(isas[s]);
            if (!k) {
                skip("%s: this machine has no %s", c->name, isas[s]);
                continue;
            }
            bool once = s == 0 || quick();
            for (int t = once ? 1 : 0; t < (once ? 2 : 4); t++) {
                run_case(&e, c, k, queues[t], t == 1);
                if (t == 1) {
                    ok(!e.why[0], "%s on %s is right", c->name, isas[s]);
                    if (e.why[0])
                        note("%s", e.why);
                    else if (getenv("VERBOSE"))
                        note("%.2f of the tolerance", e.worst);
                }
                if (!ok(e.hash == want, "%s on %s, %d threads: its bits",
                        c->name, isas[s], teams[t]))
                    note("{\"%s\", UINT64_C(0x%016" PRIx64 ")},", c->name,
                         e.hash);
            }
        }
    }
    for (int t = 0; t < 4; t++)
        queue_end(queues[t]);
    return done();
}

#endif
