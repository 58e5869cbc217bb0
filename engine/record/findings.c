/* What in the numbers of a run is worth a look, with the steps of which it is
 * true. Each rule is a predicate on steps; where it holds for some steps one
 * after the other, that is one finding. The thresholds are those at which
 * people who train models begin to look. */
#include "engine/record/record.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    AT_LEAST = 3, /* steps one behind the other of which it has to be true */
    ENOUGH = 4,   /* samples of a step that a share is told of */
    GAP = 3,      /* steps of which it is not, between others: one finding, */
    PART = 4,     /* or so many of those before it to one */
    MOST = 20     /* findings of one rule and name */
};

/* A number for each of some steps, in ascending order. */
typedef struct series {
    const uint64_t *step;
    const double *value;
    size_t n;
} series;

static void
add(rlf_record *r, const char *kind, const char *name, uint64_t first,
    uint64_t last, const char *text)
{
    RLF_PUSH(&r->findings,
             (rlf_recorded_finding){.kind = kind,
                                    .name = rlf_arena_strdup(r->judged, name),
                                    .first = first,
                                    .last = last,
                                    .text = text});
}

/* "steps 3 to 9", of which `n` have the metric, and it is true of `count`. */
static const char *
steps_text(rlf_record *r, uint64_t first, uint64_t last, size_t n, size_t count)
{
    if (first == last)
        return rlf_arena_printf(r->judged, "step %" PRIu64, first);
    if (count < n)
        return rlf_arena_printf(r->judged,
                                "%zu of %zu steps from %" PRIu64 " to %" PRIu64,
                                count, n, first, last);
    return rlf_arena_printf(r->judged, "steps %" PRIu64 " to %" PRIu64, first,
                            last);
}

static double
mean(const double *x, size_t n)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i])) {
            sum += x[i];
            count++;
        }
    return count ? sum / (double)count : NAN;
}

/* Values from i on of one stretch in which is(s, i) holds, but for gaps of
 * `gap` or a part of what is before them at most, if `gap` is not 0; 0: none. */
static size_t
stretch(const series *s, size_t i, size_t gap,
        bool (*is)(const series *s, size_t i), size_t *true_ones)
{
    size_t n = 0;
    *true_ones = 0;
    for (size_t k = 0; i + k < s->n && k <= n + (gap && n / PART > gap ? n / PART : gap);
         k++)
        if (is(s, i + k)) {
            n = k + 1;
            ++*true_ones;
        } else if (!n) {
            break;
        }
    return n;
}

/* One finding for each stretch; `fmt` has the name, the steps and the mean in
 * it. */
static void
find_stretches(rlf_record *r, const char *kind, const char *name,
               const series *s, size_t least, size_t gap,
               bool (*is)(const series *s, size_t i), const char *fmt)
{
    int found = 0;
    for (size_t i = 0, n, count; i < s->n && found < MOST; i += n) {
        n = stretch(s, i, gap, is, &count);
        if (count >= least) {
            uint64_t first = s->step[i], last = s->step[i + n - 1];
            add(r, kind, name, first, last,
                rlf_arena_printf(r->judged, fmt, name,
                                 steps_text(r, first, last, n, count),
                                 mean(s->value + i, n)));
            found++;
        }
        n += n == 0;
    }
}

/* ---- metrics ---- */

/* Is `word` a word of the name: "kl" of "ref.kl", "mean_kl"? */
static bool
has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = strstr(name, word); p; p = strstr(p + 1, word))
        if ((p == name || !isalnum((unsigned char)p[-1])) &&
            !isalnum((unsigned char)p[n]))
            return true;
    return false;
}

static bool
is_reward(const char *name)
{
    return has_word(name, "reward") || has_word(name, "rewards") ||
           has_word(name, "score");
}

static bool
is_clipped(const char *name)
{
    return has_word(name, "clipped") || has_word(name, "clip_fraction") ||
           has_word(name, "clipfrac");
}

static bool
is_same_as_neighbour(const series *s, size_t i)
{
    return (i && s->value[i] == s->value[i - 1]) ||
           (i + 1 < s->n && s->value[i] == s->value[i + 1]);
}

/* Mean of five steps above ten, or above half a nat and five times that of all
 * steps before, of which there are five. */
static bool
runs_away(const series *s, size_t i)
{
    enum { WINDOW = 5, BEFORE = 5 };
    if (i + 1 < WINDOW)
        return false;
    double now = mean(s->value + i + 1 - WINDOW, WINDOW);
    if (now > 10)
        return true;
    if (i + 1 < BEFORE + WINDOW)
        return false;
    return now > 0.5 && now > 5 * mean(s->value, i + 1 - WINDOW);
}

