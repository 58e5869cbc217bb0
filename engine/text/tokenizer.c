/* Tokenizers: opening, encoding and looking up; see tokenizer.h. Loading is in
 * load.c, decoding in detokenizer.c. */
#define _GNU_SOURCE /* memmem */

#include "engine/text/tokenizer.h"

#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"
#include "engine/text/inside.h"
#include "engine/text/utf8.h"

#include <string.h>

/* tokenizer.json, or what stands for it. */
static rlf_status
load_root(rlf_tokenizer *t, const char *path, rlf_err *err, json_t **out)
{
    bool there;
    t->file = path;
    RLF_TRY(rlf_file_find(path, err, &there));
    if (there)
        return rlf_json_load_object(path, err, out);
    t->file = rlf_path_join(t->arena, t->dir, "vocab.json");
    const char *merges = rlf_path_join(t->arena, t->dir, "merges.txt");
    RLF_TRY(rlf_file_find(t->file, err, &t->pair));
    RLF_TRY(rlf_file_find(merges, err, &there));
    t->pair &= there;
    if (t->pair)
        return rlf_tokenizer_pair(t->dir, t->arena, err, out);
    rlf_fail(err, RLF_USER,
             "%s holds neither tokenizer.json nor vocab.json and merges.txt",
             t->dir);
    const char *old = rlf_path_join(t->arena, t->dir, "tokenizer.model");
    const char *model = rlf_path_join(t->arena, t->dir, "config.json");
    if (rlf_file_exists(rlf_path_join(t->arena, t->dir, "adapter_config.json")))
        rlf_err_hint(err, "it is an adapter, whose tokenizer is that of the "
                          "model that it is for");
    else if (!rlf_file_exists(model) && !rlf_file_exists(old))
        rlf_err_hint(err, "it has no config.json either, so it is no model in "
                          "the format of Hugging Face; convert it, or name "
                          "another directory");
    else if (rlf_file_exists(old))
        rlf_err_hint(err, "tokenizer.model is not read: save the tokenizer as "
                          "tokenizer.json first");
    else
        rlf_err_hint(err, "put the model's tokenizer.json there; a program can "
                          "name another directory: lm(..., tokenizer: "
                          "\"...\")");
    return RLF_USER;
}

/* tokenizer_config.json, or NULL, with what special_tokens_map.json names. */
static rlf_status
load_config(rlf_tokenizer *t, rlf_err *err, json_t **out)
{
    json_t *map = NULL;
    RLF_TRY(rlf_tokenizer_beside(t, "tokenizer_config.json", err, out));
    if (!json_object_get(*out, "added_tokens_decoder"))
        RLF_TRY(rlf_tokenizer_beside(t, "special_tokens_map.json", err, &map));
    if (map && !*out)
        *out = json_object();
    if (*out)
        rlf_tokenizer_gather(*out, map);
    json_decref(map);
    return RLF_OK;
}

static rlf_status
open_files(rlf_tokenizer *t, const char *path, rlf_err *err)
{
    json_t *root = NULL, *config = NULL;
    rlf_status status = RLF_OK;
    bool is_dir = rlf_dir_exists(path);
    t->dir = is_dir ? rlf_arena_strdup(t->arena, path)
                    : rlf_path_parent(t->arena, path);
    t->config_path = rlf_path_join(t->arena, t->dir, "tokenizer_config.json");
    const char *whole = is_dir ? rlf_path_join(t->arena, path, "tokenizer.json")
                               : rlf_arena_strdup(t->arena, path);
    bool there = is_dir;
    if (!is_dir)
        RLF_TRY(rlf_file_find(path, err, &there));
    if (!there) {
        rlf_fail(err, RLF_USER, "%s is not there", path);
        if (strstr(path, "~/"))
            rlf_err_hint(err, "'~' is not expanded: write the directory in "
                              "full");
        else
            rlf_err_hint(err,
                         "a model is a directory on this machine, and nothing "
                         "is downloaded%s; %s",
                         rlf_hub_advice(path, t->arena), rlf_file_absent);
        return RLF_USER;
    }
    RLF_TRY_GOTO(load_config(t, err, &config), end);
    RLF_TRY_GOTO(rlf_tokenizer_check_files(t, config, err), end);
    RLF_TRY_GOTO(load_root(t, whole, err, &root), end);
    RLF_TRY_GOTO(rlf_tokenizer_added_file(t, root, &config, err), end);
    RLF_TRY_GOTO(rlf_tokenizer_class(t, root, &config, err), end);
    RLF_TRY_GOTO(rlf_tokenizer_mend(t, root, config, err), end);
    RLF_TRY_GOTO(rlf_tokenizer_load(t, root, config, err), end);
end:
    json_decref(root);
    json_decref(config);
    return status;
}

