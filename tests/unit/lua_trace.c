/* Calls line by line: the lines that ran, the values in them, and that the
 * outcome and the host are what they are without a trace. The traces are read
 * with a JSON library, so each is valid. */
#include "tests/unit/lua_run.h"

#include <jansson.h>

/* A call that was traced, beside the same one that was not. */
typedef struct traced {
    rlf_arena *arena;
    rlf_lua_host *host;
    rlf_lua_trace trace;
    rlf_status status, plain_status;
    rlf_lua_value value, plain;
    rlf_err err, plain_err;
    json_t *lines;
} traced;

static traced
trace_of(setup s, const char *source)
{
    traced t = {.err = RLF_ERR_NONE, .plain_err = RLF_ERR_NONE};
    t.arena = rlf_arena_new();
    if (lua_open(t.arena, &s, source, &t.err, &t.host) < 0)
        bail("%s", t.err.sentence);
    t.plain_status = rlf_lua_call(t.host, &lua_run_sample, 1, t.arena,
                                  &t.plain_err, &t.plain);
    t.status = rlf_lua_call_traced(t.host, &lua_run_sample, 1, t.arena, &t.err,
                                   &t.value, &t.trace);
    json_error_t why;
    t.lines = json_loadb(t.trace.lines.p, t.trace.lines.n,
                         JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!t.lines) {
        note("%s", t.trace.lines.p);
        bail("the trace is no JSON: %s", why.text);
    }
    return t;
}

static void
end(traced *t)
{
    json_decref(t->lines);
    rlf_lua_trace_free(&t->trace);
    rlf_lua_host_free(t->host);
    rlf_arena_free(t->arena);
}

static int
number(const json_t *line, const char *name)
{
    return (int)json_integer_value(json_object_get(line, name));
}

/* "2 x=12 y=3 -> 5 !" of all lines, with "; " between them: number, what the
 * line changed, what it returns, an error; a first line has its arguments in
 * parentheses before that; deeper ones have a '>' for each function. */
static const char *
shown(const traced *t)
{
    static rlf_buf out;
    size_t i;
    const char *key;
    json_t *line, *value;
    rlf_buf_clear(&out);
    json_array_foreach(t->lines, i, line)
    {
        rlf_buf_puts(&out, i ? "; " : "");
        if (json_object_get(line, "left_out")) {
            rlf_buf_puts(&out, "...");
            continue;
        }
        int depth = number(line, "depth");
        for (int d = 1; d < depth; d++)
            rlf_buf_putc(&out, '>');
        rlf_buf_printf(&out, "%d", number(line, "line"));
        json_t *first = json_object_get(line, "arguments");
        const char *blank = "(";
        json_object_foreach(first, key, value)
        {
            rlf_buf_printf(&out, "%s%s=%s", blank, key,
                           json_string_value(value));
            blank = " ";
        }
        rlf_buf_puts(&out, !first ? "" : *blank == '(' ? "()" : ")");
        json_object_foreach(json_object_get(line, "values"), key, value)
            rlf_buf_printf(&out, " %s=%s", key, json_string_value(value));
        size_t k;
        json_t *returns = json_object_get(line, "returns");
        rlf_buf_puts(&out, returns ? " ->" : "");
        json_array_foreach(returns, k, value)
            rlf_buf_printf(&out, " %s", json_string_value(value));
        if (json_is_true(json_object_get(line, "error")))
            rlf_buf_puts(&out, " !");
    }
    return out.p;
}

/* The function with these lines gives these traced lines (from the second line
 * on: the first one is `return function(s)`), and the same as without. */
