/* Hooks that are functions of the program which uses the library: those that
 * are given under a wrong name, the reasons that they give, and the lines of
 * the log in which all that stands. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "param start    : path \"a Hugging Face directory\"\n"
    "param problems : path \"JSON lines: question, answer\"\n"
    "data  rows  = jsonl(problems, prompt: \"question\", answer: \"answer\")\n"
    "model actor = lm(start, optimizer: adamw(lr: 1e-3))\n"
    "hook  judge = host(%s)\n"
    "flow hooks(batch: rows[2]) {\n"
    "    roll  = actor.generate(batch, n: 2, max_new: 2)\n"
    "    score = judge(roll)\n"
    "    adv   = score - mean(score over group)\n"
    "    update actor minimize -mean(actor.logprob(roll) * adv over batch)\n"
    "    report reward = mean(score over batch)\n"
    "}\n";

static char start[1100], problems[1100];

/* The lines of a log. */
static struct {
    pthread_mutex_t mutex;
    char text[1 << 16];
    size_t n;
    int broken; /* lines that have a line feed or another control character, or
                   a byte that is no ASCII */
} logged = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void
keep(void *arg, int level, const char *line)
{
    (void)arg, (void)level;
    pthread_mutex_lock(&logged.mutex);
    for (const char *p = line; *p; p++)
        if (((unsigned char)*p < 0x20 && *p != '\t') ||
            (unsigned char)*p >= 0x7f) {
            logged.broken++;
            break;
        }
    size_t n = strlen(line);
    if (logged.n + n + 2 < sizeof logged.text) {
        memcpy(logged.text + logged.n, line, n);
        logged.n += n;
        logged.text[logged.n++] = '\n';
        logged.text[logged.n] = 0;
    }
    pthread_mutex_unlock(&logged.mutex);
}

static const char *
judge(void *arg, const rlf_hook_sample *sample, double *value)
{
    size_t n;
    *value = rlf_hook_sample_text(sample, "answer", &n) &&
                     rlf_hook_sample_text(sample, "answer", NULL) &&
                     !rlf_hook_sample_text(sample, NULL, &n) && n == 0 &&
                     rlf_hook_sample_tokens(sample, NULL)
                 ? 1
                 : 0;
    return arg;
}

/* A session whose program has host(ARGUMENTS). */
static rlf_session *
opened(const char *arguments)
{
    char text[sizeof program + 100];
    int n = snprintf(text, sizeof text, program, arguments);
    rlf_session *s = rlf_session_open_text("hooks.rlf", text, (size_t)n);
    rlf_session_set(s, "start", start);
    rlf_session_set(s, "problems", problems);
    rlf_session_set(s, "--steps", "1");
    rlf_session_set(s, "--threads", "1");
    rlf_session_log(s, keep, NULL);
    logged.n = 0;
    logged.text[0] = 0;
    logged.broken = 0;
    return s;
}

/* ---- names ---- */

