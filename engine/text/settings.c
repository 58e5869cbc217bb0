/* What tokenizer_config.json and special_tokens_map.json say of how a text is
 * read, besides its ends (ends.c): names of special tokens, whether they count
 * where a text has them, and the space in front of a text.
 *
 * Followed is transformers 5. The other keys change no id and no text: what is
 * padded or cut, lengths, and clean_up_tokenization_spaces, which it does not
 * apply to BPE either. */
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
                         .special = true};
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
        RLF_TRY(rlf_json_get_bool(value, file, flags[i].key, false, err,
                                  flags[i].to));
    if (!added->text.n)
        return RLF_OK;
    if (added->id == RLF_NO_ID)
        added->id = t->next_id;
    return rlf_tokenizer_add(t, added, err);
}

/* A list of tokens, or an object of them by names. */
static rlf_status
add_all(rlf_tokenizer *t, json_t *value, const char *file, const char *key,
        rlf_err *err)
{
    const char *name;
    json_t *token;
    if (!value || json_is_null(value))
        return RLF_OK;
    if (!json_is_array(value) && !json_is_object(value))
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"%s\" is %s where a list of "
                        "tokens is wanted",
                        t->dir, file, key, rlf_json_word(value));
    for (size_t i = 0; i < json_array_size(value); i++)
        RLF_TRY(add_special(t, json_array_get(value, i), file, key, err));
    json_object_foreach(value, name, token)
        RLF_TRY(add_special(t, token, file, key, err));
    return RLF_OK;
}

const char *const rlf_tokenizer_names[RLF_TOKENIZER_NAMES] = {
    "bos_token", "eos_token", "unk_token", "sep_token",
    "pad_token", "cls_token", "mask_token"};

const char *
rlf_tokenizer_named(const rlf_tokenizer *tokenizer, int name)
{
    return tokenizer->named[name];
}

/* Tokens by their purpose, then those without one. */
static rlf_status
read_names(rlf_tokenizer *t, const json_t *json, const char *file, rlf_err *err)
{
    for (int i = 0; i < RLF_TOKENIZER_NAMES; i++) {
        const char *name = rlf_tokenizer_names[i];
        const json_t *value = json_object_get(json, name);
        if (!json_is_string(value) && !json_is_object(value))
            continue;
        RLF_TRY(add_special(t, value, file, name, err));
        const char *text = json_string_value(
            json_is_object(value) ? json_object_get(value, "content") : value);
        t->named[i] = rlf_arena_strdup(t->arena, text);
    }
    /* the older name of the same counts where the newer one is empty */
    const char *key = "extra_special_tokens";
    json_t *list = json_object_get(json, key);
    if (!json_array_size(list) && !json_object_size(list)) {
        key = "additional_special_tokens";
        list = json_object_get(json, key);
    }
    return add_all(t, list, file, key, err);
}

static bool
is_prepend(const struct rlf_normal_step *step)
{
    return !step->form && !step->regex;
}

static void
drop_prepends(rlf_normalizer *normalizer)
{
    size_t n = 0;
    for (size_t i = 0; i < normalizer->count; i++)
        if (!is_prepend(&normalizer->data[i]))
            normalizer->data[n++] = normalizer->data[i];
    normalizer->count = n;
}

/* Of sentencepiece's kind: signs for spaces are put by the normalizer or by
 * Metaspace, and the decoder takes the first away. */
static rlf_status
set_signs(rlf_tokenizer *t, bool prefix, bool first, rlf_err *err)
{
    bool has = false, metaspace = false;
    for (size_t i = 0; i < t->normalizer.count; i++)
        has |= is_prepend(&t->normalizer.data[i]);
    for (size_t i = 0; i < t->splitter.count; i++) {
        rlf_split_step *step = &t->splitter.data[i];
        metaspace |= step->space != NULL;
        has |= step->space && step->prefix;
    }
    if (prefix == has)
        return RLF_OK;
    if (prefix && !metaspace) {
        rlf_fail(err, RLF_USER,
                 "%s/tokenizer_config.json: \"add_prefix_space\" is true, and "
                 "%s puts none in front of a text",
                 t->dir, t->file);
        rlf_err_hint(err,
                     "save the tokenizer again, so that both say the same");
        return RLF_USER;
    }
    drop_prepends(&t->normalizer);
    for (size_t i = 0; i < t->splitter.count; i++) {
        rlf_split_step *step = &t->splitter.data[i];
        step->prefix = step->space && prefix;
        step->prefix_first = step->prefix && first;
    }
    t->decoder.drop_first = prefix;
    if (!prefix)
        t->decoder.strip_most = 0;
    return RLF_OK;
}

/* The classes that make their parts anew, by their own arguments; of others
 * tokenizer.json alone counts. */
static rlf_status
set_prefix(rlf_tokenizer *t, const json_t *config, rlf_err *err)
{
    static const char *const byte_level[] = {
        "GPT2Tokenizer", "GPT2TokenizerFast", "Qwen2Tokenizer",
        "Qwen2TokenizerFast"};
    static const char *const signs[] = {"LlamaTokenizer", "LlamaTokenizerFast"};
    const char *class = "", *file = "tokenizer_config.json";
    bool prefix = false, legacy = false;
    if (!json_is_boolean(json_object_get(config, "add_prefix_space")))
        return RLF_OK;
    RLF_TRY(rlf_json_get_bool(config, file, "add_prefix_space", true, err,
                              &prefix));
    RLF_TRY(rlf_json_get_bool(config, file, "legacy", false, err, &legacy));
    RLF_TRY(
        rlf_json_get_text(config, file, "tokenizer_class", false, err, &class));
    for (size_t i = 0; i < RLF_COUNT(byte_level); i++)
        if (t->splitter.byte_level && !strcmp(class, byte_level[i]))
            t->splitter.data[t->splitter.count - 1].prefix = prefix;
    for (size_t i = 0; i < RLF_COUNT(signs); i++)
        if (!t->splitter.byte_level && !strcmp(class, signs[i]))
            RLF_TRY(set_signs(t, prefix, !legacy, err));
    return RLF_OK;
}

rlf_status
rlf_tokenizer_settings(rlf_tokenizer *t, const json_t *config, rlf_err *err)
{
    static const char file[] = "tokenizer_config.json";
    RLF_TRY(rlf_json_get_bool(config, file, "split_special_tokens", false, err,
                              &t->plain));
    RLF_TRY(set_prefix(t, config, err));
    return read_names(t, config, file, err);
}
