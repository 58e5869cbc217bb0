/* rlflow version: its own, what it was built with, and where its library is. */
#include "engine/cmd/cmd.h"

#include <unistd.h>

int
rlf_cmd_version(const rlf_command_line *line)
{
    (void)line;
    const rlf_build_fact *fact;
    printf("rlflow %s\n", rlf_version());
    for (size_t i = 0; (fact = rlf_build(i)); i++)
        printf("  %-10s %s\n", fact->name, fact->value);
    rlf_session *s = rlf_session_open("");
    const char *stdlib = rlf_session_stdlib(s);
    printf("  %-10s %s%s\n", "stdlib", stdlib,
           access(stdlib, F_OK) == 0 ? "" : " (which is not there)");
    rlf_session_close(s);
    return 0;
}
