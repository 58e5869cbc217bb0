/* Reports of runs: see rlflow.h. The records that it shows are read by
 * engine/record, the file is written by engine/report; here are the graphs of
 * the programs, which the sessions of their copies draw. */
#include "engine/api/rundir/rundir.h"
#include "engine/api/session.h"
#include "engine/base/option.h"
#include "engine/base/vec.h"
#include "engine/io/output.h"
#include "engine/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct rlf_run_report {
    rlf_arena *arena;
    locale_t locale;
    rlf_err err;
    rlf_buf message;
    const char *path, *diag; /* of --html and --diag, or NULL */
    rlf_outputs outputs;
    RLF_VEC(rlf_report_run) runs;
    uint64_t reads; /* of all records when it was written; 0: it was not yet */
    bool live;      /* it was written so */
};

rlf_run_report *
rlf_run_report_open(void)
{
    rlf_run_report *r = rlf_try_calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->arena = rlf_arena_new();
    r->locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    rlf_err_clear(&r->err);
    return r;
}

void
rlf_run_report_close(rlf_run_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->runs.count; i++)
        rlf_record_close(r->runs.data[i].record);
    RLF_VEC_FREE(&r->runs);
    rlf_buf_free(&r->message);
    if (r->locale)
        freelocale(r->locale);
    rlf_arena_free(r->arena);
    free(r);
}

rlf_result
rlf_run_report_status(const rlf_run_report *r)
{
    return r ? rlf_session_result(r->err.status) : RLF_RESULT_MEMORY;
}

const char *
rlf_run_report_message(rlf_run_report *r)
{
    if (!r)
        return "error: there is no memory for a report\n";
    rlf_buf_clear(&r->message);
    if (r->err.status < 0 && r->diag && strcmp(r->diag, "json") == 0)
        rlf_err_print_json(&r->err, NULL, &r->message);
    else if (r->err.status < 0)
        rlf_err_print(&r->err, NULL, &r->message);
    return r->message.p ? r->message.p : "";
}

/* ---- what it is asked ---- */

static rlf_status
set_option(rlf_run_report *r, const char *name, const char *value, rlf_err *err)
{
    rlf_option option = rlf_option_called(name);
    rlf_option_value read = {0};
    if (option != RLF_OPTION_HTML && option != RLF_OPTION_DIAG)
        return rlf_fail(err, RLF_USAGE, "a report has no option %s", name);
    RLF_TRY(rlf_option_read(option, value, name, err, &read));
    if (option == RLF_OPTION_HTML && strcmp(value, "-") == 0)
        value = "/dev/stdout";
    *(option == RLF_OPTION_HTML ? &r->path : &r->diag) =
        rlf_arena_strdup(r->arena, value);
    if (option == RLF_OPTION_HTML)
        rlf_outputs_add(&r->outputs, r->arena, name, value);
    return RLF_OK;
}

rlf_result
rlf_run_report_set(rlf_run_report *r, const char *name, const char *value)
{
    if (rlf_run_report_status(r) < 0)
        return rlf_run_report_status(r);
    if (!name || !value)
        return rlf_session_result(rlf_fail(&r->err, RLF_USAGE,
                                           "rlf_run_report_set: %s is NULL",
                                           name ? "value" : "name"));
    return rlf_session_result(set_option(r, name, value, &r->err));
}

/* Is it the directory of a run that was added already? A note of that one says
 * so. */
static bool
is_shown(rlf_run_report *r, const rlf_record *record)
{
    struct stat is, other;
    if (stat(record->directory, &is) != 0)
        return false;
    for (size_t i = 0; i < r->runs.count; i++) {
        rlf_record *before = r->runs.data[i].record;
        if (stat(before->directory, &other) != 0 || other.st_ino != is.st_ino ||
            other.st_dev != is.st_dev)
            continue;
        rlf_record_leave_out(before, "%s is the run %s again: it is shown once",
                             record->directory, before->directory);
        return true;
    }
    return false;
}

rlf_result
rlf_run_report_add(rlf_run_report *r, const char *directory)
{
    if (rlf_run_report_status(r) < 0)
        return rlf_run_report_status(r);
    rlf_record *record = rlf_record_open(directory);
    if (!record)
        return rlf_session_result(
            rlf_fail_memory(&r->err, sizeof *record, "the record of a run"));
    if (record->err.status < 0) {
        r->err = record->err;
        rlf_record_close(record);
        return rlf_run_report_status(r);
    }
    if (is_shown(r, record)) {
        rlf_record_close(record);
        return RLF_RESULT_OK;
    }
    RLF_PUSH(&r->runs, (rlf_report_run){.record = record});
    return RLF_RESULT_OK;
}

