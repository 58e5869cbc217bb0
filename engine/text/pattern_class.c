/* Escapes and bracketed classes of a pattern: see pattern_inside.h. */
#include "engine/text/pattern_inside.h"

#include "engine/base/vec.h"
#include "engine/text/utf8.h"

#include <string.h>

bool
pattern_stop(pattern_reader *r, const char *wrong)
{
    if (!r->wrong)
        r->wrong = wrong;
    return false;
}

uint32_t
pattern_take(pattern_reader *r)
{
    uint32_t code = rlf_utf8_code(r->p);
    r->p += rlf_utf8_unit(r->p, strlen(r->p));
    return code;
}

rlf_codes
pattern_one(pattern_reader *r, uint32_t code)
{
    rlf_codes out = {0};
    rlf_codes_add(r->arena, &out, code, code + 1);
    return out;
}

static rlf_codes
named(pattern_reader *r, const char *name)
{
    rlf_codes out = {0};
    rlf_unicode_property(r->arena, name, strlen(name), &out);
    return out;
}

rlf_codes
pattern_word(pattern_reader *r)
{
    static const uint32_t more[] = {0xb2, 0xb3, 0xb9, 0xbc, 0xbd, 0xbe};
    rlf_codes out = named(r, "word");
    for (size_t i = 0; i < RLF_COUNT(more); i++)
        out = rlf_codes_either(r->arena, out, pattern_one(r, more[i]));
    return out;
}

