/* rlflow profile: what the pieces of a program take on this machine. */
#include "engine/cmd/cmd.h"

/* A line for each cut: how its models are cut, then what came of it. */
static int
show(void *arg, const rlf_progress *progress)
{
    (void)arg;
    rlf_cmd_aside("%s%s", progress->text, progress->done > 0 ? "\n" : ": ");
    return 0;
}

int
rlf_cmd_profile(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_profile(s, show, NULL);
    if (result == RLF_RESULT_OK)
        result = rlf_session_write(s);
    if (result == RLF_RESULT_OK) {
        if (!line->options[RLF_OPTION_TABLE].given)
            rlf_cmd_put(s, RLF_TEXT_PROFILE);
        rlf_cmd_notes(s);
    }
    return rlf_cmd_end(s, result);
}
