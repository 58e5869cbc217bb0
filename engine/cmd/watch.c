/* rlflow watch: the directory of a run on a terminal, while it goes on: curves,
 * times, what is worth a look, the last samples, the plan. Nothing in the
 * directory is changed, so that of another machine may be watched, or a copy
 * that is brought up to date now and then. */
#define _GNU_SOURCE // strcasestr
#include "engine/cmd/chart.h"
#include "engine/cmd/cmd.h"
#include "engine/cmd/times.h"

#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
    PERIOD = 1000, /* milliseconds from look to look */
    CELL = 36,     /* columns of a curve at least */
    CURVE = 3,     /* lines of a curve */
    RECENT = 10,   /* steps whose times are told */
    WIDE = 80,     /* columns where there is no terminal */
    TALL = 48,     /* and lines */
    SMALL = 12,    /* lines that have no room for curves */
    BESIDE = 22,   /* columns beside the bar of a rank */
};

typedef struct screen {
    int columns, lines;
    bool colors;
    bool ascii; /* it shows no other letters */
    rlf_buf out;
    int used; /* lines of `out` */
} screen;

static volatile sig_atomic_t stopped;

static void
stop(int number)
{
    stopped = number;
}

/* ---- lines ---- */

/* Ends a line, cut to the screen by who wrote it. */
static void
end_line(screen *s)
{
    rlf_buf_puts(&s->out, s->colors ? "\033[0m\033[K\n" : "\n");
    s->used++;
}

static void
style(screen *s, const char *code)
{
    if (s->colors)
        rlf_buf_printf(&s->out, "\033[%sm", code);
}

/* Appends a text, shown in so many columns at most, and returns how many it
 * takes: a letter a column, which is right of most texts. */
static int
put_cut(screen *s, const char *text, size_t n, int most)
{
    rlf_buf shown = {0};
    int used = 0;
    rlf_buf_shown(&shown, text, n);
    for (size_t at = 0; at < shown.n && most > 0;) {
        size_t length = rlf_str_utf8(shown.p + at, shown.n - at);
        length = length ? length : 1;
        if (used == most - 1 && at + length < shown.n) {
            rlf_buf_puts(&s->out, s->ascii ? "~" : "\xe2\x80\xa6");
            used++;
            break;
        }
        if (shown.p[at] == '\n')
            rlf_buf_putc(&s->out, ' ');
        else if (s->ascii && length > 1)
            rlf_buf_putc(&s->out, '?');
        else
            rlf_buf_add(&s->out, shown.p + at, length);
        at += length;
        used++;
    }
    rlf_buf_free(&shown);
    return used;
}

/* Puts a text on so many lines at most, broken between words. */
static void
put_wrapped(screen *s, const char *text, const char *code, int lines)
{
    size_t n = strlen(text), wide = (size_t)s->columns;
    for (; n && lines > 0; lines--) {
        size_t take = n;
        if (n > wide && lines > 1) {
            for (take = wide; take > wide / 2 && text[take] != ' ';)
                take--;
            take = text[take] == ' ' ? take : wide;
        }
        style(s, code);
        put_cut(s, text, take, s->columns);
        end_line(s);
        while (take < n && text[take] == ' ')
            take++;
        text += take;
        n -= take;
    }
}

static void
put_title(screen *s, const char *title)
{
    end_line(s);
    style(s, "1");
    put_cut(s, title, strlen(title), s->columns);
    end_line(s);
}

/* ---- what is shown ---- */

/* How far the run is, and how long it goes on. */
static void
put_steps(rlf_record *r, const rlf_recorded_run *run, rlf_buf *out)
{
    rlf_buf_printf(out, "step %" PRIu64, run->step);
    if (run->steps)
        rlf_buf_printf(out, " of %" PRIu64, run->steps);
    const rlf_recorded_metric *m = rlf_record_metric_called(r, "seconds");
    if (m && m->n && run->steps > run->step && run->state == RLF_RUN_GOES_ON) {
        double left = m->value[m->n - 1] * (double)(run->steps - run->step);
        if (isfinite(left))
            rlf_buf_printf(out, "  %02.0f:%02.0f:%02.0f left",
                           floor(left / 3600), fmod(floor(left / 60), 60),
                           fmod(floor(left), 60));
    }
}

