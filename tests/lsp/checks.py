"""Checks of `rlflow lsp` by a client of its own. Prints "ok NAME" and "not ok
NAME", which lsp.tap counts: checks.py RLFLOW SOURCE."""
import json
import os
import random
import subprocess
import sys
import time

from client import Client, uri_of

rlflow, source = sys.argv[1:3]
examples = os.path.join(source, "examples")

HEAD = f"""import "std/loss"
data rows = jsonl("{examples}/data/arith.jsonl", prompt: "question", answer: "answer")
model actor = lm("{examples}/models/arith", optimizer: adamw(lr: 1e-5))
hook judge = lua("{examples}/rewards/arith.lua")
## Twice as much.
def double(x, by = 2) = x * by
flow f(batch: rows[4]) {{
    roll = actor.generate(batch, n: 8, max_new: 3)
    score = judge(roll)
"""
TAIL = """    update actor minimize mean(k1(actor.logprob(roll), roll.logprob) + double(score) over batch)
    report reward = mean(score over batch)
}
"""


def ok(good, name, seen=None):
    print(("ok " if good else "not ok ") + name)
    if not good and seen is not None:
        print("# " + str(seen)[:600].replace("\n", "\n# "))
    sys.stdout.flush()


def place(text, word):
    """The line and character of a word, counted in UTF-16."""
    before = text[:text.index(word)].split("\n")
    return len(before) - 1, len(before[-1].encode("utf-16-le")) // 2


def words(hover):
    return hover["contents"]["value"] if hover else ""


# ---- diagnostics ----

def check_diagnostics():
    text = HEAD + TAIL.replace("double(score)", "dobule(score)")
    with open("wrong.rlf", "w") as file:
        file.write(text)
    told = subprocess.run([rlflow, "check", "wrong.rlf", "--diag", "json"],
                          stderr=subprocess.PIPE).stderr.decode()
    told = [json.loads(line) for line in told.splitlines()]
    client = Client([rlflow, "lsp"])
    uri = uri_of("unsaved.rlf")
    client.open(uri, text)
    seen = client.published(uri)
    want = [(t["line"] - 1, t["column"] - 1, t["text"] + (
        "\nhint: " + t["hint"] if t.get("hint") else "")) for t in told]
    got = [(d["range"]["start"]["line"], d["range"]["start"]["character"],
            d["message"]) for d in seen]
    ok(want and got == want, "the messages of check, of a file that is not there",
       (got, want))
    line, character = place(text, "dobule")
    client.change(uri, "double", (line, character), (line, character + 6))
    ok(client.published(uri) == [], "a change of a word, and nothing is wrong")
    client.change(uri, HEAD + TAIL.replace("k1(", "k9("))
    seen = client.published(uri)
    ok(len(seen) == 1 and "k9" in seen[0]["message"], "a whole new text", seen)
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    ok(client.published(uri) == [], "a document that is closed has none")
    client.open(uri, "param dir : path\n" + HEAD.replace(
        f'"{examples}/models/arith"', "dir") + TAIL)
    seen = client.published(uri)
    ok([d["severity"] for d in seen] == [3], "a parameter that a run is given",
       seen)
    ok(client.stop() == 0, "the server ends in order")


def check_notes():
    """Other places that a diagnostic speaks of."""
    text = "param a : int = 1\n\nparam a : int = 2\nflow f() { report x = a }\n"
    uri = uri_of("twice.rlf")
    client = Client([rlflow, "lsp"], {"textDocument": {"publishDiagnostics": {
        "relatedInformation": True}}})
    client.open(uri, text)
    seen = client.published(uri)
    note = seen[0].get("relatedInformation") if seen else None
    ok(note and note[0]["message"] == "first here" and note[0]["location"] == {
        "uri": uri, "range": {"start": {"line": 0, "character": 6},
                              "end": {"line": 0, "character": 7}}} and
       "first here" not in seen[0]["message"], "a note with its place", seen)
    client.stop()
    client = Client([rlflow, "lsp"])
    client.open(uri, text)
    seen = client.published(uri)
    ok(seen and "relatedInformation" not in seen[0] and
       seen[0]["message"].endswith("\nnote: first here (line 1)"),
       "a note for a client that has no such places", seen)
    client.stop()


