/* Computes how far a mean that was measured can be from the one that more
 * prompts would give: intervals that hold it in 95 of 100 cases, and pass@k.
 * Numbers in, numbers out. */
#ifndef RLF_BASE_INTERVAL_H
#define RLF_BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct rlf_interval {
    double low, high;
} rlf_interval;

/* Resamples of a bootstrap. */
enum { RLF_RESAMPLES = 10000 };

/* The exact interval of a share of which `right` of n were seen (Clopper and
 * Pearson 1934), n > 0. */
rlf_interval rlf_interval_share(uint64_t right, uint64_t n);
/* The interval of the mean of x[n], n > 0, from RLF_RESAMPLES means of n values
 * that are drawn from x with replacement: their quantiles 0.025 and 0.975,
 * between two neighbours by a straight line. A function of x and `seed` alone.
 * Not a number where x has such values, or where there is no memory. */
rlf_interval rlf_interval_mean(const double *x, size_t n, uint64_t seed);
/* Computes how likely one of k answers is right, without bias, if of n answers
 * `right` were (Chen et al. 2021): 1 - C(n - right, k) / C(n, k), 1 <= k <= n.
 */
double rlf_pass_at(uint64_t n, uint64_t right, uint64_t k);

#endif
