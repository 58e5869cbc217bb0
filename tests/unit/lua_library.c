/* rlflow's Lua library and the Lua part of the standard library: the table
 * `rlf`, answer checking, templates, and the rewards among the examples. */
#include "engine/base/vec.h"
#include "tests/unit/lua_run.h"

static const char *root;

static void
test_texts(void)
{
    lua_gives("return '[' .. rlf.trim(' \\t a b\\n') .. rlf.trim('  ') .. ']'",
              "[a b]");
    lua_gives("return table.concat(rlf.split('a,,b,', ','), '|') .. "
              "#rlf.split('', ',') .. #rlf.split('xx', 'xx')",
              "a||b|12");
    lua_gives("return table.concat(rlf.words('  one two\\n\\tthree '), '|') .. "
              "#rlf.words(' ')",
              "one|two|three0");
    lua_gives("return rlf.lower('ÄBC \\xff Σ') .. rlf.upper('äbc é')",
              "äbc \xff σÄBC É");
    lua_gives("return rlf.fold('ＡＢＣ１２３ ﬁ Straße') .. "
              "tostring(rlf.fold('\\xff'))",
              "abc123 fi strassenil");
    lua_gives("return tostring(rlf.starts('abc', 'ab')) .. "
              "tostring(rlf.starts('a', 'ab')) .. tostring(rlf.ends('abc', "
              "'bc')) .. tostring(rlf.ends('c', 'bc'))",
              "truefalsetruefalse");
    lua_gives(
        "local o = {} for i, x in ipairs({'12', ' -3.5 ', '+.5', '1,234.5', "
        "'6e-3', '1,23', '1,2345', '12a', '', '.', '-', '1e', '0x10', '1 2', "
        "'inf', 'nan', '12,345,678', '007', '1.', '9007199254740993'}) do o[i] "
        "= tostring(rlf.number(x)) end return table.concat(o, ' ')",
        "12 -3.5 0.5 1234.5 0.006 nil nil nil nil nil nil nil nil nil nil nil "
        "12345678 7 1.0 9007199254740993");
    lua_gives("return rlf.number(('1'):rep(300)) or 'too long'", "too long");
}

static void
test_json(void)
{
    lua_gives(
        "local v = rlf.json_decode('{\"a\": [1, 2.5, null, true], \"b\": "
        "{\"c\": \"\\\\u00e9\"}, \"n\": 12345678901}')\n"
        "return v.a[1] .. ' ' .. v.a[2] .. ' ' .. tostring(v.a[3] == "
        "rlf.null) .. ' ' .. v.b.c .. ' ' .. math.type(v.n) .. ' ' .. "
        "rlf.json_encode(v)",
        "1 2.5 true é integer {\"a\":[1,2.5,null,true],\"b\":{\"c\":\"é\"}"
        ",\"n\":12345678901}");
    lua_gives("return table.concat({tostring(rlf.json_decode('[1,')), "
              "select(2, rlf.json_decode('{\\n\"a\" 1}'))}, ' ')",
              "nil ':' expected near '1' (line 2)");
    lua_gives("return rlf.json_encode({}) .. rlf.json_encode('a\"\\n') .. "
              "rlf.json_encode(1/3) .. rlf.json_encode(1e300) .. "
              "rlf.json_encode(2^53)",
              "[]\"a\\\"\\n\"0.3333333333333333"
              "1e+300"
              "9007199254740992");
    lua_gives(
        "local t = {} t[1] = t return select(2, pcall(rlf.json_encode, t))",
        "json_encode: tables are nested too deep, or in a ring");
    lua_gives("return select(2, pcall(rlf.json_encode, {1, a = 2}))",
              "json_encode: the keys of a table are neither 1..n nor texts");
    lua_gives("return select(2, pcall(rlf.json_encode, pairs))",
              "json_encode: a function has no form in JSON");
    lua_gives("local deep = ('['):rep(100000) return "
              "tostring((rlf.json_decode(deep)))",
              "nil");
}

static void
test_regex(void)
{
    lua_gives("local re = rlf.regex([[\\b(\\w+)@(\\w+)\\.com\\b]])\n"
              "local a, b = re:match('mail bob@site.com now') return a .. b",
              "bobsite");
    lua_gives("return table.concat({rlf.regex('b+'):find('aabbb', 2)}, ',')",
              "3,5");
    lua_gives(
        "local o = '' for w in rlf.regex('[a-z]*'):gmatch('ab 1cd') do o = "
        "o .. w .. '|' end return o",
        "ab|||cd||");
    lua_gives("return tostring(rlf.regex('^x', 'im'):match('a\\nX')) .. "
              "tostring(rlf.regex('(a)|(b)'):match('b')) .. "
              "tostring(rlf.regex('q'):match('a'))",
              "Xfalsenil");
    lua_gives("local o = '' for c in rlf.regex('.'):gmatch('aé') do o = o .. c "
              ".. '.' end return o",
              "a.é.");
    lua_gives("return select(2, pcall(rlf.regex, '(a'))",
              "regex: missing closing parenthesis at character 3 of the "
              "pattern");
    lua_gives("return select(2, pcall(rlf.regex, 'a', 'q'))",
              "regex: unknown flag 'q' (there are i, m, s, x)");
    outcome out = lua_run((setup){.text = true},
                          "local re = rlf.regex('(\\\\d+)')\n"
                          "return function(s) return re:match(s.response) end");
    is_str(out.text, "42", "a regular expression at file level");
    ok(lua_run((setup){.text = true},
               "return function(s) rlf.regex('a'):match('\\xff') end")
               .status == RLF_USER,
       "a subject that is not UTF-8 is an error");
}

