/* rlf.json_decode by jansson, and rlf.json_encode with keys in pairs' order.
 *
 * null is rlf.null (a value of its own, since nil would vanish from tables). A
 * Lua table is written as an array if its keys are 1..n, as an object if they
 * are texts (an empty table is an array); anything else is an error. What a
 * text decodes to can be many times larger than it, outside of Lua's memory for
 * a moment, hence the bound on its length. */
#include "engine/io/json.h"
#include "engine/lua/internal.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MOST 100

/* rlf.null: a light userdata with this address */
static const char null_mark;

static void
push_null(lua_State *L)
{
    union {
        const void *in;
        void *out;
    } p = {.in = &null_mark};
    lua_pushlightuserdata(L, p.out);
}

/* Push the value. jansson bounds how deep it is nested. */
static void
push_json(lua_State *L, json_t *value)
{
    luaL_checkstack(L, 8, NULL);
    switch (json_typeof(value)) {
    case JSON_OBJECT: {
        const char *key;
        json_t *member;
        lua_createtable(L, 0, (int)json_object_size(value));
        json_object_foreach(value, key, member)
        {
            lua_pushlstring(L, key, strlen(key));
            push_json(L, member);
            lua_rawset(L, -3);
        }
        break;
    }
    case JSON_ARRAY: {
        size_t i;
        json_t *element;
        lua_createtable(L, (int)json_array_size(value), 0);
        json_array_foreach(value, i, element)
        {
            push_json(L, element);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    }
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        lua_pushinteger(L, json_integer_value(value));
        break;
    case JSON_REAL:
        lua_pushnumber(L, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(value));
        break;
    case JSON_NULL:
        push_null(L);
        break;
    }
}

static int
protected_push(lua_State *L)
{
    push_json(L, lua_touserdata(L, 1));
    return 1;
}

/* json_decode(text): the value, or nil and what is wrong */
static int
json_decode(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    rlf_lua_charge(L, n);
    luaL_argcheck(L, n <= rlf_lua_host_of(L)->program->memory / 32, 1,
                  "text is too long for the memory limit");
    json_error_t error;
    bool missing;
    json_t *value = rlf_json_decode(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                                    &error, &missing);
    if (missing) { /* of the machine: not for the hook to see */
        rlf_lua_host_of(L)->starved = true;
        rlf_lua_stop(L, RLF_LUA_SPENT_MEMORY, 1);
    }
    if (!value) {
        luaL_pushfail(L);
        lua_pushfstring(L, "%s (line %d)", error.text, error.line);
        return 2;
    }
    lua_pushcfunction(L, protected_push);
    lua_pushlightuserdata(L, value);
    int status = lua_pcall(L, 1, 1, 0);
    json_decref(value);
    if (status != LUA_OK) {
        rlf_lua_caught(L, status);
        return lua_error(L);
    }
    return 1;
}

static void encode(lua_State *L, int index, rlf_lua_bytes *out, int depth);

static void
encode_text(lua_State *L, int index, rlf_lua_bytes *out)
{
    size_t n;
    const char *text = lua_tolstring(L, index, &n);
    rlf_lua_charge(L, n / 8);
    /* at most six bytes for one: room first, then nothing can raise */
    char *p = rlf_lua_bytes_room(out, 6 * n + 2);
    rlf_buf piece = {0};
    rlf_buf_json(&piece, text, n);
    memcpy(p, piece.p, piece.n);
    out->n += piece.n;
    rlf_buf_free(&piece);
}

static void
encode_number(lua_State *L, int index, rlf_lua_bytes *out)
{
    char *p = rlf_lua_bytes_room(out, 64);
    if (lua_isinteger(L, index)) {
        out->n +=
            (size_t)snprintf(p, 64, LUA_INTEGER_FMT, lua_tointeger(L, index));
        return;
    }
    double x = lua_tonumber(L, index);
    if (!isfinite(x))
        luaL_error(L, "json_encode: JSON has no number for %f", x);
    rlf_buf piece = {0};
    rlf_buf_number(&piece, x);
    memcpy(p, piece.p, piece.n);
    out->n += piece.n;
    rlf_buf_free(&piece);
}

static void
encode_table(lua_State *L, int index, rlf_lua_bytes *out, int depth)
{
    size_t n = rlf_lua_keys(L, index);
    int keys = lua_gettop(L);
    bool array = true;
    for (size_t i = 1; i <= n; i++) {
        int type = lua_rawgeti(L, keys, (lua_Integer)i);
        bool whole =
            lua_isinteger(L, -1) && lua_tointeger(L, -1) == (lua_Integer)i;
        if (i == 1)
            array = whole;
        if (array ? !whole : type != LUA_TSTRING)
            luaL_error(L, "json_encode: the keys of a table are neither 1..n "
                          "nor texts");
        lua_pop(L, 1);
    }
    rlf_lua_bytes_add(out, array ? "[" : "{", 1);
    for (size_t i = 1; i <= n; i++) {
        rlf_lua_bytes_add(out, ",", i > 1);
        lua_rawgeti(L, keys, (lua_Integer)i);
        if (!array) {
            encode_text(L, -1, out);
            rlf_lua_bytes_add(out, ":", 1);
        }
        lua_gettable(L, index);
        encode(L, lua_gettop(L), out, depth + 1);
        lua_pop(L, 1);
    }
    rlf_lua_bytes_add(out, array ? "]" : "}", 1);
    lua_pop(L, 1);
}

static void
encode(lua_State *L, int index, rlf_lua_bytes *out, int depth)
{
    luaL_checkstack(L, 12, NULL);
    rlf_lua_charge(L, 4);
    if (depth > DEPTH_MOST)
        luaL_error(L, "json_encode: tables are nested too deep, or in a ring");
    switch (lua_type(L, index)) {
    case LUA_TTABLE:
        encode_table(L, index, out, depth);
        break;
    case LUA_TSTRING:
        encode_text(L, index, out);
        break;
    case LUA_TNUMBER:
        encode_number(L, index, out);
        break;
    case LUA_TBOOLEAN:
        if (lua_toboolean(L, index))
            rlf_lua_bytes_add(out, "true", 4);
        else
            rlf_lua_bytes_add(out, "false", 5);
        break;
    case LUA_TLIGHTUSERDATA:
        rlf_lua_bytes_add(out, "null", 4);
        break;
    default:
        luaL_error(L, "json_encode: a %s has no form in JSON",
                   luaL_typename(L, index));
    }
}

/* json_encode(value): on one line, keys in the order of pairs */
static int
json_encode(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    rlf_lua_bytes out;
    rlf_lua_bytes_init(L, &out);
    encode(L, 1, &out, 0);
    rlf_lua_charge(L, out.n / 16);
    rlf_lua_bytes_push(&out);
    return 1;
}

void
rlf_lua_open_json(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"json_decode", json_decode},
        {"json_encode", json_encode},
        {NULL, NULL},
    };
    luaL_setfuncs(L, functions, 0);
    push_null(L);
    lua_setfield(L, -2, "null");
}
