/* Letter case and classes of characters, as Python's str has them. Categories
 * and single characters are utf8proc's; characters that are several in another
 * case are in case_data.h. */
#include "engine/jinja/inside.h"
#include "engine/jinja/case_data.h"

#include <utf8proc.h>

#include <string.h>

uint32_t
jinja_code(const char *p, size_t *n)
{
    const unsigned char *b = (const unsigned char *)p;
    if (b[0] < 0x80) {
        *n = 1;
        return b[0];
    }
    if (b[0] < 0xE0) {
        *n = 2;
        return (b[0] & 0x1Fu) << 6 | (b[1] & 0x3Fu);
    }
    if (b[0] < 0xF0) {
        *n = 3;
        return (b[0] & 0x0Fu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    }
    *n = 4;
    return (b[0] & 0x07u) << 18 | (b[1] & 0x3Fu) << 12 | (b[2] & 0x3Fu) << 6 |
           (b[3] & 0x3Fu);
}

static utf8proc_category_t
category(uint32_t code)
{
    return utf8proc_category((utf8proc_int32_t)code);
}

bool
jinja_is_space(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 ||
           c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
           c == 0x3000;
}

bool
jinja_is_printable(uint32_t c)
{
    if (c < 0x7F)
        return c >= 0x20;
    utf8proc_category_t is = category(c);
    return is != UTF8PROC_CATEGORY_CN && is < UTF8PROC_CATEGORY_ZS;
}

static bool
is_alpha(uint32_t c)
{
    utf8proc_category_t is = category(c);
    return is >= UTF8PROC_CATEGORY_LU && is <= UTF8PROC_CATEGORY_LO;
}

bool
jinja_is_alnum(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    utf8proc_category_t is = category(c);
    return (is >= UTF8PROC_CATEGORY_LU && is <= UTF8PROC_CATEGORY_LO) ||
           (is >= UTF8PROC_CATEGORY_ND && is <= UTF8PROC_CATEGORY_NO);
}

bool
jinja_is_mark(uint32_t c)
{
    utf8proc_category_t is = c < 0x80 ? UTF8PROC_CATEGORY_CN : category(c);
    return is == UTF8PROC_CATEGORY_MN || is == UTF8PROC_CATEGORY_MC ||
           is == UTF8PROC_CATEGORY_PC || c == 0xb7 || c == 0x387;
}

bool
jinja_can_name(uint32_t c, bool first)
{
    if (c < 0x80)
        return c == '_' || jinja_is_alnum(c);
    utf8proc_category_t is = category(c);
    bool letter = is >= UTF8PROC_CATEGORY_LU && is <= UTF8PROC_CATEGORY_LO;
    return letter || is == UTF8PROC_CATEGORY_NL ||
           (!first && (is == UTF8PROC_CATEGORY_ND || jinja_is_mark(c)));
}

/* ---- one character ---- */

static void
add_long(jinja_run *r, jinja_buf *out, uint32_t c, const jinja_long_case *rows,
         size_t n, uint32_t simple)
{
    for (size_t i = 0; c >= 0x80 && i < n; i++) {
        if (rows[i].code != c)
            continue;
        for (int k = 0; k < 3 && rows[i].as[k]; k++)
            jinja_put(r, out, rows[i].as[k]);
        return;
    }
    jinja_put(r, out, simple);
}

static void
add_upper(jinja_run *r, jinja_buf *out, uint32_t c)
{
    add_long(r, out, c, long_upper, sizeof long_upper / sizeof *long_upper,
             (uint32_t)utf8proc_toupper((utf8proc_int32_t)c));
}

static void
add_title(jinja_run *r, jinja_buf *out, uint32_t c)
{
    add_long(r, out, c, long_title, sizeof long_title / sizeof *long_title,
             (uint32_t)utf8proc_totitle((utf8proc_int32_t)c));
}

/* Unicode's properties Cased and Case_Ignorable. */
static bool
is_cased(uint32_t c)
{
    utf8proc_category_t is = category(c);
    return is == UTF8PROC_CATEGORY_LU || is == UTF8PROC_CATEGORY_LL ||
           is == UTF8PROC_CATEGORY_LT || c == 0xAA || c == 0xBA ||
           (c >= 0x2B0 && c <= 0x2B8) || (c >= 0x2C0 && c <= 0x2C1) ||
           (c >= 0x2E0 && c <= 0x2E4) || c == 0x345 || c == 0x37A ||
           (c >= 0x1D2C && c <= 0x1D6A) || c == 0x1D78 ||
           (c >= 0x1D9B && c <= 0x1DBF) || c == 0x2071 || c == 0x207F ||
           (c >= 0x2090 && c <= 0x209C) || (c >= 0x2160 && c <= 0x217F) ||
           (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x2C7C && c <= 0x2C7D) ||
           (c >= 0xA69C && c <= 0xA69D) || c == 0xA770 ||
           (c >= 0xA7F8 && c <= 0xA7F9) || (c >= 0xAB5C && c <= 0xAB5F) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
           (c >= 0x1F170 && c <= 0x1F189);
}

static bool
is_ignorable(uint32_t c)
{
    utf8proc_category_t is = category(c);
    return is == UTF8PROC_CATEGORY_MN || is == UTF8PROC_CATEGORY_ME ||
           is == UTF8PROC_CATEGORY_CF || is == UTF8PROC_CATEGORY_LM ||
           is == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' ||
           c == 0xB7 || c == 0x387 || c == 0x55F || c == 0x5F4 || c == 0x2018 ||
           c == 0x2019 || c == 0x2024 || c == 0x2027 || c == 0xFE13 ||
           c == 0xFE52 || c == 0xFE55 || c == 0xFF07 || c == 0xFF0E ||
           c == 0xFF1A;
}

/* Is the capital sigma at byte `at` the last letter of a word? */
static bool
is_final(const jinja_text *t, size_t at)
{
    size_t n, i = at;
    bool before = false;
    while (i && !before) {
        do
            i--;
        while (((unsigned char)t->p[i] & 0xC0) == 0x80);
        uint32_t c = jinja_code(t->p + i, &n);
        if (is_ignorable(c))
            continue;
        before = is_cased(c);
        break;
    }
    jinja_code(t->p + at, &n);
    for (i = at + n; i < t->n && before; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        if (!is_ignorable(c))
            return !is_cased(c);
    }
    return before;
}

static void
add_lower(jinja_run *r, jinja_buf *out, const jinja_text *t, size_t at)
{
    size_t n;
    uint32_t c = jinja_code(t->p + at, &n);
    if (c == 0x130) {
        jinja_put(r, out, 'i');
        jinja_put(r, out, 0x307);
    } else if (c == 0x3A3 && is_final(t, at)) {
        jinja_put(r, out, 0x3C2);
    } else {
        jinja_put(r, out, (uint32_t)utf8proc_tolower((utf8proc_int32_t)c));
    }
}

/* ---- texts ---- */

typedef enum change { UPPER, LOWER, CAPITALIZE, TITLE, SWAP, FOLD } change;

static bool
is_upper(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_LU ||
           (c >= 0x2160 && c <= 0x216F) || (c >= 0x24B6 && c <= 0x24CF) ||
           (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
           (c >= 0x1F170 && c <= 0x1F189);
}

static bool
is_lower(uint32_t c)
{
    return is_cased(c) && !is_upper(c) && category(c) != UTF8PROC_CATEGORY_LT;
}

static void
add_folded(jinja_run *r, jinja_buf *out, uint32_t c)
{
    utf8proc_int32_t to[8];
    int boundary = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)c, to, 8,
                                                 UTF8PROC_CASEFOLD, &boundary);
    for (utf8proc_ssize_t i = 0; i < n && i < 8; i++)
        jinja_put(r, out, (uint32_t)to[i]);
}

