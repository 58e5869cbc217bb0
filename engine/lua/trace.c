/* A call line by line: it is made again, in states of its own, with a hook that
 * notes each line and what the line changed. The state of the run's calls sees
 * nothing of it.
 *
 * The call is made twice. The first time its instructions and its lines are
 * counted, the second time the first and the last lines are kept. The second
 * one is held to the limits as any call is (budget.c has the hook, and hands on
 * what is traced), so its outcome is that of the run.
 *
 * A line is an event before it runs. So what a line changed is known at the
 * next event of the same function: its next line, or its end. Each function
 * that is at work has a frame, with the digests of its variables at its last
 * event. Frames are found by the height of their stack, since an error ends
 * functions without an event. */
#include "engine/base/vec.h"
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST = 1000,      /* lines that are kept from the beginning, */
    LAST = 1000,       /* and from the end; */
    MOST = 4000,       /* lines in all, whatever was counted before */
    DEEP = 250,        /* lines of functions that are deeper are left out, */
    LAST_DEEP = 3,     /* but for the last ones: an error may be there */
    VALUES_MOST = 8,   /* values of a return, or of `...`, that are shown */
    SOURCE_MOST = 400, /* bytes of a line of source */
};

typedef struct variable {
    const char *name; /* Lua's; the same name is at the same address */
    int slot;         /* its number among locals; upvalues: below 0 */
    uint64_t digest;
    rlf_lua_fields fields; /* of a large table */
} variable;

typedef struct variables {
    variable *data;
    size_t count, room;
} variables;

typedef struct frame {
    int height;    /* functions on the stack, itself included, */
    int depth;     /* those that are Lua's, of all threads */
    bool fresh;    /* it has not run a line yet */
    size_t record; /* the line that it is at, from 1; 0: one that is not kept */
    size_t tail;   /* the line that called it to be its own end, or 0 */
    variables seen;
} frame;

typedef struct thread {
    lua_State *L;
    int parent; /* the one that ran when this one began; -1: none */
    int base;   /* Lua functions below its own */
    int height; /* of its stack, when it was last asked for */
    struct {
        frame *data;
        size_t count, room;
    } frames;
} thread;

/* One line that ran: the n-th one, from 1. The buffers have members of JSON
 * objects, or elements. */
typedef struct record {
    uint64_t n;
    char *file;
    int line, depth;
    bool first, returned, error;
    char *function;
    rlf_str source; /* of the program or its modules */
    rlf_buf arguments, values, returns;
} record;

struct rlf_lua_tracer {
    bool counts;    /* instructions and lines, nothing else */
    uint64_t lines; /* so far */
    uint64_t all;   /* lines that were counted before, or 0 */
    bool skipping;  /* the last line was left out */
    int current;    /* index of the thread of the last event, or -1 */
    struct {
        thread *data;
        size_t count, room;
    } threads;
    struct {
        record *data;
        size_t count, room;
    } records;
    variables now;
    rlf_buf text;
};

bool
rlf_lua_traces_each(const rlf_lua_tracer *t)
{
    return t->counts;
}

/* -------------------------------------------------------------- source */