/* Where there is no room for all, the directory is what is cut. */
static void
put_head(screen *s, rlf_record *r)
{
    const rlf_recorded_run *run = rlf_record_run(r);
    rlf_buf steps = {0}, text = {0};
    put_steps(r, run, &steps);
    rlf_buf_printf(&text, "%s  %s  %s  %s", run->directory,
                   run->program ? run->program : "", run->state_text, steps.p);
    if (text.n > (size_t)s->columns) {
        rlf_buf_clear(&text);
        rlf_buf_printf(&text, "%s  %s  %s", steps.p, run->state_text,
                       run->directory);
    }
    style(s, "1");
    put_cut(s, text.p, text.n, s->columns);
    end_line(s);
    if (run->why) {
        style(s, "31");
        put_cut(s, run->why, strlen(run->why), s->columns);
        end_line(s);
    }
    rlf_buf_free(&steps);
    rlf_buf_free(&text);
}

/* Curves are of what the program reports, not of times and numbers of tokens,
 * which stand elsewhere. */
static bool
is_curve(const rlf_recorded_metric *m)
{
    return strncmp(m->name, "seconds", 7) != 0 &&
           strcmp(m->name, "tokens") != 0;
}

/* The i-th curve, those first that somebody wants to see. */
static const rlf_recorded_metric *
curve_at(rlf_record *r, int i)
{
    const rlf_recorded_metric *m;
    for (int rank = 0; rank < RLF_CMD_METRIC_RANKS; rank++)
        for (size_t k = 0; (m = rlf_record_metric(r, k)); k++)
            if (is_curve(m) && rlf_cmd_metric_rank(m->name) == rank &&
                i-- == 0)
                return m;
    return NULL;
}

static int
count_curves(rlf_record *r)
{
    const rlf_recorded_metric *m;
    int n = 0;
    for (size_t k = 0; (m = rlf_record_metric(r, k)); k++)
        n += is_curve(m);
    return n;
}

/* A part of the line of a row of curves, `part` 0 the names, then the curves.
 */
static void
put_cell(screen *s, const rlf_recorded_metric *m, int part, int wide)
{
    double least = 0, most = 0;
    if (part > 0) {
        style(s, "36");
        rlf_chart_line(m->value, m->n, wide - 2, CURVE, part - 1, s->ascii,
                       &s->out);
        style(s, "0");
        rlf_buf_puts(&s->out, "  ");
        return;
    }
    rlf_buf range = {0};
    bool finite = m->n && isfinite(m->value[m->n - 1]);
    if (finite)
        rlf_buf_printf(&range, " %.4g", m->value[m->n - 1]);
    else
        rlf_buf_puts(&range, " not finite");
    size_t last = range.n;
    if (rlf_chart_range(m->value, m->n, &least, &most))
        rlf_buf_printf(&range, "  %.3g to %.3g", least, most);
    if (range.n + strlen(m->name) > (size_t)wide - 2)
        range.n = last; /* the range is what there is no room for */
    style(s, "1");
    int used = put_cut(s, m->name, strlen(m->name), wide - 2 - (int)range.n);
    style(s, "0");
    used += put_cut(s, range.p ? range.p : "", range.n, wide - 2 - used);
    rlf_buf_printf(&s->out, "%*s", wide - used, "");
    rlf_buf_free(&range);
}

/* Shows curves from number `first` on, as many as there is room for; how many
 * these are. */
static int
put_curves(screen *s, rlf_record *r, int first, int room)
{
    int across = s->columns / CELL > 0 ? s->columns / CELL : 1,
        wide = s->columns / across, shown = 0;
    while (room >= CURVE + 1 && curve_at(r, first + shown)) {
        for (int part = 0; part <= CURVE; part++) {
            for (int k = 0; k < across; k++) {
                const rlf_recorded_metric *m = curve_at(r, first + shown + k);
                if (m)
                    put_cell(s, m, part, wide);
            }
            end_line(s);
        }
        shown += across;
        room -= CURVE + 1;
    }
    return shown;
}

static void
put_value(screen *s, const rlf_recorded_metric *m)
{
    put_cell(s, m, 0, s->columns);
    end_line(s);
}

/* Shows the last values alone, where there is no room for a curve: the reward,
 * then the others from number `first` on. */
