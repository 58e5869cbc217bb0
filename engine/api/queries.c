/* Queries of a program about a session: which it is, how far it got, and its
 * messages. Nothing here runs anything. */
#include "engine/api/session.h"

#include "config.h"
#include "engine/api/searching/auto.h"
#include "engine/api/rundir/rundir.h"

#include <math.h>
#include <string.h>

uint64_t
rlf_session_steps(const rlf_session *s)
{
    return s && s->run ? rlf_run_steps(s->run) : 0;
}

size_t
rlf_session_doing(const rlf_session *s, char *text, size_t room)
{
    if (room)
        *text = 0;
    if (s && s->run && room)
        rlf_run_doing(s->run, text, room);
    return room ? strlen(text) : 0;
}

uint64_t
rlf_session_saved(rlf_session *s)
{
    return s ? rlf_saving_last(s) : 0;
}

uint64_t
rlf_session_steps_wanted(const rlf_session *s)
{
    return s ? s->wanted : 0;
}

const rlf_info *
rlf_session_info(rlf_session *s)
{
    if (!s)
        return NULL;
    s->answer.info = (rlf_info){
        .path = s->path,
        .name = s->graph ? s->graph->name : NULL,
        .nodes = s->graph ? s->graph->nodes.count : 0,
        .values = s->graph ? s->graph->values.count : 0,
        .automatic = s->graph && rlf_auto_asked(s),
        .leads = s->leads,
        .seed = s->options.seed,
        .directory = s->options.directory,
        .single = s->one,
        .resumes = s->options.resume,
        .resumed = s->resumed,
        .killed = s->killed,
        .ended = s->run && s->leads && rlf_run_ended(s->run),
        .pauses = s->world ? rlf_comm_world_pauses(s->world) : 0,
        .step_seconds = s->step_seconds,
        .step_tokens = s->tokens,
    };
    return &s->answer.info;
}

double
rlf_session_metric(const rlf_session *s, const char *name)
{
    double x;
    bool there =
        s && s->run && rlf_metrics_get(rlf_run_metrics(s->run), name, &x);
    return there ? x : NAN;
}

const char *
rlf_session_metric_name(const rlf_session *s, size_t i)
{
    return s && s->run ? rlf_metrics_name(rlf_run_metrics(s->run), i) : NULL;
}

const char *
rlf_session_message(rlf_session *s)
{
    if (!s)
        return "error: there is no memory for a session\n"
               "hint: end other programs, or give this one more memory\n";
    if (s->last && rlf_session_failed(s->last))
        return rlf_session_message(s->last);
    rlf_buf_clear(&s->message);
    if (s->stop.before_step)
        rlf_stop_print(s, s->stop.signal, &s->message);
    if (s->options.json && s->diags.errors)
        rlf_diags_print_json(&s->diags, &s->message);
    else if (s->diags.errors)
        rlf_diags_print(&s->diags, &s->message);
    if (!s->options.json && s->diags.errors && s->world &&
        rlf_comm_world_process(s->world) > 0)
        rlf_buf_printf(&s->message, "  on rank %d\n",
                       rlf_comm_rank(rlf_comm_of(s->world, 0)));
    if (s->err.status < 0 && !(s->options.json && s->diags.errors))
        rlf_input_errors_print(s, &s->err, &s->message);
    return s->message.p ? s->message.p : "";
}

/* Adds the warnings of the program, a line each. */
static void
add_program_warnings(rlf_session *s)
{
    for (size_t i = 0; i < s->diags.list.count; i++) {
        const rlf_diag *d = &s->diags.list.data[i];
        rlf_place at = rlf_sources_place(&s->sources, d->at);
        rlf_buf_printf(&s->warnings, "%s:%u:%u: %s\n", at.path, at.line,
                       at.column, d->text);
    }
    s->told = true;
}

const char *
rlf_session_warnings(rlf_session *s)
{
    if (!s)
        return "";
    if (!s->told && !s->diags.errors)
        add_program_warnings(s);
    rlf_buf before = s->warned;
    s->warned = s->warnings;
    s->warnings = before;
    rlf_buf_clear(&s->warnings);
    return s->warned.p ? s->warned.p : "";
}

const char *
rlf_session_advice(rlf_session *s)
{
    if (!s || s->told || !s->leads || s->diags.errors || !s->diags.list.count)
        return "";
    s->told = true;
    rlf_buf_clear(&s->message);
    if (s->options.json)
        rlf_diags_print_json(&s->diags, &s->message);
    else
        rlf_diags_print(&s->diags, &s->message);
    return s->message.p;
}

int
rlf_session_failed(const rlf_session *s)
{
    return !s || s->err.status < 0 || s->diags.errors > 0 ||
           (s->last && rlf_session_failed(s->last));
}

rlf_result
rlf_session_status(const rlf_session *s)
{
    return !s                  ? RLF_RESULT_FAILED
           : s->stop.in_call   ? RLF_RESULT_CUT
           : s->err.status < 0 ? rlf_session_result(s->err.status)
           : s->diags.errors   ? RLF_RESULT_PROGRAM
           : s->last           ? rlf_session_status(s->last)
                               : RLF_RESULT_OK;
}

const char *
rlf_version(void)
{
    return PACKAGE_VERSION;
}
