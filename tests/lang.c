/* The syntax against golden files: tests/lang/NAME.t (golden.h) in the modes
 * errors, ast and fmt.
 *
 * Every program that parses is also formatted: the formatted text has the same
 * tree, and formatting it again changes nothing. */
#include "tests/golden.h"
#include "tests/tree.h"

#include "grammar/parse.h"

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

/* Formatting keeps the tree, and twice is once. */
static void
check_fmt(const reading *r, const char *title)
{
    rlf_buf before = {0}, after = {0}, once = {0}, twice = {0};
    put_tree(r->program, &before);
    rlf_fmt(&r->sources, r->program, &once);
    reading *again = read_text("again.rlf", text_of(&once), once.n);
    put_tree(again->program, &after);
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
        put_tree(r->program, out);
    } else if (!strcmp(mode, "fmt")) {
        rlf_diags_print((rlf_diags *)&r->diags, out);
        rlf_fmt(&r->sources, r->program, out);
    } else if (!strcmp(mode, "errors")) {
        rlf_diags_print((rlf_diags *)&r->diags, out);
    } else {
        bail("unknown mode '%s'", mode);
    }
}

static void
run(const char *name, const char *mode, const char *source, size_t size,
    bool quiet, rlf_buf *out)
{
    reading *r = read_text("test.rlf", source, size);
    produce(r, mode, out);
    if (!quiet && !r->program->broken)
        check_fmt(r, name);
    rlf_arena_free(r->arena);
}

int
main(int argc, char **argv)
{
    return golden_run(run, "lang", argc > 1 ? argv[1] : NULL);
}
