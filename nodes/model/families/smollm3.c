/* SmolLM3: Llama of which every fourth layer rotates nothing (Yang et al. 2025,
 * RNoPE). */
#include "nodes/model/families/families.h"

const rlf_family rlf_family_smollm3 = {.type = "smollm3",
                                       .architecture = "SmolLM3",
                                       .rows = rlf_llama_rows,
                                       .bias_key = true,
                                       .o_bias_key = true,
                                       .mlp_bias_key = true,
                                       .tied = true,
                                       .window = true,
                                       .window_named = true,
                                       .window_key = true,
                                       .window_types = true,
                                       .still_every = 4,
                                       .eps = 1e-6,
                                       .theta = 2e6,
                                       .context = 32768,
                                       .kv_heads = 4};
