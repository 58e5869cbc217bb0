/* Names that Lua code asks for and that are not there.
 *
 * Reading a global that nothing defined is an error that names the nearest one:
 * nil would go on as a value, and make a reward 0 without a word. What other
 * Lua programs have and this one has not (os, io, next) says what to use
 * instead. rawget(_G, name) asks without an error. */
#include "engine/base/vec.h"
#include "engine/lua/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer names are not written in messages. */
enum { LONGEST = 100 };

/* Globals that many reach for and will not find. */
static const struct {
    const char *name, *hint;
} absent[] = {
    // clang-format off
    {"os", "there is no os: a result may depend on nothing but the arguments"},
    {"io", "there is no io: put what the function needs into the data row, or "
           "into a Lua file that it requires"},
    {"debug", "there is no debug library here"},
    {"package", "there is no package library: require looks beside the file "
                "and in the standard library"},
    {"next", "there is no next, whose order differs from run to run: use pairs"},
    {"print", "there is no print here"},
    {"dofile", "use require, at the top of the file"},
    {"loadfile", "use require, at the top of the file"},
    {"collectgarbage", "memory is collected by itself; the limit is memory:"},
    {"warn", "there is no warn here: print shows a line"},
    {"loadstring", "it is load in Lua 5.4"},
    {"unpack", "it is table.unpack in Lua 5.4"},
    {"json", "rlf.json_decode(text) reads JSON, rlf.json_encode(value) writes "
             "it"},
    {"null", "nothing is nil in Lua"},
    {"None", "nothing is nil in Lua"},
    {"True", "it is true in Lua"},
    {"False", "it is false in Lua"},
    {"len", "the length of a text or an array is #x"},
    {"str", "a text of a value is tostring(x)"},
    {"repr", "a text of a value is tostring(x)"},
    {"int", "the number of a text is tonumber(x); a number without its "
            "fraction is math.floor(x)"},
    {"float", "the number of a text is tonumber(x), or nil if it is none"},
    {"re", "string patterns are s:match(p) and s:find(p); regular expressions "
           "are rlf.regex(p):match(s)"},
    {"regex", "it is rlf.regex(p)"},
    {"answer", "load it at the top of the file: local answer = "
               "require(\"answer\")"},
    {"sum", "add up in a loop: for _, x in ipairs(list) do t = t + x end"},
    {"any", "a loop finds it: for _, x in ipairs(list) do ... end"},
    {"all", "a loop finds it: for _, x in ipairs(list) do ... end"},
    {"range", "a loop over numbers is for i = 1, n do ... end"},
    {"enumerate", "a loop over an array is for i, x in ipairs(list) do ... end"},
    {"round", "the nearest whole number is math.floor(x + 0.5)"},
    {"isinstance", "the kind of a value is type(x) == \"string\""},
    {"try", "errors are caught by pcall(f, ...)"},
    {"raise", "errors are raised by error(\"...\")"},
    {"throw", "errors are raised by error(\"...\")"},
    {"switch", "Lua has if, elseif, else, end"},
    {"undefined", "nothing is nil in Lua"},
    // clang-format on
};

/* The same of fields, and of what Lua's compiler says of other languages. */
static const struct {
    const char *said, *hint;
} sayings[] = {
    {"(field 'randomseed')", "there is no randomseed: math.random is seeded by "
                             "the sample, and gives it the same each time"},
    {"(field 'getn')", "the length of a table is #t"},
    {"(field 'length')", "the length of a text or an array is #x"},
    {"'strip')", "white space goes by rlf.trim(s)"},
    {"'trim')", "white space goes by rlf.trim(s)"},
    {"'split')", "parts are rlf.split(s, \",\"), words rlf.words(s)"},
    {"'startswith')", "the test is rlf.starts(s, text)"},
    {"'startsWith')", "the test is rlf.starts(s, text)"},
    {"'endswith')", "the test is rlf.ends(s, text)"},
    {"'endsWith')", "the test is rlf.ends(s, text)"},
    {"'replace')", "texts are replaced by s:gsub(pattern, text)"},
    {"'includes')", "a text is looked for by s:find(text, 1, true)"},
    {"'contains')", "a text is looked for by s:find(text, 1, true)"},
    {"'count')",
     "count in a loop: for _ in s:gmatch(pattern) do n = n + 1 end"},
    {"'isdigit')", "the test is s:match(\"^%d+$\")"},
    {"'append')", "an array grows by table.insert(list, x)"},
    {"'push')", "an array grows by table.insert(list, x)"},
    {"'join')", "texts are joined by table.concat(list, \" \")"},
    {"'loads')", "JSON is read by rlf.json_decode(text)"},
    {"'clamp')", "bounds are math.max(low, math.min(x, high))"},
    {"'round')", "the nearest whole number is math.floor(x + 0.5)"},
    {"to index a boolean value", "true and false have no fields; a metatable "
                                 "that is kept from the program, as that of "
                                 "texts, is given as false"},
    {"a string value (for iterator", "words of a text are walked by for w in "
                                     "s:gmatch(\"%S+\") do ... end"},
    {"a table value (for iterator", "an array is walked by for i, x in "
                                    "ipairs(list) do ... end"},
    {"to add a 'string' with", "texts are joined by ..; the number of a text "
                               "is tonumber(x)"},
    {"near 'elif'", "Lua writes elseif"},
    {"near 'in'", "a text is looked for by s:find(text, 1, true); a loop is "
                  "for i, x in ipairs(list) do ... end"},
    {"near '?'", "a choice of values is c and a or b"},
    {"near '&'", "Lua writes and"},
    {"near '|'", "Lua writes or"},
    {"near '//'", "a comment begins with --"},
    {"near '#'", "a comment begins with --"},
    {"'end' expected near 'if'", "a choice of values is c and a or b"},
    {"near '!'", "Lua writes ~= for 'is not equal'"},
    {"near '+'", "Lua has no += and no ++: write x = x + 1"},
    {"near '-'", "Lua has no -= and no -> : write x = x - 1"},
};

