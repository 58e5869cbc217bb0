/* What a run leaves behind: metrics.jsonl, samples.jsonl, plan.rlf.
 *
 * Of two runs of the same program, parameters, seed and data everything here
 * is equal byte for byte, except what stands in "time". */
#include "engine/api/session.h"

#include "engine/io/file.h"
#include "engine/sched/flight.h"

#include <stdio.h>
#include <string.h>

static const char *const journals[] = {"metrics.jsonl", "samples.jsonl"};

static const char *
inside(rlf_session *session, const char *name)
{
    return rlf_path_join(session->arena, session->options.directory, name);
}

rlf_status
rlf_rundir_open(rlf_session *session, rlf_err *err)
{
    const char *dir = session->options.directory;
    rlf_flight_report report;
    if (rlf_flight_read(dir, 0, &report))
        snprintf(session->killed, sizeof session->killed, "%s", report.text);
    if (!session->options.resume &&
        rlf_file_exists(inside(session, "metrics.jsonl"))) {
        rlf_fail(err, RLF_USER, "%s holds a run already", dir);
        rlf_err_hint(err, "go on with it by --resume, or give another "
                          "directory with --out");
        return RLF_USER;
    }
    rlf_status status = rlf_dir_make(dir, err);
    if (status < 0)
        rlf_err_hint(err, "give another directory with --out");
    return status;
}

/* Bytes of the lines of a journal that speak of steps up to `step`. */
static size_t
length_up_to(const rlf_buf *text, uint32_t step)
{
    size_t at = 0;
    while (at < text->n) {
        unsigned number = 0;
        const char *line = text->p + at;
        const char *end = memchr(line, '\n', text->n - at);
        if (!end || sscanf(line, "{\"step\":%u", &number) != 1 || number > step)
            break;
        at = (size_t)(end - text->p) + 1;
    }
    return at;
}

rlf_status
rlf_rundir_cut(rlf_session *session, uint32_t step, rlf_err *err)
{
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        const char *path = inside(session, journals[i]);
        if (!rlf_file_exists(path))
            continue;
        rlf_buf text = {0};
        rlf_status status = rlf_file_read(path, SIZE_MAX, err, &text);
        size_t keep = status < 0 ? 0 : length_up_to(&text, step);
        rlf_buf_free(&text);
        RLF_TRY(status);
        RLF_TRY(rlf_file_truncate(path, keep, err));
    }
    return RLF_OK;
}

rlf_status
rlf_rundir_plan(rlf_session *session, rlf_err *err)
{
    rlf_buf text = {0};
    rlf_plan_print(session->plan, &text);
    rlf_status status =
        rlf_file_write(inside(session, "plan.rlf"), text.p, text.n, err);
    rlf_buf_free(&text);
    return status;
}

static void
put_metrics(const rlf_session *session, rlf_buf *out)
{
    rlf_buf metrics = {0};
    rlf_metrics_json(rlf_run_metrics(session->run), &metrics);
    rlf_buf_printf(out, "{\"step\":%u%s%s,\"tokens\":%llu,\"time\":{",
                   rlf_run_steps(session->run), metrics.n ? "," : "",
                   metrics.n ? metrics.p : "",
                   (unsigned long long)session->tokens);
    rlf_buf_printf(out, "\"seconds\":%.6f}}\n", session->step_seconds);
    rlf_buf_free(&metrics);
}

rlf_status
rlf_rundir_step(rlf_session *session, rlf_err *err)
{
    rlf_buf text = {0};
    put_metrics(session, &text);
    rlf_status status = rlf_file_append(inside(session, "metrics.jsonl"),
                                        text.p, text.n, false, err);
    rlf_buf_clear(&text);
    rlf_run_samples(session->run, session->options.samples, &text);
    if (status >= 0 && text.n)
        status = rlf_file_append(inside(session, "samples.jsonl"), text.p,
                                 text.n, false, err);
    rlf_buf_free(&text);
    return status;
}
