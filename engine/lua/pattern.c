/* Lua patterns with a step budget: string.find, match, gmatch and gsub.
 *
 * The semantics are those of the Lua 5.4 manual, section 6.4.1, to the bit; a
 * test holds them against the stock library on many random patterns. What
 * differs: each step of the backtracking matcher is taken from the call's
 * instruction budget, so a pattern that would run for hours ends as an endless
 * loop does. Character classes are those of the C locale. */
#include "engine/lua/internal.h"

#include <limits.h>
#include <string.h>

#define MAX_CAPTURES 32
#define MAX_DEPTH 200
#define FUEL 65536

/* capture lengths that are none */
enum { OPEN = -1, POSITION = -2 };

typedef struct matcher {
    lua_State *L;
    const char *begin, *end; /* the subject */
    const char *stop;        /* end of the pattern */
    int64_t fuel;            /* steps until the budget is looked at */
    int64_t granted;
    int depth;
    int level; /* captures begun */
    struct {
        const char *at;
        ptrdiff_t n;
    } capture[MAX_CAPTURES];
} matcher;

static const char *match(matcher *m, const char *s, const char *p);

/* Fuel is granted in portions, so that a step costs one decrement. */
static void
grant(matcher *m)
{
    rlf_lua_host *host = rlf_lua_host_of(m->L);
    int64_t n = host->left < FUEL ? host->left + 1 : FUEL;
    m->fuel = m->granted = n < 1 ? 1 : n;
}

/* Pays for what was used: before errors, calls into Lua, and at the end. */
static void
settle(matcher *m)
{
    int64_t used = m->granted - m->fuel;
    m->granted = m->fuel;
    if (used > 0)
        rlf_lua_charge(m->L, (uint64_t)used);
}

static inline void
step(matcher *m, size_t n)
{
    m->fuel -= (int64_t)n;
    if (m->fuel <= 0) {
        settle(m);
        rlf_lua_check_time(m->L, 1);
        grant(m);
    }
}

/* A pattern that is wrong: what it cost until here is paid first. */
#define FAIL(m, ...) (settle(m), (void)luaL_error((m)->L, __VA_ARGS__))

static bool
in_range(unsigned char c, char low, char high)
{
    return c >= (unsigned char)low && c <= (unsigned char)high;
}

static bool
is_alpha(unsigned char c)
{
    return in_range(c & 0xdf, 'A', 'Z');
}

static bool
is_digit(unsigned char c)
{
    return in_range(c, '0', '9');
}

/* Is c in the class of letter `name` (%a, %D...)? */
static bool
in_class(unsigned char c, unsigned char name)
{
    bool in;
    switch (name | 32) {
    case 'a':
        in = is_alpha(c);
        break;
    case 'c':
        in = c < 32 || c == 127;
        break;
    case 'd':
        in = is_digit(c);
        break;
    case 'g':
        in = c > 32 && c < 127;
        break;
    case 'l':
        in = in_range(c, 'a', 'z');
        break;
    case 'p':
        in = c > 32 && c < 127 && !is_alpha(c) && !is_digit(c);
        break;
    case 's':
        in = c == ' ' || in_range(c, '\t', '\r');
        break;
    case 'u':
        in = in_range(c, 'A', 'Z');
        break;
    case 'w':
        in = is_alpha(c) || is_digit(c);
        break;
    case 'x':
        in = is_digit(c) || in_range(c & 0xdf, 'A', 'F');
        break;
    case 'z': /* from Lua 5.1, undocumented since */
        in = c == 0;
        break;
    default: /* an escaped character stands for itself */
        return name == c;
    }
    return in != in_range(name, 'A', 'Z');
}

/* Past the single-character class that begins at p. */
static const char *
class_end(matcher *m, const char *p)
{
    char c = *p++;
    if (c == '%') {
        if (p == m->stop)
            FAIL(m, "malformed pattern (ends with '%%')");
        return p + 1;
    }
    if (c != '[')
        return p;
    const char *set = p;
    if (p < m->stop && *p == '^')
        p++;
    do { /* the first character, even ']', is an element */
        if (p == m->stop)
            FAIL(m, "malformed pattern (missing ']')");
        c = *p++;
        if (c == '%' && p < m->stop)
            p++;
    } while (p == m->stop || *p != ']');
    step(m, (size_t)(p - set) / 4);
    return p + 1;
}

