/* Calls of the library in an order, or with arguments, that rlflow.h does not
 * allow are refused, each with its reason, and the first error stays; questions
 * never change what a session does, and say why they have no answer. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[1024];

static rlf_session *
opened(void)
{
    rlf_session *s = rlf_session_open(path);
    rlf_session_set(s, "--steps", "2");
    rlf_session_set(s, "--threads", "1");
    return s;
}

/* The session has failed with this result and message, which is printed. */
static void
has(rlf_session *s, rlf_result result, const char *sentence, const char *name)
{
    char want[600];
    snprintf(want, sizeof want, "error: %s\n", sentence);
    ok(rlf_session_status(s) == result && rlf_session_failed(s),
       "%s: result %d", name, (int)result);
    is_str(rlf_session_message(s), want, "... with its reason");
}

/* ---- dry runs, checkpoints ---- */

static void
test_dry_run(void)
{
    rlf_session *s = opened();
    ok(rlf_session_dry_run(s) == RLF_RESULT_OK, "a dry run is ready");
    ok(rlf_session_dry_run(s) == RLF_RESULT_OK, "... and is so again");
    ok(!rlf_session_weight(s, "actor", 0), "it has no weights");
    is_str(rlf_session_why(s), "a dry run has no weights", "... and says so");
    ok(rlf_session_need(s, 0, 0) && !rlf_session_need(s, 1, 0),
       "it has the needs of its rank alone");
    is_str(rlf_session_why(s),
           "the plan has no rank 1: its first is 0, and it "
           "has 1",
           "... and says so");
    ok(!rlf_session_failed(s), "which fails nothing");
    ok(rlf_session_step(s) == RLF_RESULT_USAGE, "it refuses a step");
    has(s, RLF_RESULT_USAGE, "a dry run takes no step", "a step");
    rlf_session_close(s);

    s = opened();
    rlf_session_dry_run(s);
    ok(rlf_session_save(s) == RLF_RESULT_USAGE, "a dry run saves nothing");
    has(s, RLF_RESULT_USAGE, "a dry run has nothing to save", "a checkpoint");
    rlf_session_close(s);

    s = opened();
    rlf_session_dry_run(s);
    ok(rlf_session_ready(s) == RLF_RESULT_USAGE, "it does not become ready");
    has(s, RLF_RESULT_USAGE, "a dry run does not become ready for a step",
        "ready");
    rlf_session_close(s);
}

static void
test_late_dry_run(void)
{
    static const char ready[] =
        "a dry run is made of a session that is not ready yet";
    rlf_session *s = opened();
    ok(rlf_session_ready(s) == RLF_RESULT_OK &&
           rlf_session_dry_run(s) == RLF_RESULT_USAGE,
       "a session that is ready makes no dry run");
    has(s, RLF_RESULT_USAGE, ready, "ready");
    rlf_session_close(s);

    s = opened();
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_dry_run(s) == RLF_RESULT_USAGE,
       "nor does one that has taken a step");
    has(s, RLF_RESULT_USAGE, ready, "a step");
    rlf_session_close(s);

    s = opened();
    rlf_session_finish(s);
    ok(!rlf_session_text(s, RLF_TEXT_NEEDS), "a finished one has no needs");
    is_str(rlf_session_why(s), "there was no dry run (rlf_session_dry_run)",
           "... for it made none");
    ok(rlf_session_dry_run(s) == RLF_RESULT_USAGE, "nor a finished one");
    has(s, RLF_RESULT_USAGE,
        "a dry run is made of a session that was not finished", "finished");
    rlf_session_close(s);
}

static void
test_save(const char *directory)
{
    rlf_session *s = opened();
    rlf_session_step(s);
    ok(rlf_session_save(s) == RLF_RESULT_USAGE,
       "a run without a directory saves nothing");
    has(s, RLF_RESULT_USAGE, "a checkpoint needs a directory: --out names it",
        "no --out");
    rlf_session_close(s);

    s = opened();
    rlf_session_set(s, "--out", directory);
    ok(rlf_session_save(s) == RLF_RESULT_USAGE, "nor does one not ready");
    has(s, RLF_RESULT_USAGE, "a checkpoint is saved once the session is ready",
        "not ready");
    rlf_session_close(s);

    s = opened();
    rlf_session_set(s, "--out", directory);
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_save(s) == RLF_RESULT_OK && rlf_session_saved(s) == 1,
       "a step is saved");
    ok(rlf_session_finish(s) == RLF_RESULT_OK &&
           rlf_session_save(s) == RLF_RESULT_USAGE,
       "a finished run saves no more");
    has(s, RLF_RESULT_USAGE, "a checkpoint is saved before the run is finished",
        "finished");
    ok(rlf_session_close(s) == RLF_RESULT_OK, "its end was a good one");
}

