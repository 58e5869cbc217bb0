/* Tokenizers by small hand-made files: what the ids must be, what is refused
 * and how, and that no file makes the reader fall over. */
#include "engine/io/file.h"
#include "engine/text/detokenizer.h"
#include "engine/text/files.h"
#include "engine/text/utf8.h"
#include "tests/put.h"

#include <pthread.h>
#include <time.h>

static rlf_arena *arena;

static rlf_tokenizer *
open_text(const char *json)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    put(arena, "tokenizer.json", json);
    if (rlf_tokenizer_open(root, &err, &t) < 0)
        bail("%s", err.sentence);
    return t;
}

static int too_few; /* texts with fewer ids than they were said to have at least */

/* The ids of a text, as "1 2 3". */
static const char *
ids_of(const rlf_tokenizer *t, const char *text, unsigned flags)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    const char *out = "";
    if (rlf_tokenizer_encode(t, text, strlen(text), flags, &err, &ids) < 0)
        out = rlf_arena_strdup(arena, err.sentence);
    else
        for (size_t i = 0; i < ids.count; i++)
            out = rlf_arena_printf(arena, "%s%s%u", out, i ? " " : "",
                                   ids.data[i]);
    uint64_t least = 0;
    if (err.status == RLF_OK)
        rlf_tokenizer_least(t, text, strlen(text), flags, &err, &least);
    too_few += err.status == RLF_OK && least > ids.count;
    RLF_VEC_FREE(&ids);
    return out;
}

static const char *
text_of(const rlf_tokenizer *t, const uint32_t *ids, size_t n, unsigned flags)
{
    rlf_buf buf = {0};
    rlf_tokenizer_decode(t, ids, n, flags, &buf);
    const char *text = rlf_arena_strndup(arena, buf.p, buf.n);
    rlf_buf_free(&buf);
    return text;
}

/* The ids of a text that goes on after another one. */
static const char *
ids_after(const rlf_tokenizer *t, const char *before, const char *text)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    const char *out = "";
    rlf_str known = rlf_str_of(before ? before : "");
    if (rlf_tokenizer_encode_after(t, before ? &known : NULL, rlf_str_of(text),
                                   &err, &ids) < 0)
        out = rlf_arena_strdup(arena, err.sentence);
    for (size_t i = 0; i < ids.count; i++)
        out = rlf_arena_printf(arena, "%s%s%u", out, i ? " " : "", ids.data[i]);
    RLF_VEC_FREE(&ids);
    return out;
}

/* Single characters, with ends; what rlflow's own examples have. */
static const char characters[] =
    "{\"added_tokens\": ["
    "{\"id\": 0, \"content\": \"<pad>\", \"special\": true},"
    "{\"id\": 1, \"content\": \"<bos>\", \"special\": true},"
    "{\"id\": 2, \"content\": \"<eos>\", \"special\": true}],"
    "\"normalizer\": null, \"pre_tokenizer\": null,"
    "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": ["
    "{\"SpecialToken\": {\"id\": \"<bos>\", \"type_id\": 0}},"
    "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"special_tokens\":"
    "{\"<bos>\": {\"id\": \"<bos>\", \"ids\": [1]}}},"
    "\"decoder\": {\"type\": \"Fuse\"},"
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"<pad>\": 0, \"<bos>\": 1,"
    "\"<eos>\": 2, \"0\": 3, \"1\": 4, \"+\": 5, \" \": 6, \"\xc3\xa9\": 7},"
    "\"merges\": []}}";

/* Returns the ids around each place of the text, "ended-begun" each. */
static const char *
places_of(const rlf_tokenizer *t, const char *text, size_t n, const size_t *at)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    rlf_text_place places[8] = {0};
    const char *out = "";
    for (size_t i = 0; i < n; i++)
        places[i].at = at[i];
    if (rlf_tokenizer_encode_placed(t, rlf_str_of(text), &err, &ids, places,
                                    n) < 0)
        out = rlf_arena_strdup(arena, err.sentence);
    else
        for (size_t i = 0; i < n; i++)
            out = rlf_arena_printf(arena, "%s%s%zu-%zu", out, i ? " " : "",
                                   places[i].ended, places[i].begun);
    RLF_VEC_FREE(&ids);
    return out;
}

