/* A tokenizer as its class of transformers builds it of the vocabulary, the
 * merges and the added tokens of a tokenizer.json; class.c finds the class. */
#include "engine/text/class.h"

#include "engine/io/json.h"

#include <string.h>

static const char config_file[] = "tokenizer_config.json";

#define BYTES                                                             \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": " \
    "false}, \"decoder\": {\"type\": \"ByteLevel\"}"
#define SPLIT_BYTES(pattern)                                              \
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": ["    \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" pattern "\"}, "   \
    "\"behavior\": \"Isolated\"}, {\"type\": \"ByteLevel\", "             \
    "\"add_prefix_space\": false, \"use_regex\": false}]}, \"decoder\": " \
    "{\"type\": \"ByteLevel\"}"
#define NFC "\"normalizer\": {\"type\": \"NFC\"}, "
#define BYTE_SIGNS                                                          \
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\xe2\x96\x81\"}, " \
    "\"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}"

#define WORD_SIGNS                                                           \
    "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": ["      \
    "{\"type\": \"WhitespaceSplit\"}, {\"type\": \"Metaspace\", "            \
    "\"replacement\": \"\xe2\x96\x81\", \"prepend_scheme\": \"always\"}]}, " \
    "\"decoder\": {\"type\": \"Metaspace\", \"replacement\": "               \
    "\"\xe2\x96\x81\", \"prepend_scheme\": \"always\"}}"

static const struct rlf_builder builders[] = {
    {.name = "GPT2Tokenizer",
     .parts = "{" BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\"}",
     .prefix = RLF_PREFIX_BYTES,
     .pair = true},
    {.name = "CodeGenTokenizer",
     .parts = "{" BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\"}",
     .prefix = RLF_PREFIX_BYTES,
     .pair = true},
    {.name = "GPTNeoXTokenizer",
     .parts = "{" NFC BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\", "
               "\"pad_token\": \"<|padding|>\"}",
     .prefix = RLF_PREFIX_BYTES,
     .post = RLF_POST_NONE,
     .pair = true},
    {.name = "Qwen2Tokenizer",
     .parts = "{" NFC SPLIT_BYTES(
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
         "\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*"
         "[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+") "}",
     .tokens = "{\"eos_token\": \"<|endoftext|>\", \"unk_token\": "
               "\"<|endoftext|>\", \"pad_token\": \"<|endoftext|>\"}",
     .prefix = RLF_PREFIX_NULL,
     .again = RLF_AGAIN_ALL,
     .pair = true},
    {.name = "Qwen3_5Tokenizer",
     .parts = "{" NFC SPLIT_BYTES(
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
         "[\\\\p{L}\\\\p{M}]+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]+"
         "[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+") "}",
     .tokens = "{\"eos_token\": \"<|endoftext|>\", \"unk_token\": "
               "\"<|endoftext|>\", \"pad_token\": \"<|endoftext|>\"}",
     .prefix = RLF_PREFIX_NULL},
    {.name = "CohereTokenizer",
     .parts = "{" NFC "\"pre_tokenizer\": {\"type\": \"Sequence\", "
              "\"pretokenizers\": [{\"type\": \"Digits\", "
              "\"individual_digits\": true}, {\"type\": \"ByteLevel\", "
              "\"add_prefix_space\": false}]}, "
              "\"decoder\": {\"type\": \"ByteLevel\"}}",
     .tokens = "{\"bos_token\": \"<BOS_TOKEN>\", \"eos_token\": "
               "\"<|END_OF_TURN_TOKEN|>\", \"unk_token\": \"<UNK>\", "
               "\"sep_token\": \"<SEP>\", \"pad_token\": \"<PAD>\", "
               "\"cls_token\": \"<CLS>\", \"mask_token\": \"<MASK_TOKEN>\"}",
     .prefix = RLF_PREFIX_BYTES,
     .again = RLF_AGAIN_OWN,
     .pair = true},
    {.name = "LlamaTokenizer",
     .parts = "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
              "\"\xe2\x96\x81\", \"prepend_scheme\": \"first\", \"split\": "
              "false}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": "
              "[" BYTE_SIGNS ", {\"type\": \"Strip\", \"content\": \" \", "
              "\"start\": 1, \"stop\": 0}]}}",
     .model = "{\"fuse_unk\": true, \"byte_fallback\": true}",
     .tokens = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
               "\"unk_token\": \"<unk>\"}",
     .prefix = RLF_PREFIX_LEGACY},
    {.name = "CodeLlamaTokenizer",
     .parts = "{\"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": "
              "\"\xe2\x96\x81\", \"prepend_scheme\": \"first\", \"split\": "
              "false}, \"decoder\": {\"type\": \"Sequence\", \"decoders\": "
              "[" BYTE_SIGNS ", {\"type\": \"Strip\", \"content\": \" \", "
              "\"start\": 1, \"stop\": 0}]}}",
     .model = "{\"fuse_unk\": true, \"byte_fallback\": true}",
     .tokens = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
               "\"unk_token\": \"<unk>\", \"prefix_token\": "
               "\"\xe2\x96\x81<PRE>\", \"middle_token\": "
               "\"\xe2\x96\x81<MID>\", \"suffix_token\": "
               "\"\xe2\x96\x81<SUF>\", \"eot_token\": "
               "\"\xe2\x96\x81<EOT>\", \"fill_token\": \"<FILL_ME>\"}",
     .prefix = RLF_PREFIX_FIRST,
     .post = RLF_POST_BOS,
     .extra = RLF_EXTRA_FILL,
     .unknown = true},
    {.name = "T5Tokenizer",
     .parts = WORD_SIGNS,
     .tokens = "{\"eos_token\": \"</s>\", \"unk_token\": \"<unk>\", "
               "\"pad_token\": \"<pad>\"}",
     .post = RLF_POST_EOS,
     .extra = RLF_EXTRA_IDS,
     .unigram = 2},
    {.name = "XLMRobertaTokenizer",
     .parts = WORD_SIGNS,
     .tokens = "{\"bos_token\": \"<s>\", \"eos_token\": \"</s>\", "
               "\"unk_token\": \"<unk>\", \"sep_token\": \"</s>\", "
               "\"pad_token\": \"<pad>\", \"cls_token\": \"<s>\", "
               "\"mask_token\": \"<mask>\"}",
     .prefix = RLF_PREFIX_ALWAYS,
     .post = RLF_POST_BOTH,
     .unigram = 3},
    {.name = "GemmaTokenizer",
     .parts = "{\"normalizer\": {\"type\": \"Replace\", \"pattern\": "
              "{\"String\": \" \"}, \"content\": \"\xe2\x96\x81\"}, "
              "\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": "
              "{\"String\": \" \"}, \"behavior\": \"MergedWithPrevious\"}, "
              "\"decoder\": {\"type\": \"Sequence\", \"decoders\": "
              "[" BYTE_SIGNS "]}}",
     .model = "{\"fuse_unk\": true, \"byte_fallback\": true}",
     .tokens = "{\"bos_token\": \"<bos>\", \"eos_token\": \"<eos>\", "
               "\"unk_token\": \"<unk>\", \"pad_token\": \"<pad>\", "
               "\"mask_token\": \"<mask>\"}",
     .unknown = true},
};

const struct rlf_builder *
rlf_builder_find(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(builders); i++)
        if (strcmp(builders[i].name, name) == 0)
            return &builders[i];
    return NULL;
}

/* One of the parts, made for the program: it cannot fail but for memory. */
static json_t *
made(const char *text)
{
    json_error_t where;
    return text ? json_loads(text, JSON_DECODE_INT_AS_REAL, &where) : NULL;
}

/* The last of a list of steps, or the only one. */
static json_t *
last_step(json_t *part, const char *list)
{
    json_t *steps = json_object_get(part, list);
    return steps ? json_array_get(steps, json_array_size(steps) - 1) : part;
}

/* Signs for spaces are put by Metaspace, and the decoder takes one away. */
static void
set_signs(rlf_prefix_kind kind, bool prefix, bool legacy, json_t *parts)
{
    json_t *step =
        last_step(json_object_get(parts, "pre_tokenizer"), "pretokenizers");
    json_t *decoder = json_object_get(parts, "decoder");
    json_t *list = json_object_get(decoder, "decoders");
    bool always =
        kind == RLF_PREFIX_ALWAYS || (kind == RLF_PREFIX_LEGACY && legacy);
    const char *scheme = !prefix ? "never" : always ? "always" : "first";
    json_object_set_new(step, "prepend_scheme", json_string(scheme));
    if (!list)
        json_object_set_new(decoder, "prepend_scheme", json_string(scheme));
    else if (!prefix && kind == RLF_PREFIX_LEGACY)
        json_array_remove(list, json_array_size(list) - 1);
}

/* Applies add_prefix_space and legacy to the parts. */
static rlf_status
set_prefix(rlf_prefix_kind kind, const char *file, const json_t *config,
           json_t *parts, rlf_err *err)
{
    static const char key[] = "add_prefix_space";
    const json_t *said = json_object_get(config, key);
    bool signs = kind >= RLF_PREFIX_LEGACY, prefix = signs, legacy = false;
    if (kind == RLF_PREFIX_NONE)
        return RLF_OK;
    if (kind == RLF_PREFIX_BYTES && json_is_null(said))
        return rlf_fail(err, RLF_USER,
                        "%s: \"%s\" is null where true or false is wanted",
                        file, key);
    if (kind == RLF_PREFIX_ALWAYS && json_is_null(said))
        prefix = false;
    RLF_TRY(rlf_json_get_bool(config, file, key, false, err, &prefix));
    RLF_TRY(rlf_json_get_bool(config, file, "legacy", false, err, &legacy));
    if (signs)
        set_signs(kind, prefix, legacy, parts);
    else
        json_object_set_new(
            last_step(json_object_get(parts, "pre_tokenizer"), "pretokenizers"),
            key, json_boolean(prefix));
    return RLF_OK;
}

static const char *
text_of(const json_t *token)
{
    return json_string_value(
        json_is_object(token) ? json_object_get(token, "content") : token);
}

static rlf_status
refuse_model(const rlf_tokenizer *t, const struct rlf_builder *b, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "%s: transformers makes a %s model of it by its class %s, and the "
             "file has another one",
             t->file, b->unigram ? "Unigram" : "BPE", b->name);
    rlf_err_hint(err,
                 "to have texts split as the file says, set "
                 "\"tokenizer_class\" of %s to \"PreTrainedTokenizerFast\"",
                 config_file);
    return RLF_USER;
}

