/* Declarations that the files of the Lua host share. Nobody outside includes
 * this.
 *
 * Every lua_State carries its host in the extra space, so nothing is global.
 * The budget is one number, `left`: the count hook takes from it by its
 * instructions, and each C function what it costs (cost.c). Once something ran
 * out, `spent` says what, every further instruction fails, and each place that
 * could catch an error (pcall, resume...) passes it on. */
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
    RLF_LUA_SPENT_WAIT, /* the run ends, see rlf_lua_options.stops */
    RLF_LUA_SPENT_CHAIN, /* a value that is called calls itself */
} rlf_lua_spent;

/* The hint of an error is carried behind this in its message. */
#define RLF_LUA_HINT "\nhint: "

struct rlf_lua_program {
    const char *path;
    const char *name; /* the last part of the path, which is all that Lua code
                         may see */
    rlf_str source;
    unsigned line;
    const char *const *dirs; /* the own folder first */
    size_t n_dirs;
    rlf_lua_per per;
    const rlf_lua_give *gives;
    size_t n_gives;
    uint64_t instructions, memory, text;
    double time;
};

/* Functions of Lua's own libraries that stay: ours stand in front of them and
 * pay. STOCK(library, name, whole): of the text arguments those whose bits are
 * set in `whole` (bit 0 is the first) are read to the end, numbers that are
 * given as texts among them. Some are not in every build of Lua. What is not
 * here is our own, or costs no more than an instruction. */
#define RLF_LUA_STOCK(STOCK)    \
    STOCK(_G, rawequal, 3)      \
    STOCK(_G, select, 0)        \
    STOCK(_G, tonumber, 3)      \
    STOCK(coroutine, yield, 0)  \
    STOCK(math, abs, 1)         \
    STOCK(math, acos, 1)        \
    STOCK(math, asin, 1)        \
    STOCK(math, atan, 3)        \
    STOCK(math, atan2, 3)       \
    STOCK(math, ceil, 1)        \
    STOCK(math, cos, 1)         \
    STOCK(math, cosh, 1)        \
    STOCK(math, deg, 1)         \
    STOCK(math, exp, 1)         \
    STOCK(math, floor, 1)       \
    STOCK(math, fmod, 3)        \
    STOCK(math, frexp, 1)       \
    STOCK(math, ldexp, 3)       \
    STOCK(math, log, 3)         \
    STOCK(math, log10, 1)       \
    STOCK(math, max, ~0u)       \
    STOCK(math, min, ~0u)       \
    STOCK(math, modf, 1)        \
    STOCK(math, pow, 3)         \
    STOCK(math, rad, 1)         \
    STOCK(math, sin, 1)         \
    STOCK(math, sinh, 1)        \
    STOCK(math, sqrt, 1)        \
    STOCK(math, tan, 1)         \
    STOCK(math, tanh, 1)        \
    STOCK(math, tointeger, 1)   \
    STOCK(math, ult, 3)         \
    STOCK(string, byte, ~1u)    \
    STOCK(string, char, ~0u)    \
    STOCK(string, lower, 1)     \
    STOCK(string, pack, ~0u)    \
    STOCK(string, packsize, 1)  \
    STOCK(string, reverse, 1)   \
    STOCK(string, sub, ~1u)     \
    STOCK(string, unpack, ~2u)  \
    STOCK(string, upper, 1)     \
    STOCK(table, pack, 0)       \
    STOCK(utf8, char, ~0u)      \
    STOCK(utf8, codepoint, ~0u) \
    STOCK(utf8, len, ~0u)       \
    STOCK(utf8, offset, ~0u)

/* Arithmetic on texts, from the metatable that all texts share. */
#define RLF_LUA_ARITHMETIC(EVENT)                                      \
    EVENT(add)                                                         \
    EVENT(sub) EVENT(mul) EVENT(mod) EVENT(pow) EVENT(div) EVENT(idiv) \
        EVENT(unm)

typedef struct rlf_lua_stock {
#define STOCK(library, name, whole) lua_CFunction library##_##name;
    RLF_LUA_STOCK(STOCK)
#undef STOCK
#define EVENT(name) lua_CFunction text_##name;
    RLF_LUA_ARITHMETIC(EVENT)
#undef EVENT
    lua_CFunction format, close, codes, codes_strict, codes_lax;
} rlf_lua_stock;

