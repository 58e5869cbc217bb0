#!/usr/bin/env python3
"""A training step with adapters of rlflow beside one of PEFT, on a CPU, in one run.

    bench/adapters.py RLFLOW [tiny|15m|half] [--threads N] [--rounds N]

Both start from the same random weights (a Llama of a few thousand weights, of the
15M story shape, or of a Qwen2.5-0.5B's), in f32, and train adapters of rank 16
beside all products of a layer with AdamW on the same texts: prompts of 32 and
responses of 96 tokens, as many as are printed, all of them in each step. Time is the least of the
steps after the first, over rounds by turns; memory is the largest resident size of
the process. The first step's loss of both is printed, too: it is of the same
numbers.

Run it with a Python that has torch, transformers and peft: it starts itself for
PEFT's part. Exit status 3: a package is missing; nothing is installed from here.
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
PROMPT, RESPONSE, STEPS, RANK = 32, 96, 4, 16
SHAPES = {
    "tiny": types.SimpleNamespace(layers=2, hidden=64, heads=4, kv_heads=2,
                                  ffn=128, vocab=300, rows=2),
    "15m": types.SimpleNamespace(layers=6, hidden=288, heads=6, kv_heads=6,
                                 ffn=768, vocab=32000, rows=16),
    "half": types.SimpleNamespace(layers=24, hidden=896, heads=14, kv_heads=2,
                                  ffn=4864, vocab=151936, rows=4),
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


def write_inputs(work, shape):
    torch, transformers, _ = imports()
    path = os.path.join(work, "model")
    os.mkdir(path)
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        num_hidden_layers=shape.layers, hidden_size=shape.hidden,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.ffn, vocab_size=shape.vocab,
        max_position_embeddings=256, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=None, pad_token_id=0)
    model = transformers.LlamaForCausalLM(config)
    model.generation_config.eos_token_id = None
    model.save_pretrained(path)
    write_tokenizer(path, shape.vocab)
    r = random.Random(1)
    with open(os.path.join(work, "rows.jsonl"), "w") as out:
        for _ in range(shape.rows):
            text = "".join(r.choice("abcdefghijklmnopqrstuvwxyz")
                           for _ in range(PROMPT + RESPONSE))
            out.write(json.dumps({"q": text[:PROMPT], "a": text[PROMPT:]}) + "\n")
    with open(os.path.join(work, "fit.rlf"), "w") as out:
        out.write(PROGRAM.format(rank=RANK, rows=shape.rows))


def finish(command, work):
    """Runs it; its standard output, and the bytes that it had resident at most."""
    with open(os.path.join(work, "out"), "w+") as out:
        process = subprocess.Popen(command, cwd=work, stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 3:
            sys.exit(3)
        if process.returncode:
            sys.exit(f"adapters.py: {command[0]} ended with {process.returncode}")
        out.seek(0)
        return out.read(), usage.ru_maxrss * 1024


def rlflow(program, work, threads, number):
    run = os.path.join(work, f"run{number}")
    _, most = finish(
        [program, "run", "fit.rlf", "--steps", str(STEPS), "--samples", "0", "-q",
         "--threads", str(threads), "--save-every", "never", "--out", run], work)
    with open(os.path.join(run, "metrics.jsonl")) as lines:
        steps = [json.loads(line) for line in lines]
    return min(s["time"]["seconds"] for s in steps[1:]), most, steps[0]["loss"]


def peft_steps(work, shape, threads):
    """PEFT's part, in a process of its own: seconds of a step and the first loss."""
    torch, transformers, peft = imports()
    torch.set_num_threads(threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        os.path.join(work, "model"), dtype=torch.float32, attn_implementation="sdpa")
    model = peft.get_peft_model(model, peft.LoraConfig(
        r=RANK, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-4, weight_decay=0)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(work, "model", "tokenizer.json"))
    with open(os.path.join(work, "rows.jsonl")) as lines:
        texts = [row["q"] + row["a"] for row in map(json.loads, lines)]
    ids = torch.tensor(tokenizer(texts)["input_ids"])
    assert ids.shape[1] == PROMPT + RESPONSE
    times, first = [], None
    labels = ids.clone()
    labels[:, :PROMPT] = -100
    for _ in range(STEPS):
        began = time.perf_counter()
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        first = loss.item() if first is None else first
        times.append(time.perf_counter() - began)
    print(min(times[1:]), first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rlflow", help="the program")
    parser.add_argument("size", nargs="?", choices=list(SHAPES), default="15m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", metavar="DIRECTORY", help=argparse.SUPPRESS)
    parser.add_argument("--peft", metavar="DIRECTORY", help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape = SHAPES[options.size]
    if options.write:
        return write_inputs(options.write, shape)
    if options.peft:
        return peft_steps(options.peft, shape, options.threads)
    os.environ.setdefault("RLFLOW_STDLIB", os.path.join(HERE, "..", "stdlib"))
    program = os.path.abspath(options.rlflow)
    with tempfile.TemporaryDirectory() as work:
        again = [sys.executable, os.path.abspath(__file__), program, options.size,
                 "--threads", str(options.threads)]
        # not from here, since what starts a process counts as its memory
        finish(again + ["--write", work], work)
        ours, theirs = [], []
        for i in range(options.rounds):
            ours.append(rlflow(program, work, options.threads, i))
            text, most = finish(again + ["--peft", work], work)
            seconds, loss = map(float, text.split()[-2:])
            theirs.append((seconds, most, loss))
    a, b = (min(x[0] for x in y) for y in (ours, theirs))
    m, n = (max(x[1] for x in y) for y in (ours, theirs))
    print(f"{options.size}, {shape.rows} rows, {options.threads} threads, "
          f"load {os.getloadavg()[0]:.1f}, first loss "
          f"{ours[0][2]:.5f} and {theirs[0][2]:.5f}")
    print("| | rlflow | PEFT | ratio |\n|---|---|---|---|")
    print(f"| a step | {a:.3f} s | {b:.3f} s | {b / a:.2f} |")
    print(f"| resident | {m >> 20} MB | {n >> 20} MB | {n / m:.2f} |")


if __name__ == "__main__":
    main()
