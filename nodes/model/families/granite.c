/* Granite: Llama whose embedding, additions to the residual, attention and
 * logits are scaled. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_qkv_heads(r, n);
    rlf_var o = rlf_attend(r, rlf_rotate(r, h), 0, c->attention_scale, 0);
    rlf_var a = rlf_linear(r, o, "self_attn.o_proj", c->o_bias);
    x = rlf_add(r, x, a, c->residual_scale);
    n = rlf_norm(r, x, "post_attention_layernorm");
    rlf_var m = rlf_linear(r, rlf_gate_up(r, n, c->mlp_bias), "mlp.down_proj",
                           c->mlp_bias);
    return rlf_add(r, x, m, c->residual_scale);
}

static void
rows(rlf_program *r)
{
    const rlf_model_config *c = r->config;
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    x = rlf_scale(r, x, c->embedding_scale);
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer), "model.norm");
}

static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    const struct {
        const char *key;
        double *to;
    } scales[] = {{"embedding_multiplier", &c->embedding_scale},
                  {"residual_multiplier", &c->residual_scale},
                  {"attention_multiplier", &c->attention_scale},
                  {"logits_scaling", &c->logits_scale}};
    rlf_err *err = keys->err;
    for (size_t i = 0; i < RLF_COUNT(scales); i++) {
        *scales[i].to = 1;
        RLF_TRY(rlf_config_number(keys, keys->root, scales[i].key, 1e-6, 1e6,
                                  scales[i].to));
    }
    c->logits_scale = 1 / c->logits_scale;
    return RLF_OK;
}

const rlf_family rlf_family_granite = {
    .type = "granite",
    .architecture = "Granite",
    .rows = rows,
    .read = read_keys,
    .heeds = "embedding_multiplier|residual_multiplier|attention_multiplier|"
             "logits_scaling",
    .bias_key = true,
    .o_bias_key = true,
    .mlp_bias_key = true,
    .never_null = "embedding_multiplier|residual_multiplier|"
                  "attention_multiplier|logits_scaling|head_dim",
    .eps = 1e-6,
    .theta = 10000,
    .context = 2048};