/* The class' own model: vocabulary and merges of the file. */
static rlf_status
build_model(const rlf_tokenizer *t, const struct rlf_builder *b, json_t *root,
            const json_t *config, rlf_err *err)
{
    json_t *old = json_object_get(root, "model");
    json_t *vocab = json_object_get(old, "vocab");
    json_t *merges = json_object_get(old, "merges");
    if (b->unigram ? !json_is_array(vocab)
                   : !json_is_object(vocab) || !json_is_array(merges))
        return refuse_model(t, b, err);
    json_t *model = b->model ? made(b->model) : json_object();
    json_object_set_new(model, "type",
                        json_string(b->unigram ? "Unigram" : "BPE"));
    json_object_set(model, "vocab", vocab);
    if (b->unigram)
        json_object_set_new(model, "unk_id", json_real(b->unigram));
    else
        json_object_set(model, "merges", merges);
    const char *unknown = text_of(json_object_get(config, "unk_token"));
    if (b->unknown && unknown && json_object_get(vocab, unknown))
        json_object_set_new(model, "unk_token", json_string(unknown));
    json_object_set_new(root, "model", model);
    return RLF_OK;
}

/* The charsmap of the file's normalizer, which Unigram classes take; NULL: it
 * has none. */
static json_t *
find_charsmap(const json_t *root)
{
    json_t *normalizer = json_object_get(root, "normalizer");
    json_t *list = json_object_get(normalizer, "normalizers");
    for (size_t i = 0; i < (list ? json_array_size(list) : 1); i++) {
        json_t *step = list ? json_array_get(list, i) : normalizer;
        const char *type = json_string_value(json_object_get(step, "type"));
        if (type && strcmp(type, "Precompiled") == 0)
            return step;
    }
    return NULL;
}

