/* Calls of the library in an order, or with arguments, that rlflow.h does not
 * allow are refused, and questions asked before a session runs do not change
 * what it does. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char path[1024];

static rlf_session *
opened(void)
{
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "2");
    rlf_session_set(s, "--threads", "1");
    return s;
}

static void
test_dry_run(void)
{
    rlf_session *s = opened();
    ok(rlf_session_dry_run(s) == RLF_RESULT_OK, "a dry run is ready");
    ok(!rlf_session_weight(s, "actor", 0), "it has no weights");
    ok(rlf_session_step(s) == RLF_RESULT_USAGE, "and refuses a step");
    is_str(rlf_session_message(s), "error: a dry run takes no step\n",
           "which is said");
    rlf_session_close(s);
}

static void
test_parameter(void)
{
    rlf_session *s = opened();
    int steps = 0;
    ok(rlf_session_parameter(s, 0) != NULL,
       "parameters of a program that is not compiled yet");
    while (rlf_session_step(s) == RLF_RESULT_OK)
        steps++;
    ok(steps == 2 && isfinite(rlf_session_metric(s, "actor.loss")),
       "... and then it takes its steps");
    rlf_session_close(s);
}

static void
test_hook(void)
{
    rlf_session *s = opened();
    ok(rlf_session_hook(s, "judge", NULL, NULL) == RLF_RESULT_USAGE,
       "a hook without a function is refused");
    rlf_session_close(s);
}

int
main(void)
{
    const char *root = getenv("RLFLOW_SOURCE");
    if (!root)
        skip_all("RLFLOW_SOURCE is not set");
    snprintf(path, sizeof path, "%s/tests/e2e/tiny.rlf", root);
    test_dry_run();
    test_parameter();
    test_hook();
    return done();
}
