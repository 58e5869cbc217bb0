/* From a parsed tokenizer.json to a tokenizer: vocabulary, added tokens,
 * merges, and what stands before and after a text. */
#include "engine/text/inside.h"

#include "engine/base/digest.h"
#include "engine/io/json.h"
#include "engine/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS_MOST = 1 << 22 }; /* no vocabulary is nearly as large */

static const char table[] = "the vocabulary of a tokenizer";

static rlf_status
check_id(const rlf_tokenizer *t, const json_t *value, const char *token,
         rlf_err *err, uint32_t *out)
{
    int64_t id;
    if (!rlf_json_as_int(value, &id) || id < 0 || id >= IDS_MOST)
        return rlf_fail(err, RLF_USER,
                        "%s: the id of the token \"%.*s\" is no integer from 0 "
                        "to %d",
                        t->file, RLF_CUT(60, token), IDS_MOST - 1);
    *out = (uint32_t)id;
    return RLF_OK;
}

/* Widen the tables of tokens to hold `id`. */
static rlf_status
make_room(rlf_tokenizer *t, uint32_t id, rlf_err *err)
{
    if (id >= t->vocab)
        t->vocab = id + 1;
    if (id < t->room)
        return RLF_OK;
    uint32_t n = t->room ? t->room : 64;
    while (n <= id)
        n *= 2;
    rlf_str *texts;
    rlf_added **by_id;
    RLF_TRY(rlf_arena_try(t->arena, n * sizeof *texts, table, err, &texts));
    RLF_TRY(rlf_arena_try(t->arena, n * sizeof *by_id, table, err, &by_id));
    if (t->room) {
        memcpy(texts, t->texts, t->room * sizeof *texts);
        memcpy(by_id, t->added_by_id, t->room * sizeof *by_id);
    }
    t->texts = texts;
    t->added_by_id = by_id;
    t->room = n;
    return RLF_OK;
}

static rlf_str
keep(rlf_tokenizer *t, const char *p, size_t n)
{
    return (rlf_str){rlf_arena_strndup(t->arena, p, n), n};
}

