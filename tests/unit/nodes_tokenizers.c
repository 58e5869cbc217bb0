/* Tokenizers that a class of transformers builds itself: ids of texts and
 * chats, as its AutoTokenizer has them (tests/data/tokenizer_classes.json,
 * written by tests/oracle/tokenizer_classes.py). RLFLOW_CLASSES may name a
 * directory of more of them, which that script writes by --random. */
#include "engine/graph/run.h"
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/text/clean.h"
#include "engine/text/tokenizer.h"
#include "nodes/chat.h"
#include "tests/tap.h"

#include <stdlib.h>
#include <string.h>

static rlf_arena *arena;
static const char *dir; /* one that a test writes its files to */
static const json_t *texts, *messages;
static const char *template;

static rlf_str
text_of(const json_t *text)
{
    return (rlf_str){json_is_string(text) ? json_string_value(text) : "",
                     json_string_length(text)};
}

static double
fnv(rlf_str text)
{
    uint32_t h = 0x811C9DC5u;
    for (size_t i = 0; i < text.n; i++)
        h = (h ^ (unsigned char)text.p[i]) * 0x01000193u;
    return h;
}

static double
hash_ids(const rlf_ids *ids)
{
    rlf_buf line = {0};
    for (size_t i = 0; i < ids->count; i++)
        rlf_buf_printf(&line, "%s%u", i ? " " : "", ids->data[i]);
    double hash = fnv((rlf_str){line.p ? line.p : "", line.n});
    rlf_buf_free(&line);
    return hash;
}

/* Are the ids of the text, and what they decode to, those of the reference? */
static bool
text_agrees(const rlf_tokenizer *t, rlf_str text, const json_t *ids,
            const json_t *decoded, unsigned flags)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids got = {0};
    rlf_buf back = {0};
    if (json_is_null(ids))
        return true; /* the reference itself fails */
    bool same = rlf_tokenizer_encode(t, text.p, text.n, flags, &err, &got) >= 0;
    same = same && hash_ids(&got) == json_number_value(ids);
    rlf_tokenizer_decode(t, got.data, got.count, 0, &back);
    if (decoded && !json_is_null(decoded))
        same = same && fnv((rlf_str){back.p ? back.p : "", back.n}) ==
                           json_number_value(decoded);
    if (!same) {
        rlf_buf line = {0};
        for (size_t i = 0; i < got.count; i++)
            rlf_buf_printf(&line, " %u", got.data[i]);
        note("\"%s\" has the ids%s: %s", text.p, line.p ? line.p : "",
             err.status ? err.sentence
             : back.p   ? back.p
                        : "");
        rlf_buf_free(&line);
    }
    RLF_VEC_FREE(&got);
    rlf_buf_free(&back);
    return same;
}

static bool
chat_agrees(const rlf_tokenizer *t, const json_t *row)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_chat_template *chat = NULL;
    rlf_message list[8];
    uint32_t n = 0;
    rlf_str got = {"", 0};
    for (; n < json_array_size(messages); n++) {
        const json_t *message = json_array_get(messages, n);
        list[n] = (rlf_message){
            .role = text_of(json_object_get(message, "role")),
            .content = text_of(json_object_get(message, "content"))};
    }
    const rlf_prompt prompt = {.messages = list, .n_messages = n};
    const rlf_chat_options options = {.day = 20240229};
    bool same = rlf_chat_open(t, dir, &options, arena, &err, &chat) >= 0 &&
                rlf_chat_write(chat, &prompt, arena, &err, &got) >= 0 &&
                rlf_str_eq(got, text_of(json_object_get(row, "chat")));
    if (!same)
        note("the chat is %s", err.status ? err.sentence : got.p);
    return same &&
           text_agrees(t, got, json_object_get(row, "chat_ids"), NULL, 0);
}

static void
write_json(const char *name, const json_t *value)
{
    if (json_dump_file(value, rlf_path_join(arena, dir, name), 0) != 0)
        bail("%s cannot be written", name);
}

static void
write_own(const char *name, json_t *value)
{
    write_json(name, value);
    json_decref(value);
}