rlf_status
rlf_tokenizer_open(const char *path, rlf_err *err, rlf_tokenizer **out)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_tokenizer *t = RLF_NEW(arena, rlf_tokenizer);
    t->arena = arena;
    t->scratches = rlf_scratches_new(arena);
    t->bos = RLF_NO_ID;
    rlf_status status = open_files(t, path, err);
    if (status < 0) {
        rlf_hub_explain(path, err);
        rlf_tokenizer_close(t);
    } else
        *out = t;
    return status;
}

void
rlf_tokenizer_close(rlf_tokenizer *tokenizer)
{
    if (tokenizer)
        rlf_arena_free(tokenizer->arena);
}

/* --- encoding --- */

/* The end of a text, for the text that goes on after it. */
typedef enum text_end {
    END_NOTHING,    /* it is empty */
    END_TOKEN,      /* an added token */
    END_NORMALIZED, /* one that is found in normalized text */
    END_TEXT
} text_end;

typedef struct encoder {
    const rlf_tokenizer *t;
    unsigned flags;
    text_end behind; /* that of the text before */
    text_end end;    /* of what is encoded so far */
    rlf_scratch *scratch;
    rlf_scratch own;        /* where the tokenizer has none left */
    rlf_ids *out;           /* NULL: only count, */
    uint64_t n_added;       /* added tokens */
    uint64_t n_bytes;       /* and what the model makes tokens of */
    rlf_text_place *places; /* those that are not filled yet */
    size_t n_places;
} encoder;

/* ---- places ---- */

/* Of a space, in the tokens of sentencepiece's models. */
static const char space_sign[] = "\xe2\x96\x81";

/* The next place, if it is not behind byte `to`; NULL: it is, or there is none.
 */
static rlf_text_place *
next_place(encoder *e, size_t to)
{
    if (!e->n_places || e->places->at > to)
        return NULL;
    e->n_places--;
    return e->places++;
}

/* Those up to the end of an added token, the last of the ids. */
static void
place_added(encoder *e, size_t to)
{
    size_t n = e->out ? e->out->count : 0;
    for (rlf_text_place *place; (place = next_place(e, to)) != NULL;) {
        place->ended = place->at == to ? n : n - 1;
        place->begun = n;
    }
}

/* Is `spelled` the text, perhaps with one space in front? */
static bool
spells(const rlf_buf *spelled, rlf_str text, size_t *before)
{
    *before = spelled->n - text.n;
    return spelled->n >= text.n && *before <= 1 &&
           (!text.n || memcmp(spelled->p + *before, text.p, text.n) == 0) &&
           (!*before || spelled->p[0] == ' ');
}

/* The text as the normalizer writes it, with spaces for the signs that stand
 * for them in tokens, into `out`. */
static rlf_status
normalize(const encoder *e, rlf_str text, rlf_buf *out, rlf_err *err)
{
    rlf_buf_clear(out);
    if (!rlf_buf_try(out, text.n))
        return rlf_fail_memory(err, text.n, "a text that is normalized");
    rlf_buf_add(out, text.n ? text.p : "", text.n);
    RLF_TRY(rlf_normalizer_apply(&e->t->normalizer, out, false, NULL, err));
    const size_t n = strlen(space_sign);
    size_t to = 0;
    for (size_t i = 0; i < out->n && !e->t->pre_tokenizer.byte_level; to++) {
        bool space = out->n - i >= n && memcmp(out->p + i, space_sign, n) == 0;
        out->p[to] = space ? ' ' : out->p[i];
        i += space ? n : 1;
    }
    if (!e->t->pre_tokenizer.byte_level)
        out->n = to;
    return RLF_OK;
}

