/* Tokenizers against Hugging Face's libraries: tests/data/tokenizers.json, made
 * by tests/oracle/text_ids.py, says what transformers makes of each text, and
 * of responses behind prompts, and tests/data/tokenizer_config.json, made by
 * tests/oracle/tokenizer_config.py, what transformers makes of them when that
 * file says other things. The tokenizers themselves are not part of the
 * project: RLFLOW_TEST_DATA names where they are. */
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/text/detokenizer.h"
#include "tests/tap.h"

#include <time.h>
#include <unistd.h>

static const unsigned skip_special = RLF_DECODE_SKIP_SPECIAL;

static double
seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool
same_ids(const json_t *want, const uint32_t *got, size_t n)
{
    bool same = json_array_size(want) == n;
    for (size_t i = 0; i < n && same; i++)
        same = (uint32_t)json_number_value(json_array_get(want, i)) == got[i];
    return same;
}

static void
note_ids(const char *text, const json_t *want, const rlf_ids *got)
{
    rlf_buf line = {0};
    rlf_buf_json(&line, text, strlen(text));
    rlf_buf_puts(&line, " want");
    for (size_t i = 0; i < json_array_size(want); i++)
        rlf_buf_printf(&line, " %.0f",
                       json_number_value(json_array_get(want, i)));
    rlf_buf_puts(&line, " got");
    for (size_t i = 0; i < got->count; i++)
        rlf_buf_printf(&line, " %u", got->data[i]);
    note("%.2000s", line.p);
    rlf_buf_free(&line);
}

/* Decode `ids` in one go and id by id: both are `want`, and what comes by the
 * id is always whole characters. */
static bool
decodes_to(const rlf_tokenizer *t, const uint32_t *ids, size_t n,
           unsigned flags, const char *want)
{
    rlf_buf whole = {0}, pieces = {0};
    rlf_tokenizer_decode(t, ids, n, flags, &whole);
    rlf_detokenizer state;
    rlf_detokenizer_begin(&state, t, flags);
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        size_t before = pieces.n;
        rlf_detokenizer_feed(&state, ids[i], &pieces);
        json_t *text =
            json_stringn(pieces.p ? pieces.p + before : "", pieces.n - before);
        good = good && text; /* jansson takes valid UTF-8 only */
        json_decref(text);
    }
    rlf_detokenizer_end(&state, &pieces);
    good = good && whole.n == strlen(want) && strcmp(whole.p, want) == 0;
    good = good && whole.n == pieces.n &&
           (!whole.n || memcmp(whole.p, pieces.p, whole.n) == 0);
    if (!good) {
        rlf_buf line = {0};
        rlf_buf_puts(&line, "want ");
        rlf_buf_json(&line, want, strlen(want));
        rlf_buf_puts(&line, " got ");
        rlf_buf_json(&line, whole.p, whole.n);
        note("%.2000s", line.p);
        rlf_buf_free(&line);
    }
    rlf_buf_free(&whole);
    rlf_buf_free(&pieces);
    return good;
}

