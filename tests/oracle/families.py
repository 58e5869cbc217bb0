#!/usr/bin/env python3
"""Random tiny models of each family: the program's log-probabilities beside
transformers' in double precision.

    python3 tests/oracle/families.py RLFLOW [--seed N] [--each N] [FAMILY...]

Of each family that is named, else of all, `--each` configs are drawn: sizes, heads
of keys, biases, tied or not, windows, kinds of rotation, activations, what the
family alone has. Each is written as save_pretrained writes it and samples answers
by `rlflow generate --logprobs`; transformers says of the same tokens what they
have. One line a model is printed that differs by more than 1e-5, or is refused,
and the largest difference of each family. Exit status 1: there is such a model.
Needs torch, transformers and tokenizers.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != HERE]

import torch  # noqa: E402
import transformers  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
MOST, NEW, CONTEXT, VOCAB = 1e-5, 12, 96, 300


def sizes(r, groups=True, heads=(1, 2, 3, 4, 6, 8)):
    """What all families have, in the names of most."""
    n = r.choice(heads)
    kv = r.choice([k for k in range(1, n + 1) if n % k == 0]) if groups else n
    dim = r.choice((8, 16, 24, 32))
    return dict(num_hidden_layers=r.randint(1, 4), hidden_size=n * dim,
                num_attention_heads=n, num_key_value_heads=kv,
                intermediate_size=r.randint(8, 70), vocab_size=VOCAB,
                max_position_embeddings=CONTEXT, bos_token_id=None,
                eos_token_id=VOCAB - 1, pad_token_id=None,
                attn_implementation="eager")


def tied(r):
    return dict(tie_word_embeddings=r.random() < 0.5)


def free_head(r, c):
    """Heads of another width than the residual's part."""
    if r.random() < 0.5:
        c["head_dim"] = r.choice((8, 16, 24, 40))
        c["hidden_size"] = c["num_attention_heads"] * r.choice((8, 16, 24))
    else:  # some of the classes have another width where none is given
        c["head_dim"] = c["hidden_size"] // c["num_attention_heads"]
    return c


def rope(r, c, theta=None, part=False, kinds=("default", "linear", "llama3",
                                               "yarn")):
    dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]
    kind = r.choice(kinds)
    p = dict(rope_type=kind, rope_theta=theta or r.choice((100.0, 5e3, 1e6)))
    if kind != "default":
        p["factor"] = r.choice((1.5, 2.0, 8.0))
    if kind == "llama3":
        p.update(low_freq_factor=1.0, high_freq_factor=r.choice((2.0, 4.0)),
                 original_max_position_embeddings=24)
    if kind == "yarn":
        p.update(original_max_position_embeddings=r.choice((16, 24)),
                 beta_fast=r.choice((32.0, 8.0)), beta_slow=1.0)
        if r.random() < 0.3:
            p.update(mscale=1.0, mscale_all_dim=r.choice((0.5, 1.0)))
    if part:
        widths = [w for w in (4, 8, 12, 16, 24, 32) if w <= dim]
        p["partial_rotary_factor"] = r.choice(widths) / dim
    return dict(rope_parameters=p)


def window(r, c, key=None):
    w = dict(sliding_window=r.choice((None, 3, 7, 20)))
    if key:
        w[key] = w["sliding_window"] is not None
    return w


def types(r, c, width=(3, 7, 20)):
    return dict(sliding_window=r.choice(width), layer_types=[
        r.choice(("sliding_attention", "full_attention"))
        for _ in range(c["num_hidden_layers"])])


def act(r, key="hidden_act"):
    return {key: r.choice(("silu", "gelu", "gelu_pytorch_tanh", "gelu_new"))}


def flag(r, *keys):
    return {k: r.random() < 0.5 for k in keys}


def llama(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c), **tied(r), **act(r),
            **flag(r, "attention_bias", "mlp_bias")}


def mistral(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c), **tied(r), **window(r, c)}


def ministral(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c), **types(r, c)}


def ministral3(r):
    c = free_head(r, sizes(r))
    p = rope(r, c, kinds=("yarn",))
    p["rope_parameters"].update(llama_4_scaling_beta=r.choice((0.0, 0.1)),
                                original_max_position_embeddings=r.choice((8, 64)),
                                factor=2.0)
    return {**c, **p, **tied(r), **window(r, c)}


def qwen2(r):
    c = sizes(r)
    w = window(r, c, "use_sliding_window")
    return {**c, **rope(r, c), **tied(r), **w,
            "max_window_layers": r.randint(0, c["num_hidden_layers"])}


def qwen3(r):
    c = free_head(r, sizes(r))
    return {**qwen2(r), **c, **rope(r, c), **flag(r, "attention_bias"),
            "max_window_layers": r.randint(0, c["num_hidden_layers"])}


def gemma(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c), **tied(r), **flag(r, "attention_bias"),
            **act(r)}


