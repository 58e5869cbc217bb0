/* Cohere's Command R: attention and mlp stand side by side behind one LayerNorm
 * without bias, and logits are scaled. Command R+ has norms of each head of q
 * and k, with weights of its own.
 *
 * Cohere 2 (Command R7B and A): all but every fourth layer have a window, and
 * those without one rotate nothing. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_layer_norm(r, x, "input_layernorm", false);
    rlf_heads h = rlf_qkv_heads(r, n);
    if (c->qk_norm) {
        h.q = rlf_head_layer_norm(r, h.q, "self_attn.q_norm");
        h.k = rlf_head_layer_norm(r, h.k, "self_attn.k_norm");
    }
    bool windows = c->family->window;
    int window = windows ? rlf_model_config_window(c, r->layer) : 0;
    if (window || !windows)
        h = rlf_rotate(r, h);
    rlf_var o = rlf_attend_scaled(r, h, window);
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", c->o_bias);
    return rlf_linear_onto(r, x, rlf_gate_up(r, n, false), "mlp.down_proj",
                           false);
}

static void
rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_layer_norm(r, rlf_layers(r, x, layer), "model.norm", false);
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    RLF_TRY(rlf_config_flag(keys, "use_qk_norm", &c->qk_norm));
    if (c->qk_norm && c->family->window) /* Cohere 2 has none */
        return rlf_config_fail(keys, "use_qk_norm",
                               "is true, but this model_type has no norms of q "
                               "and k");
    c->logits_scale = 0.0625;
    return rlf_config_number(keys, keys->root, "logit_scale", 1e-6, 1e6,
                             &c->logits_scale);
}

static const rlf_key_name names[] = {{"rms_norm_eps", "layer_norm_eps", false},
                                     {0}};

const rlf_family rlf_family_cohere = {.type = "cohere",
                                      .architecture = "Cohere",
                                      .rows = rows,
                                      .read = read_keys,
                                      .heeds = "logit_scale",
                                      .names = names,
                                      .never_null = "logit_scale",
                                      .pairs = true,
                                      .bias_key = true,
                                      .o_bias_key = true,
                                      .tied = true,
                                      .eps = 1e-5,
                                      .theta = 500000,
                                      .context = 8192};

const rlf_family rlf_family_cohere2 = {
    .type = "cohere2",
    .architecture = "Cohere2",
    .rows = rows,
    .read = read_keys,
    .heeds = "logit_scale",
    .names = names,
    .never_null = "logit_scale|sliding_window|sliding_window_pattern",
    .pairs = true,
    .bias_key = true,
    .o_bias_key = true,
    .tied = true,
    .window = true,
    .window_types = true,
    .window_every = 4,
    .window_every_key = true,
    .eps = 1e-5,
    .theta = 10000,
    .context = 8192};
