/* run.json: what a run is and who ran it when, with what, and how that ended.
 *
 * Of two runs of the same program this is what differs, besides the times in
 * metrics.jsonl and ranks.jsonl and their checksums in manifest.json. It is
 * replaced whole at each start, a resume among them, and at each end; so a
 * process that is killed leaves a start without an end, which the next resume
 * fills in. A resume takes from here what the run began with only where no
 * checkpoint says it. */
#include "engine/api/rundir/rundir.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/sealed.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FORMAT = 1, MOST = 256 << 20 }; /* of the file; bytes that are read */

/* ---- members ---- */

/* `between` is what stands before the key, such as ",". */
static void
put_text(rlf_buf *out, const char *between, const char *key, const char *text)
{
    rlf_buf_puts(out, between);
    rlf_buf_json(out, key, strlen(key));
    rlf_buf_putc(out, ':');
    rlf_buf_json(out, text, strlen(text));
}

static void
put_time(rlf_buf *out, const char *between)
{
    char text[32];
    time_t now = time(NULL);
    struct tm tm;
    size_t n = gmtime_r(&now, &tm)
                   ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm)
                   : 0;
    text[n] = 0;
    put_text(out, between, "time", text);
}

/* The words of this process's command line, as the system has them: also that
 * of a program that only uses the library. */
static void
put_command(rlf_buf *out)
{
    rlf_buf words = {0};
    rlf_err ignored = RLF_ERR_NONE;
    const char *between = "";
    rlf_buf_puts(out, "[");
    if (rlf_file_read("/proc/self/cmdline", MOST, &ignored, &words) >= 0)
        for (size_t i = 0; i < words.n; i += strlen(words.p + i) + 1) {
            rlf_buf_puts(out, between);
            rlf_buf_json(out, words.p + i, strlen(words.p + i));
            between = ",";
        }
    rlf_buf_puts(out, "]");
    rlf_buf_free(&words);
}

void
rlf_record_process(rlf_buf *out)
{
    char host[256] = {0}, *directory = getcwd(NULL, 0);
    gethostname(host, sizeof host - 1);
    put_text(out, "{", "host", host);
    rlf_buf_printf(out, ",\"pid\":%ld", (long)getpid());
    put_text(out, ",", "directory", directory ? directory : "");
    rlf_buf_puts(out, ",\"command\":");
    put_command(out);
    rlf_buf_putc(out, '}');
    free(directory);
}

static void
put_params(const rlf_session *s, rlf_buf *out)
{
    const char *between = "";
    rlf_buf_puts(out, ",\n \"parameters\":{");
    for (size_t i = 0; i < s->graph->params.count; i++) {
        const rlf_param *p = &s->graph->params.data[i];
        put_text(out, between, p->name, p->value);
        between = ",";
    }
    rlf_buf_putc(out, '}');
}

static void
put_inputs(const rlf_session *s, rlf_buf *out)
{
    const char *between = "\n  ";
    rlf_buf_puts(out, ",\n \"inputs\":[");
    for (size_t i = 0; i < s->directory.inputs.list.count; i++) {
        const rlf_input *in = &s->directory.inputs.list.data[i];
        rlf_buf_puts(out, between);
        put_text(out, "{", "name", in->name);
        if (*in->part)
            put_text(out, ",", "part", in->part);
        put_text(out, ",", "value", in->value);
        if (in->path) {
            put_text(out, ",", "path", in->path);
            rlf_buf_printf(out, ",\"bytes\":%" PRIu64, in->bytes);
        }
        if (in->copy)
            put_text(out, ",", "copy", in->copy);
        rlf_buf_puts(out, in->noted ? ",\"noted\":true}" : "}");
        between = ",\n  ";
    }
    rlf_buf_putc(out, ']');
}

/* ---- one start ---- */

static void
put_build(rlf_buf *out)
{
    const rlf_build_fact *fact;
    put_text(out, ",", "rlflow", rlf_version());
    for (size_t i = 0; (fact = rlf_build(i)); i++)
        put_text(out, i ? "," : ",\"built\":{", fact->name, fact->value);
    rlf_buf_putc(out, '}');
}

