/* Groups, repeats and anchors of a pattern: see pattern.h. */
#include "engine/text/pattern_inside.h"

#include "engine/base/vec.h"
#include "engine/text/utf8.h"

#include <string.h>

/* The kind of a part of the pattern: an assertion; something that may match
 * nothing. */
typedef struct item {
    bool anchor, empty;
} item;

static bool read_branches(pattern_reader *r, item *whole);

static void
put(pattern_reader *r, const char *text)
{
    RLF_PUSH_IN(r->arena, &r->out->parts, (rlf_pattern_part){text, 0});
}

static void
put_set(pattern_reader *r, rlf_codes set)
{
    size_t at = r->out->sets.count;
    RLF_PUSH_IN(r->arena, &r->out->sets, set);
    RLF_PUSH_IN(r->arena, &r->out->parts, (rlf_pattern_part){NULL, at});
}

/* Put parts from `from` on into a group. */
static void
wrap(pattern_reader *r, size_t from)
{
    put(r, NULL); /* room for one more */
    rlf_pattern_part *parts = r->out->parts.data;
    memmove(parts + from + 1, parts + from,
            (r->out->parts.count - 1 - from) * sizeof *parts);
    parts[from] = (rlf_pattern_part){"(?:", 0};
    put(r, ")");
}

/* Blanks and comments that mean nothing. */
static bool
skip_blank(pattern_reader *r)
{
    for (;;) {
        if (r->p[0] == '(' && r->p[1] == '?' && r->p[2] == '#') {
            while (*r->p && *r->p != ')')
                r->p += r->p[0] == '\\' && r->p[1] ? 2 : 1;
            if (!*r->p)
                return pattern_stop(r, "the comment has no ')'");
            r->p++;
        } else if (r->options.extended && *r->p == '#') {
            while (*r->p && *r->p != '\n')
                r->p++;
        } else if (r->options.extended && *r->p &&
                   rlf_unicode_is_space(rlf_utf8_code(r->p))) {
            pattern_take(r);
        } else {
            return true;
        }
    }
}

static bool
put_literal(pattern_reader *r, uint32_t code)
{
    rlf_codes set = pattern_one(r, code);
    if (r->options.fold) {
        if (rlf_unicode_folds_long(set) ||
            (r->last && rlf_unicode_pair_folds(r->last, code)))
            return pattern_stop(r, "(?i) with what is several letters in "
                                   "another case (as \xc3\x9f is ss) is not "
                                   "supported");
        r->last = code;
        set = rlf_unicode_folded(r->arena, set);
    }
    put_set(r, set);
    return true;
}

/* Behind \b or \B: is a word on one side, or on both or none? */
static void
put_boundary(pattern_reader *r, bool is)
{
    static const char *const texts[2][5] = {
        {"(?:(?<=", ")(?=", ")|(?<!", ")(?!", "))"},
        {"(?:(?<=", ")(?!", ")|(?<!", ")(?=", "))"}};
    rlf_codes word = pattern_word(r);
    for (size_t i = 0; i < 5; i++) {
        put(r, texts[is][i]);
        if (i < 4)
            put_set(r, word);
    }
}

static void
put_around_newline(pattern_reader *r, const char *before, const char *after)
{
    put(r, before);
    put_set(r, pattern_one(r, '\n'));
    put(r, after);
}

/* An anchor, p at what follows its backslash; false if it is none. */
static bool
read_anchor(pattern_reader *r)
{
    switch (*r->p) {
    case 'A':
        put(r, "\\A");
        break;
    case 'z':
        put(r, "\\z");
        break;
    case 'Z':
        put_around_newline(r, "(?=", "?\\z)");
        break;
    case 'G':
        put(r, "\\G");
        break;
    case 'b':
    case 'B':
        put_boundary(r, *r->p == 'b');
        break;
    default:
        return false;
    }
    r->p++;
    return true;
}

/* \R: one end of a line, of which CR LF is not two. */
static void
put_line_end(pattern_reader *r)
{
    rlf_codes set = {0};
    rlf_codes_add(r->arena, &set, '\n', '\r' + 1);
    rlf_codes_add(r->arena, &set, 0x85, 0x86);
    rlf_codes_add(r->arena, &set, 0x2028, 0x202a);
    put(r, "(?>");
    put_set(r, pattern_one(r, '\r'));
    put_set(r, pattern_one(r, '\n'));
    put(r, "|");
    put_set(r, set);
    put(r, ")");
}

