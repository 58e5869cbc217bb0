/* Python's methods of str. */
#define _GNU_SOURCE /* memmem */
#include "engine/jinja/inside.h"

#include <string.h>

/* ---- characters and bytes ---- */

size_t
jinja_chars(jinja_text *t)
{
    if (t->chars != SIZE_MAX)
        return t->chars;
    t->chars = 0;
    for (size_t i = 0; i < t->n; i++)
        t->chars += ((unsigned char)t->p[i] & 0xC0) != 0x80;
    return t->chars;
}

size_t
jinja_byte_of(jinja_run *r, jinja_text *t, size_t i)
{
    size_t chars = jinja_chars(t), at = 0;
    if (chars == t->n)
        return i < t->n ? i : t->n;
    if (i >= chars)
        return t->n;
    jinja_pay(r, i / 8);
    for (; i; i--) {
        size_t n;
        jinja_code(t->p + at, &n);
        at += n;
    }
    return at;
}

jinja_value
jinja_part(jinja_run *r, jinja_value text, size_t first, size_t last)
{
    jinja_value v = jinja_text_of(r, text.text->p + first, last - first);
    v.markup = text.markup;
    return v;
}

/* The byte of t from `at` on at which `what` begins; SIZE_MAX: none. */
static size_t
find(const jinja_text *t, size_t at, rlf_str what)
{
    const char *p = at > t->n ? NULL
                    : what.n  ? memmem(t->p + at, t->n - at, what.p, what.n)
                              : t->p + at;
    return p ? (size_t)(p - t->p) : SIZE_MAX;
}

/* The last place that ends at `end` or before. */
static size_t
find_last(const jinja_text *t, size_t first, size_t end, rlf_str what)
{
    for (size_t at = end; at + 1 > first; at--)
        if (at + what.n <= end && memcmp(t->p + at, what.p, what.n) == 0)
            return at;
        else if (!at)
            break;
    return SIZE_MAX;
}

static rlf_str
bytes(const jinja_text *t)
{
    return (rlf_str){t->p, t->n};
}

static bool
is_given(jinja_value v)
{
    return v.kind != JINJA_MISSING && v.kind != JINJA_NONE;
}

static int64_t
int_or(jinja_run *r, jinja_value v, int64_t fallback)
{
    return v.kind == JINJA_MISSING ? fallback : jinja_need_int(r, v);
}

/* ---- strip ---- */

static bool
is_stripped(const jinja_text *set, const char *p, size_t n)
{
    size_t k;
    if (!set)
        return jinja_is_space(jinja_code(p, &k));
    for (size_t i = 0; i < set->n; i += k) {
        jinja_code(set->p + i, &k);
        if (k == n && memcmp(set->p + i, p, n) == 0)
            return true;
    }
    return false;
}

/* ends: 1: at the beginning, 2: at the end, 3: both */
jinja_value
jinja_strip(jinja_run *r, jinja_value text, jinja_value chars, int ends)
{
    const jinja_text *t = text.text;
    const jinja_text *set = is_given(chars) ? jinja_need_text(r, chars) : NULL;
    size_t first = 0, last = t->n, n;
    while ((ends & 1) && first < last) {
        jinja_code(t->p + first, &n);
        if (!is_stripped(set, t->p + first, n))
            break;
        jinja_pay(r, set ? set->n / 16 : 0);
        first += n;
    }
    while ((ends & 2) && last > first) {
        size_t at = last - 1;
        while (((unsigned char)t->p[at] & 0xC0) == 0x80)
            at--;
        if (!is_stripped(set, t->p + at, last - at))
            break;
        jinja_pay(r, set ? set->n / 16 : 0);
        last = at;
    }
    jinja_pay(r, (first + t->n - last) / 32);
    return jinja_part(r, text, first, last);
}

#define STRIP(name, ends)                                   \
    static jinja_value name(jinja_run *r, jinja_value self, \
                            const jinja_args *args)         \
    {                                                       \
        return jinja_strip(r, self, args->v[0], ends);      \
    }
STRIP(strip, 3)
STRIP(lstrip, 1)
STRIP(rstrip, 2)

/* ---- split ---- */

static void
push_part(jinja_run *r, jinja_value list, jinja_value text, size_t first,
          size_t last)
{
    jinja_push(r, list, jinja_part(r, text, first, last));
}

