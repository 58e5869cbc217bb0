/* Golden files of the language: reading tests/FOLDER/NAME.t.
 *
 * A file is a list of cases:
 *
 *     === what the case shows
 *     program text
 *     --- mode
 *     what must come out, to the byte
 *
 * Lines before the first case are remarks. With RLFLOW_WRITE_GOLDEN=1 in the
 * environment the expected texts are written anew instead: read the difference
 * before you keep it. */
#ifndef RLF_TESTS_GOLDEN_H
#define RLF_TESTS_GOLDEN_H

#include "tests/tap.h"

#include "engine/base/str.h"
#include "engine/base/vec.h"

#include <dirent.h>

/* What comes out of `source` in `mode`; further checks under `name`, unless
 * `quiet`. */
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

typedef struct golden {
    char *title, *mode;
    rlf_buf source, want;
} golden;

static void
run_case(golden_case *run, const char *file, golden *g, rlf_buf *out)
{
    rlf_buf got = {0}, name = {0};
    rlf_buf_printf(&name, "%s: %s", file, g->title);
    run(text_of(&name), g->mode, text_of(&g->source), g->source.n, out != NULL,
        &got);
    if (out) {
        rlf_buf_printf(out, "=== %s\n%s--- %s\n%s", g->title,
                       text_of(&g->source), g->mode, text_of(&got));
        if (got.n && got.p[got.n - 1] != '\n')
            rlf_buf_putc(out, '\n');
    } else {
        is_str(text_of(&got), text_of(&g->want), text_of(&name));
    }
    rlf_buf_free(&got);
    rlf_buf_free(&name);
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

static void
run_file(golden_case *run, const char *directory, const char *file, bool write)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    char *text = slurp(path), *p = text, *line;
    rlf_buf out = {0};
    golden g = {0};
    rlf_buf *part = NULL;
    while ((line = next_line(&p))) {
        if (!strncmp(line, "=== ", 4)) {
            if (g.title)
                run_case(run, file, &g, write ? &out : NULL);
            g.title = line + 4;
            g.mode = NULL;
            part = &g.source;
        } else if (part && !strncmp(line, "--- ", 4)) {
            g.mode = line + 4;
            part = &g.want;
        } else if (part) {
            rlf_buf_printf(part, "%s\n", line);
        } else if (write) {
            rlf_buf_printf(&out, "%s\n", line);
        }
    }
    if (g.title)
        run_case(run, file, &g, write ? &out : NULL);
    if (write) {
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f))
            bail("cannot write %s", path);
    }
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
        run_file(run, directory, files.data[i], write);
        free(files.data[i]);
    }
    RLF_VEC_FREE(&files);
    return done();
}

#endif