static void
traces(const char *name, const char *body, const char *want)
{
    char source[8192];
    snprintf(source, sizeof source, "return function(s) s = nil\n%s\nend",
             body);
    traced t = trace_of((setup){0}, source);
    const char *got = shown(&t), *rest = strstr(got, "; ");
    if (!ok(strcmp(rest ? rest + 2 : "", want) == 0, "%s", name))
        note("got:  %s\n# want: %s", got, want);
    bool same =
        t.status == t.plain_status &&
        (t.status < 0 ? strcmp(t.err.sentence, t.plain_err.sentence) == 0
                      : rlf_lua_same(&t.value, &t.plain));
    if (!ok(same, "%s: the outcome is that of a call without a trace", name))
        note("%d %s %g, without %d %s %g", t.status, t.err.sentence,
             t.value.number, t.plain_status, t.plain_err.sentence,
             t.plain.number);
    end(&t);
}

static void
test_lines(void)
{
    traces("a local, an assignment, a return",
           "local x = 12\n"
           "local y, z = x + 1, 'a'\n"
           "x = y\n"
           "return x * 2",
           "2 x=12; 3 y=13 z=\"a\"; 4 x=13; 5 -> 26");
    traces("a branch that is not taken",
           "local x = 1\n"
           "if x > 1 then\n"
           "x = 5\n"
           "elseif x == 1 then\n"
           "x = 7\n"
           "end\n"
           "return x",
           "2 x=1; 3; 5; 6 x=7; 8 -> 7");
    traces("a loop",
           "local n = 0\n"
           "for i = 1, 3 do\n"
           "n = n + i\n"
           "end\n"
           "return n",
           "2 n=0; 3 i=1; 4 n=1; 3 i=2; 4 n=3; 3 i=3; 4 n=6; 3; 6 -> 6");
    traces("a loop in one line",
           "local n = 0\n"
           "for i = 1, 3 do n = n + i end\n"
           "return n",
           "2 n=0; 3 n=1 i=2; 3 n=3 i=3; 3 n=6; 4 -> 6");
    traces("a loop over a table",
           "local n = ''\n"
           "for k, v in pairs({ a = 1, b = 2 }) do\n"
           "n = n .. k .. v\n"
           "end\n"
           "return #n",
           "2 n=\"\"; 3 k=\"a\" v=1; 4 n=\"a1\"; 3 k=\"b\" v=2; 4 n=\"a1b2\"; "
           "3; 5; 6 -> 4");
    traces("an expression of several lines",
           "local t = {\n"
           "1,\n"
           "2 + 3,\n"
           "}\n"
           "return t[1] +\n"
           "t[2]",
           "2; 3; 5 t={1, 5}; 6; 7; 6; 7 -> 6");
    traces("a variable behind one of the same name",
           "local x = 1\n"
           "do\n"
           "local x = 2\n"
           "local y = 5 x = 3\n"
           "y = x\n"
           "end\n"
           "return x",
           "2 x=1; 4 x=2; 5 x=3 y=5; 6; 8 -> 1");
}

static void
test_functions(void)
{
    traces("a function, its arguments, its upvalues",
           "local n = 1\n"
           "local function add(a, b)\n"
           "n = n + a\n"
           "return a + b, n\n"
           "end\n"
           "local x, y = add(2, 3)\n"
           "return x + y",
           "2 n=1; 6 add=function r.lua:3; 7 n=3 x=5 y=3; "
           ">4(a=2 b=3) n=3; >5 -> 5 3; 8 -> 8");
    traces("recursion",
           "local function f(n)\n"
           "if n < 2 then return 1 end\n"
           "return n * f(n - 1)\n"
           "end\n"
           "return f(3) + 0",
           "5 f=function r.lua:2; 6 -> 6; >3(n=3); >4 -> 6; >>3(n=2); "
           ">>4 -> 2; >>>3(n=1) -> 1");
    traces("a call in the place of a return",
           "local function f(n, sum)\n"
           "if n == 0 then return sum end\n"
           "return f(n - 1, sum + n)\n"
           "end\n"
           "return f(2, 0)",
           "5 f=function r.lua:2; 6 -> 3; 3(n=2 sum=0); 4; 3(n=1 sum=2); "
           "4; 3(n=0 sum=3) -> 3");
    traces("a return of what a C function gives",
           "local x = '12'\n"
           "return tonumber(x)",
           "2 x=\"12\"; 3 -> 12");
    traces("any number of arguments",
           "local function f(a, ...)\n"
           "return select('#', ...) + a\n"
           "end\n"
           "return f(1, 'x', nil) + 0",
           "4 f=function r.lua:2; 5 -> 3; >3(a=1 ...=\"x\", nil) -> 3");
    traces("a function that Lua calls",
           "local t = setmetatable({}, {\n"
           "__index = function(t, k)\n"
           "return k .. '!'\n"
           "end })\n"
           "local x = t.b\n"
           "return #x",
           "2; 5; 2 t={}; 6 x=\"b!\"; >4(t={} k=\"b\") -> \"b!\"; 7 -> 2");
    traces("a function that pcall calls",
           "local good, x = pcall(function(a)\n"
           "return a + 1\n"
           "end, 4)\n"
           "return x",
           "2; 4; 2 good=true x=5; >3(a=4) -> 5; 5 -> 5");
    traces("a text that load compiles",
           "local f = load('local a = 1\\nreturn a + 1')\n"
           "return f() + 0",
           "2 f=function (load):0; 3 -> 2; >1() a=1; >2 -> 2");
}

