/* Curves for a terminal: see chart.h. */
#include "engine/cmd/chart.h"

#include <math.h>

bool
rlf_chart_range(const double *value, size_t n, double *least, double *most)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(value[i]))
            continue;
        *least = !any || value[i] < *least ? value[i] : *least;
        *most = !any || value[i] > *most ? value[i] : *most;
        any = true;
    }
    return any;
}

/* The mean of the finite values of dot column x of `wide`; NaN: none. */
static double
mean_at(const double *value, size_t n, int x, int wide)
{
    size_t from = (size_t)((double)n * x / wide),
           to = (size_t)((double)n * (x + 1) / wide), count = 0;
    double sum = 0;
    for (size_t i = from; i < n && (i < to || i == from); i++)
        if (isfinite(value[i])) {
            sum += value[i];
            count++;
        }
    return count ? sum / (double)count : NAN;
}

/* The dot, from 0 at the bottom, of the value in dot column x; -1: none. */
static int
dot_at(const double *value, size_t n, int x, int wide, int high, double least,
       double most)
{
    double v = mean_at(value, n, x, wide);
    if (!isfinite(v))
        return -1;
    /* in halves: the difference of two numbers may be beyond all numbers */
    double part = (v / 2 - least / 2) / (most / 2 - least / 2);
    return most > least && isfinite(part) ? (int)lround(part * (high - 1))
                                          : high / 2;
}

/* The letter that is most like dots in these rows, a bit each from below. */
static char
letter_of(unsigned rows)
{
    static const char letters[16] = {' ',  '_', '-', '.', '-',  '|', '-', '|',
                                     '\'', '|', '|', '|', '\'', '|', '|', '|'};
    return letters[rows];
}

void
rlf_chart_line(const double *value, size_t n, int columns, int rows, int row,
               bool ascii, rlf_buf *out)
{
    /* bits of a character's dots: [column][row from below] */
    static const unsigned char bit[2][4] = {{0x40, 0x04, 0x02, 0x01},
                                            {0x80, 0x20, 0x10, 0x08}};
    int wide = 2 * columns, high = 4 * rows, bottom = 4 * (rows - 1 - row);
    double least = 0, most = 0;
    bool any = rlf_chart_range(value, n, &least, &most);
    int before = -1;
    for (int c = 0; c < columns; c++) {
        unsigned dots = 0, lines = 0;
        for (int k = 0; k < 2 && any; k++) {
            int y = dot_at(value, n, 2 * c + k, wide, high, least, most);
            int low = y, top = y;
            if (y >= 0 && before >= 0) { /* joined half way */
                low = before < y ? before + 1 : y;
                top = before > y ? before - 1 : y;
            }
            for (int d = low; y >= 0 && d <= top; d++)
                if (d >= bottom && d < bottom + 4) {
                    dots |= bit[k][d - bottom];
                    lines |= 1u << (d - bottom);
                }
            before = y;
        }
        if (ascii) {
            rlf_buf_putc(out, letter_of(lines));
            continue;
        }
        unsigned code = 0x2800 + dots;
        const char utf8[3] = {(char)(0xe0 | code >> 12),
                              (char)(0x80 | (code >> 6 & 0x3f)),
                              (char)(0x80 | (code & 0x3f))};
        rlf_buf_add(out, utf8, sizeof utf8);
    }
}
