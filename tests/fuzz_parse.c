/* Fuzz target: parse any bytes; what parses is formatted and parsed again. */
#include "tests/fuzz.h"
#include "tests/tree.h"

#include "grammar/parse.h"

#include <string.h>

/* The tree of a text, and the text formatted. */
static bool
read_bytes(const char *text, size_t n, rlf_buf *tree, rlf_buf *formatted)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    uint32_t source = rlf_sources_add(&sources, "fuzz.rlf", text, n);
    rlf_ast_program *program = rlf_parse(&sources, source, arena, &diags);
    rlf_buf messages = {0};
    rlf_diags_print(&diags, &messages);
    rlf_buf_free(&messages);
    put_tree(program, tree);
    bool good = rlf_fmt(&sources, program, formatted);
    RLF_ASSERT(good == !diags.errors);
    rlf_arena_free(arena);
    return good;
}

FUZZ_TARGET(fuzz_parse)
{
    rlf_buf tree = {0}, once = {0}, again = {0}, twice = {0};
    if (memchr(data, 0, n))
        return 0; /* rlf_sources_read() refuses it */
    if (read_bytes((const char *)data, n, &tree, &once)) {
        bool good = read_bytes(once.p ? once.p : "", once.n, &again, &twice);
        RLF_ASSERT(good && tree.n == again.n && once.n == twice.n);
        RLF_ASSERT(!tree.n || !memcmp(tree.p, again.p, tree.n));
        RLF_ASSERT(!once.n || !memcmp(once.p, twice.p, once.n));
    }
    rlf_buf_free(&tree);
    rlf_buf_free(&once);
    rlf_buf_free(&again);
    rlf_buf_free(&twice);
    return 0;
}
