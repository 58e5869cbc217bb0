/* Falcon (Almazrouei et al. 2023): norms are LayerNorm, the mlp has no gate, q,
 * k and v are one tensor, head by head. Attention and mlp stand side by side
 * behind one norm or two, or, without parallel_attn, one behind the other. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    static const char qkv[] = "self_attention.query_key_value";
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(
        r, x, c->two_norms ? "ln_attn" : "input_layernorm", true);
    rlf_heads h = rlf_linear_heads(r, n, qkv, qkv, qkv, c->qkv_bias);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    rlf_var y = rlf_linear_onto(r, x, o, "self_attention.dense", c->o_bias);
    if (c->two_norms)
        n = rlf_layer_norm(r, x, "ln_mlp", true);
    else if (!c->parallel)
        n = rlf_layer_norm(r, y, "post_attention_layernorm", true);
    return rlf_plain_mlp(r, y, n, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h",
                         c->mlp_bias);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "transformer.word_embeddings");
    r->hidden =
        rlf_layer_norm(r, rlf_layers(r, x, layer), "transformer.ln_f", true);
}

/* The newer ones have as many key heads as they say, the older ones one or all
 * of them. */
static rlf_status
read_heads(const rlf_config_keys *keys, bool newer, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    bool one = true;
    RLF_TRY(rlf_config_flag(keys, "multi_query", &one));
    if (!newer && !one && c->kv_heads != c->heads)
        return rlf_config_fail(keys, "num_kv_heads",
                               "must be \"num_attention_heads\" where "
                               "multi_query is false");
    if (!newer)
        c->kv_heads = one ? 1 : c->heads;
    return RLF_OK;
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    bool alibi = false, newer = false, biases = false;
    RLF_TRY(rlf_config_flag(keys, "alibi", &alibi));
    if (alibi)
        return rlf_config_fail(keys, "alibi",
                               "is true: biases of attention by distance are "
                               "not supported");
    RLF_TRY(rlf_config_flag(keys, "bias", &biases));
    c->qkv_bias = c->o_bias = c->mlp_bias = biases;
    RLF_TRY(rlf_config_flag(keys, "new_decoder_architecture", &newer));
    RLF_TRY(read_heads(keys, newer, c));
    c->parallel = true;
    RLF_TRY(rlf_config_flag(keys, "parallel_attn", &c->parallel));
    int norms = newer ? 2 : 1;
    RLF_TRY(rlf_config_int(keys, "num_ln_in_parallel_attn", 1, 2, &norms));
    if (newer && !c->parallel)
        return rlf_config_fail(keys, "parallel_attn",
                               "is false, which no model with "
                               "new_decoder_architecture is");
    if (!newer && norms == 2)
        return rlf_config_fail(keys, "num_ln_in_parallel_attn",
                               "is 2, which needs new_decoder_architecture");
    c->two_norms = norms == 2;
    return RLF_OK;
}

static const rlf_key_name names[] = {
    {"rms_norm_eps", "layer_norm_epsilon", false},
    {"num_key_value_heads", "num_kv_heads", false},
    {"intermediate_size", "ffn_hidden_size", false},
    {"hidden_act", "activation", false},
    {"head_dim", NULL, false},
    {0}};

const rlf_family rlf_family_falcon = {.type = "falcon",
                                      .architecture = "Falcon",
                                      .rows = rows,
                                      .read = read_keys,
                                      .names = names,
                                      .never_null = "multi_query|parallel_attn",
                                      .layers = "transformer.h",
                                      .groups = true,
                                      .act = RLF_ACT_GELU,
                                      .tied = true,
                                      .eps = 1e-5,
                                      .theta = 10000,
                                      .context = 2048,
                                      .ffn = 4};