/* Reads what a backslash begins. */
static bool
read_escape(pattern_reader *r, item *it)
{
    bool is_set = false;
    uint32_t code = 0;
    rlf_codes set = {0};
    it->anchor = it->empty = read_anchor(r);
    if (it->anchor)
        return true;
    switch (*r->p) {
    case 'R':
        put_line_end(r);
        break;
    case 'N':
        put_set(r, rlf_codes_others(r->arena, pattern_one(r, '\n')));
        break;
    case 'O':
        put_set(r, rlf_codes_others(r->arena, set));
        break;
    default:
        if (!pattern_escape(r, false, &is_set, &code, &set))
            return false;
        if (!is_set)
            return put_literal(r, code);
        put_set(r, set);
        r->last = 0;
        return true;
    }
    r->p++;
    r->last = 0;
    return true;
}

static bool
skip_name(pattern_reader *r, char end)
{
    const char *begin = r->p;
    while (*r->p == '_' || (*r->p >= 'a' && *r->p <= 'z') ||
           (*r->p >= 'A' && *r->p <= 'Z') ||
           (r->p > begin && *r->p >= '0' && *r->p <= '9'))
        r->p++;
    if (r->p == begin || *r->p != end)
        return pattern_stop(r, "the name of the group is not supported");
    r->p++;
    return true;
}

/* (?imx-imx), p behind the '?'. */
static bool
read_options(pattern_reader *r)
{
    bool on = true;
    for (; *r->p != ')' && *r->p != ':'; r->p++) {
        if (*r->p == '-')
            on = false;
        else if (*r->p == 'i')
            r->options.fold = on;
        else if (*r->p == 'm')
            r->options.dot_all = on;
        else if (*r->p == 'x')
            r->options.extended = on;
        else
            return pattern_stop(r, "this kind of group is not supported");
    }
    return true;
}

/* A group, p behind its '('. */
static bool
read_group(pattern_reader *r, item *it)
{
    static const struct {
        const char *begin;
        bool anchor;
    } kinds[] = {{"?:", false}, {"?=", true},  {"?!", true},
                 {"?>", false}, {"?<=", true}, {"?<!", true}};
    if (++r->depth > PATTERN_DEPTH)
        return pattern_stop(r, "groups and classes are nested too deeply");
    pattern_options before = r->options;
    size_t i = 0, n = 0;
    while (i < RLF_COUNT(kinds) &&
           strncmp(r->p, kinds[i].begin, n = strlen(kinds[i].begin)) != 0)
        i++;
    bool isolated = false, plain = i == 0;
    if (i < RLF_COUNT(kinds)) {
        it->anchor = kinds[i].anchor;
        put(r, rlf_arena_printf(r->arena, "(%s", kinds[i].begin));
        r->p += n;
    } else if (r->p[0] == '?' && (r->p[1] == '<' || r->p[1] == '\'')) {
        char end = r->p[1] == '<' ? '>' : '\'';
        r->p += 2;
        if (!skip_name(r, end))
            return false;
        put(r, "(?:");
    } else if (*r->p == '?') {
        r->p++;
        if (!read_options(r))
            return false;
        isolated = *r->p++ == ')';
        put(r, "(?:");
    } else if (*r->p == '*') {
        return pattern_stop(r, "callouts are not supported");
    } else {
        put(r, "(?:");
    }
    /* An option alone holds for all that follows, other branches too. */
    item body = {false, false};
    if (!read_branches(r, &body))
        return false;
    it->empty = body.empty || it->anchor;
    it->anchor = it->anchor || (plain && body.anchor);
    if (!isolated && *r->p++ != ')') {
        r->p--;
        return pattern_stop(r, "the group has no ')'");
    }
    put(r, ")");
    r->options = before;
    r->depth--;
    return true;
}

static bool
read_item(pattern_reader *r, item *it)
{
    rlf_codes set = {0};
    uint32_t single = 0;
    char c = *r->p;
    *it = (item){false, false};
    switch (c) {
    case '(':
        r->p++;
        return read_group(r, it);
    case '[':
        r->p++;
        if (!pattern_class(r, &set, &single))
            return false;
        if (single)
            return put_literal(r, single);
        break;
    case '.':
        r->p++;
        if (!r->options.dot_all)
            set = pattern_one(r, '\n');
        set = rlf_codes_others(r->arena, set);
        break;
    case '\\':
        r->p++;
        return read_escape(r, it);
    case '^':
        r->p++;
        it->anchor = it->empty = true;
        put_around_newline(r, "(?:\\A|(?<=", ")(?!\\z))");
        return true;
    case '$':
        r->p++;
        it->anchor = it->empty = true;
        put_around_newline(r, "(?=", "|\\z)");
        return true;
    default:
        return put_literal(r, pattern_take(r));
    }
    put_set(r, set);
    r->last = 0;
    return true;
}

/* {n}, {n,}, {,n} or {n,m}: as PCRE2 has it, p behind it. NULL where the brace
 * is only a character. *none: none at all will do; *exact: it is {n}. */
