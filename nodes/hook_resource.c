/* The resource behind `hook h = lua("f.lua", ...)` or `host()`: what its
 * declaration says, the program that is loaded, its limits, where its print
 * goes. Calls are made in hook.c. */
#include "nodes/hook.h"

#include "engine/base/log.h"
#include "engine/base/vec.h"
#include "engine/comm/comm.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Lines of print that are shown of a hook in a run, on each rank. */
#define MOST_PRINTED 50

static const rlf_formal lua_formals[] = {
    {.name = "path",
     .kind = RLF_FORMAL_PATH,
     .required = true,
     .doc = "a Lua file that returns a function"},
    {.name = "per",
     .kind = RLF_FORMAL_WORD,
     .words = "sample|group|batch|turn|step",
     .labelled = true,
     .doc = "what one call is for"},
    {.name = "instructions",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 10e6,
     .least = 1,
     .most = 1e15,
     .doc = "Lua instructions that one call may run"},
    {.name = "memory",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 64 * 1048576.0,
     .unit = RLF_UNIT_BYTES,
     .least = 1048576,
     .most = 1e12,
     .doc = "bytes that may be alive in the Lua state"},
    {.name = "max_text",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 64 * 1024.0,
     .unit = RLF_UNIT_BYTES,
     .least = 1,
     .most = 1e12,
     .doc = "bytes of the longest text that it may return"},
    {.name = "time",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .unit = RLF_UNIT_TIME,
     .fallback = 60,
     .least = 1e-3,
     .most = 1e9,
     .doc = "seconds after which a call ends the run"},
    {.name = "on_error",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = -1e300,
     .most = 1e300,
     .doc = "value of a sample for which the function fails; without it the "
            "run ends"},
};

static const rlf_constructor constructors[] = {
    {.name = "lua",
     .formals = lua_formals,
     .n_formals = RLF_COUNT(lua_formals),
     .doc = "a function in a Lua file"},
    {.name = "host",
     .formals = &lua_formals[RLF_COUNT(lua_formals) - 1], /* on_error */
     .n_formals = 1,
     .doc = "a function of the program that uses the library"},
};

static const struct {
    const char *word;
    rlf_lua_per per;
} pers[] = {
    {"sample", RLF_LUA_PER_SAMPLE}, {"group", RLF_LUA_PER_GROUP},
    {"batch", RLF_LUA_PER_BATCH},   {"step", RLF_LUA_PER_STEP},
    {"turn", RLF_LUA_PER_TURN},
};

static const struct {
    const char *word;
    rlf_lua_level level;
} levels[] = {
    {"sample", RLF_LUA_SAMPLE},
    {"token", RLF_LUA_TOKEN},
    {"text", RLF_LUA_TEXT},
    {"scalar", RLF_LUA_SCALAR},
};

