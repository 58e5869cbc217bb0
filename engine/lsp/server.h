/* The server's state and the methods it has. A method reads `params`, which may
 * be anything, and answers by a result; each is a function of its own, in the
 * table of methods.c. */
#ifndef RLF_LSP_SERVER_H
#define RLF_LSP_SERVER_H

#include "engine/lsp/frame.h"
#include "engine/lsp/text.h"
#include "engine/rlflow.h"

#include <jansson.h>

/* A document that the client has open. */
typedef struct rlf_lsp_document {
    char *uri, *path;
    char *text; /* n bytes and a 0 */
    size_t n;
    json_int_t version;
    rlf_session *session; /* looked at, of this text; NULL: not yet */
    bool changed;         /* its diagnostics are not published yet */
    json_t *published;    /* an object: the URIs that have diagnostics by it */
} rlf_lsp_document;

typedef struct rlf_lsp_server {
    rlf_lsp_input input;
    int out;
    bool initialized, shut, exits, broken; /* broken: nobody reads answers */
    bool utf8;                             /* positions are in bytes */
    bool markdown;                         /* of hovers */
    bool related; /* diagnostics may have other places */
    rlf_lsp_document **documents;
    size_t count, room;
    rlf_lsp_cursor cursor; /* in the text of one of them */
} rlf_lsp_server;

/* Codes of errors. */
enum {
    RLF_LSP_PARSE_ERROR = -32700,
    RLF_LSP_INVALID_REQUEST = -32600,
    RLF_LSP_METHOD_NOT_FOUND = -32601,
    RLF_LSP_INVALID_PARAMS = -32602,
    RLF_LSP_NOT_INITIALIZED = -32002,
};

typedef struct rlf_lsp_answer {
    json_t *result; /* NULL: null */
    int code;       /* 0, or that of an error */
    const char *message;
} rlf_lsp_answer;

typedef void rlf_lsp_method(rlf_lsp_server *server, const json_t *params,
                            rlf_lsp_answer *answer);

rlf_lsp_method rlf_lsp_initialize, rlf_lsp_initialized, rlf_lsp_shutdown,
    rlf_lsp_exit, rlf_lsp_did_open, rlf_lsp_did_change, rlf_lsp_did_close,
    rlf_lsp_ignore, rlf_lsp_hover, rlf_lsp_definition, rlf_lsp_completion,
    rlf_lsp_symbols, rlf_lsp_formatting, rlf_lsp_references, rlf_lsp_highlights,
    rlf_lsp_prepare_rename, rlf_lsp_rename;

/* ---- server.c ---- */

void rlf_lsp_send(rlf_lsp_server *server, json_t *message);
void rlf_lsp_notify(rlf_lsp_server *server, const char *method, json_t *params);
void rlf_lsp_refuse(rlf_lsp_answer *answer, int code, const char *message);
/* Handles one message, and answers it. */
void rlf_lsp_handle(rlf_lsp_server *server, const char *text, size_t n);

/* ---- methods.c ---- */

typedef struct rlf_lsp_row {
    const char *name;
    bool request; /* it has an answer */
    rlf_lsp_method *method;
} rlf_lsp_row;

/* NULL: there is none. */
const rlf_lsp_row *rlf_lsp_find(const char *name);

/* ---- documents.c ---- */

rlf_lsp_document *rlf_lsp_document_at(rlf_lsp_server *server, const char *path);
/* The one that `params` name; NULL after an answer. */
rlf_lsp_document *rlf_lsp_document_of(rlf_lsp_server *server,
                                      const json_t *params,
                                      rlf_lsp_answer *answer);
/* The same with the place that they name, as rlflow counts. */
rlf_lsp_document *rlf_lsp_document_place(rlf_lsp_server *server,
                                         const json_t *params,
                                         rlf_lsp_answer *answer, uint32_t *line,
                                         uint32_t *column);
void rlf_lsp_documents_free(rlf_lsp_server *server);
/* The text of a document is another: what one of them says may be of others,
 * which import it. */
void rlf_lsp_forget_sessions(rlf_lsp_server *server);
/* The session of the text as it is now. */
rlf_session *rlf_lsp_session(rlf_lsp_server *server,
                             rlf_lsp_document *document);

/* ---- hover.c ---- */

/* What the name at the place that `params` name means; NULL: nothing, or there
 * is no such document, after an answer. */
const rlf_name_meaning *rlf_lsp_meaning(rlf_lsp_server *server,
                                        const json_t *params,
                                        rlf_lsp_answer *answer,
                                        rlf_lsp_document **document);

/* ---- json.c ---- */

/* A text, of which bytes that are no UTF-8 are replaced; NULL is "". */
json_t *rlf_lsp_string(const char *text);
json_t *rlf_lsp_string_n(const char *text, size_t n);
/* A whole number that is no position's: false. */
bool rlf_lsp_read_position(const json_t *position, rlf_lsp_position *out);
/* From byte `first` to `last` of a text. */
json_t *rlf_lsp_range(rlf_lsp_server *server, const char *text, size_t n,
                      size_t first, size_t last);
/* The range of a place of length `length` at a line and column of rlflow, in
 * the file of that path: of a document, or of the disk. */
json_t *rlf_lsp_range_in(rlf_lsp_server *server, const char *path,
                         uint32_t line, uint32_t column, uint32_t length);
/* The URI of a file, as the client calls it. */
json_t *rlf_lsp_uri_of(rlf_lsp_server *server, const char *path);
/* {"uri", "range"} */
json_t *rlf_lsp_location(rlf_lsp_server *server, const rlf_program_place *at);

/* ---- diagnostics.c ---- */

/* Publishes those of all documents that were changed. */
void rlf_lsp_publish(rlf_lsp_server *server);
/* The document is closed: nothing is wrong with it any more. */
void rlf_lsp_unpublish(rlf_lsp_server *server,
                       const rlf_lsp_document *document);

#endif