static void
check_characters(void)
{
    static const uint32_t ids[] = {1, 3, 7, 99, 2};
    rlf_err err = RLF_ERR_NONE;
    size_t n;
    static const char config[] =
        "{\"bos_token\": \"<bos>\", \"eos_token\": {\"content\": \"<eos>\"},"
        "\"pad_token\": \"<pad>\", \"add_eos_token\": true,"
        "\"model_max_length\": 1000000000000000019884624838656}";
    put(arena, "tokenizer_config.json", config);
    rlf_tokenizer *t = open_text(characters);
    is_str(ids_of(t, "1+0 \xc3\xa9", 0), "4 5 3 6 7", "characters");
    is_str(ids_of(t, "1", RLF_ENCODE_SPECIAL), "1 4", "with the beginning");
    is_str(ids_of(t, "<bos>1", RLF_ENCODE_SPECIAL), "1 1 4", "... twice");
    is_str(ids_of(t, "<bos>1", RLF_ENCODE_SPECIAL | RLF_ENCODE_ONCE), "1 4",
           "... once where that is asked for");
    is_str(ids_of(t, "11", RLF_ENCODE_SPECIAL | RLF_ENCODE_ONCE), "1 4 4",
           "... also before others");
    is_str(ids_of(t, "1<eos>1", 0), "4 2 4", "a special token in the text");
    is_str(ids_of(t, "1<eos>1", RLF_ENCODE_PLAIN),
           "the character U+003C is not in the tokenizer's vocabulary, which "
           "has no unknown token",
           "what the vocabulary lacks is told, not dropped");
    is_str(ids_of(t, "", 0), "", "nothing");
    static const size_t at[] = {0, 1, 3, 3, 8, 9};
    is_str(places_of(t, "1\xc3\xa9<eos>1", 6, at), "0-0 1-1 2-2 2-2 3-3 4-4",
           "places between characters");
    static const size_t within[] = {0, 2, 6, 7};
    is_str(places_of(t, "1<eos>1", 4, within), "0-0 1-2 2-2 3-3",
           "a place within an added token");
    is_str(places_of(t, "", 1, at), "0-0", "a place in nothing");
    is_str(text_of(t, ids, 5, 0), "<bos>0\xc3\xa9<eos>", "text");
    is_str(text_of(t, ids, 5, RLF_DECODE_SKIP_SPECIAL), "0\xc3\xa9",
           "text without special tokens");
    is_int(rlf_tokenizer_vocab(t), 8, "size");
    is_int(rlf_tokenizer_bos(t), 1, "bos");
    ok(rlf_tokenizer_eos(t, &n)[0] == 2 && n == 1 &&
           rlf_tokenizer_is_eos(t, 2) && !rlf_tokenizer_is_eos(t, 1),
       "eos");
    is_int((int64_t)rlf_tokenizer_piece(t, 7).n, 2, "a piece's bytes");
    is_int((int64_t)rlf_tokenizer_piece(t, 8).n, 0, "no piece");
    /* Saved elsewhere, it is the same, whatever the directory has become. */
    const char *copy = in_root(arena, "copy");
    rlf_tokenizer *u = NULL;
    rlf_tokenizer_files files;
    rlf_dir_make(copy, &err);
    ok(rlf_tokenizer_files_read(root, arena, &err, &files) == RLF_OK,
       "its files are read");
    put(arena, "tokenizer_config.json", "{\"bos_token\": \"7\"}");
    ok(rlf_tokenizer_files_write(&files, copy, &err) == RLF_OK &&
           rlf_tokenizer_open(copy, &err, &u) == RLF_OK &&
           rlf_digest_equal(rlf_tokenizer_digest(u), rlf_tokenizer_digest(t)) &&
           rlf_tokenizer_bos(u) == 1,
       "a saved copy has the same hash");
    put(arena, "tokenizer_config.json", config);
    rlf_tokenizer_close(u);
    /* Several ends, the tokenizer's own first, and others than its own. */
    put(arena, "config.json", "{\"eos_token_id\": 3}");
    put(arena, "generation_config.json", "{\"eos_token_id\": [5, 2]}");
    u = open_text(characters);
    ok(rlf_tokenizer_eos(u, &n)[0] == 2 && n == 2 && rlf_tokenizer_is_eos(u, 5),
       "several ends");
    rlf_tokenizer_close(u);
    put(arena, "generation_config.json", "{\"eos_token_id\": [5, 4]}");
    u = open_text(characters);
    ok(rlf_tokenizer_eos(u, &n)[0] == 5 && n == 2 &&
           !rlf_tokenizer_is_eos(u, 2) && !rlf_tokenizer_is_eos(u, 3),
       "generation_config.json's alone");
    rlf_tokenizer_close(u);
    put(arena, "generation_config.json", "{\"temperature\": 0.6}");
    u = open_text(characters);
    ok(rlf_tokenizer_eos(u, &n)[0] == 3 && n == 1,
       "config.json's, where that names none");
    rlf_tokenizer_close(u);
    rlf_dir_remove(in_root(arena, "config.json"), &err);
    put(arena, "generation_config.json", "{\"eos_token_id\": 50}");
    ok(rlf_tokenizer_open(root, &err, &u) == RLF_USER &&
           strstr(err.sentence, "generation_config.json: \"eos_token_id\""),
       "an end that is no token");
    rlf_dir_remove(in_root(arena, "generation_config.json"), &err);
    rlf_dir_remove(in_root(arena, "tokenizer_config.json"), &err);
    rlf_tokenizer_close(t);
}

