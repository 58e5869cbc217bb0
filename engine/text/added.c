/* Added tokens: see added.h. */
#include "engine/text/added.h"

#include "engine/text/unicode.h"
#include "engine/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* As memcmp has it; what another one begins with comes before it. */
static int
compare_texts(rlf_str a, rlf_str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int
compare(const void *a, const void *b)
{
    const rlf_added *x = *(const rlf_added *const *)a;
    const rlf_added *y = *(const rlf_added *const *)b;
    int order = compare_texts(x->text, y->text);
    return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static bool
begins_with(rlf_str text, rlf_str with)
{
    return with.n <= text.n && memcmp(text.p, with.p, with.n) == 0;
}

/* Of equal texts (normalization may make them) the one with the lowest id; the
 * reference takes any of them, in each process another. */
static size_t
sort(const rlf_added **list, size_t n)
{
    size_t count = 0;
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 0; i < n; i++)
        if (!count || compare_texts(list[count - 1]->text, list[i]->text) != 0)
            list[count++] = list[i];
    return count;
}

void
rlf_finder_init(rlf_finder *finder, rlf_arena *arena,
                const rlf_added *const *list, size_t n)
{
    const rlf_added **sorted = RLF_NEW_ARRAY(arena, const rlf_added *, n);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i]->text.n)
            sorted[count++] = list[i];
    count = sort(sorted, count);
    finder->sorted = sorted;
    finder->inner = RLF_NEW_ARRAY(arena, int32_t, count);
    for (size_t i = 0; i < count; i++) {
        int32_t in = (int32_t)i - 1;
        while (in >= 0 && !begins_with(sorted[i]->text, sorted[in]->text))
            in = finder->inner[in];
        finder->inner[i] = in;
    }
    size_t at = 0;
    for (unsigned c = 0; c <= 256; c++) {
        while (at < count && (unsigned char)sorted[at]->text.p[0] < c)
            at++;
        finder->begin[c] = (uint32_t)at;
    }
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

/* The last one of the list that is not behind the text in byte order begins
 * with all those that the text begins with. */
static const rlf_added *
match_at(const rlf_finder *finder, const char *p, size_t n, size_t at)
{
    const rlf_str text = {p + at, n - at};
    unsigned char c = (unsigned char)p[at];
    uint32_t from = finder->begin[c], to = finder->begin[c + 1];
    uint32_t first = from;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (compare_texts(finder->sorted[middle]->text, text) <= 0)
            from = middle + 1;
        else
            to = middle;
    }
    int32_t i = from > first ? (int32_t)from - 1 : -1;
    while (i >= 0 && !begins_with(text, finder->sorted[i]->text))
        i = finder->inner[i];
    return i >= 0 ? finder->sorted[i] : NULL;
}

rlf_added_match
rlf_finder_next(const rlf_finder *finder, const char *p, size_t n,
                const rlf_added_match *last, bool plain)
{
    for (size_t at = last->end; at < n; at++) {
        const rlf_added *added = match_at(finder, p, n, at);
        if (!added)
            continue;
        rlf_added_match found = {added, at, at + added->text.n,
                                 at + added->text.n};
        /* One that may not stand here still hides what it covers. */
        if ((plain && added->special) ||
            (added->single_word && !stands_alone(p, n, at, found.to))) {
            at = found.to - 1;
            continue;
        }
        while (added->lstrip && found.from > last->to &&
               is_space(p + found.from - rlf_utf8_before(p, found.from)))
            found.from -= rlf_utf8_before(p, found.from);
        if (added->lstrip && found.from < last->to)
            found.from = last->to;
        while (added->rstrip && found.to < n && is_space(p + found.to))
            found.to += (size_t)rlf_utf8_unit(p + found.to, n - found.to);
        return found;
    }
    return (rlf_added_match){0};
}
