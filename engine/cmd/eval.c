/* rlflow eval: held-out scores of models, side by side. */
#include "engine/cmd/cmd.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A model with what it came to. */
typedef struct evaluated {
    rlf_session *s;
    const char *name; /* as the command line has it */
} evaluated;

typedef struct evaluation {
    const rlf_command_line *line;
    evaluated *list; /* [n] of those that have begun */
    size_t n;
    FILE *answers; /* NULL: nobody wants them */
    bool progress; /* the standard error is a terminal that shows it */
} evaluation;

/* ---- signals ---- */

static volatile sig_atomic_t ended_by; /* the first signal */
static rlf_session *volatile running;

static void
on_signal(int number)
{
    if (ended_by)
        _exit(128 + number);
    ended_by = number;
    rlf_session_stop(running, number);
}

static void
handle_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART},
                     was;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
            sigaction(numbers[i], &act, NULL);
}

/* ---- one model ---- */

static void
show_progress(const evaluation *e, const evaluated *at)
{
    const rlf_score *score = rlf_session_score(at->s, 0);
    if (!e->progress || !score)
        return;
    fprintf(stderr, "\r");
    rlf_cmd_put_text(at->name, stderr);
    fprintf(stderr, ": %zu of %zu prompts\033[K", score->prompts, score->all);
    fflush(stderr);
}

static void
end_progress(const evaluation *e)
{
    if (e->progress)
        fprintf(stderr, "\r\033[K");
}

static rlf_result
cannot_write(const evaluation *e)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_fail_errno(&err, "cannot write %s",
                   e->line->options[RLF_OPTION_ANSWERS].text);
    rlf_cmd_say(&err);
    return RLF_RESULT_FAILED;
}

static rlf_result
put_answers(const evaluation *e, const evaluated *at)
{
    const char *text;
    rlf_buf name = {0};
    if (!e->answers)
        return RLF_RESULT_OK;
    rlf_buf_json(&name, at->name, strlen(at->name));
    for (size_t i = 0; (text = rlf_session_sample(at->s, i)) != NULL; i++)
        fprintf(e->answers, "{\"evaluation\":1,\"model\":%s,%s\n", name.p,
                text + 1);
    rlf_buf_free(&name);
    return fflush(e->answers) != 0 ? cannot_write(e) : RLF_RESULT_OK;
}

static rlf_result
open_answers(evaluation *e)
{
    const char *path = e->line->options[RLF_OPTION_ANSWERS].text;
    if (!path || e->answers)
        return RLF_RESULT_OK;
    e->answers = fopen(path, "w");
    return e->answers ? RLF_RESULT_OK : cannot_write(e);
}

/* *told: what is wrong was said. */
static rlf_result
evaluate(evaluation *e, const evaluated *at, const char *model, bool *told)
{
    const rlf_option_value *samples = &e->line->options[RLF_OPTION_SAMPLES];
    rlf_result result = RLF_RESULT_OK;
    *told = false;
    if (samples->given)
        result = rlf_session_set(at->s, "--n", samples->text);
    if (result == RLF_RESULT_OK)
        result = rlf_session_evaluate(at->s, model);
    running = at->s;
    if (ended_by)
        rlf_session_stop(at->s, ended_by);
    if (result == RLF_RESULT_OK)
        result = rlf_session_ready(at->s);
    if (result != RLF_RESULT_OK)
        return result;
    rlf_cmd_warn(at->s);
    rlf_cmd_warnings(at->s);
    result = open_answers(e);
    *told = result != RLF_RESULT_OK;
    while (!*told && (result = rlf_session_step(at->s)) == RLF_RESULT_OK) {
        show_progress(e, at);
        result = put_answers(e, at);
        *told = result != RLF_RESULT_OK;
    }
    end_progress(e);
    return result;
}

/* ---- the table ---- */

static const rlf_score *
score_of(const evaluated *at, size_t metric)
{
    const rlf_score *score = rlf_session_score(at->s, metric);
    return score && score->prompts ? score : NULL;
}

/* Is k one of 1, 2, 4, ... and the number of answers? The next one. */
static size_t
next_k(size_t k, size_t samples)
{
    return k < samples && 2 * k > samples ? samples : 2 * k;
}

/* Nobody knows whether a metric can have values that it has not had. */
static const char *
interval_text(const rlf_score *score)
{
    return score->binomial ? "binomial, as all values are 0 or 1"
                           : "by bootstrap over prompts";
}

static void
put_head(const rlf_score *score, int width)
{
    printf("%s: %zu prompt%s, %zu answer%s each; intervals of 95 %%, %s\n",
           score->metric, score->prompts, score->prompts == 1 ? "" : "s",
           score->samples, score->samples == 1 ? "" : "s",
           interval_text(score));
    printf("  %-*s      mean      from        to", width, "");
    if (score->binary && score->samples > 1)
        for (size_t k = 1; k <= score->samples; k = next_k(k, score->samples)) {
            char name[32];
            snprintf(name, sizeof name, "pass@%zu", k);
            printf("  %8s", name);
        }
    printf("\n");
}