/* Finds how long the first n bytes of a text are once the whole is normalized.
 * A letter behind them keeps spaces that only the end of a text loses. */
static rlf_status
measure(const encoder *e, const char *p, size_t n, rlf_buf *spare, rlf_err *err,
        size_t *out)
{
    rlf_buf text = {0};
    bool strips = false;
    for (size_t i = 0; i < e->t->normalizer.count; i++)
        strips |= e->t->normalizer.data[i].right;
    if (!rlf_buf_try(&text, n + 1))
        return rlf_fail_memory(err, n, "a text that is normalized");
    rlf_buf_add(&text, p, n);
    rlf_buf_puts(&text, strips ? "x" : "");
    rlf_status status = normalize(e, (rlf_str){text.p, text.n}, spare, err);
    rlf_buf_free(&text);
    *out = spare->n - (strips && spare->n);
    return status;
}

/* Those within the text p[from..to), whose ids are number `first` and all that
 * follow. What they stand for is the text or, where it has other characters,
 * the normalized one; of that, what is before a place is as long as normalized
 * alone. */
static rlf_status
place_text(encoder *e, const char *p, size_t from, size_t to, size_t first,
           rlf_err *err)
{
    if (!e->n_places || e->places->at > to)
        return RLF_OK;
    rlf_buf spelled = {0}, normal = {0};
    rlf_str text = {p + from, to - from};
    size_t before, id = first, start = 0; /* of the id, in `spelled` */
    rlf_status status = RLF_OK;
    for (size_t i = first; i < e->out->count; i++) {
        rlf_str piece = rlf_tokenizer_piece(e->t, e->out->data[i]);
        rlf_buf_add(&spelled, piece.n ? piece.p : "", piece.n);
    }
    bool same = spells(&spelled, text, &before);
    if (!same)
        RLF_TRY_GOTO(normalize(e, text, &normal, err), end);
    if (!same && !spells(&spelled, (rlf_str){normal.p, normal.n}, &before)) {
        status = rlf_fail(err, RLF_USER,
                          "the tokenizer writes \"%.*s\" in other "
                          "characters, so which of its tokens stand where is "
                          "not known",
                          (int)rlf_str_cut(text, 40), text.p);
        goto end;
    }
    for (rlf_text_place *place; (place = next_place(e, to)) != NULL;) {
        size_t at = place->at - from;
        if (!same)
            RLF_TRY_GOTO(measure(e, text.p, at, &normal, err, &at), end);
        at += before;
        for (; id < e->out->count; id++) {
            size_t n = rlf_tokenizer_piece(e->t, e->out->data[id]).n;
            if (start + n > at)
                break;
            start += n;
        }
        place->ended = id;
        place->begun = id + (id < e->out->count && start < at);
    }
end:
    rlf_buf_free(&spelled);
    rlf_buf_free(&normal);
    return status;
}

/* A normalized text without added tokens, whose first bytes are what the first
 * character of the whole text has become. `inside`: it goes on after other
 * text. */
static rlf_status
encode_plain(encoder *e, const char *p, size_t n, size_t first, bool inside,
             rlf_err *err)
{
    if (!n)
        return RLF_OK;
    e->end = END_TEXT;
    if (!e->out) {
        e->n_bytes += n;
        return RLF_OK;
    }
    rlf_buf_clear(&e->scratch->words.text);
    if (!rlf_buf_try(&e->scratch->words.text, n))
        return rlf_fail_memory(err, n, "a text that is split");
    rlf_buf_add(&e->scratch->words.text, p, n);
    e->scratch->words.first = first < n ? first : n;
    e->scratch->words.inside = inside;
    RLF_TRY(
        rlf_pre_tokenizer_apply(&e->t->pre_tokenizer, &e->scratch->words, err));
    for (size_t i = 0; i < e->scratch->words.count; i++) {
        struct rlf_pretoken word = e->scratch->words.data[i];
        RLF_TRY(rlf_word_model_encode(&e->t->model, &e->scratch->work,
                                      e->scratch->words.text.p + word.from,
                                      word.to - word.from, err, e->out));
    }
    return RLF_OK;
}

