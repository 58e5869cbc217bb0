/* Small tokenizers of all models, normalizers, pre-tokenizers and decoders
 * against the library `tokenizers`: tests/data/made_tokenizers.json, made by
 * tests/oracle/text_made.py, says what it makes of texts. Then the same files
 * damaged: refused, or good for encoding. */
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/text/detokenizer.h"
#include "engine/text/grapheme.h"
#include "engine/text/normalizer.h"
#include "engine/text/scratch.h"
#include "engine/text/scores.h"
#include "engine/text/trie.h"
#include "engine/text/utf8.h"
#include "tests/put.h"

static rlf_arena *arena;
static rlf_err err;

static uint32_t
add_hash(uint32_t hash, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)p[i]) * 0x01000193;
    return hash;
}

static uint32_t
hash_of(const rlf_buf *buf)
{
    return add_hash(0x811c9dc5, buf->p, buf->n);
}

static uint32_t
number(const json_t *list, size_t i)
{
    return (uint32_t)json_number_value(json_array_get(list, i));
}

/* ---- texts ---- */

static uint32_t
hash_ids(const rlf_ids *ids)
{
    rlf_buf line = {0};
    rlf_buf_add(&line, "", 0);
    for (size_t i = 0; i < ids->count; i++)
        rlf_buf_printf(&line, "%s%u", i ? " " : "", ids->data[i]);
    uint32_t hash = hash_of(&line);
    rlf_buf_free(&line);
    return hash;
}

/* The text of the ids at once, and of one after the other. */
static bool
decodes_to(const rlf_tokenizer *t, const rlf_ids *ids, unsigned flags,
           uint32_t want)
{
    rlf_buf whole = {0}, parts = {0};
    rlf_detokenizer state;
    rlf_tokenizer_decode(t, ids->data, ids->count, flags, &whole);
    rlf_detokenizer_begin(&state, t, flags);
    rlf_buf_add(&parts, "", 0);
    for (size_t i = 0; i < ids->count; i++)
        rlf_detokenizer_feed(&state, ids->data[i], &parts);
    rlf_detokenizer_end(&state, &parts);
    bool same = hash_of(&whole) == want && hash_of(&parts) == want;
    rlf_buf_free(&whole);
    rlf_buf_free(&parts);
    return same;
}

static rlf_tokenizer *
open_file(const json_t *text)
{
    rlf_tokenizer *t = NULL;
    put(arena, "tokenizer.json", json_string_value(text));
    rlf_err_clear(&err);
    if (rlf_tokenizer_open(root, &err, &t) < 0)
        note("%s", err.sentence);
    return t;
}

static void
check_row(const json_t *row, const json_t *texts)
{
    const json_t *want = json_object_get(row, "want");
    size_t ids_wrong = 0, text_wrong = 0, few = 0;
    rlf_tokenizer *t = open_file(json_object_get(row, "file"));
    for (size_t i = 0; t && i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        const json_t *hashes = json_array_get(want, i);
        const char *p = json_string_value(text);
        size_t n = json_string_length(text);
        uint64_t least = 0;
        rlf_ids ids = {0};
        if (rlf_tokenizer_encode(t, p, n, RLF_ENCODE_SPECIAL, &err, &ids) < 0)
            bail("%s", err.sentence);
        if (rlf_tokenizer_least(t, p, n, 0, &err, &least) < 0)
            bail("%s", err.sentence);
        few += least > ids.count;
        bool same = hash_ids(&ids) == number(hashes, 0);
        if (!same && !ids_wrong++)
            note("ids of %.200s", json_dumps(text, JSON_ENCODE_ANY));
        if (same &&
            (!decodes_to(t, &ids, 0, number(hashes, 1)) ||
             !decodes_to(t, &ids, RLF_DECODE_SKIP_SPECIAL,
                         number(hashes, 2))) &&
            !text_wrong++)
            note("text of %.200s", json_dumps(text, JSON_ENCODE_ANY));
        RLF_VEC_FREE(&ids);
    }
    ok(t && !ids_wrong && !text_wrong && !few,
       "%s: %zu of %zu texts have other ids, %zu other text, %zu fewer than "
       "said",
       json_string_value(json_object_get(row, "name")), ids_wrong,
       json_array_size(texts), text_wrong, few);
    rlf_tokenizer_close(t);
}

/* ---- normalizers ---- */

static bool
is_left_out(uint32_t c)
{
    return (c >= 0x3400 && c < 0xa000) || (c >= 0xac00 && c < 0xf900) ||
           (c >= 0x17000 && c < 0x18b00);
}

static void
put_code(rlf_buf *out, const char *before, uint32_t code)
{
    char bytes[4];
    rlf_buf_puts(out, before);
    rlf_buf_add(out, bytes, rlf_utf8_put(code, bytes));
}