/* An allocation that was refused, so that Lua collects and asks again. */
typedef struct rlf_lua_asked {
    const void *p;
    size_t old, n;
    bool limit; /* the memory limit refused it; else it was refused so that Lua
                   collects */
} rlf_lua_asked;

/* The call that is running: C values that Lua sees lazily. */
typedef struct rlf_lua_call_state {
    const rlf_lua_sample *samples;
    size_t n;
    const rlf_random_key *key;
    uint64_t draws;
} rlf_lua_call_state;

/* A file by the name that Lua knows, and where it is: place.c */
typedef struct rlf_lua_file {
    char *name, *path;
} rlf_lua_file;

/* A module as it was when it was first asked for: states that are made later
 * have the same, whatever is in the file by then. */
typedef struct rlf_lua_module {
    char *name;
    size_t dir; /* of the program's; as many as there are: it was in none */
    rlf_buf text;
} rlf_lua_module;

typedef struct rlf_lua_tracer rlf_lua_tracer;

struct rlf_lua_host {
    const rlf_lua_program *program;
    rlf_lua_options options;
    lua_State *L;
    lua_State *running; /* L, or the coroutine that is */
    /* budgets: budget.c */
    size_t live;        /* bytes */
    int64_t left, look; /* the clock is read when left falls below look */
    rlf_lua_spent spent;
    uint64_t deadline; /* 0: not set yet in this call */
    /* The clock, ns, when `stops` was last asked; 0: never. */
    uint64_t asked_at;
    uint64_t unsaid;   /* nanoseconds of calls that ended since */
    rlf_status end;    /* the answer of `stops` */
    bool starved;      /* the last refusal was the machine's, not the limit's */
    char where[256];   /* "file:line: " of what ran out */
    rlf_lua_asked asked;
    bool refuse_next; /* ask as often as you like */
    bool met_limit;   /* the memory limit refused something in this call */
    bool grown;       /* the stack may have */
    size_t made;      /* bytes of objects since the last collection */
    size_t longest, longest_kept; /* text of this call, of the file */
    int interval;                 /* instructions between two looks */
    int doublings; /* doublings of the stack with nothing in between */
    size_t stack;                 /* bytes of the last one made */
    size_t most_stack;            /* bytes of the largest stack of this call */
    size_t nodes; /* bytes of the hash that a table was just given */
    size_t loaded_live;           /* `live` right after loading */
    bool loaded;                  /* the file was run and frozen */
    bool used;                    /* calls were made before this one */
    bool metas;                   /* this call used setmetatable */
    struct {
        rlf_lua_source *data;
        size_t count, room;
    } sources;
    struct {
        char **data;
        size_t count, room;
    } missing; /* modules */
    struct {
        rlf_lua_module *data;
        size_t count, room;
    } modules;    /* of all states, in the first of two */
    int function; /* registry reference of what the file returned */
    rlf_lua_stock stock;
    void *regex;      /* PCRE2's memory, taken from ours: regex.c */
    void *regex_room; /* the place of its next block, or NULL */
    lua_State *vault; /* pairs (function, value) of file-level variables */
    int *cells;       /* upvalues of the function, one per pair */
    int n_cells;
    rlf_lua_call_state call;
    rlf_lua_file *files;
    size_t n_files;
    /* pure.c */
    uint64_t calls, load_cost;
    rlf_lua_host *second;
    rlf_lua_tracer *tracer; /* NULL: this call is not traced */
};

static inline rlf_lua_host *
rlf_lua_host_of(lua_State *L)
{
    return *(rlf_lua_host **)lua_getextraspace(L);
}

/* Registry keys: the addresses of these. */
extern const char rlf_lua_key_back, rlf_lua_key_frozen, rlf_lua_key_meta,
    rlf_lua_key_slot, rlf_lua_key_metas, rlf_lua_key_lazy, rlf_lua_key_list,
    rlf_lua_key_array, rlf_lua_key_walk, rlf_lua_key_modules;

/* host.c */
/* The text of a file as Lua's own loader takes it: without a byte order mark,
 * and without what stands in a first line that begins with '#'. */
rlf_str rlf_lua_skip_head(rlf_str text);
/* Note that the text was loaded. */
void rlf_lua_add_source(rlf_lua_host *host, const char *module,
                        const char *path, rlf_str text);
