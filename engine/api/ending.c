/* The end of a session: its last checkpoint, the end of its run, and its own.
 * See rlflow.h. */
#include "engine/api/session.h"

#include "engine/api/machines/profile.h"
#include "engine/api/rundir/rundir.h"
#include "engine/api/searching/prediction.h"
#include "engine/api/sinks/sinks.h"
#include "engine/base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a checkpoint now ---- */

/* Returns why none can be saved, or NULL. */
static const char *
why_unsaved(const rlf_session *s)
{
    return s->options.dry ? "a dry run has nothing to save"
           : s->ended     ? "a checkpoint is saved before the run is "
                            "finished"
           : s->stop.before_step
               ? "the run was told to end before its first step, and has "
                 "nothing to save"
           : !s->run ? "a checkpoint is saved once the session is ready"
           : !s->options.directory
               ? "a checkpoint needs a directory: --out names it"
               : NULL;
}

rlf_result
rlf_session_save(rlf_session *s)
{
    if (!rlf_call_begins(s, __func__, NULL))
        return rlf_session_status(s);
    const char *why = why_unsaved(s);
    if (why)
        return rlf_call_refuse(s, "%s", why);
    if (!s->leads)
        return RLF_RESULT_OK;
    locale_t before = rlf_locale_enter(s->locale);
    rlf_status status = rlf_saving_now(s, &s->err);
    if (status >= 0)
        status = rlf_prediction_write(s, &s->err);
    rlf_locale_leave(before);
    return rlf_session_result(status);
}

/* ---- the end ---- */

static rlf_status
close_log(rlf_session *s, rlf_err *err)
{
    int failed = s->logging.failed;
    if (s->logging.file >= 0 && close(s->logging.file) != 0)
        failed = errno;
    errno = failed;
    return failed
               ? rlf_fail_errno(err, "cannot write the log %s", s->options.log)
               : RLF_OK;
}

void
rlf_session_close_last(rlf_session *s)
{
    if (s->calls.last)
        s->calls.last->collector = NULL; /* that is the session's */
    rlf_session_close(s->calls.last);
    s->calls.last = NULL;
}

/* Ends the run. A failure of which another process speaks leaves `err` empty.
 */
static rlf_status
end_run(rlf_session *s, rlf_err *err)
{
    rlf_status status = rlf_record_end(s, err);
    rlf_sinks_close(s);
    rlf_weights_keep(s);
    bool closed = rlf_run_close(s->closable);
    if (closed) {
        rlf_status traced = rlf_trace_close(s->logging.trace, err);
        status = status < 0 ? status : traced;
        rlf_status logged = close_log(s, err);
        status = status < 0 ? status : logged;
        rlf_rundir_undo(s);
    }
    s->stuck = !closed; /* a thread is stuck in it, which may touch all */
    rlf_status left = rlf_processes_leave(s, closed, err);
    return status < 0 ? status : left;
}

rlf_result
rlf_session_finish(rlf_session *s)
{
    RLF_IN_LOCALE(s);
    if (!s || s->ended)
        return s ? s->end_result : RLF_RESULT_OK;
    rlf_session_finish(s->calls.last); /* whose error stays this one's */
    rlf_err err = RLF_ERR_NONE;
    rlf_status status = end_run(s, &err);
    s->ended = true;
    s->run = s->closable = NULL;
    if (err.status < 0)
        *(rlf_session_failed(s) ? &s->end_err : &s->err) = err;
    s->end_result = rlf_session_result(err.status < 0 ? err.status : status);
    return s->end_result;
}

rlf_result
rlf_session_close(rlf_session *s)
{
    rlf_result result = rlf_session_finish(s);
    if (!s || s->stuck)
        return result;
    rlf_session_close_last(s);
    rlf_collector_free(s->collector);
    RLF_VEC_FREE(&s->settings);
    rlf_buf_free(&s->answer.message);
    rlf_buf_free(s->answer.why);
    rlf_buf_free(&s->warned.lines);
    rlf_buf_free(&s->warned.given);
    rlf_answers_free(s);
    rlf_retraced_close(s);
    if (s->locale)
        freelocale(s->locale);
    pthread_mutex_destroy(&s->opening.mutex);
    pthread_mutex_destroy(&s->input_errors.mutex);
    RLF_VEC_FREE(&s->input_errors.list);
    rlf_arena_free(s->arena);
    free(s);
    return result;
}
