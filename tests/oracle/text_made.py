"""Writes tests/data/made_tokenizers.json: small tokenizers of all models,
normalizers, pre-tokenizers and decoders, trained on the project's manual, and
what the `tokenizers` library makes of texts with them.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install tokenizers==0.23.3 sentencepiece==0.2.3
    /tmp/venv/bin/python tests/oracle/text_made.py > tests/data/made_tokenizers.json

With two more arguments, a directory and a file of texts (a JSON list), it writes
larger tokenizers there, among them sentencepiece's with their own charsmaps,
trained on those texts: what `--compare TEXTS PROGRAM FILE...` then holds
tokenizers against, text by text, where the program is bench/tokenize. With `--corpus DIRECTORY` it writes what tests/tokenizers
holds. The tests are tests/unit/text_made.c and tests/fuzz_replay.c."""

import base64
import glob
import io
import json
import os
import random
import struct
import subprocess
import sys
import unicodedata
import zlib

import tokenizers
from tokenizers import Regex, Tokenizer
from tokenizers import decoders as D
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors as R
from tokenizers import trainers as T

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
BERT = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
HEX = ["<0x%02X>" % i for i in range(256)]
JOINTS = (" \u200d\u200c\u0301\u0300\ufe0f\u3099\u094d\u1161\u11a8\u0308\r\n\t"
          "\u00a0\u3000\u2581©®\u0600")
BLOCKS = [(0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x530),
          (0x530, 0x700), (0x600, 0x6ff), (0x900, 0xe00), (0xe00, 0x1100),
          (0x1100, 0x1200), (0x1200, 0x2000), (0x2000, 0x2070),
          (0x2070, 0x2c00), (0x2e80, 0x3400), (0x3400, 0xa000),
          (0xa000, 0xac00), (0xac00, 0xd7a4), (0xf900, 0x10000),
          (0x10000, 0x12000), (0x1d400, 0x1d800), (0x1f1e6, 0x1f200),
          (0x1f300, 0x1faff), (0xfe00, 0xfe10), (0xe0000, 0xe0080)]
PLAIN = [
    "", " ", "  ", "a", " a", "a ", "  a  b  ", "▁", "▁a▁ ▁b", "\r\n",
    "\u0301", "\u200d", "é e\u0301", "ﬁne ﬀ", "İstanbul ẞß ÀÉ ΑΣ",
    "½ ² ㎏ Ａ", "Hello, world! I don't do not can't.", "中文字符 and English",
    "한국어 텍스트", "日本語テキスト ｶﾞ", "x" * 30, "<s> a</s> b<unk>",
    "[CLS] a [SEP][MASK]", "don't  'we've' i 'm  ... ?!", "\x01\x02\x7f",
    "¸\u1de5x", "¸\u0301", "´a", "क्षत्रिय क्‍ष", "👨‍👩‍👧‍👦 🇩🇪 ❤️ ☃ ©‍® ©️", "\ufeffbom \ufffd",
]


def random_text(rng):
    out = []
    for _ in range(rng.randrange(1, 7)):
        a, b = rng.choice(BLOCKS)
        for _ in range(rng.randrange(1, 6)):
            out.append(chr(rng.randrange(a, b)))
            if rng.random() < .2:
                out.append(rng.choice(JOINTS))
        out.append(rng.choice(["", "  ", " ", "\n", ". ", "\r\n"]))
    return "".join(out)


def manual():
    out = []
    for path in ["README.md"] + sorted(
            os.path.relpath(p, ROOT) for p in glob.glob(ROOT + "/man/rlf.5")):
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            out += [line for line in f.read().split("\n") if line]
    return out


# ---- charsmaps ----

def charsmap(rules):
    """sentencepiece's trie (a double array by exclusive or) of {text: text},
    and the texts, in base 64."""
    texts, where, trie = b"", {}, {}
    for key, value in rules.items():
        if value not in where:
            where[value] = len(texts)
            texts += value.encode() + b"\0"
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = where[value]
    units, used, todo = {}, {0}, [(0, trie, 0)]
    first = 1
    while todo:
        at, node, label = todo.pop()
        labels = sorted(node)
        while first in used:
            first += 1
        start = first
        while True:
            base = start ^ labels[0]
            if base and base ^ at < 1 << 21 and \
                    all(base ^ c not in used for c in labels):
                break
            start += 1
        units[at] = (base ^ at) << 10 | label | (0 in node) << 8
        for c in labels:
            used.add(base ^ c)
            if c:
                todo.append((base ^ c, node[c], c))
            else:
                units[base] = node[0] | 1 << 31
    size = (max(units) | 255) + 1
    blob = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(size))
    return base64.b64encode(struct.pack("<I", len(blob)) + blob +
                            texts).decode()