static void
test_coroutines(void)
{
    traces("a coroutine",
           "local co = coroutine.wrap(function(a)\n"
           "local b = coroutine.yield(a + 1)\n"
           "return b * 2\n"
           "end)\n"
           "local x = co(1)\n"
           "local y = co(10)\n"
           "return x + y",
           "2; 5; 2 co=function; 6 x=2; >3(a=1) b=10; 7 y=20; >4 -> 20; "
           "8 -> 22");
    traces("coroutines that end, one after another",
           "local n = 0\n"
           "for i = 1, 3 do\n"
           "n = n + coroutine.wrap(function() return i end)()\n"
           "end\n"
           "return n",
           "2 n=0; 3 i=1; 4 n=1; >4() -> 1; 3 i=2; 4 n=3; >4() -> 2; "
           "3 i=3; 4 n=6; >4() -> 3; 3; 6 -> 6");
    traces("an error in a coroutine",
           "local good, why = coroutine.resume(coroutine.create(function()\n"
           "error('no', 0)\n"
           "end))\n"
           "return #why",
           "2; 4; 2 good=false why=\"no\"; >3(); 5 -> 2");
    traced t = trace_of((setup){0}, "return function(s)\n"
                                    "local n = 0\n"
                                    "for i = 1, 3000 do\n"
                                    "local co = coroutine.wrap(function(a)\n"
                                    "local b = coroutine.yield(a)\n"
                                    "return b\n"
                                    "end)\n"
                                    "n = n + co(i) + co(1)\n"
                                    "end\n"
                                    "return n\n"
                                    "end");
    is_int(t.status, RLF_OK, "very many coroutines are traced");
    ok(t.value.number == t.plain.number, "with the same result");
    end(&t);
}

static void
test_errors(void)
{
    traces("an error is at its line",
           "local x = 1\n"
           "local y = x.a.b\n"
           "return y",
           "2 x=1; 3 !");
    traces("an error in a function that was called",
           "local function f(x)\n"
           "error('bad ' .. x)\n"
           "end\n"
           "f('z')\n"
           "return 1",
           "4 f=function r.lua:2; 5; >3(x=\"z\") !");
    traces("an error after a function that went well",
           "local function f(x)\n"
           "return x\n"
           "end\n"
           "return f(1) + nil",
           "4 f=function r.lua:2; 5 !; >3(x=1) -> 1");
    traces("an error that is caught",
           "local good, why = pcall(function(x)\n"
           "local y = x\n"
           "error({ y }, 0)\n"
           "end, 2)\n"
           "local z = why[1]\n"
           "return z",
           "2; 5; 2 good=false why={2}; >3(x=2) y=2; >4 !; 6 z=2; 7 -> 2");
    traces("an error in an error's handler",
           "local good, why = xpcall(function()\n"
           "return nil + 1\n"
           "end, function(e)\n"
           "return #e\n"
           "end)\n"
           "return why",
           "2; 4; 6; 2 good=false why=53; >3() !; >>5(e=\"r.lua:3: attempt to "
           "perform arithmetic on a nil value\") -> 53; 7 -> 53");
    traces("a result that is none", "return 'x'", "2 -> \"x\"");
}