/* Is c in the set [p .. last], where *p is '[' and *last is ']'? */
static bool
in_set(unsigned char c, const char *p, const char *last)
{
    bool found = true;
    p++;
    if (*p == '^') {
        found = false;
        p++;
    }
    while (p < last) {
        if (*p == '%') {
            if (in_class(c, (unsigned char)p[1]))
                return found;
            p += 2;
        } else if (p[1] == '-' && p + 2 < last) {
            if (in_range(c, p[0], p[2]))
                return found;
            p += 3;
        } else {
            if ((unsigned char)*p == c)
                return found;
            p++;
        }
    }
    return !found;
}

/* Does the character at s match the single class [p, past)? */
static bool
single(matcher *m, const char *s, const char *p, const char *past)
{
    if (s >= m->end)
        return false;
    unsigned char c = (unsigned char)*s;
    switch (*p) {
    case '.':
        return true;
    case '%':
        return in_class(c, (unsigned char)p[1]);
    case '[':
        step(m, (size_t)(past - p) / 4);
        return in_set(c, p, past - 1);
    default:
        return (unsigned char)*p == c;
    }
}

/* %bxy, p at x. */
static const char *
balanced(matcher *m, const char *s, const char *p)
{
    if (m->stop - p < 2)
        FAIL(m, "malformed pattern (missing arguments to '%%b')");
    if (s >= m->end || *s != p[0])
        return NULL;
    for (size_t open = 1; ++s < m->end;) {
        step(m, 1);
        if (*s == p[1]) {
            if (--open == 0)
                return s + 1;
        } else if (*s == p[0]) {
            open++;
        }
    }
    return NULL;
}

/* class* and class+: as many as there are, then fewer. */
static const char *
greedy(matcher *m, const char *s, const char *p, const char *past)
{
    const char *at = s;
    while (single(m, at, p, past)) {
        step(m, 1);
        at++;
    }
    for (;; at--) {
        const char *e = match(m, at, past + 1);
        if (e || at == s)
            return e;
    }
}

/* class-: as few as will do. */
static const char *
lazy(matcher *m, const char *s, const char *p, const char *past)
{
    for (;; s++) {
        const char *e = match(m, s, past + 1);
        if (e || !single(m, s, p, past))
            return e;
    }
}

static const char *
capture_open(matcher *m, const char *s, const char *p, ptrdiff_t kind)
{
    if (m->level >= MAX_CAPTURES)
        FAIL(m, "too many captures");
    m->capture[m->level].at = s;
    m->capture[m->level].n = kind;
    m->level++;
    const char *e = match(m, s, p);
    if (!e)
        m->level--;
    return e;
}

static const char *
capture_close(matcher *m, const char *s, const char *p)
{
    int i = m->level;
    do {
        if (--i < 0)
            FAIL(m, "invalid pattern capture");
    } while (m->capture[i].n != OPEN);
    m->capture[i].n = s - m->capture[i].at;
    const char *e = match(m, s, p);
    if (!e)
        m->capture[i].n = OPEN;
    return e;
}

/* %1 .. %9: the text of an earlier capture again. */
static const char *
back_reference(matcher *m, const char *s, unsigned char digit)
{
    int i = digit - '1';
    if (i < 0 || i >= m->level || m->capture[i].n == OPEN)
        FAIL(m, "invalid capture index %%%d", i + 1);
    /* a position capture has no text: it never matches */
    if (m->capture[i].n < 0 || m->end - s < m->capture[i].n)
        return NULL;
    size_t n = (size_t)m->capture[i].n;
    step(m, n / 16);
    return memcmp(m->capture[i].at, s, n) == 0 ? s + n : NULL;
}

/* %f[set]: between a character outside and one inside the set; *p is moved past
 * the set. */
