/* These checks compare the tokens of a conversation that the assistant says:
 * with transformers' return_assistant_tokens_mask for templates with {%
 * generation %}, and for others with tests/oracle/chat_masks.py, which finds
 * them in its own way (tests/data/chat_masks.json). They also try conversations
 * and templates that are hostile to marks. The tokenizers and templates of
 * public models are not part of the project: RLFLOW_TEST_DATA names where they
 * are. */
#include "engine/io/file.h"
#include "engine/io/records.h"
#include "engine/text/tokenizer.h"
#include "nodes/turns.h"
#include "tests/tap.h"

#include <jansson.h>
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
static rlf_message *
messages_of(const json_t *list)
{
    size_t n = json_array_size(list);
    rlf_message *out = RLF_NEW_ARRAY(arena, rlf_message, n + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *from = json_array_get(list, i);
        const json_t *content = json_object_get(from, "content");
        out[i] = (rlf_message){.role = text_of(json_object_get(from, "role")),
                               .content = text_of(content)};
        if (json_object_size(from) == 2 && json_is_string(content))
            continue;
        char *dumped = json_dumps(from, JSON_COMPACT);
        out[i].json = rlf_str_of(rlf_arena_strdup(arena, dumped));
        free(dumped);
    }
    return out;
}

/* "3-5 7-8" of 9 tokens: "3-5 7-8 of 9"; or why not. */
static const char *
read_chat(const rlf_reader *reader, const json_t *chat, uint32_t most,
          rlf_conversation *got)
{
    const rlf_env env = {.pool = arena};
    rlf_err err = RLF_ERR_NONE;
    const rlf_prompt prompt = {.messages = messages_of(chat),
                               .n_messages = (uint32_t)json_array_size(chat)};
    rlf_status status = rlf_turns_read(&env, reader, &prompt, most, &err, got);
    const char *out = "";
    if (status < 0)
        return rlf_arena_strdup(arena, err.sentence);
    uint32_t said = 0;
    for (uint32_t i = 0; i < got->n_runs; i++) {
        out = rlf_arena_printf(arena, "%s%u-%u ", out, got->runs[i].from,
                               got->runs[i].to);
        said += got->runs[i].to - got->runs[i].from;
    }
    if (said != got->n_said)
        return "other tokens are said than are in the runs";
    return rlf_arena_printf(arena, "%sof %u", out, got->n_ids);
}

static const char *
runs_of(const json_t *row)
{
    const json_t *runs = json_object_get(row, "runs");
    const char *out = "";
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        out = rlf_arena_printf(arena, "%s%d-%d ", out,
                               (int)json_integer_value(json_array_get(run, 0)),
                               (int)json_integer_value(json_array_get(run, 1)));
    }
    return rlf_arena_printf(arena, "%sof %d", out,
                            (int)json_integer_value(json_object_get(row, "n")));
}

/* ---- against others ---- */

/* One tokenizer with one template: the rows from number `first` on; where they
 * end. */
static size_t
compare(const json_t *root, size_t first, const char *data, const char *dir)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    rlf_chat_template *own = NULL;
    const json_t *rows = json_object_get(root, "rows");
    const char *name = json_string_value(
        json_object_get(json_array_get(rows, first), "tokenizer"));
    if (rlf_tokenizer_open(
            rlf_arena_printf(arena, "%s/tokenizers/%s", data, name), &err, &t) <
        0)
        bail("%s", err.sentence);
    rlf_reader reader = {.model = name, .tokenizer = t};
    reader.ends = rlf_tokenizer_eos(t, &reader.n_ends);
    size_t i, differ = 0;
    for (i = first; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *with = json_string_value(json_object_get(row, "template"));
        const json_t *chat = json_array_get(
            json_object_get(root, "chats"),
            (size_t)json_integer_value(json_object_get(row, "chat")));
        rlf_conversation got;
        if (strcmp(json_string_value(json_object_get(row, "tokenizer")),
                   name) != 0)
            break;
        const char *link = rlf_path_join(arena, dir, "chat_template.jinja");
        unlink(link);
        if (*with && symlink(rlf_arena_printf(
                                 arena, "%s/chat_templates/templates/%s.jinja",
                                 data, with),
                             link) != 0)
            bail("no link in %s", dir);
        const char *from =
            *with ? dir
                  : rlf_arena_printf(arena, "%s/tokenizers/%s", data, name);
        if (rlf_chat_open(t, from, &leap_day, arena, &err, &own) < 0 || !own)
            bail("%s", err.sentence);
        reader.own = own;
        const char *is = read_chat(&reader, chat, 0, &got);
        bool same = json_object_get(row, "error")
                        ? strstr(is, " of ") == NULL || strchr(is, ':') != NULL
                        : strcmp(is, runs_of(row)) == 0;
        if (!same && ++differ < 5)
            note("%s, chat %d: %s, and there %s", with,
                 (int)json_integer_value(json_object_get(row, "chat")), is,
                 runs_of(row));
        unlink(link);
    }
    ok(differ == 0, "%zu conversations with the tokenizer of %s", i - first,
       name);
    rlf_tokenizer_close(t);
    return i;
}