def check_imports():
    client = Client([rlflow, "lsp"])
    main, library = uri_of("main.rlf"), uri_of("sub/library.rlf")
    os.makedirs("sub", exist_ok=True)
    with open("sub/library.rlf", "w") as file:
        file.write("def twice(x) = x *\n")
    client.open(main, 'import "sub/library"\nflow f() { report x = twice(1) }\n')
    seen = client.published(library)
    ok(len(seen) == 1 and seen[0]["severity"] == 1,
       "what is wrong with an import is told of its file", seen)
    client.open(library, "def twice(x) = x * 2\n")
    ok(client.published(library) == [], "which an editor has corrected")
    client.notes.clear()
    client.change(library, "def thrice(x) = x * 3\n")
    seen = client.published(main)
    while not seen:
        seen = client.published(main)
    ok("twice" in seen[0]["message"], "a name that an import has lost", seen)
    client.change(library, "def twice(x) = x * 4\n")
    client.notes.clear()
    at = client.ask("definition", main, 1, 24)
    ok(at and at["uri"] == library and at["range"]["start"]["line"] == 0,
       "the definition in an import that is open", at)
    at = client.ask("definition", main, 0, 10)
    ok(at and at["uri"] == library, "the file of an import", at)
    # a path in quotes, also where it is what a parameter has by default
    text = ('param file : path = "sub/rows.jsonl"\n'
            'data rows = jsonl(file, prompt: "p")\nhook judge = lua("sub/judge.lua")\n'
            'hook other = lua("sub/none.lua")\nflow f() { report x = 1 }\n')
    for name in "rows.jsonl", "judge.lua":
        with open("sub/" + name, "w") as file:
            file.write('{"p": "1"}\n' if name == "rows.jsonl" else
                       "return function(s) return 1 end\n")
    client.change(main, text)
    for line, character, name in ((0, 25, "rows.jsonl"), (2, 22, "judge.lua")):
        at = client.ask("definition", main, line, character)
        ok(at and at["uri"] == uri_of("sub/" + name) and
           at["range"]["start"] == {"line": 0, "character": 0},
           f"the file of a path: {name}", at)
    ok(client.ask("definition", main, 3, 22) is None, "one that is not there")
    ok("none.lua" in words(client.ask("hover", main, 3, 22)), "its path")
    ok(client.stop() == 0, "the server ends in order")


# ---- questions ----

