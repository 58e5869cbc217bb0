/* Limits: every way around them ends the call with the right words, soon, and
 * the host goes on as if nothing had been; time ends the run and nothing else.
 */
#include "tests/unit/lua_run.h"

#include <time.h>

#define WHO " (prompt 12, sample 3, step 40)"

/* Of a processor: what else the machine does is not the hook's. */
static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
test_instructions(void)
{
    static const struct {
        const char *name, *body;
    } cases[] = {
        {"a loop", "while true do end"},
        {"a loop in pcall", "while true do pcall(function() while true do end "
                            "end) end"},
        {"pcall around pcall",
         "local function f() while true do pcall(f) end end pcall(f) "
         "while true do end"},
        {"xpcall with a loop in its handler",
         "xpcall(function() error('x') end, function() while true do end end) "
         "while true do xpcall(error, function() while true do end end) end"},
        {"a coroutine", "coroutine.wrap(function() while true do end end)()"},
        {"a coroutine resumed for ever",
         "while true do coroutine.resume(coroutine.create(function() while "
         "true "
         "do end end)) end"},
        {"coroutines made for ever",
         "while true do coroutine.wrap(function() end)() end"},
        {"a coroutine in pcall in a coroutine",
         "local w = coroutine.wrap(function() pcall(coroutine.wrap(function() "
         "pcall(function() while true do end end) while true do end end)) "
         "while true do end end) while true do pcall(w) end"},
        {"a <close> variable that loops", "local x <close> = setmetatable({}, "
                                          "{__close = function() while true do "
                                          "end end}) while true do end"},
        {"coroutine.close with a loop",
         "while true do local co = coroutine.create(function() local x <close> "
         "= "
         "setmetatable({}, {__close = function() while true do end end}) "
         "coroutine.yield() end) coroutine.resume(co) coroutine.close(co) end"},
        {"a comparison in sort",
         "table.sort({3, 2, 1}, function() while true do end end)"},
        {"a metamethod",
         "local t = setmetatable({}, {__index = function(t, k) return t[k + 1] "
         "end}) while true do pcall(function() return t[1] end) end"},
        {"tostring",
         "return tostring(setmetatable({}, {__tostring = function() "
         "while true do end end}))"},
        {"gsub with a function",
         "return ('x'):rep(100):gsub('x', function() while true do end end)"},
        {"texts copied for ever",
         "local x = ('x'):rep(1e6) while true do x = x:upper():lower() end"},
        {"concatenation for ever",
         "local x = ('x'):rep(1e6) while true do local y = x .. 'y' end"},
        {"big sorts",
         "local t = {} for i = 1, 1e5 do t[i] = i end while true do "
         "table.sort(t) end"},
        {"inserts at the front",
         "local t = {} while true do table.insert(t, 1, 1) end"},
        {"unpack", "local t = {} for i = 1, 1e5 do t[i] = i end while true do "
                   "select('#', table.unpack(t)) end"},
        {"utf8.len", "local x = ('x'):rep(1e6) while true do utf8.len(x) end"},
        {"pairs", "local t = {} for i = 1, 1e5 do t[i] = i end while true do "
                  "pairs(t) end"},
        {"json", "local x = '[' .. ('1,'):rep(1e5) .. '1]' while true do "
                 "rlf.json_decode(x) end"},
        {"a regular expression",
         "return rlf.regex('(a+)+$'):match(('a'):rep(60) .. 'b')"},
        {"a regular expression in pcall",
         "while true do pcall(function() rlf.regex('(a|aa)+$'):match("
         "('a'):rep(60) .. 'b') end) end"},
        {"load", "while true do load(('x=1 '):rep(1e4)) end"},
        {"load of a chain of jumps", "load('x=a' .. (' or a'):rep(2e6))"},
        {"concat of what a C function gives",
         "table.concat(setmetatable({}, {__index = tostring, __name = ''}), "
         "'', 1, 1 << 62)"},
        {"concat of a lying __len",
         "table.concat(setmetatable({}, {__index = tostring, __name = '', "
         "__len = function() return 1 << 62 end}))"},
        {"insert with a lying __len",
         "table.insert(setmetatable({}, {__len = function() return 1 << 62 "
         "end, __index = rawequal, __newindex = rawequal}), 1, 1)"},
        {"remove with a __len that lies the second time",
         "local n = 0 while true do n = 0 "
         "table.remove(setmetatable({}, {__len = function() n = n + 1 return "
         "n > 1 and 1 << 62 or 9 end, __newindex = rawequal}), 1) end"},
        {"remove with a lying __len",
         "table.remove(setmetatable({}, {__len = function() return 1 << 62 "
         "end, __newindex = rawequal}), 1)"},
        {"move", "table.move(setmetatable({}, {__index = rawequal}), 1, "
                 "1 << 62, 2, setmetatable({}, {__newindex = rawequal}))"},
        {"move to itself", "table.move({}, 1, 1 << 62, 2)"},
        {"an iterator of pairs that finds nothing",
         "local t = {} for i = 1, 1e5 do t[i] = 1 end "
         "local f, u = pairs(t) for i = 1, 1e5 do t[i] = nil end "
         "for i = 1, 100 do f(u) end while true do end"},
        {"rep of nothing", "while true do string.rep('', 1 << 62) end"},
        {"a regular expression that repeats a character",
         "return rlf.regex('a*[^a]'):match(('a'):rep(300000))"},
        {"a regular expression that counts",
         "return rlf.regex('a{60000}b'):match(('a'):rep(300000) .. 'cb')"},
        {"a regular expression with a back reference",
         "return rlf.regex('(a*)\\\\1b'):match(('a'):rep(300000) .. 'cb')"},
        {"marks that combine",
         "return rlf.fold(('\\u{345}\\u{301}\\u{323}'):rep(2e5))"},
        {"a replacement of empty captures",
         "return ('x'):rep(1e5):gsub('()', ('%%'):rep(1e5))"},
        {"a set in a pattern",
         "local p = '[' .. ('a'):rep(1e6) .. ']' while true do (''):find(p) "
         "end"},
        {"a long plain pattern",
         "local p = ('a'):rep(1e6) while true do (''):find(p) end"},
        {"characters that continue",
         "local x = 'a' .. ('\\x80'):rep(1e6) local f = utf8.codes(x) "
         "while true do pcall(f, x, 1) end"},
        {"a number of many digits",
         "local x = ('1'):rep(1e6) while true do math.floor(x) end"},
        {"arithmetic on a text",
         "local x = ('1'):rep(1e6) while true do local y = x + 1 end"},
        {"a number of many digits in another base",
         "local x = ('1'):rep(1e6) while true do tonumber(x, 2) end"},
        {"%s with a precision",
         "local x = ('1'):rep(1e6) while true do ('%.1s'):format(x) end"},
        {"pack", "local x = (' '):rep(1e6) while true do string.pack(x) end"},
        {"select", "local function f(...) while true do local x = select('#', "
                   "...) end end f(table.unpack({}, 1, 1e5))"},
        {"pcall with many arguments",
         "local function f(...) while true do pcall(rawlen, ...) end end "
         "f(table.unpack({}, 1, 1e5))"},
        {"texts sorted",
         "local t = {} for i = 1, 500 do t[i] = ('x'):rep(1e4) .. i end "
         "while true do table.sort(t) end"},
        {"starts", "local x = ('x'):rep(1e6) while true do rlf.starts(x, x) "
                   "end"},
        {"one table many times in JSON",
         "local t = {} for i = 1, 90 do t = {t, t} end rlf.json_encode(t)"},
        {"a call that passes one argument more",
         "local function f(...) return f(1, ...) end return f()"},
        {"many arguments of what costs nothing",
         "local function f(...) while true do type(...) end end "
         "f(table.unpack({}, 1, 1e5))"},
        {"many arguments of what has no ...",
         "local function g() end local function f(...) while true do g(...) "
         "end end f(table.unpack({}, 1, 1e5))"},
        {"many arguments in a coroutine",
         "coroutine.wrap(function() local function f(...) return f(1, ...) end "
         "return f() end)()"},
        {"many results that are passed on",
         "local t = {} local function r(n) if n == 0 then return "
         "table.unpack(t, 1, 5e5) end return 1, r(n - 1) end "
         "while true do r(2000) end"},
        {"error as its own handler",
         "while true do xpcall(error, function(e) return xpcall(error, error) "
         "end) end"},
        {"error of a far level",
         "local function d(n) if n == 0 then while true do pcall(error, 'x', "
         "150000) end end return 1 + d(n - 1) end return d(150000)"},
        {"errors in deep recursion",
         "local function d(n) if n == 0 then while true do pcall(error) end "
         "end return 1 + d(n - 1) end return d(150000)"},
        {"keys that come and go",
         "local t = {} for i = 1, 65536 do t[i + 0.5] = 1 end local a = 1 "
         "while true do t[a + 0.5] = nil t[a + 65536.5] = 1 a = a + 1 end"},
        {"keys that come and go beside an array",
         "local t = {} for i = 1, 2e5 do t[i] = i end for i = 0, 3 do "
         "t[i + 0.5] = 1 end local a = 0 while true do t[a + 0.5] = nil "
         "t[a + 4.5] = 1 a = a + 1 end"},
        {"rawequal",
         "local x, y = ('x'):rep(1e6), ('x'):rep(1e6) while true do "
         "rawequal(x, y) end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[1024];
        /* a long time within Lua itself, which is built without sanitizers */
        if (quick() && strstr(cases[i].name, "beside an array"))
            continue;
        snprintf(source, sizeof source, "return function(s)\n%s\nend",
                 cases[i].body);
        double t = seconds();
        outcome out = lua_run((setup){.instructions = 1000000}, source);
        t = seconds() - t;
        bool good =
            ok(out.status == RLF_USER &&
                   strcmp(out.err.sentence,
                          "r.lua:2: more than 1000000 instructions" WHO) == 0 &&
                   t < 10,
               "instructions: %s", cases[i].name);
        if (!good || t > 1)
            note("status %d, %.2f s, %s", (int)out.status, t, out.err.sentence);
    }
}

/* A function with many variables of the one around it. */
static void
test_closure(void)
{
    char names[1024] = "a1", source[4096];
    for (int i = 2; i <= 150; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), ", a%d",
                 i);
    snprintf(source, sizeof source,
             "return function(s) local %s\nfor i = 1, 20000 do local f = "
             "function() return %s end end return 1 end",
             names, names);
    outcome out = lua_run((setup){.instructions = 1000000}, source);
    is_str(out.err.sentence, "r.lua:2: more than 1000000 instructions" WHO,
           "instructions: closures with many variables");
}