static int
put_values(screen *s, rlf_record *r, int first)
{
    int shown = 0;
    const rlf_recorded_metric *m = rlf_record_metric_called(r, "reward");
    if (m && s->used < s->lines - 1)
        put_value(s, m);
    for (; s->used < s->lines - 1 && (m = curve_at(r, first + shown)); shown++)
        if (strcmp(m->name, "reward") != 0)
            put_value(s, m);
    return shown;
}

/* Parts of a step, `share` of each, in so many columns. */
static void
put_bar(screen *s, const double *share, int columns)
{
    double sum = 0, all = 0;
    for (int k = 0; k < RLF_TIME_PARTS; k++)
        all += share[k];
    for (int k = 0, at = 0; k < RLF_TIME_PARTS && all > 0; k++) {
        sum += share[k];
        int to = (int)lround(sum / all * columns);
        style(s, rlf_time_parts[k].color);
        for (; at < to; at++)
            rlf_buf_putc(&s->out, s->colors ? ' ' : rlf_time_parts[k].letter);
    }
    style(s, "0");
}

/* "rank 3 [bar]  77 % busy". */
static void
put_rank(screen *s, const rlf_rank_seconds *time)
{
    char name[32];
    snprintf(name, sizeof name, "rank %" PRIu64, time->rank);
    rlf_buf_printf(&s->out, "%-9s", name);
    put_bar(s, time->seconds, s->columns - BESIDE);
    rlf_buf_printf(&s->out, " %3.0f %% busy",
                   time->all > 0 ? 100 * time->busy / time->all : 0);
    end_line(s);
}

/* A bar a rank, the busiest first; of many those at both ends. */
static void
put_ranks(screen *s, const rlf_rank_seconds *times, size_t n)
{
    enum { MOST = 8 };
    size_t ends = n > MOST ? MOST / 2 : n;
    if (s->columns < 2 * BESIDE)
        return;
    for (size_t i = 0; i < ends; i++)
        put_rank(s, &times[i]);
    if (n <= MOST)
        return;
    rlf_buf_printf(&s->out, "... of %zu ranks", n);
    end_line(s);
    for (size_t i = n - ends; i < n; i++)
        put_rank(s, &times[i]);
}

/* What the last steps took, of a run that has not recorded its ranks: waiting
 * is in all parts. */
static rlf_rank_seconds
times_of_metrics(rlf_record *r)
{
    rlf_rank_seconds mean = {0};
    for (int i = 0; i < RLF_TIME_PARTS; i++) {
        char name[40];
        snprintf(name, sizeof name, "seconds.%s", rlf_time_parts[i].name);
        const rlf_recorded_metric *m = rlf_record_metric_called(r, name);
        size_t n = m ? m->n < RECENT ? m->n : RECENT : 0;
        for (size_t k = 0; k < n; k++)
            if (isfinite(m->value[m->n - 1 - k]))
                mean.seconds[i] += m->value[m->n - 1 - k] / (double)n;
        mean.all += mean.seconds[i];
    }
    return mean;
}

/* Means over the last steps of the seconds of a step and of its parts. */
static void
put_times(screen *s, rlf_record *r)
{
    size_t n;
    rlf_rank_seconds *times = rlf_rank_times_read(r, RECENT, &n);
    rlf_rank_seconds mean =
        times ? rlf_rank_times_mean(times, n) : times_of_metrics(r);
    rlf_buf text = {0};
    rlf_buf_printf(&text, "%.3g s a step:", mean.all);
    const char *between = " ";
    for (int i = 0; i < RLF_TIME_PARTS; i++) {
        if (!(mean.seconds[i] >= 0.005 * mean.all))
            continue;
        rlf_buf_printf(&text, "%s%s %.0f %%", between, rlf_time_parts[i].name,
                       100 * mean.seconds[i] / mean.all);
        between = ", ";
    }
    if (mean.all > 0)
        put_title(s, text.p);
    rlf_buf_free(&text);
    if (n > 1) {
        put_ranks(s, times, n);
    } else if (mean.all > 0) {
        put_bar(s, mean.seconds, s->columns - 1);
        end_line(s);
    }
    free(times);
}

static void
put_findings(screen *s, rlf_record *r)
{
    const rlf_recorded_finding *f;
    size_t n = 0;
    while (rlf_record_finding(r, n))
        n++;
    if (!n)
        return;
    put_title(s, "worth a look");
    for (size_t i = n > 3 ? n - 3 : 0; (f = rlf_record_finding(r, i)); i++)
        put_wrapped(s, f->text, "33", n < 3 ? 3 : 2);
}

