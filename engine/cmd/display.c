/* The display of a run: see display.h. */
#include "engine/cmd/display.h"

#include "engine/cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 200 }; /* between two looks at what is being done */

/* Pieces of work that end within this many seconds are not named. */
static const double brief = 0.5;

struct rlf_display {
    rlf_session *session;
    bool quiet, terminal, color;
    bool ready;     /* the session's run is open */
    double start;   /* of the first step of this process */
    uint64_t first; /* step before it */
    size_t shown;   /* metrics that the step before had */
    bool stays;     /* the line of the last step was printed to stay */
    bool ticks;     /* a thread keeps the live line true */
    pthread_t thread;
    pthread_mutex_t lock; /* of all that follows, and of the terminal */
    pthread_cond_t wake;
    bool closing;
    bool live;             /* a live line stands on the terminal */
    bool reflows;          /* which breaks it anew when it is made narrower */
    size_t wide;           /* columns of the live line */
    double since;          /* the present step, or opening, began */
    uint64_t step, wanted; /* the last step, and all */
    struct {
        char **data; /* heap; the most important one first */
        size_t count;
    } parts;     /* of the line of the last step */
    size_t left; /* which of them says how long the run goes on; 0: none */
};

void
rlf_display_flush(rlf_session *session)
{
    if (fflush(stdout) == 0 || errno != EPIPE)
        return;
    clearerr(stdout);
    if (freopen("/dev/null", "w", stdout))
        rlf_cmd_aside("nobody reads the output any more: the run goes on, its "
                      "metrics are in %s/metrics.jsonl\n",
                      rlf_session_info(session)->directory);
}

/* ---- the parts of a line ---- */

static void
clear_parts(rlf_display *d)
{
    for (size_t i = 0; i < d->parts.count; i++)
        free(d->parts.data[i]);
    d->parts.count = 0;
    d->left = 0;
}

static void
add_part(rlf_display *d, rlf_buf *text)
{
    enum { PIECE = 16 };
    size_t n = d->parts.count;
    if (n % PIECE == 0)
        d->parts.data =
            rlf_realloc(d->parts.data, (n + PIECE) * sizeof *d->parts.data);
    d->parts.data[d->parts.count++] = text->p;
    *text = (rlf_buf){0};
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

/* Has the last step reported it? One that is no number is reported, too. */
static bool
is_reported(const rlf_session *s, const char *name, double *x)
{
    *x = rlf_session_metric(s, name);
    return !isnan(*x) || !*rlf_session_why(s);
}

static void
add_metric(rlf_display *d, const char *name)
{
    double x;
    rlf_buf text = {0};
    if (!is_reported(d->session, name, &x))
        return;
    if (isnan(x)) /* a sign of it means nothing */
        rlf_buf_printf(&text, "%s nan", name);
    else
        rlf_buf_printf(&text, "%s %.4g", name, x);
    add_part(d, &text);
}

/* The time of the steps that are left, if they are like those of this process
 * so far, of which the present one has taken a part. If it already takes longer
 * than they did, what is left of it is not known: nothing, where it is the last
 * one. */
static void
put_left(const rlf_display *d, rlf_buf *out)
{
    double done = (double)(d->step - d->first);
    double more = (double)(d->wanted - d->step), now = rlf_cmd_now();
    double taken = now - d->since, all = now - d->start;
    double each = (all - taken) / done;
    double left = each * more - taken;
    if (taken > each)
        left = all / (done + 1) * (more - 1);
    if (taken > each && more < 2)
        return;
    rlf_buf_puts(out, "left ");
    put_time(left, out);
}

static void
add_left(rlf_display *d)
{
    rlf_buf text = {0};
    if (!d->terminal || d->wanted <= d->step || d->step <= d->first)
        return;
    put_left(d, &text);
    d->left = d->parts.count;
    add_part(d, &text);
}

/* The line of a step stands there while the next one is at work. */
static void
renew_left(rlf_display *d)
{
    rlf_buf text = {0};
    if (!d->left)
        return;
    put_left(d, &text);
    rlf_buf_puts(&text, "");
    free(d->parts.data[d->left]);
    d->parts.data[d->left] = text.p;
}

/* Adds the metrics of one rank, in the order of the program. */
static void
add_metrics(rlf_display *d, int rank)
{
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(d->session, i)); i++)
        if (rlf_cmd_metric_rank(name) == rank)
            add_metric(d, name);
}

/* The parts that a narrow terminal has room for come first: step, reward, the
 * time left; then the other metrics. */
static void
make_parts(rlf_display *d)
{
    const rlf_info *info = rlf_session_info(d->session);
    rlf_buf text = {0};
    clear_parts(d);
    d->step = rlf_session_steps(d->session);
    d->wanted = rlf_session_steps_wanted(d->session);
    rlf_buf_printf(&text, "step %" PRIu64, d->step);
    if (d->wanted)
        rlf_buf_printf(&text, "/%" PRIu64, d->wanted);
    add_part(d, &text);
    add_metrics(d, 0);
    add_left(d);
    for (int rank = 1; rank < RLF_CMD_METRIC_RANKS; rank++)
        add_metrics(d, rank);
    if (d->step == d->first)
        return; /* no step yet */
    if (info->step_tokens && info->step_seconds > 0) {
        rlf_buf_printf(&text, "%.0f tok/s",
                       (double)info->step_tokens / info->step_seconds);
        add_part(d, &text);
    }
    rlf_buf_printf(&text, "%.2f s", info->step_seconds);
    add_part(d, &text);
}

