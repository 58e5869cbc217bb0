"""Writes tests/data/pre_tokenizers.json: how the `tokenizers` library splits
texts by pre-tokenizers in many orders, that of Falcon among them.

    tests/oracle/pre_tokenizers.py > tests/data/pre_tokenizers.json

Made with tokenizers 0.23.3. The test is tests/unit/text_pre_tokenizer.c."""

import json
import random
import sys

import tokenizers
from tokenizers import Tokenizer, models

WAYS = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"]

TEXTS = [
    " ", "a", "Hello, world!", " Hello  world ", "don't can't -- 'quoted'... \"x\"!?",
    "12345 3.14159 1,000,000 2024-01-31 0x1F 1234", "tabs\tand\nlines\n\n  end ",
    "$x^2+y<=z|w~`=>", "naïve café ²³¹ ½¼¾ Ⅷ ٣٤٥ ﹏_⸺⸻", "日本語、中文。한국어「」",
    "👍🏽👨‍👩‍👧 x\u200dy\u200cz", "a\u0301b\u0300 \u00a0nbsp\u3000\u2028\u0085x", "!!!???----____####",
    "f(x)[0]={1:'a',2:\"b\"};//12%", "᭎᭏ ॽ৽ ⹃ 𑇉 ᙭ ⓐⒷ\U0001f130", "Ġalready Ċ ▁meta▁", "007 1000000 99",
]


def simple(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return {"type": "Punctuation", "behavior": rng.choice(WAYS)}
    if kind == 1:
        return {"type": "Digits", "individual_digits": rng.random() < 0.5}
    if kind == 2:
        return {"type": "Whitespace"}
    if kind == 3:
        return {"type": "WhitespaceSplit"}
    regex = rng.choice(["[0-9][0-9][0-9]", "\\p{L}+", "\\s+", "[^\\r\\n]", "\\w{2}", " ", "[aeiou]"])
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": rng.choice(WAYS),
            "invert": rng.random() < 0.3}


def byte_level(rng):
    return {"type": "ByteLevel", "add_prefix_space": rng.random() < 0.3, "trim_offsets": True,
            "use_regex": rng.random() < 0.5}


def cases():
    rng = random.Random(11)
    digits = {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated",
              "invert": False}
    yield [{"type": "Punctuation", "behavior": "Contiguous"},
           {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
           {"type": "Digits", "individual_digits": False}, digits]
    for way in WAYS:
        yield [{"type": "Punctuation", "behavior": way}]
    for one in ({"type": "Whitespace"}, {"type": "WhitespaceSplit"}):
        yield [one]
    for _ in range(40):
        before = [simple(rng) for _ in range(rng.randrange(3))]
        after = [simple(rng) for _ in range(rng.randrange(3))]
        middle = [byte_level(rng)] if rng.random() < 0.7 else []
        yield before + middle + after or [byte_level(rng)]


def splitter(steps):
    t = Tokenizer(models.BPE())
    root = json.loads(t.to_str())
    root["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    return Tokenizer.from_str(json.dumps(root)).pre_tokenizer


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


def characters():
    """Those below U+20000 without large uniform blocks and surrogates."""
    for c in range(0x20000):
        if not (0x3400 <= c < 0xA000 or 0xAC00 <= c < 0xF900 or 0x17000 <= c < 0x18B00):
            yield c


def all_of(steps):
    """The lengths in bytes of the pieces of each character between two others."""
    split, listed, out = splitter(steps), list(characters()), []
    for i in range(0, len(listed), 64):
        text = "".join(f"一{chr(c)}一" for c in listed[i:i + 64])
        out += [len(piece.encode()) for piece, _ in split.pre_tokenize_str(text)]
    return fnv(" ".join(map(str, out)).encode())


def main():
    rows = [{"steps": steps, "pieces": [[piece for piece, _ in splitter(steps).pre_tokenize_str(text)]
                                        for text in TEXTS]} for steps in cases()]
    whole = [{"steps": [one], "hash": all_of([one])}
             for one in ({"type": "Punctuation"}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"},
                         {"type": "Digits", "individual_digits": True})]
    json.dump({"made_with": f"tokenizers {tokenizers.__version__}", "texts": TEXTS, "cases": rows,
               "all": whole}, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    print()


main()
