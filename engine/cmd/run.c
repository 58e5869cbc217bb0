/* rlflow run: train. Shows a live line on a terminal, else a line a step. */
#include "engine/cmd/cmd.h"

#include "engine/base/clock.h"
#include "engine/base/vec.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ---- */

/* Set by the first SIGINT, SIGTERM, SIGHUP (a terminal that went away) or
 * SIGUSR1 (which every launcher passes on), and when; one that comes a moment
 * later leaves at once. A signal handler has nowhere else to put them. Only
 * process 0 looks. */
static volatile sig_atomic_t stop_signal, stop_second, continued;

/* Seconds: a terminal and a launcher may both send what is one signal. */
enum { SAME = 1 };

static void
on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sig_atomic_t second = (sig_atomic_t)now.tv_sec;
    if (stop_signal && second - stop_second > SAME)
        _exit(128 + number);
    if (!stop_signal)
        stop_second = second;
    stop_signal = number;
}

static void
on_signal_aloud(int number)
{
    static const char text[] = "\nfinishing the present step, then saving; a "
                               "second signal leaves at once\n";
    ssize_t told = 0;
    if (!stop_signal)
        told = write(STDERR_FILENO, text, sizeof text - 1);
    (void)told; /* or there is nobody to tell */
    on_signal(number);
}

/* Open MPI's mpiexec, told to end, sends SIGCONT at once, SIGTERM after
 * odls_base_sigkill_timeout (one second) and SIGKILL after as long again. */
static void
on_continue(int number)
{
    (void)number;
    continued = 1;
}

/* To finish the step first; or, where there is none, to leave at once: while
 * the run opens and when it is over. Launchers send SIGTERM to what is left of
 * a run and wait for it. Under nohup SIGHUP is ignored, and stays so. */
static void
handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, before;
    const int numbers[] = {SIGINT, SIGTERM, SIGUSR1};
    for (size_t i = 0; i < RLF_COUNT(numbers); i++)
        sigaction(numbers[i], &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_continue;
    if (getenv("OMPI_COMM_WORLD_RANK"))
        sigaction(SIGCONT, &action, NULL);
}

/* Is the run to end? A SIGCONT that ends a pause does not mean that; what looks
 * for pauses was awake as soon as this thread was, so it has seen it in a
 * moment. */
static bool
wants_end(const rlf_session *s, uint32_t *pauses)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    if (!continued || !s->world || stop_signal)
        return stop_signal;
    nanosleep(&moment, NULL);
    uint32_t before = *pauses;
    *pauses = rlf_comm_world_pauses(s->world);
    continued = *pauses == before;
    return continued;
}

/* ---- showing progress ---- */

typedef struct display {
    bool terminal;
    bool live; /* a live line stands on the terminal */
    uint64_t start;
    uint32_t first; /* step before the first of this process */
    size_t shown;   /* metrics that the step before had */
} display;

static void
clear_live(display *d)
{
    if (d->live)
        fputs("\r\033[K", stdout);
    d->live = false;
}

static size_t
count_metrics(const rlf_session *s)
{
    size_t n = 0;
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(s, i)); i++)
        if (!isnan(rlf_session_metric(s, name)))
            n++;
    return n;
}

static void
put_time(double seconds, rlf_buf *out)
{
    unsigned long n = (unsigned long)(seconds + 0.5);
    if (n >= 3600)
        rlf_buf_printf(out, "%lu:%02lu:%02lu", n / 3600, n / 60 % 60, n % 60);
    else
        rlf_buf_printf(out, "%lu:%02lu", n / 60, n % 60);
}

