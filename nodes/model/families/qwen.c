/* Qwen2 and Qwen3: Llama with biases of q, k and v, or with norms of the heads
 * of q and k. */
#include "nodes/model/families/families.h"

const rlf_family rlf_family_qwen2 = {.type = "qwen2",
                                     .architecture = "Qwen2",
                                     .rows = rlf_llama_rows,
                                     .qkv_bias = true,
                                     .never_null = "head_dim",
                                     .window = true,
                                     .window_key = true,
                                     .window_types = true,
                                     .eps = 1e-6,
                                     .theta = 10000,
                                     .context = 32768,
                                     .kv_heads = 32};

const rlf_family rlf_family_qwen3 = {.type = "qwen3",
                                     .architecture = "Qwen3",
                                     .rows = rlf_llama_rows,
                                     .bias_key = true,
                                     .o_bias_key = true,
                                     .qk_norm = true,
                                     .never_null = "head_dim",
                                     .window = true,
                                     .window_key = true,
                                     .window_types = true,
                                     .eps = 1e-6,
                                     .theta = 10000,
                                     .context = 32768,
                                     .kv_heads = 32,
                                     .head_dim = 128};
