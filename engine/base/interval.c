/* Intervals of means and shares, and pass@k: see interval.h. */
#include "engine/base/interval.h"

#include "engine/base/splitmix.h"
#include "engine/base/memory.h"

#include <math.h>
#include <stdlib.h>

#define TAIL 0.025

/* ---- shares ---- */

/* The continued fraction of the incomplete beta function, by the method of
 * Lentz; it converges quickly for x < (a + 1) / (a + b + 2). */
static double
beta_fraction(double a, double b, double x)
{
    enum { MOST = 100000 };
    const double least = 1e-300, enough = 1e-16;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < least ? least : d);
    double f = d;
    for (int m = 1; m < MOST; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int k = 0; k < 2; k++) {
            double by = k ? odd : even;
            d = 1 + by * d;
            c = 1 + by / c;
            d = 1 / (fabs(d) < least ? least : d);
            c = fabs(c) < least ? least : c;
            f *= c * d;
        }
        if (fabs(c * d - 1) < enough)
            break;
    }
    return f;
}

/* The regularized incomplete beta function I_x(a, b). */
static double
beta_below(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front =
        exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    return x < (a + 1) / (a + b + 2)
               ? front * beta_fraction(a, b, x) / a
               : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The x at which that is p. */
static double
beta_quantile(double a, double b, double p)
{
    double low = 0, high = 1;
    for (int i = 0; i < 200 && low < high; i++) {
        double x = low + (high - low) / 2;
        if (x <= low || x >= high)
            break;
        if (beta_below(a, b, x) < p)
            low = x;
        else
            high = x;
    }
    return low + (high - low) / 2;
}

rlf_interval
rlf_interval_share(uint64_t right, uint64_t n)
{
    double x = (double)right, wrong = (double)(n - right);
    return (rlf_interval){right ? beta_quantile(x, wrong + 1, TAIL) : 0,
                          right < n ? beta_quantile(x + 1, wrong, 1 - TAIL)
                                    : 1};
}

/* ---- means ---- */

static int
compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two neighbours in sorted x[n], by a straight line. */
static double
quantile(const double *x, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t i = (size_t)at;
    double part = at - (double)i;
    return i + 1 < n ? x[i] + part * (x[i + 1] - x[i]) : x[n - 1];
}

rlf_interval
rlf_interval_mean(const double *x, size_t n, uint64_t seed)
{
    const rlf_interval none = {NAN, NAN};
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return none;
    double *means = n && n <= INT32_MAX
                        ? rlf_try_malloc(RLF_RESAMPLES * sizeof *means)
                        : NULL;
    if (!means)
        return none;
    for (uint32_t r = 0; r < RLF_RESAMPLES; r++) {
        rlf_splitmix chance = rlf_splitmix_begin(seed, r);
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += x[rlf_splitmix_below(&chance, (int)n)];
        means[r] = sum / (double)n;
    }
    qsort(means, RLF_RESAMPLES, sizeof *means, compare);
    rlf_interval out = {quantile(means, RLF_RESAMPLES, TAIL),
                        quantile(means, RLF_RESAMPLES, 1 - TAIL)};
    free(means);
    return out;
}

/* ---- pass@k ---- */

double
rlf_pass_at(uint64_t n, uint64_t right, uint64_t k)
{
    double none = 1; /* that all k are wrong */
    if (n - right < k)
        return 1;
    for (uint64_t i = n - right + 1; i <= n; i++)
        none *= 1 - (double)k / (double)i;
    return 1 - none;
}
