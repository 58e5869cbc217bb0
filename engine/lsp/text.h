/* Texts as the protocol counts in them: lines from 0, and characters of UTF-16,
 * or bytes where the client wants that. */
#ifndef RLF_LSP_TEXT_H
#define RLF_LSP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rlf_lsp_position {
    uint64_t line, character;
} rlf_lsp_position;

/* The byte at a position; one behind the end of its line is that end, one
 * behind the last line the end of the text. */
size_t rlf_lsp_offset(const char *text, size_t n, rlf_lsp_position at,
                      bool utf8);

/* Places that were looked for last, from which the next one of the same text is
 * looked for if it is behind them. {0}: none. It is to be forgotten when the
 * text is another. */
typedef struct rlf_lsp_cursor {
    const char *text;
    size_t offset; /* the byte at `at` */
    rlf_lsp_position at;
    uint32_t line; /* as rlflow counts, 0: none */
    size_t begin;  /* the byte that it begins with */
} rlf_lsp_cursor;

/* `cursor` is moved there. */
rlf_lsp_position rlf_lsp_position_of(const char *text, size_t n, size_t offset,
                                     bool utf8, rlf_lsp_cursor *cursor);
/* The byte at a line and column as rlflow counts them, from 1, in bytes; lines
 * end with a line feed there. What is outside is the nearest that is not. */
size_t rlf_lsp_offset_of(const char *text, size_t n, uint32_t line,
                         uint32_t column, rlf_lsp_cursor *cursor);
/* And back. */
void rlf_lsp_place_of(const char *text, size_t n, size_t offset, uint32_t *line,
                      uint32_t *column);

#endif