static rlf_status
load_vocab(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    json_t *vocab = NULL, *value;
    const char *text;
    RLF_TRY(rlf_json_get_object(model, t->file, "vocab", true, err, &vocab));
    json_object_foreach(vocab, text, value)
    {
        uint32_t id = 0;
        RLF_TRY(check_id(t, value, text, err, &id));
        RLF_TRY(make_room(t, id, err));
        RLF_TRY(rlf_memory_check(err));
        if (t->texts[id].p)
            return rlf_fail(err, RLF_USER,
                            "%s: the tokens \"%.*s\" and \"%.*s\" have the "
                            "same id %u",
                            t->file, RLF_CUT(60, t->texts[id].p),
                            RLF_CUT(60, text), id);
        t->texts[id] = keep(t, text, strlen(text));
        t->n_words++;
    }
    if (!t->vocab)
        return rlf_fail(err, RLF_USER, "%s: the vocabulary is empty", t->file);
    return RLF_OK;
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

/* The vocabulary as bpe sees it: bytes, where the words are bytes. */
static rlf_status
make_words(rlf_tokenizer *t, rlf_err *err)
{
    RLF_TRY(rlf_arena_try(t->arena, t->vocab * sizeof *t->words, table, err,
                          &t->words));
    rlf_buf bytes = {0};
    for (uint32_t id = 0; id < t->vocab && !rlf_memory_failed(); id++) {
        if (!t->texts[id].p)
            continue;
        if (!t->splitter.byte_level)
            t->words[id] = t->texts[id];
        else if (to_bytes(t->texts[id], &bytes))
            t->words[id] = keep(t, bytes.p, bytes.n);
    }
    rlf_buf_free(&bytes);
    return rlf_memory_check(err);
}

/* --- merges --- */

/* One side of a merge: the id of p[0..n). */
static uint32_t
find_text(const rlf_tokenizer *t, const char *p, size_t n, rlf_buf *bytes)
{
    if (!t->splitter.byte_level)
        return rlf_bpe_find(&t->bpe, p, n);
    if (!to_bytes((rlf_str){p, n}, bytes))
        return RLF_NO_ID;
    return rlf_bpe_find(&t->bpe, bytes->p, bytes->n);
}

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
add_merge(rlf_tokenizer *t, size_t i, const json_t *json, rlf_buf *whole,
          rlf_buf *bytes, rlf_err *err)
{
    rlf_str left, right;
    if (!merge_sides(json, &left, &right))
        return rlf_fail(err, RLF_USER,
                        "%s: merge %zu is not two tokens with a space between",
                        t->file, i);
    rlf_buf_clear(whole);
    rlf_buf_add(whole, left.p, left.n);
    rlf_buf_add(whole, right.p, right.n);
    rlf_merge merge = {
        .left = find_text(t, left.p, left.n, bytes),
        .right = find_text(t, right.p, right.n, bytes),
        .rank = (uint32_t)i,
        .id = find_text(t, whole->p, whole->n, bytes),
    };
    if (merge.left == RLF_NO_ID || merge.right == RLF_NO_ID ||
        merge.id == RLF_NO_ID)
        return rlf_fail(err, RLF_USER,
                        "%s: merge %zu, of \"%.*s\" and \"%.*s\", has a token "
                        "that is not in the vocabulary",
                        t->file, i, (int)rlf_str_cut(left, 60), left.p,
                        (int)rlf_str_cut(right, 60), right.p);
    rlf_bpe_add_merge(&t->bpe, merge);
    return RLF_OK;
}

/* What would change ids and is not there is refused by name. */
static rlf_status
check_model(const rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    static const char *const fixes[] = {"continuing_subword_prefix",
                                        "end_of_word_suffix"};
    const char *type = "BPE", *fix;
    double dropout = 0;
    RLF_TRY(rlf_json_get_text(model, t->file, "type", false, err, &type));
    if (strcmp(type, "BPE") != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: the model type %.*s is not supported, only BPE",
                        t->file, RLF_CUT(40, type));
    RLF_TRY(
        rlf_json_get_number(model, t->file, "dropout", false, err, &dropout));
    if (dropout != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: \"dropout\" of the model is not supported",
                        t->file);
    for (size_t i = 0; i < RLF_COUNT(fixes); i++) {
        fix = "";
        RLF_TRY(rlf_json_get_text(model, t->file, fixes[i], false, err, &fix));
        if (*fix)
            return rlf_fail(err, RLF_USER,
                            "%s: \"%s\" of the model is not supported", t->file,
                            fixes[i]);
    }
    return RLF_OK;
}

static void
find_bytes(rlf_tokenizer *t)
{
    for (unsigned b = 0; b < 256; b++) {
        char name[8], c = (char)b;
        snprintf(name, sizeof name, "<0x%02X>", b);
        if (t->splitter.byte_level)
            t->bpe.byte_ids[b] = rlf_bpe_find(&t->bpe, &c, 1);
        else if (t->bpe.byte_fallback)
            t->bpe.byte_ids[b] = rlf_bpe_find(&t->bpe, name, 6);
    }
}

static rlf_status
load_model(rlf_tokenizer *t, const json_t *model, rlf_err *err)
{
    rlf_bpe *bpe = &t->bpe;
    const char *unk = NULL;
    json_t *merges = NULL;
    RLF_TRY(rlf_json_get_array(model, t->file, "merges", true, err, &merges));
    RLF_TRY(rlf_json_get_text(model, t->file, "unk_token", false, err, &unk));
    RLF_TRY(rlf_bpe_init(bpe, t->arena, t->words, t->vocab,
                         json_array_size(merges), err));
    bpe->byte_level = t->splitter.byte_level;
    RLF_TRY(rlf_json_get_bool(model, t->file, "byte_fallback", false, err,
                              &bpe->byte_fallback));
    RLF_TRY(rlf_json_get_bool(model, t->file, "fuse_unk", false, err,
                              &bpe->fuse_unk));
    RLF_TRY(rlf_json_get_bool(model, t->file, "ignore_merges", false, err,
                              &bpe->ignore_merges));
    if (bpe->byte_level && bpe->byte_fallback)
        return rlf_fail(err, RLF_USER,
                        "%s: \"byte_fallback\" beside ByteLevel is not "
                        "supported",
                        t->file);
    find_bytes(t);
    rlf_buf whole = {0}, bytes = {0};
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < json_array_size(merges) && status == RLF_OK; i++)
        status =
            add_merge(t, i, json_array_get(merges, i), &whole, &bytes, err);
    if (status == RLF_OK && unk) {
        bpe->unk = find_text(t, unk, strlen(unk), &bytes);
        if (bpe->unk == RLF_NO_ID)
            status = rlf_fail(err, RLF_USER,
                              "%s: the unk_token \"%.*s\" is not in the "
                              "vocabulary",
                              t->file, RLF_CUT(60, unk));
    }
    rlf_buf_free(&whole);
    rlf_buf_free(&bytes);
    return status;
}

