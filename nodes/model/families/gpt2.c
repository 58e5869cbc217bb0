/* GPT-2 (Radford et al. 2019): positions are learned, norms are LayerNorm, and
 * everything has biases. */
#include "nodes/model/families/families.h"

#include <math.h>

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    static const char qkv[] = "attn.c_attn";
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, "ln_1", true);
    rlf_heads h = rlf_linear_heads(r, n, qkv, qkv, qkv, true);
    rlf_var o = rlf_attend(r, h, 0, c->attention_scale, 0);
    x = rlf_linear_onto(r, x, o, "attn.c_proj", true);
    n = rlf_layer_norm(r, x, "ln_2", true);
    return rlf_plain_mlp(r, x, n, "mlp.c_fc", "mlp.c_proj", true);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "transformer.wte");
    x = rlf_add(r, x, rlf_embed_places(r, "transformer.wpe"), 1);
    r->hidden =
        rlf_layer_norm(r, rlf_layers(r, x, layer), "transformer.ln_f", true);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    bool scales = true;
    RLF_TRY(rlf_config_flag(keys, "scale_attn_weights", &scales));
    c->attention_scale = scales ? 1 / sqrt((double)c->head_dim) : 1;
    return RLF_OK;
}

static const rlf_key_name names[] = {
    {"num_hidden_layers", "n_layer", true},
    {"hidden_size", "n_embd", true},
    {"num_attention_heads", "n_head", true},
    {"max_position_embeddings", "n_positions", true},
    {"intermediate_size", "n_inner", false},
    {"num_key_value_heads", NULL, false},
    {"head_dim", NULL, false},
    {"rms_norm_eps", "layer_norm_epsilon", false},
    {"hidden_act", "activation_function", false},
    {0}};

const rlf_family rlf_family_gpt2 = {
    .type = "gpt2",
    .architecture = "GPT2",
    .lm = "LMHeadModel",
    .rows = rows,
    .read = read_keys,
    .heeds = "attn_pdrop|embd_pdrop|resid_pdrop", /* dropout is none here */
    .names = names,
    .never_null = "scale_attn_weights|scale_attn_by_inverse_layer_idx|"
                  "add_cross_attention",
    .layers = "transformer.h",
    .transposed = true,
    .places = true,
    .act = RLF_ACT_GELU_TANH,
    .tied = true,
    .eps = 1e-5,
    .context = 1024,
    .ffn = 4};
