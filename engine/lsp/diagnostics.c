/* What is wrong with documents, published as they are typed: for each, of its
 * own file and of those that it imports. */
#include "engine/lsp/server.h"

#include <string.h>

/* Severities of the protocol. */
enum { ERROR = 1, WARNING = 2, INFORMATION = 3 };

/* A text with another line at its end. */
static json_t *
with_line(json_t *text, const char *kind, const char *line, uint32_t at)
{
    json_t *more = rlf_lsp_string(line);
    json_t *all =
        at ? json_sprintf("%s\n%s: %s (line %u)", json_string_value(text), kind,
                          json_string_value(more), at)
           : json_sprintf("%s\n%s: %s", json_string_value(text), kind,
                          json_string_value(more));
    json_decref(more);
    if (!all)
        return text;
    json_decref(text);
    return all;
}

/* The message of diagnostic i, and its notes: as places of the protocol, where
 * the client has that and they have one; else as lines of the message. */
static json_t *
message_of(rlf_lsp_server *server, rlf_session *s, const rlf_diagnostic *d,
           size_t i, json_t *related)
{
    json_t *message = rlf_lsp_string(d->text);
    if (d->hint)
        message = with_line(message, "hint", d->hint, 0);
    /* The next diagnostic is looked for from the place of this one. */
    const rlf_lsp_cursor here = server->cursor;
    const rlf_diagnostic_note *note;
    for (size_t k = 0; (note = rlf_session_diagnostic_note(s, i, k)); k++) {
        json_t *at = server->related && note->place.path
                         ? rlf_lsp_location(server, &note->place)
                         : NULL;
        if (at)
            json_array_append_new(
                related, json_pack("{s:o, s:o}", "location", at, "message",
                                   rlf_lsp_string(note->text)));
        else
            message = with_line(message, "note", note->text, note->place.line);
    }
    server->cursor = here;
    return message;
}

/* A value that a run is to be given is no mistake of the program. */
static int
severity_of(const rlf_diagnostic *d)
{
    size_t n = strlen(d->text);
    static const char lacks[] = "=VALUE";
    bool ungiven = strcmp(d->code, "param") == 0 && n > sizeof lacks &&
                   strcmp(d->text + n - (sizeof lacks - 1), lacks) == 0;
    return ungiven                             ? INFORMATION
           : strcmp(d->severity, "error") == 0 ? ERROR
                                               : WARNING;
}

static void
send(rlf_lsp_server *server, const char *uri, json_t *list)
{
    rlf_lsp_document *open = NULL;
    for (size_t i = 0; i < server->count; i++)
        if (strcmp(server->documents[i]->uri, uri) == 0)
            open = server->documents[i];
    json_t *params = json_pack("{s:s, s:O}", "uri", uri, "diagnostics", list);
    if (open)
        json_object_set_new(params, "version", json_integer(open->version));
    rlf_lsp_notify(server, "textDocument/publishDiagnostics", params);
}

/* All that the session of a document has to say, by URI. */
static json_t *
collect(rlf_lsp_server *server, rlf_lsp_document *document)
{
    rlf_session *s = rlf_lsp_session(server, document);
    json_t *all = json_object();
    json_object_set_new(all, document->uri, json_array());
    const rlf_diagnostic *d;
    for (size_t i = 0; (d = rlf_session_diagnostic(s, i)); i++) {
        json_t *uri =
            rlf_lsp_uri_of(server, d->path ? d->path : document->path);
        const char *name = json_string_value(uri);
        if (!json_object_get(all, name))
            json_object_set_new(all, name, json_array());
        json_t *related = json_array();
        json_t *one = json_pack(
            "{s:o, s:i, s:s, s:s, s:o}", "range",
            rlf_lsp_range_in(server, d->path ? d->path : document->path,
                             d->line, d->column, d->length),
            "severity", severity_of(d), "code", d->code, "source", "rlflow",
            "message", message_of(server, s, d, i, related));
        if (json_array_size(related))
            json_object_set(one, "relatedInformation", related);
        json_decref(related);
        json_array_append_new(json_object_get(all, name), one);
        json_decref(uri);
    }
    return all;
}

/* Is it an open document other than this, which tells of itself? */
static bool
tells_itself(const rlf_lsp_server *server, const rlf_lsp_document *document,
             const char *uri)
{
    for (size_t i = 0; i < server->count; i++)
        if (server->documents[i] != document &&
            strcmp(server->documents[i]->uri, uri) == 0)
            return true;
    return false;
}

static void
publish(rlf_lsp_server *server, rlf_lsp_document *document)
{
    json_t *all = collect(server, document), *list;
    json_t *none = json_array();
    const char *uri;
    json_object_foreach(document->published, uri,
                        list) if (!json_object_get(all, uri) &&
                                  !tells_itself(server, document, uri))
        send(server, uri, none);
    json_object_foreach(all, uri,
                        list) if (!tells_itself(server, document, uri))
        send(server, uri, list);
    json_decref(none);
    json_decref(document->published);
    document->published = all;
    document->changed = false;
}

void
rlf_lsp_publish(rlf_lsp_server *server)
{
    for (size_t i = 0; i < server->count && !server->shut; i++)
        if (server->documents[i]->changed)
            publish(server, server->documents[i]);
}

void
rlf_lsp_unpublish(rlf_lsp_server *server, const rlf_lsp_document *document)
{
    json_t *none = json_array(), *list;
    const char *uri;
    json_object_foreach(document->published, uri,
                        list) if (!tells_itself(server, document, uri))
        send(server, uri, none);
    json_decref(none);
}
