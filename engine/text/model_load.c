/* From the "model" of a parsed tokenizer.json to vocabulary and model. */
#include "engine/text/inside.h"

#include "engine/io/file.h"
#include "engine/io/json.h"
#include "engine/text/scores.h"
#include "engine/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Characters of a word to WordPiece: the time of a word is its square. */
enum { WORD_MOST = 1000 };

static const char table[] = "the vocabulary of a tokenizer";

/* --- vocabulary --- */

/* {token: id} */
static rlf_status
load_object(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    json_t *vocab = NULL, *value;
    const char *text;
    RLF_TRY(rlf_json_get_object(model, t->file, "vocab", true, err, &vocab));
    json_object_foreach(vocab, text, value)
    {
        uint32_t id = 0;
        RLF_TRY(rlf_tokenizer_id(t, value, text, err, &id));
        RLF_TRY(rlf_tokenizer_room(t, id, err));
        RLF_TRY(rlf_memory_check(err));
        if (t->texts[id].p)
            return rlf_fail(err, RLF_USER,
                            "%s: the tokens \"%.*s\" and \"%.*s\" have the "
                            "same id %u",
                            t->file, RLF_CUT(60, t->texts[id].p),
                            RLF_CUT(60, text), id);
        t->texts[id] = rlf_tokenizer_keep(t, text, strlen(text));
        t->n_words++;
    }
    return RLF_OK;
}

/* [[token, score], ...], whose places are their ids */
static rlf_status
load_scores(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    json_t *vocab = NULL;
    double *scores = NULL;
    RLF_TRY(rlf_json_get_array(model, t->file, "vocab", true, err, &vocab));
    size_t n = json_array_size(vocab);
    if (n > RLF_IDS_MOST)
        return rlf_fail(err, RLF_USER,
                        "%s: the vocabulary has %zu tokens, more than %d",
                        t->file, n, RLF_IDS_MOST);
    if (n)
        RLF_TRY(rlf_tokenizer_room(t, (uint32_t)n - 1, err));
    RLF_TRY(rlf_arena_try(t->arena, n * sizeof *scores, table, err, &scores));
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(vocab, i);
        const json_t *text = json_array_get(pair, 0);
        const json_t *score = json_array_get(pair, 1);
        if (json_array_size(pair) != 2 || !json_is_string(text) ||
            !json_is_number(score))
            return rlf_fail(err, RLF_USER,
                            "%s: token %zu of the vocabulary is not a text "
                            "with a number, its score",
                            t->file, i);
        RLF_TRY(rlf_memory_check(err));
        t->texts[i] = rlf_tokenizer_keep(t, json_string_value(text),
                                         json_string_length(text));
    }
    t->n_words = (uint32_t)n;
    t->model.unigram.scores = scores;
    rlf_buf file = {0};
    rlf_status status = rlf_file_read(t->file, RLF_JSON_MOST, err, &file);
    if (status == RLF_OK && !rlf_scores_read(file.p, file.n, n, scores))
        status = rlf_fail(err, RLF_USER,
                          "%s: the scores of the vocabulary cannot be read: "
                          "keys with escapes, or numbers that are no doubles",
                          t->file);
    rlf_buf_free(&file);
    return status;
}

/* The token's characters as bytes, of which there are fewer; false if one
 * stands for none. */
static bool
to_bytes(rlf_str text, rlf_buf *out)
{
    rlf_buf_clear(out);
    rlf_buf_add(out, text.p, text.n);
    out->n = 0;
    for (size_t i = 0; i < text.n;) {
        int byte = rlf_char_byte(rlf_utf8_code(text.p + i));
        if (byte < 0)
            return false;
        out->p[out->n++] = (char)byte;
        i += (size_t)rlf_utf8_unit(text.p + i, text.n - i);
    }
    return true;
}

/* The vocabulary as the model sees it: bytes, where the words are bytes. */
static rlf_status
make_words(rlf_tokenizer *t, rlf_err *err)
{
    RLF_TRY(rlf_arena_try(t->arena, t->vocab * sizeof *t->words, table, err,
                          &t->words));
    rlf_buf bytes = {0};
    for (uint32_t id = 0; id < t->vocab && !rlf_memory_failed(); id++) {
        if (!t->texts[id].p)
            continue;
        if (!t->pre_tokenizer.byte_level)
            t->words[id] = t->texts[id];
        else if (to_bytes(t->texts[id], &bytes))
            t->words[id] = rlf_tokenizer_keep(t, bytes.p, bytes.n);
    }
    rlf_buf_free(&bytes);
    RLF_TRY(rlf_memory_check(err));
    return rlf_vocabulary_init(&t->model.vocabulary, t->arena, t->words,
                               t->vocab, err);
}

