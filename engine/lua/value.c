/* C values to Lua and back: samples as tables, results by their declaration.
 *
 * A sample's table has its numbers and texts from the start; arrays (tokens,
 * pieces, turns) are made when they are first asked for, through a metatable
 * that users cannot see, because most functions never ask. */
#include "engine/lua/internal.h"

#include <math.h>
#include <string.h>

static void
push_number(lua_State *L, double x)
{
    bool minus_0 = x == 0 && signbit(x); /* which no integer is */
    if (x == floor(x) && fabs(x) <= 9007199254740992.0 && !minus_0)
        lua_pushinteger(L, (lua_Integer)x);
    else
        lua_pushnumber(L, x);
}

static bool
is_array(const rlf_lua_field *f)
{
    return f->kind >= RLF_LUA_INTS;
}

static void
push_field(lua_State *L, const rlf_lua_field *f)
{
    luaL_checkstack(L, 6, "turns in turns in turns");
    switch (f->kind) {
    case RLF_LUA_NUMBER:
        push_number(L, f->number);
        break;
    case RLF_LUA_BYTES:
        lua_pushlstring(L, f->text.p ? f->text.p : "", f->text.n);
        break;
    case RLF_LUA_BOOL:
        lua_pushboolean(L, f->flag);
        break;
    case RLF_LUA_INTS:
        lua_createtable(L, (int)f->ints.n, 0);
        for (size_t i = 0; i < f->ints.n; i++) {
            lua_pushinteger(L, f->ints.p[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case RLF_LUA_TEXTS:
        lua_createtable(L, (int)f->texts.n, 0);
        for (size_t i = 0; i < f->texts.n; i++) {
            rlf_str s = f->texts.p[i];
            lua_pushlstring(L, s.p ? s.p : "", s.n);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    case RLF_LUA_LIST:
        lua_createtable(L, (int)f->list.n, 0);
        for (size_t i = 0; i < f->list.n; i++) {
            rlf_lua_push_record(L, &f->list.p[i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        break;
    }
    if (is_array(f)) {
        lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_array);
        lua_setmetatable(L, -2);
    }
}

void
rlf_lua_push_record(lua_State *L, const rlf_lua_record *record)
{
    lua_createtable(L, 0, (int)record->n);
    for (size_t i = 0; i < record->n; i++) {
        push_field(L, &record->fields[i]);
        lua_setfield(L, -2, record->fields[i].name);
    }
}

void
rlf_lua_push_sample(lua_State *L, size_t slot)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_lua_sample *s = &host->call.samples[slot];
    lua_createtable(L, 0, (int)s->n_fields + (host->call.n > 1));
    for (size_t i = 0; i < s->n_fields; i++) {
        if (is_array(&s->fields[i]))
            continue;
        push_field(L, &s->fields[i]);
        lua_setfield(L, -2, s->fields[i].name);
    }
    if (host->program->per == RLF_LUA_PER_STEP) {
        lua_pushinteger(L, s->step);
        lua_setfield(L, -2, "step");
    }
    if (host->call.n > 1) {
        lua_pushinteger(L, (lua_Integer)slot);
        lua_rawsetp(L, -2, &rlf_lua_key_slot);
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_lazy);
    lua_setmetatable(L, -2);
}

static const rlf_lua_sample *
sample_of(lua_State *L, int index)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    lua_rawgetp(L, index, &rlf_lua_key_slot);
    size_t slot = (size_t)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return &host->call.samples[slot];
}

/* A field that no sample of the run has is a slip: nil would make a reward 0
 * without a word. rawget asks. */
_Noreturn static void
fail_field(lua_State *L, const rlf_lua_sample *s, const char *name)
{
    const char **names =
        lua_newuserdatauv(L, (s->n_fields + 1) * sizeof *names, 0);
    luaL_Buffer all;
    luaL_buffinit(L, &all);
    for (size_t i = 0; i < s->n_fields; i++) {
        names[i] = s->fields[i].name;
        luaL_addstring(&all, i ? ", " : "");
        luaL_addstring(&all, names[i]);
    }
    luaL_pushresult(&all);
    const char *near = rlf_str_nearest(name, names, s->n_fields);
    const char *hint =
        near ? lua_pushfstring(L, "did you mean '%s'? It has %s", near,
                               lua_tostring(L, -1))
             : lua_pushfstring(L,
                               "it has %s; rawget(sample, \"%s\") is nil where "
                               "there is none",
                               lua_tostring(L, -1), name);
    rlf_lua_error(L, hint, "the sample has no field '%s'", name);
    __builtin_unreachable();
}

/* One sample is taken for a list of samples, as hooks of other programs are
 * given: nil would end the loop over it, and make a reward 0 without a word. */
_Noreturn static void
fail_list(lua_State *L, const char *wrong)
{
    switch (rlf_lua_host_of(L)->program->per) {
    case RLF_LUA_PER_SAMPLE:
        rlf_lua_error(L,
                      "it is one sample, whose fields have names, as in "
                      "sample.response; a list of all samples of a prompt is "
                      "what a hook with per: group gets",
                      "the sample %s", wrong);
    case RLF_LUA_PER_STEP:
        rlf_lua_error(L, "what the call passes has names, as in fields.step",
                      "the argument %s", wrong);
    default:
        rlf_lua_error(L, "its fields have names, as in samples[1].response",
                      "the sample %s", wrong);
    }
    __builtin_unreachable();
}

/* __len of a sample's table. */
static int
sample_length(lua_State *L)
{
    fail_list(L, "is no list and has no length #");
}

/* __index of a sample's table. */
static int
lazy_index(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TNUMBER)
        fail_list(L, lua_pushfstring(L, "is no list and has no element %s",
                                     rlf_lua_text(L, 2, NULL)));
    if (lua_type(L, 2) != LUA_TSTRING)
        fail_list(L, lua_pushfstring(L, "has no field whose name is a %s",
                                     luaL_typename(L, 2)));
    const char *name = lua_tostring(L, 2);
    const rlf_lua_sample *s = sample_of(L, 1);
    for (size_t i = 0; i < s->n_fields; i++) {
        if (!is_array(&s->fields[i]) || strcmp(s->fields[i].name, name) != 0)
            continue;
        push_field(L, &s->fields[i]);
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_rawset(L, 1);
        return 1;
    }
    if (strcmp(name, "turns") != 0) /* reserved: nil in this version */
        fail_field(L, s, name);
    return 0;
}

void
rlf_lua_complete(lua_State *L, int index)
{
    index = lua_absindex(L, index);
    if (!lua_getmetatable(L, index))
        return;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_lazy);
    bool sample = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    if (!sample)
        return;
    const rlf_lua_sample *s = sample_of(L, index);
    for (size_t i = 0; i < s->n_fields; i++) {
        if (!is_array(&s->fields[i]))
            continue;
        lua_pushstring(L, s->fields[i].name);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, index) == LUA_TNIL) {
            lua_pop(L, 1);
            push_field(L, &s->fields[i]);
            lua_rawset(L, index);
        } else {
            lua_pop(L, 2);
        }
    }
}

