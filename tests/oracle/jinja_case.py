#!/usr/bin/env python3
"""Writes engine/jinja/case_data.h: characters that are several in upper or title
case, as Python's str has them (Unicode's SpecialCasing.txt).

    tests/oracle/jinja_case.py > engine/jinja/case_data.h
"""


def row(code, text):
    codes = [ord(c) for c in text] + [0] * (3 - len(text))
    return f"    {{0x{code:04x}, {{{', '.join(f'0x{c:04x}' for c in codes)}}}}},"


def table(name, change):
    rows = [row(c, change(chr(c))) for c in range(0x110000)
            if not 0xD800 <= c < 0xE000 and len(change(chr(c))) > 1]
    print(f"static const jinja_long_case {name}[] = {{")
    print("\n".join(rows) + "\n};\n")


print("""/* Characters that are several in another case: written by
 * tests/oracle/jinja_case.py. Included by case.c only. */
#ifndef RLF_JINJA_CASE_DATA_H
#define RLF_JINJA_CASE_DATA_H

#include <stdint.h>

typedef struct jinja_long_case {
    uint32_t code, as[3]; /* 0: none */
} jinja_long_case;

// clang-format off
""")
table("long_upper", str.upper)
table("long_title", str.title)
print("// clang-format on\n\n#endif")
