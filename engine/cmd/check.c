/* rlflow check: is the program right, what would it take, what runs where? */
#include "engine/cmd/cmd.h"

#include <inttypes.h>
#include <stdio.h>

static void
put_right(rlf_session *s, bool given)
{
    const rlf_info *info = rlf_session_info(s);
    uint64_t steps = rlf_session_steps_wanted(s);
    rlf_cmd_line("%s: %s is right: %" PRIu64 " node%s, %" PRIu64 " value%s",
                 info->path, info->name, info->nodes,
                 info->nodes == 1 ? "" : "s", info->values,
                 info->values == 1 ? "" : "s");
    if (info->single)
        printf(", one step unless --steps says more: it draws no rows");
    else if (steps)
        printf(", %" PRIu64 " %s%s", steps, steps == 1 ? "step" : "steps",
               given ? "" : " an epoch");
    putchar('\n');
}

int
rlf_cmd_check(const rlf_command_line *line)
{
    int status;
    if (rlf_cmd_check_cluster(line, &status))
        return status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result;
    if (rlf_cmd_dry(s, &result)) {
        put_right(s, line->options[RLF_OPTION_STEPS].given);
        rlf_cmd_notes(s);
        rlf_cmd_put(s, RLF_TEXT_UPDATES);
        putchar('\n');
        rlf_cmd_put(s, RLF_TEXT_PLAN);
        rlf_cmd_put(s, RLF_TEXT_NEEDS);
        result = rlf_session_fit(s);
    }
    return rlf_cmd_end(s, result);
}
