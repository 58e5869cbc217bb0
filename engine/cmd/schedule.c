/* rlflow schedule: several models in one pipeline at the same time. Prints how
 * long that takes, and writes the table that a program's `schedule: "FILE"`
 * runs. */
#include "engine/base/option_table.h"
#include "engine/cmd/cmd.h"

#include <signal.h>

static volatile sig_atomic_t signalled;

static void
on_signal(int number)
{
    signalled = number;
}

static int
is_over(void *arg, const rlf_progress *progress)
{
    (void)arg;
    (void)progress;
    return signalled;
}

static rlf_result
take_options(rlf_schedule *s, const rlf_command_line *line)
{
    rlf_result result = RLF_RESULT_OK;
    for (int i = 0; i < RLF_OPTIONS && result == RLF_RESULT_OK; i++) {
        const rlf_option_value *v = &line->options[i];
        char name[RLF_CMD_NAME];
        if (v->text && i != RLF_OPTION_CURVE)
            result =
                rlf_schedule_set(s, rlf_cmd_spelled(line, i, name), v->text);
    }
    return result;
}

/* Memory may have any unit, bytes too. */
static void
put_memory(double x)
{
    printf(x < 1e6 ? "%9.2f" : "%9.4g", x);
}

static void
put_curve(rlf_schedule *s)
{
    const rlf_schedule_point *p;
    printf("\n%9s %10s %10s %10s %9s\n", "cap", "makespan", "of bound", "waits",
           "peak");
    for (size_t i = 0; (p = rlf_schedule_curve(s, i)); i++) {
        put_memory(p->cap);
        printf(" %10g %8.1f %% %8.1f %% ", p->makespan,
               100 * p->makespan / p->bound, 100 * p->waits);
        put_memory(p->peak);
        putchar('\n');
        fflush(stdout);
    }
}

int
rlf_cmd_schedule(const rlf_command_line *line)
{
    rlf_schedule *s = rlf_schedule_open();
    rlf_result result = take_options(s, line);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    if (result == RLF_RESULT_OK && rlf_schedule_search(s, is_over, NULL)) {
        fputs(rlf_schedule_report(s), stdout);
        result = rlf_schedule_write(s);
        if (result == RLF_RESULT_OK && line->options[RLF_OPTION_CURVE].given)
            put_curve(s);
    }
    result = rlf_schedule_status(s);
    fflush(stdout);
    rlf_cmd_put_whole(rlf_schedule_message(s));
    rlf_schedule_close(s);
    if (result < 0)
        return rlf_cmd_status(result);
    if (!signalled)
        return 0;
    rlf_cmd_aside("rlflow: stopped by signal %d; the schedule is the best "
                  "that was found until then\n",
                  (int)signalled);
    return 128 + (int)signalled;
}
