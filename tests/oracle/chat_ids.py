#!/usr/bin/env python3
"""Writes tests/data/chat_ids.json: chats as transformers writes and reads them.

    tests/oracle/chat_ids.py DIR > tests/data/chat_ids.json

DIR has the tokenizers that the tests use (RLFLOW_TEST_DATA/tokenizers). Texts are
those of apply_chat_template, ids those of the tokenizers library by the file
tokenizer.json, which are transformers' own unless it makes a tokenizer's parts
anew (LlamaTokenizer). A chat that the template refuses has an error.
"""
import json
import os
import sys

import tokenizers
import transformers

CHATS = [
    [{"role": "user", "content": "Was ist 2+2? <b>ünï</b>"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi\n"},
     {"role": "assistant", "content": " Hello! "}, {"role": "user", "content": "  x"}],
    [{"role": "user", "content": "Weather?", "name": None},
     {"role": "assistant", "content": None, "tool_calls": [
         {"type": "function", "function": {"name": "get", "arguments": {
             "city": "Zürich", "n": 3, "x": 1.0, "deep": [True, None]}}}]},
     {"role": "tool", "content": "21°C"}, {"role": "user", "content": "Thx"}],
    [{"role": "user", "content": "2+2?"},
     {"role": "assistant", "reasoning": "Sum.", "content": "4"},
     {"role": "user", "content": "<|im_end|></s>"}],
    [{"role": "assistant", "content": "I begin."}, {"role": "user", "content": "?"}],
]

rows = []
for name in sorted(os.listdir(sys.argv[1])):
    path = os.path.join(sys.argv[1], name)
    try:
        slow = transformers.AutoTokenizer.from_pretrained(path)
    except Exception as e:
        print(name, e, file=sys.stderr)
        continue
    if not slow.chat_template:
        continue
    plain = tokenizers.Tokenizer.from_file(os.path.join(path, "tokenizer.json"))
    for chat in CHATS:
        row = {"tokenizer": name, "messages": chat}
        try:
            text = slow.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            row["text"] = text
            row["ids"] = plain.encode(text, add_special_tokens=False).ids
            own = slow.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
            if own != row["ids"]:
                print(name, "splits texts in another way itself", file=sys.stderr)
        except Exception as e:
            row["error"] = type(e).__name__
        rows.append(row)
print(json.dumps(rows, ensure_ascii=True))