/* Is it 1 for every hook that gave a number, as nearly all do? */
static bool
is_usual(const char *name, double x)
{
    size_t n = strlen(name);
    return x == 1 && (strcmp(name, "finished") == 0 ||
                      (n > 3 && strcmp(name + n - 3, ".ok") == 0));
}

/* Are there samples of another set than this one in the same step? */
static bool
has_other_set(rlf_record *r, uint64_t i)
{
    const rlf_recorded_sample *s = rlf_record_sample(r, i);
    uint64_t step = s->step, n = rlf_record_run(r)->samples;
    char *set = strdup(s->set);
    bool other = false;
    while (n && !other && (s = rlf_record_sample(r, --n))->step == step)
        other = set && strcmp(s->set, set) != 0;
    free(set);
    return other;
}

/* Shows the last samples, two lines each, with the set that they are of where a
 * step has several: an evaluation's are no training. */
static void
put_samples(screen *s, rlf_record *r, int most)
{
    uint64_t n = rlf_record_run(r)->samples;
    if (!n || most < 1)
        return;
    put_title(s, "last samples");
    uint64_t from = n > (uint64_t)most ? n - (uint64_t)most : 0;
    for (uint64_t i = from; i < n; i++) {
        const char *name;
        rlf_buf numbers = {0};
        if (has_other_set(r, i))
            rlf_buf_printf(&numbers, "  of %s", rlf_record_sample(r, i)->set);
        for (size_t k = 0; (name = rlf_record_column_name(r, k)); k++) {
            double x = rlf_record_number(r, i, k);
            if (!isnan(x) && !is_usual(name, x))
                rlf_buf_printf(&numbers, "  %s %.4g", name, x);
        }
        static const rlf_sample_text which[] = {RLF_SAMPLE_PROMPT,
                                                RLF_SAMPLE_RESPONSE};
        for (int k = 0; k < 2; k++) {
            size_t length;
            const char *text = rlf_record_text(r, i, which[k], &length);
            rlf_buf_puts(&s->out, k ? "  > " : "");
            int used = put_cut(s, text ? text : "", text ? length : 0,
                               k ? s->columns * 2 / 3 - 4 : s->columns);
            style(s, "2");
            if (k)
                put_cut(s, numbers.p ? numbers.p : "", numbers.n,
                        s->columns - 4 - used);
            end_line(s);
        }
        rlf_buf_free(&numbers);
    }
}

/* Shows the rows of the place block. */
static void
put_plan(screen *s, rlf_record *r, int room)
{
    size_t n;
    const char *text = rlf_record_file_text(r, "plan.rlf", &n);
    text = text ? strstr(text, "place {") : NULL;
    if (!text || room < 4)
        return;
    put_title(s, "plan");
    room -= 3;
    for (text += strcspn(text, "\n"); *text && room > 0; room--) {
        text++;
        size_t length = strcspn(text, "\n");
        if (*text == '}')
            break;
        put_cut(s, text, length, s->columns);
        end_line(s);
        text += length;
    }
}

/* All of it. `first`: the number of the first curve; how many curves there
 * were. */
static int
draw(screen *s, rlf_record *r, int first)
{
    rlf_buf_clear(&s->out);
    s->used = 0;
    put_head(s, r);
    if (s->lines < SMALL)
        return put_values(s, r, first);
    end_line(s);
    int samples = s->lines >= 40 ? 4 : s->lines >= 24 ? 2 : 0;
    screen below = {.columns = s->columns,
                    .lines = s->lines,
                    .colors = s->colors,
                    .ascii = s->ascii};
    put_times(&below, r);
    if (s->lines >= 40)
        put_findings(&below, r);
    put_samples(&below, r, samples);
    /* the last line tells of keys */
    int shown =
        put_curves(s, r, first, s->lines - s->used - below.used - 1);
    rlf_buf_add(&s->out, below.out.p ? below.out.p : "", below.out.n);
    s->used += below.used;
    rlf_buf_free(&below.out);
    put_plan(s, r, s->lines - s->used - 1);
    return shown;
}

/* ---- the terminal ---- */

static void
measure(screen *s)
{
    struct winsize size = {0};
    s->columns = WIDE;
    s->lines = TALL;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
        size.ws_row > 0) {
        s->columns = size.ws_col;
        s->lines = size.ws_row;
    }
}

