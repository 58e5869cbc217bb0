/* The charsmap of a tokenizer file: see charsmap.h. */
#include "engine/text/charsmap.h"

#include "engine/text/grapheme.h"
#include "engine/text/utf8.h"

#include <string.h>

/* Clusters of more bytes are not looked for. */
enum { CLUSTER_MOST = 5 };

struct rlf_charsmap {
    const char *file;
    uint32_t *units;
    size_t n_units;
    const char *texts; /* each with a 0 behind it */
    size_t n_texts;
    bool begins[256]; /* may an entry begin with the byte? */
};

/* ---- reading ---- */

static int
digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of base 64 with padding, in the arena; NULL: it is none. */
static unsigned char *
decode(rlf_arena *arena, const char *text, size_t n, size_t *n_bytes)
{
    size_t pad = 0;
    while (pad < 2 && pad < n && text[n - 1 - pad] == '=')
        pad++;
    unsigned char *out = rlf_arena_alloc(arena, n / 4 * 3 + 1);
    size_t at = 0;
    if (n % 4)
        return NULL;
    for (size_t i = 0; i < n; i += 4) {
        uint32_t word = 0;
        for (size_t k = i; k < i + 4; k++) {
            int digit = k >= n - pad ? 0 : digit_of(text[k]);
            if (digit < 0)
                return NULL;
            word = word << 6 | (uint32_t)digit;
        }
        out[at++] = (unsigned char)(word >> 16);
        out[at++] = (unsigned char)(word >> 8);
        out[at++] = (unsigned char)word;
    }
    *n_bytes = at - pad;
    return out;
}

static uint32_t
word_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static uint32_t
offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* A node that a byte leads to has it as its label, beside a bit that says that
 * it is no end. */
static bool
has_label(uint32_t unit, unsigned char byte)
{
    return (unit & (1u << 31 | 0xff)) == byte;
}

static rlf_status
fail(const rlf_charsmap *map, const char *what, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s: the precompiled_charsmap %s", map->file,
                    what);
}

rlf_status
rlf_charsmap_new(rlf_arena *arena, const char *file, const char *base64,
                 rlf_err *err, rlf_charsmap **out)
{
    rlf_charsmap *map = RLF_NEW(arena, rlf_charsmap);
    size_t length = strlen(base64), n = 0;
    map->file = rlf_arena_strdup(arena, file);
    RLF_TRY(rlf_arena_room(arena, length, "a charsmap", err));
    const unsigned char *bytes = decode(arena, base64, length, &n);
    if (!bytes)
        return fail(map, "is no base 64", err);
    size_t size = n < 4 ? 0 : word_at(bytes);
    if (n < 4 || size > n - 4 || size % 4 || !size)
        return fail(map, "has no trie of the size that it says", err);
    map->n_units = size / 4;
    RLF_TRY(rlf_arena_try(arena, size, "a charsmap", err, &map->units));
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = word_at(bytes + 4 + 4 * i);
    map->texts = (const char *)bytes + 4 + size;
    map->n_texts = n - 4 - size;
    if (!rlf_utf8_valid(map->texts, map->n_texts))
        return fail(map, "has texts that are not UTF-8", err);
    size_t root = offset_of(map->units[0]);
    for (unsigned b = 1; b < 256; b++) {
        size_t next = root ^ b;
        map->begins[b] = next >= map->n_units ||
                         has_label(map->units[next], (unsigned char)b);
    }
    *out = map;
    return RLF_OK;
}

/* ---- use ---- */

/* The text of the shortest entry that p[0..n) begins with; p NULL: none. */
static rlf_status
find(const rlf_charsmap *map, const char *p, size_t n, rlf_err *err,
     rlf_str *out)
{
    static const char outside[] = "leads out of its trie";
    size_t at = offset_of(map->units[0]);
    *out = (rlf_str){0};
    if (!map->begins[(unsigned char)p[0]])
        return RLF_OK;
    for (size_t i = 0; i < n && p[i]; i++) {
        at ^= (unsigned char)p[i];
        if (at >= map->n_units)
            return fail(map, outside, err);
        uint32_t unit = map->units[at];
        if (!has_label(unit, (unsigned char)p[i]))
            return RLF_OK;
        at ^= offset_of(unit);
        if (!(unit >> 8 & 1))
            continue;
        if (at >= map->n_units)
            return fail(map, outside, err);
        size_t from = map->units[at] & ~(1u << 31);
        if (from > map->n_texts ||
            (from < map->n_texts &&
             ((unsigned char)map->texts[from] & 0xc0) == 0x80))
            return fail(map, "leads out of its texts", err);
        const char *end = memchr(map->texts + from, 0, map->n_texts - from);
        *out =
            (rlf_str){map->texts + from, end ? (size_t)(end - map->texts) - from
                                             : map->n_texts - from};
        return RLF_OK;
    }
    return RLF_OK;
}

