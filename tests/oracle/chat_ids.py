#!/usr/bin/env python3
"""Writes tests/data/chat_ids.json: chats as transformers writes and reads them.

    tests/oracle/chat_ids.py DIR > tests/data/chat_ids.json

DIR has the tokenizers that the tests use (RLFLOW_TEST_DATA/tokenizers). Texts and
ids are those of AutoTokenizer's apply_chat_template, of transformers 5.24.0 with
tokenizers 0.23.3. A chat that the template refuses has an error.
"""
import json
import os
import sys

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
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    except Exception as e:
        print(name, e, file=sys.stderr)
        continue
    if not tokenizer.chat_template:
        continue
    for chat in CHATS:
        row = {"tokenizer": name, "messages": chat}
        try:
            text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
            row["text"] = text
            row["ids"] = tokenizer.apply_chat_template(chat, add_generation_prompt=True)["input_ids"]
        except Exception as e:
            row["error"] = type(e).__name__
        rows.append(row)
print(json.dumps(rows, ensure_ascii=True))
