/* The class of a tokenizer. transformers reads tokenizer.json as it is for some
 * of its classes only. The others take the vocabulary, the merges and what
 * stands before and after a text from there, and build all else themselves:
 * what that is, and for which files, is told here, by rewriting tokenizer.json
 * before load.c reads it. The reference is transformers 5.24. */
#include "engine/text/inside.h"

#include "engine/io/json.h"

#include <stdlib.h>
#include <string.h>

static const char config_file[] = "tokenizer_config.json";

/* ---- what the classes build ---- */

typedef enum prefix_kind {
    PREFIX_NONE,   /* add_prefix_space says nothing */
    PREFIX_BYTES,  /* ByteLevel puts a space in front, if it is true */
    PREFIX_NULL,   /* the same, and null is false */
    PREFIX_LEGACY, /* Metaspace puts a sign, unless it is false */
} prefix_kind;

/* Special tokens that are added a second time, with no flags. */
typedef enum again_kind {
    AGAIN_NONE,
    AGAIN_OWN, /* those that no file names, the model's own, the extra ones */
    AGAIN_ALL
} again_kind;

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

static const struct builder {
    const char *name;   /* without "Fast" */
    const char *parts;  /* of tokenizer.json */
    const char *model;  /* options of its BPE */
    const char *tokens; /* names of special tokens that no file gives */
    prefix_kind prefix;
    again_kind again;
    bool unknown; /* its model has the unk_token */
    bool pair;    /* it reads vocab.json and merges.txt */
    bool bare;    /* nothing stands before and after a text */
} builders[] = {
    {.name = "GPT2Tokenizer",
     .parts = "{" BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\"}",
     .prefix = PREFIX_BYTES,
     .pair = true},
    {.name = "CodeGenTokenizer",
     .parts = "{" BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\"}",
     .prefix = PREFIX_BYTES,
     .pair = true},
    {.name = "GPTNeoXTokenizer",
     .parts = "{" NFC BYTES "}",
     .tokens = "{\"bos_token\": \"<|endoftext|>\", \"eos_token\": "
               "\"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\", "
               "\"pad_token\": \"<|padding|>\"}",
     .prefix = PREFIX_BYTES,
     .pair = true,
     .bare = true},
    {.name = "Qwen2Tokenizer",
     .parts = "{" NFC SPLIT_BYTES(
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
         "\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*"
         "[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+") "}",
     .tokens = "{\"eos_token\": \"<|endoftext|>\", \"unk_token\": "
               "\"<|endoftext|>\", \"pad_token\": \"<|endoftext|>\"}",
     .prefix = PREFIX_NULL,
     .again = AGAIN_ALL,
     .pair = true},
    {.name = "Qwen3_5Tokenizer",
     .parts = "{" NFC SPLIT_BYTES(
         "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
         "[\\\\p{L}\\\\p{M}]+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]+"
         "[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+") "}",
     .tokens = "{\"eos_token\": \"<|endoftext|>\", \"unk_token\": "
               "\"<|endoftext|>\", \"pad_token\": \"<|endoftext|>\"}",
     .prefix = PREFIX_NULL},
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
     .prefix = PREFIX_BYTES,
     .again = AGAIN_OWN,
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
     .prefix = PREFIX_LEGACY},
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

/* ---- which class acts ---- */

static const char *const refused[] = {
#define CLASS(name) name,
#define MODEL(type, class, mistaken)
#include "engine/text/class.def"
#undef CLASS
#undef MODEL
};

static const struct registered {
    const char *type, *class; /* "": it takes tokenizer.json as it is */
    bool mistaken;
} models[] = {
#define CLASS(name)
#define MODEL(type, class, mistaken) {type, class, mistaken},
#include "engine/text/class.def"
#undef CLASS
#undef MODEL
};

/* Names that take tokenizer.json as it is, besides all that are not known. */
static const char *const generic[] = {"TokenizersBackend",
                                      "PreTrainedTokenizer", "PythonBackend",
                                      "BloomTokenizer"};

static const struct registered *
find_model(const char *type)
{
    for (size_t i = 0; type && i < RLF_COUNT(models); i++)
        if (strcmp(models[i].type, type) == 0)
            return &models[i];
    return NULL;
}

static const struct builder *
find_builder(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(builders); i++)
        if (strcmp(builders[i].name, name) == 0)
            return &builders[i];
    return NULL;
}

static bool
is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static bool
is_known(const char *name)
{
    return is_one_of(name, refused, RLF_COUNT(refused)) ||
           is_one_of(name, generic, RLF_COUNT(generic));
}

/* The name of a class without "Fast"; NULL stays NULL. */
static const char *
base_of(const char *name, rlf_arena *arena)
{
    size_t n = name ? strlen(name) : 0;
    return n > 4 && strcmp(name + n - 4, "Fast") == 0
               ? rlf_arena_strndup(arena, name, n - 4)
               : name;
}

