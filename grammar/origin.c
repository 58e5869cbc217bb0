/* See origin.h. */
#include "grammar/origin.h"

#include <stdio.h>
#include <string.h>

static bool
read_line(const char *line, rlf_plan_origin *out)
{
    char plan[RLF_DIGEST_TEXT];
    return sscanf(line,
                  "# plan %32[0-9a-f], program %32[0-9a-f], "
                  "shape %32[0-9a-f], ranks %d, file %127[^\r\n]",
                  plan, out->program, out->shape, &out->ranks,
                  out->file) == 5 &&
           strlen(out->program) == RLF_DIGEST_TEXT - 1 &&
           strlen(out->shape) == RLF_DIGEST_TEXT - 1 && out->ranks > 0;
}

bool
rlf_plan_origin_find(const rlf_sources *sources, uint32_t source,
                     rlf_plan_origin *out)
{
    const char *text = rlf_sources_get(sources, source)->text;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (read_line(line, out)) {
            uint32_t first = (uint32_t)(line - text);
            out->span = (rlf_span){source, first, first + (uint32_t)n, 0};
            return true;
        }
        line += n + (line[n] == '\n');
    }
    return false;
}
