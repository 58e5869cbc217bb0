/* table.concat, insert, move, remove, unpack and string.rep, each paying as it
 * goes.
 *
 * The stock ones loop in C over a range that a lying __len or an argument
 * sets, and every element may be read by a metamethod that is a C function: no
 * instruction passes, however long that takes. Results and messages are those
 * of the manual, section 6.6. */
#include "engine/lua/internal.h"

#include <limits.h>
#include <string.h>

#define MOST_RESULTS 1000000 /* Lua's stack has room for no more */

/* A table, or what has the metamethods of one. */
static void
check_table(lua_State *L, int index, const char *const *metas)
{
    if (lua_istable(L, index))
        return;
    for (; *metas; metas++) {
        if (luaL_getmetafield(L, index, *metas) == LUA_TNIL)
            luaL_checktype(L, index, LUA_TTABLE);
        lua_pop(L, 1);
    }
}

static const char *const reads[] = {"__index", "__len", NULL};
static const char *const writes[] = {"__index", "__newindex", "__len", NULL};

/* t[to] = t[from]: pays for one element */
static void
copy(lua_State *L, int t, lua_Integer from, int into, lua_Integer to)
{
    rlf_lua_charge(L, 1);
    lua_geti(L, t, from);
    lua_seti(L, into, to);
}

static int
array_insert(lua_State *L)
{
    check_table(L, 1, writes);
    lua_Integer end = (lua_Integer)((lua_Unsigned)luaL_len(L, 1) + 1), at;
    switch (lua_gettop(L)) {
    case 2:
        at = end;
        break;
    case 3:
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)at - 1u < (lua_Unsigned)end, 2,
                      "position out of bounds");
        for (lua_Integer i = end; i > at; i--)
            copy(L, 1, i - 1, 1, i);
        break;
    default:
        return luaL_error(L, "wrong number of arguments to 'insert'");
    }
    lua_seti(L, 1, at);
    return 0;
}

static int
array_remove(lua_State *L)
{
    check_table(L, 1, writes);
    lua_Integer n = luaL_len(L, 1), at = luaL_optinteger(L, 2, n);
    if (at != n)
        luaL_argcheck(
            L, (lua_Unsigned)n + 1u - (lua_Unsigned)at <= (lua_Unsigned)n, 2,
            "position out of bounds");
    lua_settop(L, 1);
    if (n == 0 && rlf_lua_is_array(L, 1)) /* whose element 0 is an error */
        lua_rawgeti(L, 1, at);
    else
        lua_geti(L, 1, at);
    for (; at < n; at++)
        copy(L, 1, at + 1, 1, at);
    lua_pushnil(L);
    lua_seti(L, 1, at);
    return 1;
}

static int
array_move(lua_State *L)
{
    static const char *const index[] = {"__index", NULL};
    static const char *const newindex[] = {"__newindex", NULL};
    lua_Integer from = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3),
                to = luaL_checkinteger(L, 4);
    int into = lua_isnoneornil(L, 5) ? 1 : 5;
    check_table(L, 1, index);
    check_table(L, into, newindex);
    if (last >= from) {
        luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3,
                      "too many elements to move");
        lua_Integer n = last - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4,
                      "destination wrap around");
        bool up = to > last || to <= from ||
                  (into != 1 && !lua_compare(L, 1, into, LUA_OPEQ));
        for (lua_Integer i = 0; i < n; i++) {
            lua_Integer k = up ? i : n - 1 - i;
            copy(L, 1, from + k, into, to + k);
        }
    }
    lua_pushvalue(L, into);
    return 1;
}

static int
array_unpack(lua_State *L)
{
    lua_Integer from = luaL_optinteger(L, 2, 1);
    lua_Integer last = luaL_opt(L, luaL_checkinteger, 3, luaL_len(L, 1));
    if (from > last)
        return 0;
    lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)from;
    if (n >= MOST_RESULTS)
        return luaL_error(L, "too many results to unpack");
    rlf_lua_charge(L, n + 1);
    if (!lua_checkstack(L, (int)n + 1))
        return luaL_error(L, "too many results to unpack");
    for (lua_Unsigned i = 0; i <= n; i++) {
        rlf_lua_charge(L, 0); /* the clock */
        lua_geti(L, 1, (lua_Integer)((lua_Unsigned)from + i));
    }
    return (int)n + 1;
}

static int
array_concat(lua_State *L)
{
    check_table(L, 1, reads);
    lua_Integer last = luaL_len(L, 1);
    size_t n_between, n;
    const char *between = luaL_optlstring(L, 2, "", &n_between);
    lua_Integer i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    rlf_lua_bytes out;
    lua_settop(L, 4);
    rlf_lua_bytes_init(L, &out);
    for (bool more = i <= last; more;) {
        rlf_lua_charge(L, 1 + n_between / 32);
        lua_geti(L, 1, i);
        const char *text =
            lua_isstring(L, -1) ? lua_tolstring(L, -1, &n) : NULL;
        if (!text)
            return luaL_error(
                L, "invalid value (at index %I) in table for 'concat'",
                (LUAI_UACINT)i);
        rlf_lua_charge(L, n / 32);
        rlf_lua_bytes_add(&out, text, n);
        lua_pop(L, 1);
        more = i < last;
        if (more) {
            rlf_lua_bytes_add(&out, between, n_between);
            i++;
        }
    }
    rlf_lua_bytes_push(&out);
    return 1;
}

static int
string_rep(lua_State *L)
{
    size_t n, n_between;
    const char *s = luaL_checklstring(L, 1, &n);
    lua_Integer count = luaL_checkinteger(L, 2);
    const char *between = luaL_optlstring(L, 3, "", &n_between);
    if (count <= 0 || n + n_between == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (n + n_between > (size_t)INT64_MAX / (size_t)count)
        return luaL_error(L, "resulting string too large");
    size_t all = (size_t)count * n + (size_t)(count - 1) * n_between;
    char *to = lua_newuserdatauv(L, all, 0), *p = to;
    rlf_lua_charge(L, (uint64_t)count / 4);
    for (lua_Integer i = 0; i < count; i++) {
        memcpy(p, s, n);
        p += n;
        if (i + 1 < count)
            memcpy(p, between, n_between);
        p += n_between;
    }
    lua_pushlstring(L, to, all);
    return 1;
}

void
rlf_lua_open_array(lua_State *L)
{
    rlf_lua_replace(L, "table", "concat", array_concat);
    rlf_lua_replace(L, "table", "insert", array_insert);
    rlf_lua_replace(L, "table", "move", array_move);
    rlf_lua_replace(L, "table", "remove", array_remove);
    rlf_lua_replace(L, "table", "unpack", array_unpack);
    rlf_lua_replace(L, "string", "rep", string_rep);
}