/* The ids of the vocabulary by its texts; a new reference. */
static json_t *
vocabulary(const json_t *root)
{
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
    if (json_is_object(vocab))
        return json_incref(vocab);
    json_t *ids = json_object();
    for (size_t i = 0; i < json_array_size(vocab); i++) {
        const char *text =
            json_string_value(json_array_get(json_array_get(vocab, i), 0));
        if (text && !json_object_get(ids, text))
            json_object_set_new(ids, text, json_real((double)i));
    }
    return ids;
}

/* The entry with the id that it gets when it is added anew, where `next` is the
 * first that no other has; a new reference. `config`, unless it is NULL, tells
 * whether it is a special one. */
static json_t *
numbered(const json_t *entry, const json_t *config, const json_t *vocab,
         double *next)
{
    json_t *copy = json_deep_copy(entry);
    const char *text = text_of(entry);
    json_t *id = text ? json_object_get(vocab, text) : NULL;
    if (config)
        json_object_set_new(
            copy, "special",
            json_boolean(rlf_tokenizer_is_special(config, text)));
    bool special = json_is_true(json_object_get(copy, "special"));
    if (!json_object_get(copy, "normalized"))
        json_object_set_new(copy, "normalized", json_boolean(!special));
    if (!id) {
        json_object_set_new(copy, "id", json_real(*next));
        *next += 1;
    } else {
        json_object_set(copy, "id", id);
        if (json_number_value(id) >= *next)
            *next = json_number_value(id) + 1;
    }
    return copy;
}