/* nil for an element past an array's end, where loops end; an error for what
 * is before it and between elements, and would be nil for ever. */
static int
no_element(lua_State *L)
{
    if (lua_isinteger(L, 2) && lua_tointeger(L, 2) > 0)
        return 0;
    rlf_lua_error(L, "elements have the numbers 1 to #x",
                  "there is no element %s: arrays begin at 1",
                  rlf_lua_text(L, 2, NULL));
}

/* __index of the parts of a text, to which a hook may give fields of its own. */
static int
parts_index(lua_State *L)
{
    return lua_type(L, 2) == LUA_TNUMBER ? no_element(L) : 0;
}

static const char key_parts;

void
rlf_lua_mark_parts(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_parts);
    lua_setmetatable(L, -2);
}

bool
rlf_lua_is_array(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_array);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &key_parts);
    bool same = lua_rawequal(L, -2, -3) || lua_rawequal(L, -1, -3);
    lua_pop(L, 3);
    return same;
}

/* __index of an array of a sample: tokens, pieces, turns. */
static int
array_index(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TNUMBER)
        return no_element(L);
    if (lua_type(L, 2) != LUA_TSTRING)
        rlf_lua_error(L, NULL, "an array has no field whose name is a %s",
                      luaL_typename(L, 2));
    rlf_lua_error(L, "its length is #x, its elements are x[1] to x[#x]",
                  "an array has no field '%s'", lua_tostring(L, 2));
}

