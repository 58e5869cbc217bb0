/* Samples in, results out: what a function sees, what it may return, and the
 * words with which everything else is refused. */
#include "tests/unit/lua_run.h"

#define WHO " (prompt 12, sample 3, step 40)"

static rlf_lua_host *
open_gives(rlf_arena *arena, rlf_lua_per per, const rlf_lua_give *gives,
           size_t n, const char *source)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_spec spec = {.path = "r.lua",
                         .source = source,
                         .per = per,
                         .gives = gives,
                         .n_gives = n};
    const rlf_lua_program *program;
    rlf_lua_host *host = NULL;
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    return host;
}

static void
test_seen(void)
{
    lua_gives(
        "return s.prompt .. s.response .. s.answer .. s.grade .. s.length "
        ".. tostring(s.finished)",
        "What is 12 plus 30? 42422.53true");
    lua_gives(
        "return table.concat(s.tokens, ',') .. table.concat(s.pieces, '|') "
        ".. #s.tokens .. math.type(s.tokens[1])",
        "11,12,13 4|2|3integer");
    lua_gives("return tostring(s.tokens == s.tokens) .. tostring(rawget(s, "
              "'nothing')) .. "
              "tostring(rawget(s, 'tokens')[2])",
              "truenil12");
    lua_gives("s.mine = 1 s.tokens[1] = 5 return s.mine .. s.tokens[1]", "15");
    lua_gives(
        "return rlf.json_encode(s)",
        "{\"answer\":\"42\",\"finished\":true,\"grade\":2.5,\"length\":3,"
        "\"pieces\":[\" 4\",\"2\",\"\"],\"prompt\":\"What is 12 plus 30?\","
        "\"response\":\" 42\",\"tokens\":[11,12,13]}");
}

static const char rounded[] =
    "numbers of the program have 53 bits: return a smaller one, x + 0.0 where "
    "it may be rounded, or the digits as a text";

static const char no_number[] =
    "tonumber and rlf.number give nil for a text that is no number, and so do "
    "a match that fails and an element or a variable without a value: return x "
    "or 0, or declare the hook with on_error:";

static void
test_one_number(void)
{
    outcome out = lua_run((setup){0}, "return function(s) return 0.1 end");
    ok(out.status == RLF_OK && out.number == 0.1, "a number");
    out = lua_run((setup){0}, "return function(s) return 7 end");
    ok(out.status == RLF_OK && out.number == 7, "an integer");
    lua_fails("return function(s)\nend",
              "r.lua:1: the result is nil, not a number" WHO,
              "every way through the function must end in a return");
    lua_fails("return function(s) local t = {} return t[0] end",
              "r.lua:1: the result is nil, not a number" WHO, no_number);
    lua_fails("return function(s) return tonumber(s.prompt) end",
              "r.lua:1: the result is nil, not a number" WHO, no_number);
    lua_fails("return function(s) return rlf.number(s.prompt) end",
              "r.lua:1: the result is nil, not a number" WHO, no_number);
    lua_fails("return function(s) return {a = 1} end",
              "r.lua:1: the result is a table, not a number" WHO,
              "several results need names in the program: hook h = lua(...) -> "
              "(right, style)");
    lua_fails("return function(s) return s.answer == '42' end",
              "r.lua:1: the result is true, not a number" WHO,
              "write: return condition and 1 or 0");
    out = lua_run((setup){0}, "return function(s) return 1 << 53 end");
    ok(out.status == RLF_OK && out.number == 0x1p53, "2^53");
    out = lua_run((setup){0}, "return function(s) return 1 << 62 end");
    ok(out.status == RLF_OK && out.number == 0x1p62, "2^62, which is kept");
    out = lua_run((setup){0}, "return function(s) return 1 << 63 end");
    ok(out.status == RLF_OK && out.number == -0x1p63, "-2^63, which is too");
    lua_fails("return function(s) return (1 << 53) + 1 end",
              "r.lua:1: the result is the integer 9007199254740993, not a "
              "number of up to 2^53" WHO,
              rounded);
    lua_fails("return function(s) return math.maxinteger end",
              "r.lua:1: the result is the integer 9223372036854775807, not a "
              "number of up to 2^53" WHO,
              rounded);
    lua_fails("return function(s) return '1' end",
              "r.lua:1: the result is a text, not a number" WHO,
              "tonumber(text) makes a number of it");
    lua_fails("return function(s) return {} end",
              "r.lua:1: the result is a table, not a number" WHO, NULL);
    lua_fails("return function(s) return coroutine.create(type) end",
              "r.lua:1: the result is a coroutine, not a number" WHO, NULL);
    lua_fails("return function(s) return 0/0 end",
              "r.lua:1: the result is NaN, not a finite number" WHO,
              "0 / 0, x / 0 and math.log(0) give such: compare before you "
              "divide");
    lua_fails("return function(s) return 1/0 end",
              "r.lua:1: the result is infinite, not a finite number" WHO,
              "0 / 0, x / 0 and math.log(0) give such: compare before you "
              "divide");
    lua_fails("return function(s) return ('a'):gsub('a', 'b') end",
              "r.lua:1: the result has 2 values where 1 is declared" WHO,
              "declare names for them: -> (a, b); or put the call in "
              "parentheses to keep its first value");
}