static void
put_name(const char *name, int width)
{
    rlf_cmd_put_text(name, stdout);
    for (size_t n = strlen(name); n < (size_t)width; n++)
        putchar(' ');
}

static void
put_score(const rlf_score *score, const rlf_score *first)
{
    printf("  %8.4f  %8.4f  %8.4f", score->mean, score->low, score->high);
    if (score->binary && score->samples > 1)
        for (size_t k = 1; k <= score->samples; k = next_k(k, score->samples))
            printf("  %8.4f", rlf_score_pass(score, k));
    if (score->prompts != first->prompts)
        printf("  (of %zu prompts)", score->prompts);
    if (score->binomial != first->binomial)
        printf("  (%s)", interval_text(score));
    printf("\n");
}

static void
put_metric(const evaluation *e, size_t metric, int width)
{
    const rlf_score *first = score_of(&e->list[0], metric);
    put_head(first, width);
    for (size_t i = 0; i < e->n; i++) {
        const rlf_score *score = score_of(&e->list[i], metric);
        if (!score)
            continue;
        printf("  ");
        put_name(e->list[i].name, width);
        put_score(score, first);
    }
    for (size_t i = 1; i < e->n; i++) {
        const rlf_difference *d =
            score_of(&e->list[i], metric)
                ? rlf_session_difference(e->list[i].s, metric, first)
                : NULL;
        if (!d)
            continue;
        if (i == 1) {
            printf("  less ");
            rlf_cmd_put_text(e->list[0].name, stdout);
            printf(", by bootstrap over the same prompts:\n");
        }
        printf("  ");
        put_name(e->list[i].name, width);
        printf("  %+8.4f  %+8.4f  %+8.4f\n", d->mean, d->low, d->high);
    }
}

static void
put_table(const evaluation *e)
{
    size_t width = 0;
    for (size_t i = 0; i < e->n; i++)
        if (strlen(e->list[i].name) > width)
            width = strlen(e->list[i].name);
    for (size_t m = 0; e->n && score_of(&e->list[0], m); m++) {
        printf("%s", m ? "\n" : "");
        put_metric(e, m, (int)width);
    }
}

/* ---- as JSON ---- */

static void
add_number(rlf_buf *out, const char *name, double x)
{
    rlf_buf_printf(out, ",\"%s\":", name);
    rlf_buf_number(out, x);
}

static void
add_score(const rlf_score *score, rlf_buf *out)
{
    rlf_buf_puts(out, "{\"metric\":");
    rlf_buf_json(out, score->metric, strlen(score->metric));
    rlf_buf_printf(out, ",\"prompts\":%zu,\"of\":%zu,\"samples\":%zu",
                   score->prompts, score->all, score->samples);
    add_number(out, "mean", score->mean);
    add_number(out, "low", score->low);
    add_number(out, "high", score->high);
    rlf_buf_printf(out, ",\"interval\":\"%s\"",
                   score->binomial ? "binomial" : "bootstrap");
    for (size_t k = 1; score->binary && k <= score->samples;
         k = next_k(k, score->samples)) {
        rlf_buf_printf(out, "%s\"%zu\":", k > 1 ? "," : ",\"pass\":{", k);
        rlf_buf_number(out, rlf_score_pass(score, k));
    }
    rlf_buf_puts(out, score->binary ? "}}" : "}");
}

static void
add_difference(const evaluation *e, size_t i, size_t metric, rlf_buf *out)
{
    const rlf_score *first = score_of(&e->list[0], metric);
    const rlf_difference *d =
        rlf_session_difference(e->list[i].s, metric, first);
    rlf_buf_puts(out, "{\"metric\":");
    rlf_buf_json(out, first->metric, strlen(first->metric));
    rlf_buf_puts(out, ",\"model\":");
    rlf_buf_json(out, e->list[i].name, strlen(e->list[i].name));
    rlf_buf_puts(out, ",\"less\":");
    rlf_buf_json(out, e->list[0].name, strlen(e->list[0].name));
    rlf_buf_printf(out, ",\"prompts\":%zu", d ? d->prompts : 0);
    add_number(out, "mean", d ? d->mean : NAN);
    add_number(out, "low", d ? d->low : NAN);
    add_number(out, "high", d ? d->high : NAN);
    rlf_buf_putc(out, '}');
}

