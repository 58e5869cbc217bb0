#!/usr/bin/env python3
"""A training step with adapters of rlflow beside one of PEFT, on a CPU, in one run.

    bench/adapters.py RLFLOW [tiny|15m|half] [--grpo] [--threads N] [--rounds N]

Both start from the same random weights (a Llama of a few thousand weights, of the
15M story shape, or of a Qwen2.5-0.5B's), in f32, and train adapters of rank 16
beside all products of a layer with AdamW on the same texts: prompts of 32 and
responses of 96 tokens, as many as are printed, all of them in each step. Time is the least of the
steps after the first, over rounds by turns, wall and processor time (user and
system) each; memory is the largest resident size of the process, beside which
stands what `rlflow check` prints. The first step's loss of both is printed, too: it
is of the same numbers; with --grpo the mean reward, of samples of their own.

With --grpo it is a step of GRPO beside TRL's GRPOTrainer with PEFT: prompts of 32
tokens, 4 samples of each with 24 new tokens, for no token ends a response; the
adapters have a dropout of 0.05, the reference is the base, its KL is in the loss.

Run it with a Python that has torch, transformers and peft, and trl and datasets for
--grpo: it starts itself for PEFT's part. Exit status 3: a package is missing; nothing is installed from here.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# so that "import trl" finds no file here
sys.path = [p for p in sys.path if os.path.abspath(p) != HERE]
PROMPT, RESPONSE, STEPS, RANK = 32, 96, 4, 16
SAMPLES, NEW, DROPOUT = 4, 24, 0.05  # of GRPO
SHAPES = {
    "tiny": types.SimpleNamespace(layers=2, hidden=64, heads=4, kv_heads=2,
                                  ffn=128, vocab=300, rows=2, prompts=2),
    "15m": types.SimpleNamespace(layers=6, hidden=288, heads=6, kv_heads=6,
                                 ffn=768, vocab=32000, rows=16, prompts=8),
    "half": types.SimpleNamespace(layers=24, hidden=896, heads=14, kv_heads=2,
                                  ffn=4864, vocab=151936, rows=4, prompts=2),
}
PROGRAM = """
data  rows  = jsonl("rows.jsonl", prompt: "q", answer: "a")
model actor = lm("model", lora: lora(rank: {rank}, alpha: 32),
                 optimizer: adamw(lr: 1e-4, clip: 1.0))
flow fit(batch: rows[{rows}]) {{
    page = respond(batch.answer)
    if step == 1 {{ report loss = -mean(actor.logprob(page) over batch) }}
    update actor minimize -mean(actor.logprob(page) over batch)
}}
"""
GRPO = """
import "std/advantage"
import "std/loss"
data  rows  = jsonl("rows.jsonl", prompt: "q")
model actor = lm("model", lora: lora(rank: {rank}, alpha: 32, dropout: {dropout}),
                 optimizer: adamw(lr: 1e-4, clip: 1.0))
model ref   = base(actor)
hook  judge = lua("reward.lua")
flow fit(batch: rows[{prompts}]) {{
    roll  = actor.generate(batch, n: {samples}, max_new: {new})
    base  = ref.logprob(roll)
    score = judge(roll)
    adv   = grpo(score, eps: 1e-4)
    update actor {{
        logp = actor.logprob(roll)
        minimize mean(clip(exp(logp - roll.logprob), adv) + 0.04 * k3(logp, base) over batch)
    }}
    report loss = mean(score over batch), length = mean(roll.length over batch)
}}
"""
REWARD = """return function(sample)
  return (sample.response:byte(-1) or 0) % 7 / 7
