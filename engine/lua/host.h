/* The Lua host: runs a user's Lua function on plain C arrays.
 *
 * A program is what a `hook` or a template declares: source, limits, result.
 * It is immutable and shared by all threads. A host is one sandboxed Lua state
 * that has loaded a program; each worker thread makes its own. A call is a pure
 * function of the program and its arguments: whatever the file keeps at file
 * level is frozen after loading, `pairs` has a fixed order, math.random is
 * keyed by the sample, and limits count instead of timing. See README.md.
 *
 * Statuses: RLF_USER is the function's fault (it erred, hit a limit of
 * instructions or memory, or returned nonsense): what `on_error:` may replace.
 * RLF_ENV is `time:` run out, the machine's memory, or a result that was
 * another when the call was made again: it only ends the run, and so does what
 * `stops` of the options says. In both cases the sentence begins with the Lua
 * file and line and ends with the sample, and the detail is the traceback. */
#ifndef RLF_LUA_HOST_H
#define RLF_LUA_HOST_H

#include "engine/base/arena.h"
#include "engine/base/digest.h"
#include "engine/base/philox.h"
#include "engine/base/status.h"
#include "engine/base/str.h"

/* The unit that one call of the function is for; what it is passed and returns.
 */
typedef enum rlf_lua_per {
    RLF_LUA_PER_SAMPLE,   /* (sample) -> result */
    RLF_LUA_PER_GROUP,    /* (samples) -> array of results */
    RLF_LUA_PER_BATCH,    /* (samples) -> array of results, for a whole set */
    RLF_LUA_PER_TURN,     /* (sample) -> text, or nil to end */
    RLF_LUA_PER_STEP,     /* (fields) -> result: one scalar a step */
    RLF_LUA_PER_TEMPLATE, /* (messages, open) -> text: rlf_lua_template */
} rlf_lua_per;

typedef enum rlf_lua_level {
    RLF_LUA_SCALAR,
    RLF_LUA_SAMPLE,
    RLF_LUA_TOKEN, /* an array, one number per response token */
    RLF_LUA_TEXT,
} rlf_lua_level;

/* One declared result: `-> (correct, credit: token)`. */
typedef struct rlf_lua_give {
    const char *name; /* NULL for the only, unnamed result */
    rlf_lua_level level;
} rlf_lua_give;

/* The declaration of a hook. Strings are copied by rlf_lua_program_open. */
typedef struct rlf_lua_spec {
    const char *path;   /* the file; also its name in messages */
    const char *source; /* or the text itself (path is then only its name), */
    unsigned line; /* the line on which the text begins (0 and 1: the first) */
    /* Directories of the library, in which `require` looks after the own
     * folder; messages call its files std/... */
    const char *const *dirs;
    size_t n_dirs;
    rlf_lua_per per;
    const rlf_lua_give *gives; /* the results by name; none: one number without
                                  a name (for a turn a text) */
    size_t n_gives;
    uint64_t instructions; /* 0: 10 million a call */
    uint64_t memory;       /* bytes alive in one state; 0: 64 MB */
    uint64_t text;         /* bytes of a TEXT that is given; 0: any */
    double time;           /* seconds a call; 0: 60 */
} rlf_lua_spec;

typedef struct rlf_lua_program rlf_lua_program;

/* Reads and checks, does not run. The program lives in `arena`. */
rlf_status rlf_lua_program_open(rlf_arena *arena, const rlf_lua_spec *spec,
                                rlf_err *err, const rlf_lua_program **out);

/* Arguments. Everything is borrowed for the call. */
typedef enum rlf_lua_kind {
    RLF_LUA_NUMBER, /* integral ones become Lua integers: "42", not "42.0" */
    RLF_LUA_BYTES,
    RLF_LUA_BOOL,
    RLF_LUA_INTS,  /* array of integers; made only when the function asks */
    RLF_LUA_TEXTS, /* array of texts; the same */
    RLF_LUA_LIST,  /* array of records (turns, messages); the same */
} rlf_lua_kind;

typedef struct rlf_lua_field rlf_lua_field;

typedef struct rlf_lua_record {
    const rlf_lua_field *fields;
    size_t n;
} rlf_lua_record;

struct rlf_lua_field {
    const char *name;
    rlf_lua_kind kind;
    union {
        double number;
        bool flag;
        rlf_str text;
        struct {
            const int32_t *p;
            size_t n;
        } ints;
        struct {
            const rlf_str *p;
            size_t n;
        } texts;
        struct {
            const rlf_lua_record *p;
            size_t n;
        } list;
    };
};

/* One sample and who it is: `key` for math.random (of the first sample when
 * there are several), the rest for messages. */
typedef struct rlf_lua_sample {
    const rlf_lua_field *fields;
    size_t n_fields;
    size_t length;   /* response tokens: what `-> token` must return */
    uint64_t prompt; /* number of its draw from the data, from 1 */
    uint32_t place;  /* number in its group, from 1 */
    uint32_t step;
    rlf_random_key key;
} rlf_lua_sample;

/* One result. Arrays and texts live in the arena of the call. */
typedef struct rlf_lua_value {
    double number;        /* SCALAR, SAMPLE */
    const double *tokens; /* TOKEN: one per response token */
    size_t n_tokens;
    rlf_str text; /* TEXT */
    bool none;    /* PER_TURN: the function returned nil */
} rlf_lua_value;

