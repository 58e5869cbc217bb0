/* The standard form, as `rlflow fmt` has it. A document that is wrong has none:
 * it stays as it is. */
#include "engine/lsp/server.h"

#include <string.h>

void
rlf_lsp_formatting(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    const rlf_lsp_document *d = rlf_lsp_document_of(server, params, answer);
    if (!d)
        return;
    rlf_session *s = rlf_session_open_text(d->path, d->text, d->n);
    const char *text = rlf_session_format(s);
    size_t n = text ? strlen(text) : 0;
    if (text) {
        answer->result = json_array();
        if (n != d->n || memcmp(text, d->text, n) != 0)
            json_array_append_new(
                answer->result,
                json_pack("{s:o, s:o}", "range",
                          rlf_lsp_range(server, d->text, d->n, 0, d->n),
                          "newText", rlf_lsp_string_n(text, n)));
    }
    rlf_session_close(s);
}
