/* Where a name is used, in the documents that are open, and another name for
 * it. */
#include "engine/lsp/server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The uses in a document, in their order. */
typedef struct uses {
    rlf_lsp_document *document;
    rlf_program_place *places;
    size_t count;
} uses;

/* The declaration at a place and its uses: of each document, in the order of
 * the server's. */
typedef struct found {
    rlf_program_place definition; /* its path is a copy */
    uses *of;
    size_t count;
} found;

static void
found_free(found *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->of[i].places);
    free(f->of);
    free((char *)f->definition.path);
    *f = (found){0};
}

static void
find_in(rlf_lsp_server *server, const rlf_program_place *definition, uses *out)
{
    rlf_session *s = rlf_lsp_session(server, out->document);
    const rlf_program_place *p;
    while ((p = rlf_session_reference(s, definition, out->count))) {
        rlf_program_place *more =
            realloc(out->places, (out->count + 1) * sizeof *more);
        if (!more)
            return;
        out->places = more;
        out->places[out->count++] = *p;
    }
}

/* All uses of what is declared there. */
static void
find_uses(rlf_lsp_server *server, const rlf_program_place *definition,
          found *out)
{
    *out = (found){.definition = *definition};
    out->definition.path = strdup(definition->path);
    out->of = calloc(server->count, sizeof *out->of);
    if (!out->definition.path || !out->of)
        return;
    out->count = server->count;
    for (size_t i = 0; i < server->count; i++) {
        out->of[i].document = server->documents[i];
        find_in(server, &out->definition, &out->of[i]);
    }
}

/* The uses of the name at the place that `params` name; false: there is none,
 * or no such place, after an answer. */
static bool
find(rlf_lsp_server *server, const json_t *params, rlf_lsp_answer *answer,
     rlf_lsp_document **document, found *out)
{
    const rlf_name_meaning *m =
        rlf_lsp_meaning(server, params, answer, document);
    if (!m || !m->definition.path)
        return false;
    find_uses(server, &m->definition, out);
    return true;
}

static json_t *
range_of(rlf_lsp_server *server, const uses *u, size_t i)
{
    const rlf_program_place *p = &u->places[i];
    return rlf_lsp_range_in(server, u->document->path, p->line, p->column,
                            p->length);
}

static bool
is_definition(rlf_lsp_server *server, const found *f, const uses *u, size_t i)
{
    const rlf_program_place *p = &u->places[i], *d = &f->definition;
    return p->line == d->line && p->column == d->column &&
           rlf_lsp_document_at(server, d->path) == u->document;
}

void
rlf_lsp_references(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    const json_t *context = json_object_get(params, "context");
    bool all = json_is_true(json_object_get(context, "includeDeclaration"));
    rlf_lsp_document *d;
    found f;
    if (!find(server, params, answer, &d, &f))
        return;
    answer->result = json_array();
    for (size_t i = 0; i < f.count; i++)
        for (size_t k = 0; k < f.of[i].count; k++)
            if (all || !is_definition(server, &f, &f.of[i], k))
                json_array_append_new(answer->result,
                                      json_pack("{s:s, s:o}", "uri",
                                                f.of[i].document->uri, "range",
                                                range_of(server, &f.of[i], k)));
    found_free(&f);
}

void
rlf_lsp_highlights(rlf_lsp_server *server, const json_t *params,
                   rlf_lsp_answer *answer)
{
    rlf_lsp_document *d;
    found f;
    if (!find(server, params, answer, &d, &f))
        return;
    answer->result = json_array();
    for (size_t i = 0; i < f.count; i++)
        for (size_t k = 0; f.of[i].document == d && k < f.of[i].count; k++)
            json_array_append_new(
                answer->result,
                json_pack("{s:o}", "range", range_of(server, &f.of[i], k)));
    found_free(&f);
}

/* ---- another name ---- */

static bool
is_name(const char *text)
{
    size_t n = 0;
    while (text[n] == '_' || isalnum((unsigned char)text[n]))
        n++;
    return n && !text[n] && !isdigit((unsigned char)text[0]);
}

/* The text of a document with another name in the place of all uses, *n bytes;
 * NULL: there is no memory. */
static char *
renamed(const uses *u, const char *name, size_t *n)
{
    const rlf_lsp_document *d = u->document;
    size_t length = strlen(name), from = 0;
    rlf_lsp_cursor cursor = {0};
    char *text = malloc(d->n + u->count * length + 1);
    *n = 0;
    for (size_t i = 0; text && i <= u->count; i++) {
        const rlf_program_place *p = &u->places[i];
        size_t to = i == u->count ? d->n
                                  : rlf_lsp_offset_of(d->text, d->n, p->line,
                                                      p->column, &cursor);
        memcpy(text + *n, d->text + from, to - from);
        *n += to - from;
        if (i == u->count)
            break;
        memcpy(text + *n, name, length);
        *n += length;
        from = to + p->length;
    }
    if (text)
        text[*n] = 0;
    return text;
}

