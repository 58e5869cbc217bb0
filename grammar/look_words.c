/* Meanings in words: values, declarations, arguments. */
#include "grammar/look_inside.h"

#include <math.h>
#include <string.h>

enum { LINE_MOST = 160 };

/* ---- values ---- */

static const rlf_sizes *
sizes_of(rlf_look *look)
{
    if (!look->sizes && look->graph) {
        rlf_sizes *sizes = RLF_NEW(look->arena, rlf_sizes);
        *sizes =
            rlf_sizes_make(look->graph, &(rlf_sizes_options){0}, look->arena);
        look->sizes = sizes;
    }
    return look->sizes;
}

static const char *
number_text(rlf_look *look, double x)
{
    rlf_buf buf = {0};
    rlf_buf_number(&buf, x);
    const char *text = rlf_arena_strdup(look->arena, buf.p ? buf.p : "");
    rlf_buf_free(&buf);
    return text;
}

/* ", at most 256 in a step", or "". */
static const char *
most(rlf_look *look, int domain)
{
    const rlf_sizes *sizes = sizes_of(look);
    if (!sizes || domain <= 0 || !isfinite(sizes->values[domain]))
        return "";
    return rlf_arena_printf(look->arena, ", at most %s in a step",
                            number_text(look, sizes->values[domain]));
}

static const char *
term_value(rlf_look *look, int term)
{
    const rlf_sema *s = look->sema;
    const rlf_term *t = &s->terms.data[term];
    double x;
    if (rlf_term_constant(s, term, &x))
        return t->truth ? (x > 0 ? "true" : "false")
                        : rlf_arena_printf(look->arena, "the number %s",
                                           number_text(look, x));
    return rlf_arena_printf(look->arena, "%s%s%s", t->text ? "a text, " : "",
                            rlf_level_name(s, t->domain, t->set),
                            most(look, t->domain));
}

static const char *
set_rows(rlf_look *look, int set)
{
    const rlf_sizes *sizes = sizes_of(look);
    const rlf_set_size *size = sizes ? &sizes->set[set] : NULL;
    if (!size || !isfinite(size->samples))
        return "";
    return rlf_arena_printf(
        look->arena, ", at most %s%s%s in a step",
        number_text(look, size->samples),
        look->sema->graph->sets.data[set].tokens >= 0 ? " samples" : " rows",
        isfinite(size->response) && size->response > 0
            ? rlf_arena_printf(look->arena, " of %s tokens",
                               number_text(look, size->response))
            : "");
}

static const char *
set_value(rlf_look *look, int set)
{
    const rlf_graph *g = look->sema->graph;
    const rlf_set *x = &g->sets.data[set];
    static const char *const kinds[] = {
        [RLF_SET_DATA] = "rows",
        [RLF_SET_SAMPLED] = "generated samples",
        [RLF_SET_WRITTEN] = "samples of given responses",
        [RLF_SET_ASKED] = "prompts of given texts"};
    const char *of = x->kind == RLF_SET_DATA && x->data >= 0
                         ? rlf_arena_printf(look->arena, " of '%s'",
                                            g->resources.data[x->data].name)
                     : x->kind == RLF_SET_SAMPLED && x->model >= 0
                         ? rlf_arena_printf(look->arena, " of '%s'",
                                            g->resources.data[x->model].name)
                         : "";
    const char *part = x->origin >= 0
                           ? rlf_arena_printf(look->arena, ", a part of '%s'",
                                              g->sets.data[x->origin].name)
                           : "";
    return rlf_arena_printf(look->arena, "a set of %s%s%s%s", kinds[x->kind],
                            of, part, set_rows(look, set));
}

static const char *
record_value(rlf_look *look, const rlf_hook_outputs *r)
{
    rlf_buf buf = {0};
    if (r->n_gives == 1 && !r->gives[0].name[0])
        return rlf_look_value(look, &r->values[0]);
    rlf_buf_printf(&buf, "the results of '%s':", r->hook);
    for (int i = 0; i < r->n_gives; i++)
        rlf_buf_printf(&buf, " .%s", r->gives[i].name);
    const char *text = rlf_arena_strdup(look->arena, buf.p);
    rlf_buf_free(&buf);
    return text;
}

const char *
rlf_look_value(rlf_look *look, const rlf_entity *entity)
{
    if (!entity)
        return NULL;
    switch (entity->kind) {
    case RLF_ENTITY_NUMBER:
    case RLF_ENTITY_WORDS:
        return entity->term < 0 ? NULL : term_value(look, entity->term);
    case RLF_ENTITY_TEXT:
        return "a text";
    case RLF_ENTITY_LIST:
        return rlf_arena_printf(look->arena, "a list of %zu", entity->n_list);
    case RLF_ENTITY_SET:
        return entity->set < 0 ? NULL : set_value(look, entity->set);
    case RLF_ENTITY_RECORD:
        return record_value(look, entity->record);
    case RLF_ENTITY_MODEL:
        return "a model";
    case RLF_ENTITY_DATA:
        return "a data set";
    case RLF_ENTITY_HOOK:
        return "a hook";
    case RLF_ENTITY_NONE:
        break;
    }
    return NULL;
}

rlf_receiver
rlf_look_receiver(const rlf_entity *entity)
{
    rlf_entity_kind kind = entity ? entity->kind : RLF_ENTITY_NONE;
    return kind == RLF_ENTITY_SET     ? RLF_RECEIVER_SET
           : kind == RLF_ENTITY_MODEL ? RLF_RECEIVER_MODEL
           : kind == RLF_ENTITY_DATA  ? RLF_RECEIVER_SET
           : kind == RLF_ENTITY_HOOK  ? RLF_RECEIVER_HOOK
                                      : RLF_RECEIVER_NONE;
}

