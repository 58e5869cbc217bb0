/* Older directories have vocab.json and merges.txt and no tokenizer.json: made
 * into what tokenizer.json would say, by the tokenizer's class. */
#include "engine/text/inside.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/stream.h"

#include <string.h>

static const struct {
    const char *name; /* tokenizer_class, without "Fast" */
    const char *parts;
} classes[] = {
    {"GPT2Tokenizer",
     "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": "
     "false}, \"decoder\": {\"type\": \"ByteLevel\"}}"},
    {"Qwen2Tokenizer",
     "{\"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": {\"type\": "
     "\"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", \"pattern\": "
     "{\"Regex\": \"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
     "\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*"
     "[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, \"behavior\": \"Isolated\"}, "
     "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": "
     "false}]}, \"decoder\": {\"type\": \"ByteLevel\"}}"},
};

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

/* added_tokens.json ({text: id}), of special tokens; where
 * tokenizer_config.json lists them it says more. */
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
        json_object_set_new(entry, "special", json_true());
        json_array_append_new(out, entry);
    }
    json_decref(map);
    return RLF_OK;
}

/* GPT-2 itself comes without any configuration. */
static void
add_gpt2_end(json_t *vocab, json_t *added)
{
    json_t *id = json_object_get(vocab, "<|endoftext|>");
    if (id) {
        json_t *entry = json_object();
        json_object_set_new(entry, "content", json_string("<|endoftext|>"));
        json_object_set(entry, "id", id);
        json_object_set_new(entry, "special", json_true());
        json_array_append_new(added, entry);
    }
}

rlf_status
rlf_tokenizer_pair(const char *dir, rlf_arena *arena, const json_t *config,
                   rlf_err *err, json_t **out)
{
    const char *name = "GPT2Tokenizer";
    size_t i = 0;
    RLF_TRY(rlf_json_get_text(config, "tokenizer_config.json",
                              "tokenizer_class", false, err, &name));
    for (; i < RLF_COUNT(classes); i++) {
        size_t n = strlen(classes[i].name);
        if (strncmp(name, classes[i].name, n) == 0 &&
            (!name[n] || strcmp(name + n, "Fast") == 0))
            break;
    }
    if (i == RLF_COUNT(classes)) {
        rlf_fail(err, RLF_USER,
                 "%s: the tokenizer_class %.*s cannot be read from vocab.json "
                 "and merges.txt",
                 dir, RLF_CUT(60, name));
        rlf_err_hint(err, "save the tokenizer as tokenizer.json first");
        return RLF_USER;
    }
    json_t *root = NULL, *vocab = NULL;
    RLF_TRY(rlf_json_parse("(tokenizer class)", 1, classes[i].parts,
                           strlen(classes[i].parts), err, &root));
    json_t *merges = json_array(), *added = json_array(), *model;
    rlf_status status = RLF_OK;
    RLF_TRY_GOTO(
        rlf_json_load(rlf_path_join(arena, dir, "vocab.json"), err, &vocab),
        end);
    RLF_TRY_GOTO(
        read_merges(rlf_path_join(arena, dir, "merges.txt"), err, merges), end);
    if (!json_object_get(config, "added_tokens_decoder"))
        RLF_TRY_GOTO(read_added(rlf_path_join(arena, dir, "added_tokens.json"),
                                err, added),
                     end);
    if (!config)
        add_gpt2_end(vocab, added);
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
