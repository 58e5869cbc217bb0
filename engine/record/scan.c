/* JSON read where it lies: see scan.h. */
#include "engine/record/scan.h"

#include "engine/base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 64 };

static bool
fail(rlf_json_scan *s, const char *why)
{
    if (!s->why)
        s->why = why;
    return false;
}

static void
skip_space(rlf_json_scan *s)
{
    while (s->p < s->end &&
           (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

static bool
is_digit(const rlf_json_scan *s)
{
    return s->p < s->end && *s->p >= '0' && *s->p <= '9';
}

/* ---- texts ---- */

static int
hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Behind a backslash. */
static bool
scan_escape(rlf_json_scan *s)
{
    if (s->p == s->end || !strchr("\"\\/bfnrtu", *s->p) || !*s->p)
        return fail(s, "an escape that JSON does not have");
    if (*s->p++ != 'u')
        return true;
    for (int i = 0; i < 4; i++, s->p++)
        if (s->p == s->end || hex(*s->p) < 0)
            return fail(s, "an escape of less than four digits");
    return true;
}

/* At the first quote. */
static bool
scan_text(rlf_json_scan *s, rlf_str *out)
{
    const char *from = ++s->p;
    for (;;) {
        while (s->p < s->end && *s->p != '"' && *s->p != '\\' &&
               (unsigned char)*s->p >= 0x20)
            s->p++;
        if (s->p == s->end)
            return fail(s, "a text without an end");
        if (*s->p == '"')
            break;
        if (*s->p != '\\')
            return fail(s, "a control character in a text");
        s->p++;
        if (!scan_escape(s))
            return false;
    }
    *out = (rlf_str){from, (size_t)(s->p - from)};
    s->p++;
    return true;
}

static uint32_t
hex_of(const char *p)
{
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out = out << 4 | (uint32_t)hex(p[i]);
    return out;
}

static void
put_code(uint32_t c, rlf_buf *out)
{
    char p[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i; i--, c >>= 6)
        p[i] = (char)(0x80 | (c & 0x3f));
    p[0] = (char)(first[n == 1 ? 0 : n] | c);
    rlf_buf_add(out, p, n);
}

/* The four digits at p, which may be the first half of a pair; returns what was
 * taken behind them. */
static size_t
put_unit(const char *p, size_t left, rlf_buf *out)
{
    uint32_t c = hex_of(p), low = 0;
    bool high = c >= 0xd800 && c < 0xdc00;
    if (high && left >= 6 && p[4] == '\\' && p[5] == 'u')
        low = hex_of(p + 6);
    bool pair = low >= 0xdc00 && low < 0xe000;
    if (pair)
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    else if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd;
    put_code(c, out);
    return pair ? 6 : 0;
}

void
rlf_scan_unescape(rlf_str w, rlf_buf *out)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    for (size_t i = 0, k; i < w.n; i += k) {
        size_t plain = 0;
        while (i + plain < w.n && w.p[i + plain] != '\\' &&
               (unsigned char)w.p[i + plain] < 0x80)
            plain++;
        rlf_buf_add(out, w.p + i, plain);
        i += plain;
        k = 0;
        if (i == w.n)
            break;
        if (w.p[i] != '\\') {
            k = rlf_str_utf8(w.p + i, w.n - i);
            rlf_buf_add(out, k ? w.p + i : "\xef\xbf\xbd", k ? k : 3);
            k = k ? k : 1;
        } else if (w.p[i + 1] == 'u') {
            k = 6 + put_unit(w.p + i + 2, w.n - i - 6, out);
        } else {
            const char *at = strchr(from, w.p[i + 1]);
            rlf_buf_putc(out, at ? to[at - from] : w.p[i + 1]);
            k = 2;
        }
    }
}

/* ---- numbers ---- */

/* Digits that a double has exactly, and powers of ten likewise. */
enum { EXACT_DIGITS = 15, EXACT_POWER = 22 };

static double
read_slowly(const char *p, size_t n)
{
    char some[64], *copy = n < sizeof some ? some : rlf_malloc(n + 1);
    memcpy(copy, p, n);
    copy[n] = 0;
    double x = strtod(copy, NULL);
    if (copy != some)
        free(copy);
    return x;
}

static double
read_number(const char *p, size_t n, uint64_t digits, int count, int power)
{
    static const double tens[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (count > EXACT_DIGITS || power > EXACT_POWER || power < -EXACT_POWER)
        return read_slowly(p, n);
    double x = (double)digits;
    x = power < 0 ? x / tens[-power] : x * tens[power];
    return *p == '-' ? -x : x;
}

/* The digits at s->p; false: there are none. */
static bool
scan_digits(rlf_json_scan *s, uint64_t *digits, int *count)
{
    const char *from = s->p;
    for (; is_digit(s); s->p++)
        if (*count <= EXACT_DIGITS) {
            *digits = 10 * *digits + (uint64_t)(*s->p - '0');
            *count += *digits > 0;
        }
    return s->p > from;
}

/* The exponent at an 'e', into *power. */
static bool
scan_exponent(rlf_json_scan *s, int *power)
{
    enum { MOST = 9999 };
    int e = 0;
    s->p++;
    bool minus = s->p < s->end && *s->p == '-';
    s->p += s->p < s->end && (*s->p == '-' || *s->p == '+');
    if (!is_digit(s))
        return fail(s, "a number without an exponent behind its e");
    for (; is_digit(s); s->p++)
        e = e < MOST ? 10 * e + (*s->p - '0') : e;
    *power += minus ? -e : e;
    return true;
}

static bool
scan_number(rlf_json_scan *s, double *out)
{
    const char *from = s->p;
    uint64_t digits = 0;
    int count = 0, power = 0;
    s->p += *s->p == '-';
    const char *whole = s->p;
    if (!scan_digits(s, &digits, &count))
        return fail(s, "no value");
    if (*whole == '0' && s->p > whole + 1)
        return fail(s, "a number that begins with 0");
    if (s->p < s->end && *s->p == '.') {
        const char *part = ++s->p;
        if (!scan_digits(s, &digits, &count))
            return fail(s, "a number without a digit behind its point");
        /* no more than a few thousand, beyond which it is read slowly */
        power -= s->p - part > 9999 ? 9999 : (int)(s->p - part);
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E') &&
        !scan_exponent(s, &power))
        return false;
    *out = read_number(from, (size_t)(s->p - from), digits, count, power);
    return isfinite(*out) || fail(s, "a number out of the range of doubles");
}

/* ---- values ---- */

static bool
scan_word(rlf_json_scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return fail(s, "no value");
    s->p += n;
    return true;
}

static bool scan_value(rlf_json_scan *s, int depth, rlf_scanned *out);

/* At the bracket; up to behind its other one. */
static bool
scan_nested(rlf_json_scan *s, int depth, char close)
{
    rlf_str key;
    rlf_scanned value;
    bool object = *s->p++ == '{';
    if (depth == DEPTH)
        return fail(s, "values in more than 64 others");
    skip_space(s);
    if (s->p < s->end && *s->p == close) {
        s->p++;
        return true;
    }
    for (;;) {
        skip_space(s);
        if (object) {
            if (s->p == s->end || *s->p != '"')
                return fail(s, "no key");
            if (!scan_text(s, &key))
                return false;
            skip_space(s);
            if (s->p == s->end || *s->p++ != ':')
                return fail(s, "no colon behind a key");
        }
        if (!scan_value(s, depth + 1, &value))
            return false;
        skip_space(s);
        if (s->p == s->end || (*s->p != ',' && *s->p != close))
            return fail(s, object ? "an object without an end"
                                  : "a list without an end");
        if (*s->p++ == close)
            return true;
    }
}

static bool
scan_value(rlf_json_scan *s, int depth, rlf_scanned *out)
{
    skip_space(s);
    *out = (rlf_scanned){.kind = RLF_SCAN_NUMBER};
    if (s->p == s->end)
        return fail(s, "no value");
    const char *from = s->p;
    bool good;
    switch (*from) {
    case '{':
    case '[':
        out->kind = *from == '{' ? RLF_SCAN_OBJECT : RLF_SCAN_LIST;
        good = scan_nested(s, depth, *from == '{' ? '}' : ']');
        out->text = (rlf_str){from, (size_t)(s->p - from)};
        return good;
    case '"':
        out->kind = RLF_SCAN_TEXT;
        return scan_text(s, &out->text);
    case 't':
        out->kind = RLF_SCAN_TRUE;
        return scan_word(s, "true");
    case 'f':
        out->kind = RLF_SCAN_FALSE;
        return scan_word(s, "false");
    case 'n':
        out->kind = RLF_SCAN_NULL;
        return scan_word(s, "null");
    default:
        return scan_number(s, &out->number);
    }
}

/* ---- the members of an object ---- */

rlf_json_scan
rlf_scan_object(rlf_str text)
{
    rlf_json_scan s = {.p = text.p, .end = text.p + text.n};
    skip_space(&s);
    if (s.p == s.end || *s.p != '{')
        fail(&s, "no object");
    else
        s.p++;
    return s;
}

/* Behind the last member: nothing more may follow. */
static bool
ends(rlf_json_scan *s)
{
    s->p++;
    skip_space(s);
    if (s->p != s->end)
        fail(s, "more behind the object");
    s->p = s->end;
    return false;
}

bool
rlf_scan_member(rlf_json_scan *s, rlf_str *key, rlf_scanned *value)
{
    if (s->why)
        return false;
    skip_space(s);
    if (s->p == s->end)
        return fail(s, "an object without an end");
    if (*s->p == '}')
        return ends(s);
    if (s->inside && *s->p++ != ',')
        return fail(s, "no comma between members");
    s->inside = true;
    skip_space(s);
    if (s->p == s->end || *s->p != '"')
        return fail(s, "no key");
    if (!scan_text(s, key))
        return false;
    skip_space(s);
    if (s->p == s->end || *s->p++ != ':')
        return fail(s, "no colon behind a key");
    return scan_value(s, 1, value);
}
