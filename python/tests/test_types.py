"""The module's types: mypy --strict finds nothing in it, nor in a program that uses
all of it, and finds what is wrong in another one. mypy takes some 8 seconds."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import ROOT  # noqa: E402

USER = '''
import logging
from pathlib import Path
from typing import Dict, List, Optional

import rlflow


def judge(sample: rlflow.Sample) -> float:
    tokens: List[int] = sample.tokens
    return float(sample.response == sample["answer"]) + 0 * len(tokens)


def show(run: rlflow.Session) -> None:
    print(run.steps, run.metrics["reward"], run.doing)


def train(path: Path) -> Dict[str, float]:
    last: Dict[str, float] = {}
    with rlflow.open(path, lr=1e-5, options={"steps": 3, "out": path}) as run:
        run.hook("judge", judge)

        @run.hook("other")
        def other(sample: rlflow.Sample) -> bool:
            return not sample.prompt

        for metrics in run:
            last = metrics
        step: Optional[Dict[str, float]] = run.step()
        run.train(show).stop()
        weights: rlflow.Weights = run.weights("actor")
        print(step, weights.is_view, other(rlflow.Sample(None)),
              {name: array.shape for name, array in weights.items()})
    return last


def look(path: str) -> None:
    try:
        with rlflow.Record(path) as record:
            steps, values = record.metrics["reward"]
            logging.info("%d %f", steps[0], values[0])
            for start in record.starts:
                print(start.how, start.options["steps"])
    except rlflow.ProgramError as error:
        for one in error.diagnostics:
            print(one.path, one.line, one.hint)


with rlflow.Session("", options={"max_new": 4}) as s:
    for answer in s.generate("model", ["1 plus 2", [{"role": "user"}]]):
        print(answer["text"] + str(answer["ids"][0]))
    scores: Dict[str, rlflow.Score] = s.evaluate()
    print(s.compare("accuracy", scores["accuracy"]).mean)
'''

WRONG = '''
import rlflow

with rlflow.open("a.rlf") as run:
    print(run.steps + "1")
    run.hook("judge", 3)
    run.metrics["reward"] + "x"
    run.weights(5)
    run.nosuch()
'''


@unittest.skipUnless(importlib.util.find_spec("mypy"), "there is no mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        """mypy --strict on the module, a program of a user and a wrong one."""
        with tempfile.TemporaryDirectory() as tmp:
            package = os.path.join(tmp, "rlflow")
            shutil.copytree(os.path.join(ROOT, "python", "rlflow"), package,
                            ignore=shutil.ignore_patterns("__pycache__"))
            for name, options in (("_declarations.py", []),
                                  ("_declarations.pyi", ["--stub"])):
                with open(os.path.join(package, name), "w") as out:
                    subprocess.run(
                        [sys.executable,
                         os.path.join(ROOT, "python", "declarations.py"),
                         *options, os.path.join(ROOT, "engine", "rlflow.h")],
                        stdout=out, check=True)
            for name, text in (("user.py", USER), ("wrong.py", WRONG)):
                with open(os.path.join(tmp, name), "w") as out:
                    out.write(text)
            found = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--cache-dir",
                 os.devnull, "rlflow", "user.py", "wrong.py"],
                cwd=tmp, text=True, capture_output=True)
        lines = [line for line in found.stdout.split("\n") if ": error: " in line]
        self.assertEqual([line.split(":")[:2] for line in lines],
                         [["wrong.py", str(n)] for n in range(5, 10)],
                         found.stdout + found.stderr)


if __name__ == "__main__":
    unittest.main()