static void
test_reference(const char *data)
{
    char dir[] = "/tmp/rlflow-turns-XXXXXX";
    json_error_t where;
    json_t *root =
        json_load_file(rlf_arena_printf(arena, "%s/tests/data/chat_masks.json",
                                        getenv("RLFLOW_SOURCE")),
                       0, &where);
    if (!root || !mkdtemp(dir))
        bail("chat_masks.json:%d: %s", where.line, where.text);
    size_t n = json_array_size(json_object_get(root, "rows"));
    for (size_t i = 0; i < n;)
        i = compare(root, i, data, dir);
    rmdir(dir);
    json_decref(root);
}

/* ---- hostile ones ---- */

/* Templates and conversations that marks do not survive, and other difficult
 * ones. Each character is a token. */
static const struct {
    const char *template, *chat;
    uint32_t most;
    const char *want;
} cases[] = {
    /* each turn to its end token */
    {"{% for m in messages %}{{ m.content }}{% if m.role == 'assistant' %}"
     "<eos>{% endif %}{% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cd\"], [\"u\", \"e\"], [\"a\", \"f\"]]", 0,
     "2-5 6-8 of 8"},
    /* white space stands between the text and its end */
    {"{% for m in messages %}{{ m.content }} {% if m.role == 'assistant' %}"
     "<eos>{% endif %}{% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cd\"]]", 0, "3-7 of 7"},
    /* no end follows */
    {"{% for m in messages %}{{ m.content }}={% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cd\"]]", 0, "3-5 of 6"},
    /* what it says stands in the template and in the user's text */
    {"{% for m in messages %}a {{ m.content }} a{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"a\"], [\"u\", \"rlf0qb1z\"]]", 0, "7-8 of 22"},
    /* it says nothing: its end is learned */
    {"{% for m in messages %}{{ m.content }}<eos>{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"\"], [\"u\", \"b\"], [\"a\", \"c\"]]", 0,
     "2-3 5-7 of 7"},
    {"{% for m in messages %}{{ m.content }}={% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"\"]]", 0,
     "the template of 'test' gives the assistant no token in it"},
    /* white space at its ends is trimmed, or is not */
    {"{% for m in messages %}{{ m.content|trim }}={% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"  b c  \"]]", 0, "2-5 of 6"},
    {"{% for m in messages %}{{ m.content }}={% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"  b  \"]]", 0, "2-7 of 8"},
    /* no token is before the first one */
    {"{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"a\", \"abc\"], [\"u\", \"d\"]]", 0, "1-3 of 4"},
    {"{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"a\", \"a\"], [\"u\", \"d\"]]", 0,
     "the template of 'test' gives the assistant no token in it"},
    /* nobody speaks */
    {"{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"a\"], [\"s\", \"b\"]]", 0,
     "nothing of it is said by the assistant"},
    /* cut within a turn, and before it */
    {"{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cdef\"], [\"u\", \"g\"]]", 4, "2-4 of 4"},
    {"{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cdef\"], [\"u\", \"g\"]]", 2,
     "the assistant says no token among its first 2"},
    /* marks are lost, altered, doubled, reordered */
    {"{% for m in messages %}{{ m.content|first }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"bc\"]]", 0, "changes"},
    {"{% for m in messages %}{{ m.content|lower|replace('q', 'k') }}"
     "{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"bc\"]]", 0, "changes"},
    {"{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"bc\"]]", 0, "changes"},
    {"{% for m in messages|reverse %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"b\"], [\"u\", \"c\"], [\"a\", \"d\"]]", 0,
     "changes"},
    {"{% for m in messages %}{{ m.content.split('b')[-1] }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"ebc\"]]", 0, "changes"},
    {"{% for m in messages %}{% if loop.last %}{{ m.content }}{% endif %}"
     "{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"b\"], [\"u\", \"c\"], [\"a\", \"d\"]]", 0,
     "changes"},
    {"{% for m in messages %}{% if m.content|length > 3 %}"
     "{{ raise_exception('long') }}{% endif %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"b\"]]", 0, "changes"},
    /* the template says it */
    {"{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}"
     "{{ m.content|first }}<eos>{% endgeneration %}{% else %}{{ m.content }}"
     "{% endif %}{% endfor %}",
     "[[\"u\", \"ab\"], [\"a\", \"cd\"], [\"u\", \"e\"], [\"a\", \"f\"]]", 0,
     "2-4 5-7 of 7"},
    {"{% macro say(m) %}{% generation %}{{ m.content }}{% endgeneration %}"
     "{% endmacro %}{% for m in messages %}{{ say(m) }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"b\"]]", 0, "within a macro"},
    {"{% if false %}{% generation %}a{% endgeneration %}{% endif %}"
     "{% for m in messages %}{{ m.content }}{% endfor %}",
     "[[\"u\", \"a\"], [\"a\", \"b\"]]", 0,
     "the template of 'test' gives the assistant no token in it"},
    {"{{ raise_exception('no chats') }}", "[[\"u\", \"a\"], [\"a\", \"b\"]]", 0,
     "no chats"},
};

