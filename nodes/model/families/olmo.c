/* OLMo (Groeneveld et al. 2024): Llama whose norms are LayerNorm without
 * weights of their own, and whose queries, keys and values may have bounds. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, NULL, false);
    rlf_heads h = rlf_qkv_heads(r, n);
    if (c->clip_qkv > 0) {
        h.q = rlf_clip(r, h.q, c->clip_qkv);
        h.k = rlf_clip(r, h.k, c->clip_qkv);
        h.v = rlf_clip(r, h.v, c->clip_qkv);
    }
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", c->o_bias);
    n = rlf_layer_norm(r, x, NULL, false);
    return rlf_linear_onto(r, x, rlf_gate_up(r, n, false), "mlp.down_proj",
                           false);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_layer_norm(r, rlf_layers(r, x, layer), NULL, false);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    return rlf_config_number(keys, keys->root, "clip_qkv", 1e-6, 1e6,
                             &c->clip_qkv);
}

/* The eps of norms has no key. */
static const rlf_key_name names[] = {{"rms_norm_eps", NULL, false}, {0}};

const rlf_family rlf_family_olmo = {.type = "olmo",
                                    .architecture = "Olmo",
                                    .rows = rows,
                                    .read = read_keys,
                                    .names = names,
                                    .never_null = "head_dim",
                                    .bias_key = true,
                                    .o_bias_key = true,
                                    .eps = 1e-5,
                                    .theta = 10000,
                                    .context = 2048};