def nfkc_map():
    """Some of what sentencepiece's "nmt_nfkc_cf" does."""
    rules = {"\t": " ", "\n": " ", "\r": " ", "\u200b": " ", "\u0001": "",
             "ß": "ss", "\ufffd": " "}
    for c in [*range(0xa0, 0x250), *range(0xff01, 0xffa0),
              *range(0x1fa0, 0x1fb0), *range(0x2070, 0x2090), *range(65, 91)]:
        to = unicodedata.normalize("NFKC", chr(c)).casefold()
        if to != chr(c) and to.strip():
            rules[chr(c)] = to
    for c in "àéîõü":
        rules[unicodedata.normalize("NFD", c)] = c
    return charsmap(rules)


ODD_MAP = {"a": "AAA", "b": "", "\r": "R", "e\u0301": "é", "क": "K",
           "©": "(c)", "क\u094d": "kk", "ab": "X", "\u0600": "N", " ": "_",
           "한": "HAN", "\u0301": "^", "😀": ":)", "é": "e"}


# ---- tokenizers ----

def roberta():
    return R.RobertaProcessing(("</s>", 2), ("<s>", 1))


def template():
    return R.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>",
        special_tokens=[("<s>", 1), ("</s>", 2)])


def llama_decoder():
    return D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(),
                       D.Strip(" ", 1, 0)])


class Maker:
    def __init__(self, corpus, size):
        self.corpus, self.size, self.made = corpus, size, {}

    def add(self, name, model, trainer, norm=None, pre=None, dec=None,
            post=None, edit=None):
        t = Tokenizer(model)
        if norm:
            t.normalizer = norm
        if pre:
            t.pre_tokenizer = pre
        if dec:
            t.decoder = dec
        t.train_from_iterator(self.corpus, trainer)
        if post:
            t.post_processor = post
        root = json.loads(t.to_str())
        if edit:
            edit(root)
        Tokenizer.from_str(json.dumps(root))
        self.made[name] = root

    def unigram(self, name, **parts):
        self.add(name, M.Unigram(), T.UnigramTrainer(
            vocab_size=self.size, special_tokens=SPECIAL, unk_token="<unk>",
            show_progress=False), **parts)

    def bpe(self, name, special=(), alphabet=None, initial=(), **parts):
        options = parts.pop("options", {})
        fixes = {k: v for k, v in options.items()
                 if k in ("continuing_subword_prefix", "end_of_word_suffix")}
        if alphabet:
            fixes["limit_alphabet"] = alphabet
        self.add(name, M.BPE(unk_token="<unk>", **options), T.BpeTrainer(
            vocab_size=self.size + len(initial) + len(special),
            special_tokens=SPECIAL + list(special), show_progress=False,
            initial_alphabet=list(initial), **fixes), **parts)

    def wordpiece(self, name, prefix="##", most=100, **parts):
        self.add(name, M.WordPiece(
            unk_token="[UNK]", continuing_subword_prefix=prefix,
            max_input_chars_per_word=most), T.WordPieceTrainer(
                vocab_size=self.size, special_tokens=BERT,
                show_progress=False, continuing_subword_prefix=prefix),
            **parts)

    def words(self, name, **parts):
        self.add(name, M.WordLevel(unk_token="[UNK]"), T.WordLevelTrainer(
            vocab_size=self.size, special_tokens=["[UNK]", "[PAD]"],
            show_progress=False), **parts)


def with_map(text, *more):
    def edit(root):
        root["normalizer"] = {"type": "Sequence", "normalizers": [
            {"type": "Precompiled", "precompiled_charsmap": text}, *more]}
    return edit


def with_order(root):
    """Without "type", as the first files had it."""
    del root["model"]["type"]


