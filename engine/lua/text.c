/* rlf.trim, split, words, lower, upper, fold, number, starts, ends: small tools
 * for reading answers. Letters are Unicode's, by utf8proc. */
#include "engine/lua/internal.h"

#include <string.h>
#include <utf8proc.h>

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* trim(s): without white space at both ends */
static int
text_trim(lua_State *L)
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    rlf_lua_charge(L, n / 16);
    while (n && is_space(s[n - 1]))
        n--;
    for (; n && is_space(*s); n--)
        s++;
    lua_pushlstring(L, s, n);
    return 1;
}

static const char *
find(const char *s, const char *end, const char *what, size_t n)
{
    while ((size_t)(end - s) >= n) {
        s = memchr(s, *what, (size_t)(end - s) - n + 1);
        if (!s)
            return NULL;
        if (memcmp(s, what, n) == 0)
            return s;
        s++;
    }
    return NULL;
}

/* split(s, separator): the parts between separators, a plain text */
static int
text_split(lua_State *L)
{
    size_t n, n_what;
    const char *s = luaL_checklstring(L, 1, &n), *end = s + n;
    const char *what = luaL_checklstring(L, 2, &n_what);
    luaL_argcheck(L, n_what > 0, 2, "empty separator");
    rlf_lua_charge(L, n / 16 * n_what);
    lua_createtable(L, 0, 0);
    for (lua_Integer i = 1;; i++) {
        const char *at = find(s, end, what, n_what);
        lua_pushlstring(L, s, (size_t)((at ? at : end) - s));
        lua_rawseti(L, -2, i);
        rlf_lua_charge(L, 4);
        if (!at) {
            rlf_lua_mark_parts(L);
            return 1;
        }
        s = at + n_what;
    }
}

/* words(s): the parts between white space, none of them empty */
static int
text_words(lua_State *L)
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n), *end = s + n;
    rlf_lua_charge(L, n / 4);
    lua_createtable(L, 0, 0);
    for (lua_Integer i = 1;; i++) {
        while (s < end && is_space(*s))
            s++;
        if (s == end) {
            rlf_lua_mark_parts(L);
            return 1;
        }
        const char *from = s;
        while (s < end && !is_space(*s))
            s++;
        lua_pushlstring(L, from, (size_t)(s - from));
        lua_rawseti(L, -2, i);
    }
}

/* Map each code point; bytes that are not UTF-8 stay. */
static int
map(lua_State *L, utf8proc_int32_t (*one)(utf8proc_int32_t))
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    rlf_lua_bytes out;
    rlf_lua_charge(L, n / 2);
    rlf_lua_bytes_init(L, &out);
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used = utf8proc_iterate(
            (const utf8proc_uint8_t *)s + i, (utf8proc_ssize_t)(n - i), &c);
        char *p = rlf_lua_bytes_room(&out, 4);
        if (used <= 0) {
            *p = s[i++];
            out.n++;
        } else {
            out.n +=
                (size_t)utf8proc_encode_char(one(c), (utf8proc_uint8_t *)p);
            i += (size_t)used;
        }
    }
    rlf_lua_bytes_push(&out);
    return 1;
}

static int
text_lower(lua_State *L)
{
    return map(L, utf8proc_tolower);
}

static int
text_upper(lua_State *L)
{
    return map(L, utf8proc_toupper);
}

/* Marks that combine with the letter before them are put in order, each by
 * passing those before it: quadratic in a row of them. */
static void
charge_marks(lua_State *L, const utf8proc_uint8_t *s, size_t n)
{
    uint64_t row = 0;
    for (size_t i = 0; i < n;) {
        utf8proc_int32_t c;
        utf8proc_ssize_t used =
            utf8proc_iterate(s + i, (utf8proc_ssize_t)(n - i), &c);
        if (used <= 0)
            return; /* no UTF-8: refused */
        bool mark = c >= 0x300 && utf8proc_get_property(c)->combining_class;
        row = mark ? row + 1 : 0;
        if (row)
            rlf_lua_charge(L, row);
        i += (size_t)used;
    }
}

/* fold(s): the form for comparing (Unicode NFKC with case folding), so that
 * wide digits, ligatures and letter case make no difference; nil if s is not
 * UTF-8 */
