/* Texts with places for values: Python's `%` operator and str.format. */
#include "engine/jinja/inside.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 1024, MOST_PRECISION = 400, MOST_WIDTH = 1 << 20 };

/* The form in which a value is written. */
typedef struct spec {
    char fill[5];
    char align; /* < > = ^, or 0 */
    char sign;  /* + - space, or 0 */
    bool alternate, zero;
    int64_t width, precision; /* -1: none */
    char group;               /* , _ or 0 */
    char type;                /* or 0 */
} spec;

/* ---- numbers ---- */

static void
add_padded(jinja_run *r, jinja_buf *out, const spec *s, const char *lead,
           const char *p, size_t n, char align)
{
    jinja_text text = {p, n, SIZE_MAX};
    int64_t pad = s->width - (int64_t)(strlen(lead) + jinja_chars(&text));
    int64_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    int64_t right = align == '<' ? pad : align == '^' ? pad - left : 0;
    for (int64_t i = 0; i < left; i++)
        jinja_puts(r, out, s->fill);
    jinja_puts(r, out, lead);
    for (int64_t i = 0; align == '=' && i < pad; i++)
        jinja_puts(r, out, s->fill);
    jinja_add(r, out, p, n);
    for (int64_t i = 0; i < right; i++)
        jinja_puts(r, out, s->fill);
}

/* Digits with a separator after each three, from the point on. */
static size_t
grouped(char *text, size_t n, char group)
{
    size_t whole = 0, at = 0;
    char out[DIGITS * 2];
    while (whole < n && text[whole] >= '0' && text[whole] <= '9')
        whole++;
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0)
            out[at++] = group;
        out[at++] = text[i];
    }
    memcpy(out + at, text + whole, n - whole);
    at += n - whole;
    memcpy(text, out, at);
    return at;
}

static void
write_number(jinja_run *r, jinja_buf *out, spec s, bool negative,
             const char *prefix, char *digits)
{
    char lead[8];
    size_t n = strlen(digits);
    snprintf(lead, sizeof lead, "%s%s",
             negative        ? "-"
             : s.sign == '+' ? "+"
             : s.sign == ' ' ? " "
                             : "",
             prefix);
    if (s.group)
        n = grouped(digits, n, s.group);
    add_padded(r, out, &s, lead, digits, n, s.align ? s.align : '>');
}

static void
write_int(jinja_run *r, jinja_buf *out, spec s, int64_t i)
{
    char digits[DIGITS * 2], reversed[80];
    uint64_t u = i < 0 ? -(uint64_t)i : (uint64_t)i;
    unsigned base = s.type == 'x' || s.type == 'X' ? 16
                    : s.type == 'o'                ? 8
                    : s.type == 'b'                ? 2
                                                   : 10;
    const char *names = s.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t n = 0, k = 0;
    do
        reversed[n++] = names[u % base];
    while (u /= base);
    for (int64_t pad = s.precision; pad > (int64_t)n && k < DIGITS; pad--)
        digits[k++] = '0';
    while (n)
        digits[k++] = reversed[--n];
    digits[k] = 0;
    const char *prefix = !s.alternate    ? ""
                         : s.type == 'x' ? "0x"
                         : s.type == 'X' ? "0X"
                         : s.type == 'o' ? "0o"
                         : s.type == 'b' ? "0b"
                                         : "";
    write_number(r, out, s, i < 0, prefix, digits);
}

static void
write_float(jinja_run *r, jinja_buf *out, spec s, double f)
{
    char digits[DIGITS * 2], how[16];
    bool percent = s.type == '%';
    int precision = s.precision < 0 ? 6 : (int)s.precision;
    double magnitude = fabs(percent ? f * 100 : f);
    if (s.precision > MOST_PRECISION)
        jinja_stop(r, "a precision of more than %d digits is not supported",
                   MOST_PRECISION);
    if (isnan(f) || isinf(f)) {
        bool up = s.type == 'F' || s.type == 'E' || s.type == 'G';
        strcpy(digits, isnan(f) ? (up ? "NAN" : "nan") : up ? "INF" : "inf");
    } else if (!s.type && s.precision < 0) {
        jinja_float_text(magnitude, digits);
    } else {
        char type = s.type ? s.type : 'g';
        type = percent ? 'f' : type == 'n' ? 'g' : type;
        snprintf(how, sizeof how, "%%%s.*%c", s.alternate ? "#" : "", type);
        int digit_count = !s.type && !precision ? 1 : precision;
        snprintf(digits, sizeof digits, how, digit_count, magnitude);
        if (!s.type && !strpbrk(digits, ".e"))
            strcat(digits, ".0");
    }
    if (percent)
        strcat(digits, "%");
    write_number(r, out, s, signbit(f) && !isnan(f), "", digits);
}