/* Has the text `"ByteLevel"`, in any place? */
static bool
has_byte_level(const json_t *json)
{
    static const char word[] = "ByteLevel";
    const char *key, *text = json_string_value(json);
    const json_t *value;
    json_t *object = (json_t *)(uintptr_t)json;
    if (text && strcmp(text, word) == 0)
        return true;
    json_object_foreach(object, key, value)
    {
        if (strcmp(key, word) == 0 || has_byte_level(value))
            return true;
    }
    for (size_t i = 0; i < json_array_size(json); i++)
        if (has_byte_level(json_array_get(json, i)))
            return true;
    return false;
}

/* The words of config.json that decide with those of the tokenizer. */
typedef struct naming {
    const char *class; /* without "Fast", or NULL */
    const struct registered *model;
    bool mistaken;
} naming;

static rlf_status
read_naming(const json_t *model, rlf_arena *arena, rlf_err *err, naming *out)
{
    static const char file[] = "config.json";
    const char *class = NULL, *type = NULL, *name = NULL;
    RLF_TRY(
        rlf_json_get_text(model, file, "tokenizer_class", false, err, &class));
    RLF_TRY(rlf_json_get_text(model, file, "model_type", false, err, &type));
    RLF_TRY(rlf_json_get_text(model, file, "model_name", false, err, &name));
    const struct registered *by_name = find_model(name);
    *out = (naming){.class = base_of(class, arena), .model = find_model(type)};
    out->mistaken =
        (out->model && out->model->mistaken) || (by_name && by_name->mistaken);
    return RLF_OK;
}

/* As transformers' AutoTokenizer decides; "": tokenizer.json counts as it is.
 */
static const char *
decide(const rlf_class_words *words, const naming *n)
{
    const char *class = words->class ? words->class : n->class;
    const char *registered = n->model ? n->model->class : NULL;
    if (!words->code && class) {
        if (strcmp(class, "LlamaTokenizer") == 0 && !n->mistaken &&
            words->byte_level)
            return "";
        if (registered && strcmp(registered, class) != 0)
            return !*registered ? "" : n->mistaken ? registered : class;
    }
    return class ? class : registered ? registered : "";
}

static rlf_status
read_words(rlf_tokenizer *t, const json_t *root, const json_t *config,
           rlf_err *err)
{
    const char *class = NULL;
    const json_t *map = json_object_get(config, "auto_map");
    RLF_TRY(rlf_json_get_text(config, config_file, "tokenizer_class", false,
                              err, &class));
    class = base_of(class, t->arena);
    if (json_is_object(map))
        map = json_object_get(map, "AutoTokenizer");
    t->named_by = (rlf_class_words){
        .class = class ? rlf_arena_strdup(t->arena, class) : NULL,
        .code = map && !json_is_null(map),
        .byte_level = has_byte_level(root)};
    return RLF_OK;
}

static rlf_status
refuse(const rlf_tokenizer *t, const char *class, const naming *n, rlf_err *err)
{
    rlf_fail(err, RLF_USER,
             "%s: transformers makes this tokenizer by its class %s, which "
             "rlflow does not have",
             t->dir, class);
    rlf_err_hint(err,
                 "to have texts split as tokenizer.json says, here and there, "
                 "set \"tokenizer_class\" of %s to "
                 "\"PreTrainedTokenizerFast\"%s",
                 config_file,
                 n->mistaken ? ", and use a copy without config.json" : "");
    return RLF_USER;
}

/* Sets *out to the builder of the class that acts, NULL where tokenizer.json
 * counts as it is. */
static rlf_status
find_class(const rlf_tokenizer *t, const json_t *model, rlf_err *err,
           const struct builder **out)
{
    const char *own = t->named_by.class;
    naming n;
    RLF_TRY(read_naming(model, t->arena, err, &n));
    if (t->named_by.code && !n.model && !(own && is_known(own)))
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"auto_map\" names a program that makes the "
                        "tokenizer, and rlflow runs none",
                        t->dir, config_file);
    const char *class = decide(&t->named_by, &n);
    if (t->pair && !*class && !own)
        class = "GPT2Tokenizer"; /* which came without any configuration */
    *out = find_builder(class);
    if (t->pair && (!*out || !(*out)->pair)) {
        rlf_fail(err, RLF_USER,
                 "%s: the tokenizer_class %.*s cannot be read from vocab.json "
                 "and merges.txt",
                 t->dir, RLF_CUT(60, *class ? class : own));
        rlf_err_hint(err, "save the tokenizer as tokenizer.json first");
        return RLF_USER;
    }
    return !*out && is_one_of(class, refused, RLF_COUNT(refused))
               ? refuse(t, class, &n, err)
               : RLF_OK;
}