/* Mean of five steps below a tenth of that of the first five. */
static bool
collapses(const series *s, size_t i)
{
    enum { WINDOW = 5 };
    if (i + 1 < 2 * WINDOW)
        return false;
    double first = mean(s->value, WINDOW);
    return first > 0 && mean(s->value + i + 1 - WINDOW, WINDOW) < 0.1 * first;
}

static bool
is_large_share(const series *s, size_t i)
{
    return s->value[i] > 0.3;
}

static bool
is_not_finite(const series *s, size_t i)
{
    return !isfinite(s->value[i]);
}

/* Does it say how many are right? */
static bool
is_success(const char *name)
{
    static const char *const words[] = {"accuracy", "acc",   "solved",
                                        "right",    "correct", "success",
                                        "pass",     "exact"};
    for (size_t i = 0; i < RLF_COUNT(words); i++)
        if (has_word(name, words[i]))
            return true;
    return is_reward(name);
}

/* A metric of what is right that was never above 0. */
static void
find_never(rlf_record *r, const char *name, const series *s)
{
    size_t i = 0;
    while (i < s->n && s->value[i] == 0)
        i++;
    if (i < s->n || i < AT_LEAST || !is_success(name))
        return;
    add(r, "never", name, s->step[0], s->step[s->n - 1],
        rlf_arena_printf(r->judged,
                         "%s is 0 in all %zu steps that report it: nothing was "
                         "right; samples show what is compared (as a number "
                         "with a text, which are never equal)",
                         name, s->n));
}

static void
judge_metric(rlf_record *r, const rlf_metric_column *c)
{
    const series s = {c->step.data, c->value.data, c->value.count};
    const char *name = c->name;
    if (rlf_metric_is_time(name))
        return;
    find_stretches(r, "nonfinite", name, &s, 1, 0, is_not_finite,
                   "%s is not finite in %s");
    find_never(r, name, &s);
    if (is_reward(name))
        find_stretches(
            r, "constant", name, &s, 5, 0, is_same_as_neighbour,
            "%s is the same in %s (%.4g): a reward that never varies "
            "teaches nothing");
    if (has_word(name, "kl"))
        find_stretches(
            r, "kl", name, &s, 1, GAP, runs_away,
            "%s runs away in %s (%.4g on average): the policy leaves "
            "the one that it is held to");
    if (has_word(name, "entropy"))
        find_stretches(r, "entropy", name, &s, 1, GAP, collapses,
                       "%s is below a tenth of what it began with in %s (%.4g "
                       "on average): the policy hardly explores any more");
    if (is_clipped(name))
        find_stretches(r, "clipped", name, &s, AT_LEAST, GAP, is_large_share,
                       "%s is high in %s (%.2g on average): the update moves "
                       "far from the policy that sampled");
}

/* ---- samples ---- */

/* What the samples of one set are, step by step. */
typedef struct per_step {
    RLF_VEC(uint64_t) step;
    RLF_VEC(double) cut;   /* share that did not finish */
    RLF_VEC(double) equal; /* share of groups whose scores are all equal */
    RLF_VEC(uint64_t) step_of_groups;
} per_step;

/* Which of the columns is the score: -1: none is. */
static int
score_column(const rlf_record *r)
{
    static const char *const names[] = {"reward", "score", "rewards", "scores"};
    int out = -1;
    for (size_t i = 0; i < RLF_COUNT(names) && out < 0; i++)
        out = rlf_sample_find(r, names[i]);
    for (size_t i = 0; i < r->samples.columns.count && out < 0; i++)
        if (is_reward(r->samples.columns.data[i].name))
            out = (int)i;
    return out;
}

/* Samples i to `end` are one step of the set. */
static void
judge_step(const rlf_record *r, size_t i, size_t end, uint32_t set, int score,
           per_step *out)
{
    const rlf_sample_entry *e = r->samples.samples.data;
    const double *finished = r->samples.columns.data[1].value.data;
    const double *scores =
        score < 0 ? NULL : r->samples.columns.data[score].value.data;
    size_t n = 0, cut = 0, groups = 0, equal = 0;
    uint64_t step = e[i].step;
    while (i < end) {
        size_t k = i, same = 1;
        for (; k < end && e[k].group == e[i].group; k++) {
            if (e[k].set != set)
                continue;
            n += isnan(finished[k]) ? 0 : 1;
            cut += finished[k] == 0;
            same &= scores && scores[k] == scores[i];
        }
        if (e[i].set == set && k - i > 1 && scores && !isnan(scores[i])) {
            groups++;
            equal += same;
        }
        i = k;
    }
    if (n >= ENOUGH) {
        RLF_PUSH(&out->step, step);
        RLF_PUSH(&out->cut, (double)cut / (double)n);
    }
    if (groups) {
        RLF_PUSH(&out->step_of_groups, step);
        RLF_PUSH(&out->equal, (double)equal / (double)groups);
    }
}

