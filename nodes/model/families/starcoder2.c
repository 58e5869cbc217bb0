/* StarCoder 2 (Lozhkov et al. 2024): norms are LayerNorm, the mlp has no gate,
 * everything has biases; without its dropout. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, "input_layernorm", true);
    rlf_heads h = rlf_qkv_heads(r, n);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h),
                                  rlf_model_config_window(c, r->layer));
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", c->o_bias);
    n = rlf_layer_norm(r, x, "post_attention_layernorm", true);
    return rlf_plain_mlp(r, x, n, "mlp.c_fc", "mlp.c_proj", c->mlp_bias);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_layer_norm(r, rlf_layers(r, x, layer), "model.norm", true);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    bool biases = true;
    rlf_status status = rlf_config_flag(keys, "use_bias", &biases);
    c->qkv_bias = c->o_bias = c->mlp_bias = biases;
    return status;
}

static const rlf_key_name names[] = {{"rms_norm_eps", "norm_epsilon", false},
                                     {0}};

const rlf_family rlf_family_starcoder2 = {
    .type = "starcoder2",
    .architecture = "Starcoder2",
    .rows = rows,
    .read = read_keys,
    /* dropout is none here */
    .heeds = "attention_dropout|residual_dropout|embedding_dropout",
    .names = names,
    .never_null = "num_key_value_heads|use_bias",
    .act = RLF_ACT_GELU_TANH,
    .tied = true,
    .window = true,
    .window_named = true,
    .eps = 1e-5,
    .theta = 10000,
    .context = 4096,
    .kv_heads = 2};
