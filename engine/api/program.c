/* The program of a session as text: parameters, the graph, the standard form
 * of its text. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/io/output.h"
#include "grammar/parse.h"

#include <string.h>

const rlf_parameter *
rlf_session_parameter(rlf_session *s, size_t i)
{
    if (!s || rlf_session_compile(s, !s->graph || s->program.params_only) < 0 ||
        i >= s->graph->params.count)
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
    static const struct {
        const char *word;
        void (*dump)(const rlf_graph *graph, rlf_buf *out);
    } formats[] = {{"text", rlf_graph_dump_text},
                   {"dot", rlf_graph_dump_dot},
                   {"json", rlf_graph_dump_json}};
    if (!s || rlf_session_check(s) < 0)
        return NULL;
    rlf_buf_clear(&s->answer.text);
    for (size_t i = 0; i < RLF_COUNT(formats); i++)
        if (strcmp(format, formats[i].word) == 0) {
            formats[i].dump(s->graph, &s->answer.text);
            return s->answer.text.p;
        }
    rlf_fail(&s->err, RLF_USAGE, "a graph has no form '%s'", format);
    return NULL;
}

/* The program as it is, and as answer.text in the standard form. */
static const rlf_source *
form(rlf_session *s)
{
    uint32_t source;
    rlf_status status =
        s->program.text ? rlf_sources_take(&s->program.sources, s->program.path,
                                           s->program.text, s->program.size,
                                           &s->err, &source)
                        : rlf_sources_read(&s->program.sources, s->program.path,
                                           &s->err, &source);
    if (status < 0)
        return NULL;
    rlf_ast_program *program =
        rlf_parse(&s->program.sources, source, s->arena, &s->program.diags);
    rlf_buf_clear(&s->answer.text);
    return rlf_fmt(&s->program.sources, program, &s->answer.text)
               ? rlf_sources_get(&s->program.sources, source)
               : NULL;
}

const char *
rlf_session_format(rlf_session *s)
{
    if (!s || s->graph || !form(s))
        return NULL;
    return s->answer.text.p ? s->answer.text.p : "";
}

rlf_result
rlf_session_format_file(rlf_session *s)
{
    if (!s)
        return RLF_RESULT_FAILED;
    const rlf_buf *text = &s->answer.text;
    const rlf_source *source = form(s);
    if (!source)
        return rlf_session_result(s->err.status < 0 ? s->err.status : RLF_USER);
    if (source->size == text->n && memcmp(source->text, text->p, text->n) == 0)
        return RLF_RESULT_OK;
    return rlf_session_result(
        rlf_output_write(s->program.path, text->p, text->n, &s->err));
}
