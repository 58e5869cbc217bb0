/* Errors of hooks: raised with a place, caught with a traceback, and told with
 * the sample that the call was for. */
#include "engine/base/vec.h"
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void
rlf_lua_error(lua_State *L, const char *hint, const char *fmt, ...)
{
    va_list ap;
    char where[256];
    va_start(ap, fmt);
    rlf_lua_locate(L, 1, where, sizeof where);
    lua_pushstring(L, where);
    lua_pushvfstring(L, fmt, ap);
    va_end(ap);
    if (hint)
        lua_pushfstring(L, RLF_LUA_HINT "%s", hint);
    lua_concat(L, hint ? 3 : 2);
    lua_error(L);
    __builtin_unreachable(); /* lua_error does not return */
}

/* Does the message begin with, or name, a place: the file, or a line? */
static bool
has_place(const char *text, const char *path)
{
    if (strncmp(text, path, strlen(path)) == 0)
        return true;
    for (; *text && *text != '\n'; text++)
        if (*text == ':') {
            size_t digits = strspn(text + 1, "0123456789");
            if (digits && text[1 + digits] == ':')
                return true;
        }
    return false;
}

static bool
is_shown(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= ' ' && u != 127) || u == '\n' || u == '\t';
}

void
rlf_lua_show(lua_State *L, int index)
{
    size_t n, i = 0;
    const char *text = lua_tolstring(L, index, &n);
    while (i < n && is_shown(text[i]))
        i++;
    if (i == n)
        return;
    luaL_Buffer out;
    luaL_buffinit(L, &out);
    for (i = 0; i < n; i++) {
        char code[8];
        snprintf(code, sizeof code, "\\%03d", (unsigned char)text[i]);
        if (is_shown(text[i]))
            luaL_addchar(&out, text[i]);
        else
            luaL_addstring(&out, code);
    }
    luaL_pushresult(&out);
    lua_replace(L, index);
}

int
rlf_lua_on_error(lua_State *L)
{
    const rlf_lua_program *program = rlf_lua_host_of(L)->program;
    const char *path = program->path;
    lua_settop(L, 1);
    if (!lua_tostring(L, 1)) {
        if (lua_isnil(L, 1))
            lua_pushliteral(L, "an error without a message: it is nil"
                            RLF_LUA_HINT "say what is wrong: error(\"...\")");
        else
            lua_pushfstring(L, "an error that is a %s, not a text",
                            luaL_typename(L, 1));
        lua_replace(L, 1);
    }
    rlf_lua_show(L, 1);
    if (!has_place(lua_tostring(L, 1), path) &&
        !has_place(lua_tostring(L, 1), program->name)) {
        char where[256];
        rlf_lua_locate(L, 1, where, sizeof where);
        lua_pushfstring(L, "%s%s%s", where[0] ? where : path,
                        where[0] ? "" : ": ", lua_tostring(L, 1));
        lua_replace(L, 1);
    }
    luaL_traceback(L, L, NULL, 1);
    lua_createtable(L, 2, 0);
    lua_rotate(L, 1, 1); /* table, message, traceback */
    lua_rawseti(L, 1, 2);
    lua_rawseti(L, 1, 1);
    return 1;
}

/* The traceback without the lines of our own C functions; nothing if those are
 * all that it has below its head line. */
static void
add_traceback(const rlf_lua_host *host, rlf_err *err, const char *text)
{
    static const char ours[] = "\t[C]: in ?";
    const char *head = text;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        size_t n = (size_t)(end - line);
        if (line == head || (n == strlen(ours) && !memcmp(line, ours, n)))
            continue;
        if (head)
            rlf_err_detail(err, "%.*s", (int)strcspn(head, "\n"), head);
        head = NULL;
        char own[300], shown[600];
        snprintf(own, sizeof own, "%.*s",
                 (int)rlf_str_cut((rlf_str){line, n}, sizeof own - 1), line);
        rlf_lua_paths(host, own, shown, sizeof shown);
        rlf_err_detail(err, "%s", shown);
    }
}

void
rlf_lua_who(const rlf_lua_host *host, char *out, size_t room)
{
    const rlf_lua_sample *s = host->call.samples;
    out[0] = 0;
    if (!s || host->call.n == 0)
        return;
    switch (host->program->per) {
    case RLF_LUA_PER_SAMPLE:
    case RLF_LUA_PER_TURN:
        snprintf(out, room,
                 " (prompt %" PRIu64 ", sample %" PRIu32 ", step %" PRIu32 ")",
                 s->prompt, s->place, s->step);
        break;
    case RLF_LUA_PER_GROUP:
        snprintf(out, room, " (prompt %" PRIu64 ", step %" PRIu32 ")",
                 s->prompt, s->step);
        break;
    default:
        snprintf(out, room, " (step %" PRIu32 ")", s->step);
    }
}