/* Merges by rank, leftmost first, against the plain definition. */
static const char letters[] =
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2,"
    "\"ab\": 3, \"bc\": 4, \"aa\": 5, \"abc\": 6, \"aab\": 7, \"abab\": 8,"
    "\"aaaa\": 9, \"cab\": 10}, \"merges\": [\"a b\", [\"b\", \"c\"],"
    "\"a a\", \"ab c\", \"a ab\", \"ab ab\", \"aa aa\", \"c ab\"]}}";

static const struct {
    const char *left, *right;
} merges[] = {{"a", "b"},  {"b", "c"},   {"a", "a"},   {"ab", "c"},
              {"a", "ab"}, {"ab", "ab"}, {"aa", "aa"}, {"c", "ab"}};

/* The lowest rank, leftmost, again and again. */
static const char *
slow_bpe(const rlf_tokenizer *t, const char *text)
{
    static char parts[64][64];
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        snprintf(parts[i], sizeof *parts, "%c", text[i]);
    for (;;) {
        size_t best = sizeof merges / sizeof *merges, at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t m = 0; m < best; m++)
                if (strcmp(parts[i], merges[m].left) == 0 &&
                    strcmp(parts[i + 1], merges[m].right) == 0) {
                    best = m;
                    at = i;
                }
        if (best == sizeof merges / sizeof *merges)
            break;
        memcpy(parts[at] + strlen(parts[at]), parts[at + 1],
               strlen(parts[at + 1]) + 1);
        n--;
        for (size_t i = at + 1; i < n; i++)
            strcpy(parts[i], parts[i + 1]);
    }
    const char *out = "";
    for (size_t i = 0; i < n; i++)
        out = rlf_arena_printf(arena, "%s%s%u", out, i ? " " : "",
                               rlf_tokenizer_find(t, parts[i]));
    return out;
}

static void
check_merges(void)
{
    rlf_tokenizer *t = open_text(letters);
    size_t wrong = 0;
    uint32_t random = 3;
    for (int round = 0; round < 3000; round++) {
        char text[40];
        size_t n = (size_t)round % 39;
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525 + 1013904223;
            text[i] = "abcaab"[(random >> 16) % 6];
        }
        text[n] = 0;
        wrong += strcmp(ids_of(t, text, 0), slow_bpe(t, text)) != 0;
    }
    ok(!wrong, "merges as their definition says, on 3000 words");
    /* A word of a million characters must not take quadratic time. */
    static char big[1000001];
    memset(big, 'a', sizeof big - 1);
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    rlf_tokenizer_encode(t, big, sizeof big - 1, 0, &err, &ids);
    is_int((int64_t)ids.count, 250000, "a word of a million characters");
    RLF_VEC_FREE(&ids);
    rlf_tokenizer_close(t);
}

/* Normalized added tokens, stripping ones, whole words, Metaspace, unk. */
static const char odd[] =
    "{\"added_tokens\": ["
    "{\"id\": 20, \"content\": \"<l>\", \"special\": true, \"lstrip\": true},"
    "{\"id\": 21, \"content\": \"<r>\", \"special\": false, \"rstrip\": true},"
    "{\"id\": 22, \"content\": \"word\", \"single_word\": true},"
    "{\"id\": 23, \"content\": \"<l><l>\"}],"
    "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\","
    "\"prepend_scheme\": \"first\", \"split\": true},"
    "\"decoder\": {\"type\": \"Metaspace\", \"replacement\": \"_\","
    "\"prepend_scheme\": \"first\"},"
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"_\": 0, \"a\": 1, \"_a\": 2,"
    "\"?\": 3}, \"merges\": [\"_ a\"], \"unk_token\": \"?\","
    "\"fuse_unk\": true}}";

static void
check_odd(void)
{
    static const uint32_t ids[] = {2, 2, 20, 1};
    rlf_tokenizer *t = open_text(odd);
    is_str(ids_of(t, "a a", 0), "2 2", "Metaspace");
    is_str(ids_of(t, "a<r>a", 0), "2 21 1", "only the first gets its space");
    is_str(ids_of(t, "a  <l> a", 0), "2 20 2", "lstrip");
    is_str(ids_of(t, "a <r>  a", 0), "2 0 21 1", "rstrip");
    is_str(ids_of(t, "<l><l><l>", 0), "23 20", "the longest first");
    is_str(ids_of(t, "word", 0), "22", "a whole word");
    is_str(ids_of(t, "sword", 0), "0 3", "not inside a word; fused unknowns");
    is_str(ids_of(t, "zzazz", 0), "0 3 1 3", "unknown between");
    is_str(ids_of(t, "a<l>", RLF_ENCODE_PLAIN), "2 3", "plain");
    is_str(ids_after(t, "a", "a"), "1", "no space behind a text");
    is_str(ids_after(t, "a", " a"), "2", "... but that which it has");
    is_str(ids_after(t, NULL, "a a<l>a"), "1 2 20 1", "... not known");
    is_str(ids_after(t, "a<r>", "a"), "1", "... behind a token");
    is_str(ids_after(t, "", "a"), "2", "... behind nothing");
    is_str(text_of(t, ids, 4, 0), "a a<l>a", "text");
    is_str(text_of(t, ids, 4, RLF_DECODE_CONTINUE), " a a<l>a",
           "text that goes on");
    ok(rlf_tokenizer_find(t, "_a") == 2 &&
           rlf_tokenizer_find(t, "no") == RLF_NO_ID,
       "tokens by name");
    rlf_tokenizer_close(t);
}

