/* Syntax of other languages where ours differs: hints for syntax errors, with
 * the program's own words in them. Private to report.c. */
#ifndef RLF_GRAMMAR_OTHER_SYNTAX_H
#define RLF_GRAMMAR_OTHER_SYNTAX_H

#include "grammar/report.h"

/* Is the token among the expected ones? */
bool rlf_report_expects(const rlf_report *report, const char *token);
/* Returns how a declaration or a statement that begins otherwise is written: of
 * a def, a state, a param, a list, a unit; NULL: nothing of that. */
const char *rlf_other_syntax_form(const rlf_syntax *syntax,
                                  const rlf_report *report, const char *text);
/* The same of an expression that stands alone as a statement. */
const char *rlf_other_syntax_alone(const rlf_syntax *syntax,
                                   const rlf_report *report);
/* `name = value` in the brackets of a call, with the '=' at `at`. */
const char *rlf_other_syntax_argument(const rlf_syntax *syntax, rlf_span at,
                                      const char *name);
/* `every e` without `steps` before `at`: how it is written. */
const char *rlf_other_syntax_every(const rlf_syntax *syntax, rlf_span at);
/* A hint at what a number with an unknown unit was meant to be; or NULL. */
const char *rlf_other_syntax_unit(const rlf_syntax *syntax, const char *text);

#endif