/* Before its first step nothing is under way that a checkpoint, or whoever
 * gathers weights, could wait for. */
static void
test_unbegun(const char *directory)
{
    rlf_session *s = opened();
    rlf_session_set(s, "--ranks", "2");
    rlf_session_set(s, "--patience", "20");
    rlf_session_set(s, "--out", directory);
    rlf_session_ready(s);
    ok(rlf_session_gather(s, "actor") == RLF_RESULT_OK &&
           rlf_session_gathered(s, 0),
       "weights of two ranks before the first step");
    ok(rlf_session_save(s) == RLF_RESULT_OK && rlf_session_saved(s) == 0,
       "a checkpoint before it");
    ok(rlf_session_step(s) == RLF_RESULT_OK && rlf_session_saved(s) == 0,
       "... and then the step");
    rlf_session_close(s);
}

/* ---- weights ---- */

/* Are all tensors in the session's memory those that were gathered? */
static size_t
same_tensors(rlf_session *s)
{
    const rlf_weight *view;
    size_t i = 0, same = 0;
    for (; (view = rlf_session_weight(s, "actor", i)); i++) {
        const rlf_weight a = *view, *b = rlf_session_gathered(s, i);
        same += b && strcmp(a.name, b->name) == 0 && a.rows == b->rows &&
                a.cols == b->cols &&
                memcmp(a.data, b->data, a.rows * a.cols * sizeof *a.data) == 0;
    }
    ok(!rlf_session_gathered(s, i) && !*rlf_session_why(s), "there are no more");
    return same == i ? i : 0;
}

static void
test_gather(void)
{
    rlf_session *s = opened();
    ok(!rlf_session_gathers(s, 0), "nothing to gather before it is ready");
    is_str(rlf_session_why(s), "the session is not ready", "... and says so");
    ok(rlf_session_gather(s, "actor") == RLF_RESULT_USAGE, "it is refused");
    has(s, RLF_RESULT_USAGE,
        "weights cannot be gathered: the session is not ready", "not ready");
    rlf_session_close(s);

    s = opened();
    rlf_session_step(s);
    ok(!rlf_session_gathered(s, 0), "no weights before they are gathered");
    is_str(rlf_session_why(s), "no weights were gathered", "... and says so");
    is_str(rlf_session_gathers(s, 0), "actor", "a model that can be");
    ok(rlf_session_gather(s, "actor") == RLF_RESULT_OK, "it is");
    ok(same_tensors(s) > 3, "all tensors are those in the session's memory");
    const rlf_weight *first = rlf_session_weight(s, "actor", 0);
    const float *data = first->data;
    size_t bytes = first->rows * first->cols * sizeof *data;
    float *was = malloc(bytes);
    memcpy(was, data, bytes);
    ok(rlf_session_step(s) == RLF_RESULT_OK && memcmp(data, was, bytes) != 0 &&
           memcmp(rlf_session_gathered(s, 0)->data, was, bytes) == 0,
       "a step changes those, and not what was gathered");
    memcpy(was, data, bytes);
    rlf_session_finish(s);
    ok(memcmp(data, was, bytes) == 0, "a finished run leaves its weights");
    ok(!rlf_session_weight(s, "actor", 0) && !rlf_session_gathers(s, 0) &&
           rlf_session_gathered(s, 0) &&
           rlf_session_gather(s, "actor") == RLF_RESULT_USAGE,
       "... and gives no others");
    rlf_session_close(s);
    free(was);

    s = opened();
    rlf_session_ready(s);
    ok(rlf_session_gather(s, "nosuch") == RLF_RESULT_USAGE, "no such model");
    has(s, RLF_RESULT_USAGE, "the program has no model 'nosuch'", "nosuch");
    rlf_session_close(s);
}

/* ---- what comes before something else ---- */

