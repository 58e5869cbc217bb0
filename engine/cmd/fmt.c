/* rlflow fmt: programs in the standard form, to stdout or into the files. */
#include "engine/cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

/* As messages call it. */
static const char standard_input[] = "standard input";
/* A program has 16 MB at most; one byte more is told to be too many. */
enum { TEXT_MOST = (16 << 20) + 1 };

/* All of the standard input. NULL: there is no memory, or it cannot be read. */
static char *
read_input(size_t *n)
{
    char *text = malloc(TEXT_MOST);
    *n = text ? fread(text, 1, TEXT_MOST, stdin) : 0;
    if (text && !ferror(stdin))
        return text;
    free(text);
    return NULL;
}

/* For an editor, which has the program and no file of it. */
static int
format_input(bool write)
{
    rlf_err err = RLF_ERR_NONE;
    size_t n;
    char *text = write ? NULL : read_input(&n);
    if (!text) {
        if (write)
            rlf_fail(&err, RLF_USAGE, "--write takes files, and - is none");
        else
            rlf_fail(&err, RLF_ENV, "cannot read the standard input");
        rlf_cmd_say(&err);
        return write ? 2 : 3;
    }
    rlf_session *s = rlf_session_open_text(standard_input, text, n);
    free(text);
    if (rlf_cmd_diag_json())
        rlf_session_set(s, "--diag", "json");
    const char *form = rlf_session_format(s);
    fputs(form ? form : "", stdout);
    return rlf_cmd_end(s, rlf_session_status(s));
}

static int
format(const char *path, bool write)
{
    if (strcmp(path, "-") == 0)
        return format_input(write);
    rlf_session *s = rlf_cmd_open(path);
    const char *text = write ? NULL : rlf_session_format(s);
    if (write)
        rlf_session_format_file(s);
    fputs(text ? text : "", stdout);
    return rlf_cmd_end(s, rlf_session_status(s));
}

int
rlf_cmd_fmt(const rlf_command_line *line)
{
    int status = 0;
    for (size_t i = 0; i < line->n_files; i++) {
        int one = format(line->files[i], line->options[RLF_OPTION_WRITE].given);
        if (one > status)
            status = one;
    }
    return status;
}
