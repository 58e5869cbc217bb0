/* Elementary functions against the C library's in long double; special values
 * against the C library's in double; one hash that every machine must give. */
#include "engine/base/fmath.h"
#include "engine/base/hash.h"
#include "tests/tap.h"

static uint64_t state = UINT64_C(88172645463325252);

static double
uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

static double
between(double a, double b)
{
    return a + uniform() * (b - a);
}

/* Any exponent, either sign. */
static double
anything(void)
{
    double fraction = between(-1, 1);
    return ldexp(fraction, (int)(uniform() * 2140) - 1070);
}

/* Distance in units of the last place of `want`. */
static double
ulps(double got, long double want)
{
    if (isnan(got) || isinf((double)want))
        return got == (double)want ? 0 : 1e9;
    int exponent;
    frexpl(want, &exponent);
    if (exponent < -1021)
        exponent = -1021;
    return (double)(fabsl((long double)got - want) / ldexpl(1, exponent - 53));
}

static long double
sigmoid_long(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double
log_sigmoid_long(long double x)
{
    return x > 0 ? -log1pl(expl(-x)) : x - log1pl(expl(x));
}

static const struct {
    const char *name;
    double (*fn)(double);
    long double (*want)(long double);
    double low, high, bound; /* low = high: anything */
} rows[] = {
    {"exp", rlf_exp, expl, -745, 709, 1},
    {"exp", rlf_exp, expl, -2, 2, 1},
    {"expm1", rlf_expm1, expm1l, -3, 3, 1.5},
    {"expm1", rlf_expm1, expm1l, 0, 0, 1.5},
    {"ln", rlf_ln, logl, 0, 1e308, 0.75},
    {"ln", rlf_ln, logl, 0.5, 2, 0.75},
    {"log1p", rlf_log1p, log1pl, -1, 1, 1},
    {"log1p", rlf_log1p, log1pl, -1e-3, 1e-3, 1},
    {"tanh", rlf_tanh, tanhl, -3, 3, 2.5},
    {"tanh", rlf_tanh, tanhl, 0, 0, 2.5},
    {"sigmoid", rlf_sigmoid, sigmoid_long, -40, 40, 2.5},
    {"log_sigmoid", rlf_log_sigmoid, log_sigmoid_long, -40, 40, 2},
};

static void
test_accuracy(void)
{
    uint64_t hash = RLF_HASH_INIT;
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double worst = 0, at = 0;
        for (int i = 0; i < 200000; i++) {
            bool any = rows[r].low == rows[r].high;
            double x = any ? anything() : between(rows[r].low, rows[r].high);
            double y = rows[r].fn(x), u = ulps(y, rows[r].want(x));
            hash = i < 5000 ? rlf_hash(hash, &y, sizeof y) : hash;
            if (!(u <= worst))
                worst = u, at = x;
        }
        if (!ok(worst <= rows[r].bound, "%s between %g and %g", rows[r].name,
                rows[r].low, rows[r].high))
            note("%.2f ulp at %a", worst, at);
    }
    double worst = 0, wide = 0;
    for (int i = 0; i < 400000; i++) {
        double x = i & 1 ? between(0, 4) : fabs(anything());
        double y = i & 2 ? between(-20, 20) : between(-700, 700);
        double p = rlf_pow(x, y), u = ulps(p, powl(x, y));
        hash = i < 5000 ? rlf_hash(hash, &p, sizeof p) : hash;
        worst = u <= worst ? worst : u;
    }
    ok(worst <= 1, "pow (%.2f ulp)", worst);
    for (int i = 0; i < 400000; i++) {
        double x = i & 1 ? between(-10, 10) : between(-1e6, 1e6), s, c;
        rlf_sincos(x, &s, &c);
        hash = i < 5000 ? rlf_hash(hash, (double[]){s, c}, 16) : hash;
        double u = fmax(ulps(s, sinl(x)), ulps(c, cosl(x)));
        wide = u <= wide ? wide : u;
    }
    ok(wide <= 1, "sin and cos (%.2f ulp)", wide);
    if (!ok(hash == UINT64_C(0x2f1697497c81ae0e),
            "the same bits on every machine"))
        note("0x%016" PRIx64, hash);
}

static bool
alike(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return signbit(a) == signbit(b) &&
           (a == b || fabs(a - b) <= 1e-15 * fabs(b));
}

static void
test_special(void)
{
    static const double xs[] = {0.0,       -0.0, 1,      -1,    2,     -2,
                                3,         -3,   0.5,    -0.5,  1e300, INFINITY,
                                -INFINITY, NAN,  -1e300, 1e-320};
    enum { N = sizeof xs / sizeof *xs };
    for (int i = 0; i < N; i++) {
        double x = xs[i];
        bool good = alike(rlf_exp(x), exp(x)) && alike(rlf_ln(x), log(x)) &&
                    alike(rlf_expm1(x), expm1(x)) &&
                    alike(rlf_log1p(x), log1p(x)) &&
                    alike(rlf_tanh(x), tanh(x));
        ok(good, "special values at %g", x);
        for (int j = 0; j < N; j++)
            if (!alike(rlf_pow(x, xs[j]), pow(x, xs[j])))
                good = false;
        ok(good, "powers of %g", x);
    }
    near(rlf_sigmoid(INFINITY), 1, 0, "sigmoid of infinity");
    near(rlf_sigmoid(-INFINITY), 0, 0, "sigmoid of minus infinity");
    near(rlf_log_sigmoid(-INFINITY), -INFINITY, 0, "its logarithm");
    near(rlf_scale2(0x1.8p0, -1074), 0x1p-1073, 0, "a tie goes to even");
}

/* Remainders of whole numbers up to 2^113, against those of integers, and with
 * the sign of the divisor. */
static void
test_remainder(void)
{
    int wrong = 0;
    for (int i = 0; i < 20000; i++) {
        int64_t m = (int64_t)between(0, 0x1p53), b = (int64_t)between(1, 0x1p40);
        int up = i % 61;
        double rest = (double)(int64_t)(((unsigned __int128)m << up) %
                                        (unsigned __int128)b);
        double a = (double)m * rlf_scale2(1, up), n = (double)b;
        wrong += rlf_mod(a, n) != rest || rlf_mod(-a, -n) != -rest ||
                 rlf_mod(-a, n) != (rest > 0 ? n - rest : 0) ||
                 rlf_mod(a, -n) != (rest > 0 ? rest - n : 0);
    }
    ok(wrong == 0, "20000 remainders are those of integers (%d are not)", wrong);
    double rest = rlf_mod(5.5, 0.1);
    ok(rest > 0.0999 && rest < 0.1, "5.5 %% 0.1 is just below 0.1: %.17g", rest);
    rest = rlf_mod(25.24, 0.04);
    ok(rest >= 0 && rest < 0.04, "25.24 %% 0.04 has the divisor's sign: %g",
       rest);
    ok(isnan(rlf_mod(1, 0)) && isnan(rlf_mod(INFINITY, 2)),
       "there is none by 0, or of infinity");
}

int
main(void)
{
    test_accuracy();
    test_remainder();
    test_special();
    return done();
}