/* Options as they were given. */
static void
put_options(const rlf_session *s, rlf_buf *out)
{
    const char *between = "";
    rlf_buf_puts(out, ",\"options\":{");
    for (size_t i = 0; i < s->given.count; i++) {
        bool again = false; /* the last one counts */
        for (size_t k = i + 1; k < s->given.count; k++)
            again |= strcmp(s->given.data[i].name, s->given.data[k].name) == 0;
        if (again)
            continue;
        put_text(out, between, s->given.data[i].name, s->given.data[i].value);
        between = ",";
    }
    rlf_buf_putc(out, '}');
}

/* The digest of plan.rlf, by which a resume knows that nobody has edited it. */
static void
put_plan(const rlf_session *s, rlf_buf *out)
{
    char digest[RLF_DIGEST_TEXT];
    rlf_buf text = {0};
    rlf_plan_print(s->plan, &text);
    put_text(out, ",", "plan",
             rlf_digest_print(rlf_digest_of(text.p, text.n), digest));
    rlf_buf_free(&text);
}

static void
put_memory_row(const rlf_memory_row *row, rlf_buf *out)
{
    put_text(out, "{", "owner", row->owner);
    put_text(out, ",", "purpose", row->purpose);
    rlf_buf_printf(out, ",\"device\":%" PRIu64 ",\"host\":%" PRIu64 "}",
                   row->device, row->host);
}

/* The memory that each rank is to take by purpose, as rlflow check prints it:
 * ranks that have the same are together. */
static void
put_memory(const rlf_session *s, rlf_buf *out)
{
    const rlf_needs *of = rlf_run_needs(s->run, 0);
    bool *told = RLF_NEW_ARRAY(s->arena, bool, s->plan->ranks);
    const char *between = ",\"memory\":[";
    for (int rank = 0; rank < s->plan->ranks; rank++) {
        const rlf_memory *m = &of[rank].memory;
        if (told[rank])
            continue;
        rlf_buf_printf(out, "%s{\"ranks\":[%d", between, rank);
        for (int i = rank + 1; i < s->plan->ranks; i++) {
            if (told[i] || !rlf_memory_same(m, &of[i].memory))
                continue;
            told[i] = true;
            rlf_buf_printf(out, ",%d", i);
        }
        rlf_buf_puts(out, "],\"parts\":[");
        for (size_t i = 0; i < m->rows.count; i++) {
            rlf_buf_puts(out, i ? "," : "");
            put_memory_row(&m->rows.data[i], out);
        }
        rlf_buf_puts(out, "]}");
        between = ",";
    }
    rlf_buf_puts(out, "]");
}

static void
put_start(const rlf_session *s, rlf_buf *out)
{
    const char *isa = rlf_run_isa(s->run), *launcher = rlf_comm_launcher();
    put_time(out, "{");
    rlf_buf_printf(out, ",\"resume\":%s,\"step\":%" PRIu32,
                   s->options.resume ? "true" : "false", s->steps.resumed);
    rlf_buf_printf(out, ",\"steps\":%" PRIu64, s->steps.wanted);
    if (*s->directory.accepted)
        rlf_buf_printf(out, ",\"accepted\":[%s]", s->directory.accepted);
    if (s->warned.lines.n)
        put_text(out, ",", "warnings", s->warned.lines.p);
    put_build(out);
    put_options(s, out);
    put_plan(s, out);
    rlf_buf_printf(out, ",\"ranks\":%d,\"threads\":%d", s->plan->ranks,
                   rlf_run_threads(s->run));
    put_text(out, ",", "device", s->plan->numerics.backend);
    put_text(out, ",", "dtype", s->plan->numerics.dtype);
    if (isa)
        put_text(out, ",", "isa", isa);
    if (launcher)
        put_text(out, ",", "launcher", launcher);
    rlf_buf_printf(out, ",\"processes\":[%s]", s->directory.processes);
    put_memory(s, out);
}