static bool
is_most(const series *s, size_t i)
{
    return s->value[i] > 0.5;
}

static bool
is_nearly_all(const series *s, size_t i)
{
    return s->value[i] >= 0.9;
}

static void
judge_set(rlf_record *r, uint32_t set, int score)
{
    const rlf_sample_table *t = &r->samples;
    per_step per = {0};
    for (size_t i = 0, end; i < t->samples.count; i = end) {
        for (end = i; end < t->samples.count &&
                      t->samples.data[end].step == t->samples.data[i].step;)
            end++;
        judge_step(r, i, end, set, score, &per);
    }
    const series cut = {per.step.data, per.cut.data, per.cut.count};
    const series equal = {per.step_of_groups.data, per.equal.data,
                          per.equal.count};
    const char *name = t->sets.data[set];
    find_stretches(r, "cut", name, &cut, AT_LEAST, GAP, is_most,
                   "most responses of %s are cut off in %s (%.2g of those "
                   "recorded): they are longer than max_new");
    find_stretches(
        r, "groups", name, &equal, AT_LEAST, GAP, is_nearly_all,
        "nearly all groups of %s have equal scores in %s (%.2g of those "
        "recorded): their advantages relative to the group are 0");
    RLF_VEC_FREE(&per.step);
    RLF_VEC_FREE(&per.cut);
    RLF_VEC_FREE(&per.equal);
    RLF_VEC_FREE(&per.step_of_groups);
}

/* ---- what the run itself has warned of ---- */

/* A finding for each line of a text. */
static void
add_lines(rlf_record *r, uint64_t step, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        if (n)
            add(r, "warned", "", step, step,
                rlf_arena_strndup(r->judged, text, n));
        text += n + (text[n] == '\n');
    }
}

static void
take_warnings(rlf_record *r)
{
    const json_t *starts = json_object_get(r->facts.run, "starts");
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const json_t *start = json_array_get(starts, i),
                     *warned = json_object_get(start, "warned");
        json_int_t from = json_integer_value(json_object_get(start, "step"));
        add_lines(r, from > 0 ? (uint64_t)from : 0,
                  json_string_value(json_object_get(start, "warnings")));
        for (size_t k = 0; k < json_array_size(warned); k++) {
            const json_t *w = json_array_get(warned, k);
            json_int_t step = json_integer_value(json_object_get(w, "step"));
            add_lines(r, step > 0 ? (uint64_t)step : 0,
                      json_string_value(json_object_get(w, "text")));
        }
    }
}

/* The warning that a metric is no number says where it is made, and what is
 * found in the numbers of how many steps that is true: one finding. */
static bool
is_of(rlf_record *r, const rlf_recorded_finding *warning,
      rlf_recorded_finding *found)
{
    if (strcmp(warning->kind, "warned") != 0 ||
        strcmp(found->kind, "nonfinite") != 0 || warning->first != found->first)
        return false;
    const char *words =
        rlf_arena_printf(r->judged, "the metric %s is ", found->name);
    const char *at = strstr(warning->text, words);
    if (!at || !strstr(at, "null in metrics.jsonl"))
        return false;
    found->text =
        rlf_arena_printf(r->judged, "%.*s%s", (int)(at - warning->text),
                         warning->text, found->text);
    return true;
}

static void
join_warnings(rlf_record *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->findings.count; i++) {
        bool joined = false;
        for (size_t k = i + 1; k < r->findings.count && !joined; k++)
            joined = is_of(r, &r->findings.data[i], &r->findings.data[k]);
        if (!joined)
            r->findings.data[kept++] = r->findings.data[i];
    }
    r->findings.count = kept;
}

/* In the order of their steps; those of one step by their names. */
static int
by_first(const void *a, const void *b)
{
    const rlf_recorded_finding *x = a, *y = b;
    int order = (x->first > y->first) - (x->first < y->first);
    order = order ? order : strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

rlf_status
rlf_record_find(rlf_record *r, rlf_err *err)
{
    (void)err;
    if (!r->judged)
        r->judged = rlf_arena_new();
    rlf_arena_reset(r->judged);
    r->findings.count = 0;
    take_warnings(r);
    for (size_t i = 0; i < r->metrics.columns.count; i++)
        judge_metric(r, &r->metrics.columns.data[i]);
    int score = score_column(r);
    for (size_t i = 0; i < r->samples.sets.count; i++)
        judge_set(r, (uint32_t)i, score);
    join_warnings(r);
    if (r->findings.count)
        qsort(r->findings.data, r->findings.count, sizeof *r->findings.data,
              by_first);
    r->has_findings = true;
    return RLF_OK;
}