static void
check_normal(const json_t *row)
{
    const json_t *json = json_object_get(row, "normalizer");
    rlf_normalizer normalizer = {0};
    uint32_t hash = 0x811c9dc5;
    size_t count = 0;
    rlf_buf text = {0};
    if (rlf_normalizer_load(&normalizer, json, "t.json", arena, &err) < 0)
        bail("%s", err.sentence);
    for (uint32_t c = 1; c <= 0x20000; c++) {
        if (c < 0x20000 && !is_left_out(c)) {
            put_code(&text, "a", c);
            put_code(&text, "b ", c);
            put_code(&text, "", 0x301);
            count++;
        }
        if ((count % 64 == 0 || c == 0x20000) && text.n) {
            if (rlf_normalizer_apply(&normalizer, &text, false, NULL, &err) < 0)
                bail("%s", err.sentence);
            hash = add_hash(hash, text.p, text.n);
            rlf_buf_clear(&text);
        }
    }
    rlf_buf_free(&text);
    char *said = json_dumps(json, 0);
    ok(hash == (uint32_t)json_number_value(json_object_get(row, "hash")),
       "%zu characters by %.120s", count, said);
    free(said);
}

/* ---- parts ---- */

static void
check_scores(void)
{
    /* digits times or by a power of ten: not the nearest double each time */
    static const struct {
        const char *text;
        double want;
    } numbers[] = {
        {"0", 0},
        {"-12", -12},
        {"1.5e3", 1500},
        {"2E-2", 0.02},
        {"-8.2", -82 / 10.0},
        {"-9.1234567890123456789", -9123456789012345678.0 / 1e18},
        {"123456789012345678901234", 12345678901234567890.0 * 1e4},
        {"0.1e-400", 0},
        {"5e-324", 5 / 1e308 / 1e16},
    };
    for (size_t i = 0; i < RLF_COUNT(numbers); i++) {
        double got = rlf_score_read(numbers[i].text, strlen(numbers[i].text));
        is_bits(&got, &numbers[i].want, 1, sizeof got, numbers[i].text);
    }
    static const char file[] =
        "{\"x\": [{\"model\": 1}, \"}\\\"\"], \"model\": {\"unk_id\": 0, "
        "\"vocab\": [[\"a\", -1.5], [\"]\\\"b\", 2]]}}";
    double two[2] = {0};
    ok(rlf_scores_read(file, strlen(file), 2, two) && two[0] == -1.5 &&
           two[1] == 2,
       "scores in a file");
    ok(!rlf_scores_read(file, strlen(file), 3, two), "too few scores");
    size_t found = 0;
    for (size_t n = 0; n < strlen(file); n++)
        found += rlf_scores_read(file, n, 2, two);
    is_int((int64_t)found, 2, "scores in a file that is cut");
}

/* All strings of up to four of three bytes, in no order, some left out. */
static void
check_trie(void)
{
    enum { STRINGS = 120 };
    static const char bytes[] = "a\x01\xff";
    rlf_str strings[STRINGS + 2];
    rlf_trie trie = {0};
    for (uint32_t i = 0; i < STRINGS; i++) {
        uint32_t code = i * 77 % STRINGS, n = 1, many = 3;
        char *p = rlf_arena_alloc(arena, 4);
        for (; code >= many; many *= 3, n++)
            code -= many;
        for (uint32_t k = 0; k < n; k++, code /= 3)
            p[k] = bytes[code % 3];
        strings[i] = (rlf_str){i % 7 ? p : NULL, n};
    }
    strings[STRINGS] = RLF_STR("");
    strings[STRINGS + 1] = strings[1];
    if (rlf_trie_build(&trie, arena, strings, STRINGS + 2, &err) < 0)
        bail("%s", err.sentence);
    size_t wrong = 0;
    for (uint32_t i = 0; i < STRINGS; i++) {
        uint32_t node = 0;
        for (size_t k = 0; strings[i].p && k < strings[i].n; k++) {
            node = rlf_trie_next(&trie, node, (unsigned char)strings[i].p[k]);
            if (!node)
                break;
        }
        if (strings[i].p)
            wrong += trie.nodes[node].value != (i == 1 ? STRINGS + 1 : i);
    }
    for (unsigned b = 0; b < 256; b++)
        wrong += (rlf_trie_next(&trie, 0, (unsigned char)b) != 0) !=
                 (b == 'a' || b == 1 || b == 0xff);
    ok(!wrong, "a trie finds its strings and no others");
}

