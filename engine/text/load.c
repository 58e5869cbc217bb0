/* From a parsed tokenizer.json to a tokenizer: its added tokens, what all
 * tokens stand for, and the order in which the other files load their parts. */
#include "engine/text/inside.h"

#include "engine/base/digest.h"
#include "engine/io/json.h"
#include "engine/text/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char table[] = "the vocabulary of a tokenizer";

rlf_status
rlf_tokenizer_id(const rlf_tokenizer *t, const json_t *value, const char *token,
                 rlf_err *err, uint32_t *out)
{
    int64_t id;
    if (!rlf_json_as_int(value, &id) || id < 0 || id >= RLF_IDS_MOST)
        return rlf_fail(err, RLF_USER,
                        "%s: the id of the token \"%.*s\" is no integer from 0 "
                        "to %d",
                        t->file, RLF_CUT(60, token), RLF_IDS_MOST - 1);
    *out = (uint32_t)id;
    return RLF_OK;
}

rlf_status
rlf_tokenizer_room(rlf_tokenizer *t, uint32_t id, rlf_err *err)
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

rlf_str
rlf_tokenizer_keep(rlf_tokenizer *t, const char *p, size_t n)
{
    return (rlf_str){rlf_arena_strndup(t->arena, p, n), n};
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
    RLF_TRY(rlf_tokenizer_room(t, added->id, err));
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
 * that is known, too. But a token that was special once stays so. `names`, or
 * NULL: what it names is special. */
static rlf_status
load_added(rlf_tokenizer *t, const json_t *json, const json_t *id, bool again,
           const json_t *names, rlf_err *err)
{
    const char *content = NULL;
    rlf_added *added = RLF_NEW(t->arena, rlf_added);
    RLF_TRY(rlf_json_get_text(json, t->file, "content", true, err, &content));
    RLF_TRY(rlf_tokenizer_id(t, id, content, err, &added->id));
    added->text = rlf_tokenizer_keep(t, content, strlen(content));
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
        added->rewritten |= known->rewritten || known->normalized;
        *known = *added;
    }
    known->special |= rlf_tokenizer_is_named(names, content);
    return RLF_OK;
}

static int
by_id(const void *a, const void *b)
{
    double x = ((const rlf_listed_token *)a)->id;
    double y = ((const rlf_listed_token *)b)->id;
    return (x > y) - (x < y);
}

rlf_status
rlf_tokenizer_listed(rlf_tokenizer *t, const json_t *list, const json_t *by_ids,
                     rlf_err *err, rlf_listed_token **out, size_t *n)
{
    const char *key;
    json_t *entry;
    size_t most = json_object_size(by_ids) + json_array_size(list);
    rlf_listed_token *all = RLF_NEW_ARRAY(t->arena, rlf_listed_token, most);
    *n = 0;
    *out = all;
    json_object_foreach((json_t *)(uintptr_t)by_ids, key, entry)
    {
        char *end;
        all[*n] = (rlf_listed_token){strtod(key, &end), entry};
        if (*end || end == key || !isfinite(all[*n].id))
            return rlf_fail(err, RLF_USER,
                            "%s/tokenizer_config.json: \"%.*s\" in "
                            "added_tokens_decoder is no id",
                            t->dir, RLF_CUT(40, key));
        *n += 1;
    }
    for (size_t i = 0; !by_ids && i < json_array_size(list); i++) {
        entry = json_array_get(list, i);
        all[*n] = (rlf_listed_token){
            json_number_value(json_object_get(entry, "id")), entry};
        *n += 1;
    }
    qsort(all, *n, sizeof *all, by_id);
    return RLF_OK;
}

/* One of added_tokens_decoder: the reference adds it by its text, so that its
 * id is the one that the text has already, or the next. */
static rlf_status
load_again(rlf_tokenizer *t, const json_t *entry, const json_t *names,
           rlf_err *err)
{
    const char *text = json_string_value(json_object_get(entry, "content"));
    uint32_t id = text ? rlf_tokenizer_find(t, text) : RLF_NO_ID;
    json_t *number = json_real(id == RLF_NO_ID ? t->next_id : id);
    rlf_status status = load_added(t, entry, number, true, names, err);
    json_decref(number);
    return status;
}

/* From tokenizer.json, then as tokenizer_config.json has them. */
static rlf_status
load_all_added(rlf_tokenizer *t, const json_t *root, const json_t *config,
               rlf_err *err)
{
    json_t *list = NULL, *more = NULL, *entry;
    rlf_listed_token *all;
    size_t n = 0;
    RLF_TRY(
        rlf_json_get_array(root, t->file, "added_tokens", false, err, &list));
    RLF_TRY(rlf_json_get_object(config, t->config_path, "added_tokens_decoder",
                                false, err, &more));
    for (size_t i = 0; i < json_array_size(list); i++) {
        entry = json_array_get(list, i);
        RLF_TRY(load_added(t, entry, json_object_get(entry, "id"), false,
                           more ? NULL : config, err));
    }
    if (!more)
        return RLF_OK;
    RLF_TRY(rlf_tokenizer_listed(t, NULL, more, err, &all, &n));
    for (size_t i = 0; i < n; i++)
        RLF_TRY(load_again(t, all[i].entry, config, err));
    return RLF_OK;
}

/* A token of the vocabulary that has the text of an added one is one, too: the
 * reference looks at texts. */
static void
add_equals(rlf_tokenizer *t)
{
    for (uint32_t id = 0; id < t->vocab; id++)
        if (t->texts[id].p && !t->added_by_id[id])
            t->added_by_id[id] = rlf_map_get(&t->added_by_text, t->texts[id].p);
}