/* A file whose tokenizer puts a space in front of a text. */
#define PREPENDS(normalizer, pre_tokenizer)                             \
    "{\"added_tokens\": [{\"id\": 9, \"content\": \"<t>\"}], "          \
    "\"normalizer\": " normalizer ", \"pre_tokenizer\": " pre_tokenizer \
    ", \"model\": {\"type\": \"BPE\", \"vocab\": {\"_\": 0, \"a\": 1, " \
    "\"_a\": 2}, \"merges\": [\"_ a\"]}}"

static void
check_after(void)
{
    static const char *const files[] = {
        PREPENDS("{\"type\": \"Sequence\", \"normalizers\": [{\"type\": "
                 "\"Prepend\", \"prepend\": \"_\"}, {\"type\": \"Replace\", "
                 "\"pattern\": {\"String\": \" \"}, \"content\": \"_\"}]}",
                 "null"),
        PREPENDS("null", "{\"type\": \"Metaspace\", \"replacement\": \"_\", "
                         "\"prepend_scheme\": \"always\"}"),
        PREPENDS("{\"type\": \"Strip\", \"strip_left\": true, "
                 "\"strip_right\": false}",
                 "{\"type\": \"Metaspace\", \"replacement\": \"_\", "
                 "\"prepend_scheme\": \"always\"}"),
    };
    for (size_t i = 0; i < RLF_COUNT(files); i++) {
        rlf_tokenizer *t = open_text(files[i]);
        note("file %zu", i);
        is_str(ids_of(t, "a a", 0), "2 2", "both as one text");
        is_str(ids_after(t, "a", " a"), "2", "a text that goes on");
        is_str(ids_after(t, "a", "a a"), "1 2", "... without a space");
        is_str(ids_after(t, "a<t>", "a"), "2", "... behind a token");
        is_str(ids_after(t, "a", "a<t>a"), "1 9 2", "... with a token");
        is_str(ids_after(t, "", "a"), "2", "... behind nothing");
        rlf_tokenizer_close(t);
    }
}

/* Of sentencepiece's kind with a normalizer that takes spaces at the end away,
 * also of what stands before a place. */
static const char strips[] =
    "{\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": ["
    "{\"type\": \"Lowercase\"}, {\"type\": \"Strip\", \"strip_left\": "
    "false, \"strip_right\": true}]},"
    "\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
    "\"\xe2\x96\x81\", \"prepend_scheme\": \"always\"},"
    "\"decoder\": {\"type\": \"Metaspace\", \"replacement\": "
    "\"\xe2\x96\x81\", \"prepend_scheme\": \"always\"},"
    "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": ["
    "[\"?\", 0], [\"\xe2\x96\x81\", -3], [\"a\", -3], "
    "[\"\xe2\x96\x81"
    "a\", -2], [\"b\", -3]]}}";

static void
check_strips(void)
{
    static const size_t at[] = {0, 1, 2, 3, 4, 5};
    rlf_tokenizer *t = open_text(strips);
    is_str(ids_of(t, "A ab \n", 0), "3 3 4", "spaces at the end are gone");
    is_str(places_of(t, "A ab ", 6, at), "0-0 1-1 1-2 2-2 3-3 3-3",
           "places where they are");
    rlf_tokenizer_close(t);
}

/* Several threads use one tokenizer. */
static void *
encode_often(void *arg)
{
    const rlf_tokenizer *t = arg;
    rlf_err err = RLF_ERR_NONE;
    static const uint32_t want[] = {2, 20, 2, 0, 3};
    static const char text[] = "a  <l> a zz";
    size_t wrong = 0;
    for (int round = 0; round < 2000; round++) {
        rlf_ids ids = {0};
        rlf_tokenizer_encode(t, text, sizeof text - 1, 0, &err, &ids);
        wrong += ids.count != 5 || memcmp(ids.data, want, sizeof want) != 0;
        RLF_VEC_FREE(&ids);
    }
    return wrong ? arg : NULL;
}

static void
check_threads(void)
{
    rlf_tokenizer *t = open_text(odd);
    pthread_t threads[4];
    size_t wrong = 0;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, encode_often, t) != 0)
            bail("no thread");
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += result != NULL;
    }
    ok(!wrong, "four threads at once");
    rlf_tokenizer_close(t);
}

/* Bytes of characters, in any order: whole and by the id agree, and the text
 * is what Unicode's rule makes of the bytes. */
