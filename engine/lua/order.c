/* Order: pairs and table.sort.
 *
 * `pairs` visits numbers ascending, then texts in byte order, then false and
 * true. The keys are listed when the loop begins; one that has lost
 * its value by the time it is reached is passed over. Tables and functions as
 * keys have no order that is the same in every run, so a table that has such a
 * key cannot be walked.
 *
 * `table.sort` is a merge sort, hence stable. The stock one takes the clock to
 * choose a pivot, which shows where elements compare equal. */
#include "engine/lua/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct key {
    int rank; /* number, text, boolean */
    bool integer;
    lua_Integer i; /* also the boolean */
    lua_Number x;
    const char *p;
    size_t n;
    int index; /* in the order met */
} key;

/* An integer and a float that is not integral, exactly (Lua makes integral
 * float keys integers when they fit, so the others are far outside). */
static int
compare_mixed(lua_Integer i, lua_Number x)
{
    if (x >= 9223372036854775808.0)
        return -1;
    if (x < -9223372036854775808.0)
        return 1;
    lua_Integer below = (lua_Integer)x; /* toward zero */
    if (i != below)
        return i < below ? -1 : 1;
    return (lua_Number)below < x ? -1 : 1;
}

static int
compare(const void *left, const void *right)
{
    const key *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == 0) {
        if (a->integer && b->integer)
            return a->i < b->i ? -1 : a->i > b->i;
        if (!a->integer && !b->integer)
            return a->x < b->x ? -1 : a->x > b->x;
        return a->integer ? compare_mixed(a->i, b->x)
                          : -compare_mixed(b->i, a->x);
    }
    if (a->rank == 2)
        return (int)(a->i - b->i);
    int order = memcmp(a->p, b->p, a->n < b->n ? a->n : b->n);
    return order ? order : a->n < b->n ? -1 : a->n > b->n;
}

/* The key at `index`, or false: a mark of our own. */
static bool
read_key(lua_State *L, int index, key *k)
{
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        k->rank = 0;
        k->integer = lua_isinteger(L, index);
        if (k->integer)
            k->i = lua_tointeger(L, index);
        else
            k->x = lua_tonumber(L, index);
        return true;
    case LUA_TSTRING:
        k->rank = 1;
        k->p = lua_tolstring(L, index, &k->n);
        return true;
    case LUA_TBOOLEAN:
        k->rank = 2;
        k->i = lua_toboolean(L, index);
        return true;
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(L, index) == &rlf_lua_key_slot)
            return false;
        /* fall through */
    default:
        rlf_lua_error(L, "give the entries numbers or texts as keys",
                      "a table with a %s as a key has no fixed order",
                      luaL_typename(L, index));
    }
}

size_t
rlf_lua_keys(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    rlf_lua_complete(L, index);
    luaL_checkstack(L, 8, NULL);
    if (!rlf_lua_contents(L, index))
        lua_pushvalue(L, index);
    int table = lua_gettop(L);
    size_t n = 0, bytes = 0;
    bool ascending = true; /* 1, 2, 3...: what lua_next gives for arrays */
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        n++;
        ascending = ascending && lua_isinteger(L, -2) &&
                    lua_tointeger(L, -2) == (lua_Integer)n;
    }
    rlf_lua_check_time(L, 1); /* a table that was emptied is long to walk */
    rlf_lua_charge(L, n);
    lua_createtable(L, (int)n, 0);
    int out = lua_gettop(L);
    if (ascending) {
        for (size_t i = 1; i <= n; i++) {
            lua_pushinteger(L, (lua_Integer)i);
            lua_rawseti(L, out, (lua_Integer)i);
        }
    } else {
        key *keys = lua_newuserdatauv(L, n * sizeof *keys, 0);
        n = 0;
        for (lua_pushnil(L); lua_next(L, table);) {
            lua_pop(L, 1);
            key k = {.index = (int)n};
            if (read_key(L, -1, &k)) {
                lua_pushvalue(L, -1); /* also keeps its text alive */
                keys[n++] = k;
                bytes += k.n;
                lua_rawseti(L, out, (lua_Integer)n);
            }
        }
        rlf_lua_charge(L, 4 * n + bytes / 2);
        qsort(keys, n, sizeof *keys, compare);
        lua_createtable(L, (int)n, 0);
        for (size_t i = 0; i < n; i++) {
            lua_rawgeti(L, out, keys[i].index + 1);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_replace(L, out);
    }
    lua_settop(L, out);
    lua_remove(L, table);
    return n;
}