const char *
rlf_lua_absent(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(absent); i++) {
        if (strcmp(name, absent[i].name) == 0)
            return absent[i].hint;
    }
    return NULL;
}

/* Words of other languages in a line that Lua's compiler did not understand,
 * where it names the sign after them. */
static const struct {
    const char *word, *hint;
} words[] = {
    {"def", "a function is: function f(x) ... end"},
    {"fn", "a function is: function f(x) ... end"},
    {"lambda", "a function as a value is function(x) return ... end"},
    {"=>", "a function as a value is function(x) return ... end"},
    {"import", "a module is loaded by: local m = require(\"name\")"},
    {"from", "a module is loaded by: local m = require(\"name\")"},
    {"try:", "errors are caught by pcall(f, ...)"},
    {"let", "a variable is: local x = 1"},
    {"var", "a variable is: local x = 1"},
    {"const", "a variable is: local x = 1"},
    {"):", "no ':' follows a head: function(x) ... end, if c then ... end"},
    {"else:", "no ':' follows a head: if c then ... else ... end"},
    {"{", "a body is no {...}: if c then ... end, while c do ... end, "
          "function(x) ... end"},
};

/* Is the word in the line, not as a part of another? */
static bool
has_word(const char *line, size_t n, const char *word)
{
    size_t k = strlen(word);
    bool name = isalpha((unsigned char)*word);
    for (size_t i = 0; i + k <= n; i++) {
        bool before = i && (isalnum((unsigned char)line[i - 1]) ||
                            line[i - 1] == '_' || line[i - 1] == '.');
        bool after = i + k < n && (isalnum((unsigned char)line[i + k]) ||
                                   line[i + k] == '_');
        if (!strncmp(line + i, word, k) && !(name && (before || after)))
            return true;
    }
    return false;
}

/* Of a syntax error: what the line means that it names. */
static const char *
syntax_hint(const char *message, const char *source)
{
    const char *at = strchr(message, ':');
    unsigned long line = at ? strtoul(at + 1, NULL, 10) : 0;
    for (; line > 1 && *source; line--)
        source += strcspn(source, "\n") + 1;
    for (size_t i = 0; line == 1 && i < RLF_COUNT(words); i++)
        if (has_word(source, strcspn(source, "\n"), words[i].word))
            return words[i].hint;
    return NULL;
}

static const char *
saying(const char *message)
{
    for (size_t i = 0; i < RLF_COUNT(sayings); i++) {
        if (strstr(message, sayings[i].said))
            return sayings[i].hint;
    }
    return NULL;
}

const char *
rlf_lua_absent_hint(const char *message, const rlf_lua_program *program)
{
    const char *hint = saying(message);
    if (hint)
        return hint;
    size_t n = strlen(program->name);
    bool syntax = strstr(message, " near ") != NULL;
    return syntax && !strncmp(message, program->name, n) && program->line == 1
               ? syntax_hint(message, program->source.p)
               : NULL;
}