/* The id of a token that the file writes as p[0..n). */
static uint32_t
find_text(const rlf_tokenizer *t, const char *p, size_t n, rlf_buf *bytes)
{
    if (!t->pre_tokenizer.byte_level)
        return rlf_vocabulary_find(&t->model.vocabulary, p, n);
    if (!to_bytes((rlf_str){p, n}, bytes))
        return RLF_NO_ID;
    return rlf_vocabulary_find(&t->model.vocabulary, bytes->p, bytes->n);
}

/* A text that is written around tokens, as words have it. */
static rlf_status
load_fix(rlf_tokenizer *t, const json_t *model, const char *key, bool need,
         rlf_err *err, rlf_str *out)
{
    const char *text = "";
    rlf_buf bytes = {0};
    RLF_TRY(rlf_json_get_text(model, t->file, key, need, err, &text));
    rlf_str as_is = rlf_str_of(text);
    bool good = !t->pre_tokenizer.byte_level || to_bytes(as_is, &bytes);
    if (good && t->pre_tokenizer.byte_level)
        as_is = (rlf_str){bytes.p, bytes.n};
    *out = rlf_tokenizer_keep(t, as_is.n ? as_is.p : "", as_is.n);
    rlf_buf_free(&bytes);
    if (!good)
        return rlf_fail(err, RLF_USER,
                        "%s: the \"%s\" %.*s of the model beside ByteLevel is "
                        "not supported",
                        t->file, key, RLF_CUT(40, text));
    return RLF_OK;
}

/* The token that "unk_token" names. */
static rlf_status
load_unknown(const rlf_tokenizer *t, const json_t *model, rlf_err *err,
             uint32_t *out)
{
    const char *text = NULL;
    rlf_buf bytes = {0};
    *out = RLF_NO_ID;
    RLF_TRY(rlf_json_get_text(model, t->file, "unk_token", false, err, &text));
    if (!text)
        return RLF_OK;
    *out = find_text(t, text, strlen(text), &bytes);
    rlf_buf_free(&bytes);
    if (*out == RLF_NO_ID)
        return rlf_fail(err, RLF_USER,
                        "%s: the unk_token \"%.*s\" is not in the vocabulary",
                        t->file, RLF_CUT(60, text));
    return RLF_OK;
}

/* The ids of the tokens <0xHH>; true if there is one for each byte. */
static bool
find_fallback(const rlf_tokenizer *t, uint32_t ids[256])
{
    bool all = true;
    for (unsigned b = 0; b < 256; b++) {
        char name[8];
        snprintf(name, sizeof name, "<0x%02X>", b);
        ids[b] = rlf_vocabulary_find(&t->model.vocabulary, name, 6);
        all &= ids[b] != RLF_NO_ID;
    }
    return all;
}

/* --- byte pair encoding --- */

/* The two sides of a merge: "a b", or ["a", "b"]. */
static bool
merge_sides(const json_t *merge, rlf_str *left, rlf_str *right)
{
    if (json_is_string(merge)) {
        const char *p = json_string_value(merge), *space = strchr(p, ' ');
        if (!space || strchr(space + 1, ' '))
            return false;
        *left = (rlf_str){p, (size_t)(space - p)};
        *right = rlf_str_of(space + 1);
    } else {
        const json_t *a = json_array_get(merge, 0);
        const json_t *b = json_array_get(merge, 1);
        if (json_array_size(merge) != 2 || !json_is_string(a) ||
            !json_is_string(b))
            return false;
        *left = (rlf_str){json_string_value(a), json_string_length(a)};
        *right = (rlf_str){json_string_value(b), json_string_length(b)};
    }
    return left->n && right->n;
}

