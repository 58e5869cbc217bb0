/* Intervals and pass@k, against tests/oracle/intervals.py: sums of binomial
 * probabilities to 50 digits, counted subsets, the same resamples in another
 * language. */
#include "engine/base/interval.h"

#include "tests/tap.h"

#include <math.h>

static const struct {
    uint64_t right, n;
    double low, high;
} shares[] = {
    {0, 1, 0, 0.97499999999999998},
    {1, 1, 0.025000000000000001, 1},
    {0, 20, 0, 0.16843347098308534},
    {20, 20, 0.83156652901691464, 1},
    {1, 20, 0.0012650894979498036, 0.24873276277202777},
    {172, 400, 0.3809091026486896, 0.48013423543726863},
    {7, 9, 0.39990642628368783, 0.97185502652210176},
    {1300, 1319, 0.97759609528115199, 0.99130565121354952},
    {3, 1319, 0.00046929216964512689, 0.0066323912674598794},
};

static const struct {
    uint64_t n, right, k;
    double p;
} passes[] = {
    {1, 0, 1, 0},       {1, 1, 1, 1},
    {8, 3, 1, 0.375},   {8, 3, 4, 0.9285714285714286},
    {8, 3, 8, 1},       {8, 0, 8, 0},
    {200, 1, 100, 0.5}, {200, 37, 10, 0.87737456737946018},
};

static const struct {
    uint64_t seed;
    double low, high;
} means[] = {
    {0, 0.16718749999999999, 0.58470312499999977},
    {7, 0.17061718750000002, 0.57813281249999993},
};

static bool
close_to(double got, double want)
{
    return fabs(got - want) <= 1e-12;
}

int
main(void)
{
    enum { N = 50 };
    bool good = true;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        rlf_interval at = rlf_interval_share(shares[i].right, shares[i].n);
        good &= close_to(at.low, shares[i].low);
        good &= close_to(at.high, shares[i].high);
    }
    ok(good, "exact intervals of shares");
    good = true;
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++)
        good &= close_to(rlf_pass_at(passes[i].n, passes[i].right, passes[i].k),
                         passes[i].p);
    ok(good, "pass@k without bias");
    double x[N];
    for (int k = 0; k < N; k++)
        x[k] = k * k % 11 / 4.0 + k / 64.0 - 1;
    good = true;
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        rlf_interval at = rlf_interval_mean(x, N, means[i].seed);
        good &= close_to(at.low, means[i].low);
        good &= close_to(at.high, means[i].high);
    }
    ok(good, "bootstrap intervals of means");
    rlf_interval one = rlf_interval_mean(x, 1, 0);
    ok(one.low == x[0] && one.high == x[0], "... of one value");
    x[3] = NAN;
    ok(isnan(rlf_interval_mean(x, N, 0).low), "... of what is no number");
    return done();
}
