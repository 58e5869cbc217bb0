/* config.json and generation_config.json: what is refused, and how; what is
 * meant where they are silent; what they say when they are saved. */
#include "engine/io/json.h"
#include "tests/unit/model_files.h"

#define GEMMA2 "\"model_type\": \"gemma2\", \"num_key_value_heads\": 1, "
#define GEMMA3 "\"model_type\": \"gemma3_text\", \"num_key_value_heads\": 1, "

/* Members added to a good config (the last of equal names counts), and what
 * the message must hold. */
// clang-format off
static const struct {
    const char *members, *message;
} bad[] = {
    {"\"model_type\": \"mixtral\"",         "\"model_type\": \"mixtral\" is not supported"},
    {"\"num_local_experts\": 8",            "\"num_local_experts\": 8: mixtures of experts"},
    {"\"hidden_act\": \"relu\"",            "\"hidden_act\": \"relu\" is no activation"},
    {"\"hidden_act\": 1",                   "\"hidden_act\" must be a word"},
    {"\"hidden_act\": null",                "\"hidden_act\" must not be null"},
    {"\"use_bidirectional_attention\": true", "\"use_bidirectional_attention\": true"},
    {"\"quantization_config\": {\"bits\": 4}", "\"quantization_config\""},
    {"\"rope_scaling\": {\"rope_type\": \"axial\", \"factor\": 4}",
     "rotary scaling \"axial\" is not supported (default, linear, "},
    {"\"rope_scaling\": {\"rope_type\": \"dynamic\"}", "needs a \"factor\""},
    {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"beta_slow\": 40}", "\"beta_slow\" <= \"beta_fast\""},
    {"\"rope_scaling\": {\"type\": \"yarn\", \"original_max_position_embeddings\": 8}", "\"rope_scaling\" needs a \"factor\""},
    {"\"rms_norm_eps\": null", "\"rms_norm_eps\" must not be null"},
    {"\"max_position_embeddings\": null", "\"max_position_embeddings\" must not be null"},
    {"\"tie_word_embeddings\": null", "\"tie_word_embeddings\" must not be null"},
    {"\"attention_bias\": null", "\"attention_bias\" must not be null"},
    {"\"mlp_bias\": null", "\"mlp_bias\" must not be null"},
    {"\"model_type\": \"qwen2\", \"use_sliding_window\": null", "\"use_sliding_window\" must not be null"},
    {"\"model_type\": \"qwen2\", \"max_window_layers\": null", "\"max_window_layers\" must not be null"},
    {"\"model_type\": \"qwen2\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"qwen3\", \"attention_bias\": null", "\"attention_bias\" must not be null"},
    {"\"model_type\": \"qwen3\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"granite\", \"attention_bias\": null", "\"attention_bias\" must not be null"},
    {"\"model_type\": \"granite\", \"mlp_bias\": null", "\"mlp_bias\" must not be null"},
    {"\"model_type\": \"granite\", \"logits_scaling\": null", "\"logits_scaling\" must not be null"},
    {"\"model_type\": \"granite\", \"residual_multiplier\": null", "\"residual_multiplier\" must not be null"},
    {"\"model_type\": \"granite\", \"attention_multiplier\": null", "\"attention_multiplier\" must not be null"},
    {"\"model_type\": \"granite\", \"embedding_multiplier\": null", "\"embedding_multiplier\" must not be null"},
    {"\"model_type\": \"granite\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"olmo2\", \"attention_bias\": null", "\"attention_bias\" must not be null"},
    {"\"model_type\": \"olmo2\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"phi3\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"phi3\", \"original_max_position_embeddings\": null", "\"original_max_position_embeddings\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"yarn\", \"attention_factor\": 0}", "\"attention_factor\" must be from 1e-06"},
    {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4}, \"rope_theta\": 1", "\"rope_theta\" must be above 1"},
    {"\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1, 1, 1]}", "\"long_factor\" must be a list of 4 numbers"},
    {"\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1, 1, 0]}", "\"short_factor\" must have numbers from 1e-06"},
    {"\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1, 1]}", "\"short_factor\" must be a list of 4 numbers"},
    {"\"rope_scaling\": {\"type\": \"linear\"}", "\"factor\""},
    {"\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8}", "low_freq_factor"},
    {"\"attention_dropout\": 0.1",          "\"attention_dropout\": 0.1"},
    {"\"hidden_size\": \"wide\"",           "hidden_size"},
    {"\"hidden_size\": -4",                 "\"hidden_size\" must be at least 1"},
    {"\"hidden_size\": 2147483648",         "\"hidden_size\" must be at most 1048576"},
    {"\"vocab_size\": 1e10",                "\"vocab_size\" must be at most 16777216"},
    {"\"max_position_embeddings\": 1099511627776", "\"max_position_embeddings\" must be at most 1073741824"},
    {"\"bos_token_id\": 1e12",              "\"bos_token_id\" must be at most 2147483647"},
    {"\"hidden_size\": 15",                 "\"hidden_size\" must be a multiple"},
    {"\"num_key_value_heads\": 3",          "num_key_value_heads"},
    {"\"head_dim\": 20",                    "heads of 20 elements"},
    {"\"num_attention_heads\": 258, \"num_key_value_heads\": 2, \"head_dim\": 8",
     "\"num_attention_heads\": 258 is more than 128 for each of \"num_key_value_heads\": 2"},
    {"\"layer_types\": [\"linear_attention\"]", "\"layer_types\""},
    {"\"eos_token_id\": 11",                "\"eos_token_id\""},
    {"\"num_attention_heads\": 131072, \"head_dim\": 256", "\"num_attention_heads\" must be at most 65536"},
    {"\"bos_token_id\": 11",                "\"bos_token_id\" must be a token of the vocabulary"},
    {"\"rms_norm_eps\": 0",                 "\"rms_norm_eps\" must be from 1e-20 to 1, not 0"},
    {"\"rms_norm_eps\": 1e308",             "\"rms_norm_eps\" must be from 1e-20 to 1, not 1e+308"},
    {"\"rms_norm_eps\": -1e-5",             "\"rms_norm_eps\" must be from 1e-20 to 1, not -1e-05"},
    {"\"rope_theta\": 0",                   "\"rope_theta\" must be from 1 to 1e+12, not 0"},
    {"\"rope_theta\": 0, \"rope_parameters\": {\"rope_theta\": 7}", "\"rope_theta\" must be from 1"},
    {"\"rope_parameters\": {\"rope_theta\": 1e300}", "\"rope_theta\" must be from 1"},
    {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 1e300}", "\"factor\" must be from 1 to 1e+06"},
    {"\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1,"
     " \"high_freq_factor\": 1e300}", "\"high_freq_factor\" must be from 0 to"},
    {"\"is_causal\": false",               "\"is_causal\" is false"},
    {"\"sliding_window\": 8",               "\"sliding_window\" is not of this model_type"},
    {"\"per_layer_config\": {\"0\": 1}",    "\"per_layer_config\""},
    {"\"rope_parameters\": {\"partial_rotary_factor\": 0.5}", "\"partial_rotary_factor\""},
    {"\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1}}", "\"full_attention\" of its own"},
    {"\"original_max_position_embeddings\": 64, \"rope_scaling\": {\"rope_type\": \"llama3\","
     " \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4,"
     " \"original_max_position_embeddings\": 32}", "says another length"},
    {"\"model_type\": \"mistral\", \"num_key_value_heads\": null,"
     " \"layer_types\": [\"full_attention\"]", "\"layer_types\" asks for layers without"},
    {"\"model_type\": \"qwen2\", \"use_sliding_window\": false, \"sliding_window\": 4,"
     " \"layer_types\": [\"sliding_attention\"]", "and use_sliding_window is false"},
    {"\"model_type\": \"qwen2\", \"use_sliding_window\": true, \"sliding_window\": null,"
     " \"layer_types\": [\"sliding_attention\"]", "sliding_window says that there is none"},
    {"\"resid_pdrop\": 0.1",                "\"resid_pdrop\": 0.1: dropout"},
    {"\"model_type\": \"phi3\", \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}",
     "rotary scaling \"linear\" is not of this model_type"},
    {"\"model_type\": \"phi3\", \"rope_scaling\": {\"type\": \"su\"}", "\"short_factor\" must be a list of 4"},
    {"\"model_type\": \"phi3\", \"partial_rotary_factor\": 0.4",
     "0.4 of heads of 8 elements are 3, which is no number of pairs"},
    {"\"model_type\": \"phi3\", \"partial_rotary_factor\": \"half\"", "partial_rotary_factor"},
    {"\"model_type\": \"phi3\", \"partial_rotary_factor\": null", "\"partial_rotary_factor\" must not be null"},
    {"\"model_type\": \"cohere\", \"logit_scale\": null", "\"logit_scale\" must not be null"},
    {"\"model_type\": \"cohere\", \"logit_scale\": \"x\"", "logit_scale"},
    {"\"model_type\": \"cohere\", \"layer_norm_eps\": null", "\"layer_norm_eps\" must not be null"},
    {"\"model_type\": \"cohere2\", \"use_qk_norm\": true", "\"use_qk_norm\" is true, but this model_type"},
    {"\"model_type\": \"cohere2\", \"sliding_window_pattern\": null", "\"sliding_window_pattern\" must not be null"},
    {"\"model_type\": \"phi\", \"qk_layernorm\": true", "\"qk_layernorm\" is true"},
    {"\"model_type\": \"olmo\", \"clip_qkv\": 0", "\"clip_qkv\" must be"},
    {"\"model_type\": \"ministral3\", \"num_key_value_heads\": 1", "\"rope_parameters\" needs"},
    {"\"model_type\": \"glm\", \"attention_bias\": null", "\"attention_bias\" must not be null"},
    {"\"model_type\": \"glm\", \"num_key_value_heads\": null", "\"num_key_value_heads\" must not be null"},
    {"\"model_type\": \"glm4\", \"partial_rotary_factor\": null", "\"partial_rotary_factor\" must not be null"},
    {"\"model_type\": \"olmo3\", \"sliding_window\": null", "\"sliding_window\" must not be null"},
    {"\"model_type\": \"olmo3\", \"head_dim\": null", "\"head_dim\" must not be null"},
    {"\"model_type\": \"seed_oss\", \"attention_out_bias\": null", "\"attention_out_bias\" must not be null"},
    {"\"residual_dropout\": 0.1", "\"residual_dropout\": 0.1: dropout"},
    {"\"model_type\": \"ministral\", \"num_key_value_heads\": 1, \"sliding_window\": null, \"layer_types\": [\"sliding_attention\"]", "sliding_window says that there is none"},
    {"\"model_type\": \"smollm3\", \"num_key_value_heads\": 1, \"no_rope_layers\": [2]", "\"no_rope_layers\" may hold 0 and 1 only"},
    {"\"model_type\": \"smollm3\", \"num_key_value_heads\": 1, \"no_rope_layers\": [1, 0]", "\"no_rope_layers\" must have a number for every layer"},
    {"\"model_type\": \"smollm3\", \"num_key_value_heads\": 1, \"no_rope_layer_interval\": 0", "\"no_rope_layer_interval\" must be at least 1"},
    {"\"model_type\": \"smollm3\", \"num_key_value_heads\": 1, \"layer_types\": [\"sliding_attention\"]", "and use_sliding_window is false"},
    {"\"model_type\": \"stablelm\", \"qk_layernorm\": true", "\"qk_layernorm\" is true: norms of q and k"},
    {"\"model_type\": \"stablelm\", \"partial_rotary_factor\": null", "\"partial_rotary_factor\" must not be null"},
    {"\"model_type\": \"starcoder2\", \"use_bias\": null", "\"use_bias\" must not be null"},
    {"\"model_type\": \"gpt_neox\", \"rotary_pct\": null", "\"rotary_pct\" must not be null"},
    {"\"model_type\": \"gpt_neox\", \"rotary_emb_base\": 0", "\"rotary_emb_base\" must be from 1"},
    {"\"model_type\": \"falcon\", \"alibi\": true", "\"alibi\" is true"},
    {"\"model_type\": \"falcon\", \"multi_query\": null", "\"multi_query\" must not be null"},
    {"\"model_type\": \"falcon\", \"multi_query\": false, \"num_kv_heads\": 1", "\"num_kv_heads\" must be"},
    {"\"model_type\": \"falcon\", \"new_decoder_architecture\": true, \"parallel_attn\": false", "\"parallel_attn\" is false"},
    {"\"model_type\": \"falcon\", \"num_ln_in_parallel_attn\": 2", "\"num_ln_in_parallel_attn\" is 2"},
    {"\"model_type\": \"gpt2\", \"hidden_size\": null", "\"n_embd\" is missing"},
    {"\"model_type\": \"gpt2\", \"hidden_size\": null, \"n_embd\": 15", "\"n_embd\" must be a multiple of \"num_attention_heads\""},
    {"\"model_type\": \"gpt2\", \"n_positions\": null", "\"n_positions\" must not be null"},
    {"\"model_type\": \"gpt2\", \"layer_norm_epsilon\": \"x\"", "layer_norm_epsilon"},
    {"\"model_type\": \"gpt2\", \"activation_function\": \"relu\"", "\"activation_function\": \"relu\" is no activation"},
    {"\"model_type\": \"gpt2\", \"activation_function\": null", "\"activation_function\" must not be null"},
    {"\"model_type\": \"gpt2\", \"scale_attn_weights\": null", "\"scale_attn_weights\" must not be null"},
    {"\"model_type\": \"gpt2\", \"scale_attn_by_inverse_layer_idx\": true", "attention scales of each layer are not supported"},
    {"\"model_type\": \"gpt2\", \"add_cross_attention\": true", "attention to another sequence are not supported"},
    {GEMMA2 "\"query_pre_attn_scalar\": 256.5", "\"query_pre_attn_scalar\""},
    {GEMMA2 "\"query_pre_attn_scalar\": 0", "\"query_pre_attn_scalar\" must be at least 1"},
    {GEMMA2 "\"query_pre_attn_scalar\": null", "\"query_pre_attn_scalar\" must not be null"},
    {GEMMA2 "\"head_dim\": null", "\"head_dim\" must not be null"},
    {GEMMA2 "\"num_key_value_heads\": null", "\"num_key_value_heads\" must not be null"},
    {GEMMA2 "\"hidden_activation\": null", "\"hidden_activation\" must not be null"},
    {GEMMA2 "\"hidden_activation\": \"relu\"", "\"hidden_activation\": \"relu\" is no activation"},
    {GEMMA2 "\"sliding_window\": null", "\"sliding_window\" must not be null"},
    {GEMMA2 "\"sliding_window\": 0", "\"sliding_window\" must be at least 1"},
    {GEMMA2 "\"attn_logit_softcapping\": 0", "\"attn_logit_softcapping\" must be from"},
    {GEMMA2 "\"final_logit_softcapping\": \"x\"", "\"final_logit_softcapping\""},
    {GEMMA2 "\"layer_types\": [\"chunked_attention\"]", "\"layer_types\" may hold"},
    {GEMMA3 "\"attn_logit_softcapping\": 50.0", "\"attn_logit_softcapping\": 50: soft caps"},
    {GEMMA3 "\"sliding_window_pattern\": null", "\"sliding_window_pattern\" must not be null"},
    {GEMMA3 "\"sliding_window_pattern\": 0", "\"sliding_window_pattern\" must be at least 1"},
    {GEMMA3 "\"rope_local_base_freq\": null", "\"rope_local_base_freq\" must not be null"},
    {GEMMA3 "\"rope_theta\": null", "\"rope_theta\" must not be null"},
    {GEMMA3 "\"rope_local_base_freq\": 0", "\"rope_local_base_freq\" must be from 1"},
    {GEMMA3 "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 8}", "\"rope_scaling\" needs a \"rope_type\""},
    {GEMMA3 "\"rope_scaling\": {\"rope_type\": \"linear\", \"factor\": 8},"
     " \"rope_parameters\": {\"full_attention\": {}}", "\"rope_scaling\" says what \"rope_parameters\" says"},
    {GEMMA3 "\"rope_scaling\": 8", "\"rope_scaling\""},
    {GEMMA3 "\"rope_parameters\": [8]", "\"rope_parameters\" must be an object"},
    {GEMMA3 "\"rope_parameters\": {\"rope_type\": \"linear\"}", "\"rope_type\" is none"},
    {GEMMA3 "\"rope_parameters\": {\"full_attention\": 5}", "\"full_attention\" must be an object"},
    {GEMMA3 "\"rope_parameters\": {\"sliding_attention\": {\"rope_type\": \"dynamic\", \"factor\": 2}}",
     "\"sliding_attention\" may not be scaled by the length"},
    {"\"rope_theta\": null", "\"rope_theta\" must not be null"},
    {"\"rope_theta\": null, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}", "\"rope_theta\" must not be null"},
    {"\"rope_theta\": null, \"rope_parameters\": {\"rope_type\": \"default\"}", "\"rope_theta\" must not be null"},
    {"\"rope_parameters\": {\"rope_theta\": null}", "\"rope_theta\" must not be null"},
    {"\"rope_scaling\": {\"type\": null}", "\"type\" must not be null"},
    {"\"rope_parameters\": {\"rope_type\": null, \"type\": \"linear\", \"factor\": 2}", "\"rope_type\" must not be null"},
    {"\"rope_parameters\": {\"rope_type\": null, \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4}", "\"rope_type\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": null}", "\"factor\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2, \"partial_rotary_factor\": null}", "\"partial_rotary_factor\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": null, \"high_freq_factor\": 4}", "\"low_freq_factor\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": null}", "\"high_freq_factor\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4, \"original_max_position_embeddings\": null}", "\"original_max_position_embeddings\" must not be null"},
    {"\"original_max_position_embeddings\": null, \"rope_scaling\": {\"type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4}", "\"original_max_position_embeddings\" must not be null"},
    {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": null}", "\"original_max_position_embeddings\" must not be null"},
    {"\"rope_parameters\": {\"rope_type\": null, \"factor\": 4}", "\"rope_type\" must not be null"},
    {"\"model_type\": \"qwen3\", \"rope_parameters\": {\"rope_theta\": null}", "\"rope_theta\" must not be null"},
    {"\"model_type\": \"olmo2\", \"rope_parameters\": {\"rope_theta\": null}", "\"rope_theta\" must not be null"},
    {"\"model_type\": \"cohere\", \"rope_parameters\": {\"rope_theta\": null}", "\"rope_theta\" must not be null"},
    {"\"model_type\": \"phi3\", \"rope_parameters\": {\"rope_type\": null}", "\"rope_type\" must not be null"},
    {"\"model_type\": \"phi3\", \"rope_parameters\": {\"type\": null}", "\"type\" must not be null"},
    {GEMMA3 "\"rope_parameters\": {\"full_attention\": {\"rope_type\": null}}", "\"rope_type\" must not be null"},
    {GEMMA3 "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": null}}", "\"rope_theta\" must not be null"},
    {GEMMA3 "\"rope_parameters\": {\"sliding_attention\": {\"rope_theta\": null}}", "\"rope_theta\" must not be null"},
    {"\"model_type\": \"phi3\", \"sliding_window\": 0", "\"sliding_window\" must be at least 1, or null"},
    {"\"model_type\": \"mistral\", \"sliding_window\": 0", "\"sliding_window\" must be at least 1, or null"},
    {"\"model_type\": \"qwen2\", \"use_sliding_window\": true, \"sliding_window\": 0, \"max_window_layers\": 0", "\"sliding_window\" must be at least 1, or null"},
    {"\"model_type\": \"gemma3\", \"text_config\": {\"model_type\": \"gemma3_text\"}",
     "\"model_type\": \"gemma3\" is not supported"},
};