static void
test_before(void)
{
    rlf_session *s = opened();
    ok(rlf_session_fit(s) == RLF_RESULT_USAGE, "nothing is there that can fit");
    has(s, RLF_RESULT_USAGE,
        "whether it fits is known once there is a plan (rlf_session_plan)",
        "no plan");
    rlf_session_close(s);

    s = opened();
    ok(rlf_session_write(s) == RLF_RESULT_USAGE, "there is nothing to write");
    has(s, RLF_RESULT_USAGE,
        "there is nothing to write: nothing was simulated or measured",
        "no simulation");
    rlf_session_close(s);

    s = opened();
    rlf_session_ready(s);
    ok(!rlf_session_search(s, NULL, NULL), "a run keeps its plan");
    has(s, RLF_RESULT_USAGE, "a search is made before the session is ready",
        "a late search");
    rlf_session_close(s);

    s = opened();
    rlf_session_check(s);
    ok(rlf_session_set(s, "--seed", "3") == RLF_RESULT_USAGE,
       "an option that comes too late");
    has(s, RLF_RESULT_USAGE, "--seed is set after the program was compiled",
        "late");
    rlf_session_close(s);

    s = opened();
    rlf_session_evaluate(s, NULL);
    ok(rlf_session_evaluate(s, NULL) == RLF_RESULT_USAGE,
       "an evaluation of an evaluation");
    has(s, RLF_RESULT_USAGE, "the session is an evaluation already", "twice");
    rlf_session_close(s);
}

static void
test_parameter(void)
{
    rlf_session *s = opened();
    int steps = 0;
    ok(rlf_session_parameter(s, 0) != NULL,
       "parameters of a program that is not compiled yet");
    ok(rlf_session_set(s, "every_n", "1") == RLF_RESULT_OK,
       "... can be set then");
    is_str(rlf_session_parameter(s, 2)->value, "1", "... and are so");
    while (rlf_session_step(s) == RLF_RESULT_OK)
        steps++;
    ok(steps == 2 && isfinite(rlf_session_metric(s, "actor.loss")),
       "... and then it takes its steps");
    rlf_session_close(s);
}

/* ---- the first error ---- */

static void
test_first_error(void)
{
    static const char first[] =
        "error: --steps is '0', not a whole number from 1\n";
    static const char text[] = "x";
    static const size_t n = 1;
    const char *texts[] = {text};
    size_t done;
    rlf_session *s = rlf_session_open(path);
    rlf_session_screen(s, 80);
    ok(rlf_session_set(s, "--steps", "0") == RLF_RESULT_USAGE,
       "a wrong option");
    is_str(rlf_session_message(s), first, "... is told");
    const rlf_result results[] = {
        rlf_session_set(s, "--steps", "2"),
        rlf_session_set(s, "--nothing", "2"),
        rlf_session_set_from(s, "--nothing", "2", "VARIABLE"),
        rlf_session_check(s),
        rlf_session_plan(s),
        rlf_session_ready(s),
        rlf_session_dry_run(s),
        rlf_session_step(s),
        rlf_session_save(s),
        rlf_session_log(s, NULL, NULL),
        rlf_session_leave(s, NULL, NULL),
        rlf_session_hook(s, "judge", NULL, NULL),
        rlf_session_format_file(s),
        rlf_session_fit(s),
        rlf_session_prompt(s, "none", text, n, 0),
        rlf_session_prompt_rows(s, "none", "none", "x", NULL, 0),
        rlf_session_generate(s, NULL, NULL),
        rlf_session_evaluate(s, "none"),
        rlf_session_profile(s, NULL, NULL),
        rlf_session_write(s),
    };
    const void *const nothing[] = {
        rlf_session_graph(s, "text"),
        rlf_session_parameter(s, 0),
        rlf_session_format(s),
        rlf_session_data(s, "none", NULL, NULL, 1),
        rlf_session_model(s, "none", 0),
        rlf_session_merge(s, "none", "none", "none"),
        rlf_session_tokenize(s, "none", text, n),
        rlf_session_tokenize_all(s, "none", texts, &n, 1, &done),
        rlf_session_chat(s, "none", text, n),
        rlf_session_detokenize(s, "none", NULL, 0),
        rlf_session_cluster(s, 0),
        rlf_session_cluster_called(s, "none"),
        rlf_session_search(s, NULL, NULL),
        rlf_session_simulate(s),
    };
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        ok(results[i] == RLF_RESULT_USAGE, "call %zu has that result", i);
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        ok(!nothing[i], "call %zu has nothing", i);
    ok(rlf_session_finish(s) == RLF_RESULT_OK, "the end is a good one");
    is_str(rlf_session_message(s), first, "the first error stays");
    ok(rlf_session_status(s) == RLF_RESULT_USAGE, "... and its result");
    ok(rlf_session_diagnostic(s, 0) && !rlf_session_diagnostic(s, 1),
       "... and is the only one");
    rlf_session_close(s);
}