static void
check_texts(const char *name, const rlf_tokenizer *t, const json_t *texts,
            const json_t *want)
{
    rlf_err err = RLF_ERR_NONE;
    size_t wrong_ids = 0, wrong_plain = 0, wrong_text = 0, wrong_least = 0;
    size_t n_left = 0;
    size_t prefix = (size_t)json_number_value(json_object_get(want, "prefix"));
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const char *text = json_string_value(json_array_get(texts, i));
        size_t n = json_string_length(json_array_get(texts, i));
        const json_t *ids = json_array_get(json_object_get(want, "ids"), i);
        const json_t *plain =
            json_array_get(json_object_get(want, "plain_ids"), i);
        const char *full = json_string_value(
            json_array_get(json_object_get(want, "decoded"), i));
        const char *skipped = json_string_value(
            json_array_get(json_object_get(want, "skipped"), i));
        rlf_ids got = {0}, bare = {0};
        if (json_is_null(ids)) { /* it would leave out a character */
            rlf_err why = RLF_ERR_NONE;
            n_left +=
                rlf_tokenizer_encode(t, text, n, 0, &why, &bare) != RLF_USER;
            RLF_VEC_FREE(&bare);
            continue;
        }
        rlf_tokenizer_encode(t, text, n, RLF_ENCODE_SPECIAL, &err, &got);
        if (!same_ids(ids, got.data, got.count)) {
            wrong_ids++;
            note_ids(text, ids, &got);
        }
        rlf_tokenizer_encode(t, text, n, RLF_ENCODE_PLAIN, &err, &bare);
        uint64_t least = UINT64_MAX;
        rlf_tokenizer_least(t, text, n, RLF_ENCODE_PLAIN, &err, &least);
        wrong_least += least > bare.count;
        bool same = json_is_null(plain)
                        ? bare.count + prefix == got.count &&
                              (!bare.count ||
                               memcmp(bare.data, got.data + prefix,
                                      bare.count * sizeof *bare.data) == 0)
                        : same_ids(plain, bare.data, bare.count);
        if (!same) {
            wrong_plain++;
            note_ids(text, plain, &bare);
        }
        wrong_text += !decodes_to(t, got.data, got.count, 0, full);
        wrong_text += !decodes_to(t, got.data, got.count, skip_special,
                                  skipped ? skipped : full);
        RLF_VEC_FREE(&got);
        RLF_VEC_FREE(&bare);
    }
    ok(err.status == RLF_OK && !n_left,
       "%s: every text can be encoded, but those with unknown characters",
       name);
    if (err.status)
        note("%s", err.sentence);
    ok(!wrong_ids, "%s: ids of %zu texts", name, json_array_size(texts));
    ok(!wrong_plain, "%s: ids without special tokens", name);
    ok(!wrong_text, "%s: text of the ids", name);
    ok(!wrong_least, "%s: no text has fewer ids than its bytes need", name);
}

/* Each response behind each prompt. */
static void
check_joint(const char *name, const rlf_tokenizer *t, const json_t *root,
            const json_t *want)
{
    const json_t *prompts = json_object_get(root, "prompts");
    const json_t *responses = json_object_get(root, "responses");
    size_t n = json_array_size(responses), checked = 0, wrong = 0;
    for (size_t i = 0; i < json_array_size(want); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_ids got = {0};
        const json_t *ids = json_array_get(want, i);
        const json_t *before = json_array_get(prompts, i / n);
        const json_t *text = json_array_get(responses, i % n);
        const rlf_str prompt = {json_string_value(before),
                                json_string_length(before)};
        if (json_is_null(ids))
            continue;
        rlf_tokenizer_encode_after(
            t, &prompt,
            (rlf_str){json_string_value(text), json_string_length(text)}, &err,
            &got);
        checked++;
        if (!same_ids(ids, got.data, got.count)) {
            wrong++;
            note("behind \"%s\":", prompt.p);
            note_ids(json_string_value(text), ids, &got);
        }
        RLF_VEC_FREE(&got);
    }
    ok(checked >= 100 && !wrong, "%s: ids of %zu responses behind prompts",
       name, checked);
}

static void
check_random(const char *name, const rlf_tokenizer *t, const json_t *list)
{
    size_t wrong = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *ids = json_array_get(json_array_get(list, i), 0);
        rlf_ids in = {0};
        for (size_t k = 0; k < json_array_size(ids); k++)
            RLF_PUSH(&in, (uint32_t)json_number_value(json_array_get(ids, k)));
        wrong += !decodes_to(
            t, in.data, in.count, skip_special,
            json_string_value(json_array_get(json_array_get(list, i), 1)));
        RLF_VEC_FREE(&in);
    }
    ok(!wrong, "%s: text of random ids", name);
}

