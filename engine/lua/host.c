/* The Lua host: states, loading, calls. See host.h; the library that the Lua
 * side has is in sandbox.c, its errors are in error.c, and freeze.c keeps the
 * file level as it was between calls. */
#include "engine/lua/host.h"

#include "engine/base/vec.h"
#include "engine/base/clock.h"
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char rlf_lua_key_back, rlf_lua_key_frozen, rlf_lua_key_meta,
    rlf_lua_key_slot, rlf_lua_key_metas, rlf_lua_key_lazy, rlf_lua_key_list,
    rlf_lua_key_array, rlf_lua_key_walk, rlf_lua_key_modules;

/* ------------------------------------------------------------- loading */

/* A file may ask for any number of modules: so many are remembered. */
enum { MISSING_MOST = 1000, MISSING_LONGEST = 1000 };

static char *
copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(rlf_malloc(n), text, n);
}

void
rlf_lua_add_source(rlf_lua_host *host, const char *module, const char *path,
                   rlf_str text)
{
    rlf_lua_source source = {.module = copy_text(module),
                             .path = copy_text(path),
                             .digest = rlf_digest_of(text.p, text.n)};
    RLF_PUSH(&host->sources, source);
}

void
rlf_lua_add_missing(rlf_lua_host *host, const char *module)
{
    if (host->missing.count >= MISSING_MOST ||
        strlen(module) >= MISSING_LONGEST)
        return;
    RLF_PUSH(&host->missing, copy_text(module));
    if (!rlf_lua_kept_module(host, module))
        rlf_lua_keep_module(host, module, host->program->n_dirs, NULL);
}

const rlf_lua_module *
rlf_lua_kept_module(const rlf_lua_host *host, const char *name)
{
    const rlf_lua_host *first =
        host->options.first ? host->options.first : host;
    for (size_t i = 0; i < first->modules.count; i++)
        if (strcmp(first->modules.data[i].name, name) == 0)
            return &first->modules.data[i];
    return NULL;
}

const rlf_lua_module *
rlf_lua_keep_module(rlf_lua_host *host, const char *name, size_t dir,
                    rlf_buf *text)
{
    rlf_lua_host *first = host->options.first ? host->options.first : host;
    rlf_lua_module module = {.name = copy_text(name), .dir = dir};
    if (text) {
        module.text = *text;
        *text = (rlf_buf){0};
    }
    RLF_PUSH(&first->modules, module);
    return &first->modules.data[first->modules.count - 1];
}

static void
forget_modules(rlf_lua_host *host)
{
    for (size_t i = 0; i < host->modules.count; i++) {
        free(host->modules.data[i].name);
        rlf_buf_free(&host->modules.data[i].text);
    }
    RLF_VEC_FREE(&host->modules);
}

static void
forget_sources(rlf_lua_host *host)
{
    for (size_t i = 0; i < host->missing.count; i++)
        free(host->missing.data[i]);
    RLF_VEC_FREE(&host->missing);
    for (size_t i = 0; i < host->sources.count; i++) {
        free((char *)host->sources.data[i].module);
        free((char *)host->sources.data[i].path);
    }
    RLF_VEC_FREE(&host->sources);
}

rlf_str
rlf_lua_skip_head(rlf_str text)
{
    if (text.n >= 3 && !memcmp(text.p, "\xef\xbb\xbf", 3))
        text = (rlf_str){text.p + 3, text.n - 3};
    if (!text.n || text.p[0] != '#')
        return text;
    const char *end = memchr(text.p, '\n', text.n);
    return end ? (rlf_str){end, text.n - (size_t)(end - text.p)} : (rlf_str){0};
}

