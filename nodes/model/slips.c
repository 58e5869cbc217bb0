/* Slips in a config.json: keys that nothing reads, close to one that is read
 * and not there. The model is read without them, as transformers reads it. */
#include "nodes/model/slips.h"

#include "engine/base/str.h"

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
    "max_window_layers",
    "layer_types",
    "attention_bias",
    "mlp_bias",
    "tie_word_embeddings",
    "hidden_act",
    "is_causal",
    "bos_token_id",
    "eos_token_id",
};
enum { KEYS = sizeof keys / sizeof *keys };

static bool
is_read(const char *name)
{
    for (int i = 0; i < KEYS; i++)
        if (rlf_str_eq(rlf_str_of(keys[i]), rlf_str_of(name)))
            return true;
    return false;
}

const char *
rlf_config_slips(const json_t *root, rlf_arena *arena)
{
    const char *lacking[KEYS], *name, *text = NULL;
    json_t *value;
    size_t n = 0;
    for (int i = 0; i < KEYS; i++)
        if (!json_object_get(root, keys[i]))
            lacking[n++] = keys[i];
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
    {
        const char *meant =
            is_read(name) ? NULL : rlf_str_nearest(name, lacking, n);
        if (meant)
            text = rlf_arena_printf(arena, "%s%s\"%s\" (did you mean \"%s\"?)",
                                    text ? text : "", text ? ", " : "", name,
                                    meant);
    }
    return text;
}
