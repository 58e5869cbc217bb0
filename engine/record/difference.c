/* In what two runs differ: what they are (program, parameters, inputs,
 * options), then what came of it (metrics, samples). */
#include "engine/record/record.h"

#include <inttypes.h>
#include <math.h>

/* Options that do not say what a run is. */
static const char *const others[] = {"--out", "--resume", "--log", "--trace",
                                     "--quiet"};

static void
add(rlf_record *a, const char *kind, const char *name, const char *of_a,
    const char *of_b)
{
    rlf_recorded_difference d = {.kind = kind,
                                 .name = rlf_arena_strdup(a->compared, name)};
    d.a = of_a ? rlf_arena_strdup(a->compared, of_a) : NULL;
    d.b = of_b ? rlf_arena_strdup(a->compared, of_b) : NULL;
    RLF_PUSH(&a->differences, d);
}

static bool
is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* ---- names with values ---- */

typedef RLF_VEC(rlf_recorded_setting) settings;

static const char *
value_of(const settings *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->data[i].name, name) == 0)
            return list->data[i].value;
    return NULL;
}

static void
compare_settings(rlf_record *a, const char *kind, const settings *x,
                 const settings *y)
{
    for (size_t i = 0; i < x->count; i++) {
        const char *name = x->data[i].name, *other = value_of(y, name);
        if (!is_same(x->data[i].value, other))
            add(a, kind, name, x->data[i].value, other);
    }
    for (size_t i = 0; i < y->count; i++)
        if (!value_of(x, y->data[i].name))
            add(a, kind, y->data[i].name, NULL, y->data[i].value);
}

/* In the arena of a's differences. */
static settings
parameters_of(rlf_record *a, const rlf_record *r)
{
    settings out = {0};
    for (size_t i = 0; i < r->facts.parameters.count; i++)
        RLF_PUSH_IN(a->compared, &out, r->facts.parameters.data[i]);
    return out;
}

/* Inputs of several parts have one of each. What is a parameter or the program
 * as a whole is told of elsewhere. */
static settings
inputs_of(rlf_record *a, const rlf_record *r)
{
    settings out = {0};
    for (size_t i = 0; i < r->facts.inputs.count; i++) {
        const rlf_recorded_input *in = &r->facts.inputs.data[i];
        const char *name = in->name;
        bool other = strcmp(name, "program") == 0;
        for (size_t k = 0; k < r->facts.parameters.count; k++)
            other |= !in->path &&
                     strcmp(name, r->facts.parameters.data[k].name) == 0;
        if (other)
            continue;
        if (*in->part)
            name = rlf_arena_printf(a->compared, "%s, %s", name, in->part);
        RLF_PUSH_IN(a->compared, &out, (rlf_recorded_setting){name, in->value});
    }
    return out;
}

static settings
options_of(rlf_record *a, const rlf_record *r)
{
    settings out = {0};
    const json_t *starts = json_object_get(r->facts.run, "starts");
    size_t n = json_array_size(starts);
    const char *name;
    json_t *value;
    if (!n)
        return out;
    json_object_foreach(
        json_object_get(json_array_get(starts, n - 1), "options"), name, value)
    {
        bool other = !json_is_string(value);
        for (size_t i = 0; i < RLF_COUNT(others); i++)
            other |= strcmp(name, others[i]) == 0;
        if (!other)
            RLF_PUSH_IN(a->compared, &out,
                        (rlf_recorded_setting){name, json_string_value(value)});
    }
    return out;
}

/* ---- the program ---- */

/* The text that r has kept as the program's file, or another part of it. */
static rlf_str
text_of(rlf_record *r, const char *part, bool *there)
{
    const rlf_record_facts *f = &r->facts;
    size_t n = 0;
    const char *p = NULL;
    for (size_t i = 0; i < f->inputs.count && !p; i++)
        if (strcmp(f->inputs.data[i].name, "program") == 0 &&
            strcmp(f->inputs.data[i].part, part) == 0 && f->inputs.data[i].copy)
            p = rlf_record_file_text(r, f->inputs.data[i].copy, &n);
    *there = p != NULL;
    return (rlf_str){p, n};
}

static void
compare_part(rlf_record *a, rlf_record *b, const char *part)
{
    bool has_a, has_b;
    rlf_str x = text_of(a, part, &has_a), y = text_of(b, part, &has_b);
    rlf_buf lines = {0};
    if (has_a && has_b)
        rlf_text_difference(x, y, &lines);
    rlf_recorded_difference d = {.kind = "program",
                                 .name = rlf_arena_strdup(a->compared, part)};
    if (lines.n)
        d.text = rlf_arena_strndup(a->compared, lines.p, lines.n);
    else if (has_a != has_b)
        d.text = has_a ? "- only the first run has it\n"
                       : "+ only the second run has it\n";
    if (d.text)
        RLF_PUSH(&a->differences, d);
    rlf_buf_free(&lines);
}