static rlf_status
add_merge(rlf_tokenizer *t, size_t i, const json_t *json, size_t prefix,
          rlf_buf *whole, rlf_buf *bytes, rlf_err *err)
{
    rlf_str left, right;
    if (!merge_sides(json, &left, &right))
        return rlf_fail(err, RLF_USER,
                        "%s: merge %zu is not two tokens with a space between",
                        t->file, i);
    if (right.n < prefix)
        return rlf_fail(err, RLF_USER,
                        "%s: merge %zu has a right side without the "
                        "\"continuing_subword_prefix\"",
                        t->file, i);
    rlf_buf_clear(whole);
    rlf_buf_add(whole, left.p, left.n);
    rlf_buf_add(whole, right.p + prefix, right.n - prefix);
    rlf_merge merge = {
        .left = find_text(t, left.p, left.n, bytes),
        .right = find_text(t, right.p, right.n, bytes),
        .rank = (uint32_t)i,
        .id = find_text(t, whole->p, whole->n, bytes),
    };
    bool found = merge.left != RLF_NO_ID && merge.right != RLF_NO_ID &&
                 merge.id != RLF_NO_ID;
    if (!found && t->pre_tokenizer.byte_level &&
        !to_bytes((rlf_str){whole->p, whole->n}, bytes)) {
        rlf_fail(err, RLF_USER,
                 "%s: merge %zu, of \"%.*s\" and \"%.*s\", is none of bytes, "
                 "which %s%s makes tokens of",
                 t->file, i, (int)rlf_str_cut(left, 60), left.p,
                 (int)rlf_str_cut(right, 60), right.p,
                 t->built ? "the class " : "ByteLevel",
                 t->built ? t->built : "");
        if (t->built)
            rlf_err_hint(err, "the tokenizer may be of another class: "
                              "\"tokenizer_class\" of tokenizer_config.json "
                              "names it, else config.json");
        return RLF_USER;
    }
    if (!found)
        return rlf_fail(err, RLF_USER,
                        "%s: merge %zu, of \"%.*s\" and \"%.*s\", has a token "
                        "that is not in the vocabulary",
                        t->file, i, (int)rlf_str_cut(left, 60), left.p,
                        (int)rlf_str_cut(right, 60), right.p);
    rlf_bpe_add_merge(&t->model.bpe, merge);
    return RLF_OK;
}

static rlf_status
load_bpe_bytes(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    rlf_bpe *bpe = &t->model.bpe;
    RLF_TRY(rlf_json_get_bool(model, t->file, "byte_fallback", false, err,
                              &bpe->byte_fallback));
    if (bpe->byte_fallback && !bpe->byte_level)
        find_fallback(t, bpe->byte_ids);
    if (!bpe->byte_level)
        return RLF_OK;
    bool all = true;
    for (unsigned b = 0; b < 256; b++) {
        char c = (char)b;
        bpe->byte_ids[b] = rlf_vocabulary_find(&t->model.vocabulary, &c, 1);
        all &= bpe->byte_ids[b] != RLF_NO_ID;
    }
    if (bpe->byte_fallback && (!all || bpe->prefix.n || bpe->suffix.n))
        return rlf_fail(err, RLF_USER,
                        "%s: \"byte_fallback\" beside ByteLevel is not "
                        "supported where a byte is no token",
                        t->file);
    bpe->byte_fallback = false; /* it is never needed */
    return RLF_OK;
}

static rlf_status
load_bpe(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    rlf_bpe *bpe = &t->model.bpe;
    json_t *merges = NULL;
    double dropout = 0;
    RLF_TRY(
        rlf_json_get_number(model, t->file, "dropout", false, err, &dropout));
    if (dropout != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: \"dropout\" of the model is not supported",
                        t->file);
    RLF_TRY(rlf_json_get_array(model, t->file, "merges", true, err, &merges));
    RLF_TRY(rlf_bpe_init(bpe, t->arena, &t->model.vocabulary,
                         json_array_size(merges), err));
    bpe->byte_level = t->pre_tokenizer.byte_level;
    bpe->built = t->built;
    RLF_TRY(load_fix(t, model, "continuing_subword_prefix", false, err,
                     &bpe->prefix));
    RLF_TRY(load_fix(t, model, "end_of_word_suffix", false, err, &bpe->suffix));
    RLF_TRY(load_bpe_bytes(t, model, err));
    RLF_TRY(rlf_json_get_bool(model, t->file, "fuse_unk", false, err,
                              &bpe->fuse_unk));
    RLF_TRY(rlf_json_get_bool(model, t->file, "ignore_merges", false, err,
                              &bpe->ignore_merges));
    const char *prefix = "";
    RLF_TRY(rlf_json_get_text(model, t->file, "continuing_subword_prefix",
                              false, err, &prefix));
    rlf_buf whole = {0}, bytes = {0};
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < json_array_size(merges) && status == RLF_OK; i++)
        status = add_merge(t, i, json_array_get(merges, i), strlen(prefix),
                           &whole, &bytes, err);
    rlf_buf_free(&whole);
    rlf_buf_free(&bytes);
    RLF_TRY(status);
    RLF_TRY(load_unknown(t, model, err, &bpe->unk));
    rlf_bpe_find_cuts(bpe);
    return RLF_OK;
}