def check_questions():
    client = Client([rlflow, "lsp"], {"textDocument": {"hover": {
        "contentFormat": ["markdown", "plaintext"]}}})
    uri, text = uri_of("p.rlf"), HEAD + TAIL
    client.open(uri, text)

    def hover(word, more=0):
        line, character = place(text, word)
        return words(client.ask("hover", uri, line, character + more))

    ok("one per sample of 'roll', at most 32 in a step" in hover("score ="),
       "hover: level, set and size")
    ok("```rlf\ndef double(x, by = 2)\n```" in hover("double(score)") and
       "Twice as much." in hover("double(score)"), "hover: a def and its text")
    ok("def k1(" in hover("k1("), "hover: a function of the library")
    ok("- max_new: whole number" in hover("generate"), "hover: a call's arguments")
    ok(hover("max_new") and "max_new: whole number" in hover("max_new"),
       "hover: one of them")
    ok(hover(" over batch", 6).startswith("```"), "hover: behind over")
    ok(client.ask("hover", uri, 5000, 3) is None and
       client.ask("hover", uri, 4, 500) is None, "hover: outside")

    def definition(word):
        at = client.ask("definition", uri, *place(text, word))
        return at and (at["uri"], at["range"]["start"]["line"])

    ok(definition("score over") == (uri, 8), "definition: a value")
    ok(definition("actor.generate") == (uri, 2), "definition: a model")
    ok(definition("double(score)") == (uri, 5), "definition: a def")
    at = definition("k1(")
    ok(at and at[0].endswith("/loss.rlf"), "definition: the library", at)
    ok(definition("mean(k1") is None, "definition: what is built in has none")
    symbols = client.ask("documentSymbol", uri)
    ok([s["name"] for s in symbols][-1] == "f" and
       [c["name"] for c in symbols[-1]["children"]] == ["roll", "score"],
       "symbols: what a flow names", symbols)
    ok(client.ask("formatting", uri, options={}) is not None and
       client.ask("formatting", uri_of("none.rlf"), options={}) is None,
       "formatting: a document that is open")
    messy = "flow  f(  ){report x=1}\n"
    with open("messy.rlf", "w") as file:
        file.write(messy)
    client.open(uri_of("messy.rlf"), messy)
    edits = client.ask("formatting", uri_of("messy.rlf"), options={})
    form = subprocess.run([rlflow, "fmt", "messy.rlf"],
                          stdout=subprocess.PIPE).stdout.decode()
    ok(len(edits) == 1 and edits[0]["newText"] == form,
       "formatting: what fmt prints", edits)
    client.change(uri_of("messy.rlf"), "flow f( {\n")
    ok(client.ask("formatting", uri_of("messy.rlf"), options={}) is None,
       "formatting: what is wrong stays")
    ok(client.stop() == 0, "the server ends in order")


def check_references():
    client = Client([rlflow, "lsp"])
    main, library = uri_of("uses.rlf"), uri_of("sub/parts.rlf")
    os.makedirs("sub", exist_ok=True)
    parts = "def twice(x, by = 2) = x * by\ndef four(x) = twice(twice(x))\n"
    text = ('import "sub/parts"\nflow f() {\n    x = twice(1, by: 3)\n'
            '    y = x + four(x) # x\n    report x = y\n}\n')
    client.open(library, parts)
    client.open(main, text)
    client.published(main)

    def uses(uri, line, character, **more):
        found = client.ask("references", uri, line, character,
                           context={"includeDeclaration": True, **more})
        return found and [(at["uri"], at["range"]["start"]["line"],
                           at["range"]["start"]["character"]) for at in found]

    both = [(library, 0, 4), (library, 1, 14), (library, 1, 20), (main, 2, 8)]
    ok(uses(library, 0, 5) == both and uses(main, 2, 10) == both,
       "references: a def, from its file and another", uses(main, 2, 10))
    ok(uses(main, 2, 10, includeDeclaration=False) == both[1:],
       "references: without the declaration")
    here = [(main, 2, 4), (main, 3, 8), (main, 3, 17)]
    ok(uses(main, 3, 8) == here, "references: neither a comment nor a metric",
       uses(main, 3, 8))
    ok([h["range"]["start"]["line"] for h in client.ask(
        "documentHighlight", main, 3, 8)] == [2, 3, 3], "highlights")
    ok(uses(main, 2, 18) == [(library, 0, 13), (library, 0, 27), (main, 2, 17)],
       "references: an argument and its label", uses(main, 2, 18))

    def rename(uri, line, character, name):
        return client.request("textDocument/rename", {
            "textDocument": {"uri": uri}, "newName": name,
            "position": {"line": line, "character": character}})

    changes = rename(main, 2, 10, "double")["result"]["changes"]
    ok({uri: [(e["range"]["start"]["line"], e["range"]["start"]["character"])
              for e in edits] for uri, edits in changes.items()} ==
       {library: [at[1:] for at in both[:3]], main: [both[3][1:]]} and
       all(e["newText"] == "double" for e in changes[main]), "rename: a def",
       changes)
    ok(len(rename(main, 2, 18, "factor")["result"]["changes"][library]) == 2,
       "rename: an argument and its label")
    for name, why in (("y", "taken"), ("four", "that of a def"), ("9a", "no name"),
                      ("flow", "a keyword"), ("", "empty")):
        answer = rename(main, 3, 8, name)
        ok(answer.get("error", {}).get("code") == -32602, "rename: " + why, answer)
    ok("error" in rename(main, 3, 2, "z") and
       client.ask("prepareRename", main, 3, 2) is None, "rename: no name")
    at = client.ask("prepareRename", main, 3, 9)
    ok(at and at["start"] == {"line": 3, "character": 8}, "rename: which name", at)
    client.change(main, 'import "std/loss"\nflow f() {\n    report x = k1(1, 2)\n}\n')
    ok("error" in rename(main, 2, 16, "z"), "rename: of the library")
    ok(client.stop() == 0, "the server ends in order")