/* One side of a comparison, as it stands in the source. */
typedef struct rlf_lua_operand {
    rlf_str text;          /* all of it */
    rlf_str object, field; /* of OBJECT.FIELD; no object: a constant, */
    rlf_lua_kind kind;     /* of this kind: NUMBER, BYTES or BOOL */
} rlf_lua_operand;

typedef struct rlf_lua_comparison {
    rlf_lua_operand left, right;
    unsigned line;
} rlf_lua_comparison;

/* Calls `visit` with each `a == b` and `a ~= b` of the file whose sides are
 * fields or constants, in its order. Texts live as long as the program. */
void rlf_lua_compared(const rlf_lua_program *program,
                      void (*visit)(void *arg, const rlf_lua_comparison *found),
                      void *arg);

typedef struct rlf_lua_host rlf_lua_host;

typedef struct rlf_lua_options {
    /* Takes the lines of `print`, and of whom ("(prompt 3, sample 2, step
     * 7)", or "" while the file loads); NULL: `print` is not there. */
    void (*print)(void *arg, const char *who, const char *text, size_t n);
    void *arg;
    /* Make every call again in a second state, not only the first ones. */
    bool check_pure;
    bool second; /* this is the second state */
    struct rlf_lua_host *first; /* whose second one it is, or NULL: it has the
                                   same texts of modules */
    /* Asked now and then while a call goes on, with the seconds that this call
     * and those before it took since it was asked last (calls that are made
     * again to be compared among them; those of less than a thousand
     * instructions are left out): RLF_OK, or the status that the call is to end
     * with, for the run does not wait for it. NULL: it waits for all calls. */
    rlf_status (*stops)(void *arg, double seconds);
    void *stops_arg;
    /* Give a host also if the program cannot be loaded, for what can be asked
     * of its sources; it makes no calls. */
    bool unloaded;
} rlf_lua_options;

/* A new state with the program loaded and frozen; `program` must outlive it,
 * `options` may be NULL. After a failure nothing is in `out`, but for what
 * `unloaded` of the options says. */
rlf_status rlf_lua_host_new(const rlf_lua_program *program,
                            const rlf_lua_options *options, rlf_err *err,
                            rlf_lua_host **out);
void rlf_lua_host_free(rlf_lua_host *host); /* NULL is fine */

/* A text that the host loaded; names live as long as the host. */
typedef struct rlf_lua_source {
    /* The module as `require` was given it; "": the file itself. */
    const char *module;
    const char *path;  /* the path at which it was found */
    rlf_digest digest; /* the digest of the bytes there */
} rlf_lua_source;
/* The file, then every module that it or they required, as they were loaded. */
const rlf_lua_source *rlf_lua_host_sources(const rlf_lua_host *host, size_t *n);
/* Modules that were required and are nowhere, as they were asked for (the first
 * thousand, but for very long names); they live as long as the host. */
const char *const *rlf_lua_host_missing(const rlf_lua_host *host, size_t *n);

/* One call. PER_SAMPLE, PER_TURN and PER_STEP take n = 1 (PER_STEP: its fields
 * and a `step`), PER_GROUP and PER_BATCH any n. Fills out[i * gives + g] for
 * sample i and result g. After a failure the host is as good as new. */
rlf_status rlf_lua_call(rlf_lua_host *host, const rlf_lua_sample *samples,
                        size_t n, rlf_arena *arena, rlf_err *err,
                        rlf_lua_value *out);

/* The course of a call: trace.c. {0} is none. */
typedef struct rlf_lua_trace {
    rlf_buf file; /* the file of the function, as messages call it */
    int line; /* the line there that it begins at */
    rlf_buf function; /* its name in that line; empty: it has none */
    rlf_buf lines;    /* a JSON array: README.md says of what */
    uint64_t n_lines; /* lines that ran, */
    uint64_t left_out; /* of which so many are not there */
    uint64_t instructions; /* of which the call had so many; see `instructions`
                              of rlf_lua_spec */
} rlf_lua_trace;

/* The same call in states of its own, with each line that runs noted in
 * `trace`, which the caller frees after any outcome. The outcome is that of
 * rlf_lua_call, but that it has ten times the `time`, and 10 s more; `host` is
 * only asked for its program, and what the function prints is not printed.
 * `err` is not NULL. */
rlf_status rlf_lua_call_traced(rlf_lua_host *host,
                               const rlf_lua_sample *samples, size_t n,
                               rlf_arena *arena, rlf_err *err,
                               rlf_lua_value *out, rlf_lua_trace *trace);
void rlf_lua_trace_free(rlf_lua_trace *trace);
/* Are the two results the same, bit by bit? Of tokens as many as `a` has. */
bool rlf_lua_same(const rlf_lua_value *a, const rlf_lua_value *b);
/* A chat of `n` messages as one text. `open`: the speaker's next turn is to be
 * generated, so the text ends with what begins it. */
rlf_status rlf_lua_template(rlf_lua_host *host, const rlf_lua_record *messages,
                            size_t n, bool open, rlf_arena *arena, rlf_err *err,
                            rlf_str *out);

/* True if `on_error:` may stand in for this outcome. */
bool rlf_lua_forgivable(rlf_status status);

#endif
