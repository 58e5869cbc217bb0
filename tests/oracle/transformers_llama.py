#!/usr/bin/env python3
"""Fixtures for tests/unit/model_parity.c, computed by transformers.

Makes small random models of each family under tests/data/models/NAME, as
save_pretrained writes them, and beside each expected.safetensors: sequences,
and what PyTorch in double precision says of them. Needs torch, transformers
and safetensors, and peft for those with adapters; the tests themselves need
none of these.

    python3 tests/oracle/transformers_llama.py tests/data/models [NAME...]
"""
import os
import sys

sys.path.pop(0)  # this folder's file names would hide packages

import torch
import transformers
from safetensors.torch import save_file

SMALL = dict(
    hidden_size=16, intermediate_size=24, num_hidden_layers=2,
    num_attention_heads=2, num_key_value_heads=1, vocab_size=29,
    max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
    pad_token_id=None, attn_implementation="eager",
)

LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=16,
              rope_theta=500.0)

YARN = dict(rope_type="yarn", factor=4.0, rope_theta=10000.0,
            original_max_position_embeddings=16)

# All sequences are longer than the original context, so that all have the long
# factors: rlflow has one set of factors for a run.
LONGROPE = dict(rope_type="longrope", rope_theta=10000.0,
                original_max_position_embeddings=6,
                short_factor=[1.0, 1.1, 1.3, 1.7],
                long_factor=[1.0, 2.5, 6.0, 9.0])

PHI3_LONGROPE = dict(LONGROPE, short_factor=[1.0, 1.1, 1.3],
                     long_factor=[1.0, 2.5, 6.0], partial_rotary_factor=0.75)
del PHI3_LONGROPE["original_max_position_embeddings"]  # beside the object