/* Bytes of the first cluster; quick where all is plain. */
static size_t
cluster(const char *p, size_t n)
{
    const unsigned char *u = (const unsigned char *)p;
    if (u[0] < 0x80 && u[0] != '\r' && (n == 1 || u[1] < 0x80))
        return 1;
    return rlf_grapheme_next(p, n);
}

/* Puts what p[0..n) becomes, as a whole; false: nothing is said of it. */
static rlf_status
put_entry(const rlf_charsmap *map, const char *p, size_t n, rlf_err *err,
          rlf_buf *out, bool *found)
{
    rlf_str entry;
    RLF_TRY(find(map, p, n, err, &entry));
    *found = entry.p != NULL;
    if (!*found)
        return RLF_OK;
    if (!rlf_buf_try(out, entry.n))
        return rlf_fail_memory(err, out->n, "a text that is normalized");
    rlf_buf_add(out, entry.p, entry.n);
    return RLF_OK;
}

/* Bytes of `to` that the first n bytes of a cluster have become: its characters
 * stand for those of the entry one by one, the last for all that are left. */
static size_t
share_of(const char *p, size_t n, size_t whole, rlf_str to)
{
    size_t bytes = 0;
    if (n >= whole)
        return to.n;
    for (size_t at = 0; at < n && bytes < to.n;) {
        at += (size_t)rlf_utf8_unit(p + at, whole - at);
        bytes += (size_t)rlf_utf8_unit(to.p + bytes, to.n - bytes);
    }
    return bytes;
}

/* Returns the end of as many characters of the text behind `edge` as [from, to)
 * has. The reference forgets what is left out before anything stands, so that
 * what follows takes the places of that. */
static size_t
move_edge(rlf_str text, size_t edge, size_t from, size_t to)
{
    while (edge && from < to && edge < text.n) {
        from += (size_t)rlf_utf8_unit(text.p + from, to - from);
        edge += (size_t)rlf_utf8_unit(text.p + edge, text.n - edge);
    }
    return edge;
}

rlf_status
rlf_charsmap_apply(const rlf_charsmap *map, rlf_str text, size_t most,
                   size_t *first, rlf_err *err, rlf_buf *out)
{
    size_t from = out->n, reached = 0, edge = first ? *first : 0;
    bool found = false;
    if (!rlf_buf_try(out, text.n))
        return rlf_fail_memory(err, text.n, "a text that is normalized");
    for (size_t i = 0; i < text.n && out->n <= most;) {
        size_t n = cluster(text.p + i, text.n - i), end = i + n;
        size_t begin = out->n;
        found = false;
        if (n <= CLUSTER_MOST)
            RLF_TRY(put_entry(map, text.p + i, n, err, out, &found));
        for (size_t at = i; !found && at < end;) {
            bool mapped = false;
            size_t k = (size_t)rlf_utf8_unit(text.p + at, end - at);
            RLF_TRY(put_entry(map, text.p + at, k, err, out, &mapped));
            if (!mapped)
                rlf_buf_add(out, text.p + at, k);
            if (out->n == from)
                edge = move_edge(text, edge, at, at + k);
            at += k;
            if (at <= edge)
                reached = out->n - from;
        }
        if (found && out->n == from)
            edge = move_edge(text, edge, i, end);
        else if (found && i < edge)
            reached = begin - from +
                      share_of(text.p + i, edge - i, n,
                               (rlf_str){out->p + begin, out->n - begin});
        i = end;
    }
    if (first)
        *first = reached;
    return RLF_OK;
}