/* --- the other models --- */

static rlf_status
load_unigram(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    static const double penalty = 10;
    rlf_unigram *u = &t->model.unigram;
    int64_t unk = INT64_MIN;
    double least = INFINITY;
    u->vocabulary = &t->model.vocabulary;
    u->bytes = t->pre_tokenizer.byte_level;
    RLF_TRY(rlf_json_get_bool(model, t->file, "byte_fallback", false, err,
                              &u->byte_fallback));
    RLF_TRY(rlf_json_get_int(model, t->file, "unk_id", false, err, &unk));
    if (unk != INT64_MIN && (unk < 0 || unk >= t->n_words))
        return rlf_fail(err, RLF_USER,
                        "%s: the unk_id %lld is no token of the vocabulary",
                        t->file, (long long)unk);
    u->unk = unk < 0 ? RLF_NO_ID : (uint32_t)unk;
    if (u->byte_fallback && u->bytes)
        return rlf_fail(err, RLF_USER,
                        "%s: \"byte_fallback\" beside ByteLevel is not "
                        "supported by Unigram",
                        t->file);
    find_fallback(t, u->byte_ids);
    for (uint32_t i = 0; i < t->n_words; i++)
        least = u->scores[i] < least ? u->scores[i] : least;
    u->unknown = least - penalty;
    return rlf_trie_build(&u->trie, t->arena, t->words, t->vocab, err);
}

static rlf_status
load_wordpiece(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    rlf_wordpiece *w = &t->model.wordpiece;
    int64_t most = 0;
    w->vocabulary = &t->model.vocabulary;
    w->bytes = t->pre_tokenizer.byte_level;
    w->whole = t->model.kind == RLF_WORD_MODEL_WORDLEVEL;
    for (uint32_t i = 0; i < t->vocab; i++)
        if (t->words[i].p && t->words[i].n > w->longest)
            w->longest = (uint32_t)t->words[i].n;
    if (!w->whole) {
        RLF_TRY(rlf_json_get_int(model, t->file, "max_input_chars_per_word",
                                 true, err, &most));
        RLF_TRY(load_fix(t, model, "continuing_subword_prefix", true, err,
                         &w->prefix));
        if (most < 0 || most > WORD_MOST)
            return rlf_fail(err, RLF_USER,
                            "%s: \"max_input_chars_per_word\" of the model is "
                            "%lld, not from 0 to %d",
                            t->file, (long long)most, WORD_MOST);
        w->most = (size_t)most;
    }
    return load_unknown(t, model, err, &w->unk);
}

static const struct {
    const char *type;
    rlf_word_model_kind kind;
} kinds[] = {
    {"BPE", RLF_WORD_MODEL_BPE},
    {"Unigram", RLF_WORD_MODEL_UNIGRAM},
    {"WordPiece", RLF_WORD_MODEL_WORDPIECE},
    {"WordLevel", RLF_WORD_MODEL_WORDLEVEL},
};

rlf_status
rlf_tokenizer_model(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    /* older files do not name it */
    const char *type =
        json_is_array(json_object_get(model, "vocab")) ? "Unigram" : "BPE";
    size_t i = 0;
    RLF_TRY(rlf_json_get_text(model, t->file, "type", false, err, &type));
    while (i < RLF_COUNT(kinds) && strcmp(kinds[i].type, type) != 0)
        i++;
    if (i == RLF_COUNT(kinds))
        return rlf_fail(err, RLF_USER,
                        "%s: the model type %.*s is not supported", t->file,
                        RLF_CUT(40, type));
    t->model.kind = kinds[i].kind;
    RLF_TRY(t->model.kind == RLF_WORD_MODEL_UNIGRAM
                ? load_scores(t, model, err)
                : load_object(t, model, err));
    if (!t->vocab)
        return rlf_fail(err, RLF_USER, "%s: the vocabulary is empty", t->file);
    t->next_id = t->n_words;
    RLF_TRY(make_words(t, err));
    return t->model.kind == RLF_WORD_MODEL_BPE ? load_bpe(t, model, err)
           : t->model.kind == RLF_WORD_MODEL_UNIGRAM
               ? load_unigram(t, model, err)
               : load_wordpiece(t, model, err);
}
