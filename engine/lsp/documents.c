/* The documents that the client has open, and their texts. */
#include "engine/lsp/server.h"
#include "engine/lsp/uri.h"

#include <stdlib.h>
#include <string.h>

/* ---- which there are ---- */

static rlf_lsp_document *
document_named(rlf_lsp_server *server, const char *uri)
{
    for (size_t i = 0; uri && i < server->count; i++)
        if (strcmp(server->documents[i]->uri, uri) == 0)
            return server->documents[i];
    return NULL;
}

rlf_lsp_document *
rlf_lsp_document_at(rlf_lsp_server *server, const char *path)
{
    char *plain = path ? strdup(path) : NULL;
    rlf_lsp_document *found = NULL;
    if (!plain)
        return NULL;
    rlf_lsp_plain(plain);
    for (size_t i = 0; i < server->count && !found; i++)
        if (strcmp(server->documents[i]->path, plain) == 0)
            found = server->documents[i];
    free(plain);
    return found;
}

rlf_lsp_document *
rlf_lsp_document_of(rlf_lsp_server *server, const json_t *params,
                    rlf_lsp_answer *answer)
{
    const json_t *named = json_object_get(params, "textDocument");
    rlf_lsp_document *found = document_named(
        server, json_string_value(json_object_get(named, "uri")));
    if (!found)
        rlf_lsp_refuse(answer, RLF_LSP_INVALID_PARAMS,
                       "textDocument.uri names no document that is open");
    return found;
}

rlf_lsp_document *
rlf_lsp_document_place(rlf_lsp_server *server, const json_t *params,
                       rlf_lsp_answer *answer, uint32_t *line, uint32_t *column)
{
    rlf_lsp_document *d = rlf_lsp_document_of(server, params, answer);
    rlf_lsp_position at;
    if (!d)
        return NULL;
    if (!rlf_lsp_read_position(json_object_get(params, "position"), &at)) {
        rlf_lsp_refuse(answer, RLF_LSP_INVALID_PARAMS,
                       "position has a line and a character from 0 on");
        return NULL;
    }
    rlf_lsp_place_of(d->text, d->n,
                     rlf_lsp_offset(d->text, d->n, at, server->utf8), line,
                     column);
    return d;
}

static void
forget_session(rlf_lsp_document *d)
{
    if (d->session)
        rlf_session_close(d->session);
    d->session = NULL;
    d->changed = true;
}

void
rlf_lsp_forget_sessions(rlf_lsp_server *server)
{
    server->cursor = (rlf_lsp_cursor){0};
    for (size_t i = 0; i < server->count; i++)
        forget_session(server->documents[i]);
}

static void
document_free(rlf_lsp_document *d)
{
    forget_session(d);
    json_decref(d->published);
    free(d->uri);
    free(d->path);
    free(d->text);
    free(d);
}

void
rlf_lsp_documents_free(rlf_lsp_server *server)
{
    for (size_t i = 0; i < server->count; i++)
        document_free(server->documents[i]);
    free(server->documents);
    server->documents = NULL;
    server->count = server->room = 0;
}

rlf_session *
rlf_lsp_session(rlf_lsp_server *server, rlf_lsp_document *d)
{
    if (d->session)
        return d->session;
    d->session = rlf_session_open_text(d->path, d->text, d->n);
    for (size_t i = 0; i < server->count; i++)
        if (server->documents[i] != d)
            rlf_session_edit(d->session, server->documents[i]->path,
                             server->documents[i]->text,
                             server->documents[i]->n);
    rlf_session_look(d->session);
    return d->session;
}

/* ---- texts ---- */

static char *
copy_of(const char *text, size_t n)
{
    char *copy = malloc(n + 1);
    if (copy && n)
        memcpy(copy, text, n);
    if (copy)
        copy[n] = 0;
    return copy;
}

