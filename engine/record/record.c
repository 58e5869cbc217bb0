/* rlf_record of rlflow.h: opening, reading again, questions. */
#include "engine/record/record.h"

#include "engine/io/json.h"

#include <inttypes.h>
#include <math.h>

/* ---- of this folder ---- */

bool
rlf_key_is(rlf_str key, const char *name)
{
    return strncmp(name, key.p, key.n) == 0 && !name[key.n];
}

void
rlf_record_leave_out(rlf_record *r, const char *fmt, ...)
{
    va_list ap;
    rlf_buf line = {0};
    va_start(ap, fmt);
    rlf_buf_vline(&line, fmt, ap);
    va_end(ap);
    bool again = false;
    for (size_t i = 0; i < r->notes.count; i++)
        again |= strcmp(r->notes.data[i], line.p) == 0;
    if (!again && r->notes.count < RLF_NOTES_MOST)
        RLF_PUSH_IN(r->arena, &r->notes, rlf_arena_strdup(r->arena, line.p));
    else if (!again)
        r->notes_left++;
    rlf_buf_free(&line);
}

/* ---- opening and reading ---- */

static rlf_result
result_of(rlf_status status)
{
    return status == RLF_USER     ? RLF_RESULT_PROGRAM
           : status == RLF_USAGE  ? RLF_RESULT_USAGE
           : status == RLF_MEMORY ? RLF_RESULT_MEMORY
           : status < 0           ? RLF_RESULT_FAILED
                                  : RLF_RESULT_OK;
}

/* Is it the directory of a run? */
static rlf_status
look(rlf_record *r, rlf_err *err)
{
    static const char *const names[] = {"run.json", "metrics.jsonl",
                                        "samples.jsonl"};
    bool there;
    if (!*r->directory)
        return rlf_fail(err, RLF_USER,
                        "the name of the run's directory is empty");
    RLF_TRY(rlf_file_find(r->directory, err, &there));
    if (!there) {
        rlf_fail(err, RLF_USER, "there is no directory %s", r->directory);
        return RLF_USER;
    }
    if (!rlf_dir_exists(r->directory)) {
        rlf_fail(err, RLF_USER, "%s is no directory", r->directory);
        rlf_err_hint(err, "a run is a directory, the one that --out names");
        return RLF_USER;
    }
    for (size_t i = 0; i < RLF_COUNT(names); i++)
        if (rlf_file_exists(rlf_record_path(r, r->arena, names[i])))
            return RLF_OK;
    rlf_fail(err, RLF_USER, "%s is not the directory of a run", r->directory);
    rlf_err_hint(err, "one has a run.json, a metrics.jsonl or a samples.jsonl");
    return RLF_USER;
}

static rlf_status
read_all(rlf_record *r, rlf_err *err)
{
    bool changed;
    if (!rlf_dir_exists(r->directory)) { /* what was read of it is kept */
        r->gone = true;
        return RLF_OK;
    }
    r->gone = false;
    uint64_t metrics = r->metrics.tail.at, samples = r->samples.tail.at;
    RLF_TRY(rlf_record_read_facts(r, err, &changed));
    RLF_TRY(rlf_record_read_metrics(r, err));
    RLF_TRY(rlf_record_read_ranks(r, err));
    RLF_TRY(rlf_record_read_samples(r, err));
    changed |= metrics != r->metrics.tail.at || samples != r->samples.tail.at;
    if (changed) {
        r->reads++;
        r->has_findings = false;
    }
    return RLF_OK;
}

/* What leads out of the directory is read as a file that is not there. */
static const char *
own_or_none(rlf_record *r, const char *name)
{
    const char *path = rlf_record_own(r, r->arena, name);
    return path ? path : "";
}

rlf_record *
rlf_record_open(const char *directory)
{
    rlf_record *r = rlf_try_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    rlf_json_take_memory();
    r->err = (rlf_err)RLF_ERR_NONE;
    r->arena = rlf_arena_new();
    r->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    r->directory = rlf_arena_strdup(r->arena, directory ? directory : "");
    r->metrics_path = own_or_none(r, "metrics.jsonl");
    r->ranks_path = own_or_none(r, "ranks.jsonl");
    r->samples_path = own_or_none(r, "samples.jsonl");
    if (!directory)
        rlf_fail(&r->err, RLF_USAGE, "rlf_record_open: directory is NULL");
    else if (look(r, &r->err) >= 0)
        rlf_record_refresh(r);
    return r;
}

