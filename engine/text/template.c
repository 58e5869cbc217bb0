/* See template.h. */
#include "engine/text/template.h"

#include "engine/io/file.h"
#include "engine/io/json.h"

#include <string.h>

static rlf_status
keep(const json_t *text, rlf_arena *arena, rlf_err *err, rlf_str *out)
{
    size_t n = json_string_length(text);
    RLF_TRY(rlf_arena_room(arena, n + 1, "a chat template", err));
    *out = (rlf_str){rlf_arena_strndup(arena, json_string_value(text), n), n};
    return RLF_OK;
}

/* "chat_template" as a text, a list of {"name", "template"}, or an object of
 * templates by names. NULL: there is no default. */
static const json_t *
default_of(const json_t *value)
{
    if (json_is_string(value))
        return value;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name && strcmp(name, "default") == 0)
            return json_object_get(item, "template");
    }
    return json_object_get(value, "default");
}

static rlf_status
from_config(const char *file, rlf_arena *arena, rlf_err *err, rlf_str *out)
{
    json_t *config = NULL;
    RLF_TRY(rlf_json_load_object(file, err, &config));
    const json_t *value = json_object_get(config, "chat_template");
    rlf_status status = RLF_OK;
    if (value && !json_is_null(value)) {
        const json_t *text = default_of(value);
        if (json_is_string(text))
            status = keep(text, arena, err, out);
        else
            status = rlf_fail(err, RLF_USER,
                              "%s: \"chat_template\" has no template named "
                              "\"default\"",
                              file);
    }
    json_decref(config);
    return status;
}

rlf_status
rlf_tokenizer_template(const char *path, rlf_arena *arena, rlf_err *err,
                       const char **file, rlf_str *source)
{
    const char *dir =
        rlf_dir_exists(path) ? path : rlf_path_parent(arena, path);
    rlf_buf text = {0};
    bool there;
    *source = (rlf_str){0};
    *file = rlf_path_join(arena, dir, "chat_template.jinja");
    RLF_TRY(rlf_file_find(*file, err, &there));
    if (!there) {
        *file = rlf_path_join(arena, dir, "tokenizer_config.json");
        RLF_TRY(rlf_file_find(*file, err, &there));
        return there ? from_config(*file, arena, err, source) : RLF_OK;
    }
    rlf_status status = rlf_file_read(*file, RLF_JSON_MOST, err, &text);
    if (status >= 0)
        status = rlf_arena_room(arena, text.n + 1, "a chat template", err);
    if (status >= 0)
        *source = (rlf_str){
            rlf_arena_strndup(arena, text.n ? text.p : "", text.n), text.n};
    rlf_buf_free(&text);
    return status;
}
