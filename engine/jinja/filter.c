/* Filters on single values; those on many are in filter_list.c. */
#include "engine/jinja/inside.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
jinja_is_given(jinja_value v)
{
    return v.kind != JINJA_MISSING && v.kind != JINJA_NONE;
}

bool
jinja_flag(jinja_run *r, jinja_value v)
{
    return v.kind != JINJA_MISSING && jinja_truth(r, v);
}

static int64_t
int_or(jinja_run *r, jinja_value v, int64_t fallback)
{
    return v.kind == JINJA_MISSING ? fallback : jinja_need_int(r, v);
}

/* ---- texts ---- */

JINJA_FILTER(upper)
{
    (void)args;
    return jinja_upper(r, jinja_soft(r, self));
}

JINJA_FILTER(lower)
{
    (void)args;
    return jinja_lower(r, jinja_soft(r, self));
}

JINJA_FILTER(capitalize)
{
    (void)args;
    return jinja_capitalize(r, jinja_soft(r, self));
}

JINJA_FILTER(trim)
{
    return jinja_strip(r, jinja_soft(r, self), args->v[0], 3);
}

JINJA_FILTER(string)
{
    (void)args;
    return jinja_soft(r, self);
}

JINJA_FILTER(safe)
{
    (void)args;
    jinja_value v = jinja_str(r, self);
    v.markup = true;
    return v;
}

JINJA_FILTER(escape)
{
    (void)args;
    return jinja_escaped(r, self);
}

JINJA_FILTER(forceescape)
{
    (void)args;
    return jinja_escaped(r, jinja_str(r, self));
}

JINJA_FILTER(replace)
{
    int64_t most =
        jinja_is_given(args->v[2]) ? jinja_need_int(r, args->v[2]) : -1;
    return jinja_replaced(r, jinja_str(r, self), jinja_str(r, args->v[0]),
                          jinja_str(r, args->v[1]), most);
}

JINJA_FILTER(format)
{
    if (args->n && args->n_named)
        jinja_stop(r,
                   "FilterArgumentError: can't handle positional and keyword "
                   "arguments at the same time");
    jinja_value values = jinja_list_new(r, JINJA_TUPLE);
    for (size_t i = 0; i < args->n; i++)
        jinja_push(r, values, args->v[i]);
    if (args->n_named)
        values = jinja_dict_new(r);
    for (size_t i = 0; i < args->n_named; i++)
        JINJA_PUSH(r, values.dict, args->named[i]);
    return jinja_percent(r, jinja_soft(r, self), values);
}

static bool
parts_title(uint32_t c)
{
    return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' ||
           jinja_is_space(c);
}

/* The first letter of each word and of what stands between is large, the
 * others are small. */
JINJA_FILTER(title)
{
    jinja_value text = jinja_soft(r, self);
    const jinja_text *t = text.text;
    jinja_buf out = {0};
    (void)args;
    for (size_t at = 0, n; at < t->n;) {
        size_t first = at, rest;
        bool between = parts_title(jinja_code(t->p + at, &n));
        rest = at + n;
        while (at < t->n && parts_title(jinja_code(t->p + at, &n)) == between)
            at += n;
        jinja_print(r, &out, jinja_upper(r, jinja_part(r, text, first, rest)));
        jinja_print(r, &out, jinja_lower(r, jinja_part(r, text, rest, at)));
    }
    return jinja_taken(r, &out);
}

static void
add_line(jinja_run *r, jinja_buf *out, jinja_value line, jinja_value indent,
         bool always)
{
    if (always || line.text->n)
        jinja_print(r, out, indent);
    jinja_print(r, out, line);
}

