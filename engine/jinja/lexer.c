/* A template's source to tokens. As in the reference the space around a tag is
 * taken away here: `-` at either end of a tag, the line that a block or comment
 * stands on alone, and the line feed after a block. */
#include "engine/jinja/inside.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct lexer {
    jinja_run *r;
    const char *p;
    size_t n, at;
    bool line_starts; /* what was read last ended with a line feed */
    jinja_tokens out;
    char *open; /* brackets that are open */
    size_t n_open;
} lexer;

/* The source with line feeds for all line ends, without the last of them. */
static rlf_str
normal_lines(jinja_run *r, rlf_str source)
{
    char *out = jinja_alloc(r, source.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < source.n; i++) {
        char c = source.p[i];
        if (c == '\r' && i + 1 < source.n && source.p[i + 1] == '\n')
            continue;
        out[n++] = c == '\r' ? '\n' : c;
    }
    n -= n && out[n - 1] == '\n';
    return (rlf_str){out, n};
}

static bool
starts(const lexer *l, size_t at, const char *with)
{
    size_t n = strlen(with);
    return at + n <= l->n && memcmp(l->p + at, with, n) == 0;
}

/* The end of the white space at `at`. */
static size_t
skip_space(const lexer *l, size_t at)
{
    while (at < l->n) {
        size_t n;
        if (!jinja_is_space(jinja_code(l->p + at, &n)))
            break;
        at += n;
    }
    return at;
}

/* The end of [first, last) without the white space at its end. */
static size_t
strip_end(const lexer *l, size_t first, size_t last)
{
    while (last > first) {
        size_t at = last - 1, n;
        while (at > first && ((unsigned char)l->p[at] & 0xC0) == 0x80)
            at--;
        if (!jinja_is_space(jinja_code(l->p + at, &n)))
            break;
        last = at;
    }
    return last;
}

static void
push(lexer *l, jinja_token_kind kind, size_t at, const char *p, size_t n)
{
    jinja_token token = {.kind = kind, .at = (uint32_t)at};
    token.text = JINJA_NEW(l->r, jinja_text);
    *token.text = (jinja_text){p, n, SIZE_MAX};
    JINJA_PUSH(l->r, &l->out, token);
}

/* Data before a tag whose sign is `sign`; `variable`: it is no block. */
static void
push_data(lexer *l, size_t first, size_t last, char sign, bool variable)
{
    if (sign == '-') {
        last = strip_end(l, first, last);
    } else if (sign != '+' && !variable) {
        size_t line = last;
        while (line > first && l->p[line - 1] != '\n')
            line--;
        if ((line > first || l->line_starts) && skip_space(l, line) >= last)
            last = line;
    }
    if (last > first)
        push(l, JINJA_T_DATA, first, l->p + first, last - first);
}

/* Goes behind the end of a tag at `at`, of n bytes with its sign. */
static void
end_tag(lexer *l, size_t at, size_t n, bool block)
{
    char sign = l->p[at];
    size_t to = at + n;
    if (sign == '-')
        to = skip_space(l, to);
    else if (sign != '+' && block && to < l->n && l->p[to] == '\n')
        to++;
    l->line_starts = l->p[to - 1] == '\n';
    l->at = to;
}

/* Is the end of a tag here, such as "%}" with its sign? Its bytes. */
static size_t
tag_end(const lexer *l, size_t at, const char *end, bool plus)
{
    if (starts(l, at, end))
        return strlen(end);
    if (at < l->n && (l->p[at] == '-' || (plus && l->p[at] == '+')) &&
        starts(l, at + 1, end))
        return strlen(end) + 1;
    return 0;
}

/* The end of "{% raw %}" that begins at `at`; 0: it is something else. */
static size_t
raw_begin(const lexer *l, size_t at, char *sign)
{
    *sign = 0;
    if (!starts(l, at, "{%"))
        return 0;
    at += 2;
    if (at < l->n && (l->p[at] == '-' || l->p[at] == '+'))
        *sign = l->p[at++];
    at = skip_space(l, at);
    if (!starts(l, at, "raw"))
        return 0;
    at = skip_space(l, at + 3);
    if (starts(l, at, "-%}"))
        return skip_space(l, at + 3);
    return starts(l, at, "%}") ? at + 2 : 0;
}