def gemma2(r):
    c = gemma(r)
    del c["hidden_act"]
    return {**c, **types(r, c), **act(r, "hidden_activation"),
            "query_pre_attn_scalar": r.choice((6, 16)),
            "attn_logit_softcapping": r.choice((None, 3.0)),
            "final_logit_softcapping": r.choice((None, 5.0))}


def gemma3(r):
    c = gemma2(r)
    del c["attn_logit_softcapping"]
    full = rope(r, c, kinds=("default", "linear"))["rope_parameters"]
    return {**c, "rope_parameters": {
        "full_attention": full,
        "sliding_attention": dict(rope_type="default", rope_theta=50.0)}}


def phi(r):
    c = sizes(r)
    return {**c, **rope(r, c, part=True), **act(r)}


def phi3(r):
    c = sizes(r)
    return {**c, **rope(r, c, part=True, kinds=("default",)), **tied(r), **window(r, c)}


def gpt2(r):
    c = sizes(r, groups=False)
    return dict(n_layer=c["num_hidden_layers"], n_embd=c["hidden_size"],
                n_head=c["num_attention_heads"], n_positions=CONTEXT,
                n_inner=r.choice((None, 24)), vocab_size=VOCAB,
                scale_attn_weights=r.random() < 0.7, bos_token_id=None,
                eos_token_id=VOCAB - 1, attn_implementation="eager",
                **act(r, "activation_function"), **tied(r))


def gpt_neox(r):
    c = sizes(r, groups=False)
    del c["num_key_value_heads"]
    p = rope(r, c, part=True)
    return {**c, **p, **tied(r), **act(r), **flag(r, "use_parallel_residual", "attention_bias")}


def olmo2(r):
    c = sizes(r)
    return {**c, **rope(r, c), **tied(r), **flag(r, "attention_bias")}


def olmo(r):
    return {**olmo2(r), "clip_qkv": r.choice((None, 0.3))}


def olmo3(r):
    c = olmo2(r)
    return {**c, **types(r, c), "rope_parameters": {
        "full_attention": c["rope_parameters"],
        "sliding_attention": dict(rope_type="default", rope_theta=50.0)}}


def granite(r):
    c = sizes(r)
    return {**c, **rope(r, c), **tied(r), **act(r),
            **flag(r, "attention_bias", "mlp_bias"),
            "embedding_multiplier": r.choice((1.0, 5.0)),
            "residual_multiplier": r.choice((1.0, 0.3)),
            "attention_multiplier": r.choice((1.0, 0.2)),
            "logits_scaling": r.choice((1.0, 3.0))}


def stablelm(r):
    c = sizes(r)
    return {**c, **rope(r, c, part=True), **tied(r),
            **act(r), **flag(r, "use_qkv_bias", "use_parallel_residual")}


def cohere(r):
    c = sizes(r)
    return {**c, **rope(r, c), **flag(r, "attention_bias", "use_qk_norm"),
            "logit_scale": r.choice((0.0625, 0.7))}


def cohere2(r):
    c = cohere(r)
    del c["use_qk_norm"]
    return {**c, **types(r, c)}


def glm(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c, part=True, kinds=("default",)), **tied(r),
            **flag(r, "attention_bias")}


def seed_oss(r):
    c = free_head(r, sizes(r))
    return {**c, **rope(r, c), **tied(r), "attention_bias": r.random() < 0.5,
            "attention_out_bias": r.random() < 0.5, "mlp_bias": r.random() < 0.5}


def smollm3(r):
    c = sizes(r)
    return {**c, **rope(r, c), **tied(r), **flag(r, "attention_bias", "mlp_bias"),
            "no_rope_layer_interval": r.randint(1, 4)}


def starcoder2(r):
    c = sizes(r)
    return {**c, **rope(r, c), **tied(r), **window(r, c), **act(r),
            **flag(r, "use_bias")}


def falcon(r):
    c = sizes(r, groups=False)
    new = r.random() < 0.4
    n = c["num_attention_heads"]
    c.update(num_kv_heads=r.choice([k for k in range(1, n + 1) if n % k == 0])
             if new else n,
             ffn_hidden_size=c.pop("intermediate_size"),
             new_decoder_architecture=new)
    del c["num_key_value_heads"]
    return {**c, **rope(r, c), **tied(r), "alibi": False,
            **flag(r, "multi_query", "bias"),
            "parallel_attn": new or r.random() < 0.5}


def falcon_7b(r):
    """71 query heads of one key head."""
    c = dict(falcon(r), num_attention_heads=71, hidden_size=71 * 8,
             num_hidden_layers=1, new_decoder_architecture=False,
             multi_query=True, parallel_attn=True, num_kv_heads=71)
    return {**c, **rope(r, c)}


