/* Questions of an editor about the program that a session was opened for, which
 * may be half written. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "grammar/compile.h"
#include "grammar/look.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct rlf_editing {
    struct {
        rlf_edited *data;
        size_t count, room;
    } edited;
    bool looked; /* it was compiled for questions */
    rlf_look *look;
    rlf_name_meaning meaning;
    rlf_proposal proposal;
    rlf_symbol symbol;
    rlf_look_proposals proposals; /* of this place: */
    uint32_t proposed_at;         /* its offset, plus 1; 0: none yet */
    uint32_t from;                /* and where the word begins */
    rlf_look_symbols symbols;
    bool listed;
    rlf_span definition; /* whose uses these are; source 0: none */
    rlf_look_spans uses;
    rlf_program_place use;
};

static struct rlf_editing *
editing_of(rlf_session *s)
{
    if (!s->calls.editing)
        s->calls.editing = RLF_NEW(s->arena, struct rlf_editing);
    return s->calls.editing;
}

rlf_result
rlf_session_edit(rlf_session *s, const char *path, const char *text, size_t n)
{
    if (!rlf_call_begins(s, __func__,
                         RLF_POINTERS({"path", path}, {"text", text})))
        return rlf_session_status(s);
    struct rlf_editing *e = editing_of(s);
    if (e->looked || s->graph)
        return rlf_call_refuse(s, "the program was compiled already");
    rlf_edited edited = {.path = rlf_arena_strdup(s->arena, path),
                         .text = rlf_arena_strndup(s->arena, text, n),
                         .size = n};
    RLF_PUSH_IN(s->arena, &e->edited, edited);
    return RLF_RESULT_OK;
}

static rlf_status
look(rlf_session *s, struct rlf_editing *e, rlf_err *err)
{
    RLF_TRY(rlf_classes_check(s->program.classes, err));
    rlf_compile_options options = rlf_session_compiling(s);
    options.edited = e->edited.data;
    options.n_edited = e->edited.count;
    return rlf_look_program(&options, s->arena, &s->program.sources,
                            &s->program.diags, err, &e->look);
}

rlf_result
rlf_session_look(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    struct rlf_editing *e = editing_of(s);
    if (e->looked || s->graph)
        return rlf_call_refuse(s, "the program was compiled already");
    e->looked = true;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = look(s, e, &s->err);
    rlf_locale_leave(before);
    if (status >= 0)
        status = rlf_memory_check(&s->err);
    return rlf_session_result(status);
}

/* The compilation that answers questions; NULL, saying so: there was none. */
static struct rlf_editing *
looked(rlf_session *s)
{
    if (!s)
        return NULL;
    rlf_why_clear(s);
    struct rlf_editing *e = s->calls.editing;
    if (e && e->look)
        return e;
    rlf_why(s, e && e->looked ? "the program could not be read"
                              : "the session was not looked at "
                                "(rlf_session_look)");
    return NULL;
}

/* The program's source, the first that was read. */
static const rlf_source *
source_of(const rlf_session *s)
{
    return rlf_sources_get(&s->program.sources, 1);
}

/* The byte at a place; false, saying so: there is no such place. */
static bool
offset_of(const rlf_session *s, uint32_t line, uint32_t column, uint32_t *out)
{
    const rlf_source *source = source_of(s);
    bool there = line && column && line <= source->n_lines;
    size_t first = there ? source->lines[line - 1] : 0,
           last =
               line < source->n_lines ? source->lines[line] - 1 : source->size;
    if (!there || column - 1 > last - first) {
        rlf_why(s, "the program has no line %u with a column %u", line, column);
        return false;
    }
    *out = (uint32_t)first + column - 1;
    return true;
}

const rlf_name_meaning *
rlf_session_meaning(rlf_session *s, uint32_t line, uint32_t column)
{
    struct rlf_editing *e = looked(s);
    rlf_look_meaning m;
    uint32_t at;
    if (!e || !offset_of(s, line, column, &at))
        return NULL;
    if (!rlf_look_at(e->look, at, &m)) {
        rlf_why(s, "no name that means anything stands there");
        return NULL;
    }
    e->meaning = (rlf_name_meaning){
        .code = m.code, .value = m.value, .doc = m.doc, .arguments = m.formals};
    e->meaning.name = rlf_session_place(s, m.span);
    e->meaning.definition = rlf_session_place(s, m.definition);
    if (m.file && rlf_file_exists(m.file))
        e->meaning.definition = (rlf_program_place){m.file, 1, 1, 0};
    return &e->meaning;
}

/* Are they one file? */
static bool
same_file(const char *a, const char *b)
{
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return !strcmp(a, b) || (realpath(a, real_a) && realpath(b, real_b) &&
                             !strcmp(real_a, real_b));
}

/* The span that begins at a place; source 0: there is no such place. */
static rlf_span
span_at(const rlf_session *s, const rlf_program_place *at)
{
    const rlf_sources *sources = &s->program.sources;
    for (uint32_t i = 1; i <= sources->list.count; i++) {
        const rlf_source *source = rlf_sources_get(sources, i);
        if (source->beside || !at->line || at->line > source->n_lines ||
            !at->column || !same_file(source->path, at->path))
            continue;
        size_t first = (size_t)source->lines[at->line - 1] + at->column - 1;
        if (first < source->size)
            return (rlf_span){i, (uint32_t)first, (uint32_t)first, 0};
    }
    return (rlf_span){0};
}

const rlf_program_place *
rlf_session_reference(rlf_session *s, const rlf_program_place *definition,
                      size_t i)
{
    struct rlf_editing *e = looked(s);
    if (!e)
        return NULL;
    rlf_span at = {0};
    if (definition && definition->path)
        at = span_at(s, definition);
    if (!at.source) {
        rlf_why(s, "nothing that this program sees is declared there");
        return NULL;
    }
    if (e->definition.source != at.source || e->definition.first != at.first)
        e->uses = rlf_look_uses(e->look, at);
    e->definition = at;
    if (i >= e->uses.count)
        return NULL;
    e->use = rlf_session_place(s, e->uses.data[i]);
    return &e->use;
}

const rlf_proposal *
rlf_session_proposal(rlf_session *s, uint32_t line, uint32_t column, size_t i)
{
    struct rlf_editing *e = looked(s);
    uint32_t at;
    if (!e || !offset_of(s, line, column, &at))
        return NULL;
    if (e->proposed_at != at + 1) {
        e->proposals = rlf_look_propose(e->look, at, &e->from);
        e->proposed_at = at + 1;
    }
    if (i >= e->proposals.count)
        return NULL;
    const rlf_look_proposal *p = &e->proposals.data[i];
    e->proposal = (rlf_proposal){.name = p->name,
                                 .kind = p->kind,
                                 .detail = p->detail,
                                 .doc = p->doc,
                                 .column = column - (at - e->from)};
    return &e->proposal;
}

const rlf_symbol *
rlf_session_symbol(rlf_session *s, size_t i)
{
    struct rlf_editing *e = looked(s);
    if (!e)
        return NULL;
    if (!e->listed)
        e->symbols = rlf_look_symbols_of(e->look);
    e->listed = true;
    if (i >= e->symbols.count)
        return NULL;
    const rlf_look_symbol *x = &e->symbols.data[i];
    e->symbol = (rlf_symbol){.name = x->name,
                             .kind = x->kind,
                             .detail = x->detail,
                             .depth = x->depth};
    e->symbol.name_place = rlf_session_place(s, x->name_span);
    e->symbol.place = rlf_session_place(s, x->span);
    return &e->symbol;
}