/* Push the file's chunk. */
static void
compile(lua_State *L)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_lua_program *p = host->program;
    size_t before = p->line - 1;
    rlf_str source = before ? p->source : rlf_lua_skip_head(p->source);
    rlf_lua_bytes text;
    rlf_lua_bytes_init(L, &text);
    memset(rlf_lua_bytes_room(&text, before), '\n', before);
    text.n += before;
    rlf_lua_bytes_add(&text, source.p, source.n);
    rlf_lua_charge_source(L, source.p, source.n);
    const char *name = lua_pushfstring(L, "@%s", p->name);
    rlf_lua_name(host, p->name, p->path);
    rlf_lua_add_source(host, "", p->path, p->source);
    if (luaL_loadbufferx(L, text.p, text.n, name, "t") != LUA_OK)
        lua_error(L);
}

/* Freeze all that the function at `function` and its file can reach. */
static void
freeze_all(lua_State *L, int function)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    lua_pushglobaltable(L);
    rlf_lua_freeze(L, -1);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    rlf_lua_contents(L, -2);
    lua_setfield(L, -2, LUA_GNAME); /* for the names of functions only */
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_modules);
    rlf_lua_freeze(L, -1);
    rlf_lua_freeze(L, function);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_walk);
    lua_pushnil(L);
    lua_rawseti(L, -2, 2); /* what was visited: no longer needed */
    lua_settop(L, function);
    /* as small as it gets (Lua's table of texts halves once a cycle), so that
     * a state never has less alive than a fresh one: see run() */
    size_t before;
    do {
        before = host->live;
        lua_gc(L, LUA_GCCOLLECT);
    } while (host->live < before);
}

/* The formals that the function of a file is called with. */
static const char *
formals_of(rlf_lua_per per)
{
    switch (per) {
    case RLF_LUA_PER_TEMPLATE:
        return "two: the messages, and whether the answer is still to come";
    case RLF_LUA_PER_GROUP:
    case RLF_LUA_PER_BATCH:
        return "one: an array of samples";
    case RLF_LUA_PER_STEP:
        return "one: a table of what the call passes";
    default:
        return "one: the sample, a table";
    }
}

static const char *
formals_hint(rlf_lua_per per)
{
    switch (per) {
    case RLF_LUA_PER_TEMPLATE:
        return "write function(messages, open)";
    case RLF_LUA_PER_GROUP:
    case RLF_LUA_PER_BATCH:
        return "write function(samples): prompt, response and the fields of "
               "the data row are fields of samples[1], samples[2]...";
    case RLF_LUA_PER_STEP:
        return "write function(fields): what the call passes are its fields";
    default:
        return "write function(sample): prompt, response and the fields of the "
               "data row are its fields, as in sample.response";
    }
}

/* The function on top takes no more than it is called with: what is not passed
 * would be nil. */
static void
check_formals(lua_State *L)
{
    const rlf_lua_program *p = rlf_lua_host_of(L)->program;
    bool template = p->per == RLF_LUA_PER_TEMPLATE;
    lua_Debug ar;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">Su", &ar);
    if (*ar.what == 'C' || ar.nparams <= 1 + template)
        return;
    luaL_Buffer names;
    int function = lua_gettop(L);
    luaL_buffinit(L, &names);
    for (int i = 1; i <= ar.nparams; i++) {
        lua_pushvalue(L, function);
        const char *name = lua_getlocal(L, NULL, i);
        luaL_addstring(&names, i > 1 ? ", " : "");
        luaL_addstring(&names, name ? name : "?");
    }
    luaL_pushresult(&names);
    luaL_error(L,
               "%s:%d: the function takes %d arguments (%s), and is called "
               "with %s" RLF_LUA_HINT "%s",
               ar.source + 1, ar.linedefined, ar.nparams, lua_tostring(L, -1),
               formals_of(p->per), formals_hint(p->per));
}

