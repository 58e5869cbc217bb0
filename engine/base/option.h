/* The command line: commands, options, files and NAME=VALUE settings.
 *
 * All that exists stands in option.def. A value is taken from the command
 * line, else from the option's environment variable (of a FLAG: 1 or 0), else
 * from its preset.
 * Options may stand anywhere after the command, as --name value or
 * --name=value, where alone a value may begin with two dashes; `--` ends
 * them. What may be an error is one: an option that the command does not take
 * is never ignored, nor is one that has no effect beside the others, a word or a
 * NAME=VALUE. */
#ifndef RLF_BASE_OPTION_H
#define RLF_BASE_OPTION_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

typedef enum rlf_command {
#define COMMAND(name, ...) RLF_COMMAND_##name,
#include "engine/base/option.def"
#undef COMMAND
    RLF_COMMANDS
} rlf_command;

typedef enum rlf_option {
#define OPTION(name, ...) RLF_OPTION_##name,
#include "engine/base/option.def"
#undef OPTION
    RLF_OPTIONS
} rlf_option;

typedef enum rlf_option_type {
    RLF_OPTION_IS_FLAG,
    RLF_OPTION_IS_INT,
    RLF_OPTION_IS_WORD,
    RLF_OPTION_IS_TEXT,
    RLF_OPTION_IS_INPUT, /* a TEXT: a file that is read, or something else */
    RLF_OPTION_IS_OUTPUT /* a TEXT: a file that is written */
} rlf_option_type;

typedef struct rlf_option_value {
    bool given;           /* the command line or the environment gives it */
    const char *variable; /* the environment variable that gave it, or NULL */
    const char *letter;   /* "-o" where it was given so, or NULL */
    const char *text;     /* NULL: no value, not even a preset */
    /* The number of an INT that has a value; 1 of a given FLAG. */
    int64_t number;
} rlf_option_value;

typedef struct rlf_setting {
    const char *name, *value;
} rlf_setting;

/* A read command line; texts live in argv, the environment and the arena. */
typedef struct rlf_command_line {
    int argc; /* the number of arguments, as main had it */
    char *const *argv;
    rlf_command command;
    bool help; /* --help was given */
    rlf_option_value options[RLF_OPTIONS];
    /* Arguments that are neither option nor setting, in order. */
    const char **files;
    size_t n_files;
    rlf_setting *settings; /* NAME=VALUE, in order */
    size_t n_settings;
} rlf_command_line;

/* Read argv[1..argc-1]. Fails with RLF_USAGE. With --help in the place of a
 * command, the command is `help`; --version there is `version`. */
rlf_status rlf_command_line_read(int argc, char *const *argv, rlf_arena *arena,
                                 rlf_err *err, rlf_command_line *out);
/* Of the environment ("NAME=VALUE" each, ended by NULL): say in *out, a warning
 * with a hint each, which variables RLFLOW_... are none that rlflow reads. */
void rlf_command_environment(char *const *environment, rlf_buf *out);
/* The help of one command. */
void rlf_command_help(rlf_command command, rlf_buf *out);
/* The overview of all commands. */
void rlf_commands_help(rlf_buf *out);
/* Completion for the shells, as texts that they read. */
void rlf_complete_bash(rlf_buf *out);
void rlf_complete_zsh(rlf_buf *out);
/* The one that is spelled so on a command line: "--table", "-o". */
rlf_option rlf_option_called(const char *spelled);
/* The whole number from 0 that an environment variable has; `preset` where it
 * is not set, or empty. RLF_USAGE if it has anything else. */
rlf_status rlf_variable_number(const char *name, int64_t preset, rlf_err *err,
                               int64_t *out);
/* Reads the value of an option from a text, which `from` has given ("--seed", a
 * variable): RLF_USAGE if its row does not allow it. */
rlf_status rlf_option_read(rlf_option option, const char *text,
                           const char *from, rlf_err *err,
                           rlf_option_value *value);
/* The command called `word`, or RLF_COMMANDS. */
rlf_command rlf_command_named(const char *word);
/* The command whose name is most like `word`; NULL: none is. */
const char *rlf_command_near(const char *word);

#endif
