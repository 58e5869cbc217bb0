/* What a document declares, as a tree. */
#include "engine/lsp/server.h"

#include <string.h>

/* SymbolKind by the words that declare. */
static int
kind_of(const char *kind)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {{"import", 2}, {"param", 14}, {"data", 23},  {"model", 5},
                 {"hook", 12},  {"state", 13}, {"def", 12},   {"flow", 6},
                 {"place", 3},  {"value", 13}, {"device", 5}, {"machine", 5},
                 {"cluster", 5}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, kind) == 0)
            return kinds[i].kind;
    return 13;
}

static json_t *
symbol_of(rlf_lsp_server *server, const rlf_symbol *x, const char *path)
{
    /* In their order, for what stands behind the last place is found at once.
     */
    json_t *range = rlf_lsp_range_in(server, path, x->place.line,
                                     x->place.column, x->place.length);
    json_t *selection =
        rlf_lsp_range_in(server, path, x->name_place.line, x->name_place.column,
                         x->name_place.length);
    json_t *symbol =
        json_pack("{s:o, s:i, s:o, s:o, s:o}", "name", rlf_lsp_string(x->name),
                  "kind", kind_of(x->kind), "range", range, "selectionRange",
                  selection, "children", json_array());
    if (x->detail)
        json_object_set_new(symbol, "detail", rlf_lsp_string(x->detail));
    return symbol;
}

void
rlf_lsp_symbols(rlf_lsp_server *server, const json_t *params,
                rlf_lsp_answer *answer)
{
    rlf_lsp_document *d = rlf_lsp_document_of(server, params, answer);
    if (!d)
        return;
    rlf_session *s = rlf_lsp_session(server, d);
    json_t *list = json_array(), *above = NULL;
    const rlf_symbol *x;
    for (size_t i = 0; (x = rlf_session_symbol(s, i)); i++) {
        json_t *symbol = symbol_of(server, x, d->path);
        if (x->depth && above) {
            json_array_append_new(json_object_get(above, "children"), symbol);
            continue;
        }
        json_array_append_new(list, symbol);
        above = symbol;
    }
    answer->result = list;
}
