/* rlflow run: train, until the end or a signal. */
#include "engine/cmd/inside.h"
#include "engine/cmd/display.h"
#include "engine/cmd/opening.h"

#include "engine/api/prediction.h"
#include "engine/base/vec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ---- */

/* Set by the first SIGINT, SIGTERM, SIGHUP (a terminal that went away) or
 * SIGUSR1 (which every launcher passes on), and when: seconds and milliseconds
 * of these. A second one leaves at once (is_echo). A signal handler has nowhere
 * else to put them. Process 0 looks at them; the others have it hear of theirs,
 * through their world. */
static volatile sig_atomic_t stop_signal, stop_second, stop_moment, continued;
static volatile sig_atomic_t launched;    /* by mpiexec or the like */
static rlf_comm_world *volatile follows;  /* of a process that is not 0 */
static rlf_comm_world *volatile leads;    /* of process 0, in a step */
static rlf_comm_world *volatile joined;   /* of any, while the run lasts */
static volatile sig_atomic_t told_second; /* that another process's signal came
                                             here, or 0 */

/* Milliseconds behind the first signal in which another one may mean the same:
 * under a launcher and elsewhere. */
enum { LAUNCHER_ECHO = 2000, ECHO = 200 };

/* Does a signal that follows another one say the same once more? mpiexec, told
 * to end by any signal, sends SIGTERM to processes that may have the first from
 * the terminal already, Open MPI's a second later. Without a launcher a
 * terminal and a shell may both tell a process, in the same moment. Who ends a
 * session sends SIGHUP before or behind SIGTERM, and a terminal that is closed
 * on a run that saves is no wish to lose the step: SIGHUP behind another signal
 * never leaves. Any other two are a wish to leave. */
static bool
is_echo(int number, const struct timespec *now)
{
    long moment = now->tv_nsec / 1000000 - stop_moment;
    long long after = 1000LL * (now->tv_sec - stop_second) + moment;
    if (launched)
        return after < LAUNCHER_ECHO;
    if (number == SIGHUP && stop_signal != SIGHUP)
        return true;
    return (number == stop_signal || stop_signal == SIGHUP) && after < ECHO;
}

static void
on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (stop_signal && !is_echo(number, &now))
        _exit(128 + number);
    if (stop_signal)
        return;
    stop_second = (sig_atomic_t)now.tv_sec;
    stop_moment = (sig_atomic_t)(now.tv_nsec / 1000000);
    stop_signal = number;
    if (follows)
        rlf_comm_world_note(follows, number);
    if (leads)
        rlf_comm_world_note(leads, number);
}

static void
on_signal_aloud(int number)
{
    static const char alone[] = "\nfinishing the present step, then saving; a "
                                "second signal leaves at once\n";
    static const char several[] =
        "\nfinishing the present step, then saving; a second signal leaves at "
        "once if it comes two seconds later or more\n";
    static const char as_json[] =
        "{\"severity\": \"note\", \"code\": \"run\", \"text\": "
        "\"finishing the present step, then saving\"}\n";
    ssize_t told = 0;
    if (!stop_signal && rlf_cmd_diag_json())
        told = write(STDERR_FILENO, as_json, sizeof as_json - 1);
    else if (!stop_signal)
        told = launched ? write(STDERR_FILENO, several, sizeof several - 1)
                        : write(STDERR_FILENO, alone, sizeof alone - 1);
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

static void
handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigaction(number, &action, NULL);
}

/* A thread hears of it (opening.c); SIGUSR1 before it asked for less. */
static void
on_signal_opening(int number)
{
    if (stop_signal == SIGUSR1)
        stop_signal = 0;
    on_signal(number);
    rlf_opening_wake();
}

/* To finish the step first; or, where there is none, to leave at once: while
 * the run opens and when it is over. Launchers send SIGTERM to what is left of
 * a run and wait for it. SIGUSR1 is but the wish to end early: while the run
 * opens it is for the first step, and when it is over it is granted. Under
 * nohup SIGHUP is ignored, and stays so. */
static void
handle_signals(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, before;
    launched = rlf_comm_launcher() != NULL;
    handle(SIGINT, handler);
    handle(SIGTERM, handler);
    handle(SIGUSR1, handler == SIG_DFL             ? SIG_IGN
                    : handler == on_signal_opening ? on_signal
                                                   : handler);
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
    if (s->world && !stop_signal && rlf_comm_world_told(s->world))
        on_signal(rlf_comm_world_told(s->world));
    if (!continued || !s->world || stop_signal)
        return stop_signal;
    nanosleep(&moment, NULL);
    uint32_t before = *pauses;
    *pauses = rlf_comm_world_pauses(s->world);
    continued = *pauses == before;
    return continued;
}

