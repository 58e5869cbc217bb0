/* Golden files of the language: reading tests/FOLDER/NAME.t.
 *
 * A file is a list of cases:
 *
 *     === what the case shows
 *     program text
 *     --- mode
 *     what must come out, to the byte
 *
 * Lines before the first case are remarks, but for parts: a line `+++ NAME`
 * there begins a text that several programs share, and in a program it stands
 * for that text. Parts that several files share are in tests/FOLDER/parts. A
 * part that no program of its file names is an error.
 *
 * With RLFLOW_WRITE_GOLDEN=1 in the environment the expected texts are written
 * anew instead: read the difference before you keep it. */
#ifndef RLF_TESTS_GOLDEN_H
#define RLF_TESTS_GOLDEN_H

#include "tests/tap.h"

#include "engine/base/str.h"
#include "engine/base/vec.h"

#include <dirent.h>
#include <unistd.h>

/* Writes the output of `source` in `mode` to *out; makes further checks under
 * `name`, unless `quiet`. */
typedef void golden_case(const char *name, const char *mode, const char *source,
                         size_t size, bool quiet, rlf_buf *out);

static const char *
text_of(rlf_buf *buf)
{
    return buf->p ? buf->p : "";
}

/* The line that begins at *p, which moves behind it; 0-terminated in place. */
static char *
next_line(char **p)
{
    char *line = *p, *end = strchr(line, '\n');
    if (!*line)
        return NULL;
    *p = end ? end + 1 : line + strlen(line);
    if (end)
        *end = 0;
    return line;
}

/* A text that stands in programs under its name. */
typedef struct golden_part {
    char *name;
    rlf_buf text;
    bool used;
} golden_part;

typedef RLF_VEC(golden_part) golden_parts;

typedef struct golden {
    char *title, *mode;
    rlf_buf written; /* the program as the file has it */
    rlf_buf source;  /* the source, with parts in place of their names */
    rlf_buf want;
} golden;

static void
free_parts(golden_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        rlf_buf_free(&parts->data[i].text);
    RLF_VEC_FREE(parts);
}

/* NULL if there is none of that name. */
static golden_part *
find_part(golden_parts *parts, const char *name)
{
    for (size_t i = 0; i < parts->count; i++)
        if (!strcmp(parts->data[i].name, name))
            return &parts->data[i];
    return NULL;
}

/* A line `+++ NAME` before the first case; returns where its text goes. */
static rlf_buf *
begin_part(golden_parts *parts, const char *file, char *name)
{
    if (find_part(parts, name))
        bail("%s: there are two parts '%s'", file, name);
    RLF_PUSH(parts, (golden_part){.name = name});
    return &parts->data[parts->count - 1].text;
}

/* A line of a program: itself, or the part that it names, of the file's own
 * ones or of those that files share. */
static void
add_line(golden *g, const char *file, const char *line, golden_parts *own,
         golden_parts *shared)
{
    rlf_buf_printf(&g->written, "%s\n", line);
    if (strncmp(line, "+++ ", 4) != 0) {
        rlf_buf_printf(&g->source, "%s\n", line);
        return;
    }
    golden_part *part = find_part(own, line + 4);
    if (!part)
        part = find_part(shared, line + 4);
    if (!part)
        bail("%s: %s: there is no part '%s'", file, g->title, line + 4);
    part->used = true;
    rlf_buf_add(&g->source, text_of(&part->text), part->text.n);
}

static void
run_case(golden_case *run, const char *file, golden *g, rlf_buf *out)
{
    rlf_buf got = {0}, name = {0};
    rlf_buf_printf(&name, "%s: %s", file, g->title);
    run(text_of(&name), g->mode, text_of(&g->source), g->source.n, out != NULL,
        &got);
    if (out) {
        rlf_buf_printf(out, "=== %s\n%s--- %s\n%s", g->title,
                       text_of(&g->written), g->mode, text_of(&got));
        if (got.n && got.p[got.n - 1] != '\n')
            rlf_buf_putc(out, '\n');
    } else {
        is_str(text_of(&got), text_of(&g->want), text_of(&name));
    }
    rlf_buf_free(&got);
    rlf_buf_free(&name);
    rlf_buf_free(&g->written);
    rlf_buf_free(&g->source);
    rlf_buf_free(&g->want);
}

