/* rlflow params: what can be set on the command line. */
#include "engine/cmd/cmd.h"

#include <string.h>

static const char *
value_of(const rlf_parameter *p)
{
    return p->value ? p->value : "(to be given)";
}

int
rlf_cmd_params(const rlf_command_line *line)
{
    int status, names = 0, values = 0;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    const rlf_parameter *p;
    for (size_t i = 0; (p = rlf_session_parameter(s, i)); i++) {
        int name = (int)strlen(p->name), value = (int)strlen(value_of(p));
        names = name > names ? name : names;
        values = value > values ? value : values;
    }
    for (size_t i = 0; (p = rlf_session_parameter(s, i)); i++)
        printf("%-*s  %-5s  %-*s  %s%s%s%s\n", names, p->name, p->type, values,
               value_of(p), p->doc ? p->doc : "", *p->where ? " (in " : "",
               p->where, *p->where ? ")" : "");
    return rlf_cmd_end(s, rlf_session_status(s));
}
