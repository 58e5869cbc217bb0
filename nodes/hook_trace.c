/* Facts of calls of hooks, for who looks at one sample: what the function was
 * given, the lines that ran, what it gave. A function in Lua is called again,
 * line by line, in states of its own (engine/lua/trace.c); a function of the
 * host program is not. */
#include "nodes/hook.h"

#include <inttypes.h>
#include <string.h>

/* --------------------------------------------------------- what is given */

static void
put_text(rlf_buf *out, rlf_str text)
{
    rlf_buf_json(out, text.p ? text.p : "", text.n);
}

static void
put_name(rlf_buf *out, size_t place, const char *name)
{
    rlf_buf_puts(out, place ? "," : "");
    put_text(out, rlf_str_of(name));
    rlf_buf_putc(out, ':');
}

static void put_record(rlf_buf *out, const rlf_lua_field *fields, size_t n);

static void
put_field(rlf_buf *out, const rlf_lua_field *f)
{
    switch (f->kind) {
    case RLF_LUA_NUMBER:
        rlf_buf_number(out, f->number);
        return;
    case RLF_LUA_BYTES:
        put_text(out, f->text);
        return;
    case RLF_LUA_BOOL:
        rlf_buf_puts(out, f->flag ? "true" : "false");
        return;
    default:
        break;
    }
    size_t n = f->kind == RLF_LUA_INTS    ? f->ints.n
               : f->kind == RLF_LUA_TEXTS ? f->texts.n
                                          : f->list.n;
    rlf_buf_putc(out, '[');
    for (size_t i = 0; i < n; i++) {
        rlf_buf_puts(out, i ? "," : "");
        if (f->kind == RLF_LUA_INTS)
            rlf_buf_printf(out, "%d", f->ints.p[i]);
        else if (f->kind == RLF_LUA_TEXTS)
            put_text(out, f->texts.p[i]);
        else
            put_record(out, f->list.p[i].fields, f->list.p[i].n);
    }
    rlf_buf_putc(out, ']');
}

static void
put_record(rlf_buf *out, const rlf_lua_field *fields, size_t n)
{
    rlf_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        put_name(out, i, fields[i].name);
        put_field(out, &fields[i]);
    }
    rlf_buf_putc(out, '}');
}

static void
put_arguments(rlf_buf *out, const rlf_hook_asked *asked, bool many)
{
    rlf_buf_puts(out, many ? "[" : "");
    for (size_t i = 0; i < asked->n; i++) {
        rlf_buf_puts(out, i ? "," : "");
        put_record(out, asked->samples[i].fields, asked->samples[i].n_fields);
    }
    rlf_buf_puts(out, many ? "]" : "");
}

/* --------------------------------------------------------- what is given back
 */

static void
put_value(rlf_buf *out, const rlf_lua_value *value, rlf_lua_level level)
{
    if (level == RLF_LUA_TEXT) {
        put_text(out, value->text);
    } else if (level == RLF_LUA_TOKEN) {
        rlf_buf_putc(out, '[');
        for (size_t i = 0; i < value->n_tokens; i++) {
            rlf_buf_puts(out, i ? "," : "");
            rlf_buf_number(out, value->tokens[i]);
        }
        rlf_buf_putc(out, ']');
    } else {
        rlf_buf_number(out, value->number);
    }
}

/* ,"results":{...},"error":null, of the sample whose values these are. */
static void
put_outcome(rlf_buf *out, const rlf_hook *hook, rlf_status status,
            const rlf_err *why, const rlf_lua_value *values)
{
    rlf_buf_puts(out, "\"results\":");
    if (status < 0) {
        rlf_buf_puts(out, "null,\"error\":");
        put_text(out, rlf_str_of(why->sentence));
        return;
    }
    rlf_buf_putc(out, '{');
    for (size_t g = 0; g < hook->n_gives; g++) {
        const char *name = hook->gives[g].name;
        put_name(out, g, name ? name : hook->name);
        put_value(out, &values[g], hook->gives[g].level);
    }
    rlf_buf_puts(out, "},\"error\":null");
}

