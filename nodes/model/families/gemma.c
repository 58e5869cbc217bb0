/* Gemma: Llama whose norms multiply by 1 + w, with GELU and a scaled embedding
 * (Gemma Team 2024, Gemma).
 *
 * Gemma 2: norms stand behind attention and mlp, too; every other layer has a
 * window; scores and logits have soft caps (Gemma Team 2024, Gemma 2, 2).
 *
 * Gemma 3's text model: norms of the heads of q and k in place of caps; all but
 * every sixth layer have a window, and rotations of their own (Gemma Team 2025,
 * 2). */
#include "nodes/model/families/families.h"

#include <math.h>

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_qkv_heads(r, n);
    if (c->qk_norm)
        h = rlf_head_norms(r, h, "self_attn.q_norm", "self_attn.k_norm");
    int window = rlf_model_config_window(c, r->layer);
    bool local = window && c->local_rope.theta > 0;
    h = local ? rlf_rotate_local(r, h) : rlf_rotate(r, h);
    rlf_var o = rlf_attend(r, h, window, c->attention_scale, c->attention_cap);
    rlf_var a = rlf_linear(r, o, "self_attn.o_proj", c->o_bias);
    x = rlf_add(r, x, rlf_norm(r, a, "post_attention_layernorm"), 1);
    n = rlf_norm(r, x, "pre_feedforward_layernorm");
    rlf_var m = rlf_linear(r, rlf_gate_up(r, n, false), "mlp.down_proj", false);
    return rlf_add(r, x, rlf_norm(r, m, "post_feedforward_layernorm"), 1);
}

static rlf_var
first_layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_qkv_heads(r, n);
    rlf_var o = rlf_attend_scaled(r, rlf_rotate(r, h), 0);
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", c->o_bias);
    n = rlf_norm(r, x, "post_attention_layernorm");
    return rlf_linear_onto(r, x, rlf_gate_up(r, n, false), "mlp.down_proj",
                           false);
}

static void
rows_of(rlf_program *r, rlf_var (*each)(rlf_program *r, rlf_var x))
{
    const rlf_model_config *c = r->config;
    r->one_plus = true;
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    x = rlf_scale_rounded(r, x, sqrt((double)c->hidden));
    r->hidden = rlf_norm(r, rlf_layers(r, x, each), "model.norm");
}

static void
first_rows(rlf_program *r)
{
    rows_of(r, first_layer);
}

static void
rows(rlf_program *r)
{
    rows_of(r, layer);
}

/* The first files say "gelu", and mean that by tanh. */
static rlf_status
read_gemma(const rlf_config_keys *keys, rlf_model_config *c)
{
    (void)keys;
    c->act = c->act == RLF_ACT_GELU ? RLF_ACT_GELU_TANH : c->act;
    return RLF_OK;
}

/* A soft cap: null is none. */
static rlf_status
read_cap(const rlf_config_keys *keys, const char *key, double silent,
         double *out)
{
    *out = json_object_get(keys->root, key) ? 0 : silent;
    return rlf_config_number(keys, keys->root, key, 1e-6, 1e6, out);
}

static rlf_status
read_scale(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    int scalar = 256;
    RLF_TRY(rlf_config_int(keys, "query_pre_attn_scalar", 1, 1 << 24, &scalar));
    c->attention_scale = 1 / sqrt((double)scalar);
    return RLF_OK;
}

static rlf_status
read_gemma2(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    RLF_TRY(read_scale(keys, c));
    RLF_TRY(read_cap(keys, "attn_logit_softcapping", 50, &c->attention_cap));
    return read_cap(keys, "final_logit_softcapping", 30, &c->logits_cap);
}

static rlf_status
read_gemma3(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    RLF_TRY(read_scale(keys, c));
    return read_cap(keys, "final_logit_softcapping", 0, &c->logits_cap);
}

static const rlf_key_name names[] = {{"hidden_act", "hidden_activation", false},
                                     {0}};

const rlf_family rlf_family_gemma = {.type = "gemma",
                                     .architecture = "Gemma",
                                     .rows = first_rows,
                                     .read = read_gemma,
                                     .never_null =
                                         "num_key_value_heads|head_dim",
                                     .bias_key = true,
                                     .o_bias_key = true,
                                     .act = RLF_ACT_GELU_TANH,
                                     .tied = true,
                                     .eps = 1e-6,
                                     .theta = 10000,
                                     .context = 8192,
                                     .kv_heads = 16,
                                     .head_dim = 256};

const rlf_family rlf_family_gemma2 = {
    .type = "gemma2",
    .architecture = "Gemma2",
    .rows = rows,
    .read = read_gemma2,
    .heeds = "attn_logit_softcapping|final_logit_softcapping",
    .never_null = "num_key_value_heads|head_dim|query_pre_attn_scalar|"
                  "sliding_window",
    .bias_key = true,
    .o_bias_key = true,
    .names = names,
    .act = RLF_ACT_GELU_TANH,
    .tied = true,
    .window = true,
    .window_types = true,
    .window_every = 2,
    .eps = 1e-6,
    .theta = 10000,
    .context = 8192,
    .kv_heads = 4,
    .head_dim = 256};

const rlf_family rlf_family_gemma3 = {
    .type = "gemma3_text",
    .architecture = "Gemma3",
    .classifier = "Gemma3Text",
    .rows = rows,
    .read = read_gemma3,
    .heeds = "final_logit_softcapping",
    .never_null = "num_key_value_heads|head_dim|query_pre_attn_scalar|"
                  "sliding_window|sliding_window_pattern|rope_theta|"
                  "rope_local_base_freq",
    .bias_key = true,
    .o_bias_key = true,
    .qk_norm = true,
    .names = names,
    .act = RLF_ACT_GELU_TANH,
    .tied = true,
    .window = true,
    .window_types = true,
    .window_every = 6,
    .window_every_key = true,
    .eps = 1e-6,
    .theta = 1e6,
    .rope = {.local = 10000, .local_key = true},
    .context = 131072,
    .kv_heads = 4,
    .head_dim = 256};
