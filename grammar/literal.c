/* The grammar of numbers: see literal.h. */
#include "grammar/literal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The factors of units. */
typedef struct unit_row {
    const char *text;
    double factor;
    rlf_ast_unit unit;
} unit_row;

// clang-format off
static const unit_row units[] = {
    {"", 1, RLF_AST_PLAIN},
    {"K", 1e3, RLF_AST_PLAIN},
    {"M", 1e6, RLF_AST_PLAIN},
    {"ms", 1e-3, RLF_AST_TIME},
    {"s", 1, RLF_AST_TIME},
    {"min", 60, RLF_AST_TIME},
    {"h", 3600, RLF_AST_TIME},
    {"KB", 1024, RLF_AST_BYTES},
    {"MB", 1024.0 * 1024, RLF_AST_BYTES},
    {"GB", 1024.0 * 1024 * 1024, RLF_AST_BYTES},
};
// clang-format on

/* All whole numbers up to here are doubles. */
#define LARGEST_INT 9007199254740992.0

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Copies the digits at p, without their '_', to *to. Returns the place behind
 * them; NULL: there are none. */
static const char *
copy_digits(const char *p, char **to)
{
    if (!is_digit(*p))
        return NULL;
    while (is_digit(*p) || (*p == '_' && is_digit(p[1]))) {
        if (*p != '_')
            *(*to)++ = *p;
        p++;
    }
    return p;
}

/* The same of a whole number without its unit. */
static const char *
copy_number(const char *p, char **to)
{
    p = copy_digits(p, to);
    if (p && *p == '.') {
        *(*to)++ = *p++;
        p = copy_digits(p, to);
    }
    if (!p || (p[0] != 'e' && p[0] != 'E'))
        return p;
    size_t sign = p[1] == '+' || p[1] == '-' ? 2 : 1;
    if (!is_digit(p[sign]))
        return p;
    memcpy(*to, p, sign);
    *to += sign;
    return copy_digits(p + sign, to);
}

/* Is `x` what the digits say? Of 2^53 and more only some whole numbers are
 * doubles. Beyond 1e17 what has an exponent is a measure, not a count. */
static bool
is_exact(const char *digits, double x)
{
    char exact[512], said[512];
    const char *point = strchr(digits, '.');
    const char *e = strpbrk(digits, "eE");
    long shift = e ? strtol(e + 1, NULL, 10) : 0;
    size_t n = 0, whole, end = e ? (size_t)(e - digits) : strlen(digits);
    if (x < LARGEST_INT || (e && x >= 1e17) || end > sizeof said / 2)
        return true;
    for (size_t i = 0; i < end; i++)
        if (is_digit(digits[i]))
            said[n++] = digits[i];
    whole = point ? (size_t)(point - digits) : end;
    /* 2^53 has 16 digits, so that many are left of the point now */
    for (long at = (long)whole + shift; (long)n < at && n < sizeof said - 1;)
        said[n++] = '0';
    size_t behind = (size_t)((long)whole + shift);
    for (size_t i = behind; i < n; i++)
        if (said[i] != '0')
            return false;
    said[behind < n ? behind : n] = 0;
    snprintf(exact, sizeof exact, "%.0f", x);
    return strcmp(said + strspn(said, "0"), exact) == 0;
}

static rlf_literal_fault
convert(const char *digits, const unit_row *row, double *out)
{
    double x = strtod(digits, NULL);
    /* 3 ms is 0.003, rounded once. */
    *out = row->factor < 1 ? x / 1e3 : x * row->factor;
    if (!isfinite(*out))
        return RLF_LITERAL_LARGE;
    size_t first = strcspn(digits, "123456789eE");
    bool nothing = fpclassify(*out) == FP_ZERO && is_digit(digits[first]);
    if (nothing)
        return RLF_LITERAL_SMALL;
    bool whole = x == floor(x) && *out >= LARGEST_INT;
    bool counts = whole && !strpbrk(digits, "eE");
    if (!is_exact(digits, x) ||
        (counts && row->factor > 1 && fma(x, row->factor, -*out) != 0))
        return RLF_LITERAL_ROUND;
    return RLF_LITERAL_FINE;
}

rlf_literal_fault
rlf_literal_read(const char *text, bool sign, double *out, rlf_ast_unit *unit)
{
    bool minus = sign && *text == '-';
    char *digits = rlf_malloc(strlen(text) + 1), *end = digits;
    const char *rest = copy_number(text + minus, &end);
    rlf_literal_fault fault = RLF_LITERAL_FORM;
    *end = 0;
    *out = 0;
    *unit = RLF_AST_PLAIN;
    for (size_t i = 0; rest && i < RLF_COUNT(units); i++) {
        if (strcmp(units[i].text, rest) != 0)
            continue;
        fault = convert(digits, &units[i], out);
        *unit = units[i].unit;
    }
    free(digits);
    if (fault != RLF_LITERAL_FINE && fault != RLF_LITERAL_ROUND)
        *out = 0;
    *out = minus ? -*out : *out;
    return fault;
}