static void
test_values(void)
{
    traces("texts",
           "local a = 'say \"hi\"\\n\\t\\\\'\n"
           "local b = 'a\\0b\\127'\n"
           "local c = '\\xff\\xc3\\xa9\\xc3'\n"
           "local d = ('x'):rep(1000)\n"
           "return #(a .. b .. c .. d)",
           "2 a=\"say \\\"hi\\\"\\n\\t\\\\\"; 3 b=\"a\\000b\\127\"; "
           "4 c=\"\\xFF\xc3\xa9\\xC3\"; 5 d=\""
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
           "\"... (1000 bytes); 6 -> 1019");
    traces("numbers as tostring has them",
           "local a, b, c = 42, 42.0, 0.1\n"
           "local d, e, f = 1 / 3, 1e100, -0.0\n"
           "local g, h = math.huge, math.mininteger\n"
           "return 1",
           "2 a=42 b=42.0 c=0.1; 3 d=0.3333333333333333 e=1e+100 f=-0.0; "
           "4 g=inf h=-9223372036854775808; 5 -> 1");
    traces("tables one level deep, in the order of pairs",
           "local t = { 1, 'b', true, x = 2, a = { 1 }, ['a b'] = {} }\n"
           "t[3] = nil\n"
           "t[9] = 1.5\n"
           "t[true] = type\n"
           "return 1",
           "2 t={1, \"b\", true, a = {...}, [\"a b\"] = {}, x = 2}; "
           "3 t={1, \"b\", a = {...}, [\"a b\"] = {}, x = 2}; "
           "4 t={1, \"b\", [9] = 1.5, a = {...}, [\"a b\"] = {}, x = 2}; "
           "5 t={1, \"b\", [9] = 1.5, a = {...}, [\"a b\"] = {}, x = 2, "
           "[true] = function}; 6 -> 1");
    traces("of a large table the fields that a line changed are shown",
           "local t = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 }\n"
           "t[13] = 0\n"
           "t[13], t.y = 0, {}\n"
           "t[14], t['a b'], t[1] = 2.5, 'z', true\n"
           "t[2] = nil\n"
           "t[2] = 2\n"
           "local u = t\n"
           "t = { 7 }\n"
           "t = u\n"
           "return 1",
           "2 t={1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... 1 more}; "
           "3 t[13]=0; 4 t.y={}; 5 t[1]=true t[14]=2.5 t[\"a b\"]=\"z\"; "
           "6 t={true, [3] = 3, [4] = 4, [5] = 5, [6] = 6, [7] = 7, [8] = 8, "
           "[9] = 9, [10] = 10, [11] = 11, [12] = 12, [13] = 0, ... 3 more}; "
           "7 t[2]=2; "
           "8 u={true, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... 4 more}; "
           "9 t={7}; "
           "10 t={true, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ... 4 more}; "
           "11 -> 1");
    traces("functions, coroutines, what the library has",
           "local a, b = type, coroutine.create(type)\n"
           "local c, d = rlf.regex('a'), rlf.null\n"
           "return 1",
           "2 a=function b=coroutine; 3 c=regex d=rlf.null; 4 -> 1");
    traces("a metamethod of a table is not called",
           "local t = setmetatable({ 1 }, { __tostring = function()\n"
           "error('asked')\n"
           "end, __pairs = error, __len = error, __name = 'n' })\n"
           "return 1",
           "2; 4; 2 t={1}; 5 -> 1");
}