static void
write_text(jinja_run *r, jinja_buf *out, spec s, jinja_text *t)
{
    size_t n = t->n;
    if (s.precision >= 0)
        n = jinja_byte_of(r, t, (size_t)s.precision);
    add_padded(r, out, &s, "", t->p, n, s.align ? s.align : '<');
}

static int64_t
read_number(jinja_run *r, const char **p, const char *end)
{
    int64_t n = -1;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        n = (n < 0 ? 0 : n) * 10 + (**p - '0');
        if (n > MOST_WIDTH)
            jinja_stop(r, "ValueError: a width is too large");
    }
    return n;
}

/* ---- the operator % ---- */

typedef struct percent {
    jinja_run *r;
    jinja_buf out;
    jinja_value args;
    size_t next; /* of a tuple */
    bool mapping, markup, keyed;
    jinja_value by_key;
} percent;

static jinja_value
next_arg(percent *f)
{
    if (f->keyed) {
        f->keyed = false;
        return f->by_key;
    }
    size_t n = f->args.kind == JINJA_TUPLE ? f->args.list->count : 1;
    if (f->next >= n)
        jinja_stop(f->r, "TypeError: not enough arguments for format string");
    size_t i = f->next++;
    return f->args.kind == JINJA_TUPLE ? f->args.list->data[i] : f->args;
}

static const char *
read_key(percent *f, const char *p, const char *end)
{
    const char *first = ++p;
    int depth = 1;
    if (!f->mapping)
        jinja_stop(f->r, "TypeError: format requires a mapping");
    for (; p < end; p++) {
        depth += *p == '(' ? 1 : *p == ')' ? -1 : 0;
        if (!depth)
            break;
    }
    if (p == end)
        jinja_stop(f->r, "ValueError: incomplete format key");
    jinja_value key = jinja_text_of(f->r, first, (size_t)(p - first));
    const jinja_value *there =
        f->args.kind == JINJA_DICT ? jinja_find(f->r, f->args.dict, key) : NULL;
    if (!there)
        jinja_stop_text(f->r,
                        "KeyError: ", (rlf_str){first, (size_t)(p - first)});
    f->by_key = *there;
    f->keyed = true;
    return p + 1;
}

static int64_t
star_or_number(percent *f, const char **p, const char *end)
{
    if (*p == end || **p != '*')
        return read_number(f->r, p, end);
    ++*p;
    jinja_value v = next_arg(f);
    int64_t i;
    if (!jinja_as_int(v, &i))
        jinja_stop(f->r, "TypeError: * wants int");
    if (i > MOST_WIDTH || i < -MOST_WIDTH)
        jinja_stop(f->r, "ValueError: a width is too large");
    return i;
}

static void
write_char(percent *f, spec s, jinja_value v)
{
    jinja_buf one = {0};
    int64_t i;
    if (v.kind == JINJA_TEXT && jinja_chars(v.text) == 1) {
        write_text(f->r, &f->out, s, v.text);
        return;
    }
    if (!jinja_as_int(v, &i) || i < 0 || i >= 0x110000 ||
        (i >= 0xD800 && i < 0xE000))
        jinja_stop(f->r, "TypeError: %%c requires int or char");
    jinja_put(f->r, &one, (uint32_t)i);
    write_text(f->r, &f->out, s, jinja_taken(f->r, &one).text);
}