/* The text of the file that Lua knows by this name; empty: it is not known. */
static rlf_str
text_of(const rlf_lua_host *host, const char *name, int *first)
{
    const rlf_lua_program *p = host->program;
    *first = 1;
    if (strcmp(name, p->name) == 0) {
        *first = (int)p->line;
        return p->source;
    }
    if (strncmp(name, "require/", 8) == 0)
        name += 8;
    for (size_t i = 0; i < host->sources.count; i++) {
        const char *module = host->sources.data[i].module;
        size_t k = 0;
        while (module[k] && name[k] == (module[k] == '.' ? '/' : module[k]))
            k++;
        if (!*module || module[k] || strcmp(name + k, ".lua") != 0)
            continue;
        const rlf_lua_module *kept = rlf_lua_kept_module(host, module);
        return kept ? (rlf_str){kept->text.p, kept->text.n} : (rlf_str){0};
    }
    return (rlf_str){0};
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The file of a function as messages call it; of what `load` made, its name. */
static const char *
path_of(const rlf_lua_host *host, const lua_Debug *ar)
{
    if (*ar->source != '@')
        return ar->short_src;
    for (size_t i = 0; i < host->n_files; i++)
        if (strcmp(host->files[i].name, ar->source + 1) == 0)
            return host->files[i].path;
    return ar->source + 1;
}

/* A line of the function's file, without the blanks around it; empty: it is not
 * known. */
static rlf_str
line_of(const rlf_lua_host *host, const lua_Debug *ar, int line)
{
    int at = 1;
    rlf_str text = {0};
    if (*ar->source == '@')
        text = text_of(host, ar->source + 1, &at);
    const char *p = text.p, *end = text.p + text.n;
    for (; p < end && at < line; at++) {
        const char *feed = memchr(p, '\n', (size_t)(end - p));
        p = feed ? feed + 1 : end;
    }
    if (p >= end)
        return (rlf_str){0};
    const char *feed = memchr(p, '\n', (size_t)(end - p));
    end = feed ? feed : end;
    while (p < end && is_blank(*p))
        p++;
    while (end > p && is_blank(end[-1]))
        end--;
    return (rlf_str){p, (size_t)(end - p)};
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':';
}

/* The name that a line gives to a function: `function NAME(` or `NAME =
 * function(`; empty: none. */
static rlf_str
name_in(rlf_str line)
{
    static const char word[] = "function";
    const size_t n = sizeof word - 1;
    const char *p = line.p, *end = line.p + line.n;
    while (p && p + n <= end && memcmp(p, word, n) != 0)
        p++;
    if (!p || p + n > end)
        return (rlf_str){0};
    const char *from = p + n, *to;
    while (from < end && is_blank(*from))
        from++;
    for (to = from; to < end && is_letter(*to);)
        to++;
    if (to > from && from > p + n)
        return (rlf_str){from, (size_t)(to - from)};
    while (p > line.p && is_blank(p[-1]))
        p--;
    if (p == line.p || p[-1] != '=')
        return (rlf_str){0};
    for (p--; p > line.p && is_blank(p[-1]);)
        p--;
    for (from = p; from > line.p && is_letter(from[-1]);)
        from--;
    return (rlf_str){from, (size_t)(p - from)};
}

/* ----------------------------------------------------- threads, frames */

/* The functions on the stack, C functions among them. To ask for a level takes
 * time linear in it, so the search begins at the last height. */
static int
height_of(thread *at)
{
    lua_Debug ar;
    int least = 0, most = at->height > 1 ? at->height : 1;
    if (lua_getstack(at->L, most - 1, &ar)) {
        least = most - 1;
        for (int step = 1; lua_getstack(at->L, most, &ar); step *= 2) {
            least = most;
            most += step;
        }
    } else {
        least = --most;
        for (int step = 1; !lua_getstack(at->L, least, &ar); step *= 2) {
            most = least;
            least = least > step ? least - step : 0;
        }
    }
    while (most - least > 1) {
        int middle = least + (most - least) / 2;
        if (lua_getstack(at->L, middle, &ar))
            least = middle;
        else
            most = middle;
    }
    return at->height = most;
}

static frame *
top_of(thread *at)
{
    return at->frames.count ? &at->frames.data[at->frames.count - 1] : NULL;
}

static record *
record_of(rlf_lua_tracer *t, size_t number)
{
    return number ? &t->records.data[number - 1] : NULL;
}

static void
forget(variables *list)
{
    for (size_t i = 0; i < list->count; i++)
        RLF_VEC_FREE(&list->data[i].fields);
    list->count = 0;
}

static void
drop_frame(thread *at)
{
    forget(&top_of(at)->seen);
    RLF_VEC_FREE(&top_of(at)->seen);
    at->frames.count--;
}

/* The number of Lua functions on the stack of the thread, which has `height` in
 * all, and below it. */
static int
depth_of(const thread *at, lua_State *L, int height)
{
    lua_Debug ar;
    int n = at->base;
    if (height > DEEP)
        return n + height;
    for (int i = 0; lua_getstack(L, i, &ar); i++) {
        lua_getinfo(L, "S", &ar);
        n += *ar.what != 'C';
    }
    return n;
}

/* The index of the thread, or -1. The one that runs, or the one that resumed
 * it, is asked for most often. */
static int
index_of(const rlf_lua_tracer *t, lua_State *L)
{
    int i = t->current;
    if (i >= 0 && t->threads.data[i].L != L)
        i = t->threads.data[i].parent;
    if (i >= 0 && t->threads.data[i].L == L)
        return i;
    i = (int)t->threads.count - 1;
    while (i >= 0 && t->threads.data[i].L != L)
        i--;
    return i;
}

/* The thread that an event is of. The first one is that of the call. */
static thread *
thread_of(rlf_lua_tracer *t, lua_State *L, const lua_Debug *ar)
{
    lua_Debug below;
    int before = t->current, i = index_of(t, L);
    if (i < 0) {
        thread new = {.L = L, .parent = -1};
        i = (int)t->threads.count;
        RLF_PUSH(&t->threads, new);
    }
    thread *at = &t->threads.data[i];
    /* The function of a coroutine begins: the last event was the call of what
     * resumed it. It may lie where one was that is gone. */
    if (i > 0 && ar->event == LUA_HOOKCALL && !lua_getstack(L, 1, &below)) {
        thread *by = &t->threads.data[before];
        at->parent = before;
        at->base = depth_of(by, by->L, height_of(by));
    }
    t->current = i;
    return at;
}

/* Forget the frames that an error ended, those above `height`: it was raised in
 * the innermost of them. */
static void
unwind(rlf_lua_tracer *t, thread *at, int height)
{
    bool innermost = true;
    while (at->frames.count && top_of(at)->height > height) {
        record *r = record_of(t, top_of(at)->record);
        if (r && innermost)
            r->error = true;
        innermost = false;
        drop_frame(at);
    }
}

static void
drop_frames(rlf_lua_tracer *t)
{
    for (size_t i = 0; i < t->threads.count; i++)
        while (t->threads.data[i].frames.count)
            drop_frame(&t->threads.data[i]);
}

/* ----------------------------------------------------------- variables */

/* The same variable as it was at the last look, or NULL. */
static variable *
find_variable(const variables *before, const char *name, int slot)
{
    for (size_t i = 0; i < before->count; i++)
        if (before->data[i].slot == slot && before->data[i].name == name)
            return &before->data[i];
    return NULL;
}

/* Take the value on top: note it, and put it into `out` if it is another; of a
 * large table only the fields that are. */
static void
see(rlf_lua_tracer *t, lua_State *L, frame *f, const char *name, int slot,
    rlf_buf *out)
{
    rlf_buf_clear(&t->text);
    variable v = {name, slot, rlf_lua_write(L, -1, &t->text), {0}};
    variable *before = find_variable(&f->seen, name, slot);
    if (before && before->digest == v.digest) {
        v.fields = before->fields;
        before->fields = (rlf_lua_fields){0};
    } else {
        rlf_lua_note_fields(L, -1, &v.fields);
        bool fields = out && before && v.fields.count && before->fields.count &&
                      v.fields.table == before->fields.table;
        if (fields)
            fields = rlf_lua_write_changes(L, -1, name, &before->fields, out);
        if (out && !fields)
            rlf_lua_put_member(out, name, &t->text);
    }
    lua_pop(L, 1);
    RLF_PUSH(&t->now, v);
}

/* The name of the local variable `i` of the function, or NULL; its value is
 * pushed. `hidden`: Lua's own, as of a loop. Temporary values come last. */
static const char *
local_at(lua_State *L, const lua_Debug *ar, int i, bool *hidden)
{
    const char *name = lua_getlocal(L, ar, i);
    *hidden = name && *name == '(';
    if (name && strstr(name, "temporary)")) {
        lua_pop(L, 1);
        return NULL;
    }
    return name;
}

static bool
is_shadowed(lua_State *L, const lua_Debug *ar, int i, const char *name)
{
    bool hidden;
    for (const char *other; (other = local_at(L, ar, ++i, &hidden));) {
        lua_pop(L, 1);
        if (strcmp(other, name) == 0)
            return true;
    }
    return false;
}

/* Look at the variables of the function of the event: those that are others
 * than at its last look go to `out`, which may be NULL. */
static void
look(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, frame *f, rlf_buf *out)
{
    bool hidden;
    forget(&t->now);
    int i = 1;
    for (const char *name; (name = local_at(L, ar, i, &hidden)); i++) {
        if (hidden)
            lua_pop(L, 1);
        else
            see(t, L, f, name, i, is_shadowed(L, ar, i, name) ? NULL : out);
    }
    if (f->fresh)
        out = NULL; /* its arguments are the locals alone */
    lua_getinfo(L, "f", ar);
    int function = lua_gettop(L);
    i = 1;
    for (const char *name; (name = lua_getupvalue(L, function, i)); i++) {
        if (!*name || strcmp(name, "_ENV") == 0)
            lua_pop(L, 1);
        else
            see(t, L, f, name, -i, is_shadowed(L, ar, 0, name) ? NULL : out);
    }
    lua_settop(L, function - 1);
    variables before = f->seen;
    f->seen = t->now;
    t->now = before;
}

/* Values at `at` and behind, of the call or return; `out`: elements. */
static void
put_list(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, int at, int step,
         int n, rlf_buf *out)
{
    for (int i = 0; i < n && i < VALUES_MOST; i++) {
        if (!lua_getlocal(L, ar, at + i * step))
            return;
        rlf_buf_clear(&t->text);
        rlf_lua_write(L, -1, &t->text);
        lua_pop(L, 1);
        rlf_buf_puts(out, out->n ? "," : "");
        rlf_buf_json(out, t->text.p, t->text.n);
    }
    if (n > VALUES_MOST) {
        char more[40];
        snprintf(more, sizeof more, ",\"... %d more\"", n - VALUES_MOST);
        rlf_buf_puts(out, more);
    }
}

/* The values of `...`, as one member. */
static void
put_varargs(lua_State *L, lua_Debug *ar, rlf_buf *out)
{
    rlf_buf all = {0};
    int i = 1;
    for (; i <= VALUES_MOST && lua_getlocal(L, ar, -i); i++) {
        rlf_buf_puts(&all, all.n ? ", " : "");
        rlf_lua_write(L, -1, &all);
        lua_pop(L, 1);
    }
    if (lua_getlocal(L, ar, -i)) {
        lua_pop(L, 1);
        rlf_buf_puts(&all, ", ...");
    }
    if (all.n)
        rlf_lua_put_member(out, "...", &all);
    rlf_buf_free(&all);
}

/* -------------------------------------------------------------- events */

static char *
copy_text(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(rlf_malloc(n), text, n);
}

/* Begin the record of a line. */
static size_t
add_record(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, int depth)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    record r = {.n = t->lines, .line = ar->currentline, .depth = depth};
    r.source = line_of(host, ar, r.line);
    r.file = copy_text(path_of(host, ar));
    RLF_PUSH(&t->records, r);
    return t->records.count;
}

