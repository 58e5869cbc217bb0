/* Errors: the first one decides, callers add their names. */
#include "engine/base/status.h"

#include "tests/tap.h"

#include <errno.h>

static rlf_status
inner(rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "sample %d has no answer", 3);
}

static rlf_status
middle(rlf_err *err)
{
    RLF_TRY(inner(err));
    return RLF_OK;
}

static rlf_status
outer(rlf_err *err, bool *undone)
{
    rlf_status status = RLF_OK;
    RLF_TRY_GOTO(middle(err), out);
    return RLF_OK;
out:
    *undone = true;
    return status;
}

/* Texts that are longer than an error has room for. */
static void
too_long(void)
{
    char path[2000];
    rlf_err err = RLF_ERR_NONE;
    for (size_t i = 0; i + 1 < sizeof path; i++)
        path[i] = i % 2 ? '\xa9' : '\xc3'; /* two bytes a character */
    path[sizeof path - 1] = 0;
    rlf_fail(&err, RLF_USER, "no %s", path);
    size_t n = strlen(err.sentence);
    is_str(err.sentence + n - 4, "\xa9...", "what is cut ends with dots");
    ok(n < sizeof err.sentence, "and within its room");
    rlf_err_hint(&err, "%s", path + 1);
    is_str(err.hint + strlen(err.hint) - 4, "\xa9...", "a hint too");
    rlf_err_clear(&err);
    errno = ENOENT;
    rlf_fail_path(&err, "cannot open %s", path);
    n = strlen(err.sentence);
    is_str(err.sentence + n - 30, "...: No such file or directory",
           "the reason stands after a long path");
    ok(n < sizeof err.sentence, "within the room");
}

int
main(void)
{
    rlf_err error = RLF_ERR_NONE;
    bool undone = false;
    is_int(outer(&error, &undone), RLF_USER, "the status comes through");
    ok(undone, "and what was begun is undone");
    is_str(error.sentence, "sample 3 has no answer", "the sentence");
    is_str(error.trail, "middle < outer", "who passed it on");
    is_int(error.rank, -1, "no rank");
    is_int(rlf_fail(&error, RLF_BUG, "later"), RLF_BUG, "a second failure");
    is_str(error.sentence, "sample 3 has no answer", "changes nothing");
    is_int(error.status, RLF_USER, "not even the status");
    rlf_err_hint(&error, "give it one");
    rlf_err_hint(&error, "or drop it");
    is_str(error.hint, "give it one; or drop it", "hints add up");
    rlf_err_detail(&error, "line %d", 1);
    rlf_err_detail(&error, "line %d", 2);
    is_str(error.detail, "line 1\nline 2", "details are lines");
    rlf_err_place(&error, (rlf_span){1, 2, 3, 0}, "judge");
    rlf_err_place(&error, (rlf_span){4, 5, 6, 0}, "other");
    ok(error.span.source == 1 && strcmp(error.node, "judge") == 0,
       "the innermost place stays");

    rlf_err_clear(&error);
    errno = ENOSPC;
    is_int(rlf_fail_errno(&error, "cannot write %s", "x"), RLF_ENV, "errno");
    is_str(error.sentence, "cannot write x: No space left on device",
           "in words");
    is_str(error.hint, "make room", "a full disk");
    rlf_err_clear(&error);
    errno = EDQUOT;
    rlf_fail_errno(&error, "cannot write %s", "x");
    ok(strstr(error.hint, "quota") != NULL, "a quota is no full disk");
    rlf_err_clear(&error);
    errno = EFBIG;
    rlf_fail_errno(&error, "cannot write %s", "x");
    ok(error.hint[0] && !strstr(error.hint, "room"), "nor is a limit");
    is_int(rlf_fail(NULL, RLF_PEER, "nobody asks"), RLF_PEER,
           "no error to fill");

    rlf_err_clear(&error);
    char large[6000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = 0;
    rlf_fail(&error, RLF_USER, "%s", large);
    rlf_err_hint(&error, "%s", large);
    rlf_err_hint(&error, "%s", large);
    rlf_err_detail(&error, "%s", large);
    for (int i = 0; i < 100; i++)
        rlf_err_pass(&error, "a_function");
    ok(strlen(error.sentence) < sizeof error.sentence &&
           strlen(error.hint) < sizeof error.hint &&
           strlen(error.detail) < sizeof error.detail &&
           strlen(error.trail) < sizeof error.trail,
       "what is too long is cut");
    too_long();
    return done();
}
