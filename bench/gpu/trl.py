#!/usr/bin/env python3
"""A GRPO and a PPO step of rlflow beside TRL's, on one GPU, in one run.

    bench/gpu/trl.py [tiny] [grpo] [ppo] [--rlflow PROGRAM] [--device NAME]

Both start from the same random weights of a Qwen2.5-0.5B's shape (as a Llama,
tied) and the same prompts of 128 tokens, and sample 512 new tokens each, for
no response may end early. GRPO: 64 prompts x 8 samples, one update of all,
KL to the first policy in the loss. PPO: 512 prompts, critic and reward model
of the same shape, one epoch of four minibatches. rlflow runs grpo.rlf and
ppo.rlf; TRL generates with transformers, weights and AdamW states in bf16
(rlflow's are f32 with bf16 copies), attention by PyTorch's sdpa.

A step's time is the least of those after the first. `tiny`: a model of a few
thousand weights on the CPU, a look at the program.

Exit status 3: a package or a GPU is missing; nothing is installed from here.
Seen to work with torch 2.15, transformers 5.23 and trl 1.9.2; later versions
of TRL may have no PPO any more.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# so that "import trl" does not find this file
sys.path = [p for p in sys.path if os.path.abspath(p) != HERE]
PACKAGES = "torch>=2.6 transformers>=4.56 trl>=1.0,<1.10 datasets accelerate requests"
WANTED = 5

FULL = types.SimpleNamespace(
    name="0.5B",
    layers=24, hidden=896, heads=14, kv_heads=2, ffn=4864, vocab=151936,
    prompts=64, samples=8, ppo_prompts=512, prompt=128, new=512,
    micro=16, rollout=64, steps=3)
TINY = types.SimpleNamespace(
    name="tiny",
    layers=2, hidden=64, heads=4, kv_heads=2, ffn=128, vocab=300,
    prompts=4, samples=2, ppo_prompts=8, prompt=12, new=8,
    micro=2, rollout=4, steps=3)


def missing(what):
    print(f"trl.py: {what}", file=sys.stderr)
    sys.exit(3)


def imports(tiny, device):
    """The packages, or exit status 3."""
    try:
        import torch, transformers, trl, datasets, accelerate, requests  # noqa: F401, E401
    except ImportError as error:
        missing(f"{error.name} is not installed; needed: {PACKAGES}")
    if not tiny and device == "cuda" and not torch.cuda.is_available():
        missing("PyTorch sees no GPU")
    transformers.utils.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    return torch, transformers, trl, datasets


# ---- what both start from ----


def write_tokenizer(path, vocab):
    """Byte-level, no merges: a token a byte; the rest never comes up in text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ["<pad>", "<bos>", "<eos>"] + alphabet
    words += [f"x{i:06d}" for i in range(len(words), vocab)]
    t = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<pad>", "<bos>", "<eos>"])
    t.save(os.path.join(path, "tokenizer.json"))


def write_model(path, shape, torch, transformers):
    """Random weights; no token ends a text. Returns TRL's tokenizer."""
    transformers.utils.logging.disable_progress_bar()
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        num_hidden_layers=shape.layers, hidden_size=shape.hidden,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.ffn, vocab_size=shape.vocab,
        max_position_embeddings=2048, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=None, pad_token_id=0)
    model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
    model.generation_config.eos_token_id = None
    model.save_pretrained(path)
    write_tokenizer(path, shape.vocab)
    # TRL wants an end of text; in the directory that rlflow reads there is none
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(path, "tokenizer.json"),
        pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", padding_side="left")


def write_prompts(path, shape):
    """One row a prompt, each of shape.prompt tokens."""
    r = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz     "
    rows = ["".join(r.choice(letters) for _ in range(shape.prompt))
            for _ in range(4 * max(shape.ppo_prompts, shape.prompts))]
    with open(path, "w") as out:
        for row in rows:
            out.write(json.dumps({"prompt": row}) + "\n")
    return rows


# ---- rlflow ----


def rlflow(program, name, shape, work, device, values):
    """Seconds of a step of the program bench/gpu/NAME.rlf."""
    out = os.path.join(work, "out-" + name)
    command = [program, "run", os.path.join(HERE, name + ".rlf"),
               "model_dir=" + os.path.join(work, "model"),
               "problems=" + os.path.join(work, "prompts.jsonl"),
               f"max_new={shape.new}", *values,
               "--steps", str(shape.steps), "--samples", "1",
               "--device", device, "--out", out]
    env = dict(os.environ)
    env.setdefault("RLFLOW_STDLIB", os.path.join(HERE, "..", "..", "stdlib"))
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-1000:] + done.stderr[-2000:], file=sys.stderr)
        sys.exit(f"trl.py: rlflow ended with {done.returncode}")
    with open(os.path.join(out, "metrics.jsonl")) as lines:
        steps = [json.loads(line) for line in lines]
    for step in steps:
        if step["length"] != shape.new:
            sys.exit(f"trl.py: rlflow's responses have {step['length']} tokens")
    return min(step["seconds"] for step in steps[1:])


# ---- TRL ----


def stopwatch(transformers):
    """A callback that keeps when steps ended."""

    class Stopwatch(transformers.TrainerCallback):
        def __init__(self):
            self.ends = []

        def on_step_end(self, *_args, **_kwargs):
            self.ends.append(time.perf_counter())

        def least(self):
            return min(b - a for a, b in zip(self.ends, self.ends[1:]))

    return Stopwatch()