/* Is the line that begins left out? */
static bool
is_left_out(const rlf_lua_tracer *t, lua_State *L)
{
    lua_Debug ar;
    uint64_t n = t->lines;
    if (t->records.count >= MOST || (n > FIRST && n + LAST <= t->all))
        return true;
    return n + LAST_DEEP <= t->all && lua_getstack(L, DEEP, &ar);
}

/* A line that is left out: the one before it is complete now. */
static void
skip_line(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, thread *at)
{
    if (t->skipping)
        return;
    unwind(t, at, height_of(at));
    frame *f = top_of(at);
    record *r = f ? record_of(t, f->record) : NULL;
    if (r)
        look(t, L, ar, f, &r->values);
    t->skipping = true;
    drop_frames(t);
}

/* `fresh`: it begins, so that only C functions lie between it and the last. */
static frame *
push_frame(thread *at, lua_State *L, int height, bool fresh)
{
    frame new = {.height = height, .fresh = fresh};
    const frame *caller = fresh ? top_of(at) : NULL;
    new.depth = caller ? caller->depth + 1 : depth_of(at, L, height);
    RLF_PUSH(&at->frames, new);
    return top_of(at);
}

static void
see_line(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, thread *at)
{
    if (is_left_out(t, L)) {
        skip_line(t, L, ar, at);
        return;
    }
    t->skipping = false;
    int height = height_of(at);
    unwind(t, at, height);
    frame *f = top_of(at);
    if (!f || f->height < height)
        f = push_frame(at, L, height, false);
    lua_getinfo(L, "nS", ar);
    size_t new = add_record(t, L, ar, f->depth);
    record *r = record_of(t, new);
    if (f->fresh) {
        r->first = true;
        if (ar->name)
            r->function = copy_text(ar->name);
        look(t, L, ar, f, &r->arguments);
        lua_getinfo(L, "u", ar);
        if (ar->isvararg)
            put_varargs(L, ar, &r->arguments);
    } else {
        record *before = record_of(t, f->record);
        look(t, L, ar, f, before ? &before->values : NULL);
    }
    f->fresh = false;
    f->record = new;
}