static void
test_wrong_program(void)
{
    static const char text[] = "flow f() { report x = y }\n";
    rlf_session *s = rlf_session_open_text("x.rlf", text, sizeof text - 1);
    ok(rlf_session_check(s) == RLF_RESULT_PROGRAM, "a wrong program");
    ok(rlf_session_set(s, "--steps", "2") == RLF_RESULT_PROGRAM &&
           rlf_session_check(s) == RLF_RESULT_PROGRAM &&
           !rlf_session_weight(s, "actor", 0) &&
           rlf_session_step(s) == RLF_RESULT_PROGRAM,
       "... stays wrong");
    is_str(rlf_session_why(s), "the session has failed", "questions know it");
    ok(rlf_session_diagnostic(s, 0) && !rlf_session_diagnostic(s, 1),
       "... and is told of once");
    rlf_session_close(s);
}

/* The end of a run that has failed has an error of its own, behind that. */
static void
test_end_error(void)
{
    char *before;
    rlf_session *s = opened();
    rlf_session_set(s, "--log", "/dev/full");
    setenv("RLFLOW_LOG", "trace", 1);
    if (rlf_session_step(s) != RLF_RESULT_OK) {
        skip("no run with a log on a full device");
        rlf_session_close(s);
        return;
    }
    unsetenv("RLFLOW_LOG");
    rlf_session_set(s, "--seed", "1");
    before = strdup(rlf_session_message(s));
    rlf_result end = rlf_session_finish(s);
    const char *after = rlf_session_message(s);
    ok(end == RLF_RESULT_FAILED && rlf_session_finish(s) == end &&
           rlf_session_status(s) == RLF_RESULT_USAGE,
       "the end of a failed run that cannot write its log");
    ok(strncmp(before, after, strlen(before)) == 0 &&
           strstr(after + strlen(before), "cannot write the log /dev/full"),
       "... is told of behind the first error");
    ok(rlf_session_diagnostic(s, 1) && !rlf_session_diagnostic(s, 2),
       "... and as data");
    ok(rlf_session_close(s) == end, "... and has the same result again");
    free(before);
}

/* ---- questions ---- */

static void
test_questions(void)
{
    rlf_session *s = opened();
    ok(isnan(rlf_session_metric(s, "reward")), "no metric before a step");
    is_str(rlf_session_why(s), "no step was taken", "... for that reason");
    ok(!rlf_session_weight(s, "actor", 0) &&
           strstr(rlf_session_why(s), "not ready"),
       "no weights of what is not ready");
    ok(!rlf_session_text(s, RLF_TEXT_PLAN) &&
           strstr(rlf_session_why(s), "no plan"),
       "no plan yet");
    ok(!rlf_session_text(s, (rlf_text)99) && strstr(rlf_session_why(s), "99"),
       "no text of that number");
    ok(!rlf_session_candidate(s, 0) && *rlf_session_why(s), "no search");
    ok(!rlf_session_answer(s, 0) && *rlf_session_why(s), "no answers");
    ok(!rlf_session_score(s, 0) && *rlf_session_why(s), "no evaluation");
    ok(rlf_session_step(s) == RLF_RESULT_OK, "a step");
    ok(!rlf_session_weight(s, "nosuch", 0), "no such model");
    is_str(rlf_session_why(s), "the program has no model 'nosuch'",
           "... for that reason");
    ok(!rlf_session_graph(s, "xml"), "no such form of the graph");
    is_str(rlf_session_why(s),
           "a graph has no form 'xml': it has text, dot, json and svg",
           "... for that reason");
    ok(isnan(rlf_session_metric(s, "x\ny")), "no such metric");
    is_str(rlf_session_why(s), "the last step has reported no metric 'x\\010y'",
           "... for that reason, on one line");
    ok(isfinite(rlf_session_metric(s, "reward")) && !*rlf_session_why(s),
       "an answer needs no reason");
    ok(!rlf_session_sample(s, SIZE_MAX) && !*rlf_session_why(s) &&
           !rlf_session_metric_name(s, SIZE_MAX) && !*rlf_session_why(s) &&
           !rlf_session_weight(s, "actor", SIZE_MAX) && !*rlf_session_why(s),
       "nor does the end of a list");
    ok(!rlf_session_failed(s) && rlf_session_step(s) == RLF_RESULT_OK,
       "and the run goes on");
    ok(rlf_session_format(s) != NULL, "a running program has its form");
    ok(rlf_session_step(s) == RLF_RESULT_END, "... to its end");
    rlf_session_finish(s);
    ok(isnan(rlf_session_metric(s, "reward")) &&
           strstr(rlf_session_why(s), "finished"),
       "nothing is known of a finished run");
    rlf_session_close(s);
}

