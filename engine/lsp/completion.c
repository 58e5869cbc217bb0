/* What can stand at a place. */
#include "engine/lsp/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CompletionItemKind by the library's words. */
static int
kind_of(const char *kind)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {{"keyword", 14}, {"function", 3}, {"constructor", 4},
                 {"method", 2},   {"argument", 5}, {"field", 10},
                 {"value", 6},    {"model", 7},    {"data", 22},
                 {"hook", 3},     {"state", 6},    {"param", 21},
                 {"file", 17},    {"level", 20}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, kind) == 0)
            return kinds[i].kind;
    return 1;
}

/* What is proposed where it is likeliest comes first. */
static const char *
rank_of(const char *kind)
{
    return strcmp(kind, "argument") == 0  ? "0"
           : strcmp(kind, "field") == 0   ? "1"
           : strcmp(kind, "value") == 0   ? "2"
           : strcmp(kind, "keyword") == 0 ? "5"
                                          : "3";
}

static json_t *
item_of(const rlf_proposal *p, const json_t *range)
{
    bool label = strcmp(p->kind, "argument") == 0;
    size_t n = strlen(p->name);
    char *text = malloc(n + 8);
    if (!text)
        return NULL;
    snprintf(text, n + 8, "%s%s", p->name, label ? ": " : "");
    json_t *item = json_pack("{s:s, s:i, s:o, s:{s:O, s:s}}", "label", p->name,
                             "kind", kind_of(p->kind), "sortText",
                             json_sprintf("%s%s", rank_of(p->kind), p->name),
                             "textEdit", "range", range, "newText", text);
    if (item && p->detail)
        json_object_set_new(item, "detail", rlf_lsp_string(p->detail));
    if (item && p->doc)
        json_object_set_new(item, "documentation", rlf_lsp_string(p->doc));
    free(text);
    return item;
}

void
rlf_lsp_completion(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    uint32_t line, column;
    rlf_lsp_document *d =
        rlf_lsp_document_place(server, params, answer, &line, &column);
    if (!d)
        return;
    rlf_session *s = rlf_lsp_session(server, d);
    json_t *items = json_array(), *range = NULL;
    const rlf_proposal *p;
    for (size_t i = 0; (p = rlf_session_proposal(s, line, column, i)); i++) {
        if (!range)
            range = rlf_lsp_range_in(server, d->path, line, p->column,
                                     column - p->column);
        json_array_append_new(items, item_of(p, range));
    }
    json_decref(range);
    answer->result = json_pack("{s:b, s:o}", "isIncomplete", 0, "items", items);
}
