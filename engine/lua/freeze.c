/* Nothing is kept between calls.
 *
 * After loading, every table that the file's functions can reach is frozen in
 * place: its contents move to a hidden table, and a metatable makes reads go
 * there (in Lua's own code, no function is called) and writes fail. The table
 * keeps its identity. File-level variables that functions share (upvalues)
 * cannot be made read-only; their values are noted and compared after each
 * call, which costs some nanoseconds for each. What holds state of another kind
 * (coroutines, iterators) may not be kept at file level.
 *
 * The metatable of a frozen table has two marks: at &rlf_lua_key_frozen the
 * hidden table, at &rlf_lua_key_meta the metatable that the user sees. */
#include "engine/lua/internal.h"

#include "engine/base/arena.h"
#include "engine/base/vec.h"

#include <string.h>

#define KEEP_NOTHING                                                     \
    "nothing is kept from one call to the next: use a local inside the " \
    "function"

#define KEEP_LIBRARY                                                           \
    "tables of the library cannot be changed, in the file or in a call: keep " \
    "what is yours in a local or in a table of your own"

static const char *const libraries[] = {"string", "table",     "math",
                                        "utf8",   "coroutine", "rlf"};

/* Lua names functions in its messages by looking into its own table of
 * libraries, which therefore gets the contents, while `require` has a table of
 * ours. */
void
rlf_lua_freeze_libraries(lua_State *L)
{
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_createtable(L, 0, 8);
    for (size_t i = 0; i < RLF_COUNT(libraries); i++) {
        lua_getglobal(L, libraries[i]);
        rlf_lua_freeze(L, -1);
        rlf_lua_contents(L, -1);
        lua_setfield(L, -4, libraries[i]);
        lua_setfield(L, -2, libraries[i]);
    }
    lua_rawsetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_modules);
    lua_pop(L, 1);
}

/* The name of the library whose table is at `index`, or NULL. */
static const char *
library_of(lua_State *L, int index)
{
    const char *name = NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_modules);
    for (size_t i = 0; i < RLF_COUNT(libraries) && !name; i++) {
        lua_getfield(L, -1, libraries[i]);
        if (lua_rawequal(L, -1, index))
            name = libraries[i];
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return name;
}

void
rlf_lua_refuse_change(lua_State *L, const char *what)
{
    const char *library = library_of(L, 1);
    if (library)
        rlf_lua_error(L, KEEP_LIBRARY, "%s '%s', a table of the library", what,
                      library);
    rlf_lua_error(L, KEEP_NOTHING, "%s a table that was made at file level",
                  what);
}