/* ---- the starts before ---- */

static const char *
path_of(const rlf_session *s, rlf_arena *arena)
{
    const char *origin = rlf_session_origin(s);
    return rlf_path_join(arena, origin ? origin : s->options.directory,
                         "run.json");
}

/* The list `member` of objects in the file; NULL, with the error: it is
 * damaged, or there is none that can be read. */
static json_t *
read_list(const char *path, const char *member, rlf_err *err)
{
    json_t *root = NULL, *list = NULL;
    if (rlf_sealed_load(path, MOST, err, &root) >= 0)
        list = json_object_get(root, member);
    bool good = json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++)
        good &= json_is_object(json_array_get(list, i));
    list = good ? json_incref(list) : NULL;
    json_decref(root);
    return list;
}

json_t *
rlf_record_inputs(const rlf_session *s, rlf_arena *arena)
{
    rlf_err ignored = RLF_ERR_NONE;
    return read_list(path_of(s, arena), "inputs", &ignored);
}

/* "2024-12-31" as 20241231; 0: the run has no such input. */
static uint32_t
recorded_day(const rlf_session *s)
{
    unsigned year, month, day;
    uint32_t out = 0;
    json_t *inputs = rlf_record_inputs(s, s->arena);
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *input = json_array_get(inputs, i);
        const char *name = json_string_value(json_object_get(input, "name"));
        const char *value = json_string_value(json_object_get(input, "value"));
        if (name && value && strcmp(name, "date") == 0 &&
            sscanf(value, "%4u-%2u-%2u", &year, &month, &day) == 3 && month &&
            month <= 12 && day && day <= 31)
            out = year * 10000 + month * 100 + day;
    }
    json_decref(inputs);
    return out;
}

uint32_t
rlf_record_day(const rlf_session *s)
{
    time_t now = time(NULL);
    struct tm tm = {.tm_year = 70, .tm_mday = 1};
    uint32_t begun = rlf_session_origin(s) ? recorded_day(s) : 0;
    if (begun)
        return begun;
    localtime_r(&now, &tm);
    return (uint32_t)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 +
                      tm.tm_mday);
}

/* Says whether there is one, also one that is damaged since. */
bool
rlf_record_is_there(const rlf_session *s)
{
    const char *path = path_of(s, s->arena);
    rlf_buf text = {0};
    json_t *root = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    bool there =
        rlf_file_read(path, MOST, &ignored, &text) >= 0 &&
        rlf_json_parse(path, 1, text.p, text.n, &ignored, &root) >= 0 &&
        json_is_array(json_object_get(root, "starts"));
    json_decref(root);
    rlf_buf_free(&text);
    return there;
}

bool
rlf_record_has_plan(const rlf_session *s, rlf_digest digest)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *starts = read_list(path_of(s, s->arena), "starts", &ignored);
    char text[RLF_DIGEST_TEXT];
    bool has = false;
    rlf_digest_print(digest, text);
    for (size_t i = 0; i < json_array_size(starts); i++) {
        const json_t *plan = json_object_get(json_array_get(starts, i), "plan");
        has |=
            json_is_string(plan) && strcmp(json_string_value(plan), text) == 0;
    }
    json_decref(starts);
    return has;
}

bool
rlf_record_has_copy(const rlf_session *s, const char *copy, const char *digest)
{
    json_t *inputs = rlf_record_inputs(s, s->arena);
    bool has = false;
    for (size_t i = 0; i < json_array_size(inputs); i++) {
        const json_t *input = json_array_get(inputs, i);
        const char *at = json_string_value(json_object_get(input, "copy")),
                   *is = json_string_value(json_object_get(input, "value"));
        has |= at && is && strcmp(at, copy) == 0 &&
               (!digest || strcmp(is, digest) == 0);
    }
    json_decref(inputs);
    return has;
}