/* Puts the texts in the place of those of the documents, and back. */
static void
swap_texts(rlf_lsp_server *server, const found *f, char **texts, size_t *sizes)
{
    for (size_t i = 0; i < f->count; i++) {
        rlf_lsp_document *d = f->of[i].document;
        char *text = d->text;
        size_t n = d->n;
        if (!texts[i])
            continue;
        d->text = texts[i];
        d->n = sizes[i];
        texts[i] = text;
        sizes[i] = n;
    }
    rlf_lsp_forget_sessions(server);
}

static size_t
count_errors(rlf_lsp_server *server)
{
    const rlf_diagnostic *d;
    size_t n = 0;
    for (size_t i = 0; i < server->count; i++) {
        rlf_session *s = rlf_lsp_session(server, server->documents[i]);
        for (size_t k = 0; (d = rlf_session_diagnostic(s, k)); k++)
            n += strcmp(d->severity, "error") == 0;
    }
    return n;
}

/* The place of the definition once all uses have another name. */
static rlf_program_place
moved_definition(rlf_lsp_server *server, const found *f, const char *name)
{
    rlf_program_place at = f->definition;
    for (size_t i = 0; i < f->count; i++)
        for (size_t k = 0; k < f->of[i].count; k++) {
            const rlf_program_place *p = &f->of[i].places[k];
            if (rlf_lsp_document_at(server, at.path) == f->of[i].document &&
                p->line == f->definition.line &&
                p->column < f->definition.column)
                at.column += (uint32_t)strlen(name) - p->length;
        }
    return at;
}

/* Does everything mean what it meant, under the other name? What has more
 * errors, or more or fewer uses, does not. */
static bool
is_same(rlf_lsp_server *server, const found *f, const char *name)
{
    char **texts = calloc(f->count, sizeof *texts);
    size_t *sizes = calloc(f->count, sizeof *sizes);
    bool good = texts && sizes;
    size_t errors = count_errors(server);
    for (size_t i = 0; good && i < f->count; i++)
        if (f->of[i].count)
            good = (texts[i] = renamed(&f->of[i], name, &sizes[i])) != NULL;
    if (good) {
        found after;
        rlf_program_place at = moved_definition(server, f, name);
        swap_texts(server, f, texts, sizes);
        good = count_errors(server) <= errors;
        find_uses(server, &at, &after);
        good = good && after.count == f->count;
        for (size_t i = 0; good && i < f->count; i++)
            good = after.of[i].count == f->of[i].count;
        found_free(&after);
        swap_texts(server, f, texts, sizes);
    }
    for (size_t i = 0; texts && i < f->count; i++)
        free(texts[i]);
    free(texts);
    free(sizes);
    return good;
}

/* Why it cannot have another name; NULL: it can. */
static const char *
why_not(rlf_lsp_server *server, const found *f)
{
    const rlf_lsp_document *at =
        rlf_lsp_document_at(server, f->definition.path);
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        n += f->of[i].count;
    return !at  ? "the file that declares it is not open"
           : !n ? "no name that is declared stands there"
                : NULL;
}

void
rlf_lsp_prepare_rename(rlf_lsp_server *server, const json_t *params,
                       rlf_lsp_answer *answer)
{
    rlf_lsp_document *d;
    found f;
    const rlf_name_meaning *m = rlf_lsp_meaning(server, params, answer, &d);
    if (!m || !m->definition.path)
        return;
    json_t *range = rlf_lsp_range_in(server, d->path, m->name.line,
                                     m->name.column, m->name.length);
    find_uses(server, &m->definition, &f);
    if (!why_not(server, &f))
        answer->result = range;
    else
        json_decref(range);
    found_free(&f);
}

void
rlf_lsp_rename(rlf_lsp_server *server, const json_t *params,
               rlf_lsp_answer *answer)
{
    const char *name = json_string_value(json_object_get(params, "newName"));
    rlf_lsp_document *d;
    found f;
    if (!find(server, params, answer, &d, &f)) {
        if (!answer->code)
            rlf_lsp_refuse(answer, RLF_LSP_INVALID_PARAMS,
                           "no name that is declared stands there");
        return;
    }
    const char *why = why_not(server, &f);
    if (!why && (!name || !is_name(name)))
        why = "a name has letters, digits and _, and no digit first";
    if (!why && !is_same(server, &f, name))
        why = "the name has a meaning already where this one is used";
    if (why) {
        rlf_lsp_refuse(answer, RLF_LSP_INVALID_PARAMS, why);
        found_free(&f);
        return;
    }
    json_t *changes = json_object();
    for (size_t i = 0; i < f.count; i++) {
        json_t *edits = json_array();
        for (size_t k = 0; k < f.of[i].count; k++)
            json_array_append_new(edits,
                                  json_pack("{s:o, s:s}", "range",
                                            range_of(server, &f.of[i], k),
                                            "newText", name));
        if (f.of[i].count)
            json_object_set(changes, f.of[i].document->uri, edits);
        json_decref(edits);
    }
    answer->result = json_pack("{s:o}", "changes", changes);
    found_free(&f);
}
