"""Writes tests/data/tokenizers.json: what transformers' AutoTokenizer makes of a
list of texts, and of prompts with responses behind them, for tokenizers of
well-known models.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install transformers==5.24.0 tokenizers==0.23.3 \\
        unicodedata2==16.0.0
    /tmp/venv/bin/python tests/oracle/text_ids.py DATA > tests/data/tokenizers.json

DATA holds the directories listed below. The test tests/unit/text_oracle.c reads
the result and the same directories. A text has null where the tokenizer leaves out
a character that it has no token for: rlflow refuses such texts. A response has
null where a token, or a word of a byte-level tokenizer, goes across its beginning, or
the prompt alone has other ids than in front of it."""

import json
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import tokenizers  # noqa: E402
import transformers  # noqa: E402
import unicodedata2  # noqa: E402

DIRS = [
    "tokenizers/gpt2",
    "tokenizers/llama2",
    "tokenizers/llama3.1",
    "tokenizers/qwen2.5",
    "tokenizers/smollm2",
    "models/stories260K-hf",
    "models/stories-0.9M-tok105-hf",
    "models/verl-arith-tiny-llama-hf",
]

TEXTS = [
    "",
    " ",
    "a",
    "Hello, world!",
    " Hello  world ",
    "Once upon a time, there was a little girl named Lily.",
    "It's they'll WE'VE I'D don't 'S 'Twas",
    "   leading and trailing   ",
    "tabs\tand\t\ttabs\nlines\n\n\nmore\r\nwindows\r\n\r\nend",
    "\n",
    "\n\n  \n",
    " \t \n",
    "12345 3.14159 1,000,000 2024-01-31 0x1F 1e-5 ٣٤٥ ²³ ½ Ⅷ",
    "def f(x):\n    return x * 2  # comment\n\n\tif x >= 10:\n\t\tprint('a', \"b\")\n",
    "int main(void) { for (int i = 0; i < 10; i++) a[i] += i << 2; return 0; }",
    "<html><body class=\"x\">&amp;</body></html>",
    "$\\frac{a}{b} + \\sqrt{x^2}$ \\boxed{42}",
    "naïve café résumé Ångström",
    "nai\u0308ve cafe\u0301 re\u0301sume\u0301 A\u030angstro\u0308m",
    "ﬁne ﬀ ㎏ ① ｆｕｌｌ",
    "日本語のテキスト、中文文本。한국어 텍스트",
    "\u1112\u1161\u11ab\u1100\u1173\u11af",
    "Привет, мир! Γειά σου Κόσμε",
    "مرحبا بالعالم שלום עולם",
    "नमस्ते दुनिया ภาษาไทย ລາວ",
    "😀 👍🏽 👨‍👩‍👧‍👦 🇩🇪 ❤️ ☃",
    "𝒜𝓃𝒸𝒾𝑒𝓃𝓉 𐍈 🀄",
    "\u00a0nbsp\u2003em\u3000ideographic\u200bzero\u2028line\u0085nel\u180emvs",
    "\x01\x02 control \x1b[0m \x7f",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "                                                                 x",
    "!!!!???....----====____****####",
    "CamelCaseIdentifier snake_case_identifier kebab-case SHOUTING_CASE",
    "http://example.org/path?query=1&other=%20two#frag",
    "user@example.org, (555) 123-4567; [1] {2} <3>",
    "<|endoftext|>",
    "a<|endoftext|>b",
    "before <|im_start|>user\nhi<|im_end|>\n after",
    "<s> x </s><unk>",
    "<s>",
    " <s> Hello</s> ",
    "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>",
    "<|im_start <|im_end|",
    "▁already ▁▁ metaspace▁",
    "�",
    "ſ 'ſ K 'K",
    "one\u2029two\u2028three",
    "7,7:9,4",
    "0,1:2,3S4E5P6Uabc",
    "12 + 34 = 46",
    "What is seventeen plus twenty-five?\nAnswer: 42",
    "The quick brown fox jumps over the lazy dog. " * 3,
    "don't  can't\u2019s \u201cquoted\u201d \u2014 dash\u2026",
    "ÀÈÌÒÙ ÃÕÑ ÇŞĞ ßẞ ıİ",
    "e\u0301\u0323 \u0344 \u212b \u2126",
    "\ufeffbom",
    "a\u0300\u0301\u0302\u0303 zalgo t\u0336e\u0336x\u0336t\u0336",
]

PROMPTS = ["", "A:", "A: ", "Q: 12 + 5 = ", "It", "x\n", "x\n\n", "  ", "na\u0131ve caf\u00e9", "3",
           "[INST] Hi [/INST]", "end</s>", "end</s> ", "<|im_start|>assistant\n", "a<|endoftext|>",
           "\u65e5\u672c", "(", "don"]
RESPONSES = ["", "five", " five", "  five", "5", "\n", "\nx", " ", "'t do", "\u8a9e \u0301a", "</s>",
             " </s>", "<|im_end|>", ").", "\u2581x", "\U0001f600 ok"]


