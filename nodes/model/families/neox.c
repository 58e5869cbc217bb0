/* GPT-NeoX (Black et al. 2022) and Pythia: norms are LayerNorm, everything has
 * biases, q, k and v are one tensor, head by head; attention and mlp stand side
 * by side behind a norm each, or one behind the other. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    static const char qkv[] = "attention.query_key_value";
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, "input_layernorm", true);
    rlf_heads h = rlf_linear_heads(r, n, qkv, qkv, qkv, c->qkv_bias);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    rlf_var y = rlf_linear_onto(r, x, o, "attention.dense", c->o_bias);
    n = rlf_layer_norm(r, c->parallel ? x : y, "post_attention_layernorm",
                       true);
    return rlf_plain_mlp(r, y, n, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h",
                         true);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "gpt_neox.embed_in");
    r->hidden = rlf_layer_norm(r, rlf_layers(r, x, layer),
                               "gpt_neox.final_layer_norm", true);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    c->qkv_bias = c->parallel = true;
    RLF_TRY(rlf_config_flag(keys, "attention_bias", &c->qkv_bias));
    c->o_bias = c->qkv_bias;
    return rlf_config_flag(keys, "use_parallel_residual", &c->parallel);
}

static const rlf_key_name names[] = {
    {"rms_norm_eps", "layer_norm_eps", false},
    {"num_key_value_heads", NULL, false},
    {"head_dim", NULL, false},
    {"rope_theta", "rotary_emb_base", false},
    {"partial_rotary_factor", "rotary_pct", false},
    {0}};

const rlf_family rlf_family_gpt_neox = {
    .type = "gpt_neox",
    .architecture = "GPTNeoX",
    .rows = rows,
    .read = read_keys,
    .names = names,
    .never_null = "rotary_emb_base|rotary_pct|use_parallel_residual",
    .layers = "gpt_neox.layers",
    .head = "embed_out.weight",
    .groups = true,
    .bias_key = true,
    .act = RLF_ACT_GELU,
    .eps = 1e-5,
    .theta = 10000,
    .rope = {.part = 0.25,
             .theta_key = "rotary_emb_base",
             .part_key = "rotary_pct"},
    .context = 2048};
