/* rlflow data: what data files hold, and rows of them as a model reads them. */
#include "engine/cmd/cmd.h"

#include <string.h>
#include <unistd.h>

/* On a terminal with colours what an assistant says has one, to the end of the
 * line at most. */
static void
put_data(const char *text)
{
    static const char color[] = "\033[32m", reset[] = "\033[0m";
    static const char open[] = "\xe2\x9f\xa6", close[] = "\xe2\x9f\xa7";
    const size_t n = sizeof open - 1, m = sizeof close - 1;
    if (!rlf_cmd_colors(STDOUT_FILENO)) {
        rlf_cmd_put_text(text, stdout);
        return;
    }
    rlf_buf out = {0};
    bool colored = false;
    for (const char *at = text; *at;) {
        if (strncmp(at, open, n) == 0) {
            rlf_buf_printf(&out, "%s%s", color, open);
            colored = true;
            at += n;
        } else if (strncmp(at, close, m) == 0) {
            rlf_buf_printf(&out, "%s%s", close, reset);
            colored = false;
            at += m;
        } else {
            if (*at == '\n' && colored)
                rlf_buf_puts(&out, reset);
            colored &= *at != '\n';
            rlf_buf_putc(&out, *at++);
        }
    }
    fwrite(out.p ? out.p : "", 1, out.n, stdout);
    rlf_buf_free(&out);
}

int
rlf_cmd_data(const rlf_command_line *line)
{
    const rlf_option_value *split = &line->options[RLF_OPTION_SPLIT],
                           *tokenizer = &line->options[RLF_OPTION_TOKENIZER];
    int status;
    rlf_session *s = rlf_cmd_session_of(line, "", &status);
    if (!s)
        return status;
    const char *text =
        rlf_session_data(s, line->files[0], split->given ? split->text : NULL,
                         tokenizer->given ? tokenizer->text : NULL,
                         (size_t)line->options[RLF_OPTION_ROWS].number);
    if (text)
        put_data(text);
    return rlf_cmd_end(s, rlf_session_status(s));
}
