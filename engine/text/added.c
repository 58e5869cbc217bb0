/* Added tokens: see added.h. */
#include "engine/text/added.h"

#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

#include <stdlib.h>
#include <string.h>

static int
compare(const void *a, const void *b)
{
    const rlf_added *x = *(const rlf_added *const *)a;
    const rlf_added *y = *(const rlf_added *const *)b;
    unsigned char c = (unsigned char)x->text.p[0];
    unsigned char d = (unsigned char)y->text.p[0];
    if (c != d)
        return c < d ? -1 : 1;
    if (x->text.n != y->text.n)
        return x->text.n > y->text.n ? -1 : 1;
    return memcmp(x->text.p, y->text.p, x->text.n);
}

void
rlf_finder_init(rlf_finder *finder, rlf_arena *arena,
                const rlf_added *const *list, size_t n)
{
    finder->sorted = RLF_NEW_ARRAY(arena, const rlf_added *, n);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i]->text.n)
            finder->sorted[count++] = list[i];
    qsort(finder->sorted, count, sizeof *finder->sorted, compare);
    size_t at = 0;
    for (unsigned c = 0; c <= 256; c++) {
        while (at < count && (unsigned char)finder->sorted[at]->text.p[0] < c)
            at++;
        finder->begin[c] = (uint32_t)at;
    }
    finder->begin[256] = (uint32_t)count;
}

static bool
is_word(const char *p)
{
    return rlf_unicode_is_word(rlf_utf8_code(p));
}

static bool
is_space(const char *p)
{
    return rlf_unicode_is_space(rlf_utf8_code(p));
}

static bool
stands_alone(const char *p, size_t n, size_t from, size_t to)
{
    if (from && is_word(p + from - rlf_utf8_before(p, from)))
        return false;
    return to == n || !is_word(p + to);
}

static const rlf_added *
match_at(const rlf_finder *finder, const char *p, size_t n, size_t at)
{
    unsigned char c = (unsigned char)p[at];
    for (uint32_t i = finder->begin[c]; i < finder->begin[c + 1]; i++) {
        rlf_str text = finder->sorted[i]->text;
        if (text.n <= n - at && memcmp(text.p, p + at, text.n) == 0)
            return finder->sorted[i];
    }
    return NULL;
}

rlf_found
rlf_finder_next(const rlf_finder *finder, const char *p, size_t n, size_t from,
                bool plain)
{
    for (size_t at = from; at < n; at++) {
        const rlf_added *added = match_at(finder, p, n, at);
        if (!added)
            continue;
        rlf_found found = {added, at, at + added->text.n};
        /* One that may not stand here still hides what it covers. */
        if ((plain && added->special) ||
            (added->single_word && !stands_alone(p, n, at, found.to))) {
            at = found.to - 1;
            continue;
        }
        while (added->lstrip && found.from > from &&
               is_space(p + found.from - rlf_utf8_before(p, found.from)))
            found.from -= rlf_utf8_before(p, found.from);
        while (added->rstrip && found.to < n && is_space(p + found.to))
            found.to += (size_t)rlf_utf8_unit(p + found.to, n - found.to);
        return found;
    }
    return (rlf_found){0};
}
