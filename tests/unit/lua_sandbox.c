/* These checks hold every rule of the sandbox, with the exact messages: the
 * names that Lua code may use, the ones that are not there, and the state that
 * a call may not leave behind. */
#include "engine/base/vec.h"
#include "tests/unit/lua_run.h"

#define WHO " (prompt 12, sample 3, step 40)"
#define KEEP                                                             \
    "nothing is kept from one call to the next: use a local inside the " \
    "function"

static void
test_absent(void)
{
    static const char *const absent[] = {
        "os",       "io",    "debug", "package", "next",       "dofile",
        "loadfile", "print", "warn",  "unpack",  "loadstring", "collectgarbage",
    };
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char body[128], want[128];
        snprintf(body, sizeof body, "return tostring(rawget(_G, '%s'))",
                 absent[i]);
        lua_gives(body, "nil");
        snprintf(body, sizeof body, "return function(s) return %s end",
                 absent[i]);
        snprintf(want, sizeof want, "r.lua:1: '%s' is not defined" WHO,
                 absent[i]);
        lua_fails(body, want, NULL);
    }
    lua_gives(
        "return tostring(rawget(string, 'dump')) .. tostring(math.randomseed)",
        "nilnil");
    lua_fails("return function(s) return os.time() end",
              "r.lua:1: 'os' is not defined" WHO,
              "there is no os: a result may depend on nothing but the "
              "arguments");
    lua_fails("return function(s)\n return next(s) end",
              "r.lua:2: 'next' is not defined" WHO,
              "there is no next, whose order differs from run to run: use "
              "pairs");
    lua_fails("return function(s) math.randomseed(1) end",
              "r.lua:1: attempt to call a nil value (field 'randomseed')" WHO,
              "there is no randomseed: math.random is seeded by the sample, "
              "and gives it the same each time");
    lua_fails("local json = require('json')\nreturn function(s) end",
              "r.lua:1: module 'json' not found in .",
              "rlf.json_decode(text) reads JSON, rlf.json_encode(value) writes "
              "it");
    lua_fails("return function(s) return s.answer != 1 end",
              "r.lua:1: 'end' expected near '!'",
              "Lua writes ~= for 'is not equal'");
    lua_fails("return function(s) local x = 1 x += 1 return x end",
              "r.lua:1: syntax error near '+'",
              "Lua has no += and no ++: write x = x + 1");
}

/* A name that nothing defined is an error wherever it is read. */
static void
test_undefined(void)
{
    lua_fails("return function(s) return respnse == s.answer and 1 or 0 end",
              "r.lua:1: 'respnse' is not defined" WHO,
              "did you mean the sample's field 'response'?");
    lua_fails("return function(s)\nlocal number = 1\nreturn nubmer end",
              "r.lua:3: 'nubmer' is not defined" WHO, "did you mean 'number'?");
    lua_fails("limit = 3\nreturn function(s) return limt end",
              "r.lua:2: 'limt' is not defined" WHO, "did you mean 'limit'?");
    lua_fails("return function(s) return tonumbr(s.response) end",
              "r.lua:1: 'tonumbr' is not defined" WHO,
              "did you mean 'tonumber'?");
    lua_fails("limit = limit or 3\nreturn function(s) return limit end",
              "r.lua:1: 'limit' is not defined", NULL);
    lua_fails("return function(s) return _G['y' .. 'zzzzy'] end",
              "r.lua:1: 'yzzzzy' is not defined" WHO,
              "give it a value first, as in: local x = 0; a text stands in "
              "quotes");
    lua_gives("return tostring(rawget(_G, 'limit'))", "nil");
    lua_gives("return tostring(pcall(load('return nowhere')))", "false");
    lua_gives("return tostring(load('return nowhere', 'c', 't', {})())", "nil");
    lua_gives("return tostring(pcall(function() return _G[('x'):rep(1e6)] "
              "end))",
              "false");
}

/* Checks that a function with more formals than it is given is refused: they
 * would be nil, and nil == nil. */
static void
test_formals(void)
{
    lua_fails("return\nfunction(prompt, response, truth) return response == "
              "truth and 1 or 0 end",
              "r.lua:2: the function takes 3 arguments (prompt, response, "
              "truth), and is called with one: the sample, a table",
              "write function(sample): prompt, response and the fields of the "
              "data row are its fields, as in sample.response");
    outcome out = lua_run((setup){0}, "return function(...) return 1 end");
    is_int((int)out.number, 1, "any number of arguments is right");
    out = lua_run((setup){0}, "return function() return 2 end");
    is_int((int)out.number, 2, "none too");
}