static void
test_format(void)
{
    static const char text[] = "flow   f(){report x=step}\n";
    rlf_session *s = rlf_session_open_text("x.rlf", text, sizeof text - 1);
    char *before = strdup(rlf_session_format(s));
    ok(rlf_session_check(s) == RLF_RESULT_OK, "a program that was formatted");
    const char *after = rlf_session_format(s);
    ok(after && strcmp(after, before) == 0, "... is so after a check, too");
    ok(rlf_session_format(s) && !rlf_session_diagnostic(s, 0),
       "... and once more, with nothing to be told");
    ok(rlf_session_format_file(s) == RLF_RESULT_USAGE,
       "a text has no file to be written");
    free(before);
    rlf_session_close(s);
}

/* ---- numbers of options ---- */

static void
test_numbers(void)
{
    static const char *const names[] = {"--temperature", "--top_p",
                                        "--min_p",       "--memory",
                                        "--patience",    "--save-every"};
    static const char *const wrong[] = {" 1",    "0x1", "0X1p1", "+1",
                                        "1 ",    "-1",  "nan",   "inf",
                                        "1e999", ".",   "1e",    "1,5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rlf_session *s = opened();
        ok(rlf_session_set(s, names[i], "1") == RLF_RESULT_OK, "%s 1",
           names[i]);
        rlf_session_close(s);
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            s = opened();
            ok(rlf_session_set(s, names[i], wrong[k]) == RLF_RESULT_USAGE &&
                   strstr(rlf_session_message(s), names[i]) &&
                   strstr(rlf_session_message(s), wrong[k]),
               "%s '%s' is refused by its name", names[i], wrong[k]);
            rlf_session_close(s);
        }
    }
}

/* ---- told to end ---- */

static void
test_stop(void)
{
    static const struct {
        int number, want;
    } cases[] = {{SIGTERM, SIGTERM},
                 {SIGINT, SIGINT},
                 {0, SIGTERM},
                 {-7, SIGTERM},
                 {10000, SIGTERM}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlf_session *s = opened();
        rlf_session_stop(s, cases[i].number);
        ok(rlf_session_step(s) == RLF_RESULT_STOPPED &&
               rlf_session_stopped(s) == cases[i].want,
           "told to end for %d before it is ready", cases[i].number);
        ok(!rlf_session_failed(s) && rlf_session_status(s) == RLF_RESULT_OK,
           "... is no error");
        is_str(rlf_session_message(s), "", "... so there is no message");
        ok(strstr(rlf_session_text(s, RLF_TEXT_STOPPED), "nothing was begun"),
           "... but a text");
        ok(rlf_session_step(s) == RLF_RESULT_STOPPED &&
               rlf_session_dry_run(s) == RLF_RESULT_STOPPED,
           "... and it stays so");
        ok(rlf_session_save(s) == RLF_RESULT_USAGE &&
               strstr(rlf_session_message(s), "before its first step"),
           "... with nothing to save");
        rlf_session_close(s);
    }
    rlf_session *s = opened();
    rlf_session_stop(s, SIGUSR1);
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_step(s) == RLF_RESULT_STOPPED,
       "SIGUSR1 waits for the first step");
    ok(rlf_session_text(s, RLF_TEXT_STOPPED)[0] == 0, "... which was begun");
    rlf_session_close(s);
}

/* One that is ready and has taken no step is in no other state than one that
 * opens: it takes none, and leaves nothing. */
static void
test_stop_ready(const char *directory)
{
    static const int numbers[] = {SIGTERM, SIGINT, -7};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        rlf_session *s = opened();
        if (i)
            rlf_session_set(s, "--out", directory);
        ok(rlf_session_ready(s) == RLF_RESULT_OK, "a run is ready");
        rlf_session_stop(s, numbers[i]);
        ok(rlf_session_step(s) == RLF_RESULT_STOPPED &&
               rlf_session_steps(s) == 0,
           "told to end for %d before its first step, it takes none",
           numbers[i]);
        ok(rlf_session_stopped(s) == (numbers[i] > 0 ? numbers[i] : SIGTERM) &&
               !rlf_session_failed(s),
           "... and says for what");
        ok(strstr(rlf_session_text(s, RLF_TEXT_STOPPED), "nothing was begun"),
           "... and that nothing was begun");
        ok(rlf_session_step(s) == RLF_RESULT_STOPPED, "... again");
        ok(rlf_session_finish(s) == RLF_RESULT_OK &&
               access(directory, F_OK) != 0,
           "... and leaves nothing");
        ok(rlf_session_step(s) == RLF_RESULT_END, "finished, it is at its end");
        rlf_session_close(s);
    }
    rlf_session *s = opened();
    rlf_session_ready(s);
    rlf_session_stop(s, SIGUSR1);
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_step(s) == RLF_RESULT_STOPPED,
       "SIGUSR1 waits for the first step of a run that is ready");
    rlf_session_close(s);
    s = opened();
    rlf_session_stop(s, SIGTERM);
    rlf_session_step(s);
    rlf_session_finish(s);
    ok(rlf_session_step(s) == RLF_RESULT_END &&
           rlf_session_ready(s) == RLF_RESULT_END,
       "so is one that was told while it opened");
    rlf_session_close(s);
}

