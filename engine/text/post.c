/* The "post_processor" of a tokenizer file: the tokens that stand before and
 * after a text. TemplateProcessing, BertProcessing, RobertaProcessing,
 * ByteLevel (which concerns offsets only), and sequences. */
#include "engine/text/inside.h"

#include "engine/io/json.h"

#include <string.h>

static rlf_status
add_id(rlf_tokenizer *t, const json_t *value, const char *name, rlf_ids *to,
       rlf_err *err)
{
    uint32_t id = 0;
    RLF_TRY(rlf_tokenizer_id(t, value, name ? name : "", err, &id));
    if (id >= t->vocab)
        return rlf_fail(err, RLF_USER,
                        "%s: the post_processor's id %u is no token", t->file,
                        id);
    RLF_TRY_PUSH_IN(t->arena, to, "a tokenizer", id);
    return RLF_OK;
}

/* The reference treats what one processor has put around a text as further
 * texts to the next, and gives up or puts tokens around each of them. */
static rlf_status
put_around(rlf_tokenizer *t, const rlf_ids *before, const rlf_ids *after,
           rlf_err *err)
{
    if (t->prefix.count || t->suffix.count)
        return rlf_fail(err, RLF_USER,
                        "%s: more than one post_processor that adds tokens is "
                        "not supported",
                        t->file);
    t->prefix = *before;
    t->suffix = *after;
    return RLF_OK;
}

static rlf_status
fail_template(const rlf_tokenizer *t, const char *what, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s: the post_processor's template %s",
                    t->file, what);
}

static rlf_status
load_template(rlf_tokenizer *t, const json_t *json, rlf_err *err)
{
    static const char once[] = "does not have the text exactly once";
    json_t *list = NULL, *tokens = NULL;
    rlf_ids sides[2] = {0};
    int side = 0; /* 1: after the text */
    RLF_TRY(rlf_json_get_array(json, t->file, "single", true, err, &list));
    RLF_TRY(rlf_json_get_object(json, t->file, "special_tokens", false, err,
                                &tokens));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *special = json_object_get(item, "SpecialToken");
        const json_t *text = json_object_get(item, "Sequence");
        const char *name =
            json_string_value(json_object_get(special ? special : text, "id"));
        if (!special && (!name || strcmp(name, "A") != 0 || side++))
            return fail_template(t, once, err);
        if (!special)
            continue;
        const json_t *ids =
            json_object_get(json_object_get(tokens, name ? name : ""), "ids");
        if (!json_array_size(ids))
            return fail_template(t, "has a special token without ids", err);
        for (size_t k = 0; k < json_array_size(ids); k++)
            RLF_TRY(add_id(t, json_array_get(ids, k), name, &sides[side], err));
    }
    if (!side)
        return fail_template(t, once, err);
    return put_around(t, &sides[0], &sides[1], err);
}

/* {"cls": [text, id], "sep": [text, id]}: one before the text, one behind. */
static rlf_status
load_two(rlf_tokenizer *t, const json_t *json, rlf_err *err)
{
    static const char *const keys[] = {"cls", "sep"};
    rlf_ids sides[2] = {0};
    for (int i = 0; i < 2; i++) {
        json_t *pair = NULL;
        RLF_TRY(rlf_json_get_array(json, t->file, keys[i], true, err, &pair));
        RLF_TRY(add_id(t, json_array_get(pair, 1),
                       json_string_value(json_array_get(pair, 0)), &sides[i],
                       err));
    }
    return put_around(t, &sides[0], &sides[1], err);
}

rlf_status
rlf_tokenizer_post(rlf_tokenizer *t, const json_t *json, rlf_err *err)
{
    if (!json || json_is_null(json))
        return RLF_OK;
    const char *type = NULL;
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_text(json, t->file, "type", true, err, &type));
    if (strcmp(type, "ByteLevel") == 0)
        return RLF_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return load_template(t, json, err);
    if (strcmp(type, "BertProcessing") == 0 ||
        strcmp(type, "RobertaProcessing") == 0)
        return load_two(t, json, err);
    if (strcmp(type, "Sequence") != 0)
        return rlf_fail(err, RLF_USER,
                        "%s: the post_processor %.*s is not supported", t->file,
                        RLF_CUT(40, type));
    RLF_TRY(rlf_json_get_array(json, t->file, "processors", true, err, &list));
    for (size_t i = 0; i < json_array_size(list); i++)
        RLF_TRY(rlf_tokenizer_post(t, json_array_get(list, i), err));
    return RLF_OK;
}
