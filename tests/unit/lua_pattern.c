/* Patterns against the stock string library: the same Lua code asks both for
 * find, match, gmatch and gsub of many random patterns and subjects, and all
 * answers, error messages included, must be the same text. */
#include "engine/base/arena.h"
#include "engine/lua/host.h"
#include "tests/tap.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

/* Everything that one pattern does to one subject, as a text. */
static const char program[] =
    "return function(q)\n"
    "  local s, p, r, at = q.subject, q.pattern, q.replacement, q.start\n"
    "  local out = {}\n"
    "  local function add(what, ...)\n"
    "    local t = table.pack(...)\n"
    "    for i = 1, t.n do t[i] = tostring(t[i]) end\n"
    "    out[#out + 1] = what .. '=' .. table.concat(t, ',', 1, t.n)\n"
    "  end\n"
    "  add('find', pcall(string.find, s, p, at))\n"
    "  add('plain', pcall(string.find, s, p, at, true))\n"
    "  add('match', pcall(string.match, s, p, at))\n"
    "  add('gsub', pcall(string.gsub, s, p, r))\n"
    "  add('gsub2', pcall(string.gsub, s, p, r, 2))\n"
    "  add('gsubf', pcall(string.gsub, s, p, function(a, b)\n"
    "    return a == 'a' and '<' .. tostring(b) .. '>' end))\n"
    "  add('gsubt', pcall(string.gsub, s, p, {a = 1, b = false, ab = 'X'}))\n"
    "  add('gmatch', pcall(function()\n"
    "    local n = 0\n"
    "    for a, b in string.gmatch(s, p, at) do\n"
    "      add('of', a, b)\n"
    "      n = n + 1\n"
    "      if n > 40 then break end\n"
    "    end\n"
    "  end))\n"
    "  return table.concat(out, '\\n')\n"
    "end\n";

static uint64_t state = 88172645463325252u;

static unsigned
draw(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 11) % n);
}

/* A text of up to `most` pieces. */
static size_t
compose(char *out, const char *const *pieces, unsigned n, unsigned most)
{
    size_t len = 0;
    for (unsigned i = draw(most + 1); i > 0; i--) {
        const char *piece = pieces[draw(n)];
        size_t size = *piece ? strlen(piece) : 1; /* "" is a 0 byte */
        memcpy(out + len, piece, size);
        len += size;
    }
    return len;
}

static const char *const pattern_pieces[] = {
    "a",  "a",  "b",   "c",    "(",     ")",      "(",      ")",   "[",    "]",
    "[^", "%",  "%%",  ".",    "*",     "+",      "-",      "?",   "^",    "$",
    "%a", "%d", "%s",  "%w",   "%u",    "%l",     "%x",     "%p",  "%c",   "%g",
    "%S", "%A", "%W",  "%b()", "%bab",  "%f[%w]", "%f[^a]", "%f",  "%b",   "%1",
    "%2", "()", "(a)", "(.-)", "[a-c]", "[%a_]",  "[^%s]",  "[]]", "[a-]", "%z",
    "",   "1",  " ",   "(a*)", "[%]",   "[b-a]",  "%0",     "%9",  ".-",   ".*",
};
static const char *const subject_pieces[] = {
    "a", "a", "b", "b", "c", "(", ")", "%", "1",  "2",  " ",  "_",
    "A", "Z", "]", "-", ".", "^", "$", "",  "\n", "ab", "\t", "\xc3\xa9",
};
static const char *const replacement_pieces[] = {
    "x", "<", ">", "%0", "%1", "%2", "%%", "%", "%a", "", "yy",
};

#define COUNT(array) (unsigned)(sizeof(array) / sizeof *(array))

