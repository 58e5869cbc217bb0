/* The display of a run: see display.h. */
#include "engine/cmd/display.h"

#include "engine/base/clock.h"
#include "engine/base/vec.h"
#include "engine/cmd/inside.h"

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

/* What begins and ends sooner than this many seconds is not named. */
static const double brief = 0.5;

struct rlf_display {
    rlf_session *session;
    bool quiet, terminal, color;
    bool ready;         /* the session's run is open */
    uint64_t start;     /* of the first step of this process */
    uint32_t first;     /* step before it */
    size_t shown;       /* metrics that the step before had */
    rlf_log_sink *sink; /* of the session's log, before */
    void *sink_arg;
    bool ticks; /* a thread keeps the live line true */
    pthread_t thread;
    pthread_mutex_t lock; /* of all that follows, and of the terminal */
    pthread_cond_t wake;
    bool closing;
    bool live;      /* a live line stands on the terminal */
    uint64_t since; /* the present step, or opening, began */
    struct {
        char **data; /* heap; the most important one first */
        size_t count, room;
    } parts;     /* of the line of the last step */
    size_t left; /* which of them says how long the run goes on; 0: none */
};

void
rlf_display_flush(const rlf_session *session)
{
    if (fflush(stdout) == 0 || errno != EPIPE)
        return;
    clearerr(stdout);
    if (freopen("/dev/null", "w", stdout))
        rlf_cmd_aside("nobody reads the output any more: the run goes on, its "
                      "metrics are in %s/metrics.jsonl\n",
                      session->options.directory);
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
    RLF_PUSH(&d->parts, text->p);
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

static void
add_metric(rlf_display *d, const char *name)
{
    double x = rlf_session_metric(d->session, name);
    rlf_buf text = {0};
    if (isnan(x))
        return;
    rlf_buf_printf(&text, "%s %.4g", name, x);
    add_part(d, &text);
}

/* What the steps that are left take if they are like those of this process so
 * far, of which the present one has taken a part. If it already takes longer
 * than they did, what is left of it is not known: nothing, where it is the last
 * one. */
static void
put_left(const rlf_display *d, rlf_buf *out)
{
    const rlf_session *s = d->session;
    uint64_t step = rlf_session_steps(s);
    double done = (double)(step - d->first), more = (double)(s->wanted - step);
    double taken = rlf_clock_since(d->since);
    double all = rlf_clock_since(d->start), each = (all - taken) / done;
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
    const rlf_session *s = d->session;
    uint64_t step = rlf_session_steps(s);
    rlf_buf text = {0};
    if (!d->terminal || s->wanted <= step || step <= d->first)
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

/* The metrics in the order of the program: those that it reports, or those
 * that updates report of themselves, whose names have a point. */
static void
add_metrics(rlf_display *d, bool own)
{
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(d->session, i)); i++)
        if ((strchr(name, '.') != NULL) == own && strcmp(name, "reward") != 0)
            add_metric(d, name);
}

/* What a narrow terminal has room for comes first: the step, the reward, the
 * time left; then the other metrics. */
static void
make_parts(rlf_display *d)
{
    const rlf_session *s = d->session;
    rlf_buf text = {0};
    clear_parts(d);
    rlf_buf_printf(&text, "step %" PRIu64, rlf_session_steps(s));
    if (s->wanted)
        rlf_buf_printf(&text, "/%" PRIu64, s->wanted);
    add_part(d, &text);
    add_metric(d, "reward");
    add_left(d);
    add_metrics(d, false);
    add_metrics(d, true);
    if (rlf_session_steps(s) == d->first)
        return; /* no step yet */
    if (s->tokens && s->step_seconds > 0) {
        rlf_buf_printf(&text, "%.0f tok/s",
                       (double)s->tokens / s->step_seconds);
        add_part(d, &text);
    }
    rlf_buf_printf(&text, "%.2f s", s->step_seconds);
    add_part(d, &text);
}

static void
put_parts(const rlf_display *d, rlf_buf *out)
{
    for (size_t i = 0; i < d->parts.count; i++)
        rlf_buf_printf(out, "%s%s", i ? "  " : "", d->parts.data[i]);
}

/* ---- the live line ---- */

static size_t
columns(void)
{
    size_t columns = rlf_cmd_columns(STDOUT_FILENO);
    return columns > 1 ? columns - 1 : 79;
}

static void
clear_live(rlf_display *d)
{
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
    double seconds = rlf_clock_since(d->since);
    if (d->ready)
        rlf_run_doing(d->session->run, words, sizeof words);
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
            rlf_clock_since(d->since) >= brief)
            put_live(d);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- what else is said meanwhile ---- */

