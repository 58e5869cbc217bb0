/* Coroutines whose errors pass the same gate as pcall's: a limit that is
 * reached inside one ends the call, not only the coroutine. A new thread
 * inherits the count hook, but what it runs after its last whole interval is
 * not counted, so making one costs an interval. */
#include "engine/lua/internal.h"

#include <lualib.h>

static lua_State *
thread_at(lua_State *L, int index)
{
    lua_State *co = lua_tothread(L, index);
    luaL_argexpected(L, co, index, "coroutine");
    return co;
}

static int
create(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    rlf_lua_charge(L, RLF_LUA_TICK);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    return 1;
}

/* Resume with the n values on top: how many results are on top then, or -1: an
 * error value is. */
static int
resume_with(lua_State *L, lua_State *co, int n)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    int results;
    if (!lua_checkstack(co, n)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    rlf_lua_charge(L, (uint64_t)n / 4);
    lua_xmove(L, co, n);
    rlf_lua_watch(co);
    host->running = co;
    int status = lua_resume(co, L, n, &results);
    host->running = L;
    rlf_lua_watch(L);
    if (status == LUA_OK || status == LUA_YIELD) {
        if (!lua_checkstack(L, results + 1)) {
            lua_pop(co, results);
            lua_pushliteral(L, "too many results to resume");
            return -1;
        }
        lua_xmove(co, L, results);
        return results;
    }
    lua_xmove(co, L, 1);
    rlf_lua_caught(L, status);
    return -1;
}

static int
resume(lua_State *L)
{
    lua_State *co = thread_at(L, 1);
    int n = resume_with(L, co, lua_gettop(L) - 1);
    lua_pushboolean(L, n >= 0);
    lua_insert(L, n >= 0 ? -(n + 1) : -2);
    return n >= 0 ? n + 1 : 2;
}

static int
wrapped(lua_State *L)
{
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int n = resume_with(L, co, lua_gettop(L));
    if (n >= 0)
        return n;
    int status = lua_status(co);
    if (status != LUA_OK && status != LUA_YIELD) {
        /* its pending <close> variables */
        rlf_lua_host_of(L)->running = co;
        status = lua_resetthread(co);
        rlf_lua_host_of(L)->running = L;
        lua_xmove(co, L, 1);
        rlf_lua_caught(L, status);
    }
    return lua_error(L);
}

static int
wrap(lua_State *L)
{
    create(L);
    lua_pushcclosure(L, wrapped, 1);
    return 1;
}

static int
close(lua_State *L)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    lua_State *co = thread_at(L, 1);
    if (lua_status(co) == LUA_YIELD)
        host->running = co;
    int n = host->stock.close(L);
    host->running = L;
    rlf_lua_caught(L, LUA_OK);
    return n;
}

void
rlf_lua_open_coroutine(lua_State *L)
{
    static const luaL_Reg ours[] = {
        {"create", create}, {"resume", resume}, {"wrap", wrap},
        {"close", close},   {NULL, NULL},
    };
    luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1);
    lua_getfield(L, -1, "close");
    rlf_lua_host_of(L)->stock.close = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    luaL_setfuncs(L, ours, 0);
    lua_pop(L, 1);
}
