/* rlflow samples: samples that a run has written, of a step, the best, the
 * worst, or those with a text. */
#define _GNU_SOURCE // memmem
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct chosen {
    uint64_t i; /* the sample in the record */
    double by;  /* the number that they are sorted by */
} chosen;

typedef struct choice {
    rlf_record *record;
    const rlf_command_line *line;
    uint64_t step; /* 0: all */
    const char *set, *find;
    int column;   /* by which they are sorted; -1: they are not */
    chosen *list; /* [fit] those that fit */
    uint64_t fit;
} choice;

static const char *
text_of(const choice *c, rlf_option option)
{
    const rlf_option_value *v = &c->line->options[option];
    return v->given ? v->text : NULL;
}

/* ---- what is asked for ---- */

static rlf_status
read_step(choice *c, rlf_err *err)
{
    const char *text = text_of(c, RLF_OPTION_STEP);
    uint64_t samples = rlf_record_run(c->record)->samples;
    if (!text) {
        if (samples && !c->find)
            c->step = rlf_record_sample(c->record, samples - 1)->step;
        return RLF_OK;
    }
    if (strcmp(text, "all") == 0)
        return RLF_OK;
    char *end;
    c->step = strtoull(text, &end, 10);
    if (*end || !c->step || *text == '-')
        return rlf_fail(err, RLF_USAGE,
                        "--step is '%s', neither the number of a step nor "
                        "'all'",
                        text);
    return RLF_OK;
}

static bool
holds(const choice *c, uint64_t i, rlf_sample_text which)
{
    size_t n, length = strlen(c->find);
    const char *p = rlf_record_text(c->record, i, which, &n);
    return p && memmem(p, n, c->find, length) != NULL;
}

/* Is the sample of the steps and sets that are asked for? */
static bool
is_there(const choice *c, uint64_t i)
{
    const rlf_recorded_sample *s = rlf_record_sample(c->record, i);
    return (!c->step || s->step == c->step) &&
           (!c->set || strcmp(s->set, c->set) == 0);
}

static bool
fits(const choice *c, uint64_t i)
{
    if (!is_there(c, i))
        return false;
    return !c->find || holds(c, i, RLF_SAMPLE_PROMPT) ||
           holds(c, i, RLF_SAMPLE_RESPONSE);
}

/* Does a sample that fits have a number in this column? */
static bool
is_filled(const choice *c, size_t column)
{
    uint64_t n = rlf_record_run(c->record)->samples;
    for (uint64_t i = 0; i < n; i++)
        if (!isnan(rlf_record_number(c->record, i, column)) && fits(c, i))
            return true;
    return false;
}

/* Finds the column of that name, or the first one that the program has made of
 * the samples which fit. */
static rlf_status
find_column(choice *c, const char *name, rlf_err *err)
{
    const char *word;
    rlf_buf all = {0};
    for (size_t i = 0; (word = rlf_record_column_name(c->record, i)); i++) {
        bool own = strcmp(word, "tokens") != 0 &&
                   strcmp(word, "finished") != 0 && strcmp(word, "lag") != 0;
        if (!is_filled(c, i))
            continue;
        if (name ? strcmp(word, name) == 0 : own) {
            c->column = (int)i;
            rlf_buf_free(&all);
            return RLF_OK;
        }
        rlf_buf_printf(&all, "%s%s", all.n ? ", " : "", word);
    }
    rlf_fail(err, RLF_USAGE,
             name ? "no sample has a number '%s'"
                  : "the program has made no number of these samples%s",
             name ? name : "");
    if (all.n)
        rlf_err_hint(err, "samples have %s", all.p);
    rlf_buf_free(&all);
    return RLF_USAGE;
}

static int
compare(const void *p, const void *q)
{
    const chosen *a = p, *b = q;
    if (a->by != b->by)
        return a->by < b->by ? -1 : 1;
    return (a->i > b->i) - (a->i < b->i);
}