MODELS = {
    # name: (class, arguments, element type, head)
    "llama": ("Llama", dict(attention_bias=True, mlp_bias=True,
                            tie_word_embeddings=False,
                            rope_parameters=LLAMA3), torch.float32, "lm"),
    "qwen2": ("Qwen2", dict(tie_word_embeddings=True, use_sliding_window=True,
                            sliding_window=5, max_window_layers=1,
                            rope_theta=10000.0), torch.bfloat16, "lm"),
    "qwen3": ("Qwen3", dict(tie_word_embeddings=False, head_dim=16,
                            rope_theta=1000000.0), torch.float16, "lm"),
    "mistral": ("Mistral", dict(tie_word_embeddings=False, sliding_window=6,
                                rope_parameters=dict(rope_type="linear",
                                                     factor=2.0,
                                                     rope_theta=10000.0)),
                torch.float32, "lm"),
    "critic": ("Llama", dict(num_labels=1), torch.float32, "scalar"),
    "yarn": ("Qwen2", dict(tie_word_embeddings=True, rope_parameters=YARN),
             torch.float32, "lm"),
    "longrope": ("Llama", dict(tie_word_embeddings=False,
                               rope_parameters=LONGROPE),
                 torch.float32, "lm"),
    "olmo2": ("Olmo2", dict(tie_word_embeddings=False, attention_bias=False,
                            rope_theta=500000.0), torch.float32, "lm"),
    "granite": ("Granite", dict(tie_word_embeddings=True, attention_bias=True,
                                embedding_multiplier=3.0,
                                residual_multiplier=0.4,
                                attention_multiplier=0.3,
                                logits_scaling=2.5, rope_theta=10000.0),
                torch.float32, "lm"),
    "phi": ("Phi", dict(hidden_size=32, partial_rotary_factor=0.5,
                        rope_theta=500.0), torch.float32, "lm"),
    "phi3": ("Phi3", dict(tie_word_embeddings=False, sliding_window=6,
                          original_max_position_embeddings=6,
                          rope_parameters=PHI3_LONGROPE),
             torch.bfloat16, "lm"),
    "gemma": ("Gemma", dict(hidden_size=24, head_dim=16, rope_theta=500.0,
                            hidden_act="gelu_pytorch_tanh"),
              torch.bfloat16, "lm"),
    "gemma2": ("Gemma2", dict(hidden_size=24, num_hidden_layers=3, head_dim=8,
                              query_pre_attn_scalar=6, sliding_window=5,
                              attn_logit_softcapping=2.0,
                              final_logit_softcapping=3.0),
               torch.float32, "lm"),
    "gemma3": ("Gemma3Text", dict(
        num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
        head_dim=16, query_pre_attn_scalar=20, vocab_size=43,
        sliding_window=5, sliding_window_pattern=2, rope_theta=500.0,
        rope_local_base_freq=30.0,
        rope_scaling=dict(rope_type="linear", factor=4.0)),
        torch.bfloat16, "lm"),
    "gpt2": ("GPT2", dict(n_inner=24), torch.float32, "lm"),
    "cohere": ("Cohere", dict(attention_bias=True, logit_scale=0.4,
                              rope_theta=500.0), torch.float16, "lm"),
    "cohere_norms": ("Cohere", dict(
        num_attention_heads=4, num_key_value_heads=2, use_qk_norm=True,
        hidden_size=32, rope_theta=500.0), torch.float32, "lm"),
    "cohere2": ("Cohere2", dict(
        num_hidden_layers=3, logit_scale=0.4, sliding_window=5, rope_theta=500.0,
        layer_types=["sliding_attention", "full_attention",
                     "sliding_attention"]), torch.float32, "lm"),
    "glm": ("Glm", dict(head_dim=16, rope_theta=500.0), torch.bfloat16, "lm"),
    "glm4": ("Glm4", dict(head_dim=16, rope_theta=500.0,
                          partial_rotary_factor=0.75), torch.float32, "lm"),
    "olmo": ("Olmo", dict(attention_bias=True, rope_theta=500.0),
             torch.float32, "lm"),
    "olmo_clip": ("Olmo", dict(clip_qkv=0.6, rope_theta=500.0),
                  torch.float32, "lm"),
    "olmo3": ("Olmo3", dict(num_hidden_layers=4, tie_word_embeddings=False,
                            sliding_window=5, rope_parameters=dict(
                                sliding_attention=dict(rope_type="default",
                                                       rope_theta=500.0),
                                full_attention=dict(YARN))),
              torch.float32, "lm"),
    "seed_oss": ("SeedOss", dict(head_dim=16, rope_theta=500.0,
                                 mlp_bias=True), torch.float32, "lm"),
    "ministral": ("Ministral", dict(
        num_hidden_layers=3, head_dim=16, sliding_window=5, rope_theta=500.0,
        layer_types=["sliding_attention", "full_attention",
                     "sliding_attention"]), torch.bfloat16, "lm"),
    "ministral3": ("Ministral3", dict(
        head_dim=16, sliding_window=6, rope_parameters=dict(
            YARN, original_max_position_embeddings=24,
            llama_4_scaling_beta=0.1)), torch.bfloat16, "lm"),
    # longer than the positions of pretraining
    "ministral3_grown": ("Ministral3", dict(
        num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        rope_parameters=dict(YARN, original_max_position_embeddings=5,
                             llama_4_scaling_beta=0.4)), torch.float32, "lm"),
    "smollm3": ("SmolLM3", dict(num_hidden_layers=3, no_rope_layer_interval=2,
                                use_sliding_window=True, sliding_window=5,
                                rope_theta=500.0), torch.float32, "lm"),
    "stablelm": ("StableLm", dict(hidden_size=32, use_qkv_bias=True,
                                  rope_theta=500.0), torch.float32, "lm"),
    "stablelm_parallel": ("StableLm", dict(use_parallel_residual=True,
                                           rope_theta=500.0),
                          torch.float16, "lm"),
    "starcoder2": ("Starcoder2", dict(sliding_window=5, rope_theta=500.0),
                   torch.float32, "lm"),
    "gpt_neox": ("GPTNeoX", dict(hidden_size=32, rotary_pct=0.25,
                                 rotary_emb_base=500.0), torch.float32, "lm"),
    "gpt_neox_serial": ("GPTNeoX", dict(use_parallel_residual=False,
                                        rotary_pct=1.0), torch.float16, "lm"),
    "falcon": ("Falcon", dict(num_attention_heads=4, num_kv_heads=2,
                              hidden_size=32, new_decoder_architecture=True,
                              rope_theta=500.0), torch.float32, "lm"),
    "falcon_7b": ("Falcon", dict(multi_query=True, parallel_attn=True,
                                 rope_theta=500.0), torch.bfloat16, "lm"),
    "falcon_rw": ("Falcon", dict(multi_query=False, parallel_attn=False,
                                 bias=True, rope_theta=500.0),
                  torch.float32, "lm"),
    "lora": ("Qwen3", dict(tie_word_embeddings=True, head_dim=8,
                           rope_theta=500.0), torch.float32, "lm"),
}

# Models whose products have adapters beside them, which alone are trained.
ADAPTERS = {
    "lora": dict(r=8, lora_alpha=12, target_modules=[
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
        "down_proj"]),
}

# prompt and response lengths, temperature
SEQUENCES = [(3, 4, 1.0), (1, 9, 0.7), (7, 1, 1.0), (12, 8, 1.3)]