/* ------------------------------------------------------------- the fact */

/* The sample's place among those that the call is for. */
static bool
is_asked(const rlf_call *call, const rlf_sample_trace *trace,
         const rlf_hook_asked *asked, size_t *place)
{
    uint32_t row;
    if (!asked->row ||
        !rlf_sample_trace_row(trace, call->in[0].rows->samples, &row))
        return false;
    for (size_t i = 0; i < asked->n; i++)
        if (asked->row[i] == row) {
            *place = i;
            return true;
        }
    return false;
}

/* Call it again, and add what it did. */
static void
put_again(rlf_buf *out, const rlf_hook *hook, const rlf_hook_asked *asked,
          size_t place)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_value *values =
        RLF_NEW_ARRAY(arena, rlf_lua_value, asked->n * hook->n_gives);
    rlf_lua_trace lua = {0};
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = rlf_lua_call_traced(
        hook->host, asked->samples, asked->n, arena, &why, values, &lua);
    bool same = status == asked->status &&
                (status >= 0 || !strcmp(why.sentence, asked->why->sentence));
    for (size_t i = 0; i < asked->n * hook->n_gives && status >= 0; i++)
        same = same && rlf_lua_same(&asked->values[i], &values[i]);
    rlf_buf_puts(out, ",\"file\":");
    put_text(out, (rlf_str){lua.file.p, lua.file.n});
    rlf_buf_puts(out, ",\"function\":");
    put_text(out, (rlf_str){lua.function.p, lua.function.n});
    rlf_buf_printf(out,
                   ",\"function_line\":%d,\"instructions\":%" PRIu64
                   ",\"lines_run\":%" PRIu64 ",\"lines_left_out\":%" PRIu64
                   ",\"lines\":%s,\"same\":%s",
                   lua.line, lua.instructions, lua.n_lines, lua.left_out,
                   lua.lines.n ? lua.lines.p : "[]", same ? "true" : "false");
    if (!same) {
        rlf_buf_puts(out, ",\"again\":{");
        put_outcome(out, hook, status, &why, values + place * hook->n_gives);
        rlf_buf_putc(out, '}');
    }
    rlf_lua_trace_free(&lua);
    rlf_arena_free(arena);
}

void
rlf_hook_trace(const rlf_call *call, const rlf_hook_asked *asked)
{
    const rlf_env *env = call->env;
    rlf_sample_trace *trace = rlf_sample_trace_of(env);
    const rlf_hook *hook = env->resource[call->node->receiver];
    size_t place;
    if (!trace || !is_asked(call, trace, asked, &place))
        return;
    rlf_buf fact = {0};
    const char *per = call->node->class->name;
    rlf_sample_trace_begin(env->graph, "hook", call->node, call->iteration,
                           &fact);
    rlf_buf_puts(&fact, ",\"name\":");
    put_text(&fact, rlf_str_of(hook->name));
    rlf_buf_printf(&fact, ",\"per\":\"%s\",\"index\":%zu,\"samples\":%zu", per,
                   place, asked->n);
    rlf_buf_puts(&fact, ",\"arguments\":");
    put_arguments(&fact, asked, strcmp(per, "sample") != 0);
    rlf_buf_putc(&fact, ',');
    put_outcome(&fact, hook, asked->status, asked->why,
                asked->values + place * hook->n_gives);
    if (hook->forgiving && asked->status < 0 &&
        rlf_lua_forgivable(asked->status)) {
        rlf_buf_puts(&fact, ",\"on_error\":");
        rlf_buf_number(&fact, hook->otherwise);
    }
    if (hook->native)
        rlf_buf_puts(&fact, ",\"file\":null,\"function\":null,\"lines\":[],"
                            "\"lines_run\":0,\"lines_left_out\":0,"
                            "\"same\":null");
    else
        put_again(&fact, hook, asked, place);
    rlf_buf_putc(&fact, '}');
    rlf_sample_trace_add(trace, &fact);
    rlf_buf_free(&fact);
}
