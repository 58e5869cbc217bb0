/* Misspelt keys of a config.json: keys that nothing reads, close to one that is
 * read and not there. The model is read without them, as transformers does. */
#include "nodes/model/config_typos.h"

#include <string.h>

#include "engine/base/str.h"
#include "engine/base/vec.h"

static const char *const keys[] = {
    "model_type",
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
    "rms_norm_eps",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "original_max_position_embeddings",
    "partial_rotary_factor",
    "sliding_window",
    "use_sliding_window",
    "no_rope_layers",
    "no_rope_layer_interval",
    "max_window_layers",
    "layer_types",
    "rope_local_base_freq",
    "query_pre_attn_scalar",
    "attn_logit_softcapping",
    "final_logit_softcapping",
    "attention_bias",
    "mlp_bias",
    "tie_word_embeddings",
    "hidden_act",
    "is_causal",
    "bos_token_id",
    "eos_token_id",
};

/* The keys of an object that scales rotations. */
static const char *const rope_keys[] = {
    "rope_type",
    "type",
    "factor",
    "rope_theta",
    "low_freq_factor",
    "high_freq_factor",
    "partial_rotary_factor",
    "original_max_position_embeddings",
    "attention_factor",
    "mscale",
    "mscale_all_dim",
    "beta_slow",
    "beta_fast",
    "truncate",
    "short_factor",
    "long_factor",
};

enum { MOST_KEYS = 96 };
_Static_assert(2 * RLF_COUNT(keys) <= MOST_KEYS, "room for all of them");

/* Is it one of "a|b"? */
static bool
is_in(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; p; p = strchr(p, '|'))
        if (p += *p == '|', strncmp(p, name, n) == 0 && (!p[n] || p[n] == '|'))
            return true;
    return false;
}

static bool
is_one(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (rlf_str_eq(rlf_str_of(names[i]), rlf_str_of(name)))
            return true;
    return false;
}

/* Adds the keys that are close to one of n names to `text`, which may be NULL.
 * `read`: keys that are none of them, "a|b", or NULL. */
static const char *
add_slips(const json_t *object, const char *const *names, size_t n,
          const char *read, const char *text, rlf_arena *arena)
{
    const char *lacking[MOST_KEYS], *name;
    json_t *value;
    size_t n_lacking = 0;
    for (size_t i = 0; i < n; i++)
        if (!json_object_get(object, names[i]))
            lacking[n_lacking++] = names[i];
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        const char *meant = is_one(names, n, name) || is_in(read, name)
                                ? NULL
                                : rlf_str_nearest(name, lacking, n_lacking);
        if (meant)
            text = rlf_arena_printf(arena, "%s%s\"%s\" (did you mean \"%s\"?)",
                                    text ? text : "", text ? ", " : "", name,
                                    meant);
    }
    return text;
}

/* The keys by the names that a family has for them. */
static size_t
list_keys(const rlf_key_name *names, const char **out)
{
    size_t n = 0;
    for (size_t i = 0; i < RLF_COUNT(keys); i++) {
        const rlf_key_name *own = names;
        while (own && own->key && strcmp(own->key, keys[i]) != 0)
            own++;
        bool other = own && own->key;
        if (!other || own->also)
            out[n++] = keys[i];
        if (other && own->name)
            out[n++] = own->name;
    }
    return n;
}

const char *
rlf_config_typos(const json_t *root, const rlf_key_name *names,
                 const char *read, rlf_arena *arena)
{
    const char *own[2 * RLF_COUNT(keys)];
    size_t n = list_keys(names, own);
    const json_t *both = json_object_get(root, "rope_parameters");
    const json_t *const objects[] = {
        json_object_get(root, "rope_scaling"), both,
        json_object_get(both, "full_attention"),
        json_object_get(both, "sliding_attention")};
    const char *text = add_slips(root, own, n, read, NULL, arena);
    for (size_t i = 0; i < RLF_COUNT(objects); i++)
        text = add_slips(objects[i], rope_keys, RLF_COUNT(rope_keys), NULL,
                         text, arena);
    return text;
}