/* The `i`-th kept line, from 0. */
static const json_t *
line_at(const traced *t, size_t i)
{
    return json_array_get(t->lines, i);
}

static const char *
text(const json_t *line, const char *name)
{
    const char *p = json_string_value(json_object_get(line, name));
    return p ? p : "(none)";
}

static void
test_places(void)
{
    traced t = trace_of((setup){.path = "some/where/judge.lua"},
                        "local weight = 2\n"
                        "local function score(s)\n"
                        "  \tlocal x = s.length * weight -- \"twice\"\r\n"
                        "  return x\n"
                        "end\n"
                        "return score\n");
    is_str(text(line_at(&t, 0), "file"), "some/where/judge.lua",
           "a line has its file as messages have it");
    is_str(text(line_at(&t, 0), "source"),
           "local x = s.length * weight -- \"twice\"",
           "and its text, without the blanks around it");
    is_str(t.trace.file.p, "some/where/judge.lua", "the function has a file");
    is_str(t.trace.function.p, "score", "a name");
    is_int(t.trace.line, 2, "and a line");
    is_int((int)t.trace.n_lines, 2, "lines are counted");
    is_int((int)t.trace.left_out, 0, "none is left out");
    is_int((int)t.trace.instructions, 4,
           "and instructions, as luac -l lists them");
    end(&t);
    t = trace_of((setup){0}, "local judge = {}\n"
                             "judge.score = function(s) return 1 end\n"
                             "return judge.score\n");
    is_str(t.trace.function.p, "judge.score", "a function that is assigned");
    end(&t);
    t = trace_of((setup){0}, "return function(s) return 1 end\n");
    is_str(t.trace.function.p, "", "a function without a name");
    end(&t);
    t = trace_of((setup){0}, "return function(s)\n"
                             "return load('return 1', 'a \\0 \\xff text')()\n"
                             "end\n");
    is_str(text(line_at(&t, 1), "file"), "[string \"a \"]",
           "the file of a text has the name that it was given");
    end(&t);
}

static void
test_library(void)
{
    const char *source = getenv("RLFLOW_SOURCE");
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/stdlib", source ? source : ".");
    traced t = trace_of((setup){.dir = dir},
                        "local answer = require 'answer'\n"
                        "return function(s)\n"
                        "  return answer.same(s.response, s.answer) and 1 "
                        "or 0\n"
                        "end\n");
    size_t i, deep = 0, strange = 0;
    json_t *line;
    json_array_foreach(t.lines, i, line)
    {
        bool own = strcmp(text(line, "file"), "r.lua") == 0;
        bool std = strncmp(text(line, "file"), "std/answer", 10) == 0;
        deep += std && number(line, "depth") > 1 && *text(line, "source");
        strange += !own && !std;
    }
    ok(deep > 3 && !strange, "functions of the library are traced");
    is_int(t.status, RLF_OK, "and give");
    ok(t.value.number == t.plain.number, "what they give without a trace");
    end(&t);
}