/* All parts as lines; on a terminal none is broken, as long as each is as wide
 * as that at most. */
static void
put_parts(const rlf_display *d, rlf_buf *out)
{
    size_t wide = d->terminal ? rlf_cmd_columns(STDOUT_FILENO) : 0, at = 0;
    for (size_t i = 0; i < d->parts.count; i++) {
        size_t n = strlen(d->parts.data[i]);
        if (!n)
            continue;
        bool breaks = at && wide && at + 2 + n > wide;
        rlf_buf_puts(out, breaks ? "\n" : "");
        rlf_buf_printf(out, "%s%s", at ? "  " : "", d->parts.data[i]);
        at = (breaks ? 0 : at) + (at ? 2 : 0) + n;
    }
}

/* ---- the live line ---- */

static size_t
columns(void)
{
    size_t columns = rlf_cmd_columns(STDOUT_FILENO);
    return columns > 1 ? columns - 1 : 79;
}

/* Does the terminal break a line that has become too long into several? Others
 * cut it, and there the lines above are of something else. */
static bool
does_reflow(void)
{
    static const char *const marks[] = {"TMUX",
                                        "VTE_VERSION",
                                        "KITTY_WINDOW_ID",
                                        "KONSOLE_VERSION",
                                        "ALACRITTY_WINDOW_ID",
                                        "WT_SESSION"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *is = getenv(marks[i]);
        if (is && *is)
            return true;
    }
    return false;
}

static void
clear_live(rlf_display *d)
{
    size_t now = rlf_cmd_columns(STDOUT_FILENO);
    if (d->live && d->reflows && now && d->wide)
        for (size_t i = (d->wide - 1) / now; i > 0; i--)
            fputs("\r\033[K\033[A", stdout);
    if (d->live)
        fputs("\r\033[K", stdout);
    d->live = false;
}

/* The node at work and the seconds that the step has taken; nothing in a step
 * that is short. */
static void
put_doing(const rlf_display *d, rlf_buf *out)
{
    char words[96] = "opening models and data";
    double seconds = rlf_cmd_now() - d->since;
    if (d->ready)
        rlf_session_doing(d->session, words, sizeof words);
    if (seconds >= brief && *words)
        rlf_buf_printf(out, "%s %.0f s", words, seconds);
    else if (seconds >= brief)
        rlf_buf_printf(out, "%.0f s", seconds);
}

/* Whole parts, as many as the terminal is wide, but for those that have nothing
 * to say; what is done now stands after
 * the first three, dimmed where there are colours. */
static void
put_live(rlf_display *d)
{
    size_t wide = columns(), at = 0, head = d->parts.count < 3 ? 0 : 3;
    rlf_buf doing = {0}, line = {0};
    put_doing(d, &doing);
    renew_left(d);
    if (!head)
        head = d->parts.count;
    for (size_t i = 0; i <= d->parts.count; i++) {
        if (i == head && doing.n && at + 2 + doing.n <= wide) {
            rlf_buf_printf(&line, "%s%s%s%s", at ? "  " : "",
                           d->color ? "\033[2m" : "", doing.p,
                           d->color ? "\033[0m" : "");
            at += doing.n + 2;
        }
        if (i < d->parts.count && !*d->parts.data[i])
            continue;
        size_t n = i < d->parts.count ? strlen(d->parts.data[i]) + 2 : 0;
        if (!n || at + n > wide + 2)
            break;
        bool bold = d->color && i == 1;
        rlf_buf_printf(&line, "%s%s%s%s", at ? "  " : "", bold ? "\033[1m" : "",
                       d->parts.data[i], bold ? "\033[0m" : "");
        at += n;
    }
    clear_live(d);
    if (line.n) {
        fputs(line.p, stdout);
        d->live = true;
        d->wide = at >= 2 ? at - 2 : at;
    }
    fflush(stdout);
    rlf_buf_free(&doing);
    rlf_buf_free(&line);
}

static void *
keep_true(void *arg)
{
    rlf_display *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->closing) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&d->wake, &d->lock, &until) == ETIMEDOUT &&
            rlf_cmd_now() - d->since >= brief)
            put_live(d);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- what else is said meanwhile ---- */

static void
say_log(void *arg, int level, const char *line)
{
    rlf_display *d = arg;
    (void)level;
    pthread_mutex_lock(&d->lock);
    clear_live(d);
    fflush(stdout);
    rlf_cmd_put_log(line);
    pthread_mutex_unlock(&d->lock);
}

/* A terminal's own signals are caught by the thread that trains. */
static bool
start_thread(rlf_display *d)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = pthread_create(&d->thread, NULL, keep_true, d) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return made;
}

