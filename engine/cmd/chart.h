/* Curves for a terminal, in Braille's dots: two columns and four rows of dots a
 * character; where there are only letters of ASCII, in what is most like them.
 */
#ifndef RLF_CMD_CHART_H
#define RLF_CMD_CHART_H

#include "engine/base/diag.h"

/* The range of the finite ones of n values; false: there are none. */
bool rlf_chart_range(const double *value, size_t n, double *least,
                     double *most);
/* Appends line `row` (0: the highest) of a curve of so many columns and rows,
 * at least 1 each: column by column the mean of the values that it stands for,
 * joined to the one before. Values that are not finite leave a gap. */
void rlf_chart_line(const double *value, size_t n, int columns, int rows,
                    int row, bool ascii, rlf_buf *out);

#endif
