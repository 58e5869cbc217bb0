/* Chats with tools, and by templates that have names, as transformers writes
 * them (tests/data/chat_tools.json, by tests/oracle/chat_tools.py). Chats from
 * messages to token ids by the templates of public tokenizers, equal to those
 * of transformers (tests/data/chat_ids.json, written by
 * tests/oracle/chat_ids.py). These tokenizers are not part of the project:
 * RLFLOW_TEST_DATA names a directory that has them. */
#include "engine/graph/run.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "tests/tap.h"

#include <unistd.h>

static rlf_arena *arena;
static const rlf_chat_options leap_day = {.day = 20240229};

static rlf_str
text_of(const json_t *text)
{
    return (rlf_str){json_is_string(text) ? json_string_value(text) : "",
                     json_string_length(text)};
}

/* As data is read: what is more than two texts is kept as JSON. */
static rlf_message
message_of(const json_t *from)
{
    const json_t *content = json_object_get(from, "content");
    rlf_message message = {.role = text_of(json_object_get(from, "role")),
                           .content = text_of(content)};
    if (json_object_size(from) == 2 && json_is_string(content))
        return message;
    char *dumped = json_dumps(from, JSON_COMPACT);
    message.json = rlf_str_of(rlf_arena_strdup(arena, dumped));
    free(dumped);
    return message;
}

static bool
ids_are(const rlf_tokenizer *tokenizer, rlf_str text, const json_t *want)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    bool same =
        rlf_tokenizer_encode(tokenizer, text.p, text.n, 0, &err, &ids) >= 0 &&
        ids.count == json_array_size(want);
    for (size_t i = 0; i < ids.count && same; i++)
        same = json_integer_value(json_array_get(want, i)) ==
               (json_int_t)ids.data[i];
    RLF_VEC_FREE(&ids);
    return same;
}

static void
compare(const json_t *row, const char *name, const rlf_tokenizer *tokenizer,
        const rlf_chat_template *chat)
{
    rlf_err err = RLF_ERR_NONE;
    const json_t *list = json_object_get(row, "messages");
    const json_t *text = json_object_get(row, "text");
    size_t n = json_array_size(list);
    rlf_str got = {"", 0};
    rlf_message *messages = RLF_NEW_ARRAY(arena, rlf_message, n);
    for (size_t i = 0; i < n; i++)
        messages[i] = message_of(json_array_get(list, i));
    const rlf_prompt prompt = {.messages = messages, .n_messages = (uint32_t)n};
    rlf_status status = rlf_chat_write(chat, &prompt, arena, &err, &got);
    if (!text) {
        ok(status == RLF_USER, "%s refuses what it refuses there", name);
        return;
    }
    bool same = status >= 0 && rlf_str_eq(got, text_of(text));
    if (!ok(same, "%s writes the text of transformers", name))
        note("%s", status < 0 ? err.sentence : got.p);
    ok(ids_are(tokenizer, got, json_object_get(row, "ids")),
       "... and its tokens");
}

/* ---- names of special tokens ---- */

static void
write_files(const char *dir, const char *base, const json_t *files)
{
    rlf_err err = RLF_ERR_NONE;
    const char *name;
    json_t *value;
    if (symlink(rlf_arena_printf(arena, "%s/tokenizer.json", base),
                rlf_arena_printf(arena, "%s/tokenizer.json", dir)) != 0)
        bail("no link in %s", dir);
    json_object_foreach((json_t *)(uintptr_t)files, name, value)
    {
        char *text = json_dumps(value, 0);
        if (rlf_file_write(rlf_path_join(arena, dir, name), text, strlen(text),
                           &err) < 0)
            bail("%s", err.sentence);
        free(text);
    }
}

/* Checks a tokenizer with named tokens against the reference: the text of a
 * template that uses all names, the ids of a text with these tokens, their
 * number, and which of them are special. */
