/* rlf.regex(pattern, flags): Perl-compatible regular expressions by PCRE2.
 *
 *     local re = rlf.regex([[\\boxed\{([^{}]*)\}]])
 *     local first, last, answer = re:find(text, start)
 *     local answer = re:match(text)
 *     for answer in re:gmatch(text) do ... end
 *
 * Without captures match and gmatch give the whole match; a group that took no
 * part gives false. Flags: i (letter case), m (^ and $ at lines), s (. matches
 * newlines), x (spaces and comments). Patterns and subjects are UTF-8; other
 * subjects raise an error. A callout before each item of the pattern takes from
 * the instruction budget, so that backtracking ends as it does for Lua's own
 * patterns; there is no just-in-time compiler, whose limits are not counts. */
#include "engine/lua/internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

typedef struct regex {
    pcre2_code *code;
} regex;

static regex *
regex_at(lua_State *L, int index)
{
    return luaL_checkudata(L, index, "regex");
}

/* PCRE2's memory counts as Lua's does: the size stands before each block. */
static void *
take(size_t n, void *arg)
{
    rlf_lua_host *host = arg;
    size_t all = n + 16;
    if (host->live + all > host->program->memory)
        return NULL;
    size_t *p = malloc(all);
    if (!p)
        return NULL;
    *p = all;
    host->live += all;
    return p + 2;
}

static void
give(void *p, void *arg)
{
    rlf_lua_host *host = arg;
    if (!p)
        return;
    size_t *block = (size_t *)p - 2;
    host->live -= *block;
    free(block);
}

static int
regex_free(lua_State *L)
{
    regex *r = regex_at(L, 1);
    pcre2_code_free(r->code);
    r->code = NULL;
    return 0;
}

/* Called before each item: one instruction. */
static int
callout(pcre2_callout_block *block, void *arg)
{
    (void)block;
    rlf_lua_host *host = arg;
    return --host->left < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

static uint32_t
flags_of(lua_State *L, int index)
{
    uint32_t flags = 0;
    for (const char *f = luaL_optstring(L, index, ""); *f; f++) {
        static const struct {
            char letter;
            uint32_t flag;
        } known[] = {{'i', PCRE2_CASELESS},
                     {'m', PCRE2_MULTILINE},
                     {'s', PCRE2_DOTALL},
                     {'x', PCRE2_EXTENDED}};
        size_t k = 0;
        while (k < sizeof known / sizeof *known && known[k].letter != *f)
            k++;
        if (k == sizeof known / sizeof *known)
            luaL_error(L, "regex: unknown flag '%s' (there are i, m, s, x)", f);
        flags |= known[k].flag;
    }
    return flags;
}

static pcre2_code *
compile(lua_State *L, const char *pattern, size_t n, uint32_t flags, int *code,
        size_t *at)
{
    pcre2_compile_context *context =
        pcre2_compile_context_create(rlf_lua_host_of(L)->regex);
    *code = PCRE2_ERROR_NOMEMORY;
    if (!context)
        return NULL;
    pcre2_code *out =
        pcre2_compile((PCRE2_SPTR)pattern, n, flags, code, at, context);
    pcre2_compile_context_free(context);
    return out;
}

static bool
is_memory(int code)
{
    return code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAPLIMIT ||
           code == PCRE2_ERROR_HEAP_FAILED;
}

static int
regex_new(lua_State *L)
{
    size_t n, at = 0;
    const char *pattern = luaL_checklstring(L, 1, &n);
    uint32_t flags = flags_of(L, 2) | PCRE2_UTF | PCRE2_AUTO_CALLOUT |
                     PCRE2_NEVER_BACKSLASH_C;
    int code;
    luaL_argcheck(L, n <= 65536, 1, "regex: pattern is too long");
    rlf_lua_charge(L, 100 + 10 * n);
    regex *r = lua_newuserdatauv(L, sizeof *r, 0);
    r->code = NULL;
    luaL_setmetatable(L, "regex");
    r->code = compile(L, pattern, n, flags, &code, &at);
    if (!r->code && is_memory(code)) { /* what is garbage may be enough */
        lua_gc(L, LUA_GCCOLLECT);
        r->code = compile(L, pattern, n, flags, &code, &at);
    }
    if (r->code)
        return 1;
    if (is_memory(code))
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    char text[128];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
    return luaL_error(L, "regex: %s at character %d of the pattern", text,
                      (int)at + 1);
}

/* A match in progress: released when its results are pushed, or, if an error
 * is raised in between, by the finalizer of its userdata. */
typedef struct matching {
    pcre2_match_data *data;
    pcre2_match_context *context;
} matching;

static void
release(matching *m)
{
    pcre2_match_data_free(m->data);
    pcre2_match_context_free(m->context);
    *m = (matching){0};
}

static int
matching_free(lua_State *L)
{
    release(luaL_checkudata(L, 1, "regex.match"));
    return 0;
}

/* Pushes a userdata. */
static matching *
matching_new(lua_State *L)
{
    matching *m = lua_newuserdatauv(L, sizeof *m, 0);
    *m = (matching){0};
    luaL_setmetatable(L, "regex.match");
    return m;
}

/* One attempt: pairs, or PCRE2's code. */
static int
attempt(lua_State *L, const regex *r, matching *m, const char *s, size_t n,
        size_t start, uint32_t options)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    release(m);
    m->data = pcre2_match_data_create_from_pattern(r->code, host->regex);
    m->context = pcre2_match_context_create(host->regex);
    if (!m->data || !m->context)
        return PCRE2_ERROR_NOMEMORY;
    pcre2_set_callout(m->context, callout, host);
    pcre2_set_match_limit(m->context, UINT32_MAX);
    pcre2_set_depth_limit(m->context, UINT32_MAX);
    pcre2_set_heap_limit(m->context, UINT32_MAX); /* take() is the limit */
    return pcre2_match(r->code, (PCRE2_SPTR)s, n, start, options, m->data,
                       m->context);
}

