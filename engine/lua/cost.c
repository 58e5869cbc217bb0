/* The cost of the stock functions: each pays before it runs.
 *
 * A C function is one instruction to Lua, whatever it does. So all of those
 * that stay pay for the texts that they read to the end (8 bytes an
 * instruction), for arguments and results above 16 (one each), and, by the
 * allocator, for the texts that they make. README.md has a row for each
 * function that Lua code can reach; a test walks them. */
#include "engine/lua/internal.h"

#include <string.h>

#define SOME 16 /* arguments and results that an instruction pays for */
#define LONG 64 /* bytes that it does too */

static int
paid(lua_State *L, lua_CFunction stock, unsigned whole)
{
    uint64_t cost = 0;
    int n = lua_gettop(L);
    if (n > SOME)
        cost += (uint64_t)n;
    for (int i = 1; i <= n && (i <= 32 || whole == ~0u); i++) {
        bool read = i <= 32 ? whole >> (i - 1) & 1 : true;
        if (!read || lua_type(L, i) != LUA_TSTRING)
            continue;
        size_t bytes = lua_rawlen(L, i);
        if (bytes > LONG)
            cost += bytes / 8;
    }
    if (cost)
        rlf_lua_charge(L, cost);
    int results = stock(L);
    if (results > SOME)
        rlf_lua_charge(L, (uint64_t)results);
    return results;
}

#define STOCK(library, name, whole)                                        \
    static int library##_##name(lua_State *L)                              \
    {                                                                      \
        return paid(L, rlf_lua_host_of(L)->stock.library##_##name, whole); \
    }
RLF_LUA_STOCK(STOCK)
#undef STOCK

#define EVENT(name)                                               \
    static int text_##name(lua_State *L)                          \
    {                                                             \
        return paid(L, rlf_lua_host_of(L)->stock.text_##name, 3); \
    }
RLF_LUA_ARITHMETIC(EVENT)
#undef EVENT

/* string.format: %s by our tostring, no %p. All texts are read to the end. */
static int
string_format(lua_State *L)
{
    size_t n;
    const char *f = luaL_checklstring(L, 1, &n);
    int top = lua_gettop(L), arg = 1;
    for (const char *end = f + n; f < end; f++) {
        if (*f != '%')
            continue;
        if (++f < end && *f == '%')
            continue;
        f += strspn(f, "-+ #0123456789.");
        if (f >= end)
            break; /* the stock function complains */
        if (++arg <= top && *f == 's') {
            rlf_lua_text(L, arg, NULL);
            lua_replace(L, arg);
        } else if (*f == 'p') {
            return luaL_error(L, "%%p is not there: addresses differ from run "
                                 "to run");
        }
    }
    return paid(L, rlf_lua_host_of(L)->stock.format, ~0u);
}

/* The stock iterators of utf8.codes pass over what continues a character: which
 * may be the whole text. */
static int
codes_next(lua_State *L, lua_CFunction stock)
{
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    lua_Integer at = luaL_checkinteger(L, 2);
    size_t from = at < 0 ? n : (size_t)at, i = from;
    while (i < n && ((unsigned char)s[i] & 0xC0) == 0x80)
        i++;
    if (i > from + 16)
        rlf_lua_charge(L, (i - from) / 8);
    return stock(L);
}

static int
codes_strict(lua_State *L)
{
    return codes_next(L, rlf_lua_host_of(L)->stock.codes_strict);
}

static int
codes_lax(lua_State *L)
{
    return codes_next(L, rlf_lua_host_of(L)->stock.codes_lax);
}

static int
utf8_codes(lua_State *L)
{
    bool lax = lua_toboolean(L, 2);
    int n = rlf_lua_host_of(L)->stock.codes(L);
    lua_pushcfunction(L, lax ? codes_lax : codes_strict);
    lua_replace(L, -n - 1);
    return n;
}

lua_CFunction
rlf_lua_replace(lua_State *L, const char *library, const char *name,
                lua_CFunction ours)
{
    lua_getglobal(L, library);
    lua_getfield(L, -1, name);
    lua_CFunction stock = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (ours && stock)
        lua_pushcfunction(L, ours);
    else
        lua_pushnil(L);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
    return stock;
}

/* The iterator that utf8.codes returns. */
static lua_CFunction
codes_of(lua_State *L, bool lax)
{
    lua_pushcfunction(L, rlf_lua_host_of(L)->stock.codes);
    lua_pushliteral(L, "");
    lua_pushboolean(L, lax);
    lua_call(L, 2, 1);
    lua_CFunction found = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    return found;
}

void
rlf_lua_open_cost(lua_State *L)
{
    rlf_lua_stock *stock = &rlf_lua_host_of(L)->stock;
#define STOCK(library, name, whole) \
    stock->library##_##name =       \
        rlf_lua_replace(L, #library, #name, library##_##name);
    RLF_LUA_STOCK(STOCK)
#undef STOCK
    stock->format = rlf_lua_replace(L, "string", "format", string_format);
    stock->codes = rlf_lua_replace(L, "utf8", "codes", utf8_codes);
    stock->codes_strict = codes_of(L, false);
    stock->codes_lax = codes_of(L, true);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
#define EVENT(name)                              \
    lua_getfield(L, -1, "__" #name);             \
    stock->text_##name = lua_tocfunction(L, -1); \
    lua_pop(L, 1);                               \
    lua_pushcfunction(L, text_##name);           \
    lua_setfield(L, -2, "__" #name);
    RLF_LUA_ARITHMETIC(EVENT)
#undef EVENT
    lua_pop(L, 2);
}
