/* rlflow inside another program: train for some steps, watch metrics, samples
 * and weights, and stop when a metric is good enough.
 *
 *     cc embed.c $(pkg-config --cflags --libs rlflow) -lm -o embed
 *     ./embed ppo.rlf 10 [NAME VALUE ...]
 *     ./embed - 10 start DIRECTORY problems FILE.jsonl [NAME VALUE ...]
 *
 * With --out it saves the step that is good enough. SIGTERM ends it once a step
 * is done, and saves that. The second trains the
 * program below, which is no file, on a reward that is a function in C; its log
 * is written in this program's own form. */
#include <rlflow.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "param start    : path \"a Hugging Face directory\"\n"
    "param problems : path \"JSON lines: question, answer\"\n"
    "data  rows  = jsonl(problems, prompt: \"question\", answer: \"answer\")\n"
    "model actor = lm(start, optimizer: adamw(lr: 1e-3))\n"
    "hook  judge = host()\n"
    "flow embed(batch: rows[4]) {\n"
    "    roll  = actor.generate(batch, n: 4, max_new: 4)\n"
    "    score = judge(roll)\n"
    "    adv   = score - mean(score over group)\n"
    "    update actor minimize -mean(actor.logprob(roll) * adv over batch)\n"
    "    report reward = mean(score over batch)\n"
    "}\n";

/* 1 for the answer of the data's row; else less for more tokens, and for each
 * that is the one before again. */
static const char *
judge(void *arg, const rlf_hook_sample *sample, double *value)
{
    size_t n, m, length, again = 0;
    const char *answer = rlf_hook_sample_text(sample, "answer", &n);
    const char *response = rlf_hook_sample_text(sample, "response", &m);
    const int32_t *tokens = rlf_hook_sample_tokens(sample, &length);
    (void)arg;
    if (!answer || !response)
        return "the row has no answer that is a text";
    for (size_t i = 1; i < length; i++)
        again += tokens[i] == tokens[i - 1];
    *value = n == m && memcmp(answer, response, n) == 0
                 ? 1
                 : -0.01 * rlf_hook_sample_number(sample, "length") -
                       0.1 * (double)again;
    return NULL;
}

static rlf_session *volatile running;

static void
on_signal(int number)
{
    rlf_session_stop(running, number);
}

static void
show_log(void *arg, int level, const char *line)
{
    static const char *const words[] = {"error", "warn", "info", "debug",
                                        "trace"};
    fprintf(arg, "[%s] %s\n", words[level], line);
}

static void
show_step(rlf_session *s)
{
    size_t metrics = 0, samples = 0;
    while (rlf_session_metric_name(s, metrics))
        metrics++;
    while (rlf_session_sample(s, samples))
        samples++;
    printf("step %llu: reward %.3f, one of %zu metrics, of %zu samples\n",
           (unsigned long long)rlf_session_steps(s),
           rlf_session_metric(s, "reward"), metrics, samples);
}

/* Prints how large a model's weights are, and the first sample. */
static void
show_end(rlf_session *s)
{
    const rlf_weight *w;
    double sum = 0;
    size_t n = 0;
    for (; (w = rlf_session_weight(s, "actor", n)); n++)
        for (uint64_t k = 0; k < w->rows * w->cols; k++)
            sum += (double)w->data[k] * w->data[k];
    if (n)
        printf("actor: %zu tensors, norm %.3f\n", n, sqrt(sum));
    else /* parts of it on several ranks, a GPU */
        printf("actor: %s\n", rlf_session_why(s));
    const char *sample = rlf_session_sample(s, 0);
    if (sample)
        printf("%s\n", sample);
}

static void
show_wrong(rlf_session *s)
{
    const rlf_diagnostic *d = rlf_session_diagnostic(s, 0);
    for (size_t i = 0; d; d = rlf_session_diagnostic(s, ++i)) {
        if (d->path)
            fprintf(stderr, "%s:%u:%u: ", d->path, (unsigned)d->line,
                    (unsigned)d->column);
        fprintf(stderr, "%s (%s): %s\n", d->severity, d->code, d->text);
    }
    if (!s)
        fputs(rlf_session_message(s), stderr);
}

int
main(int argc, char **argv)
{
    const char *path = argc > 1 ? argv[1] : "ppo.rlf";
    int own = strcmp(path, "-") == 0, out = 0;
    rlf_session *s =
        own ? rlf_session_open_text("embed.rlf", program, sizeof program - 1)
            : rlf_session_open(path);
    if (own) {
        rlf_session_log(s, show_log, stderr);
        rlf_session_hook(s, "judge", judge, NULL);
    }
    rlf_session_set(s, "--steps", argc > 2 ? argv[2] : "10");
    for (int i = 3; i + 1 < argc; i += 2) {
        rlf_session_set(s, argv[i], argv[i + 1]);
        out |= strcmp(argv[i], "--out") == 0;
    }

    rlf_result result;
    running = s;
    signal(SIGTERM, on_signal);
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK) {
        show_step(s);
        fflush(stdout);
        if (rlf_session_metric(s, "reward") > 0.95)
            break;
    }
    signal(SIGTERM, SIG_DFL);
    if (result == RLF_RESULT_OK && out && rlf_session_save(s) == RLF_RESULT_OK)
        printf("good enough: step %llu is saved\n",
               (unsigned long long)rlf_session_saved(s));
    int failed = rlf_session_failed(s);
    if (result == RLF_RESULT_STOPPED)
        printf("told to end: step %llu is saved\n",
               (unsigned long long)rlf_session_saved(s));
    if (failed)
        show_wrong(s);
    else if (own)
        show_end(s);
    rlf_session_close(s);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
