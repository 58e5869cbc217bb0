"""Writes tests/data/tokenizer_classes.json: ids that transformers' AutoTokenizer
gives to texts and chats where a class of its own builds the tokenizer, for small
tokenizers with classes, settings and config.json of all kinds.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install transformers==5.24.0 tokenizers==0.23.3
    /tmp/venv/bin/python tests/oracle/tokenizer_classes.py \\
        > tests/data/tokenizer_classes.json

With `--table` it writes engine/text/class.def: the classes that transformers has,
and which it takes for a model_type. With `--random N SEED DIRECTORY` it writes N
random directories of such tokenizers there, each with its texts and what they
should give in want.json. The test is tests/unit/nodes_tokenizers.c."""

import inspect
import json
import os
import random
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "critical"

import transformers  # noqa: E402
from tokenizers import Regex, Tokenizer  # noqa: E402
from tokenizers import decoders as D  # noqa: E402
from tokenizers import models as M  # noqa: E402
from tokenizers import normalizers as N  # noqa: E402
from tokenizers import pre_tokenizers as P  # noqa: E402
from tokenizers import processors as R  # noqa: E402
from tokenizers import trainers as T  # noqa: E402
from transformers.models.auto import tokenization_auto as auto  # noqa: E402
from transformers.models.auto.configuration_auto import CONFIG_MAPPING  # noqa: E402
from transformers.tokenization_utils_base import PreTrainedTokenizerBase  # noqa: E402
from transformers.tokenization_utils_tokenizers import TokenizersBackend  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
BUILT = ["LlamaTokenizer", "GemmaTokenizer", "CohereTokenizer", "GPT2Tokenizer",
         "GPTNeoXTokenizer", "Qwen2Tokenizer", "Qwen3_5Tokenizer", "CodeGenTokenizer",
         "CodeLlamaTokenizer", "T5Tokenizer", "XLMRobertaTokenizer"]
PAIRS = ["GPT2Tokenizer", "Qwen2Tokenizer", "GPTNeoXTokenizer", "CohereTokenizer", "CodeGenTokenizer"]
BASES = {"LlamaTokenizer": ["signs"], "CodeLlamaTokenizer": ["signs"], "GemmaTokenizer": ["gemma", "signs"],
         "T5Tokenizer": ["unigram"], "XLMRobertaTokenizer": ["unigram"]}
# Names that have moved: kept as tokenizer.json says.
GENERIC = ["TokenizersBackend", "PreTrainedTokenizer", "PreTrainedTokenizerFast",
           "BloomTokenizer", "BloomTokenizerFast", "PythonBackend"]

TEXTS = [
    "", " ", "a", " a", "  two  spaces ", "Hello, world!", "</s> after", "<s>x</s>y</s> z",
    "a</s>\n b", "the 1234567 and 3.14 2024-01", "x<|im_start|>user\n<|im_end|> b",
    "<|endoftext|> a<|endoftext|>b", "nai\u0308ve caf\u00e9 \u00c5 \u212b", "\n\n a\tb \r\n",
    "▁already ▁▁ signs", "日本語 中文", "<tool> in<tool>side <tool>", "[INST] Hi [/INST] there </s><s>[INST] x",
    "it's they'll WE'VE", "   a <unk> <pad> b", "😀 ﬁ ½", "<bos>a<eos> b<mask> c", "a <new> b",
    "क्षत्रिय e\u0301\u0301 x", "<extra_id_1> a <extra_id_0>", "\u2581<PRE> a\u2581<MID>b",
]
CHAT = [{"role": "user", "content": "Hi  there 12"}, {"role": "assistant", "content": " Hello!\n"},
        {"role": "user", "content": "x"}]
TEMPLATE = ("{{ bos_token }}{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}"
            "{% endfor %}{{ unk_token }}|{{ pad_token }}|{{ mask_token }}|{{ sep_token }}|{{ cls_token }}")


# ---- tokenizers ----

def corpus():
    with open(os.path.join(ROOT, "man", "rlf.5"), encoding="utf-8") as file:
        return file.read().split("\n")[:400] + ["1234567890 2024-01-31 it's they'll we've"] * 4


def trained(t, trainer, **parts):
    for key, value in parts.items():
        setattr(t, key, value)
    t.train_from_iterator(corpus(), trainer)
    return t


