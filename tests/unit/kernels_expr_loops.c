/* The loops of the pointwise operations: every instruction set that this
 * machine has gives the bits of rlf_expr_apply (what constants are folded by),
 * for ordinary and for special numbers, in place and not. */
#include "engine/base/philox.h"
#include "engine/base/vec.h"
#include "kernels/cpu/expr_loops.h"
#include "kernels/kernels.h"
#include "tests/tap.h"

enum { N = 4099 }; /* no multiple of a vector */

static double a[N], b[N], c[N], y[N];

static void
fill(double *x, uint32_t site)
{
    static const double special[] = {
        0,   -0.0, 1,   -1, INFINITY, -INFINITY, NAN,  1e-310,  -1e300,   1e300,
        710, -746, 0.5, 2,  3,        -2.5,      1e16, 0x1p-60, -0x1p-60, 88};
    rlf_random_key key = {.seed = 3, .purpose = 99, .site = site};
    for (uint32_t i = 0; i < N; i++) {
        double u = rlf_draw_uniform(&key, 2 * i);
        if (i % 3 == 0) {
            x[i] = special[rlf_draw_below(&key, 2 * i + 1, RLF_COUNT(special))];
            continue;
        }
        x[i] = (u - 0.5) * (i % 3 == 1 ? 6 : 1500);
    }
}

/* NaN is NaN, whatever its payload. */
static int
differing(const double *got, rlf_expr_code code, bool in_place)
{
    int n = 0;
    for (int i = 0; i < N; i++) {
        double want = rlf_expr_apply(code, a[i], b[i], c[i]);
        bool same = memcmp(&got[i], &want, sizeof want) == 0 ||
                    (isnan(got[i]) && isnan(want));
        if (!same && !n++)
            note("%s(%a, %a, %a)%s: %a, want %a", rlf_expr_text(code), a[i],
                 b[i], c[i], in_place ? " in place" : "", got[i], want);
    }
    return n;
}

static void
instance(const char *isa, rlf_expr_loop *const *loops)
{
    if (!rlf_kernels_cpu_isa(isa)) {
        skip("%s: not on this machine", isa);
        return;
    }
    for (int code = 0; code < RLF_EXPR_CODES; code++) {
        bool point = rlf_expr_is_pointwise((rlf_expr_code)code);
        if (!loops[code] || !point) {
            if (!loops[code] != !point)
                ok(false, "%s: %s has a loop if it is pointwise", isa,
                   rlf_expr_text((rlf_expr_code)code));
            continue;
        }
        loops[code](y, a, b, c, N);
        int wrong = differing(y, (rlf_expr_code)code, false);
        memcpy(y, b, sizeof y);
        loops[code](y, a, y, c, N);
        wrong += differing(y, (rlf_expr_code)code, true);
        ok(wrong == 0, "%s: %s", isa, rlf_expr_text((rlf_expr_code)code));
    }
}

int
main(void)
{
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    instance("portable", rlf_cpu_portable_expr_loops);
#ifdef RLF_ISA_V3
    instance("v3", rlf_cpu_v3_expr_loops);
#endif
#ifdef RLF_ISA_V4
    instance("v4", rlf_cpu_v4_expr_loops);
#endif
    return done();
}