static void
choose(choice *c, bool best)
{
    uint64_t n = rlf_record_run(c->record)->samples;
    c->list = rlf_calloc(n + 1, sizeof *c->list);
    for (uint64_t i = 0; i < n; i++) {
        chosen one = {.i = i};
        if (c->column >= 0) {
            one.by = rlf_record_number(c->record, i, (size_t)c->column);
            one.by = best ? -one.by : one.by;
        }
        if (isnan(one.by) || !fits(c, i))
            continue;
        c->list[c->fit++] = one;
    }
    qsort(c->list, c->fit, sizeof *c->list, compare);
}

/* ---- what is shown ---- */

/* A text in lines behind its name. */
static void
put_text(const char *name, const char *text, size_t n)
{
    for (size_t at = 0; at <= n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        rlf_buf line = {0};
        rlf_buf_shown(&line, text + at, length);
        printf("  %-9s %s\n", at ? "" : name, line.p ? line.p : "");
        rlf_buf_free(&line);
        at += length + 1;
    }
}

static void
put_part(rlf_record *r, uint64_t i, const char *name, rlf_sample_text which)
{
    size_t n;
    const char *text = rlf_record_text(r, i, which, &n);
    if (text && (n || which == RLF_SAMPLE_RESPONSE))
        put_text(name, text, n);
    else if (!text)
        put_text(name, "(it cannot be read any more)", 28);
}

/* Does the number say only that a hook gave one, as nearly always: "score.ok"
 * of 1 beside "score"? */
static bool
is_given(rlf_record *r, const char *name, double x)
{
    size_t n = strlen(name);
    if (x != 1 || n < 4 || strcmp(name + n - 3, ".ok") != 0)
        return false;
    const char *other;
    for (size_t k = 0; (other = rlf_record_column_name(r, k)); k++)
        if (strlen(other) == n - 3 && strncmp(other, name, n - 3) == 0)
            return true;
    return false;
}

static void
put_sample(rlf_record *r, uint64_t i)
{
    const rlf_recorded_sample *s = rlf_record_sample(r, i);
    const char *name;
    rlf_cmd_line("step %" PRIu64 ", sample %" PRIu64 " of %s\n", s->step,
                 s->sample, s->set);
    put_part(r, i, "prompt", RLF_SAMPLE_PROMPT);
    put_part(r, i, "response", RLF_SAMPLE_RESPONSE);
    put_part(r, i, "row", RLF_SAMPLE_ROW);
    rlf_buf line = {0};
    for (size_t k = 0; (name = rlf_record_column_name(r, k)); k++) {
        double x = rlf_record_number(r, i, k);
        if (!isnan(x) && !is_given(r, name, x))
            rlf_buf_printf(&line, "%s%s %.*g", line.n ? ", " : "", name,
                           fabs(x) < 1e-9 ? 2 : 6, x);
    }
    if (line.n)
        put_text("numbers", line.p, line.n);
    rlf_buf_free(&line);
    putchar('\n');
}

static void
put_line(rlf_record *r, uint64_t i)
{
    size_t n;
    const char *text = rlf_record_text(r, i, RLF_SAMPLE_LINE, &n);
    if (text)
        printf("%.*s\n", (int)n, text);
}

/* Says how many there were, unless all of them were shown. */
static void
put_rest(const choice *c, uint64_t shown, bool best)
{
    if (c->column >= 0)
        rlf_cmd_aside("%" PRIu64 " of %" PRIu64 ", by %s from the %s\n", shown,
                      c->fit,
                      rlf_record_column_name(c->record, (size_t)c->column),
                      best ? "highest" : "lowest");
    else if (shown < c->fit)
        rlf_cmd_aside("%" PRIu64 " of %" PRIu64 " (--rows shows more)\n", shown,
                      c->fit);
}

/* Says of how many samples those of these steps and sets were recorded, unless
 * all of them were. */