static void
check_bytes(void)
{
    rlf_buf json = {0};
    rlf_buf_puts(&json, "{\"decoder\": {\"type\": \"Sequence\", \"decoders\": ["
                        "{\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}]},"
                        "\"model\": {\"byte_fallback\": true, \"merges\": [],"
                        "\"vocab\": {\"<0x00>\": 0");
    for (int i = 1; i < 256; i++)
        rlf_buf_printf(&json, ", \"<0x%02X>\": %d", i, i);
    rlf_buf_puts(&json, "}}}");
    rlf_tokenizer *t = open_text(json.p);
    is_str(ids_of(t, "\xe2\x82\xac\n", 0), "226 130 172 10", "byte fallback");
    is_str(ids_of(t, "\xff", 0), "239 191 189", "what is not UTF-8");
    size_t wrong = 0;
    uint32_t random = 9;
    static const uint8_t some[] = {0x41, 0x80, 0xbf, 0xc3, 0xe0, 0xa0,
                                   0xed, 0x9f, 0xf0, 0x90, 0xf4, 0x8f,
                                   0xc0, 0xff, 0xe2, 0x82};
    for (int round = 0; round < 20000; round++) {
        uint32_t ids[8];
        char bytes[8];
        size_t n = (size_t)round % 9;
        for (size_t i = 0; i < n; i++) {
            random = random * 1664525 + 1013904223;
            ids[i] = some[random >> 28];
            bytes[i] = (char)ids[i];
        }
        rlf_buf whole = {0}, single = {0}, want = {0};
        rlf_detokenizer state;
        rlf_tokenizer_decode(t, ids, n, 0, &whole);
        rlf_detokenizer_begin(&state, t, 0);
        for (size_t i = 0; i < n; i++) {
            rlf_detokenizer_feed(&state, ids[i], &single);
            wrong += !rlf_utf8_valid(single.p, single.n);
        }
        rlf_detokenizer_end(&state, &single);
        rlf_utf8_clean(bytes, n, &want);
        wrong += whole.n != want.n || single.n != want.n ||
                 (want.n && memcmp(whole.p, want.p, want.n) != 0) ||
                 (want.n && memcmp(single.p, want.p, want.n) != 0);
        rlf_buf_free(&whole);
        rlf_buf_free(&single);
        rlf_buf_free(&want);
    }
    ok(!wrong, "20000 lists of bytes, whole and one by one");
    rlf_tokenizer_close(t);
    rlf_buf_free(&json);
}

static void
check_utf8(void)
{
    static const struct {
        const char *bytes, *text;
    } cases[] = {
        /* the examples of the Unicode standard, tables 3-8 to 3-11 */
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "????????A"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "????????A"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "?????A??B"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "????A"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rlf_buf got = {0}, shown = {0};
        rlf_utf8_clean(cases[i].bytes, strlen(cases[i].bytes), &got);
        for (size_t k = 0; k < got.n; k++)
            if ((unsigned char)got.p[k] == 0xef) {
                rlf_buf_putc(&shown, '?');
                k += 2;
            } else {
                rlf_buf_putc(&shown, got.p[k]);
            }
        is_str(shown.p, cases[i].text, "maximal subparts");
        rlf_buf_free(&got);
        rlf_buf_free(&shown);
    }
}

/* A normalizer each of whose steps makes 64 letters of one takes no memory
 * without end. */
static void
check_long(void)
{
    rlf_buf json = {0};
    rlf_buf_puts(&json, "{\"normalizer\": {\"type\": \"Sequence\", "
                        "\"normalizers\": [");
    for (int i = 0; i < 5; i++) {
        rlf_buf_puts(&json, i ? ", " : "");
        rlf_buf_puts(&json, "{\"type\": \"Replace\", \"pattern\": {\"String\": "
                            "\"a\"}, \"content\": \"");
        for (int k = 0; k < 64; k++)
            rlf_buf_putc(&json, 'a');
        rlf_buf_puts(&json, "\"}");
    }
    rlf_buf_puts(&json, "]}, \"model\": {\"type\": \"BPE\", \"vocab\": "
                        "{\"a\": 0}, \"merges\": []}}");
    rlf_tokenizer *t = open_text(json.p);
    is_str(ids_of(t, "a", 0),
           "the tokenizer's normalizer makes more than 1 MB of a text of 1 "
           "bytes",
           "a text that is made too long");
    rlf_tokenizer_close(t);
    rlf_buf_free(&json);
}

#define MODEL "\"model\": {\"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []"

#define TWO                                                     \
    "{\"type\": \"RobertaProcessing\", \"sep\": [\"b\", 1], " \
    "\"cls\": [\"a\", 0]}"

