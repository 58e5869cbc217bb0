/* See jinja.h. Entering and leaving: parsing, rendering, errors, limits. */
#include "engine/jinja/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEPTH = 1500, SHORT = 512 };

bool
jinja_text_is(const jinja_text *t, const char *p)
{
    return t->n == strlen(p) && memcmp(t->p, p, t->n) == 0;
}

/* ---- errors ---- */

/* Line and column, from 1, of the place that is worked on. */
static void
find_place(const jinja_run *r, size_t *line, size_t *column)
{
    rlf_str source = r->jinja->source;
    size_t at = r->at < source.n ? r->at : source.n;
    *line = *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (source.p[i] == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)source.p[i] & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static _Noreturn void
leave(jinja_run *r, rlf_status status, const char *text)
{
    size_t line, column;
    find_place(r, &line, &column);
    const rlf_jinja *jinja = r->jinja;
    r->status =
        jinja->part
            ? rlf_fail(r->err, status, "%s: line %zu, column %zu of %s: %s",
                       jinja->file, line, column, jinja->part, text)
            : rlf_fail(r->err, status, "%s:%zu:%zu: %s", jinja->file, line,
                       column, text);
    longjmp(r->stop, 1);
}

void
jinja_stop(jinja_run *r, const char *fmt, ...)
{
    char text[SHORT];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[rlf_str_cut(rlf_str_of(text), sizeof text - 1)] = 0;
    leave(r, RLF_USER, text);
}

void
jinja_stop_text(jinja_run *r, const char *sentence, rlf_str text)
{
    char all[SHORT];
    size_t most = sizeof all - strlen(sentence) - 1;
    snprintf(all, sizeof all, "%s%.*s", sentence, (int)rlf_str_cut(text, most),
             text.p);
    leave(r, RLF_USER, all);
}

/* ---- limits ---- */

void
jinja_pay(jinja_run *r, size_t n)
{
    r->steps -= n < INT32_MAX ? (int64_t)n : INT32_MAX;
    if (r->steps < 0)
        jinja_stop(r,
                   "the template takes too many steps (a loop or text without "
                   "end?)");
}

void *
jinja_alloc(jinja_run *r, size_t n)
{
    size_t used = rlf_arena_used(r->arena) - r->memory_at_first;
    if (n > r->memory || used > r->memory - n)
        jinja_stop(r,
                   "the template takes more memory than a template may have "
                   "(%zu MB)",
                   r->memory >> 20);
    return rlf_arena_alloc(r->arena, n);
}

void
jinja_enter(jinja_run *r)
{
    if (++r->depth > MOST_DEPTH)
        jinja_stop(r, "too many things are in each other (a macro that calls "
                      "itself without end?)");
}

void
jinja_leave(jinja_run *r)
{
    r->depth--;
}

/* ---- buffers ---- */

void
jinja_add(jinja_run *r, jinja_buf *buf, const char *p, size_t n)
{
    jinja_pay(r, n / 32);
    if (buf->room - buf->n < n + 1) {
        size_t room = buf->room ? 2 * buf->room : 64;
        while (room - buf->n < n + 1)
            room *= 2;
        char *new = jinja_alloc(r, room);
        if (buf->n)
            memcpy(new, buf->p, buf->n);
        buf->p = new;
        buf->room = room;
    }
    if (n)
        memcpy(buf->p + buf->n, p, n);
    buf->n += n;
}

void
jinja_puts(jinja_run *r, jinja_buf *buf, const char *p)
{
    jinja_add(r, buf, p, strlen(p));
}

void
jinja_put(jinja_run *r, jinja_buf *buf, uint32_t code)
{
    char c[4];
    size_t n = 1;
    if (code < 0x80) {
        c[0] = (char)code;
    } else if (code < 0x800) {
        n = 2;
        c[0] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        n = 3;
        c[0] = (char)(0xE0 | code >> 12);
    } else {
        n = 4;
        c[0] = (char)(0xF0 | code >> 18);
    }
    for (size_t i = 1; i < n; i++)
        c[i] = (char)(0x80 | (code >> 6 * (n - 1 - i) & 0x3F));
    jinja_add(r, buf, c, n);
}

jinja_value
jinja_taken(jinja_run *r, jinja_buf *buf)
{
    return jinja_text_of(r, buf->n ? buf->p : "", buf->n);
}

/* ---- parsing ---- */

typedef struct opening {
    jinja_run run;
    rlf_jinja *jinja;
} opening;

static void
parse(void *arg)
{
    opening *o = arg;
    jinja_run *r = &o->run;
    if (setjmp(r->stop))
        return;
    jinja_parser p = {.r = r, .tokens = jinja_lex(r, o->jinja->source)};
    o->jinja->body = jinja_parse(&p);
    o->jinja->generates = p.generates;
    jinja_resolve(r, o->jinja);
}

static bool
is_utf8(rlf_str text)
{
    for (size_t i = 0; i < text.n;) {
        size_t n = rlf_str_utf8(text.p + i, text.n - i);
        if (!n)
            return false;
        i += n;
    }
    return true;
}

rlf_status
rlf_jinja_open(const char *file, const char *part, rlf_str source,
               rlf_arena *arena, rlf_err *err, rlf_jinja **out)
{
    const char *words = part ? part : "the chat template";
    if (source.n > RLF_JINJA_MOST)
        return rlf_fail(err, RLF_USER, "%s: %s has more than %d MB", file,
                        words, RLF_JINJA_MOST >> 20);
    if (!is_utf8(source) || (source.n && memchr(source.p, 0, source.n)))
        return rlf_fail(err, RLF_USER, "%s: %s is not a text in UTF-8", file,
                        words);
    RLF_TRY(rlf_arena_room(
        arena, sizeof **out + source.n + strlen(file) + strlen(words) + 64,
        "a chat template", err));
    rlf_jinja *jinja = RLF_NEW(arena, rlf_jinja);
    jinja->file = rlf_arena_strdup(arena, file);
    jinja->part = part ? rlf_arena_strdup(arena, part) : NULL;
    jinja->source = (rlf_str){
        rlf_arena_strndup(arena, source.n ? source.p : "", source.n), source.n};
    opening o = {.jinja = jinja,
                 .run = {.arena = arena,
                         .err = err,
                         .jinja = jinja,
                         .steps = INT64_MAX,
                         .memory = SIZE_MAX / 2,
                         .memory_at_first = rlf_arena_used(arena)}};
    RLF_TRY(rlf_memory_guard(parse, &o, "a chat template", err));
    *out = jinja;
    return o.run.status;
}

bool
rlf_jinja_generates(const rlf_jinja *jinja)
{
    return jinja->generates;
}

/* ---- rendering ---- */

typedef struct rendering {
    jinja_run run;
    const json_t *variables;
    rlf_jinja_output *out;
} rendering;

static void
render(void *arg)
{
    rendering *g = arg;
    jinja_run *r = &g->run;
    jinja_buf buf = {0};
    if (setjmp(r->stop))
        return;
    r->out = r->root = &buf;
    r->variables = jinja_from_json(r, g->variables).dict;
    jinja_frame *frame = jinja_frame_new(r, NULL, r->jinja->function);
    jinja_begin_scope(r, frame, &r->jinja->enter);
    jinja_exec(r, frame, &r->jinja->body);
    jinja_add(r, &buf, "", 0);
    buf.p[buf.n] = 0;
    g->out->text = (rlf_str){buf.p, buf.n};
    g->out->spans = r->spans.data;
    g->out->n_spans = r->spans.count;
}

rlf_status
rlf_jinja_render(const rlf_jinja *jinja, const json_t *variables,
                 const rlf_jinja_options *options, rlf_arena *pool,
                 rlf_err *err, rlf_jinja_output *out)
{
    *out = (rlf_jinja_output){0};
    rendering g = {
        .variables = variables,
        .out = out,
        .run = {.arena = pool,
                .err = err,
                .jinja = jinja,
                .now = options->now,
                .steps = options->steps ? (int64_t)options->steps : 20000000,
                .memory = options->memory ? options->memory : (size_t)256 << 20,
                .memory_at_first = rlf_arena_used(pool)}};
    if (!g.run.now.month)
        g.run.now = (rlf_jinja_date){.year = 1970, .month = 1, .day = 1};
    RLF_TRY(
        rlf_memory_guard(render, &g, "the rendering of a chat template", err));
    out->raised = g.run.raised;
    if (g.run.status < 0)
        rlf_err_pass(err, __func__);
    return g.run.status;
}