static double
number_or(const rlf_resource *resource, const char *name, double fallback)
{
    const rlf_arg *arg = rlf_args_find(resource->args, resource->n_args, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : fallback;
}

static rlf_status
make_gives(const rlf_resource *resource, rlf_lua_per per, rlf_arena *arena,
           rlf_err *err, rlf_lua_spec *spec)
{
    int n = resource->n_gives ? resource->n_gives : 1;
    rlf_lua_give *gives = RLF_NEW_ARRAY(arena, rlf_lua_give, n);
    gives[0].level = per == RLF_LUA_PER_STEP ? RLF_LUA_SCALAR : RLF_LUA_SAMPLE;
    for (int i = 0; i < resource->n_gives; i++) {
        const rlf_give *give = &resource->gives[i];
        if (give->name && give->name[0])
            gives[i].name = give->name;
        size_t k = 0;
        while (k < RLF_COUNT(levels) && give->level &&
               strcmp(levels[k].word, give->level) != 0)
            k++;
        if (k == RLF_COUNT(levels)) {
            rlf_fail(err, RLF_USER,
                     "hook '%s' gives one per %s, which a hook cannot",
                     resource->name, give->level);
            rlf_err_hint(err, "a hook gives numbers per sample, `token`, or a "
                              "`text`");
            return RLF_USER;
        }
        if (give->level)
            gives[i].level = levels[k].level;
        if (per == RLF_LUA_PER_STEP && gives[i].level == RLF_LUA_SAMPLE)
            gives[i].level = RLF_LUA_SCALAR;
    }
    spec->gives = gives;
    spec->n_gives = (size_t)n;
    return RLF_OK;
}

/* Output of the function goes to the log, the first lines always: all of them
 * with RLFLOW_LOG=print:debug, none with print:error. */
static void
print(void *arg, const char *who, const char *text, size_t n)
{
    rlf_hook *hook = arg;
    if (hook->printed >= MOST_PRINTED &&
        !rlf_log_says(hook->log, RLF_LOG_DEBUG, RLF_SUB_PRINT))
        return;
    rlf_log_info(hook->log, PRINT, "%s %s%s%.*s", hook->name, who,
                 who[0] ? " " : "", (int)(n < INT_MAX ? n : INT_MAX), text);
    if (++hook->printed == MOST_PRINTED &&
        !rlf_log_says(hook->log, RLF_LOG_DEBUG, RLF_SUB_PRINT))
        rlf_log_info(hook->log, PRINT,
                     "%s no more of its lines are shown: RLFLOW_LOG=print:debug"
                     " shows all",
                     hook->name);
}

rlf_status
rlf_hook_stops(void *arg, double seconds)
{
    const rlf_env *env = arg;
    if (env->comm && rlf_comm_cause(rlf_comm_world_of(env->comm)) != RLF_OK)
        return RLF_PEER;
    if (!env->stops)
        return RLF_OK;
    double taken = seconds + (env->called ? *env->called : 0);
    rlf_status status = env->stops(env->stops_arg, taken);
    if (env->called)
        *env->called = status == RLF_OK ? 0 : taken;
    return status < 0 ? status : RLF_OK;
}

/* The host program has given no function of that name, maybe one that is nearly
 * called so. */
static rlf_status
fail_native(const rlf_env *env, const char *name, rlf_err *err)
{
    rlf_buf given = {0};
    size_t n = 0;
    while (env->hooks && env->hooks[n].name)
        n++;
    const char **names = rlf_malloc((n + 1) * sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = env->hooks[i].name;
        rlf_buf_printf(&given, "%s'%s'", i ? ", " : "", names[i]);
    }
    const char *near = rlf_str_nearest(name, names, n);
    rlf_fail(err, RLF_USER,
             "hook '%s' is a function of the program that uses the library, "
             "which gave none%s",
             name, n ? " of that name" : "");
    if (near)
        rlf_err_hint(err, "rlf_session_hook was given '%s': did you mean '%s'?",
                     near, name);
    else if (n)
        rlf_err_hint(err, "rlf_session_hook was given %s", given.p);
    else
        rlf_err_hint(err,
                     "rlf_session_hook gives it; the command has functions in "
                     "Lua: lua(\"%s.lua\")",
                     name);
    free(names);
    rlf_buf_free(&given);
    return RLF_USER;
}

/* The function that the host program has given for it. */
static rlf_status
load_native(const rlf_env *env, const rlf_resource *resource, rlf_hook *hook,
            rlf_err *err)
{
    rlf_lua_spec spec = {0};
    RLF_TRY(make_gives(resource, RLF_LUA_PER_SAMPLE, hook->arena, err, &spec));
    hook->gives = spec.gives;
    hook->n_gives = spec.n_gives;
    if (spec.n_gives != 1 || spec.gives[0].level != RLF_LUA_SAMPLE)
        return rlf_fail(err, RLF_USER,
                        "hook '%s': a function of the host program gives one "
                        "number per sample",
                        resource->name);
    for (const rlf_host_hook *h = env->hooks; h && h->name; h++)
        if (strcmp(h->name, resource->name) == 0)
            hook->native = h;
    if (hook->native || env->planned)
        return RLF_OK;
    return fail_native(env, resource->name, err);
}

static rlf_status
load_lua(const rlf_env *env, const rlf_resource *resource, rlf_hook *hook,
         rlf_err *err)
{
    const rlf_arg *path =
        rlf_args_find(resource->args, resource->n_args, "path");
    if (!path)
        path = rlf_args_plain(resource->args, resource->n_args, 0);
    const rlf_arg *word =
        rlf_args_find(resource->args, resource->n_args, "per");
    size_t per = 0;
    while (word && word->given && per < RLF_COUNT(pers) &&
           strcmp(pers[per].word, word->text) != 0)
        per++;
    if (!path || path->kind != RLF_ARG_TEXT || per == RLF_COUNT(pers))
        return rlf_fail(err, RLF_BUG, "hook '%s' has wrong arguments",
                        resource->name);
    rlf_lua_spec spec = {
        .path = path->text,
        .dirs = &env->graph->stdlib,
        .n_dirs = env->graph->stdlib ? 1 : 0,
        .per = pers[per].per,
        .instructions = (uint64_t)number_or(resource, "instructions", 0),
        .memory = (uint64_t)number_or(resource, "memory", 0),
        .text = (uint64_t)number_or(resource, "max_text", 0),
        .time = number_or(resource, "time", 0),
    };
    RLF_TRY(make_gives(resource, spec.per, hook->arena, err, &spec));
    RLF_TRY(rlf_arg_blame(
        path, rlf_lua_program_open(hook->arena, &spec, err, &hook->program),
        err));
    hook->gives = spec.gives;
    hook->n_gives = spec.n_gives;
    hook->check_pure = env->check_pure;
    const rlf_lua_options options = {.print = print,
                                     .arg = hook,
                                     .check_pure = env->check_pure,
                                     .stops = rlf_hook_stops,
                                     .stops_arg = (void *)(uintptr_t)env};
    return rlf_arg_blame(
        path, rlf_lua_host_new(hook->program, &options, err, &hook->host), err);
}

static rlf_status
load(const rlf_env *env, const rlf_resource *resource, rlf_hook *hook,
     rlf_err *err)
{
    const rlf_arg *value =
        rlf_args_find(resource->args, resource->n_args, "on_error");
    hook->name = resource->name;
    hook->log = env->log;
    hook->forgiving = value && value->given;
    hook->otherwise = number_or(resource, "on_error", 0);
    return strcmp(resource->constructor, "host") == 0
               ? load_native(env, resource, hook, err)
               : load_lua(env, resource, hook, err);
}

static void
close_hook(void *object)
{
    rlf_hook *hook = object;
    if (!hook)
        return;
    rlf_lua_host_free(hook->host);
    rlf_buf_free(&hook->warnings);
    rlf_arena_free(hook->arena);
    free(hook);
}

static rlf_status
open_hook(const rlf_env *env, const rlf_resource *resource, rlf_err *err,
          void **out)
{
    rlf_hook *hook = rlf_calloc(1, sizeof *hook);
    hook->arena = rlf_arena_new();
    rlf_status status = load(env, resource, hook, err);
    if (status < 0) {
        rlf_err_place(err, resource->span, resource->name);
        close_hook(hook);
        return status;
    }
    *out = hook;
    return RLF_OK;
}

static void
memory(const rlf_graph *graph, const rlf_resource *resource, void *object,
       rlf_memory *out)
{
    (void)graph;
    if (strcmp(resource->constructor, "host") == 0)
        return; /* what it takes is the host program's */
    rlf_memory_row row = {
        .owner = resource->name,
        .purpose = "Lua state",
        .lower = "memory: of the hook",
        .host = (uint64_t)number_or(resource, "memory", 64 * 1048576.0)};
    RLF_PUSH_IN(out->arena, &out->rows, row);
    /* where each call is made again, the other state is kept */
    row.purpose = "second Lua state";
    const rlf_hook *hook = object;
    if (hook && hook->check_pure)
        RLF_PUSH_IN(out->arena, &out->rows, row);
}

/* A hook keeps nothing between calls. */
static rlf_status
no_state(const rlf_env *env, const rlf_resource *resource, void *object,
         const char *directory, rlf_err *err)
{
    (void)env, (void)resource, (void)object, (void)directory, (void)err;
    return RLF_OK;
}

static const char *
per(const rlf_resource *resource)
{
    const rlf_arg *word =
        rlf_args_find(resource->args, resource->n_args, "per");
    return word ? word->text : "sample";
}

static double
text(const rlf_resource *resource)
{
    return number_or(resource, "max_text", 0);
}

/* Comparisons that never hold, and a longest text of what gives none. */
static void
note(const rlf_resource *resource, void *object, rlf_buf *out)
{
    const rlf_arg *most =
        rlf_args_find(resource->args, resource->n_args, "max_text");
    const rlf_hook *hook = object;
    rlf_buf_puts(out, hook->warnings.p ? hook->warnings.p : "");
    if (!most || !most->given || hook->native)
        return;
    for (size_t i = 0; i < hook->n_gives; i++)
        if (hook->gives[i].level == RLF_LUA_TEXT)
            return;
    rlf_buf_printf(out,
                   "warning: %s: max_text: has no effect: it gives no text\n",
                   resource->name);
}

static const rlf_hook_class of_hooks = {.per = per, .text = text};

const rlf_resource_class rlf_resource_hook = {
    .name = "hook",
    .kind = RLF_RESOURCE_HOOK,
    .doc = "a function in Lua, or of the host program",
    .noun = "hook",
    .hook = &of_hooks,
    .constructors = constructors,
    .n_constructors = RLF_COUNT(constructors),
    .open = open_hook,
    .settle = rlf_hook_settle,
    .note = note,
    .close = close_hook,
    .memory = memory,
    .save = no_state,
    .restore = no_state,
    .mark = rlf_resource_no_mark,
    .back = rlf_resource_no_back,
};
