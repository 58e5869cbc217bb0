/* rlflow simulate: how long would steps of the program take on a cluster, and
 * what would its ranks do? */
#include "engine/cmd/cmd.h"

int
rlf_cmd_simulate(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_plan(s);
    if (result == RLF_RESULT_OK)
        rlf_cmd_warn(s);
    if (rlf_session_simulate(s)) {
        rlf_cmd_notes(s);
        rlf_cmd_put(s, RLF_TEXT_CLUSTER);
        if (rlf_session_info(s)->automatic)
            rlf_cmd_put(s, RLF_TEXT_PLAN);
        rlf_cmd_put(s, RLF_TEXT_SIMULATION);
        rlf_session_write(s);
    }
    return rlf_cmd_end(s, rlf_session_status(s));
}