def make_unigrams(m):
    for scheme in ("always", "first", "never"):
        m.unigram(f"unigram {scheme}", pre=P.Metaspace(prepend_scheme=scheme),
                  dec=D.Metaspace(prepend_scheme=scheme), post=template())
    spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    m.unigram("unigram T5", pre=P.Metaspace(), dec=D.Metaspace(),
              edit=with_map(nfkc_map(), strip, spaces))
    m.unigram("unigram map first", pre=P.Metaspace(prepend_scheme="first"),
              dec=D.Metaspace(prepend_scheme="first"), edit=with_map(
                  nfkc_map(), {"type": "Strip", "strip_left": True,
                               "strip_right": True}))
    m.unigram("unigram forms", norm=N.Sequence(
        [N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " "), N.Lowercase()]),
        pre=P.Metaspace(), dec=D.Metaspace())
    m.unigram("unigram strip", norm=N.Sequence(
        [N.Strip(), N.NFD(), N.StripAccents()]), pre=P.Sequence(
            [P.WhitespaceSplit(), P.Metaspace(prepend_scheme="first")]),
        dec=D.Metaspace(), edit=with_order)
    m.unigram("unigram left", norm=N.Strip(left=True, right=False),
              pre=P.Metaspace(prepend_scheme="first"), dec=D.Metaspace())
    m.unigram("unigram bytes", pre=P.ByteLevel(add_prefix_space=True),
              dec=D.ByteLevel(), post=R.Sequence([R.ByteLevel(), template()]))
    m.unigram("unigram byte normalizer", norm=N.ByteLevel(),
              pre=P.Split(Regex("Ġ?[^Ġ]+|Ġ+"), "isolated"), dec=D.ByteLevel())

    def fall_back(root):
        root["model"]["byte_fallback"] = True
        root["model"]["vocab"] += [[b, -30.5 - i / 7]
                                   for i, b in enumerate(HEX)]
    m.unigram("unigram whole", norm=N.Sequence(
        [N.Replace(" ", "▁"), N.Prepend("▁")]), dec=llama_decoder(),
        edit=fall_back)


def make_bpes(m):
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        m.bpe(f"BPE {form}", norm=getattr(N, form)(), pre=P.Whitespace(),
              post=roberta())
    m.bpe("BPE suffix", options={"end_of_word_suffix": "</w>"},
          norm=N.Sequence([N.NFC(), N.Lowercase()]), pre=P.BertPreTokenizer(),
          dec=D.BPEDecoder("</w>"), post=roberta())
    m.bpe("BPE suffix fused", alphabet=40,
          options={"end_of_word_suffix": "</w>", "fuse_unk": True},
          pre=P.WhitespaceSplit(), dec=D.BPEDecoder("</w>"))
    m.bpe("BPE CLIP", initial=P.ByteLevel.alphabet(),
          options={"end_of_word_suffix": "</w>"},
          norm=N.Sequence([N.NFC(), N.Replace(Regex(r"\s+"), " "),
                           N.Lowercase()]),
          pre=P.Sequence([P.Split(Regex(
              r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
              "removed", invert=True),
              P.ByteLevel(add_prefix_space=False, use_regex=False)]),
          dec=D.Sequence([D.BPEDecoder("</w>"), D.ByteLevel()]))
    m.bpe("BPE prefix", options={"continuing_subword_prefix": "##"},
          norm=N.BertNormalizer(), pre=P.BertPreTokenizer(), dec=D.WordPiece())
    m.bpe("BPE both", options={"continuing_subword_prefix": "@@",
                               "end_of_word_suffix": "</w>"},
          pre=P.Whitespace(), dec=D.BPEDecoder("</w>"))
    m.bpe("BPE Llama", special=HEX, alphabet=40,
          options={"byte_fallback": True, "fuse_unk": True},
          norm=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]),
          dec=llama_decoder(), post=template())
    for fuse in (True, False):
        m.bpe(f"BPE some bytes {fuse}", special=HEX[0x80:0xe6], alphabet=40,
              options={"byte_fallback": True, "fuse_unk": fuse},
              pre=P.Metaspace(prepend_scheme="first", split=fuse),
              dec=D.Sequence([D.Replace("▁", " "), D.ByteFallback(),
                              D.Fuse()]))
    m.bpe("BPE odd map", pre=P.Metaspace(), dec=D.Metaspace(),
          edit=with_map(charsmap(ODD_MAP)))
    m.bpe("BPE digits", pre=P.Sequence(
        [P.CharDelimiterSplit(","), P.Digits(True), P.Punctuation()]),
        dec=D.Sequence([D.Strip("s", 0, 1), D.Strip("e", 1, 0),
                        D.Replace(Regex("[ab]+"), "*")]))
    m.bpe("BPE fixed", pre=P.FixedLength(7), dec=D.Fuse())