/* Seconds after a signal that a call of a Lua function may take in all: those
 * of --grace. */
static int64_t grace;

/* A call that might never return: the signal is not to need a second one,
 * whichever process it was sent to. Asked by the threads of ranks. */
static bool
gives_up(double seconds)
{
    struct timespec now;
    bool told = !stop_signal && joined && rlf_comm_world_told(joined);
    if (!stop_signal && !told)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    sig_atomic_t second = (sig_atomic_t)now.tv_sec;
    if (told && !told_second)
        told_second = second;
    return seconds >= (double)grace &&
           second - (told ? told_second : stop_second) >= grace;
}

/* The step was not finished: a call in it was given up. */
static bool
is_cut(const rlf_session *s)
{
    return s->err.status == RLF_STOPPED ||
           (s->world && rlf_comm_cause(s->world) == RLF_STOPPED);
}

/* ---- the command ---- */

/* The main thread is stuck in a step: say so and end, for it will not. */
static void
end_hanging(rlf_session *s)
{
    rlf_err err = RLF_ERR_NONE, ignored = RLF_ERR_NONE;
    rlf_comm_check(s->world, &err);
    rlf_record_fail(s, &err, &ignored);
    rlf_cmd_say(&err, &s->sources);
    _exit(-RLF_RESULT_FAILED);
}

/* The command that goes on with the run: this one, with its directory and
 * --resume. */
static void
put_resume(const rlf_session *s, const rlf_command_line *line, rlf_buf *out)
{
    if (rlf_comm_launcher())
        rlf_buf_printf(out, "%s -n %d ", rlf_comm_launcher(),
                       rlf_comm_launcher_size());
    for (int i = 0; i < line->argc; i++) {
        if (i > 1 && strcmp(line->argv[i], "--resume") == 0)
            continue;
        rlf_buf_puts(out, i ? " " : "");
        rlf_buf_shell(out, line->argv[i]);
    }
    if (!line->options[RLF_OPTION_OUT].given) {
        rlf_buf_puts(out, " --out ");
        rlf_buf_shell(out, s->options.directory);
    }
    rlf_buf_puts(out, " --resume");
}

/* Without a number it was Open MPI's mpiexec, which sends SIGTERM next. */
static int
stopping_signal(void)
{
    return stop_signal ? stop_signal : SIGTERM;
}

/* What a run that was told to end exits with once it has saved: as if the
 * signal had ended it, so that nothing after it goes on as if it were done;
 * SIGUSR1 is the wish for just that. */
static int
stopped_status(void)
{
    int number = stopping_signal();
    return number == SIGUSR1 ? 0 : 128 + number;
}

/* The run has been told to end. If the step that it has finished was its last
 * one, it ends as it would have. */
static rlf_result
stop_early(rlf_session *s, const rlf_command_line *line)
{
    if (s->world)
        rlf_comm_world_tell(s->world, stopping_signal());
    if (rlf_session_over(s))
        return rlf_session_step(s);
    rlf_result result = rlf_session_save(s);
    s->stopped = stopping_signal();
    if (result != RLF_RESULT_OK || line->options[RLF_OPTION_QUIET].given)
        return result;
    rlf_buf again = {0};
    put_resume(s, line, &again);
    printf("stopped after step %" PRIu64 " and saved; go on with:\n    %s\n",
           rlf_session_steps(s), again.p);
    rlf_buf_free(&again);
    return result;
}

/* After an error in a step: what is saved, and the command that goes on. */
static void
put_saved(const rlf_session *s, const rlf_command_line *line, rlf_buf *out)
{
    rlf_err ignored = RLF_ERR_NONE;
    uint32_t step = rlf_saving_last(s);
    if (s->saved.why_not)
        rlf_buf_printf(out, "step %" PRIu64 " could not be saved: %s\n",
                       rlf_session_steps(s), s->saved.why_not);
    if (rlf_directory_check(s, &ignored) >= 0 && !s->saved.step)
        rlf_buf_puts(out, s->saved.failed
                              ? "no step is saved: the first checkpoint could "
                                "not be written\n"
                              : "no step is saved yet: the first checkpoint is "
                                "written as --save-every says\n");
    if (!step) /* none, or none any more */
        return;
    rlf_buf_printf(out, "steps up to %" PRIu32 " are saved; go on with:\n    ",
                   step);
    put_resume(s, line, out);
    rlf_buf_putc(out, '\n');
}

/* A best step was wanted that never came. */
static void
warn_best(const rlf_session *s)
{
    const rlf_best *best = &s->beside.best;
    if (best->metric && !best->step)
        rlf_cmd_aside("warning: --keep-best %s: no step reported it, so none "
                      "was kept\n",
                      best->metric);
}

/* In a step that may not end by itself a signal to process 0, or to any other,
 * is one to all. */