def name_in_files(name):
    """Of a parameter: as a model without adapters has it."""
    name = name.removeprefix("base_model.model.")
    return name.replace(".base_layer", "").replace(".default", "")


def save(model, path, adapted):
    if not adapted:
        model.save_pretrained(path)
        return
    model.base_model.model.config.save_pretrained(path)
    save_file({name_in_files(name): p.detach().contiguous()
               for name, p in model.named_parameters()},
              os.path.join(path, "model.safetensors"))


def randomize(model):
    for name, p in model.named_parameters():
        gemma = type(model).__name__.startswith("Gemma")
        if name.endswith(("norm.weight", "ln_1.weight", "ln_2.weight",
                          "ln_f.weight", "ln_attn.weight",
                          "ln_mlp.weight")):  # Gemma's multiply by 1 + weight
            p.data = (not gemma) + 0.3 * torch.randn_like(p)
        elif name == "model.embed_tokens.weight" and type(
                model).__name__.startswith(("Olmo", "SmolLM3", "StableLm")):
            # no norm comes before attention, or one that would divide it by
            # little: as large as what is added to it
            p.data = torch.randn_like(p)
        else:
            p.data = 0.3 * torch.randn_like(p)


def rows(model, head, tokens, n_prompt):
    """Hidden states before each response token, and the head's output."""
    if head == "lm":  # with all that is done to logits
        out = model(input_ids=tokens[None]).logits[0]
    else:
        out = model.score(model.model(input_ids=tokens[None])
                          .last_hidden_state[0])
    return out[n_prompt - 1:len(tokens) - 1], out[-1:]


def make(directory, name):
    family, arguments, element, head = MODELS[name]
    torch.manual_seed(sum(name.encode()))
    small = dict(SMALL)
    if family == "GPT2":  # has the others under names of its own
        del small["intermediate_size"]
    if family in ("GPT2", "GPTNeoX", "Falcon"):
        del small["num_key_value_heads"]
    if family == "Falcon":
        small["ffn_hidden_size"] = small.pop("intermediate_size")
    config = getattr(transformers, family + "Config")(**{**small, **arguments})
    lm = "LMHeadModel" if family == "GPT2" else "ForCausalLM"
    kind = "ForSequenceClassification" if head == "scalar" else lm
    name_of = family.replace("3Text", "3") if head == "lm" else family
    model = getattr(transformers, name_of + kind)(config).eval()
    if name in ADAPTERS:
        import peft
        model = peft.get_peft_model(model, peft.LoraConfig(**ADAPTERS[name]))
    randomize(model)
    for p in model.parameters():  # not the buffers: rotations stay f32
        p.data = p.data.to(element)
    path = os.path.join(directory, name)
    save(model, path, name in ADAPTERS)

    model.double()
    out = {"lengths": [], "tokens": [], "temperature": [], "logprob": [],
           "entropy": [], "scalar": [], "last": [], "weight": [],
           "entropy_weight": []}
    loss = 0
    for n_prompt, n_response, temperature in SEQUENCES:
        tokens = torch.randint(3, config.vocab_size, (n_prompt + n_response,))
        before, last = rows(model, head, tokens, n_prompt)
        a = torch.randn(n_response).double()
        b = torch.randn(n_response).double()
        if head == "scalar":
            loss = loss + (a * before[:, 0]).sum()
            out["scalar"].append(before[:, 0])
            out["last"].append(last[:, 0])
        else:
            logp = torch.log_softmax(before / temperature, -1)
            taken = logp.gather(1, tokens[n_prompt:, None])[:, 0]
            entropy = -(logp.exp() * logp).sum(-1)
            loss = loss + (a * taken).sum() + (b * entropy).sum()
            out["logprob"].append(taken)
            out["entropy"].append(entropy)
        out["lengths"].append(torch.tensor([n_prompt, n_response]))
        out["tokens"].append(tokens)
        out["temperature"].append(torch.tensor([temperature]).double())
        out["weight"].append(a)
        out["entropy_weight"].append(b)
    loss.backward()
    result = {}
    for key, parts in out.items():
        if parts:
            x = torch.cat(parts).detach()
            result[key] = x.int() if x.dtype == torch.int64 else x.double()
    for key, p in model.named_parameters():
        if p.requires_grad:
            if family == "GPTNeoX":
                key = key.replace("lm_head.", "embed_out.")
            result["grad." + name_in_files(key)] = p.grad.float().contiguous()
    save_file(result, os.path.join(path, "expected.safetensors"))


if __name__ == "__main__":
    for each in sys.argv[2:] or MODELS:
        make(sys.argv[1], each)