static void
compare_programs(rlf_record *a, rlf_record *b)
{
    const rlf_record *both[] = {a, b};
    rlf_map seen = {.arena = a->compared};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->facts.inputs.count; i++) {
            const rlf_recorded_input *in = &both[k]->facts.inputs.data[i];
            if (strcmp(in->name, "program") == 0 && *in->part &&
                !rlf_map_get(&seen, in->part)) {
                rlf_map_put(&seen, in->part, (void *)in->part);
                compare_part(a, b, in->part);
            }
        }
}

/* ---- what came of it ---- */

/* "0.8125 (last 4)": the mean of the last tenth of the values until that step. */
static const char *
outcome(rlf_record *a, const rlf_metric_column *c, uint64_t until)
{
    enum { PART = 10 };
    size_t n = c->value.count, count = 0;
    double sum = 0;
    while (n && c->step.data[n - 1] > until)
        n--;
    size_t last = n < PART ? 1 : n / PART;
    if (!n)
        return NULL;
    for (size_t i = n - last; i < n; i++)
        if (isfinite(c->value.data[i])) {
            sum += c->value.data[i];
            count++;
        }
    if (!count)
        return "not finite";
    if (!isfinite(sum)) { /* the mean is finite all the same */
        double mean = 0;
        for (size_t i = n - last; i < n; i++)
            if (isfinite(c->value.data[i]))
                mean += c->value.data[i] / (double)count;
        return rlf_arena_printf(a->compared, "%.6g (last %zu)", mean, last);
    }
    return rlf_arena_printf(a->compared, "%.6g (last %zu)", sum / (double)count,
                            last);
}

/* The first step at which both have the metric and it differs; 0: none. */
static uint64_t
first_difference(const rlf_metric_column *x, const rlf_metric_column *y)
{
    for (size_t i = 0, k = 0; i < x->step.count && k < y->step.count;) {
        if (x->step.data[i] < y->step.data[k])
            i++;
        else if (x->step.data[i] > y->step.data[k])
            k++;
        else if (memcmp(&x->value.data[i++], &y->value.data[k++],
                        sizeof(double)) != 0)
            return x->step.data[i - 1];
    }
    return 0;
}

static size_t
steps_until(const rlf_metric_column *c, uint64_t step)
{
    size_t n = c->step.count;
    while (n && c->step.data[n - 1] > step)
        n--;
    return n;
}

static void
compare_metrics(rlf_record *a, rlf_record *b)
{
    uint64_t first = 0, until = a->metrics.last < b->metrics.last
                                    ? a->metrics.last
                                    : b->metrics.last;
    for (size_t i = 0; i < a->metrics.columns.count; i++) {
        const rlf_metric_column *x = &a->metrics.columns.data[i];
        const rlf_metric_column *y = rlf_metric_find(b, x->name);
        if (rlf_metric_is_time(x->name))
            continue;
        uint64_t at = y ? first_difference(x, y) : 0;
        first = at && (!first || at < first) ? at : first;
        if (!y || at || steps_until(x, until) != steps_until(y, until))
            add(a, "metric", x->name, outcome(a, x, until),
                y ? outcome(a, y, until) : NULL);
    }
    for (size_t i = 0; i < b->metrics.columns.count; i++) {
        const rlf_metric_column *y = &b->metrics.columns.data[i];
        if (!rlf_metric_is_time(y->name) && !rlf_metric_find(a, y->name))
            add(a, "metric", y->name, NULL, outcome(a, y, until));
    }
    if (first) {
        const char *step = rlf_arena_printf(a->compared, "%" PRIu64, first);
        add(a, "metric", "first step that differs", step, step);
    }
    if (a->metrics.last != b->metrics.last)
        add(a, "metric", "steps",
            rlf_arena_printf(a->compared, "%" PRIu64, a->metrics.last),
            rlf_arena_printf(a->compared, "%" PRIu64, b->metrics.last));
}

rlf_status
rlf_record_compare(rlf_record *a, rlf_record *b, rlf_err *err)
{
    (void)err;
    if (!a->compared)
        a->compared = rlf_arena_new();
    rlf_arena_reset(a->compared);
    a->differences.count = 0;
    compare_programs(a, b);
    settings x = parameters_of(a, a), y = parameters_of(a, b);
    compare_settings(a, "parameter", &x, &y);
    x = inputs_of(a, a), y = inputs_of(a, b);
    compare_settings(a, "input", &x, &y);
    x = options_of(a, a), y = options_of(a, b);
    compare_settings(a, "option", &x, &y);
    compare_metrics(a, b);
    return RLF_OK;
}
