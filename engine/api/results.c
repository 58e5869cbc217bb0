/* Answers of a session beside metrics and messages: its diagnostics as data,
 * the samples of the last step. See rlflow.h. */
#include "engine/api/session.h"

#include "engine/base/vec.h"

#include <limits.h>
#include <string.h>

/* ---- diagnostics ---- */

rlf_program_place
rlf_session_place(const rlf_session *s, rlf_span span)
{
    if (!span.source)
        return (rlf_program_place){0};
    rlf_place at = rlf_sources_place(&s->program.sources, span);
    return (rlf_program_place){
        .path = at.path,
        .line = at.line,
        .column = at.column,
        .length = span.last > span.first ? span.last - span.first : 0};
}

static void
place(const rlf_session *s, rlf_span span, rlf_diagnostic *out)
{
    rlf_program_place at = rlf_session_place(s, span);
    out->path = at.path;
    out->line = at.line;
    out->column = at.column;
    out->length = at.path && !at.length ? 1 : at.length;
}

const rlf_diagnostic *
rlf_session_diagnostic(rlf_session *s, size_t i)
{
    if (!s)
        return NULL;
    if (s->calls.last && rlf_session_failed(s->calls.last))
        return rlf_session_diagnostic(s->calls.last, i);
    rlf_diagnostic *out = &s->answer.diagnostic;
    *out = (rlf_diagnostic){0};
    if (i < s->program.diags.list.count) {
        const rlf_diag *d = &s->program.diags.list.data[i];
        bool error = d->severity == RLF_SEVERITY_ERROR;
        out->severity = error ? "error" : "warning";
        out->code = d->code;
        out->text = d->text;
        out->hint = d->hint;
        place(s, d->at, out);
        return out;
    }
    const rlf_err *const errors[] = {&s->err, &s->end_err}, *err = NULL;
    i -= s->program.diags.list.count;
    for (size_t k = 0; k < RLF_COUNT(errors) && !err; k++)
        if (errors[k]->status < 0 && *errors[k]->sentence && i-- == 0)
            err = errors[k];
    if (!err)
        return NULL;
    out->severity = "error";
    out->code = "run";
    out->text = err->sentence;
    out->hint = *err->hint ? err->hint : NULL;
    place(s, err->span, out);
    return out;
}

const rlf_diagnostic_note *
rlf_session_diagnostic_note(rlf_session *s, size_t i, size_t k)
{
    if (!s)
        return NULL;
    if (s->calls.last && rlf_session_failed(s->calls.last))
        return rlf_session_diagnostic_note(s->calls.last, i, k);
    if (i >= s->program.diags.list.count ||
        k >= s->program.diags.list.data[i].notes.count)
        return NULL;
    const rlf_note *note = &s->program.diags.list.data[i].notes.data[k];
    s->answer.note = (rlf_diagnostic_note){
        .place = rlf_session_place(s, note->span), .text = note->text};
    return &s->answer.note;
}

/* ---- samples ---- */

/* Lines of whole samples, each of which becomes a text. */
static rlf_status
take_lines(void *arg, const char *lines, size_t n, rlf_err *err)
{
    rlf_session *s = arg;
    rlf_buf *samples = &s->answer.samples;
    if (!rlf_buf_try(samples, n))
        return rlf_fail_memory(err, samples->n + n, "the samples of a step");
    for (const char *end = lines + n; lines < end;) {
        const char *stop = memchr(lines, '\n', (size_t)(end - lines));
        RLF_TRY_ROOM(&s->answer.at, 1, "the samples of a step");
        RLF_PUSH(&s->answer.at, s->answer.samples.n);
        rlf_buf_add(samples, lines, (size_t)(stop - lines));
        rlf_buf_add(samples, "", 1);
        lines = stop + 1;
    }
    return RLF_OK;
}

const char *
rlf_session_sample(rlf_session *s, size_t i)
{
    RLF_IN_LOCALE(s);
    rlf_err err = RLF_ERR_NONE;
    if (!s)
        return NULL;
    rlf_why_clear(s);
    if (!s->run || !s->leads || !rlf_run_steps(s->run)) {
        rlf_why(s, s->ended    ? "the run was finished"
                   : !s->leads ? "samples are in process 0"
                               : "no step was taken");
        return NULL;
    }
    if (s->answer.step != rlf_run_steps(s->run)) {
        rlf_buf_clear(&s->answer.samples);
        s->answer.at.count = 0;
        if (rlf_run_samples(s->run, UINT_MAX, take_lines, s, &err) < 0) {
            rlf_buf_clear(&s->answer.samples);
            s->answer.at.count = 0;
            rlf_why(s, "%s", err.sentence);
            return NULL;
        }
        s->answer.step = rlf_run_steps(s->run);
    }
    return i < s->answer.at.count ? s->answer.samples.p + s->answer.at.data[i]
                                  : NULL;
}

void
rlf_answers_free(rlf_session *s)
{
    rlf_simulating_close(s->calls.simulating);
    rlf_answering_close(s->calls.answering);
    rlf_evaluating_close(s->calls.evaluating);
    rlf_inspected_text_close(s->calls.inspected_text);
    rlf_buf_free(&s->answer.samples);
    rlf_buf_free(&s->answer.text);
    RLF_VEC_FREE(&s->answer.at);
    rlf_weights_free(s);
}