uint32_t
rlf_record_reached(const rlf_session *s)
{
    rlf_err ignored = RLF_ERR_NONE;
    json_t *starts = read_list(path_of(s, s->arena), "starts", &ignored);
    size_t n = json_array_size(starts);
    const json_t *end =
        n ? json_object_get(json_array_get(starts, n - 1), "end") : NULL;
    const char *how = json_string_value(json_object_get(end, "how"));
    int64_t step = 0;
    bool known = how && rlf_json_as_int(json_object_get(end, "step"), &step) &&
                 step >= 0 && step < (int64_t)UINT32_MAX;
    if (known && strcmp(how, "failed") == 0)
        step++; /* in which it failed, maybe behind its lines */
    json_decref(starts);
    return known ? (uint32_t)step : UINT32_MAX;
}

/* Writes how far a run that was killed came. */
static void
put_killed(const rlf_session *s, rlf_buf *out)
{
    rlf_buf_puts(out, ",\"end\":{\"how\":\"killed\"");
    if (s->directory.killed)
        put_text(out, ",", "in", s->directory.killed);
    rlf_buf_putc(out, '}');
}

static rlf_status
put_starts(const rlf_session *s, const json_t *starts, rlf_buf *out,
           rlf_err *err)
{
    size_t n = json_array_size(starts);
    for (size_t i = 0; i < n; i++) {
        const json_t *start = json_array_get(starts, i);
        char *text = json_dumps(start, JSON_COMPACT);
        if (!text)
            return rlf_fail_memory(err, 0, "an earlier start of the run");
        bool ended = json_object_get(start, "end") != NULL;
        rlf_buf_add(out, text, strlen(text) - 1);
        if (!ended)
            put_killed(s, out);
        rlf_buf_puts(out, "},\n  ");
        free(text);
    }
    return RLF_OK;
}

/* A run.json of another run, or one that cannot be read, is moved aside. */
static rlf_status
starts_before(rlf_session *s, const char *path, rlf_err *err, json_t **out)
{
    rlf_err why = RLF_ERR_NONE;
    bool there;
    *out = NULL;
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there && s->steps.resumed)
        rlf_buf_line(&s->warned.lines,
                     "%s is not there, which tells when the run was started "
                     "before: it begins anew\n",
                     path);
    if (!there)
        return RLF_OK;
    if (s->options.resume)
        *out = read_list(path, "starts", &why);
    if (*out)
        return RLF_OK;
    const char *to;
    RLF_TRY(rlf_journal_free_name(s, path, err, &to));
    RLF_TRY(rlf_path_rename(path, to, err));
    if (!s->options.resume)
        rlf_buf_line(&s->warned.lines, "%s is of another run: it is now %s\n",
                     path, to);
    else
        rlf_buf_line(&s->warned.lines,
                     "%s cannot be read: it is now %s, and when the run was "
                     "started before is not known (%s)\n",
                     path, to,
                     why.status < 0 ? why.sentence : "it has no starts");
    return RLF_OK;
}

/* ---- begin and end ---- */

