"""Writes tests/data/chat_tools.json: what transformers makes of chats with tools
and of tokenizers that come with several templates.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install transformers==5.24.0 jinja2==3.1.6
    /tmp/venv/bin/python tests/oracle/chat_tools.py > tests/data/chat_tools.json

Each row names its case, whose files stand beside a tokenizer.json, and has the
tools (null: none), the name of a template (null: none is named) and the text, or
no text where it is an error there. The test is tests/unit/nodes_chat.c."""

import json
import os
import shutil
import tempfile

from transformers import PreTrainedTokenizerFast

BASE = os.path.join(os.path.dirname(__file__), "..", "tokenizers", "00.json")

# Templates that print all that they see of messages and tools.
PLAIN = ("{{ bos_token }}plain{% for m in messages %}[{{ m.role }}]{{ m.content }}"
         "{% endfor %}{{ tools is none }}{% if add_generation_prompt %}>{% endif %}")
TOOLS = ("use{{ tools | length }}{% for t in tools %}{{ t | tojson }};"
         "{{ t.function.name }}{% for k, v in t.function.parameters.properties.items() %}"
         " {{ k }}={{ v.type }}{{ v.get('default') }}{% endfor %}{% endfor %}|"
         "{{ tools | tojson(indent=2) }}{{ messages[-1].content }}")
EITHER = ("{% if tools %}{{ tools }}{% elif tools is not none %}empty{% endif %}"
          "{{ messages[0]['content'] }}")
RAG = "rag{{ messages | length }}{{ tools is none }}"

WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "The weather, of a <city> & a \"day\".",
    "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "enum": ["Zürich", "北京"]},
        "days": {"type": "integer", "default": 3},
        "scale": {"type": "number", "default": 0.1},
        "x": {"type": "boolean", "default": None}}, "required": ["city"]}}}
ADD = {"type": "function", "function": {
    "name": "add", "parameters": {"type": "object", "properties": {}}}}
CHAT = [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}]

LIST = [{"name": "default", "template": PLAIN},
        {"name": "tool_use", "template": TOOLS},
        {"name": "rag", "template": RAG}]
FILES = {
    "one": {"tokenizer_config.json": {"chat_template": EITHER}},
    "list": {"tokenizer_config.json": {"chat_template": LIST}},
    "twice": {"tokenizer_config.json": {"chat_template": LIST + [
        {"name": "default", "template": "later"}]}},
    "object": {"tokenizer_config.json": {"chat_template": {
        "default": PLAIN, "tool_use": TOOLS}}},
    "no default": {"tokenizer_config.json": {"chat_template": LIST[1:]}},
    "file": {"chat_template.jinja": EITHER},
    "file before": {"chat_template.jinja": EITHER,
                    "tokenizer_config.json": {"chat_template": LIST}},
    "folder": {"chat_template.jinja": PLAIN,
               "additional_chat_templates/tool_use.jinja": TOOLS,
               "additional_chat_templates/rag.jinja": RAG,
               "additional_chat_templates/other.txt": "no"},
    "folder alone": {"additional_chat_templates/tool_use.jinja": TOOLS,
                     "tokenizer_config.json": {"chat_template": PLAIN}},
    "folder of a default": {"additional_chat_templates/default.jinja": PLAIN},
}


def main():
    rows = []
    for name, files in FILES.items():
        files.setdefault("tokenizer_config.json", {})["bos_token"] = "<s>"
        with tempfile.TemporaryDirectory() as d:
            shutil.copy(BASE, f"{d}/tokenizer.json")
            for path, value in files.items():
                os.makedirs(os.path.dirname(f"{d}/{path}"), exist_ok=True)
                with open(f"{d}/{path}", "w", encoding="utf-8") as f:
                    f.write(value if isinstance(value, str) else
                            json.dumps(value))
            t = PreTrainedTokenizerFast.from_pretrained(d)
            for tools in (None, [], [ADD], [WEATHER, ADD]):
                for named in (None, "rag"):
                    if named and isinstance(t.chat_template, str):
                        continue
                    row = {"case": name, "tools": tools, "named": named}
                    try:
                        row["text"] = t.apply_chat_template(
                            CHAT, tools=tools, chat_template=named,
                            tokenize=False, add_generation_prompt=True)
                        if named and named not in t.chat_template:
                            del row["text"]  # it is taken for a template
                    except Exception:
                        pass
                    rows.append(row)
    print(json.dumps({"messages": CHAT, "files": FILES}, indent=0)[:-2] + ',\n"rows": [')
    print(",\n".join(json.dumps(row) for row in rows) + "]}")


main()
