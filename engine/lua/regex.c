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
 * patterns; there is no just-in-time compiler, whose limits are not counts.
 *
 * Nothing here has a finalizer: what a finished expression needs lies in its
 * userdata, what a match needs is given back before anything can raise. */
#include "engine/lua/internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

typedef struct regex {
    size_t once;      /* characters that an item may pass over and then fail */
    bool back;        /* it has back references */
    pcre2_code *code; /* behind this */
} regex;

/* The code's place: as malloc aligns it. */
#define CODE_OFFSET ((sizeof(regex) + 15) / 16 * 16)

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
    if (host->regex_room) { /* for the copy of a finished expression */
        void *room = host->regex_room;
        host->regex_room = NULL;
        return room;
    }
    if (host->live + all > host->program->memory) {
        host->met_limit = true;
        host->starved = false;
        return NULL;
    }
    size_t *p = malloc(all);
    host->starved = !p;
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

/* The work of the matcher since its last callout. */
typedef struct progress {
    rlf_lua_host *host;
    const regex *r;
    size_t at;
    rlf_lua_spent spent;
} progress;

/* Called before each item: one instruction, and what the item before it may
 * have passed over. A repeated character passes over many without a callout,
 * and a back reference compares as much as its group holds. */
static int
callout(pcre2_callout_block *block, void *arg)
{
    progress *p = arg;
    size_t at = block->current_position, longest = 0;
    size_t moved = at > p->at ? at - p->at : 0;
    p->at = at;
    for (uint32_t i = 1; p->r->back && i < block->capture_top; i++) {
        const PCRE2_SIZE *pair = block->offset_vector + (size_t)2 * i;
        if (pair[0] != PCRE2_UNSET && pair[1] > pair[0] + longest)
            longest = pair[1] - pair[0];
    }
    p->spent =
        rlf_lua_pay(p->host, 1 + moved / 16 + p->r->once / 16 + longest / 32);
    return p->spent == RLF_LUA_SPENT_NONE ? 0 : PCRE2_ERROR_CALLOUT;
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

/* The largest number of a {n} or {n,m} in the pattern, which is how far one
 * item can come before it fails. */
static size_t
largest_count(const char *p, size_t n)
{
    size_t most = 0;
    for (const char *end = p + n; p < end; p++) {
        size_t count = 0;
        if (*p != '{')
            continue;
        while (p + 1 < end && p[1] >= '0' && p[1] <= '9' && count < 65536)
            count = 10 * count + (size_t)(*++p - '0');
        most = count > most ? count : most;
    }
    return most;
}

/* A userdata of so many bytes. */
static int
new_regex(lua_State *L)
{
    lua_newuserdatauv(L, (size_t)lua_tointeger(L, 1), 0);
    luaL_setmetatable(L, "regex");
    return 1;
}

/* Pushes a userdata with the expression in it. */
static void
keep(lua_State *L, pcre2_code *code, const char *pattern, size_t n)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    size_t size = 0;
    uint32_t back = 0;
    pcre2_pattern_info(code, PCRE2_INFO_SIZE, &size);
    pcre2_pattern_info(code, PCRE2_INFO_BACKREFMAX, &back);
    lua_pushcfunction(L, new_regex);
    lua_pushinteger(L, (lua_Integer)(CODE_OFFSET + size));
    int status = lua_pcall(L, 1, 1, 0);
    if (status != LUA_OK) {
        pcre2_code_free(code);
        rlf_lua_caught(L, status);
        lua_error(L);
    }
    regex *r = lua_touserdata(L, -1);
    host->regex_room = (char *)r + CODE_OFFSET;
    r->code = pcre2_code_copy(code);
    r->once = largest_count(pattern, n);
    r->back = back > 0;
    pcre2_code_free(code);
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
    pcre2_code *compiled = compile(L, pattern, n, flags, &code, &at);
    if (!compiled && is_memory(code)) { /* what is garbage may be enough */
        lua_gc(L, LUA_GCCOLLECT);
        compiled = compile(L, pattern, n, flags, &code, &at);
    }
    if (compiled) {
        keep(L, compiled, pattern, n);
        return 1;
    }
    if (is_memory(code))
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    char text[128];
    pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
    return luaL_error(L, "regex: %s at character %d of the pattern", text,
                      (int)at + 1);
}

/* The memory of one match. */
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