/* The file with what is behind the members of the present start. */
static rlf_status
write_record(rlf_run_record *record, const rlf_buf *end, rlf_err *err)
{
    rlf_buf text = {0};
    rlf_buf_add(&text, record->text.p, record->text.n);
    rlf_mutex_lock(&record->mutex);
    if (record->warned.n)
        rlf_buf_printf(&text, ",\"warned\":[%s]", record->warned.p);
    rlf_mutex_unlock(&record->mutex);
    if (end)
        rlf_buf_add(&text, end->p, end->n);
    rlf_buf_puts(&text, "}\n ]");
    rlf_sealed_end(&text);
    rlf_status status = rlf_file_write(record->path, text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

rlf_status
rlf_record_begin(rlf_session *s, rlf_err *err)
{
    rlf_run_record *record = &s->directory.record;
    json_t *starts;
    const char *path = path_of(s, s->arena);
    rlf_run_settle_inputs(s->run);
    RLF_TRY(starts_before(s, path, err, &starts));
    rlf_buf_printf(&record->text, "{\"format\":%d,\n ", FORMAT);
    put_text(&record->text, "", "program", s->program.path);
    put_params(s, &record->text);
    put_inputs(s, &record->text);
    rlf_buf_puts(&record->text, ",\n \"starts\":[\n  ");
    rlf_status status = put_starts(s, starts, &record->text, err);
    json_decref(starts);
    RLF_TRY(status);
    put_start(s, &record->text);
    record->path = path;
    status = write_record(record, NULL, err);
    if (status < 0)
        record->path = NULL; /* so it cannot be ended either */
    return status;
}

rlf_status
rlf_record_warned(rlf_session *s, size_t from, rlf_err *err)
{
    rlf_run_record *record = &s->directory.record;
    if (!record->path || s->warned.lines.n <= from)
        return RLF_OK;
    const char *between = record->warned.n ? "," : "";
    rlf_mutex_lock(&record->mutex);
    rlf_buf_printf(&record->warned, "%s{\"step\":%" PRIu32, between,
                   rlf_run_steps(s->run));
    put_text(&record->warned, ",", "text", s->warned.lines.p + from);
    rlf_buf_putc(&record->warned, '}');
    rlf_mutex_unlock(&record->mutex);
    return rlf_directory_blame(s, write_record(record, NULL, err), err);
}

/* Touches nothing of the session but its record and its step, for it may be
 * called beside a thread that is stuck in it. */
static rlf_status
end_record(rlf_session *s, const char *how, const char *key, const char *value,
           rlf_err *err)
{
    rlf_buf end = {0};
    RLF_TRY(rlf_directory_check(s, err)); /* it may be another run's by now */
    put_time(&end, ",\"end\":{");
    put_text(&end, ",", "how", how);
    rlf_buf_printf(&end, ",\"step\":%" PRIu64, rlf_session_steps(s));
    if (key)
        put_text(&end, ",", key, value);
    rlf_buf_putc(&end, '}');
    rlf_status status = write_record(&s->directory.record, &end, err);
    rlf_buf_free(&end);
    return status;
}

rlf_status
rlf_record_fail(rlf_session *s, const rlf_err *cause, rlf_err *err)
{
    rlf_buf text = {0};
    if (!s->directory.record.path)
        return RLF_OK;
    rlf_sources sources = s->program.sources;
    sources.columns = 0; /* the record is of no screen */
    rlf_err_print(cause, &sources, &text);
    rlf_status status = end_record(s, "failed", "message", text.p, err);
    rlf_buf_free(&text);
    return status;
}

const char *
rlf_record_signal(int number)
{
    return number == SIGINT    ? "SIGINT"
           : number == SIGTERM ? "SIGTERM"
           : number == SIGHUP  ? "SIGHUP"
           : number == SIGUSR1 ? "SIGUSR1"
                               : "another";
}

/* Writes into its record how the run ended. */
static rlf_status
write_end(rlf_session *s, rlf_err *err)
{
    rlf_err lost = RLF_ERR_NONE;
    rlf_status status;
    if (s->world && s->err.status >= 0 && !s->stop.ended_by)
        rlf_comm_check(s->world, &lost);
    rlf_err gone = RLF_ERR_NONE; /* that was an error of the run already */
    if (rlf_directory_check(s, &gone) < 0)
        status = s->err.status < 0 ? RLF_OK : gone.status;
    else if (s->err.status < 0 || lost.status < 0)
        status = rlf_record_fail(s, s->err.status < 0 ? &s->err : &lost, err);
    else if (s->stop.ended_by)
        status = end_record(s, "stopped", "signal",
                            rlf_record_signal(s->stop.ended_by), err);
    else
        status = end_record(s, s->directory.complete ? "done" : "closed", NULL,
                            NULL, err);
    if (status < 0 && !err->status)
        *err = gone;
    return status;
}

rlf_status
rlf_record_end(rlf_session *s, rlf_err *err)
{
    rlf_status status = s->directory.record.path ? write_end(s, err) : RLF_OK;
    s->directory.record.path = NULL;
    rlf_buf_free(&s->directory.record.text);
    rlf_buf_free(&s->directory.record.warned);
    return status;
}