/* tokenizer.json with an edit. */
static void
write_root(const json_t *root, const json_t *edit)
{
    static const char *const keys[] = {"ignore_merges", "dropout"};
    const json_t *post = json_object_get(edit, "post_processor");
    json_t *copy = json_copy((json_t *)(uintptr_t)root);
    json_t *model = json_copy(json_object_get(root, "model"));
    for (size_t i = 0; i < RLF_COUNT(keys); i++)
        if (json_object_get(edit, keys[i]))
            json_object_set(model, keys[i], json_object_get(edit, keys[i]));
    if (post)
        json_object_set(copy, "post_processor", (json_t *)(uintptr_t)post);
    json_object_set_new(copy, "model", model);
    write_json("tokenizer.json", copy);
    json_decref(copy);
}

/* Does the tokenizer of the directory do what the row says? */
static bool
row_agrees(const json_t *row)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    size_t wrong = 0;
    FILE *file = fopen(rlf_path_join(arena, dir, "chat_template.jinja"), "w");
    if (!file || fputs(template, file) < 0 || fclose(file) != 0)
        bail("no chat template can be written");
    if (rlf_tokenizer_open(dir, &err, &t) < 0) {
        note("%s", err.sentence);
        return json_object_get(row, "error") != NULL;
    }
    const char *error = json_string_value(json_object_get(row, "error"));
    if (error) {
        /* a class of config.json alone that it does not know makes it crash */
        rlf_tokenizer_close(t);
        return strncmp(error, "AttributeError", 14) == 0;
    }
    for (size_t i = 0; i < json_array_size(texts); i++)
        wrong += !text_agrees(t, text_of(json_array_get(texts, i)),
                              json_array_get(json_object_get(row, "ids"), i),
                              json_array_get(json_object_get(row, "text"), i),
                              RLF_ENCODE_SPECIAL);
    wrong += !chat_agrees(t, row);
    bool same = !wrong && rlf_tokenizer_vocab(t) ==
                              json_number_value(json_object_get(row, "size"));
    if (!same)
        note("%zu texts; %u tokens instead of %g", wrong,
             rlf_tokenizer_vocab(t),
             json_number_value(json_object_get(row, "size")));
    rlf_tokenizer_close(t);
    return same;
}

static void
check_row(const json_t *root, const json_t *row)
{
    const char *name;
    const json_t *value, *files = json_object_get(row, "files");
    rlf_err err = RLF_ERR_NONE;
    char there[] = "/tmp/rlflow-class-XXXXXX";
    if (!mkdtemp(there))
        bail("no directory for the test");
    dir = there;
    write_root(json_object_get(json_object_get(root, "roots"),
                               json_string_value(json_object_get(row, "base"))),
               json_object_get(row, "edit"));
    json_object_foreach((json_t *)(uintptr_t)files, name, value)
        write_json(name, value);
    char *said = json_dumps(files, JSON_SORT_KEYS);
    const char *class = json_string_value(json_object_get(row, "class"));
    ok(row_agrees(row), "%s by %.200s", class ? class : "nothing", said);
    free(said);
    rlf_dir_remove(there, &err);
}

static void
check_directories(const char *all)
{
    for (size_t n = 0;; n++) {
        rlf_err err = RLF_ERR_NONE;
        json_t *row = NULL;
        dir = rlf_arena_printf(arena, "%s/%05zu", all, n);
        if (rlf_json_load(rlf_path_join(arena, dir, "want.json"), &err, &row) <
            0)
            break;
        const char *class = json_string_value(json_object_get(row, "class"));
        ok(row_agrees(row), "%s: %s", dir, class ? class : "nothing");
        json_decref(row);
    }
}

/* "fix_mistral_regex" takes a vocabulary of more than 100,000 tokens, and a
 * config.json of such a model. */
