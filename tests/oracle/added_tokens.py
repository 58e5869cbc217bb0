"""Writes tests/data/added_tokens.json: how transformers splits random texts around
added tokens with random flags, of which some stand in tokenizer_config.json too,
with other flags.

    tests/oracle/added_tokens.py > tests/data/added_tokens.json

Made with transformers 5.24.0 and tokenizers 0.23.3. The test is
tests/unit/text_oracle.c."""

import json
import os
import random
import sys
import tempfile

import transformers

CHARS = "abcX<>| \n\t\u00a0\u3000-"
WORDS = ["<X>", "<X>>", " ", "  ", "\n\n", " a", "a ", "ab", "\n", "|", "<|a|>", "\u3000", " <X>", "X", "bc"]
FLAGS = ["lstrip", "rstrip", "single_word", "normalized", "special"]


def ids_of(t, text):
    """None where the library itself breaks off: of white space that two tokens take."""
    try:
        return t(text, add_special_tokens=False).input_ids
    except BaseException as e:
        if "bad split" not in str(e):
            raise
        return None


def main():
    rng = random.Random(5)
    pieces = list(CHARS) + WORDS + ["  ", " \n", "<X> ", " <|a|>", "<X>", "<|a|>"]
    rows = []
    for number in range(120):
        vocab = {c: i for i, c in enumerate(CHARS)}
        chosen = rng.sample(WORDS, rng.randrange(1, 7))
        likely = rng.random()

        def token(text):
            return {"content": text, **{f: rng.random() < likely for f in FLAGS}}

        tokens = [{"id": vocab.get(w, len(CHARS) + i), **token(w)}
                  for i, w in enumerate(w for w in sorted(chosen, key=lambda w: w in vocab))]
        root = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens,
                "normalizer": {"type": "Replace", "pattern": {"String": "-"}, "content": " "}
                if number % 3 == 0 else None,
                "pre_tokenizer": None, "post_processor": None, "decoder": {"type": "Fuse"},
                "model": {"type": "BPE", "vocab": vocab, "merges": [], "dropout": None,
                          "unk_token": None, "continuing_subword_prefix": None,
                          "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                          "ignore_merges": False}}
        config = {"tokenizer_class": "PreTrainedTokenizerFast"}
        if number % 2:
            config["added_tokens_decoder"] = {}
            for t in tokens:
                if rng.random() < 0.7:
                    said = token(t["content"])
                    for f in FLAGS:
                        if rng.random() < 0.2:
                            del said[f]
                    config["added_tokens_decoder"][str(t["id"])] = said
        texts = ["".join(rng.choice(pieces) for _ in range(rng.randrange(1, 14)))
                 for _ in range(40)]
        with tempfile.TemporaryDirectory() as there:
            for name, value in (("tokenizer.json", root), ("tokenizer_config.json", config)):
                with open(os.path.join(there, name), "w", encoding="utf-8") as file:
                    json.dump(value, file)
            t = transformers.PreTrainedTokenizerFast.from_pretrained(there)
            ids = [ids_of(t, text) for text in texts]
            skipped = [t.decode([t_["id"]], skip_special_tokens=True) == "" for t_ in tokens]
        rows.append({"root": root, "config": config, "texts": texts, "ids": ids,
                     "special": [t_["id"] for t_, s in zip(tokens, skipped) if s]})
    json.dump(rows, sys.stdout)
    print()


main()