/* {response, truth, score} */
static const char *const answers[][3] = {
    {"The answer is \\boxed{42}.", "42", "1"},
    {"The answer is 18.", "She eats 3.\nShe makes 9 * 2 = 18.\nA: 18", "1"},
    {"The answer is 17.", "She eats 3.\nShe makes 9 * 2 = 18.\nA: 18\n", "0"},
    {"so 18", "She makes 18.\nFinal answer: $18$", "1"},
    {"so 5", "3\n5", "0"},
    {"so \\boxed{1} no: \\boxed{\\frac{1}{2}}", "0.5", "1"},
    {"\\boxed{\\dfrac{3}{4}}", "\\frac{3}{4}", "1"},
    {"\\boxed{\\frac34}", "0.75", "1"},
    {"\\boxed{-\\frac{1}{2}}", "-0.5", "1"},
    {"\\boxed{0.333}", "1/3", "0"},
    {"\\boxed{x^2+1}", "x^2 + 1", "1"},
    {"\\boxed{\\sqrt{2}}", "\\sqrt{2}", "1"},
    {"\\boxed{\\sqrt{4}}", "2", "1"},
    {"\\boxed{(1, 2)}", "(1,2)", "1"},
    {"\\boxed{(1, 0.5)}", "(1,\\frac12)", "1"},
    {"\\boxed{[1, 2)}", "(1,2)", "0"},
    {"\\boxed{(2, 1)}", "(1,2)", "0"},
    {"\\boxed{5\\text{ cm}}", "5", "1"},
    {"\\boxed{\\text{yes}}", "Yes", "1"},
    {"\\boxed{50\\%}", "50", "1"},
    {"\\boxed{90^\\circ}", "90", "1"},
    {"\\boxed{12", "12", "1"},
    {"or $\\framebox{204}$ minutes, of 9 km", "204", "1"},
    {"#### **18**", "18", "1"},
    {"#### `18`.", "18", "1"},
    {"The answer is __18__.", "18", "1"},
    {"Answer: `18`", "18", "1"},
    {"#### 2**3", "8", "0"},
    {"Some sums. #### 1,234", "1234", "1"},
    {"Some sums.\n#### 72", "She sold 48+24 = 72\n#### 72", "1"},
    {"Some sums.\n#### 71", "She sold 48+24 = 72\n#### 72", "0"},
    {"The answer is 7. It was 3 before.", "7", "1"},
    {"the final answer is: 3/4", "0.75", "1"},
    {"We get 5-3 = 2", "2", "1"},
    {"from 5 to -3", "-3", "1"},
    {"costs $1,000.50.", "1000.5", "1"},
    {"no number at all", "5", "0"},
    {"", "5", "0"},
    {"\\boxed{}", "", "0"},
    {"12", "12.0", "1"},
    {"12", "012", "1"},
    {"1e3", "3", "0"},
    {"that is 1e3.", "1000", "1"},
    {"x2 is 4 and y3", "4", "1"},
    {"-0.0", "0", "1"},
    {"\\boxed{1e3}", "1000", "1"},
    {"\\boxed{100000000000000000000}", "100000000000000000001", "0"},
    {"\\boxed{½}", "0.5", "1"},
    {"\\boxed{−5}", "-5", "1"},
    {"\\boxed{x=5}", "5", "1"},
    {"\\boxed{\\{1,2\\}}", "\\{1, 2\\}", "1"},
    {"\\boxed{1/0}", "5", "0"},
    {"\\boxed{.5}", "1/2", "1"},
    {"\\fbox{9}", "9", "1"},
    {"The final answer is $(x+1)(x+2)$.", "2", "0"},
    {"The final answer is $(x+1)(x+2)$.", "(x+2)(x+1)", "1"},
    {"The answer is **12** apples.", "12", "1"},
    {"The answer is $x = 4$, as above.", "4", "1"},
    {"The answer is \\(\\frac12\\).", "0.5", "1"},
    {"so the answer is 3x + 2.", "2+3x", "1"},
    {"the answer is (B)", "B", "1"},
    {"the answer is 1, 2 or 3", "3, 2, 1", "1"},
    {"Therefore, the answer is $72\\pi\\text{ cubic inches}$.", "72\\pi", "1"},
    {"The answer is $\\begin{pmatrix}1\\\\2\\end{pmatrix}$.",
     "\\begin{pmatrix}1\\\\2\\end{pmatrix}", "1"},
    {"The answer is $5!$.", "5!", "1"},
    {"The answer is $5!$.", "5", "0"},
    {"The answer is $5!$.", "120", "1"},
    {"The answer is $x = 1 \\text{ or } x = 2$.", "1, 2", "1"},
    {"The answer is $x = 1$ or $x = 2$.", "1, 2", "1"},
    {"The answer is x = 1 or x = 2.", "\\{1,2\\}", "1"},
    {"The answer is 7/8 of an inch.", "7/8", "1"},
    {"The answer is (B) because 3 > 2.", "B", "1"},
    {"The answer is B because 3 > 2.", "B", "1"},
    {"The answer is B because 3 > 2.", "2", "0"},
    {"The answer is **(C)**: it is 5", "C", "1"},
    {"The answer is \\textbf{(C)}\\ 12", "C", "1"},
    {"The answer is A person.", "A", "0"},
    {"The answer is 12. We used 4 steps.", "12", "1"},
    {"the final answer is\n\n$\\frac{3}{4}$", "3/4", "1"},
    {"the final answer is\n\n$\\frac{3}{4}$", "4", "0"},
    {"The answer is:\n\n\\[\n\\frac{3}{4}\n\\]\nas 3 < 4", "3/4", "1"},
    {"The answer is: \n$$x^2+1$$", "1+x^2", "1"},
    {"The answer is \\(\\frac{3}{4}\\) of the 12 total.", "3/4", "1"},
    {"The answer is $5$ cents.", "5 dollars", "0"},
    {"The answer is $5$ cents.", "5", "1"},
    {"The answer is \\$5 per hour.", "5", "1"},
    {"The answer is $5 and she has $6 left.", "5", "1"},
    {"The answer is 3 * 4 = 12 apples.", "12", "1"},
    {"The answer is not 5.", "5", "0"},
    {"The answer is $10^{2k}$.", "10^2k", "0"},
    {"The answer is $2ab$.", "2ba", "1"},
    {"The answer is 6:00 p.m.", "6:00 PM", "1"},
    {"The answer is (1, 2) in the plane.", "(1,2)", "1"},
    {"The answer is that Sam has 5 apples left.", "5", "1"},
    {"The answer is three.", "three", "1"},
    {"####\n5", "5", "1"},
    {"So 3 + 4 = 7.\n\nAnswer: C", "C", "1"},
    {"3 of 4.\n**Answer:** 42", "42", "1"},
    {"Final Answer: $\\frac{3}{4}$.", "0.75", "1"},
    {"Final Answer:\n\\[\n7\n\\]", "7", "1"},
    {"Answer: The train takes 3 hours.", "3", "1"},
    {"Answer: There were 5 birds. 2 of them left. 3 are left.", "3", "1"},
    {"Answer: There were 5 birds.\nThen 2 of them left, so 3.", "3", "1"},
    {"Answer: 5\nWait, it is 6.", "5", "0"},
    {"The answer is 4. Answer: 5", "5", "1"},
    {"Final Answer: The final answer is $5$. I hope so.", "5", "1"},
    {"Answer:", "5", "0"},
    {"3 of 4: <answer> \\frac{1}{2} </answer>", "0.5", "1"},
    {"<answer>4</answer> no, <answer>\nC\n</answer>.", "C", "1"},
    {"<answer>5", "4", "0"},
    {"So, the correct option is (D).", "D", "1"},
    {"The correct choice is **B**.", "B", "1"},
    {"One option is to sell 5 of them.", "5", "1"},
    {"Therefore the value is $\\frac{3}{4}$.", "3/4", "1"},
    {"Therefore the value is $\\frac{3}{4}$.", "4", "0"},
    {"so \\( 3 + \\frac{1}{2} = \\frac{7}{2} \\)", "3.5", "1"},
    {"\\[ x = \\frac{1}{2} \\]", "1/2", "1"},
    {"It costs $5 and then $3 so she pays 8.", "8", "1"},
    {"she has $x+y=\\frac{7}{2}$, and 3 left.", "3", "1"},
    {"The answer is 50%.", "0.5", "1"},
    {"The answer is 1/2 or 0.5.", "0.5", "1"},
    {"The answer is $2^5 = 32$.", "32", "1"},
    {"The answer is $x = \\sqrt{16} = 4$.", "4", "1"},
    {"She pays £5. The answer is £5.", "5", "1"},
    {"\\boxed{\\text{£}5}", "5", "1"},
    {"答案是 \\boxed{校}", "5", "0"},
    {"\\frac{1}{2}", "0.5", "1"},
    {"\\frac{1}{2}", "2", "0"},
    {"So it is \\frac{1}{2}.", "1/2", "1"},
    {"So it is \\frac{1}{2}.", "2", "0"},
    {"\\dfrac{3}{4}", "3/4", "1"},
    {"\\dfrac{3}{4}", "4", "0"},
    {"So it is 3\\sqrt{2}", "3\\sqrt2", "1"},
    {"So it is 3\\sqrt{2}", "2", "0"},
    {"So it is \\sqrt2.", "\\sqrt{2}", "1"},
    {"So it is \\sqrt2.", "2", "0"},
    {"2^{10}", "1024", "1"},
    {"2^{10}", "10", "0"},
    {"2^{10}+1", "1025", "1"},
    {"2^{10}+1", "1", "0"},
    {"$2^{10}+1$", "1025", "1"},
    {"$2^{10}+1$", "1", "0"},
    {"2 \\times 10^{3}", "2000", "1"},
    {"2 \\times 10^{3}", "3", "0"},
    {"x = −5", "-5", "1"},
    {"x = −5", "5", "0"},
    {"7 / 2", "3.5", "1"},
    {"7 / 2", "2", "0"},
    {"4 - 5", "-1", "1"},
    {"4 - 5", "5", "0"},
    {"- 5", "-5", "1"},
    {"- 5", "5", "0"},
    {"25\\%", "0.25", "1"},
    {"25\\%", "2500", "0"},
    {"It is 5 cm.", "5 cm", "1"},
    {"It is 5 cm.", "5 m", "0"},
    {"2^{-1}", "1/2", "1"},
    {"2^{-1}", "-1", "0"},
    {"\\pm 2", "2,-2", "1"},
    {"\\pm 2", "2", "0"},
    {"So x^0", "x^0", "1"},
    {"So x^0", "0", "0"},
    {"The point (1, 2).", "(1,2)", "1"},
    {"The point (1, 2).", "2", "0"},
    {"So it is 2(x+1).", "2(1+x)", "1"},
    {"So it is 2(x+1).", "1", "0"},
    {"It is 1 1/2 cups", "3/2", "1"},
    {"It is 1 1/2 cups", "1/2", "0"},
    {"So 1.2 million people", "1200000", "1"},
    {"So 1.2 million people", "1.2", "0"},
    {"The answer is that it is \\frac{1}{2}", "1/2", "1"},
    {"The answer is that it is \\frac{1}{2}", "2", "0"},
    {"I have 3 apples and 4 pears, so 7.", "7", "1"},
    {"I have 3 apples and 4 pears, so 7.", "4", "0"},
    {"on 2024-01-05 there were 12", "12", "1"},
    {"on 2024-01-05 there were 12", "5", "0"},
    {"4 - 5 = -1", "-1", "1"},
    {"4 - 5 = -1", "5", "0"},
    {"1. One\n2. Two is 8", "8", "1"},
    {"1. One\n2. Two is 8", "2", "0"},
    {"- 3 cats\n- 5 dogs", "5", "1"},
    {"- 3 cats\n- 5 dogs", "-5", "0"},
    {"He pays $5 - $3 = $2.", "2", "1"},
    {"He pays $5 - $3 = $2.", "3", "0"},
    {"3 x 4 = 12 apples", "12", "1"},
    {"3 x 4 = 12 apples", "4", "0"},
    {"5 m * 3 m = 15 m", "15", "1"},
    {"5 m * 3 m = 15 m", "3", "0"},
    {"the 5th of 20-year-olds", "20", "1"},
    {"the 5th of 20-year-olds", "5", "0"},
    {"so <<48+24=72>>72", "72", "1"},
    {"so <<48+24=72>>72", "24", "0"},
    {"between 4 - 5", "5", "0"},
    {"between 4 - 5", "-1", "0"},
    {"So it is 2^", "2", "0"},
    {"so \\frac{1}{2", "2", "0"},
    {"y=3", "x=3", "0"},
    {"2^3^2", "64", "0"},
    {"2^3^2", "512", "1"},
    {"5 is \x80\xff \\boxed{\x80}", "5", "0"},
};

