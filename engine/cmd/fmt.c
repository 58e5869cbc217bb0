/* rlflow fmt: programs in the standard form, to stdout or into the files. */
#include "engine/cmd/cmd.h"

#include "engine/io/output.h"
#include "grammar/parse.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
format(const char *path, bool write)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_sources sources = {.arena = arena,
                           .columns = rlf_cmd_columns(STDERR_FILENO)};
    rlf_diags diags = {.arena = arena, .sources = &sources};
    rlf_err err = RLF_ERR_NONE;
    rlf_buf text = {0}, message = {0};
    uint32_t source;
    rlf_status status = rlf_sources_read(&sources, path, &err, &source);
    if (status >= 0) {
        rlf_ast_program *program = rlf_parse(&sources, source, arena, &diags);
        if (!rlf_fmt(&sources, program, &text))
            status = RLF_USER;
    }
    if (status >= 0 && !write)
        fputs(text.p ? text.p : "", stdout);
    const rlf_source *s =
        status >= 0 ? rlf_sources_get(&sources, source) : NULL;
    if (s && write && (s->size != text.n || memcmp(s->text, text.p, text.n)))
        status = rlf_output_write(path, text.p, text.n, &err);
    bool json = rlf_cmd_diag_json();
    (json ? rlf_diags_print_json : rlf_diags_print)(&diags, &message);
    if (err.status < 0)
        (json ? rlf_err_print_json : rlf_err_print)(&err, &sources, &message);
    if (message.n && json)
        rlf_cmd_put_text(message.p, stderr);
    else if (message.n)
        rlf_cmd_put_message(message.p);
    rlf_buf_free(&text);
    rlf_buf_free(&message);
    rlf_arena_free(arena);
    return status >= 0 ? 0 : status == RLF_USER ? 1 : 3;
}

int
rlf_cmd_fmt(const rlf_command_line *line)
{
    int status = 0;
    for (size_t i = 0; i < line->n_files; i++) {
        int one = format(line->files[i], line->options[RLF_OPTION_WRITE].given);
        if (one > status)
            status = one;
    }
    return status;
}
