/* rlflow merge: a model and an adapter of it as one model. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_merge(const rlf_command_line *line)
{
    rlf_session *s = rlf_cmd_open("");
    const char *text =
        rlf_session_merge(s, line->files[0], line->files[1], line->files[2]);
    if (text)
        rlf_cmd_put_text(text, stdout);
    return rlf_cmd_end(s, rlf_session_status(s));
}