/* The values that transformers 5.23.0 takes for keys which a config of 64
 * heads, 40 layers and a width of 512 does not have (from its config
 * classes). */
static const struct {
    const char *members;
    int kv_heads, head_dim, window, from;
    double theta;
} silent[] = {
    {"\"model_type\": \"llama\"",   64, 8,   0,    0,  10000},
    {"\"model_type\": \"mistral\"", 8,  8,   4096, 0,  10000},
    {"\"model_type\": \"qwen2\"",   32, 8,   0,    0,  10000},
    {"\"model_type\": \"qwen3\"",   32, 128, 0,    0,  10000},
    {"\"model_type\": \"phi3\"",    64, 8,   0,    0,  10000},
    {"\"model_type\": \"cohere\"",  64, 8,   0,    0,  500000},
    {"\"model_type\": \"cohere2\"", 64, 8, 4096, 0, 10000},
    {"\"model_type\": \"phi\", \"resid_pdrop\": 0.1", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"olmo\"", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"gemma\"", 16, 256, 0, 0, 10000},
    {"\"model_type\": \"ministral3\", \"rope_parameters\": {\"llama_4_scaling_beta\": 0.1, \"original_max_position_embeddings\": 64}", 8, 128, 0, 0, 1e6},
    {"\"model_type\": \"glm\"",     2, 128, 0,    0,  10000},
    {"\"model_type\": \"glm4\"",    2, 128, 0,    0,  10000},
    {"\"model_type\": \"olmo3\"", 64, 8, 4096, 0, 500000},
    {"\"model_type\": \"seed_oss\"", 8, 128, 0, 0, 10000},
    {"\"model_type\": \"seed_oss\", \"head_dim\": null, \"num_key_value_heads\": null, \"attention_dropout\": 0.1, \"residual_dropout\": 0.1", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"ministral\"", 8, 8, 4096, 0, 10000},
    {"\"model_type\": \"smollm3\"", 4, 8, 0, 0, 2e+06},
    {"\"model_type\": \"smollm3\", \"use_sliding_window\": true, \"sliding_window\": 9", 4, 8, 9, 3, 2e+06},
    {"\"model_type\": \"stablelm\", \"partial_rotary_factor\": 0.5, \"head_dim\": 16", 32, 8, 0, 0, 10000},
    {"\"model_type\": \"starcoder2\"", 2, 8, 0, 0, 10000},
    {"\"model_type\": \"starcoder2\", \"sliding_window\": 9, \"attention_dropout\": 0.1, \"embedding_dropout\": 0.1", 2, 8, 9, 0, 10000},
    {"\"model_type\": \"gpt_neox\", \"rotary_pct\": 0.5, \"rope_theta\": 7, \"num_key_value_heads\": 8", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"falcon\", \"num_kv_heads\": 8", 1, 8, 0, 0, 10000},
    {"\"model_type\": \"falcon\", \"num_kv_heads\": 8, \"new_decoder_architecture\": true", 8, 8, 0, 0, 10000},
    {"\"model_type\": \"gpt2\", \"num_key_value_heads\": 8, \"head_dim\": 16", 64, 8, 0, 0, 0},
    {"\"model_type\": \"gemma2\"",  4,  256, 4096, 0,  10000},
    {"\"model_type\": \"gemma3_text\"", 4, 256, 4096, 0, 1e6},
    {"\"model_type\": \"mistral\", \"sliding_window\": null, \"num_key_value_heads\": null", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"qwen2\", \"use_sliding_window\": true", 32, 8, 4096, 28, 10000},
    {"\"model_type\": \"qwen3\", \"use_sliding_window\": true, \"sliding_window\": null", 32, 128, 0, 0, 10000},
    {"\"model_type\": \"llama\", \"rope_theta\": null, \"rope_parameters\": {\"rope_theta\": 7}", 64, 8, 0, 0, 7},
    {"\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"default\", \"type\": null, \"factor\": null, \"partial_rotary_factor\": null}", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"llama\", \"rope_scaling\": {\"rope_type\": \"yarn\", \"factor\": 4, \"attention_factor\": null, \"mscale\": null, \"mscale_all_dim\": null, \"beta_fast\": null, \"beta_slow\": null}", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"phi3\", \"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1, 1, 1],"
     " \"long_factor\": [1, 1, 1, 1], \"factor\": null, \"original_max_position_embeddings\": null}", 64, 8, 0, 0, 10000},
    {"\"model_type\": \"qwen2\", \"sliding_window\": 0", 32, 8, 0, 0, 10000},
    {"\"model_type\": \"llama\", \"rope_scaling\": {}, \"rope_theta\": 5, \"rope_parameters\": {\"rope_theta\": 7}", 64, 8, 0, 0, 7},
};
// clang-format on

