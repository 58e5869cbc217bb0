/* The library that Lua code finds: what of the standard one is left, and what
 * stands in its place.
 *
 * Gone is all that reaches outside (io, os, debug, package, files, bytecode) or
 * shows what differs from run to run: addresses, `next`, finalizers, weak
 * tables, the collector, unseeded random numbers. Standard functions that cost
 * more than an instruction are charged for it. */
#include "engine/base/hash.h"
#include "engine/io/file.h"
#include "engine/lua/internal.h"

#include <limits.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- text */

/* As Lua writes it, in 14 digits, where that is the same number; else in as
 * many as it takes. */
static void
push_float(lua_State *L, lua_Number x)
{
    char text[40];
    lua_pushnumber(L, x);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    if (x != x || lua_stringtonumber(L, lua_tostring(L, -1)) == 0)
        return; /* nan, inf */
    bool same = lua_tonumber(L, -1) == x;
    lua_pop(L, 1);
    for (int digits = 15; !same && digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        same = strtod(text, NULL) == x;
        lua_pop(L, 1);
        lua_pushstring(L, text);
    }
}

const char *
rlf_lua_text(lua_State *L, int index, size_t *n)
{
    index = lua_absindex(L, index);
    int type = lua_type(L, index);
    if (luaL_callmeta(L, index, "__tostring")) {
        if (lua_type(L, -1) != LUA_TSTRING)
            luaL_error(L, "'__tostring' must return a string");
    } else if (type == LUA_TTABLE || type >= LUA_TFUNCTION ||
               type == LUA_TLIGHTUSERDATA) { /* Lua adds the address */
        int kind = luaL_getmetafield(L, index, "__name");
        if (kind != LUA_TSTRING) {
            lua_pop(L, kind != LUA_TNIL);
            lua_pushstring(L, lua_typename(L, type));
        }
    } else if (type == LUA_TNUMBER && !lua_isinteger(L, index)) {
        push_float(L, lua_tonumber(L, index));
    } else {
        return luaL_tolstring(L, index, n);
    }
    return lua_tolstring(L, -1, n);
}

static int
base_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    rlf_lua_text(L, 1, NULL);
    return 1;
}

static int
base_print(lua_State *L)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    int n = lua_gettop(L);
    rlf_lua_bytes line;
    rlf_lua_bytes_init(L, &line);
    for (int i = 1; i <= n; i++) {
        size_t len;
        const char *text = rlf_lua_text(L, i, &len);
        rlf_lua_bytes_add(&line, "\t", i > 1);
        rlf_lua_bytes_add(&line, text, len);
        lua_pop(L, 1);
    }
    char who[128];
    rlf_lua_who(host, who, sizeof who);
    rlf_lua_charge(L, 100 + line.n / 8);
    lua_pushlstring(L, line.p ? line.p : "", line.n);
    rlf_lua_show(L, lua_gettop(L));
    size_t shown;
    const char *text = lua_tolstring(L, -1, &shown);
    host->options.print(host->options.arg, who[0] ? who + 1 : who, text, shown);
    return 0;
}

/* -------------------------------------------------------------- tables */

static int
base_rawget(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    lua_settop(L, 2);
    rlf_lua_complete(L, 1);
    if (rlf_lua_contents(L, 1))
        lua_replace(L, 1);
    lua_rawget(L, 1);
    return 1;
}

static int
base_rawset(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (rlf_lua_contents(L, 1))
        rlf_lua_refuse_change(L, "rawset on");
    lua_rawset(L, 1);
    return 1;
}

static int
base_rawlen(lua_State *L)
{
    int type = lua_type(L, 1);
    luaL_argexpected(L, type == LUA_TTABLE || type == LUA_TSTRING, 1,
                     "table or string");
    if (type == LUA_TTABLE && rlf_lua_contents(L, 1))
        lua_replace(L, 1);
    lua_pushinteger(L, (lua_Integer)lua_rawlen(L, 1));
    return 1;
}

static int
base_getmetatable(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    if (!lua_getmetatable(L, 1))
        return 0;
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return 1;
    if (rlf_lua_contents(L, 1)) {
        lua_rawgetp(L, 2, &rlf_lua_key_meta);
        return 1;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_back);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) == LUA_TNIL)
        lua_settop(L, 2);
    return 1;
}

/* Remember a metatable, to look at it again when the call ends. */
static void
note_metatable(lua_State *L, int index)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    if (!host->loaded)
        return;
    host->metas = true;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_metas) == LUA_TNIL) {
        lua_createtable(L, 0, 1);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_metas);
        lua_replace(L, -2);
    }
    lua_pushvalue(L, index);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

