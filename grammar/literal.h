/* Reads how a number is written: one grammar for programs and for the
 * parameters that the command line sets.
 *
 *     digits [. digits] [(e|E) [+|-] digits] [unit]
 *
 * `digits` may have single '_' between them; a unit is one of those below. */
#ifndef RLF_GRAMMAR_LITERAL_H
#define RLF_GRAMMAR_LITERAL_H

#include "grammar/ast.h"

typedef enum rlf_literal_fault {
    RLF_LITERAL_FINE,
    RLF_LITERAL_FORM,  /* no number by that grammar */
    RLF_LITERAL_LARGE, /* no double is as large */
    RLF_LITERAL_SMALL, /* only 0 would be left of it */
    RLF_LITERAL_ROUND  /* the number has more digits than a double holds: out is
                          the nearest one */
} rlf_literal_fault;

/* Read `text`, with a '-' before it if `sign`. *out is 0 and *unit
 * RLF_AST_PLAIN where it is none. */
rlf_literal_fault rlf_literal_read(const char *text, bool sign, double *out,
                                   rlf_ast_unit *unit);

#endif
