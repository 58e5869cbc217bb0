/* The rows of option.def, for the files that read a command line or describe
 * it. */
#ifndef RLF_BASE_OPTION_TABLE_H
#define RLF_BASE_OPTION_TABLE_H

#include "engine/base/option.h"

/* The kinds of words that are no options. */
typedef enum rlf_words_kind {
    RLF_WORDS_ALONE,    /* files, names */
    RLF_WORDS_SETTINGS, /* names, and settings NAME=VALUE */
    RLF_WORDS_TEXTS     /* any texts, of whatever form */
} rlf_words_kind;

typedef struct rlf_command_row {
    const char *word, *arguments;
    size_t least, most; /* words that are no settings */
    rlf_words_kind words;
    const char *takes, *doc;
} rlf_command_row;

typedef struct rlf_option_row {
    const char *word, *argument, *environment;
    rlf_option_type type;
    const char *preset;
    int64_t least, most;
    uint32_t commands; /* bit per rlf_command */
    const char *doc;
} rlf_option_row;

/* A variable of the environment that presets no option. */
typedef struct rlf_variable_row {
    const char *name;  /* one that ends in _ stands for all that begin so */
    uint32_t commands; /* that read it, a bit per rlf_command */
    const char *doc;   /* "" of those that are of rlflow's own tests */
} rlf_variable_row;

extern const rlf_command_row rlf_command_rows[RLF_COMMANDS];
extern const rlf_option_row rlf_option_rows[RLF_OPTIONS];

/* Ends with a row without a name. */
extern const rlf_variable_row rlf_variable_rows[];

bool rlf_command_takes(rlf_command command, rlf_option option);
/* The variable that presets the option there; "": there is none, or the command
 * does not take the option, or not its variable. */
const char *rlf_command_variable(rlf_command command, rlf_option option);
/* Does the command read that variable, which presets no option? */
bool rlf_command_reads(rlf_command command, const rlf_variable_row *variable);
/* Adds what the help of the command says of an option that it takes. */
void rlf_option_doc(rlf_option option, rlf_command command, rlf_buf *out);

#endif