/* The score that stdlib/answer.lua gives. */
static double
score_of(rlf_lua_host *host, rlf_str response, rlf_str truth, rlf_arena *arena,
         rlf_err *err)
{
    const rlf_lua_field f[] = {
        {.name = "response", .kind = RLF_LUA_BYTES, .text = response},
        {.name = "answer", .kind = RLF_LUA_BYTES, .text = truth},
    };
    rlf_lua_sample sample = {.fields = f, .n_fields = 2};
    rlf_lua_value v = {.number = -1};
    rlf_err_clear(err);
    rlf_lua_call(host, &sample, 1, arena, err, &v);
    return v.number;
}

/* Truths that are numbers of JSON, as rows of data give them. */
static void
test_number_truths(rlf_lua_host *host, rlf_arena *arena)
{
    static const struct {
        const char *response;
        double truth;
        int score;
    } cases[] = {
        {"\\boxed{0.00001}", 1e-5, 1},
        {"\\boxed{10^{-5}}", 1e-5, 1},
        {"\\boxed{1000000000000000000}", 1e18, 1},
        {"\\boxed{1e18}", 1e18, 1},
        {"\\boxed{12345678901234567890}", 12345678901234567890.0, 1},
        {"\\boxed{1.5 \\times 10^{300}}", 1.5e300, 1},
        {"\\boxed{2.5 \\cdot 10^{-300}}", 2.5e-300, 1},
        {"\\boxed{\\frac{1}{3}}", 1.0 / 3, 1},
        {"\\boxed{0.1}", 0.1, 1},
        {"it is 12.0", 12, 1},
        {"\\boxed{-0.5}", -0.5, 1},
        {"\\boxed{0.5}", -0.5, 0},
        {"\\boxed{0.00001}", 1e-4, 0},
        {"\\boxed{e}", 2.5, 0},
        {"\\boxed{}", 0, 0},
        {"\\boxed{0.3333}", 1.0 / 3, 0},
        {"\\boxed{25\\%}", 0.25, 1},
        {"\\boxed{25\\%}", 25, 1},
        {"\\boxed{25}", 0.25, 0},
        {"\\boxed{2^{-2}}", 0.25, 1},
        {"it is 101069.66666666667", 101069.66666666667, 1},
        {"it is -101069.66666666667", -101069.66666666667, 1},
        {"it is 101069.66666666668", 101069.66666666667, 0},
        {"it is 16.6666666666666667", 50.0 / 3, 1},
        {"it is 9007199254740993.1", 9007199254740994, 1},
        {"\\boxed{\\frac{9007199254740993}{18014398509481984}}", 0.5, 1},
        {"\\boxed{\\frac{1}{9223372036854775807}}", 1 / 0x1p63, 1},
    };
    for (size_t i = 0; i < RLF_COUNT(cases); i++) {
        const rlf_lua_field f[] = {
            {.name = "response",
             .kind = RLF_LUA_BYTES,
             .text = rlf_str_of(cases[i].response)},
            {.name = "answer",
             .kind = RLF_LUA_NUMBER,
             .number = cases[i].truth},
        };
        rlf_lua_sample sample = {.fields = f, .n_fields = 2};
        rlf_err err = RLF_ERR_NONE;
        rlf_lua_value v = {.number = -1};
        rlf_lua_call(host, &sample, 1, arena, &err, &v);
        if (!ok(v.number == cases[i].score, "%s against the number %.17g: %d",
                cases[i].response, cases[i].truth, cases[i].score))
            note("%g %s", v.number, err.sentence);
    }
}