static void
write_conversion(percent *f, spec s, jinja_value v)
{
    jinja_run *r = f->r;
    jinja_buf text = {0};
    int64_t i;
    double x;
    switch (s.type) {
    case 's':
        if (f->markup)
            v = jinja_escaped(r, v);
        s.zero = false;
        jinja_print(r, &text, v);
        write_text(r, &f->out, s, jinja_taken(r, &text).text);
        return;
    case 'r':
        jinja_repr(r, &text, v);
        write_text(r, &f->out, s, jinja_taken(r, &text).text);
        return;
    case 'c':
        write_char(f, s, v);
        return;
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        if (!jinja_as_int(v, &i)) {
            if (v.kind == JINJA_UNDEFINED)
                jinja_stop_undefined(r, v);
            if (v.kind != JINJA_FLOAT || strchr("xXo", s.type) ||
                !(fabs(v.f) < 9e18))
                jinja_stop(r,
                           "TypeError: %%%c format: a number is required, not "
                           "%s",
                           s.type, jinja_type(v));
            i = (int64_t)v.f;
        }
        write_int(r, &f->out, s, i);
        return;
    default:
        if (v.kind == JINJA_UNDEFINED)
            jinja_stop_undefined(r, v);
        if (!jinja_as_number(v, &x))
            jinja_stop(r, "TypeError: must be real number, not %s",
                       jinja_type(v));
        write_float(r, &f->out, s, x);
    }
}

static const char *
convert(percent *f, const char *p, const char *end)
{
    jinja_run *r = f->r;
    spec s = {.fill = " ", .width = -1, .precision = -1};
    bool left = false;
    if (p < end && *p == '(')
        p = read_key(f, p, end);
    for (; p < end && strchr("-+ #0", *p) && *p; p++) {
        left |= *p == '-';
        s.alternate |= *p == '#';
        s.zero |= *p == '0';
        if (*p == '+' || (*p == ' ' && !s.sign))
            s.sign = *p;
    }
    s.width = star_or_number(f, &p, end);
    if (s.width < 0 && p > (const char *)0 && p[-1] == '*') {
        left = true;
        s.width = -s.width;
    }
    if (p < end && *p == '.') {
        p++;
        s.precision = star_or_number(f, &p, end);
        s.precision = s.precision < 0 ? 0 : s.precision;
    }
    while (p < end && strchr("hlL", *p) && *p)
        p++;
    if (p == end)
        jinja_stop(r, "ValueError: incomplete format");
    s.type = *p++;
    if (s.type == '%') {
        jinja_put(r, &f->out, '%');
        return p;
    }
    if (!s.type || !strchr("srcdiuxXoeEfFgG", s.type))
        jinja_stop(r, "ValueError: unsupported format character");
    bool number = !strchr("src", s.type);
    s.align = left ? '<' : s.zero && number ? '=' : '>';
    if (s.align == '=')
        strcpy(s.fill, "0");
    write_conversion(f, s, next_arg(f));
    return p;
}

jinja_value
jinja_percent(jinja_run *r, jinja_value format, jinja_value args)
{
    const char *p = format.text->p, *end = p + format.text->n;
    percent f = {.r = r, .args = args, .markup = format.markup};
    f.mapping = args.kind == JINJA_DICT || args.kind == JINJA_LIST ||
                args.kind == JINJA_RANGE || args.kind == JINJA_UNDEFINED;
    while (p < end) {
        const char *sign = memchr(p, '%', (size_t)(end - p));
        const char *to = sign ? sign : end;
        jinja_add(r, &f.out, p, (size_t)(to - p));
        p = sign ? convert(&f, sign + 1, end) : end;
    }
    size_t n = args.kind == JINJA_TUPLE ? args.list->count : 1;
    if (f.next < n && !f.mapping)
        jinja_stop(r, "TypeError: not all arguments converted during string "
                      "formatting");
    jinja_value v = jinja_taken(r, &f.out);
    v.markup = format.markup;
    return v;
}

/* ---- str.format ---- */

static bool
is_align(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '^';
}

