"""Writes engine/text/unicode_normal.h: the properties of characters that the
normalizers of tokenizer files are about.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install tokenizers==0.23.3 regex==2025.11.3
    /tmp/venv/bin/python tests/oracle/unicode_normal.py \\
        > engine/text/unicode_normal.h

Clusters of characters (graphemes) are those of Unicode 17.0, as the reference
has them. Its other normalizers have older versions of their own, not all of
them without mistakes, so that it is asked itself which characters are marks,
control characters and capital letters."""

import sys

import regex
import tokenizers
from tokenizers import normalizers

assert regex.__version__ == "2025.11.3"
assert tokenizers.__version__ == "0.23.3"
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
TEXT = "".join(map(chr, CODES))
CLASSES = ("CR LF Control Extend ZWJ RegionalIndicator Prepend SpacingMark "
           "L V T LV LVT").split()


def number_lines(numbers):
    line = "   "
    for n in numbers:
        item = f" {n:#x}," if n > 9 else f" {n},"
        if len(line) + len(item) > 80:
            yield line
            line = "   "
        line += item
    yield line


def array(name, numbers, comment):
    print(f"\n/* {comment} */\nstatic const uint32_t {name}[] = {{")
    print("\n".join(number_lines(numbers)))
    print("};")


def edges(members):
    """Where runs of members, and runs of others, begin in turn."""
    out = []
    for c in sorted(members):
        if out and out[-1] == c:
            out[-1] = c + 1
        else:
            out += [c, c + 1]
    return out


def bert(**on):
    flags = dict.fromkeys(["clean_text", "handle_chinese_chars",
                           "strip_accents", "lowercase"], False)
    return normalizers.BertNormalizer(**{**flags, **on}).normalize_str


def members(pattern):
    return {ord(c) for c in regex.findall(pattern, TEXT)}


def main():
    marks = normalizers.StripAccents().normalize_str
    clean = bert(clean_text=True)
    accents = bert(strip_accents=True)
    nfd = normalizers.NFD().normalize_str
    lower = normalizers.Lowercase().normalize_str
    print("/* Has what the normalizers of tokenizer files have to know of each\n"
          " * character: written by tests/oracle/unicode_normal.py, which says\n"
          " * from what. Included by unicode.c only. */\n"
          "#ifndef RLF_TEXT_UNICODE_NORMAL_H\n"
          "#define RLF_TEXT_UNICODE_NORMAL_H\n\n#include <stdint.h>")
    where = "The first codes of runs of {}, and of runs of others,\n * in turn."
    array("mark_runs", edges(c for c in CODES if marks("a" + chr(c)) == "a"),
          where.format("combining marks"))
    array("nonspacing_runs",
          edges(c for c in CODES if nfd(chr(c)) == chr(c) and
                accents("a" + chr(c) + "b") == "ab"),
          where.format("marks that take no space"))
    array("control_runs",
          edges(c for c in CODES if clean("a" + chr(c) + "b") == "ab"),
          where.format("control characters"))

    steps, longer = [], []  # first, last, step, difference
    for c in CODES:
        to = lower(chr(c))
        if to == chr(c):
            continue
        if len(to) > 1:
            longer += [c, *map(ord, to)]
            continue
        last, to = steps[-1] if steps else None, ord(to)
        if last and last[3] == to - c and c - last[1] in (1, 2) and \
                (last[0] == last[1] or last[2] == c - last[1]):
            last[2] = c - last[1]
            last[1] = c
        else:
            steps.append([c, c, 1, to - c])
    print("\n/* Lower case of every step-th character of first..last. */\n"
          "static const struct {\n    uint32_t first, last, step;\n"
          "    int32_t difference;\n} lowers[] = {")
    for a, b, s, d in steps:
        print(f"    {{{a:#x}, {b:#x}, {s}, {d}}},")
    print("};")
    assert len(longer) == 3
    array("lower_long", longer, "The one that becomes two characters: it, and "
          "those.")

    word = dict.fromkeys(CODES, 0)
    for i, name in enumerate(CLASSES):
        for c in members(r"\p{GCB=%s}" % name):
            word[c] = i + 1
    for bit, pattern in [(16, r"\p{ExtPict}"), (32, r"\p{InCB=Consonant}"),
                         (64, r"\p{InCB=Linker}"), (128, r"\p{InCB=Extend}")]:
        for c in members(pattern):
            word[c] |= bit
    runs = []
    for c in CODES:
        if not runs or runs[-1] & 0xFF != word[c]:
            runs.append(c << 8 | word[c])
    array("grapheme_runs", runs, "Of each run of characters: first << 8 | "
          "properties | class.")
    print("\n#endif")
    sys.stdout.flush()


main()