def common(shape, work, name, device):
    """Arguments of both trainers."""
    return dict(
        output_dir=os.path.join(work, "trl-" + name), report_to=[],
        save_strategy="no", logging_strategy="no", disable_tqdm=True,
        bf16=shape.bf16, use_cpu=device != "cuda",
        per_device_train_batch_size=shape.micro, learning_rate=1e-6,
        gradient_checkpointing=False, max_grad_norm=1.0, seed=1)


def trl_grpo(shape, work, device, rows, tokenizer, torch, transformers, trl, datasets):
    all_samples = shape.prompts * shape.samples
    lengths = []

    def reward(completions, completion_ids, **_rest):
        lengths.extend(len(ids) for ids in completion_ids)
        return [c.count("1") / max(1, len(c)) for c in completions]

    args = trl.GRPOConfig(
        **common(shape, work, "grpo", device), max_steps=shape.steps,
        gradient_accumulation_steps=all_samples // shape.micro,
        num_generations=shape.samples, max_completion_length=shape.new,
        num_iterations=1, beta=0.04, loss_type="grpo", temperature=1.0,
        generation_kwargs={"min_new_tokens": shape.new},
        model_init_kwargs={"dtype": "bfloat16" if shape.bf16 else "float32",
                           "attn_implementation": "sdpa"})
    watch = stopwatch(transformers)
    trainer = trl.GRPOTrainer(
        model=os.path.join(work, "model"), reward_funcs=reward, args=args,
        train_dataset=datasets.Dataset.from_dict({"prompt": rows}),
        processing_class=tokenizer, callbacks=[watch])
    trainer.train()
    if set(lengths) != {shape.new} or len(lengths) < all_samples * shape.steps:
        sys.exit(f"trl.py: {len(lengths)} responses of TRL have {set(lengths)} tokens")
    return watch.least()


def trl_ppo(shape, work, device, rows, tokenizer, torch, transformers, trl, datasets):
    try:
        from trl.experimental.ppo import PPOConfig, PPOTrainer
    except ImportError:
        missing(f"trl {trl.__version__} has no PPO; needed: {PACKAGES}")
    path = os.path.join(work, "model")
    how = dict(dtype=torch.bfloat16 if shape.bf16 else torch.float32,
               attn_implementation="sdpa")
    scalar = transformers.AutoModelForSequenceClassification
    policy, ref = (transformers.AutoModelForCausalLM.from_pretrained(path, **how)
                   for _ in range(2))
    value, reward = (scalar.from_pretrained(path, num_labels=1, **how)
                     for _ in range(2))
    args = PPOConfig(
        **common(shape, work, "ppo", device),
        gradient_accumulation_steps=shape.ppo_prompts // shape.micro,
        total_episodes=shape.steps * shape.ppo_prompts, num_mini_batches=4,
        num_ppo_epochs=1, response_length=shape.new, temperature=0.7,
        local_rollout_forward_batch_size=shape.rollout, stop_token_id=None,
        num_sample_generations=0, kl_coef=0.05, gamma=1.0, lam=0.95)
    ids = tokenizer(rows)["input_ids"]
    watch = stopwatch(transformers)
    trainer = PPOTrainer(
        args=args, processing_class=tokenizer, model=policy, ref_model=ref,
        reward_model=reward, value_model=value,
        train_dataset=datasets.Dataset.from_dict({"input_ids": ids}),
        eval_dataset=datasets.Dataset.from_dict({"input_ids": ids[:4]}),
        callbacks=[watch])
    trainer.train()
    return watch.least()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", choices=["tiny", "grpo", "ppo", []])
    parser.add_argument("--rlflow", default="rlflow", help="the program")
    parser.add_argument("--device", help="of rlflow and, unless cpu, TRL: cuda")
    options = parser.parse_args()
    tiny = "tiny" in options.what
    device = options.device or ("cpu" if tiny else "cuda")
    shape = TINY if tiny else FULL
    shape.bf16 = device == "cuda"
    which = [w for w in options.what if w != "tiny"] or ["grpo", "ppo"]
    packages = imports(tiny, device)
    calls = {
        "grpo": (trl_grpo, [f"size={shape.prompts}", f"n={shape.samples}"],
                 f"{shape.prompts} prompts x {shape.samples}"),
        "ppo": (trl_ppo, [f"size={shape.ppo_prompts}"], f"{shape.ppo_prompts} prompts"),
    }
    with tempfile.TemporaryDirectory() as work:
        os.mkdir(os.path.join(work, "model"))
        tokenizer = write_model(os.path.join(work, "model"), shape, *packages[:2])
        rows = write_prompts(os.path.join(work, "prompts.jsonl"), shape)
        print("\n| one step | rlflow | TRL | ratio | wanted |\n|---|---|---|---|---|")
        for name in which:
            theirs, values, what = calls[name]
            ours = rlflow(options.rlflow, name, shape, work, device, values)
            with contextlib.redirect_stdout(sys.stderr):
                other = theirs(shape, work, device, rows, tokenizer, *packages)
            print(f"| {name.upper()}, {shape.name}, {what}, {shape.new} new tokens | "
                  f"{ours:.2f} s | {other:.2f} s | {other / ours:.1f} | {WANTED} |",
                  flush=True)


if __name__ == "__main__":
    main()
