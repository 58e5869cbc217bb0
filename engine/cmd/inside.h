/* What subcommands still see of the library's inside, that rlflow.h does not
 * have: plans, simulations, the world of a run. */
#ifndef RLF_CMD_INSIDE_H
#define RLF_CMD_INSIDE_H

#include "engine/api/session.h"
#include "engine/cmd/cmd.h"

/* Before long work: could the files that options name be written, and are they
 * none of a run, and not the same? A session's files: see rlf_outputs_check. */
rlf_status rlf_cmd_outputs(const rlf_command_line *line, rlf_err *err);
/* Print what the search of `place auto` promised, a line that begins so, if it
 * placed the calls. */
void rlf_cmd_put_promise(const rlf_session *session, const char *begin);

#endif