def malformed(tokenizer, ids):
    """Does a run of byte tokens (<0xHH>) not form valid UTF-8?"""
    run = b""
    for i in ids + [None]:
        token = None if i is None else tokenizer.convert_ids_to_tokens(i)
        if token and len(token) == 6 and token.startswith("<0x"):
            run += bytes([int(token[3:5], 16)])
            continue
        try:
            run.decode("utf-8")
        except UnicodeDecodeError:
            return True
        run = b""
    return False


def characters():
    """Characters of Unicode 16 but controls (which not all vocabularies
    have, an error here) and those of the large uniform blocks:
    from the first to before the last, and so on."""
    assert unicodedata2.unidata_version == "16.0.0"
    out = []
    for c in range(0x110000):
        if unicodedata2.category(chr(c)) in ("Cc", "Cn", "Cs", "Co") or \
                0x3400 <= c < 0xA000 or 0xAC00 <= c < 0xD800 or \
                0x17000 <= c < 0x18B00 or 0x20000 <= c < 0x2A6D6:
            continue
        if out and out[-1] == c:
            out[-1] = c + 1
        else:
            out += [c, c + 1]
    return out


def all_ids(t, codes):
    """FNV-1a of the ids of texts with each of these characters, 64 in each."""
    h = 0xCBF29CE484222325
    listed = [c for a, b in zip(codes[::2], codes[1::2]) for c in range(a, b)]
    for i in range(0, len(listed), 64):
        text = "".join(f"a{chr(c)}{chr(c)} {chr(c)}1\n"
                       for c in listed[i:i + 64])
        ids = ids_of(t, text)
        for byte in "".join(f"{i} " for i in ids).encode():
            h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{h:016x}"


def ids_of(t, text, special=False, plain=False):
    return t(text, add_special_tokens=special, split_special_tokens=plain).input_ids


def with_unknown(t):
    """The same with the unknown token where it would leave out a character, or None."""
    root = json.loads(t.backend_tokenizer.to_str())
    if root["model"]["type"] != "BPE" or root["model"]["unk_token"] or t.unk_token is None:
        return None
    root["model"]["unk_token"] = t.unk_token
    return tokenizers.Tokenizer.from_str(json.dumps(root))


def leaves_out(t, other, text):
    """Is there a character that gives no token?"""
    return other is not None and ids_of(t, text) != other.encode(text, add_special_tokens=False).ids


def joint(t, other):
    """Of each prompt with each response the response's part of the ids of both."""
    out = []
    bytes_ = "ByteLevel" in repr(t.backend_tokenizer.pre_tokenizer)
    for prompt in PROMPTS:
        for response in RESPONSES:
            if leaves_out(t, other, prompt + response):
                out.append(None)
                continue
            both = t(prompt + response, add_special_tokens=False, return_offsets_mapping=True)
            first = ids_of(t, prompt)
            n = len(first)
            # a sign for a space stands on the border without a character of its own
            same = both.input_ids[:n] == first and all(
                (a >= len(prompt.rstrip()) if i >= n else b <= len(prompt)) for i, (a, b)
                in enumerate(both.offset_mapping))
            words = both.word_ids()[max(n - 1, 0):n + 1]
            if bytes_ and len(words) == 2 and words[0] == words[1] is not None:
                same = False
            out.append(both.input_ids[n:] if same else None)
    return out


def main(data):
    out = {
        "made_with": f"transformers {transformers.__version__}",
        "texts": TEXTS,
        "prompts": PROMPTS,
        "responses": RESPONSES,
        "characters": characters(),
        "tokenizers": {},
    }
    rng = random.Random(7)
    for name in DIRS:
        t = transformers.AutoTokenizer.from_pretrained(f"{data}/{name}")
        other = with_unknown(t)
        one = {"ids": [], "plain_ids": [], "decoded": [], "skipped": []}
        for text in TEXTS:
            if leaves_out(t, other, text):
                for key in ("ids", "plain_ids", "decoded", "skipped"):
                    one[key].append(None)
                continue
            ids = ids_of(t, text, special=True)
            bare = ids_of(t, text)
            assert ids[len(ids) - len(bare):] == bare
            one["ids"].append(ids)
            plain = ids_of(t, text, plain=True)
            one["plain_ids"].append(None if plain == bare else plain)
            full = t.decode(ids, skip_special_tokens=False)
            skip = t.decode(ids, skip_special_tokens=True)
            one["decoded"].append(full)
            one["skipped"].append(None if skip == full else skip)
        one["prefix"] = len(ids_of(t, "a", special=True)) - len(ids_of(t, "a"))
        one["joint"] = joint(t, other)
        vocab = len(t)
        every = "".join(map(chr, (c for a, b in zip(out["characters"][::2], out["characters"][1::2])
                                  for c in range(a, b))))
        one["characters"] = None if leaves_out(t, other, every) else all_ids(t, out["characters"])
        one["random"] = []
        while len(one["random"]) < 12:
            ids = [rng.randrange(vocab) for _ in range(rng.randrange(1, 24))]
            if malformed(t, ids):
                continue
            one["random"].append([ids, t.decode(ids, skip_special_tokens=True)])
        out["tokenizers"][name] = one
        print(name, type(t).__name__, sum(i is None for i in one["ids"]),
              sum(i is None for i in one["joint"]), one["characters"], file=sys.stderr)
    json.dump(out, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main(sys.argv[1])
