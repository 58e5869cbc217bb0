/* rlflow graph: the dataflow as text, dot, json or a picture. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_graph(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    const char *text =
        rlf_session_graph(s, line->options[RLF_OPTION_FORMAT].text);
    fputs(text ? text : "", stdout);
    return rlf_cmd_end(s, text ? RLF_RESULT_OK : rlf_session_check(s));
}