static void
check_pattern(void)
{
    static const struct {
        const char *model;
        bool fixed;
    } cases[] = {
        {"{}", true},
        {"{\"model_type\": \"llama\"}", false},
        {"{\"model_type\": \"mistral\"}", true},
        {"{\"model_type\": \"mistral3\", \"transformers_version\": "
         "\"4.50.0\"}",
         true},
        {"{\"model_type\": \"mistral\", \"transformers_version\": "
         "\"5.0.0.dev0\"}",
         true},
        {"{\"model_type\": \"mistral\", \"transformers_version\": \"5.0.1\"}",
         false},
    };
    rlf_err err = RLF_ERR_NONE;
    char there[] = "/tmp/rlflow-class-XXXXXX";
    if (!mkdtemp(there))
        bail("no directory for the test");
    dir = there;
    json_t *vocab = json_object();
    for (int i = 0; i <= 100000; i++)
        json_object_set_new(vocab,
                            rlf_arena_printf(arena, i < 10 ? "%d" : "-%d", i),
                            json_integer(i));
    json_object_set_new(vocab, "12", json_integer(100001));
    write_own("tokenizer.json",
              json_pack("{s{ss}s{sssosssb}}", "pre_tokenizer", "type",
                        "Whitespace", "model", "type", "WordLevel", "vocab",
                        vocab, "unk_token", "0", "byte_fallback", 0));
    write_own("tokenizer_config.json",
              json_pack("{sb}", "fix_mistral_regex", 1));
    for (int beside = 0; beside < 2; beside++) {
        rlf_tokenizer *t = NULL;
        rlf_ids ids = {0};
        if (beside)
            write_own("config.json", json_loads(cases[2].model, 0, NULL));
        ok(rlf_tokenizer_open(dir, &err, &t) >= 0 &&
               rlf_tokenizer_encode(t, "12", 2, 0, &err, &ids) >= 0 &&
               ids.count == (beside ? 2 : 1),
           "the pattern %s", beside ? "of a Mistral model" : "of the file");
        for (size_t i = 0; t && i < RLF_COUNT(cases); i++)
            ok((rlf_tokenizer_check_beside(t, cases[i].model, &err) >= 0) ==
                   (cases[i].fixed == beside),
               "... saved beside %s", cases[i].model);
        RLF_VEC_FREE(&ids);
        rlf_tokenizer_close(t);
    }
    rlf_dir_remove(there, &err);
}

/* The reference reads another file. */
static void
check_versions(const json_t *root)
{
    static const struct {
        const char *list, *read;
    } cases[] = {
        {"[\"tokenizer.json\"]", NULL},
        {"[\"tokenizer.json\", \"tokenizer.5.25.json\"]", NULL},
        {"[\"tokenizer.4.0.0.json\", \"tokenizer.json\"]",
         "tokenizer.4.0.0.json"},
        {"[\"tokenizer.5.24.0.json\", \"tokenizer.9.json\", "
         "\"tokenizer.4.0.0.json\"]",
         "tokenizer.5.24.0.json"},
        {"[\"tokenizer.10.json\", \"tokenizer.4.0.0.json\"]", NULL},
    };
    rlf_err ignored = RLF_ERR_NONE;
    char there[] = "/tmp/rlflow-class-XXXXXX";
    if (!mkdtemp(there))
        bail("no directory for the test");
    dir = there;
    write_root(json_object_get(json_object_get(root, "roots"), "bytes"), NULL);
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_tokenizer *t = NULL;
        write_own("tokenizer_config.json",
                  json_pack("{so}", "fast_tokenizer_files",
                            json_loads(cases[i].list, 0, NULL)));
        rlf_status status = rlf_tokenizer_open(dir, &err, &t);
        ok(cases[i].read
               ? status == RLF_USER && strstr(err.sentence, "reads ") &&
                     strstr(err.sentence, cases[i].read)
               : status >= 0,
           "a tokenizer of %s", cases[i].list);
        rlf_tokenizer_close(t);
    }
    rlf_dir_remove(there, &ignored);
}

