"""Writes tests/data/tokenizer_config.json: what transformers makes of texts when
keys of tokenizer_config.json and the files beside it say this or that.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install transformers
    /tmp/venv/bin/python tests/oracle/tokenizer_config.py DATA \
        > tests/data/tokenizer_config.json

DATA holds the directories listed below. Made with transformers 5.24.0 and
tokenizers 0.23.3. The test is tests/unit/text_oracle.c."""

import json
import os
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import transformers  # noqa: E402

BASES = [
    "tokenizers/gpt2",
    "tokenizers/llama2",
    "tokenizers/llama3.1",
    "tokenizers/qwen2.5",
    "tokenizers/smollm2",
    "models/stories260K-hf",
]
TEXTS = [
    "Hello world",
    "Once upon a time",
    "It's a<|eot_id|><|im_end|>",
    "a b</s>",
    "the x<new>",
    "one <pad>",
    " x</s> 1234  y",
]
FAST = {"tokenizer_class": "PreTrainedTokenizerFast"}
EDITS = [
    {},
    {"add_prefix_space": True},
    {"add_prefix_space": False},
    {"add_prefix_space": True, **FAST},
    {"add_prefix_space": False, **FAST},
    {"split_special_tokens": True},
    {"additional_special_tokens": ["<new>", "time"]},
    {"extra_special_tokens": ["<new>", "world"]},
    {"extra_special_tokens": {"new_token": "<new>"}},
    {"pad_token": "<pad>"},
    {
        "mask_token": {
            "__type": "AddedToken",
            "content": "<new>",
            "lstrip": True,
            "special": True,
        }
    },
    {"add_bos_token": True, "bos_token": "e"},
    {"add_eos_token": True},
    {"add_bos_token": False},
]


def main():
    data = sys.argv[1]
    cases = []
    for base in BASES:
        for edit in EDITS:
            here = os.path.join(data, base)
            with tempfile.TemporaryDirectory() as there:
                for name in os.listdir(here):
                    if name.endswith((".json", ".txt", ".jinja")):
                        shutil.copy(os.path.join(here, name), there)
                path = os.path.join(there, "tokenizer_config.json")
                config = {}
                if os.path.exists(path):
                    with open(path, encoding="utf-8") as file:
                        config = json.load(file)
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({**config, **edit}, file)
                t = transformers.AutoTokenizer.from_pretrained(there)
                cases.append(
                    {
                        "base": base,
                        "edit": edit,
                        "size": len(t),
                        "ids": [t(text).input_ids for text in TEXTS],
                    }
                )
    json.dump(
        {"version": transformers.__version__, "texts": TEXTS, "cases": cases},
        sys.stdout,
    )
    print()


main()