/* Parameters: width, first, blank. */
JINJA_FILTER(indent)
{
    jinja_value width = args->v[0], indent;
    bool first = jinja_flag(r, args->v[1]), blank = jinja_flag(r, args->v[2]);
    jinja_buf out = {0};
    if (width.kind == JINJA_TEXT)
        indent = self.kind == JINJA_TEXT && self.markup
                     ? jinja_escaped(r, width)
                     : width;
    else
        indent = jinja_repeated(r, jinja_text_z(r, " "), int_or(r, width, 4));
    if (self.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, self);
    jinja_need_text(r, self);
    jinja_value ended =
        jinja_joined(r, jinja_str(r, self), jinja_text_z(r, "\n"));
    jinja_value lines = jinja_lines(r, ended, false);
    for (size_t i = 0; i < lines.list->count; i++) {
        if (i)
            jinja_put(r, &out, '\n');
        if (i || first)
            add_line(r, &out, lines.list->data[i], indent, !i || blank);
        else
            jinja_print(r, &out, lines.list->data[i]);
    }
    jinja_value v = jinja_taken(r, &out);
    v.markup = self.markup;
    return v;
}

/* Parameters: length, killwords, end, leeway. */
JINJA_FILTER(truncate)
{
    int64_t length = int_or(r, args->v[0], 255);
    int64_t leeway =
        jinja_is_given(args->v[3]) ? jinja_need_int(r, args->v[3]) : 5;
    jinja_value end =
        args->v[2].kind == JINJA_MISSING ? jinja_text_z(r, "...") : args->v[2];
    jinja_need_text(r, end);
    if (length < (int64_t)jinja_chars(end.text) || leeway < 0)
        jinja_stop(r,
                   "AssertionError: truncate: a length or leeway is too small");
    if ((int64_t)jinja_length(r, self) <= length + leeway)
        return self;
    jinja_need_text(r, self);
    size_t keep = (size_t)length - jinja_chars(end.text);
    jinja_value v = jinja_part(r, self, 0, jinja_byte_of(r, self.text, keep));
    if (!jinja_flag(r, args->v[1]))
        v = jinja_split(r, v, jinja_text_z(r, " "), 1, true).list->data[0];
    return jinja_joined(r, v, end);
}

JINJA_FILTER(wordcount)
{
    jinja_value text = jinja_soft(r, self);
    int64_t words = 0;
    bool inside = false;
    (void)args;
    for (size_t i = 0, n; i < text.text->n; i += n) {
        uint32_t c = jinja_code(text.text->p + i, &n);
        bool word = jinja_is_alnum(c) || c == '_';
        words += word && !inside;
        inside = word;
    }
    return jinja_int(words);
}

JINJA_FILTER(center)
{
    static const jinja_text name = {"center", 6, 6};
    jinja_value width =
        args->v[0].kind == JINJA_MISSING ? jinja_int(80) : args->v[0];
    const jinja_args one = {.v = &width, .n = 1};
    return jinja_call_builtin(r, jinja_method_find(JINJA_TEXT, &name),
                              jinja_soft(r, self), &one);
}

JINJA_FILTER(tojson)
{
    return jinja_to_json(r, self, args);
}

/* ---- numbers ---- */

JINJA_FILTER(absolute)
{
    int64_t i;
    (void)args;
    if (self.kind == JINJA_FLOAT)
        return jinja_float(fabs(self.f));
    if (!jinja_as_int(self, &i))
        jinja_stop(r, "TypeError: bad operand type for abs(): '%s'",
                   jinja_type(self));
    return i < 0 ? jinja_unary(r, JINJA_NEGATIVE, self) : jinja_int(i);
}

/* The text without white space around it and underscores between digits; false:
 * an underscore stands elsewhere, or it is too long. */
static bool
plain_number(jinja_run *r, jinja_value text, char *out, size_t room)
{
    const jinja_text *t = jinja_strip(r, text, jinja_none(), 3).text;
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        char c = t->p[i];
        if (c == '_') {
            if (!i || i + 1 == t->n || !isalnum((unsigned char)t->p[i - 1]) ||
                !isalnum((unsigned char)t->p[i + 1]))
                return false;
            continue;
        }
        if (n + 1 == room || !c)
            return false;
        out[n++] = c;
    }
    out[n] = 0;
    return n > 0;
}