static void
test_left_out(void)
{
    traced t = trace_of((setup){0}, "return function(s)\n"
                                    "local n = 0\n"
                                    "for i = 1, 5000 do\n"
                                    "n = n + i\n"
                                    "end\n"
                                    "local function last(x)\n"
                                    "return x\n"
                                    "end\n"
                                    "n = last(n)\n"
                                    "return n\n"
                                    "end\n");
    is_int((int)t.trace.n_lines, 1 + 5000 * 2 + 1 + 1 + 3, "all lines count");
    is_int((int)t.trace.left_out, (int)t.trace.n_lines - 2000,
           "of which 2000 are kept");
    is_int((int)json_array_size(t.lines), 2001, "with one that says so");
    is_int(number(line_at(&t, 1000), "left_out"), (int)t.trace.left_out,
           "between the first 1000");
    const json_t *before = line_at(&t, 999), *after = line_at(&t, 1001);
    is_str(text(json_object_get(before, "values"), "i"), "500",
           "the last one before the gap has its values");
    is_str(text(json_object_get(after, "values"), "n"), "10140756",
           "and so has the first one behind it");
    const json_t *end_line = line_at(&t, 2000);
    is_str(json_string_value(
               json_array_get(json_object_get(end_line, "returns"), 0)),
           "12502500", "the last line is the last one that ran");
    is_int(number(line_at(&t, 1999), "depth"), 2,
           "functions behind the gap have their depth");
    ok(t.value.number == 12502500, "the result is right");
    end(&t);
    t = trace_of((setup){0}, "local function f(n)\n"
                             "if n == 0 then return 0 end\n"
                             "local x = f(n - 1)\n"
                             "return x + 1\n"
                             "end\n"
                             "return function(s)\n"
                             "return f(3000) + f(1)\n"
                             "end\n");
    size_t i, gaps = 0;
    int most = 0, sum = 0;
    json_t *line;
    json_array_foreach(t.lines, i, line)
    {
        most = number(line, "depth") > most ? number(line, "depth") : most;
        sum += number(line, "left_out");
        gaps += json_object_get(line, "left_out") != NULL;
    }
    is_int(most, 249, "lines of a deep recursion are left out,");
    is_int(sum, (int)t.trace.left_out, "as many as is said");
    ok(gaps == 1 && json_array_size(t.lines) > 700, "between others");
    ok(t.value.number == 3001, "the result is right");
    end(&t);
}

