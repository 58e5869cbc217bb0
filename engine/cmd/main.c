/* The command line to its subcommand; help and version. */
#include "engine/cmd/cmd.h"

#include <stdio.h>

static int
help(const rlf_command_line *line)
{
    rlf_buf text = {0};
    rlf_command command =
        line->n_files ? rlf_command_named(line->files[0]) : RLF_COMMANDS;
    if (line->help)
        command = line->command;
    if (line->n_files && command == RLF_COMMANDS) {
        fprintf(stderr, "rlflow: error: there is no command %s\n",
                line->files[0]);
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
version(const rlf_command_line *line)
{
    (void)line;
    printf("rlflow %s\n", rlf_version());
    return 0;
}

static int (*const commands[RLF_COMMANDS])(const rlf_command_line *) = {
    [RLF_COMMAND_RUN] = rlf_cmd_run,   [RLF_COMMAND_CHECK] = rlf_cmd_check,
    [RLF_COMMAND_PLAN] = rlf_cmd_plan, [RLF_COMMAND_GRAPH] = rlf_cmd_graph,
    [RLF_COMMAND_FMT] = rlf_cmd_fmt,   [RLF_COMMAND_PARAMS] = rlf_cmd_params,
    [RLF_COMMAND_HELP] = help,         [RLF_COMMAND_VERSION] = version,
};

int
rlf_cmd_main(int argc, char **argv, const rlf_backend *const *backends)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_command_line line;
    int status;
    if (rlf_command_line_read(argc, argv, arena, &err, &line) < 0) {
        rlf_buf text = {0};
        rlf_err_print(&err, NULL, &text);
        fputs(text.p, stderr);
        rlf_buf_free(&text);
        status = 2;
    } else {
        line.backends = backends;
        status = line.help ? help(&line) : commands[line.command](&line);
    }
    rlf_arena_free(arena);
    return status;
}