/* A line "same|other TAB answer TAB answer TAB what math-verify says" of
 * tests/answers.tsv. */
static void
test_pair(rlf_lua_host *host, char *line, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    char *rest = NULL, *kind = strtok_r(line, "\t\n", &rest);
    char *a = strtok_r(NULL, "\t\n", &rest), *b = strtok_r(NULL, "\t\n", &rest);
    char *rival = strtok_r(NULL, "\t\n", &rest);
    if (!kind || *kind == '#')
        return;
    bool same = strcmp(kind, "same") == 0;
    if (!a || !b || !rival || (!same && strcmp(kind, "other") != 0))
        bail("tests/answers.tsv: %s", line);
    for (int i = 0; i < 2; i++) { /* and the other way round */
        const char *response =
            rlf_arena_printf(arena, "Some sums.\n#### %s", i ? b : a);
        double got = score_of(host, rlf_str_of(response), rlf_str_of(i ? a : b),
                              arena, &err);
        if (!ok(got == same, "%s: %s and %s", kind, a, b))
            note("%g %s", got, err.sentence);
    }
}

static void
test_pairs(rlf_lua_host *host, rlf_arena *arena)
{
    char path[1024], *line = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "%s/tests/answers.tsv", root);
    FILE *file = fopen(path, "r");
    if (!file)
        bail("there is no %s", path);
    while (getline(&line, &room, file) > 0)
        test_pair(host, line, arena);
    free(line);
    fclose(file);
}