static void
check_refused(void)
{
    static const struct {
        const char *json, *want;
    } bad[] = {
        {"", "is empty"},
        {"{\"model\": ", "not JSON"},
        {"[]", "a list where an object is wanted"},
        {"{}", "\"model\" is missing"},
        {"{\"model\": {\"type\": \"Other\"}}",
         "the model type Other is not supported"},
        {"{\"model\": {\"merges\": []}}", "\"vocab\" is missing"},
        {"{\"model\": {\"vocab\": {}, \"merges\": []}}",
         "the vocabulary is empty"},
        {"{\"model\": {\"vocab\": {\"a\": -1}, \"merges\": []}}",
         "the id of the token \"a\""},
        {"{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}",
         "the same id 0"},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a a\"]}}",
         "merge 0, of \"a\" and \"a\", has a token that is not"},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"aa\"]}}",
         "merge 0 is not two tokens"},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [[\"a\"]]}}",
         "merge 0 is not two tokens"},
        {"{" MODEL ", \"dropout\": 0.1}}", "\"dropout\""},
        {"{" MODEL ", \"unk_token\": \"u\"}}", "the unk_token \"u\""},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"Other\"}}",
         "the normalizer Other is not supported"},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"BertNormalizer\"}}",
         "\"clean_text\" is missing"},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"Precompiled\", "
         "\"precompiled_charsmap\": \"????\"}}",
         "the precompiled_charsmap is no base 64"},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"Precompiled\", "
         "\"precompiled_charsmap\": \"\"}}",
         "has no trie of the size that it says"},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"Precompiled\", "
         "\"precompiled_charsmap\": \"/////wAA\"}}",
         "has no trie of the size that it says"},
        {"{" MODEL "}, \"normalizer\": {\"type\": \"Precompiled\", "
         "\"precompiled_charsmap\": \"BAAAAAAAAAD/\"}}",
         "has texts that are not UTF-8"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}}",
         "the pre_tokenizer UnicodeScripts is not supported"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"FixedLength\", "
         "\"length\": 0}}",
         "FixedLength has a length of 0"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", "
         "\"delimiter\": \"ab\"}}",
         "the delimiter \"ab\" is not one character"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"Metaspace\", "
         "\"replacement\": \"\"}}",
         "the replacement \"\" of Metaspace is not one character"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"CTC\"}}",
         "the decoder CTC is not supported"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"WordPiece\"}}",
         "\"prefix\" is missing"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"BPEDecoder\", \"suffix\": "
         "\"\"}}",
         "the decoder BPEDecoder without a suffix is not supported"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"Strip\", \"content\": "
         "\"ab\", \"start\": 1, \"stop\": 0}}",
         "a Strip decoder takes one character"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": "
         "[{\"type\": \"ByteFallback\"}, {\"type\": \"Replace\", "
         "\"pattern\": {\"String\": \"a\"}, \"content\": \"b\"}]}}",
         "the decoder Replace behind ByteFallback is not supported"},
        {"{" MODEL "}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": "
         "[{\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": "
         "\"a\", \"start\": 1, \"stop\": 1}]}}",
         "behind Fuse only one, of an ASCII character, with stop 0"},
        {"{" MODEL "}, \"post_processor\": {\"type\": \"Other\"}}",
         "the post_processor Other is not supported"},
        {"{" MODEL "}, \"post_processor\": {\"type\": \"BertProcessing\", "
         "\"sep\": [\"b\", 2], \"cls\": [\"a\", 0]}}",
         "the post_processor's id 2 is no token"},
        {"{" MODEL "}, \"post_processor\": {\"type\": \"Sequence\", "
         "\"processors\": [" TWO ", " TWO "]}}",
         "more than one post_processor that adds tokens"},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [\"a a\"], "
         "\"continuing_subword_prefix\": \"##\"}}",
         "merge 0 has a right side without the \"continuing_subword_prefix\""},
        {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\"]]}}",
         "token 0 of the vocabulary is not a text with a number"},
        {"{\"model\": {\"vocab\": [[\"a\", 0]], \"unk_id\": 1}}",
         "the unk_id 1 is no token of the vocabulary"},
        {"{\"model\": {\"\\u0076ocab\": [[\"a\", 0]]}}",
         "the scores of the vocabulary cannot be read"},
        {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}, "
         "\"continuing_subword_prefix\": \"##\", "
         "\"max_input_chars_per_word\": 5000}}",
         "\"max_input_chars_per_word\" of the model is 5000"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
         "{\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}}",
         "the pattern ( cannot be read as its reference reads it: at byte 1"},
        {"{" MODEL "}, \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
         "{\"Regex\": \"\\\\X\"}, \"behavior\": \"Isolated\"}}",
         "not supported"},
        {"{" MODEL "}, \"added_tokens\": [{\"id\": 1, \"content\": \"x\"}]}",
         "the added token \"x\" has the id 1 of \"b\""},
        {"{" MODEL "}, \"added_tokens\": [{\"id\": 5, \"content\": \"a\"}]}",
         "the added token \"a\" has the id 5, in the vocabulary it has 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_tokenizer *t = NULL;
        put(arena, "tokenizer.json", bad[i].json);
        rlf_status status = rlf_tokenizer_open(root, &err, &t);
        if (!ok(status == RLF_USER && strstr(err.sentence, bad[i].want) &&
                    strstr(err.sentence, "tokenizer.json"),
                "%s", bad[i].want))
            note("got: %s", err.sentence);
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    rlf_dir_remove(in_root(arena, "tokenizer.json"), &err);
    ok(rlf_tokenizer_open(root, &err, &t) == RLF_USER &&
           strstr(err.sentence, "holds neither tokenizer.json nor"),
       "a directory without a tokenizer");
}