/* The good one with members, some of which it has already. */
static const char *
with_members(rlf_arena *arena, const char *members)
{
    json_t *good = json_loads("{" GOOD "}", 0, NULL);
    json_t *more =
        json_loads(rlf_arena_printf(arena, "{%s}", members), 0, NULL);
    if (!good || json_object_update(good, more) != 0)
        bail("no JSON: %s", members);
    char *text = json_dumps(good, 0);
    const char *kept = rlf_arena_strdup(arena, text);
    free(text);
    json_decref(good);
    json_decref(more);
    return kept;
}

/* Returns the config of a text, which has to be right. */
static rlf_model_config
right_text(test_machine *t, rlf_arena *arena, const char *text)
{
    rlf_model_config c;
    MUST(t, read_config(arena, text, &t->err, &c));
    return c;
}

/* The good one, with these members. */
static rlf_model_config
right(test_machine *t, rlf_arena *arena, const char *members)
{
    return right_text(t, arena, with_members(arena, members));
}

static void
test_configs(test_machine *t, rlf_arena *arena)
{
    rlf_model_config c = right_text(t, arena, "{" GOOD "}");
    ok(c.kv_heads == 2 && c.head_dim == 8 && c.context == 2048 && !c.tied &&
           c.n_eos == 1 && c.eos[0] == 2 && c.bos == -1 && !c.qkv_bias,
       "what a config does not say is what transformers takes");
    for (size_t i = 0; i < RLF_COUNT(bad); i++) {
        const char *text = with_members(arena, bad[i].members);
        rlf_status status = read_config(arena, text, &t->err, &c);
        ok(status == RLF_USER && strstr(t->err.sentence, bad[i].message) &&
               strstr(t->err.sentence, "config.json"),
           "%s is refused by name", bad[i].members);
        if (status != RLF_USER || !strstr(t->err.sentence, bad[i].message))
            note("got: %s", t->err.sentence);
    }
    for (size_t i = 0; i < RLF_COUNT(silent); i++) {
        const char *text = rlf_arena_printf(
            arena,
            "{\"hidden_size\": 512, \"num_hidden_layers\": 40, "
            "\"num_attention_heads\": 64, \"intermediate_size\": 24, "
            "\"vocab_size\": 11, %s}",
            silent[i].members);
        c = right_text(t, arena, text);
        int from = 0;
        while (c.window && !rlf_model_config_window(&c, from))
            from++;
        ok(c.kv_heads == silent[i].kv_heads &&
               c.head_dim == silent[i].head_dim &&
               c.window == silent[i].window && from == silent[i].from &&
               c.rope.theta == silent[i].theta,
           "%s: %d key heads of %d, a window of %d from layer %d, theta %g",
           silent[i].members, c.kv_heads, c.head_dim, c.window, from,
           c.rope.theta);
    }
    is_str(c.slips ? c.slips : "", "", "keys that are read are no slips");
    c = right(t, arena,
              "\"model_type\": \"starcoder2\", \"use_bias\": true");
    is_str(c.slips ? c.slips : "", "", "... nor those of a family's own");
    c = right(t, arena, GEMMA2 "\"num_hidden_layers\": 3");
    ok(c.tied && c.act == RLF_ACT_GELU_TANH && c.attention_scale == 0.0625 &&
           c.attention_cap == 50 && c.logits_cap == 30 &&
           rlf_model_config_window(&c, 0) && !rlf_model_config_window(&c, 1) &&
           rlf_model_config_window(&c, 2),
       "Gemma 2's defaults");
    c = right(t, arena,
              GEMMA2 "\"hidden_act\": \"gelu\", "
                     "\"num_hidden_layers\": 2, "
                     "\"attn_logit_softcapping\": null, "
                     "\"layer_types\": "
                     "[\"full_attention\", "
                     "\"sliding_attention\"]");
    ok(c.attention_cap == 0 && c.act == RLF_ACT_GELU_TANH &&
           !rlf_model_config_window(&c, 0) && rlf_model_config_window(&c, 1),
       "a null is no cap; layers in any order; hidden_act is not its key");
    rlf_rope both[2];
    static const char *const ways[] = {
        "\"rope_theta\": 5, \"rope_local_base_freq\": 7, \"rope_scaling\": "
        "{\"rope_type\": \"linear\", \"factor\": 8}",
        "\"rope_theta\": 9, \"rope_local_base_freq\": 9, "
        "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 5, "
        "\"type\": \"linear\", \"factor\": 8}, "
        "\"sliding_attention\": {\"rope_theta\": 7}}"};
    for (int i = 0; i < 2; i++) {
        c = right(t, arena, rlf_arena_printf(arena, GEMMA3 "%s", ways[i]));
        both[i] = c.rope;
        ok(c.local_rope.theta == 7 && !c.local_rope.kind && c.rope.theta == 5 &&
               c.rope.kind && c.rope.factor == 8,
           "rotations of both kinds of layers: %s", ways[i]);
    }
    ok(!memcmp(&both[0], &both[1], sizeof both[0]), "the same in both ways");
    c = right(t, arena, GEMMA3 "\"num_hidden_layers\": 7");
    ok(c.qk_norm && c.local_rope.theta == 10000 && c.logits_cap == 0 &&
           rlf_model_config_window(&c, 4) && !rlf_model_config_window(&c, 5) &&
           rlf_model_config_window(&c, 6),
       "Gemma 3's defaults");
    c = right(t, arena,
              "\"rope_thata\": 5, "
              "\"atention_bias\": 1, "
              "\"torch_dtype\": 1, "
              "\"rope_parameters\": "
              "{\"rope_typ\": \"x\"}");
    is_str(c.slips ? c.slips : "",
           "\"rope_thata\" (did you mean \"rope_theta\"?), \"atention_bias\" "
           "(did you mean \"attention_bias\"?), \"rope_typ\" (did you mean "
           "\"rope_type\"?)",
           "keys that are close to others");
    rlf_err_clear(&t->err);
    is_int(read_config(arena, "{\"model_type\": ", &t->err, &c), RLF_USER,
           "a torn config is the user's");
    rlf_err_clear(&t->err);
    is_int(rlf_model_config_read("/nonexistent", arena, &t->err, &c), RLF_USER,
           "no directory");
    rlf_err_clear(&t->err);
}