/* Checks that answers which are nested, long or cut off are compared as text,
 * in bounded time. The pieces of such answers stand behind `before`. */
static void
test_hostile_answers(rlf_lua_host *host, rlf_arena *arena, const char *before)
{
    static const char *const pieces[] = {"(",
                                         "{",
                                         "\\sqrt",
                                         "^",
                                         "\\frac",
                                         "\\text{",
                                         "-",
                                         "\\boxed{",
                                         "\\pm ",
                                         "1,",
                                         "\\cup ",
                                         "\\begin{x}",
                                         "$",
                                         "\\frac{1}{",
                                         "or ",
                                         "ab ",
                                         "a b ",
                                         "5 cm ",
                                         "\\(",
                                         "x. ",
                                         "\\",
                                         "|",
                                         "1 2 ",
                                         "{}",
                                         "\\over ",
                                         "+",
                                         "=",
                                         "\\[",
                                         "\u00bd",
                                         "(B) ",
                                         "\xff",
                                         "1.",
                                         "e5",
                                         "%",
                                         "_1",
                                         "9^",
                                         "9^{",
                                         "9!+",
                                         "!",
                                         "1000000!+",
                                         "2^{62}*",
                                         "\\sqrt{1000003}",
                                         "(1+\\sqrt2)^{32}",
                                         "a_1b_2",
                                         "Answer: ",
                                         "1/97+",
                                         "x_{1}=",
                                         "(1+\\sqrt{2}+\\sqrt{3}+\\sqrt{5})",
                                         "\\approx ",
                                         "\\begin{cases}"};
    for (size_t i = 0; i < RLF_COUNT(pieces); i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_buf text = {0};
        rlf_buf_puts(&text, before);
        while (text.n < 3500)
            rlf_buf_puts(&text, pieces[i]);
        rlf_str whole = {text.p, text.n};
        if (!ok(score_of(host, whole, RLF_STR("77"), arena, &err) == 0,
                "%s3,500 bytes of %s", before, pieces[i]))
            note("%s", err.sentence);
        while (text.n < 200000)
            rlf_buf_puts(&text, pieces[i]);
        whole = (rlf_str){text.p, text.n};
        if (!ok(score_of(host, whole, RLF_STR("77"), arena, &err) == 0,
                "200,000 bytes of it"))
            note("%s", err.sentence);
        rlf_buf_free(&text);
    }
}

