"""Writes tests/data/regex.json: what the regular expressions, the Unicode
forms and the added tokens of tokenizer files are to the `tokenizers` library.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install tokenizers==0.21.2 unicodedata2==16.0.0
    /tmp/venv/bin/python tests/oracle/text_regex.py [SEED [RANDOM]] \\
        > tests/data/regex.json

The test tests/unit/text_regex.c does the same with rlflow and compares; given
another file as its argument it reads that, so that other seeds and more random
patterns can be tried. `Hash` is FNV-1a of 64 bits."""

import json
import random
import sys

import tokenizers
import unicodedata
import unicodedata2
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers
from tokenizers import pre_tokenizers

assert unicodedata2.unidata_version == "16.0.0"

# All but most of the planes in which there is nothing.
CODES = [c for c in range(0x110000)
         if not 0xD800 <= c < 0xE000
         and not 0x32400 <= c < 0xE0000 and not 0xE0200 <= c < 0x10FF00]
TEXT = "".join(map(chr, CODES))
MARK = "\uE000"

CATEGORIES = """L Lu Ll Lt Lm Lo LC M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf
Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cn Letter Uppercase_Letter
Lowercase_Letter Titlecase_Letter Modifier_Letter Other_Letter Cased_Letter
Mark Nonspacing_Mark Spacing_Mark Enclosing_Mark Combining_Mark Number
Decimal_Number Letter_Number Other_Number Punctuation Connector_Punctuation
Dash_Punctuation Open_Punctuation Close_Punctuation Initial_Punctuation
Final_Punctuation Other_Punctuation Symbol Math_Symbol Currency_Symbol
Modifier_Symbol Other_Symbol Separator Space_Separator Line_Separator
Paragraph_Separator Other Control Format Unassigned Private_Use Surrogate Cs
Any Assigned Alphabetic Uppercase Lowercase White_Space PosixPunct""".split()
POSIX = """alnum alpha ascii blank cntrl digit graph lower print punct space
upper word xdigit""".split()
SCRIPTS = """Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese
Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid
Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian
Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari
Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Garay
Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi
Gurung_Khema Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana
Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian
Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script
Khmer Khojki Khudawadi Kirat_Rai Lao Latin Lepcha Limbu Linear_A Linear_B Lisu
Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen
Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive
Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean
Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham
Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic
Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage
Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi
Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala
Sogdian Sora_Sompeng Soyombo Sundanese Sunuwar Syloti_Nagri Syriac Tagalog
Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai
Tibetan Tifinagh Tirhuta Todhri Toto Tulu_Tigalari Ugaritic Unknown Vai
Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
Hani Hira Kana Latn Grek Cyrl Arab Hebr Thai Deva Zyyy Zinh Zzzz Qaai Qaac
Gara Gukh Krai Onao Sunu Todr Tutg""".split()
OTHERS = [
    r"\w", r"\W", r"\s", r"\S", r"\d", r"\D", r"\h", r"\H", r"[\w]", r"[\W]",
    r"[^\w]", r"[^\W]", r"[\s]", r"[^\s\p{L}\p{N}]", r"[\S]", r"[^\S\n]", ".",
    r"(?m:.)", r"\N", r"\O", r"[\h]", r"\p{^L}", r"\P{^L}", r"\P{L}",
    r"\p{Word}", r"\p{^Word}", r"\p{W-o_R d}", r"\p{ lowercase-letter }",
    r"(?i)[a-z]", r"(?i)[^a-z]", r"(?i)[A-Z0-9]", r"(?i)[^\p{Lu}]",
    r"(?i)[^\p{Ll}]", r"(?i)[^\p{Lt}\p{Garay}]", r"(?i)[^\p{Greek}]",
    r"(?i)[\p{Garay}]", r"(?i)[\p{Deseret}]", r"(?i)[\p{Cherokee}]",
    r"(?i)\p{Lu}", r"(?i)\p{Greek}", r"(?i)[^\p{Ll}&&\p{Latin}]",
    r"(?i)[\p{Cyrillic}&&\p{Lu}]", r"(?i)\w", r"(?i)[\w&&[^k]&&a-z]",
    r"[\p{L}&&\p{Han}]", r"[^\p{L}&&\p{Han}]", r"[\p{L}&&[^\p{Han}]]",
    r"[a-z&&[^aeiou]1]", r"[a-c[e]&&[b-e]]", r"[a-c&&b-d&&c-e]",
    r"[\p{L}\p{M}&&[^\p{Latin}\p{Greek}]\p{Thai}]", r"[^\r\n\p{L}\p{N}]",
    r"[一-龥぀-ゟ゠-ヿ]", r"[\u4e00-\u9fa5]", r"[\x{10000}-\x{10ffff}]",
    r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
    r"[[:alpha:][:^alnum:]]", r"[^[:space:][:punct:]]", r"[]a]", r"[^]a]",
    r"[\]\[\-]", r"[--a]", r"[+--]", r"[a-]", r"[-a]", r"[a^&|]", r"[\b]",
    r"[\x00-\x1f\x7f]", r"\p{Punct}", r"[[:punct:]&&\p{S}]",
]

