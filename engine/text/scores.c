/* The scores of a unigram model: see scores.h. */
#include "engine/text/scores.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static bool
is_digit(const char *p, const char *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

/* Append a digit; false if there is no room for it. */
static bool
add_digit(uint64_t *digits, char c)
{
    uint64_t digit = (uint64_t)(c - '0');
    if (*digits > (UINT64_MAX - digit) / 10)
        return false;
    *digits = *digits * 10 + digit;
    return true;
}

/* The double nearest to it, of an exponent up to 308. */
static double
power_of_ten(long exponent)
{
    enum { EXACT = 22 };
    char text[24];
    double power = 1;
    for (long i = 0; i < exponent && exponent <= EXACT; i++)
        power *= 10;
    if (exponent <= EXACT)
        return power;
    snprintf(text, sizeof text, "1e%ld", exponent);
    return strtod(text, NULL);
}

/* digits * 10^exponent, in the steps of the reference. */
static double
scale(uint64_t digits, long exponent)
{
    double f = (double)digits;
    while (exponent < -308 && f != 0) {
        f /= 1e308;
        exponent += 308;
    }
    if (exponent < -308)
        return 0;
    if (exponent > 308)
        return f == 0 ? 0 : INFINITY;
    double power = power_of_ten(labs(exponent));
    return exponent >= 0 ? f * power : f / power;
}

double
rlf_score_read(const char *p, size_t n)
{
    const char *end = p + n;
    bool negative = p < end && *p == '-', room = true;
    uint64_t digits = 0;
    long exponent = 0, written = 0;
    for (p += negative; is_digit(p, end); p++) {
        room = room && add_digit(&digits, *p);
        exponent += !room;
    }
    if (p < end && *p == '.')
        for (p++, room = true; is_digit(p, end); p++) {
            room = room && add_digit(&digits, *p);
            exponent -= room;
        }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        bool minus = p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        for (; is_digit(p, end); p++)
            written = written < 100000 ? written * 10 + (*p - '0') : written;
        exponent += minus ? -written : written;
    }
    double f = scale(digits, exponent);
    return negative ? -f : f;
}

/* ---- the place of them in a file ---- */

typedef struct scanner {
    const char *p, *end;
} scanner;

static void
skip_space(scanner *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p))
        s->p++;
}

/* The next character that is no space is c, which is passed. */
static bool
take(scanner *s, char c)
{
    skip_space(s);
    bool there = s->p < s->end && *s->p == c;
    s->p += there;
    return there;
}

/* Behind a text that begins here. */
static void
skip_text(scanner *s)
{
    for (s->p++; s->p < s->end && *s->p != '"'; s->p++)
        s->p += *s->p == '\\';
    s->p += s->p < s->end;
}

/* Behind a value that begins here. */
static void
skip_value(scanner *s)
{
    size_t depth = 0;
    do {
        skip_space(s);
        if (s->p >= s->end)
            return;
        char c = *s->p;
        if (c == '"') {
            skip_text(s);
        } else if (strchr("{}[],:", c)) {
            depth += c == '{' || c == '[';
            depth -= depth && (c == '}' || c == ']');
            s->p++;
        } else {
            while (s->p < s->end && !strchr(" \t\r\n{}[],:\"", *s->p))
                s->p++;
        }
    } while (depth);
}

/* To the value of a member of the object that begins here. */
static bool
find_member(scanner *s, const char *key)
{
    size_t n = strlen(key);
    if (!take(s, '{'))
        return false;
    do {
        skip_space(s);
        const char *name = s->p + 1;
        if (s->p >= s->end || *s->p != '"')
            return false;
        skip_text(s);
        bool same = (size_t)(s->p - name) == n + 1 && !memcmp(name, key, n);
        if (!take(s, ':'))
            return false;
        if (same)
            return true;
        skip_value(s);
    } while (take(s, ','));
    return false;
}

bool
rlf_scores_read(const char *text, size_t size, size_t n, double *out)
{
    scanner s = {text, text + size};
    if (!find_member(&s, "model") || !find_member(&s, "vocab") ||
        !take(&s, '['))
        return false;
    for (size_t i = 0; i < n; i++) {
        if ((i && !take(&s, ',')) || !take(&s, '['))
            return false;
        skip_space(&s);
        skip_value(&s);
        if (!take(&s, ','))
            return false;
        skip_space(&s);
        const char *begin = s.p;
        skip_value(&s);
        out[i] = rlf_score_read(begin, (size_t)(s.p - begin));
        if (!take(&s, ']') || !isfinite(out[i]))
            return false;
    }
    return take(&s, ']');
}