static rlf_result
step(rlf_session *s)
{
    bool relays = s->world && !rlf_session_over(s);
    if (relays) {
        leads = s->world;
        rlf_comm_world_relay(s->world, true);
        if (stop_signal) /* it may have come before */
            rlf_comm_world_note(s->world, stop_signal);
    }
    rlf_result result = rlf_session_step(s);
    leads = NULL;
    if (relays)
        rlf_comm_world_relay(s->world, false);
    return result;
}

/* It was told to end in the moment in which it began. */
static rlf_result
begin_nothing(rlf_session *s)
{
    handle_signals(SIG_DFL);
    s->stopped = stop_signal;
    if (s->world)
        rlf_comm_world_tell(s->world, stop_signal);
    rlf_opening_forget(s);
    rlf_opening_say(stop_signal);
    return RLF_RESULT_OK;
}

static rlf_result
train(rlf_session *s, rlf_display *d, bool *began, bool *stopped)
{
    if (rlf_opening_watch(s, &stop_signal, &s->err) < 0)
        return rlf_session_result(s->err.status);
    handle_signals(on_signal_opening);
    rlf_result result = rlf_session_ready(s);
    if (result != RLF_RESULT_OK) {
        rlf_opening_over();
        handle_signals(SIG_DFL);
        return result;
    }
    if (s->leads)
        rlf_opening_over();
    if (s->leads && stop_signal && stop_signal != SIGUSR1)
        return begin_nothing(s);
    *began = true;
    follows = s->leads ? NULL : s->world;
    joined = s->world;
    if (follows && stop_signal) /* while it opened */
        rlf_comm_world_note(follows, stop_signal);
    handle_signals(s->leads ? on_signal_aloud : on_signal);
    if (!s->leads) {
        result = rlf_session_step(s);
        rlf_opening_over();
        return result;
    }
    rlf_display_ready(d);
    uint32_t pauses = s->world ? rlf_comm_world_pauses(s->world) : 0;
    while (!*stopped && (result = step(s)) == RLF_RESULT_OK) {
        rlf_display_step(d);
        *stopped = wants_end(s, &pauses);
    }
    return result;
}

/* What the search of `place auto` promised, beside what the run took. */
static void
put_prediction(const rlf_session *s)
{
    rlf_buf text = {0};
    rlf_prediction_compare(s, &text);
    fputs(text.p ? text.p : "", stdout);
    rlf_buf_free(&text);
}

/* What a run prints is in its directory too: one that was started without an
 * output needs none. */
static void
print_somewhere(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        (void)!freopen("/dev/null", "w", stdout);
}

int
rlf_cmd_run(const rlf_command_line *line)
{
    int status;
    bool began = false, stopped = false;
    handle(SIGUSR1, on_signal); /* a wish for later, also before that */
    bool quiet = line->options[RLF_OPTION_QUIET].given;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    s->options.leaves = true;
    s->options.hangs = end_hanging;
    s->options.stops = gives_up;
    grace = line->options[RLF_OPTION_GRACE].number;
    signal(SIGPIPE, SIG_IGN); /* as in run | head: see rlf_display_flush */
    print_somewhere();
    rlf_display *d = rlf_display_open(s, quiet);
    rlf_result result = train(s, d, &began, &stopped);
    rlf_display_close(d);
    if (stopped)
        result = stop_early(s, line);
    if ((stopped || result == RLF_RESULT_END) && s->leads && !quiet)
        put_prediction(s);
    if (result == RLF_RESULT_END && s->leads && !quiet)
        printf("done: step %" PRIu64 ", %s\n", rlf_session_steps(s),
               s->options.directory);
    rlf_display_flush(s);
    handle_signals(SIG_DFL);
    bool lost = result < 0 && s->leads && began && rlf_run_steps(s->run);
    if (result == RLF_RESULT_END && s->leads)
        warn_best(s);
    /* Of processes that end because one of them was told to, each says so:
     * MPICH's launcher takes the status of any of them for that of the job. A
     * signal that came too late to end the run is none. */
    int told = follows ? rlf_comm_world_told(s->world) : 0;
    follows = NULL;
    stopped |= told != 0;
    if (told)
        stop_signal = told;
    stopped |= s->stopped && !began; /* while it opened */
    bool cut = is_cut(s);
    if (cut && !stop_signal && joined)
        stop_signal = rlf_comm_world_told(joined);
    if (cut)
        s->stopped = stopping_signal();
    joined = NULL;
    rlf_buf saved = {0};
    if (lost)
        put_saved(s, line, &saved);
    status = rlf_cmd_end_saying(s, result, saved.p ? saved.p : "");
    rlf_buf_free(&saved);
    if (cut)
        return 128 + stopping_signal();
    return status || !stopped ? status : stopped_status();
}
