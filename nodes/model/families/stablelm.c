/* StableLM: Llama whose norms are LayerNorm and of which a quarter of each head
 * is rotated; attention and mlp may stand side by side behind one norm
 * (Bellagente et al. 2024, 3). */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, "input_layernorm", true);
    rlf_heads h = rlf_qkv_heads(r, n);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", false);
    if (!c->parallel)
        n = rlf_layer_norm(r, x, "post_attention_layernorm", true);
    return rlf_linear_onto(r, x, rlf_gate_up(r, n, false), "mlp.down_proj",
                           false);
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
    rlf_err *err = keys->err;
    bool norms = false;
    RLF_TRY(rlf_config_flag(keys, "qk_layernorm", &norms));
    if (norms)
        return rlf_config_fail(keys, "qk_layernorm",
                               "is true: norms of q and k with weights of "
                               "their own for each head are not supported");
    RLF_TRY(rlf_config_flag(keys, "use_qkv_bias", &c->qkv_bias));
    return rlf_config_flag(keys, "use_parallel_residual", &c->parallel);
}

static const rlf_key_name names[] = {
    {"rms_norm_eps", "layer_norm_eps", false}, {"head_dim", NULL, false}, {0}};

const rlf_family rlf_family_stablelm = {
    .type = "stablelm",
    .architecture = "StableLm",
    .rows = rows,
    .read = read_keys,
    .heeds = "partial_rotary_factor",
    .names = names,
    .never_null = "partial_rotary_factor|num_key_value_heads|use_qkv_bias|"
                  "use_parallel_residual|qk_layernorm",
    .eps = 1e-5,
    .theta = 10000,
    .rope = {.part = 0.25},
    .context = 4096,
    .kv_heads = 32};
