/* Declarations of hooks, checked and copied: see host.h. Nothing runs here.
 */
#include "engine/io/file.h"
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <string.h>

#define FILE_MOST ((size_t)64 << 20)
#define MEMORY_LEAST ((uint64_t)1 << 20)

static rlf_status
check_spec(const rlf_lua_spec *spec, rlf_err *err)
{
    bool text_only = spec->per == RLF_LUA_PER_TURN;
    if (spec->memory && spec->memory < MEMORY_LEAST) {
        rlf_fail(err, RLF_USER, "%s: memory: %" PRIu64 " bytes is too little",
                 spec->path, spec->memory);
        rlf_err_hint(err, "a Lua state alone takes some; give it 1MB or more");
        return RLF_USER;
    }
    if (spec->instructions > INT64_MAX / 2)
        return rlf_fail(err, RLF_USER, "%s: instructions: is too large",
                        spec->path);
    if (!(spec->time >= 0 && spec->time < 1e9))
        return rlf_fail(err, RLF_USER, "%s: time: %g s is no time limit",
                        spec->path, spec->time);
    for (size_t i = 0; i < spec->n_gives; i++) {
        const rlf_lua_give *give = &spec->gives[i];
        if (!give->name && spec->n_gives > 1)
            return rlf_fail(err, RLF_USER, "%s: several results need names",
                            spec->path);
        for (size_t j = 0; j < i; j++)
            if (strcmp(spec->gives[j].name, give->name) == 0)
                return rlf_fail(err, RLF_USER, "%s: result '%s' given twice",
                                spec->path, give->name);
        if (text_only && (spec->n_gives > 1 || give->level != RLF_LUA_TEXT))
            return rlf_fail(err, RLF_USER, "%s: a hook per turn gives one text",
                            spec->path);
        if (spec->per == RLF_LUA_PER_STEP && give->level == RLF_LUA_TOKEN)
            return rlf_fail(err, RLF_USER, "%s: a hook per step has no tokens",
                            spec->path);
    }
    return RLF_OK;
}

rlf_status
rlf_lua_program_open(rlf_arena *arena, const rlf_lua_spec *spec, rlf_err *err,
                     const rlf_lua_program **out)
{
    RLF_TRY(check_spec(spec, err));
    rlf_lua_program *p = RLF_NEW(arena, rlf_lua_program);
    p->path = rlf_arena_strdup(arena, spec->path);
    const char *slash = strrchr(p->path, '/');
    p->name = slash ? slash + 1 : p->path;
    p->line = spec->line > 1 ? spec->line : 1;
    p->per = spec->per;
    p->instructions = spec->instructions ? spec->instructions : 10000000;
    p->memory = spec->memory ? spec->memory : (uint64_t)64 << 20;
    p->text = spec->text ? spec->text : UINT64_MAX;
    p->time = spec->time > 0 ? spec->time : 60;
    if (spec->source) {
        p->source = rlf_str_of(rlf_arena_strdup(arena, spec->source));
    } else {
        rlf_buf text = {0};
        rlf_status status = rlf_file_read(spec->path, FILE_MOST, err, &text);
        if (status >= 0)
            p->source = (rlf_str){
                rlf_arena_strndup(arena, text.p ? text.p : "", text.n), text.n};
        rlf_buf_free(&text);
        if (status < 0 && !rlf_file_exists(spec->path))
            rlf_err_hint(err, "%s", rlf_file_absent);
        RLF_TRY(status);
    }
    const char **dirs = RLF_NEW_ARRAY(arena, const char *, spec->n_dirs + 1);
    dirs[0] = rlf_path_parent(arena, spec->path);
    for (size_t i = 0; i < spec->n_dirs; i++)
        dirs[i + 1] = rlf_arena_strdup(arena, spec->dirs[i]);
    p->dirs = dirs;
    p->n_dirs = spec->n_dirs + 1;
    bool text = spec->per == RLF_LUA_PER_TURN;
    p->n_gives = spec->n_gives ? spec->n_gives : 1;
    rlf_lua_give *gives = RLF_NEW_ARRAY(arena, rlf_lua_give, p->n_gives);
    gives[0].level = text ? RLF_LUA_TEXT : RLF_LUA_SAMPLE;
    for (size_t i = 0; i < spec->n_gives; i++) {
        gives[i].level = spec->gives[i].level;
        if (spec->gives[i].name)
            gives[i].name = rlf_arena_strdup(arena, spec->gives[i].name);
    }
    p->gives = gives;
    *out = p;
    return RLF_OK;
}

