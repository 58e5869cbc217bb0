/* The loop over messages: which is a request, which a notification, what it is
 * answered. */
#include "engine/lsp/lsp.h"
#include "engine/lsp/server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
rlf_lsp_send(rlf_lsp_server *server, json_t *message)
{
    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    char *text = json_dumps(message, JSON_COMPACT);
    if (!text || !rlf_lsp_write(server->out, text, strlen(text)))
        server->broken = true;
    free(text);
    json_decref(message);
}

void
rlf_lsp_notify(rlf_lsp_server *server, const char *method, json_t *params)
{
    rlf_lsp_send(server,
                 json_pack("{s:s, s:o}", "method", method, "params", params));
}

void
rlf_lsp_refuse(rlf_lsp_answer *answer, int code, const char *message)
{
    answer->code = code;
    answer->message = message;
}

/* `id` NULL: it is not known. */
static void
reply(rlf_lsp_server *server, const json_t *id, rlf_lsp_answer *answer)
{
    json_t *message = json_object();
    json_object_set_new(message, "id", id ? json_deep_copy(id) : json_null());
    if (answer->code) {
        json_decref(answer->result);
        json_object_set_new(message, "error",
                            json_pack("{s:i, s:o}", "code", answer->code,
                                      "message",
                                      rlf_lsp_string(answer->message)));
    } else {
        json_object_set_new(message, "result",
                            answer->result ? answer->result : json_null());
    }
    rlf_lsp_send(server, message);
}

static void
refuse(rlf_lsp_server *server, const json_t *id, int code, const char *message)
{
    rlf_lsp_answer answer = {.code = code, .message = message};
    reply(server, id, &answer);
}

/* A request or notification of a method that is known by its name or not. */
static void
call(rlf_lsp_server *server, const json_t *id, const char *name,
     const json_t *params)
{
    const rlf_lsp_row *row = rlf_lsp_find(name);
    rlf_lsp_answer answer = {0};
    bool exits = row && row->method == rlf_lsp_exit;
    bool begins = row && row->method == rlf_lsp_initialize;
    if (!row || (id && !row->request)) {
        if (id)
            refuse(server, id, RLF_LSP_METHOD_NOT_FOUND,
                   "there is no request of this method");
        return; /* notifications that are not known are ignored */
    }
    if (!id && row->request)
        return; /* nobody waits for it */
    if (!server->initialized && !begins && !exits)
        rlf_lsp_refuse(&answer, RLF_LSP_NOT_INITIALIZED,
                       "the first request is initialize");
    else if (server->initialized && begins)
        rlf_lsp_refuse(&answer, RLF_LSP_INVALID_REQUEST,
                       "initialize is requested once");
    else if (server->shut && !exits)
        rlf_lsp_refuse(&answer, RLF_LSP_INVALID_REQUEST,
                       "the server was shut down");
    else
        row->method(server, params, &answer);
    if (id)
        reply(server, id, &answer);
    else
        json_decref(answer.result);
}

void
rlf_lsp_handle(rlf_lsp_server *server, const char *text, size_t n)
{
    json_error_t why;
    json_t *message =
        json_loadb(text, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
    if (!message) {
        refuse(server, NULL, RLF_LSP_PARSE_ERROR, why.text);
        return;
    }
    const json_t *id = json_object_get(message, "id");
    const json_t *method = json_object_get(message, "method");
    bool named = !id || json_is_string(id) || json_is_integer(id);
    if (json_is_string(method) && named)
        call(server, id, json_string_value(method),
             json_object_get(message, "params"));
    else if (!json_is_object(message) || method || !named ||
             (!json_object_get(message, "result") &&
              !json_object_get(message, "error")))
        refuse(server, named ? id : NULL, RLF_LSP_INVALID_REQUEST,
               "a message is an object with a method, and an id of a text or "
               "a whole number");
    json_decref(message);
}

int
rlf_lsp_serve(int in, int out)
{
    rlf_lsp_server server = {.input = {.fd = in}, .out = out};
    rlf_lsp_frame frame = RLF_LSP_MESSAGE;
    const char *text, *why = NULL;
    size_t n;
    signal(SIGPIPE, SIG_IGN);
    while (!server.exits && !server.broken) {
        /* What is typed faster than it is read is looked at once. */
        if (!rlf_lsp_waits(&server.input))
            rlf_lsp_publish(&server);
        frame = rlf_lsp_read(&server.input, &text, &n, &why);
        if (frame != RLF_LSP_MESSAGE)
            break;
        rlf_lsp_handle(&server, text, n);
    }
    if (frame == RLF_LSP_BROKEN) {
        refuse(&server, NULL, RLF_LSP_PARSE_ERROR, why);
        fprintf(stderr, "rlflow: error: %s\n", why);
    }
    rlf_lsp_documents_free(&server);
    rlf_lsp_input_free(&server.input);
    return server.shut ? 0 : 1;
}