static int
text_fold(lua_State *L)
{
    size_t n;
    const utf8proc_uint8_t *s =
        (const utf8proc_uint8_t *)luaL_checklstring(L, 1, &n);
    const utf8proc_option_t form =
        (utf8proc_option_t)(UTF8PROC_STABLE | UTF8PROC_COMPOSE |
                            UTF8PROC_COMPAT | UTF8PROC_CASEFOLD |
                            UTF8PROC_IGNORE);
    rlf_lua_charge(L, 4 * n);
    charge_marks(L, s, n);
    utf8proc_ssize_t count =
        utf8proc_decompose(s, (utf8proc_ssize_t)n, NULL, 0, form);
    if (count < 0) {
        luaL_pushfail(L);
        return 1;
    }
    utf8proc_int32_t *points =
        lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *points, 0);
    utf8proc_decompose(s, (utf8proc_ssize_t)n, points, count, form);
    /* composes and encodes in place */
    utf8proc_ssize_t bytes = utf8proc_reencode(points, count, form);
    lua_pushlstring(L, (const char *)points, (size_t)bytes);
    return 1;
}

static size_t
digits(const char *s)
{
    return strspn(s, "0123456789");
}

/* Copy the digits before the point into `out`, without commas: how many bytes
 * of s they take, 0 if they are no whole number. Commas stand before three
 * digits each, or not at all. */
static size_t
whole_part(const char *s, char *out, size_t *used)
{
    size_t n = digits(s);
    memcpy(out, s, n);
    *used = n;
    if (n == 0 || n > 3)
        return n;
    while (s[n] == ',' && digits(s + n + 1) == 3) {
        memcpy(out + *used, s + n + 1, 3);
        *used += 3;
        n += 4;
    }
    return n;
}

/* number(s): the decimal number that s is, white space aside: 12, -3.5, +.5,
 * 1,234.5, 6e-3; nil for all else. Whole numbers are integers. */
static int
text_number(lua_State *L)
{
    char plain[256];
    size_t n, used, len = 0;
    if (lua_type(L, 1) == LUA_TNUMBER) {
        lua_settop(L, 1);
        return 1;
    }
    const char *s = luaL_checklstring(L, 1, &n), *end = s + n;
    rlf_lua_charge(L, n / 16);
    while (s < end && is_space(*s))
        s++;
    while (end > s && is_space(end[-1]))
        end--;
    if ((size_t)(end - s) > sizeof plain / 2)
        goto none;
    if (*s == '+' || *s == '-')
        plain[len++] = *s++;
    size_t whole = whole_part(s, plain + len, &used), fraction = 0;
    s += whole;
    len += used;
    if (*s == '.') {
        fraction = digits(s + 1);
        memcpy(plain + len, s, fraction + 1);
        len += fraction + 1;
        s += fraction + 1;
    }
    if (whole + fraction == 0)
        goto none;
    if (*s == 'e' || *s == 'E') {
        size_t sign = s[1] == '-' || s[1] == '+',
               exponent = digits(s + 1 + sign);
        if (exponent == 0)
            goto none;
        memcpy(plain + len, s, 1 + sign + exponent);
        len += 1 + sign + exponent;
        s += 1 + sign + exponent;
    }
    plain[len] = 0;
    if (s == end && lua_stringtonumber(L, plain))
        return 1;
none:
    luaL_pushfail(L);
    return 1;
}

static int
text_starts(lua_State *L)
{
    size_t n, n_what;
    const char *s = luaL_checklstring(L, 1, &n);
    const char *what = luaL_checklstring(L, 2, &n_what);
    rlf_lua_charge(L, n_what / 32);
    lua_pushboolean(L, n_what <= n && memcmp(s, what, n_what) == 0);
    return 1;
}

static int
text_ends(lua_State *L)
{
    size_t n, n_what;
    const char *s = luaL_checklstring(L, 1, &n);
    const char *what = luaL_checklstring(L, 2, &n_what);
    rlf_lua_charge(L, n_what / 32);
    lua_pushboolean(L,
                    n_what <= n && memcmp(s + n - n_what, what, n_what) == 0);
    return 1;
}

void
rlf_lua_open_text(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"trim", text_trim},     {"split", text_split},
        {"words", text_words},   {"lower", text_lower},
        {"upper", text_upper},   {"fold", text_fold},
        {"number", text_number}, {"starts", text_starts},
        {"ends", text_ends},     {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