static bool
parse_int(jinja_run *r, jinja_value text, int64_t base, int64_t *out)
{
    char digits[128], *end;
    if (base < 0 || base == 1 || base > 36 ||
        !plain_number(r, text, digits, sizeof digits))
        return false;
    char *p = digits + (strchr("+-", *digits) ? 1 : 0);
    static const char letters[] = "bBoOxX";
    static const int bases[] = {2, 2, 8, 8, 16, 16};
    const char *letter = p[0] == '0' && p[1] ? strchr(letters, p[1]) : NULL;
    if (letter && (!base || base == bases[letter - letters])) {
        base = bases[letter - letters];
        p += 2;
    } else if (!base) {
        if (p[0] == '0' && strspn(p, "0") != strlen(p))
            return false;
        base = 10;
    }
    if (!isalnum((unsigned char)*p))
        return false;
    errno = 0;
    unsigned long long u = strtoull(p, &end, (int)base);
    if (*end || end == p)
        return false;
    if (errno || u > INT64_MAX)
        jinja_stop(r, "an integer of more than 64 bits is not supported");
    *out = *digits == '-' ? -(int64_t)u : (int64_t)u;
    return true;
}

static bool
parse_float(jinja_run *r, jinja_value text, double *out)
{
    char digits[512], *end;
    if (!plain_number(r, text, digits, sizeof digits))
        return false;
    for (char *p = digits; *p; p++)
        if ((*p == 'x' || *p == 'X' || *p == '(' || *p == 'p' || *p == 'P'))
            return false;
    *out = strtod(digits, &end);
    return !*end && end != digits && !isspace((unsigned char)*digits);
}

static bool
to_float(jinja_run *r, jinja_value v, double *out)
{
    if (v.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, v);
    return v.kind == JINJA_TEXT ? parse_float(r, v, out)
                                : jinja_as_number(v, out);
}

/* Parameters: default, base. */
JINJA_FILTER(to_int)
{
    jinja_value fallback =
        args->v[0].kind == JINJA_MISSING ? jinja_int(0) : args->v[0];
    int64_t base = int_or(r, args->v[1], 10), i;
    double f;
    if (self.kind == JINJA_TEXT && parse_int(r, self, base, &i))
        return jinja_int(i);
    if (self.kind != JINJA_TEXT && jinja_as_int(self, &i))
        return jinja_int(i);
    if (self.kind == JINJA_FLOAT && isinf(self.f))
        jinja_stop(r,
                   "OverflowError: cannot convert float infinity to integer");
    if (!to_float(r, self, &f) || isnan(f) || isinf(f))
        return fallback;
    if (fabs(f) >= 9.2e18)
        jinja_stop(r, "an integer of more than 64 bits is not supported");
    return jinja_int((int64_t)f);
}

JINJA_FILTER(to_float_filter)
{
    double f;
    if (to_float(r, self, &f))
        return jinja_float(f);
    return args->v[0].kind == JINJA_MISSING ? jinja_float(0) : args->v[0];
}

/* As Python's round: halves to the even digit, of the exact number. */
static jinja_value
round_common(jinja_run *r, jinja_value v, int64_t precision)
{
    char text[512];
    int64_t i;
    if (jinja_as_int(v, &i) && precision >= 0)
        return jinja_int(i);
    double f = v.kind == JINJA_FLOAT ? v.f : (double)i;
    if (precision < 0) {
        double unit = pow(10, (double)-precision);
        f = rint(f / unit) * unit;
        return v.kind == JINJA_FLOAT ? jinja_float(f) : jinja_int((int64_t)f);
    }
    if (!isfinite(f) || precision > 320)
        return v;
    snprintf(text, sizeof text, "%.*f", precision > 150 ? 150 : (int)precision,
             f);
    if (precision > 150)
        return v;
    (void)r;
    return jinja_float(strtod(text, NULL));
}