/* Returns the number that tests/answers.lua makes of a text. */
static double
fuzz_value(rlf_lua_host *host, rlf_str text, uint32_t seed, rlf_arena *arena,
           rlf_err *err)
{
    const rlf_lua_field f[] = {
        {.name = "response", .kind = RLF_LUA_BYTES, .text = text}};
    rlf_lua_sample sample = {
        .fields = f,
        .n_fields = 1,
        .key = {7, RLF_PURPOSE_LUA, seed, 0, 0},
    };
    rlf_lua_value v = {.number = -1};
    rlf_err_clear(err);
    rlf_lua_call(host, &sample, 1, arena, err, &v);
    return v.number;
}

/* One of its parts, which gives how many checks it did, or an error with the
 * answers that it found. */
static void
fuzz(rlf_lua_host *host, rlf_arena *arena, const char *part, int from,
     int count)
{
    rlf_err err = RLF_ERR_NONE;
    const char *text = rlf_arena_printf(arena, "%s %d %d", part, from, count);
    double checks =
        fuzz_value(host, rlf_str_of(text), (uint32_t)from, arena, &err);
    if (!ok(checks >= count, "%s", text))
        note("%s", err.sentence);
}

/* References of a data set, each eighth row (in a quick pass each 512th): they
 * are their own answers, and not that of the next row. */
static void
test_references(rlf_lua_host *host, rlf_arena *arena, const char *name)
{
    char path[4096], *line = NULL;
    size_t room = 0, rows = 0;
    rlf_buf two = {0};
    const char *data = getenv("RLFLOW_TEST_DATA");
    snprintf(path, sizeof path, "%s/datasets/%s", data ? data : "", name);
    FILE *file = data ? fopen(path, "r") : NULL;
    if (!file) {
        skip("datasets/%s is not in RLFLOW_TEST_DATA", name);
        return;
    }
    rlf_err err = RLF_ERR_NONE;
    bool good = true;
    size_t stride = quick() ? 512 : 16;
    for (ssize_t n; good && (n = getline(&line, &room, file)) > 0; rows++) {
        n -= line[n - 1] == '\n';
        if (rows % stride == 0)
            rlf_buf_clear(&two);
        if (rows % stride == 1)
            rlf_buf_putc(&two, '\n');
        if (rows % stride <= 1)
            rlf_buf_add(&two, line, (size_t)n);
        good = rows % stride != 1 ||
               fuzz_value(host, (rlf_str){two.p, two.n}, 0, arena, &err) == 1;
    }
    rlf_buf_free(&two);
    if (!ok(good && rows > 1000, "%zu references of %s", rows, name))
        note("%s", err.sentence);
    free(line);
    fclose(file);
}

/* Answers of all kinds of characters are no errors, and how an expression is
 * written does not change its form, but what it is does. */