/* Protected: set up the state, run the file, freeze what it made. */
static int
load_file(lua_State *L)
{
    rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_lua_program *p = host->program;
    rlf_lua_open_sandbox(L);
    rlf_lua_refill(host);
    compile(L);
    lua_replace(L, 1);
    lua_settop(L, 1);
    lua_call(L, 0, 1);
    if (!lua_isfunction(L, -1))
        return luaL_error(
            L,
            "%s: the file returned %s%s, but a function is "
            "wanted" RLF_LUA_HINT "end it with: return function(%s) ... end",
            p->path, lua_isnil(L, -1) ? "" : "a ",
            lua_isnil(L, -1) ? "nothing" : luaL_typename(L, -1),
            p->per == RLF_LUA_PER_TEMPLATE ? "messages" : "sample");
    check_formals(L);
    freeze_all(L, 1);
    host->function = luaL_ref(L, LUA_REGISTRYINDEX);
    return 0;
}

static int
panic(lua_State *L)
{
    const char *text = lua_tostring(L, -1);
    rlf_bug_at(__FILE__, __LINE__, text ? text : "unprotected Lua error");
}

static rlf_status
load(rlf_lua_host *host, rlf_err *err)
{
    host->L = NULL;
    host->live = 0;
    host->loaded = host->used = host->metas = false;
    host->n_cells = 0;
    host->left = INT64_MAX / 2;
    host->spent = RLF_LUA_SPENT_NONE;
    host->deadline = 0;
    host->where[0] = 0;
    host->asked = (rlf_lua_asked){0};
    host->refuse_next = host->grown = false;
    host->made = 0;
    host->longest_kept = 0;
    host->call = (rlf_lua_call_state){0};
    forget_sources(host);
    lua_State *L = lua_newstate(rlf_lua_allocate, host);
    if (!L)
        return rlf_fail(err, RLF_MEMORY, "%s: no memory for a Lua state",
                        host->program->path);
    host->L = host->running = L;
    *(rlf_lua_host **)lua_getextraspace(L) = host;
    lua_atpanic(L, panic);
    lua_gc(L, LUA_GCSTOP); /* budget.c says when */
    lua_pushcfunction(L, rlf_lua_on_error);
    lua_pushcfunction(L, load_file);
    int code = lua_pcall(L, 0, 0, 1);
    if (code != LUA_OK)
        return rlf_lua_fail(host, code, err);
    host->load_cost = rlf_lua_budget(host) - (uint64_t)host->left;
    host->loaded = true;
    host->loaded_live = host->live;
    host->longest_kept = host->longest;
    return RLF_OK;
}

static void
unload(rlf_lua_host *host)
{
    if (host->L) {
        lua_sethook(host->L, NULL, 0, 0);
        lua_close(host->L);
    }
    rlf_lua_close_regex(host);
    free(host->cells);
    rlf_lua_forget_names(host);
    host->L = NULL;
    host->cells = NULL;
    host->n_cells = 0;
    host->loaded = false;
}

rlf_status
rlf_lua_host_new(const rlf_lua_program *program, const rlf_lua_options *options,
                 rlf_err *err, rlf_lua_host **out)
{
    rlf_lua_host *host = rlf_calloc(1, sizeof *host);
    host->program = program;
    if (options)
        host->options = *options;
    rlf_status status = load(host, err);
    if (status < 0 && !host->options.unloaded)
        rlf_lua_host_free(host);
    else
        *out = host;
    RLF_TRY(status);
    return RLF_OK;
}

void
rlf_lua_host_free(rlf_lua_host *host)
{
    if (!host)
        return;
    rlf_lua_host_free(host->second);
    unload(host);
    forget_sources(host);
    forget_modules(host);
    free(host);
}

const rlf_lua_source *
rlf_lua_host_sources(const rlf_lua_host *host, size_t *n)
{
    *n = host->sources.count;
    return host->sources.data;
}

const char *const *
rlf_lua_host_missing(const rlf_lua_host *host, size_t *n)
{
    *n = host->missing.count;
    return (const char *const *)host->missing.data;
}

/* --------------------------------------------------------------- calls */

/* The job of a protected call; the host points to it through L's stack as
 * light userdata. */
typedef struct job {
    rlf_lua_host *host;
    rlf_arena *arena;
    rlf_lua_value *out; /* call */
    const rlf_lua_record *messages;
    size_t n;
    bool open;
    rlf_str *text;
    rlf_lua_call_state call;
} job;