#define LIBRARY                                                                \
    "tables of the library cannot be changed, in the file or in a call: keep " \
    "what is yours in a local or in a table of your own"

static void
test_frozen(void)
{
    lua_fails("return function(s)\n\n count = 1 return 1 end",
              "r.lua:3: assignment to global 'count' after loading" WHO, KEEP);
    lua_fails("count = 0\nreturn function(s) count = count + 1 return 1 end",
              "r.lua:2: assignment to global 'count' after loading" WHO, KEEP);
    lua_fails("return function(s) string.x = 1 end",
              "r.lua:1: assignment to field 'x' of 'string', a table of the "
              "library" WHO,
              LIBRARY);
    lua_fails("string.x = 1\nreturn function(s) end",
              "r.lua:1: assignment to field 'x' of 'string', a table of the "
              "library",
              LIBRARY);
    lua_fails("local m = require('math')\nm[1] = 1\nreturn function(s) end",
              "r.lua:2: assignment to an element of 'math', a table of the "
              "library",
              LIBRARY);
    lua_fails("rawset(rlf, 'trim', type)\nreturn function(s) end",
              "r.lua:1: rawset on 'rlf', a table of the library", LIBRARY);
    lua_fails("setmetatable(table, {})\nreturn function(s) end",
              "r.lua:1: setmetatable on 'table', a table of the library",
              LIBRARY);
    lua_fails("local t = {a = {}}\nreturn function(s) t.a[1] = 5 end",
              "r.lua:2: assignment to an element of a table that was made at "
              "file level" WHO,
              KEEP);
    lua_fails("local t = {}\nreturn function(s) table.insert(t, 5) end",
              "r.lua:2: assignment to an element of a table that was made at "
              "file level" WHO,
              KEEP);
    lua_fails("local t = {}\nreturn function(s) rawset(t, 1, 5) end",
              "r.lua:2: rawset on a table that was made at file level" WHO,
              KEEP);
    lua_fails(
        "local t = {}\nreturn function(s) setmetatable(t, {}) end",
        "r.lua:2: setmetatable on a table that was made at file level" WHO,
        KEEP);
    lua_fails(
        "local n = 0\nlocal function up() n = n + 1 end\n"
        "return function(s) up() return n end",
        "r.lua:3: the call changed 'n', a variable outside the function" WHO,
        "a call may leave nothing behind for the next one: keep 'n' in a "
        "local inside the function");
    lua_fails(
        "local n = 1\nreturn function(s) n = 1.0 return n end",
        "r.lua:2: the call changed 'n', a variable outside the function" WHO,
        NULL);
    lua_fails("local co = coroutine.create(function() end)\n"
              "return function(s) return coroutine.status(co) end",
              "r.lua: a coroutine is kept at file level, and would keep its "
              "state from "
              "call to call",
              NULL);
    lua_fails("local it = ('a b'):gmatch('%w')\nreturn function(s) it() end",
              "r.lua: an iterator (of pairs, gmatch or coroutine.wrap) is kept "
              "at file "
              "level, and would keep its state from call to call",
              NULL);
}