static spec
read_spec(jinja_run *r, const jinja_text *t)
{
    spec s = {.fill = " ", .width = -1, .precision = -1};
    const char *p = t->p, *end = p + t->n;
    size_t n = 1;
    if (p < end)
        jinja_code(p, &n);
    if (p + n < end && is_align(p[n])) {
        memcpy(s.fill, p, n);
        s.fill[n] = 0;
        s.align = p[n];
        p += n + 1;
    } else if (p < end && is_align(*p)) {
        s.align = *p++;
    }
    if (p < end && strchr("+- ", *p))
        s.sign = *p++;
    if (p < end && *p == '#') {
        s.alternate = true;
        p++;
    }
    if (p < end && *p == '0') {
        s.zero = true;
        p++;
        if (!s.align) {
            s.align = '=';
            strcpy(s.fill, "0");
        }
    }
    s.width = read_number(r, &p, end);
    if (p < end && (*p == ',' || *p == '_'))
        s.group = *p++;
    if (p < end && *p == '.') {
        p++;
        s.precision = read_number(r, &p, end);
        if (s.precision < 0)
            jinja_stop(r, "ValueError: Format specifier missing precision");
    }
    if (p < end)
        s.type = *p++;
    if (p < end)
        jinja_stop(r, "ValueError: Invalid format specifier");
    return s;
}

static _Noreturn void
bad_type(jinja_run *r, const spec *s, jinja_value v)
{
    jinja_stop(r,
               "ValueError: Unknown format code '%c' for object of type '%s'",
               s->type, jinja_type(v));
}

/* format(v, spec) */
static void
format_value(jinja_run *r, jinja_buf *out, jinja_value v, const jinja_text *how)
{
    int64_t i;
    double x;
    if (!how->n) {
        jinja_print(r, out, v);
        return;
    }
    spec s = read_spec(r, how);
    if (v.kind == JINJA_TEXT) {
        if ((s.type && s.type != 's'))
            bad_type(r, &s, v);
        if (s.sign || s.alternate || s.align == '=' || s.group)
            jinja_stop(r, "ValueError: not allowed in string format specifier");
        write_text(r, out, s, v.text);
        return;
    }
    if (jinja_as_int(v, &i) && (!s.type || strchr("bdoxXnc", s.type))) {
        if (s.precision >= 0)
            jinja_stop(r, "ValueError: Precision not allowed in integer format "
                          "specifier");
        if (s.type == 'c') {
            jinja_buf one = {0};
            if (i < 0 || i >= 0x110000 || (i >= 0xD800 && i < 0xE000))
                jinja_stop(r, "OverflowError: %%c arg not in range(0x110000)");
            jinja_put(r, &one, (uint32_t)i);
            write_text(r, out, s, jinja_taken(r, &one).text);
            return;
        }
        write_int(r, out, s, i);
        return;
    }
    if (!jinja_as_number(v, &x))
        jinja_stop(r,
                   "TypeError: unsupported format string passed to "
                   "%s.__format__",
                   jinja_type(v));
    if (s.type && !strchr("eEfFgGn%", s.type))
        bad_type(r, &s, v);
    write_float(r, out, s, x);
}

typedef struct fields {
    jinja_run *r;
    const jinja_args *args;
    int64_t automatic; /* the next number; -1: fields have numbers */
    bool markup;
} fields;

static jinja_value
first_of_field(fields *f, const char *p, size_t n)
{
    jinja_run *r = f->r;
    const char *at = p;
    int64_t number = read_number(r, &at, p + n);
    bool numbered = n && at == p + n;
    if (!n || numbered) {
        if ((!n && f->automatic < 0) || (numbered && f->automatic > 0))
            jinja_stop(r, "ValueError: cannot switch between automatic field "
                          "numbering and manual field specification");
        number = n ? number : f->automatic;
        f->automatic = n ? -1 : f->automatic + 1;
        if (number >= (int64_t)f->args->n)
            jinja_stop(r,
                       "IndexError: Replacement index %" PRId64
                       " out of range for positional args tuple",
                       number);
        return f->args->v[number];
    }
    for (size_t i = 0; i < f->args->n_named; i++) {
        const jinja_text *name = f->args->named[i].key.text;
        if (name->n == n && memcmp(name->p, p, n) == 0)
            return f->args->named[i].value;
    }
    jinja_stop_text(r, "KeyError: ", (rlf_str){p, n});
}