end
"""


def missing(what):
    print(f"adapters.py: {what}", file=sys.stderr)
    sys.exit(3)


def imports():
    try:
        import peft, torch, transformers  # noqa: E401
    except ImportError as error:
        missing(f"{error.name} is not installed; needed: torch, transformers, peft")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers, peft


def write_tokenizer(path, vocab):
    """A token a byte, and nothing behind a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["<pad>", "<bos>"] + sorted(pre_tokenizers.ByteLevel.alphabet())
    words += [f"x{i:06d}" for i in range(len(words), vocab)]
    t = Tokenizer(models.BPE(vocab={w: i for i, w in enumerate(words)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<pad>", "<bos>"])
    t.save(os.path.join(path, "tokenizer.json"))


def write_inputs(work, shape, grpo):
    torch, transformers, _ = imports()
    path = os.path.join(work, "model")
    os.mkdir(path)
    torch.manual_seed(1)
    # 0.5B is Qwen2.5's, with biases of q, k and v
    family = "Qwen2" if shape is SHAPES["half"] else "Llama"
    config = getattr(transformers, family + "Config")(
        num_hidden_layers=shape.layers, hidden_size=shape.hidden,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.ffn, vocab_size=shape.vocab,
        max_position_embeddings=256, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=None, pad_token_id=0)
    model = getattr(transformers, family + "ForCausalLM")(config)
    model.generation_config.eos_token_id = None
    # else each token would be followed by itself, for its row of the head is what
    # the residual began with, and all rewards of a prompt would be equal
    model.model.norm.weight.data.fill_(0.3)
    model.save_pretrained(path)
    write_tokenizer(path, shape.vocab)
    r = random.Random(1)
    with open(os.path.join(work, "rows.jsonl"), "w") as out:
        for _ in range(4 * shape.prompts if grpo else shape.rows):
            text = "".join(r.choice("abcdefghijklmnopqrstuvwxyz")
                           for _ in range(PROMPT + RESPONSE))
            out.write(json.dumps({"q": text[:PROMPT], "a": text[PROMPT:]}) + "\n")
    with open(os.path.join(work, "fit.rlf"), "w") as out:
        out.write(PROGRAM.format(rank=RANK, rows=shape.rows) if not grpo else
                  GRPO.format(rank=RANK, dropout=DROPOUT, prompts=shape.prompts,
                              samples=SAMPLES, new=NEW))
    with open(os.path.join(work, "reward.lua"), "w") as out:
        out.write(REWARD)


def finish(command, work, lines=None):
    """Runs it; its standard output, the bytes that it had resident at most, and the
    processor seconds that it had taken when each line came to the file `lines`."""
    ticks = os.sysconf("SC_CLK_TCK")
    taken = []
    with open(os.path.join(work, "out"), "w+") as out:
        process = subprocess.Popen(command, cwd=work, stdout=out)
        while lines:
            with open(f"/proc/{process.pid}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            if fields[0] == "Z":
                break
            n = 0
            if os.path.exists(lines):
                with open(lines) as file:
                    n = file.read().count("\n")
            now = (int(fields[11]) + int(fields[12])) / ticks
            taken += [now] * (n - len(taken))
            time.sleep(0.02)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 3:
            sys.exit(3)
        if process.returncode:
            sys.exit(f"adapters.py: {command[0]} ended with {process.returncode}")
        out.seek(0)
        return out.read(), usage.ru_maxrss * 1024, taken


def least(ends):
    """Of what had been taken at the ends of steps, the least of a step behind the
    first."""
    return min(b - a for a, b in zip(ends, ends[1:]))


def rlflow(program, work, threads, number):
    """Wall and processor seconds of a step, resident bytes, the first loss."""
    run = os.path.join(work, f"run{number}")
    lines = os.path.join(run, "metrics.jsonl")
    _, most, taken = finish(
        [program, "run", "fit.rlf", "--steps", str(STEPS), "--samples", "0", "-q",
         "--threads", str(threads), "--save-every", "never", "--out", run], work,
        lines)
    with open(lines) as file:
        steps = [json.loads(line) for line in file]
    wall = min(s["seconds"] for s in steps[1:])
    return wall, least(taken), most, steps[0]["loss"]


def printed(program, work, threads):
    """The bytes that check says a run takes."""
    text, _, _ = finish([program, "check", "fit.rlf", "--threads", str(threads)],
                        work)
    units = {"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
    for line in text.splitlines():
        words = line.split()
        if words and words[0] == "all" and line.startswith("all  "):
            return sum(float(a) * units[b] for a, b in zip(words[1::2], words[2::2]))
    sys.exit("adapters.py: check prints no memory")


def tokenizer_of(work, transformers):
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(work, "model", "tokenizer.json"),
        pad_token="<pad>", bos_token="<bos>", eos_token="<bos>", padding_side="left")


def seconds():
    """Wall and processor time so far."""
    t = os.times()
    return time.perf_counter(), t.user + t.system


def peft_steps(work, threads):
    """PEFT's part, in a process of its own: seconds of a step and the first loss."""
    torch, transformers, peft = imports()
    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        os.path.join(work, "model"), dtype=torch.float32, attn_implementation="sdpa")
    model = peft.get_peft_model(model, peft.LoraConfig(
        r=RANK, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0)
    with open(os.path.join(work, "rows.jsonl")) as lines:
        texts = [row["q"] + row["a"] for row in map(json.loads, lines)]
    ids = torch.tensor(tokenizer_of(work, transformers)(texts)["input_ids"])
    assert ids.shape[1] == PROMPT + RESPONSE
    ends, first = [], None
    labels = ids.clone()
    labels[:, :PROMPT] = -100
    for _ in range(STEPS):
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        first = loss.item() if first is None else first
        ends.append(seconds())
    print(*map(least, zip(*ends)), first)


def trl_steps(work, shape, threads):
    """The same of TRL's GRPO; the mean reward in the place of a loss."""
    torch, transformers, peft = imports()
    try:
        import datasets, trl  # noqa: E401
    except ImportError as error:
        missing(f"{error.name} is not installed; needed: trl, datasets")
    torch.set_num_threads(threads)
    datasets.disable_progress_bars()
    ends, lengths, rewards = [], [], []

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, *_args, **_kwargs):
            ends.append(seconds())

    def reward(completions, completion_ids, **_rest):
        lengths.extend(len(ids) for ids in completion_ids)
        rewards.extend(text.encode()[-1] % 7 / 7 for text in completions)
        return rewards[-len(completions):]

    with open(os.path.join(work, "rows.jsonl")) as lines:
        prompts = [row["q"] for row in map(json.loads, lines)]
    args = trl.GRPOConfig(
        output_dir=os.path.join(work, "trl"), report_to=[], save_strategy="no",
        logging_strategy="no", disable_tqdm=True, use_cpu=True, bf16=False,
        per_device_train_batch_size=shape.prompts * SAMPLES, max_steps=STEPS,
        learning_rate=1e-4, max_grad_norm=1.0, seed=1, gradient_checkpointing=False,
        num_generations=SAMPLES, max_completion_length=NEW, num_iterations=1,
        beta=0.04, loss_type="grpo", temperature=1.0,
        generation_kwargs={"min_new_tokens": NEW},
        model_init_kwargs={"dtype": "float32", "attn_implementation": "sdpa"})
    trainer = trl.GRPOTrainer(
        model=os.path.join(work, "model"), reward_funcs=reward, args=args,
        train_dataset=datasets.Dataset.from_dict({"prompt": prompts}),
        processing_class=tokenizer_of(work, transformers), callbacks=[Clock()],
        peft_config=peft.LoraConfig(
            r=RANK, lora_alpha=32, lora_dropout=DROPOUT, target_modules="all-linear",
            task_type="CAUSAL_LM"))
    torch.set_num_threads(threads)
    trainer.train()
    if set(lengths) != {NEW} or len(lengths) != shape.prompts * SAMPLES * STEPS:
        sys.exit(f"adapters.py: {len(lengths)} responses have {set(lengths)} tokens")
    first = rewards[:shape.prompts * SAMPLES]
    print(*map(least, zip(*ends)), sum(first) / len(first))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rlflow", help="the program")
    parser.add_argument("size", nargs="?", choices=list(SHAPES), default="15m")
    parser.add_argument("--grpo", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", metavar="DIRECTORY", help=argparse.SUPPRESS)
    parser.add_argument("--peft", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape, grpo = SHAPES[options.size], options.grpo
    if options.write:
        return write_inputs(options.write, shape, grpo)
    if options.peft:
        return (trl_steps(options.peft, shape, options.threads) if grpo
                else peft_steps(options.peft, options.threads))
    os.environ.setdefault("RLFLOW_STDLIB", os.path.join(HERE, "..", "stdlib"))
    program = os.path.abspath(options.rlflow)
    with tempfile.TemporaryDirectory() as work:
        again = [sys.executable, os.path.abspath(__file__), program, options.size,
                 "--threads", str(options.threads)] + ["--grpo"] * grpo
        # not from here, since what starts a process counts as its memory
        finish(again + ["--write", work], work)
        says = printed(program, work, options.threads)
        ours, theirs = [], []
        for i in range(options.rounds):
            ours.append(rlflow(program, work, options.threads, i))
            text, most, _ = finish(again + ["--peft", work], work)
            wall, taken, loss = map(float, text.split()[-3:])
            theirs.append((wall, taken, most, loss))
            for name, x in ("rlflow", ours[-1]), ("PEFT", theirs[-1]):
                print(f"{name}: {x[0]:.3f} s, {x[1]:.2f} s of processors, "
                      f"{x[2] >> 20} MB", file=sys.stderr)
    ratio = sorted(b[1] / max(a[1], 1e-3) for a, b in zip(ours, theirs))
    wall, taken = ([min(x[i] for x in y) for y in (ours, theirs)] for i in (0, 1))
    m, n = (max(x[2] for x in y) for y in (ours, theirs))
    tokens = (f"{shape.prompts} prompts x {SAMPLES}, {NEW} new tokens" if grpo
              else f"{shape.rows} rows")
    print(f"{options.size}, {tokens}, {options.threads} threads, "
          f"load {os.getloadavg()[0]:.1f}, first {'reward' if grpo else 'loss'} "
          f"{ours[0][3]:.5f} and {theirs[0][3]:.5f}; processor time of pairs "
          f"{ratio[0]:.2f} to {ratio[-1]:.2f}")
    print(f"| | rlflow | {'TRL and PEFT' if grpo else 'PEFT'} | ratio |\n|---|---|---|---|")
    print(f"| a step, wall | {wall[0]:.3f} s | {wall[1]:.3f} s | {wall[1] / wall[0]:.2f} |")
    print(f"| a step, user and system | {taken[0]:.2f} s | {taken[1]:.2f} s | "
          f"{taken[1] / max(taken[0], 1e-3):.2f} |")
    print(f"| resident | {m >> 20} MB ({says / (1 << 20):.0f} MB printed) | {n >> 20} MB | "
          f"{n / m:.2f} |")


if __name__ == "__main__":
    main()