rlf_result
rlf_record_refresh(rlf_record *r)
{
    if (rlf_record_status(r) < 0)
        return rlf_record_status(r);
    locale_t before = r->locale ? uselocale(r->locale) : (locale_t)0;
    rlf_status status = read_all(r, &r->err);
    if (before)
        uselocale(before);
    return result_of(status);
}

void
rlf_record_close(rlf_record *r)
{
    if (!r)
        return;
    rlf_metric_table_free(&r->metrics);
    rlf_rank_table_free(&r->ranks);
    rlf_sample_table_free(&r->samples);
    rlf_record_facts_free(&r->facts);
    rlf_infile_close(r->texts);
    rlf_arena_free(r->judged);
    rlf_arena_free(r->compared);
    RLF_VEC_FREE(&r->findings);
    RLF_VEC_FREE(&r->differences);
    rlf_buf_free(&r->message);
    rlf_buf_free(&r->line);
    rlf_buf_free(&r->text);
    rlf_buf_free(&r->file);
    rlf_buf_free(&r->state_text);
    rlf_buf_free(&r->note);
    if (r->locale)
        freelocale(r->locale);
    rlf_arena_free(r->arena);
    free(r);
}

rlf_result
rlf_record_status(const rlf_record *r)
{
    return r ? result_of(r->err.status) : RLF_RESULT_MEMORY;
}

const char *
rlf_record_message(rlf_record *r)
{
    if (!r)
        return "error: there is no memory for a record\n";
    if (r->err.status >= 0)
        return "";
    rlf_buf_clear(&r->message);
    rlf_buf_line(&r->message, "error: %s\n", r->err.sentence);
    if (*r->err.hint)
        rlf_buf_line(&r->message, "hint: %s\n", r->err.hint);
    return r->message.p;
}

const char *
rlf_record_note(rlf_record *r, size_t i)
{
    if (!r || i > r->notes.count || (i == r->notes.count && !r->notes_left))
        return NULL;
    if (i < r->notes.count)
        return r->notes.data[i];
    rlf_buf_clear(&r->note);
    rlf_buf_printf(&r->note, "and %" PRIu64 " more", r->notes_left);
    return r->note.p;
}

/* ---- what a run is ---- */

const rlf_recorded_run *
rlf_record_run(rlf_record *r)
{
    if (!r)
        return NULL;
    r->run = (rlf_recorded_run){.directory = r->directory,
                                .program = r->facts.program,
                                .step = r->metrics.last,
                                .samples = r->samples.samples.count,
                                .sampled = r->samples.sampled,
                                .seconds = r->metrics.seconds,
                                .reads = r->reads};
    rlf_record_tell_state(r, &r->run);
    return &r->run;
}

#define ELEMENT(list, i) \
    (r && (i) < r->facts.list.count ? &r->facts.list.data[i] : NULL)

const rlf_recorded_setting *
rlf_record_parameter(rlf_record *r, size_t i)
{
    return ELEMENT(parameters, i);
}

const rlf_recorded_input *
rlf_record_input(rlf_record *r, size_t i)
{
    return ELEMENT(inputs, i);
}

const rlf_recorded_start *
rlf_record_start(rlf_record *r, size_t i)
{
    return ELEMENT(starts, i);
}

const rlf_recorded_checkpoint *
rlf_record_checkpoint(rlf_record *r, size_t i)
{
    return ELEMENT(checkpoints, i);
}

/* ---- metrics ---- */

static const rlf_recorded_metric *
give_metric(rlf_record *r, const rlf_metric_column *c)
{
    r->metric = (rlf_recorded_metric){.name = c->name,
                                      .n = c->step.count,
                                      .step = c->step.data,
                                      .value = c->value.data};
    return &r->metric;
}

const rlf_recorded_metric *
rlf_record_metric(rlf_record *r, size_t i)
{
    return r && i < r->metrics.columns.count
               ? give_metric(r, &r->metrics.columns.data[i])
               : NULL;
}