/* The rules of Unicode's annex 29, one of each. */
static void
check_graphemes(void)
{
    static const struct {
        const char *text;
        size_t n;
    } clusters[] = {
        {"ab", 1},
        {"\r\na", 2},
        {"\n\r", 1},
        {"a\xcc\x81\xcc\x81z", 5},
        {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8\xe1\x84\x80", 9},
        {"\xd8\x80z", 3},
        {"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9z", 11},
        {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xa9", 8},
        {"\xe0\xa4\x95\xe0\xa5\x8d\xe0\xa4\x95z", 9},
        {"\xe0\xa4\x95\xe0\xa4\x95", 3},
        {"a\xe2\x80\x8d\xc2\xa9", 4},
    };
    size_t wrong = 0;
    for (size_t i = 0; i < RLF_COUNT(clusters); i++)
        wrong += rlf_grapheme_next(clusters[i].text,
                                   strlen(clusters[i].text)) != clusters[i].n;
    ok(!wrong, "clusters of characters");
}

/* No two at once have the same buffers, also where there are none left. */
static void
check_scratches(void)
{
    enum { MANY = 40 };
    rlf_arena *own_arena = rlf_arena_new();
    rlf_scratches *all = rlf_scratches_new(own_arena);
    rlf_scratch own[MANY] = {0}, *taken[MANY];
    size_t same = 0, owned = 0;
    for (size_t i = 0; i < MANY; i++) {
        taken[i] = rlf_scratch_take(all, &own[i]);
        rlf_buf_puts(&taken[i]->words.text, "text");
        owned += taken[i] == &own[i];
        for (size_t k = 0; k < i; k++)
            same += taken[k] == taken[i];
    }
    for (size_t i = 0; i < MANY; i++)
        rlf_scratch_give(all, taken[i]);
    ok(!same && owned && owned < MANY &&
           rlf_scratch_take(all, &own[0]) != &own[0],
       "buffers are one caller's at a time, and come back");
    rlf_arena_free(own_arena);
}

/* ---- damage ---- */

static size_t opened, refused, rounds;

static void
try_damaged(const char *text, size_t n, const json_t *texts)
{
    rlf_tokenizer *t = NULL;
    rounds++;
    rlf_err_clear(&err);
    if (rlf_file_write(in_root(arena, "tokenizer.json"), text, n, &err) < 0)
        bail("%s", err.sentence);
    if (rlf_tokenizer_open(root, &err, &t) < 0) {
        refused += err.status == RLF_USER && err.sentence[0];
        return;
    }
    opened++;
    for (size_t i = 0; i < json_array_size(texts); i += 9) {
        const json_t *one = json_array_get(texts, i);
        rlf_ids ids = {0};
        rlf_buf out = {0};
        rlf_tokenizer_encode(t, json_string_value(one), json_string_length(one),
                             0, &err, &ids);
        rlf_tokenizer_decode(t, ids.data, ids.count, 0, &out);
        RLF_VEC_FREE(&ids);
        rlf_buf_free(&out);
    }
    rlf_tokenizer_close(t);
}

/* One byte of the file is another, most often within what is not the
 * vocabulary. */
static void
check_damage(const json_t *rows, const json_t *texts)
{
    uint64_t random = 5;
    size_t each = quick() ? 2 : 6;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *file = json_object_get(json_array_get(rows, i), "file");
        char *text = rlf_arena_strdup(arena, json_string_value(file));
        size_t n = strlen(text);
        for (size_t k = 0; k < each; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size_t at = (random >> 33) % (k % 2 ? n : n < 2000 ? n : 2000);
            char was = text[at];
            text[at] = k % 3 ? "09aZ{[,\"-"[(random >> 20) % 9]
                             : (char)(random >> 24 | 1);
            try_damaged(text, n, texts);
            text[at] = was;
        }
    }
    ok(opened + refused == rounds && opened && refused,
       "of %zu damaged files %zu are refused, %zu good", rounds, refused,
       opened);
}

int
main(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    json_t *all = NULL;
    make_root();
    arena = rlf_arena_new();
    const char *path = rlf_path_join(arena, source ? source : ".",
                                     "tests/data/made_tokenizers.json");
    if (rlf_json_load(path, &err, &all) < 0)
        bail("%s", err.sentence);
    const json_t *rows = json_object_get(all, "rows");
    const json_t *texts = json_object_get(all, "texts");
    const json_t *normals = json_object_get(all, "normals");
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_row(json_array_get(rows, i), texts);
    for (size_t i = 0; i < json_array_size(normals); i++)
        check_normal(json_array_get(normals, i));
    check_scores();
    check_trie();
    check_graphemes();
    check_scratches();
    check_damage(rows, texts);
    json_decref(all);
    rlf_err_clear(&err);
    rlf_arena_free(arena);
    return done();
}