/* A changed variable is put back, so the next call sees the file as loaded. */
static void
test_restored(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    outcome out = {.err = RLF_ERR_NONE};
    setup s = {0};
    if (lua_open(arena, &s,
                 "local n, m = 5, 0/0\n"
                 "return function(s) n = n + 1; error('n is ' .. n) end",
                 &out.err, &host) < 0)
        bail("%s", out.err.sentence);
    for (int i = 0; i < 3; i++) {
        lua_again(host, arena, &out);
        is_str(out.err.sentence, "r.lua:2: n is 6" WHO,
               "the variable is as it was loaded");
    }
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* Frozen tables read as before. */
static void
test_frozen_reads(void)
{
    static const char source[] =
        "local list = {10, 20, 30, x = 'y', [4.5] = 'h'}\n"
        "local Point = {} Point.__index = Point\n"
        "Point.__add = function(a, b) return Point.new(a.x + b.x) end\n"
        "Point.__eq = function(a, b) return a.x == b.x end\n"
        "Point.__tostring = function(a) return 'P' .. a.x end\n"
        "function Point.new(x) return setmetatable({x = x}, Point) end\n"
        "function Point:twice() return self.x * 2 end\n"
        "local Sub = setmetatable({}, {__index = Point})\n"
        "Sub.__index = Sub\n"
        "local origin = Point.new(1)\n"
        "local lazy = setmetatable({a = 1}, {__index = function(t, k)\n"
        "  return k .. '!' end, __len = function() return 77 end,\n"
        "  __call = function(self, v) return v + self.a end})\n"
        "local set = {[origin] = 'key'}\n"
        "function helper(x) return x + 1 end\n"
        "return function(s)\n"
        "  local out = {}\n"
        "  local function add(x) out[#out + 1] = tostring(x) end\n"
        "  for k, v in pairs(list) do add(k) add(v) end\n"
        "  add(#list) add(rawlen(list)) add(rawget(list, 'x'))\n"
        "  add(table.concat(list, '+')) add(select('#', table.unpack(list)))\n"
        "  for i, v in ipairs(list) do add(v) end\n"
        "  local p = Point.new(5)\n"
        "  add(p:twice()) add(p + origin) add(origin:twice()) add(origin)\n"
        "  add(p == Point.new(5)) add(getmetatable(p) == Point)\n"
        "  add(getmetatable(origin) == Point) add(Sub.new(3):twice())\n"
        "  add(lazy.a) add(lazy.b) add(#lazy) add(lazy(41)) add(set[origin])\n"
        "  add(helper(1)) add(('x'):rep(3)) add(_G.helper == helper)\n"
        "  add(getmetatable('')) add(getmetatable(list)) add(rawget(_G, "
        "'next'))\n"
        "  local sub = setmetatable({x = 9}, Sub)\n"
        "  add(sub:twice())\n"
        "  return table.concat(out, ' ')\n"
        "end\n";
    outcome out = lua_run((setup){.text = true}, source);
    is_str(out.status < 0 ? out.err.sentence : out.text,
           "1 10 2 20 3 30 4.5 h x y 3 3 y 10+20+30 3 10 20 30 10 P6 2 P1 true "
           "true true 6 1 b! 77 42 key 2 xxx true false nil nil 18",
           "frozen tables, classes and objects read as they were made");
}

static void
test_pairs(void)
{
    lua_gives(
        "local t = {} for i = 1, 9 do t['k' .. (i * 7 % 10)] = i end\n"
        "local o = '' for k in pairs(t) do o = o .. k .. ' ' end return o",
        "k1 k2 k3 k4 k5 k6 k7 k8 k9 ");
    lua_gives("local t = {[true] = 1, [false] = 2, b = 3, a = 4, [-1] = 5, "
              "[2.5] = 6, 'x', 'y', [1e300] = 7, [math.mininteger] = 8, "
              "[-1e300] = 9, ['a\\0'] = 1, [''] = 1, [2^53] = 10, aa = 1}\n"
              "local o = {} for k in pairs(t) do o[#o + 1] = "
              "tostring(k):gsub('%z', '0') end return table.concat(o, ' ')",
              "-1e+300 -9223372036854775808 -1 1 2 2.5 9007199254740992 1e+300"
              "  a a0 aa b false true");
    lua_gives("local t, o = {a = 1, b = 2, c = 3}, ''\n"
              "for k in pairs(t) do o = o .. k t.b = nil end return o",
              "ac");
    lua_gives("local o = '' for k, v in pairs(s) do o = o .. k .. ' ' end "
              "return o",
              "answer finished grade length pieces prompt response tokens ");
    lua_gives(
        "local t = setmetatable({}, {__pairs = function() return "
        "function(_, k) return not k and 1 or nil, 'v' end end})\n"
        "local o = '' for k, v in pairs(t) do o = o .. k .. v end return o",
        "1v");
    lua_gives("local t = {[1.5] = 'a', [1] = 'b', [-1.5] = 'c', [2] = 'd', "
              "[1 / 0] = 'e', [-1 / 0] = 'f', [2^53 + 2] = 'g', "
              "[math.maxinteger] = 'h', [2^63] = 'i', [0.1] = 'j'}\n"
              "local o = '' for _, v in pairs(t) do o = o .. v end return o",
              "fcjbadghie");
    static const char *const unordered[][2] = {
        {"{}", "table"},
        {"pairs", "function"},
        {"function() end", "function"},
        {"coroutine.create(pairs)", "thread"}};
    for (size_t i = 0; i < RLF_COUNT(unordered); i++) {
        char code[128], text[128];
        snprintf(code, sizeof code,
                 "return function(s) for k in pairs({[%s] = 1}) do end end",
                 unordered[i][0]);
        snprintf(text, sizeof text,
                 "r.lua:1: a table with a %s as a key has no fixed order" WHO,
                 unordered[i][1]);
        lua_fails(code, text, "give the entries numbers or texts as keys");
    }
    lua_gives("return tostring(pcall(pairs, nil))", "false");
}

static void
test_texts(void)
{
    lua_gives("return tostring({}) .. tostring(nil) .. tostring(pairs) .. "
              "tostring(coroutine.create(pairs))",
              "tablenilfunctionthread");
    lua_gives("return string.format('%s %5s %-7s| %d %q %.3f %%', {}, pairs, "
              "'ab', 7, 'q', 1/3)",
              "table function ab     | 7 \"q\" 0.333 %");
    lua_gives("return string.format('%s', setmetatable({}, {__tostring = "
              "function() return 'me' end}))",
              "me");
    lua_gives("return tostring(setmetatable({}, {__name = 'kind'}))", "kind");
    lua_gives("return string.format('%s %s ', 0.1, 1e300) .. "
              "tostring(22451251.999999996) .. ' ' .. tostring(0.1 + 0.2) .. "
              "' ' .. tostring(-1/3) .. ' ' .. tostring(2.0) .. ' ' .. "
              "tostring(1/0)",
              "0.1 1e+300 22451251.999999996 0.30000000000000004 "
              "-0.3333333333333333 2.0 inf");
    lua_gives("return select(2, pcall(string.format, '%p', {}))",
              "%p is not there: addresses differ from run to run");
    lua_gives("return select(2, pcall(string.format, '%s %p', 1, {}))",
              "%p is not there: addresses differ from run to run");
    lua_gives("return select(2, pcall(string.format, '%y', 1))",
              "invalid conversion '%y' to 'format'");
    lua_gives("return select(2, pcall(string.format, '%s'))",
              "bad argument #2 to 'string.format' (no value)");
    lua_gives("return select(2, pcall(error, {}) )\n and 'a table' or ''",
              "a table");
    lua_gives("return tostring(select(2, pcall(load, '\\27Lua')))", "nil");
    lua_gives("return select(2, load('\\27Lua', 'c'))",
              "attempt to load a binary chunk (mode is 't')");
    lua_gives("return load('return 1 + 1, type(pairs)')() .. ''", "2");
    lua_gives("return load('return x', 'c', 't', {x = 'mine'})()", "mine");
    lua_gives("return select(2, pcall(load('y = 1', '=c')))",
              "c:1: assignment to global 'y' after loading\nhint: " KEEP);
}

/* Checks that functions of other languages which Lua does not have get a hint
 * with Lua's own way to write them. */
static void
test_habits(void)
{
    static const char *const bad[][3] = {
        {"return float('1')", "'float' is not defined",
         "the number of a text is tonumber(x), or nil if it is none"},
        {"return len(s)", "'len' is not defined",
         "the length of a text or an array is #x"},
        {"return max(1, 2)", "'max' is not defined", "it is math.max"},
        {"return trim('a')", "'trim' is not defined", "it is rlf.trim"},
        {"return answer.score(1)", "'answer' is not defined",
         "load it at the top of the file: local answer = require(\"answer\")"},
        {"return re.match('a', 'b')", "'re' is not defined",
         "string patterns are s:match(p) and s:find(p); regular expressions "
         "are rlf.regex(p):match(s)"},
        {"return ('a'):strip()", "a text has nothing called 'strip'",
         "white space goes by rlf.trim(s)"},
        {"return rlf.strip('a')", "attempt to call a nil value (field 'strip')",
         "white space goes by rlf.trim(s)"},
        {"return ('a'):split(',')", "a text has nothing called 'split'",
         "parts are rlf.split(s, \",\"), words rlf.words(s)"},
        {"for w in 'a b' do end",
         "attempt to call a string value (for iterator 'for iterator')",
         "words of a text are walked by for w in s:gmatch(\"%S+\") do ... end"},
        {"return 1 if s else 2", "'end' expected near 'if'",
         "a choice of values is c and a or b"},
        {"if 'a' in s then end", "'then' expected near 'in'",
         "a text is looked for by s:find(text, 1, true); a loop is for i, x in "
         "ipairs(list) do ... end"},
        {"if s then return 1 elif s then return 2 end",
         "'end' expected near 'elif'", "Lua writes elseif"},
        {"return lambda x: 1", "'end' expected near 'x'",
         "a function as a value is function(x) return ... end"},
        {"import re", "syntax error near 're'",
         "a module is loaded by: local m = require(\"name\")"},
        {"local f = function(x): return 1 end", "unexpected symbol near ':'",
         "no ':' follows a head: function(x) ... end, if c then ... end"},
        {"// add", "unexpected symbol near '//'", "a comment begins with --"},
    };
    for (size_t i = 0; i < RLF_COUNT(bad); i++) {
        bool syntax = strstr(bad[i][1], " near ") != NULL;
        char code[200], text[200];
        snprintf(code, sizeof code, "return function(s) %s end", bad[i][0]);
        snprintf(text, sizeof text, "r.lua:1: %s%s", bad[i][1],
                 syntax ? "" : WHO);
        lua_fails(code, text, bad[i][2]);
    }
    lua_fails("local x = max(1, 2)\nreturn function(s) return x end",
              "r.lua:1: 'max' is not defined", "it is math.max");
    lua_fails("def f(s):\n  return 1", "r.lua:1: syntax error near 'f'",
              "a function is: function f(x) ... end");
}

static void
test_metatables(void)
{
    lua_fails(
        "return function(s) setmetatable({}, {__gc = pairs}) end",
        "r.lua:1: finalizers (__gc) are not allowed: when they run depends "
        "on memory" WHO,
        NULL);
    lua_fails("return function(s) setmetatable({}, {__mode = 'k'}) end",
              "r.lua:1: weak tables (__mode) are not allowed: what they hold "
              "depends on memory" WHO,
              NULL);
    lua_fails("return function(s) local m = {} setmetatable({}, m) "
              "m.__mode = 'v' return 1 end",
              "r.lua: __mode was set: weak tables are not allowed" WHO, NULL);
    lua_fails("local m = {} t = setmetatable({}, m) m.__mode = 'v'\n"
              "return function(s) return 1 end",
              "r.lua: __mode was set: weak tables are not allowed", NULL);
    lua_gives(
        "return tostring(getmetatable(s)) .. tostring(pcall(setmetatable, "
        "s, {}))",
        "falsefalse");
    lua_gives("return tostring(getmetatable(''))", "false");
}

static void
test_require(void)
{
    outcome out;
    lua_gives("return tostring(require('string') == string) .. "
              "tostring(require('rlf') == rlf)",
              "truetrue");
    lua_fails("return function(s) return require('other') end",
              "r.lua:1: require 'other' after the file was loaded" WHO,
              "write the require at the top of the file");
    lua_fails("\nlocal x = require('nowhere')",
              "r.lua:2: module 'nowhere' not found in .", NULL);
    lua_fails("require('../etc/passwd')",
              "r.lua:1: '../etc/passwd' is no name of a module: names have "
              "letters, digits, _ and -, and dots for folders",
              NULL);
    char dir[] = "/tmp/rlf-lua-XXXXXX", path[64];
    if (!mkdtemp(dir))
        bail("mkdtemp");
    snprintf(path, sizeof path, "%s/mine.lua", dir);
    FILE *f = fopen(path, "w");
    fprintf(f, "\xef\xbb\xbf"
               "local m = {name = ..., n = 0}\n"
               "function m.up() m.n = m.n + 1 return m.n end\n"
               "local ring = pcall(require, 'mine')\n"
               "m.ring = ring\nreturn m\n");
    fclose(f);
    out = lua_run((setup){.text = true, .dir = dir},
                  "local m = require('mine')\n"
                  "return function(s) return m.name .. tostring(m.ring) .. "
                  "tostring(require('mine') == m) end");
    is_str(out.text, "minefalsetrue", "modules are found and loaded once");
    out = lua_run((setup){.dir = dir}, "local m = require('mine')\n"
                                       "return function(s) return m.up() end");
    is_str(out.err.sentence,
           "std/mine.lua:2: assignment to field 'n' of a table that was made "
           "at file level" WHO,
           "modules are frozen, and messages name their lines");
    remove(path);
    remove(dir);
}

static void
test_loading(void)
{
    lua_fails("return 3",
              "r.lua: the file returned a number, but a function is wanted",
              "end it with: return function(sample) ... end");
    lua_fails("x = 1",
              "r.lua: the file returned nothing, but a function is wanted",
              "end it with: return function(sample) ... end");
    lua_fails("return function(s)\n return 1 +\nend",
              "r.lua:3: unexpected symbol near 'end'", NULL);
    lua_fails("local a = nil\nlocal b = a.b\nreturn function() end",
              "r.lua:2: attempt to index a nil value (local 'a')", NULL);
    lua_fails("getmetatable('').__index = 1",
              "r.lua:1: attempt to index a boolean value",
              "true and false have no fields; a metatable that is kept from "
              "the program, as that of texts, is given as false");
    lua_fails("\x1bLua", "r.lua: attempt to load a binary chunk (mode is 't')",
              NULL);
    lua_fails("return function(s) error('my own') end", "r.lua:1: my own" WHO,
              NULL);
    lua_fails("return function(s) error('bare', 0) end", "r.lua:1: bare" WHO,
              NULL);
    lua_fails("return function(s) error({}) end",
              "r.lua:1: an error that is a table, not a text" WHO, NULL);
    lua_fails("return function(s) error() end",
              "r.lua:1: an error without a message: it is nil" WHO,
              "say what is wrong: error(\"...\")");
    lua_fails("\xef\xbb\xbf# a comment\nreturn function(s) error('x') end",
              "r.lua:2: x" WHO, NULL);
    lua_fails(
        "return function(s) return s.respone:match('a') end",
        "r.lua:1: the sample has no field 'respone'" WHO,
        "did you mean 'response'? It has prompt, response, answer, grade, "
        "length, finished, tokens, pieces");
    lua_fails("local x = math.random()\nreturn function(s) end",
              "r.lua:1: math.random is called without a sample", NULL);
    lua_fails("return function(s) error('a\\0b\\27[2J\\tc', 0) end",
              "r.lua:1: a\\000b\\027[2J\tc" WHO, NULL);
    lua_fails("return function(s) error('a\\0b') end", "r.lua:1: a\\000b" WHO,
              NULL);
    outcome out = lua_run((setup){0}, "return function(s) error('one\\ntwo') "
                                      "end");
    is_str(out.err.sentence, "r.lua:1: one" WHO, "the sentence is one line");
    ok(strncmp(out.err.detail, "two\nstack traceback:", 20) == 0,
       "the other lines are detail");
    out = lua_run((setup){0}, "return function(s) error(('x'):rep(5000)) end");
    ok(strstr(out.err.sentence, "xxx..." WHO) != NULL,
       "a long message is cut, and the sample still named");
    bool whole = true;
    for (int before = 0; before < 4; before++) {
        char source[128];
        snprintf(source, sizeof source,
                 "return function(s) error(('x'):rep(%d) .. "
                 "('\u20ac'):rep(5000), 0) end",
                 before);
        out = lua_run((setup){0}, source);
        for (const char *p = out.err.sentence; *p && whole;
             p += rlf_str_utf8(p, strlen(p)))
            whole = rlf_str_utf8(p, strlen(p)) > 0;
        whole = whole && strstr(out.err.sentence, "\u20ac..." WHO);
    }
    ok(whole, "... at the end of a character");
    out = lua_run((setup){0},
                  "#!/usr/bin/rlflow\nreturn function(s)\n"
                  "  local f = function() local t = {} t.x.y = 1 end\n"
                  "  f()\nend");
    is_str(out.err.detail,
           "stack traceback:\n"
           "\tr.lua:3: in local 'f'\n"
           "\tr.lua:4: in function <r.lua:2>",
           "the traceback is the detail");
    const char *longer = "a/very/long/path/of/more/than/sixty/characters/"
                         "in/all/rewards/arith.lua";
    char want[256];
    out = lua_run((setup){.path = longer},
                  "return function(s)\n local t = {} t.x.y = 1 end");
    snprintf(want, sizeof want,
             "%s:2: attempt to index a nil value (field 'x')" WHO, longer);
    is_str(out.err.sentence, want, "long paths are not shortened");
    rlf_lua_spec spec = {.path = "no/such/file.lua"};
    const rlf_lua_program *program;
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    is_int(rlf_lua_program_open(arena, &spec, &err, &program), RLF_USER,
           "a file that is not there");
    ok(strstr(err.sentence, "no/such/file.lua") != NULL, "is named: %s",
       err.sentence);
    rlf_arena_free(arena);
}

static void
test_coroutines(void)
{
    lua_gives("local f = coroutine.wrap(function(a) local b = "
              "coroutine.yield(a + 1) error('x' .. b) end)\n"
              "return f(1) .. tostring(select(2, pcall(f, 7)))",
              "2r.lua:2: x7");
    lua_gives("local co = coroutine.create(function(a) local ok, e = "
              "pcall(function() coroutine.yield(a) error('e', 0) end) return e "
              "end)\n"
              "local _, a = coroutine.resume(co, 4)\n"
              "local _, b = coroutine.resume(co)\n"
              "return a .. b .. coroutine.status(co) .. "
              "tostring(coroutine.resume(co))",
              "4edeadfalse");
    lua_gives("local co = coroutine.create(function() local x <close> = "
              "setmetatable({}, {__close = function() error('c', 0) end}) "
              "coroutine.yield() end)\ncoroutine.resume(co)\n"
              "return select(2, coroutine.close(co))",
              "c");
    lua_gives("return select(2, xpcall(function() error('a', 0) end, "
              "function(e) return e .. 'b' end))",
              "ab");
    lua_gives("return table.concat({xpcall(function(...) return ... end, "
              "tostring, 1, 2)}, ',', 2)",
              "1,2");
    lua_gives("return table.concat({pcall(function(...) return ... end, 1, 2)},"
              " ',', 2)",
              "1,2");
}

static void
test_sort(void)
{
    lua_gives("local t = {} for i = 1, 200 do t[i] = {i * 37 % 10, i} end\n"
              "table.sort(t, function(a, b) return a[1] < b[1] end)\n"
              "for i = 2, 200 do local a, b = t[i - 1], t[i]\n"
              " if a[1] > b[1] or a[1] == b[1] and a[2] > b[2] then return "
              "'unstable' end end return 'stable'",
              "stable");
    lua_gives("local t = {3, 1, 2.5, -1, 10} table.sort(t) return "
              "table.concat(t, ' ')",
              "-1 1 2.5 3 10");
    lua_gives(
        "local t = {'b', 'a', 'C', ''} table.sort(t, function(a, b) return "
        "a > b end) return table.concat(t, ' ')",
        "b a C ");
    lua_gives("return select(2, pcall(table.sort, {1, 'a'}))",
              "attempt to compare string with number");
}

/* Odd corners, each of which ends as a Lua programmer expects. */
static void
test_corners(void)
{
    outcome out =
        lua_run((setup){0}, "setmetatable(_G, {__index = function(_, k) "
                            "error('undefined ' .. k, 2) end})\n"
                            "return function(s) return nowhere end");
    is_str(out.err.sentence, "r.lua:2: undefined nowhere" WHO,
           "a file may make undefined globals an error");
    out = lua_run((setup){0}, "setmetatable(_G, {__index = {zz = 3}})\n"
                              "return function(s) return zz end");
    is_int((int)out.number, 3, "or give them values");
    lua_fails("local A = {}\nlocal B = setmetatable({}, A)\n"
              "setmetatable(A, B) A.__index = B B.__index = A\n"
              "return function(s) return B.x end",
              "r.lua:4: '__index' chain too long; possible loop" WHO, NULL);
    lua_fails("return function(s) coroutine.yield(1) end",
              "r.lua:1: attempt to yield from outside a coroutine" WHO, NULL);
    lua_fails("local t = {3, 1, 2}\nreturn function(s) table.sort(t) end",
              "r.lua:2: assignment to an element of a table that was made at "
              "file level" WHO,
              KEEP);
    lua_gives("for k in pairs(s) do s[k] = nil end return 'done'", "done");
    lua_gives("local c = coroutine.wrap(function() for k in pairs(s) do "
              "coroutine.yield(k) end end) return c() .. c()",
              "answerfinished");
    lua_gives("local function f() return pcall(f) end f() return 'caught'",
              "caught");
    lua_gives("return tostring(load(('('):rep(100000)))", "nil");
    lua_gives("return tostring('10' + 1)", "11");
}

int
main(void)
{
    test_absent();
    test_undefined();
    test_formals();
    test_frozen();
    test_restored();
    test_frozen_reads();
    test_pairs();
    test_texts();
    test_habits();
    test_metatables();
    test_require();
    test_loading();
    test_coroutines();
    test_sort();
    test_corners();
    return done();
}
