/* Phi-3 (and 3.5, and 4 mini): Llama whose files have q, k and v as one tensor,
 * gate and up as another; it may rotate a part of each head. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    static const char qkv[] = "self_attn.qkv_proj",
                      gates[] = "mlp.gate_up_proj";
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_linear_heads(r, n, qkv, qkv, qkv, false);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h),
                                  rlf_model_config_window(c, r->layer));
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", false);
    n = rlf_norm(r, x, "post_attention_layernorm");
    rlf_gates g = rlf_linear_gates(r, n, gates, gates, false);
    return rlf_linear_onto(r, x, rlf_glu(r, g, c->act), "mlp.down_proj", false);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer), "model.norm");
}

const rlf_family rlf_family_phi3 = {
    .type = "phi3",
    .architecture = "Phi3",
    .rows = rows,
    .heeds = "partial_rotary_factor",
    .never_null = "partial_rotary_factor|original_max_position_embeddings|"
                  "head_dim",
    .window = true,
    .window_named = true,
    .eps = 1e-5,
    .theta = 10000,
    .rope = {.part = 1, .longrope = true, .original = 4096},
    .context = 4096};
