/* What calls of the library have in common: one that does something is refused
 * where its session has failed or a pointer is NULL, and a question without an
 * answer says why. See the rules in rlflow.h. */
#include "engine/api/session.h"

#include <stdio.h>

bool
rlf_call_begins(rlf_session *s, const char *call,
                const rlf_call_pointer *pointers)
{
    if (rlf_session_failed(s))
        return false;
    for (; pointers && pointers->name; pointers++)
        if (!pointers->p) {
            rlf_fail(&s->err, RLF_USAGE, "%s: %s is NULL", call,
                     pointers->name);
            return false;
        }
    return true;
}

rlf_result
rlf_call_refuse(rlf_session *s, const char *fmt, ...)
{
    char sentence[sizeof s->err.sentence];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    return rlf_session_result(rlf_fail(&s->err, RLF_USAGE, "%s", sentence));
}

void
rlf_why_clear(const rlf_session *s)
{
    rlf_buf_clear(s->answer.why);
}

void
rlf_why(const rlf_session *s, const char *fmt, ...)
{
    va_list ap;
    rlf_buf_clear(s->answer.why);
    va_start(ap, fmt);
    rlf_buf_vline(s->answer.why, fmt, ap);
    va_end(ap);
}

const char *
rlf_session_why(const rlf_session *s)
{
    return !s                 ? "there is no memory for a session"
           : s->answer.why->p ? s->answer.why->p
                              : "";
}