/* Cut and flipped files: refused with a message, or good for encoding. */
static void
check_damage(void)
{
    static const char *const files[] = {characters, letters, odd};
    size_t opened = 0, refused = 0, rounds = 0;
    uint32_t random = 11;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        size_t n = strlen(files[f]);
        char *copy = rlf_arena_alloc(arena, n + 1);
        for (size_t round = 0; round < 3 * n; round++, rounds++) {
            rlf_err err = RLF_ERR_NONE;
            rlf_tokenizer *t = NULL;
            memcpy(copy, files[f], n + 1);
            random = random * 1664525 + 1013904223;
            size_t at = (random >> 4) % n;
            if (round < n)
                copy[round] = 0; /* cut */
            else
                copy[at] = round % 2 ? (char)(random >> 24 | 1)
                                     : "0{}[],:\"a-"[(random >> 24) % 10];
            put(arena, "tokenizer.json", copy);
            if (rlf_tokenizer_open(root, &err, &t) == RLF_OK) {
                ids_of(t, "a0 <l> word \xc3\xa9 <bos>", RLF_ENCODE_SPECIAL);
                rlf_tokenizer_close(t);
                opened++;
            } else {
                refused += err.status == RLF_USER && err.sentence[0];
            }
        }
    }
    note("%zu opened, %zu refused", opened, refused);
    ok(opened + refused == rounds && opened && refused,
       "a damaged file is refused, or good");
}

/* ---- many added tokens ---- */

/* Of a processor: what else the machine does does not count. */
static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* n added tokens in tokenizer.json, and as many that only tokenizer_config.json
 * names; then a text that has n of them among beginnings of others. */
static double
time_added(int n)
{
    rlf_buf json = {0}, config = {0}, text = {0};
    rlf_buf_puts(&json, "{\"added_tokens\": [");
    rlf_buf_puts(&config, "{\"extra_special_tokens\": [");
    for (int i = 0; i < n; i++) {
        rlf_buf_printf(&json, "%s{\"id\": %d, \"content\": \"<extra_%d>\"}",
                       i ? "," : "", i + 2, i);
        rlf_buf_printf(&config, "%s\"<more_%d>\"", i ? "," : "", i);
        rlf_buf_printf(&text, "<e<extra_%d>", i);
    }
    rlf_buf_puts(&json, "], \"model\": {\"type\": \"BPE\", \"vocab\": {"
                        "\"<\": 0, \"e\": 1}, \"merges\": []}}");
    rlf_buf_puts(&config, "]}");
    put(arena, "tokenizer_config.json", config.p);
    double begin = seconds();
    rlf_tokenizer *t = open_text(json.p);
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    rlf_tokenizer_encode(t, text.p, text.n, 0, &err, &ids);
    double took = seconds() - begin;
    bool right = rlf_tokenizer_vocab(t) == 2 + 2 * (uint32_t)n &&
                 ids.count == 3 * (size_t)n;
    for (size_t i = 0; i < ids.count && right; i++)
        right = ids.data[i] == (i % 3 < 2 ? i % 3 : 2 + i / 3);
    ok(right, "%d added tokens, and %d more", n, n);
    RLF_VEC_FREE(&ids);
    rlf_tokenizer_close(t);
    rlf_buf_free(&json);
    rlf_buf_free(&config);
    rlf_buf_free(&text);
    return took;
}

enum { ADDED = 60, ADDED_MOST = 7 };

/* By the definition: at each place the longest, the first place first. */
static const char *
slow_added(char list[][ADDED_MOST + 1], const char *text)
{
    const char *out = "";
    for (const char *p = text; *p;) {
        int best = -1;
        for (int i = 0; i < ADDED; i++)
            if (strncmp(p, list[i], strlen(list[i])) == 0 &&
                (best < 0 || strlen(list[i]) > strlen(list[best])))
                best = i;
        int id = best >= 0 ? 3 + best : *p - 'a';
        out = rlf_arena_printf(arena, "%s%s%d", out, p > text ? " " : "", id);
        p += best >= 0 ? strlen(list[best]) : 1;
    }
    return out;
}

static void
random_text(uint32_t *random, int n, char *out)
{
    for (int i = 0; i < n; i++) {
        *random = *random * 1664525 + 1013904223;
        out[i] = "aaabbc"[(*random >> 16) % 6];
    }
    out[n] = 0;
}