/* The tokens that the files list, by their ids, as a new list. */
static rlf_status
list_tokens(rlf_tokenizer *t, const json_t *root, const json_t *config,
            rlf_err *err, json_t **out)
{
    json_t *decoder = NULL, *in_file = json_object_get(root, "added_tokens");
    json_t *entry;
    rlf_listed_token *all;
    size_t n = 0;
    RLF_TRY(rlf_json_get_object(config, t->config_path, "added_tokens_decoder",
                                false, err, &decoder));
    RLF_TRY(rlf_tokenizer_listed(t, in_file, decoder, err, &all, &n));
    json_t *vocab = vocabulary(root);
    double next = (double)json_object_size(vocab);
    json_t *list = json_array(), *seen = json_object();
    for (size_t i = 0; i < n; i++) {
        const char *text = text_of(all[i].entry);
        if (!text || json_object_get(seen, text))
            continue;
        json_object_set_new(seen, text, json_true());
        const json_t *names = t->pair && !decoder ? config : NULL;
        entry = numbered(all[i].entry, names, vocab, &next);
        if (rlf_tokenizer_is_named(config, text))
            json_object_set_new(entry, "special", json_true());
        json_array_append_new(list, entry);
    }
    json_decref(seen);
    json_decref(vocab);
    *out = list;
    return RLF_OK;
}

/* Gives the names that the class has where the files have none, and puts its
 * own in front, as their tokens are added first. Returns those that no file
 * has; a new reference. */
static json_t *
set_names(json_t *config, const struct rlf_builder *b)
{
    json_t *names = made(b->tokens), *old = json_copy(config), *value;
    const char *key;
    void *next;
    json_object_clear(config);
    json_object_foreach_safe(names, next, key, value)
    {
        json_t *given = json_object_get(old, key);
        json_object_set(config, key, given ? given : value);
        if (given)
            json_object_del(names, key);
    }
    json_object_update(config, old);
    json_decref(old);
    return names;
}

static bool
is_name(const char *key)
{
    size_t n = strlen(key);
    return n > 6 && strcmp(key + n - 6, "_token") == 0;
}