/* --- added tokens --- */

rlf_status
rlf_tokenizer_add(rlf_tokenizer *t, rlf_added *added, rlf_err *err)
{
    uint32_t id = rlf_tokenizer_find(t, added->text.p);
    if (id != RLF_NO_ID && id != added->id)
        return rlf_fail(err, RLF_USER,
                        "%s: the added token \"%.*s\" has the id %u, in the "
                        "vocabulary it has %u",
                        t->file, RLF_CUT(60, added->text.p), added->id, id);
    RLF_TRY(make_room(t, added->id, err));
    if (t->texts[added->id].p && !rlf_str_eq(t->texts[added->id], added->text))
        return rlf_fail(err, RLF_USER,
                        "%s: the added token \"%.*s\" has the id %u of "
                        "\"%.*s\"",
                        t->file, RLF_CUT(60, added->text.p), added->id,
                        RLF_CUT(60, t->texts[added->id].p));
    if (t->added_by_id[added->id])
        return RLF_OK; /* known: what was said first holds */
    t->texts[added->id] = added->text;
    t->added_by_id[added->id] = added;
    if (added->id >= t->next_id)
        t->next_id = added->id + 1;
    rlf_map_put(&t->added_by_text, added->text.p, (void *)(uintptr_t)added);
    RLF_TRY_PUSH_IN(t->arena, &t->added, "a tokenizer", added);
    return RLF_OK;
}

/* `again`: an entry of tokenizer_config.json, whose flags count for a token
 * that is known, too. But a token that was special once stays so. */
static rlf_status
load_added(rlf_tokenizer *t, const json_t *json, const json_t *id, bool again,
           rlf_err *err)
{
    const char *content = NULL;
    rlf_added *added = RLF_NEW(t->arena, rlf_added);
    RLF_TRY(rlf_json_get_text(json, t->file, "content", true, err, &content));
    RLF_TRY(check_id(t, id, content, err, &added->id));
    added->text = keep(t, content, strlen(content));
    const struct {
        const char *key;
        bool *to;
    } flags[] = {
        {"special", &added->special},
        {"normalized", &added->normalized},
        {"single_word", &added->single_word},
        {"lstrip", &added->lstrip},
        {"rstrip", &added->rstrip},
    };
    for (size_t i = 0; i < RLF_COUNT(flags); i++) {
        RLF_TRY(rlf_json_get_bool(json, t->file, flags[i].key, false, err,
                                  flags[i].to));
        if (again && flags[i].to == &added->special)
            added->normalized = !added->special; /* if it says nothing */
    }
    RLF_TRY(rlf_tokenizer_add(t, added, err));
    rlf_added *known = t->added_by_id[added->id];
    if (again && known != added) {
        added->special |= known->special;
        *known = *added;
    }
    return RLF_OK;
}

