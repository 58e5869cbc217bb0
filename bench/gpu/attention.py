#!/usr/bin/env python3
"""Attention of rlflow beside PyTorch's flash attention, on one GPU, in one run.

    bench/gpu/attention.py [tiny] [--program bench/gpu/attention]

Runs the program, then torch.nn.functional.scaled_dot_product_attention with the
flash backend on sequences of the same shapes, bf16, causal, forward and
backward. The ratio is PyTorch's time over ours. `tiny`: on the CPU, with
whatever backend PyTorch has there, a look at the program.

Exit status 3: PyTorch or a GPU is missing; nothing is installed from here.
"""

import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = 0.6

# as in attention.c: heads, kv_heads, d, sequences, length
SHAPES = {
    "1b": (32, 8, 64, 8, 2048),
    "7b": (32, 32, 128, 8, 2048),
    "8b": (32, 8, 128, 8, 2048),
    "long": (32, 8, 128, 1, 16384),
    "ragged": (32, 8, 128, 64, 256),
}
TINY = {"tiny": (4, 2, 64, 2, 40)}


def missing(what):
    print(f"attention.py: {what}", file=sys.stderr)
    sys.exit(3)


def ours(program, shapes):
    """Seconds by row, of the program's table."""
    done = subprocess.run([program, *shapes], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"attention.py: {program}: {done.stderr.strip()}")
    units = {"ms": 1e-3, "us": 1e-6}
    seconds = {}
    for line in done.stdout.splitlines():
        cells = [cell.split() for cell in line.strip("|").split("|")]
        if len(cells) > 2 and len(cells[1]) == 2 and cells[1][1] in units:
            seconds[" ".join(cells[0])] = float(cells[1][0]) * units[cells[1][1]]
    return seconds


def timed(torch, call, device, times):
    """Seconds of a call: the best of five rounds, the first left out."""

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    best = float("inf")
    for i in range(6):
        wait()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        wait()
        if i:
            best = min(best, (time.perf_counter() - begin) / times)
    return best


def theirs(torch, shape, device):
    """Seconds of PyTorch's forward and backward."""
    heads, kv_heads, d, n, length = shape
    attend = torch.nn.functional.scaled_dot_product_attention
    dtype = torch.bfloat16

    def numbers(h):
        x = torch.randn(n, length, h, d, device=device, dtype=dtype)
        return x.transpose(1, 2).requires_grad_()

    q, k, v = numbers(heads), numbers(kv_heads), numbers(kv_heads)
    gqa = {"enable_gqa": True} if heads != kv_heads else {}

    def forward():
        return attend(q, k, v, is_causal=True, scale=0.1, **gqa)

    o = forward()
    d_o = torch.randn_like(o)

    def backward():
        torch.autograd.grad(o, (q, k, v), d_o, retain_graph=True)

    with torch.no_grad():
        f = timed(torch, forward, device, 20)
    return f, timed(torch, backward, device, 20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tiny", nargs="?", choices=["tiny"])
    parser.add_argument("--program", default=os.path.join(HERE, "attention"))
    options = parser.parse_args()
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        missing(f"{error.name} is not installed; needed: torch>=2.6")
    device = "cpu" if options.tiny else "cuda"
    if device == "cuda" and not torch.cuda.is_available():
        missing("PyTorch sees no GPU")
    shapes = TINY if options.tiny else SHAPES
    backends = [SDPBackend.FLASH_ATTENTION]
    if options.tiny:
        backends.append(SDPBackend.MATH)
    seconds = ours(options.program, list(shapes))
    print(f"\n| attention | rlflow | PyTorch {torch.__version__} | ratio | wanted |")
    print("|---|---|---|---|---|")
    for name, shape in shapes.items():
        with sdpa_kernel(backends):
            both = theirs(torch, shape, device)
        for way, other in zip(("forward", "backward"), both):
            mine = seconds[f"{name} {way}"]
            print(f"| {name} {way} | {mine * 1e3:.3f} ms | {other * 1e3:.3f} ms | "
                  f"{other / mine:.2f} | {WANTED} |", flush=True)


if __name__ == "__main__":
    main()