static bool
frontier(matcher *m, const char *s, const char **p)
{
    if (*p == m->stop || **p != '[')
        FAIL(m, "missing '[' after '%%f' in pattern");
    const char *past = class_end(m, *p);
    unsigned char before = s == m->begin ? 0 : (unsigned char)s[-1];
    unsigned char here = s == m->end ? 0 : (unsigned char)*s;
    step(m, (size_t)(past - *p) / 4);
    bool yes = !in_set(before, *p, past - 1) && in_set(here, *p, past - 1);
    *p = past;
    return yes;
}

/* One single-character class with its suffix at p. True: go on with *s, *p;
 * false: *result is the outcome. */
static bool
item(matcher *m, const char **s, const char **p, const char **result)
{
    const char *past = class_end(m, *p);
    char suffix = past < m->stop ? *past : 0;
    bool here = single(m, *s, *p, past);
    if (!here && (suffix == '*' || suffix == '?' || suffix == '-')) {
        *p = past + 1;
        return true;
    }
    switch (suffix) {
    case '?':
        if ((*result = match(m, *s + 1, past + 1)))
            return false;
        *p = past + 1;
        return true;
    case '+':
        *result = here ? greedy(m, *s + 1, *p, past) : NULL;
        return false;
    case '*':
        *result = greedy(m, *s, *p, past);
        return false;
    case '-':
        *result = lazy(m, *s, *p, past);
        return false;
    default:
        *result = NULL;
        if (!here)
            return false;
        (*s)++;
        *p = past;
        return true;
    }
}

/* The escapes that are not single characters. 1: go on, 0: *result is the
 * outcome, -1: it is a class. */
static int
escape(matcher *m, const char **s, const char **p, const char **result)
{
    unsigned char name = m->stop - *p > 1 ? (unsigned char)(*p)[1] : 0;
    *result = NULL;
    if (name == 'b') {
        *s = balanced(m, *s, *p + 2);
        *p += 4;
        return *s != NULL;
    }
    if (name == 'f') {
        *p += 2;
        return frontier(m, *s, p);
    }
    if (is_digit(name)) {
        *s = back_reference(m, *s, name);
        *p += 2;
        return *s != NULL;
    }
    return -1;
}

/* Match the pattern from p at s: the end of the match, or NULL. */
static const char *
match(matcher *m, const char *s, const char *p)
{
    const char *result = NULL;
    if (m->depth++ == MAX_DEPTH)
        FAIL(m, "pattern too complex");
    for (;;) {
        step(m, 1);
        if (p == m->stop) {
            result = s;
            break;
        }
        if (*p == '(') {
            bool position = p + 1 < m->stop && p[1] == ')';
            result = position ? capture_open(m, s, p + 2, POSITION)
                              : capture_open(m, s, p + 1, OPEN);
            break;
        }
        if (*p == ')') {
            result = capture_close(m, s, p + 1);
            break;
        }
        if (*p == '$' && p + 1 == m->stop) {
            result = s == m->end ? s : NULL;
            break;
        }
        int go = *p == '%' ? escape(m, &s, &p, &result) : -1;
        if (go < 0)
            go = item(m, &s, &p, &result);
        if (!go)
            break;
    }
    m->depth--;
    return result;
}

static void
matcher_init(matcher *m, lua_State *L, const char *s, size_t n, const char *p,
             size_t n_pattern)
{
    m->L = L;
    m->begin = s;
    m->end = s + n;
    m->stop = p + n_pattern;
    grant(m);
}

static const char *
match_at(matcher *m, const char *s, const char *p)
{
    m->level = 0;
    m->depth = 0;
    return match(m, s, p);
}

/* Push capture i; without captures number 0 is the whole match [s, e). */
static void
push_capture(matcher *m, int i, const char *s, const char *e)
{
    if (i >= m->level) {
        if (i != 0)
            FAIL(m, "invalid capture index %%%d", i + 1);
        lua_pushlstring(m->L, s, (size_t)(e - s));
        return;
    }
    ptrdiff_t n = m->capture[i].n;
    if (n == OPEN)
        FAIL(m, "unfinished capture");
    if (n == POSITION)
        lua_pushinteger(m->L, m->capture[i].at - m->begin + 1);
    else
        lua_pushlstring(m->L, m->capture[i].at, (size_t)n);
}