static const char *
read_interval(pattern_reader *r, bool *exact, bool *none)
{
    const char *p = r->p + 1;
    unsigned long low = 0, high = 0;
    bool has_low = *p >= '0' && *p <= '9', has_high = false, comma = false;
    for (; *p >= '0' && *p <= '9'; p++)
        low = low < 1000000 ? 10 * low + (unsigned long)(*p - '0') : low;
    if (*p == ',') {
        comma = true;
        p++;
        has_high = *p >= '0' && *p <= '9';
        for (; *p >= '0' && *p <= '9'; p++)
            high =
                high < 1000000 ? 10 * high + (unsigned long)(*p - '0') : high;
    }
    if (*p != '}' || (!has_low && !has_high))
        return NULL;
    if (low > 65535 || high > 65535 || (has_high && high < low)) {
        pattern_stop(r, "these bounds of a repeat are not supported");
        return NULL;
    }
    r->p = p + 1;
    *exact = !comma;
    *none = low == 0;
    if (!comma)
        return rlf_arena_printf(r->arena, "{%lu}", low);
    if (!has_high)
        return rlf_arena_printf(r->arena, "{%lu,}", low);
    return rlf_arena_printf(r->arena, "{%lu,%lu}", low, high);
}

/* All repeats that follow the item whose parts begin at `from`. */
static bool
read_repeats(pattern_reader *r, size_t from, item *it)
{
    for (bool again = false;; again = true) {
        const char *text;
        bool exact = false, interval = false, none = false;
        if (!skip_blank(r))
            return false;
        const char *at = r->p;
        if (*at == '{') {
            text = read_interval(r, &exact, &none);
            if (!text)
                return !r->wrong;
            interval = true;
        } else if (*at == '*' || *at == '+' || *at == '?') {
            text = rlf_arena_strndup(r->arena, r->p++, 1);
            none = *at != '+';
        } else {
            return true;
        }
        if (it->anchor || (interval && it->empty)) {
            r->p = at;
            /* There a repeat ends with the first match of nothing; here it
             * would go on to its bound. */
            return pattern_stop(
                r, it->anchor ? "an assertion cannot be repeated"
                              : "a repeat with bounds, of what may match "
                                "nothing, is not supported");
        }
        if (again)
            wrap(r, from);
        put(r, text);
        /* {n}? and {n}+ are repeats of a repeat. */
        if (*r->p == '?' && !exact) {
            put(r, "?");
            r->p++;
        } else if (*r->p == '+' && !interval) {
            put(r, "+");
            r->p++;
        }
        it->empty = it->empty || none;
        r->last = 0;
    }
}

/* Is there a repeat where an item should begin? Else p stays. */
static bool
repeats_nothing(pattern_reader *r)
{
    const char *before = r->p;
    bool exact, none;
    if (*r->p != '{')
        return *r->p == '*' || *r->p == '+' || *r->p == '?';
    bool is = read_interval(r, &exact, &none) || r->wrong;
    r->p = before;
    return is;
}

/* Branches up to the group's ')' or the end. The whole is an anchor if a
 * branch is one and no more. */
static bool
read_branches(pattern_reader *r, item *whole)
{
    item branch = {false, true};
    size_t items = 0;
    for (;;) {
        if (!skip_blank(r))
            return false;
        if (!*r->p || *r->p == ')' || *r->p == '|') {
            whole->empty = whole->empty || branch.empty;
            whole->anchor = whole->anchor || (items == 1 && branch.anchor);
            if (*r->p != '|')
                return true;
            put(r, "|");
            r->p++;
            r->last = 0;
            branch = (item){false, true};
            items = 0;
            continue;
        }
        size_t from = r->out->parts.count;
        item it;
        if (repeats_nothing(r))
            return pattern_stop(r, "there is nothing to repeat");
        if (!read_item(r, &it) || !read_repeats(r, from, &it))
            return false;
        items++;
        branch.empty = branch.empty && it.empty;
        branch.anchor = it.anchor;
    }
}

rlf_status
rlf_pattern_parse(rlf_arena *arena, const char *file, const char *text,
                  rlf_err *err, rlf_pattern *out)
{
    pattern_reader r = {.arena = arena, .begin = text, .p = text, .out = out};
    item whole = {false, false};
    *out = (rlf_pattern){0};
    if (read_branches(&r, &whole) && *r.p == ')')
        pattern_stop(&r, "this ')' has no '('");
    if (!r.wrong)
        return RLF_OK;
    return rlf_fail(err, RLF_USER,
                    "%s: the pattern %.*s cannot be read as its reference "
                    "reads it: at byte %zu: %s",
                    file, RLF_CUT(200, text), (size_t)(r.p - r.begin), r.wrong);
}
