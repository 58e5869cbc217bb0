/* Keys of tokenizer_config.json by which transformers reads another file than
 * tokenizer.json, or reads it otherwise: "fast_tokenizer_files", and
 * "fix_mistral_regex", which gives the pre-tokenizer of older Mistral models
 * the pattern that they were trained with. */
#include "engine/text/inside.h"

#include "engine/io/json.h"

#include <stdlib.h>
#include <string.h>

static const char config_file[] = "tokenizer_config.json";

/* ---- files by version ---- */

/* The reference's own version, without what follows the second number. */
static const long reference[] = {5, 24};

/* Is a version "4.0.0" that of the reference or an older one? False also for
 * what is no list of numbers. */
static bool
is_not_newer(const char *version, size_t n)
{
    const char *p = version, *end = version + n;
    for (size_t i = 0; p < end; i++) {
        char *next;
        if (*p < '0' || *p > '9')
            return false;
        long number = strtol(p, &next, 10);
        long own = i < RLF_COUNT(reference) ? reference[i] : 0;
        p = next;
        if (number != own)
            return number < own;
        if (p < end && *p++ != '.')
            return false;
    }
    return true;
}

/* The version in "tokenizer.VERSION.json"; p NULL: there is none. */
static rlf_str
version_of(const char *name)
{
    static const char head[] = "tokenizer.", tail[] = ".json";
    const char *p = name ? strstr(name, head) : NULL, *end = NULL;
    if (!p)
        return (rlf_str){0};
    p += strlen(head);
    for (const char *at = p; (at = strstr(at, tail)) != NULL; at++)
        end = at;
    return end ? (rlf_str){p, (size_t)(end - p)} : (rlf_str){0};
}

static int
compare(rlf_str a, rlf_str b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* The file that is read instead of tokenizer.json: that of the last version, in
 * the order of texts, before the first that is newer; NULL: none. */
static const char *
find_file(const json_t *list)
{
    rlf_str newer = {0}, last = {0};
    const char *name = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        rlf_str v = version_of(json_string_value(json_array_get(list, i)));
        if (v.p && !is_not_newer(v.p, v.n) &&
            (!newer.p || compare(v, newer) < 0))
            newer = v;
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        rlf_str v = version_of(text);
        if (!v.p || (newer.p && compare(v, newer) >= 0) ||
            (last.p && compare(v, last) < 0))
            continue;
        last = v;
        name = text;
    }
    return name;
}

rlf_status
rlf_tokenizer_check_files(const rlf_tokenizer *t, const json_t *config,
                          rlf_err *err)
{
    static const char key[] = "fast_tokenizer_files";
    json_t *list = NULL;
    RLF_TRY(rlf_json_get_array(config, t->config_path, key, false, err, &list));
    const char *name = find_file(list);
    if (!name)
        return RLF_OK;
    rlf_fail(err, RLF_USER,
             "%s/%s: by \"%s\" transformers reads %.*s, and not tokenizer.json",
             t->dir, config_file, key, RLF_CUT(60, name));
    rlf_err_hint(err, "rename that file to tokenizer.json, and remove the key");
    return RLF_USER;
}

/* ---- the pattern of Mistral's models ---- */

enum { LARGE = 100000 }; /* tokens: smaller vocabularies are not concerned */

static const char split[] =
    "{\"type\": \"Split\", \"behavior\": \"Isolated\", \"pattern\": "
    "{\"Regex\": \"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
    "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*"
    "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+|"
    "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?"
    "[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+"
    "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*|\\\\p{N}| ?"
    "[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|"
    "\\\\s+(?!\\\\S)|\\\\s+\"}}";
static const char bytes[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": "
                            "false, \"use_regex\": false}";

/* Is the version before 5.0.0, of which "5.0.0.dev0" is one, too? */
static bool
is_before_5(const char *version)
{
    static const char *const parts[] = {"dev", "a", "b", "c", "rc", "pre"};
    char *p;
    long number = strtol(version + (*version == 'v'), &p, 10);
    while (number == 5 && strncmp(p, ".0", 2) == 0)
        p += 2;
    p += *p && strchr(".-_", *p);
    for (size_t i = 0; i < RLF_COUNT(parts); i++)
        if (number == 5 && strncmp(p, parts[i], strlen(parts[i])) == 0)
            return true;
    return number < 5;
}

bool
rlf_tokenizer_mends_beside(const json_t *model)
{
    static const char *const types[] = {"mistral", "mistral3", "voxtral",
                                        "ministral", "pixtral"};
    const char *type = json_string_value(json_object_get(model, "model_type"));
    const char *version =
        json_string_value(json_object_get(model, "transformers_version"));
    bool is = !type;
    for (size_t i = 0; type && i < RLF_COUNT(types); i++)
        is |= strcmp(type, types[i]) == 0;
    return model && is && (!version || !*version || is_before_5(version));
}

/* Returns the number of tokens, added ones too. */
static size_t
count_tokens(const json_t *root, const json_t *config)
{
    const json_t *vocab =
        json_object_get(json_object_get(root, "model"), "vocab");
    json_t *list = json_object_get(root, "added_tokens"), *entry;
    json_t *more = json_object_get(config, "added_tokens_decoder");
    json_t *texts = json_object();
    const char *key;
    for (size_t i = 0; i < json_array_size(list); i++) {
        key = json_string_value(
            json_object_get(json_array_get(list, i), "content"));
        if (key && !json_object_get(vocab, key))
            json_object_set_new(texts, key, json_true());
    }
    json_object_foreach(more, key, entry)
    {
        const char *text = json_string_value(json_object_get(entry, "content"));
        if (text && !json_object_get(vocab, text))
            json_object_set_new(texts, text, json_true());
    }
    size_t n = json_object_size(texts) + json_object_size(vocab) +
               json_array_size(vocab);
    json_decref(texts);
    return n;
}

static json_t *
made(const char *text)
{
    json_error_t where;
    return json_loads(text, JSON_DECODE_INT_AS_REAL, &where);
}

/* The pattern replaces the first step of a sequence, or stands before the only
 * one. */
static void
put_pattern(json_t *root)
{
    json_t *part = json_object_get(root, "pre_tokenizer");
    const char *type = json_string_value(json_object_get(part, "type"));
    if (type && strcmp(type, "Sequence") == 0) {
        json_t *list = json_object_get(part, "pretokenizers");
        if (json_array_size(list))
            json_array_set_new(list, 0, made(split));
        return;
    }
    bool signs = type && strcmp(type, "Metaspace") == 0;
    json_t *list = json_array(), *whole = json_object();
    json_array_append_new(list, made(split));
    json_array_append_new(list, signs ? made(bytes) : json_incref(part));
    json_object_set_new(whole, "type", json_string("Sequence"));
    json_object_set_new(whole, "pretokenizers", list);
    json_object_set_new(root, "pre_tokenizer", whole);
}

rlf_status
rlf_tokenizer_mend(rlf_tokenizer *t, json_t *root, const json_t *config,
                   rlf_err *err)
{
    bool asked = false;
    json_t *model = NULL;
    RLF_TRY(rlf_json_get_bool(config, t->config_path, "fix_mistral_regex",
                              false, err, &asked));
    t->mends = asked &&
               json_is_object(json_object_get(root, "pre_tokenizer")) &&
               count_tokens(root, config) > LARGE;
    if (!t->mends)
        return RLF_OK;
    RLF_TRY(rlf_tokenizer_beside(t, "config.json", err, &model));
    t->mended = rlf_tokenizer_mends_beside(model);
    if (t->mended)
        put_pattern(root);
    json_decref(model);
    return RLF_OK;
}
