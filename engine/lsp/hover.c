/* What a name means, and where that is said. */
#include "engine/lsp/server.h"

#include <stdlib.h>
#include <string.h>

/* Adds a piece to the end of a text of `n` bytes. */
static void
add(char **text, size_t *n, const char *piece)
{
    size_t k = strlen(piece);
    char *more = realloc(*text, *n + k + 1);
    if (!more)
        return;
    memcpy(more + *n, piece, k + 1);
    *text = more;
    *n += k;
}

static json_t *
words_of(const rlf_lsp_server *server, const rlf_name_meaning *m)
{
    char *text = NULL;
    size_t n = 0;
    const char *const pieces[] = {m->value, m->doc, m->arguments};
    if (m->code) {
        add(&text, &n, server->markdown ? "```rlf\n" : "");
        add(&text, &n, m->code);
        add(&text, &n, server->markdown ? "\n```" : "");
    }
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i]) {
            add(&text, &n, n ? "\n\n" : "");
            add(&text, &n, pieces[i]);
        }
    json_t *words = rlf_lsp_string(text);
    free(text);
    return words;
}

const rlf_name_meaning *
rlf_lsp_meaning(rlf_lsp_server *server, const json_t *params,
                rlf_lsp_answer *answer, rlf_lsp_document **document)
{
    uint32_t line, column;
    rlf_lsp_document *d =
        rlf_lsp_document_place(server, params, answer, &line, &column);
    *document = d;
    return d ? rlf_session_meaning(rlf_lsp_session(server, d), line, column)
             : NULL;
}

void
rlf_lsp_hover(rlf_lsp_server *server, const json_t *params,
              rlf_lsp_answer *answer)
{
    rlf_lsp_document *d;
    const rlf_name_meaning *m = rlf_lsp_meaning(server, params, answer, &d);
    if (!m)
        return;
    answer->result =
        json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind",
                  server->markdown ? "markdown" : "plaintext", "value",
                  words_of(server, m), "range",
                  rlf_lsp_range_in(server, d->path, m->name.line,
                                   m->name.column, m->name.length));
}

void
rlf_lsp_definition(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    rlf_lsp_document *d;
    const rlf_name_meaning *m = rlf_lsp_meaning(server, params, answer, &d);
    if (m && m->definition.path)
        answer->result = rlf_lsp_location(server, &m->definition);
}
