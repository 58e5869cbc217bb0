/* Properties of characters by Unicode: see unicode.h. */
#include "engine/text/unicode.h"

#include "engine/base/vec.h"
#include "engine/text/unicode_data.h"
#include "engine/text/unicode_normal.h"

#define BIT(category) (UINT32_C(1) << (category))

enum {
    MARKS = BIT(CATEGORY_MN) | BIT(CATEGORY_MC) | BIT(CATEGORY_ME),
    PUNCTUATION = BIT(CATEGORY_PC) | BIT(CATEGORY_PD) | BIT(CATEGORY_PS) |
                  BIT(CATEGORY_PE) | BIT(CATEGORY_PI) | BIT(CATEGORY_PF) |
                  BIT(CATEGORY_PO),
    SYMBOLS = BIT(CATEGORY_SM) | BIT(CATEGORY_SC) | BIT(CATEGORY_SK) |
              BIT(CATEGORY_SO),
    LINES = BIT(CATEGORY_ZL) | BIT(CATEGORY_ZP),
    SEPARATORS = BIT(CATEGORY_ZS) | LINES,
    UNSEEN = BIT(CATEGORY_CC) | BIT(CATEGORY_CS) | BIT(CATEGORY_CN)
};

/* A class of characters: those of the categories, those with a flag, and up
 * to three ranges, each from a first to before a last. */
static const struct {
    const char *name;
    uint32_t categories, flags;
    uint32_t ranges[6];
    bool posix, others; /* all others are meant */
} classes[] = {
    {"alnum", BIT(CATEGORY_ND), FLAG_ALPHABETIC, {0}, true, false},
    {"alpha", 0, FLAG_ALPHABETIC, {0}, true, false},
    {"alphabetic", 0, FLAG_ALPHABETIC, {0}, false, false},
    {"ascii", 0, 0, {0, 128}, true, false},
    {"blank", BIT(CATEGORY_ZS), 0, {'\t', '\t' + 1}, true, false},
    {"cntrl", BIT(CATEGORY_CC), 0, {0}, true, false},
    {"digit", BIT(CATEGORY_ND), 0, {0}, true, false},
    {"graph", UNSEEN | SEPARATORS, 0, {0}, true, true},
    {"lower", 0, FLAG_LOWERCASE, {0}, true, false},
    {"lowercase", 0, FLAG_LOWERCASE, {0}, false, false},
    {"posixpunct", PUNCTUATION | SYMBOLS, 0, {0}, false, false},
    {"print", UNSEEN | LINES, 0, {0}, true, true},
    {"space", SEPARATORS, 0, {'\t', '\r' + 1, 0x85, 0x86}, true, false},
    {"upper", 0, FLAG_UPPERCASE, {0}, true, false},
    {"uppercase", 0, FLAG_UPPERCASE, {0}, false, false},
    {"whitespace", SEPARATORS, 0, {'\t', '\r' + 1, 0x85, 0x86}, false, false},
    {"word",
     MARKS | BIT(CATEGORY_ND) | BIT(CATEGORY_PC),
     FLAG_ALPHABETIC,
     {0},
     true,
     false},
    {"xdigit", 0, 0, {'0', ':', 'A', 'G', 'a', 'g'}, true, false},
};

void
rlf_codes_add(rlf_arena *arena, rlf_codes *set, uint32_t first, uint32_t after)
{
    if (set->count && set->data[set->count - 1] == first)
        set->count--; /* goes on where the last range ends */
    else
        RLF_PUSH_IN(arena, set, first);
    RLF_PUSH_IN(arena, set, after);
}

/* A character is in the result if `least` of the two sets have it. */
static rlf_codes
combine(rlf_arena *arena, rlf_codes a, rlf_codes b, int least)
{
    rlf_codes out = {0};
    size_t i = 0, k = 0;
    while (i < a.count || k < b.count) {
        uint32_t from_a = i < a.count ? a.data[i] : UINT32_MAX;
        uint32_t from_b = k < b.count ? b.data[k] : UINT32_MAX;
        uint32_t at = from_a < from_b ? from_a : from_b;
        i += from_a == at;
        k += from_b == at;
        bool inside = (int)(i % 2 + k % 2) >= least;
        if (inside != (bool)(out.count % 2))
            RLF_PUSH_IN(arena, &out, at);
    }
    return out;
}

