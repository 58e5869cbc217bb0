/* Syntax errors in words: what stands there, what could, and the slip that is
 * the likely reason. Private to the parser. */
#ifndef RLF_GRAMMAR_REPORT_H
#define RLF_GRAMMAR_REPORT_H

#include "grammar/syntax.h"

/* Tokens by the names that parser.y gives them. */
typedef struct rlf_report {
    rlf_span span;
    const char *token; /* the token that was met */
    const char *expected[96];
    int n;
} rlf_report;

void rlf_report_expect(rlf_report *report, const char *token);
void rlf_report_syntax(rlf_syntax *syntax, rlf_report *report);
/* `every e WORD` where WORD is not `steps`. */
void rlf_report_steps(rlf_syntax *syntax, rlf_ast_name word);

#endif
