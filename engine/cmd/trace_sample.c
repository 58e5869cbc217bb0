/* rlflow trace-sample: a sample of a run made again, with every number on its
 * way. */
#define _XOPEN_SOURCE 700 // realpath
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
read_whole(const char *what, const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    if (!*end && *text && *text != '-' && *text != '+')
        return true;
    rlf_err err = RLF_ERR_NONE;
    rlf_fail(&err, RLF_USAGE, "the %s is '%s', and is a whole number", what,
             text);
    rlf_err_hint(&err, "'rlflow samples RUN' shows the numbers of samples and "
                       "their steps");
    rlf_cmd_say(&err);
    return false;
}

/* The run's paths are counted from the directory in which it was started. */
static void
go_there(rlf_record *record)
{
    const rlf_recorded_start *start;
    const char *last = NULL;
    for (size_t i = 0; (start = rlf_record_start(record, i)); i++)
        last = start->host_directory;
    if (last && *last && chdir(last) != 0)
        rlf_cmd_aside("%s, where the run was started, is not there\n", last);
}

/* How much is done again, and how long that took. */
static void
announce(rlf_record *record, uint64_t from, uint64_t step)
{
    const rlf_recorded_metric *m = rlf_record_metric_called(record, "seconds");
    double seconds = 0;
    for (size_t i = 0; m && i < m->n; i++)
        if (m->step[i] > from && m->step[i] <= step)
            seconds += m->value[i];
    uint64_t n = step - from;
    char origin[64] = "the beginning";
    if (from)
        snprintf(origin, sizeof origin, "the checkpoint of step %" PRIu64,
                 from);
    rlf_cmd_aside("%" PRIu64 " %s made again, from %s; the run took %.3g s "
                  "for %s\n",
                  n, n == 1 ? "step is" : "steps are", origin, seconds,
                  n == 1 ? "it" : "them");
}

static int
trace(const rlf_command_line *line, rlf_record *record, uint64_t step,
      uint64_t sample)
{
    const rlf_option_value *o = line->options;
    rlf_session *s = rlf_session_open_sample(
        record, step, o[RLF_OPTION_SET].given ? o[RLF_OPTION_SET].text : NULL,
        sample);
    rlf_result result = rlf_session_status(s);
    if (result == RLF_RESULT_OK && o[RLF_OPTION_DIAG].given)
        rlf_session_set(s, "--diag", o[RLF_OPTION_DIAG].text);
    if (result == RLF_RESULT_OK) {
        announce(record, rlf_session_sample_from(s), step);
        result = rlf_session_status(s);
    }
    while (result == RLF_RESULT_OK && rlf_session_steps(s) < step)
        result = rlf_session_step(s);
    rlf_cmd_warnings(s);
    const char *text =
        result == RLF_RESULT_OK
            ? rlf_session_sample_trace(s, o[RLF_OPTION_JSON].given)
            : NULL;
    if (text)
        fputs(text, stdout);
    return rlf_cmd_end(s, result);
}

int
rlf_cmd_trace_sample(const rlf_command_line *line)
{
    uint64_t step, sample;
    int status = 0;
    if (!read_whole("step", line->files[1], &step) ||
        !read_whole("sample", line->files[2], &sample))
        return 2;
    char *whole = realpath(line->files[0], NULL);
    rlf_record *record = rlf_cmd_record(whole ? whole : line->files[0], &status);
    free(whole);
    if (!record)
        return status;
    go_there(record);
    status = trace(line, record, step, sample);
    rlf_record_close(record);
    return status;
}
