/* rlflow version: its own, and what it was built with. */
#include "engine/cmd/cmd.h"

#include <stdio.h>

int
rlf_cmd_version(const rlf_command_line *line)
{
    (void)line;
    size_t n;
    const rlf_build_fact *facts = rlf_build_facts(&n);
    printf("rlflow %s\n", rlf_version());
    for (size_t i = 0; i < n; i++)
        printf("  %-10s %s\n", facts[i].name, facts[i].value);
    return 0;
}
