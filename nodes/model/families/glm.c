/* GLM-4: biases of q, k and v alone, gate and up as one tensor, a part of each
 * head rotated, by pairs that are side by side. The models of 2025 (glm4) norm
 * what attention and mlp make before it is added to the residual, too. */
#include "nodes/model/families/families.h"

static rlf_var
attend(rlf_program *r, rlf_var x)
{
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_qkv_heads(r, n);
    return rlf_attend_scaled(r, rlf_rotate(r, h), 0);
}

static rlf_var
mlp(rlf_program *r, rlf_var x)
{
    static const char gates[] = "mlp.gate_up_proj";
    rlf_var n = rlf_norm(r, x, "post_attention_layernorm");
    rlf_gates g = rlf_linear_gates(r, n, gates, gates, false);
    return rlf_glu(r, g, r->config->act);
}

static rlf_var
layer_glm(rlf_program *r, rlf_var x)
{
    x = rlf_linear_onto(r, x, attend(r, x), "self_attn.o_proj", false);
    return rlf_linear_onto(r, x, mlp(r, x), "mlp.down_proj", false);
}

static rlf_var
layer_glm4(rlf_program *r, rlf_var x)
{
    rlf_var a = rlf_linear(r, attend(r, x), "self_attn.o_proj", false);
    x = rlf_add(r, x, rlf_norm(r, a, "post_self_attn_layernorm"), 1);
    rlf_var m = rlf_linear(r, mlp(r, x), "mlp.down_proj", false);
    return rlf_add(r, x, rlf_norm(r, m, "post_mlp_layernorm"), 1);
}

static void
rows_glm(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer_glm), "model.norm");
}

static void
rows_glm4(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer_glm4), "model.norm");
}

/* There are biases where it is silent. */
static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    c->qkv_bias = true;
    return rlf_config_flag(keys, "attention_bias", &c->qkv_bias);
}

#define GLM                                                             \
    .read = read_keys, .heeds = "partial_rotary_factor",                \
    .never_null = "partial_rotary_factor|head_dim|num_key_value_heads", \
    .pairs = true, .bias_key = true, .eps = 1.5625e-7, .theta = 10000,  \
    .rope = {.part = 0.5}, .context = 131072, .kv_heads = 2, .head_dim = 128

const rlf_family rlf_family_glm = {
    .type = "glm", .architecture = "Glm", .rows = rows_glm, GLM};

const rlf_family rlf_family_glm4 = {
    .type = "glm4", .architecture = "Glm4", .rows = rows_glm4, GLM};
