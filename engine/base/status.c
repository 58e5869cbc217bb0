/* Outcomes and errors: see status.h. */
#include "engine/base/status.h"

#include "engine/base/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Write into `to`. Of what is longer than `room` the end is left out, at the end
 * of a UTF-8 character, and "..." says so. */
static void
put(char *to, size_t room, const char *fmt, va_list ap)
{
    int n = vsnprintf(to, room, fmt, ap);
    if (n < 0 || (size_t)n < room || room < sizeof "...")
        return;
    size_t at = rlf_str_cut((rlf_str){to, room - 1}, room - sizeof "...");
    memcpy(to + at, "...", sizeof "...");
}

/* Begin an error unless one is there already; true if it is ours to fill. */
static bool
begin(rlf_err *err, rlf_status status)
{
    if (!err || err->status < 0)
        return false;
    rlf_err_clear(err);
    err->status = status;
    return true;
}

rlf_status
rlf_fail(rlf_err *err, rlf_status status, const char *fmt, ...)
{
    if (begin(err, status)) {
        va_list ap;
        va_start(ap, fmt);
        put(err->sentence, sizeof err->sentence, fmt, ap);
        va_end(ap);
    }
    return status;
}

/* The hint tells where room is lacking: on the disk, in a quota, or below a
 * limit on the size of files, where an emptier disk does not help. */
static void
hint_room(rlf_err *err, int number)
{
    struct rlimit limit;
    if (number == ENOSPC)
        rlf_err_hint(err, "make room");
    if (number == EDQUOT)
        rlf_err_hint(err, "your quota of the disk is used up: remove files, or "
                          "have it raised");
    if (number != EFBIG)
        return;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        rlf_err_hint(err,
                     "no file may have more than %llu bytes here: raise that "
                     "limit (ulimit -f)",
                     (unsigned long long)limit.rlim_cur);
    else
        rlf_err_hint(err, "the file system takes no file that is so large");
}

static rlf_status
fail_number(rlf_err *err, rlf_status status, int number, const char *fmt,
            va_list ap)
{
    if (number == ENOMEM)
        status = RLF_MEMORY;
    if (begin(err, status)) {
        const char *reason = strerror(number);
        size_t room = sizeof err->sentence - strlen(reason) - strlen(": ");
        put(err->sentence, room, fmt, ap);
        strcat(strcat(err->sentence, ": "), reason);
        hint_room(err, number);
    }
    return status;
}

rlf_status
rlf_fail_errno(rlf_err *err, const char *fmt, ...)
{
    int number = errno;
    va_list ap;
    va_start(ap, fmt);
    rlf_status status = fail_number(err, RLF_ENV, number, fmt, ap);
    va_end(ap);
    return status;
}

rlf_status
rlf_fail_path(rlf_err *err, const char *fmt, ...)
{
    int number = errno;
    bool wrong = number == ENOENT || number == EACCES || number == EISDIR ||
                 number == ENOTDIR || number == ENAMETOOLONG || number == ELOOP;
    va_list ap;
    va_start(ap, fmt);
    rlf_status status =
        fail_number(err, wrong ? RLF_USER : RLF_ENV, number, fmt, ap);
    va_end(ap);
    return status;
}

static void
append(char *to, size_t room, const char *between, const char *fmt, va_list ap)
{
    size_t n = strlen(to);
    if (n && n + strlen(between) + 1 < room) {
        strcpy(to + n, between);
        n += strlen(between);
    }
    if (n + 1 < room)
        put(to + n, room - n, fmt, ap);
}

void
rlf_err_hint(rlf_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list ap;
    va_start(ap, fmt);
    append(err->hint, sizeof err->hint, "; ", fmt, ap);
    va_end(ap);
}

void
rlf_err_detail(rlf_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list ap;
    va_start(ap, fmt);
    append(err->detail, sizeof err->detail, "\n", fmt, ap);
    va_end(ap);
}

void
rlf_err_place(rlf_err *err, rlf_span span, const char *node)
{
    if (!err)
        return;
    if (!err->span.source)
        err->span = span;
    if (node && !err->node[0])
        snprintf(err->node, sizeof err->node, "%s", node);
}

void
rlf_err_pass(rlf_err *err, const char *function)
{
    if (!err)
        return;
    size_t n = strlen(err->trail);
    snprintf(err->trail + n, sizeof err->trail - n, "%s%s", n ? " < " : "",
             function);
}

void
rlf_err_clear(rlf_err *err)
{
    *err = (rlf_err)RLF_ERR_NONE;
}

_Noreturn void
rlf_bug_at(const char *file, int line, const char *text)
{
    fprintf(stderr, "rlflow: internal error at %s:%d: %s\n", file, line, text);
    abort();
}