/* ---- texts of the program ---- */

const char *
rlf_look_text(const rlf_look *look, rlf_span span)
{
    const rlf_source *source =
        rlf_sources_get(look->sema->sources, span.source);
    rlf_buf buf = {0};
    size_t last = span.last < source->size ? span.last : source->size;
    bool blank = false;
    for (size_t i = span.first; i < last; i++) {
        char c = source->text[i];
        if (c == '#' && (i == span.first || blank))
            while (i < last && source->text[i] != '\n')
                i++;
        bool space = i >= last || (c = source->text[i]) == ' ' || c == '\t' ||
                     c == '\n' || c == '\r';
        if (space) {
            blank = true;
            continue;
        }
        if (blank && buf.n)
            rlf_buf_putc(&buf, ' ');
        blank = false;
        rlf_buf_putc(&buf, c);
    }
    size_t n = rlf_str_cut((rlf_str){buf.p, buf.n}, LINE_MOST);
    const char *text =
        rlf_arena_printf(look->arena, "%s%s",
                         rlf_arena_strndup(look->arena, buf.p ? buf.p : "", n),
                         n < buf.n ? " ..." : "");
    rlf_buf_free(&buf);
    return text;
}

const char *
rlf_look_declaration(const rlf_look *look, const rlf_ast_decl *decl)
{
    rlf_span span = decl->span;
    const rlf_source *source =
        rlf_sources_get(look->sema->sources, span.source);
    if (decl->body) {
        span.last = decl->body->span.first;
        while (span.last > span.first &&
               strchr(" \t\r\n={", source->text[span.last - 1]))
            span.last--;
    }
    return rlf_look_text(look, span);
}

/* ---- arguments ---- */

static const char *
kind_word(const rlf_formal *f)
{
    static const char *const words[] = {
        [RLF_FORMAL_NUMBER] = "number",
        [RLF_FORMAL_INT] = "whole number",
        [RLF_FORMAL_FLAG] = "true or false",
        [RLF_FORMAL_TEXT] = "text",
        [RLF_FORMAL_TEXTS] = "text or list of texts",
        [RLF_FORMAL_NUMBERS] = "list of numbers",
        [RLF_FORMAL_SET] = "set",
        [RLF_FORMAL_COLUMN] = "column",
        [RLF_FORMAL_TEXT_COLUMN] = "texts",
        [RLF_FORMAL_HOOK] = "hook",
        [RLF_FORMAL_MODEL] = "model",
        [RLF_FORMAL_WORD] = "word",
        [RLF_FORMAL_CONSTRUCTOR] = "constructor",
        [RLF_FORMAL_SOURCE] = "path or constructor",
        [RLF_FORMAL_PATH] = "path"};
    return f->words ? f->words : words[f->kind];
}

const char *
rlf_look_formal(rlf_look *look, const rlf_formal *f)
{
    bool number = f->kind == RLF_FORMAL_NUMBER || f->kind == RLF_FORMAL_INT;
    const char *rest =
        f->required ? ""
        : number && (f->fallback > 0 || f->fallback < 0 || f->least <= 0)
            ? rlf_arena_printf(look->arena, " = %s",
                               number_text(look, f->fallback))
        : f->kind == RLF_FORMAL_FLAG
            ? (f->fallback > 0 ? " = true" : " = false")
            : ", or nothing";
    return rlf_arena_printf(look->arena, "%s: %s%s", f->name, kind_word(f),
                            rest);
}

const char *
rlf_look_signature(rlf_look *look, const char *before, const char *name,
                   const rlf_formal *formals, int n)
{
    rlf_buf buf = {0};
    rlf_buf_printf(&buf, "%s%s(", before, name);
    for (int i = 0; i < n; i++)
        rlf_buf_printf(&buf, "%s%s%s", i ? ", " : "", formals[i].name,
                       formals[i].labelled ? ":" : "");
    rlf_buf_putc(&buf, ')');
    const char *text = rlf_arena_strdup(look->arena, buf.p);
    rlf_buf_free(&buf);
    return text;
}

const char *
rlf_look_formals(rlf_look *look, const rlf_formal *formals, int n)
{
    rlf_buf buf = {0};
    for (int i = 0; i < n; i++)
        rlf_buf_printf(&buf, "- %s%s%s\n", rlf_look_formal(look, &formals[i]),
                       formals[i].doc ? ": " : "",
                       formals[i].doc ? formals[i].doc : "");
    const char *text = buf.n ? rlf_arena_strdup(look->arena, buf.p) : NULL;
    rlf_buf_free(&buf);
    return text;
}

const rlf_constructor *
rlf_look_constructor(const rlf_look *look, const rlf_ast_decl *decl,
                     const char *name)
{
    static const int kinds[RLF_AST_DECLS] = {
        [RLF_AST_MODEL] = RLF_RESOURCE_MODEL + 1,
        [RLF_AST_DATA] = RLF_RESOURCE_DATA + 1,
        [RLF_AST_HOOK] = RLF_RESOURCE_HOOK + 1,
        [RLF_AST_STATE] = RLF_RESOURCE_STATE + 1};
    if (!decl || !kinds[decl->kind])
        return NULL;
    const rlf_resource_class *class =
        look->sema->classes->resource[kinds[decl->kind] - 1];
    for (int i = 0; i < class->n_constructors; i++)
        if (strcmp(class->constructors[i].name, name) == 0)
            return &class->constructors[i];
    return NULL;
}