static void
test_limits(void)
{
    static const struct {
        const char *name, *body;
    } cases[] = {
        {"instructions", "while true do\nn = n + 1\nend"},
        {"instructions in a coroutine",
         "coroutine.wrap(function()\nwhile true do\nn = n + 1\nend\nend)()"},
        {"instructions in pcall",
         "while true do\npcall(function()\nwhile true do end\nend)\nend"},
        {"instructions of one line", "while true do end"},
        {"memory", "local t = {}\nwhile true do\nt[#t + 1] = {}\nend"},
        {"memory of a recursion",
         "local function f()\nreturn 1 + f()\nend\nreturn f()"},
        {"memory of a text", "local x = 'x'\nwhile true do\nx = x .. x\nend"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[2048];
        snprintf(source, sizeof source,
                 "return function(s)\nlocal n = 0\n%s\nend", cases[i].body);
        traced t = trace_of((setup){.memory = 1 << 20, .instructions = 200000},
                            source);
        ok(t.status == RLF_USER && t.plain_status == RLF_USER,
           "%s: the call ends", cases[i].name);
        is_str(t.err.sentence, t.plain_err.sentence, "as without a trace");
        size_t errors = 0, at;
        json_t *line;
        json_array_foreach(t.lines, at, line) errors +=
            json_is_true(json_object_get(line, "error"));
        ok(errors >= 1, "at a line");
        ok(json_array_size(t.lines) <= 4001, "of at most 4000");
        end(&t);
    }
}

/* What a call uses is not more for being traced. */
static void
test_budget(void)
{
    const char *source = "return function(s)\n"
                         "local t = {}\n"
                         "for i = 1, 2000 do\n"
                         "t[i] = ('x'):rep(i % 7) .. i\n"
                         "end\n"
                         "return #table.concat(t)\n"
                         "end\n";
    uint64_t least = 1, most = 1000000;
    while (least < most) { /* the least budget that it runs with */
        uint64_t middle = least + (most - least) / 2;
        outcome o = lua_run((setup){.instructions = middle}, source);
        if (o.status < 0)
            least = middle + 1;
        else
            most = middle;
    }
    traced t = trace_of((setup){.instructions = least}, source);
    is_int(t.plain_status, RLF_OK, "a call that has just enough instructions");
    is_int(t.status, RLF_OK, "has enough when it is traced");
    ok(t.trace.instructions <= least + 1000 && t.trace.instructions >= least,
       "it is said to use about so many: %d of %d", (int)t.trace.instructions,
       (int)least);
    end(&t);
    t = trace_of((setup){.instructions = least - 1}, source);
    is_int(t.plain_status, RLF_USER, "with one less it ends");
    is_int(t.status, RLF_USER, "when it is traced, too");
    end(&t);
}

/* The host makes the calls behind a trace as if there had been none. */
static void
test_host(void)
{
    const char *source = "local calls = 0\n"
                         "return function(s)\n"
                         "local x = math.random()\n"
                         "if x < 0 then calls = calls + 1 end\n"
                         "return x\n"
                         "end\n";
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    rlf_err err = RLF_ERR_NONE;
    setup s = {0};
    if (lua_open(arena, &s, source, &err, &host) < 0)
        bail("%s", err.sentence);
    outcome before = {.err = RLF_ERR_NONE}, after = {.err = RLF_ERR_NONE};
    lua_again(host, arena, &before);
    for (int i = 0; i < 3; i++) {
        rlf_lua_trace trace = {0};
        rlf_lua_value value = {0};
        is_int(rlf_lua_call_traced(host, &lua_run_sample, 1, arena, &err,
                                   &value, &trace),
               RLF_OK, "a call is traced");
        ok(value.number == before.number, "with the same random number");
        rlf_lua_trace_free(&trace);
    }
    lua_again(host, arena, &after);
    ok(after.status == RLF_OK && after.number == before.number,
       "and the next call is as before");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

static void
test_group(void)
{
    const rlf_lua_give gives[] = {{"reward", RLF_LUA_SAMPLE},
                                  {"credit", RLF_LUA_TOKEN}};
    const rlf_lua_spec spec = {
        .path = "group.lua",
        .source = "return function(samples)\n"
                  "local out = {}\n"
                  "for i, s in ipairs(samples) do\n"
                  "out[i] = { reward = i, credit = { i, #s.tokens, 0 } }\n"
                  "end\n"
                  "return out\n"
                  "end\n",
        .per = RLF_LUA_PER_GROUP,
        .gives = gives,
        .n_gives = 2,
    };
    rlf_arena *arena = rlf_arena_new();
    const rlf_lua_program *program;
    rlf_lua_host *host = NULL;
    rlf_err err = RLF_ERR_NONE;
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    rlf_lua_sample samples[] = {lua_run_sample, lua_run_sample};
    rlf_lua_value plain[4], values[4];
    traced t = {.arena = arena, .host = host};
    rlf_lua_call(host, samples, 2, arena, &err, plain);
    is_int(rlf_lua_call_traced(host, samples, 2, arena, &err, values, &t.trace),
           RLF_OK, "a call for a group is traced");
    bool same = true;
    for (int i = 0; i < 4; i++)
        same = same && rlf_lua_same(&values[i], &plain[i]);
    ok(same, "with the same results");
    ok(values[3].n_tokens == 3 && values[3].tokens[0] == 2, "of each token");
    double other[] = {2, 3, 1};
    plain[3].tokens = other;
    ok(!rlf_lua_same(&values[3], &plain[3]), "another token would be seen");
    t.lines = json_loads(t.trace.lines.p, 0, NULL);
    is_str(shown(&t),
           "2(samples={{...}, {...}}) out={}; "
           "3 i=1 s={answer = \"42\", finished = true, grade = 2.5, length = "
           "3, prompt = \"What is 12 plus 30?\", response = \" 42\"}; "
           "4 out={{...}}; "
           "3 i=2 s={answer = \"42\", finished = true, grade = 2.5, length = "
           "3, prompt = \"What is 12 plus 30?\", response = \" 42\"}; "
           "4 out={{...}, {...}}; 3; 5; 6 -> {{...}, {...}}",
           "the lines");
    end(&t);
}

int
main(void)
{
    test_lines();
    test_functions();
    test_coroutines();
    test_errors();
    test_values();
    test_places();
    test_library();
    test_left_out();
    test_limits();
    test_budget();
    test_host();
    test_group();
    return done();
}
