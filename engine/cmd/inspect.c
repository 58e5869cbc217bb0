/* rlflow inspect: what a directory is as a model, and what it would take. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_inspect(const rlf_command_line *line)
{
    rlf_session *s = rlf_cmd_open("");
    bool json = line->options[RLF_OPTION_JSON].given;
    const char *text = rlf_session_model(s, line->files[0], json);
    rlf_result result = rlf_session_status(s);
    if (!text)
        return rlf_cmd_end(s, result);
    rlf_cmd_put_text(text, stdout);
    if (json || rlf_cmd_diag_json() || result == RLF_RESULT_OK)
        return rlf_cmd_end(s, result);
    rlf_session_close(s); /* the text has what is wrong, with its hint */
    return rlf_cmd_status(result);
}
