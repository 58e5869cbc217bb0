/* rlflow data: what data files hold, and rows of them as a model reads them. */
#include "engine/cmd/cmd.h"

int
rlf_cmd_data(const rlf_command_line *line)
{
    const rlf_option_value *split = &line->options[RLF_OPTION_SPLIT],
                           *tokenizer = &line->options[RLF_OPTION_TOKENIZER];
    rlf_session *s = rlf_cmd_open("");
    const char *text =
        rlf_session_data(s, line->files[0], split->given ? split->text : NULL,
                         tokenizer->given ? tokenizer->text : NULL,
                         (size_t)line->options[RLF_OPTION_ROWS].number);
    if (text)
        rlf_cmd_put_text(text, stdout);
    return rlf_cmd_end(s, rlf_session_status(s));
}
