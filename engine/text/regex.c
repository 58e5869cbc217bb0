/* Regular expressions by PCRE2: see regex.h. */
#include "engine/text/regex.h"

#include "engine/base/str.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <string.h>

struct rlf_regex {
    pcre2_code *code;
    const char *pattern;
};

/* White_Space, inside a class. PCRE2's own \s also has U+180E. */
static const char space_class[] = "\\t-\\r\\x{85}\\p{Z}";

/* Oniguruma's pattern as PCRE2's; false if it cannot be told. */
static bool
translate(const char *p, rlf_buf *out)
{
    bool inside = false; /* a [class] */
    for (; *p; p++) {
        if (*p == '\\' && p[1]) {
            char c = *++p;
            if (c == 'h' || c == 'H' || (c == 'S' && inside))
                return false; /* a hex digit there, a blank here */
            if (c == 's')
                rlf_buf_printf(out, inside ? "%s" : "[%s]", space_class);
            else if (c == 'S')
                rlf_buf_printf(out, "[^%s]", space_class);
            else
                rlf_buf_printf(out, "\\%c", c);
            continue;
        }
        if (inside &&
            ((p[0] == '&' && p[1] == '&') || (p[0] == '[' && p[1] != ':')))
            return false; /* set operations */
        if (*p == '[')
            inside = true;
        else if (*p == ']')
            inside = false;
        rlf_buf_putc(out, *p);
    }
    return true;
}

static void
free_code(void *code)
{
    pcre2_code_free(code);
}

rlf_status
rlf_regex_new(rlf_arena *arena, const char *file, const char *pattern,
              bool literal, rlf_err *err, rlf_regex **out)
{
    rlf_buf text = {0};
    if (literal) {
        rlf_buf_puts(&text, pattern);
    } else if (!translate(pattern, &text)) {
        rlf_buf_free(&text);
        return rlf_fail(
            err, RLF_USER,
            "%s: the pattern %.200s uses \\h, \\S in a class or set "
            "operations, which are not supported",
            file, pattern);
    }
    uint32_t flags = PCRE2_UTF | (literal ? PCRE2_LITERAL : PCRE2_UCP);
    int code = 0;
    PCRE2_SIZE at = 0;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)(text.p ? text.p : ""),
                                         text.n, flags, &code, &at, NULL);
    rlf_buf_free(&text);
    if (!compiled) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(code, message, sizeof message);
        return rlf_fail(err, RLF_USER,
                        "%s: the pattern %.200s cannot be compiled: %s", file,
                        pattern, (const char *)message);
    }
    rlf_arena_defer(arena, free_code, compiled);
    /* Where there is no just-in-time compiler the interpreter is used. */
    pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    rlf_regex *regex = RLF_NEW(arena, rlf_regex);
    regex->code = compiled;
    regex->pattern = rlf_arena_strdup(arena, pattern);
    *out = regex;
    return RLF_OK;
}

rlf_status
rlf_regex_find(const rlf_regex *regex, const char *p, size_t n, size_t from,
               rlf_err *err, bool *found, size_t *begin, size_t *end)
{
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    if (!match)
        return rlf_fail(err, RLF_ENV, "no memory left to split text");
    int k = pcre2_match(regex->code, (PCRE2_SPTR)p, n, from, PCRE2_NO_UTF_CHECK,
                        match, NULL);
    *found = k >= 0;
    if (*found) {
        const PCRE2_SIZE *pair = pcre2_get_ovector_pointer(match);
        *begin = pair[0];
        *end = pair[1];
    }
    pcre2_match_data_free(match);
    if (k < 0 && k != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(k, message, sizeof message);
        return rlf_fail(err, RLF_USER,
                        "the pattern %.200s fails on a text of %zu bytes: %s",
                        regex->pattern, n, (const char *)message);
    }
    return RLF_OK;
}