def check_completion():
    client = Client([rlflow, "lsp"])
    uri = uri_of("c.rlf")
    head = 'import "std/advantage" as adv\n' + HEAD
    client.open(uri, head)

    def proposed(line):
        text = head + line
        client.change(uri, text)
        at = text.count("\n"), len(line.encode("utf-16-le")) // 2
        items = client.ask("completion", uri, *at)["items"]
        for item in items:
            end = item["textEdit"]["range"]["end"]
            assert (end["line"], end["character"]) == at, item
        return {item["label"]: item for item in items}

    seen = proposed("    x = roll.")
    ok({"logprob", "answer", "where"} <= set(seen) and "exp" not in seen,
       "completion: fields", list(seen))
    seen = proposed("    x = actor.lo")
    ok("logprob" in seen and seen["logprob"]["textEdit"]["range"]["start"]
       ["character"] == 14, "completion: calls of a model", seen.get("logprob"))
    ok("gae" in proposed("    x = adv."), "completion: functions of an import")
    seen = proposed("    x = actor.generate(batch, m")
    ok(seen["max_new"]["textEdit"]["newText"] == "max_new: ",
       "completion: arguments")
    ok(set(proposed("    x = mean(score over ")) ==
       {"tokens", "group", "batch", "vocab"}, "completion: levels")
    seen = proposed("    ")
    ok({"score", "update", "k1", "mean"} <= set(seen), "completion: names in scope")
    ok(proposed("    # roll.") == {}, "completion: none in a comment")
    ok("double" in proposed('    y = "é𝔘" == "" ? dou'),
       "completion: behind letters of two units")
    ok(client.stop() == 0, "the server ends in order")


# ---- positions ----

