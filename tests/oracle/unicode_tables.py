"""Writes engine/text/unicode_data.h: the properties of characters that the
regular expressions and the normalizers of tokenizer files are about.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install unicodedata2==16.0.0 regex==2024.11.6
    /tmp/venv/bin/python tests/oracle/unicode_tables.py \\
        > engine/text/unicode_data.h

Both packages hold Unicode 16.0, as the reference does (tokenizers 0.21.2 and
later). The reference's normalizers are those of Unicode 9.0: what has been
assigned until then is asked of perl (5.24 or later), whose property
Present_In is the same in every version. tests/oracle/text_regex.py holds the
result against the reference itself."""

import subprocess
import sys

import regex
import regex._regex as engine
import regex._regex_core as core
import unicodedata2

assert unicodedata2.unidata_version == "16.0.0"
assert regex.__version__ == "2.5.148", regex.__version__

CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po "
              "Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn").split()
FLAGS = ["Alphabetic", "Lowercase", "Uppercase"]
CODES = range(0x110000)


def runs(value):
    """(first, value) wherever the value changes."""
    out = []
    for c in CODES:
        v = value(c)
        if not out or out[-1][1] != v:
            out.append((c, v))
    return out


def members(pattern):
    return {ord(c) for c in regex.findall(pattern, TEXT)}


def number_lines(numbers):
    line = "   "
    for n in numbers:
        item = f" {n:#x}," if n > 9 else f" {n},"
        if len(line) + len(item) > 80:
            yield line
            line = "   "
        line += item
    yield line


def array(kind, name, numbers, comment):
    print(f"\n/* {comment} */\nstatic const {kind} {name}[] = {{")
    print("\n".join(number_lines(numbers)))
    print("};")


def rows(name, kind, items, comment):
    print(f"\n/* {comment} */\nstatic const struct {{\n    {kind}\n}} "
          f"{name}[] = {{")
    for item in items:
        print(f"    {{{item}}},")
    print("};")


def names(prop):
    """name: the value's number in the package, long and short names."""
    return {n.lower(): v for n, v in core.PROPERTIES[prop][1].items()
            if n.isalpha()}


TEXT = "".join(map(chr, CODES))


def main():
    flags = [members(r"\p{%s}" % f) for f in FLAGS]
    kinds = runs(lambda c: CATEGORIES.index(unicodedata2.category(chr(c))) << 3
                 | sum((c in f) << i for i, f in enumerate(flags)))
    scripts = {}
    numbers = names("SCRIPT")
    of_number = {}
    for name, number in sorted(numbers.items()):
        of_number.setdefault(number, name)
    order = sorted(of_number)
    script_of = {}
    for i, number in enumerate(order):
        for c in members(r"\p{Script=%s}" % of_number[number]):
            script_of[c] = i
        scripts[number] = i

    print("/* Has what Unicode says about each character: written by\n"
          " * tests/oracle/unicode_tables.py, which says from what. Included\n"
          " * by unicode.c only. */\n#ifndef RLF_TEXT_UNICODE_DATA_H\n"
          "#define RLF_TEXT_UNICODE_DATA_H\n\n#include <stdint.h>\n")
    print("/* General categories, and what else a character is. */\nenum {")
    for i, c in enumerate(CATEGORIES):
        print(f"    CATEGORY_{c.upper()} = {i},")
    for i, f in enumerate(FLAGS):
        print(f"    FLAG_{f.upper()} = {1 << i},")
    print("};")
    array("uint32_t", "kind_runs", [c << 8 | v for c, v in kinds],
          "Of each run of characters: first << 8 | category << 3 | flags.")
    array("uint32_t", "script_runs",
          [c << 8 | v for c, v in runs(script_of.__getitem__)],
          "Of each run of characters: first << 8 | script.")

    one = {n.lower(): 1 << i for i, n in enumerate(CATEGORIES)}
    known = names("GENERALCATEGORY")
    of_category = {}  # the package's number: a mask
    for name, number in known.items():
        if name in one:
            of_category[number] = one[name]
    for name, number in known.items():
        if len(name) == 1:
            of_category[number] = sum(
                m for n, m in one.items() if n[0] == name)
    table = {n: of_category[v] for n, v in known.items()
             if v in of_category and n not in ("cntrl", "digit", "punct")}
    table["any"] = (1 << len(CATEGORIES)) - 1
    table["assigned"] = table["any"] & ~one["cn"]
    table["punct"] = table["p"]
    table["lc"] = table["casedletter"] = one["lu"] | one["ll"] | one["lt"]
    rows("category_names", "const char *name;\n    uint32_t mask;",
         [f'"{n}", {m:#x}' for n, m in sorted(table.items())],
         "Names of sets of categories, a bit for each.")
    rows("script_names", "const char *name;\n    uint32_t script;",
         [f'"{n}", {scripts[v]}' for n, v in sorted(numbers.items())],
         "Names of scripts.")

    # The package leaves out both I, for Turkish.
    simple, full = {0x49: 0x69}, {0x130: "i\u0307"}
    for c in CODES:
        if 0xD800 <= c < 0xE000:
            continue
        folded = engine.fold_case(regex.F | regex.I | regex.U, chr(c))
        if len(folded) > 1:
            full[c] = folded
        elif folded != chr(c):
            simple[c] = ord(folded)
    same = {}  # what folds to the same several is also the other in a class
    for c, to in sorted(full.items()):
        if same.setdefault(to, c) != c:
            simple[c] = same[to]
    steps = []  # first, last, step, difference
    for c, to in sorted(simple.items()):
        last = steps[-1] if steps else None
        if last and last[3] == to - c and c - last[1] in (1, 2) and \
                (last[0] == last[1] or last[2] == c - last[1]):
            last[2] = c - last[1]
            last[1] = c
        else:
            steps.append([c, c, 1, to - c])
    rows("folds", "uint32_t first, last, step;\n    int32_t difference;",
         [f"{a:#x}, {b:#x}, {s}, {d}" for a, b, s, d in steps],
         "Simple case folding of every step-th character of first..last.")
    array("uint32_t", "long_folds", sorted(full),
          "Characters that fold to several.")
    array("uint32_t", "long_fold_pairs",
          [ord(c) for pair in sorted({f[:2] for f in full.values()})
           for c in pair],
          "The first two characters of what they fold to, pair by pair.")

    present = subprocess.run(
        ["perl", "-e", "no warnings; for my $c (0..0x10ffff) "
         "{ print chr($c) =~ /\\p{Present_In=9.0}/ ? 1 : 0 }"],
        check=True, capture_output=True, text=True).stdout
    assert len(present) == 0x110000
    array("uint32_t", "unicode9_runs",
          [c for c, v in runs(lambda c: int(present[c]))],
          "The first codes of runs of characters assigned in Unicode 9.0, and of "
          "runs of\n * others, in turn; the first run is assigned.")
    assert present[0] == "1"
    print("\n#endif")
    sys.stdout.flush()


main()
