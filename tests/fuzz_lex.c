/* Fuzz target: the scanner alone; its tokens tile the text in order. */
#include "tests/fuzz.h"

#include "grammar/syntax.h"

FUZZ_TARGET(fuzz_lex)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    uint32_t source =
        rlf_sources_add(&sources, "fuzz.rlf", (const char *)data, n);
    rlf_ast_program program = {.source = source};
    rlf_syntax syntax = {
        .maker = {arena, &diags, rlf_sources_get(&sources, source)->text},
        .sources = &sources,
        .program = &program,
        .source = source,
        .size = n,
    };
    rlf_raw_open(&syntax);
    size_t before = 0;
    while (rlf_raw_lex(syntax.scanner)) {
        RLF_ASSERT(syntax.scan.at >= before);
        RLF_ASSERT(syntax.scan.next > syntax.scan.at && syntax.scan.next <= n);
        before = syntax.scan.next;
    }
    rlf_raw_close(&syntax);
    for (size_t i = 0; i < program.comments.count; i++)
        RLF_ASSERT(program.comments.data[i].span.last <= n);
    rlf_arena_free(arena);
    return 0;
}
