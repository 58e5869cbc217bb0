/* rlflow params: what can be set on the command line. */
#include "engine/cmd/cmd.h"

#include <stdio.h>
#include <string.h>

int
rlf_cmd_params(const rlf_command_line *line)
{
    int status;
    rlf_session *s = rlf_cmd_session(line, &status);
    if (!s)
        return status;
    rlf_result result = rlf_session_compile(s, true);
    size_t n = result == RLF_RESULT_OK ? s->graph->params.count : 0;
    int names = 0, values = 0;
    for (size_t i = 0; i < n; i++) {
        const rlf_param *p = &s->graph->params.data[i];
        const char *value = p->value ? p->value : "(to be given)";
        if ((int)strlen(p->name) > names)
            names = (int)strlen(p->name);
        if ((int)strlen(value) > values)
            values = (int)strlen(value);
    }
    for (size_t i = 0; i < n; i++) {
        const rlf_param *p = &s->graph->params.data[i];
        printf("%-*s  %-5s  %-*s  %s%s%s%s\n", names, p->name, p->type, values,
               p->value ? p->value : "(to be given)", p->doc ? p->doc : "",
               p->within && *p->within ? " (in " : "",
               p->within ? p->within : "", p->within && *p->within ? ")" : "");
    }
    return rlf_cmd_end(s, result);
}
