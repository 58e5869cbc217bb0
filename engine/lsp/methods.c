/* The methods that there are, and those about the connection itself. */
#include "engine/lsp/server.h"

#include <string.h>

static const rlf_lsp_row rows[] = {
    {"initialize", true, rlf_lsp_initialize},
    {"initialized", false, rlf_lsp_initialized},
    {"shutdown", true, rlf_lsp_shutdown},
    {"exit", false, rlf_lsp_exit},
    {"textDocument/didOpen", false, rlf_lsp_did_open},
    {"textDocument/didChange", false, rlf_lsp_did_change},
    {"textDocument/didClose", false, rlf_lsp_did_close},
    {"textDocument/didSave", false, rlf_lsp_ignore},
    {"textDocument/hover", true, rlf_lsp_hover},
    {"textDocument/definition", true, rlf_lsp_definition},
    {"textDocument/completion", true, rlf_lsp_completion},
    {"textDocument/documentHighlight", true, rlf_lsp_highlights},
    {"textDocument/documentSymbol", true, rlf_lsp_symbols},
    {"textDocument/formatting", true, rlf_lsp_formatting},
    {"textDocument/prepareRename", true, rlf_lsp_prepare_rename},
    {"textDocument/references", true, rlf_lsp_references},
    {"textDocument/rename", true, rlf_lsp_rename},
    {"workspace/didChangeConfiguration", false, rlf_lsp_ignore},
    {"$/cancelRequest", false, rlf_lsp_ignore},
    {"$/setTrace", false, rlf_lsp_ignore},
};

const rlf_lsp_row *
rlf_lsp_find(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

void
rlf_lsp_ignore(rlf_lsp_server *server, const json_t *params,
               rlf_lsp_answer *answer)
{
    (void)server;
    (void)params;
    (void)answer;
}

void
rlf_lsp_initialized(rlf_lsp_server *server, const json_t *params,
                    rlf_lsp_answer *answer)
{
    rlf_lsp_ignore(server, params, answer);
}

void
rlf_lsp_shutdown(rlf_lsp_server *server, const json_t *params,
                 rlf_lsp_answer *answer)
{
    (void)params;
    (void)answer;
    server->shut = true;
}

void
rlf_lsp_exit(rlf_lsp_server *server, const json_t *params,
             rlf_lsp_answer *answer)
{
    (void)params;
    (void)answer;
    server->exits = true;
}

/* Has the list at `object.a.b.c` the text `word`? */
static bool
lists(const json_t *params, const char *a, const char *b, const char *c,
      const char *word)
{
    const json_t *list = json_object_get(params, "capabilities");
    list = json_object_get(json_object_get(list, a), b);
    if (c)
        list = json_object_get(list, c);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text && strcmp(text, word) == 0)
            return true;
    }
    return false;
}

/* Is `params.capabilities.textDocument.a.b` true? */
static bool
can(const json_t *params, const char *a, const char *b)
{
    const json_t *of = json_object_get(params, "capabilities");
    of = json_object_get(json_object_get(of, "textDocument"), a);
    return json_is_true(json_object_get(of, b));
}

void
rlf_lsp_initialize(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    server->initialized = true;
    server->utf8 = lists(params, "general", "positionEncodings", NULL, "utf-8");
    server->markdown =
        lists(params, "textDocument", "hover", "contentFormat", "markdown");
    server->related = can(params, "publishDiagnostics", "relatedInformation");
    answer->result = json_pack(
        "{s:{s:s, s:{s:b, s:i, s:b}, s:b, s:b, s:{s:[s,s,s]}, s:b, s:b,"
        " s:b, s:b, s:{s:b}}, s:{s:s, s:s}}",
        "capabilities", "positionEncoding", server->utf8 ? "utf-8" : "utf-16",
        "textDocumentSync", "openClose", 1, "change", 2, "save", 1,
        "hoverProvider", 1, "definitionProvider", 1, "completionProvider",
        "triggerCharacters", ".", "\"", "/", "documentSymbolProvider", 1,
        "documentFormattingProvider", 1, "documentHighlightProvider", 1,
        "referencesProvider", 1, "renameProvider", "prepareProvider", 1,
        "serverInfo", "name", "rlflow", "version", rlf_version());
}
