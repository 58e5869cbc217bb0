/* rlflow compare: in what two runs differ, and what came of it. */
#include "engine/cmd/cmd.h"
#include "engine/cmd/times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE = 34 }; /* columns of a value */

/* Is the value as short as its column? */
static bool
fits(const char *value)
{
    return !value || strlen(value) <= VALUE;
}

/* The two values of a name, whole: beside each other where both are short, or
 * where no terminal has to break the line; else below each other. */
static void
put_values(const char *a, const char *b)
{
    const char *values[] = {a ? a : "-", b ? b : "-"};
    bool below =
        rlf_cmd_columns(STDOUT_FILENO) > 0 && !(fits(a) && fits(b));
    for (size_t i = 0; i < 2; i++) {
        rlf_buf shown = {0};
        rlf_buf_line(&shown, "%s", values[i]);
        printf(below ? "\n    %-*s" : "  %-*s", below || i ? 0 : VALUE,
               shown.p ? shown.p : "");
        rlf_buf_free(&shown);
    }
    putchar('\n');
}

/* Lines of a program, those of one run alone in a colour. */
static void
put_lines(const char *name, const char *text)
{
    bool colors = rlf_cmd_colors(STDOUT_FILENO);
    rlf_cmd_line("program %s\n", name);
    while (*text) {
        size_t n = strcspn(text, "\n");
        rlf_buf line = {0};
        rlf_buf_shown(&line, text, n);
        const char *color = !colors        ? NULL
                            : *text == '-' ? "\033[31m"
                            : *text == '+' ? "\033[32m"
                                           : NULL;
        printf("  %s%s%s\n", color ? color : "", line.p ? line.p : "",
               color ? "\033[0m" : "");
        rlf_buf_free(&line);
        text += n + (text[n] == '\n');
    }
}

static size_t
put_differences(rlf_record *a, rlf_record *b)
{
    const rlf_recorded_difference *d;
    const char *kind = "";
    size_t i = 0;
    for (; (d = rlf_record_difference(a, b, i)); i++) {
        bool other = strcmp(kind, d->kind) != 0;
        kind = d->kind;
        if (other)
            putchar('\n');
        if (d->text) {
            put_lines(d->name, d->text);
            continue;
        }
        if (other)
            printf("%s%s%s\n", kind, strcmp(kind, "samples") == 0 ? "" : "s",
                   strcmp(kind, "metric") == 0
                       ? ", the mean of the last tenth of the steps that both "
                         "have (how many these are)"
                       : "");
        rlf_cmd_line("  %-26s", d->name);
        put_values(d->a, d->b);
    }
    return i;
}

/* Says that what differs has changed no number. */
static void
put_equal(rlf_record *a, rlf_record *b)
{
    const rlf_recorded_difference *d;
    uint64_t n = rlf_record_run(a)->step, m = rlf_record_run(b)->step;
    for (size_t i = 0; (d = rlf_record_difference(a, b, i)); i++)
        if (strcmp(d->kind, "metric") == 0 && strcmp(d->name, "steps") != 0)
            return;
    if (n && m)
        printf("\nall metrics of the %" PRIu64
               " steps that both have are equal, to the bit\n",
               n < m ? n : m);
}

static void
put_seconds(const char *name, double a, double b)
{
    rlf_cmd_line("  %-26s  %-*.4g  %-*.4g", name, VALUE, a, VALUE, b);
    if (a > 0 && b > 0)
        printf("  %.2f", b / a);
    putchar('\n');
}

/* What a step takes of each, as the mean of its ranks, and on the busiest of
 * them. It is no difference of what the runs compute. */
static void
put_times(rlf_record *a, rlf_record *b)
{
    size_t n, m;
    rlf_rank_seconds *x = rlf_rank_times_read(a, UINT64_MAX, &n);
    rlf_rank_seconds *y = rlf_rank_times_read(b, UINT64_MAX, &m);
    if (x && y) {
        rlf_rank_seconds of_a = rlf_rank_times_mean(x, n),
                         of_b = rlf_rank_times_mean(y, m);
        printf("\nseconds of a step, mean of %zu and %zu rank%s\n", n, m,
               m == 1 ? "" : "s");
        put_seconds("all", of_a.all, of_b.all);
        for (int i = 0; i < RLF_TIME_PARTS; i++)
            if (of_a.seconds[i] > 0 || of_b.seconds[i] > 0)
                put_seconds(rlf_time_parts[i].name, of_a.seconds[i],
                            of_b.seconds[i]);
        if (n > 1 || m > 1)
            put_seconds("busy, on the busiest rank", x[0].busy, y[0].busy);
    }
    free(x);
    free(y);
}

int
rlf_cmd_compare(const rlf_command_line *line)
{
    int status = 0;
    rlf_record *a = rlf_cmd_record(line->files[0], &status), *b = NULL;
    if (a && (b = rlf_cmd_record(line->files[1], &status))) {
        rlf_cmd_put_run(a);
        rlf_cmd_put_run(b);
        if (!put_differences(a, b))
            puts("\nthey do not differ");
        else
            put_equal(a, b);
        put_times(a, b);
    }
    rlf_record_close(a);
    rlf_record_close(b);
    return status;
}
