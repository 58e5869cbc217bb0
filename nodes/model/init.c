/* First values of weights: normal numbers by the inverse of their distribution
 * function, each from its own word of Philox, so that any rank and any thread
 * has the same. Where they go is weights.c's matter. */
#include "nodes/model/weights.h"

#include <math.h>

#include "engine/base/fmath.h"
#include "engine/base/hash.h"
#include "engine/base/philox.h"

/* into each instance of the loop over values */
#define INLINE static inline __attribute__((always_inline))

/* a[0] + a[1] x + ... + a[7] x^7 */
INLINE double
polynomial(const double a[8], double x)
{
    double y = a[7];
#pragma GCC unroll 8
    for (int i = 6; i >= 0; i--)
        y = rlf_fma(y, x, a[i]);
    return y;
}

/* Values no farther from 1/2 than this are near the centre. */
#define CENTRE 0.425

INLINE double
near_centre(double q)
{
    static const double a[8] = {
        3.3871328727963666080e0, 1.3314166789178437745e2,
        1.9715909503065514427e3, 1.3731693765509461125e4,
        4.5921953931549871457e4, 6.7265770927008700853e4,
        3.3430575583588128105e4, 2.5090809287301226727e3};
    static const double b[8] = {1.0,
                                4.2313330701600911252e1,
                                6.8718700749205790830e2,
                                5.3941960214247511077e3,
                                2.1213794301586595867e4,
                                3.9307895800092710610e4,
                                2.8729085735721942674e4,
                                5.2264952788528545610e3};
    double r = 0.180625 - q * q;
    return q * polynomial(a, r) / polynomial(b, r);
}

INLINE double
normal(double uniform)
{
    /* numerators and denominators in the tails, and far out */
    static const double a[2][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0,
         5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {6.65790464350110377720e0, 5.46378491116411436990e0,
         1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7},
    };
    static const double b[2][8] = {
        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
         6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9},
        {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
         1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15},
    };
    double q = uniform - 0.5;
    if (fabs(q) <= CENTRE)
        return near_centre(q);
    double r = sqrt(-rlf_ln(q < 0 ? uniform : 1 - uniform));
    int part = r <= 5 ? 0 : 1;
    r -= part == 0 ? 1.6 : 5.0;
    double x = polynomial(a[part], r) / polynomial(b[part], r);
    return q < 0 ? -x : x;
}

static double
slot_deviation(const rlf_table *t, const rlf_slot *slot)
{
    switch (slot->kind) {
    case RLF_SLOT_EMBEDDING:
        return 0.02;
    case RLF_SLOT_LINEAR:
        return 1 / sqrt((double)slot->file_cols);
    case RLF_SLOT_RESIDUAL:
        return 1 / sqrt((double)slot->file_cols * 2 * t->config.layers);
    case RLF_SLOT_LOW:
    case RLF_SLOT_NORM:
    case RLF_SLOT_ZERO:
        break;
    }
    return 0;
}

/* Kaiming's uniform numbers with a = sqrt(5), which is what PEFT begins with.
 */
static void
draw_uniform(const rlf_slot *slot, const rlf_random_key *key, int64_t first,
             int64_t n, float *out)
{
    double bound = 1 / sqrt((double)slot->file_cols);
    for (int64_t i = 0; i < n; i++) {
        double u = rlf_draw_uniform(key, (uint64_t)(first + i));
        out[i] = (float)(bound * (2 * u - 1));
    }
}

double
rlf_normal(double uniform)
{
    return normal(uniform);
}

/* Values of a slot, shared among threads. */
typedef struct filling {
    rlf_random_key key;
    double deviation;
    float *out;
    int64_t begin; /* of the slot's floats: where `out` begins */
    rlf_claim claim;
} filling;

/* Some at once: those near the centre, which are most, in vectors, as if all
 * were; then the others. */
INLINE void
fill_values(const filling *f, int64_t first, int64_t last)
{
    enum { AT_ONCE = 64 };
    double u[AT_ONCE] = {0}, x[AT_ONCE];
    for (int64_t i = first; i < last; i += AT_ONCE) {
        int n = (int)(last - i < AT_ONCE ? last - i : AT_ONCE);
        for (int k = 0; k < n; k++)
            u[k] = rlf_draw_uniform(&f->key, (uint64_t)(f->begin + i + k)) +
                   0x1p-54;
        for (int k = 0; k < AT_ONCE; k++)
            x[k] = near_centre(u[k] - 0.5);
        for (int k = 0; k < n; k++) {
            if (!(fabs(u[k] - 0.5) <= CENTRE))
                x[k] = normal(u[k]);
            f->out[i + k] = (float)(f->deviation * x[k]);
        }
    }
}

/* Without its instruction a fused multiply-add is a call of libm's, with the
 * same bits. */
#ifdef __x86_64__
__attribute__((target("fma"), flatten)) static void
fill_with_fma(const filling *f, int64_t first, int64_t last)
{
    fill_values(f, first, last);
}
#endif

static void
fill_run(void *arg, int thread, int n_threads)
{
    (void)thread, (void)n_threads;
    filling *f = arg;
    int64_t first, last;
    while (rlf_claim_take(&f->claim, 4096, &first, &last)) {
#ifdef __x86_64__
        if (__builtin_cpu_supports("fma")) {
            fill_with_fma(f, first, last);
            continue;
        }
#endif
        fill_values(f, first, last);
    }
}

void
rlf_weights_draw(const rlf_model *m, const rlf_slot *slot, uint64_t seed,
                 int64_t first, int64_t n, float *out)
{
    filling f = {.key = {.seed = seed,
                         .purpose = RLF_PURPOSE_INIT,
                         .sample = rlf_hash_text(slot->name)},
                 .deviation = slot_deviation(m->table, slot),
                 .out = out,
                 .begin = first,
                 .claim = rlf_claim_of(n)};
    if (slot->kind == RLF_SLOT_LOW) {
        draw_uniform(slot, &f.key, first, n, out);
    } else if (f.deviation == 0) {
        for (int64_t i = 0; i < n; i++)
            out[i] = slot->kind == RLF_SLOT_NORM ? 1 : 0;
    } else {
        rlf_team_run(m->queue->device->team, fill_run, &f);
    }
}