/* Run the stock function on the same fields. */
static const char *
ask_stock(lua_State *L, const rlf_lua_field *f, size_t *n)
{
    lua_settop(L, 1);
    lua_pushvalue(L, 1);
    lua_createtable(L, 0, 4);
    for (int i = 0; i < 4; i++) {
        if (f[i].kind == RLF_LUA_NUMBER)
            lua_pushinteger(L, (lua_Integer)f[i].number);
        else
            lua_pushlstring(L, f[i].text.p, f[i].text.n);
        lua_setfield(L, -2, f[i].name);
    }
    if (lua_pcall(L, 1, 1, 0) != LUA_OK)
        bail("stock Lua failed: %s", lua_tostring(L, -1));
    return lua_tolstring(L, -1, n);
}

static rlf_lua_host *
open_host(rlf_arena *arena, const char *source, uint64_t instructions)
{
    static const rlf_lua_give text = {NULL, RLF_LUA_TEXT};
    rlf_err err = RLF_ERR_NONE;
    rlf_lua_spec spec = {.path = "pattern.lua",
                         .source = source,
                         .gives = &text,
                         .n_gives = 1,
                         .instructions = instructions};
    const rlf_lua_program *p;
    rlf_lua_host *host = NULL;
    if (rlf_lua_program_open(arena, &spec, &err, &p) < 0 ||
        rlf_lua_host_new(p, NULL, &err, &host) < 0)
        bail("%s", err.sentence);
    return host;
}

static void
test_random(rlf_arena *arena, lua_State *L, int trials)
{
    rlf_lua_host *host = open_host(arena, program, 0);
    rlf_arena *pool = rlf_arena_new();
    char p[256], s[256], r[64];
    int differ = 0, matched = 0, refused = 0;
    for (int i = 0; i < trials && differ < 5; i++) {
        size_t np = compose(p, pattern_pieces, COUNT(pattern_pieces), 7);
        size_t ns = compose(s, subject_pieces, COUNT(subject_pieces), 12);
        size_t nr =
            compose(r, replacement_pieces, COUNT(replacement_pieces), 3);
        double at = (double)draw(9) - 3;
        const rlf_lua_field f[] = {
            {.name = "pattern", .kind = RLF_LUA_BYTES, .text = {p, np}},
            {.name = "subject", .kind = RLF_LUA_BYTES, .text = {s, ns}},
            {.name = "replacement", .kind = RLF_LUA_BYTES, .text = {r, nr}},
            {.name = "start", .kind = RLF_LUA_NUMBER, .number = at},
        };
        rlf_lua_sample sample = {.fields = f, .n_fields = 4};
        rlf_lua_value value = {0};
        rlf_err err = RLF_ERR_NONE;
        size_t n;
        const char *want = ask_stock(L, f, &n);
        matched += strstr(want, "match=true,nil") == NULL;
        refused += strstr(want, "match=false") != NULL;
        if (rlf_lua_call(host, &sample, 1, pool, &err, &value) < 0) {
            note("%s", err.sentence);
            differ++;
        } else if (value.text.n != n || memcmp(value.text.p, want, n) != 0) {
            note("pattern %.*s subject %.*s\n# stock:\n%.*s\n# ours:\n%.*s",
                 (int)np, p, (int)ns, s, (int)n, want, (int)value.text.n,
                 value.text.p);
            differ++;
        }
        rlf_arena_reset(pool);
    }
    ok(differ == 0, "%d random patterns do as in stock Lua", trials);
    ok(matched > trials / 10 && refused > trials / 100 && refused < trials / 2,
       "of which many match (%d) and some are malformed (%d)", matched,
       refused);
    rlf_arena_free(pool);
    rlf_lua_host_free(host);
}