/* [["u", text], ["a", text]] as messages. */
static json_t *
chat_of(const char *text)
{
    json_error_t where;
    json_t *list = json_loads(text, 0, &where), *out = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        const char *who = json_string_value(json_array_get(pair, 0));
        json_t *message = json_object();
        json_object_set_new(message, "role",
                            json_string(*who == 'u'   ? "user"
                                        : *who == 'a' ? "assistant"
                                                      : "system"));
        json_object_set(message, "content", json_array_get(pair, 1));
        json_array_append_new(out, message);
    }
    json_decref(list);
    return out;
}

static void
write_template(const char *dir, const char *text, rlf_reader *reader)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_chat_template *own = NULL;
    const char *path = rlf_path_join(arena, dir, "chat_template.jinja");
    if (rlf_file_write(path, text, strlen(text), &err) < 0 ||
        rlf_chat_open(reader->tokenizer, dir, &leap_day, arena, &err, &own) < 0)
        bail("%s", err.sentence);
    reader->own = own;
}

static void
test_more_than_texts(const char *dir, rlf_reader *reader)
{
    static const struct {
        const char *message, *want;
    } rows[] = {
        {"{\"role\": \"assistant\", \"content\": null, \"tool_calls\": []}",
         "message 2 is the assistant's and more than a text (\"tool_calls\")"},
        {"{\"role\": \"assistant\", \"content\": \"b\", \"reasoning\": \"c\"}",
         "message 2 is the assistant's and more than a text (\"reasoning\")"},
        {"{\"role\": \"assistant\", \"content\": [{\"text\": \"b\"}]}",
         "message 2 is the assistant's and more than a text (\"content\")"},
        {"{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 0.5}",
         "message 2 is the assistant's and more than a text (\"weight\")"},
        {"{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 0}",
         "3-4 of 4"},
        {"{\"role\": \"assistant\", \"content\": \"b\", \"weight\": 1}",
         "1-2 3-4 of 4"},
        {"{\"role\": \"assistant\", \"content\": \"b\", \"name\": \"x\"}",
         "1-2 3-4 of 4"},
    };
    rlf_conversation got;
    write_template(dir, "{% for m in messages %}{{ m.content }}{% endfor %}",
                   reader);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_error_t where;
        json_t *chat = chat_of("[[\"u\", \"a\"], [\"u\", \"c\"], "
                               "[\"a\", \"d\"]]");
        json_array_insert_new(chat, 1, json_loads(rows[i].message, 0, &where));
        const char *is = read_chat(reader, chat, 0, &got);
        if (!ok(strncmp(is, rows[i].want, strlen(rows[i].want)) == 0, "%s",
                rows[i].message))
            note("%s", is);
        json_decref(chat);
    }
}

static void
test_hostile(void)
{
    char dir[] = "/tmp/rlflow-turns-XXXXXX";
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    rlf_conversation got;
    if (!mkdtemp(dir) ||
        rlf_tokenizer_open(rlf_arena_printf(arena, "%s/examples/models/arith",
                                            getenv("RLFLOW_SOURCE")),
                           &err, &t) < 0)
        bail("%s", err.sentence);
    rlf_reader reader = {.model = "test", .tokenizer = t};
    reader.ends = rlf_tokenizer_eos(t, &reader.n_ends);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *chat = chat_of(cases[i].chat);
        write_template(dir, cases[i].template, &reader);
        const char *is = read_chat(&reader, chat, cases[i].most, &got);
        if (!ok(strstr(is, cases[i].want) != NULL, "%s: %s", cases[i].chat,
                cases[i].want))
            note("%s gives %s", cases[i].template, is);
        json_decref(chat);
    }
    test_more_than_texts(dir, &reader);
    unlink(rlf_path_join(arena, dir, "chat_template.jinja"));
    rmdir(dir);
    rlf_tokenizer_close(t);
}

int
main(void)
{
    const char *data = getenv("RLFLOW_TEST_DATA");
    arena = rlf_arena_new();
    test_hostile();
    if (data && rlf_dir_exists(rlf_arena_printf(arena, "%s/tokenizers", data)))
        test_reference(data);
    else
        skip("no tokenizers in RLFLOW_TEST_DATA");
    rlf_arena_free(arena);
    return done();
}
