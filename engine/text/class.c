/* The class of a tokenizer. transformers reads tokenizer.json as it is for some
 * of its classes only. The others take the vocabulary, the merges and what
 * stands before and after a text from there, and build all else themselves:
 * which of them acts is told here, and class_build.c rewrites tokenizer.json
 * accordingly before load.c reads it. The reference is transformers 5.24. */
#include "engine/text/class.h"

#include "engine/io/file.h"
#include "engine/io/json.h"

#include <string.h>

static const char config_file[] = "tokenizer_config.json";

static const char *const refused[] = {
#define CLASS(name) name,
#define MODEL(type, class, mistaken, config)
#include "engine/text/class.def"
#undef CLASS
#undef MODEL
};

static const struct registered {
    const char *type, *class; /* "": it takes tokenizer.json as it is */
    bool mistaken, config;
} models[] = {
#define CLASS(name)
#define MODEL(type, class, mistaken, config) {type, class, mistaken, config},
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
read_naming(const json_t *model, const char *dir, rlf_arena *arena,
            rlf_err *err, naming *out)
{
    const char *file =
        dir ? rlf_path_join(arena, dir, "config.json") : "config.json";
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
    if (class)
        return class;
    return registered && n->model->config ? registered : "";
}

static rlf_status
read_words(rlf_tokenizer *t, const json_t *root, const json_t *config,
           rlf_err *err)
{
    const char *class = NULL;
    const json_t *map = json_object_get(config, "auto_map");
    RLF_TRY(rlf_json_get_text(config, t->config_path, "tokenizer_class", false,
                              err, &class));
    const char *said = class ? rlf_arena_strdup(t->arena, class) : NULL;
    class = base_of(said, t->arena);
    if (json_is_object(map))
        map = json_object_get(map, "AutoTokenizer");
    t->named_by = (rlf_class_words){.class = class,
                                    .said = said,
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
           const struct rlf_builder **out)
{
    const char *own = t->named_by.class;
    naming n;
    RLF_TRY(read_naming(model, t->dir, t->arena, err, &n));
    if (t->named_by.code && !n.model && !(own && is_known(own)))
        return rlf_fail(err, RLF_USER,
                        "%s/%s: \"auto_map\" names a program that makes the "
                        "tokenizer, and rlflow runs none",
                        t->dir, config_file);
    const char *class = decide(&t->named_by, &n);
    if (t->pair && !*class && !own)
        class = "GPT2Tokenizer"; /* which came without any configuration */
    *out = rlf_builder_find(class);
    bool by_own = own && (!*class || strcmp(own, class) == 0);
    if (t->pair && (!*out || !(*out)->pair)) {
        rlf_fail(err, RLF_USER,
                 "%s: the tokenizer_class %.*s cannot be read from vocab.json "
                 "and merges.txt",
                 t->dir, RLF_CUT(60, by_own ? t->named_by.said : class));
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
        status = read_naming(json, NULL, arena, err, &n);
    const char *there = status < 0 ? t->built : decide(&t->named_by, &n);
    const struct rlf_builder *b = there ? rlf_builder_find(there) : NULL;
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
    if (status >= 0 && t->mends &&
        rlf_tokenizer_mends_beside(json) != t->mended) {
        status = rlf_fail(
            err, RLF_USER,
            "%s/%s: \"fix_mistral_regex\" counts %s, and the model with which "
            "it is saved has another config.json",
            t->dir, config_file,
            t->mended ? "here"
                      : "only beside the config.json of a Mistral model");
        rlf_err_hint(err, "name a copy of the tokenizer without that key, or "
                          "with the model's config.json beside it");
    }
    json_decref(json);
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_tokenizer_class(rlf_tokenizer *t, json_t *root, json_t **config,
                    rlf_err *err)
{
    const struct rlf_builder *b = NULL;
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
    return rlf_builder_apply(b, t, root, *config, err);
}
