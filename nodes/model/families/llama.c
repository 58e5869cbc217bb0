/* Llama; Mistral, which has windows; Ministral, where not all layers have them;
 * Ministral 3, whose queries grow behind the positions of pretraining. */
#include "nodes/model/families/families.h"

static rlf_var
layer(rlf_program *r, rlf_var x)
{
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_qkv_heads(r, n);
    if (c->qk_norm)
        h = rlf_head_norms(r, h, "self_attn.q_norm", "self_attn.k_norm");
    if (!c->still || !c->still[r->layer])
        h = rlf_rotate(r, h);
    rlf_var o = rlf_attend_scaled(r, h, rlf_model_config_window(c, r->layer));
    x = rlf_linear_onto(r, x, o, "self_attn.o_proj", c->o_bias);
    n = rlf_norm(r, x, "post_attention_layernorm");
    return rlf_linear_onto(r, x, rlf_gate_up(r, n, c->mlp_bias),
                           "mlp.down_proj", c->mlp_bias);
}

void
rlf_llama_rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, layer), "model.norm");
}

const rlf_family rlf_family_llama = {.type = "llama",
                                     .architecture = "Llama",
                                     .rows = rlf_llama_rows,
                                     .bias_key = true,
                                     .o_bias_key = true,
                                     .mlp_bias_key = true,
                                     .eps = 1e-6,
                                     .theta = 10000,
                                     .context = 2048};

const rlf_family rlf_family_mistral = {.type = "mistral",
                                       .architecture = "Mistral",
                                       .rows = rlf_llama_rows,
                                       .window = true,
                                       .eps = 1e-6,
                                       .theta = 10000,
                                       .context = 131072,
                                       .kv_heads = 8};

/* Queries grow with the logarithm of their position, in steps as long as the
 * positions of pretraining. */
static rlf_status
read_ministral3(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    static const char object[] = "rope_parameters",
                      original[] = "original_max_position_embeddings";
    const json_t *rope = rlf_config_member(keys->root, object);
    double beta = -1, reach = 0;
    RLF_TRY(
        rlf_config_number(keys, rope, "llama_4_scaling_beta", 0, 1e6, &beta));
    RLF_TRY(rlf_config_number(keys, rope, original, 1, 1 << 30, &reach));
    if (beta < 0 || reach < 1)
        return rlf_config_fail(keys, object,
                               "needs \"llama_4_scaling_beta\" and "
                               "\"original_max_position_embeddings\"");
    if (reach < c->context) {
        c->query_growth = beta;
        c->query_reach = (int)reach;
    }
    return RLF_OK;
}

const rlf_family rlf_family_ministral = {.type = "ministral",
                                         .architecture = "Ministral",
                                         .rows = rlf_llama_rows,
                                         .window = true,
                                         .window_types = true,
                                         .eps = 1e-6,
                                         .theta = 10000,
                                         .context = 131072,
                                         .kv_heads = 8};

const rlf_family rlf_family_ministral3 = {.type = "ministral3",
                                          .architecture = "Ministral3",
                                          .rows = rlf_llama_rows,
                                          .read = read_ministral3,
                                          .never_null = "head_dim",
                                          .window = true,
                                          .window_named = true,
                                          .eps = 1e-5,
                                          .theta = 1e6,
                                          .context = 262144,
                                          .kv_heads = 8,
                                          .head_dim = 128};
