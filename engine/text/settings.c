/* Settings of tokenizer_config.json and special_tokens_map.json for how a text
 * is read, besides its ends (ends.c): names of special tokens, whether they
 * count where a text has them, and the space in front of a text.
 *
 * Followed is transformers 5. The other keys change no id and no text: what is
 * padded or cut, and lengths. */
#include "engine/text/inside.h"

#include "engine/io/json.h"

#include <string.h>

/* A token as a text, or as an object with "content" and flags, is a special
 * one from now on. */
static rlf_status
add_special(rlf_tokenizer *t, const json_t *value, const char *file,
            const char *key, rlf_err *err)
{
    const char *text = json_string_value(
        json_is_object(value) ? json_object_get(value, "content") : value);
    if (!text)
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"%s\" names a token that is no text", t->dir,
                        file, key);
    rlf_added *added = RLF_NEW(t->arena, rlf_added);
    *added = (rlf_added){.text = rlf_str_of(rlf_arena_strdup(t->arena, text)),
                         .id = rlf_tokenizer_find(t, text),
                         .special = true,
                         .named = true,
                         .said = json_is_string(value)};
    const struct {
        const char *key;
        bool *to;
    } flags[] = {
        {"normalized", &added->normalized},
        {"single_word", &added->single_word},
        {"lstrip", &added->lstrip},
        {"rstrip", &added->rstrip},
    };
    for (size_t i = 0; json_is_object(value) && i < RLF_COUNT(flags); i++)
        RLF_TRY(rlf_json_get_bool(value, t->config_path, flags[i].key, false,
                                  err, flags[i].to));
    if (!added->text.n)
        return RLF_OK;
    if (added->id == RLF_NO_ID)
        added->id = t->next_id;
    rlf_added *known = added->id < t->vocab ? t->added_by_id[added->id] : NULL;
    if (known && known->named && !(added->said && known->said)) {
        added->said |= known->said;
        added->rewritten |= known->rewritten || known->normalized;
        *known = *added; /* of names that say other things the last counts */
    }
    return rlf_tokenizer_add(t, added, err);
}

static bool
is_empty(const json_t *list)
{
    return !json_array_size(list) && !json_object_size(list);
}

/* A list of tokens. */
static rlf_status
add_all(rlf_tokenizer *t, json_t *value, const char *file, const char *key,
        rlf_err *err)
{
    if (!value || json_is_null(value) || is_empty(value))
        return RLF_OK;
    if (!json_is_array(value))
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"%s\" is %s where a list of "
                        "tokens is wanted",
                        t->dir, file, key, rlf_json_word(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        RLF_TRY(add_special(t, json_array_get(value, i), file, key, err));
    return RLF_OK;
}

/* ---- names of special tokens ---- */

static const char specific[] = "model_specific_special_tokens";
static const char extra[] = "extra_special_tokens";
static const char older[] = "additional_special_tokens";

static const char *const names[] = {"bos_token", "eos_token", "unk_token",
                                    "sep_token", "pad_token", "cls_token",
                                    "mask_token"};

/* A name of the model's own, as "image_token"? */
static bool
is_own_name(const char *key)
{
    size_t n = strlen(key);
    for (size_t i = 0; i < RLF_COUNT(names); i++)
        if (strcmp(key, names[i]) == 0)
            return false;
    return n >= 6 && strcmp(key + n - 6, "_token") == 0;
}

/* An object that transformers reads as a token and not as any other object. */
static bool
is_token(const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "__type"));
    return type && strcmp(type, "AddedToken") == 0;
}

/* Move what the extra tokens are, if they have names, to the specific ones. */
static void
take_names(json_t *config, json_t *to)
{
    json_t *list = json_object_get(config, extra);
    if (!json_is_object(list))
        return;
    json_object_update(to, list);
    json_object_del(config, extra);
}

/* Tokens that tokenizer_config.json names itself hide its specific ones. */
static void
gather_own(json_t *config)
{
    json_t *all = json_object(), *value;
    const char *key;
    void *next;
    json_t *old = json_object_get(config, older);
    if (old && is_empty(json_object_get(config, extra))) {
        json_object_set(config, extra, old);
        json_object_del(config, older);
    }
    json_object_foreach_safe(config, next, key, value)
    {
        if (!json_is_string(value) || !is_own_name(key))
            continue;
        json_object_set(all, key, value);
        json_object_del(config, key);
    }
    take_names(config, all);
    if (json_object_size(all))
        json_object_set(config, specific, all);
    json_decref(all);
}

/* The list with those of another that it lacks; a new reference. */
static json_t *
joined(const json_t *list, const json_t *more)
{
    json_t *all = json_array();
    for (size_t i = 0; i < json_array_size(list); i++)
        json_array_append(all, json_array_get(list, i));
    for (size_t i = 0; i < json_array_size(more); i++) {
        json_t *token = json_array_get(more, i);
        bool has = false;
        for (size_t k = 0; k < json_array_size(all); k++)
            has |= json_equal(json_array_get(all, k), token);
        if (!has)
            json_array_append(all, token);
    }
    return all;
}

json_t *
rlf_tokenizer_extra(const json_t *config)
{
    /* the older name counts where the newer one is not there */
    json_t *list = json_object_get(config, extra);
    return list ? list : json_object_get(config, older);
}