static bool
names_agree(const json_t *row, const char *dir, const char *said, rlf_err *err)
{
    rlf_tokenizer *t = NULL;
    rlf_chat_template *chat = NULL;
    const rlf_message message = {.role = RLF_STR("user"),
                                 .content = RLF_STR("x")};
    const rlf_prompt prompt = {.messages = &message, .n_messages = 1};
    const json_t *special = json_object_get(row, "special");
    rlf_str got = {"", 0};
    size_t n_special = 0;
    if (rlf_tokenizer_open(dir, err, &t) < 0)
        return json_object_get(row, "error");
    bool same = rlf_chat_open(t, dir, &leap_day, arena, err, &chat) >= 0 &&
                chat && rlf_chat_write(chat, &prompt, arena, err, &got) >= 0 &&
                rlf_str_eq(got, text_of(json_object_get(row, "text"))) &&
                ids_are(t, rlf_str_of(said), json_object_get(row, "ids")) &&
                rlf_tokenizer_vocab(t) ==
                    json_integer_value(json_object_get(row, "size"));
    for (uint32_t id = 0; id < rlf_tokenizer_vocab(t); id++)
        n_special += rlf_tokenizer_special(t, id);
    same = same && n_special == json_array_size(special);
    for (size_t i = 0; i < json_array_size(special); i++)
        same = same &&
               rlf_tokenizer_special(
                   t, (uint32_t)json_integer_value(json_array_get(special, i)));
    if (!same)
        note("%s", err->status < 0 ? err->sentence : got.p);
    rlf_tokenizer_close(t);
    return same;
}

static void
test_names(const char *tokenizers)
{
    json_error_t where;
    json_t *root = json_load_file(
        rlf_arena_printf(arena, "%s/tests/data/special_names.json",
                         getenv("RLFLOW_SOURCE")),
        0, &where);
    if (!root)
        bail("special_names.json:%d: %s", where.line, where.text);
    const json_t *rows = json_object_get(root, "rows");
    const char *said = json_string_value(json_object_get(root, "said"));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *base = json_string_value(json_object_get(row, "base"));
        char dir[] = "/tmp/rlflow-names-XXXXXX";
        if (i % 5 && (strcmp(base, "gpt2") != 0 || quick()))
            continue; /* read in the same way, and large */
        rlf_err err = RLF_ERR_NONE;
        if (!mkdtemp(dir))
            bail("no directory for the test");
        write_files(dir, rlf_arena_printf(arena, "%s/%s", tokenizers, base),
                    json_object_get(row, "files"));
        bool same = names_agree(row, dir, said, &err);
        json_t *files = json_deep_copy(json_object_get(row, "files"));
        json_t *config = json_object_get(files, "tokenizer_config.json");
        json_object_del(config, "chat_template");
        char *text = json_dumps(files, 0);
        ok(same, "%s %s", base, text);
        free(text);
        json_decref(files);
        rlf_dir_remove(dir, &err);
    }
    json_decref(root);
}

/* ---- tools, and templates that have names ---- */

static void
write_all(const char *dir, const json_t *files)
{
    rlf_err err = RLF_ERR_NONE;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)files, name, value)
    {
        char *text = json_is_string(value) ? strdup(json_string_value(value))
                                           : json_dumps(value, 0);
        const char *path = rlf_path_join(arena, dir, name);
        if (rlf_dir_make(rlf_path_parent(arena, path), &err) < 0 ||
            rlf_file_write(path, text, strlen(text), &err) < 0)
            bail("%s", err.sentence);
        free(text);
    }
}

/* The tools as the row's, or as those of the model's file. */
static bool
tools_agree(const json_t *row, const json_t *messages, const char *dir,
            const rlf_tokenizer *t, bool of_model)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_chat_template *chat = NULL;
    const json_t *tools = json_object_get(row, "tools"),
                 *text = json_object_get(row, "text");
    char *dumped = json_is_null(tools) ? NULL : json_dumps(tools, 0);
    const char *file = rlf_path_join(arena, dir, "tools");
    rlf_chat_options options = {
        .day = 20240229,
        .named = json_string_value(json_object_get(row, "named"))};
    rlf_message list[2];
    rlf_prompt prompt = {.messages = list, .n_messages = 2};
    rlf_str got = {"", 0};
    for (size_t i = 0; i < 2; i++)
        list[i] = message_of(json_array_get(messages, i));
    if (dumped && of_model) {
        if (rlf_file_write(file, dumped, strlen(dumped), &err) < 0)
            bail("%s", err.sentence);
        options.tools = file;
    } else if (dumped) {
        prompt.tools = rlf_str_of(rlf_arena_strdup(arena, dumped));
    }
    free(dumped);
    rlf_status status = rlf_chat_open(t, dir, &options, arena, &err, &chat);
    if (status >= 0)
        status = rlf_chat_write(chat, &prompt, arena, &err, &got);
    bool same = text ? status >= 0 && rlf_str_eq(got, text_of(text))
                     : status == RLF_USER;
    if (!same)
        note("%s %s", status < 0 ? err.sentence : got.p,
             json_string_value(json_object_get(row, "case")));
    return same;
}