rlf_codes
rlf_codes_either(rlf_arena *arena, rlf_codes a, rlf_codes b)
{
    return combine(arena, a, b, 1);
}

rlf_codes
rlf_codes_both(rlf_arena *arena, rlf_codes a, rlf_codes b)
{
    return combine(arena, a, b, 2);
}

rlf_codes
rlf_codes_others(rlf_arena *arena, rlf_codes set)
{
    rlf_codes out = {0};
    size_t i = set.count && set.data[0] == 0;
    if (!i)
        RLF_PUSH_IN(arena, &out, 0);
    for (; i < set.count; i++)
        RLF_PUSH_IN(arena, &out, set.data[i]);
    return out;
}

/* Returns how many of the ascending `data` are not above the code. */
static size_t
count_until(const uint32_t *data, size_t n, uint32_t code)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (data[middle] <= code)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool
rlf_codes_has(rlf_codes set, uint32_t code)
{
    return count_until(set.data, set.count, code) % 2;
}

static rlf_codes
set_of_kinds(rlf_arena *arena, uint32_t categories, uint32_t flags)
{
    rlf_codes out = {0};
    for (size_t i = 0; i < RLF_COUNT(kind_runs); i++) {
        uint32_t kind = kind_runs[i] & 0xff;
        if (BIT(kind >> 3) & categories || kind & flags)
            rlf_codes_add(arena, &out, kind_runs[i] >> 8,
                          i + 1 < RLF_COUNT(kind_runs) ? kind_runs[i + 1] >> 8
                                                       : RLF_UNICODE_END);
    }
    return out;
}

static rlf_codes
set_of_script(rlf_arena *arena, uint32_t script)
{
    rlf_codes out = {0};
    for (size_t i = 0; i < RLF_COUNT(script_runs); i++)
        if ((script_runs[i] & 0xff) == script)
            rlf_codes_add(arena, &out, script_runs[i] >> 8,
                          i + 1 < RLF_COUNT(script_runs)
                              ? script_runs[i + 1] >> 8
                              : RLF_UNICODE_END);
    return out;
}

static bool
find_class(rlf_arena *arena, const char *name, bool posix, rlf_codes *out)
{
    for (size_t i = 0; i < RLF_COUNT(classes); i++) {
        if ((posix && !classes[i].posix) || strcmp(classes[i].name, name) != 0)
            continue;
        const uint32_t *ranges = classes[i].ranges;
        rlf_codes extra = {0};
        for (size_t k = 0; k < 6 && ranges[k + 1]; k += 2)
            rlf_codes_add(arena, &extra, ranges[k], ranges[k + 1]);
        *out = set_of_kinds(arena, classes[i].categories, classes[i].flags);
        *out = rlf_codes_either(arena, *out, extra);
        if (classes[i].others)
            *out = rlf_codes_others(arena, *out);
        return true;
    }
    return false;
}