/* Upvalues: the keys, the number of the last one given. */
static int
pairs_next(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));
    lua_settop(L, 1);
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!rlf_lua_contents(L, 1))
        lua_pushvalue(L, 1);
    for (;;) {
        rlf_lua_charge(L, 1);
        if (lua_rawgeti(L, lua_upvalueindex(1), ++i) == LUA_TNIL) {
            lua_pushinteger(L, i - 1); /* not the same way once more */
            lua_replace(L, lua_upvalueindex(2));
            return 1;
        }
        lua_pushvalue(L, -1);
        if (lua_rawget(L, 2) != LUA_TNIL)
            break;
        lua_pop(L, 2);
    }
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(2));
    return 2;
}

int
rlf_lua_pairs(lua_State *L)
{
    luaL_checkany(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    rlf_lua_keys(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, pairs_next, 2);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

/* Is the element on top less than the one below it? Pops neither. Texts are in
 * byte order, as `<` has them. */
static bool
less(lua_State *L, bool by_function)
{
    rlf_lua_charge(L, 1);
    if (!by_function) {
        if (lua_type(L, -1) != LUA_TSTRING || lua_type(L, -2) != LUA_TSTRING)
            return lua_compare(L, -1, -2, LUA_OPLT);
        size_t n, m;
        const char *a = lua_tolstring(L, -1, &n), *b = lua_tolstring(L, -2, &m);
        size_t both = n < m ? n : m;
        rlf_lua_charge(L, both / 32);
        int order = memcmp(a, b, both);
        return order ? order < 0 : n < m;
    }
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_call(L, 2, 1);
    bool yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

/* Merge from[a..b) and from[b..c) into to[a..c); all tables are raw. */
static void
merge(lua_State *L, int from, int to, const lua_Integer at[3], bool by_function)
{
    lua_Integer i = at[0], j = at[1], k = at[0];
    while (i < at[1] && j < at[2]) {
        lua_rawgeti(L, from, i);
        lua_rawgeti(L, from, j);
        if (less(L, by_function)) {
            lua_rawseti(L, to, k++);
            lua_pop(L, 1);
            j++;
        } else {
            lua_pop(L, 1);
            lua_rawseti(L, to, k++);
            i++;
        }
    }
    for (; i < at[1]; i++) {
        lua_rawgeti(L, from, i);
        lua_rawseti(L, to, k++);
    }
    for (; j < at[2]; j++) {
        lua_rawgeti(L, from, j);
        lua_rawseti(L, to, k++);
    }
}

int
rlf_lua_sort(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    bool by_function = !lua_isnoneornil(L, 2);
    if (by_function)
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_Integer n = luaL_len(L, 1);
    luaL_argcheck(L, n < INT32_MAX, 1, "array too big");
    if (n < 2)
        return 0;
    int from = 3, to = 4;
    rlf_lua_charge(L, (uint64_t)n);
    lua_createtable(L, (int)n, 0);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 1; i <= n; i++) {
        rlf_lua_charge(L, 0); /* the clock: __index may be slow */
        lua_geti(L, 1, i);
        lua_rawseti(L, from, i);
    }
    for (lua_Integer width = 1; width < n; width *= 2) {
        rlf_lua_charge(L, 2 * (uint64_t)n);
        for (lua_Integer a = 1; a <= n; a += 2 * width) {
            lua_Integer b = a + width, c = b + width;
            lua_Integer at[3] = {a, b < n + 1 ? b : n + 1,
                                 c < n + 1 ? c : n + 1};
            merge(L, from, to, at, by_function);
        }
        int other = from;
        from = to;
        to = other;
    }
    for (lua_Integer i = 1; i <= n; i++) {
        rlf_lua_charge(L, 1);
        lua_rawgeti(L, from, i);
        lua_seti(L, 1, i);
    }
    return 0;
}