/* generation_config.json: its end tokens alone count, and it is saved whole. */
static void
test_generation(test_machine *t, rlf_arena *arena)
{
    static const char text[] =
        "{\"eos_token_id\": [3, 4], \"temperature\": 0.6, \"top_p\": 0.95,"
        " \"repetition_penalty\": 1.05, \"pad_token_id\": 0}\n";
    const char *path = scratch_path(arena, "generation_config.json");
    rlf_model_config c;
    MUST(t, rlf_file_write(path, text, strlen(text), &t->err));
    c = right_text(t, arena, "{" GOOD "}");
    is_str(c.unheeded, "repetition_penalty 1.05",
           "what it asks for and generating does not do");
    ok(c.n_eos == 2 && c.eos[0] == 3 && c.eos[1] == 4,
       "the ends of generation_config.json take the place of config.json's");
    is_str(rlf_model_config_generation(&c, arena), text,
           "generation_config.json is saved as it was");
    MUST(t, rlf_file_write(path, "{\"top_p\": 1}", 12, &t->err));
    c = right_text(t, arena, "{" GOOD "}");
    ok(c.n_eos == 1 && c.eos[0] == 2, "where it names none, config.json's are");
    /* neutral: transformers 5.23.0 generates the same with and without */
    static const char neutral[] =
        "{\"repetition_penalty\": 1.0, \"no_repeat_ngram_size\": 0,"
        " \"min_length\": 0, \"num_beams\": 1, \"suppress_tokens\": null,"
        " \"token_healing\": false, \"typical_p\": 1.0, \"temperature\": 2,"
        " \"top_k\": 5, \"do_sample\": true, \"max_length\": 9}";
    MUST(t, rlf_file_write(path, neutral, strlen(neutral), &t->err));
    c = right_text(t, arena, "{" GOOD "}");
    ok(!c.unheeded, "neutral values ask for nothing");
    static const char all[] =
        "{\"num_beams\": 4, \"suppress_tokens\": [1, 2],"
        " \"bad_words_ids\": [[3]], \"min_new_tokens\": 5,"
        " \"forced_eos_token_id\": 2, \"begin_suppress_tokens\": [7]}";
    MUST(t, rlf_file_write(path, all, strlen(all), &t->err));
    c = right_text(t, arena, "{" GOOD "}");
    is_str(c.unheeded,
           "bad_words_ids [[3]], suppress_tokens [1,2], "
           "begin_suppress_tokens [7], forced_eos_token_id 2, "
           "min_new_tokens 5, num_beams 4",
           "each is named");
    MUST(t, rlf_file_write(path, "[]", 2, &t->err));
    is_int(read_config(arena, "{" GOOD "}", &t->err, &c), RLF_USER,
           "a list is no generation_config.json");
    rlf_err_clear(&t->err);
    MUST(t, rlf_dir_remove(path, &t->err));
    MUST(t, rlf_dir_make(path, &t->err));
    is_int(read_config(arena, "{" GOOD "}", &t->err, &c), RLF_USER,
           "nor is a directory");
    rlf_err_clear(&t->err);
    MUST(t, rlf_dir_remove(path, &t->err));
    c = right_text(t, arena,
                   "\xef\xbb\xbf{" GOOD ", \"a\": \"\\u0000\","
                   " \"b\": 1000000000000000000000000000000}");
    const bool f32[RLF_ELEMENT_COUNT] = {[RLF_ELEMENT_F32] = true};
    const char *saved = saved_text(&c, f32, arena);
    ok(strstr(saved, "1e+30") || strstr(saved, "1e30"),
       "what can be read can be saved: a byte order mark, a long integer");
    c = right(t, arena, "\"hidden_act\": \"swish\"");
    ok(!c.unheeded, "swish is silu");
}