/* A Lua function begins; `tail`: in the place of another. */
static void
see_call(rlf_lua_tracer *t, lua_State *L, thread *at, bool tail)
{
    int height = height_of(at);
    size_t from = 0;
    unwind(t, at, height);
    frame *f = top_of(at);
    if (f && f->height == height) {
        if (tail)
            from = f->tail ? f->tail : f->record;
        drop_frame(at);
    }
    push_frame(at, L, height, true)->tail = from;
}

static void
see_return(rlf_lua_tracer *t, lua_State *L, lua_Debug *ar, thread *at)
{
    int height = height_of(at);
    unwind(t, at, height);
    frame *f = top_of(at);
    if (!f || f->height != height)
        return;
    record *r = record_of(t, f->record), *tail = record_of(t, f->tail);
    if (r) {
        look(t, L, ar, f, &r->values);
        lua_getinfo(L, "r", ar);
        put_list(t, L, ar, ar->ftransfer, 1, ar->ntransfer, &r->returns);
        r->returned = true;
    }
    if (r && tail) {
        tail->returned = true;
        rlf_buf_add(&tail->returns, r->returns.p ? r->returns.p : "",
                    r->returns.n);
    }
    drop_frame(at);
}

void
rlf_lua_trace_event(lua_State *L, lua_Debug *ar)
{
    rlf_lua_tracer *t = rlf_lua_host_of(L)->tracer;
    t->lines += ar->event == LUA_HOOKLINE;
    if (t->counts)
        return;
    thread *at = thread_of(t, L, ar);
    if (ar->event == LUA_HOOKLINE) {
        see_line(t, L, ar, at);
        return;
    }
    lua_getinfo(L, "S", ar);
    if (t->skipping || *ar->what == 'C')
        return;
    if (ar->event == LUA_HOOKRET)
        see_return(t, L, ar, at);
    else
        see_call(t, L, at, ar->event == LUA_HOOKTAILCALL);
}

