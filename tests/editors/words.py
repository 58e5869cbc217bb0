"""The words of the language against those of the grammars for editors, and what
the grammar for Visual Studio Code makes of some lines. Prints "ok NAME" and "not
ok NAME": words.py SOURCE."""
import json
import os
import re
import sys

source = sys.argv[1]


def read(*path):
    with open(os.path.join(source, *path)) as file:
        return file.read()


def ok(good, name, seen=""):
    print(("ok " if good else "not ok ") + name)
    if not good:
        print("#", seen)


keywords = set(re.findall(r'^KEYWORD\(\w+, *"(\w+)"', read(
    "grammar", "keyword.def"), re.M))
builtins = set(re.findall(r'^BUILTIN\("(\w+)"', read(
    "grammar", "builtin.def"), re.M))
reductions = set(re.findall(r'"(\w+)"', re.search(
    r"reductions\[\] = \{(.*?)\}", read("grammar", "builtin.c"),
    re.S).group(1)))
ok(len(keywords) > 30 and len(builtins) > 15 and len(reductions) == 9,
   "the words of the language are found")

vim = read("editors", "vim", "syntax", "rlf.vim")


def of_vim(*groups):
    found = set()
    for group in groups:
        for words in re.findall(rf"^syntax match {group} .*?<\(?([a-z_|]+)\)?>",
                                vim, re.M):
            found |= set(words.split("|"))
    return found


seen = of_vim("rlfDeclaration", "rlfCluster", "rlfStatement", "rlfRepeat",
              "rlfConditional", "rlfOperator", "rlfBoolean")
ok(seen == keywords, "Vim has all reserved words and no others", seen ^ keywords)
ok(of_vim("rlfFunction") == builtins, "Vim has all functions",
   of_vim("rlfFunction") ^ builtins)
ok(of_vim("rlfReduction") == reductions, "Vim has all reductions",
   of_vim("rlfReduction") ^ reductions)

grammar = json.loads(read("editors", "vscode", "syntaxes",
                          "rlf.tmLanguage.json"))
for name in ("package.json", "language-configuration.json"):
    json.loads(read("editors", "vscode", name))
rules = [(re.compile(p.get("match", p.get("begin"))), p)
         for p in grammar["patterns"]]


def scopes(line):
    """{text: scope} of a line, as TextMate goes through it: the rule that
    matches first in the line, of several the first one."""
    found, at = {}, 0
    while at < len(line):
        best = None
        for rule, pattern in rules:
            match = rule.search(line, at)
            if match and match.end() > match.start() and (
                    best is None or match.start() < best[0].start()):
                best = match, pattern
        if best is None:
            break
        match, pattern = best
        at = match.end()
        if "begin" in pattern:
            end = re.compile(pattern["end"]).search(line, at)
            at = max(end.end(), at)
            found[line[match.start():at]] = pattern["name"]
        elif "captures" in pattern:
            for number, capture in pattern["captures"].items():
                found[match.group(int(number))] = capture["name"]
        else:
            found[match.group()] = pattern["name"]
    return found


def is_keyword(scope):
    return scope.startswith(("keyword.", "constant.language.boolean"))


missed = {w for w in keywords - {"device", "machine", "cluster"}
          if not is_keyword(scopes(f"x {w} y").get(w, ""))}
missed |= {w for w in ("device", "machine", "cluster")
           if not is_keyword(scopes(f"{w} a = f(1)").get(w, ""))}
ok(not missed, "Visual Studio Code has all reserved words", missed)
listed = set()
for rule, pattern in rules:
    scopes_of = [pattern.get("name", "")] + [
        c["name"] for c in pattern.get("captures", {}).values()]
    if any(is_keyword(s) for s in scopes_of):
        listed |= set(re.findall(r"[a-z]{2,}", re.sub(
            r"\\.|\[[^]]*\]", " ", pattern["match"])))
listed -= {"tokens", "group", "batch", "vocab"}
ok(listed == keywords, "and no others", listed ^ keywords)
missed = {w for w in builtins | reductions
          if not scopes(f"y = {w}(x)").get(w, "").startswith("support.function")}
ok(not missed, "Visual Studio Code has all functions", missed)
line = ('    roll = actor.generate(batch, n: 8, stop: "a # b") # 2..3')
want = {"generate": "entity.name.function.member.rlf",
        "n": "variable.parameter.rlf", "8": "constant.numeric.rlf",
        '"a # b"': "string.quoted.double.rlf",
        "# 2..3": "comment.line.number-sign.rlf"}
got = scopes(line)
ok(all(got.get(k) == v for k, v in want.items()), "a line of a flow", got)
got = scopes("param beta : float = 0.02 in 0..1e3")
ok(got.get("0.02") == "constant.numeric.rlf" and
   got.get("1e3") == "constant.numeric.rlf" and
   got.get("..") == "keyword.operator.rlf", "a line of numbers", got)
got = scopes("x = roll.data + y.state")
ok(got.get("data") == got.get("state") == "variable.other.member.rlf",
   "words behind a dot are names", got)