static void
put_json(const evaluation *e, bool whole)
{
    rlf_buf out = {0};
    rlf_buf_puts(&out, "{\"program\":");
    rlf_buf_json(&out, e->line->files[0], strlen(e->line->files[0]));
    rlf_buf_printf(&out, ",\"complete\":%s,\"models\":[",
                   whole ? "true" : "false");
    for (size_t i = 0; i < e->n; i++) {
        const rlf_score *score;
        rlf_buf_printf(&out, "%s{\"model\":", i ? "," : "");
        rlf_buf_json(&out, e->list[i].name, strlen(e->list[i].name));
        rlf_buf_puts(&out, ",\"scores\":[");
        for (size_t m = 0; (score = score_of(&e->list[i], m)) != NULL; m++) {
            rlf_buf_puts(&out, m ? "," : "");
            add_score(score, &out);
        }
        rlf_buf_puts(&out, "]}");
    }
    rlf_buf_puts(&out, "],\"differences\":[");
    bool more = false;
    for (size_t i = 1; i < e->n; i++)
        for (size_t m = 0; score_of(&e->list[i], m) && score_of(&e->list[0], m);
             m++) {
            rlf_buf_puts(&out, more ? "," : "");
            add_difference(e, i, m, &out);
            more = true;
        }
    rlf_buf_puts(&out, "]}\n");
    fwrite(out.p, 1, out.n, stdout);
    rlf_buf_free(&out);
}

/* ---- the command ---- */

static void
say_stopped(const evaluation *e)
{
    const evaluated *last = &e->list[e->n - 1];
    const rlf_score *score = rlf_session_score(last->s, 0);
    rlf_cmd_aside("rlflow: stopped by signal %d; of %s there are %zu of %zu "
                  "prompts\n",
                  (int)ended_by, last->name, score ? score->prompts : 0,
                  score ? score->all : 0);
}

/* --samples has the range of --n, and is not 0. */
static bool
check_samples(const rlf_option_value *samples)
{
    rlf_option_value ignored;
    rlf_err err = RLF_ERR_NONE;
    if (!samples->given)
        return true;
    if (samples->number < 1) {
        rlf_fail(&err, RLF_USAGE, "--samples 0 leaves nothing to evaluate");
        rlf_err_hint(&err, "--samples K has K answers to each prompt");
    } else if (rlf_option_read(RLF_OPTION_N, samples->text, "--samples", &err,
                               &ignored) >= 0) {
        return true;
    }
    rlf_cmd_say(&err);
    return false;
}

static int
refuse_launcher(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_fail(&err, RLF_USAGE, "eval is one process, and %s has started several",
             rlf_launcher(NULL));
    rlf_err_hint(&err, "--ranks N has several ranks in one");
    rlf_cmd_say(&err);
    return 2;
}

/* The model number i, in a session of its own: *more: the next one can be
 * evaluated, too. */
static int
evaluate_one(evaluation *e, size_t i, bool *more)
{
    int status = 0;
    bool told, named = e->line->n_files > 1;
    const char *model = named ? e->line->files[i + 1] : NULL;
    evaluated *at = &e->list[e->n];
    *at = (evaluated){rlf_cmd_session(e->line, &status),
                      named ? model : "as the program begins"};
    *more = false;
    if (!at->s)
        return status;
    e->n++;
    rlf_result result = evaluate(e, at, model, &told);
    running = NULL;
    if (result == RLF_RESULT_END || result == RLF_RESULT_STOPPED ||
        result == RLF_RESULT_CUT) {
        rlf_session_finish(at->s);
        *more = result == RLF_RESULT_END && !ended_by;
        return 0;
    }
    e->n--;
    fflush(stdout);
    status = rlf_cmd_status(result);
    if (e->n && !e->line->options[RLF_OPTION_JSON].given)
        put_table(e);
    if (told)
        rlf_session_close(at->s);
    return told ? status : rlf_cmd_end(at->s, result);
}

int
rlf_cmd_eval(const rlf_command_line *line)
{
    int processes, status = 0;
    const rlf_option_value *o = line->options;
    size_t n = line->n_files > 1 ? (size_t)line->n_files - 1 : 1;
    if (rlf_launcher(&processes) && processes > 1)
        return refuse_launcher();
    if (!check_samples(&o[RLF_OPTION_SAMPLES]))
        return 2;
    evaluation e = {.line = line,
                    .list = calloc(n, sizeof *e.list),
                    .progress = isatty(STDERR_FILENO) && !rlf_cmd_diag_json()};
    if (!e.list)
        return rlf_cmd_status(RLF_RESULT_MEMORY);
    handle_signals();
    bool more = true;
    size_t i = 0;
    while (more && !status && i < n)
        status = evaluate_one(&e, i++, &more);
    bool whole = !status && !ended_by;
    if (o[RLF_OPTION_JSON].given && (e.n || whole))
        put_json(&e, whole);
    else if (!status)
        put_table(&e);
    if (!status && ended_by && e.n) {
        fflush(stdout);
        say_stopped(&e);
    }
    for (size_t k = 0; k < e.n; k++)
        rlf_session_close(e.list[k].s);
    if (e.answers && fclose(e.answers) != 0 && !status)
        status = rlf_cmd_status(cannot_write(&e));
    free(e.list);
    return status || !ended_by ? status : 128 + ended_by;
}
