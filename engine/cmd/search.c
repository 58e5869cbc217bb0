/* rlflow plan --search: a table of placements, those of others and the one that
 * was found, in comments; then that plan as a place block. */
#include "engine/cmd/cmd.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void
interrupt(int signal)
{
    interrupted = signal;
}

/* On a terminal: how far it is, the best so far, and how far that is proved. */
static void
show(const rlf_progress *p, int *shown)
{
    int percent = p->of > 0 ? (int)(100 * p->done / p->of) : -1;
    if (p->phase == RLF_PHASE_LAYOUTS && percent != *shown)
        fprintf(stderr, "\rmeasuring layouts: %d %%\033[K", percent);
    if (p->phase == RLF_PHASE_SIMULATE)
        fprintf(stderr, "\rsimulating %.0f of %.0f\033[K", p->done, p->of);
    if (p->phase == RLF_PHASE_SEARCH && isfinite(p->best)) {
        fprintf(stderr, "\rbest step so far %.3g s", p->best);
        if (p->bound > 0)
            fprintf(stderr, ", at most %.1f %% above the best there is",
                    100 * (p->best / p->bound - 1));
        fprintf(stderr, "\033[K");
    }
    *shown = percent;
}

/* `arg`: the percent that a terminal shows; NULL: there is none. */
static int
watch(void *arg, const rlf_progress *progress)
{
    if (arg)
        show(progress, arg);
    return interrupted;
}

int
rlf_cmd_search(rlf_session *s, const rlf_command_line *line)
{
    bool terminal = isatty(STDERR_FILENO) && !rlf_cmd_diag_json();
    int shown = -1;
    struct sigaction was[2], act = {.sa_handler = interrupt};
    sigaction(SIGINT, &act, &was[0]);
    sigaction(SIGTERM, &act, &was[1]);
    bool found = rlf_session_search(s, watch, terminal ? &shown : NULL) != NULL;
    sigaction(SIGINT, &was[0], NULL);
    sigaction(SIGTERM, &was[1], NULL);
    if (terminal)
        fprintf(stderr, "\r\033[K");
    int number = interrupted;
    if (found) {
        bool verbose = line->options[RLF_OPTION_VERBOSE].given;
        rlf_cmd_notes(s);
        rlf_cmd_put(s, verbose ? RLF_TEXT_SEARCHED : RLF_TEXT_SEARCH);
        rlf_cmd_put(s, RLF_TEXT_PLAN);
    }
    rlf_result result = rlf_session_status(s);
    int status = rlf_cmd_end(s, result);
    if (!number || (status && result != RLF_RESULT_CUT))
        return status;
    if (!status)
        rlf_cmd_aside("rlflow: stopped by signal %d; the plan is the best that "
                      "was found until then\n",
                      number);
    return 128 + number;
}