static void
say_log(void *arg, rlf_log_level level, const char *line)
{
    rlf_display *d = arg;
    pthread_mutex_lock(&d->lock);
    clear_live(d);
    fflush(stdout);
    d->sink(d->sink_arg, level, line);
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
    d->quiet = quiet || !session->leads;
    /* some launchers give a terminal to a program that writes to a pipe */
    d->terminal = !d->quiet && isatty(STDOUT_FILENO) && !rlf_comm_launcher();
    d->color = d->terminal && rlf_cmd_colors(STDOUT_FILENO);
    d->since = rlf_clock_now();
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->wake, NULL);
    if (!d->terminal)
        return d;
    d->sink = session->log.sink;
    d->sink_arg = session->log.arg;
    session->log.sink = say_log;
    session->log.arg = d;
    d->ticks = start_thread(d);
    return d;
}

static void
say_warnings(rlf_display *d)
{
    if (!d->session->warnings.n)
        return;
    clear_live(d);
    fflush(stdout);
    rlf_buf all = {0};
    const char *text = rlf_session_warnings(d->session);
    while (*text) {
        int n = (int)strcspn(text, "\n");
        rlf_buf_printf(&all, "warning: %.*s\n", n, text);
        text += n + (text[n] == '\n');
    }
    rlf_cmd_put_message(all.p);
    rlf_buf_free(&all);
}

/* What a resume has left to do, if that is nothing. */
static void
say_done(const rlf_session *s)
{
    uint64_t step = rlf_session_steps(s);
    if (!s->options.resume || !step)
        return;
    if (rlf_run_ended(s->run))
        printf("nothing is left to do: its break has ended the run after step "
               "%" PRIu64 "\n",
               step);
    else if (s->wanted && step >= s->wanted)
        printf("nothing is left to do: the run ends after step %" PRIu64
               ", and %" PRIu64 " %s done; --steps with a number above %" PRIu64
               " goes on\n",
               s->wanted, step, step == 1 ? "is" : "are", step);
}

static void
say_start(rlf_session *s)
{
    bool anew = s->options.resume && !s->resumed;
    if (s->killed && anew)
        printf("the run before was killed: %s; it left no checkpoint in %s, so "
               "this one starts from the beginning\n",
               s->killed, s->options.directory);
    else if (s->killed)
        printf("the run before was killed: %s\n", s->killed);
    if (s->options.resume && s->resumed)
        printf("resumed after step %u from %s\n", s->resumed,
               s->options.directory);
    else if (anew && !s->killed)
        printf("%s has no checkpoint: starting from the beginning\n",
               s->options.directory);
    printf("%s: %s", s->path, s->graph->name);
    if (s->wanted)
        printf(", %" PRIu64 " steps", s->wanted);
    printf(", seed %" PRIu64 ", in %s\n", s->options.seed,
           s->options.directory);
    rlf_cmd_put_promise(s, "");
    rlf_cmd_notes(s);
    say_done(s);
    rlf_display_flush(s);
}

void
rlf_display_ready(rlf_display *d)
{
    pthread_mutex_lock(&d->lock);
    clear_live(d);
    d->ready = true;
    d->start = d->since = rlf_clock_now();
    d->first = d->session->resumed;
    rlf_cmd_warn(d->session);
    say_warnings(d);
    if (!d->quiet) {
        say_start(d->session);
        make_parts(d);
    }
    pthread_mutex_unlock(&d->lock);
}

static size_t
count_metrics(const rlf_session *s)
{
    size_t n = 0;
    const char *name;
    for (size_t i = 0; (name = rlf_session_metric_name(s, i)); i++)
        n += isnan(rlf_session_metric(s, name)) ? 0 : 1;
    return n;
}

/* On a terminal the line of a step replaces the one before, unless the step
 * reported more than that one did (an evaluation): such a line stays. */
void
rlf_display_step(rlf_display *d)
{
    pthread_mutex_lock(&d->lock);
    say_warnings(d);
    if (d->quiet) {
        pthread_mutex_unlock(&d->lock);
        return;
    }
    size_t metrics = count_metrics(d->session);
    bool stays = !d->terminal || metrics > d->shown;
    d->shown = metrics;
    d->since = rlf_clock_now();
    make_parts(d);
    if (stays) {
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
    if (d->live && d->ready) { /* the last step's, whole */
        rlf_buf line = {0};
        clear_live(d);
        put_parts(d, &line);
        printf("%s\n", line.p);
        rlf_buf_free(&line);
    }
    clear_live(d);
    fflush(stdout);
    if (d->session->log.arg == d) {
        d->session->log.sink = d->sink;
        d->session->log.arg = d->sink_arg;
    }
    clear_parts(d);
    RLF_VEC_FREE(&d->parts);
    pthread_mutex_destroy(&d->lock);
    pthread_cond_destroy(&d->wake);
    free(d);
}