/* Push all captures; s NULL: none is none. */
static int
push_captures(matcher *m, const char *s, const char *e)
{
    int n = m->level == 0 && s ? 1 : m->level;
    luaL_checkstack(m->L, n, "too many captures");
    for (int i = 0; i < n; i++)
        push_capture(m, i, s, e);
    return n;
}

/* A start argument as an offset from 0: negative ones count from the end. */
static size_t
start_of(lua_Integer at, size_t n)
{
    if (at > 0)
        return (size_t)at - 1;
    if (at == 0 || at < -(lua_Integer)n)
        return 0;
    return n - (size_t)-at;
}

static const char *
find_plain(lua_State *L, const char *s, size_t n, const char *what,
           size_t n_what)
{
    const char *end = s + n;
    if (n_what == 0)
        return s;
    while ((size_t)(end - s) >= n_what) {
        const char *at = memchr(s, what[0], (size_t)(end - s) - n_what + 1);
        rlf_lua_charge(L, (size_t)((at ? at : end) - s) / 32 + 1 + n_what / 32);
        if (!at)
            return NULL;
        if (memcmp(at, what, n_what) == 0)
            return at;
        s = at + 1;
    }
    return NULL;
}

static bool
is_plain(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] && strchr("^$*+?.([%-", p[i]))
            return false;
    return true;
}

static int
find_or_match(lua_State *L, bool find)
{
    size_t n, n_pattern;
    const char *s = luaL_checklstring(L, 1, &n);
    const char *p = luaL_checklstring(L, 2, &n_pattern);
    size_t start = start_of(luaL_optinteger(L, 3, 1), n);
    if (start > n) {
        luaL_pushfail(L);
        return 1;
    }
    rlf_lua_charge(L, n_pattern / 8);
    if (find && (lua_toboolean(L, 4) || is_plain(p, n_pattern))) {
        const char *at = find_plain(L, s + start, n - start, p, n_pattern);
        if (!at) {
            luaL_pushfail(L);
            return 1;
        }
        lua_pushinteger(L, at - s + 1);
        lua_pushinteger(L, at - s + (lua_Integer)n_pattern);
        return 2;
    }
    matcher m;
    bool anchored = n_pattern > 0 && *p == '^';
    matcher_init(&m, L, s, n, p, n_pattern);
    for (const char *at = s + start; at <= m.end; at++) {
        const char *e = match_at(&m, at, p + anchored);
        if (e) {
            settle(&m);
            if (!find)
                return push_captures(&m, at, e);
            lua_pushinteger(L, at - s + 1);
            lua_pushinteger(L, e - s);
            return 2 + push_captures(&m, NULL, NULL);
        }
        if (anchored)
            break;
    }
    settle(&m);
    luaL_pushfail(L);
    return 1;
}

static int
string_find(lua_State *L)
{
    return find_or_match(L, true);
}

static int
string_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* The position of a gmatch; its subject and pattern are upvalues 1 and 2. */
typedef struct cursor {
    size_t at;
    size_t last; /* end of the match before, or SIZE_MAX */
} cursor;

static int
gmatch_next(lua_State *L)
{
    size_t n, n_pattern;
    const char *s = lua_tolstring(L, lua_upvalueindex(1), &n);
    const char *p = lua_tolstring(L, lua_upvalueindex(2), &n_pattern);
    cursor *c = lua_touserdata(L, lua_upvalueindex(3));
    matcher m;
    matcher_init(&m, L, s, n, p, n_pattern);
    for (; c->at <= n; c->at++) {
        const char *at = s + c->at, *e = match_at(&m, at, p);
        if (e && (size_t)(e - s) != c->last) {
            c->at = c->last = (size_t)(e - s);
            settle(&m);
            return push_captures(&m, at, e);
        }
    }
    settle(&m);
    return 0;
}

static int
string_gmatch(lua_State *L)
{
    size_t n;
    luaL_checklstring(L, 1, &n);
    luaL_checkstring(L, 2);
    size_t start = start_of(luaL_optinteger(L, 3, 1), n);
    lua_settop(L, 2);
    cursor *c = lua_newuserdatauv(L, sizeof *c, 0);
    c->at = start > n ? n + 1 : start;
    c->last = SIZE_MAX;
    lua_pushcclosure(L, gmatch_next, 3);
    return 1;
}