/* Note that a module was required that is nowhere. */
void rlf_lua_add_missing(rlf_lua_host *host, const char *module);
/* The module as it was when it was first asked for; NULL: it was not yet. Good
 * until another one is kept. */
const rlf_lua_module *rlf_lua_kept_module(const rlf_lua_host *host,
                                          const char *name);
/* Keep it for all states; its text, which is moved here, may be NULL. */
const rlf_lua_module *rlf_lua_keep_module(rlf_lua_host *host, const char *name,
                                          size_t dir, rlf_buf *text);
/* budget.c */
/* lua_Alloc; its argument is the host. */
void *rlf_lua_allocate(void *arg, void *p, size_t old, size_t n);
/* A call or the file begins: all that it has. */
void rlf_lua_refill(rlf_lua_host *host);
/* Instructions that a call, or the file, has. */
uint64_t rlf_lua_budget(const rlf_lua_host *host);
/* Count L's instructions by the present interval. */
void rlf_lua_watch(lua_State *L);
/* "file:line: " of the innermost Lua function from `level` on, or "". Allocates
 * nothing, so that the allocator may ask. */
void rlf_lua_locate(lua_State *L, int level, char *out, size_t room);
/* Take n from the budget and look at the clock now and then: what ran out. */
rlf_lua_spent rlf_lua_pay(rlf_lua_host *host, uint64_t n);
/* The same; raises if something ran out. */
void rlf_lua_charge(lua_State *L, uint64_t n);
/* n bytes of the arena; if there are none the call stops. */
void *rlf_lua_room(lua_State *L, rlf_arena *arena, size_t n);
/* The same, with a copy of the n bytes at p and a 0 byte behind them. */
rlf_str rlf_lua_keep(lua_State *L, rlf_arena *arena, const char *p, size_t n);
/* Raise because something ran out; `level` is the one whose line it was. */
_Noreturn void rlf_lua_stop(lua_State *L, rlf_lua_spent why, int level);
/* Called where an error was caught, with its value on top: passes it on if it
 * is one that nobody may catch. */
void rlf_lua_caught(lua_State *L, int status);
/* A call ended: note what it took, if it took long enough for a look at the
 * clock. */
void rlf_lua_end_time(rlf_lua_host *host);
/* Raises if the wall clock ran out. */
void rlf_lua_check_time(lua_State *L, int level);
/* error.c */
/* Raise "file:line: fmt" with the innermost Lua line; `hint` may be NULL. fmt
 * is one of lua_pushfstring. */
_Noreturn void rlf_lua_error(lua_State *L, const char *hint, const char *fmt,
                             ...) __attribute__((format(printf, 3, 4)));
/* The message handler of protected calls, which runs where the error was
 * raised: adds the place if the message has none, and the traceback. */
int rlf_lua_on_error(lua_State *L);
/* Turn the failed protected call, whose error is on top, into *err. */
rlf_status rlf_lua_fail(rlf_lua_host *host, int code, rlf_err *err);
/* "path:line: " of the function that the file returned. */
void rlf_lua_place(rlf_lua_host *host, char *out, size_t room);
/* The text at `index`, from the stack's bottom on, for people: control
 * characters as Lua writes them, \000 for a zero byte, which would end it in
 * C. */
void rlf_lua_show(lua_State *L, int index);
/* " (prompt 3, sample 2, step 7)", or "" */
void rlf_lua_who(const rlf_lua_host *host, char *out, size_t room);

/* absent.c: reading an undefined global is an error from here on. */
void rlf_lua_open_absent(lua_State *L);
/* Hints at what to use instead of a global that is not there, and what to do
 * about a message of Lua's; NULL: nothing is known of it. */
const char *rlf_lua_absent(const char *name);
const char *rlf_lua_absent_hint(const char *message,
                                const rlf_lua_program *program);
/* sandbox.c: the base library and what replaces parts of the others. */
void rlf_lua_open_sandbox(lua_State *L);
/* Pay for what the compiler needs more than linear time for. */
void rlf_lua_charge_source(lua_State *L, const char *text, size_t n);
/* cost.c: put ours in front of the stock functions. */
void rlf_lua_open_cost(lua_State *L);
/* Put `ours` (NULL: nothing) in the place of library.name; returns what was
 * there. */
