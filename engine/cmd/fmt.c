/* rlflow fmt: programs in the standard form, to stdout or into the files. */
#include "engine/cmd/cmd.h"

static int
format(const char *path, bool write)
{
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
