/* rlflow report: runs as one HTML file. With --watch it is written again while
 * they go on. */
#include "engine/base/option_table.h"
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signalled;

static void
on_signal(int number)
{
    signalled = number;
}

static rlf_result
take_options(rlf_run_report *r, const rlf_command_line *line)
{
    static const int options[] = {RLF_OPTION_DIAG, RLF_OPTION_HTML};
    rlf_result result = RLF_RESULT_OK;
    for (size_t i = 0; i < 2 && result == RLF_RESULT_OK; i++) {
        const rlf_option_value *v = &line->options[options[i]];
        char name[RLF_CMD_NAME];
        if (v->text)
            result = rlf_run_report_set(
                r, rlf_cmd_spelled(line, options[i], name), v->text);
    }
    for (size_t i = 0; i < line->n_files && result == RLF_RESULT_OK; i++)
        result = rlf_run_report_add(r, line->files[i]);
    return result;
}

static bool
goes_on(rlf_run_report *r)
{
    rlf_record *record;
    for (size_t i = 0; (record = rlf_run_report_record(r, i)); i++) {
        rlf_run_state state = rlf_record_run(record)->state;
        if (state == RLF_RUN_GOES_ON || state == RLF_RUN_COPIED)
            return true;
    }
    return false;
}

/* Until the runs end or a signal comes. What takes long to write is written
 * less often. */
static rlf_result
watch(rlf_run_report *r)
{
    const double least = 2, times = 10; /* seconds; of the time that it takes */
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    rlf_result result = RLF_RESULT_OK;
    while (result == RLF_RESULT_OK && !signalled && goes_on(r)) {
        double begun = rlf_cmd_now();
        result = rlf_run_report_write(r, 1);
        double wait = times * (rlf_cmd_now() - begun);
        wait = wait < least ? least : wait;
        struct timespec pause = {.tv_sec = (time_t)wait};
        if (result == RLF_RESULT_OK && !signalled && goes_on(r))
            nanosleep(&pause, NULL); /* a signal ends it */
    }
    return result;
}

/* Did the report go where results are printed? */
static bool
is_standard(const char *path)
{
    struct stat is, out;
    return stat(path, &is) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
           is.st_ino == out.st_ino && is.st_dev == out.st_dev;
}

static void
put_written(rlf_run_report *r)
{
    rlf_record *record;
    uint64_t runs = 0, samples = 0;
    for (size_t i = 0; (record = rlf_run_report_record(r, i)); i++) {
        const char *note;
        runs++;
        samples += rlf_record_run(record)->samples;
        for (size_t k = 0; (note = rlf_record_note(record, k)); k++)
            rlf_cmd_aside("warning: %s\n", note);
    }
    if (is_standard(rlf_run_report_path(r)))
        return;
    rlf_cmd_line("%s: %" PRIu64 " run%s, %" PRIu64 " sample%s\n",
                 rlf_run_report_path(r), runs, runs == 1 ? "" : "s", samples,
                 samples == 1 ? "" : "s");
}

int
rlf_cmd_report(const rlf_command_line *line)
{
    rlf_run_report *r = rlf_run_report_open();
    rlf_result result = take_options(r, line);
    if (result == RLF_RESULT_OK && line->options[RLF_OPTION_WATCH].given) {
        if (!goes_on(r))
            rlf_cmd_aside("none of the runs goes on: the report is written "
                          "once\n");
        result = watch(r);
    }
    if (result == RLF_RESULT_OK)
        result = rlf_run_report_write(r, 0);
    if (result == RLF_RESULT_OK)
        put_written(r);
    result = rlf_run_report_status(r);
    fflush(stdout);
    rlf_cmd_put_whole(rlf_run_report_message(r));
    rlf_run_report_close(r);
    return rlf_cmd_status(result);
}