/* ----------------------------------------------------------- the whole */

/* The call failed: mark the line that it ended at. */
static void
mark_error(rlf_lua_tracer *t)
{
    size_t n = t->threads.count;
    for (int i = t->current; i >= 0 && n--; i = t->threads.data[i].parent) {
        const frame *f = top_of(&t->threads.data[i]);
        record *r = f ? record_of(t, f->record) : NULL;
        if (r)
            r->error = true;
        if (f)
            return;
    }
}

static void
put_record(const record *r, rlf_buf *out)
{
    rlf_buf_puts(out, "{\"file\":");
    rlf_buf_json(out, r->file, strlen(r->file));
    rlf_buf_printf(out, ",\"line\":%d,\"source\":", r->line);
    bool cut = r->source.n > SOURCE_MOST;
    rlf_buf_json(out, r->source.p ? r->source.p : "",
                 cut ? rlf_str_cut(r->source, SOURCE_MOST) : r->source.n);
    rlf_buf_printf(out, ",\"depth\":%d", r->depth);
    if (r->function) {
        rlf_buf_puts(out, ",\"function\":");
        rlf_buf_json(out, r->function, strlen(r->function));
    }
    if (r->first)
        rlf_buf_printf(out, ",\"arguments\":{%s}",
                       r->arguments.n ? r->arguments.p : "");
    rlf_buf_printf(out, ",\"values\":{%s}", r->values.n ? r->values.p : "");
    if (r->returned)
        rlf_buf_printf(out, ",\"returns\":[%s]",
                       r->returns.n ? r->returns.p : "");
    rlf_buf_puts(out, r->error ? ",\"error\":true}" : "}");
}