/* One attempt: PCRE2's code. Raises nothing; the pairs go to `at`. */
static int
attempt(lua_State *L, const regex *r, const char *s, size_t n, size_t start,
        uint32_t options, PCRE2_SIZE *at, int pairs, rlf_lua_spent *spent)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    progress p = {host, r, start, RLF_LUA_SPENT_NONE};
    matching m = {pcre2_match_data_create_from_pattern(r->code, host->regex),
                  pcre2_match_context_create(host->regex)};
    int code = PCRE2_ERROR_NOMEMORY;
    if (m.data && m.context) {
        pcre2_set_callout(m.context, callout, &p);
        pcre2_set_match_limit(m.context, UINT32_MAX);
        pcre2_set_depth_limit(m.context, UINT32_MAX);
        pcre2_set_heap_limit(m.context, UINT32_MAX); /* take() is the limit */
        code = pcre2_match(r->code, (PCRE2_SPTR)s, n, start, options, m.data,
                           m.context);
    }
    if (code > 0)
        memcpy(at, pcre2_get_ovector_pointer(m.data),
               2 * (size_t)pairs * sizeof *at);
    release(&m);
    *spent = p.spent;
    return code;
}

/* Match from byte `start`: where its pairs are, in a userdata that is pushed
 * and must stay, or NULL for no match. */
static const PCRE2_SIZE *
run(lua_State *L, const regex *r, const char *s, size_t n, size_t start,
    uint32_t options, int *pairs)
{
    uint32_t all;
    rlf_lua_spent spent;
    rlf_lua_charge(L, 8 + (n - start) / 16);
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &all);
    *pairs = (int)all + 1;
    rlf_lua_charge(L, all / 4);
    PCRE2_SIZE *at =
        lua_newuserdatauv(L, 2 * ((size_t)all + 1) * sizeof *at, 0);
    int code = attempt(L, r, s, n, start, options, at, *pairs, &spent);
    if (is_memory(code)) {
        lua_gc(L, LUA_GCCOLLECT);
        code = attempt(L, r, s, n, start, options, at, *pairs, &spent);
    }
    if (code == PCRE2_ERROR_NOMATCH)
        return NULL;
    if (spent != RLF_LUA_SPENT_NONE)
        rlf_lua_stop(L, spent, 1);
    if (is_memory(code))
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    if (code < 0) {
        char text[128];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        luaL_error(L, "regex: %s", text);
    }
    return at;
}

/* Push the captures; without any the whole match, if `whole`. */
static int
push_captures(lua_State *L, const PCRE2_SIZE *at, const char *s, int pairs,
              bool whole)
{
    int first = pairs == 1 && whole ? 0 : 1;
    luaL_checkstack(L, pairs + 2, "too many captures");
    for (int i = first; i < pairs; i++) {
        if (at[2 * i] == PCRE2_UNSET)
            lua_pushboolean(L, 0);
        else
            lua_pushlstring(L, s + at[2 * i], at[2 * i + 1] - at[2 * i]);
    }
    return pairs - first;
}

static int
find_or_match(lua_State *L, bool positions)
{
    const regex *r = regex_at(L, 1);
    size_t n;
    int pairs;
    const char *s = luaL_checklstring(L, 2, &n);
    lua_Integer start = luaL_optinteger(L, 3, 1);
    if (start < 0)
        start = start < -(lua_Integer)n ? 1 : (lua_Integer)n + start + 1;
    start = start < 1 ? 1 : start;
    if (start > (lua_Integer)n + 1) {
        luaL_pushfail(L);
        return 1;
    }
    const PCRE2_SIZE *at = run(L, r, s, n, (size_t)start - 1, 0, &pairs);
    if (!at) {
        luaL_pushfail(L);
        return 1;
    }
    if (!positions)
        return push_captures(L, at, s, pairs, true);
    lua_pushinteger(L, (lua_Integer)at[0] + 1);
    lua_pushinteger(L, (lua_Integer)at[1]);
    return 2 + push_captures(L, at, s, pairs, false);
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
    int pairs;
    const PCRE2_SIZE *at = NULL;
    if (start <= n && empty) {
        /* not the same nothing again: something here, or further on */
        at = run(L, r, s, n, start, PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED,
                 &pairs);
        if (!at)
            do
                start++;
            while (start < n && ((unsigned char)s[start] & 0xC0) == 0x80);
    }
    if (start <= n && !at)
        at = run(L, r, s, n, start, 0, &pairs);
    if (!at) {
        lua_pushinteger(L, (lua_Integer)n + 1);
        lua_replace(L, lua_upvalueindex(3));
        return 0;
    }
    lua_pushinteger(L, (lua_Integer)at[1]);
    lua_replace(L, lua_upvalueindex(3));
    lua_pushboolean(L, at[0] == at[1]);
    lua_replace(L, lua_upvalueindex(4));
    return push_captures(L, at, s, pairs, true);
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
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    luaL_newmetatable(L, "regex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    luaL_newlib(L, methods);
    rlf_lua_freeze(L, -1);
    lua_setfield(L, -2, "__index");
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
