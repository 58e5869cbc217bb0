/* Source texts and places in them: see source.h. */
#include "engine/base/source.h"

#include "engine/base/regular.h"
#include "engine/base/vec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
find_lines(rlf_arena *arena, rlf_source *s)
{
    uint32_t n = 1;
    for (size_t i = 0; i < s->size; i++)
        n += s->text[i] == '\n';
    uint32_t *lines = RLF_NEW_ARRAY(arena, uint32_t, n);
    n = 1;
    for (size_t i = 0; i < s->size; i++)
        if (s->text[i] == '\n')
            lines[n++] = (uint32_t)i + 1;
    s->lines = lines;
    s->n_lines = n;
}

uint32_t
rlf_sources_add(rlf_sources *sources, const char *path, const char *text,
                size_t size)
{
    rlf_arena *arena = sources->arena;
    rlf_source source = {.path = rlf_arena_strdup(arena, path),
                         .text = rlf_arena_strndup(arena, text, size),
                         .size = size};
    find_lines(arena, &source);
    RLF_PUSH_IN(arena, &sources->list, source);
    return (uint32_t)sources->list.count;
}

static rlf_status
fail_large(const char *path, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s is larger than 16 MiB", path);
}

/* A 0 byte, told with its line and column. */
static rlf_status
fail_zero(const char *text, size_t size, const char *path, rlf_err *err)
{
    size_t zero = strlen(text), line = 1, begin = 0;
    for (size_t i = 0; i < zero; i++)
        if (text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    bool wide = size > 1 &&
                (!memcmp(text, "\xff\xfe", 2) || !memcmp(text, "\xfe\xff", 2));
    rlf_fail(err, RLF_USER,
             "%s is not a text: it holds a 0 byte, in line %zu, column %zu",
             path, line, zero - begin + 1);
    if (wide)
        rlf_err_hint(err, "it is UTF-16: save it as UTF-8");
    return RLF_USER;
}

rlf_status
rlf_sources_take(rlf_sources *sources, const char *path, const char *text,
                 size_t size, rlf_err *err, uint32_t *out)
{
    if (size > RLF_SOURCE_MOST)
        return fail_large(path, err);
    if (memchr(text, 0, size))
        return fail_zero(text, size, path, err);
    *out = rlf_sources_add(sources, path, text, size);
    return RLF_OK;
}

rlf_status
rlf_sources_read(rlf_sources *sources, const char *path, rlf_err *err,
                 uint32_t *out)
{
    int fd = -1;
    uint64_t size;
    RLF_TRY(rlf_regular_open(path, err, &fd, &size));
    if (size > RLF_SOURCE_MOST) {
        close(fd);
        return fail_large(path, err);
    }
    FILE *file = fdopen(fd, "rb");
    if (!file) {
        close(fd);
        return rlf_fail_memory(err, BUFSIZ, "reading %s", path);
    }
    rlf_buf buf = {0};
    char piece[16384];
    size_t n;
    while ((n = fread(piece, 1, sizeof piece, file)) > 0 &&
           buf.n <= RLF_SOURCE_MOST)
        rlf_buf_add(&buf, piece, n);
    bool bad = ferror(file);
    int number = errno;
    fclose(file);
    rlf_status status = RLF_OK;
    errno = number;
    if (bad)
        status = rlf_fail_path(err, "cannot read %s", path);
    else
        status = rlf_sources_take(sources, path, buf.n ? buf.p : "", buf.n, err,
                                  out);
    rlf_buf_free(&buf);
    return status;
}

void
rlf_sources_beside(rlf_sources *sources)
{
    sources->list.data[sources->list.count - 1].beside = true;
}

const rlf_source *
rlf_sources_get(const rlf_sources *sources, uint32_t index)
{
    RLF_ASSERT(index >= 1 && index <= sources->list.count);
    return &sources->list.data[index - 1];
}

uint32_t
rlf_sources_use(rlf_sources *sources, rlf_source_use use)
{
    RLF_PUSH_IN(sources->arena, &sources->uses, use);
    return (uint32_t)sources->uses.count;
}

const rlf_source_use *
rlf_sources_used(const rlf_sources *sources, rlf_span span)
{
    return span.use ? &sources->uses.data[span.use - 1] : NULL;
}

rlf_span
rlf_sources_own(const rlf_sources *sources, rlf_span span)
{
    const rlf_source_use *use;
    while ((use = rlf_sources_used(sources, span)) && use->imported)
        span = use->at;
    return span;
}

rlf_place
rlf_sources_place(const rlf_sources *sources, rlf_span span)
{
    const rlf_source *s = rlf_sources_get(sources, span.source);
    size_t at = span.first < s->size ? span.first : s->size;
    /* a byte order mark before all else is in no column */
    size_t mark = at >= 3 && !strncmp(s->text, "\xef\xbb\xbf", 3) ? 3 : 0;
    uint32_t line = 1,
             after = s->n_lines + 1; /* the last that begins by `at` */
    while (line + 1 < after) {
        uint32_t middle = line + (after - line) / 2;
        if (s->lines[middle - 1] <= at)
            line = middle;
        else
            after = middle;
    }
    size_t begin = line > 1 ? s->lines[line - 1] : mark;
    return (rlf_place){
        .path = s->path,
        .line = line,
        .column = (uint32_t)(at - begin) + 1,
        .text = {s->text + begin, strcspn(s->text + begin, "\r\n")}};
}

const char *
rlf_sources_statement(const rlf_sources *sources, rlf_span span,
                      rlf_arena *arena)
{
    rlf_place place = rlf_sources_place(sources, span);
    const char *p = place.text.p, *end = p + place.text.n;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    bool quoted = false;
    for (const char *q = p; q < end; q++) {
        quoted ^= *q == '"' && (q == p || q[-1] != '\\');
        if (*q == '#' && !quoted)
            end = q;
    }
    while (end > p && strchr(" \t\r{", end[-1]))
        end--;
    return rlf_arena_strndup(arena, p, (size_t)(end - p));
}

rlf_span
rlf_span_join(rlf_span a, rlf_span b)
{
    if (!a.source)
        return b;
    if (!b.source || a.source != b.source)
        return a;
    a.first = a.first < b.first ? a.first : b.first;
    a.last = a.last > b.last ? a.last : b.last;
    return a;
}