/* From tokenizer.json, then as tokenizer_config.json has them. */
static rlf_status
load_all_added(rlf_tokenizer *t, const json_t *root, const json_t *config,
               rlf_err *err)
{
    json_t *list = NULL, *more = NULL, *entry;
    const char *key;
    RLF_TRY(
        rlf_json_get_array(root, t->file, "added_tokens", false, err, &list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        entry = json_array_get(list, i);
        RLF_TRY(load_added(t, entry, json_object_get(entry, "id"), false, err));
    }
    RLF_TRY(rlf_json_get_object(config, "tokenizer_config.json",
                                "added_tokens_decoder", false, err, &more));
    json_object_foreach(more, key, entry)
    {
        char *end;
        json_t *id = json_real(strtod(key, &end));
        rlf_status status = RLF_OK;
        if (!id || *end || end == key)
            status = rlf_fail(err, RLF_USER,
                              "tokenizer_config.json: \"%.*s\" in "
                              "added_tokens_decoder is no id",
                              RLF_CUT(40, key));
        else
            status = load_added(t, entry, id, true, err);
        json_decref(id);
        RLF_TRY(status);
    }
    return RLF_OK;
}

/* Those to be found before normalization, and those after it. */
static rlf_status
make_finders(rlf_tokenizer *t, rlf_err *err)
{
    RLF_VEC(const rlf_added *) early = {0}, late = {0};
    for (size_t i = 0; i < t->added.count; i++) {
        const rlf_added *added = t->added.data[i];
        if (!added->normalized) {
            RLF_TRY_PUSH_IN(t->arena, &early, "a tokenizer", added);
            continue;
        }
        rlf_buf text = {0};
        rlf_buf_add(&text, added->text.p, added->text.n);
        rlf_status status = rlf_normalizer_apply(&t->normalizer, &text, err);
        rlf_added *copy = RLF_NEW(t->arena, rlf_added);
        *copy = *added;
        copy->text = keep(t, text.p, text.n);
        rlf_buf_free(&text);
        RLF_TRY(status);
        RLF_TRY_PUSH_IN(t->arena, &late, "a tokenizer", copy);
    }
    rlf_finder_init(&t->before, t->arena, early.data, early.count);
    rlf_finder_init(&t->after, t->arena, late.data, late.count);
    return RLF_OK;
}

/* --- what stands before and after a text --- */

static rlf_status
add_template_item(rlf_tokenizer *t, const json_t *item, const json_t *tokens,
                  bool *after, rlf_err *err)
{
    const json_t *special = json_object_get(item, "SpecialToken");
    if (!special) {
        if (*after || !json_object_get(item, "Sequence"))
            return rlf_fail(err, RLF_USER,
                            "%s: the post_processor's template does not have "
                            "the text exactly once",
                            t->file);
        *after = true;
        return RLF_OK;
    }
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *ids =
        json_object_get(json_object_get(tokens, name ? name : ""), "ids");
    if (!json_array_size(ids))
        return rlf_fail(err, RLF_USER,
                        "%s: the post_processor's template has a special token "
                        "without ids",
                        t->file);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        uint32_t id = 0;
        RLF_TRY(check_id(t, json_array_get(ids, i), name, err, &id));
        if (id >= t->vocab)
            return rlf_fail(err, RLF_USER,
                            "%s: the post_processor's id %u is no token",
                            t->file, id);
        if (*after)
            RLF_PUSH_IN(t->arena, &t->suffix, id);
        else
            RLF_PUSH_IN(t->arena, &t->prefix, id);
    }
    return RLF_OK;
}

static rlf_status
load_post(rlf_tokenizer *t, const json_t *json, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL;
    json_t *list = NULL, *tokens = NULL;
    RLF_TRY(rlf_json_get_text(json, t->file, "type", true, err, &type));
    if (strcmp(type, "ByteLevel") == 0) /* concerns offsets only */
        return RLF_OK;
    if (strcmp(type, "Sequence") == 0) {
        RLF_TRY(
            rlf_json_get_array(json, t->file, "processors", true, err, &list));
        for (size_t i = 0; i < json_array_size(list); i++)
            RLF_TRY(load_post(t, json_array_get(list, i), err));
        return RLF_OK;
    }
    if (strcmp(type, "TemplateProcessing") != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: the post_processor %.*s is not supported", t->file,
                        RLF_CUT(40, type));
    RLF_TRY(rlf_json_get_array(json, t->file, "single", true, err, &list));
    RLF_TRY(rlf_json_get_object(json, t->file, "special_tokens", false, err,
                                &tokens));
    bool after = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        RLF_TRY(
            add_template_item(t, json_array_get(list, i), tokens, &after, err));
    if (!after)
        return rlf_fail(err, RLF_USER,
                        "%s: the post_processor's template does not have the "
                        "text exactly once",
                        t->file);
    return RLF_OK;
}

/* --- the whole --- */