static void
put_code(rlf_buf *out, uint32_t c)
{
    if (c < 0x80) {
        rlf_buf_putc(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    rlf_buf_putc(out, (char)(lead[more] | c >> 6 * more));
    while (more--)
        rlf_buf_putc(out, (char)(0x80 | (c >> 6 * more & 0x3f)));
}

/* Continue an FNV-1a of the ids of a text. */
static uint64_t
digest_ids(const rlf_tokenizer *t, const rlf_buf *text, uint64_t hash)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_ids ids = {0};
    rlf_buf line = {0};
    rlf_tokenizer_encode(t, text->p, text->n, RLF_ENCODE_PLAIN, &err, &ids);
    for (size_t i = 0; i < ids.count; i++)
        rlf_buf_printf(&line, "%u ", ids.data[i]);
    for (size_t i = 0; i < line.n; i++)
        hash = (hash ^ (unsigned char)line.p[i]) * 0x100000001b3u;
    rlf_buf_free(&line);
    RLF_VEC_FREE(&ids);
    return hash;
}

/* Texts with each character of Unicode, 64 in each. */
static void
check_characters(const char *name, const rlf_tokenizer *t, const json_t *ranges,
                 const char *want)
{
    uint64_t hash = 0xcbf29ce484222325u;
    size_t count = 0;
    rlf_buf text = {0};
    for (size_t i = 0; i < json_array_size(ranges); i += 2) {
        double first = json_number_value(json_array_get(ranges, i));
        double after = json_number_value(json_array_get(ranges, i + 1));
        for (uint32_t c = (uint32_t)first; c < (uint32_t)after; c++) {
            rlf_buf_putc(&text, 'a');
            put_code(&text, c);
            put_code(&text, c);
            rlf_buf_putc(&text, ' ');
            put_code(&text, c);
            rlf_buf_puts(&text, "1\n");
            if (++count % 64 == 0) {
                hash = digest_ids(t, &text, hash);
                rlf_buf_clear(&text);
            }
        }
    }
    hash = text.n ? digest_ids(t, &text, hash) : hash;
    rlf_buf_free(&text);
    char got[17];
    snprintf(got, sizeof got, "%016" PRIx64, hash);
    ok(strcmp(got, want) == 0, "%s: ids of %zu characters", name, count);
}

/* The directory with only the files of the old form, by links. */
static void
check_pair(const char *name, const char *dir, const json_t *texts,
           const json_t *want, rlf_arena *arena)
{
    static const char *const files[] = {"vocab.json", "merges.txt",
                                        "tokenizer_config.json"};
    rlf_err err = RLF_ERR_NONE;
    char old[] = "/tmp/rlflow-pair-XXXXXX";
    if (!mkdtemp(old))
        bail("no directory for the test");
    for (size_t i = 0; i < RLF_COUNT(files); i++) {
        const char *from = rlf_path_join(arena, dir, files[i]);
        if (rlf_file_exists(from) &&
            symlink(from, rlf_path_join(arena, old, files[i])) != 0)
            bail("no link in %s", old);
    }
    rlf_tokenizer *t = NULL;
    ok(rlf_tokenizer_open(old, &err, &t) == RLF_OK,
       "%s: vocab.json and merges.txt", name);
    if (t)
        check_texts(rlf_arena_printf(arena, "%s (pair)", name), t, texts, want);
    else
        note("%s", err.sentence);
    rlf_tokenizer_close(t);
    rlf_dir_remove(old, &err);
}

static void
check_one(const char *data, const char *name, const json_t *root,
          const json_t *want, rlf_arena *arena)
{
    const json_t *texts = json_object_get(root, "texts");
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    const char *dir = rlf_path_join(arena, data, name);
    if (!rlf_dir_exists(dir)) {
        skip("%s is not there", dir);
        return;
    }
    double begun = seconds();
    if (!ok(rlf_tokenizer_open(dir, &err, &t) == RLF_OK, "%s: opens", name)) {
        note("%s", err.sentence);
        return;
    }
    note("%s: %u tokens in %.3f s", name, rlf_tokenizer_vocab(t),
         seconds() - begun);
    check_texts(name, t, texts, want);
    check_random(name, t, json_object_get(want, "random"));
    check_joint(name, t, root, json_object_get(want, "joint"));
    if (quick())
        skip("ids of all characters, for a quick pass");
    else if (json_is_string(json_object_get(want, "characters")))
        check_characters(
            name, t, json_object_get(root, "characters"),
            json_string_value(json_object_get(want, "characters")));
    rlf_tokenizer_close(t);
    if (rlf_file_exists(rlf_path_join(arena, dir, "merges.txt")))
        check_pair(name, dir, texts, want, arena);
}

/* ---- tokenizer_config.json ---- */

/* The directory's files by links, but for its tokenizer_config.json with the
 * edit in it. */
static void
edit_dir(const char *dir, const char *to, const json_t *edit, rlf_arena *arena)
{
    static const char *const files[] = {
        "tokenizer.json", "special_tokens_map.json", "config.json",
        "generation_config.json", "added_tokens.json"};
    rlf_err err = RLF_ERR_NONE;
    json_t *config = NULL;
    for (size_t i = 0; i < RLF_COUNT(files); i++) {
        const char *from = rlf_path_join(arena, dir, files[i]);
        if (rlf_file_exists(from) &&
            symlink(from, rlf_path_join(arena, to, files[i])) != 0)
            bail("no link in %s", to);
    }
    const char *path = rlf_path_join(arena, dir, "tokenizer_config.json");
    if (!rlf_file_exists(path))
        config = json_object();
    else if (rlf_json_load(path, &err, &config) < 0)
        bail("%s", err.sentence);
    json_object_update(config, (json_t *)(uintptr_t)edit);
    char *text = json_dumps(config, 0);
    rlf_file_write(rlf_path_join(arena, to, "tokenizer_config.json"), text,
                   strlen(text), &err);
    free(text);
    json_decref(config);
}

static void
check_edit(const char *data, const json_t *texts, const json_t *want,
           rlf_arena *arena)
{
    const char *base = json_string_value(json_object_get(want, "base"));
    const char *dir = rlf_path_join(arena, data, base);
    const json_t *edit = json_object_get(want, "edit");
    const json_t *ids = json_object_get(want, "ids");
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    char to[] = "/tmp/rlflow-edit-XXXXXX";
    if (!rlf_dir_exists(dir)) {
        skip("%s is not there", dir);
        return;
    }
    if (!mkdtemp(to))
        bail("no directory for the test");
    edit_dir(dir, to, edit, arena);
    size_t wrong = 0;
    char *said = json_dumps(edit, JSON_SORT_KEYS);
    if (rlf_tokenizer_open(to, &err, &t) < 0) {
        note("%s", err.sentence);
        wrong = json_array_size(texts);
    }
    for (size_t i = 0; t && i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        rlf_ids got = {0};
        rlf_tokenizer_encode(t, json_string_value(text),
                             json_string_length(text), RLF_ENCODE_SPECIAL, &err,
                             &got);
        if (!same_ids(json_array_get(ids, i), got.data, got.count)) {
            wrong++;
            note_ids(json_string_value(text), json_array_get(ids, i), &got);
        }
        RLF_VEC_FREE(&got);
    }
    double size = json_number_value(json_object_get(want, "size"));
    ok(!wrong && (!t || rlf_tokenizer_vocab(t) == (uint32_t)size),
       "%s with %s in tokenizer_config.json: ids and size", base, said);
    free(said);
    rlf_tokenizer_close(t);
    rlf_dir_remove(to, &err);
}

static void
check_edits(const char *data, const char *source, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    json_t *root = NULL;
    const char *path =
        rlf_path_join(arena, source, "tests/data/tokenizer_config.json");
    if (rlf_json_load(path, &err, &root) < 0)
        bail("%s", err.sentence);
    const json_t *cases = json_object_get(root, "cases");
    /* Each opens a whole tokenizer. Of the two that are large, and read as two
     * small ones are, each has a sixth of the cases, no two the same. */
    for (size_t i = 0; i < json_array_size(cases); i += quick() ? 9 : 1) {
        const json_t *one = json_array_get(cases, i);
        const char *base = json_string_value(json_object_get(one, "base"));
        if ((strstr(base, "llama3") && i % 6 != 0) ||
            (strstr(base, "qwen") && i % 6 != 1))
            continue;
        check_edit(data, json_object_get(root, "texts"), one, arena);
    }
    json_decref(root);
}

/* ---- added tokens ---- */

static void
write_json(const char *dir, const char *name, const json_t *value,
           rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    char *text = json_dumps(value, 0);
    if (rlf_file_write(rlf_path_join(arena, dir, name), text, strlen(text),
                       &err) < 0)
        bail("%s", err.sentence);
    free(text);
}

/* Random texts around added tokens with flags of one tokenizer. Returns how
 * many have other ids. */
static size_t
check_flags(const json_t *row, rlf_arena *arena, size_t *n)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    size_t wrong = 0, n_special = 0;
    char dir[] = "/tmp/rlflow-added-XXXXXX";
    const json_t *texts = json_object_get(row, "texts");
    const json_t *special = json_object_get(row, "special");
    if (!mkdtemp(dir))
        bail("no directory for the test");
    write_json(dir, "tokenizer.json", json_object_get(row, "root"), arena);
    write_json(dir, "tokenizer_config.json", json_object_get(row, "config"),
               arena);
    if (rlf_tokenizer_open(dir, &err, &t) < 0)
        bail("%s", err.sentence);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        const json_t *want = json_array_get(json_object_get(row, "ids"), i);
        rlf_ids got = {0};
        if (json_is_null(want))
            continue; /* the reference crashes */
        rlf_tokenizer_encode(t, json_string_value(text),
                             json_string_length(text), 0, &err, &got);
        *n += 1;
        if (!same_ids(want, got.data, got.count) && !wrong++)
            note_ids(json_string_value(text), want, &got);
        RLF_VEC_FREE(&got);
    }
    for (uint32_t id = 0; id < rlf_tokenizer_vocab(t); id++)
        n_special += rlf_tokenizer_special(t, id);
    wrong += n_special != json_array_size(special);
    for (size_t i = 0; i < json_array_size(special); i++)
        wrong += !rlf_tokenizer_special(
            t, (uint32_t)json_number_value(json_array_get(special, i)));
    rlf_tokenizer_close(t);
    rlf_dir_remove(dir, &err);
    return wrong;
}