bool
rlf_lua_contents(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    if (lua_rawgetp(L, -1, &rlf_lua_key_frozen) == LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    lua_remove(L, -2);
    return true;
}

static int
refuse_write(lua_State *L)
{
    lua_pushglobaltable(L);
    bool global = lua_rawequal(L, 1, -1);
    if (lua_type(L, 2) != LUA_TSTRING)
        rlf_lua_refuse_change(L, "assignment to an element of");
    if (global)
        rlf_lua_error(L, KEEP_NOTHING,
                      "assignment to global '%s' after loading",
                      lua_tostring(L, 2));
    rlf_lua_refuse_change(L, lua_pushfstring(L, "assignment to field '%s' of",
                                             lua_tostring(L, 2)));
}

static int
frozen_length(lua_State *L)
{
    rlf_lua_contents(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
    return 1;
}

/* Upvalues: the contents, the user's __index function. */
static int
frozen_index(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
        return 1;
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

/* Copy all entries of the table at `from` to the table at `to`. */
static void
copy(lua_State *L, int from, int to)
{
    for (lua_pushnil(L); lua_next(L, from);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

/* Makes the frozen table read: from `hidden`, then as its own metatable `meta`
 * (an index, or 0) says. Sets fields of the table on top. */
static void
set_index(lua_State *L, int hidden, int meta)
{
    int kind = LUA_TNIL;
    if (meta) {
        lua_pushliteral(L, "__index");
        kind = lua_rawget(L, meta);
        if (kind == LUA_TNIL)
            lua_pop(L, 1);
    }
    if (kind == LUA_TNIL) {
        lua_pushvalue(L, hidden);
    } else if (kind == LUA_TFUNCTION) {
        lua_pushvalue(L, hidden);
        lua_insert(L, -2);
        lua_pushcclosure(L, frozen_index, 2);
    } else { /* a table: the VM follows the chain */
        lua_createtable(L, 0, 1);
        lua_insert(L, -2);
        lua_setfield(L, -2, "__index");
        lua_setmetatable(L, hidden);
        lua_pushvalue(L, hidden);
    }
    lua_setfield(L, -2, "__index");
}

/* Push the metatable that the user sees for the table at `t`, and the table
 * with its contents; two nils if there is none. */
static void
push_metatables(lua_State *L, int t)
{
    if (!lua_getmetatable(L, t)) {
        lua_pushnil(L);
        lua_pushnil(L);
        return;
    }
    int real = lua_gettop(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_back);
    lua_pushvalue(L, real);
    if (lua_rawget(L, -2) != LUA_TNIL) { /* the contents of a frozen one */
        lua_pushvalue(L, real);
    } else {
        lua_pushvalue(L, real);
        if (!rlf_lua_contents(L, real))
            lua_pushvalue(L, real);
        lua_remove(L, -3);
    }
    lua_remove(L, real + 1);
    lua_remove(L, real);
    lua_pushliteral(L, "__mode");
    if (lua_rawget(L, -2) != LUA_TNIL)
        luaL_error(L, "__mode was set: weak tables are not allowed");
    lua_pop(L, 1);
}

/* Move all entries of the table at `from` to the empty table at `to`. */
static void
move(lua_State *L, int from, int to)
{
    for (lua_pushnil(L); lua_next(L, from);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
        lua_pushvalue(L, -1);
        lua_pushnil(L);
        lua_rawset(L, from); /* clearing is allowed while lua_next walks */
    }
}

/* Freeze the one table at `t`, which is not frozen. Pushes what is to be
 * visited: its contents, and the metatable its user sees, or nil. */
static void
freeze_table(lua_State *L, int t)
{
    lua_createtable(L, 0, 0);
    int hidden = lua_gettop(L), visible = hidden + 1, source = hidden + 2;
    move(L, t, hidden);
    push_metatables(L, t);
    bool had = !lua_isnil(L, source);
    lua_createtable(L, 0, had ? 8 : 4);
    int meta = lua_gettop(L);
    if (had)
        copy(L, source, meta);
    set_index(L, hidden, had ? source : 0);
    lua_pushcfunction(L, refuse_write);
    lua_setfield(L, meta, "__newindex");
    if (lua_getfield(L, meta, "__len") == LUA_TNIL) {
        lua_pushcfunction(L, frozen_length);
        lua_setfield(L, meta, "__len");
    }
    lua_settop(L, meta);
    lua_pushvalue(L, hidden);
    lua_rawsetp(L, meta, &rlf_lua_key_frozen);
    if (had) {
        lua_pushvalue(L, visible);
        lua_rawsetp(L, meta, &rlf_lua_key_meta);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_back);
    lua_pushvalue(L, hidden);
    lua_pushvalue(L, t);
    lua_rawset(L, -3);
    lua_pushvalue(L, meta);
    lua_setmetatable(L, t);
    lua_settop(L, visible);
}

/* The walk: a queue of values to visit, and the set of those queued. */
typedef struct walk {
    lua_State *L;
    int queue, seen;
    lua_Integer n;
} walk;

/* Queue the value on top if it has not been, and pop it. */
static void
enqueue(walk *w)
{
    lua_State *L = w->L;
    int type = lua_type(L, -1);
    if (type == LUA_TTHREAD)
        luaL_error(L, "a coroutine is kept at file level, and would keep its "
                      "state from call to call");
    if (type == LUA_TTABLE || type == LUA_TFUNCTION) {
        lua_pushvalue(L, -1);
        if (lua_rawget(L, w->seen) == LUA_TNIL) {
            lua_pushvalue(L, -2);
            lua_pushboolean(L, 1);
            lua_rawset(L, w->seen);
            lua_pushvalue(L, -2);
            lua_rawseti(L, w->queue, ++w->n);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* Note upvalue i of the function at `f`, whose value is on top. */
static void
note_cell(walk *w, int f, int i)
{
    rlf_lua_host *host = rlf_lua_host_of(w->L);
    lua_State *L = w->L, *vault = host->vault;
    lua_pushlightuserdata(L, lua_upvalueid(L, f, i));
    if (lua_rawget(L, w->seen) == LUA_TNIL) {
        lua_pushlightuserdata(L, lua_upvalueid(L, f, i));
        lua_pushboolean(L, 1);
        lua_rawset(L, w->seen);
        if (!lua_checkstack(vault, 8))
            luaL_error(L, "too many variables at file level");
        lua_pushvalue(L, f);
        lua_pushvalue(L, -3);
        lua_xmove(L, vault, 2);
        host->cells = rlf_realloc(host->cells, ((size_t)host->n_cells + 1) *
                                                   sizeof *host->cells);
        host->cells[host->n_cells++] = i;
    }
    lua_pop(L, 1);
}

static void
visit_function(walk *w, int f)
{
    lua_State *L = w->L;
    for (int i = 1; lua_getupvalue(L, f, i); i++) {
        if (lua_iscfunction(L, f))
            luaL_error(L, "an iterator (of pairs, gmatch or coroutine.wrap) is "
                          "kept at file level, and would keep its state from "
                          "call to call");
        note_cell(w, f, i);
        enqueue(w);
    }
}

static void
visit_table(walk *w, int t)
{
    lua_State *L = w->L;
    if (rlf_lua_contents(L, t))
        return;
    freeze_table(L, t);
    int hidden = lua_gettop(L) - 1;
    enqueue(w); /* the metatable */
    for (lua_pushnil(L); lua_next(L, hidden);) {
        enqueue(w);
        lua_pushvalue(L, -1);
        enqueue(w);
    }
}

void
rlf_lua_freeze(lua_State *L, int index)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    index = lua_absindex(L, index);
    luaL_checkstack(L, 32, NULL);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_walk) == LUA_TNIL) {
        lua_pop(L, 1);
        lua_createtable(L, 2, 0); /* {vault, seen} */
        host->vault = lua_newthread(L);
        lua_rawseti(L, -2, 1);
        lua_createtable(L, 0, 0);
        lua_rawseti(L, -2, 2);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_walk);
    }
    lua_rawgeti(L, -1, 2);
    lua_createtable(L, 0, 0);
    walk w = {.L = L, .queue = lua_gettop(L), .seen = lua_gettop(L) - 1};
    int base = lua_gettop(L);
    lua_pushvalue(L, index);
    enqueue(&w);
    for (lua_Integer i = 1; i <= w.n; i++) {
        if (lua_rawgeti(L, w.queue, i) == LUA_TTABLE)
            visit_table(&w, base + 1);
        else
            visit_function(&w, base + 1);
        lua_settop(L, base);
        lua_pushnil(L);
        lua_rawseti(L, w.queue, i);
    }
    lua_settop(L, base - 3);
}

/* Are the top value and the one at `index` the same, type of number included?
 */
static bool
same(lua_State *L, int index)
{
    if (lua_type(L, -1) == LUA_TNUMBER && lua_type(L, index) == LUA_TNUMBER) {
        if (lua_isinteger(L, -1) != lua_isinteger(L, index))
            return false;
        lua_Number a = lua_tonumber(L, -1), b = lua_tonumber(L, index);
        if (a != a || b != b)
            return a != a && b != b;
    }
    return lua_rawequal(L, -1, index);
}

bool
rlf_lua_restore(rlf_lua_host *host, const char **name, lua_Debug *where)
{
    lua_State *vault = host->vault;
    bool changed = false;
    for (int c = 0; c < host->n_cells; c++) {
        int f = 2 * c + 1;
        const char *text = lua_getupvalue(vault, f, host->cells[c]);
        bool good = same(vault, f + 1);
        lua_pop(vault, 1);
        if (good)
            continue;
        lua_pushvalue(vault, f + 1);
        lua_setupvalue(vault, f, host->cells[c]);
        if (!changed) {
            *name = text;
            lua_pushvalue(vault, f);
            lua_getinfo(vault, ">S", where);
        }
        changed = true;
    }
    return changed;
}
