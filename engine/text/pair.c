/* Older directories have vocab.json and merges.txt and no tokenizer.json: the
 * vocabulary of one. Its parts are those of the tokenizer's class (class.c).
 * added_tokens.json, which is as old, counts beside both. */
#include "engine/text/inside.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/stream.h"

#include <stdio.h>
#include <string.h>

/* The merges: a line each, "a b"; a first line "#version ..." is no merge. */
static rlf_status
read_merges(const char *path, rlf_err *err, json_t *out)
{
    rlf_lines lines = {0};
    rlf_status status = rlf_stream_open(path, err, &lines.stream);
    while (status == RLF_OK) {
        rlf_str line;
        bool more = false;
        status = rlf_lines_next(&lines, path, 1 << 20, err, &more, &line);
        if (status < 0 || !more)
            break;
        if (!line.n || (lines.line == 1 && line.p[0] == '#'))
            continue;
        if (json_array_append_new(out, json_stringn(line.p, line.n)) != 0)
            status = rlf_fail(err, RLF_USER, "%s:%u: the line is not UTF-8",
                              path, lines.line);
    }
    rlf_stream_close(lines.stream);
    rlf_buf_free(&lines.buf);
    return status;
}

/* added_tokens.json ({text: id}), which says nothing more of them: class.c
 * knows. */
static rlf_status
read_added(const char *path, rlf_err *err, json_t *out)
{
    json_t *map = NULL, *id;
    const char *text;
    bool there;
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there)
        return RLF_OK;
    RLF_TRY(rlf_json_load(path, err, &map));
    json_object_foreach(map, text, id)
    {
        json_t *entry = json_object();
        json_object_set_new(entry, "content", json_string(text));
        json_object_set(entry, "id", id);
        json_array_append_new(out, entry);
    }
    json_decref(map);
    return RLF_OK;
}

rlf_status
rlf_tokenizer_pair(const char *dir, rlf_arena *arena, rlf_err *err,
                   json_t **out)
{
    json_t *root = json_object(), *vocab = NULL;
    json_t *merges = json_array(), *added = json_array(), *model;
    rlf_status status = RLF_OK;
    RLF_TRY_GOTO(
        rlf_json_load(rlf_path_join(arena, dir, "vocab.json"), err, &vocab),
        end);
    RLF_TRY_GOTO(
        read_merges(rlf_path_join(arena, dir, "merges.txt"), err, merges), end);
    RLF_TRY_GOTO(
        read_added(rlf_path_join(arena, dir, "added_tokens.json"), err, added),
        end);
    model = json_object();
    json_object_set(model, "vocab", vocab);
    json_object_set(model, "merges", merges);
    json_object_set_new(root, "model", model);
    json_object_set(root, "added_tokens", added);
    *out = json_incref(root);
end:
    json_decref(root);
    json_decref(vocab);
    json_decref(merges);
    json_decref(added);
    return status;
}

/* Its flags are those of a token that has no others. */
static json_t *
entry_of(const char *text, const json_t *config)
{
    bool special = rlf_tokenizer_is_special(config, text);
    json_t *entry = json_object();
    json_object_set_new(entry, "content", json_string(text));
    json_object_set_new(entry, "special", json_boolean(special));
    json_object_set_new(entry, "normalized", json_boolean(!special));
    return entry;
}

/* Entries by their ids. */
static rlf_status
put_entry(const json_t *id, json_t *entry, const char *file, json_t *to,
          rlf_err *err)
{
    char key[24];
    int64_t number;
    bool is = rlf_json_as_int(id, &number);
    snprintf(key, sizeof key, "%lld", is ? (long long)number : 0);
    if (is)
        json_object_set(to, key, entry);
    return is ? RLF_OK
              : rlf_fail(err, RLF_USER, "%s: the id of a token is no integer",
                         file);
}

rlf_status
rlf_tokenizer_added_file(const rlf_tokenizer *t, const json_t *root,
                         json_t **config, rlf_err *err)
{
    static const char name[] = "added_tokens.json",
                      key[] = "added_tokens_decoder";
    json_t *map = NULL, *all, *entry, *id;
    json_t *list = json_object_get(root, "added_tokens");
    const char *text;
    rlf_status status = RLF_OK;
    if (t->pair || json_object_get(*config, key))
        return RLF_OK;
    RLF_TRY(rlf_tokenizer_beside(t, name, err, &map));
    if (!map)
        return RLF_OK;
    const char *file = rlf_path_join(t->arena, t->dir, name);
    all = json_object();
    json_object_foreach(map, text, id)
    {
        entry = entry_of(text, *config);
        if (status >= 0)
            status = put_entry(id, entry, file, all, err);
        json_decref(entry);
    }
    for (size_t i = 0; i < json_array_size(list) && status >= 0; i++) {
        entry = json_array_get(list, i);
        status =
            put_entry(json_object_get(entry, "id"), entry, t->file, all, err);
    }
    if (!*config)
        *config = json_object();
    json_object_set_new(*config, key, all);
    json_decref(map);
    return status;
}