/* Of a class, or NULL. */
static const char *
reading(const char *class)
{
    return class ? class : "tokenizer.json alone";
}

rlf_status
rlf_tokenizer_check_beside(const rlf_tokenizer *t, const char *model,
                           rlf_err *err)
{
    json_t *json = NULL;
    naming n = {0};
    rlf_arena *arena = rlf_arena_new();
    rlf_status status =
        rlf_json_parse("config.json", 1, model, strlen(model), err, &json);
    if (status >= 0)
        status = read_naming(json, arena, err, &n);
    const char *there = status < 0 ? t->built : decide(&t->named_by, &n);
    const struct builder *b = there ? find_builder(there) : NULL;
    there = b ? b->name : NULL;
    if (status >= 0 && there != t->built && !t->pair) {
        status = rlf_fail(
            err, RLF_USER,
            "%s: %s says how this tokenizer splits texts, and %s does beside "
            "the config.json of the model, with which it is saved",
            t->dir, reading(t->built), reading(there));
        rlf_err_hint(err,
                     "name a copy of it with the model's config.json beside "
                     "it, or with \"PreTrainedTokenizerFast\" as "
                     "\"tokenizer_class\" of %s",
                     config_file);
    }
    json_decref(json);
    rlf_arena_free(arena);
    return status;
}

/* ---- building ---- */

/* One of the parts, made for the program: it cannot fail but for memory. */
static json_t *
made(const char *text)
{
    json_error_t where;
    return text ? json_loads(text, JSON_DECODE_INT_AS_REAL, &where) : NULL;
}

/* Applies add_prefix_space and legacy to the parts. */
static rlf_status
set_prefix(prefix_kind kind, const json_t *config, json_t *parts, rlf_err *err)
{
    static const char key[] = "add_prefix_space";
    const json_t *said = json_object_get(config, key);
    bool prefix = kind == PREFIX_LEGACY, legacy = false;
    if (kind == PREFIX_NONE)
        return RLF_OK;
    if (kind == PREFIX_BYTES && json_is_null(said))
        return rlf_fail(err, RLF_USER,
                        "%s: \"%s\" is null where true or false is wanted",
                        config_file, key);
    RLF_TRY(rlf_json_get_bool(config, config_file, key, false, err, &prefix));
    RLF_TRY(
        rlf_json_get_bool(config, config_file, "legacy", false, err, &legacy));
    json_t *step = json_object_get(parts, "pre_tokenizer");
    if (kind == PREFIX_LEGACY) {
        json_object_set_new(step, "prepend_scheme",
                            json_string(!prefix  ? "never"
                                        : legacy ? "always"
                                                 : "first"));
        json_t *list =
            json_object_get(json_object_get(parts, "decoder"), "decoders");
        if (!prefix)
            json_array_remove(list, json_array_size(list) - 1);
        return RLF_OK;
    }
    json_t *list = json_object_get(step, "pretokenizers");
    if (list)
        step = json_array_get(list, json_array_size(list) - 1);
    json_object_set_new(step, key, json_boolean(prefix));
    return RLF_OK;
}

static const char *
text_of(const json_t *token)
{
    return json_string_value(
        json_is_object(token) ? json_object_get(token, "content") : token);
}

/* The class' own model: vocabulary and merges of the file. */
static rlf_status
build_model(const rlf_tokenizer *t, const struct builder *b, json_t *root,
            const json_t *config, rlf_err *err)
{
    json_t *old = json_object_get(root, "model");
    json_t *vocab = json_object_get(old, "vocab");
    json_t *merges = json_object_get(old, "merges");
    if (!json_is_object(vocab) || !json_is_array(merges)) {
        rlf_fail(err, RLF_USER,
                 "%s: transformers makes a BPE of it by its class %s, and the "
                 "file has another model",
                 t->file, b->name);
        rlf_err_hint(err,
                     "to have texts split as the file says, set "
                     "\"tokenizer_class\" of %s to "
                     "\"PreTrainedTokenizerFast\"",
                     config_file);
        return RLF_USER;
    }
    json_t *model = b->model ? made(b->model) : json_object();
    json_object_set_new(model, "type", json_string("BPE"));
    json_object_set(model, "vocab", vocab);
    json_object_set(model, "merges", merges);
    const char *unknown = text_of(json_object_get(config, "unk_token"));
    if (b->unknown && unknown && json_object_get(vocab, unknown))
        json_object_set_new(model, "unk_token", json_string(unknown));
    json_object_set_new(root, "model", model);
    return RLF_OK;
}

static bool
is_extra(const json_t *config, const char *text)
{
    const json_t *list = rlf_tokenizer_extra(config);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *own = text_of(json_array_get(list, i));
        if (own && strcmp(own, text) == 0)
            return true;
    }
    return false;
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
        json_object_set_new(copy, "special",
                            json_boolean(rlf_tokenizer_is_named(config, text) ||
                                         is_extra(config, text)));
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

