/* Names that Lua code asks for and that are not there.
 *
 * Reading a global that nothing defined is an error that names the nearest one:
 * nil would go on as a value, and make a reward 0 without a word. What other
 * Lua programs have and this one has not (os, io, next) says what to use
 * instead. rawget(_G, name) asks without an error. */
#include "engine/base/vec.h"
#include "engine/lua/internal.h"

#include <stdio.h>
#include <string.h>

/* What many reach for and will not find. */
static const struct {
    const char *name, *hint;
} absent[] = {
    // clang-format off
    {"os", "there is no os: a result may depend on nothing but the arguments"},
    {"io", "there is no io: put what the function needs into the data row, or "
           "into a Lua file that it requires"},
    {"debug", "there is no debug library here"},
    {"package", "there is no package library: require looks beside the file "
                "and in the standard library"},
    {"next", "there is no next, whose order differs from run to run: use pairs"},
    {"print", "there is no print here"},
    {"dofile", "use require, at the top of the file"},
    {"loadfile", "use require, at the top of the file"},
    {"collectgarbage", "memory is collected by itself; the limit is memory:"},
    {"warn", "there is no warn here: print shows a line"},
    {"loadstring", "it is load in Lua 5.4"},
    {"unpack", "it is table.unpack in Lua 5.4"},
    {"json", "rlf.json_decode(text) reads JSON, rlf.json_encode(value) writes "
             "it"},
    {"null", "nothing is nil in Lua"},
    {"None", "nothing is nil in Lua"},
    {"True", "it is true in Lua"},
    {"False", "it is false in Lua"},
    // clang-format on
};

/* The same of fields, and of what Lua's compiler says of other languages. */
static const struct {
    const char *said, *hint;
} sayings[] = {
    {"(field 'randomseed')", "there is no randomseed: math.random is seeded by "
                             "the sample, and gives it the same each time"},
    {"(field 'getn')", "the length of a table is #t"},
    {"near '!'", "Lua writes ~= for 'is not equal'"},
    {"near '+'", "Lua has no += and no ++: write x = x + 1"},
    {"near '-'", "Lua has no -= and no -> : write x = x - 1"},
};

const char *
rlf_lua_absent(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(absent); i++) {
        if (strcmp(name, absent[i].name) == 0)
            return absent[i].hint;
    }
    return NULL;
}

const char *
rlf_lua_absent_hint(const char *message)
{
    for (size_t i = 0; i < RLF_COUNT(sayings); i++) {
        if (strstr(message, sayings[i].said))
            return sayings[i].hint;
    }
    return NULL;
}

/* Push the global that the name is nearest to, or nil. In the order of the
 * names, so that it is the same in each run. */
static const char *
nearest_global(lua_State *L, const char *name)
{
    lua_pushglobaltable(L);
    size_t n = rlf_lua_keys(L, -1), found = 0;
    const char **names = lua_newuserdatauv(L, (n + 1) * sizeof *names, 0);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, -2, (lua_Integer)i + 1) == LUA_TSTRING)
            names[found++] = lua_tostring(L, -1); /* the table keeps it */
        lua_pop(L, 1);
    }
    return rlf_str_nearest(name, names, found);
}

/* The same of the local variables that are in sight, and of the fields of the
 * sample that the call is for. */
static const char *
nearest_local(lua_State *L, const char *name, bool *field)
{
    const rlf_lua_call_state *call = &rlf_lua_host_of(L)->call;
    const char *names[256];
    size_t n = 0;
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.what == 'C')
            continue;
        for (int i = 1; n < RLF_COUNT(names); i++) {
            const char *local = lua_getlocal(L, &ar, i);
            if (!local)
                break;
            lua_pop(L, 1);
            if (*local != '(')
                names[n++] = local;
        }
        break;
    }
    *field = false;
    const char *best = rlf_str_nearest(name, names, n);
    if (best || !call->n)
        return best;
    *field = true;
    for (n = 0; n < call->samples[0].n_fields && n < RLF_COUNT(names); n++)
        names[n] = call->samples[0].fields[n].name;
    return rlf_str_nearest(name, names, n);
}

/* __index of the globals. */
static int
undefined(lua_State *L)
{
    enum { LONGEST = 100 };
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    size_t n;
    const char *name = lua_tolstring(L, 2, &n);
    const char *hint = rlf_lua_absent(name);
    bool field = false;
    rlf_lua_charge(L, 1000);
    if (!hint && n <= LONGEST) {
        const char *near = nearest_local(L, name, &field);
        if (near && field)
            hint = lua_pushfstring(L, "did you mean the sample's field '%s'?",
                                   near);
        else if (near || (near = nearest_global(L, name)))
            hint = lua_pushfstring(L, "did you mean '%s'?", near);
    }
    if (!hint)
        hint = "give it a value first, as in: local x = 0; a text stands in "
               "quotes";
    if (n > LONGEST)
        rlf_lua_error(L, hint, "a global with a long name is not defined");
    rlf_lua_error(L, hint, "'%s' is not defined", name);
}

void
rlf_lua_open_absent(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, undefined);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}