static void
test_tools(void)
{
    const char *source = getenv("RLFLOW_SOURCE"), *name;
    json_error_t where;
    json_t *files,
        *root = json_load_file(
            rlf_arena_printf(arena, "%s/tests/data/chat_tools.json", source), 0,
            &where);
    rlf_err err = RLF_ERR_NONE;
    if (!root)
        bail("chat_tools.json:%d: %s", where.line, where.text);
    const json_t *messages = json_object_get(root, "messages"),
                 *rows = json_object_get(root, "rows");
    json_object_foreach(json_object_get(root, "files"), name, files)
    {
        char dir[] = "/tmp/rlflow-tools-XXXXXX";
        rlf_tokenizer *t = NULL;
        bool same = true;
        if (!mkdtemp(dir) ||
            symlink(
                rlf_arena_printf(arena, "%s/tests/tokenizers/00.json", source),
                rlf_path_join(arena, dir, "tokenizer.json")) != 0)
            bail("no directory for the test");
        write_all(dir, files);
        if (rlf_tokenizer_open(dir, &err, &t) < 0)
            bail("%s", err.sentence);
        for (size_t i = 0; i < json_array_size(rows); i++) {
            const json_t *row = json_array_get(rows, i);
            const json_t *of = json_object_get(row, "case");
            if (strcmp(json_string_value(of), name) != 0)
                continue;
            same &= tools_agree(row, messages, dir, t, false);
            if (json_array_size(json_object_get(row, "tools")))
                same &= tools_agree(row, messages, dir, t, true);
        }
        ok(same, "templates, names and tools as there: %s", name);
        rlf_tokenizer_close(t);
        rlf_dir_remove(dir, &err);
    }
    json_decref(root);
}

int
main(void)
{
    const char *data = getenv("RLFLOW_TEST_DATA");
    const char *last = "";
    rlf_tokenizer *tokenizer = NULL;
    rlf_chat_template *chat = NULL;
    json_error_t where;
    size_t i;
    json_t *row;
    arena = rlf_arena_new();
    const char *dir = rlf_arena_printf(arena, "%s/tokenizers", data);
    test_tools();
    if (!data || access(dir, R_OK) != 0) {
        skip("there are no tokenizers in RLFLOW_TEST_DATA");
        rlf_arena_free(arena);
        return done();
    }
    json_t *rows =
        json_load_file(rlf_arena_printf(arena, "%s/tests/data/chat_ids.json",
                                        getenv("RLFLOW_SOURCE")),
                       0, &where);
    if (!rows)
        bail("chat_ids.json:%d: %s", where.line, where.text);
    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "tokenizer"));
        const char *path = rlf_arena_printf(arena, "%s/%s", dir, name);
        rlf_err err = RLF_ERR_NONE;
        if (quick() && i > 0 && strcmp(name, last) != 0)
            break; /* to open a tokenizer takes seconds where it is slow */
        if (strcmp(name, last) != 0) {
            rlf_tokenizer_close(tokenizer);
            if (rlf_tokenizer_open(path, &err, &tokenizer) < 0 ||
                rlf_chat_open(tokenizer, path, &leap_day, arena, &err, &chat) <
                    0 ||
                !chat)
                bail("%s: %s", name, err.sentence);
            last = name;
        }
        compare(row, name, tokenizer, chat);
    }
    rlf_tokenizer_close(tokenizer);
    json_decref(rows);
    test_names(dir);
    rlf_arena_free(arena);
    return done();
}