def byte_level():
    """As those of Qwen: some tokens stand behind the vocabulary."""
    t = trained(Tokenizer(M.BPE()), T.BpeTrainer(
        vocab_size=330, show_progress=False, initial_alphabet=sorted(P.ByteLevel.alphabet())),
        normalizer=N.NFC(), decoder=D.ByteLevel(), pre_tokenizer=P.Sequence([
            P.Split(Regex(r"\p{N}{1,3}|[^\r\n\p{L}\p{N}]?\p{L}+|\s+|[^\s\p{L}\p{N}]+"), "isolated"),
            P.ByteLevel(add_prefix_space=False, use_regex=False)]))
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.add_tokens(["<tool>"])
    t.post_processor = R.TemplateProcessing(
        single="<|endoftext|> $A", pair="<|endoftext|> $A $B",
        special_tokens=[("<|endoftext|>", t.token_to_id("<|endoftext|>"))])
    return json.loads(t.to_str())


def signs(names):
    """As those of Llama 2 and Gemma: special tokens are of the vocabulary."""
    hexes = ["<0x%02X>" % i for i in range(256)]
    special = names + hexes
    t = trained(Tokenizer(M.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True)),
                T.BpeTrainer(vocab_size=380, show_progress=False, special_tokens=special,
                             limit_alphabet=60),
                normalizer=N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]),
                decoder=D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]))
    bos, eos = names[1:3]
    t.post_processor = R.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, 1)])
    root = json.loads(t.to_str())
    root["added_tokens"] = [a for a in root["added_tokens"] if a["content"] in names]
    return root


def charsmap():
    """One of sentencepiece, as text_made.py makes them."""
    path = os.path.join(os.path.dirname(__file__), "text_made.py")
    with open(path, encoding="utf-8") as file:
        source = file.read().replace("\nmain()\n", "\n")
    made = {"__file__": path, "__name__": "text_made"}
    exec(compile(source, path, "exec"), made)
    return made["charsmap"]({"\t": " ", "\n": " ", "\ufb01": "fi", "A": "a", "\u00bd": "1/2"})


def unigram():
    special = ["<pad>", "</s>", "<unk>", "<s>", "<mask>"]
    t = trained(Tokenizer(M.Unigram()), T.UnigramTrainer(
        vocab_size=300, show_progress=False, special_tokens=special, unk_token="<unk>"),
        pre_tokenizer=P.Metaspace(), decoder=D.Metaspace())
    t.post_processor = R.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    root = json.loads(t.to_str())
    root["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": charsmap()},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]}
    return root


def roots():
    return {"bytes": byte_level(), "unigram": unigram(), "signs": signs(["<unk>", "<s>", "</s>"]),
            "gemma": signs(["<unk>", "<bos>", "<eos>", "<pad>", "<mask>"])}


# ---- cases ----

def token(text, **flags):
    return {"content": text, "lstrip": False, "rstrip": False, "normalized": False,
            "single_word": False, "special": True, **flags}


def typed(text, **flags):
    return {"__type": "AddedToken", **token(text, **flags)}


def decoder_of(root, keep, **flags):
    """added_tokens_decoder of those of tokenizer.json that `keep` lets stand."""
    out = {}
    for a in root["added_tokens"]:
        if keep(a["content"]):
            out[str(a["id"])] = {k: v for k, v in {**a, **flags}.items() if k != "id"}
    return out


SETTINGS = [
    {},
    {"add_prefix_space": True},
    {"add_prefix_space": False},
    {"add_prefix_space": None},
    {"legacy": True},
    {"legacy": False, "add_prefix_space": True},
    {"legacy": None, "add_prefix_space": False},
    {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None},
    {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "unk_token": None},
    {"bos_token": None, "pad_token": "<|endoftext|>", "eos_token": "<|endoftext|>"},
    {"bos_token": typed("<s>", rstrip=True), "mask_token": typed("<new>", lstrip=True)},
    {"extra_special_tokens": ["<new>", "<tool>"], "sep_token": "a"},
    {"add_bos_token": True, "add_eos_token": True},
    {"split_special_tokens": True},
]


def named(base, config):
    """Names that the base has not would be refused."""
    have = {a["content"] for a in base["added_tokens"]}
    return {k: v for k, v in config.items() if k not in ("bos_token", "eos_token") or v is None or
            (v["content"] if isinstance(v, dict) else v) in have}