const rlf_recorded_metric *
rlf_record_metric_called(rlf_record *r, const char *name)
{
    const rlf_metric_column *c = r && name ? rlf_metric_find(r, name) : NULL;
    return c ? give_metric(r, c) : NULL;
}

/* ---- ranks ---- */

const rlf_recorded_rank_column *
rlf_record_rank_column(rlf_record *r, size_t i)
{
    if (!r || i >= r->ranks.columns.count)
        return NULL;
    const rlf_rank_table *t = &r->ranks;
    r->rank_column =
        (rlf_recorded_rank_column){.name = t->columns.data[i].name,
                                   .n = t->step.count,
                                   .step = t->step.data,
                                   .rank = t->rank.data,
                                   .value = t->columns.data[i].value.data};
    return &r->rank_column;
}

const rlf_recorded_need *
rlf_record_need(rlf_record *r, uint64_t rank, size_t i)
{
    return r && rlf_record_find_need(r, rank, i, &r->need) ? &r->need : NULL;
}

/* ---- samples ---- */

static bool
has_sample(const rlf_record *r, uint64_t i)
{
    return r && i < r->samples.samples.count;
}

const rlf_recorded_sample *
rlf_record_sample(rlf_record *r, uint64_t i)
{
    if (!has_sample(r, i))
        return NULL;
    const rlf_sample_entry *e = &r->samples.samples.data[i];
    r->sample = (rlf_recorded_sample){.step = e->step,
                                      .set = r->samples.sets.data[e->set],
                                      .sample = e->sample,
                                      .group = e->group,
                                      .prompt = e->prompt,
                                      .of = e->of};
    return &r->sample;
}

const char *
rlf_record_column_name(rlf_record *r, size_t column)
{
    return r && column < r->samples.columns.count
               ? r->samples.columns.data[column].name
               : NULL;
}

double
rlf_record_number(rlf_record *r, uint64_t i, size_t column)
{
    return has_sample(r, i) && column < r->samples.columns.count
               ? r->samples.columns.data[column].value.data[i]
               : NAN;
}

const char *
rlf_record_text(rlf_record *r, uint64_t i, rlf_sample_text which, size_t *n)
{
    static const char *const keys[] = {NULL, "prompt", "response", "row"};
    rlf_err ignored = RLF_ERR_NONE;
    rlf_str key;
    rlf_scanned value;
    if (n)
        *n = 0;
    if (!has_sample(r, i) || (size_t)which >= RLF_COUNT(keys) ||
        rlf_record_line(r, i, &ignored) < 0)
        return NULL;
    rlf_buf_clear(&r->text);
    rlf_buf_add(&r->text, "", 0);
    rlf_str line = {r->line.p, r->line.n};
    if (!keys[which])
        rlf_buf_add(&r->text, line.p, line.n);
    rlf_json_scan scan = rlf_scan_object(line);
    while (keys[which] && rlf_scan_member(&scan, &key, &value)) {
        if (!rlf_key_is(key, keys[which]))
            continue;
        rlf_buf_clear(&r->text);
        if (value.kind == RLF_SCAN_TEXT)
            rlf_scan_unescape(value.text, &r->text);
        else if (value.kind == RLF_SCAN_OBJECT)
            rlf_buf_add(&r->text, value.text.p, value.text.n);
    }
    if (n)
        *n = r->text.n;
    return r->text.p;
}

/* ---- findings and differences ---- */

const rlf_recorded_finding *
rlf_record_finding(rlf_record *r, size_t i)
{
    rlf_err ignored = RLF_ERR_NONE;
    if (!r || (!r->has_findings && rlf_record_find(r, &ignored) < 0))
        return NULL;
    return i < r->findings.count ? &r->findings.data[i] : NULL;
}

const rlf_recorded_difference *
rlf_record_difference(rlf_record *a, rlf_record *b, size_t i)
{
    rlf_err ignored = RLF_ERR_NONE;
    if (!a || !b)
        return NULL;
    bool known =
        a->other == b && a->other_reads == b->reads && a->own_reads == a->reads;
    if (!known && rlf_record_compare(a, b, &ignored) < 0)
        return NULL;
    a->other = b;
    a->other_reads = b->reads;
    a->own_reads = a->reads;
    return i < a->differences.count ? &a->differences.data[i] : NULL;
}
