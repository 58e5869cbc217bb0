/* Where a tokenizer's chat template is. */
#ifndef RLF_TEXT_TEMPLATE_H
#define RLF_TEXT_TEMPLATE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* The chat template beside a tokenizer: that of chat_template.jinja, else what
 * tokenizer_config.json says, where of several that have names it is
 * "default". `path` as for rlf_tokenizer_open. *source and *file, the file that
 * it is of, are in `arena`; source->p NULL: there is none. RLF_USER where there
 * are several and none is the default. */
rlf_status rlf_tokenizer_template(const char *path, rlf_arena *arena,
                                  rlf_err *err, const char **file,
                                  rlf_str *source);

#endif
