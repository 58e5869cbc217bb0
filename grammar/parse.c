/* rlf_parse(): scanner, filter and parser around one source. */
#include "grammar/parse.h"

#include "grammar/syntax.h"
#include "grammar/parser.h"

rlf_ast_program *
rlf_parse(rlf_sources *sources, uint32_t source, rlf_arena *arena,
          rlf_diags *diags)
{
    const rlf_source *text = rlf_sources_get(sources, source);
    rlf_ast_program *program = RLF_NEW(arena, rlf_ast_program);
    program->source = source;
    rlf_syntax syntax = {
        .maker = {arena, diags, text->text},
        .sources = sources,
        .program = program,
        .source = source,
        .size = text->size,
        .prev = T,
    };
    size_t errors = diags->errors;
    rlf_raw_open(&syntax);
    rlf_yyparse(&syntax);
    rlf_raw_close(&syntax);
    program->broken = diags->errors > errors;
    rlf_ast_attach_docs(&syntax.maker, program);
    return program;
}
