"""What the tests of the module share: its place, small runs, processes."""

import os
import subprocess
import sys
import textwrap

ROOT = os.environ["RLFLOW_SOURCE"]
COMMAND = os.environ["RLFLOW"]
EXAMPLES = os.path.join(ROOT, "examples")
ARITH = os.path.join(EXAMPLES, "models", "arith")
ROWS = os.path.join(EXAMPLES, "data", "arith.jsonl")
sys.path.insert(0, os.path.join(ROOT, "python"))

import rlflow  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

PROGRAM = """
param start : path "a Hugging Face directory"
param file  : path "JSON lines: question, answer"
param size  : int = 4 in 1..64 "prompts a step"
data  rows  = jsonl(file, prompt: "question", answer: "answer")
model actor = lm(start, optimizer: adamw(lr: 1e-4))
hook  judge = %s
flow reward(batch: rows[size]) {
    roll  = actor.generate(batch, n: 2, max_new: 4)
    score = judge(roll)
    adv   = score - mean(score over group)
    update actor minimize -mean(actor.logprob(roll) * adv over batch)
    report reward = mean(score over batch)
}
"""


NAMES = {"start": ARITH, "file": ROWS}


def opened(hook="host()", **more):
    options = {"steps": 3, **more.pop("options", {})}
    return rlflow.open(text=PROGRAM % hook, start=ARITH, file=ROWS,
                       options=options, **more)


def right(sample):
    return sample.response == sample["answer"]


def script(words, *arguments, **options):
    """A program of Python in a process of its own, that can import the module:
    `start`, `file` and PROGRAM are there."""
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"),
                       PYTHONWARNINGS="ignore::DeprecationWarning",
                       ARITH=ARITH, ROWS=ROWS, PROGRAM=PROGRAM % "host()")
    head = ("import os, sys, signal, threading, time, rlflow\n"
            "def opened(**options):\n"
            "    run = rlflow.open(text=os.environ['PROGRAM'],"
            " start=os.environ['ARITH'], file=os.environ['ROWS'],"
            " options={'steps': 3, **options})\n"
            "    run.hook('judge', lambda s: s.response == s['answer'])\n"
            "    return run\n")
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(words), *arguments],
        env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **options)


def said(words, *arguments, status=0):
    """What such a program prints, when it ends with that status."""
    child = script(words, *arguments)
    out, err = child.communicate(timeout=120)
    if child.returncode != status:
        raise AssertionError("status %d: %s%s" % (child.returncode, out, err))
    return out, err