static rlf_status
make_pieces(rlf_tokenizer *t, rlf_err *err)
{
    rlf_buf piece = {0};
    RLF_TRY(rlf_arena_try(t->arena, t->vocab * sizeof *t->pieces, table, err,
                          &t->pieces));
    for (uint32_t id = 0; id < t->vocab && !rlf_memory_failed(); id++) {
        if (!t->texts[id].p)
            continue;
        rlf_buf_clear(&piece);
        rlf_decoder_piece(&t->decoder, t->texts[id], &piece);
        t->pieces[id] = keep(t, piece.p ? piece.p : "", piece.n);
    }
    rlf_buf_free(&piece);
    return rlf_memory_check(err);
}

static rlf_digest
add_json(rlf_digest digest, const json_t *json)
{
    char *text =
        json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY |
                             JSON_REAL_PRECISION(17));
    if (text)
        digest = rlf_digest_add(digest, text, strlen(text) + 1);
    free(text);
    return digest;
}

static rlf_digest
digest_all(const rlf_tokenizer *t, const json_t *root)
{
    static const char *const parts[] = {"normalizer", "pre_tokenizer",
                                        "decoder"};
    rlf_digest digest = {0};
    for (size_t i = 0; i < RLF_COUNT(parts); i++)
        digest = add_json(digest, json_object_get(root, parts[i]));
    for (uint32_t id = 0; id < t->vocab; id++) {
        digest = rlf_digest_add(digest, &t->texts[id].n, sizeof t->texts[id].n);
        digest = rlf_digest_add(digest, t->texts[id].p, t->texts[id].n);
    }
    for (size_t i = 0; i < t->bpe.n_merge_slots; i++)
        if (t->bpe.merges[i].left != RLF_NO_ID)
            digest = rlf_digest_add(digest, &t->bpe.merges[i],
                                    sizeof *t->bpe.merges);
    for (uint32_t id = 0; id < t->vocab; id++)
        if (t->added_by_id[id]) {
            const rlf_added *a = t->added_by_id[id];
            bool flags[] = {a->special, a->normalized, a->single_word,
                            a->lstrip, a->rstrip};
            digest = rlf_digest_add(rlf_digest_add(digest, &id, sizeof id),
                                    flags, sizeof flags);
        }
    bool flags[] = {t->bpe.byte_fallback, t->bpe.fuse_unk,
                    t->bpe.ignore_merges};
    digest = rlf_digest_add(digest, &t->bpe.unk, sizeof t->bpe.unk);
    digest = rlf_digest_add(digest, flags, sizeof flags);
    /* what tokenizer_config.json may have changed of the parts */
    for (size_t i = 0; i < t->splitter.count; i++)
        digest =
            rlf_digest_add(digest, &t->splitter.data[i].prefix, sizeof(bool));
    size_t more[] = {t->normalizer.count, t->decoder.strip_most,
                     t->decoder.drop_first, t->plain};
    return rlf_digest_add(digest, more, sizeof more);
}

rlf_status
rlf_tokenizer_load(rlf_tokenizer *t, const json_t *root, const json_t *config,
                   rlf_err *err)
{
    json_t *model = NULL;
    RLF_TRY(rlf_json_get_object(root, t->file, "model", true, err, &model));
    RLF_TRY(rlf_normalizer_load(&t->normalizer,
                                json_object_get(root, "normalizer"), t->file,
                                t->arena, err));
    RLF_TRY(rlf_splitter_load(&t->splitter,
                              json_object_get(root, "pre_tokenizer"), t->file,
                              t->arena, err));
    RLF_TRY(rlf_decoder_load(&t->decoder, json_object_get(root, "decoder"),
                             t->file, t->arena, err));
    RLF_TRY(check_model(t, model, err));
    RLF_TRY(load_vocab(t, model, err));
    t->next_id = t->n_words;
    t->added_by_text.arena = t->arena;
    RLF_TRY(make_words(t, err));
    RLF_TRY(load_model(t, model, err));
    RLF_TRY(load_all_added(t, root, config, err));
    RLF_TRY(load_post(t, json_object_get(root, "post_processor"), err));
    RLF_TRY(rlf_tokenizer_ends(t, config, err));
    RLF_TRY(rlf_tokenizer_settings(t, config, err));
    RLF_TRY(make_finders(t, err));
    RLF_TRY(make_pieces(t, err));
    t->digest = digest_all(t, root);
    return RLF_OK;
}
