/* Regular expressions over kinds of characters, by PCRE2: see regex.h. */
#include "engine/text/regex.h"

#include "engine/base/str.h"
#include "engine/base/vec.h"
#include "engine/text/pattern.h"
#include "engine/text/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KINDS = 256, LOW = 0x10000 };

struct rlf_regex {
    pcre2_code *code; /* NULL: a literal */
    const char *pattern;
    size_t length;
    /* Kinds of characters: below LOW at once, above by run. */
    unsigned char *low;
    uint32_t *firsts; /* ascending, from 0 */
    unsigned char *kinds;
    size_t runs;
};

/* The runs of characters between which no set changes, and their kinds. */
typedef struct division {
    uint32_t *firsts, *kinds;
    size_t runs, kinds_count;
} division;

static int
compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Divide each kind into what is in the set and what is not. */
static void
divide(division *d, rlf_codes set, uint32_t *inside, uint32_t *outside)
{
    uint32_t next = 0;
    memset(inside, 0xff, d->kinds_count * sizeof *inside);
    memset(outside, 0xff, d->kinds_count * sizeof *outside);
    size_t at = 0;
    for (size_t i = 0; i < d->runs; i++) {
        while (at < set.count && set.data[at] <= d->firsts[i])
            at++;
        uint32_t *to = (at % 2 ? inside : outside) + d->kinds[i];
        if (*to == UINT32_MAX)
            *to = next++;
        d->kinds[i] = *to;
    }
    d->kinds_count = next;
}

/* False if there are more than MAX_KINDS. */
static bool
find_kinds(rlf_arena *arena, const rlf_pattern *pattern, division *d)
{
    size_t count = 1, used = 0;
    for (size_t i = 0; i < pattern->sets.count; i++)
        count += pattern->sets.data[i].count;
    uint32_t *all = RLF_NEW_ARRAY(arena, uint32_t, count);
    count = 1; /* the first is 0 */
    for (size_t i = 0; i < pattern->sets.count; i++) {
        rlf_codes set = pattern->sets.data[i];
        for (size_t k = 0; k < set.count; k++)
            all[count++] = set.data[k];
    }
    qsort(all, count, sizeof *all, compare);
    for (size_t i = 0; i < count; i++)
        if (all[i] < RLF_UNICODE_END && (!used || all[used - 1] != all[i]))
            all[used++] = all[i];
    *d = (division){all, RLF_NEW_ARRAY(arena, uint32_t, used), used, 1};
    uint32_t inside[MAX_KINDS], outside[MAX_KINDS];
    for (size_t i = 0; i < pattern->sets.count; i++) {
        divide(d, pattern->sets.data[i], inside, outside);
        if (d->kinds_count > MAX_KINDS)
            return false;
    }
    return true;
}

/* The kinds that are in the set, as a class of bytes. */
static void
put_kinds(const division *d, rlf_codes set, rlf_buf *out)
{
    bool in[MAX_KINDS] = {false};
    bool any = false;
    size_t at = 0;
    for (size_t i = 0; i < d->runs; i++) {
        while (at < set.count && set.data[at] <= d->firsts[i])
            at++;
        in[d->kinds[i]] = at % 2;
        any = any || at % 2;
    }
    rlf_buf_puts(out, any ? "[" : "[^\\x00-\\xff");
    for (size_t i = 0; i < d->kinds_count; i++)
        if (in[i])
            rlf_buf_printf(out, "\\x%02zx", i);
    rlf_buf_puts(out, "]");
}

static void
keep_kinds(rlf_arena *arena, const division *d, rlf_regex *regex)
{
    regex->firsts = RLF_NEW_ARRAY(arena, uint32_t, d->runs);
    regex->kinds = RLF_NEW_ARRAY(arena, unsigned char, d->runs);
    regex->low = RLF_NEW_ARRAY(arena, unsigned char, LOW);
    regex->runs = d->runs;
    for (size_t i = 0; i < d->runs; i++) {
        uint32_t first = d->firsts[i];
        uint32_t after = i + 1 < d->runs ? d->firsts[i + 1] : RLF_UNICODE_END;
        regex->firsts[i] = first;
        regex->kinds[i] = (unsigned char)d->kinds[i];
        after = after < LOW ? after : LOW;
        if (first < after)
            memset(regex->low + first, (int)d->kinds[i], after - first);
    }
}

