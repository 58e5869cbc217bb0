"""Writes tests/data/special_names.json: the special tokens that transformers finds
in a tokenizer's files, as its chat template sees them, for files that name them
in this way or that.

    tests/oracle/special_names.py DIR > tests/data/special_names.json

DIR has the tokenizers that the tests use (RLFLOW_TEST_DATA/tokenizers). Made with
transformers 5.24.0. The test is tests/unit/nodes_chat.c."""

import json
import os
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "critical"

import transformers  # noqa: E402

out, sys.stdout = sys.stdout, sys.stderr  # it prints what it ignores

NAMES = ["bos_token", "eos_token", "pad_token", "image_token", "think_token", "boi_token",
         "image_token_id", "model_token", "extra", "tokenizer_token"]
TEMPLATE = "".join("{{ %s }}|" % name for name in NAMES)
TEXT = "a<new><|im_start|> <more>b<new2> c"


def added(content, **flags):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "rstrip": False,
            "normalized": False, "single_word": False, "special": True, **flags}


def bare(content, **flags):
    out = added(content, **flags)
    del out["__type"]
    return out


# The contents of tokenizer_config.json, and of special_tokens_map.json, of each
# case.
CASES = [
    ({"image_token": "<|im_start|>"}, None),
    ({"image_token": added("<|im_start|>")}, None),
    ({"image_token": added("<new>", lstrip=True)}, None),
    ({"image_token": bare("<|im_start|>")}, None),
    ({"image_token": 7, "boi_token": None, "think_token": ["<new>"]}, None),
    ({"extra": "<new>", "image_token_id": "<new>"}, None),
    ({"image_token": "<new>", "think_token": "<more>"}, None),
    ({"extra_special_tokens": {"image_token": "<|im_start|>", "think_token": "<new>"}}, None),
    ({"extra_special_tokens": {"image_token": added("<new>", rstrip=True)}}, None),
    ({"extra_special_tokens": {"image_token": bare("<new>", rstrip=True)}}, None),
    ({"extra_special_tokens": {"extra": "<new>"}}, None),
    ({"extra_special_tokens": {"bos_token": "<new>"}}, None),
    ({"extra_special_tokens": ["<new>", "<more>"]}, None),
    ({"extra_special_tokens": ["<new>"], "additional_special_tokens": ["<more>"]}, None),
    ({"extra_special_tokens": [], "additional_special_tokens": ["<more>"]}, None),
    ({"extra_special_tokens": {}, "additional_special_tokens": ["<more>"]}, None),
    ({"additional_special_tokens": {"image_token": "<more>"}}, None),
    ({"extra_special_tokens": {"image_token": "<new>"},
      "additional_special_tokens": ["<more>"]}, None),
    ({"model_specific_special_tokens": {"image_token": "<|im_start|>"}}, None),
    ({"model_specific_special_tokens": {"image_token": added("<new>")}}, None),
    ({"model_specific_special_tokens": {"image_token": 5}}, None),
    ({"model_specific_special_tokens": None}, None),
    ({"model_specific_special_tokens": ["<new>"]}, None),
    ({"model_specific_special_tokens": {"image_token": "<new>"}, "think_token": "<more>"}, None),
    ({"model_specific_special_tokens": {"image_token": "<new>"},
      "image_token": added("<more>"), "think_token": added("<new2>")}, None),
    ({"model_specific_special_tokens": {"image_token": "<new>"}, "image_token": "<new>"}, None),
    ({"model_specific_special_tokens": {"image_token": "<new>"},
      "extra_special_tokens": {"think_token": "<more>"}}, None),
    ({"image_token": "<new>", "extra_special_tokens": {"image_token": "<more>"}}, None),
    ({"image_token": "<new>", "extra_special_tokens": ["<more>"]}, None),
    ({"image_token": "<new>", "pad_token": "<more>"}, None),
    ({"image_token": ""}, None),
    ({}, {"image_token": "<|im_start|>"}),
    ({}, {"image_token": bare("<new>")}),
    ({}, {"extra_special_tokens": {"image_token": "<new>"}}),
    ({"extra_special_tokens": ["<new>"]}, {"extra_special_tokens": ["<more>", "<new>"]}),
    ({"extra_special_tokens": ["<new>"]}, {"additional_special_tokens": ["<more>"]}),
    ({"additional_special_tokens": ["<new>"]}, {"additional_special_tokens": ["<more>"]}),
    ({}, {"additional_special_tokens": ["<more>"], "pad_token": "<new>"}),
    ({"image_token": "<new>"}, {"image_token": "<more>"}),
    ({"image_token": "<new>"}, {"think_token": "<more>"}),
    ({"extra_special_tokens": {"image_token": "<new>"}},
     {"extra_special_tokens": {"think_token": "<more>"}}),
    ({"extra_special_tokens": {"image_token": "<new>"}},
     {"model_specific_special_tokens": {"think_token": "<more>"}}),
    ({"added_tokens_decoder": {}}, {"image_token": "<new>"}),
]


def main():
    rows = []
    for base in ("gpt2", "qwen2.5"):
        here = os.path.join(sys.argv[1], base)
        for config, named in CASES:
            with tempfile.TemporaryDirectory() as there:
                shutil.copy(os.path.join(here, "tokenizer.json"), there)
                config = dict(config, chat_template=TEMPLATE)
                config["tokenizer_class"] = "PreTrainedTokenizerFast"
                files = {"tokenizer_config.json": config}
                if named is not None:
                    files["special_tokens_map.json"] = named
                for name, value in files.items():
                    with open(os.path.join(there, name), "w", encoding="utf-8") as file:
                        json.dump(value, file)
                row = {"base": base, "files": files}
                try:
                    t = transformers.AutoTokenizer.from_pretrained(there)
                    row["size"] = len(t)
                    row["text"] = t.apply_chat_template([{"role": "user", "content": "x"}],
                                                        tokenize=False)
                    row["ids"] = t(TEXT, add_special_tokens=False).input_ids
                    row["special"] = [i for i in range(len(t))
                                      if t.decode([i], skip_special_tokens=True) == ""
                                      and t.decode([i]) != ""]
                except Exception as e:
                    row["error"] = type(e).__name__ + ": " + str(e)[:100]
                rows.append(row)
    json.dump({"version": transformers.__version__, "said": TEXT, "rows": rows}, out)
    print(file=out)


main()
