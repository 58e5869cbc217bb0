/* Seed-OSS: Llama with biases of q, k and v; without its dropout. */
#include "nodes/model/families/families.h"

/* There are biases where it is silent. */
static rlf_status
read_keys(const rlf_config_keys *keys, rlf_model_config *c)
{
    rlf_err *err = keys->err;
    c->qkv_bias = true;
    RLF_TRY(rlf_config_flag(keys, "attention_bias", &c->qkv_bias));
    return rlf_config_flag(keys, "attention_out_bias", &c->o_bias);
}

const rlf_family rlf_family_seed_oss = {
    .type = "seed_oss",
    .architecture = "SeedOss",
    .rows = rlf_llama_rows,
    .read = read_keys,
    .heeds = "attention_dropout|residual_dropout", /* dropout is none here */
    .never_null = "attention_out_bias",
    .bias_key = true,
    .mlp_bias_key = true,
    .eps = 1e-6,
    .theta = 10000,
    .context = 524288,
    .kv_heads = 8,
    .head_dim = 128};