def make_words(m):
    bert = R.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    m.wordpiece("WordPiece BERT", norm=N.BertNormalizer(),
                pre=P.BertPreTokenizer(), dec=D.WordPiece(), post=bert)
    m.wordpiece("WordPiece cased", most=12, norm=N.BertNormalizer(
        lowercase=False), pre=P.BertPreTokenizer(),
        dec=D.WordPiece(cleanup=False), post=bert)
    m.wordpiece("WordPiece accents", norm=N.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True,
        lowercase=False), pre=P.Whitespace(), dec=D.WordPiece())
    m.wordpiece("WordPiece prefix", prefix="@@", pre=P.WhitespaceSplit(),
                dec=D.WordPiece(prefix="@@"))
    m.wordpiece("WordPiece bytes", pre=P.ByteLevel(add_prefix_space=True),
                dec=D.Sequence([D.WordPiece(cleanup=False), D.ByteLevel()]))
    m.words("WordLevel", norm=N.Lowercase(), pre=P.Whitespace())
    m.words("WordLevel forms", norm=N.Sequence(
        [N.NFKC(), N.StripAccents(), N.Strip()]),
        pre=P.Split(" ", "merged_with_next"), dec=D.Fuse())


# ---- sentencepiece ----

def fields(message):
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, at
    at = 0
    while at < len(message):
        key, at = varint(at)
        wire = key & 7
        if wire == 0:
            value, at = varint(at)
        else:
            n, at = varint(at) if wire == 2 else (8 if wire == 1 else 4, at)
            value, at = message[at:at + n], at + n
        yield key >> 3, value


def make_sentencepiece(m, rule, fall_back):
    import sentencepiece
    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([s.replace("\n", " ") for s in m.corpus]),
        model_writer=out, vocab_size=m.size, normalization_rule_name=rule,
        minloglevel=2, character_coverage=0.999, hard_vocab_limit=False,
        byte_fallback=fall_back)
    pieces = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
    text = next(base64.b64encode(v).decode()
                for f, message in fields(out.getvalue()) if f == 3
                for g, v in fields(message) if g == 2)
    vocab = [(pieces.id_to_piece(i), pieces.get_score(i))
             for i in range(pieces.get_piece_size())]
    for scheme in ("always", "first", "never"):
        t = Tokenizer(M.Unigram(vocab, 0, byte_fallback=fall_back))
        t.add_special_tokens(["<unk>", "<s>", "</s>"])
        t.pre_tokenizer = P.Metaspace(prepend_scheme=scheme)
        t.decoder = llama_decoder() if fall_back else \
            D.Metaspace(prepend_scheme=scheme)
        root = json.loads(t.to_str())
        with_map(text, {"type": "Strip", "strip_left": scheme == "first",
                        "strip_right": True},
                 {"type": "Replace", "pattern": {"Regex": " {2,}"},
                  "content": " "})(root)
        m.made[f"{rule} {scheme}{' bytes' if fall_back else ''}"] = root


# ---- what they make of texts ----

def fnv(data):
    h = 0x811C9DC5
    for byte in data:
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


def results(root, texts):
    """Of each text a hash of its ids, of what they decode to, and of that
    without special tokens."""
    t = Tokenizer.from_str(json.dumps(root))
    out = []
    for text in texts:
        ids = t.encode(text).ids
        out.append([fnv(" ".join(map(str, ids)).encode()),
                    fnv(t.decode(ids, skip_special_tokens=False).encode()),
                    fnv(t.decode(ids).encode())])
    return out


def characters():
    """Those below U+20000 without large uniform blocks and surrogates."""
    for c in range(1, 0x20000):
        if not (0x3400 <= c < 0xA000 or 0xAC00 <= c < 0xF900 or
                0x17000 <= c < 0x18B00):
            yield c