/* Run with these results on the usual sample; returns the sentence. */
static rlf_status
run_gives(rlf_arena *arena, const rlf_lua_give *gives, size_t n,
          const char *body, rlf_err *err, rlf_lua_value *out)
{
    char source[1024];
    snprintf(source, sizeof source, "return function(s) %s end", body);
    rlf_lua_host *host =
        open_gives(arena, RLF_LUA_PER_SAMPLE, gives, n, source);
    rlf_err_clear(err);
    rlf_status status = rlf_lua_call(host, &lua_run_sample, 1, arena, err, out);
    rlf_lua_host_free(host);
    return status;
}

static void
test_named(void)
{
    static const rlf_lua_give gives[] = {{"correct", RLF_LUA_SAMPLE},
                                         {"credit", RLF_LUA_TOKEN},
                                         {"note", RLF_LUA_TEXT}};
    static const struct {
        const char *body, *sentence, *hint;
    } bad[] = {
        {"return {correct = 1, credit = {1, 2, 3}}",
         "r.lua:1: result 'note' is nil, not a text" WHO,
         "the table has only correct, credit: give it note, as in note = x or "
         "\"\", for tonumber, rlf.number and a match that fails give nil"},
        {"return {note = '', correct = tonumber('x')}",
         "r.lua:1: result 'correct' is nil, not a number" WHO,
         "the table has only note: give it correct, as in correct = x or 0, "
         "for tonumber, rlf.number and a match that fails give nil"},
        {"return {}", "r.lua:1: result 'correct' is nil, not a number" WHO,
         "the table is empty: give it correct, as in correct = x or 0, for "
         "tonumber, rlf.number and a match that fails give nil"},
        {"return tonumber('x'), {1, 2, 3}, ''",
         "r.lua:1: result 'correct' is nil, not a number" WHO, no_number},
        {"return 1, {1, 2, 3}, s.prompt:match('x')",
         "r.lua:1: result 'note' is nil, not a text" WHO,
         "tonumber and rlf.number give nil for a text that is no number, and "
         "so do a match that fails and an element or a variable without a "
         "value: return x or \"\", or declare the hook with on_error:"},
        {"return {1, {1, 2, 3}, ''}",
         "r.lua:1: the result has a field '1' that the hook does not "
         "declare" WHO,
         "name the values, as in { correct = x }, or return them without "
         "braces, in the declared order"},
        {"return {correct = 1, credit = {1, 2}, note = ''}",
         "r.lua:1: result 'credit' has 2 numbers for a response of 3 "
         "tokens" WHO,
         NULL},
        {"return {correct = 1, credit = {1, 2, 'x'}, note = ''}",
         "r.lua:1: result 'credit' is a text at token 3, not a finite "
         "number" WHO,
         NULL},
        {"return {correct = 1, credit = 5, note = ''}",
         "r.lua:1: result 'credit' is a number, not an array of numbers" WHO,
         NULL},
        {"return {correct = 1, credit = {[0] = 1, 1, 2, 3}, note = ''}",
         "r.lua:1: result 'credit' has an element '0' beside its 3" WHO, NULL},
        {"return {correct = 1, credit = {1, 2, 3, mean = 2}, note = ''}",
         "r.lua:1: result 'credit' has an element 'mean' beside its 3" WHO,
         NULL},
        {"return {corect = 1, credit = {1, 2, 3}, note = ''}",
         "r.lua:1: the result has a field 'corect' that the hook does not "
         "declare" WHO,
         "did you mean 'correct'?"},
        {"return {correct = 1, credit = {1, 2, 3}, note = '', extra = 2}",
         "r.lua:1: the result has a field 'extra' that the hook does not "
         "declare" WHO,
         "name it after -> in the hook's declaration, or leave it out"},
        {"return 1, {1, 2, 3}",
         "r.lua:1: the result has 2 values where 3 are declared" WHO, NULL},
        {"return 1", "r.lua:1: the result has 1 value where 3 are declared" WHO,
         NULL},
    };
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_value v[3];
    for (int way = 0; way < 2; way++) {
        rlf_status status = run_gives(
            arena, gives, 3,
            way ? "return 1, {0.5, 0, 2}, 'x\\0y'"
                : "return {note = 'x\\0y', correct = 1, credit = {0.5, 0, 2}}",
            &err, v);
        ok(status == RLF_OK && v[0].number == 1 && v[1].n_tokens == 3 &&
               v[1].tokens[0] == 0.5 && v[1].tokens[2] == 2 &&
               v[2].text.n == 3 && memcmp(v[2].text.p, "x\0y", 3) == 0,
           way ? "values in order" : "a table of results");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        run_gives(arena, gives, 3, bad[i].body, &err, v);
        is_str(err.sentence, bad[i].sentence, bad[i].body);
        if (bad[i].hint)
            is_str(err.hint, bad[i].hint, "... and what to do");
    }
    static const rlf_lua_give one[] = {{"credit", RLF_LUA_TOKEN}};
    ok(run_gives(arena, one, 1, "return {1, 2, 3}", &err, v) == RLF_OK &&
           v[0].tokens[1] == 2,
       "one named array, returned as such");
    ok(run_gives(arena, one, 1, "return {credit = {1, 2, 3}}", &err, v) ==
               RLF_OK &&
           v[0].tokens[2] == 3,
       "or as a field");
    rlf_arena_free(arena);
}

