"""Declarations of librlflow for ctypes, made of its header.

    python3 declarations.py engine/rlflow.h >rlflow/_declarations.py
    python3 declarations.py --stub engine/rlflow.h >rlflow/_declarations.pyi

The second are its types, for whoever checks those of the module. The header is the only source: enums, structs, types of functions and functions
are read from it, so that the module cannot say anything else. It has one form,
that of clang-format, and what this does not understand is an error.
"""

import re
import sys

BASE = {
    "int": "c_int",
    "float": "c_float",
    "double": "c_double",
    "size_t": "c_size_t",
    "int32_t": "c_int32",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "uint8_t": "c_uint8",
}


class Header:
    """What a header declares."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"^#.*?(?<!\\)$", " ", text, flags=re.S | re.M)
        text = re.sub(r'extern "C"\s*{', " ", text)
        self.text = re.sub(r"\s+", " ", text)
        self.enums = {}
        self.structs = {}
        self.opaque = []
        self.callbacks = {}
        self.functions = {}
        self._read()

    def _read(self):
        rest = self.text

        def enum(match):
            values, last = [], -1
            for word in match.group(2).split(","):
                name, _, value = (part.strip() for part in word.partition("="))
                if name:
                    last = int(value) if value else last + 1
                    values.append((name, last))
            self.enums[match.group(1)] = values
            return " "

        def struct(match):
            fields = []
            for line in match.group(2).split(";"):
                fields += self._members(line.strip())
            self.structs[match.group(1)] = fields
            return " "

        def opaque(match):
            self.opaque.append(match.group(1))
            return " "

        def function(match):
            self.functions[match.group(2)] = (
                match.group(1).strip(),
                self._arguments(match.group(3)),
            )
            return " "

        def callback(match):
            self.callbacks[match.group(2)] = (
                match.group(1).strip(),
                self._arguments(match.group(3)),
            )
            return " "

        rest = re.sub(r"typedef enum \w+ {(.*?)} (\w+);",
                      lambda m: enum(_Swap(m)), rest)
        rest = re.sub(r"typedef struct \w+ {(.*?)} (\w+);",
                      lambda m: struct(_Swap(m)), rest)
        rest = re.sub(r"typedef struct (\w+) \w+;", opaque, rest)
        # "void (*handler)(size_t n)" is a callback without a name
        rest = rest.replace("void (*handler)(size_t n)", "void *handler")
        rest = re.sub(r"RLF_PUBLIC ([\w *]*?)\b(rlf_\w+)\(([^()]*)\);",
                      function, rest)
        rest = re.sub(r"typedef ([\w *]*?)\b(rlf_\w+)\(([^()]*)\);", callback,
                      rest)
        rest = rest.replace("}", " ").strip()
        if rest:
            raise ValueError("the header has something unknown: " + rest[:200])

    @staticmethod
    def _members(line):
        if not line:
            return []
        match = re.match(r"((?:const )?\w+) (.*)$", line)
        found = []
        for name in match.group(2).split(","):
            name = name.strip()
            stars = len(name) - len(name.lstrip("*"))
            found.append((name.lstrip("*"), match.group(1) + " *" * stars))
        return found

    @staticmethod
    def _arguments(text):
        found = []
        for argument in text.split(","):
            argument = argument.strip()
            if argument in ("void", ""):
                continue
            match = re.match(r"(.*?)(\w+)(\[\w*\])?$", argument)
            kind = match.group(1).strip() + (" *" if match.group(3) else "")
            found.append((match.group(2), kind))
        return found

    def kind(self, text, returned=False, counted=False):
        """The ctypes expression for a C type."""
        words = text.replace("*", " * ").split()
        stars = words.count("*")
        name = [w for w in words if w not in ("const", "*", "struct")][0]
        if name == "void":
            return "None" if not stars else "c_void_p"
        if name == "char":
            if stars == 2:
                return "POINTER(c_char_p)"
            # bytes with a number beside them may have zeros among them
            return "c_void_p" if counted else "c_char_p"
        if name in self.callbacks:
            return name
        if name in self.enums:
            base = "c_int"
        elif name in self.opaque:
            return "c_void_p"
        elif name in self.structs:
            base = name
        elif name in BASE:
            base = BASE[name]
        else:
            raise ValueError("unknown type " + text)
        for _ in range(stars):
            base = "POINTER(%s)" % base
        return base

    def hint(self, text, returned=False, counted=False):
        """The type that Python has for that, where it is read."""
        kind = self.kind(text, returned, counted)
        if kind.startswith("POINTER("):
            return "_Pointer[%s]" % kind[len("POINTER("):-1]
        return {"None": "None", "c_void_p": "Optional[int]",
                "c_char_p": "Optional[bytes]", "c_double": "float",
                "c_float": "float"}.get(kind,
                                        "int" if kind.startswith("c_") else kind)

    def stub(self, out):
        """Write the types of the module."""
        put = lambda *words: print(*words, file=out)
        put('"""Made of rlflow.h by declarations.py: not to be edited."""\n')
        put("from ctypes import *")
        put("from ctypes import _Pointer")
        put("from typing import Any, Callable, Dict, List, Optional, Tuple\n")
        for values in self.enums.values():
            for word, _ in values:
                put("%s: int" % word)
        for name, fields in self.structs.items():
            texts = {field for field, _ in fields}
            put("\nclass %s(Structure):" % name)
            for field, kind in fields:
                counted = field in ("text", "data") and "n" in texts
                put("    %s: %s" % (field, self.hint(kind, counted=counted)))
        for name, (result, arguments) in self.callbacks.items():
            kinds = [self.hint(kind) for _, kind in arguments]
            result = "Optional[int]" if "char" in result else self.hint(result)
            put("\nclass %s:" % name)
            put("    def __init__(self, function: Callable[[%s], %s] = ...)"
                " -> None: ..." % (", ".join(kinds), result))
        put("\nFUNCTIONS: Dict[str, Tuple[Any, List[Any]]]\n")
        put("class Calls:")
        for name, (result, arguments) in self.functions.items():
            counted = any(kind == "size_t *" for _, kind in arguments)
            words = ["self"]
            for argument, kind in arguments:
                # what is there for a pointer: byref(x), an array, None
                fills = "*" in kind and "char" in kind and "const" not in kind
                hint = self.hint(kind)
                words.append("%s: %s" % (argument, "Any" if fills or
                                         "_Pointer" in hint else hint))
            put("    def %s(%s) -> %s: ..." %
                (name, ", ".join(words), self.hint(result, True, counted)))

    def emit(self, out):
        """Write the module."""
        put = lambda *words: print(*words, file=out)
        put('"""Made of rlflow.h by declarations.py: not to be edited."""\n')
        put("from ctypes import *\n")
        for name, values in self.enums.items():
            put("# " + name)
            for word, value in values:
                put("%s = %d" % (word, value))
        put("")
        for name, fields in self.structs.items():
            texts = {field for field, _ in fields}
            put("\nclass %s(Structure):" % name)
            put("    _fields_ = [")
            for field, kind in fields:
                counted = field in ("text", "data") and "n" in texts
                put('        ("%s", %s),' %
                    (field, self.kind(kind, counted=counted)))
            put("    ]\n")
        for name, (result, arguments) in self.callbacks.items():
            # a text that is returned has to outlive the call: an address
            kinds = ["c_void_p" if "char" in result else self.kind(result)]
            kinds += [self.kind(kind) for _, kind in arguments]
            put("%s = CFUNCTYPE(%s)" % (name, ", ".join(kinds)))
        put("\nFUNCTIONS = {")
        for name, (result, arguments) in self.functions.items():
            counted = any(kind == "size_t *" for _, kind in arguments)
            kinds = [self.kind(kind) for _, kind in arguments]
            put('    "%s": (%s, [%s]),' %
                (name, self.kind(result, True, counted), ", ".join(kinds)))
        put("}")


class _Swap:
    """A match whose two groups are asked for in the other order."""

    def __init__(self, match):
        self.match = match

    def group(self, i):
        return self.match.group(3 - i)


if __name__ == "__main__":
    with open(sys.argv[-1], encoding="utf-8") as header:
        found = Header(header.read())
    (found.stub if "--stub" in sys.argv else found.emit)(sys.stdout)