/* The library that has a function of that name: "it is math.max"; or NULL. */
static const char *
in_library(lua_State *L, const char *name)
{
    static const char *const libraries[] = {"math", "string", "table", "rlf"};
    const char *found = NULL;
    int top = lua_gettop(L);
    lua_pushglobaltable(L);
    if (!rlf_lua_contents(L, -1))
        lua_pushvalue(L, -1);
    for (size_t i = 0; i < RLF_COUNT(libraries) && !found; i++) {
        lua_pushstring(L, libraries[i]);
        if (lua_rawget(L, top + 2) == LUA_TTABLE && rlf_lua_contents(L, -1)) {
            lua_pushstring(L, name);
            if (lua_rawget(L, -2) == LUA_TFUNCTION)
                found = libraries[i];
        }
        lua_settop(L, top + 2);
    }
    lua_settop(L, top);
    return found ? lua_pushfstring(L, "it is %s.%s", found, name) : NULL;
}

/* The key of the table at `index` that the name is nearest to, or NULL. In the
 * order of the names, so that it is the same in each run. */
static const char *
nearest_key(lua_State *L, const char *name, int index)
{
    size_t n = rlf_lua_keys(L, index), found = 0;
    const char **names = lua_newuserdatauv(L, (n + 1) * sizeof *names, 0);
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, -2, (lua_Integer)i + 1) == LUA_TSTRING)
            names[found++] = lua_tostring(L, -1); /* the table keeps it */
        lua_pop(L, 1);
    }
    return rlf_str_nearest(name, names, found);
}

static const char *
nearest_global(lua_State *L, const char *name)
{
    lua_pushglobaltable(L);
    return nearest_key(L, name, -1);
}

/* The same of the local variables that are in sight, and of the fields of the
 * sample that the call is for. */
static const char *
nearest_local(lua_State *L, const char *name, bool *field)
{
    const rlf_lua_call_state *call = &rlf_lua_host_of(L)->call;
    const char *names[256];
    size_t n = 0;
    lua_Debug ar;
    for (int level = 1; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "S", &ar);
        if (*ar.what == 'C')
            continue;
        for (int i = 1; n < RLF_COUNT(names); i++) {
            const char *local = lua_getlocal(L, &ar, i);
            if (!local)
                break;
            lua_pop(L, 1);
            if (*local != '(')
                names[n++] = local;
        }
        break;
    }
    *field = false;
    const char *best = rlf_str_nearest(name, names, n);
    if (best || !call->n)
        return best;
    *field = true;
    for (n = 0; n < call->samples[0].n_fields && n < RLF_COUNT(names); n++)
        names[n] = call->samples[0].fields[n].name;
    return rlf_str_nearest(name, names, n);
}

/* __index of the globals. */
static int
undefined(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING)
        return 0;
    size_t n;
    const char *name = lua_tolstring(L, 2, &n);
    const char *hint = rlf_lua_absent(name);
    bool field = false;
    rlf_lua_charge(L, 1000);
    if (!hint && n <= LONGEST)
        hint = in_library(L, name);
    if (!hint && n <= LONGEST) {
        const char *near = nearest_local(L, name, &field);
        if (near && field)
            hint = lua_pushfstring(L, "did you mean the sample's field '%s'?",
                                   near);
        else if (near || (near = nearest_global(L, name)))
            hint = lua_pushfstring(L, "did you mean '%s'?", near);
    }
    if (!hint)
        hint = "give it a value first, as in: local x = 0; a text stands in "
               "quotes";
    if (n > LONGEST)
        rlf_lua_error(L, hint, "a global with a long name is not defined");
    rlf_lua_error(L, hint, "'%s' is not defined", name);
}

/* __index of the functions of texts: ("x")[1], s.length, s:strip() and
 * string.split come here. */
static int
text_index(lua_State *L)
{
    rlf_lua_charge(L, 1000);
    if (lua_type(L, 2) != LUA_TSTRING)
        rlf_lua_error(L, "a character of a text is s:sub(i, i)",
                      "a text has no element %s", rlf_lua_text(L, 2, NULL));
    size_t n;
    const char *name = lua_tolstring(L, 2, &n);
    if (n > LONGEST)
        rlf_lua_error(L, NULL, "a text has nothing of that long name");
    const char *hint = saying(lua_pushfstring(L, "(field '%s')", name));
    if (!hint) {
        const char *near = nearest_key(L, name, 1);
        hint = near ? lua_pushfstring(L, "did you mean '%s'?", near) : NULL;
    }
    rlf_lua_error(L, hint, "a text has nothing called '%s'", name);
}

void
rlf_lua_open_absent(lua_State *L)
{
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, undefined);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_modules);
    lua_getfield(L, -1, "string");
    rlf_lua_contents(L, -1);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, text_index);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 4);
}