void
rlf_tokenizer_gather(json_t *config, json_t *map)
{
    const char *key;
    json_t *value;
    gather_own(config);
    json_object_foreach(map, key, value)
    {
        bool is_extra = strcmp(key, extra) == 0;
        json_t *taken = is_extra && json_is_array(value)
                            ? joined(json_object_get(config, extra), value)
                            : json_copy(value);
        if (json_is_object(taken) && !is_extra)
            json_object_set_new(taken, "__type", json_string("AddedToken"));
        json_object_set_new(config, key, taken);
    }
    if (!json_is_object(json_object_get(config, extra)))
        return;
    if (!json_is_object(json_object_get(config, specific)))
        json_object_set_new(config, specific, json_object());
    take_names(config, json_object_get(config, specific));
}

const rlf_named_token *
rlf_tokenizer_named(const rlf_tokenizer *tokenizer, size_t *count)
{
    *count = tokenizer->named.count;
    return tokenizer->named.data;
}

const char *
rlf_tokenizer_built(const rlf_tokenizer *tokenizer)
{
    return tokenizer->built;
}

static const char *
text_of(const json_t *token)
{
    return json_string_value(
        json_is_object(token) ? json_object_get(token, "content") : token);
}

static bool
has_token(const json_t *object, const char *text)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *token = text_of(value);
        size_t n = strlen(key);
        if (n > 6 && strcmp(key + n - 6, "_token") == 0 && token &&
            strcmp(token, text) == 0)
            return true;
    }
    return false;
}

bool
rlf_tokenizer_is_named(const json_t *config, const char *text)
{
    return has_token(config, text) ||
           has_token(json_object_get(config, specific), text);
}

bool
rlf_tokenizer_is_special(const json_t *config, const char *text)
{
    const json_t *list = rlf_tokenizer_extra(config);
    bool is = rlf_tokenizer_is_named(config, text);
    for (size_t i = 0; !is && i < json_array_size(list); i++) {
        const char *own = text_of(json_array_get(list, i));
        is = own && strcmp(own, text) == 0;
    }
    return is;
}

/* A name that is there gets another token. */
static rlf_status
set_name(rlf_tokenizer *t, const char *name, const json_t *value,
         const char *file, rlf_err *err)
{
    const char *text = text_of(value);
    if (!text)
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"%.*s\" names a token that is no text", t->dir,
                        file, RLF_CUT(60, name));
    rlf_named_token named = {rlf_arena_strdup(t->arena, name),
                             rlf_arena_strdup(t->arena, text)};
    for (size_t i = 0; i < t->named.count; i++)
        if (strcmp(t->named.data[i].name, name) == 0) {
            t->named.data[i] = named;
            return RLF_OK;
        }
    RLF_TRY_PUSH_IN(t->arena, &t->named, "a tokenizer", named);
    return RLF_OK;
}

/* Names of the model's own, beside the others or in an object of them, which
 * counts more. */
static rlf_status
set_own_names(rlf_tokenizer *t, const json_t *json, const char *file,
              rlf_err *err)
{
    json_t *own = json_object_get(json, specific), *value;
    const char *name;
    json_object_foreach((json_t *)(uintptr_t)json, name, value)
    {
        if (is_own_name(name) && (json_is_string(value) || is_token(value)))
            RLF_TRY(set_name(t, name, value, file, err));
    }
    if (!own || json_is_null(own))
        return RLF_OK;
    if (!json_is_object(own) || is_token(own))
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"%s\" is no object of tokens by their names",
                        t->dir, file, specific);
    json_object_foreach(own, name, value)
    {
        RLF_TRY(set_name(
            t, name, is_token(value) || json_is_string(value) ? value : NULL,
            file, err));
    }
    return RLF_OK;
}

/* The token that the name was given last. */
static const json_t *
value_of(const json_t *json, const char *name)
{
    const json_t *own = json_object_get(json_object_get(json, specific), name);
    return own ? own : json_object_get(json, name);
}

/* Tokens by their purpose, then those without one. */
static rlf_status
read_names(rlf_tokenizer *t, const json_t *json, const char *file, rlf_err *err)
{
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        const json_t *value = json_object_get(json, names[i]);
        if (json_is_string(value) || json_is_object(value))
            RLF_TRY(set_name(t, names[i], value, file, err));
    }
    RLF_TRY(set_own_names(t, json, file, err));
    for (size_t i = 0; i < t->named.count; i++) {
        const char *name = t->named.data[i].name;
        RLF_TRY(add_special(t, value_of(json, name), file, name, err));
    }
    const char *key = json_object_get(json, extra) ? extra : older;
    return add_all(t, rlf_tokenizer_extra(json), file, key, err);
}

/* Spaces in decoded text: BPE keeps them unless a second key says otherwise. */
static rlf_status
read_cleaning(rlf_tokenizer *t, const json_t *config, rlf_err *err)
{
    static const char key[] = "clean_up_tokenization_spaces";
    static const char bpe[] = "clean_up_tokenization_spaces_for_bpe_even_though"
                              "_it_will_corrupt_output";
    bool cleans = false, also = t->model.kind != RLF_WORD_MODEL_BPE;
    if (!also)
        RLF_TRY(
            rlf_json_get_bool(config, t->config_path, bpe, false, err, &also));
    if (also)
        RLF_TRY(rlf_json_get_bool(config, t->config_path, key, false, err,
                                  &cleans));
    t->cleans = cleans;
    return RLF_OK;
}

rlf_status
rlf_tokenizer_settings(rlf_tokenizer *t, const json_t *config, rlf_err *err)
{
    static const char file[] = "tokenizer_config.json";
    RLF_TRY(rlf_json_get_bool(config, t->config_path, "split_special_tokens",
                              false, err, &t->plain));
    RLF_TRY(read_cleaning(t, config, err));
    return read_names(t, config, file, err);
}