static rlf_status
add_id(encoder *e, uint32_t id, rlf_err *err)
{
    e->n_added++;
    if (!e->out)
        return RLF_OK;
    RLF_TRY_ROOM(e->out, 1, "the tokens of a text");
    RLF_PUSH(e->out, id);
    return RLF_OK;
}

/* Encodes text between added tokens: normalizes it, then looks for the added
 * tokens that are found only in normalized text. */
static rlf_status
encode_between(encoder *e, const char *p, size_t n, text_end behind,
               rlf_err *err)
{
    if (!n)
        return RLF_OK;
    rlf_buf text = {0};
    rlf_status status = RLF_OK;
    size_t first = behind == END_NOTHING ? (size_t)rlf_utf8_unit(p, n) : 0;
    bool inside = behind >= END_NORMALIZED;
    e->end = END_TEXT;
    if (!rlf_buf_try(&text, n))
        return rlf_fail_memory(err, n, "a text that is normalized");
    rlf_buf_add(&text, p, n);
    RLF_TRY_GOTO(
        rlf_normalizer_apply(&e->t->normalizer, &text, inside, &first, err),
        end);
    for (rlf_added_match last = {0}, found;; last = found) {
        found = rlf_finder_next(&e->t->after, text.p, text.n, &last,
                                (e->flags & RLF_ENCODE_PLAIN) != 0);
        size_t to = found.added ? found.from : text.n;
        if (to > last.to)
            RLF_TRY_GOTO(encode_plain(e, text.p + last.to, to - last.to,
                                      last.to < first ? first - last.to : 0,
                                      behind == END_TEXT && !last.to, err),
                         end);
        if (!found.added)
            break;
        if (found.from < found.to) {
            RLF_TRY_GOTO(add_id(e, found.added->id, err), end);
            e->end = END_NORMALIZED;
        }
    }
end:
    rlf_buf_free(&text);
    return status;
}

static rlf_status
check_fill(const rlf_tokenizer *t, const char *text, size_t n, rlf_err *err)
{
    if (!t->fill || !n || !memmem(text, n, t->fill, strlen(t->fill)))
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "the text has %s, where the class %s writes what stands behind it "
             "in another place",
             t->fill, t->built);
    rlf_err_hint(err, "write the tokens for filling in yourself");
    return RLF_USER;
}

static rlf_status
encode_text(encoder *e, const char *p, size_t n, rlf_err *err)
{
    RLF_TRY(check_fill(e->t, p, n, err));
    for (rlf_added_match last = {0}, found;; last = found) {
        found = rlf_finder_next(&e->t->before, p, n, &last,
                                (e->flags & RLF_ENCODE_PLAIN) != 0);
        size_t to = found.added ? found.from : n;
        size_t first = e->out ? e->out->count : 0;
        if (to > last.to) {
            RLF_TRY(encode_between(e, p + last.to, to - last.to,
                                   last.to ? END_TOKEN : e->behind, err));
            RLF_TRY(place_text(e, p, last.to, to, first, err));
        }
        if (!found.added)
            return RLF_OK;
        if (found.from < found.to) {
            RLF_TRY(add_id(e, found.added->id, err));
            e->end = END_TOKEN;
            place_added(e, found.to);
        }
    }
}

static void
add_ids(rlf_ids *out, const rlf_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        RLF_PUSH(out, ids->data[i]);
}

/* Removes the prefix, whose ids are number `at` and more, where the text behind
 * it begins with the same ids. */
static void
begin_once(const rlf_ids *prefix, size_t at, rlf_ids *out)
{
    size_t n = prefix->count, size = n * sizeof *out->data;
    if (!n || out->count < at + 2 * n ||
        memcmp(out->data + at, out->data + at + n, size) != 0)
        return;
    memmove(out->data + at, out->data + at + n,
            (out->count - at - n) * sizeof *out->data);
    out->count -= n;
}

