/* Llama with low-rank adapters beside all products of a layer (Hu et al. 2021,
 * eq. 3): a family of which every row is one that others have. A product has
 * beside it, with the names of peft's files,
 *
 *     y = x w^T + scale (x a^T) b^T
 *
 * a: [rank, inputs], b: [outputs, rank]; x is dropped as config.lora says. The
 * rank is a head's width here, which is one that nothing cuts. */
#ifndef RLF_TESTS_UNIT_MODEL_LORA_H
#define RLF_TESTS_UNIT_MODEL_LORA_H

#include "nodes/model/families/families.h"

#include <math.h>

/* y, a product of x, with its adapter. */
static rlf_var
lora_adapt(rlf_program *r, rlf_var y, rlf_var x, const char *name)
{
    const char *a = rlf_arena_printf(r->arena, "%s.lora_A", name);
    const char *b = rlf_arena_printf(r->arena, "%s.lora_B", name);
    rlf_width width = r->values.data[y].width;
    double dropout = r->config->lora.dropout;
    if (dropout > 0)
        x = rlf_drop(r, x, dropout, rlf_program_rows(r));
    rlf_var low = rlf_linear_to(r, x, RLF_WIDTH_HEAD, a, false);
    return rlf_add(r, y, rlf_linear_to(r, low, width, b, false), 1.5);
}

static rlf_var
lora_layer(rlf_program *r, rlf_var x)
{
    static const char q[] = "self_attn.q_proj", k[] = "self_attn.k_proj",
                      v[] = "self_attn.v_proj", o[] = "self_attn.o_proj",
                      gate[] = "mlp.gate_proj", up[] = "mlp.up_proj",
                      down[] = "mlp.down_proj";
    const rlf_model_config *c = r->config;
    rlf_var n = rlf_norm(r, x, "input_layernorm");
    rlf_heads h = rlf_linear_heads(r, n, q, k, v, c->qkv_bias);
    h.q = lora_adapt(r, h.q, n, q);
    h.k = lora_adapt(r, h.k, n, k);
    h.v = lora_adapt(r, h.v, n, v);
    if (c->qk_norm)
        h = rlf_head_norms(r, h, "self_attn.q_norm", "self_attn.k_norm");
    rlf_var s =
        rlf_attend(r, rlf_rotate(r, h), rlf_model_config_window(c, r->layer),
                   1 / sqrt((double)c->head_dim), 0);
    x = lora_adapt(r, rlf_linear_onto(r, x, s, o, c->o_bias), s, o);
    n = rlf_norm(r, x, "post_attention_layernorm");
    rlf_gates g = rlf_linear_gates(r, n, gate, up, c->mlp_bias);
    g.gate = lora_adapt(r, g.gate, n, gate);
    g.up = lora_adapt(r, g.up, n, up);
    rlf_var m = rlf_glu(r, g, c->act);
    return lora_adapt(r, rlf_linear_onto(r, x, m, down, c->mlp_bias), m, down);
}

static void
lora_rows(rlf_program *r)
{
    rlf_var x = rlf_embed(r, "model.embed_tokens");
    r->hidden = rlf_norm(r, rlf_layers(r, x, lora_layer), "model.norm");
}

static const rlf_family lora_family = {
    .type = "lora", .architecture = "Lora", .rows = lora_rows};

#endif
