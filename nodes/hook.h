/* Hooks: the resource behind `hook h = lua("f.lua", ...)`, or `host()`. */
#ifndef RLF_NODES_HOOK_H
#define RLF_NODES_HOOK_H

#include "engine/graph/class.h"
#include "engine/graph/sample_trace.h"
#include "engine/lua/host.h"

/* A sample as functions of the host program see it (rlflow.h). */
struct rlf_hook_sample {
    const rlf_lua_sample *sample;
};

typedef struct rlf_hook {
    rlf_arena *arena;
    const char *name;
    const rlf_host_hook *native;    /* host(): its function; or NULL */
    const rlf_lua_program *program; /* lua(); else NULL, */
    rlf_lua_host *host;             /* as this */
    const rlf_lua_give *gives;
    size_t n_gives;
    const struct rlf_log *log; /* the log of print; or NULL */
    uint32_t printed;          /* lines of the whole run */
    bool failed;               /* and on_error: stood in, which was told */
    bool forgiving;            /* on_error: was given */
    double otherwise;          /* the value of on_error: */
    bool check_pure;           /* each call is made in two states */
    rlf_buf warnings;          /* about its source, a line each */
} rlf_hook;

/* One call of the function of a hook, and its outcome. */
typedef struct rlf_hook_asked {
    const rlf_lua_sample *samples; /* what it was given, n of them */
    size_t n;
    const uint32_t *row; /* their rows in the set of the call; NULL: the call is
                            for no samples */
    rlf_status status;
    const rlf_err *why;          /* the error, if status is one */
    const rlf_lua_value *values; /* [n * n_gives], if it is none */
} rlf_hook_asked;

/* Looks at all calls of the hook, once the data is there: rlf_resource_class's
 * settle (hook_compare.c). */
rlf_status rlf_hook_settle(const rlf_env *env, const rlf_resource *resource,
                           void *object, rlf_err *err);

/* Adds a fact about the call to the sample that is looked at, if one is (see
 * rlf_env.sample_trace) and is among those of the call (hook_trace.c). Nothing
 * of the run is changed. */
void rlf_hook_trace(const rlf_call *call, const rlf_hook_asked *asked);

/* The fields that a sample has by itself: neither a column of the data nor what
 * a call adds is called so, which a function would take for it. */
#define RLF_HOOK_FIELDS "prompt|response|tokens|pieces|turns|finished|length"

/* For rlf_lua_options.stops of whatever is called in a step; `env`: the rank's,
 * which has the sum of the seconds since the run is to end.
 * RLF_PEER once another rank ended the run, RLF_STOPPED if the host ends it. */
rlf_status rlf_hook_stops(void *env, double seconds);

/* `per: turn`: what a generation takes as its tool. */
extern const rlf_node_class rlf_node_hook_turn;

/* The message about tools and turns within one generation, which cannot run
 * yet: rlf_node_class.unsupported, rlf_formal.unsupported. */
#define RLF_NO_TURNS                                                          \
    "tools and turns in one generation cannot run yet: each turn is a call, " \
    "as in man rlf, Two turns"

#endif