rlf_record *
rlf_run_report_record(rlf_run_report *r, size_t i)
{
    return r && i < r->runs.count ? r->runs.data[i].record : NULL;
}

const char *
rlf_run_report_path(rlf_run_report *r)
{
    if (!r || !r->runs.count)
        return NULL;
    if (!r->path)
        r->path = r->runs.count > 1 ? "report.html"
                                    : rlf_record_path(r->runs.data[0].record,
                                                      r->arena, "report.html");
    return r->path;
}

/* ---- graphs ---- */

/* The directory of std/... as the run has kept it beside its program, so that
 * the graph is the run's whatever the library has become; NULL: it imported
 * nothing from there. */
static const char *
kept_library(rlf_run_report *r, const rlf_report_run *run,
             const rlf_recorded_input *program)
{
    const char *beside = rlf_record_own(
        run->record, r->arena,
        rlf_path_join(r->arena, rlf_path_parent(r->arena, program->copy),
                      "std"));
    return beside && rlf_dir_exists(beside) ? beside : NULL;
}

/* The graph of the program that the run has kept, with its parameters. A
 * session of the copy finds imports beside it; data and models are not read. */
static void
draw_graph(rlf_run_report *r, rlf_report_run *run)
{
    const rlf_recorded_input *program = rlf_record_program(run->record);
    const rlf_recorded_setting *p;
    const char *path =
        program ? rlf_record_own(run->record, r->arena, program->copy) : NULL;
    if (!path) {
        run->why = program ? "the program's copy is not in the directory"
                           : "the run has kept no program";
        return;
    }
    rlf_session *s = rlf_session_open(path);
    if (s)
        s->options.stdlib = kept_library(r, run, program);
    for (size_t i = 0; (p = rlf_record_parameter(run->record, i)); i++)
        rlf_session_set(s, p->name, p->value);
    const char *graph = rlf_session_graph(s, "json");
    const rlf_diagnostic *d = rlf_session_diagnostic(s, 0);
    if (graph)
        run->graph = rlf_arena_strdup(r->arena, graph);
    else
        run->why = rlf_arena_printf(
            r->arena, "the program's copy is not understood any more: %s",
            d ? d->text : "there is no memory");
    rlf_session_close(s);
}

/* ---- writing ---- */

static rlf_status
check_outputs(rlf_run_report *r, rlf_err *err)
{
    if (!r->runs.count)
        return rlf_fail(err, RLF_USAGE, "there is no run to report");
    if (!r->outputs.count)
        rlf_outputs_add(&r->outputs, r->arena, "--html",
                        rlf_run_report_path(r));
    RLF_TRY(rlf_outputs_try(&r->outputs, err));
    return rlf_outputs_kinds(&r->outputs, NULL, err);
}

/* Reads what is new; *reads counts what was ever read. */
static rlf_status
read_again(rlf_run_report *r, rlf_err *err, uint64_t *reads)
{
    *reads = 0;
    for (size_t i = 0; i < r->runs.count; i++) {
        rlf_report_run *run = &r->runs.data[i];
        uint64_t before = run->record->reads;
        if (rlf_record_refresh(run->record) < 0) {
            *err = run->record->err;
            return err->status;
        }
        if (!run->graph && (!run->why || run->record->reads != before))
            draw_graph(r, run);
        *reads += run->record->reads;
    }
    return RLF_OK;
}

/* A run that is resumed cuts its files, maybe while they are read: then once
 * more. */
static rlf_status
write_report(rlf_run_report *r, bool live, rlf_err *err)
{
    uint64_t reads = 0;
    rlf_err first = RLF_ERR_NONE;
    if (!r->reads)
        RLF_TRY(check_outputs(r, err));
    RLF_TRY(read_again(r, err, &reads));
    if (r->reads == reads && r->live == live)
        return RLF_OK;
    rlf_status status = rlf_report_print(r->runs.data, r->runs.count, live,
                                         rlf_run_report_path(r), &first);
    if (status < 0) {
        RLF_TRY(read_again(r, err, &reads));
        RLF_TRY(rlf_report_print(r->runs.data, r->runs.count, live,
                                 rlf_run_report_path(r), err));
    }
    r->reads = reads;
    r->live = live;
    return RLF_OK;
}

rlf_result
rlf_run_report_write(rlf_run_report *r, int live)
{
    if (rlf_run_report_status(r) < 0)
        return rlf_run_report_status(r);
    locale_t before = rlf_locale_enter(r->locale);
    rlf_status status = write_report(r, live != 0, &r->err);
    rlf_locale_leave(before);
    return rlf_session_result(status);
}
