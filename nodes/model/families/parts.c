/* Rows that several families have alike: see families.h. */
#include "nodes/model/families/families.h"

#include <math.h>

rlf_heads
rlf_qkv_heads(rlf_program *r, rlf_var x)
{
    return rlf_linear_heads(r, x, "self_attn.q_proj", "self_attn.k_proj",
                            "self_attn.v_proj", r->config->qkv_bias);
}

rlf_var
rlf_attend_scaled(rlf_program *r, rlf_heads h, int window)
{
    return rlf_attend(r, h, window, 1 / sqrt((double)r->config->head_dim), 0);
}

rlf_var
rlf_gate_up(rlf_program *r, rlf_var x, bool bias)
{
    rlf_gates g = rlf_linear_gates(r, x, "mlp.gate_proj", "mlp.up_proj", bias);
    return rlf_glu(r, g, r->config->act);
}

rlf_var
rlf_plain_mlp(rlf_program *r, rlf_var to, rlf_var x, const char *up,
              const char *down, bool bias)
{
    rlf_var m = rlf_linear_to(r, x, RLF_WIDTH_FFN, up, bias);
    return rlf_linear_onto(r, to, rlf_activate(r, m, r->config->act), down,
                           bias);
}