/* A run that went on from a checkpoint keeps that. */
static void
test_stop_resumed(const char *directory)
{
    rlf_session *s = opened();
    rlf_session_set(s, "--out", directory);
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_save(s) == RLF_RESULT_OK,
       "a step is saved");
    rlf_session_close(s);
    s = opened();
    rlf_session_set(s, "--out", directory);
    rlf_session_set(s, "--resume", "1");
    rlf_session_ready(s);
    rlf_session_stop(s, SIGTERM);
    ok(rlf_session_step(s) == RLF_RESULT_STOPPED && rlf_session_saved(s) == 1 &&
           rlf_session_close(s) == RLF_RESULT_OK,
       "told to end, the run that goes on takes no step");
    s = opened();
    rlf_session_set(s, "--out", directory);
    rlf_session_set(s, "--resume", "1");
    ok(rlf_session_step(s) == RLF_RESULT_OK && rlf_session_steps(s) == 2,
       "... and goes on later: %s", rlf_session_message(s));
    rlf_session_close(s);
}

/* ---- clusters ---- */

static void
test_cluster_text(void)
{
    rlf_session *s = opened();
    const rlf_cluster_text *t = rlf_session_cluster_called(s, "a100x8");
    static char text[1 << 14], program[1 << 14];
    ok(t && strlen(t->text) < sizeof text, "a cluster is a text");
    snprintf(text, sizeof text, "%s", t ? t->text : "");
    rlf_session_close(s);

    s = rlf_session_open_text("no-such.rlf", text, strlen(text));
    ok(rlf_session_is_cluster(s) == 1, "which is known as one");
    t = rlf_session_cluster(s, 0);
    ok(t && strcmp(t->name, "a100x8") == 0, "... and read: %s",
       rlf_session_message(s));
    ok(!rlf_session_cluster(s, 1) && !rlf_session_failed(s), "... alone");
    rlf_session_close(s);

    FILE *file = fopen(path, "r");
    size_t n = file ? fread(program, 1, sizeof program, file) : 0;
    if (file)
        fclose(file);
    s = rlf_session_open_text(path, text, strlen(text));
    ok(rlf_session_is_cluster(s) && rlf_session_cluster(s, 0),
       "a text counts, not the file of its path");
    rlf_session_close(s);
    s = rlf_session_open_text("no-such.rlf", program, n);
    ok(!rlf_session_is_cluster(s) && !rlf_session_failed(s),
       "a program is none");
    ok(!rlf_session_cluster(s, 0) &&
           rlf_session_status(s) == RLF_RESULT_PROGRAM &&
           strstr(rlf_session_message(s), "no-such.rlf:"),
       "... and that is told: %s", rlf_session_message(s));
    rlf_session_close(s);

    s = rlf_session_open("no-such.rlf");
    ok(!rlf_session_is_cluster(s) && !rlf_session_failed(s),
       "a file that is not there is none");
    ok(!rlf_session_cluster(s, 0) &&
           rlf_session_status(s) == RLF_RESULT_PROGRAM &&
           strstr(rlf_session_message(s), "no-such.rlf"),
       "... and has none: %s", rlf_session_message(s));
    rlf_session_close(s);
}

/* ---- NULL ---- */

static void
refuses(rlf_session *s, const char *what)
{
    char want[200];
    snprintf(want, sizeof want, "%s is NULL", what);
    has(s, RLF_RESULT_USAGE, want, what);
    rlf_session_close(s);
}

/* Programs that are none. */
static void
test_nothing(void)
{
    rlf_session *s = rlf_session_open_text("x", "y", (size_t)-1);
    has(s, RLF_RESULT_USAGE,
        "rlf_session_open_text: a program of 18446744073709551615 bytes is "
        "larger than 16 MiB",
        "bytes without number");
    rlf_session_close(s);
    s = rlf_session_open("");
    rlf_session_check(s);
    has(s, RLF_RESULT_USAGE, "the session has no program: its path is empty",
        "no path");
    rlf_session_close(s);
    s = rlf_session_open_text("", "x", 1);
    ok(rlf_session_check(s) == RLF_RESULT_PROGRAM &&
           strncmp(rlf_session_message(s), "program.rlf:1:", 14) == 0,
       "a text without a path has a name: %s", rlf_session_message(s));
    rlf_session_close(s);
}