static void
check_added(const char *source, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    json_t *root = NULL;
    size_t n[2] = {0}, wrong[2] = {0};
    const char *path =
        rlf_path_join(arena, source, "tests/data/added_tokens.json");
    if (rlf_json_load(path, &err, &root) < 0)
        bail("%s", err.sentence);
    for (size_t i = 0; i < json_array_size(root); i++)
        wrong[i % 2] += check_flags(json_array_get(root, i), arena, &n[i % 2]);
    ok(n[0] && !wrong[0],
       "of %zu texts around added tokens with random flags %zu have other ids",
       n[0], wrong[0]);
    ok(n[1] && !wrong[1],
       "... of %zu where tokenizer_config.json has other flags %zu", n[1],
       wrong[1]);
    json_decref(root);
}

int
main(void)
{
    const char *data = getenv("RLFLOW_TEST_DATA");
    const char *source = getenv("RLFLOW_SOURCE");
    rlf_err err = RLF_ERR_NONE;
    json_t *root = NULL, *want;
    const char *name;
    if (!data || !rlf_dir_exists(data))
        skip_all("RLFLOW_TEST_DATA names no directory");
    rlf_arena *arena = rlf_arena_new();
    const char *path = rlf_path_join(arena, source ? source : ".",
                                     "tests/data/tokenizers.json");
    if (rlf_json_load(path, &err, &root) < 0)
        bail("%s", err.sentence);
    json_object_foreach(json_object_get(root, "tokenizers"), name, want)
        check_one(data, name, root, want, arena);
    json_decref(root);
    check_edits(data, source ? source : ".", arena);
    check_added(source ? source : ".", arena);
    rlf_arena_free(arena);
    return done();
}