/* Tokens that begin with others, of which there are many among so few letters.
 */
static void
check_added(void)
{
    char list[ADDED][ADDED_MOST + 1], text[41];
    uint32_t random = 7;
    rlf_buf json = {0};
    rlf_buf_puts(&json, "{\"added_tokens\": [");
    for (int i = 0; i < ADDED; i++) {
        bool there = true;
        while (there) {
            random_text(&random, 3 + i % (ADDED_MOST - 2), list[i]);
            there = false;
            for (int k = 0; k < i; k++)
                there |= strcmp(list[k], list[i]) == 0;
        }
        rlf_buf_printf(&json, "%s{\"id\": %d, \"content\": \"%s\"}",
                       i ? "," : "", 3 + i, list[i]);
    }
    rlf_buf_puts(&json, "], \"model\": {\"type\": \"BPE\", \"vocab\": {"
                        "\"a\": 0, \"b\": 1, \"c\": 2}, \"merges\": []}}");
    rlf_tokenizer *t = open_text(json.p);
    int wrong = 0;
    for (int i = 0; i < 2000; i++) {
        random_text(&random, 1 + i % 40, text);
        wrong += strcmp(ids_of(t, text, 0), slow_added(list, text)) != 0;
    }
    ok(!wrong, "the longest added token at each place, in 2000 texts");
    rlf_tokenizer_close(t);
    rlf_buf_free(&json);
    double few = time_added(4000), many = time_added(32000);
    if (!ok(many < 32 * few, "8 times as many take no square of the time"))
        note("4,000: %.3f s, 32,000: %.3f s", few, many);
    put(arena, "tokenizer_config.json", "{}");
}

/* Pieces of which no single letter but b is one, and a special token. */
static const char pairs[] =
    "{\"added_tokens\": [{\"id\": 5, \"content\": \"<d>\", \"special\": true}],"
    "\"decoder\": {\"type\": \"Fuse\"},"
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"ab\": 0, \"ca\": 1, \"cc\": 2,"
    "\"abcb\": 3, \"b\": 4}, \"merges\": []}}";
/* The first byte of U+00E0 to U+00FF, and the second of U+00E9. */
static const char halves[] =
    "{\"decoder\": {\"type\": \"ByteLevel\"},"
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"\xc3\x83\": 0,"
    "\"\xc2\xa9\": 1, \"x\": 2}, \"merges\": []}}";

/* Is the text in what some four ids give? */
static bool
slow_gives(const rlf_tokenizer *t, const char *text)
{
    enum { IDS = 6, LONG = 4 };
    bool found = false;
    for (uint32_t code = 0; code < 1296 && !found; code++) { /* 6^4 */
        uint32_t ids[LONG], left = code;
        for (int i = 0; i < LONG; i++, left /= IDS)
            ids[i] = left % IDS;
        rlf_buf out = {0};
        rlf_tokenizer_decode(t, ids, LONG,
                             RLF_DECODE_SKIP_SPECIAL | RLF_DECODE_CONTINUE,
                             &out);
        rlf_buf_putc(&out, 0);
        found = strstr(out.p, text) != NULL;
        rlf_buf_free(&out);
    }
    return found;
}

static bool
gives(const rlf_tokenizer *t, const char *text)
{
    return rlf_tokenizer_gives(t, text, strlen(text));
}

static void
check_given(void)
{
    rlf_tokenizer *t = open_text(pairs);
    int wrong = 0, never = 0;
    for (uint32_t code = 0; code < 780; code++) { /* 5 + 25 + 125 + 625 */
        char text[5] = "";
        uint32_t left = code, n = 1, many = 5;
        for (; left >= many; many *= 5, n++)
            left -= many;
        for (uint32_t i = 0; i < n; i++, left /= 5)
            text[i] = "abcd>"[left % 5];
        never += !gives(t, text);
        wrong += gives(t, text) != slow_gives(t, text);
    }
    ok(!wrong && never > 100 && never < 780,
       "which texts ids can give: as trying says, %d of 780 never", never);
    rlf_tokenizer_close(t);
    t = open_text(halves);
    ok(gives(t, "x\xc3\xa9x") && !gives(t, "\xc3\xa8") && !gives(t, "y"),
       "a character whose bytes are tokens");
    ok(gives(t, "\xef\xbf\xbd"), "U+FFFD stands for what is none");
    rlf_tokenizer_close(t);
    t = open_text(letters);
    ok(gives(t, "a b") && gives(t, "z"),
       "without a decoder nothing is known to be given never");
    rlf_tokenizer_close(t);
}

int
main(void)
{
    make_root();
    arena = rlf_arena_new();
    check_characters();
    check_merges();
    check_odd();
    check_after();
    check_strips();
    check_added();
    check_given();
    check_threads();
    check_bytes();
    check_utf8();
    check_long();
    check_refused();
    check_damage();
    ok(!too_few, "no text has fewer ids than its bytes need");
    rlf_arena_free(arena);
    return done();
}
