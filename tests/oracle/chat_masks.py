#!/usr/bin/env python3
"""Writes tests/data/chat_masks.json: which tokens of chats the assistant says.

    tests/oracle/chat_masks.py DIR > tests/data/chat_masks.json

DIR has the tokenizers and the templates of public models that the tests use
(RLFLOW_TEST_DATA). Where a template has {% generation %} the tokens are those of
transformers' return_assistant_tokens_mask. Where it has none they are worked out
here, in another way than by marks: a text of the assistant's is where a rendering
with another text in its place begins and ends to differ, and the end token behind
it, perhaps after white space, is of the turn. Runs are [from, to) of tokens. Needs
transformers 5.
"""
import json
import os
import re
import shutil
import sys
import tempfile

import transformers

CHATS = [
    [{"role": "user", "content": "Was ist 2+2?"}, {"role": "assistant", "content": "4, na\u00efve \U0001f600!"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi\n"},
     {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Hello"},
     {"role": "assistant", "content": "user\nassistant\n Hello"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "  x y\n\n"},
     {"role": "user", "content": "b"}, {"role": "assistant", "content": "\u65e5\u672c\u8a9e e\u0301"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""},
     {"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}],
    [{"role": "user", "content": "x"}, {"role": "assistant", "content": "one"},
     {"role": "user", "content": "one"}, {"role": "assistant", "content": "one one"},
     {"role": "user", "content": "y"}],
]
TEMPLATES = ["deepseekv3-training.trl", "gemma-training.trl", "glm4moe-training.trl",
             "qwen3-6-training.trl"]


def runs(mask):
    out = []
    for i, one in enumerate(mask):
        if one and (not out or out[-1][1] != i):
            out.append([i, i + 1])
        elif one:
            out[-1][1] = i + 1
    return out


def differs(tokenizer, chat, i, text):
    """Where the text of message i is in `text`: characters [from, to), or None."""
    other = [dict(m) for m in chat]
    other[i]["content"] = "@@"
    there = tokenizer.apply_chat_template(other, tokenize=False)
    if there.count("@@") != 1:
        return None
    before, after = there.split("@@")
    if not text.startswith(before) or not text.endswith(after) or len(text) < len(before + after):
        return None
    inside = text[len(before):len(text) - len(after)]
    content = chat[i]["content"]
    return (len(before), len(text) - len(after)) if inside in (content, content.strip()) else None


def spans(tokenizer, chat, ends):
    text = tokenizer.apply_chat_template(chat, tokenize=False)
    out = []
    for i, message in enumerate(chat):
        if message["role"] != "assistant":
            continue
        span = differs(tokenizer, chat, i, text)
        if not span:
            return None, text
        behind = text[span[1]:].lstrip()
        to = span[1]
        for end in ends:
            if behind.startswith(end):
                to = len(text) - len(behind) + len(end)
        out.append((span[0], to))
    return out, text


def masks(tokenizer, chat, generates, ends):
    if generates:
        out = tokenizer.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
        return len(out["input_ids"]), out["assistant_masks"]
    found, text = spans(tokenizer, chat, ends)
    if found is None:
        raise ValueError("changed")
    read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return len(read["input_ids"]), [
        any(b < to and e > a for a, to in found) for b, e in read["offset_mapping"]]


rows = []
for name in sorted(os.listdir(f"{sys.argv[1]}/tokenizers")):
    base = f"{sys.argv[1]}/tokenizers/{name}"
    for template in ["", *TEMPLATES]:
        with tempfile.TemporaryDirectory() as there:
            for file in os.listdir(base):
                shutil.copy(f"{base}/{file}", there)
            if template:
                shutil.copy(f"{sys.argv[1]}/chat_templates/templates/{template}.jinja",
                            f"{there}/chat_template.jinja")
            try:
                tokenizer = transformers.AutoTokenizer.from_pretrained(there)
            except Exception as e:
                print(name, e, file=sys.stderr)
                break
            if not tokenizer.chat_template:
                continue
            generates = re.search(r"\{%-?\s*generation\s*-?%\}", tokenizer.chat_template)
            for i, chat in enumerate(CHATS):
                row = {"tokenizer": name, "template": template, "chat": i}
                try:
                    row["n"], mask = masks(tokenizer, chat, generates, [tokenizer.eos_token])
                    row["runs"] = runs(mask)
                except Exception as e:
                    row["error"] = str(e)[:60]
                rows.append(row)
print(json.dumps({"chats": CHATS, "rows": rows}))