static jinja_value
split_spaces(jinja_run *r, jinja_value text, int64_t most)
{
    const jinja_text *t = text.text;
    jinja_value list = jinja_list_new(r, JINJA_LIST);
    size_t at = 0, n;
    for (;;) {
        while (at < t->n && jinja_is_space(jinja_code(t->p + at, &n)))
            at += n;
        if (at == t->n)
            return list;
        size_t first = at;
        if (most >= 0 && (int64_t)list.list->count == most) {
            push_part(r, list, text, first, t->n);
            return list;
        }
        while (at < t->n && !jinja_is_space(jinja_code(t->p + at, &n)))
            at += n;
        push_part(r, list, text, first, at);
    }
}

static void
turn(jinja_value list)
{
    size_t n = list.list->count;
    for (size_t i = 0; i < n / 2; i++) {
        jinja_value swap = list.list->data[i];
        list.list->data[i] = list.list->data[n - 1 - i];
        list.list->data[n - 1 - i] = swap;
    }
}

static jinja_value
rsplit_spaces(jinja_run *r, jinja_value text, int64_t most)
{
    jinja_value all = split_spaces(r, text, -1);
    int64_t n = (int64_t)all.list->count;
    if (most < 0 || n <= most)
        return all;
    jinja_value list = jinja_list_new(r, JINJA_LIST);
    const jinja_text *last = all.list->data[n - most - 1].text;
    push_part(r, list, text, 0, (size_t)(last->p - text.text->p) + last->n);
    for (int64_t i = n - most; i < n; i++)
        jinja_push(r, list, all.list->data[i]);
    return list;
}

jinja_value
jinja_split(jinja_run *r, jinja_value text, jinja_value by, int64_t most,
            bool from_end)
{
    const jinja_text *t = text.text;
    jinja_pay(r, t->n / 16);
    if (!is_given(by))
        return from_end ? rsplit_spaces(r, text, most)
                        : split_spaces(r, text, most);
    rlf_str sep = bytes(jinja_need_text(r, by));
    jinja_value list = jinja_list_new(r, JINJA_LIST);
    if (!sep.n)
        jinja_stop(r, "ValueError: empty separator");
    size_t first = 0, last = t->n, at;
    while (from_end && (most < 0 || (int64_t)list.list->count < most)) {
        at = last >= sep.n ? find_last(t, 0, last, sep) : SIZE_MAX;
        if (at == SIZE_MAX)
            break;
        jinja_pay(r, (last - at) / 32);
        push_part(r, list, text, at + sep.n, last);
        last = at;
    }
    while (!from_end && (most < 0 || (int64_t)list.list->count < most)) {
        at = find(t, first, sep);
        if (at == SIZE_MAX)
            break;
        push_part(r, list, text, first, at);
        first = at + sep.n;
    }
    push_part(r, list, text, first, last);
    if (from_end)
        turn(list);
    return list;
}

static jinja_value
split(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return jinja_split(r, self, args->v[0], int_or(r, args->v[1], -1), false);
}

static jinja_value
rsplit(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return jinja_split(r, self, args->v[0], int_or(r, args->v[1], -1), true);
}

static bool
ends_line(uint32_t c)
{
    return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 ||
           c == 0x2028 || c == 0x2029;
}

jinja_value
jinja_lines(jinja_run *r, jinja_value text, bool keep)
{
    const jinja_text *t = text.text;
    jinja_value list = jinja_list_new(r, JINJA_LIST);
    jinja_pay(r, t->n / 16);
    for (size_t at = 0, n; at < t->n;) {
        size_t first = at;
        while (at < t->n && !ends_line(jinja_code(t->p + at, &n)))
            at += n;
        size_t end = at;
        if (at < t->n) {
            jinja_code(t->p + at, &n);
            at += t->p[at] == '\r' && at + 1 < t->n && t->p[at + 1] == '\n' ? 2
                                                                            : n;
        }
        push_part(r, list, text, first, keep ? at : end);
    }
    return list;
}

static jinja_value
splitlines(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_value keep = args->v[0];
    return jinja_lines(r, self,
                       keep.kind != JINJA_MISSING && jinja_truth(r, keep));
}

static jinja_value
three(jinja_run *r, jinja_value text, size_t at, size_t n, bool from_end)
{
    jinja_value v = jinja_list_new(r, JINJA_TUPLE);
    size_t all = text.text->n;
    if (at == SIZE_MAX) {
        push_part(r, v, text, 0, from_end ? 0 : all);
        push_part(r, v, text, 0, 0);
        push_part(r, v, text, from_end ? 0 : all, all);
        return v;
    }
    push_part(r, v, text, 0, at);
    push_part(r, v, text, at, at + n);
    push_part(r, v, text, at + n, all);
    return v;
}

