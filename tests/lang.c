/* The language against golden files: tests/lang/NAME.t.
 *
 * A file is a list of cases:
 *
 *     === what the case shows
 *     program text
 *     --- errors | ast | fmt
 *     what must come out, to the byte
 *
 * Every program that parses is also formatted: the formatted text has the same
 * tree, and formatting it again changes nothing. Lines before the first case
 * are remarks. With RLFLOW_WRITE_GOLDEN=1 in the environment the expected
 * texts are written anew instead: read the difference before you keep it. */
#include "tests/tap.h"

#include "grammar/parse.h"

#include <dirent.h>
#include <unistd.h>

typedef struct reading {
    rlf_arena *arena;
    rlf_sources sources;
    rlf_diags diags;
    rlf_ast_program *program;
} reading;

static reading *
read_text(const char *path, const char *text, size_t size)
{
    rlf_arena *arena = rlf_arena_new();
    reading *r = RLF_NEW(arena, reading);
    r->arena = arena;
    r->sources.arena = arena;
    r->diags.arena = arena;
    r->diags.sources = &r->sources;
    uint32_t source = rlf_sources_add(&r->sources, path, text, size);
    r->program = rlf_parse(&r->sources, source, arena, &r->diags);
    return r;
}

static const char *
text_of(rlf_buf *buf)
{
    return buf->p ? buf->p : "";
}

/* Formatting keeps the tree, and twice is once. */
static void
check_fmt(const reading *r, const char *title)
{
    rlf_buf before = {0}, after = {0}, once = {0}, twice = {0};
    rlf_ast_dump(r->program, &before);
    rlf_fmt(&r->sources, r->program, &once);
    reading *again = read_text("again.rlf", text_of(&once), once.n);
    rlf_ast_dump(again->program, &after);
    rlf_fmt(&again->sources, again->program, &twice);
    bool same = strcmp(text_of(&before), text_of(&after)) == 0;
    bool stable = strcmp(text_of(&once), text_of(&twice)) == 0;
    if (!ok(same && stable, "%s: formatted, it is the same program", title)) {
        note("%s", same ? "the second formatting differs" : "the trees differ");
        printf("%s\n%s\n", text_of(&once), text_of(&twice));
    }
    rlf_buf_free(&before);
    rlf_buf_free(&after);
    rlf_buf_free(&once);
    rlf_buf_free(&twice);
    rlf_arena_free(again->arena);
}

static void
produce(const reading *r, const char *mode, rlf_buf *out)
{
    if (!strcmp(mode, "ast")) {
        rlf_diags_print((rlf_diags *)&r->diags, out);
        rlf_ast_dump(r->program, out);
    } else if (!strcmp(mode, "fmt")) {
        rlf_diags_print((rlf_diags *)&r->diags, out);
        rlf_fmt(&r->sources, r->program, out);
    } else if (!strcmp(mode, "errors")) {
        rlf_diags_print((rlf_diags *)&r->diags, out);
    } else {
        bail("unknown mode '%s'", mode);
    }
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
run_case(const char *file, golden *g, rlf_buf *out)
{
    rlf_buf got = {0}, name = {0};
    rlf_buf_printf(&name, "%s: %s", file, g->title);
    reading *r = read_text("test.rlf", text_of(&g->source), g->source.n);
    produce(r, g->mode, &got);
    if (out) {
        rlf_buf_printf(out, "=== %s\n%s--- %s\n%s", g->title,
                       text_of(&g->source), g->mode, text_of(&got));
        if (got.n && got.p[got.n - 1] != '\n')
            rlf_buf_putc(out, '\n');
    } else {
        is_str(text_of(&got), text_of(&g->want), text_of(&name));
        if (!r->program->broken)
            check_fmt(r, text_of(&name));
    }
    rlf_arena_free(r->arena);
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
run_file(const char *directory, const char *file, bool write)
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
                run_case(file, &g, write ? &out : NULL);
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
        run_case(file, &g, write ? &out : NULL);
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

int
main(int argc, char **argv)
{
    const char *root = getenv("RLFLOW_SOURCE");
    char directory[4000];
    snprintf(directory, sizeof directory, "%s/tests/lang", root ? root : ".");
    bool write = getenv("RLFLOW_WRITE_GOLDEN") != NULL;
    RLF_VEC(char *) files = {0};
    DIR *d = opendir(directory);
    if (!d)
        bail("there is no directory %s", directory);
    struct dirent *e;
    while ((e = readdir(d))) {
        size_t n = strlen(e->d_name);
        if (n > 2 && !strcmp(e->d_name + n - 2, ".t") &&
            (argc < 2 || !strcmp(e->d_name, argv[1])))
            RLF_PUSH(&files, strdup(e->d_name));
    }
    closedir(d);
    if (!files.count)
        bail("there are no tests in %s", directory);
    qsort(files.data, files.count, sizeof *files.data, by_name);
    for (size_t i = 0; i < files.count; i++) {
        run_file(directory, files.data[i], write);
        free(files.data[i]);
    }
    RLF_VEC_FREE(&files);
    return done();
}