static void
test_names(void)
{
    rlf_session *s = opened("");
    rlf_session_hook(s, "jugde", judge, NULL);
    ok(rlf_session_ready(s) == RLF_RESULT_PROGRAM, "a name with a slip");
    ok(strstr(rlf_session_message(s), "which gave none of that name") &&
           strstr(rlf_session_message(s), "hint: rlf_session_hook was given "
                                          "'jugde': did you mean 'judge'?\n"),
       "... is named beside the right one");
    rlf_session_close(s);

    s = opened("");
    rlf_session_hook(s, "first", judge, NULL);
    rlf_session_hook(s, "second", judge, NULL);
    ok(rlf_session_ready(s) == RLF_RESULT_PROGRAM &&
           strstr(rlf_session_message(s),
                  "hint: rlf_session_hook was given 'first', 'second'\n"),
       "names that are no slips are listed");
    rlf_session_close(s);

    s = opened("");
    ok(rlf_session_ready(s) == RLF_RESULT_PROGRAM &&
           strstr(rlf_session_message(s), "hint: rlf_session_hook gives it"),
       "where there are none, that is said");
    rlf_session_close(s);

    s = opened("");
    ok(rlf_session_dry_run(s) == RLF_RESULT_PROGRAM &&
           !rlf_session_text(s, RLF_TEXT_NEEDS) && !rlf_session_need(s, 0, 0) &&
           rlf_session_text(s, RLF_TEXT_NOTES) && !rlf_session_steps(s),
       "a run that could not be opened is not asked");
    rlf_session_close(s);

    s = opened("");
    rlf_session_hook(s, "judge", judge, NULL);
    rlf_session_hook(s, "other", judge, NULL);
    rlf_session_hook(s, "actor", judge, NULL);
    ok(rlf_session_ready(s) == RLF_RESULT_OK, "two that nothing asks for");
    is_str(rlf_session_warnings(s),
           "the function of hook 'other' is never called: the program has no "
           "hook of that name that is host()\n"
           "the function of hook 'actor' is never called: 'actor' of the "
           "program is lm(...), and not host()\n",
           "... are warned of");
    ok(rlf_session_hook(s, "judge", judge, NULL) == RLF_RESULT_USAGE &&
           strstr(rlf_session_message(s), "before the session is ready"),
       "a hook that comes too late");
    rlf_session_close(s);

    s = opened("");
    rlf_session_hook(s, "judge", judge, (void *)(uintptr_t) "of before");
    rlf_session_hook(s, "judge", judge, NULL);
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_metric(s, "reward") == 1,
       "of two for one name the last is called: %s", rlf_session_message(s));
    rlf_session_close(s);

    s = opened("");
    ok(rlf_session_hook(s, "judge", NULL, NULL) == RLF_RESULT_USAGE,
       "a hook without a function is refused");
    rlf_session_close(s);
}

/* ---- reasons ---- */

static void
gives(const char *reason, const char *want)
{
    char line[300];
    rlf_session *s = opened("");
    rlf_session_hook(s, "judge", judge, (void *)(uintptr_t)reason);
    snprintf(line, sizeof line, "error: judge%s\n", want);
    ok(rlf_session_step(s) == RLF_RESULT_PROGRAM &&
           strstr(rlf_session_message(s), line),
       "an error that is judge%s", want);
    rlf_session_close(s);
}

static void
test_reasons(void)
{
    gives("it is late", ": it is late");
    gives("two\nlines", ": two\\010lines");
    gives("\xff\033[31m\xc3\xa9\xc2\x9b", ": \\255\\027[31m\xc3\xa9\\194\\155");
    gives("", " gave no value, and an empty text as the reason");
}

/* ---- the log ---- */

static void
test_log(void)
{
    setenv("RLFLOW_LOG", "host:warn,lua:error", 1);
    rlf_session *s = opened("on_error: -1");
    rlf_session_hook(s, "judge", judge, (void *)(uintptr_t) "a\nb\r\xff");
    ok(rlf_session_step(s) == RLF_RESULT_OK &&
           rlf_session_metric(s, "reward") == -1,
       "a hook whose errors are forgiven");
    ok(logged.broken == 0 && strstr(logged.text, "a\\010b\\013\\255"),
       "the log has whole lines");
    ok(strstr(logged.text, " host warn judge judge: a\\010b") &&
           !strstr(logged.text, " lua "),
       "... of the part 'host'");
    rlf_session_close(s);
    unsetenv("RLFLOW_LOG");
}

int
main(void)
{
    const char *root = getenv("RLFLOW_SOURCE");
    if (!root)
        skip_all("RLFLOW_SOURCE is not set");
    snprintf(start, sizeof start, "%s/examples/models/arith", root);
    snprintf(problems, sizeof problems, "%s/examples/data/arith.jsonl", root);
    test_names();
    test_reasons();
    test_log();
    return done();
}
