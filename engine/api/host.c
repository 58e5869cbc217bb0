/* Functions of the program that uses the library: hooks in C, with the fields
 * of a sample, and a place for the log. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "nodes/hook.h"

#include <math.h>
#include <string.h>

/* ---- the log ---- */

static void
pass_line(void *arg, rlf_log_level level, const char *line)
{
    const rlf_session *s = arg;
    s->host.log(s->host.log_arg, (int)level, line);
}

rlf_result
rlf_session_log(rlf_session *s, rlf_log_function *function, void *arg)
{
    if (!s)
        return RLF_RESULT_FAILED;
    s->host.log = function;
    s->host.log_arg = arg;
    if (s->logging.file < 0)
        s->logging.log.sink = function ? pass_line : rlf_log_to_stderr;
    return RLF_RESULT_OK;
}

/* ---- hooks ---- */

rlf_result
rlf_session_hook(rlf_session *s, const char *name, rlf_hook_function *function,
                 void *arg)
{
    if (!s)
        return RLF_RESULT_FAILED;
    if (s->run)
        return rlf_session_result(rlf_fail(
            &s->err, RLF_USAGE,
            "the function of hook '%s' is given after the first step", name));
    if (!function)
        return rlf_session_result(
            rlf_fail(&s->err, RLF_USAGE, "hook '%s' has no function", name));
    const rlf_host_hook hook = {
        .name = rlf_arena_strdup(s->arena, name), .call = function, .arg = arg};
    RLF_PUSH_IN(s->arena, &s->host.hooks, hook);
    return RLF_RESULT_OK;
}

static const rlf_lua_field *
field(const rlf_hook_sample *sample, const char *name)
{
    const rlf_lua_sample *of = sample->sample;
    for (size_t i = 0; i < of->n_fields; i++)
        if (strcmp(of->fields[i].name, name) == 0)
            return &of->fields[i];
    return NULL;
}

const char *
rlf_hook_sample_text(const rlf_hook_sample *sample, const char *name, size_t *n)
{
    const rlf_lua_field *f = field(sample, name);
    bool text = f && f->kind == RLF_LUA_BYTES;
    *n = text ? f->text.n : 0;
    return text ? f->text.p : NULL;
}

double
rlf_hook_sample_number(const rlf_hook_sample *sample, const char *name)
{
    const rlf_lua_field *f = field(sample, name);
    return f && f->kind == RLF_LUA_NUMBER ? f->number
           : f && f->kind == RLF_LUA_BOOL ? f->flag
                                          : NAN;
}

const int32_t *
rlf_hook_sample_tokens(const rlf_hook_sample *sample, size_t *n)
{
    const rlf_lua_field *f = field(sample, "tokens");
    bool tokens = f && f->kind == RLF_LUA_INTS;
    *n = tokens ? f->ints.n : 0;
    return tokens ? f->ints.p : NULL;
}