lua_CFunction rlf_lua_replace(lua_State *L, const char *library,
                              const char *name, lua_CFunction ours);
/* array.c: what loops over a range of a table, and string.rep. */
void rlf_lua_open_array(lua_State *L);
/* place.c */
void rlf_lua_name(rlf_lua_host *host, const char *name, const char *path);
void rlf_lua_forget_names(rlf_lua_host *host);
/* The text with the paths of files where Lua has their names. */
void rlf_lua_paths(const rlf_lua_host *host, const char *text, char *out,
                   size_t room);
/* pure.c: call once more, as `again` does it with the job, if it is this
 * call's turn: `first`, or an error if the outcome is another. */
typedef rlf_status rlf_lua_again(rlf_lua_host *host, void *job,
                                 rlf_arena *arena, rlf_err *err,
                                 rlf_lua_value *out);
rlf_status rlf_lua_check_pure(rlf_lua_host *host, rlf_lua_again *again,
                              void *job, const char *who, rlf_status first,
                              const rlf_lua_value *a, size_t n, rlf_err *err);
/* trace.c: an event of the hook in a call that is traced: a line, or a function
 * begins or ends. */
void rlf_lua_trace_event(lua_State *L, lua_Debug *ar);
/* Are the instructions of the call to be counted one by one? */
bool rlf_lua_traces_each(const rlf_lua_tracer *tracer);
/* write.c: add the value at `index` as Lua source would have it, in short.
 * Returns a digest, which is another one if what is in a table is, one level
 * deep. Nothing is made in the state. */
uint64_t rlf_lua_write(lua_State *L, int index, rlf_buf *out);
/* ,"name":"value" */
void rlf_lua_put_member(rlf_buf *members, const char *name,
                        const rlf_buf *value);
typedef struct rlf_lua_entry {
    uint64_t key, value; /* digests */
} rlf_lua_entry;
/* The fields of a table that are too many to be shown, sorted. */
typedef struct rlf_lua_fields {
    const void *table;
    rlf_lua_entry *data;
    size_t count, room;
} rlf_lua_fields;
/* Note those of the value at `index`; none if it is no such table. */
void rlf_lua_note_fields(lua_State *L, int index, rlf_lua_fields *out);
/* Add the fields of the table at `index` that are others than before as
 * members, "name[37]":"0.5". False: nothing was added, because they are too
 * many, or some are gone. */
bool rlf_lua_write_changes(lua_State *L, int index, const char *name,
                           const rlf_lua_fields *before, rlf_buf *members);
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
/* Freeze the tables of the library, which `require` has by their names too. */
void rlf_lua_freeze_libraries(lua_State *L);
/* The table at index 1 is frozen: raise "WHAT a table that was made at file
 * level", or the name of the library whose table it is. */
_Noreturn void rlf_lua_refuse_change(lua_State *L, const char *what);
/* If the table at `index` is frozen, push the table that holds its contents. */
bool rlf_lua_contents(lua_State *L, int index);
/* Put back file-level variables that a call changed; the name of the first
 * changed one goes to `name`, its function's place to `where`. */
bool rlf_lua_restore(rlf_lua_host *host, const char **name, lua_Debug *where);

/* value.c */
void rlf_lua_open_value(lua_State *L);
/* Push the sample's table; `slot` is its index in the running call. */
void rlf_lua_push_sample(lua_State *L, size_t slot);
/* Push an empty list with room for `n` samples or messages, of which a field of
 * one of them is no field. */
void rlf_lua_push_list(lua_State *L, size_t n);
void rlf_lua_push_record(lua_State *L, const rlf_lua_record *record);
/* Make the arrays that a sample's table at `index` does not have yet. */
void rlf_lua_complete(lua_State *L, int index);
/* The table on top, parts of a text, has no element 0: to ask for it is an
 * error. */
void rlf_lua_mark_parts(lua_State *L);
/* Is the value at `index` an array of a sample (its tokens, say), or the parts
 * of a text? */
bool rlf_lua_is_array(lua_State *L, int index);
/* Take the results from the n values at `first`.. into out. */
void rlf_lua_take(lua_State *L, int first, int n, rlf_arena *arena,
                  rlf_lua_value *out);

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
