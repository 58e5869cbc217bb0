/* Phi 1, 1.5 and 2 (Li et al. 2023): attention and mlp stand side by side behind
 * one LayerNorm, half of each head is rotated, everything has biases, the head
 * too; without its dropout. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    rlf_var n = rlf_layer_norm(r, x, "input_layernorm", true);
    rlf_heads h = rlf_qkv_heads(r, n);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    x = rlf_linear_onto(r, x, o, "self_attn.dense", true);
    return rlf_plain_mlp(r, x, n, "mlp.fc1", "mlp.fc2", true);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_layer_norm(r, rlf_layers(r, x, layer),
                               "model.final_layernorm", true);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    bool norms = false;
    (void)c;
    RLF_TRY(rlf_config_flag(keys, "qk_layernorm", &norms));
    return norms ? rlf_config_fail(keys, "qk_layernorm",
                                   "is true: norms of q and k that are "
                                   "LayerNorm are not supported")
                 : RLF_OK;
}

static const rlf_key_name names[] = {{"rms_norm_eps", "layer_norm_eps", false},
                                     {0}};

const rlf_family rlf_family_phi = {
    .type = "phi",
    .architecture = "Phi",
    .rows = rows,
    .read = read_keys,
    /* dropout is none here */
    .heeds = "partial_rotary_factor|attention_dropout|resid_pdrop|embd_pdrop",
    .names = names,
    .never_null = "partial_rotary_factor|head_dim|qk_layernorm",
    .head_bias = "lm_head.bias",
    .qkv_bias = true,
    .act = RLF_ACT_GELU_TANH,
    .eps = 1e-5,
    .theta = 10000,
    .rope = {.part = 0.5},
    .context = 2048};
