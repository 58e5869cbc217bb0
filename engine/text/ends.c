/* Beginning, ends and padding of texts, from the files beside a tokenizer.
 *
 * A token that tokenizer_config.json or special_tokens_map.json names counts
 * first; then the ids in generation_config.json, and config.json for what that
 * does not say. A model may have several ends. "add_bos_token" and
 * "add_eos_token" overrule the template of tokenizer.json. */
#include "engine/text/inside.h"

#include "engine/io/file.h"
#include "engine/io/json.h"

#include <string.h>

/* A token's text: written plainly, or as an object with "content". */
static const char *
token_text(const json_t *value)
{
    if (json_is_object(value))
        value = json_object_get(value, "content");
    return json_string_value(value);
}

/* The id of the special token that `json` names under `key`; RLF_NO_ID if it
 * names none. A token of the vocabulary becomes a special one by it. */
static rlf_status
named_id(rlf_tokenizer *t, const json_t *json, const char *file,
         const char *key, rlf_err *err, uint32_t *out)
{
    const char *text = token_text(json_object_get(json, key));
    *out = RLF_NO_ID;
    if (!text)
        return RLF_OK;
    *out = rlf_tokenizer_find(t, text);
    if (*out == RLF_NO_ID) {
        rlf_fail(err, RLF_USER,
                 "%s/%s: the %s \"%.60s\" is not in the vocabulary", t->dir,
                 file, key, text);
        rlf_err_hint(err, "name a token of %s", t->file);
        return RLF_USER;
    }
    rlf_added *added = RLF_NEW(t->arena, rlf_added);
    *added = (rlf_added){
        .text = rlf_str_of(rlf_arena_strdup(t->arena, text)),
        .id = *out,
        .special = true,
    };
    return rlf_tokenizer_add(t, added, err);
}

static rlf_status
add_eos(rlf_tokenizer *t, const json_t *value, const char *file, rlf_err *err)
{
    int64_t id;
    if (!rlf_json_as_int(value, &id) || id < 0 || id >= t->vocab) {
        rlf_fail(err, RLF_USER,
                 "%s/%s: \"eos_token_id\" names an id that is no token", t->dir,
                 file);
        rlf_err_hint(err, "the tokenizer has the ids 0 to %u", t->vocab - 1);
        return RLF_USER;
    }
    if (!rlf_tokenizer_is_eos(t, (uint32_t)id))
        RLF_PUSH_IN(t->arena, &t->eos, (uint32_t)id);
    return RLF_OK;
}

/* The ids that generation_config.json or config.json gives. */
static rlf_status
read_ids(rlf_tokenizer *t, const json_t *json, const char *file, bool need_bos,
         rlf_err *err)
{
    const json_t *eos = json_object_get(json, "eos_token_id");
    int64_t id;
    if (json_is_array(eos)) {
        for (size_t i = 0; i < json_array_size(eos); i++)
            RLF_TRY(add_eos(t, json_array_get(eos, i), file, err));
    } else if (eos && !json_is_null(eos)) {
        RLF_TRY(add_eos(t, eos, file, err));
    }
    if (need_bos && t->bos == RLF_NO_ID &&
        rlf_json_as_int(json_object_get(json, "bos_token_id"), &id) &&
        id >= 0 && id < t->vocab)
        t->bos = (uint32_t)id; /* -1 means none */
    return RLF_OK;
}

/* A JSON file of the directory, or NULL if it is not there. */
static rlf_status
load_beside(const rlf_tokenizer *t, const char *name, rlf_err *err,
            json_t **out)
{
    const char *path = rlf_path_join(t->arena, t->dir, name);
    *out = NULL;
    return rlf_file_exists(path) ? rlf_json_load_object(path, err, out)
                                 : RLF_OK;
}

static rlf_status
read_names(rlf_tokenizer *t, const json_t *json, const char *file, rlf_err *err)
{
    uint32_t eos;
    if (t->bos == RLF_NO_ID)
        RLF_TRY(named_id(t, json, file, "bos_token", err, &t->bos));
    if (!t->eos.count) {
        RLF_TRY(named_id(t, json, file, "eos_token", err, &eos));
        if (eos != RLF_NO_ID)
            RLF_PUSH_IN(t->arena, &t->eos, eos);
    }
    return RLF_OK;
}

/* Apply an explicit add_bos_token or add_eos_token to one side. */
static rlf_status
apply_add(rlf_tokenizer *t, const json_t *config, const char *key, uint32_t id,
          rlf_ids *side, rlf_err *err)
{
    bool add = false;
    if (!json_is_boolean(json_object_get(config, key)))
        return RLF_OK;
    RLF_TRY(rlf_json_get_bool(config, "tokenizer_config.json", key, true, err,
                              &add));
    if (!add) {
        if (side->count == 1 && side->data[0] == id)
            side->count = 0;
        return RLF_OK;
    }
    if (id == RLF_NO_ID)
        return rlf_fail(err, RLF_USER,
                        "%s/tokenizer_config.json: \"%s\" is true, but there "
                        "is no such token",
                        t->dir, key);
    if (!side->count)
        RLF_PUSH_IN(t->arena, side, id);
    return RLF_OK;
}

rlf_status
rlf_tokenizer_ends(rlf_tokenizer *t, const json_t *config, rlf_err *err)
{
    json_t *map = NULL, *generation = NULL, *model = NULL;
    rlf_status status = RLF_OK;
    RLF_TRY_GOTO(read_names(t, config, "tokenizer_config.json", err), end);
    RLF_TRY_GOTO(load_beside(t, "special_tokens_map.json", err, &map), end);
    RLF_TRY_GOTO(read_names(t, map, "special_tokens_map.json", err), end);
    RLF_TRY_GOTO(load_beside(t, "generation_config.json", err, &generation),
                 end);
    /* "bos_token": null says that there is none. */
    bool need_bos = !json_object_get(config, "bos_token");
    RLF_TRY_GOTO(
        read_ids(t, generation, "generation_config.json", need_bos, err), end);
    if (!t->eos.count || !generation) {
        RLF_TRY_GOTO(load_beside(t, "config.json", err, &model), end);
        RLF_TRY_GOTO(read_ids(t, model, "config.json", need_bos, err), end);
    }
    RLF_TRY_GOTO(apply_add(t, config, "add_bos_token", t->bos, &t->prefix, err),
                 end);
    RLF_TRY_GOTO(apply_add(t, config, "add_eos_token",
                           t->eos.count ? t->eos.data[0] : RLF_NO_ID,
                           &t->suffix, err),
                 end);
end:
    json_decref(map);
    json_decref(generation);
    json_decref(model);
    return status;
}
