/* Pre-tokenizers against the library `tokenizers`: tests/data/
 * pre_tokenizers.json, made by tests/oracle/pre_tokenizers.py, says how it
 * splits texts by many of them in a row. */
#include "engine/text/pre_tokenizer.h"

#include "engine/io/json.h"
#include "engine/text/inside.h"
#include "engine/text/utf8.h"
#include "tests/tap.h"

static rlf_arena *arena;
static rlf_err err;

/* {"type": "Sequence", ...} of these steps. */
static rlf_status
load(const json_t *steps, rlf_pre_tokenizer *out)
{
    json_t *json = json_object();
    *out = (rlf_pre_tokenizer){0};
    rlf_err_clear(&err);
    json_object_set_new(json, "type", json_string("Sequence"));
    json_object_set(json, "pretokenizers", (json_t *)(uintptr_t)steps);
    rlf_status status =
        rlf_pre_tokenizer_load(out, json, "t.json", arena, &err);
    json_decref(json);
    return status;
}

static void
split(const rlf_pre_tokenizer *pre_tokenizer, const char *text, size_t n,
      rlf_pretokens *words)
{
    rlf_buf_add(&words->text, text, n);
    words->first = n ? 1 : 0;
    if (rlf_pre_tokenizer_apply(pre_tokenizer, words, &err) < 0)
        bail("%s", err.sentence);
}

/* A word as the library shows it: behind ByteLevel as characters that stand for
 * bytes. */
static void
put_word(const rlf_pre_tokenizer *pre_tokenizer, rlf_str word, rlf_buf *out)
{
    if (!pre_tokenizer->byte_level) {
        rlf_buf_add(out, word.p, word.n);
        return;
    }
    for (size_t i = 0; i < word.n; i++) {
        uint32_t code = rlf_byte_char((unsigned char)word.p[i]);
        if (code >= 0x80)
            rlf_buf_putc(out, (char)(0xc0 | code >> 6));
        rlf_buf_putc(out, (char)(code < 0x80 ? code : 0x80 | (code & 0x3f)));
    }
}

/* The words, each in brackets; as a JSON list would have them. */
static void
put_got(const rlf_pre_tokenizer *pre_tokenizer, const rlf_pretokens *words,
        rlf_buf *out)
{
    for (size_t i = 0; i < words->count; i++) {
        const struct rlf_pretoken *w = &words->data[i];
        if (w->from == w->to)
            continue;
        rlf_buf_putc(out, '[');
        put_word(pre_tokenizer,
                 (rlf_str){words->text.p + w->from, w->to - w->from}, out);
        rlf_buf_putc(out, ']');
    }
}

static void
put_want(const json_t *pieces, rlf_buf *out)
{
    for (size_t i = 0; i < json_array_size(pieces); i++)
        rlf_buf_printf(out, "[%s]",
                       json_string_value(json_array_get(pieces, i)));
}

static void
test_texts(const json_t *root)
{
    const json_t *cases = json_object_get(root, "cases"),
                 *texts = json_object_get(root, "texts");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const json_t *steps = json_object_get(c, "steps");
        rlf_pre_tokenizer pre_tokenizer;
        size_t wrong = 0;
        bool loaded = load(steps, &pre_tokenizer) >= 0;
        for (size_t k = 0; loaded && k < json_array_size(texts); k++) {
            const json_t *text = json_array_get(texts, k);
            rlf_pretokens words = {0};
            rlf_buf got = {0}, want = {0};
            split(&pre_tokenizer, json_string_value(text),
                  json_string_length(text), &words);
            put_got(&pre_tokenizer, &words, &got);
            put_want(json_array_get(json_object_get(c, "pieces"), k), &want);
            bool same = got.n == want.n &&
                        (!got.n || memcmp(got.p, want.p, got.n) == 0);
            if (!same)
                note("%s: want %s, got %s", json_string_value(text),
                     want.n ? want.p : "", got.n ? got.p : "");
            wrong += !same;
            rlf_buf_free(&got);
            rlf_buf_free(&want);
            rlf_pretokens_free(&words);
        }
        char *shown = json_dumps(steps, JSON_COMPACT);
        ok(loaded && !wrong, "%.400s%s", shown, loaded ? "" : err.sentence);
        free(shown);
    }
}

