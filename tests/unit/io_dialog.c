/* Conversations in data sets: ShareGPT's spelling, answers at the end, pairs
 * and what they begin with; of hh-rlhf what a second way of finding it says. */
#include "engine/io/json.h"
#include "engine/io/records.h"
#include "engine/io/stream.h"
#include "tests/put.h"

static rlf_arena *arena;
static rlf_err err;
static rlf_records rows;
static size_t large; /* 1: rows are read from their files again */

static rlf_status
read_parts(const char *path, const rlf_record_field *columns, size_t n,
           const char *until, bool csv, bool drop)
{
    rlf_records_spec spec = {.path = path,
                             .columns = columns,
                             .n_columns = n,
                             .until = until,
                             .csv = csv,
                             .drop = drop};
    rlf_err_clear(&err);
    spec.in_memory = large;
    return rlf_records_read(&spec, arena, &err, &rows);
}

static rlf_status
read_messages(const char *name, const char *text, bool drop)
{
    static const rlf_record_field columns[] = {
        {"prompt", "m", RLF_RECORD_HEAD}, {"answer", "m", RLF_RECORD_ANSWER}};
    return read_parts(put(arena, name, text), columns, 2, NULL, false, drop);
}

static rlf_status
read_pair(const char *path, const char *until, bool drop)
{
    static const rlf_record_field columns[] = {
        {"prompt", "chosen", RLF_RECORD_COMMON},
        {"chosen", "chosen", RLF_RECORD_CHOSEN},
        {"rejected", "rejected", RLF_RECORD_REJECTED}};
    return read_parts(path, columns, 3, until, strstr(path, ".csv") != NULL,
                      drop);
}

/* A row's columns, with '|' between. */
static const char *
show(size_t row)
{
    const char *out = "";
    const rlf_record_value *values;
    if (rlf_records_row(&rows, row, arena, &err, &values) < 0)
        bail("%s", err.sentence);
    for (size_t c = 0; c < rows.n_columns; c++) {
        const rlf_chat *chat = &values[c].chat;
        const char *text = values[c].text.p ? values[c].text.p : "";
        for (size_t i = 0; i < chat->count; i++)
            text = rlf_arena_printf(arena, "%s<%s:%s>", text,
                                    chat->messages[i].role.p,
                                    chat->messages[i].content.p);
        out = rlf_arena_printf(arena, "%s%s%s", out, c ? "|" : "", text);
    }
    return out;
}

static void
says(const char *part)
{
    ok(strstr(err.sentence, part) != NULL, "says: %s", err.sentence);
}

#define U(text) "{\"role\": \"user\", \"content\": \"" text "\"}"
#define A(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"
#define FROM(who, text) "{\"from\": \"" who "\", \"value\": \"" text "\"}"