/* All up to "{% endraw %}". */
static void
lex_raw(lexer *l)
{
    size_t first = l->at;
    for (size_t at = first; at < l->n; at++) {
        size_t to = at + 2, n;
        char sign = 0;
        if (!starts(l, at, "{%"))
            continue;
        if (to < l->n && (l->p[to] == '-' || l->p[to] == '+'))
            sign = l->p[to++];
        to = skip_space(l, to);
        if (!starts(l, to, "endraw"))
            continue;
        to = skip_space(l, to + 6);
        n = tag_end(l, to, "%}", true);
        if (!n)
            continue;
        push_data(l, first, at, sign, false);
        end_tag(l, to, n, true);
        return;
    }
    l->r->at = (uint32_t)first;
    jinja_stop(l->r, "the end of a raw block, {%% endraw %%}, is missing");
}

static void
lex_comment(lexer *l, size_t begin)
{
    for (size_t at = l->at; at < l->n; at++) {
        size_t n = tag_end(l, at, "#}", true);
        if (!n)
            continue;
        end_tag(l, at, n, true);
        return;
    }
    l->r->at = (uint32_t)begin;
    jinja_stop(l->r, "the end of a comment, #}, is missing");
}

/* ---- inside of tags ---- */

static bool
is_digit(const lexer *l, size_t at)
{
    return at < l->n && isdigit((unsigned char)l->p[at]);
}

/* Digits that a single underscore may part. */
static size_t
digits(const lexer *l, size_t at)
{
    while (is_digit(l, at) || (at < l->n && l->p[at] == '_' &&
                               is_digit(l, at + 1) && is_digit(l, at - 1)))
        at++;
    return at;
}

/* The end of a number with a fraction or an exponent that begins here, or 0. */
static size_t
float_end(const lexer *l, size_t at)
{
    size_t to = digits(l, at);
    bool is = false;
    if (at && l->p[at - 1] == '.')
        return 0;
    if (to < l->n && l->p[to] == '.' && is_digit(l, to + 1)) {
        to = digits(l, to + 1);
        is = true;
    }
    if (to < l->n && (l->p[to] == 'e' || l->p[to] == 'E')) {
        size_t exponent = to + 1;
        if (exponent < l->n && strchr("+-", l->p[exponent]))
            exponent++;
        if (is_digit(l, exponent)) {
            to = digits(l, exponent);
            is = true;
        }
    }
    return is ? to : 0;
}

static size_t
int_end(const lexer *l, size_t at, int *base)
{
    static const char letters[] = "bBoOxX";
    static const int bases[] = {2, 2, 8, 8, 16, 16};
    const char *letter = l->p[at] == '0' && at + 1 < l->n && l->p[at + 1]
                             ? strchr(letters, l->p[at + 1])
                             : NULL;
    *base = 10;
    if (letter) {
        int b = bases[letter - letters];
        const char *known = "0123456789abcdef";
        size_t to = at + 2, last = to;
        while (to < l->n) {
            if (l->p[to] == '_' && to + 1 < l->n)
                to++;
            const char *d = l->p[to] ? strchr(known, tolower(l->p[to])) : NULL;
            if (!d || d - known >= b)
                break;
            last = ++to;
        }
        if (last > at + 2) {
            *base = b;
            return last;
        }
    }
    if (l->p[at] != '0')
        return digits(l, at);
    while (at + 1 < l->n &&
           (l->p[at + 1] == '0' ||
            (l->p[at + 1] == '_' && at + 2 < l->n && l->p[at + 2] == '0')))
        at++;
    return at + 1;
}