/* Cohere where it is silent (transformers 5.24.0). */
static void
test_cohere(test_machine *t, rlf_arena *arena)
{
    static const char type[] = "\"model_type\": \"cohere\"";
    rlf_model_config c = right(t, arena, type);
    ok(c.tied && c.eps == 1e-5 && c.context == 8192 && !c.qkv_bias &&
           c.logits_scale == 0.0625,
       "cohere: what a config does not say is what transformers takes");
    const char *more = rlf_arena_printf(
        arena,
        "%s, \"logit_scale\": 0.5, \"layer_norm_eps\": 0.25, "
        "\"rms_norm_eps\": 0.125, \"attention_bias\": true, "
        "\"use_qk_norm\": null, \"tie_word_embeddings\": false",
        type);
    c = right(t, arena, more);
    ok(!c.tied && c.eps == 0.25 && c.logits_scale == 0.5 && c.qkv_bias &&
           c.o_bias,
       "cohere: its keys are read");
}

/* Ministral 3's queries grow beyond the positions of pretraining. */
static void
test_ministral3(test_machine *t, rlf_arena *arena)
{
    static const char text[] =
        "\"model_type\": \"ministral3\", \"num_key_value_heads\": 1, "
        "\"max_position_embeddings\": 100, \"rope_parameters\": {"
        "\"original_max_position_embeddings\": 64, "
        "\"llama_4_scaling_beta\": %s}";
    rlf_model_config c = right(t, arena, rlf_arena_printf(arena, text, "0.1"));
    ok(c.context == 100 && c.query_growth == 0.1 && c.query_reach == 64,
       "ministral3: queries grow beyond the positions of pretraining");
    c = right(t, arena, rlf_arena_printf(arena, text, "0"));
    ok(c.context == 100 && c.query_growth == 0, "... or nowhere");
}

