/* OLMo 2: norms stand behind attention and mlp, before they are added to the
 * residual, and q and k are normed over all heads (Team OLMo 2024, 2.1).
 *
 * OLMo 3: all but every fourth layer have a window, and rotations that are not
 * stretched with those of the others (Team OLMo 2025). */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_heads h = rlf_qkv_heads(r, x);
    h.q = rlf_norm(r, h.q, "self_attn.q_norm");
    h.k = rlf_norm(r, h.k, "self_attn.k_norm");
    int window =
        c->local_rope.theta > 0 ? rlf_model_config_window(c, r->layer) : 0;
    h = window ? rlf_rotate_local(r, h) : rlf_rotate(r, h);
    rlf_var o = rlf_attend_scaled(r, h, window);
    rlf_var a = rlf_linear(r, o, "self_attn.o_proj", c->o_bias);
    x = rlf_add(r, x, rlf_norm(r, a, "post_attention_layernorm"), 1);
    rlf_var m = rlf_linear(r, rlf_gate_up(r, x, false), "mlp.down_proj", false);
    return rlf_add(r, x, rlf_norm(r, m, "post_feedforward_layernorm"), 1);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer), "model.norm");
}

const rlf_family rlf_family_olmo2 = {.type = "olmo2",
                                     .architecture = "Olmo2",
                                     .rows = rows,
                                     .bias_key = true,
                                     .o_bias_key = true,
                                     .never_null = "head_dim",
                                     .eps = 1e-5,
                                     .theta = 10000,
                                     .context = 2048};

const rlf_family rlf_family_olmo3 = {.type = "olmo3",
                                     .architecture = "Olmo3",
                                     .rows = rows,
                                     .bias_key = true,
                                     .o_bias_key = true,
                                     .never_null =
                                         "head_dim|sliding_window|rope_theta",
                                     .window = true,
                                     .window_types = true,
                                     .window_every = 4,
                                     .eps = 1e-5,
                                     .theta = 500000,
                                     .rope = {.local = 500000},
                                     .context = 2048};
