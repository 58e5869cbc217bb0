/* Curves in dots, beside a picture of the same values made dot by dot. */
#include "engine/cmd/chart.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

enum { MOST = 64 };

/* Is dot (x, y) of a curve's lines set? y from the bottom. */
static bool
is_set(const rlf_buf *lines, int rows, int x, int y)
{
    static const unsigned char bits[4][2] = {
        {0x40, 0x80}, {0x04, 0x20}, {0x02, 0x10}, {0x01, 0x08}};
    const unsigned char *c =
        (const unsigned char *)lines[rows - 1 - y / 4].p + 3 * (x / 2);
    unsigned code = (c[0] & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
    return (code & bits[y % 4][x % 2]) != 0;
}

static void
draw(const double *value, size_t n, int columns, int rows, rlf_buf *lines)
{
    for (int row = 0; row < rows; row++) {
        rlf_buf_clear(&lines[row]);
        rlf_chart_line(value, n, columns, rows, row, false, &lines[row]);
    }
}

int
main(void)
{
    rlf_buf lines[4] = {{0}};
    double value[MOST], least, most;
    int columns = 8, rows = 3, wide = 16, high = 12, wrong = 0;

    for (int i = 0; i < wide; i++)
        value[i] = i * i;
    draw(value, (size_t)wide, columns, rows, lines);
    ok(lines[0].n == 24 && lines[2].n == 24, "a line has its characters");
    for (int x = 0; x < wide; x++)
        wrong +=
            !is_set(lines, rows, x, (int)lround(value[x] / 225 * (high - 1)));
    ok(wrong == 0, "each value has its dot");
    wrong = 0;
    for (int x = 1; x < wide; x++) { /* no gap between neighbours */
        int a = (int)lround(value[x - 1] / 225 * (high - 1)),
            b = (int)lround(value[x] / 225 * (high - 1));
        for (int y = a + 1; y <= b; y++)
            wrong += !is_set(lines, rows, x, y);
    }
    ok(wrong == 0, "a curve is joined");
    int dots = 0;
    for (int x = 0; x < wide; x++)
        for (int y = 0; y < high; y++)
            dots += is_set(lines, rows, x, y);
    ok(dots >= wide && dots <= wide + high, "and has no other dots: %d", dots);

    value[7] = NAN;
    draw(value, (size_t)wide, columns, rows, lines);
    dots = 0;
    for (int y = 0; y < high; y++)
        dots += is_set(lines, rows, 7, y);
    ok(dots == 0, "what is not finite is a gap");

    for (int i = 0; i < MOST; i++)
        value[i] = i % 4 < 2 ? 0 : 1; /* means of four are one half */
    value[0] = value[1] = -0.5;
    value[MOST - 1] = value[MOST - 2] = 1.5;
    draw(value, MOST, columns, rows, lines);
    wrong = 0;
    for (int x = 1; x + 1 < wide; x++)
        wrong += !is_set(lines, rows, x, (int)lround(0.5 * (high - 1)));
    ok(wrong == 0, "a column is the mean of its values");

    for (int i = 0; i < 3; i++)
        value[i] = 5;
    draw(value, 3, columns, rows, lines);
    wrong = 0;
    for (int x = 0; x < wide; x++)
        wrong += !is_set(lines, rows, x, high / 2);
    ok(wrong == 0, "values that are equal are in the middle");

    value[0] = INFINITY;
    draw(value, 1, columns, rows, lines);
    ok(!rlf_chart_range(value, 1, &least, &most) &&
           strcmp(lines[0].p, lines[2].p) == 0,
       "no finite value is no curve");
    value[1] = -2;
    value[2] = 7;
    ok(rlf_chart_range(value, 3, &least, &most) && least == -2 && most == 7,
       "the range is that of finite values");
    for (int i = 0; i < rows; i++)
        rlf_buf_free(&lines[i]);
    return done();
}