static void
test_fuzz(void)
{
    char path[1024], dir[1024];
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    const rlf_lua_program *program;
    rlf_lua_host *host = NULL;
    snprintf(path, sizeof path, "%s/tests/answers.lua", root);
    snprintf(dir, sizeof dir, "%s/stdlib", root);
    const char *const dirs[] = {dir};
    rlf_lua_spec spec = {.path = path,
                         .dirs = dirs,
                         .n_dirs = 1,
                         .instructions = 10000000000,
                         .time = 600};
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    /* the answers are compared by a program in Lua, which no sanitizer sees:
     * a quick pass has some of each kind for the C below it */
    for (int i = 0; i < (quick() ? 1 : 4); i++)
        fuzz(host, arena, "expressions", i, quick() ? 8 : 100);
    for (int i = 0; i < (quick() ? 1 : 4); i++)
        fuzz(host, arena, "numbers", i, quick() ? 8 : 100);
    fuzz(host, arena, "floats", 0, quick() ? 100 : 300);
    fuzz(host, arena, "radicals", 0, quick() ? 10 : 100);
    fuzz(host, arena, "latin", 0xa0, quick() ? 0x20 : 0xe0);
    for (int i = 0; i < 4; i++)
        fuzz(host, arena, "planes", 0xa0 + i * 0x4000,
             quick() ? 0x100 : 0x4000);
    fuzz(host, arena, "bytes", 0, quick() ? 20 : 200);
    test_references(host, arena, "math/math_test5000.jsonl");
    test_references(host, arena, "gsm8k/test.jsonl");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

static void
test_answer(void)
{
    char dir[1024];
    snprintf(dir, sizeof dir, "%s/stdlib", root);
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_host *host = NULL;
    setup s = {.dir = dir};
    if (lua_open(arena, &s,
                 "local answer = require('answer')\n"
                 "return function(s) return answer.score(s.response, s.answer) "
                 "end",
                 &err, &host) < 0)
        bail("%s", err.sentence);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        double got = score_of(host, rlf_str_of(answers[i][0]),
                              rlf_str_of(answers[i][1]), arena, &err);
        if (!ok(got == (answers[i][2][0] == '1'), "answer %zu: %s", i + 1,
                answers[i][2]))
            note("%s against %s: %g %s", answers[i][0], answers[i][1], got,
                 err.sentence);
    }
    test_pairs(host, arena);
    test_number_truths(host, arena);
    test_hostile_answers(host, arena, "");
    test_hostile_answers(host, arena, "the answer is ");
    test_hostile_answers(host, arena, "#### ");
    rlf_lua_host_free(host);
    if (lua_open(arena, &s,
                 "local answer = require('answer')\n"
                 "return function(s) return answer.score(nil, '2') end",
                 &err, &host) < 0)
        bail("%s", err.sentence);
    score_of(host, rlf_str_of("x"), rlf_str_of("2"), arena, &err);
    ok(strstr(err.sentence, "answer.score: the response is nil, not a text"),
       "a response that is none: %s", err.sentence);
    rlf_err_clear(&err);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* Arguments that are no texts are told at the line of the call, or, where
 * `return f(x)` left that behind, at the hook's function. */
static void
test_arguments(void)
{
    static const struct {
        const char *body, *sentence, *hint;
    } bad[] = {
        {"local x = answer.same(s.response, 5)\nreturn x and 1 or 0",
         "r.lua:3: answer.same: the second answer is a number, not a text",
         "tostring(x) makes a text of a number; answer.score takes one as its "
         "truth"},
        {"return answer.same(5, s.response)",
         "r.lua:2: answer.same: the first answer is a number, not a text",
         "tostring(x) makes a text of a number; answer.score takes one as its "
         "truth"},
        {"return answer.same(s.response)",
         "r.lua:2: answer.same: the second answer is nil, not a text", ""},
        {"local x = answer.normal(true)\nreturn x",
         "r.lua:3: answer.normal: the text is a boolean, not a text", ""},
        {"local x = answer.extract({})\nreturn x",
         "r.lua:3: answer.extract: the text is a table, not a text", ""},
        {"local x = answer.boxed()\nreturn x",
         "r.lua:3: answer.boxed: the text is nil, not a text", ""},
        {"local x = answer.after(s.response)\nreturn x",
         "r.lua:3: answer.after: the marker is nil, not a text", ""},
        {"local x = answer.after(s.response, '')\nreturn x",
         "r.lua:3: answer.after: the marker is empty", ""},
        {"local x = answer.last_number(1)\nreturn x",
         "r.lua:3: answer.last_number: the text is a number, not a text", NULL},
        {"return answer.score(nil, '2')",
         "r.lua:2: answer.score: the response is nil, not a text", ""},
        {"return form.of(5)",
         "std/answer/form.lua:", NULL}, /* no function for programs */
    };
    char dir[1024], source[1024];
    snprintf(dir, sizeof dir, "%s/stdlib", root);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(source, sizeof source,
                 "local answer, form = require('answer'), "
                 "require('answer.form')\nreturn function(s)\n%s\nend",
                 bad[i].body);
        outcome out = lua_run((setup){.dir = dir}, source);
        size_t n = strlen(bad[i].sentence);
        ok(out.status == RLF_USER &&
               !strncmp(out.err.sentence, bad[i].sentence, n) &&
               (!bad[i].hint || !strcmp(out.err.hint, bad[i].hint)),
           "%s", bad[i].sentence);
        note("got: %s; hint: %s", out.err.sentence, out.err.hint);
    }
}