static rlf_status
encode_clean(encoder *e, const char *text, size_t n, rlf_err *err)
{
    rlf_buf clean = {0};
    if (!rlf_utf8_valid(text, n)) {
        rlf_utf8_clean(text, n, &clean);
        text = clean.p;
        n = clean.n;
    }
    rlf_status status = encode_text(e, text, n, err);
    rlf_buf_free(&clean);
    return status;
}

rlf_status
rlf_tokenizer_encode(const rlf_tokenizer *tokenizer, const char *text, size_t n,
                     unsigned flags, rlf_err *err, rlf_ids *out)
{
    encoder e = {.t = tokenizer, .flags = flags, .out = out};
    e.scratch = rlf_scratch_take(tokenizer->scratches, &e.own);
    if (tokenizer->plain)
        e.flags |= RLF_ENCODE_PLAIN;
    bool special = (flags & RLF_ENCODE_SPECIAL) != 0;
    size_t at = out->count;
    if (special)
        add_ids(out, &tokenizer->prefix);
    rlf_status status = encode_clean(&e, text, n, err);
    if (status == RLF_OK && special && (flags & RLF_ENCODE_ONCE))
        begin_once(&tokenizer->prefix, at, out);
    if (status == RLF_OK && special)
        add_ids(out, &tokenizer->suffix);
    rlf_scratch_give(tokenizer->scratches, e.scratch);
    return status;
}

/* Does it matter to a text what it stands behind? */
static bool
sees_behind(const rlf_tokenizer *t)
{
    bool sees = false;
    for (size_t i = 0; i < t->normalizer.count; i++)
        sees |= t->normalizer.data[i].kind == RLF_NORMAL_PREPEND ||
                t->normalizer.data[i].left;
    for (size_t i = 0; i < t->pre_tokenizer.count; i++)
        sees |= t->pre_tokenizer.data[i].prefix;
    return sees;
}

rlf_status
rlf_tokenizer_encode_after(const rlf_tokenizer *tokenizer,
                           const rlf_str *before, rlf_str text, rlf_err *err,
                           rlf_ids *out)
{
    encoder e = {.t = tokenizer, .out = out};
    encoder seen = {.t = tokenizer, .end = END_TEXT};
    if (tokenizer->plain)
        e.flags = seen.flags = RLF_ENCODE_PLAIN;
    if (before && sees_behind(tokenizer)) {
        seen.end = END_NOTHING;
        RLF_TRY(encode_clean(&seen, before->p, before->n, err));
    }
    e.behind = seen.end;
    e.scratch = rlf_scratch_take(tokenizer->scratches, &e.own);
    rlf_status status = encode_clean(&e, text.p, text.n, err);
    rlf_scratch_give(tokenizer->scratches, e.scratch);
    return status;
}

rlf_status
rlf_tokenizer_encode_placed(const rlf_tokenizer *tokenizer, rlf_str text,
                            rlf_err *err, rlf_ids *out, rlf_text_place *places,
                            size_t n)
{
    encoder e = {.t = tokenizer, .out = out, .places = places, .n_places = n};
    e.scratch = rlf_scratch_take(tokenizer->scratches, &e.own);
    if (tokenizer->plain)
        e.flags |= RLF_ENCODE_PLAIN;
    for (rlf_text_place *place; (place = next_place(&e, 0)) != NULL;)
        place->ended = place->begun = out->count;
    rlf_status status = encode_text(&e, text.p, text.n, err);
    for (rlf_text_place *place; (place = next_place(&e, SIZE_MAX)) != NULL;)
        place->ended = place->begun = out->count;
    rlf_scratch_give(tokenizer->scratches, e.scratch);
    return status;
}

/* The most bytes that one token stands for, as the model sees them; 0: there is
 * no such number. */
