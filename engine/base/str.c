/* Strings: see str.h. */
#include "engine/base/str.h"

#include "engine/base/arena.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rlf_str
rlf_str_of(const char *p)
{
    return (rlf_str){p, strlen(p)};
}

bool
rlf_str_eq(rlf_str a, rlf_str b)
{
    return a.n == b.n && (!a.n || memcmp(a.p, b.p, a.n) == 0);
}

static void
reserve(rlf_buf *buf, size_t n)
{
    if (buf->n + n + 1 <= buf->room)
        return;
    size_t room = buf->room ? buf->room : 64;
    while (room < buf->n + n + 1)
        room *= 2;
    buf->p = rlf_realloc(buf->p, room);
    buf->room = room;
}

bool
rlf_buf_try(rlf_buf *buf, size_t n)
{
    size_t room = buf->room ? buf->room : 64;
    while (room < buf->n + n + 1)
        room *= 2;
    char *p = room > buf->room ? rlf_try_realloc(buf->p, room) : buf->p;
    if (!p)
        return false;
    buf->p = p;
    buf->room = room;
    return true;
}

void
rlf_buf_add(rlf_buf *buf, const void *p, size_t n)
{
    reserve(buf, n);
    if (n)
        memcpy(buf->p + buf->n, p, n);
    buf->n += n;
    buf->p[buf->n] = 0;
}

void
rlf_buf_puts(rlf_buf *buf, const char *p)
{
    rlf_buf_add(buf, p, strlen(p));
}

void
rlf_buf_putc(rlf_buf *buf, char c)
{
    rlf_buf_add(buf, &c, 1);
}

void
rlf_buf_vprintf(rlf_buf *buf, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    reserve(buf, (size_t)n);
    vsnprintf(buf->p + buf->n, (size_t)n + 1, fmt, again);
    va_end(again);
    buf->n += (size_t)n;
}

void
rlf_buf_printf(rlf_buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_buf_vprintf(buf, fmt, ap);
    va_end(ap);
}

size_t
rlf_str_utf8(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] < 0x80)
        return 1;
    size_t want = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n < want)
        return 0;
    for (size_t i = 1; i < want; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return want;
}

size_t
rlf_str_cut(rlf_str text, size_t most)
{
    if (text.n <= most)
        return text.n;
    size_t n = most;
    while (n && most - n < 3 && (text.p[n] & 0xc0) == 0x80)
        n--;
    return n;
}

void
rlf_buf_json(rlf_buf *buf, const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text;
    rlf_buf_putc(buf, '"');
    for (size_t i = 0; i < n;) {
        size_t k = rlf_str_utf8(text + i, n - i);
        unsigned char c = p[i];
        if (!k) {
            rlf_buf_puts(buf, "\\ufffd");
            i++;
        } else if (k > 1) {
            rlf_buf_add(buf, p + i, k);
            i += k;
        } else {
            if (c == '"' || c == '\\')
                rlf_buf_printf(buf, "\\%c", c);
            else if (c == '\n')
                rlf_buf_puts(buf, "\\n");
            else if (c < 0x20 || c == 0x7f)
                rlf_buf_printf(buf, "\\u%04x", c);
            else
                rlf_buf_putc(buf, (char)c);
            i++;
        }
    }
    rlf_buf_putc(buf, '"');
}

void
rlf_buf_shell(rlf_buf *buf, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "%+,-./:=@_";
    if (*word && !word[strspn(word, plain)]) {
        rlf_buf_puts(buf, word);
        return;
    }
    rlf_buf_putc(buf, '\'');
    for (; *word; word++)
        if (*word == '\'')
            rlf_buf_puts(buf, "'\\''");
        else
            rlf_buf_putc(buf, *word);
    rlf_buf_putc(buf, '\'');
}

void
rlf_buf_number(rlf_buf *buf, double x)
{
    if (!isfinite(x)) {
        rlf_buf_puts(buf, "null");
        return;
    }
    char text[40];
    if (x == floor(x) && fabs(x) < 1e15) {
        rlf_buf_printf(buf, "%s%.0f", signbit(x) && x == 0 ? "-" : "",
                       fabs(x) == 0 ? 0.0 : x);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            break;
    }
    /* what is no digit, sign or e is the decimal point of the locale */
    size_t whole = strspn(text, "+-e0123456789");
    size_t rest = whole + strcspn(text + whole, "+-e0123456789");
    rlf_buf_add(buf, text, whole);
    if (text[whole])
        rlf_buf_puts(buf, ".");
    rlf_buf_puts(buf, text + rest);
}

double
rlf_str_number(const char *text, const char **end)
{
    char *stop;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    *end = text;
    if (!*text || !strchr("0123456789.", *text) || hexadecimal)
        return NAN;
    double x = strtod(text, &stop);
    *end = stop;
    return stop == text ? NAN : x;
}

/* Does a character of 3 bytes turn the text behind it around (U+202A to U+202E,
 * U+2066 to U+2069), end its line (U+2028, U+2029) or hide (U+FEFF)? */