/* Match from byte `start`: number of pairs, 0 for no match. */
static int
run(lua_State *L, const regex *r, matching *m, const char *s, size_t n,
    size_t start, uint32_t options)
{
    rlf_lua_charge(L, 8 + (n - start) / 16);
    int code = attempt(L, r, m, s, n, start, options);
    if (is_memory(code)) {
        lua_gc(L, LUA_GCCOLLECT);
        code = attempt(L, r, m, s, n, start, options);
    }
    if (code == PCRE2_ERROR_NOMATCH)
        return 0;
    if (code == PCRE2_ERROR_MATCHLIMIT)
        rlf_lua_charge(L, 1); /* raises: the budget is below zero */
    if (is_memory(code))
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    if (code < 0) {
        char text[128];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        luaL_error(L, "regex: %s", text);
    }
    uint32_t all;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &all);
    return (int)all + 1;
}

/* Push the captures; without any the whole match, if `whole`. */
static int
push_captures(lua_State *L, matching *m, const char *s, int pairs, bool whole)
{
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    int first = pairs == 1 && whole ? 0 : 1;
    luaL_checkstack(L, pairs + 2, "too many captures");
    for (int i = first; i < pairs; i++) {
        if (at[2 * i] == PCRE2_UNSET)
            lua_pushboolean(L, 0);
        else
            lua_pushlstring(L, s + at[2 * i], at[2 * i + 1] - at[2 * i]);
    }
    release(m);
    return pairs - first;
}

static int
find_or_match(lua_State *L, bool positions)
{
    const regex *r = regex_at(L, 1);
    size_t n;
    const char *s = luaL_checklstring(L, 2, &n);
    lua_Integer start = luaL_optinteger(L, 3, 1);
    if (start < 0)
        start = start < -(lua_Integer)n ? 1 : (lua_Integer)n + start + 1;
    start = start < 1 ? 1 : start;
    if (start > (lua_Integer)n + 1) {
        luaL_pushfail(L);
        return 1;
    }
    matching *m = matching_new(L);
    int pairs = run(L, r, m, s, n, (size_t)start - 1, 0);
    if (pairs == 0) {
        release(m);
        luaL_pushfail(L);
        return 1;
    }
    if (!positions)
        return push_captures(L, m, s, pairs, true);
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    lua_pushinteger(L, (lua_Integer)at[0] + 1);
    lua_pushinteger(L, (lua_Integer)at[1]);
    return 2 + push_captures(L, m, s, pairs, false);
}

static int
regex_find(lua_State *L)
{
    return find_or_match(L, true);
}

static int
regex_match(lua_State *L)
{
    return find_or_match(L, false);
}

/* Upvalues: regex, subject, where to go on (from 0), whether the last match was
 * empty there. */
static int
gmatch_next(lua_State *L)
{
    const regex *r = lua_touserdata(L, lua_upvalueindex(1));
    size_t n;
    const char *s = lua_tolstring(L, lua_upvalueindex(2), &n);
    size_t start = (size_t)lua_tointeger(L, lua_upvalueindex(3));
    bool empty = lua_toboolean(L, lua_upvalueindex(4));
    matching *m = matching_new(L);
    int pairs = 0;
    if (start <= n && empty) {
        /* not the same nothing again: something here, or further on */
        pairs =
            run(L, r, m, s, n, start, PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED);
        if (pairs == 0)
            do
                start++;
            while (start < n && ((unsigned char)s[start] & 0xC0) == 0x80);
    }
    if (start <= n && pairs == 0)
        pairs = run(L, r, m, s, n, start, 0);
    if (pairs == 0) {
        release(m);
        lua_pushinteger(L, (lua_Integer)n + 1);
        lua_replace(L, lua_upvalueindex(3));
        return 0;
    }
    const PCRE2_SIZE *at = pcre2_get_ovector_pointer(m->data);
    lua_pushinteger(L, (lua_Integer)at[1]);
    lua_replace(L, lua_upvalueindex(3));
    lua_pushboolean(L, at[0] == at[1]);
    lua_replace(L, lua_upvalueindex(4));
    return push_captures(L, m, s, pairs, true);
}

static int
regex_gmatch(lua_State *L)
{
    regex_at(L, 1);
    luaL_checkstring(L, 2);
    lua_settop(L, 2);
    lua_pushinteger(L, 0);
    lua_pushboolean(L, 0);
    lua_pushcclosure(L, gmatch_next, 4);
    return 1;
}

void
rlf_lua_open_regex(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"find", regex_find},
        {"match", regex_match},
        {"gmatch", regex_gmatch},
        {NULL, NULL},
    };
    rlf_lua_host *host = rlf_lua_host_of(L);
    host->regex = pcre2_general_context_create(take, give, host);
    if (!host->regex)
        luaL_error(L, "regex: no memory");
    luaL_newmetatable(L, "regex");
    lua_pushcfunction(L, regex_free);
    lua_setfield(L, -2, "__gc");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    luaL_newlib(L, methods);
    rlf_lua_freeze(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newmetatable(L, "regex.match");
    lua_pushcfunction(L, matching_free);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_pushcfunction(L, regex_new);
    lua_setfield(L, -2, "regex");
}

void
rlf_lua_close_regex(rlf_lua_host *host)
{
    pcre2_general_context_free(host->regex);
    host->regex = NULL;
}