static void
test_null(void)
{
    rlf_session *s;
    size_t n = 1, done;
    const char *texts[] = {NULL};
#define REFUSES(call, what) (s = opened(), (void)(call), refuses(s, what))
    refuses(rlf_session_open(NULL), "rlf_session_open: path");
    refuses(rlf_session_open_text("x", NULL, 0), "rlf_session_open_text: text");
    REFUSES(rlf_session_set(s, NULL, "1"), "rlf_session_set: name");
    REFUSES(rlf_session_set(s, "--steps", NULL), "rlf_session_set: value");
    REFUSES(rlf_session_set_from(s, "--steps", "1", NULL),
            "rlf_session_set_from: variable");
    REFUSES(rlf_session_hook(s, NULL, NULL, NULL), "rlf_session_hook: name");
    REFUSES(rlf_session_data(s, NULL, NULL, NULL, 0), "rlf_session_data: path");
    REFUSES(rlf_session_model(s, NULL, 0), "rlf_session_model: path");
    REFUSES(rlf_session_merge(s, "a", NULL, "b"), "rlf_session_merge: adapter");
    REFUSES(rlf_session_tokenize(s, NULL, "", 0), "rlf_session_tokenize: path");
    REFUSES(rlf_session_tokenize(s, "a", NULL, 0),
            "rlf_session_tokenize: text");
    REFUSES(rlf_session_tokenize_all(s, "a", texts, &n, 1, &done),
            "rlf_session_tokenize_all: texts[0]");
    REFUSES(rlf_session_tokenize_all(s, "a", NULL, &n, 1, &done),
            "rlf_session_tokenize_all: texts");
    REFUSES(rlf_session_tokenize_all(s, "a", texts, &n, 1, NULL),
            "rlf_session_tokenize_all: done");
    REFUSES(rlf_session_chat(s, NULL, NULL, 0), "rlf_session_chat: path");
    REFUSES(rlf_session_detokenize(s, "a", NULL, 1),
            "rlf_session_detokenize: ids");
    REFUSES(rlf_session_prompt(s, NULL, "", 0, 0), "rlf_session_prompt: model");
    REFUSES(rlf_session_prompt_rows(s, "a", "b", NULL, NULL, 0),
            "rlf_session_prompt_rows: field");
    REFUSES(rlf_session_cluster_called(s, NULL),
            "rlf_session_cluster_called: name");
    REFUSES(rlf_session_hook(s, "judge", NULL, NULL),
            "rlf_session_hook: function");
#undef REFUSES
    s = opened();
    rlf_session_step(s);
    ok(isnan(rlf_session_metric(s, NULL)) &&
           strstr(rlf_session_why(s), "name is NULL"),
       "no metric without a name");
    ok(!rlf_session_weight(s, NULL, 0) &&
           strstr(rlf_session_why(s), "model is NULL"),
       "no weights of no model");
    ok(!rlf_session_graph(s, NULL) &&
           strstr(rlf_session_why(s), "format is NULL"),
       "no graph of no format");
    ok(rlf_session_doing(s, NULL, 9) == 0, "no room for a name");
    ok(rlf_session_step(s) == RLF_RESULT_OK, "none of which breaks the run");
    rlf_session_close(s);
}

static void
test_no_session(void)
{
    ok(rlf_session_status(NULL) == RLF_RESULT_MEMORY &&
           rlf_session_step(NULL) == RLF_RESULT_MEMORY &&
           rlf_session_log(NULL, NULL, NULL) == RLF_RESULT_MEMORY,
       "a session for which there was no memory");
    ok(rlf_session_failed(NULL) && strstr(rlf_session_message(NULL), "memory"),
       "... says so");
    ok(!rlf_session_graph(NULL, "text") && *rlf_session_why(NULL),
       "... to questions, too");
}

static void
test_schedule(void)
{
    rlf_schedule *s = rlf_schedule_open();
    ok(rlf_schedule_set(s, NULL, "1") == RLF_RESULT_USAGE, "no option");
    is_str(rlf_schedule_message(s), "error: rlf_schedule_set: name is NULL\n",
           "... is named");
    ok(rlf_schedule_set(s, "--models", "a:2") == RLF_RESULT_USAGE &&
           !rlf_schedule_search(s, NULL, NULL) && !rlf_schedule_curve(s, 0) &&
           rlf_schedule_write(s) == RLF_RESULT_USAGE,
       "the first error of a schedule stays");
    rlf_schedule_close(s);
    s = rlf_schedule_open();
    ok(rlf_schedule_write(s) == RLF_RESULT_USAGE,
       "a schedule that was not searched is not written");
    rlf_schedule_close(s);
    s = rlf_schedule_open();
    rlf_schedule_set(s, "--models", "a:2:2");
    rlf_schedule_set(s, "--times", "1");
    rlf_schedule_set(s, "--memory", "1");
    rlf_schedule_set(s, "--moves", "1000");
    const rlf_schedule_point *p = rlf_schedule_search(s, NULL, NULL);
    ok(p && rlf_schedule_search(s, NULL, NULL) == p, "it is searched once: %s",
       rlf_schedule_message(s));
    ok(rlf_schedule_set(s, "--seed", "2") == RLF_RESULT_USAGE,
       "... with the options that it had");
    rlf_schedule_close(s);
}