/* Prints so many lines at most. */
static void
show(const screen *s, int most)
{
    size_t n = 0;
    for (int lines = 0; n < s->out.n && lines < most; n++)
        lines += s->out.p[n] == '\n';
    fwrite(s->out.p ? s->out.p : "", 1, n, stdout);
    fflush(stdout);
}

/* Does the locale, where one is named, or the terminal have no letters but
 * those of ASCII? */
static bool
is_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *term = getenv("TERM");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *is = getenv(names[i]);
        if (is && *is)
            return !strcasestr(is, "utf-8") && !strcasestr(is, "utf8");
    }
    return term && strcmp(term, "dumb") == 0 && isatty(STDOUT_FILENO);
}

/* Has the run come to an end of its own? */
static bool
has_ended(const rlf_recorded_run *run)
{
    return run->state >= RLF_RUN_DONE && run->state != RLF_RUN_COPIED;
}

/* Waits for a key; 0: none came. */
static char
key(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char bytes[8];
    if (poll(&in, 1, PERIOD) <= 0)
        return 0;
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0)
        return 'q'; /* the terminal is gone */
    if (n >= 3 && bytes[0] == '\033')
        return bytes[2] == 'B' || bytes[2] == 'C' || bytes[2] == '6' ? 'n'
                                                                     : 'p';
    return bytes[0];
}

/* The last line: the keys, as far as there is room. */
static void
put_keys(const screen *s, int first, int shown, int n)
{
    char others[96] = "";
    if (n > shown)
        snprintf(others, sizeof others,
                 ", n and p show other curves: these are %d to %d of %d",
                 first + 1, first + shown < n ? first + shown : n, n);
    printf("\033[0m\033[J\033[%d;1H\033[2m%.*s%.*s\033[0m\033[K", s->lines,
           s->columns - 1, "q ends", s->columns > 7 ? s->columns - 7 : 0,
           others);
}

/* Looks again and again, until a key or a signal says that it is enough, or the
 * run has ended. */
static void
watch(screen *s, rlf_record *r)
{
    int first = 0, shown = 0;
    char pressed = 0;
    while (!stopped && pressed != 'q') {
        const rlf_recorded_run *run = rlf_record_run(r);
        measure(s);
        shown = draw(s, r, first);
        fputs("\033[H", stdout);
        show(s, s->lines > 1 ? s->lines - 1 : 1);
        if (s->lines > 1)
            put_keys(s, first, shown, count_curves(r));
        fflush(stdout);
        if (has_ended(run))
            break;
        pressed = key();
        if (pressed == 'n' && curve_at(r, first + shown))
            first += shown;
        if (pressed == 'p')
            first = first > shown ? first - shown : 0;
        if (rlf_record_refresh(r) != RLF_RESULT_OK)
            break;
    }
}

/* On a screen of its own, after which the last look stays. */
static void
watch_terminal(screen *s, rlf_record *r)
{
    struct termios before, raw;
    struct sigaction action = {.sa_handler = stop};
    bool keys = tcgetattr(STDIN_FILENO, &before) == 0;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    if (keys) {
        raw = before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    fputs("\033[?1049h\033[?25l", stdout);
    watch(s, r);
    fputs("\033[?25h\033[?1049l", stdout);
    if (keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
    show(s, INT32_MAX);
}

int
rlf_cmd_watch(const rlf_command_line *line)
{
    int status = 0;
    rlf_record *r = rlf_cmd_record(line->files[0], &status);
    if (!r)
        return status;
    screen s = {.colors = rlf_cmd_colors(STDOUT_FILENO), .ascii = is_ascii()};
    measure(&s);
    bool live = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO) && s.colors &&
                !has_ended(rlf_record_run(r));
    if (live) {
        watch_terminal(&s, r);
    } else {
        draw(&s, r, 0);
        show(&s, INT32_MAX);
    }
    if (rlf_record_status(r) != RLF_RESULT_OK) {
        rlf_cmd_put_message(rlf_record_message(r));
        status = rlf_cmd_status(rlf_record_status(r));
    }
    if (stopped && stopped != SIGINT)
        status = 128 + stopped;
    rlf_buf_free(&s.out);
    rlf_record_close(r);
    return status;
}