static void
test_messages(void)
{
    is_int(read_messages("m.jsonl",
                         "{\"m\": [" U("a") "," A(
                             "b") "]}\n"
                                  "{\"m\": [" U("c") "," A("d") "," U(
                                      "e") "," A("f") "]}\n",
                         false),
           RLF_OK, "conversations that end with an answer");
    is_str(show(0), "<user:a>|b", "prompt and answer");
    is_str(show(1), "<user:c><assistant:d><user:e>|f", "of several turns");
    is_int(
        read_messages(
            "s.jsonl",
            "{\"m\": [" FROM("system", "be") "," FROM("human", "a") "," FROM(
                "gpt", "b") "]}\n"
                            "{\"m\": [" FROM("human", "c") "," FROM(
                                "gpt", "d") "," FROM("observation",
                                                     "e") "," FROM("gpt",
                                                                   "f") "]}\n",
            false),
        RLF_OK, "as ShareGPT spells them");
    is_str(show(0), "<system:be><user:a>|b", "roles as templates know them");
    is_str(show(1), "<user:c><assistant:d><tool:e>|f", "a tool's too");
    is_int(
        read_messages(
            "w.jsonl",
            "{\"m\": [" U(
                "a") ", {\"role\": \"assistant\", \"content\": "
                     "\"b\", \"weight\": 1, \"name\": null}]}\n"
                     "{\"m\": [" FROM(
                         "human", "a") ", {\"from\": "
                                       "\"gpt\", \"value\": \"b\", \"weight\": "
                                       "1.0, \"name\": null}]}\n",
            false),
        RLF_OK, "keys that say nothing");
    is_str(show(0), "<user:a>|b", "... are no more than the text");
    is_str(show(1), "<user:a>|b", "... in both spellings");
    static const char *const bad[][2] = {
        {"[" U("a") "]", "bad.jsonl:1: \"m\" has one message"},
        {"[" A("b") "," U("a") "]", "ends with a message of \"user\""},
        {"[" FROM("human", "a") "," FROM("parrot", "b") "]",
         "message 2 of \"m\" is from \"parrot\""},
        {"\"a\"", "\"m\" is a text where a list of chat messages is wanted"},
        {"[" U("a") ", {\"role\": \"assistant\", \"content\": \"b\", "
                    "\"tool_calls\": [1]}]",
         "ends with more than a text, \"tool_calls\""},
        {"[" U("a") ", {\"role\": \"assistant\", \"content\": \"b\", "
                    "\"weight\": 0}]",
         "ends with more than a text, \"weight\""},
        {"[" FROM("human", "a") ", {\"from\": \"gpt\", \"value\": \"b\", "
                                "\"weight\": 0}]",
         "ends with more than a text, \"weight\""},
        {"[" FROM("human", "a") ", " A("b") "]", "has no \"role\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *text = rlf_arena_printf(arena, "{\"m\": %s}\n", bad[i][0]);
        is_int(read_messages("bad.jsonl", text, false), RLF_USER, "refused");
        says(bad[i][1]);
        text = rlf_arena_printf(arena, "%s{\"m\": [" U("a") "," A("b") "]}\n",
                                text);
        is_int(read_messages("bad.jsonl", text, true), RLF_OK, "or dropped");
        ok(rows.count == 1 && rows.dropped == 1, "... and counted");
        is_str(show(0), "<user:a>|b", "... the others stay");
    }
}

static void
test_pairs(void)
{
    const char *path = put(
        arena, "p.jsonl",
        "{\"chosen\": [" U("a") "," A("b") "," U("c") "," A(
            "d") "], \"rejected\": [" U("a") "," A("b") "," U("c") "," A("e") "]}\n");
    is_int(read_pair(path, NULL, false), RLF_OK, "pairs of conversations");
    is_str(show(0), "<user:a><assistant:b><user:c>|d|e",
           "their common messages are the prompt");
    path = put(arena, "t.jsonl",
               "{\"chosen\": \"Q: how? A: I do\", "
               "\"rejected\": \"Q: how? A: I don't\"}\n"
               "{\"chosen\": \"Q: x A: caf\\u00e9\", "
               "\"rejected\": \"Q: x A: caf\\u00e8\"}\n"
               "{\"chosen\": \"yes\", \"rejected\": \"no\"}\n"
               "{\"chosen\": \"Q: a\", \"rejected\": \"Q: a b\"}\n");
    is_int(read_pair(path, NULL, false), RLF_OK, "pairs of texts");
    is_str(show(0), "Q: how? A: I| do| don't", "whole words of them");
    is_str(show(1), "Q: x A:| caf\xc3\xa9| caf\xc3\xa8",
           "no character is cut in two");
    is_str(show(2), "|yes|no", "nothing in common");
    is_str(show(3), "Q:| a| a b", "one that is the beginning of the other");
    is_int(read_pair(path, "A:", true), RLF_OK, "up to a mark");
    is_str(show(0), "Q: how? A:| I do| I don't", "the last that both have");
    ok(rows.count == 2 && rows.dropped == 2, "rows without it are dropped");
    is_int(read_pair(path, "A:", false), RLF_USER, "or refused");
    says("t.jsonl:3: \"chosen\" and \"rejected\" have no common beginning");
    path = put(arena, "p.csv", "rejected,chosen\nA: 5,A: 6\n");
    is_int(read_pair(path, NULL, false), RLF_OK, "of a csv file");
    is_str(show(0), "A:| 6| 5", "... the same");
    static const char *const bad[][3] = {
        {"\"a b\"", "\"a b\"", "are the same"},
        {"\"a b\"", "[" U("a") "]", "are to be two texts or two lists"},
        {"1", "2", "are to be two texts or two lists"},
        {"[" U("a") "," A("b") "]", "[" U("x") "," A("b") "]",
         "have no message in common"},
        {"[" U("a") "," A("b") "]", "[" U("a") "," A("b") "]",
         "do not differ before one of them ends"},
        {"[" U("a") "," A("b") "," U("c") "]", "[" U("a") "," A("d") "]",
         "\"chosen\" goes on with 2 messages"},
        {"[" U("a") "," A("b") "]", "[" U("a") "," U("d") "]",
         "\"rejected\" ends with a message of \"user\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        path =
            put(arena, "b.jsonl",
                rlf_arena_printf(arena, "{\"chosen\": %s, \"rejected\": %s}\n",
                                 bad[i][0], bad[i][1]));
        is_int(read_pair(path, NULL, false), RLF_USER, "refused");
        says(bad[i][2]);
    }
}

/* The prompt's length, found from the end of the texts: the last mark whose
 * whole text up to it is the same in both. */
static size_t
find_prompt(const char *a, const char *b, const char *mark)
{
    size_t best = 0;
    for (const char *at = a; (at = strstr(at, mark)); at++) {
        size_t n = (size_t)(at - a) + strlen(mark);
        if (strncmp(a, b, n) == 0)
            best = n;
    }
    return best;
}

/* Anthropic's comparisons (Bai et al. 2022). */
static void
test_hh(void)
{
    static const char mark[] = "\n\nAssistant:";
    const char *data = getenv("RLFLOW_TEST_DATA");
    const char *path = rlf_arena_printf(
        arena, "%s/datasets/hh-rlhf/harmless-base_test.jsonl.gz",
        data ? data : "/nonexistent");
    rlf_stream *stream;
    rlf_err why = RLF_ERR_NONE;
    if (rlf_stream_open(path, &why, &stream) < 0) {
        skip("%s is not there", path);
        return;
    }
    is_int(read_pair(path, mark, true), RLF_OK, "hh-rlhf");
    rlf_lines lines = {.stream = stream};
    rlf_str line;
    bool more;
    size_t row = 0, wrong = 0, none = 0;
    while (rlf_lines_next(&lines, path, 1 << 24, &why, &more, &line) >= 0 &&
           more) {
        json_t *object;
        if (rlf_json_parse(path, lines.line, line.p, line.n, &why, &object) < 0)
            bail("%s", why.sentence);
        const char *a = json_string_value(json_object_get(object, "chosen"));
        const char *b = json_string_value(json_object_get(object, "rejected"));
        size_t n = strcmp(a, b) == 0 ? 0 : find_prompt(a, b, mark);
        if (!n) {
            none++;
        } else {
            const rlf_record_value *v;
            if (row >= rows.count ||
                rlf_records_row(&rows, row, arena, &why, &v) < 0)
                bail("row %zu: %s", row, why.sentence);
            wrong += rlf_records_line(&rows, row) != lines.line ||
                     strlen(a) - n != v[1].text.n ||
                     strcmp(a + n, v[1].text.p) != 0 ||
                     strcmp(b + n, v[2].text.p) != 0 ||
                     strncmp(a, v[0].text.p, n) != 0 || v[0].text.n != n;
            row++;
        }
        json_decref(object);
    }
    is_int((int64_t)(row + none), 2312, "it has 2312 rows");
    is_int((int64_t)wrong, 0, "all prompts and responses as found by hand");
    ok(rows.count == row && rows.dropped == none,
       "%zu rows have no common beginning, or no difference", none);
    rlf_buf_free(&lines.buf);
    rlf_stream_close(stream);
}

int
main(void)
{
    arena = rlf_arena_new();
    make_root();
    for (large = 0; large < 2; large++) {
        test_messages();
        test_pairs();
        test_hh();
    }
    rlf_arena_free(arena);
    return done();
}
