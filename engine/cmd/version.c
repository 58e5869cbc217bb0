/* rlflow version: its own, what it was built with, and where its library is. */
#include "engine/cmd/cmd.h"

#include "engine/io/file.h"

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
    rlf_arena *arena = rlf_arena_new();
    const char *stdlib = rlf_session_stdlib(arena);
    printf("  %-10s %s%s\n", "stdlib", stdlib,
           rlf_dir_exists(stdlib) ? "" : " (which is not there)");
    rlf_arena_free(arena);
    return 0;
}