static rlf_str
separator(jinja_run *r, jinja_value v)
{
    rlf_str sep = bytes(jinja_need_text(r, v));
    if (!sep.n)
        jinja_stop(r, "ValueError: empty separator");
    return sep;
}

static jinja_value
partition(jinja_run *r, jinja_value self, const jinja_args *args)
{
    rlf_str sep = separator(r, args->v[0]);
    jinja_pay(r, self.text->n / 16);
    return three(r, self, find(self.text, 0, sep), sep.n, false);
}

static jinja_value
rpartition(jinja_run *r, jinja_value self, const jinja_args *args)
{
    rlf_str sep = separator(r, args->v[0]);
    jinja_pay(r, self.text->n / 16);
    size_t at = find_last(self.text, 0, self.text->n, sep);
    return three(r, self, at, sep.n, true);
}

/* ---- find ---- */

/* The bytes of self from argument k to argument k + 1, both characters; false:
 * the beginning lies behind the end. */
static bool
bounds(jinja_run *r, jinja_text *t, const jinja_args *args, size_t k,
       size_t *first, size_t *last)
{
    int64_t n = (int64_t)jinja_chars(t);
    int64_t i = is_given(args->v[k]) ? jinja_need_int(r, args->v[k]) : 0;
    int64_t j =
        is_given(args->v[k + 1]) ? jinja_need_int(r, args->v[k + 1]) : n;
    i = i < 0 ? (i + n < 0 ? 0 : i + n) : i;
    j = j < 0 ? (j + n < 0 ? 0 : j + n) : j > n ? n : j;
    if (i > n || i > j)
        return false;
    *first = jinja_byte_of(r, t, (size_t)i);
    *last = jinja_byte_of(r, t, (size_t)j);
    return true;
}

static bool
has_end(jinja_run *r, jinja_text *t, jinja_value what, const jinja_args *args,
        bool at_end)
{
    size_t first, last;
    rlf_str s = bytes(jinja_need_text(r, what));
    if (!bounds(r, t, args, 1, &first, &last) || last - first < s.n)
        return false;
    return memcmp(t->p + (at_end ? last - s.n : first), s.p, s.n) == 0;
}

static jinja_value
has_any_end(jinja_run *r, jinja_value self, const jinja_args *args, bool at_end)
{
    jinja_value what = args->v[0];
    bool is = false;
    if (what.kind != JINJA_TUPLE)
        return jinja_bool(has_end(r, self.text, what, args, at_end));
    for (size_t i = 0; i < what.list->count && !is; i++)
        is = has_end(r, self.text, what.list->data[i], args, at_end);
    return jinja_bool(is);
}

static jinja_value
startswith(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return has_any_end(r, self, args, false);
}

static jinja_value
endswith(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return has_any_end(r, self, args, true);
}

static int64_t
find_chars(jinja_run *r, jinja_value self, const jinja_args *args,
           bool from_end)
{
    jinja_text *t = self.text;
    rlf_str what = bytes(jinja_need_text(r, args->v[0]));
    size_t first, last, at;
    jinja_pay(r, t->n / 16);
    if (!bounds(r, t, args, 1, &first, &last) || last - first < what.n)
        return -1;
    at = from_end ? find_last(t, first, last, what) : find(t, first, what);
    if (at == SIZE_MAX || at < first || at + what.n > last)
        return -1;
    jinja_text before = {t->p, at, SIZE_MAX};
    return (int64_t)jinja_chars(&before);
}

static jinja_value
need_found(jinja_run *r, int64_t at)
{
    if (at < 0)
        jinja_stop(r, "ValueError: substring not found");
    return jinja_int(at);
}

static jinja_value
find_method(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return jinja_int(find_chars(r, self, args, false));
}

static jinja_value
rfind_method(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return jinja_int(find_chars(r, self, args, true));
}

static jinja_value
index_method(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return need_found(r, find_chars(r, self, args, false));
}

static jinja_value
rindex_method(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return need_found(r, find_chars(r, self, args, true));
}