# name: (class of transformers, what draws its config)
FAMILIES = {
    "llama": ("Llama", llama), "mistral": ("Mistral", mistral),
    "ministral": ("Ministral", ministral),
    "ministral3": ("Ministral3", ministral3), "qwen2": ("Qwen2", qwen2),
    "qwen3": ("Qwen3", qwen3), "gemma": ("Gemma", gemma),
    "gemma2": ("Gemma2", gemma2), "gemma3": ("Gemma3Text", gemma3),
    "phi": ("Phi", phi), "phi3": ("Phi3", phi3), "gpt2": ("GPT2", gpt2),
    "gpt_neox": ("GPTNeoX", gpt_neox), "olmo": ("Olmo", olmo),
    "olmo2": ("Olmo2", olmo2), "olmo3": ("Olmo3", olmo3),
    "granite": ("Granite", granite), "stablelm": ("StableLm", stablelm),
    "cohere": ("Cohere", cohere), "cohere2": ("Cohere2", cohere2),
    "glm": ("Glm", glm), "glm4": ("Glm4", glm), "seed_oss": ("SeedOss", seed_oss),
    "smollm3": ("SmolLM3", smollm3), "starcoder2": ("Starcoder2", starcoder2),
    "falcon": ("Falcon", falcon), "falcon_7b": ("Falcon", falcon_7b),
}


def randomize(model):
    gemma_like = type(model).__name__.startswith("Gemma")
    for name, p in model.named_parameters():
        norm = "norm" in name or ".ln" in name
        if norm and name.endswith("weight"):
            p.data = (not gemma_like) + 0.2 * torch.randn_like(p)
        elif p.dim() == 1:
            p.data = 0.3 * torch.randn_like(p)
        else:  # what comes out is as large as what goes in
            p.data = torch.randn_like(p) * p.shape[-1] ** -0.5
        if "embed" in name or ".wte" in name or ".wpe" in name:
            p.data = torch.randn_like(p)


def tokenizer(path):
    words = ["<pad>", "<bos>"] + sorted(pre_tokenizers.ByteLevel.alphabet())
    words += [f"x{i:04d}" for i in range(len(words), VOCAB)]
    t = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False,
                                               use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.save(os.path.join(path, "tokenizer.json"))
    return t


def compare(program, name, r, path):
    """The largest difference, and what was said of a model that is refused."""
    kind, draw = FAMILIES[name]
    c = draw(r)
    torch.manual_seed(r.randrange(1 << 30))
    config = getattr(transformers, kind + "Config")(**c)
    last = "LMHeadModel" if kind == "GPT2" else "ForCausalLM"
    model = getattr(transformers, kind.replace("3Text", "3") + last)(config).eval()
    randomize(model)
    model.generation_config.bos_token_id = None
    model.generation_config.eos_token_id = VOCAB - 1
    model.save_pretrained(path)
    t = tokenizer(path)
    prompts = ["".join(r.choice("abcdefghij klmnop") for _ in range(n))
               for n in (1, r.randint(2, 9), r.randint(20, 50))]
    batch = os.path.join(path, "prompts.txt")
    with open(batch, "w") as out:
        out.write("".join(p.replace(" ", "_") + "\n" for p in prompts))
    model.double()
    with torch.no_grad():  # so that many tokens are likely
        logits = model(input_ids=torch.randint(2, VOCAB - 1, (1, 30))).logits
    temperature = max(1.0, round(logits.std().item() / 1.5, 2))
    done = subprocess.run(
        [program, "generate", path, "--batch", batch, "--logprobs", "--max_new",
         str(NEW), "--temperature", str(temperature), "--seed", str(r.randrange(1000)), "--threads", "1"],
        capture_output=True, text=True)
    if done.returncode:
        return c, None, done.stderr.strip()
    most = 0.0
    with torch.no_grad():
        for line in done.stdout.splitlines():
            row = json.loads(line)
            ids = t.encode(row["prompt"]).ids + row["ids"]
            logits = model(input_ids=torch.tensor([ids])).logits[0].double()
            logp = torch.log_softmax(logits / temperature, -1)
            logp = logp[len(ids) - len(row["ids"]) - 1:-1]
            want = logp.gather(1, torch.tensor(row["ids"])[:, None])[:, 0]
            got = torch.tensor(row["logprobs"], dtype=torch.float64)
            most = max(most, (want - got).abs().max().item())
    return c, most, None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rlflow")
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=4)
    o = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    n = wrong = 0
    for name in o.families or FAMILIES:
        worst, refused = 0.0, 0
        for i in range(o.each):
            r = random.Random(f"{o.seed} {name} {i}")
            with tempfile.TemporaryDirectory() as path:
                c, most, said = compare(o.rlflow, name, r, path)
            n += 1
            refused += said is not None
            worst = max(worst, most or 0.0)
            if said or not most <= MOST:
                wrong += 1
                print(f"{name} {i}: {said or most}\n    {c}", flush=True)
        print(f"{name}: {o.each} models, {worst:.1e}"
              + (f", {refused} refused" if refused else ""), flush=True)
    print(f"{n} models, {wrong} of them wrong or refused")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
