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
rlf_lsp_position rlf_lsp_position_of(const char *text, size_t n, size_t offset,
                                     bool utf8);
/* The byte at a line and column as rlflow counts them, from 1, in bytes; lines
 * end with a line feed there. What is outside is the nearest that is not. */
size_t rlf_lsp_offset_of(const char *text, size_t n, uint32_t line,
                         uint32_t column);
/* And back. */
void rlf_lsp_place_of(const char *text, size_t n, size_t offset, uint32_t *line,
                      uint32_t *column);

#endif