static char *
slurp(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        bail("cannot read %s", path);
    rlf_buf buf = {0};
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        rlf_buf_add(&buf, block, n);
    fclose(f);
    rlf_buf_putc(&buf, 0);
    return buf.p;
}

/* The parts of `file`, whose text they keep. */
static char *
read_parts(const char *path, golden_parts *parts)
{
    char *text = slurp(path), *p = text, *line;
    rlf_buf *part = NULL;
    while ((line = next_line(&p)))
        if (!strncmp(line, "+++ ", 4))
            part = begin_part(parts, path, line + 4);
        else if (part)
            rlf_buf_printf(part, "%s\n", line);
    return text;
}

static void
run_file(golden_case *run, const char *directory, const char *file,
         golden_parts *shared, bool write)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    char *text = slurp(path), *p = text, *line;
    rlf_buf out = {0};
    golden g = {0};
    golden_parts own = {0};
    rlf_buf *part = NULL; /* which the lines belong to, if no program */
    while ((line = next_line(&p))) {
        if (!strncmp(line, "=== ", 4)) {
            if (g.title)
                run_case(run, file, &g, write ? &out : NULL);
            g.title = line + 4;
            g.mode = NULL;
            part = NULL;
        } else if (g.title && !strncmp(line, "--- ", 4)) {
            g.mode = line + 4;
            part = &g.want;
        } else if (g.title && !g.mode) {
            add_line(&g, file, line, &own, shared);
        } else if (!g.title && !strncmp(line, "+++ ", 4)) {
            part = begin_part(&own, file, line + 4);
        } else if (part) {
            rlf_buf_printf(part, "%s\n", line);
        }
        if (write && !g.title)
            rlf_buf_printf(&out, "%s\n", line);
    }
    if (g.title)
        run_case(run, file, &g, write ? &out : NULL);
    for (size_t i = 0; i < own.count; i++)
        if (!own.data[i].used)
            bail("%s: no program names the part '%s'", file, own.data[i].name);
    if (write) {
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f))
            bail("cannot write %s", path);
    }
    free_parts(&own);
    rlf_buf_free(&out);
    free(text);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All files of tests/FOLDER, or only `one`; return this from main. */
static int
golden_run(golden_case *run, const char *folder, const char *one)
{
    const char *root = getenv("RLFLOW_SOURCE");
    char directory[4000];
    snprintf(directory, sizeof directory, "%s/tests/%s", root ? root : ".",
             folder);
    bool write = getenv("RLFLOW_WRITE_GOLDEN") != NULL;
    RLF_VEC(char *) files = {0};
    golden_parts shared = {0};
    char path[4096], *parts = NULL;
    snprintf(path, sizeof path, "%s/parts", directory);
    if (access(path, R_OK) == 0)
        parts = read_parts(path, &shared);
    DIR *d = opendir(directory);
    if (!d)
        bail("there is no directory %s", directory);
    struct dirent *e;
    while ((e = readdir(d))) {
        size_t n = strlen(e->d_name);
        if (n > 2 && !strcmp(e->d_name + n - 2, ".t") &&
            (!one || !strcmp(e->d_name, one)))
            RLF_PUSH(&files, strdup(e->d_name));
    }
    closedir(d);
    if (!files.count)
        bail("there are no tests in %s", directory);
    qsort(files.data, files.count, sizeof *files.data, by_name);
    for (size_t i = 0; i < files.count; i++) {
        run_file(run, directory, files.data[i], &shared, write);
        free(files.data[i]);
    }
    RLF_VEC_FREE(&files);
    free_parts(&shared);
    free(parts);
    return done();
}

#endif