rlf_display *
rlf_display_open(rlf_session *session, bool quiet)
{
    rlf_display *d = rlf_calloc(1, sizeof *d);
    d->session = session;
    d->quiet = quiet || !rlf_session_info(session)->leads;
    /* some launchers give a terminal to a program that writes to a pipe */
    d->terminal = !d->quiet && isatty(STDOUT_FILENO) && !rlf_launcher(NULL);
    d->color = d->terminal && rlf_cmd_colors(STDOUT_FILENO);
    d->reflows = does_reflow();
    d->since = rlf_cmd_now();
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    if (!d->terminal)
        return d;
    rlf_session_log(session, say_log, d);
    d->ticks = start_thread(d);
    return d;
}

/* Prints that a resume has nothing left to do. */
static void
say_done(const rlf_display *d, const rlf_info *info)
{
    uint64_t step = rlf_session_steps(d->session);
    uint64_t wanted = rlf_session_steps_wanted(d->session);
    if (!info->resumes || !step)
        return;
    if (info->ended)
        printf("nothing is left to do: its break has ended the run after step "
               "%" PRIu64 "\n",
               step);
    else if (wanted && step >= wanted)
        printf("nothing is left to do: the run ends after step %" PRIu64
               ", and %" PRIu64 " %s done; --steps with a number above %" PRIu64
               " goes on\n",
               wanted, step, step == 1 ? "is" : "are", step);
}

static void
say_start(rlf_session *s)
{
    const rlf_info *info = rlf_session_info(s);
    uint64_t wanted = rlf_session_steps_wanted(s);
    bool anew = info->resumes && !info->resumed;
    if (info->killed && anew)
        rlf_cmd_line(
            "the run before was killed: %s; it left no checkpoint in %s, so "
            "this one starts from the beginning\n",
            info->killed, info->directory);
    else if (info->killed)
        rlf_cmd_line("the run before was killed: %s\n", info->killed);
    if (info->resumed)
        rlf_cmd_line("resumed after step %" PRIu64 " from %s\n", info->resumed,
                     info->directory);
    else if (anew && !info->killed)
        rlf_cmd_line("%s has no checkpoint: starting from the beginning\n",
                     info->directory);
    rlf_cmd_line("%s: %s", info->path, info->name);
    if (wanted)
        rlf_cmd_line(", %" PRIu64 " step%s", wanted, wanted == 1 ? "" : "s");
    rlf_cmd_line(", seed %" PRIu64 ", in %s\n", info->seed, info->directory);
    rlf_cmd_put(s, RLF_TEXT_PROMISE);
    rlf_cmd_notes(s);
}

void
rlf_display_ready(rlf_display *d)
{
    pthread_mutex_lock(&d->lock);
    clear_live(d);
    d->ready = true;
    d->start = d->since = rlf_cmd_now();
    d->first = rlf_session_info(d->session)->resumed;
    rlf_cmd_warn(d->session);
    rlf_cmd_warnings(d->session);
    if (!d->quiet) {
        say_start(d->session);
        say_done(d, rlf_session_info(d->session));
        rlf_display_flush(d->session);
        make_parts(d);
    }
    pthread_mutex_unlock(&d->lock);
}

static size_t
count_metrics(const rlf_session *s)
{
    size_t n = 0;
    double x;
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(s, i)); i++)
        n += is_reported(s, name, &x) ? 1 : 0;
    return n;
}

/* On a terminal the line of a step replaces the one before, unless the step
 * reported more than that one did (an evaluation): such a line stays. */
void
rlf_display_step(rlf_display *d)
{
    pthread_mutex_lock(&d->lock);
    clear_live(d);
    rlf_cmd_warnings(d->session);
    if (d->quiet) {
        pthread_mutex_unlock(&d->lock);
        return;
    }
    size_t metrics = count_metrics(d->session);
    d->stays = !d->terminal || metrics > d->shown;
    d->shown = metrics;
    d->since = rlf_cmd_now();
    make_parts(d);
    if (d->stays) {
        rlf_buf line = {0};
        clear_live(d);
        put_parts(d, &line);
        printf("%s\n", line.p);
        rlf_display_flush(d->session);
        rlf_buf_free(&line);
    } else
        put_live(d);
    pthread_mutex_unlock(&d->lock);
}

void
rlf_display_close(rlf_display *d)
{
    if (d->ticks) {
        pthread_mutex_lock(&d->lock);
        d->closing = true;
        pthread_cond_signal(&d->wake);
        pthread_mutex_unlock(&d->lock);
        pthread_join(d->thread, NULL);
    }
    if (d->live && d->ready && !d->stays) { /* the last step's, whole */
        rlf_buf line = {0};
        clear_live(d);
        put_parts(d, &line);
        printf("%s\n", line.p);
        rlf_buf_free(&line);
    }
    clear_live(d);
    fflush(stdout);
    if (d->terminal)
        rlf_session_log(d->session, NULL, NULL);
    clear_parts(d);
    free(d->parts.data);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->wake);
    free(d);
}