static void
lex_number(lexer *l)
{
    char digit[400];
    int base = 10;
    size_t first = l->at, to = float_end(l, first), n = 0;
    bool is_float = to > 0;
    if (!is_float)
        to = int_end(l, first, &base);
    for (size_t i = base == 10 ? first : first + 2; i < to; i++) {
        if (n + 1 == sizeof digit)
            jinja_stop(l->r, "a number has too many digits");
        if (l->p[i] != '_')
            digit[n++] = l->p[i];
    }
    digit[n] = 0;
    push(l, is_float ? JINJA_T_FLOAT : JINJA_T_INT, first, l->p + first,
         to - first);
    jinja_token *token = &l->out.data[l->out.count - 1];
    if (is_float) {
        token->f = strtod(digit, NULL);
    } else {
        uint64_t value = 0;
        for (size_t i = 0; i < n; i++) {
            int d = isdigit((unsigned char)digit[i])
                        ? digit[i] - '0'
                        : tolower(digit[i]) - 'a' + 10;
            if (value > ((uint64_t)INT64_MAX - (uint64_t)d) / (uint64_t)base)
                jinja_stop(l->r, "an integer of more than 64 bits is not "
                                 "supported");
            value = value * (uint64_t)base + (uint64_t)d;
        }
        token->i = (int64_t)value;
    }
    l->at = to;
}

static bool
is_word(const lexer *l, size_t at)
{
    size_t n;
    uint32_t code = jinja_code(l->p + at, &n);
    return code == '_' || jinja_is_alnum(code) || jinja_is_mark(code);
}

static void
lex_name(lexer *l)
{
    size_t first = l->at, n;
    while (l->at < l->n && is_word(l, l->at)) {
        uint32_t code = jinja_code(l->p + l->at, &n);
        if (!jinja_can_name(code, l->at == first))
            jinja_stop_text(l->r, "a name cannot have the character ",
                            (rlf_str){l->p + l->at, n});
        l->at += n;
    }
    push(l, JINJA_T_NAME, first, l->p + first, l->at - first);
}

static uint32_t
hexadecimal(jinja_run *r, const char **p, const char *end, int n)
{
    uint32_t code = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (*p >= end || !isxdigit((unsigned char)**p))
            jinja_stop(r,
                       "a backslash in a text has too few hexadecimal digits");
        char c = (char)tolower((unsigned char)**p);
        code = code << 4 |
               (uint32_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
    }
    if (code >= 0x110000 || (code >= 0xD800 && code < 0xE000))
        jinja_stop(r, "a backslash in a text makes no character of Unicode");
    return code;
}

/* The text that [p, p+n) of a token with quotes stands for. */
static jinja_text *
unescape(jinja_run *r, const char *p, size_t n)
{
    static const char letters[] = "abfnrtv\\'\"",
                      codes[] = "\a\b\f\n\r\t\v\\'\"";
    const char *end = p + n;
    jinja_buf out = {0};
    while (p < end) {
        const char *plain = p;
        while (p < end && *p != '\\')
            p++;
        jinja_add(r, &out, plain, (size_t)(p - plain));
        if (p + 1 >= end)
            break;
        char c = p[1];
        const char *known = c ? strchr(letters, c) : NULL;
        p += 2;
        if (known) {
            jinja_put(r, &out, (unsigned char)codes[known - letters]);
        } else if (c == 'x') {
            jinja_put(r, &out, hexadecimal(r, &p, end, 2));
        } else if (c == 'u') {
            jinja_put(r, &out, hexadecimal(r, &p, end, 4));
        } else if (c == 'U') {
            jinja_put(r, &out, hexadecimal(r, &p, end, 8));
        } else if (c >= '0' && c <= '7') {
            uint32_t code = (uint32_t)(c - '0');
            for (int i = 0; i < 2 && p < end && *p >= '0' && *p <= '7'; i++)
                code = code * 8 + (uint32_t)(*p++ - '0');
            jinja_put(r, &out, code);
        } else if (c == 'N') {
            jinja_stop(r, "names of characters (\\N{...}) are not supported");
        } else if (c != '\n') {
            jinja_add(r, &out, p - 2, 2);
        }
    }
    return jinja_taken(r, &out).text;
}