static void
test_memory(void)
{
    static const struct {
        const char *name, *body;
    } cases[] = {
        {"a table", "local t = {} for i = 1, 1e9 do t[i] = i end"},
        {"a table in pcall",
         "while true do pcall(function() local t = {} for i "
         "= 1, 1e9 do t[i] = i end end) end"},
        {"a table in a coroutine",
         "while true do coroutine.resume(coroutine.create(function() local t = "
         "{} for i = 1, 1e9 do t[i] = {} end end)) end"},
        {"string.rep", "return #('x'):rep(1e9)"},
        {"string.rep in pcall",
         "while true do pcall(string.rep, 'x', 1e9) end"},
        {"doubling", "local s = 'x' while true do s = s .. s end"},
        {"gsub", "local s = ('x'):rep(1e6) return s:gsub('x', s)"},
        {"concat",
         "local t = {} local s = ('x'):rep(1e6) for i = 1, 100 do t[i] "
         "= s end return table.concat(t)"},
        {"format",
         "local s = ('x'):rep(3e6) return #string.format('%s%s%s', s, "
         "s, s)"},
        {"a regular expression", "local t = {} for i = 1, 1e6 do t[i] = "
                                 "rlf.regex('a') end"},
        {"recursion", "local function f(x) return {f({x})} end return f(1)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[1024];
        snprintf(source, sizeof source, "return function(s)\n%s\nend",
                 cases[i].body);
        double t = seconds();
        outcome out = lua_run(
            (setup){.memory = 8 << 20, .instructions = 200000000}, source);
        t = seconds() - t;
        bool good = ok(out.status == RLF_USER &&
                           strcmp(out.err.sentence,
                                  "r.lua:2: more than 8 MB of memory" WHO) == 0,
                       "memory: %s", cases[i].name);
        if (!good || t > 1)
            note("status %d, %.2f s, %s", (int)out.status, t, out.err.sentence);
    }
    outcome out = lua_run((setup){.memory = 1000}, "return function() end");
    is_str(out.err.sentence, "r.lua: memory: 1000 bytes is too little",
           "a limit below what a state needs");
    out = lua_run((setup){.memory = 1 << 20},
                  "t = {} for i = 1, 1e6 do t[i] = i end");
    is_str(out.err.sentence, "r.lua:1: more than 1 MB of memory",
           "while loading");
}

/* A text may be as long as planned for, and is an error of the function beyond
 * that. */
static void
test_text(void)
{
    outcome out = lua_run((setup){.text = true, .most_text = 3},
                          "return function() return 'abc' end");
    is_str(out.text, "abc", "a text of as many bytes as there may be");
    out = lua_run((setup){.text = true, .most_text = 3},
                  "return function() return 'abcd' end");
    is_str(out.err.sentence,
           "r.lua:1: the result has 4 bytes, more than max_text: 3" WHO,
           "and one more");
    is_int(out.status, RLF_USER, "for which on_error: may stand in");
}

/* Errors that pcall may catch, it does. */
static void
test_caught(void)
{
    outcome out = lua_run((setup){.memory = 256 << 20, .text = true},
                          "local function f() return f() + 1 end\n"
                          "return function() return "
                          "(select(2, pcall(f)):match('stack overflow')) end");
    is_str(out.text, "stack overflow", "a stack overflow is an error to catch");
    lua_gives("local ok, e = pcall(error, 'x', 0) return e", "x");
    lua_gives("local s = string.rep return tostring(pcall(function() local x = "
              "nil + 1 end))",
              "false");
}

/* Time is an error of the machine, which nothing may turn into a result. */
static void
test_time(void)
{
    double t = seconds();
    outcome out = lua_run((setup){.time = 0.05, .instructions = 1u << 30},
                          "return function(s)\n while true do pcall(function() "
                          "while true do end end) end\nend");
    t = seconds() - t;
    is_int(out.status, RLF_ENV, "time is RLF_ENV");
    ok(!rlf_lua_forgivable(out.status), "on_error: does not apply to it");
    is_str(out.err.sentence, "r.lua:2: more than 0.05 s of wall-clock time" WHO,
           "time says so");
    ok(strstr(out.err.hint, "--resume") != NULL, "and how to go on: %s",
       out.err.hint);
    ok(t < 5, "soon");
    out =
        lua_run((setup){.time = 0.05, .instructions = 1u << 30},
                "return function(s)\nreturn ('a'):rep(40):find(('a?'):rep(40) "
                ".. ('a'):rep(40)) end");
    is_int(out.status, RLF_ENV, "time holds in a pattern");
    out = lua_run((setup){.time = 0.05},
                  "while true do end return function(s) return 1 end");
    is_int(out.status, RLF_ENV, "time holds while loading");
}

typedef struct wait {
    int asked;
    double taken;
} wait;

static rlf_status
ends(void *arg, double seconds)
{
    wait *w = arg;
    w->asked++;
    w->taken += seconds;
    return w->taken > (quick() ? 0.05 : 0.15) ? RLF_STOPPED : RLF_OK;
}

/* Checks the time limit where one instruction of the VM takes long: it is not
 * charged by its length, so the clock is looked at more often the longer the
 * texts are. */
static void
test_time_in_one_instruction(void)
{
    static const struct {
        const char *name, *body;
    } cases[] = {
        {"texts of zeros compared",
         "local x = ('\\0'):rep(8e6) local y = x .. 'a' while true do local z "
         "= x < y end"},
        {"equal texts",
         "local x, y = ('x'):rep(8e6), ('x'):rep(8e6) while true do local z = "
         "x == y end"},
        {"a long key",
         "local x, y = ('x'):rep(8e6), ('x'):rep(8e6) local t = {[x] = 1} "
         "while true do local z = t[y] end"},
        {"in a coroutine",
         "local x, y = ('x'):rep(8e6), ('x'):rep(8e6)\n"
         "coroutine.wrap(function() while true do local z = x == y end end)()"},
        {"in pcall",
         "local x, y = ('x'):rep(8e6), ('x'):rep(8e6)\n"
         "while true do pcall(function() while true do local z = x == y end "
         "end) end"},
        {"varargs", "local function f(...) while true do local x = {...} end "
                    "end f(table.unpack({}, 1, 1e5))"},
        {"a regular expression",
         "return rlf.regex('(a|aa)+$'):match(('a'):rep(3000) .. 'b')"},
        {"an emptied table",
         "local t = {} for i = 1, 1e6 do t[i] = 1 end for i "
         "= 1, 1e6 do t[i] = nil end while true do pairs(t) "
         "end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char source[1024];
        snprintf(source, sizeof source, "return function(s)\n%s\nend",
                 cases[i].body);
        double t = seconds();
        outcome out = lua_run((setup){.time = quick() ? 0.1 : 0.3,
                                      .instructions = (uint64_t)1 << 40},
                              source);
        t = seconds() - t;
        bool good = ok(out.status == RLF_ENV && t < 10 &&
                           strstr(out.err.sentence, "wall-clock time" WHO) &&
                           strncmp(out.err.sentence, "r.lua:", 6) == 0,
                       "time holds for %s", cases[i].name);
        if (!good || t > 1)
            note("status %d, %.2f s, %s", (int)out.status, t, out.err.sentence);
        /* and the run's end, long before the time is over */
        wait w = {0};
        t = seconds();
        out = lua_run((setup){.time = 600,
                              .instructions = (uint64_t)1 << 40,
                              .options = {.stops = ends, .stops_arg = &w}},
                      source);
        t = seconds() - t;
        if (!ok(out.status == RLF_STOPPED && t < 10 && w.asked > 0 &&
                    !rlf_lua_forgivable(out.status) &&
                    strstr(out.err.sentence, "when the run was to end" WHO),
                "so does the end of the run"))
            note("status %d, %.2f s, %s", (int)out.status, t, out.err.sentence);
    }
}

/* Calls that each end soon enough, but are many: what they take is added up,
 * and what the same call takes that is made again. */
static void
test_end_of_many(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    outcome out = {.err = RLF_ERR_NONE};
    wait w = {0};
    setup s = {.time = 600,
               .instructions = 1000000,
               .options = {.stops = ends, .stops_arg = &w}};
    if (lua_open(arena, &s, "return function(s) while true do end end",
                 &out.err, &host) < 0)
        bail("%s", out.err.sentence);
    int calls = 0;
    do
        lua_again(host, arena, &out);
    while (++calls < 2000 && out.status == RLF_USER);
    is_int(out.status, RLF_STOPPED, "the end of the run ends the last of many");
    note("after %d calls", calls);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* Checks that a hook whose result depends on the seed of Lua's hash is found,
 * and that one which only does what a call may do is not. */
static void
test_pure(void)
{
    /* deleted and new keys: how a table grows depends on where they hash */
    static const char holes[] =
        "return function(s)\n"
        "  local h, x = 0, 1\n"
        "  local function rnd(n)\n"
        "    x = (x * 1103515245 + 12345) % 2147483648 return x // 65536 % n\n"
        "  end\n"
        "  for k = 1, 200 do\n"
        "    local t = {}\n"
        "    for i = 1, 60 do\n"
        "      local a = rnd(3)\n"
        "      if a == 0 then t['k' .. rnd(20)] = i\n"
        "      elseif a == 1 then t['k' .. rnd(20)] = nil\n"
        "      else local j = rnd(24) + 1 t[j] = rnd(3) > 0 and i or nil end\n"
        "    end\n"
        "    h = (h * 31 + #t) % 1000000007\n"
        "  end\n"
        "  return h\n"
        "end\n";
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    outcome out = {.err = RLF_ERR_NONE};
    setup s = {0};
    if (lua_open(arena, &s, holes, &out.err, &host) < 0)
        bail("%s", out.err.sentence);
    for (int i = 0; i < 64 && out.status >= 0; i++)
        lua_again(host, arena, &out);
    is_int(out.status, RLF_IMPURE, "#t of tables with holes is found");
    ok(!rlf_lua_forgivable(out.status), "and on_error: does not apply");
    ok(strncmp(out.err.sentence, "r.lua:1: the function gave ", 27) == 0 &&
           strstr(out.err.sentence, "when it was called again" WHO),
       "hook and sample are named: %s", out.err.sentence);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* Checks that neither the garbage of earlier calls nor the path of the file
 * changes a call: it sees the same work of the collector, and the same memory
 * that is left. */
static void
test_nothing_before(void)
{
    static const char source[] =
        "return function(s)\n"
        "  if s.grade == 0 then\n" /* garbage, and a stack that grew */
        "    local t = {} for i = 1, 3000 do t[i] = {('x'):rep(300)} end\n"
        "    local function f(n) return n == 0 and 0 or 1 + f(n - 1) end\n"
        "    return f(5000) end\n"
        "  local m, sum = {}, 0\n"
        "  local t = setmetatable({}, m) m.__mode = 'k'\n"
        "  for i = 1, 40000 do t[{}] = i end\n"
        "  m.__mode = nil\n"
        "  for k = 1, 20000 do local x = {k} end\n"
        "  local keep = {}\n"
        "  for i = 1, 60 do\n"
        "    local ok = pcall(table.unpack, {}, 1, 7000 * i)\n"
        "    sum = sum * 2 % 1000003 + (ok and 1 or 0)\n"
        "    keep[i] = ('x'):rep(50000)\n"
        "  end\n"
        "  return sum + #select(2, pcall(error, 'x', 2))\n"
        "end\n";
    static const char *const paths[] = {"r.lua", "a/longer/way/to/r.lua"};
    enum { CALLS = 3 };
    int calls = quick() ? 2 : CALLS;
    rlf_arena *arena = rlf_arena_new();
    rlf_status status[2][CALLS];
    double number[2][CALLS] = {{0}};
    for (int h = 0; h < 2; h++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_lua_host *host = NULL;
        setup s = {.path = paths[h], .memory = 8 << 20};
        if (lua_open(arena, &s, source, &err, &host) < 0)
            bail("%s", err.sentence);
        for (int k = 0; k < calls; k++)
            for (int before = h ? k : 0; before >= 0; before--) {
                rlf_lua_field f = {.name = "grade",
                                   .kind = RLF_LUA_NUMBER,
                                   .number = before ? 0 : k + 1};
                rlf_lua_sample sample = lua_run_sample;
                sample.fields = &f;
                sample.n_fields = 1;
                rlf_lua_value value = {0};
                rlf_err_clear(&err);
                status[h][k] =
                    rlf_lua_call(host, &sample, 1, arena, &err, &value);
                number[h][k] = value.number;
            }
        rlf_lua_host_free(host);
    }
    is_bits(status[0], status[1], (size_t)calls, sizeof **status,
            "calls end as they do without any before");
    is_bits(number[0], number[1], (size_t)calls, sizeof **number,
            "and give the same bits");
    rlf_arena_free(arena);
    static const char text[] =
        "return function(s) return select(2, pcall(error, 'x')) .. "
        "select(2, pcall(function() local y = nil + 1 end)) end";
    outcome one = lua_run((setup){.text = true}, text);
    outcome two =
        lua_run((setup){.text = true, .path = "a/longer/way/r.lua"}, text);
    is_str(one.text, two.text, "no message has the folder");
}

/* Every function that Lua code can reach has a row in README's table. */
static const char walk[] =
    "return function(s)\n"
    "local seen, out = {}, {}\n"
    "local function add(name, f)\n"
    "  if type(f) == 'function' and not seen[name] then\n"
    "    seen[name] = true out[#out + 1] = name end end\n"
    "local function all(t, prefix)\n"
    "  for k, v in pairs(t) do\n"
    "    if type(v) == 'table' and prefix == '' and k ~= '_G' then\n"
    "      all(v, k .. '.') else add(prefix .. k, v) end end end\n"
    "all(_G, '')\n"
    "  add('ipairs.next', (ipairs({}))) add('pairs.next', (pairs({})))\n"
    "  add('utf8.codes.next', (utf8.codes('x')))\n"
    "  add('utf8.codes.lax', (utf8.codes('x', true)))\n"
    "  add('string.gmatch.next', (('x'):gmatch('x')))\n"
    "  add('coroutine.wrap.next', coroutine.wrap(type))\n"
    "  local re = rlf.regex('x')\n"
    "  for _, name in ipairs({'find', 'match', 'gmatch'}) do\n"
    "    add('regex.' .. name, re[name]) end\n"
    "  add('regex.gmatch.next', (re:gmatch('x')))\n"
    "  return table.concat(out, ' ')\n"
    "end\n";

static void
test_every_cost(void)
{
    char path[4096], row[128];
    const char *source = getenv("RLFLOW_SOURCE");
    snprintf(path, sizeof path, "%s/engine/lua/README.md",
             source ? source : "../..");
    FILE *f = fopen(path, "r");
    if (!ok(f != NULL, "%s is read", path))
        return;
    static char text[65536];
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    char *table = strstr(text, "\n## What a function costs");
    char *past = table ? strstr(table, "\n## The table") : NULL;
    if (!ok(past != NULL, "it has the table of costs"))
        return;
    *past = 0;
    outcome out = lua_run((setup){.text = true}, walk);
    if (!ok(out.status == RLF_OK, "the walk: %s", out.err.sentence))
        return;
    int n = 0, missing = 0;
    for (char *name = strtok(out.text, " "); name; name = strtok(NULL, " ")) {
        snprintf(row, sizeof row, "`%s`", name);
        n++;
        if (!strstr(table, row)) {
            missing++;
            note("no row for %s", name);
        }
    }
    ok(n > 100, "%d functions are reached", n);
    is_int(missing, 0, "each has a row");
}

/* A value that is called through a __call which is itself. */
static void
test_call_chain(void)
{
    double t = seconds();
    lua_fails("return function(s)\nlocal t = {}\nt.__call = setmetatable(t, "
              "t)\nwhile true do pcall(t) end end",
              "r.lua:4: a call of a value whose __call calls itself" WHO,
              "give __call a function");
    ok(seconds() - t < 10, "soon");
    lua_gives("local f = setmetatable({}, {__call = function(self, x) return x "
              "end}) local g = setmetatable({}, {__call = f}) return g('x') "
              "and 'called'",
              "called");
    lua_gives("local function f(n) if n == 0 then return 0 end return 1 + "
              "f(n - 1) end for i = 1, 5 do f(30000) end return 'deep'",
              "deep");
    lua_gives("local function f(...) return select('#', ...) end return '' .. "
              "f(table.unpack({}, 1, 240000))",
              "240000");
}

/* After each failure the same host gives what a new one gives. */
static void
test_goes_on(void)
{
    static const char failing[] =
        "return function(s)\n"
        "  if s.grade == 1 then while true do end end\n"
        "  if s.grade == 2 then local t = {} for i = 1, 1e9 do t[i] = {} end "
        "end\n"
        "  if s.grade == 3 then error('x') end\n"
        "  if s.grade == 4 then return end\n"
        "  local n = 0 for i = 1, 1000 do n = n + math.random(1000000) end\n"
        "  return n\n"
        "end\n";
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    rlf_err err = RLF_ERR_NONE;
    setup s = {.memory = 4 << 20, .instructions = 1000000};
    if (lua_open(arena, &s, failing, &err, &host) < 0)
        bail("%s", err.sentence);
    double first = 0;
    int good = 0;
    for (int i = 0; i < 30; i++) {
        rlf_lua_field f = {
            .name = "grade", .kind = RLF_LUA_NUMBER, .number = i % 5};
        rlf_lua_sample sample = lua_run_sample;
        sample.fields = &f;
        sample.n_fields = 1;
        rlf_lua_value value;
        rlf_err_clear(&err);
        rlf_status status = rlf_lua_call(host, &sample, 1, arena, &err, &value);
        if (i == 0)
            first = value.number;
        if (i % 5 == 0)
            good += status == RLF_OK && value.number == first;
        else
            good += status == RLF_USER;
    }
    is_int(good, 30, "a host goes on after every kind of failure");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* The same program on the same sample: the same bits and the same budget, in
 * another host, and whatever the host did before. */
static void
test_same(void)
{
    static const char source[] =
        "local function work(n)\n"
        "  local t, x = {}, 0\n"
        "  for i = 1, n do\n"
        "    t['k' .. i * 7919 % 1000] = math.random()\n"
        "    x = x + #string.format('%d', i)\n"
        "  end\n"
        "  for k, v in pairs(t) do x = x * 0.999 + v end\n"
        "  return x\n"
        "end\n"
        "return function(s) return work(s.grade) end\n";
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_host *host[2] = {NULL, NULL};
    setup s = {.instructions = 20000};
    for (int h = 0; h < 2; h++)
        if (lua_open(arena, &s, source, &err, &host[h]) < 0)
            bail("%s", err.sentence);
    double got[2][80];
    int status[2][80], failed = 0;
    for (int h = 0; h < 2; h++)
        for (int k = 0; k < 80; k++) {
            int i = h ? 79 - k : k; /* the other way round */
            rlf_lua_field f = {.name = "grade",
                               .kind = RLF_LUA_NUMBER,
                               .number = 37.0 * i + 1};
            rlf_lua_sample sample = lua_run_sample;
            sample.fields = &f;
            sample.n_fields = 1;
            sample.key.sample = (uint64_t)i;
            rlf_lua_value value = {0};
            rlf_err_clear(&err);
            status[h][i] =
                rlf_lua_call(host[h], &sample, 1, arena, &err, &value);
            got[h][i] = value.number;
            failed += status[h][i] < 0;
        }
    is_bits(got[0], got[1], 80, sizeof **got, "same bits in another order");
    is_bits(status[0], status[1], 80, sizeof **status,
            "the same calls reach the limit");
    ok(failed > 20 && failed < 140, "some do (%d of 160)", failed);
    for (int h = 0; h < 2; h++)
        rlf_lua_host_free(host[h]);
    rlf_arena_free(arena);
}

/* Checks that the same calls are too large for the memory limit whatever the
 * host did before. */
static void
test_same_memory(void)
{
    static const char source[] =
        "local big = {} for i = 1, 3000 do big['key' .. i] = i end\n"
        "return function(s)\n"
        "  local t = {}\n"
        "  for i = 1, s.grade do t[i] = 'text ' .. i end\n"
        "  return #t\n"
        "end\n";
    enum { MOST = 12 };
    int calls = quick() ? MOST / 3 : MOST;
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    setup s = {.memory = 2 << 20};
    int status[3][MOST], failed = 0;
    for (int h = 0; h < 3; h++) {
        rlf_lua_host *host;
        if (lua_open(arena, &s, source, &err, &host) < 0)
            bail("%s", err.sentence);
        for (int k = 0; k < calls; k++) {
            int i = h == 0 ? k : h == 1 ? calls - 1 - k : k * 7 % calls;
            rlf_lua_field f = {.name = "grade",
                               .kind = RLF_LUA_NUMBER,
                               .number = 60000.0 * i / calls};
            rlf_lua_sample sample = lua_run_sample;
            sample.fields = &f;
            sample.n_fields = 1;
            rlf_lua_value value;
            rlf_err_clear(&err);
            status[h][i] = rlf_lua_call(host, &sample, 1, arena, &err, &value);
            failed += h == 0 && status[h][i] < 0;
        }
        rlf_lua_host_free(host);
    }
    is_bits(status[0], status[1], (size_t)calls, sizeof **status,
            "memory: the same calls in reverse order");
    is_bits(status[0], status[2], (size_t)calls, sizeof **status,
            "memory: the same calls in another order");
    ok(failed > calls / 5 && failed < calls - calls / 5,
       "of which some are too large (%d)", failed);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_instructions();
    test_closure();
    test_memory();
    test_text();
    test_caught();
    test_time();
    test_time_in_one_instruction();
    test_end_of_many();
    test_call_chain();
    test_every_cost();
    test_pure();
    test_nothing_before();
    test_goes_on();
    test_same();
    test_same_memory();
    return done();
}
