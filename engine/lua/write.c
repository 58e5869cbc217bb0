/* Values as Lua source would have them, for people who follow a call (trace.c):
 * 12, "a text", {1, 2, name = "x"}. Bounded: long texts are cut, of a table the
 * first fields are there, one level deep, in the order of `pairs`.
 *
 * This runs in a hook, between two instructions of a call that must not notice:
 * nothing is made in the state, no metamethod is called, and no number is made
 * a text in place. */
#include "engine/base/vec.h"
#include "engine/lua/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MOST = 200,      /* bytes of a text that are shown, */
    FIELD_MOST = 60,      /* of one in a table */
    FIELDS = 12,          /* fields of a table that are shown */
    ENTRIES_MOST = 10000, /* entries of a table that are looked at */
    EDGE = 512,           /* bytes at both ends of a text that are compared */
};

/* ------------------------------------------------------------- digests */

static uint64_t
mix(uint64_t h, const void *p, size_t n)
{
    const unsigned char *at = p;
    for (size_t i = 0; i < n; i++)
        h = (h ^ at[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

/* The text at `index`, which is one (a number would become one). */
static rlf_str
text_at(lua_State *L, int index)
{
    rlf_str text;
    text.p = lua_tolstring(L, index, &text.n);
    return text;
}

/* A digest of a value, of a table by its address. */
static uint64_t
digest(lua_State *L, int index)
{
    int type = lua_type(L, index);
    uint64_t h = mix(0xcbf29ce484222325u, &type, sizeof type);
    if (type == LUA_TSTRING) {
        rlf_str text = text_at(L, index);
        size_t n = text.n < EDGE ? text.n : EDGE;
        h = mix(mix(h, &text.n, sizeof text.n), text.p, n);
        return mix(h, text.p + text.n - n, n);
    }
    if (lua_isinteger(L, index)) {
        lua_Integer i = lua_tointeger(L, index);
        return mix(~h, &i, sizeof i);
    }
    if (type == LUA_TNUMBER) {
        lua_Number x = lua_tonumber(L, index);
        return mix(h, &x, sizeof x);
    }
    if (type == LUA_TBOOLEAN)
        return h + (uint64_t)lua_toboolean(L, index);
    const void *at = lua_topointer(L, index);
    return mix(h, &at, sizeof at);
}

/* ------------------------------------------------------- what is no table */

static void
put_text(rlf_buf *out, rlf_str text, size_t most)
{
    size_t n = text.n > most ? rlf_str_cut(text, most) : text.n;
    rlf_buf_putc(out, '"');
    for (size_t i = 0; i < n;) {
        unsigned char c = (unsigned char)text.p[i];
        size_t bytes = rlf_str_utf8(text.p + i, n - i);
        if (c == '"' || c == '\\')
            rlf_buf_printf(out, "\\%c", c);
        else if (c == '\n' || c == '\t' || c == '\r')
            rlf_buf_puts(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        else if (c < ' ' || c == 127)
            rlf_buf_printf(out, "\\%03d", c);
        else if (bytes)
            rlf_buf_add(out, text.p + i, bytes);
        else
            rlf_buf_printf(out, "\\x%02X", c);
        i += bytes ? bytes : 1;
    }
    rlf_buf_putc(out, '"');
    if (n < text.n)
        rlf_buf_printf(out, "... (%zu bytes)", text.n);
}

/* As tostring has it: in 14 digits, or as many as it takes. */
static void
put_float(rlf_buf *out, lua_Number x)
{
    char text[40];
    int digits = 14;
    do
        snprintf(text, sizeof text, "%.*g", digits, x);
    while (isfinite(x) && strtod(text, NULL) != x && digits++ < 17);
    rlf_buf_puts(out, text);
    if (!text[strspn(text, "-0123456789")])
        rlf_buf_puts(out, ".0");
}

static void
put_function(lua_State *L, int index, rlf_buf *out)
{
    lua_Debug ar;
    lua_pushvalue(L, index);
    lua_getinfo(L, ">S", &ar);
    rlf_buf_puts(out, "function");
    if (*ar.what != 'C')
        rlf_buf_printf(out, " %s:%d", ar.short_src, ar.linedefined);
}

/* The table that has the contents, on top: a frozen one has them elsewhere. */
static void
push_contents(lua_State *L, int index)
{
    if (!rlf_lua_contents(L, index))
        lua_pushvalue(L, index);
}

/* A value; a table only as {} or {...}. */
static void
put_flat(lua_State *L, int index, size_t most, rlf_buf *out)
{
    switch (lua_type(L, index)) {
    case LUA_TNIL:
        rlf_buf_puts(out, "nil");
        break;
    case LUA_TBOOLEAN:
        rlf_buf_puts(out, lua_toboolean(L, index) ? "true" : "false");
        break;
    case LUA_TNUMBER:
        if (lua_isinteger(L, index))
            rlf_buf_printf(out, "%" PRId64, (int64_t)lua_tointeger(L, index));
        else
            put_float(out, lua_tonumber(L, index));
        break;
    case LUA_TSTRING:
        put_text(out, text_at(L, index), most);
        break;
    case LUA_TTABLE: {
        push_contents(L, index);
        lua_pushnil(L);
        bool any = lua_next(L, -2);
        lua_pop(L, any ? 3 : 1);
        rlf_buf_puts(out, any ? "{...}" : "{}");
        break;
    }
    case LUA_TFUNCTION:
        put_function(L, index, out);
        break;
    case LUA_TTHREAD:
        rlf_buf_puts(out, "coroutine");
        break;
    case LUA_TLIGHTUSERDATA: /* the only one that hooks see */
        rlf_buf_puts(out, "rlf.null");
        break;
    default:
        rlf_buf_puts(out, "regex");
    }
}

/* -------------------------------------------------------------- tables */

/* The key of a field. Texts are those of Lua, good while the table is. */
typedef struct field_key {
    int rank; /* in the order of pairs: numbers, texts, booleans, others */
    bool integer;
    lua_Integer i; /* an integer, or a boolean */
    lua_Number x;
    rlf_str text;
} field_key;

typedef struct shown_field {
    field_key key;
    rlf_buf text; /* the value */
} shown_field;

static field_key
key_at(lua_State *L, int index)
{
    field_key key = {.rank = 3};
    switch (lua_type(L, index)) {
    case LUA_TNUMBER:
        key.rank = 0;
        key.integer = lua_isinteger(L, index);
        if (key.integer)
            key.i = lua_tointeger(L, index);
        key.x = lua_tonumber(L, index);
        break;
    case LUA_TSTRING:
        key.rank = 1;
        key.text = text_at(L, index);
        break;
    case LUA_TBOOLEAN:
        key.rank = 2;
        key.i = lua_toboolean(L, index);
        break;
    default:
        break;
    }
    return key;
}

static int
compare_keys(const field_key *a, const field_key *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == 1) {
        size_t n = a->text.n < b->text.n ? a->text.n : b->text.n;
        int c = memcmp(a->text.p, b->text.p, n);
        return c ? c : (a->text.n > b->text.n) - (a->text.n < b->text.n);
    }
    if (a->integer && b->integer)
        return (a->i > b->i) - (a->i < b->i);
    if (a->rank == 0)
        return (a->x > b->x) - (a->x < b->x);
    return (a->i > b->i) - (a->i < b->i);
}

static bool
is_name(rlf_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return text.n > 0;
}

static void
put_bracketed(rlf_buf *out, const field_key *key)
{
    rlf_buf_putc(out, '[');
    if (key->rank == 1)
        put_text(out, key->text, FIELD_MOST);
    else if (key->integer)
        rlf_buf_printf(out, "%" PRId64, (int64_t)key->i);
    else if (key->rank == 0)
        put_float(out, key->x);
    else if (key->rank == 2)
        rlf_buf_puts(out, key->i ? "true" : "false");
    else
        rlf_buf_puts(out, "...");
    rlf_buf_putc(out, ']');
}

/* As it stands in the table. `place`: the field is the place-th one that is
 * shown, from 1; an element at this place needs no key. */
static void
put_key(rlf_buf *out, const field_key *key, size_t place)
{
    if (key->integer && key->i == (lua_Integer)place)
        return;
    if (key->rank == 1 && is_name(key->text))
        rlf_buf_add(out, key->text.p, key->text.n);
    else
        put_bracketed(out, key);
    rlf_buf_puts(out, " = ");
}

/* As it stands behind the table's name. */
static void
put_field_name(rlf_buf *out, const field_key *key)
{
    if (key->rank == 1 && is_name(key->text)) {
        rlf_buf_putc(out, '.');
        rlf_buf_add(out, key->text.p, key->text.n);
    } else {
        put_bracketed(out, key);
    }
}

/* Put the field on top (its key below its value) among the first ones. */
static void
keep_field(lua_State *L, shown_field *first, size_t *n)
{
    field_key key = key_at(L, -2);
    size_t at = *n;
    while (at > 0 && compare_keys(&key, &first[at - 1].key) < 0)
        at--;
    if (at == FIELDS)
        return;
    size_t last = *n < FIELDS ? (*n)++ : FIELDS - 1;
    shown_field field = first[last];
    memmove(first + at + 1, first + at, (last - at) * sizeof *first);
    field.key = key;
    rlf_buf_clear(&field.text);
    put_flat(L, lua_gettop(L), FIELD_MOST, &field.text);
    first[at] = field;
}

/* Is the field on top one of the host's own, which no hook sees? */
static bool
is_own(lua_State *L)
{
    return lua_type(L, -2) == LUA_TLIGHTUSERDATA;
}

/* Returns a digest of all that is in the table at `index`. */
static uint64_t
put_table(lua_State *L, int index, rlf_buf *out)
{
    shown_field first[FIELDS] = {0};
    size_t n = 0, count = 0;
    uint64_t all = 0;
    push_contents(L, index);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (is_own(L)) {
            lua_pop(L, 1);
            continue;
        }
        if (++count > ENTRIES_MOST) {
            lua_pop(L, 2);
            break;
        }
        uint64_t pair[] = {digest(L, -2), digest(L, -1)};
        all += mix(0xcbf29ce484222325u, pair, sizeof pair);
        keep_field(L, first, &n);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    bool some = count > ENTRIES_MOST; /* elements come before other fields */
    size_t shown = 0;
    rlf_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        const field_key *key = &first[i].key;
        if (!some || (key->integer && key->i == (lua_Integer)i + 1)) {
            rlf_buf_puts(out, shown++ ? ", " : "");
            put_key(out, key, i + 1);
            rlf_buf_add(out, first[i].text.p, first[i].text.n);
        }
        rlf_buf_free(&first[i].text);
    }
    if (shown < count)
        rlf_buf_printf(out, "%s... %s%zu more", shown ? ", " : "",
                       some ? "over " : "",
                       (some ? ENTRIES_MOST : count) - shown);
    rlf_buf_putc(out, '}');
    return all;
}

void
rlf_lua_put_member(rlf_buf *members, const char *name, const rlf_buf *value)
{
    rlf_buf_puts(members, members->n ? "," : "");
    rlf_buf_json(members, name, strlen(name));
    rlf_buf_putc(members, ':');
    rlf_buf_json(members, value->p ? value->p : "", value->n);
}

uint64_t
rlf_lua_write(lua_State *L, int index, rlf_buf *out)
{
    size_t before = out->n;
    uint64_t all = digest(L, index);
    index = lua_absindex(L, index);
    if (lua_type(L, index) == LUA_TTABLE)
        all = put_table(L, index, out);
    else
        put_flat(L, index, TEXT_MOST, out);
    return mix(all, out->p + before, out->n - before);
}

/* ------------------------------------------------------------- changes */

static int
by_key(const void *a, const void *b)
{
    uint64_t x = ((const rlf_lua_entry *)a)->key;
    uint64_t y = ((const rlf_lua_entry *)b)->key;
    return (x > y) - (x < y);
}

void
rlf_lua_note_fields(lua_State *L, int index, rlf_lua_fields *out)
{
    out->count = 0;
    out->table = lua_topointer(L, index);
    if (lua_type(L, index) != LUA_TTABLE)
        return;
    push_contents(L, index);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (!is_own(L))
            RLF_PUSH(out, (rlf_lua_entry){digest(L, -2), digest(L, -1)});
        lua_pop(L, 1);
        if (out->count > ENTRIES_MOST) {
            lua_pop(L, 1);
            out->count = 0;
            break;
        }
    }
    lua_pop(L, 1);
    if (out->count <= FIELDS)
        out->count = 0;
    if (out->count)
        qsort(out->data, out->count, sizeof *out->data, by_key);
}

/* Put the fields that were not there `before`, or are others, among the first
 * ones; SIZE_MAX: there are more, or some are gone. */
static size_t
changed_fields(lua_State *L, int index, const rlf_lua_fields *before,
               shown_field *first)
{
    size_t n = 0, changed = 0, old = 0;
    push_contents(L, index);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        rlf_lua_entry now = {digest(L, -2), digest(L, -1)};
        const rlf_lua_entry *had =
            bsearch(&now, before->data, before->count, sizeof now, by_key);
        old += had != NULL;
        if (!is_own(L) && (!had || had->value != now.value)) {
            changed++;
            keep_field(L, first, &n);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return changed > FIELDS || old < before->count ? SIZE_MAX : n;
}

bool
rlf_lua_write_changes(lua_State *L, int index, const char *name,
                      const rlf_lua_fields *before, rlf_buf *members)
{
    shown_field first[FIELDS] = {0};
    rlf_buf key = {0};
    size_t n = changed_fields(L, lua_absindex(L, index), before, first);
    for (size_t i = 0; i < n && n != SIZE_MAX; i++) {
        rlf_buf_clear(&key);
        rlf_buf_puts(&key, name);
        put_field_name(&key, &first[i].key);
        rlf_lua_put_member(members, key.p, &first[i].text);
    }
    for (size_t i = 0; i < FIELDS; i++)
        rlf_buf_free(&first[i].text);
    rlf_buf_free(&key);
    return n > 0 && n != SIZE_MAX;
}
