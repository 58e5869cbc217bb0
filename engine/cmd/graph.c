/* rlflow graph: the dataflow as text, dot or json. */
#include "engine/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

int
rlf_cmd_graph(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_check(s);
    if (result == RLF_RESULT_OK) {
        const char *format = line->options[RLF_OPTION_FORMAT].text;
        rlf_buf text = {0};
        if (strcmp(format, "dot") == 0)
            rlf_graph_dump_dot(s->graph, &text);
        else if (strcmp(format, "json") == 0)
            rlf_graph_dump_json(s->graph, &text);
        else
            rlf_graph_dump_text(s->graph, &text);
        fputs(text.p, stdout);
        rlf_buf_free(&text);
    }
    return rlf_cmd_end(s, result);
}