/* Tokens given as objects, whose flags the class does not heed. */
static void
make_plain(json_t *config)
{
    json_t *value, *list = rlf_tokenizer_extra(config), *own;
    const char *key;
    void *next;
    json_object_foreach_safe(config, next, key, value)
    {
        if (is_name(key) && json_is_object(value) && text_of(value))
            json_object_set_new(config, key, json_string(text_of(value)));
    }
    own = json_object_get(config, "model_specific_special_tokens");
    json_object_foreach_safe(own, next, key, value)
    {
        if (text_of(value))
            json_object_set_new(own, key, json_string(text_of(value)));
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        value = json_array_get(list, i);
        if (json_is_object(value) && text_of(value))
            json_array_set_new(list, i, json_string(text_of(value)));
    }
}

/* The entry gets the flags of a token that is added a second time. */
static void
take_flags(json_t *entry, const json_t *token)
{
    static const char *const flags[] = {"normalized", "single_word", "lstrip",
                                        "rstrip"};
    json_object_set_new(entry, "special", json_true());
    for (size_t i = 0; i < RLF_COUNT(flags); i++)
        json_object_set_new(
            entry, flags[i],
            json_boolean(json_is_true(json_object_get(token, flags[i]))));
}

/* The entry gets the flags of the token, if it has the same text. */
static void
take_if_same(json_t *entry, const json_t *token)
{
    const char *text = text_of(token);
    if (text && strcmp(text, text_of(entry)) == 0)
        take_flags(entry, token);
}

/* Some classes add special tokens a second time, those given as texts with no
 * flags. */
static void
add_again(const struct rlf_builder *b, json_t *config, const json_t *own,
          json_t *list)
{
    const char *key;
    json_t *token, *extra = rlf_tokenizer_extra(config), *usual;
    json_t *names = json_object_get(config, "model_specific_special_tokens");
    if (b->again == RLF_AGAIN_ALL)
        make_plain(config);
    usual = made(b->tokens);
    for (size_t i = 0; b->again && i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        if (rlf_tokenizer_is_named(b->again == RLF_AGAIN_ALL ? config : own,
                                   text_of(entry)))
            take_flags(entry, NULL);
        json_object_foreach(config, key, token)
        {
            if (is_name(key) && !json_object_get(usual, key))
                take_if_same(entry, token);
        }
        json_object_foreach(names, key, token) take_if_same(entry, token);
        for (size_t k = 0; k < json_array_size(extra); k++)
            take_if_same(entry, json_array_get(extra, k));
    }
    json_decref(usual);
}

/* Those that CodeLlamaTokenizer adds to the ones of a file. */
static json_t *
fill_tokens(rlf_tokenizer *t, const struct rlf_builder *b, const json_t *config)
{
    static const char *const names[] = {"prefix_token", "middle_token",
                                        "suffix_token", "eot_token",
                                        "fill_token"};
    json_t *list = json_array(), *own = made(b->tokens), *token = NULL;
    for (size_t i = 0; i < RLF_COUNT(names); i++) {
        token = json_object_get(config, names[i]);
        token = token ? token : json_object_get(own, names[i]);
        if (text_of(token))
            json_array_append(list, token);
    }
    t->fill =
        text_of(token) ? rlf_arena_strdup(t->arena, text_of(token)) : NULL;
    json_decref(own);
    return list;
}

/* Those that T5Tokenizer adds to the ones of a file, if it has none such. */
static rlf_status
numbered_tokens(const char *file, const json_t *config, const json_t *given,
                rlf_err *err, json_t *out)
{
    int64_t n = 100, found = 0;
    RLF_TRY(rlf_json_get_int(config, file, "extra_ids", false, err, &n));
    for (size_t i = 0; i < json_array_size(given); i++) {
        const char *text = text_of(json_array_get(given, i));
        found += text && strstr(text, "<extra_id_");
    }
    if (found && n > 0 && found != n)
        return rlf_fail(err, RLF_USER,
                        "%s: \"extra_ids\" is %lld, and "
                        "\"additional_special_tokens\" has %lld of them",
                        file, (long long)n, (long long)found);
    for (int64_t i = 0; !found && i < n && i < RLF_IDS_MOST; i++)
        json_array_append_new(out,
                              json_sprintf("<extra_id_%lld>", (long long)i));
    return RLF_OK;
}