/* Depths and lengths that random texts do not reach. */
static void
test_deep(rlf_arena *arena, lua_State *L)
{
    static const char *const sources[] = {
        "return tostring(pcall(string.find, ('a'):rep(300), "
        "('a?'):rep(199)))",
        "return tostring(pcall(string.find, ('a'):rep(300), "
        "('a?'):rep(201)))",
        "return tostring(select(2, pcall(string.find, ('a'):rep(300), "
        "('a?'):rep(250))))",
        "return tostring(select(2, pcall(string.find, 'a', ('('):rep(33))))",
        "return tostring(select(2, pcall(string.find, 'a', ('()'):rep(32))))",
        "return table.concat({('x'):rep(5000):find('x*$')}, ',')",
        "return (('k=v, k2=v2'):gsub('(%w+)=(%w+)', '%2=%1'))",
        "return ('THE (quick) fox'):find('%((%a+)%)')",
        "return ('hello world'):gsub('o', {o = '0'})",
        "return ('%d'):gsub('%%d', '%%%%')",
        "return (('abc'):gsub('', '-'))",
        "return table.concat({('  x '):match('^%s*(.-)%s*$')}, '|')",
        "return tostring(select(2, pcall(string.gsub, 'a', 'a', rawlen)))",
        "return tostring(select(2, pcall(string.gsub, 'a', 'a', true)))",
        "return tostring(select(2, pcall(string.gsub, 'a', 'a', function() "
        "return {} end)))",
        "return tostring(select(2, pcall(string.rep)))",
        "return tostring((('x'):rep(10):gsub('x', '%0%0', 3)))",
        "return tostring(('\\0a\\0'):find('%z', 2))",
        "return tostring(('a.b'):find('.', 1, true))",
        "return tostring(('a'):find('', 10)) .. tostring(('a'):find('', 2))",
        "return tostring(string.find(1234, 23))",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "return function() local t = table.pack((function() %s end)())"
                 " for i = 1, t.n do t[i] = tostring(t[i]) end"
                 " return table.concat(t, ' ') end",
                 sources[i]);
        rlf_lua_host *host = open_host(arena, text, 0);
        rlf_lua_sample sample = {0};
        rlf_lua_value value = {0};
        rlf_err err = RLF_ERR_NONE;
        lua_settop(L, 1);
        if (luaL_loadstring(L, text) || lua_pcall(L, 0, 1, 0) ||
            lua_pcall(L, 0, 1, 0))
            bail("stock Lua failed: %s", lua_tostring(L, -1));
        if (rlf_lua_call(host, &sample, 1, arena, &err, &value) < 0)
            value.text = rlf_str_of(err.sentence);
        is_str(value.text.p, lua_tostring(L, -1), sources[i]);
        rlf_lua_host_free(host);
    }
}

/* Patterns that take forever elsewhere end at the budget, soon. */
static void
test_bombs(rlf_arena *arena)
{
    static const char *const bombs[] = {
        "local s = ('a'):rep(28)\nreturn s:find(('a?'):rep(28) .. s .. 'b')",
        "return ('x'):rep(200000):find('.-.-.-b')",
        "return ('x'):rep(30):rep(30):gsub('(x*)*', '')",
        "return ('('):rep(100000):find('%b()')",
        "return ('a'):rep(50000):find(('a'):rep(25000) .. 'b', 1, true)",
        "local s = 'x' .. (' '):rep(100000) .. 'x'\nreturn s:match('%s+$')",
        "for a in ('a'):rep(100000):gmatch('.-b') do end return ''",
    };
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "return function()\nfor i = 1, 1e9 do pcall(function()\n%s\n"
                 "end) end end",
                 bombs[i]);
        rlf_lua_host *host = open_host(arena, text, 1000000);
        rlf_lua_sample sample = {0};
        rlf_lua_value value;
        rlf_err err = RLF_ERR_NONE;
        rlf_status status = rlf_lua_call(host, &sample, 1, arena, &err, &value);
        ok(status == RLF_USER &&
               strstr(err.sentence, "more than 1000000 instructions"),
           "bomb %zu ends at the budget", i + 1);
        if (!strstr(err.sentence, "instructions"))
            note("%s", err.sentence);
        rlf_lua_host_free(host);
    }
}

int
main(void)
{
    rlf_arena *arena = rlf_arena_new();
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    if (luaL_loadbuffer(L, program, strlen(program), "@pattern.lua") ||
        lua_pcall(L, 0, 1, 0))
        bail("%s", lua_tostring(L, -1));
    test_random(arena, L, 30000);
    test_deep(arena, L);
    test_bombs(arena);
    lua_close(L);
    rlf_arena_free(arena);
    return done();
}
