/* rlflow doctor: what this machine has, how fast it is, and what would help. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_doctor(const rlf_command_line *line)
{
    const rlf_build_fact *fact;
    rlf_session *s = rlf_cmd_open("");
    printf("%-14s %s\n", "rlflow", rlf_version());
    for (size_t i = 0; (fact = rlf_build(i)); i++)
        printf("%-14s %s\n", fact->name, fact->value);
    putchar('\n');
    const char *text =
        rlf_session_machine(s, line->n_files ? line->files[0] : NULL);
    rlf_cmd_put_text(text ? text : "", stdout);
    return rlf_cmd_end(s, rlf_session_status(s));
}
