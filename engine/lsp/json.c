/* Texts and ranges as JSON. */
#include "engine/lsp/server.h"

#include "engine/lsp/uri.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program has 16 MB at most, and so has what it imports. */
enum { FILE_MOST = 16 << 20 };

json_t *
rlf_lsp_string_n(const char *text, size_t n)
{
    json_t *string = json_stringn(text, n);
    if (string)
        return string;
    char *copy = malloc(n + 1);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = (unsigned char)text[i] < 128 ? text[i] : '?';
    string = copy ? json_stringn(copy, n) : NULL;
    free(copy);
    return string;
}

json_t *
rlf_lsp_string(const char *text)
{
    return rlf_lsp_string_n(text ? text : "", text ? strlen(text) : 0);
}

static bool
read_number(const json_t *number, uint64_t *out)
{
    if (!json_is_integer(number) || json_integer_value(number) < 0)
        return false;
    *out = (uint64_t)json_integer_value(number);
    return true;
}

bool
rlf_lsp_read_position(const json_t *position, rlf_lsp_position *out)
{
    return read_number(json_object_get(position, "line"), &out->line) &&
           read_number(json_object_get(position, "character"), &out->character);
}

static json_t *
position(rlf_lsp_position at)
{
    return json_pack("{s:I, s:I}", "line", (json_int_t)at.line, "character",
                     (json_int_t)at.character);
}

json_t *
rlf_lsp_range(rlf_lsp_server *server, const char *text, size_t n, size_t first,
              size_t last)
{
    rlf_lsp_position start =
        rlf_lsp_position_of(text, n, first, server->utf8, &server->cursor);
    /* The next range may begin before the end of this one. */
    rlf_lsp_cursor ahead = server->cursor;
    rlf_lsp_position end =
        rlf_lsp_position_of(text, n, last, server->utf8, &ahead);
    return json_pack("{s:o, s:o}", "start", position(start), "end",
                     position(end));
}

/* The text of a file, of *n bytes, or NULL; to be freed. */
static char *
read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(FILE_MOST + 1) : NULL;
    *n = text ? fread(text, 1, FILE_MOST, file) : 0;
    if (file)
        fclose(file);
    return text;
}

json_t *
rlf_lsp_range_in(rlf_lsp_server *server, const char *path, uint32_t line,
                 uint32_t column, uint32_t length)
{
    const rlf_lsp_document *document = rlf_lsp_document_at(server, path);
    size_t n = document ? document->n : 0;
    char *read = document ? NULL : read_file(path, &n);
    const char *text = document ? document->text : read ? read : "";
    size_t first = rlf_lsp_offset_of(text, n, line, column, &server->cursor),
           last = first + length < n ? first + length : n;
    json_t *range = rlf_lsp_range(server, text, n, first, last);
    if (!document)
        server->cursor = (rlf_lsp_cursor){0}; /* its text goes */
    free(read);
    return range;
}

json_t *
rlf_lsp_uri_of(rlf_lsp_server *server, const char *path)
{
    const rlf_lsp_document *document = rlf_lsp_document_at(server, path);
    if (document)
        return rlf_lsp_string(document->uri);
    char *plain = *path == '/' ? strdup(path) : realpath(path, NULL),
         *uri = NULL;
    if (plain) {
        rlf_lsp_plain(plain);
        uri = rlf_lsp_uri(plain);
    }
    json_t *string = rlf_lsp_string(uri ? uri : path);
    free(uri);
    free(plain);
    return string;
}

json_t *
rlf_lsp_location(rlf_lsp_server *server, const rlf_program_place *at)
{
    return json_pack(
        "{s:o, s:o}", "uri", rlf_lsp_uri_of(server, at->path), "range",
        rlf_lsp_range_in(server, at->path, at->line, at->column, at->length));
}