static void
lex_text(lexer *l)
{
    size_t first = l->at;
    char quote = l->p[first];
    size_t to = first + 1;
    while (to < l->n && l->p[to] != quote)
        to += l->p[to] == '\\' ? 2 : 1;
    if (to >= l->n)
        jinja_stop(l->r, "a text in quotes does not end");
    push(l, JINJA_T_TEXT, first, l->p, 0);
    l->out.data[l->out.count - 1].text =
        unescape(l->r, l->p + first + 1, to - first - 1);
    l->at = to + 1;
}

static void
balance(lexer *l, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        if (l->n_open == 256)
            jinja_stop(l->r, "brackets are in each other too deep");
        l->open[l->n_open++] = c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
        if (!l->n_open)
            jinja_stop(l->r, "unexpected '%c'", c);
        if (l->open[--l->n_open] != c)
            jinja_stop(l->r, "unexpected '%c', expected '%c'", c,
                       l->open[l->n_open]);
    }
}

static void
lex_operator(lexer *l)
{
    static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
    size_t n = 1;
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        if (starts(l, l->at, two[i]))
            n = 2;
    char c = l->p[l->at];
    if (n == 1 && (!c || !strchr("+-/*%~[](){}><=.:|,;", c))) {
        size_t bytes;
        jinja_code(l->p + l->at, &bytes);
        jinja_stop_text(l->r, "unexpected character ",
                        (rlf_str){l->p + l->at, bytes});
    }
    balance(l, c);
    push(l, JINJA_T_OPERATOR, l->at, l->p + l->at, n);
    l->at += n;
}

/* The tokens of a tag up to its end. */
static void
lex_tag(lexer *l, bool block)
{
    const char *end = block ? "%}" : "}}";
    l->n_open = 0;
    for (;;) {
        l->r->at = (uint32_t)l->at;
        size_t n = l->n_open ? 0 : tag_end(l, l->at, end, block);
        if (n) {
            push(l, block ? JINJA_T_BLOCK_END : JINJA_T_VARIABLE_END, l->at,
                 l->p, 0);
            end_tag(l, l->at, n, block);
            return;
        }
        size_t to = skip_space(l, l->at);
        if (to >= l->n)
            jinja_stop(l->r,
                       "the template ends inside of a tag, where %s is "
                       "expected",
                       end);
        if (to > l->at)
            l->at = to;
        else if (is_digit(l, l->at))
            lex_number(l);
        else if (l->p[l->at] == '\'' || l->p[l->at] == '"')
            lex_text(l);
        else if (is_word(l, l->at))
            lex_name(l);
        else
            lex_operator(l);
    }
}

static size_t
next_tag(const lexer *l)
{
    size_t at = l->at;
    while (at + 1 < l->n &&
           (l->p[at] != '{' || !strchr("{%#", l->p[at + 1]) || !l->p[at + 1]))
        at++;
    return at + 1 < l->n ? at : l->n;
}

jinja_tokens
jinja_lex(jinja_run *r, rlf_str source)
{
    source = normal_lines(r, source);
    lexer l = {.r = r, .p = source.p, .n = source.n, .line_starts = true};
    l.open = jinja_alloc(r, 256);
    while (l.at < l.n) {
        char sign;
        size_t first = l.at, tag = next_tag(&l);
        if (tag == l.n) {
            push(&l, JINJA_T_DATA, first, l.p + first, l.n - first);
            break;
        }
        size_t raw = raw_begin(&l, tag, &sign);
        if (raw) {
            push_data(&l, first, tag, sign, false);
            l.at = raw;
            l.line_starts = l.p[raw - 1] == '\n';
            lex_raw(&l);
            continue;
        }
        char what = l.p[tag + 1];
        l.at = tag + 2;
        sign = l.at < l.n && (l.p[l.at] == '-' || l.p[l.at] == '+') ? l.p[l.at]
                                                                    : 0;
        l.at += sign != 0;
        push_data(&l, first, tag, sign, what == '{');
        if (what == '#') {
            lex_comment(&l, tag);
            continue;
        }
        push(&l, what == '%' ? JINJA_T_BLOCK_BEGIN : JINJA_T_VARIABLE_BEGIN,
             tag, l.p, 0);
        lex_tag(&l, what == '%');
    }
    push(&l, JINJA_T_END, l.n, l.p, 0);
    return l.out;
}