/* The text of an added token as the normalizer writes it. */
static rlf_status
normal_text(rlf_tokenizer *t, const rlf_added *added, rlf_err *err,
            rlf_str *out)
{
    rlf_buf text = {0};
    rlf_buf_add(&text, added->text.p, added->text.n);
    rlf_status status =
        rlf_normalizer_apply(&t->normalizer, &text, false, NULL, err);
    *out = rlf_tokenizer_keep(t, text.p, text.n);
    rlf_buf_free(&text);
    return status;
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
        rlf_added *copy = RLF_NEW(t->arena, rlf_added);
        *copy = *added;
        RLF_TRY(normal_text(t, added, err, &copy->text));
        RLF_TRY_PUSH_IN(t->arena, &late, "a tokenizer", copy);
    }
    rlf_finder_init(&t->before, t->arena, early.data, early.count);
    rlf_finder_init(&t->after, t->arena, late.data, late.count);
    return RLF_OK;
}

/* --- the whole --- */

static rlf_status
make_pieces(rlf_tokenizer *t, rlf_err *err)
{
    rlf_buf piece = {0};
    rlf_status status = RLF_OK;
    RLF_TRY(rlf_arena_try(t->arena, t->vocab * sizeof *t->pieces, table, err,
                          &t->pieces));
    for (uint32_t id = 0; id < t->vocab && !rlf_memory_failed(); id++) {
        if (!t->texts[id].p)
            continue;
        rlf_str text = t->texts[id];
        rlf_added *added = t->added_by_id[id];
        if (added && (added->normalized || added->rewritten)) {
            RLF_TRY_GOTO(normal_text(t, added, err, &text), end);
            added->decoded = text;
        }
        rlf_buf_clear(&piece);
        rlf_decoder_piece(&t->decoder, text, 0, &piece);
        t->pieces[id] = rlf_tokenizer_keep(t, piece.p ? piece.p : "", piece.n);
    }
end:
    rlf_buf_free(&piece);
    return status < 0 ? status : rlf_memory_check(err);
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

/* The digest of the model, besides its tokens. */
static rlf_digest
digest_model(const rlf_word_model *model, rlf_digest digest)
{
    const rlf_bpe *bpe = &model->bpe;
    const rlf_wordpiece *w = &model->wordpiece;
    const rlf_str *fixes[] = {&bpe->prefix, &bpe->suffix, &w->prefix};
    for (size_t i = 0; i < bpe->n_merge_slots; i++)
        if (bpe->merges[i].left != RLF_NO_ID)
            digest =
                rlf_digest_add(digest, &bpe->merges[i], sizeof *bpe->merges);
    for (size_t i = 0; i < RLF_COUNT(fixes); i++)
        if (fixes[i]->n) {
            digest = rlf_digest_add(digest, &i, sizeof i);
            digest = rlf_digest_add(digest, fixes[i]->p, fixes[i]->n);
        }
    if (model->kind == RLF_WORD_MODEL_BPE)
        return digest;
    size_t numbers[] = {model->kind, model->unigram.byte_fallback, w->most};
    digest = rlf_digest_add(digest, numbers, sizeof numbers);
    for (uint32_t i = 0; model->kind == RLF_WORD_MODEL_UNIGRAM &&
                         i < model->vocabulary.n_tokens;
         i++)
        digest =
            rlf_digest_add(digest, &model->unigram.scores[i], sizeof(double));
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
    digest = digest_model(&t->model, digest);
    for (uint32_t id = 0; id < t->vocab; id++)
        if (t->added_by_id[id]) {
            const rlf_added *a = t->added_by_id[id];
            bool flags[] = {a->special, a->normalized, a->single_word,
                            a->lstrip, a->rstrip};
            digest = rlf_digest_add(rlf_digest_add(digest, &id, sizeof id),
                                    flags, sizeof flags);
        }
    const rlf_bpe *bpe = &t->model.bpe;
    bool flags[] = {bpe->byte_fallback, bpe->fuse_unk, bpe->ignore_merges};
    uint32_t unk = rlf_word_model_unknown(&t->model);
    digest = rlf_digest_add(digest, &unk, sizeof unk);
    digest = rlf_digest_add(digest, flags, sizeof flags);
    /* what tokenizer_config.json may have changed of the parts */
    for (size_t i = 0; i < t->pre_tokenizer.count; i++)
        digest = rlf_digest_add(digest, &t->pre_tokenizer.data[i].prefix,
                                sizeof(bool));
    if (t->cleans)
        digest = rlf_digest_add(digest, &t->cleans, sizeof t->cleans);
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
    RLF_TRY(rlf_pre_tokenizer_load(&t->pre_tokenizer,
                                   json_object_get(root, "pre_tokenizer"),
                                   t->file, t->arena, err));
    RLF_TRY(rlf_decoder_load(&t->decoder, json_object_get(root, "decoder"),
                             t->file, t->arena, err));
    t->added_by_text.arena = t->arena;
    RLF_TRY(rlf_tokenizer_model(t, model, err));
    RLF_TRY(load_all_added(t, root, config, err));
    uint32_t listed = t->next_id;
    RLF_TRY(rlf_tokenizer_settings(t, config, err));
    RLF_TRY(rlf_tokenizer_around(t, root, config, err));
    RLF_TRY(rlf_tokenizer_ends(t, config, listed, err));
    if (t->model.kind == RLF_WORD_MODEL_UNIGRAM)
        add_equals(t);
    RLF_TRY(make_finders(t, err));
    RLF_TRY(make_pieces(t, err));
    t->digest = digest_all(t, root);
    return RLF_OK;
}
