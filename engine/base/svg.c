/* Axes and texts of pictures: see svg.h. */
#include "engine/base/svg.h"

#include <math.h>
#include <string.h>

double
rlf_svg_step(double x)
{
    double power = pow(10, floor(log10(x)));
    double times = x / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

void
rlf_svg_text(rlf_buf *out, const char *text)
{
    for (size_t left = strlen(text), n; left; text += n, left -= n) {
        unsigned char c = (unsigned char)*text;
        n = rlf_str_utf8(text, left);
        if (!n) {
            n = 1;
            rlf_buf_puts(out, "\xef\xbf\xbd");
        } else if (strchr("<>&\"'", c))
            rlf_buf_printf(out, "&#%d;", c);
        else if ((c < ' ' && c != '\n') || c == 0x7f)
            rlf_buf_putc(out, ' ');
        else
            rlf_buf_add(out, text, n);
    }
}