/* The name of a model with a line feed stands on the line of its warning. */
static void
test_warning(const char *source, const char *directory)
{
    char model[1200], name[100];
    snprintf(model, sizeof model, "%s/tests/data/models/longrope", source);
    snprintf(name, sizeof name, "%s/two\nlines", directory);
    rlf_session *s = opened();
    ok(symlink(model, name) == 0, "a model of that name");
    rlf_session_prompt(s, name, NULL, 0, 0);
    const char *line = rlf_session_warnings(s);
    ok(strstr(line, "two\\010lines: its ") && strlen(line) > 1 &&
           strchr(line, '\n') == line + strlen(line) - 1,
       "a warning is one line, whatever the name of the model");
    rlf_session_close(s);
}

/* Reports: out of order, of nothing, over somebody's file. */
static void
test_report(const char *directory)
{
    char other[300];
    rlf_run_report *r = rlf_run_report_open();
    ok(!rlf_run_report_path(r) && !rlf_run_report_record(r, 0),
       "a report without a run has no file");
    ok(rlf_run_report_write(r, 0) == RLF_RESULT_USAGE, "nor is one written");
    is_str(rlf_run_report_message(r), "error: there is no run to report\n",
           "... for that reason");
    ok(rlf_run_report_add(r, directory) == RLF_RESULT_USAGE,
       "the first error stays");
    rlf_run_report_close(r);
    r = rlf_run_report_open();
    ok(rlf_run_report_set(r, "--steps", "1") == RLF_RESULT_USAGE,
       "an option that reports do not have");
    rlf_run_report_close(r);
    r = rlf_run_report_open();
    ok(rlf_run_report_add(r, directory) == RLF_RESULT_OK &&
           rlf_run_report_write(r, 0) == RLF_RESULT_OK,
       "a run is reported: %s", rlf_run_report_message(r));
    snprintf(other, sizeof other, "%s/report.html", directory);
    is_str(rlf_run_report_path(r), other, "... in its directory");
    remove(other);
    ok(rlf_run_report_write(r, 0) == RLF_RESULT_OK && access(other, F_OK) != 0,
       "... and is not written again if nothing is new");
    ok(rlf_run_report_write(r, 1) == RLF_RESULT_OK && access(other, F_OK) == 0,
       "... but if it is to load itself again");
    rlf_run_report_close(r);
    r = rlf_run_report_open();
    ok(rlf_run_report_add(r, NULL) == RLF_RESULT_USAGE, "no directory");
    rlf_run_report_close(r);
    rlf_run_report_close(NULL);
    ok(rlf_run_report_status(NULL) == RLF_RESULT_MEMORY &&
           rlf_run_report_write(NULL, 0) == RLF_RESULT_MEMORY &&
           !rlf_run_report_path(NULL) && !rlf_run_report_record(NULL, 0),
       "no report");
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    char directory[] = "/tmp/rlflow-test-XXXXXX", out[64], clean[64];
    if (!source)
        skip_all("RLFLOW_SOURCE is not set");
    snprintf(path, sizeof path, "%s/tests/e2e/tiny.rlf", source);
    if (!mkdtemp(directory))
        bail("no directory");
    snprintf(out, sizeof out, "%s/run", directory);
    test_dry_run();
    test_late_dry_run();
    test_save(out);
    test_report(out);
    test_warning(source, directory);
    snprintf(out, sizeof out, "%s/unbegun", directory);
    test_unbegun(out);
    snprintf(out, sizeof out, "%s/none", directory);
    test_stop_ready(out);
    test_stop_resumed(out);
    snprintf(clean, sizeof clean, "rm -rf %s", directory);
    ok(system(clean) == 0, "its directory is removed");
    test_before();
    test_gather();
    test_parameter();
    test_first_error();
    test_wrong_program();
    test_end_error();
    test_questions();
    test_format();
    test_numbers();
    test_stop();
    test_cluster_text();
    test_nothing();
    test_null();
    test_no_session();
    test_schedule();
    return done();
}