/* GLM-4 where it is silent, and not (transformers 5.24.0). */
static void
test_glm(test_machine *t, rlf_arena *arena)
{
    static const char type[] =
        "\"model_type\": \"glm4\", \"num_key_value_heads\": 1";
    rlf_model_config c = right(t, arena, type);
    ok(!c.tied && c.eps == 1.5625e-7 && c.qkv_bias && !c.o_bias &&
           rlf_model_config_rotated(&c) == 64,
       "glm4: what a config does not say is what transformers takes");
    const char *more = rlf_arena_printf(
        arena,
        "%s, \"attention_bias\": false, \"head_dim\": 16, "
        "\"rope_parameters\": {\"partial_rotary_factor\": 0.75}",
        type);
    c = right(t, arena, more);
    ok(!c.qkv_bias && rlf_model_config_rotated(&c) == 12,
       "glm4: its keys are read");
}

/* GPT-2's names of keys, of which some have Llama's too, that win; and what it
 * means where it is silent (transformers 5.24.0). */
static void
test_names(test_machine *t, rlf_arena *arena)
{
#define GPT2                                                     \
    "\"model_type\": \"gpt2\", \"n_embd\": 16, \"n_layer\": 3, " \
    "\"n_head\": 2, \"vocab_size\": 11"
    rlf_model_config c = right_text(t, arena, "{" GPT2 "}");
    ok(c.layers == 3 && c.hidden == 16 && c.heads == 2 && c.kv_heads == 2 &&
           c.ffn == 64 && c.context == 1024 && c.tied && c.eps == 1e-5 &&
           c.act == RLF_ACT_GELU_TANH && c.attention_scale == 1 / sqrt(8.0),
       "gpt2: what a config does not say is what transformers takes");
    is_int(rlf_model_config_rotated(&c), 0, "gpt2: nothing is rotated");
    c = right_text(t, arena,
                   "{" GPT2 ", \"hidden_size\": 32, \"n_inner\": null, "
                   "\"n_positions\": 77, \"scale_attn_weights\": false, "
                   "\"layer_norm_epsilon\": 0.5, "
                   "\"activation_function\": \"swish\", "
                   "\"rms_norm_eps\": 3, \"rope_theta\": -1}");
    ok(c.hidden == 32 && c.ffn == 128 && c.context == 77 &&
           c.attention_scale == 1 && c.eps == 0.5 && c.act == RLF_ACT_SILU,
       "gpt2: each key by its name, the width by Llama's too");
    c = right_text(t, arena,
                   "{" GPT2 ", \"n_iner\": 8, \"layer_norm_eps\": 1, "
                   "\"hidden_act\": \"gelu\", \"head_dims\": 1}");
    is_str(c.slips ? c.slips : "", "\"n_iner\" (did you mean \"n_inner\"?)",
           "gpt2: keys that are close to its own");
    const bool f32[RLF_ELEMENT_COUNT] = {[RLF_ELEMENT_F32] = true};
    ok(strstr(saved_text(&c, f32, arena), "\"GPT2LMHeadModel\""),
       "gpt2: transformers' class");
}