/* Say that n lines are left out, if they are; the first line never is. */
static void
put_gap(uint64_t n, rlf_buf *out)
{
    if (n)
        rlf_buf_printf(out, ",\n{\"left_out\":%" PRIu64 "}", n);
}

static void
put_records(const rlf_lua_tracer *t, rlf_lua_trace *out)
{
    out->n_lines = t->lines;
    out->left_out = t->lines - t->records.count;
    uint64_t last = 0;
    rlf_buf_putc(&out->lines, '[');
    for (size_t i = 0; i < t->records.count; i++) {
        const record *r = &t->records.data[i];
        put_gap(r->n - last - 1, &out->lines);
        rlf_buf_puts(&out->lines, last ? ",\n" : "");
        put_record(r, &out->lines);
        last = r->n;
    }
    put_gap(t->lines - last, &out->lines);
    rlf_buf_putc(&out->lines, ']');
}

static void
clear(rlf_lua_tracer *t)
{
    drop_frames(t);
    for (size_t i = 0; i < t->threads.count; i++)
        RLF_VEC_FREE(&t->threads.data[i].frames);
    for (size_t i = 0; i < t->records.count; i++) {
        record *r = &t->records.data[i];
        free(r->file);
        free(r->function);
        rlf_buf_free(&r->arguments);
        rlf_buf_free(&r->values);
        rlf_buf_free(&r->returns);
    }
    RLF_VEC_FREE(&t->threads);
    RLF_VEC_FREE(&t->records);
    forget(&t->now);
    RLF_VEC_FREE(&t->now);
    rlf_buf_free(&t->text);
}

/* Say which function the call is of. */
static void
name_function(rlf_lua_host *host, rlf_lua_trace *trace)
{
    lua_Debug ar;
    lua_rawgeti(host->L, LUA_REGISTRYINDEX, host->function);
    lua_getinfo(host->L, ">S", &ar);
    rlf_str name = name_in(line_of(host, &ar, ar.linedefined));
    rlf_buf_puts(&trace->file, path_of(host, &ar));
    trace->line = ar.linedefined;
    rlf_buf_add(&trace->function, name.p ? name.p : "", name.n);
}

static void
mute(void *arg, const char *who, const char *text, size_t n)
{
    (void)arg, (void)who, (void)text, (void)n;
}

rlf_status
rlf_lua_call_traced(rlf_lua_host *host, const rlf_lua_sample *samples, size_t n,
                    rlf_arena *arena, rlf_err *err, rlf_lua_value *out,
                    rlf_lua_trace *trace)
{
    rlf_lua_options options = {.print = host->options.print ? mute : NULL,
                               .second = true,
                               .first = host,
                               .stops = host->options.stops,
                               .stops_arg = host->options.stops_arg};
    rlf_status status = RLF_OK;
    uint64_t lines = 0;
    for (int pass = 0; pass < 2; pass++) {
        rlf_lua_tracer tracer = {
            .counts = pass == 0, .all = lines, .current = -1};
        rlf_lua_host *own = NULL;
        rlf_err_clear(err); /* of the first pass */
        RLF_TRY(rlf_lua_host_new(host->program, &options, err, &own));
        if (pass == 1)
            name_function(own, trace);
        own->tracer = &tracer;
        status = rlf_lua_call(own, samples, n, arena, err, out);
        if (status < 0)
            mark_error(&tracer);
        if (pass == 0) {
            int64_t left = own->left > 0 ? own->left : 0;
            trace->instructions = host->program->instructions - (uint64_t)left;
            lines = tracer.lines;
        } else {
            put_records(&tracer, trace);
        }
        rlf_lua_host_free(own);
        clear(&tracer);
    }
    return status;
}

void
rlf_lua_trace_free(rlf_lua_trace *trace)
{
    rlf_buf_free(&trace->file);
    rlf_buf_free(&trace->function);
    rlf_buf_free(&trace->lines);
}
