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
        return rlf_session_status(s);
    s->host.log = function;
    s->host.log_arg = arg;
    if (s->logging.file < 0)
        s->logging.log.sink = function ? pass_line : rlf_log_to_stderr;
    return rlf_session_status(s);
}

/* ---- hooks ---- */

rlf_result
rlf_session_hook(rlf_session *s, const char *name, rlf_hook_function *function,
                 void *arg)
{
    if (!rlf_call_begins(
            s, __func__,
            RLF_POINTERS({"name", name}, {"function", function ? s : NULL})))
        return rlf_session_status(s);
    if (s->run || s->ended)
        return rlf_call_refuse(
            s,
            "the function of hook '%s' is given before the session is ready, "
            "not afterwards",
            name);
    const rlf_host_hook hook = {
        .name = rlf_arena_strdup(s->arena, name), .call = function, .arg = arg};
    RLF_PUSH_IN(s->arena, &s->host.hooks, hook);
    return RLF_RESULT_OK;
}

/* Returns the hook of that name in the program, or NULL. */
static const rlf_resource *
hook_called(const rlf_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->resources.count; i++) {
        const rlf_resource *r = &graph->resources.data[i];
        if (r->name && r->constructor && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

void
rlf_host_warn(rlf_session *s)
{
    for (size_t i = 0; i < s->host.hooks.count; i++) {
        const char *name = s->host.hooks.data[i].name;
        const rlf_resource *r = name ? hook_called(s->graph, name) : NULL;
        if (!name || (r && strcmp(r->constructor, "host") == 0))
            continue;
        if (r)
            rlf_buf_line(&s->warned.lines,
                         "the function of hook '%s' is never called: '%s' of "
                         "the program is %s(...), and not host()\n",
                         name, name, r->constructor);
        else
            rlf_buf_line(&s->warned.lines,
                         "the function of hook '%s' is never called: the "
                         "program has no hook of that name that is host()\n",
                         name);
    }
}

/* ---- samples ---- */

static const rlf_lua_field *
field(const rlf_hook_sample *sample, const char *name)
{
    const rlf_lua_sample *of = sample ? sample->sample : NULL;
    for (size_t i = 0; of && name && i < of->n_fields; i++)
        if (strcmp(of->fields[i].name, name) == 0)
            return &of->fields[i];
    return NULL;
}

const char *
rlf_hook_sample_text(const rlf_hook_sample *sample, const char *name, size_t *n)
{
    const rlf_lua_field *f = field(sample, name);
    bool text = f && f->kind == RLF_LUA_BYTES;
    if (n)
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
    if (n)
        *n = tokens ? f->ints.n : 0;
    return tokens ? f->ints.p : NULL;
}
