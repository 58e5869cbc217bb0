/* The errors of predicted numbers, for tests and benchmarks of seconds. */
#ifndef RLF_TESTS_FIT_ERRORS_H
#define RLF_TESTS_FIT_ERRORS_H

#include "engine/base/memory.h"

#include <math.h>
#include <stdlib.h>

typedef struct fit_errors {
    double mean, worst; /* relative errors, without their sign */
    double rank; /* correlation of the orders (Spearman; ties have the mean of
                    their places); 0 where one side is all alike */
} fit_errors;

typedef struct placed {
    double value, place;
    int index;
} placed;

static int
by_value(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

static int
by_index(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

/* Places of numbers in their order, equal ones at the mean of theirs. */
static void
find_places(const double *values, int n, placed *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (placed){.value = values[i], .index = i};
    qsort(out, (size_t)n, sizeof *out, by_value);
    for (int i = 0, end; i < n; i = end) {
        for (end = i; end < n && out[end].value <= out[i].value; end++)
            ;
        for (int k = i; k < end; k++)
            out[k].place = (i + end - 1) / 2.0;
    }
    qsort(out, (size_t)n, sizeof *out, by_index);
}

static inline fit_errors
fit_errors_of(const double *predicted, const double *seen, int n)
{
    fit_errors out = {0};
    placed *a = rlf_calloc(2 * (size_t)(n > 0 ? n : 1), sizeof *a);
    placed *b = a + n;
    double middle = (n - 1) / 2.0, aa = 0, bb = 0, ab = 0;
    find_places(predicted, n, a);
    find_places(seen, n, b);
    for (int i = 0; i < n; i++) {
        double error = fabs(predicted[i] - seen[i]) / seen[i];
        double x = a[i].place - middle, y = b[i].place - middle;
        out.mean += error / n;
        out.worst = fmax(out.worst, error);
        aa += x * x;
        bb += y * y;
        ab += x * y;
    }
    out.rank = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
    free(a);
    return out;
}

#endif