/* Add the replacement text with its % escapes. */
static void
add_text(matcher *m, rlf_lua_bytes *out, const char *s, const char *e)
{
    size_t n;
    const char *r = lua_tolstring(m->L, 3, &n);
    const char *stop = r + n;
    for (const char *mark; (mark = memchr(r, '%', (size_t)(stop - r)));
         r = mark + 2) {
        step(m, 1 + (size_t)(mark - r) / 32);
        rlf_lua_bytes_add(out, r, (size_t)(mark - r));
        char c = mark + 1 < stop ? mark[1] : 0;
        if (c == '%') {
            rlf_lua_bytes_add(out, "%", 1);
        } else if (c == '0') {
            rlf_lua_bytes_add(out, s, (size_t)(e - s));
        } else if (is_digit((unsigned char)c)) {
            size_t n_text;
            push_capture(m, c - '1', s, e);
            const char *text = lua_tolstring(m->L, -1, &n_text);
            rlf_lua_bytes_add(out, text, n_text);
            lua_pop(m->L, 1);
        } else {
            FAIL(m, "invalid use of '%%' in replacement string");
        }
    }
    step(m, (size_t)(stop - r) / 32);
    rlf_lua_bytes_add(out, r, (size_t)(stop - r));
}

/* Add what replaces the match [s, e). */
static void
add_value(matcher *m, rlf_lua_bytes *out, const char *s, const char *e,
          int kind)
{
    lua_State *L = m->L;
    switch (kind) {
    case LUA_TFUNCTION:
        settle(m);
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, e), 1);
        grant(m);
        break;
    case LUA_TTABLE:
        settle(m);
        push_capture(m, 0, s, e);
        lua_gettable(L, 3);
        grant(m);
        break;
    default:
        add_text(m, out, s, e);
        return;
    }
    if (!lua_toboolean(L, -1)) { /* keeps the text */
        rlf_lua_bytes_add(out, s, (size_t)(e - s));
    } else {
        size_t n;
        if (!lua_isstring(L, -1))
            luaL_error(L, "invalid replacement value (a %s)",
                       luaL_typename(L, -1));
        const char *text = lua_tolstring(L, -1, &n);
        rlf_lua_bytes_add(out, text, n);
    }
    lua_pop(L, 1);
}

static int
string_gsub(lua_State *L)
{
    size_t n, n_pattern;
    const char *s = luaL_checklstring(L, 1, &n);
    const char *p = luaL_checklstring(L, 2, &n_pattern);
    int kind = lua_type(L, 3);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)n + 1);
    luaL_argexpected(L,
                     kind == LUA_TNUMBER || kind == LUA_TSTRING ||
                         kind == LUA_TFUNCTION || kind == LUA_TTABLE,
                     3, "string/function/table");
    bool anchored = n_pattern > 0 && *p == '^';
    matcher m;
    rlf_lua_bytes out;
    lua_settop(L, 3);
    if (kind == LUA_TNUMBER)
        lua_tostring(L, 3);
    rlf_lua_bytes_init(L, &out);
    matcher_init(&m, L, s, n, p, n_pattern);
    const char *last = NULL; /* end of the match before */
    lua_Integer count = 0;
    while (count < most) {
        const char *e = match_at(&m, s, p + anchored);
        if (e && e != last) {
            count++;
            add_value(&m, &out, s, e, kind);
            s = last = e;
        } else if (s < m.end) {
            rlf_lua_bytes_add(&out, s++, 1);
        } else {
            break;
        }
        if (anchored)
            break;
    }
    settle(&m);
    rlf_lua_bytes_add(&out, s, (size_t)(m.end - s));
    if (count)
        rlf_lua_bytes_push(&out);
    else
        lua_pushvalue(L, 1);
    lua_pushinteger(L, count);
    return 2;
}

void
rlf_lua_open_pattern(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"find", string_find},
        {"match", string_match},
        {"gmatch", string_gmatch},
        {"gsub", string_gsub},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
}
