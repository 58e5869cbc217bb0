/* rlf_parse(): scanner, filter and parser around one source. */
#include "grammar/parse.h"

#include "grammar/syntax.h"
#include "grammar/parser.h"

/* Reports the first byte that is not UTF-8, and the first carriage return
 * without a line feed, also within comments and strings: the scanner would take
 * both, and what follows such a return would belong to the line before it. */
static void
check_bytes(const rlf_source *text, uint32_t source, rlf_diags *diags)
{
    bool alone = false;
    for (size_t i = 0; i < text->size;) {
        rlf_span at = {source, (uint32_t)i, (uint32_t)i + 1, 0};
        size_t n = rlf_str_utf8(text->text + i, text->size - i);
        if (!n) {
            rlf_diag *diag =
                rlf_diag_error(diags, "syntax", at,
                               "the byte 0x%02x does not belong to UTF-8",
                               (unsigned char)text->text[i]);
            rlf_diag_hint(diags, diag,
                          "the text of a program is UTF-8: save the file so");
            return;
        }
        if (text->text[i] == '\r' && text->text[i + 1] != '\n' && !alone) {
            alone = true;
            rlf_diag *diag = rlf_diag_error(
                diags, "syntax", at,
                "a carriage return (CR) without a line feed (LF)");
            rlf_diag_hint(diags, diag, "lines end with LF, or with CR LF");
        }
        i += n;
    }
}

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
    check_bytes(text, source, diags);
    rlf_raw_open(&syntax);
    rlf_yyparse(&syntax);
    rlf_raw_close(&syntax);
    program->broken = diags->errors > errors;
    rlf_ast_attach_docs(&syntax.maker, program);
    return program;
}
