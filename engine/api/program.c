/* The program of a session as text: parameters, the graph, the standard form
 * of its text. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/draw/draw.h"
#include "engine/io/output.h"
#include "grammar/parse.h"

#include <string.h>

void
rlf_program_forget(rlf_session *s)
{
    if (!s->graph || !s->program.params_only)
        return;
    s->graph = NULL;
    s->program.sources.list.count = s->program.sources.uses.count = 0;
    s->program.diags.list.count = 0;
    s->program.diags.known = (rlf_map){0};
    s->program.told = false;
}

const rlf_parameter *
rlf_session_parameter(rlf_session *s, size_t i)
{
    RLF_IN_LOCALE(s);
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (rlf_session_compile(s, !s->graph || s->program.params_only) < 0) {
        rlf_why(s, "the session has failed");
        return NULL;
    }
    if (i >= s->graph->params.count)
        return NULL;
    const rlf_param *p = &s->graph->params.data[i];
    s->answer.parameter = (rlf_parameter){.name = p->name,
                                          .type = p->type,
                                          .value = p->value,
                                          .doc = p->doc,
                                          .where = p->within ? p->within : ""};
    return &s->answer.parameter;
}

const char *
rlf_session_graph(rlf_session *s, const char *format)
{
    RLF_IN_LOCALE(s);
    static const struct {
        const char *word;
        void (*dump)(const rlf_graph *graph, rlf_buf *out);
    } formats[] = {{"text", rlf_graph_dump_text},
                   {"dot", rlf_graph_dump_dot},
                   {"json", rlf_graph_dump_json},
                   {"svg", rlf_draw_svg}};
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (rlf_session_compile(s, false) < 0) {
        rlf_why(s, "the session has failed");
        return NULL;
    }
    for (size_t i = 0; format && i < RLF_COUNT(formats); i++)
        if (strcmp(format, formats[i].word) == 0) {
            rlf_buf_clear(&s->answer.text);
            formats[i].dump(s->graph, &s->answer.text);
            return s->answer.text.p;
        }
    if (format)
        rlf_why(s, "a graph has no form '%s': it has text, dot, json and svg",
                format);
    else
        rlf_why(s, "rlf_session_graph: format is NULL");
    return NULL;
}

/* The program as it is: as it was compiled, or as it stands in its file. */
static const rlf_source *
source_of(rlf_session *s, rlf_sources *sources, uint32_t *out)
{
    const rlf_sources *compiled = &s->program.sources;
    for (uint32_t i = 1; s->graph && i <= compiled->list.count; i++) {
        const rlf_source *source = rlf_sources_get(compiled, i);
        if (strcmp(source->path, s->program.path) != 0)
            continue;
        *out = i;
        return source;
    }
    rlf_status status =
        s->program.text
            ? rlf_sources_take(sources, s->program.path, s->program.text,
                               s->program.size, &s->err, out)
            : rlf_sources_read(sources, s->program.path, &s->err, out);
    return status < 0 ? NULL : rlf_sources_get(sources, *out);
}

/* The program as it is, and as answer.text in the standard form. A program that
 * was compiled is right: nothing that is found then is told again. */
static const rlf_source *
form(rlf_session *s)
{
    uint32_t index;
    rlf_sources *sources = &s->program.sources;
    rlf_diags again = {.arena = s->arena, .sources = sources};
    const rlf_source *source = source_of(s, sources, &index);
    if (!source)
        return NULL;
    rlf_ast_program *program = rlf_parse(sources, index, s->arena,
                                         s->graph ? &again : &s->program.diags);
    rlf_buf_clear(&s->answer.text);
    return rlf_fmt(sources, program, &s->answer.text)
               ? rlf_sources_get(sources, index)
               : NULL;
}

const char *
rlf_session_format(rlf_session *s)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, NULL) || !form(s))
        return NULL;
    return s->answer.text.p ? s->answer.text.p : "";
}

rlf_result
rlf_session_format_file(rlf_session *s)
{
    RLF_IN_LOCALE(s);
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    if (s->program.text)
        return rlf_call_refuse(s, "the program is a text of the caller's, and "
                                  "no file that could be written");
    const rlf_buf *text = &s->answer.text;
    const rlf_source *source = form(s);
    if (!source)
        return rlf_session_status(s);
    if (source->size == text->n && memcmp(source->text, text->p, text->n) == 0)
        return RLF_RESULT_OK;
    return rlf_session_result(
        rlf_output_write(s->program.path, text->p, text->n, &s->err));
}