static int
do_call(lua_State *L)
{
    const job *j = lua_touserdata(L, 1);
    const rlf_lua_program *p = j->host->program;
    lua_rawgeti(L, LUA_REGISTRYINDEX, j->host->function);
    if (p->per == RLF_LUA_PER_GROUP || p->per == RLF_LUA_PER_BATCH) {
        rlf_lua_push_list(L, j->n);
        for (size_t i = 0; i < j->n; i++) {
            rlf_lua_push_sample(L, i);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
    } else {
        rlf_lua_push_sample(L, 0);
    }
    lua_call(L, 1, LUA_MULTRET);
    rlf_lua_take(L, 2, lua_gettop(L) - 1, j->arena, j->out);
    return 0;
}

static int
do_template(lua_State *L)
{
    const job *j = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, j->host->function);
    rlf_lua_push_list(L, j->n);
    for (size_t i = 0; i < j->n; i++) {
        rlf_lua_push_record(L, &j->messages[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushboolean(L, j->open);
    lua_call(L, 2, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
        return luaL_error(L, "%s: the template returned %s, not a text",
                          j->host->program->path,
                          lua_isnil(L, -1) ? "nil" : luaL_typename(L, -1));
    size_t n;
    const char *text = lua_tolstring(L, -1, &n);
    *j->text = rlf_lua_keep(L, j->arena, text, n);
    return 0;
}

/* Clears what the user's function left behind: file-level variables it set, and
 * metatables that turned weak after setmetatable looked at them. */
static rlf_status
tidy(rlf_lua_host *host, rlf_status status, rlf_err *err)
{
    lua_State *L = host->L;
    char who[128];
    const char *name;
    lua_Debug ar;
    if (host->n_cells && rlf_lua_restore(host, &name, &ar) && status >= 0) {
        char at[256], place[512];
        snprintf(at, sizeof at, "%s:%d: ", ar.source + 1, ar.linedefined);
        rlf_lua_paths(host, at, place, sizeof place);
        rlf_lua_who(host, who, sizeof who);
        status = rlf_fail(err, RLF_USER,
                          "%sthe call changed '%s', a variable outside the "
                          "function%s",
                          place, name, who);
        rlf_err_hint(err,
                     "a call may leave nothing behind for the next one: "
                     "keep '%s' in a local inside the function",
                     name);
    }
    if (!host->metas)
        return status;
    host->metas = false;
    bool weak = false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_metas);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        lua_pushliteral(L, "__mode");
        weak = weak || lua_rawget(L, -2) != LUA_TNIL;
        lua_pop(L, 1);
    }
    lua_settop(L, 1);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_metas);
    if (weak && status >= 0) {
        rlf_lua_who(host, who, sizeof who);
        status = rlf_fail(err, RLF_USER,
                          "%s: __mode was set: weak tables are not allowed%s",
                          host->program->path, who);
    }
    return status;
}

static rlf_status
attempt(rlf_lua_host *host, lua_CFunction what, job *j, rlf_err *err)
{
    lua_State *L = host->L;
    host->call.draws = 0;
    rlf_lua_refill(host);
    lua_pushcfunction(L, what);
    lua_pushlightuserdata(L, j);
    int code = lua_pcall(L, 1, 0, 1);
    rlf_lua_end_time(host);
    if (host->asked.limit && host->spent == RLF_LUA_SPENT_NONE)
        host->spent = RLF_LUA_SPENT_MEMORY; /* the last thing it was told */
    if (code == LUA_OK && host->spent != RLF_LUA_SPENT_NONE) {
        lua_pushliteral(L, "a limit of the call is reached");
        code = LUA_ERRRUN;
    }
    rlf_status status = code == LUA_OK ? RLF_OK : rlf_lua_fail(host, code, err);
    if (host->spent == RLF_LUA_SPENT_MEMORY)
        return status; /* the state is about to be thrown away */
    return tidy(host, status, err);
}

/* Collects the garbage of calls before: it goes before it can bring a call
 * to the limit. If the stack grew, it goes back to its first size. */
static void
sweep(rlf_lua_host *host)
{
    if (!host->grown &&
        host->live <= host->loaded_live + host->program->memory / 4)
        return;
    host->grown = false;
    lua_gc(host->L, LUA_GCCOLLECT);
}

/* A state that ran other calls has a little more alive (Lua's own tables that
 * grew), never less: so a call that does not meet the memory limit there would
 * not meet it in a fresh state either, and one that does is judged by a fresh
 * one, as soon as it does. */
static rlf_status
run(rlf_lua_host *host, rlf_lua_call_state call, lua_CFunction what, job *j,
    rlf_err *err)
{
    if (!host->loaded) {
        unload(host);
        RLF_TRY(load(host, err));
    }
    sweep(host);
    host->call = call;
    rlf_status status = attempt(host, what, j, err);
    if (host->met_limit && host->used) {
        if (err)
            rlf_err_clear(err);
        unload(host);
        RLF_TRY(load(host, err));
        host->call = call;
        status = attempt(host, what, j, err);
    }
    if (host->spent == RLF_LUA_SPENT_MEMORY)
        unload(host);
    host->used = true;
    host->call = (rlf_lua_call_state){0};
    RLF_TRY(status);
    return RLF_OK;
}

static rlf_status
again_call(rlf_lua_host *host, void *arg, rlf_arena *arena, rlf_err *err,
           rlf_lua_value *out)
{
    job j = *(job *)arg;
    j.host = host;
    j.arena = arena;
    j.out = out;
    RLF_TRY(run(host, j.call, do_call, &j, err));
    return RLF_OK;
}

rlf_status
rlf_lua_call(rlf_lua_host *host, const rlf_lua_sample *samples, size_t n,
             rlf_arena *arena, rlf_err *err, rlf_lua_value *out)
{
    rlf_lua_per per = host->program->per;
    bool many = per == RLF_LUA_PER_GROUP || per == RLF_LUA_PER_BATCH;
    RLF_ASSERT(many ? n < INT32_MAX : n == 1);
    RLF_ASSERT(per != RLF_LUA_PER_TEMPLATE);
    job j = {.host = host, .arena = arena, .out = out, .n = n};
    j.call = (rlf_lua_call_state){samples, n, n ? &samples[0].key : NULL, 0};
    rlf_status status = run(host, j.call, do_call, &j, err);
    char who[128];
    host->call = j.call;
    rlf_lua_who(host, who, sizeof who);
    host->call = (rlf_lua_call_state){0};
    return rlf_lua_check_pure(host, again_call, &j, who, status, out,
                              n * host->program->n_gives, err);
}

static rlf_status
again_template(rlf_lua_host *host, void *arg, rlf_arena *arena, rlf_err *err,
               rlf_lua_value *out)
{
    job j = *(job *)arg;
    j.host = host;
    j.arena = arena;
    j.text = &out->text;
    RLF_TRY(run(host, j.call, do_template, &j, err));
    return RLF_OK;
}

rlf_status
rlf_lua_template(rlf_lua_host *host, const rlf_lua_record *messages, size_t n,
                 bool open, rlf_arena *arena, rlf_err *err, rlf_str *out)
{
    RLF_ASSERT(host->program->per == RLF_LUA_PER_TEMPLATE && n < INT32_MAX);
    job j = {.host = host,
             .arena = arena,
             .messages = messages,
             .n = n,
             .open = open,
             .text = out};
    rlf_status status = run(host, j.call, do_template, &j, err);
    rlf_lua_value value = {0};
    if (status >= 0)
        value.text = *out;
    return rlf_lua_check_pure(host, again_template, &j, "", status, &value, 1,
                              err);
}

bool
rlf_lua_forgivable(rlf_status status)
{
    return status == RLF_USER;
}