# Patterns and texts, one by one.
CASES = [
    (r"^", ["a\nb\n", "\n\n", "ab"]), (r"$", ["a\nb\n", "\n\n", "ab"]),
    (r"^a|b$", ["a\nab\nb", "ba"]), (r"\Aa|\Aб", ["aa", "бa"]),
    (r"a\z", ["a\na"]), (r"a\Z", ["a\na", "a\na\n", "a\n\n"]),
    (r"(?m:^).", ["a\nb"]), (r"(?m:a.)", ["a\nab"]), (r"a.", ["a\nab"]),
    (r"\b", ["a é² b_c-d", "²x ½"]), (r"\B", ["a é² b_c-d"]),
    (r"\b\w+\b", ["日本 don't _x \u0300"]), (r"\Ga", ["aaba"]),
    (r"(?=[A-Z])", ["abCdEFg", "ABC"]), (r"(?<=[a-z])(?=[A-Z])", ["abCdEFg"]),
    (r"", ["abc", "é\n日"]), (r"a||b", ["cabb"]), (r"x*", ["axxb", "é"]),
    (r"(|a)+", ["aab"]), (r"(a|)+", ["aab"]), (r"(?:a|bc){2}", ["abcaab"]),
    (r"()", ["ab"]), (r"(?:)*a", ["ba"]), (r"|a", ["ab"]), (r"a|", ["ab"]),
    (r"(?:a?)*?b", ["aab"]), (r"(?:a?)+?b", ["aab"]), (r"(a*)*", ["aabaa"]),
    (r"(a*)+b", ["aabaa"]), (r"(a|b*)*c", ["abbcac"]),
    (r"a{2}+", ["aaaaa", "a"]), (r"a{2}+a", ["aaaaa"]),
    (r"a{1,2}+a", ["aa", "aaa"]), (r"a{2,}+a", ["aaaa"]),
    (r"a{2}?", ["aaaaa", "a"]), (r"a{1,3}?", ["aaaaa"]),
    (r"a{2,}?", ["aaaaa"]), (r"a{2}??", ["aaaaa"]), (r"a{,2}", ["aaaaab"]),
    (r"a{,2}?b", ["aaab"]), (r"a{,}", ["a{,}"]), (r"x{2", ["x{2"]),
    (r"x{a}", ["x{a}"]), (r"x{}", ["x{}"]), (r"{", ["a{"]), (r"a}", ["a}"]),
    (r"a]", ["a]"]), (r"a{0}", ["ab"]), (r"a{1,2}{2}", ["aaaaa"]),
    (r"a{2}{3}", ["aaaaaaa"]), (r"a**", ["baa"]), (r"a+*", ["baa"]),
    (r"a+?+", ["aaa"]), (r"a???", ["aa"]), (r"a*?*", ["aa"]),
    (r"a?+a", ["aa", "a"]), (r"a*+a", ["aaa"]), (r"a++b", ["aab"]),
    (r"(?>a+)a|b", ["aab"]), (r"(?>[a1]*|)1", ["aab1"]), (r"(?>a|ab)c", ["abc", "ac"]),
    (r"(?i)k", ["kKK"]), (r"(?i:s)\d", ["s1S2ſ3ß4"]), (r"(?i)µ", ["μΜµ"]),
    (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", ["'S 'ſ 'T 'RE 'Ve 'M 'lL 'D 'x"]),
    (r"(?i)σ", ["σςΣ"]), (r"(?i)i", ["iIİı"]), (r"(?i)å", ["åÅÅ"]),
    (r"(?i)ა", ["აᲐ"]), (r"(?i)ж(?-i)Ж", ["жЖ ЖЖ жж"]),
    (r"a(?i)b|c", ["aC aB C"]), (r"(?:a(?i)b|c)d", ["aCd aBd cd aCD"]),
    (r"(?i-i:a)", ["aA"]), (r"(?i:a(?-i:b)c)", ["AbC ABC"]),
    (r"(?x) a b # c" + "\n d", ["abd a b d"]), (r"(?x: a [ b] ) c", ["a c", "ab c"]),
    (r"(?x) a + b", ["aab"]), (r"(?#comment)a(?# b )+", ["aa"]),
    (r"(?<name>a)b|(?'other'c)", ["abc"]), (r"\pL", ["pL é"]),
    (r"\p{Lu}\p{Ll}*", ["Hello World Éa ǅ"]), (r"\R", ["\r\n\r\n\n\r\x85\u2028"]),
    (r"\R\n", ["\r\n", "\r\n\n"]), (r"\h+", ["fFg09"]), (r"\x41\x{e9}\u4e00", ["Aé一"]),
    (r"\0|\012", ["a\n\x12"]), (r"\t\v\n\r\f\a\e", ["\t\v\n\r\f\a\x1b"]),
    (r"\i\_\'\-\/\#\~\é", ["i_'-/#~é"]), (r"\Qa\E", ["QaE"]),
    (r"(?<=a)b|(?<!a)c", ["abcac"]), (r"(?<=ab|c)d", ["abdcdd"]),
    (r"(?<!é)x", ["éxxx"]), (r"(?<=\s)\S+", ["a  bc\u3000d"]), (r"(?!a)\w", ["ab"]),
    (r"(?=(a))a", ["aa"]), (r"\s+(?!\S)|\s+", ["a   b  \n  c   "]),
    (r"[^\S\r\n]+", [" \t\r\n\u00a0\u180e\u200b"]), (r"\$\^\.\*", ["$^.*"]),
    (r"-?\d{1,3}(?=(?:\d{3})*\b)", ["1234567 -12 ٣٤٥٦"]),
    (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
     ["It'S 12345 été!!\r\n\r\n  x  \n 日本語\u1c89\U00010d50 \U0001e6c0"]),
    (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
     ["CamelCase'S ABCd'LL 12345/\n \u0301 ǅa"]),
    (r"[\p{Han}\p{Hiragana}\p{Katakana}]+", ["日本。のーカ、々ヶ"]),
    (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+", ["$abc [d \\e -f"]),
    (r"[a-zA-Z&&[^aeiou]]+|[[:digit:]]++", ["hello 123 xyz٣"]),
]

# The patterns that rlflow refuses, whether or not the reference takes them.
REFUSED = [
    r"(", r")", r"a)", r"(?", r"(?:a", r"[", r"[]", r"[a", r"[^", r"[a\]",
    r"[[a]", r"[[:alpha:]", r"[[:foo:]]", r"[[:posixpunct:]]", r"[z-a]",
    r"[a-\d]", r"[\w-x]", r"[&&a]", r"[a&&]", r"[a--]", "\\", r"*a", r"a|*",
    r"(*a)", r"{2}", r"^*", r"(?=a)*", r"\b+", r"(?s).", r"(?a)\w", r"(?P<n>a)",
    r"(?^:a)", r"\p{Foo}", r"\p{Script=Han}", r"\p{L&}", r"\p{", r"\p{}",
    r"\xe9", r"\x{110000}", r"\x{d800}", r"\u12", r"[\é-a]",
    # The reference takes these; they are not rebuilt.
    r"(a)\1", r"(?<n>a)\k<n>", r"(?<n>a)\g<n>", r"a\Kb", r"\X", r"\y", r"\Y",
    r"(?~ab)", r"(?(1)a|b)", r"(*FAIL)", r"(?W:\w)", r"a{3,1}", r"\M-a", r"\cA",
    r"\o{101}", r"[\x{61 62}]", r"(?i)ß", r"(?i)ss", r"(?i)st", r"(?i)[ß]",
    r"(?i)[\p{L}]", r"(?i)İ", r"(?i)ﬁ", r"(?i:s)(?i:s)", r"a{100000}",
    r"(?<=a+)b", r"\p{InThai}", r"\p{Emoji}", r"(?:a|){2}", r"(?:a*b?){1,2}",
    r"(?:\b)+", r"(?:a|$)*", r"(?:(?:\B))?",
]

ATOMS = [
    "a", "b", "A", "é", "s", "S", "1", " ", "\n", "-", ".", ".", r"\w", r"\s",
    r"\d", r"\W", r"\S", r"\p{L}", r"\p{Lu}", r"\P{L}", r"\p{Han}", r"\b", r"\B",
    "^", "$", r"\A", r"\z", r"\Z", r"\G", "[ab]", "[^a]", r"[^\s\w]", "[a-c]",
    r"[0-9&&[^2]]", "[[:digit:]b]", r"\R", "日", "'", "(?i:k)", "(?i:[a-k])", r"\N",
    "(?m:.)",
]
FIXED = ["a", "b", "é", r"\w", r"\s", "[ab]", "[^a]", r"\p{L}", ".", r"\b", "^",
         "$", "(?:ab|1-)", "(?=a)", "日"]
REPEATS = ["", "", "", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+",
           "{2}", "{1,2}", "{,2}", "{2,}", "{2}+", "{1,2}?", "{2}?", "**", "+?"]
POOL = [
    "a", "aab b1", "aAbB éS s\u017f k\u212a", "a\nb\n", "\r\n\r\n \n", "日本a語 b",
    "ab12 -' a'b", "  a  b  ", "aaaaaa", "bab\nabA1\n", "é²b½\u0301a", "\u1c89a\U00010d50b",
    "ss ßﬆ", "a-b\u2028\u0085c",
]


def fnv(data, h=0xCBF29CE484222325):
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def digest(text):
    return f"{fnv(text.encode()):016x}"


def members(pattern):
    """Of TEXT's characters, those the pattern matches, as an inversion list
    over the indexes."""
    left = normalizers.Replace(Regex(f"(?:{pattern})+"), "").normalize_str(TEXT)
    gone = set(TEXT) - set(left)
    out, was = [], False
    for i, c in enumerate(TEXT):
        if (c in gone) != was:
            was = not was
            out.append(i)
    return out


def outcome(pattern, text):
    """The words' lengths in bytes, and the text with a mark for each match."""
    regex = Regex(pattern)
    words = pre_tokenizers.Split(regex, "isolated").pre_tokenize_str(text)
    lengths = [len(text[a:b].encode()) for _, (a, b) in words]
    return [lengths, normalizers.Replace(regex, MARK).normalize_str(text)]


def spell(result):
    return " ".join(map(str, result[0])) + "|" + result[1]


def random_pattern(rng, depth=0):
    if rng.random() < 0.3 and 0 < depth:
        return rng.choice(ATOMS[:31]) + rng.choice(ATOMS[:31])
    branches = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        items = []
        for _ in range(rng.choice([0, 1, 1, 2, 2, 3])):
            if depth < 3 and rng.random() < 0.25:
                item = (rng.choice(["(", "(?:", "(?:", "(?>", "(?=", "(?!",
                                    "(?i:"])
                        + random_pattern(rng, depth + 1) + ")")
            elif rng.random() < 0.06:  # of a fixed length
                item = (rng.choice(["(?<=", "(?<!"]) + "|".join(
                    "".join(rng.choice(FIXED) for _ in range(rng.randrange(3)))
                    for _ in range(rng.randrange(1, 4))) + ")")
            else:
                item = rng.choice(ATOMS)
            if not (item in "^$" or item[:2] in (r"\b", r"\B", r"\A", r"\z",
                                                 r"\Z", r"\G")
                    or item[:3] in ("(?=", "(?!", "(?<")):
                item += rng.choice(REPEATS)
            items.append(item)
        branches.append("".join(items))
    return "|".join(branches)


def random_cases(rng, count):
    out = []
    while len(out) < count:
        pattern = random_pattern(rng)
        try:
            out.append([pattern, digest("\n".join(
                spell(outcome(pattern, text)) for text in POOL))])
        except Exception as error:  # a pattern that is none
            assert "Oniguruma error" in str(error), error
    return out


def behaviors():
    out = []
    for pattern in [r"\d+", r"(?=[A-Z])", r"[A-Z]|", "", r"\s", r"a|b"]:
        for how in ["isolated", "removed", "merged_with_previous",
                    "merged_with_next", "contiguous"]:
            for invert in [False, True]:
                for text in ["ab12Cd3E", "  a b  ", "aabab", "ABC"]:
                    split = pre_tokenizers.Split(Regex(pattern), how, invert)
                    out.append([pattern, json.loads(
                        split.__getstate__())["behavior"], invert, text,
                        [w for w, _ in split.pre_tokenize_str(text)]])
    return out


def literals():
    out = []
    for pattern in ["", "a", "aa", "é", ".", "a-b"]:
        for text in ["aaa", "éa.é", "xa-b.", "日本"]:
            words = pre_tokenizers.Split(pattern, "isolated")
            out.append([pattern, text,
                        [w for w, _ in words.pre_tokenize_str(text)],
                        normalizers.Replace(pattern, MARK).normalize_str(text)])
    return out


def cased():
    """Each character with another case, as (?i): which others it matches."""
    alone = [c for c in CODES if chr(c).lower() != chr(c)
             or chr(c).upper() != chr(c) or unicodedata2.category(chr(c))
             in ("Lu", "Ll", "Lt")]
    text = "".join(map(chr, alone))
    h = fnv(b"")
    left = []
    for c in alone:
        long = len(chr(c).casefold()) > 1
        if long:
            left.append(c)
            continue
        got = normalizers.Replace(Regex("(?i)" + chr(c)), MARK)
        h = fnv(got.normalize_str(text).encode(), h)
    return {"codes": ranges(alone), "long": ranges(left), "hash": f"{h:016x}"}


def ranges(codes):
    out = []
    for c in codes:
        if out and out[-1] == c:
            out[-1] = c + 1
        else:
            out += [c, c + 1]
    return out


def forms():
    out = {}
    apart = "\n".join(TEXT)
    among = "\n".join(f"a\u0301{c}\u0323\u0301 \u0915{c}\u1161" for c in TEXT)
    for form in ["NFC", "NFD", "NFKC", "NFKD"]:
        n = getattr(normalizers, form)()
        out[form] = [digest(n.normalize_str(apart)),
                     digest(n.normalize_str(among))]
    return out


def added():
    """Beside which characters a whole word is none; which are stripped."""
    t = Tokenizer(models.BPE())
    t.add_tokens([AddedToken("<w>", single_word=True, normalized=False)])
    t.add_tokens([AddedToken("<l>", lstrip=True, normalized=False)])
    words = [c for c in CODES if not t.encode(chr(c) + "<w>").ids]
    spaces = [c for c in CODES if t.encode(chr(c) + "<l>").offsets == [(0, 4)]]
    return {"words": digest(str(ranges(words))),
            "spaces": digest(str(ranges(spaces)))}


def main(seed="1", count="600"):
    out = {"made_with": f"tokenizers {tokenizers.__version__}", "classes": {},
           "cases": [], "refused": REFUSED, "pool": POOL}
    names = [r"\p{%s}" % n for n in CATEGORIES + SCRIPTS]
    names += [r"[[:%s:]]" % n for n in POSIX]
    names += [r"[[:^%s:]]" % n for n in POSIX] + OTHERS
    for pattern in names:
        out["classes"][pattern] = digest(str(members(pattern)))
    for pattern, texts in CASES:
        for text in texts:
            out["cases"].append([pattern, text] + outcome(pattern, text))
    out["random"] = random_cases(random.Random(int(seed)), int(count))
    out["behaviors"] = behaviors()
    out["literals"] = literals()
    out["cased"] = cased()
    out["forms"] = forms()
    out["added"] = added()
    json.dump(out, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write("\n")


main(*sys.argv[1:])