/* Messages about wrong settings name the file. */
static void
check_messages(const json_t *root)
{
    static const struct {
        const char *base, *config, *model, *want;
    } cases[] = {
        {"bytes", "{}", "{\"model_type\": 3}",
         "/config.json: \"model_type\" is a number"},
        {"bytes", "{\"tokenizer_class\": 1}", "{}",
         "/tokenizer_config.json: \"tokenizer_class\" is a number"},
        {"bytes",
         "{\"tokenizer_class\": \"GPT2Tokenizer\", \"add_prefix_space\": null}",
         "{}", "/tokenizer_config.json: \"add_prefix_space\" is null"},
        {"bytes", "{\"split_special_tokens\": 1}", "{}",
         "/tokenizer_config.json: \"split_special_tokens\" is a number"},
        {"signs", "{\"tokenizer_class\": \"Qwen2Tokenizer\"}", "{}",
         "is none of bytes, which the class Qwen2Tokenizer makes tokens of"},
    };
    rlf_err ignored = RLF_ERR_NONE;
    char there[] = "/tmp/rlflow-class-XXXXXX";
    if (!mkdtemp(there))
        bail("no directory for the test");
    dir = there;
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_tokenizer *t = NULL;
        write_root(
            json_object_get(json_object_get(root, "roots"), cases[i].base),
            NULL);
        write_own("tokenizer_config.json",
                  json_loads(cases[i].config, 0, NULL));
        write_own("config.json", json_loads(cases[i].model, 0, NULL));
        if (!ok(rlf_tokenizer_open(dir, &err, &t) == RLF_USER &&
                    strncmp(err.sentence, dir, strlen(dir)) == 0 &&
                    strstr(err.sentence, cases[i].want),
                "DIR%s", cases[i].want))
            note("got: %s", err.sentence);
        rlf_tokenizer_close(t);
    }
    rlf_dir_remove(there, &ignored);
}

/* Replaces all of a text, from left to right. */
static void
replace(rlf_buf *text, const char *from, const char *to)
{
    rlf_buf out = {0};
    for (size_t i = 0; i < text->n;) {
        size_t n = strlen(from);
        bool is = text->n - i >= n && memcmp(text->p + i, from, n) == 0;
        rlf_buf_add(&out, is ? to : text->p + i, is ? strlen(to) : 1);
        i += is ? n : 1;
    }
    rlf_buf_free(text);
    *text = out;
}

/* clean_up_tokenization_spaces: random texts, byte by byte and as a whole. */
static void
check_cleaning(void)
{
    static const char *const pairs[][2] = {
        {" .", "."},     {" ?", "?"},     {" !", "!"},   {" ,", ","},
        {" ' ", "'"},    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"},
        {" 've", "'ve"}, {" 're", "'re"}};
    static const char letters[] = "     '''.?!,ntmsver";
    uint32_t random = 7;
    size_t wrong = 0, shorter = 0;
    for (int round = 0; round < 2000; round++) {
        rlf_buf text = {0}, got = {0};
        uint8_t waits[RLF_CLEAN_STEPS] = {0};
        for (int i = 0; i < 40; i++) {
            random = random * 1664525 + 1013904223;
            rlf_buf_putc(&text, letters[(random >> 8) % strlen(letters)]);
        }
        for (size_t i = 0; i < text.n; i++)
            rlf_clean_feed(waits, text.p + i, 1, &got);
        rlf_clean_end(waits, &got);
        shorter += got.n < text.n;
        for (size_t i = 0; i < RLF_COUNT(pairs); i++)
            replace(&text, pairs[i][0], pairs[i][1]);
        wrong += got.n != text.n || memcmp(got.p, text.p, got.n) != 0;
        rlf_buf_free(&text);
        rlf_buf_free(&got);
    }
    ok(!wrong && shorter > 1000, "spaces that are taken out: %zu of %zu differ",
       wrong, shorter);
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    const char *more = getenv("RLFLOW_CLASSES");
    rlf_err err = RLF_ERR_NONE;
    json_t *root = NULL;
    arena = rlf_arena_new();
    const char *path = rlf_path_join(arena, source ? source : ".",
                                     "tests/data/tokenizer_classes.json");
    if (rlf_json_load(path, &err, &root) < 0)
        bail("%s", err.sentence);
    const json_t *rows = json_object_get(root, "rows");
    texts = json_object_get(root, "texts");
    messages = json_object_get(root, "messages");
    template = json_string_value(json_object_get(root, "template"));
    if (more)
        check_directories(more);
    for (size_t i = 0; !more && i < json_array_size(rows); i++)
        check_row(root, json_array_get(rows, i));
    check_pattern();
    check_versions(root);
    check_messages(root);
    check_cleaning();
    json_decref(root);
    rlf_arena_free(arena);
    return done();
}