/* __index of a list of samples or messages. */
static int
list_index(lua_State *L)
{
    if (lua_type(L, 2) == LUA_TNUMBER)
        return no_element(L);
    bool template = rlf_lua_host_of(L)->program->per == RLF_LUA_PER_TEMPLATE;
    const char *each = template ? "message" : "sample";
    if (lua_type(L, 2) != LUA_TSTRING)
        rlf_lua_error(L, NULL,
                      "the list of %ss has no field whose name is a %s", each,
                      luaL_typename(L, 2));
    const char *name = lua_tostring(L, 2);
    const char *hint =
        lua_pushfstring(L,
                        "each %s has its own: for i, %s in ipairs(%ss) do ... "
                        "%s.%s ... end",
                        each, each, each, each, name);
    rlf_lua_error(L, hint, "the list of %ss has no field '%s'", each, name);
}

void
rlf_lua_push_list(lua_State *L, size_t n)
{
    lua_createtable(L, (int)n, 0);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &rlf_lua_key_list);
    lua_setmetatable(L, -2);
}

/* The metatable at `key`, which users do not see; `length` may be NULL. */
static void
open_meta(lua_State *L, const void *key, lua_CFunction index,
          lua_CFunction length)
{
    lua_createtable(L, 0, 3);
    lua_pushcfunction(L, index);
    lua_setfield(L, -2, "__index");
    if (length) {
        lua_pushcfunction(L, length);
        lua_setfield(L, -2, "__len");
    }
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void
rlf_lua_open_value(lua_State *L)
{
    open_meta(L, &rlf_lua_key_lazy, lazy_index, sample_length);
    open_meta(L, &rlf_lua_key_list, list_index, NULL);
    open_meta(L, &rlf_lua_key_array, array_index, NULL);
    open_meta(L, &key_parts, parts_index, NULL);
}

/* ------------------------------------------------------------- results */

/* The source of a result, for messages. */
typedef struct taker {
    lua_State *L;
    const rlf_lua_program *program;
    rlf_arena *arena;
    size_t sample; /* from 1, in a group or batch; 0: the only one */
    size_t length; /* of the response */
    bool none;     /* nothing was returned */
    const char *lacks; /* the fields that a table has which is without `name`:
                        * "the table has only a and b"; else NULL */
    const char *name;
} taker;

/* Raise "file:line: the result is nil, not a number", where the line is that of
 * the function. */
_Noreturn static void
refuse(const taker *t, const rlf_lua_give *give, const char *hint,
       const char *fmt, ...)
{
    lua_State *L = t->L;
    lua_Debug ar;
    lua_rawgeti(L, LUA_REGISTRYINDEX, rlf_lua_host_of(L)->function);
    lua_getinfo(L, ">S", &ar);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    lua_pushfstring(L, "%s:%d: ", ar.source + 1, ar.linedefined);
    luaL_addvalue(&b);
    if (give && give->name)
        lua_pushfstring(L, "result '%s' ", give->name);
    else
        lua_pushliteral(L, "the result ");
    luaL_addvalue(&b);
    if (t->sample) {
        lua_pushfstring(L, "for element %d ", (int)t->sample);
        luaL_addvalue(&b);
    }
    va_list ap;
    va_start(ap, fmt);
    lua_pushvfstring(L, fmt, ap);
    va_end(ap);
    luaL_addvalue(&b);
    if (hint)
        luaL_addstring(&b, "\nhint: ");
    luaL_addstring(&b, hint ? hint : "");
    luaL_pushresult(&b);
    lua_error(L);
    __builtin_unreachable();
}

/* An integer that the program's numbers, which have 53 bits, do not keep. */
static bool
is_rounded(lua_State *L, int index)
{
    if (!lua_isinteger(L, index))
        return false;
    double x = lua_tonumber(L, index);
    return x >= 0x1p63 || (lua_Integer)x != lua_tointeger(L, index);
}

/* "nil", "a table", "NaN"...; it may push what it gives. */
static const char *
what(lua_State *L, int index)
{
    switch (lua_type(L, index)) {
    case LUA_TNONE:
    case LUA_TNIL:
        return "nil";
    case LUA_TBOOLEAN:
        return lua_toboolean(L, index) ? "true" : "false";
    case LUA_TSTRING:
        return "a text";
    case LUA_TTABLE:
        return "a table";
    case LUA_TFUNCTION:
        return "a function";
    case LUA_TTHREAD:
        return "a coroutine";
    case LUA_TNUMBER: {
        double x = lua_tonumber(L, index);
        if (is_rounded(L, index))
            return lua_pushfstring(L, "the integer %I",
                                   (LUAI_UACINT)lua_tointeger(L, index));
        if (isfinite(x))
            return "a number";
        return isnan(x) ? "NaN" : x > 0 ? "infinite" : "minus infinity";
    }
    default:
        return "no number";
    }
}

static bool
is_number(lua_State *L, int index)
{
    return lua_type(L, index) == LUA_TNUMBER &&
           isfinite(lua_tonumber(L, index)) && !is_rounded(L, index);
}

#define ROUNDED_HINT                                                      \
    "numbers of the program have 53 bits: return a smaller one, x + 0.0 " \
    "where "                                                              \
    "it may be rounded, or the digits as a text"

/* The kind of number that a message asks for in place of this value. */
static const char *
wanted(lua_State *L, int index)
{
    if (lua_type(L, index) != LUA_TNUMBER)
        return "a number";
    return is_rounded(L, index) ? "a number of up to 2^53" : "a finite number";
}

#define NIL_HINT                                                             \
    "tonumber and rlf.number give nil for a text that is no number, and so " \
    "do "                                                                    \
    "a match that fails and an element or a variable without a value: "      \
    "return x or %s, or declare the hook with on_error:"

/* A hint about a nil that was declared to be a number, or a text. */
static const char *
nil_hint(const taker *t, const char *instead)
{
    lua_State *L = t->L;
    if (t->none)
        return "every way through the function must end in a return";
    if (!t->lacks)
        return lua_pushfstring(L, NIL_HINT, instead);
    return lua_pushfstring(L,
                           "%s: give it %s, as in %s = x or %s, for tonumber, "
                           "rlf.number and a match that fails give nil",
                           t->lacks, t->name, t->name, instead);
}

static const char *
number_hint(const taker *t, int index)
{
    switch (t->none ? LUA_TNONE : lua_type(t->L, index)) {
    case LUA_TBOOLEAN:
        return "write: return condition and 1 or 0";
    case LUA_TSTRING:
        return "tonumber(text) makes a number of it";
    case LUA_TNONE:
    case LUA_TNIL:
        return nil_hint(t, "0");
    case LUA_TNUMBER:
        return is_rounded(t->L, index) ? ROUNDED_HINT
                                       : "0 / 0, x / 0 and math.log(0) give such: "
                                         "compare before you divide";
    case LUA_TTABLE:
        return "several results need names in the program: hook h = "
               "lua(...) -> (right, style)";
    default:
        return NULL;
    }
}

/* Refuse an array that has more than its n elements, of which none is nil:
 * they would be lost, and perhaps all stand one place too late. */
static void
check_array(const taker *t, const rlf_lua_give *give, int index, size_t n)
{
    lua_State *L = t->L;
    size_t keys = rlf_lua_keys(L, index);
    for (size_t i = 1; i <= keys && keys > n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        lua_Integer k = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (k < 1 || k > (lua_Integer)n)
            refuse(t, give, "arrays begin at 1, and have no other fields",
                   "has an element '%s' beside its %d",
                   rlf_lua_text(L, -1, NULL), (int)n);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void
take_tokens(const taker *t, const rlf_lua_give *give, int index,
            rlf_lua_value *out)
{
    lua_State *L = t->L;
    if (lua_type(L, index) != LUA_TTABLE)
        refuse(t, give, "return an array with one number per response token",
               "is %s, not an array of numbers", what(L, index));
    lua_Integer n = luaL_len(L, index);
    if (n != (lua_Integer)t->length)
        refuse(t, give,
               "it must have one number for each of sample.tokens, of which "
               "there are sample.length",
               "has %d numbers for a response of %d tokens", (int)n,
               (int)t->length);
    double *x = rlf_lua_room(L, t->arena, t->length * sizeof *x);
    rlf_lua_charge(L, t->length);
    for (size_t i = 0; i < t->length; i++) {
        lua_geti(L, index, (lua_Integer)i + 1);
        int x_i = lua_gettop(L);
        if (!is_number(L, x_i))
            refuse(t, give, number_hint(t, x_i), "is %s at token %d, not %s",
                   what(L, x_i), (int)i + 1,
                   is_rounded(L, x_i) ? wanted(L, x_i) : "a finite number");
        x[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    check_array(t, give, index, t->length);
    out->tokens = x;
    out->n_tokens = t->length;
}

static void
take_value(const taker *t, const rlf_lua_give *give, int index,
           rlf_lua_value *out)
{
    lua_State *L = t->L;
    *out = (rlf_lua_value){0};
    switch (give->level) {
    case RLF_LUA_SCALAR:
    case RLF_LUA_SAMPLE:
        if (!is_number(L, index))
            refuse(t, give, number_hint(t, index), "is %s, not %s",
                   what(L, index), wanted(L, index));
        out->number = lua_tonumber(L, index);
        break;
    case RLF_LUA_TOKEN:
        take_tokens(t, give, index, out);
        break;
    case RLF_LUA_TEXT: {
        if (t->program->per == RLF_LUA_PER_TURN && lua_isnil(L, index)) {
            out->none = true;
            break;
        }
        if (lua_type(L, index) != LUA_TSTRING)
            refuse(t, give, lua_isnil(L, index) ? nil_hint(t, "\"\"") : NULL,
                   "is %s, not a text", what(L, index));
        size_t n;
        const char *text = lua_tolstring(L, index, &n);
        if (n > t->program->text)
            refuse(t, give,
                   "raise max_text: of the hook, for which memory is planned, "
                   "or return less",
                   "has %I bytes, more than max_text: %I", (LUAI_UACINT)n,
                   (LUAI_UACINT)t->program->text);
        out->text = rlf_lua_keep(L, t->arena, text, n);
        break;
    }
    }
}

/* A hint about a field of the table at `index` that was not declared: it
 * may be meant for a declared one that the table lacks. */
static const char *
field_hint(const taker *t, int index, const char *key, bool number)
{
    lua_State *L = t->L;
    const rlf_lua_program *p = t->program;
    const char **names = lua_newuserdatauv(L, p->n_gives * sizeof *names, 0);
    size_t n = 0;
    for (size_t g = 0; g < p->n_gives; g++) {
        if (lua_getfield(L, index, p->gives[g].name) == LUA_TNIL)
            names[n++] = p->gives[g].name;
        lua_pop(L, 1);
    }
    if (number)
        return lua_pushfstring(L,
                               "name the values, as in { %s = x }, or return "
                               "them without braces, in the declared order",
                               p->gives[0].name);
    const char *near = rlf_str_nearest(key, names, n);
    if (near)
        return lua_pushfstring(L, "did you mean '%s'?", near);
    return "name it after -> in the hook's declaration, or leave it out";
}

/* Refuse fields that were not declared: a slip, or a result that would be
 * lost. */
static void
check_fields(const taker *t, int index)
{
    lua_State *L = t->L;
    const rlf_lua_program *p = t->program;
    size_t n = rlf_lua_keys(L, index);
    for (size_t i = 1; i <= n; i++) {
        bool number = lua_rawgeti(L, -1, (lua_Integer)i) == LUA_TNUMBER;
        const char *key = rlf_lua_text(L, -1, NULL);
        bool found = false;
        for (size_t g = 0; g < p->n_gives; g++)
            found = found || strcmp(p->gives[g].name, key) == 0;
        if (!found)
            refuse(t, NULL, field_hint(t, index, key, number),
                   "has a field '%s' that the hook does not declare", key);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* "the table has only a and b": those of the declared fields. */
static const char *
present(const taker *t, int index)
{
    lua_State *L = t->L;
    const rlf_lua_program *p = t->program;
    size_t n = 0;
    lua_pushliteral(L, "the table has only ");
    for (size_t g = 0; g < p->n_gives; g++) {
        if (lua_getfield(L, index, p->gives[g].name) == LUA_TNIL) {
            lua_pop(L, 1);
            continue;
        }
        lua_pop(L, 1);
        lua_pushfstring(L, "%s%s", n++ ? ", " : "", p->gives[g].name);
        lua_concat(L, 2);
    }
    return n ? lua_tostring(L, -1) : "the table is empty";
}

/* Named results: a table with one field for each. */
static void
take_fields(const taker *t, int index, rlf_lua_value *out)
{
    lua_State *L = t->L;
    const rlf_lua_program *p = t->program;
    check_fields(t, index);
    for (size_t g = 0; g < p->n_gives; g++) {
        taker own = *t;
        int value = lua_gettop(L) + 1;
        if (lua_getfield(L, index, p->gives[g].name) == LUA_TNIL) {
            own.name = p->gives[g].name;
            own.lacks = present(t, index);
        }
        take_value(&own, &p->gives[g], value, &out[g]);
        lua_settop(L, value - 1);
    }
}

/* One sample's results from the n values at first. */
static void
take_one(const taker *t, int first, int n, rlf_lua_value *out)
{
    lua_State *L = t->L;
    const rlf_lua_program *p = t->program;
    taker nothing = *t;
    bool table = n == 1 && lua_istable(L, first);
    if (table && p->gives[0].name) {
        bool record = p->n_gives > 1 || p->gives[0].level != RLF_LUA_TOKEN ||
                      lua_getfield(L, first, p->gives[0].name) != LUA_TNIL;
        if (record) {
            lua_settop(L, first);
            take_fields(t, first, out);
            return;
        }
        lua_settop(L, first);
    }
    if (n == 0 && p->n_gives == 1) {
        lua_pushnil(L);
        n = 1;
        nothing.none = true;
        t = &nothing;
    }
    if (n != (int)p->n_gives)
        refuse(t, NULL,
               p->n_gives > 1 ? "return a table with the declared fields, or "
                                "the values in the declared order"
                              : "declare names for them: -> (a, b); or put the "
                                "call in parentheses to keep its first value",
               "has %d value%s where %d %s declared", n, n == 1 ? "" : "s",
               (int)p->n_gives, p->n_gives == 1 ? "is" : "are");
    for (int g = 0; g < n; g++)
        take_value(t, &p->gives[g], first + g, &out[g]);
}

void
rlf_lua_take(lua_State *L, int first, int n, rlf_arena *arena,
             rlf_lua_value *out)
{
    const rlf_lua_host *host = rlf_lua_host_of(L);
    const rlf_lua_program *p = host->program;
    taker t = {.L = L, .program = p, .arena = arena};
    luaL_checkstack(L, 16, NULL);
    if (p->per != RLF_LUA_PER_GROUP && p->per != RLF_LUA_PER_BATCH) {
        t.length = host->call.samples[0].length;
        take_one(&t, first, n, out);
        return;
    }
    const char *hint = "return an array with one result for each sample, in "
                       "the order of the argument";
    if (n != 1 || !lua_istable(L, first))
        refuse(&t, NULL, hint, "is %s, not an array of results",
               n > 1 ? "more than one value" : what(L, first));
    lua_Integer count = luaL_len(L, first);
    if (count != (lua_Integer)host->call.n)
        refuse(&t, NULL, hint, "has %d elements for %d samples", (int)count,
               (int)host->call.n);
    for (size_t i = 0; i < host->call.n; i++) {
        t.sample = i + 1;
        t.length = host->call.samples[i].length;
        lua_geti(L, first, (lua_Integer)i + 1);
        take_one(&t, first + 1, 1, &out[i * p->n_gives]);
        lua_settop(L, first);
    }
    t.sample = 0;
    check_array(&t, NULL, first, host->call.n);
}

/* -------------------------------------------------------------- buffer */

void
rlf_lua_bytes_init(lua_State *L, rlf_lua_bytes *bytes)
{
    lua_pushnil(L);
    *bytes = (rlf_lua_bytes){.L = L, .slot = lua_gettop(L)};
}

char *
rlf_lua_bytes_room(rlf_lua_bytes *bytes, size_t n)
{
    if (bytes->room - bytes->n < n || !bytes->p) {
        size_t room = 2 * bytes->room + n + 64;
        char *p = lua_newuserdatauv(bytes->L, room, 0);
        if (bytes->n)
            memcpy(p, bytes->p, bytes->n);
        lua_replace(bytes->L, bytes->slot);
        bytes->p = p;
        bytes->room = room;
    }
    return bytes->p + bytes->n;
}

void
rlf_lua_bytes_add(rlf_lua_bytes *bytes, const char *p, size_t n)
{
    if (n)
        memcpy(rlf_lua_bytes_room(bytes, n), p, n);
    bytes->n += n;
}

void
rlf_lua_bytes_push(const rlf_lua_bytes *bytes)
{
    lua_pushlstring(bytes->L, bytes->p ? bytes->p : "", bytes->n);
}