static jinja_value
count(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_text *t = self.text;
    rlf_str what = bytes(jinja_need_text(r, args->v[0]));
    size_t first, last, at;
    int64_t n = 0;
    jinja_pay(r, t->n / 16);
    if (!bounds(r, t, args, 1, &first, &last))
        return jinja_int(0);
    if (!what.n) {
        jinja_text part = {t->p + first, last - first, SIZE_MAX};
        return jinja_int((int64_t)jinja_chars(&part) + 1);
    }
    while ((at = find(t, first, what)) != SIZE_MAX && at + what.n <= last) {
        first = at + what.n;
        n++;
    }
    return jinja_int(n);
}

/* ---- replace, join ---- */

jinja_value
jinja_replaced(jinja_run *r, jinja_value text, jinja_value old, jinja_value by,
               int64_t most)
{
    const jinja_text *t = text.text;
    rlf_str what = bytes(jinja_need_text(r, old));
    if (text.markup)
        by = jinja_escaped(r, by);
    rlf_str new = bytes(jinja_need_text(r, by));
    jinja_buf out = {0};
    size_t at = 0;
    jinja_pay(r, t->n / 16);
    for (int64_t done = 0; most < 0 || done < most; done++) {
        size_t next = find(t, at, what), n = 0;
        if (next == SIZE_MAX)
            break;
        if (!what.n && done) { /* between all characters, and at the end */
            if (at == t->n)
                break;
            jinja_code(t->p + at, &n);
        }
        jinja_pay(r, 1);
        jinja_add(r, &out, t->p + at, what.n ? next - at : n);
        jinja_add(r, &out, new.p, new.n);
        at = what.n ? next + what.n : at + n;
    }
    jinja_add(r, &out, t->p + at, t->n - at);
    jinja_value v = jinja_taken(r, &out);
    v.markup = text.markup;
    return v;
}

static jinja_value
replace(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_need_text(r, args->v[1]);
    return jinja_replaced(r, self, args->v[0], args->v[1],
                          int_or(r, args->v[2], -1));
}

static jinja_value
join(jinja_run *r, jinja_value self, const jinja_args *args)
{
    jinja_iter *it = jinja_iterate(r, args->v[0]);
    jinja_value element;
    jinja_buf out = {0};
    for (size_t i = 0; jinja_next(r, it, &element); i++) {
        if (element.kind != JINJA_TEXT && !self.markup)
            jinja_stop(r,
                       "TypeError: sequence item %zu: expected str instance, "
                       "%s found",
                       i, jinja_type(element));
        if (i)
            jinja_add(r, &out, self.text->p, self.text->n);
        jinja_print(r, &out, self.markup ? jinja_escaped(r, element) : element);
    }
    jinja_value v = jinja_taken(r, &out);
    v.markup = self.markup;
    return v;
}

/* ---- width ---- */

static jinja_value
padded(jinja_run *r, jinja_value self, const jinja_args *args, int where)
{
    int64_t width = jinja_need_int(r, args->v[0]);
    int64_t n = (int64_t)jinja_chars(self.text), left = 0, right = 0;
    jinja_value fill = args->v[1];
    if (fill.kind == JINJA_MISSING)
        fill = jinja_text_z(r, " ");
    jinja_need_text(r, fill);
    if (jinja_chars(fill.text) != 1)
        jinja_stop(r, "TypeError: The fill character must be exactly one "
                      "character long");
    if (width <= n)
        return self;
    if (where == 0) { /* as CPython puts the odd one */
        int64_t all = width - n;
        left = all / 2 + (all & width & 1);
        right = all - left;
    } else {
        *(where < 0 ? &right : &left) = width - n;
    }
    fill.markup = self.markup;
    return jinja_joined(r, jinja_joined(r, jinja_repeated(r, fill, left), self),
                        jinja_repeated(r, fill, right));
}

static jinja_value
center(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return padded(r, self, args, 0);
}

static jinja_value
ljust(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return padded(r, self, args, -1);
}

static jinja_value
rjust(jinja_run *r, jinja_value self, const jinja_args *args)
{
    return padded(r, self, args, 1);
}

static jinja_value
zfill(jinja_run *r, jinja_value self, const jinja_args *args)
{
    int64_t width = jinja_need_int(r, args->v[0]);
    int64_t n = (int64_t)jinja_chars(self.text);
    size_t sign = self.text->n && strchr("+-", self.text->p[0]) ? 1 : 0;
    if (width <= n)
        return self;
    jinja_value zeros = jinja_text_z(r, "0");
    zeros.markup = self.markup;
    zeros = jinja_repeated(r, zeros, width - n);
    jinja_value rest = jinja_part(r, self, sign, self.text->n);
    return jinja_joined(r, jinja_joined(r, jinja_part(r, self, 0, sign), zeros),
                        rest);
}