bool
rlf_unicode_property(rlf_arena *arena, const char *name, size_t n,
                     rlf_codes *out)
{
    char key[64];
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        char c = name[i];
        if (c == ' ' || c == '-' || c == '_')
            continue;
        if (length + 1 == sizeof key)
            return false;
        key[length++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    key[length] = 0;
    if (find_class(arena, key, false, out))
        return true;
    for (size_t i = 0; i < RLF_COUNT(category_names); i++)
        if (strcmp(category_names[i].name, key) == 0) {
            *out = set_of_kinds(arena, category_names[i].mask, 0);
            return true;
        }
    for (size_t i = 0; i < RLF_COUNT(script_names); i++)
        if (strcmp(script_names[i].name, key) == 0) {
            *out = set_of_script(arena, script_names[i].script);
            return true;
        }
    return false;
}

bool
rlf_unicode_posix(rlf_arena *arena, const char *name, size_t n, rlf_codes *out)
{
    const char *key = rlf_arena_strndup(arena, name, n);
    bool punct = strcmp(key, "punct") == 0; /* symbols too, unlike \p{Punct} */
    return find_class(arena, punct ? "posixpunct" : key, !punct, out);
}

static uint32_t
fold(uint32_t code)
{
    size_t low = 0, high = RLF_COUNT(folds);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (folds[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == RLF_COUNT(folds) || code < folds[low].first ||
        (code - folds[low].first) % folds[low].step)
        return code;
    return (uint32_t)((int32_t)code + folds[low].difference);
}

rlf_codes
rlf_unicode_folded(rlf_arena *arena, rlf_codes set)
{
    /* Adds what the members fold to, then all that folds to one of these. */
    for (int back = 0; back < 2; back++) {
        rlf_codes before = set;
        for (size_t i = 0; i < RLF_COUNT(folds); i++)
            for (uint32_t c = folds[i].first; c <= folds[i].last;
                 c += folds[i].step) {
                uint32_t from = back ? fold(c) : c, to = back ? c : fold(c);
                if (!rlf_codes_has(before, from) || rlf_codes_has(set, to))
                    continue;
                rlf_codes one = {0};
                rlf_codes_add(arena, &one, to, to + 1);
                set = rlf_codes_either(arena, set, one);
            }
    }
    return set;
}

bool
rlf_unicode_folds_long(rlf_codes set)
{
    for (size_t i = 0; i < RLF_COUNT(long_folds); i++)
        if (rlf_codes_has(set, long_folds[i]))
            return true;
    return false;
}

bool
rlf_unicode_pair_folds(uint32_t first, uint32_t second)
{
    first = fold(first);
    second = fold(second);
    for (size_t i = 0; i < RLF_COUNT(long_fold_pairs); i += 2)
        if (long_fold_pairs[i] == first && long_fold_pairs[i + 1] == second)
            return true;
    return false;
}

static uint32_t
kind_of(uint32_t code)
{
    /* A run's word is at most code << 8 | 255 if it begins at or before. */
    return kind_runs[count_until(kind_runs, RLF_COUNT(kind_runs),
                                 code << 8 | 0xff) -
                     1] &
           0xff;
}

bool
rlf_unicode_is_word(uint32_t code)
{
    uint32_t kind = kind_of(code);
    return kind & FLAG_ALPHABETIC ||
           BIT(kind >> 3) & (MARKS | BIT(CATEGORY_ND) | BIT(CATEGORY_PC)) ||
           code == 0x200c || code == 0x200d;
}

bool
rlf_unicode_is_space(uint32_t code)
{
    return (code >= '\t' && code <= '\r') || code == 0x85 ||
           BIT(kind_of(code) >> 3) & SEPARATORS;
}

bool
rlf_unicode_is_9(uint32_t code)
{
    return count_until(unicode9_runs, RLF_COUNT(unicode9_runs), code) % 2;
}

bool
rlf_unicode_is_mark(uint32_t code)
{
    return count_until(mark_runs, RLF_COUNT(mark_runs), code) % 2;
}

bool
rlf_unicode_is_nonspacing(uint32_t code)
{
    return count_until(nonspacing_runs, RLF_COUNT(nonspacing_runs), code) % 2;
}

bool
rlf_unicode_is_control(uint32_t code)
{
    return count_until(control_runs, RLF_COUNT(control_runs), code) % 2;
}

uint32_t
rlf_unicode_lower(uint32_t code, uint32_t *more)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 'a' - 'A' : code;
    if (code == lower_long[0]) {
        *more = lower_long[2];
        return lower_long[1];
    }
    size_t low = 0, high = RLF_COUNT(lowers);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lowers[middle].last < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == RLF_COUNT(lowers) || code < lowers[low].first ||
        (code - lowers[low].first) % lowers[low].step)
        return code;
    return (uint32_t)((int32_t)code + lowers[low].difference);
}

uint32_t
rlf_unicode_grapheme(uint32_t code)
{
    size_t n =
        count_until(grapheme_runs, RLF_COUNT(grapheme_runs), code << 8 | 0xff);
    return grapheme_runs[n - 1] & 0xff;
}
