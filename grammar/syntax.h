/* State that lexer, newline filter and parser share while one source is read.
 *
 * Private to lexer.l, lex.c, parser.y, report.c and parse.c. The scanner
 * (lexer.l) knows tokens only; the filter (lex.c) turns line ends into
 * statement ends; the parser sees the filter's tokens. */
#ifndef RLF_GRAMMAR_SYNTAX_H
#define RLF_GRAMMAR_SYNTAX_H

#include "grammar/ast.h"

/* Brackets open inside one another. */
enum { RLF_LEX_NEST = 200 };

/* The scanner's own state: where the present token is, in bytes. */
typedef struct rlf_scan {
    size_t at, next;
    struct rlf_syntax *syntax;
} rlf_scan;

typedef struct rlf_bracket {
    int token; /* ( [ or { */
    rlf_span span;
} rlf_bracket;

/* The tokens that are dropped after an error. */
typedef enum rlf_lex_skip {
    RLF_LEX_KEEP,      /* they are not */
    RLF_LEX_SKIP_STMT, /* up to the end of the statement, its block too */
    RLF_LEX_SKIP_DECL  /* up to the next declaration */
} rlf_lex_skip;

typedef struct rlf_syntax {
    rlf_ast_maker maker;
    rlf_sources *sources;
    rlf_ast_program *program;
    uint32_t source;
    size_t size;
    void *scanner; /* flex's */
    rlf_scan scan;
    int prev; /* the last token given to the parser */
    int held; /* a token that waits behind a statement end; 0: none */
    rlf_span held_span;
    rlf_bracket nest[RLF_LEX_NEST];
    int depth;
    rlf_lex_skip skip;
    int skip_depth; /* brackets open where the broken statement began */
    size_t suite;   /* the bytes of the blanks before a body by indentation, and
                       1; 0: there is none */
    bool unbraced;  /* a body began with ':', so a '}' too many follows */
} rlf_syntax;

/* The bytes of `span`, copied into the arena. */
const char *rlf_syntax_text(const rlf_syntax *syntax, rlf_span span);

/* ---- lex.c ---- */

/* The token number of a reserved word, or of a name. */
int rlf_lex_word(const char *text, size_t n);
/* After an error at `token`: brackets that are still open in the line no
 * longer swallow line ends, and what is left of the statement (or
 * declaration) is dropped. */
void rlf_lex_recover(rlf_syntax *syntax, rlf_lex_skip how, int token);
/* The innermost bracket that is open where the parser is; NULL: none. */
const rlf_bracket *rlf_lex_open_bracket(const rlf_syntax *syntax, int token);

/* ---- lexer.l ---- */

int rlf_raw_lex(void *scanner);
void rlf_lex_comment(rlf_syntax *syntax, size_t first, size_t last);
/* Start and end scanning; the text is copied by flex. */
void rlf_raw_open(rlf_syntax *syntax);
void rlf_raw_close(rlf_syntax *syntax);

#endif
