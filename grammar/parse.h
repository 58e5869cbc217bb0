/* Reading .rlf text into a syntax tree. */
#ifndef RLF_GRAMMAR_PARSE_H
#define RLF_GRAMMAR_PARSE_H

#include "grammar/ast.h"

/* Parse source number `source` of `sources`. Always returns a tree, with what
 * could be understood; what could not was reported to `diags` and the tree is
 * marked broken. Does not follow imports (import.c). Tree and names live in
 * `arena`. */
rlf_ast_program *rlf_parse(rlf_sources *sources, uint32_t source,
                           rlf_arena *arena, rlf_diags *diags);

/* `program` in the canonical style, comments kept. A tree that is broken has
 * no canonical text: then nothing is written and false is returned. */
bool rlf_fmt(const rlf_sources *sources, const rlf_ast_program *program,
             rlf_buf *out);

#endif