def normals(charsmap_text):
    """Hashes of what normalizers make of all characters."""
    bert = dict.fromkeys(["clean_text", "handle_chinese_chars",
                          "strip_accents", "lowercase"], False)
    rows = [{"type": t} for t in ("Lowercase", "StripAccents", "Nmt",
                                  "ByteLevel")]
    rows += [{"type": "BertNormalizer", **bert, key: True} for key in bert]
    rows.append({"type": "Precompiled", "precompiled_charsmap": charsmap_text})
    listed, out = list(characters()), []
    for row in rows:
        t = Tokenizer(M.BPE())
        root = json.loads(t.to_str())
        root["normalizer"] = row
        norm = Tokenizer.from_str(json.dumps(root)).normalizer.normalize_str
        h = b"".join(norm("".join(
            f"a{chr(c)}b {chr(c)}\u0301" for c in listed[i:i + 64])).encode()
            for i in range(0, len(listed), 64))
        out.append({"normalizer": row, "hash": fnv(h)})
    return out


def sums(t, texts):
    """As the program bench/tokenize writes them: of each text a checksum of its
    ids, of each eighth of what they decode to, and of that without special
    tokens, of the others 0."""
    for i, e in enumerate(t.encode_batch_fast(texts)):
        ids = e.ids
        row = [zlib.crc32(struct.pack(f"<{len(ids)}I", *ids)), 0, 0]
        if i % 8 == 0:
            row[1:] = [zlib.crc32(t.decode(ids, skip_special_tokens=s).encode())
                       for s in (False, True)]
        yield row


def compare(file, program, paths):
    """Prints how many texts have other ids, or decode to another text."""
    with open(file, encoding="utf-8") as f:
        texts = json.load(f)
    for path in paths:
        t = Tokenizer.from_file(path)
        t.no_truncation()
        t.no_padding()
        run = subprocess.run([program, "--sums", path, file],
                             capture_output=True, text=True)
        got = run.stdout.splitlines()
        refused = got.count("refused")
        wrong = [i for i, (a, b) in enumerate(zip(got, sums(t, texts)))
                 if a not in ("refused", " ".join(map(str, b)))]
        if not run.returncode and len(got) != len(texts):
            run.stderr += "lines are missing"
        print(f"{os.path.basename(path)}: {len(wrong)} of {len(got)} texts "
              f"differ {wrong[:5]}, {refused} are refused "
              f"{run.stderr.strip()}", flush=True)


def write_corpus(directory):
    """Small files of all sorts, for fuzzing."""
    wanted = ["unigram always", "unigram T5", "unigram strip", "unigram whole",
              "unigram bytes", "BPE suffix", "BPE CLIP", "BPE both",
              "BPE Llama", "BPE odd map", "BPE digits", "BPE fixed",
              "WordPiece BERT", "WordPiece bytes", "WordLevel forms"]
    m = Maker([s for s in manual() if s.isascii()], 130)
    make_unigrams(m)
    make_bpes(m)
    make_words(m)
    for i, name in enumerate(wanted):
        with open(f"{directory}/{i:02}.json", "w", encoding="utf-8") as f:
            json.dump(m.made[name], f, ensure_ascii=False)


def main():
    if sys.argv[1:2] == ["--compare"]:
        compare(sys.argv[2], sys.argv[3], sys.argv[4:])
        return
    if sys.argv[1:2] == ["--corpus"]:
        write_corpus(sys.argv[2])
        return
    if len(sys.argv) > 2:
        with open(sys.argv[2], encoding="utf-8") as f:
            m = Maker([t for t in json.load(f) if "\0" not in t], 3000)
        for rule in ("nmt_nfkc", "nmt_nfkc_cf", "nfkc"):
            make_sentencepiece(m, rule, False)
        make_sentencepiece(m, "nmt_nfkc", True)
    else:
        m = Maker(manual(), 320)
    make_unigrams(m)
    make_bpes(m)
    make_words(m)
    if len(sys.argv) > 2:
        for name, root in m.made.items():
            with open(f"{sys.argv[1]}/{name}.json", "w") as f:
                json.dump(root, f)
        return
    rng = random.Random(3)
    texts = PLAIN + [random_text(rng) for _ in range(90)]
    rows = [{"name": name, "file": json.dumps(root, ensure_ascii=False),
             "want": results(root, texts)} for name, root in m.made.items()]
    json.dump({"made_with": f"tokenizers {tokenizers.__version__}",
               "texts": texts, "rows": rows,
               "normals": normals(nfkc_map())}, sys.stdout,
              ensure_ascii=True, separators=(",", ":"))
    print()


main()
