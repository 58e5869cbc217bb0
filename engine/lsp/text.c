/* Positions in texts. What is no UTF-8 counts a byte as a character. */
#include "engine/lsp/text.h"

#include <string.h>

/* Bytes of the character at p, of n bytes at most. */
static size_t
character(const char *p, size_t n)
{
    unsigned char c = (unsigned char)*p;
    size_t k = c < 0x80    ? 1u
               : c >= 0xf0 ? 4u
               : c >= 0xe0 ? 3u
               : c >= 0xc0 ? 2u
                           : 1u;
    if (k > n || c >= 0xf8)
        return 1;
    for (size_t i = 1; i < k; i++)
        if (((unsigned)p[i] & 0xc0u) != 0x80u)
            return 1;
    return k;
}

/* Bytes of the line end at p; 0: there is none. */
static size_t
line_end(const char *p, size_t n)
{
    if (*p == '\n')
        return 1;
    if (*p == '\r')
        return n > 1 && p[1] == '\n' ? 2 : 1;
    return 0;
}

static uint64_t
units(size_t bytes, bool utf8)
{
    return utf8 ? bytes : bytes == 4 ? 2 : 1;
}

size_t
rlf_lsp_offset(const char *text, size_t n, rlf_lsp_position at, bool utf8)
{
    size_t i = 0;
    uint64_t line = 0, seen = 0;
    while (i < n && line < at.line) {
        size_t end = line_end(text + i, n - i);
        line += end > 0;
        i += end ? end : 1;
    }
    while (i < n && line == at.line && seen < at.character &&
           !line_end(text + i, n - i)) {
        size_t k = character(text + i, n - i);
        seen += units(k, utf8);
        if (seen > at.character)
            break; /* in the middle of one is before it */
        i += k;
    }
    return i;
}

/* One of another text is none. */
static void
turn_to(rlf_lsp_cursor *cursor, const char *text)
{
    if (cursor->text != text)
        *cursor = (rlf_lsp_cursor){.text = text};
}

rlf_lsp_position
rlf_lsp_position_of(const char *text, size_t n, size_t offset, bool utf8,
                    rlf_lsp_cursor *cursor)
{
    rlf_lsp_position at = {0, 0};
    size_t i = 0;
    turn_to(cursor, text);
    if (offset > n)
        offset = n;
    if (cursor->offset <= offset) {
        at = cursor->at;
        i = cursor->offset;
    }
    while (i < offset) {
        size_t end = line_end(text + i, n - i);
        size_t k = end ? end : character(text + i, n - i);
        if (i + k > offset)
            return at; /* in the middle of one is before it */
        if (end)
            at = (rlf_lsp_position){at.line + 1, 0};
        else
            at.character += units(k, utf8);
        i += k;
    }
    cursor->offset = i;
    cursor->at = at;
    return at;
}

size_t
rlf_lsp_offset_of(const char *text, size_t n, uint32_t line, uint32_t column,
                  rlf_lsp_cursor *cursor)
{
    uint32_t k = 1;
    size_t i = 0;
    turn_to(cursor, text);
    if (cursor->line && cursor->line <= line) {
        k = cursor->line;
        i = cursor->begin;
    }
    for (; k < line; k++) {
        const char *end = memchr(text + i, '\n', n - i);
        if (!end)
            return n;
        i = (size_t)(end - text) + 1;
    }
    cursor->line = k;
    cursor->begin = i;
    const char *end = memchr(text + i, '\n', n - i);
    size_t length = end ? (size_t)(end - text) - i : n - i;
    size_t more = column ? column - 1 : 0;
    return i + (more < length ? more : length);
}

void
rlf_lsp_place_of(const char *text, size_t n, size_t offset, uint32_t *line,
                 uint32_t *column)
{
    size_t begin = 0;
    *line = 1;
    if (offset > n)
        offset = n;
    for (size_t i = 0; i < offset; i++)
        if (text[i] == '\n') {
            begin = i + 1;
            ++*line;
        }
    *column = (uint32_t)(offset - begin) + 1;
}