def check_positions():
    line = '    y = "é𝔘" == "a" ? nothing : score\n'
    text = HEAD + line + TAIL
    for encodings, unit in ((None, "utf-16"), (["utf-8", "utf-16"], "utf-8")):
        client = Client([rlflow, "lsp"], {"general": {
            "positionEncodings": encodings}} if encodings else {})
        uri = uri_of("u.rlf")
        ok(client.capabilities["positionEncoding"] == unit, f"{unit} it is")
        client.open(uri, text)
        seen = [d for d in client.published(uri) if "named 'nothing'" in d["message"]]
        prefix = line[:line.index("nothing")]
        want = (len(prefix.encode()) if unit == "utf-8"
                else len(prefix.encode("utf-16-le")) // 2)
        ok(seen and seen[0]["range"]["start"]["character"] == want,
           f"a diagnostic behind them in {unit}", seen)
        row = HEAD.count("\n")
        client.change(uri, "score", (row, want), (row, want + 7))
        ok(not [d for d in client.published(uri) if "named 'nothing'" in d["message"]],
           f"a change behind them in {unit}")
        ok("one per sample" in words(client.ask("hover", uri, row, want + 1)),
           f"a name behind them in {unit}")
        client.change(uri, "", (row, 0), (row + 9999, 9999))
        client.change(uri, "#", (9999, 0), (9999, 5))
        client.change(uri, "x", (4, 0), (2, 0))
        client.change(uri, "x", (-3, 0), (2, 0))
        client.published(uri)
        ok(client.ask("hover", uri, 5, 5) is not None,
           f"positions outside do no harm in {unit}")
        ok(client.stop() == 0, "the server ends in order")


# ---- what no client should send ----

def whole(data):
    """The exit status and the output for these bytes."""
    done = subprocess.run([rlflow, "lsp"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout, done.stderr


def frame(body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


INIT = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
OPEN = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {
    "textDocument": {"uri": "file:///a.rlf", "version": 1,
                     "text": HEAD + TAIL}}}


def check_frames():
    for name, data in (
            ("a length that is no number", b"Content-Length: x\r\n\r\n{}"),
            ("a length below 0", b"Content-Length: -1\r\n\r\n{}"),
            ("a huge length", b"Content-Length: 99999999999999999999\r\n\r\n{}"),
            ("a length of 4 GB", b"Content-Length: 4294967296\r\n\r\n{}"),
            ("two lengths", b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
            ("no length", b"Content-Type: x\r\n\r\n{}"),
            ("no header", b"{}" * 9000),
            ("half a header", b"Content-Le"),
            ("half a message", b"Content-Length: 50\r\n\r\n{}")):
        status, out, error = whole(data)
        ok(status == 1 and b'"error"' in out and error.startswith(
            b"rlflow: error: "), name, (status, out, error))
    ok(whole(b"")[0] == 1, "nothing at all")


def check_messages():
    client = Client([rlflow, "lsp"], initialize=False)
    answer = client.request("textDocument/hover", {})
    ok(answer["error"]["code"] == -32002, "a request before initialize", answer)
    client.request("initialize", {})
    ok(client.request("initialize", {})["error"]["code"] == -32600,
       "initialize twice")
    for name, body, code in (
            ("no JSON", b"{", -32700), ("half a string", b'{"a": "', -32700),
            ("no UTF-8", b'{"method": "\xff"}', -32700),
            ("deep JSON", b"[" * 100000, -32700),
            ("a number", b"1", -32600), ("a list", b"[]", -32600),
            ("no method", b'{"id": 3}', -32600),
            ("a method that is no text", b'{"id": 3, "method": 7}', -32600),
            ("an id that is a list", b'{"id": [], "method": "x"}', -32600)):
        client.send_bytes(frame(body))
        answer = client.receive()
        ok(answer["error"]["code"] == code, name, answer)
    ok(client.request("no/such", {})["error"]["code"] == -32601,
       "a method that is not known")
    client.notify("no/such", {})
    for params in (None, 3, [], {}, {"textDocument": 5},
                   {"textDocument": {"uri": 7}}):
        for method in ("hover", "definition", "completion", "documentSymbol",
                       "formatting", "references", "documentHighlight",
                       "prepareRename", "rename"):
            answer = client.request("textDocument/" + method, params)
            if answer.get("error", {}).get("code") != -32602:
                ok(False, f"{method} of {params}", answer)
        for method in ("didOpen", "didChange", "didClose"):
            client.notify("textDocument/" + method, params)
    ok(True, "parameters that are none")
    uri = "untitled:Untitled-1"
    client.open(uri, "flow f() { report x = y }\n")
    ok(len(client.published(uri)) == 1, "a document that has no file")
    client.change(uri, "a\0b")
    ok(client.published(uri) != [], "a text with a byte 0")
    client.request("shutdown", None)
    ok(client.request("textDocument/hover", {})["error"]["code"] == -32600,
       "a request after shutdown")
    client.notify("exit", None)
    ok(client.process.wait() == 0, "the server ends in order")


def check_mutations():
    """Messages with bytes changed: the server answers or ends by itself."""
    chance = random.Random(7)
    questions = [{"jsonrpc": "2.0", "id": 9, "method": "textDocument/" + method,
                  "params": {"textDocument": {"uri": "file:///a.rlf"},
                             "position": {"line": 8, "character": 8}}}
                 for method in ("hover", "completion", "definition")]
    edit = {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": {"uri": "file:///a.rlf", "version": 2},
        "contentChanges": [{"range": {"start": {"line": 7, "character": 4},
                                      "end": {"line": 8, "character": 2}},
                            "text": "x = actor."}]}}
    bad = []
    for _ in range(40 if os.environ.get("RLFLOW_TEST_QUICK") else 200):
        data = b""
        for message in [INIT, OPEN, edit] + questions:
            body = bytearray(json.dumps(message).encode())
            for _ in range(chance.choice((0, 0, 1, 3))):
                body[chance.randrange(len(body))] = chance.randrange(256)
            data += frame(bytes(body))
        if chance.random() < 0.2:
            data = data[:chance.randrange(len(data))]
        status, _, error = whole(data)
        if status != 1 or (error and not error.startswith(b"rlflow: error: ")):
            bad.append((status, error[:200]))
    ok(not bad, "messages with bytes changed", bad[:3])


def check_many():
    """Each of many diagnostics and symbols is at its own place."""
    text = "".join(f"def f{i}() = {i}\n# é𝔘\ndef g{i}() = f{i}() # 𝔘\n"
                   for i in range(3000))
    client = Client([rlflow, "lsp"])
    uri = uri_of("many.rlf")
    client.open(uri, text + "flow f() { report x = f1() + step }\n")
    seen = [d["range"]["start"] for d in client.published(uri)]
    ok(len(seen) > 2000 and len({s["line"] for s in seen}) == len(seen) and
       all(s["character"] == 4 for s in seen), "many diagnostics", seen[:5])
    symbols = client.ask("documentSymbol", uri)
    want = [(3 * (i // 2) + 2 * (i % 2), "fg"[i % 2] + str(i // 2))
            for i in range(6000)]
    ok([(s["selectionRange"]["start"]["line"], s["name"])
        for s in symbols[:-1]] == want, "many symbols", symbols[:3])
    client.stop()


# ---- how long ----

def check_brackets():
    """200,000 open brackets are answered at once, not after a minute."""
    client = Client([rlflow, "lsp", "--stdio"])
    uri = uri_of("brackets.rlf")
    begin = time.monotonic()
    client.open(uri, "flow f() { x = " + "(" * 200000)
    seen = client.published(uri)
    ok([m["message"].split("\n")[0] for m in seen][:1] ==
       ["brackets stand more than 200 deep in one another at '('"],
       "what is wrong with many open brackets", [m["message"] for m in seen])
    client.ask("hover", uri, 0, 12)
    client.ask("completion", uri, 0, 12)
    took = time.monotonic() - begin
    ok(took < 15, "many open brackets take no time", took)
    client.stop()


def measure():
    """A remark: a program of 300 lines, from a key to its diagnostics."""
    lines = [f"    a{i} = {'score' if not i else f'a{i - 1}'} * {i + 2} + mean(score over group)\n"
             for i in range(285)]
    text = HEAD + "".join(lines) + f"    report last = mean(a{len(lines) - 1} over batch)\n" + TAIL
    client = Client([rlflow, "lsp"])
    uri = uri_of("long.rlf")
    client.open(uri, text)
    seen = client.published(uri)
    ok(seen == [], "a program of 300 lines", seen)
    times = {"diagnostics": [], "hover": [], "completion": []}
    for i in range(20):
        row = HEAD.count("\n") + 100
        begin = time.monotonic()
        client.change(uri, str(i % 10), (row, 15), (row, 16))
        client.published(uri)
        times["diagnostics"].append(time.monotonic() - begin)
        for method in ("hover", "completion"):
            begin = time.monotonic()
            client.ask(method, uri, row, 6)
            times[method].append(time.monotonic() - begin)
    for what, list_ in times.items():
        list_.sort()
        print(f"# {text.count(chr(10))} lines: {what} in {1e3 * list_[10]:.1f} ms "
              f"(at most {1e3 * list_[-1]:.1f} ms of 20)")
    client.stop()


for check in (check_diagnostics, check_notes, check_imports, check_questions,
              check_references,
              check_completion, check_positions, check_frames, check_messages,
              check_mutations, check_many, check_brackets, measure):
    try:
        check()
    except Exception as why:  # the rest is looked at as well
        ok(False, check.__name__, repr(why))
