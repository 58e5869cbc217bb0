/* metrics.jsonl as columns. What stands in an object is a column of its own;
 * what is no number is left out, and null is NaN. An older rlflow wrote seconds
 * as
 * {"time":{"seconds":1,"read":0.2}}: they have the names of today, "seconds"
 * and "seconds.read". */
#include "engine/record/record.h"

#include <inttypes.h>
#include <math.h>

enum { COLUMNS = 1 << 16 }; /* at most */

static rlf_metric_table *
table_of(rlf_record *record)
{
    return &record->metrics;
}

static void
forget_columns(rlf_metric_table *t)
{
    for (size_t i = 0; i < t->columns.count; i++) {
        RLF_VEC_FREE(&t->columns.data[i].step);
        RLF_VEC_FREE(&t->columns.data[i].value);
    }
    t->columns.count = 0;
}

static void
forget(void *arg)
{
    rlf_metric_table *t = table_of(arg);
    forget_columns(t);
    rlf_arena_reset(t->arena);
    t->names = (rlf_map){.arena = t->arena};
    t->last = t->lines = 0;
    t->seconds = 0;
}

void
rlf_metric_table_free(rlf_metric_table *t)
{
    forget_columns(t);
    RLF_VEC_FREE(&t->columns);
    rlf_buf_free(&t->scratch);
    rlf_buf_free(&t->name);
    rlf_arena_free(t->arena);
}

const rlf_metric_column *
rlf_metric_find(const rlf_record *record, const char *name)
{
    const rlf_metric_table *t = &record->metrics;
    size_t at = t->arena ? (size_t)rlf_map_get(&t->names, name) : 0;
    return at ? &t->columns.data[at - 1] : NULL;
}

/* The name is in t->scratch. */
static rlf_metric_column *
column_called(rlf_metric_table *t, const char *name)
{
    size_t at = (size_t)rlf_map_get(&t->names, name);
    if (!at && t->columns.count == COLUMNS)
        return NULL;
    if (!at) {
        rlf_metric_column new = {.name = rlf_arena_strdup(t->arena, name)};
        RLF_PUSH(&t->columns, new);
        at = t->columns.count;
        rlf_map_put(&t->names, name, (void *)at);
    }
    return &t->columns.data[at - 1];
}

static const char *
name_of_today(rlf_metric_table *t)
{
    static const char was[] = "time.";
    const char *name = t->scratch.p;
    if (strncmp(name, was, sizeof was - 1) != 0)
        return name;
    name += sizeof was - 1;
    rlf_buf_clear(&t->name);
    rlf_buf_puts(&t->name, strcmp(name, "seconds") == 0 ? "" : "seconds.");
    rlf_buf_puts(&t->name, name);
    return t->name.p;
}

bool
rlf_metric_is_time(const char *name)
{
    return strcmp(name, "seconds") == 0 || strncmp(name, "seconds.", 8) == 0;
}

/* Behind "prefix." that t->scratch has already. */
static rlf_status
take_members(rlf_metric_table *t, uint64_t step, rlf_json_scan *scan, int depth,
             rlf_err *err)
{
    enum { DEPTH = 4 };
    rlf_str key;
    rlf_scanned value;
    size_t prefix = t->scratch.n;
    while (rlf_scan_member(scan, &key, &value)) {
        t->scratch.n = prefix;
        rlf_scan_unescape(key, &t->scratch);
        rlf_buf_add(&t->scratch, "", 0);
        if (value.kind == RLF_SCAN_OBJECT && depth < DEPTH) {
            rlf_json_scan inner = rlf_scan_object(value.text);
            rlf_buf_putc(&t->scratch, '.');
            RLF_TRY(take_members(t, step, &inner, depth + 1, err));
            continue;
        }
        bool number = value.kind == RLF_SCAN_NUMBER;
        if ((!number && value.kind != RLF_SCAN_NULL) || !t->scratch.n ||
            strcmp(t->scratch.p, "step") == 0)
            continue;
        rlf_metric_column *c = column_called(t, name_of_today(t));
        if (!c)
            continue;
        RLF_TRY_ROOM(&c->step, 1, "metrics");
        RLF_TRY_ROOM(&c->value, 1, "metrics");
        RLF_PUSH(&c->step, step);
        RLF_PUSH(&c->value, number ? value.number : NAN);
    }
    return RLF_OK;
}

/* The step of a line, which is JSON as a whole. */
static bool
step_of(rlf_str line, uint64_t *step, const char **why)
{
    rlf_json_scan scan = rlf_scan_object(line);
    rlf_str key;
    rlf_scanned value;
    double x = -1;
    int steps = 0;
    while (rlf_scan_member(&scan, &key, &value))
        if (rlf_key_is(key, "step") && value.kind == RLF_SCAN_NUMBER) {
            x = value.number;
            steps++;
        }
    *why = scan.why    ? scan.why
           : steps > 1 ? "it has two steps"
                       : "it has no step";
    if (scan.why || steps > 1 || !(x >= 0) || x > UINT32_MAX || x != floor(x))
        return false;
    *step = (uint64_t)x;
    return true;
}

static rlf_status
take(void *arg, const rlf_growing_line *line, rlf_err *err)
{
    rlf_record *record = arg;
    rlf_metric_table *t = table_of(record);
    uint64_t step;
    const char *why = "it has more than 64 MiB";
    if (line->too_long || !step_of(line->text, &step, &why)) {
        rlf_record_leave_out(record,
                             "%s/metrics.jsonl:%" PRIu64 " is left out: %s",
                             record->directory, line->number, why);
        return RLF_OK;
    }
    if (t->lines && step <= t->last) {
        rlf_record_leave_out(record,
                             "%s/metrics.jsonl:%" PRIu64
                             " is left out: it is of step %" PRIu64
                             ", and stands behind one of step %" PRIu64,
                             record->directory, line->number, step, t->last);
        return RLF_OK;
    }
    t->last = step;
    t->lines++;
    rlf_json_scan scan = rlf_scan_object(line->text);
    rlf_buf_clear(&t->scratch);
    return take_members(t, step, &scan, 0, err);
}

static void
sum_seconds(rlf_record *record)
{
    rlf_metric_table *t = &record->metrics;
    const rlf_metric_column *c = rlf_metric_find(record, "seconds");
    t->seconds = 0;
    for (size_t i = 0; c && i < c->value.count; i++)
        if (isfinite(c->value.data[i]))
            t->seconds += c->value.data[i];
}

rlf_status
rlf_record_read_metrics(rlf_record *record, rlf_err *err)
{
    rlf_metric_table *t = &record->metrics;
    const rlf_growing_reader reader = {record, forget, take};
    if (!t->arena) {
        t->arena = rlf_arena_new();
        t->names = (rlf_map){.arena = t->arena};
    }
    RLF_TRY(rlf_growing_read(&t->tail, record->metrics_path, &reader, err));
    sum_seconds(record);
    return RLF_OK;
}