static int
base_setmetatable(lua_State *L)
{
    int type = lua_type(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argexpected(L, type == LUA_TNIL || type == LUA_TTABLE, 2,
                     "nil or table");
    lua_settop(L, 2);
    if (rlf_lua_contents(L, 1))
        rlf_lua_refuse_change(L, "setmetatable on");
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    if (type == LUA_TTABLE) {
        bool frozen = rlf_lua_contents(L, 2);
        if (frozen)
            lua_replace(L, 2);
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            rlf_lua_error(L, NULL,
                          "finalizers (__gc) are not allowed: when "
                          "they run depends on memory");
        lua_pushliteral(L, "__mode");
        if (lua_rawget(L, 2) != LUA_TNIL)
            rlf_lua_error(L, NULL,
                          "weak tables (__mode) are not allowed: what "
                          "they hold depends on memory");
        lua_settop(L, 2);
        if (!frozen)
            note_metatable(L, 2);
    }
    lua_setmetatable(L, 1);
    return 1;
}

/* -------------------------------------------------------------- errors */

#define NEAR 16    /* levels of error() that cost nothing */
#define HANDLED 20 /* what a run of a message handler costs */

/* "file:line: " of the function that is called, or "": where it ended in
 * `return f(x)`, Lua has forgotten the line of that. */
static void
locate_function(lua_State *L, char *out, size_t room)
{
    lua_Debug ar;
    const rlf_lua_host *host = rlf_lua_host_of(L);
    if (!host->loaded)
        return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, host->function);
    lua_getinfo(L, ">S", &ar);
    snprintf(out, room, "%s:%d: ", ar.source + 1, ar.linedefined);
}

/* error(message, level), where a level that is a C function of ours counts as
 * its caller. */
static int
base_error(lua_State *L)
{
    lua_Integer level = luaL_optinteger(L, 2, 1);
    lua_settop(L, 1);
    if (level > NEAR) /* frames that are walked, of which Lua has so many */
        rlf_lua_charge(L, (uint64_t)(level < 200000 ? level : 200000) / 16);
    if (lua_type(L, 1) == LUA_TSTRING && level > 0 && level < INT_MAX) {
        char where[256];
        rlf_lua_locate(L, (int)level, where, sizeof where);
        if (level > 1 && !where[0])
            locate_function(L, where, sizeof where);
        lua_pushstring(L, where);
        lua_insert(L, 1);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int
pcall_done(lua_State *L, int status, lua_KContext extra)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - (int)extra;
    rlf_lua_caught(L, status);
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

static int
base_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    rlf_lua_charge(L, (uint64_t)lua_gettop(L) / 4);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    int status =
        lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, pcall_done);
    return pcall_done(L, status, 0);
}

/* The user's message handler, unless the error is one for us. It runs for its
 * own errors too, until Lua has no more room for C calls. */
static int
handler(lua_State *L)
{
    if (rlf_lua_host_of(L)->spent != RLF_LUA_SPENT_NONE)
        return 1;
    rlf_lua_charge(L, HANDLED);
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static int
base_xpcall(lua_State *L)
{
    int n = lua_gettop(L);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    rlf_lua_charge(L, (uint64_t)n / 4);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, handler, 1);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* function, handler, true, function, arguments */
    int status = lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, pcall_done);
    return pcall_done(L, status, 2);
}

/* ------------------------------------------------------------- loading */

/* Past the text or comment that begins at p, or p if none does. */
static const char *
past_quoted(const char *p, const char *end)
{
    const char *q = p;
    bool comment = end - p > 1 && p[0] == '-' && p[1] == '-';
    if (comment)
        q += 2;
    if (q < end && *q == '[') { /* [[...]], [=[...]=] */
        size_t level = 0;
        const char *in = q + 1;
        while (in < end && *in == '=')
            in++, level++;
        if (in < end && *in == '[') {
            for (in++; in < end; in++) {
                size_t n = 0;
                if (*in != ']')
                    continue;
                while (in + 1 + n < end && n < level && in[1 + n] == '=')
                    n++;
                if (n == level && in + 1 + n < end && in[1 + n] == ']')
                    return in + n + 2;
            }
            return end;
        }
    }
    if (!comment && *p != '"' && *p != '\'')
        return p;
    char close = comment ? '\n' : *q;
    for (q += !comment; q < end && *q != close && *q != '\n'; q++)
        if (!comment && *q == '\\' && q + 1 < end)
            q++;
    return q < end ? q + 1 : end;
}

