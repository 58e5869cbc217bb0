/* Tokens that the filter uses and the parser never sees. */
#ifndef RLF_GRAMMAR_TOKEN_H
#define RLF_GRAMMAR_TOKEN_H

enum { RLF_TOKEN_LINE = 1 }; /* a line's end */

#endif
