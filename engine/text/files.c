/* See files.h. */
#include "engine/text/files.h"

#include "engine/io/file.h"
#include "engine/io/json.h"

/* What belongs to a tokenizer, in the order of a saved directory. */
static const char *const names[RLF_TOKENIZER_FILES] = {
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
         rlf_tokenizer_file *out)
{
    bool there;
    rlf_buf text = {0};
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there)
        return RLF_OK;
    rlf_status status = rlf_file_read(path, RLF_JSON_MOST, err, &text);
    if (status >= 0)
        *out = (rlf_tokenizer_file){
            name,
            {rlf_arena_strndup(arena, text.p ? text.p : "", text.n), text.n}};
    rlf_buf_free(&text);
    return status;
}

rlf_status
rlf_tokenizer_files_read(const char *path, rlf_arena *arena, rlf_err *err,
                         rlf_tokenizer_file out[RLF_TOKENIZER_FILES])
{
    bool is_dir = rlf_dir_exists(path);
    const char *dir = is_dir ? path : rlf_path_parent(arena, path);
    for (int i = 0; i < RLF_TOKENIZER_FILES; i++) {
        /* the first may be called otherwise */
        const char *from =
            i == 0 && !is_dir ? path : rlf_path_join(arena, dir, names[i]);
        RLF_TRY(read_one(from, names[i], arena, err, &out[i]));
    }
    return RLF_OK;
}

rlf_status
rlf_tokenizer_files_write(const rlf_tokenizer_file files[RLF_TOKENIZER_FILES],
                          const char *dir, rlf_err *err)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_status status = RLF_OK;
    for (int i = 0; i < RLF_TOKENIZER_FILES && status >= 0; i++)
        if (files[i].name)
            status = rlf_file_write(rlf_path_join(arena, dir, files[i].name),
                                    files[i].bytes.p, files[i].bytes.n, err);
    rlf_arena_free(arena);
    return status;
}