static jinja_value
field_value(fields *f, const char *p, const char *end)
{
    jinja_run *r = f->r;
    const char *first = p;
    while (p < end && *p != '.' && *p != '[')
        p++;
    jinja_value v = first_of_field(f, first, (size_t)(p - first));
    while (p < end) {
        bool attribute = *p++ == '.';
        const char *name = p;
        while (p < end && (attribute ? *p != '.' && *p != '[' : *p != ']'))
            p++;
        if (p == name || (!attribute && p == end))
            jinja_stop(r, "ValueError: Empty attribute in format string");
        jinja_value key = jinja_text_of(r, name, (size_t)(p - name));
        const char *digit = name;
        int64_t number = read_number(r, &digit, p);
        if (attribute)
            v = jinja_getattr(r, v, key.text);
        else
            v = jinja_getitem(r, v, digit == p ? jinja_int(number) : key);
        p += !attribute;
        if (!attribute && p < end && *p != '.' && *p != '[')
            jinja_stop(r,
                       "ValueError: Only '.' or '[' may follow ']' in format "
                       "field specifier");
    }
    return v;
}

static void format_into(fields *f, jinja_buf *out, const char *p,
                        const char *end, int depth);

/* A field, p behind its '{'; gives what follows its '}'. */
static const char *
format_field(fields *f, jinja_buf *out, const char *p, const char *end,
             int depth)
{
    jinja_run *r = f->r;
    const char *name = p, *last;
    jinja_buf how = {0}, text = {0};
    char conversion = 0;
    if (depth > 1)
        jinja_stop(r, "ValueError: Max string recursion exceeded");
    for (bool inside = false;
         p < end && (inside || (*p != '}' && *p != ':' && *p != '!')); p++)
        inside = *p == '[' ? true : *p == ']' ? false : inside;
    last = p;
    jinja_value v = field_value(f, name, last);
    if (p < end && *p == '!') {
        conversion = p + 1 < end ? p[1] : 0;
        p += 2;
        if (p > end || (p < end && *p != ':' && *p != '}'))
            jinja_stop(r,
                       "ValueError: expected ':' after conversion specifier");
    }
    if (p < end && *p == ':') {
        const char *first = ++p;
        int open = 0;
        for (; p < end && (*p != '}' || open); p++)
            open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        format_into(f, &how, first, p, depth + 1);
    }
    if (p >= end)
        jinja_stop(r, "ValueError: expected '}' before end of string");
    if (conversion == 'r') {
        jinja_repr(r, &text, v);
        v = jinja_taken(r, &text);
    } else if (conversion == 's') {
        v = jinja_str(r, v);
    } else if (conversion) {
        jinja_stop(r, "ValueError: Unknown conversion specifier '%c'",
                   conversion);
    }
    if (f->markup && !how.n)
        v = jinja_escaped(r, v);
    format_value(r, out, v, jinja_taken(r, &how).text);
    return p + 1;
}

static void
format_into(fields *f, jinja_buf *out, const char *p, const char *end,
            int depth)
{
    jinja_run *r = f->r;
    while (p < end) {
        const char *first = p;
        while (p < end && *p != '{' && *p != '}')
            p++;
        jinja_add(r, out, first, (size_t)(p - first));
        if (p == end)
            return;
        if (p + 1 < end && p[1] == *p) {
            jinja_add(r, out, p, 1);
            p += 2;
        } else if (*p == '}') {
            jinja_stop(r,
                       "ValueError: Single '}' encountered in format string");
        } else if (p + 1 == end) {
            jinja_stop(r,
                       "ValueError: Single '{' encountered in format string");
        } else {
            p = format_field(f, out, p + 1, end, depth);
        }
    }
}

jinja_value
jinja_format(jinja_run *r, jinja_value format, const jinja_args *args)
{
    jinja_buf out = {0};
    fields f = {.r = r, .args = args, .markup = format.markup};
    const char *p = format.text->p;
    format_into(&f, &out, p, p + format.text->n, 0);
    jinja_value v = jinja_taken(r, &out);
    v.markup = format.markup;
    return v;
}