static bool
set_text(rlf_lsp_document *d, const json_t *text)
{
    char *copy = json_is_string(text) ? copy_of(json_string_value(text),
                                                json_string_length(text))
                                      : NULL;
    if (!copy)
        return false;
    free(d->text);
    d->text = copy;
    d->n = json_string_length(text);
    return true;
}

/* Puts `text` in the place of a range. */
static bool
splice(const rlf_lsp_server *server, rlf_lsp_document *d, const json_t *range,
       const json_t *text)
{
    rlf_lsp_position start, end;
    if (!json_is_string(text) ||
        !rlf_lsp_read_position(json_object_get(range, "start"), &start) ||
        !rlf_lsp_read_position(json_object_get(range, "end"), &end))
        return false;
    size_t first = rlf_lsp_offset(d->text, d->n, start, server->utf8),
           last = rlf_lsp_offset(d->text, d->n, end, server->utf8),
           more = json_string_length(text);
    if (last < first || more > RLF_LSP_MESSAGE_MOST - d->n)
        return false;
    char *whole = malloc(d->n - (last - first) + more + 1);
    if (!whole)
        return false;
    memcpy(whole, d->text, first);
    memcpy(whole + first, json_string_value(text), more);
    memcpy(whole + first + more, d->text + last, d->n - last + 1);
    free(d->text);
    d->text = whole;
    d->n += more - (last - first);
    return true;
}

/* ---- methods ---- */

static bool
add_document(rlf_lsp_server *server, rlf_lsp_document *d)
{
    if (server->count == server->room) {
        size_t room = server->room ? 2 * server->room : 8;
        rlf_lsp_document **more =
            realloc(server->documents, room * sizeof *more);
        if (!more)
            return false;
        server->documents = more;
        server->room = room;
    }
    server->documents[server->count++] = d;
    return true;
}

void
rlf_lsp_did_open(rlf_lsp_server *server, const json_t *params,
                 rlf_lsp_answer *answer)
{
    const json_t *item = json_object_get(params, "textDocument");
    const json_t *uri = json_object_get(item, "uri");
    const json_t *text = json_object_get(item, "text");
    if (!json_is_string(uri) || !json_is_string(text))
        return;
    rlf_lsp_document *d = document_named(server, json_string_value(uri));
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d)
            return;
        d->uri = strdup(json_string_value(uri));
        d->path = rlf_lsp_path(json_string_value(uri));
        d->text = copy_of("", 0);
        d->published = json_object();
        if (!d->uri || !d->path || !d->text || !add_document(server, d)) {
            document_free(d);
            return;
        }
    }
    d->version = json_integer_value(json_object_get(item, "version"));
    set_text(d, text);
    rlf_lsp_forget_sessions(server);
    (void)answer;
}

void
rlf_lsp_did_change(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    rlf_lsp_document *d = rlf_lsp_document_of(server, params, answer);
    const json_t *changes = json_object_get(params, "contentChanges");
    if (!d)
        return;
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        const json_t *range = json_object_get(change, "range");
        const json_t *text = json_object_get(change, "text");
        if (range && !json_is_null(range))
            splice(server, d, range, text);
        else
            set_text(d, text);
    }
    d->version = json_integer_value(
        json_object_get(json_object_get(params, "textDocument"), "version"));
    rlf_lsp_forget_sessions(server);
}

void
rlf_lsp_did_close(rlf_lsp_server *server, const json_t *params,
                  rlf_lsp_answer *answer)
{
    rlf_lsp_document *d = rlf_lsp_document_of(server, params, answer);
    if (!d)
        return;
    for (size_t i = 0; i < server->count; i++)
        if (server->documents[i] == d) {
            memmove(&server->documents[i], &server->documents[i + 1],
                    (server->count - i - 1) * sizeof *server->documents);
            break;
        }
    server->count--;
    rlf_lsp_unpublish(server, d);
    document_free(d);
    rlf_lsp_forget_sessions(server);
}