static rlf_lua_host *
open_file(rlf_arena *arena, const char *name, rlf_lua_per per)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, name);
    rlf_lua_spec spec = {.path = path, .per = per};
    const rlf_lua_program *program;
    rlf_lua_host *host = NULL;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    return host;
}

static void
test_templates(void)
{
    static const char *const want[][2] = {
        {"stdlib/template/chatml.lua",
         "<|im_start|>user\nhi <|im_end|>\n<|im_start|>assistant\n"},
        {"stdlib/template/llama3.lua",
         "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nhi"
         "<|eot_id|>"
         "<|start_header_id|>assistant<|end_header_id|>\n\n"},
    };
    const rlf_lua_field one[] = {
        {.name = "role", .kind = RLF_LUA_BYTES, .text = {"user", 4}},
        {.name = "content", .kind = RLF_LUA_BYTES, .text = {"hi ", 3}}};
    const rlf_lua_record message = {one, 2};
    for (size_t i = 0; i < 2; i++) {
        rlf_arena *arena = rlf_arena_new();
        rlf_err err = RLF_ERR_NONE;
        rlf_lua_host *host = open_file(arena, want[i][0], RLF_LUA_PER_TEMPLATE);
        rlf_str text = {"", 0};
        rlf_lua_template(host, &message, 1, true, arena, &err, &text);
        is_str(text.p, want[i][1], want[i][0]);
        rlf_lua_host_free(host);
        rlf_arena_free(arena);
    }
}

/* Llama 3's contents are stripped as Python strips them. */
static void
test_white_space(void)
{
    static const char *const contents[][2] = {
        {"\t\x1c hi\n", "hi"},
        {"\xc2\x85\xe1\x9a\x80hi \xc3\xa0\xe3\x80\x80\xc2\xa0", "hi \xc3\xa0"},
        {"\xe2\x80\x8bhi\xe2\x80\xa8", "\xe2\x80\x8bhi"},
        {"\xe2\x80\x83\xe2\x80\x83", ""},
        {"", ""},
        {"\xa0hi\x85", "\xa0hi\x85"},
    };
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host =
        open_file(arena, "stdlib/template/llama3.lua", RLF_LUA_PER_TEMPLATE);
    for (size_t i = 0; i < RLF_COUNT(contents); i++) {
        const rlf_lua_field one[] = {
            {.name = "role", .kind = RLF_LUA_BYTES, .text = {"user", 4}},
            {.name = "content",
             .kind = RLF_LUA_BYTES,
             .text = rlf_str_of(contents[i][0])}};
        const rlf_lua_record message = {one, 2};
        rlf_err err = RLF_ERR_NONE;
        rlf_str text = {"", 0};
        rlf_lua_template(host, &message, 1, false, arena, &err, &text);
        is_str(text.p,
               rlf_arena_printf(arena,
                                "<|begin_of_text|><|start_header_id|>user"
                                "<|end_header_id|>\n\n%s<|eot_id|>",
                                contents[i][1]),
               "white space of Unicode");
    }
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

static void
test_arith(void)
{
    static const struct {
        const char *response, *answer;
        bool finished;
        double score;
    } cases[] = {
        {"16", "16", true, 1},   {"16", "16", false, 0}, {" 16", "16", true, 0},
        {"16.0", "16", true, 0}, {"-3", "-3", true, 1},  {"", "0", true, 0},
    };
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host =
        open_file(arena, "examples/rewards/arith.lua", RLF_LUA_PER_SAMPLE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const rlf_lua_field f[] = {
            {.name = "response",
             .kind = RLF_LUA_BYTES,
             .text = rlf_str_of(cases[i].response)},
            {.name = "answer",
             .kind = RLF_LUA_BYTES,
             .text = rlf_str_of(cases[i].answer)},
            {.name = "finished",
             .kind = RLF_LUA_BOOL,
             .flag = cases[i].finished},
        };
        rlf_lua_sample sample = {.fields = f, .n_fields = 3};
        rlf_lua_value v = {.number = -1};
        rlf_err err = RLF_ERR_NONE;
        rlf_lua_call(host, &sample, 1, arena, &err, &v);
        near(v.number, cases[i].score, 0, "the reward of the main example");
    }
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

int
main(void)
{
    root = getenv("RLFLOW_SOURCE");
    if (!root)
        root = ".";
    test_texts();
    test_json();
    test_regex();
    test_answer();
    test_arguments();
    test_fuzz();
    test_templates();
    test_white_space();
    test_arith();
    return done();
}