static unsigned char
kind_of(const rlf_regex *regex, uint32_t code)
{
    if (code < LOW)
        return regex->low[code];
    size_t low = 0, high = regex->runs; /* the run is in [low, high) */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (regex->firsts[middle] <= code)
            low = middle;
        else
            high = middle;
    }
    return regex->kinds[low];
}

/* ---- memory of the library ---- */

static void *
allocate(size_t n, void *unused)
{
    (void)unused;
    return rlf_try_malloc(n);
}

static void
release(void *p, void *unused)
{
    (void)unused;
    free(p);
}

/* PCRE2 gets no memory, for the pattern or for a match on the way. */
static rlf_status
fail_library(int code, const char *what, rlf_err *err)
{
    rlf_fail(err, RLF_MEMORY, "there is no memory for %s (%d of PCRE2)", what,
             code);
    rlf_err_hint(err, "end other programs, or give this one more memory");
    return RLF_MEMORY;
}

static void
free_code(void *code)
{
    pcre2_code_free(code);
}

static rlf_status
compile(rlf_arena *arena, const char *file, const rlf_buf *text, rlf_err *err,
        rlf_regex *regex)
{
    int code = 0;
    PCRE2_SIZE at = 0;
    /* Without its start optimizations: with them the just-in-time compiler
     * (10.42) matches the 1 of "a1" by (?>[a1]*|)1. */
    uint32_t flags =
        PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NO_START_OPTIMIZE;
    pcre2_general_context *general =
        pcre2_general_context_create(allocate, release, NULL);
    pcre2_compile_context *context =
        general ? pcre2_compile_context_create(general) : NULL;
    if (context)
        regex->code = pcre2_compile((PCRE2_SPTR)(text->p ? text->p : ""),
                                    text->n, flags, &code, &at, context);
    pcre2_compile_context_free(context);
    pcre2_general_context_free(general);
    if (!context || (!regex->code && code == PCRE2_ERROR_HEAP_FAILED))
        return fail_library(code, "a pattern of a tokenizer", err);
    if (!regex->code) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(code, message, sizeof message);
        return rlf_fail(err, RLF_USER,
                        "%s: the pattern %.*s cannot be compiled: %s", file,
                        RLF_CUT(200, regex->pattern), (const char *)message);
    }
    rlf_arena_defer(arena, free_code, regex->code);
    /* The interpreter is used if there is no just-in-time compiler. */
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    return RLF_OK;
}

rlf_status
rlf_regex_new(rlf_arena *arena, const char *file, const char *pattern,
              bool literal, rlf_err *err, rlf_regex **out)
{
    rlf_regex *regex = RLF_NEW(arena, rlf_regex);
    regex->pattern = rlf_arena_strdup(arena, pattern);
    regex->length = strlen(pattern);
    *out = regex;
    if (literal)
        return RLF_OK;
    rlf_arena *scratch = rlf_arena_new();
    rlf_buf text = {0};
    rlf_pattern parsed;
    division d;
    rlf_status status = rlf_pattern_parse(scratch, file, pattern, err, &parsed);
    if (status == RLF_OK && !find_kinds(scratch, &parsed, &d))
        status = rlf_fail(err, RLF_USER,
                          "%s: the pattern %.*s tells more than %d kinds of "
                          "characters apart, which is not supported",
                          file, RLF_CUT(200, pattern), MAX_KINDS);
    if (status == RLF_OK) {
        for (size_t i = 0; i < parsed.parts.count; i++) {
            const rlf_pattern_part *part = &parsed.parts.data[i];
            if (part->text)
                rlf_buf_puts(&text, part->text);
            else
                put_kinds(&d, parsed.sets.data[part->set], &text);
        }
        keep_kinds(arena, &d, regex);
        status = compile(arena, file, &text, err, regex);
    }
    rlf_buf_free(&text);
    rlf_arena_free(scratch);
    return status;
}

