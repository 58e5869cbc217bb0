/* What the files of the Lua host share. Nobody outside includes this.
 *
 * Every lua_State carries its host in the extra space, so nothing is global.
 * The budget is one number, `left`: the count hook takes from it by TICK
 * instructions, pattern matching by step, long strings by their bytes. Once
 * something ran out, `spent` says what, every further instruction fails, and
 * each place that could catch an error (pcall, resume...) passes it on. */
#ifndef RLF_LUA_INTERNAL_H
#define RLF_LUA_INTERNAL_H

#include "engine/lua/host.h"

#include <lauxlib.h>
#include <lua.h>

#define RLF_LUA_TICK 1000

typedef enum rlf_lua_spent {
    RLF_LUA_SPENT_NONE,
    RLF_LUA_SPENT_STEPS,
    RLF_LUA_SPENT_MEMORY,
    RLF_LUA_SPENT_TIME,
} rlf_lua_spent;

struct rlf_lua_program {
    const char *path;
    rlf_str source;
    unsigned line;
    const char *const *dirs; /* the own folder first */
    size_t n_dirs;
    rlf_lua_per per;
    const rlf_lua_give *gives;
    size_t n_gives;
    uint64_t instructions, memory;
    double time;
};

/* Functions of Lua's own libraries that cost more than one instruction: ours
 * stand in front of them. COSTLY(library, name, how) */
#define RLF_LUA_COSTLY(COSTLY)       \
    COSTLY(string, byte, results)    \
    COSTLY(table, unpack, results)   \
    COSTLY(table, concat, elements)  \
    COSTLY(table, insert, shifted)   \
    COSTLY(table, remove, shifted)   \
    COSTLY(table, move, moved)       \
    COSTLY(utf8, codepoint, results) \
    COSTLY(utf8, len, bytes)         \
    COSTLY(utf8, offset, bytes)

typedef struct rlf_lua_stock {
#define COSTLY(library, name, how) lua_CFunction library##_##name;
    RLF_LUA_COSTLY(COSTLY)
#undef COSTLY
    lua_CFunction format, close;
} rlf_lua_stock;

/* The call that is running: C values that Lua sees lazily. */
typedef struct rlf_lua_call_state {
    const rlf_lua_sample *samples;
    size_t n;
    const rlf_random_key *key;
    uint64_t draws;
} rlf_lua_call_state;

struct rlf_lua_host {
    const rlf_lua_program *program;
    rlf_lua_options options;
    lua_State *L;
    size_t live; /* bytes */
    int64_t left;
    rlf_lua_spent spent;
    uint64_t deadline; /* 0: not set yet in this call */
    bool starved;      /* the last refusal was the machine's, not the limit's */
    char where[256];   /* "file:line: " of what ran out */
    bool loaded;       /* the file was run and frozen */
    bool metas;        /* this call used setmetatable */
    struct {
        rlf_lua_source *data;
        size_t count, room;
    } sources;
    int function; /* registry reference of what the file returned */
    rlf_lua_stock stock;
    void *regex;      /* PCRE2's memory, taken from ours: regex.c */
    lua_State *vault; /* pairs (function, value) of file-level variables */
    int *cells;       /* which upvalue of the function, one per pair */
    int n_cells;
    rlf_lua_call_state call;
};

static inline rlf_lua_host *
rlf_lua_host_of(lua_State *L)
{
    return *(rlf_lua_host **)lua_getextraspace(L);
}

/* Registry keys: the addresses of these. */
extern const char rlf_lua_key_back, rlf_lua_key_frozen, rlf_lua_key_meta,
    rlf_lua_key_slot, rlf_lua_key_metas, rlf_lua_key_lazy, rlf_lua_key_walk,
    rlf_lua_key_modules;

/* host.c */
/* Note that the text was loaded. */
void rlf_lua_add_source(rlf_lua_host *host, const char *module,
                        const char *path, rlf_str text);