typedef struct numbered_token {
    double id;
    const json_t *entry;
} numbered_token;

static int
by_id(const void *a, const void *b)
{
    double x = ((const numbered_token *)a)->id,
           y = ((const numbered_token *)b)->id;
    return (x > y) - (x < y);
}

/* The tokens that the files list, by their ids, as a new list. */
static json_t *
listed_tokens(const rlf_tokenizer *t, const json_t *root, json_t *config)
{
    json_t *decoder = json_object_get(config, "added_tokens_decoder");
    json_t *in_file = json_object_get(root, "added_tokens"), *entry;
    size_t n = 0;
    const char *key;
    numbered_token *all =
        RLF_NEW_ARRAY(t->arena, numbered_token,
                      json_object_size(decoder) + json_array_size(in_file));
    json_object_foreach(decoder, key, entry) all[n++] =
        (numbered_token){strtod(key, NULL), entry};
    for (size_t i = 0; !decoder && i < json_array_size(in_file); i++) {
        entry = json_array_get(in_file, i);
        all[n++] = (numbered_token){
            json_number_value(json_object_get(entry, "id")), entry};
    }
    qsort(all, n, sizeof *all, by_id);
    json_t *vocab = json_object_get(json_object_get(root, "model"), "vocab");
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
    return list;
}

/* Gives the names that the class has where the files have none. Returns those;
 * a new reference. */
static json_t *
set_names(json_t *config, const struct builder *b)
{
    json_t *names = made(b->tokens), *value;
    const char *key;
    void *next;
    json_object_foreach_safe(names, next, key, value)
    {
        if (!json_object_get(config, key))
            json_object_set(config, key, value);
        else
            json_object_del(names, key);
    }
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
add_again(const struct builder *b, json_t *config, const json_t *own,
          json_t *list)
{
    const char *key;
    json_t *token, *extra = rlf_tokenizer_extra(config), *usual;
    json_t *names = json_object_get(config, "model_specific_special_tokens");
    if (b->again == AGAIN_ALL)
        make_plain(config);
    usual = made(b->tokens);
    for (size_t i = 0; b->again && i < json_array_size(list); i++) {
        json_t *entry = json_array_get(list, i);
        if (rlf_tokenizer_is_named(b->again == AGAIN_ALL ? config : own,
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

static rlf_name_kind
kind_of(const json_t *root, const json_t *config, const json_t *own,
        const char *key)
{
    const char *text = text_of(json_object_get(config, key));
    const json_t *list = json_object_get(root, "added_tokens");
    if (json_object_get(own, key))
        return RLF_NAME_CLASS;
    for (size_t i = 0; text && i < json_array_size(list); i++) {
        const char *other = text_of(json_array_get(list, i));
        if (other && strcmp(other, text) == 0)
            return RLF_NAME_ADDED;
    }
    return RLF_NAME_WRONG;
}

static rlf_status
build(rlf_tokenizer *t, const struct builder *b, json_t *root, json_t *config,
      rlf_err *err)
{
    static const char *const keys[] = {"normalizer", "pre_tokenizer",
                                       "decoder"};
    json_t *parts = made(b->parts);
    rlf_status status = set_prefix(b->prefix, config, parts, err);
    for (size_t i = 0; i < RLF_COUNT(keys); i++) {
        json_t *part = json_object_get(parts, keys[i]);
        json_object_set(root, keys[i], part ? part : json_null());
    }
    json_decref(parts);
    RLF_TRY(status);
    if (b->bare)
        json_object_del(root, "post_processor");
    json_t *own = set_names(config, b);
    t->built = b->name;
    t->bos_kind = kind_of(root, config, own, "bos_token");
    t->eos_kind = kind_of(root, config, own, "eos_token");
    status = build_model(t, b, root, config, err);
    json_t *list = listed_tokens(t, root, config);
    add_again(b, config, own, list);
    json_decref(own);
    json_object_set_new(root, "added_tokens", list);
    json_object_del(config, "added_tokens_decoder");
    return status;
}

rlf_status
rlf_tokenizer_class(rlf_tokenizer *t, json_t *root, json_t **config,
                    rlf_err *err)
{
    const struct builder *b = NULL;
    json_t *model = NULL;
    RLF_TRY(read_words(t, root, *config, err));
    RLF_TRY(rlf_tokenizer_beside(t, "config.json", err, &model));
    rlf_status status = find_class(t, model, err, &b);
    json_decref(model);
    RLF_TRY(status);
    if (!b)
        return RLF_OK;
    if (!*config)
        *config = json_object();
    return build(t, b, root, *config, err);
}
