/* Fits: constants that explain measured seconds, none of them negative.
 *
 * Least squares of the relative error (Lawson and Hanson 1974, chapter 23), so
 * that short measurements count as much as long ones. A few dozen columns and
 * thousands of rows at most. */
#ifndef RLF_TIMING_FIT_H
#define RLF_TIMING_FIT_H

#include "engine/timing/seconds.h"

enum { RLF_FIT_COLUMNS = 32 };

/* factor[columns] such that the sums over k of factor[k] terms[i][k] come
 * nearest to seconds[i], for n rows of `columns` terms; a column of zeros has
 * the factor 0. RLF_USER if there are no rows, more columns than fit, or a
 * number is not finite or a time not positive. */
rlf_status rlf_fit_factors(const double *terms, int n, int columns,
                           const double *seconds, rlf_err *err, double *factor);
/* The same with factor[k] no less than least[k] (NULL: than 0), as nothing is
 * faster than its data sheet says; a column of zeros has least[k]. Profiles fit
 * with none; measurements that were published are fitted with it. */
rlf_status rlf_fit_above(const double *terms, int n, int columns,
                         const double *least, const double *seconds,
                         rlf_err *err, double *factor);
/* fixed + each * x for n measurements; fills these, least, most and the spread,
 * which is the mean relative error. RLF_USER as above. */
rlf_status rlf_fit_line(const double *x, const double *seconds, int n,
                        rlf_err *err, rlf_line *out);

#endif