/* Adds the special tokens without a name that the class has, unless the file
 * lists all by the newer key. */
static rlf_status
set_extra(rlf_tokenizer *t, const struct rlf_builder *b, json_t *config,
          rlf_err *err)
{
    static const char key[] = "extra_special_tokens";
    if (b->extra == RLF_EXTRA_NONE)
        return RLF_OK;
    json_t *given = rlf_tokenizer_extra(config), *all = json_array();
    rlf_status status = RLF_OK;
    for (size_t i = 0; i < json_array_size(given); i++)
        json_array_append(all, json_array_get(given, i));
    if (b->extra == RLF_EXTRA_FILL) {
        json_t *more = fill_tokens(t, b, config);
        json_array_extend(all, more);
        json_decref(more);
    } else if (!json_object_get(config, key)) {
        status = numbered_tokens(t->config_path, config, given, err, all);
    }
    if (!json_object_get(config, key))
        json_object_set(config, key, all);
    json_decref(all);
    return status;
}

rlf_status
rlf_builder_apply(const struct rlf_builder *b, rlf_tokenizer *t, json_t *root,
                  json_t *config, rlf_err *err)
{
    static const char *const keys[] = {"normalizer", "pre_tokenizer",
                                       "decoder"};
    json_t *parts = made(b->parts);
    json_t *charsmap = b->unigram ? find_charsmap(root) : NULL;
    rlf_status status =
        set_prefix(b->prefix, t->config_path, config, parts, err);
    if (charsmap)
        json_object_set(parts, "normalizer", charsmap);
    for (size_t i = 0; i < RLF_COUNT(keys); i++) {
        json_t *part = json_object_get(parts, keys[i]);
        json_object_set(root, keys[i], part ? part : json_null());
    }
    json_decref(parts);
    RLF_TRY(status);
    RLF_TRY(set_extra(t, b, config, err));
    json_t *own = set_names(config, b);
    t->built = b->name;
    t->builder = b;
    t->bos_by_class = json_object_get(own, "bos_token");
    t->eos_by_class = json_object_get(own, "eos_token");
    status = build_model(t, b, root, config, err);
    json_t *list = NULL;
    if (status >= 0)
        status = list_tokens(t, root, config, err, &list);
    add_again(b, config, own, list);
    json_decref(own);
    json_object_set_new(root, "added_tokens", list ? list : json_array());
    json_object_del(config, "added_tokens_decoder");
    return status;
}

rlf_status
rlf_tokenizer_around(rlf_tokenizer *t, const json_t *root, const json_t *config,
                     rlf_err *err)
{
    rlf_post_kind post = t->builder ? t->builder->post : RLF_POST_FILE;
    const struct {
        const char *key;
        rlf_ids *to;
        bool put;
    } sides[] = {{"bos_token", &t->prefix,
                  post == RLF_POST_BOS || post == RLF_POST_BOTH},
                 {"eos_token", &t->suffix,
                  post == RLF_POST_EOS || post == RLF_POST_BOTH}};
    if (post == RLF_POST_FILE)
        return rlf_tokenizer_post(t, json_object_get(root, "post_processor"),
                                  err);
    for (size_t i = 0; i < RLF_COUNT(sides); i++) {
        const char *text = text_of(json_object_get(config, sides[i].key));
        uint32_t id = text ? rlf_tokenizer_find(t, text) : RLF_NO_ID;
        if (sides[i].put && id != RLF_NO_ID)
            RLF_PUSH_IN(t->arena, sides[i].to, id);
        else if (sides[i].put && post != RLF_POST_BOS)
            return rlf_fail(err, RLF_USER,
                            "%s/%s: the class %s puts the %s around texts, and "
                            "there is none",
                            t->dir, config_file, t->built, sides[i].key);
    }
    return RLF_OK;
}