static bool
is_jump(const char *word, size_t n)
{
    static const char *const words[] = {"or", "and", "elseif", "goto", "break"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        if (strlen(words[w]) == n && memcmp(word, words[w], n) == 0)
            return true;
    return false;
}

/* Compiling takes time linear in the text, but for chains of jumps (`a or b or
 * c...`, elseif, break, goto, labels), each of which walks those before it. */
void
rlf_lua_charge_source(lua_State *L, const char *text, size_t n)
{
    uint64_t jumps = 0;
    const char *end = text + n;
    for (const char *p = text; p < end;) {
        const char *q = past_quoted(p, end);
        if (q > p) {
            p = q;
            continue;
        }
        while (q < end &&
               (*q == '_' || (*q >= '0' && *q <= '9') ||
                (*q >= 'A' && *q <= 'Z') || (*q >= 'a' && *q <= 'z')))
            q++;
        jumps += is_jump(p, (size_t)(q - p)) || *p == ':';
        p = q > p ? q : p + 1;
    }
    rlf_lua_charge(L, jumps / 8 * (jumps / 8));
}

/* load(text, name, mode, env): text only, and by default in our globals. */
static int
base_load(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    const char *name = luaL_optstring(L, 2, "=(load)");
    bool env = !lua_isnone(L, 4);
    rlf_lua_charge(L, 16 * n);
    rlf_lua_charge_source(L, text, n);
    if (luaL_loadbufferx(L, text, n, name, "t") != LUA_OK) {
        rlf_lua_caught(L, LUA_OK);
        luaL_pushfail(L);
        lua_insert(L, -2);
        return 2;
    }
    if (env) {
        lua_pushvalue(L, 4);
        lua_setupvalue(L, -2, 1);
    }
    return 1;
}

/* Read name.lua of the i-th directory, unless it is kept, and compile it;
 * false: it is not there. */
static bool
load_module(lua_State *L, size_t i, const char *name)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_lua_module *kept = rlf_lua_kept_module(host, name);
    const char *dir = host->program->dirs[i];
    rlf_err err = RLF_ERR_NONE;
    rlf_buf text = {0};
    luaL_gsub(L, name, ".", "/");
    const char *path =
        strcmp(dir, ".") == 0
            ? lua_pushfstring(L, "%s.lua", lua_tostring(L, -1))
            : lua_pushfstring(L, "%s/%s.lua", dir, lua_tostring(L, -1));
    /* where it lies is not for Lua code to see */
    lua_pushfstring(L, "%s.lua", luaL_gsub(L, name, ".", "/"));
    if (strcmp(lua_tostring(L, -1), host->program->name) == 0)
        lua_pushfstring(L, "require/%s", lua_tostring(L, -1));
    const char *known = lua_tostring(L, -1);
    const char *chunk = lua_pushfstring(L, "@%s", known);
    if (!kept && !rlf_file_exists(path))
        return false;
    int status = LUA_OK;
    if (!kept && rlf_file_read(path, (size_t)64 << 20, &err, &text) >= 0)
        kept = rlf_lua_keep_module(host, name, i, &text);
    if (kept) {
        const rlf_str source = {kept->text.p, kept->text.n};
        rlf_lua_add_source(host, name, path, source);
        /* the library's own are called as in a program */
        rlf_lua_name(host, known,
                     i ? lua_pushfstring(L, "std/%s", known) : path);
        rlf_str code = rlf_lua_skip_head(source);
        status = luaL_loadbufferx(L, code.n ? code.p : "", code.n, chunk, "t");
    }
    rlf_buf_free(&text);
    if (err.status < 0)
        luaL_error(L, "%s", err.sentence);
    if (status != LUA_OK)
        lua_error(L);
    lua_pushstring(L, known);
    return true;
}