static void
put_recorded(const choice *c)
{
    uint64_t recorded = 0, sampled = 0, step = 0, of = 0;
    char *set = NULL;
    for (uint64_t i = 0; i < rlf_record_run(c->record)->samples; i++) {
        const rlf_recorded_sample *s = rlf_record_sample(c->record, i);
        if (!is_there(c, i))
            continue;
        if (!set || s->step != step || strcmp(s->set, set) != 0) {
            free(set);
            set = strdup(s->set);
            step = s->step;
            of = s->of;
            sampled += of;
        }
        recorded++;
        sampled += !of; /* it is not known of how many */
    }
    free(set);
    if (recorded < sampled)
        rlf_cmd_aside("%" PRIu64 " samples, %" PRIu64
                      " of them recorded; rlflow run --samples N records more\n",
                      sampled, recorded);
}

/* There are none: names the sets and the steps that there are. */
static rlf_status
fail_without(const choice *c, rlf_err *err)
{
    const rlf_recorded_run *run = rlf_record_run(c->record);
    uint64_t first = 0, last = 0;
    rlf_buf sets = {0}, seen = {0};
    for (uint64_t i = 0; i < run->samples; i++) {
        const rlf_recorded_sample *s = rlf_record_sample(c->record, i);
        first = i ? first : s->step;
        last = s->step;
        rlf_buf name = {0};
        rlf_buf_printf(&name, "\n%s\n", s->set);
        if (!seen.n || !strstr(seen.p, name.p)) {
            rlf_buf_puts(&seen, name.p);
            rlf_buf_printf(&sets, "%s'%s'", sets.n ? ", " : "", s->set);
        }
        rlf_buf_free(&name);
    }
    rlf_fail(err, RLF_USER, "%s has no such samples", run->directory);
    if (sets.n)
        rlf_err_hint(err,
                     "it has samples of the sets %s, of steps %" PRIu64
                     " to %" PRIu64,
                     sets.p, first, last);
    else
        rlf_err_hint(err, "it has no samples at all");
    rlf_buf_free(&sets);
    rlf_buf_free(&seen);
    return RLF_USER;
}

static rlf_status
show(choice *c, rlf_err *err)
{
    const rlf_option_value *o = c->line->options;
    bool best = o[RLF_OPTION_BEST].given,
         sorted = best || o[RLF_OPTION_WORST].given;
    uint64_t most = (uint64_t)o[best     ? RLF_OPTION_BEST
                                : sorted ? RLF_OPTION_WORST
                                         : RLF_OPTION_ROWS]
                        .number;
    RLF_TRY(read_step(c, err));
    if (sorted && !rlf_record_run(c->record)->samples)
        return fail_without(c, err);
    if (sorted)
        RLF_TRY(find_column(c, text_of(c, RLF_OPTION_BY), err));
    choose(c, best);
    if (!c->fit)
        return fail_without(c, err);
    uint64_t shown = c->fit < most ? c->fit : most;
    for (uint64_t k = 0; k < shown; k++)
        (o[RLF_OPTION_JSON].given ? put_line : put_sample)(c->record,
                                                           c->list[k].i);
    put_rest(c, shown, best);
    put_recorded(c);
    return RLF_OK;
}

int
rlf_cmd_samples(const rlf_command_line *line)
{
    int status = 0;
    rlf_err err = RLF_ERR_NONE;
    rlf_record *r = rlf_cmd_record(line->files[0], &status);
    if (!r)
        return status;
    choice c = {.record = r, .line = line, .column = -1};
    c.set = text_of(&c, RLF_OPTION_SET);
    c.find = text_of(&c, RLF_OPTION_FIND);
    if (show(&c, &err) < 0) {
        fflush(stdout);
        rlf_cmd_say(&err);
        status = err.status == RLF_USAGE ? 2 : 1;
    }
    free(c.list);
    rlf_record_close(r);
    return status;
}