/* Checks that the type in config.json has to agree with that of the tensors
 * beside it. */
static void
test_types(test_machine *t, rlf_arena *arena)
{
    static const struct {
        const char *was, *want;
        rlf_element types[2];
    } cases[] = {
        {"float64", "float32", {RLF_ELEMENT_F32, RLF_ELEMENT_F32}},
        {"bfloat16", "float32", {RLF_ELEMENT_F32, RLF_ELEMENT_F32}},
        {"float32", "bfloat16", {RLF_ELEMENT_BF16, RLF_ELEMENT_BF16}},
        {"float16", "float16", {RLF_ELEMENT_F16, RLF_ELEMENT_F16}},
        {"bfloat16", "bfloat16", {RLF_ELEMENT_F32, RLF_ELEMENT_BF16}},
        {"float64", "float32", {RLF_ELEMENT_F16, RLF_ELEMENT_BF16}},
    };
    rlf_model_config c;
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        bool types[RLF_ELEMENT_COUNT] = {0};
        types[cases[i].types[0]] = types[cases[i].types[1]] = true;
        const char *key = i % 2 ? "dtype" : "torch_dtype";
        c = right_text(t, arena,
                       rlf_arena_printf(arena, "{" GOOD ", \"%s\": \"%s\"}",
                                        key, cases[i].was));
        const char *line =
            rlf_arena_printf(arena, "\"%s\": \"%s\"", key, cases[i].want);
        const char *text = saved_text(&c, types, arena);
        ok(strstr(text, line), "%s, of files with %s and %s: %s", cases[i].was,
           rlf_element_text(cases[i].types[0]),
           rlf_element_text(cases[i].types[1]), line);
    }
    c = right_text(t, arena, "{" GOOD "}");
    bool none[RLF_ELEMENT_COUNT] = {[RLF_ELEMENT_F32] = true};
    ok(!strstr(saved_text(&c, none, arena), "dtype"),
       "where it says no type, nothing is said");
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    test_machine t;
    files_open(&t, "model_config");
    test_configs(&t, arena);
    test_types(&t, arena);
    test_generation(&t, arena);
    test_names(&t, arena);
    test_cohere(&t, arena);
    test_ministral3(&t, arena);
    test_glm(&t, arena);
    files_close(&t);
    rlf_arena_free(arena);
    return done();
}