static jinja_value
changed(jinja_run *r, jinja_value text, change how)
{
    const jinja_text *t = text.text;
    jinja_buf out = {0};
    bool after_cased = false;
    jinja_pay(r, t->n / 8);
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        bool first = how == CAPITALIZE ? i == 0 : !after_cased;
        if (how == FOLD)
            add_folded(r, &out, c);
        else if (how == UPPER || (how == SWAP && is_lower(c)))
            add_upper(r, &out, c);
        else if (how == LOWER || (how == SWAP && is_upper(c)))
            add_lower(r, &out, t, i);
        else if (how == SWAP)
            jinja_put(r, &out, c);
        else if (first)
            add_title(r, &out, c);
        else
            add_lower(r, &out, t, i);
        after_cased = is_cased(c);
    }
    jinja_value v = jinja_taken(r, &out);
    v.markup = text.markup;
    return v;
}

jinja_value
jinja_upper(jinja_run *r, jinja_value text)
{
    return changed(r, text, UPPER);
}

jinja_value
jinja_lower(jinja_run *r, jinja_value text)
{
    return changed(r, text, LOWER);
}

jinja_value
jinja_title(jinja_run *r, jinja_value text)
{
    return changed(r, text, TITLE);
}

jinja_value
jinja_capitalize(jinja_run *r, jinja_value text)
{
    return changed(r, text, CAPITALIZE);
}

