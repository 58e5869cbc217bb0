/* Older directories have vocab.json and merges.txt and no tokenizer.json: the
 * vocabulary of one. Its parts are those of the tokenizer's class (class.c). */
#include "engine/text/inside.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/stream.h"

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
