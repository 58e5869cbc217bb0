/* rlflow lsp: a language server for editors. */
#include "engine/cmd/cmd.h"

#include "engine/lsp/lsp.h"

#include <unistd.h>

int
rlf_cmd_lsp(const rlf_command_line *line)
{
    (void)line;
    return rlf_lsp_serve(STDIN_FILENO, STDOUT_FILENO);
}
