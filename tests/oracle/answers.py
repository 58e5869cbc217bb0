#!/usr/bin/env python3
"""What math-verify says of the pairs of answers in tests/answers.tsv.

Writes its verdict as their fourth column: same, other, or error. It is no
oracle, since ours are what a teacher would say, but where the two differ the
reason should be known. Those pairs are printed; the count stands in the file.
Run again when pairs were added:

    python3 -m venv VENV && VENV/bin/pip install math-verify==0.9.0 \\
        latex2sympy2_extended==1.11.0 sympy==1.14.0 antlr4-python3-runtime==4.13.2
    VENV/bin/python tests/oracle/answers.py
"""
import collections
import logging
import os

from math_verify import parse, verify

PATH = os.path.join(os.path.dirname(__file__), "..", "answers.tsv")


def verdict(a, b):
    try:
        gold, answer = (parse("\\boxed{%s}" % text) for text in (a, b))
        return "same" if verify(gold, answer) else "other"
    except Exception:
        return "error"


def main():
    logging.disable(logging.CRITICAL)
    counts, lines = collections.Counter(), []
    with open(PATH, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip("\n").split("\t")
            if line.strip() and not line.startswith("#"):
                kind, a, b = fields[:3]
                said = verdict(a, b)
                counts[kind, said] += 1
                if kind != said:
                    print(kind, said, a, b, sep="\t")
                fields = [kind, a, b, said]
            lines.append("\t".join(fields) + "\n")
    with open(PATH, "w", encoding="utf-8") as file:
        file.writelines(lines)
    for (kind, said), count in sorted(counts.items()):
        print(f"# {kind}: {said} for math-verify: {count}")


if __name__ == "__main__":
    main()
