/* What is wrong with documents, published as they are typed: for each, of its
 * own file and of those that it imports. */
#include "engine/lsp/server.h"
#include "engine/lsp/uri.h"

#include <stdlib.h>
#include <string.h>

/* Severities of the protocol. */
enum { ERROR = 1, WARNING = 2, INFORMATION = 3 };

static json_t *
message_of(const rlf_diagnostic *d)
{
    size_t n = strlen(d->text) + (d->hint ? strlen(d->hint) : 0) + 16;
    char *text = malloc(n);
    if (!text)
        return rlf_lsp_string(d->text);
    strcpy(text, d->text);
    if (d->hint)
        strcat(strcat(text, "\nhint: "), d->hint);
    json_t *message = rlf_lsp_string(text);
    free(text);
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

/* The URI of a diagnostic's file, as the client calls it. */
static json_t *
uri_of(rlf_lsp_server *server, const rlf_lsp_document *document,
       const char *path)
{
    const rlf_lsp_document *open =
        path ? rlf_lsp_document_at(server, path) : document;
    if (open)
        return rlf_lsp_string(open->uri);
    char *plain = strdup(path), *uri = NULL;
    if (plain) {
        rlf_lsp_plain(plain);
        uri = rlf_lsp_uri(plain);
    }
    json_t *string = rlf_lsp_string(uri ? uri : path);
    free(uri);
    free(plain);
    return string;
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
        json_t *uri = uri_of(server, document, d->path);
        const char *name = json_string_value(uri);
        if (!json_object_get(all, name))
            json_object_set_new(all, name, json_array());
        json_t *one = json_pack(
            "{s:o, s:i, s:s, s:s, s:o}", "range",
            rlf_lsp_range_in(server, d->path ? d->path : document->path,
                             d->line, d->column, d->length),
            "severity", severity_of(d), "code", d->code, "source", "rlflow",
            "message", message_of(d));
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