def listed(all_roots):
    """(root, edits of it, files)"""
    rows = []

    def add(base, config=None, model=None, edit=None, **files):
        if config is not None:
            files["tokenizer_config.json"] = config
        if model is not None:
            files["config.json"] = model
        rows.append((base, edit or {}, files))

    for name in BUILT:
        bases = BASES.get(name, ["bytes"])
        for i, setting in enumerate(SETTINGS):
            base = bases[i % len(bases)]
            add(base, {"tokenizer_class": name + ("Fast" if i % 2 else ""),
                       **named(all_roots[base], setting)})
        base = bases[0]
        first = all_roots[base]["added_tokens"][0]["content"]
        for keep, flags in ((lambda s: True, {}), (lambda s: s == first, {}),
                            (lambda s: s != first, {"lstrip": True, "normalized": True}),
                            (lambda s: True, {"special": False, "rstrip": True})):
            add(base, {"tokenizer_class": name,
                       "added_tokens_decoder": decoder_of(all_roots[base], keep, **flags)})
        add(base, {"tokenizer_class": name}, edit={"post_processor": None})
        add(base, {"tokenizer_class": name}, edit={"ignore_merges": True, "dropout": 0.5})
        add(base, {"tokenizer_class": name},
            **{"special_tokens_map.json": {"pad_token": "<new>", "mask_token": token("<new>", lstrip=True)}})
    for base, other in (("signs", "LlamaTokenizer"), ("bytes", "GPT2Tokenizer")):
        for model in ("llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "granite", "cohere", "unheard"):
            if base == "signs" and model in ("cohere", "qwen2", "qwen3"):
                continue
            add(base, {"tokenizer_class": other}, {"model_type": model})
            add(base, {}, {"model_type": model})
        add(base, {"tokenizer_class": "UnheardTokenizer"}, {"model_type": "llama"})
        add(base, {"tokenizer_class": "PreTrainedTokenizerFast"}, {"model_type": "gemma"})
        add(base, {}, {"model_type": "llama", "tokenizer_class": other})
        add(base, None, {"model_type": "llama", "tokenizer_class": other})
        add(base, {}, {"model_type": "llama", "tokenizer_class": "UnheardTokenizer"})
        add(base, {"tokenizer_class": other, "auto_map": {"AutoTokenizer": ["x.Own", None]}})
        add(base, {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["x.Own", None]}},
            {"model_type": "gemma"})
        add(base, {"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["x.Own", None]}},
            {"model_type": "llama"})
        add(base, {"auto_map": ["x.Own", None]})
        add(base)
    add("bytes", {"tokenizer_class": "LlamaTokenizer"})
    add("bytes", {"tokenizer_class": "LlamaTokenizerFast"}, {"model_type": "qwen2"})
    add("signs", model={"model_type": "code_llama"})
    add("signs", {"tokenizer_class": "LlamaTokenizer"}, {"model_type": "code_llama"})
    # tokens of added_tokens.json, and ids that are not those which tokens get
    known = all_roots["bytes"]["added_tokens"][1]["id"]
    for base, config in (("signs", {"tokenizer_class": "LlamaTokenizer", "pad_token": "<new>"}),
                         ("bytes", {"tokenizer_class": "Qwen2Tokenizer"}), ("bytes", None),
                         ("bytes", {"tokenizer_class": "PreTrainedTokenizerFast", "extra_special_tokens": ["<new>"]})):
        add(base, config, **{"added_tokens.json": {"<new>": 900, " a": 899, "Hi": known}})
    add("bytes", {"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": {}}, **{"added_tokens.json": {"<new>": 900}})
    for base, config in (("signs", {"tokenizer_class": "LlamaTokenizer"}), ("bytes", {})):
        add(base, {**config, "added_tokens_decoder": {
            "1000": token("<new>"), "999": token("Hi", special=False, normalized=True)}})
    add("unigram", {"added_tokens_decoder": {"900": token("  two", special=False, normalized=True)}})
    # beginnings and ends that are no tokens yet
    for base, config in (("signs", {"tokenizer_class": "LlamaTokenizer", "eos_token": "<new>"}),
                         ("bytes", {"tokenizer_class": "Qwen2Tokenizer", "bos_token": "<new>"}),
                         ("bytes", {"bos_token": "<new>", "eos_token": "<x>"})):
        add(base, config)
    # spaces that decoding takes away
    for base, config in (("unigram", {"tokenizer_class": "T5Tokenizer"}), ("unigram", {}), ("bytes", {}),
                         ("bytes", {"clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True})):
        add(base, {**config, "clean_up_tokenization_spaces": True})
    return rows


def randomly(all_roots, rng):
    name = rng.choice(BUILT + ["PreTrainedTokenizerFast", "TokenizersBackend", None])
    base = rng.choice(BASES.get(name, ["bytes"]))
    if name is None or name in GENERIC:
        base = rng.choice(["signs", "gemma", "bytes", "unigram"])
    root = all_roots[base]
    have = [a["content"] for a in root["added_tokens"]]
    config = {} if name is None else {"tokenizer_class": name + rng.choice(["", "Fast"])
                                      if name in BUILT else name}

    def flags():
        return {f: rng.random() < .5 for f in ("lstrip", "rstrip", "normalized", "single_word", "special")}

    if rng.random() < .5:
        config["added_tokens_decoder"] = {
            str(a["id"]): {"content": a["content"], **flags()} for a in root["added_tokens"]
            if rng.random() < .7}
    for key in ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token",
                "image_token"):
        if rng.random() < .4:
            new = [] if key in ("bos_token", "eos_token") else ["<new>", "<pad>", "<|x|>"]
            text = rng.choice(have + new)
            config[key] = rng.choice([None, text, text, typed(text, **flags())])
    for key, values in (("add_prefix_space", [True, False, None]), ("legacy", [True, False, None]),
                        ("split_special_tokens", [True, False]), ("add_bos_token", [True, False]),
                        ("extra_special_tokens", [["<new>"], have[:2], ["<|y|>", "<new>"], {"own_token": "<new>"}]),
                        ("additional_special_tokens", [["<new>"], have[1:3], [typed("<|z|>", **flags())]]),
                        ("extra_ids", [0, 3, 100]), ("fill_token", [None, "<x>"]),
                        ("clean_up_tokenization_spaces", [True, False])):
        if rng.random() < .35:
            config[key] = rng.choice(values)
    files = {"tokenizer_config.json": config}
    if rng.random() < .4:
        kinds = ["llama", "mistral", "phi3", "granite", "unheard"]
        kinds += ["gemma2"] if base != "unigram" else []
        kinds += ["qwen2", "qwen3", "phi", "cohere2", "olmo"] if base == "bytes" else []
        kinds += ["mt5", "xlm-roberta"] if base == "unigram" and name is None else []
        files["config.json"] = {"model_type": rng.choice(kinds)}
    if rng.random() < .3:
        files["special_tokens_map.json"] = {rng.choice(["pad_token", "mask_token"]): rng.choice(
            ["<new>", token(rng.choice(have + ["<new>"]), **flags())])}
    if rng.random() < .15:
        files["added_tokens.json"] = {"<tool>": len(root["model"]["vocab"]) + 3} if base == "bytes" else {"<s>": 1}
        files["added_tokens.json"] |= rng.choice([{}, {"<new>": 900, "Hi": 901}])
    edit = {}
    if rng.random() < .2:
        edit["post_processor"] = None
    if rng.random() < .2:
        edit["ignore_merges"] = True
    if base == "bytes" and name in PAIRS and rng.random() < .15:
        edit["pair"] = True
    return base, edit, files


# ---- what transformers makes of them ----

def edited(root, edit):
    root = json.loads(json.dumps(root))
    if "post_processor" in edit:
        root["post_processor"] = edit["post_processor"]
    for key in ("ignore_merges", "dropout"):
        if key in edit:
            root["model"][key] = edit[key]
    return root


def write(there, root, files, pair=False):
    """pair: vocab.json and merges.txt instead of tokenizer.json."""
    if pair:
        with open(os.path.join(there, "merges.txt"), "w", encoding="utf-8") as file:
            file.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in root["model"]["merges"]))
    first = {"vocab.json": root["model"]["vocab"]} if pair else {"tokenizer.json": root}
    for name, value in {**first, **files}.items():
        with open(os.path.join(there, name), "w", encoding="utf-8") as file:
            json.dump(value, file)


def fnv(what):
    """Of a text, or of ids."""
    h = 0x811C9DC5
    for byte in (what if isinstance(what, str) else " ".join(map(str, what))).encode():
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


def results(there):
    """The class, how many tokens, a hash of the ids of each text and of the chat,
    and of what the ids of the texts decode to."""
    try:
        t = transformers.AutoTokenizer.from_pretrained(there)
    except BaseException as e:
        return {"error": type(e).__name__ + ": " + str(e)[:80]}
    out = {"class": type(t).__name__, "size": len(t), "ids": [], "text": []}
    for text in TEXTS:
        try:
            ids = t(text).input_ids
        except BaseException:  # white space that two tokens take
            out["ids"].append(None)
            out["text"].append(None)
            continue
        out["ids"].append(fnv(ids))
        out["text"].append(fnv(t.decode(ids)))
    t.chat_template = TEMPLATE
    chat = t.apply_chat_template(CHAT, tokenize=False)
    out["chat"] = chat
    try:
        out["chat_ids"] = fnv(t.apply_chat_template(CHAT)["input_ids"])
    except BaseException:
        out["chat_ids"] = None
    return out


def table(out):
    names = {n for n in dir(transformers) if "Tokenizer" in n} | set(
        filter(None, auto.TOKENIZER_MAPPING_NAMES.values()))
    print("/* What transformers 5.24 has of classes that build a tokenizer: written by\n"
          " * tests/oracle/tokenizer_classes.py --table.\n"
          " *\n"
          " * CLASS(name): a class that does not take tokenizer.json as it is.\n"
          " * MODEL(model_type, class, mistaken, config): the class registered for a model_type,\n"
          " * \"\" where that takes tokenizer.json as it is. mistaken: tokenizer_config.json names\n"
          " * a wrong class for such models, so that the registered one counts. config: there is\n"
          " * a configuration of that name, without which a class that no file names is not\n"
          " * found. */", file=out)
    for name in sorted(names):
        try:
            c = auto.tokenizer_class_from_name(name)
            if not inspect.isclass(c) or not (
                    issubclass(c, PreTrainedTokenizerBase) or name == "RagTokenizer"):
                continue
        except (ImportError, TypeError):
            if not name.endswith("Tokenizer"):
                continue
            c = None
        if name.endswith("Fast") or name in GENERIC or name in ("PreTrainedTokenizerBase",):
            continue
        whole = c is not None and issubclass(c, TokenizersBackend) and "__init__" not in c.__dict__ \
            and not any(m in c.__dict__ for m in ("_decode", "_encode_plus", "__call__"))
        if not whole:
            print(f'CLASS("{name}")', file=out)
    for kind, name in sorted(auto.TOKENIZER_MAPPING_NAMES.items()):
        name = (name or "").removesuffix("Fast")
        if name in ("TokenizersBackend", "MistralCommonBackend"):
            name = ""
        mistaken = kind in auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
        flags = ["true" if f else "false" for f in (mistaken, kind in CONFIG_MAPPING)]
        print(f'MODEL("{kind}", "{name}", {", ".join(flags)})', file=out)


def main():
    out, sys.stdout = sys.stdout, sys.stderr  # transformers prints what it ignores
    sys.stdin = open(os.devnull, encoding="utf-8")
    if sys.argv[1:] == ["--table"]:
        table(out)
        return
    all_roots = roots()
    if sys.argv[1:2] == ["--random"]:
        rng = random.Random(int(sys.argv[3]))
        for i in range(int(sys.argv[2])):
            base, edit, files = randomly(all_roots, rng)
            there = os.path.join(sys.argv[4], f"{i:05}")
            os.makedirs(there)
            write(there, edited(all_roots[base], edit), files, "pair" in edit)
            with open(os.path.join(there, "want.json"), "w", encoding="utf-8") as file:
                json.dump(results(there), file)
        return
    rows = []
    for base, edit, files in listed(all_roots):
        with tempfile.TemporaryDirectory() as there:
            write(there, edited(all_roots[base], edit), files)
            rows.append({"base": base, "edit": edit, "files": files, **results(there)})
    json.dump({"version": transformers.__version__, "texts": TEXTS, "messages": CHAT,
               "template": TEMPLATE, "roots": all_roots, "rows": rows}, out, separators=(",", ":"))
    print(file=out)


main()