/* As the program says it: "64 MB" */
static void
put_bytes(uint64_t n, char *out, size_t room)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB"};
    size_t unit = 0;
    for (; n && n % 1024 == 0 && unit + 1 < RLF_COUNT(units); n /= 1024)
        unit++;
    snprintf(out, room, "%" PRIu64 " %s", n, units[unit]);
}

void
rlf_lua_place(rlf_lua_host *host, char *out, size_t room)
{
    lua_Debug ar;
    char name[256];
    lua_rawgeti(host->L, LUA_REGISTRYINDEX, host->function);
    lua_getinfo(host->L, ">S", &ar);
    snprintf(name, sizeof name, "%s:%d: ", ar.source + 1, ar.linedefined);
    rlf_lua_paths(host, name, out, room);
}

/* The error for what ran out. */
static rlf_status
fail_spent(rlf_lua_host *host, rlf_err *err, const char *who)
{
    const rlf_lua_program *p = host->program;
    char size[32], where[600];
    rlf_lua_paths(host, host->where, where, sizeof where);
    switch (host->spent) {
    case RLF_LUA_SPENT_STEPS:
        rlf_fail(err, RLF_USER, "%smore than %" PRIu64 " instructions%s", where,
                 rlf_lua_budget(host), who);
        rlf_err_hint(err, "an endless loop, or a pattern that backtracks? "
                          "otherwise raise 'instructions:'");
        return RLF_USER;
    case RLF_LUA_SPENT_MEMORY:
        if (host->starved)
            return rlf_fail(err, RLF_MEMORY,
                            "%sthe machine has no memory left%s", where, who);
        put_bytes(p->memory, size, sizeof size);
        rlf_fail(err, RLF_USER, "%s%smore than %s of memory%s",
                 where[0] ? where : p->path, where[0] ? "" : ": ", size, who);
        rlf_err_hint(err,
                     "an endless recursion? otherwise keep less alive at a "
                     "time, or raise 'memory:'");
        return RLF_USER;
    case RLF_LUA_SPENT_CHAIN:
        rlf_fail(err, RLF_USER,
                 "%sa call of a value whose __call calls itself%s", where, who);
        rlf_err_hint(err, "give __call a function");
        return RLF_USER;
    case RLF_LUA_SPENT_WAIT:
        rlf_fail(err, host->end, "%sthe call went on when the run was to end%s",
                 where, who);
        rlf_err_hint(err, "the step is left out, and done again when the run "
                          "goes on; does the function ever return? lower "
                          "'time:' or 'instructions:'");
        return host->end;
    default:
        rlf_fail(err, RLF_ENV, "%smore than %g s of wall-clock time%s", where,
                 p->time, who);
        rlf_err_hint(err,
                     "time never decides a result, so this ends here; a run "
                     "that has begun can go on with --resume; for a slow "
                     "machine raise "
                     "'time:', for a slow function lower "
                     "'instructions:'");
        return RLF_ENV;
    }
}

rlf_status
rlf_lua_fail(rlf_lua_host *host, int code, rlf_err *err)
{
    lua_State *L = host->L;
    char who[128];
    const char *text = NULL, *trace = "";
    rlf_lua_who(host, who, sizeof who);
    if (code == LUA_ERRMEM && host->spent == RLF_LUA_SPENT_NONE)
        host->spent = RLF_LUA_SPENT_MEMORY;
    if (lua_istable(L, -1)) {
        lua_rawgeti(L, -1, 1);
        lua_rawgeti(L, -2, 2);
        text = lua_tostring(L, -2);
        trace = lua_tostring(L, -1);
    } else {
        text = lua_tostring(L, -1);
    }
    rlf_status status = RLF_USER;
    if (host->spent != RLF_LUA_SPENT_NONE) {
        status = fail_spent(host, err, who);
    } else {
        if (!text)
            text = "an error without a text";
        const char *hint = strstr(text, RLF_LUA_HINT);
        size_t n = strcspn(text, "\n"), most = 400;
        char shown[700], line[420];
        snprintf(line, sizeof line, "%.*s",
                 (int)rlf_str_cut((rlf_str){text, n}, most), text);
        rlf_lua_paths(host, line, shown, sizeof shown);
        rlf_fail(err, RLF_USER, "%s%s%s", shown, n > most ? "..." : "", who);
        if (!hint && text[n])
            rlf_err_detail(err, "%s", text + n + 1);
        if (hint)
            hint += strlen(RLF_LUA_HINT);
        else
            hint = strstr(text, "stack overflow")
                       ? "a function that calls itself without end?"
                       : rlf_lua_absent_hint(text, host->program);
        if (hint)
            rlf_err_hint(err, "%s", hint);
    }
    add_traceback(host, err, trace);
    lua_settop(L, 1);
    return status;
}