static int
base_require(lua_State *L)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    const char *name = luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_modules);
    switch (lua_getfield(L, 2, name)) {
    case LUA_TNIL:
        break;
    case LUA_TLIGHTUSERDATA:
        return luaL_error(L, "module '%s' requires itself", name);
    default:
        return 1;
    }
    if (host->loaded)
        rlf_lua_error(L, "write the require at the top of the file",
                      "require '%s' after the file was loaded", name);
    if (!*name ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP"
                          "QRSTUVWXYZ0123456789_-.")] ||
        strstr(name, "..") || *name == '.')
        return luaL_error(L,
                          "'%s' is no name of a module: names have letters, "
                          "digits, _ and -, and dots for folders",
                          name);
    const rlf_lua_module *kept = rlf_lua_kept_module(host, name);
    for (size_t i = kept ? kept->dir : 0; i < host->program->n_dirs; i++) {
        lua_settop(L, 2);
        if (!load_module(L, i, name))
            continue;
        lua_pushlightuserdata(L, L); /* being loaded */
        lua_setfield(L, 2, name);
        lua_pushvalue(L, 1);
        lua_insert(L, -2); /* function, name, path */
        lua_call(L, 2, 1);
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
            lua_pushboolean(L, 1);
        }
        lua_pushvalue(L, -1);
        lua_setfield(L, 2, name);
        return 1;
    }
    rlf_lua_add_missing(rlf_lua_host_of(L), name);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (size_t i = 0; i < host->program->n_dirs; i++) {
        luaL_addstring(&b, i ? ", " : "");
        luaL_addstring(&b, host->program->dirs[i]);
    }
    luaL_pushresult(&b);
    const char *instead = rlf_lua_absent(name);
    rlf_lua_error(L,
                  instead ? instead
                          : "a module is a file NAME.lua beside the hook's "
                            "own, or of the standard library",
                  "module '%s' not found in %s", name, lua_tostring(L, -1));
}

/* -------------------------------------------------------------- random */

/* math.random of the manual, from the sample's own stream. */
static int
math_random(lua_State *L)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_random_key *key = host->call.key;
    lua_Integer low = 1, high;
    if (!key)
        rlf_lua_error(L,
                      "random numbers belong to a sample: draw them inside "
                      "the function",
                      "math.random is called without a sample");
    uint64_t position = host->call.draws++;
    switch (lua_gettop(L)) {
    case 0:
        lua_pushnumber(L, rlf_draw_uniform(key, position));
        return 1;
    case 1:
        high = luaL_checkinteger(L, 1);
        if (high == 0) {
            lua_pushinteger(L, (lua_Integer)rlf_draw(key, position));
            return 1;
        }
        break;
    case 2:
        low = luaL_checkinteger(L, 1);
        high = luaL_checkinteger(L, 2);
        break;
    default:
        return luaL_error(L, "wrong number of arguments");
    }
    luaL_argcheck(L, low <= high, 2, "interval is empty");
    uint64_t n = (uint64_t)high - (uint64_t)low + 1; /* 0: all integers */
    uint64_t x = n ? rlf_draw_below(key, position, n) : rlf_draw(key, position);
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + x));
    return 1;
}

/* ---------------------------------------------------------------- open */

static void
open_base(lua_State *L)
{
    static const char *const gone[] = {"next",     "print",          "dofile",
                                       "loadfile", "collectgarbage", "warn"};
    static const luaL_Reg ours[] = {
        {"tostring", base_tostring},
        {"rawget", base_rawget},
        {"rawset", base_rawset},
        {"rawlen", base_rawlen},
        {"getmetatable", base_getmetatable},
        {"setmetatable", base_setmetatable},
        {"error", base_error},
        {"pcall", base_pcall},
        {"xpcall", base_xpcall},
        {"load", base_load},
        {"require", base_require},
        {"pairs", rlf_lua_pairs},
        {NULL, NULL},
    };
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, gone[i]);
    }
    luaL_setfuncs(L, ours, 0);
    if (rlf_lua_host_of(L)->options.print) {
        lua_pushcfunction(L, base_print);
        lua_setfield(L, -2, "print");
    }
    lua_pop(L, 1);
}

/* Libraries are frozen before the file runs. */
static void
freeze_libraries(lua_State *L)
{
    rlf_lua_freeze_libraries(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    /* methods of texts are found in the contents, without a detour */
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_getfield(L, -3, "string");
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 3);
}

void
rlf_lua_open_sandbox(lua_State *L)
{
    lua_createtable(L, 0, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_back);
    open_base(L);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    rlf_lua_open_pattern(L);
    lua_pop(L, 4);
    rlf_lua_open_coroutine(L);
    rlf_lua_open_cost(L);
    rlf_lua_open_array(L);
    rlf_lua_replace(L, "string", "dump", NULL);
    rlf_lua_replace(L, "table", "sort", rlf_lua_sort);
    rlf_lua_replace(L, "math", "random", math_random);
    rlf_lua_replace(L, "math", "randomseed", NULL);
    lua_createtable(L, 0, 16);
    rlf_lua_open_text(L);
    rlf_lua_open_json(L);
    rlf_lua_open_regex(L);
    lua_setglobal(L, "rlf");
    rlf_lua_open_value(L);
    freeze_libraries(L);
    rlf_lua_open_absent(L);
    lua_settop(L, 0);
}