static void
test_group(void)
{
    static const rlf_lua_give gives[] = {{"rank", RLF_LUA_SAMPLE},
                                         {"mean", RLF_LUA_SAMPLE}};
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_host *host = open_gives(
        arena, RLF_LUA_PER_GROUP, gives, 2,
        "return function(samples)\n"
        "  local sum = 0\n"
        "  for _, s in ipairs(samples) do sum = sum + s.x + #s.tokens end\n"
        "  local out = {}\n"
        "  for i, s in ipairs(samples) do\n"
        "    out[i] = {rank = i * 10 + s.tokens[1], mean = sum / #samples}\n"
        "  end\n"
        "  if samples[1].x == 9 then out[2].rank = nil end\n"
        "  if samples[1].x == 8 then out[4] = nil end\n"
        "  if samples[1].x == 7 then return 5 end\n"
        "  return out\n"
        "end\n");
    const int32_t tokens[4] = {1, 2, 3, 4};
    rlf_lua_field f[4][2];
    rlf_lua_sample samples[4];
    rlf_lua_value out[8];
    for (int i = 0; i < 4; i++) {
        f[i][0] =
            (rlf_lua_field){.name = "x", .kind = RLF_LUA_NUMBER, .number = i};
        f[i][1] = (rlf_lua_field){.name = "tokens", .kind = RLF_LUA_INTS};
        f[i][1].ints.p = tokens + i;
        f[i][1].ints.n = 1;
        samples[i] = (rlf_lua_sample){
            .fields = f[i], .n_fields = 2, .length = 1, .prompt = 5, .step = 2};
    }
    rlf_status status = rlf_lua_call(host, samples, 4, arena, &err, out);
    bool good = status == RLF_OK;
    for (int i = 0; i < 4 && good; i++)
        good = out[2 * i].number == 10 * (i + 1) + i + 1 &&
               out[2 * i + 1].number == 2.5;
    ok(good, "a group: every sample has its own fields and result");
    f[0][0].number = 9;
    rlf_lua_call(host, samples, 4, arena, &err, out);
    is_str(err.sentence,
           "r.lua:1: result 'rank' for element 2 is nil, not a number (prompt "
           "5, step 2)",
           "a result that is missing");
    rlf_err_clear(&err);
    f[0][0].number = 8;
    rlf_lua_call(host, samples, 4, arena, &err, out);
    is_str(
        err.sentence,
        "r.lua:1: the result has 3 elements for 4 samples (prompt 5, step 2)",
        "a sample that is missing");
    rlf_err_clear(&err);
    f[0][0].number = 7;
    rlf_lua_call(host, samples, 4, arena, &err, out);
    ok(strstr(err.sentence, "not an array of results") != NULL, "%s",
       err.sentence);
    rlf_err_clear(&err);
    is_int(rlf_lua_call(host, samples, 0, arena, &err, out), RLF_USER,
           "no samples: the function meets an empty array");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

static void
test_turn_and_step(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_host *host =
        open_gives(arena, RLF_LUA_PER_TURN, NULL, 0,
                   "return function(s)\n"
                   "  if #s.turns == 2 then return end\n"
                   "  return s.turns[1].role .. ':' .. s.turns[1].content\n"
                   "end\n");
    const rlf_lua_field one[] = {
        {.name = "role", .kind = RLF_LUA_BYTES, .text = {"user", 4}},
        {.name = "content", .kind = RLF_LUA_BYTES, .text = {"hi", 2}}};
    const rlf_lua_record turns[] = {{one, 2}, {one, 2}};
    rlf_lua_field f = {.name = "turns", .kind = RLF_LUA_LIST};
    f.list.p = turns;
    f.list.n = 1;
    rlf_lua_sample sample = {.fields = &f, .n_fields = 1, .step = 3};
    rlf_lua_value out;
    ok(rlf_lua_call(host, &sample, 1, arena, &err, &out) == RLF_OK &&
           !out.none && strcmp(out.text.p, "user:hi") == 0,
       "a turn gives a text");
    f.list.n = 2;
    ok(rlf_lua_call(host, &sample, 1, arena, &err, &out) == RLF_OK && out.none,
       "or nil, to end");
    rlf_lua_host_free(host);
    host = open_gives(arena, RLF_LUA_PER_SAMPLE, NULL, 0,
                      "return function(s) return rawget(s, 'trun') == nil and "
                      "s.turn == 1 end");
    rlf_lua_call(host, &sample, 1, arena, &err, &out);
    ok(strstr(err.sentence, "the sample has no field 'turn'") &&
           strstr(err.hint, "did you mean 'turns'?"),
       "a field that a sample has not: %s; %s", err.sentence, err.hint);
    rlf_err_clear(&err);
    rlf_lua_host_free(host);
    host = open_gives(arena, RLF_LUA_PER_STEP, NULL, 0,
                      "return function(s) return s.step * 2 + math.random(0) * "
                      "0 end");
    sample.n_fields = 0;
    ok(rlf_lua_call(host, &sample, 1, arena, &err, &out) == RLF_OK &&
           out.number == 6,
       "a step gives a scalar");
    rlf_lua_host_free(host);
    host = open_gives(arena, RLF_LUA_PER_SAMPLE, NULL, 0,
                      "return function(s) return s.x < 0 and 3 or 1 / s.x < 0 "
                      "and 2 or 1 end");
    f = (rlf_lua_field){.name = "x", .kind = RLF_LUA_NUMBER, .number = -0.0};
    sample.n_fields = 1;
    ok(rlf_lua_call(host, &sample, 1, arena, &err, &out) == RLF_OK &&
           out.number == 2,
       "-0 keeps its sign");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* An element before the first one, a field of an array and an element of a text
 * would be nil, and a reward 0 for ever. */
static void
test_indices(void)
{
    static const char numbers[] = "elements have the numbers 1 to #x";
    lua_fails("return function(s) return rlf.words(s.prompt)[0] and 1 or 0 end",
              "r.lua:1: there is no element 0: arrays begin at 1" WHO, numbers);
    lua_fails(
        "return function(s) return rlf.split(s.prompt, ' ')[-1] and 1 or 0 end",
        "r.lua:1: there is no element -1: arrays begin at 1" WHO, numbers);
    lua_gives("local w = rlf.words('a b') for _, x in ipairs(w) do w[x] = 1 "
              "end w[3] = 'c' table.insert(w, 'd') table.remove(w, 1) return "
              "table.concat(w) .. tostring(w.c) .. w.a .. tostring(w[9]) .. "
              "tostring(table.remove(rlf.words('')))",
              "bcdnil1nilnil");
    lua_fails("return function(s) return s.pieces[0] == '1' and 1 or 0 end",
              "r.lua:1: there is no element 0: arrays begin at 1" WHO, numbers);
    lua_fails("return function(s) return s.tokens[-1] or 0 end",
              "r.lua:1: there is no element -1: arrays begin at 1" WHO,
              numbers);
    lua_fails("return function(s) return s.tokens[1.5] or 0 end",
              "r.lua:1: there is no element 1.5: arrays begin at 1" WHO,
              numbers);
    lua_fails("return function(s) return s.tokens.length or 0 end",
              "r.lua:1: an array has no field 'length'" WHO,
              "its length is #x, its elements are x[1] to x[#x]");
    lua_gives("return tostring(s.tokens[#s.tokens + 1])", "nil");
    lua_gives("local n = 0 for i, t in ipairs(s.tokens) do n = n + i end "
              "local i = 1 while s.pieces[i] do i = i + 1 end "
              "return n .. ' ' .. i .. ' ' .. #table.pack(table.unpack("
              "s.tokens))",
              "6 4 3");
    lua_gives("local t = s.tokens table.insert(t, 9) t[1] = 7 "
              "return t[1] .. ' ' .. t[4] .. ' ' .. tostring(rawget(t, 0))",
              "7 9 nil");
    lua_gives("local n = 0 while table.remove(s.tokens) do n = n + 1 end "
              "return n .. ' ' .. #s.tokens",
              "3 0");
    lua_fails("return function(s) return s.response[1] == '4' and 1 or 0 end",
              "r.lua:1: a text has no element 1" WHO,
              "a character of a text is s:sub(i, i)");
    lua_fails("return function(s) return s.response.length or 0 end",
              "r.lua:1: a text has nothing called 'length'" WHO,
              "the length of a text or an array is #x");
    lua_fails("return function(s) return s.response:finde('4') or 0 end",
              "r.lua:1: a text has nothing called 'finde'" WHO,
              "did you mean 'find'?");
    lua_gives("return tostring(rawget(string, 'split'))", "nil");
}

/* A sample is no list, and a list of samples is no sample. */
static void
test_sample_or_list(void)
{
    static const char one[] =
        "it is one sample, whose fields have names, as in sample.response; a "
        "list of all samples of a prompt is what a hook with per: group gets";
    lua_fails("return function(all) return #all end",
              "r.lua:1: the sample is no list and has no length #" WHO, one);
    lua_fails("return function(all) local n = 0\n"
              "for _, c in ipairs(all) do n = n + #c end return n end",
              "r.lua:2: the sample is no list and has no element 1" WHO, one);
    lua_fails("return function(all) return all[1] and 1 or 0 end",
              "r.lua:1: the sample is no list and has no element 1" WHO, one);
    lua_fails("return function(all) return all[true] and 1 or 0 end",
              "r.lua:1: the sample has no field whose name is a boolean" WHO,
              one);
    lua_gives("local t = {} for k in pairs(s) do t[#t + 1] = k end return "
              "table.concat(t, ' ')",
              "answer finished grade length pieces prompt response tokens");
    static const char *const bad[][3] = {
        {"return s.response == '42' and {1, 2} or {0, 0}",
         "r.lua:1: the list of samples has no field 'response'",
         "each sample has its own: for i, sample in ipairs(samples) do ... "
         "sample.response ... end"},
        {"return {s[0] or 0, 0}",
         "r.lua:1: there is no element 0: arrays begin at 1",
         "elements have the numbers 1 to #x"},
        {"return {[0] = 1, 2, 3}",
         "r.lua:1: the result has an element '0' beside its 2",
         "arrays begin at 1, and have no other fields"},
        {"return {1, 2, mean = 3}",
         "r.lua:1: the result has an element 'mean' beside its 2",
         "arrays begin at 1, and have no other fields"},
        {"return {s[1][1] or 0, 0}",
         "r.lua:1: the sample is no list and has no element 1",
         "its fields have names, as in samples[1].response"},
    };
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_value v[2];
    const rlf_lua_sample two[] = {lua_run_sample, lua_run_sample};
    for (size_t i = 0; i < 3; i++) {
        char source[512];
        snprintf(source, sizeof source, "return function(s) %s end",
                 i < 2 ? bad[i][0]
                       : "local x = {} for i, one in ipairs(s) do x[i] = "
                         "one.grade + #s end table.sort(s, function(a, b) "
                         "return a.grade < b.grade end) return s[3] == nil "
                         "and x");
        rlf_lua_host *host =
            open_gives(arena, RLF_LUA_PER_GROUP, NULL, 0, source);
        rlf_err_clear(&err);
        rlf_status status = rlf_lua_call(host, two, 2, arena, &err, v);
        if (i < 2)
            ok(strncmp(err.sentence, bad[i][1], strlen(bad[i][1])) == 0 &&
                   strcmp(err.hint, bad[i][2]) == 0,
               "%s: %s; %s", bad[i][0], err.sentence, err.hint);
        else
            ok(status == RLF_OK && v[1].number == 4.5, "a list is walked: %s",
               err.sentence);
        rlf_lua_host_free(host);
    }
    rlf_err_clear(&err);
    rlf_arena_free(arena);
}

static void
test_template_and_rows(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    const rlf_lua_field one[] = {
        {.name = "role", .kind = RLF_LUA_BYTES, .text = {"user", 4}},
        {.name = "content", .kind = RLF_LUA_BYTES, .text = {"hi", 2}}};
    const rlf_lua_record message = {one, 2};
    rlf_str text;
    rlf_lua_host *host =
        open_gives(arena, RLF_LUA_PER_TEMPLATE, NULL, 0,
                   "return function(messages, open) local o = '' for _, m in "
                   "ipairs(messages) do o = o .. m.role .. m.content end "
                   "return o .. (open "
                   "and '>' or '') end");
    ok(rlf_lua_template(host, &message, 1, true, arena, &err, &text) ==
               RLF_OK &&
           strcmp(text.p, "userhi>") == 0,
       "a template");
    ok(rlf_lua_template(host, &message, 1, false, arena, &err, &text) ==
               RLF_OK &&
           strcmp(text.p, "userhi") == 0,
       "closed");
    rlf_lua_host_free(host);
    host = open_gives(arena, RLF_LUA_PER_TEMPLATE, NULL, 0,
                      "return function(messages) return 5 end");
    is_int(rlf_lua_template(host, &message, 1, true, arena, &err, &text),
           RLF_USER, "a template must give a text");
    is_str(err.sentence, "r.lua: the template returned number, not a text",
           "and says so");
    rlf_err_clear(&err);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

/* math.random is the sample's own stream, from its beginning in every call. */
static void
test_random(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    static const rlf_lua_give gives[] = {
        {"a", RLF_LUA_SAMPLE}, {"b", RLF_LUA_SAMPLE}, {"c", RLF_LUA_SAMPLE}};
    rlf_lua_host *host =
        open_gives(arena, RLF_LUA_PER_SAMPLE, gives, 3,
                   "return function(s) return math.random(), math.random(6), "
                   "math.random(-3, 3) end");
    rlf_lua_sample sample = lua_run_sample;
    rlf_lua_value v[3];
    int good = 0;
    for (unsigned i = 0; i < 50; i++) {
        sample.key.sample = i / 2; /* each twice */
        if (rlf_lua_call(host, &sample, 1, arena, &err, v) < 0)
            bail("%s", err.sentence);
        good += v[0].number == rlf_draw_uniform(&sample.key, 0) &&
                v[1].number == 1 + (double)rlf_draw_below(&sample.key, 1, 6) &&
                v[2].number == (double)rlf_draw_below(&sample.key, 2, 7) - 3;
    }
    is_int(good, 50, "math.random is Philox by sample and position");
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

static void
note_line(void *arg, const char *who, const char *text, size_t n)
{
    snprintf(arg, 64, "%s %.*s", who, (int)n, text);
}

static void
test_options(void)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    char line[64] = "";
    rlf_lua_options options = {.print = note_line, .arg = line};
    rlf_lua_spec spec = {.path = "b.rlf",
                         .line = 12,
                         .source = "return function(s) print(1, nil, {}) error("
                                   "'x') end"};
    const rlf_lua_program *program;
    rlf_lua_host *host = NULL, *other = NULL;
    rlf_lua_value v;
    if (rlf_lua_program_open(arena, &spec, &err, &program) < 0 ||
        rlf_lua_host_new(program, &options, &err, &host) < 0)
        bail("%s", err.sentence);
    rlf_lua_call(host, &lua_run_sample, 1, arena, &err, &v);
    is_str(line, "(prompt 12, sample 3, step 40) 1\tnil\ttable",
           "print reaches the caller, with the sample");
    is_str(err.sentence, "b.rlf:12: x" WHO, "lines of a block in a file");
    rlf_err_clear(&err);
    if (rlf_lua_host_new(program, NULL, &err, &other) < 0)
        bail("%s", err.sentence);
    size_t n, m;
    const rlf_lua_source *a = rlf_lua_host_sources(host, &n);
    const rlf_lua_source *b = rlf_lua_host_sources(other, &m);
    ok(n == 1 && m == 1 && rlf_digest_equal(a->digest, b->digest) &&
           rlf_digest_equal(a->digest,
                            rlf_digest_of(spec.source, strlen(spec.source))),
       "the digest is that of the text");
    rlf_lua_host_free(other);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
}

int
main(void)
{
    test_seen();
    test_one_number();
    test_named();
    test_group();
    test_turn_and_step();
    test_indices();
    test_sample_or_list();
    test_template_and_rows();
    test_random();
    test_options();
    return done();
}