jinja_value
jinja_swapcase(jinja_run *r, jinja_value text)
{
    return changed(r, text, SWAP);
}

jinja_value
jinja_casefold(jinja_run *r, jinja_value text)
{
    return changed(r, text, FOLD);
}

/* ---- questions ---- */

bool
jinja_all_lower(const jinja_text *t)
{
    bool any = false;
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        if (is_upper(c) || category(c) == UTF8PROC_CATEGORY_LT)
            return false;
        any |= is_lower(c);
    }
    return any;
}

bool
jinja_all_upper(const jinja_text *t)
{
    bool any = false;
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        if (is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT)
            return false;
        any |= is_upper(c);
    }
    return any;
}

static bool
is_title(const jinja_text *t)
{
    bool any = false, after = false;
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        bool up = is_upper(c) || category(c) == UTF8PROC_CATEGORY_LT;
        bool low = is_lower(c);
        if ((up && after) || (low && !after))
            return false;
        after = up || low;
        any |= after;
    }
    return any;
}

static bool
is_decimal(uint32_t c)
{
    return category(c) == UTF8PROC_CATEGORY_ND;
}

/* Decimal digits, and those in circles, above and below the line. */
static bool
is_digit(uint32_t c)
{
    return is_decimal(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 ||
           (c >= 0x1369 && c <= 0x1371) || c == 0x19DA || c == 0x2070 ||
           (c >= 0x2074 && c <= 0x2079) || (c >= 0x2080 && c <= 0x2089) ||
           (c >= 0x2460 && c <= 0x2468) || (c >= 0x2474 && c <= 0x247C) ||
           (c >= 0x2488 && c <= 0x2490) || c == 0x24EA ||
           (c >= 0x24F5 && c <= 0x24FD) || c == 0x24FF ||
           (c >= 0x2776 && c <= 0x277E) || (c >= 0x2780 && c <= 0x2788) ||
           (c >= 0x278A && c <= 0x2792) || (c >= 0x10A40 && c <= 0x10A43) ||
           (c >= 0x10E60 && c <= 0x10E68) || (c >= 0x11052 && c <= 0x1105A) ||
           (c >= 0x1F100 && c <= 0x1F10A);
}

static bool
is_numeric(uint32_t c)
{
    utf8proc_category_t is = category(c);
    return is >= UTF8PROC_CATEGORY_ND && is <= UTF8PROC_CATEGORY_NO;
}

static bool
is_ascii(uint32_t c)
{
    return c < 0x80;
}

static jinja_value
all(const jinja_text *t, bool (*is)(uint32_t), bool of_none)
{
    for (size_t i = 0, n; i < t->n; i += n)
        if (!is(jinja_code(t->p + i, &n)))
            return jinja_bool(false);
    return jinja_bool(t->n > 0 || of_none);
}

#define ALL(name, is, of_none)                              \
    static jinja_value name(jinja_run *r, jinja_value self, \
                            const jinja_args *args)         \
    {                                                       \
        (void)args;                                         \
        jinja_pay(r, self.text->n / 16);                    \
        return all(self.text, is, of_none);                 \
    }
ALL(ask_alpha, is_alpha, false)
ALL(ask_alnum, jinja_is_alnum, false)
ALL(ask_decimal, is_decimal, false)
ALL(ask_digit, is_digit, false)
ALL(ask_numeric, is_numeric, false)
ALL(ask_space, jinja_is_space, false)
ALL(ask_ascii, is_ascii, true)
ALL(ask_printable, jinja_is_printable, true)

static jinja_value
ask_lower(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return jinja_bool(jinja_all_lower(self.text));
}

static jinja_value
ask_upper(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return jinja_bool(jinja_all_upper(self.text));
}

static jinja_value
ask_title(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)r, (void)args;
    return jinja_bool(is_title(self.text));
}

#define METHOD(name, call)                      \
    {                                           \
        name, "", call, JINJA_TEXT_KINDS, false \
    }
const jinja_builtin jinja_text_tests[] = {
    METHOD("isalpha", ask_alpha),     METHOD("isalnum", ask_alnum),
    METHOD("isdecimal", ask_decimal), METHOD("isdigit", ask_digit),
    METHOD("isnumeric", ask_numeric), METHOD("isspace", ask_space),
    METHOD("isascii", ask_ascii),     METHOD("isprintable", ask_printable),
    METHOD("islower", ask_lower),     METHOD("isupper", ask_upper),
    METHOD("istitle", ask_title),
};
const size_t jinja_n_text_tests =
    sizeof jinja_text_tests / sizeof *jinja_text_tests;