static void
put_step(const rlf_session *s, const display *d, rlf_buf *out)
{
    uint64_t step = rlf_session_steps(s), wanted = s->wanted;
    rlf_buf_printf(out, "step %" PRIu64, step);
    if (wanted)
        rlf_buf_printf(out, "/%" PRIu64, wanted);
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(s, i)); i++) {
        double x = rlf_session_metric(s, name);
        if (!isnan(x))
            rlf_buf_printf(out, "  %s %.4g", name, x);
    }
    if (s->tokens && s->step_seconds > 0)
        rlf_buf_printf(out, "  %.0f tok/s",
                       (double)s->tokens / s->step_seconds);
    rlf_buf_printf(out, "  %.2f s", s->step_seconds);
    if (d->live && wanted > step) {
        double each = rlf_clock_since(d->start) / (double)(step - d->first);
        rlf_buf_puts(out, "  left ");
        put_time(each * (double)(wanted - step), out);
    }
}

/* On a terminal the line of a step replaces the one before, unless the step
 * reported more than that one did (an evaluation): such a line stays. */
static void
show_step(const rlf_session *s, display *d)
{
    size_t metrics = count_metrics(s);
    bool stays = !d->terminal || metrics > d->shown;
    d->shown = metrics;
    clear_live(d);
    d->live = !stays;
    rlf_buf line = {0};
    put_step(s, d, &line);
    if (stays) {
        printf("%s\n", line.p);
    } else {
        struct winsize size = {0};
        int columns =
            ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1
                ? size.ws_col - 1
                : 79;
        printf("%.*s", columns, line.p);
    }
    fflush(stdout);
    rlf_buf_free(&line);
}

static void
show_start(const rlf_session *s)
{
    if (s->killed)
        printf("the run before was killed: %s\n", s->killed);
    if (s->options.resume && s->resumed)
        printf("resumed after step %u from %s\n", s->resumed,
               s->options.directory);
    else if (s->options.resume)
        printf("%s has no checkpoint: starting from the beginning\n",
               s->options.directory);
    printf("%s: %s", s->path, s->graph->name);
    if (s->wanted)
        printf(", %" PRIu64 " steps", s->wanted);
    printf(", seed %" PRIu64 ", in %s\n", s->options.seed,
           s->options.directory);
    rlf_cmd_notes(s);
    fflush(stdout);
}

/* ---- the command ---- */

/* The main thread is stuck in a step: say so and end, for it will not. */
static void
end_hanging(const rlf_session *s)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_comm_check(s->world, &err);
    rlf_cmd_say(&err, &s->sources);
    _exit(-RLF_RESULT_FAILED);
}

static rlf_result
stop_early(rlf_session *s)
{
    rlf_result result = rlf_session_save(s);
    if (result == RLF_RESULT_OK)
        printf("stopped after step %" PRIu64 " and saved; go on with:\n"
               "    rlflow run %s ... --out %s --resume\n",
               rlf_session_steps(s), s->path, s->options.directory);
    return result;
}

static rlf_result
train(rlf_session *s)
{
    rlf_result result = rlf_session_ready(s);
    if (result != RLF_RESULT_OK)
        return result;
    handle_signals(s->leads ? on_signal_aloud : on_signal);
    if (!s->leads)
        return rlf_session_step(s);
    show_start(s);
    /* some launchers give a terminal to a program that writes to a pipe */
    display d = {.terminal = isatty(STDOUT_FILENO) && !rlf_comm_launcher(),
                 .start = rlf_clock_now(),
                 .first = s->resumed};
    uint32_t pauses = s->world ? rlf_comm_world_pauses(s->world) : 0;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK) {
        show_step(s, &d);
        if (wants_end(s, &pauses)) {
            clear_live(&d);
            return stop_early(s);
        }
    }
    clear_live(&d);
    if (result == RLF_RESULT_END)
        printf("done: step %" PRIu64 ", %s\n", rlf_session_steps(s),
               s->options.directory);
    return result;
}

int
rlf_cmd_run(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    s->options.leaves = true;
    s->options.hangs = end_hanging;
    rlf_result result = train(s);
    handle_signals(SIG_DFL);
    return rlf_cmd_end(s, result);
}