static bool
is_sly(const unsigned char *p)
{
    unsigned c = (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
           c == 0xfeff;
}

/* Control characters but tabs and, in a text of lines, line feeds are written
 * as escapes, and so are bytes that are no UTF-8. */
static void
put_shown(rlf_buf *buf, const char *p, size_t n, bool lines)
{
    for (size_t i = 0, k; i < n; i += k) {
        unsigned char c = (unsigned char)p[i];
        bool plain = c == '\t' || (c == '\n' && lines);
        k = rlf_str_utf8(p + i, n - i);
        if (k == 2 && c == 0xc2 && (unsigned char)p[i + 1] < 0xa0) {
            rlf_buf_printf(buf, "\\%03u\\%03u", c, (unsigned char)p[i + 1]);
        } else if (k == 3 && is_sly((const unsigned char *)p + i)) {
            rlf_buf_printf(buf, "\\%03u\\%03u\\%03u", c,
                           (unsigned char)p[i + 1], (unsigned char)p[i + 2]);
        } else if (!k || (c < 0x20 && !plain) || c == 0x7f) {
            k = 1;
            rlf_buf_printf(buf, "\\%03u", c);
        } else {
            rlf_buf_add(buf, p + i, k);
        }
    }
}

void
rlf_buf_shown(rlf_buf *buf, const char *p, size_t n)
{
    put_shown(buf, p, n, true);
}

void
rlf_buf_vline(rlf_buf *buf, const char *fmt, va_list ap)
{
    size_t n = strlen(fmt);
    bool ends = n && fmt[n - 1] == '\n';
    rlf_buf text = {0};
    rlf_buf_vprintf(&text, fmt, ap);
    put_shown(buf, text.p, text.n - ends, false);
    if (ends)
        rlf_buf_putc(buf, '\n');
    rlf_buf_free(&text);
}

void
rlf_buf_line(rlf_buf *buf, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    rlf_buf_vline(buf, fmt, ap);
    va_end(ap);
}

void
rlf_buf_percent(rlf_buf *buf, double part)
{
    enum { MOST = 6 }; /* decimals */
    const double percent = 100 * part;
    const double x = fabs(percent);
    double near = 99.5;
    int decimals = x >= 10 || x < 1e-6 ? 0 : x >= 1 ? 1 : 2;
    for (double least = 0.1; x >= 1e-6 && x < least && decimals < MOST;)
        decimals++, least /= 10;
    for (; x < 100 && x >= near && decimals < MOST; near += 0.9 * (100 - near))
        decimals++;
    rlf_buf_printf(buf, "%.*f %%", decimals, percent);
}

void
rlf_buf_clear(rlf_buf *buf)
{
    buf->n = 0;
    if (buf->p)
        buf->p[0] = 0;
}

void
rlf_buf_free(rlf_buf *buf)
{
    free(buf->p);
    *buf = (rlf_buf){0};
}

size_t
rlf_str_distance(const char *a, const char *b, size_t cap)
{
    size_t n = strlen(a), m = strlen(b);
    if (n > 63 || m > 63 || (n > m ? n - m : m - n) > cap)
        return cap + 1;
    size_t row[64], above[64] = {0};
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0], two_up = 0; /* above[j - 2], two rows up */
        row[0] = i;
        size_t last = above[0];
        above[0] = corner;
        for (size_t j = 1; j <= m; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool swapped =
                i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_up + 1 < best)
                best = two_up + 1;
            two_up = last;
            last = above[j];
            above[j] = row[j];
            row[j] = best;
        }
    }
    return row[m] > cap ? cap + 1 : row[m];
}

const char *
rlf_str_nearest(const char *name, const char *const *names, size_t n)
{
    size_t length = strlen(name);
    size_t cap = length < 2 ? 0 : length <= 4 ? 1 : length <= 7 ? 2 : 3;
    const char *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!names[i])
            continue;
        size_t d = rlf_str_distance(name, names[i], cap);
        if (d <= cap && (!best || d < cap + 1)) {
            if (best && d >= rlf_str_distance(name, best, cap))
                continue;
            best = names[i];
        }
    }
    return best;
}

const char *
rlf_bytes_text(uint64_t bytes, char out[RLF_BYTES_TEXT])
{
    bool mega = bytes >= 100 << 10, kilo = !mega && bytes >= 1 << 10;
    uint64_t unit = mega ? 1 << 20 : kilo ? 1 << 10 : 1;
    if (mega || kilo)
        snprintf(out, RLF_BYTES_TEXT, "%.*f %s",
                 bytes >= 10 * unit || bytes % unit == 0 ? 0 : 1,
                 (double)bytes / (double)unit, mega ? "MB" : "KB");
    else
        snprintf(out, RLF_BYTES_TEXT, "%u byte%s", (unsigned)bytes,
                 bytes == 1 ? "" : "s");
    return out;
}

const char *
rlf_gb_text(double bytes, int digits, char out[RLF_BYTES_TEXT])
{
    double gb = bytes / 1e9, least = 1;
    for (int i = 0; i < digits; i++)
        least *= 10;
    if (gb < least)
        snprintf(out, RLF_BYTES_TEXT, "%.*g GB", digits, gb);
    else
        snprintf(out, RLF_BYTES_TEXT, "%.0f GB", gb);
    return out;
}
