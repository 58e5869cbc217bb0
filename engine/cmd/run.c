/* rlflow run: train, until the end or a signal. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/display.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- signals ---- */

/* Set by the first SIGINT, SIGTERM, SIGHUP (a terminal that went away) or
 * SIGUSR1 (which every launcher passes on), and when: seconds and milliseconds
 * of these. A second one leaves at once (is_echo). A signal handler has nowhere
 * else to put them; it tells the session. */
static volatile sig_atomic_t stop_signal, stop_second, stop_moment, continued;
static volatile sig_atomic_t launched; /* by mpiexec or the like */
static rlf_session *volatile running; /* NULL: there is none yet, or any more */

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
note_signal(int number, const struct timespec *now)
{
    stop_second = (sig_atomic_t)now->tv_sec;
    stop_moment = (sig_atomic_t)(now->tv_nsec / 1000000);
    stop_signal = number;
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
    note_signal(number, &now);
    rlf_session_stop(running, number);
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

/* SIGUSR1 before it asked for less. */
static void
on_signal_opening(int number)
{
    if (stop_signal == SIGUSR1)
        stop_signal = 0;
    on_signal(number);
}

/* To finish the step first; or, where there is none, to leave at once: while
 * the run opens and when it is over. Launchers send SIGTERM to what is left of
 * a run and wait for it. SIGUSR1 is but the wish to end early, and has a
 * handler of its own: while the run opens it is for the first step, and when it
 * is over it is granted. Under nohup SIGHUP is ignored, and stays so. */
static void
handle_signals(void (*handler)(int), void (*wish)(int))
{
    struct sigaction action = {.sa_handler = handler}, before;
    launched = rlf_launcher(NULL) != NULL;
    handle(SIGINT, handler);
    handle(SIGTERM, handler);
    handle(SIGUSR1, wish);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_continue;
    if (getenv("OMPI_COMM_WORLD_RANK"))
        sigaction(SIGCONT, &action, NULL);
}

/* A SIGCONT that ends a pause does not mean that the run is to end; what looks
 * for pauses was awake as soon as this thread was, so it has seen it in a
 * moment. */
static void
look_for_end(rlf_session *s, uint32_t *pauses)
{
    const struct timespec moment = {.tv_nsec = 100000000};
    if (!continued || stop_signal)
        return;
    nanosleep(&moment, NULL);
    uint32_t before = *pauses;
    *pauses = rlf_session_info(s)->pauses;
    continued = *pauses == before;
    if (continued) /* mpiexec sends SIGTERM next */
        rlf_session_stop(s, SIGTERM);
}

/* ---- the command ---- */

/* Milliseconds that a launcher may take to pass on what was said. */
#define PASSED_ON_NS 200000000

/* The process ends beside the thread that opens the run or hangs in a step. */
static void
leave(void *arg, int number, const char *message)
{
    const struct timespec passed_on = {.tv_nsec = PASSED_ON_NS};
    (void)arg;
    if (*message && number && isatty(STDERR_FILENO) && !rlf_cmd_diag_json())
        fputc('\n', stderr); /* below the live line */
    rlf_cmd_put_whole(message);
    if (*message && number && launched)
        nanosleep(&passed_on, NULL);
    _exit(number ? 128 + number : rlf_cmd_status(RLF_RESULT_FAILED));
}

/* The command that goes on with the run: this one, with its directory and
 * --resume. */
static void
put_resume(rlf_session *s, const rlf_command_line *line, rlf_buf *out)
{
    int processes;
    const char *launcher = rlf_launcher(&processes);
    if (launcher)
        rlf_buf_printf(out, "%s -n %d ", launcher, processes);
    for (int i = 0; i < line->argc; i++) {
        if (i > 1 && strcmp(line->argv[i], "--resume") == 0)
            continue;
        rlf_buf_puts(out, i ? " " : "");
        rlf_buf_shell(out, line->argv[i]);
    }
    if (!line->options[RLF_OPTION_OUT].given) {
        rlf_buf_puts(out, " --out ");
        rlf_buf_shell(out, rlf_session_info(s)->directory);
    }
    rlf_buf_puts(out, " --resume");
}

/* The exit status of a run that was told to end, once it has saved: as if the
 * signal had ended it, so that nothing after it goes on as if it were done;
 * SIGUSR1 is the wish for just that. */
static int
stopped_status(int number)
{
    return number == SIGUSR1 ? 0 : 128 + number;
}

static void
put_stopped(rlf_session *s, const rlf_command_line *line)
{
    rlf_buf again = {0};
    put_resume(s, line, &again);
    printf("stopped after step %" PRIu64 " and saved; go on with:\n    %s\n",
           rlf_session_steps(s), again.p);
    rlf_buf_free(&again);
}

/* After an error in a step: what is saved, and the command that goes on. */
static void
put_saved(rlf_session *s, const rlf_command_line *line, rlf_buf *out)
{
    const char *text = rlf_session_text(s, RLF_TEXT_SAVED);
    size_t n = strlen(text);
    if (!rlf_session_saved(s)) {
        rlf_buf_add(out, text, n);
        return;
    }
    rlf_buf_add(out, text, n - 1); /* all but the end of the line */
    rlf_buf_puts(out, "; go on with:\n    ");
    put_resume(s, line, out);
    rlf_buf_putc(out, '\n');
}

/* A run is over. Where it was told to end, by this process's signal or another
 * one's, that may still be said once more. */
static void
handle_signals_over(const rlf_session *s)
{
    int number = rlf_session_stopped(s);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (number && !stop_signal)
        note_signal(number, &now);
    handle_signals(stop_signal ? on_signal : SIG_DFL, SIG_IGN);
    running = NULL;
}

/* *began: it was not told to end while it opened. */
static rlf_result
train(rlf_session *s, rlf_display *d, bool *began)
{
    rlf_session_leave(s, leave, NULL);
    running = s;
    if (stop_signal) /* it came before that */
        rlf_session_stop(s, stop_signal);
    handle_signals(on_signal_opening, on_signal);
    rlf_result result = rlf_session_ready(s);
    *began = result == RLF_RESULT_OK;
    if (!*began)
        return result;
    bool leads = rlf_session_info(s)->leads;
    void (*handler)(int) = leads ? on_signal_aloud : on_signal;
    handle_signals(handler, handler);
    if (!leads)
        return rlf_session_step(s);
    rlf_display_ready(d);
    uint32_t pauses = rlf_session_info(s)->pauses;
    while ((result = rlf_session_step(s)) == RLF_RESULT_OK) {
        rlf_display_step(d);
        look_for_end(s, &pauses);
    }
    return result;
}

/* The output of a run is in its directory too: one that was started without an
 * output needs none. */
static void
print_somewhere(void)
{
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        (void)!freopen("/dev/null", "w", stdout);
}

/* Prints how a run ended that this process leads. */
static void
put_end(rlf_session *s, const rlf_command_line *line, rlf_result result)
{
    if (result == RLF_RESULT_STOPPED)
        put_stopped(s, line);
    rlf_cmd_put(s, RLF_TEXT_OUTCOME);
    if (result == RLF_RESULT_END)
        rlf_cmd_line("done: step %" PRIu64 ", %s\n", rlf_session_steps(s),
                     rlf_session_info(s)->directory);
}

int
rlf_cmd_run(const rlf_command_line *line)
{
    int status;
    bool began;
    handle(SIGUSR1, on_signal); /* a wish for later, also before that */
    bool quiet = line->options[RLF_OPTION_QUIET].given;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_session_choose_directory(s);
    signal(SIGPIPE, SIG_IGN); /* as in run | head: see rlf_display_flush */
    print_somewhere();
    rlf_display *d = rlf_display_open(s, quiet);
    rlf_result result = train(s, d, &began);
    rlf_display_close(d);
    if (result == RLF_RESULT_STOPPED &&
        rlf_session_text(s, RLF_TEXT_STOPPED)[0])
        began = false; /* told between the opening and the first step */
    bool leads = rlf_session_info(s)->leads;
    if (began && result >= 0 && leads && !quiet)
        put_end(s, line, result);
    rlf_display_flush(s);
    handle_signals_over(s);
    if (result == RLF_RESULT_END && leads)
        rlf_cmd_warnings(s);
    /* Of processes that end because one of them was told to, each says so:
     * MPICH's launcher takes the status of any of them for that of the job. */
    int number = rlf_session_stopped(s);
    if (!number) /* it came behind the last step */
        number = stop_signal;
    rlf_buf saved = {0};
    if (result < 0 && leads && began && rlf_session_steps(s))
        put_saved(s, line, &saved);
    if (!began && leads)
        rlf_buf_puts(&saved, rlf_session_text(s, RLF_TEXT_STOPPED));
    status = rlf_cmd_end_saying(s, result, saved.p ? saved.p : "");
    rlf_buf_free(&saved);
    if (result == RLF_RESULT_CUT)
        return 128 + number;
    return status || !number ? status : stopped_status(number);
}