static size_t
longest_token(const rlf_tokenizer *t)
{
    size_t longest = rlf_word_model_longest(&t->model);
    for (size_t i = 0; i < t->pre_tokenizer.count; i++)
        if (t->pre_tokenizer.data[i].behavior == RLF_SPLIT_REMOVED)
            longest = 0;
    return longest;
}

rlf_status
rlf_tokenizer_least(const rlf_tokenizer *tokenizer, const char *text, size_t n,
                    unsigned flags, rlf_err *err, uint64_t *out)
{
    encoder e = {.t = tokenizer, .flags = flags};
    size_t longest = longest_token(tokenizer);
    if (tokenizer->plain)
        e.flags |= RLF_ENCODE_PLAIN;
    RLF_TRY(encode_clean(&e, text, n, err));
    *out = e.n_added;
    if (longest)
        *out += (e.n_bytes + longest - 1) / longest;
    return RLF_OK;
}

/* --- looking up --- */

rlf_str
rlf_tokenizer_piece(const rlf_tokenizer *tokenizer, uint32_t id)
{
    return id < tokenizer->vocab ? tokenizer->pieces[id] : (rlf_str){0};
}

uint32_t
rlf_tokenizer_find(const rlf_tokenizer *t, const char *token)
{
    rlf_str text = rlf_str_of(token);
    const rlf_added *added = rlf_map_get(&t->added_by_text, token);
    if (added)
        return added->id;
    if (!t->pre_tokenizer.byte_level)
        return rlf_vocabulary_find(&t->model.vocabulary, text.p, text.n);
    rlf_buf bytes = {0};
    for (size_t i = 0; i < text.n;) {
        int k = rlf_utf8_unit(text.p + i, text.n - i);
        int byte = k > 0 ? rlf_char_byte(rlf_utf8_code(text.p + i)) : -1;
        if (byte < 0) {
            rlf_buf_free(&bytes);
            return RLF_NO_ID;
        }
        rlf_buf_putc(&bytes, (char)byte);
        i += (size_t)k;
    }
    uint32_t id = rlf_vocabulary_find(&t->model.vocabulary,
                                      bytes.p ? bytes.p : "", bytes.n);
    rlf_buf_free(&bytes);
    return id;
}

uint32_t
rlf_tokenizer_vocab(const rlf_tokenizer *tokenizer)
{
    return tokenizer->vocab;
}

uint32_t
rlf_tokenizer_bos(const rlf_tokenizer *tokenizer)
{
    return tokenizer->bos;
}

bool
rlf_tokenizer_special(const rlf_tokenizer *tokenizer, uint32_t id)
{
    return id < tokenizer->vocab && tokenizer->added_by_id[id] &&
           tokenizer->added_by_id[id]->special;
}

const uint32_t *
rlf_tokenizer_eos(const rlf_tokenizer *tokenizer, size_t *count)
{
    *count = tokenizer->eos.count;
    return tokenizer->eos.data;
}

bool
rlf_tokenizer_is_eos(const rlf_tokenizer *tokenizer, uint32_t id)
{
    for (size_t i = 0; i < tokenizer->eos.count; i++)
        if (tokenizer->eos.data[i] == id)
            return true;
    return false;
}

rlf_digest
rlf_tokenizer_digest(const rlf_tokenizer *tokenizer)
{
    return tokenizer->digest;
}

rlf_digest
rlf_tokenizer_writes(const rlf_tokenizer *tokenizer)
{
    const rlf_ids *around[] = {&tokenizer->prefix, &tokenizer->suffix};
    rlf_digest digest = tokenizer->digest;
    for (size_t i = 0; i < RLF_COUNT(around); i++)
        digest = rlf_digest_add(digest, around[i]->data,
                                around[i]->count * sizeof *around[i]->data);
    return digest;
}

bool
rlf_tokenizer_after(const rlf_tokenizer *tokenizer, uint32_t *id)
{
    size_t n = tokenizer->suffix.count;
    if (n)
        *id = tokenizer->suffix.data[n - 1];
    return n > 0;
}

size_t
rlf_tokenizer_bytes(const rlf_tokenizer *tokenizer)
{
    return rlf_arena_used(tokenizer->arena);
}