/* "file:line: " of the innermost Lua function from `level` on, or "". Allocates
 * nothing, so that the allocator may ask. */
void rlf_lua_locate(lua_State *L, int level, char *out, size_t room);
/* Take n from the budget; raises if that was more than there is. */
void rlf_lua_charge(lua_State *L, uint64_t n);
/* Raise because something ran out; `level` is whose line it was. */
_Noreturn void rlf_lua_stop(lua_State *L, rlf_lua_spent why, int level);
/* To be called where an error was caught, with its value on top: passes it on
 * if it is one that nobody may catch. */
void rlf_lua_caught(lua_State *L, int status);
/* Raises if the wall clock ran out. */
void rlf_lua_check_time(lua_State *L, int level);
/* Raise "file:line: fmt" with the innermost Lua line; `hint` may be NULL. fmt
 * is one of lua_pushfstring. */
_Noreturn void rlf_lua_error(lua_State *L, const char *hint, const char *fmt,
                             ...) __attribute__((format(printf, 3, 4)));

/* sandbox.c: the base library and what replaces parts of the others. */
void rlf_lua_open_sandbox(lua_State *L);
/* coroutine.c */
void rlf_lua_open_coroutine(lua_State *L);
/* pattern.c: find, match, gmatch, gsub into the table on top. */
void rlf_lua_open_pattern(lua_State *L);
/* text.c, json.c, regex.c: functions into the table `rlf` on top. */
void rlf_lua_open_text(lua_State *L);
void rlf_lua_open_json(lua_State *L);
void rlf_lua_open_regex(lua_State *L);
void rlf_lua_close_regex(rlf_lua_host *host);

/* order.c */
/* Push an array of the keys of the table at `index` in the fixed order, and
 * return how many. */
size_t rlf_lua_keys(lua_State *L, int index);
int rlf_lua_pairs(lua_State *L);
/* table.sort, stable. */
int rlf_lua_sort(lua_State *L);

/* freeze.c */
/* Freeze what is reachable from the value at `index`, and remember the
 * file-level variables that its functions share. Raises for what cannot be
 * frozen. */
void rlf_lua_freeze(lua_State *L, int index);
/* If the table at `index` is frozen, push the table that holds its contents. */
bool rlf_lua_contents(lua_State *L, int index);
/* Put back file-level variables that a call changed; the name of the first
 * changed one goes to `name`, its function's place to `where`. */
bool rlf_lua_restore(rlf_lua_host *host, const char **name, lua_Debug *where);

/* value.c */
void rlf_lua_open_value(lua_State *L);
/* Push the sample's table; `slot` is its index in the running call. */
void rlf_lua_push_sample(lua_State *L, size_t slot);
void rlf_lua_push_record(lua_State *L, const rlf_lua_record *record);
/* Make the arrays that a sample's table at `index` does not have yet. */
void rlf_lua_complete(lua_State *L, int index);
/* Take the results from the n values at `first`.. into out. */
void rlf_lua_take(lua_State *L, int first, int n, rlf_arena *arena,
                  rlf_lua_value *out);
void rlf_lua_take_record(lua_State *L, int index, rlf_arena *arena,
                         rlf_lua_record *out);

/* A growing byte buffer whose memory is a userdata in stack slot `slot`. */
typedef struct rlf_lua_bytes {
    lua_State *L;
    int slot;
    char *p;
    size_t n, room;
} rlf_lua_bytes;
/* Pushes the slot. */
void rlf_lua_bytes_init(lua_State *L, rlf_lua_bytes *bytes);
/* Room for n more bytes; they count once n is raised. */
char *rlf_lua_bytes_room(rlf_lua_bytes *bytes, size_t n);
void rlf_lua_bytes_add(rlf_lua_bytes *bytes, const char *p, size_t n);
void rlf_lua_bytes_push(const rlf_lua_bytes *bytes);

/* tostring without addresses: pushes the text. (sandbox.c) */
const char *rlf_lua_text(lua_State *L, int index, size_t *n);

#endif
