/* rlflow explain: what each statement of a program makes, in words. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_explain(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result;
    if (rlf_cmd_dry(s, &result)) {
        rlf_cmd_notes(s);
        rlf_cmd_put(s, RLF_TEXT_EXPLANATION);
    }
    return rlf_cmd_end(s, result);
}