static jinja_value
removeprefix(jinja_run *r, jinja_value self, const jinja_args *args)
{
    rlf_str s = bytes(jinja_need_text(r, args->v[0]));
    const jinja_text *t = self.text;
    bool is = s.n <= t->n && memcmp(t->p, s.p, s.n) == 0;
    return is ? jinja_part(r, self, s.n, t->n) : self;
}

static jinja_value
removesuffix(jinja_run *r, jinja_value self, const jinja_args *args)
{
    rlf_str s = bytes(jinja_need_text(r, args->v[0]));
    const jinja_text *t = self.text;
    bool is = s.n <= t->n && memcmp(t->p + t->n - s.n, s.p, s.n) == 0;
    return is ? jinja_part(r, self, 0, t->n - s.n) : self;
}

static jinja_value
expandtabs(jinja_run *r, jinja_value self, const jinja_args *args)
{
    int64_t size = int_or(r, args->v[0], 8), column = 0;
    const jinja_text *t = self.text;
    jinja_buf out = {0};
    for (size_t i = 0, n; i < t->n; i += n) {
        uint32_t c = jinja_code(t->p + i, &n);
        if (c != '\t') {
            column = c == '\n' || c == '\r' ? 0 : column + 1;
            jinja_add(r, &out, t->p + i, n);
            continue;
        }
        int64_t k = size > 0 ? size - column % size : 0;
        jinja_print(r, &out, jinja_repeated(r, jinja_text_z(r, " "), k));
        column += k;
    }
    jinja_value v = jinja_taken(r, &out);
    v.markup = self.markup;
    return v;
}

/* ---- the table ---- */

#define CASE(name)                                                   \
    static jinja_value name##_method(jinja_run *r, jinja_value self, \
                                     const jinja_args *args)         \
    {                                                                \
        (void)args;                                                  \
        return jinja_##name(r, self);                                \
    }
CASE(upper)
CASE(lower)
CASE(title)
CASE(capitalize)
CASE(swapcase)
CASE(casefold)

static jinja_value
absent(jinja_run *r, jinja_value self, const jinja_args *args)
{
    (void)self, (void)args;
    jinja_stop(r,
               "encode, translate, maketrans and format_map of texts are not "
               "supported");
}

#define METHOD(name, parameters, call)                  \
    {                                                   \
        name, parameters, call, JINJA_TEXT_KINDS, false \
    }
const jinja_builtin jinja_text_methods[] = {
    METHOD("strip", "chars?", strip),
    METHOD("lstrip", "chars?", lstrip),
    METHOD("rstrip", "chars?", rstrip),
    METHOD("split", "sep? maxsplit?", split),
    METHOD("rsplit", "sep? maxsplit?", rsplit),
    METHOD("splitlines", "keepends?", splitlines),
    METHOD("partition", "sep", partition),
    METHOD("rpartition", "sep", rpartition),
    METHOD("startswith", "prefix start? end?", startswith),
    METHOD("endswith", "suffix start? end?", endswith),
    METHOD("find", "sub start? end?", find_method),
    METHOD("rfind", "sub start? end?", rfind_method),
    METHOD("index", "sub start? end?", index_method),
    METHOD("rindex", "sub start? end?", rindex_method),
    METHOD("count", "sub start? end?", count),
    METHOD("replace", "old new count?", replace),
    METHOD("join", "iterable", join),
    METHOD("center", "width fillchar?", center),
    METHOD("ljust", "width fillchar?", ljust),
    METHOD("rjust", "width fillchar?", rjust),
    METHOD("zfill", "width", zfill),
    METHOD("removeprefix", "prefix", removeprefix),
    METHOD("removesuffix", "suffix", removesuffix),
    METHOD("expandtabs", "tabsize?", expandtabs),
    METHOD("upper", "", upper_method),
    METHOD("lower", "", lower_method),
    METHOD("title", "", title_method),
    METHOD("capitalize", "", capitalize_method),
    METHOD("swapcase", "", swapcase_method),
    METHOD("casefold", "", casefold_method),
    METHOD("format", NULL, jinja_format),
    METHOD("encode", NULL, absent),
    METHOD("translate", NULL, absent),
    METHOD("maketrans", NULL, absent),
    METHOD("format_map", NULL, absent),
};
const size_t jinja_n_text_methods =
    sizeof jinja_text_methods / sizeof *jinja_text_methods;