JINJA_FILTER(round_filter)
{
    int64_t precision = int_or(r, args->v[0], 0);
    jinja_value method = args->v[1];
    double f;
    const jinja_text *how = method.kind == JINJA_TEXT ? method.text : NULL;
    if (self.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, self);
    bool common =
        method.kind == JINJA_MISSING || (how && jinja_text_is(how, "common"));
    bool ceiling = how && jinja_text_is(how, "ceil");
    if (!common && !ceiling && !(how && jinja_text_is(how, "floor")))
        jinja_stop(r,
                   "FilterArgumentError: method must be common, ceil or floor");
    if (!jinja_as_number(self, &f))
        jinja_stop(r, "TypeError: type %s doesn't define __round__ method",
                   jinja_type(self));
    if (common)
        return round_common(r, self, precision);
    double unit = pow(10, (double)precision);
    return jinja_float((ceiling ? ceil(f * unit) : floor(f * unit)) / unit);
}

/* ---- others ---- */

/* Parameters: default_value, boolean. */
JINJA_FILTER(default_filter)
{
    bool use = self.kind == JINJA_UNDEFINED ||
               (jinja_flag(r, args->v[1]) && !jinja_truth(r, self));
    if (!use)
        return self;
    return args->v[0].kind == JINJA_MISSING ? jinja_text_z(r, "") : args->v[0];
}

JINJA_FILTER(length)
{
    (void)args;
    return jinja_int((int64_t)jinja_length(r, self));
}

JINJA_FILTER(attr)
{
    const jinja_text *name = jinja_need_text(r, args->v[0]);
    if (self.kind == JINJA_UNDEFINED)
        jinja_stop_undefined(r, self);
    jinja_value v = jinja_own_attribute(r, self, name);
    return v.kind == JINJA_MISSING ? jinja_lacking(r, self, args->v[0]) : v;
}

#define ROW(name, parameters, call)      \
    {                                    \
        name, parameters, call, 0, false \
    }
static const jinja_builtin filters[] = {
    ROW("abs", "", absolute),
    ROW("attr", "name", attr),
    ROW("capitalize", "", capitalize),
    ROW("center", "width?", center),
    ROW("count", "", length),
    ROW("d", "default_value? boolean?", default_filter),
    ROW("default", "default_value? boolean?", default_filter),
    ROW("e", "", escape),
    ROW("escape", "", escape),
    ROW("float", "default?", to_float_filter),
    ROW("forceescape", "", forceescape),
    ROW("format", NULL, format),
    ROW("indent", "width? first? blank?", indent),
    ROW("int", "default? base?", to_int),
    ROW("length", "", length),
    ROW("lower", "", lower),
    ROW("replace", "old new count?", replace),
    ROW("round", "precision? method?", round_filter),
    ROW("safe", "", safe),
    ROW("string", "", string),
    ROW("title", "", title),
    ROW("tojson", "ensure_ascii? indent? separators? sort_keys?", tojson),
    ROW("trim", "chars?", trim),
    ROW("truncate", "length? killwords? end? leeway?", truncate),
    ROW("upper", "", upper),
    ROW("wordcount", "", wordcount),
};

const jinja_builtin *
jinja_filter_find(const jinja_text *name)
{
    const jinja_builtin *b =
        jinja_builtin_find(filters, sizeof filters / sizeof *filters, name);
    return b ? b
             : jinja_builtin_find(jinja_list_filters, jinja_n_list_filters,
                                  name);
}

bool
jinja_filter_is_absent(const jinja_text *name)
{
    static const char *const absent[] = {
        "filesizeformat", "pprint", "random",   "striptags",
        "urlencode",      "urlize", "wordwrap", "xmlattr"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (jinja_text_is(name, absent[i]))
            return true;
    return false;
}