/* ---- all characters ---- */

/* Large uniform blocks and surrogates. */
static bool
is_left_out(uint32_t c)
{
    return (c >= 0x3400 && c < 0xa000) || (c >= 0xac00 && c < 0xf900) ||
           (c >= 0x17000 && c < 0x18b00);
}

static void
put_code(rlf_buf *out, uint32_t c)
{
    if (c < 0x80) {
        rlf_buf_putc(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    uint32_t lead = more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0;
    rlf_buf_putc(out, (char)(lead | c >> 6 * more));
    while (more--)
        rlf_buf_putc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

static uint64_t
add_lengths(const rlf_pre_tokenizer *pre_tokenizer, const rlf_buf *text,
            bool first, uint64_t hash)
{
    rlf_pretokens words = {0};
    rlf_buf out = {0};
    split(pre_tokenizer, text->p, text->n, &words);
    for (size_t i = 0; i < words.count; i++)
        rlf_buf_printf(&out, "%s%zu", first && !i ? "" : " ",
                       words.data[i].to - words.data[i].from);
    for (size_t i = 0; i < out.n; i++)
        hash = (hash ^ (unsigned char)out.p[i]) * 0x100000001b3;
    rlf_buf_free(&out);
    rlf_pretokens_free(&words);
    return hash;
}

static void
test_all(const json_t *root)
{
    const json_t *all = json_object_get(root, "all");
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *c = json_array_get(all, i);
        rlf_pre_tokenizer pre_tokenizer;
        uint64_t hash = 0xcbf29ce484222325;
        rlf_buf text = {0};
        size_t n = 0;
        if (load(json_object_get(c, "steps"), &pre_tokenizer) < 0)
            bail("%s", err.sentence);
        for (uint32_t code = 0; code < 0x20000; code++) {
            if (!is_left_out(code)) {
                put_code(&text, 0x4e00);
                put_code(&text, code);
                put_code(&text, 0x4e00);
                n++;
            }
            if (text.n && (n % 64 == 0 || code == 0x1ffff)) {
                hash = add_lengths(&pre_tokenizer, &text, n <= 64, hash);
                rlf_buf_clear(&text);
            }
        }
        rlf_buf_free(&text);
        is_str(rlf_arena_printf(arena, "%016llx", (unsigned long long)hash),
               json_string_value(json_object_get(c, "hash")), "all characters");
    }
}

/* ---- what is not there ---- */

static void
test_refused(void)
{
    static const char *const bad[][2] = {
        {"[{\"type\": \"ByteLevel\"}, {\"type\": \"ByteLevel\"}]",
         "ByteLevel after ByteLevel is not supported"},
        {"[{\"type\": \"ByteLevel\"}, {\"type\": \"Metaspace\"}]",
         "Metaspace after ByteLevel is not supported"},
        {"[{\"type\": \"Punctuation\", \"behavior\": \"Other\"}]",
         "the split behavior Other is not supported"},
        {"[{\"type\": \"UnicodeScripts\"}]",
         "the pre_tokenizer UnicodeScripts is not supported"},
    };
    for (size_t i = 0; i < RLF_COUNT(bad); i++) {
        rlf_pre_tokenizer pre_tokenizer;
        json_t *steps = json_loads(bad[i][0], 0, NULL);
        is_int(load(steps, &pre_tokenizer), RLF_USER, "refused");
        ok(strstr(err.sentence, bad[i][1]) != NULL, "... %s", err.sentence);
        json_decref(steps);
    }
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    json_t *root = NULL;
    arena = rlf_arena_new();
    const char *path = rlf_arena_printf(
        arena, "%s/tests/data/pre_tokenizers.json", source ? source : ".");
    if (rlf_json_load_object(path, &err, &root) < 0)
        bail("%s", err.sentence);
    test_texts(root);
    test_all(root);
    test_refused();
    json_decref(root);
    rlf_err_clear(&err);
    rlf_arena_free(arena);
    return done();
}
