/* Beginning and ends of texts, from the files beside a tokenizer.
 *
 * The ends are the ids in generation_config.json; where that names none, those
 * in config.json; where neither does, the token that tokenizer_config.json or
 * special_tokens_map.json names, which in any case stands first if it is one of
 * them: it is the one to write. "add_bos_token" and "add_eos_token" count where
 * there is no tokenizer.json, which else says what stands before and after a
 * text. */
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

/* The id of the special token that `json` names under `key`, which is a token
 * by now, as all that have a name; RLF_NO_ID if it names none, or its class
 * alone does, of what no file has. */
static uint32_t
named_id(const rlf_tokenizer *t, const json_t *json, const char *key,
         bool by_class, uint32_t listed)
{
    const char *text = token_text(json_object_get(json, key));
    uint32_t id = text ? rlf_tokenizer_find(t, text) : RLF_NO_ID;
    return by_class && id >= listed ? RLF_NO_ID : id;
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
    if (t->eos.count)
        eos = NULL; /* a file before this one has said it */
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

/* The tokenizer's own end goes to the front of the ends, or is the only one. */
static void
put_first(rlf_tokenizer *t, uint32_t own)
{
    if (own == RLF_NO_ID)
        return;
    if (!t->eos.count)
        RLF_PUSH_IN(t->arena, &t->eos, own);
    for (size_t i = 1; i < t->eos.count; i++)
        if (t->eos.data[i] == own) {
            t->eos.data[i] = t->eos.data[0];
            t->eos.data[0] = own;
        }
}

rlf_status
rlf_tokenizer_beside(const rlf_tokenizer *t, const char *name, rlf_err *err,
                     json_t **out)
{
    const char *path = rlf_path_join(t->arena, t->dir, name);
    bool there;
    *out = NULL;
    RLF_TRY(rlf_file_find(path, err, &there));
    return there ? rlf_json_load_object(path, err, out) : RLF_OK;
}

/* Applies add_bos_token or add_eos_token to one side. */
static rlf_status
apply_add(rlf_tokenizer *t, const json_t *config, const char *key, uint32_t id,
          rlf_ids *side, rlf_err *err)
{
    bool add = false;
    RLF_TRY(rlf_json_get_bool(config, t->config_path, key, false, err, &add));
    if (add && id == RLF_NO_ID)
        return rlf_fail(err, RLF_USER,
                        "%s/tokenizer_config.json: \"%s\" is true, but there "
                        "is no such token",
                        t->dir, key);
    if (add)
        RLF_PUSH_IN(t->arena, side, id);
    return RLF_OK;
}

rlf_status
rlf_tokenizer_ends(rlf_tokenizer *t, const json_t *config, uint32_t listed,
                   rlf_err *err)
{
    json_t *generation = NULL, *model = NULL;
    uint32_t own = RLF_NO_ID;
    rlf_status status = RLF_OK;
    t->bos = named_id(t, config, "bos_token", t->bos_by_class, listed);
    own = named_id(t, config, "eos_token", t->eos_by_class, listed);
    RLF_TRY_GOTO(
        rlf_tokenizer_beside(t, "generation_config.json", err, &generation),
        end);
    /* "bos_token": null says that there is none. */
    bool need_bos = !json_object_get(config, "bos_token");
    RLF_TRY_GOTO(
        read_ids(t, generation, "generation_config.json", need_bos, err), end);
    if (!t->eos.count || !generation) {
        RLF_TRY_GOTO(rlf_tokenizer_beside(t, "config.json", err, &model), end);
        RLF_TRY_GOTO(read_ids(t, model, "config.json", need_bos, err), end);
    }
    put_first(t, own);
    if (!t->pair)
        goto end;
    RLF_TRY_GOTO(apply_add(t, config, "add_bos_token", t->bos, &t->prefix, err),
                 end);
    RLF_TRY_GOTO(apply_add(t, config, "add_eos_token",
                           t->eos.count ? t->eos.data[0] : RLF_NO_ID,
                           &t->suffix, err),
                 end);
end:
    json_decref(generation);
    json_decref(model);
    return status;
}
