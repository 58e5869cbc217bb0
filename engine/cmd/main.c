/* The command line to its subcommand; help and completion. */
#include "engine/cmd/cmd.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static int
help(const rlf_command_line *line)
{
    rlf_buf text = {0};
    rlf_command command =
        line->n_files ? rlf_command_named(line->files[0]) : RLF_COMMANDS;
    if (line->help)
        command = line->command;
    if (line->n_files && command == RLF_COMMANDS) {
        rlf_err err = RLF_ERR_NONE;
        rlf_fail(&err, RLF_USAGE, "there is no command %s", line->files[0]);
        const char *near = rlf_command_near(line->files[0]);
        if (near)
            rlf_err_hint(&err, "did you mean %s", near);
        else
            rlf_err_hint(&err, "rlflow help lists the commands");
        rlf_cmd_say(&err);
        return 2;
    }
    if (command == RLF_COMMANDS)
        rlf_commands_help(&text);
    else
        rlf_command_help(command, &text);
    fputs(text.p, stdout);
    rlf_buf_free(&text);
    return 0;
}

static int
completion(const rlf_command_line *line)
{
    const char *shell = line->files[0];
    rlf_buf text = {0};
    if (strcmp(shell, "bash") == 0)
        rlf_complete_bash(&text);
    else if (strcmp(shell, "zsh") == 0)
        rlf_complete_zsh(&text);
    else {
        rlf_err err = RLF_ERR_NONE;
        rlf_fail(&err, RLF_USAGE, "completion takes one shell, bash or zsh");
        rlf_err_hint(&err, "rlflow completion bash");
        rlf_cmd_say(&err);
        return 2;
    }
    fputs(text.p, stdout);
    rlf_buf_free(&text);
    return 0;
}

static int (*const commands[RLF_COMMANDS])(const rlf_command_line *) = {
    [RLF_COMMAND_RUN] = rlf_cmd_run,
    [RLF_COMMAND_CHECK] = rlf_cmd_check,
    [RLF_COMMAND_CLUSTER] = rlf_cmd_cluster,
    [RLF_COMMAND_PLAN] = rlf_cmd_plan,
    [RLF_COMMAND_SIMULATE] = rlf_cmd_simulate,
    [RLF_COMMAND_PROFILE] = rlf_cmd_profile,
    [RLF_COMMAND_SCHEDULE] = rlf_cmd_schedule,
    [RLF_COMMAND_EXPLAIN] = rlf_cmd_explain,
    [RLF_COMMAND_DOCTOR] = rlf_cmd_doctor,
    [RLF_COMMAND_WATCH] = rlf_cmd_watch,
    [RLF_COMMAND_RUN_SAMPLES] = rlf_cmd_samples,
    [RLF_COMMAND_TRACE_SAMPLE] = rlf_cmd_trace_sample,
    [RLF_COMMAND_COMPARE] = rlf_cmd_compare,
    [RLF_COMMAND_GRAPH] = rlf_cmd_graph,
    [RLF_COMMAND_DATA] = rlf_cmd_data,
    [RLF_COMMAND_GENERATE] = rlf_cmd_generate,
    [RLF_COMMAND_EVAL] = rlf_cmd_eval,
    [RLF_COMMAND_INSPECT] = rlf_cmd_inspect,
    [RLF_COMMAND_MERGE] = rlf_cmd_merge,
    [RLF_COMMAND_REPORT] = rlf_cmd_report,
    [RLF_COMMAND_TOKENIZE] = rlf_cmd_tokenize,
    [RLF_COMMAND_FMT] = rlf_cmd_fmt,
    [RLF_COMMAND_LSP] = rlf_cmd_lsp,
    [RLF_COMMAND_PARAMS] = rlf_cmd_params,
    [RLF_COMMAND_COMPLETION] = completion,
    [RLF_COMMAND_HELP] = help,
    [RLF_COMMAND_VERSION] = rlf_cmd_version,
};

/* So that what is printed to an output that was closed by who started this does
 * not go into the file or connection that is opened next. The standard output
 * then takes nothing, which is noticed like a full disk. */
static void
hold_standard_files(void)
{
    int fd;
    do {
        fd = open("/dev/null", O_RDWR);
        if (fd == STDOUT_FILENO) {
            close(fd);
            fd = open("/dev/null", O_RDONLY);
        }
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* The exit status: what was printed may not have got where it should, such as
 * into a file on a disk that is full. */
static int
end_output(int status)
{
    rlf_err err = RLF_ERR_NONE;
    bool before = ferror(stdout);
    if (fflush(stdout) == 0 && !before)
        return status;
    /* Of an error before it is not known any more why, since others have set
     * errno: a byte more, of a text that has a hole already, tells. */
    if (before && write(STDOUT_FILENO, "\n", 1) >= 0)
        rlf_fail(&err, RLF_ENV, "cannot write to the standard output");
    else
        rlf_fail_errno(&err, "cannot write to the standard output");
    rlf_cmd_say(&err);
    return status ? status : rlf_cmd_status(RLF_RESULT_FAILED);
}

/* A variable that nobody reads is a mistake, or of somebody else: that is said,
 * and all goes on. Of several processes the first one says it. */
static void
warn_of_environment(void)
{
    rlf_buf text = {0};
    if (rlf_process() == 0)
        rlf_command_environment(environ, &text);
    if (text.n)
        rlf_cmd_put_message(text.p);
    rlf_buf_free(&text);
}

/* There is no memory for something small: no more than this can be done. What
 * is on disk is as whole as after a kill. */
static void
end_without_memory(size_t n)
{
    char text[128];
    int length =
        snprintf(text, sizeof text,
                 rlf_cmd_diag_json()
                     ? "{\"severity\": \"error\", \"code\": \"run\", \"text\": "
                       "\"out of memory (%zu bytes asked for)\"}\n"
                     : "rlflow: error: out of memory (%zu bytes asked for)\n",
                 n);
    ssize_t told = write(STDERR_FILENO, text, (size_t)length);
    (void)told;
    _exit(-RLF_RESULT_FAILED);
}

static int
run_command(void *arg)
{
    const rlf_command_line *line = arg;
    return line->help ? help(line) : commands[line->command](line);
}

int
rlf_cmd_main(int argc, char **argv)
{
    rlf_memory_on_failure(end_without_memory);
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_command_line line;
    int status;
    hold_standard_files();
    rlf_cmd_diag(argc, argv);
    warn_of_environment();
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow: as on a full disk */
    if (rlf_command_line_read(argc, argv, arena, &err, &line) < 0) {
        rlf_cmd_say(&err);
        status = 2;
    } else {
        status = rlf_cmd_with_stack(run_command, &line);
    }
    rlf_arena_free(arena);
    return end_output(status);
}