rlf_status
rlf_regex_begin(rlf_regex_walk *walk, const rlf_regex *regex, const char *p,
                size_t n, rlf_err *err)
{
    rlf_regex_walk kept = *walk;
    *walk = (rlf_regex_walk){.regex = regex,
                             .p = p,
                             .n = n,
                             .units = n,
                             .match = kept.match,
                             .kinds = kept.kinds,
                             .room = kept.room};
    if (!regex->code)
        return RLF_OK;
    if (!walk->match)
        walk->match = pcre2_match_data_create(1, NULL);
    if (walk->room < n || !walk->kinds) {
        free(walk->kinds);
        walk->kinds = rlf_try_malloc(n);
        walk->room = n;
    }
    if (!walk->match || !walk->kinds) {
        rlf_regex_end(walk);
        return rlf_fail_memory(err, n, "a text that is split");
    }
    size_t units = 0;
    for (size_t i = 0; i < n; units++) {
        if ((unsigned char)p[i] < 0x80) {
            walk->kinds[units] = regex->low[(unsigned char)p[i++]];
            continue;
        }
        int k = rlf_utf8_unit(p + i, n - i);
        walk->kinds[units] = kind_of(regex, rlf_utf8_code(p + i));
        i += k > 0 ? (size_t)k : 1;
    }
    walk->units = units;
    return RLF_OK;
}

void
rlf_regex_end(rlf_regex_walk *walk)
{
    if (walk->match)
        pcre2_match_data_free(walk->match);
    free(walk->kinds);
    *walk = (rlf_regex_walk){0};
}

/* The first match of a literal from walk->start on; an empty one matches
 * anywhere. */
static bool
search_literal(const rlf_regex_walk *walk, size_t *begin, size_t *end)
{
    const char *text = walk->regex->pattern, *p;
    size_t length = walk->regex->length, at = walk->start;
    for (; at + length <= walk->n; at++) {
        if (length) {
            p = memchr(walk->p + at, text[0], walk->n - length - at + 1);
            if (!p)
                return false;
            at = (size_t)(p - walk->p);
        }
        if (!length || memcmp(walk->p + at, text, length) == 0) {
            *begin = at;
            *end = at + length;
            return true;
        }
    }
    return false;
}

/* The first match from walk->start on, in units. */
static rlf_status
search(const rlf_regex_walk *walk, rlf_err *err, bool *found, size_t *begin,
       size_t *end)
{
    const rlf_regex *regex = walk->regex;
    if (!regex->code) {
        *found = search_literal(walk, begin, end);
        return RLF_OK;
    }
    int k = pcre2_match(regex->code, walk->kinds, walk->units, walk->start, 0,
                        walk->match, NULL);
    if (k == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter has a heap */
        k = pcre2_match(regex->code, walk->kinds, walk->units, walk->start,
                        PCRE2_NO_JIT, walk->match, NULL);
    *found = k >= 0;
    if (*found) {
        const PCRE2_SIZE *pair = pcre2_get_ovector_pointer(walk->match);
        *begin = pair[0];
        *end = pair[1];
    } else if (k == PCRE2_ERROR_NOMEMORY || k == PCRE2_ERROR_HEAPLIMIT) {
        return fail_library(k, "the matches of a text", err);
    } else if (k != PCRE2_ERROR_NOMATCH) {
        PCRE2_UCHAR message[200];
        pcre2_get_error_message(k, message, sizeof message);
        return rlf_fail(
            err, RLF_USER, "the pattern %.*s fails on a text of %zu bytes: %s",
            RLF_CUT(200, regex->pattern), walk->n, (const char *)message);
    }
    return RLF_OK;
}

/* A place in units, not before the last one asked for, in bytes. */
static size_t
byte_of(rlf_regex_walk *walk, size_t unit)
{
    if (!walk->kinds)
        return unit;
    for (; walk->unit < unit; walk->unit++)
        walk->byte +=
            (size_t)rlf_utf8_unit(walk->p + walk->byte, walk->n - walk->byte);
    return walk->byte;
}

rlf_status
rlf_regex_next(rlf_regex_walk *walk, rlf_err *err, bool *found, size_t *begin,
               size_t *end)
{
    *found = false;
    while (walk->start <= walk->units) {
        size_t from = 0, to = 0;
        RLF_TRY(search(walk, err, found, &from, &to));
        if (!*found)
            return RLF_OK;
        if (from == to && walk->any && walk->last == to) {
            /* Empty where the last one ended: search one character on. */
            *found = false;
            walk->start++;
            while (!walk->kinds && walk->start < walk->n &&
                   ((unsigned char)walk->p[walk->start] & 0xc0) == 0x80)
                walk->start++;
            continue;
        }
        walk->start = walk->last = to;
        walk->any = true;
        *begin = byte_of(walk, from);
        *end = byte_of(walk, to);
        return RLF_OK;
    }
    return RLF_OK;
}