/* Between `least` and `most` digits of the base, that end below `limit`. */
static bool
read_number(pattern_reader *r, int base, int least, int most, uint32_t *out)
{
    uint32_t value = 0;
    int n = 0;
    for (; n < most; n++, r->p++) {
        char c = *r->p;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
        if (digit >= base)
            break;
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    *out = value;
    return n >= least;
}

static bool
read_code(pattern_reader *r, char letter, uint32_t *code)
{
    if (letter == '0') {
        read_number(r, 8, 0, 2, code);
        return true;
    }
    if (letter == 'u') {
        if (!read_number(r, 16, 4, 4, code))
            return pattern_stop(r, "\\u takes four hexadecimal digits");
    } else if (*r->p == '{') {
        r->p++;
        if (!read_number(r, 16, 1, 8, code) || *r->p != '}')
            return pattern_stop(r, "\\x{...} takes one hexadecimal number");
        r->p++;
    } else {
        if (!read_number(r, 16, 1, 2, code))
            return pattern_stop(r, "\\x takes hexadecimal digits");
        if (*code > 0x7f)
            return pattern_stop(r, "a byte above 7F is not a character");
    }
    if (*code >= RLF_UNICODE_END || (*code >= 0xd800 && *code < 0xe000))
        return pattern_stop(r, "there is no such character");
    return true;
}

static bool
read_property(pattern_reader *r, bool others, bool inside, rlf_codes *set)
{
    const char *end = strchr(r->p, '}');
    if (!end)
        return pattern_stop(r, "'}' is missing");
    const char *name = r->p + 1;
    if (*name == '^') {
        others = !others;
        name++;
    }
    if (!rlf_unicode_property(r->arena, name, (size_t)(end - name), set))
        return pattern_stop(r, "this property of characters is not supported");
    rlf_codes word = named(r, "word");
    if (!inside && set->count == word.count &&
        memcmp(set->data, word.data, word.count * sizeof *word.data) == 0)
        *set = pattern_word(r);
    if (others)
        *set = rlf_codes_others(r->arena, *set);
    r->p = end + 1;
    return true;
}

bool
pattern_escape(pattern_reader *r, bool inside, bool *is_set, uint32_t *code,
               rlf_codes *set)
{
    static const char plain[] = "tnrfvae", plain_codes[] = "\t\n\r\f\v\a\033";
    const char *found;
    char c = *r->p;
    *is_set = false;
    if (!c)
        return pattern_stop(r, "a backslash ends the pattern");
    if (inside && c == 'b') {
        r->p++;
        *code = '\b';
        return true;
    }
    if ((found = strchr(plain, c)) != NULL) {
        r->p++;
        *code = (uint32_t)plain_codes[found - plain];
        return true;
    }
    if (c == 'u' || c == 'x' || c == '0') {
        r->p++;
        return read_code(r, c, code);
    }
    if ((c == 'p' || c == 'P') && r->p[1] == '{') {
        r->p++;
        *is_set = true;
        return read_property(r, c == 'P', inside, set);
    }
    if (strchr("wWsSdDhH", c)) {
        char lower = (char)(c | 0x20);
        r->p++;
        *is_set = true;
        *set = lower == 'w'   ? inside ? named(r, "word") : pattern_word(r)
                 : lower == 's' ? named(r, "space")
               : lower == 'd' ? named(r, "digit")
                              : named(r, "xdigit");
        if (c != lower)
            *set = rlf_codes_others(r->arena, *set);
        return true;
    }
    if ((c >= '1' && c <= '9') || strchr("AbBcCgGkKMNoORXyYzZ", c))
        return pattern_stop(r, "this escape is not supported");
    if (inside && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        return pattern_stop(r, "this escape is not supported in a class");
    *code = pattern_take(r);
    return true;
}

/* [:name:], p at its '['. */
static bool
read_posix(pattern_reader *r, rlf_codes *set)
{
    const char *name = r->p + 2, *end = strstr(name, ":]");
    bool others = *name == '^';
    name += others;
    if (!end || end < name ||
        !rlf_unicode_posix(r->arena, name, (size_t)(end - name), set))
        return pattern_stop(r, "there is no such POSIX class");
    if (others)
        *set = rlf_codes_others(r->arena, *set);
    r->p = end + 2;
    return true;
}

/* One item of a class: a character, or a set that is no end of a range. */
static bool
read_item(pattern_reader *r, bool *is_set, uint32_t *code, rlf_codes *set)
{
    uint32_t single;
    *is_set = false;
    if (*r->p == '[') {
        *is_set = true;
        if (r->p[1] == ':')
            return read_posix(r, set);
        r->p++;
        bool fold = r->options.fold; /* only the outermost is folded */
        r->options.fold = false;
        bool good = pattern_class(r, set, &single);
        r->options.fold = fold;
        return good;
    }
    if (*r->p == '\\') {
        r->p++;
        return pattern_escape(r, true, is_set, code, set);
    }
    *code = pattern_take(r);
    return true;
}

/* Reads what is listed up to && or the end, as one set. */
static bool
read_list(pattern_reader *r, bool first, rlf_codes *out, size_t *singles,
          uint32_t *single)
{
    size_t items = 0;
    bool ranged = false; /* a '-' here would be none of a range */
    while (*r->p && (*r->p != ']' || (first && !items)) &&
           !(r->p[0] == '&' && r->p[1] == '&')) {
        bool is_set = false;
        uint32_t code = 0, last = 0;
        rlf_codes set = {0};
        if (*r->p == '-' && r->p[1] != ']' && (ranged || (!first && !items)))
            return pattern_stop(r, "this '-' is not that of a range; write "
                                   "\\-");
        if (!read_item(r, &is_set, &code, &set))
            return false;
        items++;
        ranged = is_set;
        *singles += is_set ? 2 : 1;
        if (!is_set) {
            last = *single = code;
            if (r->p[0] == '-' && r->p[1] != ']') {
                rlf_codes none = {0};
                r->p++;
                if (*r->p == '[' || (r->p[0] == '&' && r->p[1] == '&') ||
                    !*r->p)
                    return pattern_stop(r, "the range has no end");
                if (!read_item(r, &is_set, &last, &none))
                    return false;
                if (is_set || last < code)
                    return pattern_stop(r, "the range has no end");
                ranged = true;
                *singles += 1;
            }
            rlf_codes_add(r->arena, &set, code, last + 1);
        }
        *out = rlf_codes_either(r->arena, *out, set);
    }
    if (!items)
        return pattern_stop(r, "a class or a side of && is empty");
    return true;
}

bool
pattern_class(pattern_reader *r, rlf_codes *out, uint32_t *single)
{
    if (++r->depth > PATTERN_DEPTH)
        return pattern_stop(r, "groups and classes are nested too deeply");
    bool others = *r->p == '^', both = false;
    size_t singles = 0;
    r->p += others;
    rlf_codes all = {0};
    do {
        rlf_codes list = {0};
        if (both)
            r->p += 2;
        if (!read_list(r, !both, &list, &singles, single))
            return false;
        all = both ? rlf_codes_both(r->arena, all, list) : list;
        both = true;
    } while (*r->p == '&');
    if (*r->p != ']')
        return pattern_stop(r, "the class has no ']'");
    r->p++;
    r->depth--;
    if (r->options.fold) {
        if (!others && rlf_unicode_folds_long(all))
            return pattern_stop(
                r, "(?i) with a class that holds what is several letters in "
                   "another case (as \xc3\x9f is ss) is not supported");
        all = rlf_unicode_folded(r->arena, all);
    }
    *out = others ? rlf_codes_others(r->arena, all) : all;
    if (singles != 1 || others)
        *single = 0;
    return true;
}
