/* Files of a tokenizer's chat templates. */
#ifndef RLF_TEXT_TEMPLATE_H
#define RLF_TEXT_TEMPLATE_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

#include <stddef.h>

/* The folder beside chat_template.jinja, whose files NAME.jinja are templates
 * that have names. */
#define RLF_TEMPLATE_FOLDER "additional_chat_templates"

typedef struct rlf_named_template {
    const char *name; /* "default" of the one that chat_template.jinja is */
    const char *file; /* the file that it is of */
    const char *part; /* words for what of the file it is; NULL: all of it */
    rlf_str source;   /* p NULL: it is no text, or cannot be read */
    rlf_err why;      /* the error of reading it, else clear */
} rlf_named_template;

typedef struct rlf_named_templates {
    const rlf_named_template *data;
    size_t count;
    bool single; /* it is the only one, which has no name and is called
                    "default" here */
} rlf_named_templates;

/* The chat templates beside a tokenizer: those of chat_template.jinja and of
 * the folder, else what tokenizer_config.json says; of two that have one name
 * the later. A file that cannot be read is one too: whoever finds it fails.
 * `path` as for rlf_tokenizer_open; all in `arena`. */
rlf_status rlf_tokenizer_templates(const char *path, rlf_arena *arena,
                                   rlf_err *err, rlf_named_templates *out);
/* The paths of the files in the folder of `dir`, in their order; none: there is
 * no folder. Also of what cannot be read as a file. */
rlf_status rlf_template_files(const char *dir, rlf_arena *arena, rlf_err *err,
                              const char ***paths, size_t *count);
/* The one that is meant: by its name; without one (NULL) "tool_use" if there is
 * such a one and there are `tools`, else "default". RLF_USER where it is not
 * there; *out NULL: there is no template at all. */
rlf_status rlf_named_template_find(const rlf_named_templates *all,
                                   const char *name, bool tools, rlf_err *err,
                                   const rlf_named_template **out);

#endif
