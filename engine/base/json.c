/* See json.h. */
#include "engine/base/json.h"

#include <string.h>

void
rlf_json_text(rlf_buf *out, const char *key, const char *text)
{
    rlf_buf_printf(out, "\"%s\":", key);
    if (text)
        rlf_buf_json(out, text, strlen(text));
    else
        rlf_buf_puts(out, "null");
}
