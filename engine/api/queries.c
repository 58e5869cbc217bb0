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
    room = text ? room : 0;
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
    return s ? s->steps.wanted : 0;
}

const rlf_info *
rlf_session_info(rlf_session *s)
{
    if (!s)
        return NULL;
    s->answer.info = (rlf_info){
        .path = s->program.path,
        .name = s->graph ? s->graph->name : NULL,
        .nodes = s->graph ? s->graph->nodes.count : 0,
        .values = s->graph ? s->graph->values.count : 0,
        .automatic = s->graph && rlf_auto_asked(s),
        .leads = s->leads,
        .seed = s->options.seed,
        .directory = s->options.directory,
        .single = s->steps.one,
        .resumes = s->options.resume,
        .resumed = s->steps.resumed,
        .killed = s->directory.killed,
        .ended = s->run && s->leads && rlf_run_ended(s->run),
        .pauses = s->world ? rlf_comm_world_pauses(s->world) : 0,
        .step_seconds = s->steps.seconds,
        .step_tokens = s->steps.tokens,
    };
    return &s->answer.info;
}

/* The run of which metrics are; NULL, with the reason: there is none. */
static const rlf_metrics *
metrics_of(const rlf_session *s)
{
    rlf_why_clear(s);
    if (s->run && rlf_run_steps(s->run))
        return rlf_run_metrics(s->run);
    rlf_why(s, s->ended ? "the run was finished" : "no step was taken");
    return NULL;
}

double
rlf_session_metric(const rlf_session *s, const char *name)
{
    double x;
    const rlf_metrics *all = s ? metrics_of(s) : NULL;
    if (!all)
        return NAN;
    if (!name)
        rlf_why(s, "rlf_session_metric: name is NULL");
    else if (rlf_metrics_get(all, name, &x))
        return x;
    else
        rlf_why(s, "the last step has reported no metric '%s'", name);
    return NAN;
}

const char *
rlf_session_metric_name(const rlf_session *s, size_t i)
{
    const rlf_metrics *all = s ? metrics_of(s) : NULL;
    return all ? rlf_metrics_name(all, i) : NULL;
}

const char *
rlf_session_message(rlf_session *s)
{
    if (!s)
        return "error: there is no memory for a session\n"
               "hint: end other programs, or give this one more memory\n";
    if (s->calls.last && rlf_session_failed(s->calls.last))
        return rlf_session_message(s->calls.last);
    rlf_buf_clear(&s->answer.message);
    if (s->options.json && s->program.diags.errors)
        rlf_diags_print_json(&s->program.diags, &s->answer.message);
    else if (s->program.diags.errors)
        rlf_diags_print(&s->program.diags, &s->answer.message);
    if (!s->options.json && s->program.diags.errors && s->world &&
        rlf_comm_world_process(s->world) > 0)
        rlf_buf_printf(&s->answer.message, "  on rank %d\n",
                       rlf_comm_rank(rlf_comm_of(s->world, 0)));
    if (s->err.status < 0 && !(s->options.json && s->program.diags.errors))
        rlf_input_errors_print(s, &s->err, &s->answer.message);
    if (s->end_err.status < 0)
        (s->options.json ? rlf_err_print_json : rlf_err_print)(
            &s->end_err, &s->program.sources, &s->answer.message);
    return s->answer.message.p ? s->answer.message.p : "";
}

/* Adds the warnings of the program, a line each. */
static void
add_program_warnings(rlf_session *s)
{
    for (size_t i = 0; i < s->program.diags.list.count; i++) {
        const rlf_diag *d = &s->program.diags.list.data[i];
        rlf_place at = rlf_sources_place(&s->program.sources, d->at);
        rlf_buf_line(&s->warned.lines, "%s:%u:%u: %s\n", at.path, at.line,
                     at.column, d->text);
    }
    s->program.told = true;
}

const char *
rlf_session_warnings(rlf_session *s)
{
    if (!s)
        return "";
    if (!s->program.told && !s->program.diags.errors)
        add_program_warnings(s);
    rlf_buf before = s->warned.given;
    s->warned.given = s->warned.lines;
    s->warned.lines = before;
    rlf_buf_clear(&s->warned.lines);
    return s->warned.given.p ? s->warned.given.p : "";
}

const char *
rlf_session_advice(rlf_session *s)
{
    if (!s || s->program.told || !s->leads || s->program.diags.errors ||
        !s->program.diags.list.count)
        return "";
    s->program.told = true;
    rlf_buf_clear(&s->answer.message);
    if (s->options.json)
        rlf_diags_print_json(&s->program.diags, &s->answer.message);
    else
        rlf_diags_print(&s->program.diags, &s->answer.message);
    return s->answer.message.p;
}

int
rlf_session_failed(const rlf_session *s)
{
    return !s || s->err.status < 0 || s->program.diags.errors > 0 ||
           (s->calls.last && rlf_session_failed(s->calls.last));
}

rlf_result
rlf_session_status(const rlf_session *s)
{
    return !s                        ? RLF_RESULT_MEMORY
           : s->stop.in_call         ? RLF_RESULT_CUT
           : s->err.status < 0       ? rlf_session_result(s->err.status)
           : s->program.diags.errors ? RLF_RESULT_PROGRAM
           : s->calls.last           ? rlf_session_status(s->calls.last)
                                     : RLF_RESULT_OK;
}

const char *
rlf_version(void)
{
    return PACKAGE_VERSION;
}
