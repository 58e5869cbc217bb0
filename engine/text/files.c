/* See files.h. */
#include "engine/text/files.h"

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/text/template.h"

#include <string.h>

/* The files of a tokenizer, in the order of a saved directory. */
static const char *const names[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "chat_template.jinja",
    "special_tokens_map.json",
    "chat_template.json",
    "tokenizer.model",
};

static rlf_status
read_one(const char *path, const char *name, rlf_arena *arena, rlf_err *err,
         rlf_tokenizer_files *out)
{
    bool there;
    rlf_buf text = {0};
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there)
        return RLF_OK;
    rlf_status status = rlf_file_read(path, RLF_JSON_MOST, err, &text);
    rlf_tokenizer_file file = {.name = name};
    if (status >= 0) {
        file.bytes = (rlf_str){
            rlf_arena_strndup(arena, text.p ? text.p : "", text.n), text.n};
        RLF_PUSH_IN(arena, out, file);
    }
    rlf_buf_free(&text);
    return status;
}

/* A template that cannot be read is left out: nobody has used it. */
static rlf_status
read_template(const char *path, const char *name, rlf_arena *arena,
              rlf_err *err, rlf_tokenizer_files *out)
{
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = read_one(path, name, arena, &why, out);
    if (status >= 0 || status == RLF_USER)
        return RLF_OK;
    *err = why;
    return status;
}

/* Templates that have names. */
static rlf_status
read_folder(const char *dir, rlf_arena *arena, rlf_err *err,
            rlf_tokenizer_files *out)
{
    const char **paths;
    size_t count;
    RLF_TRY(rlf_template_files(dir, arena, err, &paths, &count));
    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(paths[i], '/') + 1;
        name = rlf_path_join(arena, RLF_TEMPLATE_FOLDER, name);
        RLF_TRY(read_template(paths[i], name, arena, err, out));
    }
    return RLF_OK;
}

rlf_status
rlf_tokenizer_files_read(const char *path, rlf_arena *arena, rlf_err *err,
                         rlf_tokenizer_files *out)
{
    bool is_dir = rlf_dir_exists(path);
    const char *dir = is_dir ? path : rlf_path_parent(arena, path);
    *out = (rlf_tokenizer_files){0};
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        /* the first may be called otherwise */
        const char *from =
            i == 0 && !is_dir ? path : rlf_path_join(arena, dir, names[i]);
        RLF_TRY((strcmp(names[i], "chat_template.jinja")
                     ? read_one
                     : read_template)(from, names[i], arena, err, out));
    }
    return read_folder(dir, arena, err, out);
}

rlf_status
rlf_tokenizer_files_write(const rlf_tokenizer_files *files, const char *dir,
                          rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < files->count && status >= 0; i++) {
        const rlf_tokenizer_file *file = &files->data[i];
        if (strchr(file->name, '/'))
            status = rlf_dir_make(
                rlf_path_join(arena, dir, RLF_TEMPLATE_FOLDER), err);
        if (status >= 0)
            status = rlf_file_write(rlf_path_join(arena, dir, file->name),
                                    file->bytes.p, file->bytes.n, err);
    }
    rlf_arena_free(arena);
    return status;
}

/* The words of config.json that decide on a tokenizer's class (class.c) are the
 * same. */
static bool
same_model(const char *a, const char *b)
{
    static const char *const keys[] = {"model_type", "model_name",
                                       "tokenizer_class"};
    rlf_err ignored = RLF_ERR_NONE;
    json_t *x = NULL, *y = NULL;
    bool same =
        (!rlf_file_exists(a) || rlf_json_load_object(a, &ignored, &x) >= 0) &&
        (!rlf_file_exists(b) || rlf_json_load_object(b, &ignored, &y) >= 0);
    for (size_t i = 0; i < RLF_COUNT(keys); i++) {
        const json_t *p = json_object_get(x, keys[i]);
        const json_t *q = json_object_get(y, keys[i]);
        same = same && (p && q ? json_equal(p, q) : p == q);
    }
    json_decref(x);
    json_decref(y);
    return same;
}

bool
rlf_tokenizer_files_same(const char *a, const char *b, rlf_arena *arena)
{
    static const char *const beside[] = {"tokenizer_config.json",
                                         "special_tokens_map.json",
                                         "added_tokens.json"};
    bool same = rlf_file_same(rlf_path_join(arena, a, "tokenizer.json"),
                              rlf_path_join(arena, b, "tokenizer.json"));
    for (size_t i = 0; i < RLF_COUNT(beside); i++) {
        const char *x = rlf_path_join(arena, a, beside[i]);
        const char *y = rlf_path_join(arena, b, beside[i]);
        bool none = !rlf_file_exists(x) && !rlf_file_exists(y);
        same = same && (none || rlf_file_same(x, y));
    }
    return same && same_model(rlf_path_join(arena, a, "config.json"),
                              rlf_path_join(arena, b, "config.json"));
}
